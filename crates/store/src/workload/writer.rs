//! Vectors into a workload file.

use std::fs::File;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flowloom_core::sketch::Sketch;
use flowloom_core::time::Time;
use flowloom_core::workload::{ConnectionVector, Protocol};

use super::facts::{CaptureFacts, Provenance, TrafficFacts, WorkloadFacts};
use super::keys::{FACTS_KEY, TRAFFIC_KEY, VERSION};
use crate::manifest;
use crate::staged::{StagedFile, Target};
use crate::table::FileError as WorkloadError;
use crate::table::TableWriter;

/// Writes a workload file. Until [`Self::finish`] nothing exists under its name, and if it is dropped before,
/// nothing is left.
pub struct WorkloadWriter {
    staged: StagedFile,
    table: TableWriter<ConnectionVector, File>,
    last: Option<(Time, u64)>,
    rtt: Sketch,
    datagram_flows: u64,
}

impl WorkloadWriter {
    /// Starts a workload file at `path`; one that exists is replaced at the end.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Write`] if no file can be made there.
    pub fn create(path: &Path) -> Result<WorkloadWriter, WorkloadError> {
        WorkloadWriter::stage(path, true)
    }

    /// The same; a file that exists at `path`, now or at the end, is replaced only where the writer `replaces` it.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Write`] if no file can be made there, or `path` is a pipe: a workload is read from its end.
    pub fn stage(path: &Path, replaces: bool) -> Result<WorkloadWriter, WorkloadError> {
        let staged = match Target::of(path) {
            Ok(Target::Pipe) => Err(std::io::Error::other("a Parquet file cannot be written to a pipe")),
            _ => StagedFile::create(path, replaces),
        };
        let (staged, out) = staged.map_err(|source| write_error(path, source))?;
        WorkloadWriter::over(staged, out)
    }

    /// A writer whose bytes go to `out`, so that a test can make writing fail.
    pub(super) fn over(staged: StagedFile, out: File) -> Result<WorkloadWriter, WorkloadError> {
        let table = TableWriter::new(out, VERSION).map_err(|error| WorkloadError::write(staged.path(), error))?;
        Ok(WorkloadWriter { staged, table, last: None, rtt: Sketch::default(), datagram_flows: 0 })
    }

    /// Adds a connection. Connections must come sorted by start, ties by id.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Unsorted`], or [`WorkloadError::Write`] if the file cannot grow. After an error the writer
    /// is of no more use.
    pub fn write(&mut self, vector: &ConnectionVector) -> Result<(), WorkloadError> {
        self.write_owned(vector.clone())
    }

    /// [`Self::write`] for a vector that is needed no more.
    ///
    /// # Errors
    ///
    /// Those of [`Self::write`].
    pub fn write_owned(&mut self, vector: ConnectionVector) -> Result<(), WorkloadError> {
        let key = (vector.start, vector.id);
        if self.last.replace(key).is_some_and(|last| last >= key) {
            return Err(WorkloadError::Unsorted { path: self.staged.path().to_owned(), row: self.table.written() });
        }
        if vector.protocol != Protocol::Tcp {
            self.datagram_flows += 1;
        } else if let Some(rtt) = vector.min_rtt() {
            self.rtt.add(rtt.as_nanos());
        }
        self.table.write(vector).map_err(|error| WorkloadError::write(self.staged.path(), error))
    }

    /// Completes the file and gives it its name. Series with more than 65,536 bins are stored in wider ones.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::Write`]; then nothing is left.
    pub fn finish(
        self,
        provenance: Provenance,
        capture: CaptureFacts,
        traffic: &TrafficFacts,
    ) -> Result<WorkloadFacts, WorkloadError> {
        let (staged, facts) = self.close(provenance, capture, traffic)?;
        let path = staged.path().to_owned();
        manifest::commit(staged).map_err(|source| write_error(&path, source))?;
        Ok(facts)
    }

    /// The same for a part, because the work was stopped: it replaces nothing. Where its name is taken, it gets that of a part beside it
    /// (`NAME.part`), which is returned; `None` of a device.
    ///
    /// # Errors
    ///
    /// Those of [`Self::finish`].
    pub fn finish_part(
        self,
        provenance: Provenance,
        capture: CaptureFacts,
        traffic: &TrafficFacts,
    ) -> Result<Option<PathBuf>, WorkloadError> {
        let (staged, _) = self.close(provenance, capture, traffic)?;
        let path = staged.path().to_owned();
        manifest::commit_part(staged).map_err(|source| write_error(&path, source))
    }

    /// Completes the file under its temporary name.
    fn close(
        self,
        provenance: Provenance,
        capture: CaptureFacts,
        traffic: &TrafficFacts,
    ) -> Result<(StagedFile, WorkloadFacts), WorkloadError> {
        let facts = WorkloadFacts {
            provenance,
            capture,
            connections: self.table.written(),
            datagram_flows: self.datagram_flows,
            connections_without_rtt: self.table.written() - self.datagram_flows - self.rtt.count(),
            rtt_median_ns: self.rtt.empirical().quantile(0.5),
            traffic: traffic.bounded(),
        };
        let path = self.staged.path().to_owned();
        let encode = || -> std::io::Result<[(&str, String); 2]> {
            let series = zstd::bulk::compress(&serde_json::to_vec(&facts.traffic)?, 3)?;
            Ok([(FACTS_KEY, serde_json::to_string(&facts)?), (TRAFFIC_KEY, STANDARD.encode(series))])
        };
        let metadata = encode().map_err(|source| write_error(&path, source))?;
        self.table.finish(&metadata).map_err(|error| WorkloadError::write(&path, error))?;
        Ok((self.staged, facts))
    }
}

fn write_error(path: &Path, source: std::io::Error) -> WorkloadError {
    WorkloadError::Write { path: path.to_owned(), source }
}
