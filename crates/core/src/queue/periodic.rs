//! Updates at fixed times, made up for when somebody looks.

use crate::time::{Duration, Time};

/// Instants at the whole multiples of a period above zero, the origin not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Periodic {
    every: Duration,
    next: Time,
}

impl Periodic {
    pub fn new(every: Duration) -> Periodic {
        Periodic { every, next: Time::ZERO + every }
    }

    /// Calls `update` for every instant by `until` that it was not called for. It returns whether it changed anything: if it
    /// did not, it will not at the instants after, and these are skipped.
    pub fn run(&mut self, until: Time, mut update: impl FnMut() -> bool) {
        while self.next <= until && self.next < Time::MAX {
            let changed = update();
            let passed = if changed { 0 } else { until.since(self.next).as_nanos() / self.every.as_nanos() };
            self.next = self.next + self.every * passed + self.every;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instant_once_and_none_where_nothing_changes() {
        let at = Time::from_nanos;
        let mut periodic = Periodic::new(Duration::from_nanos(10));
        let mut count = |until, changes| {
            let mut calls = 0;
            periodic.run(until, || {
                calls += 1;
                changes
            });
            (calls, periodic.next)
        };
        assert_eq!(count(at(9), true), (0, at(10)));
        assert_eq!(count(at(10), true), (1, at(20)));
        assert_eq!(count(at(49), true), (3, at(50)));
        assert_eq!(count(at(49), true), (0, at(50)));
        assert_eq!(count(at(1_000), false), (1, at(1_010)));
        assert_eq!(count(at(1_009), false), (0, at(1_010)));
        assert_eq!(count(Time::MAX, false).0, 1);
        assert_eq!(count(Time::MAX, true).0, 0);
    }
}
