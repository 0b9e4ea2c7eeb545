//! Writes that follow at once (methods A.13.1), by hand. Large numbers are in `make validate`, group `writes`.

use super::*;

const MS: u64 = 1_000;
const PUSH: u8 = Flags::ACK | Flags::PSH;
const NONE: [u64; 0] = [];

/// A connection whose acceptor, 40 ms behind the monitor, was asked for something at 50 ms.
fn asked() -> Transcript {
    let mut t = Transcript::established();
    t.flags(50 * MS, I, 1, 1, 300, PUSH);
    t
}

/// The acceptor sends segments of so many bytes at once at 90 ms, from its byte `first` on; the last and those that end a write push.
fn sends(t: &mut Transcript, first: u32, segments: &[(u32, u8)]) {
    let mut at = first;
    for (bytes, flags) in segments {
        t.flags(90 * MS, A, at, 301, *bytes, *flags);
        at += bytes;
    }
}

/// Where the acceptor's writes follow at once.
fn seams(t: Transcript) -> Vec<u64> {
    let vector = t.finish().1;
    assert_eq!(vector.adus.len(), 2, "one exchange");
    vector.pauses[A].iter().filter(|pause| pause.is_seam()).map(|pause| pause.after_bytes).collect()
}

#[test]
fn a_short_segment_inside_a_data_unit_is_a_seam() {
    let mut t = asked();
    sends(&mut t, 1, &[(100, PUSH), (1460, Flags::ACK), (540, PUSH)]);
    assert_eq!(seams(t), [100], "the last one ends the data unit");
    let mut t = asked();
    sends(&mut t, 1, &[(1460, Flags::ACK), (40, PUSH), (36, PUSH), (36, PUSH)]);
    assert_eq!(seams(t), [1500, 1536]);
}

#[test]
fn a_window_or_an_offload_makes_none() {
    // What its reader lets pass ends 900 bytes into the second segment, whatever it says by PSH.
    let mut t = Transcript::new();
    t.window = 2360;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(40 * MS, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.window = 19;
    t.flags(50 * MS, I, 1, 1, 300, PUSH);
    sends(&mut t, 1, &[(1460, Flags::ACK), (900, PUSH), (300, PUSH)]);
    assert_eq!(seams(t), NONE);
    let mut t = asked();
    sends(&mut t, 1, &[(2 * 1460 + 100, PUSH), (1460, Flags::ACK), (540, PUSH)]);
    assert_eq!(seams(t), NONE, "an offload had merged the first");
}

/// What had passed the monitor is sent again below what follows.
#[test]
fn a_loss_behind_the_monitor_hides_none() {
    let mut t = asked();
    sends(&mut t, 1, &[(100, PUSH), (100, PUSH)]);
    t.flags(95 * MS, A, 1, 301, 100, PUSH);
    sends(&mut t, 201, &[(100, PUSH), (700, PUSH)]);
    assert_eq!(seams(t), [100, 200, 300], "the first was sent again before the third");
}

/// Nothing that passes less than a round trip after what was sent before it can have been sent again.
#[test]
fn beside_a_hole_first_copies_tell() {
    let with = |missing: u32, at: u64| {
        let mut t = asked();
        sends(&mut t, 1, &[(100, PUSH)]);
        let next = 101 + missing;
        t.flags(at * MS, A, next, 301, 100, PUSH);
        t.flags(at * MS, A, next + 100, 301, 700, PUSH);
        t.flags(at * MS + 60 * MS, A, 101, 301, missing, Flags::ACK);
        seams(t)
    };
    assert_eq!(with(100, 90), [100, 200, 300], "a small one is missing");
    assert_eq!(with(1460, 90), [100, 1660], "a full one, behind which nothing tells");
    assert_eq!(with(100, 124), [100, 200, 300]);
    assert_eq!(with(100, 126), NONE, "the round trip is 50 ms: all may be sent again");
}

/// The window that the sender knew is that of the acknowledgement before the one that it echoes.
#[test]
fn what_a_sender_echoes_it_has_heard() {
    for (echoes, expected) in [(true, vec![2896 + 100]), (false, vec![])] {
        let mut t = Transcript::new();
        (t.tick, t.window) = (MS, 65_535);
        t.flags(0, I, 0, 0, 0, Flags::SYN);
        t.flags(40 * MS, A, 0, 1, 0, Flags::SYN | Flags::ACK);
        t.window = 23;
        t.flags(50 * MS, I, 1, 1, 300, PUSH);
        t.a(90 * MS, 1, 301, 1448);
        t.a(90 * MS, 1449, 301, 1448);
        t.i(100 * MS, 301, 2897, 0);
        t.i(105 * MS, 301, 2897, 0);
        if !echoes {
            t.heard[I as usize] -= 55;
        }
        t.flags(141 * MS, A, 2897, 301, 100, PUSH);
        t.flags(141 * MS, A, 2997, 301, 700, PUSH);
        assert_eq!(seams(t), expected, "{echoes}");
    }
}

/// Three segments of 1,436 bytes beside SACK blocks were lost and are sent again without blocks.
#[test]
fn what_was_sent_before_it_passes_ends_no_write() {
    for (next, expected) in [(4309, vec![]), (1, vec![4308])] {
        let mut t = asked();
        t.a(80 * MS, next, 301, 0);
        sends(&mut t, 1, &[(1460, Flags::ACK), (1460, Flags::ACK), (1388, PUSH), (1460, Flags::ACK), (540, PUSH)]);
        assert_eq!(seams(t), expected, "{next}");
    }
}

#[test]
fn without_the_readers_syn_no_segment_is_full() {
    let mut t = Transcript::new();
    t.flags(50 * MS, I, 1, 1, 300, PUSH);
    sends(&mut t, 1, &[(100, PUSH), (100, PUSH)]);
    assert_eq!(seams(t), NONE);
}

/// As long as no segment has more than 536 bytes, which every full one has at least; of the first it is not known yet.
#[test]
fn without_the_readers_syn_those_below_the_smallest_full_ones_are_short() {
    for (window, segments, expected) in [
        (65_535, [100, 40, 30], vec![140]),
        (500, [100, 40, 30], vec![]),
        (65_535, [500, 40, 30], vec![540]),
        (65_535, [100, 537, 30], vec![]),
    ] {
        let mut t = Transcript::new();
        t.window = window;
        t.flags(45 * MS, A, 1, 1, 0, Flags::ACK);
        t.flags(50 * MS, I, 1, 1, 300, PUSH);
        t.a(90 * MS, 1, 301, 0);
        sends(&mut t, 1, &segments.map(|bytes| (bytes, PUSH)));
        assert_eq!(seams(t), expected, "{window} {segments:?}");
    }
}

/// The largest segments without PSH are full ones if they come again and no offload can have made them.
#[test]
fn without_the_readers_syn_the_largest_segments_tell() {
    let of = |largest: u32, window: u16| {
        let mut t = Transcript::new();
        t.window = window;
        t.flags(45 * MS, A, 1, 1, 0, Flags::ACK);
        t.flags(50 * MS, I, 1, 1, 300, PUSH);
        t.a(90 * MS, 1, 301, 0);
        let full = (largest, Flags::ACK);
        sends(&mut t, 1, &[full, (100, PUSH), full, full, (100, PUSH), (700, PUSH)]);
        seams(t).into_iter().map(|at| at - 3 * u64::from(largest)).collect::<Vec<_>>()
    };
    assert_eq!(of(1_460, 65_535), [200], "before it came again nothing tells");
    assert_eq!(of(1_460, 4_000), NONE, "the window is at least as large as the field, but may be no larger");
    assert_eq!(of(1_072, 65_535), NONE, "it may be two");
    assert_eq!(of(2_920, 65_535), NONE);
}

#[test]
fn a_pause_says_more_than_a_seam() {
    let mut t = asked();
    sends(&mut t, 1, &[(100, PUSH)]);
    t.i(100 * MS, 301, 101, 0);
    t.flags(390 * MS, A, 101, 301, 100, PUSH);
    let pauses = &t.finish().1.pauses[A];
    assert_eq!(pauses.iter().map(|pause| pause.length.as_nanos() / 1_000_000).collect::<Vec<_>>(), [300]);
}
