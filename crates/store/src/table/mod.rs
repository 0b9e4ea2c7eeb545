//! Tables of typed rows in Parquet files: the layer under workload files and run folders.
//!
//! A row type lists its columns once ([`Row::columns`]); [`TableWriter`] streams rows into row groups of bounded
//! size, [`TableReader`] streams them out again in batches. Neither holds more than one row group. Every file
//! says in its metadata what it is (`flowloom.format`) and in which version (`flowloom.version`).

mod checked;
mod column;
#[cfg(test)]
mod documented;
mod reader;
mod thrift;
mod value;
mod writer;

use std::io;
use std::path::{Path, PathBuf};

use parquet::basic::Repetition;
use parquet::errors::ParquetError;
use parquet::schema::types::TypePtr;

pub(crate) use column::{Column, column, derived, element, list};
pub(crate) use reader::TableReader;
pub(crate) use value::Text;
pub(crate) use writer::TableWriter;

/// A row of a table.
pub(crate) trait Row: Sized + 'static {
    /// The table's name: its `flowloom.format`, and the name of its schema.
    const TABLE: &'static str;

    /// Rows of a row group at most, so that its columns take some megabytes. What a file says of each of its row groups is kept
    /// until its end, so tables of few columns have large ones.
    const GROUP_ROWS: usize = 65_536;

    /// A row to read into.
    fn blank() -> Self;

    /// The columns in order.
    fn columns() -> Vec<Column<Self>>;

    /// How much of a row group this row uses up, in units of a flat row.
    fn weight(&self) -> usize {
        1
    }
}

/// The Parquet schema of a table.
fn schema<R: Row>(columns: &[Column<R>]) -> TypePtr {
    let fields = columns.iter().map(|column| column.schema.clone()).collect();
    // The root of a Parquet schema has no repetition of its own; the crate reads it back as required.
    column::group(R::TABLE, Repetition::REQUIRED, None, fields)
}

/// Metadata key: which of our formats a file is in.
const FORMAT_KEY: &str = "flowloom.format";
/// Metadata key: which version of it.
const VERSION_KEY: &str = "flowloom.version";

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
    #[error("{} is cut: its end is missing (was the copy or download interrupted?)", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
    },
    /// Its metadata cannot be right.
    #[error("{} is damaged: {problem}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A row cannot be right.
    #[error("{} is damaged at row {row}: {problem}", path.display())]
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
