//! Captures in every container, of every packet; some of them conversations that become connections.

use std::io::Write;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use flowloom::core::record::PacketRecord;
use flowloom::core::wire::Flags;
use flowloom::core::workload::{LinkSide, Side};
use flowloom::store::capture::PcapWriter;
use flowloom::time::Time;
use lzma_rust2::{XzOptions, XzWriter};

use super::packets;

/// Two byte orders.
const ORDERS: [bool; 2] = [true, false];

/// A number of `N` bytes, the least significant first if `little`.
fn number<const N: usize>(little: bool, value: u64) -> [u8; N] {
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = (value >> (8 * if little { index } else { N - 1 - index })) as u8;
    }
    bytes
}

/// A pcap file.
fn pcap(little: bool, magic: u32, link: u32, records: &[Vec<u8>]) -> Vec<u8> {
    let u32 = |value: u32| number::<4>(little, u64::from(value));
    let version = [number::<2>(little, 2), number::<2>(little, 4)].concat();
    let mut file = [&u32(magic)[..], &version, &[0; 8], &u32(65_535), &u32(link)].concat();
    for (seconds, packet) in (1_000..).zip(records) {
        let length = packet.len() as u32;
        file.extend([u32(seconds), u32(5), u32(length), u32(length + 100)].concat());
        file.extend(packet);
    }
    file
}

/// A pcapng file with every kind of block that is read, one that is not, and two sections.
fn pcapng(little: bool) -> Vec<u8> {
    let u16 = |value: u16| number::<2>(little, u64::from(value));
    let u32 = |value: u32| number::<4>(little, u64::from(value));
    let padded = |bytes: &[u8]| [bytes, &vec![0; bytes.len().next_multiple_of(4) - bytes.len()]].concat();
    let option = |code: u16, value: &[u8]| [&u16(code)[..], &u16(value.len() as u16), &padded(value)].concat();
    let block = |kind: u32, body: &[u8]| {
        let body = padded(body);
        let length = u32(12 + body.len() as u32);
        [&u32(kind)[..], &length, &body, &length].concat()
    };
    let interface = |link: u16, snap_length: u32, options: &[u8]| {
        block(1, &[&u16(link)[..], &u16(0), &u32(snap_length), options, &[0; 4]].concat())
    };
    let enhanced = |interface: u32, time: u32, packet: &[u8], options: &[u8]| {
        let length = packet.len() as u32;
        let head = [interface, 1, time, length, length + 100].map(u32).concat();
        block(6, &[head, padded(packet), options.to_vec()].concat())
    };
    let [frame, raw] = [packets::ethernet(0x0800, &[], &packets::plain()), packets::plain()];
    let section = block(0x0a0d_0d0a, &[&u32(0x1a2b_3c4d)[..], &u16(1), &u16(0), &[0xff; 8]].concat());
    let flags = [option(2, &u32(1)), vec![0; 4]].concat();
    let old = [&u16(1)[..], &u16(9), &[1, 2, raw.len() as u32, 200].map(u32).concat(), &padded(&raw)].concat();
    [
        section.clone(),
        interface(1, 64, &[option(9, &[9]), option(14, &[0; 8])].concat()),
        interface(101, 0, &option(9, &[0x8a])),
        enhanced(0, 2, &frame, &flags),
        block(3, &[&u32(frame.len() as u32)[..], &frame].concat()),
        block(2, &old),
        block(4, &[0; 8]),
        section,
        interface(1, 0, &[]),
        enhanced(0, 0, &frame, &[]),
    ]
    .concat()
}

/// An ERF file: records of Ethernet and of raw IP, one with an extension header.
fn erf() -> Vec<u8> {
    let record = |kind: u8, seconds: u64, extensions: &[u8], pad: &[u8], packet: &[u8]| {
        let length = (16 + extensions.len() + pad.len() + packet.len()) as u16;
        // ERF is told by plausible times alone.
        let time = ((1_700_000_000 + seconds) << 32 | 1 << 31).to_le_bytes();
        let head = [kind, 4, (length >> 8) as u8, length as u8, 0, 0, 0, packet.len() as u8];
        [&time[..], &head, extensions, pad, packet].concat()
    };
    let [frame, raw] = [packets::ethernet(0x0800, &[], &packets::plain()), packets::plain()];
    [
        record(2, 0, &[], &[0, 0], &frame),
        record(0x82, 1, &[3, 0, 0, 0, 0, 0, 0, 1], &[0, 0], &frame),
        record(22, 2, &[], &[], &raw),
        record(27, 3, &[], &[], &[0; 8]),
        record(2, 4, &[], &[0, 0], &frame),
    ]
    .concat()
}

/// A snoop file (RFC 1761).
fn snoop() -> Vec<u8> {
    let mut file = [&b"snoop\0\0\0"[..], &[0, 0, 0, 2, 0, 0, 0, 4]].concat();
    for (seconds, frame) in (1_000u32..).zip(ethernet_packets().iter().take(6)) {
        let (length, padding) = (frame.len() as u32, frame.len().next_multiple_of(4) - frame.len());
        let fields = [length + 100, length, 24 + length + padding as u32, 0, seconds, 5];
        file.extend(fields.map(u32::to_be_bytes).concat());
        file.extend(frame);
        file.extend(vec![0; padding]);
    }
    file
}

/// Every packet that Ethernet carries, fragments too.
fn ethernet_packets() -> Vec<Vec<u8>> {
    let whole = packets::of_links().into_iter().filter(|(link, _)| *link == 1).map(|(_, packet)| packet);
    whole.chain([4, 6].into_iter().flat_map(packets::fragments)).collect()
}

/// Datagrams of DNS and of QUIC, there and back, a second apart.
fn datagram_flows() -> Vec<u8> {
    let quic = [&[0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0][..], &[0; 600]].concat();
    let frame = |port: u16, payload: &[u8]| {
        packets::ethernet(0x0800, &[], &packets::ipv4(17, &packets::udp(port, payload), 0, 0, &[]))
    };
    let back = |mut frame: Vec<u8>| {
        // Addresses and ports of IPv4 behind Ethernet.
        frame[26..34].rotate_left(4);
        frame[34..38].rotate_left(2);
        frame
    };
    let (dns, quic) = (frame(53, &[7; 40]), frame(443, &quic));
    let answers = [back(dns.clone()), back(quic.clone())];
    let [dns_answer, quic_answer] = answers;
    let there_and_back = [dns, quic.clone(), dns_answer, quic_answer.clone(), quic, quic_answer.clone(), quic_answer];
    pcap(true, 0xa1b2_c3d4, 1, &there_and_back)
}

/// A pcapng file with an interface and a packet of every link type.
fn all_links() -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let body = [body, &vec![0; body.len().next_multiple_of(4) - body.len()]].concat();
        let length = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    };
    let mut file = block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat());
    let packets: Vec<_> = packets::of_links().into_iter().filter(|(link, _)| *link != 1).collect();
    for (link, _) in &packets {
        file.extend(block(1, &[link.to_le_bytes(), [0; 4]].concat()));
    }
    for (interface, (_, packet)) in (0..).zip(&packets) {
        let length = packet.len() as u32;
        let head = [interface, 0, 1_000 * interface, length, length + 100].map(u32::to_le_bytes).concat();
        file.extend(block(6, &[&head[..], packet].concat()));
    }
    file
}

/// What a connection of a conversation does: its sender, flags beside ACK, the first byte's offset, payload.
const SCRIPT: [(Side, u8, u32, u32); 16] = {
    use Side::{Acceptor as A, Initiator as I};
    [
        (I, Flags::SYN, 0, 0),
        (A, Flags::SYN, 0, 0),
        (I, 0, 1, 0),
        (I, 0, 1, 500),
        (A, 0, 1, 1_460),
        (A, 0, 2_921, 1_460),
        (I, 0, 501, 0),
        (I, 0, 501, 0),
        (A, 0, 1_461, 1_460),
        (A, 0, 2_921, 1_460),
        (I, 0, 501, 0),
        (I, 0, 501, 200),
        (A, 0, 4_381, 300),
        (I, Flags::FIN, 701, 0),
        (A, Flags::FIN, 4_681, 0),
        (I, 0, 702, 0),
    ]
};

/// Connections that overlap: one after the other they open, and each goes through the script, with a hole that is
/// repaired and a repeated segment.
fn conversations(count: u64, microseconds: u64) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new()).expect("a vector takes bytes");
    let mut highest = vec![[0u32; 2]; count as usize];
    for step in 0..SCRIPT.len() as u64 + count {
        for connection in 0..count.min(step + 1) {
            let Some(&(sender, flags, offset, payload_bytes)) = SCRIPT.get((step - connection) as usize) else {
                continue;
            };
            let (syn, first) = (flags & Flags::SYN != 0, step == connection);
            let base = |side: Side| 0xffff_fc00u32.wrapping_add(connection as u32 * 77).wrapping_mul(1 + side as u32);
            let highest = &mut highest[connection as usize];
            let next = offset + payload_bytes + u32::from(flags != 0);
            highest[sender as usize] = highest[sender as usize].max(next);
            let acknowledged = base(sender.other()).wrapping_add(highest[sender.other() as usize]);
            let written = writer.write(&PacketRecord {
                time: Time::from_nanos((step * count + connection) * microseconds * 1_000),
                connection,
                sender,
                from: if sender == Side::Initiator { LinkSide::Left } else { LinkSide::Right },
                sequence: base(sender).wrapping_add(offset),
                acknowledgement: if first { 0 } else { acknowledged },
                flags: if first { flags } else { flags | Flags::ACK },
                window: 65_535,
                payload_bytes,
                mss: syn.then_some(1_460),
                window_scale: syn.then_some(7),
                sack_permitted: false,
                timestamps: None,
                sack: [(0, 0); 3],
                ecn: flowloom::core::wire::Ecn::NotEct,
                ip_version: flowloom::core::workload::IpVersion::V4,
            });
            written.expect("a vector takes bytes");
        }
    }
    writer.finish().expect("a vector takes bytes")
}

/// Captures without a fault: conversations at two speeds, every packet in every container, every link type.
pub fn valid() -> &'static [Vec<u8>] {
    static CAPTURES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CAPTURES.get_or_init(|| {
        let mut captures = vec![conversations(3, 300), conversations(1, 700_000), erf(), snoop()];
        captures.extend(ORDERS.map(|little| pcap(little, 0xa1b2_c3d4, 1, &ethernet_packets())));
        captures.extend(
            ORDERS.map(|little| {
                pcap(little, 0xa1b2_3c4d, 101, &[packets::plain(), packets::ipv6(6, &packets::syn(), 0)])
            }),
        );
        captures.extend(ORDERS.map(pcapng));
        captures.extend([all_links(), datagram_flows()]);
        captures
    })
}

/// Inputs of the container target: every capture as it is, read in different manners.
pub fn plain() -> Vec<Vec<u8>> {
    (0..).zip(valid()).map(|(choice, file)| [&[choice], &file[..]].concat()).collect()
}

/// Inputs of the compression target: every capture in gzip, zstd and xz.
pub fn compressed() -> Vec<Vec<u8>> {
    let gzip = |file: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(file).expect("a vector takes bytes");
        encoder.finish().expect("a vector takes bytes")
    };
    let zstd = |file: &[u8]| zstd::encode_all(file, 3).expect("a vector takes bytes");
    let xz = |file: &[u8]| {
        let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).expect("the preset's own options");
        encoder.write_all(file).expect("a vector takes bytes");
        encoder.finish().expect("a vector takes bytes")
    };
    let stored = valid().iter().flat_map(|file| [gzip(file), zstd(file), xz(file)]);
    (0..).zip(stored).map(|(choice, file)| [&[choice], &file[..]].concat()).collect()
}

/// Inputs of the extraction target: nothing flipped, and the first bytes of a record of each capture.
pub fn flips() -> Vec<Vec<u8>> {
    let captures = 0..valid().len() as u8;
    captures.flat_map(|which| [vec![which, 0], vec![which, 1, 0, 0, 40, 1, 0, 0, 100, 0x80]]).collect()
}
