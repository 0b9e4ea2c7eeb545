//! The workload of an experiment, made as a run would make it.

use std::path::{Path, PathBuf};

use flowloom_core::time::Duration;
use flowloom_store::formats::Format;

use crate::context::Context;
use crate::error::Error;
use crate::experiment::Experiment;
use crate::extraction::CaptureOptions;
use crate::input::{self, Kind};
use crate::targets::{check_workload_target, scratch};
use crate::warning::Warning;
use crate::workload::generation::{Generation, Made};
use crate::workload::source::{Inputs, Source, unsent_flows};

/// How a workload is made.
#[derive(Clone, Debug, Default)]
pub struct MakeOptions {
    /// Replaces `measure.duration`.
    pub duration: Option<Duration>,
    /// Replaces the seeds of the experiment.
    pub seed: Option<u64>,
    /// Replace the output if it exists.
    pub replace: bool,
    /// How captures are read.
    pub capture: CaptureOptions,
}

/// Makes the workload of the experiment in `file`, drawn from its model or changed from its source, and writes it to `output`; what was
/// made, and with which seed.
///
/// # Errors
/// An experiment that makes nothing; what is wrong with its source; what could not be written.
pub fn make(file: &Path, output: &Path, options: &MakeOptions, context: Context<'_>) -> Result<(Made, u64), Error> {
    let spec = file.display();
    if input::kind(file) != Kind::Experiment {
        return Err(Error::usage(format_args!("{spec}: this is no experiment, whose name ends in .toml"))
            .hint("write a [workload] part with a model into one; `flowloom extract` makes workloads of captures"));
    }
    if Format::of_name(&output.to_string_lossy()).is_some_and(|format| format != Format::Parquet) {
        return Err(Error::usage(format_args!("{}: model writes workloads (.parquet)", output.display()))
            .hint("flowloom convert writes the other forms"));
    }
    check_workload_target(output, options.replace, &[file.to_owned()])?;
    let experiment = Experiment::read(file)?;
    check_workload_target(output, options.replace, &experiment.files())?;
    let workload = &experiment.workload;
    if !workload.is_made() && experiment.run.variation().is_none() {
        return Err(Error::usage(format_args!("{spec}: [workload] names no model and changes nothing")).hint(
            "add model = { kind = \"exchanges\", ... }, structure, rtt, window or load (docs/reference/models.md), or vary to [run]",
        ));
    }
    let paths: Vec<PathBuf> = workload.source.iter().cloned().collect();
    if paths.is_empty() && workload.model.is_none() {
        return Err(Experiment::lacks("workload.source", Some(file)).hint(
            "add source = \"FILE\" to [workload]: a capture or a workload, relative to the experiment file; or model = { kind = ... }",
        ));
    }
    let kind = paths.first().map_or(Kind::Experiment, |path| input::kind(path));
    match paths.first() {
        Some(path) => input::refuse_idle_options(&options.capture, kind, path)?,
        None => input::refuse_reading_options(&options.capture, "this experiment reads no capture")?,
    }
    let given = options.duration.or(experiment.measure.duration.as_ref().map(|duration| duration.value));
    let given = given.filter(|duration| !duration.is_zero());
    if workload.model.is_some() && given.is_none() {
        return Err(Experiment::lacks("measure.duration", Some(file))
            .hint("a model goes on for ever: say for how long with --duration 60s, or in the experiment"));
    }
    let seed = options.seed.unwrap_or(experiment.run.seeds[0]);
    let inputs = Inputs { paths: &paths, kind, capture: &options.capture, target: &scratch(output).join("workload") };
    let base = Source::open(inputs, context)?;
    if base.interrupted {
        return Err(Error::stopped());
    }
    let base = Some(&base).filter(|base| base.path.is_some());
    let duration = given.map(|duration| duration + workload.prefill().shift());
    let variation = experiment.run.variation();
    let generation = Generation {
        workload,
        base,
        variation,
        seed,
        duration,
        anonymize: options.capture.anonymize,
        stop: context.stop(),
    };
    let made = generation.write(output, options.replace).map_err(|error| Experiment::locate_key(error, file))?;
    made.warnings().iter().for_each(|warning| context.warn(warning));
    for remark in &made.remarks {
        context.warn(&Warning::Model { remark: remark.clone() });
    }
    if made.facts.connections == 0 {
        context.warn(&Warning::Empty);
    }
    // The load counts what a run would send.
    let flows = unsent_flows(&made.facts, workload.datagrams);
    if flows > 0 {
        context.warn(&Warning::DatagramsNotReplayed { flows, of_capture: kind == Kind::Capture });
    }
    Ok((made, seed))
}
