//! The one process that writes a store.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use nix::fcntl::{Flock, FlockArg};

use super::catalogue::{CATALOGUE_FILE, Catalogue, Series};
use super::check::is_store;
use super::day;
use super::fold::fold;
use super::journal::{self, Batch, JOURNAL_FOLDER, Record, Segment};
use super::level::{Level, SECOND};
use super::merge::Maintainer;
use super::rows::GapRow;
use super::rows::SampleRow;
use crate::table::{FileError, TableReader};

/// The file that the process that writes has locked.
const LOCK_FILE: &str = "lock";

/// When a segment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// It has so many bytes.
    pub segment_bytes: u64,
    /// So much time passed since it began, in nanoseconds.
    pub segment_ns: u64,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions { segment_bytes: 4 << 20, segment_ns: 3_600 * SECOND }
    }
}

/// Why a segment was not ended and folded.
#[derive(Debug, thiserror::Error)]
pub enum TickError {
    /// The journal cannot be written.
    #[error(transparent)]
    Unwritten(FileError),
    /// Some of it cannot be folded. It stays in the journal, is read there, and is folded next time.
    #[error(transparent)]
    Unfolded(FileError),
}

impl From<TickError> for FileError {
    fn from(error: TickError) -> FileError {
        let (TickError::Unwritten(error) | TickError::Unfolded(error)) = error;
        error
    }
}

/// Writes a store. Each record survives the end of the process as soon as its method returns, and a loss of power as soon as
/// [`MonitorWriter::sync`] does.
pub struct MonitorWriter {
    root: PathBuf,
    options: WriterOptions,
    catalogue: Catalogue,
    /// Whether the catalogue on the disk lacks series.
    is_stale: bool,
    segment: Segment,
    /// Whether the last record could not be written, and a part of it may be at the end of the segment.
    is_broken: bool,
    /// New series whose records are not written.
    undefined: VecDeque<u32>,
    /// What is damaged and nobody was told of.
    damage: Vec<FileError>,
    /// Whether records were lost to damage.
    has_lost: bool,
    began_ns: u64,
    last_ns: Option<u64>,
    lock: Arc<Mutex<()>>,
    /// Unlocks the store when the process ends.
    _process: Flock<File>,
}

impl MonitorWriter {
    /// Opens the store in `root`, or begins one, at the time `now_ns` since 1970 UTC. Segments that an earlier process left are folded.
    /// Tables, days and segments that are damaged are left alone ([`MonitorWriter::take_damage`]).
    ///
    /// # Errors
    /// Another process writes it ([`io::ErrorKind::ResourceBusy`]); it is a folder with other things
    /// ([`io::ErrorKind::AlreadyExists`]), its catalogue is damaged, or it cannot be written.
    pub fn open(root: &Path, options: WriterOptions, now_ns: u64) -> Result<MonitorWriter, FileError> {
        let failed = |path: PathBuf| move |source| FileError::Write { path, source };
        if holds_something_else(root)? {
            let source = io::Error::new(io::ErrorKind::AlreadyExists, "it exists, and is no store of a monitor");
            return Err(FileError::Write { path: root.to_owned(), source });
        }
        fs::create_dir_all(root.join(JOURNAL_FOLDER)).map_err(failed(root.to_owned()))?;
        let path = root.join(LOCK_FILE);
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(failed(path.clone()))?;
        let process = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| {
            let source = io::Error::new(io::ErrorKind::ResourceBusy, "another monitor writes this store");
            FileError::Write { path: root.to_owned(), source }
        })?;
        let mut catalogue = match Catalogue::open(root)? {
            Some(catalogue) => catalogue,
            None => {
                Catalogue::default().write(root)?;
                Catalogue::default()
            }
        };
        let mut damage = Vec::new();
        for date in day::days(root)? {
            damage.extend(unless_damage(day::clean(root, date))?);
        }
        let left = journal::segments(root)?;
        let is_stale = define(&left, &mut catalogue)?;
        let numbers = left.iter().map(|(number, _)| *number).chain(aside(root)?);
        let highest = numbers.max().unwrap_or(0).max(last_folded(root)?);
        let segment = Segment::begin_behind(root, highest)?;
        let mut writer = MonitorWriter {
            root: root.to_owned(),
            options,
            catalogue,
            is_stale,
            segment,
            is_broken: false,
            undefined: VecDeque::new(),
            damage,
            has_lost: false,
            began_ns: now_ns,
            last_ns: None,
            lock: Arc::new(Mutex::new(())),
            _process: process,
        };
        let folded = unless_damage(writer.fold())?;
        writer.damage.extend(folded);
        writer.last_ns = last_sample(root, now_ns, &mut writer.damage)?;
        Ok(writer)
    }

    /// What was found to be damaged since this was last called. Tables and days are left alone, and what belongs there is not lost: it
    /// waits in the journal. Of a damaged segment the whole records are folded; the others are lost, and its bytes are kept beside the
    /// journal.
    pub fn take_damage(&mut self) -> Vec<FileError> {
        std::mem::take(&mut self.damage)
    }

    /// The number of the series that is named like `series`, whose own number does not matter; and whether it is new.
    ///
    /// # Errors
    /// It is new, and cannot be recorded now. It is recorded before the next record.
    pub fn series(&mut self, series: Series) -> Result<(u32, bool), FileError> {
        let (id, is_new) = self.catalogue.number(series);
        if is_new {
            self.is_stale = true;
            self.undefined.push_back(id);
        }
        self.define()?;
        Ok((id, is_new))
    }

    /// Whether records of the journal were lost because it was damaged.
    pub fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// The series that are known.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Records samples.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn samples(&mut self, batch: Batch) -> Result<(), FileError> {
        self.append(&Record::Samples(batch))
    }

    /// Records a time in which a rate is unknown.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn gap(&mut self, gap: GapRow) -> Result<(), FileError> {
        self.append(&Record::Gap(gap))
    }

    /// When the last sample was received that was there when the store was opened, in nanoseconds since 1970 UTC. Samples of a clock that
    /// was ahead do not count.
    pub fn last_ns(&self) -> Option<u64> {
        self.last_ns
    }

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn sync(&mut self) -> Result<(), FileError> {
        self.segment.sync()
    }

    fn append(&mut self, record: &Record) -> Result<(), FileError> {
        // Samples of a series that nothing defines would be those of another one some day.
        self.define()?;
        self.write(record)
    }

    /// Records the series that are not recorded.
    fn define(&mut self) -> Result<(), FileError> {
        while let Some(id) = self.undefined.front() {
            let series = Series::clone(self.catalogue.get(*id).expect("it was entered"));
            self.write(&Record::Series(series))?;
            self.undefined.pop_front();
        }
        Ok(())
    }

    fn write(&mut self, record: &Record) -> Result<(), FileError> {
        if self.is_broken {
            self.segment = Segment::begin_behind(&self.root, self.segment.number())?;
        }
        let result = self.segment.append(record);
        self.is_broken = result.is_err();
        result
    }

    /// Ends the segment if that is due at the time `now_ns`, and folds it. To be called at least as often as samples come.
    ///
    /// # Errors
    /// The journal cannot be written, or some of it cannot be folded.
    pub fn tick(&mut self, now_ns: u64) -> Result<(), TickError> {
        let is_full = self.segment.bytes() >= self.options.segment_bytes;
        let is_old = now_ns.saturating_sub(self.began_ns) >= self.options.segment_ns;
        let is_next_day = day::day_of(now_ns) != day::day_of(self.began_ns);
        if is_full || is_old || is_next_day { self.rotate(now_ns) } else { Ok(()) }
    }

    /// Ends the segment and folds it.
    ///
    /// # Errors
    /// Those of [`MonitorWriter::tick`].
    pub fn rotate(&mut self, now_ns: u64) -> Result<(), TickError> {
        let next = self.segment.sync().and_then(|()| Segment::begin_behind(&self.root, self.segment.number()));
        self.segment = next.map_err(TickError::Unwritten)?;
        self.is_broken = false;
        self.began_ns = now_ns;
        self.fold().map_err(TickError::Unfolded)
    }

    /// What merges and deletes tables beside this.
    pub fn maintainer(&self) -> Maintainer {
        Maintainer { root: self.root.clone(), lock: Arc::clone(&self.lock) }
    }

    /// Folds every segment but that which is being written. One that cannot be folded stays, and holds up no other.
    fn fold(&mut self) -> Result<(), FileError> {
        if self.is_stale {
            self.catalogue.write(&self.root)?;
            self.is_stale = false;
        }
        let mut failed = None;
        for (number, path) in journal::segments(&self.root)? {
            if number < self.segment.number() {
                failed = failed.or(self.fold_one(number, &path).err());
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn fold_one(&mut self, number: u64, path: &Path) -> Result<(), FileError> {
        let read = fold(&self.root, &self.lock, &self.catalogue, number, path)?;
        if read.is_damaged || read.undefined > 0 {
            let path = journal::set_aside(path)?;
            self.damage.push(journal::damage(&path, &read));
            self.has_lost = true;
            return Ok(());
        }
        fs::remove_file(path).map_err(|source| FileError::Write { path: path.to_owned(), source })
    }
}

/// What is damaged or cannot be read, which ends nothing.
///
/// # Errors
/// Something cannot be written.
fn unless_damage(result: Result<(), FileError>) -> Result<Option<FileError>, FileError> {
    match result {
        Ok(()) => Ok(None),
        Err(error @ FileError::Write { .. }) => Err(error),
        Err(error) => Ok(Some(error)),
    }
}

/// Enters the series of `segments`; whether one is new.
fn define(segments: &[(u64, PathBuf)], catalogue: &mut Catalogue) -> Result<bool, FileError> {
    let mut is_new = false;
    for (_, path) in segments {
        let Some(bytes) = journal::load(path)? else { continue };
        journal::read(&bytes, &mut |record| {
            if let Record::Series(series) = record {
                is_new |= catalogue.insert(series);
            }
        });
    }
    Ok(is_new)
}

/// The numbers of segments that were damaged.
fn aside(root: &Path) -> Result<impl Iterator<Item = u64>, FileError> {
    Ok(journal::damaged(root)?.into_iter().map(|(number, _)| number))
}

/// The last segment that is in a table; 0 if there is none. Manifests may be damaged, so that names tell it.
fn last_folded(root: &Path) -> Result<u64, FileError> {
    let mut last = 0;
    for date in day::days(root)? {
        let present = day::present(&root.join(day::folder_name(date)))?;
        last = present.iter().map(|table| table.last).fold(last, u64::max);
    }
    Ok(last)
}

/// The time of the last sample that is in a table, and is not behind `now_ns`. What is damaged is left out, and told.
fn last_sample(root: &Path, now_ns: u64, damage: &mut Vec<FileError>) -> Result<Option<u64>, FileError> {
    for date in day::days(root)?.into_iter().rev().filter(|date| *date <= day::day_of(now_ns)) {
        let mut last = None;
        let tables = day::tables(root, date);
        // Its damage was found when it was cleaned.
        let tables = tables.iter().flatten().filter(|table| table.stem == Level::Samples.stem());
        for path in tables.map(|table| root.join(day::folder_name(date)).join(table.name())) {
            match last_of(&path, now_ns) {
                Ok(found) => last = last.max(found),
                Err(error) => damage.extend(unless_damage(Err(error))?),
            }
        }
        if last.is_some() {
            return Ok(last);
        }
    }
    Ok(None)
}

fn last_of(path: &Path, now_ns: u64) -> Result<Option<u64>, FileError> {
    let mut rows = TableReader::<SampleRow>::open(path, day::VERSION)?;
    let greatest = rows.greatest("time_ns");
    if greatest.is_none_or(|greatest| greatest <= now_ns) {
        return Ok(greatest);
    }
    rows.try_fold(None, |last: Option<u64>, row| Ok(last.max(Some(row?.time_ns).filter(|time_ns| *time_ns <= now_ns))))
}

/// Whether `root` is a folder that a monitor did not begin. A store that was being begun when its monitor was killed has its journal and
/// its lock alone, and perhaps part of its catalogue.
fn holds_something_else(root: &Path) -> Result<bool, FileError> {
    if is_store(root) {
        return Ok(false);
    }
    let failed = |source| FileError::Write { path: root.to_owned(), source };
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let is_ours = name == JOURNAL_FOLDER || name == LOCK_FILE || name.to_string_lossy().starts_with(CATALOGUE_FILE);
        if !is_ours {
            return Ok(true);
        }
    }
    Ok(false)
}
