//! Vectors into a file of any format. Nothing has its name before it is complete.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use flowloom_core::time::Duration;
use flowloom_core::workload::ConnectionVector;

use super::astf::AstfWriter;
use super::csv_table::{CsvWriter, Rows};
use super::error::FormatError;
use super::format::Format;
use super::json_lines::JsonLinesWriter;
use super::notes::Notes;
use super::tgen::TgenWriter;
use super::tmix::{Assumptions, TmixWriter};
use super::zeek::ZeekWriter;
use crate::interrupt::Interrupt;
use crate::manifest;
use crate::staged::StagedFile;
use crate::workload::{WorkloadFacts, WorkloadWriter};

/// Where text goes.
type Out = BufWriter<Box<dyn Write + Send>>;

/// Writes one file of vectors.
pub struct VectorWriter {
    name: String,
    /// The file that waits for its name; none if text goes to standard output.
    staged: Option<StagedFile>,
    sink: Sink,
    facts: WorkloadFacts,
    notes: Notes,
}

enum Sink {
    Parquet(Box<WorkloadWriter>),
    Tmix(TmixWriter<Out>),
    Zeek(ZeekWriter<Out>),
    Csv(Box<CsvWriter<Out>>),
    JsonLines(JsonLinesWriter<Out>),
    Astf(Box<AstfWriter<Out>>),
    Tgen(TgenWriter<Out>),
}

impl VectorWriter {
    /// Whether a file can be made at `path`: to be asked before the hours that reading may take. Leaves nothing.
    ///
    /// # Errors
    /// Why not.
    pub fn probe(path: &Path, replaces: bool) -> Result<(), FormatError> {
        let failed = |source| FormatError::Write { file: path.display().to_string(), source };
        StagedFile::probe(path, replaces).map_err(failed)
    }

    /// Starts a file at `path`, or on standard output, for the `facts.connections` vectors of a workload. With `replaces` it may take the
    /// place of a file. `interrupt` ends the wait for the reader of a pipe.
    ///
    /// # Errors
    /// If nothing can be written there; the wait was ended.
    pub fn create(
        path: Option<&Path>,
        replaces: bool,
        format: Format,
        rows: Rows,
        assumptions: Assumptions,
        facts: WorkloadFacts,
        interrupt: &Interrupt,
    ) -> Result<VectorWriter, FormatError> {
        let name = path.map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
        let failed = |source: io::Error| FormatError::Write { file: name.clone(), source };
        let mut staged = None;
        let mut open = || -> Result<Out, FormatError> {
            let out: Box<dyn Write + Send> = match path {
                None => Box::new(io::stdout()),
                Some(path) => {
                    let (waiting, file) = StagedFile::create_until(path, replaces, interrupt).map_err(failed)?;
                    staged = Some(waiting);
                    Box::new(file)
                }
            };
            Ok(BufWriter::with_capacity(1 << 18, out))
        };
        let sink = match format {
            Format::Parquet => {
                let path = path.ok_or_else(|| FormatError::Unwritable {
                    file: name.clone(),
                    problem: "a Parquet file cannot be written to a pipe".to_owned(),
                    hint: "name a file, or write jsonl with --to jsonl",
                })?;
                Sink::Parquet(Box::new(WorkloadWriter::stage(path, replaces)?))
            }
            Format::Tmix(spelling) => {
                let mut writer = TmixWriter::new(open()?, spelling, assumptions).map_err(failed)?;
                if facts.capture.payload.total().missing > 0 {
                    writer.state_payload(&facts.capture.payload).map_err(failed)?;
                }
                Sink::Tmix(writer)
            }
            Format::Zeek => Sink::Zeek(ZeekWriter::new(open()?, facts.capture.first_packet_unix_ns).map_err(failed)?),
            Format::Csv => Sink::Csv(Box::new(CsvWriter::new(open()?, rows).map_err(failed)?)),
            Format::JsonLines => Sink::JsonLines(JsonLinesWriter::new(open()?, &facts).map_err(failed)?),
            Format::Astf => {
                Sink::Astf(Box::new(AstfWriter::new(open()?, Duration::from_nanos(facts.capture.duration_ns))))
            }
            Format::Tgen => Sink::Tgen(TgenWriter::new(open()?).map_err(failed)?),
        };
        Ok(VectorWriter { name, staged, sink, facts, notes: Notes::default() })
    }

    /// Adds a vector; they come sorted by start.
    ///
    /// # Errors
    /// If the file cannot grow.
    pub fn write(&mut self, vector: &ConnectionVector) -> Result<(), FormatError> {
        let written = match &mut self.sink {
            Sink::Parquet(writer) => {
                writer.write(vector)?;
                self.notes.vectors += 1;
                Ok(())
            }
            Sink::Tmix(writer) => writer.write(vector),
            Sink::Zeek(writer) => writer.write(vector),
            Sink::Csv(writer) => writer.write(vector),
            Sink::JsonLines(writer) => writer.write(vector),
            Sink::Astf(writer) => {
                return writer.write(vector).map_err(|problem| FormatError::Unwritable {
                    file: self.name.clone(),
                    problem: problem.to_string(),
                    hint: "write a part of the workload: `flowloom model` thins it (load = { method = \"thinning\", ... })",
                });
            }
            Sink::Tgen(writer) => writer.write(vector),
        };
        written.map_err(|source| FormatError::Write { file: self.name.clone(), source })
    }

    /// Completes the file and gives it its name. Returns what was worth saying about it.
    ///
    /// # Errors
    /// If it cannot be completed; then nothing is left.
    pub fn finish(self) -> Result<Notes, FormatError> {
        let failed = |source: io::Error| FormatError::Write { file: self.name.clone(), source };
        let (_, notes) = match self.sink {
            Sink::Parquet(writer) => {
                writer.finish(self.facts.provenance, self.facts.capture, &self.facts.traffic)?;
                return Ok(self.notes);
            }
            Sink::Tmix(writer) => writer.finish(),
            Sink::Zeek(writer) => writer.finish(),
            Sink::Csv(writer) => writer.finish(),
            Sink::JsonLines(writer) => writer.finish(),
            Sink::Astf(writer) => writer.finish(),
            Sink::Tgen(writer) => writer.finish(),
        }
        .map_err(failed)?;
        if let Some(staged) = self.staged {
            manifest::commit(staged).map_err(failed)?;
        }
        Ok(notes)
    }
}
