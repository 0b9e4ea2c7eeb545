//! A capture that holds packets more than once answers as one that holds each once (methods A.1.7).

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU16;

use flowloom_core::extract::{CopyCounts, Extractor, Options, TrafficSeries};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Address, Datagram, Flags, Parsed, Segment, Vlan};
use flowloom_core::workload::{ConnectionVector, Segments, Side};

const EPOCH: Time = Time::from_nanos(1_780_000_000_000_000_000);

/// When a packet passes, in microseconds, and what it carries.
type Passed = (u64, Parsed);

fn address(host: u8, port: u16) -> Address {
    Address::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), port)
}

/// Packets with or without identifications, each with a checksum of its own, as payloads differ.
struct Maker {
    with_ids: bool,
    made: u16,
}

impl Maker {
    fn id(&mut self) -> Option<NonZeroU16> {
        self.made += 1;
        NonZeroU16::new(self.made).filter(|_| self.with_ids)
    }

    fn segment(&mut self, ports: [u16; 2], from: Side, numbers: [u32; 2], flags: u8, payload_bytes: u32) -> Parsed {
        let ends = [address(1, ports[0]), address(2, ports[1])];
        let [source, destination] = if from == Side::Initiator { ends } else { [ends[1], ends[0]] };
        Parsed::Segment(Segment {
            source,
            destination,
            sequence: numbers[0],
            acknowledgement: numbers[1],
            flags: Flags(flags),
            window: 60_000,
            payload_bytes,
            link_bytes: 54 + payload_bytes,
            ip_id: self.id(),
            checksum: self.made,
            mss: None,
            window_scale: None,
            timestamps: None,
            sack: false,
            options_cut: false,
            vlan: None,
            from: None,
            macs: None,
        })
    }

    fn datagram(&mut self, from: Side, payload_bytes: u32, content: u32) -> Parsed {
        let ends = [address(3, 5_000), address(4, 53)];
        let [source, destination] = if from == Side::Initiator { ends } else { [ends[1], ends[0]] };
        let (link_bytes, ip_id) = (42 + payload_bytes, self.id());
        Parsed::Datagram(Datagram {
            source,
            destination,
            payload_bytes,
            link_bytes,
            ip_id,
            content,
            quic: false,
            vlan: None,
            from: None,
            macs: None,
        })
    }
}

/// Connections with two exchanges each, and a flow of datagrams: none of its packets is a copy of another.
fn traffic(with_ids: bool) -> Vec<Passed> {
    use Side::{Acceptor as A, Initiator as I};
    let mut maker = Maker { with_ids, made: 0 };
    let mut packets = Vec::new();
    for n in 0..20u16 {
        let (ports, start) = ([40_000 + n, 80], u64::from(n) * 30_000);
        let steps: [(u64, Side, [u32; 2], u8, u32); 13] = [
            (0, I, [100, 0], Flags::SYN, 0),
            (10_000, A, [500, 101], Flags::SYN | Flags::ACK, 0),
            (12_000, I, [101, 501], Flags::ACK, 0),
            (13_000, I, [101, 501], Flags::ACK, 300),
            (24_000, A, [501, 401], Flags::ACK, 1_000),
            (24_100, A, [1_501, 401], Flags::ACK, 700),
            (26_000, I, [401, 2_201], Flags::ACK, 0),
            (700_000, I, [401, 2_201], Flags::ACK, 50),
            (711_000, A, [2_201, 451], Flags::ACK, 90),
            (713_000, I, [451, 2_291], Flags::ACK, 0),
            (720_000, I, [451, 2_291], Flags::ACK | Flags::FIN, 0),
            (731_000, A, [2_291, 452], Flags::ACK | Flags::FIN, 0),
            (733_000, I, [452, 2_292], Flags::ACK, 0),
        ];
        for (at, from, numbers, flags, payload_bytes) in steps {
            packets.push((start + at, maker.segment(ports, from, numbers, flags, payload_bytes)));
        }
        let content = u32::from(n) + 1;
        packets.push((start + 1_500, maker.datagram(I, 200, content)));
        packets.push((start + 3_300, maker.datagram(A, 900, 0x1_0000 + content)));
    }
    packets.sort_by_key(|(at, _)| *at);
    packets
}

/// `packets` with copies of those that `choose` gives another form, `later` microseconds behind them.
fn with_copies(packets: &[Passed], later: u64, choose: impl Fn(&Parsed) -> Option<Parsed>) -> Vec<Passed> {
    let copies = packets.iter().filter_map(|(at, packet)| Some((at + later, choose(packet)?)));
    let mut all: Vec<Passed> = packets.iter().copied().chain(copies).collect();
    all.sort_by_key(|(at, _)| *at);
    all
}

struct Found {
    copies: CopyCounts,
    /// Packets and link bytes of TCP and of UDP, duration.
    counted: [u64; 5],
    vectors: Vec<ConnectionVector>,
    series: TrafficSeries,
}

fn extract(packets: &[Passed]) -> Found {
    let mut extractor = Extractor::new(Options::default());
    let mut vectors = Vec::new();
    for (at, packet) in packets {
        let now = EPOCH + Duration::from_micros(*at);
        match packet {
            Parsed::Segment(segment) => extractor.handle_segment(now, segment),
            Parsed::Datagram(datagram) => extractor.handle_datagram(now, datagram),
        }
        vectors.extend(std::iter::from_fn(|| extractor.poll_vector()));
    }
    extractor.finish();
    vectors.extend(std::iter::from_fn(|| extractor.poll_vector()));
    let counts = extractor.counts();
    let datagrams = counts.datagrams;
    let counted =
        [counts.packets, counts.link_bytes, datagrams.packets, datagrams.link_bytes, counts.duration().as_nanos()];
    Found { copies: counts.copies, counted, vectors, series: extractor.series().clone() }
}

/// Vectors without what copies may change: the counts of segments, of which copies are some.
fn without_segments(vectors: &[ConnectionVector]) -> Vec<ConnectionVector> {
    let without = |vector: &ConnectionVector| {
        let mut vector = vector.clone();
        for side in Side::BOTH {
            vector.ends[side].segments = vector.ends[side].segments.map(|_| Segments::default());
        }
        vector
    };
    vectors.iter().map(without).collect()
}

fn assert_same(packets: &[Passed], once: &Found, what: &str) {
    let found = extract(packets);
    let all = once.counted[0] + once.counted[2];
    assert_eq!(found.copies.packets(), packets.len() as u64 - all, "{what}");
    assert_eq!(found.counted, once.counted, "{what}");
    assert_eq!(without_segments(&found.vectors), without_segments(&once.vectors), "{what}");
    assert_eq!(found.series, once.series, "{what}");
}

#[test]
fn copies_count_once() {
    for with_ids in [true, false] {
        let packets = traffic(with_ids);
        let once = extract(&packets);
        assert_eq!((once.copies, once.vectors.len()), (CopyCounts::default(), 21));
        for later in [0, 100, 5_000] {
            let what = format!("identifications: {with_ids}, {later} us");
            let doubled = with_copies(&packets, later, |packet| Some(*packet));
            assert_same(&doubled, &once, &what);
            let found = extract(&doubled);
            let repeated = |vector: &ConnectionVector| {
                Side::BOTH
                    .iter()
                    .filter_map(|side| vector.ends[*side].segments)
                    .map(|of| of.repeated.copies)
                    .sum::<u64>()
            };
            let of_data: u64 = found.vectors.iter().map(repeated).sum();
            assert_eq!(of_data, 20 * 5, "{what}: segments with data");
            let one_way = with_copies(&packets, later, |packet| match packet {
                Parsed::Segment(segment) => (segment.source.port == 80).then_some(*packet),
                Parsed::Datagram(_) => Some(*packet),
            });
            assert_same(&one_way, &once, &format!("{what}, one direction"));
            let in_vlan = with_copies(&packets, later, |packet| match *packet {
                Parsed::Segment(segment) => Some(Parsed::Segment(Segment { vlan: Vlan::new([9]), ..segment })),
                Parsed::Datagram(datagram) => Some(Parsed::Datagram(Datagram { vlan: Vlan::new([9]), ..datagram })),
            });
            assert_same(&in_vlan, &once, &format!("{what}, in a VLAN"));
        }
    }
}

#[test]
fn three_of_each_count_once() {
    for with_ids in [true, false] {
        let packets = traffic(with_ids);
        let twice = with_copies(&packets, 300, |packet| Some(*packet));
        let thrice = with_copies(&twice, 1_000, |packet| Some(*packet));
        if with_ids {
            assert_same(&thrice, &extract(&packets), "four of each");
        } else {
            assert!(extract(&thrice).copies.packets() > 0, "at least those that are certain");
        }
    }
}

/// What a sender repeats is no copy: the same datagram seconds later, datagrams of equal payload without identifications,
/// segments and acknowledgements sent again.
#[test]
fn what_was_sent_again_is_no_copy() {
    use Side::{Acceptor as A, Initiator as I};
    for with_ids in [true, false] {
        let mut maker = Maker { with_ids, made: 0 };
        let query = maker.datagram(I, 40, 7);
        let mut packets: Vec<Passed> = [0, 2_000_000, 6_000_000].map(|at| (at, query)).into();
        for n in 0..400 {
            // A row of equal ones, each a millisecond behind the other, and voice whose content differs.
            packets.push((10_000_000 + n * 1_000, maker.datagram(I, 1_472, 99)));
            packets.push((11_000_000 + n * 20_000, maker.datagram(A, 160, 1_000 + n as u32)));
        }
        let acknowledgement = maker.segment([40_000, 80], A, [501, 401], Flags::ACK, 0);
        let data = maker.segment([40_000, 80], I, [401, 501], Flags::ACK, 1_000);
        if !with_ids {
            packets.extend([20_000_000, 20_001_000, 20_002_000].map(|at| (at, acknowledgement)));
            packets.extend([20_003_000, 20_008_000].map(|at| (at, data)));
        }
        packets.sort_by_key(|(at, _)| *at);
        let found = extract(&packets);
        assert_eq!(found.copies, CopyCounts::default(), "identifications: {with_ids}");
        assert_eq!(found.counted[2], 803);
    }
}

/// Nothing tells datagrams from each other that have neither identification nor checksum, and none of whose payload was captured.
#[test]
fn datagrams_without_a_mark_are_no_copies() {
    let mut maker = Maker { with_ids: false, made: 0 };
    let packets: Vec<Passed> = (0..200)
        .flat_map(|n| [0, 50].map(|more| (n * 40_000 + more, maker.datagram(Side::Initiator, 1_200, 0))))
        .collect();
    assert_eq!(extract(&packets).copies, CopyCounts::default());
}
