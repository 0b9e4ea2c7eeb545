//! Writes inside ADUs: where a sender could have sent and did not (methods A.13.1).
//!
//! A program that produces an ADU slowly leaves pauses in it that nothing of TCP explains. A pause that TCP or the network may have
//! caused is never taken for the program's: a replay would send by the clock what it should send by acknowledgements. So a pause counts
//! only if no acknowledgement set the sender going again, its window had room, and nothing was being repaired.

use std::collections::VecDeque;

use crate::wire::Timestamps;

/// No pause: a packet on a slow link, a turn of a scheduler.
const SHORTEST_PAUSE: u64 = 1_000_000;

/// After a silence as long as the shortest retransmission timer, a sender may begin with its initial window again (RFC 5681 section 4.1).
const IDLE: u64 = 200_000_000;

/// What passed towards the sender, remembered for two round trips in portions of a sixteenth of one.
const MOST_HEARD: usize = 40;
const PORTIONS: u64 = 16;

/// The current round trip is judged by so many samples, the usual spacing of segments by so many gaps.
const RECENT: usize = 8;

/// A pause among data in flight is longer than this many times the usual spacing: a paced sender has pauses too.
const USUAL_SPACINGS: u64 = 2;

/// The initial window that every TCP has had since 1998 (RFC 2414), in segments.
const LEAST_INITIAL_WINDOW: u64 = 2;

/// The latest values of something.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    values: [u64; RECENT],
    count: u8,
    next: u8,
}

impl Recent {
    fn push(&mut self, value: u64) {
        self.values[usize::from(self.next)] = value;
        self.next = (self.next + 1) % RECENT as u8;
        self.count = (self.count + 1).min(RECENT as u8);
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        self.values[..usize::from(self.count)].iter().copied()
    }

    fn median(&self) -> Option<u64> {
        let mut values = self.values;
        let values = &mut values[..usize::from(self.count)];
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    }
}

/// Packets that passed towards the sender soon after each other.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// When the first of them passed.
    first_at: u64,
    /// When the last did.
    at: u64,
    /// What the last acknowledged.
    ack: u64,
    /// The clock of the first.
    value: Option<u32>,
}

/// A pause before the byte at `at` of an end's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    pub at: u64,
    pub length: u64,
}

/// A segment that passes with nothing but new bytes, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    pub end: u64,
    pub now: u64,
    /// What the other end had acknowledged when it passed the monitor.
    pub acked: u64,
    /// When new data passed before it.
    pub before: u64,
    /// The largest segment that the sender may send, as far as that is known.
    pub mss: u64,
    /// The window that the other end offered last.
    pub window: u64,
    /// It may follow a pause inside an ADU.
    pub inside: bool,
}

/// What tells the pauses of one end's program from those of its TCP and the network.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    heard: VecDeque<Heard>,
    /// Round trips between the monitor and the sender.
    transits: Recent,
    /// The echo that gave the last of them.
    echoed: Option<u32>,
    /// Times between segments.
    spacings: Recent,
    /// The most that was in flight since the last loss or idle time: the window was at least as large.
    allowed: u64,
    /// A loss, a retransmission or reordering is being repaired until this byte is acknowledged.
    repaired_at: u64,
    /// The window was closed since the last new data.
    closed: bool,
    pauses: Vec<Pause>,
}

impl Writes {
    /// `transit` is the transit of the sender's side that is known so far, and `acked` what was acknowledged, at `acked_at`.
    pub fn new(transit: Option<u64>, acked: u64, acked_at: u64) -> Writes {
        let mut transits = Recent::default();
        transit.into_iter().for_each(|transit| transits.push(transit));
        Writes {
            heard: VecDeque::from([Heard { first_at: acked_at, at: acked_at, ack: acked, value: None }]),
            transits,
            echoed: None,
            spacings: Recent::default(),
            allowed: u64::MAX,
            repaired_at: 0,
            closed: false,
            pauses: Vec::new(),
        }
    }

    /// A packet passed towards the sender.
    pub fn heard(&mut self, now: u64, ack: u64, window: u16, timestamps: Option<Timestamps>) {
        self.closed |= window == 0;
        let portion = self.transits.iter().min().unwrap_or(0) / PORTIONS;
        match self.heard.back_mut() {
            Some(last) if now - last.first_at <= portion => (last.at, last.ack) = (now, ack.max(last.ack)),
            last => {
                let ack = last.map_or(ack, |last| ack.max(last.ack));
                if self.heard.len() == MOST_HEARD {
                    self.heard.pop_front();
                }
                self.heard.push_back(Heard {
                    first_at: now,
                    at: now,
                    ack,
                    value: timestamps.map(|stamps| stamps.value),
                });
            }
        }
    }

    /// The sender's TCP answered within `transit`.
    pub fn sample(&mut self, transit: u64) {
        self.transits.push(transit);
    }

    /// The sender echoes a clock: the first packet that does gives a round trip.
    pub fn echo(&mut self, now: u64, echo: u32) {
        if self.echoed == Some(echo) {
            return;
        }
        self.echoed = Some(echo);
        let is_heard = |heard: &&Heard| heard.value.is_some_and(|value| echo.wrapping_sub(value) as i32 >= 0);
        if let Some(heard) = self.heard.iter().rev().find(is_heard) {
            self.transits.push(now - heard.first_at);
        }
    }

    /// Data up to `high` had passed when something showed that a part of it was lost, sent again or overtaken.
    pub fn lost(&mut self, high: u64) {
        self.repaired_at = self.repaired_at.max(high);
        self.allowed = 0;
    }

    /// The shortest and the longest of the latest round trips between the monitor and the sender.
    pub fn recent_transits(&self) -> Option<(u64, u64)> {
        Some((self.transits.iter().min()?, self.transits.iter().max()?))
    }

    /// New data passed in order.
    pub fn sent(&mut self, sent: &Sent) {
        let gap = sent.now - sent.before;
        if self.allowed == u64::MAX {
            self.allowed = LEAST_INITIAL_WINDOW * sent.mss;
        }
        let idle = gap >= IDLE && sent.acked >= sent.start;
        if sent.inside && gap > SHORTEST_PAUSE && self.could_have_sent(sent, gap) {
            self.pauses.push(Pause { at: sent.start, length: gap });
        }
        if idle {
            self.allowed = LEAST_INITIAL_WINDOW * sent.mss;
        }
        self.spacings.push(gap);
        self.allowed = self.allowed.max(sent.end - sent.acked.min(sent.end));
        self.closed = false;
    }

    /// Whether the sender could have sent this earlier.
    fn could_have_sent(&self, sent: &Sent, gap: u64) -> bool {
        if self.closed || sent.acked < self.repaired_at || sent.end - sent.start > sent.mss {
            return false;
        }
        let Some(shortest) = self.transits.iter().min() else { return false };
        let longest = shortest;
        // What passed later cannot have reached the sender before it sent this.
        let known_by = sent.now.saturating_sub(shortest * 7 / 10);
        let Some(heard) = self.heard.iter().rev().find(|heard| heard.at <= known_by) else { return false };
        if sent.now - heard.at <= longest + longest / 4 + SHORTEST_PAUSE {
            return false;
        }
        let flight = sent.start.saturating_sub(heard.ack);
        if flight == 0 {
            return true;
        }
        let spacing = self.spacings.median().unwrap_or(0);
        flight + sent.mss <= self.allowed.min(sent.window) && gap > USUAL_SPACINGS * spacing
    }

    /// The pauses of the program, in order.
    pub fn pauses(&self) -> &[Pause] {
        &self.pauses
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Writes>() + self.heard.capacity() * size_of::<Heard>() + self.pauses.capacity() * size_of::<Pause>()
    }
}
