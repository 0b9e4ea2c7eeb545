//! Acknowledgement policy of an end (methods A.13.3): how many data segments it acknowledges at once, and how long it waits.
//!
//! Acknowledgements count that come while nothing is missing or sent again: others ask for what is lost. One that comes with data waited
//! until the program answered, so that it only says that not every segment is acknowledged at once.

use crate::time::Duration;
use crate::workload::AckPolicy;

/// An acknowledgement did not wait that comes within this of the shortest transit, and within a quarter of it.
const AT_ONCE: u64 = 5_000_000;

/// No TCP delays an acknowledgement for longer (RFC 9293 section 3.8.6.3).
const LONGEST_DELAY: u64 = 500_000_000;

/// What an acknowledgement says of the data that it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// Data segments.
    pub segments: u32,
    /// Since the last of them passed.
    pub since: u64,
}

/// The acknowledgements of one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    /// Those without data before the first that came with data, waited, or acknowledged several segments.
    quick: u32,
    /// Those without data after that which did not wait, and the segments they acknowledged.
    prompt: u32,
    segments: u32,
    /// Those that came with data.
    carried: u32,
    /// Those without data that waited, and for how long.
    waited: u32,
    waits: u64,
}

impl Acks {
    /// Data passed that acknowledges other data.
    pub fn carried(&mut self) {
        self.carried = self.carried.saturating_add(1);
    }

    /// Whether every acknowledgement so far came at once, for one segment.
    pub fn is_quick(&self) -> bool {
        self.prompt == 0 && self.waited == 0 && self.carried == 0
    }

    /// An acknowledgement without data passed; `transit` is the shortest transit of the end's side.
    pub fn passed(&mut self, acknowledged: Acknowledged, transit: Option<u64>) {
        let Acknowledged { segments, since } = acknowledged;
        let wait = transit.map_or(0, |transit| since.saturating_sub(transit));
        if wait > LONGEST_DELAY {
            return;
        }
        if wait > AT_ONCE + transit.unwrap_or(0) / 4 {
            self.waited += 1;
            self.waits += wait;
        } else if segments == 1 && self.is_quick() {
            self.quick += 1;
        } else {
            self.prompt += 1;
            self.segments = self.segments.saturating_add(segments);
        }
    }

    /// What the end does, as far as its acknowledgements tell.
    pub fn policy(&self) -> AckPolicy {
        AckPolicy {
            quick: self.quick,
            prompt: self.prompt,
            prompt_segments: self.segments,
            carried: self.carried,
            delay: (self.waited > 0).then(|| Duration::from_nanos(self.waits / u64::from(self.waited))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn policy(passed: &[(u32, u64)]) -> AckPolicy {
        let mut acks = Acks::default();
        for (segments, since) in passed {
            acks.passed(Acknowledged { segments: *segments, since: since * MS }, Some(10 * MS));
        }
        acks.policy()
    }

    #[test]
    fn quick_prompt_and_late_ones_are_told_apart() {
        let linux = policy(&[(1, 10), (1, 11), (2, 10), (2, 12), (1, 50), (1, 52), (3, 10)]);
        let delay = Some(Duration::from_millis(41));
        assert_eq!(linux, AckPolicy { quick: 2, prompt: 3, prompt_segments: 7, carried: 0, delay });
        assert_eq!(policy(&[(1, 10); 5]), AckPolicy { quick: 5, ..AckPolicy::default() });
    }

    #[test]
    fn an_answer_ends_the_quick_ones() {
        let mut acks = Acks::default();
        let one = Acknowledged { segments: 1, since: 0 };
        acks.passed(one, None);
        acks.carried();
        acks.passed(one, None);
        assert_eq!(acks.policy(), AckPolicy { quick: 1, prompt: 1, prompt_segments: 1, carried: 1, delay: None });
    }

    #[test]
    fn no_tcp_waits_for_longer_than_half_a_second() {
        assert_eq!(policy(&[(1, 700)]), AckPolicy::default());
    }
}
