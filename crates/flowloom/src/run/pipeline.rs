//! A run on three threads: one reads vectors ahead of the simulation, one writes its records behind it.
//!
//! The simulation stays on the thread of the caller. What goes from thread to thread goes in batches of bounded size
//! over channels of bounded length, so that memory does not depend on which of the three is slow. Vectors come, and
//! records of each kind go, in the order they have on one thread: files are the same, byte for byte.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::ScopedJoinHandle;

use flowloom_core::path::Flow;
use flowloom_core::record::{
    ConnectionRecord, DropRecord, EpochRecord, PacketRecord, ProbeRecord, QueueSample, Record, Recorder, SojournRecord,
    SourceRecord, ThroughputBin, WindowRecord,
};
use flowloom_core::workload::ConnectionVector;
use flowloom_sim::RunError;
use flowloom_store::workload::WorkloadError;

use crate::error::Error;
use crate::run::recording::Unrecorded;

/// A vector, or why there are no more.
pub type Read = Result<ConnectionVector, WorkloadError>;

/// A batch of vectors is full at so many ADUs; a vector alone may have more.
const READ_WEIGHT: usize = 4_096;

/// A batch of records is full at so many rows.
const WRITE_WEIGHT: usize = 4_096;

/// Batches that may wait between two threads.
const WAITING: usize = 3;

/// Runs `simulate` with the vectors and a recorder that are at the other ends of the two channels.
///
/// # Errors
/// The simulation's; or the recorder's, which is why a simulation stopped that could record no more.
pub fn run<T, E: From<RunError<WorkloadError, Unrecorded>>>(
    vectors: impl Iterator<Item = Read> + Send,
    recorder: &mut (impl Recorder<Error = Unrecorded> + Send),
    simulate: impl FnOnce(&mut dyn Iterator<Item = Read>, &mut dyn Recorder<Error = Unrecorded>) -> Result<T, E>,
) -> Result<T, E> {
    std::thread::scope(|scope| {
        let (read, batches) = sync_channel(WAITING);
        let reader = scope.spawn(move || read_ahead(vectors, &read));
        let mut ahead = Ahead { batches, batch: Vec::new().into_iter() };

        let (full, to_write) = sync_channel(WAITING);
        let (written, spare) = channel();
        let writer = scope.spawn(move || write_behind(&to_write, &written, recorder));
        let mut behind = Behind { batch: Batch::default(), full, spare };

        let simulated = simulate(&mut ahead, &mut behind);
        // A reader that is ahead finds that nobody wants more.
        drop(ahead);
        let last = behind.hand_on();
        drop(behind);
        joined(reader);
        // Why the writer stopped comes before that the simulation found it had.
        joined(writer).and(last).map_err(RunError::Recorder)?;
        simulated
    })
}

/// What a thread came to. Its panic is everybody's.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads until the end, an error, or nobody wants more.
fn read_ahead(vectors: impl Iterator<Item = Read>, to: &SyncSender<Vec<Read>>) {
    let (mut batch, mut weight) = (Vec::new(), 0);
    for vector in vectors {
        weight += vector.as_ref().map_or(READ_WEIGHT, |vector| 1 + vector.adus.len());
        batch.push(vector);
        if weight >= READ_WEIGHT {
            if to.send(std::mem::take(&mut batch)).is_err() {
                return;
            }
            weight = 0;
        }
    }
    // If nobody wants them, nobody misses them.
    let _ = to.send(batch);
}

/// Vectors that another thread has read.
struct Ahead {
    batches: Receiver<Vec<Read>>,
    batch: std::vec::IntoIter<Read>,
}

impl Iterator for Ahead {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        if self.batch.len() == 0 {
            self.batch = self.batches.recv().ok()?.into_iter();
        }
        self.batch.next()
    }
}

/// Writes until there is no more, or not possible any more.
fn write_behind(
    from: &Receiver<Batch>,
    back: &Sender<Batch>,
    recorder: &mut impl Recorder<Error = Unrecorded>,
) -> Result<(), Unrecorded> {
    for mut batch in from {
        batch.record(recorder)?;
        // At the end nobody fills it again.
        let _ = back.send(batch);
    }
    Ok(())
}

/// Records for another thread to write.
struct Behind {
    batch: Batch,
    full: SyncSender<Batch>,
    /// Batches that were written, with room for others.
    spare: Receiver<Batch>,
}

/// Records in the order they came, by kind: every kind has a file of its own.
#[derive(Default)]
struct Batch {
    connections: Vec<Ended>,
    queue: Vec<QueueSample>,
    throughput: Vec<ThroughputBin>,
    drops: Vec<DropRecord>,
    sojourns: Vec<SojournRecord>,
    flows: Vec<(u64, Flow)>,
    sources: Vec<SourceRecord>,
    probes: Vec<ProbeRecord>,
    windows: Vec<WindowRecord>,
    packets: Vec<(u16, PacketRecord)>,
    weight: usize,
}

/// A connection that ended.
struct Ended {
    original: ConnectionVector,
    record: ConnectionRecord,
    epochs: Vec<EpochRecord>,
    monitor: Option<ConnectionVector>,
}

impl Batch {
    /// Records everything; the batch is empty then.
    fn record<R: Recorder>(&mut self, recorder: &mut R) -> Result<(), R::Error> {
        for Ended { original, record, epochs, monitor } in self.connections.drain(..) {
            recorder.record(Record::Connection {
                original: &original,
                ended: &record,
                epochs: &epochs,
                monitor: monitor.as_ref(),
            })?;
        }
        self.queue.drain(..).try_for_each(|sample| recorder.record(Record::Queue { sample: &sample }))?;
        self.drops.drain(..).try_for_each(|packet| recorder.record(Record::Dropped { packet: &packet }))?;
        self.sojourns.drain(..).try_for_each(|bin| recorder.record(Record::Sojourn { bin: &bin }))?;
        self.flows
            .drain(..)
            .try_for_each(|(connection, flow)| recorder.record(Record::Flow { connection, flow: &flow }))?;
        self.sources.drain(..).try_for_each(|source| recorder.record(Record::Source { source: &source }))?;
        self.probes.drain(..).try_for_each(|probe| recorder.record(Record::Probe { probe: &probe }))?;
        self.windows.drain(..).try_for_each(|change| recorder.record(Record::Window { change: &change }))?;
        self.packets
            .drain(..)
            .try_for_each(|(link, packet)| recorder.record(Record::Packet { link, packet: &packet }))?;
        // After all that happened until its bins were over.
        self.throughput.drain(..).try_for_each(|bin| recorder.record(Record::Throughput { bin: &bin }))?;
        self.weight = 0;
        Ok(())
    }
}

impl Behind {
    /// So many rows were added.
    fn added(&mut self, rows: usize) -> Result<(), Unrecorded> {
        self.batch.weight += rows;
        if self.batch.weight < WRITE_WEIGHT { Ok(()) } else { self.hand_on() }
    }

    fn hand_on(&mut self) -> Result<(), Unrecorded> {
        let empty = self.spare.try_recv().unwrap_or_default();
        let sent = self.full.send(std::mem::replace(&mut self.batch, empty));
        // The writer says why when it is joined.
        sent.map_err(|_| Unrecorded(Error::new("the thread that writes has stopped")))
    }
}

impl Recorder for Behind {
    type Error = Unrecorded;

    fn record(&mut self, record: Record<'_>) -> Result<(), Unrecorded> {
        let mut rows = 1;
        match record {
            Record::Connection { original, ended, epochs, monitor } => {
                rows += original.adus.len() + epochs.len() + monitor.map_or(0, |vector| vector.adus.len());
                self.batch.connections.push(Ended {
                    original: original.clone(),
                    record: ended.clone(),
                    epochs: epochs.to_vec(),
                    monitor: monitor.cloned(),
                });
            }
            Record::Queue { sample } => self.batch.queue.push(*sample),
            Record::Throughput { bin } => self.batch.throughput.push(*bin),
            Record::Sojourn { bin } => self.batch.sojourns.push(*bin),
            Record::Dropped { packet } => self.batch.drops.push(*packet),
            Record::Flow { connection, flow } => self.batch.flows.push((connection, *flow)),
            Record::Source { source } => self.batch.sources.push(source.clone()),
            Record::Probe { probe } => self.batch.probes.push(*probe),
            Record::Window { change } => self.batch.windows.push(*change),
            Record::Packet { link, packet } => self.batch.packets.push((link, *packet)),
        }
        self.added(rows)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use flowloom_core::time::Time;
    use flowloom_core::workload::LinkSide;

    use flowloom_sim::Summary;

    use super::*;

    type Simulated = Result<Summary, RunError<WorkloadError, Unrecorded>>;

    /// Keeps samples until there are so many.
    struct Kept {
        samples: Vec<QueueSample>,
        most: usize,
        panics: bool,
    }

    fn kept(most: usize) -> Kept {
        Kept { samples: Vec::new(), most, panics: false }
    }

    impl Recorder for Kept {
        type Error = Unrecorded;

        fn record(&mut self, record: Record<'_>) -> Result<(), Unrecorded> {
            let Record::Queue { sample } = record else { unreachable!("only samples here") };
            self.samples.push(*sample);
            assert!(!self.panics || self.samples.len() < self.most, "a defect");
            if self.samples.len() < self.most { Ok(()) } else { Err(Unrecorded(Error::new("full"))) }
        }
    }

    fn sample(packets: u64) -> QueueSample {
        QueueSample { time: Time::from_nanos(packets), link: 0, from: LinkSide::Left, packets, bytes: packets }
    }

    /// Vectors without an end.
    fn vectors() -> impl Iterator<Item = Read> + Send {
        (0..).map(|id| Ok(ConnectionVector { id, ..ConnectionVector::default() }))
    }

    fn records(count: u64, recorder: &mut dyn Recorder<Error = Unrecorded>) -> Simulated {
        (0..count)
            .try_for_each(|packets| recorder.record(Record::Queue { sample: &sample(packets) }))
            .map_err(RunError::Recorder)?;
        Ok(Summary::default())
    }

    #[test]
    fn everything_arrives_in_order() {
        for count in [0, 1, 4_095, 4_096, 4_097, 100_000] {
            let mut to = kept(usize::MAX);
            let simulated = run(vectors().take(count as usize), &mut to, |vectors, recorder| {
                assert!(vectors.map(|vector| vector.unwrap().id).eq(0..count));
                records(count, recorder)
            });
            simulated.unwrap();
            assert!(to.samples.into_iter().eq((0..count).map(sample)), "{count}");
        }
    }

    #[test]
    fn a_simulation_that_wants_no_more_ends_the_reader() {
        let simulated: Simulated = run(vectors(), &mut kept(usize::MAX), |vectors, _| {
            assert!(vectors.take(5_000).all(|vector| vector.is_ok()));
            Ok(Summary::default())
        });
        assert!(simulated.is_ok());
    }

    #[test]
    fn an_error_is_met_where_it_is() {
        let unsorted = |row| WorkloadError::Unsorted { path: "w".into(), row };
        let vectors = vectors().take(5_000).chain([Err(unsorted(5_000))]);
        let mut to = kept(usize::MAX);
        let simulated = run(vectors, &mut to, |vectors, recorder| {
            for vector in vectors {
                let vector = vector.map_err(RunError::Workload)?;
                recorder.record(Record::Queue { sample: &sample(vector.id) }).map_err(RunError::Recorder)?;
            }
            Ok(Summary::default())
        });
        assert!(matches!(simulated, Err(RunError::Workload(WorkloadError::Unsorted { row: 5_000, .. }))));
        assert_eq!(to.samples.len(), 5_000, "what was recorded before it is kept");
    }

    #[test]
    fn what_cannot_be_written_ends_the_simulation_and_is_what_is_said() {
        // Long before its end, and with the last batch.
        for (count, most) in [(u64::MAX, 10_000), (100, 50)] {
            let simulated = run(vectors(), &mut kept(most), |_, recorder| records(count, recorder));
            let Err(RunError::Recorder(Unrecorded(failure))) = simulated else { panic!("{simulated:?}") };
            assert_eq!(failure.cause, "full");
        }
    }

    #[test]
    fn a_panic_is_not_swallowed() {
        let panics = |run: &mut dyn FnMut() -> Simulated| catch_unwind(AssertUnwindSafe(run)).is_err();
        let mut defective = Kept { panics: true, ..kept(10_000) };
        assert!(panics(&mut || run(vectors(), &mut defective, |_, recorder| records(u64::MAX, recorder))), "writer");
        let unreadable = || vectors().inspect(|vector| assert!(vector.as_ref().unwrap().id < 10_000, "a defect"));
        let exhaust = |vectors: &mut dyn Iterator<Item = Read>| {
            vectors.for_each(drop);
            Ok(Summary::default())
        };
        assert!(panics(&mut || run(unreadable(), &mut kept(1), |vectors, _| exhaust(vectors))), "reader");
        assert!(panics(&mut || run(vectors(), &mut kept(1), |_, _| panic!("a defect"))), "simulation");
    }
}
