//! What is known of a packet from the whole capture, before its connection is: its number, its clock, its part.

use std::net::IpAddr;

use crate::time::{Duration, Time};
use crate::units::LINK_HEADER_BYTES;
use crate::wire::{Address, Datagram, Segment, Vlan};
use crate::workload::LinkSide;

use super::counts::{Counts, TrafficSeries};
use super::key::{Key, Seeds, seeds};
use super::options::Options;
use super::seen::Seen;

/// A TCP segment or UDP datagram with what the whole capture says about it, on its way to its [`Part`](super::Part).
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub(super) key: Key,
    pub(super) hash: u32,
    pub(super) link_bytes: u32,
    /// As stamped; the stamp of the packet after it where its own is wrong.
    pub(super) time: Time,
    /// From the first packet of the capture, by a clock that neither runs backwards nor follows a single wrong stamp.
    pub(super) start: Time,
    /// The 10 ms bin of that.
    pub(super) bin: u64,
    /// Packets handed in before it.
    pub(super) number: u64,
    /// Of a datagram only the sizes.
    pub(super) seen: Seen,
    pub(super) vlan: Option<Vlan>,
    /// The side of the link its sender is on, by the capture's marks or by MAC addresses.
    pub(super) sender_side: Option<LinkSide>,
    pub(super) marked: bool,
    /// Its start is not its stamp.
    pub(super) moved: bool,
    /// Its sender is the second address of the key.
    pub(super) sender_second: bool,
    /// A datagram with a QUIC long header.
    pub(super) quic: bool,
    /// A datagram to many: multicast or broadcast.
    pub(super) to_many: bool,
}

/// A stamp later than that of the packet before it and that of the packet after it, by more than this, is wrong: no other
/// rule that silence decides needs less.
const WRONG_BY: Duration = Duration::from_secs(60);

/// What a packet is beside what its transport says.
struct Carrier {
    link_bytes: u32,
    vlan: Option<Vlan>,
    /// The side of the link its sender is on, by the capture's marks and by MAC addresses.
    marked: Option<LinkSide>,
    by_mac: Option<LinkSide>,
    quic: bool,
    to_many: bool,
}

/// The end of a round: a moment at which every part reclaims memory, at the same place in the capture.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Rounds before it.
    pub(super) number: u64,
    /// The earliest stamp in it and right after it: one that is wrong by years ends no connection.
    pub(super) clock: Time,
    /// The bin of that.
    pub(super) bin: u64,
    /// The number of the packet after it.
    pub(super) next: u64,
}

/// Takes in the packets of a capture in order and says what parts need to know of them.
///
/// Hand in each segment with [`handle_segment`](Self::handle_segment), each datagram with
/// [`handle_datagram`](Self::handle_datagram), and what gathers the packets of each part. A packet is complete there
/// when the one after it was handed in, because only that shows what a stamp is worth: let packets lie until
/// [`round`](Self::round), asked for after every packet, gives the end of their round. At the end of the capture call
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct Front {
    seeds: Seeds,
    vlan_key: bool,
    /// Packets of a round.
    round: u32,
    /// The first packet of the capture.
    origin: Option<Time>,
    /// When the packet before passed, and where it lies, unless it is held.
    pending: Option<(Time, u8)>,
    /// When the packet before that one passed.
    before: Time,
    /// The packet before, if the round before it ended with it.
    held: Option<Packet>,
    /// Packets handed in.
    number: u64,
    /// The latest start so far.
    start: Time,
    /// MAC addresses of the first TCP packet: left to right.
    macs: Option<[[u8; 6]; 2]>,
    /// Of the first datagram to one receiver, which tell the sides of datagrams as long as no TCP packet has passed. TCP's
    /// do not depend on what passes beside it.
    datagram_macs: Option<[[u8; 6]; 2]>,
    /// The bin of the packet before, and where it begins and ends.
    bin: (u64, Time, Time),
    rounds: u64,
    in_round: u32,
    clock: Time,
    counts: Counts,
}

impl Front {
    /// One that has seen nothing.
    pub fn new(options: &Options) -> Front {
        Front {
            seeds: seeds(options.hash_secret),
            vlan_key: options.vlan_key,
            round: options.round.max(1),
            origin: None,
            pending: None,
            before: Time::MAX,
            held: None,
            number: 0,
            start: Time::ZERO,
            macs: None,
            datagram_macs: None,
            bin: (0, Time::ZERO, Time::ZERO),
            rounds: 0,
            in_round: 0,
            clock: Time::MAX,
            counts: Counts::default(),
        }
    }

    /// Says when the capture begins, if its first packet is neither (methods A.9). Later calls change nothing.
    pub fn begin(&mut self, time: Time) {
        if self.origin.is_none() {
            self.origin = Some(time);
            self.counts.first = Some(time);
        }
    }

    /// Takes in a segment that passed at `time` on the capture's clock.
    #[inline]
    pub fn handle_segment(&mut self, time: Time, segment: &Segment, of_parts: &mut [Vec<Packet>]) {
        self.counts.packets += 1;
        self.counts.link_bytes += u64::from(segment.link_bytes);
        let (key, sender_second) = Key::of(segment.source, segment.destination, segment.vlan.filter(|_| self.vlan_key));
        if self.macs.is_none() {
            self.macs = segment.macs;
        }
        let seen = Seen::from(segment);
        let carrier = Carrier {
            link_bytes: segment.link_bytes,
            vlan: segment.vlan,
            marked: segment.from,
            by_mac: side_by_macs(segment.macs, self.macs),
            quic: false,
            to_many: false,
        };
        self.add(time, key, sender_second, seen, carrier, of_parts);
    }

    /// Takes in a datagram that passed at `time` on the capture's clock.
    #[inline]
    pub fn handle_datagram(&mut self, time: Time, datagram: &Datagram, of_parts: &mut [Vec<Packet>]) {
        self.counts.datagrams.packets += 1;
        self.counts.datagrams.link_bytes += u64::from(datagram.link_bytes);
        let (key, sender_second) =
            Key::of(datagram.source, datagram.destination, datagram.vlan.filter(|_| self.vlan_key));
        let to_many = is_to_many(datagram);
        if self.datagram_macs.is_none() && !to_many {
            self.datagram_macs = datagram.macs;
        }
        let seen = Seen {
            payload_bytes: datagram.payload_bytes,
            ip_bytes: datagram.link_bytes.saturating_sub(LINK_HEADER_BYTES),
            ..Seen::default()
        };
        let carrier = Carrier {
            link_bytes: datagram.link_bytes,
            vlan: datagram.vlan,
            marked: datagram.from,
            by_mac: side_by_macs(datagram.macs, self.macs.or(self.datagram_macs)),
            quic: datagram.quic,
            to_many,
        };
        self.add(time, key.datagrams(), sender_second, seen, carrier, of_parts);
    }

    /// Adds a packet to those of its part and completes the one before it.
    #[inline]
    fn add(
        &mut self,
        time: Time,
        key: Key,
        sender_second: bool,
        seen: Seen,
        carrier: Carrier,
        of_parts: &mut [Vec<Packet>],
    ) {
        self.begin(time);
        self.count(time);
        self.complete(time, of_parts);
        let part = key.part() as u8;
        let packet = Packet {
            key,
            hash: key.hash(&self.seeds),
            link_bytes: carrier.link_bytes,
            time,
            start: Time::ZERO,
            bin: self.bin(time),
            number: self.number,
            seen,
            vlan: carrier.vlan,
            sender_side: carrier.marked.or(carrier.by_mac),
            marked: carrier.marked.is_some(),
            moved: false,
            sender_second,
            quic: carrier.quic,
            to_many: carrier.to_many,
        };
        self.number += 1;
        self.pending = Some((time, part));
        if self.in_round == self.round {
            self.held = Some(packet);
        } else {
            of_parts[usize::from(part)].push(packet);
        }
    }

    /// The capture is over: nothing stands beside the stamp of the last packet.
    pub fn finish(&mut self, of_parts: &mut [Vec<Packet>]) {
        self.complete(Time::MAX, of_parts);
        self.pending = None;
    }

    /// The end of a round, if the packet handed in last is the first after it.
    #[inline]
    pub fn round(&mut self) -> Option<Round> {
        (self.in_round == self.round).then(|| self.end_round())
    }

    /// A packet passed that is left out by choice: the capture is as long as with it.
    pub fn pass_over(&mut self, time: Time) {
        self.lengthen(time);
    }

    /// Counts of packets, clock and bytes; those of connections are in a [`Tally`](super::Tally).
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    #[cold]
    fn end_round(&mut self) -> Round {
        let clock = std::mem::replace(&mut self.clock, Time::MAX);
        let pending = u64::from(self.pending.is_some());
        let round = Round { number: self.rounds, clock, bin: self.bin(clock), next: self.number - pending };
        self.rounds += 1;
        self.in_round = 0;
        round
    }

    /// Gives the packet before its start. A stamp that lies beyond that of the packet `after` it is taken back to that; all
    /// of it only if it is wrong, or packets that were captured out of order would lose their times.
    #[inline]
    fn complete(&mut self, after: Time, of_parts: &mut [Vec<Packet>]) {
        let Some((time, part)) = self.pending else { return };
        let of_part = &mut of_parts[usize::from(part)];
        if self.held.is_some() {
            of_part.extend(self.held.take());
        }
        let origin = self.origin.unwrap_or_default();
        let stamp = Time::ZERO + time.since(origin);
        self.start = self.start.max(stamp.min(Time::ZERO + after.since(origin)));
        self.clock = self.clock.min(time).min(after);
        self.in_round += 1;
        let wrong = time.since(after) > WRONG_BY && time.since(self.before) > WRONG_BY;
        self.before = time;
        if let Some(packet) = of_part.last_mut() {
            packet.start = self.start;
            packet.moved = self.start != stamp;
            if wrong {
                (packet.time, packet.bin) = (after, self.bin(after));
            }
        }
    }

    #[inline]
    fn lengthen(&mut self, time: Time) {
        let counts = &mut self.counts;
        counts.first = Some(counts.first.map_or(time, |first| first.min(time)));
        counts.last = Some(counts.last.map_or(time, |last| last.max(time)));
    }

    #[inline]
    fn count(&mut self, time: Time) {
        self.lengthen(time);
        if let Some((previous, _)) = self.pending.filter(|(previous, _)| time < *previous) {
            let counts = &mut self.counts;
            counts.clock_backwards += 1;
            counts.farthest_backwards = counts.farthest_backwards.max(previous.since(time));
        }
    }

    /// The 10 ms bin of `time`; most packets are in that of the packet before.
    #[inline]
    fn bin(&mut self, time: Time) -> u64 {
        let (bin, from, to) = self.bin;
        if from <= time && time < to {
            return bin;
        }
        let origin = self.origin.unwrap_or(time);
        let bin = time.since(origin).as_nanos() / TrafficSeries::WIDTH.as_nanos();
        let from = origin + TrafficSeries::WIDTH * bin;
        // What lies before the origin is in the first bin too.
        let least = if bin == 0 { Time::ZERO } else { from };
        self.bin = (bin, least, from + TrafficSeries::WIDTH);
        bin
    }
}

/// The side of the link a packet comes from, by its MAC addresses beside those of a packet from the left.
#[inline]
fn side_by_macs(macs: Option<[[u8; 6]; 2]>, from_left: Option<[[u8; 6]; 2]>) -> Option<LinkSide> {
    match (macs, from_left) {
        (Some(pair), Some(first)) if pair == first => Some(LinkSide::Left),
        (Some([destination, source]), Some(first)) if [source, destination] == first => Some(LinkSide::Right),
        _ => None,
    }
}

/// Whether a datagram goes to many receivers: by its address, or by that of the link, which knows the broadcast address
/// of a subnet.
fn is_to_many(datagram: &Datagram) -> bool {
    let group = datagram.macs.is_some_and(|[destination, _]| destination[0] & 1 != 0);
    group || is_many(datagram.destination)
}

/// Whether an address is one of many receivers: multicast, or the limited broadcast.
fn is_many(address: Address) -> bool {
    match address.host() {
        IpAddr::V4(v4) => v4.is_multicast() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_multicast(),
    }
}
