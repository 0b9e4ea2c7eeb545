//! Sums of series, bins of any width, and days at a glance.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use flowloom_store::FileError;
use flowloom_store::monitor::{Kind, Level, LevelRow, Series};
use serde::Serialize;

use crate::query::{Archive, Curve, Gap, Point, Query, View, together, views_of, widened};
use crate::steps::{Bins, Grid, Step, in_order, sum, without};

/// Nanoseconds in an hour.
const HOUR: u64 = Level::Hours.width_ns();

/// Rows and samples of a sum that are in memory at once, about.
const MOST_STEPS: u64 = 500_000;

/// Series whose hours are read at once.
const TOGETHER: usize = 4;

/// What some series add up to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Total {
    /// The unit of all of them.
    pub unit: String,
    /// Whether they count.
    pub kind: Kind,
    /// The width of each point, in nanoseconds.
    pub width_ns: u64,
    /// Points in which all series are known, at least in part, in order. The mean is that of the time in which all are known. If
    /// `is_bound`, the least and the greatest value are bounds: the sums of those of each series.
    pub points: Vec<Point>,
    /// Whether points come from rows of several samples, of which the order within is not known. Where not even all of the time of such a
    /// row is known of each series, and nothing finer is kept, the sum is not known.
    pub is_bound: bool,
    /// All of the period as one point; `None` if nothing is known.
    pub whole: Option<Point>,
    /// What was counted in the time that is known; of gauges `None`.
    pub amount: Option<u64>,
    /// The 95th percentile of the means of intervals (methods C.7).
    pub p95: Option<u128>,
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

/// When days begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayBegins<'a> {
    /// So long after midnight UTC, in nanoseconds; it may be negative.
    After(i64),
    /// At these times, in order, in nanoseconds since 1970 UTC: where the clock changes, days are shorter or longer than others.
    At(&'a [u64]),
}

impl DayBegins<'_> {
    /// When one of them begins, less than a width after 1970.
    fn phase_ns(self, width_ns: u64) -> u64 {
        match self {
            DayBegins::After(offset_ns) => offset_ns.rem_euclid(width_ns as i64) as u64,
            DayBegins::At(days) => days.first().map_or(0, |day| day % width_ns),
        }
    }

    /// When the day begins that `time_ns` is in.
    fn start(self, time_ns: u64) -> u64 {
        match self {
            DayBegins::After(_) => Grid { width_ns: 24 * HOUR, phase_ns: self.phase_ns(24 * HOUR) }.start(time_ns),
            DayBegins::At(days) => {
                days[..days.partition_point(|day| *day <= time_ns)].last().copied().unwrap_or(time_ns)
            }
        }
    }
}

/// Days of a series at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Days {
    /// Days of which something is known.
    pub days: Vec<Day>,
    /// Whether some of it is known by rows alone that cross the borders of its hours: what they cover counts evenly, and least and greatest
    /// rates are bounds.
    pub is_bound: bool,
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
    /// Each of `series` in the period of `query`, and what they add up to: they are of one unit (see [`Unaddable::check`]).
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn ask_and_add(&self, series: &[Series], query: &Query) -> Result<(Vec<Curve>, Total), FileError> {
        let longest = series.iter().map(|series| series.interval_ns).max().unwrap_or(1);
        let mut sum = View::new(query, longest, 0);
        let mut views = views_of(series, query);
        let is_small = series.len() as u64 <= together(series, query);
        let curves = match is_small {
            // One reading for all.
            true => {
                let level_ns = views.iter().map(|view| view.level_ns).fold(sum.level_ns, u64::min);
                let of_each = &mut |place: usize, step: &Step| views[place].add(step);
                self.summed(series, query.period(), level_ns, of_each, &mut |step| sum.add(step))?;
                let all: Vec<usize> = (0..series.len()).collect();
                let again = widened(&mut views, query, &all);
                self.fill(series, query, &mut views, again)?;
                self.curves(series, query, views.into_iter().map(View::told).collect())?
            }
            false => {
                self.summed(series, query.period(), sum.level_ns, &mut |_, _| {}, &mut |step| sum.add(step))?;
                self.ask(series, query)?
            }
        };
        while let Some(wider) = sum.wider(query) {
            sum = wider;
            self.summed(series, query.period(), sum.level_ns, &mut |_, _| {}, &mut |step| sum.add(step))?;
        }
        let gaps = curves.iter().flat_map(|curve| curve.gaps.iter().copied()).collect();
        Ok((curves, total(series, sum, gaps)))
    }

    /// Passes on what `series` add up to, in order: of samples exactly; of rows where all of their time is known of each series. What each
    /// is made of is passed to `of_each`, by its place in `series`.
    fn summed(
        &self,
        series: &[Series],
        period: Range<u64>,
        level_ns: u64,
        of_each: &mut dyn FnMut(usize, &Step),
        pass: &mut dyn FnMut(&Step),
    ) -> Result<(), FileError> {
        let least = series.iter().map(|series| series.interval_ns).min().unwrap_or(1);
        let length =
            level_ns.max(least).saturating_mul(MOST_STEPS / series.len().max(1) as u64).max(HOUR) / HOUR * HOUR;
        let mut at = period.start;
        while at < period.end {
            let part = at..((at / HOUR * HOUR).saturating_add(length)).min(period.end);
            at = part.end;
            let mut steps = self.steps(series, part.clone(), level_ns)?;
            for (place, steps) in steps.iter().enumerate() {
                steps.iter().for_each(|step| of_each(place, step));
            }
            // Two rows that are known in part may not be known at the same time.
            for range in partly_known(&steps, &part) {
                let fine = self.steps(series, range.clone(), 0)?;
                for (steps, fine) in steps.iter_mut().zip(fine) {
                    *steps = without(steps, &range);
                    steps.extend(fine.into_iter().filter(Step::is_full));
                }
            }
            steps.iter_mut().for_each(in_order);
            sum(&steps, &part, pass);
        }
        Ok(())
    }

    fn steps(&self, series: &[Series], period: Range<u64>, level_ns: u64) -> Result<Vec<Vec<Step>>, FileError> {
        let mut steps = vec![Vec::new(); series.len()];
        self.visit(series, period, level_ns, &mut |place, step| steps[place].push(step))?;
        Ok(steps)
    }

    /// Each of `series` in the bins of `grid`, with the width of the widest row that they are made of. A sample counts in each bin by the
    /// part of it that lies there.
    pub(crate) fn bins(
        &self,
        series: &[Series],
        period: Range<u64>,
        grid: Grid,
    ) -> Result<Vec<(Bins, u64)>, FileError> {
        let mut bins: Vec<(Bins, u64)> = series.iter().map(|_| (Bins::new(grid, &period), 0)).collect();
        self.visit(series, period, grid.level_ns(), &mut |place, step| {
            let (bins, widest_ns) = &mut bins[place];
            *widest_ns = step.row_ns.max(*widest_ns);
            bins.add(&step);
        })?;
        Ok(bins)
    }

    /// Each of `series` by its days in a period.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn days_of(
        &self,
        series: &[Series],
        period: Range<u64>,
        begins: DayBegins<'_>,
    ) -> Result<Vec<Days>, FileError> {
        let hours = Grid { width_ns: HOUR, phase_ns: begins.phase_ns(HOUR) };
        let mut all = Vec::with_capacity(series.len());
        for some in series.chunks(TOGETHER) {
            let bins = self.bins(some, period.clone(), hours)?;
            let of = |(bins, widest_ns): &(Bins, u64)| Days {
                days: days(bins, begins),
                is_bound: *widest_ns > hours.level_ns(),
            };
            all.extend(bins.iter().map(of));
        }
        Ok(all)
    }
}

fn total(series: &[Series], sum: View, mut gaps: Vec<Gap>) -> Total {
    let has_rows = sum.widest_ns > 0 && series.len() > 1;
    let told = sum.told();
    gaps.sort_by_key(|gap| (gap.start_ns, gap.end_ns));
    gaps.dedup();
    let kind = series.first().map_or(Kind::Counter, |series| series.kind);
    Total {
        unit: series.first().map_or_else(String::new, |series| series.unit.clone()),
        kind,
        width_ns: told.width_ns,
        is_bound: has_rows || told.is_bound,
        amount: (kind == Kind::Counter).then(|| told.whole.map(|whole| whole.amount())).flatten(),
        points: told.points,
        whole: told.whole,
        p95: told.p95,
        percentile_ns: told.percentile_ns,
        gaps,
    }
}

/// Hours put together to days.
fn days(hours: &Bins, begins: DayBegins<'_>) -> Vec<Day> {
    let mut days: BTreeMap<u64, (LevelRow, Vec<Point>)> = BTreeMap::new();
    for (start, row) in hours.known() {
        let (whole, hours) = days.entry(begins.start(start)).or_default();
        whole.add(row);
        hours.push(Point::of(start, row));
    }
    let day =
        |(start_ns, (whole, hours)): (u64, (LevelRow, _))| Day { start_ns, whole: Point::of(start_ns, &whole), hours };
    days.into_iter().map(day).collect()
}

/// Hours of `period` in which a row is known in part, those of a day together.
fn partly_known(steps: &[Vec<Step>], period: &Range<u64>) -> Vec<Range<u64>> {
    let partly = steps.iter().flatten().filter(|step| step.row_ns > 0 && !step.is_full());
    let mut hours: Vec<u64> = partly.map(|step| step.start_ns / HOUR).collect();
    hours.sort_unstable();
    let mut found: Vec<Range<u64>> = Vec::new();
    for hour in hours {
        match found.last_mut() {
            Some(last) if hour < last.start + 24 => last.end = last.end.max(hour + 1),
            _ => found.push(hour..hour + 1),
        }
    }
    let cut = |hours: Range<u64>| (hours.start * HOUR).max(period.start)..(hours.end * HOUR).min(period.end);
    found.into_iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_that_are_known_in_part_are_found() {
        let hour = |number: u64, covered_ns| Step {
            start_ns: number * HOUR,
            end_ns: (number + 1) * HOUR,
            row_ns: HOUR,
            row: LevelRow { covered_ns, samples: 1, ..LevelRow::default() },
        };
        let sample = Step { row_ns: 0, ..hour(4, HOUR) };
        let steps = [vec![hour(1, HOUR), hour(2, 5), hour(40, 7)], vec![hour(1, 3), sample, hour(30, HOUR)]];
        let found = partly_known(&steps, &(HOUR + 9..100 * HOUR));
        assert_eq!(found, [HOUR + 9..3 * HOUR, 40 * HOUR..41 * HOUR]);
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
