//! The files of a run folder, and what can be wrong with one.

use std::path::{Path, PathBuf};
use std::{fs, io};

use flowloom_core::record::{DropRecord, ProbeRecord, QueueSample, SojournRecord, SourceRecord, WindowRecord};
use serde_json::Value;

use super::rows::{ActiveRow, AduRow, ConnectionRow, EpochRow, FlowRow, LatenessRow, ThroughputRow};
use crate::manifest::{FileDigest, MANIFEST_FILE, Manifest};
use crate::regular;
use crate::running::STOP_FILE;
use crate::staged::{Naming, foreign, named, take_name};
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

/// Its report.
const PAGE: &str = "report.html";

/// Files of a run folder that have one name in all of them, beside the tables.
const FIXED: [&str; 7] = [RUN_FILE, HOST_FILE, INDEX_FILE, MANIFEST_FILE, PAGE, "workload.parquet", STOP_FILE];
/// Its tables: the names of their files without `.parquet`. All folders have all of them but [`OPTIONAL_TABLE`].
pub const TABLES: [&str; 13] = [
    ConnectionRow::TABLE,
    EpochRow::TABLE,
    AduRow::TABLE,
    QueueSample::TABLE,
    ThroughputRow::TABLE,
    ActiveRow::TABLE,
    DropRecord::TABLE,
    SojournRecord::TABLE,
    FlowRow::TABLE,
    SourceRecord::TABLE,
    WindowRecord::TABLE,
    LatenessRow::TABLE,
    ProbeRecord::TABLE,
];
/// The table that only runs with probes have.
pub const OPTIONAL_TABLE: &str = ProbeRecord::TABLE;

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
    /// Replacing was asked for, and the run folder holds files that no run wrote.
    #[error(
        "{} holds what no run wrote, so --force does not replace it: {}; move that, or choose another name with -o",
        path.display(),
        named(names)
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Names in it, relative to it.
        names: Vec<String>,
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

/// Whether a file with the name of one of ours says that it is one: other programs have files of these names, too.
fn says_so(file: &Path, format: &str) -> bool {
    let object = regular::read(file).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    object.is_some_and(|object| object.get("format").and_then(Value::as_str) == Some(format))
}

/// Whether `folder` is a run folder, or one of several, that a run wrote.
fn is_replaceable(folder: &Path) -> bool {
    says_so(&folder.join(RUN_FILE), "run") || says_so(&folder.join(INDEX_FILE), "run-index")
}

/// What of a run folder, or one of several, no run wrote: names relative to it, sorted. Pages that were changed since are among them.
fn strangers(folder: &Path) -> io::Result<Vec<String>> {
    // A manifest that is damaged knows no file.
    let manifest = Manifest::open(folder).ok().flatten();
    let is_changed = |name: &str| {
        let listed = manifest.as_ref().and_then(|manifest| manifest.files().get(name));
        listed.is_some_and(|listed| FileDigest::of(&folder.join(name)).is_ok_and(|found| found != *listed))
    };
    let is_known = |name: &str| match &manifest {
        _ if name == PAGE => !is_changed(name),
        _ if FIXED.contains(&name) => true,
        _ if name.strip_suffix(".parquet").is_some_and(|table| TABLES.contains(&table)) => true,
        Some(manifest) => manifest.files().contains_key(name),
        // Earlier versions wrote no manifest.
        None => name.starts_with("link") && name.ends_with(".pcap"),
    };
    let is_run = |path: &Path, name: &str| name.starts_with("seed-") && path.is_dir() && is_ours(path);
    let mut names = foreign(folder, |path, name| if path.is_dir() { is_run(path, name) } else { is_known(name) })?;
    for run in foreign(folder, |path, name| !is_run(path, name))? {
        names.extend(strangers(&folder.join(&run))?.into_iter().map(|name| format!("{run}/{name}")));
    }
    Ok(names)
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
        (false, true) if is_replaceable(target) => {
            let names = strangers(target).map_err(|source| FileError::Read { path: path.clone(), source })?;
            if names.is_empty() { Ok(()) } else { Err(RunFolderError::Foreign { path, names }) }
        }
        (false, true) => Err(RunFolderError::NotReplaceable { path }),
    }
}

/// Gives a folder of runs its name, and returns it: `target`, or that of a part beside what has it, if it is not complete.
pub(super) fn name_result(
    folder: &Path,
    target: &Path,
    replace: bool,
    is_complete: bool,
) -> Result<PathBuf, RunFolderError> {
    let naming = if !is_complete {
        Naming::Part
    } else {
        check_target(target, replace)?;
        if is_ours(target) { Naming::Replace } else { Naming::New }
    };
    let error = |source| FileError::Write { path: target.to_owned(), source };
    Ok(take_name(folder, target, naming).map_err(error)?)
}
