//! Disciplines that hold the packets and decide when the line is free.

use std::fmt::Debug;

use super::packet::{Backlog, Packet};
use crate::record::DropReason;
use crate::time::Time;
use crate::wire::Ecn;

/// A packet that waits, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The packet; with [`crate::wire::Ecn::Ce`] if the discipline marked it.
    pub packet: Packet,
    /// When it arrived.
    pub arrived: Time,
}

impl Queued {
    /// Gives the packet the ECN mark, if it can carry it; whether it could.
    pub const fn mark(&mut self) -> bool {
        let capable = self.packet.ecn.is_capable();
        if capable {
            self.packet.ecn = Ecn::Ce;
        }
        capable
    }
}

/// Where a discipline puts packets that were waiting and are dropped.
#[derive(Debug, Default)]
pub struct Lost(Vec<(Packet, DropReason)>);

impl Lost {
    /// `packet`, which waited, is dropped.
    pub fn push(&mut self, packet: Packet, reason: DropReason) {
        self.0.push((packet, reason));
    }

    /// The packets dropped since the call before, in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Packet, DropReason)> + '_ {
        self.0.drain(..)
    }
}

/// A discipline that holds the packets and decides when the line is free. Times never decrease.
pub trait Serve: Debug + Send {
    /// `packet` arrives at `now`. Room may be made for it by dropping others; the packet itself may be among them.
    ///
    /// # Errors
    /// Why it was not taken.
    fn enqueue(&mut self, now: Time, packet: Packet, lost: &mut Lost) -> Result<(), DropReason>;

    /// The line is free at `now`: the packet to be sent. `None` only if nothing is left: the line is never kept free
    /// while packets wait.
    fn dequeue(&mut self, now: Time, lost: &mut Lost) -> Option<Queued>;

    /// What waits.
    fn backlog(&self) -> Backlog;
}
