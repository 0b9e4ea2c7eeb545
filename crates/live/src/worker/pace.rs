//! When a worker looks at its sockets again, and how long what it finds may have been there.
//!
//! To be woken for each packet costs more than the packet. So a worker that is kept busy looks once a tick, and lets things
//! come together in between; one that is not is woken by what comes, at once.

use flowloom_core::time::{Duration, Time};

/// From one look to the next of a busy worker, at least.
pub const TICK: Duration = Duration::from_micros(300);
/// Events that come in a tick when a worker is busy: to be woken by each of more would wake it more often than the ticks do.
const BUSY: u64 = 1;
/// How long events are counted to tell.
const COUNTING: Duration = Duration::from_millis(4);
/// The longest that a worker sleeps, so that it notices having been stopped.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// What is shorter than this is no hold-up.
const HOLD_UP: Duration = Duration::from_millis(5);

/// The looks of a worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// When it looked last.
    looked: Time,
    /// When it began to wait for the next look, and until when it would.
    waiting: (Time, Time),
    /// Events since a time, which is not long ago.
    counted: (u64, Time),
    is_busy: bool,
    /// Since when what was found in this look, and in the one before it, may have been there, if for long.
    held_up: [Option<Time>; 2],
}

impl Pace {
    /// It has done all there was to do: until when it rests, whatever comes; `None` if it need not.
    pub fn rest(&self, now: Time) -> Option<Time> {
        Some(self.looked + TICK).filter(|until| self.is_busy && *until > now)
    }

    /// It begins to wait for something to come. Until when, if it has to do something at `deadline`.
    pub fn wait(&mut self, now: Time, deadline: Option<Time>) -> Time {
        let until = (now + LONGEST_SLEEP).min(deadline.unwrap_or(Time::MAX)).max(now);
        self.waiting = (now, until);
        until
    }

    /// It looks, and finds `events`.
    pub fn look(&mut self, now: Time, events: usize) {
        // What came while it waited would have woken it: it was there unseen before the waiting or after it.
        let unseen = self.waiting.0.since(self.looked) + now.since(self.waiting.1);
        self.held_up = [(unseen >= HOLD_UP).then_some(self.looked), self.held_up[0]];
        self.looked = now;
        self.counted.0 += events as u64;
        let elapsed = now.since(self.counted.1);
        if elapsed >= COUNTING {
            self.is_busy = TICK * self.counted.0 >= elapsed * BUSY;
            self.counted = (0, now);
        }
    }

    /// If what was found in this look, and is seen to now, may have been there for long: since when at most.
    pub fn held_up(&self, now: Time) -> Option<Time> {
        // A stop may have been before or after the kernel made its list of what it found: then the next list has the rest.
        let [this, before] = self.held_up;
        before.or(this).or((now.since(self.looked) >= HOLD_UP).then_some(self.looked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// Waits from one time to another, with nothing due, and finds events.
    fn look(pace: &mut Pace, from: u64, to: u64, events: usize) {
        pace.wait(at(from), None);
        pace.look(at(to), events);
    }

    #[test]
    fn a_busy_worker_looks_once_a_tick() {
        let mut pace = Pace::default();
        // One event every 400 us is no reason to let them wait for each other.
        (0..100).for_each(|n| look(&mut pace, n * 400, n * 400 + 100, 1));
        assert_eq!(pace.rest(at(39_710)), None);
        // Two of them are.
        (100..200).for_each(|n| look(&mut pace, n * 400, n * 400 + 100, 2));
        assert_eq!(pace.rest(at(79_710)), Some(at(80_000)));
        assert_eq!(pace.rest(at(80_010)), None, "what it did took longer than a tick");
        look(&mut pace, 80_010, 86_000, 1);
        assert_eq!(pace.rest(at(86_010)), None, "no longer");
    }

    #[test]
    fn it_sleeps_until_something_is_due_and_never_long() {
        let mut pace = Pace::default();
        assert_eq!(pace.wait(at(0), Some(at(300))), at(300));
        assert_eq!(pace.wait(at(400), Some(at(300))), at(400));
        assert_eq!(pace.wait(at(400), Some(at(1_000_000))), at(20_400));
        assert_eq!(pace.wait(at(400), None), at(20_400));
    }

    #[test]
    fn a_hold_up_is_noticed_wherever_it_was() {
        let mut pace = Pace::default();
        look(&mut pace, 0, 20_010, 0);
        assert_eq!(pace.held_up(at(20_020)), None, "it slept as long as it may");
        look(&mut pace, 20_020, 39_000, 1);
        assert_eq!(pace.held_up(at(39_010)), None, "something came");
        look(&mut pace, 39_050, 1_039_000, 5);
        assert_eq!(pace.held_up(at(1_039_001)), Some(at(39_000)), "stopped in its sleep");
        look(&mut pace, 1_045_000, 1_045_001, 5);
        assert_eq!(pace.held_up(at(1_045_002)), Some(at(39_000)), "it may have come in the first");
        look(&mut pace, 1_052_000, 1_052_001, 5);
        assert_eq!(pace.held_up(at(1_052_002)), Some(at(1_039_000)), "stopped, or busy, at its work, twice");
        look(&mut pace, 1_052_100, 1_052_101, 5);
        look(&mut pace, 1_052_200, 1_052_201, 5);
        assert_eq!(pace.held_up(at(1_052_300)), None);
        assert_eq!(pace.held_up(at(2_000_000)), Some(at(1_052_201)), "stopped when it had looked");
    }
}
