//! What the tests of the algorithms share.

use super::{Ack, Window, WindowCause};
use crate::time::Time;

pub(super) const MSS: u32 = 1000;

/// An acknowledgement of `acked` bytes at time zero, of which nothing else is known.
pub(super) fn ack(acked: u32) -> Ack {
    Ack {
        now: Time::ZERO,
        acked: u64::from(acked),
        delivered: u64::from(acked),
        lost: 0,
        flight_before: u64::from(acked),
        flight: 0,
        unacknowledged: u64::from(acked),
        next: u64::from(acked),
        rtt: None,
        smoothed: None,
        window_limited: false,
        marked: false,
        in_recovery: false,
        paced: false,
        rate: None,
        departure: None,
    }
}

/// The same, of a window of `wide` bytes that was full.
pub(super) fn full(acked: u32, wide: u32) -> Ack {
    let flight = u64::from(wide).saturating_sub(u64::from(acked));
    Ack { flight_before: u64::from(wide), flight, window_limited: true, ..ack(acked) }
}

/// A window of `bytes` in congestion avoidance.
pub(super) fn avoiding(bytes: u32) -> Window {
    let mut window = Window::new(bytes, MSS, Some(1));
    window.set_threshold(bytes);
    window.set(bytes, WindowCause::Recovered);
    window
}
