//! One connection of a run: its two ends, its path, and what it leaves behind.

use std::num::NonZeroU16;

use flowloom_core::extract::{Identity, Observer, Seen};
use flowloom_core::path::{self, DelayBox, FlowValues, Impaired, LinkEvent, PathDelays};
use flowloom_core::play::{Action, EpochTimes, Player, Script};
use flowloom_core::record::{ConnectionRecord, EpochRecord, Outcome, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::congestion::Setup;
use flowloom_core::tcp::{Endpoint, Limits, Segment};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, LinkSide, PerSide, Side};

use crate::config::{Config, LinkNumber};
use crate::coverage::Coverage;
use crate::flight::{Fifo, Handle};
use crate::network::{Event, Fate, Leaving, Network, link_bytes};
use crate::run::Classed;

/// Smallest MSS played, as Linux has it (TCP_MIN_SND_MSS): captures hold SYNs with an MSS of 0.
const MIN_MSS: u16 = 48;

/// A connection from its SYN until nothing more can happen to it.
///
/// With tens of thousands of them open each event finds its connection in memory, not in a cache: what every event needs
/// stands together at the front, and the rest is ordered by how many events need it.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    routes: PerSide<Route>,
    /// Packets anywhere between the ends.
    in_flight: u32,
    sequence_numbers: PerSide<u32>,
    initiator_side: LinkSide,
    class: u16,
    paths: PerSide<Path>,
    ends: PerSide<End>,
    script: Script,
    cold: Box<Cold>,
    established: Option<Time>,
    first_data: Option<Time>,
    last_data: Option<Time>,
    closed: Option<Time>,
}

/// The packets that one end sent, and its wake-up.
#[derive(Debug)]
struct Route {
    /// Packets on the way from the end to its first link, and from the last link to the other end.
    to_link: Fifo,
    from_link: Fifo,
    /// Packets that pass the monitor, which has not taken note of them.
    passing: Fifo,
    timer: Timer,
    /// When the end or the program at it wants to be woken, `Time::MAX` for never.
    deadline: Time,
}

/// What the packets that one end sent cross beside the link.
#[derive(Debug)]
struct Path {
    to_link: DelayBox,
    /// The other end's part of the path.
    from_link: DelayBox,
    coverage: Coverage,
    /// Apart, since few paths are.
    rough: Option<Box<Rough>>,
}

/// A part of the path where packets may be lost, doubled or overtaken.
#[derive(Debug)]
struct Rough {
    impaired: Box<Impaired>,
    /// Packets on the way to the link that overtook others, by when they reach it: each has an event of its own.
    overtaking: Vec<Handle>,
}

/// One end: transport and program.
#[derive(Debug)]
#[repr(C)]
struct End {
    player: Player,
    endpoint: Endpoint,
}

/// What is needed at the start, at the end, and by the monitor.
#[derive(Debug)]
struct Cold {
    vector: ConnectionVector,
    epochs: Vec<EpochRecord>,
    observer: Option<Observer>,
    first_passed: Time,
    started: Time,
    rtt: Duration,
}

impl Connection {
    /// The connection of `vector`, about to start at `now`, with the values that rules drew for it.
    pub fn new(
        Classed { vector, class }: Classed,
        now: Time,
        config: &Config,
        values: &PerSide<FlowValues>,
    ) -> Connection {
        let delays = PathDelays::new(&vector, config.placement, config.propagation(class), config.unknown_rtt);
        let delays = delays.with(values);
        let limits = |side: Side| {
            let (end, default) = (&vector.ends[side], Limits::default());
            Limits {
                mss: end.mss.unwrap_or(default.mss).max(MIN_MSS),
                max_window: match vector.window(side) {
                    // What was advertised without a known scale is a lower bound.
                    None => end.max_window.unwrap_or(0).max(u64::from(default.max_window)),
                    Some(window) => window,
                }
                .try_into()
                .unwrap_or(u32::MAX),
            }
        };
        let end = |side: Side| {
            let (endpoint, parity) = match side {
                Side::Initiator => (Endpoint::connect(&config.tcp, limits(side)), 0),
                Side::Acceptor => (Endpoint::listen(&config.tcp, limits(side)), 1),
            };
            let setup = Setup { seed: config.seed, stream: vector.id.wrapping_mul(2) + parity };
            End { endpoint: endpoint.with_stream(setup, &config.tcp), player: Player::new(side) }
        };
        let path = |side: Side| Path {
            to_link: DelayBox::new(delays.leg(side).to_link, values[side].rate),
            from_link: DelayBox::new(delays.leg(side.other()).from_link, Rate::UNLIMITED),
            coverage: Coverage::default(),
            rough: {
                let from = if side == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
                let impairments = &config.path[from as usize];
                Impaired::new(impairments, values[side].loss, config.seed, vector.id, side)
                    .map(|impaired| Box::new(Rough { impaired, overtaking: Vec::new() }))
            },
        };
        let route = || Route {
            to_link: Fifo::default(),
            from_link: Fifo::default(),
            passing: Fifo::default(),
            timer: Timer::default(),
            deadline: Time::MAX,
        };
        let mut numbers = Stream::new(config.seed, Purpose::SequenceNumbers, vector.id);
        Connection {
            routes: PerSide { initiator: route(), acceptor: route() },
            in_flight: 0,
            sequence_numbers: PerSide { initiator: numbers.bits32(), acceptor: numbers.bits32() },
            paths: PerSide { initiator: path(Side::Initiator), acceptor: path(Side::Acceptor) },
            ends: PerSide { initiator: end(Side::Initiator), acceptor: end(Side::Acceptor) },
            script: Script::new(&vector, &config.replay),
            established: None,
            first_data: None,
            last_data: None,
            closed: None,
            initiator_side: vector.initiator_side,
            class,
            cold: Box::new(Cold {
                epochs: Vec::new(),
                observer: None,
                first_passed: now,
                started: now,
                rtt: delays.rtt(),
                vector,
            }),
        }
    }

    /// The vector's id.
    pub fn id(&self) -> u64 {
        self.cold.vector.id
    }

    /// The side of the link `side` is on.
    pub fn link_side(&self, side: Side) -> LinkSide {
        match side {
            Side::Initiator => self.initiator_side,
            Side::Acceptor => self.initiator_side.other(),
        }
    }

    /// Which of `side`'s bytes have passed.
    pub fn coverage_mut(&mut self, side: Side) -> &mut Coverage {
        &mut self.paths[side].coverage
    }

    /// Packets of `sender` that pass the monitor, which has not taken note of them.
    pub fn passing_mut(&mut self, sender: Side) -> &mut Fifo {
        &mut self.routes[sender].passing
    }

    /// The links that packets of `sender` cross.
    fn way<'a>(&self, sender: Side, config: &'a Config) -> &'a [LinkNumber] {
        config.ways[usize::from(self.class)].from(self.link_side(sender))
    }

    /// Sequence and acknowledgement number of a segment of `sender` in its header.
    pub fn wire_numbers(&self, sender: Side, segment: &Segment) -> (u32, u32) {
        let numbers = self.sequence_numbers;
        segment.wire_numbers(numbers[sender], numbers[sender.other()])
    }

    /// SACK blocks of a segment of `sender` in its header.
    pub fn wire_sack(&self, sender: Side, segment: &Segment) -> [(u32, u32); 3] {
        let isn = self.sequence_numbers[sender.other()];
        let mut blocks = [(0, 0); 3];
        for (place, (start, end)) in blocks.iter_mut().zip(segment.sack_blocks()) {
            *place = (isn.wrapping_add(start as u32), isn.wrapping_add(end as u32));
        }
        blocks
    }

    /// The first packet of `sender` on its way to its first link reaches it, and those sent together with it.
    ///
    /// # Errors
    /// The recorder's.
    pub fn arrive<R: Recorder>(
        &mut self,
        slot: u32,
        sender: Side,
        now: Time,
        network: &mut Network<'_, R>,
    ) -> Result<(), R::Error> {
        let link = self.way(sender, network.config)[0];
        while let Some(handle) = self.routes[sender].to_link.head() {
            let due = network.packets.get(handle).due;
            if due > now {
                network.events.push(due, Event::Arrival { connection: slot, sender });
                break;
            }
            network.packets.pop(&mut self.routes[sender].to_link);
            self.enter(link, Leaving { handle, connection: slot, sender }, now, network)?;
        }
        Ok(())
    }

    /// A packet of `sender` that overtook others on its way to its first link reaches it.
    ///
    /// # Errors
    /// The recorder's.
    pub fn arrive_early<R: Recorder>(
        &mut self,
        slot: u32,
        sender: Side,
        now: Time,
        network: &mut Network<'_, R>,
    ) -> Result<(), R::Error> {
        let link = self.way(sender, network.config)[0];
        // Events and packets are in the same order: the first packet is the one whose event this is.
        let rough = self.paths[sender].rough.as_mut().filter(|rough| !rough.overtaking.is_empty());
        if let Some(handle) = rough.map(|rough| rough.overtaking.remove(0)) {
            self.enter(link, Leaving { handle, connection: slot, sender }, now, network)?;
        }
        Ok(())
    }

    /// A packet that has crossed `link` reaches the next one.
    ///
    /// # Errors
    /// The recorder's.
    pub fn hop<R: Recorder>(
        &mut self,
        link: LinkNumber,
        packet: Leaving,
        now: Time,
        network: &mut Network<'_, R>,
    ) -> Result<(), R::Error> {
        match self.behind(link, packet.sender, network.config) {
            Some(next) => self.enter(next, packet, now, network),
            None => Ok(()),
        }
    }

    /// The link that packets of `sender` cross behind `link`.
    fn behind(&self, link: LinkNumber, sender: Side, config: &Config) -> Option<LinkNumber> {
        let way = self.way(sender, config);
        let at = way.iter().position(|one| *one == link)?;
        way.get(at + 1).copied()
    }

    /// A packet reaches `link`.
    fn enter<R: Recorder>(
        &mut self,
        link: LinkNumber,
        packet: Leaving,
        now: Time,
        network: &mut Network<'_, R>,
    ) -> Result<(), R::Error> {
        match network.offer(now, link, packet, self)? {
            Fate::Passes { arrived } => self.cross(link, packet, arrived, network),
            Fate::Queued => {}
            Fate::Dropped => self.in_flight -= 1,
        }
        Ok(())
    }

    /// A link has told what becomes of a packet that waited in its queue.
    ///
    /// # Errors
    /// The recorder's.
    pub fn leave_queue<R: Recorder>(
        &mut self,
        slot: u32,
        handle: Handle,
        link: LinkNumber,
        event: &LinkEvent,
        network: &mut Network<'_, R>,
    ) -> Result<(), R::Error> {
        let from = network.packets.get(handle).from;
        match event {
            LinkEvent::Started { passage, .. } => {
                let sender = if from == self.initiator_side { Side::Initiator } else { Side::Acceptor };
                network.start(link, handle, sender, self, passage);
                self.cross(link, Leaving { handle, connection: slot, sender }, passage.arrived, network);
                Ok(())
            }
            LinkEvent::Dropped { time, reason, .. } => {
                self.in_flight -= 1;
                network.drop(*time, link, handle, from, self, *reason)
            }
        }
    }

    /// The last bit of a packet will be at the far end of `link` at `arrived`: there it enters the next link, or goes on to
    /// the other end.
    fn cross<R: Recorder>(&mut self, link: LinkNumber, packet: Leaving, arrived: Time, network: &mut Network<'_, R>) {
        if self.behind(link, packet.sender, network.config).is_some() {
            network.leave(link, arrived, packet);
        } else {
            self.send_on(packet.connection, packet.sender, packet.handle, arrived, network);
        }
    }

    /// The last bit of a packet of `sender` will be at the far end of its last link at `arrived`.
    fn send_on<R: Recorder>(
        &mut self,
        slot: u32,
        sender: Side,
        handle: Handle,
        arrived: Time,
        network: &mut Network<'_, R>,
    ) {
        let route = &mut self.routes[sender];
        let packet = network.packets.get_mut(handle);
        packet.due = self.paths[sender].from_link.pass(arrived, link_bytes(&packet.segment));
        let due = packet.due;
        if network.packets.push(&mut route.from_link, handle) {
            network.events.push(due, Event::Delivery { connection: slot, sender });
        }
    }

    /// The first packet of `sender` on its way from the link reaches the other end.
    pub fn deliver<R: Recorder>(&mut self, slot: u32, sender: Side, now: Time, network: &mut Network<'_, R>) {
        if network.config.monitor {
            self.observe(now, network);
        }
        let Some(handle) = network.packets.pop(&mut self.routes[sender].from_link) else { return };
        self.in_flight -= 1;
        if let Some(next) = self.routes[sender].from_link.head() {
            network.events.push(network.packets.get(next).due, Event::Delivery { connection: slot, sender });
        }
        let segment = network.packets.get(handle).segment;
        network.packets.remove(handle);
        network.directions[self.link_side(sender) as usize].delivered += 1;
        let side = sender.other();
        let endpoint = &mut self.ends[side].endpoint;
        let before = (endpoint.is_established(), endpoint.bytes_received(), endpoint.is_peer_closed());
        endpoint.handle_segment(now, &segment, &network.config.tcp);
        self.transmit(slot, side, now, network);
        self.act(slot, side, now, network);
        let endpoint = &self.ends[side].endpoint;
        let after = (endpoint.is_established(), endpoint.bytes_received(), endpoint.is_peer_closed());
        if after.0 && !before.0 {
            if side == Side::Initiator {
                self.established = Some(now);
            }
            self.ends[side].player.handle_established(now, &self.script);
            self.act(slot, side, now, network);
        }
        if after.1 > before.1 {
            self.last_data = Some(now);
            let epoch = self.ends[side].player.handle_received(now, after.1, &self.script);
            self.act(slot, side, now, network);
            if let Some(EpochTimes { epoch, start, end }) = epoch {
                self.cold.epochs.push(EpochRecord { connection: self.cold.vector.id, epoch, start, end });
            }
        }
        if after.2 && !before.2 {
            self.ends[side].player.handle_peer_closed(now, &self.script);
            self.act(slot, side, now, network);
        }
        self.set_timer(slot, side, now, network);
    }

    /// `side`'s wake-up rings.
    pub fn wake<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        if !self.routes[side].timer.rings(now) {
            return;
        }
        let end = &mut self.ends[side];
        end.endpoint.handle_timeout(now, &network.config.tcp);
        self.transmit(slot, side, now, network);
        self.act(slot, side, now, network);
        self.ends[side].player.handle_timeout(now);
        self.act(slot, side, now, network);
        self.set_timer(slot, side, now, network);
    }

    /// Sends the SYN.
    pub fn start<R: Recorder>(&mut self, slot: u32, now: Time, network: &mut Network<'_, R>) {
        self.transmit(slot, Side::Initiator, now, network);
        self.set_timer(slot, Side::Initiator, now, network);
    }

    /// Does what the program at `side` wants, until it wants nothing.
    fn act<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        loop {
            let End { endpoint, player, .. } = &mut self.ends[side];
            match player.poll_action(&self.script) {
                Some(Action::Write(bytes)) => endpoint.write(bytes),
                Some(Action::Close) => endpoint.close(),
                Some(Action::Abort) => endpoint.abort(),
                None => return,
            }
            self.transmit(slot, side, now, network);
        }
    }

    /// Makes sure `side` is woken in time.
    fn set_timer<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        let deadline = self.ends[side].deadline();
        let route = &mut self.routes[side];
        route.deadline = deadline.unwrap_or(Time::MAX);
        if let Some(deadline) = deadline
            && let Some(at) = route.timer.set(deadline.max(now))
        {
            network.events.push(at, Event::Timer { connection: slot, side });
        }
    }

    /// Sends what `side` has to send, and tells the program at it of new data that went out; [`Self::act`] must follow.
    fn transmit<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        let end = &mut self.ends[side];
        let before = end.endpoint.bytes_transmitted();
        while let Some(segment) = end.endpoint.poll_transmit(now, &network.config.tcp) {
            if segment.payload_bytes > 0 && self.first_data.is_none() {
                self.first_data = Some(now);
            }
            if (segment.flags.fin() || segment.flags.rst()) && self.closed.is_none() {
                self.closed = Some(now);
            }
            let from = if side == Side::Initiator { self.initiator_side } else { self.initiator_side.other() };
            network.directions[from as usize].sent += 1;
            if let Some(flows) = &mut network.flows
                && segment.flags.fin()
            {
                flows.finish(self.cold.vector.id, side);
            }
            let Path { to_link, rough, .. } = &mut self.paths[side];
            let bytes = link_bytes(&segment);
            let (due, mut copy) = match rough {
                None => (to_link.pass(now, bytes), None),
                Some(rough) => match rough.impaired.pass(&network.config.path[from as usize], to_link, now, bytes) {
                    path::Fate::Passed { due, copy } => (due, copy),
                    path::Fate::Lost => {
                        network.lose(now, self.cold.vector.id, from, &segment);
                        continue;
                    }
                },
            };
            network.directions[from as usize].duplicated += u64::from(copy.is_some());
            let mut next = Some(due);
            while let Some(due) = next {
                next = copy.take();
                let handle = network.packets.insert(segment, due, from);
                self.in_flight += 1;
                let line = &mut self.routes[side].to_link;
                if let Some(rough) = rough
                    && line.tail().is_some_and(|last| network.packets.get(last).due > due)
                {
                    let place = rough.overtaking.partition_point(|&other| network.packets.get(other).due <= due);
                    rough.overtaking.insert(place, handle);
                    network.events.push(due, Event::Overtaking { connection: slot, sender: side });
                } else if network.packets.push(line, handle) {
                    network.events.push(due, Event::Arrival { connection: slot, sender: side });
                }
            }
        }
        let transmitted = end.endpoint.bytes_transmitted();
        if transmitted != before {
            end.player.handle_transmitted(now, transmitted, &self.script);
        }
    }

    /// Lets the monitor take note of the packets that pass by `now`, in the order they pass.
    ///
    /// It may come late to a packet, but not later than the packet's delivery; every packet that passes before then has
    /// been accepted by the link, and left its queue, by then, so the order is the true one.
    pub fn observe<R: Recorder>(&mut self, now: Time, network: &Network<'_, R>) {
        loop {
            let key = |side: Side| {
                let packet = network.packets.get(self.routes[side].passing.head()?);
                Some((packet.passed, packet.order)).filter(|key| key.0 <= now)
            };
            let side = match (key(Side::Initiator), key(Side::Acceptor)) {
                (None, None) => return,
                (Some(_), None) => Side::Initiator,
                (None, Some(_)) => Side::Acceptor,
                (Some(initiator), Some(acceptor)) if initiator < acceptor => Side::Initiator,
                (Some(_), Some(_)) => Side::Acceptor,
            };
            let Some(handle) = network.packets.pop_passing(&mut self.routes[side].passing) else { return };
            let packet = network.packets.get(handle);
            let segment = &packet.segment;
            let (sequence, acknowledgement) = self.wire_numbers(side, segment);
            let seen = Seen {
                sequence,
                acknowledgement,
                flags: segment.flags,
                window: segment.window_field(),
                payload_bytes: segment.payload_bytes,
                ip_bytes: link_bytes(segment) - LINK_HEADER_BYTES,
                ip_id: None,
                mss: segment.mss.map(NonZeroU16::get),
                window_scale: segment.window_scale,
            };
            let cold = &mut *self.cold;
            let observer = cold.observer.get_or_insert_with(|| {
                cold.first_passed = packet.passed;
                Observer::new(packet.passed, network.config.quiet)
            });
            observer.handle_segment(packet.passed, side, &seen);
        }
    }

    /// Whether nothing can happen to it any more: no packet is on its way and no end waits for a time.
    ///
    /// This is how every connection ends, also one that its vector leaves open, and one whose other end never learns
    /// that it was reset.
    pub fn is_over(&self) -> bool {
        self.in_flight == 0 && Side::BOTH.iter().all(|&side| self.routes[side].deadline == Time::MAX)
    }

    /// Takes the packets still on their way out of the network when the run is cut at `end`.
    pub fn cut<R: Recorder>(&mut self, end: Time, network: &mut Network<'_, R>) {
        if network.config.monitor {
            self.observe(end, network);
        }
        for Path { rough, .. } in [&mut self.paths.initiator, &mut self.paths.acceptor] {
            let early = rough.as_mut().map(|rough| std::mem::take(&mut rough.overtaking));
            early.into_iter().flatten().for_each(|handle| network.cut(end, handle));
        }
        for Route { to_link, from_link, .. } in [&mut self.routes.initiator, &mut self.routes.acceptor] {
            for fifo in [to_link, from_link] {
                while let Some(handle) = network.packets.pop(fifo) {
                    network.cut(end, handle);
                }
            }
        }
    }

    /// Hands what it was to the recorder; how it ended.
    ///
    /// # Errors
    /// The recorder's.
    pub fn finish<R: Recorder>(mut self, recorder: &mut R) -> Result<Outcome, R::Error> {
        let sum =
            |count: fn(&Endpoint) -> u32| Side::BOTH.iter().map(|&s| u64::from(count(&self.ends[s].endpoint))).sum();
        let record = ConnectionRecord {
            id: self.id(),
            start: self.cold.started,
            outcome: self.outcome(),
            established: self.established,
            first_data: self.first_data,
            last_data: self.last_data,
            closed: self.closed,
            rtt: self.cold.rtt,
            retransmissions: sum(Endpoint::retransmissions),
            timeouts: sum(Endpoint::timeouts),
            delivered_bytes: [self.received(Side::Acceptor), self.received(Side::Initiator)],
        };
        let identity = Identity {
            id: self.id(),
            start: self.cold.first_passed,
            initiator_side: self.initiator_side,
            initiator_rule: self.cold.vector.initiator_rule,
            near: None,
        };
        let monitor = self.cold.observer.take().map(|mut observer| observer.finish(identity).1);
        recorder.connection(&self.cold.vector, &record, &self.cold.epochs, monitor.as_ref())?;
        Ok(record.outcome)
    }

    fn received(&self, side: Side) -> u64 {
        self.ends[side].endpoint.bytes_received()
    }

    fn outcome(&self) -> Outcome {
        use flowloom_core::workload::Close;
        let ends = || Side::BOTH.iter().map(|&side| &self.ends[side].endpoint);
        let all_arrived = Side::BOTH.iter().all(|&side| self.received(side.other()) >= self.script.total(side));
        let closed = self.script.close() == Close::NotSeen || ends().all(Endpoint::is_closed);
        match (all_arrived, closed) {
            (true, true) => Outcome::Completed,
            (false, _) if ends().any(Endpoint::is_reset) => Outcome::Reset,
            _ => Outcome::Unfinished,
        }
    }
}

impl End {
    /// When the endpoint or the program has to be woken. A program whose connection is gone waits for nothing.
    fn deadline(&self) -> Option<Time> {
        let player = self.player.next_timeout().filter(|_| !self.endpoint.is_reset());
        match (self.endpoint.next_timeout(), player) {
            (Some(endpoint), Some(player)) => Some(endpoint.min(player)),
            (one, other) => one.or(other),
        }
    }
}

/// The pending wake-ups of an end. Nothing is ever taken out of the event queue: a deadline that moves back is noticed
/// when the wake-up comes too early, one that moves forward gets a second wake-up, of which one is remembered.
#[derive(Clone, Copy, Debug)]
struct Timer {
    next: Time,
    after_next: Time,
}

impl Default for Timer {
    fn default() -> Timer {
        Timer { next: Time::MAX, after_next: Time::MAX }
    }
}

impl Timer {
    /// Wants a wake-up by `deadline`; when to put it into the event queue, if none comes early enough.
    fn set(&mut self, deadline: Time) -> Option<Time> {
        if deadline >= self.next {
            return None;
        }
        self.after_next = self.next;
        self.next = deadline;
        Some(deadline)
    }

    /// A wake-up comes at `now`; whether it is one that is remembered.
    fn rings(&mut self, now: Time) -> bool {
        if self.next != now {
            return false;
        }
        self.next = std::mem::replace(&mut self.after_next, Time::MAX);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_do_not_pile_up() {
        let at = Time::from_nanos;
        let mut timer = Timer::default();
        assert_eq!(timer.set(at(1_000)), Some(at(1_000)));
        assert_eq!(timer.set(at(5_000)), None, "it will be woken in time to ask again");
        // A short deadline that comes again and again while a long one is pending.
        for short in [100, 200, 300] {
            assert_eq!(timer.set(at(short)), Some(at(short)));
            assert!(timer.rings(at(short)));
            assert_eq!(timer.set(at(1_500)), None, "the first long one is still pending");
        }
        assert!(timer.rings(at(1_000)));
        assert!(!timer.rings(at(1_000)));
        assert_eq!(timer.set(at(5_000)), Some(at(5_000)));
    }
}
