// Days at a glance, bursts, and correlations.

import { ask, is_ended } from "./ask.js";
import { h, number, put, s, say, table } from "./elements.js";
import { days_in, digits, duration, scaled, time } from "./numbers.js";
import { name_of, shown_in } from "./series.js";

const MOST_DAYS = 62;
const DAY = 86400e9;

/** Asks when something was opened or sent, and shows what is wrong where the answer would be. */
async function answered(place, path, fields, show) {
  put(place, h("p", { class: "note" }, "Loading."));
  try {
    put(place, show(await ask(path, fields)));
  } catch (error) {
    if (!is_ended(error)) put(place, h("p", { class: "error", role: "alert" }, error.message));
  }
}

/** A thumbnail for each day of each series; it leads to the day. */
export function days_part(view, chosen, go, link_of) {
  const place = h("div", {});
  const details = h("details", {}, h("summary", {}, "Days at a glance"), place);
  details.addEventListener("toggle", () => {
    if (!details.open || place.childElementCount) return;
    // At least a month, which ends with what is shown.
    const to = view.to_ns;
    const from = Math.max(to - Math.min(Math.max(to - view.from_ns, 31 * DAY), MOST_DAYS * DAY), 0);
    const dates = days_in(from / 1e6, to / 1e6, MOST_DAYS);
    const begins = dates.map(({ begin }) => Math.round(begin * 1e6));
    const ends = [...begins.slice(1), Math.round(to)];
    const fields = { monitor: view.monitor, series: chosen.map(one => one.id), from: Math.max(Math.round(from), begins[0]), to: Math.round(to), day: begins };
    answered(place, "/api/days", fields, ({ series }) => series.map(({ series, days, is_bound }, index) => {
      const { unit, factor } = shown_in(series);
      const most = days.reduce((most, day) => Math.max(most, day.most), 0) || 1;
      return h("section", {}, h("h3", {}, name_of(series)),
        is_bound ? h("p", { class: "note" }, "Only whole hours are kept, which cross the borders of these: the greatest values are bounds.") : null,
        h("ul", { class: `days c${index % 8}` }, days.map(day => {
          const which = begins.indexOf(day.start_ns);
          return h("li", {}, h("a", {
            href: link_of({ ...view, from_ns: day.start_ns, to_ns: ends[which] }),
          }, dates[which].date, thumbnail(day, most), scaled(day.most * factor, unit)));
        })));
    }));
  });
  return details;
}

function thumbnail(day, most) {
  const bars = name => s("path", {
    class: name === "most" ? "peak" : "level",
    d: day.hours.map(hour => `M${(hour.start_ns - day.start_ns) / 720e9} 40v${-Math.max(40 * hour[name] / most, 0.6)}h4.4V40z`).join(""),
  });
  return s("svg", { viewBox: "0 0 120 40", preserveAspectRatio: "none", "aria-hidden": "true" }, bars("most"), bars("mean"));
}

/** Times above a threshold. */
export function bursts_part(view, chosen) {
  const place = h("div", { "aria-live": "polite" });
  const which = h("select", { "aria-label": "Series" }, chosen.map(one => h("option", { value: one.id }, name_of(one))));
  const above = h("input", { type: "number", min: 0, step: "any", required: true, "aria-label": "Threshold" });
  const unit = h("span", {});
  const series = () => chosen.find(one => String(one.id) === which.value);
  const scale = () => (series().bits_per_unit ? { factor: series().bits_per_unit / 1e6, unit: "Mbit/s" } : { factor: 1, unit: shown_in(series()).unit });
  const relabel = () => put(unit, ` ${scale().unit} `);
  which.addEventListener("change", relabel);
  relabel();
  const form = h("form", { class: "bar" }, h("label", {}, "Times in which ", which), h("label", {}, " is above ", above, unit), h("button", {}, "Find bursts"));
  form.addEventListener("submit", event => {
    event.preventDefault();
    const fields = { monitor: view.monitor, series: series().id, from: Math.round(view.from_ns), to: Math.round(view.to_ns), above: Number(above.value) / scale().factor };
    const { unit, factor } = shown_in(series());
    answered(place, "/api/bursts", fields, found => {
      const words = found.count === 0
        ? "There is no burst."
        : `${found.count} bursts, ${duration(found.total_ns)} in all; median ${duration(found.median_ns)}, longest ${duration(found.longest_ns)}`
          + (found.interval_ns === null ? "." : `; from one to the next ${duration(found.interval_ns)} in the mean.`);
      say(words);
      return [h("p", {}, words), found.count ? table(`Bursts, ${Math.min(found.listed.length, 100)} of ${found.count}`, ["from", "duration", "mean", "greatest"],
        found.listed.slice(0, 100).map(burst => [time(burst.start_ns / 1e6), number(0, duration(burst.end_ns - burst.start_ns)),
          number(0, scaled(burst.mean * factor, unit)), number(0, scaled(burst.most * factor, unit))])) : null];
    });
  });
  return h("details", {}, h("summary", {}, "Bursts over a threshold"), form, place);
}

/** How far two series go together. */
export function correlation_part(view, chosen) {
  if (chosen.length < 2) return null;
  const place = h("div", { "aria-live": "polite" });
  const select = (label, at) => h("select", { "aria-label": label }, chosen.map((one, index) => h("option", { value: one.id, selected: index === at }, name_of(one))));
  const [one, other] = [select("The one series", 0), select("The other series", 1)];
  const lags = h("input", { type: "number", min: 0, max: 500, value: 30, "aria-label": "Lags to each side" });
  const form = h("form", { class: "bar" }, one, " and ", other, h("label", {}, " lags to each side ", lags), h("button", {}, "Correlate"));
  form.addEventListener("submit", event => {
    event.preventDefault();
    if (one.value === other.value) {
      put(place, h("p", { class: "error", role: "alert" }, "Choose two series."));
      return;
    }
    const length = view.to_ns - view.from_ns;
    const longest = Math.max(...chosen.filter(series => [one.value, other.value].includes(String(series.id))).map(series => series.interval_ns));
    const width = `${Math.max(Math.ceil(longest), Math.round(length / 2000))}ns`;
    const fields = { monitor: view.monitor, series: [one.value, other.value], from: Math.round(view.from_ns), to: Math.round(view.to_ns), lags: lags.value, width };
    answered(place, "/api/correlation", fields, found => {
      if (!found.strongest) return h("p", {}, "One of them does not vary in this time, or too little is known.");
      const { bins, coefficient, pairs } = found.strongest;
      const shift = Math.abs(bins) * found.width_ns;
      const who = bins === 0 ? "at the same time" : `${name_of(bins > 0 ? found.other : found.one)} ${duration(shift)} later`;
      const words = `Strongest ${who}: coefficient ${digits(coefficient)}, of ${pairs} pairs of intervals of ${duration(found.width_ns)}.`;
      say(words);
      const points = found.lags.map((lag, at) => (lag.coefficient === null ? null : `${10 + 580 * at / Math.max(found.lags.length - 1, 1)},${60 - 50 * lag.coefficient}`)).filter(Boolean);
      return [h("p", {}, words),
        s("svg", { viewBox: "0 0 600 120", class: "map c0", role: "img", "aria-label": words },
          s("line", { x1: 10, x2: 590, y1: 60, y2: 60, stroke: "var(--strong)" }), s("line", { x1: 300, x2: 300, y1: 5, y2: 115, stroke: "var(--strong)" }),
          s("polyline", { points: points.join(" "), fill: "none", stroke: "var(--line)", "stroke-width": 2 })),
        table("Correlation by lag", ["lag", "coefficient", "pairs"], found.lags.map(lag => [
          number(0, `${lag.bins < 0 ? "−" : ""}${duration(Math.abs(lag.bins) * found.width_ns)}`), number(0, digits(lag.coefficient)), number(0, String(lag.pairs))]))];
    });
  });
  return h("details", {}, h("summary", {}, "Correlation of two series"), form, place);
}
