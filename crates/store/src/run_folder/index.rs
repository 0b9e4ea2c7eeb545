//! The index above the run folders of several seeds (methods M.5): `DIR/index.json`, `DIR/seed-1`, `DIR/seed-2`, ...

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::files::{INDEX_FILE, RUN_FILE, RunFolderError, VERSION, check_target, is_ours, name_result};
use super::json as json_file;
use super::reader::RunFolder;
use crate::manifest::{FileDigest, Manifest};
use crate::staged::{StagedFolder, real};
use crate::table::FileError;

/// Which runs belong together. A single run has no index: its run folder is the folder the user named.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RunIndex {
    /// The runs, in the order of the experiment's seeds.
    pub runs: Vec<IndexEntry>,
}

/// One run of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// Its seed.
    pub seed: u64,
    /// Its run folder, relative to the index.
    pub folder: String,
    /// SHA-256 of the `run.json` in there, once the index is written; earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_sha256: Option<String>,
}

impl IndexEntry {
    /// Opens its run folder, which is below `folder`.
    ///
    /// # Errors
    ///
    /// Those of [`RunFolder::open`]; [`FileError::Metadata`] if it holds the run of another seed, or another run.
    pub fn open(&self, folder: &Path) -> Result<RunFolder, RunFolderError> {
        let path = folder.join(&self.folder);
        let run = RunFolder::open(&path)?;
        match run.run().get("seed") {
            Some(found) if found.as_u64() != Some(self.seed) => {
                let problem =
                    format!("it holds the run of seed {found}, and {INDEX_FILE} lists it as seed {}", self.seed);
                return Err(FileError::Metadata { path, problem }.into());
            }
            _ => {}
        }
        if self.run_sha256.is_some() && digest_of_run(&path)? != self.run_sha256 {
            let problem = format!("it holds another run than the one that {INDEX_FILE} lists");
            return Err(FileError::Metadata { path, problem }.into());
        }
        Ok(run)
    }
}

/// SHA-256 of the `run.json` in `folder`, if there is one.
fn digest_of_run(folder: &Path) -> Result<Option<String>, FileError> {
    let path = folder.join(RUN_FILE);
    match FileDigest::of(&path) {
        Ok(digest) => Ok(Some(digest.sha256)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileError::Read { path, source }),
    }
}

impl RunIndex {
    /// The run folder of `seed` below `folder`.
    pub fn seed_folder(folder: &Path, seed: u64) -> PathBuf {
        folder.join(format!("seed-{seed}"))
    }

    /// Whether [`Self::prepare`] would take `folder`: says no before work that would be in vain, and makes nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`].
    pub fn check(folder: &Path, replace: bool) -> Result<(), RunFolderError> {
        check_target(folder, replace)
    }

    /// Makes a folder under a temporary name for the run folders of several seeds, which will be called `folder`. One that exists must be
    /// empty, or a run folder and `replace` be set; it is replaced when [`IndexFolder::finish`] is called.
    ///
    /// # Errors
    ///
    /// [`RunFolderError::Exists`], [`RunFolderError::NotReplaceable`], or what the file system says.
    pub fn prepare(folder: &Path, replace: bool) -> Result<IndexFolder, RunFolderError> {
        RunIndex::check(folder, replace)?;
        let error = |source| FileError::Write { path: folder.to_owned(), source };
        let target = real(folder).map_err(error)?;
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(error)?;
        }
        let staged = StagedFolder::create(&target).map_err(error)?;
        Ok(IndexFolder { target, replace, staged })
    }

    /// The index of `seeds`, each in the folder [`Self::seed_folder`] names.
    pub fn of_seeds(seeds: impl IntoIterator<Item = u64>) -> RunIndex {
        let entry = |seed| IndexEntry { seed, folder: format!("seed-{seed}"), run_sha256: None };
        RunIndex { runs: seeds.into_iter().map(entry).collect() }
    }

    /// Writes `index.json`, and the manifest of the files that are in `folder` beside the run folders.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn write(&self, folder: &Path) -> Result<(), RunFolderError> {
        let listed = self
            .runs
            .iter()
            .map(|run| Ok(IndexEntry { run_sha256: digest_of_run(&folder.join(&run.folder))?, ..run.clone() }));
        let runs = listed.collect::<Result<Vec<IndexEntry>, FileError>>()?;
        let value = json!({ "format": "run-index", "version": VERSION, "runs": runs });
        json_file::write(&folder.join(INDEX_FILE), &value)?;
        Ok(Manifest::of(folder)?.write(folder)?)
    }

    /// Reads `index.json`.
    ///
    /// # Errors
    ///
    /// [`RunFolderError::NotARun`] (a run folder outside of `folder` among it), [`RunFolderError::Newer`],
    /// [`FileError::Changed`] if it is not as the manifest has it, or what
    /// the file system says.
    pub fn open(folder: &Path) -> Result<RunIndex, RunFolderError> {
        let mut object = json_file::read(folder, INDEX_FILE, "run-index", Manifest::open(folder)?.as_ref())?;
        let runs = object.remove("runs").unwrap_or(Value::Null);
        let runs: Vec<IndexEntry> = serde_json::from_value(runs).map_err(|error| RunFolderError::NotARun {
            path: folder.to_owned(),
            problem: format!("{INDEX_FILE} lists no runs: {error}"),
        })?;
        match runs.iter().find(|run| !is_name(&run.folder)) {
            Some(other) => {
                let problem = format!("{INDEX_FILE} lists {:?}, which is no folder in it", other.folder);
                Err(RunFolderError::NotARun { path: folder.to_owned(), problem })
            }
            None => Ok(RunIndex { runs }),
        }
    }
}

/// Whether `folder` is the name of a folder, and not a path that leads elsewhere.
fn is_name(folder: &str) -> bool {
    Path::new(folder).file_name() == Some(folder.as_ref())
}

/// A folder that gets the run folders of several seeds and their index. It has a temporary name until it is [`Self::finish`]ed, and
/// vanishes if it is neither finished nor kept.
#[derive(Debug)]
pub struct IndexFolder {
    target: PathBuf,
    replace: bool,
    staged: StagedFolder,
}

impl IndexFolder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.staged.path()
    }

    /// Whether it takes the place of runs.
    pub fn replaces(&self) -> bool {
        is_ours(&self.target)
    }

    /// Leaves it under its temporary name.
    pub fn keep(self) -> PathBuf {
        self.staged.keep()
    }

    /// Waits until it is on the disk, and gives it its name, which is returned. What is not complete replaces nothing: where its name is
    /// taken, it gets that of a part beside it (`NAME.part`).
    ///
    /// # Errors
    ///
    /// [`RunFolderError::NotNamed`]: the runs are whole under a temporary name.
    pub fn finish(self, is_complete: bool) -> Result<PathBuf, RunFolderError> {
        let IndexFolder { target, replace, staged } = self;
        let left = staged.keep();
        name_result(&left, &target, replace, is_complete)
            .map_err(|reason| RunFolderError::NotNamed { left, reason: Box::new(reason) })
    }
}
