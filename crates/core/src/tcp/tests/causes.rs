//! Whatever moves a window says so.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::properties::{build, scenario};
use crate::tcp::congestion::{BbrState, WindowCause};
use crate::tcp::{Endpoint, Phase, Segment};
use crate::time::{Duration, Time};

/// What a recorder sees of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    window: u32,
    threshold: u32,
    why: WindowCause,
    phase: Phase,
    timeouts: u32,
    established: bool,
    /// SND.UNA on an open connection.
    unacknowledged: u64,
}

fn look(end: &Endpoint) -> Seen {
    let snapshot = end.snapshot();
    Seen {
        window: end.congestion_window(),
        threshold: snapshot.threshold,
        why: end.window_cause(),
        phase: snapshot.phase,
        timeouts: end.timeouts(),
        established: end.is_established(),
        unacknowledged: (end.bytes_transmitted() + u64::from(end.is_fin_sent())).saturating_sub(snapshot.in_flight),
    }
}

/// Whether `after` can have its cause, given what happened: `arrived`, or a timer.
fn explains(before: Seen, after: Seen, arrived: Option<&Segment>) -> bool {
    let sacked = arrived.is_some_and(|segment| !segment.sack.is_empty());
    // What SACK reports widens windows where packets overtake each other (Linux).
    let progress = arrived.is_some() && after.unacknowledged > before.unacknowledged || sacked;
    match after.why {
        // The handshake tells the segment size.
        WindowCause::Initial => !before.established,
        WindowCause::SlowStart | WindowCause::HyStart | WindowCause::RenoFriendly => {
            progress && (after.window >= before.window || before.phase == Phase::Recovery)
        }
        // Vegas and Reno; CUBIC may also grow with what ends a reduction.
        WindowCause::Avoidance => progress,
        WindowCause::HyStartExit => progress && after.threshold == after.window,
        WindowCause::Delay => progress,
        // Recovery; without it Tahoe, or a probe that has repaired the loss already.
        WindowCause::Loss => {
            after.phase == Phase::Recovery || after.window < before.window || after.threshold != before.threshold
        }
        // Linux spreads the reduction over the round trip that follows.
        WindowCause::Mark => arrived.is_some_and(|segment| segment.flags.ece()) || before.phase == Phase::Reduced,
        WindowCause::Timeout => after.timeouts > before.timeouts,
        WindowCause::Recovery => after.phase == Phase::Recovery,
        WindowCause::Recovered => before.phase == Phase::Recovery,
        WindowCause::Restart => after.window < before.window,
        WindowCause::Undone => {
            // What NewReno inflated is above the window that comes back.
            let inflated = before.phase == Phase::Recovery;
            arrived.is_some() && after.threshold >= before.threshold && (after.window >= before.window || inflated)
        }
        // It also ends when sending begins again after idling.
        WindowCause::Bbr(BbrState::ProbeRtt) => true,
        WindowCause::Bbr(_) => progress,
        WindowCause::Custom(_) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

    /// Window or threshold have changed: the cause is one that what just happened can have had, so it is none of before; and a
    /// timeout is always told.
    #[test]
    fn a_window_that_moves_says_why(scenario in scenario()) {
        let mut pair = build(&scenario);
        for end in 0..2 {
            scenario.writes[end].iter().for_each(|&bytes| pair.ends[end].write(bytes));
            pair.ends[end].close();
        }
        pair.kick();
        let mut seen = [look(&pair.ends[0]), look(&pair.ends[1])];
        while pair.next_event().is_some_and(|next| next <= Time::ZERO + Duration::from_secs(1_000_000)) {
            let arrivals = pair.arrived.len();
            pair.step();
            for (end, seen) in seen.iter_mut().enumerate() {
                let (before, after) = (*seen, look(&pair.ends[end]));
                let arrived = pair.arrived.get(arrivals).filter(|arrived| arrived.1 == end).map(|(_, _, segment)| segment);
                if (before.window, before.threshold) != (after.window, after.threshold) {
                    let explained = explains(before, after, arrived);
                    prop_assert!(explained, "{:?} became {:?} with {:?}", before, after, arrived);
                }
                if after.timeouts > before.timeouts {
                    prop_assert_eq!(after.why, WindowCause::Timeout);
                }
                *seen = after;
            }
        }
    }
}
