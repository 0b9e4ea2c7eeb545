// A figure on the page: one panel, or a grid of them with the same axes.

const HEIGHT = 268;
const PRINT = { width: 334, wide: 695, height: 190, panel: 132 };
const MARGIN = { top: 26, right: 16, bottom: 40, left: 50 };
const PANEL = { height: 150, gap: 14, head: 20 };

// Beside a colour each line has a pattern and each point a shape, for readers and printers without colours.
const MARKS = [
  "M-3.5,0a3.5,3.5 0 1 0 7,0a3.5,3.5 0 1 0 -7,0Z", "M-3.2,-3.2h6.4v6.4h-6.4Z", "M0,-4.2L4,3H-4Z", "M0,-4.4L4.4,0L0,4.4L-4.4,0Z",
  "M0,4.2L4,-3H-4Z", "M-4,-1.3H-1.3V-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4Z",
];

// The stretches of points between gaps: points without a value, whose y is null.
function stretches(points) {
  const found = [[]];
  for (const point of points) {
    if (point.y === null) found.push([]);
    else found[found.length - 1].push(point);
  }
  return found.filter((stretch) => stretch.length);
}

class Chart {
  constructor(element, figure) {
    this.figure = figure;
    this.element = element;
    this.holder = element.querySelector(".plot");
    this.readout = element.querySelector(".readout");
    this.view = figure.view;
    this.zoomed = null;
    this.printing = false;
    this.hidden = new Set();
    this.cursor = null;
    this.holder.replaceChildren();
    this.connect();
    this.draw();
  }

  // What is drawn now: visible curves with points, axes and domains.
  model() {
    const { figure, hidden } = this;
    const view = VIEWS[this.view];
    const inCells = (role) => !figure.cells || figure.cells.some((cell) => cell.roles.includes(role));
    const curves = view.curves(figure, hidden).filter(({ line, points }) => stretches(points).length && inCells(line.role));
    const [xAxis, yAxis] = view.axes(figure);
    const full = view.x(figure, curves);
    const x = this.zoomed || full;
    return { view, curves, xAxis, yAxis, full, x, y: view.y(figure, curves, x) };
  }

  // Where the panels are: all of the figure, or a grid by rows and columns.
  panels(model, width) {
    const { cells } = this.figure;
    if (!cells) {
      const height = this.printing ? PRINT.height : HEIGHT;
      const names = model.curves.map(({ line }) => line.name.length);
      const room = model.view.labelled === "ends" ? clamp(Math.max(...names, 0) * 6.6 + 14, 40, width * 0.26) : MARGIN.right;
      // Quantities with their units are wider than shares and counts.
      const left = model.view.diagonal ? 62 : MARGIN.left;
      const area = { left, right: width - room, top: MARGIN.top, bottom: height - MARGIN.bottom };
      return { height, panels: [{ area, curves: model.curves, left: true, bottom: true }] };
    }
    const columns = 1 + Math.max(...cells.map((cell) => cell.column));
    const rows = 1 + Math.max(...cells.map((cell) => cell.row));
    const tall = this.printing ? PRINT.panel : PANEL.height;
    const wide = (width - MARGIN.left - MARGIN.right + PANEL.gap) / columns - PANEL.gap;
    const panels = cells.map((cell) => {
      const left = MARGIN.left + cell.column * (wide + PANEL.gap);
      const top = MARGIN.top + PANEL.head + cell.row * (tall + PANEL.head + PANEL.gap);
      return {
        area: { left, right: left + wide, top, bottom: top + tall },
        curves: model.curves.filter(({ line }) => cell.roles.includes(line.role)),
        title: cell.title, left: cell.column === 0,
        bottom: !cells.some((other) => other.column === cell.column && other.row > cell.row),
      };
    });
    return { height: MARGIN.top + rows * (tall + PANEL.head + PANEL.gap) - PANEL.gap + MARGIN.bottom, panels };
  }

  draw() {
    const wide = Boolean(this.figure.cells);
    const width = this.printing ? (wide ? PRINT.wide : PRINT.width) : Math.max(260, Math.round(this.holder.clientWidth || 560));
    const model = this.model();
    const { height, panels } = this.panels(model, width);
    const focused = this.root && document.activeElement === this.root;
    const root = svg("svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, role: "img", tabindex: 0, class: "chart",
      "aria-label": `${this.figure.title}. ${this.figure.finding} Arrow keys read values, plus and minus zoom, 0 resets.`,
    });
    const defs = svg("defs", {}, root);
    const units = [];
    panels.forEach((panel, index) => {
      const { area } = panel;
      panel.x = scale(model.xAxis.log, model.x, [area.left, area.right]);
      panel.y = scale(model.yAxis.log, model.y, [area.bottom, area.top]);
      const id = `clip-${this.figure.id}-${index}`;
      const clip = svg("clipPath", { id }, defs);
      svg("rect", { x: area.left, y: area.top - 2, width: area.right - area.left, height: area.bottom - area.top + 3 }, clip);
      units.push(this.drawAxes(root, model, panel));
      const plot = svg("g", { "clip-path": `url(#${id})` }, root);
      if (model.view.diagonal) this.diagonal(plot, panel, model.x);
      for (const curve of panel.curves) this.drawCurve(plot, curve, panel);
      if (panel.title) svg("text", { class: "panel", x: area.left, y: area.top - 7 }, root, panel.title);
      else if (model.view.labelled === "ends") this.labelEnds(root, panel, model, width);
      else if (model.view.zero) this.labelExtremes(root, panel);
      else this.labelCurves(root, panel);
    });
    const last = panels.reduce((a, b) => (b.area.right >= a.area.right && b.bottom ? b : a));
    const title = (axis, unit) => axis.label + (unit ? ` (${unit})` : "");
    svg("text", { class: "title", x: 0, y: 11 }, root, title(model.yAxis, units[0][1]));
    svg("text", { class: "title", x: last.area.right, y: height - 6, "text-anchor": "end" }, root, title(model.xAxis, units[0][0]));
    const overlay = svg("g", { class: "overlay" }, root);
    const surfaces = panels.map(({ area }) => svg("rect", {
      class: "surface", x: area.left, y: area.top, width: area.right - area.left, height: area.bottom - area.top,
    }, root));
    if (this.root) this.root.replaceWith(root);
    else this.holder.appendChild(root);
    Object.assign(this, { root, overlay, width, panelsNow: panels, current: model });
    this.panel = panels[Math.min(this.panelIndex ?? 0, panels.length - 1)];
    this.listen(root, surfaces);
    if (focused) root.focus({ preventScroll: true });
    this.element.classList.toggle("zoomed", Boolean(this.zoomed));
    if (this.cursor !== null) this.showAt(this.cursor);
  }

  // Returns the units of the axes, for their titles.
  drawAxes(root, model, { area, x, y, left, bottom }) {
    const grid = svg("g", { class: "grid" }, root);
    const axes = svg("g", { class: "axes" }, root);
    const xs = axisTicks(model.xAxis, x, area.right - area.left, model.xAxis.log ? 64 : 56);
    const ys = axisTicks(model.yAxis, y, area.bottom - area.top, 38);
    for (const value of ys.minor) svg("line", { class: "minor", x1: area.left, x2: area.right, y1: px(y.to(value)), y2: px(y.to(value)) }, grid);
    for (const value of xs.minor) svg("line", { class: "minor", x1: px(x.to(value)), x2: px(x.to(value)), y1: area.top, y2: area.bottom }, grid);
    for (const [value, label] of ys.ticks) {
      const at = px(y.to(value));
      svg("line", { x1: area.left, x2: area.right, y1: at, y2: at }, grid);
      if (left) svg("text", { class: "tick", x: area.left - 8, y: at + 4, "text-anchor": "end" }, axes, label);
    }
    for (const [value, label] of xs.ticks) {
      const at = px(x.to(value));
      if (x.log) svg("line", { x1: at, x2: at, y1: area.top, y2: area.bottom }, grid);
      svg("line", { class: "mark", x1: at, x2: at, y1: area.bottom, y2: area.bottom + 4 }, axes);
      const anchor = at > area.right - 14 && model.view.labelled !== "ends" ? "end" : "middle";
      if (bottom) svg("text", { class: "tick", x: at, y: area.bottom + 17, "text-anchor": anchor }, axes, label);
    }
    svg("line", { class: "base", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }, axes);
    if (model.view.zero) svg("line", { class: "base zero", x1: area.left, x2: area.right, y1: px(y.to(0)), y2: px(y.to(0)) }, axes);
    return [xs.unit, ys.unit];
  }

  diagonal(plot, { x, y, area }, [from, to]) {
    const ends = [from, to].map((value) => `${px(x.to(value))},${px(y.to(value))}`);
    svg("path", { class: "line original", d: `M${ends.join("L")}` }, plot);
    const at = (area.left + area.right) / 2;
    svg("text", { class: "label halo original", x: at + 12, y: px(y.to(x.from(at))) + 22 }, plot, "same");
  }

  drawCurve(plot, { line, points, shape, before, after, fit }, { x, y, area }) {
    const at = (point) => `${px(x.to(point.x))},${px(y.to(point.y))}`;
    const edge = (part, side) => part.map((point) => `${px(x.to(point.x))},${px(y.to(point[side]))}`);
    const filled = () => stretches(points).map((part) => `M${edge(part, "high").join("L")}L${edge(part, "low").reverse().join("L")}Z`).join("");
    const drawn = (classes, d) => svg("path", { class: classes, "data-role": line.role, d }, plot);
    if (shape === "band") {
      drawn(`band ${line.class}`, filled());
      return;
    }
    if (shape === "dots") {
      const bars = points.map((point) => `M${px(x.to(point.x))},${px(y.to(point.low))}V${px(y.to(point.high))}`).join("");
      svg("path", { class: `bars ${line.class}`, d: bars }, plot);
      const mark = MARKS[Number(line.class.match(/dash(\d)/)?.[1] ?? 0)];
      for (const point of points) {
        svg("path", { class: `mark ${line.class}`, d: mark, transform: `translate(${px(x.to(point.x))} ${px(y.to(point.y))})` }, plot);
      }
      // The fitted octaves have a line; without a fit the points are all there is.
      const ends = fit ? [[fit.from, fit.from_energy], [fit.to, fit.to_energy]] : points.map((point) => [point.x, point.y]);
      drawn(`${fit ? "line" : "trace"} ${line.class}`, "M" + ends.map(([a, b]) => at({ x: a, y: b })).join("L"));
      return;
    }
    if (points[0].low !== undefined) {
      svg("path", { class: `band ${line.class}`, d: filled() }, plot);
    }
    const visible = points.filter((point) => point.y > 0 || !y.log);
    let path = "";
    if (shape === "line") {
      // A point between two gaps is a dash.
      const part = (points) => (points.length > 1 ? `M${points.map(at).join("L")}` : `M${at(points[0])}m-1.5,0h3`);
      path = stretches(visible).map(part).join("");
    } else {
      path = `M${px(area.left)},${px(y.to(before))}`;
      for (const point of points) {
        path += `H${px(x.to(point.x))}`;
        if (point.y > 0 || !y.log) path += `V${px(y.to(point.y))}`;
      }
      if (after !== undefined) path += `H${px(area.right)}`;
    }
    drawn(`line ${line.class}`, path);
  }

  // Labels at the right ends of lines, moved apart where they would touch; none where there are too many.
  labelEnds(root, { curves, y, area }, model, width) {
    const labels = curves.map(({ line, points, shape }) => {
      const known = stretches(points).flat();
      const inside = known.filter((point) => point.x <= model.x[1] + 1e-9);
      const last = inside[inside.length - 1] || known[known.length - 1];
      return { line, at: clamp(y.to(shape === "band" ? (last.low + last.high) / 2 : last.y), area.top, area.bottom) };
    }).sort((a, b) => a.at - b.at);
    if (labels.length * 13 > area.bottom - area.top + 20) return;
    let floor = area.top - 4;
    for (const label of labels) floor = (label.place = Math.max(label.at, floor)) + 14;
    let ceiling = area.bottom + 2;
    for (const label of [...labels].reverse()) ceiling = (label.place = Math.min(label.place, ceiling)) - 14;
    for (const { line, at, place } of labels) {
      svg("path", { class: `leader ${line.class}`, d: `M${area.right + 1},${px(at)}L${area.right + 7},${px(place)}` }, root);
      svg("text", { class: `label ${line.class}`, x: area.right + 10, y: px(place) + 4 }, root,
        shorten(line.name, (width - area.right - 10) / 6.6));
    }
  }

  // Labels where curves are furthest from zero, moved apart where they would touch.
  labelExtremes(root, { curves, x, y, area }) {
    const [from, to] = x.domain;
    const labels = curves.map(({ line, points }) => {
      const known = stretches(points).flat();
      const within = known.filter((point) => point.x >= from && point.x <= to);
      const far = within.reduce((a, b) => (Math.abs(b.y) > Math.abs(a.y) ? b : a), within[0] ?? known[0]);
      return { line, left: clamp(x.to(far.x), area.left, area.right), at: clamp(y.to(far.y), area.top + 8, area.bottom - 4) };
    }).sort((a, b) => a.at - b.at);
    if (labels.length * 13 > area.bottom - area.top) return;
    let floor = area.top + 4;
    for (const label of labels) floor = (label.place = Math.max(label.at, floor)) + 14;
    let ceiling = area.bottom - 4;
    for (const label of [...labels].reverse()) ceiling = (label.place = Math.min(label.place, ceiling)) - 14;
    for (const { line, left, at, place } of labels) {
      const name = shorten(line.name, 22);
      const side = left + name.length * 6.6 + 26 > area.right ? -1 : 1;
      svg("path", { class: `leader ${line.class}`, d: `M${px(left)},${px(at)}L${px(left + side * 14)},${px(place)}` }, root);
      svg("text", {
        class: `label halo ${line.class}`, x: px(left) + side * 18, y: px(place) + 4, "text-anchor": side > 0 ? "start" : "end",
      }, root, name);
    }
  }

  // Labels beside curves: the first on the upper side, others on the lower, each at its own height.
  labelCurves(root, { curves, x, y, area }) {
    const height = area.bottom - area.top;
    const falling = this.view === "ccdf";
    let run = 0;
    for (const { line, points } of curves) {
      const first = line.role === "original";
      const level = area.top + height * (first ? 0.36 : 0.6 + 0.11 * run);
      if (!first) run += 1;
      if (level > area.bottom - 6) continue;
      const crossing = points.find((point) => {
        const at = point.y > 0 || !y.log ? y.to(point.y) : area.bottom;
        return falling ? at >= level : at <= level;
      });
      if (!crossing) continue;
      const at = px(x.to(crossing.x));
      if (at < area.left || at > area.right) continue;
      const name = shorten(line.name, 22);
      let side = first === falling ? 1 : -1;
      const room = name.length * 6.6 + 18;
      if (side < 0 && at - room < area.left) side = 1;
      if (side > 0 && at + room > area.right) side = -1;
      svg("path", { class: `leader ${line.class}`, d: `M${at},${px(level)}h${side * 9}` }, root);
      svg("text", {
        class: `label halo ${line.class}`, x: at + side * 13, y: px(level) + 4, "text-anchor": side > 0 ? "start" : "end",
      }, root, name);
    }
  }
}
