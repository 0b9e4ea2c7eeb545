// The picture of a period: for each curve a band from its least to its greatest value, so that no peak vanishes, and its mean.

import uPlot from "./vendor/uPlot.js";
import { current_zone, duration, scaled, time_and_utc } from "./numbers.js";

/** A colour of the pages. */
export const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faint = (of, share) => `color-mix(in srgb, ${of} ${share}%, transparent)`;

// How uPlot writes times on the axis: from which distance of ticks on, the tick, and what stands below it where year, day or minute change.
const TIMES = [
  [31536000, "{YYYY}", null, null, null, null, null, null, 1],
  [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [0.001, ":{ss}.{fff}", "\n{D} {MMM} {YYYY} {HH}:{mm}", null, "\n{D} {MMM} {HH}:{mm}", null, "\n{HH}:{mm}", null, 1],
];

/** The curves on one axis of times: null where nothing is known. Where a bin is missing, a line ends. */
export function aligned(curves) {
  const times = new Set();
  for (const { points, width, interval } of curves) {
    points.start_ns.forEach((start, place) => {
      times.add(start);
      const next = points.start_ns[place + 1];
      // After a bin without a successor there is a place without a value.
      if (next !== undefined && next - start > 1.5 * Math.max(width, interval)) times.add(start + Math.max(width, interval));
    });
  }
  const x = [...times].sort((one, other) => one - other);
  const place = new Map(x.map((time, index) => [time, index]));
  const columns = curves.map(({ points, factor }) => {
    const empty = () => new Array(x.length).fill(null);
    const found = { least: empty(), mean: empty(), most: empty() };
    points.start_ns.forEach((start, index) => {
      const at = place.get(start);
      for (const name of ["least", "mean", "most"]) found[name][at] = points[name][index] * factor;
    });
    // Of what is drawn downwards the greatest is the lowest.
    return factor < 0 ? { least: found.most, mean: found.mean, most: found.least } : found;
  });
  // Between the points of one curve another may have points: the line goes on.
  columns.forEach((column, index) => {
    const { points, width, interval } = curves[index];
    const longest = 1.5 * Math.max(width, interval);
    for (let at = 0; at + 1 < points.start_ns.length; at++) {
      const [from, to] = [points.start_ns[at], points.start_ns[at + 1]];
      if (to - from > longest) continue;
      for (let between = place.get(from) + 1; between < place.get(to); between++) {
        for (const name of ["least", "mean", "most"]) column[name][between] = undefined;
      }
    }
  });
  // A bin without neighbours is in no line: a point of its own shows it.
  const alone = curves.map(({ points, width, interval }) => {
    const far = (from, to) => from === undefined || to === undefined || to - from > 1.5 * Math.max(width, interval);
    const starts = points.start_ns;
    return starts.filter((start, at) => far(starts[at - 1], start) && far(start, starts[at + 1])).map(start => place.get(start));
  });
  return { x: x.map(time => time / 1e9), columns, alone };
}

/**
 * Draws curves into an element.
 *
 * `curves`: {name, points, width, interval, factor, line, dashed}; `gaps` and `marks`: {from_ns, to_ns, text}; `lines`: {value, text}.
 * `chosen(from_ns, to_ns)` is called when a part was dragged over, `hovered(text)` when the pointer or a key moved to a point.
 */
export function draw(element, { curves, gaps, marks, lines, unit, from_ns, to_ns, band, mean, chosen, hovered }) {
  const { x, columns, alone } = aligned(curves);
  const data = [x];
  const series = [{}];
  const bands = [];
  const single = (index, of) => ({ show: false, size: 5, stroke: of, fill: of, filter: () => alone[index] });
  curves.forEach((curve, index) => {
    const line = colour(curve.line);
    const { least, mean: means, most } = columns[index];
    if (band && !curve.dashed) {
      data.push(most, least);
      // The edge is drawn too: a peak of one point has no area.
      series.push({ label: `${curve.name} greatest`, stroke: faint(line, 75), width: 1, points: single(index, faint(line, 75)) });
      series.push({ label: `${curve.name} least`, stroke: faint(line, 75), width: 1, points: single(index, faint(line, 75)) });
      bands.push({ series: [series.length - 2, series.length - 1], fill: faint(line, 26) });
    }
    if (mean || curve.dashed) {
      data.push(means);
      series.push({ label: curve.name, stroke: line, width: 1.8, dash: curve.dashed ? [6, 4] : undefined, points: single(index, line) });
    }
  });
  const ink = colour("--quiet");
  const grid = { stroke: colour("--hairline"), width: 1 };
  const zone = current_zone();
  const stripes = (plot, found, of, top, height) => {
    const { ctx } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
    ctx.clip();
    ctx.fillStyle = of;
    for (const { from_ns, to_ns } of found) {
      const [left, right] = [from_ns, to_ns].map(time => plot.valToPos(time / 1e9, "x", true));
      ctx.fillRect(left, plot.bbox.top + top, Math.max(right - left, 2 * devicePixelRatio), height ?? plot.bbox.height);
    }
    ctx.restore();
  };
  const values = columns.flatMap(column => (band ? [column.least, column.most] : [column.mean]));
  const all = values.flat().filter(value => value !== null && value !== undefined);
  const highest = Math.max(0, ...lines.map(line => line.value), all.reduce((most, value) => Math.max(most, value), -Infinity));
  const lowest = Math.min(0, ...lines.map(line => line.value), all.reduce((least, value) => Math.min(least, value), Infinity));
  const room = (highest - lowest || 1) * 0.05;
  let alive = true;
  const plot = new uPlot({
    width: Math.max(element.clientWidth - 10, 240),
    height: element.clientWidth < 600 ? 280 : 380,
    tzDate: seconds => uPlot.tzDate(new Date(seconds * 1e3), zone),
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false, dist: 5 }, points: { size: 7 } },
    scales: { x: { time: true, range: [from_ns / 1e9, to_ns / 1e9] }, y: { range: [lowest - (lowest < 0 ? room : 0), highest + room] } },
    axes: [
      { stroke: ink, grid, ticks: grid, values: TIMES },
      { stroke: ink, grid, ticks: grid, size: 76, values: (_, ticks) => ticks.map(tick => scaled(Math.abs(tick), unit)) },
    ],
    series,
    bands,
    hooks: {
      drawClear: [plot => {
        stripes(plot, gaps, faint(colour("--gap"), 22), 0);
        stripes(plot, marks, faint(colour("--accent"), 60), 0, 7 * devicePixelRatio);
      }],
      draw: [plot => {
        const { ctx } = plot;
        ctx.save();
        ctx.strokeStyle = colour("--ink");
        ctx.fillStyle = colour("--ink");
        ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
        ctx.textAlign = "left";
        ctx.textBaseline = "bottom";
        ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
        for (const { value, text } of lines) {
          const y = plot.valToPos(value, "y", true);
          ctx.beginPath();
          ctx.moveTo(plot.bbox.left, y);
          ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
          ctx.stroke();
          ctx.fillText(text, plot.bbox.left + 6, y - 2);
        }
        ctx.restore();
      }],
      setSelect: [plot => {
        const { left, width } = plot.select;
        if (width < 5) return;
        const [from, to] = [left, left + width].map(place => Math.round(plot.posToVal(place, "x") * 1e9));
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        chosen(Math.max(from, from_ns), Math.min(to, to_ns));
      }],
      setCursor: [plot => {
        const { left, idx } = plot.cursor;
        if (!alive || left === undefined || left < 0) return;
        const at = plot.posToVal(left, "x") * 1e9;
        hovered(told(at, idx));
      }],
    },
  }, data, element);

  /** What is at a time, in words. */
  function told(at_ns, place) {
    const words = [time_and_utc(at_ns / 1e6)];
    for (const { from_ns, to_ns, text } of gaps) {
      if (from_ns <= at_ns && at_ns <= to_ns) words.push(`unknown: ${text} for ${duration(to_ns - from_ns)}`);
    }
    for (const { from_ns, to_ns, text } of marks) if (from_ns <= at_ns && at_ns <= to_ns) words.push(text);
    if (place !== null && place !== undefined) {
      curves.forEach((curve, index) => {
        const { least, mean, most } = columns[index];
        if (mean[place] === null || mean[place] === undefined) return;
        const sorted = [least[place], most[place]].map(Math.abs).sort((one, other) => one - other);
        const range = sorted[0] === sorted[1] ? "" : ` (${scaled(sorted[0], unit)} to ${scaled(sorted[1], unit)})`;
        words.push(`${curve.name} ${scaled(Math.abs(mean[place]), unit)}${range}`);
      });
    }
    return words.join(" · ");
  }

  const observer = new ResizeObserver(() => {
    const width = Math.max(element.clientWidth - 10, 240);
    if (width !== plot.width) plot.setSize({ width, height: plot.height });
  });
  observer.observe(element);
  return {
    /** For readers of keys: the point at a place, in words. */
    say: place => {
      plot.setCursor({ left: plot.valToPos(x[place], "x"), top: 10 }, false);
      return told(x[place] * 1e9, place);
    },
    count: x.length,
    plot,
    end: () => {
      alive = false;
      observer.disconnect();
      plot.destroy();
    },
  };
}
