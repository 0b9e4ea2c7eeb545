//! The first five orderings of the study over a small link: checks of `make validate`, by `examples/aikat-2010/small.toml`.

use std::fs;

use flowloom::{Context, RunOptions, Silent, Stop, SweepOptions, sweep};
use flowloom_report::statistics::Interval;

use super::cells::{CellRow, Network};
use super::claims::{Asked, Claim, Of, Ours};
use super::collect;
use super::published::{WITHOUT_WAITS, ratio};
use crate::check::{Effort, Expected, Row};

use Network::{Constrained, Unconstrained};

const GROUP: &str = "Structure of connections";
const EXPERIMENT: &str = include_str!("../../../../examples/aikat-2010/small.toml");

/// What is another of it with little effort.
const QUICK: &str = "workload.model = { kind = \"campus-2008\", scale = 0.01 }\n\
    sweep.vary = [\"workload.structure=a-t-b-t,a-b,block-sequential,block-concurrent\"]\nsweep.leave-out = []";

const FEWER: &str = "some 1,320 connections begin in a second, and without waits last for 0.45 to 0.55 s in the mean: by Little's law \
    2,000 are present. Of 45,000 a tenth would be 2.5 s each, which neither the epochs nor the sizes of methods A.14 give; behind the \
    constrained link, where they wait, the ratio is the published one";

/// The checks of an ordering. If it has a difference, the whole interval over the seeds must be above one, and the mean within the bounds. If
/// it has none, the whole interval must be within the bounds. An ordering that says why is known to be above its upper bound.
fn checks(claim: &Claim, cells: &[CellRow]) -> Vec<Row> {
    let Claim { name, source, asked, why } = claim;
    let scale = cells.first().map_or(f64::NAN, |row| row.key.scale);
    let (Asked::Ratio { least, most, .. }, Some(Ours { mean, interval: Some(Interval { low, high }), .. })) =
        (asked, claim.ours(cells, scale))
    else {
        return vec![Row::unmade(GROUP, name, *source)];
    };
    let row = |what: &str, expected, ours| Row::new(GROUP, format!("{name}{what}"), *source, expected, ours);
    if *least < 1.0 {
        return vec![
            row(": no effect, lower end", Expected::AtLeast(*least), low),
            row(": no effect, upper end", Expected::AtMost(*most), high),
        ];
    }
    let mut rows = vec![row(", lower end", Expected::AtLeast(1.0), low), row("", Expected::AtLeast(*least), mean)];
    if most.is_finite() {
        rows.push(Row { departs: why.map(str::to_owned), ..row("", Expected::AtMost(*most), mean) });
    }
    rows
}

/// Round-trip times change the small durations and not the large ones.
fn of_round_trips() -> Vec<Claim> {
    let usernet = Of::small(Unconstrained);
    let ask = |name: &str, quantity, bounds| {
        let name = format!("{name} of times to the last byte, mean RTT over usernet");
        ratio(name, "Aikat 2010, conclusion 1", (usernet.rtt("mean"), quantity), (usernet, quantity), bounds)
    };
    vec![
        ask("first quarter", "last_byte_q25_ms", (1.1, 10.0)),
        ask("80 %", "last_byte_q80_ms", (0.9, 1.11)),
        ask("90 %", "last_byte_q90_ms", (0.9, 1.11)),
    ]
}

/// What waits change of durations and active connections over `network`.
fn of_structure(network: Network) -> Vec<Claim> {
    let full = Of::small(network);
    let ask = |what: &str, structure: &'static str, quantity, bounds| {
        let name = format!("{what}, {network}, a-t-b-t over {structure}");
        let without = full.structure(structure);
        ratio(name, "Aikat 2010, conclusion 7", (full, quantity), (without, quantity), bounds)
    };
    let durations = ask("80 % of times to the last byte", "block-sequential", "last_byte_q80_ms", (5.0, 12.0));
    let present = WITHOUT_WAITS.map(|structure| Claim {
        why: (network == Unconstrained).then_some(FEWER),
        ..ask("active connections (presence)", structure, "presence_mean", (7.0, 14.0))
    });
    (network == Unconstrained).then_some(durations).into_iter().chain(present).collect()
}

/// What waits change where the link has little more than the load.
fn of_queues() -> Vec<Claim> {
    let full = Of::small(Constrained);
    let ask = |structure: &'static str, quantity, name: &str, least| {
        let name = format!("{name}, constrained, {structure} over a-t-b-t");
        let without = full.structure(structure);
        ratio(name, "Aikat 2010, conclusion 8", (without, quantity), (full, quantity), (least, f64::INFINITY))
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
    let claims = match effort {
        Effort::Full => {
            [of_round_trips(), of_structure(Constrained), of_structure(Unconstrained), of_queues()].concat()
        }
        // The link has no limit then.
        Effort::Quick => of_structure(Unconstrained),
    };
    claims.iter().flat_map(|claim| checks(claim, &cells)).collect()
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
