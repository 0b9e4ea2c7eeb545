//! What a run records about itself. The drivers fill these; the store writes them; the report reads them.

use crate::time::{Duration, Time};
use crate::workload::{ConnectionVector, LinkSide, Side};

/// How a replayed connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every byte of every ADU arrived (and both ends closed, where the vector closes).
    Completed,
    /// An end reset it before all data had arrived.
    Reset,
    /// The run ended first.
    Unfinished,
}

/// What an ended (or cut) connection looked like to its own ends (methods C.2, C.3): run against run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// The vector's id.
    pub id: u64,
    /// When the SYN was sent.
    pub start: Time,
    /// How it ended.
    pub outcome: Outcome,
    /// When the initiator became established.
    pub established: Option<Time>,
    /// When the first data byte was sent by either side.
    pub first_data: Option<Time>,
    /// When the last data byte had been received.
    pub last_data: Option<Time>,
    /// When the first FIN or RST was sent.
    pub closed: Option<Time>,
    /// The base round-trip time its path was given.
    pub rtt: Duration,
    /// Segments sent again, both ends.
    pub retransmissions: u64,
    /// Retransmission timeouts, both ends.
    pub timeouts: u64,
    /// Payload bytes delivered to the acceptor and to the initiator.
    pub delivered_bytes: [u64; 2],
}

/// One epoch with request and response, at the endpoints (methods C.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochRecord {
    /// The vector's id.
    pub connection: u64,
    /// Position among the connection's epochs, half epochs counted.
    pub epoch: u32,
    /// First byte of the request sent.
    pub start: Time,
    /// Last byte of the response received.
    pub end: Time,
}

/// Why a packet disappeared. Nothing disappears without one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// A loss model took it.
    Loss,
}

/// What kind of packet it was (methods C.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PacketKind {
    /// Carries payload.
    Data,
    /// A bare acknowledgement.
    Ack,
    /// SYN, FIN or RST without payload.
    Control,
}

/// A packet that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropRecord {
    /// When.
    pub time: Time,
    /// Whose.
    pub connection: u64,
    /// Which way it went: the side it came from.
    pub from: LinkSide,
    /// What it was.
    pub kind: PacketKind,
    /// Its size on the link.
    pub bytes: u32,
    /// Why.
    pub reason: DropReason,
}

/// Queue length at a sampling instant (methods C.5). Instants with an empty queue are implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// When.
    pub time: Time,
    /// The direction: the side packets come from.
    pub from: LinkSide,
    /// Packets waiting, the one in transmission not counted.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Traffic past a point, one direction, in one bin of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Packets whose last bit passed in the bin.
    pub packets: u64,
    /// Their bytes on the link (IP bytes + 14 unless said otherwise, methods C.6).
    pub bytes: u64,
    /// Payload bytes seen for the first time (goodput).
    pub payload_bytes: u64,
}

impl Traffic {
    /// Adds `other`.
    pub fn add(&mut self, other: Traffic) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.payload_bytes += other.payload_bytes;
    }
}

/// Traffic by time bins; only bins with traffic are held, so that a clock jump of years costs nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    width: Duration,
    bins: Vec<(u64, Traffic)>,
}

impl Series {
    /// An empty series with bins of `width` (at least 1 ns); bin `i` is `[i * width, (i + 1) * width)`.
    pub fn new(width: Duration) -> Series {
        Series { width: width.max(Duration::from_nanos(1)), bins: Vec::new() }
    }

    /// Bin width.
    pub fn width(&self) -> Duration {
        self.width
    }

    /// Adds traffic at `time`. Cheap when times hardly ever go back.
    pub fn add(&mut self, time: Time, traffic: Traffic) {
        let index = time.as_nanos() / self.width.as_nanos();
        match self.bins.last_mut() {
            Some((last, sum)) if *last == index => sum.add(traffic),
            Some((last, _)) if *last > index => match self.bins.binary_search_by_key(&index, |bin| bin.0) {
                Ok(at) => self.bins[at].1.add(traffic),
                Err(at) => self.bins.insert(at, (index, traffic)),
            },
            _ => self.bins.push((index, traffic)),
        }
    }

    /// The bins that saw traffic: (index, traffic), by index.
    pub fn bins(&self) -> &[(u64, Traffic)] {
        &self.bins
    }

    /// The sum of all bins.
    pub fn total(&self) -> Traffic {
        let mut total = Traffic::default();
        self.bins.iter().for_each(|bin| total.add(bin.1));
        total
    }

    /// The same traffic in bins `factor` times as wide.
    pub fn coarsen(&self, factor: u64) -> Series {
        let mut coarse = Series::new(self.width * factor.max(1));
        for &(index, traffic) in &self.bins {
            coarse.add(Time::from_nanos(index.saturating_mul(self.width.as_nanos())), traffic);
        }
        coarse
    }
}

/// A packet as it passed the monitor, for captures of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// When its last bit passed.
    pub time: Time,
    /// The connection.
    pub connection: u64,
    /// Which end of the connection sent it.
    pub sender: Side,
    /// Which side of the link it came from.
    pub from: LinkSide,
    /// Sequence number on the wire.
    pub sequence: u32,
    /// Acknowledgement number on the wire.
    pub acknowledgement: u32,
    /// TCP flag bits as in the header.
    pub flags: u8,
    /// Window field, unscaled.
    pub window: u16,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// MSS option, on SYNs.
    pub mss: Option<u16>,
    /// Window scale option, on SYNs.
    pub window_scale: Option<u8>,
}

/// Where a driver leaves what it measured, as it happens. An error stops the run.
pub trait Recorder {
    /// Why a record could not be kept.
    type Error;

    /// A connection ended, or the run did. `epochs` are its complete epochs at the endpoints, `monitor` is what
    /// the extractor made of its packets at the monitor (methods M.1), `None` if none passed.
    fn connection(
        &mut self,
        original: &ConnectionVector,
        record: &ConnectionRecord,
        epochs: &[EpochRecord],
        monitor: Option<&ConnectionVector>,
    ) -> Result<(), Self::Error>;

    /// The queue of one direction, at a sampling instant when it was not empty.
    fn queue(&mut self, sample: QueueSample) -> Result<(), Self::Error>;

    /// One bin of one direction, once it is over: what was offered to the queue and what the link carried past
    /// the monitor. Bins without traffic are not reported.
    fn throughput(&mut self, bin: ThroughputBin) -> Result<(), Self::Error>;

    /// A packet disappeared.
    fn dropped(&mut self, record: DropRecord) -> Result<(), Self::Error>;

    /// A packet passed the monitor; called only if [`Self::wants_packets`].
    fn packet(&mut self, packet: &PacketRecord) -> Result<(), Self::Error>;

    /// Whether [`Self::packet`] is to be called.
    fn wants_packets(&self) -> bool;
}

/// Traffic of one direction of the link in one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputBin {
    /// Start of the bin.
    pub start: Time,
    /// Its width.
    pub width: Duration,
    /// The side packets came from.
    pub from: LinkSide,
    /// Packets that reached the queue, dropped ones included (*throughput*, methods C.6).
    pub offered: Traffic,
    /// Packets that passed the monitor on the link (*link throughput*).
    pub carried: Traffic,
}
