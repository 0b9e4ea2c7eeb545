//! Rates in words.

use flowloom_core::units::three_digits;

/// A rate in bits per second with its unit.
pub(crate) fn bits(rate: f64) -> String {
    let (value, unit) = match rate {
        rate if rate < 1e6 => (rate / 1e3, "kbit/s"),
        rate if rate < 1e9 => (rate / 1e6, "Mbit/s"),
        rate => (rate / 1e9, "Gbit/s"),
    };
    format!("{} {unit}", three_digits(value))
}
