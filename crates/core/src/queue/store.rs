//! Packets that wait: plain values in one array, strung into queues by index, so that many queues share the memory and
//! nothing is allocated per packet.

use super::packet::Backlog;
use super::scheduler::Queued;

/// No packet.
const NONE: u32 = u32::MAX;

/// The packets of all queues of a discipline.
#[derive(Debug)]
pub(super) struct Store {
    slots: Vec<Slot>,
    free: u32,
    backlog: Backlog,
}

#[derive(Debug)]
struct Slot {
    queued: Queued,
    next: u32,
}

/// Packets in the order they were put in.
#[derive(Debug)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
    backlog: Backlog,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: NONE, tail: NONE, backlog: Backlog::default() }
    }
}

impl Fifo {
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

impl Store {
    pub fn new() -> Store {
        Store { slots: Vec::new(), free: NONE, backlog: Backlog::default() }
    }

    /// What waits in all queues.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Puts a packet at the end of `fifo`.
    ///
    /// # Panics
    /// With 2^32 - 1 packets waiting.
    pub fn push(&mut self, fifo: &mut Fifo, queued: Queued) {
        let slot = Slot { queued, next: NONE };
        let index = if self.free == NONE {
            self.slots.push(slot);
            let index = u32::try_from(self.slots.len() - 1).ok().filter(|&index| index != NONE);
            index.expect("fewer than 2^32 packets wait")
        } else {
            let index = self.free;
            self.free = std::mem::replace(&mut self.slots[index as usize], slot).next;
            index
        };
        if fifo.head == NONE {
            fifo.head = index;
        } else {
            self.slots[fifo.tail as usize].next = index;
        }
        fifo.tail = index;
        fifo.backlog.add(queued.packet.bytes);
        self.backlog.add(queued.packet.bytes);
    }

    /// The first packet of `fifo`.
    pub fn first(&self, fifo: &Fifo) -> Option<&Queued> {
        (fifo.head != NONE).then(|| &self.slots[fifo.head as usize].queued)
    }

    /// Takes the first packet out of `fifo`.
    pub fn pop(&mut self, fifo: &mut Fifo) -> Option<Queued> {
        if fifo.head == NONE {
            return None;
        }
        let index = fifo.head;
        let slot = &mut self.slots[index as usize];
        let queued = slot.queued;
        fifo.head = std::mem::replace(&mut slot.next, self.free);
        self.free = index;
        fifo.backlog.remove(queued.packet.bytes);
        self.backlog.remove(queued.packet.bytes);
        Some(queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Packet;
    use crate::time::Time;

    #[test]
    fn queues_keep_their_order_and_slots_are_reused() {
        let (mut store, mut fifos) = (Store::new(), [Fifo::default(), Fifo::default()]);
        for round in 0..100 {
            for n in 0..10 {
                let packet = Packet { tag: 10 * round + n, ..Packet::new(100 + n as u32) };
                store.push(&mut fifos[n as usize % 2], Queued { packet, arrived: Time::ZERO });
            }
            assert_eq!(fifos[1].backlog(), Backlog { packets: 5, bytes: 525 });
            assert_eq!(store.backlog(), Backlog { packets: 10, bytes: 1_045 });
            for n in 0..10 {
                let fifo = &mut fifos[n as usize % 2];
                assert_eq!(store.first(fifo).unwrap().packet.tag, 10 * round + n);
                assert_eq!(store.pop(fifo).unwrap().packet.tag, 10 * round + n);
            }
            assert!(fifos.iter().all(Fifo::is_empty) && store.pop(&mut fifos[0]).is_none());
        }
        assert_eq!((store.slots.len(), store.backlog()), (10, Backlog::default()));
    }
}
