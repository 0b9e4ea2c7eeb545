//! Nagle's algorithm: whether an end holds a small segment back until what it sent before is acknowledged (methods A.13.1).
//!
//! A small segment that was sent while the small one before it was certainly not acknowledged shows that it does not. One that passes as
//! soon as the acknowledgement of the small one before lets it may have been held back, or its program wrote it just then: it shows
//! something if nothing came from the other end that the program can have answered, and if it happens again and again.

/// An end has the algorithm if it held back at least this many segments, ...
const LEAST_HELD: u32 = 6;
/// ... and at most this many times as many followed later than the acknowledgement let them.
const LATER_PER_HELD: u32 = 2;

/// A single segment that was not held back may have been sent by a timer. An end does without the algorithm if it sent at least this many,
/// and more than it held back.
const LEAST_FREE: u32 = 2;

/// A segment smaller than full ones, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Small {
    pub end: u64,
    /// What its sender had of the other end, as it says.
    pub heard: u32,
    /// It closes the stream: such a segment is never held back.
    pub closes: bool,
}

/// When a small segment followed the acknowledgement of the small one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    /// It was sent before.
    Before,
    /// It passes when it would if the acknowledgement had set it going.
    AtOnce,
    /// It passes later than that.
    Later,
    /// No acknowledgement or no transit time is known that would tell.
    Unknown,
}

/// What is known of one end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nagle {
    latest: Option<Small>,
    free: u32,
    held: u32,
    later: u32,
}

impl Nagle {
    /// A small segment passes. `followed` says how it came after the acknowledgement of the bytes before the one that it is given.
    pub fn sent(&mut self, small: Small, followed: impl FnOnce(u64) -> Followed) {
        let Some(before) = self.latest.replace(small) else { return };
        let is_answer = before.heard != small.heard;
        let count = match followed(before.end) {
            Followed::Before if !small.closes => &mut self.free,
            Followed::AtOnce if !is_answer => &mut self.held,
            Followed::Later if !is_answer => &mut self.later,
            _ => return,
        };
        *count = count.saturating_add(1);
    }

    /// Nothing tells how what follows comes after what was before.
    pub fn forget(&mut self) {
        self.latest = None;
    }

    /// Whether it holds small segments back, if that is clear.
    pub fn is_on(&self) -> Option<bool> {
        let Nagle { free, held, later, .. } = *self;
        if free == 0 && held >= LEAST_HELD && held.saturating_mul(LATER_PER_HELD) >= later {
            return Some(true);
        }
        (free >= LEAST_FREE && free > held).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(followed: &[Followed]) -> Option<bool> {
        let mut nagle = Nagle::default();
        for (end, followed) in (0..).zip([&[Followed::Unknown], followed].concat()) {
            nagle.sent(Small { end, heard: 0, closes: false }, |_| followed);
        }
        nagle.is_on()
    }

    #[test]
    fn clear_evidence_tells() {
        use Followed::{AtOnce, Before, Later, Unknown};
        assert_eq!(of(&[AtOnce; 6]), Some(true));
        assert_eq!(of(&[AtOnce; 5]), None, "chance");
        assert_eq!(of(&[&[AtOnce; 6][..], &[Later; 13]].concat()), None, "a program that writes as often");
        assert_eq!(of(&[&[AtOnce; 6][..], &[Unknown], &[Later; 12]].concat()), Some(true));
        assert_eq!(of(&[Before, Before]), Some(false));
        assert_eq!(of(&[Before]), None, "a timer");
        assert_eq!(of(&[&[AtOnce; 9][..], &[Before]].concat()), None);
        assert_eq!(of(&[&[AtOnce; 2][..], &[Before; 3]].concat()), Some(false));
    }

    #[test]
    fn answers_and_the_end_of_the_stream_tell_nothing() {
        let mut nagle = Nagle::default();
        (0..9).for_each(|n| nagle.sent(Small { end: n, heard: n as u32, closes: false }, |_| Followed::AtOnce));
        assert_eq!(nagle.is_on(), None, "it answers the other end");
        (0..9).for_each(|n| nagle.sent(Small { end: n, heard: 9, closes: true }, |_| Followed::Before));
        assert_eq!(nagle.is_on(), None);
        for n in 0..9 {
            nagle.sent(Small { end: n, heard: 0, closes: false }, |_| Followed::Before);
            nagle.forget();
        }
        assert_eq!(nagle.is_on(), None);
    }
}
