//! The capture side of datagrams: which of them make a flow, which end is its initiator, and what is counted.

use std::net::IpAddr;

use flowloom_core::extract::{Class, Extractor, Finished, Options, SideRule, TrafficSeries};
use flowloom_core::record::Traffic;
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Address, Datagram, Flags, Segment, Vlan};
use flowloom_core::workload::{InitiatorRule, LinkSide, Protocol, Side};
use proptest::prelude::*;

/// Captures begin here: 2026, not zero.
const EPOCH: Time = Time::from_nanos(1_780_000_000_000_000_000);

const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

fn address(ip: &str, port: u16) -> Address {
    Address::new(ip.parse::<IpAddr>().unwrap(), port)
}

/// An address of the inside.
fn a(port: u16) -> Address {
    address("10.0.0.1", port)
}

/// One of the outside.
fn b(port: u16) -> Address {
    address("192.0.2.1", port)
}

fn datagram(source: Address, destination: Address, payload_bytes: u32) -> Datagram {
    let link_bytes = payload_bytes + 42;
    Datagram {
        source,
        destination,
        payload_bytes,
        link_bytes,
        mark: None,
        quic: false,
        vlan: None,
        from: None,
        macs: None,
    }
}

fn segment(source: Address, destination: Address, payload_bytes: u32) -> Segment {
    Segment {
        source,
        destination,
        sequence: 1,
        acknowledgement: 1,
        flags: Flags(Flags::ACK),
        window: 100,
        payload_bytes,
        link_bytes: payload_bytes + 54,
        ip_id: None,
        mss: None,
        window_scale: None,
        timestamps: None,
        sack: false,
        sack_blocks: [(0, 0); 3],
        options_cut: false,
        vlan: None,
        from: None,
        macs: None,
    }
}

/// Memory is reclaimed after every packet.
fn each_packet() -> Options {
    Options { round: 1, keep_set_aside: true, ..Options::default() }
}

/// Datagrams at milliseconds, extracted.
fn extract(options: Options, datagrams: &[(u64, Datagram)]) -> (Vec<Finished>, Extractor) {
    let mut extractor = Extractor::new(options);
    for (time, datagram) in datagrams {
        extractor.handle_datagram(EPOCH + Duration::from_millis(*time), datagram);
    }
    (finish(&mut extractor), extractor)
}

fn finish(extractor: &mut Extractor) -> Vec<Finished> {
    extractor.finish();
    std::iter::from_fn(|| extractor.poll_finished()).collect()
}

/// Of each: start in milliseconds, bytes of both ends.
fn starts_and_bytes(finished: &[Finished]) -> Vec<(u64, [u64; 2])> {
    let of = |one: &Finished| {
        let start = one.vector.start.since(Time::ZERO).as_nanos() / 1_000_000;
        (start, Side::BOTH.map(|side| one.vector.bytes(side)))
    };
    finished.iter().map(of).collect()
}

#[test]
fn a_five_tuple_is_a_flow() {
    let sent = [
        (0, datagram(a(4000), b(53), 40)),
        (10, datagram(a(4001), b(53), 41)),
        (20, datagram(b(53), a(4000), 200)),
        (30, datagram(b(53), a(4001), 201)),
        (40, datagram(a(4000), b(53), 42)),
    ];
    let (finished, extractor) = extract(each_packet(), &sent);
    assert_eq!(starts_and_bytes(&finished), [(0, [82, 200]), (10, [41, 201])]);
    assert_eq!(finished.iter().map(|one| one.vector.id).collect::<Vec<_>>(), [0, 1]);
    assert!(finished.iter().all(|one| (one.acceptor, one.vector.protocol) == (b(53), Protocol::Udp)));
    let counts = extractor.counts();
    assert_eq!((counts.packets, counts.connections()), (0, 0), "none of it is TCP");
    let of_udp = counts.datagrams.udp;
    assert_eq!((counts.datagrams.packets, counts.datagrams.kept(), of_udp.flows, of_udp.packets), (5, 2, 2, 5));
    assert_eq!((of_udp.payload_bytes.initiator, of_udp.payload_bytes.acceptor), (123, 401));
    assert_eq!(counts.duration(), Duration::from_millis(40));
}

#[test]
fn tcp_and_udp_of_the_same_addresses_and_ports_are_apart() {
    let mut extractor = Extractor::new(each_packet());
    for at in 0..4 {
        let (source, destination) = if at % 2 == 0 { (a(4000), b(443)) } else { (b(443), a(4000)) };
        extractor.handle_segment(EPOCH + Duration::from_millis(2 * at), &segment(source, destination, 100));
        let datagram = Datagram { quic: at == 0, ..datagram(source, destination, 1_200) };
        extractor.handle_datagram(EPOCH + Duration::from_millis(2 * at + 1), &datagram);
    }
    let finished = finish(&mut extractor);
    let protocols: Vec<Protocol> = finished.iter().map(|one| one.vector.protocol).collect();
    assert_eq!(protocols, [Protocol::Tcp, Protocol::Quic]);
    assert_eq!(starts_and_bytes(&finished)[1], (1, [2_400, 2_400]));
    assert_eq!((extractor.counts().packets, extractor.counts().datagrams.quic.packets), (4, 4));
}

#[test]
fn a_minute_of_silence_ends_a_flow() {
    for round in [1, 1000] {
        let sent = [
            (0, datagram(a(4000), b(5000), 1)),
            (59_999, datagram(b(5000), a(4000), 2)),
            (119_999, datagram(b(5000), a(4000), 3)),
            (119_999, datagram(a(4000), b(5000), 4)),
        ];
        let (finished, _) = extract(Options { round, ..each_packet() }, &sent);
        assert_eq!(starts_and_bytes(&finished), [(0, [1, 2]), (119_999, [3, 4])], "the other end spoke first again");
        let (finished, _) =
            extract(Options { datagram_idle_timeout: Duration::from_secs(61), round, ..each_packet() }, &sent);
        assert_eq!(starts_and_bytes(&finished), [(0, [5, 5])]);
    }
}

#[test]
fn the_initiator_of_a_flow() {
    use InitiatorRule::{FirstPacket, Port};
    for (source, destination, is_sender, rule) in [
        (a(4000), b(53), true, Port),
        (b(53), a(4000), false, Port),
        (a(123), b(123), true, FirstPacket),
        (a(68), b(67), true, FirstPacket),
        (a(4000), b(50_000), true, FirstPacket),
        (b(50_000), a(4000), true, FirstPacket),
        (a(137), address("224.0.0.251", 5353), true, FirstPacket),
        (a(67), address("255.255.255.255", 5353), true, FirstPacket),
        (address("fe80::1", 547), address("ff02::1:2", 5353), true, FirstPacket),
        (a(4000), address("224.0.0.251", 137), true, Port),
    ] {
        let (finished, _) = extract(each_packet(), &[(0, datagram(source, destination, 1))]);
        let [Finished { initiator, vector, .. }] = &finished[..] else { panic!("{finished:?}") };
        let expected = if is_sender { source } else { destination };
        assert_eq!((*initiator, vector.initiator_rule), (expected, rule), "{source:?} {destination:?}");
    }
    // The broadcast address of a subnet is known by that of the link.
    let macs = Some([[0xff; 6], MACS[0]]);
    let to_all = Datagram { macs, ..datagram(a(137), address("10.0.0.255", 5000), 1) };
    let (finished, _) = extract(each_packet(), &[(0, to_all)]);
    assert_eq!(finished[0].initiator, a(137));
}

#[test]
fn the_side_of_the_link_of_a_flow() {
    let [one, other] = MACS;
    let from = |macs: [[u8; 6]; 2], source, destination| {
        let macs = Some(macs);
        Datagram { macs, ..datagram(source, destination, 1) }
    };
    let sides = |finished: &[Finished]| finished.iter().map(|one| one.vector.initiator_side).collect::<Vec<_>>();
    // A broadcast tells nothing; the first datagram to one receiver is from the left.
    let broadcast = from([[0xff; 6], other], b(68), address("255.255.255.255", 67));
    let sent = [(0, broadcast), (1, from([other, one], a(1025), b(53))), (2, from([one, other], b(1026), a(53)))];
    let (finished, _) = extract(each_packet(), &sent);
    assert_eq!(sides(&finished), [LinkSide::Left, LinkSide::Left, LinkSide::Right]);
    // Marks are believed before addresses, and prefixes say where nothing else does.
    let marked = Datagram { from: Some(LinkSide::Right), ..datagram(a(1025), b(53), 1) };
    assert_eq!(sides(&extract(each_packet(), &[(0, marked)]).0), [LinkSide::Right]);
    let inside = Options { inside: vec!["192.0.2.0/24".parse().unwrap()], ..each_packet() };
    assert_eq!(sides(&extract(inside, &[(0, datagram(a(1025), b(53), 1))]).0), [LinkSide::Right]);
}

#[test]
fn datagrams_change_nothing_about_connections() {
    let run = |with_datagrams: bool| {
        let mut extractor = Extractor::new(Options { round: 3, ..Options::default() });
        for at in 0..400u64 {
            let time = EPOCH + Duration::from_millis(at * 700);
            let (client, server) = (a(2000 + (at % 37) as u16), b(80));
            let (macs, source, destination) = match at % 2 {
                0 => (MACS, client, server),
                _ => ([MACS[1], MACS[0]], server, client),
            };
            if with_datagrams && at > 0 {
                let datagram = Datagram { macs: Some([MACS[1], MACS[0]]), ..datagram(source, destination, 500) };
                extractor.handle_datagram(time, &datagram);
            }
            extractor.handle_segment(time, &Segment { macs: Some(macs), ..segment(source, destination, 100) });
        }
        let finished = finish(&mut extractor);
        let connections: Vec<_> = finished
            .into_iter()
            .filter(|one| one.vector.protocol == Protocol::Tcp)
            .map(|mut one| {
                (one.number, one.vector.id) = (0, 0);
                one
            })
            .collect();
        (connections, extractor.counts().classes, extractor.counts().side_rule(SideRule::Macs))
    };
    let alone = run(false);
    assert!(!alone.0.is_empty() && run(true) == alone);
}

#[test]
fn vlans_keep_flows_apart_if_asked() {
    let sent: Vec<(u64, Datagram)> = (0..4)
        .map(|at| (at, Datagram { vlan: Vlan::new([1 + at as u16 % 2]), ..datagram(a(4000), b(5000), 10) }))
        .collect();
    let (finished, extractor) = extract(each_packet(), &sent);
    assert_eq!((finished.len(), extractor.counts().vlan_changes), (1, 1));
    let (finished, extractor) = extract(Options { vlan_key: true, ..each_packet() }, &sent);
    assert_eq!((finished.len(), extractor.counts().vlan_changes), (2, 0));
}

#[test]
fn a_flow_without_data_is_set_aside_and_one_of_one_direction_is_not() {
    let sent =
        [(0, datagram(a(4000), b(5000), 0)), (1, datagram(b(5000), a(4000), 0)), (2, datagram(a(4001), b(514), 80))];
    let options = Options { complete_only: true, ..each_packet() };
    let (finished, extractor) = extract(options, &sent);
    assert_eq!(finished.iter().map(|one| one.vector.id).collect::<Vec<_>>(), [u64::MAX, 0]);
    assert_eq!(finished[0].class, Class::NoData);
    let counts = extractor.counts().datagrams;
    assert_eq!((counts.udp.flows, counts.udp.no_data, counts.udp.one_way, counts.kept()), (2, 1, 1, 1));
    let (finished, _) = extract(Options { keep_set_aside: false, ..Options::default() }, &sent);
    assert_eq!(finished.len(), 1);
}

#[test]
fn datagrams_have_series_of_their_own_and_count_for_the_peak() {
    let mut extractor = Extractor::new(each_packet());
    extractor.handle_datagram(EPOCH, &datagram(a(4000), b(53), 58));
    extractor.handle_datagram(EPOCH + Duration::from_millis(1), &datagram(b(53), a(4000), 158));
    extractor.handle_datagram(EPOCH + Duration::from_millis(20), &datagram(a(4000), b(53), 0));
    finish(&mut extractor);
    let TrafficSeries { replayed, datagrams, set_aside, peak_bytes, .. } = extractor.series();
    assert!(replayed.iter().all(|series| series.bins().next().is_none()));
    let empty = set_aside.each_ref().map(|series| series.total().packets);
    assert_eq!(empty, [1, 0], "a datagram without payload is never replayed");
    let bins = datagrams.each_ref().map(|series| series.bins().map(|(_, traffic)| *traffic).collect::<Vec<_>>());
    assert_eq!(bins[0], [Traffic { packets: 1, bytes: 100, payload_bytes: 58 }]);
    assert_eq!(bins[1], [Traffic { packets: 1, bytes: 200, payload_bytes: 158 }]);
    assert_eq!(*peak_bytes, 200);
}

#[test]
fn a_scan_of_more_ports_than_fit_ends_the_oldest_flows_and_says_so() {
    const MEMORY: u64 = 1 << 20;
    let mut extractor = Extractor::new(Options { memory: MEMORY, round: 16, ..Options::default() });
    let (mut most, mut vectors) = (0, 0);
    for at in 0..50_000u32 {
        let target = address("198.51.100.7", (at % 60_000) as u16 + 1024);
        extractor.handle_datagram(EPOCH + Duration::from_micros(u64::from(at)), &datagram(a(40_000), target, 8));
        most = most.max(extractor.bytes());
        vectors += std::iter::from_fn(|| extractor.poll_vector()).count();
    }
    vectors += finish(&mut extractor).len();
    assert!(most < MEMORY * 3 / 2, "{most}");
    assert_eq!(vectors, 50_000, "each datagram is in a vector");
    assert!(extractor.counts().datagrams.memory_ended > 40_000, "{:?}", extractor.counts().datagrams);
}

#[test]
fn a_flow_that_is_cut_goes_on_with_the_same_roles() {
    let sent: Vec<(u64, Datagram)> = (0..65_537)
        .map(|at| (at, if at % 2 == 0 { datagram(a(5000), b(6000), 10) } else { datagram(b(6000), a(5000), 20) }))
        .chain([(65_600, datagram(b(6000), a(5000), 20))])
        .collect();
    let (finished, _) = extract(Options { round: 64, ..Options::default() }, &sent);
    assert_eq!(finished.iter().map(|one| one.vector.adus.len()).collect::<Vec<_>>(), [65_536, 2]);
    assert!(finished.iter().all(|one| one.initiator == a(5000)));
}

proptest! {
    /// Every datagram is in exactly one flow, and flows are what a second look at all datagrams says: for each 5-tuple
    /// those without a minute of silence between them, in the order of their first.
    #[test]
    fn flows_are_those_of_brute_force(
        steps in prop::collection::vec((0u16..12, any::<bool>(), 0u32..3, 0u64..20), 1..200),
        round in 1u32..20,
    ) {
        let mut now = 0;
        let sent: Vec<(u64, u16, Datagram)> = steps
            .into_iter()
            .map(|(n, from_a, len, wait)| {
                now += wait * wait * 100;
                let (source, destination) = if from_a { (a(4000 + n), b(53)) } else { (b(53), a(4000 + n)) };
                (now, n, datagram(source, destination, len))
            })
            .collect();
        let mut expected: Vec<(u64, u64, u16, [u64; 2], u64)> = Vec::new();
        for (time, n, datagram) in &sent {
            let end = usize::from(datagram.source.port == 53);
            let open = expected.iter_mut().rev().find(|flow| flow.2 == *n).filter(|flow| time - flow.1 < 60_000);
            let flow = match open {
                Some(flow) => flow,
                None => {
                    expected.push((*time, *time, *n, [0; 2], 0));
                    expected.last_mut().unwrap()
                }
            };
            flow.1 = *time;
            flow.3[end] += u64::from(datagram.payload_bytes);
            flow.4 += 1;
        }
        let begin = sent[0].0;
        let sent: Vec<(u64, Datagram)> = sent.into_iter().map(|(time, _, datagram)| (time, datagram)).collect();
        let (finished, extractor) = extract(Options { round, ..each_packet() }, &sent);
        let found: Vec<_> = starts_and_bytes(&finished)
            .into_iter()
            .zip(&finished)
            .map(|((start, bytes), one)| {
                let packets: u64 = Side::BOTH.iter().filter_map(|side| one.vector.ends[*side].packets).sum();
                (start, one.initiator.port - 4000, bytes, packets)
            })
            .collect();
        let expected: Vec<_> =
            expected.into_iter().map(|(start, _, n, bytes, packets)| (start - begin, n, bytes, packets)).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(extractor.counts().datagrams.udp.packets, sent.len() as u64);
    }
}
