//! The folder of a UTC day: tables, each of a range of segments, and the manifest that says which of them count.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::journal;
use super::level::{DAY, Level, SECOND};
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::staged::{StagedFile, finished_name};
use crate::table::{FileError, Row, TableWriter};

/// The beginning of the names of tables of gaps that begin and end on the day.
pub(super) const GAPS: &str = "gaps";

/// That of tables of gaps that end on the day and began on an earlier one: whoever asks about an earlier day looks for these only.
pub(super) const OVERNIGHT: &str = "overnight";

/// The version of the tables.
pub(super) const VERSION: u64 = 3;

/// The metadata of the width of a row.
const WIDTH_KEY: &str = "flowloom.width_ns";

/// All tables of a day.
pub(super) fn stems() -> impl Iterator<Item = &'static str> {
    Level::ALL.into_iter().map(Level::stem).chain([GAPS, OVERNIGHT])
}

/// A table by its name: `samples-00000001-00000016.parquet`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Table {
    /// What it holds.
    pub stem: &'static str,
    /// The first segment in it.
    pub first: u64,
    /// The last segment in it.
    pub last: u64,
}

impl Table {
    /// Its name in its folder.
    pub(super) fn name(&self) -> String {
        format!("{}-{:08}-{:08}.parquet", self.stem, self.first, self.last)
    }

    /// The table of this name.
    pub(super) fn of(name: &str) -> Option<Table> {
        let mut parts = name.strip_suffix(".parquet")?.split('-');
        let (stem, first, last) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let stem = stems().find(|known| *known == stem)?;
        let table = Table { stem, first, last };
        (parts.next().is_none() && first <= last && table.name() == name).then_some(table)
    }
}

/// The number of the day of a time: days since 1970.
pub(super) const fn day_of(time_ns: u64) -> u64 {
    time_ns / DAY
}

/// The name of the folder of a day: `2026-11-27`.
pub(super) fn folder_name(day: u64) -> String {
    let (year, month, day) = civil(day);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The day of a folder of this name.
pub(super) fn day_named(name: &str) -> Option<u64> {
    let mut parts = name.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let found = days_from_civil(year, month, day)?;
    (folder_name(found) == name).then_some(found)
}

/// A time in UTC as text: `2026-11-27T10:00:05Z`. Fractions of seconds are left out.
pub fn utc_text(time_ns: u64) -> String {
    let seconds = time_ns % DAY / SECOND;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", folder_name(day_of(time_ns)))
}

/// A time as names of files have it, which [`utc_text`] has with signs: `20261128T101733Z`.
pub fn utc_name(time_ns: u64) -> String {
    utc_text(time_ns).chars().filter(|letter| !"-:".contains(*letter)).collect()
}

/// The time that [`utc_name`] writes so; `None` of other texts.
pub fn of_utc_name(name: &str) -> Option<u64> {
    let part = |from: usize, to: usize| name.get(from..to);
    let (date, time) = ([part(0, 4)?, part(4, 6)?, part(6, 8)?], [part(9, 11)?, part(11, 13)?, part(13, 15)?]);
    let time_ns = utc_ns(&format!("{}T{}Z", date.join("-"), time.join(":")))?;
    // No other text means the same.
    (utc_name(time_ns) == name).then_some(time_ns)
}

/// The time that is written `2026-11-27`, `2026-11-27T10:00` or `2026-11-27T10:00:05`, with or without a `Z` at its end, in nanoseconds
/// since 1970; `None` if it is none.
pub fn utc_ns(text: &str) -> Option<u64> {
    let Some((date, time)) = text.split_once(['T', ' ']) else { return date_ns(text) };
    let mut parts = time.strip_suffix('Z').unwrap_or(time).split(':');
    let mut part = |most: u64| {
        let text = parts.next()?;
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten().filter(|number| *number <= most)
    };
    let (hour, minute, second) = (part(23)?, part(59)?, part(59));
    if second.is_none() && time.matches(':').count() > 1 || parts.next().is_some() {
        return None;
    }
    date_ns(date)?.checked_add((hour * 3_600 + minute * 60 + second.unwrap_or(0)) * SECOND)
}

/// The beginning of the UTC day that is written `2026-11-27`, in nanoseconds since 1970; `None` if there is no such day.
pub fn date_ns(text: &str) -> Option<u64> {
    day_named(text).and_then(|day| day.checked_mul(DAY))
}

/// Year, month and day of a day since 1970, in the Gregorian calendar.
fn civil(day: u64) -> (u64, u64, u64) {
    // Years that begin in March, in cycles of 400 years (Hinnant, "chrono-compatible low-level date algorithms").
    let days = day + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9_999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    (era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year).checked_sub(719_468)
}

/// The days of the store in `root` that have a folder, in order.
pub(super) fn days(root: &Path) -> Result<Vec<u64>, FileError> {
    let read = |source| FileError::Read { path: root.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(read)? {
        let name = entry.map_err(read)?.file_name();
        found.extend(name.to_str().and_then(day_named));
    }
    found.sort_unstable();
    Ok(found)
}

/// The tables that count in the folder of a day.
///
/// # Errors
/// The manifest is damaged, or it is missing and what it listed is there.
pub(super) fn tables(root: &Path, day: u64) -> Result<Vec<Table>, FileError> {
    let folder = root.join(folder_name(day));
    let manifest = match Manifest::open(&folder)? {
        Some(manifest) => manifest,
        None if has_folded(root, &folder)? => match Manifest::open(&folder)? {
            // The first segment was folded into it meanwhile.
            Some(manifest) => manifest,
            None => {
                let problem = "it is missing, and nothing else says which tables of its day count (put it back, or take the folder away)";
                return Err(FileError::Metadata { path: folder.join(MANIFEST_FILE), problem: problem.to_owned() });
            }
        },
        None => Manifest::default(),
    };
    let mut found: Vec<Table> = manifest.files().keys().filter_map(|name| Table::of(name)).collect();
    found.sort();
    Ok(found)
}

/// The tables in a folder, whether they count or not.
pub(super) fn present(folder: &Path) -> Result<Vec<Table>, FileError> {
    let failed = |source| FileError::Read { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        found.extend(entry.map_err(failed)?.file_name().to_str().and_then(Table::of));
    }
    Ok(found)
}

/// Whether a folder has a table of segments that are no longer in the journal: then a manifest listed it.
fn has_folded(root: &Path, folder: &Path) -> Result<bool, FileError> {
    let tables = present(folder)?;
    let left: BTreeSet<u64> = journal::segments(root)?.into_iter().map(|(number, _)| number).collect();
    Ok(tables.iter().any(|table| !(table.first..=table.last).all(|number| left.contains(&number))))
}

/// Whether segment `number` is in one of `tables`.
pub(super) fn covers(tables: &[Table], number: u64) -> bool {
    tables.iter().any(|table| (table.first..=table.last).contains(&number))
}

/// Writes a table into the folder of a day, where it does not count yet.
pub(super) fn write<R: Row>(
    root: &Path,
    day: u64,
    table: &Table,
    rows: impl Iterator<Item = Result<R, FileError>>,
) -> Result<(), FileError> {
    let folder = root.join(folder_name(day));
    let path = folder.join(table.name());
    let failed = |source| FileError::Write { path: path.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    let (staged, file) = StagedFile::create(&path, true).map_err(failed)?;
    let wrong = |error| FileError::write(&path, error);
    let mut out = TableWriter::<R, _>::new(io::BufWriter::new(file), VERSION).map_err(wrong)?;
    for row in rows {
        out.write(row?).map_err(wrong)?;
    }
    let level = Level::PYRAMID.into_iter().find(|level| level.stem() == table.stem);
    let width: Vec<(&str, String)> = level.iter().map(|level| (WIDTH_KEY, level.width_ns().to_string())).collect();
    let out = out.finish(&width).map_err(wrong)?;
    out.into_inner().map_err(|error| failed(error.into_error()))?;
    staged.commit().map(drop).map_err(failed)
}

/// Makes `added` count and `removed` not, in one step; the files of `removed` are deleted after it.
pub(super) fn commit(
    root: &Path,
    day: u64,
    lock: &Mutex<()>,
    added: &[Table],
    removed: &[Table],
) -> Result<(), FileError> {
    let folder = root.join(folder_name(day));
    let removed: Vec<String> = removed.iter().filter(|table| !added.contains(table)).map(Table::name).collect();
    {
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut manifest = Manifest::open(&folder)?.unwrap_or_default();
        for table in added {
            let path = folder.join(table.name());
            manifest.enter(&path).map_err(|source| FileError::Read { path, source })?;
        }
        removed.iter().for_each(|name| manifest.leave(name));
        manifest.write(&folder)?;
        if manifest.files().is_empty() {
            // The manifest goes last: a folder that has tables has one.
            for table in present(&folder)? {
                let path = folder.join(table.name());
                fs::remove_file(&path).map_err(|source| FileError::Write { path, source })?;
            }
            return fs::remove_dir_all(&folder).map_err(|source| FileError::Write { path: folder, source });
        }
    }
    for path in removed.iter().map(|name| folder.join(name)) {
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(FileError::Write { path, source }),
            _ => {}
        }
    }
    Ok(())
}

/// Deletes what an interrupted writer left in the folder of a day: tables and temporary files that do not count. Nothing is deleted where
/// the manifest is missing or damaged.
pub(super) fn clean(root: &Path, day: u64) -> Result<(), FileError> {
    let folder = root.join(folder_name(day));
    let failed = |source| FileError::Write { path: folder.clone(), source };
    let counted: BTreeSet<String> = tables(root, day)?.iter().map(Table::name).collect();
    let names: Vec<PathBuf> = fs::read_dir(&folder)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    for path in names {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let finished = finished_name(name);
        let is_ours = Table::of(finished).is_some() || finished == MANIFEST_FILE && name != finished;
        if is_ours && !counted.contains(name) {
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    #[test]
    fn days_have_their_dates() {
        for (day, name) in [(0, "1970-01-01"), (11_016, "2000-02-29"), (11_017, "2000-03-01"), (20_784, "2026-11-27")] {
            assert_eq!(folder_name(day), name);
            assert_eq!(day_named(name), Some(day));
        }
        for name in ["2026-02-30", "2026-13-01", "26-1-1", "2026-11", "x", "2026-11-27-1"] {
            assert_eq!(day_named(name), None, "{name}");
        }
        assert!((0..100_000).all(|day| day_named(&folder_name(day)) == Some(day)));
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        let noon = 20_784 * DAY + 43_205 * SECOND;
        assert_eq!(utc_text(noon + 7), "2026-11-27T12:00:05Z");
        for text in ["2026-11-27T12:00:05Z", "2026-11-27 12:00:05"] {
            assert_eq!(utc_ns(text), Some(noon), "{text}");
        }
        assert_eq!(utc_ns("2026-11-27T12:00"), Some(noon - 5 * SECOND));
        assert_eq!(utc_ns("2026-11-27"), Some(20_784 * DAY));
        for text in ["2026-11-27T24:00", "2026-11-27T12", "2026-11-27T12:00:60", "2026-11-27T12:00:00:00", "noon", ""] {
            assert_eq!(utc_ns(text), None, "{text}");
        }
    }

    #[test]
    fn tables_have_names_of_one_form() {
        let table = Table { stem: "minutes", first: 3, last: 12 };
        assert_eq!(table.name(), "minutes-00000003-00000012.parquet");
        assert_eq!(Table::of(&table.name()), Some(table.clone()));
        for name in ["minutes-3-12.parquet", "x-00000003-00000012.parquet", "minutes-00000012-00000003.parquet"] {
            assert_eq!(Table::of(name), None);
        }
        assert!(covers(slice::from_ref(&table), 3) && !covers(slice::from_ref(&table), 13));
    }
}
