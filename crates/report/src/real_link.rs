//! What a real link carried, as a monitor counted it, beside what a run carried (methods C.12).
//!
//! Wide bins have other percentiles than narrow ones. So in tables both are averaged over the same times: over the intervals of the monitor,
//! or over the bins of the run where these are wider. In pictures a rate of the monitor holds for its whole interval.

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_store::monitor::utc_text;
use flowloom_store::run_folder::ThroughputRow;
use serde::{Deserialize, Serialize};

use crate::metric::Unit;

/// Which real link a run is shown beside: a port of a monitor, and a stretch of its store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RealLinkFacts {
    /// The target that was monitored; empty if names were left out.
    pub target: String,
    /// Its port.
    pub port: String,
    /// The beginning of the stretch, in nanoseconds since 1970 UTC: it stands at the beginning of the window; 0 if the time was left out.
    pub from_ns: u64,
    /// Its end; the length if the time was left out.
    pub to_ns: u64,
    /// What stands for the direction from left to right; null if nothing was counted.
    pub left_to_right: Option<CountedFacts>,
    /// The same from right to left.
    pub right_to_left: Option<CountedFacts>,
}

/// A counter of the real link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CountedFacts {
    /// Its name.
    pub counter: String,
    /// What it counts: octets, or cells of 53 bytes.
    pub unit: String,
    /// How often it was read, in nanoseconds.
    pub interval_ns: u64,
    /// For how much of the stretch the rate is unknown, in nanoseconds.
    pub unknown_ns: u64,
}

impl RealLinkFacts {
    /// The counter of packets from `from`.
    pub fn counted(&self, from: LinkSide) -> Option<&CountedFacts> {
        match from {
            LinkSide::Left => self.left_to_right.as_ref(),
            LinkSide::Right => self.right_to_left.as_ref(),
        }
    }

    /// The port and the time, in words: `ge-0/0/1 of core-1, 2026-11-27T10:00:00Z to 2026-11-27T11:00:00Z`.
    pub fn words(&self) -> String {
        let (from, to) = (utc_text(self.from_ns), utc_text(self.to_ns));
        match (self.port.is_empty(), self.target.is_empty()) {
            (true, true) => "names and time are left out".to_owned(),
            (true, false) => format!("{}, {from} to {to}", self.target),
            _ => format!("{} of {}, {from} to {to}", self.port, self.target),
        }
    }
}

/// What was counted between two answers of the monitored device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    start: Time,
    width: Duration,
    bytes: u64,
}

impl Interval {
    fn end(&self) -> Time {
        self.start + self.width
    }

    /// In bit/s.
    fn rate(&self) -> f64 {
        self.bytes as f64 * 8e9 / self.width.as_nanos() as f64
    }

    /// How much of it lies from `start` until `end`, in nanoseconds.
    fn within(&self, start: u64, end: u64) -> u64 {
        self.end().as_nanos().min(end).saturating_sub(self.start.as_nanos().max(start))
    }
}

/// What the tables of a run say of the real link, by direction and in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealLink {
    counted: [Vec<Interval>; 2],
}

/// Rates of the real link and of the run over the same time, in bit/s times nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The bin of the run that it lies in; `None` of an interval that is at least as wide as a bin.
    bin: Option<u64>,
    real: f64,
    run: f64,
    nanos: u64,
}

/// Rates over some intervals, in bit/s: the mean, and the least rates that are not exceeded in so much of the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// The mean over the time.
    pub mean: f64,
    /// Not exceeded in half of the time.
    pub p50: f64,
    /// In 95 % of it.
    pub p95: f64,
    /// In 99 % of it.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

impl Rates {
    /// Of rates and for how long each held; `None` of none.
    fn of(held: impl Iterator<Item = (f64, u64)>) -> Option<Rates> {
        let mut held: Vec<(f64, u64)> = held.filter(|(_, nanos)| *nanos > 0).collect();
        held.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (greatest, _) = held.last().copied()?;
        let whole: u64 = held.iter().map(|(_, nanos)| nanos).sum();
        let mean = held.iter().map(|(rate, nanos)| rate * *nanos as f64).sum::<f64>() / whole as f64;
        let not_exceeded = |percent: u64| {
            let wanted = (u128::from(whole) * u128::from(percent)).div_ceil(100);
            let mut passed = 0_u128;
            let reaches = |(_, nanos): &&(f64, u64)| {
                passed += u128::from(*nanos);
                passed >= wanted
            };
            held.iter().find(reaches).map_or(greatest, |(rate, _)| *rate)
        };
        Some(Rates { mean, p50: not_exceeded(50), p95: not_exceeded(95), p99: not_exceeded(99), max: greatest })
    }

    /// Its numbers in their order, as text.
    pub(crate) fn shown(&self) -> [String; 5] {
        [self.mean, self.p50, self.p95, self.p99, self.max].map(|rate| Unit::Rate.show(rate))
    }
}

/// A direction of the real link beside that of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// Intervals of the monitor within the window.
    pub intervals: usize,
    /// How long they are together, in nanoseconds.
    pub known_ns: u64,
    /// What the real link carried in them.
    pub real: Rates,
    /// What the link of the run carried in the same time.
    pub run: Rates,
}

impl RealLink {
    /// Takes a row; those of a direction come in the order of time.
    pub(crate) fn add(&mut self, row: &ThroughputRow) {
        if row.width > Duration::ZERO {
            let interval = Interval { start: row.start, width: row.width, bytes: row.traffic.bytes };
            self.counted[row.from as usize].push(interval);
        }
    }

    /// Rates of packets from `from` in bins, in bit/s: in each its mean over the time that is known, NaN where nothing is. Empty if nothing is
    /// known of any.
    pub(crate) fn in_bins(&self, from: LinkSide, start: Time, bin: Duration, bins: usize) -> Vec<f64> {
        let mut sums = vec![(0.0_f64, 0_u64); bins];
        for interval in &self.counted[from as usize] {
            let place = |time: Time| (time.since(start).as_nanos() / bin.as_nanos().max(1)) as usize;
            for at in place(interval.start)..=place(interval.end()).min(bins.saturating_sub(1)) {
                let begin = start.as_nanos() + bin.as_nanos() * at as u64;
                let nanos = interval.within(begin, begin + bin.as_nanos());
                if let Some((sum, known)) = sums.get_mut(at) {
                    *sum += interval.rate() * nanos as f64;
                    *known += nanos;
                }
            }
        }
        if sums.iter().all(|(_, known)| *known == 0) {
            return Vec::new();
        }
        sums.into_iter().map(|(sum, known)| if known > 0 { sum / known as f64 } else { f64::NAN }).collect()
    }

    /// The intervals of `from` beside `series`, the rates of the run in bins of `bin` from `start` on: the parts of them that both know. Intervals
    /// that are narrower than a bin are averaged over it.
    pub(crate) fn beside(&self, from: LinkSide, series: &[f64], start: Time, bin: Duration) -> Option<Beside> {
        let (first, width) = (start.as_nanos(), bin.as_nanos().max(1));
        let last = first + width * series.len() as u64;
        let (mut parts, mut intervals) = (Vec::<Part>::new(), 0);
        for interval in self.counted[from as usize].iter().filter(|interval| interval.within(first, last) > 0) {
            intervals += 1;
            let (begin, end) = (interval.start.as_nanos().max(first), interval.end().as_nanos().min(last));
            let (from, to) = ((begin - first) / width, (end - 1 - first) / width);
            for at in from..=to {
                let nanos = interval.within(first + at * width, first + (at + 1) * width);
                let (real, run) = (interval.rate() * nanos as f64, series[at as usize] * nanos as f64);
                let bin = (interval.width < bin).then_some(at);
                match parts.last_mut() {
                    Some(part) if part.bin == bin && (bin.is_some() || at > from) => {
                        (part.real, part.run, part.nanos) = (part.real + real, part.run + run, part.nanos + nanos);
                    }
                    _ => parts.push(Part { bin, real, run, nanos }),
                }
            }
        }
        let over =
            |sum: fn(&Part) -> f64| Rates::of(parts.iter().map(|part| (sum(part) / part.nanos as f64, part.nanos)));
        Some(Beside {
            intervals,
            known_ns: parts.iter().map(|part| part.nanos).sum(),
            real: over(|part| part.real)?,
            run: over(|part| part.run)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::record::Traffic;
    use flowloom_store::run_folder::TrafficPoint;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn link(intervals: &[(u64, u64, u64)]) -> RealLink {
        let mut link = RealLink::default();
        for &(start, seconds, bytes) in intervals {
            link.add(&ThroughputRow {
                point: TrafficPoint::RealLink,
                link: 0,
                from: LinkSide::Left,
                start: Time::ZERO + SECOND * start,
                width: SECOND * seconds,
                traffic: Traffic { packets: 0, bytes, payload_bytes: 0 },
            });
        }
        link
    }

    #[test]
    fn an_interval_holds_in_all_bins_that_it_covers() {
        // 8 bit/s for 3 s, a second of nothing known, 16 bit/s for 2 s; the window begins at 1 s, bins are of 2 s.
        let link = link(&[(0, 3, 3), (4, 2, 4)]);
        let found = link.in_bins(LinkSide::Left, Time::ZERO + SECOND, SECOND * 2, 3);
        assert_eq!(found[..2], [8.0, 16.0]);
        assert_eq!(found[2], 16.0);
        let fine = link.in_bins(LinkSide::Left, Time::ZERO, SECOND, 7);
        assert!(fine[3].is_nan() && fine[6].is_nan(), "{fine:?}");
        assert_eq!([fine[0], fine[2], fine[4], fine[5]], [8.0, 8.0, 16.0, 16.0]);
        assert_eq!(link.in_bins(LinkSide::Right, Time::ZERO, SECOND, 7), Vec::<f64>::new());
    }

    #[test]
    fn a_run_is_averaged_over_the_intervals_of_the_monitor() {
        // The run: 0, 10, 20, 30, 40, 50 bit/s in seconds; intervals from 1 to 3 and from 3.5 on, of which the last lies half behind it.
        let series = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0];
        let mut link = link(&[(1, 2, 5)]);
        link.counted[0].push(Interval {
            start: Time::from_nanos(3_500_000_000),
            width: Duration::from_millis(5_000),
            bytes: 50,
        });
        let found = link.beside(LinkSide::Left, &series, Time::ZERO, SECOND).unwrap();
        assert_eq!((found.intervals, found.known_ns), (2, 4_500_000_000));
        // 20 bit/s for 2 s and 80 bit/s for 2.5 s.
        assert_eq!([found.real.p50, found.real.p95, found.real.max], [80.0; 3]);
        assert!((found.real.mean - (20.0 * 2.0 + 80.0 * 2.5) / 4.5).abs() < 1e-9);
        // 15 in the first; 0.5 s at 30, 1 s at 40, 1 s at 50 in the second.
        let second = (15.0 + 40.0 + 50.0) / 2.5;
        assert_eq!(found.run.max, second);
        assert!((found.run.mean - (15.0 * 2.0 + second * 2.5) / 4.5).abs() < 1e-9);
    }

    /// A link that is on and off for half a second each is as steady over bins of a second as the run of the same packets.
    #[test]
    fn intervals_narrower_than_bins_are_averaged_over_them() {
        let mut link = RealLink::default();
        // The last one is cut by the border of two bins.
        for (start, millis, bytes) in [(0, 500, 10), (500, 500, 0), (1_000, 500, 0), (1_500, 400, 20), (1_900, 200, 10)]
        {
            let (start, width) = (Time::ZERO + Duration::from_millis(start), Duration::from_millis(millis));
            link.counted[0].push(Interval { start, width, bytes });
        }
        let found = link.beside(LinkSide::Left, &[80.0, 200.0, 400.0], Time::ZERO, SECOND).unwrap();
        assert_eq!((found.intervals, found.known_ns), (5, 2_100_000_000));
        assert_eq!([found.real.p50, found.real.p95, found.real.max], [200.0, 200.0, 400.0]);
        assert_eq!([found.run.p50, found.run.p95, found.run.max], [200.0, 200.0, 400.0]);
        assert!((found.real.mean - 320.0 / 2.1).abs() < 1e-9);
        assert!((found.run.mean - found.real.mean).abs() < 1e-9);
    }

    #[test]
    fn percentiles_are_of_time() {
        // 1 bit/s for 94 s, 2 for 2 s, 3 for 3 s, 4 for 1 s.
        let held = [(3.0, 3), (1.0, 94), (4.0, 1), (2.0, 2)];
        let found = Rates::of(held.into_iter()).unwrap();
        assert_eq!([found.p50, found.p95, found.p99, found.max], [1.0, 2.0, 3.0, 4.0]);
        assert!((found.mean - (94.0 + 4.0 + 9.0 + 4.0) / 100.0).abs() < 1e-12);
        assert_eq!(Rates::of(std::iter::empty()), None);
    }
}
