//! Sender rates (methods A.13.5), by hand. Large numbers are in `make validate`, group `rates`.

use super::*;

const SEGMENTS: u32 = 600;

/// The rate found of an acceptor that sends a segment every `gap` microseconds, 20 ms behind the monitor, to an initiator 10 ms before it, whose clocks
/// have ticks of a millisecond if `stamped`. The initiator acknowledges two segments at once, `late` microseconds late.
fn found(stamped: bool, gap: u64, late: u64) -> Option<u64> {
    let mut t = Transcript::new();
    t.tick = if stamped { 1_000 } else { 0 };
    t.window = 8_000;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(20_000, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.flags(30_000, I, 1, 1, 0, Flags::ACK);
    t.i(30_000, 1, 1, 300);
    let mut segments: Vec<(u64, bool, u32)> = Vec::new();
    for n in 0..SEGMENTS {
        let at = 50_000 + u64::from(n) * gap;
        segments.push((at, false, n));
        if n % 2 == 1 {
            segments.push((at + 10_000 + late, true, n));
        }
    }
    segments.sort_by_key(|(at, ..)| *at);
    for (at, is_ack, n) in segments {
        match is_ack {
            true => t.i(at, 301, 1 + 1_448 * (n + 1), 0),
            false => t.a(at, 1 + 1_448 * n, 301, 1_448),
        };
    }
    t.finish().1.ends.acceptor.rate
}

#[test]
fn an_end_that_sends_evenly_has_a_rate() {
    let rate = found(true, 2_000, 0);
    assert!(rate.is_some_and(|rate| rate.abs_diff(1_448 * 8 * 500) < 10), "{rate:?}");
}

#[test]
fn what_waits_behind_the_monitor_or_has_no_clock_has_none() {
    assert_eq!(found(true, 2_000, 5_000), None, "a queue behind the monitor");
    assert_eq!(found(false, 2_000, 0), None, "no timestamps");
}
