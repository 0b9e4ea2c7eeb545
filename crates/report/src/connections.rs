//! How the connections of a run's window ended.

use serde::Serialize;

use crate::run::{Outcomes, Run};

/// How connections ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Connections {
    /// All that started in the window.
    pub started: u64,
    /// All data arrived.
    pub completed: u64,
    /// Reset before all data had arrived.
    pub reset: u64,
    /// TCP ended them before that by itself: it had sent a segment again as often as it does, and nothing was acknowledged.
    pub gave_up: u64,
    /// The run ended first, and a faster network would have let them finish.
    pub unfinished: u64,
    /// The end of the experiment cut them whatever the network did: what they wait for alone takes longer, or their own end in the
    /// original lies behind the end of the run.
    pub cut: u64,
}

impl Run {
    /// How the connections of the window ended.
    pub fn connections(&self) -> Connections {
        let outcomes = self.measurements.outcomes;
        let Outcomes { completed, reset, gave_up, unfinished } = outcomes;
        let cut = self.facts.cut_connections.min(unfinished);
        Connections { started: outcomes.started(), completed, reset, gave_up, unfinished: unfinished - cut, cut }
    }
}
