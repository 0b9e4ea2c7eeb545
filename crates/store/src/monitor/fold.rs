//! A segment of the journal into the days that its records are of.

use std::collections::BTreeMap;
use std::iter;
use std::path::Path;
use std::sync::Mutex;

use super::catalogue::{Catalogue, Kind};
use super::day::{self, GAPS, OVERNIGHT, Table};
use super::journal::{self, Record};
use super::level::{DAY, Level};
use super::rows::{GapRow, LevelRow, SampleRow, share};
use crate::table::FileError;

/// What a segment holds of a day.
#[derive(Default)]
struct OfDay {
    samples: Vec<SampleRow>,
    /// The rows of each level of the pyramid.
    levels: [Vec<LevelRow>; Level::PYRAMID.len()],
    /// Gaps that begin on it.
    gaps: Vec<GapRow>,
    /// Gaps that began on an earlier day.
    overnight: Vec<GapRow>,
}

/// Folds the segment `number` at `path`, whose series are in `catalogue`, unless that was done. Its file stays. Returns what was read.
pub(super) fn fold(
    root: &Path,
    lock: &Mutex<()>,
    catalogue: &Catalogue,
    number: u64,
    path: &Path,
) -> Result<journal::Read, FileError> {
    let Some(bytes) = journal::load(path)? else { return Ok(journal::Read::default()) };
    let mut days: BTreeMap<u64, OfDay> = BTreeMap::new();
    let (mut samples, mut gaps): (Vec<SampleRow>, Vec<GapRow>) = Default::default();
    let mut read = journal::read(&bytes, &mut |record| match record {
        Record::Series(_) => {}
        Record::Samples(batch) => {
            let (time_ns, span_ns) = (batch.time_ns, batch.span_ns);
            let rows = batch.samples.into_iter();
            samples.extend(rows.map(|(series, amount)| SampleRow { series, time_ns, span_ns, amount }));
        }
        Record::Gap(gap) => gaps.push(gap),
    });
    drop(bytes);
    // Where damage took the definition of a series, nobody can tell what its samples are of; its number may be given again.
    let all = samples.len() + gaps.len();
    samples.retain(|sample| catalogue.get(sample.series).is_some());
    gaps.retain(|gap| catalogue.get(gap.series).is_some());
    read.undefined = (all - samples.len() - gaps.len()) as u64;
    for gap in gaps {
        let date = day::day_of(gap.end_ns);
        let of_day = days.entry(date).or_default();
        if gap.start_ns < date * DAY { of_day.overnight.push(gap) } else { of_day.gaps.push(gap) }
    }
    samples.sort_unstable();
    for (place, level) in Level::PYRAMID.into_iter().enumerate() {
        // A sample that ends after midnight has a part in the day before.
        for row in pyramid(&samples, level, catalogue) {
            days.entry(day::day_of(row.start_ns)).or_default().levels[place].push(row);
        }
    }
    for sample in samples {
        days.entry(day::day_of(sample.time_ns)).or_default().samples.push(sample);
    }
    // A day that is damaged does not hold up the others.
    let mut failed = None;
    for (date, of_day) in days {
        let written = day::tables(root, date).and_then(|tables| match day::covers(&tables, number) {
            true => Ok(()),
            false => write(root, lock, number, (date, of_day)),
        });
        failed = failed.or(written.err());
    }
    failed.map_or(Ok(read), Err)
}

fn write(root: &Path, lock: &Mutex<()>, number: u64, (date, of_day): (u64, OfDay)) -> Result<(), FileError> {
    let mut added = Vec::new();
    let mut table = |stem| {
        let table = Table { stem, first: number, last: number };
        added.push(table.clone());
        table
    };
    for (level, rows) in Level::PYRAMID.into_iter().zip(of_day.levels) {
        if !rows.is_empty() {
            day::write(root, date, &table(level.stem()), rows.into_iter().map(Ok))?;
        }
    }
    if !of_day.samples.is_empty() {
        day::write(root, date, &table(Level::Samples.stem()), of_day.samples.into_iter().map(Ok))?;
    }
    for (stem, mut gaps) in [(GAPS, of_day.gaps), (OVERNIGHT, of_day.overnight)] {
        gaps.sort_unstable();
        if !gaps.is_empty() {
            day::write(root, date, &table(stem), gaps.into_iter().map(Ok))?;
        }
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
        for row in split(sample, kind, level) {
            match rows.last_mut() {
                Some(last) if (last.series, last.start_ns) == (row.series, row.start_ns) => last.add(&row),
                _ => rows.push(row),
            }
        }
    }
    // A sample may begin before one that ended before it, which overlaps with it.
    rows.sort_by_key(|row| (row.series, row.start_ns));
    rows.dedup_by(|next, row| {
        let is_same = (next.series, next.start_ns) == (row.series, row.start_ns);
        if is_same {
            row.add(next);
        }
        is_same
    });
    rows
}

/// The parts of a sample in the rows that it crosses.
fn split(sample: &SampleRow, kind: Kind, level: Level) -> impl Iterator<Item = LevelRow> {
    let whole = summary(sample, kind);
    let begin = sample.time_ns.saturating_sub(sample.span_ns);
    let length = sample.time_ns - begin;
    let mut at = begin;
    iter::from_fn(move || {
        if at >= begin + length {
            return None;
        }
        let start_ns = level.start(at);
        let end = (start_ns + level.width_ns()).min(begin + length);
        let upto = |time| share(whole.integral, time - begin, length);
        let (integral, covered_ns) = (upto(end) - upto(at), end - at);
        let samples = u64::from(end == begin + length);
        at = end;
        Some(LevelRow { start_ns, integral, covered_ns, samples, ..whole })
    })
}

/// A sample as a row.
pub(super) fn summary(sample: &SampleRow, kind: Kind) -> LevelRow {
    let value = sample.millionths(kind);
    LevelRow {
        series: sample.series,
        start_ns: sample.time_ns,
        least: value,
        most: value,
        integral: sample.integral(kind),
        covered_ns: sample.span_ns,
        samples: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::SECOND;
    use super::*;

    #[test]
    fn a_sample_is_in_each_row_by_its_part() {
        // 90 octets from 00:00:30 to 00:02:00: 1 a second.
        let sample = SampleRow { series: 3, time_ns: 120 * SECOND, span_ns: 90 * SECOND, amount: 90 };
        let rows: Vec<LevelRow> = split(&sample, Kind::Counter, Level::Minutes).collect();
        let row = |minute: u64, seconds: u64, samples| LevelRow {
            series: 3,
            start_ns: minute * 60 * SECOND,
            least: 1_000_000,
            most: 1_000_000,
            integral: u128::from(seconds * SECOND),
            covered_ns: seconds * SECOND,
            samples,
        };
        assert_eq!(rows, [row(0, 30, 0), row(1, 60, 1)]);
        // 1 octet in thirds of 60 ns: nothing is lost.
        let odd = SampleRow { series: 3, time_ns: 60 * SECOND + 20, span_ns: 60, amount: 1 };
        let rows: Vec<LevelRow> = split(&odd, Kind::Counter, Level::Seconds).collect();
        assert_eq!(rows.iter().map(|row| row.integral).sum::<u128>(), u128::from(SECOND));
        assert_eq!(rows.iter().map(|row| row.covered_ns).collect::<Vec<_>>(), [40, 20]);
    }
}
