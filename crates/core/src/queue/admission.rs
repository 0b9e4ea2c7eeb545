//! Disciplines that decide when a packet arrives and serve in order of arrival.

use std::fmt::Debug;

use super::packet::{Backlog, Packet};
use crate::record::DropReason;
use crate::rng::Stream;
use crate::time::{Duration, Time};
use crate::units::Limit;

/// What a discipline may know when a packet arrives, beside the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives.
    pub now: Time,
    /// When its transmission will start if it is taken: `now` if the line is free.
    pub start: Time,
    /// What waits, the packet itself not counted.
    pub waiting: Backlog,
    /// Since when nothing has been transmitted, if nothing is.
    pub idle_since: Option<Time>,
}

impl Arrival {
    /// Whether the packet will have to wait. One that does not needs no room.
    pub fn waits(&self) -> bool {
        self.start > self.now
    }

    /// Whether `packet` need not wait, or may wait within `limit`.
    pub fn has_room(&self, limit: Limit, packet: &Packet) -> bool {
        !self.waits() || self.waiting.has_room(limit, packet.bytes)
    }

    /// How long it will have to wait.
    pub const fn wait(&self) -> Duration {
        self.start.since(self.now)
    }
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Take,
    /// It is taken and gets the ECN mark. To be given to ECN-capable packets only.
    Mark,
    /// It is dropped.
    Drop(DropReason),
}

impl Verdict {
    /// Tells `packet`'s sender of congestion: by a mark if the discipline uses `ecn` and the packet can carry it, else by
    /// an early drop.
    pub const fn signal(packet: &Packet, ecn: bool) -> Verdict {
        if ecn && packet.ecn.is_capable() { Verdict::Mark } else { Verdict::Drop(DropReason::Early) }
    }

    /// [`Verdict::signal`] with a probability, for which a number is drawn unless it is zero; else the packet is taken.
    pub fn signal_with(probability: f64, stream: &mut Stream, packet: &Packet, ecn: bool) -> Verdict {
        let signalled = probability > 0.0 && stream.uniform() < probability;
        if signalled { Verdict::signal(packet, ecn) } else { Verdict::Take }
    }
}

/// A discipline that decides when a packet arrives.
///
/// The link calls [`Admit::advance`] and [`Admit::start`] in order of time, and brings the discipline up to an arrival's
/// instant before it asks. It may do so later than the instants it tells, so nothing may depend on when it is called.
pub trait Admit: Debug + Send {
    /// Decides about `packet`.
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict;

    /// Does what is due by `until`, which never decreases. `waiting` has been waiting since the call before. Only for
    /// disciplines that update themselves at fixed times.
    fn advance(&mut self, until: Time, waiting: Backlog) {
        let _ = (until, waiting);
    }

    /// A packet of `bytes` that waited starts its transmission at `at`; `waiting` is what is left.
    fn start(&mut self, at: Time, bytes: u32, waiting: Backlog) {
        let _ = (at, bytes, waiting);
    }
}
