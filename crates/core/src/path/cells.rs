//! A link that carries packets in cells (methods G.8, H.1): circuits, their pace, the buffer, the line, and frames put together again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::cell_counts::CellCounts;
use super::link_statistics::LinkStatistics;
use super::max_min;
use super::passage::{LinkEvent, Passage};
use super::transmitter::{Line, Transmitter};
use crate::cell::framing::{Compression, Stack};
use crate::cell::{Cell, Cells as Buffer, Cutting, Discard, Joined, Order, Reassembly, Refused};
use crate::queue::{Backlog, Packet};
use crate::record::DropReason;
use crate::time::{Duration, Time};
use crate::units::{LINK_HEADER_BYTES, Rate};

/// What a link of cells is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct CellParams {
    /// How packets become cells.
    pub framing: CellFraming,
    /// The order in which circuits are served.
    pub order: Order,
    /// Cells that may wait before the line, those of all circuits together; any number if `None`.
    pub room: Option<u32>,
    /// Which cells are lost with one that finds no room.
    pub discard: Discard,
    /// The rate at which the cells of a circuit come to the buffer: those of a packet come at once if it is unlimited.
    pub access: Rate,
    /// The most for circuits that are paced ([`CellParams::PACED`]).
    pub peak: Rate,
    /// Ideal ABR: how often the rate of the circuits is renewed, which is their max-min share of `rate`.
    pub abr: Option<Abr>,
}

/// Ideal ABR: each circuit has its max-min share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abr {
    /// Time from one renewal to the next, above zero: renewals are at its multiples.
    pub every: Duration,
    /// What is shared.
    pub rate: Rate,
}

/// A stack of framings that ends in cells.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFraming {
    stack: Stack,
    cutting: Cutting,
}

impl CellFraming {
    /// As `stack` has it; `None` if it has no cells.
    pub fn new(stack: Stack) -> Option<CellFraming> {
        let cells = stack.cells()?;
        let cutting = Cutting::new(cells.payload_bytes, cells.overhead_bytes, true)?;
        Some(CellFraming { stack, cutting })
    }

    /// The framings from the datagram to the cell.
    pub const fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Bytes on the line of a cell.
    pub const fn cell_bytes(&self) -> u32 {
        self.cutting.on_line(self.cutting.payload())
    }

    /// Bytes of the frame, and cells, that a packet of `bytes` on the link becomes, which counts an Ethernet header that is not there.
    fn frame(&self, bytes: u32) -> (u32, u32) {
        let carried = self.stack.carry(u64::from(bytes.saturating_sub(LINK_HEADER_BYTES)), Compression::NONE);
        let frame = u32::try_from(carried.frame_bytes).unwrap_or(u32::MAX);
        (frame, self.cutting.cells(frame))
    }
}

impl CellParams {
    /// The bit of a packet's flow that says that its circuit is paced.
    pub const PACED: u64 = 1 << 63;

    /// Cells as `framing` makes them, at once, in a buffer without limit.
    pub const fn new(framing: CellFraming) -> CellParams {
        CellParams {
            framing,
            order: Order::RoundRobin,
            room: None,
            discard: Discard::Tail,
            access: Rate::UNLIMITED,
            peak: Rate::UNLIMITED,
            abr: None,
        }
    }

    /// Bytes of the cells that may wait; `None` if any number may, because the buffer has no limit, or because circuits hold cells back
    /// before it, which nothing limits.
    pub fn most_waiting(&self) -> Option<u64> {
        let holds_back = [self.access, self.peak].iter().any(|rate| *rate != Rate::UNLIMITED) || self.abr.is_some();
        self.room.filter(|_| !holds_back).map(|room| u64::from(room) * u64::from(self.framing.cell_bytes()))
    }

    /// The most that a circuit may send, whatever its share.
    fn most(&self, flow: u64) -> Rate {
        if flow & CellParams::PACED == 0 { self.access } else { self.access.min(self.peak) }
    }
}

/// A packet of which cells are before the line.
#[derive(Clone, Copy, Debug)]
struct Kept {
    packet: Packet,
    frame: u32,
    cells: u32,
    /// Cells that are neither sent nor lost.
    left: u32,
    sent: u32,
    is_dead: bool,
}

/// A virtual circuit that has cells here, or a pace or a frame to go on with.
#[derive(Debug)]
struct Circuit {
    flow: u64,
    /// When its cells may come to the buffer.
    pace: Line,
    /// Packets with cells that have not come to it.
    coming: VecDeque<u32>,
    /// The next cell of the first of them.
    next: u32,
    /// It has a time in [`Cells::due`].
    is_due: bool,
    /// Cells of it in the buffer.
    queued: u32,
    /// Cells that packets brought since the last renewal.
    brought: u64,
    frame: Reassembly,
}

/// Packets become cells when they come; cells come to the buffer at the pace of their circuit; the line takes them from there; the last cell
/// of a packet makes the packet whole again, or not.
///
/// A packet waits until its last cell is on the line. It is dropped when it first loses a cell, or when its last cell ends a frame that has
/// cells of another packet. Its other cells still go their way. Of what is due at one instant renewals come first, then the line, then
/// cells that come to the buffer, in the order in which they were planned.
#[derive(Debug)]
pub(super) struct Cells {
    params: CellParams,
    buffer: Buffer,
    packets: Vec<Kept>,
    vacant_packets: Vec<u32>,
    circuits: Vec<Circuit>,
    vacant_circuits: Vec<u32>,
    /// The circuit of a flow.
    places: HashMap<u64, u32, FxBuildHasher>,
    /// Circuits by when their next cell comes to the buffer, or their pace lets them be forgotten.
    due: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// Times in `due` so far.
    planned: u64,
    /// Next renewal, while there are circuits.
    renewal: Option<Time>,
    /// What no circuit exceeds.
    level: Rate,
    /// When the last bit of all that the line has taken leaves it.
    free: Time,
    /// When something happened last.
    at: Time,
    backlog: Backlog,
    /// When it changed last.
    changed: Time,
    said: VecDeque<LinkEvent>,
    counts: CellCounts,
}

impl Cells {
    pub fn new(params: CellParams) -> Cells {
        Cells {
            buffer: Buffer::new(params.order, params.room, params.discard),
            level: params.abr.map_or(Rate::UNLIMITED, |abr| abr.rate),
            params,
            packets: Vec::new(),
            vacant_packets: Vec::new(),
            circuits: Vec::new(),
            vacant_circuits: Vec::new(),
            places: HashMap::default(),
            due: BinaryHeap::new(),
            planned: 0,
            renewal: None,
            free: Time::ZERO,
            at: Time::ZERO,
            backlog: Backlog::default(),
            changed: Time::ZERO,
            said: VecDeque::new(),
            counts: CellCounts::default(),
        }
    }

    /// A packet comes at `now`, by which all that was due has happened. [`Self::advance`] sends its cells on.
    pub fn offer(&mut self, now: Time, packet: Packet, statistics: &mut LinkStatistics) {
        let (frame, cells) = self.params.framing.frame(packet.bytes);
        let place = self.circuit(packet.flow);
        let kept = Kept { packet, frame, cells, left: cells, sent: 0, is_dead: false };
        let number = match self.vacant_packets.pop() {
            Some(number) => {
                self.packets[number as usize] = kept;
                number
            }
            None => {
                self.packets.push(kept);
                u32::try_from(self.packets.len() - 1).expect("fewer than 2^32 packets wait")
            }
        };
        statistics.hold(self.changed, now, self.backlog);
        self.changed = now;
        self.backlog.add(packet.bytes);
        self.counts.cut += u64::from(cells);
        let circuit = &mut self.circuits[place as usize];
        circuit.brought += u64::from(cells);
        circuit.coming.push_back(number);
        let start = circuit.pace.start(now);
        self.plan(place, start);
        if let Some(abr) = self.params.abr.filter(|_| self.renewal.is_none()) {
            self.renewal = Some(next_multiple(now, abr.every));
        }
    }

    /// The circuit of `flow`, which is set up if it is not there.
    fn circuit(&mut self, flow: u64) -> u32 {
        if let Some(place) = self.places.get(&flow) {
            return *place;
        }
        let circuit = Circuit {
            flow,
            pace: Line::new(self.params.most(flow)),
            coming: VecDeque::new(),
            next: 0,
            is_due: false,
            queued: 0,
            brought: 0,
            frame: Reassembly::default(),
        };
        let place = match self.vacant_circuits.pop() {
            Some(place) => {
                self.circuits[place as usize] = circuit;
                place
            }
            None => {
                self.circuits.push(circuit);
                u32::try_from(self.circuits.len() - 1).expect("fewer than 2^32 circuits")
            }
        };
        self.places.insert(flow, place);
        place
    }

    /// Looks at a circuit at `time`, if that is not planned yet.
    fn plan(&mut self, place: u32, time: Time) {
        let circuit = &mut self.circuits[place as usize];
        if !circuit.is_due {
            circuit.is_due = true;
            self.planned += 1;
            self.due.push(Reverse((time, self.planned, place)));
        }
    }

    /// Lets all happen that is due by `now`.
    pub fn advance(
        &mut self,
        now: Time,
        transmitter: &mut Transmitter,
        propagation: Duration,
        statistics: &mut LinkStatistics,
    ) {
        loop {
            let line = self.line(transmitter);
            let due = self.due.peek().map(|Reverse((time, ..))| *time);
            let [renewal, line, due] = [self.renewal, line, due].map(|time| time.unwrap_or(Time::MAX));
            let first = renewal.min(line).min(due);
            if first > now || first == Time::MAX {
                break;
            }
            self.at = self.at.max(first);
            if first == renewal {
                self.renew();
            } else if first == line {
                self.send(transmitter, propagation, statistics);
            } else if let Some(Reverse((_, _, place))) = self.due.pop() {
                self.circuits[place as usize].is_due = false;
                self.come(place, transmitter, propagation, statistics);
            }
        }
    }

    /// When the line takes the next cell.
    fn line(&self, transmitter: &Transmitter) -> Option<Time> {
        (self.buffer.waiting() > 0).then(|| transmitter.start(self.at, self.params.framing.cell_bytes()))
    }

    /// Cells of a circuit come to the buffer, as many as its pace allows now.
    fn come(
        &mut self,
        place: u32,
        transmitter: &mut Transmitter,
        propagation: Duration,
        statistics: &mut LinkStatistics,
    ) {
        let rate = self.params.most(self.circuits[place as usize].flow).min(self.level);
        let bytes = self.params.framing.cell_bytes();
        while let Some(number) = self.circuits[place as usize].coming.front().copied() {
            let circuit = &mut self.circuits[place as usize];
            let start = circuit.pace.start(self.at);
            if start > self.at {
                return self.plan(place, start);
            }
            circuit.pace.change(rate);
            circuit.pace.transmit(self.at, bytes);
            let (index, Kept { cells, frame, .. }) = (circuit.next, self.packets[number as usize]);
            let is_last = index + 1 == cells;
            circuit.next = if is_last { 0 } else { index + 1 };
            if is_last {
                circuit.coming.pop_front();
            }
            let carried = self.params.framing.cutting.carried(frame, index) as u16;
            let cell = Cell { circuit: place, packet: number, carried, first: index == 0, last: is_last };
            match self.buffer.push(cell) {
                Ok(()) => circuit.queued += 1,
                Err(why) => self.lose(number, why, statistics),
            }
            if self.line(transmitter).is_some_and(|start| start <= self.at) {
                self.send(transmitter, propagation, statistics);
            }
        }
        self.let_go(place);
    }

    /// The line takes a cell.
    fn send(&mut self, transmitter: &mut Transmitter, propagation: Duration, statistics: &mut LinkStatistics) {
        let Some(cell) = self.buffer.pop(self.at) else { return };
        let bytes = self.params.framing.cell_bytes();
        let started = transmitter.start(self.at, bytes);
        let departed = transmitter.transmit(self.at, bytes);
        statistics.transmit(started, departed, bytes);
        self.free = departed;
        self.counts.sent += 1;
        self.counts.line_bytes += u64::from(bytes);
        let (circuit, kept) = (&mut self.circuits[cell.circuit as usize], &mut self.packets[cell.packet as usize]);
        circuit.queued -= 1;
        kept.left -= 1;
        kept.sent += 1;
        self.counts.dead += u64::from(kept.is_dead);
        let Kept { packet, is_dead, cells, left, .. } = *kept;
        match circuit.frame.join(cell, cells, is_dead) {
            Joined::Whole => {
                self.counts.whole += 1;
                self.counts.datagram_bytes += u64::from(packet.bytes.saturating_sub(LINK_HEADER_BYTES));
                self.release(packet, statistics);
                let arrived = departed + propagation;
                // Cells are not marked here; an earlier queue may have marked the packet.
                let passage = Passage { started, departed, arrived, marked: false };
                self.said.push_back(LinkEvent::Started { packet, passage });
            }
            Joined::Broken if !is_dead => {
                self.counts.spoilt += 1;
                self.kill(cell.packet, DropReason::Spoilt, statistics);
            }
            Joined::Broken | Joined::Part => {}
        }
        if left == 0 {
            self.vacant_packets.push(cell.packet);
        }
        if cell.last {
            self.let_go(cell.circuit);
        }
    }

    /// A cell of a packet is lost.
    fn lose(&mut self, number: u32, why: Refused, statistics: &mut LinkStatistics) {
        let (count, reason) = match why {
            Refused::Full => (&mut self.counts.full, DropReason::QueueFull),
            Refused::RestOfPacket => (&mut self.counts.rest, DropReason::QueueFull),
            Refused::Early => (&mut self.counts.early, DropReason::Early),
        };
        *count += 1;
        let kept = &mut self.packets[number as usize];
        kept.left -= 1;
        let (is_dead, left) = (kept.is_dead, kept.left);
        if !is_dead {
            self.kill(number, reason, statistics);
        }
        if left == 0 {
            self.vacant_packets.push(number);
        }
    }

    /// A packet dies: none of its cells was of use.
    fn kill(&mut self, number: u32, reason: DropReason, statistics: &mut LinkStatistics) {
        let kept = &mut self.packets[number as usize];
        kept.is_dead = true;
        self.counts.dead += u64::from(kept.sent);
        let packet = kept.packet;
        self.release(packet, statistics);
        self.said.push_back(LinkEvent::Dropped { packet, time: self.at, reason });
    }

    /// A packet waits no longer.
    fn release(&mut self, packet: Packet, statistics: &mut LinkStatistics) {
        statistics.hold(self.changed, self.at, self.backlog);
        self.changed = self.at;
        self.backlog.remove(packet.bytes);
    }

    /// Forgets a circuit of which nothing is there, and whose next cell could leave at once.
    fn let_go(&mut self, place: u32) {
        let circuit = &self.circuits[place as usize];
        let is_needed = circuit.is_due
            || circuit.queued > 0
            || circuit.brought > 0 && self.params.abr.is_some()
            || !circuit.coming.is_empty()
            || !circuit.frame.is_empty();
        if is_needed {
            return;
        }
        let start = circuit.pace.start(self.at);
        if start > self.at {
            return self.plan(place, start);
        }
        // A circuit is forgotten once: its flow would be another's otherwise.
        if self.places.remove(&circuit.flow).is_some() {
            self.vacant_circuits.push(place);
        }
    }

    /// Gives all circuits their max-min share. One with cells that have not come to the buffer wants all that it may have, another as much
    /// as it brought since the last renewal.
    fn renew(&mut self) {
        let (Some(abr), Some(at)) = (self.params.abr, self.renewal) else { return };
        let bits = u128::from(self.params.framing.cell_bytes()) * 8_000_000_000;
        let mut demands = Vec::new();
        let mut idle = Vec::new();
        for (circuit, place) in self.circuits.iter_mut().zip(0..) {
            let brought = std::mem::take(&mut circuit.brought);
            let most = self.params.most(circuit.flow).bits_per_second().unwrap_or(u64::MAX);
            if !circuit.coming.is_empty() {
                demands.push(most);
            } else if brought > 0 {
                let rate = u128::from(brought) * bits / u128::from(abr.every.as_nanos().max(1));
                demands.push(u64::try_from(rate).unwrap_or(u64::MAX).min(most));
                idle.push(place);
            }
        }
        let capacity = abr.rate.bits_per_second();
        let level = capacity.map(|capacity| max_min::level(capacity, &mut demands).max(1));
        self.level = level.and_then(Rate::from_bits_per_second).unwrap_or(Rate::UNLIMITED);
        self.renewal = (!demands.is_empty()).then(|| at + abr.every);
        idle.into_iter().for_each(|place| self.let_go(place));
    }

    /// When [`Self::advance`] has something to do.
    pub fn next_timeout(&self, transmitter: &Transmitter) -> Option<Time> {
        let due = self.due.peek().map(|Reverse((time, ..))| *time);
        [self.renewal, self.line(transmitter), due].into_iter().flatten().min()
    }

    /// What became of packets, in order of time.
    pub fn poll(&mut self) -> Option<LinkEvent> {
        self.said.pop_front()
    }

    /// Packets of which cells wait, that have lost none.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// When the last bit of what was sent leaves the line.
    pub fn free(&self) -> Time {
        self.free
    }

    /// Ends the statistics at `end`.
    pub fn end(&mut self, end: Time, statistics: &mut LinkStatistics) {
        statistics.hold(self.changed, end, self.backlog);
        self.changed = end;
        statistics.cells = Some(self.counts);
    }
}

/// The first multiple of `every` after `now`.
fn next_multiple(now: Time, every: Duration) -> Time {
    let (now, every) = (now.as_nanos(), every.as_nanos().max(1));
    Time::from_nanos((now / every + 1).saturating_mul(every))
}

#[cfg(test)]
mod tests;
