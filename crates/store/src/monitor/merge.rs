//! Several tables of a day into one, and the end of tables that nobody wants to keep.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::day::{self, GAPS, OVERNIGHT, Table};
use super::journal;
use super::level::{DAY, Level, SECOND};
use super::rows::{GapRow, LevelRow, SampleRow};
use crate::table::{FileError, Row, TableReader};

/// Tables that are merged at once, and of a day that is not over the number that is merged.
const FAN_IN: usize = 16;

/// After its end, a day is left alone for so long: what was recorded last is in the journal still.
const SETTLED: u64 = 2 * 3_600 * SECOND;

/// How long the rows of each level are kept, in nanoseconds; `None` for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Every sample.
    pub samples_ns: Option<u64>,
    /// A row a second.
    pub seconds_ns: Option<u64>,
    /// A row a minute.
    pub minutes_ns: Option<u64>,
    /// A row an hour, and gaps.
    pub hours_ns: Option<u64>,
}

impl Retention {
    /// Whether tables of this kind of a day are kept at the time `now_ns`.
    fn keeps(&self, stem: &str, date: u64, now_ns: u64) -> bool {
        let kept = match stem {
            "samples" => self.samples_ns,
            "seconds" => self.seconds_ns,
            "minutes" => self.minutes_ns,
            _ => self.hours_ns,
        };
        kept.is_none_or(|kept| (date + 1) * DAY + kept > now_ns)
    }
}

/// Merges and deletes tables of a store, beside its writer.
#[derive(Clone)]
pub struct Maintainer {
    pub(super) root: PathBuf,
    pub(super) lock: Arc<Mutex<()>>,
}

impl Maintainer {
    /// Merges what is due at the time `now_ns` and deletes what is too old, as long as it `goes_on`. What is interrupted is done
    /// next time.
    ///
    /// # Errors
    /// A table cannot be read or written: the first such error. Other days are looked after all the same.
    pub fn run(&self, now_ns: u64, retention: &Retention, goes_on: &dyn Fn() -> bool) -> Result<(), FileError> {
        let mut failed = None;
        for date in day::days(&self.root)? {
            failed = failed.or(self.day(date, now_ns, retention, goes_on).err());
        }
        failed.map_or(Ok(()), Err)
    }

    fn day(&self, date: u64, now_ns: u64, retention: &Retention, goes_on: &dyn Fn() -> bool) -> Result<(), FileError> {
        let tables = day::tables(&self.root, date)?;
        let old: Vec<Table> =
            tables.iter().filter(|table| !retention.keeps(table.stem, date, now_ns)).cloned().collect();
        if !old.is_empty() {
            day::commit(&self.root, date, &self.lock, &[], &old)?;
        }
        while goes_on() && self.merge_some(date, (date + 1) * DAY + SETTLED < now_ns)? {}
        Ok(())
    }

    /// Merges some tables of a day, whether or not it `is_over`; false if there is nothing to merge.
    fn merge_some(&self, date: u64, is_over: bool) -> Result<bool, FileError> {
        // To be looked at before the tables: a segment that is in the journal may be in no table of the day yet.
        let waiting: Vec<u64> = journal::segments(&self.root)?.into_iter().map(|(number, _)| number).collect();
        let tables = day::tables(&self.root, date)?;
        let Some((first, last)) = due(&tables, &waiting, is_over) else { return Ok(false) };
        let is_in = |table: &&Table| table.first >= first && table.last <= last;
        let old: Vec<Table> = tables.iter().filter(is_in).cloned().collect();
        let mut added = Vec::new();
        for stem in day::stems() {
            let parts: Vec<&Table> = old.iter().filter(|table| table.stem == stem).collect();
            if parts.is_empty() {
                continue;
            }
            let whole = Table { stem, first, last };
            if [GAPS, OVERNIGHT].contains(&stem) {
                merge::<GapRow>(&self.root, date, &parts, &whole)?;
            } else if stem == Level::Samples.stem() {
                merge::<SampleRow>(&self.root, date, &parts, &whole)?;
            } else {
                merge::<LevelRow>(&self.root, date, &parts, &whole)?;
            }
            added.push(whole);
        }
        day::commit(&self.root, date, &self.lock, &added, &old)?;
        Ok(true)
    }
}

/// The first and the last segment of tables that should be merged: some that follow each other and hold about equally many. None of
/// `waiting`, which are in order, lies between them: a table is of all segments from its first to its last, so such a one would be taken
/// for folded.
fn due(tables: &[Table], waiting: &[u64], is_over: bool) -> Option<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = tables.iter().map(|table| (table.first, table.last)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let follows = |one: &(u64, u64), next: &(u64, u64)| {
        let behind = waiting.partition_point(|number| *number <= one.1);
        waiting.get(behind).is_none_or(|number| *number >= next.0)
    };
    let size = |range: &(u64, u64)| (range.1 - range.0 + 1).ilog(FAN_IN as u64);
    let alike = ranges.chunk_by(|one, next| follows(one, next) && size(one) == size(next));
    let all = ranges.chunk_by(follows);
    let many = alike.filter(|alike| alike.len() >= FAN_IN);
    let some = many.chain(all.filter(|all| is_over && all.len() > 1)).next()?;
    let some = &some[..some.len().min(FAN_IN)];
    Some((some.first()?.0, some.last()?.1))
}

/// What rows are sorted by.
type RowKey = (u32, u64, u64);

/// Rows that are sorted by series and time.
trait Sorted: Row {
    fn key(&self) -> RowKey;

    /// Takes `next` in, if both are one row.
    fn absorb(&mut self, next: &Self) -> bool;
}

impl Sorted for SampleRow {
    fn key(&self) -> RowKey {
        (self.series, self.time_ns, self.span_ns)
    }

    fn absorb(&mut self, _: &SampleRow) -> bool {
        false
    }
}

impl Sorted for LevelRow {
    fn key(&self) -> RowKey {
        (self.series, self.start_ns, 0)
    }

    fn absorb(&mut self, next: &LevelRow) -> bool {
        let is_same = self.key() == next.key();
        if is_same {
            self.add(next);
        }
        is_same
    }
}

impl Sorted for GapRow {
    fn key(&self) -> RowKey {
        (self.series, self.start_ns, self.end_ns)
    }

    fn absorb(&mut self, next: &GapRow) -> bool {
        let is_same = (self.series, self.end_ns, self.reason) == (next.series, next.start_ns, next.reason);
        if is_same {
            self.end_ns = next.end_ns;
            self.amount = self.amount.zip(next.amount).map(|(one, other)| one.saturating_add(other));
        }
        is_same
    }
}

fn merge<R: Sorted>(root: &Path, date: u64, parts: &[&Table], whole: &Table) -> Result<(), FileError> {
    let folder = root.join(day::folder_name(date));
    let mut readers = Vec::new();
    for part in parts {
        readers.push(TableReader::<R>::open(&folder.join(part.name()), day::VERSION)?);
    }
    day::write(root, date, whole, Merged::new(readers)?)
}

/// The rows of several tables in their order.
struct Merged<R> {
    readers: Vec<TableReader<R>>,
    heads: Vec<Option<R>>,
    order: BinaryHeap<Reverse<(RowKey, usize)>>,
    failed: bool,
}

impl<R: Sorted> Merged<R> {
    fn new(readers: Vec<TableReader<R>>) -> Result<Merged<R>, FileError> {
        let heads = readers.iter().map(|_| None).collect();
        let mut merged = Merged { heads, order: BinaryHeap::new(), failed: false, readers };
        for number in 0..merged.readers.len() {
            merged.fill(number)?;
        }
        Ok(merged)
    }

    fn fill(&mut self, number: usize) -> Result<(), FileError> {
        let row = self.readers[number].next().transpose()?;
        if let Some(row) = &row {
            self.order.push(Reverse((row.key(), number)));
        }
        self.heads[number] = row;
        Ok(())
    }

    fn take(&mut self) -> Result<Option<R>, FileError> {
        let Some(Reverse((_, number))) = self.order.pop() else { return Ok(None) };
        let row = self.heads[number].take();
        self.fill(number)?;
        Ok(row)
    }

    fn joined(&mut self) -> Result<Option<R>, FileError> {
        let Some(mut row) = self.take()? else { return Ok(None) };
        while let Some(Reverse((_, number))) = self.order.peek() {
            let number = *number;
            if !self.heads[number].as_ref().is_some_and(|next| row.absorb(next)) {
                break;
            }
            self.take()?;
        }
        Ok(Some(row))
    }
}

impl<R: Sorted> Iterator for Merged<R> {
    type Item = Result<R, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.joined();
        self.failed = row.is_err();
        row.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(ranges: &[(u64, u64)]) -> Vec<Table> {
        ranges.iter().map(|(first, last)| Table { stem: "samples", first: *first, last: *last }).collect()
    }

    #[test]
    fn tables_of_equal_size_are_merged() {
        let few: Vec<(u64, u64)> = (1..16).map(|number| (number, number)).collect();
        assert_eq!(due(&tables(&few), &[], false), None);
        assert_eq!(due(&tables(&few), &[], true), Some((1, 15)));
        let many: Vec<(u64, u64)> = (1..40).map(|number| (number, number)).collect();
        assert_eq!(due(&tables(&many), &[40], false), Some((1, 16)));
        let behind: Vec<(u64, u64)> = [(1, 16)].into_iter().chain((17..32).map(|number| (number, number))).collect();
        assert_eq!(due(&tables(&behind), &[], false), None);
        assert_eq!(due(&tables(&[(1, 300)]), &[], true), None);
    }

    #[test]
    fn nothing_is_merged_over_a_segment_that_waits() {
        let but: Vec<(u64, u64)> = (1..=17).filter(|number| *number != 5).map(|number| (number, number)).collect();
        assert_eq!(due(&tables(&but), &[5, 18], false), None);
        assert_eq!(due(&tables(&but), &[5, 18], true), Some((1, 4)));
        assert_eq!(due(&tables(&[(1, 4), (6, 17)]), &[5, 18], true), None);
        // It had nothing for this day.
        assert_eq!(due(&tables(&but), &[18], true), Some((1, 17)));
        let more: Vec<(u64, u64)> = but.into_iter().chain((18..22).map(|number| (number, number))).collect();
        assert_eq!(due(&tables(&more), &[5], false), Some((6, 21)));
    }

    #[test]
    fn levels_are_kept_for_their_times() {
        let retention = Retention { samples_ns: Some(30 * DAY), ..Retention::default() };
        assert!(retention.keeps("samples", 100, 130 * DAY) && !retention.keeps("samples", 100, 131 * DAY));
        assert!(retention.keeps("hours", 0, u64::MAX));
    }
}
