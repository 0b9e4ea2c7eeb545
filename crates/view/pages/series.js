// Names and units of series.

import { duration } from "./numbers.js";

/** What a series is called. */
export const name_of = series => [series.target, series.port, series.counter].filter(Boolean).join(" ");

/** The names of series by their numbers; those of one name have their intervals too. */
export function names_of(all) {
  const count = new Map();
  for (const one of all) count.set(name_of(one), (count.get(name_of(one)) ?? 0) + 1);
  const name = one => (count.get(name_of(one)) > 1 ? `${name_of(one)}, every ${duration(one.interval_ns)}` : name_of(one));
  return new Map(all.map(one => [one.id, name(one)]));
}

/** What a value of a series is shown in: its unit and what it is multiplied with. */
export function shown_in(series) {
  if (series.bits_per_unit) return { unit: "bit/s", factor: series.bits_per_unit };
  return { unit: series.kind === "gauge" ? series.unit : `${series.unit}/s`, factor: 1 };
}
