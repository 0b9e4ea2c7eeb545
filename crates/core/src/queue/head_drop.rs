//! Head drop (drop-front): first in, first out; what finds no room pushes out the packet that waited longest (Lakshman,
//! Neidhardt and Ott 1996).
//!
//! As many packets are dropped as by drop-tail, but the sender learns of it a queue's length earlier.

use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::scheduler::{Lost, Queued, Serve};
use super::store::{Fifo, Store};
use crate::record::DropReason;
use crate::time::Time;
use crate::units::Limit;

/// A first-in-first-out buffer that drops at its head.
#[derive(Debug)]
pub struct HeadDrop {
    limit: Limit,
    store: Store,
    fifo: Fifo,
}

impl HeadDrop {
    /// An empty buffer.
    ///
    /// # Errors
    /// If `limit` does not hold a packet.
    pub fn new(limit: Limit) -> Result<HeadDrop, ParameterError> {
        ParameterError::check_limit(limit)?;
        Ok(HeadDrop { limit, store: Store::new(), fifo: Fifo::default() })
    }
}

impl Serve for HeadDrop {
    fn enqueue(&mut self, now: Time, packet: Packet, lost: &mut Lost) -> Result<(), DropReason> {
        if !Backlog::default().has_room(self.limit, packet.bytes) {
            return Err(DropReason::QueueFull);
        }
        while !self.backlog().has_room(self.limit, packet.bytes) {
            let Some(head) = self.store.pop(&mut self.fifo) else { break };
            lost.push(head.packet, DropReason::Overflow);
        }
        self.store.push(&mut self.fifo, Queued { packet, arrived: now });
        Ok(())
    }

    fn dequeue(&mut self, _now: Time, _lost: &mut Lost) -> Option<Queued> {
        self.store.pop(&mut self.fifo)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}
