//! Packets between the ends: plain values in one array, strung into queues by index.
//!
//! Nothing is allocated per packet: slots are reused, and a packet keeps its slot from its sender to its receiver.

use flowloom_core::play::AtEnd;
use flowloom_core::tcp::Segment;
use flowloom_core::time::Time;
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::workload::LinkSide;

/// No packet.
const NONE: u32 = u32::MAX;

/// A packet in flight, by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(u32);

/// A packet on its way: two cache lines, of which the segment is one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// What it carries.
    pub segment: Segment,
    /// When its end sent it.
    pub sent: Time,
    /// When it reaches the end of the part of the path it is on; while it waits in a queue, when it reached that.
    pub due: Time,
    /// When its last bit passes the monitor, once the link has accepted it.
    pub passed: Time,
    /// Its number among the packets the link accepted, which orders packets that pass at the same time.
    pub order: u64,
    /// Payload bytes that no packet has carried past the monitor before it.
    pub fresh: u32,
    next: u32,
    /// The packet that passes the monitor behind it.
    next_passing: u32,
    /// The other of a packet and the copy that the path made of it, while both are on their way.
    twin: u32,
    /// What it takes on a link.
    link_bytes: u32,
    /// The side of the bottleneck it comes from.
    pub from: LinkSide,
    /// What becomes of it at the other end.
    pub at_end: AtEnd,
    /// Whether the path made it of another packet: its loss takes nothing from the receiver that the other does not bring.
    pub is_copy: bool,
    /// Whether the other of a packet and its copy has reached the other end: the loss of this one takes nothing from the receiver.
    pub is_spare: bool,
    /// Whether the other of a packet and its copy reached the bottleneck before this one.
    pub is_offered: bool,
    /// Whether the bottleneck let the other of a packet and its copy through before this one: this one carries nothing new.
    pub is_repeat: bool,
    /// Whether it is one of a probe, from when it reaches its first link on: no series of the traffic has it.
    pub is_probe: bool,
}

impl Packet {
    /// What it takes on a link.
    pub fn link_bytes(&self) -> u32 {
        self.link_bytes
    }

    /// What is lost if it is dropped now.
    pub fn loss(&self) -> Loss {
        Loss { is_copy: self.is_copy, is_last: self.twin == NONE && !self.is_spare }
    }
}

/// What is lost with a packet that is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The path had made it of another packet.
    pub is_copy: bool,
    /// The receiver stays without what it carried: no copy of it is on its way or has arrived.
    pub is_last: bool,
}

impl Loss {
    /// That of a packet that the path has made no copy of.
    pub const OF_PACKET: Loss = Loss { is_copy: false, is_last: true };
}

/// Whether a packet carries a datagram.
pub fn is_datagram(segment: &Segment) -> bool {
    segment.flags.0 == 0
}

/// Bytes of a packet on the link: payload, 20 of IPv4 and 14 of Ethernet (methods C.6); of a segment also 20 of TCP and its
/// options, of a datagram 8 of UDP.
///
/// Options are those of [`Segment::option_bytes`]: with window scaling alone a SYN takes 62 bytes, an acknowledgement 54, a
/// full segment 1,514; with SACK and timestamps a SYN takes 74 and an acknowledgement 66.
pub fn link_bytes(segment: &Segment) -> u32 {
    let transport = if is_datagram(segment) { 8 } else { 20 + segment.option_bytes() };
    segment.payload_bytes + transport + 20 + LINK_HEADER_BYTES
}

/// What a segment takes on a link whose header takes so much more than [`link_bytes`] says.
pub fn sized(segment: &Segment, extra: i16) -> u32 {
    link_bytes(segment).saturating_add_signed(i32::from(extra))
}

/// All packets in flight.
#[derive(Debug)]
pub struct Packets {
    slots: Vec<Packet>,
    free: u32,
}

/// Packets in the order they were put in.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: NONE, tail: NONE }
    }
}

impl Fifo {
    /// The first packet.
    pub fn head(&self) -> Option<Handle> {
        (self.head != NONE).then_some(Handle(self.head))
    }

    /// The last packet.
    pub fn tail(&self) -> Option<Handle> {
        (self.head != NONE).then_some(Handle(self.tail))
    }
}

impl Handle {
    /// Its number, for those who can keep nothing else.
    pub fn index(self) -> u32 {
        self.0
    }

    /// The packet of a number that [`Handle::index`] gave.
    pub fn from_index(index: u32) -> Handle {
        Handle(index)
    }
}

impl Packets {
    /// None in flight.
    pub fn new() -> Packets {
        Packets { slots: Vec::new(), free: NONE }
    }

    /// Holds a segment that comes from a side, takes `link_bytes` on a link, was sent at `sent` and will reach its first link at `due`.
    ///
    /// # Panics
    /// With 2^32 - 1 packets in flight, which need 512 GiB.
    #[inline]
    pub fn insert(&mut self, segment: &Segment, link_bytes: u32, [sent, due]: [Time; 2], from: LinkSide) -> Handle {
        let packet = Packet {
            segment: *segment,
            sent,
            due,
            passed: Time::ZERO,
            order: 0,
            fresh: 0,
            next: NONE,
            next_passing: NONE,
            twin: NONE,
            link_bytes,
            from,
            at_end: AtEnd::Taken,
            is_copy: false,
            is_spare: false,
            is_offered: false,
            is_repeat: false,
            is_probe: false,
        };
        if self.free != NONE {
            let index = self.free;
            self.free = self.slots[index as usize].next;
            self.slots[index as usize] = packet;
            return Handle(index);
        }
        let index = u32::try_from(self.slots.len()).ok().filter(|&index| index != NONE);
        self.slots.push(packet);
        Handle(index.expect("fewer than 2^32 packets in flight"))
    }

    /// The second is a copy that the path made of the first.
    pub fn pair(&mut self, one: Handle, other: Handle) {
        self.slots[one.0 as usize].twin = other.0;
        self.slots[other.0 as usize].twin = one.0;
    }

    /// The other of a packet and its copy, while both are on their way.
    pub fn twin_mut(&mut self, handle: Handle) -> Option<&mut Packet> {
        let twin = self.slots[handle.0 as usize].twin;
        (twin != NONE).then(|| &mut self.slots[twin as usize])
    }

    /// Gives up the packet's slot. The handle must not be in a queue, nor used again.
    pub fn remove(&mut self, handle: Handle) {
        if let Some(twin) = self.twin_mut(handle) {
            twin.twin = NONE;
        }
        self.slots[handle.0 as usize].next = self.free;
        self.free = handle.0;
    }

    /// The packet.
    pub fn get(&self, handle: Handle) -> &Packet {
        &self.slots[handle.0 as usize]
    }

    /// The packet, to be changed.
    pub fn get_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.slots[handle.0 as usize]
    }

    /// Puts the packet at the end of `fifo`; whether it is the only one there.
    pub fn push(&mut self, fifo: &mut Fifo, handle: Handle) -> bool {
        self.slots[handle.0 as usize].next = NONE;
        let first = fifo.head == NONE;
        if first {
            fifo.head = handle.0;
        } else {
            self.slots[fifo.tail as usize].next = handle.0;
        }
        fifo.tail = handle.0;
        first
    }

    /// Puts the packet, which may be in a queue beside, at the end of those that pass the monitor.
    pub fn push_passing(&mut self, passing: &mut Fifo, handle: Handle) {
        self.slots[handle.0 as usize].next_passing = NONE;
        if passing.head == NONE {
            passing.head = handle.0;
        } else {
            self.slots[passing.tail as usize].next_passing = handle.0;
        }
        passing.tail = handle.0;
    }

    /// Takes the first packet out of those that pass the monitor.
    pub fn pop_passing(&self, passing: &mut Fifo) -> Option<Handle> {
        let head = passing.head()?;
        passing.head = self.slots[passing.head as usize].next_passing;
        Some(head)
    }

    /// Takes the first packet out of `fifo`.
    pub fn pop(&mut self, fifo: &mut Fifo) -> Option<Handle> {
        let head = fifo.head()?;
        fifo.head = self.slots[fifo.head as usize].next;
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(sequence: u64) -> Segment {
        Segment { sequence, ..Segment::default() }
    }

    #[test]
    fn packets_keep_their_order_and_slots_are_reused() {
        let (mut packets, mut one, mut two) = (Packets::new(), Fifo::default(), Fifo::default());
        for round in 0..100 {
            for n in 0..10 {
                let handle = packets.insert(&segment(10 * round + n), 0, [Time::ZERO; 2], LinkSide::Left);
                let fifo = if n % 2 == 0 { &mut one } else { &mut two };
                assert_eq!(packets.push(fifo, handle), n < 2, "queues are empty between rounds");
            }
            for n in 0..10 {
                let handle = packets.pop(if n % 2 == 0 { &mut one } else { &mut two }).unwrap();
                assert_eq!(packets.get(handle).segment.sequence, 10 * round + n);
                packets.remove(handle);
            }
            assert!(one.head().is_none() && packets.pop(&mut two).is_none());
        }
        assert_eq!(packets.slots.len(), 10);
    }

    #[test]
    fn a_packet_is_two_cache_lines() {
        assert_eq!(size_of::<Packet>(), 128);
    }
}
