//! Any period of a store at a bounded number of points: least, mean and greatest rate, so that no peak vanishes; the true mean; a
//! percentile; gaps with their reasons.
//!
//! Rates and values are in millionths of a unit (per second). A point is at least as wide as the rows that it is made of, and covers
//! whole rows, so that its mean is exact. What a sample is of ends with its time; it belongs to the point in which it ends (methods C.6).

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use flowloom_store::FileError;
use flowloom_store::monitor::{
    GapRow, Kind, Level, LevelRow, MILLIONTHS, MonitorReader, Piece, Reason, Series, Wanted,
};
use serde::Serialize;

use crate::registry::matches;
use crate::steps::Grid;
use crate::target::{ANSWERS, OWN};
use crate::total::Parts;

/// Points of an answer at most.
pub const MOST_POINTS: usize = 100_000;

/// A day in nanoseconds.
const DAY_NS: u64 = 24 * Level::Hours.width_ns();

/// What to ask of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The beginning of the period, in nanoseconds since 1970 UTC.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Points of each series, at most.
    pub points: usize,
    /// The width of the intervals whose means the percentile is of, in nanoseconds; `None` for that of the rows that the points are made
    /// of, which costs nothing.
    pub percentile_ns: Option<u64>,
}

/// Which series to ask for, with * and ?.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The target.
    pub target: String,
    /// The port.
    pub port: String,
    /// The counter.
    pub counter: String,
}

impl Selection {
    /// Whether it means `series`.
    pub fn holds(&self, series: &Series) -> bool {
        matches(&self.target, &series.target)
            && matches(&self.port, &series.port)
            && matches(&self.counter, &series.counter)
    }
}

/// A part of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Its beginning, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// The least rate.
    pub least: u64,
    /// The mean over the time that is covered.
    pub mean: u64,
    /// The greatest rate.
    pub most: u64,
    /// How much of it is known, in nanoseconds.
    pub covered_ns: u64,
    /// How many samples it is of.
    pub samples: u64,
}

impl Point {
    pub(crate) fn of(start_ns: u64, row: &LevelRow) -> Point {
        let LevelRow { least, mean, most, covered_ns, samples, .. } = *row;
        Point { start_ns, least, mean, most, covered_ns, samples }
    }

    /// What was counted in the time that is known.
    pub(crate) fn amount(&self) -> u64 {
        let amount = u128::from(self.mean) * u128::from(self.covered_ns);
        let per_unit = u128::from(MILLIONTHS) * 1_000_000_000;
        u64::try_from((amount + per_unit / 2) / per_unit).unwrap_or(u64::MAX)
    }
}

/// A time in which rates are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The last answer before, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// The first answer after.
    pub end_ns: u64,
    /// Why.
    pub reason: Reason,
    /// What was counted in that time, where that is known.
    pub amount: Option<u64>,
}

/// A series in the period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Which it is.
    pub series: Series,
    /// The width of each point, in nanoseconds.
    pub width_ns: u64,
    /// Points with samples, in order.
    pub points: Vec<Point>,
    /// All of the period as one point; `None` if nothing is known.
    pub whole: Option<Point>,
    /// What was counted in the time that is known; of a gauge `None`.
    pub amount: Option<u64>,
    /// The 95th percentile: the least mean that at least 95 % of the intervals do not exceed (methods C.7).
    pub p95: Option<u64>,
    /// The width of these intervals, in nanoseconds; 0 for samples as they are.
    pub percentile_ns: u64,
    /// Gaps, in order.
    pub gaps: Vec<Gap>,
}

/// How many of a unit are so many bits: 8 of octets, 424 of cells; `None` of others.
pub fn bits_of(unit: &str) -> Option<u64> {
    match unit {
        "octets" => Some(8),
        "cells" => Some(424),
        _ => None,
    }
}

/// Answers queries about a store, which may be written meanwhile.
pub struct Archive {
    reader: MonitorReader,
}

impl Archive {
    /// The store in `root`.
    ///
    /// # Errors
    /// It is no store, damaged, or cannot be read.
    pub fn open(root: &Path) -> Result<Archive, FileError> {
        Ok(Archive { reader: MonitorReader::open(root)? })
    }

    /// The series of the store, by target, port and counter.
    ///
    /// # Errors
    /// It is damaged or cannot be read.
    pub fn series(&self) -> Result<Vec<Series>, FileError> {
        let mut series = self.reader.series()?;
        series.sort_by(|one, other| {
            let key = |series: &Series| (series.target.clone(), series.port.clone(), series.counter.clone(), series.id);
            key(one).cmp(&key(other))
        });
        Ok(series)
    }

    pub(crate) fn reader(&self) -> &MonitorReader {
        &self.reader
    }

    /// The days that have samples, as times of their beginnings.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn days(&self) -> Result<Vec<u64>, FileError> {
        self.reader.days()
    }

    /// The time that `series` have something of, to the hour; `None` if there is nothing. It looks at the first and the last day.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn extent(&self, series: &[Series]) -> Result<Option<Range<u64>>, FileError> {
        let wanted: Vec<Wanted> = series.iter().map(Wanted::from).collect();
        let days = self.days()?;
        let (first, last) = (days.first().copied().unwrap_or(0), days.last().copied().unwrap_or(0));
        let mut found: Option<Range<u64>> = None;
        let mut take = |piece: Piece| {
            let start =
                if piece.width_ns == 0 { piece.at_ns.saturating_sub(piece.row.covered_ns) } else { piece.at_ns };
            // The journal may have times behind the last day.
            let end = piece.at_ns + piece.width_ns.max(1);
            found = Some(found.take().map_or(start..end, |known| known.start.min(start)..known.end.max(end)));
        };
        let coarse = Level::Hours.width_ns();
        self.reader.read(&wanted, first..first.saturating_add(DAY_NS), coarse, &mut take)?;
        self.reader.read(&wanted, last..i64::MAX as u64, coarse, &mut take)?;
        Ok(found)
    }

    /// Each of `series` in the period of `query`.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn ask(&self, series: &[Series], query: &Query) -> Result<Vec<Curve>, FileError> {
        self.answer(series, query, None)
    }

    /// The same; what is read is passed to `parts` too.
    pub(crate) fn answer(
        &self,
        series: &[Series],
        query: &Query,
        mut parts: Option<&mut Parts<'_>>,
    ) -> Result<Vec<Curve>, FileError> {
        let wanted: Vec<Wanted> = series.iter().map(Wanted::from).collect();
        let width_ns = width(query);
        // Points are whole rows: the first and the last reach over the ends of the period.
        let period = query.from_ns / width_ns * width_ns..query.to_ns;
        let behind = parts.as_ref().map_or(0, |parts| parts.behind_ns());
        let wide = period.start..period.end.saturating_add(behind);
        let grid = Grid { width_ns, phase_ns: 0 };
        let mut sums: BTreeMap<u32, Sum> = wanted.iter().map(|one| (one.series, Sum::default())).collect();
        self.reader.read(&wanted, wide.clone(), level_of(width_ns), &mut |piece| {
            if let Some(parts) = &mut parts {
                parts.of_points.take(&piece);
            }
            if piece.at_ns < period.end
                && let Some(sum) = sums.get_mut(&piece.row.series)
            {
                sum.add(&piece, grid);
                if query.percentile_ns.is_none() {
                    sum.means.push(piece.row.mean);
                    sum.percentile_ns = piece.width_ns;
                }
            }
        })?;
        if let Some(fine) = query.percentile_ns {
            let grid = Grid { width_ns: fine.max(1), phase_ns: 0 };
            let mut bins: BTreeMap<u32, BTreeMap<u64, LevelRow>> = BTreeMap::new();
            let wide = query.from_ns..wide.end;
            self.reader.read(&wanted, wide, level_of(grid.width_ns), &mut |piece| {
                if let Some(parts) = &mut parts {
                    parts.of_intervals.take(&piece);
                }
                if piece.at_ns < query.to_ns {
                    grid.put(piece.at_ns, &piece.row, bins.entry(piece.row.series).or_default());
                }
            })?;
            for (series, bins) in bins {
                if let Some(sum) = sums.get_mut(&series) {
                    sum.means = bins.values().map(|row| row.mean).collect();
                    sum.percentile_ns = grid.width_ns;
                }
            }
        }
        let gaps = self.gaps(series, query)?;
        let curves = series.iter().zip(gaps).map(|(series, gaps)| {
            let sum = sums.remove(&series.id).unwrap_or_default();
            sum.curve(series.clone(), width_ns, gaps)
        });
        Ok(curves.collect())
    }

    /// The gaps of each of `series`: its own, and those of its target.
    fn gaps(&self, series: &[Series], query: &Query) -> Result<Vec<Vec<Gap>>, FileError> {
        let all = self.reader.series()?;
        let of_target = |one: &Series| {
            let is_whole = |other: &&Series| {
                other.target == one.target && other.port.is_empty() && other.counter == OWN[ANSWERS as usize].0
            };
            all.iter().filter(is_whole).map(|series| series.id).collect::<Vec<u32>>()
        };
        let targets: Vec<Vec<u32>> = series.iter().map(of_target).collect();
        let mut ids: Vec<u32> =
            series.iter().map(|series| series.id).chain(targets.iter().flatten().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        let rows = self.reader.gaps(&ids, query.from_ns..query.to_ns)?;
        let of = |(series, targets): (&Series, &Vec<u32>)| {
            let is_of = |row: &&GapRow| row.series == series.id || targets.contains(&row.series);
            joined(rows.iter().filter(is_of), series.interval_ns)
        };
        Ok(series.iter().zip(&targets).map(of).collect())
    }
}

/// The level of which rows make points or intervals of a width.
pub(crate) fn level_of(width_ns: u64) -> u64 {
    let fits = |level: &&Level| width_ns >= level.width_ns() && width_ns.is_multiple_of(level.width_ns().max(1));
    Level::ALL.iter().rev().find(fits).map_or(0, |level| level.width_ns())
}

/// The width of the points of a query: whole rows of the coarsest level that fits.
pub(crate) fn width(query: &Query) -> u64 {
    let period = query.to_ns.saturating_sub(query.from_ns).max(1);
    let points = query.points.clamp(1, MOST_POINTS) as u64;
    let least = period.div_ceil(points);
    let level = Level::ALL.iter().rev().find(|level| level.width_ns() <= least).map_or(0, |level| level.width_ns());
    // The first and the last point may be cut, which is one more.
    let least = period.div_ceil((points - 1).max(1)).max(least);
    least.next_multiple_of(level.max(1))
}

/// What is known of a series.
#[derive(Default)]
struct Sum {
    points: BTreeMap<u64, LevelRow>,
    whole: LevelRow,
    means: Vec<u64>,
    percentile_ns: u64,
}

impl Sum {
    fn add(&mut self, piece: &Piece, grid: Grid) {
        grid.put(piece.at_ns, &piece.row, &mut self.points);
        self.whole.add(&piece.row);
    }

    fn curve(mut self, series: Series, width_ns: u64, gaps: Vec<Gap>) -> Curve {
        let points: Vec<Point> = self.points.iter().map(|(start, row)| Point::of(*start, row)).collect();
        let whole = points.first().map(|point| Point::of(point.start_ns, &self.whole));
        let amount = (series.kind == Kind::Counter).then(|| whole.map(|whole| whole.amount())).flatten();
        let p95 = percentile(&mut self.means, 95);
        Curve { series, width_ns, points, whole, amount, p95, percentile_ns: self.percentile_ns, gaps }
    }
}

/// The smallest value that at least `percent` of `values` do not exceed (methods C.7).
pub(crate) fn percentile(values: &mut [u64], percent: u64) -> Option<u64> {
    let rank = (values.len() as u64 * percent).div_ceil(100).max(1) as usize;
    if values.is_empty() {
        return None;
    }
    let (_, value, _) = values.select_nth_unstable(rank - 1);
    Some(*value)
}

/// Gaps of one reason that follow each other are one.
fn joined<'a>(rows: impl Iterator<Item = &'a GapRow>, interval_ns: u64) -> Vec<Gap> {
    let mut rows: Vec<Gap> = rows
        .map(|row| Gap { start_ns: row.start_ns, end_ns: row.end_ns, reason: row.reason, amount: row.amount })
        .collect();
    rows.sort_by_key(|gap| (gap.start_ns, gap.end_ns));
    let mut gaps: Vec<Gap> = Vec::new();
    for gap in rows {
        match gaps.iter_mut().rev().find(|last| last.reason == gap.reason) {
            Some(last) if gap.start_ns <= last.end_ns.saturating_add(interval_ns / 2) => {
                last.end_ns = last.end_ns.max(gap.end_ns);
                last.amount = last.amount.or(gap.amount);
            }
            _ => gaps.push(gap),
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occur() {
        // Methods C.7: 1 1 2 3 3 4 5 5 6 9.
        let mut values = vec![9, 1, 5, 3, 2, 1, 3, 5, 4, 6];
        let found = [10, 25, 50, 90, 95, 100].map(|percent| percentile(&mut values, percent));
        assert_eq!(found, [1, 2, 3, 6, 9, 9].map(Some));
        assert_eq!(percentile(&mut [], 95), None);
    }

    #[test]
    fn points_are_whole_rows() {
        let query =
            |seconds: u64, points| Query { from_ns: 0, to_ns: seconds * 1_000_000_000, points, percentile_ns: None };
        let seconds = |query: &Query| width(query) as f64 / 1e9;
        assert_eq!(seconds(&query(100, 1_001)), 0.1);
        assert_eq!(seconds(&query(1_500, 1_000)), 2.0);
        assert_eq!(seconds(&query(86_400, 1_000)), 120.0);
        assert_eq!(seconds(&query(365 * 86_400, 1_000)), 9.0 * 3_600.0);
        for (seconds, points) in [(1, 1), (7, 3), (86_400, 17), (365 * 86_400, 2_000)] {
            let query = query(seconds, points);
            assert!(query.to_ns / width(&query) < points as u64 + 1, "{seconds} {points}");
            assert!(level_of(width(&query)) <= width(&query));
        }
    }

    #[test]
    fn gaps_of_one_reason_are_joined() {
        let row = |start_ns, end_ns, reason, amount| GapRow { series: 1, start_ns, end_ns, reason, amount };
        let rows = [
            row(10, 20, Reason::NoAnswer, None),
            row(20, 30, Reason::NoAnswer, None),
            row(10, 32, Reason::NoAnswer, Some(7)),
            row(32, 40, Reason::Restart, None),
            row(90, 95, Reason::NoAnswer, None),
        ];
        let gaps = joined(rows.iter(), 10);
        let gap = |start_ns, end_ns, reason, amount| Gap { start_ns, end_ns, reason, amount };
        assert_eq!(
            gaps,
            [
                gap(10, 32, Reason::NoAnswer, Some(7)),
                gap(32, 40, Reason::Restart, None),
                gap(90, 95, Reason::NoAnswer, None)
            ]
        );
    }
}
