//! Sums of series, bins of any width, and days at a glance.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use flowloom_store::FileError;
use flowloom_store::monitor::{Kind, Level, LevelRow, Series, Wanted};
use serde::Serialize;

use crate::query::{Archive, Gap, MOST_POINTS, Point, Query, level_of, percentile, width};
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
    /// What `series` add up to in the period of `query`: they are of one unit (see [`Unaddable::check`]).
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn total(&self, series: &[Series], query: &Query) -> Result<Total, FileError> {
        let width_ns = width(query);
        let period = query.from_ns / width_ns * width_ns..query.to_ns;
        let longest = series.iter().map(|series| series.interval_ns).max().unwrap_or(1);
        let fine = query.percentile_ns.unwrap_or_else(|| level_of(width_ns).max(longest));
        // A sample is put into every interval that it crosses.
        let fine = fine.max((period.end - period.start).div_ceil(MOST_POINTS as u64)).max(1);
        let in_bins = |width_ns| self.summed(series, period.clone(), Grid { width_ns, phase_ns: 0 });
        let intervals = in_bins(fine)?;
        let mut means: Vec<u64> = intervals.bins.values().map(|row| row.mean).collect();
        // Points that are made of whole intervals need no second reading.
        let summed = if width_ns.is_multiple_of(fine) { intervals.wider(width_ns) } else { in_bins(width_ns)? };
        let mut whole = LevelRow::default();
        summed.bins.values().for_each(|row| whole.add(row));
        let points: Vec<Point> = summed.bins.iter().map(|(start, row)| Point::of(*start, row)).collect();
        let whole = points.first().map(|point| Point::of(point.start_ns, &whole));
        let mut gaps: Vec<Gap> = self.gaps(series, query)?.into_iter().flatten().collect();
        gaps.sort_by_key(|gap| (gap.start_ns, gap.end_ns));
        gaps.dedup();
        let kind = series.first().map_or(Kind::Counter, |series| series.kind);
        Ok(Total {
            unit: series.first().map_or_else(String::new, |series| series.unit.clone()),
            kind,
            width_ns,
            is_bound: summed.is_bound,
            amount: (kind == Kind::Counter).then(|| whole.map(|whole| whole.amount())).flatten(),
            points,
            whole,
            p95: percentile(&mut means, 95),
            percentile_ns: fine,
            gaps,
        })
    }

    /// Sums in bins: of samples exactly; of rows of a level as far as they are known.
    fn summed(&self, series: &[Series], period: Range<u64>, grid: Grid) -> Result<Summed, FileError> {
        let Pieces { steps, rows } = self.pieces(series, period.clone(), grid)?;
        let mut bins = BTreeMap::new();
        for step in sum(&steps, &period) {
            grid.add(step, &mut bins);
        }
        let is_bound = rows.iter().any(|rows| !rows.is_empty());
        if is_bound {
            // Some days may have samples of one series and rows of another.
            bins = added(&binned(&steps, rows, &period, grid));
        }
        Ok(Summed { bins, is_bound })
    }

    /// Each of `series` in the bins of `grid`. A sample counts in each bin by the part of it that lies there.
    pub(crate) fn bins(
        &self,
        series: &[Series],
        period: Range<u64>,
        grid: Grid,
    ) -> Result<Vec<BTreeMap<u64, LevelRow>>, FileError> {
        let Pieces { steps, rows } = self.pieces(series, period.clone(), grid)?;
        Ok(binned(&steps, rows, &period, grid))
    }

    fn pieces(&self, series: &[Series], period: Range<u64>, grid: Grid) -> Result<Pieces, FileError> {
        let mut wanted: Vec<Wanted> = series.iter().map(Wanted::from).collect();
        wanted.sort_unstable_by_key(|one| one.series);
        let place: BTreeMap<u32, usize> = series.iter().enumerate().map(|(place, series)| (series.id, place)).collect();
        let level =
            if grid.phase_ns.is_multiple_of(level_of(grid.width_ns).max(1)) { level_of(grid.width_ns) } else { 0 };
        // A sample that begins in the period may end behind it.
        let longest = series.iter().map(|series| series.interval_ns).max().unwrap_or(0);
        let wide = period.start..period.end.saturating_add(longest.saturating_mul(2));
        let mut steps = vec![Vec::new(); series.len()];
        let mut rows = vec![BTreeMap::<u64, LevelRow>::new(); series.len()];
        self.reader().read(&wanted, wide, level, &mut |piece| {
            let Some(place) = place.get(&piece.row.series) else { return };
            match Step::of(&piece) {
                Some(step) => steps[*place].push(step),
                None if piece.at_ns < period.end => {
                    rows[*place].entry(grid.start(piece.at_ns)).or_default().add(&piece.row);
                }
                None => {}
            }
        })?;
        steps.iter_mut().for_each(in_order);
        Ok(Pieces { steps, rows })
    }

    /// Each day of `series` in a period. Days begin `offset_ns` after midnight UTC, which may be negative.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn days_of(&self, series: &[Series], period: Range<u64>, offset_ns: i64) -> Result<Vec<Vec<Day>>, FileError> {
        let phase_ns = offset_ns.rem_euclid(HOUR as i64) as u64;
        let bins = self.bins(series, period, Grid { width_ns: HOUR, phase_ns })?;
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
}

struct Summed {
    bins: BTreeMap<u64, LevelRow>,
    is_bound: bool,
}

impl Summed {
    /// The same in bins that are several times as wide.
    fn wider(self, width_ns: u64) -> Summed {
        let mut bins: BTreeMap<u64, LevelRow> = BTreeMap::new();
        for (start, row) in &self.bins {
            bins.entry(start / width_ns * width_ns).or_default().add(row);
        }
        Summed { bins, ..self }
    }
}

/// What was read of some series: samples, and rows of levels in bins.
struct Pieces {
    steps: Vec<Vec<Step>>,
    rows: Vec<BTreeMap<u64, LevelRow>>,
}

fn binned(
    steps: &[Vec<Step>],
    mut rows: Vec<BTreeMap<u64, LevelRow>>,
    period: &Range<u64>,
    grid: Grid,
) -> Vec<BTreeMap<u64, LevelRow>> {
    for (steps, bins) in steps.iter().zip(&mut rows) {
        for step in steps {
            if let Some(step) = step.within(period) {
                grid.add(step, bins);
            }
        }
    }
    rows
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
