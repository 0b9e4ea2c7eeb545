//! Reads workloads, run folders and stores of monitors to their end and finds what is damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use flowloom_store::manifest::{FileDigest, MANIFEST_FILE, Manifest};
use flowloom_store::monitor;
use flowloom_store::run_folder::{IndexEntry, RunFolder, RunIndex};
use flowloom_store::{FileError, Part};
use serde::{Serialize, Serializer};

use crate::context::Context;
use crate::error::Error;
use crate::input::{self, Kind};

/// The file that says what a run was.
const RUN_FILE: &str = "run.json";
/// The file that lists the runs of a folder of several.
const INDEX_FILE: &str = "index.json";

/// The state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its bytes are those that were written.
    Whole,
    /// It can be read, and it has no digest to compare it with: earlier versions wrote none.
    Unprotected,
    /// The manifest or index of its folder does not list it.
    Unlisted,
    /// Its bytes are not those that were written, or it cannot be read.
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

    /// One that is damaged as `problem` says, which names it.
    fn unreadable(path: &Path, problem: &str) -> VerifiedFile {
        let problem = format!("damaged: {}", problem.trim_start_matches("damaged: "));
        VerifiedFile { problem: Some(problem), ..VerifiedFile::new(path, State::Damaged) }
    }

    fn damaged(path: &Path, error: &FileError) -> VerifiedFile {
        let (column, row_group) = match error {
            FileError::Changed { part: Part::Column { name, row_group }, .. } => (Some(name.clone()), Some(*row_group)),
            _ => (None, None),
        };
        VerifiedFile { column, row_group, ..VerifiedFile::unreadable(path, &error.to_string()) }
    }

    fn missing(path: &Path, lists: &str) -> VerifiedFile {
        let problem = format!("missing: {}, which {lists} lists (take another copy of the folder)", path.display());
        VerifiedFile { problem: Some(problem), ..VerifiedFile::new(path, State::Missing) }
    }
}

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    /// Every file, in the order of the paths and in each folder by name.
    pub files: Vec<VerifiedFile>,
    /// Whether the work was stopped before all was read.
    pub interrupted: bool,
    /// Paths with nothing to verify.
    pub errors: Vec<Error>,
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

/// Reads everything in `paths`: workloads, tables and other files of run folders, run folders, folders of several runs, and all of
/// these in other folders. A file whose reading was stopped is not among those found.
pub fn verify(paths: &[PathBuf], context: Context<'_>) -> Verification {
    let mut verifier = Verifier { found: Verification::default(), read: BTreeSet::new(), context };
    for path in paths {
        if let Err(error) = verifier.path(path) {
            verifier.found.errors.push(error);
        }
    }
    verifier.found
}

struct Verifier<'a> {
    found: Verification,
    /// Folders that were entered, by their paths without links.
    read: BTreeSet<PathBuf>,
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

    /// Whether no file from number `first` on is damaged, if all were read.
    fn is_sound(&mut self, first: usize) -> bool {
        !self.is_stopped() && !self.found.files[first..].iter().any(|file| file.state.is_damage())
    }

    /// What was named.
    fn path(&mut self, path: &Path) -> Result<(), Error> {
        let before = self.found.files.len();
        if !path.is_dir() {
            return self.single(path);
        }
        self.folder(path);
        if self.found.files.len() == before && !self.found.interrupted {
            return Err(Error::new(format_args!("{}: there is no workload or run folder in it", path.display())));
        }
        Ok(())
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
    fn folder(&mut self, folder: &Path) {
        if self.is_stopped() {
            return;
        }
        if !self.is_entered(folder) {
            let problem = format!("{}: a link to a folder that it is in, or that was read already", folder.display());
            return self.push(VerifiedFile { problem: Some(problem), ..VerifiedFile::new(folder, State::Unlisted) });
        }
        let entries = match Entries::of(folder) {
            Ok(entries) => entries,
            Err(source) => {
                let error = FileError::Read { path: folder.to_owned(), source };
                return self.push(VerifiedFile::damaged(folder, &error));
            }
        };
        if monitor::is_store(folder) {
            return self.store(folder, &entries);
        }
        let has = |name: &str| folder.join(name).exists();
        let (is_run, is_index) = (has(RUN_FILE), has(INDEX_FILE));
        // Other programs have files of that name.
        let is_listed = || matches!(Manifest::open(folder), Ok(Some(_)));
        if !is_run && !is_index && !is_listed() {
            return self.others(folder, &entries);
        }
        let before = self.found.files.len();
        let manifest = self.manifest(folder);
        self.files(folder, manifest.as_ref(), &entries);
        // What the files do not say by themselves: a manifest that should be there, a version that is not known.
        let is_sound = self.is_sound(before);
        if is_run
            && is_sound
            && let Err(error) = RunFolder::open(folder)
        {
            self.push(VerifiedFile::unreadable(folder, &error.to_string()));
        }
        let runs = if is_index { self.index(folder, is_sound) } else { Some(BTreeMap::new()) };
        let is_listed = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| manifest.as_ref().is_some_and(|manifest| manifest.files().contains_key(name)))
        };
        for path in entries.folders.iter().filter(|path| !is_listed(path)) {
            match &runs {
                Some(runs) if runs.contains_key(path) => {}
                // A file that says which folders belong here is damaged.
                None => self.folder(path),
                Some(_) => self.unlisted(path),
            }
        }
    }

    /// The store of a monitor, which may be at work.
    fn store(&mut self, folder: &Path, entries: &Entries) {
        let catalogue = folder.join(monitor::CATALOGUE_FILE);
        self.push(counted(&catalogue, monitor::verify_catalogue(folder)));
        match monitor::verify_journal(folder) {
            Ok(segments) => segments.into_iter().for_each(|(path, records)| self.push(counted(&path, records))),
            Err(error) => self.push(VerifiedFile::damaged(&folder.join(monitor::JOURNAL_FOLDER), &error)),
        }
        for path in entries.folders.iter().filter(|path| !path.ends_with(monitor::JOURNAL_FOLDER)) {
            let before = self.found.files.len();
            self.day(folder, path);
            // A monitor replaces tables, and deletes old days: what has changed meanwhile is read again.
            let mut tries = 0;
            while tries < STORE_TRIES && !self.is_sound(before) && !self.is_stopped() && monitor::is_written(folder) {
                tries += 1;
                self.found.files.truncate(before);
                if path.is_dir() {
                    self.day(folder, path);
                }
            }
        }
    }

    /// A day of the store in `root`.
    fn day(&mut self, root: &Path, folder: &Path) {
        match Manifest::open(folder) {
            Err(error) => self.push(VerifiedFile::damaged(&folder.join(MANIFEST_FILE), &error)),
            Ok(Some(_)) => self.folder(folder),
            // Without it, none of its tables counts.
            Ok(None) => {
                if let Err(error) = monitor::verify_day(root, folder) {
                    self.push(VerifiedFile::damaged(&folder.join(MANIFEST_FILE), &error));
                }
                self.folder(folder);
            }
        }
    }

    /// Whether to read a folder. Links may lead in circles: one is followed only to a folder that is new and not around it.
    fn is_entered(&mut self, folder: &Path) -> bool {
        let Ok(path) = fs::canonicalize(folder) else { return true };
        let is_link = folder.is_symlink();
        let around = folder.parent().filter(|_| is_link).and_then(|around| fs::canonicalize(around).ok());
        if around.is_some_and(|around| around.starts_with(&path)) {
            return false;
        }
        self.read.insert(path) || !is_link
    }

    /// A folder in a run folder that is no part of the run.
    fn unlisted(&mut self, folder: &Path) {
        if !self.is_stopped() {
            let before = self.found.files.len();
            self.folder(folder);
            // One that was read before is named already.
            if self.found.files.get(before).is_none_or(|file| file.path != folder) {
                self.found.files.insert(before, VerifiedFile::new(folder, State::Unlisted));
            }
        }
    }

    /// The run folders that the index in `folder` lists, all verified; `None` if the index cannot be read, which is said
    /// here only if its file `is_sound`.
    fn index(&mut self, folder: &Path, is_sound: bool) -> Option<BTreeMap<PathBuf, IndexEntry>> {
        match RunIndex::open(folder) {
            Ok(index) => {
                let runs: BTreeMap<PathBuf, IndexEntry> =
                    index.runs.into_iter().map(|run| (folder.join(&run.folder), run)).collect();
                runs.iter().for_each(|(path, run)| self.indexed(folder, path, run));
                Some(runs)
            }
            Err(error) => {
                if is_sound {
                    self.push(VerifiedFile::unreadable(folder, &error.to_string()));
                }
                None
            }
        }
    }

    /// The run folder at `path`, which the index in `folder` lists as `run`.
    fn indexed(&mut self, folder: &Path, path: &Path, run: &IndexEntry) {
        if self.is_stopped() {
            return;
        }
        if !path.is_dir() {
            return self.push(VerifiedFile::missing(path, INDEX_FILE));
        }
        // A link may lead to a folder that it is in.
        if path.join(INDEX_FILE).exists() {
            let problem = format!("{}: it holds several runs, and {INDEX_FILE} lists it as one", path.display());
            return self.push(VerifiedFile::unreadable(path, &problem));
        }
        let before = self.found.files.len();
        self.folder(path);
        if self.is_sound(before)
            && let Err(error) = run.open(folder)
        {
            self.push(VerifiedFile::unreadable(path, &error.to_string()));
        }
    }

    /// Every folder and table in a folder that is nothing of ours.
    fn others(&mut self, folder: &Path, entries: &Entries) {
        let before = self.found.files.len();
        let mut is_of_run = false;
        for path in entries.files.iter().chain(&entries.others).filter(|path| has_table_name(path)) {
            if self.is_stopped() {
                return;
            }
            is_of_run |= self.file(path, None, false);
        }
        if is_of_run {
            let problem = format!(
                "missing: {}, without which its tables are no run (take another copy of the folder; a run that was killed left none)",
                folder.join(RUN_FILE).display()
            );
            let missing = VerifiedFile::new(&folder.join(RUN_FILE), State::Missing);
            self.found.files.insert(before, VerifiedFile { problem: Some(problem), ..missing });
        }
        entries.folders.iter().for_each(|path| self.folder(path));
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

    /// The files of a run folder or a folder of several: those in the manifest, and those that are there.
    fn files(&mut self, folder: &Path, manifest: Option<&Manifest>, entries: &Entries) {
        let listed = manifest.into_iter().flat_map(Manifest::files);
        let mut files: BTreeMap<PathBuf, Option<&FileDigest>> =
            listed.map(|(name, digest)| (folder.join(name), Some(digest))).collect();
        for path in entries.files.iter().chain(&entries.others) {
            if path.file_name() != Some(MANIFEST_FILE.as_ref()) {
                files.entry(path.clone()).or_default();
            }
        }
        for (path, listed) in files {
            if self.is_stopped() {
                return;
            }
            self.file(&path, listed, manifest.is_some());
        }
    }

    /// A file, with what the manifest of its folder says of it, or that there `is_manifest` and it says nothing. Whether it is
    /// a table of a run.
    fn file(&mut self, path: &Path, listed: Option<&FileDigest>, is_manifest: bool) -> bool {
        let (file, is_of_run) = self.examined(path, listed, is_manifest);
        // It may not be read to its end.
        if !self.is_stopped() {
            self.push(file);
        }
        is_of_run
    }

    /// What [`Self::file`] finds.
    fn examined(&self, path: &Path, listed: Option<&FileDigest>, is_manifest: bool) -> (VerifiedFile, bool) {
        let mut is_same = None;
        if let Some(listed) = listed {
            match self.compared(path, listed) {
                Ok(found) => is_same = Some(found),
                Err(file) => return (file, false),
            }
        }
        let mut file = VerifiedFile::new(path, State::Unprotected);
        let mut is_of_run = false;
        if is_table(path) {
            match flowloom_store::verify(path, &|| !self.context.is_stopped()) {
                Ok(table) => {
                    file.rows = Some(table.rows);
                    is_of_run = table.is_of_run();
                    if table.is_protected {
                        file.state = State::Whole;
                    }
                }
                // Where in it the damage is.
                Err(error) => return (VerifiedFile::damaged(path, &error), false),
            }
        }
        match is_same {
            Some(true) => file.state = State::Whole,
            Some(false) => {
                file = VerifiedFile::damaged(path, &FileError::Changed { path: path.to_owned(), part: Part::File });
            }
            None if is_manifest || !path.is_file() => file.state = State::Unlisted,
            None => {}
        }
        (file, is_of_run)
    }

    /// Whether the file is as it is `listed`, or what says more than that. Only one of the right length is read.
    fn compared(&self, path: &Path, listed: &FileDigest) -> Result<bool, VerifiedFile> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => VerifiedFile::missing(path, MANIFEST_FILE),
            _ => VerifiedFile::damaged(path, &FileError::Read { path: path.to_owned(), source }),
        };
        let about = fs::metadata(path).map_err(failed)?;
        if about.is_file() && about.len() != listed.bytes {
            let problem = format!(
                "it has {} bytes, and {MANIFEST_FILE} lists it with {} (take another copy, or write the file again)",
                about.len(),
                listed.bytes
            );
            return Err(VerifiedFile::damaged(path, &FileError::Metadata { path: path.to_owned(), problem }));
        }
        let found = FileDigest::of_part(path, &|| !self.context.is_stopped()).map_err(failed)?;
        Ok(found == *listed)
    }
}

/// How often a day of a store is read again whose tables were replaced meanwhile.
const STORE_TRIES: usize = 3;

/// A file of a store that is no table, and the number of its records.
fn counted(path: &Path, records: Result<u64, FileError>) -> VerifiedFile {
    match records {
        Ok(rows) => VerifiedFile { rows: Some(rows), ..VerifiedFile::new(path, State::Whole) },
        Err(error) => VerifiedFile::damaged(path, &error),
    }
}

/// What is in a folder, each by name.
struct Entries {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// FIFOs, devices, and links to nothing.
    others: Vec<PathBuf>,
}

impl Entries {
    fn of(folder: &Path) -> io::Result<Entries> {
        let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        let (files, rest): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| path.is_file());
        let (folders, others) = rest.into_iter().partition(|path| path.is_dir());
        Ok(Entries { folders, files, others })
    }
}

fn has_table_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet")
}

/// Whether a file is a table, or should be one by its name.
fn is_table(path: &Path) -> bool {
    has_table_name(path) || input::kind(path) == Kind::Workload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Silent, Stop};

    /// What `verify` says of `folder`, in the order of its answer.
    fn states(folder: &Path) -> Vec<(String, State)> {
        let found = verify(&[folder.to_owned()], Context::new(&Silent, &Stop::new()));
        let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
        found.files.iter().map(|file| (name(&file.path), file.state)).collect()
    }

    #[test]
    fn links_to_folders_are_read_once() {
        let (top, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let run = other.path().join("run");
        fs::create_dir(&run).unwrap();
        fs::write(run.join("file"), "text").unwrap();
        Manifest::of(&run).unwrap().write(&run).unwrap();
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, top.path().join(name)).unwrap();
        link(&run, "seed-1");
        let whole = [("seed-1/manifest.json", State::Whole), ("seed-1/file", State::Whole)];
        let whole = whole.map(|(name, state)| (name.to_owned(), state)).to_vec();
        assert_eq!(states(top.path()), whole);
        fs::write(run.join("file"), "tex!").unwrap();
        assert_eq!(states(top.path())[1].1, State::Damaged);
        fs::write(run.join("file"), "text").unwrap();
        // In a circle, and to the same folder again.
        link(Path::new("."), "here");
        link(&run, "seed-2");
        std::os::unix::fs::symlink(top.path(), run.join("up")).unwrap();
        let mut found = states(top.path());
        found.retain(|(_, state)| *state == State::Unlisted);
        let named = ["here", "seed-1/up", "seed-2"].map(|name| (name.to_owned(), State::Unlisted));
        assert_eq!(found, named);
    }

    #[test]
    fn stores_of_monitors_are_read() {
        use flowloom_store::monitor::{Batch, Kind, MonitorWriter, SECOND, Series, WriterOptions};
        let folder = tempfile::tempdir().unwrap();
        let series = Series {
            id: 0,
            target: "a".to_owned(),
            port: String::new(),
            counter: "in".to_owned(),
            unit: "octets".to_owned(),
            kind: Kind::Counter,
            interval_ns: SECOND,
        };
        let mut writer = MonitorWriter::open(folder.path(), WriterOptions::default(), SECOND).unwrap();
        let (id, _) = writer.series(series).unwrap();
        let batch = |time_ns| Batch { time_ns, span_ns: SECOND, samples: vec![(id, 1)] };
        writer.samples(batch(SECOND)).unwrap();
        writer.rotate(2 * SECOND).unwrap();
        writer.samples(batch(2 * SECOND)).unwrap();
        drop(writer);
        let whole = [
            "monitor.json",
            "journal/00000002.journal",
            "1970-01-01/manifest.json",
            "1970-01-01/hours-00000001-00000001.parquet",
            "1970-01-01/minutes-00000001-00000001.parquet",
            "1970-01-01/samples-00000001-00000001.parquet",
        ];
        let mut found = states(folder.path());
        found.sort();
        let mut expected: Vec<_> = whole.map(|name| (name.to_owned(), State::Whole)).to_vec();
        expected.sort();
        assert_eq!(found, expected);
        for name in whole {
            let path = folder.path().join(name);
            let bytes = fs::read(&path).unwrap();
            let mut changed = bytes.clone();
            // Of the journal the last record: the length of one may say that it was being written.
            let at = if name.ends_with(".journal") { bytes.len() - 2 } else { bytes.len() / 2 };
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            let damaged = states(folder.path()).into_iter().filter(|(_, state)| state.is_damage()).count();
            assert!(damaged >= 1, "{name}");
            fs::write(&path, bytes).unwrap();
        }
        // Without a manifest no table of the day counts.
        let manifest = folder.path().join("1970-01-01/manifest.json");
        fs::remove_file(&manifest).unwrap();
        assert!(states(folder.path()).contains(&("1970-01-01/manifest.json".to_owned(), State::Damaged)));
    }

    #[test]
    fn damage_to_a_journal_is_told_after_the_next_start() {
        use flowloom_store::monitor::{GapRow, MonitorWriter, SECOND, WriterOptions};
        let folder = tempfile::tempdir().unwrap();
        let open = || MonitorWriter::open(folder.path(), WriterOptions::default(), 100 * SECOND).unwrap();
        let mut writer = open();
        for second in 1..50 {
            writer.gap(GapRow { series: 1, start_ns: second, end_ns: second + 1, ..GapRow::default() }).unwrap();
        }
        drop(writer);
        let segment = folder.path().join("journal/00000001.journal");
        let mut bytes = fs::read(&segment).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&segment, bytes).unwrap();
        let mut writer = open();
        let said: Vec<String> = writer.take_damage().iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains("00000001.damaged: 4"), "{said:?}");
        drop(writer);
        let found = states(folder.path());
        assert!(found.contains(&("journal/00000001.damaged".to_owned(), State::Damaged)), "{found:?}");
    }

    #[test]
    fn files_that_were_not_read_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            let run = folder.path().join(name);
            fs::create_dir(&run).unwrap();
            fs::write(run.join("file"), "text").unwrap();
            Manifest::of(&run).unwrap().write(&run).unwrap();
        }
        let paths = [folder.path().to_owned()];
        let stop = Stop::new();
        let all = verify(&paths, Context::new(&Silent, &stop));
        assert_eq!((all.count(State::Whole), all.files.len(), all.interrupted), (4, 4, false));
        stop.request();
        let found = verify(&paths, Context::new(&Silent, &stop));
        assert_eq!(found, Verification { interrupted: true, ..Verification::default() });
    }
}
