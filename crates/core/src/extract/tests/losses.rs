//! Losses at their places (methods A.13.7), by hand. Large numbers are in `make validate`, group `losses`.

use super::*;
use crate::workload::LostSegment;

const MS: u64 = 1_000;

/// A response of five segments of 1,000 bytes, of which one may be lost before the monitor, which is 10 ms from the initiator and back.
fn response(missing: Option<u32>) -> Transcript {
    let mut t = Transcript::established();
    t.i(51 * MS, 1, 1, 300);
    for number in (0..5).filter(|number| Some(*number) != missing) {
        t.a(91 * MS, 1 + 1_000 * number, 301, 1_000);
    }
    t
}

/// The second segment is asked for.
fn ask(t: &mut Transcript) {
    (0..4).for_each(|_| _ = t.i(101 * MS, 301, 1_001, 0));
}

/// Bytes before, bytes, transmission, whether before the monitor.
type Place = (u64, u64, u32, bool);

/// The acceptor's.
fn losses(vector: &ConnectionVector) -> Vec<Place> {
    assert_eq!(vector.losses[I], [], "the initiator lost nothing");
    let told = |lost: &LostSegment| (lost.after_bytes, lost.bytes, lost.copy, lost.before_monitor);
    vector.losses[A].iter().map(told).collect()
}

#[test]
fn a_repeated_segment_was_lost_behind_the_monitor() {
    let mut t = response(None);
    ask(&mut t);
    t.a(142 * MS, 1_001, 301, 1_000);
    t.i(152 * MS, 301, 5_001, 0);
    assert_eq!(losses(&t.finish().1), [(1_000, 1_000, 0, false)]);
}

#[test]
fn so_was_its_repetition_if_it_comes_again() {
    let mut t = response(None);
    ask(&mut t);
    t.a(142 * MS, 1_001, 301, 1_000);
    t.a(542 * MS, 1_001, 301, 1_000);
    t.i(552 * MS, 301, 5_001, 0);
    assert_eq!(losses(&t.finish().1), [(1_000, 1_000, 0, false), (1_000, 1_000, 1, false)]);
}

#[test]
fn a_filled_hole_was_lost_before_the_monitor() {
    let mut t = response(Some(1));
    ask(&mut t);
    t.a(142 * MS, 1_001, 301, 1_000);
    // And the one that filled it behind.
    t.a(542 * MS, 1_001, 301, 1_000);
    t.i(552 * MS, 301, 5_001, 0);
    assert_eq!(losses(&t.finish().1), [(1_000, 1_000, 0, true), (1_000, 1_000, 1, false)]);
}

#[test]
fn what_is_acknowledged_too_soon_had_arrived() {
    let mut t = response(None);
    t.i(101 * MS, 301, 4_001, 0);
    // A probe for the tail, whose acknowledgement was late.
    t.a(131 * MS, 4_001, 301, 1_000);
    t.i(137 * MS, 301, 5_001, 0);
    assert_eq!(losses(&t.finish().1), []);
    let mut t = response(None);
    t.i(101 * MS, 301, 4_001, 0);
    t.a(131 * MS, 4_001, 301, 1_000);
    t.i(141 * MS, 301, 5_001, 0);
    assert_eq!(losses(&t.finish().1), [(4_000, 1_000, 0, false)]);
}

#[test]
fn overtaken_segments_and_copies_are_no_losses() {
    let mut t = response(Some(1));
    t.a(92 * MS, 1_001, 301, 1_000);
    t.i(102 * MS, 301, 5_001, 0);
    assert_eq!(losses(&t.finish().1), []);
    let mut t = response(None);
    t.a(91 * MS, 4_001, 301, 1_000);
    t.i(101 * MS, 301, 5_001, 0);
    assert_eq!(losses(&t.finish().1), []);
}

#[test]
fn an_end_beside_the_monitor_loses_on_one_side_of_it() {
    for (near, expected) in [(A, &[][..]), (I, &[(1_000, 1_000, 0, true)])] {
        let mut t = response(Some(1));
        ask(&mut t);
        t.a(142 * MS, 1_001, 301, 1_000);
        t.i(152 * MS, 301, 5_001, 0);
        assert_eq!(losses(&t.finish_near(Some(near)).1), expected, "{near:?}");
    }
}

#[test]
fn places_count_the_bytes_of_data_units() {
    let mut t = response(None);
    t.i(101 * MS, 301, 5_001, 0);
    t.i(200 * MS, 301, 5_001, 300);
    // 1,000 bytes that the capture lacks, and that were never acknowledged: no bytes of a data unit.
    t.a(240 * MS, 6_001, 601, 1_000);
    t.a(640 * MS, 6_001, 601, 1_000);
    let vector = t.finish().1;
    assert_eq!(vector.bytes(A), 6_000);
    assert_eq!(losses(&vector), [(5_000, 1_000, 0, false)]);
}

/// An acknowledgement of the initiator with SACK blocks.
fn sack(t: &mut Transcript, micros: u64, ack: u32, blocks: [(u32, u32); 2]) {
    t.sacked = Some(blocks);
    t.i(micros, 301, ack, 0);
    t.sacked = None;
}

const NO_BLOCK: (u32, u32) = (0, 0);

/// The acceptor's: losses, segments sent again for nothing, others sent again.
fn told(t: Transcript) -> (Vec<Place>, u64, u64) {
    let vector = t.finish().1;
    let repeated = vector.ends[A].segments.unwrap().repeated;
    (losses(&vector), repeated.spurious, repeated.lost())
}

const SECOND: Place = (1_000, 1_000, 0, false);

#[test]
fn what_was_acknowledged_selectively_had_arrived() {
    let mut t = response(None);
    sack(&mut t, 101 * MS, 1_001, [(2_001, 5_001), NO_BLOCK]);
    // After a timeout all of it is sent again.
    (1..5).for_each(|number| _ = t.a(391 * MS, 1 + 1_000 * number, 301, 1_000));
    t.i(401 * MS, 301, 5_001, 0);
    assert_eq!(told(t), (vec![SECOND], 3, 1));
}

#[test]
fn what_is_acknowledged_selectively_too_soon_had_arrived() {
    let mut t = response(None);
    sack(&mut t, 101 * MS, 1_001, [(2_001, 4_001), NO_BLOCK]);
    t.a(101 * MS, 4_001, 301, 1_000);
    sack(&mut t, 102 * MS, 1_001, [(2_001, 5_001), NO_BLOCK]);
    t.a(141 * MS, 1_001, 301, 1_000);
    t.i(151 * MS, 301, 5_001, 0);
    assert_eq!(told(t).0, [SECOND]);
}

#[test]
fn what_arrived_twice_was_not_lost() {
    // Below the acknowledgement, and inside the second block.
    for (ack, second) in [(5_001, NO_BLOCK), (1_001, (2_001, 5_001))] {
        let mut t = response(None);
        t.i(101 * MS, 301, 1_001, 0);
        t.a(391 * MS, 1_001, 301, 1_000);
        t.a(391 * MS, 4_001, 301, 1_000);
        if ack > 1_001 {
            t.i(401 * MS, 301, ack, 0);
        }
        sack(&mut t, 402 * MS, ack, [(4_001, 5_001), second]);
        t.i(403 * MS, 301, 5_001, 0);
        assert_eq!(told(t), (vec![SECOND], 1, 1), "{ack}");
    }
}

#[test]
fn a_report_of_a_needless_segment_excuses_no_other() {
    let mut t = response(None);
    ask(&mut t);
    t.a(142 * MS, 1_001, 301, 1_000);
    t.i(152 * MS, 301, 5_001, 0);
    t.a(391 * MS, 1_001, 301, 1_000);
    sack(&mut t, 401 * MS, 5_001, [(1_001, 2_001), NO_BLOCK]);
    assert_eq!(told(t), (vec![SECOND], 1, 1));
}

#[test]
fn an_answer_with_nothing_new_tells_of_a_needless_segment() {
    // Of the two that were sent again the first alone had been lost.
    let mut t = response(None);
    t.i(101 * MS, 301, 1_001, 0);
    t.a(391 * MS, 1_001, 301, 1_000);
    t.a(391 * MS, 2_001, 301, 1_000);
    t.i(401 * MS, 301, 5_001, 0);
    // What is sent now cannot be meant.
    t.a(402 * MS, 5_001, 301, 1_000);
    t.i(402 * MS, 301, 5_001, 0);
    t.i(412 * MS, 301, 6_001, 0);
    assert_eq!(told(t), (vec![SECOND], 1, 1));
    // A window update is no answer to a segment.
    let mut t = response(None);
    t.i(101 * MS, 301, 1_001, 0);
    t.a(391 * MS, 1_001, 301, 1_000);
    t.i(401 * MS, 301, 5_001, 0);
    t.window = 2_000;
    t.i(402 * MS, 301, 5_001, 0);
    assert_eq!(told(t), (vec![SECOND], 0, 1));
}

#[test]
fn so_do_selective_acknowledgements_that_say_nothing_new() {
    let mut t = response(None);
    t.a(93 * MS, 4_001, 301, 1_000);
    sack(&mut t, 101 * MS, 1_001, [(2_001, 5_001), NO_BLOCK]);
    sack(&mut t, 103 * MS, 1_001, [(2_001, 5_001), NO_BLOCK]);
    t.a(141 * MS, 1_001, 301, 1_000);
    t.i(151 * MS, 301, 5_001, 0);
    assert_eq!(told(t), (vec![SECOND], 1, 1));
}

#[test]
fn the_acknowledgement_of_a_fin_is_no_answer_to_data() {
    let mut t = response(None);
    t.i(101 * MS, 301, 4_001, 0);
    t.a(391 * MS, 4_001, 301, 1_000);
    t.i(401 * MS, 301, 5_001, 0);
    t.flags(391 * MS, Side::Acceptor, 5_001, 301, 0, Flags::FIN | Flags::ACK);
    t.i(402 * MS, 301, 5_002, 0);
    assert_eq!(told(t), (vec![(4_000, 1_000, 0, false)], 0, 1));
}

#[test]
fn selective_acknowledgements_alone_are_no_trouble() {
    let mut t = response(None);
    sack(&mut t, 101 * MS, 1_001, [(2_001, 5_001), NO_BLOCK]);
    t.i(101 * MS, 301, 5_001, 0);
    assert_eq!(told(t), (vec![], 0, 0));
}
