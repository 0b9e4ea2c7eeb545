//! A sample in a few numbers.

use serde::Serialize;

use crate::statistics::{Quantile, Sample};

/// A sample in a few numbers; all but `n` and `unfinished` are null when it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantities {
    /// How many values, unfinished ones among them.
    pub n: usize,
    /// Values that were not over when the run ended. Each is at least as long as it was seen to last.
    pub unfinished: usize,
    /// How long the longest was seen to last, finished or not; null without unfinished ones.
    pub longest_seen: Option<f64>,
    /// Their mean; with unfinished ones the least that it can be.
    pub mean: Option<f64>,
    /// Inverse-CDF quantiles (methods C.7); null also where they depend on how long unfinished values last.
    pub p50: Option<f64>,
    /// See [`Self::p50`].
    pub p80: Option<f64>,
    /// See [`Self::p50`].
    pub p90: Option<f64>,
    /// See [`Self::p50`].
    pub p99: Option<f64>,
    /// See [`Self::p50`].
    pub p999: Option<f64>,
    /// What [`Self::p50`] is at least where it is not known; null where it is.
    pub p50_at_least: Option<f64>,
    /// The same of the others.
    pub p80_at_least: Option<f64>,
    /// See [`Self::p80_at_least`].
    pub p90_at_least: Option<f64>,
    /// See [`Self::p80_at_least`].
    pub p99_at_least: Option<f64>,
    /// See [`Self::p80_at_least`].
    pub p999_at_least: Option<f64>,
    /// The largest that is known.
    pub max: Option<f64>,
}

impl Quantities {
    /// Mean, median, 80 %, 90 % and 99 % quantile and largest value, or what each is at least.
    pub fn shown(&self) -> [Option<Quantile>; 6] {
        let least_mean = self.mean.filter(|_| self.unfinished > 0);
        [
            (self.mean.filter(|_| self.unfinished == 0), least_mean),
            (self.p50, self.p50_at_least),
            (self.p80, self.p80_at_least),
            (self.p90, self.p90_at_least),
            (self.p99, self.p99_at_least),
            (self.max.filter(|_| self.unfinished == 0), self.longest_seen),
        ]
        .map(|(known, least)| known.map(Quantile::Is).or(least.map(Quantile::Above)))
    }

    /// Of `sample`.
    pub fn of(sample: &Sample) -> Quantities {
        let at_least = |p| at_least(sample, p);
        Quantities {
            n: sample.len(),
            unfinished: sample.unfinished(),
            longest_seen: sample.as_seen().max().filter(|_| sample.unfinished() > 0),
            mean: sample.mean(),
            p50: sample.quantile(0.5),
            p80: sample.quantile(0.8),
            p90: sample.quantile(0.9),
            p99: sample.quantile(0.99),
            p999: sample.quantile(0.999),
            p50_at_least: at_least(0.5),
            p80_at_least: at_least(0.8),
            p90_at_least: at_least(0.9),
            p99_at_least: at_least(0.99),
            p999_at_least: at_least(0.999),
            max: sample.max(),
        }
    }
}
/// What the quantile of `sample` at `p` is at least, where values that had not ended decide it.
pub(crate) fn at_least(sample: &Sample, p: f64) -> Option<f64> {
    match sample.quantile_or_bound(p) {
        Some(Quantile::Above(least)) => Some(least),
        Some(Quantile::Is(_)) | None => None,
    }
}
