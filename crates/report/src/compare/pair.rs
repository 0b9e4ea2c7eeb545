//! Two sides of a comparison, and what is measured on both.

use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use super::comparable::Missing;
use super::comparison::{Comparison, Draft, Drafted};
use super::difference::{Clean, difference};
use super::effect::{Known, statistics_of};
use super::group::Group;
use super::options::{Options, Pairing};
use super::outcome::Judgement;
use super::series::SeriesDistance;
use crate::directions::Directions;
use crate::loops::Feedback;
use crate::metric::Metric;
use crate::run::{Class, Run};
use crate::statistics::Sample;
use crate::workload_mark::WorkloadMark;

/// A side of a comparison.
pub(super) struct Side<'a> {
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

    fn has_clock_jumps(&self) -> bool {
        self.runs.iter().any(|run| run.measurements.has_clock_jumps())
    }

    fn is_one_draw(&self) -> bool {
        WorkloadMark::is_one_draw(self.runs.iter().map(|run| run.measurements.workload))
    }

    /// The seeds, in order.
    fn seeds(&self) -> Vec<u64> {
        let mut seeds: Vec<u64> = self.runs.iter().map(|run| run.facts.seed).collect();
        seeds.sort_unstable();
        seeds
    }

    fn replays(&self, workload: WorkloadMark) -> bool {
        self.runs.iter().any(|run| run.measurements.workload == workload)
    }
}

/// Two sides on their way to a comparison.
pub(super) struct Pair<'a> {
    reference: Side<'a>,
    other: Side<'a>,
    original: bool,
    paired: bool,
}

impl<'a> Pair<'a> {
    /// A replay beside its original.
    pub(super) fn with_original(group: Group<'a>) -> Pair<'a> {
        // Each replication keeps the original's values of what was completed in both.
        let reference = Side { name: "original", runs: group.runs, point: Point::Original };
        let other = Side { name: group.name, runs: group.runs, point: Point::Monitor };
        Pair { reference, other, original: true, paired: true }
    }

    /// What the monitor found beside the vectors that were replayed.
    pub(super) fn with_vectors(group: Group<'a>) -> Pair<'a> {
        let reference = Side { name: "vectors", ..Pair::with_original(group).reference };
        Pair { reference, ..Pair::with_original(group) }
    }

    pub(super) fn of_groups(reference: Group<'a>, other: Group<'a>, paired: bool) -> Pair<'a> {
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

    /// Whether the sides have other seeds, and a run replays a workload that no run of the other side replays. With the same seeds another
    /// workload is what was varied.
    fn is_of_other_draws(&self) -> bool {
        let has_own =
            |one: &Side<'_>, other: &Side<'_>| one.runs.iter().any(|run| !other.replays(run.measurements.workload));
        let (one, other) = (&self.reference, &self.other);
        !self.original && one.seeds() != other.seeds() && (has_own(one, other) || has_own(other, one))
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
            other_draws: self.is_of_other_draws(),
            one_draw: !self.original && [&self.reference, &self.other].iter().any(|side| side.is_one_draw()),
        }
    }

    fn series(&self, metric: Metric) -> [Vec<f64>; 2] {
        [self.reference.series(metric), self.other.series(metric)]
    }

    /// One metric; a verdict is still to come. An error says where there are no values.
    pub(super) fn difference(
        &self,
        metric: Metric,
        of: impl Fn(Class) -> bool + Copy,
        options: &Options,
    ) -> Result<Drafted, Missing> {
        if metric.is_series() && [&self.reference, &self.other].iter().any(|side| side.has_clock_jumps()) {
            return Err(Missing::ClockJumps);
        }
        if metric == Metric::ActiveConnections
            && [&self.reference, &self.other]
                .iter()
                .all(|side| side.runs.iter().all(|run| run.facts.has_only_sources()))
        {
            return Err(Missing::NoWorkload);
        }
        let samples = self.samples(metric, of);
        let [a, b] = [Sample::pooled(&samples[0]), Sample::pooled(&samples[1])];
        // The original, or the vectors.
        let origin = format!("the {}", self.reference.name);
        let names = if self.original { [&*origin, "the replay"] } else { [self.reference.name, self.other.name] };
        let mut difference =
            difference(metric, &a, &b, names[0], names[1]).ok_or_else(|| match (a.is_empty(), b.is_empty()) {
                (true, true) => Missing::InEither,
                (true, false) => Missing::In(names[0].to_owned()),
                _ => Missing::In(names[1].to_owned()),
            })?;
        if metric.is_series() && self.reference.runs.len() == 1 && self.other.runs.len() == 1 {
            difference.series = self.series_distance(metric);
        }
        // Of all replications together, as the values are.
        let share = |side: &Side<'_>| {
            let counts = side.runs.iter().map(|run| run.measurements.count_with(metric, side.point));
            let [with, of] = counts.fold([0, 0], |[with, of], [more, all]| [with + more, of + all]);
            with as f64 / of.max(1) as f64
        };
        difference.share = Some(share(&self.reference).min(share(&self.other)));
        let known = self.known(metric, &samples, options);
        let asked = options.statistics.iter().filter(|(of, _)| *of == metric);
        difference.asked = asked.filter_map(|(_, statistic)| known.asked(*statistic, options)).collect();
        let evidence = known.evidence(statistics_of(metric), options);
        if evidence.other_draws && evidence.effects.is_empty() {
            difference.judgement = Judgement::CannotTell;
        }
        Ok((difference, evidence))
    }

    /// Durations or response times of clean connections alone (methods M.4).
    pub(super) fn clean(&self, metric: Metric) -> Option<Clean> {
        let [a, b] = self.samples(metric, Class::is_clean).map(|samples| Sample::pooled(&samples));
        let clean = difference(metric, &a, &b, self.reference.name, self.other.name)?;
        let median = clean.ratios.iter().find(|ratio| ratio.p == 0.5);
        Some(Clean { n: clean.n, tolerant_ks: clean.tolerant_ks, median_ratio: median.and_then(|ratio| ratio.ratio) })
    }

    pub(super) fn concluded(&self, draft: Draft, options: &Options) -> Comparison {
        let of_reference = if self.original { 1 } else { self.reference.runs.len() };
        let replications = [of_reference, self.other.runs.len()];
        let reference_feedback = Feedback::of_runs(self.reference.runs).filter(|_| !self.original);
        let other_feedback = Feedback::of_runs(self.other.runs);
        let names = [self.reference.name, self.other.name];
        Comparison {
            reference_feedback,
            other_feedback,
            directions: Directions::of_runs(self.reference.runs.iter().chain(self.other.runs)),
            ..draft.comparison(names, self.original, replications, options)
        }
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
