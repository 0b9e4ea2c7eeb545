//! Runs beside each other at their ends, and a replay beside its original at the monitor (methods M.1).

use super::comparable::{Missing, Unpaired, pairing};
use super::comparison::{Comparison, Draft, Drafted, concluded};
use super::fidelity::Fidelity;
use super::group::Group;
use super::options::{Options, Pairing};
use super::pair::Pair;
use super::verdict::settle;
use crate::metric::Metric;
use crate::run::Run;
use crate::workload_mark::WorkloadMark;

/// The replay beside the original it replays, at the monitor; `None` if it has no measured original.
pub fn compare_with_original(run: &Run) -> Option<Comparison> {
    compare_group_with_original(Group::from(run), &Options::default())
}

/// Whether all replications replay one measured original.
pub fn has_one_original(group: Group<'_>) -> bool {
    // Each draw of a workload has an original of its own: there is none beside which all of them are replications.
    let is_one_draw = || WorkloadMark::is_one_draw(group.runs.iter().map(|run| run.measurements.workload));
    group.runs.iter().all(|run| run.measurements.has_original) && (group.runs.len() < 2 || is_one_draw())
}

/// The replay beside the original it replays, at the monitor, over all its replications; `None` if it has no measured original, or the
/// replications replay draws of one.
///
/// Durations and response times are of all connections that have them. Those of clean connections stand beside (methods M.4), and those
/// of connections that lost packets in the original are compared apart (methods M.7).
pub fn compare_group_with_original(group: Group<'_>, options: &Options) -> Option<Comparison> {
    let first = &group.runs[0];
    if !has_one_original(group) {
        return None;
    }
    let pair = Pair::with_original(group);
    let timed = |metric| matches!(metric, Metric::Duration | Metric::ResponseTime);
    // Sources beside the workload are on the replay's link, and were not on the original's.
    // The workload's datagrams are the original's too.
    let has_sources = first.facts.sources().any(|source| source.started > 0 && !source.is_of_workload());
    let of_link = |metric| {
        matches!(
            metric,
            Metric::ThroughputFromLeft | Metric::ThroughputFromRight | Metric::PacketArrivals | Metric::Goodput
        )
    };
    // The original's queues were not seen.
    let metrics = || {
        Metric::ALL
            .into_iter()
            .filter(|metric| options.wants(*metric) && !metric.is_of_queue() && !metric.is_of_probes())
    };
    let mut draft = Draft::new(metrics(), |metric| match has_sources && of_link(metric) {
        true => Err(Missing::SourcesOnLink),
        false => pair.difference(metric, |_| true, options).map(|(mut difference, evidence)| {
            difference.clean = timed(metric).then(|| pair.clean(metric)).flatten();
            (difference, evidence)
        }),
    });
    let lost = metrics()
        .filter(|metric| timed(*metric))
        .filter_map(|metric| pair.difference(metric, |class| class.lost_in_original, options).ok());
    let mut lost: Vec<Drafted> = lost.collect();
    // Apart from the others also where tests are counted.
    settle(lost.iter_mut().flat_map(|(_, evidence)| &mut evidence.effects), options);
    settle(draft.effects(), options);
    let mut comparison = pair.concluded(draft, options);
    comparison.lost_in_original = lost.into_iter().map(|found| concluded(found, options)).collect();
    comparison.lost_in_original_connections = first.measurements.lost_in_original;
    comparison.endings = Some(first.measurements.endings);
    comparison.fidelity = Some(Fidelity::of(first));
    Some(comparison)
}

/// What a replay made of a workload whose connections were never measured (a model's, or Tmix vectors): sizes of data units and
/// round-trip times as the vectors have them, beside what the monitor found. Nothing else of an original is known. Data units have to be
/// loaded ([`Run::load_adus`]).
pub fn compare_group_with_vectors(group: Group<'_>, options: &Options) -> Comparison {
    let pair = Pair::with_vectors(group);
    let of_vectors = |metric| matches!(metric, Metric::AduSize | Metric::RoundTripTime);
    let metrics = Metric::ALL
        .into_iter()
        .filter(|metric| options.wants(*metric) && !metric.is_of_probes() && !metric.is_of_cells());
    let mut draft = Draft::new(metrics, |metric| match of_vectors(metric) {
        true => pair.difference(metric, |_| true, options),
        false => Err(Missing::NotInVectors),
    });
    settle(draft.effects(), options);
    pair.concluded(draft, options)
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
            let has_probes = |group: &Group<'_>| group.runs.iter().any(|run| !run.measurements.probes.is_empty());
            let has_cells = |group: &Group<'_>| group.runs.iter().any(|run| run.measurements.dead_cells != [None; 2]);
            let is_seen = |metric: &Metric| match metric {
                Metric::AduSize => false,
                metric if metric.is_of_cells() => has_cells(reference) || has_cells(other),
                metric if metric.is_of_probes() => has_probes(reference) || has_probes(other),
                _ => true,
            };
            let metrics = Metric::ALL.into_iter().filter(|metric| is_seen(metric) && options.wants(*metric));
            let draft = Draft::new(metrics, |metric| pair.difference(metric, |_| true, options));
            let told = match common {
                Ok(()) => "paired: the same seeds and workloads".to_owned(),
                Err(why) => format!("not paired: {why}"),
            };
            (pair, told, draft)
        })
        .collect();
    settle(drafts.iter_mut().flat_map(|(_, _, draft)| draft.effects()), options);
    let finish = |(pair, told, draft): (Pair<'_>, String, Draft)| Comparison {
        pairing: Some(told),
        ..pair.concluded(draft, options)
    };
    drafts.into_iter().map(finish).collect()
}
