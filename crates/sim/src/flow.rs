//! The packets of two ends: their way through the network, and what the monitor makes of them.

use std::mem::offset_of;
use std::num::NonZeroU16;

use flowloom_core::cell::Mapping;
use flowloom_core::extract::{Boundaries, Identity, Missing, Observer, Seen};
use flowloom_core::path::cell_keys::Paced;
use flowloom_core::path::{
    self, CellParams, DelayBox, ExtraDelays, FlowValues, Impaired, LinkEvent, LossBehind, PathDelays,
};
use flowloom_core::plausibility::{LossEvents, Signal, Tally};
use flowloom_core::play::{AtEnd, Losses, LostAt, Syns};
use flowloom_core::record::{Recorder, TrafficClass};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::Segment;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{LINK_HEADER_BYTES, Rate};
use flowloom_core::wire::Timestamps;
use flowloom_core::workload::{ConnectionVector, InitiatorRule, IpVersion, LinkSide, Pattern, PerSide, Side};

use crate::classed::{Classed, Origin};
use crate::config::{Config, LinkNumber};
use crate::coverage::Coverage;
use crate::flight::{Fifo, Handle, Loss, Packet, Packets, is_datagram, sized};
use crate::limits::ip_version;
use crate::network::{Event, Fate, Leaving, Network};
use crate::prefetch::prefetch;

/// What two ends have between them. What the ends are is no business of this.
///
/// With tens of thousands of them open each event finds its flow in memory, not in a cache: what every event needs
/// stands together at the front, and the rest is ordered by how many events need it.
#[derive(Debug)]
#[repr(C)]
pub struct Flow {
    routes: PerSide<Route>,
    id: u64,
    /// Packets anywhere between the ends.
    in_flight: u32,
    sequence_numbers: PerSide<u32>,
    class: u16,
    initiator_side: LinkSide,
    /// Whether the monitor makes a vector of it.
    observed: bool,
    ip_version: IpVersion,
    traffic_class: TrafficClass,
    /// The acceptor's port; 0 where it is not known.
    service: u16,
    paths: PerSide<Path>,
    /// What the monitor saw, once it saw something.
    seen: Option<Box<Monitored>>,
    /// Where its ADUs begin, until the monitor saw something.
    boundaries: Option<Box<Boundaries>>,
    /// The loss events of the packets of each end, once there are any.
    losses: PerSide<Option<Box<LossEvents>>>,
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
    /// Before that, delays as the original had them. Apart, since few paths have them.
    extra: Option<Box<ExtraDelays>>,
    /// The other end's part of the path.
    from_link: DelayBox,
    coverage: Coverage,
    tally: Tally,
    /// Apart, since few paths are.
    rough: Option<Box<Rough>>,
}

/// A part of the path where packets may be lost, doubled or overtaken.
#[derive(Debug, Default)]
struct Rough {
    /// Before the link.
    impaired: Option<Box<Impaired>>,
    /// Behind it.
    behind: Option<LossBehind>,
    /// SYNs that are sent in vain.
    syns: Option<Syns>,
    /// Data that the original lost.
    losses: Option<Losses>,
    /// Packets on the way to the link that overtook others, by when they reach it: each has an event of its own.
    overtaking: Vec<Handle>,
}

/// The first number that guests are called by in results: connections and sources have lower ones.
pub const FIRST_GUEST: u64 = 1 << 62;

/// Which flow it is.
#[derive(Clone, Copy, Debug)]
pub struct Identifiers {
    /// What it is called in results, and what its random numbers are drawn by.
    pub id: u64,
    /// The side of the bottleneck that its initiator is on.
    pub initiator_side: LinkSide,
    /// Its class.
    pub class: u16,
}

/// A connection at the monitor.
#[derive(Debug)]
struct Monitored {
    observer: Observer,
    /// When its first packet passed.
    since: Time,
}

/// The bytes of its stream that an end has sent with a segment, a FIN counted as one; 0 for a segment without either.
fn bytes_sent(segment: &Segment) -> u64 {
    let taken = u64::from(segment.payload_bytes) + u64::from(segment.flags.fin());
    // The first byte is 1, behind the SYN.
    if taken == 0 { 0 } else { (segment.sequence + taken).saturating_sub(1) }
}

impl Flow {
    /// So many bytes of a flow say where the rest of what an event needs is.
    pub const FIRST: usize = offset_of!(Flow, paths);

    /// A flow of the connection `id` whose initiator is on `initiator_side`, of a class, before its first packet. The end `side`
    /// is `delays.leg(side)` from its first link, and has what rules drew for its packets.
    pub fn new(
        Identifiers { id, initiator_side, class }: Identifiers,
        config: &Config,
        delays: &PathDelays,
        values: &PerSide<FlowValues>,
    ) -> Flow {
        let path = |side: Side| Path {
            to_link: DelayBox::new(delays.leg(side).to_link, values[side].rate),
            extra: None,
            from_link: DelayBox::new(delays.leg(side.other()).from_link, Rate::UNLIMITED),
            coverage: Coverage::default(),
            tally: Tally::default(),
            rough: {
                let from = if side == Side::Initiator { initiator_side } else { initiator_side.other() };
                let impairments = &config.path[from as usize];
                let impaired = Impaired::new(impairments, values[side].loss, config.seed, id, side);
                let behind = LossBehind::new(values[side].loss_behind, config.seed, id, side);
                let is_rough = impaired.is_some() || behind.is_some();
                is_rough.then(|| Box::new(Rough { impaired, behind, ..Rough::default() }))
            },
        };
        let route = || Route {
            to_link: Fifo::default(),
            from_link: Fifo::default(),
            passing: Fifo::default(),
            timer: Timer::default(),
            deadline: Time::MAX,
        };
        let mut numbers = Stream::new(config.seed, Purpose::SequenceNumbers, id);
        Flow {
            routes: PerSide { initiator: route(), acceptor: route() },
            id,
            in_flight: 0,
            sequence_numbers: PerSide { initiator: numbers.bits32(), acceptor: numbers.bits32() },
            class,
            initiator_side,
            observed: config.monitor,
            ip_version: IpVersion::V4,
            traffic_class: TrafficClass::Other,
            service: 0,
            paths: PerSide { initiator: path(Side::Initiator), acceptor: path(Side::Acceptor) },
            seen: None,
            boundaries: None,
            losses: PerSide::default(),
        }
    }

    /// The flow of a connection before its SYN, and the round-trip time that its path has without any waiting. The monitor makes
    /// vectors of the workload's.
    pub fn of_connection(classed: &Classed, config: &Config, values: &PerSide<FlowValues>) -> (Flow, Duration) {
        let Classed { vector, class, origin } = classed;
        let delays = config.path_delays(vector, *class, config.unknown_rtt).with(values);
        let identifiers = Identifiers { id: vector.id, initiator_side: vector.initiator_side, class: *class };
        let mut flow = Flow::new(identifiers, config, &delays, values);
        flow.ip_version = ip_version(vector, config.class(*class));
        flow.service = vector.ends.acceptor.port.unwrap_or(0);
        flow.traffic_class = match (origin, vector.pattern) {
            (Origin::Source { .. }, _) => TrafficClass::Source,
            (Origin::Probe, _) => TrafficClass::Probe,
            (Origin::Workload { .. }, Pattern::Sequential) => TrafficClass::Sequential,
            (Origin::Workload { .. }, Pattern::Concurrent) => TrafficClass::Concurrent,
        };
        flow.boundaries = (config.monitor && config.knows_adus).then(|| Box::new(Boundaries::of(vector)));
        for side in Side::BOTH {
            let (syns, losses) = (Syns::of(vector, side, &config.replay), Losses::of(vector, side, &config.replay));
            if syns.is_some() || losses.is_some() {
                let rough = flow.paths[side].rough.get_or_insert_default();
                (rough.syns, rough.losses) = (syns, losses);
            }
            let extra = ExtraDelays::new(config.replay.transits.delays(vector, side));
            flow.paths[side].extra = extra.map(Box::new);
        }
        let flow = match origin {
            Origin::Workload { .. } => flow,
            Origin::Source { .. } | Origin::Probe => flow.unobserved(),
        };
        (flow, delays.rtt())
    }

    /// The same whose packets take less by `bias` each way: what a driver adds by itself. It comes off the last part of the way,
    /// and what that is too short for off the first; no part takes less than nothing.
    #[must_use]
    pub fn ahead_by(mut self, bias: Duration) -> Flow {
        if !bias.is_zero() {
            for Path { to_link, from_link, .. } in [&mut self.paths.initiator, &mut self.paths.acceptor] {
                let rest = bias.saturating_sub(from_link.delay());
                from_link.shorten(bias);
                to_link.shorten(rest);
            }
        }
        self
    }

    /// The same between ends that cannot refuse connections: refused SYNs are lost.
    #[must_use]
    pub fn without_refusals(mut self) -> Flow {
        for Path { rough, .. } in [&mut self.paths.initiator, &mut self.paths.acceptor] {
            if let Some(rough) = rough {
                rough.syns = rough.syns.take().map(Syns::without_refusals);
            }
        }
        self
    }

    /// The same; the monitor takes no note of it.
    #[must_use]
    pub fn unobserved(mut self) -> Flow {
        self.observed = false;
        self.boundaries = None;
        self
    }

    /// The same, whose packets belong to this.
    #[must_use]
    pub fn counted_as(mut self, class: TrafficClass) -> Flow {
        self.traffic_class = class;
        self
    }

    /// Whether the monitor makes a vector of it.
    pub fn is_observed(&self) -> bool {
        self.observed
    }

    /// What it is called in results, and what its random numbers are drawn by.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its class.
    pub fn class(&self) -> u16 {
        self.class
    }

    /// The side of the link `side` is on.
    pub fn link_side(&self, side: Side) -> LinkSide {
        match side {
            Side::Initiator => self.initiator_side,
            Side::Acceptor => self.initiator_side.other(),
        }
    }

    /// The end that is on `side` of the link.
    pub fn end_on(&self, side: LinkSide) -> Side {
        if side == self.initiator_side { Side::Initiator } else { Side::Acceptor }
    }

    /// A packet of `sender` reached the bottleneck, which took it or not: payload bytes that never reached it before, and that
    /// never passed it before. Datagrams are never sent again.
    ///
    /// A datagram is fresh here each time: the network leaves out what a copy brings again.
    pub fn fresh_at_link(&mut self, sender: Side, segment: &Segment, taken: bool) -> (u32, u32) {
        match segment.payload_bytes {
            0 => (0, 0),
            bytes if is_datagram(segment) => (bytes, if taken { bytes } else { 0 }),
            bytes => {
                let fresh = self.paths[sender].coverage.offer(segment.sequence, bytes, taken);
                (fresh.offered, fresh.carried)
            }
        }
    }

    /// The same of a packet that waits there: payload bytes that never reached it before.
    pub fn fresh_in_queue(&mut self, sender: Side, segment: &Segment) -> u32 {
        match segment.payload_bytes {
            bytes if bytes == 0 || is_datagram(segment) => bytes,
            bytes => self.paths[sender].coverage.queue(segment.sequence, bytes),
        }
    }

    /// A packet that waited goes on: payload bytes that never passed before.
    pub fn fresh_behind_queue(&mut self, sender: Side, segment: &Segment) -> u32 {
        match segment.payload_bytes {
            bytes if bytes == 0 || is_datagram(segment) => bytes,
            bytes => self.paths[sender].coverage.carry(segment.sequence, bytes),
        }
    }

    /// Packets of `sender` that pass the monitor, which has not taken note of them.
    pub fn passing_mut(&mut self, sender: Side) -> &mut Fifo {
        &mut self.routes[sender].passing
    }

    /// What its packets belong to; those of UDP belong to [`TrafficClass::Datagram`] where they are no probes.
    pub fn traffic_class(&self) -> TrafficClass {
        self.traffic_class
    }

    /// The virtual circuit of packets of `sender`.
    pub fn circuit(&self, sender: Side, (mapping, paced): (Mapping, Paced), config: &Config) -> u64 {
        let number = match mapping {
            Mapping::PerConversation => self.id,
            Mapping::PerType => u64::from(self.class) << 16 | u64::from(self.service),
            Mapping::PerDestination => self.way(sender, config).last().map_or(0, |link| link.index() as u64),
        };
        let is_target = config.class(self.class).is_target;
        let is_paced = match paced {
            Paced::Both => true,
            Paced::Target => is_target,
            Paced::Background => !is_target,
        };
        number | if is_paced { CellParams::PACED } else { 0 }
    }

    /// The version of IP of its packets.
    pub fn ip_version(&self) -> IpVersion {
        self.ip_version
    }

    /// The links that packets of `sender` cross.
    fn way<'a>(&self, sender: Side, config: &'a Config) -> &'a [LinkNumber] {
        config.classes[usize::from(self.class)].way.from(self.link_side(sender))
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

    /// The end `side` counts its bytes from this number in headers, not from one that was drawn.
    pub fn set_initial_sequence(&mut self, side: Side, number: u32) {
        self.sequence_numbers[side] = number;
    }

    /// `side` sends a segment at `now`.
    #[inline]
    pub fn send<R: Recorder>(
        &mut self,
        slot: u32,
        side: Side,
        segment: &Segment,
        now: Time,
        network: &mut Network<'_, R>,
    ) {
        let extra = self.ip_version.header_bytes() - IpVersion::V4.header_bytes();
        self.send_sized(slot, side, segment, extra as i16, now, network);
    }

    /// The same of a segment whose header takes `extra` bytes more than `link_bytes` says: the packet, unless it is lost on the
    /// way to the first link, and its copy, if it is doubled there.
    #[inline]
    pub fn send_sized<R: Recorder>(
        &mut self,
        slot: u32,
        side: Side,
        segment: &Segment,
        extra: i16,
        now: Time,
        network: &mut Network<'_, R>,
    ) -> [Option<Handle>; 2] {
        #[cfg(test)]
        crate::emulation::tests::note_sent(now, self.id, side, segment);
        let from = self.link_side(side);
        network.directions[from as usize].sent += 1;
        let is_sent_again = segment.payload_bytes > 0 || segment.flags.syn() || segment.flags.fin();
        self.paths[side].tally.send(is_sent_again);
        if let Some(flows) = &mut network.flows
            && segment.flags.fin()
        {
            flows.finish(self.id, side);
        }
        let Path { to_link, extra: delays, rough, tally, .. } = &mut self.paths[side];
        let bytes = sized(segment, extra);
        let entered = delays.as_mut().map_or(now, |delays| delays.pass(now, bytes_sent(segment)));
        let at_end = rough.as_mut().map_or(Some(AtEnd::Taken), |rough| rough.at_end(segment, entered));
        let Some(at_end) = at_end else {
            network.lose(now, self, from, (segment, Loss::OF_PACKET), bytes);
            self.note_signal(Signal::Dropped, side, segment, now, now);
            return [None, None];
        };
        let (due, copy) = match rough.as_mut().and_then(|rough| rough.impaired.as_mut()) {
            None => (to_link.pass(entered, bytes), None),
            Some(impaired) => match impaired.pass(&network.config.path[from as usize], to_link, entered, bytes) {
                path::Fate::Passed { due, copy } => (due, copy),
                path::Fate::Lost => {
                    network.lose(now, self, from, (segment, Loss::OF_PACKET), bytes);
                    self.note_signal(Signal::Dropped, side, segment, now, now);
                    return [None, None];
                }
            },
        };
        network.directions[from as usize].duplicated += u64::from(copy.is_some());
        tally.copies += u64::from(copy.is_some());
        let mut handles = [None, None];
        for (place, (due, is_copy)) in handles.iter_mut().zip([(Some(due), false), (copy, true)]) {
            let Some(due) = due else { break };
            let handle = network.packets.insert(segment, bytes, [now, due], from);
            let packet = network.packets.get_mut(handle);
            (packet.at_end, packet.is_copy) = (at_end, is_copy);
            *place = Some(handle);
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
        if let [Some(packet), Some(copy)] = handles {
            network.packets.pair(packet, copy);
        }
        handles
    }

    /// The first packet of `sender` on its way from its last link reaches the other end: what it carries.
    #[inline]
    pub fn receive<R: Recorder>(
        &mut self,
        slot: u32,
        sender: Side,
        now: Time,
        network: &mut Network<'_, R>,
    ) -> Option<Segment> {
        let handle = self.take(slot, sender, now, network)?;
        let packet = network.packets.get(handle);
        let (segment, at_end) = (packet.segment, packet.at_end);
        self.count_arrival(sender, packet, now);
        network.packets.remove(handle);
        if at_end == AtEnd::Refused {
            self.send(slot, sender.other(), &segment.refusal(), now, network);
            return None;
        }
        Some(segment)
    }

    /// The same: the packet itself, which is the caller's to [count](Self::count_arrival) and to remove.
    #[inline]
    pub fn take<R: Recorder>(
        &mut self,
        slot: u32,
        sender: Side,
        now: Time,
        network: &mut Network<'_, R>,
    ) -> Option<Handle> {
        if self.observed {
            self.observe(now, network);
        }
        let handle = network.packets.pop(&mut self.routes[sender].from_link)?;
        self.in_flight -= 1;
        if let Some(next) = self.routes[sender].from_link.head() {
            network.events.push(network.packets.get(next).due, Event::Delivery { connection: slot, sender });
        }
        let from = self.link_side(sender);
        let behind = self.paths[sender].rough.as_mut().and_then(|rough| rough.behind.as_mut());
        let is_taken = behind.is_some_and(LossBehind::takes);
        if is_taken || network.packets.get(handle).at_end == AtEnd::Lost {
            // It was on its way until here, and the monitor has seen it.
            let packet = network.packets.get(handle);
            let (&Packet { segment, sent, is_copy, .. }, bytes, loss) = (packet, packet.link_bytes(), packet.loss());
            network.lose(now, self, from, (&segment, loss), bytes);
            if !is_copy {
                self.note_signal(Signal::Dropped, sender, &segment, sent, now);
            }
            network.packets.remove(handle);
            return None;
        }
        network.directions[from as usize].delivered += 1;
        if let Some(twin) = network.packets.twin_mut(handle) {
            twin.is_spare = true;
        }
        #[cfg(test)]
        crate::emulation::tests::note_received(now, self.id, sender, &network.packets.get(handle).segment);
        Some(handle)
    }

    /// A packet of `sender` has reached the other end at `now`.
    #[inline]
    pub fn count_arrival(&mut self, sender: Side, packet: &Packet, now: Time) {
        let is_data = packet.segment.payload_bytes > 0 && !packet.is_copy;
        self.paths[sender].tally.count(is_data, now.since(packet.sent));
    }

    /// Makes sure that `side` is woken at `deadline`, and not only then.
    pub fn set_timer<R: Recorder>(
        &mut self,
        slot: u32,
        side: Side,
        deadline: Option<Time>,
        now: Time,
        network: &mut Network<'_, R>,
    ) {
        self.routes[side].deadline = deadline.unwrap_or(Time::MAX);
        self.wait_on(slot, side, now, network);
    }

    /// Makes sure that `side` is woken at the deadline it has.
    pub fn wait_on<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        let Route { deadline, timer, .. } = &mut self.routes[side];
        if *deadline < Time::MAX
            && let Some(at) = timer.set((*deadline).max(now))
        {
            network.events.push(at, Event::Timer { connection: slot, side });
        }
    }

    /// Asks for what is needed when the first packet of `sender` reaches its first link, beside the first bytes.
    #[inline]
    pub fn prefetch_arrival(&self, sender: Side, packets: &Packets) {
        let route = &self.routes[sender];
        [route.to_link.head(), route.from_link.tail()].into_iter().flatten().for_each(|one| prefetch(packets.get(one)));
        prefetch(&self.paths[sender]);
    }

    /// Asks for what is needed when the first packet of `sender` reaches the other end, beside the first bytes.
    #[inline]
    pub fn prefetch_delivery(&self, sender: Side, packets: &Packets) {
        let passing = Side::BOTH.map(|side| self.routes[side].passing.head());
        let first = self.routes[sender].from_link.head();
        passing.into_iter().chain([first]).flatten().for_each(|one| prefetch(packets.get(one)));
        prefetch(&self.paths);
        prefetch(&self.seen);
    }

    /// Asks for what is needed when `side` is woken and sends something, beside the first bytes.
    #[inline]
    pub fn prefetch_sending(&self, side: Side) {
        prefetch(&self.paths[side]);
    }

    /// Asks for what the monitor knows.
    #[inline]
    pub fn prefetch_seen(&self) {
        if let Some(seen) = &self.seen {
            prefetch(&**seen);
        }
    }

    /// Whether `side` is to be woken at `now`, or was before.
    pub fn is_due(&self, side: Side, now: Time) -> bool {
        self.routes[side].deadline <= now
    }

    /// A wake-up of `side` comes at `now`; whether it is one that is wanted.
    pub fn rings(&mut self, side: Side, now: Time) -> bool {
        self.routes[side].timer.rings(now)
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
        if way.len() == 1 {
            return None;
        }
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
                let sender = self.end_on(from);
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
        packet.due = self.paths[sender].from_link.pass(arrived, packet.link_bytes());
        let due = packet.due;
        if network.packets.push(&mut route.from_link, handle) {
            network.events.push(due, Event::Delivery { connection: slot, sender });
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
                ip_bytes: packet.link_bytes() - LINK_HEADER_BYTES,
                ip_id: None,
                mss: segment.mss.map(NonZeroU16::get),
                window_scale: segment.window_scale,
                timestamps: segment
                    .timestamps
                    .map(|stamps| Timestamps { value: stamps.value.get(), echo: stamps.echo }),
                sack: segment.sack_permitted || !segment.sack.is_empty(),
                sack_blocks: self.wire_sack(side, segment),
                options_cut: false,
            };
            let since = packet.passed;
            let quiet = network.config.quiet;
            let boundaries = &mut self.boundaries;
            let seen_so_far = self.seen.get_or_insert_with(|| {
                let observer = Observer::new(since, quiet).knowing(boundaries.take());
                Box::new(Monitored { observer, since })
            });
            seen_so_far.observer.handle_segment(packet.passed, side, &seen);
        }
    }

    /// A packet of `sender` that was sent at `sent` is dropped or marked at `now`.
    #[cold]
    pub fn note_signal(&mut self, signal: Signal, sender: Side, segment: &Segment, sent: Time, now: Time) {
        if segment.payload_bytes > 0 && !is_datagram(segment) {
            let tallies = [sender, sender.other()].map(|side| &self.paths[side].tally);
            self.losses[sender].get_or_insert_default().note(signal, sent, now, tallies);
        }
        // The other end does not hear what it would have told.
        let [there, back] = [sender.other(), sender].map(|side| &self.paths[side].tally);
        if let Some(losses) = self.losses[sender.other()].as_mut().filter(|_| signal == Signal::Dropped) {
            losses.note_unheard(now, there, back);
        }
    }

    /// A packet of `sender` passes the monitor while results are measured, with so many payload bytes that none carried before it.
    pub fn note_carried(&mut self, sender: Side, fresh: u32) {
        self.paths[sender].tally.carried_bytes += u64::from(fresh);
    }

    /// Packets of each end that arrived.
    pub fn tallies(&self) -> PerSide<Tally> {
        PerSide { initiator: self.paths.initiator.tally, acceptor: self.paths.acceptor.tally }
    }

    /// The loss events of the packets of each end. They are not known any more afterwards.
    pub fn take_losses(&mut self) -> PerSide<Option<Box<LossEvents>>> {
        std::mem::take(&mut self.losses)
    }

    /// Whether none of its packets is on its way.
    pub fn is_quiet(&self) -> bool {
        self.in_flight == 0
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
        if self.observed {
            self.observe(end, network);
        }
        for side in Side::BOTH {
            let Path { rough, tally, .. } = &mut self.paths[side];
            let Route { to_link, from_link, .. } = &mut self.routes[side];
            let early = rough.as_mut().map(|rough| std::mem::take(&mut rough.overtaking));
            let mut waiting = 0;
            early.into_iter().flatten().for_each(|handle| waiting += u64::from(network.cut(end, handle)));
            for fifo in [to_link, from_link] {
                while let Some(handle) = network.packets.pop(fifo) {
                    waiting += u64::from(network.cut(end, handle));
                }
            }
            // They were counted when the link accepted their packets.
            tally.carried_bytes = tally.carried_bytes.saturating_sub(waiting);
        }
    }

    /// The vector of what the monitor saw, of a connection whose initiator is known by this rule.
    pub fn at_monitor(&mut self, initiator_rule: InitiatorRule) -> Option<ConnectionVector> {
        let Monitored { mut observer, since } = *self.seen.take()?;
        let identity = Identity {
            id: self.id,
            start: since,
            initiator_side: self.initiator_side,
            initiator_rule,
            near: None,
            ip_version: Some(self.ip_version),
        };
        Some(observer.finish(identity, Missing::default()).1)
    }
}

impl Rough {
    /// What becomes of a segment at the other end because of what became of the original's; `None` if it is lost before.
    fn at_end(&mut self, segment: &Segment, now: Time) -> Option<AtEnd> {
        if segment.flags.syn() {
            return Some(self.syns.as_mut().map_or(AtEnd::Taken, |syns| syns.at_end(now)));
        }
        match self.losses.as_mut().and_then(|losses| losses.sent(segment.sequence, segment.payload_bytes)) {
            None => Some(AtEnd::Taken),
            Some(LostAt::Behind) => Some(AtEnd::Lost),
            Some(LostAt::Before) => None,
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
