//! A target over time: answers in, samples and gaps out (methods I.5). No I/O and no clock.
//!
//! Numbers of series are local to a tracker: 0 and 1 are those of [`OWN`], which are about the whole target; all others are announced by
//! [`Event::Defined`] before they are used.

use std::collections::BTreeMap;

use flowloom_store::monitor::{Kind, Reason, Series};

use crate::clock::Moment;
use crate::doubt::{Counts, Doubts};
use crate::ifmib::capacity;
use crate::rates::{Capacity, Width, counted, restarted};

/// What is recorded of the asking itself: its time and its packets, which are part of what the ports of the target count.
pub const OWN: [(&str, &str); 2] = [("answer-time", "ns"), ("own-packets", "packets")];

/// The series of the answers of a target. Its gaps speak for all series of the target.
pub const ANSWERS: u32 = 0;

/// What a counter counts, for the bound of its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Octets that cross the port.
    Octets,
    /// Packets that cross the port, or events of at most one a packet.
    Packets,
    /// Something else, of which so many can come in a second, if that is known.
    Own(Option<u64>),
}

/// A counter that a target offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// Its name in results.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// What it counts.
    pub class: Class,
    /// Whether it counts or holds a value; `None` if the type of the answer says so.
    pub kind: Option<Kind>,
}

/// The value of a counter in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Counts that add up to it.
    Counts(Vec<(u64, Width)>),
    /// A value that it holds.
    Value(u64),
    /// The answer does not have it.
    None,
}

/// What a port can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Bits in a second.
    pub bits_per_second: u64,
    /// Whether the registry says so, and not the target.
    pub is_stated: bool,
}

/// A port in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortReading {
    /// Which counters it has: an index into the groups of the tracker.
    pub group: usize,
    /// Its name.
    pub name: String,
    /// What the target knows it by.
    pub index: String,
    /// When it was received.
    pub received: Moment,
    /// The uptime at which its counting was last interrupted, if the target says so.
    pub discontinuity: Option<u32>,
    /// What it can carry, if that is known.
    pub speed: Option<Speed>,
    /// The value of each counter of the group.
    pub readings: Vec<Reading>,
}

/// An answer of a target.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// When the question was sent.
    pub asked: Moment,
    /// When the last of it was received.
    pub received: Moment,
    /// Its uptime in hundredths of a second, if it has one, and when that was received.
    pub uptime: Option<(u32, Moment)>,
    /// Its ports.
    pub ports: Vec<PortReading>,
    /// Packets that the asking took.
    pub own_packets: u64,
}

/// What a tracker finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A series is new.
    Defined {
        /// Its local number.
        series: u32,
        /// The port; empty for the whole target.
        port: String,
        /// The counter.
        counter: String,
        /// Its unit.
        unit: String,
        /// Whether it counts.
        kind: Kind,
    },
    /// Samples that were received together and have the same span.
    Samples {
        /// When they were received.
        time_ns: u64,
        /// Time since the answer before.
        span_ns: u64,
        /// Local numbers of series, and what was counted.
        samples: Vec<(u32, u64)>,
    },
    /// A rate is unknown.
    Gap {
        /// The local number of the series.
        series: u32,
        /// The last answer before.
        start_ns: u64,
        /// The first answer after.
        end_ns: u64,
        /// Why.
        reason: Reason,
        /// What was counted in that time, where that is known.
        amount: Option<u64>,
    },
}

/// Follows a target.
pub struct Tracker {
    groups: Vec<Vec<CounterInfo>>,
    ports: BTreeMap<(usize, String), Port>,
    next_series: u32,
    /// The last answer, or the first question.
    last: Option<Moment>,
    uptime: Option<(u32, Moment)>,
    /// Why answers are missing since [`Tracker::last`].
    missing: Option<Reason>,
    events: Vec<Event>,
}

struct Port {
    index: String,
    discontinuity: Option<u32>,
    /// What it could carry in the answer before.
    speed: Option<Speed>,
    /// When it was last in an answer, or until when its absence is recorded.
    seen: Moment,
    /// The last answer that had it, while it is in none.
    absent_since: Option<Moment>,
    counters: Vec<Option<Followed>>,
}

struct Followed {
    series: u32,
    kind: Kind,
    counts: Counts,
    received: Moment,
    doubts: Doubts,
}

impl Tracker {
    /// One of a target with these groups of counters.
    pub fn new(groups: Vec<Vec<CounterInfo>>) -> Tracker {
        let mut tracker = Tracker {
            groups,
            ports: BTreeMap::new(),
            next_series: 0,
            last: None,
            uptime: None,
            missing: None,
            events: Vec::new(),
        };
        for ((name, unit), kind) in OWN.into_iter().zip([Kind::Gauge, Kind::Counter]) {
            let info =
                CounterInfo { name: name.to_owned(), unit: unit.to_owned(), class: Class::Own(None), kind: None };
            tracker.define("", &info, kind);
        }
        tracker
    }

    /// What was found since this was last called.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The ports that the last answer had.
    pub fn ports(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().filter(|(_, port)| port.absent_since.is_none()).map(|((_, name), _)| name.as_str())
    }

    fn define(&mut self, port: &str, info: &CounterInfo, kind: Kind) -> u32 {
        let series = self.next_series;
        self.next_series += 1;
        let (counter, unit) = (info.name.clone(), info.unit.clone());
        self.events.push(Event::Defined { series, port: port.to_owned(), counter, unit, kind });
        series
    }

    fn gap(&mut self, series: u32, from: &Moment, to: &Moment, reason: Reason, amount: Option<u64>) {
        let (start_ns, end_ns) = (from.wall_ns, to.wall_ns);
        if start_ns < end_ns {
            self.events.push(Event::Gap { series, start_ns, end_ns, reason, amount });
        }
    }

    /// The target did not answer; `now` the wait is over.
    pub fn failed(&mut self, now: Moment, reason: Reason, own_packets: u64) {
        let mut now = now;
        if let Some(last) = self.last {
            let (placed, span_ns) = now.following(&last);
            now = placed;
            self.gap(ANSWERS, &last, &now, reason, None);
            self.sample(now.wall_ns, span_ns, OWN_PACKETS, own_packets);
        }
        self.last = Some(now);
        self.missing = Some(reason);
    }

    /// The target answered.
    pub fn answered(&mut self, answer: Answer) {
        let before = self.uptime.zip(answer.uptime);
        let has_restarted = before.is_some_and(|((old, then), (new, now))| restarted(old, new, now.since(&then)));
        self.uptime = answer.uptime.or(self.uptime);
        let missing = self.missing.take();
        let interruption = if has_restarted { Some(Reason::Restart) } else { missing };
        let (now, span) = answer.received.following(&self.last.unwrap_or(answer.asked));
        if let Some(last) = self.last {
            match missing {
                // The time from the last question without an answer until this answer.
                Some(reason) => self.gap(ANSWERS, &last, &now, reason, None),
                None if has_restarted => self.gap(ANSWERS, &last, &now, Reason::Restart, None),
                None => {}
            }
        }
        self.sample(now.wall_ns, span, ANSWERS, answer.received.since(&answer.asked));
        self.sample(now.wall_ns, span, OWN_PACKETS, answer.own_packets);
        let mut present: BTreeMap<(usize, &str), ()> = BTreeMap::new();
        for port in &answer.ports {
            // Of two ports with one name the second is none.
            if port.group < self.groups.len() && present.insert((port.group, &port.name), ()).is_none() {
                self.port(port, interruption);
            }
        }
        let missing = self.ports.keys().filter(|key| !present.contains_key(&(key.0, key.1.as_str())));
        let missing: Vec<(usize, String)> = missing.cloned().collect();
        missing.iter().for_each(|key| self.absent(key, now, false));
        self.last = Some(now);
    }

    /// Nothing is asked any longer: absences are recorded until the last answer.
    pub fn end(&mut self) {
        let Some(last) = self.last.filter(|_| self.missing.is_none()) else { return };
        let absent: Vec<(usize, String)> =
            self.ports.iter().filter(|(_, port)| port.absent_since.is_some()).map(|(key, _)| key.clone()).collect();
        absent.iter().for_each(|key| self.absent(key, last, true));
    }

    /// A port is not in an answer. That is recorded while it lasts, in ever longer parts, so that one that never comes back takes no room.
    fn absent(&mut self, key: &(usize, String), now: Moment, is_last: bool) {
        let Some(port) = self.ports.get_mut(key) else { return };
        let recorded = port.seen;
        let since = *port.absent_since.get_or_insert(recorded);
        if !is_last && now.since(&recorded) < recorded.since(&since) / UNRECORDED_SHARE {
            return;
        }
        let (now, _) = now.following(&recorded);
        port.seen = now;
        let series: Vec<u32> = port.counters.iter().flatten().map(|counter| counter.series).collect();
        series.into_iter().for_each(|series| self.gap(series, &recorded, &now, Reason::Absent, None));
    }

    fn port(&mut self, reading: &PortReading, interruption: Option<Reason>) {
        let key = (reading.group, reading.name.clone());
        let counters = self.groups[reading.group].len();
        let mut port = self.ports.remove(&key).unwrap_or_else(|| Port {
            index: reading.index.clone(),
            discontinuity: reading.discontinuity,
            speed: reading.speed,
            seen: reading.received,
            absent_since: None,
            counters: (0..counters).map(|_| None).collect(),
        });
        let is_other = port.index != reading.index;
        let was_reset = match (port.discontinuity, reading.discontinuity) {
            (Some(before), Some(after)) => before != after,
            _ => false,
        };
        let interruption = match interruption {
            Some(Reason::Restart) => interruption,
            _ if is_other => Some(Reason::IndexChange),
            _ if was_reset => Some(Reason::Reset),
            _ if port.absent_since.is_some() => Some(Reason::Absent),
            other => other,
        };
        // Until then its absence is recorded. What runs say may be older than that.
        let recorded = port.absent_since.map(|_| port.seen).filter(|recorded| *recorded < reading.received);
        // In the time between two answers the speed may have been either.
        let speed = faster(port.speed, reading.speed);
        for (number, value) in reading.readings.iter().enumerate().take(counters) {
            let info = self.groups[reading.group][number].clone();
            let mut before = port.counters[number].take();
            if let Some((before, recorded)) = before.as_mut().zip(recorded) {
                before.received = recorded;
            }
            port.counters[number] = self.counter(reading, speed, &info, before, value, interruption);
        }
        port.index.clone_from(&reading.index);
        port.discontinuity = reading.discontinuity;
        port.speed = reading.speed;
        // Where its samples end.
        port.seen = port.counters.iter().flatten().map(|counter| counter.received).max().unwrap_or(reading.received);
        port.absent_since = None;
        self.ports.insert(key, port);
    }

    /// A counter of a port: what it was in the answer before, and is in this one.
    fn counter(
        &mut self,
        reading: &PortReading,
        speed: Option<Speed>,
        info: &CounterInfo,
        before: Option<Followed>,
        value: &Reading,
        interruption: Option<Reason>,
    ) -> Option<Followed> {
        let following = |before: &Followed| reading.received.following(&before.received);
        let (received, span_ns) = before.as_ref().map_or((reading.received, 0), following);
        let (kind, counts) = match (value, info.kind) {
            (Reading::None, _) => {
                // It may come back, and is unknown until then.
                let before = before?;
                if before.received != Moment::default() {
                    self.gap(before.series, &before.received, &received, Reason::Absent, None);
                }
                return Some(Followed { counts: Vec::new(), received, ..before });
            }
            (Reading::Counts(counts), Some(Kind::Gauge)) => (Kind::Gauge, counts.clone()),
            (Reading::Counts(counts), _) => (Kind::Counter, counts.clone()),
            (Reading::Value(value), Some(Kind::Counter)) => (Kind::Counter, vec![(*value, Width::Bits32)]),
            (Reading::Value(value), _) => (Kind::Gauge, vec![(*value, Width::Bits64)]),
        };
        let before = before.filter(|before| before.kind == kind);
        let Some(mut before) = before else {
            let series = self.define(&reading.name, info, kind);
            return Some(Followed { series, kind, counts, received: reading.received, doubts: Doubts::default() });
        };
        if kind == Kind::Gauge {
            let value = counts.iter().map(|(value, _)| *value).fold(0, u64::saturating_add);
            if let Some(reason) = interruption {
                self.gap(before.series, &before.received, &received, reason, None);
            } else {
                self.sample(received.wall_ns, span_ns, before.series, value);
            }
            return Some(Followed { counts, received, ..before });
        }
        // Where the target says that it counts anew, nothing is doubted.
        let is_stated = matches!(interruption, Some(Reason::Restart | Reason::IndexChange | Reason::Reset));
        let mut doubts = if is_stated { Doubts::default() } else { std::mem::take(&mut before.doubts) };
        let comes_back = doubts.resolve(&before.counts, &counts, &received);
        let amount = self::amount(&before.counts, &counts, span_ns, comes_back, capacity(info.class, speed));
        if amount == Err(Reason::Reset) && !is_stated {
            doubts.enter(before.counts.clone(), counts.clone(), received);
        }
        match (interruption, amount) {
            (None, Ok(amount)) => self.sample(received.wall_ns, span_ns, before.series, amount),
            (None, Err(reason)) => self.gap(before.series, &before.received, &received, reason, None),
            // The counter went on, and says how much it was in all.
            (Some(reason @ (Reason::NoAnswer | Reason::BadAnswer)), Ok(amount)) => {
                self.gap(before.series, &before.received, &received, reason, Some(amount));
            }
            (Some(Reason::NoAnswer | Reason::BadAnswer), Err(reason)) | (Some(reason), _) => {
                self.gap(before.series, &before.received, &received, reason, None);
            }
        }
        Some(Followed { counts, received, doubts, ..before })
    }

    fn sample(&mut self, time_ns: u64, span_ns: u64, series: u32, amount: u64) {
        if span_ns == 0 {
            return;
        }
        if let Some(Event::Samples { time_ns: time, span_ns: span, samples }) = self.events.last_mut()
            && (*time, *span) == (time_ns, span_ns)
        {
            samples.push((series, amount));
            return;
        }
        self.events.push(Event::Samples { time_ns, span_ns, samples: vec![(series, amount)] });
    }
}

/// The greater of two speeds, or the one that is known.
fn faster(one: Option<Speed>, other: Option<Speed>) -> Option<Speed> {
    one.into_iter().chain(other).max_by_key(|speed| speed.bits_per_second)
}

/// The series of the monitor's own packets.
const OWN_PACKETS: u32 = 1;

/// Of the time that a port is absent, one of so many parts is not recorded at most while it lasts.
const UNRECORDED_SHARE: u64 = 16;

/// What was counted by counters that add up; the first reason why that is unknown. A counter that `comes_back` to what it had counts only
/// what the port is known to carry: the answers between were wrong, and the difference is all that it ever counted.
fn amount(
    before: &[(u64, Width)],
    after: &[(u64, Width)],
    span_ns: u64,
    comes_back: bool,
    capacity: Option<Capacity>,
) -> Result<u64, Reason> {
    if before.is_empty() {
        return Err(Reason::Absent);
    }
    // The agent counts in another way than before.
    if before.len() != after.len() || before.iter().zip(after).any(|(before, after)| before.1 != after.1) {
        return Err(Reason::Reset);
    }
    let capacity = match (comes_back, capacity) {
        (true, None) => return Err(Reason::AboveCapacity),
        (true, Some(capacity)) => Some(Capacity { is_stated: true, ..capacity }),
        (false, capacity) => capacity,
    };
    before.iter().zip(after).try_fold(0u64, |sum, ((before, width), (after, _))| {
        Ok(sum.saturating_add(counted(*before, *after, *width, span_ns, capacity)?))
    })
}

/// Whether the gaps of a series of a store are gaps of all series of its target.
pub(crate) fn speaks_for_target(series: &Series) -> bool {
    series.port.is_empty() && series.counter == OWN[ANSWERS as usize].0
}

#[cfg(test)]
mod tests;
