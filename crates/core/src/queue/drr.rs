//! Deficit round robin (Shreedhar and Varghese 1995): flows in turn, each so many bytes, whatever the sizes of its packets.

use super::flows::Flows;
use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::scheduler::{Lost, Queued, Serve};
use crate::record::DropReason;
use crate::time::Time;
use crate::units::Limit;

/// Flows in turn. What a flow could not send because its packet was too large it may send in its next turn.
#[derive(Debug)]
pub struct DeficitRoundRobin {
    quantum: u32,
    flows: Flows,
}

impl DeficitRoundRobin {
    /// Empty queues with room for `limit` together, and `quantum` bytes a turn. The work per packet is constant if a
    /// quantum is at least the largest packet.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(limit: Limit, quantum: u32) -> Result<DeficitRoundRobin, ParameterError> {
        ParameterError::check_above_zero("quantum", u64::from(quantum))?;
        Ok(DeficitRoundRobin { quantum, flows: Flows::new(limit)? })
    }
}

impl Serve for DeficitRoundRobin {
    fn enqueue(&mut self, now: Time, packet: Packet, lost: &mut Lost) -> Result<(), DropReason> {
        self.flows.enqueue(now, packet, lost)
    }

    fn dequeue(&mut self, _now: Time, _lost: &mut Lost) -> Option<Queued> {
        self.flows.next_within_deficit(self.quantum)
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::served;

    fn put(queue: &mut DeficitRoundRobin, lost: &mut Lost, flow: u64, sizes: &[u32]) {
        for &bytes in sizes {
            let packet = Packet { flow, tag: u64::from(bytes), ..Packet::new(bytes) };
            assert!(queue.enqueue(Time::ZERO, packet, lost).is_ok());
        }
    }

    /// The paper's figures 2 and 3: quantum 500, the first flow with packets of 200, 750, 20, then three more flows. It sends
    /// 200 and keeps 300; with the next 500 it sends 750 and 20, and what is left is lost with the empty queue.
    #[test]
    fn deficits_carry_over() {
        let (mut queue, mut lost) = (DeficitRoundRobin::new(Limit::Packets(99), 500).unwrap(), Lost::default());
        put(&mut queue, &mut lost, 1, &[200, 750, 20]);
        put(&mut queue, &mut lost, 2, &[500, 501]);
        put(&mut queue, &mut lost, 3, &[50]);
        put(&mut queue, &mut lost, 4, &[1_400, 100]);
        // Turns: 1 sends 200; 2 sends 500; 3 sends 50; 4 has 500. 1 has 800; 2 has 500; 4 has 1,000. 2 has 1,000; 4 has
        // 1,500 and sends both.
        assert_eq!(served(&mut queue), [200, 500, 50, 750, 20, 501, 1_400, 100]);
        // A flow that comes back begins without a deficit.
        put(&mut queue, &mut lost, 1, &[501]);
        put(&mut queue, &mut lost, 2, &[499]);
        assert_eq!(served(&mut queue), [499, 501]);
    }

    #[test]
    fn shares_are_equal_in_bytes() {
        let (mut queue, mut lost) = (DeficitRoundRobin::new(Limit::Packets(9_999), 1_514).unwrap(), Lost::default());
        put(&mut queue, &mut lost, 1, &[1_514; 1_000]);
        put(&mut queue, &mut lost, 2, &[300; 6_000]);
        let mut bytes = [0u64; 3];
        for _ in 0..1_800 {
            let packet = queue.dequeue(Time::ZERO, &mut lost).unwrap().packet;
            bytes[packet.flow as usize] += u64::from(packet.bytes);
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 2 * 1_514, "{bytes:?}");
    }

    #[test]
    fn the_longest_queue_makes_room() {
        let (mut queue, mut lost) = (DeficitRoundRobin::new(Limit::Packets(4), 1_000).unwrap(), Lost::default());
        put(&mut queue, &mut lost, 1, &[900]);
        put(&mut queue, &mut lost, 2, &[301, 302, 303]);
        put(&mut queue, &mut lost, 3, &[40]);
        let dropped: Vec<_> = lost.drain().map(|(packet, reason)| (packet.bytes, reason)).collect();
        assert_eq!(dropped, [(301, DropReason::Overflow)], "906 bytes are more than 900");
        put(&mut queue, &mut lost, 3, &[41]);
        assert_eq!(lost.drain().map(|(packet, _)| packet.bytes).collect::<Vec<_>>(), [900], "and now 605 are less");
        assert_eq!(served(&mut queue), [302, 303, 40, 41]);
    }
}
