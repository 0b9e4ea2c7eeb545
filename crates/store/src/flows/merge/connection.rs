//! One connection as its records tell of it.

use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Address, Flags};
use flowloom_core::workload::Side;

use super::super::record::{Clock, Counters, FlowRecord, ObservationPoint, Sampling};
use super::span::{CLOCK_SLACK, Span};

/// Observation points whose counts are kept apart; further ones are copies of these.
const MOST_POINTS: usize = 8;

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

impl Newest {
    /// What `totals` since the same start count beyond it.
    fn remainder(&self, totals: Counters) -> Counters {
        let beyond = |count: Option<u64>, before| count.map(|count| count.saturating_sub(before));
        Counters {
            packets: beyond(totals.packets, self.packets),
            octets: beyond(totals.octets, self.octets),
            payload: beyond(totals.payload, self.octets),
            flags: totals.flags,
        }
    }
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
    pub span: Span,
    /// The latest export of one of its records.
    pub updated: Time,
    /// Which of the key's ends the exporter names as the initiator.
    pub initiator: Option<usize>,
    /// What the ends sent, by observation point.
    sent: [Vec<Counted>; 2],
}

impl Connection {
    /// A connection of which `record` is the first record.
    pub fn new(record: &FlowRecord, span: Span, source_at: usize) -> Connection {
        let mut connection =
            Connection { span, updated: record.exported, initiator: None, sent: [Vec::new(), Vec::new()] };
        connection.add(record, &span, source_at);
        connection
    }

    /// Whether a record of its 5-tuple belongs to it.
    pub fn takes(&self, record: &FlowRecord, span: &Span, source_at: usize, idle_timeout: Duration) -> bool {
        self.span.joins(span, record.protocol, idle_timeout)
            // A point that has not told of a direction reports what others did, by its own clock.
            || self.span.gap(span) <= CLOCK_SLACK && same_point(&self.sent[source_at], record).is_none()
    }

    /// Adds a record that belongs to it.
    pub fn add(&mut self, record: &FlowRecord, span: &Span, source_at: usize) -> Added {
        self.span.include(span);
        self.updated = self.updated.max(record.exported);
        if let Some(side) = record.source_side {
            self.initiator = Some(if side == Side::Initiator { source_at } else { 1 - source_at });
        }
        let added = add(&mut self.sent[source_at], record, record.forward);
        if let Some(reverse) = record.reverse.filter(|reverse| added != Added::Duplicate && reverse.has_packets()) {
            add(&mut self.sent[1 - source_at], record, reverse);
        }
        added
    }

    /// Makes `other` part of it: a record came that belongs to both.
    pub fn absorb(&mut self, other: Connection) {
        self.span.include(&other.span);
        self.updated = self.updated.max(other.updated);
        self.initiator = self.initiator.or(other.initiator);
        for (sent, more) in self.sent.iter_mut().zip(other.sent) {
            for counted in more {
                if let Some(known) = sent.iter_mut().find(|known| known.point == counted.point) {
                    known.records += counted.records;
                    known.include(counted.first, counted.last, counted.counters, counted.scaled);
                } else if sent.len() < MOST_POINTS {
                    sent.push(counted);
                }
            }
        }
    }

    /// When each end began to send, by one clock: that of the first observation point that saw both.
    pub fn firsts(&self) -> Option<[Time; 2]> {
        let clock = |counted: &Counted| (counted.point.input, counted.point.exporter, counted.point.domain);
        self.sent[0].iter().find_map(|low| {
            let high = self.sent[1].iter().find(|high| clock(high) == clock(low))?;
            Some([low.first, high.first])
        })
    }

    /// What one end sent, each packet once, and how many records were of packets that others count. `None` if nothing is known of it.
    ///
    /// Of the observation points the one that counted most is believed. What another counted at another time is added:
    /// the path of the packets changed. What it counted at the same time, by clocks that may differ, are the same packets.
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
            if believed.is_at_the_time_of(other) {
                duplicates += other.records;
            } else {
                all.include(other.first, other.last, other.counters, other.scaled);
            }
        }
        Some((all, duplicates))
    }
}

impl Counted {
    fn is_at_the_time_of(&self, other: &Counted) -> bool {
        let apart = |one: Time, other: Time| one.since(other).max(other.since(one));
        let overlap = other.first < self.last && other.last > self.first;
        overlap || apart(self.first, other.first).max(apart(self.last, other.last)) <= CLOCK_SLACK
    }

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

/// What counts of a sample stand for.
fn undone(counters: Counters, sampling: Sampling) -> Counters {
    Counters {
        octets: counters.octets.map(|octets| sampling.undo(octets)),
        packets: counters.packets.map(|packets| sampling.undo(packets)),
        payload: counters.payload.map(|payload| sampling.undo(payload)),
        flags: counters.flags,
    }
}

/// Adds what a record counted of one direction to those of its observation point.
fn add(points: &mut Vec<Counted>, record: &FlowRecord, counters: Counters) -> Added {
    let newest = Newest {
        first: record.first,
        last: record.last,
        packets: counters.packets.unwrap_or_default(),
        octets: counters.octets.or(counters.payload).unwrap_or_default(),
    };
    let scaled = record.sampling != Sampling::None;
    let Some(at) = same_point(points, record) else {
        if points.len() == MOST_POINTS {
            return Added::Duplicate;
        }
        let (first, last, point) = (record.first, record.last, record.observed);
        // There is hardly ever a second: no room is kept for it.
        points.reserve_exact(1);
        let counters = undone(counters, record.sampling);
        points.push(Counted { first, last, counters, scaled, point, newest, records: 1 });
        return Added::New;
    };
    let known = &mut points[at];
    known.point = record.observed;
    // Export datagrams repeat on their way, and firewalls report a connection's last state twice.
    if known.newest == newest && record.clock != Clock::Export && counters.has_packets() {
        return Added::Duplicate;
    }
    known.records += 1;
    let news = if record.totals && known.newest.first == record.first {
        let more = known.newest.remainder(counters);
        // Of totals that came in another order than they were counted the largest stays.
        known.newest = Newest {
            last: record.last.max(known.newest.last),
            packets: newest.packets.max(known.newest.packets),
            octets: newest.octets.max(known.newest.octets),
            ..newest
        };
        more
    } else {
        known.newest = newest;
        counters
    };
    known.include(record.first, record.last, undone(news, record.sampling), scaled);
    Added::Slice
}
