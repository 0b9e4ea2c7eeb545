//! Packets in every encapsulation, byte by byte: each holds the same TCP segment, of which five bytes are payload.

/// A packet to be read.
pub struct Vector {
    pub name: &'static str,
    /// LINKTYPE number.
    pub link: u32,
    pub bytes: Vec<u8>,
}

/// Bytes of TCP payload in each.
pub const PAYLOAD: u32 = 5;

const ETHERNET: u32 = 1;

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// The sum of 16-bit words, as IP and TCP have it.
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let bytes = join(parts);
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

/// IPv4 from 10.0.0.1 to 10.0.0.2.
pub fn ipv4(protocol: u8, rest: &[u8]) -> Vec<u8> {
    let length = (20 + rest.len()) as u16;
    let mut header = [0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    header[2..4].copy_from_slice(&length.to_be_bytes());
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum);
    join(&[&header, rest])
}

/// IPv6 from 2001:db8::1 to 2001:db8::2.
pub fn ipv6(next: u8, rest: &[u8]) -> Vec<u8> {
    let address = |last| [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let [high, low] = (rest.len() as u16).to_be_bytes();
    join(&[&[0x60, 0, 0, 0, high, low, next, 64], &address(1), &address(2), rest])
}

pub fn tcp() -> Vec<u8> {
    let header = [0x9c, 0x40, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x18, 0x12, 0x34, 0, 0, 0, 0];
    join(&[&header, b"hello"])
}

pub fn udp(port: u16, rest: &[u8]) -> Vec<u8> {
    let [port_high, port_low] = port.to_be_bytes();
    let [high, low] = (8 + rest.len() as u16).to_be_bytes();
    join(&[&[0xc0, 0, port_high, port_low, high, low, 0, 0], rest])
}

pub fn frame(ether_type: u16, rest: &[u8]) -> Vec<u8> {
    join(&[&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1], &ether_type.to_be_bytes(), rest])
}

/// The segment in IPv4, and in IPv6.
pub fn inner() -> [Vec<u8>; 2] {
    [ipv4(6, &tcp()), ipv6(6, &tcp())]
}

/// An MPLS label, the last of its stack or not.
fn label(value: u32, last: bool) -> [u8; 4] {
    (value << 12 | u32::from(last) << 8 | 64).to_be_bytes()
}

/// Each encapsulation once or more.
pub fn vectors() -> Vec<Vector> {
    let [four, six] = inner();
    let framed = frame(0x0800, &four);
    let udp4 = |port: u16, head: &[u8], rest: &[u8]| frame(0x0800, &ipv4(17, &udp(port, &join(&[head, rest]))));
    let gre = |head: &[u8], rest: &[u8]| frame(0x0800, &ipv4(47, &join(&[head, rest])));
    let mpls = |rest: &[u8]| frame(0x8847, &join(&[&label(17, false), &label(18, true), rest]));
    let session = |rest: &[u8]| join(&[&[0x11, 0, 0, 7], &(rest.len() as u16).to_be_bytes(), rest]);
    let ppp4 = join(&[&[0x00, 0x21], &four]);
    let vxlan = [8, 0, 0, 0, 0, 0, 42, 0];
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let mut all = Vec::new();
    let mut add = |name, link, bytes| all.push(Vector { name, link, bytes });
    add("IPv6 in LLC/SNAP", ETHERNET, frame(73, &join(&[&[0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd], &six])));
    add("802.1ad and 802.1Q", ETHERNET, frame(0x88a8, &join(&[&[0, 7, 0x81, 0, 0, 9, 8, 0], &four])));
    add("backbone bridging", ETHERNET, frame(0x88a8, &join(&[&[0, 7, 0x88, 0xe7, 0, 0, 0, 99], &framed])));
    add("Cisco metadata", ETHERNET, frame(0x8909, &join(&[&[1, 1, 0, 1, 0, 17, 8, 0], &four])));
    add("MPLS, IPv4", ETHERNET, mpls(&four));
    add("MPLS, IPv6", ETHERNET, mpls(&six));
    add("MPLS pseudowire", ETHERNET, mpls(&framed));
    add("MPLS pseudowire with control word", ETHERNET, mpls(&join(&[&[0; 4], &framed])));
    add("PPPoE, IPv4", ETHERNET, frame(0x8864, &session(&ppp4)));
    add("PPPoE, IPv6", ETHERNET, frame(0x8864, &session(&join(&[&[0x00, 0x57], &six]))));
    add("PPPoE in QinQ", ETHERNET, frame(0x88a8, &join(&[&[0, 7, 0x81, 0, 0, 9, 0x88, 0x64], &session(&ppp4)])));
    add("PPPoE link", 51, session(&ppp4));
    add("PPP", 9, join(&[&[0xff, 0x03], &ppp4]));
    add("PPP, address and control compressed", 9, ppp4.clone());
    add("PPP, protocol compressed", 9, join(&[&[0xff, 0x03, 0x21], &four]));
    add("PPP in HDLC framing", 50, join(&[&[0xff, 0x03], &ppp4]));
    add("PPP in HDLC framing, Cisco", 50, join(&[&[0x0f, 0, 8, 0], &four]));
    add("Cisco HDLC", 104, join(&[&[0x0f, 0, 0x86, 0xdd], &six]));
    add("FDDI", 10, join(&[&[0x50], &framed[..12], &snap, &four]));
    add("Token Ring", 6, join(&[&[0x10, 0x40], &framed[..12], &snap, &four]));
    let mut routed = framed[..12].to_vec();
    routed[6] |= 0x80;
    add("Token Ring with a route", 6, join(&[&[0x10, 0x40], &routed, &[6, 0x30, 0, 0x11, 0, 0x20], &snap, &four]));
    add("IP in IP", ETHERNET, frame(0x0800, &ipv4(4, &four)));
    add("6in4", ETHERNET, frame(0x0800, &ipv4(41, &six)));
    add("4in6", ETHERNET, frame(0x86dd, &ipv6(4, &four)));
    add("EtherIP", ETHERNET, frame(0x0800, &ipv4(97, &join(&[&[0x30, 0], &framed]))));
    add("MPLS in IP", ETHERNET, frame(0x0800, &ipv4(137, &join(&[&label(17, true), &four]))));
    add("GRE", ETHERNET, gre(&[0, 0, 8, 0], &four));
    add("GRE, IPv6", ETHERNET, gre(&[0, 0, 0x86, 0xdd], &six));
    let everything = [0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2];
    add("GRE with checksum, key, sequence number", ETHERNET, gre(&everything, &four));
    add("GRE, Ethernet", ETHERNET, gre(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 1], &framed));
    add("GRE, MPLS", ETHERNET, gre(&join(&[&[0, 0, 0x88, 0x47], &label(17, true)]), &four));
    add("GRE in GRE", ETHERNET, gre(&[0, 0, 8, 0], &ipv4(47, &join(&[&[0, 0, 8, 0], &four]))));
    let [high, low] = (ppp4.len() as u16).to_be_bytes();
    add("PPTP", ETHERNET, gre(&[0x30, 0x81, 0x88, 0x0b, high, low, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2], &ppp4));
    add("ERSPAN I", ETHERNET, gre(&[0, 0, 0x88, 0xbe], &framed));
    add("ERSPAN II", ETHERNET, gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 7, 0, 1, 0, 0, 0, 0], &framed));
    let third = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 7, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0];
    add("ERSPAN III", ETHERNET, gre(&third, &framed));
    let mut subheader = third.to_vec();
    subheader[19] |= 1;
    subheader.extend([0; 8]);
    add("ERSPAN III with a subheader", ETHERNET, gre(&subheader, &framed));
    add("VXLAN", ETHERNET, udp4(4789, &vxlan, &framed));
    add("VXLAN, the port of Linux", ETHERNET, udp4(8472, &vxlan, &framed));
    add("VXLAN, tagged inside", ETHERNET, udp4(4789, &vxlan, &frame(0x8100, &join(&[&[0, 9, 8, 0], &four]))));
    add("VXLAN-GPE, IPv4", ETHERNET, udp4(4790, &[0x0c, 0, 0, 1, 0, 0, 42, 0], &four));
    add("VXLAN-GPE, Ethernet", ETHERNET, udp4(4790, &[0x0c, 0, 0, 3, 0, 0, 42, 0], &framed));
    add("Geneve", ETHERNET, udp4(6081, &[0, 0, 0x65, 0x58, 0, 0, 42, 0], &framed));
    let options = [2, 0, 0x65, 0x58, 0, 0, 42, 0, 1, 2, 3, 1, 0, 0, 0, 9];
    add("Geneve with options", ETHERNET, udp4(6081, &options, &framed));
    let gtp = |flags: u8, options: &[u8], rest: &[u8]| {
        let [high, low] = ((options.len() + rest.len()) as u16).to_be_bytes();
        join(&[&[flags, 0xff, high, low, 0, 0, 0, 1], options, rest])
    };
    add("GTP-U", ETHERNET, udp4(2152, &[], &gtp(0x30, &[], &four)));
    add("GTP-U, IPv6 and sequence number", ETHERNET, udp4(2152, &[], &gtp(0x32, &[0, 1, 0, 0], &six)));
    let container = [0, 0, 0, 0x85, 1, 0x10, 9, 0];
    add("GTP-U with an extension header", ETHERNET, udp4(2152, &[], &gtp(0x34, &container, &four)));
    add("cooked, tagged", 113, join(&[&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x81, 0, 0, 9, 8, 0], &four]));
    let cooked2 = [0x81, 0, 0, 0, 0, 0, 0, 1, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0, 9, 8, 0];
    add("cooked v2, tagged", 276, join(&[&cooked2, &four]));
    add("VXLAN in GRE in MPLS", ETHERNET, {
        mpls(&ipv4(47, &join(&[&[0, 0, 8, 0], &ipv4(17, &udp(4789, &join(&[&vxlan, &framed])))])))
    });
    all
}
