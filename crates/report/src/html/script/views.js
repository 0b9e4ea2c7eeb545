// The views of a figure: what is drawn of its lines. Each view makes curves (a line with points and how they are
// joined), axes and domains. Differences and quantile-quantile plots are made from the curves that are in the page,
// so that they cost nothing; each curve is within 0.001 of the truth, hence a difference within 0.002 (more where a
// report of many runs says so).

// Points of a distribution: shares at most (or above) each x. `above` counts the values larger than x: both tails are exact.
const shares = (line, above) =>
  line.x.map((x, index) => ({ x, y: above ? line.above[index] / line.n : 1 - line.above[index] / line.n }));

// The level of a step curve at a value.
function levelAt(points, value, before) {
  let [from, to] = [0, points.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (points[middle].x <= value) from = middle + 1;
    else to = middle;
  }
  return from === 0 ? before : points[from - 1].y;
}

// The smallest value at which a share is reached (methods C.7); points as `shares` makes them.
function quantileOf(points, share) {
  let [from, to] = [0, points.length - 1];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (points[middle].y < share - 1e-12) from = middle + 1;
    else to = middle;
  }
  return points[from].x;
}

const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

// All values of an axis, with a little room around logarithmic ones.
function valueDomain(values, log) {
  let [low, high] = extent(log ? values.filter((value) => value > 0) : values);
  if (low > high) [low, high] = [1, 10];
  if (!log) return [Math.min(0, low), high === low ? low + 1 : high];
  if (high / low < 3) [low, high] = [low / 2, high * 2];
  return [low / 1.12, high * 1.12];
}

// Around zero, as far as anything within [from, to] goes.
function aroundZero(curves, [from, to], least) {
  const seen = curves.flatMap(({ points }) => points.filter(({ x }) => x >= from && x <= to).map(({ y }) => Math.abs(y)));
  const high = Math.max(least, ...seen) * 1.12;
  return [-high, high];
}

const reference = (figure) => figure.lines[0];
const others = (figure, hidden) =>
  figure.lines.slice(1).filter((line) => line.role !== "aside" && !hidden.has(line.role));
const shown = (figure, hidden) => figure.lines.filter((line) => !hidden.has(line.role));

const VIEWS = {
  cdf: {
    curves: (figure, hidden) => shown(figure, hidden).map((line) =>
      ({ line, points: shares(line, false), shape: line.smooth ? "line" : "step", before: 0, after: 1 })),
    axes: (figure) => [figure.x, { unit: "share", log: false, label: `share of ${figure.plural} ≤ x` }],
    x: (figure, curves) => valueDomain(curves.flatMap(({ line }) => line.x), figure.x.log),
    y: () => [0, 1],
  },
  ccdf: {
    curves: (figure, hidden) => shown(figure, hidden).map((line) =>
      ({ line, points: shares(line, true), shape: line.smooth ? "line" : "step", before: 1 })),
    axes: (figure) => [figure.x, { unit: "share", log: true, label: `share of ${figure.plural} > x` }],
    x: (figure, curves) => valueDomain(curves.flatMap(({ line }) => line.x), figure.x.log),
    y: (figure, curves, [, to]) => {
      const seen = curves.flatMap(({ points }) => points.filter(({ x, y }) => y > 0 && x <= to).map(({ y }) => y));
      return [seen.reduce((a, b) => Math.min(a, b), 0.1) / 1.3, 1];
    },
  },
  // F of each line minus F of the first, at every value of either.
  gap: {
    curves: (figure, hidden) => {
      const base = shares(reference(figure), false);
      return others(figure, hidden).map((line) => {
        const mine = shares(line, false);
        const xs = [...new Set([...base, ...mine].map(({ x }) => x))].sort((a, b) => a - b);
        return { line, shape: "step", before: 0, after: 0, points: xs.map((x) => ({ x, y: levelAt(mine, x, 0) - levelAt(base, x, 0) })) };
      });
    },
    axes: (figure) => [figure.x, { unit: "share", log: false, signed: true, label: `share ≤ x, minus that of ${reference(figure).name}` }],
    x: (figure) => valueDomain(figure.lines.flatMap((line) => line.x), figure.x.log),
    y: (figure, curves, x) => aroundZero(curves, x, 0.02),
    zero: true,
  },
  // Quantiles of each line against those of the first, at the shares where the first has points.
  quantiles: {
    curves: (figure, hidden) => {
      const base = shares(reference(figure), false);
      return others(figure, hidden).map((line) => {
        const mine = shares(line, false);
        const points = base.map(({ x, y: share }) => ({ x, y: quantileOf(mine, share), share }));
        return { line, shape: "line", points: figure.x.log ? points.filter(({ x, y }) => x > 0 && y > 0) : points };
      });
    },
    axes: (figure) => [{ ...figure.x, label: `${figure.x.label}, ${reference(figure).name}` }, { ...figure.x, label: `${figure.x.label}, same share` }],
    x: (figure) => valueDomain(reference(figure).x, figure.x.log),
    y: (figure, curves, [from, to]) => {
      const within = curves.flatMap(({ points }) => points.filter(({ x }) => x >= from && x <= to).map(({ y }) => y));
      return valueDomain([...within, from, to], figure.x.log);
    },
    labelled: "ends",
    diagonal: true,
  },
  series: {
    curves: (figure, hidden) => shown(figure, hidden).map((line) => ({
      line, shape: line.role === "aside" ? "band" : "line",
      points: line.y.map((y, index) => ({
        x: figure.start + index * figure.step, y, low: line.low?.[index], high: line.high?.[index],
      })),
    })),
    axes: (figure) => [figure.x, figure.y],
    x: (figure) => seriesDomain(figure),
    y: (figure, curves, [from, to]) => {
      let high = 0;
      for (const { points } of curves) {
        for (const point of points) if (point.x >= from && point.x <= to) high = Math.max(high, point.high ?? point.y);
      }
      return [0, high > 0 ? high * 1.06 : 1];
    },
    labelled: "ends",
  },
  change: {
    curves: (figure, hidden) => {
      const base = reference(figure).y;
      return others(figure, hidden).map((line) => ({
        line, shape: "line",
        points: line.y.slice(0, base.length).map((y, index) => ({
          x: figure.start + index * figure.step, y: y === null || base[index] === null ? null : y - base[index],
        })),
      }));
    },
    axes: (figure) => [figure.x, { ...figure.y, signed: true, label: `${figure.y.label}, minus ${reference(figure).name}` }],
    x: (figure) => seriesDomain(figure),
    y: (figure, curves, x) => aroundZero(curves, x, 1e-9),
    labelled: "ends",
    zero: true,
  },
  // Octaves of a logscale diagram with their intervals, and the line fitted to some of them.
  octaves: {
    curves: (figure, hidden) => shown(figure, hidden).map((line) => ({
      line, shape: "dots", fit: line.fit,
      points: line.octave.map((x, index) => ({ x, y: line.energy[index], low: line.low[index], high: line.high[index] })),
    })),
    axes: (figure) => [figure.x, figure.y],
    x: (figure) => [0.5, Math.max(...figure.lines.flatMap((line) => line.octave)) + 0.5],
    y: (figure, curves) => {
      const [low, high] = extent(curves.flatMap(({ points }) => points.flatMap((point) => [point.low, point.high])));
      return low > high ? [0, 1] : [low - 0.5, high + 0.5];
    },
    labelled: "ends",
  },
};

function seriesDomain({ start, step, lines }) {
  const bins = Math.max(1, ...lines.map((line) => line.y.length));
  return [start, start + step * Math.max(1, bins - 1)];
}
