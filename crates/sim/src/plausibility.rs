//! What of a run is plausible: flows beside their response functions, and the shares of packets that were lost.
//!
//! Both drivers use it: what packets met is counted by the [`Flow`](crate::flow::Flow) that carries them, in virtual and in real time.

use std::collections::BTreeMap;

use flowloom_core::plausibility::{Conditions, Excuse, Finding, LossEvents, Response, Tally};
use flowloom_core::tcp::Limits;
use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, LinkSide, PerSide, Side};

use crate::config::Config;
use crate::limits::limits;

/// Flows listed at most.
const MOST_LISTED: usize = 20;

/// What a run came to, as far as its plausibility goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plausibility {
    /// Flows beside their response functions.
    pub flows: FlowFindings,
    /// TCP packets of each class, in the order of [`Config::classes`].
    pub classes: Vec<ClassPackets>,
}

/// Flows beside their response functions. A flow is one direction of a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowFindings {
    /// Flows that were judged.
    pub judged: u64,
    /// Of them, flows whose mean window is outside.
    pub outside: u64,
    /// Flows that lost packets in too few loss events to be judged.
    pub few_loss_events: u64,
    /// Flows with enough loss events whose congestion control has no response function.
    pub no_response_function: u64,
    /// Flows with enough loss events that their application limits.
    pub application_limited: u64,
    /// Flows with enough loss events that their receiver limits.
    pub receiver_limited: u64,
    /// The judged flows farthest from their response function, the farthest first; 20 at most.
    pub farthest: Vec<JudgedFlow>,
}

/// A flow that was judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedFlow {
    /// Its connection.
    pub id: u64,
    /// Its class.
    pub class: u16,
    /// The side that it comes from.
    pub from: LinkSide,
    /// Its mean window and what was expected.
    pub finding: Finding,
}

/// TCP packets of the connections of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassPackets {
    /// Packets that arrived, by the side they come from.
    pub arrived: [u64; 2],
    /// Packets that were sent and are sent again if they are lost, by the side they come from: with payload, SYN or FIN.
    pub data: [u64; 2],
    /// Copies that paths made of packets, both directions.
    pub copies: u64,
    /// Packets that are no bare acknowledgements and were dropped on the way, by the side they come from and the link; without a link where a
    /// loss model took them. Copies do not count.
    pub dropped: BTreeMap<(LinkSide, Option<u16>), u64>,
    /// Of the packets that were dropped, those of first flights: of each flow as many as were dropped in its first loss event, at most its
    /// initial window. By the side they come from.
    pub first_flights: [u64; 2],
    /// Bare acknowledgements that were dropped on the way, by the side they come from. Copies do not count.
    pub dropped_acknowledgements: [u64; 2],
    /// How long packets waited on their way.
    pub queueing: Queueing,
    /// What the flows that lost packets kept on the way, by the side they come from.
    pub lossy: [InFlight; 2],
}

/// Segments that flows kept on the way while they were sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// Round-trip times in nanoseconds, one for each data packet, added up.
    round_trips: u128,
    /// How long the flows were sending, in nanoseconds.
    sending: u128,
    packets: u64,
    loss_events: u64,
    /// On the way at the beginning of each loss event, added up.
    flights: u64,
}

impl InFlight {
    /// A flow sent `packets` with payload within `time`, during which its application had something to send, and met losses.
    fn add(&mut self, packets: u64, losses: &LossEvents, rtt: Duration, time: Duration) {
        self.packets += packets;
        self.loss_events += losses.count();
        self.flights = self.flights.saturating_add(losses.flights());
        self.round_trips += u128::from(packets) * u128::from(rtt.as_nanos());
        // What fits into one flight takes a round trip.
        self.sending += u128::from(time.max(rtt).as_nanos());
    }

    /// The mean window of the flows in segments, each weighted by its time (Little's law); `None` without any.
    pub fn mean_window(&self) -> Option<f64> {
        (self.sending > 0).then(|| self.round_trips as f64 / self.sending as f64)
    }

    /// Segments that were on the way when a loss event began, in the mean; `None` without any.
    pub fn mean_flight(&self) -> Option<f64> {
        (self.loss_events > 0).then(|| self.flights as f64 / self.loss_events as f64)
    }

    /// Loss events of the flows per packet; `None` without any.
    pub fn loss_event_rate(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.loss_events as f64 / self.packets as f64)
    }
}

/// Time beside that of the path which packets take for a round trip: in queues, and while the line is busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queueing {
    /// Nanoseconds, once for each data packet that arrived, added up.
    waited: u128,
    /// The same of whole round trips.
    round_trips: u128,
    data: u64,
}

impl Queueing {
    /// Data packets of a flow arrived; its path takes `path` for a round trip without any waiting.
    fn add(&mut self, tallies: &PerSide<Tally>, path: Duration) {
        let round_trip = tallies.initiator.mean_transit() + tallies.acceptor.mean_transit();
        let data = tallies.initiator.data + tallies.acceptor.data;
        self.waited += u128::from(round_trip.saturating_sub(path).as_nanos()) * u128::from(data);
        self.round_trips += u128::from(round_trip.as_nanos()) * u128::from(data);
        self.data += data;
    }

    /// The data packets that arrived.
    pub fn arrived(&self) -> u64 {
        self.data
    }

    /// The mean over data packets.
    pub fn mean(&self) -> Duration {
        self.of_each(self.waited)
    }

    /// The mean round-trip time over data packets.
    pub fn mean_round_trip(&self) -> Duration {
        self.of_each(self.round_trips)
    }

    fn of_each(&self, sum: u128) -> Duration {
        Duration::from_nanos((sum / u128::from(self.data.max(1))) as u64)
    }
}

impl ClassPackets {
    /// Packets that were sent and are sent again if they are lost, both directions.
    pub fn data_packets(&self) -> u64 {
        self.data.iter().sum()
    }

    /// Packets from a side that were dropped, without bare acknowledgements.
    pub fn dropped_from(&self, side: LinkSide) -> u64 {
        self.dropped.iter().filter(|((from, _), _)| *from == side).map(|(_, dropped)| dropped).sum()
    }

    /// The link where most packets from a side were dropped. `None`: a loss model dropped most, or none was dropped.
    pub fn most_dropped_at(&self, side: LinkSide) -> Option<u16> {
        let places = self.dropped.iter().filter(|((from, _), _)| *from == side);
        places.max_by_key(|(_, dropped)| **dropped).and_then(|((_, link), _)| *link)
    }
}

/// Packets that were dropped, by class, the side they come from, and link; without a link where a loss model took them.
pub type ClassDrops = BTreeMap<(u16, LinkSide, Option<u16>), u64>;

/// Packets of connections and flows of the run that were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Those of TCP without bare acknowledgements; no copies.
    pub tcp: ClassDrops,
    /// Bare acknowledgements of TCP; no copies.
    pub acknowledgements: ClassDrops,
    /// Datagrams of which neither the packet that was sent nor a copy of it can arrive any more.
    pub datagrams: ClassDrops,
    /// Packets of datagrams that a copy of them outlived, or that were a copy.
    pub copies_of_datagrams: ClassDrops,
}

/// What the packets of a connection met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketsMet {
    /// The packets of each end.
    pub tallies: PerSide<Tally>,
    /// The loss events of the packets of each end, where there are any.
    pub losses: PerSide<Option<Box<LossEvents>>>,
}

/// What an end of a connection tells of its sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Segments sent again.
    pub retransmissions: u64,
    /// The retransmission timeout, not backed off.
    pub timeout: Duration,
    /// The time between its first and its last byte.
    pub active: Duration,
    /// Of it, the time in which the application had nothing to send, or its host kept it from sending.
    pub paused: Duration,
    /// Of it, the time in which the receive window kept it from sending, where it is known.
    pub receiver_limited: Duration,
}

/// Which connection, and what limits its ends.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// The number of the connection.
    pub id: u64,
    /// Its class.
    pub class: u16,
    /// The side that its initiator is on.
    pub initiator_side: LinkSide,
    /// The segments and windows of its ends.
    pub limits: PerSide<Limits>,
    /// The initial windows of its ends, in bytes, where the vector tells.
    pub first_flights: PerSide<Option<u64>>,
}

impl Judged {
    /// A connection of a class.
    pub fn new(vector: &ConnectionVector, class: u16) -> Judged {
        let limits = |side| limits(vector, side);
        Judged {
            id: vector.id,
            class,
            initiator_side: vector.initiator_side,
            limits: PerSide { initiator: limits(Side::Initiator), acceptor: limits(Side::Acceptor) },
            first_flights: vector.ends.map(|end| end.first_flight),
        }
    }
}

impl Plausibility {
    /// Nothing known yet of a run.
    pub fn new(config: &Config) -> Plausibility {
        Plausibility { flows: FlowFindings::default(), classes: vec![ClassPackets::default(); config.classes.len()] }
    }

    /// A connection of a class whose initiator is on `side` ended, or the run did: its packets. Its path takes `path` for a round trip
    /// without any waiting.
    #[inline]
    pub fn add_packets(&mut self, class: u16, side: LinkSide, tallies: &PerSide<Tally>, path: Duration) {
        let class = &mut self.classes[usize::from(class)];
        for (from, tally) in [(side, &tallies.initiator), (side.other(), &tallies.acceptor)] {
            class.arrived[from as usize] += tally.arrived;
            class.data[from as usize] += tally.sent_data;
            class.copies += tally.copies;
        }
        class.queueing.add(tallies, path);
    }

    /// The same: what its packets met on the way from the end `side`, where some were dropped or marked, and what that end tells.
    #[cold]
    pub fn add_losses(&mut self, of: &Judged, side: Side, met: &PacketsMet, sending: Sending, config: &Config) {
        let Some(losses) = met.losses[side].as_deref() else { return };
        let from = if side == Side::Initiator { of.initiator_side } else { of.initiator_side.other() };
        if losses.dropped() > 0 {
            let rtt = met.tallies.initiator.mean_transit() + met.tallies.acceptor.mean_transit();
            let packets = met.tallies[side].data + losses.dropped();
            let time = sending.active.saturating_sub(sending.paused);
            let class = &mut self.classes[usize::from(of.class)];
            class.lossy[from as usize].add(packets, losses, rtt, time);
            class.first_flights[from as usize] += losses.dropped_of_first(initial_window(of, side, config));
        }
        let response = config.classes[usize::from(of.class)].response();
        self.flows.add(of, from, response, conditions(losses, sending, side, &of.limits));
    }

    /// TCP packets were dropped, over the whole run.
    pub fn add_drops(&mut self, drops: &Drops) {
        for (&(class, from, link), dropped) in &drops.tcp {
            self.classes[usize::from(class)].dropped.insert((from, link), *dropped);
        }
        for (&(class, from, _), dropped) in &drops.acknowledgements {
            self.classes[usize::from(class)].dropped_acknowledgements[from as usize] += dropped;
        }
    }
}

/// Segments that the end `side` sends at most before it hears of a loss, if it may send no more than its initial window.
fn initial_window(of: &Judged, side: Side, config: &Config) -> u64 {
    let tcp = config.tcp(of.class);
    let segment = of.limits.initiator.mss.min(of.limits.acceptor.mss).max(1);
    let of_class = u64::from(tcp.initial_window.bytes(segment.into()));
    let own = of.first_flights[side].filter(|_| tcp.own_initial_windows).unwrap_or(0);
    own.max(of_class).div_ceil(segment.into())
}

/// What the flow of an end depends on; `None` if it has too few loss events.
fn conditions(losses: &LossEvents, sending: Sending, side: Side, limits: &PerSide<Limits>) -> Option<Conditions> {
    let Sending { retransmissions, timeout, active, paused, receiver_limited } = sending;
    let share = |of: Duration| of.as_secs_f64() / active.as_secs_f64().max(1e-9);
    let segment = limits.initiator.mss.min(limits.acceptor.mss).max(1);
    Some(Conditions {
        stretch: losses.stretch()?,
        needless_retransmissions: retransmissions.saturating_sub(losses.dropped()),
        timeout,
        receive_window: f64::from(limits[side.other()].max_window) / f64::from(segment),
        receiver_limited: share(receiver_limited),
        idle: share(paused),
    })
}

impl FlowFindings {
    fn add(&mut self, of: &Judged, from: LinkSide, response: Option<Response>, conditions: Option<Conditions>) {
        let Some(conditions) = conditions else {
            self.few_loss_events += 1;
            return;
        };
        match Finding::of(response, &conditions) {
            Err(Excuse::NoResponseFunction) => self.no_response_function += 1,
            Err(Excuse::Application) => self.application_limited += 1,
            Err(Excuse::Receiver) => self.receiver_limited += 1,
            Ok(finding) => {
                self.judged += 1;
                self.outside += u64::from(finding.is_outside());
                self.list(JudgedFlow { id: of.id, class: of.class, from, finding });
            }
        }
    }

    /// Lists a flow if it is among the farthest; of equally far ones those that ended first stay.
    fn list(&mut self, flow: JudgedFlow) {
        let distance = flow.finding.distance();
        let place = self.farthest.partition_point(|listed| listed.finding.distance() >= distance);
        if place < MOST_LISTED {
            self.farthest.insert(place, flow);
            self.farthest.truncate(MOST_LISTED);
        }
    }
}
