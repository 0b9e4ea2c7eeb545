//! `flowloom model`: the workload of an experiment, made as a run would make it.

use flowloom_core::time::Duration;
use flowloom_report::text::counted;
use flowloom_store::formats::Format;
use flowloom_store::workload::WorkloadFacts;
use serde_json::json;

use crate::args;
use crate::commands::extract::contents;
use crate::experiment::Experiment;
use crate::failure::{Exit, Failure};
use crate::input::{self, Kind};
use crate::output::Manner;
use crate::workloads::Making;

/// Runs the command.
pub fn run(args: &args::Model, manner: Manner) -> Result<Exit, Failure> {
    let spec = args.experiment.display();
    if input::kind(&args.experiment) != Kind::Experiment {
        return Err(Failure::usage(format_args!("{spec}: this is no experiment, whose name ends in .toml"))
            .hint("write a [workload] part with a model into one; `flowloom extract` makes workloads of captures"));
    }
    if Format::of_name(&args.output.to_string_lossy()).is_some_and(|format| format != Format::Parquet) {
        return Err(Failure::usage(format_args!("{}: model writes workloads (.parquet)", args.output.display()))
            .hint("flowloom convert writes the other forms"));
    }
    if args.output.exists() && !args.force {
        return Err(Failure::new(format_args!("{}: exists already", args.output.display()))
            .hint("--force replaces it, -o writes elsewhere"));
    }
    let experiment = Experiment::read(&args.experiment)?;
    let workload = &experiment.workload;
    if !workload.is_made() {
        return Err(Failure::usage(format_args!("{spec}: [workload] names no model"))
            .hint("add model = { kind = \"exchanges\", ... }; docs/models.md lists the models"));
    }
    let given = args.duration.or(experiment.measure.duration.as_ref().map(|duration| duration.value));
    let Some(duration) = given.filter(|duration| !duration.is_zero()) else {
        return Err(Failure::usage(format_args!("{spec}: measure.duration is missing"))
            .hint("a model goes on for ever: say for how long with --duration 60s, or in the experiment"));
    };
    let seed = args.seed.unwrap_or(experiment.run.seeds[0]);
    manner.start("model")?;
    let making = Making { workload, seed, duration: duration + workload.prefill().shift() };
    let facts = making.write(&args.output)?;
    manner.answer(|| object(&facts, seed), || sentence(&facts, args))?;
    Ok(Exit::Done)
}

fn object(facts: &WorkloadFacts, seed: u64) -> serde_json::Value {
    let capture = &facts.capture;
    json!({
        "duration_ns": capture.duration_ns,
        "seed": seed,
        "connections": capture.connections,
        "payload_bytes": capture.payload_bytes,
        "datagram_flows": facts.datagram_flows,
    })
}

fn sentence(facts: &WorkloadFacts, args: &args::Model) -> String {
    let capture = &facts.capture;
    let connections = facts.connections - facts.datagram_flows;
    format!(
        "{}, {}\n  workload    {}, {}\n",
        Duration::from_nanos(capture.duration_ns),
        contents(capture, connections, 0),
        args.output.display(),
        counted(facts.connections, "vector"),
    )
}
