//! A store as its readers see it, while it is written or not.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::catalogue::{Catalogue, Kind, Series};
use super::day::{self, GAPS, OVERNIGHT, Table};
use super::fold::summary;
use super::journal::{self, Batch, Record};
use super::level::{DAY, Level};
use super::rows::{GapRow, LevelRow, SampleRow, share};
use crate::table::{FileError, Row, TableReader};

/// How often a day is looked at again whose tables were replaced meanwhile.
const TRIES: usize = 5;

/// A series to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its number.
    pub series: u32,
    /// Whether it counts.
    pub kind: Kind,
    /// How often it is sampled, in nanoseconds.
    pub interval_ns: u64,
}

impl From<&Series> for Wanted {
    fn from(series: &Series) -> Wanted {
        Wanted { series: series.id, kind: series.kind, interval_ns: series.interval_ns }
    }
}

/// A sample, or a row of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its time: that of a sample, or the beginning of the row.
    pub at_ns: u64,
    /// The width of the row; 0 of a sample.
    pub width_ns: u64,
    /// Least and greatest value, the integral, and how much time they are of.
    pub row: LevelRow,
}

/// Reads a store.
#[derive(Clone, Debug)]
pub struct MonitorReader {
    root: PathBuf,
}

/// A segment of the journal that was there before the days were looked at.
struct Left {
    number: u64,
    bytes: Vec<u8>,
}

/// What was read of a day.
struct Seen {
    /// Its tables: what they hold is in the journal no longer, as far as this reading goes.
    tables: Vec<Table>,
    /// The series of which it gave rows, in order.
    in_rows: Vec<u32>,
}

impl Seen {
    /// Whether its rows have the part of a sample that ends on the next day.
    fn has_rows(&self, series: u32) -> bool {
        self.in_rows.binary_search(&series).is_ok()
    }
}

impl MonitorReader {
    /// The store in `root`.
    ///
    /// # Errors
    /// It is no store, damaged, or cannot be read.
    pub fn open(root: &Path) -> Result<MonitorReader, FileError> {
        match Catalogue::open(root)? {
            Some(_) => Ok(MonitorReader { root: root.to_owned() }),
            None => {
                let source = io::Error::new(io::ErrorKind::NotFound, "it is no store of a monitor");
                Err(FileError::Read { path: root.to_owned(), source })
            }
        }
    }

    /// All series, by number.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn series(&self) -> Result<Vec<Series>, FileError> {
        // A new series is in the journal until it is in the catalogue.
        let left = self.journal()?;
        let mut catalogue = Catalogue::open(&self.root)?.unwrap_or_default();
        for segment in &left {
            journal::read(&segment.bytes, &mut |record| {
                if let Record::Series(series) = record {
                    catalogue.insert(series);
                }
            });
        }
        Ok(catalogue.series().cloned().collect())
    }

    /// Days that have samples, as times of their beginnings, in order.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn days(&self) -> Result<Vec<u64>, FileError> {
        Ok(day::days(&self.root)?.into_iter().map(|date| date * DAY).collect())
    }

    /// Passes on what was sampled of `wanted` in a period, in rows that are at most `width_ns` wide: of each day the coarsest rows
    /// that there are, and coarser ones where finer ones are not kept. Samples are those that end in the period, or so long after it:
    /// these may have begun in it. Rows are those that lie in it, at least in part. They come in no order.
    ///
    /// # Errors
    /// A day of the period is damaged, or the store cannot be read.
    pub fn read(
        &self,
        wanted: &[Wanted],
        period_ns: Range<u64>,
        after_ns: u64,
        width_ns: u64,
        visit: &mut dyn FnMut(Piece),
    ) -> Result<(), FileError> {
        let left = self.journal()?;
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable_by_key(|one| one.series);
        let wanted = &wanted[..];
        let ends_ns = period_ns.start..period_ns.end.saturating_add(after_ns);
        let last = day::day_of(period_ns.end.saturating_sub(1));
        let dates = day::day_of(ends_ns.start)..=day::day_of(ends_ns.end.saturating_sub(1));
        let mut seen: BTreeMap<u64, Seen> = BTreeMap::new();
        for date in day::days(&self.root)?.into_iter().filter(|date| dates.contains(date)) {
            let is_after = date > last;
            let (tables, opened) = match self.opened(date, |tables| plan(tables, wanted, width_ns)) {
                // What began in the period and ended on a day that cannot be read is unknown; the rest is not.
                Err(_) if is_after => continue,
                opened => opened?,
            };
            // The rows of a day have the part of a sample that ends after its midnight.
            let before = date.checked_sub(1).and_then(|before| seen.get(&before));
            let begin = |series| if before.is_some_and(|before| before.has_rows(series)) { date * DAY } else { 0 };
            let mut in_rows = Vec::new();
            for (table, of_table) in opened {
                let passed = match table {
                    Opened::Samples(rows) => pass_samples(rows, &of_table, &ends_ns, &begin, visit),
                    Opened::Level(..) if is_after => Ok(()),
                    Opened::Level(level, rows) => {
                        in_rows.extend(of_table.iter().map(|one| one.series));
                        pass_level(rows, level, &of_table, &period_ns, visit)
                    }
                };
                if !is_after {
                    passed?;
                }
            }
            in_rows.sort_unstable();
            seen.insert(date, Seen { tables, in_rows });
        }
        unfolded(&left, &seen, &mut |number, record| {
            let Record::Samples(Batch { time_ns, span_ns, samples }) = record else { return };
            if !ends_ns.contains(&time_ns) {
                return;
            }
            let date = day::day_of(time_ns);
            let before = date.checked_sub(1).and_then(|before| seen.get(&before));
            let before = before.filter(|before| day::covers(&before.tables, number));
            for (series, amount) in samples {
                if let Some(of) = find(wanted, series) {
                    let begin = if before.is_some_and(|before| before.has_rows(series)) { date * DAY } else { 0 };
                    visit(since(piece(&SampleRow { series, time_ns, span_ns, amount }, of.kind), begin));
                }
            }
        });
        Ok(())
    }

    /// The times in a period in which rates of one of `series` are unknown, by series and start. A gap is stored in the day of its end: of
    /// those that end after the period, the ones on days that cannot be read are missing.
    ///
    /// # Errors
    /// A day of the period is damaged, or the store cannot be read.
    pub fn gaps(&self, series: &[u32], period_ns: Range<u64>) -> Result<Vec<GapRow>, FileError> {
        let left = self.journal()?;
        let is_wanted =
            |gap: &GapRow| series.contains(&gap.series) && gap.start_ns < period_ns.end && gap.end_ns > period_ns.start;
        let (first, last) = (day::day_of(period_ns.start), day::day_of(period_ns.end.saturating_sub(1)));
        let (mut found, mut seen) = (Vec::new(), BTreeMap::new());
        for date in day::days(&self.root)?.into_iter().filter(|date| *date >= first) {
            let is_after = date > last;
            let has_overnight = || {
                let present = day::present(&self.root.join(day::folder_name(date)));
                present.is_ok_and(|tables| tables.iter().any(|table| table.stem == OVERNIGHT))
            };
            if is_after && !has_overnight() {
                continue;
            }
            let stems = if is_after { &[OVERNIGHT][..] } else { &[GAPS, OVERNIGHT] };
            match self.gaps_of(date, stems, series, period_ns.end, &is_wanted) {
                Err(_) if is_after => {}
                of_day => {
                    let (tables, gaps) = of_day?;
                    found.extend(gaps);
                    seen.insert(date, Seen { tables, in_rows: Vec::new() });
                }
            }
        }
        unfolded(&left, &seen, &mut |_, record| {
            if let Record::Gap(gap) = record {
                found.extend(Some(gap).filter(is_wanted));
            }
        });
        found.sort_unstable();
        Ok(found)
    }

    /// The tables of a day, and the gaps in those of `stems` that begin before `end_ns` and are wanted.
    fn gaps_of(
        &self,
        date: u64,
        stems: &[&str],
        series: &[u32],
        end_ns: u64,
        is_wanted: &dyn Fn(&GapRow) -> bool,
    ) -> Result<(Vec<Table>, Vec<GapRow>), FileError> {
        let (tables, readers) = self.again(date, |folder, tables| {
            let chosen = tables.iter().filter(|table| stems.contains(&table.stem));
            let open = |table: &Table| TableReader::<GapRow>::open(&folder.join(table.name()), day::VERSION);
            chosen.map(open).collect::<Result<Vec<_>, _>>()
        })?;
        let mut found = Vec::new();
        for mut rows in readers {
            rows.retain_groups("series", |least, most| {
                series.iter().any(|one| (least..=most).contains(&(*one).into()))
            });
            rows.retain_groups("start_ns", |least, _| least < end_ns);
            for gap in rows {
                found.extend(Some(gap?).filter(is_wanted));
            }
        }
        Ok((tables, found))
    }

    /// What is in the journal now. To be looked at before the days: a segment is in the journal until it is in all of them.
    fn journal(&self) -> Result<Vec<Left>, FileError> {
        let mut left = Vec::new();
        for (number, path) in journal::segments(&self.root)? {
            if let Some(bytes) = journal::load(&path)? {
                left.push(Left { number, bytes });
            }
        }
        Ok(left)
    }

    /// Opens the tables of a day that `plan` chooses, all at once.
    fn opened(
        &self,
        date: u64,
        plan: impl Fn(&[Table]) -> Vec<(Table, Vec<Wanted>)>,
    ) -> Result<(Vec<Table>, Chosen), FileError> {
        self.again(date, |folder, tables| {
            let mut opened = Chosen::new();
            for (table, wanted) in plan(tables) {
                let path = folder.join(table.name());
                let level = Level::PYRAMID.into_iter().find(|level| level.stem() == table.stem);
                let rows = match level {
                    Some(level) => Opened::Level(level, TableReader::open(&path, day::VERSION)?),
                    None => Opened::Samples(TableReader::open(&path, day::VERSION)?),
                };
                opened.push((rows, wanted));
            }
            Ok(opened)
        })
    }

    /// The tables of a day, and what `open` makes of them; again, if one was replaced meanwhile.
    fn again<T>(
        &self,
        date: u64,
        mut open: impl FnMut(&Path, &[Table]) -> Result<T, FileError>,
    ) -> Result<(Vec<Table>, T), FileError> {
        let folder = self.root.join(day::folder_name(date));
        let mut tries = 0;
        loop {
            let tables = day::tables(&self.root, date)?;
            match open(&folder, &tables) {
                Err(FileError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound && tries < TRIES => {
                    tries += 1;
                }
                opened => return opened.map(|opened| (tables, opened)),
            }
        }
    }
}

/// Passes on the records of `left` that are in no table that was seen, with the numbers of their segments.
fn unfolded(left: &[Left], seen: &BTreeMap<u64, Seen>, visit: &mut dyn FnMut(u64, Record)) {
    for segment in left {
        journal::read(&segment.bytes, &mut |record| {
            let time_ns = match &record {
                Record::Series(_) => return,
                Record::Samples(batch) => batch.time_ns,
                Record::Gap(gap) => gap.end_ns,
            };
            let of_day = seen.get(&day::day_of(time_ns));
            if !of_day.is_some_and(|of_day| day::covers(&of_day.tables, segment.number)) {
                visit(segment.number, record);
            }
        });
    }
}

/// Tables that were opened, with what is wanted of each.
type Chosen = Vec<(Opened, Vec<Wanted>)>;

enum Opened {
    Samples(TableReader<SampleRow>),
    Level(Level, TableReader<LevelRow>),
}

/// Which table has which series.
fn plan(tables: &[Table], wanted: &[Wanted], width_ns: u64) -> Vec<(Table, Vec<Wanted>)> {
    let mut plan: Vec<(Table, Vec<Wanted>)> = Vec::new();
    let has = |level: &Level| tables.iter().any(|table| table.stem == level.stem());
    for one in wanted {
        let possible: Vec<Level> =
            Level::ALL.into_iter().filter(|level| level.holds(one.interval_ns)).filter(has).collect();
        let fine = possible.iter().rev().find(|level| level.width_ns() <= width_ns);
        let Some(level) = fine.or_else(|| possible.first()) else { continue };
        for table in tables.iter().filter(|table| table.stem == level.stem()) {
            match plan.iter_mut().find(|(known, _)| known == table) {
                Some((_, of_table)) => of_table.push(*one),
                None => plan.push((table.clone(), vec![*one])),
            }
        }
    }
    plan
}

/// That of a series; `wanted` is sorted.
fn find(wanted: &[Wanted], series: u32) -> Option<&Wanted> {
    wanted.binary_search_by_key(&series, |one| one.series).ok().map(|at| &wanted[at])
}

fn piece(sample: &SampleRow, kind: Kind) -> Piece {
    Piece { at_ns: sample.time_ns, width_ns: 0, row: summary(sample, kind) }
}

/// The part of a sample from `begin_ns` on.
fn since(mut piece: Piece, begin_ns: u64) -> Piece {
    let whole = piece.row.covered_ns;
    if piece.at_ns.saturating_sub(whole) < begin_ns {
        let rest = piece.at_ns.saturating_sub(begin_ns);
        piece.row.integral -= share(piece.row.integral, whole - rest, whole);
        piece.row.covered_ns = rest;
    }
    piece
}

fn retain<R: Row>(rows: &mut TableReader<R>, time: &str, wanted: &[Wanted], period_ns: &Range<u64>) {
    rows.retain_groups("series", |least, most| {
        wanted.iter().any(|one| (least..=most).contains(&u64::from(one.series)))
    });
    rows.retain_groups(time, |least, most| least < period_ns.end && most >= period_ns.start);
}

fn pass_samples(
    mut rows: TableReader<SampleRow>,
    wanted: &[Wanted],
    period_ns: &Range<u64>,
    begin_ns: &dyn Fn(u32) -> u64,
    visit: &mut dyn FnMut(Piece),
) -> Result<(), FileError> {
    retain(&mut rows, "time_ns", wanted, period_ns);
    for row in rows {
        let row = row?;
        if period_ns.contains(&row.time_ns)
            && let Some(one) = find(wanted, row.series)
        {
            visit(since(piece(&row, one.kind), begin_ns(row.series)));
        }
    }
    Ok(())
}

fn pass_level(
    mut rows: TableReader<LevelRow>,
    level: Level,
    wanted: &[Wanted],
    period_ns: &Range<u64>,
    visit: &mut dyn FnMut(Piece),
) -> Result<(), FileError> {
    let width_ns = level.width_ns();
    // A row that lies in the period in part belongs to it.
    let wide = period_ns.start.saturating_sub(width_ns - 1)..period_ns.end;
    retain(&mut rows, "start_ns", wanted, &wide);
    for row in rows {
        let row = row?;
        if wide.contains(&row.start_ns) && find(wanted, row.series).is_some() {
            visit(Piece { at_ns: row.start_ns, width_ns, row });
        }
    }
    Ok(())
}

/// Whether the process that holds the lock of the store in `root` runs: then tables may be replaced at any time.
pub fn is_written(root: &Path) -> bool {
    let Ok(file) = File::open(root.join("lock")) else { return false };
    nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockSharedNonblock).is_err()
}
