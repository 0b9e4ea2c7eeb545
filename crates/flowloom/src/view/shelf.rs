//! Folders, found again when they change, and questions about them answered.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use flowloom_monitor::registry::Registry;
use flowloom_monitor::{Archive, Query, has_kept, kept_at};
use flowloom_report::compare::Options;
use flowloom_store::monitor::{Series, is_written};
use flowloom_store::running::request_stop;
use serde::Serialize;
use serde_json::json;

use super::folders::{Folder, FolderKind, Found, Limits};
use super::insides::Insides;
use super::map;
use super::marks::{Mark, MarkKind};
use super::notes::{self, Note};
use super::question::{Question, Span, StopRequest};
use super::running::{Change, Followed, News, RunningCard};
use super::runs::{RunCard, order, words};
use super::series::Asked;
use crate::clock::Stopwatch;
use crate::compare::compare_named;
use crate::error::Error;
use crate::json::versioned;
use crate::monitor::{History, Registered, history_csv};
use crate::results::REPORT_FILE;
use crate::sweep::load_sweep;

/// How long what was found counts as found, in nanoseconds.
const FRESH_NS: u64 = 2_000_000_000;

/// Bytes of a report at most.
const LONGEST_REPORT: u64 = 256 << 20;

/// Marks and runs of an answer at most.
const MOST_LISTED: usize = 2_000;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A JSON object.
    Json(Vec<u8>),
    /// Comma-separated values.
    Csv(String),
    /// A report: an HTML page that someone else may have written.
    Report(Vec<u8>),
    /// There is nothing of this name.
    Nothing(String),
    /// Whoever shows it may not do that.
    Forbidden(String),
}

/// What `flowloom view` shows.
pub struct Shelf {
    roots: Vec<PathBuf>,
    found: Mutex<Option<(Stopwatch, Arc<Found>)>>,
    insides: Mutex<Insides>,
    cards: Mutex<BTreeMap<PathBuf, (Stamp, Arc<RunCard>)>>,
    stores: Mutex<BTreeMap<PathBuf, (Stopwatch, Arc<Store>)>>,
    notes: Mutex<Option<(NotesKey, Arc<Notes>)>>,
    workloads: Mutex<BTreeMap<PathBuf, (FileStamp, Option<Mark>)>>,
}

/// Notes, each with the path of the run that it is about, and what is wrong with some.
type Notes = (Vec<(Option<PathBuf>, Note)>, Vec<String>);

/// Files of notes as they were when they were read, and the runs that there were.
type NotesKey = (Vec<(PathBuf, FileStamp)>, Vec<PathBuf>);

/// What tells whether a file was written again: its time and its length.
type FileStamp = Option<(SystemTime, u64)>;

/// What tells whether a folder was written again.
type Stamp = (Option<SystemTime>, Option<SystemTime>);

/// A store that was looked at.
struct Store {
    archive: Archive,
    series: Vec<Series>,
}

impl Store {
    fn asked(&self) -> Asked<'_> {
        Asked { archive: &self.archive, series: &self.series }
    }
}

impl Shelf {
    /// Looks at `folders` and what is below them.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn open(folders: &[PathBuf]) -> Result<Shelf, Error> {
        let real = |folder: &PathBuf| fs::canonicalize(folder).map_err(|error| Error::of_file(folder, &error));
        let roots = folders.iter().map(real).collect::<Result<Vec<PathBuf>, Error>>()?;
        let shelf = Shelf {
            roots,
            found: Mutex::new(None),
            insides: Mutex::default(),
            cards: Mutex::new(BTreeMap::new()),
            stores: Mutex::new(BTreeMap::new()),
            notes: Mutex::new(None),
            workloads: Mutex::new(BTreeMap::new()),
        };
        for root in &shelf.roots {
            fs::read_dir(root).map_err(|error| Error::of_file(root, &error))?;
        }
        Ok(shelf)
    }

    /// What there is.
    ///
    /// # Errors
    /// A folder can no longer be read.
    pub fn folders(&self) -> Result<Vec<Folder>, Error> {
        Ok(self.found()?.folders.values().cloned().collect())
    }

    /// Answers a question.
    ///
    /// # Errors
    /// It cannot be answered: of kind [`Usage`](crate::ErrorKind::Usage) if it is wrong, else what was asked for is damaged or cannot
    /// be read.
    pub fn answer(&self, question: &Question) -> Result<Answer, Error> {
        match question {
            Question::Folders => self.told_folders(),
            Question::Monitor { monitor } => {
                self.of_monitor(monitor, |store, path| json_of(&store.asked().monitored(is_written(path))?))
            }
            Question::Period { span, points, percentile_ns, sum, csv } => self.of_span(span, |store| {
                let (from_ns, to_ns) = (span.period_ns.start, span.period_ns.end);
                let query = Query { from_ns, to_ns, points: *points, percentile_ns: *percentile_ns };
                if *csv {
                    let history = History { from_ns, to_ns, curves: store.asked().curves(span, &query)? };
                    return history_csv(&history).map(Answer::Csv);
                }
                json_of(&store.asked().period(span, &query, *sum)?)
            }),
            Question::Days { span, offset_ns, days_ns } => {
                self.of_span(span, |store| json_of(&store.asked().days(span, *offset_ns, days_ns)?))
            }
            Question::Correlation { span, width_ns, lags } => {
                self.of_span(span, |store| json_of(&store.asked().correlation(span, *width_ns, *lags)?))
            }
            Question::Bursts { span, above } => {
                self.of_span(span, |store| json_of(&store.asked().bursts(span, *above)?))
            }
            Question::Marks { period_ns } => self.marks(period_ns),
            Question::Map { registry, monitor, period_ns, at_ns } => self.map(registry, monitor, period_ns, *at_ns),
            Question::Runs { search, tag } => self.runs(search, tag.as_deref()),
            Question::Run { run } => {
                let Some(folder) = self.find(run, FolderKind::Run)? else { return Ok(nothing("run", run)) };
                json_of(&json!({ "run": *self.card(&folder), "experiment": self.card(&folder).experiment }))
            }
            Question::Running => {
                let found = self.found()?;
                let runs: Vec<RunningCard> = found.of(FolderKind::Running).filter_map(RunningCard::of).collect();
                let left_out = runs.len().saturating_sub(MOST_LISTED);
                json_of(&json!({ "runs": &runs[..runs.len() - left_out], "left_out": left_out }))
            }
            // As it is now: whoever follows it asks for news.
            Question::Follow { run } => {
                let card = self.find(run, FolderKind::Running)?.and_then(|folder| RunningCard::of(&folder));
                card.map_or_else(|| Ok(nothing("run under way", run)), |card| json_of(&card))
            }
            Question::Compare { runs } => self.compare(runs),
            Question::Sweep { sweep } => {
                let Some(folder) = self.find(sweep, FolderKind::Sweep)? else { return Ok(nothing("sweep", sweep)) };
                let (_, answer) = load_sweep(&folder.path)?;
                let has_report = is_file(&folder.path.join(REPORT_FILE));
                json_of(&json!({ "id": folder.id, "name": folder.name, "has_report": has_report, "answer": answer }))
            }
            Question::Report { folder } => self.report(folder),
        }
    }

    /// The run under way of this id, to be asked for [news](Shelf::news); `None` if there is none.
    ///
    /// # Errors
    /// A folder can no longer be read.
    pub fn follow(&self, run: &str) -> Result<Option<Followed>, Error> {
        Ok(self.find(run, FolderKind::Running)?.map(Followed::new))
    }

    /// What is new of a run.
    ///
    /// # Errors
    /// A folder can no longer be read.
    pub fn news(&self, followed: &mut Followed) -> Result<News, Error> {
        Ok(match followed.change() {
            Change::Nothing => News::Nothing,
            Change::Said(card) => News::Said(bytes_of(&card)?),
            Change::Ended => {
                // What was found before has it without its name. Whoever hears where its results are asks for them next.
                self.forget();
                let found = self.found()?;
                News::Ended(bytes_of(&followed.results(&found))?)
            }
        })
    }

    /// Asks a run to stop, as `flowloom watch --stop` does.
    ///
    /// # Errors
    /// A folder can no longer be read, or the request cannot be written.
    pub fn stop(&self, request: &StopRequest) -> Result<Answer, Error> {
        let run = &request.run;
        let Some(folder) = self.find(run, FolderKind::Running)? else { return Ok(nothing("run under way", run)) };
        match request_stop(&folder.path) {
            Ok(true) => json_of(&json!({ "run": run, "is_asked": true })),
            Ok(false) => Ok(nothing("run under way", run)),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                Ok(Answer::Forbidden(format!("the server may not write in the folder of {run:?}")))
            }
            Err(error) => Err(Error::of_file(&folder.path, &error)),
        }
    }

    /// Has folders be looked through again.
    pub(super) fn forget(&self) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn found(&self) -> Result<Arc<Found>, Error> {
        let mut known = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, found)) = &*known
            && since.nanos() < FRESH_NS
        {
            return Ok(Arc::clone(found));
        }
        let mut insides = self.insides.lock().unwrap_or_else(PoisonError::into_inner);
        let found = Arc::new(Found::below(&self.roots, Limits::default(), &mut insides));
        *known = Some((Stopwatch::start(), Arc::clone(&found)));
        Ok(found)
    }

    /// The folder of this id, and of no other kind.
    fn find(&self, id: &str, kind: FolderKind) -> Result<Option<Folder>, Error> {
        Ok(self.found()?.folders.get(id).filter(|folder| folder.kind == kind).cloned())
    }

    fn told_folders(&self) -> Result<Answer, Error> {
        let found = self.found()?;
        let of = |kind| found.of(kind).cloned().collect::<Vec<Folder>>();
        let mut problems = found.problems.clone();
        let mut registries: Vec<Folder> = self.registries(&found).into_iter().map(|(folder, _)| folder).collect();
        // What a store keeps goes by the name of the store.
        let kept = found.of(FolderKind::Monitor).filter(|store| has_kept(&store.path));
        registries.extend(kept.map(|store| Folder { name: format!("{}, as kept", store.name), ..store.clone() }));
        problems.extend(self.notes(&found).1.iter().cloned());
        json_of(&json!({
            "folders": self.roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>(),
            "version": env!("CARGO_PKG_VERSION"),
            "monitors": of(FolderKind::Monitor),
            "registries": registries,
            "runs": found.of(FolderKind::Run).count(),
            "sweeps": of(FolderKind::Sweep),
            "problems": problems,
        }))
    }

    /// The TOML files that are registries.
    fn registries(&self, found: &Found) -> Vec<(Folder, Registry)> {
        let read = |folder: &Folder| {
            // An experiment may be long, and is none.
            let is_short = fs::metadata(&folder.path).is_ok_and(|found| found.len() < 1 << 20);
            let registered = is_short.then(|| Registered::read(&folder.path).ok()).flatten()?;
            (!registered.registry.target.is_empty()).then(|| (folder.clone(), registered.registry))
        };
        found.of(FolderKind::Registry).filter_map(read).collect()
    }

    fn store(&self, path: &Path) -> Result<Arc<Store>, Error> {
        let mut known = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, store)) = known.get(path)
            && since.nanos() < FRESH_NS
        {
            return Ok(Arc::clone(store));
        }
        let archive = Archive::open(path).map_err(Error::of)?;
        let series = archive.series().map_err(Error::of)?;
        let store = Arc::new(Store { archive, series });
        known.insert(path.to_owned(), (Stopwatch::start(), Arc::clone(&store)));
        Ok(store)
    }

    fn of_monitor(&self, id: &str, tell: impl FnOnce(&Store, &Path) -> Result<Answer, Error>) -> Result<Answer, Error> {
        let Some(folder) = self.find(id, FolderKind::Monitor)? else { return Ok(nothing("monitor", id)) };
        tell(&*self.store(&folder.path)?, &folder.path)
    }

    fn of_span(&self, span: &Span, tell: impl FnOnce(&Store) -> Result<Answer, Error>) -> Result<Answer, Error> {
        self.of_monitor(&span.monitor, |store, _| tell(store))
    }

    fn map(&self, registry: &str, monitor: &str, period: &std::ops::Range<u64>, at_ns: u64) -> Result<Answer, Error> {
        let known = match (self.find(registry, FolderKind::Registry)?, self.find(registry, FolderKind::Monitor)?) {
            (Some(file), _) => Some(Registered::read(&file.path)?.registry),
            (None, Some(store)) => kept_at(&store.path, at_ns).map_err(Error::of)?,
            (None, None) => None,
        };
        let Some(known) = known else { return Ok(nothing("registry", registry)) };
        self.of_monitor(monitor, |store, _| json_of(&map::map(&known, &store.asked(), period.clone(), at_ns)?))
    }

    /// The mark of a workload, if the file is one that says when it was captured; read again if it was written again.
    fn workload(&self, file: &Folder) -> Option<Mark> {
        let stamp = stamp_of(&file.path);
        let lock = || self.workloads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, mark)) = lock().get(&file.path)
            && *known == stamp
        {
            return mark.clone();
        }
        let mark = Mark::of_workload(file);
        lock().insert(file.path.clone(), (stamp, mark.clone()));
        mark
    }

    /// What a list shows of a run; read again if the run was written again.
    fn card(&self, folder: &Folder) -> Arc<RunCard> {
        let time = |name: &str| fs::metadata(folder.path.join(name)).and_then(|found| found.modified()).ok();
        let stamp = (time("run.json").or_else(|| time("index.json")), time(REPORT_FILE));
        let lock = || self.cards.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, card)) = lock().get(&folder.path)
            && *known == stamp
        {
            return Arc::clone(card);
        }
        let card = Arc::new(RunCard::read(folder));
        lock().insert(folder.path.clone(), (stamp, Arc::clone(&card)));
        card
    }

    /// All runs with what notes say of them.
    fn cards(&self, found: &Arc<Found>) -> Vec<Arc<RunCard>> {
        let all = self.notes(found);
        let of = |folder: &Folder| {
            let card = self.card(folder);
            let mut about = all.0.iter().filter(|(run, _)| run.as_ref() == Some(&folder.path)).peekable();
            if about.peek().is_none() {
                return card;
            }
            let mut noted = (*card).clone();
            about.for_each(|(_, note)| noted.note(note));
            Arc::new(noted)
        };
        found.of(FolderKind::Run).map(of).collect()
    }

    fn marks(&self, period: &std::ops::Range<u64>) -> Result<Answer, Error> {
        let found = self.found()?;
        let all = self.notes(&found);
        let of_note = |(_, note): &(Option<PathBuf>, Note)| {
            let (from_ns, to_ns) = note.period_ns?;
            let name = note.name();
            let (kind, text, tags) = (MarkKind::Note, note.text.clone(), note.tags.clone());
            Some(Mark { kind, name, from_ns, to_ns, run: None, text, tags })
        };
        let cards = self.cards(&found);
        let runs = cards.iter().filter_map(|card| Mark::of_run(card));
        let mut marks: Vec<Mark> =
            runs.chain(all.0.iter().filter_map(of_note)).filter(|mark| mark.is_in(period)).collect();
        let in_order = |marks: &mut Vec<Mark>| {
            marks.sort_by(|one, other| {
                (one.from_ns, one.to_ns, &one.name).cmp(&(other.from_ns, other.to_ns, &other.name))
            });
        };
        in_order(&mut marks);
        // A year has thousands of hours: their workloads take the room of no run.
        let mut workloads: Vec<Mark> = found.of(FolderKind::Workload).filter_map(|file| self.workload(file)).collect();
        let is_there: BTreeSet<&PathBuf> = found.of(FolderKind::Workload).map(|file| &file.path).collect();
        let mut known = self.workloads.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|path, _| is_there.contains(path));
        drop(known);
        workloads.retain(|mark| mark.is_in(period));
        in_order(&mut workloads);
        marks.append(&mut workloads);
        let left_out = marks.len().saturating_sub(MOST_LISTED);
        marks.truncate(MOST_LISTED);
        in_order(&mut marks);
        json_of(&json!({ "marks": marks, "left_out": left_out }))
    }

    fn runs(&self, search: &str, tag: Option<&str>) -> Result<Answer, Error> {
        let words = words(search);
        let all = self.cards(&self.found()?);
        let mut tags: Vec<&String> = all.iter().flat_map(|card| &card.tags).collect();
        tags.sort_unstable();
        tags.dedup();
        let has_tag = |card: &RunCard| tag.is_none_or(|tag| card.tags.iter().any(|known| known == tag));
        let mut cards: Vec<Arc<RunCard>> =
            all.iter().filter(|card| has_tag(card) && card.has(&words)).cloned().collect();
        order(&mut cards);
        let left_out = cards.len().saturating_sub(MOST_LISTED);
        cards.truncate(MOST_LISTED);
        let cards: Vec<&RunCard> = cards.iter().map(|card| &**card).collect();
        json_of(&json!({ "runs": cards, "tags": tags, "left_out": left_out }))
    }

    fn compare(&self, runs: &[String]) -> Result<Answer, Error> {
        let mut folders = Vec::new();
        for run in runs {
            match self.find(run, FolderKind::Run)? {
                Some(folder) => folders.push(folder),
                None => return Ok(nothing("run", run)),
            }
        }
        // Whoever looks knows the runs by their names here.
        let (paths, names): (Vec<PathBuf>, Vec<String>) =
            folders.into_iter().map(|folder| (folder.path, folder.name)).unzip();
        let compared = compare_named(&paths, &names, Options::default())?;
        let text = flowloom_report::text::comparison_text(&compared.comparisons, false);
        let mut answer = compared.json();
        answer["text"] = json!(text);
        json_of(&answer)
    }

    fn report(&self, id: &str) -> Result<Answer, Error> {
        let found = self.found()?;
        let has_one = |folder: &&Folder| matches!(folder.kind, FolderKind::Run | FolderKind::Sweep);
        let Some(folder) = found.folders.get(id).filter(has_one) else { return Ok(nothing("run", id)) };
        let path = folder.path.join(REPORT_FILE);
        if !is_file(&path) {
            return Ok(nothing("report", id));
        }
        let root = self.root_of(folder);
        let below = path.strip_prefix(root).unwrap_or(&path);
        // Whoever may write there may put a link in its place at any time.
        let report = flowloom_store::regular::read_below(root, below, LONGEST_REPORT);
        report.map(Answer::Report).map_err(|error| Error::of_file(&path, &error))
    }

    /// The folder that was given, in which `folder` was found.
    fn root_of<'a>(&'a self, folder: &'a Folder) -> &'a Path {
        folder.root(&self.roots).unwrap_or(&folder.path)
    }

    /// All notes, each with the path of the run that it is about, and what is wrong with them; read again if a file was written again, or
    /// other runs were found.
    fn notes(&self, found: &Arc<Found>) -> Arc<Notes> {
        let files: Vec<(&Folder, FileStamp)> =
            found.of(FolderKind::Notes).map(|file| (file, stamp_of(&file.path))).collect();
        let stamps: Vec<(PathBuf, FileStamp)> = files.iter().map(|(file, stamp)| (file.path.clone(), *stamp)).collect();
        let mut runs: Vec<PathBuf> = found.of(FolderKind::Run).map(|run| run.path.clone()).collect();
        runs.sort_unstable();
        let mut known = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((key, notes)) = &*known
            && *key == (stamps.clone(), runs.clone())
        {
            return Arc::clone(notes);
        }
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for (file, _) in files {
            let base = file.path.parent().unwrap_or(&file.path);
            let notes = match notes::read(self.root_of(file), &file.path) {
                Ok(notes) => notes,
                Err(error) => {
                    problems.push(error.to_string());
                    continue;
                }
            };
            for (number, note) in notes.into_iter().enumerate() {
                let run = note.run.as_ref().map(|run| plain(&base.join(run)));
                if run.as_ref().is_some_and(|run| runs.binary_search(run).is_err()) {
                    let name = file.path.display();
                    problems.push(format!(
                        "{name}: note[{number}]: no run that is shown is {:?}",
                        note.run.as_deref().unwrap_or("")
                    ));
                }
                all.push((run, note));
            }
        }
        let notes = Arc::new((all, problems));
        *known = Some(((stamps, runs), Arc::clone(&notes)));
        notes
    }
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

fn stamp_of(path: &Path) -> FileStamp {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Whether there is a file, and no link to one.
pub(super) fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

fn nothing(what: &str, id: &str) -> Answer {
    Answer::Nothing(format!("there is no {what} {id:?}"))
}

/// An object as an answer, with the version of all answers.
fn json_of(object: &impl Serialize) -> Result<Answer, Error> {
    bytes_of(object).map(Answer::Json)
}

/// An object of JSON with its version.
fn bytes_of(object: &impl Serialize) -> Result<Vec<u8>, Error> {
    let value = serde_json::to_value(object).map(versioned).map_err(Error::new)?;
    serde_json::to_vec(&value).map_err(Error::new)
}
