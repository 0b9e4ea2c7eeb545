//! A range of values.

use serde::{Serialize, Serializer};

/// From `low` to `high`, both included. In JSON a list of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in it.
    pub fn holds(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether it lies wholly in `other`.
    pub fn lies_in(self, other: Interval) -> bool {
        other.holds(self.low) && other.holds(self.high)
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.low, self.high].serialize(serializer)
    }
}
