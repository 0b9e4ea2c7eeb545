//! What is known of a closed connection, by which its stragglers are told from a later connection over the same addresses and ports
//! (methods A.1.2).
//!
//! Once an end's FIN is acknowledged, nothing new comes of it: what passes still repeats what it sent, at most a window of it, or
//! acknowledges. Numbers beyond the FIN, or farther behind it, begin another connection, whether its SYN was captured or not. An end whose
//! connection was reset may have had more on the way.

use crate::workload::Side;

use super::seen::Seen;

/// What a [`Tombstone`](super::tombstone::Tombstone) keeps of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remains {
    /// Initial sequence number of each end whose SYN was seen.
    pub isn: [u32; 2],
    /// The highest sequence number that each end was known to have reached.
    pub next: [u32; 2],
    /// How far from that the end's stragglers lie.
    pub reach: [Reach; 2],
    /// Whether each end's SYN was seen.
    pub syn: [bool; 2],
    /// Whether anything is known of each end's sequence numbers.
    pub known: [bool; 2],
}

/// How far from the highest number of an end its stragglers lie: in one byte, because a tombstone has no room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach(u8);

impl Reach {
    /// Set where the highest number is that of an acknowledged FIN: nothing lies beyond it.
    const ENDED: u8 = 1 << 7;

    /// At most so many bytes behind the highest number, rounded up to a power of two; as many beyond it unless a FIN `ended` the data.
    pub fn new(bytes: u64, ended: bool) -> Reach {
        let bits = bytes.clamp(1, 1 << 30).next_power_of_two().trailing_zeros() as u8;
        Reach(bits | if ended { Reach::ENDED } else { 0 })
    }

    /// Whether `number` is near `next` on the wire.
    fn holds(self, next: u32, number: u32) -> bool {
        let bytes = 1i64 << (self.0 & !Reach::ENDED);
        // A FIN takes a number itself.
        let most = if self.0 & Reach::ENDED != 0 { 1 } else { bytes };
        (-bytes..=most).contains(&i64::from(number.wrapping_sub(next).cast_signed()))
    }
}

impl Remains {
    /// Whether a segment of `sender` is a straggler, not of a later connection.
    pub fn owns(&self, sender: Side, seen: &Seen) -> bool {
        let (own, peer) = (sender as usize, sender.other() as usize);
        if seen.flags.rst() {
            return true;
        }
        if seen.flags.syn() {
            return self.syn[own] && seen.sequence == self.isn[own];
        }
        let holds = |number: u32, end: usize| self.reach[end].holds(self.next[end], number);
        let acknowledges = self.known[peer] && seen.flags.ack() && holds(seen.acknowledgement, peer);
        !self.known[own] || holds(seen.sequence, own) || acknowledges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stragglers_lie_behind_the_fin() {
        let next = 0xffff_ff00;
        let near = |bytes, ended, by: i64| Reach::new(bytes, ended).holds(next, next.wrapping_add(by as u32));
        for (by, ended, reset) in
            [(-65_536, true, true), (-65_537, false, false), (0, true, true), (1, true, true), (2, false, true)]
        {
            assert_eq!([true, false].map(|is_ended| near(65_536, is_ended, by)), [ended, reset], "{by}");
        }
        assert!(near(0, true, -1) && !near(0, true, -2));
        assert!(near(u64::MAX, false, 1 << 30) && !near(u64::MAX, false, (1 << 30) + 1));
    }
}
