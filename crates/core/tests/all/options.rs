//! What packets tell of options, headers and offloads (methods A.13.4, A.13.10).

use std::net::IpAddr;

use flowloom_core::extract::{Extractor, Options};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Address, Flags, Segment, Timestamps};
use flowloom_core::workload::{ConnectionVector, IpVersion, PerSide, Side};

use Side::{Acceptor, Initiator};

const SYN: u8 = Flags::SYN;
const ACK: u8 = Flags::ACK;
const ECN: u8 = Flags::ECE | Flags::CWR;
const STAMPS: Option<Timestamps> = Some(Timestamps { value: 1, echo: 1 });

/// A segment of `sender` over IPv4 without options, whose header takes 54 bytes on the link.
fn segment(sender: Side, flags: u8, sequence: u32, acknowledgement: u32, payload_bytes: u32) -> Segment {
    let address = |side: Side| match side {
        Initiator => Address::new(IpAddr::from([10, 0, 0, 1]), 40_000),
        Acceptor => Address::new(IpAddr::from([192, 0, 2, 1]), 80),
    };
    Segment {
        source: address(sender),
        destination: address(sender.other()),
        sequence,
        acknowledgement,
        flags: Flags(flags),
        window: 60_000,
        payload_bytes,
        link_bytes: 54 + payload_bytes,
        ip_id: None,
        mss: None,
        window_scale: None,
        timestamps: None,
        sack: false,
        sack_blocks: [(0, 0); 3],
        options_cut: false,
        vlan: None,
        from: None,
        macs: None,
    }
}

/// The extractor after these segments, which pass a millisecond apart, and the vector of the only connection.
fn extract(segments: impl IntoIterator<Item = Segment>) -> (Extractor, ConnectionVector) {
    let timed = segments.into_iter().zip(1..).map(|(segment, n)| (Time::ZERO + Duration::from_millis(n), segment));
    extract_timed(timed)
}

fn extract_timed(segments: impl IntoIterator<Item = (Time, Segment)>) -> (Extractor, ConnectionVector) {
    let mut extractor = Extractor::new(Options { keep_set_aside: true, ..Options::default() });
    segments.into_iter().for_each(|(time, segment)| extractor.handle_segment(time, &segment));
    extractor.finish();
    let vector = extractor.poll_finished().expect("a connection").vector;
    (extractor, vector)
}

/// SACK, timestamps and ECN of each end.
fn offers(vector: &ConnectionVector) -> [[Option<bool>; 3]; 2] {
    Side::BOTH.map(|side| [vector.ends[side].sack, vector.ends[side].timestamps, vector.ends[side].ecn])
}

/// A request and its response, behind these two.
fn with_data(syn: Segment, syn_ack: Segment) -> [Segment; 4] {
    [syn, syn_ack, segment(Initiator, ACK, 101, 501, 10), segment(Acceptor, ACK, 501, 111, 10)]
}

fn syn(flags: u8) -> Segment {
    segment(Initiator, SYN | flags, 100, 0, 0)
}

fn syn_ack(flags: u8) -> Segment {
    segment(Acceptor, SYN | ACK | flags, 500, 101, 0)
}

#[test]
fn syns_tell_what_ends_offer() {
    let offering = Segment { sack: true, timestamps: STAMPS, ..syn(ECN) };
    let granting = Segment { sack: true, ..syn_ack(Flags::ECE) };
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(offers(&extract(with_data(offering, granting)).1), [[yes, yes, yes], [yes, no, yes]]);
    assert_eq!(offers(&extract(with_data(syn(0), syn_ack(0))).1), [[no; 3]; 2]);
    // RFC 3168 section 6.1.1: neither ECE alone in a SYN nor both in a SYN/ACK, as a host that reflects bits would send.
    assert_eq!(offers(&extract(with_data(syn(Flags::ECE), syn_ack(ECN))).1), [[no; 3]; 2]);
}

#[test]
fn a_repeated_syn_may_give_ecn_up() {
    let segments = [syn(ECN)].into_iter().chain(with_data(syn(0), syn_ack(0)));
    assert_eq!(offers(&extract(segments).1)[0][2], Some(false));
}

#[test]
fn options_that_were_cut_off_stay_unknown() {
    let cut = |segment: Segment| Segment { options_cut: true, ..segment };
    let (_, vector) = extract(with_data(cut(syn(ECN)), cut(Segment { sack: true, ..syn_ack(0) })));
    assert_eq!(offers(&vector), [[None, None, Some(true)], [Some(true), None, Some(false)]]);
    // Nor do later segments tell, if they are cut too.
    let (_, vector) = extract([cut(segment(Initiator, ACK, 101, 501, 10)), cut(segment(Acceptor, ACK, 501, 111, 10))]);
    assert_eq!(offers(&vector), [[None; 3]; 2]);
}

#[test]
fn later_segments_tell_where_no_syn_was_seen() {
    let (request, response) = (segment(Initiator, ACK, 101, 501, 10), segment(Acceptor, ACK, 501, 111, 10));
    let (_, vector) = extract([request, response]);
    assert_eq!(offers(&vector), [[None, Some(false), None]; 2]);
    let stamped = |segment: Segment| Segment { timestamps: STAMPS, ..segment };
    let blocks = Segment { sack: true, ..stamped(segment(Initiator, ACK | Flags::ECE, 111, 501, 0)) };
    let (_, vector) = extract([stamped(request), stamped(response), blocks]);
    assert_eq!(offers(&vector), [[Some(true); 3]; 2]);
}

#[test]
fn bare_acknowledgements_are_counted() {
    let close = [
        segment(Initiator, ACK, 111, 511, 0),
        segment(Initiator, ACK | Flags::FIN, 111, 511, 0),
        segment(Acceptor, ACK, 511, 112, 0),
        segment(Acceptor, ACK | Flags::RST, 511, 112, 0),
    ];
    let (_, vector) = extract(with_data(syn(0), syn_ack(0)).into_iter().chain(close));
    assert_eq!(Side::BOTH.map(|side| vector.ends[side].bare_acks), [Some(1), Some(1)]);
}

#[test]
fn addresses_tell_the_version_of_ip() {
    let (_, vector) = extract(with_data(syn(0), syn_ack(0)));
    assert_eq!(vector.ip_version, Some(IpVersion::V4));
    let hosts = [Initiator, Acceptor].map(|side| Address { ip: (0x2001_0db8 << 96) + side as u128, port: 40_000 });
    let (_, vector) = extract(with_data(syn(0), syn_ack(0)).map(|one| {
        let [source, destination] = if one.source.port == 40_000 { [hosts[0], hosts[1]] } else { [hosts[1], hosts[0]] };
        Segment { source, destination, ..one }
    }));
    assert_eq!(vector.ip_version, Some(IpVersion::V6));
}

/// A response of 5 x 1,448 and 100 bytes as it is on the link: full segments with timestamps, each twelfth of a millisecond
/// one; and the same above an offload, as two segments.
fn response(merged: bool) -> Vec<(Time, Segment)> {
    let mss = |segment: Segment| Segment { mss: Some(1_460), timestamps: STAMPS, ..segment };
    let stamped = |segment: Segment| Segment { timestamps: STAMPS, link_bytes: segment.link_bytes + 12, ..segment };
    let data = |first: u32, bytes: u32, flags: u8| stamped(segment(Acceptor, ACK | flags, 501 + first, 111, bytes));
    let at = |n: u64| Time::ZERO + Duration::from_millis(n);
    let mut segments =
        vec![(at(1), mss(syn(0))), (at(11), mss(syn_ack(0))), (at(21), stamped(segment(Initiator, ACK, 101, 501, 10)))];
    let pieces: &[(u64, u32, u32, u8)] = match merged {
        true => &[(31, 0, 4_344, 0), (51, 4_344, 2_996, Flags::FIN | Flags::PSH)],
        false => &[
            (31, 0, 1_448, 0),
            (31, 1_448, 1_448, 0),
            (31, 2_896, 1_448, 0),
            (51, 4_344, 1_448, 0),
            (51, 5_792, 1_448, 0),
            (51, 7_240, 100, Flags::FIN | Flags::PSH),
        ],
    };
    segments.extend(pieces.iter().map(|&(time, first, bytes, flags)| (at(time), data(first, bytes, flags))));
    segments.push((at(52), stamped(segment(Initiator, ACK, 111, 501 + 7_341, 0))));
    segments
}

#[test]
fn merged_segments_make_the_vector_of_the_link() {
    let (whole, mut above) = extract_timed(response(true));
    let (pieces, on_link) = extract_timed(response(false));
    let oversized = |vector: &ConnectionVector| Side::BOTH.map(|side| vector.ends[side].oversized);
    assert_eq!((oversized(&above), oversized(&on_link)), ([Some(0), Some(2)], [Some(0), Some(0)]));
    assert_eq!(above.ends.acceptor.packets, Some(7));
    above.ends = PerSide { acceptor: workload_end(&above, &on_link), ..above.ends };
    assert_eq!(above, on_link);
    let series = |extractor: &Extractor| extractor.series().replayed[1].total();
    assert_eq!(series(&whole), series(&pieces), "packets and bytes on the link");
    assert_eq!((whole.counts().oversized, whole.counts().merged), (2, 4));
    assert_eq!((whole.counts().packets, pieces.counts().packets), (6, 10), "as captured");
}

/// The acceptor, but for the number of its oversized segments.
fn workload_end(above: &ConnectionVector, on_link: &ConnectionVector) -> flowloom_core::workload::Endpoint {
    flowloom_core::workload::Endpoint { oversized: on_link.ends.acceptor.oversized, ..above.ends.acceptor }
}

#[test]
fn without_the_mss_nothing_is_taken_apart() {
    let (extractor, vector) = extract(with_data(syn(0), syn_ack(0)).map(|one| Segment {
        payload_bytes: 600 * one.payload_bytes,
        link_bytes: 54 + 600 * one.payload_bytes,
        ..one
    }));
    assert_eq!((vector.ends.acceptor.packets, vector.ends.acceptor.oversized), (Some(2), None));
    assert_eq!(extractor.counts().merged, 0);
}

/// Some stacks fill the MSS with payload beside their timestamps: that is a segment of the link.
#[test]
fn a_segment_of_the_mss_beside_timestamps_is_one() {
    for (bytes, packets) in [(1_460, 1), (1_461, 2)] {
        let opening = [syn(0), syn_ack(0)].map(|one| Segment { mss: Some(1_460), timestamps: STAMPS, ..one });
        let data = Segment { timestamps: STAMPS, ..segment(Acceptor, ACK, 501, 101, bytes) };
        let (extractor, vector) = extract(opening.into_iter().chain([segment(Initiator, ACK, 101, 501, 0), data]));
        assert_eq!(vector.ends.acceptor.packets, Some(1 + packets), "{bytes} bytes");
        assert_eq!(extractor.counts().merged, packets - 1, "{bytes} bytes");
    }
}
