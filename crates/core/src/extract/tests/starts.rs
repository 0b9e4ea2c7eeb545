//! Holes before the first captured byte of an end whose SYN was not captured: the other end's handshake tells where it began.

use super::*;

#[test]
fn the_first_acknowledgement_after_a_syn_tells_where_the_other_end_began() {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.i(50_000, 1, 1, 0);
    t.i(51_000, 1, 1, 100);
    // Of a response of 20,440 bytes 18,980 were not captured.
    t.a(95_000, 18_981, 101, 1460);
    t.i(97_000, 101, 20_441, 0);
    let (_, vector) = t.finish();
    assert_eq!(vector.payload(A), Payload { captured: 1460, missing: 18_980, acknowledged: 18_980, replayed: 20_440 });
    assert_eq!(shape(&vector.adus).last().map(|adu| (adu.0, adu.1)), Some((A, 20_440)));
}

#[test]
fn a_syn_ack_tells_where_the_initiator_began() {
    let mut t = Transcript::new();
    t.flags(40_000, A, 0, 1, 0, Flags::SYN | Flags::ACK);
    t.i(51_000, 2921, 1, 80);
    t.a(95_000, 1, 3001, 500);
    let (_, vector) = t.finish();
    assert_eq!(vector.payload(I), Payload { captured: 80, missing: 2920, acknowledged: 2920, replayed: 3000 });
    assert_eq!(vector.bytes(A), 500);
}

/// What was on the way when the capture began is not missing from it.
#[test]
fn without_a_syn_an_end_begins_with_its_first_captured_byte() {
    let mut t = Transcript::new();
    t.i(50_000, 1, 1, 0);
    t.a(95_000, 18_981, 1, 1460);
    t.i(97_000, 1, 20_441, 100);
    let (_, vector) = t.finish();
    assert_eq!(vector.payload(A), Payload { captured: 1460, missing: 0, acknowledged: 0, replayed: 1460 });
}

/// Numbers that lie beyond any window are not this connection's.
#[test]
fn a_leap_beyond_any_window_is_no_hole() {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.i(50_000, 1, 1, 0);
    t.a(95_000, 1 << 30, 1, 1460);
    let (_, vector) = t.finish();
    assert_eq!(vector.payload(A).missing, 0);
}

/// Data below the first acknowledgement was sent again: it begins the space.
#[test]
fn data_below_the_first_acknowledgement_begins_the_space() {
    let mut t = Transcript::new();
    t.flags(0, I, 0, 0, 0, Flags::SYN);
    t.i(60_000, 1, 1461, 0);
    t.a(95_000, 1, 1, 1460);
    t.a(96_000, 1461, 1, 1000);
    let (_, vector) = t.finish();
    assert_eq!(vector.payload(A), Payload { captured: 2460, missing: 0, acknowledged: 0, replayed: 2460 });
}
