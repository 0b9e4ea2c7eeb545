//! A number about a sample that runs are compared by.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::sample::{Quantile, Sample};

/// Which number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// The inverse-CDF quantile at this probability (methods C.7).
    Quantile(f64),
}

impl Statistic {
    /// Values that a quantile leaves on either side of it, at least: with fewer it is one of the extremes, which say little.
    const FEWEST_BEYOND: f64 = 5.0;

    /// Of `sample`; `None` if that has too few values for it. Where unfinished values are reached it is the least that it can be.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Statistic::Mean => sample.mean(),
            // Rounding must not take a value away.
            Statistic::Quantile(p) if sample.len() as f64 * p.min(1.0 - p) + 1e-6 < Statistic::FEWEST_BEYOND => None,
            Statistic::Quantile(p) => sample.quantile_or_bound(p).map(Quantile::at_least),
        }
    }

    /// Whether it is of an unfinished value of `sample`, which is longer.
    pub fn is_bound(self, sample: &Sample) -> bool {
        match self {
            Statistic::Mean => sample.unfinished() > 0,
            Statistic::Quantile(p) => matches!(sample.quantile_or_bound(p), Some(Quantile::Above(_))),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Mean => f.write_str("mean"),
            // 100 * 0.99 is not 99.
            Statistic::Quantile(p) => write!(f, "p{}", (p * 1e8).round() / 1e6),
        }
    }
}

impl FromStr for Statistic {
    type Err = String;

    fn from_str(text: &str) -> Result<Statistic, String> {
        let wrong = || format!("{text:?} is no statistic: mean, or a quantile such as p50, p99 or p99.9");
        if text == "mean" {
            return Ok(Statistic::Mean);
        }
        let percent: f64 = text.strip_prefix('p').and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
        if percent > 0.0 && percent < 100.0 { Ok(Statistic::Quantile(percent / 100.0)) } else { Err(wrong()) }
    }
}

impl Serialize for Statistic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in ["mean", "p50", "p99", "p99.9", "p2.5"] {
            assert_eq!(name.parse::<Statistic>().unwrap().to_string(), name);
        }
        for wrong in ["", "p", "p0", "p100", "p-5", "pNaN", "median", "50"] {
            assert!(wrong.parse::<Statistic>().unwrap_err().contains("is no statistic"), "{wrong}");
        }
    }

    #[test]
    fn extremes_are_no_quantiles() {
        let of =
            |statistic: &str, n: u32| statistic.parse::<Statistic>().unwrap().of(&Sample::new((1..=n).map(f64::from)));
        assert_eq!((of("p99", 500), of("p99", 499)), (Some(495.0), None));
        assert_eq!((of("p50", 10), of("p50", 9)), (Some(5.0), None));
        assert_eq!(of("p10", 49), None);
        assert_eq!((of("mean", 3), of("mean", 0)), (Some(2.0), None));
    }
}
