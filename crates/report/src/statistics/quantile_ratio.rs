//! Quantile ratios (methods L.2).

use serde::{Serialize, Serializer};

use super::sample::{Quantile, Sample};

/// The probabilities at which quantiles are compared.
pub const RATIO_PROBABILITIES: [f64; 8] = [0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99];

/// A ratio of quantiles, or a bound of it where one of them is of an unfinished value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuantileRatio {
    /// This.
    Is(f64),
    /// More: the other's quantile is of an unfinished value.
    Above(f64),
    /// Less: the reference's is.
    Below(f64),
}

impl QuantileRatio {
    /// The ratio or its bound.
    pub fn value(self) -> f64 {
        match self {
            QuantileRatio::Is(value) | QuantileRatio::Above(value) | QuantileRatio::Below(value) => value,
        }
    }

    /// `show` of the ratio, with what it is a bound of: `>3.20`.
    pub fn show(self, show: impl Fn(f64) -> String) -> String {
        match self {
            QuantileRatio::Is(value) => show(value),
            QuantileRatio::Above(value) => format!(">{}", show(value)),
            QuantileRatio::Below(value) => format!("<{}", show(value)),
        }
    }
}

impl Serialize for QuantileRatio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// `q_other(p) / q_reference(p)`; 1 where both are zero. `None` where only the reference's is, where both are of unfinished values, or if
/// a sample is empty.
pub fn quantile_ratio(reference: &Sample, other: &Sample, p: f64) -> Option<QuantileRatio> {
    let (a, b) = (reference.quantile_or_bound(p)?, other.quantile_or_bound(p)?);
    let ratio = match (a.at_least(), b.at_least()) {
        (a, b) if a == b => 1.0,
        (a, b) if a != 0.0 => b / a,
        _ => return None,
    };
    match (a, b) {
        (Quantile::Is(_), Quantile::Is(_)) => Some(QuantileRatio::Is(ratio)),
        (Quantile::Is(_), Quantile::Above(_)) => Some(QuantileRatio::Above(ratio)),
        (Quantile::Above(_), Quantile::Is(_)) => Some(QuantileRatio::Below(ratio)),
        (Quantile::Above(_), Quantile::Above(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{assert_near, x, y};
    use super::*;

    #[test]
    fn ratios_of_methods_l2() {
        for (p, expected) in [(0.1, 1.25), (0.5, 1.363_636_4), (0.8, 1.52), (0.9, 1.875)] {
            assert_near(quantile_ratio(&x(), &y(), p).unwrap().value(), expected, 1e-7);
        }
    }

    #[test]
    fn zero_has_no_ratio_except_to_zero() {
        let zeros = Sample::new([0.0, 0.0]);
        assert_eq!(quantile_ratio(&zeros, &zeros, 0.5), Some(QuantileRatio::Is(1.0)));
        assert_eq!(quantile_ratio(&zeros, &x(), 0.5), None);
        assert_eq!(quantile_ratio(&Sample::default(), &x(), 0.5), None);
    }

    #[test]
    fn unfinished_values_bound_a_ratio() {
        let known = Sample::new([1.0, 2.0]);
        let cut = Sample::new([1.0]).with_unfinished(&[10.0]);
        assert_eq!(quantile_ratio(&known, &cut, 0.9), Some(QuantileRatio::Above(5.0)));
        assert_eq!(quantile_ratio(&cut, &known, 0.9), Some(QuantileRatio::Below(0.2)));
        assert_eq!(quantile_ratio(&cut, &known, 0.5), Some(QuantileRatio::Is(1.0)));
        assert_eq!(quantile_ratio(&cut, &cut, 0.9), None);
        assert_eq!(QuantileRatio::Above(5.0).show(|value| value.to_string()), ">5");
    }
}
