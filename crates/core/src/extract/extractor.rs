//! The capture side of extraction: flow table, ends of connections, order of vectors.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::record::Traffic;
use crate::time::{Duration, Time};
use crate::units::LINK_HEADER_BYTES;
use crate::wire::{Address, Segment};
use crate::workload::{ConnectionVector, InitiatorRule, LinkSide, Side};

use super::counts::{Class, Counts, SideRule, TrafficSeries};
use super::flow_table::{FlowTable, Key};
use super::observer::{Identity, Observer, Seen};

/// An address prefix, `10.0.0.0/8`. IPv4 prefixes match IPv4 addresses only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    ip: u128,
    mask: u128,
}

/// Why a text is no address prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an address prefix; write it like 10.0.0.0/8 or 2001:db8::/32")]
pub struct ParsePrefixError(String);

impl Prefix {
    /// Whether `address` lies inside.
    pub fn contains(&self, address: Address) -> bool {
        address.ip & self.mask == self.ip
    }
}

impl std::str::FromStr for Prefix {
    type Err = ParsePrefixError;

    fn from_str(text: &str) -> Result<Prefix, ParsePrefixError> {
        let error = || ParsePrefixError(text.to_owned());
        let (ip, length) = text.split_once('/').map_or((text, None), |(ip, length)| (ip, Some(length)));
        let ip: IpAddr = ip.parse().map_err(|_| error())?;
        let width = if ip.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(width), str::parse).map_err(|_| error())?;
        if length > width {
            return Err(error());
        }
        let mask = u128::MAX.checked_shl(width - length).unwrap_or(0);
        // An IPv4 prefix must not take in IPv6: its mask covers the mapping prefix too.
        let mask = if ip.is_ipv4() { mask | u128::MAX << 32 } else { mask };
        Ok(Prefix { ip: Address::new(ip, 0).ip & mask, mask })
    }
}

/// How to extract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// A connection silent for so long is over (methods A.1.4).
    pub idle_timeout: Duration,
    /// A closed connection is held for stragglers until it was silent for so long, an attempt that never got past its
    /// SYNs for the next one: RFC 9293 section 3.8.3 lets TCP go on trying for three minutes and more.
    pub linger: Duration,
    /// The longest silence inside an ADU (methods A.5.2).
    pub quiet: Duration,
    /// Prefixes of the inside of the link (methods M.2).
    pub inside: Vec<Prefix>,
    /// Leave out incomplete connections, as Hernandez-Campos did (methods A.2).
    pub complete_only: bool,
    /// Make [`Extractor::poll_finished`] also return what is set aside.
    pub keep_set_aside: bool,
}

impl Options {
    /// How long a connection that is not closed may be silent before it is over.
    fn longest_silence(&self, observer: &Observer) -> Duration {
        if observer.is_attempt() { self.linger.min(self.idle_timeout) } else { self.idle_timeout }
    }

    /// How often to look whether a connection is still heard of.
    fn idle_interval(&self) -> Duration {
        self.linger.min(self.idle_timeout / 4)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            idle_timeout: Duration::from_secs(3600),
            linger: Duration::from_secs(240),
            quiet: Duration::from_millis(500),
            inside: Vec::new(),
            complete_only: false,
            keep_set_aside: false,
        }
    }
}

/// A connection that is over, with its addresses, which vectors do not carry (methods M.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The initiator's address.
    pub initiator: Address,
    /// The acceptor's address.
    pub acceptor: Address,
    /// What it was.
    pub class: Class,
    /// Its vector. Ids are dense among replayed connections; one that was set aside has [`u64::MAX`].
    pub vector: ConnectionVector,
}

/// A packet whose connection is not yet known to be replayable.
#[derive(Clone, Copy, Debug)]
struct Held {
    time: Time,
    from: LinkSide,
    traffic: Traffic,
}

/// Packets held per connection; a connection still not replayable after so many is taken for set aside so far.
const MAX_HELD: usize = 64;

#[derive(Debug)]
struct Connection {
    observer: Observer,
    /// Its place in the order of starts.
    order: u64,
    /// Start in the vector's time: from the first packet of the capture, never before an earlier connection's.
    start: Time,
    rule: InitiatorRule,
    /// The initiator is the second address of the key.
    initiator_second: bool,
    initiator_side: LinkSide,
    /// Its packets go straight to the series of replayed traffic.
    replayable: bool,
    /// It waits in the queue of closed connections.
    closing: bool,
    held: Vec<Held>,
}

/// A connection in the order of starts.
#[derive(Debug)]
enum Slot {
    Live,
    SetAside,
    Done(Box<Finished>),
}

/// A note to look at a connection again: the table may have given its index to another one by then.
#[derive(Clone, Copy, Debug)]
struct Check {
    due: Time,
    at: u32,
    order: u64,
}

/// Segments of a capture in, connection vectors out.
///
/// Hand in every TCP segment with [`handle_segment`](Self::handle_segment), in the order of the capture, and after
/// each (or after some) take what is ready with [`poll_vector`](Self::poll_vector) until it returns nothing. Call
/// [`finish`](Self::finish) after the last segment, and poll once more. Vectors come in the order of their starts, so
/// those that ended before an earlier one wait for it.
///
/// Times are the capture's. They may run backwards: no connection is split by that, no wait negative.
#[derive(Debug)]
pub struct Extractor {
    options: Options,
    table: FlowTable<Connection>,
    counts: Counts,
    series: TrafficSeries,
    /// The first packet of the capture.
    origin: Option<Time>,
    /// The latest start given out.
    latest_start: Time,
    previous: Time,
    /// MAC addresses of the first TCP packet: left to right.
    macs: Option<[[u8; 6]; 2]>,
    /// Live and finished connections in the order of starts, from `first_order` on.
    slots: VecDeque<Slot>,
    first_order: u64,
    next_id: u64,
    /// Connections to look at for idleness, and closed ones for the end of their lingering.
    idle_checks: VecDeque<Check>,
    linger_checks: VecDeque<Check>,
    /// Emptied lists of held packets.
    spare: Vec<Vec<Held>>,
}

impl Extractor {
    /// An extractor that has seen nothing.
    pub fn new(options: Options) -> Extractor {
        Extractor {
            options,
            table: FlowTable::new(),
            counts: Counts::default(),
            series: TrafficSeries::default(),
            origin: None,
            latest_start: Time::ZERO,
            previous: Time::ZERO,
            macs: None,
            slots: VecDeque::new(),
            first_order: 0,
            next_id: 0,
            idle_checks: VecDeque::new(),
            linger_checks: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Says when the capture begins, if its first packet is not a TCP segment (methods A.9). Later calls change nothing.
    pub fn begin(&mut self, time: Time) {
        if self.origin.is_none() {
            self.origin = Some(time);
            self.counts.first = Some(time);
        }
    }

    /// Takes in a segment that passed at `time` on the capture's clock.
    pub fn handle_segment(&mut self, time: Time, segment: &Segment) {
        self.begin(time);
        self.note_packet(time, segment);
        let (key, sender_second) = Key::of(segment);
        let seen = Seen {
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            flags: segment.flags,
            window: segment.window,
            payload_bytes: segment.payload_bytes,
            ip_bytes: segment.link_bytes.saturating_sub(LINK_HEADER_BYTES),
            mss: segment.mss,
            window_scale: segment.window_scale,
        };
        let at = match self.table.find(&key) {
            None => self.open(time, key, sender_second, segment),
            Some(at) => {
                if self.continues(at, time, sender_second, &seen) {
                    at
                } else {
                    self.close(at);
                    self.open(time, key, sender_second, segment)
                }
            }
        };
        let origin = self.origin.unwrap_or(time);
        let Some(connection) = self.table.get_mut(at) else { return };
        connection.tell_initiator(sender_second, segment);
        let sender = connection.side(sender_second);
        let arrival = connection.observer.handle_segment(time, sender, &seen);
        let from = match sender {
            Side::Initiator => connection.initiator_side,
            Side::Acceptor => connection.initiator_side.other(),
        };
        self.counts.probes += u64::from(arrival.is_probe);
        let traffic =
            Traffic { packets: 1, bytes: u64::from(segment.link_bytes), payload_bytes: u64::from(arrival.new_bytes) };
        let held = Held { time: Time::ZERO + time.since(origin), from, traffic };
        if connection.replayable {
            self.series.replayed[from as usize].add(held.time, traffic);
        } else {
            Self::hold(connection, held, &mut self.series, &mut self.spare);
        }
        if !connection.closing && connection.observer.is_closed() {
            connection.closing = true;
            let due = time + self.options.linger;
            self.linger_checks.push_back(Check { due, at, order: connection.order });
        }
        self.expire(time);
        self.previous = time;
    }

    /// The capture is over: ends every connection.
    pub fn finish(&mut self) {
        for at in self.table.indices() {
            self.close(at);
        }
        self.idle_checks.clear();
        self.linger_checks.clear();
    }

    /// The next vector in the order of starts.
    pub fn poll_vector(&mut self) -> Option<ConnectionVector> {
        loop {
            let finished = self.poll_finished()?;
            if finished.vector.id != u64::MAX {
                return Some(finished.vector);
            }
        }
    }

    /// The next finished connection in the order of starts, with its addresses; those set aside only if
    /// [`Options::keep_set_aside`] says so.
    pub fn poll_finished(&mut self) -> Option<Finished> {
        loop {
            match self.slots.front()? {
                Slot::Live => return None,
                Slot::SetAside | Slot::Done(_) => {}
            }
            self.first_order += 1;
            if let Some(Slot::Done(mut finished)) = self.slots.pop_front() {
                if self.is_replayed(finished.class) {
                    finished.vector.id = self.next_id;
                    self.next_id += 1;
                }
                return Some(*finished);
            }
        }
    }

    /// What was counted so far: packets as they come, connections as they end.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Traffic by time; complete after [`finish`](Self::finish).
    pub fn series(&self) -> &TrafficSeries {
        &self.series
    }

    /// Connections held at the moment, closed ones that linger included.
    pub fn live(&self) -> usize {
        self.table.len()
    }

    fn is_replayed(&self, class: Class) -> bool {
        match class {
            Class::Replayable { complete, .. } => complete || !self.options.complete_only,
            Class::NoData | Class::OneWay => false,
        }
    }

    fn note_packet(&mut self, time: Time, segment: &Segment) {
        let counts = &mut self.counts;
        counts.packets += 1;
        counts.link_bytes += u64::from(segment.link_bytes);
        counts.first = Some(counts.first.map_or(time, |first| first.min(time)));
        counts.last = Some(counts.last.map_or(time, |last| last.max(time)));
        if time < self.previous {
            counts.clock_backwards += 1;
            counts.farthest_backwards = counts.farthest_backwards.max(self.previous.since(time));
        }
        if self.macs.is_none() {
            self.macs = segment.macs;
        }
    }

    /// Whether a segment belongs to the connection at `at`; counts why not.
    fn continues(&mut self, at: u32, time: Time, sender_second: bool, seen: &Seen) -> bool {
        let Some(connection) = self.table.get_mut(at) else { return false };
        if time.since(connection.observer.last_seen()) >= self.options.longest_silence(&connection.observer) {
            self.counts.idle_ended += 1;
            return false;
        }
        let owns = connection.observer.owns(time, connection.side(sender_second), seen);
        self.counts.port_reuse += u64::from(!owns);
        owns
    }

    fn open(&mut self, time: Time, key: Key, sender_second: bool, segment: &Segment) -> u32 {
        let (initiator_second, rule) = initiator(&key, sender_second, segment);
        let (initiator_side, side_rule) = self.side_of(&key, initiator_second, sender_second, segment);
        self.counts.side_rules[side_rule as usize] += 1;
        let start = Time::ZERO + time.since(self.origin.unwrap_or(time));
        self.counts.starts_moved += u64::from(start < self.latest_start);
        self.latest_start = self.latest_start.max(start);
        let order = self.first_order + self.slots.len() as u64;
        self.slots.push_back(Slot::Live);
        let connection = Connection {
            observer: Observer::new(time, self.options.quiet),
            order,
            start: self.latest_start,
            rule,
            initiator_second,
            initiator_side,
            replayable: false,
            closing: false,
            held: self.spare.pop().unwrap_or_default(),
        };
        let at = self.table.insert(key, connection);
        self.idle_checks.push_back(Check { due: time + self.options.idle_interval(), at, order });
        at
    }

    /// The side of the link the initiator is on, and how that is known (methods M.2).
    fn side_of(
        &self,
        key: &Key,
        initiator_second: bool,
        sender_second: bool,
        segment: &Segment,
    ) -> (LinkSide, SideRule) {
        let of_initiator = |sender_side: LinkSide| {
            if sender_second == initiator_second { sender_side } else { sender_side.other() }
        };
        if let Some(from) = segment.from {
            return (of_initiator(from), SideRule::Marks);
        }
        if !self.options.inside.is_empty() {
            let is_inside =
                |second: bool| self.options.inside.iter().any(|prefix| prefix.contains(key.address(second)));
            return match (is_inside(initiator_second), is_inside(!initiator_second)) {
                (true, _) => (LinkSide::Left, SideRule::Inside),
                (false, true) => (LinkSide::Right, SideRule::Inside),
                (false, false) => (LinkSide::Left, SideRule::Unknown),
            };
        }
        match (segment.macs, self.macs) {
            (Some(pair), Some(first)) if pair == first => (of_initiator(LinkSide::Left), SideRule::Macs),
            (Some([source, destination]), Some(first)) if [destination, source] == first => {
                (of_initiator(LinkSide::Right), SideRule::Macs)
            }
            _ => (LinkSide::Left, SideRule::Unknown),
        }
    }

    /// Keeps a packet back until its connection is known to be replayable.
    fn hold(connection: &mut Connection, held: Held, series: &mut TrafficSeries, spare: &mut Vec<Vec<Held>>) {
        connection.held.push(held);
        connection.replayable = connection.observer.is_replayable();
        if connection.replayable || connection.held.len() == MAX_HELD {
            let to = if connection.replayable { &mut series.replayed } else { &mut series.set_aside };
            for held in connection.held.drain(..) {
                to[held.from as usize].add(held.time, held.traffic);
            }
        }
        if connection.replayable {
            spare.push(std::mem::take(&mut connection.held));
        }
    }

    /// Ends connections that were silent for long enough, a few at a time: a clock that jumps costs nothing, and one
    /// that jumps for a single packet ends none.
    fn expire(&mut self, time: Time) {
        let now = time.min(self.previous);
        for lingering in [true, false] {
            let interval = if lingering { self.options.linger } else { self.options.idle_interval() };
            for _ in 0..2 {
                let checks = if lingering { &mut self.linger_checks } else { &mut self.idle_checks };
                // One that is due later than it can be was noted when the clock was wrong; it must not hold up the rest.
                let is_due = |check: &Check| check.due <= now || check.due > now + interval;
                let Some(check) = checks.front().copied().filter(is_due) else { break };
                checks.pop_front();
                let Some(connection) = self.table.get_mut(check.at) else { continue };
                if connection.order != check.order {
                    continue;
                }
                if lingering && !connection.observer.is_closed() {
                    connection.closing = false;
                    continue;
                }
                let silent = now.since(connection.observer.last_seen());
                let limit = match lingering {
                    true => self.options.linger,
                    false => self.options.longest_silence(&connection.observer),
                };
                if silent >= limit {
                    self.counts.idle_ended += u64::from(!lingering);
                    self.close(check.at);
                } else {
                    let checks = if lingering { &mut self.linger_checks } else { &mut self.idle_checks };
                    checks.push_back(Check { due: now + interval, ..check });
                }
            }
        }
    }

    /// Ends the connection at `at`, if there is one.
    fn close(&mut self, at: u32) {
        let Some((key, mut connection)) = self.table.remove(at) else { return };
        let identity = Identity {
            id: u64::MAX,
            start: connection.start,
            initiator_side: connection.initiator_side,
            initiator_rule: connection.rule,
        };
        let packets = connection.observer.packets();
        let (class, vector) = connection.observer.finish(identity);
        let to = if class.is_replayable() { &mut self.series.replayed } else { &mut self.series.set_aside };
        for held in connection.held.drain(..) {
            to[held.from as usize].add(held.time, held.traffic);
        }
        if connection.held.capacity() > 0 {
            self.spare.push(connection.held);
        }
        self.count(class, packets, &vector);
        let replayed = self.is_replayed(class);
        self.counts.incomplete_left_out += u64::from(class.is_replayable() && !replayed);
        let slot = match replayed || self.options.keep_set_aside {
            true => Slot::Done(Box::new(Finished {
                initiator: key.address(connection.initiator_second),
                acceptor: key.address(!connection.initiator_second),
                class,
                vector,
            })),
            false => Slot::SetAside,
        };
        self.slots[(connection.order - self.first_order) as usize] = slot;
    }

    fn count(&mut self, class: Class, packets: u64, vector: &ConnectionVector) {
        let counts = &mut self.counts;
        let of_class = &mut counts.classes[class.index()];
        of_class.connections += 1;
        of_class.packets += packets;
        for side in Side::BOTH {
            let segments = vector.ends[side].segments.unwrap_or_default();
            of_class.payload_bytes[side] += vector.bytes(side) - segments.missing_bytes;
            counts.missing_bytes += segments.missing_bytes;
            counts.data_segments += segments.data;
            counts.duplicates += segments.duplicates;
            counts.late += segments.late;
            counts.lost_before += segments.lost_before;
        }
        counts.with_missing_bytes += u64::from(Side::BOTH.iter().any(|side| vector.ends[*side].missing_bytes() > 0));
        counts.initiator_rules[vector.initiator_rule as usize] += 1;
        counts.handshake_repeated += u64::from(vector.handshake_repeated);
    }
}

impl Connection {
    fn side(&self, second: bool) -> Side {
        if second == self.initiator_second { Side::Initiator } else { Side::Acceptor }
    }

    /// Corrects the roles when a SYN or SYN/ACK passes after other segments.
    fn tell_initiator(&mut self, sender_second: bool, segment: &Segment) {
        if !segment.flags.syn() || segment.flags.rst() {
            return;
        }
        let (initiator_second, rule) = match segment.flags.ack() {
            false => (sender_second, InitiatorRule::Syn),
            true => (!sender_second, InitiatorRule::SynAck),
        };
        if rule >= self.rule {
            return;
        }
        self.rule = rule;
        if initiator_second != self.initiator_second {
            self.initiator_second = initiator_second;
            self.initiator_side = self.initiator_side.other();
            self.observer.swap_sides();
        }
    }
}

/// Which address of the key is the initiator, by the first segment (methods A.1.3).
fn initiator(key: &Key, sender_second: bool, segment: &Segment) -> (bool, InitiatorRule) {
    if segment.flags.syn() && !segment.flags.rst() {
        return match segment.flags.ack() {
            false => (sender_second, InitiatorRule::Syn),
            true => (!sender_second, InitiatorRule::SynAck),
        };
    }
    let (first, second) = (key.address(false).port, key.address(true).port);
    match first.cmp(&second) {
        std::cmp::Ordering::Equal => (sender_second, InitiatorRule::FirstPacket),
        order => (order.is_lt(), InitiatorRule::Port),
    }
}
