//! Reads a stored table of any kind to its end.

use std::path::Path;

use flowloom_core::workload::ConnectionVector;

use crate::run_folder::RunFolder;
use crate::table::{FileError, Row, count, format_of};
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

impl Verified {
    /// Whether it is a workload, which stands alone, and not a table of a run folder.
    pub fn is_workload(&self) -> bool {
        self.format == ConnectionVector::TABLE
    }
}

/// Reads the workload or table of a run folder at `path` to its end, as long as `goes_on` between its rows. What is returned
/// after that is of a part of the table.
///
/// # Errors
/// What is wrong with it.
pub fn verify(path: &Path, goes_on: &dyn Fn() -> bool) -> Result<Verified, FileError> {
    let format = format_of(path, RunFolder::ANY_TABLE)?;
    let (rows, is_protected) = if format == ConnectionVector::TABLE {
        let mut reader = WorkloadReader::open(path)?;
        (count(&mut reader, goes_on)?, reader.is_protected())
    } else {
        RunFolder::read_through(path, &format, goes_on)?
    };
    Ok(Verified { format, rows, is_protected })
}
