//! `flowloom run`: replay a capture, a workload or an experiment, measure, compare with the original, report.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use flowloom_core::model::Placed;
use flowloom_core::path::Trace;
use flowloom_core::record::{Recorder, Series};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{LinkSide, Protocol};
use flowloom_live::guests::Guest;
use flowloom_live::plan::{Need, Planner};
use flowloom_live::{Observed, Options};
use flowloom_report::facts::set_aside_text;
use flowloom_report::text::{counted, thousands};
use flowloom_report::{Facts, HostFacts, Original, Run, Verdict};
use flowloom_sim::events::Implementation;
use flowloom_sim::{Classed, Config, DatagramFlow, Progress as SimProgress, RunError, Summary};
use flowloom_store::run_folder::{RunFolder, RunIndex, RunOptions, RunWriter, TrafficPoint};
use flowloom_store::workload::{WorkloadError, WorkloadFacts};

use crate::args;
use crate::clock::{self, Stopwatch};
use crate::commands::internetwork;
use crate::experiment::{self, DatagramModel, Experiment, LossChoice, Pair, Quantity, Shape};
use crate::failure::{Exit, Failure};
use crate::input::{self, Kind};
use crate::interrupt::{self, LeftToProgram};
use crate::intervals::Intervals;
use crate::lab_hosts::{LabHosts, clock_note};
use crate::live;
use crate::load;
use crate::making::Making;
use crate::output::Manner;
use crate::pipeline::{self, Read};
use crate::plausibility;
use crate::progress::Progress;
use crate::recording::{LinkCapture, Recording, Unrecorded};
use crate::results::{REPORT_FILE, answer, load, write_own_report};
use crate::senders::{Senders, Together};
use crate::simulation::{self, config};
use crate::workloads::{Inputs, Source, file_name};

/// What is to be run: everything resolved but the workload's own facts.
struct Plan {
    experiment: Experiment,
    /// The file it was read from.
    file: Option<PathBuf>,
    /// What the workload is made of; nothing if only sources send.
    sources: Vec<PathBuf>,
    /// What all of them are.
    kind: Kind,
    target: PathBuf,
    /// Of its bottleneck, from the left and from the right.
    traces: Option<[Arc<Trace>; 2]>,
    /// Links whose packets are captured.
    captured: Vec<Pair>,
}

/// Runs the command.
pub fn run(args: &args::Run, manner: Manner) -> Result<Exit, Failure> {
    if args.inputs.iter().any(|path| input::kind(path) == Kind::Specification) {
        return internetwork::run(args, manner);
    }
    if args.cell_trace.is_some() {
        return Err(Failure::usage("--cell-trace is about specifications of internetworks (.spec)"));
    }
    with_guests(args, Vec::new(), manner)
}

/// Runs the command with programs of the user's inside the sides, if it is live; the run ends with the one that it is there for, if
/// there is one, and so does this.
pub fn with_guests(args: &args::Run, guests: Vec<Guest>, manner: Manner) -> Result<Exit, Failure> {
    manner.start("run")?;
    let plan = plan(args, !guests.is_empty())?;
    let seeds = &plan.experiment.run.seeds;
    if seeds.len() > 1 && !guests.is_empty() {
        return Err(Failure::usage("a program is run once, and run.seeds names more than one seed")
            .hint("take an experiment with one seed, or call `flowloom shell` for each"));
    }
    refuse_existing(&plan.target, args.force, seeds.len() > 1)?;
    let sources = sources(&plan, args, manner)?;
    for source in &sources {
        refuse_empty(&plan, source)?;
    }
    if seeds.len() > 1 && !plan.experiment.draws() {
        manner.warn(
            "the replay of a workload has no randomness but its sequence numbers: runs with other seeds are alike",
            "one seed is enough",
        );
    }
    let shape = plan.experiment.network.shape().map_err(Failure::usage)?;
    let events = match args.event_queue {
        args::EventQueue::Wheel => Implementation::Wheel,
        args::EventQueue::Heap => Implementation::Heap,
    };
    let senders = Senders::new(&plan.experiment, &shape)?;
    let lab = match &args.on {
        args::Driver::Lab(_) if plan.experiment.live.hosts.is_some() => {
            return Err(Failure::usage("live.hosts is about emulated hosts here, and --on lab has others")
                .hint("take live.hosts out, and name as many hosts in HOSTS.toml"));
        }
        args::Driver::Lab(file) => Some(LabHosts::read(file, &args.lab)?),
        args::Driver::Sim | args::Driver::Live => None,
    };
    if args.on != args::Driver::Sim {
        let checked = plan.experiment.check_live_sources().map_err(Failure::usage);
        let hint = "make the segments smaller, or simulate it (--on sim)";
        checked.map_err(|failure| located(failure.hint(hint), plan.file.as_deref()))?;
    }
    let parts = sources.into_iter().map(|source| {
        if !plan.experiment.sources.is_empty() && source.facts.connections > experiment::FIRST_FLOW {
            return Err(Failure::new("a workload of more than 2^31 connections cannot have sources beside it"));
        }
        let config = config(&plan.experiment, &shape, &senders, &source.facts, plan.traces.clone());
        let config = Config { events, ..config.map_err(|failure| located(failure, plan.file.as_deref()))? };
        let live = match args.on {
            args::Driver::Sim => None,
            args::Driver::Live | args::Driver::Lab(_) => {
                // Other hosts say themselves what their kernels cannot do.
                if lab.is_none() {
                    flowloom_live::check(&config).map_err(live::failure)?;
                }
                let need = need(&plan, &source, &senders, &config)?;
                need.doubts().iter().for_each(|doubt| manner.warn(doubt, "look at the verdict of the run"));
                let mut options = live::options(&plan.experiment.live, &need, guests.clone())?;
                options.workers = lab.as_ref().map_or(0, LabHosts::most_of_a_side).max(options.workers);
                Some(options)
            }
        };
        Ok(Part { source, config, live })
    });
    let parts = parts.collect::<Result<Vec<_>, Failure>>()?;
    let job = Job { plan: &plan, args, lab, parts, shape: &shape, senders: &senders, guest: Mutex::default() };
    let exit = match seeds[..] {
        [seed] => job.single(seed, manner)?,
        _ => job.several(manner)?,
    };
    let shared = job.parts.len() == 1;
    for (part, seed) in job.parts.into_iter().zip(seeds) {
        let folder = RunIndex::seed_folder(&plan.target, *seed);
        // A run that was not begun has no folder to keep it in.
        match shared {
            true => part.source.keep(&plan.target)?,
            false if folder.is_dir() => part.source.keep(&folder)?,
            false => {}
        }
    }
    Ok(exit)
}

/// The workloads of the runs: one for all seeds, or one for each if it is drawn.
fn sources(plan: &Plan, args: &args::Run, manner: Manner) -> Result<Vec<Source>, Failure> {
    let inputs = Inputs { paths: &plan.sources, kind: plan.kind, capture: &args.capture, target: &plan.target };
    let workload = &plan.experiment.workload;
    let base = match workload.model {
        None => Some(Source::open(inputs, manner)?),
        Some(_) => None,
    };
    let base = match base {
        Some(base) if base.path.is_none() || !workload.is_made() => return Ok(vec![base]),
        base => base,
    };
    let seeds = &plan.experiment.run.seeds;
    let seeds = if workload.is_drawn() { &seeds[..] } else { &seeds[..1] };
    let duration = plan.experiment.measure.duration.as_ref().map(|duration| duration.value);
    let duration = duration.map(|duration| duration + workload.prefill().shift());
    let made = |&seed| Source::made(&Making { workload, base: base.as_ref(), seed, duration }, &plan.target, manner);
    seeds.iter().map(made).collect()
}

/// Says no to a workload without anything to replay.
fn refuse_empty(plan: &Plan, source: &Source) -> Result<(), Failure> {
    if source.path.is_none() || source.facts.connections > left_out(plan, &source.facts) {
        return Ok(());
    }
    let failure = Failure::new("there is no connection to replay");
    if plan.experiment.workload.is_made() {
        return Err(failure.hint("ask for a longer duration, or for more of them"));
    }
    let failure = match set_aside_text(&set_aside(plan, &source.facts)) {
        reasons if reasons.is_empty() => failure,
        reasons => failure.note(format_args!("set aside: {reasons}")),
    };
    Err(failure.hint("`flowloom describe -v` says what the input holds and why it was set aside"))
}

/// What the flows of datagrams of the workload send, if they do.
fn replayed_datagrams(source: &Source, senders: &Senders<'_>, config: &Config) -> Result<Vec<DatagramFlow>, Failure> {
    senders.datagrams(source.vectors()?, config).map_err(Failure::new)
}

/// What the connections and flows of a live run need of the host, before anything is sent: those of the sources under the first seed.
fn need(plan: &Plan, source: &Source, senders: &Senders<'_>, config: &Config) -> Result<Need, Failure> {
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
        let classed = classed.map_err(Failure::new)?;
        if !in_window(&classed) {
            break;
        }
        if classed.vector.protocol == Protocol::Tcp {
            planner.add(&classed, config);
        }
    }
    Ok(planner.need(config))
}

/// Reads the experiment, or makes one of the command line; options override the file.
fn plan(args: &args::Run, has_guests: bool) -> Result<Plan, Failure> {
    let experiments = args.inputs.iter().filter(|path| input::kind(path) == Kind::Experiment).count();
    if experiments > 0 && args.inputs.len() > 1 {
        return Err(Failure::usage("an experiment file is run alone").hint("it names its workload itself"));
    }
    let first = &args.inputs[0];
    let mut experiment = if experiments == 1 { Experiment::read(first)? } else { Experiment::default() };
    let sources = match experiment.workload.source.clone() {
        Some(source) => vec![source],
        None if !experiment.sources.is_empty() || experiment.workload.model.is_some() => {
            if experiment.measure.duration.is_none() && args.duration.is_none() {
                let name = first.display();
                return Err(Failure::usage(format_args!("{name}: measure.duration is missing")).hint(
                    "without a capture nothing else says how long is sent: duration = \"60s\", or --duration 60s",
                ));
            }
            Vec::new()
        }
        // There is something to run all the same, for as long as that takes.
        None if has_guests => {
            experiment.measure.duration.get_or_insert_with(|| Quantity::of("24h"));
            Vec::new()
        }
        None if experiments == 1 => {
            return Err(Failure::usage(format_args!("{}: [workload] names no source", first.display())).hint(
                "add source = \"FILE\": a capture or a workload, relative to the experiment file; or model = { kind = ... }, or [[sources]]",
            ));
        }
        None => args.inputs.clone(),
    };
    if let Some(folder) = sources.iter().find(|path| input::kind(path) == Kind::RunFolder) {
        return Err(Failure::usage(format_args!("{}: this is a folder", folder.display()))
            .hint("give a capture, a workload or an experiment; the workload of a run is FOLDER/workload.parquet"));
    }
    let kind = match sources.first() {
        Some(source) => {
            let kind = input::common_kind(&sources)?;
            input::refuse_idle_options(&args.capture, kind, source)?;
            kind
        }
        None => Kind::Experiment,
    };
    override_from(args, &mut experiment);
    experiment.check().map_err(Failure::usage)?;
    let captured = captured(args, &mut experiment)?;
    let file = (experiments == 1).then(|| first.clone());
    let traces = simulation::traces(&experiment).map_err(|failure| located(failure, file.as_deref()))?;
    let stem = if args.capture.anonymize { "run".to_owned() } else { stem(first) };
    // As resolved it names its source, unless names are to be left out.
    experiment.workload.source = match &sources[..] {
        [source] if !args.capture.anonymize => Some(source.clone()),
        _ => None,
    };
    let target = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("runs/{stem}-{}", clock::stamp())));
    Ok(Plan { experiment, file, sources, kind, target, traces, captured })
}

/// `failure`, with the line of its key in the experiment file, if there is one.
fn located(failure: Failure, file: Option<&Path>) -> Failure {
    match file {
        Some(file) => Experiment::locate(failure, file),
        None => failure,
    }
}

/// The links whose packets are captured. What is captured is measured, too.
fn captured(args: &args::Run, experiment: &mut Experiment) -> Result<Vec<Pair>, Failure> {
    let Some(names) = &args.pcap else { return Ok(Vec::new()) };
    let shape = experiment.network.shape().map_err(Failure::usage)?;
    let bottleneck = [shape.graph.links()[0].name.clone()];
    let names = if names.is_empty() { &bottleneck[..] } else { names };
    let mut captured: Vec<Pair> = Vec::new();
    for name in names {
        let pair = shape.pair(name).map_err(|problem| Failure::usage(format_args!("--pcap: {problem}")))?;
        if !captured.contains(&pair) {
            captured.push(pair);
        }
    }
    let monitor = &mut experiment.measure.monitor;
    monitor.extend(captured.iter().filter(|pair| !pair.is_bottleneck()).map(|pair| pair.name.clone()));
    Ok(captured)
}

fn override_from(args: &args::Run, experiment: &mut Experiment) {
    fn set<T: Clone>(value: &mut T, option: &Option<T>) {
        if let Some(option) = option {
            *value = option.clone();
        }
    }
    let bottleneck = &mut experiment.network.bottleneck;
    set(&mut bottleneck.rate, &args.rate);
    set(&mut bottleneck.delay, &args.delay);
    if args.queue.is_some() {
        bottleneck.queue.limit = args.queue.clone();
    }
    set(&mut experiment.workload.waits.min, &args.wait_min);
    set(&mut experiment.workload.waits.correct, &args.wait_correct);
    if args.duration.is_some() {
        experiment.measure.duration.clone_from(&args.duration);
    }
    if !args.seeds.is_empty() {
        experiment.run.seeds.clone_from(&args.seeds);
    }
}

/// The file name without the endings of captures and compression: `campus` of `traces/campus.pcap.gz`.
fn stem(path: &Path) -> String {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() || stem == "-" { "run".to_owned() } else { stem.to_owned() }
}

/// Says no before a long extraction, not after it.
fn refuse_existing(target: &Path, force: bool, several: bool) -> Result<(), Failure> {
    if several {
        return RunIndex::check(target, force).map_err(Failure::new);
    }
    RunWriter::check(target, force).map_err(Failure::new)
}

/// A workload and how it is run.
struct Part {
    source: Source,
    config: Config,
    /// Of live runs.
    live: Option<Options>,
}

/// What all runs of one command share.
struct Job<'a> {
    plan: &'a Plan,
    args: &'a args::Run,
    /// The hosts of the runs, where they are not on this one.
    lab: Option<LabHosts>,
    /// One for all seeds, or one for each in their order.
    parts: Vec<Part>,
    shape: &'a Shape,
    senders: &'a Senders<'a>,
    /// What the guest that the run was there for ended with.
    guest: Mutex<Option<u8>>,
}

impl Job<'_> {
    fn single(&self, seed: u64, manner: Manner) -> Result<Exit, Failure> {
        let progress = self.progress(1, manner);
        let run = self.simulate(seed, &self.plan.target, &progress, self.jobs() > 1)?;
        drop(progress);
        let exit = self.answer(std::slice::from_ref(&run), manner)?;
        match *self.guest.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            None => Ok(exit),
            Some(code) => {
                let verdict = run.summary().verdict;
                eprintln!("flowloom: {verdict}; run {0}, report {0}/{REPORT_FILE}", self.plan.target.display());
                Ok(Exit::OfProgram(code))
            }
        }
    }

    /// How many threads may be busy at once.
    fn jobs(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.args.jobs.map_or_else(cores, usize::from)
    }

    /// One run folder per seed, side by side on all cores, and an index above them.
    fn several(&self, manner: Manner) -> Result<Exit, Failure> {
        RunIndex::prepare(&self.plan.target, self.args.force).map_err(Failure::new)?;
        let seeds = &self.plan.experiment.run.seeds;
        // Live runs share the host with none.
        let side_by_side = if self.args.on == args::Driver::Sim { self.jobs().min(seeds.len()) } else { 1 };
        let beside = self.jobs() > side_by_side;
        let progress = self.progress(seeds.len() as u64, manner);
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let done: Mutex<Vec<(usize, Result<Run, Failure>)>> = Mutex::default();
        // The first is run in any case: what was asked to stop still leaves something.
        let goes_on = |index| index == 0 || !(interrupt::requested() || failed.load(Ordering::Relaxed));
        std::thread::scope(|scope| {
            for _ in 0..side_by_side {
                scope.spawn(|| {
                    while let Some((index, &seed)) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        seeds.get(index).filter(|_| goes_on(index)).map(|seed| (index, seed))
                    } {
                        let folder = RunIndex::seed_folder(&self.plan.target, seed);
                        let run = self.simulate(seed, &folder, &progress, beside);
                        failed.fetch_or(run.is_err(), Ordering::Relaxed);
                        done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, run));
                    }
                });
            }
        });
        drop(progress);
        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(index, _)| *index);
        let mut runs = done.into_iter().map(|(_, run)| run).collect::<Result<Vec<_>, _>>()?;
        let not_begun = seeds.len() - runs.len();
        if not_begun > 0 {
            let cause = format!("interrupted: of {} seeds {not_begun} were not begun", seeds.len());
            manner.warn(&cause, "run them with --seed into a folder of their own");
        }
        RunIndex::of_seeds(runs.iter().map(|run| run.facts.seed)).write(&self.plan.target).map_err(Failure::new)?;
        write_own_report(&mut runs, &self.plan.target)?;
        let exit = self.answer(&runs, manner)?;
        Ok(if not_begun > 0 { Exit::Invalid } else { exit })
    }

    fn progress(&self, runs: u64, manner: Manner) -> Progress {
        let Part { config, live, .. } = &self.parts[0];
        let step = if live.is_some() { "running live" } else { "simulating" };
        Progress::simulated(step, millis(config.window) * runs, manner)
    }

    /// The workload of the run with this seed.
    fn part(&self, seed: u64) -> &Part {
        let place = self.plan.experiment.run.seeds.iter().position(|known| *known == seed);
        place.and_then(|place| self.parts.get(place)).unwrap_or(&self.parts[0])
    }

    /// One run, from the workload file to a complete run folder with its report; `beside` other threads that read and
    /// write, or all on this one.
    fn simulate(&self, seed: u64, target: &Path, progress: &Progress, beside: bool) -> Result<Run, Failure> {
        let stopwatch = Stopwatch::start();
        let Part { source, config, live } = self.part(seed);
        let flows = self.senders.flows(seed, config.window);
        let config = Config { seed, ..config.clone() };
        let replayed = replayed_datagrams(source, self.senders, &config)?;
        let config = Config { datagrams: [flows.datagrams, replayed].concat(), ..config };
        let prefill = self.plan.experiment.workload.prefill();
        let length = Duration::from_nanos(source.facts.capture.duration_ns);
        let options = RunOptions {
            replace: self.args.force,
            queue_interval: config.queue_every,
            original_duration: Some(length.saturating_sub(prefill.shift())),
        };
        let mut writer = RunWriter::create(target, options).map_err(Failure::new)?;
        let traffic = &source.facts.traffic;
        for from in [LinkSide::Left, LinkSide::Right] {
            for (point, series) in
                [(TrafficPoint::Original, &traffic.replayed), (TrafficPoint::SetAside, &traffic.set_aside)]
            {
                writer
                    .original_traffic(point, from, &later(series.from(from), prefill.shift()))
                    .map_err(Failure::new)?;
            }
        }
        let mut reader = source.vectors()?;
        let captures = self.plan.captured.iter().map(|pair| LinkCapture::create(&writer, pair));
        let captures = captures.collect::<Result<_, _>>()?;
        let reserve = writer.reserve().clone();
        let intervals = progress.is_in_lines().then(|| Intervals::new(seed));
        let mut recorder = Recording { writer, captures, intervals };
        let window = self.window(&config);
        let begun = self.lab.as_ref().map(|lab| lab.begin(config.window + config.drain)).transpose()?;
        let (lab, mut hosts) = begun.map_or((None, None), |(lab, hosts)| (Some(lab), Some(hosts)));
        let mut totals_only = 0;
        let mut reached = 0;
        let simulate = |vectors: &mut dyn Iterator<Item = Read>,
                        mut recorder: &mut dyn Recorder<Error = Unrecorded>| {
            let placed = vectors.filter_map(|vector| match vector {
                Ok(vector) => prefill.place(vector, config.unknown_rtt).map(Ok),
                Err(error) => Some(Err(error)),
            });
            let vectors = placed.inspect(|placed| {
                let counts = |Placed { vector, .. }: &Placed| {
                    load::is_of_totals(vector) && window.contains(&vector.start.since(Time::ZERO).as_nanos())
                };
                totals_only += u64::from(placed.as_ref().is_ok_and(counts));
            });
            let class = |placed: Placed| Classed { class: self.senders.class(seed, &placed.vector), ..placed.into() };
            let together = Together::new(vectors.map(|placed| placed.map(class)), flows.connections);
            let progress = |at: SimProgress| {
                let now = millis(at.now.since(Time::ZERO).min(config.window));
                progress.advance(now - reached);
                reached = now;
                let ends = interrupt::requested() || reserve.is_spent();
                if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            match (live, hosts.take()) {
                (None, _) => Ok((flowloom_sim::run(together, &config, &mut recorder, progress)?, None)),
                (Some(options), Some(hosts)) => {
                    flowloom_live::run_elsewhere(together, &config, options, hosts, &mut recorder, progress)
                        .map(|(summary, observed)| (summary, Some(observed)))
                }
                (Some(options), None) => {
                    let _programs = (!options.guests.1.is_empty()).then(LeftToProgram::new);
                    flowloom_live::run(together, &config, options, &mut recorder, progress)
                        .map(|(summary, observed)| (summary, Some(observed)))
                }
            }
        };
        let (summary, mut observed) = match beside {
            true => pipeline::run(reader, &mut recorder, simulate),
            false => simulate(&mut reader, &mut recorder),
        }
        .map_err(live::failure)?;
        if let (Some(lab), Some(observed)) = (lab, &mut observed) {
            let (clocks, problems) = lab.end();
            observed.notes.extend(clocks.iter().map(clock_note));
            observed.problems.extend(problems);
        }
        let mut writer = recorder.finish()?;
        if let Some(observed) = &observed {
            if let Some(status) = observed.guest {
                // As shells have it where a signal ended it.
                let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
                *self.guest.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(code as u8);
            }
            live::lateness(observed).try_for_each(|row| writer.lateness(row)).map_err(Failure::new)?;
        }
        let mut facts = self.facts(seed, &config, &summary, observed.as_ref(), totals_only);
        let host = host(stopwatch);
        // The tables are closed before the answer is: it is computed from what a reader will find.
        let folder = writer.close(&facts.to_json(), &host.to_json()).map_err(Failure::new)?;
        let mut run = load(&RunFolder::open(&folder).map_err(Failure::new)?)?;
        if reserve.is_spent() {
            match &mut facts.live {
                Some(live) => live.problems.push(DISK_FULL.to_owned()),
                None => facts.warnings.push(DISK_FULL.to_owned()),
            }
        }
        // The folder says that it is not complete until it has its name; the run knows better.
        run.facts = facts.clone();
        run.name = file_name(target);
        let mut alone = vec![run];
        write_own_report(&mut alone, &folder)?;
        let run = alone.swap_remove(0);
        writer.finish(&described(&facts, &run), &host.to_json()).map_err(Failure::new)?;
        Ok(run)
    }

    /// The part of the run that results are of, in nanoseconds.
    fn window(&self, config: &Config) -> Range<u64> {
        match &self.plan.experiment.measure.window {
            Some([start, end]) => start.value.as_nanos()..end.value.as_nanos(),
            None => 0..config.window.as_nanos(),
        }
    }

    /// What run.json says beside the measurements. Inputs, options and seed decide it, nothing else (methods M.11).
    fn facts(
        &self,
        seed: u64,
        config: &Config,
        summary: &Summary,
        observed: Option<&Observed>,
        totals_only: u64,
    ) -> Facts {
        let (plan, Part { source, live: options, .. }) = (self.plan, self.part(seed));
        let to_its_end = observed.is_none() && !summary.interrupted && !source.interrupted;
        let planned = self.window(config);
        let is_cut = summary.interrupted || source.interrupted || observed.is_some_and(|observed| observed.cut_short);
        // It is as long as that takes, which nobody planned.
        let is_of_program = observed.is_some_and(|observed| observed.guest.is_some());
        let end = match is_cut {
            true => planned.end.min(summary.end.as_nanos()).max(planned.start + 1),
            false => planned.end,
        };
        let capture = &source.facts.capture;
        let experiment = Experiment { run: experiment::Run { seeds: vec![seed] }, ..plan.experiment.clone() };
        let mut provenance = BTreeMap::new();
        for input in &source.facts.provenance.inputs {
            let name = input.name.as_deref().map_or_else(|| "input".to_owned(), |name| file_name(Path::new(name)));
            // Inputs from different folders may share a name, and without names all do.
            let numbered = (2..).map(|number| format!("{name} ({number})"));
            let free = std::iter::once(name.clone()).chain(numbered).find(|name| !provenance.contains_key(name));
            let hash = if input.sha256.is_empty() { "unknown: not read to its end" } else { &input.sha256 };
            provenance.insert(free.unwrap_or(name), format!("SHA-256 {hash}"));
        }
        provenance.insert("made by".to_owned(), source.facts.provenance.tool.clone());
        for key in ["load_before", "load"] {
            if let Some(load) = source.facts.provenance.options.get(key) {
                provenance.insert(key.replace('_', " "), load.to_string());
            }
        }
        let classes = self.senders.facts(summary);
        let topology = simulation::topology(&experiment.network, self.shape, config, summary);
        Facts {
            title: experiment.title.clone().unwrap_or_default(),
            source: source.name.clone(),
            driver: if observed.is_some() { "live" } else { "sim" }.to_owned(),
            model: if source.path.is_some() { self.model() } else { String::new() },
            network: format!(
                "{}, {}, {} propagation, {}{}",
                self.plan.experiment.network.kind(),
                config.bottleneck.rate,
                config.bottleneck.delay,
                self.plan.experiment.network.bottleneck.queue,
                self.plan.experiment.network.additions()
            ),
            seed,
            window_ns: Some([planned.start, end]),
            planned_window_ns: (is_cut && !is_of_program).then_some([planned.start, planned.end]),
            experiment: experiment.to_toml(),
            command: self.command(seed, options.is_some()),
            provenance,
            interrupted: summary.interrupted || source.interrupted,
            warnings: (capture.warnings.iter().cloned())
                .chain(assumed(totals_only))
                .chain(self.left_out(source))
                .chain(if to_its_end { self.senders.not_met(summary) } else { Vec::new() })
                .chain(observed.iter().flat_map(|observed| observed.warnings.iter().cloned()))
                .collect(),
            original: source.path.as_ref().map(|_| Original {
                packets: capture.packets,
                duration_ns: capture.duration_ns,
                connections: capture.connections.total,
                totals_only,
                set_aside: set_aside(plan, &source.facts),
            }),
            events: observed.is_none().then_some(summary.events),
            plausibility: Some(plausibility::facts(config, summary, &classes, &topology)),
            classes,
            topology: Some(topology),
            live: observed.zip(options.as_ref()).map(|(observed, options)| live::facts(observed, options)),
        }
    }

    /// How the workload is replayed, in words.
    fn model(&self) -> String {
        let workload = &self.plan.experiment.workload;
        let loss = match workload.loss {
            LossChoice::None => "",
            LossChoice::Measured => ", measured losses",
        };
        let model = workload.model.as_ref().map_or_else(String::new, |model| format!("{} drawn, ", model.name()));
        format!(
            "{model}{}, {}, {} windows{loss}, waits from {} corrected by {}{}{}",
            workload.structure.name(),
            workload.rtt,
            workload.window,
            workload.waits.min,
            match workload.waits.correct {
                experiment::Correction::None => "nothing",
                experiment::Correction::Ostt => "the transit they contain",
            },
            if workload.load.is_some() { ", load changed" } else { "" },
            match &workload.prefill {
                Some(length) => format!(", beginning after {length} with what was active then"),
                None => String::new(),
            }
        )
    }

    /// Says that flows of datagrams are not replayed, if there are any.
    fn left_out(&self, source: &Source) -> Option<String> {
        let flows = left_out(self.plan, &source.facts);
        (flows > 0).then(|| {
            let other = match self.plan.kind {
                Kind::Capture => "; --tcp-only keeps them out of the workload",
                _ => "",
            };
            let flows = counted(flows, "flow");
            format!(
                "{flows} of UDP or QUIC datagrams not replayed (remedy: datagrams = \"as-seen\" in [workload] sends them{other})"
            )
        })
    }

    /// The command that makes this run again.
    fn command(&self, seed: u64, is_live: bool) -> String {
        let mut words = vec!["flowloom".to_owned(), "run".to_owned()];
        if self.args.capture.anonymize {
            words.extend(["INPUT".to_owned(), "--anonymize".to_owned()]);
        } else {
            words.extend(self.args.inputs.iter().map(|input| quoted(&input.to_string_lossy())));
        }
        let bottleneck = &self.plan.experiment.network.bottleneck;
        let waits = &self.plan.experiment.workload.waits;
        words.extend(is_live.then(|| ["--on", "live"].map(str::to_owned)).into_iter().flatten());
        let given: [(&str, bool, String); 5] = [
            ("--rate", self.args.rate.is_some(), bottleneck.rate.to_string()),
            ("--delay", self.args.delay.is_some(), bottleneck.delay.to_string()),
            ("--queue", self.args.queue.is_some(), bottleneck.queue.limit().to_string()),
            ("--wait-min", self.args.wait_min.is_some(), waits.min.to_string()),
            (
                "--duration",
                self.args.duration.is_some(),
                self.args.duration.as_ref().map(ToString::to_string).unwrap_or_default(),
            ),
        ];
        for (option, _, value) in given.into_iter().filter(|(_, given, _)| *given) {
            words.extend([option.to_owned(), value]);
        }
        if let Some(correct) = self.args.wait_correct {
            let word = if correct == experiment::Correction::None { "none" } else { "ostt" };
            words.extend(["--wait-correct".to_owned(), word.to_owned()]);
        }
        let capture = &self.args.capture;
        if !capture.anonymize {
            words.extend(capture.inside.iter().flat_map(|prefix| ["--inside".to_owned(), prefix.clone()]));
        }
        for (option, value, usual) in [
            ("--idle-timeout", capture.idle_timeout, args::IDLE_TIMEOUT),
            ("--udp-idle-timeout", capture.udp_idle_timeout, args::UDP_IDLE_TIMEOUT),
            ("--active-timeout", capture.active_timeout, args::ACTIVE_TIMEOUT),
        ] {
            if value != usual {
                // Exact: the shorter way to print a duration has three digits.
                words.extend([option.to_owned(), format!("{}ns", value.as_nanos())]);
            }
        }
        if capture.monitor != args::Monitor::Mid {
            words.extend(["--monitor".to_owned(), capture.monitor.word().to_owned()]);
        }
        if capture.max_memory != args::MAX_MEMORY {
            words.extend(["--max-memory".to_owned(), format!("{}kb", capture.max_memory.bytes() as f64 / 1e3)]);
        }
        for (option, given) in [
            ("--complete-only", capture.complete_only),
            ("--allow-truncated", capture.allow_truncated),
            ("--tcp-only", capture.tcp_only),
            ("--vlan-key", capture.vlan_key),
            ("--allow-sampled", capture.allow_sampled),
        ] {
            words.extend(given.then(|| option.to_owned()));
        }
        match self.args.pcap.as_deref() {
            None => {}
            Some([]) => words.push("--pcap".to_owned()),
            Some(links) => words.push(format!("--pcap={}", links.join(","))),
        }
        words.extend(["--seed".to_owned(), seed.to_string()]);
        words.join(" ")
    }

    /// Prints the answer.
    fn answer(&self, runs: &[Run], manner: Manner) -> Result<Exit, Failure> {
        let target = self.plan.target.display();
        answer(runs, manner, &format!("run      {target}        report   {target}/{REPORT_FILE}\n"))?;
        let invalid = runs.iter().any(|run| run.summary().verdict == Verdict::Invalid || run.facts.interrupted);
        Ok(if invalid { Exit::Invalid } else { Exit::Done })
    }
}

/// Says what of a replay of connections of which only totals are known is an assumption, if there are any.
fn assumed(totals_only: u64) -> Option<String> {
    (totals_only > 0).then(|| {
        format!(
            "connections of which only totals are known: {}; each is replayed as one request and one response without \
             waits, over an assumed round-trip time: numbers and volumes can be compared with the original, times cannot \
             (remedy: extract from the packets, if they can be captured)",
            thousands(totals_only)
        )
    })
}

/// Flows of datagrams of the workload that are not sent.
fn left_out(plan: &Plan, facts: &WorkloadFacts) -> u64 {
    match plan.experiment.workload.datagrams {
        DatagramModel::LeaveOut => facts.datagram_flows,
        DatagramModel::AsSeen => 0,
    }
}

/// What is not replayed, by reason: what extraction set aside, and flows of datagrams.
fn set_aside(plan: &Plan, facts: &WorkloadFacts) -> BTreeMap<String, u64> {
    let (capture, datagram_flows) = (&facts.capture, left_out(plan, facts));
    let quic = capture.datagrams.quic.flows.saturating_sub(capture.datagrams.quic.no_data).min(datagram_flows);
    let flows = [("flows-udp", datagram_flows - quic), ("flows-quic", quic)];
    let flows = flows.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count));
    capture.set_aside.clone().into_iter().chain(flows).collect()
}

/// Run.json: the facts and, beside them, the answer; without what may vary between machines.
fn described(facts: &Facts, run: &Run) -> serde_json::Value {
    let mut object = facts.to_json();
    let mut summary = serde_json::to_value(run.summary()).unwrap_or_default();
    if let Some(fields) = summary.as_object_mut() {
        fields.remove("wall_ns");
    }
    if facts.interrupted {
        object["complete"] = false.into();
        object["reason"] = "interrupted".into();
    }
    object["verdict"] = summary["verdict"].clone();
    object["summary"] = summary;
    object
}

fn host(stopwatch: Stopwatch) -> HostFacts {
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    HostFacts {
        wall_ns: Some(stopwatch.nanos()),
        date: clock::iso(),
        host: BTreeMap::from([
            ("kernel".to_owned(), read("/proc/sys/kernel/osrelease")),
            ("cores".to_owned(), cores.to_string()),
            ("architecture".to_owned(), std::env::consts::ARCH.to_owned()),
        ]),
    }
}

/// What a run says that has met a full disk.
const DISK_FULL: &str =
    "the disk is full: the run ended, and what was recorded until then was completed with room kept back for it";

/// Why a run stopped.
pub fn stopped(error: RunError<WorkloadError, Unrecorded>) -> Failure {
    match error {
        RunError::Workload(error) => Failure::new(error),
        RunError::Recorder(Unrecorded(failure)) => failure,
        RunError::Config(error) => Failure::usage(error),
        other => Failure::new(other),
    }
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

fn millis(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000_000
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
