//! What a concurrent connection's ends wait for from each other (methods A.13.1).
//!
//! A connection is concurrent as soon as two segments cross (methods A.4). Its ends still answer one another: most of such connections
//! are exchanges, in which something else crossed once. Without the answers a replay sends at once what either end sent in turns.
//!
//! An ADU of a concurrent connection is cut where its sender had nothing more to send, then heard more of the other end's data, and
//! went on. The acknowledgement that its next segment carries tells what it had heard, exactly; the wait is counted from when the last
//! of that passed the monitor, so that it holds a transit of the sender's side, as the wait before an ADU of ends that take turns does.
//! A sender that goes on because its window opened had more to send: its segment before was full.

use super::writes::{SHORTEST_PAUSE, answered_within};

/// An end went on when it had heard more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The first byte it sent then.
    pub at: u64,
    /// One past the last byte of the other end that it had heard.
    pub heard: u64,
    /// How long ago that had passed the monitor.
    pub since: u64,
}

/// What an end has of the other end's data, as its acknowledgements tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    /// One past the last byte.
    pub up_to: u64,
    /// When that passed.
    pub passed: u64,
}

/// A segment of new data in order, as what its sender had heard tells whether it is an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    pub now: u64,
    /// What its sender had heard when it sent it.
    pub heard: Heard,
    /// What the segment of new data before acknowledged, and when it passed.
    pub before: Heard,
    /// The shortest round trip between the monitor and the sender.
    pub transit: u64,
}

impl Sent {
    /// What of the other end's data set its sender going, which had nothing more to send; of what it heard before its segment
    /// before only what it heard just before.
    pub fn answer(&self) -> Option<Answer> {
        let Sent { start, now, heard: Heard { up_to, passed }, before, transit } = *self;
        let is_newer = up_to > before.up_to || passed.saturating_add(answered_within(transit, 0)) >= before.passed;
        (is_newer && now - before.passed > SHORTEST_PAUSE).then(|| Answer {
            at: start,
            heard: up_to,
            since: now - passed,
        })
    }
}

/// The answers of one end, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    list: Vec<Answer>,
    /// So many of them are turns that the ends took before the crossing.
    turns: usize,
}

impl Answers {
    /// The connection is found to be concurrent: all so far are turns.
    pub fn crossed(&mut self) {
        self.turns = self.list.len();
    }

    /// Adds one, unless it waits for nothing that an earlier one did not wait for.
    pub fn add(&mut self, answer: Answer) {
        if self.list.last().is_none_or(|last| answer.at > last.at && answer.heard > last.heard) {
            self.list.push(answer);
        }
    }

    /// Those that are sure, in order: turns, and those before which a write `ended`. What is sent again, and was lost before the monitor at
    /// first, looks like an answer.
    pub fn list(&self, ended: impl Fn(u64) -> bool) -> impl Iterator<Item = Answer> {
        let numbered = self.list.iter().enumerate();
        numbered.filter(move |(number, answer)| *number < self.turns || ended(answer.at)).map(|(_, answer)| *answer)
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Answers>() + self.list.capacity() * size_of::<Answer>()
    }
}
