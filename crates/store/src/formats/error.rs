//! What is wrong with a file of vectors, said so that a person can act on it.

use std::{fmt, io};

use crate::table::FileError;

/// Why vectors could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The file could not be opened.
    #[error("{file}: cannot open: {source}")]
    Open {
        /// The file as named by the user.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The file could not be read on, or its compressed data are damaged or cut.
    #[error("{file}: line {line}, byte {offset} of the text: {problem}")]
    Read {
        /// The file.
        file: String,
        /// The line that was being read, from 1.
        line: u64,
        /// Where in the uncompressed file.
        offset: u64,
        /// What happened.
        problem: String,
        /// What to do, if anything can be done.
        hint: Option<&'static str>,
    },
    /// The file is no file of vectors, or of another kind than it should be.
    #[error("{file}: {problem}")]
    Foreign {
        /// The file.
        file: String,
        /// What it is.
        problem: String,
    },
    /// A line says what cannot be.
    #[error(transparent)]
    Line(#[from] Box<LineError>),
    /// A Parquet file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The output cannot be written. Nothing half-written is left under its name.
    #[error("{file}: cannot write: {source}")]
    Write {
        /// The file.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The output format cannot hold what should be written.
    #[error("{file}: {problem}")]
    Unwritable {
        /// The file to be written.
        file: String,
        /// What it cannot hold.
        problem: String,
        /// What to do.
        hint: &'static str,
    },
}

impl FormatError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            FormatError::Open { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("check the spelling of the path")
            }
            FormatError::Write { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("make its folder first, with mkdir -p")
            }
            FormatError::Write { source, .. } => remedy(source.kind()),
            FormatError::Read { hint, .. } => *hint,
            FormatError::Foreign { .. } => Some(
                "vectors are read from Flowloom workloads, Tmix vector files, Zeek conn.log, and the CSV and JSON lines \
                 that `flowloom convert` writes",
            ),
            FormatError::Unwritable { hint, .. } => Some(hint),
            FormatError::Open { .. } | FormatError::Line(_) | FormatError::File(_) => None,
        }
    }
}

/// What to do where an output cannot be written.
pub fn remedy(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("make room on that disk, or name an output on another")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            Some("name an output in a folder that you may write to")
        }
        _ => None,
    }
}

/// A line that says what cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}{}{}", Quoted(.text), Expected(.expected))]
pub struct LineError {
    /// The file as named by the user.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// Its text, or the beginning of it.
    pub text: String,
    /// What is wrong.
    pub problem: String,
    /// What would be right; empty where that goes without saying.
    pub expected: &'static str,
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": \"{}\"", self.0) }
    }
}

struct Expected<'a>(&'a str);

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; expected {}", self.0) }
    }
}

/// What is wrong with a line, before file and line number are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub expected: &'static str,
}

impl Flaw {
    pub(crate) fn new(problem: impl Into<String>, expected: &'static str) -> Flaw {
        Flaw { problem: problem.into(), expected }
    }
}
