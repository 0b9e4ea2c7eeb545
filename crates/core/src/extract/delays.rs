//! How much longer than by the shortest transit the data of an end took to the monitor (methods A.13.9), as the end's own clock tells.
//!
//! A packet's timestamp says when it left, to a tick. The difference between when it passed and when it left is a constant, the delay, and
//! the drift of the two clocks. The packets that passed soonest show constant and drift: nothing passes sooner. What a packet took
//! beyond that is waiting between its sender and the monitor. The packet that gave the shortest transit may have waited too: that is a part of
//! the transit, and no delay beyond it.

use super::clock::{Clock, TICKS};

/// Two clocks drift apart by this at most, in nanoseconds a second: crystals are within 100 ppm.
const DRIFT: u64 = 200_000;

/// Points that are held at most.
const MOST: usize = 2_048;

/// A difference below this share of the transit is none.
const SHARE: u64 = 20;

/// When data left and when it passed.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Its first byte.
    start: u64,
    /// When it passed, after the first packet with a timestamp.
    at: u64,
    /// By how many ticks the sender's clock was ahead of that packet's.
    ticks: u32,
}

impl Point {
    /// How much later it passed than the first packet if both had taken as long, of this tick.
    fn later(&self, tick: u64) -> i64 {
        (self.at as i64).wrapping_sub((u64::from(self.ticks).wrapping_mul(tick)) as i64)
    }
}

/// From a byte on, data took so much longer than the packet of the shortest transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    pub at: u64,
    pub extra: u64,
}

/// What was seen of the data of an end.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    points: Vec<Point>,
    /// Differences up to so many times a tick are left out, so that there are at most [`MOST`] points.
    coarse: u64,
}

impl Delays {
    /// The first data of the end passed, from `start` on.
    pub fn new(start: u64, (at, ticks): (u64, u32)) -> Delays {
        Delays { points: vec![Point { start, at, ticks }], coarse: 0 }
    }

    /// New data from `start` on passed in order, `at` after the first packet with a timestamp, by which the sender's clock was so many
    /// `ticks` ahead. `tick` is the length of one, if it is known.
    pub fn passed(&mut self, start: u64, (at, ticks): (u64, u32), tick: Option<u64>) {
        let point = Point { start, at, ticks };
        if self.points.last().is_some_and(|last| !self.differ(last, &point, tick)) {
            return;
        }
        if self.points.len() == MOST {
            self.thin(tick);
        }
        self.points.push(point);
    }

    /// Whether the delays of two points differ by more than a tick, of any clock in use where the sender's is not known.
    fn differ(&self, one: &Point, other: &Point, tick: Option<u64>) -> bool {
        let by = |tick: u64| one.later(tick).abs_diff(other.later(tick)) > tick << self.coarse;
        tick.map_or_else(|| TICKS.into_iter().any(by), by)
    }

    /// Makes room, by telling fewer differences. Of a clock that nobody has nothing is kept.
    #[cold]
    fn thin(&mut self, tick: Option<u64>) {
        if tick.is_none() {
            self.points.clear();
        }
        while self.points.len() > MOST / 2 {
            self.coarse += 1;
            let mut kept: Vec<Point> = Vec::with_capacity(MOST);
            for point in &self.points {
                if kept.last().is_none_or(|last| self.differ(last, point, tick)) {
                    kept.push(*point);
                }
            }
            self.points = kept;
        }
    }

    /// From which byte on data took how much longer than the packet that gave the shortest `transit`, of which `shortest` says when it left
    /// and passed. Changes by more than a tick and a twentieth of the transit are told; always the delay of the first byte. Nothing if
    /// the clock is not known.
    pub fn finish(&self, clock: &Clock, transit: u64, shortest: (u64, u32)) -> Vec<Delay> {
        let (Some(tick), Some(soonest), Some(last)) = (clock.tick(), clock.soonest(), self.points.last()) else {
            return Vec::new();
        };
        let drift = |from: u64, to: u64| (to.abs_diff(from) / 1_000).saturating_mul(DRIFT) as i64 / 1_000_000;
        // What nothing can be sooner than, from the packets before and from those behind.
        let mut least = vec![soonest.saturating_add(drift(0, last.at)); self.points.len()];
        let later = |at: usize| self.points[at].later(tick);
        for at in 0..least.len() {
            let before = at.checked_sub(1).map_or(i64::MAX, |before| {
                least[before].saturating_add(drift(self.points[before].at, self.points[at].at))
            });
            least[at] = least[at].min(later(at)).min(before);
        }
        for at in (1..least.len()).rev() {
            let behind = least[at].saturating_add(drift(self.points[at - 1].at, self.points[at].at));
            least[at - 1] = least[at - 1].min(behind);
        }
        let shortest = Point { start: 0, at: shortest.0, ticks: shortest.1 };
        let least_then =
            self.points.iter().zip(&least).map(|(point, least)| least.saturating_add(drift(point.at, shortest.at)));
        let included = shortest.later(tick).abs_diff(least_then.fold(shortest.later(tick), i64::min));
        let tolerance = tick + transit / SHARE;
        let mut delays: Vec<Delay> = Vec::new();
        for (point, least) in self.points.iter().zip(least) {
            let longer = point.later(tick).abs_diff(least).saturating_sub(included);
            let applies = delays.last().map_or(0, |delay| delay.extra);
            let extra = if longer > tolerance { longer } else { 0 };
            if delays.is_empty() || extra.abs_diff(applies) > tolerance || (extra == 0 && applies > 0) {
                delays.push(Delay { at: point.start, extra });
            }
        }
        delays
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Delays>() + self.points.capacity() * size_of::<Point>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const TICK: u64 = MS;

    /// What is found, in tenths of a millisecond, of segments of 1,000 bytes that leave at these times and wait for so long, in milliseconds.
    /// The first packet gave the shortest transit; it waited for `first`.
    fn found_after(first: u64, segments: impl IntoIterator<Item = (u64, u64)>, drift_ppm: u64) -> Vec<(u64, u64)> {
        let (mut clock, mut delays) = (Clock::default(), None::<Delays>);
        clock.note(first * MS, 77);
        let shortest = clock.since();
        for (number, (left, waits)) in segments.into_iter().enumerate() {
            let left = left * MS;
            let now = left + waits * MS + left / 1_000_000 * drift_ppm;
            let ticks = (left / TICK) as u32;
            clock.note(now, 77 + ticks);
            let start = 1 + 1_000 * number as u64;
            match &mut delays {
                Some(delays) => delays.passed(start, clock.since(), clock.known_tick()),
                None => delays = Some(Delays::new(start, clock.since())),
            }
        }
        let delays = delays.unwrap();
        assert!(delays.points.len() <= MOST);
        let tenths = |nanos: u64| (nanos + MS / 20) / (MS / 10);
        delays.finish(&clock, 10 * MS, shortest).into_iter().map(|delay| (delay.at, tenths(delay.extra))).collect()
    }

    fn found(segments: impl IntoIterator<Item = (u64, u64)>, drift_ppm: u64) -> Vec<(u64, u64)> {
        found_after(0, segments, drift_ppm)
    }

    #[test]
    fn what_the_shortest_transit_contains_is_no_delay_beyond_it() {
        let segments = [(20, 30), (40, 30), (60, 0), (90, 50), (200, 0)];
        assert_eq!(found_after(30, segments, 0), [(1, 0), (3_001, 200), (4_001, 0)]);
    }

    #[test]
    fn segments_that_left_together_and_passed_apart_waited() {
        let waits = [0, 0, 18, 36, 54, 54, 0];
        let left = [10, 20, 40, 40, 40, 41, 200];
        let expected = [(1, 0), (2_001, 180), (3_001, 360), (4_001, 540), (6_001, 0)];
        assert_eq!(found(left.into_iter().zip(waits), 0), expected);
    }

    #[test]
    fn those_before_the_tick_is_known_count_too() {
        assert_eq!(found([(0, 30), (1, 30), (50, 0), (90, 0)], 0), [(1, 300), (2_001, 0)]);
    }

    #[test]
    fn nothing_is_found_without_waiting_or_without_a_clock() {
        assert_eq!(found((0..500).map(|n| (n * 7, 0)), 0), [(1, 0)]);
        assert_eq!(found([(0, 0), (2, 30)], 0), [], "too few ticks");
    }

    #[test]
    fn drift_of_the_clocks_is_no_waiting() {
        for ppm in [50, 150] {
            assert_eq!(found((0..4_000).map(|n| (n * 1_000, 0)), ppm), [(1, 0)], "{ppm} ppm for an hour");
        }
        let waits = |n: u64| if n == 2_000 { 80 } else { 0 };
        let drifting = found((0..4_000).map(|n| (n * 100, waits(n))), 50);
        assert_eq!(drifting, [(1, 0), (2_000_001, 800), (2_001_001, 0)]);
    }

    #[test]
    fn many_changes_are_told_more_coarsely() {
        let found = found((0..40_000).map(|n| (n * 40, [0, 10, 0, 35, 3][n as usize % 5])), 0);
        assert!(found.len() <= MOST, "{}", found.len());
        assert_eq!(found[0], (1, 0));
    }
}
