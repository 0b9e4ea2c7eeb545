//! The runs of a plan prepared: the simulator's numbers of each workload, and what live runs need of their hosts.

use std::ops::Range;
use std::sync::Arc;

use flowloom_core::time::Time;
use flowloom_core::workload::Protocol;
use flowloom_live::Options;
use flowloom_live::plan::{Need, Planner};
use flowloom_sim::{Classed, Config};

use crate::context::Context;
use crate::error::Error;
use crate::experiment::{self, Shape};
use crate::run::config::config;
use crate::run::hosts::LabHosts;
use crate::run::live;
use crate::run::options::{Driver, RunOptions};
use crate::run::plan::Plan;
use crate::run::senders::{Senders, Together};
use crate::warning::Warning;
use crate::workload::source::Source;

/// What all runs of a plan share.
pub struct Setup<'a> {
    pub plan: &'a Plan,
    pub options: &'a RunOptions,
    pub shape: &'a Shape,
    pub senders: &'a Senders<'a>,
    pub context: Context<'a>,
    /// Whether the runs stand for themselves: with their reports, and with workloads that were made for them.
    pub stand_alone: bool,
    /// The hosts of the runs, where they are not on this one.
    pub lab: Option<LabHosts>,
    /// One workload for all seeds, or one for each in their order.
    pub workloads: Vec<Prepared>,
}

/// A workload and how it is run.
pub struct Prepared {
    pub source: Arc<Source>,
    pub config: Config,
    /// The options of a live run.
    pub live: Option<Options>,
}

impl<'a> Setup<'a> {
    /// Prepares the runs of a plan over these workloads.
    ///
    /// # Errors
    /// What the driver cannot run, or this host not hold.
    pub fn new(
        plan: &'a Plan,
        options: &'a RunOptions,
        shape: &'a Shape,
        senders: &'a Senders<'a>,
        sources: Vec<Arc<Source>>,
        context: Context<'a>,
    ) -> Result<Setup<'a>, Error> {
        let lab = match &options.on {
            Driver::Lab(_) if plan.experiment.live.hosts.is_some() => {
                return Err(Error::usage("live.hosts is about emulated hosts here, and --on lab has others")
                    .hint("take live.hosts out, and name as many hosts in HOSTS.toml"));
            }
            Driver::Lab(file) => Some(LabHosts::read(file, &options.lab)?),
            Driver::Sim | Driver::Live => None,
        };
        if options.on != Driver::Sim {
            let hint = "make the segments smaller, or simulate it (--on sim)";
            let checked = plan.experiment.check_live_sources().map_err(Error::from);
            checked.map_err(|error| plan.located(error.hint(hint)))?;
        }
        let setup = Setup { plan, options, shape, senders, context, stand_alone: true, lab, workloads: Vec::new() };
        let workloads = sources.into_iter().map(|source| setup.prepare(source)).collect::<Result<_, _>>()?;
        Ok(Setup { workloads, ..setup })
    }

    /// The workload of the run with this seed.
    pub fn prepared(&self, seed: u64) -> &Prepared {
        let place = self.plan.experiment.run.seeds.iter().position(|known| *known == seed);
        place.and_then(|place| self.workloads.get(place)).unwrap_or(&self.workloads[0])
    }

    /// The part of the run with this seed that results are of, in nanoseconds: not what comes after the end of the record that it replays,
    /// where neither the original nor the replay has traffic. Sources and programs go on after it.
    pub fn window(&self, seed: u64) -> Range<u64> {
        let Prepared { source, config, .. } = self.prepared(seed);
        self.window_of(source, config)
    }

    fn window_of(&self, source: &Source, config: &Config) -> Range<u64> {
        let planned = self.plan.window(config);
        let end = self.record_end(source).filter(|end| *end > planned.start);
        planned.start..end.unwrap_or(planned.end).min(planned.end)
    }

    /// When the record that a run replays is over, in nanoseconds from the start of the run, if nothing goes on after it.
    pub fn record_end(&self, source: &Source) -> Option<u64> {
        let Plan { experiment, .. } = self.plan;
        let ends = source.record.filter(|_| experiment.sources.is_empty() && self.options.guests.is_empty());
        Some(ends?.saturating_sub(experiment.workload.prefill().shift()).as_nanos())
    }

    fn prepare(&self, source: Arc<Source>) -> Result<Prepared, Error> {
        let Setup { plan, options, .. } = *self;
        if !plan.experiment.sources.is_empty() && source.facts.connections > experiment::FIRST_FLOW {
            return Err(Error::new("a workload of more than 2^31 connections cannot have sources beside it"));
        }
        let config = config(&plan.experiment, self.shape, self.senders, &source, plan.traces.clone());
        let config = Config { events: options.events, ..config.map_err(|error| plan.located(error))? };
        // The end of the record may make the window shorter than the experiment does, and its bins finer.
        let bins = plan.experiment.measure.check_bins(self.window_of(&source, &config));
        bins.map_err(|error| plan.located(Error::from(error)))?;
        let live = match options.on {
            Driver::Sim => None,
            Driver::Live | Driver::Lab(_) => Some(self.live_options(&source, &config)?),
        };
        Ok(Prepared { source, config, live })
    }

    /// The options of a live run, and warnings where the host may not do.
    fn live_options(&self, source: &Source, config: &Config) -> Result<Options, Error> {
        // Other hosts say themselves what their kernels cannot do, and start their own workers.
        if self.lab.is_none() {
            flowloom_live::check(config).map_err(live::error)?;
            if self.options.program.as_os_str().is_empty() {
                return Err(Error::usage("a live run starts a program as its workers, and the options name none")
                    .hint("set RunOptions::program to the path of the flowloom command"));
            }
        }
        let need = live_need(self.plan, self.senders, source, config)?;
        for doubt in need.doubts() {
            self.context.warn(&Warning::HostDoubtful(doubt));
        }
        let (keys, guests) = (&self.plan.experiment.live, self.options.guests.clone());
        let mut options = live::options(keys, &need, &self.options.program, guests)?;
        options.workers = self.lab.as_ref().map_or(0, LabHosts::most_of_a_side).max(options.workers);
        Ok(options)
    }
}

/// What the connections and flows of a live run need of the host, before anything is sent: those of the sources under the first seed.
///
/// # Errors
/// The workload's.
pub fn live_need(plan: &Plan, senders: &Senders<'_>, source: &Source, config: &Config) -> Result<Need, Error> {
    let mut planner = Planner::default();
    let flows = senders.flows(plan.experiment.run.seeds[0], config.window);
    let (replayed, _) = senders.datagrams(source.vectors()?, config).map_err(Error::new)?;
    flows.datagrams.iter().chain(&replayed).for_each(|flow| planner.add_datagrams(flow, config));
    let placed = senders.placed(source.vectors()?, config).map(|placed| placed.map(Classed::from));
    let in_window = |classed: &Classed| classed.vector.start.since(Time::ZERO) < config.window;
    for classed in Together::new(placed, flows.connections) {
        let classed = classed.map_err(Error::new)?;
        if !in_window(&classed) {
            break;
        }
        if classed.vector.protocol == Protocol::Tcp {
            planner.add(&classed, config);
        }
    }
    Ok(planner.need(config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Silent, Stop};
    use crate::error::ErrorKind;
    use crate::experiment::Experiment;

    #[test]
    fn a_live_run_without_a_program_is_refused() {
        let text = "sources = [{ name = \"a\", kind = \"bulk\", rtt = \"20ms\" }]\nmeasure = { duration = \"1s\" }";
        let folder = tempfile::tempdir().unwrap();
        let options = RunOptions { target: Some(folder.path().join("run")), on: Driver::Live, ..RunOptions::default() };
        let experiment = Experiment::parse(text, "x.toml").unwrap();
        let error = crate::run(experiment, &options, Context::new(&Silent, &Stop::new())).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
        assert!(error.cause.contains("the options name none"), "{error}");
        assert!(!folder.path().join("run").exists());
    }
}
