//! What the emulator's thread hands to the run: what the network records, in batches, and connections that are over.

use std::sync::mpsc::Sender;

use flowloom_core::path;
use flowloom_core::record::{
    ConnectionRecord, DropRecord, EpochRecord, PacketRecord, QueueSample, Recorder, ThroughputBin,
};
use flowloom_core::workload::ConnectionVector;
use flowloom_sim::Closed;

use crate::addresses::Serial;

/// From the emulator to the run, in the order in which it happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// What was recorded since the last of these.
    Records(Vec<Record>),
    /// A connection is over.
    Closed(Serial, Box<Closed>),
}

/// What the network records, for the [`Recorder`] of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// For [`Recorder::queue`].
    Queue(QueueSample),
    /// For [`Recorder::throughput`].
    Throughput(ThroughputBin),
    /// For [`Recorder::dropped`].
    Dropped(DropRecord),
    /// For [`Recorder::flow`].
    Flow(u64, path::Flow),
    /// For [`Recorder::packet`].
    Packet(u16, PacketRecord),
}

impl Record {
    /// Hands it to a recorder.
    ///
    /// # Errors
    /// The recorder's.
    pub fn replay<R: Recorder>(self, recorder: &mut R) -> Result<(), R::Error> {
        match self {
            Record::Queue(sample) => recorder.queue(sample),
            Record::Throughput(bin) => recorder.throughput(bin),
            Record::Dropped(record) => recorder.dropped(record),
            Record::Flow(connection, flow) => recorder.flow(connection, &flow),
            Record::Packet(link, packet) => recorder.packet(link, &packet),
        }
    }
}

/// The run takes nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run takes no records any more")]
pub struct HungUp;

/// A recorder that hands batches on.
#[derive(Debug)]
pub struct Forward {
    to: Sender<Output>,
    batch: Vec<Record>,
    wants_packets: bool,
}

impl Forward {
    /// Records of a batch.
    const BATCH: usize = 512;

    /// To this channel, with packets if they are wanted.
    pub fn new(to: Sender<Output>, wants_packets: bool) -> Forward {
        Forward { to, batch: Vec::with_capacity(Forward::BATCH), wants_packets }
    }

    fn add(&mut self, record: Record) -> Result<(), HungUp> {
        self.batch.push(record);
        if self.batch.len() < Forward::BATCH { Ok(()) } else { self.flush() }
    }

    /// Hands on what there is.
    ///
    /// # Errors
    /// The run takes nothing any more.
    pub fn flush(&mut self) -> Result<(), HungUp> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(Forward::BATCH));
        self.to.send(Output::Records(batch)).map_err(|_| HungUp)
    }

    /// A connection is over, after all that was recorded before.
    ///
    /// # Errors
    /// The run takes nothing any more.
    pub fn closed(&mut self, serial: Serial, closed: Closed) -> Result<(), HungUp> {
        self.flush()?;
        self.to.send(Output::Closed(serial, Box::new(closed))).map_err(|_| HungUp)
    }
}

impl Recorder for Forward {
    type Error = HungUp;

    /// Of ends, which are elsewhere: a network never calls it.
    fn connection(
        &mut self,
        _: &ConnectionVector,
        _: &ConnectionRecord,
        _: &[EpochRecord],
        _: Option<&ConnectionVector>,
    ) -> Result<(), HungUp> {
        Ok(())
    }

    fn queue(&mut self, sample: QueueSample) -> Result<(), HungUp> {
        self.add(Record::Queue(sample))
    }

    fn throughput(&mut self, bin: ThroughputBin) -> Result<(), HungUp> {
        self.add(Record::Throughput(bin))
    }

    fn dropped(&mut self, record: DropRecord) -> Result<(), HungUp> {
        self.add(Record::Dropped(record))
    }

    fn flow(&mut self, connection: u64, flow: &path::Flow) -> Result<(), HungUp> {
        self.add(Record::Flow(connection, *flow))
    }

    fn packet(&mut self, link: u16, packet: &PacketRecord) -> Result<(), HungUp> {
        self.add(Record::Packet(link, *packet))
    }

    fn wants_packets(&self) -> bool {
        self.wants_packets
    }
}
