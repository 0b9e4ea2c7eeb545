//! Bit rates, and how they are written.

use std::fmt;
use std::str::FromStr;

use super::text::{ParseQuantityError, number_and_unit, scaled, three_digits};

/// A bit rate in bit/s, or no limit at all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

impl Rate {
    /// A link that takes no time to send a packet.
    pub const UNLIMITED: Rate = Rate(u64::MAX);

    /// Of the slowest link, in bit/s: over slower ones a packet would take minutes, and TCP has given up by then.
    pub const SLOWEST: u64 = 100;
    /// Of the fastest link, in bit/s: a hundred times what an Ethernet port has, and packets of less than a nanosecond.
    pub const FASTEST: u64 = 100_000_000_000_000;

    /// The units that [`Rate::from_str`] reads, as regular expressions (ECMA 262), with what they are in bit/s.
    pub fn units() -> Vec<(String, u64)> {
        const BIT: &str = "[bB][iI][tT](/s)?";
        let plain = [(format!("{BIT}|b/s"), 1), ("B(/|p)s".to_owned(), 8)];
        let scaled = PREFIXES.into_iter().flat_map(|(letter, scale)| {
            let (small, capital) = (letter.to_ascii_lowercase(), letter.to_ascii_uppercase());
            let clear = if letter == 'k' { "[kK]".to_owned() } else { capital.to_string() };
            let bits = format!("[{small}{capital}]{BIT}|{clear}(b(/s)?)?|{capital}bps");
            [(bits, scale), (format!("{clear}B(/|p)s"), 8 * scale)]
        });
        plain.into_iter().chain(scaled).collect()
    }

    /// How many bit/s one `unit` is, if it is one of a rate.
    pub(crate) fn scale_of(unit: &str) -> Option<u64> {
        bits_of(unit)
    }

    /// `bits` per second; `None` for zero, which no packet could cross.
    pub const fn from_bits_per_second(bits: u64) -> Option<Rate> {
        if bits == 0 { None } else { Some(Rate(bits)) }
    }

    /// Bits per second; `None` when unlimited.
    pub const fn bits_per_second(self) -> Option<u64> {
        if self.0 == u64::MAX { None } else { Some(self.0) }
    }

    /// Why no link may have it, if none may.
    pub fn impossible(self) -> Option<String> {
        match self.bits_per_second()? {
            ..Rate::SLOWEST => Some(format!("too slow (at least {} bit/s)", Rate::SLOWEST)),
            Rate::SLOWEST..=Rate::FASTEST => None,
            _ => Some("too fast (at most 100 Tbit/s)".to_owned()),
        }
    }
}

/// Decimal multiples, three digits: `496 Mbit/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bits) = self.bits_per_second() else { return f.write_str("unlimited") };
        let (value, unit) = match bits {
            0..1_000 => (bits as f64, "bit/s"),
            1_000..1_000_000 => (bits as f64 / 1e3, "kbit/s"),
            1_000_000..1_000_000_000 => (bits as f64 / 1e6, "Mbit/s"),
            _ => (bits as f64 / 1e9, "Gbit/s"),
        };
        write!(f, "{} {unit}", three_digits(value))
    }
}

/// The decimal prefixes, as SI writes them.
const PREFIXES: [(char, u64); 4] = [('k', 1_000), ('M', 1_000_000), ('G', 1_000_000_000), ('T', 1_000_000_000_000)];

/// Reads bits per second as `2mbit`, `2 Mbit/s`, `2Mb/s`, `2Mbps` or `2M`, bytes per second as `2MB/s` or `2MBps`, and `unlimited`.
///
/// A prefix before `bit` may be written in either case, as in tc. Elsewhere it is a capital or `k`, because the case of the
/// other letters is all that tells bits from bytes. `2mbps` has two readings and is refused: tc counts bytes by it.
impl FromStr for Rate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Rate, ParseQuantityError> {
        if text == "unlimited" {
            return Ok(Rate::UNLIMITED);
        }
        let error =
            |expected| ParseQuantityError::Form { text: text.to_owned(), expected, example: "10mbit or 10 Mbit/s" };
        let (number, unit) = number_and_unit(text).ok_or_else(|| error("a rate"))?;
        let (prefix, rest) = split_prefix(unit);
        let Some(bits) = bits_of(unit) else {
            return Err(match rest.eq_ignore_ascii_case("bps") {
                true => {
                    let prefix = prefix.map_or(String::new(), |(letter, _)| letter.to_string());
                    ParseQuantityError::TwoReadings {
                        text: text.to_owned(),
                        bits: format!("{number}{prefix}bit/s"),
                        bytes: format!("{number}{prefix}B/s"),
                    }
                }
                false if unit.is_empty() => error("a rate with its unit"),
                false => error("a rate"),
            });
        };
        number.parse::<f64>().map_err(|_| error("a rate"))?;
        let bits = scaled(number, bits)
            .ok_or_else(|| ParseQuantityError::TooLarge { text: text.to_owned(), expected: "a rate" })?;
        Rate::from_bits_per_second(bits).ok_or_else(|| error("a rate above zero"))
    }
}

/// The prefix of a unit, in any case, and the rest of the unit.
fn split_prefix(unit: &str) -> (Option<(char, u64)>, &str) {
    let prefix = PREFIXES.into_iter().find(|(letter, _)| unit.starts_with([*letter, other_case(*letter)]));
    (prefix, if prefix.is_some() { &unit[1..] } else { unit })
}

const fn other_case(letter: char) -> char {
    if letter.is_ascii_uppercase() { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() }
}

/// How many bits per second one `unit` is.
fn bits_of(unit: &str) -> Option<u64> {
    let (prefix, rest) = split_prefix(unit);
    let scale = prefix.map_or(1, |(_, scale)| scale);
    let is_capital = unit.starts_with(|c: char| c.is_ascii_uppercase());
    // "k" is SI's own, and there is no other kilo.
    let is_clear = prefix.is_none() || is_capital || unit.starts_with('k');
    match rest {
        _ if rest.strip_suffix("/s").unwrap_or(rest).eq_ignore_ascii_case("bit") => Some(scale),
        "b/s" if is_clear => Some(scale),
        "" | "b" if is_clear && prefix.is_some() => Some(scale),
        "bps" if is_capital => Some(scale),
        "B/s" | "Bps" if is_clear => Some(8 * scale),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str) -> Option<u64> {
        text.parse::<Rate>().unwrap_or_else(|error| panic!("{text}: {error}")).bits_per_second()
    }

    #[test]
    fn rates_read_as_tc_spells_them() {
        for (text, wanted) in [
            ("7bit", 7),
            ("64kbit", 64_000),
            ("496mbit", 496_000_000),
            ("2gbit", 2_000_000_000),
            ("1tbit", 1_000_000_000_000),
            ("1.5mbit", 1_500_000),
            ("10MBIT", 10_000_000),
        ] {
            assert_eq!(bits(text), Some(wanted), "{text}");
        }
        assert_eq!("unlimited".parse::<Rate>(), Ok(Rate::UNLIMITED));
    }

    #[test]
    fn every_spelling_of_bits_is_bits() {
        for (prefixes, wanted) in [("kK", 2_000), ("M", 2_000_000), ("G", 2_000_000_000), ("T", 2_000_000_000_000)] {
            for prefix in prefixes.chars() {
                for unit in ["bit", "bit/s", "Bit/s", "b", "b/s", ""] {
                    assert_eq!(bits(&format!("2{prefix}{unit}")), Some(wanted), "{prefix}{unit}");
                    assert_eq!(bits(&format!("2.0 {prefix}{unit}")), Some(wanted), "{prefix}{unit}");
                }
            }
        }
        for (text, wanted) in
            [("2Kbps", 2_000), ("2Mbps", 2_000_000), ("2 Gbps", 2_000_000_000), ("900bit/s", 900), ("2b/s", 2)]
        {
            assert_eq!(bits(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn capital_b_is_bytes() {
        for (text, wanted) in [
            ("125B/s", 1_000),
            ("2kB/s", 16_000),
            ("2KB/s", 16_000),
            ("2MB/s", 16_000_000),
            ("2MBps", 16_000_000),
            ("3 GB/s", 24_000_000_000),
        ] {
            assert_eq!(bits(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn tcs_bytes_per_second_are_refused_with_both_readings() {
        for (text, bits, bytes) in [
            ("125bps", "125bit/s", "125B/s"),
            ("2kbps", "2kbit/s", "2kB/s"),
            ("2.5mbps", "2.5Mbit/s", "2.5MB/s"),
            ("2 gbps", "2Gbit/s", "2GB/s"),
            ("2MBPS", "2Mbit/s", "2MB/s"),
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(bits) && error.contains(bytes) && error.contains("tc"), "{error}");
            assert!(bits.parse::<Rate>().is_ok() && bytes.parse::<Rate>().is_ok());
        }
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for bad in [
            "0mbit",
            "-5mbit",
            "10",
            "10mb/s",
            "10m",
            "10b",
            "10MB",
            "10mB/s",
            "10kib",
            "1e400mbit",
            "999999999999gbit",
            "",
        ] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_printed_is_read() {
        for (bits_per_second, printed) in
            [(900, "900 bit/s"), (24_000_000, "24.0 Mbit/s"), (2_500_000_000, "2.50 Gbit/s")]
        {
            let rate = Rate(bits_per_second);
            assert_eq!(rate.to_string(), printed);
            assert_eq!(printed.parse(), Ok(rate));
        }
    }
}
