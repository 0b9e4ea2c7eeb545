//! Token buckets: a rate with bursts, as a policer that drops and as the arithmetic of a shaper that delays.
//!
//! A bucket of `burst` bytes fills at `rate`; a packet needs as many tokens as it has bytes. The semantics are those of
//! the single-rate token bucket of RFC 2697, section 3 without its excess bucket, and of tc-tbf(8): the bucket is full at the
//! beginning and tokens beyond the burst are lost. Tokens are counted in integers so small (a bit's share of a
//! nanosecond) that no rounding ever happens, so that no run is long enough for a drift.

use crate::record::DropReason;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// Tokens for a byte: a rate of 1 bit/s earns one token in a nanosecond.
const PER_BYTE: i128 = 8_000_000_000;

/// Rate and burst, validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketConfig {
    bits_per_second: u64,
    burst: u32,
}

/// Why no bucket can be made of a rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketError {
    /// A bucket that is always full is none.
    #[error("a token bucket needs a rate: unlimited is none")]
    Unlimited,
    /// The largest packets would never pass.
    #[error("a burst of {burst} bytes lets no packet of {} bytes pass", BucketConfig::MIN_BURST)]
    Burst {
        /// What was given.
        burst: u32,
    },
}

impl BucketConfig {
    /// A full-sized Ethernet frame without FCS.
    pub const MIN_BURST: u32 = 1_514;

    /// The rate at which it is filled.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.bits_per_second).unwrap_or(Rate::UNLIMITED)
    }

    /// A bucket of `burst` bytes, filled at `rate`.
    ///
    /// # Errors
    /// If the rate is unlimited or the burst smaller than a packet.
    pub fn new(rate: Rate, burst: u32) -> Result<BucketConfig, BucketError> {
        let bits_per_second = rate.bits_per_second().ok_or(BucketError::Unlimited)?;
        if burst < BucketConfig::MIN_BURST {
            return Err(BucketError::Burst { burst });
        }
        Ok(BucketConfig { bits_per_second, burst })
    }

    /// Bytes that a full bucket lets pass at once.
    pub const fn burst(&self) -> u32 {
        self.burst
    }
}

/// A token bucket. Times given to it never decrease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    config: BucketConfig,
    /// Below zero after a packet larger than the burst.
    tokens: i128,
    /// When the tokens were so many.
    as_of: Time,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(config: BucketConfig) -> TokenBucket {
        TokenBucket { config, tokens: i128::from(config.burst) * PER_BYTE, as_of: Time::ZERO }
    }

    /// The first instant, not before `from`, with tokens for a packet of `bytes`. For a packet larger than the burst, a full
    /// bucket is enough: it leaves a debt to those behind it.
    pub fn ready(&self, from: Time, bytes: u32) -> Time {
        let missing = (i128::from(bytes.min(self.config.burst)) * PER_BYTE - self.tokens).max(0).cast_unsigned();
        let nanos = missing.div_ceil(u128::from(self.config.bits_per_second));
        from.max(self.as_of + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// Takes the tokens of a packet of `bytes` at `at`, which is not before [`TokenBucket::ready`].
    pub fn take(&mut self, at: Time, bytes: u32) {
        let earned = i128::from(at.since(self.as_of).as_nanos()) * i128::from(self.config.bits_per_second);
        let full = i128::from(self.config.burst) * PER_BYTE;
        self.tokens = (self.tokens + earned).min(full) - i128::from(bytes) * PER_BYTE;
        self.as_of = self.as_of.max(at);
    }
}

/// A policer: packets that find no tokens are dropped, the others pass without delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policer {
    bucket: TokenBucket,
}

impl Policer {
    /// A policer with a full bucket.
    pub fn new(config: BucketConfig) -> Policer {
        Policer { bucket: TokenBucket::new(config) }
    }

    /// A packet of `bytes` arrives at `now`, which never decreases.
    ///
    /// # Errors
    /// [`DropReason::Policed`] if there are not enough tokens; none are taken then. A packet larger than the burst never
    /// conforms.
    pub fn admit(&mut self, now: Time, bytes: u32) -> Result<(), DropReason> {
        if bytes > self.bucket.config.burst || self.bucket.ready(now, bytes) > now {
            return Err(DropReason::Policed);
        }
        self.bucket.take(now, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};

    fn config(rate: &str, burst: u32) -> BucketConfig {
        BucketConfig::new(rate.parse().unwrap(), burst).unwrap()
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn impossible_buckets_are_refused() {
        assert_eq!(BucketConfig::new(Rate::UNLIMITED, 10_000), Err(BucketError::Unlimited));
        let small = BucketConfig::new("1mbit".parse().unwrap(), 1_513).unwrap_err();
        assert_eq!(small.to_string(), "a burst of 1513 bytes lets no packet of 1514 bytes pass");
    }

    #[test]
    fn truth_table_of_a_policer() {
        // 8 Mbit/s earn a byte in a microsecond.
        let mut policer = Policer::new(config("8mbit", 3_000));
        for (micros, bytes, passes, why) in [
            (0, 1_500, true, "full: 3,000"),
            (0, 1_500, true, "1,500 are left"),
            (0, 1, false, "none is left"),
            (999, 1_000, false, "999"),
            (1_000, 1_000, true, "1,000, the refused ones took none"),
            (1_500, 501, false, "500"),
            (1_500, 500, true, "exactly"),
            (1_000_000, 3_001, false, "more than the burst never passes"),
            (1_000_000, 3_000, true, "full again, and not fuller"),
            (1_000_000, 1, false, "nothing was saved beyond the burst"),
        ] {
            assert_eq!(policer.admit(at(micros), bytes).is_ok(), passes, "{why}");
        }
    }

    #[test]
    fn what_passes_is_burst_and_rate_to_the_byte() {
        // Nothing divides here, and four times the rate is offered.
        let mut policer = Policer::new(config("7000001bit", 2_000));
        let passed: u64 = (0..100_000_u64).filter(|n| policer.admit(at(n * 10), 40).is_ok()).count() as u64 * 40;
        // Up to 999,990 us: 2,000 + 7,000,001 / 8 * 0.99999 = 876,991.37, in packets of 40.
        assert_eq!(passed, 876_991 / 40 * 40);
    }

    #[test]
    fn a_shaper_does_not_drift() {
        // 1,000 bytes at 3 bit/s take 2,666.67 s. 3,000 of them after a burst of 3,000 bytes take 7,992,000 s exactly.
        let mut bucket = TokenBucket::new(config("3bit", 3_000));
        let mut last = Time::ZERO;
        for _ in 0..3_000 {
            last = bucket.ready(last, 1_000);
            bucket.take(last, 1_000);
        }
        assert_eq!(last, Time::ZERO + Duration::from_secs(7_992_000));
    }

    #[test]
    fn a_packet_larger_than_the_burst_is_paid_for_later() {
        let mut bucket = TokenBucket::new(config("8mbit", 2_000));
        assert_eq!(bucket.ready(at(5), 5_000), at(5));
        bucket.take(at(5), 5_000);
        assert_eq!(bucket.ready(at(5), 1_000), at(5 + 3_000 + 1_000));
    }

    struct Contract(Policer, Option<Result<(), DropReason>>);

    impl Machine for Contract {
        type Input = u32;
        type Output = Result<(), DropReason>;

        fn input(&mut self, now: Time, &bytes: &u32) {
            self.1 = Some(self.0.admit(now, bytes));
        }

        /// It answers at once and has no deadlines.
        fn handle_timeout(&mut self, _: Time) {}

        fn poll(&mut self, _: Time) -> Option<Self::Output> {
            self.1.take()
        }

        fn next_timeout(&self) -> Option<Time> {
            None
        }
    }

    #[test]
    fn keeps_the_calling_contract() {
        let packets: Vec<_> = (0..200).map(|n| (at(n * 700), 40 + 300 * (n as u32 % 5))).collect();
        contract::check(|| Contract(Policer::new(config("5mbit", 2_000)), None), &packets, Duration::from_secs(1));
    }
}
