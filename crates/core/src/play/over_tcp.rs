//! Players over TCP: whole connections through a path that loses, delays and reorders.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::tests::{at, vector};
use super::*;
use crate::play::{ReplayModel, Waits};
use crate::rng::{Purpose, Stream};
use crate::tcp::{Config, InitialWindow, Limits, Pair};
use crate::time::{Duration, Time};
use crate::workload::*;

struct Played {
    pair: Pair,
    players: [Player; 2],
    epochs: Vec<EpochTimes>,
    first_data: Option<Time>,
    last_data: Option<Time>,
}

/// Plays `script` to the end of everything.
fn play(script: &Script, mut pair: Pair) -> Played {
    let mut players = [Player::new(Side::Initiator), Player::new(Side::Acceptor)];
    let (mut epochs, mut first_data, mut last_data) = (Vec::new(), None, None);
    let mut seen = [(false, 0, 0, false); 2];
    let timer = |player: &Player| player.next_timeout();
    while let Some(now) = players.iter().filter_map(timer).chain(pair.next_event()).min() {
        if pair.next_event() == Some(now) {
            pair.step();
        } else {
            pair.now = now;
        }
        for (end, player) in players.iter_mut().enumerate() {
            player.handle_timeout(now);
            loop {
                let endpoint = &pair.ends[end];
                let before = seen[end];
                let transmitted = endpoint.bytes_transmitted();
                seen[end] =
                    (endpoint.is_established(), endpoint.bytes_received(), transmitted, endpoint.is_peer_closed());
                if seen[end].0 && !before.0 {
                    player.handle_established(now, script);
                }
                if seen[end].2 > before.2 {
                    first_data.get_or_insert(now);
                    player.handle_transmitted(now, seen[end].2, script);
                }
                if seen[end].1 > before.1 {
                    last_data = Some(now);
                    epochs.extend(player.handle_received(now, seen[end].1, script));
                }
                if seen[end].3 && !before.3 {
                    player.handle_peer_closed(now, script);
                }
                match player.poll_action(script) {
                    Some(Action::Write(bytes)) => pair.ends[end].write(bytes),
                    Some(Action::Close) => pair.ends[end].close(),
                    Some(Action::Abort) => pair.ends[end].abort(),
                    None => break,
                }
                pair.kick();
            }
        }
    }
    Played { pair, players, epochs, first_data, last_data }
}

fn pair() -> Pair {
    let config =
        Config { initial_window: InitialWindow::Rfc6928, data_retries: 255, syn_retries: 255, ..Config::default() };
    Pair::new(config, [Limits::default(); 2], Duration::from_millis(50))
}

#[test]
fn ideal_durations_hold_over_tcp() {
    // methods B.2: 3 epochs, every ADU in one packet, round trip 0.1 s; then with waits of 0.7, 2 and 0.5 s.
    let durations = [(0.0, 0.3), (1.0, 3.5)].map(|(waits, expected)| {
        let adus = [0.7, 2.0, 0.0, 0.5, 0.0, -1.0].map(|wait: f64| if wait > 0.0 { wait * waits } else { wait });
        let adus: Vec<_> = (0..6).map(|i| (Side::BOTH[i % 2], 100, adus[i])).collect();
        let script =
            Script::new(&vector(Pattern::Sequential, &adus, Close::Fin(Side::Acceptor)), &ReplayModel::AIKAT_2010);
        let played = play(&script, pair());
        assert_eq!(played.epochs.len(), 3);
        assert_eq!(played.epochs[0].start, at(0.1), "at the end of the handshake");
        assert!(played.pair.ends.iter().all(|end| end.is_closed() && !end.is_reset()));
        (played.last_data.unwrap().since(played.first_data.unwrap()), Duration::from_secs_f64(expected))
    });
    durations.iter().for_each(|(actual, expected)| assert_eq!(actual, expected));
}

#[test]
fn a_reset_ends_both_ends() {
    let adus = [(Side::Initiator, 100, 0.0), (Side::Acceptor, 50_000, -1.0)];
    let script = Script::new(
        &vector(Pattern::Sequential, &adus, Close::Rst(Side::Initiator)),
        &ReplayModel::with_waits(Waits::CORRECTED),
    );
    let played = play(&script, pair());
    assert_eq!(played.pair.ends[0].bytes_received(), 50_000);
    assert!(played.pair.ends.iter().all(|end| end.is_reset()));
    assert_eq!(played.pair.sent.iter().filter(|sent| sent.2.flags.rst()).count(), 1);
}

#[test]
fn data_arrive_at_an_end_that_has_closed() {
    let adus = [(Side::Initiator, 100, 0.0), (Side::Acceptor, 50_000, 1.0), (Side::Acceptor, 50_000, -1.0)];
    let mut vector = vector(Pattern::Sequential, &adus, Close::Fin(Side::Initiator));
    vector.ends.initiator.fin_wait = Some(Duration::ZERO);
    let script = Script::new(&vector, &ReplayModel::with_waits(Waits::CORRECTED));
    let played = play(&script, pair());
    assert_eq!(played.pair.ends[0].bytes_received(), 100_000);
    assert_eq!(played.epochs.len(), 1);
    assert!(played.pair.ends.iter().all(|end| end.is_closed() && !end.is_reset()));
    let first_fin = played.pair.sent.iter().find(|sent| sent.2.flags.fin()).unwrap();
    assert_eq!((first_fin.0, first_fin.1), (at(0.1), 0), "with the request, a second before the last data");
}

fn any_vector() -> impl Strategy<Value = ConnectionVector> {
    let side = || prop_oneof![Just(Side::Initiator), Just(Side::Acceptor)];
    let bytes = prop_oneof![0u64..10, 1u64..3_000, 1u64..100_000];
    let wait = prop_oneof![Just(0.0), 0.0..2.0];
    let pattern = prop_oneof![Just(Pattern::Sequential), Just(Pattern::Concurrent)];
    let close = prop_oneof![side().prop_map(Close::Fin), Just(Close::NotSeen)];
    // Data pass the monitor within the first milliseconds, so that some of these are half-closes.
    let fins = prop::array::uniform2(prop::option::of(0u64..10));
    (pattern, prop::collection::vec((side(), bytes, wait), 0..8), close, fins).prop_map(
        |(pattern, adus, close, fins)| {
            let mut vector = vector(pattern, &adus, close);
            vector.t_close = Some(Duration::ZERO);
            [vector.ends.initiator.fin_wait, vector.ends.acceptor.fin_wait] =
                fins.map(|fin| fin.map(Duration::from_millis));
            vector
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_vector_is_exchanged_and_closed(vector in any_vector(), seed: u64, loss in 0u64..200, held in 0u64..300) {
        let script = Script::new(&vector, &ReplayModel::with_waits(Waits::CORRECTED));
        let mut pair = pair();
        let mut stream = Stream::new(seed, Purpose::Loss, 0);
        pair.pipe = Some(Box::new(move |_, _| {
            let extra = if stream.below(1000) < held { stream.below(100_000) } else { 0 };
            if stream.below(1000) < loss { Vec::new() } else { vec![Duration::from_micros(extra)] }
        }));
        let played = play(&script, pair);
        for side in Side::BOTH {
            prop_assert_eq!(played.pair.ends[side.other() as usize].bytes_received(), vector.bytes(side));
            prop_assert!(played.players[side as usize].has_exchanged_all(&script));
            let closed = vector.close != Close::NotSeen;
            prop_assert_eq!(played.pair.ends[side as usize].is_closed(), closed);
            prop_assert!(!played.pair.ends[side as usize].is_reset());
        }
        let mut full = vector.clone();
        full.adus.retain(|adu| adu.bytes > 0);
        prop_assert_eq!(played.epochs.len(), full.epochs().filter(|epoch| epoch.response_time().is_some()).count());
    }
}

/// 65,535 bytes in flight over 0.1 s.
#[test]
fn bulk_transfer_stops_when_its_time_is_over_and_loses_nothing() {
    let until = at(5.0);
    let nothing = vector(Pattern::Sequential, &[], Close::Fin(Side::Initiator));
    let script = Script::new(&nothing, &ReplayModel::AIKAT_2010).then_endless(Side::Initiator, until);
    let played = play(&script, pair());
    let [sender, receiver] = &played.pair.ends;
    assert_eq!(receiver.bytes_received(), sender.bytes_transmitted());
    assert!((2_900_000..3_400_000).contains(&receiver.bytes_received()), "{}", receiver.bytes_received());
    assert!(played.pair.ends.iter().all(|end| end.is_closed() && !end.is_reset()));
    let last = played.last_data.unwrap();
    assert!(last > until && last < at(5.4), "what was written went out: {last:?}");
    // One that never began, since its time was over before, and one behind an exchange.
    let late = Script::new(&nothing, &ReplayModel::AIKAT_2010).then_endless(Side::Initiator, at(0.05));
    let played = play(&late, pair());
    assert!(played.last_data.is_none() && played.pair.ends.iter().all(|end| end.is_closed()));
    let asked = vector(Pattern::Sequential, &[(Side::Initiator, 100, 0.0)], Close::Fin(Side::Acceptor));
    let played = play(&Script::new(&asked, &ReplayModel::AIKAT_2010).then_endless(Side::Acceptor, until), pair());
    assert!(played.pair.ends[0].bytes_received() > 2_900_000 && played.pair.ends.iter().all(|end| end.is_closed()));
}
