//! Runs: an experiment and its workload through the simulator, the kernel of this host or those of a lab, into a run folder.

mod command_line;
mod config;
mod facts;
pub(crate) mod hosts;
pub(crate) mod intervals;
mod job;
mod live;
mod needs;
pub(crate) mod pipeline;
mod plan;
mod plausibility;
mod recording;
mod senders;

use std::path::PathBuf;

use flowloom_core::time::Duration;
use flowloom_core::units::Limit;
use flowloom_live::guests::Guest;
use flowloom_report::{Run, Verdict};
use flowloom_sim::events::Implementation;
use flowloom_store::run_folder::{RunIndex, RunWriter};

use crate::context::Context;
use crate::error::Error;
use crate::experiment::{Correction, Experiment, Quantity, RateChoice};
use crate::extraction::CaptureOptions;

pub(crate) use config::config;
pub use hosts::{LabHosts, agents, hosts_of, of_lab};
pub(crate) use job::millis;
pub use needs::{Needs, plan};
pub(crate) use senders::Senders;

use job::Job;
use plan::Plan;

/// Where a run happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The packet simulator.
    #[default]
    Sim,
    /// The kernel's TCP, in network namespaces on this host, in real time.
    Live,
    /// The kernel's TCP on the hosts that this file names.
    Lab(PathBuf),
}

impl Driver {
    /// What `run.json` calls it.
    pub const fn name(&self) -> &'static str {
        match self {
            Driver::Sim => "sim",
            Driver::Live => "live",
            Driver::Lab(_) => "lab",
        }
    }
}

impl std::str::FromStr for Driver {
    type Err = String;

    fn from_str(text: &str) -> Result<Driver, String> {
        match (text, text.strip_prefix("lab:")) {
            ("sim", _) => Ok(Driver::Sim),
            ("live", _) => Ok(Driver::Live),
            (_, Some(file)) if !file.is_empty() => Ok(Driver::Lab(file.into())),
            _ => Err("write sim, live, or lab:HOSTS.toml".to_owned()),
        }
    }
}

/// Values that replace those of an experiment; `None` leaves a value as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// `network.bottleneck.rate`
    pub rate: Option<Quantity<RateChoice>>,
    /// `network.bottleneck.delay`
    pub delay: Option<Quantity<Duration>>,
    /// `network.bottleneck.queue.limit`
    pub queue: Option<Quantity<Limit>>,
    /// `workload.waits.min`
    pub wait_min: Option<Quantity<Duration>>,
    /// `workload.waits.correct`
    pub wait_correct: Option<Correction>,
    /// `measure.duration`
    pub duration: Option<Quantity<Duration>>,
    /// `run.seeds`; empty leaves them as they are.
    pub seeds: Vec<u64>,
}

/// How an experiment is run, beside what the experiment says.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The run folder to write; `None`: `runs/NAME-DATE-TIME`.
    pub target: Option<PathBuf>,
    /// Replace the run folder if it exists.
    pub replace: bool,
    /// Where to run.
    pub on: Driver,
    /// The folder of a controller, for [`Driver::Lab`].
    pub lab: PathBuf,
    /// The `flowloom` command, which [`Driver::Live`] starts as its workers.
    pub program: PathBuf,
    /// Programs of the user's inside the sides of a live run; the run ends with the one that it is there for.
    pub guests: Vec<Guest>,
    /// Values that replace those of the experiment.
    pub overrides: Overrides,
    /// How many threads may be busy at once: seeds run side by side. `None`: as many as there are cores.
    pub jobs: Option<u16>,
    /// The simulator's event queue; results are the same with either.
    pub events: Implementation,
    /// Names of the links whose packets are captured; an empty list is the bottleneck.
    pub pcap: Option<Vec<String>>,
    /// How captures are read.
    pub capture: CaptureOptions,
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// The run folder, or the folder with one for each seed.
    pub folder: PathBuf,
    /// The runs, in the order of their seeds.
    pub runs: Vec<Run>,
    /// Seeds that were not begun because the work was stopped.
    pub not_begun: usize,
    /// What the program that a live run was there for ended with, as shells have it.
    pub guest_code: Option<u8>,
}

impl Ran {
    /// Whether a result is INVALID, or the run was stopped before its end.
    pub fn is_invalid(&self) -> bool {
        let is_invalid = |run: &Run| run.summary().verdict == Verdict::Invalid || run.facts.interrupted;
        self.not_begun > 0 || self.runs.iter().any(is_invalid)
    }
}

/// Runs `experiment`, whose workload is what `workload.source` names, is drawn from its model, or comes from its sources.
///
/// # Errors
/// What is wrong with the experiment or its workload; what the driver or the disk could not do.
pub fn run(experiment: Experiment, options: &RunOptions, context: Context<'_>) -> Result<Ran, Error> {
    perform(&Plan::of_experiment(experiment, options)?, options, context)
}

/// Runs `inputs`: one experiment file, or captures, a workload or other files of vectors through the default network.
///
/// # Errors
/// Those of [`run`]; inputs that do not go together.
pub fn run_files(inputs: &[PathBuf], options: &RunOptions, context: Context<'_>) -> Result<Ran, Error> {
    perform(&Plan::of_files(inputs, options)?, options, context)
}

fn perform(plan: &Plan, options: &RunOptions, context: Context<'_>) -> Result<Ran, Error> {
    let seeds = &plan.experiment.run.seeds;
    if seeds.len() > 1 && !options.guests.is_empty() {
        return Err(Error::usage("a program is run once, and run.seeds names more than one seed")
            .hint("take an experiment with one seed, or call `flowloom shell` for each"));
    }
    refuse_existing(plan, options, seeds.len() > 1)?;
    let shape = plan.experiment.network.shape()?;
    let sources = plan.sources(options, context)?;
    let senders = Senders::new(&plan.experiment, &shape, plan.has_workload())?;
    let job = Job::new(plan, options, &shape, &senders, sources, context)?;
    let (runs, not_begun) = match seeds[..] {
        [seed] => (vec![job.single(seed)?], 0),
        _ => job.several()?,
    };
    let guest_code = job.guest_code();
    job.keep_workloads()?;
    Ok(Ran { folder: plan.target.clone(), runs, not_begun, guest_code })
}

/// Refuses a target that exists before a long extraction, not after it.
fn refuse_existing(plan: &Plan, options: &RunOptions, several: bool) -> Result<(), Error> {
    if several {
        return RunIndex::check(&plan.target, options.replace).map_err(Error::new);
    }
    RunWriter::check(&plan.target, options.replace).map_err(Error::new)
}
