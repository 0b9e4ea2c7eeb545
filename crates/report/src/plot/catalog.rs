//! The figures that can be drawn, by their names: to add one, add an entry.

use super::answers;
use super::picture::{Picture, of_figure};
use crate::html::figure::{Figure, Kind, Points};
use crate::html::{figures_of_runs, sweep};
use crate::statistics::mean_of_known;
use crate::sweep::{Grid, SweepAnswer};
use crate::variant::Variant;

/// A figure of runs.
struct OfRuns {
    name: &'static str,
    shows: &'static str,
    /// Its names on the page; of several the one with most traffic or the longest queue.
    ids: &'static [&'static str],
    /// Whether it shows shares above values, on a logarithmic axis.
    is_ccdf: bool,
    /// Why a run may not have it.
    absent: &'static str,
}

const fn of_runs(
    name: &'static str,
    shows: &'static str,
    ids: &'static [&'static str],
    is_ccdf: bool,
    absent: &'static str,
) -> OfRuns {
    OfRuns { name, shows, ids, is_ccdf, absent }
}

const NO_EXCHANGE: &str = "no exchange was completed";
const NO_CONNECTION: &str = "no connection was measured";
const NO_ADU: &str = "no exchange was completed, or the runs are several: sizes are those of one run and its original";
const NO_QUEUE: &str = "no packet waited";
const NO_PROBE: &str = "no probe of this kind has an answer";
const NO_TIME: &str = "the window has fewer than two bins, or no traffic";

/// The figures of runs.
const OF_RUNS: [OfRuns; 34] = [
    of_runs("response-cdf", "response times", &["response-time"], false, NO_EXCHANGE),
    of_runs("response-ccdf", "tail of response times", &["response-time"], true, NO_EXCHANGE),
    of_runs("duration-cdf", "durations of connections", &["duration"], false, NO_CONNECTION),
    of_runs("duration-ccdf", "tail of durations", &["duration"], true, NO_CONNECTION),
    of_runs("rtt-cdf", "minimum round-trip times of connections", &["rtt"], false, NO_CONNECTION),
    of_runs("rtt-ccdf", "tail of round-trip times", &["rtt"], true, NO_CONNECTION),
    of_runs("adu-size-cdf", "sizes of requests and responses", &["adu-size"], false, NO_ADU),
    of_runs("adu-size-ccdf", "tail of these sizes", &["adu-size"], true, NO_ADU),
    of_runs("active", "active connections over time", &["active"], false, NO_TIME),
    of_runs(
        "throughput",
        "throughput over time, busier direction",
        &["throughput-left", "throughput-right"],
        false,
        NO_TIME,
    ),
    of_runs("throughput-left", "throughput over time, left to right", &["throughput-left"], false, NO_TIME),
    of_runs("throughput-right", "throughput over time, right to left", &["throughput-right"], false, NO_TIME),
    of_runs("arrivals", "packet arrivals over time", &["packets"], false, NO_TIME),
    of_runs("goodput-cdf", "goodput per bin", &["goodput"], false, NO_TIME),
    of_runs("throughput-10ms-cdf", "throughput per 10 ms", &["marginal-10ms"], false, NO_TIME),
    of_runs("throughput-100ms-cdf", "throughput per 100 ms", &["marginal-100ms"], false, NO_TIME),
    of_runs("throughput-1s-cdf", "throughput per second", &["marginal-1000ms"], false, NO_TIME),
    of_runs("queue-length", "queue length over time, longer queue", &["queue-left", "queue-right"], false, NO_QUEUE),
    of_runs("queue-length-left", "queue length over time, left to right", &["queue-left"], false, NO_QUEUE),
    of_runs("queue-length-right", "queue length over time, right to left", &["queue-right"], false, NO_QUEUE),
    of_runs(
        "queue-length-ccdf",
        "tail of the queue length, longer queue",
        &["queue-left-share", "queue-right-share"],
        true,
        NO_QUEUE,
    ),
    of_runs("queue-length-left-ccdf", "tail of the queue length, left to right", &["queue-left-share"], true, NO_QUEUE),
    of_runs(
        "queue-length-right-ccdf",
        "tail of the queue length, right to left",
        &["queue-right-share"],
        true,
        NO_QUEUE,
    ),
    of_runs("queue-delay", "queue delays, longer queue", &["queue-delay-left", "queue-delay-right"], false, NO_QUEUE),
    of_runs("queue-delay-left", "queue delays, left to right", &["queue-delay-left"], false, NO_QUEUE),
    of_runs("queue-delay-right", "queue delays, right to left", &["queue-delay-right"], false, NO_QUEUE),
    of_runs(
        "queue-delay-ccdf",
        "tail of queue delays, longer queue",
        &["queue-delay-left", "queue-delay-right"],
        true,
        NO_QUEUE,
    ),
    of_runs("probes", "latency under load over time: round trips of probes", &["probes"], false, NO_PROBE),
    of_runs("probes-cdf", "round trips of probes", &["probes-share"], false, NO_PROBE),
    of_runs("probes-ccdf", "tail of round trips of probes", &["probes-share"], true, NO_PROBE),
    of_runs("requests", "latency under load over time: requests of probes", &["requests"], false, NO_PROBE),
    of_runs("requests-cdf", "times of requests of probes", &["requests-share"], false, NO_PROBE),
    of_runs("requests-ccdf", "tail of requests of probes", &["requests-share"], true, NO_PROBE),
    of_runs(
        "logscale",
        "logscale diagram of packet arrivals",
        &["logscale"],
        false,
        "the window is too short for four octaves",
    ),
];

/// What a figure of a sweep is made of.
enum Part {
    /// A distribution of each variant: its name on the page up to the direction.
    Curves { id: &'static str, is_ccdf: bool },
    /// The objective of each variant.
    Objective,
    /// This metric of each variant; `{busier}` stands for the direction in which the link carries more.
    Metric(&'static str),
    /// What each axis does.
    Effects,
    /// The objective at each pair of values of two axes.
    Interaction,
}

/// A figure of a sweep: its name, what it shows, what it is made of, why a sweep may not have it.
const OF_SWEEPS: [(&str, &str, Part, &str); 13] = [
    (
        "answer",
        "the objective of each variant: mean over the seeds, with its interval at the confidence of the look",
        Part::Objective,
        NO_CELL,
    ),
    (
        "effects",
        "the objective with each value over that with the first value of its axis",
        Part::Effects,
        "no axis has two values that were run",
    ),
    ("interaction", "the objective at each pair of values of two axes", Part::Interaction, "it needs two axes"),
    (
        "response-cdf",
        "response times of each variant",
        Part::Curves { id: "response-time-ms", is_ccdf: false },
        NO_CELL,
    ),
    ("response-ccdf", "tail of response times", Part::Curves { id: "response-time-ms", is_ccdf: true }, NO_CELL),
    ("duration-cdf", "durations of connections", Part::Curves { id: "duration-ms", is_ccdf: false }, NO_CELL),
    ("duration-ccdf", "tail of durations", Part::Curves { id: "duration-ms", is_ccdf: true }, NO_CELL),
    ("queue-delay", "queue delays, busier direction", Part::Curves { id: "queue-delay-ms", is_ccdf: false }, NO_CELL),
    ("queue-delay-ccdf", "tail of queue delays", Part::Curves { id: "queue-delay-ms", is_ccdf: true }, NO_CELL),
    ("response-p99", "response time at 99 %: mean, interval", Part::Metric("response_time_p99_ms"), NO_CELL),
    ("queue-delay-p99", "queue delay at 99 %: mean, interval", Part::Metric("queue_delay_p99_ms.{busier}"), NO_CELL),
    ("loss", "share of packets lost: mean, interval", Part::Metric("loss_share.{busier}"), NO_CELL),
    (
        "throughput",
        "mean throughput: mean over the seeds, interval",
        Part::Metric("throughput_mean_mbps.{busier}"),
        NO_CELL,
    ),
];
const NO_CELL: &str = "no cell has this value";

/// A figure by its name, with what it is for the data at hand.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// The picture, or why there is none.
    pub picture: Result<Picture, String>,
    /// Runs or variants that have no line in it: they have no such values, or others than the first can stand beside.
    pub left_out: Vec<String>,
}

impl Offer {
    fn new(name: &str, shows: String, picture: Result<Picture, String>, names: &[String]) -> Offer {
        let left_out = picture.as_ref().map_or_else(|_| Vec::new(), |picture| picture.lacks(names));
        Offer { name: name.to_owned(), shows, picture, left_out }
    }
}

/// All figures of runs, those without data among them. Lines are those of the report of the same variants.
pub fn offers_of_runs(variants: &[Variant]) -> Vec<Offer> {
    let (names, figures) = figures_of_runs(variants);
    let find = |id: &str| figures.iter().find(|figure| figure.id == id);
    let known = OF_RUNS.iter().map(|one| {
        let found = one.ids.iter().filter_map(|id| find(id)).max_by(|a, b| most(a).total_cmp(&most(b)));
        let shows = match found.filter(|_| one.ids.len() > 1) {
            // Which direction that is.
            Some(figure) => format!("{}: {}", one.shows, figure.title),
            None => one.shows.to_owned(),
        };
        let picture = found.map(|figure| of_figure(figure, one.is_ccdf)).ok_or_else(|| one.absent.to_owned());
        Offer::new(one.name, shows, picture, &names)
    });
    // Other links have figures of their own, as many as there are.
    let is_known = |figure: &&Figure| OF_RUNS.iter().any(|one| one.ids.contains(&figure.id.as_str()));
    let others = figures
        .iter()
        .filter(|figure| !is_known(figure))
        .map(|figure| Offer::new(&figure.id, figure.title.clone(), Ok(of_figure(figure, false)), &names));
    known.chain(others).collect()
}

/// By how much a figure is the one of its direction: the mean of a series, the 95 % quantile of a distribution.
fn most(figure: &Figure) -> f64 {
    let of_line = |points: &Points| match points {
        Points::Series { y, .. } => mean_of_known(&y.iter().map(|y| y.0).collect::<Vec<f64>>()),
        Points::Distribution { n, x, above } => {
            // Where most values are 0, the tail decides.
            let tail = x.iter().zip(above).find(|(_, above)| **above * 20 <= *n);
            tail.or(x.iter().zip(above).next_back()).map_or(0.0, |(x, _)| x.0)
        }
        Points::Octaves { .. } => 0.0,
    };
    figure.lines.iter().map(|line| of_line(&line.points)).fold(0.0, f64::max)
}

/// All figures of a sweep, those without data among them.
pub fn offers_of_sweep(grid: &Grid, answer: &SweepAnswer) -> Vec<Offer> {
    let figures = sweep::figures(grid, answer.busier);
    let names: Vec<String> = answer.variants.iter().map(|variant| variant.name.clone()).collect();
    let mut offers: Vec<Offer> = Vec::new();
    for (name, shows, part, absent) in &OF_SWEEPS {
        let picture = match part {
            Part::Curves { id, is_ccdf } => {
                let found =
                    figures.iter().find(|figure| figure.kind == Kind::Distribution && figure.id.starts_with(id));
                found.map(|figure| of_figure(figure, *is_ccdf))
            }
            Part::Objective => answers::metric(answer, &answer.objective),
            Part::Metric(metric) => answers::metric(answer, &metric.replace("{busier}", answer.busier)),
            Part::Effects => answers::effects(answer),
            Part::Interaction => answers::interaction(answer, 0),
        };
        let picture = picture.ok_or_else(|| (*absent).to_owned());
        // Of others each variant is a row.
        let lines = if matches!(part, Part::Curves { .. }) { &names[..] } else { &[] };
        offers.push(Offer::new(name, (*shows).to_owned(), picture, lines));
        if matches!(part, Part::Interaction) {
            // Three axes have three pairs.
            let more = (1..).map_while(|number| Some((number, answers::interaction(answer, number)?)));
            offers.extend(more.map(|(number, picture)| {
                Offer::new(&format!("interaction-{}", number + 1), picture.title.clone(), Ok(picture), &[])
            }));
        }
    }
    offers
}
