//! What the score card of a replay rests on.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::{Endings, Run};

/// What a replay came to beside its original.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fidelity {
    /// What the experiment changes that the original had otherwise, in words. With any of it distances say what the change makes, and
    /// nothing of fidelity.
    pub conditions: Vec<String>,
    /// Connections by where their close was seen (methods M.4).
    pub endings: Endings,
    /// Connections that lost packets in the original, which are also compared apart (methods M.7).
    pub lost_in_original: u64,
    /// What the capture held and nothing replays: reason and count (methods M.8).
    pub set_aside: BTreeMap<String, u64>,
}

impl Fidelity {
    /// Of the replay `run`.
    pub(super) fn of(run: &Run) -> Fidelity {
        Fidelity {
            conditions: run.facts.changes.clone(),
            endings: run.measurements.endings,
            lost_in_original: run.measurements.lost_in_original,
            set_aside: run.facts.original.as_ref().map_or_else(BTreeMap::new, |original| original.set_aside.clone()),
        }
    }
}
