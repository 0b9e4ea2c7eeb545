//! Run folders, read.

use std::io;
use std::path::{Path, PathBuf};

use flowloom_core::record::{DropRecord, ProbeRecord, QueueSample, SojournRecord, SourceRecord, WindowRecord};
use flowloom_core::time::Duration;
use serde_json::{Map, Value};

use super::files::{HOST_FILE, INDEX_FILE, QUEUE_INTERVAL_KEY, RUN_FILE, RunFolderError, VERSION, table_path};
use super::index::RunIndex;
use super::json;
use super::rows::{ActiveRow, AduRow, ConnectionRow, EpochRow, FlowRow, LatenessRow, ThroughputRow};
use crate::manifest::Manifest;
use crate::regular;
use crate::table::{FileError, Row, TableReader, read_through};

/// An open run folder. Each table is read from the start, in the order it was written, by the method of its name.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    run: Map<String, Value>,
    host: Value,
}

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident: $row:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// [`FileError`] if the table cannot be opened; its rows are read and checked as the iterator goes.
        pub fn $name(&self) -> Result<impl Iterator<Item = Result<$row, FileError>> + use<>, FileError> {
            self.table::<$row>()
        }
    )*

        /// Reads the table at `path`, which is called `format`, to its end, as long as `goes_on`: the number of its rows,
        /// and whether it carries digests.
        pub(crate) fn read_through(
            path: &Path,
            format: &str,
            goes_on: &dyn Fn() -> bool,
        ) -> Result<(u64, bool), FileError> {
            $(if format == <$row>::TABLE {
                return read_through::<$row>(path, VERSION, goes_on);
            })*
            let found = format.to_owned();
            Err(FileError::OtherFormat { path: path.to_owned(), found, expected: RunFolder::ANY_TABLE })
        }
    };
}

impl RunFolder {
    /// The name for any table, workloads among them, in errors.
    pub(crate) const ANY_TABLE: &str = "workload or table of a run";

    /// Opens the run folder at `path`, complete or not.
    ///
    /// # Errors
    ///
    /// [`RunFolderError::NotARun`], [`RunFolderError::Newer`], [`FileError::Changed`] if `run.json` or `host.json` is not as the
    /// manifest has it, or what the file system says.
    pub fn open(path: &Path) -> Result<RunFolder, RunFolderError> {
        let manifest = Manifest::open(path)?;
        let run = json::read(path, RUN_FILE, "run", manifest.as_ref())?;
        let host = host(&path.join(HOST_FILE), manifest.as_ref())?;
        Ok(RunFolder { path: path.to_owned(), run, host })
    }

    /// Opens what `path` names: the run folder, or every run folder of the index there, in its order.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_all(path: &Path) -> Result<Vec<RunFolder>, RunFolderError> {
        if !path.join(INDEX_FILE).exists() {
            return Ok(vec![RunFolder::open(path)?]);
        }
        RunIndex::open(path)?.runs.iter().map(|run| run.open(path)).collect()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `run.json` holds.
    pub fn run(&self) -> &Map<String, Value> {
        &self.run
    }

    /// What `host.json` holds, `Null` if a cut run left none.
    pub fn host(&self) -> &Value {
        &self.host
    }

    /// Whether the run reached its end.
    pub fn complete(&self) -> bool {
        self.run.get("complete").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether all of the run was recorded, though the folder was perhaps not completed: its report or its name is missing.
    pub fn recorded(&self) -> bool {
        self.complete() || self.run.get("recorded").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Why the folder was not completed.
    pub fn reason(&self) -> Option<&str> {
        self.run.get("reason").and_then(Value::as_str)
    }

    /// Whether it has sojourn times: folders of early programs have none, and no manifest that lists them.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the manifest cannot be read.
    pub fn has_sojourn(&self) -> Result<bool, FileError> {
        self.has_table::<SojournRecord>()
    }

    /// Whether it has probes: only runs that send some have.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the manifest cannot be read.
    pub fn has_probes(&self) -> Result<bool, FileError> {
        self.has_table::<ProbeRecord>()
    }

    fn has_table<R: Row>(&self) -> Result<bool, FileError> {
        let path = table_path::<R>(&self.path);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let lists = |manifest: Manifest| manifest.files().contains_key(name);
        Ok(path.exists() || Manifest::open(&self.path)?.is_some_and(lists))
    }

    /// Time between queue samples.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the queue table cannot be opened or does not say.
    pub fn queue_interval(&self) -> Result<Duration, FileError> {
        let table = self.table::<QueueSample>()?;
        let nanos = table.metadata(QUEUE_INTERVAL_KEY).and_then(|text| text.parse().ok());
        nanos.map(Duration::from_nanos).ok_or_else(|| FileError::Metadata {
            path: table_path::<QueueSample>(&self.path),
            problem: format!("its metadata has no {QUEUE_INTERVAL_KEY}"),
        })
    }

    tables! {
        /// The replayed connections, in the order they ended.
        connections: ConnectionRow;
        /// Their epochs.
        epochs: EpochRow;
        /// Their ADUs.
        adus: AduRow;
        /// Queue samples, by time.
        queue: QueueSample;
        /// Throughput: the original's bins by time, the replay's by time.
        throughput: ThroughputRow;
        /// Active connections: the original's by time, then the replay's by time.
        active: ActiveRow;
        /// Dropped packets, by time.
        drops: DropRecord;
        /// Sojourn times at the bottleneck, by direction, class, fate and time.
        sojourn: SojournRecord;
        /// What DelayBox drew, in the order in which connections began; of each, its initiator's packets first.
        flows: FlowRow;
        /// Flows of sources beside the workload, in the order they ended.
        sources: SourceRecord;
        /// Changes of congestion windows, by time.
        tcp_trace: WindowRecord;
        /// How late things of a live run were, by what and how much.
        lateness: LatenessRow;
        /// Probes, in the order in which they were over; folders of runs without them have no such table.
        probes: ProbeRecord;
    }

    fn table<R: Row>(&self) -> Result<TableReader<R>, FileError> {
        TableReader::open(&table_path::<R>(&self.path), VERSION)
    }
}

/// What the `host.json` at `path` holds.
fn host(path: &Path, manifest: Option<&Manifest>) -> Result<Value, FileError> {
    let text = match regular::read(path) {
        Ok(text) => text,
        // A cut run may not have got that far.
        Err(error) if error.kind() == io::ErrorKind::NotFound && manifest.is_none() => return Ok(Value::Null),
        Err(source) => return Err(FileError::Read { path: path.to_owned(), source }),
    };
    if let Some(manifest) = manifest {
        manifest.check(path, &text)?;
    }
    serde_json::from_slice(&text)
        .map_err(|error| FileError::Metadata { path: path.to_owned(), problem: error.to_string() })
}
