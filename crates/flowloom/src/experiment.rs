//! The experiment file: what is replayed, through which network, with which TCP, measured how (design of the file:
//! `docs/reference/experiment.md`). Every section has defaults; an unknown key or word is refused with the nearest known.

use std::path::{Path, PathBuf};

use flowloom_store::regular;
use toml::de::DeTable;

pub use flowloom_core::keys::{Quantity, Share};
pub use flowloom_core::path::keys::{Bucket, DelayBox, Path as PathKeys, Traces};
pub use flowloom_core::queue::keys::{Per, Queue};
pub use flowloom_core::tcp::keys::{Tcp, TcpClass};
pub use flowloom_sim::keys::{Bottleneck, Ends, Link, Network, Pair, Part, RateChoice, Route, Shape, Topology};

use crate::error::{Error, KeyError, decoded};

mod causes;
mod diagnosis;
mod keys;
mod live;
mod load;
mod nodes;
mod page;
mod probe;
mod pruned;
mod real_link;
mod replay;
mod rtt;
mod schema;
mod set;
mod settings;
mod sources;
mod sweep;
mod vary;
mod workload;

pub use causes::causes;
pub use diagnosis::explain;
pub(crate) use diagnosis::located;
use keys::Written;
pub use keys::{Experiment, HurstKeys, Measure, Run};
pub(crate) use nodes::placed;
use nodes::with_whole_numbers;
pub use page::keys_page;
pub(crate) use page::page_of;
use pruned::{covers, follows, without};
pub(crate) use pruned::{is_in, pruned};
pub(crate) use schema::errors as schema_errors;
pub use schema::schema;
use set::set;

pub use settings::{SHORT_NAMES, Setting};
pub(crate) use settings::{given_by, in_order};

pub use live::{Devices, Live, MOST_HOSTS, MOST_WORKERS};
pub use probe::{PROBE, Probe, ProbeKinds, Schedule};
pub use real_link::{LinkEnd, RealLinkKeys};
pub use sources::{FIRST_FLOW, Flows, Placed, Source, TcpTrace, WORKLOAD};
pub use sweep::{Axis, LeaveOut, Point, RateOf, Sweep, Tables, last_part};
pub use vary::Vary;
pub use workload::{Correction, CutChoice, DatagramModel, LossChoice, Waits, Workload};

/// A path with marks where it is not UTF-8.
fn utf8(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().into_owned())
}

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
        let bytes = regular::read(path).map_err(|error| Error::new(format_args!("{name}: {error}")))?;
        let text = decoded(bytes, &name.to_string(), "an experiment is text in UTF-8")?;
        let experiment = Experiment::parse(&text, &name.to_string())?;
        Ok(experiment.relative_to(path.parent().unwrap_or(Path::new(""))))
    }

    /// Reads the text of an experiment file called `name`; the paths in it stay as they are.
    ///
    /// # Errors
    /// All that is wrong with it, each with its place and key.
    pub fn parse(text: &str, name: &str) -> Result<Experiment, Error> {
        let document = DeTable::parse(text).map_err(|error| explain(&error, text, name))?;
        let refused = schema::problems(document.get_ref());
        let mut errors = schema::errors(&refused, text, name);
        let explained = |error: toml::de::Error| explain(&error, text, name);
        let read = toml::from_str::<Experiment>(text).or_else(|error| {
            let table = toml::from_str(text).map(toml::Value::Table).map(with_whole_numbers);
            table.and_then(toml::Value::try_into).map_err(|_| error)
        });
        let mut independent = Vec::new();
        let (possible, taken) = match &read {
            Ok(experiment) => {
                let others = if refused.is_empty() { None } else { without(text, &refused) };
                independent = others.map_or_else(Vec::new, |others| others.problems());
                (experiment.problems(), Vec::new())
            }
            Err(_) => {
                let rest = toml::from_str(text)
                    .ok()
                    .and_then(|table| pruned(table, refused, (schema::schema(), schema::CHECKS)));
                rest.map_or_else(Default::default, |(rest, taken): (Experiment, _)| (rest.problems(), taken))
            }
        };
        // What is wrong in the same words without the values that the schema refuses is not wrong because of them.
        let independent: Vec<KeyError> = possible.iter().filter(|error| independent.contains(error)).cloned().collect();
        let problems: Vec<Error> = possible.into_iter().map(Error::from).collect();
        let told: Vec<String> = errors.iter().filter_map(|error| error.key.clone()).collect();
        // Of a value, the machine says more than that it is out of bounds.
        let is_taken = |key: &Option<String>| key.as_ref().is_none_or(|key| taken.contains(key));
        for error in errors.iter_mut().filter(|error| !is_taken(&error.key)) {
            if let Some(problem) = problems.iter().find(|problem| problem.key == error.key) {
                error.cause.clone_from(&problem.cause);
            }
        }
        let is_told =
            |key: &String| told.iter().any(|told| covers(told, key)) || taken.iter().any(|taken| follows(taken, key));
        let is_independent = |key: &String| !told.contains(key) && independent.iter().any(|error| error.key == *key);
        let hides = |key: &String| is_told(key) && !is_independent(key);
        let others = problems.into_iter().filter(|error| !error.key.as_ref().is_some_and(hides));
        errors.extend(others.map(|error| located(error, text, name)));
        if let Some(error) = Error::all(errors) {
            return Err(error.in_order());
        }
        let mut experiment = read.map_err(explained)?;
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
        let mut written = self.written.clone();
        set(&mut written.table, key, value)?;
        self.rewritten(written)
    }

    /// The same with other values of several keys at once. A later one goes before an earlier one of the same key; keys inside a table go before
    /// the table, wherever they stand.
    ///
    /// # Errors
    /// As of [`Experiment::with`]; each says which setting gave the value.
    pub fn with_all(self, settings: &[Setting]) -> Result<Experiment, Error> {
        if settings.is_empty() {
            return Ok(self);
        }
        let mut written = self.written.clone();
        for setting in in_order(settings) {
            for (key, value) in setting.values() {
                set(&mut written.table, key, value).map_err(|error| setting.named(error))?;
            }
        }
        self.rewritten(written).map_err(|error| given_by(&error, settings))
    }

    /// The experiment of other keys.
    fn rewritten(self, written: Written) -> Result<Experiment, Error> {
        let source = self.workload.source;
        let text = toml::to_string(&written.table).map_err(Error::usage)?;
        // The text is not the user's: its places mean nothing, only their order.
        let experiment = Experiment::parse(&text, "").map_err(Error::nowhere)?;
        let mut experiment = experiment.relative_to(&written.folder);
        // Keys cannot hold a path that is not UTF-8.
        if let Some(source) = source.filter(|source| Some(utf8(source)) == experiment.workload.source) {
            experiment.workload.source = Some(source);
        }
        Ok(experiment)
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
            *trace = trace.map(|file| folder.join(file));
        }
        for rates in self.sources.iter_mut().filter_map(|source| source.rates.as_mut()) {
            *rates = folder.join(&*rates);
        }
        if let Some(link) = &mut self.measure.real_link {
            link.store = folder.join(&link.store);
        }
        self.written.folder = folder.to_owned();
        self
    }

    /// The files that it names: a capture or workload, tables and configurations of its model, traces, rates of sources.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.workload.source.iter().cloned().collect();
        let mut model = self.workload.model.clone();
        files.extend(model.as_mut().and_then(|model| model.tables().cloned()).map(PathBuf::from));
        files.extend(model.iter_mut().flat_map(|model| model.configs()).map(|config| PathBuf::from(&*config)));
        files.extend(self.network.bottleneck.trace.iter().flat_map(|trace| trace.files().map(Clone::clone)));
        files.extend(self.sources.iter().filter_map(|source| source.rates.clone()));
        files
    }

    /// `error`, with the place of its key in the experiment file at `path`.
    pub fn locate(error: Error, path: &Path) -> Error {
        let text = regular::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        match text {
            Some(text) => located(error, &text, &path.display().to_string()),
            None => error,
        }
    }

    /// As [`Experiment::locate`], of an error that may be about no key of the file.
    pub(crate) fn locate_key(error: Error, path: &Path) -> Error {
        if error.key.is_some() { Experiment::locate(error, path) } else { error }
    }

    /// That `key` is missing, with the place of its table if the experiment file `file` has it.
    pub(crate) fn lacks(key: &str, file: Option<&Path>) -> Error {
        let error = Error::from(KeyError::new(key, "is missing"));
        match file {
            Some(file) => Experiment::locate(error, file),
            None => error,
        }
    }

    /// Replaces the names of the files that it is read with by what they are: traces, configurations and tables of models. The source is
    /// left out.
    pub(crate) fn anonymize(&mut self) {
        self.workload.anonymize();
        let traces = &mut self.network.bottleneck.trace;
        *traces = traces.as_ref().map(|trace| trace.map(|_| PathBuf::from("trace")));
        for rates in self.sources.iter_mut().filter_map(|source| source.rates.as_mut()) {
            *rates = PathBuf::from("rates");
        }
        self.measure.real_link.iter_mut().for_each(RealLinkKeys::anonymize);
    }

    /// The keys that were given, without defaults, and the folder that their paths are relative to; nothing where fields were changed in other
    /// ways than [`Experiment::with`] does it.
    pub(crate) fn keys(&self) -> Option<(String, PathBuf)> {
        let text = toml::to_string(&self.written.table).ok()?;
        let again = Experiment::parse(&text, "").ok()?.relative_to(&self.written.folder);
        (again == *self).then(|| (text, self.written.folder.clone()))
    }

    /// The experiment of [`Experiment::keys`].
    pub(crate) fn of_keys(keys: &str, folder: &Path) -> Result<Experiment, Error> {
        Ok(Experiment::parse(keys, "").map_err(Error::nowhere)?.relative_to(folder))
    }

    /// The experiment without its variants, and these.
    pub(crate) fn without_sweep(mut self) -> (Experiment, Option<Sweep>) {
        self.written.table.remove("sweep");
        let sweep = self.sweep.take();
        (self, sweep)
    }

    /// The experiment without the real link that its runs are shown beside, which decides nothing.
    pub(crate) fn without_real_link(mut self) -> Experiment {
        if let Some(measure) = self.written.table.get_mut("measure").and_then(|measure| measure.as_table_mut()) {
            measure.remove("real-link");
        }
        self.measure.real_link = None;
        self
    }

    /// The experiment as a file that would repeat it.
    pub fn to_toml(&self) -> String {
        let mut resolved = self.clone();
        resolved.network.bottleneck.queue = self.network.bottleneck.queue.resolved();
        for link in &mut resolved.network.links {
            link.queue = link.queue.resolved();
        }
        // TOML has no paths that are not UTF-8.
        resolved.workload.source = self.workload.source.as_deref().map(utf8);
        resolved.network.bottleneck.trace = self.network.bottleneck.trace.as_ref().map(|trace| trace.map(utf8));
        for rates in resolved.sources.iter_mut().filter_map(|source| source.rates.as_mut()) {
            *rates = utf8(rates);
        }
        if let Some(link) = &mut resolved.measure.real_link {
            link.store = utf8(&link.store);
        }
        toml::to_string(&resolved).unwrap_or_else(|error| unreachable!("an experiment is plain data: {error}"))
    }
}

#[cfg(test)]
mod tests {
    mod bounds;
    mod odd;
    mod path;
    mod queue;
    mod schema;
    mod sources;
    mod tcp;
    mod topology;

    use flowloom_core::time::Duration;

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
    fn paths_may_be_any_bytes() {
        use std::os::unix::ffi::OsStrExt;

        let path = Path::new(std::ffi::OsStr::from_bytes(b"odd-\xff.pcap"));
        let experiment = Experiment::of(path).with("tcp.profile", "linux").unwrap();
        assert_eq!(experiment.workload.source.as_deref(), Some(path));
        assert!(experiment.to_toml().contains("source = \"odd-\u{fffd}.pcap\""), "{}", experiment.to_toml());
        let other = experiment.with("workload.source", "b.pcap").unwrap();
        assert_eq!(other.workload.source.as_deref(), Some(Path::new("b.pcap")));
    }

    #[test]
    fn a_file_that_is_not_utf8_is_refused_with_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        std::fs::write(&file, b"title = \"\xc3\xa9\"\n[workload]\nsource = \"\xff\"\n").unwrap();
        let error = Experiment::read(&file).unwrap_err().to_string();
        assert!(error.contains("x.toml:3:11: this is not UTF-8"), "{error}");
    }

    #[test]
    fn seeds_are_numbers_that_files_can_hold() {
        let run = Run { seeds: vec![1, u64::MAX], ..Run::default() };
        let error = Experiment { run, ..Experiment::default() }.check().unwrap_err();
        assert!(error.cause.contains("run.seeds[1] of 18446744073709551615 is above 9223372036854775807"), "{error}");
    }

    #[test]
    fn whole_numbers_may_have_a_point() {
        let text =
            |one: &str| format!("[tcp]\ninitial-window = {one}\n[run]\nseeds = [{one}]\n[live]\nworkers = {one}\n");
        assert_eq!(Experiment::parse(&text("3.0"), "x"), Experiment::parse(&text("3"), "x"));
        assert!(failure(&text("3.5")).contains("tcp.initial-window: expected a whole number"));
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
            ("[tcp]\ninitial-window = -1\n", "x.toml:2: tcp.initial-window of -1 must be between 0 and 1000"),
            ("[tcp]\ninitial-window = 5000\n", "tcp.initial-window of 5000 segments is above 1000"),
            ("[tcp]\nrto-min = \"0ms\"\n", "tcp.rto-min must be above zero"),
            ("[tcp]\nrto-initial = \"0ms\"\n", "tcp.rto-initial must be above zero"),
            ("[tcp]\nrecovery = \"rack\"\n", "tcp.recovery = \"rack\" needs SACK"),
            ("[tcp]\nprofile = \"linux\"\ncongestion = \"cubik\"\n", "did you mean \"cubic\"?"),
            ("[tcp]\nprofile = \"freebsd\"\n", "known: plain, rfc, bsd-2008, linux, classic"),
            ("[tcp]\nsak = \"on\"\n", "did you mean \"sack\"?"),
            ("[measure]\nduration = \"0s\"\n", "measure.duration must be above zero"),
            (
                "[measure]\nwindow = [\"50min\", \"10min\"]\n",
                "measure.window ends at 10min, which is not after its start at 50min",
            ),
            ("[run]\nseeds = []\n", "run.seeds is empty: nothing to run"),
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
    fn what_cannot_be_cut_like_a_trace_is_refused() {
        let model = "model = { kind = \"cbr\", rate = \"1mbit\" }\n";
        let failed =
            |keys: &str| failure(&format!("[workload]\ncut = \"trace\"\n{keys}[measure]\nduration = \"9s\"\n"));
        let load = "load = { method = \"thinning\", factor = 0.5 }\n";
        for (keys, meant) in [
            (
                "source = \"a.pcap\"\n".to_owned(),
                "workload.cut takes a part out of what a model draws, and there is no workload.model",
            ),
            (format!("{model}prefill = \"1s\"\n"), "workload.cut has the connections in progress already"),
            (format!("{model}{load}"), "workload.cut keeps connections where they are in time"),
            (format!("{model}cut-after = \"1001h\"\n"), "workload.cut-after: is longer than"),
        ] {
            let told = failed(&keys);
            assert!(told.contains(meant), "{told}");
        }
        let cut = |keys: &str| Experiment::parse(keys, "x.toml").unwrap().workload.trace_cut(Duration::from_secs(60));
        let model = "workload.model = { kind = \"cbr\", rate = \"1mbit\" }\nmeasure.duration = \"60s\"\n";
        assert_eq!(cut(model), None);
        let hour = cut(&format!("{model}workload.cut = \"trace\"\n")).unwrap();
        assert_eq!((hour.after(), hour.end()), (Duration::from_secs(3_600), Duration::from_secs(3_660)));
    }

    #[test]
    fn with_refuses_keys_and_values_with_reasons() {
        for (key, value, wanted) in [
            ("network.bottleneck.que", "codel", "unknown key \"que\""),
            ("network.bottleneck.queue", "fqcodel", "network.bottleneck.queue"),
            ("network.bottleneck.queue.kind", "fqcodel", "did you mean \"fq-codel\"?"),
            ("network.bottleneck.delay", "20", "\"20\" is not a time"),
            ("network.links[1].rate", "1mbit", "the list has 0 items"),
            ("tcp.initial-window", "5000", "tcp.initial-window of 5000 segments is above 1000"),
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
        let impossible = "[network.bottleneck]\ndelay = \"2h\"\nqueue.limit = \"0p\"\n[tcp]\nrto-min = \"2h\"\n[run]\nseeds = [1, 1]\n";
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
