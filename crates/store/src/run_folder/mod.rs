//! Run folders: everything a run recorded, as `run.json`, `host.json` and Parquet tables.
//!
//! [`RunWriter`] is the recorder a driver fills. It writes under a temporary name beside the folder's and renames
//! at the end, so a folder under its own name is whole; what a cut run leaves under the temporary name can be
//! opened too and says in `run.json` that it is not complete. [`RunFolder`] reads. A run with several seeds is a
//! folder of run folders with a [`RunIndex`]. `docs/reference/schemas.md` describes every table.

mod active;
mod index;
mod json;
mod reader;
mod rows;
mod writer;

use std::path::PathBuf;

pub use index::{IndexEntry, RunIndex};
pub use reader::RunFolder;
pub use rows::{
    ActivePoint, ActiveRow, AduRow, ConnectionRow, EpochRow, FlowRow, LateWhat, LatenessRow, Point, ThroughputRow,
    TrafficPoint,
};
pub use writer::{RunOptions, RunWriter};

use crate::table::FileError;

/// The version of the run folder, its index and all its tables.
pub const VERSION: u64 = 1;

const RUN_FILE: &str = "run.json";
const HOST_FILE: &str = "host.json";
const INDEX_FILE: &str = "index.json";
/// Metadata key of `queue.parquet`: time between samples.
const QUEUE_INTERVAL_KEY: &str = "flowloom.queue_interval_ns";

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
