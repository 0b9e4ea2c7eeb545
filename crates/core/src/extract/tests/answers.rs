//! What the ends of concurrent connections wait for from each other (methods A.13.1), by hand.

use super::*;
use crate::workload::{Pause, PerSide};

const MS: u64 = 1_000;

/// The ends that turns were taken by, up to a crossing: 100 bytes, answered with 3,000 after 60 ms (40 of them transit), another 50
/// bytes 5 ms after those, and while they are on their way 200 bytes that nobody asked for.
fn crossing() -> Transcript {
    let mut t = Transcript::established();
    t.i(50 * MS, 1, 1, 100);
    t.a(110 * MS, 1, 101, 1448);
    t.a(111 * MS, 1449, 101, 1448);
    t.a(111 * MS, 2897, 101, 104);
    t.i(116 * MS, 101, 3001, 50);
    t.a(120 * MS, 3001, 101, 200);
    t
}

/// Bytes before it, milliseconds, what was heard, of each end's.
fn answers(t: Transcript) -> PerSide<Vec<(u64, u64, Option<u64>)>> {
    let (_, vector) = t.finish();
    assert_eq!(vector.pattern, Pattern::Concurrent);
    let millis = |pause: &Pause| (pause.after_bytes, pause.length.as_nanos() / 1_000_000, pause.heard);
    vector.pauses.map(|pauses| pauses.iter().map(millis).collect())
}

const I: Side = Side::Initiator;
const A: Side = Side::Acceptor;

#[test]
fn turns_before_a_crossing_are_answers() {
    let found = answers(crossing());
    assert_eq!(found[I], [(100, 5, Some(3_000))]);
    assert_eq!(found[A], [(0, 60, Some(100))], "what crossed waits for nothing");
}

#[test]
fn answers_after_a_crossing_are_found() {
    let mut t = crossing();
    t.i(121 * MS, 151, 3201, 0);
    t.i(300 * MS, 151, 3201, 40);
    t.a(350 * MS, 3201, 191, 70);
    t.i(360 * MS, 191, 3271, 10);
    let found = answers(t);
    let after = [(150, 180, Some(3_200)), (190, 10, Some(3_270))];
    assert_eq!(found[I][1..], after, "from when the last byte passed, whenever it was acknowledged");
    assert_eq!(found[A][1..], [(3_200, 50, Some(190))]);
}

#[test]
fn what_was_heard_just_before_a_small_segment_may_set_the_next_going() {
    let mut t = crossing();
    // The acceptor is 40 ms away: it sends 20 bytes just before it hears of 40, and knows of them when it sends the 300.
    t.i(130 * MS, 151, 3201, 40);
    t.a(170 * MS, 3201, 191, 20);
    t.a(185 * MS, 3221, 191, 300);
    assert_eq!(answers(t)[A][1..], [(3_200, 40, Some(190))], "one answer to one thing heard");
    let mut t = crossing();
    t.a(121 * MS, 3201, 151, 20);
    t.a(185 * MS, 3221, 151, 300);
    assert_eq!(answers(t)[A][1..], [(3_220, 69, Some(150))], "not within 1 ms, but 64 ms later");
    let mut t = crossing();
    t.a(170 * MS, 3201, 151, 20);
    t.a(250 * MS, 3221, 151, 300);
    assert_eq!(answers(t)[A][1..], [(3_200, 54, Some(150))]);
}

#[test]
fn who_hears_nothing_new_does_not_answer() {
    let mut t = crossing();
    t.i(130 * MS, 151, 3201, 40);
    t.i(190 * MS, 191, 3201, 40);
    assert_eq!(answers(t)[I], [(100, 5, Some(3_000)), (150, 10, Some(3_200))]);
}

#[test]
fn a_window_that_opens_is_no_answer() {
    let mut t = crossing();
    // 20 kB in two windows of ten segments; the acknowledgement of the first comes with data.
    t.i(130 * MS, 151, 3201, 400);
    for segment in 0..10 {
        t.a(170 * MS, 3201 + segment * 1448, 551, 1448);
    }
    t.i(180 * MS, 551, 17681, 400);
    for segment in 10..14 {
        t.a(220 * MS, 3201 + segment * 1448, 951, 1448);
    }
    assert_eq!(answers(t)[A], [(0, 60, Some(100)), (3_200, 40, Some(550))], "its segments before were full");
}

#[test]
fn what_is_sent_again_is_no_answer_and_tells_none() {
    let mut t = crossing();
    t.i(130 * MS, 151, 3201, 40);
    t.i(200 * MS, 151, 3201, 40);
    t.a(240 * MS, 3201, 191, 70);
    assert_eq!(answers(t)[A], [(0, 60, Some(100))], "which copy is answered nobody knows");
}

/// Its first small write is sent again; of those behind it is known that they are others.
#[test]
fn writes_of_an_end_that_lost_data_answer_too() {
    let push = Flags::ACK | Flags::PSH;
    let mut t = crossing();
    t.flags(130 * MS, I, 151, 3201, 40, push);
    t.flags(200 * MS, I, 151, 3201, 40, push);
    t.a(240 * MS, 3201, 191, 0);
    t.flags(300 * MS, I, 191, 3201, 40, push);
    t.a(340 * MS, 3201, 231, 0);
    t.flags(500 * MS, I, 231, 3201, 40, push);
    t.a(550 * MS, 3201, 271, 70);
    t.flags(620 * MS, I, 271, 3271, 40, push);
    let found = answers(t);
    assert_eq!(found[I], [(100, 5, Some(3_000)), (190, 0, None), (230, 200, None), (270, 70, Some(3_270))]);
}

/// Its segment before is full, but it acknowledged without data what passed after all of its data was acknowledged.
#[test]
fn an_end_that_has_more_to_send_acknowledges_with_data() {
    for (acked_at, expected) in [(170, vec![(1_610, 120, Some(3_270))]), (181, vec![])] {
        let mut t = crossing();
        t.i(130 * MS, 151, 3201, 1460);
        if acked_at < 180 {
            t.a(acked_at * MS, 3201, 1611, 0);
        }
        t.a(180 * MS, 3201, 151, 70);
        t.a(181 * MS, 3271, 1611, 0);
        t.i(190 * MS, 1611, 3271, 0);
        t.i(300 * MS, 1611, 3271, 1460);
        assert_eq!(answers(t)[I][2..], expected, "all was acknowledged at {acked_at} ms");
    }
}

#[test]
fn an_answer_may_begin_an_adu() {
    let mut t = crossing();
    t.i(900 * MS, 151, 3201, 40);
    t.a(950 * MS, 3201, 191, 70);
    let found = answers(t);
    assert_eq!(found[I][1..], [(150, 780, Some(3_200))], "750 ms after its own last byte: an ADU of its own");
    assert_eq!(found[A][1..], [(3_200, 50, Some(190))]);
}

#[test]
fn ends_that_take_turns_have_adus_for_it() {
    let mut t = Transcript::established();
    t.i(50 * MS, 1, 1, 100);
    t.a(110 * MS, 1, 101, 3_000);
    t.i(116 * MS, 101, 3001, 50);
    let (_, vector) = t.finish();
    assert_eq!(vector.pattern, Pattern::Sequential);
    assert_eq!(vector.pauses, PerSide::default());
}
