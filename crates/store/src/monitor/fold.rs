//! A segment of the journal into the days that its records are of.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use super::catalogue::{Catalogue, Kind};
use super::day::{self, GAPS, Table};
use super::journal::{self, Record};
use super::level::Level;
use super::rows::{GapRow, LevelRow, SampleRow};
use crate::table::FileError;

/// What a segment holds of a day.
#[derive(Default)]
struct OfDay {
    samples: Vec<SampleRow>,
    gaps: Vec<GapRow>,
}

/// Folds the segment `number` at `path`, whose series are in `catalogue`, unless that was done. Its file stays.
pub(super) fn fold(
    root: &Path,
    lock: &Mutex<()>,
    catalogue: &Catalogue,
    number: u64,
    path: &Path,
) -> Result<(), FileError> {
    let Some(bytes) = journal::load(path)? else { return Ok(()) };
    let mut days: BTreeMap<u64, OfDay> = BTreeMap::new();
    journal::read(&bytes, &mut |record| match record {
        Record::Series(_) => {}
        Record::Samples(batch) => {
            let of_day = days.entry(day::day_of(batch.time_ns)).or_default();
            let (time_ns, span_ns) = (batch.time_ns, batch.span_ns);
            let rows = batch.samples.into_iter();
            of_day.samples.extend(rows.map(|(series, amount)| SampleRow { series, time_ns, span_ns, amount }));
        }
        Record::Gap(gap) => days.entry(day::day_of(gap.end_ns)).or_default().gaps.push(gap),
    });
    drop(bytes);
    for (date, of_day) in days {
        if !day::covers(&day::tables(root, date)?, number) {
            write(root, lock, catalogue, number, (date, of_day))?;
        }
    }
    Ok(())
}

fn write(
    root: &Path,
    lock: &Mutex<()>,
    catalogue: &Catalogue,
    number: u64,
    (date, mut of_day): (u64, OfDay),
) -> Result<(), FileError> {
    of_day.samples.sort_unstable();
    of_day.gaps.sort_unstable();
    let mut added = Vec::new();
    let mut table = |stem| {
        let table = Table { stem, first: number, last: number };
        added.push(table.clone());
        table
    };
    for level in Level::PYRAMID {
        let rows = pyramid(&of_day.samples, level, catalogue);
        if !rows.is_empty() {
            day::write(root, date, &table(level.stem()), rows.into_iter().map(Ok))?;
        }
    }
    if !of_day.samples.is_empty() {
        day::write(root, date, &table(Level::Samples.stem()), of_day.samples.into_iter().map(Ok))?;
    }
    if !of_day.gaps.is_empty() {
        day::write(root, date, &table(GAPS), of_day.gaps.into_iter().map(Ok))?;
    }
    day::commit(root, date, lock, &added, &[])
}

/// The rows of a level, of `samples` that are sorted by series and time.
fn pyramid(samples: &[SampleRow], level: Level, catalogue: &Catalogue) -> Vec<LevelRow> {
    let mut rows: Vec<LevelRow> = Vec::new();
    let mut series: Option<(u32, Option<Kind>)> = None;
    for sample in samples {
        if series.is_none_or(|(id, _)| id != sample.series) {
            let known = catalogue.get(sample.series).filter(|series| level.holds(series.interval_ns));
            series = Some((sample.series, known.map(|series| series.kind)));
        }
        let Some((_, Some(kind))) = series else { continue };
        let row = summary(sample, kind, level);
        match rows.last_mut() {
            Some(last) if (last.series, last.start_ns) == (row.series, row.start_ns) => last.add(&row),
            _ => rows.push(row),
        }
    }
    rows
}

/// A sample as a row of a level.
pub(super) fn summary(sample: &SampleRow, kind: Kind, level: Level) -> LevelRow {
    let value = sample.millionths(kind);
    LevelRow {
        series: sample.series,
        start_ns: sample.time_ns - sample.time_ns % level.width_ns().max(1),
        least: value,
        most: value,
        mean: value,
        covered_ns: sample.span_ns,
        samples: 1,
    }
}
