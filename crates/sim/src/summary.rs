//! What a run came to, and why one could not.

use std::collections::BTreeMap;

use flowloom_core::path::LinkStatistics;
use flowloom_core::record::{ConnectionRecord, Outcome, PacketKind, ProbeKind, ProbeRecord, SourceRecord};
use flowloom_core::time::Time;
use flowloom_core::workload::Side;

use crate::config::{Config, ConfigError};
use crate::datagram_flow::DatagramFlow;
use crate::plausibility::{Drops, Plausibility};

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Summary {
    /// Connections by how they ended.
    pub connections: ConnectionCounts,
    /// The same and more by class, in the order of [`Config::classes`](crate::Config::classes), flows of sources too.
    pub classes: Vec<ClassCounts>,
    /// Connections that started and were to be [`traced`](crate::Config::traced).
    pub traced: u64,
    /// The bottleneck from left to right and from right to left.
    pub directions: [Direction; 2],
    /// The other links, in the order of [`Config::links`](crate::Config::links).
    pub links: Vec<LinkCounts>,
    /// Events taken from the event queue.
    pub events: u64,
    /// Whether flows reacted to losses as their congestion controls do, and how many packets were lost.
    pub plausibility: Plausibility,
    /// When the last event happened, or the run was cut.
    pub end: Time,
    /// Flows of datagrams among its vectors, which are no connections; where they are replayed they are [`Config::datagrams`](crate::Config::datagrams).
    pub datagram_flows: u64,
    /// The run was stopped from outside; everything up to [`Summary::end`] was recorded.
    pub interrupted: bool,
}

impl Summary {
    /// That of a run of which nothing has happened yet.
    pub fn new(config: &Config) -> Summary {
        Summary {
            classes: vec![ClassCounts::default(); config.classes.len()],
            plausibility: Plausibility::new(config),
            ..Summary::default()
        }
    }

    /// Packets of connections and flows were dropped, over the whole run. To be called once directions and probes are known.
    pub fn add_drops(&mut self, drops: &Drops) {
        let has_copies = self.directions.iter().any(|direction| direction.duplicated > 0);
        self.plausibility.add_drops(drops);
        for (number, class) in (0..).zip(&mut self.classes) {
            let mut by_link: BTreeMap<Option<u16>, u64> = BTreeMap::new();
            for ((of, _, link), dropped) in &drops.datagrams {
                if *of == number {
                    *by_link.entry(*link).or_default() += dropped;
                }
            }
            class.dropped_datagrams = by_link.values().sum();
            let copies = drops.copies_of_datagrams.iter().filter(|((of, ..), _)| *of == number);
            class.dropped_copies = copies.map(|(_, dropped)| dropped).sum();
            // The far end answers copies, too: a probe is lost with the last of its answers, not with each.
            if let Some(lost) = class.lost_probes.filter(|_| has_copies) {
                class.dropped_copies += class.dropped_datagrams.saturating_sub(lost);
                class.dropped_datagrams = lost;
            }
            class.datagrams_dropped_at =
                by_link.into_iter().max_by_key(|(_, dropped)| *dropped).and_then(|(link, _)| link);
        }
    }

    /// Packets offered to the link, both directions ("bottleneck packets", methods M.10).
    pub fn bottleneck_packets(&self) -> u64 {
        self.directions.iter().map(|direction| direction.offered.total()).sum()
    }
}

/// Connections of a run. `started` is the sum of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ConnectionCounts {
    /// Sent their SYN.
    pub started: u64,
    /// All data arrived (and both ends closed, where the vector closes).
    pub completed: u64,
    /// Reset before all data had arrived.
    pub reset: u64,
    /// Ended before that by TCP itself, whose retransmissions were used up.
    pub gave_up: u64,
    /// Not over when the run ended.
    pub unfinished: u64,
}

impl ConnectionCounts {
    /// Counts one that ended.
    pub fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Completed => self.completed += 1,
            Outcome::Reset => self.reset += 1,
            Outcome::GaveUp => self.gave_up += 1,
            Outcome::Unfinished => self.unfinished += 1,
        }
    }
}

/// What the connections and flows of a class came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClassCounts {
    /// By how they ended; of datagrams: whether the source got to its end.
    pub flows: ConnectionCounts,
    /// Payload bytes that arrived at acceptors; of TCP each once and in order.
    pub to_acceptors_bytes: u64,
    /// The same at initiators.
    pub to_initiators_bytes: u64,
    /// TCP segments sent again.
    pub retransmissions: u64,
    /// TCP retransmission timeouts.
    pub timeouts: u64,
    /// What its TCP flows carried that were active in the whole window of the results.
    pub sharing: Sharing,
    /// Datagrams sent.
    pub sent_datagrams: u64,
    /// Datagrams that arrived.
    pub received_datagrams: u64,
    /// Datagrams that were dropped on the way, with any copy that the path made of them.
    pub dropped_datagrams: u64,
    /// Packets beside them that were dropped of datagrams and their copies: another of the same datagram arrived, or was dropped later.
    pub dropped_copies: u64,
    /// Datagrams of probes without an answer, for which none can come; `None` in a class that sends no such probes.
    pub lost_probes: Option<u64>,
    /// The link where most of the dropped datagrams were dropped; `None`: by loss models, or none was.
    pub datagrams_dropped_at: Option<u16>,
}

/// What flows carried past the monitor in a window in which all of them were active: how many, the payload bytes, and their squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sharing {
    /// Flows.
    pub flows: u64,
    /// The sum of the bytes of each.
    pub bytes: u128,
    /// The sum of their squares.
    pub squares: u128,
}

impl Sharing {
    /// Takes a connection that ended, if it was active in all of `window`.
    fn add(&mut self, record: &ConnectionRecord, window: [Time; 2]) {
        let Some(bytes) = record.carried_bytes.filter(|_| record.is_active_in(window)) else { return };
        self.flows += 1;
        self.bytes += u128::from(bytes);
        self.squares += u128::from(bytes) * u128::from(bytes);
    }
}

impl ClassCounts {
    /// Counts what a TCP flow of a source carried, where results are of `window`.
    pub fn add_sharing(&mut self, record: &ConnectionRecord, window: [Time; 2]) {
        self.sharing.add(record, window);
    }

    /// Counts a flow of a source that ended.
    pub fn add(&mut self, record: &SourceRecord) {
        self.flows.add(record.outcome);
        match DatagramFlow::vector_of(record.id) {
            Some((_, Side::Acceptor)) => self.to_initiators_bytes += record.received_bytes,
            _ => self.to_acceptors_bytes += record.received_bytes,
        }
        self.retransmissions += record.retransmissions.unwrap_or(0);
        self.timeouts += record.timeouts.unwrap_or(0);
        self.sent_datagrams += record.sent_packets.unwrap_or(0);
        self.received_datagrams += record.received_packets.unwrap_or(0);
    }

    /// Counts a probe whose end is known.
    pub fn add_probe(&mut self, probe: &ProbeRecord) {
        if probe.kind == ProbeKind::Datagram {
            *self.lost_probes.get_or_insert(0) += u64::from(probe.lost);
        }
    }

    /// Counts a connection that ended.
    pub fn add_connection(&mut self, record: &ConnectionRecord) {
        let [to_acceptor, to_initiator] = record.delivered_bytes;
        self.flows.add(record.outcome);
        self.to_acceptors_bytes += to_acceptor;
        self.to_initiators_bytes += to_initiator;
        self.retransmissions += record.retransmissions;
        self.timeouts += record.timeouts;
    }
}

/// What a link beside the bottleneck did.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LinkCounts {
    /// Packets that reached its queue.
    pub offered: PacketCounts,
    /// Of them, packets dropped at the queue.
    pub dropped: PacketCounts,
    /// The queue over the window, from exact times.
    pub link: LinkStatistics,
}

/// One direction of the bottleneck, and of the packets that come from its side.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Direction {
    /// Packets that reached the queue.
    pub offered: PacketCounts,
    /// Of them, packets whose last bit passed the monitor.
    pub carried: PacketCounts,
    /// Of them, packets dropped at the queue.
    pub dropped: PacketCounts,
    /// Of them, packets that were still waiting or on the link before the monitor when the run was cut.
    pub remaining: PacketCounts,
    /// Those of probes among them, which are in no series of the traffic.
    pub remaining_probes: u64,
    /// Packets that the ends sent towards the link.
    pub sent: u64,
    /// Copies that the path made of some of them.
    pub duplicated: u64,
    /// Packets that a loss model took before they reached the queue.
    pub lost: PacketCounts,
    /// Packets that arrived at the other end.
    pub delivered: u64,
    /// Packets that links beside the bottleneck dropped.
    pub lost_elsewhere: u64,
    /// Packets anywhere between the ends when the run was cut.
    pub in_flight: u64,
    /// The queue over the window, from exact times.
    pub link: LinkStatistics,
}

impl Direction {
    /// Whether all packets of both directions, left first, are accounted for.
    ///
    /// # Errors
    /// [`RunError::Imbalance`].
    pub(crate) fn balance<W, R>(directions: &[Direction; 2]) -> Result<(), RunError<W, R>> {
        for (from, direction) in ["left", "right"].into_iter().zip(directions) {
            let gone = direction.dropped.total() + direction.lost.total() + direction.lost_elsewhere;
            let (sent, accounted) =
                (direction.sent + direction.duplicated, direction.delivered + gone + direction.in_flight);
            if accounted != sent {
                return Err(RunError::Imbalance { from, sent, accounted });
            }
        }
        Ok(())
    }
}

/// Packets by kind (methods C.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PacketCounts {
    /// With payload.
    pub data: u64,
    /// Bare acknowledgements.
    pub ack: u64,
    /// SYN, FIN or RST without payload.
    pub control: u64,
    /// Bytes on the link of all of them (IP bytes + 14).
    pub bytes: u64,
}

impl PacketCounts {
    /// Packets of any kind.
    pub fn total(&self) -> u64 {
        self.data + self.ack + self.control
    }

    /// Counts a packet.
    pub(crate) fn add(&mut self, kind: PacketKind, bytes: u32) {
        match kind {
            PacketKind::Data => self.data += 1,
            PacketKind::Ack => self.ack += 1,
            PacketKind::Control => self.control += 1,
        }
        self.bytes += u64::from(bytes);
    }

    /// Takes a packet away that was counted.
    pub(crate) fn remove(&mut self, kind: PacketKind, bytes: u32) {
        let mut one = PacketCounts::default();
        one.add(kind, bytes);
        self.subtract(&one);
    }

    /// Counts all of `other`.
    pub(crate) fn add_all(&mut self, other: &PacketCounts) {
        self.data += other.data;
        self.ack += other.ack;
        self.control += other.control;
        self.bytes += other.bytes;
    }

    /// Takes `other`, which is part of it, away.
    pub(crate) fn subtract(&mut self, other: &PacketCounts) {
        self.data -= other.data;
        self.ack -= other.ack;
        self.control -= other.control;
        self.bytes -= other.bytes;
    }
}

/// Why a run could not be finished. What was recorded until then stays with the recorder.
#[derive(Debug, thiserror::Error)]
pub enum RunError<W, R> {
    /// The experiment has impossible numbers.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The workload could not be read.
    #[error("the workload cannot be read further")]
    Workload(#[source] W),
    /// A record could not be kept.
    #[error("the results cannot be recorded")]
    Recorder(#[source] R),
    /// The workload is not in order of start time.
    #[error("the workload is not sorted: connection {id} starts at {start:?}, after one at {previous:?}")]
    Unsorted {
        /// The connection that comes too late in the workload.
        id: u64,
        /// Its start.
        start: Time,
        /// The start of the one before it.
        previous: Time,
    },
    /// Packets appeared or disappeared without a recorded reason: a defect of the simulator, the results are void.
    #[error("packets from the {from} do not add up: {sent} sent, {accounted} accounted for (please report this)")]
    Imbalance {
        /// `left` or `right`.
        from: &'static str,
        /// Packets sent.
        sent: u64,
        /// Delivered, dropped or in flight.
        accounted: u64,
    },
}
