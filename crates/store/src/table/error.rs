//! What can be wrong with a stored file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// What has a digest of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole file.
    File,
    /// The footer: what the file says about itself and where its columns are.
    Metadata,
    /// The values of a column in a row group.
    Column {
        /// Its name, members of lists as `list[].member`.
        name: String,
        /// The row group, from 0.
        row_group: usize,
    },
}

/// What follows the name of the file.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::File => Ok(()),
            Part::Metadata => f.write_str(", metadata"),
            Part::Column { name, row_group } => write!(f, ", column {name}, row group {row_group}"),
        }
    }
}

/// What is wrong with a stored file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It could not be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It could not be created or written. Nothing half-written is left under its name.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is no Parquet file at all.
    #[error("{} is not a Flowloom file of kind \"{expected}\": it is not a Parquet file", path.display())]
    NotParquet {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        expected: &'static str,
    },
    /// A Parquet file of somebody else's.
    #[error(
        "{} is not a Flowloom file of kind \"{expected}\": it is a Parquet file without Flowloom's metadata (a table exported by another \
         program loses it; use the file that Flowloom wrote)",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        expected: &'static str,
    },
    /// A Flowloom file of another kind.
    #[error("{} is a Flowloom file of kind \"{found}\", not \"{expected}\"", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        found: String,
        /// What was asked for.
        expected: &'static str,
    },
    /// A version this program does not know.
    #[error(
        "{} is a {format} of a newer format: version {found}, this flowloom reads version {known}; update flowloom, or \
         write the file again with this one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// What it is.
        format: &'static str,
        /// The version it says.
        found: u64,
        /// The version known here.
        known: u64,
    },
    /// It begins as a Parquet file and does not end as one.
    #[error(
        "{} does not end as it was written: bytes are missing or were appended (was the copy or download interrupted?)",
        path.display()
    )]
    Cut {
        /// The file.
        path: PathBuf,
    },
    /// A part of it is not as it was written: its digest is another one.
    #[error("damaged: {}{part}: its bytes are not those that were written (take another copy, or write the file again)", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The part.
        part: Part,
    },
    /// Its metadata cannot be right.
    #[error("damaged: {}: {problem}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A row cannot be right.
    #[error("damaged: {}, row {row}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The row, from 0.
        row: u64,
        /// What is wrong.
        problem: String,
    },
    /// Rows are not sorted by start, ties by id.
    #[error("{} is not sorted: row {row} starts before the row above it, or has its start and no larger id", path.display())]
    Unsorted {
        /// The file.
        path: PathBuf,
        /// The row, from 0.
        row: u64,
    },
}

impl FileError {
    /// A failed write, whichever layer reported it.
    pub(crate) fn write(path: &Path, error: ParquetError) -> FileError {
        let source = match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        };
        FileError::Write { path: path.to_owned(), source }
    }
}
