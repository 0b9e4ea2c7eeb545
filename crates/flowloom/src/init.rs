//! A commented experiment to begin with.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use flowloom_core::keys::Bounds;
use flowloom_core::keys::walk::{KeyPath, schema_at};
use flowloom_core::units::Rate;
use flowloom_core::workload::LinkSide;
use flowloom_report::words::counted;
use flowloom_store::workload::WorkloadFacts;

use crate::context::Context;
use crate::error::Error;
use crate::experiment::schema;
use crate::extraction::CaptureOptions;
use crate::input::{self, Kind};
use crate::run::command_line::{quoted, reading};
use crate::workload::source::{Inputs, Source, file_name};

/// What an experiment is begun from.
#[derive(Clone, Debug, Default)]
pub struct InitOptions {
    /// A capture or a workload, which is read for what it holds.
    pub source: Option<PathBuf>,
    /// How a capture is read.
    pub capture: CaptureOptions,
    /// The folder that the experiment will be in; the source is named relative to it where it is below it.
    pub folder: PathBuf,
}

impl InitOptions {
    /// The command that runs the experiment once it is in `file`: it reads a capture as this read it.
    pub fn command(&self, file: &Path) -> String {
        let words = ["flowloom".to_owned(), "run".to_owned(), quoted(&file.to_string_lossy())];
        words.into_iter().chain(reading(&self.capture)).collect::<Vec<_>>().join(" ")
    }
}

/// Tables in the order of the file, with their keys: what is written, or after `#` what could be.
const TABLES: [(&str, &[(&str, &str)]); 7] = [
    ("workload", &[("#structure", "\"a-t-b-t\""), ("#rtt", "\"usernet\""), ("#window", "\"measured\"")]),
    ("network", &[("#topology", "\"dumbbell\"")]),
    ("network.bottleneck", &[("rate", "\"auto\""), ("delay", "\"0ms\"")]),
    ("network.bottleneck.queue", &[("kind", "\"drop-tail\""), ("#limit", "\"65000p\"")]),
    ("tcp", &[("profile", "\"linux\""), ("#congestion", "\"cubic\""), ("#ecn", "\"off\""), ("#initial-window", "10")]),
    (
        "measure",
        &[
            ("#duration", "\"60s\""),
            ("#window", "[\"10s\", \"50s\"]"),
            ("#queue-every", "\"10ms\""),
            ("#throughput-every", "\"1ms\""),
        ],
    ),
    ("run", &[("seeds", "[1]")]),
];

/// The text of a commented experiment.
///
/// # Errors
/// The source is no capture and no workload, cannot be read, or could not be replayed; options about reading that change nothing; the
/// work was stopped.
pub fn init(options: &InitOptions, context: Context<'_>) -> Result<String, Error> {
    let mut text = String::from(
        "# An experiment of Flowloom. A key behind # shows its default or an example.\n\
         # All keys: docs/reference/keys.md, or `flowloom schema experiment`.\n",
    );
    let facts = match &options.source {
        Some(source) => Some(facts(source, options, context)?),
        None => {
            input::refuse_reading_options(&options.capture, "no source is read here")?;
            None
        }
    };
    let title = options.source.as_ref().map_or_else(|| "My experiment".to_owned(), |source| file_name(source));
    let _ = writeln!(text, "title = {}", text_of(&title));
    for (table, keys) in TABLES {
        let _ = writeln!(text, "\n[{table}]");
        match (table, &options.source, &facts) {
            ("workload", Some(source), Some(facts)) => {
                comment(&mut text, &holds(facts));
                let reading = reading(&options.capture);
                if !reading.is_empty() {
                    let options = reading.join(" ");
                    comment(&mut text, &format!("It was read with {options}: give `flowloom run` the same options."));
                }
                let _ = writeln!(text, "source = {}", text_of(&name_in(source, &options.folder)?));
            }
            ("workload", ..) => {
                comment(&mut text, &meaning("workload.source"));
                text.push_str("source = \"capture.pcap\"\n");
            }
            ("network.bottleneck", _, Some(facts)) => comment(&mut text, &load(facts)),
            _ => {}
        }
        for (key, value) in keys {
            let (mark, key) = key.strip_prefix('#').map_or(("", *key), |key| ("#", key));
            comment(&mut text, &meaning(&format!("{table}.{key}")));
            let _ = writeln!(text, "{mark}{key} = {value}");
        }
    }
    Ok(text)
}

/// What a capture or workload holds.
fn facts(source: &Path, options: &InitOptions, context: Context<'_>) -> Result<WorkloadFacts, Error> {
    let shown = source.display();
    if source == Path::new("-") || (source.exists() && !source.is_file() && !source.is_dir()) {
        return Err(Error::usage(format_args!("{shown}: this can be read only once, and every run reads the source"))
            .hint("save it to a file, and name that"));
    }
    if options.capture.anonymize {
        return Err(Error::usage("--anonymize leaves out names, and an experiment names its source")
            .hint("give --anonymize to `flowloom run`"));
    }
    // Before all that takes long.
    name_in(source, &options.folder)?;
    let paths = [source.to_owned()];
    let kind = input::common_kind(&paths)?;
    if matches!(kind, Kind::Experiment | Kind::Specification | Kind::RunFolder) {
        return Err(Error::usage(format_args!("{shown}: this is no capture and no workload"))
            .hint("an experiment begins from what it replays"));
    }
    input::refuse_idle_options(&options.capture, kind, source)?;
    // What is extracted is not kept.
    let target = std::env::temp_dir().join("flowloom-init");
    let inputs = Inputs { paths: &paths, kind, capture: &options.capture, target: &target };
    let opened = Source::open(inputs, context)?;
    if opened.interrupted {
        return Err(Error::interrupted(format_args!("{shown}: reading was interrupted")));
    }
    if opened.facts.connections == 0 {
        return Err(Error::new(format_args!("{shown}: there is no connection to replay"))
            .hint("`flowloom describe -v` says what it holds and why it was set aside"));
    }
    Ok(opened.facts)
}

fn holds(facts: &WorkloadFacts) -> String {
    let length = facts.observed();
    let flows = match facts.datagram_flows {
        0 => String::new(),
        flows => format!(", {flows} of them flows of datagrams"),
    };
    let connections = counted(facts.connections, "connection");
    format!("Capture or workload file, relative to this file: {connections} in {length}{flows}.")
}

/// What the bottleneck carried.
fn load(facts: &WorkloadFacts) -> String {
    let seconds = facts.observed().as_secs_f64().max(1e-9);
    let [left, right] = [LinkSide::Left, LinkSide::Right].map(|side| {
        let bytes = facts.traffic.sent(side, true).total().bytes;
        let bits = (8.0 * bytes as f64 / seconds).round() as u64;
        Rate::from_bits_per_second(bits).map_or_else(|| "nothing".to_owned(), |rate| rate.to_string())
    });
    format!(
        "The original carried {left} from the left and {right} from the right; rate = \"105%\" makes a link that is 5 % faster than the \
         busier direction."
    )
}

/// What the schema says of a key.
fn meaning(path: &str) -> String {
    let key = KeyPath::parse(path).and_then(|path| {
        let (last, table) = path.split_last()?;
        schema_at(schema(), &table)?["properties"].get(last.as_str())
    });
    let Some(key) = key else { return String::new() };
    let described = key["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match Bounds::of(key) {
        Some(bounds) => format!("{described} Possible: {}.", bounds.in_words()),
        None => described,
    }
}

/// Adds a comment in lines of at most 100 characters.
fn comment(text: &mut String, meaning: &str) {
    let mut line = String::from("#");
    for word in meaning.split_whitespace() {
        if line.len() + 1 + word.len() > 100 {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        let _ = write!(line, " {word}");
    }
    if line.len() > 1 {
        let _ = writeln!(text, "{line}");
    }
}

/// A text as TOML has it.
fn text_of(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The name of `path` in a file in `folder`.
fn name_in(path: &Path, folder: &Path) -> Result<String, Error> {
    let whole = |path: &Path| std::path::absolute(path).ok();
    let named = match (whole(path), whole(folder)) {
        (Some(file), Some(folder)) => file.strip_prefix(&folder).map(Path::to_owned).unwrap_or(file),
        _ => path.to_owned(),
    };
    named.into_os_string().into_string().map_err(|_| {
        Error::usage(format_args!("{}: this path is not UTF-8, as experiment files are", path.display()))
            .hint("rename the file or its folder")
    })
}

#[cfg(test)]
mod tests {
    use crate::Experiment;
    use crate::context::{Silent, Stop};

    use super::*;

    fn text(source: Option<&str>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let options =
            InitOptions { source: source.map(PathBuf::from), folder: folder.path().into(), ..InitOptions::default() };
        init(&options, Context::new(&Silent, &Stop::new())).unwrap()
    }

    #[test]
    fn every_line_that_is_commented_out_can_be_used() {
        let text = text(None);
        Experiment::parse(&text, "init").unwrap();
        let keys: Vec<&str> = text.lines().filter(|line| line.starts_with('#') && !line.starts_with("# ")).collect();
        assert!(keys.len() > 8, "{keys:?}");
        for key in keys {
            Experiment::parse(&text.replace(key, &key[1..]), "init").unwrap_or_else(|error| panic!("{key}: {error}"));
        }
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert!(text.lines().filter(|line| line.starts_with("# ")).count() > 15, "{text}");
    }

    #[test]
    fn a_capture_is_named_with_what_it_holds() {
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
        let text = text(Some(capture));
        let experiment = Experiment::parse(&text, "init").unwrap();
        assert!(experiment.workload.source.unwrap().ends_with("demo.pcap.gz"));
        assert!(text.contains("399 connections in 110 s"), "{text}");
        assert!(text.contains("639 kbit/s from the left and 2.50 Mbit/s from the right"), "{text}");
    }
}
