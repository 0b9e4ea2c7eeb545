//! What intervals over the seeds of a capture are worth: disjoint draws of one capture over one network are variants that do not differ.

use flowloom::report::Run;
use flowloom::report::compare::{Measured, Options, Outcome, verdicts};
use flowloom::report::metric::Metric;
use flowloom::{Context, Error, Experiment, RunOptions, Silent, Stop};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_store::run_folder::Point;

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Draws of a capture";

/// Share of null pairs that may be called different: 5 % by the level of the tests, and two standard errors of a thousand pairs.
const MOST_FALSE: f64 = 0.064;

/// What is compared, tested together.
const METRICS: [Metric; 5] = [
    Metric::ResponseTime,
    Metric::Duration,
    Metric::ActiveConnections,
    Metric::ThroughputFromLeft,
    Metric::ThroughputFromRight,
];

/// So many draws of the bundled capture over a link a little above its load.
fn runs(draws: u64) -> Result<Vec<Run>, Error> {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    let seeds: Vec<String> = (1..=draws).map(|seed| seed.to_string()).collect();
    let experiment = Experiment::of(capture)
        .with("network.bottleneck.rate", "105%")?
        .with("network.bottleneck.queue.limit", "60p")?
        .with("run.seeds", &format!("[{}]", seeds.join(", ")))?;
    let folder = tempfile::tempdir().map_err(Error::new)?;
    let options = RunOptions { target: Some(folder.path().join("draws")), ..RunOptions::default() };
    Ok(flowloom::run(experiment, &options, Context::new(&Silent, &Stop::new()))?.runs)
}

/// The metrics of two variants, whose replications are these runs.
fn measured(reference: &[&Run], other: &[&Run]) -> Vec<Measured> {
    let samples = |runs: &[&Run], metric| {
        runs.iter().map(|run| run.measurements.sample(metric, Point::Endpoint, |_| true)).collect()
    };
    let of_metric = |metric| Measured {
        metric,
        samples: [samples(reference, metric), samples(other, metric)],
        series: Default::default(),
        bin: Duration::from_secs(1),
    };
    METRICS.map(of_metric).into()
}

/// Whether a metric of two variants is called different.
fn is_different(reference: &[&Run], other: &[&Run]) -> bool {
    let options = Options { resamples: 0, ..Options::default() };
    verdicts(&measured(reference, other), false, &options).iter().any(|one| one.outcome == Outcome::Different)
}

/// Share of `pairs` pairs of `size` disjoint draws each that are called different.
fn called_different(runs: &[Run], size: usize, pairs: u64) -> f64 {
    let different = (0..pairs).filter(|pair| {
        let mut order: Vec<u32> = (0..runs.len() as u32).collect();
        Stream::new(*pair, Purpose::Resampling, size as u64).shuffle(&mut order);
        let drawn: Vec<&Run> = order[..2 * size].iter().map(|place| &runs[*place as usize]).collect();
        is_different(&drawn[..size], &drawn[size..])
    });
    different.count() as f64 / pairs as f64
}

/// Metrics that are called the same of a variant and itself, draw by draw.
fn called_same(runs: &[Run]) -> usize {
    let all: Vec<&Run> = runs.iter().collect();
    let found = verdicts(&measured(&all, &all), true, &Options::default());
    found.iter().filter(|one| one.outcome == Outcome::Same).count()
}

/// Null pairs of disjoint draws, and equal variants under equal draws.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let (draws, pairs) = if effort == Effort::Full { (400, 1_000) } else { (40, 100) };
    // A hundred pairs of which five are called different: eleven are no surprise, also where draws are few and pairs share them.
    let most = if effort == Effort::Full { MOST_FALSE } else { 0.12 };
    let Ok(runs) = runs(draws) else {
        return vec![Row::unmade(GROUP, "draws of the bundled capture", "methods M.5")];
    };
    let null = |size: usize| {
        let name =
            format!("no difference, {size} and {size} disjoint draws: share of pairs with a metric called different");
        Row::new(
            GROUP,
            name,
            "methods L.3, M.5, Holm at 5 %",
            Expected::AtMost(most),
            called_different(&runs, size, pairs),
        )
    };
    let same = called_same(&runs[..10]) as f64;
    let of_all = Expected::Exactly(METRICS.len() as f64);
    vec![
        null(5),
        null(10),
        Row::new(GROUP, "equal variants, 10 equal draws: metrics called the same", "methods L.5", of_all, same),
    ]
}
