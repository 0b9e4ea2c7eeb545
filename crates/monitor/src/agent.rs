//! An SNMP agent as a target: what it offers, and all its counters as one answer.

use std::collections::BTreeMap;

use flowloom_store::monitor::Kind;

use crate::clock::{Bell, Moment};
use crate::ifmib::{self, Layout, Offer};
use crate::rates::Width;
use crate::registry::{Counter, CounterKind, Port, matches};
use crate::snmp::oid::{Oid, index_text};
use crate::snmp::session::{Session, Trouble};
use crate::snmp::value::Value;
use crate::snmp::walk::{Row, Table, walk};
use crate::target::{Answer, Class, CounterInfo, PortReading, Reading, Speed};

/// What an agent offers is looked at again after so much time, in nanoseconds; and before, when its ports change.
const LOOK_AGAIN_NS: u64 = 600 * 1_000_000_000;

/// An answer may always take so long.
const LEAST_LIMIT_NS: u64 = 60 * 1_000_000_000;

/// A question takes no longer than this: two addresses, eleven times each, a minute for each time (`docs/reference/registry.md`).
const LONGEST_QUESTION_NS: u64 = 2 * 11 * 60 * 1_000_000_000;

/// The last question of an answer is asked within this time.
const fn limit_ns(interval_ns: u64) -> u64 {
    let limit = interval_ns.saturating_mul(10);
    if limit > LEAST_LIMIT_NS { limit } else { LEAST_LIMIT_NS }
}

/// No sample of a target with this interval is longer: from the beginning of an answer to the end of the next one.
pub(crate) const fn longest_span_ns(interval_ns: u64) -> u64 {
    limit_ns(interval_ns).saturating_add(LONGEST_QUESTION_NS).saturating_mul(2).saturating_add(interval_ns)
}

/// Bits per second that a port may carry whose agent says only that they are more than 2^32: so that a counter that can have wrapped
/// several times is not taken for one that did not.
const FASTEST: u64 = 100_000_000_000;

/// The interface is up (RFC 2863).
const UP: u64 = 1;

/// A port as the agent describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortDescription {
    /// Its name.
    pub name: String,
    /// Its description by its administrator.
    pub alias: String,
    /// Bits per second, if the agent says so.
    pub bits_per_second: Option<u64>,
    /// Whether it passes packets.
    pub is_up: bool,
}

/// What an agent offers.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its ports, by index.
    pub ports: BTreeMap<Vec<u32>, PortDescription>,
    /// Whether its counters have 64 bits.
    pub offer: Offer,
    /// Whether it named an index twice.
    pub is_disordered: bool,
    layout: Layout,
    at: Moment,
    uptime: Option<u32>,
}

/// Asks an agent.
pub struct Agent {
    session: Session,
    ports: Vec<String>,
    known: Vec<Port>,
    counters: Vec<Counter>,
    offered: Option<Offered>,
    /// The ports of the last answer, by index.
    keys: Vec<Vec<u32>>,
    /// Values of the last answer that could not be read.
    unread: usize,
    /// An answer must come to an end within this time.
    limit_ns: u64,
}

/// The groups of counters of an agent with these further `counters`, for its tracker.
pub fn groups(counters: &[Counter]) -> Vec<Vec<CounterInfo>> {
    let own = counters.iter().map(|counter| {
        vec![CounterInfo {
            name: counter.name.clone(),
            unit: counter.unit.clone(),
            class: Class::Own(counter.capacity),
            kind: counter.kind.map(|kind| match kind {
                CounterKind::Counter => Kind::Counter,
                CounterKind::Gauge => Kind::Gauge,
            }),
        }]
    });
    [ifmib::infos()].into_iter().chain(own).collect()
}

impl Agent {
    /// One that is asked by `session` for ports whose names match one of `ports`, of which `known` is what the registry says, and for
    /// further `counters`.
    pub fn new(session: Session, ports: &[String], known: &[Port], counters: &[Counter]) -> Agent {
        let (ports, known, counters) = (ports.to_vec(), known.to_vec(), counters.to_vec());
        Agent { session, ports, known, counters, offered: None, keys: Vec::new(), unread: 0, limit_ns: LEAST_LIMIT_NS }
    }

    /// The same, of which answers have ten intervals of this length to come to an end, or a minute.
    #[must_use]
    pub fn with_interval(self, interval_ns: u64) -> Agent {
        Agent { limit_ns: limit_ns(interval_ns), ..self }
    }

    /// The same, that asks nothing any longer when `bell` has rung.
    #[must_use]
    pub fn with_bell(self, bell: Bell) -> Agent {
        Agent { session: self.session.with_bell(bell), ..self }
    }

    /// Values of the last answer that could not be read: their counters are missing.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// Packets sent and received since this was last asked.
    pub fn take_packets(&mut self) -> u64 {
        self.session.take_packets()
    }

    /// The address that answered last.
    pub fn address(&self) -> &str {
        self.session.address()
    }

    /// What the agent offers, as it was last seen.
    pub fn offered(&self) -> Option<&Offered> {
        self.offered.as_ref()
    }

    /// Reads all counters. What the agent offers is looked at first where that is due.
    ///
    /// # Errors
    /// There is no answer.
    pub fn ask(&mut self) -> Result<Answer, Trouble> {
        let asked = Moment::now();
        self.session.begin_within(self.limit_ns);
        self.unread = 0;
        let scalars: Vec<Oid> =
            self.counters.iter().filter(|counter| !counter.table).map(|counter| counter.oid.clone()).collect();
        let names: Vec<Oid> = [ifmib::uptime()].into_iter().chain(scalars).collect();
        let values = self.session.get_all(&names)?;
        self.unread += values.iter().filter(|(value, _)| *value == Value::Unread).count();
        let uptime = match values.first() {
            Some((Value::Ticks(ticks), received)) => Some((*ticks, *received)),
            _ => None,
        };
        let mut ports = Vec::new();
        let mut scalars = values.into_iter().skip(1);
        for group in 1..=self.counters.len() {
            if !self.counters[group - 1].table
                && let Some((value, received)) = scalars.next()
            {
                ports.extend(own_reading(group, String::new(), String::new(), received, &value));
            }
        }
        if !self.ports.is_empty() {
            self.interfaces(uptime.map(|(ticks, _)| ticks), &mut ports)?;
        }
        for group in 1..=self.counters.len() {
            if self.counters[group - 1].table {
                self.own_table(group, &mut ports)?;
            }
        }
        let own_packets = self.session.take_packets();
        Ok(Answer { asked, received: Moment::now(), uptime, ports, own_packets })
    }

    /// Looks at what the agent offers.
    ///
    /// # Errors
    /// There is no answer.
    pub fn discover(&mut self, uptime: Option<u32>) -> Result<&Offered, Trouble> {
        let described = walk(&mut self.session, &ifmib::description())?;
        let octets = walk(&mut self.session, &ifmib::octets())?;
        let has = |row: &Row, column: usize| matches!(row.values[column], Some(Value::Count(..)));
        let all_wide = octets.rows.values().all(|row| has(row, 0) || !has(row, 1));
        let any_wide = octets.rows.values().any(|row| has(row, 0));
        let offer = match (all_wide, any_wide) {
            (true, true) => Offer::Wide,
            (false, true) => Offer::Both,
            _ => Offer::Narrow,
        };
        let has_names = described.rows.values().any(|row| text(row, 0).is_some());
        let ports = described.rows.iter().map(|(index, row)| (index.clone(), describe(index, row))).collect();
        let is_disordered = described.is_disordered || octets.is_disordered;
        let layout = Layout::of(offer, has_names);
        Ok(self.offered.insert(Offered { ports, offer, is_disordered, layout, at: Moment::now(), uptime }))
    }

    fn interfaces(&mut self, uptime: Option<u32>, ports: &mut Vec<PortReading>) -> Result<(), Trouble> {
        let now = Moment::now();
        let is_due = |offered: &Offered| {
            let has_restarted = uptime.zip(offered.uptime).is_some_and(|(now, then)| now < then);
            now.since(&offered.at) > LOOK_AGAIN_NS || has_restarted
        };
        if self.offered.as_ref().is_none_or(is_due) {
            self.discover(uptime)?;
        }
        let Some(layout) = self.offered.as_ref().map(|offered| offered.layout.clone()) else { return Ok(()) };
        let table = walk(&mut self.session, &layout.columns)?;
        self.unread += table.unread;
        let Some(offered) = &mut self.offered else { return Ok(()) };
        if !self.keys.is_empty() && !table.rows.keys().eq(&self.keys) {
            // They have changed: next time it is looked at again.
            offered.at = Moment::default();
        }
        self.keys = table.rows.keys().cloned().collect();
        read_interfaces(&table, offered, &self.ports, &self.known, ports);
        Ok(())
    }

    fn own_table(&mut self, group: usize, ports: &mut Vec<PortReading>) -> Result<(), Trouble> {
        let counter = &self.counters[group - 1];
        let columns: Vec<Oid> = [counter.oid.clone()].into_iter().chain(counter.names.clone()).collect();
        let table = walk(&mut self.session, &columns)?;
        self.unread += table.unread;
        for (index, row) in &table.rows {
            let Some(value) = &row.values[0] else { continue };
            let named = row.values.get(1).and_then(|value| value.as_ref()?.text()).filter(|name| !name.is_empty());
            let index = index_text(index);
            let name = named.unwrap_or_else(|| index.clone());
            ports.extend(own_reading(group, name, index, row.received, value));
        }
        Ok(())
    }
}

/// The counters of interfaces in `table`, as far as their names match one of `wanted`.
fn read_interfaces(table: &Table, offered: &Offered, wanted: &[String], known: &[Port], ports: &mut Vec<PortReading>) {
    // An agent may keep the row of an interface that is gone beside that of the new one of its name: the one that is up is meant, and
    // of several the last.
    let mut chosen: BTreeMap<String, (bool, &Vec<u32>, &Row)> = BTreeMap::new();
    for (index, row) in &table.rows {
        let described = offered.ports.get(index);
        let name = text(row, Layout::NAME).or_else(|| described.map(|port| port.name.clone()));
        let name = name.unwrap_or_else(|| format!("index {}", index_text(index)));
        let is_up = described.is_none_or(|port| port.is_up);
        if wanted.iter().any(|pattern| matches(pattern, &name))
            && chosen.get(&name).is_none_or(|(was_up, ..)| is_up || !was_up)
        {
            chosen.insert(name, (is_up, index, row));
        }
    }
    for (name, (_, index, row)) in chosen {
        let discontinuity = match row.values[Layout::DISCONTINUITY] {
            Some(Value::Ticks(ticks)) => Some(ticks),
            _ => None,
        };
        let readings =
            offered.layout.parts.iter().map(|(wide, narrow)| {
                sum(row, wide).or_else(|| sum(row, narrow)).map_or(Reading::None, Reading::Counts)
            });
        let described = offered.ports.get(index);
        let named = match offered.layout.speeds {
            Some([high, low]) => said_speed(row, high, low),
            None => described.and_then(|port| port.bits_per_second).map(Said::Is),
        };
        ports.push(PortReading {
            group: 0,
            index: index_text(index),
            received: row.received,
            discontinuity,
            speed: match (capacity_of(&name, row.received.wall_ns, known), named) {
                (Some(bits_per_second), _) => Some(Speed { bits_per_second, is_stated: true }),
                (None, Some(Said::Is(bits_per_second))) => Some(Speed { bits_per_second, is_stated: false }),
                (None, Some(Said::Beyond)) => Some(Speed { bits_per_second: FASTEST, is_stated: false }),
                (None, None) => None,
            },
            readings: readings.collect(),
            name,
        });
    }
}

/// What the registry says that a port can carry at a time.
pub fn capacity_of(name: &str, wall_ns: u64, known: &[Port]) -> Option<u64> {
    let holds = |port: &&Port| {
        port.name == name && port.capacity.is_some() && port.since.as_ref().is_none_or(|day| day.start_ns <= wall_ns)
    };
    let latest = known.iter().filter(holds).max_by_key(|port| port.since.as_ref().map_or(0, |day| day.start_ns))?;
    latest.capacity.as_ref()?.value.bits_per_second()
}

/// The counts in `columns` of a row; `None` if one is missing.
fn sum(row: &Row, columns: &[usize]) -> Option<Vec<(u64, Width)>> {
    let counts = columns.iter().map(|column| match row.values[*column] {
        Some(Value::Count(count, width)) => Some((count, width)),
        _ => None,
    });
    let counts: Option<Vec<(u64, Width)>> = counts.collect();
    counts.filter(|counts| !counts.is_empty())
}

fn text(row: &Row, column: usize) -> Option<String> {
    row.values[column].as_ref()?.text().filter(|text| !text.is_empty())
}

fn number(row: &Row, column: usize) -> Option<u64> {
    match row.values[column] {
        Some(Value::Gauge(number)) => Some(number),
        _ => None,
    }
}

/// What an agent says of the speed of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// So many bit/s.
    Is(u64),
    /// More than 32 bits can say, and nobody knows how much.
    Beyond,
}

/// The speed that ifHighSpeed and ifSpeed say; `None` if they say none.
fn said_speed(row: &Row, high: usize, low: usize) -> Option<Said> {
    let high = number(row, high).filter(|megabits| *megabits > 0).map(|megabits| megabits.saturating_mul(1_000_000));
    let low = number(row, low).filter(|bits| *bits > 0);
    match (high, low) {
        // Below a gigabit the other has more digits.
        (Some(high), Some(low)) if high < 1_000_000_000 && low < u64::from(u32::MAX) => Some(Said::Is(low.max(high))),
        (Some(high), _) => Some(Said::Is(high)),
        // The largest number of 32 bits says that it is more (RFC 2863).
        (None, Some(low)) if low >= u64::from(u32::MAX) => Some(Said::Beyond),
        (None, low) => low.map(Said::Is),
    }
}

fn describe(index: &[u32], row: &Row) -> PortDescription {
    PortDescription {
        name: text(row, 0).or_else(|| text(row, 1)).unwrap_or_else(|| format!("index {}", index_text(index))),
        alias: text(row, 5).unwrap_or_default(),
        bits_per_second: match said_speed(row, 2, 3) {
            Some(Said::Is(bits)) => Some(bits),
            Some(Said::Beyond) | None => None,
        },
        is_up: number(row, 4) == Some(UP),
    }
}

/// The reading of a further counter; nothing if there is none.
fn own_reading(group: usize, name: String, index: String, received: Moment, value: &Value) -> Option<PortReading> {
    let reading = match value {
        Value::Count(count, width) => Reading::Counts(vec![(*count, *width)]),
        Value::Gauge(value) => Reading::Value(*value),
        Value::Ticks(ticks) => Reading::Value((*ticks).into()),
        // Some agents write numbers as text.
        Value::Text(text) => Reading::Value(std::str::from_utf8(text).ok()?.trim().parse().ok()?),
        Value::Absent | Value::End | Value::Other | Value::Unread => return None,
    };
    let readings = vec![reading];
    Some(PortReading { group, name, index, received, discontinuity: None, speed: None, readings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::ambiguity_ns;

    fn row(values: Vec<Option<Value>>) -> Row {
        Row { values, received: Moment::default() }
    }

    #[test]
    fn ports_are_described() {
        let named = |name: &str| Some(Value::Text(name.as_bytes().to_vec()));
        let gauge = |number| Some(Value::Gauge(number));
        let full = row(vec![named("eth0"), named("Intel"), gauge(1_000), gauge(1_000_000_000), gauge(1), named("up")]);
        let port = describe(&[1], &full);
        assert_eq!((port.name.as_str(), port.bits_per_second, port.is_up), ("eth0", Some(1_000_000_000), true));
        for (high, low, expected) in [
            (gauge(0), gauge(1_544_000), Some(1_544_000)),
            (gauge(2), gauge(1_544_000), Some(2_000_000)),
            (gauge(100_000), gauge(u32::MAX.into()), Some(100_000_000_000)),
            (None, gauge(u32::MAX.into()), None),
            (None, None, None),
            (None, gauge(1_544_000), Some(1_544_000)),
        ] {
            let port = describe(&[1], &row(vec![None, named(""), high, low, gauge(2), None]));
            assert_eq!((port.name.as_str(), port.bits_per_second, port.is_up), ("index 1", expected, false));
        }
    }

    #[test]
    fn a_speed_beyond_32_bits_is_not_unknown() {
        let row = |high: Option<u64>, low: u64| row(vec![high.map(Value::Gauge), Some(Value::Gauge(low))]);
        let most = u32::MAX.into();
        assert_eq!(said_speed(&row(None, most), 0, 1), Some(Said::Beyond));
        assert_eq!(said_speed(&row(Some(0), most), 0, 1), Some(Said::Beyond));
        assert_eq!(said_speed(&row(Some(10_000), most), 0, 1), Some(Said::Is(10_000_000_000)));
        assert_eq!(said_speed(&row(Some(0), 0), 0, 1), None);
        // A counter of 32 bits can wrap within 0.35 s then.
        let ambiguity = ambiguity_ns(Width::Bits32, FASTEST / 8).unwrap();
        assert!((300_000_000..350_000_000).contains(&ambiguity), "{ambiguity}");
    }

    #[test]
    fn capacities_hold_from_their_day_on() {
        let port = |since: Option<&str>, capacity: &str| Port {
            name: "a".to_owned(),
            since: since.map(|day| day.parse().unwrap()),
            capacity: Some(capacity.parse().unwrap()),
            carries: None,
        };
        let known = [port(Some("2026-02-01"), "10gbit"), port(None, "1gbit"), port(Some("2026-01-01"), "2gbit")];
        let day = |text: &str| text.parse::<crate::registry::Date>().unwrap().start_ns;
        for (date, expected) in [("2025-12-31", 1), ("2026-01-01", 2), ("2026-01-31", 2), ("2026-03-01", 10)] {
            assert_eq!(capacity_of("a", day(date), &known), Some(expected * 1_000_000_000));
        }
        assert_eq!(capacity_of("b", day("2026-03-01"), &known), None);
    }

    #[test]
    fn numbers_in_words_are_values() {
        let value = |value| own_reading(1, String::new(), String::new(), Moment::default(), &value);
        assert_eq!(value(Value::Text(b" 12\n".to_vec())).unwrap().readings, [Reading::Value(12)]);
        assert_eq!(value(Value::Text(b"x".to_vec())), None);
        assert_eq!(value(Value::Absent), None);
    }
}
