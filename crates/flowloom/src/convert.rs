//! Vectors from one form to another.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use flowloom_core::extract::Missing;
use flowloom_core::time::Duration;
use flowloom_report::facts::set_aside_text;
use flowloom_store::formats::{Assumptions, Format, FormatError, Notes, Rows, VectorWriter};
use flowloom_store::workload::{TrafficFacts, WorkloadFacts};

use crate::contents::Contents;
use crate::context::Context;
use crate::error::Error;
use crate::extraction::CaptureOptions;
use crate::finding::Lost;
use crate::input::{self, Kind};
use crate::targets::{check_target, check_workload_target, scratch};
use crate::warning::Warning;
use crate::workload::hosts::{self, HostOptions};
use crate::workload::load::{self, Loaded};

/// What to convert into what.
pub struct Conversion<'a> {
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
    pub capture: &'a CaptureOptions,
    /// What to keep of addresses.
    pub hosts: &'a HostOptions,
}

/// What was written.
struct Written {
    notes: Notes,
    contents: Contents,
}

/// What a conversion wrote.
pub struct Converted {
    /// What the workload says about itself.
    pub facts: WorkloadFacts,
    /// What the user should know; the context has been told.
    pub warnings: Vec<Warning>,
    /// Vectors written.
    pub vectors: u64,
    /// The vectors read, by number.
    pub contents: Contents,
}

/// Converts; `None` if who read standard output has gone, which is no error.
///
/// # Errors
/// Options that do not go together; what is wrong with the inputs; what could not be written. Nothing has the output's name before it
/// is complete.
pub fn convert(conversion: &Conversion<'_>, context: Context<'_>) -> Result<Option<Converted>, Error> {
    conversion.check()?;
    conversion.perform(context)
}

impl Conversion<'_> {
    /// Refuses options that do not go together, and an output that exists.
    fn check(&self) -> Result<(), Error> {
        if matches!(self.rows, Rows::Adus) && self.to != Format::Csv {
            return Err(Error::usage("--adus is about CSV").hint("write .csv, or leave it out"));
        }
        if self.rtt.is_some() && !matches!(self.to, Format::Tmix(_)) {
            return Err(Error::usage("--rtt is about Tmix, the only form that cannot leave a round-trip time out")
                .hint("write .cvec, or leave it out"));
        }
        let read = [self.inputs, self.hosts.key.as_slice()].concat();
        match self.output {
            Some(path) if self.to == Format::Parquet => check_workload_target(path, self.force, &read)?,
            Some(path) => check_target(path, self.force, &read)?,
            None => {}
        }
        input::refuse_idle_options(self.capture, self.kind, &self.inputs[0])
    }

    fn perform(&self, context: Context<'_>) -> Result<Option<Converted>, Error> {
        if let Some(path) = self.output {
            VectorWriter::probe(path, self.force).map_err(load::unreadable)?;
        }
        let scratch = self.output.map_or_else(std::env::temp_dir, scratch);
        let mut loaded = load::open(self.inputs, self.kind, self.capture, self.hosts, &scratch, context)?;
        let facts = loaded.facts.clone();
        if facts.connections == 0 {
            loaded.warn(context);
            return Err(empty(&facts));
        }
        let rtt = self.assumed_rtt(&facts)?;
        let Some(written) = self.write(&mut loaded, rtt, context)? else { return Ok(None) };
        loaded.warnings.extend(load::of_notes(&written.notes, None));
        loaded.warnings.extend(self.lost(&facts));
        loaded.warn(context);
        hosts::warn(self.hosts, context);
        let Loaded { warnings, .. } = loaded;
        let (vectors, contents) = (written.notes.vectors, written.contents);
        Ok(Some(Converted { facts, warnings, vectors, contents }))
    }

    /// Writes all of it; `None` if who read standard output has gone, which is no error.
    fn write(&self, loaded: &mut Loaded, rtt: Duration, context: Context<'_>) -> Result<Option<Written>, Error> {
        let has_left = |error: &FormatError| match error {
            FormatError::Write { source, .. } => self.output.is_none() && source.kind() == ErrorKind::BrokenPipe,
            _ => false,
        };
        let facts = loaded.facts.clone();
        let interrupt = context.interrupt();
        let (assumptions, force) = (Assumptions { rtt }, self.force);
        let mut writer =
            VectorWriter::create(self.output, force, self.to, self.rows, assumptions, facts, &interrupt)
                .map_err(|error| if interrupt.has_cut() { Error::stopped() } else { load::unreadable(error) })?;
        let mut contents = Contents::default();
        for vector in &mut loaded.vectors {
            let vector = vector?;
            contents.add(&vector);
            match writer.write(&vector) {
                Err(error) if has_left(&error) => return Ok(None),
                written => written.map_err(load::unreadable)?,
            }
        }
        match writer.finish() {
            Err(error) if has_left(&error) => Ok(None),
            finished => finished.map(|notes| Some(Written { notes, contents })).map_err(load::unreadable),
        }
    }

    /// The round-trip time to write where none is known. Tmix cannot leave it out, and inventing all of them is for the
    /// user to ask for.
    fn assumed_rtt(&self, facts: &WorkloadFacts) -> Result<Duration, Error> {
        if let Some(rtt) = self.rtt.or(facts.rtt_median_ns.map(Duration::from_nanos)) {
            return Ok(rtt);
        }
        if !matches!(self.to, Format::Tmix(_)) {
            return Ok(Duration::ZERO);
        }
        Err(Error::new("Tmix vectors state a round-trip time, and none is known of these connections")
            .note("flow records do not say it, nor how long who waited")
            .hint("write .parquet or .jsonl, or --rtt TIME assumes one; unknown waits are then written as zero"))
    }

    /// What the form cannot hold of the workload as a whole.
    fn lost(&self, facts: &WorkloadFacts) -> impl Iterator<Item = Warning> + use<> {
        let of_form = match self.to {
            Format::JsonLines | Format::Csv if facts.traffic != TrafficFacts::default() => Some(Lost::Traffic),
            Format::Astf => Some(Lost::ByTrex),
            Format::Tgen => Some(Lost::ByTgen),
            _ => None,
        };
        let states_payload = match self.to {
            Format::Parquet | Format::JsonLines | Format::Tmix(_) => true,
            Format::Csv => self.rows == Rows::Connections,
            Format::Zeek | Format::Astf | Format::Tgen => false,
        };
        let is_much = Warning::of_missing_bytes(&facts.capture.payload, Missing::default()).is_some();
        let of_payload = (is_much && !states_payload).then_some(Lost::MissingBytes);
        of_form.into_iter().chain(of_payload).map(Warning::FormatLoses)
    }
}

/// There is nothing to write.
fn empty(facts: &WorkloadFacts) -> Error {
    let failure = Error::new("there is no connection to write");
    match set_aside_text(&facts.capture.set_aside) {
        text if text.is_empty() => {
            failure.hint("the file holds none, or none that has data and packets of both directions")
        }
        text => failure
            .note(format_args!("set aside: {text}"))
            .hint("only connections with data and packets of both directions can be written"),
    }
}
