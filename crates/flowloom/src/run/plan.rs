//! What is to be run: an experiment with all that overrides it, its inputs, and where it goes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowloom_core::path::Trace;
use flowloom_report::facts::set_aside_text;

use crate::clock;
use crate::context::Context;
use crate::error::Error;
use crate::experiment::{DatagramModel, Experiment, Pair, Quantity};
use crate::extraction::CaptureOptions;
use crate::input::{self, Kind};
use crate::run::facts::set_aside;
use crate::run::{Overrides, RunOptions, config};
use crate::warning::Warning;
use crate::workload::generation::Generation;
use crate::workload::source::{Inputs, Source, file_name};

/// Everything resolved but the workload's own facts.
pub struct Plan {
    pub experiment: Experiment,
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
    /// Links whose packets are captured.
    pub captured: Vec<Pair>,
}

impl Plan {
    /// Reads the experiment among `inputs`, or makes one of the defaults.
    pub fn of_files(inputs: &[PathBuf], options: &RunOptions) -> Result<Plan, Error> {
        let Some(first) = inputs.first() else {
            return Err(Error::usage("there is nothing to run").hint("name an experiment, a capture or a workload"));
        };
        let experiments = inputs.iter().filter(|path| input::kind(path) == Kind::Experiment).count();
        match (experiments, inputs.len()) {
            (0, _) => Plan::new(Experiment::default(), inputs, None, options),
            (_, 1) => Plan::new(Experiment::read(first)?, inputs, Some(first), options),
            _ => Err(Error::usage("an experiment file is run alone").hint("it names its workload itself")),
        }
    }

    /// The plan of an experiment that was made in memory.
    pub fn of_experiment(experiment: Experiment, options: &RunOptions) -> Result<Plan, Error> {
        experiment.check()?;
        Plan::new(experiment, &[], None, options)
    }

    fn new(
        mut experiment: Experiment,
        inputs: &[PathBuf],
        file: Option<&PathBuf>,
        options: &RunOptions,
    ) -> Result<Plan, Error> {
        let is_stated = file.is_some() || inputs.is_empty();
        let name = file.map_or_else(|| "experiment".to_owned(), |file| file.display().to_string());
        let sources = sources(&mut experiment, inputs, is_stated, &name, options)?;
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
            None => Kind::Experiment,
        };
        options.overrides.apply(&mut experiment);
        experiment.check()?;
        let captured = captured(options.pcap.as_deref(), &mut experiment)?;
        let traces = config::traces(&experiment).map_err(|error| located(error, file.map(PathBuf::as_path)))?;
        let stem = match inputs.first().or(sources.first()) {
            Some(first) if !options.capture.anonymize => stem(first),
            _ => "run".to_owned(),
        };
        // As resolved it names its source, unless names are to be left out.
        experiment.workload.source = match &sources[..] {
            [source] if !options.capture.anonymize => Some(source.clone()),
            _ => None,
        };
        let target = || PathBuf::from(format!("runs/{stem}-{}", clock::stamp()));
        let target = options.target.clone().unwrap_or_else(target);
        let (inputs, file) = (inputs.to_vec(), file.cloned());
        Ok(Plan { experiment, inputs, file, sources, kind, target, traces, captured })
    }

    /// `error` with the place of its key in the experiment file, if there is one.
    pub fn located(&self, error: Error) -> Error {
        located(error, self.file.as_deref())
    }

    /// Whether connections are replayed, and not only sources send.
    pub fn has_workload(&self) -> bool {
        !self.sources.is_empty() || self.experiment.workload.model.is_some()
    }

    /// The workloads of the runs: one for all seeds, or one for each if it is drawn.
    pub fn sources(&self, options: &RunOptions, context: Context<'_>) -> Result<Vec<Source>, Error> {
        let sources = self.open_or_make(&options.capture, context)?;
        sources.iter().try_for_each(|source| self.refuse_empty(source))?;
        if self.experiment.run.seeds.len() > 1 && !self.experiment.draws() {
            context.warn(&Warning::SeedsAlike);
        }
        Ok(sources)
    }

    fn open_or_make(&self, capture: &CaptureOptions, context: Context<'_>) -> Result<Vec<Source>, Error> {
        let inputs = Inputs { paths: &self.sources, kind: self.kind, capture, target: &self.target };
        let workload = &self.experiment.workload;
        let base = match workload.model {
            None => Some(Source::open(inputs, context)?),
            Some(_) => None,
        };
        let base = match base {
            Some(base) if base.path.is_none() || !workload.is_made() => return Ok(vec![base]),
            base => base,
        };
        let seeds = &self.experiment.run.seeds;
        let seeds = if workload.is_drawn() { &seeds[..] } else { &seeds[..1] };
        let duration = self.experiment.measure.duration.as_ref().map(|duration| duration.value);
        let duration = duration.map(|duration| duration + workload.prefill().shift());
        let made = |&seed| {
            let generation = Generation { workload, base: base.as_ref(), seed, duration, stop: context.stop() };
            Source::made(&generation, &self.target, context)
        };
        seeds.iter().map(made).collect()
    }

    /// Refuses a workload without anything to replay.
    fn refuse_empty(&self, source: &Source) -> Result<(), Error> {
        if source.path.is_none() || source.facts.connections > self.left_out_flows(source) {
            return Ok(());
        }
        let error = Error::new("there is no connection to replay");
        if self.experiment.workload.is_made() {
            return Err(error.hint("ask for a longer duration, or for more of them"));
        }
        let error = match set_aside_text(&set_aside(self, source)) {
            reasons if reasons.is_empty() => error,
            reasons => error.note(format_args!("set aside: {reasons}")),
        };
        Err(error.hint("`flowloom describe -v` says what the input holds and why it was set aside"))
    }

    /// Flows of datagrams of the workload that are not sent.
    pub fn left_out_flows(&self, source: &Source) -> u64 {
        match self.experiment.workload.datagrams {
            DatagramModel::LeaveOut => source.facts.datagram_flows,
            DatagramModel::AsSeen => 0,
        }
    }
}

/// What the workload is made of, by the experiment or, where nobody stated one, by the inputs.
fn sources(
    experiment: &mut Experiment,
    inputs: &[PathBuf],
    is_stated: bool,
    name: &str,
    options: &RunOptions,
) -> Result<Vec<PathBuf>, Error> {
    if let Some(source) = &experiment.workload.source {
        return Ok(vec![source.clone()]);
    }
    if !experiment.sources.is_empty() || experiment.workload.model.is_some() {
        if experiment.measure.duration.is_none() && options.overrides.duration.is_none() {
            return Err(Error::usage(format_args!("{name}: measure.duration is missing"))
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
        return Err(Error::usage(format_args!("{name}: [workload] names no source")).hint(
            "add source = \"FILE\": a capture or a workload, relative to the experiment file; or model = { kind = ... }, or [[sources]]",
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

impl Overrides {
    /// Replaces the values of `experiment`.
    pub(crate) fn apply(&self, experiment: &mut Experiment) {
        fn set<T: Clone>(value: &mut T, option: &Option<T>) {
            if let Some(option) = option {
                *value = option.clone();
            }
        }
        let bottleneck = &mut experiment.network.bottleneck;
        set(&mut bottleneck.rate, &self.rate);
        set(&mut bottleneck.delay, &self.delay);
        if self.queue.is_some() {
            bottleneck.queue.limit = self.queue.clone();
        }
        set(&mut experiment.workload.waits.min, &self.wait_min);
        set(&mut experiment.workload.waits.correct, &self.wait_correct);
        if self.duration.is_some() {
            experiment.measure.duration.clone_from(&self.duration);
        }
        if !self.seeds.is_empty() {
            experiment.run.seeds.clone_from(&self.seeds);
        }
    }
}

/// The file name without the endings of captures and compression: `campus` of `traces/campus.pcap.gz`.
fn stem(path: &Path) -> String {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() || stem == "-" { "run".to_owned() } else { stem.to_owned() }
}
