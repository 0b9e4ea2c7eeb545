//! The files of a run folder, and what can be wrong with one.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::table::{FileError, Row};

/// The version of the run folder, its index and all its tables; earlier ones are read too. Version 2 has the columns of version 1
/// and `carried_bytes` of connections, digests in all tables, and a manifest.
pub const VERSION: u64 = 2;

/// What the run was, and its results.
pub(super) const RUN_FILE: &str = "run.json";
/// The host that it ran on.
pub(super) const HOST_FILE: &str = "host.json";
/// The runs of a folder of several.
pub(super) const INDEX_FILE: &str = "index.json";

/// Metadata key of `queue.parquet`: time between samples.
pub(super) const QUEUE_INTERVAL_KEY: &str = "flowloom.queue_interval_ns";

/// Why a run folder could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFolderError {
    /// One of its files.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is something under the folder's name already.
    #[error("{} exists already: choose another name with -o, or --force to replace a run folder", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The run is whole and could not be given its name.
    #[error("the run is complete, but could not be moved: {reason}; it is in {}", left.display())]
    NotNamed {
        /// Where the run is.
        left: PathBuf,
        /// Why it could not be moved.
        reason: Box<RunFolderError>,
    },
    /// Replacing was asked for, and what is there is no run folder.
    #[error("{} is not a run folder, so --force does not replace it: choose another name with -o", path.display())]
    NotReplaceable {
        /// What is there.
        path: PathBuf,
    },
    /// The folder has no `run.json` (or `index.json`) of ours.
    #[error("{} is not a run folder: {problem}", path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// What is missing or wrong.
        problem: String,
    },
    /// A version this program does not know.
    #[error(
        "{} is a run folder of a newer format: version {found}, this flowloom reads version {VERSION}; update flowloom, \
         or run again with this one",
        path.display()
    )]
    Newer {
        /// The folder.
        path: PathBuf,
        /// The version it says.
        found: u64,
    },
    /// Something was to be recorded after the tables were closed.
    #[error("the run folder is closed: nothing more can be recorded")]
    Closed,
    /// The run's summary is not a JSON object.
    #[error("run.json must hold an object")]
    NotAnObject,
}

/// Where the table of `R` is in a run folder.
pub(super) fn table_path<R: Row>(folder: &Path) -> PathBuf {
    folder.join(format!("{}.parquet", R::TABLE))
}

/// Whether `folder` is a run folder, or one of several.
pub(super) fn is_ours(folder: &Path) -> bool {
    [RUN_FILE, INDEX_FILE].iter().any(|marker| folder.join(marker).is_file())
}

/// Refuses to write to `target` if what is there must not be replaced.
pub(super) fn check_target(target: &Path, replace: bool) -> Result<(), RunFolderError> {
    let path = target.to_owned();
    let mut entries = match fs::read_dir(target) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A link to nothing is something.
            return match fs::symlink_metadata(target) {
                Ok(_) if !replace => Err(RunFolderError::Exists { path }),
                _ => Ok(()),
            };
        }
        // It is something else than a folder, unless it is what it would be in.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory && fs::symlink_metadata(target).is_ok() => {
            return Err(if replace {
                RunFolderError::NotReplaceable { path }
            } else {
                RunFolderError::Exists { path }
            });
        }
        Err(source) => return Err(FileError::Write { path, source }.into()),
    };
    match (entries.next().is_none(), replace) {
        (true, _) => Ok(()),
        (false, false) => Err(RunFolderError::Exists { path }),
        (false, true) if is_ours(target) => Ok(()),
        (false, true) => Err(RunFolderError::NotReplaceable { path }),
    }
}
