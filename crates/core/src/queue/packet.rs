//! Packets as a queue sees them, and what waits.

use crate::units::Limit;
use crate::wire::Ecn;

/// A packet as a queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its bytes on the link.
    pub bytes: u32,
    /// Its class, 0 the most urgent.
    pub class: u8,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// What it belongs to: packets of one number are one flow.
    pub flow: u64,
    /// The owner's: how it finds the packet again when the link reports it.
    pub tag: u64,
}

impl Packet {
    /// A packet of `bytes`, all else zero: not ECN-capable, of class 0 and flow 0.
    pub const fn new(bytes: u32) -> Packet {
        Packet { bytes, class: 0, ecn: Ecn::NotEct, flow: 0, tag: 0 }
    }
}

/// What waits in a queue, the packet in transmission not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Their bytes on the link.
    pub bytes: u64,
}

impl Backlog {
    /// Counts a packet in.
    pub const fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }

    /// Counts a packet out.
    pub const fn remove(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= bytes as u64;
    }

    /// Whether a packet of `bytes` fits beside it within `limit`.
    pub const fn has_room(&self, limit: Limit, bytes: u32) -> bool {
        match limit {
            Limit::Packets(limit) => self.packets < limit,
            Limit::Bytes(limit) => self.bytes + bytes as u64 <= limit,
        }
    }

    /// Whether it is longer than `threshold`.
    pub const fn exceeds(&self, threshold: Limit) -> bool {
        let (Limit::Packets(most) | Limit::Bytes(most)) = threshold;
        self.in_unit_of(threshold) > most
    }

    /// Its length in the unit of `threshold`.
    pub const fn in_unit_of(&self, threshold: Limit) -> u64 {
        match threshold {
            Limit::Packets(_) => self.packets,
            Limit::Bytes(_) => self.bytes,
        }
    }
}
