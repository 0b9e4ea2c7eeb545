//! Delays of an end's data as the original had them (methods A.13.9): waiting between the end and the monitor, by byte.

use crate::time::{Duration, Time};
use crate::workload::ExtraDelay;

/// The packets of one end on their way to its [`DelayBox`](super::DelayBox). A packet with bytes that were never sent before waits for as
/// long as the last of them did in the original. Packets keep their order; what is sent again waits for those before it alone.
///
/// The bytes wait wherever the replay sends them, and whatever its link is: that is before the link under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraDelays {
    delays: Box<[ExtraDelay]>,
    /// How many of them have begun.
    begun: usize,
    /// Bytes that were sent so far.
    sent: u64,
    /// When the packet last handed on was handed on.
    tail: Time,
}

impl ExtraDelays {
    /// Those of an end; `None` if it has none.
    pub fn new(delays: &[ExtraDelay]) -> Option<ExtraDelays> {
        let is_delayed = delays.iter().any(|delay| !delay.delay.is_zero());
        is_delayed.then(|| ExtraDelays { delays: delays.into(), begun: 0, sent: 0, tail: Time::ZERO })
    }

    /// A packet is sent at `now`, which never decreases, after whose data its end has sent `end` bytes, a FIN counted as one; 0 for a
    /// packet without either. Returns when it is handed on.
    pub fn pass(&mut self, now: Time, end: u64) -> Time {
        let mut delay = Duration::ZERO;
        if end > self.sent {
            self.sent = end;
            while self.delays.get(self.begun).is_some_and(|next| next.from_bytes < end) {
                self.begun += 1;
            }
            delay = self.begun.checked_sub(1).map_or(Duration::ZERO, |at| self.delays[at].delay);
        }
        self.tail = self.tail.max(now + delay);
        self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAYS: [(u64, u64); 4] = [(0, 0), (2_000, 50), (3_000, 20), (3_500, 0)];

    fn delays() -> Vec<ExtraDelay> {
        let delay = |(from_bytes, millis)| ExtraDelay { from_bytes, delay: Duration::from_millis(millis) };
        DELAYS.map(delay).to_vec()
    }

    #[test]
    fn new_bytes_wait_and_nothing_overtakes_them() {
        let mut path = ExtraDelays::new(&delays()).unwrap();
        for (now, end, handed_on) in [
            (0, 0, 0),
            (1, 1_000, 1),
            (1, 2_000, 1),
            // The last byte of a packet decides.
            (10, 2_500, 60),
            (20, 0, 60),
            (30, 2_500, 60),
            (35, 3_000, 85),
            (40, 3_100, 85),
            (75, 3_200, 95),
            // What is sent again does not wait.
            (100, 3_000, 100),
            (110, 5_000, 110),
            (120, 5_001, 120),
        ] {
            let at = |millis| Time::ZERO + Duration::from_millis(millis);
            assert_eq!(path.pass(at(now), end), at(handed_on), "{end} at {now}");
        }
    }

    #[test]
    fn no_delay_is_none_to_replay() {
        assert_eq!(ExtraDelays::new(&[]), None);
        assert_eq!(ExtraDelays::new(&delays()[..1]), None);
    }
}
