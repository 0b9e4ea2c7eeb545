//! Random vectors for the tests of stored forms.

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, InitiatorRule, LinkSide, Pattern, PerSide, Side,
};
use proptest::prelude::*;

/// Any number, with the ends of the range and small numbers more often than they would come up.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), Just(i64::MAX as u64 + 1), 0..100_000u64, any::<u64>()]
}

pub fn duration() -> impl Strategy<Value = Duration> {
    number().prop_map(Duration::from_nanos)
}

pub fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Initiator), Just(Side::Acceptor)]
}

pub fn link_side() -> impl Strategy<Value = LinkSide> {
    prop_oneof![Just(LinkSide::Left), Just(LinkSide::Right)]
}

fn adu() -> impl Strategy<Value = Adu> {
    (side(), 0..1u64 << 40, prop::option::of(duration()), side(), duration(), duration()).prop_map(
        |(side, bytes, wait, waiter, first_seen, last_seen)| Adu { side, bytes, wait, waiter, first_seen, last_seen },
    )
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    let tcp = (any::<bool>(), any::<Option<u16>>(), number(), any::<Option<u8>>());
    let times = (prop::option::of(duration()), prop::option::of(duration()));
    (tcp, times, [number(), number(), number(), number(), number(), number()]).prop_map(
        |((syn_seen, mss, max_window, window_scale), (min_transit, lead_in), counts)| Endpoint {
            syn_seen,
            mss,
            max_window,
            window_scale,
            min_transit,
            lead_in,
            packets: counts[0],
            data_segments: counts[1],
            duplicates: counts[2],
            late: counts[3],
            lost_before: counts[4],
            missing_bytes: counts[5],
        },
    )
}

/// Any vector, sensible or not: the store keeps what it is given.
pub fn vector() -> impl Strategy<Value = ConnectionVector> {
    let rule = prop::sample::select(vec![
        InitiatorRule::Syn,
        InitiatorRule::SynAck,
        InitiatorRule::Port,
        InitiatorRule::FirstPacket,
    ]);
    let pattern = prop::sample::select(vec![Pattern::Sequential, Pattern::Concurrent]);
    let close = prop_oneof![side().prop_map(Close::Fin), side().prop_map(Close::Rst), Just(Close::NotSeen)];
    let identity = (number(), number(), link_side(), rule, pattern, any::<bool>(), any::<bool>());
    let adus = prop::collection::vec(adu(), 0..6);
    let times = (prop::option::of(duration()), prop::option::of(duration()));
    (identity, times, endpoint(), endpoint(), close, adus).prop_map(
        |(identity, (syn_rtt, t_close), initiator, acceptor, close, adus)| {
            let (id, start, initiator_side, initiator_rule, pattern, complete, handshake_repeated) = identity;
            ConnectionVector {
                id,
                start: Time::from_nanos(start),
                initiator_side,
                initiator_rule,
                pattern,
                complete,
                handshake_repeated,
                syn_rtt,
                ends: PerSide { initiator, acceptor },
                close,
                t_close,
                adus,
            }
        },
    )
}

/// `count` plain connections of one request and one response, `gap` apart.
pub fn plain(count: u64, gap: Duration) -> impl Iterator<Item = ConnectionVector> {
    (0..count).map(move |id| {
        let ms = Duration::from_millis;
        let adu = |side, bytes, at: u64, wait| Adu {
            side,
            bytes,
            wait,
            waiter: Side::Acceptor,
            first_seen: ms(at),
            last_seen: ms(at + 10),
        };
        let end = |transit| Endpoint {
            mss: Some(1460),
            max_window: 65_535,
            window_scale: Some(7),
            min_transit: Some(ms(transit + id % 50)),
            lead_in: Some(ms(1)),
            packets: 5,
            data_segments: 2,
            ..Endpoint::default()
        };
        ConnectionVector {
            id,
            start: Time::ZERO + gap * id,
            initiator_side: LinkSide::Left,
            initiator_rule: InitiatorRule::Syn,
            pattern: Pattern::Sequential,
            complete: true,
            handshake_repeated: false,
            syn_rtt: Some(ms(41)),
            ends: PerSide { initiator: end(1), acceptor: end(40) },
            close: Close::Fin(Side::Initiator),
            t_close: Some(ms(5)),
            adus: vec![
                adu(Side::Initiator, 300 + id % 7, 42, Some(ms(60))),
                adu(Side::Acceptor, 10_000 + id * 13 % 4_001, 112, None),
            ],
        }
    })
}
