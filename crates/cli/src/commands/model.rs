//! `flowloom model`: the workload of an experiment, made as a run would make it.

use std::path::{Path, PathBuf};

use flowloom_core::time::Duration;
use flowloom_report::text::counted;
use flowloom_store::formats::Format;
use serde_json::json;

use crate::args;
use crate::commands::extract::contents;
use crate::experiment::Experiment;
use crate::failure::{Exit, Failure};
use crate::input::{self, Kind};
use crate::load;
use crate::making::{Made, Making, load_json};
use crate::output::Manner;
use crate::workloads::{Inputs, Source};

/// Runs the command.
pub fn run(args: &args::Model, manner: Manner) -> Result<Exit, Failure> {
    let (Some(path), Some(output)) = (&args.experiment, &args.output) else {
        return Err(Failure::usage("model needs an experiment and a file to write"));
    };
    let spec = path.display();
    if input::kind(path) != Kind::Experiment {
        return Err(Failure::usage(format_args!("{spec}: this is no experiment, whose name ends in .toml"))
            .hint("write a [workload] part with a model into one; `flowloom extract` makes workloads of captures"));
    }
    if Format::of_name(&output.to_string_lossy()).is_some_and(|format| format != Format::Parquet) {
        return Err(Failure::usage(format_args!("{}: model writes workloads (.parquet)", output.display()))
            .hint("flowloom convert writes the other forms"));
    }
    if output.exists() && !args.force {
        return Err(Failure::new(format_args!("{}: exists already", output.display()))
            .hint("--force replaces it, -o writes elsewhere"));
    }
    let experiment = Experiment::read(path)?;
    let workload = &experiment.workload;
    if !workload.is_made() {
        return Err(Failure::usage(format_args!("{spec}: [workload] names no model and changes nothing")).hint(
            "add model = { kind = \"exchanges\", ... }, structure, rtt, window or load (docs/reference/models.md)",
        ));
    }
    let paths: Vec<PathBuf> = workload.source.iter().cloned().collect();
    if paths.is_empty() && workload.model.is_none() {
        return Err(Failure::usage(format_args!("{spec}: [workload] names no source and no model"))
            .hint("add source = \"FILE\": a capture or a workload, relative to the experiment file"));
    }
    let kind = paths.first().map_or(Kind::Experiment, |path| input::kind(path));
    if let Some(path) = paths.first() {
        input::refuse_idle_options(&args.capture, kind, path)?;
    }
    let given = args.duration.or(experiment.measure.duration.as_ref().map(|duration| duration.value));
    let given = given.filter(|duration| !duration.is_zero());
    if workload.model.is_some() && given.is_none() {
        return Err(Failure::usage(format_args!("{spec}: measure.duration is missing"))
            .hint("a model goes on for ever: say for how long with --duration 60s, or in the experiment"));
    }
    let seed = args.seed.unwrap_or(experiment.run.seeds[0]);
    manner.start("model")?;
    let inputs = Inputs { paths: &paths, kind, capture: &args.capture, target: output };
    let base = Source::open(inputs, manner)?;
    if base.interrupted {
        return Err(load::interrupted());
    }
    let base = Some(&base).filter(|base| base.path.is_some());
    let duration = given.map(|duration| duration + workload.prefill().shift());
    let made = Making { workload, base, seed, duration }.write(output)?;
    for (cause, remedy) in made.warnings() {
        manner.warn(&cause, &remedy);
    }
    for remark in &made.remarks {
        manner.warn(remark, "docs/reference/models.md says what the model takes and what it means");
    }
    if made.facts.connections == 0 {
        manner.warn("no connection starts: the workload is empty", "raise the rate or the duration");
    }
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
    let connections = facts.connections - facts.datagram_flows;
    format!(
        "{}, {}\n{}  workload    {}, {}\n",
        Duration::from_nanos(capture.duration_ns),
        contents(capture, connections, 0),
        made.text(),
        output.display(),
        counted(facts.connections, "vector"),
    )
}
