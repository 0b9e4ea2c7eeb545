//! What the writer writes: the same packets for our own reader, and nothing malformed for tshark.

use std::io::{self, ErrorKind, Write};
use std::process::Command;

use crate::capture_support::open;
use flowloom_core::record::PacketRecord;
use flowloom_core::time::Time;
use flowloom_core::wire::{Decoder, Flags, Parsed, Segment};
use flowloom_core::workload::{IpVersion, LinkSide, Side};
use flowloom_needs::{Need, skip};
use flowloom_store::capture::{Options, PcapWriter};
use proptest::prelude::*;

fn write(packets: &[PacketRecord]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new()).expect("memory");
    packets.iter().for_each(|packet| writer.write(packet).expect("writes"));
    writer.finish().expect("memory")
}

/// The packets of a written capture as (nanoseconds, segment).
fn segments(bytes: &[u8]) -> Vec<(u64, Segment)> {
    let mut captures = open(&[bytes], Options::default()).expect("opens");
    let mut found = Vec::new();
    while let Some(packet) = captures.next_packet().expect("reads") {
        let Ok(Parsed::Segment(segment)) = packet.decode(&mut Decoder::default()) else { panic!("{packet:?}") };
        assert_eq!(u64::from(packet.wire_length), u64::from(segment.link_bytes));
        found.push((packet.time.as_nanos(), segment));
    }
    found
}

fn packet() -> PacketRecord {
    PacketRecord {
        time: Time::from_nanos(1_234_567_891),
        connection: 0,
        sender: Side::Initiator,
        from: LinkSide::Left,
        sequence: 1,
        acknowledgement: 2,
        flags: Flags::ACK,
        window: 65_535,
        payload_bytes: 1_460,
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: [(0, 0); 3],
        ecn: flowloom_core::wire::Ecn::NotEct,
        ip_version: IpVersion::V4,
    }
}

/// A handshake with all options, data each way, a segment larger than IP can say, and a close.
fn conversation(connection: u64, initiator: LinkSide) -> Vec<PacketRecord> {
    let step = |nanos: u64, sender: Side, flags: u8, sequence: u32, acknowledgement: u32, payload_bytes: u32| {
        let from = if sender == Side::Initiator { initiator } else { initiator.other() };
        let syn = flags & Flags::SYN != 0;
        PacketRecord {
            time: Time::from_nanos(nanos),
            connection,
            sender,
            from,
            sequence,
            acknowledgement,
            flags,
            payload_bytes,
            mss: syn.then_some(1_460),
            window_scale: syn.then_some(7),
            ..packet()
        }
    };
    use Side::{Acceptor, Initiator};
    vec![
        step(1_000, Initiator, Flags::SYN, 99, 0, 0),
        step(2_000, Acceptor, Flags::SYN | Flags::ACK, u32::MAX, 100, 0),
        step(3_000, Initiator, Flags::ACK, 100, 0, 0),
        step(4_000, Initiator, Flags::ACK | Flags::PSH, 100, 0, 500),
        step(5_000, Acceptor, Flags::ACK, 0, 600, 70_000),
        step(6_000, Initiator, Flags::ACK | Flags::FIN, 600, 70_000, 0),
        step(7_000, Acceptor, Flags::ACK | Flags::FIN, 70_000, 601, 0),
        step(8_000, Initiator, Flags::ACK, 601, 70_001, 0),
    ]
}

#[test]
fn what_is_written_is_read_back() {
    let packets: Vec<PacketRecord> = [conversation(0, LinkSide::Left), conversation(131_073, LinkSide::Right)].concat();
    let found = segments(&write(&packets));
    assert_eq!(found.len(), packets.len());
    for (packet, (nanos, segment)) in packets.iter().zip(&found) {
        assert_eq!(*nanos, packet.time.as_nanos());
        assert_eq!((segment.sequence, segment.acknowledgement), (packet.sequence, packet.acknowledgement));
        assert_eq!((segment.flags.0, segment.window), (packet.flags, packet.window));
        assert_eq!(segment.payload_bytes, packet.payload_bytes);
        assert_eq!((segment.mss, segment.window_scale), (packet.mss, packet.window_scale));
        let options = if packet.mss.is_some() { 8 } else { 0 };
        assert_eq!(segment.link_bytes, 54 + options + packet.payload_bytes);
        // The MAC pair says which side of the link it came from, and the larger port who opened the connection.
        let sides = segment.macs.expect("Ethernet").map(|mac| mac[5]);
        assert_eq!(sides, if packet.from == LinkSide::Left { [2, 1] } else { [1, 2] });
        assert_eq!(segment.source.port > segment.destination.port, packet.sender == Side::Initiator);
    }
}

#[test]
fn a_packet_without_flags_is_a_datagram() {
    let bytes = write(&[PacketRecord { flags: 0, sequence: 7, payload_bytes: 1_000, ..packet() }]);
    let mut captures = open(&[&bytes[..]], Options::default()).expect("opens");
    let packet = captures.next_packet().expect("reads").expect("a packet");
    let Ok(Parsed::Datagram(datagram)) = packet.decode(&mut Decoder::default()) else { panic!("{packet:?}") };
    assert_eq!((datagram.payload_bytes, datagram.link_bytes, packet.wire_length), (1_000, 1_042, 1_042));
    assert_eq!((datagram.source.port, datagram.destination.port), (32_768, 1_023));
}

#[test]
fn addresses_are_those_documented() {
    let with = |connection| segments(&write(&[PacketRecord { connection, ..packet() }]))[0].1;
    for (connection, left, right, port) in [
        (0, [10, 0, 0, 1], [172, 16, 0, 1], 32_768),
        (1, [10, 0, 0, 2], [172, 16, 0, 2], 32_768),
        ((1 << 17) - 1, [10, 2, 0, 0], [172, 18, 0, 0], 32_768),
        (1 << 17, [10, 0, 0, 1], [172, 16, 0, 1], 32_769),
        (u64::from(u32::MAX), [10, 2, 0, 0], [172, 18, 0, 0], 65_535),
    ] {
        let segment = with(connection);
        let mapped = |address: [u8; 4]| 0xffff_0000_0000 | u128::from(u32::from_be_bytes(address));
        assert_eq!((segment.source.ip, segment.source.port), (mapped(left), port), "{connection}");
        assert_eq!((segment.destination.ip, segment.destination.port), (mapped(right), 1_023), "{connection}");
    }
}

#[test]
fn what_the_format_has_no_room_for_is_an_error() {
    let mut writer = PcapWriter::new(Vec::new()).expect("memory");
    for packet in [
        PacketRecord { connection: 1 << 32, ..packet() },
        PacketRecord { time: Time::from_nanos((1 << 32) * 1_000_000_000), ..packet() },
    ] {
        assert_eq!(writer.write(&packet).map_err(|error| error.kind()), Err(ErrorKind::InvalidInput));
    }
    assert_eq!(writer.finish().expect("memory").len(), 24, "nothing of them was written");
}

#[test]
fn a_full_disk_is_passed_on() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(PcapWriter::new(Full).err().map(|error| error.kind()), Some(ErrorKind::StorageFull));
}

#[test]
fn tshark_finds_nothing_malformed_and_every_checksum_right() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.pcap");
    let mut packets = Vec::new();
    for connection in 0..50 {
        let side = if connection % 2 == 0 { LinkSide::Left } else { LinkSide::Right };
        let ip_version = if connection % 3 == 0 { IpVersion::V6 } else { IpVersion::V4 };
        let conversation = conversation(connection * 70_001, side);
        // IPv6 has no length for more than 65,535 bytes (RFC 8200 section 3).
        let fits = |packet: &PacketRecord| ip_version == IpVersion::V4 || packet.payload_bytes < 65_000;
        packets.extend(conversation.into_iter().filter(fits).map(|packet| PacketRecord { ip_version, ..packet }));
    }
    std::fs::write(&path, write(&packets)).expect("writes");
    let tshark = Command::new("tshark")
        .args(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-T", "fields", "-E", "separator=,"])
        .args(["-e", "frame.time_epoch", "-e", "frame.len", "-e", "_ws.malformed", "-e", "ip.checksum.status"])
        .args(["-e", "tcp.checksum.status", "-e", "tcp.len", "-e", "tcp.options.mss_val", "-e", "tcp.stream"])
        .arg("-r")
        .arg(&path)
        .output();
    let Ok(output) = tshark else {
        return skip("store: captures that we write", Need::TSHARK);
    };
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(text.lines().count(), packets.len(), "{}", String::from_utf8_lossy(&output.stderr));
    for (line, packet) in text.lines().zip(&packets) {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, length, malformed, ip, tcp, payload, mss, stream] = fields[..] else { panic!("{line}") };
        let is_v4 = packet.ip_version == IpVersion::V4;
        let headers = 14 + packet.ip_version.header_bytes() + 20 + if packet.mss.is_some() { 8 } else { 0 };
        assert_eq!(length, (headers + packet.payload_bytes).to_string());
        assert_eq!(malformed, "", "{line}");
        // 1 is good; tshark cannot check what was not captured (2).
        assert_eq!(ip, if is_v4 { "1" } else { "" }, "{line}");
        assert_eq!(tcp, if packet.payload_bytes == 0 { "1" } else { "2" }, "{line}");
        assert_eq!(payload, packet.payload_bytes.to_string(), "{line}");
        assert_eq!(mss, packet.mss.map(|mss| mss.to_string()).unwrap_or_default(), "{line}");
        assert_eq!(stream, (packet.connection / 70_001).to_string(), "{line}");
    }
}

proptest! {
    #[test]
    fn any_packet_is_read_back(
        seconds in any::<u32>(), nanos in 0..1_000_000_000u64, connection in any::<u32>(), initiator in any::<bool>(),
        left in any::<bool>(), sequence in any::<u32>(), acknowledgement in any::<u32>(), flags in 1..64u8,
        window in any::<u16>(), payload_bytes in 0..10_000_000u32, mss in prop::option::of(1..=u16::MAX),
        window_scale in proptest::option::of(0..=14u8), is_v6 in any::<bool>(),
    ) {
        let syn = flags & Flags::SYN != 0;
        let packet = PacketRecord {
            time: Time::from_nanos(u64::from(seconds) * 1_000_000_000 + nanos),
            connection: u64::from(connection),
            sender: if initiator { Side::Initiator } else { Side::Acceptor },
            from: if left { LinkSide::Left } else { LinkSide::Right },
            sequence, acknowledgement, flags, window, payload_bytes, mss, window_scale, sack_permitted: false, timestamps: None, sack: [(0, 0); 3], ecn: flowloom_core::wire::Ecn::NotEct,
            ip_version: if is_v6 { IpVersion::V6 } else { IpVersion::V4 },
        };
        let found = segments(&write(&[packet]));
        let (time, segment) = found[0];
        prop_assert_eq!(time, packet.time.as_nanos());
        prop_assert_eq!((segment.sequence, segment.acknowledgement), (sequence, acknowledgement));
        prop_assert_eq!((segment.flags.0, segment.window, segment.payload_bytes), (flags, window, payload_bytes));
        prop_assert_eq!(segment.mss, mss.filter(|_| syn));
        prop_assert_eq!(segment.window_scale, window_scale.filter(|_| syn));
        prop_assert_eq!(IpVersion::of(segment.source.host()), packet.ip_version);
        let options = [mss.is_some(), window_scale.is_some()].into_iter().filter(|option| syn && *option).count() as u32;
        prop_assert_eq!(segment.link_bytes, 14 + packet.ip_version.header_bytes() + 20 + 4 * options + payload_bytes);
    }

    #[test]
    fn connections_never_share_addresses_and_ports(one in any::<u32>(), other in any::<u32>(), left in any::<bool>()) {
        prop_assume!(one != other);
        let from = if left { LinkSide::Left } else { LinkSide::Right };
        let pair = |connection: u32, from| {
            let record = PacketRecord { connection: u64::from(connection), from, ..packet() };
            let segment = segments(&write(&[record]))[0].1;
            let mut pair = [segment.source, segment.destination];
            pair.sort();
            pair
        };
        prop_assert_ne!(pair(one, LinkSide::Left), pair(other, from));
    }
}

/// The layout of Linux: what is written takes the bytes that a segment's options are said to take.
#[test]
fn options_stand_as_common_stacks_lay_them_out() {
    let bytes = |packet: PacketRecord| {
        let file = write(&[packet]);
        let frame = file[24 + 16..].to_vec();
        assert_eq!(usize::from(frame[14 + 20 + 12] >> 4) * 4, frame.len() - 34, "the data offset counts the options");
        assert_eq!(usize::from(u16::from_be_bytes([frame[16], frame[17]])), frame.len() - 14);
        (frame[15], frame[54..].to_vec())
    };
    let ecn = flowloom_core::wire::Ecn::Ce;
    let syn =
        PacketRecord { flags: Flags::SYN, mss: Some(1_460), window_scale: Some(7), payload_bytes: 0, ecn, ..packet() };
    let stamps = Some((0x0102_0304, 0x0506_0708));
    let full = PacketRecord { sack_permitted: true, timestamps: stamps, ..syn };
    let stamped = [8, 10, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(bytes(full), (3, [&[2, 4, 5, 180, 4, 2][..], &stamped, &[1, 3, 3, 7]].concat()));
    let plain = PacketRecord { sack_permitted: true, ..syn };
    assert_eq!(bytes(plain).1, [2, 4, 5, 180, 4, 2, 1, 1, 1, 3, 3, 7]);
    let sack = [(1, 2), (3, 4), (5, 6)];
    let repair = PacketRecord { payload_bytes: 0, timestamps: stamps, sack, ..packet() };
    let blocks = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6];
    assert_eq!(bytes(repair), (0, [&[1, 1][..], &stamped, &[1, 1, 5, 26], &blocks].concat()));
    let sack = [(1, 2), (0, 0), (0, 0)];
    let alone = PacketRecord { payload_bytes: 0, sack, ..packet() };
    assert_eq!(bytes(alone).1, [&[1, 1, 5, 10][..], &blocks[..8]].concat());
}
