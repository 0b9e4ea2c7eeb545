//! What a side sent of which no byte was captured shows in the other side's acknowledgements (methods A.3).

use flowloom_core::extract::{Identity, Missing, Observer, Seen};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::Flags;
use flowloom_core::workload::{InitiatorRule, LinkSide, Payload, Side};

/// The acceptor's payload after acknowledgements of its data, which was not captured.
fn acceptor(acknowledged: &[u32], fin: bool) -> Payload {
    let mut observer = Observer::new(Time::ZERO, Duration::from_millis(500));
    let mut at = 0;
    let mut pass = |side, sequence, acknowledgement, flags, payload_bytes| {
        at += 10;
        let seen = Seen {
            sequence,
            acknowledgement,
            flags: Flags(flags),
            window: 60_000,
            payload_bytes,
            ip_bytes: 40 + payload_bytes,
            ..Seen::default()
        };
        observer.handle_segment(Time::ZERO + Duration::from_millis(at), side, &seen);
    };
    pass(Side::Initiator, 99, 0, Flags::SYN, 0);
    pass(Side::Acceptor, 499, 100, Flags::SYN | Flags::ACK, 0);
    pass(Side::Initiator, 100, 500, Flags::ACK, 0);
    pass(Side::Initiator, 100, 500, Flags::ACK, 300);
    for bytes in acknowledged {
        pass(Side::Initiator, 400, 500 + bytes, Flags::ACK, 0);
    }
    if fin {
        pass(Side::Acceptor, 500 + acknowledged[acknowledged.len() - 1], 400, Flags::ACK | Flags::FIN, 0);
    }
    let identity = Identity {
        id: 0,
        start: Time::ZERO,
        initiator_side: LinkSide::Left,
        initiator_rule: InitiatorRule::Syn,
        near: None,
        ip_version: None,
    };
    observer.finish(identity, Missing::default()).1.payload(Side::Acceptor)
}

#[test]
fn acknowledged_steps_are_missing_bytes() {
    let steps = |step: u32, count: u32| (1..=count).map(|n| n * step).collect::<Vec<_>>();
    for fin in [false, true] {
        for (acknowledged, missing) in [(steps(10_000, 10), 100_000), (steps(100_000, 200), 20_000_000)] {
            let payload = acceptor(&acknowledged, fin);
            let expected = Payload { captured: 0, missing, acknowledged: missing, replayed: 0 };
            assert_eq!(payload, expected, "FIN: {fin}");
        }
    }
}

/// One acknowledgement farther ahead than sixteen windows is not the connection's.
#[test]
fn a_leap_is_no_missing_byte() {
    assert_eq!(acceptor(&[5_000, 100_000_000], false).missing, 0);
    assert_eq!(acceptor(&[5_000, 1_000_000], false).missing, 1_000_000);
}
