//! A sample in a few numbers.

use serde::Serialize;

use crate::statistics::{Quantile, Sample};

/// A sample in a few numbers; all but `n` and `unfinished` are null when it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantities {
    /// How many values, unfinished ones among them.
    pub n: usize,
    /// Values that were not over when the run ended. They count as longer than any.
    pub unfinished: usize,
    /// How long the longest was seen to last, finished or not; null without unfinished ones.
    pub longest_seen: Option<f64>,
    /// Their mean; with unfinished ones the least that it can be.
    pub mean: Option<f64>,
    /// Inverse-CDF quantiles (methods C.7); null also where they reach unfinished values: more than [`Self::longest_seen`].
    pub p50: Option<f64>,
    /// See [`Self::p50`].
    pub p80: Option<f64>,
    /// See [`Self::p50`].
    pub p90: Option<f64>,
    /// See [`Self::p50`].
    pub p99: Option<f64>,
    /// See [`Self::p50`].
    pub p999: Option<f64>,
    /// The largest that is known.
    pub max: Option<f64>,
}

impl Quantities {
    /// One of the quantiles above, or what it exceeds where it is of an unfinished value.
    pub fn or_bound(&self, quantile: Option<f64>) -> Option<Quantile> {
        quantile.map(Quantile::Is).or(self.longest_seen.map(Quantile::Above))
    }

    /// Of `sample`.
    pub fn of(sample: &Sample) -> Quantities {
        Quantities {
            n: sample.len(),
            unfinished: sample.unfinished(),
            longest_seen: sample.quantile_or_bound(1.0).filter(|_| sample.unfinished() > 0).map(Quantile::at_least),
            mean: sample.mean(),
            p50: sample.quantile(0.5),
            p80: sample.quantile(0.8),
            p90: sample.quantile(0.9),
            p99: sample.quantile(0.99),
            p999: sample.quantile(0.999),
            max: sample.max(),
        }
    }
}
