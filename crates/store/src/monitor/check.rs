//! What `flowloom verify` asks of a store beside its tables.

use std::path::{Path, PathBuf};

use super::catalogue::{CATALOGUE_FILE, Catalogue};
use super::day;
use super::journal;
use super::rows::{GapRow, LevelRow, SampleRow};
use crate::table::{FileError, Part, Row, read_through};

pub use super::reader::is_written;

/// Whether the tables of a store have this format.
pub(crate) fn is_table(format: &str) -> bool {
    [SampleRow::TABLE, LevelRow::TABLE, GapRow::TABLE].contains(&format)
}

/// Reads the table of this format at `path` to its end, as long as `goes_on`: the number of its rows, and whether it carries digests;
/// `None` if the tables of a store have no such format.
pub(crate) fn verify_table(
    path: &Path,
    format: &str,
    goes_on: &dyn Fn() -> bool,
) -> Option<Result<(u64, bool), FileError>> {
    match format {
        SampleRow::TABLE => Some(read_through::<SampleRow>(path, day::VERSION, goes_on)),
        LevelRow::TABLE => Some(read_through::<LevelRow>(path, day::VERSION, goes_on)),
        GapRow::TABLE => Some(read_through::<GapRow>(path, day::VERSION, goes_on)),
        _ => None,
    }
}

/// Whether the folder is a store of a monitor.
pub fn is_store(folder: &Path) -> bool {
    folder.join(CATALOGUE_FILE).is_file()
}

/// Reads the catalogue of the store in `folder`: the number of its series.
///
/// # Errors
/// It is damaged or missing, or cannot be read.
pub fn verify_catalogue(folder: &Path) -> Result<u64, FileError> {
    let missing = || FileError::Changed { path: folder.join(CATALOGUE_FILE), part: Part::File };
    Catalogue::open(folder)?.map(|catalogue| catalogue.series().count() as u64).ok_or_else(missing)
}

/// The path of a segment, and its records or what is wrong with it.
pub type VerifiedSegment = (PathBuf, Result<u64, FileError>);

/// Reads every segment of the journal of the store in `folder`, and those that were damaged when they were folded: its path, and its records
/// or what is wrong with it. A record that was being written when the monitor was killed is no damage.
///
/// # Errors
/// The journal cannot be listed.
pub fn verify_journal(folder: &Path) -> Result<Vec<VerifiedSegment>, FileError> {
    let mut found = Vec::new();
    let (left, aside) = (journal::segments(folder)?, journal::damaged(folder)?);
    let left = left.into_iter().map(|(_, path)| (path, false));
    let aside = aside.into_iter().map(|(_, path)| (path, true));
    for (path, is_aside) in left.chain(aside) {
        let records = match journal::load(&path) {
            // It was folded meanwhile.
            Ok(None) => continue,
            Ok(Some(bytes)) => {
                let read = journal::read(&bytes, &mut |_| {});
                // While it is written, the last record may be half there.
                if read.is_damaged && (is_aside || !is_written(folder)) {
                    Err(journal::damage(&path, &read))
                } else {
                    Ok(read.records)
                }
            }
            Err(error) => Err(error),
        };
        found.push((path, records));
    }
    Ok(found)
}

/// Whether the manifest of a day of the store in `root` is missing, and its tables are there.
///
/// # Errors
/// It is.
pub fn verify_day(root: &Path, folder: &Path) -> Result<(), FileError> {
    let date = folder.file_name().and_then(|name| day::day_named(name.to_str()?));
    date.map_or(Ok(()), |date| day::tables(root, date).map(drop))
}
