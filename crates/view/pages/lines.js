// Lines over the time of a run, which grow while it is under way.

import uPlot from "./vendor/uPlot.js";
import { colour } from "./chart.js";
import { h } from "./elements.js";
import { digits, scaled } from "./numbers.js";

/** Seconds of a run as text: `1:02:03` from an hour on. */
export function clock(ns) {
  const seconds = ns / 1e9;
  if (seconds < 100) return `${digits(seconds)} s`;
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  const two = number => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)} min`;
}

/**
 * A picture of lines. `lines`: {name, line}, with a colour each; `shown(value)` writes a value.
 *
 * `set(x, columns)` draws: times in seconds, and a column of values (or null) for each line.
 */
export function grown(title, lines, shown) {
  const place = h("div", { class: "chart", role: "img", "aria-label": title });
  const values = lines.map(() => h("span", {}));
  const legend = lines.map(({ name, line }, index) => h("li", {}, h("span", { class: `swatch ${line}` }), `${name} `, values[index]));
  const box = h("section", {}, h("h2", {}, title), h("ul", { class: "legend" }, legend), place);
  let plot = null;
  const start = data => {
    const [ink, hairline] = [colour("--quiet"), colour("--hairline")];
    const grid = { stroke: hairline, width: 1 };
    plot = new uPlot({
      width: Math.max(place.clientWidth - 10, 240),
      height: 190,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false }, y: { range: (_, least, most) => [Math.min(0, least ?? 0), (most || 1) * 1.05] } },
      axes: [
        { stroke: ink, grid, ticks: grid, values: (_, ticks) => ticks.map(tick => clock(tick * 1e9)) },
        { stroke: ink, grid, ticks: grid, size: 76, values: (_, ticks) => ticks.map(tick => shown(tick)) },
      ],
      series: [{}, ...lines.map(({ name, line }) => ({ label: name, stroke: colour(`--curve${line.slice(1)}`), width: 1.8, points: { show: data[0].length < 3 } }))],
    }, data, place);
  };
  const observer = new ResizeObserver(() => {
    const width = Math.max(place.clientWidth - 10, 240);
    if (plot && width !== plot.width) plot.setSize({ width, height: plot.height });
  });
  observer.observe(place);
  return {
    box,
    set: (x, columns) => {
      const data = [x, ...columns];
      const last = columns.map(column => column.findLast(value => value !== null && value !== undefined) ?? null);
      values.forEach((value, index) => {
        value.textContent = last[index] === null ? "–" : shown(last[index]);
      });
      place.setAttribute("aria-label", `${title}: ${lines.map(({ name }, index) => `${name} ${last[index] === null ? "unknown" : shown(last[index])}`).join(", ")}`);
      // A line is of two points at least: until then they are drawn as points.
      if (plot === null || x.length === 3) {
        plot?.destroy();
        start(data);
      } else {
        plot.setData(data);
      }
    },
    end: () => {
      observer.disconnect();
      plot?.destroy();
    },
  };
}

/** A rate. */
export const bits = value => scaled(value, "bit/s");
