//! Packets that came in fragments.

use super::*;
use crate::time::Duration;

/// An IPv4 fragment of a packet with `id`: `length` bytes from `offset`, of which `rest` was captured.
fn part4(protocol: u8, id: u16, offset: usize, more: bool, length: usize, rest: &[u8]) -> Vec<u8> {
    let field = (offset / 8) as u16 | if more { 0x2000 } else { 0 };
    let mut packet = v4(protocol, field, &[], length, rest);
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet
}

/// The same in IPv6, with `next` behind the fragment header.
fn part6(next: u8, id: u32, offset: usize, more: bool, length: usize, rest: &[u8]) -> Vec<u8> {
    let mut header = vec![next, 0];
    header.extend((offset as u16 | u16::from(more)).to_be_bytes());
    header.extend(id.to_be_bytes());
    header.extend(rest);
    v6(44, 8 + length, &header)
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

struct Reader(Decoder);

impl Reader {
    fn new() -> Reader {
        Reader(Decoder::default())
    }

    fn pass(&mut self, milliseconds: u64, packet: &[u8]) -> Result<Parsed, SetAside> {
        self.0.decode(at(milliseconds), LinkType::RawIp, packet, packet.len() as u32)
    }

    /// Payload and link bytes of the segment that a fragment completes.
    fn completes(&mut self, milliseconds: u64, packet: &[u8]) -> Option<(u32, u32)> {
        match self.pass(milliseconds, packet) {
            Ok(Parsed::Segment(segment)) => Some((segment.payload_bytes, segment.link_bytes)),
            Ok(Parsed::Datagram(datagram)) => Some((datagram.payload_bytes, datagram.link_bytes)),
            Err(SetAside::Fragment | SetAside::UdpFragment) => None,
            Err(other) => panic!("{other:?}"),
        }
    }

    fn counts(&self) -> [u64; 3] {
        let FragmentCounts { completed, incomplete, conflicting } = self.0.fragments();
        [completed, incomplete, conflicting]
    }
}

/// The three fragments of a segment with 3,000 bytes of payload.
fn three(id: u16) -> [Vec<u8>; 3] {
    [
        part4(TCP, id, 0, true, 1_480, &tcp(Flags::ACK, &[])),
        part4(TCP, id, 1_480, true, 1_480, &[]),
        part4(TCP, id, 2_960, false, 60, &[]),
    ]
}

#[test]
fn a_segment_counts_when_the_last_of_its_fragments_passes_whatever_their_order() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (mut reader, parts) = (Reader::new(), three(7));
        assert_eq!(reader.completes(0, &parts[order[0]]), None);
        assert_eq!(reader.completes(1, &parts[order[1]]), None);
        assert_eq!(reader.counts(), [0, 1, 0]);
        // 3,000 bytes of payload, and each fragment with its own IP header and share of the link.
        assert_eq!(reader.completes(2, &parts[order[2]]), Some((3_000, 3_020 + 3 * 34)), "{order:?}");
        assert_eq!(reader.counts(), [1, 0, 0]);
    }
}

#[test]
fn fragments_of_several_packets_do_not_mix() {
    let (mut reader, one, other) = (Reader::new(), three(1), three(2));
    let sixth: [Vec<u8>; 2] = [part6(TCP, 1, 0, true, 40, &tcp(Flags::ACK, &[])), part6(TCP, 1, 40, false, 10, &[])];
    for at in 0..2 {
        assert_eq!(reader.completes(0, &one[at]), None);
        assert_eq!(reader.completes(0, &other[at]), None);
    }
    assert_eq!(reader.completes(0, &sixth[1]), None);
    assert_eq!(reader.completes(0, &sixth[0]), Some((30, 50 + 2 * 62)));
    // Another protocol with the same identification.
    assert_eq!(reader.completes(0, &part4(17, 1, 2_960, false, 60, &[])), None);
    assert_eq!(reader.completes(0, &one[2]), Some((3_000, 3_122)));
    assert_eq!(reader.completes(0, &other[2]), Some((3_000, 3_122)));
    assert_eq!(reader.counts(), [3, 1, 0]);
}

#[test]
fn fragments_in_two_vlans_are_of_two_packets() {
    let mut decoder = Decoder::default();
    let mut pass = |vlan: u8, packet: &[u8]| {
        let mut frame = ethernet(&[0x8100], V4, packet);
        frame[15] = vlan;
        decoder.decode(Time::ZERO, LinkType::Ethernet, &frame, frame.len() as u32)
    };
    let [first, second, third] = three(1);
    for packet in [&first, &second] {
        assert_eq!(pass(1, packet), Err(SetAside::Fragment));
    }
    assert_eq!(pass(2, &third), Err(SetAside::Fragment));
    let Ok(Parsed::Segment(segment)) = pass(1, &third) else { panic!("complete") };
    assert_eq!((segment.vlan, segment.payload_bytes), (Vlan::new([1]), 3_000));
}

#[test]
fn copies_change_nothing_but_their_bytes_on_the_link() {
    let (mut reader, parts) = (Reader::new(), three(7));
    for part in [0, 0, 1, 1, 0] {
        assert_eq!(reader.completes(0, &parts[part]), None);
    }
    assert_eq!(reader.completes(0, &parts[2]), Some((3_000, 3_122 + 2 * 1_514 + 1_514)));
}

#[test]
fn overlaps_are_bytes_twice_in_ipv4_and_no_packet_in_ipv6() {
    let mut reader = Reader::new();
    assert_eq!(reader.completes(0, &part4(TCP, 7, 0, true, 160, &tcp(Flags::ACK, &[]))), None);
    assert_eq!(reader.completes(0, &part4(TCP, 7, 240, false, 80, &[])), None);
    assert_eq!(reader.completes(0, &part4(TCP, 7, 80, true, 168, &[])).map(|found| found.0), Some(300));
    assert_eq!(reader.counts(), [1, 0, 0]);

    let mut reader = Reader::new();
    assert_eq!(reader.completes(0, &part6(TCP, 7, 0, true, 160, &tcp(Flags::ACK, &[]))), None);
    assert_eq!(reader.completes(0, &part6(TCP, 7, 0, true, 160, &tcp(Flags::ACK, &[]))), None, "a copy");
    for _ in 0..2 {
        assert_eq!(reader.pass(0, &part6(TCP, 7, 152, true, 88, &[])), Err(SetAside::FragmentConflict));
    }
    assert_eq!(reader.pass(0, &part6(TCP, 7, 160, false, 80, &[])), Err(SetAside::FragmentConflict));
    assert_eq!(reader.counts(), [0, 0, 1]);
}

#[test]
fn several_ends_are_a_conflict() {
    for (first, second) in [
        (part4(TCP, 7, 800, false, 80, &[]), part4(TCP, 7, 800, false, 88, &[])),
        (part4(TCP, 7, 800, false, 80, &[]), part4(TCP, 7, 880, true, 80, &[])),
        (part4(TCP, 7, 880, true, 80, &[]), part4(TCP, 7, 800, false, 80, &[])),
    ] {
        let mut reader = Reader::new();
        assert_eq!(reader.completes(0, &first), None);
        assert_eq!(reader.pass(0, &second), Err(SetAside::FragmentConflict));
        assert_eq!(reader.counts(), [0, 0, 1]);
    }
}

#[test]
fn impossible_fragments_are_malformed() {
    for packet in [
        part4(TCP, 7, 8, true, 0, &[]),
        part4(TCP, 7, 8, false, 0, &[]),
        part4(TCP, 7, 8, true, 33, &[]),
        // Beyond 65,535 bytes.
        part4(TCP, 7, 65_528, false, 8, &[]),
        part6(TCP, 7, 65_528, false, 8, &[]),
    ] {
        assert_eq!(Reader::new().pass(0, &packet), Err(SetAside::Malformed), "{packet:02x?}");
    }
}

#[test]
fn fragments_of_what_is_not_put_together_are_told_apart() {
    for protocol in [1, 58] {
        for offset in [0, 8] {
            assert_eq!(Reader::new().pass(0, &part4(protocol, 7, offset, true, 8, &[0; 8])), Err(SetAside::Icmp));
            assert_eq!(Reader::new().pass(0, &part6(protocol, 7, offset, true, 8, &[0; 8])), Err(SetAside::Icmp));
        }
    }
    assert_eq!(Reader::new().pass(0, &part4(132, 7, 8, true, 8, &[0; 8])), Err(SetAside::OtherTransport));
    assert_eq!(Reader::new().pass(0, &part4(17, 7, 8, true, 8, &[0; 8])), Err(SetAside::UdpFragment));
}

#[test]
fn a_datagram_in_fragments() {
    let mut reader = Reader::new();
    let header = [0x9c, 0x40, 8, 1, 0x20, 0x08, 0, 0]; // port 2,049, 8,200 bytes
    assert_eq!(reader.completes(0, &part4(17, 7, 0, true, 1_480, &header)), None);
    for offset in (1_480..7_400).step_by(1_480) {
        assert_eq!(reader.completes(0, &part4(17, 7, offset, true, 1_480, &[])), None);
    }
    assert_eq!(reader.completes(9, &part4(17, 7, 7_400, false, 800, &[])), Some((8_192, 8_200 + 6 * 34)));
}

#[test]
fn extension_headers_behind_the_fragment_header_count_as_bytes_of_the_packet() {
    let mut reader = Reader::new();
    let first = [&[TCP, 0, 1, 4, 0, 0, 0, 0][..], &tcp(Flags::ACK, &[])].concat();
    assert_eq!(reader.completes(0, &part6(60, 7, 32, false, 68, &[])), None);
    assert_eq!(reader.completes(0, &part6(60, 7, 0, true, 32, &first)).map(|found| found.0), Some(72));
}

#[test]
fn a_first_fragment_whose_headers_were_cut_spoils_its_packet_only() {
    let mut reader = Reader::new();
    assert_eq!(reader.completes(0, &part4(TCP, 7, 0, true, 1_480, &tcp(Flags::ACK, &[])[..12])), None);
    assert_eq!(reader.pass(0, &part4(TCP, 7, 1_480, false, 20, &[])), Err(SetAside::HeaderCut));
    assert_eq!(reader.counts(), [1, 0, 0]);
    // RFC 1858: a first fragment too small for the TCP header is an attack.
    assert_eq!(reader.completes(0, &part4(TCP, 8, 0, true, 16, &tcp(Flags::ACK, &[])[..16])), None);
    assert_eq!(reader.pass(0, &part4(TCP, 8, 16, false, 20, &[])), Err(SetAside::Malformed));
}

#[test]
fn an_identification_used_again_begins_another_packet() {
    let (mut reader, [first, second, third]) = (Reader::new(), three(7));
    assert_eq!(reader.completes(0, &first), None);
    // The second was lost. A later packet has other headers, so that nothing of the first goes into it.
    let mut header = tcp(Flags::ACK, &[]);
    header[7] = 99;
    let other = part4(TCP, 7, 0, true, 1_480, &header);
    assert_eq!(reader.completes(1_000, &other), None);
    assert_eq!(reader.completes(1_000, &second), None);
    let Ok(Parsed::Segment(segment)) = reader.pass(1_000, &third) else { panic!("complete") };
    assert_eq!(segment.sequence, 99);
    assert_eq!(reader.counts(), [1, 1, 0]);
}

#[test]
fn fragments_far_apart_in_time_are_of_two_packets_whichever_way_the_clock_jumps() {
    for (early, late, same) in [(0, 30_000, true), (0, 30_001, false), (30_000, 0, true), (30_001, 0, false)] {
        let mut reader = Reader::new();
        let [first, second, third] = three(7);
        assert_eq!(reader.completes(early, &first), None);
        assert_eq!(reader.completes(early, &second), None);
        assert_eq!(reader.completes(late, &third).is_some(), same, "{early} {late}");
        assert_eq!(reader.counts(), if same { [1, 0, 0] } else { [0, 2, 0] });
    }
    // One wrong stamp on another packet ends nothing.
    let mut reader = Reader::new();
    let [first, second, third] = three(7);
    assert_eq!(reader.completes(0, &first), None);
    assert_eq!(reader.completes(1_000_000_000, &three(8)[0]), None);
    assert_eq!(reader.completes(1, &second), None);
    assert_eq!(reader.completes(2, &third), Some((3_000, 3_122)));
}

#[test]
fn memory_is_bounded_by_giving_up_what_has_waited_longest() {
    let mut reader = Reader::new();
    for id in 0..=4_096u16 {
        assert_eq!(reader.completes(u64::from(id), &three(id)[0]), None);
    }
    assert_eq!(reader.counts(), [0, 4_097, 0]);
    assert_eq!(reader.completes(5_000, &three(0)[1]), None);
    assert_eq!(reader.completes(5_000, &three(0)[2]), None, "given up");
    assert_eq!(reader.completes(5_000, &three(4_096)[1]), None);
    assert_eq!(reader.completes(5_000, &three(4_096)[2]), Some((3_000, 3_122)));
    // A packet in more fragments than 256 is given up as well, its other fragments with it.
    for part in 0..256 {
        assert_eq!(reader.completes(5_000, &part4(17, 9, 16 * part, true, 8, &[0; 8])), None);
    }
    assert_eq!(reader.pass(5_000, &part4(17, 9, 16 * 256, true, 8, &[])), Err(SetAside::FragmentConflict));
}

proptest! {
    /// Whatever the order, the copies and the cuts: a packet counts once, in full, when all its bytes have passed.
    #[test]
    fn fragments_make_the_whole(
        sizes in proptest::collection::vec(1..30usize, 1..8),
        last in 1..100usize,
        shuffle in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        six in any::<bool>(),
    ) {
        let header = tcp(Flags::ACK, &[]);
        let mut begin = 0;
        let mut parts = Vec::new();
        for (at, length) in sizes.iter().map(|eighths| eighths * 8).chain([last]).enumerate() {
            // The first holds the TCP header.
            let length = if at == 0 { length + 24 } else { length };
            let more = at < sizes.len();
            let captured = if at == 0 { &header[..] } else { &[] };
            let make = |id: u16| match six {
                true => part6(TCP, u32::from(id), begin, more, length, captured),
                false => part4(TCP, id, begin, more, length, captured),
            };
            parts.push(make(1));
            begin += length;
        }
        // Some fragments first, in any order and several times, then all of them.
        let early: Vec<usize> = shuffle.iter().map(|index| index.index(parts.len())).collect();
        let mut reader = Reader::new();
        let mut seen = vec![false; parts.len()];
        let mut found = None;
        for at in early.into_iter().chain(0..parts.len()) {
            let result = reader.completes(0, &parts[at]);
            seen[at] = true;
            prop_assert_eq!(result.is_some(), seen.iter().all(|seen| *seen));
            if result.is_some() {
                found = result;
                break;
            }
        }
        prop_assert_eq!(found.map(|found| found.0), Some(begin as u32 - 20));
        prop_assert_eq!(reader.counts(), [1, 0, 0]);
    }
}
