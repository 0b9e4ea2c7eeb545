//! Sums of series, bins of any width, and days at a glance.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use flowloom_store::FileError;
use flowloom_store::monitor::{Kind, Level, LevelRow, Piece, Series, Wanted};
use serde::Serialize;

use crate::query::{Archive, Curve, Gap, MOST_POINTS, Point, Query, level_of, percentile, width};
use crate::steps::{Grid, Step, in_order, sum};

/// Nanoseconds in an hour.
const HOUR: u64 = Level::Hours.width_ns();

/// What some series add up to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Total {
    /// The unit of all of them.
    pub unit: String,
    /// Whether they count.
    pub kind: Kind,
    /// The width of each point, in nanoseconds.
    pub width_ns: u64,
    /// Points in which all series are known, in order. The mean is that of the time in which all are known. If `is_bound`, the least and
    /// the greatest value are bounds: the sums of those of each series.
    pub points: Vec<Point>,
    /// Whether points come from rows of several samples, of which the order within is not known.
    pub is_bound: bool,
    /// All of the period as one point; `None` if nothing is known.
    pub whole: Option<Point>,
    /// What was counted in the time that is known; of gauges `None`.
    pub amount: Option<u64>,
    /// The 95th percentile of the means of intervals (methods C.7).
    pub p95: Option<u64>,
    /// The width of these intervals, in nanoseconds.
    pub percentile_ns: u64,
    /// Gaps of any of them, in order.
    pub gaps: Vec<Gap>,
}

/// Why series cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unaddable {
    /// A unit, and one that differs from it.
    pub units: [String; 2],
}

impl fmt::Display for Unaddable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = &self.units;
        write!(f, "series in {one} and in {other} cannot be added")
    }
}

impl std::error::Error for Unaddable {}

impl Unaddable {
    /// Whether all of `series` have one unit and kind.
    ///
    /// # Errors
    /// They have not.
    pub fn check(series: &[Series]) -> Result<(), Unaddable> {
        let Some(first) = series.first() else { return Ok(()) };
        let name = |series: &Series| match series.kind {
            Kind::Counter => format!("{}/s", series.unit),
            Kind::Gauge => series.unit.clone(),
        };
        match series.iter().find(|other| (&other.unit, other.kind) != (&first.unit, first.kind)) {
            Some(other) => Err(Unaddable { units: [name(first), name(other)] }),
            None => Ok(()),
        }
    }
}

/// A day of a series at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Day {
    /// Its beginning, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// All of it as one point.
    pub whole: Point,
    /// Its hours of which something is known.
    pub hours: Vec<Point>,
}

impl Archive {
    /// Each of `series` in the period of `query`, and what they add up to: they are of one unit (see [`Unaddable::check`]). Both are made of
    /// one reading.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn ask_and_add(&self, series: &[Series], query: &Query) -> Result<(Vec<Curve>, Total), FileError> {
        let mut parts = Parts { series, of_points: Pieces::of(series), of_intervals: Pieces::of(series) };
        let curves = self.answer(series, query, Some(&mut parts))?;
        let gaps = curves.iter().flat_map(|curve| curve.gaps.iter().copied()).collect();
        Ok((curves, parts.total(query, gaps)))
    }

    /// Each of `series` in the bins of `grid`. A sample counts in each bin by the part of it that lies there.
    pub(crate) fn bins(
        &self,
        series: &[Series],
        period: Range<u64>,
        grid: Grid,
    ) -> Result<Vec<BTreeMap<u64, LevelRow>>, FileError> {
        let level =
            if grid.phase_ns.is_multiple_of(level_of(grid.width_ns).max(1)) { level_of(grid.width_ns) } else { 0 };
        let wanted: Vec<Wanted> = series.iter().map(Wanted::from).collect();
        let mut pieces = Pieces::of(series);
        // A sample that begins in the period may end behind it.
        let wide = period.start..period.end.saturating_add(behind_ns(series));
        self.reader().read(&wanted, wide, level, &mut |piece| pieces.take(&piece))?;
        let pieces = pieces.sorted();
        let bins = pieces.each().map(|(steps, rows)| {
            let mut bins = BTreeMap::new();
            let rows = rows.iter().filter(|(at_ns, _)| *at_ns < period.end);
            rows.for_each(|(at_ns, row)| grid.put(*at_ns, row, &mut bins));
            steps.iter().filter_map(|step| step.within(&period)).for_each(|step| grid.share(step, &mut bins));
            bins
        });
        Ok(bins.collect())
    }

    /// Each day of `series` in a period. Days begin `offset_ns` after midnight UTC, which may be negative.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn days_of(&self, series: &[Series], period: Range<u64>, offset_ns: i64) -> Result<Vec<Vec<Day>>, FileError> {
        let phase_ns = offset_ns.rem_euclid(HOUR as i64) as u64;
        let bins = self.hours(series, period, Grid { width_ns: HOUR, phase_ns })?;
        let day = Grid { width_ns: 24 * HOUR, phase_ns: offset_ns.rem_euclid(24 * HOUR as i64) as u64 };
        let days = |bins: BTreeMap<u64, LevelRow>| {
            let mut days: BTreeMap<u64, (LevelRow, Vec<Point>)> = BTreeMap::new();
            for (start, row) in bins {
                let first = day.start(start);
                let (whole, hours) = days.entry(first).or_default();
                whole.add(&row);
                hours.push(Point::of(start, &row));
            }
            let day = |(start_ns, (whole, hours)): (u64, (LevelRow, _))| Day {
                start_ns,
                whole: Point::of(start_ns, &whole),
                hours,
            };
            days.into_iter().map(day).collect()
        };
        Ok(bins.into_iter().map(days).collect())
    }

    /// Points of each of `series`.
    fn hours(
        &self,
        series: &[Series],
        period: Range<u64>,
        grid: Grid,
    ) -> Result<Vec<BTreeMap<u64, LevelRow>>, FileError> {
        let wanted: Vec<Wanted> = series.iter().map(Wanted::from).collect();
        let mut found: BTreeMap<u32, BTreeMap<u64, LevelRow>> = BTreeMap::new();
        // Rows of a level begin with whole hours.
        let level = if grid.phase_ns == 0 { level_of(grid.width_ns) } else { 0 };
        self.reader().read(&wanted, period, level, &mut |piece| {
            grid.put(piece.at_ns, &piece.row, found.entry(piece.row.series).or_default());
        })?;
        Ok(series.iter().map(|series| found.remove(&series.id).unwrap_or_default()).collect())
    }
}

/// Samples of `series` that end so long behind a period may begin in it, in nanoseconds.
fn behind_ns(series: &[Series]) -> u64 {
    series.iter().map(|series| series.interval_ns).max().unwrap_or(0).saturating_mul(2)
}

/// What is added up: what points are made of, and what the intervals of the percentile are made of, if that is something else.
pub(crate) struct Parts<'a> {
    series: &'a [Series],
    pub(crate) of_points: Pieces,
    pub(crate) of_intervals: Pieces,
}

impl Parts<'_> {
    /// How far behind a period samples are needed.
    pub(crate) fn behind_ns(&self) -> u64 {
        behind_ns(self.series)
    }

    fn total(self, query: &Query, mut gaps: Vec<Gap>) -> Total {
        let Parts { series, of_points, of_intervals } = self;
        let width_ns = width(query);
        let period = query.from_ns / width_ns * width_ns..query.to_ns;
        let longest = series.iter().map(|series| series.interval_ns).max().unwrap_or(1);
        let least = (period.end - period.start).div_ceil(MOST_POINTS as u64).max(1);
        // Rows are added one by one, so that their bounds are as close as they can be.
        let usual = level_of(width_ns).max(longest).max(least);
        let narrow = if width_ns.is_multiple_of(usual) { usual } else { width_ns };
        let of_points = of_points.sorted();
        let summed = of_points.summed(narrow, &period);
        let percentile_ns = query.percentile_ns.map_or(usual, |fine| fine.max(least));
        let intervals = match query.percentile_ns {
            None if narrow == usual => None,
            None => Some(of_points.summed(usual, &period)),
            Some(_) => Some(of_intervals.sorted().summed(percentile_ns, &(query.from_ns..query.to_ns))),
        };
        let intervals = intervals.as_ref().map_or(&summed.points, |intervals| &intervals.points);
        let mut means: Vec<u64> = intervals.values().map(|row| row.mean).collect();
        let (mut points, mut whole) = (BTreeMap::new(), LevelRow::default());
        let grid = Grid { width_ns, phase_ns: 0 };
        for (start, row) in &summed.points {
            grid.put(*start, row, &mut points);
            whole.add(row);
        }
        let points: Vec<Point> = points.iter().map(|(start, row)| Point::of(*start, row)).collect();
        let whole = points.first().map(|point| Point::of(point.start_ns, &whole));
        gaps.sort_by_key(|gap| (gap.start_ns, gap.end_ns));
        gaps.dedup();
        let kind = series.first().map_or(Kind::Counter, |series| series.kind);
        Total {
            unit: series.first().map_or_else(String::new, |series| series.unit.clone()),
            kind,
            width_ns,
            is_bound: summed.is_bound,
            amount: (kind == Kind::Counter).then(|| whole.map(|whole| whole.amount())).flatten(),
            points,
            whole,
            p95: percentile(&mut means, 95),
            percentile_ns,
            gaps,
        }
    }
}

struct Summed {
    points: BTreeMap<u64, LevelRow>,
    is_bound: bool,
}

/// What was read of some series: samples, and rows of levels by their beginnings.
pub(crate) struct Pieces {
    place: BTreeMap<u32, usize>,
    steps: Vec<Vec<Step>>,
    rows: Vec<Vec<(u64, LevelRow)>>,
}

impl Pieces {
    fn of(series: &[Series]) -> Pieces {
        let place = series.iter().enumerate().map(|(place, series)| (series.id, place)).collect();
        Pieces { place, steps: vec![Vec::new(); series.len()], rows: vec![Vec::new(); series.len()] }
    }

    pub(crate) fn take(&mut self, piece: &Piece) {
        let Some(place) = self.place.get(&piece.row.series) else { return };
        match Step::of(piece) {
            Some(step) => self.steps[*place].push(step),
            None => self.rows[*place].push((piece.at_ns, piece.row)),
        }
    }

    /// The same with samples in order.
    fn sorted(mut self) -> Pieces {
        self.steps.iter_mut().for_each(in_order);
        self
    }

    /// The samples and the rows of each series.
    fn each(&self) -> impl Iterator<Item = (&[Step], &[(u64, LevelRow)])> {
        self.steps.iter().map(Vec::as_slice).zip(self.rows.iter().map(Vec::as_slice))
    }

    /// The sums of all series in points: of samples exactly; of rows as far as they are known.
    fn summed(&self, width_ns: u64, period: &Range<u64>) -> Summed {
        let grid = Grid { width_ns, phase_ns: 0 };
        let put = |steps: &[Step], points: &mut BTreeMap<u64, LevelRow>| {
            let of_period = steps.iter().filter(|step| period.contains(&step.end_ns));
            of_period.for_each(|step| grid.put(step.end_ns, &step.row(), points));
        };
        let is_bound = self.rows.iter().flatten().any(|(at_ns, _)| *at_ns < period.end);
        let mut points = BTreeMap::new();
        if !is_bound {
            put(&sum(&self.steps), &mut points);
            return Summed { points, is_bound };
        }
        // Some days may have samples of one series and rows of another.
        let series = self.each().map(|(steps, rows)| {
            let mut points = BTreeMap::new();
            put(steps, &mut points);
            let of_period = rows.iter().filter(|(at_ns, _)| *at_ns < period.end);
            of_period.for_each(|(at_ns, row)| grid.put(*at_ns, row, &mut points));
            points
        });
        let series: Vec<BTreeMap<u64, LevelRow>> = series.collect();
        Summed { points: added(&series), is_bound }
    }
}

/// The bins in which all series are known, added.
fn added(series: &[BTreeMap<u64, LevelRow>]) -> BTreeMap<u64, LevelRow> {
    let [first, others @ ..] = series else { return BTreeMap::new() };
    let sum = |(start, row): (&u64, &LevelRow)| {
        let mut sum = LevelRow { series: 0, ..*row };
        for other in others {
            let row = other.get(start)?;
            sum.least = sum.least.saturating_add(row.least);
            sum.mean = sum.mean.saturating_add(row.mean);
            sum.most = sum.most.saturating_add(row.most);
            sum.covered_ns = sum.covered_ns.min(row.covered_ns);
            sum.samples = sum.samples.min(row.samples);
        }
        Some((*start, sum))
    };
    first.iter().filter_map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_rows_has_bounds() {
        let row = |least, mean, most, covered_ns| LevelRow {
            least,
            mean,
            most,
            covered_ns,
            samples: 3,
            ..LevelRow::default()
        };
        let one = BTreeMap::from([(0, row(1, 2, 3, 60)), (60, row(1, 1, 1, 60))]);
        let other = BTreeMap::from([(0, row(10, 20, 40, 50)), (120, row(9, 9, 9, 60))]);
        assert_eq!(added(&[one.clone(), other]), BTreeMap::from([(0, row(11, 22, 43, 50))]));
        assert_eq!(added(std::slice::from_ref(&one)), one);
        assert_eq!(added(&[]), BTreeMap::new());
    }

    #[test]
    fn only_series_of_one_unit_are_added() {
        let series = |unit: &str, kind| Series {
            id: 0,
            target: String::new(),
            port: String::new(),
            counter: String::new(),
            unit: unit.to_owned(),
            kind,
            interval_ns: 1,
        };
        let octets = series("octets", Kind::Counter);
        assert_eq!(Unaddable::check(&[octets.clone(), octets.clone()]), Ok(()));
        let wrong = Unaddable::check(&[octets.clone(), series("octets", Kind::Gauge)]).unwrap_err();
        assert_eq!(wrong.to_string(), "series in octets/s and in octets cannot be added");
    }
}
