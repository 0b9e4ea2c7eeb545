// Taking it along: the picture as SVG and PNG, as it is shown now, and its data as CSV.

const STYLED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "stroke-linecap",
  "font-family", "font-size", "font-weight", "paint-order", "opacity", "shape-rendering"];
// Pixels of a PNG for each of the page: 300 dots an inch at the size of the page.
const PNG_SCALE = 3;

Object.assign(Chart.prototype, {
  // The picture by itself: styles are attributes of its elements, because a file has no style sheet.
  standalone() {
    const copy = this.root.cloneNode(true);
    const originals = [this.root, ...this.root.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((element, index) => {
      const style = getComputedStyle(originals[index]);
      for (const name of STYLED) element.setAttribute(name, style.getPropertyValue(name));
    });
    copy.querySelectorAll(".overlay, .surface").forEach((element) => element.remove());
    copy.removeAttribute("tabindex");
    const ground = svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor });
    copy.insertBefore(ground, copy.firstChild);
    return new XMLSerializer().serializeToString(copy);
  },

  saveSvg() {
    save(`${this.figure.id}.svg`, new Blob([this.standalone()], { type: "image/svg+xml" }));
  },

  savePng() {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      const { width, height } = this.root.viewBox.baseVal;
      [canvas.width, canvas.height] = [width * PNG_SCALE, height * PNG_SCALE];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(`${this.figure.id}.png`, blob), "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.standalone())}`;
  },

  saveCsv() {
    const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value ?? "");
    const text = this.rows().map((row) => row.map(cell).join(",")).join("\n") + "\n";
    save(`${this.figure.id}.csv`, new Blob([text], { type: "text/csv" }));
  },

  // The data of the view, hidden lines too: shares both ways for a distribution, so that the tail is exact.
  rows() {
    const { figure, view } = this;
    const column = figure.column;
    const time = (index) => Number((figure.start + index * figure.step).toPrecision(9));
    const at = figure.x.unit === "clock" ? "time_s" : `${figure.x.label.replaceAll(" ", "_")}_${figure.x.unit}`;
    if (view === "series") {
      return [["series", at, column, "min", "max"],
        ...figure.lines.flatMap((line) => line.y.map((y, index) => [line.name, time(index), y, line.low?.[index], line.high?.[index]]))];
    }
    if (view === "octaves") {
      return [["series", "octave", "scale_s", column, "low_95", "high_95", "fitted"],
        ...figure.lines.flatMap((line) => line.octave.map((octave, index) => [line.name, octave, figure.step * 2 ** octave,
          line.energy[index], line.low[index], line.high[index], line.fit && octave >= line.fit.from && octave <= line.fit.to ? 1 : 0]))];
    }
    const curves = () => VIEWS[view].curves(figure, new Set());
    if (view === "gap") {
      return [["series", column, "share_minus_that_of_first"],
        ...curves().flatMap(({ line, points }) => points.map(({ x, y }) => [line.name, x, y]))];
    }
    if (view === "quantiles") {
      return [["series", "share", `first_${column}`, column],
        ...curves().flatMap(({ line, points }) => points.map(({ x, y, share }) => [line.name, share, x, y]))];
    }
    if (view === "change") {
      return [["series", at, `${column}_minus_that_of_first`],
        ...curves().flatMap(({ line, points }) => points.map(({ y }, index) => [line.name, time(index), y]))];
    }
    return [["series", column, "share_at_most", "share_above"],
      ...figure.lines.flatMap((line) => line.x.map((x, index) =>
        [line.name, x, 1 - line.above[index] / line.n, line.above[index] / line.n]))];
  },
});

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
