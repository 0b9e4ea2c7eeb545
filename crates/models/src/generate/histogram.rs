//! Cumulative histograms: what published tables are (methods G.2).

use flowloom_core::distribution::{Distribution, DistributionError, Law};

/// Reads a table of the name a model gives it.
pub type Read<'a, E> = &'a mut dyn FnMut(&str) -> Result<Vec<(f64, f64)>, E>;

/// The law of a table of (value, share of values up to it): linear between its rows, the first value below the first share.
///
/// # Errors
/// Values or shares that fall, or shares that do not end at 1.
pub fn histogram(rows: Vec<(f64, f64)>) -> Result<Distribution, DistributionError> {
    Distribution::new(Law::Linear(rows))
}

/// Published figures of a table that cannot be had with the program: its ends, seven quantiles and its mean.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Smallest value.
    pub min: f64,
    /// Quantiles 0.1, 0.25, 0.5, 0.75, 0.9, 0.95 and 0.99.
    pub quantiles: [f64; 7],
    /// Largest value.
    pub max: f64,
    /// Mean of the table, linear between its rows.
    pub mean: f64,
}

/// Shares of [`Summary::quantiles`].
const SHARES: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
/// Above the last quantile one more value is needed: straight to the maximum, a long tail would have many times its mean.
const HIGH: f64 = 0.999;

impl Summary {
    /// A law with these quantiles, linear between them. The value at 0.999 is the one with which the mean comes out, or the one at 0.99
    /// where the quantiles below it have more than that already.
    pub fn rows(&self) -> Vec<(f64, f64)> {
        let mut rows = vec![(self.min, 0.0)];
        rows.extend(self.quantiles.into_iter().zip(SHARES));
        let below: f64 = rows.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0).sum();
        let last = self.quantiles[6];
        // below + (HIGH - 0.99) (last + high) / 2 + (1 - HIGH) (high + max) / 2 = mean
        let high =
            (2.0 * (self.mean - below) - (HIGH - SHARES[6]) * last - (1.0 - HIGH) * self.max) / (1.0 - SHARES[6]);
        rows.extend([(high.clamp(last, self.max), HIGH), (self.max, 1.0)]);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector of methods G.2.
    #[test]
    fn inverse_transform_with_linear_interpolation() {
        let law = histogram(vec![(0.0, 0.0), (10.0, 0.1), (20.0, 0.4), (100.0, 0.7), (400.0, 1.0)]).unwrap();
        let found = [0.05, 0.1, 0.3, 0.55, 0.9, 0.95].map(|r| law.quantile(r));
        for (found, wanted) in found.into_iter().zip([5.0, 10.0, 50.0 / 3.0, 60.0, 300.0, 350.0]) {
            assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
        }
        let first = histogram(vec![(3.0, 0.4), (5.0, 0.4), (6.0, 1.0)]).unwrap();
        assert_eq!((first.quantile(0.0), first.quantile(0.4)), (3.0, 3.0));
        assert!((first.quantile(0.7) - 5.5).abs() < 1e-9, "the flat part is skipped");
    }

    #[test]
    fn a_summary_has_its_quantiles_and_a_mean_where_they_leave_room_for_it() {
        let summary = Summary { min: 0.0, quantiles: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0], max: 1_000.0, mean: 4.0 };
        let rows = summary.rows();
        let mean: f64 = rows.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0).sum();
        assert!((mean - 4.0).abs() < 1e-9, "{mean}");
        let law = histogram(rows).unwrap();
        assert!((law.quantile(0.75) - 4.0).abs() < 1e-9);
    }
}
