//! How far a run is, for those who watch it. Looking changes nothing: a run that is watched comes to the same.

use flowloom_core::path::Waited;
use flowloom_core::queue::Backlog;
use flowloom_core::time::Time;

use crate::summary::{ConnectionCounts, PacketCounts};

/// How far a run is.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// Time of the run.
    pub now: Time,
    /// Connections and flows that are open.
    pub active: u64,
    /// Events so far; zero where none are counted.
    pub events: u64,
    /// Connections of the workload until now. Those that are open are in `started` alone.
    pub connections: ConnectionCounts,
    /// What knows the links.
    pub links: &'a dyn Links,
    /// Whether the run is over: nothing happens any more.
    pub is_last: bool,
}

impl Progress<'_> {
    /// The links as they are now, or were last known: see [`Links::links`].
    pub fn links(&self) -> LinksAt {
        self.links.links(self.now)
    }
}

/// What the links of a run counted until now.
pub trait Links {
    /// By number, the two directions of the bottleneck first. `now` is not before the last event.
    fn links(&self, now: Time) -> LinksAt;
}

/// Links at a time.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LinksAt {
    /// When they were so.
    pub time: Time,
    /// By number.
    pub links: Vec<LinkProgress>,
}

/// What one direction of a link counted until now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkProgress {
    /// Packets that reached its queue.
    pub offered: PacketCounts,
    /// Of them, packets dropped at the queue.
    pub dropped: PacketCounts,
    /// Packets of its side that loss models took on their way; zero beside the bottleneck.
    pub lost: PacketCounts,
    /// What waits in the queue.
    pub waiting: Backlog,
    /// Packets that the line has taken from the queue, and how long they waited; `None` where that is not measured.
    pub waited: Option<Waited>,
}

impl LinkProgress {
    /// Packets that the line has taken, and their bytes.
    pub fn carried(&self) -> (u64, u64) {
        let packets = self.offered.total() - self.dropped.total().min(self.offered.total());
        let bytes = self.offered.bytes - self.dropped.bytes.min(self.offered.bytes);
        (packets.saturating_sub(self.waiting.packets), bytes.saturating_sub(self.waiting.bytes))
    }
}

/// Links that were looked at before.
impl Links for LinksAt {
    fn links(&self, _: Time) -> LinksAt {
        self.clone()
    }
}
