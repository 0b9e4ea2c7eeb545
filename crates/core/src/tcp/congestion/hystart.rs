//! HyStart++ (RFC 9406): leaves slow start when round-trip times rise, and not only when packets are lost.

use super::control::Ack;
use crate::time::Duration;

/// MIN_RTT_THRESH and MAX_RTT_THRESH: bounds of the rise that ends slow start (section 4.3).
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR: between the bounds, the rise is this part of the last round's minimum.
const RISE_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: so many samples make a round's minimum worth looking at.
const SAMPLES: u8 = 8;
/// CSS_GROWTH_DIVISOR: conservative slow start grows by this part of what slow start adds.
pub(super) const GROWTH_DIVISOR: u32 = 4;
/// CSS_ROUNDS: after so many rounds of conservative slow start, congestion avoidance begins.
const CONSERVATIVE_ROUNDS: u8 = 5;

/// What an acknowledgement in slow start is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The window grows as in slow start.
    SlowStart,
    /// Grow by [`GROWTH_DIVISOR`] less.
    Conservative,
    /// Enter congestion avoidance with the window as it is.
    Exit,
}

/// The state of section 4.2. A minimum of [`Duration::MAX`] is one without a sample.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// windowEnd: when this is acknowledged, the round is over.
    round_end: u64,
    last_min: Duration,
    current_min: Duration,
    /// cssBaselineMinRtt; `None` outside conservative slow start.
    baseline: Option<Duration>,
    samples: u8,
    /// Rounds of conservative slow start that ended, the one in which it began among them.
    conservative_rounds: u8,
}

impl Default for HyStart {
    fn default() -> HyStart {
        HyStart {
            round_end: 0,
            last_min: Duration::MAX,
            current_min: Duration::MAX,
            baseline: None,
            samples: 0,
            conservative_rounds: 0,
        }
    }
}

impl HyStart {
    /// An acknowledgement in the initial slow start (section 4.2).
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Step {
        if let Some(rtt) = ack.rtt {
            self.current_min = self.current_min.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        self.compare();
        if ack.unacknowledged >= self.round_end {
            self.round_end = ack.next;
            if self.baseline.is_some() {
                self.conservative_rounds += 1;
                if self.conservative_rounds >= CONSERVATIVE_ROUNDS {
                    return Step::Exit;
                }
            }
            self.last_min = self.current_min;
            self.current_min = Duration::MAX;
            self.samples = 0;
        }
        if self.baseline.is_some() { Step::Conservative } else { Step::SlowStart }
    }

    /// Enters or leaves conservative slow start.
    fn compare(&mut self) {
        if self.samples < SAMPLES {
            return;
        }
        match self.baseline {
            Some(baseline) if self.current_min < baseline => self.baseline = None,
            None if self.last_min != Duration::MAX => {
                let rise = (self.last_min / RISE_DIVISOR).clamp(MIN_RISE, MAX_RISE);
                if self.current_min >= self.last_min + rise {
                    self.baseline = Some(self.current_min);
                    self.conservative_rounds = 0;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, ack};
    use super::*;

    /// A round of 20 acknowledgements, all of `rtt`; the step after each.
    fn round(hystart: &mut HyStart, number: u64, rtt: Duration) -> Vec<Step> {
        let end = |number: u64| number * 20 * u64::from(MSS);
        (1..=20)
            .map(|count| {
                let unacknowledged = end(number) + count * u64::from(MSS);
                hystart.on_ack(&Ack { rtt: Some(rtt), unacknowledged, next: end(number + 2), ..ack(MSS) })
            })
            .collect()
    }

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// Rounds overlap by one acknowledgement here: the last one of a round ends it.
    fn steps(rtts: &[Duration]) -> Vec<Step> {
        let mut hystart = HyStart { round_end: 20 * u64::from(MSS), ..HyStart::default() };
        let mut last = Vec::new();
        for (number, &rtt) in (0..).zip(rtts) {
            last = round(&mut hystart, number, rtt);
            // Every second batch begins when the one before is acknowledged.
            hystart.round_end = (number + 2) * 20 * u64::from(MSS);
        }
        last
    }

    #[test]
    fn the_rise_that_counts_is_an_eighth_between_4_and_16_ms() {
        let enters = |before: u64, after: u64| {
            steps(&[MS(before), MS(after)]).iter().position(|&step| step == Step::Conservative).map(|at| at + 1)
        };
        for (before, rise) in [(8, 4), (32, 4), (64, 8), (128, 16), (400, 16)] {
            assert_eq!(enters(before, before + rise), Some(8), "{before} ms: with the eighth sample");
            assert_eq!(enters(before, before + rise - 1), None, "{before} ms");
        }
    }

    #[test]
    fn five_rounds_of_conservative_slow_start_end_it_the_first_in_part() {
        let up = [MS(50), MS(60), MS(60), MS(60), MS(60), MS(60)];
        assert!(!steps(&up[..5]).contains(&Step::Exit), "four rounds");
        assert_eq!(steps(&up).last(), Some(&Step::Exit), "the round of the rise is the first of five");
    }

    #[test]
    fn a_rise_that_goes_away_was_jitter() {
        let last = steps(&[MS(50), MS(60), MS(52)]);
        assert_eq!((last[6], last[7]), (Step::Conservative, Step::SlowStart), "with the eighth sample");
    }

    #[test]
    fn without_eight_samples_in_a_round_nothing_happens() {
        let mut hystart = HyStart::default();
        for count in 1..100 {
            let unacknowledged = count * u64::from(MSS);
            let rtt = (count % 3 == 0).then_some(MS(10 * count));
            let step = hystart.on_ack(&Ack { rtt, unacknowledged, next: unacknowledged + 20_000, ..ack(MSS) });
            assert_eq!(step, Step::SlowStart);
        }
    }
}
