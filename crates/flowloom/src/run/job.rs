//! The runs of a plan: from a workload file to complete run folders.

use std::borrow::Cow;
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use flowloom_core::record::Series;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_live::{Observed, Problem};
use flowloom_report::real_link::RealLinkFacts;
use flowloom_report::{Accounted, Conclusion, Facts, Run};
use flowloom_sim::Config;
use flowloom_store::run_folder::{
    IndexFolder, RunFolder, RunIndex, RunOptions as FolderOptions, RunWriter, TrafficPoint,
};

use crate::clock::Stopwatch;
use crate::context::{Event, Progress, Step};
use crate::error::Error;
use crate::parallel::{at_once, locked, threads};
use crate::results::{self, write_own_report};
use crate::run::cut::Cut;
use crate::run::drive::{Drive, millis};
use crate::run::facts::{described, facts, host};
use crate::run::hosts::clock_note;
use crate::run::intervals::Intervals;
use crate::run::options::Driver;
use crate::run::real_link::RealLink;
use crate::run::recording::{LinkCapture, Recording};
use crate::run::setup::{Prepared, Setup};
use crate::run::watch::Watch;
use crate::run::{live, pipeline};
use crate::targets::tell_part;
use crate::warning::Warning;
use crate::workload::source::{Source, file_name};

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// The run folder, or the folder with one for each seed. Runs that were stopped replace none: theirs has a name of its own then.
    pub folder: PathBuf,
    /// The runs, in the order of their seeds.
    pub runs: Vec<Run>,
    /// What is concluded from each.
    pub conclusions: Vec<Conclusion>,
    /// Seeds that were not begun because the work was stopped.
    pub not_begun: usize,
    /// What the program that a live run was there for ended with, as shells have it.
    pub guest_code: Option<u8>,
    /// How far the host kept up with the last live run.
    pub observed: Option<Observed>,
}

impl Ran {
    /// Whether a result is INVALID, or the run was stopped before its end.
    pub fn is_invalid(&self) -> bool {
        let is_invalid = |one: &Conclusion| one.summary.verdict.accounted.word == Accounted::Invalid;
        let is_interrupted = |run: &Run| run.facts.interrupted;
        self.not_begun > 0 || self.conclusions.iter().any(is_invalid) || self.runs.iter().any(is_interrupted)
    }
}

/// Runs that are complete, with what is concluded from each.
#[derive(Default)]
struct Completed {
    runs: Vec<Run>,
    conclusions: Vec<Conclusion>,
}

impl FromIterator<(Run, Conclusion)> for Completed {
    fn from_iter<T: IntoIterator<Item = (Run, Conclusion)>>(completed: T) -> Completed {
        let (runs, conclusions) = completed.into_iter().unzip();
        Completed { runs, conclusions }
    }
}

/// A run with what is concluded from it, and its folder.
type Made = ((Run, Conclusion), PathBuf);

/// The runs of a plan while they are made.
pub struct Job<'a> {
    setup: Setup<'a>,
    /// What the program that a live run is there for ended with.
    guest: Mutex<Option<u8>>,
    /// How far the host kept up with the last live run.
    observed: Mutex<Option<Observed>>,
}

impl<'a> Job<'a> {
    pub fn new(setup: Setup<'a>) -> Job<'a> {
        Job { setup, guest: Mutex::default(), observed: Mutex::default() }
    }

    /// Makes the runs, each in a folder with all that belongs to it.
    ///
    /// # Errors
    /// What a driver or the disk could not do.
    pub fn run(self) -> Result<Ran, Error> {
        let plan = self.setup.plan;
        let (Completed { runs, conclusions }, folder) = match plan.experiment.run.seeds[..] {
            [seed] => self.single(seed)?,
            _ => self.several()?,
        };
        let folder = tell_part(&plan.target, Some(folder), self.setup.context);
        let not_begun = plan.experiment.run.seeds.len() - runs.len();
        let guest_code = *locked(&self.guest);
        let observed = locked(&self.observed).take();
        Ok(Ran { folder, runs, conclusions, not_begun, guest_code, observed })
    }

    /// The only run, and its folder.
    fn single(&self, seed: u64) -> Result<(Completed, PathBuf), Error> {
        let Setup { plan, options, .. } = self.setup;
        let progress = self.progress(1);
        let beside = threads(options.jobs) > 1;
        let (run, folder) = self.simulate(seed, &plan.target, &progress, beside).map_err(Failed::told)?;
        self.keep_workloads(&folder)?;
        Ok((Completed::from_iter([run]), folder))
    }

    /// Moves workloads that were made for these runs into their folders, which are in `whole` or are it.
    fn keep_workloads(&self, whole: &Path) -> Result<(), Error> {
        let Setup { plan, workloads, stand_alone, .. } = &self.setup;
        if !stand_alone {
            return Ok(());
        }
        let shared = workloads.len() == 1;
        for (prepared, seed) in workloads.iter().zip(&plan.experiment.run.seeds) {
            let folder = RunIndex::seed_folder(whole, *seed);
            // A run that was not begun has no folder to keep it in.
            match shared {
                true => prepared.source.keep(whole)?,
                false if folder.is_dir() => prepared.source.keep(&folder)?,
                false => {}
            }
        }
        Ok(())
    }

    /// One run folder per seed, side by side on all cores, and an index above them; and the folder of all.
    fn several(&self) -> Result<(Completed, PathBuf), Error> {
        let Setup { plan, options, context, .. } = self.setup;
        let whole = RunIndex::prepare(&plan.target, options.replace).map_err(Error::of)?;
        let seeds = &plan.experiment.run.seeds;
        // Live runs share the host with none.
        let side_by_side = if options.on == Driver::Sim { threads(options.jobs).min(seeds.len()) } else { 1 };
        let beside = threads(options.jobs) > side_by_side;
        let progress = self.progress(seeds.len() as u64);
        let failed = AtomicBool::new(false);
        // The first is run in any case: what was asked to stop still leaves something.
        let goes_on = |index| index == 0 || !(context.is_stopped() || failed.load(Ordering::Relaxed));
        let runs = at_once(side_by_side, seeds, goes_on, |&seed| {
            let folder = RunIndex::seed_folder(whole.path(), seed);
            let run = self.simulate(seed, &folder, &progress, beside);
            failed.fetch_or(run.is_err(), Ordering::Relaxed);
            run
        });
        drop(progress);
        let (completed, failed): (Vec<_>, Vec<_>) = runs.into_iter().partition(Result::is_ok);
        let mut completed: Completed = completed.into_iter().flatten().map(|(run, _)| run).collect();
        let Completed { runs, conclusions } = &mut completed;
        let index = RunIndex::of_seeds(runs.iter().map(|run| run.facts.seed));
        if let Some(failed) = failed.into_iter().find_map(Result::err) {
            return Err(kept(failed, &index, whole));
        }
        let not_begun = seeds.len() - runs.len();
        if not_begun > 0 {
            context.warn(&Warning::SeedsNotBegun { seeds: seeds.len(), not_begun });
        }
        index.write(whole.path()).map_err(Error::of)?;
        write_own_report(runs, conclusions, whole.path())?;
        self.keep_workloads(whole.path())?;
        let is_complete = not_begun == 0 && !runs.iter().any(|run| run.facts.interrupted);
        let folder = whole.finish(is_complete).map_err(Error::of)?;
        Ok((completed, folder))
    }

    fn progress(&self, runs: u64) -> Progress<'a> {
        let Prepared { config, live, .. } = &self.setup.workloads[0];
        let step = if live.is_some() { Step::RunningLive } else { Step::Simulating };
        if live.is_some() {
            let at_most = config.window + config.drain;
            self.setup.context.event(&Event::RunsLive { runs, length: config.window, at_most });
        }
        self.setup.context.begin(step, Some(millis(config.window) * runs))
    }

    /// One run, from the workload file to a complete run folder with its report; `beside` other threads that read and
    /// write, or all on this one.
    fn simulate(&self, seed: u64, target: &Path, progress: &Progress<'_>, beside: bool) -> Result<Made, Failed> {
        let mut folder = PathBuf::new();
        self.record(seed, target, progress, beside, &mut folder).map_err(|error| Failed {
            error,
            recorded: Some(folder).filter(|folder| folder.is_dir()).map(PathBuf::into_boxed_path),
        })
    }

    /// The same; `folder` becomes the temporary name of the run folder.
    fn record(
        &self,
        seed: u64,
        target: &Path,
        progress: &Progress<'_>,
        beside: bool,
        folder: &mut PathBuf,
    ) -> Result<Made, Error> {
        let stopwatch = Stopwatch::start();
        let Setup { plan, senders, context, .. } = self.setup;
        let Prepared { source, config, live } = self.setup.prepared(seed);
        let flows = senders.flows(seed, config.window);
        let Range { start, end } = self.setup.window(seed);
        let results = Some([start, end].map(Time::from_nanos));
        let config = Config { seed, results, record_packets: !plan.captured.is_empty(), ..config.clone() };
        let (replayed, evened) = senders.datagrams(source.vectors()?, &config).map_err(Error::of)?;
        let config = Config { datagrams: [flows.datagrams, replayed].concat(), ..config };
        let (writer, real_link) = self.begin_folder(target, source, &config)?;
        writer.folder().clone_into(folder);
        let mut reader = source.vectors()?;
        let captures = plan.captured.iter().map(|pair| LinkCapture::create(&writer, pair));
        let captures = captures.collect::<Result<_, _>>()?;
        let reserve = writer.reserve().clone();
        let intervals = context.wants_intervals().then(|| Intervals::new(seed));
        let end = Time::ZERO + config.window + config.drain;
        let cut = Cut::new(&plan.experiment.workload, config.replay, self.setup.window(seed), end);
        let mut recorder = Recording { writer, captures, intervals, cut, context };
        // It is gone before the folder is complete, or left as it is.
        let mut watch = Watch::new(&self.setup, &config, target, recorder.writer.folder());
        let lab = self.setup.lab.as_ref();
        let (lab, hosts) = lab.map(|lab| lab.begin(config.window + config.drain)).transpose()?.unzip();
        let (setup, sources, live) = (&self.setup, flows.connections, live.as_ref());
        let drive = Drive { setup, config: &config, live, hosts, sources, progress, watch: &mut watch, reserve };
        let driven = match beside {
            true => pipeline::run(reader, &mut recorder, |vectors, recorder| drive.run(vectors, recorder)),
            false => drive.run(&mut reader, &mut recorder),
        };
        watch.finish();
        let mut driven = driven.map_err(live::error)?;
        if let (Some(lab), Some(observed)) = (lab, &mut driven.observed) {
            let (clocks, problems) = lab.end();
            observed.notes.extend(clocks.iter().map(clock_note));
            observed.problems.extend(problems.iter().map(|why| Problem::Host { text: why.to_string() }));
        }
        if let Some(observed) = &mut driven.observed {
            observed.notes.extend(live::not_replayed(&config));
            observed.notes.extend(source.trace_cut().and_then(live::handshakes_anew));
        }
        let (writer, incomplete, cut) = recorder.finish();
        (driven.noticed.incomplete, driven.noticed.cut, driven.noticed.evened) = (incomplete, cut, evened);
        if let Some(status) = driven.observed.as_ref().and_then(|observed| observed.guest) {
            // As shells have it where a signal ended it.
            let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
            *locked(&self.guest) = Some(code as u8);
        }
        let facts = Facts { real_link, ..facts(&self.setup, &config, &driven) };
        let made = complete(writer, driven.observed.as_ref(), facts, target, stopwatch, self.setup.stand_alone, watch)?;
        if driven.observed.is_some() {
            *locked(&self.observed) = driven.observed;
        }
        Ok(made)
    }

    /// A run folder with all that is known before the run: the original's packets over time, and what a real link carried.
    fn begin_folder(
        &self,
        target: &Path,
        source: &Source,
        config: &Config,
    ) -> Result<(RunWriter, Option<RealLinkFacts>), Error> {
        let Setup { plan, options, senders, .. } = self.setup;
        let shift = plan.experiment.workload.prefill().shift();
        let length = Duration::from_nanos(source.facts.capture.duration_ns);
        let options = FolderOptions {
            replace: options.replace,
            queue_interval: config.queue_every,
            original_duration: Some(length.saturating_sub(shift)),
        };
        let mut writer = RunWriter::create(target, options).map_err(Error::of)?;
        let traffic = &source.facts.traffic;
        for from in [LinkSide::Left, LinkSide::Right] {
            let datagrams = senders.sends_datagrams();
            let series = [
                (TrafficPoint::Original, traffic.sent(from, datagrams)),
                (TrafficPoint::SetAside, traffic.left_out(from, datagrams)),
            ];
            for (point, series) in series {
                writer.original_traffic(point, from, &later(&series, shift)).map_err(Error::of)?;
            }
        }
        let begin_ns = source.facts.capture.first_packet_unix_ns.map(|first| first + shift.as_nanos());
        let (window, is_nameless) = (self.setup.window(config.seed), self.setup.options.capture.anonymize);
        let record = |link: &RealLink| link.record(&mut writer, &window, begin_ns, is_nameless);
        let real_link = plan.real_link.as_ref().map(record).transpose().map_err(|error| plan.located(error))?;
        Ok((writer, real_link))
    }
}

/// What to do with what was recorded of a run that failed.
const KEPT: &str = "describe, compare and report read it; remove it if you do not need it";

/// A run that failed.
struct Failed {
    error: Error,
    /// The folder of what was recorded, if it is left.
    recorded: Option<Box<Path>>,
}

impl Failed {
    /// The error, which says where what was recorded is.
    fn told(self) -> Error {
        let Failed { error, recorded } = self;
        match recorded {
            Some(folder) => error.note(format_args!("what was recorded is in {}", folder.display())).hint(KEPT),
            None => error,
        }
    }
}

/// Keeps the runs of `index`, which are complete, where another failed, and what was recorded of that one; the error says what is where.
/// The folder gets its name if it holds a complete run and takes no other's place.
fn kept(failed: Failed, index: &RunIndex, whole: IndexFolder) -> Error {
    let has_runs = !index.runs.is_empty();
    if !has_runs && failed.recorded.is_none() {
        return failed.error;
    }
    let is_named = has_runs && !whole.replaces();
    let staged = whole.path().to_owned();
    // What cannot be listed, because there is no room for instance, is there all the same.
    let is_listed = has_runs && index.write(&staged).is_ok();
    let folder = if is_named { whole.finish(false).unwrap_or_else(|_| staged.clone()) } else { whole.keep() };
    // The folder of what was recorded has moved with all the others.
    let moved = failed.recorded.as_deref().and_then(|recorded| recorded.strip_prefix(&staged).ok());
    let recorded = moved.map(|name| folder.join(name).into_boxed_path()).or_else(|| failed.recorded.clone());
    let error = Failed { recorded, ..failed }.told();
    if !is_listed {
        return error;
    }
    let seeds: Vec<String> = index.runs.iter().map(|run| run.seed.to_string()).collect();
    error.note(format_args!("complete are the runs of seeds {} in {}", seeds.join(", "), folder.display()))
}

/// Closes the tables, measures the run by them, and gives the folder its answer, its report if it has one, and its name.
fn complete(
    mut writer: RunWriter,
    observed: Option<&Observed>,
    mut facts: Facts,
    target: &Path,
    stopwatch: Stopwatch,
    with_report: bool,
    watch: Watch<'_>,
) -> Result<Made, Error> {
    for row in observed.into_iter().flat_map(live::lateness) {
        writer.lateness(row).map_err(Error::of)?;
    }
    let host = host(stopwatch);
    // What fills up while tables are closed ends no run: all of it is recorded.
    if writer.reserve().is_spent() {
        facts.disk_full = true;
        let told = match &mut facts.live {
            Some(live) => &mut live.problems,
            None => &mut facts.warnings,
        };
        told.push(Warning::DiskFull.to_string());
    }
    // The tables are closed before the answer is: it is computed from what a reader will find.
    let folder = writer.close(&facts.to_json(), &host.to_json()).map_err(Error::of)?;
    let mut run = results::load(&RunFolder::open(&folder).map_err(Error::of)?)?;
    // The folder says that it is not complete until it has its name; the run knows better.
    run.facts = facts.clone();
    run.name = file_name(target);
    let conclusion = run.conclude();
    let mut alone = vec![run];
    if with_report {
        write_own_report(&mut alone, std::slice::from_ref(&conclusion), &folder)
            .inspect_err(|error| writer.blame(&error.cause))?;
    }
    // What others see of a run that goes on is no part of a complete one.
    drop(watch);
    let named = writer.finish(&described(&facts, &conclusion.summary), &host.to_json()).map_err(Error::of)?;
    Ok(((alone.swap_remove(0), conclusion), named))
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
