//! Run folders, written while the run goes on.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flowloom_core::record::{
    ConnectionRecord, DropRecord, EpochRecord, Outcome, ProbeRecord, QueueSample, Record, Recorder, Series,
    SojournRecord, SourceRecord, ThroughputBin, Traffic, WindowRecord,
};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Close, ConnectionVector, LinkSide, Side, sum_of_known};
use serde_json::{Map, Value, json};

use super::active::ActiveCount;
use super::files::{
    HOST_FILE, QUEUE_INTERVAL_KEY, RUN_FILE, RunFolderError, VERSION, check_target, name_result, table_path,
};
use super::json as json_file;
use super::missing::{self, missing_traffic};
use super::rows::{
    ActivePoint, ActiveRow, AduRow, ConnectionRow, EpochRow, FlowRow, LatenessRow, Point, ThroughputRow, TrafficPoint,
};
use crate::manifest::Manifest;
use crate::reserve::{Reserve, ReservedFile};
use crate::staged::{StagedFolder, real};
use crate::table::{FileError, Row, TableWriter};

/// A response whose last byte is older than this when the record ends is over (Q of methods A.5.2).
const QUIET: Duration = Duration::from_millis(500);

/// How a run folder is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Replace a run folder of the same name.
    pub replace: bool,
    /// Time between queue samples, for the queue table's metadata.
    pub queue_interval: Duration,
    /// First to last packet of the original. An epoch that this end cut has no response time (methods M.4).
    /// `None` if nothing was cut.
    pub original_duration: Option<Duration>,
}

/// Records a run into a folder that gets its name when [`Self::finish`]ed. A writer dropped before that, or after
/// an error, leaves under the temporary name what was recorded, with `"complete": false` and the reason in its
/// `run.json`; if nothing was recorded, or it cannot be written, nothing is left.
pub struct RunWriter {
    /// Where the name that was given leads.
    target: PathBuf,
    options: RunOptions,
    /// `None` once the folder is whole.
    folder: Option<StagedFolder>,
    /// For closing the tables where the disk is full.
    reserve: Reserve,
    /// `None` once closing them was tried.
    tables: Option<Tables>,
    /// Closing them went well: with a `run.json` the folder can be read.
    closed: bool,
    /// Rows of `throughput.parquet` that are the original's.
    original_bins: u64,
    original_active: ActiveCount,
    replay_active: ActiveCount,
    /// `run.json` and `host.json` as written last.
    said: (Map<String, Value>, Value),
    /// Why recording stopped, if it did.
    failure: Option<String>,
}

struct Tables {
    connections: Table<ConnectionRow>,
    epochs: Table<EpochRow>,
    adus: Table<AduRow>,
    queue: Table<QueueSample>,
    throughput: Table<ThroughputRow>,
    active: Table<ActiveRow>,
    drops: Table<DropRecord>,
    sojourn: Table<SojournRecord>,
    flows: Table<FlowRow>,
    sources: Table<SourceRecord>,
    tcp_trace: Table<WindowRecord>,
    lateness: Table<LatenessRow>,
    /// From the first probe on.
    probes: Option<Table<ProbeRecord>>,
    open: Open,
}

/// An open table and its name for errors.
struct Table<R: Row> {
    path: PathBuf,
    writer: TableWriter<R, ReservedFile>,
}

impl<R: Row> Table<R> {
    fn create(folder: &Path, reserve: &Reserve, open: Open) -> Result<Table<R>, FileError> {
        let path = table_path::<R>(folder);
        let file = open(&path).map_err(|source| FileError::Write { path: path.clone(), source })?;
        let file = ReservedFile::new(file, reserve);
        let writer = TableWriter::new(file, VERSION).map_err(|error| FileError::write(&path, error))?;
        Ok(Table { path, writer })
    }

    fn write(&mut self, row: R) -> Result<(), FileError> {
        self.writer.write(row).map_err(|error| FileError::write(&self.path, error))
    }

    fn finish(self, metadata: &[(&str, String)]) -> Result<(), FileError> {
        self.writer.finish(metadata).map(drop).map_err(|error| FileError::write(&self.path, error))
    }
}

/// How table files are made: a test makes ones that cannot be written.
type Open = fn(&Path) -> io::Result<File>;

fn open_new(path: &Path) -> io::Result<File> {
    File::create_new(path)
}

impl RunWriter {
    /// Starts the run folder `target`.
    ///
    /// # Errors
    ///
    /// [`RunFolderError::Exists`] if it exists and is not empty and `replace` is not set,
    /// [`RunFolderError::NotReplaceable`] if it is set and what exists is no run folder, or what the file system says.
    pub fn create(target: &Path, options: RunOptions) -> Result<RunWriter, RunFolderError> {
        RunWriter::create_with(target, options, open_new)
    }

    fn create_with(target: &Path, options: RunOptions, open: Open) -> Result<RunWriter, RunFolderError> {
        check_target(target, options.replace)?;
        let error = |source| FileError::Write { path: target.to_owned(), source };
        let end = real(target).map_err(error)?;
        if let Some(parent) = end.parent() {
            fs::create_dir_all(parent).map_err(error)?;
        }
        let folder = StagedFolder::create(&end).map_err(error)?;
        let path = folder.path();
        let reserve = Reserve::on_disk_of(path);
        let tables = Tables {
            connections: Table::create(path, &reserve, open)?,
            epochs: Table::create(path, &reserve, open)?,
            adus: Table::create(path, &reserve, open)?,
            queue: Table::create(path, &reserve, open)?,
            throughput: Table::create(path, &reserve, open)?,
            active: Table::create(path, &reserve, open)?,
            drops: Table::create(path, &reserve, open)?,
            sojourn: Table::create(path, &reserve, open)?,
            flows: Table::create(path, &reserve, open)?,
            sources: Table::create(path, &reserve, open)?,
            tcp_trace: Table::create(path, &reserve, open)?,
            lateness: Table::create(path, &reserve, open)?,
            probes: None,
            open,
        };
        Ok(RunWriter {
            target: end,
            options,
            folder: Some(folder),
            reserve,
            tables: Some(tables),
            closed: false,
            said: (Map::new(), json!({})),
            original_bins: 0,
            original_active: ActiveCount::default(),
            replay_active: ActiveCount::default(),
            failure: None,
        })
    }

    /// Whether [`Self::create`] would start `target` with this `replace`: says no before work that would be in vain.
    ///
    /// # Errors
    ///
    /// As [`Self::create`], before anything is made.
    pub fn check(target: &Path, replace: bool) -> Result<(), RunFolderError> {
        check_target(target, replace)
    }

    /// The folder under its temporary name, for files beside the tables. The empty path once it has its own name.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), StagedFolder::path)
    }

    /// Room that is kept back for completing the folder where the disk is full.
    pub fn reserve(&self) -> &Reserve {
        &self.reserve
    }

    /// Closes the tables, so that the folder can be read under its temporary name: what [`Self::finish`] will say
    /// of the run may depend on what a reader finds. Until then its `run.json` says that it is not complete.
    ///
    /// # Errors
    ///
    /// [`RunFolderError::NotAnObject`], or [`FileError::Write`].
    pub fn close(&mut self, run: &Value, host: &Value) -> Result<PathBuf, RunFolderError> {
        let mut object = run.clone();
        let Value::Object(fields) = &mut object else { return Err(RunFolderError::NotAnObject) };
        fields.insert("complete".to_owned(), false.into());
        let written = self.write_files(object, host);
        written.inspect_err(|error| self.failure = Some(error.to_string()))?;
        Ok(self.folder().to_owned())
    }

    /// Says why the folder will not be finished, for its `run.json`.
    pub fn blame(&mut self, reason: &str) {
        self.failure = Some(reason.to_owned());
    }

    /// Records one of the original's traffic series: `point` is `Original` or `SetAside`.
    ///
    /// # Errors
    ///
    /// [`FileError::Write`] if the table cannot grow.
    pub fn original_traffic(
        &mut self,
        point: TrafficPoint,
        from: LinkSide,
        series: &Series,
    ) -> Result<(), RunFolderError> {
        let width = series.width();
        self.original_bins += series.bins().count() as u64;
        self.write(|tables| {
            series.bins().try_for_each(|&(index, traffic)| {
                let start = Time::ZERO + width * index;
                let link = from as u16;
                tables.throughput.write(ThroughputRow { point, link, from, start, width, traffic })
            })
        })
    }

    /// Records what a real link carried from `from`, by time: the start of each interval, its width, and the bytes.
    ///
    /// # Errors
    ///
    /// [`FileError::Write`] if the table cannot grow.
    pub fn real_link(
        &mut self,
        from: LinkSide,
        intervals: impl IntoIterator<Item = (Time, Duration, u64)>,
    ) -> Result<(), RunFolderError> {
        let mut written = 0;
        let result = self.write(|tables| {
            intervals.into_iter().try_for_each(|(start, width, bytes)| {
                let (point, link) = (TrafficPoint::RealLink, from as u16);
                let traffic = Traffic { bytes, ..Traffic::default() };
                written += 1;
                tables.throughput.write(ThroughputRow { point, link, from, start, width, traffic })
            })
        });
        self.original_bins += written;
        result
    }

    /// Records how late something of a live run was.
    ///
    /// # Errors
    ///
    /// [`FileError::Write`] if the table cannot grow.
    pub fn lateness(&mut self, row: LatenessRow) -> Result<(), RunFolderError> {
        self.write(|tables| tables.lateness.write(row))
    }

    /// Completes the folder and gives it its name. `run` must be an object; `format`, `version` and, unless it says
    /// otherwise (an interrupted run does), `"complete": true` are added to it. Only inputs, options and seed may
    /// decide what `run` holds; all that may vary belongs in `host` (methods M.11). A run that is not complete replaces
    /// nothing: where its name is taken, it gets that of a part beside it (`NAME.part`). Returns the name.
    ///
    /// # Errors
    ///
    /// [`RunFolderError::NotAnObject`] or [`FileError::Write`]: what was recorded is left as by a drop.
    /// [`RunFolderError::NotNamed`] if the name was taken meanwhile: the run is whole under its temporary name.
    pub fn finish(mut self, run: &Value, host: &Value) -> Result<PathBuf, RunFolderError> {
        let result = self.complete(run, host);
        if let Err(error) = &result {
            self.failure = Some(error.to_string());
        }
        result
    }

    fn complete(&mut self, run: &Value, host: &Value) -> Result<PathBuf, RunFolderError> {
        let Value::Object(fields) = run else { return Err(RunFolderError::NotAnObject) };
        let mut object = json!({ "complete": true });
        if let Value::Object(object) = &mut object {
            object.extend(fields.clone());
        }
        let is_complete = object["complete"] != Value::Bool(false);
        self.write_files(object, host)?;
        self.write_manifest()?;
        let Some(folder) = self.folder.take() else { return Ok(self.target.clone()) };
        // From here on the run is whole: whatever happens, it stays.
        let left = folder.keep();
        self.rename(&left, is_complete).map_err(|reason| RunFolderError::NotNamed { left, reason: Box::new(reason) })
    }

    /// Closes the tables and writes the JSON files.
    fn write_files(&mut self, mut run: Value, host: &Value) -> Result<(), RunFolderError> {
        if let Some(mut tables) = self.tables.take() {
            let original = self.original_active.rows(ActivePoint::Original);
            original
                .chain(self.replay_active.rows(ActivePoint::Replay))
                .try_for_each(|row| tables.active.write(row))?;
            tables.finish(self.options.queue_interval)?;
            self.reserve.give_back();
            self.closed = true;
        }
        if let Value::Object(run) = &run {
            self.said = (run.clone(), host.clone());
        }
        run["format"] = "run".into();
        run["version"] = VERSION.into();
        if let Some(folder) = &self.folder {
            json_file::write(&folder.path().join(HOST_FILE), host)?;
            // Last, because a folder with a run.json is one that can be read.
            json_file::write(&folder.path().join(RUN_FILE), &run)?;
        }
        Ok(())
    }

    /// Writes the manifest of all that is in the folder.
    fn write_manifest(&self) -> Result<(), FileError> {
        self.folder.as_ref().map_or(Ok(()), |folder| Manifest::of(folder.path())?.write(folder.path()))
    }

    /// Gives the folder its name.
    fn rename(&self, folder: &Path, is_complete: bool) -> Result<PathBuf, RunFolderError> {
        name_result(folder, &self.target, self.options.replace, is_complete)
    }

    /// Passes the tables to `write` and remembers why it failed.
    fn write(&mut self, write: impl FnOnce(&mut Tables) -> Result<(), FileError>) -> Result<(), RunFolderError> {
        let Some(tables) = &mut self.tables else { return Err(RunFolderError::Closed) };
        write(tables).map_err(|error| {
            self.failure = Some(error.to_string());
            error.into()
        })
    }

    /// Leaves what was recorded under the temporary name, readable; nothing if there is nothing or it cannot be.
    fn abandon(&mut self) {
        if !self.tables.as_ref().map_or(self.closed, |tables| tables.has_data(self.original_bins)) {
            return;
        }
        let reason = self.failure.take().unwrap_or_else(|| "the program stopped before the run was over".to_owned());
        // What the run said of itself when it was closed stays.
        let (mut run, host) = std::mem::take(&mut self.said);
        if self.closed && !run.is_empty() {
            run.insert("recorded".to_owned(), true.into());
        }
        run.insert("complete".to_owned(), false.into());
        run.insert("reason".to_owned(), reason.into());
        if self.write_files(Value::Object(run), &host).is_ok()
            && self.write_manifest().is_ok()
            && let Some(folder) = self.folder.take()
        {
            let _ = folder.keep();
        }
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        // Nothing is known of a run in which the program failed: nothing of it stays.
        if self.folder.is_some() && !std::thread::panicking() {
            self.abandon();
        }
    }
}

impl Tables {
    /// Whether a run recorded anything, beside so many rows that are the original's.
    fn has_data(&self, original_bins: u64) -> bool {
        self.connections.writer.written() + self.queue.writer.written() > 0
            || self.throughput.writer.written() > original_bins
            || self.drops.writer.written() + self.sources.writer.written() + self.tcp_trace.writer.written() > 0
    }

    fn finish(self, queue_interval: Duration) -> Result<(), FileError> {
        self.connections.finish(&[])?;
        self.epochs.finish(&[])?;
        self.adus.finish(&[])?;
        self.queue.finish(&[(QUEUE_INTERVAL_KEY, queue_interval.as_nanos().to_string())])?;
        self.throughput.finish(&[])?;
        self.active.finish(&[])?;
        self.drops.finish(&[])?;
        self.sojourn.finish(&[])?;
        self.flows.finish(&[])?;
        self.sources.finish(&[])?;
        self.tcp_trace.finish(&[])?;
        self.lateness.finish(&[])?;
        self.probes.map_or(Ok(()), |probes| probes.finish(&[]))
    }

    /// Records epochs and ADUs of `vector` as seen at `point`. `cut` says whether the record ended inside the last one.
    fn exchanges(&mut self, point: Point, id: u64, vector: &ConnectionVector, cut: bool) -> Result<(), FileError> {
        let mut epochs = vector.epochs().enumerate().peekable();
        while let Some((index, epoch)) = epochs.next() {
            let first = epoch.request.or(epoch.response);
            let is_cut = cut && epochs.peek().is_none();
            self.epochs.write(EpochRow {
                point,
                connection: id,
                epoch: number(index),
                request_bytes: epoch.request.map(|adu| adu.bytes),
                response_bytes: epoch.response.map(|adu| adu.bytes),
                start: first.and_then(|adu| adu.seen).map(|seen| vector.start + seen.first),
                response: epoch.response_time().filter(|_| !is_cut),
                intended: None,
            })?;
        }
        for (index, adu) in vector.adus.iter().enumerate() {
            self.adus.write(AduRow {
                point,
                connection: id,
                index: number(index),
                side: adu.side,
                bytes: adu.bytes,
                first: adu.seen.map(|seen| vector.start + seen.first),
                last: adu.seen.map(|seen| vector.start + seen.last),
                wait: adu.wait,
            })?;
        }
        Ok(())
    }

    /// Records epochs as the replay's ends saw them, with the sizes the vector asked for.
    fn endpoint_epochs(&mut self, original: &ConnectionVector, records: &[EpochRecord]) -> Result<(), FileError> {
        let mut sizes = original.epochs().enumerate().map(|(index, epoch)| (number(index), epoch)).peekable();
        for record in records {
            while sizes.next_if(|(index, _)| *index < record.epoch).is_some() {}
            let epoch = sizes.peek().filter(|(index, _)| *index == record.epoch).map(|(_, epoch)| epoch);
            self.epochs.write(EpochRow {
                point: Point::Endpoint,
                connection: original.id,
                epoch: record.epoch,
                request_bytes: epoch.and_then(|epoch| epoch.request).map(|adu| adu.bytes),
                response_bytes: epoch.and_then(|epoch| epoch.response).map(|adu| adu.bytes),
                start: Some(record.start),
                response: record.end.map(|end| end.since(record.start)),
                intended: record.intended,
            })?;
        }
        Ok(())
    }
}

/// A position in a list of ADUs, which memory keeps far below 2^32.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

impl Recorder for RunWriter {
    type Error = RunFolderError;

    fn record(&mut self, record: Record<'_>) -> Result<(), RunFolderError> {
        match record {
            Record::Connection { original, ended, epochs, monitor } => {
                self.write_connection(original, ended, epochs, monitor)
            }
            Record::Source { source } => self.write(|tables| tables.sources.write(source.clone())),
            Record::Probe { probe } => self.write_probe(probe),
            Record::Flow { connection, flow } => self.write(|tables| {
                Side::BOTH.into_iter().try_for_each(|sender| tables.flows.write(FlowRow::new(connection, flow, sender)))
            }),
            Record::Queue { sample } => match sample.packets {
                0 => Ok(()),
                _ => self.write(|tables| tables.queue.write(*sample)),
            },
            Record::Throughput { bin } => self.write_bin(bin),
            Record::Sojourn { bin } => self.write(|tables| tables.sojourn.write(*bin)),
            Record::Dropped { packet } => self.write(|tables| tables.drops.write(*packet)),
            Record::Window { change } => self.write(|tables| tables.tcp_trace.write(*change)),
            // A run folder keeps no packets.
            Record::Packet { .. } => Ok(()),
        }
    }
}

impl RunWriter {
    fn write_connection(
        &mut self,
        original: &ConnectionVector,
        ended: &ConnectionRecord,
        epochs: &[EpochRecord],
        monitor: Option<&ConnectionVector>,
    ) -> Result<(), RunFolderError> {
        self.original_active.add(original.start, original.end());
        if let Some(monitor) = monitor {
            self.replay_active.add(monitor.start, monitor.end());
        }
        let cut = cut_by_end(original, self.options.original_duration);
        let unfinished = ended.outcome == Outcome::Unfinished;
        self.write(|tables| {
            tables.connections.write(connection_row(original, ended, monitor))?;
            tables.exchanges(Point::Original, original.id, original, cut)?;
            if let Some(monitor) = monitor {
                for (from, start, traffic) in missing_traffic(original, monitor) {
                    let (point, link) = (TrafficPoint::ReplayMissing, from as u16);
                    tables.throughput.write(ThroughputRow {
                        point,
                        link,
                        from,
                        start,
                        width: missing::WIDTH,
                        traffic,
                    })?;
                }
                tables.exchanges(Point::Monitor, original.id, monitor, unfinished)?;
            }
            tables.endpoint_epochs(original, epochs)
        })
    }

    /// Runs without probes have no table for them.
    fn write_probe(&mut self, probe: &ProbeRecord) -> Result<(), RunFolderError> {
        let (folder, reserve) = (self.folder().to_owned(), self.reserve.clone());
        self.write(|tables| {
            let table = match tables.probes.take() {
                Some(table) => table,
                None => Table::create(&folder, &reserve, tables.open)?,
            };
            tables.probes.insert(table).write(*probe)
        })
    }

    fn write_bin(&mut self, bin: &ThroughputBin) -> Result<(), RunFolderError> {
        let &ThroughputBin { start, width, link, from, offered, carried } = bin;
        self.write(|tables| {
            for (point, traffic) in [(TrafficPoint::ReplayOffered, offered), (TrafficPoint::ReplayCarried, carried)] {
                if traffic != Traffic::default() {
                    tables.throughput.write(ThroughputRow { point, link, from, start, width, traffic })?;
                }
            }
            Ok(())
        })
    }
}

fn connection_row(
    original: &ConnectionVector,
    record: &ConnectionRecord,
    monitor: Option<&ConnectionVector>,
) -> ConnectionRow {
    let [delivered_to_acceptor_bytes, delivered_to_initiator_bytes] = record.delivered_bytes;
    let lost =
        |side: Side| original.ends[side].segments.map(|seen| seen.lost_before.saturating_add(seen.repeated.lost()));
    ConnectionRow {
        id: original.id,
        class: record.class,
        start: original.start,
        pattern: original.pattern,
        complete: original.complete,
        initiator_side: original.initiator_side,
        initiator_bytes: original.bytes(Side::Initiator),
        acceptor_bytes: original.bytes(Side::Acceptor),
        outcome: record.outcome,
        syn_sent: Some(record.start),
        established: record.established,
        first_data: record.first_data,
        last_data: record.last_data,
        closed: record.closed,
        original_duration: original.duration(),
        monitor_duration: monitor.and_then(ConnectionVector::duration),
        endpoint_duration: record.first_data.zip(record.last_data).map(|(first, last)| last.since(first)),
        original_end: original.end(),
        monitor_start: monitor.map(|monitor| monitor.start),
        monitor_end: monitor.and_then(ConnectionVector::end),
        original_rtt: original.min_rtt(),
        monitor_rtt: monitor.and_then(ConnectionVector::min_rtt),
        path_rtt: record.rtt,
        retransmissions: record.retransmissions,
        timeouts: record.timeouts,
        delivered_to_acceptor_bytes,
        delivered_to_initiator_bytes,
        carried_bytes: record.carried_bytes,
        original_lost_segments: sum_of_known(Side::BOTH.map(lost)),
    }
}

/// Whether the end of the original's record may have cut the connection's last ADU: it was neither closed nor quiet.
fn cut_by_end(vector: &ConnectionVector, record: Option<Duration>) -> bool {
    let Some(record) = record else { return false };
    let Some(data) = vector.data_span() else { return false };
    vector.close == Close::NotSeen && (Time::ZERO + record).since(vector.start + data.last) < QUIET
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every write to it fails as on a full disk.
    fn open_full(_: &Path) -> io::Result<File> {
        fs::OpenOptions::new().write(true).open("/dev/full")
    }

    #[test]
    fn a_full_disk_leaves_nothing_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run");
        let mut writer = RunWriter::create_with(&target, RunOptions::default(), open_full).unwrap();
        let sample = QueueSample { time: Time::ZERO, link: 0, from: LinkSide::Left, packets: 1, bytes: 1 };
        // Enough for a row group, so that the error comes while the run goes on.
        let error = (0..1_000_000).find_map(|_| writer.record(Record::Queue { sample: &sample }).err());
        let text = error.expect("a row group of samples is more than a buffer holds").to_string();
        assert!(text.contains("queue.parquet") && text.contains("No space left on device"), "{text}");
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        let writer = RunWriter::create_with(&target, RunOptions::default(), open_full).unwrap();
        let text = writer.finish(&json!({}), &json!({})).unwrap_err().to_string();
        assert!(text.contains("No space left on device"), "{text}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
