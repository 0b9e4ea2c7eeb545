//! Where connections begin and end for a monitor: captures that cut them, handshakes and closes that are not there,
//! silence, ports used again. Every test states the whole of each vector, in words.

use std::net::{IpAddr, Ipv4Addr};

use flowloom_core::extract::{Class, Extractor, Finished, Options, Position};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Address, Flags, Segment};
use flowloom_core::workload::{Close, Pattern, Side};

const SYN: u8 = Flags::SYN;
const ACK: u8 = Flags::ACK;
const FIN: u8 = Flags::FIN | Flags::ACK;
const RST: u8 = Flags::RST;

/// Captures begin here: 2026, not zero.
const EPOCH: Time = Time::from_nanos(1_780_000_000_000_000_000);

/// Packets of one client and one server on one pair of ports. Numbers are relative: the SYN has number 0 and the first
/// byte 1, whatever [`Link::isn`] is.
struct Link {
    extractor: Extractor,
    isn: [u32; 2],
}

impl Link {
    fn new() -> Link {
        Link::with(Options::default())
    }

    fn with(options: Options) -> Link {
        let extractor = Extractor::new(Options { keep_set_aside: true, round: 1, ..options });
        Link { extractor, isn: [4_294_967_000, 77] }
    }

    fn pass(&mut self, millis: u64, from: Side, flags: u8, [number, ack, len]: [u32; 3]) {
        let ends = [([10, 0, 0, 1], 40_000), ([192, 0, 2, 1], 80)]
            .map(|(ip, port)| Address::new(IpAddr::V4(Ipv4Addr::from(ip)), port));
        let to = from.other();
        let segment = Segment {
            source: ends[from as usize],
            destination: ends[to as usize],
            sequence: self.isn[from as usize].wrapping_add(number),
            acknowledgement: self.isn[to as usize].wrapping_add(ack),
            flags: Flags(flags),
            window: 8192,
            payload_bytes: len,
            link_bytes: 54 + len,
            ip_id: None,
            mss: (flags & SYN != 0).then_some(1460),
            window_scale: None,
            timestamps: None,
            sack: false,
            sack_blocks: [(0, 0); 3],
            options_cut: false,
            vlan: None,
            from: None,
            macs: None,
        };
        self.extractor.handle_segment(EPOCH + Duration::from_millis(millis), &segment);
    }

    /// From the client.
    fn c(&mut self, millis: u64, flags: u8, number: u32, ack: u32, len: u32) {
        self.pass(millis, Side::Initiator, flags, [number, ack, len]);
    }

    /// From the server.
    fn s(&mut self, millis: u64, flags: u8, number: u32, ack: u32, len: u32) {
        self.pass(millis, Side::Acceptor, flags, [number, ack, len]);
    }

    /// SYN at `millis`, SYN/ACK 10 ms and ACK 12 ms later: 10 ms to the server and back, 2 ms to the client.
    fn handshake(&mut self, millis: u64) {
        self.c(millis, SYN, 0, 0, 0);
        self.s(millis + 10, SYN | ACK, 0, 1, 0);
        self.c(millis + 12, ACK, 1, 1, 0);
    }

    /// 100 bytes at `millis`, acknowledged 10 ms later with 1,000 that are acknowledged 2 ms after that.
    fn exchange(&mut self, millis: u64) {
        self.c(millis, ACK, 1, 1, 100);
        self.s(millis + 10, ACK, 1, 101, 1_000);
        self.c(millis + 12, ACK, 101, 1_001, 0);
    }

    /// FINs after [`Self::exchange`].
    fn fins(&mut self, millis: u64) {
        self.c(millis, FIN, 101, 1_001, 0);
        self.s(millis + 10, FIN, 1_001, 102, 0);
        self.c(millis + 12, ACK, 102, 1_002, 0);
    }

    fn finish(&mut self) -> Vec<[String; 3]> {
        self.extractor.finish();
        std::iter::from_fn(|| self.extractor.poll_finished()).map(|finished| words(&finished)).collect()
    }
}

fn millis(duration: Option<Duration>) -> String {
    duration.map_or("-".to_owned(), |duration| format!("{}", duration.as_nanos() as f64 / 1e6))
}

/// A vector in words, times in milliseconds: class, start, rule, round trip, close; ADUs and the waits after them; packets of
/// each end and what of its counts is not zero.
fn words(finished: &Finished) -> [String; 3] {
    let vector = &finished.vector;
    let class = match finished.class {
        Class::NoData => "no data",
        Class::OneWay => "one way",
        Class::Replayable { pattern: Pattern::Sequential, complete: true } => "complete",
        Class::Replayable { pattern: Pattern::Sequential, complete: false } => "incomplete",
        Class::Replayable { pattern: Pattern::Concurrent, complete: true } => "concurrent complete",
        Class::Replayable { pattern: Pattern::Concurrent, complete: false } => "concurrent incomplete",
    };
    let close = match vector.close {
        Close::Fin(side) => format!("FIN of {side:?} +{}", millis(vector.t_close)),
        Close::Rst(side) => format!("RST of {side:?} +{}", millis(vector.t_close)),
        Close::NotSeen => "no end".to_owned(),
    };
    let facts = format!(
        "{class}, start {}, by {:?}, rtt {} syn {}, {close}, lifetime {}",
        millis(Some(vector.start.since(Time::ZERO))),
        vector.initiator_rule,
        millis(vector.min_rtt()),
        millis(vector.syn_rtt),
        millis(vector.lifetime),
    );
    let adus = vector.adus.iter().map(|adu| {
        let side = if adu.side == Side::Initiator { 'I' } else { 'A' };
        format!("{side}{} +{}", adu.bytes, millis(adu.wait))
    });
    let ends = Side::BOTH.map(|side| {
        let segments = vector.ends[side].segments.unwrap_or_default();
        let counts = [
            ("packets", vector.ends[side].packets.unwrap_or_default()),
            ("data", segments.data),
            ("duplicates", segments.duplicates),
            ("late", segments.late),
            ("bytes missing", segments.missing_bytes),
            ("bytes unacknowledged", segments.unacked_bytes),
        ];
        let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}"));
        counts.collect::<Vec<_>>().join(", ")
    });
    [facts, adus.collect::<Vec<_>>().join(" "), ends.join("; ")]
}

#[test]
fn a_complete_connection() {
    let mut link = Link::new();
    link.handshake(0);
    link.exchange(20);
    link.fins(50);
    assert_eq!(
        link.finish(),
        [[
            "complete, start 0, by Syn, rtt 12 syn 12, FIN of Initiator +20, lifetime 62",
            "I100 +10 A1000 +-",
            "6 packets, 1 data; 3 packets, 1 data"
        ]]
    );
}

#[test]
fn the_capture_ends_before_the_connection() {
    let mut link = Link::new();
    link.handshake(0);
    link.exchange(20);
    link.c(700, ACK, 101, 1_001, 50);
    assert_eq!(
        link.finish(),
        [[
            "incomplete, start 0, by Syn, rtt 12 syn 12, no end, lifetime 700",
            "I100 +10 A1000 +670 I50 +-",
            "5 packets, 2 data, 50 bytes unacknowledged; 2 packets, 1 data"
        ]]
    );
}

#[test]
fn the_capture_ends_inside_a_response_with_a_hole() {
    let mut link = Link::new();
    link.handshake(0);
    link.c(20, ACK, 1, 1, 100);
    link.s(30, ACK, 1, 101, 1_000);
    link.s(31, ACK, 2_001, 101, 1_000);
    assert_eq!(
        link.finish(),
        [[
            "incomplete, start 0, by Syn, rtt 12 syn 12, no end, lifetime 31",
            "I100 +10 A2000 +-",
            "3 packets, 1 data; 3 packets, 2 data, 1000 bytes missing, 3000 bytes unacknowledged"
        ]]
    );
}

#[test]
fn the_connection_began_before_the_capture() {
    let mut link = Link::new();
    link.exchange(20);
    link.fins(50);
    assert_eq!(
        link.finish(),
        [[
            "incomplete, start 0, by Port, rtt 12 syn -, FIN of Initiator +20, lifetime 42",
            "I100 +10 A1000 +-",
            "4 packets, 1 data; 2 packets, 1 data"
        ]]
    );
}

#[test]
fn the_capture_begins_and_ends_inside_the_connection() {
    let mut link = Link::new();
    link.s(0, ACK, 50_001, 901, 1_000);
    link.c(2, ACK, 901, 51_001, 0);
    link.c(900, ACK, 901, 51_001, 30);
    link.s(910, ACK, 51_001, 931, 40);
    assert_eq!(
        link.finish(),
        [[
            "incomplete, start 0, by Port, rtt 12 syn -, no end, lifetime 910",
            "A1000 +900 I30 +10 A40 +-",
            "2 packets, 1 data; 2 packets, 2 data, 40 bytes unacknowledged"
        ]]
    );
}

#[test]
fn the_capture_begins_between_syn_and_syn_ack() {
    let mut link = Link::new();
    link.s(10, SYN | ACK, 0, 1, 0);
    link.c(12, ACK, 1, 1, 0);
    link.exchange(20);
    link.fins(50);
    assert_eq!(
        link.finish(),
        [[
            "complete, start 0, by SynAck, rtt 12 syn -, FIN of Initiator +20, lifetime 52",
            "I100 +10 A1000 +-",
            "5 packets, 1 data; 3 packets, 1 data"
        ]]
    );
}

#[test]
fn a_syn_without_answer_and_one_that_is_refused() {
    let mut link = Link::new();
    link.c(0, SYN, 0, 0, 0);
    link.c(1_000, SYN, 0, 0, 0);
    assert_eq!(link.finish(), [["no data, start 0, by Syn, rtt - syn -, no end, lifetime 1000", "", "2 packets; "]]);
    let mut link = Link::new();
    link.c(0, SYN, 0, 0, 0);
    link.s(10, RST | ACK, 0, 1, 0);
    assert_eq!(
        link.finish(),
        [["no data, start 0, by Syn, rtt - syn -, RST of Acceptor +10, lifetime 10", "", "1 packets; 1 packets"]]
    );
}

#[test]
fn a_reset_ends_a_connection() {
    let mut link = Link::new();
    link.handshake(0);
    link.exchange(20);
    link.s(90, RST, 1_001, 0, 0);
    assert_eq!(
        link.finish(),
        [[
            "complete, start 0, by Syn, rtt 12 syn 12, RST of Acceptor +60, lifetime 90",
            "I100 +10 A1000 +-",
            "4 packets, 1 data; 3 packets, 1 data"
        ]]
    );
}

#[test]
fn one_direction_only() {
    let mut link = Link::new();
    link.c(0, SYN, 0, 0, 0);
    link.c(12, ACK, 1, 1, 0);
    link.c(20, ACK, 1, 1, 100);
    link.c(32, ACK, 101, 1_001, 0);
    link.c(50, FIN, 101, 1_001, 0);
    assert_eq!(
        link.finish(),
        [[
            "one way, start 0, by Syn, rtt - syn -, FIN of Initiator +30, lifetime 50",
            "I100 +-",
            "5 packets, 1 data; 1000 bytes missing"
        ]]
    );
}

#[test]
fn silence_of_the_idle_timeout_ends_a_connection_and_its_next_packet_begins_another() {
    let mut link = Link::with(Options { idle_timeout: Duration::from_secs(600), ..Options::default() });
    link.handshake(0);
    link.exchange(20);
    link.c(600_000 + 32, ACK, 101, 1_001, 20);
    link.s(600_000 + 42, ACK, 1_001, 121, 30);
    assert_eq!(
        link.finish(),
        [
            [
                "incomplete, start 0, by Syn, rtt 12 syn 12, no end, lifetime 32",
                "I100 +10 A1000 +-",
                "4 packets, 1 data; 2 packets, 1 data"
            ],
            [
                "incomplete, start 600032, by Port, rtt 10 syn -, no end, lifetime 10",
                "I20 +10 A30 +-",
                "1 packets, 1 data; 1 packets, 1 data, 30 bytes unacknowledged"
            ]
        ]
    );
    assert_eq!(link.extractor.counts().idle_ended, 1);
}

#[test]
fn silence_shorter_than_the_idle_timeout_is_a_wait() {
    let mut link = Link::with(Options { idle_timeout: Duration::from_secs(600), ..Options::default() });
    link.handshake(0);
    link.exchange(20);
    link.c(600_000 + 31, ACK, 101, 1_001, 20);
    assert_eq!(
        link.finish(),
        [[
            "incomplete, start 0, by Syn, rtt 12 syn 12, no end, lifetime 600031",
            "I100 +10 A1000 +600001 I20 +-",
            "5 packets, 2 data, 20 bytes unacknowledged; 2 packets, 1 data"
        ]]
    );
    assert_eq!(link.extractor.counts().idle_ended, 0);
}

#[test]
fn ports_are_used_again_after_a_close() {
    let mut link = Link::new();
    link.handshake(0);
    link.exchange(20);
    link.fins(50);
    link.isn = [1_000_000, 2_000_000];
    link.handshake(100);
    link.exchange(120);
    link.fins(150);
    assert_eq!(
        link.finish(),
        [
            [
                "complete, start 0, by Syn, rtt 12 syn 12, FIN of Initiator +20, lifetime 62",
                "I100 +10 A1000 +-",
                "6 packets, 1 data; 3 packets, 1 data"
            ],
            [
                "complete, start 100, by Syn, rtt 12 syn 12, FIN of Initiator +20, lifetime 62",
                "I100 +10 A1000 +-",
                "6 packets, 1 data; 3 packets, 1 data"
            ]
        ]
    );
    assert_eq!(link.extractor.counts().port_reuse, 1);
}

#[test]
fn ports_are_used_again_after_a_minute_of_silence_without_a_close() {
    let mut link = Link::new();
    link.handshake(0);
    link.exchange(20);
    link.isn = [1_000_000, 2_000_000];
    link.handshake(60_000 + 32);
    link.exchange(60_000 + 50);
    assert_eq!(
        link.finish(),
        [
            [
                "incomplete, start 0, by Syn, rtt 12 syn 12, no end, lifetime 32",
                "I100 +10 A1000 +-",
                "4 packets, 1 data; 2 packets, 1 data"
            ],
            [
                "incomplete, start 60032, by Syn, rtt 12 syn 12, no end, lifetime 30",
                "I100 +10 A1000 +-",
                "4 packets, 1 data; 2 packets, 1 data"
            ]
        ]
    );
    assert_eq!(link.extractor.counts().port_reuse, 1);
}

#[test]
fn ports_are_used_again_by_a_connection_whose_syn_was_not_captured() {
    let mut link = Link::new();
    link.handshake(0);
    link.exchange(20);
    link.isn = [1_000_000_000, 2_000_000_000];
    link.exchange(100);
    assert_eq!(
        link.finish(),
        [
            [
                "incomplete, start 0, by Syn, rtt 12 syn 12, no end, lifetime 32",
                "I100 +10 A1000 +-",
                "4 packets, 1 data; 2 packets, 1 data"
            ],
            [
                "incomplete, start 100, by Port, rtt 12 syn -, no end, lifetime 12",
                "I100 +10 A1000 +-",
                "2 packets, 1 data; 1 packets, 1 data"
            ]
        ]
    );
    assert_eq!(link.extractor.counts().port_reuse, 1);
}

/// A request lost before the monitor and sent again, a response lost after it and sent again: what they are called by
/// a monitor in the middle, and by one at either end.
#[test]
fn the_monitors_position_decides_where_a_segment_was_lost() {
    let seen = |monitor: Position| {
        let mut link = Link::with(Options { monitor, ..Options::default() });
        link.handshake(0);
        link.c(30, ACK, 101, 1, 100);
        link.c(330, ACK, 1, 1, 100);
        link.s(340, ACK, 1, 201, 1_000);
        link.s(640, ACK, 1, 201, 1_000);
        link.c(642, ACK, 201, 1_001, 0);
        link.fins(700);
        link.extractor.finish();
        let finished = link.extractor.poll_finished().expect("one connection");
        Side::BOTH.map(|side| {
            let segments = finished.vector.ends[side].segments.expect("packets tell");
            let loss = segments.loss();
            let lost = (segments.lost_before, segments.repeated.lost());
            (lost, segments.uncaptured, segments.repeated.spurious, loss.before, loss.after)
        })
    };
    // Lost before and after the monitor, not captured, spurious, rates before and after.
    assert_eq!(seen(Position::Mid), [((1, 0), 0, 0, 0.5, 0.0), ((0, 1), 0, 0, 0.0, 0.5)]);
    assert_eq!(seen(Position::Initiator), [((0, 0), 1, 0, 0.0, 0.0), ((0, 0), 0, 1, 0.0, 0.0)]);
    assert_eq!(seen(Position::Acceptor), [((1, 0), 0, 0, 0.5, 0.0), ((0, 1), 0, 0, 0.0, 0.5)]);
}
