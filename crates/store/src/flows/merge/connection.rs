//! One connection as its records tell of it.

use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Address, Flags};
use flowloom_core::workload::Side;

use super::super::record::{Clock, Counters, EndReason, FlowRecord, ObservationPoint, Sampling};

/// Observation points whose counts are kept apart; further ones are copies of these.
const MOST_POINTS: usize = 8;
/// Clocks of two exporters may be this far apart, and the two halves of a connection still be one.
const CLOCK_SLACK: Duration = Duration::from_secs(1);

/// A 5-tuple, whichever way its packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub protocol: u8,
    /// The two ends, the smaller first.
    pub ends: [Address; 2],
}

impl Key {
    /// The key of a record, and which of the ends is its source.
    pub fn of(record: &FlowRecord) -> (Key, usize) {
        let (source, destination) = (record.source, record.destination);
        let source_at = usize::from(source > destination);
        let ends = if source_at == 0 { [source, destination] } else { [destination, source] };
        (Key { protocol: record.protocol, ends }, source_at)
    }
}

/// What one observation point counted of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub first: Time,
    pub last: Time,
    /// Scaled up where packets were sampled.
    pub counters: Counters,
    pub scaled: bool,
    point: ObservationPoint,
    /// The record added last, as it came.
    newest: Newest,
    records: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Newest {
    first: Time,
    last: Time,
    packets: u64,
    /// Or payload, where that is counted instead.
    octets: u64,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// The first of its observation point and direction.
    New,
    /// It continues one.
    Slice,
    /// It was there before.
    Duplicate,
}

/// A connection, or one 5-tuple's datagrams.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub first: Time,
    pub last: Time,
    /// The latest export of one of its records.
    pub updated: Time,
    /// Which of the key's ends the exporter names as the initiator.
    pub initiator: Option<usize>,
    /// What the ends sent, by observation point.
    sent: [Vec<Counted>; 2],
    /// Why the newest record of each direction was exported.
    reasons: [Option<EndReason>; 2],
}

impl Connection {
    /// A connection of which `record` is the first record.
    pub fn new(record: &FlowRecord, source_at: usize) -> Connection {
        let mut connection = Connection {
            first: record.first,
            last: record.last,
            updated: record.exported,
            initiator: None,
            sent: [Vec::new(), Vec::new()],
            reasons: [None; 2],
        };
        connection.add(record, source_at);
        connection
    }

    /// Whether a record of its 5-tuple belongs to it.
    pub fn takes(&self, record: &FlowRecord, source_at: usize, idle_timeout: Duration) -> bool {
        if record.first <= self.last && record.last >= self.first {
            return true;
        }
        let gap = record.first.since(self.last).max(self.first.since(record.last));
        if gap > idle_timeout {
            return false;
        }
        if self.sent[source_at].is_empty() && gap <= CLOCK_SLACK {
            return true;
        }
        let flags = record.forward.flags.unwrap_or_default();
        if record.protocol != TCP {
            // Datagrams after an idle timeout are another exchange; it counts for the direction that fell silent only.
            return !matches!(self.reasons[source_at], Some(EndReason::Idle | EndReason::End));
        }
        if record.first < self.first {
            // It came late; what closes a connection comes last.
            return !is_closed(flags);
        }
        let closed = Side::BOTH.into_iter().any(|side| is_closed(self.flags(side as usize)));
        let ended = closed || self.reasons.contains(&Some(EndReason::End));
        if ended {
            // The last acknowledgements after a FIN may make a record of their own; without flags no one can tell.
            return record.forward.flags.is_some() && !flags.syn();
        }
        !(flags.syn() && self.flags(source_at).syn())
    }

    /// Adds a record that belongs to it.
    pub fn add(&mut self, record: &FlowRecord, source_at: usize) -> Added {
        self.first = self.first.min(record.first);
        self.last = self.last.max(record.last);
        self.updated = self.updated.max(record.exported);
        self.reasons[source_at] = record.end_reason;
        if let Some(side) = record.source_side {
            self.initiator = Some(if side == Side::Initiator { source_at } else { 1 - source_at });
        }
        let added = add(&mut self.sent[source_at], record, record.forward);
        if let Some(reverse) = record.reverse.filter(|reverse| added != Added::Duplicate && has_packets(reverse)) {
            add(&mut self.sent[1 - source_at], record, reverse);
        }
        added
    }

    /// The flags that one end sent, as far as anyone says.
    pub fn flags(&self, end: usize) -> Flags {
        let all = self.sent[end].iter().filter_map(|counted| counted.counters.flags);
        Flags(all.fold(0, |all, flags| all | flags.0))
    }

    /// What one end sent, each packet once, and how many records were of packets that others count. `None` if nothing is known of it.
    ///
    /// Of the observation points the one that counted most is believed. What another counted at another time is added:
    /// the path of the packets changed. What it counted at the same time are the same packets.
    pub fn sent(&self, end: usize) -> Option<(Counted, u64)> {
        let weight = |counted: &Counted| {
            let counters = counted.counters;
            counters.octets.or(counters.payload).unwrap_or_default()
        };
        let mut points = self.sent[end].clone();
        // The sort is stable: of equals the first that reported.
        points.sort_by_key(|counted| std::cmp::Reverse(weight(counted)));
        let (believed, others) = points.split_first()?;
        let (mut all, mut duplicates) = (*believed, 0);
        for other in others {
            if other.first < believed.last && other.last > believed.first || other.first == believed.first {
                duplicates += other.records;
            } else {
                all.include(other.first, other.last, other.counters, other.scaled);
            }
        }
        Some((all, duplicates))
    }
}

const TCP: u8 = 6;

fn is_closed(flags: Flags) -> bool {
    flags.fin() || flags.rst()
}

/// Whether a direction told of in the record of the other has anything in it.
fn has_packets(counters: &Counters) -> bool {
    [counters.packets, counters.octets, counters.payload].into_iter().flatten().any(|count| count > 0)
}

impl Counted {
    /// Adds what was counted at another time.
    fn include(&mut self, first: Time, last: Time, counters: Counters, scaled: bool) {
        self.first = self.first.min(first);
        self.last = self.last.max(last);
        self.scaled |= scaled;
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        let union = |one: Option<Flags>, other: Option<Flags>| match (one, other) {
            (Some(one), Some(other)) => Some(Flags(one.0 | other.0)),
            (one, other) => one.or(other),
        };
        self.counters = Counters {
            octets: sum(self.counters.octets, counters.octets),
            packets: sum(self.counters.packets, counters.packets),
            payload: sum(self.counters.payload, counters.payload),
            flags: union(self.counters.flags, counters.flags),
        };
    }
}

/// Which of `points` has the observation point of `record`. Files do not name their exporters: an equal domain in another file is the
/// same stream, split, if the times go on, and another exporter if they do not.
fn same_point(points: &[Counted], record: &FlowRecord) -> Option<usize> {
    let split = |counted: &Counted| {
        let point = ObservationPoint { input: record.observed.input, ..counted.point };
        point == record.observed && record.first >= counted.last
    };
    let exact = points.iter().position(|counted| counted.point == record.observed);
    exact.or_else(|| points.iter().position(split))
}

fn add(points: &mut Vec<Counted>, record: &FlowRecord, counters: Counters) -> Added {
    let newest = Newest {
        first: record.first,
        last: record.last,
        packets: counters.packets.unwrap_or_default(),
        octets: counters.octets.or(counters.payload).unwrap_or_default(),
    };
    let scaled = record.sampling != Sampling::None;
    let undone = Counters {
        octets: counters.octets.map(|octets| record.sampling.undo(octets)),
        packets: counters.packets.map(|packets| record.sampling.undo(packets)),
        payload: counters.payload.map(|payload| record.sampling.undo(payload)),
        flags: counters.flags,
    };
    let Some(at) = same_point(points, record) else {
        if points.len() == MOST_POINTS {
            return Added::Duplicate;
        }
        let (first, last, point) = (record.first, record.last, record.observed);
        // There is hardly ever a second: no room is kept for it.
        points.reserve_exact(1);
        points.push(Counted { first, last, counters: undone, scaled, point, newest, records: 1 });
        return Added::New;
    };
    let known = &mut points[at];
    known.point = record.observed;
    // Export datagrams repeat on their way, and firewalls report a connection's last state twice.
    if known.newest == newest && record.clock != Clock::Export && has_packets(&counters) {
        return Added::Duplicate;
    }
    known.records += 1;
    if record.totals && known.newest.first == record.first {
        let before = Counters { flags: known.counters.flags, ..Counters::default() };
        known.counters = before;
    }
    known.newest = newest;
    known.include(record.first, record.last, undone, scaled);
    Added::Slice
}
