//! The clocks of the monitor, and the waits on them.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use nix::time::{ClockId, clock_gettime};

/// A moment, by both clocks of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// CLOCK_MONOTONIC in nanoseconds: spans are differences of these.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME in nanoseconds since 1970 UTC: it places samples.
    pub wall_ns: u64,
}

impl Moment {
    /// Now.
    pub fn now() -> Moment {
        Moment { monotonic_ns: read(ClockId::CLOCK_MONOTONIC), wall_ns: read(ClockId::CLOCK_REALTIME) }
    }

    /// Nanoseconds since `earlier`.
    pub fn since(&self, earlier: &Moment) -> u64 {
        self.monotonic_ns.saturating_sub(earlier.monotonic_ns)
    }

    /// This moment as the next one of a series, behind `before`, and the nanoseconds between both: a sample that ends at it begins where
    /// the one before ended. The two clocks are read one after the other and do not run alike, so the real time gives way to
    /// CLOCK_MONOTONIC where they differ by more than a thousandth of the time that passed, and takes up the rest behind later moments.
    /// If it was set by more than two seconds, it is followed at once: then that one sample overlaps with others, or leaves a hole.
    #[must_use]
    pub(crate) fn following(self, before: &Moment) -> (Moment, u64) {
        let elapsed = self.since(before);
        if elapsed == 0 {
            return (self, 0);
        }
        let (expected, slack) = (before.wall_ns.saturating_add(elapsed), elapsed / SLEW);
        if self.wall_ns.abs_diff(expected) > STEP_NS.max(slack) {
            return (self, elapsed);
        }
        let wall_ns = self.wall_ns.clamp(expected - slack, expected.saturating_add(slack));
        (Moment { wall_ns, ..self }, wall_ns - before.wall_ns)
    }
}

/// CLOCK_REALTIME is taken to be set if it is off by more than this, in nanoseconds: more than a leap second.
const STEP_NS: u64 = 2 * 1_000_000_000;

/// A span may differ from that of CLOCK_MONOTONIC by one part of so many: twice what the kernel slews at most.
const SLEW: u64 = 1_000;

/// A difference between the clocks that is a jump, in nanoseconds. A clock that is adjusted takes hours for as much.
const JUMP_NS: u64 = 60 * 1_000_000_000;

/// For how long CLOCK_REALTIME has run without a jump: one that is wrong at the start of a host is set soon after it.
#[derive(Debug)]
pub(crate) struct Steady {
    since: Moment,
    last: Moment,
}

impl Steady {
    /// It runs as of `now`.
    pub(crate) fn new(now: Moment) -> Steady {
        Steady { since: now, last: now }
    }

    /// Nanoseconds without a jump until `now`, as far as those see who look once in a while.
    pub(crate) fn for_ns(&mut self, now: Moment) -> u64 {
        let expected = self.last.wall_ns.saturating_add(now.since(&self.last));
        if now.wall_ns.abs_diff(expected) > JUMP_NS {
            self.since = now;
        }
        self.last = now;
        now.since(&self.since)
    }
}

fn read(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).expect("every Linux has it");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Ends the waits of all threads of a monitor.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<(Mutex<bool>, Condvar)>);

impl Bell {
    /// Ends them, now and from now on.
    pub fn ring(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Whether it rang.
    pub fn has_rung(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until CLOCK_MONOTONIC is at `monotonic_ns`; true if the bell rang before.
    pub fn wait_until(&self, monotonic_ns: u64) -> bool {
        let mut rung = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = read(ClockId::CLOCK_MONOTONIC);
            if *rung || now >= monotonic_ns {
                return *rung;
            }
            let left = std::time::Duration::from_nanos(monotonic_ns - now);
            rung = self.0.1.wait_timeout(rung, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_the_clock_is_seen() {
        let at = |monotonic: u64, wall: u64| Moment {
            monotonic_ns: monotonic * 1_000_000_000,
            wall_ns: wall * 1_000_000_000,
        };
        let mut steady = Steady::new(at(100, 50_000));
        let found = [(400, 50_300), (700, 50_601), (1_000, 80_000), (1_300, 80_300), (1_600, 20_000), (1_900, 20_300)]
            .map(|(monotonic, wall)| steady.for_ns(at(monotonic, wall)) / 1_000_000_000);
        assert_eq!(found, [300, 600, 0, 300, 0, 300]);
    }
}
