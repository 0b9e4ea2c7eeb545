// Runs under way: a list, and one of them as it goes on, until it has its results.

import { ask, is_ended, url } from "./ask.js";
import { h, number, put, say, table } from "./elements.js";
import { bits, clock, grown } from "./lines.js";
import { digits, duration, time } from "./numbers.js";

/** Between two questions for the list, in milliseconds. */
const LIST_EVERY = 2000;
/** Observations of a run that are kept; of more, every second one is dropped. */
const MOST_KEPT = 3600;

const word = text => h("span", { class: `word ${text}` }, text);
const link_name = link => `${link.from} to ${link.to}`;
const bottleneck = observation => observation.links.filter(link => link.bottleneck);
const whole = value => value.toLocaleString("en-US");
const percent = share => `${Math.floor(share * 100)} %`;
const key_of = observation => [observation.target, observation.seed, observation.begun_unix_ns].join("\n");

const PHASES = { running: "under way", finishing: "over; its results are computed", ended: "over" };

/** The list of runs under way, which renews itself while it is shown. */
export function running_part() {
  const place = h("section", { "aria-label": "Runs under way" });
  let timer = null;
  let shown = "";
  const renew = async () => {
    clearTimeout(timer);
    if (!place.isConnected && shown !== "") return;
    try {
      const { runs, left_out } = await ask("/api/running");
      draw(runs, left_out);
    } catch (error) {
      if (is_ended(error)) return;
      put(place, h("p", { class: "error", role: "alert" }, error.message));
    }
    shown = "once";
    timer = setTimeout(renew, LIST_EVERY);
  };
  const draw = (runs, left_out) => {
    if (!runs.length) {
      put(place);
      return;
    }
    const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const rows = runs.map(({ id, name, observation: run }) => {
      const links = bottleneck(run);
      const delay = links.map(link => (link.queue_delay_ns === null ? "–" : duration(link.queue_delay_ns))).join(" / ");
      return [
        h("a", { href: url("#/running", { run: id }) }, name), number(run.seed, String(run.seed)), run.driver, number(0, percent(run.share_done)), clock(run.time_ns),
        number(0, links.map(link => bits(link.throughput_bps)).join(" / ") || "–"), number(0, delay || "–"), number(run.connections.active, whole(run.connections.active)), word(run.verdict),
      ];
    });
    put(place, h("h2", {}, "Under way"), table(`${runs.length} ${runs.length === 1 ? "run" : "runs"} under way${left_out ? `, ${left_out} more are left out` : ""}; throughput and delay of the bottleneck there and back`,
      ["run", "seed", "driver", "done", "time", "throughput", "queue delay", "open connections", "verdict so far"], rows));
    if (focused !== null) [...place.querySelectorAll("a")].find(link => link.getAttribute("href") === focused)?.focus();
  };
  renew();
  return place;
}

/** What was observed of runs while this page was open, by run: it is still there when a run is shown again. */
const kept = new Map();

function keep(observation) {
  const key = key_of(observation);
  const seen = kept.get(key) ?? [];
  kept.set(key, seen);
  if (seen.at(-1)?.observed_unix_ns === observation.observed_unix_ns) return seen;
  seen.push(observation);
  if (seen.length > MOST_KEPT) seen.splice(0, seen.length, ...seen.filter((_, index) => index % 2 === 1));
  return seen;
}

/** Means of the time before the page was opened, from what was counted in it. */
function before(seen) {
  const [first] = seen;
  if (!first || first.links_time_ns <= 0) return null;
  return bottleneck(first).map(link => ({
    name: link_name(link), bps: link.carried_bytes * 8e9 / first.links_time_ns, delay: link.waited_packets ? link.waited_ns / link.waited_packets : null,
  }));
}

/** The pictures of a run. */
function pictures(observation) {
  const names = bottleneck(observation).map((link, index) => ({ name: link_name(link), line: `c${index}` }));
  const of_links = of => seen => [seen.map(one => one.links_time_ns / 1e9), names.map((_, index) => seen.map(one => of(bottleneck(one)[index])))];
  const of_run = (...each) => seen => [seen.map(one => one.time_ns / 1e9), each.map(of => seen.map(of))];
  const made = [];
  if (names.length) {
    made.push([grown("Throughput", names, bits), of_links(link => link.throughput_bps)]);
    made.push([grown("Queue delay", names, duration), of_links(link => link.queue_delay_ns)]);
    made.push([grown("Packets in the queue", names, digits), of_links(link => link.queue_packets)]);
  }
  if (!observation.lab) {
    made.push([grown("Open connections and flows", [{ name: "open", line: "c2" }], digits), of_run(one => one.connections.active)]);
  }
  if (observation.lateness) {
    const late = [["half", "c2", "p50_ns"], ["99 %", "c1", "p99_ns"], ["all", "c3", "max_ns"]];
    made.push([grown("Packets were handed on late by at most", late.map(([name, line]) => ({ name, line })), duration),
      of_run(...late.map(([, , field]) => one => one.lateness?.[field] ?? null))]);
  }
  return made;
}

function facts(observation) {
  const { connections } = observation;
  const rows = [
    ["state", PHASES[observation.phase] ?? observation.phase],
    ["time of the run", `${clock(observation.time_ns)} of ${clock(observation.window_ns)}`],
    ["driver, seed", `${observation.driver}, ${observation.seed}`],
    ["begun", time(observation.begun_unix_ns / 1e6)],
    ["observed", time(observation.observed_unix_ns / 1e6)],
    ["process", String(observation.process)],
  ];
  if (!observation.lab) {
    rows.push(["connections started", whole(connections.started)], ["completed", whole(connections.completed)],
      ["reset, given up", `${whole(connections.reset)}, ${whole(connections.gave_up)}`]);
  }
  return rows;
}

const links_table = observation => table("Links, since the start", ["link", "throughput now", "carried packets", "dropped", "lost", "in the queue"],
  observation.links.map(link => [`${link.name}, ${link_name(link)}`, number(0, bits(link.throughput_bps)), number(0, whole(link.carried_packets)),
    number(0, whole(link.dropped_packets)), number(0, whole(link.lost_packets)), number(0, `${whole(link.queue_packets)} packets`)]));

const agents_table = lab => table(`Experiment ${lab.experiment}: blocks at agents; all are asked: ${lab.command || "nothing yet"}`,
  ["agent", "set up", "running", "ran", "failed"],
  lab.agents.map(one => [one.agent, ...["set_up", "running", "ran", "failed"].map(name => number(one[name], String(one[name])))]));

/** The token that lets this page ask a run to stop. */
const token = () => document.querySelector("meta[name=page-token]").content;

/** A button in two steps, so that no run is stopped by a slip. */
function stop_part(run) {
  const place = h("div", { class: "bar" });
  const first = h("button", { type: "button" }, "Stop the run");
  const sure = h("button", { type: "button", class: "danger" }, "Stop it now");
  const no = h("button", { type: "button" }, "Let it go on");
  const told = h("span", { class: "note" }, "It keeps what it measured until now, and is called interrupted.");
  const idle = () => put(place, first);
  first.addEventListener("click", () => {
    put(place, sure, no, told);
    sure.focus();
  });
  no.addEventListener("click", () => {
    idle();
    first.focus();
  });
  sure.addEventListener("click", async () => {
    put(place, h("span", { class: "note" }, "Asking."));
    try {
      const response = await fetch(url("/api/stop", { run }), { method: "POST", headers: { "flowloom-page-token": token() } });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error);
      put(place, h("span", { class: "note" }, "It was asked to stop."));
      say("It was asked to stop.");
    } catch (error) {
      put(place, first, h("span", { class: "error", role: "alert" }, error.message));
    }
  });
  idle();
  return place;
}

/** A run under way, as it says itself about once a second. */
export async function running_page(place, fields) {
  const id = fields.get("run");
  const heading = h("h1", {}, "Run under way");
  const state = h("p", { class: "lead" });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Share of the run that is over" });
  const [stop, drawn, told, log, earlier] = ["div", "div", "div", "div", "p"].map(name => h(name, {}));
  earlier.className = "note";
  put(place, heading, state, h("p", {}, bar), stop, earlier, h("div", { class: "pictures" }, drawn), told, log);
  let made = null;

  const show = ({ name, can_stop, observation }) => {
    heading.textContent = name;
    put(state, `${percent(observation.share_done)} done, verdict so far `, word(observation.verdict),
      observation.reasons.length ? `: ${observation.reasons.join("; ")}` : "");
    bar.value = observation.share_done;
    const seen = keep(observation);
    place.dataset.time = String(observation.time_ns);
    if (made === null) {
      made = pictures(observation);
      put(drawn, made.map(([picture]) => picture.box));
    }
    const is_open = can_stop && observation.phase === "running";
    if (is_open && !stop.childElementCount) put(stop, stop_part(id));
    if (!is_open) put(stop);
    const mean = before(seen);
    put(earlier, mean?.length && seen.length ? `In the mean of the ${clock(seen[0].links_time_ns)} before this page was opened: ${mean.map(one =>
      `${one.name} ${bits(one.bps)}${one.delay === null ? "" : `, queue ${duration(one.delay)}`}`).join("; ")}.` : "");
    for (const [picture, columns] of made) picture.set(...columns(seen));
    put(told, table("As of the last observation", ["what", "value"], facts(observation)),
      observation.lab ? agents_table(observation.lab) : links_table(observation));
    put(log, h("h2", {}, "Log"), observation.log.length
      ? h("ul", { class: "log" }, observation.log.map(line => h("li", {}, `${time(line.unix_ns / 1e6)} ${line.text}`)))
      : h("p", {}, "No warnings until now."));
  };

  const results = ({ run, sweep, has_report }) => {
    const link = (href, text) => h("a", { class: "button", href }, text);
    put(stop);
    bar.value = 1;
    put(state, "The run is over.");
    const links = [
      has_report ? link(url("/report", { folder: run ?? sweep }), "Open the report") : null,
      run === null ? null : link(url("#/run", { run }), "The run"),
      sweep === null ? null : link(url("#/sweep", { sweep }), "Its sweep"),
    ].filter(Boolean);
    put(stop, links.length ? h("div", { class: "bar" }, links) : h("p", { class: "note" }, "It left no results in the folders that are shown."));
    say("The run is over.");
  };

  const { runs } = await ask("/api/running", {}, "running page");
  const listed = runs.find(run => run.id === id);
  const over = () => put(state, "This run is not under way. ", h("a", { href: "#/runs" }, "All runs"));
  if (!listed) {
    over();
    return;
  }
  show(listed);
  const source = new EventSource(url("/api/events", { run: id }));
  const leave = () => {
    source.close();
    removeEventListener("hashchange", gone);
  };
  const gone = () => {
    leave();
    made.forEach(([picture]) => picture.end());
  };
  source.addEventListener("observation", event => {
    // The page may have been drawn anew, as in other colours.
    place.isConnected ? show(JSON.parse(event.data)) : gone();
  });
  source.addEventListener("end", event => {
    leave();
    results(JSON.parse(event.data));
  });
  source.addEventListener("error", () => {
    // A connection that broke is made again by the browser; what is refused is not.
    if (source.readyState !== EventSource.CLOSED) return;
    leave();
    over();
  });
  addEventListener("hashchange", gone);
}
