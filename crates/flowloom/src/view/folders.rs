//! What is in a folder and below it. Symbolic links are not followed, so that nothing outside is found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use flowloom_store::running::{RUNNING_FILE, observe};
use serde::Serialize;

use crate::error::Error;
use crate::results::SWEEP_FILE;

/// Folders below folders, at most.
const MOST_DEPTH: usize = 8;

/// Entries that are looked at in all, at most.
const MOST_ENTRIES: usize = 200_000;

/// What a folder or file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FolderKind {
    /// The store of a monitor.
    Monitor,
    /// A run, or several seeds of one.
    Run,
    /// A sweep.
    Sweep,
    /// A TOML file that may be the registry of a monitor.
    Registry,
    /// A file of notes.
    Notes,
    /// The unfinished folder of a run under way.
    Running,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Folder {
    /// What questions call it.
    pub id: String,
    /// What people call it: its path below the folder that was given.
    pub name: String,
    /// What it is.
    pub kind: FolderKind,
    /// Where it is.
    #[serde(skip)]
    pub path: PathBuf,
}

/// What was found, by its id.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) folders: BTreeMap<String, Folder>,
    /// Why the list is not complete, where it is not.
    pub(super) problems: Vec<String>,
}

impl Found {
    /// Looks through `roots`.
    ///
    /// # Errors
    /// One of them cannot be read, or is no folder.
    pub(super) fn below(roots: &[PathBuf]) -> Result<Found, Error> {
        let mut found = Found::default();
        let mut left = MOST_ENTRIES;
        for (number, root) in roots.iter().enumerate() {
            let entries = fs::read_dir(root).map_err(|error| Error::of_file(root, &error))?;
            drop(entries);
            found.look(root, &number.to_string(), &base_name(root), 0, &mut left);
        }
        if left == 0 {
            found
                .problems
                .push(format!("there are more than {MOST_ENTRIES} files and folders: not all were looked at"));
        }
        Ok(found)
    }

    fn look(&mut self, path: &Path, id: &str, name: &str, depth: usize, left: &mut usize) {
        if let Some(kind) = kind_of(path) {
            match has_link(path) {
                true => self.problems.push(format!("{name} has a symbolic link in it, and is left out")),
                false => self.enter(id, name, kind, path),
            }
            if kind == FolderKind::Sweep {
                self.look_for_cells(path, id, name, left);
            }
            return;
        }
        let Ok(entries) = fs::read_dir(path) else {
            self.problems.push(format!("{name} cannot be read"));
            return;
        };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).take(*left).collect();
        *left -= entries.len();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let file = entry.file_name().to_string_lossy().into_owned();
            if file.starts_with('.') {
                continue;
            }
            let below = |known: &str| format!("{known}/{file}");
            // Names are of what is below the folder that was given.
            let name = if depth == 0 { file.clone() } else { below(name) };
            if kind.is_dir() && depth < MOST_DEPTH {
                self.look(&entry.path(), &below(id), &name, depth + 1, left);
            } else if kind.is_file() && file == NOTES_FILE {
                self.enter(&below(id), &name, FolderKind::Notes, &entry.path());
            } else if kind.is_file() && file.ends_with(".toml") {
                self.enter(&below(id), &name, FolderKind::Registry, &entry.path());
            }
        }
    }

    /// Cells of a sweep that are under way. Those that have ended are the sweep's.
    fn look_for_cells(&mut self, sweep: &Path, id: &str, name: &str, left: &mut usize) {
        let cells = sweep.join(CELLS);
        if !fs::symlink_metadata(&cells).is_ok_and(|found| found.is_dir()) {
            return;
        }
        for entry in fs::read_dir(&cells).into_iter().flatten().flatten().take(*left) {
            *left -= 1;
            let (path, file) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_under_way(&path) && !has_link(&path) {
                let below = |known: &str| format!("{known}/{CELLS}/{file}");
                self.enter(&below(id), &below(name), FolderKind::Running, &path);
            }
        }
    }

    fn enter(&mut self, id: &str, name: &str, kind: FolderKind, path: &Path) {
        let folder = Folder { id: id.to_owned(), name: name.to_owned(), kind, path: path.to_owned() };
        self.folders.insert(id.to_owned(), folder);
    }

    /// Those of a kind.
    pub(super) fn of(&self, kind: FolderKind) -> impl Iterator<Item = &Folder> {
        self.folders.values().filter(move |folder| folder.kind == kind)
    }
}

/// Where a sweep has its cells.
const CELLS: &str = "cells";

/// The file of notes, by its name.
pub(super) const NOTES_FILE: &str = "notes.toml";

/// What a folder is, by the file that makes it that.
fn kind_of(path: &Path) -> Option<FolderKind> {
    let has = |name: &str| fs::symlink_metadata(path.join(name)).is_ok_and(|found| found.is_file());
    // A run writes its results into the same folder while it ends.
    if is_under_way(path) {
        return Some(FolderKind::Running);
    }
    if has(flowloom_store::monitor::CATALOGUE_FILE) {
        return Some(FolderKind::Monitor);
    }
    if has(SWEEP_FILE) {
        return Some(FolderKind::Sweep);
    }
    (has("run.json") || has("index.json")).then_some(FolderKind::Run)
}

/// Whether a run goes on in a folder.
fn is_under_way(path: &Path) -> bool {
    let is_said = fs::symlink_metadata(path.join(RUNNING_FILE)).is_ok_and(|found| found.is_file());
    is_said && observe(path).is_some()
}

/// Whether a link in a folder leads elsewhere.
fn has_link(path: &Path) -> bool {
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_type().ok()).any(|kind| kind.is_symlink())
}

fn base_name(root: &Path) -> String {
    root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into_owned())
}
