//! Which records of a 5-tuple belong to one connection.

use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::Flags;

use super::super::record::{EndReason, FlowRecord};

/// Clocks of two exporters may be this far apart, and what they saw still be one connection.
pub(super) const CLOCK_SLACK: Duration = Duration::from_secs(1);
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// When packets were sent, by which ends, and how the connection stood. That of a connection is the union of those of its
/// records, in whatever order they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub first: Time,
    pub last: Time,
    /// What each end did, `None` if nothing is told of it.
    ends: [Option<End>; 2],
}

/// One direction of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    flags: Option<Flags>,
    /// When its latest record ended, and why that was exported.
    last: Time,
    reason: Option<EndReason>,
}

impl Span {
    /// That of a record, the source of which is the end `source_at`.
    pub fn of(record: &FlowRecord, source_at: usize) -> Span {
        let end = |flags| End { flags, last: record.last, reason: record.end_reason };
        let mut ends = [None; 2];
        ends[source_at] = Some(end(record.forward.flags));
        ends[1 - source_at] =
            record.reverse.filter(|counters| counters.has_packets()).map(|counters| end(counters.flags));
        Span { first: record.first, last: record.last, ends }
    }

    /// What is between them; zero where they overlap.
    pub fn gap(&self, other: &Span) -> Duration {
        self.first.since(other.last).max(other.first.since(self.last))
    }

    /// Whether the two are parts of one connection of `protocol`. It does not matter which of them came first.
    pub fn joins(&self, other: &Span, protocol: u8, idle_timeout: Duration) -> bool {
        let gap = self.gap(other);
        if gap == Duration::ZERO {
            return true;
        }
        let both = |end: usize| self.ends[end].is_some() && other.ends[end].is_some();
        if gap <= CLOCK_SLACK && !both(0) && !both(1) {
            return true;
        }
        let (early, late) = if self.first < other.first { (self, other) } else { (other, self) };
        gap <= idle_timeout
            && match protocol {
                TCP => late.continues(early),
                // Datagrams after an idle timeout are another exchange; it counts for the direction that fell silent only.
                _ => {
                    !(0..2).any(|end| both(end) && matches!(early.reason(end), Some(EndReason::Idle | EndReason::End)))
                }
            }
    }

    /// Whether what is `late` can be of the same TCP connection as what was before it.
    fn continues(&self, early: &Span) -> bool {
        for end in 0..2 {
            let Some(late) = self.ends[end] else { continue };
            let early_here = early.ends[end].is_some();
            let begins = match late.flags {
                // It is what a direction begins with.
                Some(flags) => flags.syn() && early_here,
                // Without flags no one can tell the last acknowledgements from a new connection.
                None => early_here && early.reason(end) == Some(EndReason::End),
            };
            if begins {
                return false;
            }
        }
        let opens = (0..2).any(|end| self.flags(end).is_some_and(|flags| flags.syn()));
        let ended = |end| early.flags(end).is_some_and(is_closed) || early.reason(end) == Some(EndReason::End);
        !(opens && (ended(0) || ended(1)))
    }

    /// Makes it the span of both.
    pub fn include(&mut self, other: &Span) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        for (end, more) in self.ends.iter_mut().zip(other.ends) {
            *end = match (*end, more) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            };
        }
    }

    /// Union of the flags that one end sent, as far as anyone says.
    pub fn flags(&self, end: usize) -> Option<Flags> {
        self.ends[end]?.flags
    }

    /// Why the latest record of a direction was exported.
    fn reason(&self, end: usize) -> Option<EndReason> {
        self.ends[end]?.reason
    }

    /// Whether both ends said that they are done, so that only their last acknowledgements may follow.
    pub fn is_closed(&self) -> bool {
        (0..2).all(|end| self.flags(end).is_some_and(is_closed))
    }
}

impl End {
    fn and(self, other: End) -> End {
        let later = if other.last >= self.last { other } else { self };
        let flags = match (self.flags, other.flags) {
            (Some(one), Some(other)) => Some(Flags(one.0 | other.0)),
            (one, other) => one.or(other),
        };
        End { flags, ..later }
    }
}

fn is_closed(flags: Flags) -> bool {
    flags.fin() || flags.rst()
}
