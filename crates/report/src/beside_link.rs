//! A real link beside a run, in numbers.

use flowloom_core::workload::LinkSide;
use serde::Serialize;

use crate::real_link::{Beside, CountedFacts, RealLinkFacts};
use crate::run::Run;

/// The real link beside a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BesideRealLink {
    /// Its port and time, and what was counted.
    #[serde(flatten)]
    pub facts: RealLinkFacts,
    /// Packets from the left; null where nothing is known.
    pub left_to_right_bits_per_second: Option<Beside>,
    /// Packets from the right; null where nothing is known.
    pub right_to_left_bits_per_second: Option<Beside>,
}

impl BesideRealLink {
    /// That of `run`; `None` if it has none.
    pub fn of(run: &Run) -> Option<BesideRealLink> {
        let beside = |from| run.measurements.beside_real_link(from);
        Some(BesideRealLink {
            facts: run.facts.real_link.clone()?,
            left_to_right_bits_per_second: beside(LinkSide::Left),
            right_to_left_bits_per_second: beside(LinkSide::Right),
        })
    }

    /// The direction of packets from `from`, and the counter that stands for it.
    pub(crate) fn direction(&self, from: LinkSide) -> Option<(&CountedFacts, &Beside)> {
        let beside = match from {
            LinkSide::Left => &self.left_to_right_bits_per_second,
            LinkSide::Right => &self.right_to_left_bits_per_second,
        };
        self.facts.counted(from).zip(beside.as_ref())
    }

    /// The share of the window for which the rate is known.
    pub(crate) fn known_share(&self, beside: &Beside) -> f64 {
        beside.known_ns as f64 / self.facts.to_ns.saturating_sub(self.facts.from_ns).max(1) as f64
    }
}
