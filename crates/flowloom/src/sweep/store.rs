//! The folder of a sweep.
//!
//! | name | holds |
//! |---|---|
//! | `sweep.json` | the question: axes, variants, seeds |
//! | `grid.json` | which cell is whose, once there is an answer |
//! | `cells/HASH/` | a cell: `cell.json` with its numbers, `run.json`, and the tables that are kept |
//! | `failed/HASH.json` | a cell that failed: why, and the command that repeats it |
//! | `results.csv` | every number of every cell |
//! | `answer.json` | the answer |
//! | `report.html` | the same as a page |
//!
//! A cell gets its name when it is complete: what is there after a crash is whole, and what is not is removed by the next sweep that is alone in
//! the folder.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flowloom_report::html;
use flowloom_report::scalars::Headings;
use flowloom_report::sweep::{Cell, Grid, SweepAnswer};
use flowloom_report::words::in_one_line;
use flowloom_store::manifest::{self, FileDigest, Manifest};
use flowloom_store::regular;
use flowloom_store::run_folder::{OPTIONAL_TABLE, TABLES};
use flowloom_store::staged::{self, StagedFile, UNFINISHED};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Error;
use crate::experiment::Tables;
use crate::json::versioned;
use crate::results::{CELL_FILE, REPORT_FILE, SWEEP_FILE};
use crate::run::Ran;

use super::id::RESULTS_VERSION;
use super::options::SweepOptions;
use super::question::Question;

/// Which cell is whose, in the folder of a sweep that has an answer.
pub const GRID_FILE: &str = "grid.json";
/// Locked by every sweep in the folder as long as it goes on.
const LOCK_FILE: &str = "lock";
/// Locked by the sweep that writes files beside the cells.
const WRITING_FILE: &str = "writing";
/// The version of these files.
const VERSION: u64 = 1;

/// The folder of a sweep, open.
pub struct Store {
    folder: PathBuf,
    tables: Tables,
    retry_failed: bool,
    /// Held while the sweep goes on, with others.
    _lock: File,
}

/// What `cell.json` holds.
#[derive(Serialize, Deserialize)]
struct StoredCell {
    format: String,
    version: u64,
    results_version: u32,
    cell: Cell,
}

/// What `failed/HASH.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    format: String,
    version: u64,
    /// Why the cell failed.
    pub error: String,
    /// The command that repeats it.
    pub command: String,
}

pub fn cannot(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::new(format_args!("{}: {error}", path.display()))
}

/// The numbers of the cell in `folder`, and the manifest of its files.
///
/// # Errors
/// What is missing or damaged, in words.
pub fn read_cell(folder: &Path) -> Result<(Cell, Manifest), String> {
    if !folder.is_dir() {
        return Err("there is no such folder".to_owned());
    }
    let path = folder.join(CELL_FILE);
    let manifest = Manifest::open(folder).map_err(|error| error.to_string())?.ok_or("it has no manifest.json")?;
    let text = regular::read(&path).map_err(|error| format!("{CELL_FILE}: {error}"))?;
    manifest.check(&path, &text).map_err(|error| error.to_string())?;
    let stored: StoredCell = serde_json::from_slice(&text).map_err(|error| format!("{CELL_FILE}: {error}"))?;
    if stored.version != VERSION {
        return Err(format!("{CELL_FILE} has version {}, and {VERSION} is read", stored.version));
    }
    Ok((stored.cell, manifest))
}

/// What a folder has of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// All that is kept of a run.
    Whole(Box<Cell>),
    /// Nothing, or not the tables that are wanted now.
    Missing,
    /// A part of what was kept; why.
    Damaged(String),
}

/// Whether `file` of a run folder is still as long as its manifest says; what is wrong with it.
fn check_length(folder: &Path, file: &str, digest: &FileDigest) -> Result<(), String> {
    match fs::metadata(folder.join(file)) {
        Ok(found) if found.len() == digest.bytes => Ok(()),
        Ok(found) => Err(format!("{file} has {} bytes, and had {}", found.len(), digest.bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!("{file} is missing")),
        Err(error) => Err(format!("{file}: {error}")),
    }
}

/// A file that is only there to be locked.
fn opened(path: &Path) -> Result<File, Error> {
    File::options().create(true).append(true).open(path).map_err(|error| Error::of_file(path, &error))
}

/// Waits until no other sweep writes files in `folder` beside its cells; others wait until this is dropped.
fn exclusively(folder: &Path) -> Result<File, Error> {
    let path = folder.join(WRITING_FILE);
    let file = opened(&path)?;
    file.lock().map_err(|error| Error::of_file(&path, &error))?;
    Ok(file)
}

/// Refuses a folder that is none of a sweep: without a question it may hold only what a sweep makes before it writes that.
fn refuse_strangers(folder: &Path) -> Result<(), Error> {
    if folder.join(SWEEP_FILE).exists() || !folder.exists() {
        return Ok(());
    }
    let is_first =
        |name: &str| ["cells", "failed", LOCK_FILE, WRITING_FILE].contains(&name) || name.starts_with(SWEEP_FILE);
    let names = staged::foreign(folder, |_, name| is_first(name)).map_err(|error| Error::of_file(folder, &error))?;
    match names.is_empty() {
        true => Ok(()),
        false => Err(cannot(folder, "it exists, and is no folder of a sweep").hint("name another one with -o")),
    }
}

/// Refuses a folder with another question, or results of another version.
fn refuse_other(folder: &Path, asked: &Value) -> Result<(), Error> {
    let file = folder.join(SWEEP_FILE);
    let text = match regular::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| Error::of_file(&file, &error))?,
    };
    let known: Value = serde_json::from_slice(&text).map_err(|error| cannot(&file, error))?;
    let version = known.get("results_version").and_then(Value::as_u64);
    if version != Some(u64::from(RESULTS_VERSION)) {
        let found = version.map_or_else(|| "unknown".to_owned(), |version| version.to_string());
        let problem = format_args!(
            "its results have version {found}, and this version of Flowloom comes to those of version {RESULTS_VERSION}"
        );
        return Err(cannot(folder, problem).hint("name another folder with -o, or run all cells again with --force"));
    }
    if known.get("question") != Some(asked) {
        return Err(cannot(folder, "it holds the answer to another question")
            .hint("name another folder with -o; --force asks this one there, and keeps the cells that both have"));
    }
    Ok(())
}

/// The folder of a sweep: the one that was named, or the first of the usual names (`runs/NAME-KEYS`, then `-2`, `-3` and so on behind it)
/// that is free or holds this question. With `replace` it is the usual one.
fn chosen(question: &Question, options: &SweepOptions, asked: &Value) -> PathBuf {
    /// Sweeps over the same keys of one input that get names by themselves.
    const MOST: u32 = 1_000;
    if let Some(named) = &options.run.target {
        return named.clone();
    }
    let usual = &question.usual_folder;
    let name = usual.file_name().unwrap_or_default().to_string_lossy();
    let numbered = |number: u32| match number {
        1 => usual.clone(),
        _ => usual.with_file_name(format!("{name}-{number}")),
    };
    let is_free = |folder: &PathBuf| match regular::read(&folder.join(SWEEP_FILE)) {
        Ok(text) => serde_json::from_slice::<Value>(&text).is_ok_and(|known| known.get("question") == Some(asked)),
        Err(_) => refuse_strangers(folder).is_ok(),
    };
    let most = if options.run.replace { 1 } else { MOST };
    (1..=most).map(numbered).find(is_free).unwrap_or_else(|| usual.clone())
}

impl Store {
    /// Opens the folder of a sweep, which is made, or has the same question.
    ///
    /// # Errors
    /// It holds something else, or results of another version; what the file system says.
    pub fn open(question: &Question, options: &SweepOptions) -> Result<Store, Error> {
        let asked = question.asked();
        let folder = chosen(question, options, &asked);
        refuse_strangers(&folder)?;
        let cells = folder.join("cells");
        for made in [&cells, &folder.join("failed")] {
            fs::create_dir_all(made).map_err(|error| Error::of_file(made, &error))?;
        }
        // Of two sweeps that begin at once, the second finds the question of the first.
        let _writing = exclusively(&folder)?;
        if !options.run.replace {
            refuse_other(&folder, &asked)?;
        }
        let path = folder.join(LOCK_FILE);
        let lock = opened(&path)?;
        match lock.try_lock() {
            // Alone: what a sweep that was killed left is nobody's.
            Ok(()) => {
                for left_in in [&folder, &cells, &folder.join("failed")] {
                    remove_leftovers(left_in).map_err(|error| Error::of_file(left_in, &error))?;
                }
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(Error::of_file(&path, &error)),
        }
        lock.lock_shared().map_err(|error| Error::of_file(&path, &error))?;
        let (tables, retry_failed) = (question.tables.clone(), options.retry_failed);
        let store = Store { folder, tables, retry_failed, _lock: lock };
        store.put(
            SWEEP_FILE,
            &json!({
                "format": "sweep",
                "version": VERSION,
                "results_version": RESULTS_VERSION,
                "question": asked,
            }),
        )?;
        Ok(store)
    }

    /// The disk of the folder is full.
    pub fn full(&self) -> Error {
        cannot(&self.folder, "the disk is full")
            .note("complete cells are kept")
            .hint("make room, and give the same command again")
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a cell.
    pub fn cell_folder(&self, id: &str) -> PathBuf {
        self.folder.join("cells").join(id)
    }

    /// Where a cell is made before it has its name.
    pub fn staging(&self, id: &str) -> PathBuf {
        self.folder.join("cells").join(format!("{id}{UNFINISHED}{}", std::process::id()))
    }

    /// The cell with this name, if it is there and whole.
    pub fn cell(&self, id: &str) -> Option<Cell> {
        match self.state(id) {
            State::Whole(cell) => Some(*cell),
            State::Missing | State::Damaged(_) => None,
        }
    }

    /// What is there of the cell with this name. Each table that its manifest lists has to be there, with its length; bytes of tables are
    /// not read.
    pub fn state(&self, id: &str) -> State {
        let folder = self.cell_folder(id);
        if !folder.exists() {
            return State::Missing;
        }
        let (cell, manifest) = match read_cell(&folder) {
            Ok(read) => read,
            Err(why) => return State::Damaged(why),
        };
        let mut listed = manifest.files().iter();
        if let Err(why) = listed.try_for_each(|(name, digest)| check_length(&folder, name, digest)) {
            return State::Damaged(why);
        }
        let tables_are_there = TABLES
            .iter()
            .filter(|name| self.tables.keeps(name) && **name != OPTIONAL_TABLE)
            .all(|name| manifest.files().contains_key(&format!("{name}.parquet")));
        if tables_are_there { State::Whole(Box::new(cell)) } else { State::Missing }
    }

    /// Takes a cell on, so that no other sweep runs it meanwhile; `None` where another has it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn claim(&self, id: &str) -> Result<Option<Claim>, Error> {
        let path = self.folder.join("cells").join(format!("{id}.claim"));
        let file = opened(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Claim { path, _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Error::of_file(&path, &error)),
        }
    }

    /// Keeps what a run came to, whose folder is `staged`, and gives it its name.
    ///
    /// # Errors
    /// What the disk could not do.
    pub fn keep(&self, id: &str, staged: &Path, ran: &Ran, headings: Headings) -> Result<Cell, Error> {
        let (Some(run), Some(conclusion)) = (ran.runs.first(), ran.conclusions.first()) else {
            return Err(Error::new("a run without results"));
        };
        let stored = StoredCell {
            format: "cell".to_owned(),
            version: VERSION,
            results_version: RESULTS_VERSION,
            cell: Cell::of(run, conclusion, headings),
        };
        let text = serde_json::to_vec_pretty(&stored).map_err(Error::new)?;
        // Reading a number may change its last bit: an answer is made of what is read, whether a cell was run now or before.
        let StoredCell { cell, .. } = serde_json::from_slice(&text).map_err(Error::new)?;
        for name in TABLES.iter().filter(|name| !self.tables.keeps(name)) {
            let table = staged.join(format!("{name}.parquet"));
            match fs::remove_file(&table) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::of_file(&table, &error)),
                _ => {}
            }
        }
        write(&staged.join(CELL_FILE), &text)?;
        Manifest::of(staged).and_then(|manifest| manifest.write(staged)).map_err(Error::of)?;
        let folder = self.cell_folder(id);
        // One that is damaged, or lacks a table that is asked for now.
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| Error::of_file(&folder, &error))?;
        }
        fs::rename(staged, &folder).map_err(|error| Error::of_file(&folder, &error))?;
        self.forget_failure(id)?;
        Ok(cell)
    }

    fn failure_file(&self, id: &str) -> PathBuf {
        self.folder.join("failed").join(format!("{id}.json"))
    }

    /// Why a cell failed before, if it did and is not to be tried again.
    pub fn failure(&self, id: &str) -> Option<Failure> {
        if self.retry_failed {
            return None;
        }
        serde_json::from_slice(&regular::read(&self.failure_file(id)).ok()?).ok()
    }

    /// Remembers that a cell failed.
    ///
    /// # Errors
    /// What the disk could not do.
    pub fn fail(&self, id: &str, error: &Error, command: &str) -> Result<Failure, Error> {
        let failure = Failure {
            format: "failed-cell".to_owned(),
            version: VERSION,
            error: error.to_string(),
            command: command.to_owned(),
        };
        write(&self.failure_file(id), &serde_json::to_vec_pretty(&failure).map_err(Error::new)?)?;
        Ok(failure)
    }

    fn forget_failure(&self, id: &str) -> Result<(), Error> {
        let path = self.failure_file(id);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::of_file(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Writes the answer, the table over all cells, and `whose`, which says whose they are.
    ///
    /// # Errors
    /// What the disk could not do.
    pub fn write(&self, question: &Question, grid: &Grid, answer: &SweepAnswer, whose: &[u8]) -> Result<(), Error> {
        let _writing = exclusively(&self.folder)?;
        write(&self.folder.join("results.csv"), &table(question, grid)?)?;
        write(&self.folder.join(GRID_FILE), whose)?;
        self.put("answer.json", &versioned(json!(answer)))?;
        // What is asked names the page, so that it does not depend on where the sweep is.
        let title = question.usual_folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut page = Vec::new();
        html::write_sweep(grid, answer, &title, &mut page).map_err(Error::new)?;
        write(&self.folder.join(REPORT_FILE), &page)?;
        let mut manifest = Manifest::default();
        for name in ["answer.json", GRID_FILE, "results.csv", REPORT_FILE, SWEEP_FILE] {
            manifest.enter(&self.folder.join(name)).map_err(|error| Error::of_file(&self.folder, &error))?;
        }
        manifest.write(&self.folder).map_err(Error::of)
    }

    fn put(&self, name: &str, value: &Value) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(value).map_err(Error::new)?;
        text.push(b'\n');
        write(&self.folder.join(name), &text)
    }
}

/// A cell that is being run; it is anybody's again when this is dropped.
pub struct Claim {
    path: PathBuf,
    _file: File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Whoever waits for it finds the cell first.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what was being written: cells that were not completed, and files beside them.
fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_partial = name.contains(UNFINISHED);
        if is_partial && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if is_partial || name.ends_with(".claim") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes a file whole, in place of one that is there.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = StagedFile::create(path, true).and_then(|(staged, mut file)| {
        file.write_all(bytes)?;
        manifest::commit(staged)
    });
    written.map_err(|error| Error::of_file(path, &error))
}

/// `variant,AXIS...,seed,metric,value,is_lower_bound`, in the order of variants, seeds and names.
fn table(question: &Question, grid: &Grid) -> Result<Vec<u8>, Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let axes = question.axes();
    let head = ["variant"].into_iter().chain(axes.iter().map(|axis| axis.name.as_str()));
    out.write_record(head.chain(["seed", "metric", "value", "is_lower_bound"])).map_err(Error::new)?;
    for variant in &grid.variants {
        let points = variant.points.iter().zip(&axes).map(|(point, axis)| axis.points[*point].as_str());
        let first: Vec<_> = [variant.name.as_str()].into_iter().chain(points).map(in_one_line).collect();
        for cell in variant.present() {
            let seed = cell.seed.to_string();
            for (name, number) in &cell.numbers {
                let (value, bound) = (number.value.to_string(), number.is_lower_bound.to_string());
                out.write_record(first.iter().map(AsRef::as_ref).chain([seed.as_str(), name, &value, &bound]))
                    .map_err(Error::new)?;
            }
        }
    }
    out.into_inner().map_err(Error::new)
}

impl Question {
    /// What is asked, so that a folder can say whether it is the same. How it is run is no part of it.
    fn asked(&self) -> Value {
        let variants = self.variants.iter().map(|variant| {
            let mut experiment = variant.plan.experiment.clone();
            experiment.anonymize();
            json!({ "name": variant.name, "experiment": experiment.to_toml() })
        });
        json!({
            "axes": self.axes().iter().map(|axis| json!({ "axis": axis.name, "values": axis.points })).collect::<Vec<_>>(),
            "variants": variants.collect::<Vec<_>>(),
            "seeds": self.seeds,
            "looks": self.looks.at(),
            "objective": self.objective.name,
            "margin": self.margin,
        })
    }
}
