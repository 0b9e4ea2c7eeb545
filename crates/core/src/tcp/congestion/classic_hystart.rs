//! HyStart (Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55, 2011) with the constants of Linux:
//! leaves slow start at once when acknowledgements come in a train that fills half of the path, or when round-trip times rise.

use super::control::Ack;
use crate::time::{Duration, Time};

/// Below this window neither detector looks (`hystart_low_window`), in segments.
const LEAST_WINDOW: u32 = 16;
/// Acknowledgements no further apart than this are one train (`hystart_ack_delta_us`).
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// What a burst of segmentation offload may stretch a train by; the upper bound, which holds below 2 Gbit/s (`hystart_ack_delay`).
const TRAIN_ALLOWANCE: Duration = Duration::from_millis(1);
/// So many round-trip times make a round's minimum worth looking at (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u8 = 8;
/// Bounds of the rise that ends slow start, an eighth of the shortest round trip between them (`HYSTART_DELAY_THRESH`).
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);

/// The state of HyStart in one slow start.
#[derive(Clone, Debug)]
pub(super) struct ClassicHyStart {
    /// When this is passed, the round is over.
    round_end: u64,
    round_start: Time,
    /// The last acknowledgement of the train that began with the round.
    last_of_train: Time,
    shortest: Duration,
    samples: u8,
}

impl Default for ClassicHyStart {
    fn default() -> ClassicHyStart {
        ClassicHyStart {
            round_end: 0,
            round_start: Time::ZERO,
            last_of_train: Time::ZERO,
            shortest: Duration::MAX,
            samples: 0,
        }
    }
}

impl ClassicHyStart {
    /// An acknowledgement with a round-trip time in slow start, with a window of `segments` on a path whose shortest
    /// round-trip time is `path`. Returns whether slow start is over. `paced` senders space their segments themselves.
    pub(super) fn is_over(&mut self, ack: &Ack, rtt: Duration, path: Duration, segments: u32, paced: bool) -> bool {
        if ack.unacknowledged > self.round_end {
            *self = ClassicHyStart {
                round_end: ack.next,
                round_start: ack.now,
                last_of_train: ack.now,
                ..ClassicHyStart::default()
            };
        }
        if segments < LEAST_WINDOW {
            return false;
        }
        let train = self.is_long_train(ack.now, path, paced);
        self.shortest = self.shortest.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return train;
        }
        train || self.shortest > path + (path / 8).clamp(MIN_RISE, MAX_RISE)
    }

    fn is_long_train(&mut self, now: Time, path: Duration, paced: bool) -> bool {
        if now.since(self.last_of_train) > TRAIN_GAP {
            return false;
        }
        self.last_of_train = now;
        let longest = path + TRAIN_ALLOWANCE;
        now.since(self.round_start) > if paced { longest } else { longest / 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, ack};
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    /// Feeds acknowledgements at these milliseconds with these round-trip times; the number of the one that ends slow start.
    fn ends(samples: &[(u64, u64)], path: u64, segments: u32, paced: bool) -> Option<usize> {
        let mut hystart = ClassicHyStart::default();
        let far = 1_000_000;
        let over = |(count, &(now, rtt)): (usize, &(u64, u64))| {
            let ack = Ack { now: at(now), unacknowledged: 1 + count as u64, next: far, ..ack(MSS) };
            hystart.is_over(&ack, MS(rtt), MS(path), segments, paced).then_some(count + 1)
        };
        samples.iter().enumerate().find_map(over)
    }

    /// Trains with gaps of 1 ms: over once more than (40 + 1) / 2 ms long, so with the acknowledgement 21 ms after the first.
    #[test]
    fn a_train_of_half_a_round_trip_ends_it() {
        let train: Vec<_> = (0..60).map(|n| (100 + n, 40)).collect();
        assert_eq!(ends(&train, 40, 16, false), Some(22));
        assert_eq!(ends(&train, 40, 16, true), Some(43), "a paced sender needs a whole round trip");
        assert_eq!(ends(&train, 40, 15, false), None, "below 16 segments");
    }

    #[test]
    fn a_gap_of_more_than_2_ms_ends_the_train() {
        let train = |gap| (0..60).map(|n| (100 + n + if n >= 10 { gap } else { 0 }, 40)).collect::<Vec<_>>();
        assert_eq!(ends(&train(1), 40, 16, false), Some(21), "a gap of 2 ms belongs to it");
        assert_eq!(ends(&train(2), 40, 16, false), None, "one of 3 ms ends it for the round");
    }

    /// From the ninth sample on, if even the shortest is above the path's by more than an eighth within 4 and 16 ms.
    #[test]
    fn a_rise_by_an_eighth_ends_it() {
        let risen = |path: u64, rise: u64| {
            let samples: Vec<_> = (0..20).map(|n| (100 + 5 * n, path + rise)).collect();
            ends(&samples, path, 16, false)
        };
        for (path, rise) in [(8, 4), (32, 4), (64, 8), (128, 16), (400, 16)] {
            assert_eq!(risen(path, rise), None, "{path} ms: the bound itself");
            assert_eq!(risen(path, rise + 1), Some(9), "{path} ms");
        }
        let mut samples: Vec<_> = (0..20).map(|n| (100 + 5 * n, 60)).collect();
        samples[3].1 = 40;
        assert_eq!(ends(&samples, 40, 16, false), None, "one short sample in the round");
    }

    #[test]
    fn each_round_looks_anew() {
        let mut hystart = ClassicHyStart::default();
        let mut over = |una: u64, next: u64, now: u64| {
            let ack = Ack { now: at(now), unacknowledged: una, next, ..ack(MSS) };
            hystart.is_over(&ack, MS(60), MS(40), 16, false)
        };
        assert!((1..=8).all(|n| !over(n, 8, 100 + 5 * n)));
        assert!((9..=16).all(|n| !over(n, 16, 100 + 5 * n)), "eight samples of the next round");
        assert!(over(16, 16, 190), "the ninth");
    }
}
