//! How much a source may send: a token bucket whose level says when it may go on.

use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;

/// Bytes that may be sent, at a rate.
#[derive(Clone, Debug)]
pub struct Budget {
    /// `None` if there is no limit.
    bits_per_second: Option<u64>,
    /// From when on the bucket is full, if nothing more is sent.
    full_at: Time,
    /// What may be sent at once after a pause is what the rate gives in this time.
    depth: Duration,
}

impl Budget {
    /// A full one.
    pub fn new(rate: Rate, depth: Duration) -> Budget {
        Budget { bits_per_second: rate.bits_per_second(), full_at: Time::ZERO, depth }
    }

    /// Bytes that may be sent at `now`: at least one packet's worth where anything may, so that low rates have no tiny writes.
    pub fn allows(&self, now: Time, packet: u64) -> u64 {
        let Some(bits) = self.bits_per_second else { return u64::MAX };
        let credit = (now + self.depth).since(self.full_at.max(now));
        let bytes = (u128::from(bits) * u128::from(credit.as_nanos()) / 8_000_000_000) as u64;
        // Where the whole bucket is less than a packet, a packet goes once it is full.
        if bytes < packet && self.full_at <= now { packet } else { bytes }
    }

    /// So many bytes were sent.
    pub fn spend(&mut self, now: Time, bytes: u64) {
        if let Some(bits) = self.bits_per_second {
            let takes = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(bits.max(1)));
            self.full_at = self.full_at.max(now) + Duration::from_nanos(takes.min(u128::from(u64::MAX)) as u64);
        }
    }

    /// When it is full again, which is when whatever was refused is allowed.
    pub fn full_at(&self) -> Time {
        self.full_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(rate: &str, packet: u64, millis: u64) -> u64 {
        let mut budget = Budget::new(rate.parse().unwrap(), Duration::from_millis(10));
        let mut all = 0;
        for step in 0..millis * 10 {
            let now = Time::ZERO + Duration::from_micros(100 * step);
            loop {
                let allowed = budget.allows(now, packet);
                if allowed < packet {
                    break;
                }
                budget.spend(now, packet);
                all += packet;
            }
        }
        all
    }

    #[test]
    fn no_more_is_sent_than_the_rate_and_the_bucket_allow() {
        for (rate, packet, millis) in [("8mbit", 1_500, 1_000), ("1gbit", 64_000, 200), ("80kbit", 1_500, 3_000)] {
            let bits: u64 = rate.parse::<Rate>().unwrap().bits_per_second().unwrap();
            let pays = bits * (millis + 10) / 8_000;
            let all = sent(rate, packet, millis);
            assert!(all <= pays + packet, "{rate}: {all} of {pays}");
            assert!(all >= pays * 9 / 10 - packet, "{rate}: {all} of {pays}");
        }
    }

    #[test]
    fn without_a_limit_everything_goes() {
        let mut budget = Budget::new(Rate::UNLIMITED, Duration::ZERO);
        budget.spend(Time::ZERO, u64::MAX);
        assert_eq!(budget.allows(Time::ZERO, 1), u64::MAX);
    }
}
