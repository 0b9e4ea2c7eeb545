//! Quantile ratios (methods L.2).

use super::sample::Sample;

/// The probabilities at which quantiles are compared.
pub const RATIO_PROBABILITIES: [f64; 8] = [0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99];

/// `q_other(p) / q_reference(p)` at [`RATIO_PROBABILITIES`]; 1 where both are zero, `None` where only the reference's is
/// or a sample is empty.
pub fn quantile_ratios(reference: &Sample, other: &Sample) -> [Option<f64>; 8] {
    RATIO_PROBABILITIES.map(|p| {
        let (a, b) = (reference.quantile(p)?, other.quantile(p)?);
        if a == b {
            return Some(1.0);
        }
        (a != 0.0).then(|| b / a)
    })
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{assert_near, x, y};
    use super::*;

    #[test]
    fn ratios_of_methods_l2() {
        let ratios = quantile_ratios(&x(), &y());
        for (index, expected) in [(0, 1.25), (2, 1.363_636_4), (4, 1.52), (5, 1.875)] {
            assert_near(ratios[index].unwrap(), expected, 1e-7);
        }
    }

    #[test]
    fn zero_has_no_ratio_except_to_zero() {
        let zeros = Sample::new([0.0, 0.0]);
        assert_eq!(quantile_ratios(&zeros, &zeros), [Some(1.0); 8]);
        assert_eq!(quantile_ratios(&zeros, &x()), [None; 8]);
        assert_eq!(quantile_ratios(&Sample::default(), &x()), [None; 8]);
    }
}
