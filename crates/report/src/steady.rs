//! Whether a run was in a steady state, and long enough: thirds of the window, how much of its beginning to leave out, means with
//! intervals by batches of time and by regeneration, and the published rules of run length (methods E.4, E.5).

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;
use serde::Serialize;

use crate::metric::Metric;
use crate::run::{Measurements, Run};
use crate::statistics::{BatchMeans, Interval, LongEnough, mser5, ratio_estimate, running_mean};

/// What is looked at over time, at the replay's monitor.
const SERIES: [Metric; 3] = [Metric::ThroughputFromLeft, Metric::ThroughputFromRight, Metric::ActiveConnections];
/// Share of the mean that Welch's running mean may stray from it once it has settled.
const SETTLED: f64 = 0.05;
/// Cycles without which nothing is said by regeneration.
const FEWEST_CYCLES: usize = 10;

/// Steadiness of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Steady {
    /// Throughput, active connections and response times over time; those that are not zero throughout.
    pub series: Vec<SeriesSteadiness>,
    /// The rules of run length.
    pub run_length: RunLengthOfRun,
    /// What cycles between instants without a queue say.
    pub regeneration: Regeneration,
}

/// One quantity over the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeriesSteadiness {
    /// Which; response times are those of the responses completed in each bin, at the endpoints.
    pub metric: Metric,
    /// Width of a bin.
    pub bin_ns: u64,
    /// Mean of each third of the window; null if one has no value.
    pub thirds: Option<[f64; 3]>,
    /// The largest third less the smallest, over the mean; null if a third has no value.
    pub drift: Option<f64>,
    /// Its beginning.
    pub warm_up: WarmUp,
    /// Its mean with an interval; null if the window has fewer than forty bins, or a twentieth of it has no value.
    pub batch_means: Option<BatchMeans>,
}

/// How much of the beginning of the window to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WarmUp {
    /// By MSER-5; null if that is more than half of the window.
    pub mser5_ns: Option<u64>,
    /// From when on Welch's running mean stays within 5 % of the mean of the window's second half; null if only in that half.
    pub running_mean_ns: Option<u64>,
}

/// The rules of run length, of the sizes of the responses completed in the window, in the order of completion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunLengthOfRun {
    /// Responses completed; the rules look at the first 4,194,304 of them.
    pub completed_responses: u64,
    /// What of the run is before the window: the warm-up that is left out.
    pub left_out_ns: u64,
    /// What the rules say.
    #[serde(flatten)]
    pub rules: LongEnough,
}

/// Cycles of the network: each begins where all queues are found empty after at least one was not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regeneration {
    /// Time between looks at the queues: what happens in between is not seen.
    pub sample_ns: u64,
    /// Share of the looks at which all queues were empty; null without looks.
    pub empty_share: Option<f64>,
    /// Whole cycles.
    pub cycles: usize,
    /// Their mean length; null without any.
    pub mean_cycle_ns: Option<f64>,
    /// Mean queue in packets from left to right, by the ratio estimator; null of fewer than ten cycles.
    pub queue_left_to_right_packets: Option<RatioMean>,
    /// From right to left.
    pub queue_right_to_left_packets: Option<RatioMean>,
}

/// A mean by the ratio estimator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioMean {
    /// The mean over time.
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// The beginning of several runs of one experiment, from the mean over them at each instant (Welch 1983).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JointWarmUp {
    /// Of what.
    pub metric: Metric,
    /// Width of a bin.
    pub bin_ns: u64,
    /// Runs.
    pub runs: usize,
    /// Their beginning.
    pub warm_up: WarmUp,
}

impl Steady {
    /// That of a run.
    pub fn of(measured: &Measurements) -> Steady {
        let series = SERIES.into_iter().filter_map(|metric| {
            let values = measured.series(metric, Point::Monitor);
            let counted: Vec<(u64, f64)> = values.iter().map(|value| (1, *value)).collect();
            let of =
                || SeriesSteadiness::new(metric, measured.series_bin(metric), &counted, BatchMeans::of_series(&values));
            values.iter().any(|value| *value > 0.0).then(of)
        });
        let times = measured.responses.times();
        let of_times =
            || SeriesSteadiness::new(Metric::ResponseTime, measured.bin, times, BatchMeans::of_counted(times));
        Steady {
            series: series.chain((measured.responses.count() > 0).then(of_times)).collect(),
            run_length: RunLengthOfRun {
                completed_responses: measured.responses.count(),
                left_out_ns: measured.window.0.as_nanos(),
                rules: measured.responses.long_enough(),
            },
            regeneration: Regeneration::of(measured),
        }
    }
}

impl SeriesSteadiness {
    /// Of bins of how many values and their sum.
    fn new(metric: Metric, bin: Duration, bins: &[(u64, f64)], batch_means: Option<BatchMeans>) -> SeriesSteadiness {
        let third = |part: usize| {
            let range = bins.len() * part / 3..bins.len() * (part + 1) / 3;
            mean(&bins[range])
        };
        let thirds = third(0).zip(third(1)).zip(third(2)).map(|((first, second), last)| [first, second, last]);
        let drift = |[a, b, c]: [f64; 3]| {
            let whole = mean(bins).filter(|mean| *mean > 0.0)?;
            Some((a.max(b).max(c) - a.min(b).min(c)) / whole)
        };
        let values: Vec<f64> = bins.iter().filter_map(|bin| mean(std::slice::from_ref(bin))).collect();
        // Where bins are without a value, the place of one says nothing about time.
        let warm_up = if values.len() == bins.len() { WarmUp::of(&values, bin) } else { WarmUp::UNKNOWN };
        SeriesSteadiness { metric, bin_ns: bin.as_nanos(), thirds, drift: thirds.and_then(drift), warm_up, batch_means }
    }
}

fn mean(bins: &[(u64, f64)]) -> Option<f64> {
    let (count, sum) = bins.iter().fold((0, 0.0), |all, bin| (all.0 + bin.0, all.1 + bin.1));
    (count > 0).then(|| sum / count as f64)
}

impl WarmUp {
    /// Nothing can be said.
    const UNKNOWN: WarmUp = WarmUp { mser5_ns: None, running_mean_ns: None };

    /// That of a series in bins of this width.
    pub fn of(values: &[f64], bin: Duration) -> WarmUp {
        let nanos = |bins: usize| bin.as_nanos() * bins as u64;
        let half = &values[values.len() / 2..];
        let level = half.iter().sum::<f64>() / half.len().max(1) as f64;
        let smooth = running_mean(values, values.len() / 20);
        let stray = smooth.iter().rposition(|value| (value - level).abs() > SETTLED * level.abs());
        let settled = stray.map_or(0, |last| last + 1);
        WarmUp {
            mser5_ns: mser5(values).map(nanos),
            running_mean_ns: (!values.is_empty() && settled <= values.len() / 2).then(|| nanos(settled)),
        }
    }
}

impl Regeneration {
    fn of(measured: &Measurements) -> Regeneration {
        let sides = [LinkSide::Left, LinkSide::Right].map(|side| measured.queue_series(side));
        let mut is_empty: Vec<bool> = sides[0].iter().zip(&sides[1]).map(|(a, b)| *a == 0.0 && *b == 0.0).collect();
        for link in measured.links.keys() {
            is_empty.iter_mut().zip(measured.link_queue(*link)).for_each(|(empty, waiting)| *empty &= waiting == 0.0);
        }
        // Cycles begin where these are.
        let starts: Vec<usize> =
            is_empty.windows(2).enumerate().filter(|(_, pair)| !pair[0] && pair[1]).map(|(at, _)| at + 1).collect();
        let sample_ns = measured.series_bin(Metric::QueueFromLeft).as_nanos();
        let cycles = starts.len().saturating_sub(1);
        let ratio = |series: &[f64]| {
            let sums: Vec<(f64, f64)> = starts
                .windows(2)
                .map(|cycle| (series[cycle[0]..cycle[1]].iter().sum(), (cycle[1] - cycle[0]) as f64))
                .collect();
            let found = ratio_estimate(&sums).filter(|_| cycles >= FEWEST_CYCLES)?;
            Some(RatioMean { mean: found.value, interval: found.interval_from_zero(0.95) })
        };
        let looks = is_empty.len();
        Regeneration {
            sample_ns,
            empty_share: (looks > 0).then(|| is_empty.iter().filter(|empty| **empty).count() as f64 / looks as f64),
            cycles,
            mean_cycle_ns: (cycles > 0).then(|| (starts[cycles] - starts[0]) as f64 / cycles as f64 * sample_ns as f64),
            queue_left_to_right_packets: ratio(&sides[0]),
            queue_right_to_left_packets: ratio(&sides[1]),
        }
    }
}

/// The beginning of runs of one experiment that differ in their seeds; none of a single run, or of runs whose windows differ.
pub fn joint_warm_up(runs: &[Run]) -> Vec<JointWarmUp> {
    if runs.len() < 2 {
        return Vec::new();
    }
    let of = |metric: Metric| {
        let all: Vec<Vec<f64>> = runs.iter().map(|run| run.measurements.series(metric, Point::Monitor)).collect();
        let bins = all[0].len();
        let bin = runs[0].measurements.series_bin(metric);
        let alike = |run: &Run| run.measurements.window == runs[0].measurements.window;
        if !runs.iter().all(alike) || all.iter().any(|series| series.len() != bins) {
            return None;
        }
        let means: Vec<f64> =
            (0..bins).map(|at| all.iter().map(|series| series[at]).sum::<f64>() / runs.len() as f64).collect();
        let warm_up = WarmUp::of(&means, bin);
        means.iter().any(|mean| *mean > 0.0).then(|| JointWarmUp {
            metric,
            bin_ns: bin.as_nanos(),
            runs: runs.len(),
            warm_up,
        })
    };
    SERIES.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use flowloom_core::record::QueueSample;
    use flowloom_core::time::Time;

    use super::*;

    #[test]
    fn a_rise_at_the_beginning_is_to_be_left_out() {
        let rise = |t: u32| if t < 60 { f64::from(t) / 60.0 } else { 1.0 + f64::from(t % 7) / 100.0 };
        let bins: Vec<(u64, f64)> = (0..600).map(|t| (2, 2.0 * rise(t))).collect();
        let found = SeriesSteadiness::new(Metric::ResponseTime, Duration::from_secs(1), &bins, None);
        let seconds = |nanos: Option<u64>| nanos.unwrap() / 1_000_000_000;
        assert!((50..=65).contains(&seconds(found.warm_up.mser5_ns)), "{found:?}");
        assert!((40..=95).contains(&seconds(found.warm_up.running_mean_ns)), "{found:?}");
        assert!(found.drift.unwrap() > 0.1 && found.thirds.unwrap()[2] > 1.0, "{found:?}");
        let growing: Vec<(u64, f64)> = (0..600).map(|t| (1, f64::from(t))).collect();
        let found = SeriesSteadiness::new(Metric::ResponseTime, Duration::from_secs(1), &growing, None);
        assert_eq!(found.warm_up, WarmUp::UNKNOWN);
    }

    #[test]
    fn bins_without_a_value_are_no_zeros() {
        let bins = [(1, 4.0), (0, 0.0), (2, 4.0), (1, 6.0), (0, 0.0), (1, 6.0)];
        let found = SeriesSteadiness::new(Metric::ResponseTime, Duration::from_secs(1), &bins, None);
        assert_eq!(found.thirds, Some([4.0, 10.0 / 3.0, 6.0]));
        assert_eq!((found.warm_up, found.batch_means), (WarmUp::UNKNOWN, None));
        let found =
            SeriesSteadiness::new(Metric::ResponseTime, Duration::from_secs(1), &[(1, 1.0), (0, 0.0), (0, 0.0)], None);
        assert_eq!((found.thirds, found.drift), (None, None));
    }

    #[test]
    fn cycles_begin_where_all_queues_have_emptied() {
        let window = (Time::ZERO, Time::ZERO + Duration::from_secs(1));
        let mut measured = Measurements::new(window, Duration::from_secs(1), Duration::from_millis(10));
        // Every 80 ms: three looks at 2 packets on the left, then one at 4 on the right, then four empty ones.
        for round in 0..12u64 {
            for (look, from, packets) in
                [(0, LinkSide::Left, 2), (1, LinkSide::Left, 2), (2, LinkSide::Left, 2), (3, LinkSide::Right, 4)]
            {
                let time = Time::ZERO + Duration::from_millis(80 * round + 10 * look);
                measured.queue(&QueueSample {
                    time,
                    link: u16::from(from == LinkSide::Right),
                    from,
                    packets,
                    bytes: 0,
                });
            }
        }
        measured.finish();
        let found = Regeneration::of(&measured);
        assert_eq!((found.cycles, found.mean_cycle_ns), (11, Some(80e6)));
        assert_eq!(found.empty_share, Some(0.52));
        let means =
            [found.queue_left_to_right_packets, found.queue_right_to_left_packets].map(|mean| mean.unwrap().mean);
        assert_eq!(means, [0.75, 0.5]);
    }
}
