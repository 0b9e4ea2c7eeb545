//! Flows over one link: two endpoints each, fixed delays, losses by a model; nothing else.
//!
//! The laws of the literature speak of a sender, a receiver and a path with two numbers. This is that path, with the
//! endpoints, the link and the loss models of the simulator.

use std::collections::BTreeMap;

use flowloom_core::path::{Link, LinkEvent, Loss, LossModel, Offered, Passage};
use flowloom_core::queue::Packet;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::congestion::{Setup, WindowCause};
use flowloom_core::tcp::{Config, Endpoint, Limits, Segment};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::Ecn;
use flowloom_sim::events::EventQueue;

/// A bulk transfer over the link.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// The time at which its SYN is sent.
    pub start: Time,
    /// Its round-trip time without the link.
    pub rtt: Duration,
    /// The number of bytes that it sends.
    pub bytes: u64,
    /// The TCP of both ends.
    pub tcp: Config,
    /// The payload of a full segment, in bytes.
    pub mss: u16,
    /// The largest receive window of both ends, in bytes.
    pub window: u32,
}

impl Flow {
    /// One that never ends, from the origin on, with segments of 1,460 bytes.
    pub(crate) fn endless(rtt: Duration, tcp: Config) -> Flow {
        Flow { start: Time::ZERO, rtt, bytes: 1 << 50, tcp, mss: 1_460, window: 1 << 30 }
    }
}

/// A link, its losses, and what is noted of a run.
#[derive(Debug)]
pub(crate) struct Lab {
    /// What data crosses; acknowledgements do not. `None` takes no time and drops nothing.
    pub link: Option<Link>,
    /// Which segments with payload are lost on the way to the link.
    pub loss: LossModel,
    /// Bytes of headers in front of a payload.
    pub header_bytes: u32,
    /// The seed of the random losses.
    pub seed: u64,
    /// The time at which the run ends.
    pub until: Time,
    /// When the delivered bytes are noted; ascending.
    pub marks: Vec<Time>,
    /// Whether [`Outcome::departures`], [`Outcome::waits`] and [`Outcome::windows`] are kept.
    pub trace: bool,
}

/// What was noted of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Bytes delivered in order, per flow, at each mark.
    pub delivered: Vec<Vec<u64>>,
    /// Segments with payload: sent, lost or dropped, arrived, on the way at the end.
    pub sent: u64,
    pub lost: u64,
    pub arrived: u64,
    pub under_way: u64,
    /// The number of retransmission timeouts of all flows.
    pub timeouts: u64,
    /// When the link dropped something.
    pub drops: Vec<Time>,
    /// When data was sent on the link, and how many bytes.
    pub departures: Vec<(Time, u32)>,
    /// Congestion window of the first flow in bytes, after each of its acknowledgements.
    pub windows: Vec<(Time, u32)>,
    /// Why that window changed last, after each of the same acknowledgements.
    pub causes: Vec<WindowCause>,
    /// The slow start threshold of the first flow in bytes, after each of the same acknowledgements.
    pub thresholds: Vec<u32>,
    /// Segments that the link marked.
    pub marked: u64,
    /// When the first flow sent a segment that tells of a reduction (CWR).
    pub told: Vec<Time>,
    /// When each flow had delivered everything.
    pub finished: Vec<Option<Time>>,
    /// When data was sent on the link, and how long it had waited.
    pub waits: Vec<(Time, Duration)>,
}

impl Outcome {
    /// Bytes delivered by `flow` between mark `from` and the next.
    pub(crate) fn between(&self, flow: usize, from: usize) -> f64 {
        (self.delivered[from + 1][flow] - self.delivered[from][flow]) as f64
    }
}

#[derive(Debug)]
enum Event {
    Start(usize),
    Arrives { flow: usize, at_receiver: bool, segment: Segment },
    Wake { flow: usize, receiver: bool },
    Link,
}

struct End {
    endpoint: Endpoint,
    /// The earliest wake-up that is in the event queue.
    armed: Option<Time>,
}

struct Pair {
    flow: Flow,
    ends: [End; 2],
    loss: Loss,
}

struct Running {
    lab: Lab,
    pairs: Vec<Pair>,
    events: EventQueue<Event>,
    /// Segments in the queue of the link, by their tag, and when they arrived.
    queued: BTreeMap<u64, (Time, usize, Segment)>,
    next_tag: u64,
    link_armed: Option<Time>,
    outcome: Outcome,
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;

impl Lab {
    /// `flows` over `link`, for `seconds`.
    pub(crate) fn new(link: Option<Link>, loss: LossModel, seconds: f64) -> Lab {
        let until = Time::ZERO + Duration::from_secs_f64(seconds);
        Lab { link, loss, header_bytes: 54, seed: 1, until, marks: Vec::new(), trace: false }
    }

    /// Runs `flows` over the link and returns what was noted.
    pub(crate) fn run(self, flows: &[Flow]) -> Outcome {
        let seed = self.seed;
        let pairs = (0..).zip(flows).map(|(id, flow)| {
            let limits = Limits { mss: flow.mss, max_window: flow.window };
            let end = |endpoint: Endpoint| End { endpoint, armed: None };
            Pair {
                flow: flow.clone(),
                ends: [
                    end(Endpoint::connect(&flow.tcp, limits).with_stream(Setup { seed, stream: id }, &flow.tcp)),
                    end(Endpoint::listen(&flow.tcp, limits).with_stream(Setup { seed, stream: id }, &flow.tcp)),
                ],
                loss: Loss::new(&self.loss, Stream::new(seed, Purpose::Loss, id)),
            }
        });
        let pairs: Vec<Pair> = pairs.collect();
        let mut events = EventQueue::new();
        for (index, flow) in flows.iter().enumerate() {
            events.push(flow.start, Event::Start(index));
        }
        let outcome = Outcome { finished: vec![None; flows.len()], ..Outcome::default() };
        let mut running =
            Running { lab: self, pairs, events, queued: BTreeMap::new(), next_tag: 0, link_armed: None, outcome };
        running.play();
        running.outcome
    }
}

impl Running {
    fn play(&mut self) {
        let marks = std::mem::take(&mut self.lab.marks);
        for mark in marks {
            self.play_until(mark);
            let delivered = self.pairs.iter().map(|pair| pair.ends[RECEIVER].endpoint.bytes_received()).collect();
            self.outcome.delivered.push(delivered);
        }
        self.play_until(self.lab.until);
        self.outcome.timeouts = self.pairs.iter().map(|pair| u64::from(pair.ends[SENDER].endpoint.timeouts())).sum();
        self.outcome.under_way = self.queued.len() as u64;
        while let Some((_, event)) = self.events.pop_until(Time::MAX) {
            let is_data =
                matches!(event, Event::Arrives { at_receiver: true, segment, .. } if segment.payload_bytes > 0);
            self.outcome.under_way += u64::from(is_data);
        }
    }

    fn play_until(&mut self, until: Time) {
        while let Some((now, event)) = self.events.pop_until(until) {
            match event {
                Event::Start(flow) => {
                    let bytes = self.pairs[flow].flow.bytes;
                    self.pairs[flow].ends[SENDER].endpoint.write(bytes);
                    self.drain(now, flow, SENDER);
                }
                Event::Arrives { flow, at_receiver, segment } => self.arrive(now, flow, at_receiver, &segment),
                Event::Wake { flow, receiver } => {
                    let pair = &mut self.pairs[flow];
                    let end = &mut pair.ends[usize::from(receiver)];
                    if end.armed == Some(now) {
                        end.armed = None;
                        end.endpoint.handle_timeout(now, &pair.flow.tcp);
                        self.drain(now, flow, usize::from(receiver));
                    }
                }
                Event::Link => {
                    self.link_armed = None;
                    if let Some(link) = &mut self.lab.link {
                        link.handle_timeout(now);
                    }
                    self.poll_link();
                }
            }
        }
    }

    fn arrive(&mut self, now: Time, flow: usize, at_receiver: bool, segment: &Segment) {
        let which = usize::from(at_receiver);
        let pair = &mut self.pairs[flow];
        pair.ends[which].endpoint.handle_segment(now, segment, &pair.flow.tcp);
        if at_receiver && segment.payload_bytes > 0 {
            self.outcome.arrived += 1;
            if pair.ends[which].endpoint.bytes_received() >= pair.flow.bytes {
                self.outcome.finished[flow].get_or_insert(now);
            }
        }
        self.drain(now, flow, which);
        if self.lab.trace && !at_receiver && flow == 0 {
            let endpoint = &self.pairs[flow].ends[which].endpoint;
            self.outcome.windows.push((now, endpoint.congestion_window()));
            self.outcome.causes.push(endpoint.window_cause());
            self.outcome.thresholds.push(endpoint.snapshot().threshold);
        }
    }

    fn drain(&mut self, now: Time, flow: usize, which: usize) {
        loop {
            let pair = &mut self.pairs[flow];
            let Some(segment) = pair.ends[which].endpoint.poll_transmit(now, &pair.flow.tcp) else { break };
            if which == RECEIVER || segment.payload_bytes == 0 {
                let event = Event::Arrives { flow, at_receiver: which == SENDER, segment };
                self.events.push(now + pair.flow.rtt / 2, event);
                continue;
            }
            self.outcome.sent += 1;
            if flow == 0 && segment.flags.cwr() && !segment.flags.syn() {
                self.outcome.told.push(now);
            }
            if pair.loss.takes(&self.lab.loss) {
                self.outcome.lost += 1;
                continue;
            }
            self.send(now, flow, segment);
        }
        let end = &mut self.pairs[flow].ends[which];
        let due = end.endpoint.next_timeout();
        if let Some(due) = due
            && end.armed.is_none_or(|armed| due < armed)
        {
            end.armed = Some(due);
            self.events.push(due, Event::Wake { flow, receiver: which == RECEIVER });
        }
    }

    /// Data on its way to the receiver.
    fn send(&mut self, now: Time, flow: usize, segment: Segment) {
        let bytes = segment.payload_bytes + segment.option_bytes() + self.lab.header_bytes;
        let Some(link) = &mut self.lab.link else {
            let event = Event::Arrives { flow, at_receiver: true, segment };
            return self.events.push(now + self.pairs[flow].flow.rtt / 2, event);
        };
        let tag = self.next_tag;
        self.next_tag += 1;
        let packet = Packet { flow: flow as u64, tag, ecn: segment.ecn, ..Packet::new(bytes) };
        match link.offer(now, packet) {
            Ok(Offered::Passes(passage)) => self.carry(now, bytes, passage, flow, segment),
            Ok(Offered::Queued) => {
                self.queued.insert(tag, (now, flow, segment));
            }
            Err(_) => {
                self.outcome.lost += 1;
                self.outcome.drops.push(now);
            }
        }
        self.poll_link();
    }

    fn carry(&mut self, arrived: Time, bytes: u32, passage: Passage, flow: usize, mut segment: Segment) {
        if passage.marked {
            self.outcome.marked += 1;
            segment.ecn = Ecn::Ce;
        }
        if self.lab.trace {
            self.outcome.waits.push((passage.started, passage.started.since(arrived)));
            self.outcome.departures.push((passage.started, bytes));
        }
        let event = Event::Arrives { flow, at_receiver: true, segment };
        self.events.push(passage.arrived + self.pairs[flow].flow.rtt / 2, event);
    }

    fn poll_link(&mut self) {
        while let Some(event) = self.lab.link.as_mut().and_then(Link::poll) {
            match event {
                LinkEvent::Started { packet, passage } => {
                    if let Some((arrived, flow, segment)) = self.queued.remove(&packet.tag) {
                        self.carry(arrived, packet.bytes, passage, flow, segment);
                    }
                }
                LinkEvent::Dropped { packet, time, .. } => {
                    self.queued.remove(&packet.tag);
                    self.outcome.lost += 1;
                    self.outcome.drops.push(time);
                }
            }
        }
        let due = self.lab.link.as_ref().filter(|link| !link.decides_at_arrival()).and_then(Link::next_timeout);
        if let Some(due) = due
            && self.link_armed.is_none_or(|armed| due < armed)
        {
            self.link_armed = Some(due);
            self.events.push(due, Event::Link);
        }
    }
}
