//! The first five orderings of the study over a small link: checks of `make validate`, by `examples/aikat-2010/small.toml`.

use std::fs;

use flowloom::{Context, RunOptions, Silent, Stop, SweepOptions, sweep};
use flowloom_report::statistics::Interval;

use super::cells::{CellRow, Network};
use super::claims::{Asked, Claim, Of, Ours};
use super::collect;
use crate::check::{Effort, Expected, Row};

use Network::{Constrained, Unconstrained};

const GROUP: &str = "Structure of connections";
const EXPERIMENT: &str = include_str!("../../../../examples/aikat-2010/small.toml");

/// What is another of it with little effort.
const QUICK: &str = "workload.model = { kind = \"campus-2008\", scale = 0.01 }\n\
    sweep.vary = [\"workload.structure=a-t-b-t,a-b,block-sequential,block-concurrent\"]\nsweep.leave-out = []";

/// The structures without waits.
const WITHOUT_WAITS: [&str; 3] = ["a-b", "block-sequential", "block-concurrent"];

const FEWER: &str = "some 1,320 connections begin in a second, and without waits last for 0.45 to 0.55 s in the mean: by Little's law \
    2,000 are present. Of 45,000 a tenth would be 2.5 s each, which neither the epochs nor the sizes of methods A.14 give; behind the \
    constrained link, where they wait, the ratio is the published one";

/// An ordering: how many times as large one is as the other, at the end of the interval over the seeds that is nearer to one.
struct Ordering {
    name: String,
    source: &'static str,
    over: (Of, &'static str),
    under: (Of, &'static str),
    least: f64,
    most: f64,
    departs: Option<&'static str>,
}

impl Ordering {
    fn new(
        name: impl Into<String>,
        source: &'static str,
        over: (Of, &'static str),
        under: (Of, &'static str),
        (least, most): (f64, f64),
    ) -> Ordering {
        Ordering { name: name.into(), source, over, under, least, most, departs: None }
    }
}

impl Ordering {
    /// Its checks: of a difference that it is one, and so large; of none that the interval has no room for one.
    fn rows(self, cells: &[CellRow]) -> Vec<Row> {
        let Ordering { name, source, over, under, least, most, departs } = self;
        let asked = Asked::Ratio { over, under, least, most };
        let claim = Claim { name: name.clone(), source, asked, why: None };
        let scale = cells.first().map_or(f64::NAN, |row| row.key.scale);
        let Some(Ours { mean, interval: Some(Interval { low, high }), .. }) = claim.ours(cells, scale) else {
            return vec![Row::unmade(GROUP, name, source)];
        };
        let row = |what: &str, expected, ours| Row::new(GROUP, format!("{name}{what}"), source, expected, ours);
        if least < 1.0 {
            return vec![
                row(": no effect, lower end", Expected::AtLeast(least), low),
                row(": no effect, upper end", Expected::AtMost(most), high),
            ];
        }
        let mut rows = vec![row(", lower end", Expected::AtLeast(1.0), low), row("", Expected::AtLeast(least), mean)];
        if most.is_finite() {
            rows.push(Row { departs: departs.map(str::to_owned), ..row("", Expected::AtMost(most), mean) });
        }
        rows
    }
}

fn control(network: Network) -> Of {
    Of::control("campus-2008", network).minutes(6)
}

/// Round-trip times change the small durations and not the large ones.
fn of_round_trips() -> Vec<Ordering> {
    let source = "Aikat 2010, conclusion 1";
    let usernet = control(Unconstrained);
    let ask = |name: &str, quantity, bounds| {
        Ordering::new(name, source, (usernet.rtt("mean"), quantity), (usernet, quantity), bounds)
    };
    vec![
        ask("first quarter of times to the last byte, mean RTT over usernet", "last_byte_q25_ms", (1.1, 10.0)),
        ask("80 % of times to the last byte, mean RTT over usernet", "last_byte_q80_ms", (0.9, 1.11)),
        ask("90 % of times to the last byte, mean RTT over usernet", "last_byte_q90_ms", (0.9, 1.11)),
    ]
}

/// What waits change of durations and active connections.
fn of_structure() -> Vec<Ordering> {
    let full = control(Unconstrained);
    let durations = Ordering::new(
        "80 % of times to the last byte, a-t-b-t over block-sequential",
        "Aikat 2010, conclusion 7",
        (full, "last_byte_q80_ms"),
        (full.structure("block-sequential"), "last_byte_q80_ms"),
        (5.0, 12.0),
    );
    let present = [(Constrained, None), (Unconstrained, Some(FEWER))].into_iter().flat_map(|(network, departs)| {
        WITHOUT_WAITS.map(|structure| Ordering {
            departs,
            ..Ordering::new(
                format!("active connections (presence), {network}, a-t-b-t over {structure}"),
                "Aikat 2010, conclusion 7",
                (control(network), "presence_mean"),
                (control(network).structure(structure), "presence_mean"),
                (7.0, 14.0),
            )
        })
    });
    [durations].into_iter().chain(present).collect()
}

/// What waits change where the link has little more than the load.
fn of_queues() -> Vec<Ordering> {
    let source = "Aikat 2010, conclusion 8";
    let full = control(Constrained);
    let ask = |structure: &'static str, quantity, name: &str, least| {
        let name = format!("{name}, constrained, {structure} over a-t-b-t");
        Ordering::new(name, source, (full.structure(structure), quantity), (full, quantity), (least, f64::INFINITY))
    };
    let queues = WITHOUT_WAITS.map(|structure| ask(structure, "queue_mean_packets", "mean queue", 2.0));
    let responses = ask("a-b", "response_p50_ms", "median response", 1.0);
    queues.into_iter().chain([responses]).collect()
}

/// The checks; with little effort those that a smaller link shows.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let cells = match cells(effort) {
        Ok(cells) => cells,
        Err(why) => return vec![Row::unmade(GROUP, format!("the sweep: {why}"), "Aikat 2010")],
    };
    let asked: Vec<Ordering> = match effort {
        Effort::Full => of_round_trips().into_iter().chain(of_structure()).chain(of_queues()).collect(),
        // The link has no limit then.
        Effort::Quick => {
            of_structure().into_iter().filter(|ordering| ordering.over.0.network == Unconstrained).collect()
        }
    };
    asked.into_iter().flat_map(|ordering| ordering.rows(&cells)).collect()
}

/// The experiment, and one of a smaller link without a limit.
fn experiment(effort: Effort) -> Result<String, toml::de::Error> {
    if effort == Effort::Full {
        return Ok(EXPERIMENT.to_owned());
    }
    let mut keys: toml::Table = EXPERIMENT.parse()?;
    let quick: toml::Table = QUICK.parse()?;
    for (name, value) in quick {
        match (keys.get_mut(&name), value) {
            (Some(toml::Value::Table(of)), toml::Value::Table(value)) => of.extend(value),
            (_, value) => drop(keys.insert(name, value)),
        }
    }
    Ok(keys.to_string())
}

/// Its runs, each as a row of numbers.
fn cells(effort: Effort) -> Result<Vec<CellRow>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (file, target) = (folder.path().join("small.toml"), folder.path().join("sweep"));
    let text = experiment(effort).map_err(|error| error.to_string())?;
    fs::write(&file, text).map_err(|error| error.to_string())?;
    let options = SweepOptions { run: RunOptions::to(&target), yes: true, ..SweepOptions::default() };
    sweep(&[file], &options, Context::new(&Silent, &Stop::new())).map_err(|error| error.to_string())?;
    collect(&target)
}
