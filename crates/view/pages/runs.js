// Runs and sweeps.

import { ask, url } from "./ask.js";
import { h, number, put, say, table } from "./elements.js";
import { digits, duration, time, time_and_utc } from "./numbers.js";
import { running_part } from "./running.js";

const word = text => (text ? h("span", { class: `word ${text}` }, text) : "–");
const tags_of = run => run.tags.map(tag => h("a", { class: "tag", href: url("#/runs", { tag }) }, tag));

export async function runs_page(place, fields, folders) {
  const search = h("input", { type: "search", size: 44, value: fields.get("search") ?? "", "aria-label": "Search runs", placeholder: "Search names, workloads, networks, keys" });
  const tag = fields.get("tag");
  const found = await ask("/api/runs", { search: search.value, tag });
  const go = changes => {
    location.hash = url("#/runs", { search: search.value, tag, ...changes });
  };
  const form = h("form", { class: "bar", role: "search" }, search, h("button", {}, "Search"),
    found.tags.length ? h("label", {}, "Tag ", h("select", { onchange: event => go({ tag: event.target.value }) },
      h("option", { value: "" }, "any"), found.tags.map(name => h("option", { value: name, selected: name === tag }, name)))) : null);
  form.addEventListener("submit", event => {
    event.preventDefault();
    go({});
  });
  const ticked = new Set();
  const compare = h("button", { type: "button", disabled: true }, "Compare");
  const told = h("span", { class: "note" }, "Tick one run to compare it with its original, or several to compare with the first.");
  compare.addEventListener("click", () => {
    location.hash = url("#/compare", { run: [...ticked] });
  });
  const tick = run => {
    const box = h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, disabled: run.problem !== null });
    box.addEventListener("change", () => {
      box.checked ? ticked.add(run.id) : ticked.delete(run.id);
      compare.disabled = !ticked.size;
      const text = ticked.size ? `${ticked.size} ticked` : "None ticked";
      put(told, text);
      say(text);
    });
    return box;
  };
  const rows = found.runs.map(run => [
    h("span", {}, tick(run), " ", h("a", { href: url("#/run", { run: run.id }) }, run.name)),
    run.from_ns === null ? "–" : time(run.from_ns / 1e6, undefined, false), run.driver,
    run.problem ? h("span", { class: "error" }, run.problem) : `${run.network}${run.changes.length ? `; ${run.changes.join(", ")}` : ""}`,
    word(run.accounted), word(run.plausible), word(run.fidelity),
    number(run.connections, run.connections === null ? "–" : run.connections.toLocaleString("en-US")),
    number(run.response_time_p50_ns, duration(run.response_time_p50_ns)), h("span", {}, tags_of(run)),
  ]);
  put(place, h("h1", {}, "Runs"), running_part(), form,
    h("div", { class: "bar" }, compare, told),
    rows.length
      ? table(`${found.runs.length} of ${folders.runs} runs${found.left_out ? `, ${found.left_out} more are left out` : ""}`,
        ["run", "when", "driver", "network", "accounted", "plausible", "fidelity", "connections", "response p50", "tags"], rows)
      : h("p", {}, folders.runs ? "No run is found." : `There is no run in ${folders.folders.join(", ")}.`));
}

export async function run_page(place, fields) {
  const { run, experiment } = await ask("/api/run", { run: fields.get("run") });
  const week = 7 * 86400e3;
  const facts = [
    ["when", run.from_ns === null ? "unknown" : `${time_and_utc(run.from_ns / 1e6)}, for ${duration(run.to_ns - run.from_ns)}`],
    ["driver", run.driver], ["workload", run.source || "–"], ["model", run.model], ["network", run.network], ["changes", run.changes.join(", ") || "none"],
    ["seeds", run.seeds.join(", ")], ["complete", run.is_complete ? "yes" : "no"],
    ["accounted", word(run.accounted)], ["plausible", word(run.plausible)], ["fidelity", word(run.fidelity)],
    ["connections", run.connections === null ? "–" : run.connections.toLocaleString("en-US")],
    ["response time p50 / p99", `${duration(run.response_time_p50_ns)} / ${duration(run.response_time_p99_ns)}`],
    ["tags", run.tags.length ? h("span", {}, tags_of(run)) : "none"], ["notes", run.notes.join(" · ") || "none"],
  ];
  put(place, h("h1", {}, run.title || run.name), h("p", { class: "quiet" }, run.name),
    run.problem ? h("p", { class: "error", role: "alert" }, run.problem) : null,
    h("div", { class: "bar" },
      run.has_report ? h("a", { class: "button", href: url("/report", { folder: run.id }) }, "Open the report") : null,
      h("a", { class: "button", href: url("#/compare", { run: run.id }) }, "Compare with its original"),
      run.from_ns === null ? null : h("a", { class: "button", href: url("#/monitors", { from: Math.max(run.from_ns / 1e6 - week / 14, 0), to: run.to_ns / 1e6 + week / 14 }) }, "Monitors at that time")),
    table("What it is", ["what", "value"], facts),
    h("details", {}, h("summary", {}, "Experiment"), h("pre", { tabindex: 0, "aria-label": "Experiment" }, experiment)));
}

export async function compare_page(place, fields) {
  const runs = fields.getAll("run");
  put(place, h("h1", {}, "Comparison"), h("p", {}, "Comparing."));
  const found = await ask("/api/compare", { run: runs });
  const warnings = [found.other_bytes, found.other_parts].filter(Boolean);
  put(place, h("h1", {}, "Comparison"),
    h("p", { class: "quiet" }, `As \`flowloom compare\` says it, of ${runs.length === 1 ? "a run and its original" : `${runs.length} runs`}.`),
    warnings.length ? h("ul", { class: "problems" }, warnings.map(warning => h("li", {}, typeof warning === "string" ? warning : JSON.stringify(warning)))) : null,
    h("pre", { tabindex: 0, "aria-label": "Comparison" }, found.text),
    found.comparisons.map(one => comparison(one)),
    h("p", {}, h("a", { href: "#/runs" }, "All runs")));
}

function comparison(one) {
  const rows = one.card.map(metric => [
    metric.metric.replaceAll("_", " "), word(metric.judgement),
    number(metric.distance, digits(metric.distance)), metric.method.replaceAll("-", " "),
    number(metric.ratio, metric.ratio === null ? "–" : `${digits(metric.ratio)}×`), number(metric.n, String(metric.n ?? "–")),
  ]);
  return rows.length ? table(`${one.other} beside ${one.reference}`, ["metric", "judged", "distance", "by", "ratio", "n"], rows) : null;
}

export async function sweeps_page(place, fields, folders) {
  put(place, h("h1", {}, "Sweeps"), folders.sweeps.length
    ? table(`${folders.sweeps.length} sweeps`, ["sweep"], folders.sweeps.map(sweep => [h("a", { href: url("#/sweep", { sweep: sweep.id }) }, sweep.name)]))
    : h("p", {}, `There is no sweep in ${folders.folders.join(", ")}.`));
}

const interval = of => (of ? ` [${digits(of.low)}, ${digits(of.high)}]` : "");

export async function sweep_page(place, fields) {
  const { id, name, has_report, answer } = await ask("/api/sweep", { sweep: fields.get("sweep") });
  const told = (answer.variants[0] && Object.keys(answer.variants[0].metrics)) ?? [];
  const side = answer.busier;
  const usual = [answer.objective, "response_time_p99_ms", "goodput_mean_mbps", `queue_delay_p50_ms.${side}`, `loss_share.${side}`, `utilisation_share.${side}`];
  const columns = [...new Set(usual)].filter(metric => told.includes(metric));
  const value = (variant, metric) => {
    const found = variant.metrics[metric];
    return found ? number(found.mean, `${found.is_lower_bound ? "≥ " : ""}${digits(found.mean)}${interval(found.interval)}`) : "–";
  };
  const { effects } = answer;
  put(place, h("h1", {}, `Sweep ${name}`), h("p", { class: "lead" }, answer.sentence),
    h("div", { class: "bar" }, has_report ? h("a", { class: "button", href: url("/report", { folder: id }) }, "Open the report") : null),
    table("Variants: means over seeds, with intervals where there are some", ["variant", "seeds", ...columns.map(metric => metric.replace(/[_.]/g, " "))],
      answer.variants.map(variant => [variant.name, number(variant.seeds, String(variant.seeds)), ...columns.map(metric => value(variant, metric))])),
    effects.axes.length ? h("section", {}, h("h2", {}, "Effects"),
      table(`On ${answer.objective.replaceAll("_", " ")}`, ["axis", "value", "beside the first value", "matters"],
        effects.axes.flatMap(axis => axis.levels.map(level => [axis.axis, level.level,
          number(level.ratio, level.ratio === null ? "–" : `${digits(level.ratio)}×${interval(level.interval)}`), axis.matters])))) : null,
    effects.interactions.map(pair => table(`${pair.axes.join(" and ")} together: mean of ${answer.objective.replaceAll("_", " ")}`,
      [pair.axes[0], ...(answer.axes.find(axis => axis.axis === pair.axes[1])?.values ?? [])],
      pair.means.map((row, at) => [answer.axes.find(axis => axis.axis === pair.axes[0])?.values[at] ?? String(at), ...row.map(mean => number(mean, digits(mean)))]))),
    answer.warnings.length ? h("ul", { class: "problems" }, answer.warnings.map(told => h("li", {}, told.warning))) : null,
    answer.missing.length ? table("Missing runs", ["variant", "seed", "why"], answer.missing.map(one => [one.variant, number(one.seed, String(one.seed)), one.why])) : null);
}
