//! Where a part of a capture from an interface ends.

use std::fmt;

use flowloom_core::time::{Duration, Time};

/// A part of what an interface captures. It ends when the clock has reached its end, or was set back far before its beginning.
///
/// Packets have the time of the same clock. A packet alone ends no part: one from before the clock was set back has a time behind the end,
/// and would end one part after the other until the clock has reached it again.
pub struct Part {
    /// The time of the first packet behind it.
    pub end: Time,
    /// A clock that shows less than this was set back, and the part is over.
    pub earliest: Time,
    /// How long a packet may take from its time stamp to the reader: where none waits, the part ends so much later.
    pub grace: Duration,
    /// The clock.
    pub clock: Box<dyn FnMut() -> Time + Send>,
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part({:?}..{:?})", self.earliest, self.end)
    }
}

impl Part {
    fn holds(&self, time: Time) -> bool {
        (self.earliest..self.end).contains(&time)
    }

    /// Whether a packet with this time stamp is in the next part.
    #[inline]
    pub(super) fn ends_before(&mut self, time: Time) -> bool {
        !self.holds(time) && {
            let now = (self.clock)();
            !self.holds(now)
        }
    }

    /// Whether it is over, if no packet waits.
    pub(super) fn is_over(&mut self) -> bool {
        let now = (self.clock)();
        now < self.earliest || now >= self.end + self.grace
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Time {
        Time::ZERO + SECOND * seconds
    }

    #[test]
    fn only_the_clock_ends_a_part() {
        let shown = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&shown);
        let clock = Box::new(move || at(clock.load(Ordering::Relaxed)));
        let mut part = Part { end: at(110), earliest: at(90), grace: SECOND, clock };
        // (the clock, the time stamp of a packet, whether the packet ends the part, whether it is over where none waits)
        for (now, stamp, ends, is_over) in [
            (100, 100, false, false),
            (109, 109, false, false),
            (110, 109, false, false),
            (110, 110, true, false),
            (111, 109, false, true),
            (500, 111, true, true),
            // The clock was set back after the packet had its stamp: a little, and far.
            (105, 110, false, false),
            (95, 5_000, false, false),
            (89, 110, true, true),
            (89, 89, true, true),
            // A packet without a stamp.
            (100, 0, false, false),
        ] {
            shown.store(now, Ordering::Relaxed);
            assert_eq!((part.ends_before(at(stamp)), part.is_over()), (ends, is_over), "{now} {stamp}");
        }
    }
}
