//! SYNs that are sent again (methods A.13.6).

use super::*;
use crate::workload::{SynAnswer, SynRepeat};

const MS: u64 = 1_000;
const SYN_ACK: u8 = Flags::SYN | Flags::ACK;

fn repeats(vector: &ConnectionVector) -> Vec<(Side, u64, SynAnswer)> {
    let told = |repeat: &SynRepeat| (repeat.side, repeat.wait.as_nanos() / 1_000_000, repeat.answer);
    vector.syn_repeats.iter().map(told).collect()
}

/// The rest of a connection whose SYN/ACK passed `at` milliseconds after the first SYN.
fn goes_on(mut t: Transcript, at: u64) -> ConnectionVector {
    t.flags((at + 10) * MS, I, 1, 1, 0, Flags::ACK);
    t.i((at + 11) * MS, 1, 1, 300);
    t.a((at + 60) * MS, 1, 301, 500);
    t.finish().1
}

#[test]
fn unanswered_and_refused_syns_are_kept() {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(1_028 * MS, I, 0, 0, 0, Flags::SYN);
    t.flags(1_060 * MS, A, 0, 1, 0, Flags::RST | Flags::ACK);
    t.flags(1_528 * MS, I, 0, 0, 0, Flags::SYN);
    t.flags(1_568 * MS, A, 0, 1, 0, SYN_ACK);
    let vector = goes_on(t, 1_568);
    assert_eq!(repeats(&vector), [(I, 1_028, SynAnswer::None), (I, 500, SynAnswer::Reset)]);
    assert!(vector.handshake_repeated && !vector.ends.acceptor.rst_seen);
}

#[test]
fn a_new_attempt_on_the_same_ports_is_another_syn() {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.isn[0] = 5;
    t.flags(3_000 * MS, I, 0, 0, 0, Flags::SYN);
    t.flags(3_040 * MS, A, 0, 1, 0, SYN_ACK);
    assert_eq!(repeats(&goes_on(t, 3_040)), [(I, 3_000, SynAnswer::None)]);
}

#[test]
fn lost_syn_acks_are_kept_and_answered_ones_are_not() {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(40 * MS, A, 0, 1, 0, SYN_ACK);
    t.flags(1_000 * MS, I, 0, 0, 0, Flags::SYN);
    t.flags(1_040 * MS, A, 0, 1, 0, SYN_ACK);
    t.flags(2_040 * MS, A, 0, 1, 0, SYN_ACK);
    t.flags(2_050 * MS, I, 1, 1, 0, Flags::ACK);
    // Its acknowledgement was lost.
    t.flags(3_040 * MS, A, 0, 1, 0, SYN_ACK);
    let vector = goes_on(t, 3_040);
    let expected = [(I, 1_000, SynAnswer::Syn), (A, 1_000, SynAnswer::Syn), (A, 1_000, SynAnswer::None)];
    assert_eq!(repeats(&vector), expected);
}

#[test]
fn roles_are_corrected_in_them_too() {
    let mut t = Transcript::new();
    // Its SYN/ACKs were taken for the initiator's.
    t.flags(0, I, 0, 1, 0, SYN_ACK);
    t.flags(1_000 * MS, I, 0, 1, 0, SYN_ACK);
    t.observer.swap_sides();
    assert_eq!(repeats(&t.finish().1), [(A, 1_000, SynAnswer::None)]);
}

/// The transits of both ends and the round trip of the handshake, in milliseconds, of a connection that sent its SYN again after 1 s, was
/// answered after 1.5 s, and whose acceptor acknowledges `data` milliseconds after data.
fn answered_after(data: u64) -> [Option<u64>; 3] {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(1_000 * MS, I, 0, 0, 0, Flags::SYN);
    t.flags(1_500 * MS, A, 0, 1, 0, SYN_ACK);
    t.flags(1_501 * MS, I, 1, 1, 0, Flags::ACK);
    t.i(1_502 * MS, 1, 1, 300);
    t.flags((1_502 + data) * MS, A, 1, 301, 0, Flags::ACK);
    t.a((1_503 + data) * MS, 1, 301, 500);
    t.flags((1_504 + data) * MS, I, 301, 501, 0, Flags::ACK);
    let vector = t.finish().1;
    let ends = [&vector.ends.acceptor, &vector.ends.initiator].map(|end| end.min_transit);
    [ends[0], ends[1], vector.syn_rtt].map(|time| time.map(|time| time.as_nanos() / 1_000_000))
}

#[test]
fn a_needless_syn_is_known_by_other_samples() {
    // A path of 1.5 s: no acknowledgement ever came sooner, so the first SYN was answered.
    assert_eq!(answered_after(1_500), [Some(1_500), Some(1), Some(1_501)]);
    assert_eq!(answered_after(1_700), [Some(1_500), Some(1), Some(1_501)]);
    // One of 1.2 s at times: no acknowledgement is delayed so long that 0.5 s can be meant.
    assert_eq!(answered_after(1_200), [Some(1_200), Some(1), Some(1_501)]);
    // A path of 500 ms: the first SYN was lost.
    assert_eq!(answered_after(500), [Some(500), Some(1), Some(501)]);
    // Which SYN was answered nobody knows: only the data is a sample.
    assert_eq!(answered_after(700), [Some(700), Some(1), Some(501)]);
}

/// SYNs at 0 and 1 s, a SYN/ACK 8 ms later, and data that is answered with data after 900 ms: the path was full, and the first was answered.
#[test]
fn a_repeated_syn_gives_no_sample() {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(1_000 * MS, I, 0, 0, 0, Flags::SYN);
    t.flags(1_008 * MS, A, 0, 1, 0, SYN_ACK);
    t.flags(1_028 * MS, I, 1, 1, 0, Flags::ACK);
    t.i(1_030 * MS, 1, 1, 300);
    t.a(1_930 * MS, 1, 301, 500);
    let ends = t.finish().1.ends;
    assert_eq!(ends.acceptor.min_transit, Some(Duration::from_millis(900)));
    assert_eq!(ends.initiator.min_transit, Some(Duration::from_millis(20)));
}

/// The same with timestamps: an echo of the last SYN tells that it was answered, and one of the first tells nothing, because an end that
/// received it answers each copy with its timestamp.
#[test]
fn timestamps_tell_that_the_last_syn_was_answered() {
    let transit = |answers_first: bool| {
        let mut t = Transcript::new();
        t.tick = MS;
        t.flags(0, I, 0, 0, 0, Flags::SYN);
        let first = t.heard[0];
        t.flags(1_000 * MS, I, 0, 0, 0, Flags::SYN);
        if answers_first {
            t.heard[0] = first;
        }
        t.flags(1_008 * MS, A, 0, 1, 0, SYN_ACK);
        goes_on(t, 1_008).ends.acceptor.min_transit.map(|transit| transit.as_nanos() / 1_000_000)
    };
    assert_eq!([transit(false), transit(true)], [Some(8), Some(49)]);
}

/// A SYN/ACK without timestamps, or whose option for them was broken, and segments that carry them.
#[test]
fn timestamps_that_are_used_were_offered() {
    let offered = |uses: bool| {
        let mut t = Transcript::new();
        t.tick = MS;
        t.flags(0, I, 0, 0, 0, Flags::SYN);
        t.tick = 0;
        t.flags(40_000, A, 0, 1, 0, SYN_ACK);
        t.tick = if uses { MS } else { 0 };
        t.i(50_000, 1, 1, 300);
        t.a(90_000, 1, 301, 500);
        let ends = t.finish().1.ends;
        [ends.initiator.timestamps, ends.acceptor.timestamps]
    };
    assert_eq!(offered(true), [Some(true), Some(true)]);
    assert_eq!(offered(false), [Some(true), Some(false)]);
}
