//! Runs: an experiment and its workload through the simulator, the kernel of this host or those of a lab, into a run folder.
//!
//! In the order of a run:
//!
//! | file | holds |
//! |---|---|
//! | `options` | how an experiment is run |
//! | `again` | how a run folder was asked for |
//! | `plan` | the experiment with its inputs and its target |
//! | `workloads` | what is replayed |
//! | `senders` | who sends: classes and sources |
//! | `setup` | the runs prepared: `config` has the simulator's numbers, `live` and `hosts` what this host and a lab need |
//! | `job` | the runs of all seeds and their folders |
//! | `pipeline` | threads that read ahead and write behind |
//! | `drive` | one run through its driver |
//! | `recording`, `intervals`, `cut` | what is kept, told and counted while it goes on |
//! | `watch`, `serve` | how it goes on: observed each second; as metrics |
//! | `real_link` | the real link that it is shown beside |
//! | `facts`, `plausibility`, `command_line` | what `run.json` says beside the measurements |
//!
//! `needs` works out what a run would need, without running it.

mod again;
mod changes;
pub(crate) mod command_line;
mod config;
mod cut;
mod drive;
mod facts;
pub(crate) mod hosts;
pub(crate) mod intervals;
mod job;
mod live;
mod load;
mod needs;
mod options;
pub(crate) mod pipeline;
pub(crate) mod plan;
mod plausibility;
mod real_link;
mod recording;
mod senders;
pub(crate) mod serve;
mod setup;
mod watch;
pub(crate) mod workloads;

use std::path::PathBuf;
use std::sync::Arc;

use flowloom_store::run_folder::{RunIndex, RunWriter};

use crate::context::{Context, Log};
use crate::error::Error;
use crate::experiment::Experiment;
use crate::input::{self, Kind};
use crate::targets::{check_folder, is_standard_output};
use crate::warning::Warning;
use crate::workload::source::Source;

pub(crate) use changes::changes;
pub use command_line::reading as reading_options;
pub(crate) use config::config;
pub(crate) use drive::millis;
pub use hosts::{LabHosts, agents, hosts_of, of_lab};
pub use job::Ran;
pub(crate) use load::link_rate;
pub(crate) use needs::plan_cell;
pub use needs::{Needs, plan, plan_files};
pub use options::{Driver, RunOptions};
pub(crate) use senders::Senders;

use again::Asked;
use job::Job;
use plan::Plan;
use serve::served;
use setup::Setup;
use workloads::{datagram_flows, workloads};

/// Runs `experiment`, whose workload is what `workload.source` names, is drawn from its model, or comes from its sources.
///
/// # Errors
/// What is wrong with the experiment or its workload; what the driver or the disk could not do.
pub fn run(experiment: Experiment, options: &RunOptions, context: Context<'_>) -> Result<Ran, Error> {
    served(options, context, |context| {
        perform(&Plan::of_experiment(experiment, options, &context.interrupt())?, options, context)
    })
}

/// Runs `inputs`: one experiment file, one run folder that is to be made again, or captures, a workload or other files of vectors through the default network.
///
/// # Errors
/// Those of [`run`]; inputs that do not go together.
pub fn run_files(inputs: &[PathBuf], options: &RunOptions, context: Context<'_>) -> Result<Ran, Error> {
    served(options, context, |context| perform_files(inputs, options, context))
}

fn perform_files(inputs: &[PathBuf], options: &RunOptions, context: Context<'_>) -> Result<Ran, Error> {
    let Some(asked) = asked_before(inputs, options)? else {
        return perform(&Plan::of_files(inputs, options, &context.interrupt())?, options, context);
    };
    let Asked { experiment, inputs, options, provenance } = asked;
    let ran = perform(&Plan::again(experiment, &inputs, &options, &context.interrupt())?, &options, context)?;
    let now = ran.runs.first().map(|run| &run.facts.provenance);
    let is_other =
        |(name, hash): &(&String, &String)| now.is_some_and(|now| now.get(*name).is_some_and(|now| now != *hash));
    for (name, _) in provenance.iter().filter(is_other) {
        context.warn(&Warning::InputChanged { name: name.clone() });
    }
    Ok(ran)
}

/// What was asked for when the run folder was made that is the only one of `inputs`; nothing if that is no run folder.
fn asked_before(inputs: &[PathBuf], options: &RunOptions) -> Result<Option<Asked>, Error> {
    match inputs {
        [folder] if input::kind(folder) == Kind::RunFolder => {
            input::refuse_idle_options(&options.capture, Kind::RunFolder, folder)?;
            again::of_folder(folder, options).map(Some)
        }
        _ => Ok(None),
    }
}

fn perform(plan: &Plan, options: &RunOptions, context: Context<'_>) -> Result<Ran, Error> {
    let seeds = &plan.experiment.run.seeds;
    if seeds.len() > 1 && !options.guests.is_empty() {
        return Err(Error::usage("a program is run once, and run.seeds names more than one seed")
            .hint("take an experiment with one seed, or call `flowloom shell` for each"));
    }
    if plan.has_sweep {
        context.warn(&Warning::SweepLeftOut);
    }
    refuse_existing(plan, options, seeds.len() > 1)?;
    perform_on(plan, options, workloads(plan, &options.capture, context)?, true, context)
}

/// One run of several that share `source`: without a report or a copy of the workload.
pub(crate) fn perform_shared(
    plan: &Plan,
    options: &RunOptions,
    source: Arc<Source>,
    context: Context<'_>,
) -> Result<Ran, Error> {
    perform_on(plan, options, vec![source], false, context)
}

/// A run of an experiment without a report and a copy of its workload, into the target of `options`.
///
/// # Errors
/// Those of [`run`].
pub(crate) fn perform_bare(experiment: Experiment, options: &RunOptions, context: Context<'_>) -> Result<Ran, Error> {
    let plan = Plan::of_experiment(experiment, options, &context.interrupt())?;
    let sources = workloads(&plan, &options.capture, context)?;
    perform_on(&plan, options, sources, false, context)
}

/// The runs of a plan over these workloads, which stand alone or are part of something.
fn perform_on(
    plan: &Plan,
    options: &RunOptions,
    sources: Vec<Arc<Source>>,
    stand_alone: bool,
    context: Context<'_>,
) -> Result<Ran, Error> {
    let log = Log::default();
    let context = context.logged(&log);
    let shape = plan.experiment.network.shape()?;
    let senders = Senders::new(&plan.experiment, &shape, plan.has_workload(), datagram_flows(&sources), &plan.runs)?;
    let setup = Setup { stand_alone, ..Setup::new(plan, options, &shape, &senders, sources, context)? };
    Job::new(setup).run()
}

/// Refuses a target that exists before a long extraction, not after it.
fn refuse_existing(plan: &Plan, options: &RunOptions, several: bool) -> Result<(), Error> {
    if options.replace || is_standard_output(&plan.target) {
        check_folder(&plan.target, &plan.files(options))?;
    }
    if several {
        return RunIndex::check(&plan.target, options.replace).map_err(Error::of);
    }
    RunWriter::check(&plan.target, options.replace).map_err(Error::of)
}
