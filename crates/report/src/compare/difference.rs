//! How far two samples of a metric are apart: distances, which are effect sizes and no tests of significance (methods L.1).

use serde::Serialize;

use super::effect::Asked;
use super::finding::{Finding, finding, largest_ratio, weight};
use super::outcome::Judgement;
use super::series::SeriesDistance;
use super::verdict::Verdict;
use crate::metric::{Metric, Unit};
use crate::quantities::Quantities;
use crate::statistics::{
    BodyAndTail, QuantileRatio, RATIO_PROBABILITIES, Sample, Tolerance, anderson_darling, body_and_tail,
    quantile_ratio, tolerant_ks, tolerant_ks_bounds, wasserstein, wasserstein_log10,
};

/// Shift-tolerant KS distance up to which two samples are the same.
pub const SAME: f64 = 0.02;
/// Shift-tolerant KS distance up to which two samples are close.
pub const CLOSE: f64 = 0.1;
/// Fewer values than this on either side say nothing about a distribution.
pub const FEWEST: usize = 10;

/// A quantile ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Where.
    pub p: f64,
    /// Other / reference, or a bound of it; null where the reference's quantile is zero and the other's is not, and where both are of
    /// unfinished values.
    pub ratio: Option<QuantileRatio>,
    /// Where `ratio` is a bound, on which side of it the ratio is: `above` (the other's quantile is of an unfinished value) or `below`.
    pub bound: Option<&'static str>,
}

impl Ratio {
    fn of(reference: &Sample, other: &Sample, p: f64) -> Ratio {
        let ratio = quantile_ratio(reference, other, p);
        let bound = match ratio {
            Some(QuantileRatio::Above(_)) => Some("above"),
            Some(QuantileRatio::Below(_)) => Some("below"),
            Some(QuantileRatio::Is(_)) | None => None,
        };
        Ratio { p, ratio, bound }
    }
}

/// Of connections that finished in both worlds and lost nothing in the original (methods M.4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clean {
    /// Values of the smaller side.
    pub n: usize,
    /// Tolerant KS distance; null under ten values.
    pub tolerant_ks: Option<f64>,
    /// Ratio of the medians.
    pub median_ratio: Option<QuantileRatio>,
}

/// How far apart one metric is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The metric.
    pub metric: Metric,
    /// The reference in numbers.
    pub reference: Quantities,
    /// The other in numbers.
    pub other: Quantities,
    /// Values to judge by, the smaller side's; of a series that is nearly empty the bins that hold anything.
    pub n: usize,
    /// The share of the connections of the window that have the metric, the smaller side's; null of other tools' results.
    pub share: Option<f64>,
    /// Of durations and response times beside an original: the same of clean connections alone.
    pub clean: Option<Clean>,
    /// Other mean / reference mean; null if the latter is zero or a side is empty.
    pub mean_ratio: Option<f64>,
    /// Plain Kolmogorov-Smirnov distance, with unfinished values the least that it can be; null where there is no `tolerant_ks`.
    pub ks: Option<f64>,
    /// The most that it can be, however long unfinished values last.
    pub ks_at_most: Option<f64>,
    /// Distance that is left after each value may move a little (methods M.6). Null under [`FEWEST`] values, and of series with
    /// fewer than [`FEWEST_BINS`] bins that hold anything or a variation of at most [`LEAST_VARIATION`].
    pub tolerant_ks: Option<f64>,
    /// The most that it can be, however long unfinished values last.
    pub tolerant_ks_at_most: Option<f64>,
    /// The same of any values, as it enters `distance_v1`.
    #[serde(skip)]
    pub(super) tolerant_ks_v1: Option<f64>,
    /// Two-sample Anderson-Darling statistic, midrank form; descriptive only.
    pub anderson_darling: Option<f64>,
    /// Typical factor between values: 10 to the Wasserstein-1 distance of their log10.
    pub typical_factor: Option<f64>,
    /// Wasserstein-1 distance of the values, in their unit: how far one has to move on average.
    pub wasserstein: Option<f64>,
    /// Quantile ratios; under [`FEWEST`] values that of the medians alone.
    pub ratios: Vec<Ratio>,
    /// Of durations and response times: up to one second and above it, apart.
    pub body_and_tail: Option<BodyAndTail>,
    /// Of series: bin by bin and by time scale; null between values of several runs.
    pub series: Option<SeriesDistance>,
    /// What the shift-tolerant distance means; of series what the ratio of means does.
    pub judgement: Judgement,
    /// Whether the difference is more than chance and more than nothing; set once all metrics are known.
    pub verdict: Verdict,
    /// The ratio of the median or tail that changed most; `None` if all stay within the tolerance.
    #[serde(skip)]
    pub(super) largest_ratio: Option<QuantileRatio>,
    /// Statistics that were asked for.
    #[serde(skip)]
    pub asked: Vec<Asked>,
    /// The largest difference in words.
    pub finding: String,
}

impl Difference {
    /// The verdict in a word or two; where there is only a distance, what that means.
    pub fn said(&self) -> String {
        self.verdict.said(self.judgement)
    }

    /// What it is ranked by where distances of one metric are: the tolerant KS distance, else how far the ratio of means is from 1.
    pub(crate) fn distance(&self) -> f64 {
        self.tolerant_ks.unwrap_or_else(|| self.mean_ratio.map_or(0.0, |ratio| (ratio - 1.0).abs()))
    }

    /// Whether it is worth telling: the values are not the same, or a median or tail changed by more than the tolerance.
    pub(super) fn is_told(&self) -> bool {
        match self.judgement {
            Judgement::CannotTell if self.n < FEWEST => false,
            Judgement::Same | Judgement::CannotTell => self.largest_ratio.is_some() && self.metric.unit() == Unit::Time,
            Judgement::Close | Judgement::Different => true,
        }
    }

    /// How near its metric is to what users notice: 0 is the nearest.
    pub(super) fn rank(&self) -> u8 {
        match self.metric {
            Metric::ResponseTime | Metric::Duration | Metric::ProbeRoundTrip | Metric::ProbeRequest => 0,
            Metric::Goodput | Metric::ThroughputFromLeft | Metric::ThroughputFromRight => 1,
            Metric::ActiveConnections
            | Metric::QueueFromLeft
            | Metric::QueueFromRight
            | Metric::QueueDelayFromLeft
            | Metric::QueueDelayFromRight
            | Metric::DeadCellsFromLeft
            | Metric::DeadCellsFromRight => 2,
            Metric::PacketArrivals | Metric::RoundTripTime | Metric::AduSize => 3,
        }
    }

    /// How far its ratio is from 1: that of means of series, else of the median or tail that changed most.
    pub(super) fn weight(&self) -> f64 {
        match (self.metric.is_series(), self.mean_ratio, self.largest_ratio) {
            (true, Some(ratio), _) => weight(ratio),
            (true, None, _) => f64::MAX,
            (false, _, Some(ratio)) => weight(ratio.value()),
            (false, _, None) => 0.0,
        }
    }
}

/// Where the body of a distribution of times ends, in nanoseconds.
const BODY_NS: f64 = 1e9;

/// Series with fewer bins that hold anything have no distribution worth comparing.
pub const FEWEST_BINS: usize = 50;
/// Nor have series whose standard deviation is at most this part of their mean: a constant moves as a whole.
pub const LEAST_VARIATION: f64 = 0.1;

/// How far `other` is from `reference`, without a verdict and without a series; `None` if either is empty.
pub fn difference(
    metric: Metric,
    reference: &Sample,
    other: &Sample,
    reference_name: &str,
    other_name: &str,
) -> Option<Difference> {
    let tolerant = tolerant_ks_bounds(reference, other, metric.tolerance())?;
    let plain = tolerant_ks_bounds(reference, other, Tolerance { absolute: 0.0, relative: 0.0 })?;
    let n = telling(metric, reference, other);
    let of_distribution = n >= FEWEST && (!metric.is_series() || varies(reference, other));
    let floor = if metric.unit() == Unit::Time { 1_000.0 } else { 1.0 };
    let mean_ratio = match (reference.mean(), other.mean()) {
        (Some(a), Some(b)) if a != 0.0 => Some(b / a),
        _ => None,
    };
    let judgement = match metric.is_series() {
        true => judge_means(metric, reference.mean()?, other.mean()?, n),
        // Where unfinished values may make it the one or the other, nothing is said.
        false => match (judge(tolerant.least, n), judge(tolerant.most, n)) {
            (least, most) if least == most => least,
            _ => Judgement::CannotTell,
        },
    };
    let probabilities = if n < FEWEST { &[0.5][..] } else { &RATIO_PROBABILITIES };
    let timed = matches!(metric, Metric::Duration | Metric::ResponseTime);
    let ratios: Vec<Ratio> = probabilities.iter().map(|p| Ratio::of(reference, other, *p)).collect();
    let finding = finding(&Finding { metric, reference, other, judgement, n, names: [reference_name, other_name] });
    Some(Difference {
        metric,
        reference: Quantities::of(reference),
        other: Quantities::of(other),
        n,
        share: None,
        clean: None,
        mean_ratio,
        ks: of_distribution.then_some(plain.least),
        ks_at_most: of_distribution.then_some(plain.most),
        tolerant_ks: of_distribution.then_some(tolerant.least),
        tolerant_ks_at_most: of_distribution.then_some(tolerant.most),
        tolerant_ks_v1: tolerant_ks(reference, other, metric.tolerance()).filter(|_| n >= FEWEST),
        anderson_darling: anderson_darling(reference, other).filter(|_| of_distribution).map(|result| result.statistic),
        typical_factor: wasserstein_log10(reference, other, floor).filter(|_| n >= FEWEST).map(|result| result.factor),
        wasserstein: wasserstein(reference, other).filter(|_| n >= FEWEST),
        ratios,
        body_and_tail: (timed && n >= FEWEST).then(|| body_and_tail(reference, other, BODY_NS)).flatten(),
        series: None,
        judgement,
        verdict: Verdict::default(),
        largest_ratio: largest_ratio(metric, reference, other).map(|(_, ratio)| ratio),
        asked: Vec::new(),
        finding,
    })
}

/// How many values there are to judge by: those of the smaller sample. Of series over time only if as many bins hold
/// anything at all on either side: two captures pasted together with years between them make thousands of empty bins,
/// which are alike in every replay. A queue that is always empty does say something.
fn telling(metric: Metric, reference: &Sample, other: &Sample) -> usize {
    let n = reference.len().min(other.len());
    match metric {
        Metric::QueueFromLeft | Metric::QueueFromRight => n,
        _ if metric.is_series() => match held(reference).max(held(other)) {
            held if held < FEWEST => held.min(n),
            _ => n,
        },
        _ => n,
    }
}

/// Bins that hold anything.
fn held(series: &Sample) -> usize {
    series.len() - series.count_up_to(0.0)
}

/// Whether the bins of two series have distributions worth comparing.
fn varies(reference: &Sample, other: &Sample) -> bool {
    let variation = |series: &Sample| series.coefficient_of_variation().unwrap_or(0.0);
    held(reference).max(held(other)) >= FEWEST_BINS && variation(reference).max(variation(other)) > LEAST_VARIATION
}

/// What a shift-tolerant distance means for samples of which the smaller has `n` values.
fn judge(distance: f64, n: usize) -> Judgement {
    // A little slack, so that a distance of exactly one value in n is not lost to rounding.
    let at_most = |threshold: f64, values: f64| distance <= threshold.max(values / n as f64) + 1e-9;
    match n {
        _ if n < FEWEST => Judgement::CannotTell,
        _ if at_most(SAME, 1.0) => Judgement::Same,
        _ if at_most(CLOSE, 2.0) => Judgement::Close,
        _ => Judgement::Different,
    }
}

/// What the means of two series mean, of which the smaller has `n` bins: up to the metric's tolerance they are the same.
fn judge_means(metric: Metric, reference: f64, other: f64, n: usize) -> Judgement {
    let apart = (other - reference).abs();
    match n {
        _ if n < FEWEST => Judgement::CannotTell,
        _ if apart <= metric.tolerance().of(reference) => Judgement::Same,
        _ if apart <= CLOSE * reference => Judgement::Close,
        _ => Judgement::Different,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(values: impl IntoIterator<Item = u32>) -> Sample {
        values.into_iter().map(|value| f64::from(value) * 1e6).collect()
    }

    fn compared(a: &Sample, b: &Sample) -> Difference {
        difference(Metric::ResponseTime, a, b, "the original", "the replay").unwrap()
    }

    #[test]
    fn the_same_is_called_same_and_a_tenth_more_different() {
        let original = milliseconds(10..1010);
        assert_eq!(compared(&original, &original).judgement, Judgement::Same);
        let slower: Sample = original.steps().map(|(value, _)| value * 1.25).collect();
        let difference = compared(&original, &slower);
        assert_eq!(difference.judgement, Judgement::Different);
        assert!(difference.finding.contains(" 25.0 % longer in the replay"), "{}", difference.finding);
        let bit_slower: Sample = original.steps().map(|(value, _)| value * 1.08).collect();
        assert_eq!(compared(&original, &bit_slower).judgement, Judgement::Close);
    }

    #[test]
    fn few_values_tell_nothing() {
        let few = milliseconds(1..9);
        let compared = compared(&few, &milliseconds(100..200));
        assert_eq!((compared.judgement, compared.ks, compared.tolerant_ks), (Judgement::CannotTell, None, None));
        let [median] = compared.ratios[..] else { panic!("the ratio of medians alone") };
        assert_eq!((median.p, median.ratio), (0.5, Some(QuantileRatio::Is(149.0 / 4.0))));
        assert_eq!(difference(Metric::Duration, &few, &Sample::default(), "a", "b"), None);
    }

    #[test]
    fn one_value_of_a_small_sample_is_no_difference() {
        let original = milliseconds((1..=20).map(|value| value * 10));
        let one_moved = milliseconds((1..=19).map(|value| value * 10).chain([5000]));
        let difference = compared(&original, &one_moved);
        assert_eq!(difference.judgement, Judgement::Same);
        assert!((difference.ks.unwrap() - 0.05).abs() < 1e-12);
    }

    #[test]
    fn unfinished_exchanges_make_a_variant_worse() {
        let all = milliseconds(1..=500);
        let cut = milliseconds(1..=450).with_unfinished(&[60e9; 50]);
        let difference = compared(&all, &cut);
        let p99 = difference.ratios.iter().find(|ratio| ratio.p == 0.99).unwrap();
        assert_eq!((p99.ratio, p99.bound), (Some(QuantileRatio::Above(60e9 / 495e6)), Some("above")));
        assert!((difference.ks.unwrap() - 0.1).abs() < 1e-12);
        assert_eq!(
            (difference.other.unfinished, difference.other.longest_seen, difference.other.p99),
            (50, Some(60e9), None)
        );
        assert_eq!(
            difference.finding,
            "Response times: the 99 % quantile is more than 121 times as long in the replay (> 60.0 s against 495 ms)"
        );
        let other_way = compared(&cut, &all).ratios.iter().find(|ratio| ratio.p == 0.99).unwrap().bound;
        assert_eq!(other_way, Some("below"));
    }

    #[test]
    fn a_nearly_constant_series_is_judged_by_its_mean() {
        let flat = |rate: f64| Sample::new((0..120).map(|bin| rate * (1.0 + 0.001 * f64::from(bin % 3))));
        let of = |rate: f64| difference(Metric::Goodput, &flat(436e3), &flat(rate), "a", "b").unwrap();
        // 436 against 415 kbit/s in each second has a KS distance of 1.
        assert_eq!((of(415e3).judgement, of(415e3).tolerant_ks), (Judgement::Close, None));
        assert_eq!((of(435e3).judgement, of(300e3).judgement), (Judgement::Same, Judgement::Different));
        let wave = |rate: f64| Sample::new((0..120).map(|bin| rate * (1.0 + 0.5 * f64::from(bin % 3))));
        let varied = |n: usize| {
            let cut =
                |rate| wave(rate).steps().flat_map(|(value, count)| vec![value; count]).take(n).collect::<Sample>();
            difference(Metric::Goodput, &cut(1e6), &cut(1e6), "a", "b").unwrap().tolerant_ks
        };
        assert_eq!(varied(120), Some(0.0));
        assert_eq!(varied(49), None, "fewer than 50 bins");
    }

    #[test]
    fn a_series_of_nearly_nothing_tells_nothing() {
        let years = |bits: f64| Sample::new((0..5_000).map(|bin| if bin % 1_000 == 0 { bits } else { 0.0 }));
        let compared = |metric| difference(metric, &years(1e6), &years(3e6), "the original", "the replay").unwrap();
        assert_eq!(compared(Metric::ThroughputFromLeft).judgement, Judgement::CannotTell);
        assert_eq!(
            compared(Metric::ActiveConnections).finding,
            "Active connections: 5 bins with anything in them are too few to tell"
        );
        let empty = Sample::new([0.0; 50]);
        let queue = difference(Metric::QueueFromLeft, &empty, &empty, "the original", "the replay").unwrap();
        assert_eq!(queue.judgement, Judgement::Same, "an empty queue is a finding");
    }

    #[test]
    fn large_changes_are_told_as_factors() {
        let original = Sample::new((0..100).map(|bin| 1e6 + f64::from(bin)));
        let replay = Sample::new((0..100).map(|bin| 5.11e6 + f64::from(bin)));
        let difference =
            difference(Metric::ThroughputFromLeft, &original, &replay, "the original", "the replay").unwrap();
        assert_eq!(
            difference.finding,
            "Throughput from left to right: 5.11 times as high in the replay on average (5.11 Mbit/s against 1.00 Mbit/s)"
        );
    }

    #[test]
    fn series_differ_in_their_mean() {
        let original = Sample::new((0..100).map(|bin| 1e6 + f64::from(bin)));
        let replay = Sample::new((0..100).map(|bin| 1.2e6 + f64::from(bin)));
        let difference =
            difference(Metric::ThroughputFromLeft, &original, &replay, "the original", "the replay").unwrap();
        assert_eq!(
            difference.finding,
            "Throughput from left to right: 20.0 % higher in the replay on average (1.20 Mbit/s against 1.00 Mbit/s)"
        );
    }
}
