//! Random vectors for the tests of stored forms.

use std::collections::BTreeMap;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    AckPolicy, Adu, Close, ConnectionVector, DatagramSizes, Endpoint, Evidence, ExtraDelay, Host, InitiatorRule,
    IpVersion, Label, LinkSide, LostSegment, Pattern, Pause, PerSide, Protocol, SeenDatagram, Segments, Side, Span,
    SynAnswer, SynRepeat, TransitQuantiles,
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
    let span = (duration(), duration()).prop_map(|(first, last)| Span { first, last });
    let wait = prop::option::of(duration());
    (side(), 0..1u64 << 40, 0..1u64 << 40, wait, side(), prop::option::of(span), any::<Option<u32>>()).prop_map(
        |(side, bytes, missing_bytes, wait, waiter, seen, packets)| Adu {
            side,
            bytes,
            missing_bytes,
            wait,
            waiter,
            seen,
            packets,
        },
    )
}

fn host() -> impl Strategy<Value = Option<Host>> {
    prop::option::of(prop_oneof![
        any::<u32>().prop_map(Host::Number),
        any::<[u8; 4]>().prop_map(|octets| Host::Address(octets.into())),
        any::<[u8; 16]>().prop_map(|octets| Host::Address(octets.into())),
    ])
}

/// Any number in each of the fields.
fn segments() -> impl Strategy<Value = Option<Segments>> {
    let blank = serde_json::to_value(Segments::default()).unwrap();
    let mut fields = 0;
    each_number(&mut blank.clone(), &mut |_| fields += 1);
    let filled = prop::collection::vec(number(), fields).prop_map(move |numbers| {
        let (mut filled, mut numbers) = (blank.clone(), numbers.into_iter());
        each_number(&mut filled, &mut |field| *field = numbers.next().unwrap().into());
        serde_json::from_value(filled).unwrap()
    });
    prop::option::of(filled)
}

/// Calls `of` with every number in `value`, those of objects within it too.
fn each_number(value: &mut serde_json::Value, of: &mut impl FnMut(&mut serde_json::Value)) {
    match value {
        serde_json::Value::Object(fields) => fields.values_mut().for_each(|field| each_number(field, of)),
        number => of(number),
    }
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    let optional = || prop::option::of(number());
    let who = (host(), any::<Option<u16>>());
    let windows = (optional(), any::<Option<u16>>(), any::<Option<u8>>());
    let tcp = (any::<bool>(), any::<bool>(), any::<Option<u16>>(), windows, any::<[Option<bool>; 3]>());
    let packets = (optional(), optional(), optional(), optional());
    let times = [(); 3].map(|()| prop::option::of(duration()));
    let sizes = any::<Option<(u32, u32)>>()
        .prop_map(|sizes| sizes.map(|(smallest, largest)| DatagramSizes { smallest, largest }));
    let acks = (any::<[u32; 4]>(), prop::option::of(duration())).prop_map(
        |([quick, prompt, prompt_segments, carried], delay)| AckPolicy {
            quick,
            prompt,
            prompt_segments,
            carried,
            delay,
        },
    );
    let transits = [(); 3].map(|()| duration()).prop_map(|[q10, q50, q90]| TransitQuantiles { q10, q50, q90 });
    let habits = ((optional(), optional(), any::<Option<bool>>()), prop::option::of(acks), prop::option::of(transits));
    (who, tcp, times, packets, sizes, segments(), any::<Option<u32>>(), habits).prop_map(
        |(
            who,
            tcp,
            times,
            packets,
            datagram_sizes,
            segments,
            stated_loss_ppm,
            ((first_flight, rate, nagle), acks, transits),
        )| {
            let ((host, port), (syn_seen, rst_seen, mss, windows, options)) = (who, tcp);
            let ([sack, timestamps, ecn], (packets, ip_bytes, bare_acks, oversized)) = (options, packets);
            let (max_window, max_window_unscaled, window_scale) = windows;
            let [min_transit, lead_in, fin_wait] = times;
            Endpoint {
                host,
                port,
                syn_seen,
                mss,
                max_window,
                max_window_unscaled,
                window_scale,
                sack,
                timestamps,
                ecn,
                min_transit,
                lead_in,
                fin_wait,
                rst_seen,
                packets,
                ip_bytes,
                bare_acks,
                oversized,
                datagram_sizes,
                segments,
                stated_loss_ppm,
                first_flight,
                rate,
                nagle,
                acks,
                transits,
            }
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
        InitiatorRule::Cut,
    ]);
    let pattern = prop::sample::select(vec![Pattern::Sequential, Pattern::Concurrent]);
    let close = prop_oneof![side().prop_map(Close::Fin), side().prop_map(Close::Rst), Just(Close::NotSeen)];
    let identity = (number(), number(), link_side(), rule, pattern, any::<bool>(), any::<bool>());
    let adus = prop::collection::vec(adu(), 0..6);
    let times = [(); 4].map(|()| prop::option::of(duration()));
    let label = prop::option::of((number(), number()).prop_map(|(subset, id)| Label { subset, id }));
    let protocol = (
        prop::sample::select(vec![Protocol::Tcp, Protocol::Udp, Protocol::Quic]),
        prop::option::of(prop::sample::select(vec![IpVersion::V4, IpVersion::V6])),
    );
    let evidence =
        prop::sample::select(vec![Evidence::Packets, Evidence::VectorFile, Evidence::FlowRecord, Evidence::Model]);
    let places = [(); 6].map(|()| prop::collection::vec((any::<u16>(), duration()), 0..4));
    let datagram = (1..100_000u32, duration()).prop_map(|(bytes, gap)| SeenDatagram { bytes, gap });
    let units = prop::option::of(prop::collection::vec(prop::collection::vec(datagram, 2..4), 6));
    let answer = prop::sample::select(vec![SynAnswer::None, SynAnswer::Reset, SynAnswer::Syn]);
    let repeat = (side(), duration(), answer).prop_map(|(side, wait, answer)| SynRepeat { side, wait, answer });
    let lost = prop::collection::vec(any::<(u16, u32, bool)>(), 0..4);
    let lists = (adus, places, units, prop::collection::vec(repeat, 0..3), lost);
    (identity, (label, protocol, evidence), times, endpoint().boxed(), endpoint().boxed(), close, lists).prop_map(
        |(identity, (label, (protocol, ip_version), evidence), times, initiator, acceptor, close, lists)| {
            let (mut adus, places, units, syn_repeats, lost) = lists;
            let datagrams = datagrams(&mut adus, units.unwrap_or_default());
            let losses = PerSide {
                initiator: losses(&adus, Side::Initiator, &lost),
                acceptor: losses(&adus, Side::Acceptor, &lost),
            };
            let [syn_rtt, stated_rtt, lifetime, t_close] = times;
            let (id, start, initiator_side, initiator_rule, pattern, complete, handshake_repeated) = identity;
            let [of_initiator, of_acceptor, read_by_initiator, read_by_acceptor, late_initiator, late_acceptor] =
                places;
            let read = |sender, places| {
                let waits_for_nothing = |pause| Pause { heard: None, ..pause };
                let pauses = pauses(&adus, sender, places).into_iter().map(waits_for_nothing);
                pauses.filter(|pause| pause.after_bytes > 0).collect()
            };
            let read_pauses = PerSide {
                initiator: read(Side::Acceptor, read_by_initiator),
                acceptor: read(Side::Initiator, read_by_acceptor),
            };
            let delays = PerSide {
                initiator: delays(&adus, Side::Initiator, late_initiator),
                acceptor: delays(&adus, Side::Acceptor, late_acceptor),
            };
            let pauses = PerSide {
                initiator: pauses(&adus, Side::Initiator, of_initiator),
                acceptor: pauses(&adus, Side::Acceptor, of_acceptor),
            };
            ConnectionVector {
                id,
                label,
                protocol,
                ip_version,
                evidence,
                start: Time::from_nanos(start),
                initiator_side,
                initiator_rule,
                pattern,
                complete,
                handshake_repeated,
                syn_rtt,
                stated_rtt,
                lifetime,
                ends: PerSide { initiator, acceptor },
                close,
                t_close,
                adus,
                pauses,
                read_pauses,
                delays,
                datagrams,
                losses,
                syn_repeats,
            }
        },
    )
}

/// Makes ADUs of these datagrams, as many as there are lists.
fn datagrams(adus: &mut [Adu], lists: Vec<Vec<SeenDatagram>>) -> PerSide<Vec<SeenDatagram>> {
    let mut datagrams = PerSide::default();
    for (adu, list) in adus.iter_mut().zip(lists) {
        adu.bytes = list.iter().map(|datagram| u64::from(datagram.bytes)).sum();
        adu.packets = Some(list.len() as u32);
        let of_side: &mut Vec<SeenDatagram> = &mut datagrams[adu.side];
        of_side.extend(list);
    }
    datagrams
}

/// Pauses of `side` inside its data, at these shares of it; some before it or inside it wait for such a share of the other end's.
fn pauses(adus: &[Adu], side: Side, places: Vec<(u16, Duration)>) -> Vec<Pause> {
    let bytes_of = |side| {
        let own = adus.iter().filter(|adu| adu.side == side);
        own.fold(0u64, |sum, adu| sum.saturating_add(adu.bytes))
    };
    let (bytes, others) = (bytes_of(side), bytes_of(side.other()));
    let share_of = |bytes: u64, share: u16| ((u128::from(bytes) * u128::from(share)) >> u16::BITS) as u64;
    let place = |(share, length): (u16, Duration)| {
        let after_bytes = share_of(bytes, share);
        let heard = Some(share_of(others, share.reverse_bits())).filter(|heard| *heard > 0 && share % 3 == 0);
        (after_bytes < bytes && (after_bytes > 0 || heard.is_some())).then_some((after_bytes, (length, heard)))
    };
    let pauses: BTreeMap<u64, (Duration, Option<u64>)> = places.into_iter().filter_map(place).collect();
    pauses.into_iter().map(|(after_bytes, (length, heard))| Pause { after_bytes, length, heard }).collect()
}

/// Lost segments of `side` inside its data, at these shares of it.
fn losses(adus: &[Adu], side: Side, lost: &[(u16, u32, bool)]) -> Vec<LostSegment> {
    let own = adus.iter().filter(|adu| adu.side == side);
    let sent = own.fold(0u64, |sum, adu| sum.saturating_add(adu.bytes));
    let segment = |(share, copy, before_monitor): &(u16, u32, bool)| {
        let after_bytes = ((u128::from(sent) * u128::from(*share)) >> u16::BITS) as u64;
        LostSegment {
            after_bytes,
            bytes: (sent - after_bytes).min(1_448),
            copy: *copy,
            before_monitor: *before_monitor,
            repaired: Duration::from_micros(after_bytes >> 20),
        }
    };
    let mut losses: Vec<_> = lost.iter().map(segment).collect();
    losses.sort_by_key(|lost| (lost.after_bytes, lost.copy));
    losses
}

/// Delays of the data of `side`, from these shares of it on.
fn delays(adus: &[Adu], side: Side, places: Vec<(u16, Duration)>) -> Vec<ExtraDelay> {
    let places = pauses(adus, side, places).into_iter();
    places.map(|Pause { after_bytes, length, .. }| ExtraDelay { from_bytes: after_bytes, delay: length }).collect()
}

/// `count` plain connections of one request and one response, `gap` apart.
pub fn plain(count: u64, gap: Duration) -> impl Iterator<Item = ConnectionVector> {
    (0..count).map(move |id| {
        let ms = Duration::from_millis;
        let adu = |side, bytes, at: u64, wait| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait,
            waiter: Side::Acceptor,
            seen: Some(Span { first: ms(at), last: ms(at + 10) }),
            packets: None,
        };
        let end = |transit| Endpoint {
            mss: Some(1460),
            max_window: Some(65_535),
            window_scale: Some(7),
            min_transit: Some(ms(transit + id % 50)),
            lead_in: Some(ms(1)),
            packets: Some(5),
            segments: Some(Segments { data: 2, ..Segments::default() }),
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
            ..ConnectionVector::default()
        }
    })
}
