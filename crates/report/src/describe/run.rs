//! A run described: everything that its stored records say of it by itself. `docs/reference/statistics.md` says what each number is.

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::record::{DropReason, PacketKind};
use flowloom_core::workload::{LinkSide, Pattern};
use flowloom_models::fit::{Tail, Values, kolmogorov_smirnov};
use flowloom_store::run_folder::Point;
use serde::Serialize;

use crate::conclusion::Conclusion;
use crate::dependence::Dependence;
use crate::facts::SharingFacts;
use crate::marginals::{Marginal, marginals};
use crate::metric::Metric;
use crate::quantities::Quantities;
use crate::run::{Class, Measurements, Run, Size};
use crate::statistics::{Sample, Shares};
use crate::steady::Steady;
use crate::summary::Summary;

/// A described run: the object that `describe --json` prints of a run folder.
#[derive(Clone, Debug, Serialize)]
pub struct DescribedRun {
    /// Its name, as given.
    pub name: String,
    /// What `run --json` printed.
    pub summary: Summary,
    /// Durations, response times, round-trip times and sizes, by kind of connection.
    pub breakdowns: Vec<Breakdown>,
    /// How fairly flows that last shared the network; without any, empty.
    pub fairness: Vec<Fair>,
    /// How busy the links were; empty where there is no simulator.
    pub links: Vec<Utilisation>,
    /// Packets that were dropped, by cause.
    pub drops: Vec<Dropped>,
    /// How traffic is spread from bin to bin, by the width of the bins; empty if it was not counted.
    pub marginals: Vec<Marginal>,
    /// Tails of durations, response times and response sizes.
    pub tails: Vec<TailOf>,
    /// Long-range dependence of original and replay.
    pub dependence: Dependence,
    /// Whether the run was in a steady state and long enough.
    pub steady: Steady,
}

/// Values of one kind of connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// Of what, its unit at the end.
    pub variable: &'static str,
    /// `original`, `monitor` or `endpoint`: only the first two may be compared (methods M.1).
    pub measured_at: &'static str,
    /// `all`, `sequential` or `concurrent` connections.
    pub pattern: &'static str,
    /// Payload of the connection, both directions: `all`, `below_4_kb`, `4_kb_and_more` or `1_mb_and_more`.
    pub size: &'static str,
    /// The values.
    pub values: Quantities,
}

/// Jain's index over flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fair {
    /// `bulk connections`, or the name of a source.
    pub flows: String,
    /// How many.
    pub n: u64,
    /// Their mean goodput over their own lifetimes.
    pub mean_goodput_bits_per_second: Option<f64>,
    /// The index of these, from 1/n to 1; null if nothing got through. Flows that had the network to themselves for a time are among them.
    pub jain: Option<f64>,
    /// The same over a common interval, the window; null where fewer than two flows were active in all of it.
    pub in_window: Option<SharingFacts>,
}

/// How busy a link was in the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Utilisation {
    /// Its name.
    pub link: String,
    /// Its rate; null without a limit.
    pub rate_bits_per_second: Option<u64>,
    /// Share of the window in which the line was sending. A packet takes (IP bytes + 14) / rate.
    pub utilisation: f64,
}

/// Packets dropped for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// `queue_full`, `loss`, `policed`, `early`, `overflow` or `spoilt`.
    pub reason: &'static str,
    /// `data`, `ack` or `control`.
    pub kind: &'static str,
    /// From the left of the monitored link.
    pub left_to_right_packets: u64,
    /// From the right.
    pub right_to_left_packets: u64,
}

/// The tail of a variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TailOf {
    /// Of what, its unit at the end.
    pub variable: &'static str,
    /// Values above zero.
    pub n: u64,
    /// Hill's estimates; null of fewer than a hundred values.
    pub tail: Option<Tail>,
    /// The Pareto law through the largest tenth; null with it.
    pub pareto: Option<ParetoTail>,
}

/// P(X > x) = `share_above (min / x)^shape` from `min` on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ParetoTail {
    /// Where it begins.
    pub min: f64,
    /// Its index: Hill's estimate, which is the likeliest for a given beginning.
    pub shape: f64,
    /// Share of the values above its beginning.
    pub share_above: f64,
    /// Kolmogorov-Smirnov distance of the values above from it.
    pub ks: f64,
}

impl DescribedRun {
    /// That of a run from which this was concluded.
    pub fn of(run: &Run, conclusion: &Conclusion) -> DescribedRun {
        let measured = &run.measurements;
        DescribedRun {
            name: run.name.clone(),
            summary: conclusion.summary.clone(),
            breakdowns: breakdowns(measured),
            fairness: fairness(run),
            links: links(run),
            drops: drops(measured),
            marginals: measured.arrivals(Point::Monitor).map_or(Vec::new(), marginals),
            tails: tails(measured),
            dependence: Dependence::of(measured, run.facts.hurst),
            steady: Steady::of(measured),
        }
    }
}

/// Which connections: by pattern and size, with their names.
type Kind = (&'static str, &'static str, fn(Class) -> bool);

const KINDS: [Kind; 6] = [
    ("all", "all", |_| true),
    ("sequential", "all", |class| class.pattern == Pattern::Sequential),
    ("concurrent", "all", |class| class.pattern == Pattern::Concurrent),
    ("all", "below_4_kb", |class| class.size == Size::Small),
    ("all", "4_kb_and_more", |class| class.size != Size::Small),
    ("all", "1_mb_and_more", |class| class.size == Size::Large),
];

const VARIABLES: [(&str, Metric); 4] = [
    ("duration_ns", Metric::Duration),
    ("response_time_ns", Metric::ResponseTime),
    ("round_trip_time_ns", Metric::RoundTripTime),
    ("adu_bytes", Metric::AduSize),
];

const POINTS: [(&str, Point); 3] =
    [("original", Point::Original), ("monitor", Point::Monitor), ("endpoint", Point::Endpoint)];

fn breakdowns(measured: &Measurements) -> Vec<Breakdown> {
    let mut breakdowns = Vec::new();
    let mut push = |variable, measured_at, (pattern, size): (&'static str, &'static str), sample: &Sample| {
        if !sample.is_empty() {
            breakdowns.push(Breakdown { variable, measured_at, pattern, size, values: Quantities::of(sample) });
        }
    };
    for (variable, metric) in VARIABLES {
        for (name, point) in POINTS {
            for (pattern, size, of) in KINDS {
                push(variable, name, (pattern, size), &measured.sample(metric, point, of));
            }
        }
    }
    push("response_bytes", "endpoint", ("all", "all"), &measured.responses.sizes());
    breakdowns
}

fn fairness(run: &Run) -> Vec<Fair> {
    let found = &run.measurements.fairness;
    let name = |class: u16| {
        let class = run.facts.classes.get(usize::from(class)).map(|class| class.name.clone());
        class.unwrap_or_else(|| "source".to_owned())
    };
    let shared = |class: u16| run.facts.classes.get(usize::from(class)).and_then(|class| class.sharing);
    let sources = found.sources.iter().map(|(class, shares)| (name(*class), shares, shared(*class)));
    let fair = |(flows, shares, in_window): (String, &Shares, Option<SharingFacts>)| Fair {
        flows,
        n: shares.count(),
        mean_goodput_bits_per_second: shares.mean(),
        jain: Some(shares.jain()).filter(|index| index.is_finite()),
        in_window,
    };
    // One flow is always fair.
    let connections = ("bulk connections".to_owned(), &found.connections, SharingFacts::of(&found.in_window));
    let all = std::iter::once(connections).chain(sources);
    all.filter(|(_, shares, in_window)| shares.count() > 1 || in_window.is_some()).map(fair).collect()
}

fn links(run: &Run) -> Vec<Utilisation> {
    let links = run.facts.topology.as_ref().map_or(&[][..], |topology| &topology.links);
    let utilisation = |link: &crate::facts::LinkFacts| Utilisation {
        link: link.name.clone(),
        rate_bits_per_second: link.rate_bits_per_second,
        utilisation: link.utilisation,
    };
    links.iter().map(utilisation).collect()
}

fn drops(measured: &Measurements) -> Vec<Dropped> {
    const REASONS: [(DropReason, &str); 6] = [
        (DropReason::QueueFull, "queue_full"),
        (DropReason::Loss, "loss"),
        (DropReason::Policed, "policed"),
        (DropReason::Early, "early"),
        (DropReason::Overflow, "overflow"),
        (DropReason::Spoilt, "spoilt"),
    ];
    const KINDS: [(PacketKind, &str); 3] =
        [(PacketKind::Data, "data"), (PacketKind::Ack, "ack"), (PacketKind::Control, "control")];
    let all = REASONS.into_iter().flat_map(|reason| KINDS.map(|kind| (reason, kind)));
    let dropped = all.map(|((reason, reason_name), (kind, kind_name))| {
        let of = |side| measured.drops.get(&(reason, kind, side)).copied().unwrap_or(0);
        Dropped {
            reason: reason_name,
            kind: kind_name,
            left_to_right_packets: of(LinkSide::Left),
            right_to_left_packets: of(LinkSide::Right),
        }
    });
    dropped.filter(|dropped| dropped.left_to_right_packets + dropped.right_to_left_packets > 0).collect()
}

fn tails(measured: &Measurements) -> Vec<TailOf> {
    let sample = |metric| measured.sample(metric, Point::Endpoint, |_| true);
    [
        ("duration_ns", sample(Metric::Duration)),
        ("response_time_ns", sample(Metric::ResponseTime)),
        ("response_bytes", measured.responses.sizes()),
    ]
    .into_iter()
    .filter(|(_, sample)| !sample.is_empty())
    .map(|(variable, sample)| tail(variable, &sample))
    .collect()
}

fn tail(variable: &'static str, sample: &Sample) -> TailOf {
    let values = Values::new(sample.steps().map(|(value, count)| (value, count as u64))).positive();
    let found = Tail::of(&values);
    let pareto = found.as_ref().and_then(|tail| {
        let (min, shape) = (tail.hill.threshold, tail.hill.alpha);
        let law = Distribution::new(Law::Pareto { min, shape }).ok()?;
        let above = Values::new(values.steps().iter().copied().filter(|(value, _)| *value > min));
        let share_above = above.count() as f64 / values.count() as f64;
        Some(ParetoTail { min, shape, share_above, ks: kolmogorov_smirnov(&above, &law) })
    });
    TailOf { variable, n: values.count(), tail: found, pareto }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pareto_tail_is_found_above_any_body() {
        let law = Distribution::new(Law::Pareto { min: 1e4, shape: 1.3 }).unwrap();
        // Nine tenths below the law's beginning, a tenth of it.
        let body = (0..9_000).map(|i| f64::from(i) * 10.0 / 9.0 + 1.0);
        let heavy = (0..1_000).map(|i| law.quantile((f64::from(i) + 0.5) / 1e3));
        let found = tail("response_bytes", &body.chain(heavy).collect());
        let (hill, pareto) = (found.tail.unwrap().hill, found.pareto.unwrap());
        assert_eq!((found.n, hill.k, pareto.shape), (10_000, 1_000, hill.alpha));
        assert!((pareto.shape - 1.3).abs() < 0.2 && (pareto.share_above - 0.1).abs() < 1e-9, "{pareto:?}");
        assert!(pareto.ks < 0.1, "{pareto:?}");
    }

    #[test]
    fn few_values_have_no_tail() {
        let found = tail("duration_ns", &Sample::new([0.0, 1.0, 2.0]));
        assert_eq!((found.n, found.tail, found.pareto), (2, None, None));
    }
}
