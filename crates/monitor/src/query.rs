//! Any period of a store at a bounded number of points: least, mean and greatest rate, so that no peak vanishes; the true mean; a
//! percentile; gaps with their reasons.
//!
//! Rates and values are in millionths of a unit (per second). A sample holds from the answer before it until its own, and counts in each
//! point by the part of it that lies there; a period is exactly what was asked for. Where only rows are kept that are wider than points,
//! points are as wide as they are.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use flowloom_store::FileError;
use flowloom_store::monitor::{GapRow, Kind, Level, LevelRow, MonitorReader, Piece, Reason, SECOND, Series, Wanted};
use serde::Serialize;

use crate::agent::longest_span_ns;
use crate::registry::matches;
use crate::steps::{Bins, Grid, Step};
use crate::target::speaks_for_target;

/// Points of an answer at most, and intervals of a percentile.
pub const MOST_POINTS: usize = 100_000;

/// Points and intervals of the series that are read at once, at most; one series may have more.
const MOST_CELLS: u64 = 500_000;

/// Series that are read at once, at most.
const TOGETHER: u64 = 64;

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
    /// of, or of the samples where they are wider, which costs nothing. At least a 100,000th of the period, at most all of it.
    pub percentile_ns: Option<u64>,
}

impl Query {
    pub(crate) fn period(&self) -> Range<u64> {
        self.from_ns..self.to_ns
    }
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
    pub least: u128,
    /// The mean over the time that is covered.
    pub mean: u128,
    /// The greatest rate.
    pub most: u128,
    /// What was counted in the time that is covered, in billionths of a unit; of a gauge, its value times that time.
    pub integral: u128,
    /// How much of it is known, in nanoseconds.
    pub covered_ns: u64,
    /// How many samples end in it.
    pub samples: u64,
}

impl Point {
    pub(crate) fn of(start_ns: u64, row: &LevelRow) -> Point {
        let LevelRow { least, most, integral, covered_ns, samples, .. } = *row;
        Point { start_ns, least, mean: row.mean(), most, integral, covered_ns, samples }
    }

    /// The mean in units (per second): of rare events it may be less than a millionth.
    pub fn mean_units(&self) -> f64 {
        let Point { least, most, integral, covered_ns, .. } = *self;
        LevelRow { least, most, integral, covered_ns, ..LevelRow::default() }.mean_units()
    }

    /// What was counted in the time that is known.
    pub(crate) fn amount(&self) -> u64 {
        let per_unit = u128::from(SECOND);
        u64::try_from(self.integral.saturating_add(per_unit / 2) / per_unit).unwrap_or(u64::MAX)
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
    /// The width of each point, in nanoseconds. The first and the last may be cut by the ends of the period.
    pub width_ns: u64,
    /// Points of which something is known, in order.
    pub points: Vec<Point>,
    /// Whether wide rows reach over an end of the period: what they cover counts evenly, and their least and greatest rates are bounds.
    pub is_bound: bool,
    /// All of the period as one point; `None` if nothing is known.
    pub whole: Option<Point>,
    /// What was counted in the time that is known; of a gauge `None`.
    pub amount: Option<u64>,
    /// The 95th percentile: the least mean that at least 95 % of the intervals do not exceed (methods C.7).
    pub p95: Option<u128>,
    /// The width of these intervals, in nanoseconds.
    pub percentile_ns: u64,
    /// Gaps, in order.
    pub gaps: Vec<Gap>,
}

/// Bits of a cell of 53 bytes on a link.
pub const BITS_OF_CELL: u64 = 8 * 53;

/// How many of a unit are so many bits: 8 of octets, 424 of cells; `None` of others.
pub fn bits_of(unit: &str) -> Option<u64> {
    match unit {
        "octets" => Some(8),
        "cells" => Some(BITS_OF_CELL),
        _ => None,
    }
}

/// Answers queries about a store, which may be written meanwhile.
pub struct Archive {
    reader: MonitorReader,
    /// The series of each target that tells its gaps, as they were at the first question: a store may have very many series.
    targets: OnceLock<BTreeMap<String, Vec<u32>>>,
}

impl Archive {
    /// The store in `root`.
    ///
    /// # Errors
    /// It is no store, damaged, or cannot be read.
    pub fn open(root: &Path) -> Result<Archive, FileError> {
        Ok(Archive { reader: MonitorReader::open(root)?, targets: OnceLock::new() })
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

    /// The days that have samples, as times of their beginnings.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn days(&self) -> Result<Vec<u64>, FileError> {
        self.reader.days()
    }

    /// The time that `series` have something of, to the hour; `None` if there is nothing. It looks at the first and the last day that can
    /// be read.
    ///
    /// # Errors
    /// No day can be read.
    pub fn extent(&self, series: &[Series]) -> Result<Option<Range<u64>>, FileError> {
        let wanted: Vec<Wanted> = series.iter().map(Wanted::from).collect();
        let days = self.days()?;
        let mut found: Option<Range<u64>> = None;
        let mut take = |piece: Piece| {
            let start =
                if piece.width_ns == 0 { piece.at_ns.saturating_sub(piece.row.covered_ns) } else { piece.at_ns };
            // The journal may have times behind the last day.
            let end = piece.at_ns + piece.width_ns.max(1);
            found = Some(found.take().map_or(start..end, |known| known.start.min(start)..known.end.max(end)));
        };
        let mut read = |period| self.reader.read(&wanted, period, 0, Level::Hours.width_ns(), &mut take);
        let of_day = |day: u64| day..day.saturating_add(DAY_NS);
        first_good(days.iter().map(|day| of_day(*day)), &mut read)?;
        first_good(days.iter().rev().map(|day| of_day(*day)), &mut read)?;
        read(days.last().map_or(0, |last| of_day(*last).end)..i64::MAX as u64)?;
        Ok(found)
    }

    /// Each of `series` in the period of `query`.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn ask(&self, series: &[Series], query: &Query) -> Result<Vec<Curve>, FileError> {
        let together = together(series, query) as usize;
        let mut views = Vec::with_capacity(series.len());
        for some in series.chunks(together) {
            let mut found = views_of(some, query);
            self.fill(some, query, &mut found, (0..some.len()).collect())?;
            views.extend(found.into_iter().map(View::told));
        }
        self.curves(series, query, views)
    }

    /// Curves of what was read of `series`.
    pub(crate) fn curves(&self, series: &[Series], query: &Query, views: Vec<Told>) -> Result<Vec<Curve>, FileError> {
        let gaps = self.gaps(series, query)?;
        let curve = |((series, told), gaps): ((&Series, Told), Vec<Gap>)| {
            let Told { width_ns, points, whole, is_bound, p95, percentile_ns } = told;
            let amount = (series.kind == Kind::Counter).then(|| whole.map(|whole| whole.amount())).flatten();
            Curve { series: series.clone(), width_ns, points, is_bound, whole, amount, p95, percentile_ns, gaps }
        };
        Ok(series.iter().zip(views).zip(gaps).map(curve).collect())
    }

    /// Fills the views at these places, which are read at once; again with wider bins where rows are wider than theirs.
    pub(crate) fn fill(
        &self,
        series: &[Series],
        query: &Query,
        views: &mut [View],
        mut places: Vec<usize>,
    ) -> Result<(), FileError> {
        while !places.is_empty() {
            let some: Vec<Series> = places.iter().map(|place| series[*place].clone()).collect();
            let level_ns = places.iter().map(|place| views[*place].level_ns).min().unwrap_or(0);
            self.visit(&some, query.period(), level_ns, &mut |place, step| views[places[place]].add(&step))?;
            places = widened(views, query, &places);
        }
        Ok(())
    }

    /// Passes on what `series` are made of in a period: rows of `level_ns` where they are kept and lie in it, samples at its ends, and wider
    /// rows where nothing else is kept. Each is passed by its place in `series`, and cut to the period. They come in no order.
    pub(crate) fn visit(
        &self,
        series: &[Series],
        period: Range<u64>,
        level_ns: u64,
        pass: &mut dyn FnMut(usize, Step),
    ) -> Result<(), FileError> {
        let wanted: Vec<Wanted> = series.iter().map(Wanted::from).collect();
        let place: BTreeMap<u32, usize> = series.iter().enumerate().map(|(place, series)| (series.id, place)).collect();
        // A sample that begins in the period may end behind it.
        let longest = longest_span_ns(series.iter().map(|series| series.interval_ns).max().unwrap_or(0));
        let level = level_ns.max(1);
        let inner = period.start.next_multiple_of(level)..period.end / level * level;
        let parts = match level_ns == 0 || inner.is_empty() {
            true => vec![(period, 0)],
            false => vec![(period.start..inner.start, 0), (inner.clone(), level_ns), (inner.end..period.end, 0)],
        };
        for (part, level_ns) in parts {
            if part.is_empty() {
                continue;
            }
            self.reader.read(&wanted, part.clone(), longest, level_ns, &mut |piece| {
                let step = Step::of(&piece).and_then(|step| step.within(&part));
                if let Some((place, step)) = place.get(&piece.row.series).zip(step) {
                    pass(*place, step);
                }
            })?;
        }
        Ok(())
    }

    /// The gaps of each of `series`: its own, and those of its target.
    pub(crate) fn gaps(&self, series: &[Series], query: &Query) -> Result<Vec<Vec<Gap>>, FileError> {
        let of_targets = match self.targets.get() {
            Some(known) => known,
            None => {
                let mut found: BTreeMap<String, Vec<u32>> = BTreeMap::new();
                for series in self.reader.series()?.into_iter().filter(speaks_for_target) {
                    found.entry(series.target).or_default().push(series.id);
                }
                self.targets.get_or_init(|| found)
            }
        };
        let of_target = |one: &Series| of_targets.get(&one.target).cloned().unwrap_or_default();
        let targets: Vec<Vec<u32>> = series.iter().map(of_target).collect();
        let mut ids: Vec<u32> =
            series.iter().map(|series| series.id).chain(targets.iter().flatten().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        let rows = self.reader.gaps(&ids, query.period())?;
        let of = |(series, targets): (&Series, &Vec<u32>)| {
            let [own, target] = [std::slice::from_ref(&series.id), targets]
                .map(|ids| joined(rows.iter().filter(|row| ids.contains(&row.series)), series.interval_ns / 2));
            // A series of the target itself has no others.
            if targets.contains(&series.id) { own } else { with_target(own, target, series.interval_ns / 2) }
        };
        Ok(series.iter().zip(&targets).map(of).collect())
    }
}

/// Reads the first of some periods that can be read.
///
/// # Errors
/// There are some, and none can be read.
fn first_good(
    periods: impl Iterator<Item = Range<u64>>,
    read: &mut dyn FnMut(Range<u64>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let mut failed = Ok(());
    for period in periods {
        failed = read(period);
        if failed.is_ok() {
            break;
        }
    }
    failed
}

/// The bins of the points of a query, where the widest rows are `row_ns` wide: whole rows of the coarsest level that fits.
fn grid(query: &Query, row_ns: u64) -> Grid {
    let period = query.to_ns.saturating_sub(query.from_ns).max(1);
    let points = query.points.clamp(1, MOST_POINTS) as u64;
    if points == 1 {
        return Grid { width_ns: period, phase_ns: query.from_ns % period };
    }
    // The first and the last point may be cut, which is one more.
    let least = period.div_ceil(points - 1);
    let level = Level::ALL.iter().rev().find(|level| level.width_ns() <= least).map_or(0, |level| level.width_ns());
    Grid { width_ns: least.next_multiple_of(level.max(row_ns).max(1)), phase_ns: 0 }
}

/// Empty views of `series`.
pub(crate) fn views_of(series: &[Series], query: &Query) -> Vec<View> {
    series.iter().map(|one| View::new(query, one.interval_ns, 0)).collect()
}

/// How many of `series` are read at once, by the memory that their bins take.
pub(crate) fn together(series: &[Series], query: &Query) -> u64 {
    let most = views_of(series, query).iter().map(View::cells).max().unwrap_or(1);
    (MOST_CELLS / most.max(1)).clamp(1, TOGETHER)
}

/// Puts empty views with wider bins in place of those whose bins are too narrow: their places.
pub(crate) fn widened(views: &mut [View], query: &Query, places: &[usize]) -> Vec<usize> {
    let mut again = Vec::new();
    for place in places {
        if let Some(wider) = views[*place].wider(query) {
            views[*place] = wider;
            again.push(*place);
        }
    }
    again
}

/// What is known of a function of time in the period of a query: its points, all of it, and intervals for the percentile.
pub(crate) struct View {
    period: Range<u64>,
    interval_ns: u64,
    points: Bins,
    pub(crate) width_ns: u64,
    intervals: Bins,
    percentile_ns: u64,
    /// The width of the rows that it is made of.
    pub(crate) level_ns: u64,
    /// The width of the widest rows that its bins are made for.
    fitted_ns: u64,
    /// The width of the widest row that was added.
    pub(crate) widest_ns: u64,
    /// Whether an end of the period cut a row.
    is_cut: bool,
    whole: LevelRow,
}

/// What a view comes to.
pub(crate) struct Told {
    pub(crate) width_ns: u64,
    pub(crate) points: Vec<Point>,
    pub(crate) whole: Option<Point>,
    pub(crate) is_bound: bool,
    pub(crate) p95: Option<u128>,
    pub(crate) percentile_ns: u64,
}

impl View {
    /// One of a series with a sample every `interval_ns`, where the widest rows are `row_ns` wide.
    pub(crate) fn new(query: &Query, interval_ns: u64, row_ns: u64) -> View {
        let period = query.period();
        let of_points = grid(query, row_ns);
        let length = period.end.saturating_sub(period.start).max(1);
        let level_ns = match query.points {
            // One point has all rows.
            0 | 1 => {
                Level::ALL.iter().rev().find(|level| level.width_ns() <= length).map_or(0, |level| level.width_ns())
            }
            _ => of_points.level_ns(),
        };
        let asked = query.percentile_ns.unwrap_or(level_ns.max(interval_ns));
        let whole_rows = if query.percentile_ns.is_none() { level_ns.max(row_ns) } else { row_ns };
        // An interval that is longer than the period has no more of it.
        let asked = asked.min(length.next_multiple_of(level_ns.max(1)));
        let percentile_ns = asked.max(length.div_ceil(MOST_POINTS as u64)).max(1).next_multiple_of(whole_rows.max(1));
        let of_intervals = Grid { width_ns: percentile_ns, phase_ns: 0 };
        View {
            points: Bins::new(of_points, &period),
            width_ns: of_points.width_ns,
            intervals: Bins::new(of_intervals, &period),
            percentile_ns,
            level_ns: level_ns.min(of_intervals.level_ns()),
            fitted_ns: row_ns,
            widest_ns: 0,
            is_cut: false,
            whole: LevelRow::default(),
            interval_ns,
            period,
        }
    }

    /// How many points and intervals it has, at most.
    fn cells(&self) -> u64 {
        let count = |width_ns| Bins::count(Grid { width_ns, phase_ns: 0 }, &self.period);
        count(self.width_ns) + count(self.percentile_ns)
    }

    pub(crate) fn add(&mut self, step: &Step) {
        self.widest_ns = self.widest_ns.max(step.row_ns);
        let is_short = step.end_ns - step.start_ns < step.row_ns;
        self.is_cut |= is_short && (step.start_ns == self.period.start || step.end_ns == self.period.end);
        self.whole.add(&step.row);
        self.points.add(step);
        self.intervals.add(step);
    }

    /// An empty one with wider bins, if rows were wider than those that this one was made for.
    pub(crate) fn wider(&self, query: &Query) -> Option<View> {
        let is_fitted = self.widest_ns <= self.level_ns.max(self.fitted_ns);
        (!is_fitted).then(|| View::new(query, self.interval_ns, self.widest_ns))
    }

    pub(crate) fn told(self) -> Told {
        let from_ns = self.period.start;
        let points: Vec<Point> =
            self.points.known().map(|(start_ns, row)| Point::of(start_ns.max(from_ns), row)).collect();
        // An interval of which next to nothing is known is none, unless there are no others.
        let means_of = |least_ns: u64| -> Vec<u128> {
            let known = self.intervals.known().filter(|(_, row)| row.covered_ns >= least_ns);
            known.map(|(_, row)| row.mean()).collect()
        };
        let mut means = means_of(self.percentile_ns / 100);
        if means.is_empty() {
            means = means_of(0);
        }
        Told {
            width_ns: self.width_ns,
            points,
            whole: (self.whole.covered_ns > 0).then(|| Point::of(from_ns, &self.whole)),
            is_bound: self.is_cut,
            p95: percentile(&mut means, 95),
            percentile_ns: self.percentile_ns,
        }
    }
}

/// The smallest value that at least `percent` of `values` do not exceed (methods C.7).
pub(crate) fn percentile<T: Ord + Copy>(values: &mut [T], percent: u64) -> Option<T> {
    let rank = (values.len() as u64 * percent).div_ceil(100).max(1) as usize;
    if values.is_empty() {
        return None;
    }
    let (_, value, _) = values.select_nth_unstable(rank - 1);
    Some(*value)
}

/// Gaps of one reason that follow each other are one; what was counted is known if it is known of all of them. Gaps that are no more than
/// `slack_ns` apart follow each other.
fn joined<'a>(rows: impl Iterator<Item = &'a GapRow>, slack_ns: u64) -> Vec<Gap> {
    let mut rows: Vec<Gap> = rows
        .map(|row| Gap { start_ns: row.start_ns, end_ns: row.end_ns, reason: row.reason, amount: row.amount })
        .collect();
    rows.sort_by_key(|gap| (gap.start_ns, gap.end_ns));
    let mut gaps: Vec<Gap> = Vec::new();
    for gap in rows {
        match gaps.iter_mut().rev().find(|last| last.reason == gap.reason) {
            Some(last) if gap.start_ns <= last.end_ns.saturating_add(slack_ns) => {
                last.end_ns = last.end_ns.max(gap.end_ns);
                last.amount = last.amount.zip(gap.amount).map(|(one, other)| one.saturating_add(other));
            }
            _ => gaps.push(gap),
        }
    }
    gaps
}

/// The gaps of a series and those of its target. What a series counted in a gap stays known if the gap of the target is no longer.
fn with_target(own: Vec<Gap>, target: Vec<Gap>, slack_ns: u64) -> Vec<Gap> {
    let mut gaps = own;
    for whole in target {
        let meets = |gap: &&Gap| {
            gap.reason == whole.reason
                && gap.start_ns <= whole.end_ns.saturating_add(slack_ns)
                && whole.start_ns <= gap.end_ns.saturating_add(slack_ns)
        };
        let (met, mut others): (Vec<Gap>, Vec<Gap>) = gaps.iter().partition(|gap| meets(gap));
        let mut all = whole;
        all.start_ns = met.iter().map(|gap| gap.start_ns).fold(all.start_ns, u64::min);
        all.end_ns = met.iter().map(|gap| gap.end_ns).fold(all.end_ns, u64::max);
        let known: u64 = met.iter().map(|gap| gap.end_ns - gap.start_ns).sum();
        let is_known = !met.is_empty() && known.saturating_add(slack_ns) >= all.end_ns - all.start_ns;
        let sum = || met.iter().try_fold(0_u64, |sum, gap| Some(sum.saturating_add(gap.amount?)));
        all.amount = is_known.then(sum).flatten();
        others.push(all);
        gaps = others;
    }
    gaps.sort_by_key(|gap| (gap.start_ns, gap.end_ns));
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
        assert_eq!(percentile::<u64>(&mut [], 95), None);
    }

    #[test]
    fn points_are_whole_rows() {
        let query =
            |seconds: u64, points| Query { from_ns: 0, to_ns: seconds * 1_000_000_000, points, percentile_ns: None };
        let seconds = |query: &Query| grid(query, 0).width_ns as f64 / 1e9;
        assert_eq!(seconds(&query(100, 1_001)), 0.1);
        assert_eq!(seconds(&query(1_500, 1_000)), 2.0);
        assert_eq!(seconds(&query(86_400, 1_000)), 120.0);
        assert_eq!(seconds(&query(365 * 86_400, 1_000)), 9.0 * 3_600.0);
        assert_eq!(grid(&query(1_500, 1_000), Level::Hours.width_ns()).width_ns, Level::Hours.width_ns());
        for (from, seconds, points) in [(0, 1, 1), (5, 7, 3), (7, 86_400, 17), (3, 365 * 86_400, 2_000), (59, 3_600, 1)]
        {
            let from_ns = from * 1_000_000_000;
            let query = Query { from_ns, to_ns: from_ns + seconds * 1_000_000_000, points, percentile_ns: None };
            let grid = grid(&query, 0);
            assert!(Bins::count(grid, &query.period()) <= points as u64, "{from} {seconds} {points}");
            assert!(grid.level_ns() <= grid.width_ns);
        }
    }

    fn gap(start_ns: u64, end_ns: u64, reason: Reason, amount: Option<u64>) -> Gap {
        Gap { start_ns, end_ns, reason, amount }
    }

    #[test]
    fn gaps_of_one_reason_are_joined() {
        let row = |start_ns, end_ns, reason, amount| GapRow { series: 1, start_ns, end_ns, reason, amount };
        let rows = [
            row(10, 20, Reason::NoAnswer, Some(100)),
            row(20, 30, Reason::NoAnswer, Some(200)),
            row(32, 40, Reason::Restart, None),
            row(33, 45, Reason::NoAnswer, Some(3)),
            row(90, 95, Reason::NoAnswer, None),
            row(95, 99, Reason::NoAnswer, Some(5)),
        ];
        let expected = [
            gap(10, 45, Reason::NoAnswer, Some(303)),
            gap(32, 40, Reason::Restart, None),
            gap(90, 99, Reason::NoAnswer, None),
        ];
        assert_eq!(joined(rows.iter(), 5), expected);
    }

    #[test]
    fn gaps_of_a_target_keep_what_its_series_counted() {
        let own = vec![gap(10, 32, Reason::NoAnswer, Some(7)), gap(60, 70, Reason::NoAnswer, Some(9))];
        let target = vec![
            gap(10, 30, Reason::NoAnswer, None),
            gap(55, 80, Reason::NoAnswer, None),
            gap(81, 85, Reason::NotRecorded, None),
        ];
        let expected = [
            gap(10, 32, Reason::NoAnswer, Some(7)),
            // What it counted in the rest of that time is not known.
            gap(55, 80, Reason::NoAnswer, None),
            gap(81, 85, Reason::NotRecorded, None),
        ];
        assert_eq!(with_target(own, target, 5), expected);
    }
}
