//! What is in a folder and below it. Symbolic links are not followed, so that nothing outside is found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use flowloom_store::running::{RUNNING_FILE, observe};
use serde::Serialize;

use super::insides::{Inside, Insides};
use crate::error::Error;
use crate::results::SWEEP_FILE;

/// Folders below folders, at most.
const MOST_DEPTH: usize = 8;

/// How much is looked at, at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Files and folders of the search, in all.
    pub(super) entries: usize,
    /// Files and folders within each store, run and sweep.
    pub(super) inside: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { entries: 200_000, inside: 1_000_000 }
    }
}

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
    /// A Parquet file that may be a workload.
    Workload,
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

impl Folder {
    /// The one of `roots` in which it was found: its id begins with the number of that.
    pub(super) fn root<'a>(&self, roots: &'a [PathBuf]) -> Option<&'a Path> {
        let number: usize = self.id.split('/').next()?.parse().ok()?;
        roots.get(number).map(PathBuf::as_path)
    }
}

/// What was found, by its id.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) folders: BTreeMap<String, Folder>,
    /// Why the list is not complete, where it is not.
    pub(super) problems: Vec<String>,
}

/// A look through folders.
struct Look<'a> {
    found: Found,
    limits: Limits,
    /// How many entries it may still look at.
    left: usize,
    insides: &'a mut Insides,
}

impl Found {
    /// Looks through `roots`. One that cannot be read is a problem, and no reason to leave out the others. `insides` is what is known of
    /// the folders that were found before.
    pub(super) fn below(roots: &[PathBuf], limits: Limits, insides: &mut Insides) -> Found {
        let mut look = Look { found: Found::default(), limits, left: limits.entries, insides };
        for (number, root) in roots.iter().enumerate() {
            match fs::read_dir(root) {
                Ok(_) => look.look(root, &number.to_string(), &base_name(root), 0),
                Err(error) => look.found.problems.push(Error::of_file(root, &error).to_string()),
            }
        }
        let Look { mut found, left, insides, .. } = look;
        if left == 0 {
            let most = limits.entries;
            found.problems.push(format!("there are more than {most} files and folders: not all were looked at"));
        }
        insides.forget_others();
        found.tell_apart(roots);
        found
    }

    /// Gives what has one name in several of `roots` the path of its root too.
    fn tell_apart(&mut self, roots: &[PathBuf]) {
        let mut count: BTreeMap<(FolderKind, String), usize> = BTreeMap::new();
        for folder in self.folders.values() {
            *count.entry((folder.kind, folder.name.clone())).or_default() += 1;
        }
        for folder in self.folders.values_mut() {
            if count[&(folder.kind, folder.name.clone())] > 1
                && let Some(root) = folder.root(roots)
            {
                folder.name = format!("{} ({})", folder.name, root.display());
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

impl Look<'_> {
    fn look(&mut self, path: &Path, id: &str, name: &str, depth: usize) {
        if let Some(kind) = kind_of(path) {
            match self.insides.of(path, self.limits.inside) {
                Inside::Plain => self.found.enter(id, name, kind, path),
                Inside::Link => self.tell(format!("{name} has a symbolic link in it, and is left out")),
                Inside::TooMuch => {
                    let most = self.limits.inside;
                    self.tell(format!("{name} has more than {most} files and folders in it, and is left out"));
                }
            }
            if kind == FolderKind::Sweep {
                self.look_for_cells(path, id, name);
            }
            return;
        }
        let Ok(entries) = fs::read_dir(path) else {
            self.tell(format!("{name} cannot be read"));
            return;
        };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).take(self.left).collect();
        self.left -= entries.len();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let Ok(file) = entry.file_name().into_string() else {
                self.tell(format!("{name} has {:?} in it, which is not UTF-8, and is left out", entry.file_name()));
                continue;
            };
            if file.starts_with('.') {
                continue;
            }
            if kind.is_dir() && depth == MOST_DEPTH {
                self.tell(format!("{name}/{file} is more than {MOST_DEPTH} folders deep, and is left out"));
                continue;
            }
            let below = |known: &str| format!("{known}/{file}");
            // Names are of what is below the folder that was given.
            let name = if depth == 0 { file.clone() } else { below(name) };
            if kind.is_dir() {
                self.look(&entry.path(), &below(id), &name, depth + 1);
            } else if kind.is_file() && file == NOTES_FILE {
                self.found.enter(&below(id), &name, FolderKind::Notes, &entry.path());
            } else if kind.is_file() && file.ends_with(".parquet") {
                self.found.enter(&below(id), &name, FolderKind::Workload, &entry.path());
            } else if kind.is_file() && file.ends_with(".toml") {
                self.found.enter(&below(id), &name, FolderKind::Registry, &entry.path());
            }
        }
    }

    fn tell(&mut self, problem: String) {
        self.found.problems.push(problem);
    }

    /// Cells of a sweep that are under way. Those that have ended are the sweep's.
    fn look_for_cells(&mut self, sweep: &Path, id: &str, name: &str) {
        let cells = sweep.join(CELLS);
        if !fs::symlink_metadata(&cells).is_ok_and(|found| found.is_dir()) {
            return;
        }
        for entry in fs::read_dir(&cells).into_iter().flatten().flatten().take(self.limits.inside) {
            let (path, file) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let is_meant = entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_under_way(&path);
            if is_meant && self.insides.of(&path, self.limits.inside) == Inside::Plain {
                let below = |known: &str| format!("{known}/{CELLS}/{file}");
                self.found.enter(&below(id), &below(name), FolderKind::Running, &path);
            }
        }
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

fn base_name(root: &Path) -> String {
    root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into_owned())
}
