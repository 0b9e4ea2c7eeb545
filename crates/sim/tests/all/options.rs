//! Options and headers of a replay are those of the original (methods A.13.4).

use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Endpoint, IpVersion, PerSide, Side};
use flowloom_sim::{AsCaptured, Class, Config};

use crate::common::{Log, at, exchange, simulate};

fn config(profile: Profile, as_captured: AsCaptured) -> Config {
    let mut config = Config::new(Rate::UNLIMITED, Duration::from_secs(100));
    config.classes = vec![Class { tcp: tcp::Config::of(profile), as_captured, ..Class::default() }];
    config
}

/// What the monitor saw, by number.
fn monitored(log: Log) -> Vec<ConnectionVector> {
    let mut seen: Vec<_> =
        log.connections.into_iter().map(|(.., monitor)| monitor.expect("its packets passed")).collect();
    seen.sort_by_key(|vector| vector.id);
    seen
}

fn offers(end: &Endpoint) -> [Option<bool>; 3] {
    [end.sack, end.timestamps, end.ecn]
}

/// A connection for each set of offers of both ends and each version of IP.
fn workload() -> Vec<ConnectionVector> {
    let bit = |number: u64, bit: u32| number >> bit & 1 == 1;
    (0..512)
        .map(|number| {
            let mut vector = exchange(number, at(number), 3_000, 30_000);
            for (side, from) in Side::BOTH.into_iter().zip([0, 4]) {
                // A SYN/ACK grants what its SYN asked for.
                let offers = |option: u32| bit(number, option) && bit(number, from + option);
                let end = &mut vector.ends[side];
                end.syn_seen = true;
                [end.sack, end.timestamps, end.ecn] = [0, 1, 2].map(|option| Some(offers(option)));
                end.window_scale = offers(3).then_some(5);
            }
            vector.ip_version = Some(if bit(number, 8) { IpVersion::V6 } else { IpVersion::V4 });
            vector
        })
        .collect()
}

#[test]
fn every_set_of_offers_comes_back() {
    let vectors = workload();
    for profile in [Profile::Plain, Profile::Rfc, Profile::Bsd2008, Profile::Linux] {
        let (summary, log) = simulate(&vectors, &config(profile, AsCaptured::ALL));
        assert_eq!(summary.connections.completed, 512, "{profile:?}");
        for (meant, seen) in vectors.iter().zip(monitored(log)) {
            for side in Side::BOTH {
                let (meant, seen) = (&meant.ends[side], &seen.ends[side]);
                assert_eq!(offers(seen), offers(meant), "{profile:?}");
                assert_eq!(seen.window_scale.is_some(), meant.window_scale.is_some());
            }
            assert_eq!(seen.ip_version, meant.ip_version);
        }
    }
}

#[test]
fn a_profile_is_found_again() {
    let vectors: Vec<_> = (0..20).map(|id| exchange(id, at(10 * id), 500, 20_000)).collect();
    for profile in [Profile::Plain, Profile::Rfc, Profile::Bsd2008, Profile::Linux] {
        let (_, log) = simulate(&vectors, &config(profile, AsCaptured::ALL));
        let options = profile != Profile::Plain;
        for vector in monitored(log) {
            for side in Side::BOTH {
                assert_eq!(offers(&vector.ends[side]), [Some(options), Some(options), Some(false)], "{profile:?}");
            }
            assert_eq!(vector.ip_version, Some(IpVersion::V4), "unknown, so IPv4");
        }
    }
}

/// The first packets of a connection over IPv6 with timestamps take what RFC 8200, 9293 and 7323 say.
#[test]
fn packets_take_what_their_headers_take() {
    let mut vector = exchange(0, at(0), 100, 100);
    vector.ip_version = Some(IpVersion::V6);
    for side in Side::BOTH {
        let end = &mut vector.ends[side];
        (end.syn_seen, end.sack, end.timestamps, end.ecn) = (true, Some(true), Some(true), Some(false));
        end.window_scale = Some(7);
    }
    let bytes = |as_captured: AsCaptured| {
        let (_, log) = simulate(&[vector.clone()], &config(Profile::Plain, as_captured));
        let ends = monitored(log).remove(0).ends;
        PerSide { initiator: ends.initiator.ip_bytes, acceptor: ends.acceptor.ip_bytes }.map(Option::unwrap)
    };
    let as_captured = bytes(AsCaptured::ALL);
    let plain = bytes(AsCaptured::default());
    // A SYN has 12 bytes more than with MSS and window scale alone, every other packet 12 of timestamps; all have 20 of IPv6.
    let packets = (as_captured.initiator - plain.initiator) / 32;
    assert_eq!(as_captured.initiator - plain.initiator, 32 * packets);
    assert!((3..=5).contains(&packets), "{packets}");
}

#[test]
fn what_the_experiment_says_wins() {
    let vectors = workload();
    let none = AsCaptured { sack: false, timestamps: false, window_scaling: false, ecn: false, ip_version: true };
    let (_, log) = simulate(&vectors, &config(Profile::Rfc, none));
    for (meant, seen) in vectors.iter().zip(monitored(log)) {
        for side in Side::BOTH {
            assert_eq!(offers(&seen.ends[side]), [Some(true), Some(true), Some(false)]);
        }
        assert_eq!(seen.ip_version, meant.ip_version);
    }
}
