//! Vectors in any order in, sorted by start out, in bounded memory: what does not fit waits in sorted runs on disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::vec;

use flowloom_core::time::Time;
use flowloom_core::workload::{Adu, ConnectionVector, LostSegment, Pause, SeenDatagram, Side, SynRepeat};
use tempfile::TempDir;

use super::error::FormatError;
use crate::table::{FileError, TableReader, TableWriter};

/// Vectors held before they are sorted and put aside, in bytes.
const HELD_BYTES: usize = 256 << 20;
/// The version of the runs, which nobody else reads.
const VERSION: u64 = crate::workload::VERSION;

/// Takes vectors in any order; [`Self::finish`] gives them back sorted by start, equal starts as they came.
pub struct Sorter {
    held: Vec<ConnectionVector>,
    held_bytes: usize,
    most_bytes: usize,
    next: u64,
    runs: Vec<PathBuf>,
    place: PathBuf,
    folder: Option<TempDir>,
}

/// Bytes that the lists of a vector take.
fn heap_bytes(vector: &ConnectionVector) -> usize {
    let of_ends = Side::BOTH.map(|side| {
        vector.pauses[side].len() * size_of::<Pause>()
            + vector.datagrams[side].len() * size_of::<SeenDatagram>()
            + vector.losses[side].len() * size_of::<LostSegment>()
    });
    vector.adus.len() * size_of::<Adu>()
        + vector.syn_repeats.len() * size_of::<SynRepeat>()
        + of_ends.iter().sum::<usize>()
}

impl Sorter {
    /// One that writes to temporary files in `folder` what it cannot hold.
    pub fn in_folder(folder: &Path) -> Sorter {
        Sorter::with_memory(folder, HELD_BYTES)
    }

    /// One that holds about `most_bytes`.
    pub fn with_memory(folder: &Path, most_bytes: usize) -> Sorter {
        Sorter {
            held: Vec::new(),
            held_bytes: 0,
            most_bytes,
            next: 0,
            runs: Vec::new(),
            place: folder.to_owned(),
            folder: None,
        }
    }

    /// Takes a vector.
    ///
    /// # Errors
    /// If there is no room on disk.
    pub fn push(&mut self, mut vector: ConnectionVector) -> Result<(), FormatError> {
        // Until the end the id says in which order vectors came.
        vector.id = self.next;
        self.next += 1;
        self.held_bytes += size_of::<ConnectionVector>() + heap_bytes(&vector);
        self.held.push(vector);
        if self.held_bytes >= self.most_bytes { self.put_aside() } else { Ok(()) }
    }

    /// Vectors taken.
    pub fn len(&self) -> u64 {
        self.next
    }

    /// Whether none was taken.
    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    fn put_aside(&mut self) -> Result<(), FormatError> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => {
                let made = tempfile::Builder::new().prefix(".sorting-").tempdir_in(&self.place);
                let file = self.place.display().to_string();
                self.folder.insert(made.map_err(|source| FormatError::Write { file, source })?)
            }
        };
        let path = folder.path().join(format!("run-{}", self.runs.len()));
        let failed = |error| FormatError::File(FileError::write(&path, error));
        let file = File::create(&path).map_err(|source| FileError::Write { path: path.clone(), source })?;
        let mut run = TableWriter::new(file, VERSION).map_err(failed)?;
        self.held.sort_unstable_by_key(key);
        for vector in self.held.drain(..) {
            run.write(vector).map_err(failed)?;
        }
        run.finish(&[]).map_err(failed)?;
        self.runs.push(path);
        self.held_bytes = 0;
        Ok(())
    }

    /// The vectors by start, which is counted from `origin`, with dense ids.
    ///
    /// # Errors
    /// If what was put aside cannot be read again.
    pub fn finish(mut self, origin: Time) -> Result<Sorted, FormatError> {
        self.held.sort_unstable_by_key(key);
        let mut parts: Vec<Part> = Vec::new();
        for path in &self.runs {
            parts.push(Part::Run(Box::new(TableReader::open(path, VERSION)?)));
        }
        parts.push(Part::Held(self.held.into_iter()));
        let mut sorted = Sorted {
            heads: vec![None; parts.len()],
            parts,
            order: BinaryHeap::new(),
            next: 0,
            origin,
            _folder: self.folder,
        };
        for index in 0..sorted.parts.len() {
            sorted.advance(index)?;
        }
        Ok(sorted)
    }
}

fn key(vector: &ConnectionVector) -> (Time, u64) {
    (vector.start, vector.id)
}

enum Part {
    Held(vec::IntoIter<ConnectionVector>),
    Run(Box<TableReader<ConnectionVector>>),
}

/// Vectors sorted by start. After an error the iterator ends.
pub struct Sorted {
    parts: Vec<Part>,
    /// The next vector of each part.
    heads: Vec<Option<ConnectionVector>>,
    order: BinaryHeap<Reverse<(Time, u64, usize)>>,
    next: u64,
    origin: Time,
    /// Holds the runs.
    _folder: Option<TempDir>,
}

impl Sorted {
    fn advance(&mut self, index: usize) -> Result<(), FormatError> {
        self.heads[index] = match &mut self.parts[index] {
            Part::Held(held) => held.next(),
            Part::Run(run) => run.next().transpose()?,
        };
        if let Some(head) = &self.heads[index] {
            self.order.push(Reverse((head.start, head.id, index)));
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Option<ConnectionVector>, FormatError> {
        let Some(Reverse((.., index))) = self.order.pop() else { return Ok(None) };
        let taken = self.heads[index].take();
        self.advance(index)?;
        Ok(taken.map(|mut vector| {
            vector.start = Time::ZERO + vector.start.since(self.origin);
            vector.id = self.next;
            self.next += 1;
            vector
        }))
    }
}

impl Iterator for Sorted {
    type Item = Result<ConnectionVector, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let taken = self.take().transpose();
        if matches!(taken, Some(Err(_))) {
            self.order.clear();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::Duration;

    use super::*;

    #[test]
    fn runs_on_disk_change_nothing() {
        let starts: Vec<u64> = (0..5_000u64).map(|index| index * 7_919 % 1_000).collect();
        let sorted = |memory: usize| {
            let folder = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::with_memory(folder.path(), memory);
            for (index, start) in starts.iter().enumerate() {
                let mut vector =
                    ConnectionVector { start: Time::from_nanos(start + 10), ..ConnectionVector::default() };
                vector.lifetime = Some(Duration::from_nanos(index as u64));
                sorter.push(vector).unwrap();
            }
            let spilled = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(spilled, usize::from(memory < usize::MAX));
            let sorted = sorter.finish(Time::from_nanos(10)).unwrap();
            let all = sorted.map(|vector| vector.unwrap()).collect::<Vec<_>>();
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
            all
        };
        let (held, spilled) = (sorted(usize::MAX), sorted(200_000));
        assert_eq!(held, spilled);
        assert_eq!(held.len(), starts.len());
        assert!(held.windows(2).all(|pair| {
            let key = |vector: &ConnectionVector| (vector.start, vector.lifetime);
            key(&pair[0]) < key(&pair[1]) && pair[0].id + 1 == pair[1].id
        }));
        assert_eq!(held[0].start, Time::ZERO);
    }
}
