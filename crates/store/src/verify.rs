//! Reads a stored table of any kind to its end.

use std::path::Path;

use flowloom_core::workload::ConnectionVector;

use crate::monitor;
use crate::run_folder::RunFolder;
use crate::table::{FileError, Row, count, format_of};
use crate::workload::WorkloadReader;

/// A table that can be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Which it is: `workload`, a table of run folders by its name there, or one of a monitor's store.
    pub format: String,
    /// Its rows.
    pub rows: u64,
    /// Whether it carries digests: then all of it is what was written. Files of version 1 carry none.
    pub is_protected: bool,
}

impl Verified {
    /// Whether it is a table of a run folder, and not a workload, which stands alone, or a table of a monitor's store.
    pub fn is_of_run(&self) -> bool {
        self.format != ConnectionVector::TABLE && !monitor::is_table(&self.format)
    }
}

/// Reads the workload, or the table of a run folder or of a monitor's store, at `path` to its end, as long as `goes_on` between its rows. What is returned
/// after that is of a part of the table.
///
/// # Errors
/// What is wrong with it.
pub fn verify(path: &Path, goes_on: &dyn Fn() -> bool) -> Result<Verified, FileError> {
    let format = format_of(path, RunFolder::ANY_TABLE)?;
    let (rows, is_protected) = if let Some(found) = monitor::verify_table(path, &format, goes_on) {
        found?
    } else if format == ConnectionVector::TABLE {
        let mut reader = WorkloadReader::open(path)?;
        (count(&mut reader, goes_on)?, reader.is_protected())
    } else {
        RunFolder::read_through(path, &format, goes_on)?
    };
    Ok(Verified { format, rows, is_protected })
}
