//! Rates, sizes and limits as types: bits and bytes cannot be mixed up.

mod rate;
pub(crate) mod text;

use std::fmt;
use std::str::FromStr;

use crate::time::Duration;
pub use rate::Rate;
use text::parse_scaled;
pub use text::{ParseQuantityError, three_digits};

/// What a packet takes on the link beside its IP bytes: the Ethernet header without FCS, preamble or gap (methods C.6).
pub const LINK_HEADER_BYTES: u32 = 14;

/// The serialiser's arithmetic: how long packets occupy a link of a given rate, with the part of a
/// nanosecond that does not fit carried to the next packet, so that a busy link is exact over any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serialiser {
    rate: Rate,
    /// Numerator of the carried fraction of a nanosecond, below the rate.
    remainder: u64,
}

impl Serialiser {
    /// A serialiser with nothing carried.
    pub const fn new(rate: Rate) -> Serialiser {
        Serialiser { rate, remainder: 0 }
    }

    /// The rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Forgets the carried fraction: the link was idle, so the next packet starts on its own.
    pub const fn restart(&mut self) {
        self.remainder = 0;
    }

    /// Time the link is occupied by a packet of `bytes`, back to back with the one before it.
    pub fn occupy(&mut self, bytes: u32) -> Duration {
        let Some(rate) = self.rate.bits_per_second() else { return Duration::ZERO };
        // 2^32 bytes are 3.4e19 in units of bit * ns per second: beyond u64, hence u128.
        let work = u128::from(bytes) * 8_000_000_000 + u128::from(self.remainder);
        let (nanos, remainder) = match u64::try_from(work) {
            Ok(work) => (work / rate, work % rate),
            Err(_) => ((work / u128::from(rate)) as u64, (work % u128::from(rate)) as u64),
        };
        self.remainder = remainder;
        Duration::from_nanos(nanos)
    }
}

/// A probability in [0, 1].
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0.0);

    /// `p`, or `None` outside [0, 1] or NaN.
    pub fn new(p: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&p).then_some(Probability(p))
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// A queue threshold: packets *or* bytes, never a number whose meaning another option decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Limit {
    /// So many packets.
    Packets(u64),
    /// So many bytes.
    Bytes(u64),
}

impl Limit {
    /// The units of bytes that [`Limit::from_str`] reads in any case.
    pub const UNITS: [(&str, u64); 7] =
        [("b", 1), ("k", 1 << 10), ("kb", 1 << 10), ("m", 1 << 20), ("mb", 1 << 20), ("g", 1 << 30), ("gb", 1 << 30)];
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(n) => write!(f, "{n}p"),
            Limit::Bytes(n) => write!(f, "{n}b"),
        }
    }
}

/// Reads `65000p` (packets) or bytes with a unit: `1500b`, `64k`/`64kb` (1024), `1m`/`1mb`, `1g`/`1gb`, as tc has it.
impl FromStr for Limit {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Limit, Self::Err> {
        if let Some(count) = text.strip_suffix('p')
            && let Ok(n) = count.parse()
        {
            return Ok(Limit::Packets(n));
        }
        parse_scaled(text, "a queue limit", "65000p or 64k", &Limit::UNITS).map(Limit::Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_packets_or_bytes() {
        assert_eq!("65000p".parse(), Ok(Limit::Packets(65_000)));
        assert_eq!("64k".parse(), Ok(Limit::Bytes(65_536)));
        assert!("100".parse::<Limit>().is_err());
        let error = "99999999999999g".parse::<Limit>().unwrap_err().to_string();
        assert_eq!(error, "\"99999999999999g\" is too large for a queue limit");
    }

    #[test]
    fn serialiser_is_exact_over_any_time() {
        // 1,000 bytes at 3 bit/s do not divide: 3,000 of them must take exactly 8e6 s all the same.
        let mut line = Serialiser::new(Rate::from_bits_per_second(3).unwrap());
        let total: Duration = (0..3_000).map(|_| line.occupy(1_000)).sum();
        assert_eq!(total, Duration::from_secs(8_000_000));
        assert_eq!(Serialiser::new(Rate::UNLIMITED).occupy(1500), Duration::ZERO);
    }

    #[test]
    fn three_significant_digits() {
        for (value, text) in [(0.012_34, "0.0123"), (1.234, "1.23"), (45.67, "45.7"), (789.4, "789"), (1234.0, "1234")]
        {
            assert_eq!(three_digits(value), text);
        }
    }
}
