//! What a sweep keeps of each run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use flowloom_core::record::QueueFate;
use flowloom_store::run_folder::Point;

use crate::conclusion::Conclusion;
use crate::facts::TraceCutFacts;
use crate::loops::Feedback;
use crate::metric::Metric;
use crate::run::Run;
use crate::scalars::{Heading, Headings, scalars};
use crate::statistics::{Quantile, Sample};
use crate::verdict::{Accounted, Likeness, Plausible, Verdict, Word};

/// A run in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The seed.
    pub seed: u64,
    /// Its scalars by their names (`docs/reference/metrics.md`); those that it does not have are left out.
    pub numbers: BTreeMap<String, Number>,
    /// Distributions by their names.
    pub curves: BTreeMap<String, Curve>,
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// What a reader should know of it.
    pub warnings: Vec<String>,
    /// Rate of the bottleneck; null where it has no limit.
    pub rate_bits_per_second: Option<u64>,
    /// The network in words.
    pub network: String,
    /// Connections that it began.
    pub connections: u64,
    /// Metrics that were compared with the original, and those of them that are the same.
    pub compared_metrics: [u64; 2],
    /// Which bytes were sent in a closed loop.
    pub feedback: Feedback,
    /// Payload bytes of the TCP connections that it was to replay; null where only sources sent, and in runs of earlier versions.
    #[serde(default)]
    pub to_replay_bytes: Option<u64>,
    /// How its workload was cut out of a longer one; null of workloads that were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_cut: Option<TraceCutFacts>,
}

/// A scalar.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Number {
    /// Its value, in the unit of its name.
    pub value: f64,
    /// It may be more: what had not ended decides it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
}

/// A distribution by its quantiles at [`Curve::PROBABILITIES`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The quantiles; from the first on that unfinished values decide they are left out.
    pub quantiles: Vec<f64>,
    /// How many values there are, unfinished ones among them.
    pub n: u64,
}

impl Curve {
    /// Percent from 0 to 100, with the last ones closer together.
    pub fn probabilities() -> impl Iterator<Item = f64> {
        let tail = [0.991, 0.992, 0.993, 0.994, 0.995, 0.996, 0.997, 0.998, 0.999];
        (1..100).map(|percent| f64::from(percent) / 100.0).chain(tail)
    }

    /// That of a sample, whose values are multiplied by `scale`; `None` without values.
    pub fn of(sample: &Sample, scale: f64) -> Option<Curve> {
        if sample.is_empty() {
            return None;
        }
        let known = Curve::probabilities().map_while(|p| match sample.quantile_or_bound(p)? {
            Quantile::Is(value) => Some(six_digits(value * scale)),
            Quantile::Above(_) => None,
        });
        Some(Curve { quantiles: known.collect(), n: sample.len() as u64 })
    }
}

/// Rounded to what a picture can show.
fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

impl Cell {
    /// A made-up run with these numbers, of which there is nothing to say: to show what decisions are worth.
    pub fn made_up(seed: u64, numbers: impl IntoIterator<Item = (String, f64)>) -> Cell {
        let number = |(name, value)| (name, Number { value, is_lower_bound: false });
        Cell {
            seed,
            numbers: numbers.into_iter().map(number).collect(),
            curves: BTreeMap::new(),
            verdict: Verdict {
                accounted: Word { word: Accounted::Valid, reasons: Vec::new() },
                plausible: Word { word: Plausible::Yes, reasons: Vec::new() },
                fidelity: Word { word: Likeness::NotCompared, reasons: Vec::new() },
            },
            warnings: Vec::new(),
            rate_bits_per_second: None,
            network: String::new(),
            connections: 0,
            compared_metrics: [0; 2],
            feedback: Feedback::default(),
            to_replay_bytes: None,
            trace_cut: None,
        }
    }

    /// What is kept of `run`, of which this was concluded; `headings` are those of the whole sweep.
    pub fn of(run: &Run, conclusion: &Conclusion, headings: Headings) -> Cell {
        let numbers = scalars(run, headings).into_iter().filter_map(|scalar| {
            let number = Number { value: scalar.value?, is_lower_bound: scalar.is_lower_bound };
            Some((scalar.name, number))
        });
        let curve = |name: &str, metric: Metric| {
            let sample = run.measurements.sample(metric, Point::Endpoint, |_| true);
            Curve::of(&sample, 1e-6).map(|curve| (name.to_owned(), curve))
        };
        let delay = |heading: Heading| {
            let sojourns = &run.measurements.sojourns;
            let sample = sojourns.per_packet(headings.side(heading), None, QueueFate::Transmitted);
            Curve::of(&sample, 1e-6).map(|curve| (format!("queue_delay_ms.{}", heading.name()), curve))
        };
        let curves = [curve("response_time_ms", Metric::ResponseTime), curve("duration_ms", Metric::Duration)];
        let curves = curves.into_iter().chain(Heading::BOTH.map(delay));
        let summary = &conclusion.summary;
        let card = conclusion.with_original.iter().flat_map(|comparison| &comparison.card);
        let same = card.clone().filter(|score| score.judgement == crate::compare::Judgement::Same).count();
        Cell {
            seed: run.facts.seed,
            numbers: numbers.collect(),
            curves: curves.flatten().collect(),
            verdict: summary.verdict.clone(),
            warnings: summary
                .warnings
                .iter()
                .filter(|warning| !warning.is_doubt())
                .map(|warning| warning.cause())
                .collect(),
            rate_bits_per_second: summary.rate_bits_per_second,
            network: run.facts.network.clone(),
            connections: summary.connections.started,
            compared_metrics: [card.count() as u64, same as u64],
            feedback: summary.feedback.clone(),
            to_replay_bytes: run.facts.to_replay_bytes,
            trace_cut: run.facts.trace_cut,
        }
    }
}
