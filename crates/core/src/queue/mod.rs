//! Queue disciplines: which packets a link's buffer takes, one discipline per file.
//!
//! A discipline decides about packets that have to wait; the packet in transmission has left it (methods C.5). The
//! link that owns it ([`crate::path::link`]) keeps the packets' order and their times.

pub mod drop_tail;

pub use drop_tail::DropTail;

use crate::record::DropReason;

/// The built-in disciplines, dispatched statically: this is on the path of every packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    DropTail(DropTail),
}

impl Queue {
    /// Asks for room for a packet of `bytes` that has to wait.
    ///
    /// # Errors
    /// Why the packet was not taken; the queue is as before.
    pub fn admit(&mut self, bytes: u32) -> Result<(), DropReason> {
        match self {
            Queue::DropTail(queue) => queue.admit(bytes),
        }
    }

    /// The packet at the head, of `bytes`, starts its transmission and gives up its room.
    pub fn release(&mut self, bytes: u32) {
        match self {
            Queue::DropTail(queue) => queue.release(bytes),
        }
    }

    /// What is waiting.
    pub fn backlog(&self) -> Backlog {
        match self {
            Queue::DropTail(queue) => queue.backlog(),
        }
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
