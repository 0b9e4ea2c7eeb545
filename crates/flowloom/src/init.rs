//! A commented experiment to begin with.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use flowloom_core::keys::walk::{KeyPath, schema_at};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::LinkSide;
use flowloom_store::workload::WorkloadFacts;

use crate::context::Context;
use crate::error::Error;
use crate::experiment::schema;
use crate::extraction::CaptureOptions;
use crate::input::{self, Kind};
use crate::workload::source::{Inputs, Source, file_name};

/// What an experiment is begun from.
#[derive(Clone, Debug, Default)]
pub struct InitOptions {
    /// A capture or a workload, which is read for what it holds.
    pub source: Option<PathBuf>,
    /// How a capture is read.
    pub capture: CaptureOptions,
    /// The folder that the experiment will be in; the source is named relative to it where it is below.
    pub folder: PathBuf,
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
/// The source is no capture and no workload, or cannot be read.
pub fn init(options: &InitOptions, context: Context<'_>) -> Result<String, Error> {
    let mut text = String::from(
        "# An experiment of Flowloom. A key behind # shows its default or an example.\n\
         # All keys: docs/reference/keys.md, or `flowloom schema experiment`.\n",
    );
    let facts = options.source.as_ref().map(|source| facts(source, options, context)).transpose()?;
    let title = options.source.as_ref().map_or_else(|| "My experiment".to_owned(), |source| file_name(source));
    let _ = writeln!(text, "title = {}", quoted(&title));
    for (table, keys) in TABLES {
        let _ = writeln!(text, "\n[{table}]");
        match (table, &options.source, &facts) {
            ("workload", Some(source), Some(facts)) => {
                comment(&mut text, &holds(facts));
                let _ = writeln!(text, "source = {}", quoted(&relative(source, &options.folder).to_string_lossy()));
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
    let paths = [source.to_owned()];
    let kind = input::common_kind(&paths)?;
    if matches!(kind, Kind::Experiment | Kind::Specification | Kind::RunFolder) {
        return Err(Error::usage(format_args!("{}: this is no capture and no workload", source.display()))
            .hint("an experiment begins from what it replays"));
    }
    let target = options.folder.join("init");
    let inputs = Inputs { paths: &paths, kind, capture: &options.capture, target: &target };
    Ok(Source::open(inputs, context)?.facts)
}

/// How long the original is without the jumps of its clock.
fn observed(facts: &WorkloadFacts) -> Duration {
    Duration::from_nanos(facts.capture.duration_ns).saturating_sub(facts.traffic.clock_jumps())
}

fn holds(facts: &WorkloadFacts) -> String {
    let length = observed(facts);
    let flows = match facts.datagram_flows {
        0 => String::new(),
        flows => format!(", {flows} of them flows of datagrams"),
    };
    format!("Capture or workload file, relative to this file: {} connections in {length}{flows}.", facts.connections)
}

/// What the bottleneck carried.
fn load(facts: &WorkloadFacts) -> String {
    let seconds = observed(facts).as_secs_f64().max(1e-9);
    let [left, right] = [LinkSide::Left, LinkSide::Right].map(|side| {
        let bytes = facts.traffic.replayed.from(side).total().bytes;
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
    let described = KeyPath::parse(path).and_then(|path| {
        let (last, table) = path.split_last()?;
        schema_at(schema(), &table)?["properties"][last.as_str()]["description"].as_str()
    });
    described.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
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

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// `path` as a file in `folder` names it.
fn relative<'a>(path: &'a Path, folder: &Path) -> std::borrow::Cow<'a, Path> {
    let whole = |path: &Path| std::path::absolute(path).ok();
    match (whole(path), whole(folder)) {
        (Some(file), Some(folder)) => match file.strip_prefix(&folder) {
            Ok(below) => below.to_owned().into(),
            Err(_) => file.into(),
        },
        _ => path.into(),
    }
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
