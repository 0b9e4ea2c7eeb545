//! Vectors out of a workload file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flowloom_core::time::Time;
use flowloom_core::workload::ConnectionVector;

use super::facts::{TrafficFacts, WorkloadFacts};
use super::keys::{FACTS_KEY, TRAFFIC_KEY, VERSION};
use crate::table::FileError as WorkloadError;
use crate::table::TableReader;

/// Longest traffic metadata, unpacked: four series of 65,536 bins with four numbers of 20 digits, and to spare.
const MAX_TRAFFIC_BYTES: u64 = 64 << 20;

/// Reads a workload file: facts first, then one vector after the other, sorted by start. It holds one batch of
/// rows and one row group as it is packed. After an error the iterator ends.
pub struct WorkloadReader {
    path: PathBuf,
    facts: WorkloadFacts,
    table: TableReader<ConnectionVector>,
    last: Option<(Time, u64)>,
    row: u64,
    failed: bool,
}

impl WorkloadReader {
    /// Opens the workload file at `path`.
    ///
    /// # Errors
    ///
    /// Every [`WorkloadError`] but `Write` and `Unsorted`.
    pub fn open(path: &Path) -> Result<WorkloadReader, WorkloadError> {
        let table = TableReader::open(path, VERSION)?;
        let mut facts = facts(path, &table)?;
        facts.traffic = entry(path, &table, TRAFFIC_KEY).and_then(|text| {
            traffic(text).map_err(|error| damaged(path, format!("its {TRAFFIC_KEY} cannot be read: {error}")))
        })?;
        if facts.connections != table.rows() {
            return Err(damaged(
                path,
                format!("its metadata speaks of {} connections and it has {}", facts.connections, table.rows()),
            ));
        }
        Ok(WorkloadReader { path: path.to_owned(), facts, table, last: None, row: 0, failed: false })
    }

    /// What the workload file at `path` says about itself, without the traffic over time: the end of the file is read and nothing else.
    ///
    /// # Errors
    ///
    /// As [`WorkloadReader::open`].
    pub fn read_facts(path: &Path) -> Result<WorkloadFacts, WorkloadError> {
        facts(path, &TableReader::open(path, VERSION)?)
    }

    /// What the file says about itself.
    pub fn facts(&self) -> &WorkloadFacts {
        &self.facts
    }

    /// Whether the file carries digests: then its vectors are those that were written. Files of version 1 carry none.
    pub fn is_protected(&self) -> bool {
        self.table.is_protected()
    }

    fn check(&mut self, vector: &ConnectionVector) -> Result<(), WorkloadError> {
        let key = (vector.start, vector.id);
        if self.last.replace(key).is_some_and(|last| last >= key) {
            return Err(WorkloadError::Unsorted { path: self.path.clone(), row: self.row });
        }
        self.row += 1;
        Ok(())
    }
}

impl Iterator for WorkloadReader {
    type Item = Result<ConnectionVector, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.table.next()?.and_then(|vector| self.check(&vector).map(|()| vector));
        self.failed = item.is_err();
        Some(item)
    }
}

fn damaged(path: &Path, problem: String) -> WorkloadError {
    WorkloadError::Metadata { path: path.to_owned(), problem }
}

/// An entry of the metadata that each workload has.
fn entry<'a>(path: &Path, table: &'a TableReader<ConnectionVector>, key: &str) -> Result<&'a str, WorkloadError> {
    table.metadata(key).ok_or_else(|| damaged(path, format!("its metadata has no {key}")))
}

/// The facts without the traffic over time.
fn facts(path: &Path, table: &TableReader<ConnectionVector>) -> Result<WorkloadFacts, WorkloadError> {
    let facts: WorkloadFacts = serde_json::from_str(entry(path, table, FACTS_KEY)?)
        .map_err(|error| damaged(path, format!("its {FACTS_KEY} cannot be read: {error}")))?;
    match facts.capture.impossible() {
        Some(problem) => Err(damaged(path, format!("its {FACTS_KEY} cannot be: {problem}"))),
        None => Ok(facts),
    }
}

/// Unpacks the traffic metadata, never more than [`MAX_TRAFFIC_BYTES`] of it.
fn traffic(text: &str) -> io::Result<TrafficFacts> {
    let packed = STANDARD.decode(text).map_err(io::Error::other)?;
    let unpacked = zstd::stream::read::Decoder::new(&packed[..])?.take(MAX_TRAFFIC_BYTES);
    Ok(serde_json::from_reader(io::BufReader::new(unpacked))?)
}
