//! Time in integer nanoseconds.
//!
//! `std::time::Instant` cannot be made without reading a clock, so a machine that must never read one
//! needs a time type of its own.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point in time: nanoseconds since the origin its context names (the start of a run, the first packet
/// of a capture, or the Unix epoch for capture timestamps).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Time(u64);

impl Time {
    /// The origin.
    pub const ZERO: Time = Time(0);
    /// The last representable point, about 584 years after the origin.
    pub const MAX: Time = Time(u64::MAX);

    /// The point `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, for display and statistics.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time passed since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The point `duration` before this one, not before the origin.
    pub const fn before(self, duration: Duration) -> Time {
        Time(self.0.saturating_sub(duration.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, rhs: Duration) -> Time {
        Time(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t+{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A length of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Duration(u64);

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// The longest representable length, about 584 years.
    pub const MAX: Duration = Duration(u64::MAX);

    /// The units that [`Duration::from_str`] reads in any case, in nanoseconds.
    pub const UNITS: [(&str, u64); 6] = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];

    /// `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Duration {
        Duration(n)
    }

    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Duration {
        Duration(n.saturating_mul(1_000))
    }

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Duration {
        Duration(n.saturating_mul(1_000_000))
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Duration {
        Duration(n.saturating_mul(1_000_000_000))
    }

    /// `seconds` rounded to the nearest nanosecond; negative and NaN give zero, too large gives [`Self::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Duration {
        Duration((seconds * 1e9).round() as u64)
    }

    /// The length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The length in seconds, for display and statistics.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - rhs`, or zero if `rhs` is longer.
    pub const fn saturating_sub(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_sub(rhs.0))
    }

    /// As experiments write it, in the largest unit of which it is a whole number: `876000h`, `90s`, `1us`.
    pub fn written(self) -> String {
        let unit = Duration::UNITS.iter().rev().find(|(_, scale)| self.0 >= *scale && self.0.is_multiple_of(*scale));
        unit.map_or("0ms".to_owned(), |(unit, scale)| format!("{}{unit}", self.0 / scale))
    }

    /// Whether this is [`Self::ZERO`].
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub for Duration {
    type Output = Duration;
    /// Panics in debug builds if `rhs` is longer; see [`Duration::saturating_sub`].
    fn sub(self, rhs: Duration) -> Duration {
        Duration(self.0 - rhs.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, rhs: u64) -> Duration {
        Duration(self.0.saturating_mul(rhs))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, rhs: u64) -> Duration {
        Duration(self.0 / rhs)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(iter: I) -> Duration {
        iter.fold(Duration::ZERO, Add::add)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Three significant digits with the unit that fits: `1.21 s`, `38.2 ms`, `450 us`, `12 ns`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0 => return f.write_str("0 s"),
            1..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (self.0 as f64 / 1e3, "us"),
            1_000_000..1_000_000_000 => (self.0 as f64 / 1e6, "ms"),
            _ => (self.0 as f64 / 1e9, "s"),
        };
        write!(f, "{} {unit}", crate::units::text::three_digits(value))
    }
}

/// Reads a number with one of the units `ns`, `us`, `ms`, `s`, `min`, `h` (netem's spelling): `20ms`, `0.5s`.
impl FromStr for Duration {
    type Err = crate::units::text::ParseQuantityError;

    fn from_str(text: &str) -> Result<Duration, Self::Err> {
        crate::units::text::parse_scaled(text, "a time", "20ms", &Duration::UNITS).map(Duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["0ms", "1ns", "1us", "1500us", "500ms", "90s", "2min", "1h", "876000h"] {
            assert_eq!(text.parse::<Duration>().unwrap().written(), text);
        }
    }

    #[test]
    fn reads_what_netem_users_write() {
        assert_eq!("20ms".parse(), Ok(Duration::from_millis(20)));
        assert_eq!("0.5s".parse(), Ok(Duration::from_millis(500)));
        assert_eq!("60min".parse(), Ok(Duration::from_secs(3600)));
        assert!("20".parse::<Duration>().is_err(), "a bare number has no unit to guess");
        assert!("-1ms".parse::<Duration>().is_err());
    }

    #[test]
    fn prints_three_digits_and_a_unit() {
        assert_eq!(Duration::from_nanos(38_249_000).to_string(), "38.2 ms");
        assert_eq!(Duration::from_nanos(12).to_string(), "12 ns");
        assert_eq!(Duration::from_millis(1_210).to_string(), "1.21 s");
    }
}
