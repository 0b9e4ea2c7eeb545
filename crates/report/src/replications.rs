//! Several runs of one experiment in one answer: each statistic over the seeds, with its interval.

use std::fmt::Write as _;

use serde::Serialize;

use flowloom_core::workload::sum;
use flowloom_store::run_folder::Point;

use crate::compare::FEWEST_REPLICATIONS;
use crate::conclusion::Conclusion;
use crate::directions::Directions;
use crate::loops::Feedback;
use crate::metric::Metric;
use crate::run::Run;
use crate::statistics::{Estimate, Interval, Statistic};
use crate::workload_mark::WorkloadMark;
use crate::worst::WorstVerdict;

/// How sure intervals over seeds are.
const CONFIDENCE: f64 = 0.95;

/// What is told of each metric.
const ROWS: [(Metric, Statistic); 18] = [
    (Metric::Duration, Statistic::Quantile(0.5)),
    (Metric::Duration, Statistic::Quantile(0.99)),
    (Metric::ResponseTime, Statistic::Quantile(0.5)),
    (Metric::ResponseTime, Statistic::Quantile(0.99)),
    (Metric::ActiveConnections, Statistic::Mean),
    (Metric::ThroughputFromLeft, Statistic::Mean),
    (Metric::ThroughputFromRight, Statistic::Mean),
    (Metric::Goodput, Statistic::Mean),
    (Metric::QueueDelayFromLeft, Statistic::Quantile(0.5)),
    (Metric::QueueDelayFromLeft, Statistic::Quantile(0.99)),
    (Metric::QueueDelayFromRight, Statistic::Quantile(0.5)),
    (Metric::QueueDelayFromRight, Statistic::Quantile(0.99)),
    (Metric::DeadCellsFromLeft, Statistic::Mean),
    (Metric::DeadCellsFromRight, Statistic::Mean),
    (Metric::ProbeRoundTrip, Statistic::Quantile(0.5)),
    (Metric::ProbeRoundTrip, Statistic::Quantile(0.99)),
    (Metric::ProbeRequest, Statistic::Quantile(0.5)),
    (Metric::ProbeRequest, Statistic::Quantile(0.99)),
];

/// A statistic over the seeds, as measured at the ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverSeeds {
    /// Of which metric.
    pub metric: Metric,
    /// Which.
    pub statistic: Statistic,
    /// Seeds that have a value.
    pub n: usize,
    /// Mean over them, in the unit of the metric.
    pub mean: f64,
    /// The smallest and the largest value.
    pub range: Interval,
    /// Which of the two are only lower bounds: the smallest if it is one itself, the largest if any value is one.
    pub range_is_bound: [bool; 2],
    /// Student's interval of the mean at 95 %, cut at zero (methods L.3); null with fewer than five seeds, where all have one value,
    /// where all seeds replay one draw of the workload, and where a value is only a lower bound: the mean may be anywhere above.
    pub interval: Option<Interval>,
    /// Whether a seed's value is only a lower bound, because exchanges that had not ended reach it.
    pub is_bound: bool,
}

/// What the seeds of an experiment came to together. A metric without values in any seed is left out.
pub fn over_seeds(runs: &[Run]) -> Vec<OverSeeds> {
    let is_one_draw = is_one_draw(runs);
    let of_row = |(metric, statistic): (Metric, Statistic)| {
        let samples: Vec<_> =
            runs.iter().map(|run| run.measurements.sample(metric, Point::Endpoint, |_| true)).collect();
        let values: Vec<f64> = samples.iter().filter_map(|sample| statistic.of(sample)).collect();
        let exact =
            samples.iter().filter(|sample| !statistic.is_bound(sample)).filter_map(|sample| statistic.of(sample));
        let least_exact = exact.reduce(f64::min);
        let bound = |low: fn(f64, f64) -> f64| values.iter().copied().reduce(low);
        let varies = values.windows(2).any(|pair| pair[0] != pair[1]);
        let is_bound = samples.iter().any(|sample| statistic.is_bound(sample));
        let range = Interval { low: bound(f64::min)?, high: bound(f64::max)? };
        let interval = Estimate::of_mean(&values)
            .filter(|_| values.len() >= FEWEST_REPLICATIONS && varies && !is_one_draw && !is_bound)
            .map(|estimate| estimate.interval_from_zero(CONFIDENCE));
        Some(OverSeeds {
            metric,
            statistic,
            n: values.len(),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            range,
            range_is_bound: [is_bound && least_exact.is_none_or(|least| least > range.low), is_bound],
            interval,
            is_bound,
        })
    };
    ROWS.into_iter().filter_map(of_row).collect()
}

/// The worst of each word of the verdict over the seeds; `None` without runs.
pub fn worst_of_seeds(runs: &[Run], conclusions: &[Conclusion]) -> Option<WorstVerdict<u64>> {
    let seeds = runs.iter().map(|run| run.facts.seed);
    WorstVerdict::of(seeds.zip(conclusions.iter().map(|conclusion| &conclusion.summary.verdict)))
}

/// Whether all runs replay one draw of the workload.
fn is_one_draw(runs: &[Run]) -> bool {
    WorkloadMark::is_one_draw(runs.iter().map(|run| run.measurements.workload))
}

/// What stands before a value that may be a lower bound.
fn above(is_bound: bool) -> &'static str {
    if is_bound { "> " } else { "" }
}

/// The rows as a table for the terminal.
pub fn over_seeds_text(runs: &[Run]) -> String {
    let rows = over_seeds(runs);
    let directions = Directions::of_runs(runs);
    let mut text = format!("{:36}{:>14}\n", format!("over {} seeds, at the ends", runs.len()), "mean");
    let range = |row: &OverSeeds| {
        let (Interval { low, high }, is_bound) = match row.interval {
            Some(interval) => (interval, [false; 2]),
            None => (row.range, row.range_is_bound),
        };
        let show = |value: f64, is_bound: bool| format!("{}{}", above(is_bound), row.metric.unit().show(value));
        format!("[{}, {}]", show(low, is_bound[0]), show(high, is_bound[1]))
    };
    let width = rows.iter().map(|row| range(row).chars().count()).max().unwrap_or(0);
    for row in &rows {
        let show = |value: f64| row.metric.unit().show(value);
        let how = match row.interval {
            Some(_) => "95 % interval".to_owned(),
            None if row.n < runs.len() => format!("least to most of {}", row.n),
            None => "least to most".to_owned(),
        };
        let name = format!("{} {}", directions.plural(row.metric), row.statistic);
        let value = format!("{}{}", above(row.is_bound), show(row.mean));
        let _ = writeln!(text, "{name:36}{value:>14}   {:width$}  {how}", range(row));
    }
    if is_one_draw(runs) {
        text.push_str(
            "  all seeds replay one draw of the workload: there is no interval, and no word on other draws\n",
        );
    } else if runs.len() < FEWEST_REPLICATIONS {
        let _ = writeln!(text, "  an interval needs {FEWEST_REPLICATIONS} seeds");
    }
    text
}

impl Feedback {
    /// That of several runs of one experiment: of runs that replay one draw of a workload that of any, of draws the bytes of all. `None`
    /// without runs.
    pub(crate) fn of_runs(runs: &[Run]) -> Option<Feedback> {
        if WorkloadMark::is_one_draw(runs.iter().map(|run| run.measurements.workload)) {
            return runs.first().map(|run| Feedback::of(&run.facts));
        }
        let payload = |run: &Run| run.facts.original.as_ref().map(|original| original.payload);
        let released: Option<Vec<u64>> = runs.iter().map(|run| payload(run)?.clocked_bytes).collect();
        let of = sum(runs.iter().map(|run| payload(run).map_or(0, |payload| payload.total().replayed)));
        let clocked_share = released.filter(|_| of > 0).map(|released| sum(released) as f64 / of as f64);
        let all = runs.iter().map(|run| Feedback::of(&run.facts)).reduce(|all, more| all.plus(&more))?;
        Some(Feedback { clocked_share, ..all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Measurements;
    use flowloom_core::time::{Duration, Time};

    fn run(connections: u64) -> Run {
        let window = (Time::ZERO, Time::ZERO + Duration::from_secs(1));
        let mut measurements = Measurements::new(window, Duration::from_secs(1), Duration::from_millis(10));
        measurements.workload.connections = connections;
        Run { name: String::new(), facts: Default::default(), host: Default::default(), measurements }
    }

    #[test]
    fn what_has_no_values_is_left_out() {
        assert!(over_seeds(&[run(3), run(4)]).iter().all(|row| row.n > 0));
    }
}
