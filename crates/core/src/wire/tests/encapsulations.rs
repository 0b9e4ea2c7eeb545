//! What is inside tunnels, tags and labels.

use super::vectors::{PAYLOAD, Vector, frame, inner, ipv4, ipv6, tcp as segment, udp, vectors};
use super::*;

fn decode(link: u32, bytes: &[u8]) -> Result<Parsed, SetAside> {
    Decoder::default().decode(Time::ZERO, LinkType::from_number(link), bytes, bytes.len() as u32)
}

fn ethernet_frame(bytes: &[u8]) -> Result<Parsed, SetAside> {
    decode(1, bytes)
}

/// A datagram to this port, in Ethernet.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    frame(V4, &ipv4(17, &udp(port, payload)))
}

#[test]
fn the_segment_inside_every_encapsulation() {
    let [four, six] = inner();
    for Vector { name, link, bytes } in vectors() {
        let Ok(Parsed::Segment(segment)) = decode(link, &bytes) else { panic!("{name}: {:?}", decode(link, &bytes)) };
        assert_eq!((segment.payload_bytes, segment.source.port, segment.sequence), (PAYLOAD, 40_000, 7), "{name}");
        let ip = if bytes.ends_with(&four) { four.len() } else { six.len() };
        assert_eq!(segment.link_bytes, ip as u32 + 14, "{name}: the segment's own IP header counts");
    }
}

/// Cut anywhere, a packet is the same segment or none.
#[test]
fn a_cut_makes_no_other_segment() {
    for Vector { name, link, bytes } in vectors() {
        let whole = decode(link, &bytes);
        for length in 0..bytes.len() {
            let link = LinkType::from_number(link);
            let cut = Decoder::default().decode(Time::ZERO, link, &bytes[..length], bytes.len() as u32);
            match cut {
                Ok(Parsed::Segment(_)) => assert_eq!(cut, whole, "{name}, {length}"),
                // A tunnel whose header was cut cannot be told from any other datagram.
                Ok(Parsed::Datagram(_)) => assert!(name.contains("VXLAN") || name.starts_with('G'), "{name}, {length}"),
                Err(_) => assert!(length < bytes.len() - 9, "{name}, {length}: the fields needed are there"),
            }
        }
    }
}

#[test]
fn a_tunnel_port_without_a_tunnel_is_udp() {
    let [four, six] = inner();
    let framed = frame(V4, &four);
    for (why, port, head, rest) in [
        ("another port", 4788, &[8, 0, 0, 0, 0, 0, 42, 0][..], &framed),
        ("no VXLAN flag", 4789, &[0, 0, 0, 0, 0, 0, 42, 0], &framed),
        ("reserved bits", 4789, &[8, 0, 0, 0, 0, 0, 42, 1], &framed),
        ("no frame", 4789, &[8, 0, 0, 0, 0, 0, 42, 0], &frame(0x1234, &four)),
        ("version 6 behind type IPv4", 4789, &[8, 0, 0, 0, 0, 0, 42, 0], &frame(V4, &six)),
        ("malformed inside", 4789, &[8, 0, 0, 0, 0, 0, 42, 0], &frame(V4, &[0x44; 40])),
        ("unknown next protocol", 4790, &[0x0c, 0, 0, 9, 0, 0, 42, 0], &four),
        ("version 1 of Geneve", 6081, &[0x40, 0, 0x65, 0x58, 0, 0, 42, 0], &framed),
        ("no frame in Geneve", 6081, &[0, 0, 0x12, 0x34, 0, 0, 42, 0], &framed),
        ("options beyond the end", 6081, &[0x3f, 0, 0x65, 0x58, 0, 0, 42, 0], &framed),
        ("GTP version 2", 2152, &[0x50, 0xff, 0, 45, 0, 0, 0, 1], &four),
        ("GTP echo", 2152, &[0x30, 1, 0, 45, 0, 0, 0, 1], &four),
        ("GTP without IP", 2152, &[0x30, 0xff, 0, 45, 0, 0, 0, 1], &framed),
        ("an extension header of no length", 2152, &[0x34, 0xff, 0, 45, 0, 0, 0, 1, 0, 0, 0, 0x85, 0], &four),
        ("DNS", 53, &[], &four),
    ] {
        let payload = [head, rest].concat();
        let Ok(Parsed::Datagram(found)) = ethernet_frame(&datagram(port, &payload)) else { panic!("{why}") };
        assert_eq!((found.destination.port, found.payload_bytes), (port, payload.len() as u32), "{why}");
        assert_eq!(found.link_bytes, 42 + payload.len() as u32, "{why}");
    }
}

#[test]
fn what_tunnels_carry_beside_segments_is_told_apart() {
    let vxlan = |rest: &[u8]| ethernet_frame(&datagram(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0], rest].concat()));
    assert_eq!(vxlan(&frame(0x0806, &[0; 28])), Err(SetAside::NotIp), "ARP");
    assert_eq!(vxlan(&frame(V4, &ipv4(1, &[8, 0, 0, 0]))), Err(SetAside::Icmp));
    let Ok(Parsed::Datagram(inside)) = vxlan(&frame(V4, &ipv4(17, &udp(53, &[1, 2, 3])))) else { panic!("DNS inside") };
    assert_eq!((inside.destination.port, inside.payload_bytes), (53, 3));

    let ip = |protocol: u8, rest: &[u8]| ethernet_frame(&frame(V4, &ipv4(protocol, rest)));
    for (found, reason) in [
        (ip(50, &[0; 40]), SetAside::Tunnel),                                         // ESP
        (ethernet_frame(&frame(0x88e5, &[0; 40])), SetAside::Tunnel),                 // MACsec
        (ip(47, &[0x40, 0, 8, 0, 0, 0, 0, 0]), SetAside::Tunnel),                     // GRE with a route
        (ip(47, &[0, 0, 0x12, 0x34, 0]), SetAside::Tunnel),                           // of an unknown protocol
        (ip(47, &[0, 0, 0, 0]), SetAside::NotIp),                                     // keep-alive
        (ip(47, &[0, 2, 8, 0]), SetAside::Malformed),                                 // version 2
        (ip(47, &[0, 1, 0x88, 0x0b]), SetAside::Malformed),                           // PPTP without a key
        (ip(47, &[0x20, 0x81, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 9]), SetAside::NotIp), // acknowledgement alone
        (ip(97, &[0x40, 0, 1, 2]), SetAside::Malformed),
        (ethernet_frame(&frame(0x8847, &[0, 1, 0x11, 64, 0x10, 0, 0, 0, 0, 0])), SetAside::Mpls), // associated channel
        (ethernet_frame(&frame(0x8863, &[0x11, 9, 0, 0, 0, 0])), SetAside::NotIp),                // PPPoE discovery
        (ethernet_frame(&frame(0x8864, &[0x11, 0, 0, 1, 0, 4, 0xc0, 0x21, 9, 0])), SetAside::NotIp), // LCP
        (ethernet_frame(&frame(0x8864, &[0x21, 0, 0, 1, 0, 4, 0, 0x21])), SetAside::Malformed),
        (ethernet_frame(&frame(0x8864, &[0x11, 0, 0, 1, 0, 4, 0, 0x2d, 9])), SetAside::Tunnel), // Van Jacobson
        (decode(9, &[0x3d, 0xc0, 0, 0]), SetAside::Tunnel),                                     // multilink
        (decode(10, &[0x41, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), SetAside::NotIp), // FDDI station management
    ] {
        assert_eq!(found, Err(reason));
    }
}

#[test]
fn nesting_ends() {
    let mut packet = ipv4(6, &segment());
    let mut depth = 0;
    while decode(101, &packet).is_ok() {
        packet = ipv4(4, &packet);
        depth += 1;
    }
    assert_eq!((decode(101, &packet), depth), (Err(SetAside::Malformed), 32));
    let labels: Vec<u8> = [0, 1, 0, 64].repeat(300);
    assert_eq!(ethernet_frame(&frame(0x8847, &labels)), Err(SetAside::Malformed));
}

#[test]
fn tags_of_this_link_make_the_vlan_and_those_inside_do_not() {
    let four = &inner()[0];
    let vlan = |bytes: &[u8]| match ethernet_frame(bytes) {
        Ok(Parsed::Segment(segment)) => segment.vlan.map(|vlan| vlan.to_string()),
        other => panic!("{other:?}"),
    };
    let tagged = |tags: &[[u8; 2]]| {
        let mut frame = frame(0x8100, &[]);
        for (at, tag) in tags.iter().enumerate() {
            frame.extend(tag);
            frame.extend(if at + 1 < tags.len() { [0x81, 0] } else { [8, 0] });
        }
        [&frame, &four[..]].concat()
    };
    assert_eq!(vlan(&frame(V4, four)), None);
    assert_eq!(vlan(&tagged(&[[0, 9]])).as_deref(), Some("9"));
    assert_eq!(vlan(&tagged(&[[0xe0, 9]])).as_deref(), Some("9"), "priority bits");
    assert_eq!(vlan(&tagged(&[[0xe0, 0]])), None, "a priority tag");
    assert_eq!(vlan(&tagged(&[[0, 0], [0, 9]])).as_deref(), Some("9"));
    assert_eq!(vlan(&tagged(&[[0, 7], [0, 9]])).as_deref(), Some("7.9"));
    assert_eq!(vlan(&tagged(&[[0, 7], [0, 9], [0, 11]])).as_deref(), Some("7.9"));
    let in_vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0][..], &tagged(&[[0, 9]])].concat();
    assert_eq!(vlan(&datagram(4789, &in_vxlan)), None);
    let Ok(Parsed::Segment(found)) = ethernet_frame(&datagram(4789, &in_vxlan)) else { panic!("VXLAN") };
    assert_eq!(found.macs.map(|macs| macs[1][5]), Some(1), "the addresses are those of this link");
    let vlan = Vlan::new([7, 9]).unwrap();
    assert_eq!((vlan.service(), vlan.identifier()), (Some(7), 9));
    assert_eq!(Vlan::new([0, 0]), None);
    assert_eq!(Vlan::new([0, 9]), Vlan::new([9]));
}

/// The tunnel's packet in two fragments: the first shows the segment, which counts when the second has passed.
#[test]
fn a_tunnel_in_fragments() {
    let [four, _] = inner();
    let payload = udp(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0][..], &frame(V4, &four)].concat());
    let part = |field: u16, bytes: &[u8]| {
        let mut packet = ipv4(17, bytes);
        packet[6..8].copy_from_slice(&field.to_be_bytes());
        packet
    };
    let mut decoder = Decoder::default();
    let mut pass = |bytes: &[u8]| decoder.decode(Time::ZERO, LinkType::RawIp, bytes, bytes.len() as u32);
    assert_eq!(pass(&part(0x2000, &payload[..72])), Err(SetAside::UdpFragment));
    let Ok(Parsed::Segment(segment)) = pass(&part(9, &payload[72..])) else { panic!("complete") };
    assert_eq!((segment.payload_bytes, segment.link_bytes), (PAYLOAD, 59), "by its own IP header");
    // One that is malformed inside is a datagram of all its fragments.
    let mut wrong = payload.clone();
    wrong[30] = 0x44;
    assert_eq!(pass(&part(0x2000, &wrong[..72])), Err(SetAside::UdpFragment));
    let Ok(Parsed::Datagram(found)) = pass(&part(9, &wrong[72..])) else { panic!("complete") };
    assert_eq!(found.payload_bytes as usize, wrong.len() - 8);
}

#[test]
fn datagrams_and_their_lengths() {
    let found = |packet: &[u8], wire_length: u32| match Decoder::default().decode(
        Time::ZERO,
        LinkType::RawIp,
        packet,
        wire_length,
    ) {
        Ok(Parsed::Datagram(found)) => Ok((found.payload_bytes, found.link_bytes)),
        Ok(other) => panic!("{other:?}"),
        Err(reason) => Err(reason),
    };
    let of = |length: u16, bytes: usize| {
        let mut payload = udp(53, &vec![0; bytes]);
        payload[4..6].copy_from_slice(&length.to_be_bytes());
        payload
    };
    assert_eq!(found(&ipv4(17, &of(108, 100)), 0), Ok((100, 142)));
    assert_eq!(found(&ipv6(17, &of(108, 100)), 0), Ok((100, 162)));
    assert_eq!(found(&ipv4(17, &of(58, 100)), 0), Ok((50, 142)), "bytes behind the datagram");
    assert_eq!(found(&ipv4(17, &of(999, 100)), 0), Ok((100, 142)), "longer than its packet");
    assert_eq!(found(&ipv4(17, &of(0, 100)), 0), Ok((100, 142)), "offload, or a jumbogram");
    assert_eq!(found(&ipv4(17, &of(7, 100)), 0), Err(SetAside::Malformed));
    assert_eq!(found(&ipv4(17, &[0; 7]), 0), Err(SetAside::Malformed));
    assert_eq!(found(&ipv4(17, &of(108, 100))[..28], 128), Ok((100, 142)), "cut behind its header");
    assert_eq!(found(&ipv4(17, &of(108, 100))[..27], 128), Err(SetAside::HeaderCut));
    let mut offload = ipv4(17, &of(0, 100));
    offload[2..4].copy_from_slice(&[0, 0]);
    assert_eq!(found(&offload, 60_028), Ok((60_000, 60_042)));
}

#[test]
fn quic_by_its_long_header() {
    let quic = |payload: &[u8]| match ethernet_frame(&datagram(443, payload)) {
        Ok(Parsed::Datagram(found)) => found.quic,
        other => panic!("{other:?}"),
    };
    let header = |first: u8, version: u32, identifiers: &[u8]| {
        [&[first][..], &version.to_be_bytes(), identifiers, &[0; 30]].concat()
    };
    let identifiers = [&[8][..], &[1; 8], &[0]].concat();
    assert!(quic(&header(0xc3, 1, &identifiers)), "version 1");
    assert!(quic(&header(0xd3, 0x6b33_43cf, &identifiers)), "version 2");
    assert!(quic(&header(0xc3, 0xff00_001d, &identifiers)), "draft 29");
    assert!(!quic(&header(0xc3, 0xff00_0000, &identifiers)), "draft 0, or a DNS query");
    let first_of = |version: u32, more: usize| [header(0xc3, version, &identifiers), vec![0; more]].concat();
    assert!(quic(&first_of(0x1a2a_3a4a, 1200)), "a reserved version");
    assert!(!quic(&first_of(0x1a2a_3a4a, 1000)), "a reserved version, too short for a client's first");
    assert!(!quic(&first_of(0x1a2a_3a4b, 1200)), "no version");
    assert!(!quic(&header(0xc0, 0, &identifiers)), "version negotiation");
    assert!(quic(&header(0xc3, 1, &identifiers)[..6]), "as far as it was captured");
    assert!(!quic(&header(0x43, 1, &identifiers)), "a short header");
    assert!(!quic(&header(0x83, 1, &identifiers)), "the fixed bit");
    assert!(!quic(&header(0xc3, 2, &identifiers)), "no version");
    assert!(!quic(&header(0xc3, 1, &[21])), "an identifier too long");
    assert!(!quic(&header(0xc3, 1, &[0, 21])), "an identifier too long");
    assert!(!quic(&[0xc3, 0, 0, 0, 1]), "too short");
}

/// The headers of other protocols over UDP, whatever their identifiers and counters are.
#[test]
fn what_is_not_quic() {
    let quic = |payload: &[u8]| match ethernet_frame(&datagram(443, payload)) {
        Ok(Parsed::Datagram(found)) => found.quic,
        other => panic!("{other:?}"),
    };
    for number in 0..=u16::MAX {
        let [high, low] = number.to_be_bytes();
        // Queries with and without recursion, and an answer: identifier, flags, one question and up to 255 answers.
        for flags in [[0, 0], [1, 0], [0x81, 0x80]] {
            let dns = [&[high, low], &flags[..], &[0, 1, 0, low, 0, 0, 0, 0, 1, b'a', 0, 0, 1, 0, 1]].concat();
            assert!(!quic(&dns), "DNS {dns:x?}");
        }
        // Version 2, any marker and payload type, any number, time stamps of a small beginning.
        let rtp = [&[0x80 | high >> 7, high & 0x7f, 0, low, 0, 0, 0, low, 0, 0, 0, 1][..], &[0; 160]].concat();
        assert!(!quic(&rtp), "RTP {rtp:x?}");
        let stun = [&[high & 0x3f, low, 0, 8, 0x21, 0x12, 0xa4, 0x42][..], &[0xc3; 20]].concat();
        assert!(!quic(&stun), "STUN {stun:x?}");
    }
}

proptest! {
    /// The short way for common packets and the general one agree on everything.
    #[test]
    fn both_ways_agree(
        six in any::<bool>(),
        ether in any::<bool>(),
        flips in proptest::collection::vec((0..60usize, any::<u8>()), 0..4),
        length in 0..90usize,
        wire_length in 0..3_000u32,
    ) {
        let packet = inner()[usize::from(six)].clone();
        let (link, mut bytes) = match ether {
            true => (LinkType::Ethernet, frame(if six { V6 } else { V4 }, &packet)),
            false => (LinkType::RawIp, packet),
        };
        for (at, value) in flips {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        bytes.truncate(length);
        let short = Decoder::default().decode(Time::ZERO, link, &bytes, wire_length);
        let general = Decoder::default().walk(Time::ZERO, link, &bytes, wire_length);
        prop_assert_eq!(short, general);
    }

    /// A flipped byte anywhere never panics, and never makes more payload than length fields can say.
    #[test]
    fn flipped_bytes_in_tunnels(
        at in any::<prop::sample::Index>(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let vectors = vectors();
        let Vector { link, bytes, .. } = &vectors[at.index(vectors.len())];
        let mut bytes = bytes.clone();
        for (at, bits) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        match decode(*link, &bytes) {
            Ok(Parsed::Segment(segment)) => prop_assert!(segment.payload_bytes <= 65_535),
            Ok(Parsed::Datagram(datagram)) => prop_assert!(datagram.payload_bytes <= 65_535),
            Err(_) => {}
        }
    }
}
