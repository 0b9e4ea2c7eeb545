//! An acceptor with two number spaces (methods A.1.2): two SYN/ACKs with different numbers answered one SYN.
//!
//! Taps on both sides of a device that rewrites sequence numbers record such connections, and so do pairs of hosts of
//! which both answer. The space that the initiator acknowledges is the connection's. Packets of the other one, and those
//! that acknowledge it, are set aside. Once a space has been acknowledged or has data, it stays the connection's.

use crate::workload::Side;

use super::seen::Seen;

/// Numbers this near to the connection's own are its own, wherever the other space is.
const NEAR: u32 = 16 << 16;

/// The number space that is not the connection's, or not yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtherSpace {
    /// The end that has two.
    pub side: Side,
    /// The initial sequence number.
    pub isn: u32,
    /// One past the highest number seen.
    next: u32,
    /// Packets set aside.
    pub packets: u64,
    /// Their payload bytes, repeated ones too.
    pub payload_bytes: u64,
}

/// Distance between two numbers on the wire.
fn distance(one: u32, other: u32) -> u32 {
    one.wrapping_sub(other).cast_signed().unsigned_abs()
}

impl OtherSpace {
    /// The space of `side` that begins with `isn`.
    pub fn new(side: Side, isn: u32) -> OtherSpace {
        OtherSpace { side, isn, next: isn.wrapping_add(1), packets: 0, payload_bytes: 0 }
    }

    /// It begins with `isn`; what was set aside stays counted.
    pub fn restart(&mut self, isn: u32) {
        if isn != self.isn {
            (self.isn, self.next) = (isn, isn.wrapping_add(1));
        }
    }

    /// The number of a segment of `sender` that lies in a space of the doubled end.
    fn number(&self, sender: Side, seen: &Seen) -> Option<u32> {
        match sender == self.side {
            true => Some(seen.sequence),
            false => seen.flags.ack().then_some(seen.acknowledgement),
        }
    }

    /// Whether a segment lies nearer to this space than to the connection's, which has come to `own`.
    pub fn is_nearer(&self, sender: Side, seen: &Seen, own: u32) -> bool {
        self.number(sender, seen).is_some_and(|number| distance(number, self.next) < distance(number, own))
    }

    /// Whether a segment belongs to this space and not to the connection's, which has come to `own`. A number farther than
    /// `limit` from both belongs to neither.
    pub fn owns(&self, sender: Side, seen: &Seen, own: u32, limit: u64) -> bool {
        self.number(sender, seen).is_some_and(|number| {
            distance(number, own) > NEAR
                && distance(number, self.next) < distance(number, own)
                && u64::from(distance(number, self.next)) <= limit
        })
    }

    /// Sets a segment aside.
    pub fn set_aside(&mut self, sender: Side, seen: &Seen) {
        self.packets += 1;
        self.payload_bytes += u64::from(seen.payload_bytes);
        let end = seen.sequence.wrapping_add(seen.payload_bytes);
        if sender == self.side && end.wrapping_sub(self.next).cast_signed() > 0 {
            self.next = end;
        }
    }
}
