//! What is to be run: an experiment with all that overrides it, its inputs, and where it goes.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowloom_core::path::Trace;
use flowloom_core::play::Run;
use flowloom_monitor::BITS_OF_CELL;
use flowloom_sim::Config;
use flowloom_store::interrupt::Interrupt;
use flowloom_store::mahimahi;
use flowloom_store::rates::{self, Rates};
use flowloom_store::workload::InputFile;

use crate::clock;
use crate::error::{Error, ErrorKind, KeyError};
use crate::experiment::{Experiment, Pair, Quantity, Source, given_by};
use crate::input::{self, Kind};
use crate::results::is_sweep;
use crate::run::options::{Driver, RunOptions};
use crate::run::real_link::RealLink;
use crate::workload::source::file_name;

/// Everything resolved but the workload's own facts.
pub struct Plan {
    pub experiment: Experiment,
    /// Whether the experiment was given with variants, which a run leaves out.
    pub has_sweep: bool,
    /// Its keys as they were given, and the folder that their paths are relative to.
    pub keys: Option<(String, PathBuf)>,
    /// What the user named.
    pub inputs: Vec<PathBuf>,
    /// The file that the experiment was read from.
    pub file: Option<PathBuf>,
    /// What the workload is made of; nothing if only sources send.
    pub sources: Vec<PathBuf>,
    /// What all of them are.
    pub kind: Kind,
    pub target: PathBuf,
    /// Of its bottleneck, from the left and from the right.
    pub traces: Option<[Arc<Trace>; 2]>,
    /// Of each source, what its flows send, if that follows a file of rates.
    pub runs: Vec<Option<Arc<[Run]>>>,
    /// The real link that its runs are shown beside.
    pub real_link: Option<RealLink>,
    /// Files that decide numbers beside the workload: traces, and rates of sources.
    pub read: Vec<InputFile>,
    /// Links whose packets are captured.
    pub captured: Vec<Pair>,
}

/// What an experiment names beside its workload.
struct Read {
    traces: Option<[Arc<Trace>; 2]>,
    runs: Vec<Option<Arc<[Run]>>>,
    real_link: Option<RealLink>,
    files: Vec<InputFile>,
}

impl Read {
    fn of(experiment: &Experiment, anonymize: bool, interrupt: &Interrupt) -> Result<Read, Error> {
        let real_link = experiment.measure.real_link.as_ref().map(RealLink::find).transpose();
        match (traces(experiment, interrupt), runs(experiment, interrupt), real_link) {
            (Ok(traces), Ok(runs), Ok(real_link)) => {
                let of_traces = experiment.network.bottleneck.trace.iter().flat_map(|trace| trace.files());
                let of_sources = experiment.sources.iter().filter_map(Source::rates);
                // What came through a pipe is gone.
                let mut files: Vec<&Path> =
                    of_traces.map(PathBuf::as_path).chain(of_sources).filter(|path| path.is_file()).collect();
                files.sort_unstable();
                files.dedup();
                let file = |path: &Path| {
                    let file = InputFile::of(path).map_err(|error| Error::of_file(path, &error))?;
                    Ok(InputFile { name: file.name.filter(|_| !anonymize), ..file })
                };
                let files = files.into_iter().map(file).collect::<Result<_, Error>>()?;
                Ok(Read { traces, runs, real_link, files })
            }
            (traces, runs, real_link) => {
                let errors = [traces.err(), runs.err(), real_link.err()].into_iter().flatten();
                Err(Error::all(errors).unwrap_or_else(|| unreachable!("one of them is an error")))
            }
        }
    }
}

impl Plan {
    /// Reads the experiment among `inputs`, or makes one of the defaults.
    pub fn of_files(inputs: &[PathBuf], options: &RunOptions, interrupt: &Interrupt) -> Result<Plan, Error> {
        let Some(first) = inputs.first() else {
            return Err(Error::usage("there is nothing to run").hint("name an experiment, a capture or a workload"));
        };
        let experiments = inputs.iter().filter(|path| input::kind(path) == Kind::Experiment).count();
        match (experiments, inputs.len()) {
            (0, _) => Plan::new(Experiment::default(), inputs, None, options, interrupt),
            (_, 1) => Plan::new(Experiment::read(first)?, inputs, Some(first), options, interrupt),
            _ => Err(Error::usage("an experiment file is run alone").hint("it names its workload itself")),
        }
    }

    /// The plan of an experiment that was made in memory.
    pub fn of_experiment(experiment: Experiment, options: &RunOptions, interrupt: &Interrupt) -> Result<Plan, Error> {
        experiment.check()?;
        Plan::new(experiment, &[], None, options, interrupt)
    }

    /// The plan of an experiment beside `inputs`, as a run folder says that it was asked for.
    pub fn again(
        experiment: Experiment,
        inputs: &[PathBuf],
        options: &RunOptions,
        interrupt: &Interrupt,
    ) -> Result<Plan, Error> {
        Plan::new(experiment, inputs, None, options, interrupt)
    }

    /// The plan of an experiment, which was read from `file` or made in memory, or stands beside `inputs`.
    pub fn new(
        mut experiment: Experiment,
        inputs: &[PathBuf],
        file: Option<&PathBuf>,
        options: &RunOptions,
        interrupt: &Interrupt,
    ) -> Result<Plan, Error> {
        let is_stated = file.is_some() || inputs.is_empty();
        let sweep;
        (experiment, sweep) = experiment.with_all(&options.settings)?.without_sweep();
        let keys = experiment.keys();
        if !is_stated && (experiment.workload.source.is_some() || experiment.workload.model.is_some()) {
            return Err(Error::usage(
                "the workload is what is named as input, and workload.source or workload.model is set beside it",
            )
            .hint("leave out one of them"));
        }
        let file = file.map(PathBuf::as_path);
        // What an option says has no place in the file.
        let is_given = options.settings.iter().any(|setting| setting.keys().any(|key| key == "workload.source"));
        // What is wrong with all is told at once.
        let read = Read::of(&experiment, options.capture.anonymize, interrupt).map_err(|error| located(error, file));
        let sources = match sources(&mut experiment, inputs, is_stated, file.filter(|_| !is_given), options) {
            Ok(sources) => sources,
            Err(error) => return Err(error.with(read.err())),
        };
        if let Some(folder) = sources.iter().find(|path| is_sweep(path)) {
            return Err(Error::usage(format_args!("{}: this is the folder of a sweep", folder.display())).hint(
                "its report.html is its answer; `flowloom sweep -o` goes on with it, and each of its runs is a folder in cells/",
            ));
        }
        if let Some(folder) = sources.iter().find(|path| input::kind(path) == Kind::RunFolder) {
            return Err(Error::usage(format_args!("{}: this is a folder", folder.display())).hint(
                "give a capture, a workload or an experiment; the workload of a run is FOLDER/workload.parquet",
            ));
        }
        let kind = match sources.first() {
            Some(source) => {
                let kind = input::common_kind(&sources)?;
                input::refuse_idle_options(&options.capture, kind, source)?;
                kind
            }
            None => {
                input::refuse_reading_options(&options.capture, "this experiment reads no capture")?;
                Kind::Experiment
            }
        };
        if sources.is_empty() && experiment.workload.model.is_none() && !experiment.is_workload_alone() {
            let refused = experiment.refuse_workload_keys();
            refused.map_err(|error| given_by(&located(error, file), &options.settings))?;
        }
        experiment.resolve_vary(!sources.is_empty());
        experiment.workload.missing = options.capture.missing.unwrap_or(experiment.workload.missing);
        experiment.check()?;
        if !experiment.workload.missing.is_default() && kind != Kind::Capture {
            let problem = "is about reading captures, and the source is none: leave it out";
            let error = Error::from(KeyError::new("workload.missing", problem));
            return Err(located(error, file));
        }
        let captured = captured(options.pcap.as_deref(), &mut experiment)?;
        let Read { traces, runs, real_link, files } = read?;
        if let Some(link) = &real_link {
            let checked = link.check_time(&experiment, !sources.is_empty(), options.capture.anonymize);
            checked.map_err(|error| located(error.into(), file))?;
        }
        let stem = match inputs.first().or(sources.first()) {
            Some(first) if !options.capture.anonymize => stem(first),
            _ => "run".to_owned(),
        };
        // As resolved it names its source, unless names are to be left out.
        experiment.workload.source = match &sources[..] {
            [source] if !options.capture.anonymize => Some(source.clone()),
            _ => None,
        };
        let target = || free_name(format!("runs/{stem}-{}", clock::stamp()));
        let target = options.target.clone().unwrap_or_else(target);
        let (inputs, file) = (inputs.to_vec(), file.map(Path::to_owned));
        Ok(Plan {
            has_sweep: sweep.is_some(),
            experiment,
            keys,
            inputs,
            file,
            sources,
            kind,
            target,
            traces,
            runs,
            real_link,
            read: files,
            captured,
        })
    }

    /// `error` with the place of its key in the experiment file, if there is one.
    pub fn located(&self, error: Error) -> Error {
        located(error, self.file.as_deref())
    }

    /// Every file that the run reads.
    pub fn files(&self, options: &RunOptions) -> Vec<PathBuf> {
        let mut files = [&self.inputs[..], &self.sources].concat();
        files.extend(self.experiment.files());
        if let Driver::Lab(hosts) = &options.on {
            files.extend([hosts.clone(), options.lab.clone()]);
        }
        files
    }

    /// Whether connections are replayed, and not only sources send.
    pub fn has_workload(&self) -> bool {
        !self.sources.is_empty() || self.experiment.workload.model.is_some()
    }

    /// The part of a run that results are to be of, in nanoseconds: without another wish all of it, but for the beginning in which connections
    /// in progress open.
    pub fn window(&self, config: &Config) -> Range<u64> {
        match &self.experiment.measure.window {
            Some([start, end]) => start.value.as_nanos()..end.value.as_nanos(),
            None => {
                let (opening, end) = (self.experiment.workload.prefill().spread().as_nanos(), config.window.as_nanos());
                Some(opening).filter(|opening| *opening < end).unwrap_or_default()..end
            }
        }
    }
}

/// What the workload is made of, by the experiment or, where nobody stated one, by the inputs.
fn sources(
    experiment: &mut Experiment,
    inputs: &[PathBuf],
    is_stated: bool,
    file: Option<&Path>,
    options: &RunOptions,
) -> Result<Vec<PathBuf>, Error> {
    if let Some(source) = &experiment.workload.source {
        if input::is_absent(source) {
            let key = KeyError::saying("workload.source", format_args!("{} does not exist", source.display()));
            let missing = Error { kind: ErrorKind::Failed, ..Error::from(key) };
            return Err(located(missing.hint("check the spelling; a path is relative to the experiment file"), file));
        }
        return Ok(vec![source.clone()]);
    }
    if is_stated && (!experiment.is_workload_alone() || experiment.workload.model.is_some()) {
        if experiment.measure.duration.is_none() {
            return Err(Experiment::lacks("measure.duration", file)
                .hint("without a capture nothing else says how long is sent: duration = \"60s\", or --duration 60s"));
        }
        return Ok(Vec::new());
    }
    if !options.guests.is_empty() {
        // There is something to run all the same, for as long as that takes.
        experiment.measure.duration.get_or_insert_with(|| Quantity::of("24h"));
        return Ok(Vec::new());
    }
    if is_stated {
        return Err(Experiment::lacks("workload.source", file).hint(
            "add source = \"FILE\" to [workload]: a capture or a workload, relative to the experiment file; or model = { kind = ... }, \
             or [[sources]]",
        ));
    }
    Ok(inputs.to_vec())
}

fn located(error: Error, file: Option<&Path>) -> Error {
    match file {
        Some(file) => Experiment::locate(error, file),
        None => error,
    }
}

/// The links whose packets are captured. What is captured is measured, too.
fn captured(pcap: Option<&[String]>, experiment: &mut Experiment) -> Result<Vec<Pair>, Error> {
    let Some(names) = pcap else { return Ok(Vec::new()) };
    let shape = experiment.network.shape()?;
    let bottleneck = [shape.graph.links()[0].name.clone()];
    let names = if names.is_empty() { &bottleneck[..] } else { names };
    let mut captured: Vec<Pair> = Vec::new();
    for name in names {
        let pair = shape.pair(name).map_err(|problem| Error::usage(format_args!("--pcap: {problem}")))?;
        if !captured.contains(&pair) {
            captured.push(pair);
        }
    }
    let monitor = &mut experiment.measure.monitor;
    monitor.extend(captured.iter().filter(|pair| !pair.is_bottleneck()).map(|pair| pair.name.clone()));
    Ok(captured)
}

/// `name`, or where that exists the first free one of `NAME-2`, `NAME-3` and so on: two runs may begin in one second.
fn free_name(name: String) -> PathBuf {
    let others = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(others).map(PathBuf::from);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_else(|| PathBuf::from(name))
}

/// The file name without the endings of captures and compression: `campus` of `traces/campus.pcap.gz`.
fn stem(path: &Path) -> String {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() || stem == "-" { "run".to_owned() } else { stem.to_owned() }
}

/// The traces of the bottleneck, if it has any: of the packets from the left and from the right.
fn traces(experiment: &Experiment, interrupt: &Interrupt) -> Result<Option<[Arc<Trace>; 2]>, Error> {
    let Some(traces) = &experiment.network.bottleneck.trace else { return Ok(None) };
    let open = |file: &PathBuf| {
        mahimahi::open(file, interrupt).map(Arc::new).map_err(|error| {
            if interrupt.has_cut() {
                return Error::stopped();
            }
            Error::from(KeyError::saying("network.bottleneck.trace", error))
                .hint("a trace of mahimahi has one time in whole milliseconds in each line, none before the one above")
        })
    };
    let [left, right] = traces.files();
    let of_left = open(left)?;
    let of_right = if left == right { Arc::clone(&of_left) } else { open(right)? };
    Ok(Some([of_left, of_right]))
}

/// Of each source, what its flows send by its file of rates.
fn runs(experiment: &Experiment, interrupt: &Interrupt) -> Result<Vec<Option<Arc<[Run]>>>, Error> {
    let of = |(number, source): (usize, &Source)| {
        let Some(file) = source.rates() else { return Ok(None) };
        let key = format!("sources[{number}].rates");
        let read = rates::open(file, interrupt).map_err(|error| match interrupt.has_cut() {
            true => Error::stopped(),
            false => Error::from(KeyError::saying(&*key, error)),
        })?;
        let read = match read {
            Rates::Bits(read) => read,
            Rates::Cells(read) => {
                read.into_iter().map(|(seconds, rate)| (seconds, rate * BITS_OF_CELL as f64)).collect()
            }
            Rates::Times(_) => {
                return Err(Error::from(KeyError::new(&*key, "has no rates")).hint(
                    "its first line is seconds,bits_per_second: `flowloom monitor show --format rates` writes such files",
                ));
            }
        };
        source.runs(&read).map(Some).map_err(|error| Error::from(error.within(format_args!("sources[{number}]"))))
    };
    experiment.sources.iter().enumerate().map(of).collect()
}
