//! How far two sets of measurements are apart: a replay from its original, or runs from each other.
//!
//! Original against replay is monitor against monitor; run against run is endpoint against endpoint (methods M.1).
//! All distances are effect sizes; none is a test of significance (methods L.1).

use std::fmt;

use serde::Serialize;

use flowloom_core::units::three_digits;
use flowloom_store::run_folder::Point;

use crate::metric::{Metric, Unit};
use crate::run::{Class, Endings, Run};
use crate::statistics::{
    RATIO_PROBABILITIES, Sample, anderson_darling, ks, largest_gap, quantile_ratios, tolerant_ks, wasserstein_log10,
};
use crate::summary::Quantities;
use crate::text::thousands;

/// Shift-tolerant KS distance up to which two samples are the same.
pub const SAME: f64 = 0.02;
/// Shift-tolerant KS distance up to which two samples are close.
pub const CLOSE: f64 = 0.1;
/// Fewer values than this on either side say nothing about a distribution.
pub const FEWEST: usize = 10;

/// What a distance means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Shift-tolerant KS at most [`SAME`], or at most one value of the smaller sample.
    Same,
    /// At most [`CLOSE`], or at most two values.
    Close,
    /// More.
    Different,
    /// Fewer than [`FEWEST`] values.
    CannotTell,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Judgement::Same => "same",
            Judgement::Close => "close",
            Judgement::Different => "different",
            Judgement::CannotTell => "cannot tell",
        })
    }
}

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
    /// Quantile ratios.
    pub ratios: Vec<Ratio>,
    /// What the shift-tolerant distance means.
    pub judgement: Judgement,
    /// The largest difference in words.
    pub finding: String,
}

/// What takes part in the overall distance and in `different`.
const DECIDING: [Metric; 5] = [
    Metric::ResponseTime,
    Metric::Duration,
    Metric::ActiveConnections,
    Metric::ThroughputFromLeft,
    Metric::ThroughputFromRight,
];

/// All metrics that can be compared, in the order of the report.
const METRICS: [Metric; 11] = [
    Metric::Duration,
    Metric::ResponseTime,
    Metric::ActiveConnections,
    Metric::ThroughputFromLeft,
    Metric::ThroughputFromRight,
    Metric::PacketArrivals,
    Metric::Goodput,
    Metric::RoundTripTime,
    Metric::AduSize,
    Metric::QueueFromLeft,
    Metric::QueueFromRight,
];

/// Two sets of measurements beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What the reference is called.
    pub reference: String,
    /// What the other is called.
    pub other: String,
    /// Where both were measured: at the monitor against an original, at the endpoints between runs.
    pub measured_at: &'static str,
    /// Metric by metric; those without values on one side are left out.
    pub differences: Vec<Difference>,
    /// Response times and durations of connections that lost packets in the original, apart from the others (M.7).
    pub lost_in_original: Vec<Difference>,
    /// Connections that lost packets in the original.
    pub lost_in_original_connections: u64,
    /// Connections by where their close was seen (methods M.4); null between runs.
    pub endings: Option<Endings>,
    /// One number to rank replays of one original by: the mean shift-tolerant KS distance of response times,
    /// durations, active connections and throughput (the mean of its two directions), those with too few values left
    /// out. 0 is the same. Null without any.
    pub distance: Option<f64>,
    /// Whether a deciding metric (those of `distance`) is [`Judgement::Different`].
    pub different: bool,
}

impl Comparison {
    /// The difference of `metric`, if both sides have values.
    pub fn difference(&self, metric: Metric) -> Option<&Difference> {
        self.differences.iter().find(|difference| difference.metric == metric)
    }

    /// The (up to) three largest differences in words, the largest first. Nothing that is the same is among them.
    pub fn largest_differences(&self) -> Vec<&Difference> {
        let mut told: Vec<&Difference> = self
            .differences
            .iter()
            .filter(|difference| matches!(difference.judgement, Judgement::Close | Judgement::Different))
            .collect();
        let distance = |difference: &Difference| difference.tolerant_ks.unwrap_or(0.0);
        told.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        told.truncate(3);
        told
    }
}

/// The replay beside the original it replays, at the monitor; `None` if the run has no measured original.
///
/// Connections that lost packets in the original are left out of the durations and response times (methods M.7) and
/// compared apart.
pub fn compare_with_original(run: &Run) -> Option<Comparison> {
    let measured = &run.measurements;
    if !measured.has_original {
        return None;
    }
    let of = |metric: Metric, accept: fn(Class) -> bool| {
        let reference = measured.sample(metric, Point::Original, accept);
        let other = measured.sample(metric, Point::Monitor, accept);
        difference(metric, &reference, &other, "the original", "the replay")
    };
    let timed = |metric| matches!(metric, Metric::Duration | Metric::ResponseTime);
    // Sources beside the workload are on the replay's link, and were not on the original's.
    let has_sources = run.facts.sources().any(|source| source.started > 0);
    let of_link = |metric| {
        matches!(
            metric,
            Metric::ThroughputFromLeft | Metric::ThroughputFromRight | Metric::PacketArrivals | Metric::Goodput
        )
    };
    let differences = METRICS
        .into_iter()
        // The original's queues were not seen.
        .filter(|metric| !matches!(metric, Metric::QueueFromLeft | Metric::QueueFromRight))
        .filter(|metric| !(has_sources && of_link(*metric)))
        .filter_map(|metric| of(metric, if timed(metric) { |class| !class.lost_in_original } else { |_| true }))
        .collect();
    let lost = [Metric::Duration, Metric::ResponseTime].into_iter();
    Some(comparison(
        "original",
        &run.name,
        "monitor",
        differences,
        lost.filter_map(|metric| of(metric, |class| class.lost_in_original)).collect(),
        measured.lost_in_original,
        Some(measured.endings),
    ))
}

/// Each run after the first beside the first, at the endpoints.
pub fn compare_runs(runs: &[Run]) -> Vec<Comparison> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let beside_first = |run: &Run| {
        let sample = |run: &Run, metric| run.measurements.sample(metric, Point::Endpoint, |_| true);
        let differences = METRICS
            .into_iter()
            .filter_map(|metric| {
                difference(metric, &sample(first, metric), &sample(run, metric), &first.name, &run.name)
            })
            .collect();
        comparison(&first.name, &run.name, "endpoint", differences, Vec::new(), 0, None)
    };
    others.iter().map(beside_first).collect()
}

fn comparison(
    reference: &str,
    other: &str,
    measured_at: &'static str,
    differences: Vec<Difference>,
    lost_in_original: Vec<Difference>,
    lost_in_original_connections: u64,
    endings: Option<Endings>,
) -> Comparison {
    let different = differences
        .iter()
        .any(|difference| DECIDING.contains(&difference.metric) && difference.judgement == Judgement::Different);
    Comparison {
        reference: reference.to_owned(),
        other: other.to_owned(),
        measured_at,
        distance: overall_distance(&differences),
        differences,
        lost_in_original,
        lost_in_original_connections,
        endings,
        different,
    }
}

fn overall_distance(differences: &[Difference]) -> Option<f64> {
    let of = |metrics: &[Metric]| {
        let known = differences
            .iter()
            .filter(|difference| metrics.contains(&difference.metric) && difference.judgement != Judgement::CannotTell);
        mean(known.filter_map(|difference| difference.tolerant_ks))
    };
    let [response, duration, active, left, right] = DECIDING;
    mean([of(&[response]), of(&[duration]), of(&[active]), of(&[left, right])].into_iter().flatten())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// How far `other` is from `reference`; `None` if either is empty.
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
        ratios: RATIO_PROBABILITIES.into_iter().zip(ratios).map(|(p, ratio)| Ratio { p, ratio }).collect(),
        judgement,
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
