//! How far two samples of a metric are apart: distances, which are effect sizes and no tests of significance (methods L.1), and the
//! largest difference in words.

use serde::Serialize;

use flowloom_core::units::three_digits;

use super::effect::Asked;
use super::outcome::Judgement;
use super::series::SeriesDistance;
use super::verdict::Verdict;
use crate::metric::{Metric, Unit};
use crate::statistics::{
    BodyAndTail, RATIO_PROBABILITIES, Sample, anderson_darling, body_and_tail, ks, largest_gap, quantile_ratios,
    tolerant_ks, wasserstein, wasserstein_log10,
};
use crate::summary::Quantities;
use crate::words::thousands;

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
    /// Other / reference; null where the reference's quantile is zero and the other's is not.
    pub ratio: Option<f64>,
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
    /// Other mean / reference mean; null if the latter is zero or a side is empty.
    pub mean_ratio: Option<f64>,
    /// Plain Kolmogorov-Smirnov distance.
    pub ks: Option<f64>,
    /// Distance that is left after each value may move a little (methods M.6).
    pub tolerant_ks: Option<f64>,
    /// Two-sample Anderson-Darling statistic, midrank form; descriptive only.
    pub anderson_darling: Option<f64>,
    /// Typical factor between values: 10 to the Wasserstein-1 distance of their log10.
    pub typical_factor: Option<f64>,
    /// Wasserstein-1 distance of the values, in their unit: how far one has to move on average.
    pub wasserstein: Option<f64>,
    /// Quantile ratios.
    pub ratios: Vec<Ratio>,
    /// Of durations and response times: up to one second and above it, apart.
    pub body_and_tail: Option<BodyAndTail>,
    /// Of series: bin by bin and by time scale; null between values of several runs.
    pub series: Option<SeriesDistance>,
    /// What the shift-tolerant distance means.
    pub judgement: Judgement,
    /// Whether the difference is more than chance and more than nothing; set once all metrics are known.
    pub verdict: Verdict,
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
}

/// Where the body of a distribution of times ends, in nanoseconds.
const BODY_NS: f64 = 1e9;

/// How far `other` is from `reference`, without a verdict and without a series; `None` if either is empty.
pub fn difference(
    metric: Metric,
    reference: &Sample,
    other: &Sample,
    reference_name: &str,
    other_name: &str,
) -> Option<Difference> {
    let tolerant = tolerant_ks(reference, other, metric.tolerance())?;
    let ratios = quantile_ratios(reference, other);
    let floor = if metric.unit() == Unit::Time { 1_000.0 } else { 1.0 };
    let mean_ratio = match (reference.mean(), other.mean()) {
        (Some(a), Some(b)) if a != 0.0 => Some(b / a),
        _ => None,
    };
    let judgement = judge(tolerant, telling(metric, reference, other));
    Some(Difference {
        metric,
        reference: Quantities::of(reference),
        other: Quantities::of(other),
        mean_ratio,
        ks: ks(reference, other),
        tolerant_ks: Some(tolerant),
        anderson_darling: anderson_darling(reference, other).map(|result| result.statistic),
        typical_factor: wasserstein_log10(reference, other, floor).map(|result| result.factor),
        wasserstein: wasserstein(reference, other),
        ratios: RATIO_PROBABILITIES.into_iter().zip(ratios).map(|(p, ratio)| Ratio { p, ratio }).collect(),
        body_and_tail: matches!(metric, Metric::Duration | Metric::ResponseTime)
            .then(|| body_and_tail(reference, other, BODY_NS))
            .flatten(),
        series: None,
        judgement,
        verdict: Verdict::default(),
        asked: Vec::new(),
        finding: finding(metric, reference, other, judgement, reference_name, other_name),
    })
}

/// How many values there are to judge by: those of the smaller sample. Of series over time only if as many bins hold
/// anything at all on either side: two captures pasted together with years between them make thousands of empty bins,
/// which are alike in every replay. A queue that is always empty does say something.
fn telling(metric: Metric, reference: &Sample, other: &Sample) -> usize {
    let n = reference.len().min(other.len());
    let held = |sample: &Sample| sample.len() - sample.count_up_to(0.0);
    match metric {
        Metric::QueueFromLeft | Metric::QueueFromRight => n,
        _ if metric.is_series() => match held(reference).max(held(other)) {
            held if held < FEWEST => held.min(n),
            _ => n,
        },
        _ => n,
    }
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

/// The largest difference in one sentence.
fn finding(
    metric: Metric,
    reference: &Sample,
    other: &Sample,
    judgement: Judgement,
    reference_name: &str,
    other_name: &str,
) -> String {
    let name = capitalised(metric.plural());
    if judgement == Judgement::CannotTell {
        let n = telling(metric, reference, other);
        let values = if metric.is_series() { "bins with anything in them" } else { "values" };
        return format!("{name}: {n} {values} are too few to tell");
    }
    let show = |value: f64| metric.unit().show(value);
    if metric.is_series()
        && let (Some(a), Some(b)) = (reference.mean(), other.mean())
        && a > 0.0
        && (b / a - 1.0).abs() > 0.01
    {
        let change = match b / a {
            ratio if ratio >= MANIFOLD => format!("{} times as high", manifold(ratio)),
            ratio if ratio > 1.0 => format!("{} % higher", three_digits((ratio - 1.0) * 100.0)),
            ratio => format!("{} % lower", three_digits((1.0 - ratio) * 100.0)),
        };
        return format!("{name}: {change} in {other_name} on average ({} against {})", show(b), show(a));
    }
    let Some(gap) = largest_gap(reference, other).filter(|gap| gap.f != gap.g) else {
        return format!("{name}: no difference");
    };
    let percent = |share: f64| format!("{} %", three_digits(share * 100.0));
    let (here, there) = (1.0 - gap.g, 1.0 - gap.f);
    let x = show(gap.x);
    if metric.is_series() {
        let (here, there) = (percent(here), percent(there));
        return format!("{name}: above {x} in {here} of the bins in {other_name}, in {there} in {reference_name}");
    }
    let change = match (here, there) {
        (_, 0.0) => "only seen".to_owned(),
        (0.0, _) => "not seen".to_owned(),
        _ if here / there >= MANIFOLD => format!("{} times as frequent", manifold(here / there)),
        _ if here > there => format!("{} more frequent", percent(here / there - 1.0)),
        _ => format!("{} rarer", percent(1.0 - here / there)),
    };
    format!("{name} above {x} are {change} in {other_name} ({} of all against {})", percent(here), percent(there))
}

/// From this ratio on a factor reads better than a percentage.
const MANIFOLD: f64 = 2.0;

/// A factor of at least [`MANIFOLD`]: `5.11`, `6,698`.
fn manifold(ratio: f64) -> String {
    if ratio < 1e3 { three_digits(ratio) } else { thousands(ratio.round() as u64) }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
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
        assert!(difference.finding.contains(" times as frequent in the replay"), "{}", difference.finding);
        let bit_slower: Sample = original.steps().map(|(value, _)| value * 1.08).collect();
        assert_eq!(compared(&original, &bit_slower).judgement, Judgement::Close);
    }

    #[test]
    fn few_values_tell_nothing() {
        let few = milliseconds(1..9);
        assert_eq!(compared(&few, &milliseconds(100..200)).judgement, Judgement::CannotTell);
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
    fn a_series_of_nearly_nothing_tells_nothing() {
        let years = |bits: f64| Sample::new((0..5_000).map(|bin| if bin % 1_000 == 0 { bits } else { 0.0 }));
        let compared = |metric| difference(metric, &years(1e6), &years(3e6), "the original", "the replay").unwrap();
        assert_eq!(compared(Metric::ThroughputFromLeft).judgement, Judgement::CannotTell);
        assert_eq!(
            compared(Metric::ActiveConnections).finding,
            "Active connections: 5 bins with anything in them are too few to tell"
        );
        assert_eq!(compared(Metric::QueueFromLeft).judgement, Judgement::Same, "an empty queue is a finding");
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
        assert_eq!(manifold(6_697.97), "6,698");
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
