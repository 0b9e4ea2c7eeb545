//! Workloads and run folders read to their end, and what is damaged in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use flowloom_store::manifest::{FileDigest, MANIFEST_FILE, Manifest};
use flowloom_store::run_folder::{RunFolder, RunIndex};
use flowloom_store::{FileError, Part};
use serde::{Serialize, Serializer};

use crate::context::Context;
use crate::error::Error;
use crate::input::{self, Kind};

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is what was written.
    Whole,
    /// It can be read, and nothing says whether it is what was written: earlier versions wrote no digests.
    Unprotected,
    /// It can be read, and the manifest of its folder does not know it.
    Unlisted,
    /// It is not what was written, or cannot be read.
    Damaged,
    /// The manifest or the index of its folder has it, and it is not there.
    Missing,
}

impl State {
    /// All of them.
    pub const ALL: [State; 5] = [State::Whole, State::Unprotected, State::Unlisted, State::Damaged, State::Missing];

    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            State::Whole => "whole",
            State::Unprotected => "unprotected",
            State::Unlisted => "unlisted",
            State::Damaged => "damaged",
            State::Missing => "missing",
        }
    }

    /// Whether something is lost.
    pub fn is_damage(self) -> bool {
        matches!(self, State::Damaged | State::Missing)
    }
}

/// A file, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedFile {
    /// Where it is, as the caller named its folder.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// What became of it.
    pub state: State,
    /// Its rows, if it is a table that can be read.
    pub rows: Option<u64>,
    /// The damaged column, if the damage is in one.
    pub column: Option<String>,
    /// The row group of the damage, from 0.
    pub row_group: Option<usize>,
    /// What is wrong and what to do, in words.
    pub problem: Option<String>,
}

/// Not every path is text that JSON can hold.
fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl VerifiedFile {
    fn new(path: &Path, state: State) -> VerifiedFile {
        VerifiedFile { path: path.to_owned(), state, rows: None, column: None, row_group: None, problem: None }
    }

    fn damaged(path: &Path, error: &FileError) -> VerifiedFile {
        let problem = Some(error.to_string());
        let (column, row_group) = match error {
            FileError::Changed { part: Part::Column { name, row_group }, .. } => (Some(name.clone()), Some(*row_group)),
            _ => (None, None),
        };
        VerifiedFile { column, row_group, problem, ..VerifiedFile::new(path, State::Damaged) }
    }

    fn missing(path: &Path, lists: &str) -> VerifiedFile {
        let problem = format!("missing: {}, which {lists} lists (take another copy of the folder)", path.display());
        VerifiedFile { problem: Some(problem), ..VerifiedFile::new(path, State::Missing) }
    }
}

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Every file, in the order of the paths and in each folder by name.
    pub files: Vec<VerifiedFile>,
    /// Whether the work was stopped before all was read.
    pub interrupted: bool,
}

impl Verification {
    /// The number of files in `state`.
    pub fn count(&self, state: State) -> usize {
        self.files.iter().filter(|file| file.state == state).count()
    }

    /// Whether anything is damaged or missing.
    pub fn is_damaged(&self) -> bool {
        self.files.iter().any(|file| file.state.is_damage())
    }
}

/// Reads everything in `paths`: workloads, tables and other files of run folders, run folders, folders of several runs, and such
/// in other folders.
///
/// # Errors
/// A path that is none of these. Damage is no error.
pub fn verify(paths: &[PathBuf], context: Context<'_>) -> Result<Verification, Error> {
    let mut verifier = Verifier { found: Verification::default(), context };
    for path in paths {
        let before = verifier.found.files.len();
        if path.is_dir() { verifier.folder(path) } else { verifier.single(path) }?;
        if verifier.found.files.len() == before && !verifier.found.interrupted {
            return Err(Error::new(format_args!("{}: there is no workload or run folder in it", path.display())));
        }
    }
    Ok(verifier.found)
}

struct Verifier<'a> {
    found: Verification,
    context: Context<'a>,
}

impl Verifier<'_> {
    fn push(&mut self, file: VerifiedFile) {
        self.found.files.push(file);
    }

    /// Whether to stop before the next file.
    fn is_stopped(&mut self) -> bool {
        self.found.interrupted |= self.context.is_stopped();
        self.found.interrupted
    }

    /// A file that was named.
    fn single(&mut self, path: &Path) -> Result<(), Error> {
        fs::metadata(path).map_err(|error| Error::new(format_args!("{}: {error}", path.display())))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let manifest = Manifest::open(folder).ok().flatten();
        let listed = manifest.as_ref().and_then(|manifest| manifest.files().get(path.file_name()?.to_str()?));
        if path.file_name() == Some(MANIFEST_FILE.as_ref()) {
            self.manifest(folder);
        } else if listed.is_some() || is_table(path) {
            self.file(path, listed, false);
        } else {
            return Err(Error::new(format_args!("{}: neither a workload nor a file of a run folder", path.display()))
                .hint("other files carry no digests to check them by"));
        }
        Ok(())
    }

    /// A run folder, a folder of several, or any other folder with such in it.
    fn folder(&mut self, folder: &Path) -> Result<(), Error> {
        let has = |name: &str| folder.join(name).exists();
        let (is_run, is_index) = (has("run.json"), has("index.json"));
        // Other programs have files of that name.
        let is_listed = || matches!(Manifest::open(folder), Ok(Some(_)));
        if !is_run && !is_index && !is_listed() {
            return self.others(folder);
        }
        let before = self.found.files.len();
        let manifest = self.manifest(folder);
        let (folders, names) = entries(folder)?;
        self.files(folder, manifest.as_ref(), names);
        // What the files do not say by themselves: a manifest that should be there, a version that is not known.
        let is_sound = !self.found.files[before..].iter().any(|file| file.state.is_damage());
        if is_run
            && is_sound
            && let Err(error) = RunFolder::open(folder)
        {
            self.unreadable(folder, error.to_string());
        }
        let runs = match is_index.then(|| RunIndex::open(folder)).transpose() {
            Ok(index) => index.map(|index| index.runs).unwrap_or_default(),
            Err(error) => {
                if is_sound {
                    self.unreadable(folder, error.to_string());
                }
                return Ok(());
            }
        };
        let of_index: BTreeSet<PathBuf> = runs.into_iter().map(|run| folder.join(run.folder)).collect();
        for path in &of_index {
            if path.is_dir() {
                self.folder(path)?;
            } else {
                self.push(VerifiedFile::missing(path, "index.json"));
            }
        }
        let unlisted = folders.iter().filter(|path| !of_index.contains(*path));
        self.found.files.extend(unlisted.map(|path| VerifiedFile::new(path, State::Unlisted)));
        Ok(())
    }

    /// Every folder and table in a folder that is nothing of ours.
    fn others(&mut self, folder: &Path) -> Result<(), Error> {
        let (folders, files) = entries(folder)?;
        for path in files.iter().filter(|path| has_table_name(path)) {
            if self.is_stopped() {
                return Ok(());
            }
            self.file(path, None, false);
        }
        folders.iter().try_for_each(|path| self.folder(path))
    }

    /// The manifest of `folder`, if it can be read.
    fn manifest(&mut self, folder: &Path) -> Option<Manifest> {
        let path = folder.join(MANIFEST_FILE);
        match Manifest::open(folder) {
            Ok(manifest) => {
                let listed = manifest?;
                self.push(VerifiedFile::new(&path, State::Whole));
                Some(listed)
            }
            Err(error) => {
                self.push(VerifiedFile::damaged(&path, &error));
                None
            }
        }
    }

    /// The files of a run folder or a folder of several: those in the manifest, and `found`.
    fn files(&mut self, folder: &Path, manifest: Option<&Manifest>, found: Vec<PathBuf>) {
        let listed = manifest.into_iter().flat_map(Manifest::files);
        let mut files: BTreeMap<PathBuf, Option<&FileDigest>> =
            listed.map(|(name, digest)| (folder.join(name), Some(digest))).collect();
        for path in found {
            if path.file_name() != Some(MANIFEST_FILE.as_ref()) {
                files.entry(path).or_default();
            }
        }
        for (path, listed) in files {
            if self.is_stopped() {
                return;
            }
            self.file(&path, listed, manifest.is_some());
        }
    }

    /// A file, with what the manifest of its folder says of it, or that there `is_manifest` and it says nothing.
    fn file(&mut self, path: &Path, listed: Option<&FileDigest>, is_manifest: bool) {
        let is_same = match listed.map(|listed| FileDigest::of(path).map(|found| found == *listed)) {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                return self.push(VerifiedFile::missing(path, MANIFEST_FILE));
            }
            Some(Err(source)) => {
                let error = FileError::Read { path: path.to_owned(), source };
                return self.push(VerifiedFile::damaged(path, &error));
            }
            Some(Ok(is_same)) => Some(is_same),
            None => None,
        };
        let mut file = VerifiedFile::new(path, State::Unprotected);
        if is_table(path) {
            match flowloom_store::verify(path) {
                Ok(table) => {
                    file.rows = Some(table.rows);
                    if table.is_protected {
                        file.state = State::Whole;
                    }
                }
                // Where in it the damage is.
                Err(error) => return self.push(VerifiedFile::damaged(path, &error)),
            }
        }
        match is_same {
            Some(true) => file.state = State::Whole,
            Some(false) => {
                file = VerifiedFile::damaged(path, &FileError::Changed { path: path.to_owned(), part: Part::File });
            }
            None if is_manifest => file.state = State::Unlisted,
            None => {}
        }
        self.push(file);
    }

    /// A folder that cannot be read although no file of it is damaged.
    fn unreadable(&mut self, folder: &Path, problem: String) {
        self.push(VerifiedFile { problem: Some(problem), ..VerifiedFile::new(folder, State::Damaged) });
    }
}

/// The folders and the files in `folder`, by name. Links to folders are left out: they may lead in circles.
fn entries(folder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Error> {
    let read = |error: io::Error| Error::new(format_args!("{}: {error}", folder.display()));
    let paths = fs::read_dir(folder).map_err(read)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>().map_err(read)?;
    paths.sort();
    let (files, others): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| path.is_file());
    Ok((others.into_iter().filter(|path| path.is_dir() && !path.is_symlink()).collect(), files))
}

fn has_table_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet")
}

/// Whether a file is a table, or should be one by its name.
fn is_table(path: &Path) -> bool {
    has_table_name(path) || input::kind(path) == Kind::Workload
}
