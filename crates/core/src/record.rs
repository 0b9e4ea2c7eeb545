//! What a run records about itself. The drivers fill these; the store writes them; the report reads them.

use std::cmp::Ordering;

use crate::path::rules::Flow;
use crate::play::{DatagramSink, Delays};
pub use crate::play::{ProbeKind, ProbeRecord};
use crate::tcp::Phase;
use crate::tcp::congestion::WindowCause;
use crate::time::{Duration, Time};
use crate::wire::Ecn;
use crate::workload::{ConnectionVector, IpVersion, LinkSide, Protocol, Side};

/// How a replayed connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every byte of every ADU arrived (and both ends closed, where the vector closes).
    Completed,
    /// An end reset it before all data had arrived.
    Reset,
    /// TCP ended it before that by itself: its retransmissions were used up (ETIMEDOUT).
    GaveUp,
    /// The run ended first.
    Unfinished,
}

/// What an ended (or cut) connection looked like to its own ends (methods C.2, C.3): run against run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// The vector's id.
    pub id: u64,
    /// Its class of connections.
    pub class: u16,
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
    /// Payload bytes, both directions, that passed the monitor for the first time while results are measured; `None` where nobody counted.
    pub carried_bytes: Option<u64>,
}

impl ConnectionRecord {
    /// Whether it had begun when `window` began, and nothing had ended it when that ended.
    pub fn is_active_in(&self, [start, end]: [Time; 2]) -> bool {
        let is_broken = matches!(self.outcome, Outcome::Reset | Outcome::GaveUp);
        self.start <= start && !is_broken && self.closed.is_none_or(|closed| closed >= end)
    }
}

/// One epoch with request and response, at the endpoints (methods C.3): its exchange began, and has ended or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochRecord {
    /// The vector's id.
    pub connection: u64,
    /// Position among the connection's epochs, half epochs counted.
    pub epoch: u32,
    /// When its request should have been sent, by the intended times of what came before it, where that is kept apart: a
    /// program that was held up would otherwise hide how long its exchanges took from where they were wanted.
    pub intended: Option<Time>,
    /// First byte of the request sent.
    pub start: Time,
    /// Last byte of the response received; `None` if the connection was over before.
    pub end: Option<Time>,
}

/// What became of a flow of a source beside the workload: a bulk transfer, or a flow of datagrams. Its initiator sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRecord {
    /// Its number.
    pub id: u64,
    /// Its class of connections, which is its source.
    pub class: u16,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// The side of the bottleneck that its sender is on.
    pub from: LinkSide,
    /// When it began: when the SYN was sent, or the source of datagrams was switched on.
    pub start: Time,
    /// When the last data arrived.
    pub last: Option<Time>,
    /// How it ended; of datagrams: whether the source got to its end.
    pub outcome: Outcome,
    /// The base round-trip time its path was given.
    pub rtt: Duration,
    /// Payload bytes sent, each once.
    pub sent_bytes: u64,
    /// Payload bytes that arrived; of TCP each once and in order.
    pub received_bytes: u64,
    /// Datagrams sent.
    pub sent_packets: Option<u64>,
    /// Datagrams that arrived.
    pub received_packets: Option<u64>,
    /// Of them, those that came after one sent later.
    pub late_packets: Option<u64>,
    /// Datagrams that came again; beside those that arrived.
    pub repeated_packets: Option<u64>,
    /// Their one-way delays, if any arrived.
    pub delays: Option<Delays>,
    /// TCP segments sent again, both ends.
    pub retransmissions: Option<u64>,
    /// TCP retransmission timeouts, both ends.
    pub timeouts: Option<u64>,
}

impl SourceRecord {
    /// Of a TCP connection whose initiator is on `from` and sent so many payload bytes, each once.
    pub fn of_tcp(record: &ConnectionRecord, from: LinkSide, sent_bytes: u64) -> SourceRecord {
        SourceRecord {
            id: record.id,
            class: record.class,
            protocol: Protocol::Tcp,
            from,
            start: record.start,
            last: record.last_data,
            outcome: record.outcome,
            rtt: record.rtt,
            sent_bytes,
            received_bytes: record.delivered_bytes[0],
            sent_packets: None,
            received_packets: None,
            late_packets: None,
            repeated_packets: None,
            delays: None,
            retransmissions: Some(record.retransmissions),
            timeouts: Some(record.timeouts),
        }
    }
}

impl SourceRecord {
    /// Of the datagrams that the initiator of `vector` sent: how many of how many bytes in all, and what of them arrived.
    pub fn of_datagrams(
        vector: &ConnectionVector,
        class: u16,
        rtt: Duration,
        outcome: Outcome,
        sent: (u64, u64),
        arrived: &DatagramSink,
    ) -> SourceRecord {
        SourceRecord {
            id: vector.id,
            class,
            protocol: vector.protocol,
            from: vector.initiator_side,
            start: vector.start,
            last: arrived.last_came,
            outcome,
            rtt,
            sent_bytes: sent.1,
            received_bytes: arrived.bytes,
            sent_packets: Some(sent.0),
            received_packets: Some(arrived.packets),
            late_packets: Some(arrived.late),
            repeated_packets: Some(arrived.repeated),
            delays: arrived.delays,
            retransmissions: None,
            timeouts: None,
        }
    }
}

/// A change of what a TCP sender lets itself have in flight, and why. Changes within one event are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRecord {
    /// When.
    pub time: Time,
    /// Whose.
    pub connection: u64,
    /// The sending end.
    pub side: Side,
    /// What changed the window last.
    pub cause: WindowCause,
    /// What loss recovery is doing.
    pub phase: Phase,
    /// The congestion window, in bytes.
    pub window_bytes: u32,
    /// The slow start threshold, in bytes; `None` before there is one.
    pub threshold_bytes: Option<u32>,
    /// Bytes sent and not acknowledged.
    pub in_flight_bytes: u64,
    /// Smoothed round-trip time; `None` before the first sample.
    pub smoothed_rtt: Option<Duration>,
    /// Retransmission timeout, backed off where it was.
    pub timeout: Duration,
}

/// Why a packet disappeared. Nothing disappears without one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// It found the queue full.
    QueueFull,
    /// A loss model took it.
    Loss,
    /// It found no tokens at a policer.
    Policed,
    /// The queue discipline dropped it to tell its sender of congestion, with room left.
    Early,
    /// It waited and was pushed out of a full queue, to make room for another.
    Overflow,
    /// Its cells came behind a packet of their circuit whose end was lost, and count as a part of that.
    Spoilt,
}

impl DropReason {
    /// Whether a queue dropped it, so that it was offered to a link.
    pub const fn is_at_queue(self) -> bool {
        match self {
            DropReason::QueueFull
            | DropReason::Policed
            | DropReason::Early
            | DropReason::Overflow
            | DropReason::Spoilt => true,
            DropReason::Loss => false,
        }
    }
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

impl ProbeRecord {
    /// A request whose connection came to `ended`, and its only exchange, where its initiator is on `from`.
    pub fn of_request(ended: &ConnectionRecord, exchange: Option<&EpochRecord>, from: LinkSide) -> ProbeRecord {
        let round_trip = exchange.and_then(|exchange| Some(exchange.end?.since(exchange.start)));
        ProbeRecord {
            number: ended.id.saturating_sub(ProbeRecord::FIRST + 1),
            kind: ProbeKind::Request,
            from,
            sent: ended.start,
            connect: ended.established.map(|established| established.since(ended.start)),
            round_trip,
            there: None,
            back: None,
            lost: round_trip.is_none() && ended.outcome != Outcome::Unfinished,
        }
    }
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
    /// At which link, by its number: 0 and 1 are the monitored one for packets from the left and from the right. `None`:
    /// before the first link.
    pub link: Option<u16>,
}

/// Queue length at a sampling instant (methods C.5). Instants with an empty queue are implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// When.
    pub time: Time,
    /// The link, by its number: 0 and 1 are the bottleneck's.
    pub link: u16,
    /// The direction: the side packets come from; of other links left, or right for the link back.
    pub from: LinkSide,
    /// Packets waiting, the one in transmission not counted.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What the packets of a queue belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TrafficClass {
    /// TCP connections of the workload whose ends take turns.
    Sequential,
    /// TCP connections of the workload whose ends sent at once.
    Concurrent,
    /// Datagrams, of the workload and of sources.
    Datagram,
    /// TCP flows of sources beside the workload.
    Source,
    /// Flows that nothing describes, which a live run may carry.
    #[default]
    Other,
    /// Probes of the latency under load.
    Probe,
}

impl TrafficClass {
    /// All of them, in the order of tables.
    pub const ALL: [TrafficClass; 6] = [
        TrafficClass::Sequential,
        TrafficClass::Concurrent,
        TrafficClass::Datagram,
        TrafficClass::Source,
        TrafficClass::Other,
        TrafficClass::Probe,
    ];
}

/// How a packet left a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueueFate {
    /// Its transmission started.
    Transmitted,
    /// It was dropped at the instant at which it arrived.
    DroppedAtArrival,
    /// It was dropped after it had waited.
    DroppedFromQueue,
}

impl QueueFate {
    /// All of them, in the order of tables.
    pub const ALL: [QueueFate; 3] = [QueueFate::Transmitted, QueueFate::DroppedAtArrival, QueueFate::DroppedFromQueue];
}

/// The packets of one direction of a link that waited for about the same time, within the window of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SojournRecord {
    /// The link, by its number: 0 and 1 are the bottleneck's.
    pub link: u16,
    /// The side packets come from.
    pub from: LinkSide,
    /// What they belong to.
    pub class: TrafficClass,
    /// How they left the queue.
    pub fate: QueueFate,
    /// The shortest sojourn of the bin: from acceptance to the start of transmission, or to the drop. Bins are the same in all
    /// runs, and at most 0.4 % wide.
    pub sojourn: Duration,
    /// Packets.
    pub packets: u64,
    /// Of them, packets that the queue marked.
    pub marked: u64,
    /// The sum of their sojourns.
    pub total: Duration,
    /// How long such a packet was the last that the line had taken: until the next one started that had arrived by then, or until its own
    /// last bit had left. Zero of drops.
    pub held: Duration,
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
#[derive(Clone, Debug)]
pub struct Series {
    width: Duration,
    /// Ascending bins in pages, none of them empty: a bin in the middle moves a page, not all that follows.
    pages: Vec<Vec<Bin>>,
    /// How many they hold.
    bins: usize,
    /// Page and place of the bin that was added to last: the next is mostly that one or one soon after it.
    last: (usize, usize),
}

/// Index of a bin and its traffic.
type Bin = (u64, Traffic);

/// So many bins from the last one on are looked at one by one.
const NEAR: usize = 8;

/// Bins of a page at most: a bin in the middle moves a page of 4 KiB.
const PAGE: usize = 128;

impl Series {
    /// An empty series with bins of `width` (at least 1 ns); bin `i` is `[i * width, (i + 1) * width)`.
    pub fn new(width: Duration) -> Series {
        Series { width: width.max(Duration::from_nanos(1)), pages: Vec::new(), bins: 0, last: (0, 0) }
    }

    /// Bin width.
    pub fn width(&self) -> Duration {
        self.width
    }

    /// Adds traffic at `time`. Cheapest when times hardly ever go back.
    pub fn add(&mut self, time: Time, traffic: Traffic) {
        self.add_bin(time.as_nanos() / self.width.as_nanos(), traffic);
    }

    /// Adds traffic in the bin at `index`.
    pub fn add_bin(&mut self, index: u64, traffic: Traffic) {
        let (page, at) = self.last;
        if let Some(page) = self.pages.get_mut(page) {
            for (at, bin) in page.iter_mut().enumerate().skip(at).take(NEAR) {
                match bin.0.cmp(&index) {
                    Ordering::Less => {}
                    Ordering::Greater => break,
                    Ordering::Equal => {
                        bin.1.add(traffic);
                        self.last.1 = at;
                        return;
                    }
                }
            }
        }
        self.add_elsewhere(index, traffic);
    }

    /// Adds traffic to a bin that is neither the one before nor the next.
    fn add_elsewhere(&mut self, index: u64, traffic: Traffic) {
        let at = self.pages.partition_point(|page| page[0].0 <= index).saturating_sub(1);
        let is_last = at + 1 >= self.pages.len();
        match self.pages.get_mut(at) {
            // Full pages that only grow at their end stay full.
            Some(page) if page.len() < PAGE || !is_last || page[PAGE - 1].0 >= index => {
                match page.binary_search_by_key(&index, |bin| bin.0) {
                    Ok(bin) => {
                        page[bin].1.add(traffic);
                        self.last = (at, bin);
                    }
                    Err(bin) => {
                        page.insert(bin, (index, traffic));
                        self.bins += 1;
                        self.last = (at, bin);
                        if page.len() > PAGE {
                            let upper = page.split_off(PAGE / 2);
                            self.pages.insert(at + 1, upper);
                        }
                    }
                }
            }
            _ => {
                self.pages.push(vec![(index, traffic)]);
                self.bins += 1;
                self.last = (self.pages.len() - 1, 0);
            }
        }
    }

    /// The bins that saw traffic: (index, traffic), by index.
    pub fn bins(&self) -> impl Iterator<Item = &(u64, Traffic)> {
        self.pages.iter().flatten()
    }

    /// How many bins saw traffic.
    pub fn len(&self) -> usize {
        self.bins
    }

    /// Whether none did.
    pub fn is_empty(&self) -> bool {
        self.bins == 0
    }

    /// The sum of all bins.
    pub fn total(&self) -> Traffic {
        let mut total = Traffic::default();
        self.bins().for_each(|bin| total.add(bin.1));
        total
    }

    /// The same traffic in bins `factor` times as wide.
    pub fn coarsen(&self, factor: u64) -> Series {
        let mut coarse = Series::new(self.width * factor.max(1));
        for &(index, traffic) in self.bins() {
            coarse.add(Time::from_nanos(index.saturating_mul(self.width.as_nanos())), traffic);
        }
        coarse
    }
}

impl PartialEq for Series {
    fn eq(&self, other: &Series) -> bool {
        self.width == other.width && self.bins().eq(other.bins())
    }
}

impl Eq for Series {}

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
    /// TCP flag bits as in the header; none, if it is a datagram of UDP.
    pub flags: u8,
    /// Window field, unscaled.
    pub window: u16,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// MSS option, on SYNs.
    pub mss: Option<u16>,
    /// Window scale option, on SYNs.
    pub window_scale: Option<u8>,
    /// SACK-permitted option, on SYNs.
    pub sack_permitted: bool,
    /// Timestamps option: TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks as sequence numbers on the wire, `[start, end)`; unused ones are empty.
    pub sack: [(u32, u32); 3],
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// The version of IP.
    pub ip_version: IpVersion,
}

/// Something that a run recorded, lent by the driver. One variant per table of a run folder, and one for packets.
///
/// It holds references only, so that making one costs nothing per packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record<'a> {
    /// A connection of the workload ended, or the run did.
    Connection {
        /// Its vector.
        original: &'a ConnectionVector,
        /// What its ends saw.
        ended: &'a ConnectionRecord,
        /// Its complete epochs at the ends.
        epochs: &'a [EpochRecord],
        /// The vector that the extractor inferred from its packets at the monitor (methods M.1); `None` if none passed.
        monitor: Option<&'a ConnectionVector>,
    },
    /// A flow of a source beside the workload ended, or the run did.
    Source {
        /// What it sent, and what arrived.
        source: &'a SourceRecord,
    },
    /// A probe has its answer, or will have none.
    Probe {
        /// What became of it.
        probe: &'a ProbeRecord,
    },
    /// A connection got its entry in the flow table of DelayBox (methods F.6). Recorded only where there are rules.
    Flow {
        /// The id of its vector.
        connection: u64,
        /// The entry.
        flow: &'a Flow,
    },
    /// The queue of one direction of a monitored link, at a sampling instant when it was not empty.
    Queue {
        /// Its length.
        sample: &'a QueueSample,
    },
    /// A bin of one direction of a monitored link is over. Bins without traffic are not recorded.
    Throughput {
        /// What was offered to the queue, and what the link carried past the monitor.
        bin: &'a ThroughputBin,
    },
    /// Packets of one direction of the bottleneck that waited for about the same time. Recorded once, when the run is over.
    Sojourn {
        /// A bin of sojourn times.
        bin: &'a SojournRecord,
    },
    /// A packet was dropped.
    Dropped {
        /// Which, where and why.
        packet: &'a DropRecord,
    },
    /// The window of a traced sender changed.
    Window {
        /// The new window, and why it changed.
        change: &'a WindowRecord,
    },
    /// A packet passed the monitor of a link. Recorded only where the driver's configuration asks for packets.
    Packet {
        /// The link, by its number: 0 and 1 are the bottleneck's.
        link: u16,
        /// Its headers.
        packet: &'a PacketRecord,
    },
}

/// Where a driver leaves what it measured, as it happens.
///
/// A recorder takes the records that it wants and returns `Ok` for all others. Records of one kind come in the order in
/// which they happened.
pub trait Recorder {
    /// Why a record could not be kept.
    type Error;

    /// Takes one record.
    ///
    /// # Errors
    /// The record could not be kept. The run stops.
    fn record(&mut self, record: Record<'_>) -> Result<(), Self::Error>;
}

/// A recorder that somebody else keeps.
impl<R: Recorder + ?Sized> Recorder for &mut R {
    type Error = R::Error;

    fn record(&mut self, record: Record<'_>) -> Result<(), R::Error> {
        (**self).record(record)
    }
}

/// Traffic of one direction of the link in one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputBin {
    /// Start of the bin.
    pub start: Time,
    /// Its width.
    pub width: Duration,
    /// The link, by its number: 0 and 1 are the bottleneck's. Of others the payload is all that packets carried, whether it
    /// had passed before or not.
    pub link: u16,
    /// The side packets came from; of other links left, or right for the link back.
    pub from: LinkSide,
    /// Packets that reached the queue, dropped ones included (*throughput*, methods C.6).
    pub offered: Traffic,
    /// Packets that passed the monitor on the link (*link throughput*).
    pub carried: Traffic,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_series_is_the_same_in_whatever_order_its_traffic_comes() {
        const MANY: u64 = 10_000;
        let one = Traffic { packets: 1, bytes: 100, payload_bytes: 46 };
        let orders: [fn(u64) -> u64; 4] = [
            |n| n,
            |n| MANY - 1 - n,
            // Two captures joined in the wrong order.
            |n| (n + MANY / 2) % MANY,
            // Every index once, far from the one before (7,919 is prime to it).
            |n| n * 7_919 % MANY,
        ];
        let series = orders.map(|order| {
            let mut series = Series::new(Duration::from_millis(10));
            // Twice each, three bins of 10 ms apart.
            (0..2 * MANY).for_each(|n| series.add(Time::from_nanos(order(n % MANY) * 30_000_000 + n), one));
            series
        });
        let expected: BTreeMap<u64, u64> = (0..MANY).map(|n| (3 * n, 2)).collect();
        for one in &series {
            assert!(one.bins().map(|bin| (bin.0, bin.1.packets)).eq(expected.clone()));
            assert!(one.pages.iter().all(|page| (1..=PAGE).contains(&page.len())));
            assert_eq!(one, &series[0]);
        }
        assert_eq!(series[0].total(), Traffic { packets: 20_000, bytes: 2_000_000, payload_bytes: 920_000 });
        assert_ne!(series[0], series[0].coarsen(2));
    }
}
