//! `flowloom model`: the workload of an experiment, made as a run would make it.

use std::path::Path;

use flowloom::report::words::counted;
use flowloom::time::Duration;
use flowloom::{Contents, Error, Made, MakeOptions, load_json, make};
use serde_json::json;

use crate::args;
use crate::commands::extract::contents;
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Model, manner: Manner) -> Result<Exit, Error> {
    let (Some(path), Some(output)) = (&args.experiment, &args.output) else {
        return Err(Error::usage("model needs an experiment and a file to write"));
    };
    let options =
        MakeOptions { duration: args.duration, seed: args.seed, replace: args.force, capture: args.capture.options() };
    manner.start("model")?;
    let (made, seed) = make(path, output, &options, manner.observer().context())?;
    manner.answer(|| object(&made, seed), || sentence(&made, output))?;
    Ok(Exit::Done)
}

fn object(made: &Made, seed: u64) -> serde_json::Value {
    let facts = &made.facts;
    let capture = &facts.capture;
    let mut object = json!({
        "duration_ns": capture.duration_ns,
        "seed": seed,
        "connections": capture.connections,
        "payload_bytes": capture.payload_bytes,
        "datagram_flows": facts.datagram_flows,
        "load": load_json(&made.load),
    });
    if let Some(before) = &made.before {
        object["load_before"] = load_json(before);
    }
    object
}

fn sentence(made: &Made, output: &Path) -> String {
    let facts = &made.facts;
    let capture = &facts.capture;
    let (connections, flows) = (&capture.connections, &capture.datagrams);
    let kept = Contents {
        sequential: connections.sequential,
        concurrent: connections.concurrent,
        totals_only: 0,
        udp: flows.udp.flows,
        quic: flows.quic.flows,
    };
    format!(
        "{}, {}\n{}  workload    {}, {}\n",
        Duration::from_nanos(capture.duration_ns),
        contents(kept, capture),
        made.text(),
        output.display(),
        counted(facts.connections, "vector"),
    )
}
