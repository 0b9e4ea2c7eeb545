// Looking closer: hover or arrow keys for values, drag or + and - to zoom, double click or 0 to reset.

Object.assign(Chart.prototype, {
  connect() {
    const action = (name, run) => {
      const button = this.element.querySelector(`[data-action="${name}"]`);
      if (button) button.addEventListener("click", () => run(button));
    };
    action("reset", () => this.reset());
    action("svg", () => this.saveSvg());
    action("png", () => this.savePng());
    action("csv", () => this.saveCsv());
    action("table", (button) => {
      const table = this.element.querySelector(".data");
      table.hidden = !table.hidden;
      button.setAttribute("aria-expanded", String(!table.hidden));
    });
    const views = this.element.querySelectorAll("[data-view]");
    for (const button of views) {
      button.addEventListener("click", () => {
        this.view = button.dataset.view;
        // A zoom is kept: all views of a figure but one have its values below.
        for (const other of views) other.setAttribute("aria-pressed", String(other === button));
        this.draw();
      });
    }
    const table = this.element.querySelector(".data");
    if (table) table.hidden = true;
  },

  listen(root, surfaces) {
    const position = (event, area) => {
      const box = root.getBoundingClientRect();
      return clamp((event.clientX - box.left) * (this.width / box.width), area.left, area.right);
    };
    surfaces.forEach((surface, index) => {
      const panel = this.panelsNow[index];
      let anchor = null;
      surface.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        anchor = position(event, panel.area);
        surface.setPointerCapture(event.pointerId);
      });
      surface.addEventListener("pointermove", (event) => {
        [this.panel, this.panelIndex] = [panel, index];
        const at = position(event, panel.area);
        if (anchor !== null && Math.abs(at - anchor) > 3) this.showBrush(anchor, at);
        else this.showAt(panel.x.from(at));
      });
      surface.addEventListener("pointerup", (event) => {
        const at = position(event, panel.area);
        const from = anchor;
        anchor = null;
        if (from !== null && Math.abs(at - from) > 6) this.zoom([from, at].sort((a, b) => a - b).map(panel.x.from));
      });
      surface.addEventListener("pointercancel", () => (anchor = null));
      surface.addEventListener("pointerleave", () => anchor === null && this.clear());
      surface.addEventListener("dblclick", () => this.reset());
    });
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("blur", () => this.clear());
  },

  key(event) {
    const { x, area } = this.panel;
    const at = this.cursor === null ? (area.left + area.right) / 2 : clamp(x.to(this.cursor), area.left, area.right);
    const { step } = this.figure;
    const bin = this.figure.kind === "series" ? Math.abs(x.to(x.domain[0] + step) - area.left) : 0;
    const stride = Math.max(event.shiftKey ? 40 : 8, bin);
    const half = (area.right - area.left) / 2;
    // In pixels, so that a logarithmic axis is halved in decades.
    const around = (factor) => [x.from(at - half * factor), x.from(at + half * factor)];
    const move = (pixel) => this.showAt(x.from(clamp(pixel, area.left, area.right)));
    const actions = {
      ArrowLeft: () => move(at - stride),
      ArrowRight: () => move(at + stride),
      Home: () => move(area.left),
      End: () => move(area.right),
      "+": () => this.zoom(around(0.5)),
      "=": () => this.zoom(around(0.5)),
      "-": () => this.zoom(around(2)),
      0: () => this.reset(),
      Escape: () => this.reset(),
    };
    const run = actions[event.key];
    if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    run();
  },

  zoom(domain) {
    const { full } = this.current;
    const [low, high] = [Math.max(domain[0], full[0]), Math.min(domain[1], full[1])];
    if (!(high > low)) return;
    this.zoomed = low <= full[0] && high >= full[1] ? null : [low, high];
    this.draw();
  },

  reset() {
    this.zoomed = null;
    this.draw();
  },

  clear() {
    this.cursor = null;
    this.overlay.replaceChildren();
    this.readout.hidden = true;
  },

  showBrush(from, to) {
    this.clear();
    const { area } = this.panel;
    svg("rect", {
      class: "brush", x: px(Math.min(from, to)), y: area.top, width: px(Math.abs(to - from)), height: area.bottom - area.top,
    }, this.overlay);
  },

  // What each curve is at x: the level of a step curve; of others the nearest point. All stand at one x.
  valuesAt(value) {
    const { curves } = this.current;
    const stepped = curves.length && curves[0].shape === "step" || this.view === "cdf" || this.view === "ccdf";
    if (stepped) {
      const before = this.view === "ccdf" ? 1 : 0;
      return { x: value, rows: curves.map(({ line, points }) => ({ line, y: levelAt(points, value, before) })) };
    }
    const nearest = (points) => {
      const next = points.findIndex((point) => point.x >= value);
      const [a, b] = [points[next - 1], next < 0 ? undefined : points[next]];
      if (!a || !b) return a || b || points[points.length - 1];
      return value - a.x < b.x - value ? a : b;
    };
    const found = curves.map(({ line, points, shape }) => ({ line, shape, point: nearest(points) }));
    const x = found.reduce((best, { point }) => (Math.abs(point.x - value) < Math.abs(best - value) ? point.x : best), found[0]?.point.x ?? value);
    const rows = found.filter(({ point }) => Math.abs(point.x - x) < 1e-9 * Math.max(1, Math.abs(x))).map(({ line, shape, point }) =>
      ({ line, y: point.y, at: shape === "band" ? (point.low + point.high) / 2 : point.y, low: point.low, high: point.high, band: shape === "band" }));
    return { x, rows };
  },

  showAt(value) {
    this.cursor = value;
    const { x, rows } = this.valuesAt(value);
    const { xAxis, yAxis } = this.current;
    this.overlay.replaceChildren();
    for (const panel of this.panelsNow) {
      const at = px(panel.x.to(x));
      svg("line", { class: "cursor", x1: at, x2: at, y1: panel.area.top, y2: panel.area.bottom }, this.overlay);
      for (const row of rows) {
        const y = row.at ?? row.y;
        if (y === null || panel.y.log && y <= 0 || !panel.curves.some(({ line }) => line === row.line)) continue;
        svg("circle", { class: `dot ${row.line.class}`, cx: at, cy: px(clamp(panel.y.to(y), panel.area.top, panel.area.bottom)), r: 3.5 }, this.overlay);
      }
    }
    const words = (axis, value) => (axis.signed && value > 0 ? "+" : "") + quantity(axis.unit, value).replace("-", "−");
    const head = document.createElement("b");
    head.textContent = xAxis.whole ? `${xAxis.label.split(" ")[0]} ${x}` : quantity(xAxis.unit, x);
    const list = rows.map((row) => {
      const item = document.createElement("span");
      item.className = row.line.class;
      const spread = !row.band && row.y !== null && row.low !== undefined && row.high !== row.low
        ? ` (${words(yAxis, row.low)} – ${words(yAxis, row.high)})` : "";
      const number = document.createElement("i");
      number.textContent = row.y === null ? "–" : words(yAxis, row.y) + spread;
      item.append(row.line.name, number);
      return item;
    });
    this.readout.replaceChildren(head, ...list);
    this.readout.hidden = false;
    const ratio = this.holder.clientWidth / this.width;
    const [at, box] = [px(this.panel.x.to(x)) * ratio, this.readout.offsetWidth];
    const left = at + 14 + box > this.holder.clientWidth ? at - box - 14 : at + 14;
    this.readout.style.left = `${Math.max(0, left)}px`;
  },
});
