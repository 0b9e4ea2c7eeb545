//! Numbers with units as texts, and what is wrong with them.

use std::cmp::Ordering;

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// It is not written like one.
    #[error("\"{text}\" is not {expected} (write it like {example})")]
    Form {
        /// The text as it was written.
        text: String,
        /// The quantity that is expected.
        expected: &'static str,
        /// A text that is one.
        example: &'static str,
    },
    /// It is written like one, and larger than any that can be held.
    #[error("\"{text}\" is too large for {expected}")]
    TooLarge {
        /// The text as it was written.
        text: String,
        /// The quantity that is expected.
        expected: &'static str,
    },
    /// It is a rate of bits to some readers and of bytes to others.
    #[error("\"{text}\" has two readings: {bits}, and {bytes} as in tc; write the one you mean")]
    TwoReadings {
        /// The text as it was written.
        text: String,
        /// The rate in bits, as it is written clearly.
        bits: String,
        /// The rate in bytes, as it is written clearly.
        bytes: String,
    },
}

/// Reads a non-negative decimal number followed by one of `units`, as a multiple of the smallest unit.
pub(crate) fn parse_scaled(
    text: &str,
    expected: &'static str,
    example: &'static str,
    units: &[(&str, u64)],
) -> Result<u64, ParseQuantityError> {
    let read = || {
        let (number, unit) = number_and_unit(text)?;
        let &(_, scale) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
        number.parse::<f64>().ok()?;
        Some((number, scale))
    };
    let (number, scale) =
        read().ok_or_else(|| ParseQuantityError::Form { text: text.to_owned(), expected, example })?;
    scaled(number, scale).ok_or_else(|| ParseQuantityError::TooLarge { text: text.to_owned(), expected })
}

/// A text without a sign as its decimal number and its unit, which spaces may separate.
pub(crate) fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then(|| (number, unit.trim_start()))
}

/// `number` times `scale`, rounded; `None` if it is no number or too large.
pub(super) fn scaled(number: &str, scale: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale);
    }
    let value = number.parse::<f64>().ok()? * scale as f64;
    // Beyond 2^63 an f64 cannot hold the value to the unit, and nothing physical is that large.
    (value.is_finite() && value < 9.2e18).then(|| value.round() as u64)
}

/// How `number` times `scale` compares with the whole number that it was `rounded` to; `None` if it is no number.
pub(crate) fn beside_rounded(number: &str, scale: u64, rounded: u64) -> Option<Ordering> {
    // As many as the schema states. Units such as hours have no exact decimal numbers: what is cut off decides nothing there.
    const PLACES: usize = 12;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let (kept, cut) = fraction.split_at_checked(fraction.len().min(PLACES))?;
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let unit = 10_u128.pow(kept.len() as u32);
    let least = digits(whole)?.checked_mul(unit)?.checked_add(digits(kept)?)?;
    let rounded = u128::from(rounded).checked_mul(unit)?;
    let [least, most] = [least, least + 1].map(|stated| stated.saturating_mul(scale.into()));
    Some(match cut {
        "" => least.cmp(&rounded),
        _ if least >= rounded => Ordering::Greater,
        _ if most <= rounded => Ordering::Less,
        _ => Ordering::Equal,
    })
}

/// `value` with three significant digits and no exponent: `0.0123`, `1.23`, `45.6`, `789`, `1234`.
pub fn three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value:.0}");
    }
    let magnitude = libm::floor(libm::log10(value.abs())) as i32;
    format!("{value:.*}", usize::try_from(2 - magnitude).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_beside_what_they_are_rounded_to() {
        for (number, scale, rounded, wanted) in [
            ("99.5", 1, 100, Ordering::Less),
            ("60000000000.4", 1, 60_000_000_000, Ordering::Greater),
            ("1.5", 1_024, 1_536, Ordering::Equal),
            ("1.50000000000000000000000001", 1_024, 1_536, Ordering::Greater),
            ("7.", 1, 7, Ordering::Equal),
            (".9", 1, 1, Ordering::Less),
            (".99999999999999999999999", 1, 1, Ordering::Less),
            // A sixth of a minute.
            ("0.16666666666666666", 60_000_000_000, 10_000_000_000, Ordering::Equal),
        ] {
            assert_eq!(beside_rounded(number, scale, rounded), Some(wanted), "{number}");
        }
    }
}
