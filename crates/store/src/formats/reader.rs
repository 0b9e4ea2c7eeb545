//! Any file of vectors, told by its content.

use std::path::Path;

use flowloom_core::workload::ConnectionVector;

use super::Format;
use super::csv_table::CsvReader;
use super::error::FormatError;
use super::json_lines::JsonLinesReader;
use super::lines::Lines;
use super::notes::Notes;
use super::tmix::TmixReader;
use super::zeek::ZeekReader;
use crate::capture::Input;
use crate::workload::{InputFile, WorkloadFacts, WorkloadReader};

/// What starts are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The beginning of the original.
    Relative,
    /// 1970.
    Absolute,
}

/// Reads the vectors of one file in the order of the file. After an error the iterator ends.
pub struct VectorFile {
    format: Format,
    name: String,
    total_bytes: Option<u64>,
    reader: Reader,
    /// Of Parquet, which keeps no notes of its own.
    notes: Notes,
}

enum Reader {
    Parquet(Box<WorkloadReader>, std::path::PathBuf),
    Tmix(Box<TmixReader>),
    Zeek(Box<ZeekReader>),
    Csv(Box<CsvReader>),
    JsonLines(Box<JsonLinesReader>),
}

/// The first bytes of the file at `path`, decompressed: what [`Format::of_content`] looks at.
///
/// # Errors
/// If it cannot be opened, or its compressed data are damaged at once.
pub fn head(path: &Path) -> Result<Vec<u8>, FormatError> {
    Ok(Lines::open(&Input::File(path.to_owned()))?.head()?.to_vec())
}

impl VectorFile {
    /// Opens `input`, in `format` if that is given.
    ///
    /// # Errors
    /// If it cannot be opened, or is none of the formats.
    pub fn open(input: &Input, format: Option<Format>) -> Result<VectorFile, FormatError> {
        let mut lines = Lines::open(input)?;
        let name = lines.file().to_owned();
        let total_bytes = lines.total_bytes();
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
        let reader = match format {
            Format::Parquet => match input {
                Input::File(path) => Reader::Parquet(Box::new(WorkloadReader::open(path)?), path.clone()),
                Input::Stdin => return Err(foreign("a Parquet file cannot be read from a pipe".to_owned())),
            },
            Format::Tmix(_) => Reader::Tmix(Box::new(TmixReader::new(lines))),
            Format::Zeek => Reader::Zeek(Box::new(ZeekReader::new(lines)?)),
            Format::Csv => Reader::Csv(Box::new(CsvReader::new(lines)?)),
            Format::JsonLines => Reader::JsonLines(Box::new(JsonLinesReader::new(lines)?)),
        };
        Ok(VectorFile { format, name, total_bytes, reader, notes: Notes::default() })
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
        match &self.reader {
            Reader::Parquet(reader, _) => Some(reader.facts()),
            Reader::JsonLines(reader) => Some(reader.facts()),
            Reader::Tmix(_) | Reader::Zeek(_) | Reader::Csv(_) => None,
        }
    }

    /// What was counted so far.
    pub fn notes(&self) -> &Notes {
        match &self.reader {
            Reader::Parquet(..) => &self.notes,
            Reader::Tmix(reader) => reader.notes(),
            Reader::Zeek(reader) => reader.notes(),
            Reader::Csv(reader) => reader.notes(),
            Reader::JsonLines(reader) => reader.notes(),
        }
    }

    fn lines(&mut self) -> Option<&mut Lines> {
        match &mut self.reader {
            Reader::Parquet(..) => None,
            Reader::Tmix(reader) => Some(reader.lines()),
            Reader::Zeek(reader) => Some(reader.lines()),
            Reader::Csv(reader) => Some(reader.lines()),
            Reader::JsonLines(reader) => Some(reader.lines()),
        }
    }

    /// Bytes of the file, where known.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// Bytes of the file read so far; those of a Parquet file are not told.
    pub fn bytes_read(&mut self) -> u64 {
        self.lines().map_or(0, |lines| lines.bytes_read())
    }

    /// The file as a workload made from it remembers it; reads what is left of it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn input_file(&mut self) -> Result<InputFile, FormatError> {
        let name = self.name.clone();
        if let Reader::Parquet(_, path) = &self.reader {
            let mut lines = Lines::open(&Input::File(path.clone()))?;
            let sha256 = lines.sha256()?;
            return Ok(InputFile { name: Some(name), sha256, bytes: lines.bytes_read() });
        }
        let Some(lines) = self.lines() else { return Ok(InputFile::default()) };
        let sha256 = lines.sha256()?;
        Ok(InputFile { name: Some(name), sha256, bytes: lines.bytes_read() })
    }
}

impl Iterator for VectorFile {
    type Item = Result<ConnectionVector, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.reader {
            Reader::Parquet(reader, _) => {
                let next = reader.next()?;
                self.notes.vectors += u64::from(next.is_ok());
                Some(next.map_err(FormatError::from))
            }
            Reader::Tmix(reader) => reader.next(),
            Reader::Zeek(reader) => reader.next(),
            Reader::Csv(reader) => reader.next(),
            Reader::JsonLines(reader) => reader.next(),
        }
    }
}
