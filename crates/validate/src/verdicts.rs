//! What the verdicts of `compare` are worth: pairs of variants that do not differ, and pairs that do by a tenth.

use flowloom_core::distribution::normal_quantile;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_models::lrd::GaussianNoise;
use flowloom_report::compare::{Measured, Options, Outcome, Verdict, verdicts};
use flowloom_report::metric::Metric;
use flowloom_report::statistics::Sample;

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Verdicts of comparisons";
/// False verdicts of a family at a level of 5 %, and what chance may add to it over a thousand pairs.
const MOST_FALSE: f64 = 0.065;

/// As usual, without the intervals of ratios, which verdicts do not use.
fn options() -> Options {
    Options { resamples: 0, ..Options::default() }
}

/// What response times of one run are drawn from.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// Median 100 ms, spread of its logarithm 1.
    Lognormal,
    /// From 20 ms on, with a tail of 1.5: an infinite variance.
    Pareto,
}

/// Pairs of variants to simulate.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    law: Law,
    /// Replications of each variant.
    runs: usize,
    /// Standard deviation of the logarithm by which whole runs differ.
    between: f64,
    /// The same factor for both variants' n-th runs, and half of their values in common.
    paired: bool,
    /// Response times and durations of the other are so many times as long, its throughput is so many times as low.
    factor: f64,
}

/// The random numbers of one run.
struct Draws(Stream);

impl Draws {
    fn normal(&mut self) -> f64 {
        normal_quantile(self.0.uniform().max(1e-16))
    }

    fn value(&mut self, law: Law) -> f64 {
        match law {
            Law::Lognormal => 100e6 * libm::exp(self.normal()),
            Law::Pareto => 20e6 * libm::pow(1.0 - self.0.uniform(), -1.0 / 1.5),
        }
    }
}

impl Pairs {
    /// Response times, durations (the same, three times as long) and throughput of one run. Runs with `common` draws share them.
    fn run(&self, id: u64, values: usize, common: Option<u64>, factor: f64) -> [Sample; 3] {
        let mut own = Draws(Stream::new(id, Purpose::Durations, 0));
        let mut shared = common.map(|common| Draws(Stream::new(common, Purpose::Starts, 0)));
        let of_run = libm::exp(self.between * shared.as_mut().unwrap_or(&mut own).normal()) * factor;
        let mut sample = |scale: f64| -> Sample {
            (0..values)
                .map(|index| {
                    let source = match &mut shared {
                        Some(shared) if index % 2 == 0 => shared,
                        _ => &mut own,
                    };
                    scale * of_run * source.value(self.law)
                })
                .collect()
        };
        let (responses, durations) = (sample(1.0), sample(3.0));
        let throughput = 1e7 / of_run * (1.0 + 0.02 * own.normal());
        [responses, durations, Sample::new([throughput])]
    }

    /// Verdicts of response times, durations and throughput of pair `id`, tested together.
    fn verdicts(&self, id: u64, values: usize) -> Vec<Verdict> {
        let first = id * 1_000;
        let runs = |variant: u64, factor: f64| -> Vec<[Sample; 3]> {
            (0..self.runs as u64)
                .map(|run| {
                    let common = self.paired.then_some(first + run);
                    self.run(first + 500 * variant + run, values, common, factor)
                })
                .collect()
        };
        let (reference, other) = (runs(0, 1.0), runs(1, self.factor));
        let metrics = [Metric::ResponseTime, Metric::Duration, Metric::ThroughputFromLeft];
        let measured: Vec<Measured> = metrics
            .into_iter()
            .enumerate()
            .map(|(place, metric)| Measured {
                metric,
                samples: [&reference, &other].map(|runs| runs.iter().map(|run| run[place].clone()).collect()),
                series: Default::default(),
                bin: Duration::from_secs(1),
            })
            .collect();
        verdicts(&measured, self.paired, &options())
    }

    /// Share of `pairs` pairs in which a metric is called different.
    fn called_different(&self, pairs: u64, values: usize) -> f64 {
        let different = |id: &u64| self.verdicts(*id, values).iter().any(|one| one.outcome == Outcome::Different);
        (0..pairs).filter(different).count() as f64 / pairs as f64
    }
}

/// A series of `seconds` bins of a second whose memory decays with this time constant.
fn series(id: u64, seconds: usize, memory: f64) -> Vec<f64> {
    let mut draws = Draws(Stream::new(id, Purpose::Durations, 1));
    let keep = libm::exp(-1.0 / memory);
    let fresh = libm::sqrt(1.0 - keep * keep);
    let mut state = draws.normal();
    (0..seconds)
        .map(|_| {
            state = keep * state + fresh * draws.normal();
            1e7 * (1.0 + 0.3 * state)
        })
        .collect()
}

/// Two series of `seconds` bins of a second with long-range dependence.
fn long_memory(id: u64, noise: &GaussianNoise) -> [Vec<f64>; 2] {
    let mut stream = Stream::new(id, Purpose::Durations, 2);
    noise.pair(&mut stream).map(|series| series.into_iter().map(|value| 1e7 * (1.0 + 0.3 * value)).collect())
}

/// Share of pairs of single runs whose series are called different: by blocks of time, unpaired.
fn block_nulls(pairs: u64, of: impl Fn(u64) -> [Vec<f64>; 2]) -> f64 {
    let different = (0..pairs).filter(|id| {
        let series = of(*id);
        let samples = series.each_ref().map(|series| vec![Sample::new(series.iter().copied())]);
        let measured = Measured { metric: Metric::Goodput, samples, series, bin: Duration::from_secs(1) };
        verdicts(&[measured], false, &options())[0].outcome == Outcome::Different
    });
    different.count() as f64 / pairs as f64
}

/// Nulls of replications and of blocks, and the power of a tenth.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let (pairs, values) = if full { (1_000, 1_000) } else { (100, 500) };
    // A hundred pairs of which five are called different: nine are no surprise.
    let most = if full { MOST_FALSE } else { 0.1 };
    let mut rows = Vec::new();
    let null = Pairs { law: Law::Lognormal, runs: 5, between: 0.05, paired: false, factor: 1.0 };
    for (name, pairs_of) in [
        ("5 and 5 replications, lognormal", null),
        ("10 and 10 replications, lognormal", Pairs { runs: 10, ..null }),
        ("5 and 5 replications, Pareto", Pairs { law: Law::Pareto, ..null }),
        ("10 and 10 replications, Pareto", Pairs { law: Law::Pareto, runs: 10, ..null }),
        ("5 paired replications, lognormal", Pairs { paired: true, ..null }),
        ("10 paired replications, Pareto", Pairs { law: Law::Pareto, runs: 10, paired: true, ..null }),
    ] {
        let different = pairs_of.called_different(pairs, values);
        let name = format!("no difference, {name}: share of pairs with a metric called different");
        rows.push(Row::new(GROUP, name, "methods L.3, Holm at 5 %", Expected::AtMost(most), different));
    }
    for (minutes, memory) in [(20, 5.0), (60, 20.0), (60, 60.0)] {
        let different = block_nulls(pairs, |id| [2 * id, 2 * id + 1].map(|id| series(id, minutes * 60, memory)));
        let name = format!(
            "no difference, series of {minutes} min with a memory of {memory} s: share of pairs called different by blocks"
        );
        rows.push(Row::new(GROUP, name, "methods L.3, 5 %", Expected::AtMost(most), different));
    }
    for hurst in [0.7, 0.85] {
        let noise = GaussianNoise::new(hurst, 3_600);
        let different = block_nulls(pairs, |id| long_memory(id, &noise));
        let name =
            format!("no difference, series of 60 min with H = {hurst}: share of pairs called different by blocks");
        rows.push(Row::new(GROUP, name, "methods L.3, 5 %", Expected::AtMost(most), different));
    }
    if full {
        rows.extend(power(pairs, values));
    }
    rows
}

/// The share of pairs in which a tenth is found. Expected is somewhat less than was found: what must not get lost.
fn power(pairs: u64, values: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (between, paired, least) in [
        (0.02, false, [0.9, 0.99, 0.99]),
        (0.05, false, [0.3, 0.8, 0.98]),
        (0.1, false, [0.04, 0.2, 0.6]),
        (0.05, true, [0.95, 0.99, 0.99]),
    ] {
        for (runs, least) in [5, 10, 20].into_iter().zip(least) {
            let pairs_of = Pairs { law: Law::Lognormal, runs, between, paired, factor: 1.1 };
            let different = pairs_of.called_different(pairs / 5, values);
            let how = if paired { "paired" } else { "unpaired" };
            let name = format!(
                "10 % apart, {runs} {how} replications that vary by {} %: share of pairs found",
                100.0 * between
            );
            rows.push(Row::new(GROUP, name, "docs/guide/comparison.md", Expected::AtLeast(least), different));
        }
    }
    rows
}
