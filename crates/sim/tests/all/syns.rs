//! SYNs that the original sent again are sent again (methods A.13.6).

use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Endpoint, PerSide, Side, SynAnswer, SynRepeat};
use flowloom_sim::{Class, Config};

use crate::common::{at, exchange, ms, simulate};

const I: Side = Side::Initiator;
const A: Side = Side::Acceptor;

/// 80 ms of round trip, 20 of them between the initiator and the monitor.
fn replay(repeats: &[(Side, u64, SynAnswer)], profile: Profile, syn: bool) -> (Duration, ConnectionVector) {
    let repeat =
        |(side, wait, answer): &(Side, u64, SynAnswer)| SynRepeat { side: *side, wait: ms(*wait), answer: *answer };
    let vector =
        ConnectionVector { syn_repeats: repeats.iter().map(repeat).collect(), ..exchange(0, at(0), 300, 5_000) };
    let mut config = Config::new(Rate::UNLIMITED, Duration::from_secs(100));
    config.classes = vec![Class { tcp: tcp::Config::of(profile), ..Class::default() }];
    config.replay.syn = syn;
    let (summary, log) = simulate(&[vector], &config);
    assert_eq!(summary.connections.completed, 1);
    let (_, ended, _, monitor) = log.connections.into_iter().next().unwrap();
    (ended.established.unwrap().since(at(0)), monitor.unwrap())
}

#[test]
fn syns_that_nobody_answered_are_sent_as_they_were() {
    let repeats = [(I, 1_028, SynAnswer::None), (I, 2_047, SynAnswer::None), (I, 8_000, SynAnswer::None)];
    for profile in [Profile::Plain, Profile::Rfc, Profile::Bsd2008, Profile::Linux] {
        let (established, seen) = replay(&repeats, profile, true);
        assert_eq!(established, ms(1_028 + 2_047 + 8_000 + 80), "{profile:?}");
        let expected = repeats.map(|(side, wait, answer)| SynRepeat { side, wait: ms(wait), answer });
        assert_eq!(seen.syn_repeats, expected);
        let (established, seen) = replay(&repeats, profile, false);
        assert_eq!((established, seen.syn_repeats), (ms(80), Vec::new()));
    }
}

#[test]
fn refused_syns_are_refused_and_sent_again() {
    let repeats = [(I, 500, SynAnswer::Reset), (I, 510, SynAnswer::None), (I, 490, SynAnswer::Reset)];
    let (established, seen) = replay(&repeats, Profile::Plain, true);
    assert_eq!(established, ms(1_580));
    assert_eq!(seen.syn_repeats, repeats.map(|(side, wait, answer)| SynRepeat { side, wait: ms(wait), answer }));
    assert!(seen.complete && !seen.ends.acceptor.rst_seen, "the connection went on");
}

#[test]
fn syn_acks_that_were_lost_are_lost() {
    // One that the SYN called for again, one that its own timer sent again.
    let (established, seen) = replay(&[(I, 1_020, SynAnswer::Syn), (A, 1_020, SynAnswer::Syn)], Profile::Plain, true);
    assert_eq!(established, ms(1_100));
    let expected = [(A, SynAnswer::Syn), (I, SynAnswer::Syn)];
    let found: Vec<_> = seen.syn_repeats.iter().map(|repeat| (repeat.side, repeat.answer)).collect();
    assert!(expected.iter().all(|one| found.contains(one)) && found.len() == 2, "{found:?}");
    assert!(seen.syn_repeats.iter().all(|repeat| repeat.wait == ms(1_020)));
    let (established, seen) = replay(&[(A, 700, SynAnswer::None)], Profile::Plain, true);
    assert_eq!(established, ms(780));
    assert_eq!(seen.syn_repeats, [SynRepeat { side: A, wait: ms(700), answer: SynAnswer::None }]);
}

#[test]
fn a_syn_ack_is_not_repeated_before_its_acknowledgement_can_come() {
    // The round trip is longer than a quarter of the wait, after which a SYN/ACK that a SYN should have called for again is sent.
    for rtt in [150, 400] {
        let end = |transit| Endpoint { min_transit: Some(ms(transit)), ..Endpoint::default() };
        let repeats = [(I, 520, SynAnswer::Syn), (A, 520, SynAnswer::Syn)];
        let repeats = repeats.map(|(side, wait, answer)| SynRepeat { side, wait: ms(wait), answer });
        let vector = ConnectionVector {
            syn_repeats: repeats.to_vec(),
            ends: PerSide { initiator: end(rtt), acceptor: end(0) },
            ..exchange(0, at(0), 300, 5_000)
        };
        let (_, log) = simulate(&[vector], &Config::new(Rate::UNLIMITED, Duration::from_secs(100)));
        let seen = log.connections[0].3.clone().unwrap();
        assert!(repeats.iter().all(|one| seen.syn_repeats.contains(one)), "{rtt}: {:?}", seen.syn_repeats);
        assert_eq!(seen.syn_repeats.len(), 2, "{rtt}: {:?}", seen.syn_repeats);
    }
}
