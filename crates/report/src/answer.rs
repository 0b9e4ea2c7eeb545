//! The table that answers the question first, for terminal and report alike.

use flowloom_core::units::three_digits;
use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use crate::compare::{
    Comparison, Group, Judgement, Options, Verdict, compare_group_with_original, compare_groups, compare_with_original,
    has_one_original,
};
use crate::conclusion::Conclusion;
use crate::connections::Connections;
use crate::directions::Directions;
use crate::loops::Feedback;
use crate::metric::Metric;
use crate::run::Run;
use crate::statistics::{QuantileRatio, Sample};
use crate::variant::Variant;
use crate::words::thousands;

/// The runs of a report and what each is compared with.
pub struct Answer {
    /// Names of runs, and which of their bytes were sent in a closed loop and released by the clock, in words; of draws those of all.
    pub feedback: Vec<(String, String)>,
    /// Column heads: the reference first.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<AnswerRow>,
    /// What its directions are called.
    pub directions: Directions,
    /// One per column after the first that has something to be compared with.
    pub comparisons: Vec<Comparison>,
    /// Whether the first column is the original. Then everything is measured at the monitor, else at the endpoints.
    pub with_original: bool,
    /// Of several variants: each that replays a measured original beside that, at the monitor.
    pub fidelity: Vec<Comparison>,
}

/// One quantity, a value per column.
pub struct AnswerRow {
    /// Which.
    pub name: String,
    /// The metric; `None` where connections are counted.
    pub metric: Option<Metric>,
    /// What of it: `p50 / p99`.
    pub statistic: &'static str,
    /// A value per column, with unit.
    pub values: Vec<String>,
    /// How far the columns after the first are from it; `None` where nothing is compared.
    pub distances: Vec<Option<Distance>>,
}

/// What the last column of the answer says: the number that was judged, and the judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Distance {
    /// The tolerant KS distance (methods M.6); `None` where there are too few values or bins for it.
    pub tolerant_ks: Option<f64>,
    /// What it means.
    pub judgement: Judgement,
    /// What is said of the metric, with intervals and reason.
    pub verdict: Verdict,
    /// The verdict in a word or two; where there is only a distance, what that means.
    pub said: String,
    /// Relative to the reference: of series the mean, with too few values the median.
    pub ratio: Option<QuantileRatio>,
}

impl Distance {
    /// The head of the column that holds it.
    pub const HEAD: &'static str = "tolerant KS, ratio";

    /// The distance as text, or the ratio where there is none.
    pub fn number(&self) -> String {
        match (self.tolerant_ks, self.ratio) {
            (Some(distance), _) => format!("{distance:.3}"),
            (None, Some(ratio)) => factor(ratio),
            (None, None) => NOTHING.to_owned(),
        }
    }

    /// The ratio as text, where it stands beside a distance; else empty.
    pub fn ratio(&self) -> String {
        self.ratio.filter(|_| self.tolerant_ks.is_some()).map_or_else(String::new, factor)
    }
}

/// `1.05x`.
fn factor(ratio: QuantileRatio) -> String {
    ratio.show(three_digits) + "x"
}

impl Answer {
    /// The answer that a run gives from which this was concluded.
    pub fn of_run(run: &Run, conclusion: &Conclusion) -> Answer {
        Answer::of_groups(&[Group::from(run)], conclusion.with_original.iter().cloned().collect())
    }

    /// The answer `runs` give, each by itself. The first column is the measured original of a single run that has one, else the first run:
    /// fidelity to an original is measured at the monitor, and runs are compared with each other at their ends (methods M.1).
    pub fn of(runs: &[Run]) -> Answer {
        let groups: Vec<Group<'_>> = runs.iter().map(Group::from).collect();
        Answer::of_groups(&groups, runs.iter().filter_map(compare_with_original).collect())
    }

    /// The answer `variants` give, with a column for all replications of each; `conclusions` are those from their runs.
    pub fn of_variants(variants: &[Variant], conclusions: &[&[Conclusion]]) -> Answer {
        let beside_original = variants.iter().zip(conclusions).filter_map(|(variant, conclusions)| match conclusions {
            [only] => only.with_original.clone().map(|found| Comparison { other: variant.name.clone(), ..found }),
            _ => compare_group_with_original(Group::from(variant), &Options::default()),
        });
        Answer::of_groups(&variants.iter().map(Group::from).collect::<Vec<_>>(), beside_original.collect())
    }

    /// Whether the answer of `variants` sets a replay beside its original, as [`Answer::of_variants`] decides.
    pub(crate) fn is_with_original(variants: &[Variant]) -> bool {
        matches!(variants, [only] if has_one_original(Group::from(only)))
    }

    fn of_groups(groups: &[Group<'_>], beside_original: Vec<Comparison>) -> Answer {
        let with_original = groups.len() == 1 && !beside_original.is_empty();
        let (comparisons, fidelity) = match with_original {
            true => (beside_original, Vec::new()),
            false => (compare_groups(groups, &Options::default()), beside_original),
        };
        let points: Vec<(&[Run], Point)> = if with_original {
            let original = groups.first().map(|group| (&group.runs[..1], Point::Original));
            original.into_iter().chain(groups.iter().map(|group| (group.runs, Point::Monitor))).collect()
        } else {
            groups.iter().map(|group| (group.runs, Point::Endpoint)).collect()
        };
        let told = |group: &Group<'_>| {
            let feedback = Feedback::of_runs(group.runs)?;
            let parts = feedback.text().into_iter().chain(feedback.clocked_text()).collect::<Vec<_>>();
            (!parts.is_empty()).then(|| (group.name.to_owned(), parts.join("; ")))
        };
        let feedback = groups.iter().filter_map(told).collect();
        let columns = if with_original {
            std::iter::once("original".to_owned()).chain(names(groups, "replay")).collect()
        } else {
            names(groups, "run").collect()
        };
        let mut rows = vec![connections_row(groups, with_original)];
        rows.extend([
            row(&points, &comparisons, "duration", "p50 / p99", Metric::Duration, quantiles),
            row(&points, &comparisons, "response time", "p50 / p99", Metric::ResponseTime, quantiles),
            row(&points, &comparisons, "active connections", "mean / max", Metric::ActiveConnections, mean_and_max),
        ]);
        let directions = Directions::of_runs(groups.iter().flat_map(|group| group.runs));
        for (metric, from) in
            [(Metric::ThroughputFromLeft, LinkSide::Left), (Metric::ThroughputFromRight, LinkSide::Right)]
        {
            rows.push(row(&points, &comparisons, &directions.row("throughput", from), "mean", metric, mean));
        }
        for (metric, from) in
            [(Metric::QueueDelayFromLeft, LinkSide::Left), (Metric::QueueDelayFromRight, LinkSide::Right)]
        {
            rows.push(row(&points, &comparisons, &directions.row("queue delay", from), "p50 / p99", metric, quantiles));
        }
        for (metric, from) in
            [(Metric::DeadCellsFromLeft, LinkSide::Left), (Metric::DeadCellsFromRight, LinkSide::Right)]
        {
            rows.push(row(&points, &comparisons, &directions.row("dead cells", from), "mean", metric, mean));
        }
        for (name, metric) in [("probe round trip", Metric::ProbeRoundTrip), ("probe request", Metric::ProbeRequest)] {
            rows.push(row(&points, &comparisons, name, "p50 / p99", metric, quantiles));
        }
        rows.retain(|row| row.values.iter().any(|value| value != NOTHING));
        Answer { feedback, columns, rows, directions, comparisons, with_original, fidelity }
    }
}

/// What is shown where there is no value.
const NOTHING: &str = "–";

/// The names of `groups`, or `alone` if there is only one.
fn names<'a>(groups: &'a [Group<'_>], alone: &'a str) -> impl Iterator<Item = String> + 'a {
    groups.iter().map(move |group| if groups.len() == 1 { alone.to_owned() } else { group.name.to_owned() })
}

/// How connections ended, those of all replications together.
fn connections_row(groups: &[Group<'_>], with_original: bool) -> AnswerRow {
    let first = groups.first().filter(|_| with_original);
    let original = first.map(|group| thousands(group.runs[0].measurements.outcomes.started()));
    let ended = |group: &Group<'_>| {
        let sum = |of: fn(Connections) -> u64| group.runs.iter().map(|run| of(run.connections())).sum::<u64>();
        [
            (sum(|connections| connections.completed), "completed"),
            (sum(|connections| connections.reset), "reset"),
            (sum(|connections| connections.gave_up), "gave up"),
            (sum(|connections| connections.unfinished), "unfinished"),
            (sum(|connections| connections.cut), "cut"),
        ]
        .into_iter()
        .filter(|&(count, word)| count > 0 || word == "completed")
        .map(|(count, word)| format!("{} {word}", thousands(count)))
        .collect::<Vec<_>>()
        .join(", ")
    };
    let values: Vec<String> = original.into_iter().chain(groups.iter().map(ended)).collect();
    let distances = vec![None; values.len().saturating_sub(1)];
    AnswerRow { name: "connections".to_owned(), metric: None, statistic: "", values, distances }
}

fn row(
    points: &[(&[Run], Point)],
    comparisons: &[Comparison],
    name: &str,
    statistic: &'static str,
    metric: Metric,
    show: fn(Metric, &Sample) -> Option<String>,
) -> AnswerRow {
    let of_run = |run: &Run, point: Point| run.measurements.sample(metric, point, |_| true);
    let samples: Vec<Sample> = points
        .iter()
        .map(|(runs, point)| Sample::pooled(&runs.iter().map(|run| of_run(run, *point)).collect::<Vec<_>>()))
        .collect();
    let empty = metric.is_series() && samples.iter().all(|sample| sample.max().unwrap_or(0.0) == 0.0);
    let shown = |sample: &Sample| show(metric, sample).filter(|_| !empty).unwrap_or_else(|| NOTHING.to_owned());
    let values = samples.iter().map(shown).collect();
    let distance = |comparison: &Comparison| {
        let difference = comparison.difference(metric)?;
        let median = difference.ratios.iter().find(|ratio| ratio.p == 0.5).and_then(|ratio| ratio.ratio);
        let ratio = match (metric.is_series(), difference.tolerant_ks) {
            (true, _) => difference.mean_ratio.map(QuantileRatio::Is),
            (false, None) => median,
            (false, Some(_)) => None,
        };
        Some(Distance {
            tolerant_ks: difference.tolerant_ks,
            judgement: difference.judgement,
            verdict: difference.verdict.clone(),
            said: difference.said(),
            ratio,
        })
    };
    let name = name.to_owned();
    AnswerRow { name, metric: Some(metric), statistic, values, distances: comparisons.iter().map(distance).collect() }
}

fn mean(metric: Metric, sample: &Sample) -> Option<String> {
    sample.mean().map(|mean| metric.unit().show(mean))
}

fn quantiles(metric: Metric, sample: &Sample) -> Option<String> {
    let show = |p| sample.quantile_or_bound(p).map(|quantile| metric.unit().show_quantile(quantile));
    Some(format!("{} / {}", show(0.5)?, show(0.99)?))
}

fn mean_and_max(metric: Metric, sample: &Sample) -> Option<String> {
    Some(format!("{} / {}", mean(metric, sample)?, metric.unit().show(sample.max()?)))
}
