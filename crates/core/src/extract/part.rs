//! A part of the connections and flows of a capture: which packet belongs to which, and when one is over.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::time::Time;
use crate::wire::Address;
use crate::workload::{ConnectionVector, LinkSide};

use super::connection::{Connection, Roles, Single};
use super::counts::{Class, Fate, Tally, VectorPlace};
use super::flow::Flow;
use super::flow_table::{FlowTable, Place};
use super::front::{Packet, Round};
use super::key::{Key, PARTS};
use super::observer::Identity;
use super::options::Options;
use super::packed::Packed;
use super::slab::VACANT;
use super::tombstone::Tombstone;

/// A connection or flow that is over, with its addresses, which vectors do not carry (methods M.12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The number of the packet that opened it, from the first one handed in.
    pub number: u64,
    /// The initiator's address.
    pub initiator: Address,
    /// The acceptor's address.
    pub acceptor: Address,
    /// What it was.
    pub class: Class,
    /// Its vector. Ids are dense among those of a workload; one that was set aside has [`u64::MAX`].
    pub vector: ConnectionVector,
}

impl Finished {
    /// Whether it has a place in the workload.
    pub(super) fn is_kept(&self, options: &Options) -> bool {
        VectorPlace::of(self.class, &self.vector, options) == VectorPlace::Kept
    }
}

/// What a part says at the end of a round.
#[derive(Debug)]
pub struct Report {
    pub(super) part: usize,
    /// `None` when the capture is over.
    pub(super) round: Option<Round>,
    /// Connections that are over, in no order.
    pub(super) finished: Vec<Packed>,
    /// No connection that began before this packet is open any more.
    pub(super) settled: u64,
    /// Bytes on the link by 10 ms bin and the side they came from.
    pub(super) bins: Vec<(u64, [u64; 2])>,
}

/// Packets whose connections are read in advance together.
const BATCH: usize = 64;

/// Places looked at in a round at the least: this part of all of them.
const SWEEP: usize = 256;

/// Places looked at for every connection that opens: more than come, so that the table cannot outgrow the sweep.
const SWEEP_PER_OPENED: usize = 2;

/// A half of a connection that was seen in one direction only, kept to find the other half in another VLAN.
const MAX_HALVES: usize = 4096;

/// One of the [`PARTS`] of the connections of a capture. Parts share nothing, so they may work at the same time, and what
/// comes of it is the same in whatever order they do.
///
/// Give it its packets in the order of the capture with [`handle_all`](Self::handle_all) and the end of every round with
/// [`end_round`](Self::end_round), at the end [`finish`](Self::finish). Counts go to the [`Tally`] that is handed in;
/// several may be added up. [`report`](Self::report) after each round gives the connections that are over.
#[derive(Debug)]
pub struct Part {
    index: usize,
    options: Options,
    /// Bytes its connections may take.
    share: u64,
    table: FlowTable,
    /// Bytes of the heaps of connections, as last looked at.
    heap_bytes: u64,
    /// Where the sweep goes on: connections, single packets, tombstones, flows.
    hands: [u32; 4],
    /// Since the last sweep: connections and flows opened. Since the last look for the oldest: connections ended, rounds.
    opened: usize,
    ended: usize,
    rounds: u32,
    settled: u64,
    round: Option<Round>,
    finished: Vec<Packed>,
    /// To pack connections in.
    room: Vec<u8>,
    bins: Vec<(u64, [u64; 2])>,
    /// With VLANs in the key: connections seen in one direction, by their key without it; which direction, which VLAN.
    halves: HashMap<[Address; 2], (bool, Key), FxBuildHasher>,
}

impl Part {
    /// The parts of a capture, empty.
    pub fn all(options: &Options) -> Vec<Part> {
        let share = options.memory / PARTS as u64;
        (0..PARTS)
            .map(|index| Part {
                index,
                options: options.clone(),
                share,
                table: FlowTable::new(),
                heap_bytes: 0,
                hands: [0; 4],
                opened: 0,
                ended: 0,
                rounds: 0,
                settled: 0,
                round: None,
                finished: Vec::new(),
                room: Vec::new(),
                bins: Vec::new(),
                halves: HashMap::default(),
            })
            .collect()
    }

    /// Connections and flows that are open or may still change.
    pub fn live(&self) -> usize {
        self.table.live.len() + self.table.single.len() + self.table.flows.len()
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> u64 {
        self.table.bytes() + self.heap_bytes
    }

    /// Takes in packets. What they need of the index and of their connections is read in advance, so that the waits for
    /// memory overlap instead of adding up.
    pub fn handle_all(&mut self, packets: &[Packet], tally: &mut Tally) {
        for batch in packets.chunks(BATCH) {
            let mut likely: [Option<Place>; BATCH] = [None; BATCH];
            for (packet, likely) in batch.iter().zip(&mut likely) {
                *likely = self.table.likely(packet.hash);
            }
            let touched = likely.iter().fold(0, |sum, likely| sum ^ self.touch(*likely));
            std::hint::black_box(touched);
            for (packet, likely) in batch.iter().zip(likely) {
                self.handle(packet, likely, tally);
            }
        }
    }

    /// Reads what packets need of the connection at `place`.
    #[inline]
    fn touch(&self, place: Option<Place>) -> u64 {
        match place {
            Some(Place::Live(at)) => self.table.live.get(at).map_or(0, Connection::touch),
            Some(Place::Single(at)) => self.table.single.get(at).map_or(0, |single| single.packet.number),
            Some(Place::Gone(at)) => self.table.gone.get(at).map_or(0, |gone| u64::from(gone.class)),
            Some(Place::Flow(at)) => self.table.flows.get(at).map_or(0, |flow| flow.number),
            None => 0,
        }
    }

    /// Takes in a packet, whose connection was `likely` at that place before the packets before it.
    #[inline]
    fn handle(&mut self, packet: &Packet, likely: Option<Place>, tally: &mut Tally) {
        let at = match self.table.find(&packet.key, packet.hash, likely) {
            Some(Place::Live(at)) => at,
            Some(Place::Single(at)) => self.promote(at, tally),
            Some(Place::Gone(at)) => {
                if self.absorb(at, packet, tally) {
                    return;
                }
                self.table.gone.remove(at);
                self.table.lead(packet.hash, Place::Gone(at), None);
                return self.open(packet, tally);
            }
            Some(Place::Flow(at)) => return self.handle_datagram(at, packet, tally),
            None => return self.open(packet, tally),
        };
        if !self.continues(at, packet, tally) {
            self.close(at, false, tally);
            return self.open(packet, tally);
        }
        let Some(connection) = self.table.live.get_mut(at) else { return };
        let link_bytes = connection.handle(packet, tally);
        let from = connection.roles.from(packet.sender_second);
        self.note_traffic(packet.bin, link_bytes, from);
    }

    /// Ends what has been silent for long enough, a part of the table at a time, and what there is no memory for.
    pub fn end_round(&mut self, round: &Round, tally: &mut Tally) {
        let opened = std::mem::take(&mut self.opened) * SWEEP_PER_OPENED;
        let FlowTable { live, single, gone, flows, .. } = &self.table;
        let places = [live.places(), single.places(), gone.places(), flows.places()];
        for (kind, places) in places.into_iter().enumerate() {
            for _ in 0..(places.div_ceil(SWEEP) + opened).min(places) {
                let at = self.hands[kind];
                self.hands[kind] = if at as usize + 1 >= places { 0 } else { at + 1 };
                match kind {
                    0 => self.look_at_connection(at, round.clock, tally),
                    1 => self.look_at_single(at, round.clock, tally),
                    2 => self.look_at_tombstone(at, round.clock),
                    _ => self.look_at_flow(at, round.clock, tally),
                }
            }
        }
        if self.bytes() > self.share {
            self.make_room(tally);
        }
        self.settle(round.next);
        self.round = Some(*round);
    }

    /// The capture is over: ends every connection.
    pub fn finish(&mut self, tally: &mut Tally) {
        for at in 0..self.table.single.places() as u32 {
            if self.table.single.number(at) != VACANT {
                self.end_single(at, tally);
            }
        }
        for at in 0..self.table.live.places() as u32 {
            self.close(at, false, tally);
        }
        for at in 0..self.table.flows.places() as u32 {
            self.close_flow(at, tally);
        }
        self.settled = u64::MAX;
        self.round = None;
    }

    /// What is new since the report before; after each round, and after the end.
    pub fn report(&mut self) -> Report {
        Report {
            part: self.index,
            round: self.round,
            finished: std::mem::take(&mut self.finished),
            settled: self.settled,
            bins: std::mem::take(&mut self.bins),
        }
    }

    /// Whether a packet belongs to the connection at `at`; counts why not.
    #[inline]
    fn continues(&mut self, at: u32, packet: &Packet, tally: &mut Tally) -> bool {
        let Some(connection) = self.table.live.get_mut(at) else { return false };
        let observer = &connection.observer;
        let silent = packet.time.since(observer.last_seen());
        // Shorter silences end nothing: this spares the question what kind of connection it is.
        if silent >= self.options.linger.min(self.options.idle_timeout) {
            if observer.is_closed() {
                return false;
            }
            if silent >= self.options.longest_silence(observer.is_attempt()) {
                tally.counts.idle_ended += 1;
                return false;
            }
        }
        let owns = observer.owns(packet.time, connection.roles.side(packet.sender_second), &packet.seen);
        tally.counts.port_reuse += u64::from(!owns);
        owns
    }

    /// A packet of no connection or flow opens one.
    fn open(&mut self, packet: &Packet, tally: &mut Tally) {
        let (roles, side_rule) = Roles::of(packet, &self.options);
        if packet.key.is_of_datagrams() {
            return self.open_flow(packet, roles, tally);
        }
        tally.counts.side_rules[side_rule as usize] += 1;
        tally.counts.starts_moved += u64::from(packet.moved);
        let at = self.table.single.insert(packet.number, Single { packet: *packet, roles });
        self.table.enter(packet.hash, Place::Single(at));
        self.opened += 1;
        self.note_traffic(packet.bin, packet.link_bytes, roles.from(packet.sender_second));
    }

    /// Makes a connection of a single packet; its place.
    fn promote(&mut self, at: u32, tally: &mut Tally) -> u32 {
        let single = self.table.single.remove(at).expect("its place was just found");
        let connection = Connection::new(&single, &self.options, tally);
        let to = self.table.live.insert(single.packet.number, connection);
        self.table.lead(single.packet.hash, Place::Single(at), Some(Place::Live(to)));
        to
    }

    /// A datagram of the flow at `at`, or of another that it opens on the same 5-tuple.
    fn handle_datagram(&mut self, at: u32, packet: &Packet, tally: &mut Tally) {
        let Some(flow) = self.table.flows.get_mut(at) else { return };
        if packet.time.since(flow.observer.last_seen()) >= self.options.datagram_idle_timeout {
            self.close_flow(at, tally);
            return self.open(packet, tally);
        }
        if flow.observer.is_full() {
            let roles = flow.roles;
            self.close_flow(at, tally);
            return self.open_flow(packet, roles, tally);
        }
        flow.handle(packet, tally);
        let from = flow.roles.from(packet.sender_second);
        self.note_traffic(packet.bin, packet.link_bytes, from);
    }

    fn open_flow(&mut self, packet: &Packet, roles: Roles, tally: &mut Tally) {
        tally.counts.starts_moved += u64::from(packet.moved);
        let mut flow = Flow::new(packet, roles, self.options.quiet);
        flow.handle(packet, tally);
        let at = self.table.flows.insert(packet.number, flow);
        self.table.enter(packet.hash, Place::Flow(at));
        self.opened += 1;
        self.note_traffic(packet.bin, packet.link_bytes, roles.from(packet.sender_second));
    }

    /// Counts a straggler of a connection whose vector is made; false if it is none.
    fn absorb(&mut self, at: u32, packet: &Packet, tally: &mut Tally) -> bool {
        let Some(gone) = self.table.gone.get_mut(at) else { return false };
        if gone.is_over(packet.time, self.options.linger) {
            return false;
        }
        let sender = gone.side(packet.sender_second);
        if !gone.owns(sender, &packet.seen) {
            tally.counts.port_reuse += 1;
            return false;
        }
        gone.note(packet.time);
        tally.counts.stragglers += 1;
        tally.counts.straggler_bytes += u64::from(gone.beyond(sender, &packet.seen));
        tally.counts.classes[usize::from(gone.class)].packets += 1;
        let (fate, from) = (Fate::of_connection(!gone.is_replayable()), gone.from(sender));
        let traffic = crate::record::Traffic { packets: 1, bytes: u64::from(packet.link_bytes), payload_bytes: 0 };
        tally.series.add(fate, from, packet.bin, traffic);
        self.note_traffic(packet.bin, packet.link_bytes, from);
        true
    }

    #[inline]
    fn note_traffic(&mut self, bin: u64, link_bytes: u32, from: LinkSide) {
        let bytes = u64::from(link_bytes);
        match self.bins.last_mut() {
            Some((last, sides)) if *last == bin => sides[from as usize] += bytes,
            _ => {
                let mut sides = [0; 2];
                sides[from as usize] = bytes;
                self.bins.push((bin, sides));
            }
        }
    }

    fn look_at_connection(&mut self, at: u32, clock: Time, tally: &mut Tally) {
        let Some(connection) = self.table.live.get_mut(at) else { return };
        let heap = connection.heap();
        self.heap_bytes += u64::from(heap);
        self.heap_bytes -= u64::from(std::mem::replace(&mut connection.heap_bytes, heap));
        let observer = &connection.observer;
        let silent = clock.since(observer.last_seen());
        if observer.is_closed() {
            // A tombstone does not know a second number space.
            let is_doubled = observer.doubled().0 > 0;
            let drain = if is_doubled { self.options.linger } else { self.options.drain };
            if silent >= drain.min(self.options.linger) {
                self.close(at, silent < self.options.linger, tally);
            }
        } else if silent >= self.options.longest_silence(observer.is_attempt()) {
            tally.counts.idle_ended += 1;
            self.close(at, false, tally);
        } else if u64::from(heap) > self.share / 2 {
            // Silence would never end one connection that takes all the memory.
            tally.counts.memory_ended += 1;
            self.close(at, false, tally);
        }
    }

    fn look_at_single(&mut self, at: u32, clock: Time, tally: &mut Tally) {
        let Some(single) = self.table.single.get(at) else { return };
        if clock.since(single.packet.time) >= self.options.longest_silence(single.is_attempt()) {
            tally.counts.idle_ended += 1;
            self.end_single(at, tally);
        }
    }

    fn look_at_tombstone(&mut self, at: u32, clock: Time) {
        if self.table.gone.get(at).is_some_and(|gone| gone.is_over(clock, self.options.linger)) {
            self.forget(at);
        }
    }

    fn look_at_flow(&mut self, at: u32, clock: Time, tally: &mut Tally) {
        let Some(flow) = self.table.flows.get_mut(at) else { return };
        let heap = flow.heap();
        self.heap_bytes += u64::from(heap);
        self.heap_bytes -= u64::from(std::mem::replace(&mut flow.heap_bytes, heap));
        if clock.since(flow.observer.last_seen()) >= self.options.datagram_idle_timeout {
            self.close_flow(at, tally);
        }
    }

    fn end_single(&mut self, at: u32, tally: &mut Tally) {
        let to = self.promote(at, tally);
        self.close(to, false, tally);
    }

    /// Removes a tombstone.
    fn forget(&mut self, at: u32) {
        // The hash is in its number, as nothing asks for the age of a tombstone.
        let hash = self.table.gone.number(at) as u32;
        if self.table.gone.remove(at).is_some() {
            self.table.lead(hash, Place::Gone(at), None);
        }
    }

    /// Ends the connections and flows that were silent for longest, an eighth of the share at a time.
    #[cold]
    fn make_room(&mut self, tally: &mut Tally) {
        // Tombstones first: losing one loses no data.
        let room = self.share - self.share / 8;
        let mut places = self.table.gone.places() as u32;
        while self.bytes() > room && places > 0 {
            places -= 1;
            self.forget(places);
        }
        let mut silent: Vec<(Time, u64, Place)> = Vec::with_capacity(self.live());
        for at in 0..self.table.live.places() as u32 {
            if let Some(connection) = self.table.live.get(at) {
                silent.push((connection.observer.last_seen(), connection.number, Place::Live(at)));
            }
        }
        for at in 0..self.table.single.places() as u32 {
            if let Some(single) = self.table.single.get(at) {
                silent.push((single.packet.time, single.packet.number, Place::Single(at)));
            }
        }
        for at in 0..self.table.flows.places() as u32 {
            if let Some(flow) = self.table.flows.get(at) {
                silent.push((flow.observer.last_seen(), flow.number, Place::Flow(at)));
            }
        }
        silent.sort_unstable_by_key(|(last, number, _)| (*last, *number));
        for (_, _, place) in silent {
            if self.bytes() <= room {
                break;
            }
            match place {
                Place::Flow(at) => {
                    tally.counts.datagrams.memory_ended += 1;
                    self.close_flow(at, tally);
                    continue;
                }
                Place::Live(at) | Place::Gone(at) => self.close(at, false, tally),
                Place::Single(at) => self.end_single(at, tally),
            }
            tally.counts.memory_ended += 1;
        }
    }

    /// Finds the oldest connection or flow that is open, when enough were ended to make it worth while.
    fn settle(&mut self, next: u64) {
        self.rounds += 1;
        if self.live() == 0 {
            self.settled = next;
        } else if self.ended > 0 && (self.ended * 8 >= self.live() || self.rounds >= 8) {
            let FlowTable { live, single, flows, .. } = &self.table;
            let oldest = [live.smallest(), single.smallest(), flows.smallest()];
            self.settled = oldest.into_iter().flatten().min().unwrap_or(next);
            (self.ended, self.rounds) = (0, 0);
        }
    }

    /// Ends the connection at `at`, if there is one. `remember` leaves a tombstone.
    fn close(&mut self, at: u32, remember: bool, tally: &mut Tally) {
        let Some(mut connection) = self.table.live.remove(at) else { return };
        self.ended += 1;
        self.heap_bytes -= u64::from(connection.heap_bytes);
        let Connection { key, hash, number, start, roles, .. } = connection;
        let remains = connection.observer.remains();
        let last = connection.observer.last_seen();
        let packets = connection.observer.packets();
        let near = self.options.monitor.near(roles.initiator_side);
        let (doubled_packets, doubled_bytes) = connection.observer.doubled();
        let identity = Identity {
            id: u64::MAX,
            start,
            initiator_side: roles.initiator_side,
            initiator_rule: roles.rule,
            near,
            ip_version: Some(key.ip_version()),
        };
        let (class, vector) = connection.observer.finish(identity, self.options.missing);
        let place = VectorPlace::of(class, &vector, &self.options);
        connection.release(place != VectorPlace::Kept, tally);
        tally.counts.add_connection(class, packets, &vector, near);
        tally.counts.add_vector(place, &vector);
        if doubled_packets > 0 {
            tally.counts.doubled.connections += 1;
            tally.counts.doubled.packets += doubled_packets;
            tally.counts.doubled.payload_bytes += doubled_bytes;
        }
        if self.options.vlan_key {
            self.match_halves(&key, &vector, &roles, tally);
        }
        let to = remember.then(|| {
            let roles = (roles.initiator_second, roles.initiator_side);
            let mut gone = Tombstone::new(key, &remains, roles, class.index() as u8, place == VectorPlace::Kept);
            gone.note(last);
            Place::Gone(self.table.gone.insert(u64::from(hash), gone))
        });
        self.table.lead(hash, Place::Live(at), to);
        self.keep(number, &key, roles, class, vector);
    }

    /// Ends the flow at `at`, if there is one.
    fn close_flow(&mut self, at: u32, tally: &mut Tally) {
        let Some(mut flow) = self.table.flows.remove(at) else { return };
        self.ended += 1;
        self.heap_bytes -= u64::from(flow.heap_bytes);
        self.table.lead(flow.hash, Place::Flow(at), None);
        let Flow { key, number, start, roles, .. } = flow;
        let (initiator_side, initiator_rule) = (roles.initiator_side, roles.rule);
        let ip_version = Some(key.ip_version());
        let identity = Identity { id: u64::MAX, start, initiator_side, initiator_rule, near: None, ip_version };
        let (class, vector) = flow.observer.finish(identity);
        tally.counts.datagrams.add_flow(&vector);
        self.keep(number, &key, roles, class, vector);
    }

    /// Hands on what is over, if it is wanted.
    fn keep(&mut self, number: u64, key: &Key, roles: Roles, class: Class, vector: ConnectionVector) {
        let initiator = key.address(roles.initiator_second);
        let acceptor = key.address(!roles.initiator_second);
        let finished = Finished { number, initiator, acceptor, class, vector };
        if finished.is_kept(&self.options) || self.options.keep_set_aside {
            self.finished.push(Packed::new(&finished, &mut self.room));
        }
    }

    /// With VLANs in the key, a connection whose ends use different ones falls into two halves; counts those found.
    fn match_halves(&mut self, key: &Key, vector: &ConnectionVector, roles: &Roles, tally: &mut Tally) {
        let heard = [vector.ends.initiator.packets, vector.ends.acceptor.packets].map(|packets| packets > Some(0));
        if heard == [true, true] {
            return;
        }
        // Which address of the key was heard.
        let second = heard[0] == roles.initiator_second;
        let pair = [key.address(false), key.address(true)];
        match self.halves.get(&pair) {
            Some((other, half)) if *other != second && half.vlan() != key.vlan() => {
                tally.counts.vlan_halves += 1;
                self.halves.remove(&pair);
            }
            _ => {
                if self.halves.len() >= MAX_HALVES {
                    self.halves.clear();
                }
                self.halves.insert(pair, (second, *key));
            }
        }
    }
}

/// The bytes that the smallest share of memory must hold: anything less would end connections as they open.
pub const LEAST_MEMORY: u64 = 64 << 20;
