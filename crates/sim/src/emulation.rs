//! The network of an experiment without its ends: packets come from outside, in a driver's own time, and go out when they are due.

use std::collections::VecDeque;
use std::convert::Infallible;

use flowloom_core::path::FlowValues;
use flowloom_core::record::Recorder;
use flowloom_core::tcp::Segment;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, InitiatorRule, LinkSide, PerSide, Protocol, Side};

use crate::classed::Classed;
use crate::config::{Config, ConfigError};
use crate::flight::Handle;
use crate::flow::{FIRST_GUEST, Flow, Identifiers};
use crate::network::{Event, Network};
use crate::plausibility::{Drops, PacketsMet};
use crate::progress::{Links, LinksAt};
use crate::summary::{Direction, LinkCounts, RunError};

/// Why an emulation cannot go on.
pub type EmulationError<R> = RunError<Infallible, R>;

/// The links, queues, delays, losses and meters of an experiment, between ends that are somebody else's.
///
/// Time is the driver's: it never decreases from call to call (what comes with an earlier time is taken as of the latest), and
/// whatever is due by the time of a call happens first, as of when it was due. So it does not matter how late or in what steps the
/// driver comes, as long as packets come with the times at which they were sent.
///
/// A flow is [opened](Self::open) before its first packet and [closed](Self::close) when none of its packets is on its way. After
/// [`Self::send`] and [`Self::advance`] there may be something to [poll](Self::poll_delivery). A [`Handle`] that was polled is free,
/// and the next packet that is sent may have it. So are handles of packets that links drop, of which the driver is not told: what it
/// keeps by handle is overwritten when the handle comes again.
#[derive(Debug)]
pub struct Emulation<'a, R> {
    network: Network<'a, R>,
    flows: Vec<Option<Open>>,
    vacant: Vec<u32>,
    /// Packets that have reached the other end and wait to be polled.
    delivered: VecDeque<(Handle, Slot, Side)>,
    bias: Duration,
    guests: u64,
    now: Time,
}

/// A flow between two ends.
#[derive(Debug)]
struct Open {
    flow: Flow,
    rtt: Duration,
    initiator_rule: InitiatorRule,
}

/// A flow's place among those that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u32);

/// What became of a packet at the end that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The packet; `None` if a loss model took it.
    pub packet: Option<Handle>,
    /// The copy of a packet that was doubled.
    pub copy: Option<Handle>,
}

/// A packet has reached the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// As it was sent.
    pub handle: Handle,
    /// Its flow.
    pub slot: Slot,
    /// The end that sent it.
    pub sender: Side,
    /// The side of the bottleneck it comes from.
    pub from: LinkSide,
    /// When it reached the other end.
    pub due: Time,
    /// What it carries; a queue may have marked it.
    pub segment: Segment,
}

/// What a flow was.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// What it is called in results.
    pub id: u64,
    /// The round-trip time of its path without any queueing or transmission.
    pub rtt: Duration,
    /// What the monitor made of it; `None` if nothing passed, or nothing was to be made of it.
    pub monitor: Option<ConnectionVector>,
    /// What its packets met.
    pub met: PacketsMet,
}

/// What links and paths did.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Emulated {
    /// The bottleneck from left to right and from right to left.
    pub directions: [Direction; 2],
    /// The other links, in the order of [`Config::links`].
    pub links: Vec<LinkCounts>,
    /// Packets of connections and flows that were dropped.
    pub drops: Drops,
}

impl Closed {
    /// What a connection is of which no packet ever came.
    pub fn without_packets(classed: &Classed, config: &Config) -> Closed {
        let values = config.rules.values(config.seed, &classed.vector);
        let (flow, rtt) = Flow::of_connection(classed, config, &values);
        Closed { id: flow.id(), rtt, monitor: None, met: PacketsMet::default() }
    }
}

impl<'a, R: Recorder> Emulation<'a, R> {
    /// An idle network. What it measures goes to `recorder`, but for connections and sources, which are the driver's.
    ///
    /// # Errors
    /// If the experiment has impossible numbers.
    pub fn new(config: &'a Config, recorder: &'a mut R) -> Result<Emulation<'a, R>, ConfigError> {
        config.validate()?;
        Ok(Emulation {
            network: Network::new(config, recorder)?,
            flows: Vec::new(),
            vacant: Vec::new(),
            delivered: VecDeque::new(),
            bias: Duration::ZERO,
            guests: 0,
            now: Time::ZERO,
        })
    }

    /// The same whose paths take less by `bias` each way, which the driver adds by itself: off the last part of the way, or off the
    /// first where the last is too short, and never more than there is.
    #[must_use]
    pub fn ahead_by(mut self, bias: Duration) -> Emulation<'a, R> {
        self.bias = bias;
        self
    }

    /// The connection or the source of datagrams that is going to send its first packet at `now`: its path, with what rules draw
    /// for it. The monitor makes vectors of the workload's connections.
    ///
    /// # Errors
    /// There is no such class; or the recorder's.
    pub fn open(&mut self, now: Time, classed: &Classed) -> Result<Slot, EmulationError<R::Error>> {
        let now = self.happen_by(now).map_err(RunError::Recorder)?;
        if usize::from(classed.class) >= self.network.config.classes.len() {
            return Err(ConfigError::Way { class: classed.class.into() }.into());
        }
        let values = self.network.open(now, &classed.vector).map_err(RunError::Recorder)?;
        let (flow, rtt) = Flow::of_connection(classed, self.network.config, &values);
        let flow = flow.without_refusals();
        let flow = if classed.vector.protocol == Protocol::Tcp { flow } else { flow.unobserved() };
        Ok(self.take_in(flow, rtt, classed.vector.initiator_rule))
    }

    /// A flow that no vector describes: its packets cross the links of the first class, without delays of its own, and are counted,
    /// sampled and dropped as all others. No vector is made of it.
    pub fn open_guest(&mut self, initiator_side: LinkSide) -> Slot {
        let near = self.next_guest(initiator_side);
        let values = PerSide { initiator: FlowValues::UNTOUCHED, acceptor: FlowValues::UNTOUCHED };
        self.take_in_guest(&near, &values)
    }

    /// The same with what rules draw for it that match flows of which nothing but the side is known; its first packet comes at `now`.
    ///
    /// # Errors
    /// The recorder's.
    pub fn open_stranger(&mut self, now: Time, initiator_side: LinkSide) -> Result<Slot, EmulationError<R::Error>> {
        let now = self.happen_by(now).map_err(RunError::Recorder)?;
        let near = self.next_guest(initiator_side);
        let values = self.network.open(now, &near).map_err(RunError::Recorder)?;
        Ok(self.take_in_guest(&near, &values))
    }

    /// A vector that says nothing but that its ends are near.
    fn next_guest(&mut self, initiator_side: LinkSide) -> ConnectionVector {
        let id = FIRST_GUEST + self.guests;
        self.guests += 1;
        ConnectionVector { id, initiator_side, stated_rtt: Some(Duration::ZERO), ..ConnectionVector::default() }
    }

    fn take_in_guest(&mut self, near: &ConnectionVector, values: &PerSide<FlowValues>) -> Slot {
        let config = self.network.config;
        let delays = config.path_delays(near, 0, Duration::ZERO).with(values);
        let identifiers = Identifiers { id: near.id, initiator_side: near.initiator_side, class: 0 };
        let flow = Flow::new(identifiers, config, &delays, values).unobserved();
        self.take_in(flow, delays.rtt(), InitiatorRule::default())
    }

    fn take_in(&mut self, flow: Flow, rtt: Duration, initiator_rule: InitiatorRule) -> Slot {
        let open = Open { flow: flow.ahead_by(self.bias), rtt, initiator_rule };
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.flows.push(None);
            u32::try_from(self.flows.len() - 1).expect("fewer than 2^32 flows at once")
        });
        self.flows[slot as usize] = Some(open);
        Slot(slot)
    }

    /// `side` counts its bytes from this number in headers, by which packets are recorded and vectors made. To be called before its
    /// first packet.
    pub fn set_initial_sequence(&mut self, slot: Slot, side: Side, number: u32) {
        if let Some(open) = &mut self.flows[slot.0 as usize] {
            open.flow.set_initial_sequence(side, number);
        }
    }

    /// `sender` sends a packet at `now`, whose header takes `extra` bytes more than [`link_bytes`](crate::link_bytes) says.
    ///
    /// # Errors
    /// The recorder's.
    pub fn send(
        &mut self,
        now: Time,
        slot: Slot,
        sender: Side,
        segment: Segment,
        extra: i16,
    ) -> Result<Sent, EmulationError<R::Error>> {
        let now = self.happen_by(now).map_err(RunError::Recorder)?;
        let Some(open) = &mut self.flows[slot.0 as usize] else { return Ok(Sent { packet: None, copy: None }) };
        let [packet, copy] = open.flow.send_sized(slot.0, sender, &segment, extra, now, &mut self.network);
        self.network.report().map_err(RunError::Recorder)?;
        Ok(Sent { packet, copy })
    }

    /// Lets everything happen that is due by `now`.
    ///
    /// # Errors
    /// The recorder's.
    pub fn advance(&mut self, now: Time) -> Result<(), EmulationError<R::Error>> {
        self.happen_by(now).map(drop).map_err(RunError::Recorder)
    }

    /// The next packet that has reached the other end, in the order in which they did.
    pub fn poll_delivery(&mut self) -> Option<Delivery> {
        let (handle, slot, sender) = self.delivered.pop_front()?;
        let packet = self.network.packets.get(handle);
        let delivery = Delivery { handle, slot, sender, from: packet.from, due: packet.due, segment: packet.segment };
        self.network.packets.remove(handle);
        Some(delivery)
    }

    /// A time before which nothing happens by itself, `None` for never: see [`EventQueue::not_before`](crate::events::EventQueue).
    pub fn next_timeout(&self) -> Option<Time> {
        if self.delivered.is_empty() { self.network.events.not_before() } else { Some(self.now) }
    }

    /// What a connection is of which no packet ever came.
    pub fn without_packets(&self, classed: &Classed) -> Closed {
        Closed::without_packets(classed, self.network.config)
    }

    /// Where results go.
    pub fn recorder(&mut self) -> &mut R {
        self.network.recorder
    }

    /// What it was made with.
    pub fn config(&self) -> &Config {
        self.network.config
    }

    /// The latest time it was told.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What the links counted until now.
    pub fn links(&self) -> LinksAt {
        self.network.links(self.now)
    }

    /// Whether packets of a flow are on their way, so that it cannot be closed.
    pub fn is_busy(&self, slot: Slot) -> bool {
        self.flows[slot.0 as usize].as_ref().is_some_and(|open| !open.flow.is_quiet())
    }

    /// Ends a flow: what it was. `None` if its packets are on their way, and nothing has happened, or if it is not open.
    pub fn close(&mut self, slot: Slot) -> Option<Closed> {
        if self.is_busy(slot) { None } else { self.cut(slot) }
    }

    /// Ends a flow as of the time that was told last, whatever is on its way, which is taken out and counts as in flight. After a
    /// flow was cut that was [busy](Self::is_busy) nothing else may be called than this and [`Self::finish`].
    pub fn cut(&mut self, slot: Slot) -> Option<Closed> {
        let Open { mut flow, rtt, initiator_rule } = self.flows[slot.0 as usize].take()?;
        flow.cut(self.now, &mut self.network);
        if let Some(flows) = &mut self.network.flows {
            flows.remove(flow.id());
        }
        self.vacant.push(slot.0);
        let met = PacketsMet { tallies: flow.tallies(), losses: flow.take_losses() };
        Some(Closed { id: flow.id(), rtt, monitor: flow.at_monitor(initiator_rule), met })
    }

    /// Cuts what is still open as of the time that was told last, reports the rest and adds up. The statistics of the queues cover no
    /// time after `covered`.
    ///
    /// # Errors
    /// The recorder's; or packets do not add up.
    pub fn finish(mut self, covered: Time) -> Result<Emulated, EmulationError<R::Error>> {
        for slot in 0..self.flows.len() as u32 {
            self.cut(Slot(slot));
        }
        self.network.finish(self.now, covered).map_err(RunError::Recorder)?;
        let links = self.network.other_links();
        Direction::balance(&self.network.directions)?;
        Ok(Emulated { directions: self.network.directions, links, drops: self.network.drops })
    }

    /// Serves all events up to `now`; the latest time.
    fn happen_by(&mut self, now: Time) -> Result<Time, R::Error> {
        self.now = self.now.max(now);
        while let Some((time, event)) = self.network.events.pop_until(self.now) {
            self.serve(time, event)?;
        }
        Ok(self.now)
    }

    fn serve(&mut self, now: Time, event: Event) -> Result<(), R::Error> {
        let (network, flows) = (&mut self.network, &mut self.flows);
        match event {
            Event::Arrival { connection: slot, sender } => {
                flow_of(flows, slot).map_or(Ok(()), |flow| flow.arrive(slot, sender, now, network))?;
            }
            Event::Overtaking { connection: slot, sender } => {
                flow_of(flows, slot).map_or(Ok(()), |flow| flow.arrive_early(slot, sender, now, network))?;
            }
            Event::Delivery { connection: slot, sender } => {
                let packet = flow_of(flows, slot).and_then(|flow| {
                    let handle = flow.take(slot, sender, now, network)?;
                    flow.count_arrival(sender, network.packets.get(handle), now);
                    Some(handle)
                });
                self.delivered.extend(packet.map(|handle| (handle, Slot(slot), sender)));
                // It may have been lost behind the link.
                network.report()?;
            }
            Event::Departure { link } => network.depart(now, link)?,
            Event::Hop { link } => {
                while let Some(packet) = network.arrived(now, link) {
                    flow_of(flows, packet.connection).map_or(Ok(()), |flow| flow.hop(link, packet, now, network))?;
                }
            }
            // Of ends, which are elsewhere.
            Event::Start | Event::Timer { .. } => {}
        }
        while let Some((slot, handle, link, event)) = network.poll() {
            flow_of(flows, slot).map_or(Ok(()), |flow| flow.leave_queue(slot, handle, link, &event, network))?;
        }
        Ok(())
    }
}

/// The flow in a slot, which is open as long as packets of it are on their way.
fn flow_of(flows: &mut [Option<Open>], slot: u32) -> Option<&mut Flow> {
    flows[slot as usize].as_mut().map(|open| &mut open.flow)
}

#[cfg(test)]
pub(crate) mod tests;
