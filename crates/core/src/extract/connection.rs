//! A connection of a capture: its observer, its roles, and its packets that wait to be counted.

use crate::record::{Series, Traffic};
use crate::wire::Vlan;
use crate::workload::{InitiatorRule, LinkSide, Side};

use super::counts::{Fate, SideRule, Tally, TrafficSeries};
use super::front::Packet;
use super::key::Key;
use super::observer::Observer;
use super::options::{Missing, Options};

/// Packets held per connection; a connection still not replayable after so many is taken for set aside so far.
const MAX_HELD: usize = 64;

/// Held packets that need no memory of their own: a handshake and what may come beside it.
const NEAR: usize = 4;

/// Which end is which, and on which side of the link (methods A.1.3, M.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Roles {
    /// The initiator is the second address of the key.
    pub initiator_second: bool,
    pub initiator_side: LinkSide,
    pub rule: InitiatorRule,
}

impl Roles {
    /// By the first packet of a connection or flow.
    pub fn of(packet: &Packet, options: &Options) -> (Roles, SideRule) {
        let (initiator_second, rule) =
            if packet.key.is_of_datagrams() { datagram_initiator(packet) } else { initiator(packet) };
        let of_initiator =
            |sender: LinkSide| if packet.sender_second == initiator_second { sender } else { sender.other() };
        let (initiator_side, side_rule) = match packet.sender_side {
            Some(side) if packet.marked => (of_initiator(side), SideRule::Marks),
            _ if !options.inside.is_empty() => {
                let is_inside =
                    |second: bool| options.inside.iter().any(|prefix| prefix.contains(packet.key.address(second)));
                match (is_inside(initiator_second), is_inside(!initiator_second)) {
                    (true, false) => (LinkSide::Left, SideRule::Inside),
                    (false, true) => (LinkSide::Right, SideRule::Inside),
                    // Both ends on one side: the prefixes do not say which way the link was crossed.
                    (true, true) | (false, false) => (LinkSide::Left, SideRule::Unknown),
                }
            }
            Some(side) => (of_initiator(side), SideRule::Macs),
            None => (LinkSide::Left, SideRule::Unknown),
        };
        (Roles { initiator_second, initiator_side, rule }, side_rule)
    }

    /// The end that the first or second address of the key is.
    #[inline]
    pub fn side(&self, second: bool) -> Side {
        if second == self.initiator_second { Side::Initiator } else { Side::Acceptor }
    }

    /// The side of the link that packets of the first or second address come from.
    #[inline]
    pub fn from(&self, second: bool) -> LinkSide {
        if second == self.initiator_second { self.initiator_side } else { self.initiator_side.other() }
    }
}

/// Which address of the key is the initiator, by the first packet (methods A.1.3).
fn initiator(packet: &Packet) -> (bool, InitiatorRule) {
    let flags = packet.seen.flags;
    if flags.syn() && !flags.rst() {
        return match flags.ack() {
            false => (packet.sender_second, InitiatorRule::Syn),
            true => (!packet.sender_second, InitiatorRule::SynAck),
        };
    }
    let (first, second) = (packet.key.address(false).port, packet.key.address(true).port);
    match first.cmp(&second) {
        std::cmp::Ordering::Equal => (packet.sender_second, InitiatorRule::FirstPacket),
        order => (order.is_lt(), InitiatorRule::Port),
    }
}

/// Which address of the key is the initiator of a flow of datagrams, by the first of them.
///
/// If exactly one of the ports is below 1,024, it is a service's and the other end is the initiator (methods A.1.3, the
/// third rule); so a capture that begins between a query and its answer does not turn them around. Else the first sender
/// is: the larger port alone says nothing where both are ephemeral, and there is no handshake that would make a late first
/// packet likely. Of what goes to many receivers only the sender can be an end.
fn datagram_initiator(packet: &Packet) -> (bool, InitiatorRule) {
    let service = |second: bool| packet.key.address(second).port < FIRST_USER_PORT;
    match (service(packet.sender_second), service(!packet.sender_second)) {
        (true, false) if !packet.to_many => (!packet.sender_second, InitiatorRule::Port),
        (false, true) => (packet.sender_second, InitiatorRule::Port),
        _ => (packet.sender_second, InitiatorRule::FirstPacket),
    }
}

/// Ports below this are a service's (RFC 6335, system ports).
const FIRST_USER_PORT: u16 = 1024;

/// A connection of which one packet passed: scans are millions of these. The second packet makes it a [`Connection`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Single {
    pub packet: Packet,
    pub roles: Roles,
}

impl Single {
    /// Whether its packet is a SYN without data, as [`Observer::is_attempt`].
    pub fn is_attempt(&self) -> bool {
        let seen = &self.packet.seen;
        seen.flags.syn() && !seen.flags.rst() && seen.payload_bytes == 0
    }
}

/// The VLANs that packets of a connection or flow came in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Vlans {
    /// Of the first packet of the first and second address, once there was one.
    first: [Option<Vlan>; 2],
    heard: [bool; 2],
    /// Packets of one end came in two.
    changed: bool,
}

impl Vlans {
    /// Takes note of a packet; whether it is the first in another VLAN than those before from its end.
    #[inline]
    pub fn note(&mut self, packet: &Packet) -> bool {
        let end = usize::from(packet.sender_second);
        if packet.vlan == self.first[end] {
            self.heard[end] = true;
            return false;
        }
        if !std::mem::replace(&mut self.heard[end], true) {
            self.first[end] = packet.vlan;
            return false;
        }
        !std::mem::replace(&mut self.changed, true)
    }
}

/// A packet whose connection is not yet known to be replayable.
#[derive(Clone, Copy, Debug)]
struct Held {
    bin: u64,
    from: LinkSide,
    packets: u32,
    bytes: u32,
    payload_bytes: u32,
}

impl Held {
    const NONE: Held = Held { bin: 0, from: LinkSide::Left, packets: 0, bytes: 0, payload_bytes: 0 };

    #[inline]
    fn traffic(&self) -> Traffic {
        Traffic {
            packets: u64::from(self.packets),
            bytes: u64::from(self.bytes),
            payload_bytes: u64::from(self.payload_bytes),
        }
    }
}

/// The packets held of a connection.
#[derive(Debug)]
struct HeldPackets {
    count: u8,
    near: [Held; NEAR],
    #[expect(clippy::box_collection, reason = "absent in most connections, and this is held once per connection")]
    far: Option<Box<Vec<Held>>>,
}

impl HeldPackets {
    fn push(&mut self, held: Held) {
        match self.near.get_mut(usize::from(self.count)) {
            Some(place) => *place = held,
            None => self.far.get_or_insert_default().push(held),
        }
        self.count = self.count.saturating_add(1);
    }

    /// Counts them as replayed or set aside; none is held any more.
    fn release(&mut self, set_aside: bool, tally: &mut Tally) {
        let near = &self.near[..usize::from(self.count).min(NEAR)];
        for held in near.iter().chain(self.far.iter().flat_map(|far| far.iter())) {
            tally.series.add(Fate::of_connection(set_aside), held.from, held.bin, held.traffic());
        }
        (self.count, self.far) = (0, None);
    }
}

/// A connection of a capture.
#[derive(Debug)]
pub(super) struct Connection {
    pub key: Key,
    pub hash: u32,
    /// The number of the packet that opened it.
    pub number: u64,
    /// The start of its vector.
    pub start: crate::time::Time,
    pub roles: Roles,
    /// Its packets go straight to the series of replayed traffic.
    replayable: bool,
    /// Its traffic by the side it came from, where only its end tells whether its vector has a place.
    late: Option<Box<[Series; 2]>>,
    vlans: Vlans,
    /// Bytes of heap when last looked at.
    pub heap_bytes: u32,
    pub observer: Observer,
    held: HeldPackets,
}

impl Connection {
    /// The connection that `single` was so far.
    pub fn new(single: &Single, options: &Options, tally: &mut Tally) -> Connection {
        let Single { packet, roles } = single;
        let mut connection = Connection {
            key: packet.key,
            hash: packet.hash,
            number: packet.number,
            start: packet.start,
            roles: *roles,
            replayable: false,
            late: (options.complete_only || options.keep_one_way || options.missing == Missing::Skip)
                .then(|| Box::new([(); 2].map(|()| Series::new(TrafficSeries::WIDTH)))),
            vlans: Vlans::default(),
            heap_bytes: 0,
            observer: Observer::new(packet.time, options.quiet),
            held: HeldPackets { count: 0, near: [Held::NONE; NEAR], far: None },
        };
        connection.handle(packet, tally);
        connection
    }

    /// Takes in a packet that belongs to it; the bytes it took on the link.
    #[inline]
    pub fn handle(&mut self, packet: &Packet, tally: &mut Tally) -> u32 {
        self.tell_initiator(packet);
        tally.counts.vlan_changes += u64::from(self.vlans.note(packet));
        let arrival = self.observer.handle_segment(packet.time, self.roles.side(packet.sender_second), &packet.seen);
        let from = self.roles.from(packet.sender_second);
        let (packets, bytes) = (1 + arrival.merged, packet.link_bytes + arrival.merged_bytes);
        let held = Held { bin: packet.bin, from, packets, bytes, payload_bytes: arrival.new_bytes };
        if self.replayable || arrival.doubled {
            tally.series.add(Fate::of_connection(arrival.doubled), from, packet.bin, held.traffic());
        } else if let Some(late) = &mut self.late {
            late[from as usize].add_bin(packet.bin, held.traffic());
        } else {
            self.held.push(held);
            self.replayable = self.observer.is_replayable();
            if self.replayable || usize::from(self.held.count) == MAX_HELD {
                self.held.release(!self.replayable, tally);
            }
        }
        bytes
    }

    /// Counts the packets still held as what the connection turned out to be.
    pub fn release(&mut self, set_aside: bool, tally: &mut Tally) {
        self.held.release(set_aside, tally);
        for (late, from) in self.late.iter().flat_map(|late| late.iter()).zip([LinkSide::Left, LinkSide::Right]) {
            let fate = Fate::of_connection(set_aside);
            late.bins().for_each(|(bin, traffic)| tally.series.add(fate, from, *bin, *traffic));
        }
    }

    /// Reads something of every cache line of it that a packet needs.
    #[inline]
    pub fn touch(&self) -> u64 {
        self.number ^ self.observer.touch()
    }

    /// Bytes on the heap, now.
    pub fn heap(&self) -> u32 {
        let far = self.held.far.as_ref().map_or(0, |far| far.capacity() * size_of::<Held>());
        let late = self.late.iter().flat_map(|late| late.iter());
        let late: usize = late.map(|series| series.len() * size_of::<(u64, Traffic)>()).sum();
        u32::try_from(self.observer.heap_bytes() + far + late).unwrap_or(u32::MAX)
    }

    /// Corrects the roles when a SYN or SYN/ACK passes after other segments.
    #[inline]
    fn tell_initiator(&mut self, packet: &Packet) {
        let flags = packet.seen.flags;
        if !flags.syn() || flags.rst() {
            return;
        }
        let (initiator_second, rule) = initiator(packet);
        if rule >= self.roles.rule {
            return;
        }
        self.roles.rule = rule;
        if initiator_second != self.roles.initiator_second {
            self.roles.initiator_second = initiator_second;
            self.roles.initiator_side = self.roles.initiator_side.other();
            self.observer.swap_sides();
        }
    }
}
