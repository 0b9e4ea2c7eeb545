//! Pauses inside ADUs (methods A.13.1), by hand. Large numbers are in `make validate`, group `writes`.

use super::*;
use crate::workload::Pause;

const MS: u64 = 1_000;

/// A connection whose acceptor is 40 ms behind the monitor and answers 300 bytes with two full segments, at 140 ms, which are
/// acknowledged at once.
fn answering(tick: u64) -> Transcript {
    let mut t = Transcript::new();
    t.tick = tick;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(40 * MS, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.flags(50 * MS, I, 1, 1, 0, Flags::ACK);
    t.i(50 * MS, 1, 1, 300);
    t.a(90 * MS, 1, 301, 0);
    t.a(140 * MS, 1, 301, 1448);
    t.a(140 * MS, 1449, 301, 1448);
    t.i(150 * MS, 301, 2897, 0);
    t
}

/// The acceptor's pauses: bytes before it, milliseconds.
fn pauses(t: Transcript) -> Vec<(u64, u64)> {
    let vector = t.finish().1;
    assert_eq!(vector.pauses[I], [], "the initiator makes none");
    assert_eq!(vector.adus.iter().filter(|adu| adu.side == A).count(), 1);
    vector.pauses[A]
        .iter()
        .map(|Pause { after_bytes, length, .. }| (*after_bytes, length.as_nanos() / 1_000_000))
        .collect()
}

#[test]
fn a_pause_is_the_programs() {
    let mut t = answering(MS);
    t.a(340 * MS, 2897, 301, 1448);
    t.a(340 * MS, 4345, 301, 1448);
    assert_eq!(pauses(t), [(2896, 200)]);
}

#[test]
fn waiting_before_the_monitor_is_none() {
    let mut t = answering(MS);
    t.waited = 150 * MS;
    t.a(340 * MS, 2897, 301, 1448);
    assert_eq!(pauses(t), []);
}

#[test]
fn what_an_acknowledgement_sets_going_is_none() {
    let mut t = answering(MS);
    t.a(190 * MS, 2897, 301, 1448);
    assert_eq!(pauses(t), [], "40 ms after the acknowledgement");
    let mut t = answering(MS);
    t.a(205 * MS, 2897, 301, 1448);
    assert_eq!(pauses(t), [(2896, 65)], "15 ms later than that");
}

#[test]
fn nobody_pauses_while_data_is_sent_again_or_the_window_is_closed() {
    let mut t = answering(MS);
    t.a(340 * MS, 4345, 301, 1448);
    t.a(350 * MS, 2897, 301, 1448);
    assert_eq!(pauses(t), [], "the first was lost, and comes again");
    let mut t = answering(MS);
    t.window = 0;
    t.i(160 * MS, 301, 2897, 0);
    t.window = 1_000;
    t.i(280 * MS, 301, 2897, 0);
    t.a(340 * MS, 2897, 301, 1448);
    assert_eq!(pauses(t), [], "its reader paused");
}

/// Its own acknowledgements count what it has sent.
#[test]
fn a_lone_last_segment_that_was_lost_before_the_monitor_is_none() {
    for (next, expected) in [(3197, vec![]), (2897, vec![(2896, 170)])] {
        let mut t = answering(MS);
        t.a(205 * MS, next, 301, 0);
        t.flags(310 * MS, A, 2897, 301, 300, Flags::ACK | Flags::PSH);
        assert_eq!(pauses(t), expected, "{next}");
    }
}

#[test]
fn clocks_of_other_ticks_are_read() {
    for tick in [4 * MS, 10 * MS] {
        let mut t = answering(tick);
        t.a(340 * MS, 2897, 301, 1448);
        assert_eq!(pauses(t), [(2896, 200)]);
    }
    let mut t = answering(2 * MS);
    t.a(340 * MS, 2897, 301, 1448);
    assert_eq!(pauses(t), [], "nobody has such a clock");
}

#[test]
fn without_timestamps_small_segments_tell_that_there_was_no_more() {
    let mut t = answering(0);
    t.a(340 * MS, 2897, 301, 1448);
    assert_eq!(pauses(t), [], "it may have waited");
    let mut t = answering(0);
    t.a(150 * MS, 2897, 301, 700);
    t.i(160 * MS, 301, 3597, 0);
    t.a(340 * MS, 3597, 301, 1448);
    assert_eq!(pauses(t), [(3596, 190)]);
}

/// The reader delays its acknowledgement of a small write, as of keys that are typed.
#[test]
fn behind_a_small_write_nothing_need_be_acknowledged() {
    for (flags, expected) in [(Flags::ACK | Flags::PSH, vec![(2896, 65), (2996, 70)]), (Flags::ACK, vec![(2896, 65)])] {
        let mut t = answering(MS);
        t.flags(205 * MS, A, 2897, 301, 100, flags);
        t.flags(275 * MS, A, 2997, 301, 100, flags);
        t.i(290 * MS, 301, 3097, 0);
        assert_eq!(pauses(t), expected, "without PSH it may be a full one");
    }
}

/// The acceptor's second segment was lost behind the monitor.
#[test]
fn beside_a_loss_pauses_between_writes_are_kept() {
    for (flags, expected) in [(Flags::ACK | Flags::PSH, vec![(2996, 200)]), (Flags::ACK, vec![])] {
        let mut t = answering(MS);
        t.a(200 * MS, 1449, 301, 1448);
        t.i(210 * MS, 301, 2897, 0);
        t.flags(280 * MS, A, 2897, 301, 100, flags);
        t.i(290 * MS, 301, 2997, 0);
        t.flags(480 * MS, A, 2997, 301, 100, flags);
        t.i(490 * MS, 301, 3097, 0);
        assert_eq!(pauses(t), expected, "behind a full segment it may be another that was lost");
    }
}

#[test]
fn one_segment_whose_acknowledgement_waits_is_allowed() {
    let mut t = answering(MS);
    t.a(190 * MS, 2897, 301, 1448);
    t.a(190 * MS, 4345, 301, 1448);
    t.a(190 * MS, 5793, 301, 1448);
    t.i(200 * MS, 301, 5793, 0);
    t.a(340 * MS, 7241, 301, 1448);
    assert_eq!(pauses(t), [(7240, 150)]);
}

/// The acceptor is beside the monitor, and holds its last segment back until all before is acknowledged (Nagle).
#[test]
fn what_an_acknowledgement_lets_go_beside_the_monitor_is_none() {
    let mut t = Transcript::new();
    t.tick = MS;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(20, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.flags(40 * MS, I, 1, 1, 0, Flags::ACK);
    t.i(40 * MS, 1, 1, 300);
    t.a(40 * MS + 20, 1, 301, 0);
    for n in 0..3 {
        t.a(50 * MS, 1 + n * 1448, 301, 1448);
    }
    t.i(90 * MS, 301, 4345, 0);
    t.a(90 * MS + 20, 4345, 301, 1448);
    t.i(230 * MS, 301, 5793, 0);
    t.flags(230 * MS + 13, A, 5793, 301, 300, Flags::ACK | Flags::PSH);
    assert_eq!(pauses(t), []);
}
