//! The connections that may still grow, and those that wait for their turn.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::ConnectionVector;

use super::super::record::FlowRecord;
use super::connection::{Added, Connection, Key};
use super::facts::{MergeFacts, MergeOptions};
use super::span::{Span, TCP, UDP};
use super::vector::vector;

/// TCP and UDP, the protocols of connection vectors.
const PROTOCOLS: [u8; 2] = [TCP, UDP];
/// How often, in export time, the table is searched for connections that are over.
const SWEEP: Duration = Duration::from_secs(60);
/// Connections of one 5-tuple that are held apart.
const MOST_OF_TUPLE: usize = 8;

/// Connections by 5-tuple, and in the order of their starts once they are over.
///
/// A connection is over when no more records of it can come: an idle timeout after its last export if it was closed,
/// an active timeout later if not. It is given out when none that began before it can come any more.
pub(super) struct Table {
    options: MergeOptions,
    open: BTreeMap<Key, Vec<Connection>>,
    open_count: usize,
    /// Boxed: nodes of the map that are half empty are smaller so.
    over: BTreeMap<(Time, u64), Box<(Key, Connection)>>,
    /// Connections that are over, in the order they came to be.
    numbered: u64,
    /// What is over may be given out if it began before the horizon; and `surplus` more, whenever they began.
    horizon: Time,
    surplus: usize,
    /// The time of export of the record before, and the latest that two records in a row reached: one wrong stamp
    /// ends nothing.
    previous_export: Time,
    clock: Time,
    next_sweep: Time,
    origin: Option<Time>,
    last_start: Time,
    given_out: u64,
    pub facts: MergeFacts,
}

impl Table {
    pub fn new(options: MergeOptions) -> Table {
        Table {
            options,
            open: BTreeMap::new(),
            open_count: 0,
            over: BTreeMap::new(),
            numbered: 0,
            horizon: Time::ZERO,
            surplus: 0,
            previous_export: Time::ZERO,
            clock: Time::ZERO,
            next_sweep: Time::ZERO,
            origin: None,
            last_start: Time::ZERO,
            given_out: 0,
            facts: MergeFacts::default(),
        }
    }

    /// Start of the first vector given out.
    pub fn origin(&self) -> Option<Time> {
        self.origin
    }

    /// The next vector that is due. Take all of them before the next record.
    pub fn poll_vector(&mut self) -> Option<ConnectionVector> {
        loop {
            let entry = self.over.first_entry()?;
            if entry.key().0 >= self.horizon {
                self.surplus = self.surplus.checked_sub(1)?;
            }
            let (key, connection) = *entry.remove();
            self.facts.connections += 1;
            let Some((first, mut vector)) = vector(&key, &connection, &self.options, &mut self.facts) else {
                continue;
            };
            let origin = *self.origin.get_or_insert(first);
            let start = Time::ZERO + first.since(origin);
            self.facts.moved_starts += u64::from(first < origin || start < self.last_start);
            self.last_start = self.last_start.max(start);
            vector.start = self.last_start;
            vector.id = self.given_out;
            self.given_out += 1;
            return Some(vector);
        }
    }

    pub fn handle_record(&mut self, record: &FlowRecord) {
        if !PROTOCOLS.contains(&record.protocol) {
            self.facts.other_protocols += 1;
            return;
        }
        self.facts.records += 1;
        self.add(record);
        let both = self.previous_export.min(record.exported);
        self.previous_export = record.exported;
        self.clock = self.clock.max(both);
        if self.clock >= self.next_sweep {
            self.next_sweep = self.clock + SWEEP;
            self.sweep();
        }
        if self.open_count + self.over.len() > self.options.most_connections {
            self.make_room();
        }
    }

    /// No more records come: every connection is over.
    pub fn finish(&mut self) {
        for (key, connections) in std::mem::take(&mut self.open) {
            connections.into_iter().for_each(|connection| self.put_over(key, connection));
        }
        self.open_count = 0;
        self.surplus = self.over.len();
    }

    fn add(&mut self, record: &FlowRecord) {
        let (key, source_at) = Key::of(record);
        let span = Span::of(record, source_at);
        let connections = self.open.entry(key).or_default();
        let idle_timeout = self.options.idle_timeout;
        let takes = |known: &Connection| known.takes(record, &span, source_at, idle_timeout);
        // Of several the nearest in time; of equals the newest.
        let fits = connections.iter().enumerate().filter(|(_, known)| takes(known));
        let Some((at, _)) = fits.min_by_key(|(at, known)| (known.span.gap(&span), Reverse(*at))) else {
            let oldest = (connections.len() == MOST_OF_TUPLE).then(|| connections.remove(0));
            connections.reserve_exact(1);
            connections.push(Connection::new(record, span, source_at));
            match oldest {
                Some(oldest) => self.put_over(key, oldest),
                None => self.open_count += 1,
            }
            return;
        };
        match connections[at].add(record, &span, source_at) {
            Added::New => {}
            Added::Slice => self.facts.slices += 1,
            Added::Duplicate => self.facts.duplicates += 1,
        }
        if connections.len() > 1 {
            self.open_count -= join_up(connections, at, key.protocol, idle_timeout);
        }
    }

    /// Takes out the connections of which no more records can come, and gives out those that nothing can precede.
    fn sweep(&mut self) {
        let (clock, options) = (self.clock, self.options);
        let longest = options.active_timeout + options.idle_timeout;
        let mut over = Vec::new();
        let mut earliest = Time::MAX;
        self.open.retain(|key, connections| {
            connections.retain(|connection| {
                let hold = if connection.span.is_closed() { options.idle_timeout } else { longest };
                let is_over = clock.since(connection.updated) > hold;
                if is_over {
                    over.push((*key, connection.clone()));
                } else {
                    earliest = earliest.min(connection.span.first);
                }
                !is_over
            });
            !connections.is_empty()
        });
        self.open_count -= over.len();
        over.into_iter().for_each(|(key, connection)| self.put_over(key, connection));
        // A record may still come of a flow that began an active timeout ago.
        self.horizon = earliest.min(clock.before(longest));
    }

    /// Too many connections are held: gives out an eighth of what may be held, those that wait first, then those silent
    /// the longest.
    fn make_room(&mut self) {
        let room = self.options.most_connections / 8 + 1;
        if self.over.len() < room {
            let wanted = (room - self.over.len()).min(self.open_count);
            let mut silent: Vec<(Time, Key, usize)> = Vec::with_capacity(self.open_count);
            for (key, connections) in &self.open {
                silent.extend(connections.iter().enumerate().map(|(at, connection)| (connection.updated, *key, at)));
            }
            if wanted < silent.len() {
                silent.select_nth_unstable(wanted);
                silent.truncate(wanted);
            }
            // From the back of each list, so that positions stay true.
            silent.sort_unstable_by_key(|(_, key, at)| Reverse((*key, *at)));
            for (_, key, at) in silent {
                let Some(connections) = self.open.get_mut(&key) else { continue };
                let connection = connections.remove(at);
                if connections.is_empty() {
                    self.open.remove(&key);
                }
                self.open_count -= 1;
                self.facts.early += 1;
                self.put_over(key, connection);
            }
        }
        self.surplus = room;
    }

    fn put_over(&mut self, key: Key, connection: Connection) {
        self.over.insert((connection.span.first, self.numbered), Box::new((key, connection)));
        self.numbered += 1;
    }
}

/// Joins to the connection at `grown` those that the record added to it shows to be parts of it; how many there were.
fn join_up(connections: &mut Vec<Connection>, mut grown: usize, protocol: u8, idle_timeout: Duration) -> usize {
    let before = connections.len();
    let mut at = 0;
    while at < connections.len() {
        let [span, other] = [grown, at].map(|at| connections[at].span);
        if at == grown || !span.joins(&other, protocol, idle_timeout) {
            at += 1;
            continue;
        }
        let other = connections.remove(at);
        grown -= usize::from(at < grown);
        connections[grown].absorb(other);
        // It is longer now: those looked at before may be parts of it too.
        at = 0;
    }
    before - connections.len()
}
