//! The score card of a replay: how near its traffic came to what it replays.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::{Endings, Run};

/// What a replay came to beside its original.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fidelity {
    /// 100 (1 - distance): of every hundred values so many lie where the original's do, give or take the tolerance, at the value where
    /// the two distributions are farthest apart; the mean over response times, durations, active connections and throughput. Null without a
    /// distance.
    pub score: Option<f64>,
    /// Connections by where their close was seen (methods M.4).
    pub endings: Endings,
    /// Connections that lost packets in the original, which are compared apart (methods M.7).
    pub lost_in_original: u64,
    /// What the capture held and nothing replays: reason and count (methods M.8).
    pub set_aside: BTreeMap<String, u64>,
}

impl Fidelity {
    /// Of a replay whose distance from its original is `distance`.
    pub(super) fn new(run: &Run, distance: Option<f64>) -> Fidelity {
        Fidelity {
            score: distance.map(|distance| 100.0 * (1.0 - distance)),
            endings: run.measurements.endings,
            lost_in_original: run.measurements.lost_in_original,
            set_aside: run.facts.original.as_ref().map_or_else(BTreeMap::new, |original| original.set_aside.clone()),
        }
    }
}
