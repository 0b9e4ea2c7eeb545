//! Any file of vectors, told by its content.

use flowloom_core::workload::ConnectionVector;

use super::csv_table::CsvReader;
use super::error::FormatError;
use super::format::Format;
use super::json_lines::JsonLinesReader;
use super::lines::Lines;
use super::notes::Notes;
use super::read_vectors::ReadVectors;
use super::tmix::TmixReader;
use super::zeek::ZeekReader;
use crate::capture::Input;
use crate::interrupt::Interrupt;
use crate::workload::{InputFile, WorkloadFacts};

/// What starts are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The beginning of the original.
    Relative,
    /// 1970.
    Absolute,
}

/// Reads the vectors of one text in the order of the text. It holds one vector. After an error the iterator ends.
/// Parquet is read by [`WorkloadReader`](crate::workload::WorkloadReader).
pub struct VectorFile {
    format: Format,
    name: String,
    reader: Box<dyn ReadVectors + Send>,
    ended: bool,
}

impl VectorFile {
    /// Opens `input`, in `format` if that is given.
    ///
    /// # Errors
    /// If it cannot be opened, or is none of the formats of text.
    pub fn open(input: &Input, format: Option<Format>) -> Result<VectorFile, FormatError> {
        VectorFile::open_until(input, format, &Interrupt::never())
    }

    /// The same, but a pipe or standard input is read until `interrupt` is requested.
    ///
    /// # Errors
    /// As [`VectorFile::open`]; any error once [`Interrupt::has_cut`].
    pub fn open_until(input: &Input, format: Option<Format>, interrupt: &Interrupt) -> Result<VectorFile, FormatError> {
        let mut lines = Lines::open(input, interrupt)?;
        let name = lines.file().to_owned();
        let foreign = |problem: String| FormatError::Foreign { file: name.clone(), problem };
        let format = match format {
            Some(format) => format,
            None => {
                let head = lines.head()?;
                let empty = head.is_empty();
                Format::of_content(head)
                    .or_else(|| Format::of_name(&name).filter(|format| matches!(format, Format::Tmix(_))))
                    .ok_or_else(|| {
                        foreign(if empty { "the file is empty" } else { "no vectors of a known format" }.into())
                    })?
            }
        };
        let reader: Box<dyn ReadVectors + Send> = match format {
            Format::Parquet => return Err(foreign("it is a Parquet file, and text was expected".to_owned())),
            Format::Tmix(_) => Box::new(TmixReader::new(lines)),
            Format::Zeek => Box::new(ZeekReader::new(lines)?),
            Format::Csv => Box::new(CsvReader::new(lines)?),
            Format::JsonLines => Box::new(JsonLinesReader::new(lines)?),
            Format::Astf | Format::Tgen => return Err(foreign("this form is written, and not read".to_owned())),
        };
        Ok(VectorFile { format, name, reader, ended: false })
    }

    /// What it is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What its starts are counted from.
    pub fn clock(&self) -> Clock {
        if self.format == Format::Zeek { Clock::Absolute } else { Clock::Relative }
    }

    /// What it says about itself, if it is one of Flowloom's own formats that do.
    pub fn facts(&self) -> Option<&WorkloadFacts> {
        self.reader.facts()
    }

    /// What was counted so far.
    pub fn notes(&self) -> &Notes {
        self.reader.notes()
    }

    /// The file as the user named it; `standard input` for `-`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the file read so far.
    pub fn bytes_read(&mut self) -> u64 {
        self.reader.lines().bytes_read()
    }

    /// The file as a workload made from it remembers it; reads what is left of it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn input_file(&mut self) -> Result<InputFile, FormatError> {
        let lines = self.reader.lines();
        let (sha256, bytes) = (lines.sha256()?, lines.bytes_read());
        Ok(InputFile { name: Some(self.name.clone()), sha256, bytes })
    }
}

impl Iterator for VectorFile {
    type Item = Result<ConnectionVector, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.reader.read_next().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}
