//! Periods of a store against what a pencil, or a sum over all samples, says.

use std::ops::Range;
use std::path::Path;

use flowloom_monitor::{Archive, Curve, Query, Total};
use flowloom_store::monitor::{Batch, Kind, MonitorWriter, Retention, SECOND, Series, WriterOptions};

const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const START: u64 = 20_000 * DAY;

/// A sample: when it ends, its span, and what was counted in it.
type Sample = (u64, u64, u64);

fn series(counter: &str, interval_ns: u64, kind: Kind) -> Series {
    Series {
        id: 0,
        target: "core".to_owned(),
        port: "ge-0/0/1".to_owned(),
        counter: counter.to_owned(),
        unit: "octets".to_owned(),
        kind,
        interval_ns,
    }
}

/// Writes samples of several series, as a monitor does; those that end after `folded_ns` stay in the journal.
fn record(root: &Path, all: &[(Series, Vec<Sample>)], folded_ns: u64) -> MonitorWriter {
    let mut writer = MonitorWriter::open(root, WriterOptions::default(), START).unwrap();
    let mut samples: Vec<(Sample, u32)> = Vec::new();
    for (series, of_it) in all {
        let id = writer.series(series.clone()).unwrap().0;
        samples.extend(of_it.iter().map(|sample| (*sample, id)));
    }
    samples.sort_unstable();
    let mut is_folded = false;
    for ((time_ns, span_ns, amount), id) in samples {
        if time_ns > folded_ns && !is_folded {
            writer.rotate(time_ns).unwrap();
            is_folded = true;
        }
        writer.samples(Batch { time_ns, span_ns, samples: vec![(id, amount)] }).unwrap();
        if time_ns <= folded_ns {
            writer.tick(time_ns).unwrap();
        }
    }
    if !is_folded && folded_ns > 0 {
        writer.rotate(folded_ns).unwrap();
    }
    writer
}

fn ask(root: &Path, counters: &[&str], query: &Query) -> (Vec<Curve>, Total) {
    let archive = Archive::open(root).unwrap();
    let all = archive.series().unwrap();
    let of = |counter: &&str| all.iter().find(|series| series.counter == **counter).unwrap().clone();
    archive.ask_and_add(&counters.iter().map(of).collect::<Vec<Series>>(), query).unwrap()
}

fn query(period: Range<u64>, points: usize) -> Query {
    Query { from_ns: period.start, to_ns: period.end, points, percentile_ns: None }
}

/// Samples of a steady interval from `START` on.
fn steady(interval_ns: u64, count: u64, amount: impl Fn(u64) -> u64) -> Vec<Sample> {
    (1..=count).map(|number| (START + number * interval_ns, interval_ns, amount(number))).collect()
}

/// Numbers that look random, by a linear congruence.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The upper bits are the better ones.
        ((u128::from(self.0) * u128::from(most)) >> 64) as u64
    }
}

/// Samples of irregular spans of up to `most` intervals, with gaps between.
fn irregular(numbers: &mut Numbers, interval_ns: u64, most: u64, until: u64) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut at = START + numbers.below(interval_ns);
    while at < until {
        if numbers.below(40) == 0 {
            at += numbers.below(4 * HOUR);
        }
        let span = interval_ns / 2 + numbers.below(interval_ns * most - interval_ns / 2);
        at += span;
        samples.push((at, span, numbers.below(1_000_000)));
    }
    samples
}

/// The parts of samples in a period: nanoseconds, and the rate in units per nanosecond.
fn parts(samples: &[Sample], period: &Range<u64>) -> Vec<(Range<u64>, f64)> {
    let part = |(end, span, amount): &Sample| {
        let (from, to) = ((end - span).max(period.start), (*end).min(period.end));
        (from < to).then(|| (from..to, *amount as f64 / *span as f64))
    };
    samples.iter().filter_map(part).collect()
}

/// Time and amount of some parts.
fn sums(parts: &[(Range<u64>, f64)]) -> (u64, f64) {
    parts.iter().fold((0, 0.0), |(time, amount), (part, rate)| {
        let length = part.end - part.start;
        (time + length, amount + rate * length as f64)
    })
}

#[track_caller]
fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-6 * expected.abs() + 2.0, "{what}: {found} is not {expected}");
}

#[test]
fn rare_events_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let drops = steady(MINUTE, 60 * 1_440, |minute| u64::from(minute == 5));
    let errors = steady(MINUTE, 60 * 1_440, |minute| u64::from(minute % 1_440 == 700));
    let all = [(series("drops", MINUTE, Kind::Counter), drops), (series("errors", MINUTE, Kind::Counter), errors)];
    drop(record(folder.path(), &all, START + 60 * DAY));
    for days in [1, 7, 30, 60] {
        for points in [1, 2, 60, 4_000] {
            let (curves, total) = ask(folder.path(), &["drops", "errors"], &query(START..START + days * DAY, points));
            let amounts: Vec<Option<u64>> = curves.iter().map(|curve| curve.amount).collect();
            assert_eq!(amounts, [Some(1), Some(days)], "{days} days, {points} points");
            assert_eq!(total.amount, Some(1 + days), "{days} days, {points} points");
            let mean = 1.0 / (days * 86_400) as f64;
            assert!((curves[0].whole.unwrap().mean_units() / mean - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn a_period_is_exactly_what_was_asked() {
    // 1,000 octets a second from 10:07 to 11:07; nine times that before and after.
    let rate = |minute: u64| if (608..=667).contains(&minute) { 1_000 } else { 9_000 };
    let samples = steady(MINUTE, 1_440, |minute| 60 * rate(minute));
    for folded in [0, START + 660 * MINUTE, START + DAY] {
        let folder = tempfile::tempdir().unwrap();
        let all = [(series("in", MINUTE, Kind::Counter), samples.clone())];
        drop(record(folder.path(), &all, folded));
        let period = START + 607 * MINUTE..START + 667 * MINUTE;
        for points in [1, 2, 3, 7, 60, 1_000, 100_000] {
            let (curves, _) = ask(folder.path(), &["in"], &query(period.clone(), points));
            let curve = &curves[0];
            let whole = curve.whole.unwrap();
            assert_eq!((whole.start_ns, whole.covered_ns), (period.start, HOUR), "{points} points");
            assert_eq!((whole.least, whole.mean, whole.most), (1_000_000_000, 1_000_000_000, 1_000_000_000));
            assert_eq!((curve.amount, curve.p95, curve.is_bound), (Some(3_600_000), Some(1_000_000_000), false));
            assert!(curve.points.len() <= points, "{} of {points} points", curve.points.len());
            assert_eq!(curve.points[0].start_ns, period.start);
        }
    }
}

#[test]
fn points_add_up_to_any_period() {
    points_add_up(2);
}

/// A target may take ten intervals for an answer, and those before and after it are as far apart.
#[test]
fn points_of_long_samples_add_up() {
    points_add_up(20);
}

/// Of samples of up to `most` intervals.
fn points_add_up(most: u64) {
    let mut numbers = Numbers(7);
    let samples = irregular(&mut numbers, MINUTE, most, START + 5 * DAY);
    let all = [(series("in", MINUTE, Kind::Counter), samples.clone())];
    let folders = [0, START + 3 * DAY, START + 6 * DAY].map(|folded| {
        let folder = tempfile::tempdir().unwrap();
        drop(record(folder.path(), &all, folded));
        folder
    });
    for _ in 0..60 {
        let from = START + numbers.below(4 * DAY);
        let most = [MINUTE, HOUR, DAY, 5 * DAY][numbers.below(4) as usize];
        let length = 1 + numbers.below(most);
        let points = [1, 2, 3, 50, 4_000][numbers.below(5) as usize];
        let period = from..from + length;
        let what = format!("{} s from {} s on, {points} points", length / SECOND, (from - START) / SECOND);
        let truth = parts(&samples, &period);
        let (covered_ns, amount) = sums(&truth);
        for folder in &folders {
            let (curves, _) = ask(folder.path(), &["in"], &query(period.clone(), points));
            let curve = &curves[0];
            assert!(curve.points.len() <= points, "{what}: {} points", curve.points.len());
            let Some(whole) = curve.whole else {
                assert_eq!(covered_ns, 0, "{what}");
                continue;
            };
            assert_eq!(whole.covered_ns, covered_ns, "{what}");
            close(whole.integral as f64 / 1e9, amount, &what);
            let rates = truth.iter().map(|(_, rate)| *rate * 1e9);
            let most = rates.clone().fold(0.0, f64::max);
            let least = rates.fold(f64::INFINITY, f64::min);
            close(whole.most as f64 / 1e6, most, &what);
            close(whole.least as f64 / 1e6, least, &what);
            assert_eq!(curve.points.iter().map(|point| point.covered_ns).sum::<u64>(), covered_ns, "{what}");
            assert_eq!(curve.points.iter().map(|point| point.integral).sum::<u128>(), whole.integral, "{what}");
            let is_in = |start: u64| period.contains(&start);
            assert!(curve.points.iter().all(|point| is_in(point.start_ns) && point.covered_ns <= curve.width_ns));
            // Each point by itself.
            for point in curve.points.iter().take(3) {
                let grid_start = point.start_ns - point.start_ns % curve.width_ns;
                let end = if points == 1 { period.end } else { (grid_start + curve.width_ns).min(period.end) };
                let (covered_ns, amount) = sums(&parts(&samples, &(point.start_ns..end)));
                assert_eq!(point.covered_ns, covered_ns, "{what}");
                close(point.integral as f64 / 1e9, amount, &what);
            }
        }
    }
}

#[test]
fn a_sum_is_of_the_time_in_which_all_are_known() {
    // One is known in the first half of each hour, where the other is 0.
    let half: Vec<Sample> = steady(MINUTE, 30 * 1_440, |_| 6_000)
        .into_iter()
        .filter(|(end, _, _)| (end - START - 1) % HOUR < 30 * MINUTE)
        .collect();
    let other = steady(MINUTE, 30 * 1_440, |minute| if (minute - 1) % 60 < 30 { 0 } else { 60_000 });
    let mut numbers = Numbers(11);
    let odd = irregular(&mut numbers, MINUTE, 2, START + 30 * DAY);
    let all = [
        (series("half", MINUTE, Kind::Counter), half.clone()),
        (series("other", MINUTE, Kind::Counter), other.clone()),
        (series("odd", MINUTE, Kind::Counter), odd.clone()),
    ];
    for folded in [START + 20 * DAY, START + 31 * DAY] {
        let folder = tempfile::tempdir().unwrap();
        drop(record(folder.path(), &all, folded));
        let period = START..START + 30 * DAY;
        for points in [1, 2, 100, 720, 4_000] {
            let (_, total) = ask(folder.path(), &["half", "other"], &query(period.clone(), points));
            let whole = total.whole.unwrap();
            assert_eq!(whole.covered_ns, 15 * DAY, "{points} points");
            assert_eq!(total.amount, Some(30 * 24 * 30 * 6_000), "{points} points");
            assert_eq!(total.p95, Some(100_000_000), "{points} points");
        }
        // The same against a sum over all pairs of samples, of days before and after the fold.
        let period = START + 18 * DAY + 7..START + 22 * DAY + HOUR / 3;
        let [half, odd] = [&half, &odd].map(|samples| -> Vec<Sample> {
            let is_in = |(end, span, _): &&Sample| *end > period.start && end - span < period.end;
            samples.iter().filter(is_in).copied().collect()
        });
        let known: Vec<Range<u64>> = parts(&odd, &period).into_iter().map(|(part, _)| part).collect();
        let (mut time, mut amount) = (0, 0.0);
        for part in known {
            let (of_half, counted) = sums(&parts(&half, &part));
            time += of_half;
            amount += counted;
        }
        let known: Vec<Range<u64>> = parts(&half, &period).into_iter().map(|(part, _)| part).collect();
        amount += known.iter().map(|part| sums(&parts(&odd, part)).1).sum::<f64>();
        for points in [1, 2, 100, 4_000] {
            let (_, total) = ask(folder.path(), &["half", "odd"], &query(period.clone(), points));
            let whole = total.whole.unwrap();
            assert_eq!(whole.covered_ns, time, "{points} points");
            close(whole.integral as f64 / 1e9, amount, "half and odd");
        }
    }
}

#[test]
fn never_known_together_has_no_sum() {
    let folder = tempfile::tempdir().unwrap();
    let of = |rest: u64| -> Vec<Sample> {
        steady(MINUTE, 2 * 1_440, |_| 7).into_iter().filter(|(end, _, _)| (end - START) / MINUTE % 2 == rest).collect()
    };
    let all = [(series("odd", MINUTE, Kind::Counter), of(1)), (series("even", MINUTE, Kind::Counter), of(0))];
    drop(record(folder.path(), &all, START + 2 * DAY));
    for points in [1, 10, 4_000] {
        let (_, total) = ask(folder.path(), &["odd", "even"], &query(START..START + 2 * DAY, points));
        assert_eq!((total.whole, total.amount, total.points.len()), (None, None, 0), "{points} points");
    }
}

#[test]
fn a_percentile_is_one_of_equal_intervals() {
    // Three days of 100 octets a second, then 50 minutes of 100,000: 1.1 % of the time.
    let samples = steady(10 * SECOND, 3 * 8_640 + 300, |number| if number <= 3 * 8_640 { 1_000 } else { 1_000_000 });
    let period = START..START + 3 * DAY + 50 * MINUTE;
    for folded in [START + 3 * DAY, period.end] {
        let folder = tempfile::tempdir().unwrap();
        let all = [
            (series("p", 10 * SECOND, Kind::Counter), samples.clone()),
            (series("q", 10 * SECOND, Kind::Counter), samples.clone()),
        ];
        drop(record(folder.path(), &all, folded));
        for points in [1, 100, 1_000, 4_000] {
            let (curves, total) = ask(folder.path(), &["p", "q"], &query(period.clone(), points));
            assert_eq!((curves[0].p95, total.p95), (Some(100_000_000), Some(200_000_000)), "{points} points");
            assert!(curves[0].percentile_ns >= 10 * SECOND);
        }
    }
}

#[test]
fn where_only_hours_are_kept_widths_are_hours() {
    let folder = tempfile::tempdir().unwrap();
    // 6 minutes of 10,000 octets a second in each hour.
    let rate = |minute: u64| if (minute - 1) % 60 < 6 { 10_000 } else { 0 };
    let all = [(series("in", MINUTE, Kind::Counter), steady(MINUTE, 1_440, |minute| 60 * rate(minute)))];
    let writer = record(folder.path(), &all, START + DAY);
    let hours = Retention { samples_ns: Some(0), seconds_ns: Some(0), minutes_ns: Some(0), hours_ns: None };
    writer.maintainer().run(START + 3 * DAY, &hours, &|| true).unwrap();
    let two_hours = START + 2 * HOUR..START + 4 * HOUR;
    let (curves, _) = ask(folder.path(), &["in"], &query(two_hours.clone(), 1_000));
    let curve = &curves[0];
    assert_eq!((curve.width_ns, curve.points.len(), curve.is_bound), (HOUR, 2, false));
    assert!(curve.points.iter().all(|point| point.covered_ns == HOUR));
    assert_eq!((curve.amount, curve.percentile_ns), (Some(2 * 6 * 600_000), HOUR));
    let fine = Query { percentile_ns: Some(5 * MINUTE), ..query(two_hours, 1_000) };
    let (curves, total) = ask(folder.path(), &["in"], &fine);
    assert_eq!((curves[0].percentile_ns, total.percentile_ns), (HOUR, HOUR));
    assert_eq!(curves[0].p95, Some(1_000_000_000));
    // Within an hour nothing is known but the hour: an even share, said to be a bound.
    let (curves, _) = ask(folder.path(), &["in"], &query(START + 30 * MINUTE..START + 35 * MINUTE, 100));
    let whole = curves[0].whole.unwrap();
    assert_eq!((whole.covered_ns, curves[0].amount, curves[0].is_bound), (5 * MINUTE, Some(300_000), true));
}

#[test]
fn large_gauges_are_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let values = [20_000_000_000_000, 10_000_000_000_000_000, u64::MAX];
    let names = ["terabytes", "petabytes", "most"];
    let all: Vec<(Series, Vec<Sample>)> = names
        .iter()
        .zip(values)
        .map(|(name, value)| (series(name, SECOND, Kind::Gauge), steady(SECOND, 7_200, |_| value)))
        .collect();
    drop(record(folder.path(), &all, START + HOUR));
    for ((name, value), points) in names.iter().zip(values).flat_map(|one| [1, 2, 4_000].map(|points| (one, points))) {
        let (curves, _) = ask(folder.path(), &[name], &query(START..START + 2 * HOUR, points));
        let whole = curves[0].whole.unwrap();
        let expected = u128::from(value) * 1_000_000;
        assert_eq!(
            (whole.least, whole.mean, whole.most, curves[0].p95),
            (expected, expected, expected, Some(expected))
        );
        assert_eq!(curves[0].amount, None);
    }
}

#[test]
fn an_interval_is_no_longer_than_the_period() {
    let folder = tempfile::tempdir().unwrap();
    let all = [(series("in", MINUTE, Kind::Counter), steady(MINUTE, 1_440, |minute| 60 * minute))];
    let writer = record(folder.path(), &all, START + DAY);
    for is_thin in [false, true] {
        if is_thin {
            let hours = Retention { samples_ns: Some(0), seconds_ns: Some(0), minutes_ns: Some(0), hours_ns: None };
            writer.maintainer().run(START + 3 * DAY, &hours, &|| true).unwrap();
        }
        for (from, length, points) in [(START + 2 * HOUR, 2 * HOUR, 1_000), (START + HOUR + 7, 25 * MINUTE + 3, 10)] {
            for percentile_ns in [length, DAY, u64::MAX - 1, u64::MAX] {
                let query = Query { percentile_ns: Some(percentile_ns), ..query(from..from + length, points) };
                let (curves, total) = ask(folder.path(), &["in"], &query);
                let told = (curves[0].percentile_ns, total.percentile_ns);
                let least = if is_thin { length.next_multiple_of(HOUR) } else { length };
                assert!((least..least + HOUR).contains(&told.0) && told.0 == told.1, "{told:?} of {percentile_ns}");
                assert!(!is_thin || told.0 == least, "{told:?} of {percentile_ns}");
                let whole = curves[0].whole.unwrap();
                assert!((whole.least..=whole.most).contains(&curves[0].p95.unwrap()));
            }
        }
    }
}

#[test]
fn a_damaged_day_ends_no_period_before_or_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let all = [(series("in", MINUTE, Kind::Counter), steady(MINUTE, 3 * 1_440, |_| 60))];
    drop(record(folder.path(), &all, START + 3 * DAY));
    let archive = Archive::open(folder.path()).unwrap();
    let extent = || archive.extent(&archive.series().unwrap()).unwrap().unwrap();
    let whole = extent();
    assert_eq!(whole.start, START);
    std::fs::remove_file(folder.path().join("2024-10-05/manifest.json")).unwrap();
    for (day, points) in [0, 2].into_iter().flat_map(|day| [1, 24, 4_000].map(|points| (day, points))) {
        let period = START + day * DAY..START + (day + 1) * DAY;
        let (curves, total) = ask(folder.path(), &["in"], &query(period, points));
        // The sample that ends at midnight is one of the next day, but for its part in rows.
        let amount = if (day, points) == (0, 4_000) { 86_400 - 60 } else { 86_400 };
        assert_eq!((curves[0].amount, total.amount), (Some(amount), Some(amount)), "day {day}, {points} points");
    }
    assert_eq!(extent(), whole);
    std::fs::remove_file(folder.path().join("2024-10-04/manifest.json")).unwrap();
    assert_eq!(extent(), START + 2 * DAY..whole.end);
}
