//! The tables of an experiment file with their keys and defaults, and what is impossible in them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::keys::{KeyError, Quantity, named};
use flowloom_core::tcp::keys::{Tcp, TcpKeys};
use flowloom_core::time::Duration;
use flowloom_models::Variation;
use flowloom_report::facts::HurstChoice;
use flowloom_report::run::bin_width;
use flowloom_sim::Config;
use flowloom_sim::keys::{Network, Shape};

use super::live::Live;
use super::probe::{PROBE, Probe};
use super::real_link::RealLinkKeys;
use super::sources::{Source, TcpTrace, WORKLOAD};
use super::sweep::Sweep;
use super::vary::Vary;
use super::workload::Workload;
use crate::error::Error;

/// An experiment, as written or as resolved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Experiment {
    /// Title of the report.
    pub title: Option<String>,
    /// What is replayed.
    pub workload: Workload,
    /// Network that the workload crosses.
    pub network: Network,
    /// TCP of both ends in the simulator.
    #[schemars(with = "TcpKeys")]
    pub tcp: Tcp,
    /// Traffic beside the workload, or without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Probes of the latency under load, beside the traffic; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// What is measured, and how long.
    pub measure: Measure,
    /// Repetitions of the run.
    pub run: Run,
    /// Runs over the TCP of this kernel.
    #[serde(skip_serializing_if = "Live::is_default")]
    pub live: Live,
    /// The experiment in many variants (`flowloom sweep`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    #[serde(skip)]
    pub(super) written: Written,
}

/// An experiment as it was written: the keys that were given, without defaults.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Tables and keys of the file.
    pub table: toml::Table,
    /// The folder that paths in them are relative to.
    pub folder: PathBuf,
}

/// Experiments that mean the same are the same, however they are written.
impl PartialEq for Written {
    fn eq(&self, _: &Written) -> bool {
        true
    }
}

/// `[measure]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Measure {
    /// Time during which connections start; default: the length of the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1ns", "most" = "876000h"))]
    pub duration: Option<Quantity<Duration>>,
    /// Part of the run that results use, as ["10min", "50min"] from its start (methods C.1); default: all of `duration`, with `workload.prefill` without the time in which connections in progress open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<[Quantity<Duration>; 2]>,
    /// Time after `duration` in which connections may still finish; default: 60s.
    #[schemars(extend("most" = "60s"))]
    pub drain: Quantity<Duration>,
    /// Interval between samples of the queue; default: 10ms.
    #[schemars(extend("least" = "1us"))]
    pub queue_every: Quantity<Duration>,
    /// Width of throughput bins; it must divide the bins of the results (100ms, or 1s from a window of 20s on); default: 1ms.
    #[schemars(extend("least" = "1us"))]
    pub throughput_every: Quantity<Duration>,
    /// Names of links that are measured like the bottleneck, each with the link back; default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub monitor: Vec<String>,
    /// Connections whose congestion windows are traced; default: off.
    #[serde(skip_serializing_if = "TcpTrace::is_off")]
    pub tcp_trace: TcpTrace,
    /// How Hurst parameters are estimated; default: over octaves that are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hurst: Option<HurstKeys>,
    /// Port of a monitor whose throughput is drawn beside that of the bottleneck; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_link: Option<RealLinkKeys>,
}

/// `measure.hurst`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HurstKeys {
    /// Shortest time scale of the fit; default: chosen, from 1s on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Quantity<Duration>>,
    /// Longest time scale of the fit; default: that of the last octave with eight coefficients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Quantity<Duration>>,
    /// Vanishing moments of the wavelet: trends of lower degrees leave no trace; default: 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3))]
    pub moments: Option<u32>,
}

impl HurstKeys {
    fn problems(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        if let (Some(from), Some(to)) = (&self.from, &self.to)
            && from.value >= to.value
        {
            found.push(KeyError::new(
                "measure.hurst.to",
                format_args!("of {to} is not above measure.hurst.from of {from}"),
            ));
        }
        if let Some(moments) = self.moments.filter(|moments| !(1..=3).contains(moments)) {
            found.push(KeyError::new("measure.hurst.moments", format_args!("of {moments} must be 1, 2 or 3")));
        }
        found
    }

    /// As a report takes it.
    pub(crate) fn choice(&self) -> HurstChoice {
        let nanos = |scale: &Option<Quantity<Duration>>| scale.as_ref().map(|scale| scale.value.as_nanos());
        HurstChoice { from_ns: nanos(&self.from), to_ns: nanos(&self.to), moments: self.moments }
    }
}

impl Default for Measure {
    fn default() -> Measure {
        Measure {
            duration: None,
            window: None,
            drain: Quantity::of("60s"),
            queue_every: Quantity::of("10ms"),
            throughput_every: Quantity::of("1ms"),
            monitor: Vec::new(),
            tcp_trace: TcpTrace::default(),
            hurst: None,
            real_link: None,
        }
    }
}

/// `[run]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Run {
    /// Seeds, one run each, at least one and no seed twice; default: [1].
    #[schemars(length(min = 1), inner(range(max = i64::MAX)), extend("uniqueItems" = true))]
    pub seeds: Vec<u64>,
    /// What differs between seeds of a captured or fixed workload (methods M.5): blocks of it in another order, starts that move by
    /// at most a time (jitter 2s), or nothing; default: blocks with several seeds, nothing with one.
    #[serde(skip_serializing_if = "is_auto")]
    #[schemars(extend("least" = "jitter 1ns", "most" = "jitter 1h"))]
    pub vary: Quantity<Vary>,
}

fn is_auto(vary: &Quantity<Vary>) -> bool {
    vary.value == Vary::Auto
}

impl Default for Run {
    fn default() -> Run {
        Run { seeds: vec![1], vary: Quantity::of("auto") }
    }
}

impl Run {
    fn problems(&self) -> Vec<KeyError> {
        if self.seeds.is_empty() {
            return vec![KeyError::new("run.seeds", "is empty: nothing to run")];
        }
        if let Some((number, seed)) = self.seeds.iter().enumerate().find(|(_, seed)| i64::try_from(**seed).is_err()) {
            let problem = format_args!("of {seed} is above {}: a file could not repeat the run", i64::MAX);
            return vec![KeyError::new(format!("run.seeds[{number}]"), problem)];
        }
        let mut seen = BTreeSet::new();
        let twice = self.seeds.iter().enumerate().filter(|(_, seed)| !seen.insert(**seed));
        let problem = |seed| format!("holds {seed} twice: each seed has a folder of its own");
        twice.map(|(_, seed)| KeyError::new("run.seeds", problem(seed))).collect()
    }

    /// How draws of the workload differ, if they do.
    pub fn variation(&self) -> Option<Variation> {
        match self.vary.value {
            Vary::Auto | Vary::Nothing => None,
            Vary::Blocks => Some(Variation::Blocks),
            Vary::Jitter(by) => Some(Variation::Jitter(by)),
        }
    }
}

impl Measure {
    fn problems(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        let mut wrong = |key: &str, problem: String| found.push(KeyError::new(format!("measure.{key}"), problem));
        for (key, every) in [("queue-every", &self.queue_every), ("throughput-every", &self.throughput_every)] {
            if every.value.is_zero() {
                wrong(key, "must be above zero".to_owned());
            } else if every.value < LEAST_EVERY {
                wrong(key, format!("of {every} is too short (at least {})", LEAST_EVERY.written()));
            }
        }
        if self.drain.value > Config::MAX_DRAIN {
            wrong("drain", format!("of {} is too long (at most {})", self.drain, Config::MAX_DRAIN.written()));
        }
        if let Some(duration) = &self.duration {
            if duration.value.is_zero() {
                wrong("duration", "must be above zero".to_owned());
            } else if duration.value > Config::MAX_WINDOW {
                wrong("duration", format!("of {duration} is too long (at most {})", Config::MAX_WINDOW.written()));
            }
        }
        if let Some([start, end]) = &self.window
            && start.value >= end.value
        {
            wrong("window", format!("ends at {end}, which is not after its start at {start}"));
        }
        if let (Some([start, end]), Some(duration)) = (&self.window, &self.duration)
            && end.value > duration.value
        {
            wrong("window", format!("[{start}, {end}] ends after the run, which lasts {duration} (measure.duration)"));
        }
        found.extend(self.hurst.iter().flat_map(HurstKeys::problems));
        found.extend(self.real_link.iter().flat_map(RealLinkKeys::problems));
        if self.throughput_every.value >= LEAST_EVERY {
            found.extend(self.check_bins(self.longest_window()).err());
        }
        found
    }

    /// What results are of at most, in nanoseconds: the end of a capture may come earlier.
    fn longest_window(&self) -> Range<u64> {
        let duration = self.duration.as_ref().map_or(Config::MAX_WINDOW, |duration| duration.value).as_nanos();
        match &self.window {
            Some([start, end]) if start.value < end.value => start.value.as_nanos()..end.value.as_nanos(),
            Some([start, _]) => start.value.as_nanos()..start.value.as_nanos().saturating_add(duration),
            None => 0..duration,
        }
    }

    /// Whether bins of throughput fit into those of results that are of `window`, in nanoseconds: their traffic would count where
    /// they start.
    pub(crate) fn check_bins(&self, window: Range<u64>) -> Result<(), KeyError> {
        /// The bins of an original's traffic are as wide.
        const FINE: Duration = Duration::from_millis(10);
        let results = bin_width(Duration::from_nanos(window.end - window.start));
        let every = self.throughput_every.value;
        let fits = |time: u64| time.is_multiple_of(every.as_nanos());
        if fits(results.as_nanos()) && (every <= FINE || fits(window.start)) {
            return Ok(());
        }
        let start = Duration::from_nanos(window.start);
        let problem = format_args!(
            "of {} does not divide the bins of the results, which are {results} wide and begin at {start}: give a time that \
             divides both, or leave it out for 1ms",
            self.throughput_every
        );
        Err(KeyError::new("measure.throughput-every", problem))
    }
}

/// Flows of all sources of an experiment, at most.
const MOST_FLOWS: u64 = 1_000_000;

/// Sources and classes of an experiment, at most.
const MOST_SENDERS: usize = 1_000;

/// Shortest time between queue samples, and width of throughput bins: below it the tables would be larger than any capture.
const LEAST_EVERY: Duration = Duration::from_micros(1);

impl Experiment {
    /// What no type can refuse: values that are well formed and impossible, all of them.
    pub fn problems(&self) -> Vec<KeyError> {
        let mut found = self.measure.problems();
        found.extend(self.live.problems());
        found.extend(self.workload.problems());
        let (problems, shape) = self.network.problems();
        found.extend(problems);
        if let Ok(shape) | Err(Some(shape)) = &shape {
            let unknown = self.measure.monitor.iter().enumerate().filter_map(|(number, name)| {
                let problem = shape.pair(name).err()?;
                Some(KeyError::saying(format!("measure.monitor[{number}]"), problem))
            });
            found.extend(unknown);
        }
        found.extend(self.tcp.problems("tcp"));
        found.extend(self.source_problems(&shape));
        found.extend(self.probe.iter().flat_map(|probe| probe.problems(&shape)));
        found.extend(self.run.problems());
        found.extend(self.sweep.iter().flat_map(Sweep::problems));
        if self.run.variation().is_some() && (self.workload.model.is_some() || self.workload.load.is_some()) {
            let problem = "is about a workload that is the same for all seeds; this one is drawn for each";
            found.push(KeyError::new("run.vary", problem));
        }
        found
    }

    /// Says what `run.vary = "auto"` means here: the seeds of a workload that is read, and that nothing else draws, draw blocks of it.
    pub(crate) fn resolve_vary(&mut self, is_read: bool) {
        let several = self.run.seeds.len() > 1;
        let is_drawn = self.workload.model.is_some() || self.workload.load.is_some();
        if self.run.vary.value == Vary::Auto && several && is_read && !is_drawn {
            self.run.vary = Quantity::of("blocks");
        }
    }

    /// The same of the sources, beside which there are classes and `measure.duration`.
    fn source_problems(&self, shape: &Result<Shape, Option<Shape>>) -> Vec<KeyError> {
        let mut found = Vec::new();
        let senders = self.sources.len() + self.tcp.classes.len();
        if senders > MOST_SENDERS {
            let problem = format_args!("{senders} of them and classes (at most {MOST_SENDERS})");
            return vec![KeyError::saying("sources", problem)];
        }
        let mut names: Vec<&str> = vec![WORKLOAD];
        names.extend(self.tcp.classes.iter().map(|class| class.name.as_str()));
        for (number, name) in self.tcp.classes.iter().map(|class| class.name.as_str()).enumerate() {
            // The first is that of the workload.
            if names[..=number].contains(&name) {
                let problem = format_args!("there are two classes named {name}");
                found.push(KeyError::saying(format!("tcp.classes[{number}].name"), problem));
            }
        }
        if self.probe.is_some() {
            if names.contains(&PROBE) {
                let problem = format_args!("a class is named {PROBE}, as results call the probes of [probe]");
                found.push(KeyError::saying("tcp.classes", problem));
            }
            names.push(PROBE);
        }
        for (number, source) in self.sources.iter().enumerate() {
            let key = format!("sources[{number}]");
            if let Err(error) = named("a source", &format!("{key}.name"), &source.name) {
                found.push(error);
            } else if names.contains(&source.name.as_str()) {
                let problem = format_args!("there are two sources or classes named {}", source.name);
                found.push(KeyError::saying(format!("{key}.name"), problem));
            }
            names.push(&source.name);
            let mut add = |problems: Vec<KeyError>| found.extend(problems.into_iter().map(|error| error.within(&key)));
            add(source.problems());
            if let (Some(start), Some(duration)) = (source.starts_at(), &self.measure.duration)
                && start >= duration.value
            {
                let problem = format_args!("of {start} is not before measure.duration of {duration}");
                add(vec![KeyError::new("start", problem)]);
            }
            add(match shape {
                Ok(shape) => source.way(shape).err().unwrap_or_default(),
                // Ways may be missing because links are.
                Err(Some(shape)) => source.nodes(shape).err().unwrap_or_default(),
                Err(None) => Vec::new(),
            });
            if let Some(tcp) = &source.tcp {
                if !tcp.has_no_classes() {
                    add(vec![KeyError::saying("tcp.classes", "a source has no classes")]);
                }
                add(self.tcp.with(tcp).problems("tcp"));
            }
        }
        let flows: u64 = self.sources.iter().map(Source::flows).sum();
        if flows > MOST_FLOWS {
            let problem = format_args!("have {flows} flows together (at most {MOST_FLOWS})");
            found.push(KeyError::new("sources", problem));
        }
        found
    }

    /// Whether it is possible.
    ///
    /// # Errors
    /// All that is wrong with it; the first, and the others in [`Error::others`].
    pub fn check(&self) -> Result<(), Error> {
        Error::all(self.problems().into_iter().map(Error::from)).map_or(Ok(()), Err)
    }

    /// Whether anything is drawn, so that seeds differ.
    pub fn draws(&self) -> bool {
        self.run.variation().is_some()
            || self.workload.draws()
            || self.network.draws()
            || self.tcp.draws()
            || self.sources_draw()
    }

    /// Refuses keys about a workload, for an experiment in which only sources send.
    pub(crate) fn refuse_workload_keys(&self) -> Result<(), Error> {
        let table = |workload: &Workload| toml::Table::try_from(workload).unwrap_or_default();
        let (given, usual) = (table(&self.workload), table(&Workload::default()));
        // A default that is written out changes nothing with a workload either.
        let others = given.iter().filter(|(key, value)| usual.get(*key) != Some(value));
        let mut keys: Vec<String> = others.map(|(key, _)| format!("workload.{key}")).collect();
        keys.extend(self.run.variation().map(|_| "run.vary".to_owned()));
        const PROBLEM: &str = "is about a workload, and only sources send";
        let error = |key| Error::from(KeyError::new(key, PROBLEM)).hint("leave it out, or give workload.source");
        let errors = keys.into_iter().map(error);
        Error::all(errors).map_or(Ok(()), Err)
    }

    /// Whether nothing but a workload sends: neither sources nor probes.
    pub(crate) fn is_workload_alone(&self) -> bool {
        self.sources.is_empty() && self.probe.is_none()
    }

    /// Whether the sources, or probes, depend on the seed.
    pub fn sources_draw(&self) -> bool {
        self.probe.as_ref().is_some_and(Probe::draws) || self.sources.iter().any(|source| source.draws(&self.tcp))
    }

    /// What a live run can not send although a simulation can.
    pub fn check_live_sources(&self) -> Result<(), KeyError> {
        self.sources.iter().enumerate().try_for_each(|(number, source)| {
            source.check_live().map_err(|error| error.within(format_args!("sources[{number}]")))
        })
    }
}
