//! Drop-tail: first in, first out, and what finds no room is dropped.

use super::admission::{Admit, Arrival, Verdict};
use super::packet::Packet;
use crate::record::DropReason;
use crate::units::Limit;

/// A drop-tail buffer of so many packets or so many bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropTail {
    limit: Limit,
}

impl DropTail {
    /// An empty buffer. A limit of zero is a link without a buffer: a packet that cannot be transmitted at once is
    /// dropped.
    pub const fn new(limit: Limit) -> DropTail {
        DropTail { limit }
    }
}

impl Admit for DropTail {
    #[inline]
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        if arrival.has_room(self.limit, packet) { Verdict::Take } else { Verdict::Drop(DropReason::QueueFull) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Backlog;
    use crate::time::Time;

    /// What becomes of a packet of `bytes` behind `waiting`.
    fn verdict(limit: Limit, waiting: (u64, u64), bytes: u32) -> Verdict {
        let waiting = Backlog { packets: waiting.0, bytes: waiting.1 };
        let arrival = Arrival { now: Time::ZERO, start: Time::from_nanos(1), waiting, idle_since: None };
        DropTail::new(limit).arrive(&Packet::new(bytes), &arrival)
    }

    #[test]
    fn packet_limit_counts_packets_of_any_size() {
        assert_eq!(verdict(Limit::Packets(2), (1, 1), 9_000), Verdict::Take);
        assert_eq!(verdict(Limit::Packets(2), (2, 9_001), 1), Verdict::Drop(DropReason::QueueFull));
    }

    #[test]
    fn byte_limit_takes_a_small_packet_where_a_large_one_does_not_fit() {
        let behind_1000 = |bytes| verdict(Limit::Bytes(1_500), (1, 1_000), bytes);
        assert_eq!(behind_1000(501), Verdict::Drop(DropReason::QueueFull));
        assert_eq!(behind_1000(500), Verdict::Take, "exactly full is not over");
    }

    #[test]
    fn no_buffer_takes_nothing_that_waits() {
        for limit in [Limit::Packets(0), Limit::Bytes(0)] {
            assert_eq!(verdict(limit, (0, 0), 1), Verdict::Drop(DropReason::QueueFull));
            let waiting = Backlog::default();
            let arrival = Arrival { now: Time::ZERO, start: Time::ZERO, waiting, idle_since: Some(Time::ZERO) };
            assert_eq!(DropTail::new(limit).arrive(&Packet::new(1), &arrival), Verdict::Take);
        }
    }
}
