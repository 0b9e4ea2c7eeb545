//! A deadline that may be absent.

use crate::time::Time;

/// An optional point in time in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline(Time);

impl Deadline {
    pub(super) const NONE: Deadline = Deadline(Time::MAX);

    pub(super) fn at(time: Time) -> Deadline {
        Deadline(time)
    }

    pub(super) fn get(self) -> Option<Time> {
        (self != Deadline::NONE).then_some(self.0)
    }

    pub(super) fn is_due(self, now: Time) -> bool {
        self != Deadline::NONE && self.0 <= now
    }

    /// Returns the earlier of two deadlines.
    pub(super) fn min(self, other: Deadline) -> Deadline {
        Deadline(self.0.min(other.0))
    }
}
