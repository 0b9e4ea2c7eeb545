// Names and units of series.

/** What a series is called. */
export const name_of = series => [series.target, series.port, series.counter].filter(Boolean).join(" ");

/** What a value of a series is shown in: its unit and what it is multiplied with. */
export function shown_in(series) {
  if (series.bits_per_unit) return { unit: "bit/s", factor: series.bits_per_unit };
  return { unit: series.kind === "gauge" ? series.unit : `${series.unit}/s`, factor: 1 };
}
