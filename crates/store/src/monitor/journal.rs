//! Segments of the journal: what was recorded last, record by record.
//!
//! A segment is a head, and records in frames: the length of the record, a digest, the record in postcard. The digest is the beginning
//! of the SHA-256 of the digest before and the record, so that no record can be left out, moved or changed. Whatever ended the writer,
//! all records but the last are whole. Behind bytes that were changed, reading goes on at the next two records of which the second fits
//! to the first; only what begins as a record does is tried.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::catalogue::Series;
use super::rows::GapRow;
use crate::regular;
use crate::table::FileError;

/// The folder of the segments.
pub const JOURNAL_FOLDER: &str = "journal";

/// The ending of their names.
const ENDING: &str = "journal";

/// The ending of the names of segments that were damaged when they were folded.
const DAMAGED_ENDING: &str = "damaged";

/// The first bytes of a segment: what it is, and the version of its form.
const HEAD: &[u8] = b"flowloom-journal 1\n";

/// Bytes of a digest that are kept.
const DIGEST: usize = 8;

/// A record is at most this long: a batch has an answer of a target.
const MOST_RECORD: usize = 16 << 20;

/// Bytes of records that are tried behind damage, at most: a segment has 4 MiB.
const MOST_TRIED: usize = 64 << 20;

/// Samples that were received in one answer and have the same span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// When the answer was received, in nanoseconds since 1970 UTC.
    pub time_ns: u64,
    /// Time since the answer before, in nanoseconds.
    pub span_ns: u64,
    /// Series, and what was counted.
    pub samples: Vec<(u32, u64)>,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// A series that is new.
    Series(Series),
    /// Samples.
    Samples(Batch),
    /// A time in which a rate is unknown.
    Gap(GapRow),
}

/// What a segment holds.
#[derive(Debug, Default)]
pub struct Read {
    /// Records that are whole.
    pub records: u64,
    /// Bytes of these and of the head.
    pub whole_bytes: u64,
    /// Bytes that are no record: of one that was being written, or damaged.
    pub other_bytes: u64,
    /// Whether some of these bytes are damaged, and not just the beginning of a record.
    pub is_damaged: bool,
    /// Samples and gaps of series that nothing defines: where they are folded, they are left out.
    pub undefined: u64,
}

/// A record as it is stored.
struct Frame<'a> {
    digest: [u8; DIGEST],
    record: &'a [u8],
    /// Where the next one begins.
    end: usize,
}

impl<'a> Frame<'a> {
    /// The frame at `at`; `None` if its length cannot be right, or it does not end in `bytes`.
    fn at(bytes: &'a [u8], at: usize) -> Option<Frame<'a>> {
        let (length, framed) = bytes.get(at..)?.split_first_chunk::<4>()?;
        let (digest, framed) = framed.split_first_chunk::<DIGEST>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let record = framed.get(..length).filter(|_| (1..=MOST_RECORD).contains(&length))?;
        Some(Frame { digest: *digest, record, end: at + 4 + DIGEST + length })
    }
}

/// Reads the segment in `bytes` and passes on each record that is whole.
pub fn read(bytes: &[u8], visit: &mut dyn FnMut(Record)) -> Read {
    if !bytes.starts_with(HEAD) {
        // The writer was ended before it wrote the head.
        let is_damaged = !HEAD.starts_with(bytes);
        return Read { other_bytes: bytes.len() as u64, is_damaged, ..Read::default() };
    }
    let mut read = Read { whole_bytes: HEAD.len() as u64, ..Read::default() };
    let (mut at, mut before, mut tried) = (HEAD.len(), first_digest(), 0);
    while at < bytes.len() {
        let fits = |frame: &Frame<'_>| chained(&before, frame.record) == frame.digest;
        let whole = Frame::at(bytes, at).filter(fits);
        if let Some((record, frame)) = whole.and_then(|frame| Some((postcard::from_bytes(frame.record).ok()?, frame))) {
            visit(record);
            read.records += 1;
            read.whole_bytes += (frame.end - at) as u64;
            (at, before) = (frame.end, frame.digest);
        } else if let Some(behind) = behind(bytes, at, &mut tried) {
            read.is_damaged = true;
            (at, before) = (behind.end, behind.digest);
        } else {
            // Who gave up does not know that nothing is behind it.
            read.is_damaged |= tried > MOST_TRIED || is_damage(&bytes[at..]);
            break;
        }
    }
    read.other_bytes = bytes.len() as u64 - read.whole_bytes;
    read
}

/// The first record from `at` on to which the one behind it fits. Whether it is whole itself cannot be told. `tried` counts the bytes that
/// were tried.
fn behind<'a>(bytes: &'a [u8], at: usize, tried: &mut usize) -> Option<Frame<'a>> {
    for at in at..bytes.len() {
        let Some(frame) = Frame::at(bytes, at).filter(|frame| begins_a_record(frame.record)) else { continue };
        let Some(next) = Frame::at(bytes, frame.end).filter(|next| begins_a_record(next.record)) else { continue };
        *tried += next.record.len();
        if *tried > MOST_TRIED {
            return None;
        }
        if chained(&frame.digest, next.record) == next.digest {
            return Some(frame);
        }
    }
    None
}

/// Whether these bytes begin as a record of their length does. In samples of idle ports any bytes look like lengths, and hashing all
/// that they might be lengths of would take hours.
fn begins_a_record(bytes: &[u8]) -> bool {
    /// Bytes of a series and an amount, at least and at most.
    const SAMPLE: (u64, u64) = (2, 15);
    // Samples are the second kind of record.
    if let Some(samples) = bytes.strip_prefix(&[1]) {
        let Ok(((_, _, count), rest)) = postcard::take_from_bytes::<(u64, u64, u64)>(samples) else { return false };
        let length = rest.len() as u64;
        return count.saturating_mul(SAMPLE.0) <= length && length <= count.saturating_mul(SAMPLE.1);
    }
    postcard::take_from_bytes::<Record>(bytes).is_ok_and(|(_, rest)| rest.is_empty())
}

/// Whether the last bytes of a segment, which are no record, are damaged, and not just the beginning of one.
fn is_damage(rest: &[u8]) -> bool {
    let Some((length, framed)) = rest.split_first_chunk::<4>() else { return false };
    let length = u32::from_le_bytes(*length) as usize;
    if framed.len() < DIGEST {
        return false;
    }
    if length == 0 || length > MOST_RECORD {
        // After a loss of power, a file may end in zeros.
        return rest.iter().any(|byte| *byte != 0);
    }
    framed.len() - DIGEST >= length
}

fn first_digest() -> [u8; DIGEST] {
    chained(&[0; DIGEST], HEAD)
}

/// The digest of a record behind one with the digest `before`.
fn chained(before: &[u8; DIGEST], record: &[u8]) -> [u8; DIGEST] {
    let digest = Sha256::new().chain_update(before).chain_update(record).finalize();
    std::array::from_fn(|at| digest[at])
}

/// A segment that is being written.
pub(super) struct Segment {
    file: File,
    path: PathBuf,
    number: u64,
    before: [u8; DIGEST],
    bytes: u64,
    frame: Vec<u8>,
}

impl Segment {
    /// Begins the first segment behind number `last` of the store in `folder` that is not there.
    pub(super) fn begin_behind(folder: &Path, last: u64) -> Result<Segment, FileError> {
        let mut number = last + 1;
        loop {
            match Segment::create(folder, number) {
                Err(FileError::Write { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => number += 1,
                other => return other,
            }
        }
    }

    /// Begins segment `number` of the store in `folder`.
    fn create(folder: &Path, number: u64) -> Result<Segment, FileError> {
        let path = path_of(folder, number);
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        let create = || -> io::Result<File> {
            let mut file = options.open(&path)?;
            file.write_all(HEAD)?;
            file.sync_all()?;
            File::open(folder.join(JOURNAL_FOLDER))?.sync_all()?;
            Ok(file)
        };
        let file = create().map_err(|source| {
            // What is half there, on a full disk, would be in the way of the next try.
            if source.kind() != io::ErrorKind::AlreadyExists {
                let _ = fs::remove_file(&path);
            }
            FileError::Write { path: path.clone(), source }
        })?;
        Ok(Segment { file, path, number, before: first_digest(), bytes: HEAD.len() as u64, frame: Vec::new() })
    }

    /// Its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Its length in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a record. Once this returns, the record survives the end of the process.
    pub(super) fn append(&mut self, record: &Record) -> Result<(), FileError> {
        self.frame.clear();
        self.frame.resize(4 + DIGEST, 0);
        let frame = std::mem::take(&mut self.frame);
        let result = postcard::to_extend(record, frame).map_err(io::Error::other).and_then(|mut frame| {
            let record = &frame[4 + DIGEST..];
            let length = u32::try_from(record.len()).ok().filter(|length| *length as usize <= MOST_RECORD);
            let length = length.ok_or_else(|| io::Error::other("a record is too long"))?;
            let digest = chained(&self.before, record);
            frame[..4].copy_from_slice(&length.to_le_bytes());
            frame[4..4 + DIGEST].copy_from_slice(&digest);
            self.file.write_all(&frame)?;
            self.before = digest;
            self.bytes += frame.len() as u64;
            self.frame = frame;
            Ok(())
        });
        result.map_err(|source| FileError::Write { path: self.path.clone(), source })
    }

    /// Waits until all records are on the disk.
    pub(super) fn sync(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(|source| FileError::Write { path: self.path.clone(), source })
    }
}

/// The path of segment `number`.
pub(super) fn path_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(JOURNAL_FOLDER).join(format!("{number:08}.{ENDING}"))
}

/// The number of the segment at `path`, if its name is that of one with this ending.
fn number_with(path: &Path, ending: &str) -> Option<u64> {
    if path.extension()? != ending {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}

/// The segments of the store in `folder`, by number.
pub(super) fn segments(folder: &Path) -> Result<Vec<(u64, PathBuf)>, FileError> {
    list(folder, ENDING)
}

/// The segments that were damaged when they were folded, by number.
pub(super) fn damaged(folder: &Path) -> Result<Vec<(u64, PathBuf)>, FileError> {
    list(folder, DAMAGED_ENDING)
}

/// Keeps a segment that is folded and damaged, as one that is read no more: its new path.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf, FileError> {
    let aside = path.with_extension(DAMAGED_ENDING);
    fs::rename(path, &aside).map_err(|source| FileError::Write { path: path.to_owned(), source })?;
    Ok(aside)
}

/// What is wrong with the segment at `path`, of which `read` was read.
pub(super) fn damage(path: &Path, read: &Read) -> FileError {
    let mut problem = format!(
        "{} records are whole, and {} bytes are not those that were written (they are left out)",
        read.records, read.other_bytes
    );
    if read.undefined > 0 {
        problem += &format!("; nothing defines the series of {} of their samples and gaps", read.undefined);
    }
    FileError::Metadata { path: path.to_owned(), problem }
}

fn list(folder: &Path, ending: &str) -> Result<Vec<(u64, PathBuf)>, FileError> {
    let journal = folder.join(JOURNAL_FOLDER);
    let list = || -> io::Result<Vec<(u64, PathBuf)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&journal)? {
            let path = entry?.path();
            if let Some(number) = number_with(&path, ending) {
                found.push((number, path));
            }
        }
        found.sort();
        Ok(found)
    };
    match list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(|source| FileError::Read { path: journal.clone(), source }),
    }
}

/// The bytes of the segment at `path`; `None` if it was folded meanwhile.
pub(super) fn load(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match regular::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileError::Read { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        let batch = |time_ns| Batch { time_ns, span_ns: 10, samples: vec![(1, 5), (300, u64::MAX)] };
        vec![Record::Samples(batch(1)), Record::Gap(GapRow::default()), Record::Samples(batch(2))]
    }

    fn written() -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(JOURNAL_FOLDER)).unwrap();
        let mut segment = Segment::create(folder.path(), 7).unwrap();
        records().iter().for_each(|record| segment.append(record).unwrap());
        segment.sync().unwrap();
        let bytes = fs::read(path_of(folder.path(), 7)).unwrap();
        assert_eq!(segment.bytes(), bytes.len() as u64);
        (folder, bytes)
    }

    fn found(bytes: &[u8]) -> (Vec<Record>, Read) {
        let mut found = Vec::new();
        let read = read(bytes, &mut |record| found.push(record));
        assert_eq!(read.whole_bytes + read.other_bytes, bytes.len() as u64);
        (found, read)
    }

    #[test]
    fn what_is_cut_loses_the_last_record() {
        let (_folder, bytes) = written();
        assert_eq!(found(&bytes).0, records());
        let mut fewest = records().len();
        for end in (0..bytes.len()).rev() {
            let (found, read) = found(&bytes[..end]);
            assert!(!read.is_damaged && found[..] == records()[..found.len()], "{end}");
            assert!(fewest - found.len() <= 1);
            fewest = found.len();
        }
        // The end of a file that was not on the disk yet.
        let mut zeros = bytes.clone();
        zeros.extend([0; 100]);
        let (found, read) = found(&zeros);
        assert_eq!((found.len(), read.is_damaged, read.other_bytes), (3, false, 100));
    }

    /// Whether `found` are some of `records`, in their order.
    fn are_some(found: &[Record], records: &[Record]) -> bool {
        let mut rest = records.iter();
        found.iter().all(|one| rest.any(|record| record == one))
    }

    #[test]
    fn no_changed_record_is_read() {
        let (_folder, bytes) = written();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let (found, read) = found(&changed);
                assert!(found.len() < 3 && are_some(&found, &records()), "byte {at}");
                assert!(read.other_bytes > 0);
            }
        }
        let behind_first = HEAD.len() + 12 + u32::from_le_bytes(bytes[HEAD.len()..][..4].try_into().unwrap()) as usize;
        let without_first: Vec<u8> = HEAD.iter().chain(&bytes[behind_first..]).copied().collect();
        let (found, read) = found(&without_first);
        assert!(read.is_damaged && found[..] == records()[2..], "a record that is left out is noticed");
    }

    #[test]
    fn damage_costs_two_records_at_most() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(JOURNAL_FOLDER)).unwrap();
        let mut segment = Segment::create(folder.path(), 1).unwrap();
        let batch = |time_ns| Record::Samples(Batch { time_ns, span_ns: 10, samples: vec![(1, time_ns * 7)] });
        let records: Vec<Record> = (0..40).map(batch).collect();
        let mut ends = Vec::new();
        for record in &records {
            segment.append(record).unwrap();
            ends.push(segment.bytes() as usize);
        }
        let bytes = fs::read(path_of(folder.path(), 1)).unwrap();
        for at in HEAD.len()..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let (found, read) = found(&changed);
            let behind = ends.iter().filter(|end| **end > at).count();
            assert!(found.len() + 2 >= records.len() && are_some(&found, &records), "byte {at}");
            // Of the last two, a length that is too large may be that of a record that was being written.
            assert!(read.is_damaged || behind <= 2, "byte {at}");
        }
        // A lost block of the disk.
        let mut zeroed = bytes.clone();
        zeroed[ends[9]..ends[19]].fill(0);
        let (found, read) = found(&zeroed);
        assert!(read.is_damaged && found.len() >= 28 && are_some(&found, &records), "{}", found.len());
    }

    #[test]
    fn damage_beside_quiet_ports_costs_two_records_at_most() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(JOURNAL_FOLDER)).unwrap();
        let mut segment = Segment::create(folder.path(), 1).unwrap();
        // Answers of a large target of which half of the ports are idle, until the segment is full.
        let amount =
            |time_ns: u64, series: u32| u64::from(series % 2) * (time_ns % 1_000 * 7_919 + u64::from(series) * 97);
        let batch = |time_ns: u64| {
            let samples = (1..=3_000).map(|series| (series, amount(time_ns, series))).collect();
            Record::Samples(Batch { time_ns, span_ns: 10, samples })
        };
        let records: Vec<Record> = (1_795_000_000_000_000_000..).take(280).map(batch).collect();
        let mut ends = vec![HEAD.len()];
        for record in &records {
            segment.append(record).unwrap();
            ends.push(segment.bytes() as usize);
        }
        let bytes = fs::read(path_of(folder.path(), 1)).unwrap();
        let flipped = |at: usize, bit: u8| {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            changed
        };
        let mut zeroed = bytes.clone();
        zeroed[ends[5] - 200..ends[5] + 300].fill(0);
        // A digest; a length that leads behind the end; a series; a lost block over the beginning of a record.
        let harms = [flipped(ends[1] + 6, 3), flipped(ends[1] + 2, 7), flipped(ends[1] + 900, 0), zeroed];
        for (number, harmed) in harms.iter().enumerate() {
            let (found, read) = found(harmed);
            assert!(read.is_damaged && are_some(&found, &records), "harm {number}");
            assert!(found.len() + 3 >= records.len(), "harm {number}: {} of {}", found.len(), records.len());
        }
    }

    #[test]
    fn what_is_half_begun_is_in_nobodys_way() {
        let (folder, _) = written();
        // One that was begun on a full disk by a program that did not take it away.
        fs::write(path_of(folder.path(), 8), &HEAD[..5]).unwrap();
        let segment = Segment::begin_behind(folder.path(), 7).unwrap();
        assert_eq!(segment.number(), 9);
    }

    #[test]
    fn segments_are_listed_by_number() {
        let (folder, _) = written();
        Segment::create(folder.path(), 10).unwrap();
        fs::write(folder.path().join("journal/x.journal"), "").unwrap();
        let numbers: Vec<u64> = segments(folder.path()).unwrap().iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [7, 10]);
        assert!(Segment::create(folder.path(), 7).is_err());
    }
}
