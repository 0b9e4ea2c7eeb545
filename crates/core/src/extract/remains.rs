//! What is known of a closed connection, by which its stragglers are told from a later connection over the same addresses and ports
//! (methods A.1.2).
//!
//! Once an end's FIN is acknowledged, nothing new comes of it: what passes still repeats what it sent, at most a window of it, or
//! acknowledges. Numbers beyond the FIN, or farther behind it, begin another connection, whether its SYN was captured or not.
//!
//! An end whose connection was reset may have had more on the way, which acknowledges nothing that it did not have before. Numbers that
//! are new of both ends, behind which some are missing, begin another connection.

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

/// How far from the highest number of an end its stragglers lie: in one byte, because a tombstone has no room for more. Distances are
/// rounded up to a power of two, or of four if the end may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach(u8);

impl Reach {
    /// Set where the highest number is that of an acknowledged FIN: nothing lies beyond it.
    const ENDED: u8 = 1 << 7;
    /// The farthest, as a power of two.
    const MOST_BITS: u8 = 30;
    /// The nearest that numbers beyond the highest reach if the end may go on, as a power of two.
    const LEAST_BITS_BEYOND: u8 = 16;
    /// Bits of the distance behind the highest number, if the end may go on.
    const BEHIND: u8 = 0b1111;

    fn bits(bytes: u64) -> u8 {
        bytes.clamp(1, 1 << Reach::MOST_BITS).next_power_of_two().trailing_zeros() as u8
    }

    /// After an acknowledged FIN, which has the highest number: at most so many bytes behind it.
    pub fn ended(bytes: u64) -> Reach {
        Reach(Reach::bits(bytes) | Reach::ENDED)
    }

    /// The end may go on: at most so many bytes behind the highest number, or beyond it.
    pub fn open(behind: u64, beyond: u64) -> Reach {
        let beyond = Reach::bits(beyond).saturating_sub(Reach::LEAST_BITS_BEYOND).div_ceil(2);
        Reach(Reach::bits(behind).div_ceil(2) | beyond << 4)
    }

    fn is_ended(self) -> bool {
        self.0 & Reach::ENDED != 0
    }

    /// How far `number` is from `next` on the wire, if it is no farther than stragglers are.
    fn place(self, next: u32, number: u32) -> Option<i64> {
        let (behind, most) = match self.is_ended() {
            true => (self.0 & !Reach::ENDED, FIN),
            false => (2 * (self.0 & Reach::BEHIND), 1i64 << (Reach::LEAST_BITS_BEYOND + 2 * (self.0 >> 4))),
        };
        let place = i64::from(number.wrapping_sub(next).cast_signed());
        (-(1i64 << behind)..=most).contains(&place).then_some(place)
    }
}

/// How far beyond the highest number of the data a FIN leads: it takes a number itself.
const FIN: i64 = 1;

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
        if !self.known[own] {
            return true;
        }
        let place = |number: u32, end: usize| self.reach[end].place(self.next[end], number);
        let sent = place(seen.sequence, own);
        let acknowledged = (self.known[peer] && seen.flags.ack()).then(|| place(seen.acknowledgement, peer));
        match acknowledged {
            _ if self.reach.iter().all(|reach| reach.is_ended()) => sent.is_some() || acknowledged.flatten().is_some(),
            None => sent.is_some(),
            Some(acknowledged) => sent.zip(acknowledged).is_some_and(|(sent, acked)| sent <= FIN || acked <= FIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stragglers_lie_behind_the_fin() {
        let next = 0xffff_ff00;
        let near = |reach: Reach, by: i64| reach.place(next, next.wrapping_add(by as u32)).is_some();
        for (by, ended, reset) in
            [(-65_536, true, true), (-65_537, false, false), (0, true, true), (1, true, true), (2, false, true)]
        {
            assert_eq!(near(Reach::ended(65_536), by), ended, "{by}");
            assert_eq!(near(Reach::open(65_536, 0), by), reset, "{by}");
        }
        assert!(near(Reach::ended(0), -1) && !near(Reach::ended(0), -2));
        for reach in [Reach::open(u64::MAX, u64::MAX), Reach::open(0, 1 << 30)] {
            assert!(near(reach, 1 << 30) && !near(reach, (1 << 30) + 1));
        }
        let reach = Reach::open(300, 70_000);
        assert!(near(reach, -1_024) && !near(reach, -1_025), "rounded up to a power of four");
        assert!(near(reach, 1 << 18) && !near(reach, (1 << 18) + 1));
    }

    /// Ends that had come to 1,000 and 5,000 when a reset passed.
    #[test]
    fn new_numbers_of_both_ends_are_another_connections() {
        let reach = [Reach::open(300, 65_536); 2];
        let remains = Remains { isn: [0; 2], next: [1_000, 5_000], reach, syn: [false; 2], known: [true; 2] };
        for (sequence, acknowledgement, is_straggler) in [
            (1_000, 5_000, true),
            (2_000, 5_000, true),
            (1_000, 6_000, true),
            (900, 4_900, true),
            (2_000, 5_001, true),
            (2_000, 5_002, false),
            (2_000, 100_000, false),
            (900, 100_000, false),
            (500_000, 5_000, false),
        ] {
            let flags = crate::wire::Flags(crate::wire::Flags::ACK);
            let seen = Seen { sequence, acknowledgement, flags, ..Seen::default() };
            assert_eq!(remains.owns(Side::Initiator, &seen), is_straggler, "{sequence} {acknowledgement}");
        }
    }
}
