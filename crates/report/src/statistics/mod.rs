//! Numbers about samples and about pairs of samples, one idea per file.
//!
//! Distances between samples are descriptive. Points inside a run depend on each other, so that a two-sample test on pooled
//! connections calls any difference significant (methods L.1). Intervals and tests are over replications, or over long
//! blocks of time.
//! Logarithms come from `libm`, so that results are the same on every machine (methods M.11).

mod anderson_darling;
mod batch_means;
mod best;
mod blocks;
mod body_tail;
mod bootstrap;
mod interval;
mod jain;
mod kolmogorov_smirnov;
mod looks;
mod multiple;
mod quantile_ratio;
mod ratio;
mod run_length;
mod sample;
mod seeds;
mod statistic;
mod student;
mod thin;
mod warm_up;
mod wasserstein;

pub use anderson_darling::{AndersonDarling, anderson_darling, anderson_darling_without_ties};
pub use batch_means::BatchMeans;
pub use best::{Selection, select};
pub use blocks::{BlockEstimate, FEWEST_BLOCKS};
pub use body_tail::{BodyAndTail, body_and_tail};
pub use bootstrap::{RESAMPLES, RESAMPLING_SEED, RatioIntervals, ratio_intervals};
pub use interval::Interval;
pub use jain::{Shares, jain};
pub use kolmogorov_smirnov::{
    Bounds, Gap, Tolerance, critical_value, exact_p_value, ks, largest_gap, tolerant_ks, tolerant_ks_bounds,
};
pub use looks::Looks;
pub use multiple::Correction;
pub use quantile_ratio::{QuantileRatio, RATIO_PROBABILITIES, quantile_ratio};
pub use ratio::ratio_estimate;
pub use run_length::{LongEnough, RunLength};
pub use sample::{Quantile, Sample};
pub use seeds::{seeds_as_found, seeds_to_decide};
pub use statistic::Statistic;
pub use student::Estimate;
pub use thin::{CurvePoint, ThinnedSeries, mean_of_known, thin_distribution, thin_series, thin_steps};
pub use warm_up::{mser5, running_mean};
pub use wasserstein::{LogWasserstein, wasserstein, wasserstein_log10};

#[cfg(test)]
pub(crate) mod vectors {
    //! The two samples of methods L.2.

    use super::Sample;

    pub(crate) fn x() -> Sample {
        Sample::new([0.12, 0.25, 0.31, 0.40, 0.55, 0.80, 1.2, 2.5, 4.0, 9.0])
    }

    pub(crate) fn y() -> Sample {
        Sample::new([0.15, 0.30, 0.42, 0.60, 0.75, 1.1, 1.9, 3.8, 7.5, 20.0])
    }

    pub(crate) fn assert_near(actual: f64, expected: f64, tolerance: f64) {
        assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected} within {tolerance}");
    }
}
