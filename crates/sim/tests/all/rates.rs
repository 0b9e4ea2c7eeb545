//! Ends that hold back send at their rate in a replay, and the rate is found again at the monitor (methods A.13.5).

use flowloom_core::tcp::congestion::Algorithm;
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Side};
use flowloom_sim::{Class, Config};

use crate::common::{at, exchange, ms, simulate};

const RATE: u64 = 8_000_000;

/// What the monitor sees of a response of 3 MB whose sender may have a rate, and when its last byte passed, over a link of 20 Mbit/s.
fn replay(tcp: tcp::Config, rate: Option<u64>, replays: bool) -> (Option<u64>, Duration) {
    let mut vector = exchange(0, at(0), 300, 3_000_000);
    vector.ends.acceptor.rate = rate;
    for side in Side::BOTH {
        let end = &mut vector.ends[side];
        (end.min_transit, end.max_window, end.window_scale) = (Some(ms(15)), Some(4 << 20), Some(8));
    }
    let link = Rate::from_bits_per_second(20_000_000).unwrap();
    let mut config = Config::new(link, Duration::from_secs(100));
    config.classes = vec![Class { tcp, ..Class::default() }];
    config.replay.rate = replays;
    let (summary, log) = simulate(std::slice::from_ref::<ConnectionVector>(&vector), &config);
    assert_eq!(summary.connections.completed, 1);
    let (_, record, _, seen) = &log.connections[0];
    (seen.as_ref().unwrap().ends.acceptor.rate, record.last_data.unwrap().since(at(0)))
}

#[test]
fn rates_are_replayed_and_found_again() {
    for profile in [Profile::Linux, Profile::Bsd2008] {
        let (found, took) = replay(tcp::Config::of(profile), Some(RATE), true);
        assert!(found.is_some_and(|found| found.abs_diff(RATE) < RATE / 50), "{profile:?}: {found:?}");
        assert!(took.as_secs_f64() > 2.9, "{profile:?}: {took:?}");
    }
}

#[test]
fn switched_off_the_link_decides_and_has_no_rate() {
    let (found, took) = replay(tcp::Config::of(Profile::Linux), Some(RATE), false);
    assert_eq!(found, None);
    assert!(took.as_secs_f64() < 1.8, "{took:?}");
    let bbr = tcp::Config { congestion: Algorithm::Bbr, ..tcp::Config::of(Profile::Linux) };
    assert_eq!(replay(bbr, None, true).0, None);
}
