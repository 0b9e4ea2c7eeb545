//! Pauses of readers (methods A.13.12), by hand. Large numbers are in `make validate`, group `reads`.

use super::*;
use crate::workload::Pause;

const MS: u64 = 1_000;

/// The window field of the reader, the initiator; its windows count 128 bytes each.
const OPEN: u16 = 100;
const WINDOW: u64 = 128 * OPEN as u64;

/// A connection whose acceptor is 40 ms behind the monitor, and whose initiator is 10 ms before it and has a window of [`WINDOW`]. The
/// acceptor answers 300 bytes with eight full segments, at 140 ms.
fn answering() -> Transcript {
    let mut t = Transcript::new();
    t.window = OPEN;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(40 * MS, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.flags(50 * MS, I, 1, 1, 0, Flags::ACK);
    t.i(50 * MS, 1, 1, 300);
    (0..8).for_each(|segment| {
        t.a(140 * MS, 1 + 1460 * segment, 301, 1460);
    });
    t
}

/// The initiator acknowledges up to `ack` with this window field.
fn offer(t: &mut Transcript, at: u64, ack: u32, field: u16) {
    t.window = field;
    t.i(at * MS, 301, ack, 0);
    t.window = OPEN;
}

/// Its window has 1,024 bytes left at 150 ms.
fn closed() -> Transcript {
    let mut t = answering();
    offer(&mut t, 150, 11_681, 8);
    t
}

/// What the initiator paused: bytes let pass, milliseconds; the acceptor's ADUs.
fn found(t: Transcript) -> (Vec<(u64, u64)>, Vec<u64>) {
    let vector = t.finish().1;
    assert_eq!(vector.read_pauses[A], [], "the acceptor reads all");
    assert_eq!(vector.pauses[A], [], "a closed window is no pause of who writes");
    let told = |Pause { after_bytes, length, .. }: &Pause| (*after_bytes, length.as_nanos() / 1_000_000);
    let adus = vector.adus.iter().filter(|adu| adu.side == A).map(|adu| adu.bytes).collect();
    (vector.read_pauses[I].iter().map(told).collect(), adus)
}

#[test]
fn a_closed_window_is_the_readers_pause() {
    let mut t = closed();
    offer(&mut t, 2_150, 11_681, OPEN);
    t.a(2_200 * MS, 11_681, 301, 1460);
    assert_eq!(found(t), (vec![(WINDOW, 2_000)], vec![9 * 1460]), "one ADU, though nothing passed for 2 s");
}

#[test]
fn what_still_fits_does_not_move_the_place() {
    let mut t = closed();
    t.a(540 * MS, 11_681, 301, 1120);
    offer(&mut t, 550, 12_801, 0);
    t.a(2_000 * MS, 12_801, 301, 1);
    offer(&mut t, 2_010, 12_801, 0);
    offer(&mut t, 5_150, 12_801, OPEN);
    t.a(5_200 * MS, 12_801, 301, 1460);
    assert_eq!(found(t), (vec![(WINDOW, 5_000)], vec![8 * 1460 + 1120 + 1460]), "the byte of a probe is sent again");
}

#[test]
fn a_window_that_stays_as_wide_is_none() {
    let mut t = answering();
    offer(&mut t, 150, 1_461, OPEN);
    offer(&mut t, 400, 11_681, OPEN);
    t.a(450 * MS, 11_681, 301, 1460);
    assert_eq!(found(t), (vec![], vec![9 * 1460]), "acknowledgements are late");
}

#[test]
fn an_update_that_overtakes_is_none() {
    let mut t = answering();
    offer(&mut t, 150, 11_681, OPEN);
    offer(&mut t, 151, 11_681, 8);
    offer(&mut t, 350, 11_681, OPEN);
    t.a(390 * MS, 11_681, 301, 1460);
    assert_eq!(found(t).0, []);
}

#[test]
fn a_window_that_is_always_small_is_none() {
    let mut t = Transcript::new();
    t.window = 4;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(40 * MS, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.flags(50 * MS, I, 1, 1, 0, Flags::ACK);
    for turn in 0..5 {
        t.window = OPEN;
        t.a((90 + 50 * turn) * MS, 1 + 512 * turn as u32, 1, 512);
        t.window = 4;
        t.i((100 + 50 * turn) * MS, 1, 513 + 512 * turn as u32, 0);
    }
    assert_eq!(found(t), (vec![], vec![5 * 512]));
}

#[test]
fn a_small_window_that_closes_is_one() {
    let mut t = Transcript::new();
    t.window = 4;
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.flags(40 * MS, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.flags(50 * MS, I, 1, 1, 0, Flags::ACK);
    t.window = OPEN;
    t.a(90 * MS, 1, 1, 512);
    offer(&mut t, 100, 513, 0);
    offer(&mut t, 400, 513, 4);
    t.a(440 * MS, 513, 1, 512);
    assert_eq!(found(t), (vec![(512, 300)], vec![1_024]));
}

#[test]
fn an_answer_to_a_probe_may_be_the_second_update() {
    let mut t = closed();
    t.a(400 * MS, 11_681, 301, 1);
    offer(&mut t, 410, 11_681, 8);
    t.a(1_000 * MS, 11_681, 301, 1);
    offer(&mut t, 1_010, 11_681, OPEN);
    t.a(1_050 * MS, 11_681, 301, 1460);
    assert_eq!(found(t).0, [(WINDOW, 260)], "closed for certain until 410 ms");
    let mut t = closed();
    t.a(400 * MS, 11_681, 301, 1);
    offer(&mut t, 405, 11_681, OPEN);
    t.a(450 * MS, 11_681, 301, 1460);
    assert_eq!(found(t).0, [(WINDOW, 255)], "too soon for an answer");
}

#[test]
fn a_window_that_nobody_waits_for_is_none() {
    let mut t = closed();
    t.a(200 * MS, 11_681, 301, 1120);
    assert_eq!(found(t).0, [], "it never opens");
    let mut t = closed();
    offer(&mut t, 2_150, 11_681, OPEN);
    assert_eq!(found(t).0, [], "there is no more data");
}

#[test]
fn who_writes_long_after_the_window_opened_paused_too() {
    let mut t = closed();
    offer(&mut t, 250, 11_681, OPEN);
    t.a(2_000 * MS, 11_681, 301, 1460);
    assert_eq!(found(t), (vec![(WINDOW, 100)], vec![8 * 1460, 1460]));
}

#[test]
fn several_pauses_are_told_apart() {
    let mut t = closed();
    offer(&mut t, 350, 11_681, OPEN);
    (0..8).for_each(|segment| {
        t.a(400 * MS, 11_681 + 1460 * segment, 301, 1460);
    });
    offer(&mut t, 410, 23_361, 8);
    offer(&mut t, 440, 23_361, OPEN);
    t.a(490 * MS, 23_361, 301, 1460);
    assert_eq!(found(t).0, [(WINDOW, 200), (11_680 + WINDOW, 30)]);
}

#[test]
fn without_a_scale_only_nothing_is_closed() {
    let of = |field: u16| {
        let mut t = Transcript::new();
        t.window = 500;
        t.i(0, 1, 1, 300);
        t.a(40 * MS, 1, 301, 1460);
        t.a(40 * MS, 1_461, 301, 1460);
        offer(&mut t, 50, 2_921, field);
        offer(&mut t, 350, 2_921, 500);
        t.a(390 * MS, 2_921, 301, 1460);
        t.finish().1.read_pauses[I].len()
    };
    assert_eq!((of(0), of(3)), (1, 0));
}
