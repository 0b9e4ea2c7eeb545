//! Round robin: flows in turn, a packet each (Nagle 1985, RFC 970).

use super::flows::Flows;
use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::scheduler::{Lost, Queued, Serve};
use crate::record::DropReason;
use crate::time::Time;
use crate::units::Limit;

/// Flows in turn, one packet each. Flows of large packets get more of the line.
#[derive(Debug)]
pub struct RoundRobin(Flows);

impl RoundRobin {
    /// Empty queues with room for `limit` together.
    ///
    /// # Errors
    /// If `limit` does not hold a packet.
    pub fn new(limit: Limit) -> Result<RoundRobin, ParameterError> {
        Ok(RoundRobin(Flows::new(limit)?))
    }
}

impl Serve for RoundRobin {
    fn enqueue(&mut self, now: Time, packet: Packet, lost: &mut Lost) -> Result<(), DropReason> {
        self.0.enqueue(now, packet, lost)
    }

    fn dequeue(&mut self, _now: Time, _lost: &mut Lost) -> Option<Queued> {
        self.0.next_packet()
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::served;

    #[test]
    fn one_packet_each_in_the_order_of_the_first() {
        let (mut queue, mut lost) = (RoundRobin::new(Limit::Packets(99)).unwrap(), Lost::default());
        for (flow, tag) in [(7, 1), (7, 2), (7, 3), (5, 4), (6, 5), (6, 6)] {
            let packet = Packet { flow, tag, ..Packet::new(100 * tag as u32) };
            assert!(queue.enqueue(Time::ZERO, packet, &mut lost).is_ok());
        }
        assert_eq!(served(&mut queue), [1, 4, 5, 2, 6, 3]);
        assert_eq!(queue.backlog(), Backlog::default());
    }

    #[test]
    fn a_packet_larger_than_the_buffer_is_refused_and_takes_nobodys_room() {
        let (mut queue, mut lost) = (RoundRobin::new(Limit::Bytes(2_000)).unwrap(), Lost::default());
        assert!(queue.enqueue(Time::ZERO, Packet::new(1_000), &mut lost).is_ok());
        assert_eq!(queue.enqueue(Time::ZERO, Packet::new(2_001), &mut lost), Err(DropReason::QueueFull));
        assert_eq!((queue.backlog().packets, lost.drain().count()), (1, 0));
        // The newcomer's flow is then the one with most bytes: it pushes itself out.
        let large = Packet { flow: 1, ..Packet::new(2_000) };
        assert!(queue.enqueue(Time::ZERO, large, &mut lost).is_ok());
        assert_eq!(lost.drain().collect::<Vec<_>>(), [(large, DropReason::Overflow)]);
        assert_eq!(served(&mut queue).len(), 1);
    }
}
