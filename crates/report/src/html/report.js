// Draws the figures of a Flowloom report and lets the reader look closer: hover or arrow keys for values, drag or
// +/- to zoom, double click or 0 to reset. Everything it needs is in this file and in the page's #figures element.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const HEIGHT = 268;
  const PRINT_WIDTH = 335;
  const PRINT_HEIGHT = 190;
  const MARGIN = { top: 26, right: 16, bottom: 40, left: 50 };
  const LABEL_ROOM = 74;

  // ---- Elements ---------------------------------------------------------------------------------------------------

  function svg(tag, attributes, parent, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.appendChild(element);
    return element;
  }

  const px = (value) => Math.round(value * 10) / 10;
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

  // ---- Numbers in words -------------------------------------------------------------------------------------------

  // Three significant digits without an exponent, thousands set apart.
  function digits(value) {
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    const text = value.toFixed(clamp(2 - size, 0, 12));
    return size >= 4 ? text.replace(/\B(?=(\d{3})+(?!\d))/g, ",") : text;
  }

  // The multiples of each kind of quantity, largest first, and from where on they are used if not from one on; values
  // are in the smallest. A capture of an hour reads in seconds, as its tables do; one whose clock jumps reads in days.
  const UNITS = {
    time: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
    bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
    rate: [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
    packets: [[1e6, "Mpackets/s"], [1e3, "kpackets/s"], [1, "packets/s"]],
    clock: [[86400, "days", 30 * 86400], [3600, "h", 10 * 3600], [1, "s"]],
    count: [[1, ""]],
    share: [[1, ""]],
  };

  function unitFor(kind, value) {
    const units = UNITS[kind];
    return units.find(([size, , from = size]) => Math.abs(value) >= from * 0.9995) || units[units.length - 1];
  }

  function quantity(kind, value) {
    const [size, name] = unitFor(kind, value);
    const whole = kind === "count" && Number.isInteger(value);
    const number = whole ? value.toLocaleString("en-US") : digits(value / size);
    return name ? `${number} ${name}` : number;
  }

  // A power of ten needs no digits behind the point: 10 ms, 100 kB.
  function decade(kind, value) {
    const [size, name] = unitFor(kind, value);
    return `${Number((value / size).toPrecision(1))} ${name}`;
  }

  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const power = (exponent) =>
    "10" + (exponent < 0 ? "⁻" : "") + [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join("");

  // ---- Scales: data to pixels and back ----------------------------------------------------------------------------

  function scale(log, domain, range) {
    const forward = log ? Math.log10 : (value) => value;
    const back = log ? (value) => 10 ** value : (value) => value;
    const [low, high] = domain.map(forward);
    const slope = (range[1] - range[0]) / (high - low || 1);
    const to = (value) => (log && value <= 0 ? range[0] : range[0] + (forward(value) - low) * slope);
    return { log, domain, range, to, from: (pixel) => back(low + (pixel - range[0]) / slope) };
  }

  function linearTicks([low, high], wanted) {
    const raw = (high - low) / Math.max(1, wanted);
    const magnitude = 10 ** Math.floor(Math.log10(raw));
    const step = magnitude * [1, 2, 2.5, 5, 10].find((factor) => factor * magnitude >= raw * 0.999);
    const ticks = [];
    for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) ticks.push(index * step + 0);
    return { ticks, step };
  }

  // Ticks with their labels, the unit they share (for the axis title) and the faint lines between.
  function axisTicks(axis, { log, domain }, pixels, spacing) {
    const wanted = Math.max(2, Math.floor(pixels / spacing));
    const decades = log ? Math.log10(domain[1] / domain[0]) : 0;
    if (!log || decades < 1.2) {
      const [size, name] = unitFor(axis.unit, domain[1]);
      const { ticks, step } = linearTicks(domain.map((value) => value / size), wanted);
      const places = clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 9);
      const exact = Math.abs(step * 10 ** places % 1) < 1e-6 ? places : places + 1;
      const label = (value) => value.toLocaleString("en-US", { minimumFractionDigits: exact, maximumFractionDigits: exact });
      return { ticks: ticks.filter((value) => !log || value > 0).map((value) => [value * size, label(value)]), minor: [], unit: name };
    }
    const ticks = [];
    const minor = [];
    const stride = Math.max(1, Math.ceil(decades / wanted));
    const first = Math.floor(Math.log10(domain[0]) + 1e-9);
    for (let exponent = first; exponent <= Math.ceil(Math.log10(domain[1]) - 1e-9); exponent++) {
      const value = 10 ** exponent;
      if (value >= domain[0] * 0.999 && value <= domain[1] * 1.001) {
        const text = axis.unit === "share" ? (exponent >= -2 ? String(Number(value.toPrecision(1))) : power(exponent))
          : axis.unit === "count" ? (exponent <= 3 ? String(value) : power(exponent)) : decade(axis.unit, value);
        ticks.push([value, (exponent - first) % stride === 0 ? text : ""]);
      }
      for (let factor = 2; factor < 10 && stride === 1; factor++) {
        if (factor * value > domain[0] && factor * value < domain[1]) minor.push(factor * value);
      }
    }
    return { ticks, minor, unit: "" };
  }

  // ---- Lines: what a figure holds, in the form it is drawn --------------------------------------------------------

  // A distribution stays level between points; `above` counts the values larger than x, so both tails are exact.
  function distributionPoints(line, ccdf) {
    const share = (above) => (ccdf ? above / line.n : 1 - above / line.n);
    return line.x.map((x, index) => ({ x, y: share(line.above[index]) }));
  }

  // A series has one value per bin, and the extremes of what was thinned away if it was.
  function seriesPoints(line, figure) {
    return line.y.map((y, index) => ({
      x: figure.start + index * figure.step,
      y,
      low: line.low ? line.low[index] : undefined,
      high: line.high ? line.high[index] : undefined,
    })).filter((point) => point.y !== null);
  }

  class Chart {
    constructor(element, figure) {
      this.figure = figure;
      this.element = element;
      this.holder = element.querySelector(".plot");
      this.readout = element.querySelector(".readout");
      this.ccdf = figure.kind === "distribution" && figure.view === "ccdf";
      this.zoomed = null;
      this.printing = false;
      this.hidden = new Set();
      this.cursor = null;
      this.holder.replaceChildren();
      this.connect();
      this.draw();
    }

    // What is drawn now: visible lines with points, axes and domains.
    model() {
      const { figure, ccdf } = this;
      const distribution = figure.kind === "distribution";
      const lines = figure.lines.filter((line) => !this.hidden.has(line.role)).map((line) => ({
        ...line,
        points: distribution ? distributionPoints(line, ccdf) : seriesPoints(line, figure),
      }));
      const xAxis = { ...figure.x };
      const yAxis = distribution
        ? { unit: "share", log: ccdf, label: ccdf ? `share of ${figure.plural} > x` : `share of ${figure.plural} ≤ x` }
        : figure.y;
      const full = this.fullDomain(lines, xAxis);
      const x = this.zoomed || full;
      return { lines, xAxis, yAxis, full, x, y: this.yDomain(lines, yAxis, x) };
    }

    fullDomain(lines, axis) {
      if (this.figure.kind === "series") {
        const { start, step } = this.figure;
        const bins = Math.max(1, ...lines.map((line) => line.y.length));
        return [start, start + step * Math.max(1, bins - 1)];
      }
      const values = lines.flatMap((line) => line.x).filter((value) => !axis.log || value > 0);
      let low = values.length ? Math.min(...values) : 1;
      let high = values.length ? Math.max(...values) : 10;
      if (axis.log) {
        if (high / low < 3) [low, high] = [low / 2, high * 2];
        return [low / 1.12, high * 1.12];
      }
      return [Math.min(0, low), high === low ? low + 1 : high];
    }

    yDomain(lines, axis, [from, to]) {
      if (this.figure.kind === "distribution") {
        if (!this.ccdf) return [0, 1];
        const shares = lines.flatMap((line) => line.points.filter(({ x, y }) => y > 0 && x <= to).map(({ y }) => y));
        return [Math.min(0.1, ...shares) / 1.3, 1];
      }
      let high = 0;
      for (const line of lines) {
        for (const point of line.points) {
          if (point.x >= from && point.x <= to) high = Math.max(high, point.high ?? point.y);
        }
      }
      return [0, high > 0 ? high * 1.06 : 1];
    }

    draw() {
      const width = this.printing ? PRINT_WIDTH : Math.max(260, Math.round(this.holder.clientWidth || 560));
      const height = this.printing ? PRINT_HEIGHT : HEIGHT;
      const model = this.model();
      const margin = { ...MARGIN };
      if (this.figure.kind === "series" && model.lines.length) margin.right = LABEL_ROOM;
      const area = { left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom };
      const x = scale(model.xAxis.log, model.x, [area.left, area.right]);
      const y = scale(model.yAxis.log, model.y, [area.bottom, area.top]);
      const focused = this.root && document.activeElement === this.root;
      const root = svg("svg", {
        viewBox: `0 0 ${width} ${height}`, width, height, role: "img", tabindex: 0, class: "chart",
        "aria-label": `${this.figure.title}. ${this.figure.finding} Arrow keys read values, plus and minus zoom, 0 resets.`,
      });
      const id = `clip-${this.figure.id}`;
      const clip = svg("clipPath", { id }, svg("defs", {}, root));
      svg("rect", { x: area.left, y: area.top - 2, width: area.right - area.left, height: area.bottom - area.top + 3 }, clip);
      this.drawAxes(root, model, x, y, area);
      const plot = svg("g", { "clip-path": `url(#${id})` }, root);
      for (const line of model.lines) this.drawLine(plot, line, x, y, area);
      if (this.figure.kind === "series") this.labelEnds(root, model.lines, y, area, width);
      else this.labelCurves(root, model.lines, x, y, area);
      const overlay = svg("g", { class: "overlay" }, root);
      const surface = svg("rect", {
        class: "surface", x: area.left, y: area.top, width: area.right - area.left, height: area.bottom - area.top,
      }, root);
      this.listen(root, surface);
      if (this.root) this.root.replaceWith(root);
      else this.holder.appendChild(root);
      Object.assign(this, { root, overlay, x, y, area, width, current: model });
      if (focused) root.focus({ preventScroll: true });
      this.element.classList.toggle("zoomed", Boolean(this.zoomed));
      if (this.cursor !== null) this.showAt(this.cursor);
    }

    drawAxes(root, model, x, y, area) {
      const grid = svg("g", { class: "grid" }, root);
      const axes = svg("g", { class: "axes" }, root);
      const xs = axisTicks(model.xAxis, x, area.right - area.left, model.xAxis.log ? 64 : 56);
      const ys = axisTicks(model.yAxis, y, area.bottom - area.top, 38);
      for (const value of ys.minor) svg("line", { class: "minor", x1: area.left, x2: area.right, y1: px(y.to(value)), y2: px(y.to(value)) }, grid);
      for (const value of xs.minor) svg("line", { class: "minor", x1: px(x.to(value)), x2: px(x.to(value)), y1: area.top, y2: area.bottom }, grid);
      for (const [value, label] of ys.ticks) {
        const at = px(y.to(value));
        svg("line", { x1: area.left, x2: area.right, y1: at, y2: at }, grid);
        svg("text", { class: "tick", x: area.left - 8, y: at + 4, "text-anchor": "end" }, axes, label);
      }
      for (const [value, label] of xs.ticks) {
        const at = px(x.to(value));
        if (x.log) svg("line", { x1: at, x2: at, y1: area.top, y2: area.bottom }, grid);
        svg("line", { class: "mark", x1: at, x2: at, y1: area.bottom, y2: area.bottom + 4 }, axes);
        const anchor = at > area.right - 14 && this.figure.kind !== "series" ? "end" : "middle";
        svg("text", { class: "tick", x: at, y: area.bottom + 17, "text-anchor": anchor }, axes, label);
      }
      svg("line", { class: "base", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }, axes);
      const title = (axis, unit) => axis.label + (unit ? ` (${unit})` : "");
      svg("text", { class: "title", x: 0, y: 11 }, axes, title(model.yAxis, ys.unit));
      svg("text", { class: "title", x: area.right, y: area.bottom + 34, "text-anchor": "end" }, axes, title(model.xAxis, xs.unit));
    }

    drawLine(plot, line, x, y, area) {
      const at = (point) => `${px(x.to(point.x))},${px(y.to(point.y))}`;
      if (!line.points.length) return;
      if (line.role === "aside") {
        const top = line.points.map((point) => `${px(x.to(point.x))},${px(y.to(point.high))}`);
        const bottom = line.points.map((point) => `${px(x.to(point.x))},${px(y.to(point.low))}`).reverse();
        svg("path", { class: "band aside", "data-role": line.role, d: `M${top.join("L")}L${bottom.join("L")}Z` }, plot);
        return;
      }
      if (line.points[0].low !== undefined) {
        const top = line.points.map((point) => `${px(x.to(point.x))},${px(y.to(point.high))}`);
        const bottom = line.points.map((point) => `${px(x.to(point.x))},${px(y.to(point.low))}`).reverse();
        svg("path", { class: `band ${line.role}`, d: `M${top.join("L")}L${bottom.join("L")}Z` }, plot);
      }
      let path;
      if (this.figure.kind === "series") {
        path = "M" + line.points.map(at).join("L");
        if (line.points.length === 1) path += "h0.1";
      } else if (line.smooth) {
        path = "M" + line.points.filter((point) => point.y > 0 || !y.log).map(at).join("L");
      } else {
        const start = this.ccdf ? area.top : area.bottom;
        path = `M${px(area.left)},${px(this.ccdf ? y.to(1) : start)}`;
        for (const point of line.points) {
          path += `H${px(x.to(point.x))}`;
          if (point.y > 0 || !y.log) path += `V${px(y.to(point.y))}`;
        }
        if (!this.ccdf) path += `H${px(area.right)}`;
      }
      svg("path", { class: `line ${line.role}`, "data-role": line.role, d: path }, plot);
    }

    // Labels at the right ends of series, moved apart where they would touch.
    labelEnds(root, lines, y, area, width) {
      const labels = lines.filter((line) => line.points.length).map((line) => {
        const inside = line.points.filter((point) => point.x <= this.x2(line) + 1e-9);
        const last = inside[inside.length - 1] || line.points[line.points.length - 1];
        const value = line.role === "aside" ? (last.low + last.high) / 2 : last.y;
        return { line, at: clamp(y.to(value), area.top, area.bottom) };
      }).sort((a, b) => a.at - b.at);
      let floor = area.top - 4;
      for (const label of labels) floor = (label.place = Math.max(label.at, floor)) + 14;
      let ceiling = area.bottom + 2;
      for (const label of [...labels].reverse()) ceiling = (label.place = Math.min(label.place, ceiling)) - 14;
      for (const { line, at, place } of labels) {
        svg("path", { class: `leader ${line.role}`, d: `M${area.right + 1},${px(at)}L${area.right + 7},${px(place)}` }, root);
        svg("text", { class: `label ${line.role}`, x: area.right + 10, y: px(place) + 4 }, root,
          shorten(line.name, (width - area.right - 10) / 6.4));
      }
    }

    x2() {
      return this.zoomed ? this.zoomed[1] : Infinity;
    }

    // Labels beside distribution curves: the original on the upper side, runs on the lower, each at its own height.
    labelCurves(root, lines, x, y, area) {
      const height = area.bottom - area.top;
      let run = 0;
      for (const line of lines) {
        const original = line.role === "original";
        const level = area.top + height * (original ? 0.36 : 0.6 + 0.11 * run);
        if (!original) run += 1;
        if (level > area.bottom - 6) continue;
        const crossing = line.points.find((point) => {
          const at = point.y > 0 || !y.log ? y.to(point.y) : area.bottom;
          return this.ccdf ? at >= level : at <= level;
        });
        if (!crossing) continue;
        const at = px(x.to(crossing.x));
        if (at < area.left || at > area.right) continue;
        let side = original === this.ccdf ? 1 : -1;
        const room = line.name.length * 6.6 + 18;
        if (side < 0 && at - room < area.left) side = 1;
        if (side > 0 && at + room > area.right) side = -1;
        svg("path", { class: `leader ${line.role}`, d: `M${at},${px(level)}h${side * 9}` }, root);
        svg("text", {
          class: `label halo ${line.role}`, x: at + side * 13, y: px(level) + 4, "text-anchor": side > 0 ? "start" : "end",
        }, root, shorten(line.name, 22));
      }
    }

    // ---- Looking closer -------------------------------------------------------------------------------------------

    connect() {
      const action = (name, run) => {
        const button = this.element.querySelector(`[data-action="${name}"]`);
        if (button) button.addEventListener("click", () => run(button));
      };
      action("reset", () => this.reset());
      action("svg", () => this.downloadSvg());
      action("csv", () => this.downloadCsv());
      action("table", (button) => {
        const table = this.element.querySelector(".data");
        table.hidden = !table.hidden;
        button.setAttribute("aria-expanded", String(!table.hidden));
      });
      for (const button of this.element.querySelectorAll("[data-view]")) {
        button.addEventListener("click", () => {
          this.ccdf = button.dataset.view === "ccdf";
          for (const other of this.element.querySelectorAll("[data-view]")) {
            other.setAttribute("aria-pressed", String(other === button));
          }
          this.draw();
        });
      }
      const table = this.element.querySelector(".data");
      if (table) table.hidden = true;
    }

    listen(root, surface) {
      const position = (event) => {
        const box = root.getBoundingClientRect();
        return clamp((event.clientX - box.left) * (this.width / box.width), this.area.left, this.area.right);
      };
      let anchor = null;
      surface.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        anchor = position(event);
        surface.setPointerCapture(event.pointerId);
      });
      surface.addEventListener("pointermove", (event) => {
        const at = position(event);
        if (anchor !== null && Math.abs(at - anchor) > 3) this.showBrush(anchor, at);
        else this.showAt(this.x.from(at));
      });
      surface.addEventListener("pointerup", (event) => {
        const at = position(event);
        if (anchor !== null && Math.abs(at - anchor) > 6) this.zoom([this.x.from(Math.min(anchor, at)), this.x.from(Math.max(anchor, at))]);
        anchor = null;
      });
      surface.addEventListener("pointercancel", () => (anchor = null));
      surface.addEventListener("pointerleave", () => anchor === null && this.clear());
      surface.addEventListener("dblclick", () => this.reset());
      root.addEventListener("keydown", (event) => this.key(event));
      root.addEventListener("blur", () => this.clear());
    }

    key(event) {
      const { x, area } = this;
      const at = this.cursor === null ? (area.left + area.right) / 2 : clamp(x.to(this.cursor), area.left, area.right);
      const step = event.shiftKey ? 40 : 8;
      const half = (area.right - area.left) / 2;
      const window = (factor) => [x.from(Math.max(area.left, at - half * factor)), x.from(Math.min(area.right, at + half * factor))];
      const actions = {
        ArrowLeft: () => this.showAt(x.from(Math.max(area.left, at - step))),
        ArrowRight: () => this.showAt(x.from(Math.min(area.right, at + step))),
        "+": () => this.zoom(window(0.5)),
        "=": () => this.zoom(window(0.5)),
        "-": () => this.reset(),
        0: () => this.reset(),
        Escape: () => this.reset(),
      };
      const run = actions[event.key];
      if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      run();
    }

    zoom(domain) {
      const { full } = this.current;
      const [low, high] = [Math.max(domain[0], full[0]), Math.min(domain[1], full[1])];
      if (!(high > low)) return;
      this.zoomed = [low, high];
      this.draw();
    }

    reset() {
      this.zoomed = null;
      this.draw();
    }

    clear() {
      this.cursor = null;
      this.overlay.replaceChildren();
      this.readout.hidden = true;
    }

    showBrush(from, to) {
      this.clear();
      svg("rect", {
        class: "brush", x: px(Math.min(from, to)), y: this.area.top,
        width: px(Math.abs(to - from)), height: this.area.bottom - this.area.top,
      }, this.overlay);
    }

    // The value of each line at x: the level of a distribution, the nearest bin of a series.
    valuesAt(value) {
      const series = this.figure.kind === "series";
      const bin = series ? Math.round((value - this.figure.start) / this.figure.step) : 0;
      const snapped = series ? this.figure.start + bin * this.figure.step : value;
      const rows = this.current.lines.map((line) => {
        if (!series) {
          let level = this.ccdf ? 1 : 0;
          for (const point of line.points) {
            if (point.x > value) break;
            level = point.y;
          }
          return { line, y: level };
        }
        const y = line.y[bin];
        if (y === undefined || y === null) return { line };
        if (line.role === "aside") return { line, y: y, at: (line.low[bin] + line.high[bin]) / 2 };
        return { line, y, low: line.low && line.low[bin], high: line.high && line.high[bin] };
      });
      return { x: snapped, rows: rows.filter((row) => row.y !== undefined) };
    }

    showAt(value) {
      this.cursor = value;
      const { x, rows } = this.valuesAt(value);
      const { xAxis, yAxis } = this.current;
      const at = px(this.x.to(x));
      this.overlay.replaceChildren();
      svg("line", { class: "cursor", x1: at, x2: at, y1: this.area.top, y2: this.area.bottom }, this.overlay);
      for (const row of rows) {
        const y = row.at ?? row.y;
        if (this.y.log && y <= 0) continue;
        svg("circle", { class: `dot ${row.line.role}`, cx: at, cy: px(clamp(this.y.to(y), this.area.top, this.area.bottom)), r: 3.5 }, this.overlay);
      }
      const head = document.createElement("b");
      head.textContent = quantity(xAxis.unit, x);
      const list = rows.map((row) => {
        const item = document.createElement("span");
        item.className = row.line.role;
        const spread = row.low !== undefined && row.high !== row.low
          ? ` (${quantity(yAxis.unit, row.low)} – ${quantity(yAxis.unit, row.high)})` : "";
        const number = document.createElement("i");
        number.textContent = quantity(yAxis.unit, row.y) + spread;
        item.append(row.line.name, number);
        return item;
      });
      this.readout.replaceChildren(head, ...list);
      this.readout.hidden = false;
      const ratio = this.holder.clientWidth / this.width;
      const box = this.readout.offsetWidth;
      const left = at * ratio + 14 + box > this.holder.clientWidth ? at * ratio - box - 14 : at * ratio + 14;
      this.readout.style.left = `${Math.max(0, left)}px`;
    }

    // ---- Taking it along ------------------------------------------------------------------------------------------

    downloadSvg() {
      const copy = this.root.cloneNode(true);
      const properties = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin",
        "font-family", "font-size", "font-weight", "paint-order", "opacity"];
      const originals = [this.root, ...this.root.querySelectorAll("*")];
      [copy, ...copy.querySelectorAll("*")].forEach((element, index) => {
        const style = getComputedStyle(originals[index]);
        element.setAttribute("style", properties.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
      });
      copy.querySelectorAll(".overlay, .surface").forEach((element) => element.remove());
      const ground = svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor });
      copy.insertBefore(ground, copy.firstChild);
      save(`${this.figure.id}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
    }

    downloadCsv() {
      const { figure } = this;
      const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value ?? "");
      const rows = figure.kind === "distribution"
        ? [["series", figure.column, "share_at_most", "share_above"],
          ...figure.lines.flatMap((line) => line.x.map((x, index) =>
            [line.name, x, 1 - line.above[index] / line.n, line.above[index] / line.n]))]
        : [["series", "time_s", figure.column, "min", "max"],
          ...figure.lines.flatMap((line) => line.y.map((y, index) =>
            [line.name, Number((figure.start + index * figure.step).toPrecision(9)), y, line.low?.[index], line.high?.[index]]))];
      save(`${figure.id}.csv`, "text/csv", rows.map((row) => row.map(cell).join(",")).join("\n") + "\n");
    }
  }

  function shorten(name, room) {
    return name.length <= room ? name : name.slice(0, Math.max(3, Math.floor(room) - 1)) + "…";
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // ---- The page ---------------------------------------------------------------------------------------------------

  document.documentElement.classList.add("scripted");
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const charts = figures.map((figure) => new Chart(document.getElementById(figure.id), figure));

  for (const toggle of document.querySelectorAll("[data-toggle]")) {
    toggle.addEventListener("click", () => {
      const shown = toggle.getAttribute("aria-pressed") !== "true";
      toggle.setAttribute("aria-pressed", String(shown));
      for (const chart of charts) {
        if (shown) chart.hidden.delete(toggle.dataset.toggle);
        else chart.hidden.add(toggle.dataset.toggle);
        chart.draw();
      }
    });
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy).textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        const selection = getSelection();
        selection.selectAllChildren(document.getElementById(button.dataset.copy));
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }

  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const chart = charts.find((candidate) => candidate.holder === target);
      if (!chart.printing && Math.round(target.clientWidth) !== chart.width) chart.draw();
    }
  });
  charts.forEach((chart) => observer.observe(chart.holder));

  const printing = (on) => () => charts.forEach((chart) => {
    chart.printing = on;
    chart.clear();
    chart.draw();
  });
  addEventListener("beforeprint", printing(true));
  addEventListener("afterprint", printing(false));
})();
