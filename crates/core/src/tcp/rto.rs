//! Round-trip time and retransmission timeout (RFC 6298).

use super::config::RtoConfig;
use crate::time::Duration;

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

    /// The smoothed round-trip time; `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        (!self.timeout_is_initial()).then_some(self.smoothed)
    }

    fn timeout_is_initial(&self) -> bool {
        self.smoothed.is_zero() && self.variation.is_zero()
    }

    /// Takes a round-trip sample (2.2, 2.3), which also ends any back-off.
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
        let timeout = self.smoothed + config.granularity.max(self.variation * 4);
        self.timeout = timeout.max(config.min).min(config.max);
    }

    /// Doubles the timeout (5.5).
    pub(super) fn back_off(&mut self, config: &RtoConfig) {
        self.timeout = (self.timeout * 2).min(config.max);
    }

    /// After a lost SYN, data starts with 3 s unless a sample says more (5.7).
    pub(super) fn restart_after_lost_syn(&mut self) {
        self.timeout = self.timeout.max(Duration::from_secs(3));
    }
}
