//! Packets made byte by byte, and what they must be read as.

mod encapsulations;
mod fragments;
mod vectors;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::time::Time;
use crate::workload::LinkSide;

const V4: u16 = 0x0800;
const V6: u16 = 0x86dd;
const TCP: u8 = 6;

/// A TCP header from port 40,000 to 80 with `options`, whose length must be a multiple of four.
fn tcp(flags: u8, options: &[u8]) -> Vec<u8> {
    let mut header = vec![0x9c, 0x40, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9];
    header.extend([((20 + options.len()) as u8 / 4) << 4, flags, 0x12, 0x34, 0, 0, 0, 0]);
    header.extend(options);
    header
}

/// An IPv4 header before `rest`, which claims `payload` bytes behind it.
fn v4(protocol: u8, fragment: u16, options: &[u8], payload: usize, rest: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x40 | (header / 4) as u8, 0];
    packet.extend(((header + payload) as u16).to_be_bytes());
    packet.extend([0, 1]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 9]);
    packet.extend(options);
    packet.extend(rest);
    packet
}

/// An IPv6 header before `rest`, which claims `payload` bytes behind it.
fn v6(next: u8, payload: usize, rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload as u16).to_be_bytes());
    packet.extend([next, 64]);
    packet.extend("2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
    packet.extend("2001:db8::2".parse::<Ipv6Addr>().unwrap().octets());
    packet.extend(rest);
    packet
}

/// An Ethernet header with `tags` (each an EtherType of a tag) before `rest`.
fn ethernet(tags: &[u16], ether_type: u16, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0xd, 2, 0, 0, 0, 0, 0xa];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 42]);
    }
    frame.extend(ether_type.to_be_bytes());
    frame.extend(rest);
    frame
}

/// A bare acknowledgement with `payload` bytes that were not captured.
fn plain(payload: usize) -> Vec<u8> {
    v4(TCP, 0x4000, &[], 20 + payload, &tcp(Flags::ACK, &[]))
}

/// Decodes a packet of which only TCP is wanted.
fn parse(link: LinkType, bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    match Decoder::default().decode(Time::ZERO, link, bytes, wire_length)? {
        Parsed::Segment(segment) => Ok(segment),
        Parsed::Datagram(_) => Err(SetAside::Udp),
    }
}

/// Decodes, the wire length being that of the capture.
fn whole(link: LinkType, bytes: &[u8]) -> Result<Segment, SetAside> {
    parse(link, bytes, bytes.len() as u32)
}

fn payload(link: LinkType, bytes: &[u8]) -> Result<u32, SetAside> {
    whole(link, bytes).map(|segment| segment.payload_bytes)
}

#[test]
fn every_field_of_a_segment() {
    let frame = ethernet(&[], V4, &plain(1_000));
    let segment = parse(LinkType::Ethernet, &frame, 1_054).unwrap();
    let address = |ip: [u8; 4], port| Address::new(IpAddr::V4(Ipv4Addr::from(ip)), port);
    let expected = Segment {
        source: address([10, 0, 0, 1], 40_000),
        destination: address([192, 0, 2, 9], 80),
        sequence: 7,
        acknowledgement: 9,
        flags: Flags(Flags::ACK),
        window: 0x1234,
        payload_bytes: 1_000,
        link_bytes: 1_054,
        ip_id: std::num::NonZeroU16::new(1),
        mss: None,
        window_scale: None,
        timestamps: None,
        sack: false,
        sack_blocks: [(0, 0); 3],
        options_cut: false,
        vlan: None,
        from: None,
        macs: Some([[2, 0, 0, 0, 0, 0xd], [2, 0, 0, 0, 0, 0xa]]),
    };
    assert_eq!(segment, expected);
    let frame = ethernet(&[], V6, &v6(TCP, 1_020, &tcp(Flags::ACK, &[])));
    let segment = whole(LinkType::Ethernet, &frame).unwrap();
    assert_eq!(segment.source, Address::new("2001:db8::1".parse().unwrap(), 40_000));
    assert_eq!(segment.destination, Address::new("2001:db8::2".parse().unwrap(), 80));
    assert_eq!((segment.payload_bytes, segment.link_bytes), (1_000, 1_074));
}

#[test]
fn timestamps_are_read_wherever_they_stand() {
    let clocks = [0, 0, 0, 9, 0xff, 0, 0, 1];
    let expected = Some(Timestamps { value: 9, echo: 0xff00_0001 });
    let layouts: [&[&[u8]]; 5] = [
        // As nearly everyone has it (RFC 7323 appendix A), and behind, before and between others.
        &[&[1, 1, 8, 10], &clocks],
        &[&[8, 10], &clocks, &[1, 1]],
        &[&[1, 1, 8, 10], &clocks, &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]],
        &[&[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 8, 10], &clocks],
        &[&[2, 4, 5, 0xb4, 8, 10], &clocks, &[1, 1]],
    ];
    for (index, layout) in layouts.into_iter().enumerate() {
        let options = layout.concat();
        for flags in [Flags::ACK, Flags::SYN] {
            let segment = tcp(flags, &options);
            let frame = ethernet(&[], V4, &v4(TCP, 0, &[], segment.len(), &segment));
            assert_eq!(whole(LinkType::Ethernet, &frame).unwrap().timestamps, expected, "layout {index}");
        }
    }
    // Another length, and one that the packet does not hold.
    for options in [&[8, 9, 0, 0, 0, 9, 0, 0, 0, 1, 1, 1][..], &[1, 1, 1, 1, 1, 1, 8, 10]] {
        let segment = tcp(Flags::ACK, options);
        let frame = ethernet(&[], V4, &v4(TCP, 0, &[], segment.len(), &segment));
        assert_eq!(whole(LinkType::Ethernet, &frame).unwrap().timestamps, None);
    }
}

#[test]
fn three_sack_blocks_are_read_of_whole_options() {
    let block = |number: u8| [[0, 0, number, 1], [0xff, 0, number, 2]].concat();
    let read = |number: u32| ((number << 8) + 1, 0xff00_0002 + (number << 8));
    let none = (0, 0);
    let expected =
        [[read(1), none, none], [read(1), read(2), none], [read(1), read(2), read(3)], [read(1), read(2), read(3)]];
    for (blocks, expected) in (1..).zip(expected) {
        let sack = [&[1, 1, 5, 2 + 8 * blocks][..], &(1..=blocks).flat_map(block).collect::<Vec<_>>()].concat();
        for (flags, expected) in [(Flags::ACK, expected), (Flags::SYN, [none; 3])] {
            let segment = tcp(flags, &sack);
            let frame = ethernet(&[], V4, &v4(TCP, 0, &[], segment.len(), &segment));
            assert_eq!(whole(LinkType::Ethernet, &frame).unwrap().sack_blocks, expected, "{blocks} blocks");
        }
    }
}

#[test]
fn every_link_type_leads_to_the_same_segment() {
    let (v4, v6) = (plain(5), v6(TCP, 25, &tcp(Flags::ACK, &[])));
    let before = |head: &[u8], packet: &[u8]| [head, packet].concat();
    let cooked_v1 = |protocol: u16| [&[0, 3, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0][..], &protocol.to_be_bytes()].concat();
    let cooked_v2 =
        |protocol: u16| [&protocol.to_be_bytes()[..], &[0, 0, 0, 0, 0, 2, 0, 1, 3, 6, 1, 2, 3, 4, 5, 6, 0, 0]].concat();
    for (link, bytes) in [
        (LinkType::Ethernet, ethernet(&[], V4, &v4)),
        (LinkType::Ethernet, ethernet(&[], V6, &v6)),
        (LinkType::RawIp, v4.clone()),
        (LinkType::RawIp, v6.clone()),
        (LinkType::LinuxCookedV1, before(&cooked_v1(V4), &v4)),
        (LinkType::LinuxCookedV1, before(&cooked_v1(V6), &v6)),
        (LinkType::LinuxCookedV2, before(&cooked_v2(V4), &v4)),
        (LinkType::LinuxCookedV2, before(&cooked_v2(V6), &v6)),
        (LinkType::LinuxCookedV1, before(&before(&cooked_v1(0x8100), &[0, 5, 8, 0]), &v4)),
        (LinkType::Null, before(&[2, 0, 0, 0], &v4)),
        (LinkType::Null, before(&[0, 0, 0, 2], &v4)),
        (LinkType::Null, before(&[30, 0, 0, 0], &v6)),
        (LinkType::Null, before(&[0, 0, 0, 24], &v6)),
        (LinkType::Null, before(&[10, 0, 0, 0], &v6)),
        (LinkType::Loop, before(&[0, 0, 0, 2], &v4)),
        (LinkType::Loop, before(&[0, 0, 0, 28], &v6)),
    ] {
        let segment = whole(link, &bytes).unwrap_or_else(|reason| panic!("{link:?}: {reason}"));
        assert_eq!((segment.payload_bytes, segment.source.port, segment.sequence), (5, 40_000, 7), "{link:?}");
        assert_eq!(segment.macs.is_some(), link == LinkType::Ethernet);
    }
    assert_eq!(whole(LinkType::Unsupported(105), &v4), Err(SetAside::UnsupportedLink));
    assert_eq!(whole(LinkType::Null, &before(&[7, 0, 0, 0], &v4)), Err(SetAside::NotIp));
    assert_eq!(whole(LinkType::RawIp, &[0x50; 40]), Err(SetAside::NotIp));
}

#[test]
fn link_type_numbers() {
    for number in [12, 14, 101, 228, 229] {
        assert_eq!(LinkType::from_number(number), LinkType::RawIp);
    }
    assert_eq!(LinkType::from_number(113), LinkType::LinuxCookedV1);
    assert_eq!(LinkType::from_number(276), LinkType::LinuxCookedV2);
    assert_eq!(LinkType::from_number(9), LinkType::Ppp);
    assert_eq!(LinkType::from_number(127).to_string(), "link type 127");
}

#[test]
fn cooked_packets_say_which_way_they_went() {
    for (packet_type, from) in [
        (0, Some(LinkSide::Right)),
        (1, Some(LinkSide::Right)),
        (2, Some(LinkSide::Right)),
        (3, None),
        (4, Some(LinkSide::Left)),
    ] {
        let v1 = [&[0, packet_type, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0][..], &plain(0)].concat();
        assert_eq!(whole(LinkType::LinuxCookedV1, &v1).unwrap().from, from);
        let v2 = [&[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, packet_type, 6, 0, 0, 0, 0, 0, 0, 0, 0][..], &plain(0)].concat();
        assert_eq!(whole(LinkType::LinuxCookedV2, &v2).unwrap().from, from);
    }
}

#[test]
fn vlan_tags_stack_to_a_bound() {
    for tags in [&[0x8100][..], &[0x88a8, 0x8100], &[0x9100, 0x8100], &[0x8100; 29]] {
        let frame = ethernet(tags, V4, &plain(3));
        let segment = whole(LinkType::Ethernet, &frame).unwrap();
        assert_eq!((segment.payload_bytes, segment.link_bytes), (3, 57), "tags are not IP bytes");
        assert!(segment.macs.is_some());
    }
    assert_eq!(whole(LinkType::Ethernet, &ethernet(&[0x8100; 30], V4, &plain(3))), Err(SetAside::Malformed));
    assert_eq!(whole(LinkType::Ethernet, &ethernet(&[], 0x8100, &[0, 1, 8])), Err(SetAside::HeaderCut));
}

#[test]
fn what_is_not_tcp_is_told_apart() {
    let transport = |protocol| ethernet(&[], V4, &v4(protocol, 0, &[], 40, &[0; 40]));
    let snap = |kind: u16| [&[0xaa, 0xaa, 3, 0, 0, 0][..], &kind.to_be_bytes(), &plain(4)].concat();
    for (frame, reason) in [
        (ethernet(&[], 0x0806, &[0; 46]), SetAside::NotIp),
        (ethernet(&[], 38, &[0x42, 0x42, 3, 0, 0, 0, 0, 0, 0]), SetAside::NotIp), // spanning tree in LLC
        (ethernet(&[], 46, &snap(0x0806)), SetAside::NotIp),
        (transport(17), SetAside::Udp),
        (transport(1), SetAside::Icmp),
        (transport(58), SetAside::Icmp),
        (transport(132), SetAside::OtherTransport),
        (ethernet(&[], V6, &v6(17, 8, &[0; 8])), SetAside::Udp),
        (ethernet(&[], V6, &v6(58, 8, &[0; 8])), SetAside::Icmp),
        (ethernet(&[], V6, &v6(50, 8, &[0; 8])), SetAside::Tunnel),
        (ethernet(&[], V6, &v6(59, 0, &[])), SetAside::OtherTransport),
        (ethernet(&[], V6, &v6(0, 16, &[17, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 9, 0, 8, 0, 0])), SetAside::Udp),
    ] {
        assert_eq!(whole(LinkType::Ethernet, &frame), Err(reason), "{frame:02x?}");
    }
    assert_eq!(payload(LinkType::Ethernet, &ethernet(&[], 48, &snap(V4))), Ok(4), "IP in LLC/SNAP is IP");
}

#[test]
fn an_icmp_error_does_not_lend_its_quoted_tcp_header() {
    let quoted = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &plain(100)].concat();
    assert_eq!(whole(LinkType::RawIp, &v4(1, 0, &[], quoted.len(), &quoted)), Err(SetAside::Icmp));
}

#[test]
fn padding_is_not_payload() {
    let mut frame = ethernet(&[], V4, &plain(0));
    frame.resize(60, 0xaa);
    assert_eq!(payload(LinkType::Ethernet, &frame), Ok(0));
    assert_eq!(whole(LinkType::Ethernet, &frame).unwrap().link_bytes, 54);
}

#[test]
fn the_ip_length_wins_over_a_lying_wire_length() {
    let frame = ethernet(&[], V4, &plain(1_460));
    for wire_length in [0, 54, 68, 1_514, u32::MAX] {
        let segment = parse(LinkType::Ethernet, &frame, wire_length).unwrap();
        assert_eq!((segment.payload_bytes, segment.link_bytes), (1_460, 1_514), "{wire_length}");
    }
}

#[test]
fn a_length_of_zero_takes_the_wire_length() {
    let mut packet = plain(0);
    packet[2..4].copy_from_slice(&[0, 0]);
    let frame = ethernet(&[0x8100], V4, &packet);
    let segment = parse(LinkType::Ethernet, &frame, 18 + 40 + 65_000).unwrap();
    assert_eq!((segment.payload_bytes, segment.link_bytes), (65_000, 65_054));
    assert_eq!(parse(LinkType::Ethernet, &frame, 3).unwrap().payload_bytes, 0, "not below what was captured");
    assert_eq!(parse(LinkType::Ethernet, &frame, 40_000_000), Err(SetAside::Malformed), "more than offload makes");

    let packet = v6(TCP, 0, &tcp(Flags::ACK, &[]));
    assert_eq!(parse(LinkType::RawIp, &packet, 60 + 200_000).unwrap().payload_bytes, 200_000);
    // A jumbogram announces itself in a hop-by-hop option (RFC 2675).
    let jumbo = v6(0, 0, &[&[TCP, 0, 0xc2, 4, 0, 3, 0, 0][..], &tcp(Flags::ACK, &[])].concat());
    assert_eq!(parse(LinkType::RawIp, &jumbo, 68 + 200_000).unwrap().payload_bytes, 200_000);
}

#[test]
fn ip_options_are_stepped_over() {
    let packet = v4(TCP, 0, &[1; 40], 20 + 9, &tcp(Flags::ACK, &[]));
    assert_eq!(payload(LinkType::RawIp, &packet), Ok(9));
}

#[test]
fn extension_headers_are_walked_and_taken_off_the_length() {
    let chain = [
        &[60, 0, 1, 4, 0, 0, 0, 0][..], // hop-by-hop, then destination options
        &[43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // two words, then routing
        &[51, 0, 0, 0, 0, 0, 0, 0],     // then authentication
        &[44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // (1 + 2) * 4 bytes, then fragment
        &[135, 0, 0, 0, 0, 0, 0, 9],    // atomic, then mobility
        &[TCP, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let rest = [chain.clone(), tcp(Flags::ACK, &[])].concat();
    assert_eq!(payload(LinkType::RawIp, &v6(0, rest.len() + 77, &rest)), Ok(77));
    // The same cut in every header: the capture is to blame, not the packet.
    for cut in 0..rest.len() - 4 {
        assert_eq!(payload(LinkType::RawIp, &v6(0, rest.len() + 77, &rest[..cut])), Err(SetAside::HeaderCut), "{cut}");
    }
    // Longer than the packet it is in.
    assert_eq!(payload(LinkType::RawIp, &v6(0, 8, &[TCP, 9, 0, 0, 0, 0, 0, 0])), Err(SetAside::Malformed));
    // Endless.
    let many: Vec<u8> = [60, 0, 1, 4, 0, 0, 0, 0].repeat(100);
    assert_eq!(payload(LinkType::RawIp, &v6(60, many.len(), &many)), Err(SetAside::Malformed));
    // Authentication also stands in IPv4.
    let rest = [&[TCP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &tcp(Flags::ACK, &[])].concat();
    assert_eq!(payload(LinkType::RawIp, &v4(51, 0, &[], rest.len() + 6, &rest)), Ok(6));
}

#[test]
fn a_snap_length_may_cut_behind_the_window_field() {
    let frame = ethernet(&[], V4, &plain(1_460));
    for length in 0..frame.len() {
        let expected = if length < 50 { Err(SetAside::HeaderCut) } else { Ok(1_460) };
        assert_eq!(parse(LinkType::Ethernet, &frame[..length], 1_514).map(|s| s.payload_bytes), expected, "{length}");
    }
    let packet = v6(TCP, 20 + 1_440, &tcp(Flags::ACK, &[]));
    for length in 1..packet.len() {
        let expected = if length < 56 { Err(SetAside::HeaderCut) } else { Ok(1_440) };
        assert_eq!(parse(LinkType::RawIp, &packet[..length], 1_500).map(|s| s.payload_bytes), expected, "{length}");
    }
}

#[test]
fn options_are_read_as_far_as_they_were_captured() {
    let options = [2, 4, 5, 0xb4, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 4, 2, 1, 3, 3, 7, 0, 0];
    let packet = v4(TCP, 0, &[], 20 + 24, &tcp(Flags::SYN, &options));
    let found = |length: usize| {
        let segment = parse(LinkType::RawIp, &packet[..length], 64).unwrap();
        assert_eq!(segment.payload_bytes, 0);
        (segment.mss, segment.window_scale)
    };
    assert_eq!(found(packet.len()), (Some(1_460), Some(7)));
    assert_eq!(found(40 + 22), (Some(1_460), Some(7)));
    assert_eq!(found(40 + 21), (Some(1_460), None));
    assert_eq!(found(40 + 4), (Some(1_460), None));
    assert_eq!(found(40 + 3), (None, None));
    assert_eq!(found(40 - 4), (None, None));
}

#[test]
fn broken_options_end_the_search_and_keep_the_segment() {
    let found = |flags: u8, options: &[u8]| {
        let packet = v4(TCP, 0, &[], 20 + options.len(), &tcp(flags, options));
        let segment = whole(LinkType::RawIp, &packet).unwrap();
        (segment.mss, segment.window_scale)
    };
    assert_eq!(found(Flags::SYN, &[8, 0, 0, 0, 2, 4, 5, 0xb4]), (None, None), "a length of 0 would never end");
    assert_eq!(found(Flags::SYN, &[8, 1, 0, 0, 2, 4, 5, 0xb4]), (None, None));
    assert_eq!(found(Flags::SYN, &[0, 0, 0, 0, 2, 4, 5, 0xb4]), (None, None), "end of options");
    assert_eq!(found(Flags::SYN, &[2, 4, 5, 0xb4, 8, 40, 0, 0]), (Some(1_460), None));
    assert_eq!(found(Flags::SYN, &[2, 3, 5, 1, 3, 3, 200, 0]), (None, Some(14)), "RFC 7323: at most 14");
    assert_eq!(found(Flags::SYN, &[2, 4, 0, 0, 3, 3, 2, 0]), (None, Some(2)), "segments of no bytes");
    assert_eq!(found(Flags::ACK, &[2, 4, 5, 0xb4]), (None, None), "SYNs only");
}

#[test]
fn contradictions_are_malformed() {
    let with = |change: fn(&mut Vec<u8>)| {
        let mut packet = plain(0);
        change(&mut packet);
        whole(LinkType::Ethernet, &ethernet(&[], V4, &packet))
    };
    assert!(with(|_| ()).is_ok());
    assert_eq!(with(|packet| packet[0] = 0x65), Err(SetAside::Malformed), "version 6 behind EtherType IPv4");
    assert_eq!(with(|packet| packet[0] = 0x44), Err(SetAside::Malformed), "header of 16 bytes");
    assert_eq!(with(|packet| packet[3] = 19), Err(SetAside::Malformed), "packet shorter than its header");
    assert_eq!(with(|packet| packet[3] = 39), Err(SetAside::Malformed), "no room for TCP");
    assert_eq!(with(|packet| packet[32] = 0x40), Err(SetAside::Malformed), "TCP header of 16 bytes");
    assert_eq!(with(|packet| packet[32] = 0x60), Err(SetAside::Malformed), "TCP header beyond the packet");
    assert_eq!(with(|packet| drop(packet.drain(30..)),), Err(SetAside::HeaderCut));
}

#[test]
fn set_aside_names_are_distinct_and_in_order() {
    let mut counts = SetAsideCounts::default();
    for (position, reason) in SetAside::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, position);
        (0..position).for_each(|_| counts.count(reason, 100));
        assert!(reason.name().chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    }
    let all = SetAside::ALL.len() as u64;
    let found: Vec<u64> = counts.iter().map(|(_, count)| count).collect();
    assert_eq!(found, (0..all).collect::<Vec<_>>());
    assert_eq!(
        (counts.total(), counts.get(SetAside::Mpls), counts.bytes(SetAside::Mpls)),
        (all * (all - 1) / 2, 2, 200)
    );
    let names: std::collections::BTreeSet<&str> = SetAside::ALL.map(SetAside::name).into();
    assert_eq!(names.len(), SetAside::ALL.len());
}

const LINKS: [LinkType; 12] = [
    LinkType::Ethernet,
    LinkType::LinuxCookedV1,
    LinkType::LinuxCookedV2,
    LinkType::RawIp,
    LinkType::Null,
    LinkType::Loop,
    LinkType::Ppp,
    LinkType::PppHdlc,
    LinkType::PppOverEthernet,
    LinkType::CiscoHdlc,
    LinkType::Fddi,
    LinkType::TokenRing,
];

proptest! {
    #[test]
    fn no_bytes_panic(
        link in prop::sample::select(&LINKS[..]),
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        wire_length in any::<u32>(),
    ) {
        let _ = Decoder::default().decode(Time::ZERO, link, &bytes, wire_length);
    }

    /// Flipped bits never make more payload than the IP length field or the wire length can say.
    #[test]
    fn damage_stays_within_bounds(
        tags in proptest::collection::vec(prop::sample::select(&[0x8100u16, 0x88a8, 0x9100][..]), 0..3),
        six in any::<bool>(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 0..4),
        cut in any::<prop::sample::Index>(),
        wire_length in 0..100_000u32,
    ) {
        let options = [2, 4, 5, 0xb4, 1, 3, 3, 7];
        let packet = if six {
            v6(0, 1_036, &[&[TCP, 0, 1, 4, 0, 0, 0, 0][..], &tcp(Flags::SYN, &options)].concat())
        } else {
            v4(TCP, 0, &[1; 4], 1_028, &tcp(Flags::SYN, &options))
        };
        let mut frame = ethernet(&tags, if six { V6 } else { V4 }, &packet);
        let clean = parse(LinkType::Ethernet, &frame, wire_length).unwrap();
        prop_assert_eq!((clean.payload_bytes, clean.mss, clean.window_scale), (1_000, Some(1_460), Some(7)));
        for (at, bits) in flips {
            let at = at.index(frame.len());
            frame[at] ^= bits;
        }
        frame.truncate(cut.index(frame.len() + 1));
        let parsed = Decoder::default().decode(Time::ZERO, LinkType::Ethernet, &frame, wire_length);
        if let Ok(Parsed::Segment(segment)) = parsed {
            prop_assert!(segment.payload_bytes <= wire_length.max(65_535));
            prop_assert!(segment.link_bytes >= segment.payload_bytes + 34);
        }
    }
}
