//! conn.log to vectors, in the order of the log: that of the ends of connections.

use flowloom_core::workload::ConnectionVector;

use super::super::error::FormatError;
use super::super::lines::Lines;
use super::super::notes::Notes;
use super::tsv::{Header, Refusal};
use super::{is_tsv, json};
use crate::formats::read_vectors::ReadVectors;

/// Longest row: a few hundred bytes, and lists of tunnels.
const MOST_LINE_BYTES: usize = 1 << 20;

/// Reads conn.log, TSV or JSON lines, one log or several pasted together. Starts are times since 1970.
pub(in crate::formats) struct ZeekReader {
    lines: Lines,
    /// The directives of a TSV log; `None` for JSON lines.
    header: Option<Header>,
    notes: Notes,
}

/// Reads the vectors of a log in memory.
///
/// # Errors
/// If it is another log, or a row is damaged.
pub fn read(text: &[u8]) -> Result<(Vec<ConnectionVector>, Notes), FormatError> {
    let mut reader = ZeekReader::new(Lines::of("conn.log", text)?)?;
    let vectors = reader.read_all()?;
    Ok((vectors, reader.notes))
}

impl ZeekReader {
    /// Reads `lines`.
    pub(crate) fn new(mut lines: Lines) -> Result<ZeekReader, FormatError> {
        let header = is_tsv(lines.head()?).then(Header::default);
        Ok(ZeekReader { lines, header, notes: Notes::default() })
    }
}

impl ReadVectors for ZeekReader {
    fn read_next(&mut self) -> Result<Option<ConnectionVector>, FormatError> {
        while self.lines.advance(MOST_LINE_BYTES)? {
            let text = self.lines.text()?;
            if text.trim().is_empty() {
                continue;
            }
            let row = match &mut self.header {
                Some(header) if text.starts_with('#') => match header.directive(text) {
                    Ok(()) => continue,
                    Err(Refusal::OtherLog(path)) => {
                        return Err(FormatError::Foreign {
                            file: self.lines.file().to_owned(),
                            problem: format!(
                                "this is Zeek's {path}.log (#path {path}), and only conn.log has connections"
                            ),
                        });
                    }
                    Err(Refusal::Flaw(flaw)) => Err(flaw),
                },
                Some(header) => header.row(text),
                None => json::row(text),
            };
            let line = self.lines.number();
            let vector = row.and_then(|row| row.vector(line, &mut self.notes));
            if let Some(vector) = vector.map_err(|flaw| self.lines.flaw(&flaw))? {
                self.notes.vectors += 1;
                return Ok(Some(vector));
            }
        }
        Ok(None)
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }
}
