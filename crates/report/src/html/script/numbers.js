// Elements, and numbers in words. The files of this folder are one script: `document.rs` joins them in its order.

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes, parent, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}

const px = (value) => Math.round(value * 10) / 10;
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

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
  return `${Number((value / size).toPrecision(1))} ${name}`.trim();
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (exponent) =>
  "10" + (exponent < 0 ? "⁻" : "") + [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join("");

// The end of a name tells more than its beginning: folders differ in their last parts.
function shorten(name, room) {
  const most = Math.max(4, Math.floor(room));
  return name.length <= most ? name : "…" + name.slice(name.length - most + 1);
}

// ---- Scales: data to pixels and back ------------------------------------------------------------------------------

function scale(log, domain, range) {
  const forward = log ? Math.log10 : (value) => value;
  const back = log ? (value) => 10 ** value : (value) => value;
  const [low, high] = domain.map(forward);
  const slope = (range[1] - range[0]) / (high - low || 1);
  const to = (value) => (log && value <= 0 ? range[0] : range[0] + (forward(value) - low) * slope);
  return { log, domain, range, to, from: (pixel) => back(low + (pixel - range[0]) / slope) };
}

function linearTicks([low, high], wanted, smallest = 0) {
  const raw = Math.max(smallest, (high - low) / Math.max(1, wanted));
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(smallest, magnitude * [1, 2, 2.5, 5, 10].find((factor) => factor * magnitude >= raw * 0.999));
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) ticks.push(index * step + 0);
  return { ticks, step };
}

// Ticks with their labels, the unit they share (for the axis title) and the faint lines between.
function axisTicks(axis, { log, domain }, pixels, spacing) {
  const wanted = Math.max(2, Math.floor(pixels / spacing));
  const decades = log ? Math.log10(domain[1] / domain[0]) : 0;
  if (!log || decades < 1.2) {
    const [size, name] = unitFor(axis.unit, Math.max(Math.abs(domain[0]), Math.abs(domain[1])));
    const { ticks, step } = linearTicks(domain.map((value) => value / size), wanted, axis.whole ? 1 : 0);
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
