//! What makes a replay differ from its original: the run's experiment simulated with and without each cause (methods M.13).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use flowloom_report::Run;
use flowloom_report::explain::{Cause, ConnectionTimes, Explanation, Measured, Replays, Tried, most_different};
use flowloom_report::html;
use flowloom_store::run_folder::RunFolder;
use flowloom_store::staged::StagedFolder;
use flowloom_store::workload::WorkloadReader;

use crate::context::{Context, Event, Observer, Progress, Step, Stop};
use crate::error::Error;
use crate::experiment::{Experiment, causes};
use crate::parallel::{at_once, threads};
use crate::results::load_variants;
use crate::run::{RunOptions, changes, run};
use crate::targets::write_page;
use crate::workload::source::{Source, WORKLOAD_FILE};

/// Explains the run in `folder`, which replays a capture under the conditions of its original, with `jobs` simulations at a time; `None`:
/// as many as there are cores.
///
/// # Errors
/// The folder holds no such run; what the simulations or the disk could not do; a requested stop.
pub fn explain(folder: &Path, jobs: Option<u16>, context: Context<'_>) -> Result<Explanation, Error> {
    let itself = the_run(folder)?;
    let causes = causes();
    let experiment = whole(folder, &itself, &causes)?;
    let scratch = std::env::temp_dir().join("flowloom-explain");
    let scratch = StagedFolder::create(&scratch).map_err(|error| cannot(&scratch, &error))?;
    let simulations = Simulations {
        whole: experiment,
        causes: &causes,
        itself: &itself,
        scratch: scratch.path(),
        jobs: threads(jobs),
        progress: Joined { context, runs: 2 + 2 * causes.len() as u64, whole: OnceLock::new() },
    };
    simulations.explain()
}

/// Writes the page of an explanation to `path`, in place of a file if it may `replace` one.
///
/// # Errors
/// What the disk could not do.
pub fn write_explanation(explanation: &Explanation, path: &Path, replace: bool, stop: &Stop) -> Result<(), Error> {
    write_page(path, replace, stop, |out| html::write_explanation(explanation, out))
}

fn cannot(path: &Path, error: &std::io::Error) -> Error {
    Error::new(format_args!("{}: {error}", path.display()))
}

/// The only run in `folder`, if it can be explained.
fn the_run(folder: &Path) -> Result<Run, Error> {
    let name = folder.display();
    if folder.is_file() {
        return Err(Error::usage(format_args!("{name}: this is a file, and a run folder is explained"))
            .hint("give the folder that `flowloom run CAPTURE -o FOLDER` wrote"));
    }
    let mut runs = load_variants(&[folder.to_owned()])?.into_iter().flat_map(|variant| variant.runs);
    let (Some(run), None) = (runs.next(), runs.next()) else {
        return Err(Error::usage(format_args!("{name}: it has several seeds, and one run is explained"))
            .hint("name the folder of one seed"));
    };
    if run.facts.interrupted || run.facts.disk_full {
        return Err(Error::new(format_args!("{name}: the run is not complete, and a part of it is not explained"))
            .hint("run it again"));
    }
    if !run.measurements.has_original {
        let why = match (run.facts.of_model, run.facts.has_only_sources()) {
            (true, _) => "a model drew its workload",
            (_, true) => "it has no workload, only sources",
            _ => "its connections were never measured",
        };
        return Err(Error::new(format_args!("{name}: it has no original to differ from: {why}"))
            .hint("explain the replay of a capture: flowloom run CAPTURE -o FOLDER"));
    }
    Ok(run)
}

/// The experiment of `run`, with every cause, on its own workload and with its seed alone.
fn whole(folder: &Path, run: &Run, causes: &[Cause]) -> Result<Experiment, Error> {
    let experiment = Experiment::parse(&run.facts.experiment, &folder.join("run.json").display().to_string())?;
    let seed = format!("[{}]", run.facts.seed);
    let varies = experiment.run.variation().is_some();
    // How holes of a capture are read is decided in its workload.
    let experiment = experiment.with("run.seeds", &seed)?.with("workload.missing", "acknowledged")?;
    // The real link explains nothing, and its store may be gone.
    let mut experiment = experiment.without_real_link().replaying(causes, |_| true)?;
    let workload = workload(folder, &experiment)?;
    let mut source = Source::none();
    source.facts = WorkloadReader::open(&workload).map_err(Error::new)?.facts().clone();
    let mut changes = changes(&experiment, &source);
    changes.extend(varies.then(|| "starts drawn anew".to_owned()));
    if !changes.is_empty() {
        return Err(Error::new(format_args!("{}: it is no replay under its original's conditions", folder.display()))
            .note(format_args!("changed: {}", changes.join(", ")))
            .hint("run the capture without these changes, and explain that run: a changed network differs by itself"));
    }
    experiment.workload.source = Some(workload);
    Ok(experiment)
}

/// The workload that the run in `folder` replayed: in the folder, in the one above that all seeds share, or where it was given.
fn workload(folder: &Path, experiment: &Experiment) -> Result<PathBuf, Error> {
    let kept = [folder.join(WORKLOAD_FILE), folder.join("..").join(WORKLOAD_FILE)];
    let given = experiment.workload.source.clone();
    if let Some(found) = kept.into_iter().chain(given.clone()).find(|path| path.is_file()) {
        return Ok(found);
    }
    let where_it_was =
        given.map_or_else(|| "its name was left out".to_owned(), |path| format!("{} does not exist", path.display()));
    Err(Error::new(format_args!("{}: its workload is not there: {where_it_was}", folder.display()))
        .hint(format_args!("copy it to {}", folder.join(WORKLOAD_FILE).display())))
}

/// What a simulated replay came to.
struct Simulated {
    run: Run,
    times: ConnectionTimes,
}

/// The simulations that explain a run.
struct Simulations<'a> {
    whole: Experiment,
    causes: &'a [Cause],
    itself: &'a Run,
    scratch: &'a Path,
    jobs: usize,
    progress: Joined<'a>,
}

/// The causes that a replay has.
#[derive(Clone, Copy)]
enum Has {
    Nothing,
    All,
    Only(usize),
    AllBut(usize),
}

impl Has {
    fn has(self, cause: usize) -> bool {
        match self {
            Has::Nothing => false,
            Has::All => true,
            Has::Only(only) => cause == only,
            Has::AllBut(left_out) => cause != left_out,
        }
    }

    fn name(self, causes: &[Cause]) -> String {
        match self {
            Has::Nothing => "nothing".to_owned(),
            Has::All => "all".to_owned(),
            Has::Only(cause) => format!("{}-alone", causes[cause].name),
            Has::AllBut(cause) => format!("all-but-{}", causes[cause].name),
        }
    }
}

impl Simulations<'_> {
    fn explain(&self) -> Result<Explanation, Error> {
        let mut ends = self.simulate(&[Has::Nothing, Has::All], |_| true, |simulated| simulated)?;
        let (Some(all), Some(nothing)) = (ends.pop(), ends.pop()) else {
            return Err(Error::interrupted("interrupted: nothing was simulated"));
        };
        if all.run.measurements.workload != self.itself.measurements.workload {
            return Err(Error::new(format_args!("{}: its workload is another one today", self.itself.name))
                .hint("run the capture again, and explain that run"));
        }
        let most = most_different(&nothing.times, &all.times);
        let each: Vec<Has> = (0..self.causes.len()).flat_map(|cause| [Has::Only(cause), Has::AllBut(cause)]).collect();
        let measured = |mut simulated: Simulated| {
            simulated.run.measurements.take_original_traffic(&all.run.measurements);
            (Measured::of(&simulated.run), simulated.times)
        };
        let tried = self.simulate(&each, |id| most.contains(&id), measured)?;
        let mut tried = tried.into_iter();
        let tried = std::iter::from_fn(|| Some(Tried { alone: tried.next()?, left_out: tried.next()? }));
        let replays = Replays {
            nothing: measured(nothing),
            all: (Measured::of(&all.run), all.times.clone()),
            causes: tried.collect(),
        };
        let (of_run, times) = (replays.map(|(measured, _)| measured.clone()), replays.map(|(_, times)| times.clone()));
        Ok(Explanation::new(self.itself, self.causes.to_vec(), &of_run, &times, &most))
    }

    /// Simulates replays with these causes side by side, and takes `of` each before its folder is removed, with the times of the
    /// connections that `wanted` names.
    fn simulate<T: Send>(
        &self,
        replays: &[Has],
        wanted: impl Fn(u64) -> bool + Sync,
        of: impl Fn(Simulated) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let context = self.progress.context;
        let done = at_once(self.jobs, replays, |_| !context.is_stopped(), |has| self.one(*has, &wanted).map(&of));
        context.proceed()?;
        done.into_iter().collect()
    }

    fn one(&self, has: Has, wanted: &(impl Fn(u64) -> bool + Sync)) -> Result<Simulated, Error> {
        let target = self.scratch.join(has.name(self.causes));
        let part = Part { whole: &self.progress, done: AtomicU64::new(0) };
        // What is replayed is a file: its path may be any bytes.
        let source = self.whole.workload.source.clone();
        let mut experiment = self.whole.clone().replaying(self.causes, |cause| has.has(cause))?;
        experiment.workload.source = source;
        let options = RunOptions { jobs: Some(1), ..RunOptions::to(&target) };
        let ran = run(experiment, &options, Context::new(&part, self.progress.context.stop()))?;
        let folder = RunFolder::open(&ran.folder).map_err(Error::new)?;
        let run = ran.runs.into_iter().next().ok_or_else(|| Error::new("a simulation left no run"))?;
        let times = ConnectionTimes::read(&folder, run.measurements.window, wanted).map_err(Error::new)?;
        std::fs::remove_dir_all(&target).map_err(|error| cannot(&target, &error))?;
        Ok(Simulated { run, times })
    }
}

/// The progress of all simulations, as one step.
struct Joined<'a> {
    context: Context<'a>,
    runs: u64,
    whole: OnceLock<Progress<'a>>,
}

/// The progress of one of them. What it warns of was said when the run was made.
struct Part<'a, 'b> {
    whole: &'b Joined<'a>,
    done: AtomicU64,
}

impl Observer for Part<'_, '_> {
    fn event(&self, event: &Event<'_>) {
        let Joined { context, runs, whole } = self.whole;
        match event {
            Event::Began { step: Step::Simulating, total } => {
                whole.get_or_init(|| context.begin(Step::Simulating, total.map(|total| total * runs)));
            }
            Event::Advanced { step: Step::Simulating, done } => {
                let before = self.done.fetch_max(*done, Ordering::Relaxed);
                if let Some(whole) = whole.get() {
                    whole.advance(done.saturating_sub(before));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::{Duration, Time};
    use flowloom_core::workload::{Adu, Close, ConnectionVector, Endpoint, Pause, PerSide, Side};
    use flowloom_report::explain::Quantity;
    use flowloom_store::workload::{CaptureFacts, Provenance, TrafficFacts, WorkloadWriter};

    use super::*;
    use crate::context::Silent;
    use crate::error::ErrorKind;
    use crate::run::run_files;

    const CONNECTIONS: u64 = 40;
    /// More than a segment: a pause is found, without timestamps too, behind one that is smaller than others.
    const PIECE: u64 = 2_000;

    /// What a program writes in four pieces, with these pauses between them.
    fn pause(connection: u64) -> Duration {
        Duration::from_millis(100 + 10 * connection)
    }

    /// A capture of programs whose only peculiarity is that they write slowly, and its run.
    fn slow_writes(folder: &Path) -> PathBuf {
        let workload = folder.join("w.parquet");
        let mut writer = WorkloadWriter::create(&workload).unwrap();
        for id in 0..CONNECTIONS {
            let end = || Endpoint { min_transit: Some(Duration::from_millis(10)), ..Endpoint::default() };
            let adu = |side: Side, bytes| Adu {
                side,
                bytes,
                missing_bytes: 0,
                wait: Some(Duration::from_millis(20)),
                waiter: side.other(),
                seen: None,
                packets: None,
            };
            let mut vector = ConnectionVector {
                id,
                start: Time::ZERO + Duration::from_millis(200 * id),
                complete: true,
                ends: PerSide { initiator: end(), acceptor: end() },
                close: Close::Fin(Side::Initiator),
                adus: vec![adu(Side::Initiator, 300), adu(Side::Acceptor, 4 * PIECE)],
                ..ConnectionVector::default()
            };
            let pauses = (1..4).map(|piece| Pause { after_bytes: piece * PIECE, length: pause(id), heard: None });
            vector.pauses[Side::Acceptor].extend(pauses);
            writer.write(&vector).unwrap();
        }
        let capture = CaptureFacts { duration_ns: 12_000_000_000, ..CaptureFacts::default() };
        writer.finish(Provenance::default(), capture, &TrafficFacts::default()).unwrap();
        let stop = Stop::new();
        let context = Context::new(&Silent, &stop);
        let captured = RunOptions { pcap: Some(Vec::new()), ..RunOptions::to(folder.join("captured")) };
        run(Experiment::of(&workload), &captured, context).unwrap();
        let replay = folder.join("replay");
        run_files(&[folder.join("captured/link.pcap")], &RunOptions::to(&replay), context).unwrap();
        replay
    }

    /// The pauses are known: they are the whole difference, of all connections and of each.
    #[test]
    fn slow_writes_explain_a_capture_of_slow_writers() {
        let folder = tempfile::tempdir().unwrap();
        let replay = slow_writes(folder.path());
        let stop = Stop::new();
        let found = explain(&replay, Some(2), Context::new(&Silent, &stop)).unwrap();
        let pauses: u64 = (0..CONNECTIONS).map(|id| 3 * pause(id).as_nanos()).sum();
        let near = |ns: u64, wanted: u64| ns.abs_diff(wanted) < wanted / 100;
        assert!(near(found.original_adu_span_ns, pauses), "{} of {pauses}", found.original_adu_span_ns);
        for of in [Quantity::ResponseTime, Quantity::Duration, Quantity::AduSpan] {
            let explained = found.quantities.iter().find(|explained| explained.quantity == of).unwrap();
            let amount = |apart: flowloom_report::explain::Apart| apart.amount().unwrap();
            assert!(amount(explained.nothing) > 0.9 && amount(explained.all) < 0.01, "{explained:?}");
            assert_eq!(explained.explained_by.as_deref(), Some("writes"));
            for worth in &explained.causes {
                let (alone, left_out) = (worth.worth_alone.unwrap(), worth.worth_left_out.unwrap());
                match &*worth.cause {
                    "writes" => assert!(alone > 0.9 && left_out > 0.9 && amount(worth.alone) < 0.01, "{worth:?}"),
                    _ => assert!(alone.abs() < 0.001 && left_out.abs() < 0.001, "{worth:?}"),
                }
            }
        }
        assert_eq!((found.compared_connections, found.connections.len()), (CONNECTIONS, 10));
        // The longest pauses differ most.
        let last = &found.connections[0];
        let duration = last.duration.as_ref().unwrap();
        assert_eq!((last.id, duration.explained_by.as_deref()), (CONNECTIONS - 1, Some("writes")));
        assert!(near(duration.nothing_ns.unwrap().unsigned_abs(), 3 * pause(last.id).as_nanos()), "{duration:?}");
        let alone = duration.causes.iter().find(|tried| tried.cause == "writes").unwrap().alone_ns.unwrap();
        assert!(alone.abs() < 1_000_000 && duration.all_ns.unwrap().abs() < 1_000_000, "{duration:?}");
    }

    #[test]
    fn a_stop_ends_an_explanation() {
        let folder = tempfile::tempdir().unwrap();
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
        let (target, stop) = (folder.path().join("demo"), Stop::new());
        run_files(&[demo.into()], &RunOptions::to(&target), Context::new(&Silent, &stop)).unwrap();
        // When the first simulation is under way.
        let observer = |event: &Event<'_>| {
            if matches!(event, Event::Advanced { .. }) {
                stop.request();
            }
        };
        let error = explain(&target, Some(1), Context::new(&observer, &stop)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Interrupted);
    }

    /// However many simulations there are, and however they run beside each other, they are one step that is done to its end.
    #[test]
    fn simulations_are_one_step() {
        let steps = std::sync::Mutex::new(Vec::new());
        let observer = |event: &Event<'_>| steps.lock().unwrap().push(format!("{event:?}"));
        let stop = Stop::new();
        let joined = Joined { context: Context::new(&observer, &stop), runs: 2, whole: OnceLock::new() };
        let parts = [0, 0].map(|done| Part { whole: &joined, done: AtomicU64::new(done) });
        for (part, done) in [(&parts[0], 4), (&parts[1], 3), (&parts[0], 10), (&parts[1], 10)] {
            part.event(&Event::Began { step: Step::Simulating, total: Some(10) });
            part.event(&Event::Advanced { step: Step::Simulating, done });
        }
        drop(joined);
        let steps = steps.into_inner().unwrap();
        assert_eq!(steps[0], "Began { step: Simulating, total: Some(20) }");
        assert_eq!(steps[steps.len() - 2..], ["Advanced { step: Simulating, done: 20 }", "Ended(Simulating)"]);
        assert_eq!(steps.len(), 6, "{steps:?}");
    }
}
