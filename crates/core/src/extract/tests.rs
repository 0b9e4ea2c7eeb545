//! Transcripts of connections, written as methods A.12 writes them.

use proptest::prelude::*;

use crate::time::{Duration, Time};
use crate::wire::{Flags, Timestamps};
use crate::workload::{
    Adu, Close, ConnectionVector, InitiatorRule, LinkSide, Pattern, Payload, Repaired, Repeated, Segments, Side,
};

use super::{Boundaries, Class, Identity, Missing, Observer, Seen};

mod answers;
mod losses;
mod nagle;
mod pauses;
mod rates;
mod reads;
mod seams;
mod starts;
mod syns;

const ISN: [u32; 2] = [4_294_967_200, 77];

/// A connection being observed; sequence numbers relative to the ISNs, times in microseconds.
struct Transcript {
    observer: Observer,
    isn: [u32; 2],
    /// IP identification of the packets that follow; 0 tells nothing.
    ip_id: u16,
    /// Their window.
    window: u16,
    /// Microseconds of a tick of both clocks; 0 for no timestamps.
    tick: u64,
    /// Microseconds that the packets that follow waited before the monitor.
    waited: u64,
    /// The clock of each end as the other heard it last.
    heard: [u32; 2],
    /// SACK blocks of the packets that follow; empty ones are none.
    sacked: Option<[(u32, u32); 2]>,
}

impl Transcript {
    fn new() -> Transcript {
        let observer = Observer::new(Time::ZERO, Duration::from_millis(500));
        Transcript { observer, isn: ISN, ip_id: 0, window: 1000, tick: 0, waited: 0, heard: [0; 2], sacked: None }
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
        let timestamps = (self.tick > 0).then(|| {
            let value = 1_000 + ((micros - self.waited) / self.tick) as u32;
            self.heard[side as usize] = value;
            Timestamps { value, echo: self.heard[side.other() as usize] }
        });
        let isn = self.isn[side.other() as usize];
        let mut sack_blocks = [(0, 0); 3];
        for (block, (start, end)) in sack_blocks.iter_mut().zip(self.sacked.into_iter().flatten()) {
            *block = (isn.wrapping_add(start), isn.wrapping_add(end));
        }
        let seen = Seen {
            sequence: self.isn[side as usize].wrapping_add(sequence),
            acknowledgement: self.isn[side.other() as usize].wrapping_add(ack),
            flags: Flags(flags),
            window: self.window,
            payload_bytes: len,
            ip_bytes: 40 + len,
            ip_id: std::num::NonZeroU16::new(self.ip_id),
            mss: (flags & Flags::SYN != 0).then_some(1460),
            window_scale: (flags & Flags::SYN != 0).then_some(7),
            timestamps,
            sack: self.sacked.is_some(),
            sack_blocks,
            options_cut: false,
        };
        self.observer.handle_segment(Time::from_nanos(micros * 1000), side, &seen).new_bytes
    }

    fn i(&mut self, micros: u64, sequence: u32, ack: u32, len: u32) -> u32 {
        self.flags(micros, Side::Initiator, sequence, ack, len, Flags::ACK)
    }

    fn a(&mut self, micros: u64, sequence: u32, ack: u32, len: u32) -> u32 {
        self.flags(micros, Side::Acceptor, sequence, ack, len, Flags::ACK)
    }

    fn finish(self) -> (Class, ConnectionVector) {
        self.finish_near(None)
    }

    /// With the monitor at one of the ends.
    fn finish_near(self, near: Option<Side>) -> (Class, ConnectionVector) {
        self.finish_with(near, Missing::default())
    }

    fn finish_with(mut self, near: Option<Side>, missing: Missing) -> (Class, ConnectionVector) {
        let identity = Identity {
            id: 0,
            start: Time::ZERO,
            initiator_side: LinkSide::Left,
            initiator_rule: InitiatorRule::Syn,
            near,
            ip_version: None,
        };
        self.observer.finish(identity, missing)
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
fn silence_splits_a_replay_where_an_adu_begins_only() {
    // Over a slow link a response of 3,000 bytes comes in two pieces, 900 ms apart; another of the same end follows 900 ms after it.
    let replayed = |transcript: Transcript| {
        let mut t = transcript;
        t.i(51_000, 1, 1, 100);
        t.a(200_000, 1, 101, 1500);
        t.a(1_100_000, 1501, 101, 1500);
        t.a(2_000_000, 3001, 101, 700);
        t.finish().1
    };
    let bytes = |vector: &ConnectionVector| vector.adus.iter().map(|adu| adu.bytes).collect::<Vec<_>>();
    let captured = replayed(Transcript::established());
    assert_eq!(bytes(&captured), [100, 1500, 1500, 700], "a capture says nothing but the silence");
    let mut original = captured;
    let second = original.adus.remove(2).bytes;
    original.adus[1].bytes += second;
    let mut known = Transcript::established();
    known.observer = known.observer.knowing(Some(Box::new(Boundaries::of(&original))));
    let replay = replayed(known);
    assert_eq!(bytes(&replay), [100, 3000, 700]);
    let seen = replay.adus[1].seen.unwrap();
    assert_eq!(seen.last, Duration::from_millis(1_100), "a response is over with its last byte");
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
fn a_side_without_captured_data_lacks_what_its_fin_tells() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 100);
    t.flags(95_000, A, 2903, 101, 0, Flags::FIN | Flags::ACK);
    t.i(97_000, 101, 2904, 0);
    let (_, vector) = t.finish();
    assert_eq!(vector.payload(A), Payload { captured: 0, missing: 2902, acknowledged: 2902, replayed: 0 });
    assert_eq!(vector.payload(I), Payload { captured: 100, missing: 0, acknowledged: 0, replayed: 100 });
}

/// Both ends close, and the FIN of the acceptor was not captured either.
#[test]
fn a_fin_that_was_not_captured_is_no_byte() {
    let mut t = Transcript::established();
    t.i(51_000, 1, 1, 100);
    t.i(95_000, 101, 2903, 0);
    t.flags(96_000, I, 101, 2903, 0, Flags::FIN | Flags::ACK);
    t.i(140_000, 102, 2904, 0);
    assert_eq!(t.finish().1.payload(A).missing, 2902);
}

#[test]
fn acknowledged_holes_are_replayed_and_others_left_out() {
    let finish = |missing| {
        let mut t = Transcript::established();
        t.i(51_000, 1, 1, 100);
        t.a(95_000, 1, 101, 1000);
        // Bytes 1,001 to 2,000 never pass and are acknowledged.
        t.a(96_000, 2001, 101, 1000);
        t.i(97_000, 101, 3001, 50);
        // Of bytes 3,001 to 5,000 the first 500 are acknowledged.
        t.a(98_000, 5001, 151, 1000);
        t.i(99_000, 151, 3501, 0);
        t.finish_with(None, missing).1
    };
    for (missing, adus) in [
        (Missing::Acknowledged, [(3000, 1000), (1500, 500)]),
        (Missing::All, [(3000, 1000), (3000, 2000)]),
        (Missing::Skip, [(3000, 1000), (1500, 500)]),
    ] {
        let vector = finish(missing);
        let of_acceptor = vector.adus.iter().filter(|adu| adu.side == A).map(|adu| (adu.bytes, adu.missing_bytes));
        assert!(of_acceptor.eq(adus), "{missing:?}");
        let payload = vector.payload(A);
        assert_eq!((payload.captured, payload.missing, payload.acknowledged), (3000, 3000, 1500));
        assert_eq!(payload.replayed, adus.iter().map(|(bytes, _)| bytes).sum::<u64>());
    }
}

proptest! {
    /// Against one flag for each byte that was sent, captured or acknowledged.
    #[test]
    fn payload_adds_up_as_a_set_of_bytes(
        steps in prop::collection::vec((any::<bool>(), 0u32..60, 1u32..40, 0u32..100, any::<bool>()), 1..40),
        fin in any::<bool>(),
    ) {
        const HANDSHAKE: u32 = 1;
        for missing in [Missing::Acknowledged, Missing::All] {
            let mut t = Transcript::established();
            let mut captured = [[false; 200]; 2];
            let mut acked = [0usize; 2];
            for (number, &(from_acceptor, start, len, ack, probe)) in steps.iter().enumerate() {
                let (own, peer) = (usize::from(from_acceptor), usize::from(!from_acceptor));
                let side = if from_acceptor { A } else { I };
                // One byte below the acknowledged ones is a keep-alive or a probe, no data.
                let len = if len == 1 { 2 } else { len };
                let len = if probe { 0 } else { len };
                acked[peer] = acked[peer].max(ack as usize);
                let time = 100_000 + 1_000 * number as u64;
                t.flags(time, side, HANDSHAKE + start, HANDSHAKE + ack, len, Flags::ACK);
                captured[own][start as usize..(start + len) as usize].fill(true);
            }
            let high = captured.map(|bytes| bytes.iter().rposition(|captured| *captured).map_or(0, |last| last + 1));
            if fin {
                t.flags(900_000, A, HANDSHAKE + 150, HANDSHAKE, 0, Flags::FIN | Flags::ACK);
            }
            let (_, vector) = t.finish_with(None, missing);
            for side in Side::BOTH {
                let (captured, high, acked) = (&captured[side as usize], high[side as usize], acked[side as usize]);
                let payload = vector.payload(side);
                // Bytes that the FIN's number or an acknowledgement tells of; without a FIN one number may be its own.
                let told = match side {
                    A if fin => 150,
                    _ if acked > high + 1 => acked,
                    _ => high,
                };
                let told = told.max(high);
                let lacks = |below: usize| captured[..told.min(below)].iter().filter(|captured| !**captured).count() as u64;
                prop_assert_eq!(payload.captured, captured.iter().filter(|captured| **captured).count() as u64);
                prop_assert_eq!((payload.missing, payload.acknowledged), (lacks(told), lacks(acked)));
                let counted = match missing {
                    // It has no data unit that the bytes could be part of.
                    _ if high == 0 => 0,
                    Missing::All => payload.missing,
                    _ => payload.acknowledged,
                };
                prop_assert_eq!(payload.replayed, payload.captured + counted);
                prop_assert!(vector.adus.iter().all(|adu| adu.missing_bytes < adu.bytes));
            }
        }
    }
}

#[test]
fn the_receivers_window_says_how_many_bytes_may_be_missing_at_the_end() {
    // The server's own window is 128 kB, the client's 1.28 MB: 16 of those may be behind what the capture saw.
    for (acknowledged, missing) in [(20_000_000, 19_998_999), (21_000_000, 0)] {
        let mut t = Transcript::established();
        t.i(51_000, 1, 1, 100);
        t.a(95_000, 1, 101, 1000);
        t.window = 10_000;
        t.i(97_000, 101, acknowledged, 0);
        let (_, vector) = t.finish();
        assert_eq!(vector.ends.acceptor.missing_bytes(), missing);
    }
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

/// Five segments of 100 bytes of the initiator from 60 ms on, 1 ms apart, of which the receiver has the first. Round
/// trip 50 ms, 10 ms of it to the initiator.
fn flight() -> Transcript {
    let mut t = Transcript::established();
    (0..5).for_each(|n| {
        t.i(60_000 + u64::from(n) * 1_000, 1 + n * 100, 1, 100);
    });
    t.a(101_000, 1, 101, 0);
    t
}

/// What became of the initiator's segments.
fn segments(t: Transcript) -> Segments {
    let segments = t.finish().1.ends.initiator.segments.unwrap();
    assert_eq!(segments.repeated.total(), segments.duplicates, "every duplicate is of one class");
    assert_eq!(segments.repaired.total(), segments.lost_before, "and every loss before the monitor");
    segments
}

#[test]
fn the_timer_sends_again_no_sooner_than_it_can_run_out() {
    let again = |age: u64| {
        let mut t = Transcript::established();
        t.i(60_000, 1, 1, 100);
        t.i(60_000 + age, 1, 1, 100);
        segments(t).repeated
    };
    assert_eq!(again(200_000), Repeated { timeout: 1, ..Repeated::default() });
    assert_eq!(again(199_999), Repeated { other: 1, ..Repeated::default() }, "a tail loss probe");
}

#[test]
fn three_duplicate_acks_make_a_fast_retransmission_and_those_that_follow_in_its_recovery() {
    let again = |duplicate_acks: u64, wait: u64| {
        let mut t = flight();
        (1..=duplicate_acks).for_each(|n| {
            t.a(101_000 + n, 1, 101, 0);
        });
        t.i(101_000 + duplicate_acks + wait, 101, 1, 100);
        t
    };
    let repeated = |t| segments(t).repeated;
    assert_eq!(repeated(again(3, 10_000)), Repeated { fast: 1, ..Repeated::default() });
    assert_eq!(repeated(again(2, 10_000)), Repeated { other: 1, ..Repeated::default() }, "two do not ask");
    assert_eq!(repeated(again(3, 70_001)), Repeated { other: 1, ..Repeated::default() }, "an answer takes 10 ms");
    assert_eq!(repeated(again(3, 250_000)), Repeated { timeout: 1, ..Repeated::default() });
    // A partial acknowledgement (RFC 6582) brings the next segment; a copy lost once more, the timer.
    let mut t = again(3, 10_000);
    t.a(151_000, 1, 201, 0);
    t.i(161_000, 201, 1, 100);
    t.i(500_000, 201, 1, 100);
    assert_eq!(repeated(t), Repeated { fast: 2, timeout: 1, ..Repeated::default() });
}

#[test]
fn what_was_acknowledged_when_it_passed_again_is_spurious() {
    let mut t = flight();
    t.i(300_000, 1, 1, 100);
    let segments = segments(t);
    assert_eq!(segments.repeated, Repeated { spurious: 1, ..Repeated::default() });
    assert_eq!(segments.loss().total, 0.0, "a spurious retransmission is no loss");
}

#[test]
fn copies_of_a_packet_are_told_by_its_identification() {
    let again = |first: u16, second: u16, lag: u64, acked: bool| {
        let mut t = Transcript::established();
        t.ip_id = first;
        t.i(60_000, 1, 1, 100);
        if acked {
            t.ip_id = 0;
            t.a(60_100, 1, 101, 0);
        }
        t.ip_id = second;
        t.i(60_000 + lag, 1, 1, 100);
        segments(t).repeated
    };
    let copy = Repeated { copies: 1, ..Repeated::default() };
    assert_eq!(again(7, 7, 12_000, false), copy);
    assert_eq!(again(7, 7, 12_000, true), copy, "also when the receiver was quicker than the copy");
    assert_eq!(again(7, 8, 50, false), Repeated { other: 1, ..Repeated::default() });
    assert_eq!(again(7, 7, 250_000, false), Repeated { timeout: 1, ..Repeated::default() }, "the counter came round");
    assert_eq!(again(0, 0, 100, false), copy, "no sender is that quick");
    assert_eq!(again(0, 0, 101, false), Repeated { other: 1, ..Repeated::default() });
}

#[test]
fn a_copy_is_no_retransmission() {
    let mut t = Transcript::established();
    t.ip_id = 7;
    t.i(60_000, 1, 1, 100);
    t.i(61_000, 1, 1, 100);
    t.ip_id = 9;
    t.a(95_000, 1, 101, 0);
    t.ip_id = 8;
    t.i(900_000, 101, 1, 100);
    let vector = t.finish().1;
    assert_eq!(vector.adus.len(), 2, "it does not join what a silence separates");
    assert_eq!(vector.ends.acceptor.min_transit, Some(Duration::from_millis(35)), "nor make a sample ambiguous");
    assert_eq!(vector.ends.initiator.segments.unwrap().loss().total, 0.0);
    // Copies of one acknowledgement ask for nothing, copies of a SYN do not make the handshake ambiguous.
    let mut t = Transcript::new();
    t.ip_id = 5;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(1_000, I, 0, 0, 0, Flags::SYN);
    t.ip_id = 6;
    t.flags(40_000, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.ip_id = 0;
    t.i(50_000, 1, 1, 100);
    t.i(51_000, 201, 1, 100);
    t.ip_id = 11;
    (0..5).for_each(|n| {
        t.a(90_000 + n, 1, 101, 0);
    });
    t.ip_id = 0;
    t.i(99_000, 101, 1, 100);
    let vector = t.finish().1;
    assert!(!vector.handshake_repeated);
    assert_eq!(vector.ends.acceptor.min_transit, Some(Duration::from_millis(40)));
    assert_eq!(vector.ends.initiator.segments.unwrap().reordered(), 1);
}

#[test]
fn a_syn_sent_again_under_the_same_identification_is_no_copy() {
    let repeated = |after: u64| {
        let mut t = Transcript::new();
        t.ip_id = 5;
        t.flags(0, I, 0, 0, 0, Flags::SYN);
        t.flags(after, I, 0, 0, 0, Flags::SYN);
        t.flags(after + 40_000, A, 0, 1, 0, Flags::SYN | Flags::ACK);
        t.i(after + 50_000, 1, 1, 100);
        t.finish().1.handshake_repeated
    };
    assert_eq!([repeated(200_000), repeated(1_000_000)], [false, true]);
}

#[test]
fn a_duplicate_whose_original_is_forgotten_is_unknown_unless_no_time_fits_another_class() {
    let again = |lag: u64| {
        let mut t = Transcript::established();
        (0..70).for_each(|n| {
            t.i(60_000 + u64::from(n), 1 + n * 100, 1, 100);
        });
        t.i(60_069 + lag, 6_801, 1, 100);
        segments(t).repeated
    };
    assert_eq!(again(10_000), Repeated { unknown: 1, ..Repeated::default() });
    assert_eq!(again(200_000), Repeated { timeout: 1, ..Repeated::default() });
}

#[test]
fn a_loss_before_the_monitor_is_of_the_class_that_repaired_it() {
    let repaired = |lag: u64, duplicate_acks: u64| {
        let mut t = Transcript::established();
        t.i(60_000, 1, 1, 100);
        t.i(61_000, 201, 1, 100);
        t.a(101_000, 1, 101, 0);
        (1..=duplicate_acks).for_each(|n| {
            t.a(101_000 + n, 1, 101, 0);
        });
        t.i(61_000 + lag, 101, 1, 100);
        segments(t).repaired
    };
    assert_eq!(repaired(49_000, 3), Repaired { fast: 1, ..Repaired::default() });
    assert_eq!(repaired(60_000, 0), Repaired { other: 1, ..Repaired::default() });
    assert_eq!(repaired(200_000, 0), Repaired { timeout: 1, ..Repaired::default() });
    assert_eq!(repaired(300_000, 3), Repaired { timeout: 1, ..Repaired::default() });
}

#[test]
fn what_the_receiver_had_before_the_monitor_saw_it_was_not_lost() {
    let late = |ack: u32| {
        let mut t = Transcript::established();
        t.i(60_000, 1, 1, 100);
        t.i(61_000, 201, 1, 100);
        t.a(101_000, 1, ack, 0);
        t.i(300_000, 101, 1, 100);
        let segments = segments(t);
        (segments.late, segments.lost_before, segments.uncaptured)
    };
    assert_eq!(late(101), (1, 1, 0));
    assert_eq!(late(301), (1, 0, 1), "the capture missed the original");
}

#[test]
fn bytes_from_before_the_capture_are_no_loss() {
    let mut t = Transcript::new();
    t.i(0, 5_001, 901, 100);
    t.a(40_000, 901, 5_101, 10);
    t.i(90_000, 5_101, 911, 10);
    t.i(400_000, 4_001, 911, 100);
    let segments = segments(t);
    assert_eq!((segments.late, segments.uncaptured, segments.lost_before), (1, 1, 0));
}

#[test]
fn where_no_round_trip_is_known_three_milliseconds_tell_reordering_from_loss() {
    let late = |lag: u64| {
        let mut t = Transcript::new();
        t.i(0, 1, 1, 100);
        t.i(10_000, 201, 1, 100);
        t.i(10_000 + lag, 101, 1, 100);
        let segments = segments(t);
        (segments.reordered(), segments.lost_before)
    };
    assert_eq!(late(2_999), (1, 0));
    assert_eq!(late(3_000), (0, 1));
}

#[test]
fn keep_alives_and_window_probes_are_told_apart() {
    let mut t = flight();
    t.a(110_000, 1, 501, 0);
    t.i(60_000_000, 500, 1, 1);
    t.window = 0;
    t.a(60_100_000, 1, 501, 0);
    t.i(61_000_000, 500, 1, 1);
    let segments = segments(t);
    assert_eq!((segments.keep_alives, segments.window_probes, segments.data), (1, 1, 5));
}

/// Most kernels send no byte with them (methods A.3).
#[test]
fn keep_alives_may_be_empty() {
    let mut t = flight();
    t.a(110_000, 1, 501, 0);
    for minute in 1..4 {
        t.i(minute * 60_000_000, 500, 1, 0);
        t.a(minute * 60_000_000 + 40_000, 1, 501, 0);
    }
    t.window = 0;
    t.a(200_000_000, 1, 501, 0);
    t.i(201_000_000, 500, 1, 0);
    let segments = segments(t);
    assert_eq!((segments.keep_alives, segments.window_probes, segments.data), (3, 1, 5));
}

#[test]
fn old_acknowledgements_are_no_keep_alives() {
    let mut t = Transcript::established();
    t.i(60_000, 1, 1, 100);
    t.a(100_000, 1, 101, 100);
    t.a(101_000, 101, 101, 100);
    t.i(120_000, 101, 201, 1);
    t.a(160_000, 201, 102, 0);
    // Sent before the byte, and before the acknowledgement of 201: one below what is acknowledged now.
    t.i(170_000, 101, 101, 0);
    // One that is older still, and the present one.
    t.i(171_000, 1, 1, 0);
    t.i(172_000, 102, 201, 0);
    assert_eq!(segments(t).keep_alives, 0);
}

#[test]
fn a_byte_refused_by_a_closed_window_is_not_lost() {
    let mut t = Transcript::established();
    t.i(60_000, 1, 1, 100);
    t.window = 0;
    t.a(100_000, 1, 101, 0);
    // Two probes with the byte that follows; the receiver has no room for it.
    t.i(400_000, 101, 1, 1);
    t.a(440_000, 1, 101, 0);
    t.i(800_000, 101, 1, 1);
    t.a(840_000, 1, 101, 0);
    t.window = 1000;
    t.a(1_500_000, 1, 101, 0);
    t.i(1_510_000, 101, 1, 1);
    t.a(1_550_000, 1, 102, 0);
    let end = t.finish().1.ends.initiator;
    let segments = end.segments.unwrap();
    assert_eq!((segments.data, segments.window_probes, segments.duplicates), (2, 2, 0));
    assert_eq!(segments.loss().total, 0.0);
}

#[test]
fn without_the_other_direction_no_window_is_closed() {
    let mut t = Transcript::new();
    t.i(0, 1, 1, 100);
    t.i(10_000, 101, 1, 1);
    t.i(400_000, 101, 1, 1);
    let segments = segments(t);
    assert_eq!((segments.data, segments.window_probes, segments.duplicates), (3, 0, 1));
}

#[test]
fn bytes_in_flight_where_the_capture_ends_are_counted() {
    let vector = flight().finish().1;
    assert_eq!(vector.ends.initiator.segments.unwrap().unacked_bytes, 400);
    assert_eq!(vector.ends.acceptor.segments.unwrap().unacked_bytes, 0);
}

#[test]
fn the_position_of_the_monitor_decides_what_late_and_repeated_segments_can_mean() {
    let transcript = || {
        let mut t = Transcript::established();
        t.i(60_000, 1, 1, 100);
        t.i(61_000, 201, 1, 100);
        t.i(400_000, 101, 1, 100);
        t.i(401_000, 301, 1, 100);
        t.i(700_000, 301, 1, 100);
        t
    };
    let seen = |near| transcript().finish_near(near).1.ends.initiator.segments.unwrap();
    let counts = |segments: Segments| {
        (segments.lost_before, segments.uncaptured, segments.repeated.timeout, segments.repeated.spurious)
    };
    assert_eq!(counts(seen(None)), (1, 0, 1, 0));
    assert_eq!(counts(seen(Some(I))), (0, 1, 1, 0), "at the sender nothing is lost before the monitor");
    assert_eq!(counts(seen(Some(A))), (1, 0, 0, 1), "at the receiver nothing is lost after it");
    assert_eq!(seen(Some(I)).loss().before, 0.0);
    assert_eq!(seen(Some(A)).loss().after, 0.0);
}

#[test]
fn the_way_to_the_end_the_monitor_stands_at_is_short_even_if_nothing_measured_it() {
    let transits = |near| {
        let mut t = Transcript::new();
        t.i(0, 1, 1, 100);
        t.a(30_000, 1, 101, 0);
        let vector = t.finish_near(near).1;
        (vector.ends.initiator.min_transit, vector.min_rtt(), vector.rtt_is_half())
    };
    assert_eq!(transits(None), (None, Some(Duration::from_millis(30)), true));
    assert_eq!(transits(Some(I)), (Some(Duration::ZERO), Some(Duration::from_millis(30)), false));
}

#[test]
fn positions_by_the_side_of_the_link() {
    use super::Position;
    use LinkSide::{Left, Right};
    for (position, initiator_left, initiator_right) in [
        (Position::Mid, None, None),
        (Position::Left, Some(I), Some(A)),
        (Position::Right, Some(A), Some(I)),
        (Position::Initiator, Some(I), Some(I)),
        (Position::Acceptor, Some(A), Some(A)),
    ] {
        assert_eq!([position.near(Left), position.near(Right)], [initiator_left, initiator_right], "{position:?}");
    }
}

#[test]
fn half_closes_and_resets_after_a_fin_are_kept() {
    let mut t = Transcript::established();
    t.i(60_000, 1, 1, 100);
    t.flags(80_000, I, 101, 1, 0, Flags::ACK | Flags::FIN);
    t.a(120_000, 1, 102, 1000);
    t.flags(920_000, A, 1001, 102, 0, Flags::ACK | Flags::FIN);
    t.flags(930_000, I, 102, 1002, 0, Flags::RST);
    let ends = t.finish().1.ends;
    assert_eq!(ends.initiator.fin_wait, Some(Duration::from_millis(20)));
    assert_eq!(ends.acceptor.fin_wait, Some(Duration::from_millis(800)));
    assert_eq!((ends.initiator.rst_seen, ends.acceptor.rst_seen), (true, false));
}

#[test]
fn the_unscaled_window_is_the_field_as_it_stands() {
    let vector = test_vector_1();
    let end = vector.ends.initiator;
    assert_eq!((end.max_window, end.max_window_unscaled), (Some(128_000), Some(1_000)));
}
