//! The capture side of extraction: which segments make a connection, and what comes out when.

use std::net::{IpAddr, Ipv4Addr};

use flowloom_core::extract::{
    Class, DoubledCounts, Extractor, Finished, Front, Merger, Missing, Options, PARTS, Packet, Part, Prefix, Round,
    SideRule, Tally,
};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Address, Datagram, Flags, Segment, Vlan};
use flowloom_core::workload::{Close, InitiatorRule, LinkSide, Pattern, Side};
use proptest::prelude::*;

const SYN: u8 = Flags::SYN;
const ACK: u8 = Flags::ACK;
const FIN: u8 = Flags::FIN | Flags::ACK;
const RST: u8 = Flags::RST;

/// Captures begin here: 2026, not zero.
const EPOCH: Time = Time::from_nanos(1_780_000_000_000_000_000);

fn client(n: u16) -> Address {
    Address::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 40_000 + n)
}

fn server() -> Address {
    Address::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80)
}

/// Memory is reclaimed after every packet.
fn each_packet() -> Options {
    Options { round: 1, ..Options::default() }
}

struct Capture {
    extractor: Extractor,
    now: Time,
}

impl Capture {
    fn new() -> Capture {
        Capture::with(Options { keep_set_aside: true, ..each_packet() })
    }

    fn with(options: Options) -> Capture {
        Capture { extractor: Extractor::new(options), now: EPOCH }
    }

    fn segment(source: Address, destination: Address, flags: u8, sequence: u32, ack: u32, len: u32) -> Segment {
        Segment {
            source,
            destination,
            sequence,
            acknowledgement: ack,
            flags: Flags(flags),
            window: 8192,
            payload_bytes: len,
            link_bytes: 54 + len,
            ip_id: None,
            mss: None,
            window_scale: (flags & SYN != 0).then_some(2),
            timestamps: None,
            sack: false,
            sack_blocks: [(0, 0); 3],
            options_cut: false,
            vlan: None,
            from: None,
            macs: None,
        }
    }

    /// From client `n` 1 ms later.
    fn c(&mut self, n: u16, flags: u8, sequence: u32, ack: u32, len: u32) {
        self.pass(Capture::segment(client(n), server(), flags, sequence, ack, len));
    }

    /// From the server 1 ms later.
    fn s(&mut self, n: u16, flags: u8, sequence: u32, ack: u32, len: u32) {
        self.pass(Capture::segment(server(), client(n), flags, sequence, ack, len));
    }

    fn pass(&mut self, segment: Segment) {
        self.now += Duration::from_millis(1);
        self.extractor.handle_segment(self.now, &segment);
    }

    fn udp(source: Address, destination: Address, payload_bytes: u32) -> Datagram {
        let link_bytes = payload_bytes + 42;
        Datagram {
            source,
            destination,
            payload_bytes,
            link_bytes,
            mark: None,
            quic: false,
            vlan: None,
            from: None,
            macs: None,
        }
    }

    fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Handshake, a request of 100 and a response of 200 bytes, ISNs `isn` and twice that.
    fn exchange(&mut self, n: u16, isn: u32) {
        let other = isn.wrapping_mul(2);
        self.c(n, SYN, isn, 0, 0);
        self.s(n, SYN | ACK, other, isn.wrapping_add(1), 0);
        self.c(n, ACK, isn.wrapping_add(1), other.wrapping_add(1), 100);
        self.s(n, ACK, other.wrapping_add(1), isn.wrapping_add(101), 200);
        self.c(n, ACK, isn.wrapping_add(101), other.wrapping_add(201), 0);
    }

    /// FIN both ways after [`Self::exchange`].
    fn fins(&mut self, n: u16, isn: u32) {
        let other = isn.wrapping_mul(2);
        self.c(n, FIN, isn.wrapping_add(101), other.wrapping_add(201), 0);
        self.s(n, FIN, other.wrapping_add(201), isn.wrapping_add(102), 0);
        self.c(n, ACK, isn.wrapping_add(102), other.wrapping_add(202), 0);
    }

    fn finish(&mut self) -> Vec<Finished> {
        self.extractor.finish();
        std::iter::from_fn(|| self.extractor.poll_finished()).collect()
    }
}

fn bytes(finished: &[Finished]) -> Vec<[u64; 2]> {
    finished.iter().map(|one| Side::BOTH.map(|side| one.vector.bytes(side))).collect()
}

#[test]
fn a_four_tuple_reused_after_a_close_is_another_connection() {
    let mut capture = Capture::new();
    capture.exchange(1, 1000);
    capture.fins(1, 1000);
    capture.exchange(1, 70_000);
    capture.c(1, RST, 70_101, 0, 0);
    capture.exchange(1, 4_294_967_250);
    assert_eq!(bytes(&capture.finish()), [[100, 200]; 3]);
    assert_eq!(capture.extractor.counts().port_reuse, 2);
}

#[test]
fn the_same_syn_after_a_reset_is_the_same_connection() {
    let mut capture = Capture::new();
    capture.c(1, SYN, 1000, 0, 0);
    capture.s(1, RST | ACK, 0, 1001, 0);
    capture.exchange(1, 1000);
    let finished = capture.finish();
    assert_eq!(bytes(&finished), [[100, 200]]);
    assert_eq!(finished[0].vector.close, Close::NotSeen, "the reset was not its end");
}

#[test]
fn another_syn_takes_the_place_of_a_young_attempt_and_is_another_connection_else() {
    let run = |wait: u64| {
        let mut capture = Capture::new();
        capture.c(1, SYN, 1000, 0, 0);
        capture.wait(wait);
        capture.exchange(1, 9000);
        bytes(&capture.finish())
    };
    assert_eq!(run(59), [[100, 200]], "the unanswered attempt belongs to it");
    assert_eq!(run(61), [[0, 0], [100, 200]], "a minute of silence");
    let mut capture = Capture::new();
    capture.exchange(1, 9000);
    capture.exchange(1, 70_000);
    assert_eq!(bytes(&capture.finish()), [[100, 200]; 2], "the first one has data, and its close was not captured");
    assert_eq!(capture.extractor.counts().port_reuse, 1);
}

#[test]
fn a_jump_in_both_directions_is_port_reuse_and_in_one_a_gap() {
    let mut capture = Capture::new();
    capture.exchange(1, 1000);
    // 800 MB further in both: another connection whose SYN was not captured.
    capture.c(1, ACK, 800_001_101, 900_002_201, 50);
    capture.s(1, ACK, 900_002_201, 800_001_151, 60);
    let reused = capture.finish();
    assert_eq!(bytes(&reused), [[100, 200], [50, 60]]);
    assert!(!reused[1].vector.complete);

    let mut capture = Capture::new();
    capture.exchange(1, 1000);
    // 800 MB of one response were not captured: the acknowledgement goes on where it was.
    capture.s(1, ACK, 800_002_201, 1101, 60);
    let gap = capture.finish();
    assert_eq!(gap.len(), 1);
    assert_eq!(gap[0].vector.ends.acceptor.missing_bytes(), 800_000_000);

    let mut capture = Capture::new();
    capture.exchange(1, 1000);
    // A reset with numbers out of thin air ends a connection, it does not begin one.
    capture.c(1, RST, 3_000_000_000, 0, 0);
    assert_eq!(capture.finish().len(), 1);
}

#[test]
fn a_repeated_fin_and_late_data_stay_with_their_connection() {
    let mut capture = Capture::new();
    capture.exchange(1, 1000);
    capture.fins(1, 1000);
    capture.s(1, FIN, 2201, 1102, 0);
    capture.c(1, RST, 1102, 0, 0);
    let finished = capture.finish();
    assert_eq!(bytes(&finished), [[100, 200]]);
    assert_eq!(finished[0].class, Class::Replayable { pattern: Pattern::Sequential, complete: true });
}

#[test]
fn one_direction_and_no_data_are_set_aside_and_counted() {
    let mut capture = Capture::new();
    capture.s(1, ACK, 5000, 100, 1000);
    capture.s(1, ACK, 6000, 100, 1000);
    capture.c(2, SYN, 1000, 0, 0);
    capture.s(2, RST | ACK, 0, 1001, 0);
    capture.exchange(3, 500);
    let finished = capture.finish();
    assert_eq!(
        finished.iter().map(|one| one.class.name()).collect::<Vec<_>>(),
        ["one_way", "no_data", "sequential_incomplete"]
    );
    assert_eq!(finished[2].vector.id, 0, "ids count what is replayed");
    let counts = capture.extractor.counts();
    assert_eq!(counts.class(Class::OneWay).payload_bytes.acceptor, 2000);
    assert_eq!((counts.connections(), counts.kept.captured_bytes().acceptor), (3, 200));
    let series = capture.extractor.series();
    let packets = |series: &[flowloom_core::record::Series; 2]| series[0].total().packets + series[1].total().packets;
    assert_eq!((packets(&series.set_aside), packets(&series.replayed)), (4, 5), "the handshake was held, not lost");
}

#[test]
fn no_tcp_at_all_gives_nothing() {
    let mut capture = Capture::new();
    capture.extractor.begin(EPOCH);
    assert!(capture.finish().is_empty());
    assert_eq!(capture.extractor.counts().connections(), 0);
    assert_eq!(capture.extractor.counts().duration(), Duration::ZERO);
}

#[test]
fn vectors_come_in_the_order_of_starts_with_dense_ids() {
    let mut capture = Capture::with(each_packet());
    capture.c(1, SYN, 1000, 0, 0);
    capture.exchange(2, 5000);
    capture.fins(2, 5000);
    capture.wait(150);
    capture.c(1, SYN, 1000, 0, 0);
    capture.wait(150);
    capture.c(9, SYN, 1, 0, 0);
    capture.c(9, SYN, 1, 0, 0);
    assert_eq!(capture.extractor.poll_vector(), None, "the first connection is still open");
    capture.exchange(1, 1000);
    capture.extractor.finish();
    let vectors: Vec<_> = std::iter::from_fn(|| capture.extractor.poll_vector()).collect();
    assert_eq!(vectors.iter().map(|vector| vector.id).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(vectors[0].start, Time::ZERO);
    assert!(vectors[0].handshake_repeated);
    assert_eq!(vectors[1].start, Time::ZERO + Duration::from_millis(1));
}

#[test]
fn the_first_packet_of_the_capture_is_the_origin_whatever_it_carries() {
    let mut capture = Capture::new();
    capture.extractor.begin(EPOCH);
    capture.wait(5);
    capture.exchange(1, 1000);
    assert_eq!(capture.finish()[0].vector.start, Time::ZERO + Duration::from_millis(5001));
}

#[test]
fn one_stamp_far_in_the_future_moves_no_later_start() {
    let mut capture = Capture::new();
    for n in 0..5 {
        let before = capture.now;
        if n == 2 {
            capture.wait(40 * 365 * 86_400);
            capture.c(n, SYN, 1000, 0, 0);
            capture.now = before + Duration::from_millis(1);
        }
        capture.exchange(n, 1000);
    }
    let starts: Vec<u64> = capture.finish().iter().map(|one| one.vector.start.as_nanos() / 1_000_000).collect();
    // The wrong stamp itself counts as the one after it.
    assert_eq!(starts, [0, 5, 11, 16, 21]);
    assert_eq!(capture.extractor.counts().starts_moved, 1);
}

#[test]
fn stragglers_of_a_closed_connection_stay_with_it_when_its_vector_is_long_made() {
    let mut capture = Capture::with(Options { drain: Duration::from_secs(2), ..each_packet() });
    let pass_the_time = |capture: &mut Capture, seconds| {
        for n in 0..seconds {
            capture.wait(1);
            (0..20).for_each(|_| capture.c(99, ACK, 7 + n, 1, 0));
        }
    };
    capture.exchange(1, 1000);
    capture.fins(1, 1000);
    // Within the time to drain, data still counts: the alert that TLS sends last.
    capture.s(1, ACK, 2201, 1102, 30);
    pass_the_time(&mut capture, 4);
    let live = capture.extractor.live();
    assert_eq!(capture.extractor.poll_vector().map(|vector| vector.bytes(Side::Acceptor)), Some(230));
    capture.s(1, FIN, 2201, 1102, 0);
    capture.c(1, RST, 1102, 0, 0);
    capture.c(1, SYN, 1000, 0, 0);
    capture.s(1, ACK, 2231, 1102, 40);
    pass_the_time(&mut capture, 1);
    assert_eq!(capture.extractor.live(), live, "none of them opened a connection");
    let counts = capture.extractor.counts();
    assert_eq!((counts.stragglers, counts.straggler_bytes), (4, 40));
    // Another initial sequence number: the addresses are used again.
    capture.exchange(1, 90_000);
    capture.extractor.finish();
    assert_eq!(std::iter::from_fn(|| capture.extractor.poll_vector()).count(), 1);
    let counts = capture.extractor.counts();
    assert_eq!(counts.classes.iter().map(|class| class.packets).sum::<u64>(), counts.packets);
    assert_eq!(counts.port_reuse, 1);
}

#[test]
fn memory_is_bounded_whatever_comes() {
    const MEMORY: u64 = 4 << 20;
    let mut extractor = Extractor::new(Options { memory: MEMORY, ..Options::default() });
    let mut most = 0;
    for n in 0..3_000_000u32 {
        let source = Address::new(IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n / 50_000)), (n % 50_000) as u16);
        let segment = Capture::segment(source, server(), SYN, n, 0, 0);
        extractor.handle_segment(EPOCH + Duration::from_micros(u64::from(n)), &segment);
        if n % 4096 == 0 {
            most = most.max(extractor.bytes());
            assert!(extractor.poll_vector().is_none());
        }
    }
    // One round of packets may come before the limit is looked at.
    assert!(most > MEMORY / 2 && most < 2 * MEMORY, "{most} bytes");
    extractor.finish();
    let counts = extractor.counts();
    assert_eq!(counts.class(Class::NoData).connections, 3_000_000, "each is counted");
    assert_eq!(counts.class(Class::NoData).packets, 3_000_000);
    assert!(counts.memory_ended > 2_900_000);
    let series = extractor.series();
    assert_eq!(series.set_aside.iter().map(|series| series.total().packets).sum::<u64>(), 3_000_000);
}

#[test]
fn without_memory_those_end_first_that_were_silent_for_longest() {
    let mut capture = Capture::with(Options { memory: 2 << 20, keep_set_aside: true, ..each_packet() });
    // As if each part had room for a hundred; this one talks all the time.
    for n in 1..6_000 {
        capture.exchange(n, 1000);
        if n % 40 == 0 {
            capture.c(0, ACK, 1000 + u32::from(n), 1, 1);
        }
    }
    assert!(capture.extractor.counts().memory_ended > 3_000);
    let finished = capture.finish();
    let talker = finished.iter().filter(|one| one.initiator.port == 40_000);
    assert_eq!(talker.count(), 1, "it was not ended and begun again");
}

#[test]
fn vlans_keep_connections_apart_if_they_are_in_the_key() {
    // Two customers with the same addresses, ports and times; and one connection with its ends in two VLANs.
    let run = |vlan_key: bool| {
        let mut capture = Capture::with(Options { vlan_key, keep_set_aside: true, ..each_packet() });
        let segments = [(SYN, 1000, 0, 0), (SYN | ACK, 2000, 1001, 0), (ACK, 1001, 2001, 100), (ACK, 2001, 1101, 200)];
        for (at, (flags, sequence, ack, len)) in segments.into_iter().enumerate() {
            let pass = |capture: &mut Capture, n: u16, isn: u32, vlan: u16| {
                let (c, s) = (client(n), server());
                let (from, to) = if at % 2 == 0 { (c, s) } else { (s, c) };
                let mut segment = Capture::segment(from, to, flags, sequence + isn, ack + isn, len);
                segment.vlan = Vlan::new([vlan]);
                capture.pass(segment);
            };
            pass(&mut capture, 1, 0, 10);
            pass(&mut capture, 1, 50_000, 20);
            pass(&mut capture, 2, 0, if at % 2 == 0 { 10 } else { 20 });
        }
        let finished = capture.finish();
        let counts = capture.extractor.counts();
        (finished.len(), counts.vlan_changes, counts.vlan_halves)
    };
    let (apart, changes, halves) = run(true);
    assert_eq!((apart, changes, halves), (4, 0, 1), "the one whose ends differ falls into two halves");
    let (together, changes, halves) = run(false);
    assert!(together < 4 && changes == 1 && halves == 0, "{together} connections, {changes} changes");
}

#[test]
fn no_result_depends_on_the_secret() {
    let run = |hash_secret: u64| {
        let mut capture = Capture::with(Options { keep_set_aside: true, hash_secret, ..each_packet() });
        for n in 0..200 {
            capture.exchange(n * 7 % 200, 1000);
        }
        (capture.finish(), capture.extractor.counts())
    };
    assert_eq!(run(1), run(0xdead_beef));
}

#[test]
fn a_backward_clock_splits_nothing() {
    let mut capture = Capture::new();
    capture.extractor.begin(EPOCH);
    capture.wait(2 * 86_400);
    capture.c(1, SYN, 1000, 0, 0);
    capture.s(1, SYN | ACK, 2000, 1001, 0);
    let before = capture.now;
    capture.c(1, ACK, 1001, 2001, 100);
    capture.now = EPOCH + Duration::from_secs(86_400);
    capture.s(1, ACK, 2001, 1101, 200);
    capture.exchange(2, 7000);
    capture.now = before;
    capture.c(1, ACK, 1101, 2201, 50);
    let finished = capture.finish();
    assert_eq!(bytes(&finished), [[150, 200], [100, 200]]);
    assert!(finished[0].vector.start <= finished[1].vector.start);
    let counts = capture.extractor.counts();
    assert_eq!((counts.clock_backwards, counts.starts_moved), (1, 1));
    assert!(
        finished
            .iter()
            .flat_map(|one| &one.vector.adus)
            .all(|adu| adu.wait.is_none_or(|wait| wait < Duration::from_secs(1)))
    );
}

#[test]
fn a_clock_that_jumps_years_for_one_packet_ends_nothing() {
    let mut capture = Capture::new();
    for n in 1..5 {
        capture.c(n, SYN, 1000, 0, 0);
    }
    let before = capture.now;
    capture.wait(10 * 365 * 86_400);
    capture.c(6, SYN, 1, 0, 0);
    capture.now = before;
    for n in 1..5 {
        capture.exchange(n, 1000);
    }
    assert_eq!(capture.finish().len(), 5);
}

#[test]
fn a_wrong_stamp_inside_a_connection_ends_nothing_and_makes_no_wait() {
    let mut capture = Capture::new();
    for n in 1..3 {
        capture.exchange(n, 1000);
        let before = capture.now;
        capture.wait(if n == 1 { 3_700 } else { 10 * 365 * 86_400 });
        capture.c(n, ACK, 1101, 2201, 100);
        capture.now = before + Duration::from_millis(1);
        capture.s(n, ACK, 2201, 1201, 200);
    }
    // The same of a flow of datagrams.
    for wait in [0, 3_700, 0] {
        let before = capture.now;
        capture.wait(wait);
        capture.extractor.handle_datagram(capture.now, &Capture::udp(client(3), server(), 100));
        capture.now = before + Duration::from_millis(1);
    }
    let finished = capture.finish();
    assert_eq!(bytes(&finished), [[200, 400], [200, 400], [300, 0]]);
    let waits = finished.iter().flat_map(|one| &one.vector.adus).filter_map(|adu| adu.wait);
    assert!(waits.max() < Some(Duration::from_millis(10)));
    assert_eq!(capture.extractor.counts().idle_ended, 0);
    let series = capture.extractor.series();
    let bins = series.replayed.iter().chain(&series.set_aside).flat_map(|series| series.bins());
    assert!(bins.map(|(bin, _)| *bin).max() < Some(100), "no packet is in a bin years away");
}

#[test]
fn where_captures_were_pasted_together_no_stamp_is_wrong() {
    let mut capture = Capture::new();
    let before = capture.now;
    capture.wait(86_400);
    capture.exchange(1, 1000);
    capture.wait(7);
    capture.c(1, ACK, 1101, 2201, 100);
    // The last one of its capture; the first of the next is a day older.
    capture.c(1, ACK, 1201, 2201, 100);
    capture.now = before;
    capture.exchange(2, 1000);
    let finished = capture.finish();
    let seen = finished[0].vector.adus[2].seen.expect("observed");
    assert_eq!(seen.length(), Duration::from_millis(1), "it was a millisecond behind the one before it");
}

#[test]
fn a_clock_that_jumps_years_for_good_ends_what_was_open() {
    let mut capture = Capture::new();
    capture.exchange(1, 1000);
    capture.wait(20 * 365 * 86_400);
    capture.exchange(1, 90_000);
    capture.exchange(2, 1000);
    let finished = capture.finish();
    assert_eq!(bytes(&finished), [[100, 200]; 3]);
    assert_eq!(capture.extractor.counts().idle_ended, 1);
    let series = &capture.extractor.series().replayed[0];
    assert!(series.bins().count() < 20, "bins without traffic are not held");
}

#[test]
fn idle_and_closed_connections_leave_the_table() {
    let mut capture = Capture::with(each_packet());
    for n in 0..100 {
        capture.exchange(n, 1000);
        capture.fins(n, 1000);
    }
    assert_eq!(capture.extractor.live(), 100);
    capture.wait(300);
    for n in 100..200 {
        capture.c(n, SYN, 1000, 0, 0);
    }
    assert_eq!(capture.extractor.live(), 99, "closed ones are gone, and the last packet waits for the next");
    capture.wait(2 * 3600);
    for n in 200..300 {
        capture.exchange(n, 1000);
    }
    assert_eq!(capture.extractor.live(), 100, "silent ones after the idle timeout");
}

#[test]
fn a_wrong_stamp_on_a_close_or_a_start_does_not_stop_the_table_from_emptying() {
    let mut capture = Capture::with(each_packet());
    for n in [1, 2] {
        let before = capture.now;
        capture.exchange(n, 1000);
        capture.wait(50 * 365 * 86_400);
        if n == 1 {
            capture.c(n, RST, 1101, 0, 0)
        } else {
            capture.c(n + 1, SYN, 1000, 0, 0)
        };
        capture.now = before + Duration::from_secs(1);
    }
    for n in 100..200 {
        capture.exchange(n, 1000);
        capture.fins(n, 1000);
    }
    capture.wait(300);
    for n in 200..400 {
        capture.exchange(n, 1000);
        capture.fins(n, 1000);
    }
    // The three with a wrong stamp, and what came after the pause.
    assert!(capture.extractor.live() <= 203, "{} are held", capture.extractor.live());
}

#[test]
fn an_attempt_without_answer_holds_up_no_vector_for_longer_than_it_may_be_tried() {
    let mut capture = Capture::with(each_packet());
    capture.c(1, SYN, 1000, 0, 0);
    capture.c(2, SYN, 1000, 0, 0);
    capture.s(2, SYN | ACK, 2000, 1001, 0);
    capture.exchange(3, 1000);
    capture.fins(3, 1000);
    // Linux tries after 1, 3, 7, 15, 31 and 63 s: still one attempt.
    for wait in [1, 2, 4, 8, 16, 32] {
        capture.wait(wait);
        capture.c(1, SYN, 1000, 0, 0);
    }
    for n in 10..20 {
        capture.wait(30);
        capture.exchange(n, 1000);
        assert!(n > 15 || capture.extractor.poll_vector().is_none(), "the attempt may yet become the first vector");
    }
    for n in 20..30 {
        capture.wait(30);
        capture.exchange(n, 1000);
    }
    assert_eq!(capture.extractor.poll_vector().map(|vector| vector.bytes(Side::Initiator)), Some(100));
    capture.c(1, SYN, 1000, 0, 0);
    capture.extractor.finish();
    while capture.extractor.poll_vector().is_some() {}
    let no_data = *capture.extractor.counts().class(Class::NoData);
    assert_eq!((no_data.connections, no_data.packets), (3, 10), "the late SYN is another attempt");
}

#[test]
fn duplicated_packets_change_no_vector() {
    let run = |copies: usize| {
        let mut capture = Capture::new();
        let (c, s) = (client(1), server());
        let segments = [
            (c, s, SYN, 1000, 0, 0),
            (s, c, SYN | ACK, 2000, 1001, 0),
            (c, s, ACK, 1001, 2001, 100),
            (s, c, ACK, 2001, 1101, 200),
            (c, s, FIN, 1101, 2201, 0),
            (s, c, FIN, 2201, 1102, 0),
        ];
        for (from, to, flags, sequence, ack, len) in segments {
            capture.now += Duration::from_millis(1);
            for _ in 0..copies {
                capture.extractor.handle_segment(capture.now, &Capture::segment(from, to, flags, sequence, ack, len));
            }
        }
        let finished = capture.finish();
        (finished[0].vector.adus.clone(), finished.len(), capture.extractor.counts().segments.duplicates)
    };
    let (once, twice) = (run(1), run(2));
    assert_eq!((once.0, once.1), (twice.0, twice.1));
    assert_eq!((once.2, twice.2), (0, 2));
}

#[test]
fn the_initiator_is_told_by_the_most_certain_rule() {
    let rule = |segments: &[(bool, u8)]| {
        let mut capture = Capture::new();
        for (from_client, flags) in segments {
            // The client's port is the smaller one here: the port rule alone would be wrong.
            let (c, s) = (Address { port: 20, ..client(1) }, server());
            let sequence = if flags & SYN != 0 { 999 } else { 1000 };
            let (from, to) = if *from_client { (c, s) } else { (s, c) };
            capture.pass(Capture::segment(from, to, *flags, sequence, 1000, 0));
        }
        let finished = capture.finish();
        assert_eq!(finished.len(), 1);
        (finished[0].vector.initiator_rule, finished[0].initiator.port == 20)
    };
    assert_eq!(rule(&[(true, SYN), (false, SYN | ACK)]), (InitiatorRule::Syn, true));
    assert_eq!(rule(&[(false, SYN | ACK), (true, ACK)]), (InitiatorRule::SynAck, true));
    assert_eq!(rule(&[(false, SYN | ACK), (true, SYN)]), (InitiatorRule::Syn, true));
    assert_eq!(rule(&[(true, ACK)]), (InitiatorRule::Port, false));
    assert_eq!(rule(&[(false, ACK), (true, SYN)]), (InitiatorRule::Syn, true), "the SYN was overtaken");
}

#[test]
fn sides_of_the_link_come_from_marks_then_prefixes_then_mac_addresses() {
    let side = |options: Options, change: &dyn Fn(&mut Segment)| {
        let mut capture = Capture::with(Options { keep_set_aside: true, ..options });
        let mut segment = Capture::segment(client(1), server(), SYN, 1, 0, 0);
        change(&mut segment);
        capture.pass(segment);
        let side = capture.finish()[0].vector.initiator_side;
        let rule = [SideRule::Marks, SideRule::Inside, SideRule::Macs, SideRule::Unknown]
            .into_iter()
            .find(|rule| capture.extractor.counts().side_rule(*rule) == 1);
        (side, rule)
    };
    let inside = |text: &str| Options { inside: vec![text.parse().unwrap()], ..Options::default() };
    let plain = |_: &mut Segment| {};
    let marked = |segment: &mut Segment| segment.from = Some(LinkSide::Right);
    let macs = |segment: &mut Segment| segment.macs = Some([[1; 6], [2; 6]]);
    assert_eq!(side(inside("10.0.0.0/8"), &marked), (LinkSide::Right, Some(SideRule::Marks)));
    assert_eq!(side(inside("10.0.0.0/8"), &plain), (LinkSide::Left, Some(SideRule::Inside)));
    assert_eq!(side(inside("192.0.2.0/24"), &macs), (LinkSide::Right, Some(SideRule::Inside)));
    assert_eq!(side(inside("2001:db8::/32"), &plain), (LinkSide::Left, Some(SideRule::Unknown)));
    assert_eq!(side(inside("0.0.0.0/0"), &plain), (LinkSide::Left, Some(SideRule::Unknown)), "both ends");
    assert_eq!(side(Options::default(), &macs), (LinkSide::Left, Some(SideRule::Macs)));
    assert_eq!(side(Options::default(), &plain), (LinkSide::Left, Some(SideRule::Unknown)));

    let mut capture = Capture::new();
    let mut segment = Capture::segment(client(1), server(), SYN, 1, 0, 0);
    segment.macs = Some([[1; 6], [2; 6]]);
    capture.pass(segment);
    (segment.source, segment.destination, segment.macs) = (server(), client(2), Some([[2; 6], [1; 6]]));
    capture.pass(segment);
    let sides: Vec<LinkSide> = capture.finish().iter().map(|one| one.vector.initiator_side).collect();
    assert_eq!(sides, [LinkSide::Left, LinkSide::Right]);
}

proptest! {
    /// What parts make of their packets does not depend on who works for them, or when: every order in which threads
    /// could do it gives what one does, down to the counts and the series.
    #[test]
    fn any_division_of_the_work_gives_the_same(
        steps in prop::collection::vec((0u16..40, 0usize..8, 0u64..400), 1..300),
        workers in prop::collection::vec(0usize..3, PARTS),
        order in prop::collection::vec(0usize..PARTS, 0..200),
        vlan_key in any::<bool>(),
        memory in prop_oneof![Just(u64::MAX), Just(24 << 10)],
    ) {
        let options = Options {
            keep_set_aside: true, round: 7, drain: Duration::from_secs(20), vlan_key, memory, ..Options::default()
        };
        let alone = Options { hash_secret: 0xdead_beef, ..options.clone() };
        let (mut alone, mut front) = (Extractor::new(alone), Front::new(&options));
        let mut work: Vec<Vec<Work>> = vec![Vec::new(); PARTS];
        let mut packets: Vec<Vec<Packet>> = vec![Vec::new(); PARTS];
        let mut now = EPOCH;
        for (n, what, wait) in steps {
            // Now and then the clock runs back.
            let step = Duration::from_secs(wait * wait / 400);
            now = if n == 39 { now.before(step) } else { now + step };
            let (c, s) = (client(n), server());
            let mut segment = match what {
                0 => Capture::segment(c, s, SYN, 1000, 0, 0),
                1 => Capture::segment(s, c, SYN | ACK, 5000, 1001, 0),
                2 => Capture::segment(c, s, ACK, 1001, 5001, 100),
                3 => Capture::segment(s, c, ACK, 5001, 1101, 200),
                4 => Capture::segment(c, s, FIN, 1101, 5201, 0),
                5 => Capture::segment(s, c, FIN, 5201, 1102, 0),
                _ => {
                    let (source, destination) = if what == 6 { (c, s) } else { (s, c) };
                    let datagram = Datagram {
                        quic: n % 5 == 0,
                        vlan: Vlan::new([n % 3]),
                        ..Capture::udp(source, destination, u32::from(n))
                    };
                    alone.handle_datagram(now, &datagram);
                    front.handle_datagram(now, &datagram, &mut packets);
                    hand_out(&mut front, &mut packets, &mut work);
                    continue;
                }
            };
            segment.vlan = Vlan::new([n % 3]);
            alone.handle_segment(now, &segment);
            front.handle_segment(now, &segment, &mut packets);
            hand_out(&mut front, &mut packets, &mut work);
        }
        front.finish(&mut packets);
        for (of_part, packets) in work.iter_mut().zip(packets) {
            of_part.extend([Work::Packets(packets), Work::Finish]);
        }
        alone.finish();

        let mut parts: Vec<(Part, std::vec::IntoIter<Work>)> =
            Part::all(&options).into_iter().zip(work.into_iter().map(Vec::into_iter)).collect();
        let (mut merger, mut tallies) = (Merger::new(&options), vec![Tally::default(); 3]);
        let mut together: Vec<Finished> = Vec::new();
        let in_order = order.into_iter().chain((0..PARTS).flat_map(|part| std::iter::repeat_n(part, 400)));
        for (step, at) in in_order.enumerate() {
            let (part, of_part) = &mut parts[at];
            let tally = &mut tallies[workers[at]];
            match of_part.next() {
                Some(Work::Packets(packets)) => part.handle_all(&packets, tally),
                Some(Work::Round(round)) => {
                    part.end_round(&round, tally);
                    merger.take(part.report());
                }
                Some(Work::Finish) => {
                    part.finish(tally);
                    merger.take(part.report());
                }
                None => {}
            }
            if step % 3 == 0 {
                together.extend(std::iter::from_fn(|| merger.poll()));
            }
        }
        together.extend(std::iter::from_fn(|| merger.poll()));
        let mut tally = Tally::default();
        tallies.iter().for_each(|one| tally.add(one));
        tally.series.settle(merger.peak_bytes());
        let separate: Vec<Finished> = std::iter::from_fn(|| alone.poll_finished()).collect();
        prop_assert_eq!(together, separate);
        prop_assert_eq!(front.counts().plus(&tally.counts), alone.counts());
        prop_assert!(tally.series == *alone.series());
    }
}

/// Gives the parts their packets and the end of the round, if it is over.
fn hand_out(front: &mut Front, packets: &mut [Vec<Packet>], work: &mut [Vec<Work>]) {
    let Some(round) = front.round() else { return };
    for (of_part, packets) in work.iter_mut().zip(packets) {
        of_part.extend([Work::Packets(std::mem::take(packets)), Work::Round(round)]);
    }
}

/// What a part is given.
#[derive(Clone)]
enum Work {
    Packets(Vec<Packet>),
    Round(Round),
    Finish,
}

#[test]
fn prefixes_are_read_and_checked() {
    let all: Prefix = "0.0.0.0/0".parse().unwrap();
    assert!(all.contains(client(1)));
    assert!(!all.contains(Address::new("2001:db8::1".parse().unwrap(), 1)), "IPv4 prefixes take no IPv6");
    assert!("2001:db8::/32".parse::<Prefix>().unwrap().contains(Address::new("2001:db8::1".parse().unwrap(), 1)));
    assert!("10.0.0.1".parse::<Prefix>().unwrap().contains(client(1)));
    for bad in ["10.0.0.0/33", "ten/8", "10.0.0.0/-1", "", "2001:db8::/129"] {
        assert!(bad.parse::<Prefix>().is_err(), "{bad}");
    }
}

/// Two SYN/ACKs to one SYN, with the numbers `spaces`, then ten pieces of 200 bytes, each in both spaces, and FINs.
fn doubled(capture: &mut Capture, spaces: [u32; 2], acknowledged: usize, both_acknowledged: bool) {
    capture.c(1, SYN, 1000, 0, 0);
    spaces.iter().for_each(|isn| capture.s(1, SYN | ACK, *isn, 1001, 0));
    let acknowledge = |capture: &mut Capture, flags: u8, sequence: u32, received: u32, len: u32| {
        capture.c(1, flags, sequence, spaces[acknowledged] + 1 + received, len);
        if both_acknowledged {
            capture.c(1, flags, sequence, spaces[1 - acknowledged] + 1 + received, len);
        }
    };
    acknowledge(capture, ACK, 1001, 0, 100);
    for piece in 0..10 {
        spaces.iter().for_each(|isn| capture.s(1, ACK, isn + 1 + 200 * piece, 1101, 200));
        acknowledge(capture, ACK, 1101, 200 * (piece + 1), 0);
    }
    acknowledge(capture, FIN, 1101, 2000, 0);
    spaces.iter().for_each(|isn| capture.s(1, FIN, isn + 2001, 1102, 0));
    acknowledge(capture, ACK, 1102, 2001, 0);
}

#[test]
fn a_doubled_acceptor_is_one_connection() {
    let far = [2000, 3_000_000_000];
    // Nearer than what each sends, and within 16 windows of each other.
    let near = [[2000, 2003], [2000, 2070], [2000, 2700], [2700, 2000], [2000, 12_000], [2000, 902_000]];
    for (spaces, acknowledged, both_acknowledged) in std::iter::once(far)
        .chain(near)
        .flat_map(|spaces| [0, 1].map(|acknowledged| (spaces, acknowledged)))
        .flat_map(|(spaces, acknowledged)| [false, true].map(|both| (spaces, acknowledged, both)))
    {
        let context = format!("space {acknowledged} of {spaces:?}, {both_acknowledged}");
        let mut capture = Capture::new();
        doubled(&mut capture, spaces, acknowledged, both_acknowledged);
        let finished = capture.finish();
        assert_eq!(bytes(&finished), [[100, 2000]], "{context}");
        assert_eq!(finished[0].vector.ends.acceptor.missing_bytes(), 0, "{context}");
        let (packets, payload_bytes) = if both_acknowledged { (11 + 13, 2100) } else { (11, 2000) };
        let counts = capture.extractor.counts();
        assert_eq!(counts.doubled, DoubledCounts { connections: 1, packets, payload_bytes }, "{context}");
        let of_ends = Side::BOTH.map(|side| finished[0].vector.ends[side].packets.unwrap_or(0));
        assert_eq!(of_ends.iter().sum::<u64>() + packets, counts.packets, "{context}");
        let set_aside = &capture.extractor.series().set_aside;
        assert_eq!(set_aside[0].total().packets + set_aside[1].total().packets, packets, "{context}");
    }
}

/// What a near space repeats, and what the capture lacks of it, is not the connection's.
#[test]
fn repeats_of_a_near_space_are_set_aside() {
    let mut capture = Capture::new();
    capture.c(1, SYN, 1000, 0, 0);
    [2000, 3500].into_iter().for_each(|isn| capture.s(1, SYN | ACK, isn, 1001, 0));
    capture.c(1, ACK, 1001, 2001, 100);
    for piece in 0..20 {
        capture.s(1, ACK, 2001 + 200 * piece, 1101, 200);
        if piece != 7 {
            capture.s(1, ACK, 3501 + 200 * piece, 1101, 200);
        }
        if piece == 9 {
            // Both sent again.
            [2001, 3501].into_iter().for_each(|first| capture.s(1, ACK, first + 200 * 8, 1101, 200));
        }
        capture.c(1, ACK, 1101, 2001 + 200 * (piece + 1), 0);
    }
    let finished = capture.finish();
    assert_eq!(bytes(&finished), [[100, 4000]]);
    let acceptor = &finished[0].vector.ends.acceptor;
    assert_eq!((acceptor.missing_bytes(), acceptor.segments.unwrap().data), (0, 21));
    let doubled = DoubledCounts { connections: 1, packets: 20, payload_bytes: 4000 };
    assert_eq!(capture.extractor.counts().doubled, doubled);
}

#[test]
fn numbers_behind_a_reset_open_another_connection() {
    let mut capture = Capture::new();
    for n in 0..4 {
        let (isn, other) = (1000 + 7_000 * n, 5000 + 110_000 * n);
        capture.c(1, ACK, isn, other, 100);
        capture.s(1, ACK, other, isn + 100, 200);
        capture.c(1, RST | ACK, isn + 100, other + 200, 0);
        // On the way when the reset passed.
        capture.s(1, ACK, other + 200, isn + 100, 50);
    }
    assert_eq!(bytes(&capture.finish()), [[100, 250]; 4]);
}

#[test]
fn a_doubled_acceptor_does_not_change_the_vector() {
    let vector = |with_other: bool| {
        let mut capture = Capture::new();
        capture.c(1, SYN, 1000, 0, 0);
        capture.s(1, SYN | ACK, 2000, 1001, 0);
        capture.c(1, ACK, 1001, 2001, 100);
        // The second answer comes when the first is acknowledged, and its sender closes.
        for (flags, sequence, len) in
            [(SYN | ACK, 3_000_000_000, 0), (ACK, 3_000_000_001, 700), (FIN, 3_000_000_701, 0)]
        {
            if with_other {
                capture.s(1, flags, sequence, if flags == FIN { 1101 } else { 1001 }, len);
            } else {
                capture.wait(0);
                capture.now += Duration::from_millis(1);
            }
        }
        capture.s(1, ACK, 2001, 1101, 200);
        capture.fins(1, 1000);
        // Repeated for a minute, because nobody acknowledges it.
        for _ in 0..6 {
            capture.wait(10);
            if with_other {
                capture.s(1, FIN, 3_000_000_701, 1101, 0);
            }
        }
        let finished = capture.finish();
        assert_eq!(finished.len(), 1, "a repeated FIN of the other space opens nothing");
        let adus = finished[0].vector.adus.clone();
        (adus, finished[0].vector.close, finished[0].vector.min_rtt())
    };
    assert_eq!(vector(true), vector(false));
}

#[test]
fn skipping_missing_bytes_leaves_whole_connections_out() {
    let mut capture = Capture::with(Options { missing: Missing::Skip, ..each_packet() });
    capture.exchange(1, 1000);
    capture.exchange(2, 1000);
    // Bytes 201 to 1,000 of the response never pass.
    capture.s(2, ACK, 3001, 1101, 50);
    capture.extractor.finish();
    assert_eq!(std::iter::from_fn(|| capture.extractor.poll_vector()).count(), 1);
    let counts = capture.extractor.counts();
    assert_eq!((counts.missing_left_out.connections, counts.missing_left_out.payload_bytes), (1, 350));
    assert_eq!(counts.kept.captured_bytes().acceptor, 200);
    let series = capture.extractor.series();
    let packets = |series: &[flowloom_core::record::Series; 2]| series[0].total().packets + series[1].total().packets;
    assert_eq!([packets(&series.replayed), packets(&series.set_aside)], [5, 6]);
}

#[test]
fn complete_only_leaves_out_and_counts_the_others() {
    let mut capture = Capture::with(Options { complete_only: true, ..Options::default() });
    capture.exchange(1, 1000);
    capture.exchange(2, 1000);
    capture.fins(2, 1000);
    capture.extractor.finish();
    assert_eq!(std::iter::from_fn(|| capture.extractor.poll_vector()).count(), 1);
    let left_out = capture.extractor.counts().incomplete_left_out;
    assert_eq!((left_out.connections, left_out.payload_bytes), (1, 300));
    let series = capture.extractor.series();
    let packets = |series: &[flowloom_core::record::Series; 2]| series[0].total().packets + series[1].total().packets;
    assert_eq!(
        [packets(&series.replayed), packets(&series.set_aside)],
        [8, 5],
        "those of what was left out are set aside"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// No segments at all may make it panic, lose a connection or count more bytes than were sent.
    #[test]
    fn any_segments_are_survived(
        segments in prop::collection::vec(
            (any::<bool>(), 0u8..32, any::<u32>(), any::<u32>(), 0u32..3, any::<u16>(), any::<u64>(), any::<bool>()),
            1..80,
        ),
    ) {
        let mut capture = Capture::new();
        let mut sent = 0;
        let mut near = [0u32; 2];
        for (from_client, flags, sequence, ack, len, window, time, is_near) in segments {
            let (source, destination) = if from_client { (client(1), server()) } else { (server(), client(1)) };
            // Half of the numbers make sense beside the ones before.
            let own = &mut near[usize::from(from_client)];
            *own = if is_near { own.wrapping_add(sequence % 5) } else { sequence };
            let sequence = *own;
            let ack = if is_near { near[usize::from(!from_client)] } else { ack };
            let len = len * 700;
            let mut segment = Capture::segment(source, destination, flags, sequence, ack, len);
            segment.window = window;
            sent += u64::from(len);
            let time = Time::from_nanos(if is_near { EPOCH.as_nanos() + time % 3_000_000_000 } else { time });
            capture.extractor.handle_segment(time, &segment);
        }
        let finished = capture.finish();
        let counts = capture.extractor.counts();
        prop_assert_eq!(counts.connections(), finished.len() as u64);
        let seen: u64 = finished
            .iter()
            .flat_map(|one| Side::BOTH.map(|side| one.vector.payload(side).captured))
            .sum();
        prop_assert!(seen <= sent);
        let series = capture.extractor.series();
        let packets: u64 = series.replayed.iter().chain(&series.set_aside).map(|series| series.total().packets).sum();
        prop_assert_eq!(packets, counts.packets);
        prop_assert!(finished.is_sorted_by_key(|one| one.vector.start));
    }
}
