//! Round-trip time and retransmission timeout (RFC 6298).

use super::config::{RtoConfig, RtoVariation};
use crate::time::Duration;

/// How far samples of this round trip are from the smoothed time, as Linux keeps it (`tcp_rtt_estimator`): the variation follows
/// the largest deviation of a round trip at once, and falls by a quarter of the difference with each round trip.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// Four times the mean deviation ("mdev"), and the largest it was in this round trip ("mdev_max").
    deviation: Duration,
    largest: Duration,
    /// When this is acknowledged, the round trip is over ("rtt_seq").
    round_end: u64,
}

/// Where a sample stands in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) unacknowledged: u64,
    pub(super) next: u64,
}

/// The estimator. One sample at a time, never from a retransmitted segment (Karn's algorithm): that is the
/// caller's duty.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    smoothed: Duration,
    variation: Duration,
    timeout: Duration,
}

impl Rto {
    pub(super) fn new(config: &RtoConfig) -> Rto {
        Rto { smoothed: Duration::ZERO, variation: Duration::ZERO, timeout: config.initial }
    }

    /// The current timeout, backed off where it was.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The current timeout without back-off.
    pub(super) fn without_back_off(&self, config: &RtoConfig) -> Duration {
        let mut forgetful = self.clone();
        forgetful.forget_back_off(config);
        forgetful.timeout
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        (!self.timeout_is_initial()).then_some(self.smoothed)
    }

    fn timeout_is_initial(&self) -> bool {
        self.smoothed.is_zero() && self.variation.is_zero()
    }

    /// What Linux has after the first sample.
    pub(super) fn spread(&self, next: u64) -> Spread {
        Spread { deviation: self.smoothed * 2, largest: self.variation * 4, round_end: next }
    }

    /// Takes a sample as [`RtoVariation::Linux`] says, or as [`Self::sample`] the first of all.
    pub(super) fn sample_with(&mut self, sample: Duration, spread: &mut Spread, place: Place, config: &RtoConfig) {
        if config.variation == RtoVariation::Rfc || self.timeout_is_initial() {
            self.sample(sample, config);
            *spread = self.spread(place.next);
            return;
        }
        let (above, below) = (sample.saturating_sub(self.smoothed), self.smoothed.saturating_sub(sample));
        self.smoothed = (self.smoothed * 7 + sample) / 8;
        let mean = spread.deviation / 4;
        let error = above + below;
        // A sample below the smoothed time widens the deviation by an eighth of what it would.
        let wider = if above > Duration::ZERO { error.saturating_sub(mean) } else { error.saturating_sub(mean) / 8 };
        spread.deviation = (spread.deviation + wider).saturating_sub(mean.saturating_sub(error));
        spread.largest = spread.largest.max(spread.deviation);
        let mut variation = (self.variation * 4).max(config.granularity).max(spread.largest);
        if place.unacknowledged > spread.round_end {
            if spread.largest < variation {
                variation = variation.saturating_sub((variation.saturating_sub(spread.largest)) / 4);
            }
            (spread.round_end, spread.largest) = (place.next, config.granularity);
        }
        self.variation = variation / 4;
        self.set_timeout(config);
    }

    /// Takes a round-trip sample (2.2, 2.3), which also ends any back-off.
    #[inline]
    pub(super) fn sample(&mut self, sample: Duration, config: &RtoConfig) {
        // A sample of zero is real where paths have no delay; 1 ns keeps it apart from "no sample yet".
        let sample = sample.max(Duration::from_nanos(1));
        if self.timeout_is_initial() {
            self.smoothed = sample;
            self.variation = sample / 2;
        } else {
            let deviation = self.smoothed.saturating_sub(sample) + sample.saturating_sub(self.smoothed);
            self.variation = (self.variation * 3 + deviation) / 4;
            self.smoothed = (self.smoothed * 7 + sample) / 8;
        }
        self.set_timeout(config);
    }

    fn set_timeout(&mut self, config: &RtoConfig) {
        let timeout = self.smoothed + config.granularity.max(self.variation * 4) + config.slop;
        self.timeout = timeout.max(config.min).min(config.max);
    }

    /// The timeout before it was backed off.
    pub(super) fn forget_back_off(&mut self, config: &RtoConfig) {
        match self.timeout_is_initial() {
            true => self.timeout = config.initial,
            false => self.set_timeout(config),
        }
    }

    /// Doubles the timeout after it expired (RFC 6298 section 5, rule 5.5).
    pub(super) fn back_off(&mut self, config: &RtoConfig) {
        self.timeout = (self.timeout * 2).min(config.max);
    }

    /// After a lost SYN, data starts with 3 s, however far the timer of the SYN was backed off, unless a sample says more (5.7).
    pub(super) fn restart_after_lost_syn(&mut self) {
        let least = Duration::from_secs(3);
        self.timeout = if self.timeout_is_initial() { least } else { self.timeout.max(least) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn config(min: Duration) -> RtoConfig {
        RtoConfig { min, ..RtoConfig::default() }
    }

    /// RFC 6298 (2.2) and (2.3) by hand; the variation takes the old smoothed time.
    #[test]
    fn samples_are_weighted_as_the_rfc_has_it() {
        let config = config(MS(1));
        let mut rto = Rto::new(&config);
        assert_eq!((rto.timeout(), rto.smoothed()), (MS(1_000), None));
        rto.sample(MS(100), &config);
        assert_eq!((rto.timeout(), rto.smoothed()), (MS(100 + 4 * 50), Some(MS(100))));
        rto.sample(MS(200), &config);
        // Variation 3/4 * 50 + 1/4 * 100, smoothed 7/8 * 100 + 1/8 * 200.
        assert_eq!((rto.timeout(), rto.smoothed().unwrap()), (MS(250) + MS(225) / 2, MS(225) / 2));
        rto.sample(MS(225) / 2, &config);
        assert_eq!(rto.timeout(), MS(225) / 2 + MS(375) / 2, "a deviation of 0 leaves 3/4 of 62.5 ms");
    }

    /// `tcp_rtt_estimator` by hand: the variation follows a rise at once and falls by a quarter of the difference a round trip;
    /// a sample below the smoothed time counts an eighth.
    #[test]
    fn linux_follows_a_rise_at_once_and_a_fall_slowly() {
        let config = RtoConfig { variation: RtoVariation::Linux, ..RtoConfig::with_margin(MS(200)) };
        let mut rto = Rto::new(&config);
        rto.sample(MS(400), &config);
        assert_eq!(rto.timeout(), MS(400 + 800), "as RFC 6298 has it");
        let mut spread = rto.spread(10);
        let mut after = |sample, unacknowledged| {
            rto.sample_with(MS(sample), &mut spread, Place { unacknowledged, next: 10 * unacknowledged }, &config);
            (rto.smoothed().unwrap(), rto.variation * 4)
        };
        // Deviation 800 + (800 - 800 / 4), smoothed 400 + 800 / 8.
        assert_eq!(after(1200, 5), (MS(500), MS(1400)));
        // 100 below: 100 - 1400 / 4 takes 250 away; the round trip is over with a largest deviation of 1,400.
        assert_eq!(after(400, 11), (MS(500) - MS(100) / 8, MS(1400)));
        // The next round trip ends with 1,150 - 287.5 + 12.5: a quarter of the difference goes.
        let (smoothed, variation) = after(500, 111);
        assert_eq!(smoothed, MS(500) - MS(100) / 8 + MS(100) / 64);
        assert_eq!(variation, MS(1400) - (MS(1400) - MS(875)) / 4);
    }

    #[test]
    fn linux_never_has_less_than_its_margin() {
        let config = RtoConfig { variation: RtoVariation::Linux, ..RtoConfig::with_margin(MS(200)) };
        let mut rto = Rto::new(&config);
        rto.sample(MS(300), &config);
        let mut spread = rto.spread(1);
        for round in 1..100 {
            rto.sample_with(MS(300), &mut spread, Place { unacknowledged: round + 1, next: round + 1 }, &config);
        }
        assert_eq!(rto.timeout(), MS(500));
    }

    #[test]
    fn a_steady_path_keeps_the_least_margin() {
        let after = |config: &RtoConfig| {
            let mut rto = Rto::new(config);
            (0..200).for_each(|_| rto.sample(MS(300), config));
            rto.timeout()
        };
        assert_eq!(after(&config(MS(200))), MS(301), "the clock granularity");
        assert_eq!(after(&RtoConfig::default()), MS(1_000), "the bound of RFC 6298");
        assert_eq!(after(&RtoConfig::with_margin(MS(200))), MS(500));
    }

    #[test]
    fn back_off_doubles_up_to_the_bound_until_a_sample_ends_it() {
        let config = RtoConfig { max: MS(60_000), ..config(MS(200)) };
        let mut rto = Rto::new(&config);
        rto.sample(MS(100), &config);
        let backed_off: Vec<_> = (0..9)
            .map(|_| {
                rto.back_off(&config);
                assert_eq!(rto.without_back_off(&config), MS(300));
                rto.timeout()
            })
            .collect();
        assert_eq!(backed_off, [600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 60_000, 60_000].map(MS));
        rto.sample(MS(100), &config);
        assert_eq!(rto.timeout(), MS(250));
    }

    #[test]
    fn zero_is_a_sample() {
        let config = config(MS(200));
        let mut rto = Rto::new(&config);
        rto.sample(Duration::ZERO, &config);
        assert!(rto.smoothed().is_some());
        assert_eq!(rto.timeout(), MS(200));
    }
}
