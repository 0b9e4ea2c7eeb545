//! Runs under way: a list, one that is followed until it has its name, and the request that it stop.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flowloom_store::running::{Observation, RUNNING_FILE, may_request_stop, observe, running_in};
use flowloom_store::staged::{UNFINISHED, finished_name};
use serde::Serialize;

use super::folders::{Folder, FolderKind, Found};
use super::shelf::is_file;
use crate::clock::Stopwatch;
use crate::results::REPORT_FILE;

/// A folder in which nothing is under way gets its name within this time, or never, in nanoseconds: the report of many seeds is written then.
const NAMED_WITHIN_NS: u64 = 60_000_000_000;

/// A run under way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RunningCard {
    id: String,
    name: String,
    /// Whether the process that shows it may ask it to stop.
    can_stop: bool,
    observation: Observation,
}

impl RunningCard {
    /// What the run in `folder` says; `None` if none is under way there.
    pub(super) fn of(folder: &Folder) -> Option<RunningCard> {
        let observation = observe(&folder.path)?;
        Some(RunningCard {
            id: folder.id.clone(),
            name: finished_path(&folder.name),
            can_stop: may_request_stop(&folder.path),
            observation,
        })
    }
}

/// A path whose parts are as they will be when the folders have their names.
fn finished_path(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').map(finished_name).collect();
    parts.join("/")
}

/// A run that is followed until its folder has its name.
#[derive(Clone, Debug)]
pub struct Followed {
    folder: Folder,
    /// The first folder of its path that has no name yet: that of the run, or that of all its seeds. It keeps its number when it is renamed.
    unfinished: (PathBuf, Option<Number>),
    /// When it was observed last.
    seen_unix_ns: Option<u64>,
    /// Since when nothing has been under way there.
    idle: Option<Stopwatch>,
}

/// What a file system knows a folder by: its device and its inode.
type Number = (u64, u64);

fn number(path: &Path) -> Option<Number> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// What there is to say of a run that is followed.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// It says something new: the object of JSON that a list has of it.
    Said(Vec<u8>),
    /// Nothing new.
    Nothing,
    /// It is over, and its folder has its name or is gone: the object of JSON that says where its results are.
    Ended(Vec<u8>),
}

/// Where the results of a run are that was followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Results {
    /// The run, or all its seeds.
    run: Option<String>,
    /// The sweep whose cell it is.
    sweep: Option<String>,
    has_report: bool,
}

/// What is new of a run, before it is written.
pub(super) enum Change {
    Said(Box<RunningCard>),
    Nothing,
    Ended,
}

impl Followed {
    /// The run in `folder`.
    pub(super) fn new(folder: Folder) -> Followed {
        let is_unfinished =
            |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(UNFINISHED));
        let depth = folder.id.split('/').count();
        let above = folder.path.ancestors().take(depth).filter(is_unfinished).last();
        let path = above.unwrap_or(&folder.path).to_owned();
        let number = number(&path);
        Followed { folder, unfinished: (path, number), seen_unix_ns: None, idle: None }
    }

    /// What is new since it was asked last.
    pub(super) fn change(&mut self) -> Change {
        if let Some(card) = RunningCard::of(&self.folder) {
            let at = Some(card.observation.observed_unix_ns);
            return match std::mem::replace(&mut self.seen_unix_ns, at) == at {
                true => Change::Nothing,
                false => Change::Said(Box::new(card)),
            };
        }
        let (path, known) = &self.unfinished;
        // A run that is killed leaves its file.
        if known.is_none() || number(path) != *known || self.folder.path.join(RUNNING_FILE).exists() {
            return Change::Ended;
        }
        if !running_in(path).is_empty() {
            // Other seeds are under way.
            self.idle = None;
            return Change::Nothing;
        }
        match self.idle.get_or_insert_with(Stopwatch::start).nanos() < NAMED_WITHIN_NS {
            true => Change::Nothing,
            false => Change::Ended,
        }
    }

    /// Where its results are, among what was `found` after it had ended.
    pub(super) fn results(&self, found: &Found) -> Results {
        let run = found.of(FolderKind::Run).find(|run| number(&run.path) == self.unfinished.1);
        let is_of = |sweep: &&Folder| self.folder.path.starts_with(&sweep.path);
        let sweep = found.of(FolderKind::Sweep).find(is_of);
        let has_report = run.or(sweep).is_some_and(|folder| is_file(&folder.path.join(REPORT_FILE)));
        Results { run: run.map(|run| run.id.clone()), sweep: sweep.map(|sweep| sweep.id.clone()), has_report }
    }
}
