//! A stored table read to its end, whichever it is.

use std::path::Path;

use flowloom_core::workload::ConnectionVector;

use crate::run_folder::RunFolder;
use crate::table::{FileError, Row, format_of};
use crate::workload::WorkloadReader;

/// A table that can be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Which it is: `workload`, or a table of run folders by its name there.
    pub format: String,
    /// Its rows.
    pub rows: u64,
    /// Whether it carries digests: then all of it is what was written. Files of version 1 carry none.
    pub is_protected: bool,
}

/// Reads the workload or table of a run folder at `path` to its end.
///
/// # Errors
/// What is wrong with it.
pub fn verify(path: &Path) -> Result<Verified, FileError> {
    let format = format_of(path)?;
    let (rows, is_protected) = if format == ConnectionVector::TABLE {
        let mut reader = WorkloadReader::open(path)?;
        let is_protected = reader.is_protected();
        (reader.try_fold(0, |rows, vector| vector.map(|_| rows + 1))?, is_protected)
    } else {
        RunFolder::read_through(path, &format)?
    };
    Ok(Verified { format, rows, is_protected })
}
