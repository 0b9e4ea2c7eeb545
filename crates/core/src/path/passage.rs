//! What becomes of packets at a link.

use crate::queue::Packet;
use crate::record::DropReason;
use crate::time::Time;

/// What becomes of a packet the link transmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its transmission starts, on a link of cells that of its last cell; before that it waits.
    pub started: Time,
    /// Its last bit leaves the line.
    pub departed: Time,
    /// Its last bit arrives at the far end.
    pub arrived: Time,
    /// The queue gave it the ECN mark.
    pub marked: bool,
}

/// What becomes of a packet that the link took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Everything is known.
    Passes(Passage),
    /// It is in the queue; [`Link::poll`](super::Link::poll) will tell.
    Queued,
}

/// What became of a packet that was [`Offered::Queued`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// Its transmission has started, on a link of cells that of its last cell.
    Started {
        /// The packet; marked, if the queue marked it.
        packet: Packet,
        /// When it was sent, and when it arrives.
        passage: Passage,
    },
    /// It was dropped.
    Dropped {
        /// The packet as it was offered.
        packet: Packet,
        /// When it was dropped.
        time: Time,
        /// Why it was dropped.
        reason: DropReason,
    },
}
