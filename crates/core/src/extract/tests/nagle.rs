//! Small segments that wait for acknowledgements (Nagle's algorithm, methods A.13.1), by hand. Large numbers are in `make validate`, group `writes`.

use super::*;

const MS: u64 = 1_000;
const PUSH: u8 = Flags::ACK | Flags::PSH;

/// Whether the acceptor, 40 ms behind the monitor, is found to hold small segments back, of which nine pass: each so many milliseconds after the
/// one before was acknowledged, or that long before, to a reader with this window.
fn nagle(after: i64, window: u16) -> Option<bool> {
    let mut t = Transcript::new();
    t.window = window;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(40 * MS, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.i(50 * MS, 1, 1, 0);
    t.flags(50 * MS, I, 1, 1, 300, PUSH);
    t.a(90 * MS, 1, 301, 0);
    let mut events = Vec::new();
    for n in 0..9 {
        let sent = (100 + n * 60) as i64;
        events.push((sent, A, n));
        events.push((if n < 8 { sent + 60 - after } else { sent + 60 }, I, n));
    }
    events.sort_by_key(|event| event.0);
    for (at, side, n) in events {
        let (at, byte) = (at as u64 * MS, 1 + n as u32 * 100);
        match side {
            A => t.flags(at, A, byte, 301, 100, PUSH),
            _ => t.i(at, 301, byte + 100, 0),
        };
    }
    t.finish().1.ends.acceptor.nagle
}

#[test]
fn ends_that_hold_small_segments_back_are_told() {
    assert_eq!(nagle(40, 1_000), Some(true), "a transit after the acknowledgement");
    assert_eq!(nagle(51, 1_000), Some(true), "1.25 transits and a millisecond");
    assert_eq!(nagle(53, 1_000), None, "later");
    assert_eq!(nagle(27, 1_000), Some(false), "the acknowledgement cannot have arrived");
    assert_eq!(nagle(40, 1), None, "its window may have cut them");
}
