//! Drop-tail: first in, first out, and what finds no room is dropped.

use super::Backlog;
use crate::record::DropReason;
use crate::units::Limit;

/// A drop-tail buffer of so many packets or so many bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropTail {
    limit: Limit,
    backlog: Backlog,
}

impl DropTail {
    /// An empty buffer. A limit of zero is a link without a buffer: a packet that cannot be transmitted at once is
    /// dropped.
    pub const fn new(limit: Limit) -> DropTail {
        DropTail { limit, backlog: Backlog { packets: 0, bytes: 0 } }
    }

    /// Takes a packet of `bytes` if the backlog with it stays within the limit.
    ///
    /// # Errors
    /// [`DropReason::QueueFull`] otherwise.
    pub fn admit(&mut self, bytes: u32) -> Result<(), DropReason> {
        let fits = match self.limit {
            Limit::Packets(limit) => self.backlog.packets < limit,
            Limit::Bytes(limit) => self.backlog.bytes + u64::from(bytes) <= limit,
        };
        if !fits {
            return Err(DropReason::QueueFull);
        }
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(bytes);
        Ok(())
    }

    /// A packet of `bytes` that was admitted leaves.
    pub fn release(&mut self, bytes: u32) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(bytes);
    }

    /// What is waiting.
    pub const fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_limit_counts_packets_of_any_size() {
        let mut queue = DropTail::new(Limit::Packets(2));
        assert_eq!(queue.admit(1), Ok(()));
        assert_eq!(queue.admit(9_000), Ok(()));
        assert_eq!(queue.admit(1), Err(DropReason::QueueFull));
        assert_eq!(queue.backlog(), Backlog { packets: 2, bytes: 9_001 });
        queue.release(1);
        assert_eq!(queue.admit(40), Ok(()));
    }

    #[test]
    fn byte_limit_takes_a_small_packet_where_a_large_one_does_not_fit() {
        let mut queue = DropTail::new(Limit::Bytes(1_500));
        assert_eq!(queue.admit(1_000), Ok(()));
        assert_eq!(queue.admit(501), Err(DropReason::QueueFull));
        assert_eq!(queue.admit(500), Ok(()), "exactly full is not over");
        assert_eq!(queue.admit(1), Err(DropReason::QueueFull));
    }

    #[test]
    fn no_buffer_takes_nothing() {
        assert_eq!(DropTail::new(Limit::Packets(0)).admit(1), Err(DropReason::QueueFull));
        assert_eq!(DropTail::new(Limit::Bytes(0)).admit(1), Err(DropReason::QueueFull));
    }
}
