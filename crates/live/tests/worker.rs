//! Workers play connections over kernel TCP, across a wire between two network namespaces.

mod support;

use flowloom_core::time::Duration;
use flowloom_core::workload::{Close, ConnectionVector, LinkSide, Pattern, Side};
use flowloom_live::control::{EndReport, Ended, SocketOptions};
use flowloom_live::lateness::Lateness;

use support::{Planned, Sides, at, play, vector};

const I: Side = Side::Initiator;
const A: Side = Side::Acceptor;

/// One of each kind of vector.
fn kinds() -> Vec<ConnectionVector> {
    use Pattern::{Concurrent, Sequential};
    vec![
        vector(Sequential, &[(I, 329, 5), (A, 3_403, 20), (I, 403, 0), (A, 25_821, 0)], Close::Fin(A)),
        vector(Sequential, &[(A, 100, 3), (I, 50, 2), (I, 70, 1), (A, 10, 0), (A, 20, 0)], Close::Fin(I)),
        vector(Concurrent, &[(I, 10_000, 4), (A, 200_000, 2), (I, 30_000, 1), (A, 7, 0)], Close::Fin(I)),
        vector(Sequential, &[(I, 1, 0), (A, 4_000_000, 3), (I, 2, 0)], Close::Fin(A)),
        vector(Concurrent, &[(I, 3_000_000, 0), (A, 3_000_000, 0)], Close::Fin(A)),
        vector(Sequential, &[], Close::Fin(I)),
        vector(Sequential, &[(I, 500, 0), (A, 0, 0), (A, 60_000, 0)], Close::Rst(I)),
        vector(Sequential, &[(I, 600, 0), (A, 900, 0)], Close::NotSeen),
        vector(Sequential, &[], Close::NotSeen),
    ]
}

fn check(planned: &Planned, ends: [&EndReport; 2]) {
    let script_bytes = Side::BOTH.map(|side| planned.vector.bytes(side));
    for (end, side) in ends.into_iter().zip(Side::BOTH) {
        let reset = matches!(planned.vector.close, Close::Rst(_));
        assert_eq!(end.ended, if reset { Ended::Reset } else { Ended::Completed }, "{end:?}");
        if planned.endless_until.is_none() {
            assert_eq!(end.sent_bytes, script_bytes[side as usize]);
            assert_eq!(end.received_bytes, script_bytes[side.other() as usize]);
        }
        let (started, established) = (end.started.unwrap(), end.established.unwrap());
        assert!(planned.at <= started && started <= established, "{end:?}");
        assert_eq!(end.first_sent.is_some(), end.sent_bytes > 0);
        assert_eq!(end.last_received.is_some(), end.received_bytes > 0);
        let data = [end.first_sent, end.last_received].into_iter().flatten();
        assert!(
            data.clone().all(|time| time >= established && end.closed.is_none_or(|closed| closed >= time)),
            "{end:?}"
        );
        let closes = planned.vector.close != Close::NotSeen && (!reset || side == I);
        assert_eq!(end.closed.is_some(), closes, "{end:?}");
        let facts = end.kernel.unwrap();
        assert!(facts.min_rtt_micros.is_some_and(|micros| micros < 1_000_000));
    }
    let adus: Vec<_> = planned.vector.adus.iter().filter(|adu| adu.bytes > 0).map(|adu| adu.side).collect();
    let expected = adus.windows(2).filter(|pair| pair == &[I, A]).count();
    let epochs = &ends[0].epochs;
    assert!(ends[1].epochs.is_empty());
    if planned.vector.pattern == Pattern::Sequential && planned.vector.close != Close::Rst(I) {
        assert_eq!(epochs.len(), expected, "{epochs:?}");
    }
    for (n, epoch) in epochs.iter().enumerate() {
        assert!(planned.at <= epoch.intended && epoch.intended <= epoch.start && epoch.start <= epoch.end, "{epoch:?}");
        assert!(n == 0 || (epochs[n - 1].end <= epoch.start && epochs[n - 1].epoch < epoch.epoch));
    }
}

#[test]
fn every_kind_of_connection_is_played_to_its_end() {
    let Some(sides) = Sides::new() else { return };
    let classes = ["reno", "cubic"].map(|name| SocketOptions { congestion: Some(name.to_owned()), mss: Some(1_200) });
    let kinds = kinds();
    let mut planned: Vec<_> = (0..300)
        .map(|n| Planned {
            from: [LinkSide::Left, LinkSide::Right][n / 2 % 2],
            class: (n % 2) as u16,
            ..Planned::new(at(5 * n as u64), kinds[n % kinds.len()].clone())
        })
        .collect();
    // Bulk transfer until a time, and one whose time is over when it begins.
    for until in [900, 10] {
        let nothing = vector(Pattern::Sequential, &[], Close::Fin(I));
        planned.push(Planned { endless_until: Some(at(until)), ..Planned::new(at(300), nothing) });
    }
    let played = play(&sides, &classes, &planned);
    assert_eq!(played.ends.len(), 2 * planned.len());
    for (serial, planned) in (0..).zip(&planned) {
        check(planned, Side::BOTH.map(|side| &played.ends[&(serial, side)]));
    }
    let bulk = &played.ends[&(300, A)];
    assert!(bulk.received_bytes > 1_000_000 && bulk.received_bytes == played.ends[&(300, I)].sent_bytes, "{bulk:?}");
    assert!(bulk.last_received.unwrap() > at(850));
    assert_eq!(played.ends[&(301, A)].received_bytes, 0);
    for worker in &played.workers {
        assert_eq!(worker.strangers, 0);
        assert!(Lateness::from(&worker.starts).count() > 100 && worker.cpu_nanos[0] > 0);
        assert!(Lateness::from(&worker.waits).quantile(0.5) < Duration::from_secs(1));
    }
}
