//! What is left of a closed connection until nothing more can come of it.
//!
//! FINs, resets and acknowledgements are repeated for minutes after a connection has closed, and must not open another
//! one (methods A.1.2). Its vector has gone by then; one cache line remembers enough to know its stragglers.

use crate::time::Time;
use crate::workload::{LinkSide, Side};

use super::key::Key;
use super::remains::{Reach, Remains};
use super::seen::Seen;

/// A closed connection whose vector is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tombstone {
    pub key: Key,
    isn: [u32; 2],
    next: [u32; 2],
    /// When its last packet passed, in units of [`Self::UNIT`] since the Unix epoch.
    last: u32,
    reach: [Reach; 2],
    /// Whether each end's SYN was seen (bits 0 and 1) and its numbers are known (bits 2 and 3); the initiator is the second address of the
    /// key (bit 4), and on the right (bit 5); the connection was replayable (bit 6).
    facts: u8,
    /// [`Class::index`](super::Class::index).
    pub class: u8,
}

impl Tombstone {
    /// Nanoseconds of a unit of time, about a second: 32 bits of them last until 2116.
    const UNIT: u32 = 30;

    pub fn new(key: Key, remains: &Remains, roles: (bool, LinkSide), class: u8, replayable: bool) -> Tombstone {
        let bit = |at: u8, set: bool| u8::from(set) << at;
        Tombstone {
            key,
            isn: remains.isn,
            next: remains.next,
            last: 0,
            reach: remains.reach,
            facts: bit(0, remains.syn[0])
                | bit(1, remains.syn[1])
                | bit(2, remains.known[0])
                | bit(3, remains.known[1])
                | bit(4, roles.0)
                | bit(5, roles.1 == LinkSide::Right)
                | bit(6, replayable),
            class,
        }
    }

    /// Takes note of a packet; an earlier time changes nothing.
    pub fn note(&mut self, time: Time) {
        self.last = self.last.max(Self::units(time));
    }

    /// Whether nothing passed for `linger` before `now`.
    pub fn is_over(&self, now: Time, linger: crate::time::Duration) -> bool {
        let silent = Self::units(now).saturating_sub(self.last);
        u64::from(silent) << Self::UNIT >= linger.as_nanos()
    }

    fn units(time: Time) -> u32 {
        u32::try_from(time.as_nanos() >> Self::UNIT).unwrap_or(u32::MAX)
    }

    /// The end that the first or second address of the key is.
    pub fn side(&self, second: bool) -> Side {
        if second == self.is(4) { Side::Initiator } else { Side::Acceptor }
    }

    /// The side of the link that packets of `sender` come from.
    pub fn from(&self, sender: Side) -> LinkSide {
        let initiator = if self.is(5) { LinkSide::Right } else { LinkSide::Left };
        if sender == Side::Initiator { initiator } else { initiator.other() }
    }

    /// Whether its packets belong to the replayed traffic.
    pub fn is_replayable(&self) -> bool {
        self.is(6)
    }

    /// Whether the bit of the facts at this place is set.
    fn is(&self, bit: u32) -> bool {
        self.facts >> bit & 1 != 0
    }

    /// Whether a segment of `sender` is a straggler, not of a later connection: as
    /// [`Observer::owns`](super::Observer::owns) for a closed one.
    pub fn owns(&self, sender: Side, seen: &Seen) -> bool {
        let remains = Remains {
            isn: self.isn,
            next: self.next,
            reach: self.reach,
            syn: [self.is(0), self.is(1)],
            known: [self.is(2), self.is(3)],
        };
        remains.owns(sender, seen)
    }

    /// Payload bytes of a straggler above everything that was seen of its sender.
    pub fn beyond(&self, sender: Side, seen: &Seen) -> u32 {
        let end = seen.sequence.wrapping_add(u32::from(seen.flags.syn())).wrapping_add(seen.payload_bytes);
        let above = end.wrapping_sub(self.next[sender as usize]).cast_signed();
        if seen.flags.rst() { 0 } else { above.max(0).cast_unsigned().min(seen.payload_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_is_one_cache_line() {
        assert!(size_of::<Tombstone>() <= 64, "{}", size_of::<Tombstone>());
    }
}
