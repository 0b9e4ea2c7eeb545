//! The result of a comparison, metric by metric.

use std::collections::BTreeMap;

use serde::Serialize;

use super::card::{Score, card, worst};
use super::comparable::Missing;
use super::difference::Difference;
use super::effect::{Effect, Evidence};
use super::fidelity::Fidelity;
use super::options::Options;
use super::outcome::Outcome;
use super::verdict::Verdict;
use crate::directions::Directions;
use crate::loops::Feedback;
use crate::metric::Metric;
use crate::run::Endings;
use crate::worst::WorstVerdict;

/// What takes part in the overall distance and in `different`.
const DECIDING: [Metric; 5] = [
    Metric::ResponseTime,
    Metric::Duration,
    Metric::ActiveConnections,
    Metric::ThroughputFromLeft,
    Metric::ThroughputFromRight,
];

/// Two sets of measurements beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What the reference is called.
    pub reference: String,
    /// What the other is called.
    pub other: String,
    /// Which bytes the reference's first replication sent in a closed loop, in an open one, and left out; null of an original and of
    /// results of other tools.
    pub reference_feedback: Option<Feedback>,
    /// The same of the other.
    pub other_feedback: Option<Feedback>,
    /// The verdict of the reference: the worst of its replications; null of an original, of results of other tools, and where nobody asked.
    pub reference_verdict: Option<WorstVerdict<u64>>,
    /// The same of the other.
    pub other_verdict: Option<WorstVerdict<u64>>,
    /// Where both were measured: at the monitor against an original, at the endpoints between runs.
    pub measured_at: &'static str,
    /// Replications of the reference and of the other. An original is one.
    pub replications: [usize; 2],
    /// Whether replications are compared run by run; else why not. Null against an original.
    pub pairing: Option<String>,
    /// Metric by metric; those without values on one side are left out.
    pub differences: Vec<Difference>,
    /// What the directions are called, in words; tables and JSON have `left` and `right`.
    #[serde(skip)]
    pub directions: Directions,
    /// What was taken of results of other tools: whose count goodput is, and which round-trip times. Empty between runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<String>,
    /// Metrics without values on a side: which, and where.
    pub left_out: BTreeMap<&'static str, String>,
    /// The score card: one number a metric.
    pub card: Vec<Score>,
    /// Response times and durations of the connections that lost packets in the original, by themselves (methods M.7).
    pub lost_in_original: Vec<Difference>,
    /// Connections that lost packets in the original.
    pub lost_in_original_connections: u64,
    /// Connections of the first replication by where their close was seen (methods M.4); null between runs.
    pub endings: Option<Endings>,
    /// What the card rests on; null between runs.
    pub fidelity: Option<Fidelity>,
    /// One number to rank replays of one original by, as the first version had it: the mean shift-tolerant KS distance of response
    /// times and durations (of clean connections, beside an original), active connections and throughput (the mean of its two
    /// directions), those with too few values left out. 0 is the same. Null without any.
    pub distance_v1: Option<f64>,
    /// Whether a deciding metric (those of `distance_v1`, or those asked for) is [`Outcome::Different`].
    pub different: bool,
}

impl Comparison {
    /// The difference of `metric`, if both sides have values.
    pub fn difference(&self, metric: Metric) -> Option<&Difference> {
        self.differences.iter().find(|difference| difference.metric == metric)
    }

    /// Names of runs, and which of their bytes were sent in a closed loop, in words.
    pub fn told_feedback(&self) -> Vec<(&str, String)> {
        let sides = [(&self.reference, &self.reference_feedback), (&self.other, &self.other_feedback)];
        sides.into_iter().filter_map(|(name, feedback)| Some((&**name, feedback.as_ref()?.text()?))).collect()
    }

    /// Whether it stands beside an original that had other conditions.
    pub fn is_under_other_conditions(&self) -> bool {
        self.fidelity.as_ref().is_some_and(|fidelity| !fidelity.conditions.is_empty())
    }

    /// Names of runs that are not valid or not plausible, and why, in words.
    pub fn told_verdicts(&self) -> Vec<(&str, String)> {
        let sides = [(&self.reference, &self.reference_verdict), (&self.other, &self.other_verdict)];
        sides.into_iter().filter_map(|(name, verdict)| Some((&**name, verdict.as_ref()?.told_if_bad()?))).collect()
    }

    /// What numbers are of where a side has several seeds; `None` of single runs.
    pub fn note_on_seeds(&self) -> Option<&'static str> {
        let is_of_seeds = self.replications.iter().any(|count| *count > 1);
        is_of_seeds.then_some(
            "Distances, ratios and largest differences pool the values of all seeds. Verdicts rest on means over the seeds: \
             \"mean p50\" is the mean of their medians.",
        )
    }

    /// The metric of the card that is farthest apart, among those with ten values and more.
    pub fn worst_score(&self) -> Option<&Score> {
        worst(&self.card)
    }

    /// The (up to) three largest differences in words, those first that users notice most: response times and durations by the ratio of
    /// their medians or tails, then goodput and throughput, then the others, by the ratio of means. Nothing that is the same is among
    /// them.
    pub fn largest_differences(&self) -> Vec<&Difference> {
        let mut told: Vec<&Difference> = self.differences.iter().filter(|difference| difference.is_told()).collect();
        told.sort_by(|a, b| a.rank().cmp(&b.rank()).then(b.weight().total_cmp(&a.weight())));
        told.truncate(3);
        told
    }
}

/// A metric's difference, and what its verdict will rest on.
pub(super) type Drafted = (Difference, Evidence);

/// Differences without verdicts, which need the tests of all pairs.
pub(super) struct Draft {
    pub(super) found: Vec<Drafted>,
    pub(super) left_out: BTreeMap<&'static str, String>,
}

impl Draft {
    pub(super) fn new(metrics: impl Iterator<Item = Metric>, of: impl Fn(Metric) -> Result<Drafted, Missing>) -> Draft {
        let mut draft = Draft { found: Vec::new(), left_out: BTreeMap::new() };
        for metric in metrics {
            match of(metric) {
                Ok(found) => draft.found.push(found),
                Err(why) => {
                    draft.left_out.insert(metric.name(), why.to_string());
                }
            }
        }
        draft
    }

    pub(super) fn effects(&mut self) -> impl Iterator<Item = &mut Effect> {
        self.found.iter_mut().flat_map(|(_, evidence)| &mut evidence.effects)
    }

    pub(super) fn comparison(
        self,
        [reference, other]: [&str; 2],
        original: bool,
        replications: [usize; 2],
        options: &Options,
    ) -> Comparison {
        let differences: Vec<Difference> = self.found.into_iter().map(|found| concluded(found, options)).collect();
        let decides = |metric| if options.metrics.is_empty() { DECIDING.contains(&metric) } else { true };
        let different = |difference: &Difference| difference.verdict.outcome == Outcome::Different;
        let measured_at = if original { "monitor" } else { "endpoint" };
        Comparison {
            reference: reference.to_owned(),
            other: other.to_owned(),
            reference_feedback: None,
            other_feedback: None,
            reference_verdict: None,
            other_verdict: None,
            measured_at,
            replications,
            pairing: None,
            different: differences.iter().any(|one| decides(one.metric) && different(one)),
            distance_v1: distance_v1(&differences),
            card: card(&differences, measured_at),
            differences,
            taken: Vec::new(),
            left_out: self.left_out,
            directions: Directions::default(),
            lost_in_original: Vec::new(),
            lost_in_original_connections: 0,
            endings: None,
            fidelity: None,
        }
    }
}

pub(super) fn concluded((difference, evidence): Drafted, options: &Options) -> Difference {
    let verdict = Verdict::new(difference.metric, evidence, difference.judgement, options);
    Difference { verdict, ..difference }
}

fn distance_v1(differences: &[Difference]) -> Option<f64> {
    let of = |metrics: &[Metric]| {
        let known = differences.iter().filter(|difference| metrics.contains(&difference.metric));
        mean(known.filter_map(|difference| match difference.clean {
            Some(clean) => clean.tolerant_ks,
            None => difference.tolerant_ks_v1,
        }))
    };
    let [response, duration, active, left, right] = DECIDING;
    mean([of(&[response]), of(&[duration]), of(&[active]), of(&[left, right])].into_iter().flatten())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}
