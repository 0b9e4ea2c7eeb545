//! Sums of series, bins of any width, and days at a glance.

use std::collections::BTreeMap;
use std::fmt;
use std::iter;
use std::ops::Range;

use flowloom_store::FileError;
use flowloom_store::monitor::{Kind, Level, LevelRow, SECOND, Series};
use serde::Serialize;

use crate::query::{Archive, Curve, Gap, Point, Query, View, together, views_of, widened};
use crate::steps::{Bins, Grid, Step, in_order, sum};

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
    /// The stretches of a period whose days begin at one time of the hour, and that time: where the clock changes by less than an hour,
    /// the days after it begin at another.
    fn stretches(self, period: &Range<u64>) -> Vec<(Range<u64>, u64)> {
        let days = match self {
            DayBegins::After(offset_ns) => return vec![(period.clone(), offset_ns.rem_euclid(HOUR as i64) as u64)],
            DayBegins::At(days) => days,
        };
        let first = days.partition_point(|day| *day <= period.start).saturating_sub(1);
        let inside = days[first..].iter().filter(|day| **day < period.end);
        let mut found: Vec<(Range<u64>, u64)> = Vec::new();
        for day in inside {
            let phase_ns = day % HOUR;
            match found.last_mut() {
                Some((_, known)) if *known == phase_ns => {}
                Some((last, _)) => {
                    last.end = *day;
                    found.push((*day..period.end, phase_ns));
                }
                None => found.push((period.clone(), phase_ns)),
            }
        }
        if found.is_empty() { vec![(period.clone(), 0)] } else { found }
    }

    /// When the day begins that `time_ns` is in.
    fn start(self, time_ns: u64) -> u64 {
        match self {
            DayBegins::After(offset_ns) => {
                let phase_ns = offset_ns.rem_euclid(24 * HOUR as i64) as u64;
                Grid { width_ns: 24 * HOUR, phase_ns }.start(time_ns)
            }
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
        let fits = |step_ns: u64| step_ns.saturating_mul(MOST_STEPS / series.len().max(1) as u64).max(SECOND);
        for part in parts(&period, fits(level_ns.max(least))) {
            let mut steps = self.steps(series, part.clone(), level_ns)?;
            for (place, steps) in steps.iter().enumerate() {
                steps.iter().for_each(|step| of_each(place, step));
            }
            steps.iter_mut().for_each(in_order);
            let mut at = part.start;
            // Two rows that are known in part may not be known at the same time.
            for range in partly_known(&steps, &part) {
                sum(&steps, &(at..range.start), pass);
                at = range.end;
                for fine in parts(&range, fits(least)) {
                    let mut steps = self.steps(series, fine.clone(), 0)?;
                    steps.iter_mut().for_each(|steps| {
                        steps.retain(Step::is_full);
                        in_order(steps);
                    });
                    sum(&steps, &fine, pass);
                }
            }
            sum(&steps, &(at..part.end), pass);
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
        let mut all: Vec<Days> = Vec::with_capacity(series.len());
        for some in series.chunks(TOGETHER) {
            let mut found = vec![Days { days: Vec::new(), is_bound: false }; some.len()];
            for (stretch, phase_ns) in begins.stretches(&period) {
                let hours = Grid { width_ns: HOUR, phase_ns };
                for (of_series, (bins, widest_ns)) in found.iter_mut().zip(self.bins(some, stretch, hours)?) {
                    of_series.days.extend(days(&bins, begins));
                    of_series.is_bound |= widest_ns > hours.level_ns();
                }
            }
            all.extend(found);
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

/// A period in parts of at most `length_ns`, which end at multiples of it, or of an hour if they are longer than that.
fn parts(period: &Range<u64>, length_ns: u64) -> impl Iterator<Item = Range<u64>> {
    let length_ns = if length_ns > HOUR { length_ns / HOUR * HOUR } else { length_ns };
    let unit_ns = length_ns.min(HOUR);
    let (mut at, end) = (period.start, period.end);
    iter::from_fn(move || {
        let part = at..(at / unit_ns * unit_ns).saturating_add(length_ns).min(end);
        at = part.end;
        (!part.is_empty()).then_some(part)
    })
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
    fn parts_of_a_period_hold_a_bounded_number_of_steps() {
        for (period, length_ns) in [
            (7..100 * HOUR + 3, 5 * HOUR / 2),
            (HOUR - 1..3 * HOUR, 16 * SECOND),
            (5 * HOUR..6 * HOUR, HOUR),
            (9..9 + SECOND, 400 * 24 * HOUR),
        ] {
            let found: Vec<Range<u64>> = parts(&period, length_ns).collect();
            assert!(found.iter().all(|part| part.end - part.start <= length_ns && !part.is_empty()));
            assert!(found.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((found[0].start, found.last().unwrap().end), (period.start, period.end));
            let on_time = |part: &Range<u64>| part.end.is_multiple_of(length_ns.min(HOUR));
            assert!(found[..found.len() - 1].iter().all(on_time), "{found:?}");
        }
        assert_eq!(parts(&(3..3), HOUR).count(), 0);
    }

    #[test]
    fn hours_follow_a_clock_that_changes_by_half_an_hour() {
        // Lord Howe Island: 11 hours ahead of UTC until 2025-04-06 02:00, then ten and a half.
        let before = 20_180 * 24 * HOUR - 11 * HOUR;
        let days = [before, before + 24 * HOUR, before + 48 * HOUR + HOUR / 2, before + 72 * HOUR + HOUR / 2];
        let period = before + HOUR..before + 70 * HOUR;
        let found = DayBegins::At(&days).stretches(&period);
        assert_eq!(found, [(period.start..days[2], 0), (days[2]..period.end, HOUR / 2)]);
        assert_eq!(DayBegins::At(&days[..2]).stretches(&period), [(period.clone(), 0)]);
        assert_eq!(DayBegins::After(-(11 * HOUR as i64) + 5).stretches(&period), [(period, 5)]);
    }

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

    /// A monitor of two ports over three days, an answer a minute, whose clocks are read one after the other; only hours are kept.
    #[test]
    fn a_sum_of_two_ports_is_known_in_every_hour() {
        use flowloom_store::monitor::{Batch, MonitorWriter, Retention, SECOND, WriterOptions};

        use crate::clock::Moment;
        use crate::rates::Width;
        use crate::target::{Answer, Class, CounterInfo, Event, PortReading, Reading, Tracker};

        const MINUTES: u64 = 3 * 1_440;
        let begin = 20_000 * 24 * HOUR;
        let folder = tempfile::tempdir().unwrap();
        let mut writer = MonitorWriter::open(folder.path(), WriterOptions::default(), begin).unwrap();
        let info = CounterInfo { name: "in".to_owned(), unit: "octets".to_owned(), class: Class::Octets, kind: None };
        let (mut tracker, mut ids, mut random) = (Tracker::new(vec![vec![info]]), BTreeMap::new(), 5_u64);
        for minute in 0..=MINUTES {
            let mut jitter = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % 1_000_000
            };
            let mut port = |name: &str| {
                let monotonic_ns = minute * 60 * SECOND + jitter();
                PortReading {
                    group: 0,
                    name: name.to_owned(),
                    index: name.to_owned(),
                    received: Moment { monotonic_ns, wall_ns: begin + monotonic_ns + jitter() },
                    discontinuity: None,
                    speed: None,
                    readings: vec![Reading::Counts(vec![(minute * 6_000, Width::Bits64)])],
                }
            };
            let ports = vec![port("a"), port("b")];
            let received = ports[1].received;
            tracker.answered(Answer { asked: received, received, uptime: None, ports, own_packets: 2 });
            for event in tracker.take() {
                match event {
                    Event::Defined { series, port, counter, unit, kind } => {
                        let (id, target, interval_ns) = (0, "t".to_owned(), 60 * SECOND);
                        let defined = Series { id, target, port, counter, unit, kind, interval_ns };
                        ids.insert(series, writer.series(defined).unwrap().0);
                    }
                    Event::Samples { time_ns, span_ns, samples } => {
                        let samples = samples.iter().map(|(series, amount)| (ids[series], *amount)).collect();
                        writer.samples(Batch { time_ns, span_ns, samples }).unwrap();
                    }
                    Event::Gap { .. } => {}
                }
            }
            writer.tick(begin + minute * 60 * SECOND).unwrap();
        }
        writer.rotate(begin + MINUTES * 60 * SECOND).unwrap();
        let hours = Retention { samples_ns: Some(0), seconds_ns: Some(0), minutes_ns: Some(0), hours_ns: None };
        writer.maintainer().run(begin + 10 * 24 * HOUR, &hours, &|| true).unwrap();
        let archive = Archive::open(folder.path()).unwrap();
        let mut ports = archive.series().unwrap();
        ports.retain(|series| series.counter == "in");
        let period = begin + HOUR..begin + 71 * HOUR;
        let query = Query { from_ns: period.start, to_ns: period.end, points: 100, percentile_ns: None };
        let (_, total) = archive.ask_and_add(&ports, &query).unwrap();
        assert_eq!(total.whole.map(|whole| whole.covered_ns), Some(70 * HOUR));
        let amount = total.amount.unwrap();
        // A millisecond at the ends.
        assert!(amount.abs_diff(70 * 60 * 12_000) <= 2, "{amount}");
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
