//! The dumbbell: one link with two directions, and what is measured at it.

use std::num::NonZeroU16;

use flowloom_core::path::{FlowTable, Link, LinkEvent, Offered, Passage, Policer};
use flowloom_core::queue;
use flowloom_core::record::{DropReason, DropRecord, PacketKind, PacketRecord, Recorder, Traffic};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::Segment;
use flowloom_core::time::Time;
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::wire::Ecn;
use flowloom_core::workload::{LinkSide, Side};

use crate::config::{Config, ConfigError};
use crate::connection::Connection;
use crate::events::EventQueue;
use crate::flight::{Handle, Packets};
use crate::meters::{QueueSampler, Tap, ThroughputMeter};
use crate::summary::{Direction, PacketCounts};

/// Something that happens to a connection, or before there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The next vector of the workload comes within reach.
    Reach,
    /// The first of the vectors within reach sends its SYN.
    Start,
    /// The first packet on the way from `sender` to the link reaches it.
    Arrival {
        /// Slot of the connection.
        connection: u32,
        /// The end that sent it.
        sender: Side,
    },
    /// The first packet on the way from the link to the other end reaches it.
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
    /// The link takes the next packet from its queue.
    Departure {
        /// The side packets come from.
        from: LinkSide,
    },
    /// An end, or the program at it, may have waited long enough.
    Timer {
        /// Slot of the connection.
        connection: u32,
        /// The end.
        side: Side,
    },
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
    links: [Link; 2],
    policers: [Option<Policer>; 2],
    /// Present if there are rules.
    pub flows: Option<FlowTable>,
    /// Packets that a loss model took since [`Network::report_losses`].
    lost: Vec<DropRecord>,
    /// Where a link decides at departure: when its pending [`Event::Departure`] is, [`Time::MAX`] for none.
    departures: [Time; 2],
    /// Links may have something to say.
    polling: bool,
    /// Packets that wait where a link decides at departure.
    queued: [PacketCounts; 2],
    sampler: QueueSampler,
    throughput: ThroughputMeter,
    /// Present if the recorder wants packets.
    tap: Option<Tap>,
    accepted: u64,
}

/// Bytes of a segment on the link: payload, TCP options, 20 of TCP, 20 of IPv4 and 14 of Ethernet (methods C.6).
///
/// Options are those of [`Segment::option_bytes`]: with window scaling alone a SYN takes 62 bytes, an acknowledgement 54, a
/// full segment 1,514; with SACK and timestamps a SYN takes 74 and an acknowledgement 66.
pub fn link_bytes(segment: &Segment) -> u32 {
    segment.payload_bytes + segment.option_bytes() + 20 + 20 + LINK_HEADER_BYTES
}

/// What becomes of a packet that reaches the link.
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

impl<'a, R: Recorder> Network<'a, R> {
    /// An idle network.
    ///
    /// # Errors
    /// If a parameter of the queue is wrong.
    pub fn new(config: &'a Config, recorder: &'a mut R) -> Result<Network<'a, R>, ConfigError> {
        let bottleneck = &config.bottleneck;
        let link = |from: LinkSide| {
            let stream = Stream::new(config.seed, Purpose::Queue, from as u64);
            let queue = bottleneck.queue.build(bottleneck.rate, stream)?;
            let transmitter = bottleneck.transmitter(from);
            Ok::<_, ConfigError>(Link::through(queue, transmitter, bottleneck.delay, config.window))
        };
        let tap = recorder.wants_packets().then(Tap::default);
        Ok(Network {
            config,
            recorder,
            events: EventQueue::new(),
            packets: Packets::new(),
            directions: Default::default(),
            links: [link(LinkSide::Left)?, link(LinkSide::Right)?],
            policers: [bottleneck.policer, bottleneck.policer].map(|bucket| bucket.map(Policer::new)),
            flows: (!config.rules.is_empty()).then(FlowTable::default),
            lost: Vec::new(),
            departures: [Time::MAX; 2],
            polling: false,
            queued: Default::default(),
            sampler: QueueSampler::new(config.queue_every),
            throughput: ThroughputMeter::new(config.throughput_every),
            tap,
            accepted: 0,
        })
    }

    /// A packet of `connection` reaches the link at `now`. If the link drops it, it is recorded and forgotten.
    ///
    /// # Errors
    /// The recorder's.
    pub fn offer(
        &mut self,
        now: Time,
        handle: Handle,
        sender: Side,
        slot: u32,
        connection: &mut Connection,
    ) -> Result<Fate, R::Error> {
        self.bring_up_to(now)?;
        let segment = self.packets.get(handle).segment;
        let from = connection.link_side(sender);
        let (bytes, kind) = (link_bytes(&segment), kind(&segment));
        let packet = queue::Packet {
            bytes,
            class: class(kind),
            ecn: segment.ecn,
            flow: connection.id(),
            tag: u64::from(slot) << 32 | u64::from(handle.index()),
        };
        let conforms = self.policers[from as usize].as_mut().map_or(Ok(()), |policer| policer.admit(now, bytes));
        let outcome = conforms.and_then(|()| self.links[from as usize].offer(now, packet));
        let (mut offered, mut carried) = (0, 0);
        if segment.payload_bytes > 0 {
            let coverage = connection.coverage_mut(sender);
            if let Ok(Offered::Queued) = outcome {
                offered = coverage.queue(segment.sequence, segment.payload_bytes);
            } else {
                let fresh = coverage.offer(segment.sequence, segment.payload_bytes, outcome.is_ok());
                (offered, carried) = (fresh.offered, fresh.carried);
            }
        }
        self.directions[from as usize].offered.add(kind, bytes);
        self.throughput.offered(from, now, traffic(bytes, offered));
        match outcome {
            Ok(Offered::Passes(passage)) => {
                self.accept(handle, sender, connection, &passage, carried);
                Ok(Fate::Passes { arrived: passage.arrived })
            }
            Ok(Offered::Queued) => {
                self.queued[from as usize].add(kind, bytes);
                self.polling = true;
                Ok(Fate::Queued)
            }
            Err(reason) => self.drop(now, handle, from, connection, reason).map(|()| Fate::Dropped),
        }
    }

    /// The link has started to transmit a packet that it had queued. When the packet's last bit will be at the far end is
    /// in `passage`.
    pub fn start(&mut self, handle: Handle, sender: Side, connection: &mut Connection, passage: &Passage) {
        let segment = self.packets.get(handle).segment;
        let carried = match segment.payload_bytes {
            0 => 0,
            length => connection.coverage_mut(sender).carry(segment.sequence, length),
        };
        self.accept(handle, sender, connection, passage, carried);
    }

    /// A packet is going to pass the monitor, with `carried` payload bytes that none carried before it. It gets the time it
    /// will.
    ///
    /// The monitor stands at the left end of the link: packets to the right pass when their last bit leaves the line,
    /// packets to the left when it has crossed the link.
    fn accept(&mut self, handle: Handle, sender: Side, connection: &Connection, passage: &Passage, carried: u32) {
        let from = connection.link_side(sender);
        let passed = match from {
            LinkSide::Left => passage.departed,
            LinkSide::Right => passage.arrived,
        };
        let packet = self.packets.get_mut(handle);
        (packet.passed, packet.order, packet.fresh) = (passed, self.accepted, carried);
        if passage.marked {
            packet.segment.ecn = Ecn::Ce;
        }
        let segment = &packet.segment;
        self.throughput.carried(from, passed, traffic(link_bytes(segment), carried));
        if let Some(tap) = &mut self.tap {
            let (sequence, acknowledgement) = connection.wire_numbers(sender, segment);
            let record = PacketRecord {
                time: passed,
                connection: connection.id(),
                sender,
                from,
                sequence,
                acknowledgement,
                flags: segment.flags.0,
                window: segment.window_field(),
                payload_bytes: segment.payload_bytes,
                mss: segment.mss.map(NonZeroU16::get),
                window_scale: segment.window_scale,
            };
            tap.add(self.accepted, record);
        }
        self.accepted += 1;
    }

    /// The link dropped a packet at `time`: it is recorded and forgotten.
    ///
    /// # Errors
    /// The recorder's.
    pub fn drop(
        &mut self,
        time: Time,
        handle: Handle,
        from: LinkSide,
        connection: &Connection,
        reason: DropReason,
    ) -> Result<(), R::Error> {
        let segment = &self.packets.get(handle).segment;
        let (bytes, kind) = (link_bytes(segment), kind(segment));
        self.directions[from as usize].dropped.add(kind, bytes);
        self.packets.remove(handle);
        self.recorder.dropped(DropRecord { time, connection: connection.id(), from, kind, bytes, reason })
    }

    /// A loss model took `segment`, which was sent by `connection` at `now` and has never been on its way.
    pub fn lose(&mut self, time: Time, connection: u64, from: LinkSide, segment: &Segment) {
        let (bytes, kind) = (link_bytes(segment), kind(segment));
        self.directions[from as usize].lost.add(kind, bytes);
        self.lost.push(DropRecord { time, connection, from, kind, bytes, reason: DropReason::Loss });
    }

    /// Records what loss models took. To be called after every event.
    ///
    /// # Errors
    /// The recorder's.
    pub fn report_losses(&mut self) -> Result<(), R::Error> {
        self.lost.drain(..).try_for_each(|record| self.recorder.dropped(record))
    }

    /// The line of the link from `from` is free.
    ///
    /// # Errors
    /// The recorder's.
    pub fn depart(&mut self, now: Time, from: LinkSide) -> Result<(), R::Error> {
        self.bring_up_to(now)?;
        self.departures[from as usize] = Time::MAX;
        self.links[from as usize].handle_timeout(now);
        self.polling = true;
        Ok(())
    }

    /// What became of packets that a link had queued: the slot of the connection, the packet, and the side it came from.
    /// To be called after every event until it returns nothing.
    pub fn poll(&mut self) -> Option<(u32, Handle, LinkSide, LinkEvent)> {
        if !self.polling {
            return None;
        }
        for from in [LinkSide::Left, LinkSide::Right] {
            let link = &mut self.links[from as usize];
            if let Some(event) = link.poll() {
                let (LinkEvent::Started { packet, .. } | LinkEvent::Dropped { packet, .. }) = event;
                let handle = Handle::from_index(packet.tag as u32);
                self.queued[from as usize].remove(kind(&self.packets.get(handle).segment), packet.bytes);
                return Some(((packet.tag >> 32) as u32, handle, from, event));
            }
            if let Some(due) = link.next_timeout()
                && !link.decides_at_arrival()
                && due < self.departures[from as usize]
            {
                self.departures[from as usize] = due;
                self.events.push(due, Event::Departure { from });
            }
        }
        self.polling = false;
        None
    }

    /// Reports everything the meters know up to `now`.
    fn bring_up_to(&mut self, now: Time) -> Result<(), R::Error> {
        if self.sampler.is_due(now) {
            self.sampler.advance(now, &mut self.links, self.recorder)?;
        }
        if self.throughput.is_due(now) {
            self.throughput.advance(now, self.recorder)?;
        }
        match &mut self.tap {
            Some(tap) => tap.advance(now, self.recorder),
            None => Ok(()),
        }
    }

    /// A packet that the link accepted is still between the ends when the run is cut at `end`.
    pub fn cut(&mut self, end: Time, handle: Handle, from: LinkSide) {
        let packet = self.packets.get(handle);
        if packet.passed > end {
            let bytes = link_bytes(&packet.segment);
            self.throughput.not_carried(from, packet.passed, traffic(bytes, packet.fresh));
            self.directions[from as usize].remaining.add(kind(&packet.segment), bytes);
        }
    }

    /// Reports the rest and completes the counts; the queues' statistics cover no time after `covered`. To be called
    /// when every packet is delivered or cut.
    ///
    /// # Errors
    /// The recorder's.
    pub fn finish(&mut self, end: Time, covered: Time) -> Result<(), R::Error> {
        self.bring_up_to(end)?;
        self.throughput.finish(self.recorder)?;
        for ((direction, link), queued) in self.directions.iter_mut().zip(&mut self.links).zip(&self.queued) {
            direction.remaining.add_all(queued);
            direction.in_flight += queued.total();
            direction.carried = direction.offered;
            direction.carried.subtract(&direction.dropped);
            direction.carried.subtract(&direction.remaining);
            link.end_statistics(covered);
            direction.link = *link.statistics();
        }
        Ok(())
    }
}
