//! Small segments that wait for acknowledgements (Nagle's algorithm).

use super::pair::Pair;
use crate::tcp::congestion::WindowRules;
use crate::tcp::{Config, Endpoint, Habits, Limits};
use crate::time::{Duration, Time};

const FULL: u32 = 1_000;

/// When, in milliseconds, an end that holds small segments back sends which payload, 40 ms from its peer and back, if it writes so many
/// bytes at these times and then closes, or does not.
fn sent(window_rules: WindowRules, writes: &[(u64, u64)], closes: bool) -> Vec<(u64, u32)> {
    let config = Config { window_rules, delayed_ack: None, ..Config::default() };
    let limits = Limits { mss: FULL as u16, max_window: 1 << 20 };
    let mut pair = Pair::new(config, [limits; 2], Duration::from_millis(20));
    pair.ends[0] =
        Endpoint::connect(&pair.config, limits).with_habits(&Habits { nagle: true, ..Habits::default() }, &pair.config);
    pair.kick();
    for (at, bytes) in writes {
        pair.run_until(Time::ZERO + Duration::from_millis(*at));
        pair.ends[0].write(*bytes);
        if closes {
            pair.ends[0].close();
        }
        pair.kick();
    }
    pair.run_until(Time::ZERO + Duration::from_millis(900));
    let data = pair.sent.iter().filter(|(_, end, segment)| *end == 0 && segment.payload_bytes > 0);
    data.map(|(at, _, segment)| (at.since(Time::ZERO).as_nanos() / 1_000_000, segment.payload_bytes)).collect()
}

#[test]
fn small_segments_wait_for_those_before() {
    for rules in [WindowRules::Rfc, WindowRules::Linux] {
        assert_eq!(sent(rules, &[(100, 100), (105, 50), (110, 60)], false), [(100, 100), (140, 110)]);
        assert_eq!(sent(rules, &[(100, 100), (141, 50)], false), [(100, 100), (141, 50)], "all is acknowledged");
        assert_eq!(sent(rules, &[(100, 100), (105, 990)], false), [(100, 100), (140, 990)]);
    }
    let and_a_full_one = |rules| sent(rules, &[(100, 100), (105, 1_990)], false);
    assert_eq!(and_a_full_one(WindowRules::Rfc), [(100, 100), (105, FULL), (145, 990)]);
    assert_eq!(and_a_full_one(WindowRules::Linux), [(100, 100), (105, FULL), (140, 990)]);
}

/// Linux sends a small one behind full ones (`tcp_minshall_check`).
#[test]
fn behind_full_segments_only_linux_sends_small_ones() {
    assert_eq!(sent(WindowRules::Rfc, &[(100, 2_100)], false), [(100, FULL), (100, FULL), (140, 100)]);
    assert_eq!(sent(WindowRules::Linux, &[(100, 2_100)], false), [(100, FULL), (100, FULL), (100, 100)]);
    let again = sent(WindowRules::Linux, &[(100, 1_100), (120, 1_100)], false);
    assert_eq!(again, [(100, FULL), (100, 100), (120, FULL), (140, 100)]);
}

/// However many full ones are on the way.
#[test]
fn behind_a_large_flight_linux_holds_nothing_back() {
    let sent = sent(WindowRules::Linux, &[(100, 1_000_100)], false);
    let [.., (full_at, FULL), (small_at, 100)] = sent[..] else { panic!("{:?}", sent.last()) };
    assert_eq!(small_at, full_at);
    let on_the_way = sent.iter().filter(|(at, _)| *at + 40 > full_at).count();
    assert!(on_the_way > 255, "{on_the_way}");
}

#[test]
fn the_end_of_the_stream_does_not_wait() {
    assert_eq!(sent(WindowRules::Rfc, &[(100, 1_100)], true), [(100, FULL), (100, 100)]);
}
