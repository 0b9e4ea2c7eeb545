// Counters over time. The link holds the whole view.

import { ask, is_ended, url } from "./ask.js";
import { draw } from "./chart.js";
import { h, number, put, say, table } from "./elements.js";
import { bursts_part, correlation_part, days_part } from "./more.js";
import { name_of, names_of, shown_in } from "./series.js";
import { duration, read, scaled, time, time_and_utc, written } from "./numbers.js";

const HOUR = 3600e9;
const PERIODS = [["1 hour", HOUR], ["1 day", 24 * HOUR], ["1 week", 168 * HOUR], ["30 days", 720 * HOUR], ["1 year", 8760 * HOUR]];
const BESIDE = [
  ["", "none"], ["86400", "1 day before"], ["604800", "1 week before"], ["before", "the period before"],
  ["-86400", "1 day after"], ["-604800", "1 week after"], ["after", "the period after"],
];
const MOST = 16;
const MOST_ROWS = 500;
// The server answers for so long a period.
const LONGEST = 4000 * 24 * HOUR;

/** The view that a link means. */
function view_of(fields, monitor) {
  const whole = name => (fields.has(name) ? Math.round(Number(fields.get(name)) * 1e6) : null);
  return {
    monitor,
    series: fields.getAll("series").map(Number).filter(Number.isInteger),
    from_ns: whole("from"),
    to_ns: whole("to"),
    band: fields.get("band") !== "off",
    mean: fields.get("mean") !== "off",
    percentile: fields.get("percentile") === "on",
    sum: fields.get("sum") === "on",
    mirror: fields.get("mirror") === "on",
    beside: fields.get("beside") ?? "",
  };
}

function link_of(view) {
  const flag = (name, on, usual) => (view[name] === usual ? null : on);
  return url("#/monitors", {
    monitor: view.monitor, series: view.series, from: view.from_ns / 1e6, to: view.to_ns / 1e6,
    band: flag("band", "off", true), mean: flag("mean", "off", true), percentile: flag("percentile", "on", false),
    sum: flag("sum", "on", false), mirror: flag("mirror", "on", false), beside: view.beside,
  });
}

/** The series that are shown at first: what enters and leaves the first port. */
function usual(series) {
  const first = series.find(one => one.port && one.bits_per_unit) ?? series[0];
  if (!first) return [];
  const of_port = series.filter(one => one.target === first.target && one.port === first.port && ["in", "out"].includes(one.counter));
  return (of_port.length ? of_port : [first]).map(one => one.id);
}

export async function monitors_page(place, fields, folders) {
  if (!folders.monitors.length) {
    put(place, h("h1", {}, "Monitors"),
      h("p", {}, `There is no store of a monitor in ${folders.folders.join(", ")}.`),
      h("p", { class: "note" }, "flowloom monitor run REGISTRY -o STORE makes one."));
    return;
  }
  const monitor = folders.monitors.find(one => one.id === fields.get("monitor")) ?? folders.monitors[0];
  const told = await ask("/api/monitor", { monitor: monitor.id });
  const view = view_of(fields, monitor.id);
  if (!view.series.length) view.series = usual(told.series);
  const end = told.to_ns ?? Date.now() * 1e6;
  if (view.to_ns === null || view.from_ns === null || !(view.from_ns < view.to_ns)) {
    view.to_ns = end;
    view.from_ns = Math.max(told.from_ns ?? 0, end - 24 * HOUR);
  }
  view.from_ns = Math.max(view.from_ns, view.to_ns - LONGEST);
  await page(place, { view, told, monitor, folders, extent: [told.from_ns ?? view.from_ns, end] });
}

async function page(place, { view, told, monitor, folders, extent }) {
  const go = changes => {
    location.hash = link_of({ ...view, ...changes });
  };
  const length = view.to_ns - view.from_ns;
  const move = share => go({ from_ns: view.from_ns + share * length, to_ns: view.to_ns + share * length });
  const zoom = factor => {
    const middle = view.from_ns + length / 2;
    const half = Math.min(Math.max(length * factor / 2, 5e8), LONGEST / 2);
    go({ from_ns: Math.max(middle - half, 0), to_ns: middle + half });
  };
  const tip = h("p", { class: "tip quiet" }, "Drag over a part to look closer. Keys: ← → move, + − zoom, 0 shows all, , and . read point by point.");
  const chart = h("div", { class: "chart", tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-label": "Loading" });
  const legend = h("ul", { class: "legend", "aria-label": "Curves" });
  const below = h("div", {});
  put(place,
    h("h1", {}, `Monitor ${monitor.name}`),
    h("div", { class: "layout" },
      picker({ view, told, folders, go }),
      h("div", {}, bar({ view, go, move, zoom, length, extent }), chart, tip, legend, below)));
  const chosen = view.series.map(id => told.series.find(one => one.id === id)).filter(Boolean).slice(0, MOST);
  if (!chosen.length) {
    put(chart, h("p", { class: "note" }, "Choose a series."));
    return;
  }
  const answers = await answers_of(view, chosen);
  if (!answers) return;
  const drawn = picture({ view, chart, tip, legend, answers, go });
  keys(chart, { drawn, move, zoom, all: () => go({ from_ns: extent[0], to_ns: extent[1] }), tip });
  put(below,
    numbers_part(view, answers),
    marks_part(answers.marks),
    gaps_part(answers.period),
    points_part(view, answers),
    days_part(view, chosen, go, link_of),
    bursts_part(view, chosen),
    correlation_part(view, chosen));
}

/** All that a picture is of. */
async function answers_of(view, chosen) {
  const fields = { monitor: view.monitor, series: chosen.map(one => one.id), points: Math.min(Math.max(Math.round(innerWidth), 400), 2000) };
  const period = { from: Math.round(view.from_ns), to: Math.round(view.to_ns) };
  // By how much it is earlier.
  const length = view.to_ns - view.from_ns;
  const shift = view.beside === "before" ? length : view.beside === "after" ? -length : Number(view.beside || 0) * 1e9;
  const can_add = chosen.length > 1 && new Set(chosen.map(one => shown_in(one).unit)).size === 1;
  const is_beside = shift !== 0 && period.from - shift >= 0;
  try {
    const [now, beside, marks] = await Promise.all([
      ask("/api/period", { ...fields, ...period, sum: view.sum && can_add ? "true" : null }),
      is_beside ? ask("/api/period", { ...fields, from: Math.round(period.from - shift), to: Math.round(period.to - shift) }, "beside") : null,
      ask("/api/marks", period),
    ]);
    return { period: now, beside, shift, marks: marks.marks, can_add };
  } catch (error) {
    if (is_ended(error)) return null;
    throw error;
  }
}

function picker({ view, told, folders, go }) {
  const list = h("ul", { "aria-label": "Series", tabindex: 0 });
  const search = h("input", { type: "search", placeholder: "Filter series", "aria-label": "Filter series" });
  const shown = h("p", { class: "note" });
  const names = names_of(told.series);
  const fill = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const is_meant = one => words.every(word => name_of(one).toLowerCase().includes(word));
    const found = told.series.filter(one => is_meant(one)).sort((one, other) => view.series.includes(other.id) - view.series.includes(one.id));
    let group = null;
    put(list, found.slice(0, 200).map(one => {
      const at = [one.target, one.port].filter(Boolean).join(" ");
      const head = at === group ? null : h("h3", {}, at);
      group = at;
      const box = h("input", { type: "checkbox", checked: view.series.includes(one.id), "aria-label": `${names.get(one.id)} in ${shown_in(one).unit}` });
      box.addEventListener("change", () => {
        const rest = view.series.filter(id => id !== one.id);
        go({ series: box.checked ? [...rest, one.id].slice(-MOST) : rest.length ? rest : [one.id] });
      });
      return h("li", {}, head, h("label", {}, box, ` ${names.get(one.id).slice(at.length).trim()} `, h("span", { class: "quiet" }, shown_in(one).unit)));
    }));
    put(shown, found.length > 200 ? `200 of ${found.length} series: filter them.` : `${found.length} series`);
  };
  search.addEventListener("input", fill);
  fill();
  const monitors = folders.monitors.length < 2 ? null : h("p", {}, h("label", {}, "Monitor ",
    h("select", { onchange: event => go({ monitor: event.target.value, series: [] }) },
      folders.monitors.map(one => h("option", { value: one.id, selected: one.id === view.monitor }, one.name)))));
  return h("section", { class: "picker", "aria-label": "Series" }, h("h2", {}, "Series"), monitors, search, shown, list);
}

function bar({ view, go, move, zoom, length, extent }) {
  const toggle = (name, text) => h("button", { type: "button", "aria-pressed": String(view[name]), onclick: () => go({ [name]: !view[name] }) }, text);
  const field = (name, text) => {
    const input = h("input", { type: "datetime-local", step: 1, value: written(view[name] / 1e6) });
    input.addEventListener("change", () => {
      const at = read(input.value) * 1e6;
      if (Number.isFinite(at)) go({ [name]: at, ...(name === "from_ns" && at >= view.to_ns ? { to_ns: at + length } : name === "to_ns" && at <= view.from_ns ? { from_ns: at - length } : {}) });
    });
    return h("label", {}, `${text} `, input);
  };
  const button = (text, label, act) => h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  return h("div", {},
    h("div", { class: "bar" },
      h("div", { class: "group", role: "group", "aria-label": "Period" },
        PERIODS.map(([text, span]) => h("button", { type: "button", "aria-pressed": String(Math.abs(length - span) < span / 1e3), onclick: () => go({ from_ns: Math.max(view.to_ns - span, 0) }) }, text)),
        h("button", { type: "button", onclick: () => go({ from_ns: extent[0], to_ns: extent[1] }) }, "All")),
      h("div", { class: "group", role: "group", "aria-label": "Move" },
        button("←", "Earlier", () => move(-0.5)), button("→", "Later", () => move(0.5)), button("+", "Closer", () => zoom(0.5)), button("−", "Wider", () => zoom(2)))),
    h("div", { class: "bar" }, field("from_ns", "From"), field("to_ns", "To")),
    h("div", { class: "bar" },
      h("div", { class: "group", role: "group", "aria-label": "Show" },
        toggle("band", "Least to greatest"), toggle("mean", "True mean"), toggle("percentile", "95th percentile"), toggle("sum", "Sum"), toggle("mirror", "In downwards")),
      h("label", {}, "Beside it ", h("select", { onchange: event => go({ beside: event.target.value }) },
        BESIDE.map(([value, text]) => h("option", { value, selected: value === view.beside }, text))))));
}

/** The curves of answers, with what distinguishes them. */
function curves_of(view, { period, beside, shift }) {
  const names = names_of(period.curves.map(curve => curve.series));
  const down = series => (view.mirror && /^in(-|$)/.test(series.counter) ? -1 : 1);
  const of = (curve, place) => ({
    name: names.get(curve.series.id), points: curve.points, width: curve.width_ns, interval: curve.series.interval_ns,
    factor: shown_in(curve.series).factor * down(curve.series), line: `--curve${place % 8}`, swatch: `c${place % 8}`,
    unit: shown_in(curve.series).unit, whole: curve.whole,
  });
  const curves = period.curves.map(of);
  if (period.sum) {
    curves.push({
      name: "sum", points: period.sum.points, width: period.sum.width_ns, interval: Math.max(...period.curves.map(curve => curve.series.interval_ns)),
      factor: period.sum.bits_per_unit ?? 1, line: "--sum", swatch: "cs", unit: curves[0].unit, whole: period.sum.whole,
    });
  }
  const others = (beside?.curves ?? []).map((curve, place) => ({
    ...of(curve, place), dashed: true, name: `${names.get(curve.series.id)}, ${duration(Math.abs(shift))} ${shift > 0 ? "before" : "after"}`,
    points: { ...curve.points, start_ns: curve.points.start_ns.map(start => start + shift) },
  }));
  return [...curves, ...others];
}

function picture({ view, chart, tip, legend, answers, go }) {
  const curves = curves_of(view, answers);
  const unit = curves[0].unit;
  const others = curves.filter(curve => curve.unit !== unit);
  const drawn_curves = curves.filter(curve => curve.unit === unit);
  const lines = view.percentile
    ? drawn_curves.filter(curve => !curve.dashed && curve.whole.p95 !== null)
      .map(curve => ({ value: curve.whole.p95 * curve.factor, text: `95 % ${curve.name}: ${scaled(Math.abs(curve.whole.p95 * curve.factor), unit)}` }))
    : [];
  const gaps = answers.period.curves.flatMap(curve => curve.gaps.map(gap => ({ from_ns: gap.start_ns, to_ns: gap.end_ns, text: gap.reason })));
  const marks = answers.marks.map(mark => ({ from_ns: mark.from_ns, to_ns: mark.to_ns, text: `${mark.kind} ${mark.name}` }));
  put(chart);
  const drawn = draw(chart, {
    curves: drawn_curves, gaps, marks, lines, unit, from_ns: view.from_ns, to_ns: view.to_ns, band: view.band, mean: view.mean,
    chosen: (from_ns, to_ns) => go({ from_ns, to_ns }),
    hovered: text => put(tip, text),
  });
  chart.setAttribute("aria-label", `${drawn_curves.map(curve => `${curve.name}: mean ${scaled(value_of(curve, "mean"), unit)}, greatest ${scaled(value_of(curve, "most"), unit)}`).join("; ")}; from ${time(view.from_ns / 1e6)} to ${time(view.to_ns / 1e6)}. The tables below have the numbers.`);
  put(legend, curves.map(curve => h("li", {}, h("span", { class: `swatch ${curve.swatch}${curve.dashed ? " dashed" : ""}` }), curve.name,
    curve.unit === unit ? null : h("span", { class: "quiet" }, ` (in ${curve.unit}: in the table only)`))));
  if (others.length) say(`${others.length} series have another unit and are in the table only`);
  return drawn;
}

const value_of = (curve, name) => (curve.whole[name] === null ? null : curve.whole[name] * Math.abs(curve.factor));

function keys(chart, { drawn, move, zoom, all, tip }) {
  let place = -1;
  chart.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: all }[event.key];
    const by = { ".": 1, ",": -1 }[event.key];
    if (!step && !by || by && !drawn.count) return;
    event.preventDefault();
    if (step) {
      sessionStorage.setItem("flowloom-focus", "chart");
      step();
      return;
    }
    place = Math.min(Math.max(place + by, 0), drawn.count - 1);
    const text = drawn.say(place);
    put(tip, text);
    say(text);
  });
  chart.addEventListener("wheel", event => {
    if (Math.abs(event.deltaX) < Math.abs(event.deltaY) || Math.abs(event.deltaX) < 20) return;
    event.preventDefault();
    move(Math.sign(event.deltaX) * 0.1);
  }, { passive: false });
  // A key that made a new view goes on with it.
  if (sessionStorage.getItem("flowloom-focus") === "chart") {
    sessionStorage.removeItem("flowloom-focus");
    chart.focus();
  }
}

function numbers_part(view, answers) {
  const curves = curves_of(view, answers);
  const cell = (curve, name) => number(value_of(curve, name), scaled(value_of(curve, name), curve.unit));
  const known = curve => `${Math.round(1000 * Math.min(curve.whole.covered_ns / (view.to_ns - view.from_ns), 1)) / 10} %`;
  return h("section", {},
    h("h2", {}, "Numbers"),
    table(`From ${time_and_utc(view.from_ns / 1e6)} to ${time_and_utc(view.to_ns / 1e6)}`,
      ["series", "mean", "95th percentile", "greatest", "least", "known"],
      curves.map(curve => [curve.name, cell(curve, "mean"), cell(curve, "p95"), cell(curve, "most"), cell(curve, "least"), number(curve.whole.covered_ns, known(curve))])),
    h("p", { class: "note" },
      `Points are ${duration(answers.period.curves[0].width_ns)} wide. The 95th percentile is of intervals of `,
      duration(answers.period.curves[0].whole.percentile_ns), ". ",
      answers.period.curves.some(curve => curve.is_bound) ? "Where only minutes or hours are kept that cross an end of this time, an even share of them counts, and least and greatest are bounds. " : "",
      answers.period.sum?.is_bound ? "The least and greatest of the sum are bounds: the sums of those of each series. " : "",
      view.sum && !answers.can_add ? "Only several series of one unit can be added. " : "",
      h("a", { href: csv_of(view), download: "counters.csv" }, "CSV")));
}

const csv_of = view => url("/api/period.csv", { monitor: view.monitor, series: view.series, from: Math.round(view.from_ns), to: Math.round(view.to_ns), points: 4000 });

function marks_part(marks) {
  if (!marks.length) return null;
  return h("section", {}, h("h2", {}, "Runs and notes in this time"),
    table("Runs, lab runs and notes", ["what", "kind", "from", "for", "about"], marks.map(mark => [
      mark.run ? h("a", { href: url("#/run", { run: mark.run }) }, mark.name) : mark.name,
      mark.kind.replace("-", " "), time(mark.from_ns / 1e6), duration(mark.to_ns - mark.from_ns),
      h("span", {}, mark.tags.map(tag => h("span", { class: "tag" }, tag)), mark.run ? mark.text : ""),
    ])));
}

function gaps_part(period) {
  const rows = period.curves.flatMap(curve => curve.gaps.map(gap => [
    name_of(curve.series), gap.reason, time(gap.start_ns / 1e6), duration(gap.end_ns - gap.start_ns),
    gap.amount === null ? "unknown" : `${gap.amount.toLocaleString("en-US")} ${curve.series.unit}`,
  ]));
  if (!rows.length) return null;
  const left_out = period.curves.reduce((sum, curve) => sum + curve.gaps_left_out, 0);
  return h("section", {}, h("h2", {}, "Gaps"),
    table("Times in which rates are unknown", ["series", "reason", "from", "for", "counted in that time"], rows.slice(0, 200)),
    rows.length > 200 || left_out ? h("p", { class: "note" }, `${rows.length - Math.min(rows.length, 200) + left_out} more are left out.`) : null);
}

function points_part(view, answers) {
  const place = h("div", {});
  const details = h("details", {}, h("summary", {}, "Table of the points"), place);
  details.addEventListener("toggle", () => {
    if (!details.open || place.childElementCount) return;
    put(place, curves_of(view, answers).map(curve => table(curve.name, ["from", "least", "mean", "greatest", "known"],
      curve.points.start_ns.slice(0, MOST_ROWS).map((start, at) => [
        time(start / 1e6),
        ...["least", "mean", "most"].map(name => number(0, scaled(curve.points[name][at] * Math.abs(curve.factor), curve.unit))),
        number(0, duration(curve.points.covered_ns[at])),
      ]))), h("p", { class: "note" }, `At most ${MOST_ROWS} points of each series are here; the CSV has all.`));
  });
  return details;
}
