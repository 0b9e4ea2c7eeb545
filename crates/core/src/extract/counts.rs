//! What an extraction reports beside the vectors: nothing disappears without a count.

use serde::{Deserialize, Serialize};

use crate::play::{ReplayModel, Waits, clocked_bytes};
use crate::record::{Series, Traffic};
use crate::time::{Duration, Time};
use crate::workload::{
    Close, ConnectionVector, InitiatorRule, LinkSide, Pattern, Payload, PerSide, Protocol, Segments, Side,
};

use super::options::{Missing, Options};

/// A transit above this speaks against the end being where the monitor stands.
const LONGEST_NEAR_TRANSIT: Duration = Duration::from_millis(5);

/// What a connection turned out to be (methods A.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// No payload byte in either direction: set aside.
    NoData,
    /// Data, but packets in one direction only: set aside, unless [`Options::keep_one_way`].
    OneWay,
    /// Can be replayed.
    Replayable {
        /// Whether the ends took turns.
        pattern: Pattern,
        /// A SYN and (a FIN or an RST) were seen.
        complete: bool,
    },
}

impl Class {
    /// Every class, in the order of reports.
    pub const ALL: [Class; 6] = [
        Class::NoData,
        Class::OneWay,
        Class::Replayable { pattern: Pattern::Sequential, complete: true },
        Class::Replayable { pattern: Pattern::Sequential, complete: false },
        Class::Replayable { pattern: Pattern::Concurrent, complete: true },
        Class::Replayable { pattern: Pattern::Concurrent, complete: false },
    ];

    /// Position in [`Self::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Class::NoData => 0,
            Class::OneWay => 1,
            Class::Replayable { pattern: Pattern::Sequential, complete: true } => 2,
            Class::Replayable { pattern: Pattern::Sequential, complete: false } => 3,
            Class::Replayable { pattern: Pattern::Concurrent, complete: true } => 4,
            Class::Replayable { pattern: Pattern::Concurrent, complete: false } => 5,
        }
    }

    /// Whether connections of this class become vectors.
    pub const fn is_replayable(self) -> bool {
        matches!(self, Class::Replayable { .. })
    }

    /// The name reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Class::NoData => "no_data",
            Class::OneWay => "one_way",
            Class::Replayable { pattern: Pattern::Sequential, complete: true } => "sequential_complete",
            Class::Replayable { pattern: Pattern::Sequential, complete: false } => "sequential_incomplete",
            Class::Replayable { pattern: Pattern::Concurrent, complete: true } => "concurrent_complete",
            Class::Replayable { pattern: Pattern::Concurrent, complete: false } => "concurrent_incomplete",
        }
    }
}

/// Whether a vector has a place in the workload, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VectorPlace {
    /// It has one.
    Kept,
    /// Its class is set aside.
    NotReplayable,
    /// It is incomplete, and [`Options::complete_only`] leaves those out.
    Incomplete,
    /// The capture lacks bytes of it, and [`Missing::Skip`] leaves those out.
    LacksBytes,
}

impl VectorPlace {
    /// Where `vector` belongs.
    pub fn of(class: Class, vector: &ConnectionVector, options: &Options) -> VectorPlace {
        if !(class.is_replayable() || class == Class::OneWay && options.keep_one_way) {
            return VectorPlace::NotReplayable;
        }
        if options.complete_only && !vector.complete && vector.protocol == Protocol::Tcp {
            return VectorPlace::Incomplete;
        }
        let lacks_bytes = || Side::BOTH.iter().any(|side| vector.ends[*side].missing_bytes() > 0);
        if options.missing == Missing::Skip && lacks_bytes() { VectorPlace::LacksBytes } else { VectorPlace::Kept }
    }
}

/// Which rule told the side of the link an initiator is on (methods M.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum SideRule {
    /// The capture marks directions.
    Marks = 0,
    /// An `--inside` prefix.
    Inside = 1,
    /// The MAC addresses of the capture's first TCP packet.
    Macs = 2,
    /// None applied: taken as left.
    Unknown = 3,
}

/// Connections of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClassCounts {
    /// Number of connections.
    pub connections: u64,
    /// Of them, those without a SYN: they began before the capture, or it missed the SYN.
    pub began_before: u64,
    /// Of them, those without a FIN or an RST: the capture or silence ended them.
    pub not_ended: u64,
    /// Their packets.
    pub packets: u64,
    /// Payload bytes per sender, each counted once, missing ones not counted.
    pub payload_bytes: PerSide<u64>,
}

/// Packets of the second number space of doubled acceptors (methods A.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DoubledCounts {
    /// Connections that have some.
    pub connections: u64,
    /// Number of packets, of both ends.
    pub packets: u64,
    /// Their payload bytes, repeated ones too.
    pub payload_bytes: u64,
}

impl DoubledCounts {
    fn plus(&self, other: &DoubledCounts) -> DoubledCounts {
        DoubledCounts {
            connections: self.connections + other.connections,
            packets: self.packets + other.packets,
            payload_bytes: self.payload_bytes + other.payload_bytes,
        }
    }
}

/// Replayable connections that were left out on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// How many.
    pub connections: u64,
    /// Of them, those that began before the capture or did not end in it.
    pub incomplete: u64,
    /// Their captured payload bytes.
    pub payload_bytes: u64,
}

impl LeftOut {
    fn plus(&self, other: &LeftOut) -> LeftOut {
        LeftOut {
            connections: self.connections + other.connections,
            incomplete: self.incomplete + other.incomplete,
            payload_bytes: self.payload_bytes + other.payload_bytes,
        }
    }

    fn add(&mut self, vector: &ConnectionVector) {
        self.connections += 1;
        self.incomplete += u64::from(!vector.complete);
        self.payload_bytes += Side::BOTH.iter().map(|side| vector.payload(*side).captured).sum::<u64>();
    }
}

/// Payload that the capture lacks of connections that cannot be replayed: of a connection that was captured in one direction only, the
/// acknowledgements tell how many bytes the other end sent (methods A.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SetAsideHoles {
    /// How many such connections lack bytes.
    pub connections: u64,
    /// Payload of all of them that was captured, of those that lack nothing too.
    pub captured_bytes: u64,
    /// The bytes that they lack.
    pub missing_bytes: u64,
    /// Of these, those that the other end acknowledged.
    pub acknowledged_bytes: u64,
}

impl SetAsideHoles {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == SetAsideHoles::default()
    }

    fn plus(&self, other: &SetAsideHoles) -> SetAsideHoles {
        SetAsideHoles {
            connections: self.connections + other.connections,
            captured_bytes: self.captured_bytes.saturating_add(other.captured_bytes),
            missing_bytes: self.missing_bytes.saturating_add(other.missing_bytes),
            acknowledged_bytes: self.acknowledged_bytes.saturating_add(other.acknowledged_bytes),
        }
    }

    fn add(&mut self, vector: &ConnectionVector) {
        let [initiator, acceptor] = Side::BOTH.map(|side| vector.payload(side));
        let both = initiator + acceptor;
        let of_it = SetAsideHoles {
            connections: u64::from(both.missing > 0),
            captured_bytes: both.captured,
            missing_bytes: both.missing,
            acknowledged_bytes: both.acknowledged,
        };
        *self = self.plus(&of_it);
    }
}

/// The payload of the connections that have a place in the workload, and what the capture lacks of it (methods A.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KeptPayload {
    /// Payload by the end that sent it.
    pub ends: PerSide<Payload>,
    /// By the side of the link that its packets come from: left, right.
    pub sides: [Payload; 2],
    /// Connections of which the capture lacks bytes.
    pub with_missing: u64,
    /// Bytes that the clock releases in a replay by default, and not an acknowledgement or the other end's data (methods A.13.11).
    pub clocked: u64,
}

impl KeptPayload {
    fn plus(&self, other: &KeptPayload) -> KeptPayload {
        KeptPayload {
            ends: self.ends + other.ends,
            sides: std::array::from_fn(|side| self.sides[side] + other.sides[side]),
            with_missing: self.with_missing + other.with_missing,
            clocked: self.clocked.saturating_add(other.clocked),
        }
    }

    /// Captured bytes by sender.
    pub fn captured_bytes(&self) -> PerSide<u64> {
        self.ends.map(|payload| payload.captured)
    }

    /// Adds the payload of a connection, and what of it the clock releases.
    pub fn add_with_clock(&mut self, vector: &ConnectionVector) {
        self.add(vector);
        self.clocked = self.clocked.saturating_add(clocked_bytes(vector, &ReplayModel::with_waits(Waits::CORRECTED)));
    }

    /// Adds the payload of a connection alone.
    pub fn add(&mut self, vector: &ConnectionVector) {
        let initiator = vector.initiator_side as usize;
        let payload = PerSide { initiator: Side::Initiator, acceptor: Side::Acceptor }.map(|side| vector.payload(side));
        self.ends = self.ends + payload;
        self.sides[initiator] = self.sides[initiator] + payload.initiator;
        self.sides[1 - initiator] = self.sides[1 - initiator] + payload.acceptor;
        self.with_missing += u64::from(payload.initiator.missing > 0 || payload.acceptor.missing > 0);
    }
}

impl ClassCounts {
    fn plus(&self, other: &ClassCounts) -> ClassCounts {
        ClassCounts {
            connections: self.connections + other.connections,
            began_before: self.began_before + other.began_before,
            not_ended: self.not_ended + other.not_ended,
            packets: self.packets + other.packets,
            payload_bytes: self.payload_bytes + other.payload_bytes,
        }
    }
}

/// Flows of datagrams of one protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FlowCounts {
    /// Flows: the datagrams of one 5-tuple until it falls silent.
    pub flows: u64,
    /// Of them, those without a payload byte: set aside.
    pub no_data: u64,
    /// Of them, those in one direction only; they are kept.
    pub one_way: u64,
    /// Their datagrams.
    pub packets: u64,
    /// Payload bytes per sender.
    pub payload_bytes: PerSide<u64>,
}

impl FlowCounts {
    fn plus(&self, other: &FlowCounts) -> FlowCounts {
        FlowCounts {
            flows: self.flows + other.flows,
            no_data: self.no_data + other.no_data,
            one_way: self.one_way + other.one_way,
            packets: self.packets + other.packets,
            payload_bytes: self.payload_bytes + other.payload_bytes,
        }
    }
}

/// What was counted of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DatagramCounts {
    /// Datagrams handed in.
    pub packets: u64,
    /// Their IP bytes + 14 each.
    pub link_bytes: u64,
    /// Flows that are not QUIC's.
    pub udp: FlowCounts,
    /// Flows that are.
    pub quic: FlowCounts,
    /// Flows ended because there was no memory for them ([`Options::memory`](super::Options::memory)).
    pub memory_ended: u64,
}

impl DatagramCounts {
    fn plus(&self, other: &DatagramCounts) -> DatagramCounts {
        DatagramCounts {
            packets: self.packets + other.packets,
            link_bytes: self.link_bytes + other.link_bytes,
            udp: self.udp.plus(&other.udp),
            quic: self.quic.plus(&other.quic),
            memory_ended: self.memory_ended + other.memory_ended,
        }
    }

    /// Flows with data, which have vectors.
    pub fn kept(&self) -> u64 {
        [self.udp, self.quic].iter().map(|counts| counts.flows - counts.no_data).sum()
    }

    /// Adds a flow that is over.
    pub(super) fn add_flow(&mut self, vector: &ConnectionVector) {
        let counts = if vector.protocol == Protocol::Quic { &mut self.quic } else { &mut self.udp };
        let packets = Side::BOTH.map(|side| vector.ends[side].packets.unwrap_or(0));
        counts.flows += 1;
        counts.no_data += u64::from(vector.adus.is_empty());
        counts.one_way += u64::from(packets.contains(&0));
        counts.packets += packets.iter().sum::<u64>();
        for side in Side::BOTH {
            counts.payload_bytes[side] += vector.bytes(side);
        }
    }
}

/// Counts over everything an [`Extractor`](super::Extractor) has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// TCP segments handed in.
    pub packets: u64,
    /// Their IP bytes + 14 each.
    pub link_bytes: u64,
    /// UDP.
    pub datagrams: DatagramCounts,
    /// Earliest capture time, packets that are neither included where the capture begins with one.
    pub first: Option<Time>,
    /// Latest capture time.
    pub last: Option<Time>,
    /// Per class, in the order of [`Class::ALL`].
    pub classes: [ClassCounts; 6],
    /// Payload of the connections that have a place in the workload.
    pub kept: KeptPayload,
    /// The number of these connections, in the order of [`Pattern`].
    pub kept_by_pattern: [u64; 2],
    /// Replayable but incomplete connections left out on request ([`Options::complete_only`](super::Options::complete_only)); they
    /// are counted in their class too.
    pub incomplete_left_out: LeftOut,
    /// The same of connections of which the capture lacks bytes ([`Missing::Skip`]).
    pub missing_left_out: LeftOut,
    /// What the capture lacks of connections whose class is set aside.
    pub set_aside_holes: SetAsideHoles,
    /// Packets of doubled acceptors that were set aside; in no class.
    pub doubled: DoubledCounts,
    /// Connections by the rule that told the initiator, in the order of [`InitiatorRule`].
    pub initiator_rules: [u64; 4],
    /// Connections by the rule that told the initiator's side of the link, in the order of [`SideRule`].
    pub side_rules: [u64; 4],
    /// Connections that began on a 4-tuple whose earlier connection was still held.
    pub port_reuse: u64,
    /// Connections ended by silence: after the idle timeout, attempts that never got past their SYNs earlier
    /// ([`Options::linger`](super::Options::linger)).
    pub idle_ended: u64,
    /// Connections whose handshake repeated a SYN or SYN/ACK.
    pub handshake_repeated: u64,
    /// Connections with bytes that were never seen.
    pub with_missing_bytes: u64,
    /// Segments of both ends of every connection, added up.
    pub segments: Segments,
    /// Captured segments above the MSS, which an offload had merged (methods A.13.10).
    pub oversized: u64,
    /// Packets on the link beyond those captured: what became of the oversized ones.
    pub merged: u64,
    /// Connections with a measured transit of the end the monitor is said to stand at.
    pub near_transits: u64,
    /// Of them, those where it is too long for that: more than 5 ms.
    pub long_near_transits: u64,
    /// Segments and datagrams whose timestamp lies before the one before them in the capture.
    pub clock_backwards: u64,
    /// The farthest such step.
    pub farthest_backwards: Duration,
    /// Connections whose start was moved because the clock had gone back, or because the packet that opened them was
    /// stamped later than the one after it.
    pub starts_moved: u64,
    /// Packets of closed connections that came when their vectors had been made ([`Options::drain`](super::Options::drain)).
    pub stragglers: u64,
    /// Payload bytes of those that had not been seen: they are in no vector.
    pub straggler_bytes: u64,
    /// Connections ended because there was no memory for them ([`Options::memory`](super::Options::memory)).
    pub memory_ended: u64,
    /// Connections and flows of which one end sent in two VLANs: each may be two.
    pub vlan_changes: u64,
    /// With [`Options::vlan_key`](super::Options::vlan_key): pairs of connections, each seen in one direction and in another VLAN, that may be
    /// one. At least so many: the halves that wait for another are limited.
    pub vlan_halves: u64,
}

impl Counts {
    /// Both together. What only one of them has counted, such as the times, is that one's.
    pub fn plus(&self, other: &Counts) -> Counts {
        // A count that is added must be added up: this stops compiling until it is.
        let Counts {
            packets,
            link_bytes,
            datagrams,
            first,
            last,
            classes,
            kept,
            kept_by_pattern,
            incomplete_left_out,
            missing_left_out,
            set_aside_holes,
            doubled,
            initiator_rules,
            side_rules,
            port_reuse,
            idle_ended,
            handshake_repeated,
            with_missing_bytes,
            segments,
            oversized,
            merged,
            near_transits,
            long_near_transits,
            clock_backwards,
            farthest_backwards,
            starts_moved,
            stragglers,
            straggler_bytes,
            memory_ended,
            vlan_changes,
            vlan_halves,
        } = *other;
        let both = |mut one: Segments, other: Segments| {
            one += other;
            one
        };
        let add = |one: [u64; 4], other: [u64; 4]| std::array::from_fn(|at| one[at] + other[at]);
        Counts {
            packets: self.packets + packets,
            link_bytes: self.link_bytes + link_bytes,
            datagrams: self.datagrams.plus(&datagrams),
            first: [self.first, first].into_iter().flatten().min(),
            last: self.last.max(last),
            classes: std::array::from_fn(|at| self.classes[at].plus(&classes[at])),
            kept: self.kept.plus(&kept),
            kept_by_pattern: std::array::from_fn(|at| self.kept_by_pattern[at] + kept_by_pattern[at]),
            incomplete_left_out: self.incomplete_left_out.plus(&incomplete_left_out),
            missing_left_out: self.missing_left_out.plus(&missing_left_out),
            set_aside_holes: self.set_aside_holes.plus(&set_aside_holes),
            doubled: self.doubled.plus(&doubled),
            initiator_rules: add(self.initiator_rules, initiator_rules),
            side_rules: add(self.side_rules, side_rules),
            port_reuse: self.port_reuse + port_reuse,
            idle_ended: self.idle_ended + idle_ended,
            handshake_repeated: self.handshake_repeated + handshake_repeated,
            with_missing_bytes: self.with_missing_bytes + with_missing_bytes,
            segments: both(self.segments, segments),
            oversized: self.oversized + oversized,
            merged: self.merged + merged,
            near_transits: self.near_transits + near_transits,
            long_near_transits: self.long_near_transits + long_near_transits,
            clock_backwards: self.clock_backwards + clock_backwards,
            farthest_backwards: self.farthest_backwards.max(farthest_backwards),
            starts_moved: self.starts_moved + starts_moved,
            stragglers: self.stragglers + stragglers,
            straggler_bytes: self.straggler_bytes + straggler_bytes,
            memory_ended: self.memory_ended + memory_ended,
            vlan_changes: self.vlan_changes + vlan_changes,
            vlan_halves: self.vlan_halves + vlan_halves,
        }
    }

    /// Adds a connection of so many captured packets that is over; the monitor stood at its end `near`, if at any.
    pub(super) fn add_connection(&mut self, class: Class, packets: u64, vector: &ConnectionVector, near: Option<Side>) {
        let of_class = &mut self.classes[class.index()];
        of_class.connections += 1;
        of_class.packets += packets;
        for side in Side::BOTH {
            let segments = vector.ends[side].segments.unwrap_or_default();
            of_class.payload_bytes[side] += vector.payload(side).captured;
            self.segments += segments;
            self.oversized += vector.ends[side].oversized.unwrap_or(0);
        }
        let on_link: u64 = Side::BOTH.iter().filter_map(|side| vector.ends[*side].packets).sum();
        self.merged += on_link.saturating_sub(packets);
        of_class.began_before += u64::from(Side::BOTH.iter().all(|side| !vector.ends[*side].syn_seen));
        of_class.not_ended += u64::from(vector.close == Close::NotSeen);
        // Zero stands for a transit that was not measured, too.
        let near_transit = near.and_then(|near| vector.ends[near].min_transit).filter(|transit| !transit.is_zero());
        self.near_transits += u64::from(near_transit.is_some());
        self.long_near_transits += u64::from(near_transit.is_some_and(|transit| transit > LONGEST_NEAR_TRANSIT));
        self.with_missing_bytes += u64::from(Side::BOTH.iter().any(|side| vector.ends[*side].missing_bytes() > 0));
        self.initiator_rules[vector.initiator_rule as usize] += 1;
        self.handshake_repeated += u64::from(vector.handshake_repeated);
    }

    /// Adds a connection whose vector has a place in the workload, or the reason why it was left out of it.
    pub(super) fn add_vector(&mut self, place: VectorPlace, vector: &ConnectionVector) {
        match place {
            VectorPlace::Kept => {
                self.kept.add_with_clock(vector);
                self.kept_by_pattern[vector.pattern as usize] += 1;
            }
            VectorPlace::Incomplete => self.incomplete_left_out.add(vector),
            VectorPlace::LacksBytes => self.missing_left_out.add(vector),
            VectorPlace::NotReplayable => self.set_aside_holes.add(vector),
        }
    }

    /// The counts of `class`.
    pub fn class(&self, class: Class) -> &ClassCounts {
        &self.classes[class.index()]
    }

    /// Connections of every class.
    pub fn connections(&self) -> u64 {
        self.classes.iter().map(|class| class.connections).sum()
    }

    /// Connections of the classes `choose` picks.
    pub fn connections_where(&self, choose: impl Fn(Class) -> bool) -> u64 {
        Class::ALL.iter().filter(|class| choose(**class)).map(|class| self.class(*class).connections).sum()
    }

    /// Connections whose initiator `rule` told.
    pub fn initiator_rule(&self, rule: InitiatorRule) -> u64 {
        self.initiator_rules[rule as usize]
    }

    /// Connections whose side of the link `rule` told.
    pub fn side_rule(&self, rule: SideRule) -> u64 {
        self.side_rules[rule as usize]
    }

    /// First to last packet.
    pub fn duration(&self) -> Duration {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.since(first),
            _ => Duration::ZERO,
        }
    }
}

/// What parts count while they work. Several add up to the same as one.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Connections and their segments.
    pub counts: Counts,
    /// Traffic by time.
    pub series: TrafficSeries,
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: &Tally) {
        self.counts = self.counts.plus(&other.counts);
        self.series.merge(&other.series);
    }
}

/// What becomes of packets past the monitor, as far as the capture decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Their connection became a vector.
    Replayed,
    /// They are datagrams with payload, of a vector that is sent where the experiment asks for it.
    Datagrams,
    /// They are in no vector.
    SetAside,
}

impl Fate {
    /// That of a connection's packets.
    pub(super) fn of_connection(set_aside: bool) -> Fate {
        if set_aside { Fate::SetAside } else { Fate::Replayed }
    }
}

/// Traffic past the monitor by bins of 10 ms from the first packet, per side of the link it came from (left, right).
/// All series have one width: ten times as much whenever one has more than [`Self::MAX_BINS`].
#[derive(Clone, Debug)]
pub struct TrafficSeries {
    /// Packets of connections that became vectors (methods M.8).
    pub replayed: [Series; 2],
    /// Datagrams of flows that became vectors; those without payload are set aside.
    pub datagrams: [Series; 2],
    /// Packets of connections and flows that were set aside.
    pub set_aside: [Series; 2],
    /// Bytes of the busiest 10 ms of either direction, all traffic together (methods M.9).
    pub peak_bytes: u64,
    /// Bins of 10 ms in one of these.
    factor: u64,
    /// The bin of the packet before, of 10 ms, and its traffic not yet in the series: packets come bin by bin.
    bin: u64,
    open: [[Traffic; 2]; 3],
}

impl TrafficSeries {
    /// Narrowest width of a bin.
    pub const WIDTH: Duration = Duration::from_millis(10);
    /// The most bins of a series. A workload file keeps a tenth of it.
    pub const MAX_BINS: usize = 655_360;

    /// Adds traffic in a bin of 10 ms.
    #[inline]
    pub(super) fn add(&mut self, fate: Fate, from: LinkSide, bin: u64, traffic: Traffic) {
        if bin != self.bin {
            self.close_bin();
            self.bin = bin;
        }
        self.open[fate as usize][from as usize].add(traffic);
    }

    /// Everything was added.
    pub fn settle(&mut self, peak_bytes: u64) {
        self.close_bin();
        self.peak_bytes = peak_bytes;
    }

    fn close_bin(&mut self) {
        let open = std::mem::take(&mut self.open);
        let bin = self.bin / self.factor;
        // One iterator over all six took a hundredth of an extraction.
        for (series, traffic) in [&mut self.replayed, &mut self.datagrams, &mut self.set_aside].into_iter().zip(open) {
            for (series, traffic) in series.iter_mut().zip(traffic) {
                if traffic.packets > 0 {
                    series.add_bin(bin, traffic);
                }
            }
        }
        self.limit();
    }

    /// Makes the bins wider if there are too many.
    fn limit(&mut self) {
        while self.all().any(|series| series.len() > Self::MAX_BINS) {
            self.widen();
        }
    }

    fn all(&self) -> impl Iterator<Item = &Series> {
        self.replayed.iter().chain(&self.datagrams).chain(&self.set_aside)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Series> {
        self.replayed.iter_mut().chain(&mut self.datagrams).chain(&mut self.set_aside)
    }

    #[cold]
    fn widen(&mut self) {
        for series in self.all_mut() {
            *series = series.coarsen(10);
        }
        self.factor = self.factor.saturating_mul(10);
    }

    fn merge(&mut self, other: &TrafficSeries) {
        let mut other = other.clone();
        self.close_bin();
        other.close_bin();
        while self.factor != other.factor {
            if self.factor < other.factor { self.widen() } else { other.widen() }
        }
        for (own, series) in self.all_mut().zip(other.all()) {
            series.bins().for_each(|(bin, traffic)| own.add_bin(*bin, *traffic));
        }
        self.limit();
    }
}

impl PartialEq for TrafficSeries {
    fn eq(&self, other: &TrafficSeries) -> bool {
        self.all().eq(other.all()) && self.open == other.open && self.peak_bytes == other.peak_bytes
    }
}

impl Eq for TrafficSeries {}

impl Default for TrafficSeries {
    fn default() -> TrafficSeries {
        let empty = || [Series::new(Self::WIDTH), Series::new(Self::WIDTH)];
        TrafficSeries {
            replayed: empty(),
            datagrams: empty(),
            set_aside: empty(),
            peak_bytes: 0,
            factor: 1,
            bin: 0,
            open: Default::default(),
        }
    }
}
