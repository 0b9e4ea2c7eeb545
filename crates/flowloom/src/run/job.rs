//! The runs of a plan: from a workload file to complete run folders.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use flowloom_core::play::{Placed, Script};
use flowloom_core::record::{Recorder, Series};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{LinkSide, Protocol};
use flowloom_live::plan::{Need, Planner};
use flowloom_live::{Observed, Options, Problem};
use flowloom_report::{Facts, Run};
use flowloom_sim::{Classed, Config, DatagramFlow, Progress as SimProgress};
use flowloom_store::run_folder::{RunFolder, RunIndex, RunOptions as FolderOptions, RunWriter, TrafficPoint};

use crate::clock::Stopwatch;
use crate::context::{Context, Progress, Step};
use crate::error::Error;
use crate::experiment::{self, Shape};
use crate::parallel::{at_once, locked, threads};
use crate::results::{self, write_own_report};
use crate::run::config::config;
use crate::run::facts::{described, host};
use crate::run::hosts::{LabHosts, clock_note};
use crate::run::intervals::Intervals;
use crate::run::pipeline::{self, Read};
use crate::run::plan::Plan;
use crate::run::recording::{LinkCapture, Recording, Unrecorded};
use crate::run::senders::{Senders, Together};
use crate::run::{Driver, RunOptions, live};
use crate::warning::Warning;
use crate::workload::load;
use crate::workload::source::{Source, file_name};

/// A workload and how it is run.
pub struct Part {
    pub source: Source,
    pub config: Config,
    /// Of live runs.
    pub live: Option<Options>,
}

/// What was noticed of a run while it went on.
#[derive(Default)]
pub struct Noticed {
    /// Connections of which only totals are known.
    pub totals_only: u64,
    /// Connections whose waits contain a transit that is made again.
    pub keep_transit: u64,
    /// Connections that cannot end within the run.
    pub cut: u64,
    /// Captures that lack packets.
    pub incomplete: Vec<Warning>,
}

/// What all runs of a plan share.
pub struct Job<'a> {
    pub plan: &'a Plan,
    pub options: &'a RunOptions,
    /// The hosts of the runs, where they are not on this one.
    lab: Option<LabHosts>,
    /// One for all seeds, or one for each in their order.
    parts: Vec<Part>,
    pub shape: &'a Shape,
    pub senders: &'a Senders<'a>,
    context: Context<'a>,
    /// What the guest that the run was there for ended with.
    guest: Mutex<Option<u8>>,
}

impl<'a> Job<'a> {
    /// Prepares the runs of a plan over these workloads.
    pub fn new(
        plan: &'a Plan,
        options: &'a RunOptions,
        shape: &'a Shape,
        senders: &'a Senders<'a>,
        sources: Vec<Source>,
        context: Context<'a>,
    ) -> Result<Job<'a>, Error> {
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
        let job = Job { plan, options, lab, parts: Vec::new(), shape, senders, context, guest: Mutex::default() };
        let parts = sources.into_iter().map(|source| job.prepare(source)).collect::<Result<_, _>>()?;
        Ok(Job { parts, ..job })
    }

    /// A workload with all that its runs need.
    fn prepare(&self, source: Source) -> Result<Part, Error> {
        let Job { plan, options, .. } = *self;
        if !plan.experiment.sources.is_empty() && source.facts.connections > experiment::FIRST_FLOW {
            return Err(Error::new("a workload of more than 2^31 connections cannot have sources beside it"));
        }
        let config = config(&plan.experiment, self.shape, self.senders, &source.facts, plan.traces.clone());
        let config = Config { events: options.events, ..config.map_err(|error| plan.located(error))? };
        let live = match options.on {
            Driver::Sim => None,
            Driver::Live | Driver::Lab(_) => Some(self.live_options(&source, &config)?),
        };
        Ok(Part { source, config, live })
    }

    /// A live run's, and warnings where the host may not do.
    fn live_options(&self, source: &Source, config: &Config) -> Result<Options, Error> {
        // Other hosts say themselves what their kernels cannot do, and start their own workers.
        if self.lab.is_none() {
            flowloom_live::check(config).map_err(live::error)?;
            if self.options.program.as_os_str().is_empty() {
                return Err(Error::usage("a live run starts a program as its workers, and the options name none")
                    .hint("set RunOptions::program to the path of the flowloom command"));
            }
        }
        let need = self.need(source, config)?;
        for doubt in need.doubts() {
            self.context.warn(&Warning::HostDoubtful(doubt));
        }
        let (keys, guests) = (&self.plan.experiment.live, self.options.guests.clone());
        let mut options = live::options(keys, &need, &self.options.program, guests)?;
        options.workers = self.lab.as_ref().map_or(0, LabHosts::most_of_a_side).max(options.workers);
        Ok(options)
    }

    /// What the connections and flows of a live run need of the host, before anything is sent: those of the sources under the first seed.
    fn need(&self, source: &Source, config: &Config) -> Result<Need, Error> {
        let Job { plan, senders, .. } = *self;
        let prefill = plan.experiment.workload.prefill();
        let mut planner = Planner::default();
        let flows = senders.flows(plan.experiment.run.seeds[0], config.window);
        flows.datagrams.iter().for_each(|flow| planner.add_datagrams(flow, config));
        replayed_datagrams(source, senders, config)?.iter().for_each(|flow| planner.add_datagrams(flow, config));
        let placed = source.vectors()?.filter_map(|vector| match vector {
            Ok(vector) => prefill.place(vector, config.unknown_rtt).map(|placed| Ok(Classed::from(placed))),
            Err(error) => Some(Err(error)),
        });
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

    /// The only run.
    pub fn single(&self, seed: u64) -> Result<Run, Error> {
        let progress = self.progress(1);
        self.simulate(seed, &self.plan.target, &progress, threads(self.options.jobs) > 1)
    }

    /// What the program that a live run was there for ended with.
    pub fn guest_code(&self) -> Option<u8> {
        *locked(&self.guest)
    }

    /// Moves workloads that were made for these runs into their folders.
    pub fn keep_workloads(self) -> Result<(), Error> {
        let shared = self.parts.len() == 1;
        for (part, seed) in self.parts.into_iter().zip(&self.plan.experiment.run.seeds) {
            let folder = RunIndex::seed_folder(&self.plan.target, *seed);
            // A run that was not begun has no folder to keep it in.
            match shared {
                true => part.source.keep(&self.plan.target)?,
                false if folder.is_dir() => part.source.keep(&folder)?,
                false => {}
            }
        }
        Ok(())
    }

    /// One run folder per seed, side by side on all cores, and an index above them.
    pub fn several(&self) -> Result<(Vec<Run>, usize), Error> {
        RunIndex::prepare(&self.plan.target, self.options.replace).map_err(Error::new)?;
        let seeds = &self.plan.experiment.run.seeds;
        // Live runs share the host with none.
        let side_by_side = if self.options.on == Driver::Sim { threads(self.options.jobs).min(seeds.len()) } else { 1 };
        let beside = threads(self.options.jobs) > side_by_side;
        let progress = self.progress(seeds.len() as u64);
        let failed = AtomicBool::new(false);
        // The first is run in any case: what was asked to stop still leaves something.
        let goes_on = |index| index == 0 || !(self.context.is_stopped() || failed.load(Ordering::Relaxed));
        let runs = at_once(side_by_side, seeds, goes_on, |&seed| {
            let folder = RunIndex::seed_folder(&self.plan.target, seed);
            let run = self.simulate(seed, &folder, &progress, beside);
            failed.fetch_or(run.is_err(), Ordering::Relaxed);
            run
        });
        drop(progress);
        let mut runs = runs.into_iter().collect::<Result<Vec<Run>, Error>>()?;
        let not_begun = seeds.len() - runs.len();
        if not_begun > 0 {
            self.context.warn(&Warning::SeedsNotBegun { seeds: seeds.len(), not_begun });
        }
        RunIndex::of_seeds(runs.iter().map(|run| run.facts.seed)).write(&self.plan.target).map_err(Error::new)?;
        write_own_report(&mut runs, &self.plan.target)?;
        Ok((runs, not_begun))
    }

    fn progress(&self, runs: u64) -> Progress<'a> {
        let Part { config, live, .. } = &self.parts[0];
        let step = if live.is_some() { Step::RunningLive } else { Step::Simulating };
        self.context.begin(step, Some(millis(config.window) * runs))
    }

    /// The workload of the run with this seed.
    pub fn part(&self, seed: u64) -> &Part {
        let place = self.plan.experiment.run.seeds.iter().position(|known| *known == seed);
        place.and_then(|place| self.parts.get(place)).unwrap_or(&self.parts[0])
    }

    /// One run, from the workload file to a complete run folder with its report; `beside` other threads that read and
    /// write, or all on this one.
    fn simulate(&self, seed: u64, target: &Path, progress: &Progress<'_>, beside: bool) -> Result<Run, Error> {
        let stopwatch = Stopwatch::start();
        let Part { source, config, live } = self.part(seed);
        let flows = self.senders.flows(seed, config.window);
        let config = Config { seed, ..config.clone() };
        let replayed = replayed_datagrams(source, self.senders, &config)?;
        let record_packets = !self.plan.captured.is_empty();
        let config = Config { datagrams: [flows.datagrams, replayed].concat(), record_packets, ..config };
        let prefill = self.plan.experiment.workload.prefill();
        let writer = self.begin_folder(target, source, &config)?;
        let mut reader = source.vectors()?;
        let captures = self.plan.captured.iter().map(|pair| LinkCapture::create(&writer, pair));
        let captures = captures.collect::<Result<_, _>>()?;
        let reserve = writer.reserve().clone();
        let intervals = self.context.wants_intervals().then(|| Intervals::new(seed));
        let mut recorder = Recording { writer, captures, intervals, context: self.context };
        let window = self.window(&config);
        let begun = self.lab.as_ref().map(|lab| lab.begin(config.window + config.drain)).transpose()?;
        let (lab, mut hosts) = begun.map_or((None, None), |(lab, hosts)| (Some(lab), Some(hosts)));
        let mut noticed = Noticed::default();
        let last = Time::ZERO + config.window + config.drain;
        let mut reached = 0;
        let simulate = |vectors: &mut dyn Iterator<Item = Read>,
                        mut recorder: &mut dyn Recorder<Error = Unrecorded>| {
            let placed = vectors.filter_map(|vector| match vector {
                Ok(vector) => prefill.place(vector, config.unknown_rtt).map(Ok),
                Err(error) => Some(Err(error)),
            });
            let vectors = placed.inspect(|placed| {
                let Ok(Placed { vector, .. }) = placed else { return };
                if window.contains(&vector.start.since(Time::ZERO).as_nanos()) {
                    let least = || Script::new(vector, &config.replay).waits();
                    noticed.cut += u64::from(vector.protocol == Protocol::Tcp && vector.start + least() > last);
                    noticed.totals_only += u64::from(load::is_of_totals(vector));
                    noticed.keep_transit += u64::from(load::keeps_transit(vector, config.replay.waits));
                }
            });
            let class = |placed: Placed| Classed { class: self.senders.class(seed, &placed.vector), ..placed.into() };
            let together = Together::new(vectors.map(|placed| placed.map(class)), flows.connections);
            let progress = |at: SimProgress| {
                let now = millis(at.now.since(Time::ZERO).min(config.window));
                progress.advance(now - reached);
                reached = now;
                let ends = self.context.is_stopped() || reserve.is_spent();
                if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            match (live, hosts.take()) {
                (None, _) => Ok((flowloom_sim::run(together, &config, &mut recorder, progress)?, None)),
                (Some(options), Some(hosts)) => {
                    flowloom_live::run_remote(together, &config, options, hosts, &mut recorder, progress)
                        .map(|(summary, observed)| (summary, Some(observed)))
                }
                (Some(options), None) => {
                    let _programs = (!options.guests.1.is_empty()).then(|| self.context.stop().hold());
                    flowloom_live::run(together, &config, options, &mut recorder, progress)
                        .map(|(summary, observed)| (summary, Some(observed)))
                }
            }
        };
        let (summary, mut observed) = match beside {
            true => pipeline::run(reader, &mut recorder, simulate),
            false => simulate(&mut reader, &mut recorder),
        }
        .map_err(live::error)?;
        if let (Some(lab), Some(observed)) = (lab, &mut observed) {
            let (clocks, problems) = lab.end();
            observed.notes.extend(clocks.iter().map(clock_note));
            observed.problems.extend(problems.iter().map(|why| Problem::Host { text: why.to_string() }));
        }
        let (writer, incomplete) = recorder.finish();
        noticed.incomplete = incomplete;
        if let Some(status) = observed.as_ref().and_then(|observed| observed.guest) {
            // As shells have it where a signal ended it.
            let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
            *locked(&self.guest) = Some(code as u8);
        }
        let facts = self.facts(seed, &config, &summary, observed.as_ref(), noticed);
        complete(writer, observed.as_ref(), facts, target, stopwatch)
    }

    /// A run folder with all that is known before the run: the original's packets over time.
    fn begin_folder(&self, target: &Path, source: &Source, config: &Config) -> Result<RunWriter, Error> {
        let shift = self.plan.experiment.workload.prefill().shift();
        let length = Duration::from_nanos(source.facts.capture.duration_ns);
        let options = FolderOptions {
            replace: self.options.replace,
            queue_interval: config.queue_every,
            original_duration: Some(length.saturating_sub(shift)),
        };
        let mut writer = RunWriter::create(target, options).map_err(Error::new)?;
        let traffic = &source.facts.traffic;
        for from in [LinkSide::Left, LinkSide::Right] {
            let series = [(TrafficPoint::Original, &traffic.replayed), (TrafficPoint::SetAside, &traffic.set_aside)];
            for (point, series) in series {
                writer.original_traffic(point, from, &later(series.from(from), shift)).map_err(Error::new)?;
            }
        }
        Ok(writer)
    }

    /// The part of the run that results are of, in nanoseconds.
    pub fn window(&self, config: &Config) -> Range<u64> {
        match &self.plan.experiment.measure.window {
            Some([start, end]) => start.value.as_nanos()..end.value.as_nanos(),
            None => 0..config.window.as_nanos(),
        }
    }
}

/// Closes the tables, measures the run by them, and gives the folder its answer, its report and its name.
fn complete(
    mut writer: RunWriter,
    observed: Option<&Observed>,
    mut facts: Facts,
    target: &Path,
    stopwatch: Stopwatch,
) -> Result<Run, Error> {
    for row in observed.into_iter().flat_map(live::lateness) {
        writer.lateness(row).map_err(Error::new)?;
    }
    let host = host(stopwatch);
    // The tables are closed before the answer is: it is computed from what a reader will find.
    let folder = writer.close(&facts.to_json(), &host.to_json()).map_err(Error::new)?;
    let mut run = results::load(&RunFolder::open(&folder).map_err(Error::new)?)?;
    if writer.reserve().is_spent() {
        facts.disk_full = true;
        let told = match &mut facts.live {
            Some(live) => &mut live.problems,
            None => &mut facts.warnings,
        };
        told.push(Warning::DiskFull.to_string());
    }
    // The folder says that it is not complete until it has its name; the run knows better.
    run.facts = facts.clone();
    run.name = file_name(target);
    let mut alone = vec![run];
    write_own_report(&mut alone, &folder)?;
    let run = alone.swap_remove(0);
    writer.finish(&described(&facts, &run), &host.to_json()).map_err(Error::new)?;
    Ok(run)
}

/// What the flows of datagrams of the workload send, if they do.
fn replayed_datagrams(source: &Source, senders: &Senders<'_>, config: &Config) -> Result<Vec<DatagramFlow>, Error> {
    senders.datagrams(source.vectors()?, config).map_err(Error::new)
}

/// What of `series` is not before `shift`, counted from there.
fn later(series: &Series, shift: Duration) -> Cow<'_, Series> {
    if shift.is_zero() {
        return Cow::Borrowed(series);
    }
    let mut rest = Series::new(series.width());
    for &(index, traffic) in series.bins() {
        let start = Time::ZERO + series.width() * index;
        if start >= Time::ZERO + shift {
            rest.add(start.before(shift), traffic);
        }
    }
    Cow::Owned(rest)
}

pub fn millis(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000_000
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
