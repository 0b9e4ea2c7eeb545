//! One packet of every kind there is on a wire, and fragments of some.

use crate::wire::LINKS;

/// A TCP header.
pub fn tcp(flags: u8, options: &[u8]) -> Vec<u8> {
    let offset = (5 + options.len() / 4) as u8;
    let ports = [0x9c, 0x40, 0, 80];
    let numbers = [0, 0, 0, 7, 0, 0, 0, 9];
    [&ports[..], &numbers, &[offset << 4, flags, 2, 0, 0, 0, 0, 0], options].concat()
}

/// A SYN with every option that is read, and some that are not.
pub fn syn() -> Vec<u8> {
    tcp(0x02, &[2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1])
}

/// A datagram to `port`.
pub fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    [&40_000u16.to_be_bytes()[..], &port.to_be_bytes(), &length.to_be_bytes(), &[0, 0], payload].concat()
}

/// An IPv4 packet of `protocol` that states `more` bytes beyond its payload.
pub fn ipv4(protocol: u8, payload: &[u8], more: usize, fragment: u16, options: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let length = ((header + payload.len() + more) as u16).to_be_bytes();
    let part = fragment.to_be_bytes();
    let fixed =
        [0x40 | (header / 4) as u8, 0, length[0], length[1], 0, 1, part[0], part[1], 64, protocol, 0, 0, 10, 0, 0, 1];
    [&fixed[..], &[192, 0, 2, 9], options, payload].concat()
}

/// An IPv6 packet.
pub fn ipv6(following: u8, payload: &[u8], more: usize) -> Vec<u8> {
    let length = ((payload.len() + more) as u16).to_be_bytes();
    let addresses: Vec<u8> = (0..32).collect();
    [&[0x60, 0, 0, 0, length[0], length[1], following, 64], &addresses[..], payload].concat()
}

/// An Ethernet frame behind the tags given.
pub fn ethernet(kind: u16, tags: &[u16], payload: &[u8]) -> Vec<u8> {
    let tags: Vec<u8> = tags.iter().flat_map(|tag| [&tag.to_be_bytes()[..], &[0, 42]].concat()).collect();
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1], &tags[..], &kind.to_be_bytes(), payload].concat()
}

/// A plain packet of IPv4 and TCP.
pub fn plain() -> Vec<u8> {
    ipv4(6, &tcp(0x10, &[]), 100, 0, &[])
}

/// What Ethernet may carry.
fn frames() -> Vec<Vec<u8>> {
    let inner = plain();
    let frame = ethernet(0x0800, &[], &inner);
    let extensions: [&[u8]; 4] = [
        &[60, 0, 1, 4, 0, 0, 0, 0],
        &[43, 0, 1, 4, 0, 0, 0, 0],
        &[51, 0, 0, 0, 0, 0, 0, 0],
        &[44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 9],
    ];
    let quic: &[u8] = &[0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0];
    let gre = |flags: u8, kind: u16, more: &[u8], payload: &[u8]| {
        ipv4(47, &[&[flags, 0], &kind.to_be_bytes()[..], more, payload].concat(), 0, 0, &[])
    };
    let outer = |port: u16, header: &[u8], payload: &[u8]| ipv4(17, &udp(port, &[header, payload].concat()), 0, 0, &[]);
    let erspan = [0x10, 0x64, 0, 0, 0, 0, 0, 0];
    vec![
        frame.clone(),
        ethernet(0x0800, &[0x88a8, 0x8100], &ipv4(6, &syn(), 0, 0, &[0; 8])),
        ethernet(0x0800, &[], &ipv4(6, &tcp(0x11, &[]), 65_496, 0, &[])),
        ethernet(0x0800, &[], &ipv4(51, &[&[6, 1][..], &[0; 10], &tcp(0x10, &[])].concat(), 0, 0, &[])),
        ethernet(0x86dd, &[], &ipv6(6, &tcp(0x10, &[]), 0)),
        ethernet(0x86dd, &[], &ipv6(0, &[&extensions.concat()[..], &syn()].concat(), 0)),
        ethernet(0x86dd, &[], &ipv6(17, &udp(443, quic), 0)),
        ethernet(0x0800, &[], &ipv4(17, &udp(53, &[0; 30]), 0, 0, &[])),
        ethernet(0x0800, &[], &ipv4(1, &[&[3, 3, 0, 0, 0, 0, 0, 0], &inner[..]].concat(), 0, 0, &[])),
        // IEEE 802.3 with LLC and SNAP, ARP, Cisco metadata.
        ethernet(100, &[], &[b"\xaa\xaa\x03\0\0\0\x08\0", &inner[..]].concat()),
        ethernet(0x0806, &[], &[0; 28]),
        ethernet(0x8909, &[], &[&[1, 1, 0, 1, 0, 42, 8, 0], &inner[..]].concat()),
        // MPLS with two labels, with a control word before Ethernet, PPPoE over a tag.
        ethernet(0x8847, &[], &[&[0, 1, 0, 64, 0, 2, 1, 64], &inner[..]].concat()),
        ethernet(0x8848, &[], &[&[0, 1, 1, 64, 0, 0, 0, 0], &frame[..]].concat()),
        ethernet(0x8864, &[0x8100], &[&[0x11, 0, 0, 1, 0, 62, 0, 0x21], &inner[..]].concat()),
        ethernet(0x88e7, &[], &[&[0, 0, 0, 1], &frame[..]].concat()),
        // GRE: plain, with checksum, key and number, in GRE, ERSPAN II, NVGRE, version 1 with PPP.
        ethernet(0x0800, &[], &gre(0, 0x0800, &[], &inner)),
        ethernet(0x0800, &[], &gre(0xb0, 0x86dd, &[0; 12], &ipv6(6, &syn(), 0))),
        ethernet(0x0800, &[], &gre(0, 0x0800, &[], &gre(0, 0x0800, &[], &inner))),
        ethernet(0x0800, &[], &gre(0x10, 0x88be, &[&[0, 0, 0, 1], &erspan[..]].concat(), &frame)),
        ethernet(0x0800, &[], &gre(0x20, 0x6558, &[0, 0, 0, 1], &frame)),
        ethernet(0x0800, &[], &gre(0x30, 0x880b, &[0, 62, 0, 1, 0, 0, 0, 1, 0xff, 3, 0, 0x21], &inner)),
        // IP in IP, 6in4, VXLAN, Geneve with an option, GTP-U with an extension.
        ethernet(0x0800, &[], &ipv4(4, &inner, 0, 0, &[])),
        ethernet(0x0800, &[], &ipv4(41, &ipv6(6, &tcp(0x10, &[]), 0), 0, 0, &[])),
        ethernet(0x86dd, &[], &ipv6(4, &inner, 0)),
        ethernet(0x0800, &[], &outer(4789, &[8, 0, 0, 0, 0, 0, 1, 0], &frame)),
        ethernet(0x0800, &[], &outer(6081, &[1, 0, 0x65, 0x58, 0, 0, 1, 0, 0, 0, 0, 0], &frame)),
        ethernet(0x0800, &[], &outer(2152, &[0x30, 255, 0, 60, 0, 0, 0, 1], &inner)),
        ethernet(0x0800, &[], &outer(2152, &[0x34, 255, 0, 68, 0, 0, 0, 1, 0, 1, 0, 0x85, 1, 0, 0, 0], &inner)),
    ]
}

/// The bytes that come before each link type's IP packet.
fn links() -> Vec<(u32, Vec<u8>)> {
    let (four, six) = (plain(), ipv6(6, &tcp(0x10, &[]), 0));
    let behind = |head: &[u8], packet: &[u8]| [head, packet].concat();
    vec![
        (113, behind(&[0, 4, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], &four)),
        (276, behind(&[0x86, 0xdd, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0], &six)),
        (101, four.clone()),
        (228, four.clone()),
        (229, six.clone()),
        (0, behind(&2u32.to_le_bytes(), &four)),
        (108, behind(&24u32.to_be_bytes(), &six)),
        (9, behind(&[0xff, 3, 0, 0x21], &four)),
        (9, behind(&[0x21], &four)),
        (50, behind(&[0xff, 3, 0, 0x57], &six)),
        (51, behind(&[0x11, 0, 0, 1, 0, 62, 0, 0x21], &four)),
        (104, behind(&[0x0f, 0, 8, 0], &four)),
    ]
}

/// Every packet, with its link type.
pub fn of_links() -> Vec<(u32, Vec<u8>)> {
    frames().into_iter().map(|frame| (1, frame)).chain(links()).collect()
}

/// A packet in fragments: 1,480 bytes of a segment, cut in three, the last one first.
pub fn fragments(version: u8) -> Vec<Vec<u8>> {
    let segment = [&tcp(0x18, &[])[..], &[0x5a; 1_460]].concat();
    let cut = |first: usize, end: usize, more: bool| {
        let (part, more) = (&segment[first..end], u16::from(more));
        if version == 4 {
            return ethernet(0x0800, &[], &ipv4(6, part, 0, (first / 8) as u16 | more << 13, &[]));
        }
        let place = (first as u16 | more).to_be_bytes();
        let header = [6, 0, place[0], place[1], 0, 0, 0, 9];
        ethernet(0x86dd, &[], &ipv6(44, &[&header[..], part].concat(), 0))
    };
    vec![cut(960, 1_480, false), cut(0, 480, true), cut(480, 960, true)]
}

/// Inputs of the packet target.
pub fn all() -> Vec<Vec<u8>> {
    let record = |link: u32, more: u32, packet: &[u8]| {
        let number = LINKS.iter().position(|known| *known == link).expect("a link type of the target") as u8;
        let wire = (packet.len() as u32 + more).to_be_bytes();
        let captured = (packet.len() as u16).to_be_bytes();
        [&[number, 1], &wire[..], &captured, packet].concat()
    };
    let single = of_links().into_iter().map(|(link, packet)| record(link, 100, &packet));
    let parts = |version| fragments(version).iter().flat_map(|part| record(1, 0, part)).collect();
    single.chain([parts(4), parts(6)]).collect()
}
