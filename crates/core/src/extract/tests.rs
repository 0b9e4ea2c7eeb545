//! Transcripts of connections, written as methods A.12 writes them.

use crate::time::{Duration, Time};
use crate::wire::Flags;
use crate::workload::{Adu, Close, ConnectionVector, InitiatorRule, LinkSide, Pattern, Side};

use super::{Class, Identity, Observer, Seen};

const ISN: [u32; 2] = [4_294_967_200, 77];

/// A connection being observed; sequence numbers relative to the ISNs, times in microseconds.
struct Transcript {
    observer: Observer,
    isn: [u32; 2],
}

impl Transcript {
    fn new() -> Transcript {
        Transcript { observer: Observer::new(Time::ZERO, Duration::from_millis(500)), isn: ISN }
    }

    /// After the handshake of methods A.12.
    fn established() -> Transcript {
        let mut transcript = Transcript::new();
        transcript.flags(0, Side::Initiator, 0, 0, 0, Flags::SYN);
        transcript.flags(40_000, Side::Acceptor, 0, 1, 0, Flags::SYN | Flags::ACK);
        transcript.flags(50_000, Side::Initiator, 1, 1, 0, Flags::ACK);
        transcript
    }

    fn flags(&mut self, micros: u64, side: Side, sequence: u32, ack: u32, len: u32, flags: u8) -> u32 {
        let seen = Seen {
            sequence: self.isn[side as usize].wrapping_add(sequence),
            acknowledgement: self.isn[side.other() as usize].wrapping_add(ack),
            flags: Flags(flags),
            window: 1000,
            payload_bytes: len,
            ip_bytes: 40 + len,
            ip_id: None,
            mss: (flags & Flags::SYN != 0).then_some(1460),
            window_scale: (flags & Flags::SYN != 0).then_some(7),
        };
        self.observer.handle_segment(Time::from_nanos(micros * 1000), side, &seen).new_bytes
    }

    fn i(&mut self, micros: u64, sequence: u32, ack: u32, len: u32) -> u32 {
        self.flags(micros, Side::Initiator, sequence, ack, len, Flags::ACK)
    }

    fn a(&mut self, micros: u64, sequence: u32, ack: u32, len: u32) -> u32 {
        self.flags(micros, Side::Acceptor, sequence, ack, len, Flags::ACK)
    }

    fn finish(mut self) -> (Class, ConnectionVector) {
        self.observer.finish(Identity {
            id: 0,
            start: Time::ZERO,
            initiator_side: LinkSide::Left,
            initiator_rule: InitiatorRule::Syn,
            near: None,
        })
    }
}

/// `i329 .149 a3403 1.21 ...`: who sent how much, and the wait after it in seconds.
fn shape(adus: &[Adu]) -> Vec<(Side, u64, Option<f64>)> {
    adus.iter().map(|adu| (adu.side, adu.bytes, adu.wait.map(|wait| wait.as_secs_f64()))).collect()
}

const I: Side = Side::Initiator;
const A: Side = Side::Acceptor;

fn test_vector_1() -> ConnectionVector {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 329);
    t.a(91_000, 1, 330, 0);
    t.a(200_000, 1, 330, 1460);
    t.a(200_100, 2921, 330, 483);
    t.i(210_000, 330, 1461, 0);
    t.a(400_000, 1461, 330, 1460);
    t.i(410_000, 330, 3404, 0);
    t.i(1_610_000, 330, 3404, 403);
    t.i(1_612_000, 330, 3404, 403);
    t.a(1_650_000, 3404, 733, 1000);
    t.i(1_660_000, 733, 4404, 0);
    t.finish().1
}

#[test]
fn a12_tv1_sequential_with_a_loss_and_a_duplicate() {
    let vector = test_vector_1();
    assert_eq!(vector.pattern, Pattern::Sequential);
    assert_eq!(
        shape(&vector.adus),
        [(I, 329, Some(0.149)), (A, 3403, Some(1.21)), (I, 403, Some(0.04)), (A, 1000, None)]
    );
    let waiters: Vec<Side> = vector.adus.iter().map(|adu| adu.waiter).collect();
    assert_eq!(waiters, [A, I, A, A]);
    assert_eq!(vector.ends.acceptor.min_transit, Some(Duration::from_millis(40)));
    assert_eq!(vector.ends.initiator.min_transit, Some(Duration::from_millis(10)));
    assert_eq!(vector.min_rtt(), Some(Duration::from_millis(50)));
    assert_eq!(vector.syn_rtt, Some(Duration::from_millis(50)));
    let (initiator, acceptor) = (vector.ends.initiator, vector.ends.acceptor);
    assert_eq!(
        (initiator.segments.unwrap().data, initiator.segments.unwrap().duplicates, initiator.segments.unwrap().late),
        (3, 1, 0)
    );
    assert_eq!(
        (acceptor.segments.unwrap().data, acceptor.segments.unwrap().late, acceptor.segments.unwrap().lost_before),
        (4, 1, 1)
    );
    assert_eq!(acceptor.segments.unwrap().loss().before, 0.25);
    assert_eq!(initiator.lead_in, Some(Duration::from_millis(1)));
    assert_eq!(acceptor.lead_in, Some(Duration::from_millis(150)));
    assert_eq!(vector.epochs().count(), 2);
}

#[test]
fn a12_tv2_concurrent() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 100);
    t.a(60_000, 1, 1, 50);
    t.i(70_000, 101, 51, 0);
    t.a(100_000, 51, 101, 0);
    t.i(1_000_000, 101, 51, 200);
    t.i(1_300_000, 301, 51, 20);
    t.a(1_620_000, 51, 321, 70);
    let (class, vector) = t.finish();
    assert_eq!(class, Class::Replayable { pattern: Pattern::Concurrent, complete: false });
    let of = |side| shape(&vector.adus).into_iter().filter(move |adu| adu.0 == side).collect::<Vec<_>>();
    assert_eq!(of(I), [(I, 100, Some(0.949)), (I, 220, None)]);
    assert_eq!(of(A), [(A, 50, Some(1.56)), (A, 70, None)]);
    assert!(vector.adus.iter().all(|adu| adu.waiter == adu.side));
    assert_eq!(vector.epochs().count(), 0);
}

#[test]
fn a12_tv3_half_epochs() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 100);
    t.a(95_000, 1, 101, 0);
    t.i(900_000, 101, 1, 150);
    t.a(1_000_000, 1, 251, 500);
    t.a(2_000_000, 501, 251, 300);
    let (_, vector) = t.finish();
    assert_eq!(vector.pattern, Pattern::Sequential);
    assert_eq!(shape(&vector.adus), [(I, 100, Some(0.849)), (I, 150, Some(0.1)), (A, 500, Some(1.0)), (A, 300, None)]);
    let epochs: Vec<_> = vector.epochs().map(|epoch| (epoch.request.is_some(), epoch.response.is_some())).collect();
    assert_eq!(epochs, [(true, false), (true, true), (false, true)]);
}

#[test]
fn the_close_is_the_first_fin_or_reset_and_a_repeated_fin_changes_nothing() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 100);
    t.flags(100_000, A, 1, 101, 50, Flags::ACK | Flags::FIN);
    t.i(110_000, 101, 52, 0);
    assert!(!t.observer.is_closed());
    t.flags(200_000, A, 1, 101, 50, Flags::ACK | Flags::FIN);
    t.flags(300_000, I, 101, 52, 0, Flags::ACK | Flags::FIN);
    t.a(340_000, 52, 102, 0);
    assert!(t.observer.is_closed());
    let (class, vector) = t.finish();
    assert_eq!(class, Class::Replayable { pattern: Pattern::Sequential, complete: true });
    assert_eq!((vector.close, vector.t_close), (Close::Fin(A), Some(Duration::ZERO)));
    assert_eq!(shape(&vector.adus), [(I, 100, Some(0.049)), (A, 50, None)]);
    assert_eq!(vector.ends.acceptor.missing_bytes(), 0);
}

#[test]
fn payload_on_a_reset_is_not_data() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 100);
    assert_eq!(t.flags(60_000, A, 1, 101, 40, Flags::RST | Flags::ACK), 0);
    let (_, vector) = t.finish();
    assert_eq!(shape(&vector.adus), [(I, 100, None)]);
    assert_eq!((vector.close, vector.t_close), (Close::Rst(A), Some(Duration::from_millis(9))));
}

#[test]
fn data_on_the_syn_counts_once() {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 20, Flags::SYN);
    t.flags(40_000, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.i(50_000, 1, 1, 20);
    t.a(95_000, 1, 21, 7);
    let (_, vector) = t.finish();
    assert_eq!(shape(&vector.adus), [(I, 20, Some(0.095)), (A, 7, None)]);
    assert_eq!(vector.ends.initiator.segments.unwrap().duplicates, 1);
    assert_eq!(vector.ends.initiator.lead_in, Some(Duration::ZERO));
}

#[test]
fn keep_alives_and_zero_window_probes_are_not_data() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 100);
    t.a(95_000, 1, 101, 0);
    for minute in 1..5 {
        t.i(minute * 60_000_000, 100, 1, 1);
        t.a(minute * 60_000_000 + 40_000, 1, 101, 0);
    }
    t.i(300_000_000, 101, 1, 50);
    let (_, vector) = t.finish();
    // A retransmission in the gap would have joined the two ADUs (methods A.5.3): a keep-alive is none.
    assert_eq!(shape(&vector.adus), [(I, 100, Some(299.949)), (I, 50, None)]);
    assert_eq!(
        (vector.ends.initiator.segments.unwrap().data, vector.ends.initiator.segments.unwrap().duplicates),
        (2, 0)
    );
}

#[test]
fn a_mid_stream_start_has_no_bytes_from_before_it() {
    let mut t = Transcript::new();
    t.a(0, 5001, 901, 100);
    t.a(1000, 4001, 901, 100);
    t.i(2000, 901, 5101, 10);
    let (class, vector) = t.finish();
    assert_eq!(class, Class::Replayable { pattern: Pattern::Sequential, complete: false });
    // The late segment lies below the first one: its bytes are data, and the 900 between are missing.
    assert_eq!(shape(&vector.adus), [(A, 1100, Some(0.001)), (I, 10, None)]);
    assert_eq!((vector.ends.acceptor.missing_bytes(), vector.ends.acceptor.segments.unwrap().late), (900, 1));
    assert_eq!((vector.syn_rtt, vector.ends.acceptor.lead_in), (None, None));
}

#[test]
fn a_backward_clock_gives_no_negative_wait() {
    let mut t = Transcript::established();
    t.i(900_000, 1, 1, 100);
    t.a(700_000, 1, 101, 100);
    t.i(950_000, 101, 101, 100);
    let (_, vector) = t.finish();
    assert_eq!(shape(&vector.adus), [(I, 100, Some(0.0)), (A, 100, Some(0.05)), (I, 100, None)]);
}

#[test]
fn a_gap_that_the_window_explains_does_not_split() {
    // Round trip 1 s: 0.4 s to the acceptor, 0.6 s to the initiator and back. Two flights of one request.
    let transcript = |second_flight: u64| {
        let mut t = Transcript::new();
        t.flags(0, I, 0, 0, 0, Flags::SYN);
        t.flags(400_000, A, 0, 1, 0, Flags::SYN | Flags::ACK);
        t.i(1_000_000, 1, 1, 1460);
        t.i(1_001_000, 1461, 1, 1460);
        t.a(1_400_000, 1, 1461, 0);
        t.a(1_401_000, 1, 2921, 0);
        t.i(second_flight, 2921, 1, 1000);
        t.finish().1.adus.len()
    };
    assert_eq!(transcript(2_000_500), 1, "sent when the acknowledgement reached the sender");
    assert_eq!(transcript(2_300_000), 2, "sent later than that: the application was silent");
    assert_eq!(transcript(9_000_000), 2);
}

#[test]
fn silence_while_a_loss_is_repaired_does_not_split() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 1000);
    t.i(52_000, 2001, 1, 1000);
    t.i(1_052_000, 1001, 1, 1000);
    t.i(1_053_000, 3001, 1, 1000);
    // After the monitor: a duplicate ends one gap and lies inside the next.
    t.i(2_053_000, 3001, 1, 1000);
    t.i(2_600_000, 4001, 1, 1000);
    let (_, vector) = t.finish();
    assert_eq!(shape(&vector.adus), [(I, 5000, None)]);
}

#[test]
fn reordering_is_told_from_loss_by_lag_and_duplicate_acks() {
    let late = |lag: u64, duplicate_acks: u64| {
        let mut t = Transcript::established();
        t.i(60_000, 1, 1, 100);
        t.i(61_000, 201, 1, 100);
        t.a(101_000, 1, 101, 0);
        (0..duplicate_acks).for_each(|n| {
            t.a(101_001 + n, 1, 101, 0);
        });
        t.i(61_000 + lag, 101, 1, 100);
        let end = t.finish().1.ends.initiator;
        (end.segments.unwrap().late, end.segments.unwrap().lost_before)
    };
    assert_eq!(late(49_000, 0), (1, 0));
    assert_eq!(late(49_000, 2), (1, 0));
    assert_eq!(late(49_000, 3), (1, 1));
    assert_eq!(late(50_000, 0), (1, 1));
}

#[test]
fn data_that_answers_later_than_tcp_delays_an_acknowledgement_tells_no_transit() {
    let transits = |answer: u64, bare: bool| {
        // Data segments only, as some captures keep them: each end acknowledges with its next data.
        let mut t = Transcript::new();
        t.i(0, 1, 1, 100);
        t.a(answer, 1, 101, 100);
        t.i(answer + 30_000, 101, 101, 100);
        if bare {
            t.a(2 * answer + 30_000, 101, 201, 0);
        }
        let vector = t.finish().1;
        (vector.ends.acceptor.min_transit, vector.min_rtt(), vector.rtt_is_half())
    };
    let millis = Duration::from_millis;
    assert_eq!(transits(500_000, false), (Some(millis(500)), Some(millis(530)), false));
    assert_eq!(transits(500_001, false), (None, Some(millis(30)), true));
    assert_eq!(transits(4_000_000, true), (Some(millis(4_000)), Some(millis(4_030)), false), "a slow path");
}

#[test]
fn windows_are_scaled_on_segments_without_syn_if_both_syns_agreed() {
    let vector = test_vector_1();
    assert_eq!(vector.ends.initiator.max_window, Some(128_000));
    assert_eq!(vector.ends.initiator.window_scale, Some(7));
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.i(50_000, 1, 1, 10);
    t.a(60_000, 1, 11, 10);
    assert_eq!(t.finish().1.ends.initiator.max_window, Some(1000), "the other SYN was not seen");
}

#[test]
fn bytes_that_never_passed_are_counted_as_missing() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 100);
    t.a(95_000, 1, 101, 1000);
    t.a(96_000, 2001, 101, 1000);
    t.i(97_000, 101, 4001, 50);
    let (_, vector) = t.finish();
    assert_eq!(vector.bytes(A), 4000, "the acknowledgement tells of 1,000 more at the end");
    assert_eq!(vector.ends.acceptor.missing_bytes(), 2000);
}

#[test]
fn a_segment_that_passes_turns_too_late_joins_the_turn_it_was_sent_in() {
    let transcript = |late_ack: u32| {
        let mut t = Transcript::established();
        t.i(51_000, 1, 1, 100);
        t.a(91_000, 1, 101, 1000);
        t.i(101_000, 101, 1501, 100);
        t.a(141_000, 1501, 201, 700);
        // Sent at 0.091 s, captured at 0.142 s: the request at 0.101 s had acknowledged it.
        t.a(142_000, 1001, late_ack, 500);
        t.finish().1
    };
    for late_ack in [101, 151] {
        let vector = transcript(late_ack);
        assert_eq!(vector.pattern, Pattern::Sequential);
        let sizes: Vec<u64> = vector.adus.iter().map(|adu| adu.bytes).collect();
        assert_eq!(sizes, [100, 1500, 100, 700], "acknowledging {late_ack}");
    }
}
