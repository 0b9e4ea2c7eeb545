//! When leaves ran and how agents' clocks were, by the clock of whoever tells it, with bounds. Each parent translates what it is told by
//! its own view of the clock that told it, so that the bounds of all hops add up.

use crate::clock::exchange::Bounds;
use crate::clock::track::{MOST_DRIFT_PPM, Track};

/// A leaf that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafRun {
    /// What it is called.
    pub node: String,
    /// Its agent.
    pub agent: String,
    /// When it was to start, by this host's clock. Where an agent has chosen the start, that of a block behind another in a serial one,
    /// it is known as that agent's clock is: this is the middle of it.
    pub meant_ns: Option<i64>,
    /// When it started by the agent's clock, as this host's: not before, not after.
    pub started_ns: Option<(i64, i64)>,
    /// When it ended, likewise.
    pub ended_ns: Option<(i64, i64)>,
}

/// An agent that took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRun {
    /// What it is called.
    pub agent: String,
    /// Where.
    pub address: String,
    /// The agent that commanded it; nothing if it was this host.
    pub parent: Option<String>,
    /// How far its clock was ahead of this host's when it was connected, and at the end.
    pub offset: [Option<Offset>; 2],
    /// How often its clock, or that of an agent between, was set meanwhile, as far as that shows.
    pub clock_steps: u64,
}

/// How far a clock was ahead of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// When, by ours, in nanoseconds.
    pub at_ns: i64,
    /// By how much.
    pub bounds: Bounds,
}

/// What is known of leaves and agents at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Leaves that ran.
    pub leaves: Vec<LeafRun>,
    /// Agents that took part.
    pub agents: Vec<AgentRun>,
}

impl Times {
    /// What an agent with the clock `track` tells, by our clock. It was given the start `meant_ns`.
    pub(super) fn by_ours(self, agent: &str, track: &Track, meant_ns: Option<i64>) -> Times {
        let moment =
            |(low_ns, high_ns): (i64, i64)| Some((track.moment(low_ns)?.low_ns, track.moment(high_ns)?.high_ns));
        let leaves = self.leaves.into_iter().map(|leaf| LeafRun {
            meant_ns: match leaf.meant_ns {
                Some(chosen_ns) => track.moment(chosen_ns).map(|moment| moment.middle_ns()),
                None => meant_ns,
            },
            started_ns: leaf.started_ns.and_then(moment),
            ended_ns: leaf.ended_ns.and_then(moment),
            ..leaf
        });
        let agents = self.agents.into_iter().map(|run| AgentRun {
            offset: run.offset.map(|offset| offset.and_then(|offset| offset.by_ours(track))),
            clock_steps: run.clock_steps + track.steps() as u64,
            parent: run.parent.or_else(|| Some(agent.to_owned())),
            ..run
        });
        Times { leaves: leaves.collect(), agents: agents.collect() }
    }
}

impl Offset {
    /// Of the clock `track` at one time of ours.
    pub(super) fn of(track: &Track, at_ns: i64) -> Option<Offset> {
        track.offset(at_ns).map(|bounds| Offset { at_ns, bounds })
    }

    /// What the agent with the clock `track` says of another, by our clock: both offsets added.
    fn by_ours(self, track: &Track) -> Option<Offset> {
        let moment = track.moment(self.at_ns)?;
        let here = track.offset(moment.low_ns)?.or(&track.offset(moment.high_ns)?);
        // The offset drifts between the two ends of that moment.
        let unsure_ns = moment.error_ns().saturating_mul(MOST_DRIFT_PPM) / 1_000_000 + 1;
        let here = here.widened(unsure_ns);
        let (low_ns, high_ns) =
            (here.low_ns.saturating_add(self.bounds.low_ns), here.high_ns.saturating_add(self.bounds.high_ns));
        Some(Offset { at_ns: moment.middle_ns(), bounds: Bounds { low_ns, high_ns } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::exchange::Exchange;

    /// A clock that is `offset_ns` ahead, as an exchange of 200 us shows it.
    fn track(offset_ns: i64, at_ns: i64) -> Track {
        let mut track = Track::default();
        let (t2_ns, t3_ns) = (at_ns + 100_000 + offset_ns, at_ns + 100_000 + offset_ns);
        track.add(Exchange { t1_ns: at_ns, t2_ns, t3_ns, t4_ns: at_ns + 200_000 });
        track
    }

    #[test]
    fn bounds_of_two_hops_add_up_and_hold() {
        const S: i64 = 1_000_000_000;
        // B is 3 s ahead of A, and A 7 s behind us.
        let (a, b) = (track(-7 * S, 10 * S), track(3 * S, 3 * S));
        let (start, end) = (10 * S + 300_000, 10 * S + 500_000);
        let by_a = |ours: i64| {
            let moment = b.moment(ours - 7 * S + 3 * S).unwrap();
            Some((moment.low_ns, moment.high_ns))
        };
        let run = LeafRun {
            node: "l".to_owned(),
            agent: "b".to_owned(),
            meant_ns: None,
            started_ns: by_a(start),
            ended_ns: by_a(end),
        };
        let agent = AgentRun {
            agent: "b".to_owned(),
            address: String::new(),
            parent: None,
            offset: [Offset::of(&b, 3 * S), None],
            clock_steps: 0,
        };
        let times = Times { leaves: vec![run], agents: vec![agent] }.by_ours("a", &a, Some(5));
        let (leaf, agent) = (&times.leaves[0], &times.agents[0]);
        assert_eq!((leaf.meant_ns, agent.parent.as_deref()), (Some(5), Some("a")));
        for (true_ns, known) in [(start, leaf.started_ns.unwrap()), (end, leaf.ended_ns.unwrap())] {
            assert!(known.0 <= true_ns && true_ns <= known.1, "{true_ns} {known:?}");
            // Each exchange knows 100 us either way.
            assert!((400_000..402_000).contains(&(known.1 - known.0)), "{known:?}");
        }
        let offset = agent.offset[0].unwrap().bounds;
        assert!(offset.low_ns <= -4 * S && -4 * S <= offset.high_ns && offset.error_ns() >= 200_000, "{offset:?}");
        assert!(offset.error_ns() < 202_000 && agent.offset[1].is_none());
    }
}
