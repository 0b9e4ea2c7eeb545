//! The dumbbell: one link with two directions, and what is measured at it.

use std::num::NonZeroU16;

use flowloom_core::path::Link;
use flowloom_core::queue::{DropTail, Queue};
use flowloom_core::record::{DropRecord, PacketKind, PacketRecord, Recorder, Traffic};
use flowloom_core::tcp::Segment;
use flowloom_core::time::Time;
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::workload::{LinkSide, Side};

use crate::config::Config;
use crate::connection::Connection;
use crate::coverage::Fresh;
use crate::events::EventQueue;
use crate::flight::{Handle, Packets};
use crate::meters::{QueueSampler, Tap, ThroughputMeter};
use crate::summary::Direction;

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
    pub fn new(config: &'a Config, recorder: &'a mut R) -> Network<'a, R> {
        let bottleneck = config.bottleneck;
        let link = || {
            let queue = Queue::DropTail(DropTail::new(bottleneck.limit));
            Link::new(queue, bottleneck.rate, bottleneck.delay, config.window)
        };
        let tap = recorder.wants_packets().then(Tap::default);
        Network {
            config,
            recorder,
            events: EventQueue::new(),
            packets: Packets::new(),
            directions: Default::default(),
            links: [link(), link()],
            sampler: QueueSampler::new(config.queue_every),
            throughput: ThroughputMeter::new(config.throughput_every),
            tap,
            accepted: 0,
        }
    }

    /// A packet of `connection` reaches the link at `now`. If the link takes it, the packet gets the time it will pass
    /// the monitor, and the time its last bit will be at the link's far end is returned; else it is recorded as dropped
    /// and forgotten.
    ///
    /// The monitor stands at the left end of the link: packets to the right pass when their last bit leaves the
    /// serialiser, packets to the left when it has crossed the link.
    ///
    /// # Errors
    /// The recorder's.
    pub fn offer(
        &mut self,
        now: Time,
        handle: Handle,
        sender: Side,
        connection: &mut Connection,
    ) -> Result<Option<Time>, R::Error> {
        self.bring_up_to(now)?;
        let segment = self.packets.get(handle).segment;
        let from = connection.link_side(sender);
        let (bytes, kind) = (link_bytes(&segment), kind(&segment));
        let outcome = self.links[from as usize].offer(now, bytes);
        let fresh = match segment.payload_bytes {
            0 => Fresh::default(),
            length => connection.coverage_mut(sender).offer(segment.sequence, length, outcome.is_ok()),
        };
        let direction = &mut self.directions[from as usize];
        direction.offered.add(kind, bytes);
        let traffic = |fresh: u32| Traffic { packets: 1, bytes: u64::from(bytes), payload_bytes: u64::from(fresh) };
        self.throughput.offered(from, now, traffic(fresh.offered));
        let passage = match outcome {
            Ok(passage) => passage,
            Err(reason) => {
                direction.dropped.add(kind, bytes);
                self.packets.remove(handle);
                let record = DropRecord { time: now, connection: connection.id(), from, kind, bytes, reason };
                return self.recorder.dropped(record).map(|()| None);
            }
        };
        let passed = match from {
            LinkSide::Left => passage.departed,
            LinkSide::Right => passage.arrived,
        };
        self.throughput.carried(from, passed, traffic(fresh.carried));
        let packet = self.packets.get_mut(handle);
        (packet.passed, packet.order, packet.fresh) = (passed, self.accepted, fresh.carried);
        if let Some(tap) = &mut self.tap {
            let (sequence, acknowledgement) = connection.wire_numbers(sender, &segment);
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
        Ok(Some(passage.arrived))
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
            let traffic = Traffic { packets: 1, bytes: u64::from(bytes), payload_bytes: u64::from(packet.fresh) };
            self.throughput.not_carried(from, packet.passed, traffic);
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
        for (direction, link) in self.directions.iter_mut().zip(&mut self.links) {
            direction.carried = direction.offered;
            direction.carried.subtract(&direction.dropped);
            direction.carried.subtract(&direction.remaining);
            link.end_statistics(covered);
            direction.link = *link.statistics();
        }
        Ok(())
    }
}
