//! However an exporter cuts a connection and in whatever order its records arrive: one connection, each packet once.

use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, Side};
use flowloom_store::flows::{MergeFacts, MergeOptions};
use flowloom_testkit::flows::*;
use proptest::prelude::*;
use proptest::sample::Index;

const CLIENT: (u8, u16) = (1, 40_000);
const SERVER: (u8, u16) = (2, 443);
/// IP and TCP headers without options.
const TCP_HEADERS: u64 = 40;
const UDP_HEADERS: u64 = 28;

/// A packet of a connection, and whether the exporter cuts its direction behind it.
#[derive(Clone, Copy, Debug)]
struct Packet {
    at_ms: i64,
    side: Side,
    payload: u64,
    flags: u8,
    cut: bool,
}

/// A conversation with silences that no idle timeout cuts: both SYNs, anything, both FINs.
fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let middle = (1..40_000i64, any::<bool>(), 100..1_400u64, prop::bool::weighted(0.3));
    prop::collection::vec(middle, 2..60).prop_map(|middle| {
        let packet = |at_ms, side, payload, flags, cut| Packet { at_ms, side, payload, flags, cut };
        let mut packets = vec![
            packet(0, Side::Initiator, 0, SYN, false),
            packet(20, Side::Acceptor, 0, SYN | ACK, false),
            packet(40, Side::Initiator, 200, ACK, false),
            packet(60, Side::Acceptor, 300, ACK, false),
        ];
        let mut at_ms = 60;
        for (wait, initiator, payload, cut) in middle {
            at_ms += wait;
            packets.push(packet(at_ms, if initiator { Side::Initiator } else { Side::Acceptor }, payload, ACK, cut));
        }
        packets.push(packet(at_ms + 10, Side::Initiator, 100, FIN | ACK, false));
        packets.push(packet(at_ms + 30, Side::Acceptor, 100, FIN | ACK, false));
        packets
    })
}

/// The records of one direction: one for each part between two cuts.
fn slices(packets: &[Packet], side: Side, protocol: u8) -> Vec<Flow> {
    let headers = if protocol == 6 { TCP_HEADERS } else { UDP_HEADERS };
    let (source, destination) = if side == Side::Initiator { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let of_side: Vec<Packet> = packets.iter().filter(|packet| packet.side == side).copied().collect();
    let mut flows: Vec<Flow> = of_side
        .split_inclusive(|packet| packet.cut)
        .map(|slice| Flow {
            protocol,
            flags: if protocol == 6 { slice.iter().fold(0, |flags, packet| flags | packet.flags) } else { 0 },
            reason: 2,
            ..tcp(
                source,
                destination,
                slice.iter().map(|packet| headers + packet.payload).sum(),
                slice.len() as u64,
                (slice[0].at_ms, slice[slice.len() - 1].at_ms),
            )
        })
        .collect();
    flows.last_mut().expect("each side sends").reason = if protocol == 6 { 3 } else { 1 };
    flows
}

/// Records, by time, that may arrive before one that is earlier: with more, more parts of one conversation would be apart at
/// a time than are held.
const AHEAD: usize = 7;

/// `records` in an order that `keys` gives them, in which each comes before no more than [`AHEAD`] of those that are earlier.
fn shuffled(records: &[(u32, Flow)], keys: &[Index]) -> Vec<(u32, Flow)> {
    let mut rest = records.to_vec();
    rest.sort_by_key(|(_, flow)| flow.first_ms);
    let mut order = Vec::new();
    for key in keys.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        order.push(rest.remove(key.index(rest.len().min(AHEAD + 1))));
    }
    order
}

/// What comes of records of (observation domain, flow) that arrive in this order, each in a message of its own, all of them at the end.
fn arriving(records: &[(u32, Flow)]) -> (Vec<ConnectionVector>, MergeFacts) {
    let end = records.iter().map(|(_, flow)| flow.last_ms).max().unwrap_or_default() as u64 / 1_000 + 1;
    let templates = [7, 8].map(|domain| ipfix(end, 0, domain, &[flow_template()]));
    let messages = records.iter().map(|(domain, flow)| ipfix(end, 0, *domain, &[data(std::slice::from_ref(flow))]));
    let file = templates.into_iter().chain(messages).collect::<Vec<_>>().concat();
    merge(&[file], MergeOptions::default()).expect("the messages are sound")
}

fn totals(vector: &ConnectionVector) -> ([u64; 2], [Option<u64>; 2], [Option<u64>; 2]) {
    let ends = [vector.ends.initiator, vector.ends.acceptor];
    (Side::BOTH.map(|side| vector.bytes(side)), ends.map(|end| end.packets), ends.map(|end| end.ip_bytes))
}

/// The totals of the packets themselves.
fn truth(packets: &[Packet], headers: u64) -> ([u64; 2], [Option<u64>; 2], [Option<u64>; 2]) {
    let of = |side: Side| packets.iter().filter(move |packet| packet.side == side);
    let payload = Side::BOTH.map(|side| of(side).map(|packet| packet.payload).sum());
    let count = Side::BOTH.map(|side| Some(of(side).count() as u64));
    (payload, count, Side::BOTH.map(|side| Some(of(side).map(|packet| headers + packet.payload).sum())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_slices_in_any_order_are_one_connection(
        packets in packets(),
        tcp in any::<bool>(),
        keys in prop::collection::vec(any::<Index>(), 1..100),
    ) {
        let (protocol, headers) = if tcp { (6, TCP_HEADERS) } else { (17, UDP_HEADERS) };
        let records: Vec<(u32, Flow)> =
            Side::BOTH.into_iter().flat_map(|side| slices(&packets, side, protocol)).map(|flow| (7, flow)).collect();
        let (vectors, facts) = arriving(&shuffled(&records, &keys));
        prop_assert_eq!(vectors.len(), 1, "{:#?}", vectors);
        prop_assert_eq!(totals(&vectors[0]), truth(&packets, headers));
        let lifetime = packets[packets.len() - 1].at_ms as u64;
        prop_assert_eq!(vectors[0].lifetime, Some(Duration::from_millis(lifetime)));
        prop_assert_eq!(vectors[0].complete, tcp);
        prop_assert_eq!((facts.records, facts.connections, facts.duplicates), (records.len() as u64, 1, 0));
    }

    #[test]
    fn what_a_second_exporter_saw_changes_nothing(
        packets in packets(),
        behind_ms in 0..50i64,
        cuts in any::<bool>(),
        keys in prop::collection::vec(any::<Index>(), 1..100),
    ) {
        let uncut: Vec<Packet> = packets.iter().map(|packet| Packet { cut: packet.cut && cuts, ..*packet }).collect();
        let first = Side::BOTH.into_iter().flat_map(|side| slices(&packets, side, 6)).map(|flow| (7, flow));
        let second = Side::BOTH.into_iter().flat_map(|side| slices(&uncut, side, 6)).map(|flow| {
            (8, Flow { first_ms: flow.first_ms + behind_ms, last_ms: flow.last_ms + behind_ms, ..flow })
        });
        let records: Vec<(u32, Flow)> = first.chain(second).collect();
        let (vectors, facts) = arriving(&shuffled(&records, &keys));
        prop_assert_eq!(vectors.len(), 1, "{:#?}", vectors);
        prop_assert_eq!(totals(&vectors[0]), truth(&packets, TCP_HEADERS));
        prop_assert!(facts.duplicates > 0);
    }

    #[test]
    fn a_port_used_again_is_a_connection_each(
        connections in prop::collection::vec((1_100..30_000i64, 1..2_000i64, 500..5_000u64, 500..5_000u64), 1..6),
        keys in prop::collection::vec(any::<Index>(), 1..20),
    ) {
        let (mut records, mut expected, mut at) = (Vec::new(), Vec::new(), 0);
        for (wait, length, up, down) in connections {
            records.push((7, tcp(CLIENT, SERVER, 400 + up, 10, (at, at + length))));
            records.push((7, tcp(SERVER, CLIENT, 400 + down, 10, (at + 1, at + length + 5))));
            expected.push([up, down]);
            at += length + wait;
        }
        let (vectors, _) = arriving(&shuffled(&records, &keys));
        let found: Vec<[u64; 2]> = vectors.iter().map(|vector| totals(vector).0).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_byte_is_lost_or_made(
        flows in prop::collection::vec((0..4u16, any::<bool>(), 0..300_000i64, 1..40_000i64, 1_500..9_000u64, 0..32u8), 1..60),
        udp in any::<bool>(),
    ) {
        // Anything of anything: how it is cut into connections is open, not what they hold together.
        let records: Vec<(u32, Flow)> = flows
            .iter()
            .enumerate()
            .map(|(number, (port, up, first, length, octets, flags))| {
                let client = (1, 40_000 + port);
                let (from, to) = if *up { (client, SERVER) } else { (SERVER, client) };
                // Each length is another, so that none is taken for a repetition.
                let octets = octets * 64 + number as u64;
                (7, Flow { protocol: if udp { 17 } else { 6 }, flags: *flags, ..tcp(from, to, octets, 1, (*first, first + length)) })
            })
            .collect();
        let (vectors, facts) = arriving(&records);
        let packets = vectors.iter().flat_map(|vector| totals(vector).1).flatten().sum::<u64>();
        prop_assert_eq!(facts.connections, facts.vectors + facts.one_way + facts.no_data + facts.uncounted);
        prop_assert_eq!(facts.duplicates, 0);
        prop_assert!(packets <= records.len() as u64);
        if facts.one_way == 0 {
            prop_assert_eq!(packets, records.len() as u64);
            let octets: u64 = records.iter().map(|(_, flow)| flow.octets).sum();
            prop_assert_eq!(vectors.iter().flat_map(|vector| totals(vector).2).flatten().sum::<u64>(), octets);
        }
    }
}
