//! What cannot be compared is refused, with the reason.

use std::collections::BTreeMap;

use flowloom_core::time::Duration;
use flowloom_store::run_folder::Point;

use super::group::Group;
use super::options::{Options, Pairing};
use crate::metric::Metric;
use crate::run::Run;

/// Why variants cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Incomparable {
    /// Results are of different stretches of time.
    #[error("{other} is measured over {there}, {reference} over {here}")]
    Windows {
        /// Whose window is which.
        reference: String,
        /// The reference's.
        here: String,
        /// The other run.
        other: String,
        /// Its window.
        there: String,
    },
    /// Series have bins of different widths.
    #[error("{}: {other} has values every {there}, {reference} every {here}", metric.plural())]
    Bins {
        /// The series.
        metric: Metric,
        /// The reference.
        reference: String,
        /// The width of its bins.
        here: Duration,
        /// The other run.
        other: String,
        /// Its width.
        there: Duration,
    },
    /// Connections were replayed, and none came to its end.
    #[error("{name}: none of its {started} connections was completed")]
    NothingCompleted {
        /// The run.
        name: String,
        /// Connections that it started.
        started: u64,
    },
    /// A metric that was asked for has no values on a side.
    #[error("{}: {why}", metric.plural())]
    NoValues {
        /// The metric.
        metric: Metric,
        /// Where there are none, or why.
        why: Missing,
    },
    /// Pairs were asked for, and replications are none.
    #[error("{other} and {reference} cannot be paired: {why}")]
    NotPaired {
        /// The reference.
        reference: String,
        /// The other.
        other: String,
        /// What is not common.
        why: Unpaired,
    },
}

/// Why a metric has no values to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// It has none after what does not fit was left out.
    #[error("no values")]
    Everywhere,
    /// Only sources send in either.
    #[error("no workload in either, and so no connections")]
    NoWorkload,
    /// Neither side has any.
    #[error("no values in either")]
    InEither,
    /// One side has none.
    #[error("no values in {0}")]
    In(String),
    /// The clock jumps in a window.
    #[error("no rates over time: the clock jumps")]
    ClockJumps,
    /// Queues of the original were not seen.
    #[error("no values in the original, whose queues were not seen")]
    OriginalQueues,
    /// The workload was not measured: its vectors hold sizes, waits and round-trip times.
    #[error("vectors that were never measured have none")]
    NotInVectors,
    /// Sources beside the workload share the link, which they did not do in the original.
    #[error("sources beside the workload are on the link")]
    SourcesOnLink,
    /// Round-trip times of a run and of a tool are not the same quantity.
    #[error("a run has its paths' base round-trip times, the tool samples of its own")]
    OtherRoundTrips,
    /// Two results of one tool have no series of round-trip times in common.
    #[error("no series in common: {reference}; {other}")]
    OtherPings {
        /// The series of the reference.
        reference: String,
        /// Those of the other.
        other: String,
    },
    /// A direction lacks values where another has some.
    #[error("{name}: a series lacks values in {without} of {of} bins in which others have some")]
    Gaps {
        /// The file.
        name: String,
        /// Bins without a value.
        without: usize,
        /// All bins.
        of: usize,
    },
    /// The tool does not measure it.
    #[error("other tools do not measure it, or not so")]
    OtherTool,
}

/// Why replications of two variants cannot be compared run by run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unpaired {
    /// The options do not ask for it.
    #[error("not asked for")]
    NotAsked,
    /// They have different seeds.
    #[error("they have different seeds")]
    Seeds,
    /// There are more results of one than of the other.
    #[error("there are {other} and {reference} results")]
    Numbers {
        /// Of the reference.
        reference: usize,
        /// Of the other.
        other: usize,
    },
    /// With one seed they have different workloads.
    #[error("with seed {seed} they replay different workloads")]
    Workloads {
        /// The seed.
        seed: u64,
    },
}

impl Incomparable {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Incomparable::Windows { .. } => "run both with the same measure.window and duration",
            Incomparable::Bins { .. } => "run both with the same measure.queue-every and window",
            Incomparable::NothingCompleted { .. } => "give the run more time, or a link that carries its load",
            Incomparable::NoValues { .. } => "leave that metric out",
            Incomparable::NotPaired { why: Unpaired::Numbers { .. }, .. } => {
                "name as many files before --against as behind it: they are paired in their order"
            }
            Incomparable::NotPaired { .. } => "run both with the same seeds and workload, or use --pairing unpaired",
        }
    }
}

/// Whether the window of a run says the same as another's: lengths that a program's end decided may differ a little.
fn same_window(a: &Run, b: &Run) -> bool {
    let ((start_a, end_a), (start_b, end_b)) = (a.measurements.window, b.measurements.window);
    let (a, b) = (end_a.since(start_a).as_nanos(), end_b.since(start_b).as_nanos());
    start_a == start_b && a.abs_diff(b) <= a.max(b) / 100
}

fn window(run: &Run) -> String {
    let (start, end) = run.measurements.window;
    format!("[{}, {})", start.since(Default::default()), end.since(Default::default()))
}

/// Whether replications of two variants can be compared run by run: the same seeds, and with each the same workload (methods L.5). An error
/// says why not.
pub(super) fn pairing(reference: &Group<'_>, other: &Group<'_>) -> Result<(), Unpaired> {
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

/// Says no to variants that cannot be compared.
///
/// # Errors
///
/// [`Incomparable`], with the first reason found.
pub fn comparable(groups: &[Group<'_>], options: &Options) -> Result<(), Incomparable> {
    let all = || groups.iter().flat_map(|group| group.runs);
    for run in all() {
        let outcomes = run.measurements.outcomes;
        if outcomes.started() > 0 && outcomes.completed == 0 && run.facts.sources().next().is_none() {
            return Err(Incomparable::NothingCompleted { name: run.name.clone(), started: outcomes.started() });
        }
    }
    let Some(first) = all().next() else { return Ok(()) };
    for run in all() {
        let (reference, other) = (|| first.name.clone(), || run.name.clone());
        if !same_window(first, run) {
            let (here, there) = (window(first), window(run));
            return Err(Incomparable::Windows { reference: reference(), here, other: other(), there });
        }
        for metric in Metric::ALL.into_iter().filter(|metric| metric.is_series() && options.wants(*metric)) {
            let [here, there] = [first, run].map(|run| run.measurements.series_bin(metric));
            if here != there {
                return Err(Incomparable::Bins { metric, reference: reference(), here, other: other(), there });
            }
        }
    }
    let points = if groups.len() == 1 { &[Point::Original, Point::Monitor][..] } else { &[Point::Endpoint] };
    for &metric in &options.metrics {
        if groups.len() == 1 && (metric.is_of_queue() || metric.is_of_probes()) {
            return Err(Incomparable::NoValues { metric, why: Missing::OriginalQueues });
        }
        let empty =
            |run: &&Run| points.iter().any(|point| run.measurements.sample(metric, *point, |_| true).is_empty());
        let without: Vec<&Run> = all().filter(empty).collect();
        if let Some(one) = without.first() {
            let within = if without.len() == all().count() { "any of the runs" } else { &one.name };
            return Err(Incomparable::NoValues { metric, why: Missing::In(within.to_owned()) });
        }
    }
    if options.pairing == Pairing::Paired
        && let Some((reference, others)) = groups.split_first()
    {
        for other in others {
            if let Err(why) = pairing(reference, other) {
                let (reference, other) = (reference.name.to_owned(), other.name.to_owned());
                return Err(Incomparable::NotPaired { reference, other, why });
            }
        }
    }
    Ok(())
}
