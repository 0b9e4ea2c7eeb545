//! The experiment file: what is replayed, through which network, with which TCP, measured how (design of the file:
//! `docs/reference/experiment.md`). Every section has defaults; an unknown key or word is refused with the nearest known.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::keys::KeyError;
pub use flowloom_core::keys::Quantity;
pub use flowloom_core::path::keys::{Bucket, DelayBox, Path as PathKeys, Traces};
pub use flowloom_core::queue::keys::{Per, Queue};
pub use flowloom_core::tcp::keys::{Tcp, TcpClass};
use flowloom_core::time::Duration;
use flowloom_sim::Config;
use flowloom_sim::keys::check_link;
pub use flowloom_sim::keys::{Bottleneck, Ends, Link, Network, Pair, Part, RateChoice, Route, Shape, Topology};

use crate::error::Error;

mod diagnosis;
mod live;
mod load;
mod rtt;
mod sources;
mod workload;

use diagnosis::located;
pub use diagnosis::{explain, place};

pub use live::{Devices, Live, MOST_HOSTS, MOST_WORKERS};
pub use sources::{FIRST_FLOW, Flows, Placed, Source, TcpTrace, WORKLOAD};
pub use workload::{Correction, DatagramModel, LossChoice, Workload};

/// An experiment, as written or as resolved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Experiment {
    /// What the report is called.
    pub title: Option<String>,
    /// What is replayed.
    pub workload: Workload,
    /// Through what.
    pub network: Network,
    /// With which TCP.
    pub tcp: Tcp,
    /// What sends beside the workload, or without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Measured how.
    pub measure: Measure,
    /// Repeated how.
    pub run: Run,
    /// How it is run with the kernel's TCP.
    #[serde(skip_serializing_if = "Live::is_default")]
    pub live: Live,
}

/// `[measure]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Measure {
    /// How long connections start; default: the length of the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Quantity<Duration>>,
    /// What the results use, `["10min", "50min"]` from the start of the run; default: all of `duration` (methods C.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<[Quantity<Duration>; 2]>,
    /// How long the run may go on after that until every connection ended.
    pub drain: Quantity<Duration>,
    /// How often the queue is sampled.
    pub queue_every: Quantity<Duration>,
    /// Width of throughput bins.
    pub throughput_every: Quantity<Duration>,
    /// Links whose queues and throughput are measured beside the bottleneck's, by name; each with the link back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub monitor: Vec<String>,
    /// Whose congestion windows are traced.
    #[serde(skip_serializing_if = "TcpTrace::is_off")]
    pub tcp_trace: TcpTrace,
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
        }
    }
}

/// `[run]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Run {
    /// One run per seed.
    pub seeds: Vec<u64>,
}

impl Default for Run {
    fn default() -> Run {
        Run { seeds: vec![1] }
    }
}

/// Shortest time between queue samples, and width of throughput bins: below it the tables would be larger than any capture.
const LEAST_EVERY: Duration = Duration::from_micros(1);

impl Experiment {
    /// Reads an experiment file; the paths in it are relative to it.
    pub fn read(path: &Path) -> Result<Experiment, Error> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| Error::new(format_args!("{name}: {error}")))?;
        let mut experiment = Experiment::parse(&text, &name.to_string())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        if let Some(source) = &experiment.workload.source {
            experiment.workload.source = Some(folder.join(source));
        }
        if let Some(tables) = experiment.workload.model.as_mut().and_then(|model| model.tables()) {
            *tables = folder.join(&*tables).to_string_lossy().into_owned();
        }
        for config in experiment.workload.model.iter_mut().flat_map(|model| model.configs()) {
            *config = folder.join(&*config).to_string_lossy().into_owned();
        }
        if let Some(trace) = &mut experiment.network.bottleneck.trace {
            trace.join(folder);
        }
        Ok(experiment)
    }

    /// Reads the text of an experiment file called `name`.
    pub fn parse(text: &str, name: &str) -> Result<Experiment, Error> {
        let experiment: Experiment = toml::from_str(text).map_err(|error| explain(&error, text, name))?;
        experiment.check().map_err(|error| located(error.into(), text, name))?;
        Ok(experiment)
    }

    /// `error`, with the place of its key in the experiment file at `path`.
    pub fn locate(error: Error, path: &Path) -> Error {
        match std::fs::read_to_string(path) {
            Ok(text) => located(error, &text, &path.display().to_string()),
            Err(_) => error,
        }
    }

    /// What no type can refuse: numbers that are well formed and impossible.
    pub fn check(&self) -> Result<(), KeyError> {
        let positive = [
            ("measure.queue-every", self.measure.queue_every.value),
            ("measure.throughput-every", self.measure.throughput_every.value),
        ];
        if let Some((key, _)) = positive.iter().find(|(_, value)| value.is_zero()) {
            return Err(KeyError::new(*key, "must be above zero"));
        }
        for (key, every) in [
            ("measure.queue-every", &self.measure.queue_every),
            ("measure.throughput-every", &self.measure.throughput_every),
        ] {
            if every.value < LEAST_EVERY {
                return Err(KeyError::new(key, format_args!("of {every} is too short (at least {LEAST_EVERY})")));
            }
        }
        let most = [
            ("measure.drain", Some(&self.measure.drain), Config::MAX_DRAIN),
            ("measure.duration", self.measure.duration.as_ref(), Config::MAX_WINDOW),
        ];
        for (key, value, most) in most {
            if let Some(value) = value.filter(|value| value.value > most) {
                return Err(KeyError::new(key, format_args!("of {value} is too long (at most {most})")));
            }
        }
        self.live.check()?;
        if self.measure.duration.as_ref().is_some_and(|duration| duration.value.is_zero()) {
            return Err(KeyError::new("measure.duration", "must be above zero"));
        }
        if let Some([start, end]) = &self.measure.window
            && start.value >= end.value
        {
            return Err(KeyError::new("measure.window", format_args!("ends at {end}, before it starts at {start}")));
        }
        let bottleneck = &self.network.bottleneck;
        check_link(&bottleneck.rate, &bottleneck.delay, &bottleneck.queue)
            .map_err(|error| error.within("network.bottleneck"))?;
        if bottleneck.trace.is_some() && bottleneck.rate.value != RateChoice::Auto {
            return Err(KeyError::new("network.bottleneck", "has a trace, which is its rate: leave out rate or trace"));
        }
        if bottleneck.trace.is_some() && bottleneck.shaper.is_some() {
            return Err(KeyError::new(
                "network.bottleneck",
                "has a trace and a shaper, which both say when packets go: leave out one",
            ));
        }
        if let Some(index) = self.network.delay_box.iter().position(DelayBox::does_nothing) {
            let number = index + 1;
            return Err(KeyError::new(
                format!("network.delay-box.{number}"),
                "changes nothing: give it a delay, a loss or a rate",
            ));
        }
        self.workload.check()?;
        let shape = self.network.shape()?;
        self.measure.monitor.iter().try_for_each(|name| match shape.pair(name) {
            Ok(_) => Ok(()),
            Err(problem) => Err(KeyError::saying("measure.monitor", problem)),
        })?;
        self.tcp.check("tcp")?;
        self.check_sources(&shape)?;
        if self.run.seeds.is_empty() {
            return Err(KeyError::new("run.seeds", "is empty: nothing to run"));
        }
        if let Some(seed) = self
            .run
            .seeds
            .iter()
            .enumerate()
            .find_map(|(index, seed)| self.run.seeds[..index].contains(seed).then_some(seed))
        {
            return Err(KeyError::new(
                "run.seeds",
                format_args!("holds {seed} twice: each seed has a folder of its own"),
            ));
        }
        Ok(())
    }

    /// Whether anything is drawn, so that seeds differ.
    pub fn draws(&self) -> bool {
        self.workload.draws() || self.network.draws() || self.tcp.draws() || self.sources_draw()
    }

    /// The experiment as a file that would repeat it.
    pub fn to_toml(&self) -> String {
        let mut resolved = self.clone();
        resolved.network.bottleneck.queue = self.network.bottleneck.queue.resolved();
        for link in &mut resolved.network.links {
            link.queue = link.queue.resolved();
        }
        toml::to_string(&resolved).unwrap_or_else(|error| unreachable!("an experiment is plain data: {error}"))
    }
}

#[cfg(test)]
mod tests {
    mod path;
    mod queue;
    mod tcp;
    mod topology;

    use super::*;

    fn failure(text: &str) -> String {
        Experiment::parse(text, "x.toml").unwrap_err().to_string()
    }

    #[test]
    fn the_designs_example_reads() {
        let experiment = Experiment::parse(
            r#"
            title = "Campus link, drop-tail"
            [workload]
            source = "campus.parquet"
            structure = "a-t-b-t"
            [network]
            topology = "dumbbell"
            bottleneck = { rate = "496mbit", delay = "0ms", queue = { kind = "drop-tail", limit = "65000p" } }
            [tcp]
            congestion = "reno"
            [measure]
            duration = "60min"
            [run]
            seeds = [1, 2, 3]
            "#,
            "x.toml",
        )
        .unwrap();
        assert_eq!(experiment.measure.duration.as_ref().unwrap().value, Duration::from_secs(3600));
        assert_eq!(experiment.run.seeds, [1, 2, 3]);
        assert_eq!(Experiment::parse(&experiment.to_toml(), "again"), Ok(experiment));
    }

    #[test]
    fn unknown_keys_and_words_are_named_with_the_nearest() {
        let text = failure("[network]\nbottleneck = { rate = \"1mbit\",\n  qeue = { kind = \"drop-tail\" } }\n");
        assert!(text.contains("x.toml:3: unknown key \"qeue\""), "{text}");
        assert!(text.contains("did you mean \"queue\"?"), "{text}");
        let text = failure("[network.bottleneck.queue]\nkind = \"droptail\"\n");
        assert!(
            text.contains("x.toml:2: network.bottleneck.queue.kind: unknown word \"droptail\"")
                && text.contains("\"drop-tail\""),
            "{text}"
        );
    }

    #[test]
    fn impossible_numbers_are_refused_with_their_line() {
        for (text, wanted) in [
            (
                "[network.bottleneck]\nrate = \"-5mbit\"\n",
                "x.toml:2: network.bottleneck.rate: \"-5mbit\" is not a rate",
            ),
            (
                "[network.bottleneck]\nrate = \"0mbit\"\n",
                "x.toml:2: network.bottleneck.rate: \"0mbit\" is not a rate above zero",
            ),
            ("[network.bottleneck]\nrate = \"0%\"\n", "x.toml:2: network.bottleneck.rate: \"0%\" is not"),
            ("[network.bottleneck]\ndelay = \"20\"\n", "x.toml:2: network.bottleneck.delay: \"20\" is not a time"),
            ("[network.bottleneck.queue]\nlimit = \"0p\"\n", "limit must hold at least one packet"),
            ("[network.bottleneck.queue]\nlimit = \"100b\"\n", "limit must hold at least one packet"),
            ("[tcp]\ninitial-window = -1\n", "x.toml:2: tcp.initial-window: "),
            ("[tcp]\ninitial-window = 5000\n", "tcp.initial-window of 5000 segments"),
            ("[tcp]\nrto-min = \"0ms\"\n", "tcp.rto-min must be above zero"),
            ("[tcp]\nrto-initial = \"0ms\"\n", "tcp.rto-initial must be above zero"),
            ("[tcp]\nrecovery = \"rack\"\n", "tcp.recovery = \"rack\" needs SACK"),
            ("[tcp]\nprofile = \"linux\"\ncongestion = \"cubik\"\n", "did you mean \"cubic\"?"),
            ("[tcp]\nprofile = \"freebsd\"\n", "known: plain, rfc, bsd-2008, linux, classic"),
            ("[tcp]\nsak = \"on\"\n", "did you mean \"sack\"?"),
            ("[measure]\nduration = \"0s\"\n", "measure.duration must be above zero"),
            ("[measure]\nwindow = [\"50min\", \"10min\"]\n", "measure.window ends at 10min, before"),
            ("[run]\nseeds = []\n", "run.seeds is empty"),
            ("[run]\nseeds = [3, 1, 3]\n", "run.seeds holds 3 twice"),
            ("[run\n", "x.toml:1"),
        ] {
            let message = failure(text);
            assert!(message.contains(wanted), "{text:?} gave {message}");
        }
    }

    #[test]
    fn rates_may_be_relative_to_the_load() {
        assert_eq!("105%".parse(), Ok(RateChoice::OfLoad(1.05)));
        assert_eq!("auto".parse(), Ok(RateChoice::Auto));
        assert!("%".parse::<RateChoice>().is_err());
    }
}
