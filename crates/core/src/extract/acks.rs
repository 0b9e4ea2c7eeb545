//! Acknowledgement policy of an end (methods A.13.3): how many data segments it acknowledges at once, and how long it waits.
//!
//! Only acknowledgements without data count that come while nothing is missing or sent again: others are the answers of programs, or
//! ask for what is lost.

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

/// The acknowledgements without data of one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    /// Those before the first that waited or acknowledged several segments.
    quick: u32,
    /// Those after that did not wait, and the segments they acknowledged.
    prompt: u32,
    segments: u32,
    /// Those that waited, and for how long.
    waited: u32,
    waits: u64,
}

impl Acks {
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
        } else if segments == 1 && self.prompt == 0 && self.waited == 0 {
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
            delay: (self.waited > 0).then(|| Duration::from_nanos(self.waits / u64::from(self.waited))),
        }
    }
}
