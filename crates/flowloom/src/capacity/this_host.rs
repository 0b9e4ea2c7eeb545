//! Loads run on this host: each a live run without a report, whose folder is removed when it was read.

use std::fs;
use std::path::PathBuf;

use flowloom_core::time::Duration;
use flowloom_live::host::limits::Limits;
use tempfile::TempDir;

use crate::clock::Stopwatch;
use crate::context::{Context, Event, Progress, Silent};
use crate::error::Error;
use crate::experiment::Experiment;
use crate::run::{Driver, RunOptions, perform_bare};

use super::limits::Tried;
use super::load::{Carried, Load};
use super::part::{Observations, failure, too_little};
use super::ramp::Host;

/// How the capacity of a host is measured.
#[derive(Clone, Debug)]
pub struct CapacityOptions {
    /// The `flowloom` command, which live runs start as their workers.
    pub program: PathBuf,
    /// The loads, in their order. The one of open connections goes faster after that of starts.
    pub loads: Vec<Load>,
    /// Time that it may take, about: each load has at least one run.
    pub time: Duration,
    /// The folder of the file that keeps the limits; `None`: nothing is kept.
    pub cache: Option<PathBuf>,
}

/// A run with less than this share of the level did not keep up, whatever its gates say.
const ENOUGH: f64 = 0.8;

/// This host while it is measured.
pub struct ThisHost<'a> {
    program: PathBuf,
    /// Where its runs are written; removed at the end.
    folder: TempDir,
    watch: Stopwatch,
    progress: &'a Progress<'a>,
    context: Context<'a>,
    limits: Limits,
}

impl<'a> ThisHost<'a> {
    /// Nothing is run yet.
    pub fn new(
        options: &CapacityOptions,
        progress: &'a Progress<'a>,
        context: Context<'a>,
    ) -> Result<ThisHost<'a>, Error> {
        let folder = tempfile::Builder::new().prefix("flowloom-capacity-").tempdir();
        let folder = folder.map_err(|error| Error::new(format_args!("a folder for temporary files: {error}")))?;
        Ok(ThisHost {
            program: options.program.clone(),
            folder,
            watch: Stopwatch::start(),
            progress,
            context,
            limits: Limits::of_this_host(),
        })
    }

    /// The run of an experiment: what it carried and what failed, or nothing if the work is to stop.
    fn measured(&self, load: Load, level: f64, length: Duration) -> Result<Option<Tried>, Error> {
        let experiment = Experiment::parse(&load.experiment(level, length), load.words())?;
        let target = self.folder.path().join("run");
        let options = RunOptions { on: Driver::Live, program: self.program.clone(), ..RunOptions::to(&target) };
        let ran = perform_bare(experiment, &options, Context::new(&Silent, self.context.stop()));
        let _ = fs::remove_dir_all(&target);
        if self.context.is_stopped() {
            return Ok(None);
        }
        let ran = ran?;
        let (Some(conclusion), Some(observed)) = (ran.conclusions.first(), &ran.observed) else {
            return Err(Error::new("a live run says nothing of its host"));
        };
        let summary = &conclusion.summary;
        let rates = &summary.throughput;
        let mean = |series: Option<f64>| series.unwrap_or(0.0);
        let bits = mean(rates.left_to_right_bits_per_second.mean) + mean(rates.right_to_left_bits_per_second.mean);
        let carried =
            Carried { started: observed.started, packets: observed.packets, bits: bits * length.as_secs_f64() };
        let reached = load.reached(&carried, length).round();
        let observations = Observations::from(observed);
        let failure = failure(&summary.gates, &observations).or_else(|| {
            (reached < ENOUGH * level).then(|| too_little(&load.show(level), &load.show(reached), &observations))
        });
        Ok(Some(Tried { load, level, reached, other_busy: (1e3 * observations.other).round() / 1e3, failure }))
    }
}

impl Host for ThisHost<'_> {
    type Error = Error;

    fn run(&mut self, load: Load, level: f64, starts: Option<f64>) -> Result<Option<Tried>, Error> {
        if self.context.is_stopped() {
            return Ok(None);
        }
        let tried = self.measured(load, level, load.length(level, starts))?;
        self.progress.set(self.watch.nanos() / 1_000_000);
        if let Some(tried) = &tried {
            self.context.event(&Event::LoadTried(tried));
        }
        Ok(tried)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.watch.nanos())
    }

    fn room(&self, load: Load) -> f64 {
        match load {
            // Half as many more are planned for than are open.
            Load::Open => (self.limits.connections() as f64 / 1.5).floor(),
            Load::Starts | Load::Packets | Load::Bits => f64::INFINITY,
        }
    }
}
