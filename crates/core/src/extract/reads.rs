//! Pauses of readers: where an end's receive window closed because its program did not read, and for how long (methods A.13.12).
//!
//! What arrives and is not read fills the receive buffer, and the right edge of the window stays where it is until the program reads
//! on. So the edge tells the reader from the network: late or lost data and acknowledgements leave the window as wide as it was. A
//! window is closed when a sender that avoids silly windows sends no more: below one segment, and below half of the largest window (RFC
//! 9293 section 3.8.6.2.1). A window that is always small, as of a small device, is never closed by that.
//!
//! An edge that seems to move back is a segment that another overtook. A window that is open again in the answer to a probe may have been
//! so for long, and the update that told it was lost: then the pause lasts until the window was known to be closed last.

use super::writes::Pause;

/// No pause: a turn of a scheduler.
const SHORTEST_PAUSE: u64 = 1_000_000;

/// An answer comes within two round trips between the monitor and the reader, and this.
const SLACK: u64 = 50_000_000;

/// The window that a segment of the reader offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    pub now: u64,
    /// One past the last byte that the other end may send, by all of the reader's segments so far.
    pub edge: u64,
    /// No more than this of it is left.
    pub is_closed: bool,
    /// Round trip between the monitor and the reader.
    pub transit: Option<u64>,
}

/// A window that is closed.
#[derive(Clone, Copy, Debug)]
struct Closed {
    /// Where it ended when it closed.
    edge: u64,
    since: u64,
    /// When the reader said so last.
    known: u64,
    /// When the latest segment passed towards the reader, if the reader has not said anything since.
    asked: Option<u64>,
}

/// The pauses of one reader, from the first time its window closed.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    closed: Option<Closed>,
    /// When the window opened last.
    opened_at: Option<u64>,
    pauses: Vec<Pause>,
}

impl Reads {
    /// Whether the window is closed.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Whether the window has been closed at some time since then.
    pub fn was_closed_since(&self, since: u64) -> bool {
        self.is_closed() || self.opened_at.is_some_and(|opened| opened >= since)
    }

    /// A segment passed towards the reader.
    pub fn heard(&mut self, now: u64) {
        if let Some(closed) = &mut self.closed {
            closed.asked = Some(now);
        }
    }

    /// A segment of the reader passed.
    pub fn offered(&mut self, offered: &Offered) {
        let Offered { now, edge, is_closed, .. } = *offered;
        match &mut self.closed {
            None if is_closed => self.closed = Some(Closed { edge, since: now, known: now, asked: None }),
            Some(closed) if is_closed => (closed.known, closed.asked) = (now, None),
            None => {}
            Some(closed) => {
                let until = if closed.may_be_answered(offered) { closed.known } else { now };
                let length = until - closed.since;
                if length >= SHORTEST_PAUSE {
                    self.pauses.push(Pause { at: closed.edge, length });
                }
                (self.closed, self.opened_at) = (None, Some(now));
            }
        }
    }

    /// The pauses that are over, by sequence number of the other end.
    pub fn pauses(&self) -> &[Pause] {
        &self.pauses
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Reads>() + self.pauses.capacity() * size_of::<Pause>()
    }
}

impl Closed {
    /// Whether the segment may answer what passed towards the reader last.
    fn may_be_answered(&self, offered: &Offered) -> bool {
        let transit = offered.transit.unwrap_or(0);
        self.asked.is_some_and(|asked| {
            let since = offered.now - asked;
            since >= transit / 10 * 7 && since <= transit.saturating_mul(2).saturating_add(SLACK)
        })
    }
}
