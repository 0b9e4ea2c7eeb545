//! Numbers with a multiplier, kept as text until a leaf says what they count: `16K` (methods J.1).

use std::fmt::{self, Display};
use std::str::FromStr;

/// A multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `K`
    Kilo,
    /// `M`
    Mega,
    /// `G`
    Giga,
}

impl Unit {
    fn exponent(self) -> i32 {
        match self {
            Unit::Kilo => 1,
            Unit::Mega => 2,
            Unit::Giga => 3,
        }
    }
}

/// A number as it stands in a script, with its multiplier. What the multiplier is depends on what is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    number: f64,
    unit: Option<Unit>,
}

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It does not begin with a number.
    #[error("not a number")]
    NotANumber,
    /// The number is followed by something else than one multiplier.
    #[error("a number takes one multiplier, K, M or G, not \"{0}\"")]
    Unit(String),
    /// The number has too many digits before its point.
    #[error("the number is too large")]
    TooLarge,
}

impl Quantity {
    /// The number, without regard to a multiplier.
    pub fn number(self) -> f64 {
        self.number
    }

    /// The multiplier.
    pub fn unit(self) -> Option<Unit> {
        self.unit
    }

    /// As a size: `K` is 1,024.
    pub fn binary(self) -> f64 {
        self.number * 1_024.0_f64.powi(self.unit.map_or(0, Unit::exponent))
    }

    /// As a bit rate, or anything else that is no size: `K` is 1,000.
    pub fn decimal(self) -> f64 {
        self.number * 1_000.0_f64.powi(self.unit.map_or(0, Unit::exponent))
    }

    /// As a size in bytes, if it is a whole number of them.
    pub fn bytes(self) -> Option<u64> {
        let bytes = self.binary();
        // Above 2^53 not every whole number is one of f64.
        (bytes >= 0.0 && bytes <= (1u64 << 53) as f64 && bytes.fract() == 0.0).then_some(bytes as u64)
    }
}

/// How many bytes at the begin of `text` are a number: digits, with a sign before, a fraction and an exponent behind.
pub(super) fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits((at + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    Some(at)
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Quantity, QuantityError> {
        let length = number_length(text).ok_or(QuantityError::NotANumber)?;
        let (number, unit) = text.split_at(length);
        let unit = match unit {
            "" => None,
            "K" => Some(Unit::Kilo),
            "M" => Some(Unit::Mega),
            "G" => Some(Unit::Giga),
            other => return Err(QuantityError::Unit(other.to_owned())),
        };
        let number: f64 = number.parse().map_err(|_| QuantityError::NotANumber)?;
        // With its multiplier it must be finite too.
        match number.abs() <= 1e300 {
            true => Ok(Quantity { number, unit }),
            false => Err(QuantityError::TooLarge),
        }
    }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            None => "",
            Some(Unit::Kilo) => "K",
            Some(Unit::Mega) => "M",
            Some(Unit::Giga) => "G",
        };
        write!(f, "{}{unit}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Quantity {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Methods J.1.
    #[test]
    fn multipliers_are_of_1024_for_sizes_and_of_1000_for_rates() {
        assert_eq!(read("16K").bytes(), Some(16_384));
        assert_eq!(read("1.5M").bytes(), Some(1_572_864));
        assert_eq!(read("1.5M").decimal(), 1_500_000.0);
        assert_eq!(read("2G").bytes(), Some(2_147_483_648));
        assert_eq!(read("131072").bytes(), read("128K").bytes());
        assert_eq!(read("0.00001").decimal(), 1e-5);
        assert_eq!(read("1e-5").decimal(), 1e-5);
        assert_eq!(read("-.5").number(), -0.5);
        assert_eq!(read("1e3K").binary(), 1_024_000.0);
    }

    #[test]
    fn sizes_are_whole_bytes() {
        for text in ["0.3K", "-1", "1e20", "0.5"] {
            assert_eq!(read(text).bytes(), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_told_why() {
        let refused = |text: &str| text.parse::<Quantity>().unwrap_err();
        assert_eq!(refused("16KK"), QuantityError::Unit("KK".to_owned()));
        assert_eq!(refused("16k"), QuantityError::Unit("k".to_owned()));
        assert_eq!(refused("1e"), QuantityError::Unit("e".to_owned()));
        assert_eq!(refused("1."), QuantityError::NotANumber);
        assert_eq!(refused(""), QuantityError::NotANumber);
        assert_eq!(refused("-"), QuantityError::NotANumber);
        assert_eq!(refused("1e301"), QuantityError::TooLarge);
    }
}
