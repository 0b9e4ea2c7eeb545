//! How long a program had nothing to send.

use serde::{Deserialize, Serialize};

use crate::time::{Duration, Time};

/// The pauses of one end between its first write and the last byte it transmitted.
///
/// Call [`Self::wrote`] for each write of the program and [`Self::transmitted`] whenever bytes were transmitted for the first time, in order of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    first: Option<Time>,
    last: Time,
    paused: Duration,
}

impl Pauses {
    /// The program writes at `now`; `was_done` if all that it wrote before has been transmitted.
    pub fn wrote(&mut self, now: Time, was_done: bool) {
        match self.first {
            None => self.first = Some(now),
            Some(_) if was_done => self.paused += now.since(self.last),
            Some(_) => {}
        }
        self.last = self.last.max(now);
    }

    /// Bytes are transmitted for the first time at `now`.
    #[inline]
    pub fn transmitted(&mut self, now: Time) {
        self.last = now;
    }

    /// The time in which the program had nothing to send.
    pub fn paused(&self) -> Duration {
        self.paused
    }

    /// The time from the first write to the last byte transmitted.
    pub fn active(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| self.last.since(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = |millis| Time::from_nanos(millis * 1_000_000);

    #[test]
    fn only_time_without_anything_to_send_counts() {
        let mut pauses = Pauses::default();
        assert_eq!((pauses.paused(), pauses.active()), (Duration::ZERO, Duration::ZERO));
        pauses.wrote(MS(100), true);
        pauses.transmitted(MS(110));
        // Written before all was transmitted: no pause, although nothing went out for 40 ms.
        pauses.wrote(MS(150), false);
        pauses.transmitted(MS(160));
        pauses.wrote(MS(190), true);
        pauses.transmitted(MS(200));
        assert_eq!((pauses.paused(), pauses.active()), (Duration::from_millis(30), Duration::from_millis(100)));
    }

    #[test]
    fn a_program_that_keeps_writing_never_pauses() {
        let mut pauses = Pauses::default();
        for millis in 0..50 {
            pauses.wrote(MS(millis), true);
            pauses.transmitted(MS(millis));
            pauses.wrote(MS(millis), true);
            pauses.transmitted(MS(millis + 1));
        }
        assert_eq!((pauses.paused(), pauses.active()), (Duration::ZERO, Duration::from_millis(50)));
    }
}
