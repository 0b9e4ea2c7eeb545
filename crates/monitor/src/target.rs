//! A target over time: answers in, samples and gaps out (methods I.5). No I/O and no clock.
//!
//! Numbers of series are local to a tracker: 0 and 1 are those of [`OWN`], which are about the whole target; all others are announced by
//! [`Event::Defined`] before they are used.

use std::collections::BTreeMap;

use flowloom_store::monitor::{Kind, Reason};

use crate::clock::Moment;
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
    /// When it was last in an answer, or until when its absence is told.
    seen: Moment,
    /// The last answer that had it, while it is in none.
    absent_since: Option<Moment>,
    counters: Vec<Option<Followed>>,
}

struct Followed {
    series: u32,
    kind: Kind,
    counts: Vec<(u64, Width)>,
    received: Moment,
    /// What it was before it went back without a wrap: either it was reset, or that answer was wrong.
    doubted: Option<Vec<(u64, Width)>>,
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
        if let Some(last) = self.last {
            self.gap(ANSWERS, &last, &now, reason, None);
            let span_ns = now.since(&last);
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
        if let Some(last) = self.last {
            let now = answer.received;
            match missing {
                // The time from the last question without an answer until this answer.
                Some(reason) => self.gap(ANSWERS, &last, &now, reason, None),
                None if has_restarted => self.gap(ANSWERS, &last, &now, Reason::Restart, None),
                None => {}
            }
        }
        let span = answer.received.since(&self.last.unwrap_or(answer.asked));
        self.sample(answer.received.wall_ns, span, ANSWERS, answer.received.since(&answer.asked));
        self.sample(answer.received.wall_ns, span, OWN_PACKETS, answer.own_packets);
        let mut present: BTreeMap<(usize, &str), ()> = BTreeMap::new();
        for port in &answer.ports {
            // Of two ports with one name the second is none.
            if port.group < self.groups.len() && present.insert((port.group, &port.name), ()).is_none() {
                self.port(port, interruption);
            }
        }
        let now = answer.received;
        let missing = self.ports.keys().filter(|key| !present.contains_key(&(key.0, key.1.as_str())));
        let missing: Vec<(usize, String)> = missing.cloned().collect();
        missing.iter().for_each(|key| self.absent(key, now, false));
        self.last = Some(now);
    }

    /// Nothing is asked any longer: what is absent is told until the last answer.
    pub fn end(&mut self) {
        let Some(last) = self.last.filter(|_| self.missing.is_none()) else { return };
        let absent: Vec<(usize, String)> =
            self.ports.iter().filter(|(_, port)| port.absent_since.is_some()).map(|(key, _)| key.clone()).collect();
        absent.iter().for_each(|key| self.absent(key, last, true));
    }

    /// A port is not in an answer. That is told while it lasts, in ever longer parts, so that one that never comes back takes no room.
    fn absent(&mut self, key: &(usize, String), now: Moment, is_last: bool) {
        let Some(port) = self.ports.get_mut(key) else { return };
        let told = port.seen;
        let since = *port.absent_since.get_or_insert(told);
        if !is_last && now.since(&told) < told.since(&since) / UNTOLD_SHARE {
            return;
        }
        port.seen = now;
        let series: Vec<u32> = port.counters.iter().flatten().map(|counter| counter.series).collect();
        series.into_iter().for_each(|series| self.gap(series, &told, &now, Reason::Absent, None));
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
        // Until then its absence is told. What runs say may be older than that.
        let told = port.absent_since.map(|_| port.seen).filter(|told| *told < reading.received);
        // In the time between two answers the speed may have been either.
        let speed = faster(port.speed, reading.speed);
        for (number, value) in reading.readings.iter().enumerate().take(counters) {
            let info = self.groups[reading.group][number].clone();
            let mut before = port.counters[number].take();
            if let Some((before, told)) = before.as_mut().zip(told) {
                before.received = told;
            }
            port.counters[number] = self.counter(reading, speed, &info, before, value, interruption);
        }
        port.index.clone_from(&reading.index);
        port.discontinuity = reading.discontinuity;
        port.speed = reading.speed;
        port.seen = reading.received;
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
        let received = reading.received;
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
        let Some(before) = before else {
            let series = self.define(&reading.name, info, kind);
            return Some(Followed { series, kind, counts, received, doubted: None });
        };
        let span_ns = received.since(&before.received);
        if kind == Kind::Gauge {
            let value = counts.iter().map(|(value, _)| *value).fold(0, u64::saturating_add);
            if let Some(reason) = interruption {
                self.gap(before.series, &before.received, &received, reason, None);
            } else {
                self.sample(received.wall_ns, span_ns, before.series, value);
            }
            return Some(Followed { counts, received, ..before });
        }
        let comes_back = before.doubted.as_ref().is_some_and(|known| reaches(&counts, known));
        let amount = self::amount(&before.counts, &counts, span_ns, comes_back, capacity(info.class, speed));
        let doubted = (interruption.is_none() && amount == Err(Reason::Reset)).then(|| before.counts.clone());
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
        Some(Followed { counts, received, doubted, ..before })
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

/// Of the time that a port is absent, one of so many parts is untold at most while it lasts.
const UNTOLD_SHARE: u64 = 16;

/// Whether counters have at least what they had.
fn reaches(counts: &[(u64, Width)], known: &[(u64, Width)]) -> bool {
    counts.len() == known.len() && counts.iter().zip(known).all(|(now, then)| now.0 >= then.0)
}

/// What was counted by counters that add up; the first reason why that is unknown. A counter that `comes_back` from where it went back to
/// counts only what the port is known to carry: if the answer between was wrong, the difference is all that it ever counted.
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

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Moment {
        Moment { monotonic_ns: seconds * S, wall_ns: (1_000_000 + seconds) * S }
    }

    fn octets() -> Vec<Vec<CounterInfo>> {
        let info =
            |name: &str, class, kind| CounterInfo { name: name.to_owned(), unit: "octets".to_owned(), class, kind };
        vec![vec![info("in", Class::Octets, None)]]
    }

    /// Answers of one port with a counter, of which the index, the uptime and the count are given.
    struct Story {
        tracker: Tracker,
        bits: Option<u64>,
        width: Width,
        /// What was counted until now, where a test keeps it.
        told: u64,
    }

    impl Story {
        fn new(bits: Option<u64>, width: Width) -> Story {
            let mut tracker = Tracker::new(octets());
            tracker.take();
            Story { tracker, bits, width, told: 0 }
        }

        fn answer(&mut self, seconds: u64, uptime: u32, index: &str, count: u64) -> Vec<Event> {
            let received = at(seconds);
            let port = PortReading {
                group: 0,
                name: "eth0".to_owned(),
                index: index.to_owned(),
                received,
                discontinuity: None,
                speed: self.bits.map(|bits_per_second| Speed { bits_per_second, is_stated: false }),
                readings: vec![Reading::Counts(vec![(count, self.width)])],
            };
            self.answer_with(seconds, uptime, vec![port])
        }

        fn answer_with(&mut self, seconds: u64, uptime: u32, ports: Vec<PortReading>) -> Vec<Event> {
            let received = at(seconds);
            let (asked, uptime) = (received, Some((uptime * 100, received)));
            self.tracker.answered(Answer { asked, received, uptime, ports, own_packets: 2 });
            self.found()
        }

        fn failed(&mut self, seconds: u64) -> Vec<Event> {
            self.tracker.failed(at(seconds), Reason::NoAnswer, 1);
            self.found()
        }

        /// What was found of the port and of gaps of the target.
        fn found(&mut self) -> Vec<Event> {
            let mut events = self.tracker.take();
            for event in &mut events {
                if let Event::Samples { samples, .. } = event {
                    samples.retain(|(series, _)| *series > OWN_PACKETS);
                }
            }
            events.retain(|event| !matches!(event, Event::Samples { samples, .. } if samples.is_empty()));
            events
        }
    }

    fn sample(seconds: u64, span: u64, amount: u64) -> Event {
        Event::Samples { time_ns: at(seconds).wall_ns, span_ns: span * S, samples: vec![(2, amount)] }
    }

    fn gap(series: u32, from: u64, to: u64, reason: Reason, amount: Option<u64>) -> Event {
        Event::Gap { series, start_ns: at(from).wall_ns, end_ns: at(to).wall_ns, reason, amount }
    }

    #[test]
    fn counters_are_sampled_from_the_second_answer_on() {
        let mut story = Story::new(Some(1_000_000_000), Width::Bits32);
        assert!(matches!(&story.answer(10, 500, "1", 4_294_960_000)[..], [Event::Defined { series: 2, .. }]));
        // It wraps.
        assert_eq!(story.answer(20, 510, "1", 12_000), [sample(20, 10, 19_296)]);
        assert_eq!(story.answer(31, 521, "1", 12_500), [sample(31, 11, 500)]);
    }

    #[test]
    fn answers_that_are_missing_make_a_gap() {
        let mut story = Story::new(None, Width::Bits64);
        story.answer(10, 500, "1", 100);
        assert_eq!(story.failed(21), [gap(0, 10, 21, Reason::NoAnswer, None)]);
        assert_eq!(story.failed(31), [gap(0, 21, 31, Reason::NoAnswer, None)]);
        // What was counted meanwhile is known, and is no sample: it may have been a peak.
        let found = story.answer(40, 530, "1", 1_100);
        assert_eq!(found, [gap(0, 31, 40, Reason::NoAnswer, None), gap(2, 10, 40, Reason::NoAnswer, Some(1_000))]);
        assert_eq!(story.answer(50, 540, "1", 1_200), [sample(50, 10, 100)]);
    }

    #[test]
    fn a_restart_makes_no_spike() {
        for (count, uptime) in [(5, 3), (99_999, 3), (5, 505)] {
            let mut story = Story::new(Some(1_000_000_000), Width::Bits32);
            story.answer(10, 500, "1", 4_000_000_000);
            let found = story.answer(20, uptime, "1", count);
            assert_eq!(found, [gap(0, 10, 20, Reason::Restart, None), gap(2, 10, 20, Reason::Restart, None)]);
            assert_eq!(story.answer(30, uptime + 10, "1", count + 7), [sample(30, 10, 7)]);
        }
        // In a gap.
        let mut story = Story::new(None, Width::Bits64);
        story.answer(10, 500, "1", 100);
        story.failed(20);
        let found = story.answer(30, 5, "1", 2_000);
        assert_eq!(found[1..], [gap(2, 10, 30, Reason::Restart, None)]);
    }

    #[test]
    fn a_port_with_another_index_is_another() {
        let mut story = Story::new(None, Width::Bits64);
        story.answer(10, 500, "1", 100);
        assert_eq!(story.answer(20, 510, "7", 90_000_000), [gap(2, 10, 20, Reason::IndexChange, None)]);
        assert_eq!(story.answer(30, 520, "7", 90_000_001), [sample(30, 10, 1)]);
        // It goes and comes back.
        assert_eq!(story.answer_with(40, 530, vec![]), [gap(2, 30, 40, Reason::Absent, None)]);
        assert_eq!(story.answer_with(50, 540, vec![]), [gap(2, 40, 50, Reason::Absent, None)]);
        assert_eq!(story.answer(60, 550, "7", 5), [gap(2, 50, 60, Reason::Absent, None)]);
        assert_eq!(story.answer(70, 560, "7", 6), [sample(70, 10, 1)]);
    }

    #[test]
    fn resets_are_recognised() {
        let mut story = Story::new(Some(10_000_000), Width::Bits64);
        story.answer(10, 500, "1", 1 << 60);
        assert_eq!(story.answer(20, 510, "1", 10), [gap(2, 10, 20, Reason::Reset, None)]);
        // The agent says so, though the counter went up.
        let port = |seconds, discontinuity, count| PortReading {
            group: 0,
            name: "eth0".to_owned(),
            index: "1".to_owned(),
            received: at(seconds),
            discontinuity: Some(discontinuity),
            speed: None,
            readings: vec![Reading::Counts(vec![(count, Width::Bits64)])],
        };
        assert_eq!(story.answer_with(30, 520, vec![port(30, 0, 20)]), [sample(30, 10, 10)]);
        let found = story.answer_with(40, 530, vec![port(40, 52_500, 9_000)]);
        assert_eq!(found, [gap(2, 30, 40, Reason::Reset, None)]);
    }

    #[test]
    fn a_wrong_answer_makes_no_spike() {
        // A gigabit port that carries 1,000 octets a second, and once says 0.
        let mut story = Story::new(Some(1_000_000_000), Width::Bits64);
        story.answer(10, 500, "1", 10_000_000_000_000);
        assert_eq!(story.answer(20, 510, "1", 0), [gap(2, 10, 20, Reason::Reset, None)]);
        assert_eq!(story.answer(30, 520, "1", 10_000_000_020_000), [gap(2, 20, 30, Reason::AboveCapacity, None)]);
        assert_eq!(story.answer(40, 530, "1", 10_000_000_030_000), [sample(40, 10, 10_000)]);
        // A true reset.
        assert_eq!(story.answer(50, 540, "1", 500), [gap(2, 40, 50, Reason::Reset, None)]);
        assert_eq!(story.answer(60, 550, "1", 2_500_000_500), [sample(60, 10, 2_500_000_000)]);
        // Later the port may be faster than its agent knows.
        assert_eq!(story.answer(70, 560, "1", 12_500_000_500), [sample(70, 10, 10_000_000_000)]);
    }

    #[test]
    fn a_wrong_answer_of_an_unknown_port_makes_none() {
        let mut story = Story::new(None, Width::Bits64);
        story.answer(10, 500, "1", 10_000_000_000_000);
        assert_eq!(story.answer(20, 510, "1", 0), [gap(2, 10, 20, Reason::Reset, None)]);
        assert_eq!(story.answer(30, 520, "1", 10_000_000_020_000), [gap(2, 20, 30, Reason::AboveCapacity, None)]);
        assert_eq!(story.answer(40, 530, "1", 10_000_000_030_000), [sample(40, 10, 10_000)]);
        // A true reset.
        assert_eq!(story.answer(50, 540, "1", 500), [gap(2, 40, 50, Reason::Reset, None)]);
        assert_eq!(story.answer(60, 550, "1", 900), [sample(60, 10, 400)]);
        // After a restart nothing is doubted.
        assert_eq!(story.answer(70, 5, "1", 100)[1..], [gap(2, 60, 70, Reason::Restart, None)]);
        assert_eq!(story.answer(80, 15, "1", 5_000), [sample(80, 10, 4_900)]);
    }

    #[test]
    fn an_absence_is_told_while_it_lasts() {
        let mut story = Story::new(None, Width::Bits64);
        story.answer(10, 500, "1", 100);
        let (mut told, mut rows) = (10, 0);
        for seconds in (20..100_000).step_by(10) {
            for event in story.answer_with(seconds, 490 + seconds as u32, vec![]) {
                let Event::Gap { series: 2, start_ns, end_ns, reason: Reason::Absent, amount: None } = event else {
                    panic!("{event:?}")
                };
                assert_eq!((start_ns, end_ns), (at(told).wall_ns, at(seconds).wall_ns));
                (told, rows) = (seconds, rows + 1);
            }
            assert!((seconds - told) * 16 < seconds, "{seconds}");
        }
        // 16 times the logarithm of the number of answers: a day is told in some hundred rows of 10,000.
        assert!(rows < 16 * 10, "{rows}");
        story.tracker.end();
        assert_eq!(story.found(), [gap(2, told, 99_990, Reason::Absent, None)]);
        // It comes back.
        assert_eq!(story.answer(100_000, 100_490, "1", 5), [gap(2, 99_990, 100_000, Reason::Absent, None)]);
    }

    #[test]
    fn a_port_may_become_faster_and_slower() {
        // It carries all that it can: 10 Mbit/s, then 1 Gbit/s, then 10 Mbit/s again.
        let (slow, fast) = (Some(10_000_000), Some(1_000_000_000));
        let mut story = Story::new(slow, Width::Bits32);
        story.answer(10, 500, "1", 4_294_000_000);
        for (seconds, bits, octets) in [
            (20, slow, 12_500_000),
            (30, fast, 700_000_000),
            (40, fast, 1_250_000_000),
            (50, slow, 900_000_000),
            (60, slow, 12_500_000),
        ] {
            story.bits = bits;
            let before: u64 = 4_294_000_000 + story.told;
            story.told += octets;
            let count = (before + octets) % (1 << 32);
            assert_eq!(story.answer(seconds, 490 + seconds as u32, "1", count), [sample(seconds, 10, octets)]);
        }
    }

    #[test]
    fn a_name_that_comes_twice_is_one_port() {
        let mut story = Story::new(None, Width::Bits64);
        let port = |seconds, count| PortReading {
            group: 0,
            name: "eth0".to_owned(),
            index: "1".to_owned(),
            received: at(seconds),
            discontinuity: None,
            speed: None,
            readings: vec![Reading::Counts(vec![(count, Width::Bits64)])],
        };
        story.answer_with(10, 500, vec![port(10, 1), port(10, 1_000_000)]);
        let found = story.answer_with(20, 510, vec![port(20, 3), port(20, 9_000_000)]);
        assert_eq!(found, [sample(20, 10, 2)]);
    }

    #[test]
    fn counters_that_add_up_wrap_one_by_one() {
        use Width::{Bits32, Bits64};
        let most = u64::from(u32::MAX);
        assert_eq!(
            amount(
                &[(most, Bits32), (5, Bits32)],
                &[(1, Bits32), (7, Bits32)],
                S,
                false,
                Some(Capacity { per_second: 1_000, is_stated: false })
            ),
            Ok(4)
        );
        assert_eq!(amount(&[(1, Bits32)], &[(2, Bits64)], S, false, None), Err(Reason::Reset));
        let one_went_back = amount(&[(9, Bits32), (5, Bits32)], &[(1, Bits32), (7, Bits32)], S, false, None);
        assert_eq!(one_went_back, Err(Reason::Reset));
    }

    #[test]
    fn a_counter_may_be_missing_for_a_while() {
        let mut story = Story::new(None, Width::Bits64);
        story.answer(10, 500, "1", 100);
        let missing = |seconds| PortReading {
            group: 0,
            name: "eth0".to_owned(),
            index: "1".to_owned(),
            received: at(seconds),
            discontinuity: None,
            speed: None,
            readings: vec![Reading::None],
        };
        assert_eq!(story.answer_with(20, 510, vec![missing(20)]), [gap(2, 10, 20, Reason::Absent, None)]);
        assert_eq!(story.answer(30, 520, "1", 300), [gap(2, 20, 30, Reason::Absent, None)]);
        assert_eq!(story.answer(40, 530, "1", 301), [sample(40, 10, 1)]);
    }

    #[test]
    fn values_are_samples_as_they_are() {
        let info =
            CounterInfo { name: "backlog".to_owned(), unit: "octets".to_owned(), class: Class::Own(None), kind: None };
        let mut story = Story { tracker: Tracker::new(vec![vec![info]]), bits: None, width: Width::Bits64, told: 0 };
        let port = |seconds, value| PortReading {
            group: 0,
            name: "q".to_owned(),
            index: "1".to_owned(),
            received: at(seconds),
            discontinuity: None,
            speed: None,
            readings: vec![Reading::Value(value)],
        };
        story.answer_with(10, 500, vec![port(10, 7)]);
        assert_eq!(story.answer_with(20, 510, vec![port(20, 3)]), [sample(20, 10, 3)]);
    }

    #[test]
    fn counters_that_add_up_to_more_than_any_do_not_wrap() {
        let huge = |value: u64| vec![(value, Width::Bits64); 2];
        let days = 86_400 * S;
        assert_eq!(amount(&huge(0), &huge(u64::MAX), 30 * days, false, None), Ok(u64::MAX));
        assert_eq!(amount(&huge(0), &huge(5), S, false, None), Ok(10));
    }
}
