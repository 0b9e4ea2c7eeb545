//! How far variants of an experiment are apart, or a replay from its original, and what can be said of it.
//!
//! Original against replay is monitor against monitor; run against run is endpoint against endpoint (methods M.1).
//!
//! | file | holds |
//! |---|---|
//! | `options` | what can be asked for: confidence, margin, pairing, correction |
//! | `difference` | distances between two samples (methods L.2), which are no tests; the largest difference in words |
//! | `series` | distances between two series (methods L.4) |
//! | `effect` | differences of statistics with intervals over replications or blocks of time (methods L.3) |
//! | `verdict` | same, different or cannot tell |
//! | `foreign` | results of other tools |
//! | `of_samples` | verdicts of measurements without a run folder |
//! | `comparable` | what is refused |
//! | `fidelity` | the score card of a replay |
//! | `rules` | what a user demands of a comparison |

mod comparable;
mod difference;
mod effect;
mod fidelity;
mod foreign;
mod of_samples;
mod options;
mod rules;
mod series;
mod verdict;

pub use comparable::{Incomparable, Missing, Unpaired, comparable};
pub use difference::{CLOSE, Difference, FEWEST, Judgement, Ratio, SAME, difference};
pub use effect::{Asked, BLOCK_NS, Basis, Effect, FEWEST_REPLICATIONS, statistics_of};
pub use fidelity::Fidelity;
pub use foreign::{Party, compare_parties};
pub use of_samples::{Measured, verdicts};
pub use options::{Margin, Options, Pairing};
pub use rules::{Bound, Demand, Found, Held, Rule, Unknown};
pub use series::{AtOctave, AtWidth, HurstDistance, SeriesDistance};
pub use verdict::{Outcome, Verdict, margin_text};

use std::collections::BTreeMap;

use serde::Serialize;

use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use crate::metric::Metric;
use crate::run::{Class, Endings, Run};
use crate::statistics::Sample;
use crate::variant::Variant;
use effect::{Evidence, Known};

/// What takes part in the overall distance and in `different`.
const DECIDING: [Metric; 5] = [
    Metric::ResponseTime,
    Metric::Duration,
    Metric::ActiveConnections,
    Metric::ThroughputFromLeft,
    Metric::ThroughputFromRight,
];

/// A variant's runs under its name.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its replications, at least one.
    pub runs: &'a [Run],
}

impl<'a> From<&'a Variant> for Group<'a> {
    fn from(variant: &'a Variant) -> Group<'a> {
        Group { name: &variant.name, runs: &variant.runs }
    }
}

impl<'a> From<&'a Run> for Group<'a> {
    fn from(run: &'a Run) -> Group<'a> {
        Group { name: &run.name, runs: std::slice::from_ref(run) }
    }
}

/// Two sets of measurements beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What the reference is called.
    pub reference: String,
    /// What the other is called.
    pub other: String,
    /// Where both were measured: at the monitor against an original, at the endpoints between runs.
    pub measured_at: &'static str,
    /// Replications of the reference and of the other. An original is one.
    pub replications: [usize; 2],
    /// Whether replications are compared run by run; else why not. Null against an original.
    pub pairing: Option<String>,
    /// Metric by metric; those without values on one side are left out.
    pub differences: Vec<Difference>,
    /// Metrics without values on a side: which, and where.
    pub left_out: BTreeMap<&'static str, String>,
    /// Response times and durations of connections that lost packets in the original (methods M.7).
    pub lost_in_original: Vec<Difference>,
    /// Connections that lost packets in the original.
    pub lost_in_original_connections: u64,
    /// Connections of the first replication by where their close was seen (methods M.4); null between runs.
    pub endings: Option<Endings>,
    /// The score card; null between runs.
    pub fidelity: Option<Fidelity>,
    /// One number to rank replays of one original by: the mean shift-tolerant KS distance of response times,
    /// durations, active connections and throughput (the mean of its two directions), those with too few values left
    /// out. 0 is the same. Null without any.
    pub distance: Option<f64>,
    /// Whether a deciding metric (those of `distance`, or those asked for) is [`Outcome::Different`].
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

/// A side of a comparison.
struct Side<'a> {
    name: &'a str,
    runs: &'a [Run],
    point: Point,
}

impl Side<'_> {
    fn samples(&self, metric: Metric, of: impl Fn(Class) -> bool + Copy) -> Vec<Sample> {
        self.runs.iter().map(|run| run.measurements.sample(metric, self.point, of)).collect()
    }

    /// The first run's values over time.
    fn series(&self, metric: Metric) -> Vec<f64> {
        let measured = &self.runs[0].measurements;
        match metric {
            Metric::QueueFromLeft => measured.queue_series(LinkSide::Left),
            Metric::QueueFromRight => measured.queue_series(LinkSide::Right),
            _ => measured.series(metric, self.point),
        }
    }
}

/// Two sides on their way to a comparison.
struct Pair<'a> {
    reference: Side<'a>,
    other: Side<'a>,
    original: bool,
    paired: bool,
}

impl<'a> Pair<'a> {
    /// A replay beside its original.
    fn with_original(group: Group<'a>) -> Pair<'a> {
        // Each replication keeps the original's values of what was completed in both.
        let reference = Side { name: "original", runs: group.runs, point: Point::Original };
        let other = Side { name: group.name, runs: group.runs, point: Point::Monitor };
        Pair { reference, other, original: true, paired: true }
    }

    fn of_groups(reference: Group<'a>, other: Group<'a>, paired: bool) -> Pair<'a> {
        let side = |group: Group<'a>| Side { name: group.name, runs: group.runs, point: Point::Endpoint };
        Pair { reference: side(reference), other: side(other), original: false, paired }
    }

    /// Both sides' samples, replications of one seed beside each other if they are paired.
    fn samples(&self, metric: Metric, of: impl Fn(Class) -> bool + Copy) -> [Vec<Sample>; 2] {
        let mut samples = [self.reference.samples(metric, of), self.other.samples(metric, of)];
        if self.paired {
            for (samples, side) in samples.iter_mut().zip([&self.reference, &self.other]) {
                let mut by_seed: Vec<(u64, Sample)> =
                    side.runs.iter().map(|run| run.facts.seed).zip(std::mem::take(samples)).collect();
                by_seed.sort_by_key(|(seed, _)| *seed);
                *samples = by_seed.into_iter().map(|(_, sample)| sample).collect();
            }
        }
        samples
    }

    fn known<'b>(&self, metric: Metric, samples: &'b [Vec<Sample>; 2], options: &Options) -> Known<'b> {
        let [a, b] = [&self.reference, &self.other].map(|side| &side.runs[0].measurements);
        Known {
            metric,
            samples: [&samples[0], &samples[1]],
            series: if metric.is_series() { self.series(metric) } else { Default::default() },
            bin_ns: a.series_bin(metric).as_nanos(),
            paired: self.paired,
            same_workload: options.pairing != Pairing::Unpaired && a.workload == b.workload,
            original: self.original,
        }
    }

    fn series(&self, metric: Metric) -> [Vec<f64>; 2] {
        [self.reference.series(metric), self.other.series(metric)]
    }

    /// One metric; a verdict is still to come. An error says where there are no values.
    fn difference(
        &self,
        metric: Metric,
        of: impl Fn(Class) -> bool + Copy,
        options: &Options,
    ) -> Result<Drafted, Missing> {
        let samples = self.samples(metric, of);
        let [a, b] = [Sample::pooled(&samples[0]), Sample::pooled(&samples[1])];
        let names = if self.original { ["the original", "the replay"] } else { [self.reference.name, self.other.name] };
        let mut difference =
            difference(metric, &a, &b, names[0], names[1]).ok_or_else(|| match (a.is_empty(), b.is_empty()) {
                (true, true) => Missing::InEither,
                (true, false) => Missing::In(names[0].to_owned()),
                _ => Missing::In(names[1].to_owned()),
            })?;
        if metric.is_series() && self.reference.runs.len() == 1 && self.other.runs.len() == 1 {
            difference.series = self.series_distance(metric);
        }
        let known = self.known(metric, &samples, options);
        let asked = options.statistics.iter().filter(|(of, _)| *of == metric);
        difference.asked = asked.filter_map(|(_, statistic)| known.asked(*statistic, options)).collect();
        Ok((difference, known.evidence(statistics_of(metric), options)))
    }

    fn concluded(&self, draft: Draft, options: &Options) -> Comparison {
        let of_reference = if self.original { 1 } else { self.reference.runs.len() };
        let replications = [of_reference, self.other.runs.len()];
        draft.comparison([self.reference.name, self.other.name], self.original, replications, options)
    }

    fn series_distance(&self, metric: Metric) -> Option<SeriesDistance> {
        let [a, b] = self.series(metric);
        let measured = [&self.reference, &self.other].map(|side| (&side.runs[0].measurements, side.point));
        let bins = measured.map(|(measured, _)| measured.series_bin(metric));
        if bins[0] != bins[1] {
            return None;
        }
        let mut distance = SeriesDistance::new(&a, &b, bins[0].as_nanos())?;
        // An original is recorded in wider bins than its replay.
        if metric == Metric::PacketArrivals
            && let [Some(a), Some(b)] = measured.map(|(measured, point)| measured.arrivals(point))
            && let width = a.width.max(b.width)
            && let (Some(a), Some(b)) = (a.joined(width), b.joined(width))
        {
            distance.add_arrivals(&a.packets, &b.packets, width);
        }
        Some(distance)
    }
}

/// A metric's difference, and what its verdict will rest on.
type Drafted = (Difference, Evidence);

/// The replay beside the original it replays, at the monitor; `None` if it has no measured original.
pub fn compare_with_original(run: &Run) -> Option<Comparison> {
    compare_group_with_original(Group::from(run), &Options::default())
}

/// The replay beside the original it replays, at the monitor, over all its replications; `None` if it has no measured original.
///
/// Connections that lost packets in the original are left out of the durations and response times (methods M.7) and
/// compared apart.
pub fn compare_group_with_original(group: Group<'_>, options: &Options) -> Option<Comparison> {
    let first = &group.runs[0];
    if !group.runs.iter().all(|run| run.measurements.has_original) {
        return None;
    }
    let pair = Pair::with_original(group);
    let timed = |metric| matches!(metric, Metric::Duration | Metric::ResponseTime);
    // Sources beside the workload are on the replay's link, and were not on the original's.
    let has_sources = first.facts.sources().any(|source| source.started > 0);
    let of_link = |metric| {
        matches!(
            metric,
            Metric::ThroughputFromLeft | Metric::ThroughputFromRight | Metric::PacketArrivals | Metric::Goodput
        )
    };
    // The original's queues were not seen.
    let of_queue = |metric| matches!(metric, Metric::QueueFromLeft | Metric::QueueFromRight);
    let metrics = || Metric::ALL.into_iter().filter(|metric| options.wants(*metric) && !of_queue(*metric));
    let mut draft = Draft::new(metrics(), |metric| match has_sources && of_link(metric) {
        true => Err(Missing::SourcesOnLink),
        false => pair.difference(metric, |class| !(timed(metric) && class.lost_in_original), options),
    });
    let lost = metrics()
        .filter(|metric| timed(*metric))
        .filter_map(|metric| pair.difference(metric, |class| class.lost_in_original, options).ok());
    let mut lost: Vec<Drafted> = lost.collect();
    // Apart from the others also where tests are counted.
    verdict::settle(lost.iter_mut().flat_map(|(_, evidence)| &mut evidence.effects), options);
    verdict::settle(draft.effects(), options);
    let mut comparison = pair.concluded(draft, options);
    comparison.lost_in_original = lost.into_iter().map(|found| concluded(found, options)).collect();
    comparison.lost_in_original_connections = first.measurements.lost_in_original;
    comparison.endings = Some(first.measurements.endings);
    comparison.fidelity = Some(Fidelity::new(first, comparison.distance));
    Some(comparison)
}

/// Each run after the first beside the first, at the endpoints.
pub fn compare_runs(runs: &[Run]) -> Vec<Comparison> {
    let groups: Vec<Group<'_>> = runs.iter().map(Group::from).collect();
    compare_groups(&groups, &Options::default())
}

/// Each variant after the first beside the first, or each beside each before it; at the endpoints. What [`comparable`] refuses gives
/// distances of what is not alike.
pub fn compare_groups(groups: &[Group<'_>], options: &Options) -> Vec<Comparison> {
    let pairs = groups.iter().enumerate().flat_map(|(place, other)| {
        let references = if options.all_pairs { &groups[..place] } else { &groups[..place.min(1)] };
        references.iter().map(move |reference| (reference, other))
    });
    let mut drafts: Vec<(Pair<'_>, String, Draft)> = pairs
        .map(|(reference, other)| {
            let common = match options.pairing {
                Pairing::Unpaired => Err(Unpaired::NotAsked),
                Pairing::Auto | Pairing::Paired => pairing(reference, other),
            };
            let pair = Pair::of_groups(*reference, *other, common.is_ok());
            // Sizes of ADUs are seen at monitors.
            let metrics = Metric::ALL.into_iter().filter(|metric| *metric != Metric::AduSize && options.wants(*metric));
            let draft = Draft::new(metrics, |metric| pair.difference(metric, |_| true, options));
            let told = match common {
                Ok(()) => "paired: the same seeds and workloads".to_owned(),
                Err(why) => format!("not paired: {why}"),
            };
            (pair, told, draft)
        })
        .collect();
    verdict::settle(drafts.iter_mut().flat_map(|(_, _, draft)| draft.effects()), options);
    let finish = |(pair, told, draft): (Pair<'_>, String, Draft)| Comparison {
        pairing: Some(told),
        ..pair.concluded(draft, options)
    };
    drafts.into_iter().map(finish).collect()
}

/// Whether replications of two variants can be compared run by run: the same seeds, and with each the same workload (methods L.5). An error
/// says why not.
pub(crate) fn pairing(reference: &Group<'_>, other: &Group<'_>) -> Result<(), Unpaired> {
    let by_seed = |group: &Group<'_>| -> BTreeMap<u64, _> {
        group.runs.iter().map(|run| (run.facts.seed, run.measurements.workload)).collect()
    };
    let (a, b) = (by_seed(reference), by_seed(other));
    if a.len() != reference.runs.len() || b.len() != other.runs.len() || !a.keys().eq(b.keys()) {
        return Err(Unpaired::Seeds);
    }
    match a.iter().zip(&b).find(|(a, b)| a != b) {
        Some(((seed, _), _)) => Err(Unpaired::Workloads { seed: *seed }),
        None => Ok(()),
    }
}

/// Differences without verdicts, which need the tests of all pairs.
struct Draft {
    found: Vec<Drafted>,
    left_out: BTreeMap<&'static str, String>,
}

impl Draft {
    fn new(metrics: impl Iterator<Item = Metric>, of: impl Fn(Metric) -> Result<Drafted, Missing>) -> Draft {
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

    fn effects(&mut self) -> impl Iterator<Item = &mut Effect> {
        self.found.iter_mut().flat_map(|(_, evidence)| &mut evidence.effects)
    }

    fn comparison(
        self,
        [reference, other]: [&str; 2],
        original: bool,
        replications: [usize; 2],
        options: &Options,
    ) -> Comparison {
        let differences: Vec<Difference> = self.found.into_iter().map(|found| concluded(found, options)).collect();
        let decides = |metric| if options.metrics.is_empty() { DECIDING.contains(&metric) } else { true };
        let different = |difference: &Difference| difference.verdict.outcome == Outcome::Different;
        Comparison {
            reference: reference.to_owned(),
            other: other.to_owned(),
            measured_at: if original { "monitor" } else { "endpoint" },
            replications,
            pairing: None,
            different: differences.iter().any(|one| decides(one.metric) && different(one)),
            distance: overall_distance(&differences),
            differences,
            left_out: self.left_out,
            lost_in_original: Vec::new(),
            lost_in_original_connections: 0,
            endings: None,
            fidelity: None,
        }
    }
}

fn concluded((difference, evidence): Drafted, options: &Options) -> Difference {
    let verdict = Verdict::new(difference.metric, evidence, difference.judgement, options);
    Difference { verdict, ..difference }
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
