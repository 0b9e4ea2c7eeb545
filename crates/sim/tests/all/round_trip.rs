//! A workload over an unconstrained path comes back from the monitor as it went in.
//!
//! Waits are replayed with {min 0, ostt}: what a vector holds of a path is taken out before the path puts it in again.

use crate::common::{at, ms, simulate, vector};
use flowloom_core::play::{ReplayModel, Waits};
use flowloom_core::record::Outcome;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{Close, ConnectionVector, LinkSide, Pattern, PerSide, Side};
use flowloom_sim::Config;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use Side::{Acceptor, Initiator};

fn config() -> Config {
    let mut config = Config::new(Rate::UNLIMITED, Duration::from_secs(1_000));
    config.replay = ReplayModel::with_waits(Waits::CORRECTED);
    config
}

/// The vectors as the monitor saw them, by id.
fn monitored(vectors: &[ConnectionVector]) -> Vec<ConnectionVector> {
    let (summary, log) = simulate(vectors, &config());
    assert_eq!(summary.connections.completed, vectors.len() as u64, "{:?}", summary.connections);
    let mut seen: Vec<_> = log
        .connections
        .into_iter()
        .map(|(_, record, _, monitor)| {
            assert_eq!(record.outcome, Outcome::Completed);
            monitor.expect("its packets passed")
        })
        .collect();
    seen.sort_by_key(|vector| vector.id);
    seen
}

/// An ADU list as (side, bytes, wait after it), the last wait left out.
fn exchange(vector: &ConnectionVector) -> Vec<(Side, u64, Option<Duration>)> {
    let last = vector.adus.len().saturating_sub(1);
    vector
        .adus
        .iter()
        .enumerate()
        .map(|(index, adu)| (adu.side, adu.bytes, adu.wait.filter(|_| index < last)))
        .collect()
}

/// What one side of a concurrent connection did, the wait after its last ADU left out.
fn alone(vector: &ConnectionVector, side: Side) -> Vec<(u64, Option<Duration>)> {
    let adus: Vec<_> = vector.adus.iter().filter(|adu| adu.side == side).collect();
    let last = adus.len().saturating_sub(1);
    adus.iter().enumerate().map(|(index, adu)| (adu.bytes, adu.wait.filter(|_| index < last))).collect()
}

#[derive(Clone, Debug)]
struct Path {
    transits: PerSide<u64>,
    right: bool,
    window: u64,
}

/// Paths of up to 240 ms: below half of the shortest wait that splits ADUs, so that no flight does.
fn path() -> impl Strategy<Value = Path> {
    let transit = || prop_oneof![1 => Just(0u64), 4 => 0..120_000_000u64];
    (transit(), transit(), any::<bool>(), 20_000..500_000u64).prop_map(|(initiator, acceptor, right, window)| Path {
        transits: PerSide { initiator, acceptor },
        right,
        window,
    })
}

fn close() -> impl Strategy<Value = Close> {
    prop_oneof![Just(Close::Fin(Initiator)), Just(Close::Fin(Acceptor)), Just(Close::Rst(Initiator))]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 1..2_000u64, 2 => 1..100_000u64, 1 => Just(1_460u64)]
}

fn on_path(mut vector: ConnectionVector, path: &Path) -> ConnectionVector {
    for side in Side::BOTH {
        let end = &mut vector.ends[side];
        end.min_transit = Some(Duration::from_nanos(path.transits[side]));
        end.max_window = Some(path.window);
    }
    vector.initiator_side = if path.right { LinkSide::Right } else { LinkSide::Left };
    vector
}

/// A sequential vector as a monitor would have seen it: a wait for the other side holds the waiter's transit, a wait
/// of a side for itself is long enough to split.
fn sequential() -> impl Strategy<Value = ConnectionVector> {
    let adu = (any::<bool>(), bytes(), prop_oneof![1 => Just(0u64), 2 => 0..3_000_000_000u64]);
    (path(), prop::collection::vec(adu, 1..10), close(), 0..5_000u64, 0..2_000_000_000u64).prop_map(
        |(path, adus, close, start, think)| {
            let side = |initiator| if initiator { Initiator } else { Acceptor };
            let adus: Vec<_> = (0..adus.len())
                .map(|index| {
                    let (initiator, bytes, think) = adus[index];
                    let wait = match adus.get(index + 1) {
                        Some(next) if next.0 != initiator => think + path.transits[side(next.0)],
                        _ => 500_000_001 + think,
                    };
                    (side(initiator), bytes, Duration::from_nanos(wait))
                })
                .collect();
            let mut vector = vector(0, at(start), Pattern::Sequential, &adus);
            vector.close = close;
            let closer = if let Close::Fin(side) | Close::Rst(side) = close { side } else { Initiator };
            let (last, first) = (adus[adus.len() - 1].0, adus[0].0);
            let transit = if closer == last { 0 } else { path.transits[closer] };
            vector.t_close = Some(Duration::from_nanos(think + transit));
            let transit = if first == Initiator { 0 } else { path.transits[Acceptor] };
            vector.ends[first].lead_in = Some(Duration::from_nanos(think / 3 + transit));
            on_path(vector, &path)
        },
    )
}

/// Both sides send at once for many round trips, and then each goes on at its own pace.
fn concurrent() -> impl Strategy<Value = ConnectionVector> {
    let side = || prop::collection::vec((bytes(), 500_000_001..2_000_000_000u64), 0..5);
    (path(), side(), side(), 0..5_000u64).prop_map(|(mut path, initiator, acceptor, start)| {
        // Without a distance between them nothing is ever under way from both sides at once.
        path.transits = path.transits.map(|transit| transit.max(1_000_000));
        let mut adus = vec![(Initiator, 150_000, ms(600)), (Acceptor, 150_000, ms(600))];
        adus.extend(initiator.iter().map(|&(bytes, wait)| (Initiator, bytes, Duration::from_nanos(wait))));
        adus.extend(acceptor.iter().map(|&(bytes, wait)| (Acceptor, bytes, Duration::from_nanos(wait))));
        on_path(vector(0, at(start), Pattern::Concurrent, &adus), &path)
    })
}

fn in_order(mut vectors: Vec<ConnectionVector>) -> Vec<ConnectionVector> {
    vectors.sort_by_key(|vector| vector.start);
    (0..).zip(&mut vectors).for_each(|(id, vector)| vector.id = id);
    vectors
}

fn within(seen: Option<Duration>, meant: Option<Duration>, tolerance: Duration) -> bool {
    match (seen, meant) {
        (Some(seen), Some(meant)) => seen.saturating_sub(meant).max(meant.saturating_sub(seen)) <= tolerance,
        (seen, meant) => seen == meant,
    }
}

const MICROSECOND: Duration = Duration::from_micros(1);

#[test]
fn gaps_of_a_slow_link_split_no_response() {
    // A packet of 1,500 bytes takes 1.2 s at 10 kbit/s: each is a silence of its own.
    let exchange = vector(0, at(0), Pattern::Sequential, &[(Initiator, 200, ms(0)), (Acceptor, 30_000, ms(0))]);
    let slow = Config::new(Rate::from_bits_per_second(10_000).unwrap(), ms(200_000));
    let config = Config { replay: config().replay, knows_adus: true, ..slow };
    let (_, log) = simulate(&[exchange], &config);
    let monitor = log.connections[0].3.as_ref().unwrap();
    assert_eq!(monitor.adus.iter().map(|adu| adu.bytes).collect::<Vec<_>>(), [200, 30_000]);
    let [request, response] = [0, 1].map(|at| monitor.adus[at].seen.unwrap().last);
    let by_hand = Duration::from_millis(30_000 * 8 / 10);
    assert!(response - request >= by_hand, "{} is less than 30,000 bytes take", response - request);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sequential_vectors_come_back(vectors in prop::collection::vec(sequential(), 1..8)) {
        let vectors = in_order(vectors);
        let seen = monitored(&vectors);
        for (meant, seen) in vectors.iter().zip(&seen) {
            prop_assert_eq!(seen.pattern, Pattern::Sequential);
            let (wanted, found) = (exchange(meant), exchange(seen));
            let sizes = |list: &[(Side, u64, Option<Duration>)]| list.iter().map(|adu| (adu.0, adu.1)).collect::<Vec<_>>();
            prop_assert_eq!(sizes(&found), sizes(&wanted));
            for (wanted, found) in wanted.iter().zip(&found) {
                prop_assert!(within(found.2, wanted.2, MICROSECOND), "{found:?} instead of {wanted:?}");
            }
            for side in Side::BOTH {
                prop_assert_eq!(seen.ends[side].min_transit, meant.ends[side].min_transit, "to the nanosecond");
                let segments = seen.ends[side].segments.unwrap();
                prop_assert_eq!(segments.duplicates + segments.late, 0);
                if let Some(lead_in) = meant.ends[side].lead_in {
                    prop_assert!(within(seen.ends[side].lead_in, Some(lead_in), MICROSECOND), "{seen:?}");
                }
            }
            prop_assert_eq!(seen.initiator_side, meant.initiator_side);
            prop_assert_eq!(seen.close, meant.close);
            prop_assert!(within(seen.t_close, meant.t_close, MICROSECOND), "{:?} instead of {:?}", seen.t_close, meant.t_close);
            // No SYN is sent before the run begins.
            let transit = meant.ends.initiator.min_transit.unwrap();
            prop_assert_eq!(seen.start, meant.start.max(Time::ZERO + (transit - transit / 2)));
        }
    }

    #[test]
    fn concurrent_vectors_come_back_side_by_side(vectors in prop::collection::vec(concurrent(), 1..6)) {
        let vectors = in_order(vectors);
        for (meant, seen) in vectors.iter().zip(&monitored(&vectors)) {
            prop_assert_eq!(seen.pattern, Pattern::Concurrent);
            for side in Side::BOTH {
                let (wanted, found) = (alone(meant, side), alone(seen, side));
                prop_assert_eq!(wanted.len(), found.len());
                for (wanted, found) in wanted.iter().zip(&found) {
                    prop_assert_eq!(wanted.0, found.0);
                    prop_assert!(within(found.1, wanted.1, MICROSECOND), "{found:?} instead of {wanted:?}");
                }
                prop_assert_eq!(seen.ends[side].min_transit, meant.ends[side].min_transit);
            }
        }
    }

    /// What the monitor saw, replayed again, is seen again: every field of every vector. (Of a concurrent connection the
    /// monitor cannot tell whose data the closing side waited for last, so the close may move.)
    #[test]
    fn replaying_a_replay_changes_nothing(vectors in prop::collection::vec(sequential(), 1..6)) {
        // A larger window than a SYN can express is not seen of an end that sent nothing else.
        let small = |mut vector: ConnectionVector| {
            for side in Side::BOTH {
                vector.ends[side].max_window = vector.ends[side].max_window.map(|window| window.min(65_535));
            }
            vector
        };
        let once = in_order(monitored(&in_order(vectors.into_iter().map(small).collect())));
        for (meant, mut seen) in once.iter().cloned().zip(monitored(&once)) {
            // Half a transit is whole nanoseconds, so the close may move by one.
            prop_assert!(within(seen.t_close, meant.t_close, Duration::from_nanos(1)));
            seen.t_close = meant.t_close;
            prop_assert_eq!(seen, meant);
        }
    }
}
