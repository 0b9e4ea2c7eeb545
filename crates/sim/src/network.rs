//! The links, and what is measured at the bottleneck.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use flowloom_core::path::{FlowTable, FlowValues, Link, LinkEvent, Offered, Passage, Policer, Sojourns};
use flowloom_core::plausibility::Signal;
use flowloom_core::queue;
use flowloom_core::record::{
    DropReason, DropRecord, PacketKind, PacketRecord, Record, Recorder, Traffic, TrafficClass, WindowRecord,
};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::Segment;
use flowloom_core::time::Time;
use flowloom_core::wire::Ecn;
use flowloom_core::workload::{ConnectionVector, LinkSide, PerSide, Side};

use crate::config::{Config, ConfigError, Grouping, LinkNumber, Monitored};
use crate::events::EventQueue;
use crate::flight::{Handle, Loss, Packet, Packets, is_datagram};
use crate::flow::{FIRST_GUEST, Flow};
use crate::meters::{Monitor, QueueSampler, Tap, ThroughputMeter};
use crate::plausibility::Drops;
use crate::progress::{LinkProgress, Links, LinksAt};
use crate::summary::{Direction, LinkCounts, PacketCounts};

/// Something that happens to a connection, or before there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The next connection sends its SYN.
    Start,
    /// The first packet on the way from `sender` to its first link reaches it.
    Arrival {
        /// Slot of the connection.
        connection: u32,
        /// The end that sent it.
        sender: Side,
    },
    /// The first packet on the way from the last link to the other end reaches it.
    Delivery {
        /// Slot of the connection.
        connection: u32,
        /// The end that sent it.
        sender: Side,
    },
    /// A packet that overtook others on the way from `sender` to the link reaches it.
    Overtaking {
        /// Slot of the connection.
        connection: u32,
        /// The end that sent it.
        sender: Side,
    },
    /// A link takes the next packet from its queue.
    Departure {
        /// Which.
        link: LinkNumber,
    },
    /// The first packet on the way from one link to the next reaches that.
    Hop {
        /// The link it has crossed.
        link: LinkNumber,
    },
    /// An end, or the program at it, may have waited long enough.
    Timer {
        /// Slot of the connection.
        connection: u32,
        /// The end.
        side: Side,
    },
}

impl Event {
    /// Slot of the connection it happens to.
    pub fn connection(&self) -> Option<u32> {
        match *self {
            Event::Arrival { connection, .. }
            | Event::Overtaking { connection, .. }
            | Event::Delivery { connection, .. }
            | Event::Timer { connection, .. } => Some(connection),
            Event::Start | Event::Departure { .. } | Event::Hop { .. } => None,
        }
    }
}

/// What connections share.
#[derive(Debug)]
pub struct Network<'a, R> {
    /// The experiment.
    pub config: &'a Config,
    /// Where results go.
    pub recorder: &'a mut R,
    /// What happens next.
    pub events: EventQueue<Event>,
    /// Packets on their way.
    pub packets: Packets,
    /// Counts by the side packets come from.
    pub directions: [Direction; 2],
    /// TCP packets that were dropped, of connections.
    pub drops: Drops,
    /// Present if there are rules.
    pub flows: Option<FlowTable>,
    /// Packets that a loss model took since [`Network::report`].
    lost: Vec<DropRecord>,
    /// Windows that changed since then.
    pub windows: Vec<WindowRecord>,
    /// By number, the two directions of the bottleneck first.
    hops: Vec<Hop>,
    /// A link that decides at departure may have something to say.
    polling: bool,
    sampler: QueueSampler,
    throughput: ThroughputMeter,
    /// How long packets wait at the bottleneck, by the side they come from.
    sojourns: [Sojourns; 2],
    /// Present if packets are recorded.
    tap: Option<Tap>,
    accepted: u64,
    /// Results are of what passes the monitor from the first to the second time.
    results: [Time; 2],
    /// At links beside the bottleneck.
    monitors: Vec<Monitor>,
}

/// A link and what is on it.
#[derive(Debug)]
struct Hop {
    link: Link,
    policer: Option<Policer>,
    /// Where the link decides at departure: when its pending [`Event::Departure`] is, [`Time::MAX`] for none.
    departure: Time,
    /// Packets that wait where the link decides at departure, by the side they come from.
    queued: [PacketCounts; 2],
    /// Those of probes among them.
    queued_probes: [u64; 2],
    /// Packets on the way to the next link: when each will be there.
    leaving: VecDeque<(Time, Leaving)>,
    /// Of links beside the bottleneck.
    counts: LinkCounts,
    /// Of a monitored link beside the bottleneck: by which monitor, and in which of its directions.
    monitor: Option<(usize, LinkSide)>,
}

/// A packet that has crossed a link on its way to the next.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// The packet.
    pub handle: Handle,
    /// Slot of its connection.
    pub connection: u32,
    /// The end that sent it.
    pub sender: Side,
}

/// What becomes of a packet that reaches a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It will be at the far end.
    Passes {
        /// With its last bit.
        arrived: Time,
    },
    /// It waits; [`Network::poll`] will tell.
    Queued,
    /// It is gone.
    Dropped,
}

/// The class of a packet in a queue that has classes: what opens and closes connections before acknowledgements before
/// data.
fn class(kind: PacketKind) -> u8 {
    match kind {
        PacketKind::Control => 0,
        PacketKind::Ack => 1,
        PacketKind::Data => 2,
    }
}

fn traffic(bytes: u32, fresh: u32) -> Traffic {
    Traffic { packets: 1, bytes: u64::from(bytes), payload_bytes: u64::from(fresh) }
}

fn kind(segment: &Segment) -> PacketKind {
    let flags = segment.flags;
    match segment.payload_bytes {
        0 if flags.syn() || flags.fin() || flags.rst() => PacketKind::Control,
        0 => PacketKind::Ack,
        _ => PacketKind::Data,
    }
}

/// What a packet of `flow` belongs to.
fn traffic_class(flow: &Flow, segment: &Segment) -> TrafficClass {
    match flow.traffic_class() {
        TrafficClass::Probe => TrafficClass::Probe,
        _ if is_datagram(segment) => TrafficClass::Datagram,
        class => class,
    }
}

/// When a packet passes a monitor at the left end of a link, where it comes from `side`.
fn at_left_end(side: LinkSide, passage: &Passage) -> Time {
    match side {
        LinkSide::Left => passage.departed,
        LinkSide::Right => passage.arrived,
    }
}

/// A packet of `sender` as captures have it, past a monitor at `time`.
fn packet_record(flow: &Flow, sender: Side, segment: &Segment, time: Time) -> PacketRecord {
    let (sequence, acknowledgement) = flow.wire_numbers(sender, segment);
    PacketRecord {
        time,
        connection: flow.id(),
        sender,
        from: flow.link_side(sender),
        sequence,
        acknowledgement,
        flags: segment.flags.0,
        window: segment.window_field(),
        payload_bytes: segment.payload_bytes,
        mss: segment.mss.map(NonZeroU16::get),
        window_scale: segment.window_scale,
        sack_permitted: segment.sack_permitted,
        timestamps: segment.timestamps.map(|stamps| (stamps.value.get(), stamps.echo)),
        sack: flow.wire_sack(sender, segment),
        ecn: segment.ecn,
        ip_version: flow.ip_version(),
    }
}

impl<'a, R: Recorder> Network<'a, R> {
    /// An idle network.
    ///
    /// # Errors
    /// If a parameter of the queue is wrong.
    pub fn new(config: &'a Config, recorder: &'a mut R) -> Result<Network<'a, R>, ConfigError> {
        let hop = |number: u16| {
            let link = config.link(LinkNumber(number));
            let transmitter = link.transmitter(LinkNumber(number).side());
            let built = match &link.cells {
                Some(cells) => Link::of_cells(cells.clone(), transmitter, link.delay, config.results()),
                None => {
                    let stream = Stream::new(config.seed, Purpose::Queue, u64::from(number));
                    Link::through(link.queue.build(link.rate, stream)?, transmitter, link.delay, config.results())
                }
            };
            Ok::<_, ConfigError>(Hop {
                link: built,
                policer: link.policer.map(Policer::new),
                departure: Time::MAX,
                queued: Default::default(),
                queued_probes: Default::default(),
                leaving: VecDeque::new(),
                counts: LinkCounts::default(),
                monitor: config.monitored.iter().enumerate().find_map(|(at, Monitored { there, back })| {
                    let sides = [(Some(*there), LinkSide::Left), (*back, LinkSide::Right)];
                    sides.into_iter().find(|(link, _)| *link == Some(LinkNumber(number))).map(|(_, side)| (at, side))
                }),
            })
        };
        let monitors = config.monitored.iter().map(|links| Monitor::new(*links, config)).collect();
        Ok(Network {
            config,
            recorder,
            events: EventQueue::made_of(config.events),
            packets: Packets::new(),
            directions: Default::default(),
            drops: Drops::default(),
            hops: (0..2 + config.links.len() as u16).map(hop).collect::<Result<_, _>>()?,
            flows: (!config.rules.is_empty()).then(FlowTable::default),
            lost: Vec::new(),
            windows: Vec::new(),
            polling: false,
            sampler: QueueSampler::new(config.queue_every),
            throughput: ThroughputMeter::new(config.throughput_every, [0, 1]),
            sojourns: [(); 2].map(|()| Sojourns::new(config.results())),
            tap: config.record_packets.then(|| Tap::new([0, 1])),
            accepted: 0,
            results: config.results(),
            monitors,
        })
    }

    /// The connection of `vector` is going to send its first packet at `now`: what rules drew for it, which is kept in the
    /// flow table, if there is one.
    ///
    /// # Errors
    /// The recorder's.
    pub fn open(&mut self, now: Time, vector: &ConnectionVector) -> Result<PerSide<FlowValues>, R::Error> {
        let values = self.config.rules.values(self.config.seed, vector);
        if let Some(flows) = &mut self.flows {
            let flow = flows.open(now, vector.id, values);
            self.recorder.record(Record::Flow { connection: vector.id, flow })?;
        }
        Ok(values)
    }

    /// A packet of `connection` reaches a link at `now`. If the link drops it, it is recorded and forgotten.
    ///
    /// # Errors
    /// The recorder's.
    pub fn offer(&mut self, now: Time, link: LinkNumber, leaving: Leaving, flow: &mut Flow) -> Result<Fate, R::Error> {
        self.bring_up_to(now)?;
        let Leaving { handle, connection: slot, sender } = leaving;
        let packet = self.packets.get_mut(handle);
        // Where it waits, this says since when.
        packet.due = now;
        // Probes are in the totals of links, and in no series of the traffic.
        let is_probe = flow.traffic_class() == TrafficClass::Probe;
        packet.is_probe = is_probe;
        let &mut Packet { segment, is_offered, is_repeat, .. } = packet;
        let bytes = packet.link_bytes();
        let (from, kind) = (flow.link_side(sender), kind(&segment));
        let packet = queue::Packet {
            bytes,
            class: class(kind),
            ecn: segment.ecn,
            flow: match self.config.link(link).per {
                Grouping::Connection => flow.id(),
                Grouping::Class => u64::from(flow.class()),
                Grouping::Circuit(mapping, paced) => flow.circuit(sender, (mapping, paced), self.config),
            },
            tag: u64::from(slot) << 32 | u64::from(handle.index()),
        };
        let hop = &mut self.hops[link.index()];
        let conforms = hop.policer.as_mut().map_or(Ok(()), |policer| policer.admit(now, bytes));
        let outcome = conforms.and_then(|()| hop.link.offer(now, packet));
        let mut carried = 0;
        if link.is_bottleneck() {
            let mut offered;
            (offered, carried) = match outcome {
                Ok(Offered::Queued) => (flow.fresh_in_queue(sender, &segment), 0),
                _ => flow.fresh_at_link(sender, &segment, outcome.is_ok()),
            };
            // Of datagrams no stream of bytes shows what a copy brings again.
            if is_datagram(&segment) {
                offered = if is_offered { 0 } else { offered };
                carried = if is_repeat { 0 } else { carried };
            }
            if let Some(twin) = self.packets.twin_mut(handle) {
                twin.is_offered = true;
            }
            self.directions[from as usize].offered.add(kind, bytes);
            if !is_probe {
                self.throughput.offered(from, now, traffic(bytes, offered));
            }
        } else {
            let hop = &mut self.hops[link.index()];
            hop.counts.offered.add(kind, bytes);
            if let Some((at, side)) = hop.monitor.filter(|_| !is_probe) {
                self.monitors[at].offered(side, now, traffic(bytes, segment.payload_bytes));
            }
        }
        match outcome {
            Ok(Offered::Passes(passage)) => {
                let passage = without_earlier_mark(passage, &segment);
                if link.is_bottleneck() {
                    self.sojourn(now, handle, flow, now, &passage);
                }
                if passage.marked {
                    self.mark(now, handle, sender, flow);
                }
                self.pass(link, handle, sender, flow, &passage, carried);
                Ok(Fate::Passes { arrived: passage.arrived })
            }
            Ok(Offered::Queued) => {
                let hop = &mut self.hops[link.index()];
                hop.queued[from as usize].add(kind, bytes);
                hop.queued_probes[from as usize] += u64::from(is_probe);
                self.polling = true;
                Ok(Fate::Queued)
            }
            Err(reason) => self.drop(now, link, handle, from, flow, reason).map(|()| Fate::Dropped),
        }
    }

    /// A link has started to transmit a packet that it had queued. When the packet's last bit will be at the far end is
    /// in `passage`.
    pub fn start(&mut self, link: LinkNumber, handle: Handle, sender: Side, flow: &mut Flow, passage: &Passage) {
        let &Packet { segment, is_repeat, .. } = self.packets.get(handle);
        let is_fresh = link.is_bottleneck() && !(is_repeat && is_datagram(&segment));
        let carried = if is_fresh { flow.fresh_behind_queue(sender, &segment) } else { 0 };
        let passage = &without_earlier_mark(*passage, &segment);
        if link.is_bottleneck() {
            self.sojourn(passage.started, handle, flow, self.packets.get(handle).due, passage);
        }
        if passage.marked {
            self.mark(passage.started, handle, sender, flow);
        }
        self.pass(link, handle, sender, flow, passage, carried);
    }

    /// The queue of the bottleneck took a packet at `accepted` and lets it go; `now` is when that is known.
    fn sojourn(&mut self, now: Time, handle: Handle, flow: &Flow, accepted: Time, passage: &Passage) {
        let packet = self.packets.get(handle);
        let times = [passage.started, passage.departed];
        let class = traffic_class(flow, &packet.segment);
        self.sojourns[packet.from as usize].started(now, class, accepted, times, passage.marked);
    }

    /// A queue marks a packet at `now`.
    fn mark(&mut self, now: Time, handle: Handle, sender: Side, flow: &mut Flow) {
        let packet = self.packets.get_mut(handle);
        packet.segment.ecn = Ecn::Ce;
        flow.note_signal(Signal::Marked, sender, &packet.segment, packet.sent, now);
    }

    /// A link lets a packet through, which carries `carried` payload bytes that none carried before it.
    fn pass(
        &mut self,
        link: LinkNumber,
        handle: Handle,
        sender: Side,
        flow: &mut Flow,
        passage: &Passage,
        carried: u32,
    ) {
        if link.is_bottleneck() {
            self.accept(handle, sender, flow, passage, carried);
        } else if let Some((at, side)) = self.hops[link.index()].monitor {
            let (monitor, packet) = (&mut self.monitors[at], self.packets.get(handle));
            let segment = &packet.segment;
            let passed = at_left_end(side, passage);
            let record = monitor.records_packets().then(|| packet_record(flow, sender, segment, passed));
            let traffic = match packet.is_probe {
                true => Traffic::default(),
                false => traffic(packet.link_bytes(), segment.payload_bytes),
            };
            monitor.accepted(side, passed, traffic, record);
        }
    }

    /// A packet is going to pass the monitor, with `carried` payload bytes that none carried before it. It gets the time it
    /// will.
    ///
    /// The monitor stands at the left end of the link: packets to the right pass when their last bit leaves the line,
    /// packets to the left when it has crossed the link.
    fn accept(&mut self, handle: Handle, sender: Side, flow: &mut Flow, passage: &Passage, carried: u32) {
        let from = flow.link_side(sender);
        let passed = at_left_end(from, passage);
        if let Some(twin) = self.packets.twin_mut(handle) {
            twin.is_repeat = true;
        }
        let packet = self.packets.get_mut(handle);
        (packet.passed, packet.order, packet.fresh) = (passed, self.accepted, carried);
        let segment = &packet.segment;
        let is_probe = packet.is_probe;
        if !is_probe {
            self.throughput.carried(from, passed, traffic(packet.link_bytes(), carried));
        }
        if carried > 0 && !is_probe && (self.results[0]..self.results[1]).contains(&passed) {
            flow.note_carried(sender, carried);
        }
        if let Some(tap) = &mut self.tap {
            tap.add(from, self.accepted, packet_record(flow, sender, segment, passed));
        }
        self.accepted += 1;
        if flow.is_observed() {
            self.packets.push_passing(flow.passing_mut(sender), handle);
        }
    }

    /// A link dropped a packet at `time`: it is recorded and forgotten.
    ///
    /// # Errors
    /// The recorder's.
    pub fn drop(
        &mut self,
        time: Time,
        link: LinkNumber,
        handle: Handle,
        from: LinkSide,
        flow: &mut Flow,
        reason: DropReason,
    ) -> Result<(), R::Error> {
        if !link.is_bottleneck() && flow.is_observed() {
            // It may have passed the monitor before.
            flow.observe(time, self);
        }
        let packet = self.packets.get(handle);
        let &Packet { segment, sent, due, is_copy, .. } = packet;
        let (bytes, kind, loss) = (packet.link_bytes(), kind(&segment), packet.loss());
        if !is_copy {
            flow.note_signal(Signal::Dropped, flow.end_on(from), &segment, sent, time);
        }
        self.count_drop(flow, from, &segment, loss, Some(link));
        if link.is_bottleneck() {
            self.directions[from as usize].dropped.add(kind, bytes);
            self.sojourns[from as usize].dropped(time, traffic_class(flow, &segment), due);
        } else {
            self.directions[from as usize].lost_elsewhere += 1;
            self.hops[link.index()].counts.dropped.add(kind, bytes);
        }
        self.packets.remove(handle);
        let dropped = DropRecord { time, connection: flow.id(), from, kind, bytes, reason, link: Some(link.0) };
        self.recorder.record(Record::Dropped { packet: &dropped })
    }

    /// A loss model took `segment` of so many bytes, which is one of `flow`, at `time`: as it was sent, or as it reached the other end.
    pub fn lose(&mut self, time: Time, flow: &Flow, from: LinkSide, (segment, loss): (&Segment, Loss), bytes: u32) {
        let kind = kind(segment);
        self.directions[from as usize].lost.add(kind, bytes);
        self.count_drop(flow, from, segment, loss, None);
        self.lost.push(DropRecord {
            time,
            connection: flow.id(),
            from,
            kind,
            bytes,
            reason: DropReason::Loss,
            link: None,
        });
    }

    /// Counts a dropped packet of `flow` if it is one of the run. Copies do not count: an end sent one packet. A datagram is lost once
    /// neither it nor its copy can arrive any more, and what is dropped of the two beside that is counted apart.
    fn count_drop(&mut self, flow: &Flow, from: LinkSide, segment: &Segment, loss: Loss, link: Option<LinkNumber>) {
        // Nobody judges the connections of probes, which lose packets as others do.
        let is_judged = is_datagram(segment) || !loss.is_copy && flow.traffic_class() != TrafficClass::Probe;
        if flow.id() < FIRST_GUEST && is_judged {
            let drops = match kind(segment) {
                _ if is_datagram(segment) && loss.is_last => &mut self.drops.datagrams,
                _ if is_datagram(segment) => &mut self.drops.copies_of_datagrams,
                PacketKind::Ack => &mut self.drops.acknowledgements,
                PacketKind::Data | PacketKind::Control => &mut self.drops.tcp,
            };
            *drops.entry((flow.class(), from, link.map(|link| link.0))).or_default() += 1;
        }
    }

    /// Records what loss models took, and windows that changed. To be called after every event.
    ///
    /// # Errors
    /// The recorder's.
    #[inline]
    pub fn report(&mut self) -> Result<(), R::Error> {
        if self.windows.is_empty() && self.lost.is_empty() {
            return Ok(());
        }
        self.report_all()
    }

    #[cold]
    fn report_all(&mut self) -> Result<(), R::Error> {
        self.windows.drain(..).try_for_each(|change| self.recorder.record(Record::Window { change: &change }))?;
        self.lost.drain(..).try_for_each(|packet| self.recorder.record(Record::Dropped { packet: &packet }))
    }

    /// A packet that has crossed `link` will be at the next one at `arrived`.
    pub fn leave(&mut self, link: LinkNumber, arrived: Time, packet: Leaving) {
        let leaving = &mut self.hops[link.index()].leaving;
        if leaving.is_empty() {
            self.events.push(arrived, Event::Hop { link });
        }
        leaving.push_back((arrived, packet));
    }

    /// The next packet that has crossed `link` and is at the next one by `now`.
    pub fn arrived(&mut self, now: Time, link: LinkNumber) -> Option<Leaving> {
        let leaving = &mut self.hops[link.index()].leaving;
        let (due, packet) = *leaving.front()?;
        if due > now {
            self.events.push(due, Event::Hop { link });
            return None;
        }
        leaving.pop_front();
        Some(packet)
    }

    /// The line of a link is free.
    ///
    /// # Errors
    /// The recorder's.
    pub fn depart(&mut self, now: Time, link: LinkNumber) -> Result<(), R::Error> {
        self.bring_up_to(now)?;
        let hop = &mut self.hops[link.index()];
        // An earlier wake-up took the place of this one, and has asked for the next.
        if hop.departure > now {
            return Ok(());
        }
        hop.departure = Time::MAX;
        hop.link.handle_timeout(now);
        self.polling = true;
        Ok(())
    }

    /// What became of packets that a link had queued: the slot of the connection, the packet, and the link.
    /// To be called after every event until it returns nothing.
    pub fn poll(&mut self) -> Option<(u32, Handle, LinkNumber, LinkEvent)> {
        if !self.polling {
            return None;
        }
        for (hop, number) in self.hops.iter_mut().zip(0..).filter(|(hop, _)| !hop.link.decides_at_arrival()) {
            let number = LinkNumber(number);
            if let Some(event) = hop.link.poll() {
                let (LinkEvent::Started { packet, .. } | LinkEvent::Dropped { packet, .. }) = event;
                let handle = Handle::from_index(packet.tag as u32);
                let waited = self.packets.get(handle);
                hop.queued[waited.from as usize].remove(kind(&waited.segment), packet.bytes);
                hop.queued_probes[waited.from as usize] -= u64::from(waited.is_probe);
                return Some(((packet.tag >> 32) as u32, handle, number, event));
            }
            if let Some(due) = hop.link.next_timeout()
                && due < hop.departure
            {
                hop.departure = due;
                self.events.push(due, Event::Departure { link: number });
            }
        }
        self.polling = false;
        None
    }

    /// Reports everything the meters know up to `now`.
    fn bring_up_to(&mut self, now: Time) -> Result<(), R::Error> {
        if self.sampler.is_due(now) {
            let [left, right] = self.hops.get_disjoint_mut([0, 1]).expect("every network has a bottleneck");
            self.sampler.advance(now, [(0, &mut left.link), (1, &mut right.link)], self.recorder)?;
        }
        if self.throughput.is_due(now) {
            self.throughput.advance(now, self.recorder)?;
        }
        for monitor in &mut self.monitors {
            if monitor.sampler.is_due(now) {
                let Monitored { there, back } = monitor.links;
                if let Some(back) = back {
                    let pair = self.hops.get_disjoint_mut([there.index(), back.index()]);
                    let [one, other] = pair.expect("links are monitored once");
                    let links = [(there.0, &mut one.link), (back.0, &mut other.link)];
                    monitor.sampler.advance(now, links, self.recorder)?;
                } else {
                    let link = &mut self.hops[there.index()].link;
                    monitor.sampler.advance(now, [(there.0, link)], self.recorder)?;
                }
            }
            monitor.advance(now, self.recorder)?;
        }
        match &mut self.tap {
            Some(tap) => tap.advance(now, self.recorder),
            None => Ok(()),
        }
    }

    /// A packet is still between the ends, and in no queue, when the run is cut at `end`; payload bytes that were counted as carried
    /// within the results, and have not passed by then.
    pub fn cut(&mut self, end: Time, handle: Handle) -> u32 {
        let packet = self.packets.get(handle);
        let mut waiting = 0;
        let direction = &mut self.directions[packet.from as usize];
        direction.in_flight += 1;
        if packet.passed > end {
            let bytes = packet.link_bytes();
            if !packet.is_probe {
                self.throughput.not_carried(packet.from, packet.passed, traffic(bytes, packet.fresh));
            }
            direction.remaining.add(kind(&packet.segment), bytes);
            direction.remaining_probes += u64::from(packet.is_probe);
            if !packet.is_probe && (self.results[0]..self.results[1]).contains(&packet.passed) {
                waiting = packet.fresh;
            }
        }
        self.packets.remove(handle);
        waiting
    }

    /// What the links beside the bottleneck did.
    pub fn other_links(&self) -> Vec<LinkCounts> {
        let others = self.hops[2..].iter();
        others.map(|hop| LinkCounts { link: *hop.link.statistics(), ..hop.counts.clone() }).collect()
    }

    /// Reports the rest and completes the counts; the queues' statistics cover no time after `covered`. To be called
    /// when every packet is delivered or cut.
    ///
    /// # Errors
    /// The recorder's.
    pub fn finish(&mut self, end: Time, covered: Time) -> Result<(), R::Error> {
        self.bring_up_to(end)?;
        for number in 0..self.hops.len() {
            for (_, Leaving { handle, .. }) in std::mem::take(&mut self.hops[number].leaving) {
                self.cut(end, handle);
            }
        }
        self.throughput.finish(self.recorder)?;
        for (sojourns, from) in self.sojourns.iter_mut().zip([LinkSide::Left, LinkSide::Right]) {
            sojourns.finish(covered);
            let mut bins = sojourns.records(from as u16, from);
            bins.try_for_each(|bin| self.recorder.record(Record::Sojourn { bin: &bin }))?;
        }
        self.monitors.iter_mut().try_for_each(|monitor| monitor.finish(self.recorder))?;
        for (hop, number) in self.hops.iter_mut().zip(0..) {
            for (direction, (queued, probes)) in
                self.directions.iter_mut().zip(hop.queued.iter().zip(hop.queued_probes))
            {
                direction.in_flight += queued.total();
                if LinkNumber(number).is_bottleneck() {
                    direction.remaining.add_all(queued);
                    direction.remaining_probes += probes;
                }
            }
            hop.link.end_statistics(covered);
        }
        for (direction, hop) in self.directions.iter_mut().zip(&self.hops) {
            direction.carried = direction.offered;
            direction.carried.subtract(&direction.dropped);
            direction.carried.subtract(&direction.remaining);
            direction.link = *hop.link.statistics();
        }
        Ok(())
    }
}

impl<R> Links for Network<'_, R> {
    fn links(&self, now: Time) -> LinksAt {
        let others = self.hops.iter().map(|hop| LinkProgress {
            offered: hop.counts.offered,
            dropped: hop.counts.dropped,
            lost: PacketCounts::default(),
            waiting: hop.link.backlog_at(now),
            waited: None,
        });
        let mut links: Vec<LinkProgress> = others.collect();
        for (link, (direction, sojourns)) in links.iter_mut().zip(self.directions.iter().zip(&self.sojourns)) {
            (link.offered, link.dropped, link.lost) = (direction.offered, direction.dropped, direction.lost);
            link.waited = Some(sojourns.waited());
        }
        LinksAt { time: now, links }
    }
}

/// How a packet passed a link. Its mark is this queue's only if `segment`, as it came to it, had none.
fn without_earlier_mark(passage: Passage, segment: &Segment) -> Passage {
    Passage { marked: passage.marked && !segment.ecn.is_marked(), ..passage }
}
