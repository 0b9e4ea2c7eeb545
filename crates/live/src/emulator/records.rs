//! What the emulator's thread hands to the run: what the network records, in batches, and connections that are over.

use std::sync::mpsc::Sender;

use flowloom_core::path;
use flowloom_core::record::{DropRecord, PacketRecord, QueueSample, Record, Recorder, SojournRecord, ThroughputBin};
use flowloom_sim::{Closed, LinksAt};

use crate::addresses::Serial;
use crate::lateness::LatenessSummary;

/// From the emulator to the run, in the order in which it happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// What was recorded since the last of these.
    Records(Vec<Kept>),
    /// A connection is over.
    Closed(Serial, Box<Closed>),
    /// How far the path is, told several times a second.
    State(Box<PathState>),
}

/// What a path did until now.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PathState {
    /// Its links, and the time.
    pub links: LinksAt,
    /// How late packets were handed on.
    pub lateness: LatenessSummary,
}

/// A [`Record`] of the network, kept for the recorder of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// [`Record::Queue`].
    Queue(QueueSample),
    /// [`Record::Throughput`].
    Throughput(ThroughputBin),
    /// [`Record::Dropped`].
    Dropped(DropRecord),
    /// [`Record::Sojourn`].
    Sojourn(SojournRecord),
    /// [`Record::Flow`].
    Flow(u64, path::Flow),
    /// [`Record::Packet`].
    Packet(u16, PacketRecord),
}

impl Kept {
    /// A copy of the record; `None` of one that networks do not make.
    fn copy_of(record: Record<'_>) -> Option<Kept> {
        Some(match record {
            Record::Queue { sample } => Kept::Queue(*sample),
            Record::Throughput { bin } => Kept::Throughput(*bin),
            Record::Dropped { packet } => Kept::Dropped(*packet),
            Record::Sojourn { bin } => Kept::Sojourn(*bin),
            Record::Flow { connection, flow } => Kept::Flow(connection, *flow),
            Record::Packet { link, packet } => Kept::Packet(link, *packet),
            Record::Connection { .. } | Record::Source { .. } | Record::Probe { .. } | Record::Window { .. } => {
                return None;
            }
        })
    }

    /// The record, for the recorder of the run.
    pub fn record(&self) -> Record<'_> {
        match self {
            Kept::Queue(sample) => Record::Queue { sample },
            Kept::Throughput(bin) => Record::Throughput { bin },
            Kept::Dropped(packet) => Record::Dropped { packet },
            Kept::Sojourn(bin) => Record::Sojourn { bin },
            Kept::Flow(connection, flow) => Record::Flow { connection: *connection, flow },
            Kept::Packet(link, packet) => Record::Packet { link: *link, packet },
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
    batch: Vec<Kept>,
}

impl Forward {
    /// Records of a batch.
    const BATCH: usize = 512;

    /// To this channel.
    pub fn new(to: Sender<Output>) -> Forward {
        Forward { to, batch: Vec::with_capacity(Forward::BATCH) }
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

    /// How far the path is.
    ///
    /// # Errors
    /// The run takes nothing any more.
    pub fn state(&mut self, state: PathState) -> Result<(), HungUp> {
        self.to.send(Output::State(Box::new(state))).map_err(|_| HungUp)
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

    fn record(&mut self, record: Record<'_>) -> Result<(), HungUp> {
        let Some(kept) = Kept::copy_of(record) else { return Ok(()) };
        self.batch.push(kept);
        if self.batch.len() < Forward::BATCH { Ok(()) } else { self.flush() }
    }
}
