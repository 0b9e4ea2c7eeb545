//! The experiment file: what is replayed, through which network, with which TCP, measured how (design of the file:
//! `docs/reference/experiment.md`). Every section has defaults; an unknown key or word is refused with the nearest known.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::de::DeTable;

use flowloom_core::keys::KeyError;
pub use flowloom_core::keys::Quantity;
pub use flowloom_core::path::keys::{Bucket, DelayBox, Path as PathKeys, Traces};
pub use flowloom_core::queue::keys::{Per, Queue};
use flowloom_core::tcp::keys::TcpKeys;
pub use flowloom_core::tcp::keys::{Tcp, TcpClass};
use flowloom_core::time::Duration;
use flowloom_sim::Config;
pub use flowloom_sim::keys::{Bottleneck, Ends, Link, Network, Pair, Part, RateChoice, Route, Shape, Topology};

use crate::error::Error;

mod diagnosis;
mod live;
mod load;
mod page;
mod rtt;
mod schema;
mod sources;
mod workload;
mod written;

use diagnosis::located;
pub use diagnosis::{explain, place};
pub use page::keys_page;
pub use schema::schema;
use written::Written;

pub use live::{Devices, Live, MOST_HOSTS, MOST_WORKERS};
pub use sources::{FIRST_FLOW, Flows, Placed, Source, TcpTrace, WORKLOAD};
pub use workload::{Correction, DatagramModel, LossChoice, Workload};

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
    /// What is measured, and how long.
    pub measure: Measure,
    /// Repetitions of the run.
    pub run: Run,
    /// Runs over the TCP of this kernel.
    #[serde(skip_serializing_if = "Live::is_default")]
    pub live: Live,
    #[serde(skip)]
    written: Written,
}

/// `[measure]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Measure {
    /// Time during which connections start; default: the length of the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Quantity<Duration>>,
    /// Part of the run that results use, as ["10min", "50min"] from its start (methods C.1); default: all of `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<[Quantity<Duration>; 2]>,
    /// Time after `duration` in which connections may still finish; default: 60s.
    pub drain: Quantity<Duration>,
    /// Interval between samples of the queue, 1us or more; default: 10ms.
    pub queue_every: Quantity<Duration>,
    /// Width of throughput bins, 1us or more; default: 1ms.
    pub throughput_every: Quantity<Duration>,
    /// Names of links that are measured like the bottleneck, each with the link back; default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub monitor: Vec<String>,
    /// Connections whose congestion windows are traced; default: off.
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
    /// Seeds, one run each; default: [1].
    pub seeds: Vec<u64>,
}

impl Default for Run {
    fn default() -> Run {
        Run { seeds: vec![1] }
    }
}

impl Run {
    fn problems(&self) -> Vec<KeyError> {
        if self.seeds.is_empty() {
            return vec![KeyError::new("run.seeds", "is empty: nothing to run")];
        }
        let mut seen = BTreeSet::new();
        let twice = self.seeds.iter().enumerate().filter(|(_, seed)| !seen.insert(**seed));
        let problem = |seed| format!("holds {seed} twice: each seed has a folder of its own");
        twice.map(|(_, seed)| KeyError::new("run.seeds", problem(seed))).collect()
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
                wrong(key, format!("of {every} is too short (at least {LEAST_EVERY})"));
            }
        }
        if self.drain.value > Config::MAX_DRAIN {
            wrong("drain", format!("of {} is too long (at most {})", self.drain, Config::MAX_DRAIN));
        }
        if let Some(duration) = &self.duration {
            if duration.value.is_zero() {
                wrong("duration", "must be above zero".to_owned());
            } else if duration.value > Config::MAX_WINDOW {
                wrong("duration", format!("of {duration} is too long (at most {})", Config::MAX_WINDOW));
            }
        }
        if let Some([start, end]) = &self.window
            && start.value >= end.value
        {
            wrong("window", format!("ends at {end}, before it starts at {start}"));
        }
        found
    }
}

/// Shortest time between queue samples, and width of throughput bins: below it the tables would be larger than any capture.
const LEAST_EVERY: Duration = Duration::from_micros(1);

impl Experiment {
    /// The experiment with defaults alone that replays `source`, a capture or a workload file.
    pub fn of(source: impl Into<PathBuf>) -> Experiment {
        let source = source.into();
        let mut experiment = Experiment::default();
        let workload = toml::Table::from_iter([("source".to_owned(), source.to_string_lossy().into_owned().into())]);
        experiment.written.table.insert("workload".to_owned(), workload.into());
        experiment.workload.source = Some(source);
        experiment
    }

    /// Reads an experiment file; the paths in it are relative to it.
    ///
    /// # Errors
    /// The file cannot be read; all that is wrong with it.
    pub fn read(path: &Path) -> Result<Experiment, Error> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| Error::new(format_args!("{name}: {error}")))?;
        let experiment = Experiment::parse(&text, &name.to_string())?;
        Ok(experiment.relative_to(path.parent().unwrap_or(Path::new(""))))
    }

    /// Reads the text of an experiment file called `name`; the paths in it stay as they are.
    ///
    /// # Errors
    /// All that is wrong with it, each with its place and key.
    pub fn parse(text: &str, name: &str) -> Result<Experiment, Error> {
        let document = DeTable::parse(text).map_err(|error| explain(&error, text, name))?;
        if let Some(error) = Error::all(schema::errors(document.get_ref(), text, name)) {
            return Err(error);
        }
        let explained = |error: toml::de::Error| explain(&error, text, name);
        let mut experiment: Experiment = toml::from_str(text).map_err(explained)?;
        experiment.check().map_err(|error| located(error, text, name).in_order())?;
        experiment.written.table = toml::from_str(text).map_err(explained)?;
        Ok(experiment)
    }

    /// The same with another value of a key: `experiment.with("network.bottleneck.queue", "fq-codel")`.
    ///
    /// `key` is a path such as `network.links[1].queue.limit`; the first of a list is 0, and the place behind the last adds one. `value`
    /// is what stands behind `=` in a file; the quotes of texts may be left out, and of a table that has a `kind` this alone may be given.
    /// Defaults follow: those of TCP's keys come from the profile, those of a queue from its kind. Fields that were changed in
    /// other ways than by this are as they were written.
    ///
    /// # Errors
    /// There is no such key, the value is none of it, or it is not possible beside the others.
    pub fn with(self, key: &str, value: &str) -> Result<Experiment, Error> {
        let mut written = self.written;
        written.set(key, value)?;
        if let Some(error) = Error::all(schema::errors_of(&written.table)) {
            return Err(error);
        }
        let read: Result<Experiment, _> = toml::Value::Table(written.table.clone()).try_into();
        let mut experiment = read.map_err(|error| Error::usage(error.message()))?;
        experiment.check()?;
        experiment.written.table = written.table;
        Ok(experiment.relative_to(&written.folder))
    }

    /// The same with paths that are relative to `folder`.
    fn relative_to(mut self, folder: &Path) -> Experiment {
        let joined = |path: &str| folder.join(path).to_string_lossy().into_owned();
        if let Some(source) = &mut self.workload.source {
            *source = folder.join(&*source);
        }
        if let Some(tables) = self.workload.model.as_mut().and_then(|model| model.tables()) {
            *tables = joined(tables);
        }
        for config in self.workload.model.iter_mut().flat_map(|model| model.configs()) {
            *config = joined(config);
        }
        if let Some(trace) = &mut self.network.bottleneck.trace {
            trace.join(folder);
        }
        self.written.folder = folder.to_owned();
        self
    }

    /// `error`, with the place of its key in the experiment file at `path`.
    pub fn locate(error: Error, path: &Path) -> Error {
        match std::fs::read_to_string(path) {
            Ok(text) => located(error, &text, &path.display().to_string()),
            Err(_) => error,
        }
    }

    /// What no type can refuse: values that are well formed and impossible, all of them.
    pub fn problems(&self) -> Vec<KeyError> {
        let mut found = self.measure.problems();
        found.extend(self.live.problems());
        found.extend(self.workload.problems());
        let (problems, shape) = self.network.problems();
        found.extend(problems);
        if let Some(shape) = &shape {
            let unknown = self.measure.monitor.iter().enumerate().filter_map(|(number, name)| {
                let problem = shape.pair(name).err()?;
                Some(KeyError::saying(format!("measure.monitor[{number}]"), problem))
            });
            found.extend(unknown);
        }
        found.extend(self.tcp.problems("tcp"));
        found.extend(self.source_problems(shape.as_ref()));
        found.extend(self.run.problems());
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
    mod schema;
    mod sources;
    mod tcp;
    mod topology;

    use super::*;
    use crate::error::by_line;

    fn failure(text: &str) -> String {
        by_line(Experiment::parse(text, "x.toml").unwrap_err())
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
    fn places_have_columns() {
        let text = "[network]\nhops = 3\nbottleneck = { rate = \"1mbit\",\n  qeue = 1, delay = \"soon\" }\n";
        let error = Experiment::parse(text, "x.toml").unwrap_err();
        let mut places: Vec<String> = error.each().filter_map(|one| Some(one.place.as_ref()?.to_string())).collect();
        places.sort();
        assert_eq!(places, ["x.toml:4:21", "x.toml:4:3"], "{error}");
        let error = Experiment::parse("[network]\nhops = 3\n", "x.toml").unwrap_err().to_string();
        assert!(error.starts_with("x.toml:2:1: network.hops"), "{error}");
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
            ("[tcp]\ninitial-window = -1\n", "x.toml:2: tcp.initial-window of -1 is not between 0 and 1000"),
            ("[tcp]\ninitial-window = 5000\n", "tcp.initial-window of 5000 is not between 0 and 1000"),
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
    fn with_sets_a_key_and_its_defaults_follow() {
        let base = Experiment::of("campus.parquet");
        let changed = base
            .clone()
            .with("network.bottleneck.queue", "fq-codel")
            .and_then(|experiment| experiment.with("network.bottleneck.rate", "105%"))
            .and_then(|experiment| experiment.with("tcp.profile", "linux"))
            .and_then(|experiment| experiment.with("run.seeds", "[1, 2]"))
            .and_then(|experiment| experiment.with("measure.duration", "60s"))
            .and_then(|experiment| experiment.with("workload.t-close", "false"))
            .unwrap();
        let text = "workload = { source = \"campus.parquet\", t-close = false }\n[network.bottleneck]\nrate = \"105%\"\n\
                    queue.kind = \"fq-codel\"\n[tcp]\nprofile = \"linux\"\n[run]\nseeds = [1, 2]\n[measure]\nduration = \"60s\"\n";
        assert_eq!(changed, Experiment::parse(text, "x").unwrap());
        assert_eq!(
            base.with("title", "12").unwrap().title.as_deref(),
            Some("12"),
            "a number is a text where one is asked for"
        );
    }

    #[test]
    fn with_reaches_into_lists_and_keeps_folders() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        std::fs::write(&file, "workload.source = \"a.pcap\"\n[[sources]]\nname = \"ftp\"\nkind = \"bulk\"\n").unwrap();
        let read = Experiment::read(&file).unwrap().with("sources[0].count", "3").unwrap();
        let more =
            read.with("sources[1]", "{ name = \"voice\", kind = \"cbr\", rate = \"64kbit\", rtt = \"9ms\" }").unwrap();
        assert_eq!(more.sources.iter().map(Source::flows).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(more.workload.source, Some(folder.path().join("a.pcap")));
    }

    #[test]
    fn with_refuses_keys_and_values_with_reasons() {
        for (key, value, wanted) in [
            ("network.bottleneck.que", "codel", "unknown key \"que\""),
            ("network.bottleneck.queue", "fqcodel", "network.bottleneck.queue"),
            ("network.bottleneck.queue.kind", "fqcodel", "did you mean \"fq-codel\"?"),
            ("network.bottleneck.delay", "20", "\"20\" is not a time"),
            ("network.links[1].rate", "1mbit", "the list has 0 items"),
            ("tcp.initial-window", "5000", "tcp.initial-window of 5000 is not between 0 and 1000"),
            ("tcp[0]", "1", "tcp: expected a table, found a list"),
            ("", "1", "this is no path of keys"),
            ("a..b", "1", "this is no path of keys"),
        ] {
            let error = Experiment::of("a.pcap").with(key, value).unwrap_err();
            assert!(error.to_string().contains(wanted), "{key} = {value}: {error}");
            assert!(error.key.is_some(), "{key}");
        }
    }

    #[test]
    fn all_errors_of_a_file_are_found_at_once() {
        let text = "titel = 1\n[network]\nbottleneck = { rate = \"fast\", queue = { kind = \"red\", mni = \"5p\" } }\n\
                    [[network.links]]\nname = \"a\"\nfrom = \"b\"\nto = \"c\"\nrate = true\n[tcp]\ncongestion = \"cubik\"\n";
        let error = Experiment::parse(text, "x.toml").unwrap_err();
        let found: Vec<_> = error
            .each()
            .map(|error| {
                let place = error.place.as_deref().unwrap();
                (place.line.unwrap(), place.column.unwrap(), error.key.as_deref().unwrap(), error.hint.as_deref())
            })
            .collect();
        let meant = |word: &str| format!("did you mean \"{word}\"?");
        assert_eq!(
            found,
            [
                (1, 1, "titel", Some(meant("title").as_str())),
                (3, 23, "network.bottleneck.rate", None),
                (3, 55, "network.bottleneck.queue.mni", Some(meant("min").as_str())),
                (8, 8, "network.links[0].rate", None),
                (10, 14, "tcp.congestion", Some(meant("cubic").as_str())),
            ]
        );
        let impossible =
            "[network.bottleneck]\ndelay = \"2h\"\nqueue.limit = \"0p\"\n[tcp]\nrto-min = \"0s\"\n[run]\nseeds = []\n";
        let error = Experiment::parse(impossible, "x.toml").unwrap_err();
        let lines: Vec<_> = error.each().map(|error| error.place.as_deref().unwrap().line.unwrap()).collect();
        assert_eq!(lines, [2, 3, 5, 7]);
    }

    #[test]
    fn rates_may_be_relative_to_the_load() {
        assert_eq!("105%".parse(), Ok(RateChoice::OfLoad(1.05)));
        assert_eq!("auto".parse(), Ok(RateChoice::Auto));
        assert!("%".parse::<RateChoice>().is_err());
    }
}
