//! Connections as a run takes them: a vector, its class, and where it comes from.

use flowloom_core::play::{Placed, ReplayModel, Script};
use flowloom_core::time::Time;
use flowloom_core::workload::{ConnectionVector, Side};

/// A vector and the class of connections it belongs to, which says what they cross: a place in [`Config::classes`](crate::Config::classes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classed {
    /// The vector.
    pub vector: ConnectionVector,
    /// Its class.
    pub class: u16,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a connection comes from, which decides what is recorded of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The workload: a [`ConnectionRecord`](flowloom_core::record::ConnectionRecord), its epochs, and what the monitor made
    /// of it.
    Workload {
        /// It was in progress when the run began (methods M.4), or when its part of a longer workload began (methods B.5).
        in_progress: bool,
    },
    /// A source beside it: a [`SourceRecord`](flowloom_core::record::SourceRecord).
    Source {
        /// When its initiator stops that sends without end, after what its vector says.
        endless_until: Option<Time>,
    },
    /// A probe: a [`ProbeRecord`](flowloom_core::record::ProbeRecord), or one for each of its datagrams.
    Probe,
}

impl Origin {
    /// What the ends of a connection from here play of its vector, in any driver.
    pub fn script(self, vector: &ConnectionVector, replay: &ReplayModel) -> Script {
        match self {
            Origin::Source { endless_until: Some(until) } => {
                Script::new(vector, replay).then_endless(Side::Initiator, until)
            }
            Origin::Workload { in_progress: true } => Script::new(vector, &replay.in_progress()),
            Origin::Workload { in_progress: false } | Origin::Source { endless_until: None } | Origin::Probe => {
                Script::new(vector, replay)
            }
        }
    }

    pub(crate) fn is_workload(self) -> bool {
        matches!(self, Origin::Workload { .. })
    }
}

/// Of the workload, in the first class.
impl From<ConnectionVector> for Classed {
    fn from(vector: ConnectionVector) -> Classed {
        let in_progress = vector.opened_before();
        Placed { vector, in_progress }.into()
    }
}

/// Of the workload, in the first class.
impl From<Placed> for Classed {
    fn from(Placed { vector, in_progress }: Placed) -> Classed {
        Classed { vector, class: 0, origin: Origin::Workload { in_progress } }
    }
}
