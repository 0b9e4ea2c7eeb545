//! What real captures taught, each lesson a test: on the capture that taught it where it is at hand, else on
//! packets like those.

use std::net::{IpAddr, Ipv4Addr};

use crate::real_captures::{self, unique};
use flowloom_core::extract::{Counts, Extractor, Finished, Options};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Address, Decoder, Flags, LinkType, Parsed, Segment, Vlan};
use flowloom_core::workload::{Close, Side};

const SYN: u8 = Flags::SYN;
const ACK: u8 = Flags::ACK;
const FIN: u8 = Flags::FIN;
const RST: u8 = Flags::RST;

/// The connections of a shared capture.
fn connections(file: &str, options: Options) -> Option<(Vec<Finished>, Counts)> {
    let extraction = real_captures::extract(&real_captures::folder()?.join(file), options);
    Some((extraction.connections, extraction.counts))
}

/// Bytes of both sides of every connection.
fn bytes(finished: &[Finished]) -> Vec<[u64; 2]> {
    finished.iter().map(|one| Side::BOTH.map(|side| unique(one, side))).collect()
}

/// Packets of one client and one server, a millisecond apart.
struct Made {
    extractor: Extractor,
    now: Time,
    vlan: Option<Vlan>,
}

impl Made {
    fn new(options: Options) -> Made {
        let extractor = Extractor::new(Options { keep_set_aside: true, ..options });
        Made { extractor, now: Time::from_nanos(1_780_000_000_000_000_000), vlan: None }
    }

    fn packet(&mut self, from_client: bool, flags: u8, sequence: u32, acknowledgement: u32, payload_bytes: u32) {
        let [client, server] = [([10, 0, 0, 1], 40_000), ([192, 0, 2, 1], 80)]
            .map(|(ip, port)| Address::new(IpAddr::V4(Ipv4Addr::from(ip)), port));
        let (source, destination) = if from_client { (client, server) } else { (server, client) };
        self.now += Duration::from_millis(1);
        self.extractor.handle_segment(
            self.now,
            &Segment {
                source,
                destination,
                sequence,
                acknowledgement,
                flags: Flags(flags),
                window: 8192,
                payload_bytes,
                link_bytes: 54 + payload_bytes,
                ip_id: None,
                mss: None,
                window_scale: None,
                timestamps: None,
                sack: false,
                sack_blocks: [(0, 0); 3],
                options_cut: false,
                vlan: self.vlan,
                from: None,
                macs: None,
            },
        );
    }

    /// From the client.
    fn c(&mut self, flags: u8, sequence: u32, acknowledgement: u32, payload_bytes: u32) {
        self.packet(true, flags, sequence, acknowledgement, payload_bytes);
    }

    /// From the server.
    fn s(&mut self, flags: u8, sequence: u32, acknowledgement: u32, payload_bytes: u32) {
        self.packet(false, flags, sequence, acknowledgement, payload_bytes);
    }

    fn established(&mut self) {
        self.c(SYN, 999, 0, 0);
        self.s(SYN | ACK, 4_999, 1_000, 0);
        self.c(ACK, 1_000, 5_000, 0);
    }

    fn finish(mut self) -> (Vec<Finished>, Counts) {
        self.extractor.finish();
        let finished = std::iter::from_fn(|| self.extractor.poll_finished()).collect();
        (finished, self.extractor.counts())
    }
}

#[test]
fn payload_length_comes_from_the_ip_header() {
    // The writer stored the captured length as the wire length; by it there would be 54 bytes in a segment, not 1,448.
    let Some((finished, _)) = connections("tcptrace-6syns.dmp", Options::default()) else { return };
    assert_eq!(bytes(&finished), [[5_378, 0], [33_811, 0]]);
}

/// An Ethernet frame of `wire` bytes with one TCP segment in IPv4, `total` being the IP total length.
fn frame(total: u16, fragment: u16, wire: usize) -> Vec<u8> {
    let mut frame = vec![0; wire];
    frame[12..14].copy_from_slice(&[8, 0]);
    let [high, low] = total.to_be_bytes();
    let [flags, offset] = fragment.to_be_bytes();
    frame[14..34].copy_from_slice(&[0x45, 0, high, low, 0, 1, flags, offset, 64, 6, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1]);
    if fragment & 0x1fff == 0 {
        frame[34..54].copy_from_slice(&[0x9c, 0x40, 0, 80, 0, 0, 3, 232, 0, 0, 19, 136, 0x50, ACK, 32, 0, 0, 0, 0, 0]);
    }
    frame
}

#[test]
fn offload_padding_and_fragments_are_exceptions_to_the_ip_length() {
    let mut decoder = Decoder::default();
    let mut payload = |frame: &[u8], captured: usize| match decoder.decode(
        Time::ZERO,
        LinkType::Ethernet,
        &frame[..captured],
        frame.len() as u32,
    ) {
        Ok(Parsed::Segment(segment)) => Ok(segment.payload_bytes),
        other => Err(format!("{other:?}")),
    };
    // A frame is filled up to 60 bytes: nothing and one byte of payload.
    assert_eq!(payload(&frame(40, 0, 60), 60), Ok(0));
    assert_eq!(payload(&frame(41, 0, 60), 60), Ok(1));
    // Segmentation offload: the host's capture has length 0 where the card has yet to write it.
    assert_eq!(payload(&frame(0, 0, 54 + 9_000), 96), Ok(9_000));
    // 80 bytes with the header in the first fragment and 50 in the second: one segment, with the last of them.
    assert!(payload(&frame(20 + 80, 0x2000, 114), 114).is_err());
    assert_eq!(payload(&frame(20 + 50, 10, 84), 84), Ok(80 - 20 + 50));
}

#[test]
fn keep_alives_are_not_data() {
    let Some((finished, counts)) = connections("iti-modbus-mb2.pcap", Options::default()) else { return };
    assert!(counts.segments.keep_alives > 0);
    for finished in finished {
        let segments = Side::BOTH.map(|side| finished.vector.ends[side].segments.unwrap());
        assert!(segments.iter().all(|end| end.keep_alives == 0 || end.missing_bytes == 0));
    }
    let mut made = Made::new(Options::default());
    made.established();
    made.c(ACK, 1_000, 5_000, 10);
    made.s(ACK, 5_000, 1_010, 20);
    made.c(ACK, 1_009, 5_020, 1);
    let (finished, counts) = made.finish();
    assert_eq!((bytes(&finished), counts.segments.keep_alives), (vec![[10, 20]], 1));
}

#[test]
fn payload_on_a_reset_is_not_data() {
    let mut made = Made::new(Options::default());
    made.established();
    made.c(ACK, 1_000, 5_000, 10);
    made.s(RST | ACK, 5_000, 1_010, 21);
    assert_eq!(bytes(&made.finish().0), [[10, 0]]);
}

#[test]
fn a_sequence_jump_is_port_reuse() {
    let mut made = Made::new(Options::default());
    made.established();
    made.c(ACK, 1_000, 5_000, 10);
    made.s(ACK, 5_000, 1_010, 20);
    // 808 MB on, both ways: another connection on the same addresses and ports whose SYN was not captured.
    made.c(ACK, 808_000_000, 700_000_000, 30);
    made.s(ACK, 700_000_000, 808_000_030, 40);
    let (finished, counts) = made.finish();
    assert_eq!((bytes(&finished), counts.port_reuse), (vec![[10, 20], [30, 40]], 1));
    assert_eq!(counts.segments.missing_bytes, 0);
}

#[test]
fn the_same_syn_after_a_reset_is_one_connection() {
    let mut made = Made::new(Options::default());
    made.c(SYN, 999, 0, 0);
    made.s(RST | ACK, 0, 1_000, 0);
    made.c(SYN, 999, 0, 0);
    made.s(SYN | ACK, 4_999, 1_000, 0);
    made.c(ACK, 1_000, 5_000, 10);
    let (finished, _) = made.finish();
    assert_eq!(bytes(&finished), [[10, 0]]);
    assert_eq!(finished[0].vector.close, Close::NotSeen, "the reset was not this connection's end");
    assert!(!finished[0].vector.ends.acceptor.rst_seen);
}

#[test]
fn an_injected_reset_ends_no_connection_that_goes_on() {
    let mut made = Made::new(Options::default());
    made.established();
    made.c(ACK, 1_000, 5_000, 10);
    made.s(RST, 5_000, 0, 0);
    made.s(ACK, 5_000, 1_010, 20);
    made.c(ACK, 1_010, 5_020, 30);
    made.s(ACK, 5_020, 1_040, 40);
    let (finished, counts) = made.finish();
    assert_eq!((bytes(&finished), counts.port_reuse), (vec![[40, 60]], 0));
}

#[test]
fn a_repeated_fin_opens_nothing() {
    let mut made = Made::new(Options::default());
    made.established();
    made.c(ACK | FIN, 1_000, 5_000, 10);
    made.s(ACK | FIN, 5_000, 1_011, 20);
    made.c(ACK, 1_011, 5_021, 0);
    made.s(ACK | FIN, 5_000, 1_011, 20);
    made.c(ACK, 1_011, 5_021, 0);
    assert_eq!(bytes(&made.finish().0), [[10, 20]]);
}

#[test]
fn packets_after_a_close_are_kept() {
    // The last TLS alerts of these come after a FIN or RST.
    let Some((finished, _)) = connections("ndpi-reddit-ipv6.pcap", Options::default()) else { return };
    assert_eq!(finished.len(), 60);
    let after = |one: &&Finished| {
        let last = one.vector.data_span().map(|span| span.last);
        one.vector.t_close == Some(Duration::ZERO) && last > Some(Duration::ZERO)
    };
    assert!(finished.iter().filter(after).count() > 0);
    let mut made = Made::new(Options::default());
    made.established();
    made.c(ACK | FIN, 1_000, 5_000, 10);
    made.s(RST, 5_000, 0, 0);
    made.s(ACK, 5_000, 1_011, 31);
    assert_eq!(bytes(&made.finish().0), [[10, 31]]);
}

#[test]
fn no_handshake_is_needed() {
    let Some((finished, counts)) = connections("pcpp-tls2-dataonly.pcap", Options::default()) else { return };
    assert_eq!(finished.len(), 334);
    let classes = counts.classes.map(|class| (class.connections, class.began_before));
    assert!(classes.iter().all(|(connections, began_before)| connections == began_before), "{classes:?}");
    assert!(finished.iter().all(|one| one.vector.bytes(Side::Initiator) + one.vector.bytes(Side::Acceptor) > 0));
}

#[test]
fn a_clock_that_runs_backwards_neither_splits_connections_nor_makes_negative_waits() {
    for (file, connections_in_it) in [("tcptrace-hardware_dups.dmp", 1), ("ndpi-sites.pcapng", 60)] {
        let Some((finished, counts)) = connections(file, Options::default()) else { return };
        assert!(counts.clock_backwards > 0, "{file}");
        assert_eq!(finished.len(), connections_in_it, "{file}");
        for adu in finished.iter().flat_map(|one| &one.vector.adus) {
            // Unsigned times cannot be negative; a step back taken for a wait would be one of centuries.
            assert!(adu.wait.is_none_or(|wait| wait <= counts.duration()), "{file}: {adu:?}");
        }
    }
}

#[test]
fn a_minimum_round_trip_takes_no_sample_from_retransmissions() {
    // tshark finds 42 s, from a segment that was sent seven times.
    let Some((finished, _)) = connections("tcptrace-6syns.dmp", Options::default()) else { return };
    for finished in finished {
        let transits = Side::BOTH.map(|side| finished.vector.ends[side].min_transit);
        assert!(transits.iter().flatten().all(|transit| *transit < Duration::from_secs(1)), "{transits:?}");
        let both = transits[0].zip(transits[1]).map(|(initiator, acceptor)| initiator + acceptor);
        assert_eq!(finished.vector.min_rtt(), both, "the halves on both sides of the monitor, added");
    }
}

#[test]
fn a_clock_that_jumps_years_costs_no_memory_and_no_time() {
    let Some((finished, counts)) = connections("tcptrace-http.dmp", Options::default()) else { return };
    assert!(counts.duration() > Duration::from_secs(365 * 86_400), "{}", counts.duration());
    assert_eq!(finished.len(), 61);
    // Time is walked by packets, not by seconds: nothing is longer than what passed in one connection.
    assert!(finished.iter().all(|one| one.vector.lifetime < Some(Duration::from_secs(86_400))));
}

#[test]
fn a_tcp_header_inside_an_icmp_error_is_no_segment() {
    let ipv4 = |protocol: u8, payload: &[u8]| {
        let mut header = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1];
        header[3] = (20 + payload.len()) as u8;
        [header, payload.to_vec()].concat()
    };
    let tcp = [&[0x9c, 0x40, 0, 80, 0, 0, 3, 231, 0, 0, 0, 0, 0x50, SYN, 0x20, 0][..], &[0; 4]].concat();
    let decode = |bytes: &[u8]| Decoder::default().decode(Time::ZERO, LinkType::RawIp, bytes, bytes.len() as u32);
    assert!(matches!(decode(&ipv4(6, &tcp)), Ok(Parsed::Segment(_))));
    let unreachable = [&[3, 3, 0, 0, 0, 0, 0, 0][..], &ipv4(6, &tcp)].concat();
    let refused = decode(&ipv4(1, &unreachable));
    assert!(refused.is_err(), "{refused:?}");
}

#[test]
fn vlans_are_out_of_the_key_unless_asked_for_and_said_to_matter() {
    let tagged_one_way = |vlan_key: bool| {
        let mut made = Made::new(Options { vlan_key, ..Options::default() });
        for (client, flags, sequence, ack, len) in
            [(true, SYN, 999, 0, 0), (false, SYN | ACK, 4_999, 1_000, 0), (true, ACK, 1_000, 5_000, 10)]
        {
            made.vlan = if client { Vlan::new([42]) } else { None };
            made.packet(client, flags, sequence, ack, len);
        }
        let (finished, counts) = made.finish();
        (finished.len(), counts.vlan_halves)
    };
    assert_eq!(tagged_one_way(false), (1, 0));
    assert_eq!(tagged_one_way(true), (2, 1));
    // The same connection three times, untagged, in VLAN 42, and in 20 inside 10.
    let in_vlans =
        |vlan_key: bool| connections("zeek-vlan-collisions.pcap", Options { vlan_key, ..Options::default() });
    let Some(((together, warned), (apart, _))) = in_vlans(false).zip(in_vlans(true)) else { return };
    assert_eq!((together.len(), apart.len()), (1, 3));
    assert_eq!(warned.vlan_changes, 1);
}

type Windows = &'static [(u64, f64)];

/// The other end's bytes and milliseconds of windows below a segment and below half of the largest, from the first segment that has one to the
/// first that has more, by the fields that tshark 4.0.17 prints (`tcp.ack`, `tcp.window_size`, `frame.time_epoch`).
const CLOSED_WINDOWS: [(&str, Side, Windows); 3] = [
    ("tcptrace-zwnd.dmp", Side::Acceptor, &[(17_031_736, 22_560.0)]),
    ("zeek-http-206-zerowin.pcap", Side::Initiator, &[(136_935, 61.6), (899_889, 13.6)]),
    ("tcptrace-http.dmp", Side::Initiator, &[(32_120, 89.0), (32_120, 27.9), (32_120, 189.7)]),
];

#[test]
fn closed_windows_agree_with_tshark() {
    let Some(folder) = real_captures::folder() else { return };
    for (file, reader, expected) in CLOSED_WINDOWS {
        let found = real_captures::extract(&folder.join(file), Options::default()).connections;
        let of = |side: Side| found.iter().flat_map(move |one| one.vector.read_pauses[side].clone());
        assert_eq!(of(reader.other()).count(), 0, "{file}");
        let millis = |length: Duration| (length.as_secs_f64() * 1e4).round() / 10.0;
        let told: Vec<(u64, f64)> = of(reader).map(|pause| (pause.after_bytes, millis(pause.length))).collect();
        assert_eq!(told, expected, "{file}");
    }
    // Nobody's window closes.
    let others = ["ndpi-alexa-app.pcapng", "pcpp-example2.pcap", "zeek-http-92conns.pcap", "iti-modbus-mb2.pcap"];
    for file in others {
        let found = real_captures::extract(&folder.join(file), Options::default()).connections;
        assert!(
            found.iter().all(|one| Side::BOTH.iter().all(|side| one.vector.read_pauses[*side].is_empty())),
            "{file}"
        );
    }
}
