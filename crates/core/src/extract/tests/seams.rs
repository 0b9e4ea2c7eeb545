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

#[test]
fn nothing_beside_a_repair_or_a_gap_is_one() {
    let mut t = asked();
    sends(&mut t, 1, &[(100, PUSH), (100, PUSH)]);
    t.flags(95 * MS, A, 1, 301, 100, PUSH);
    sends(&mut t, 201, &[(100, PUSH), (700, PUSH)]);
    assert_eq!(seams(t), [100], "the first was sent again before the third");
    let mut t = asked();
    sends(&mut t, 1, &[(100, PUSH)]);
    sends(&mut t, 201, &[(100, PUSH), (700, PUSH)]);
    assert_eq!(seams(t), NONE, "the second is missing");
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

#[test]
fn a_pause_says_more_than_a_seam() {
    let mut t = asked();
    sends(&mut t, 1, &[(100, PUSH)]);
    t.i(100 * MS, 301, 101, 0);
    t.flags(390 * MS, A, 101, 301, 100, PUSH);
    let pauses = &t.finish().1.pauses[A];
    assert_eq!(pauses.iter().map(|pause| pause.length.as_nanos() / 1_000_000).collect::<Vec<_>>(), [300]);
}
