// The pages: which one a link means, and what is the same on all of them.

import { ask } from "./ask.js";
import { h, put, say } from "./elements.js";
import { choose_zone, current_zone, zones } from "./numbers.js";
import { monitors_page } from "./monitors.js";
import { map_page } from "./map.js";
import { running_page } from "./running.js";
import { compare_page, run_page, runs_page, sweep_page, sweeps_page } from "./runs.js";

const PAGES = {
  monitors: ["Monitors", monitors_page],
  map: ["Map", map_page],
  runs: ["Runs", runs_page],
  sweeps: ["Sweeps", sweeps_page],
  run: [null, run_page],
  running: [null, running_page],
  compare: [null, compare_page],
  sweep: [null, sweep_page],
};

/** The page and the fields of the link. */
function here() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: Object.hasOwn(PAGES, name) ? name : null, fields: new URLSearchParams(query ?? "") };
}

const main = document.getElementById("main");
let folders = null;
let shown = 0;

async function show() {
  const mine = ++shown;
  const { name, fields } = here();
  try {
    folders = await ask("/api/folders");
    if (mine !== shown) return;
    const page = name ?? (folders.monitors.length || !folders.runs ? "monitors" : "runs");
    document.querySelectorAll("nav a").forEach(link => {
      const is_it = link.dataset.page === page || ["run", "running", "compare"].includes(page) && link.dataset.page === "runs"
        || page === "sweep" && link.dataset.page === "sweeps";
      is_it ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    });
    const problems = folders.problems.length
      ? h("ul", { class: "problems", "aria-label": "Problems" }, folders.problems.map(problem => h("li", {}, problem)))
      : null;
    const place = h("div", {});
    put(main, problems, place);
    await PAGES[page][1](place, fields, folders);
    document.title = `${main.querySelector("h1")?.textContent ?? "Flowloom"} – Flowloom view`;
  } catch (error) {
    if (error.name === "AbortError" || mine !== shown) return;
    put(main, h("h1", {}, "This cannot be shown"), h("p", { class: "error", role: "alert" }, error.message));
    say(error.message);
  } finally {
    if (mine === shown) document.body.dataset.shown = String(shown);
  }
}

put(document.querySelector("nav"), Object.entries(PAGES).filter(([, [title]]) => title)
  .map(([name, [title]]) => h("a", { href: `#/${name}`, "data-page": name }, title)));
const zone = document.getElementById("zone");
put(zone, zones().map(name => h("option", { value: name, selected: name === current_zone() }, name)));
zone.addEventListener("change", () => {
  choose_zone(zone.value);
  show();
});
document.querySelector(".skip").addEventListener("click", event => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", show);
// Pictures take their colours when they are drawn.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
show();
