// Numbers and times as text.

/** Three significant digits. */
export function digits(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  return size < 0.001 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

const STEPS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A value with a prefix and its unit; nanoseconds as a duration. */
export function scaled(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (unit === "ns") return duration(value);
  const [size, prefix] = STEPS.find(([size]) => Math.abs(value) >= size * 0.9995) ?? [1, ""];
  return `${digits(value / size)} ${prefix}${unit}`;
}

/** A duration in nanoseconds. */
export function duration(ns) {
  if (ns === null || ns === undefined) return "–";
  const steps = [[86400e9, "d"], [3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  const [size, unit] = steps.find(([size]) => Math.abs(ns) >= size) ?? [1, "ns"];
  return `${digits(ns / size)} ${unit}`;
}

const KEY = "flowloom-zone";
const LOCAL = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
let zone = (() => {
  try {
    return localStorage.getItem(KEY) === "UTC" ? "UTC" : LOCAL;
  } catch {
    return LOCAL;
  }
})();

/** The zones that can be chosen: the reader's, and UTC. */
export const zones = () => (LOCAL === "UTC" ? ["UTC"] : [LOCAL, "UTC"]);
export const current_zone = () => zone;
export function choose_zone(name) {
  zone = name;
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // It is chosen for this page.
  }
}

function parts(ms, zone) {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  });
  return Object.fromEntries(format.formatToParts(new Date(ms)).map(part => [part.type, part.value]));
}

/** A time as people read it: `2026-11-27 10:00:05`. */
export function time(ms, of = zone, seconds = true) {
  const at = parts(ms, of);
  return `${at.year}-${at.month}-${at.day} ${at.hour}:${at.minute}${seconds ? `:${at.second}` : ""}`;
}

/** The same with its zone, and in UTC beside it where the zone is another. */
export const time_and_utc = ms => (zone === "UTC" ? `${time(ms)} UTC` : `${time(ms)} (${time(ms, "UTC")} UTC)`);

/** How far the clock of the zone is behind UTC at a time, in minutes: days begin so long after midnight UTC. */
export function behind(ms, of = zone) {
  const at = parts(ms, of);
  const read = Date.UTC(at.year, at.month - 1, at.day, at.hour, at.minute, at.second);
  return Math.round((Math.floor(ms / 1000) * 1000 - read) / 60000);
}

/**
 * The days of the zone that lie in a period, at least in part, at most `most` of them and the last ones: their dates and beginnings, in
 * milliseconds since 1970. A day on which the clock changes is shorter or longer than others.
 */
export function days_in(from_ms, to_ms, most) {
  const found = [];
  const [year, month, day] = time(to_ms - 1).slice(0, 10).split("-").map(Number);
  for (let back = 0; found.length < most; back++) {
    const date = new Date(Date.UTC(year, month - 1, day - back)).toISOString().slice(0, 10);
    let begin = read(date);
    // Where the clock is put forward at midnight, the day begins at one o'clock.
    if (time(begin).slice(0, 10) < date) begin += 3600e3;
    found.unshift({ date, begin });
    if (begin <= from_ms) break;
  }
  return found;
}

/** What a field for a date and time holds, in the zone that is chosen. */
export const written = ms => time(ms, zone, true).replace(" ", "T");

/** The time that such a field holds, in milliseconds since 1970; NaN if none. */
export function read(text) {
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?/.exec(text);
  if (!found) return NaN;
  const [, year, month, day, hour, minute, second] = found.map(part => Number(part ?? 0));
  const utc = Date.UTC(year, month - 1, day, hour, minute, second);
  // The clock that holds then may differ from that of the same time in UTC.
  return utc + behind(utc + behind(utc) * 60000) * 60000;
}
