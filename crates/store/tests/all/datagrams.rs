//! Flows of datagrams in captures that this project did not make, beside what tshark finds in them.

use crate::real_captures;
use flowloom_core::extract::{Finished, Options};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::SetAside;
use flowloom_core::workload::{DatagramSizes, Protocol, Side};

/// Of each capture what tshark 4.4 says: UDP datagrams (those quoted by ICMP left out, fragments put together), their
/// payload bytes (the UDP length or what the IP packet has room for, whichever is less), 5-tuples, flows if a 5-tuple that
/// was silent for a minute is another one, and of these QUIC's.
const TRUTH: [(&str, u64, u64, usize, u64, u64); 13] = [
    ("iti-modbus-mb2.pcap", 24, 5_820, 3, 3, 0),
    ("libtrace-100_packets.pcapng", 7, 321, 4, 4, 0),
    ("ndpi-1kxun.pcap", 342, 49_334, 99, 99, 0),
    ("ndpi-alexa-app.pcapng", 65, 4_913, 33, 33, 0),
    ("ndpi-fuzz-2594.pcap", 521, 60_150, 221, 232, 0),
    ("ndpi-gnutella.pcap", 1_692, 207_415, 613, 897, 0),
    ("ndpi-netflix.pcap", 44, 5_269, 13, 13, 0),
    ("ndpi-sites.pcapng", 6, 8_015, 4, 4, 4),
    ("pcpp-example2.pcap", 269, 22_810, 127, 127, 0),
    ("pcpp-ip-frag.pcap", 1_021, 1_651_808, 2, 2, 0),
    // It holds Google's QUIC of 2015, whose header is another.
    ("pcpp-many_interfaces.pcapng", 32, 9_433, 13, 13, 0),
    ("zeek-gre-in-gre.pcap", 4, 216, 2, 2, 0),
    ("zeek-smtp.pcap", 3, 335, 2, 2, 0),
];

#[test]
fn every_datagram_is_in_one_flow_and_flows_are_those_of_tshark() {
    let Some(folder) = real_captures::folder() else { return };
    for (name, datagrams, payload, five_tuples, flows, quic) in TRUTH {
        let found = real_captures::extract(&folder.join(name), Options::default());
        let counts = found.counts.datagrams;
        assert_eq!(found.set_aside.get(SetAside::Udp), 0);
        assert_eq!(counts.packets, datagrams, "{name}: datagrams");
        assert_eq!((counts.udp.flows + counts.quic.flows, counts.quic.flows), (flows, quic), "{name}: flows");
        let of = |what: fn(&Finished, Side) -> u64| -> u64 {
            found.flows.iter().flat_map(|flow| Side::BOTH.map(|side| what(flow, side))).sum()
        };
        assert_eq!(found.flows.len() as u64, flows, "{name}: each is handed out");
        assert_eq!(of(|flow, side| flow.vector.ends[side].packets.unwrap_or(0)), datagrams, "{name}: in flows");
        assert_eq!(of(|flow, side| flow.vector.bytes(side)), payload, "{name}: payload");
        assert_eq!(counts.udp.packets + counts.quic.packets, datagrams, "{name}: counted");
        let mut ends: Vec<_> = found
            .flows
            .iter()
            .map(|flow| {
                let mut ends = [flow.initiator, flow.acceptor];
                ends.sort_unstable();
                ends
            })
            .collect();
        ends.sort_unstable();
        ends.dedup();
        assert_eq!(ends.len(), five_tuples, "{name}: 5-tuples");
    }
}

/// A vector's data as (sender, bytes, packets).
fn data(flow: &Finished) -> Vec<(Side, u64, Option<u32>)> {
    flow.vector.adus.iter().map(|adu| (adu.side, adu.bytes, adu.packets)).collect()
}

#[test]
fn a_query_asked_twice_and_its_two_answers() {
    let Some(folder) = real_captures::folder() else { return };
    let found = real_captures::extract(&folder.join("ndpi-netflix.pcap"), Options::default());
    let flow = found.flows.iter().find(|flow| flow.initiator.port == 51_543).expect("the flow");
    assert_eq!((flow.acceptor.port, flow.vector.protocol), (53, Protocol::Udp));
    let micros = |micros: u64| Duration::from_micros(micros);
    assert_eq!(flow.vector.start, Time::ZERO + micros(2_076_214));
    assert_eq!(data(flow), [(Side::Initiator, 76, Some(2)), (Side::Acceptor, 562, Some(2))]);
    assert_eq!(flow.vector.adus[0].wait, Some(micros(2_089_734 - 2_076_789)));
    assert_eq!(flow.vector.lifetime, Some(micros(2_094_467 - 2_076_214)));
    let sizes = flow.vector.ends.map(|end| end.datagram_sizes);
    assert_eq!(sizes.initiator, Some(DatagramSizes { smallest: 38, largest: 38 }));
    assert_eq!(sizes.acceptor, Some(DatagramSizes { smallest: 233, largest: 329 }));
}

#[test]
fn peers_that_fall_silent_for_minutes() {
    let Some(folder) = real_captures::folder() else { return };
    let found = real_captures::extract(&folder.join("ndpi-gnutella.pcap"), Options::default());
    let flows: Vec<&Finished> = found.flows.iter().filter(|flow| flow.acceptor.port == 53_258).collect();
    let bytes = |flow: &Finished| flow.vector.adus.iter().map(|adu| adu.bytes).collect::<Vec<_>>();
    let [first, second] = flows[..] else { panic!("{} flows", flows.len()) };
    let expected = [28, 102, 122, 70, 81, 727, 32, 40, 81, 727, 81, 727, 81, 727, 86, 727, 232, 106];
    assert_eq!(bytes(first), expected);
    assert_eq!(bytes(second), [32, 40]);
    assert_eq!(first.vector.lifetime, Some(Duration::from_micros(176_659_064 - 89_016_303)));
}

#[test]
fn quic_of_four_sites() {
    let Some(folder) = real_captures::folder() else { return };
    let found = real_captures::extract(&folder.join("ndpi-sites.pcapng"), Options::default());
    let flows: Vec<_> = found
        .flows
        .iter()
        .map(|flow| (flow.vector.protocol, flow.initiator.port, Side::BOTH.map(|side| flow.vector.bytes(side))))
        .collect();
    let quic = |port: u16, bytes: [u64; 2]| (Protocol::Quic, port, bytes);
    assert_eq!(
        flows,
        [
            quic(59_102, [1_250, 0]),
            quic(38_642, [1_357, 1_357]),
            quic(36_832, [1_357, 1_357]),
            quic(41_590, [1_337, 0])
        ]
    );
}
