//! JSON lines: a header, then one object per connection, as nested as the vector is.

use std::io::{self, Write};

use flowloom_core::workload::ConnectionVector;
use serde::{Deserialize, Serialize};

use super::error::{Flaw, FormatError};
use super::lines::Lines;
use super::notes::Notes;
use super::read_vectors::ReadVectors;
use super::stored::StoredVector;
use crate::workload::WorkloadFacts;

/// The format's name in the header.
const FORMAT: &str = "flowloom-vectors";
/// The version written, and the only one read.
const VERSION: u64 = 1;
/// Longest line: a connection of a million ADUs.
const MOST_LINE_BYTES: usize = 256 << 20;

#[derive(Serialize, Deserialize)]
#[serde(expecting = "an object")]
struct Header<F> {
    format: String,
    version: u64,
    /// `WorkloadFacts`, read only where the version is known.
    facts: F,
}

/// Whether `head` begins such a file; another program may have set its blanks and the order of its members.
pub(super) fn begins(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let name = b"\"flowloom-vectors\"";
    first.trim_ascii_start().starts_with(b"{") && first.windows(name.len()).any(|window| window == name)
}

/// Writes JSON lines.
pub struct JsonLinesWriter<W> {
    out: W,
    notes: Notes,
}

impl<W: Write> JsonLinesWriter<W> {
    /// Starts a file that says `facts` of itself.
    ///
    /// # Errors
    /// `out`'s.
    pub fn new(mut out: W, facts: &WorkloadFacts) -> io::Result<JsonLinesWriter<W>> {
        serde_json::to_writer(&mut out, &Header { format: FORMAT.to_owned(), version: VERSION, facts })?;
        out.write_all(b"\n")?;
        Ok(JsonLinesWriter { out, notes: Notes::default() })
    }

    /// Adds a connection.
    ///
    /// # Errors
    /// `out`'s.
    pub fn write(&mut self, vector: &ConnectionVector) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &StoredVector::from(vector))?;
        self.notes.vectors += 1;
        self.out.write_all(b"\n")
    }

    /// Completes the file.
    ///
    /// # Errors
    /// `out`'s.
    pub fn finish(mut self) -> io::Result<(W, Notes)> {
        self.out.flush()?;
        Ok((self.out, self.notes))
    }
}

/// Reads JSON lines.
pub(super) struct JsonLinesReader {
    lines: Lines,
    facts: WorkloadFacts,
    notes: Notes,
}

/// Reads the vectors of a file in memory.
///
/// # Errors
/// If the header or a connection is damaged, or the file was cut.
pub fn read(text: &[u8]) -> Result<(Vec<ConnectionVector>, WorkloadFacts), FormatError> {
    let mut reader = JsonLinesReader::new(Lines::of("vectors", text)?)?;
    let vectors = reader.read_all()?;
    Ok((vectors, reader.facts))
}

impl JsonLinesReader {
    /// Reads the header of `lines`.
    pub(crate) fn new(mut lines: Lines) -> Result<JsonLinesReader, FormatError> {
        const EXPECTED: &str = "{\"format\":\"flowloom-vectors\",\"version\":1,\"facts\":{...}}";
        if !lines.advance(MOST_LINE_BYTES)? {
            return Err(FormatError::Foreign {
                file: lines.file().to_owned(),
                problem: "the file is empty".to_owned(),
            });
        }
        let text = lines.text()?;
        let parse = || -> Result<WorkloadFacts, Flaw> {
            let flaw = |error: serde_json::Error| Flaw::new(format!("no header: {}", worded(&error)), EXPECTED);
            let header: Header<serde_json::Value> = serde_json::from_str(text).map_err(flaw)?;
            if header.format != FORMAT {
                return Err(Flaw::new(format!("the format is \"{}\"", header.format), EXPECTED));
            }
            if header.version != VERSION {
                let problem = format!("version {}, and this flowloom reads version {VERSION}", header.version);
                return Err(Flaw::new(problem, "an update of flowloom, or the file written again with this one"));
            }
            let facts: WorkloadFacts = serde_json::from_value(header.facts).map_err(flaw)?;
            match facts.capture.impossible() {
                Some(problem) => {
                    Err(Flaw::new(format!("facts that cannot be: {problem}"), "the numbers that flowloom wrote"))
                }
                None => Ok(facts),
            }
        };
        let facts = parse().map_err(|flaw| lines.flaw(&flaw))?;
        Ok(JsonLinesReader { lines, facts, notes: Notes::default() })
    }
}

impl ReadVectors for JsonLinesReader {
    fn read_next(&mut self) -> Result<Option<ConnectionVector>, FormatError> {
        while self.lines.advance(MOST_LINE_BYTES)? {
            let text = self.lines.text()?;
            if text.trim().is_empty() {
                continue;
            }
            let stored = serde_json::from_str::<StoredVector>(text)
                .map_err(|error| Flaw::new(worded(&error), "a connection as docs/reference/formats.md describes it"));
            let vector = stored.and_then(StoredVector::vector).map_err(|flaw| self.lines.flaw(&flaw))?;
            self.notes.vectors += 1;
            return Ok(Some(vector));
        }
        if self.notes.vectors != self.facts.connections {
            let problem = format!("{} connections, and the header says {}", self.notes.vectors, self.facts.connections);
            return Err(self.lines.flaw_at(self.lines.number(), &Flaw::new(problem, "the whole file; was it cut?")));
        }
        Ok(None)
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    fn facts(&self) -> Option<&WorkloadFacts> {
        Some(&self.facts)
    }
}

/// What is wrong with a line, without the number that this line has by itself.
fn worded(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let of_line = format!(" at line {} column {}", error.line(), error.column());
    let place = if error.column() > 0 { format!(" (column {})", error.column()) } else { String::new() };
    said.strip_suffix(&of_line).unwrap_or(&said).to_owned() + &place
}
