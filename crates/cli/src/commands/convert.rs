//! `flowloom convert`: vectors from one form to another; results of a run are [`export`]'s.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use flowloom_core::time::Duration;
use flowloom_report::export::Form;
use flowloom_report::facts::set_aside_text;
use flowloom_report::text::counted;
use flowloom_store::formats::{Assumptions, Format, FormatError, Notes, Rows, VectorWriter};
use flowloom_store::workload::{TrafficFacts, WorkloadFacts};
use serde_json::json;

use crate::args::{self, Target};
use crate::commands::{export, extract};
use crate::failure::{Exit, Failure, nearest};
use crate::hosts;
use crate::input::{self, Kind};
use crate::load::{self, Loaded};
use crate::output::Manner;

/// What to convert into what.
pub struct Job<'a> {
    /// The files.
    pub inputs: &'a [PathBuf],
    /// What they are.
    pub kind: Kind,
    /// The file to write; `None` writes standard output.
    pub output: Option<&'a Path>,
    /// Its form.
    pub to: Format,
    /// What a row of CSV is.
    pub rows: Rows,
    /// The round-trip time of connections of which it is not known, for Tmix.
    pub rtt: Option<Duration>,
    /// The output may exist.
    pub force: bool,
    /// How to read.
    pub capture: &'a args::Capture,
    /// What to keep of addresses.
    pub hosts: &'a args::Hosts,
}

/// What was written.
struct Written {
    notes: Notes,
    /// Connections of which only totals are known.
    totals_only: u64,
}

/// Runs the command.
pub fn run(args: &args::Convert, manner: Manner) -> Result<Exit, Failure> {
    let output = Some(&*args.output).filter(|path| path.as_os_str() != "-");
    if output.is_none() && (manner.form.json || manner.form.json_stream) {
        return Err(Failure::usage("-o - and --json would both write to standard output").hint("name a file with -o"));
    }
    let kind = kind(&args.inputs, args.from)?;
    if kind == Kind::RunFolder {
        return export::run(args, output, manner);
    }
    let job = Job {
        inputs: &args.inputs,
        kind,
        output,
        to: target(args.to, output)?,
        rows: if args.adus { Rows::Adus } else { Rows::Connections },
        rtt: args.rtt,
        force: args.force,
        capture: &args.capture,
        hosts: &args.hosts,
    };
    if args.adus && job.to != Format::Csv {
        return Err(Failure::usage("--adus is about CSV").hint("write .csv, or leave it out"));
    }
    if args.rtt.is_some() && !matches!(job.to, Format::Tmix(_)) {
        return Err(Failure::usage("--rtt is about Tmix, the only form that cannot leave a round-trip time out")
            .hint("write .cvec, or leave it out"));
    }
    manner.start("convert")?;
    job.run(manner)
}

/// What all of `inputs` are.
fn kind(inputs: &[PathBuf], from: Option<Kind>) -> Result<Kind, Failure> {
    if let Some(kind) = from {
        return Ok(kind);
    }
    if inputs.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::usage("what standard input holds cannot be told before it is read")
            .hint("say it with --from, for example --from zeek"));
    }
    input::common_kind(inputs)
}

/// The form to write.
fn target(to: Option<Target>, output: Option<&Path>) -> Result<Format, Failure> {
    let results = || Failure::usage("that form is of the results of a run").hint("give the folder of a run");
    match to {
        Some(Target::Vectors(format)) => return Ok(format),
        Some(Target::Results(_)) => return Err(results()),
        None => {}
    }
    let Some(path) = output else {
        return Err(
            Failure::usage("which form should go to standard output?").hint("say it with --to, as in --to jsonl")
        );
    };
    let name = path.to_string_lossy();
    if Form::of_name(&name).is_some() {
        return Err(results());
    }
    Format::of_name(&name).ok_or_else(|| {
        let ending = name.rsplit('.').next().unwrap_or_default();
        let meant = nearest(ending, &["parquet", "cvec", "tcvec", "jsonl", "csv", "tsv", "graphml"]);
        let meant = meant.map_or_else(String::new, |meant| format!("did you mean .{meant}? otherwise "));
        Failure::usage(format_args!("{name}: no form is known by this ending"))
            .note("known: .parquet, .cvec, .v1.cvec, .tcvec, .alt.cvec, .v2.cvec, .jsonl, .csv, .tsv, conn.log, .astf.json, .graphml")
            .hint(format_args!("{meant}say it with --to"))
    })
}

impl Job<'_> {
    /// Reads, writes, answers. Nothing has the output's name before it is complete.
    pub fn run(&self, manner: Manner) -> Result<Exit, Failure> {
        if let Some(path) = self.output
            && path.exists()
            && !self.force
        {
            return Err(Failure::new(format_args!("{}: exists already", path.display()))
                .hint("--force replaces it, -o writes elsewhere"));
        }
        input::refuse_idle_options(self.capture, self.kind, &self.inputs[0])?;
        if let Some(path) = self.output {
            VectorWriter::probe(path).map_err(load::unreadable)?;
        }
        let temporary = std::env::temp_dir();
        let scratch = self.output.map_or(&*temporary, extract::folder);
        let mut loaded = load::open(self.inputs, self.kind, self.capture, self.hosts, scratch, manner)?;
        let facts = loaded.facts.clone();
        if facts.connections == 0 {
            loaded.warn(manner);
            return Err(empty(&facts));
        }
        let rtt = self.assumed_rtt(&facts)?;
        let Some(written) = self.write(&mut loaded, rtt)? else { return Ok(Exit::Done) };
        loaded.warnings.extend(load::of_notes(&written.notes, None));
        loaded.warnings.extend(self.lost(&facts));
        loaded.warn(manner);
        hosts::warn(self.hosts, manner);
        if self.output.is_some() {
            manner.answer(|| self.object(&loaded, written.notes.vectors), || self.sentence(&facts, &written))?;
        }
        Ok(Exit::Done)
    }

    /// Writes all of it; `None` if who read standard output has gone, which is no error.
    fn write(&self, loaded: &mut Loaded, rtt: Duration) -> Result<Option<Written>, Failure> {
        let has_left = |error: &FormatError| match error {
            FormatError::Write { source, .. } => self.output.is_none() && source.kind() == ErrorKind::BrokenPipe,
            _ => false,
        };
        let facts = loaded.facts.clone();
        let mut writer = VectorWriter::create(self.output, self.to, self.rows, Assumptions { rtt }, facts)
            .map_err(load::unreadable)?;
        let mut totals_only = 0;
        for vector in &mut loaded.vectors {
            let vector = vector?;
            totals_only += u64::from(load::is_of_totals(&vector));
            match writer.write(&vector) {
                Err(error) if has_left(&error) => return Ok(None),
                written => written.map_err(load::unreadable)?,
            }
        }
        match writer.finish() {
            Err(error) if has_left(&error) => Ok(None),
            finished => finished.map(|notes| Some(Written { notes, totals_only })).map_err(load::unreadable),
        }
    }

    /// The round-trip time to write where none is known. Tmix cannot leave it out, and inventing all of them is for the
    /// user to ask for.
    fn assumed_rtt(&self, facts: &WorkloadFacts) -> Result<Duration, Failure> {
        if let Some(rtt) = self.rtt.or(facts.rtt_median_ns.map(Duration::from_nanos)) {
            return Ok(rtt);
        }
        if !matches!(self.to, Format::Tmix(_)) {
            return Ok(Duration::ZERO);
        }
        Err(Failure::new("Tmix vectors state a round-trip time, and none is known of these connections")
            .note("flow records do not say it, nor how long who waited")
            .hint("write .parquet or .jsonl, or --rtt TIME assumes one; unknown waits are then written as zero"))
    }

    /// What the form cannot hold of the workload as a whole.
    fn lost(&self, facts: &WorkloadFacts) -> Option<(String, String)> {
        let lost = match self.to {
            Format::JsonLines | Format::Csv if facts.traffic != TrafficFacts::default() => (
                "the original's packets over time were left out: the form holds connections",
                "keep the workload as .parquet to compare throughput with the original",
            ),
            Format::Astf => (
                "starts, round-trip times and losses were left out: TRex starts the connections of a template at an even pace",
                "give the path to what TRex sends through; `flowloom run` keeps all of them",
            ),
            Format::Tgen => (
                "round-trip times, windows and losses were left out: Shadow's network decides",
                "give the path to the network that tgen runs in; `flowloom run` keeps all of them",
            ),
            _ => return None,
        };
        Some((lost.0.to_owned(), lost.1.to_owned()))
    }

    fn object(&self, loaded: &Loaded, written: u64) -> serde_json::Value {
        let WorkloadFacts { provenance, capture, .. } = &loaded.facts;
        let warnings: Vec<String> =
            loaded.warnings.iter().map(|(cause, remedy)| format!("{cause} (remedy: {remedy})")).collect();
        json!({
            "from": self.kind.name(),
            "to": Kind::of(self.to).name(),
            "duration_ns": capture.duration_ns,
            "connections": capture.connections,
            "payload_bytes": capture.payload_bytes,
            "set_aside": capture.set_aside,
            "written": written,
            "inputs": provenance.inputs,
            "warnings": warnings,
        })
    }

    fn sentence(&self, facts: &WorkloadFacts, written: &Written) -> String {
        let capture = &facts.capture;
        let mut text = format!(
            "{}, {}\n",
            Duration::from_nanos(capture.duration_ns),
            extract::contents(capture, facts.connections.saturating_sub(facts.datagram_flows), written.totals_only),
        );
        if !capture.set_aside.is_empty() {
            text.push_str(&format!("  set aside   {}\n", set_aside_text(&capture.set_aside)));
        }
        let output = self.output.map_or_else(String::new, |path| path.display().to_string());
        text.push_str(&format!(
            "  {:<11} {output}, {}\n",
            Kind::of(self.to).name(),
            counted(written.notes.vectors, "vector")
        ));
        text
    }
}

/// There is nothing to write.
fn empty(facts: &WorkloadFacts) -> Failure {
    let failure = Failure::new("there is no connection to write");
    match set_aside_text(&facts.capture.set_aside) {
        text if text.is_empty() => {
            failure.hint("the file holds none, or none that has data and packets of both directions")
        }
        text => failure
            .note(format_args!("set aside: {text}"))
            .hint("only connections with data and packets of both directions can be written"),
    }
}
