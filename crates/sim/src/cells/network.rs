//! The machine: packets, cells and timers of a virtual-circuit internetwork in the order of their times.

use std::collections::VecDeque;

use flowloom_core::cell::{
    Cell, Cells, Circuit, Data, FlowControl, Joined, Message, Reassembly, Receiver, Refused, Sender, Source,
    TransportConfig, Turns,
};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Serialiser;

use super::config::{Config, ConfigError, Host, Node, Role};
use super::plan::Plan;
use super::results::{HostResults, LinkResults, Results, RouterResults, Values};
use crate::events::EventQueue;

/// What happens to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It waits at a node.
    Queued,
    /// It begins to leave a node.
    Sent,
    /// It arrives at a node.
    Arrived,
    /// It is lost at a node.
    Lost(Refused),
}

/// Something that happened to a cell.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When.
    pub at: Time,
    /// What.
    pub happening: Happening,
    /// Place of the node.
    pub node: usize,
    /// The cell. Numbers of packets are used again.
    pub cell: Cell,
    /// Its conversation: place of the route.
    pub route: usize,
    /// Which way: with data of the source, or back.
    pub back: bool,
    /// Number of the packet, if it has data.
    pub data: Option<u64>,
    /// Number of the packet that is expected, if it acknowledges one.
    pub ack: Option<u64>,
}

/// Told what goes on.
pub trait Observer {
    /// Something happened to a cell.
    #[inline]
    fn cell(&mut self, _event: Event) {}
    /// Whether [`Self::cell`] is to be called.
    #[inline]
    fn watches_cells(&self) -> bool {
        false
    }
    /// Queues of a router (by place of the node), in bytes: whole cells' worth.
    fn queue(&mut self, _at: Time, _router: usize, _bytes: u64) {}
    /// What the transport of a source (by place of the route) knows: its window in packets, the last round-trip time, its estimate, and
    /// the bytes that have come to the other end, from the beginning.
    fn source(&mut self, _at: Time, _route: usize, _window: u32, _last: Duration, _smoothed: Duration, _bytes: u64) {}
    /// What it came to so far, as often as asked for.
    fn checkpoint(&mut self, _results: &Results) {}
    /// Called at each look at the hosts; whether to go on.
    fn go_on(&mut self, _at: Time) -> bool {
        true
    }
}

impl Observer for () {}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
struct Packet {
    data: Option<Data>,
    /// Where data go the other way they take it along.
    ack: Option<u64>,
    arrived: Time,
    conversation: u64,
    route: u32,
    /// Bytes of data.
    bytes: u32,
    cells: u32,
    /// Cells that neither came to the end nor were lost.
    left: u32,
    back: bool,
    /// A cell of it was lost.
    is_dead: bool,
}

/// What waits at a port.
enum Waiting {
    /// A host's: its ends are asked for packets, in turn.
    Ends { ends: Vec<usize>, turn: usize },
    /// Packets for a host.
    Packets(VecDeque<u32>),
    /// Cells; and, where circuits have windows, packets by their direction of a conversation.
    Cells { cells: Cells, packets: Turns<u32>, packets_waiting: u32, wakes: Option<Time> },
}

struct Port {
    line: Serialiser,
    delay: Duration,
    from: usize,
    is_busy: bool,
    waiting: Waiting,
    sending: Duration,
    bytes: u64,
}

/// One end of a conversation.
struct End<'a> {
    sender: Sender,
    receiver: Receiver,
    acks: VecDeque<u64>,
    /// Where its conversations come from; `None` at a sink.
    source: Option<Source<'a>>,
    transport: TransportConfig,
    conversation: u64,
    port: usize,
    wakes: Option<Time>,
    round_trips: Values,
    last_round_trip: Duration,
    packets_sent: u64,
    /// Of conversations that are over.
    over: Repairs,
    /// Of all before the time that is measured.
    before: Repairs,
    /// What came from the other end.
    packets_in: u64,
    bytes_in: u64,
    bytes_in_all: u64,
}

impl End<'_> {
    /// The next conversation has a connection of its own.
    fn restart(&mut self, conversation: u64) {
        self.over = self.repairs();
        self.sender = Sender::new(self.transport);
        self.receiver = Receiver::new(self.transport);
        self.acks.clear();
        self.conversation = conversation;
    }

    /// Of all conversations so far.
    fn repairs(&self) -> Repairs {
        Repairs {
            retransmissions: self.over.retransmissions + self.sender.retransmissions(),
            timeouts: self.over.timeouts + self.sender.timeouts(),
        }
    }
}

/// What a transport did about late acknowledgements.
#[derive(Clone, Copy, Default)]
struct Repairs {
    retransmissions: u64,
    timeouts: u64,
}

struct Vc {
    circuit: Circuit,
    reassembly: Reassembly,
    /// Cells of it that wait at its input.
    queued: u32,
    wakes: Option<Time>,
}

#[derive(Clone, Copy)]
enum Due {
    /// A packet is at the other end of a port.
    Packet {
        port: u32,
        packet: u32,
        frees: bool,
    },
    /// A cell is at the other end of hop `hop` of its circuit.
    Cell {
        cell: Cell,
        hop: u8,
        frees: bool,
    },
    /// A port has sent what it was sending.
    Free {
        port: u32,
    },
    /// A port held cells back until now.
    Held {
        port: u32,
    },
    /// An end's timer.
    End {
        end: u32,
    },
    /// A circuit's.
    Circuit {
        circuit: u32,
    },
    Credit {
        circuit: u32,
        cells: u32,
    },
    Router {
        node: u32,
    },
    Hosts,
    Measure,
    Checkpoint,
}

#[derive(Default)]
struct RouterMeter {
    queue: Values,
    waiting: Values,
    delay: Values,
    counts: RouterResults,
}

struct Network<'a, O> {
    config: &'a Config,
    plan: Plan,
    observer: &'a mut O,
    now: Time,
    due: EventQueue<Due>,
    ports: Vec<Port>,
    /// Two for each route: source and sink.
    ends: Vec<End<'a>>,
    circuits: Vec<Vc>,
    packets: Vec<Packet>,
    vacant: Vec<u32>,
    routers: Vec<RouterMeter>,
    measuring: Time,
    cells: u64,
    cells_arrived: u64,
    cells_lost: u64,
    events: u64,
}

/// Runs an internetwork to its end.
///
/// # Errors
/// What is wrong with it.
pub fn run<O: Observer>(config: &Config, observer: &mut O) -> Result<Results, ConfigError> {
    config.check()?;
    let mut network = Network::new(config, observer);
    network.start();
    let regenerated = network.go();
    Ok(network.results(regenerated))
}

impl<'a, O: Observer> Network<'a, O> {
    fn new(config: &'a Config, observer: &'a mut O) -> Network<'a, O> {
        let plan = Plan::new(config);
        let ports = config.links.iter().flat_map(|link| {
            [(0, 1), (1, 0)].map(|(from, to)| {
                let from = link.ends[from];
                let waiting = match (&config.nodes[from], &config.nodes[link.ends[to]]) {
                    (Node::Host(_), _) => Waiting::Ends { ends: Vec::new(), turn: 0 },
                    (_, Node::Host(_)) => Waiting::Packets(VecDeque::new()),
                    (Node::Router(router), _) => Waiting::Cells {
                        cells: Cells::new(router.cell_order, router.room, router.discard),
                        packets: Turns::new(router.packet_order),
                        packets_waiting: 0,
                        wakes: None,
                    },
                    (Node::Switch(switch), _) => Waiting::Cells {
                        cells: Cells::new(switch.cell_order, switch.room, switch.discard),
                        packets: Turns::new(switch.cell_order),
                        packets_waiting: 0,
                        wakes: None,
                    },
                };
                Port {
                    line: Serialiser::new(link.rate),
                    delay: link.delay,
                    from,
                    is_busy: false,
                    waiting,
                    sending: Duration::ZERO,
                    bytes: 0,
                }
            })
        });
        let mut network = Network {
            ports: ports.collect(),
            ends: Vec::with_capacity(2 * config.routes.len()),
            circuits: Vec::with_capacity(plan.circuits.len()),
            plan,
            config,
            observer,
            now: Time::ZERO,
            due: EventQueue::new(),
            packets: Vec::new(),
            vacant: Vec::new(),
            routers: Vec::new(),
            measuring: Time::ZERO + config.warm_up,
            cells: 0,
            cells_arrived: 0,
            cells_lost: 0,
            events: 0,
        };
        network.routers.resize_with(config.nodes.len(), RouterMeter::default);
        network.make_circuits();
        network.make_ends();
        network
    }

    fn make_circuits(&mut self) {
        for (number, path) in self.plan.circuits.iter().enumerate() {
            let circuit = Circuit::new(path.lifetime, path.window);
            let Node::Router(router) = &self.config.nodes[path.nodes[0]] else { unreachable!("checked") };
            let Waiting::Cells { cells, .. } = &mut self.ports[path.ports[0]].waiting else { unreachable!("checked") };
            if let Some(rate) = router.peak_rate {
                let cell = self.config.cutting.on_line(self.config.cutting.payload());
                cells.pace(number as u32, Serialiser::new(rate).occupy(cell));
            }
            if !circuit.is_open() {
                cells.stop(number as u32, true);
            }
            self.circuits.push(Vc { circuit, reassembly: Reassembly::default(), queued: 0, wakes: None });
        }
    }

    fn make_ends(&mut self) {
        let config = self.config;
        for (number, route) in config.routes.iter().enumerate() {
            let [first, .., last] = route.nodes[..] else { unreachable!("checked") };
            let Node::Host(Host { role: Role::Source { traffic, between_s, transport, .. } }) = &config.nodes[first]
            else {
                unreachable!("checked")
            };
            // Answers need acknowledgements as much as what they answer.
            let source = Source::new(traffic, between_s, config.seed, number as u64, Time::ZERO);
            let ways = [(first, route.nodes[1], Some(source)), (last, route.nodes[route.nodes.len() - 2], None)];
            for (host, router, source) in ways {
                let port = config.port(host, router).expect("checked");
                let Waiting::Ends { ends, .. } = &mut self.ports[port].waiting else { unreachable!("checked") };
                ends.push(self.ends.len());
                self.ends.push(End {
                    sender: Sender::new(*transport),
                    receiver: Receiver::new(*transport),
                    acks: VecDeque::new(),
                    source,
                    transport: *transport,
                    conversation: 0,
                    port,
                    wakes: None,
                    round_trips: Values::default(),
                    last_round_trip: Duration::ZERO,
                    packets_sent: 0,
                    over: Repairs::default(),
                    before: Repairs::default(),
                    packets_in: 0,
                    bytes_in: 0,
                    bytes_in_all: 0,
                });
            }
        }
    }

    fn start(&mut self) {
        for (place, node) in self.config.nodes.iter().enumerate() {
            if let Node::Router(router) = node {
                self.due.push(self.measuring + router.look_every, Due::Router { node: place as u32 });
            }
        }
        self.due.push(self.measuring, Due::Measure);
        self.expect_checkpoint();
        self.due.push(Time::ZERO + self.config.look_every, Due::Hosts);
        for end in (0..self.ends.len()).step_by(2) {
            self.attend(end);
        }
    }

    /// Serves what is due until the end; whether it ended at an instant of regeneration.
    fn go(&mut self) -> bool {
        let end = Time::ZERO + self.config.end;
        while let Some((now, due)) = self.due.pop_until(end) {
            // Of an instant at which one conversation ends and another begins all has to be served.
            if now > self.now && self.regenerates() {
                return true;
            }
            self.now = now;
            self.events += 1;
            match due {
                Due::Packet { port, packet, frees } => {
                    self.packet_came(port as usize, packet);
                    if frees {
                        self.free(port as usize);
                    }
                }
                Due::Cell { cell, hop, frees } => {
                    self.cell_came(cell, usize::from(hop));
                    if frees {
                        self.free(self.plan.circuits[cell.circuit as usize].ports[usize::from(hop)]);
                    }
                }
                Due::Free { port } => self.free(port as usize),
                Due::Held { port } => {
                    // Others were armed for an earlier time.
                    if let Waiting::Cells { wakes, .. } = &mut self.ports[port as usize].waiting
                        && *wakes == Some(now)
                    {
                        *wakes = None;
                        self.send(port as usize);
                    }
                }
                Due::End { end } => self.attend_timer(end as usize),
                Due::Circuit { circuit } => self.attend_circuit(circuit),
                Due::Credit { circuit, cells } => {
                    self.circuits[circuit as usize].circuit.handle_credit(now, cells);
                    self.cut(self.plan.circuits[circuit as usize].ports[0]);
                }
                Due::Router { node } => self.look_at_router(node as usize),
                Due::Measure => self.begin_to_measure(),
                Due::Checkpoint => {
                    let results = self.results(false);
                    self.observer.checkpoint(&results);
                    self.expect_checkpoint();
                }
                Due::Hosts => {
                    self.look_at_hosts();
                    if !self.observer.go_on(now) {
                        return false;
                    }
                }
            }
        }
        if self.regenerates() {
            return true;
        }
        self.now = end;
        false
    }

    /// Whether this is an instant of regeneration that ends the run.
    fn regenerates(&self) -> bool {
        let from = self.config.regeneration.map(|from| Time::ZERO + from);
        from.is_some_and(|from| self.events > 0 && self.now >= from) && self.is_quiet()
    }

    /// Whether the next event finds the network as it was at first: no packet or cell waits or is on a link, and nothing is
    /// unsent or unacknowledged.
    fn is_quiet(&self) -> bool {
        let has_packets = self.vacant.len() < self.packets.len();
        // A conversation that follows on another begins with the next nanosecond.
        let next = self.now + Duration::from_nanos(1);
        let follows = |source: &Source<'_>| source.next_timeout().is_some_and(|at| at <= next);
        let rests =
            |end: &End<'_>| end.sender.is_done() && end.acks.is_empty() && !end.source.as_ref().is_some_and(follows);
        !has_packets && self.ends.iter().all(rests)
    }

    // Ends and their hosts.

    /// Serves an end's timer, if it is due.
    fn attend_timer(&mut self, number: usize) {
        let end = &mut self.ends[number];
        if end.wakes != Some(self.now) {
            // It was armed anew, for an earlier time.
            return;
        }
        end.wakes = None;
        end.sender.handle_timeout(self.now);
        self.attend(number);
    }

    /// Lets an end's source say what it has to, arms its timer, and lets its host send.
    fn attend(&mut self, number: usize) {
        let now = self.now;
        let end = &mut self.ends[number];
        let (port, mut begun) = (end.port, None);
        if let Some(mut source) = end.source.take() {
            source.handle_timeout(now);
            // Packets that nobody acknowledges have no connection that would begin anew.
            if source.begun() > end.conversation && end.transport.flow_control != FlowControl::None {
                begun = Some(source.begun());
                end.restart(source.begun());
            }
            while let Some(message) = source.poll_message() {
                end.sender.write(message);
            }
            if end.sender.is_done() {
                // The next conversation begins later, however little.
                source.handle_acknowledged(now);
            }
            end.source = Some(source);
        }
        let deadline = end.source.as_ref().and_then(Source::next_timeout);
        self.arm(number, deadline);
        if let Some(conversation) = begun {
            self.ends[number + 1].restart(conversation);
        }
        self.send(port);
    }

    /// Wakes an end at `deadline` or its sender's, whichever comes first.
    fn arm(&mut self, number: usize, deadline: Option<Time>) {
        let end = &mut self.ends[number];
        let Some(deadline) = deadline.into_iter().chain(end.sender.next_timeout()).min() else { return };
        if end.wakes.is_none_or(|wakes| deadline < wakes) {
            end.wakes = Some(deadline);
            self.due.push(deadline, Due::End { end: number as u32 });
        }
    }

    /// The next packet of a host's ends.
    fn poll_ends(&mut self, port: usize) -> Option<u32> {
        let Waiting::Ends { ends, turn } = &mut self.ports[port].waiting else { return None };
        for _ in 0..ends.len() {
            let number = ends[*turn];
            *turn = (*turn + 1) % ends.len();
            let end = &mut self.ends[number];
            let data = end.sender.poll_transmit(self.now);
            let ack = end.acks.pop_front();
            if data.is_none() && ack.is_none() {
                continue;
            }
            end.packets_sent += u64::from(data.is_some() && self.now >= self.measuring);
            let mut next = None;
            if let Some(source) = &mut end.source
                && end.transport.flow_control == FlowControl::None
                && end.sender.is_done()
            {
                // Nothing more is heard of what has left: a conversation is over with its last packet.
                source.handle_acknowledged(self.now);
                next = source.next_timeout();
            }
            let bytes = data.map_or(self.config.smallest_packet, |data| data.bytes);
            let packet = Packet {
                data,
                ack,
                arrived: self.now,
                conversation: end.conversation,
                route: (number / 2) as u32,
                bytes,
                cells: self.config.cutting.cells(bytes),
                left: 0,
                back: number % 2 == 1,
                is_dead: false,
            };
            self.arm(number, next);
            return Some(self.keep(packet));
        }
        None
    }

    /// A packet has come to a host.
    fn packet_at_host(&mut self, packet: Packet) {
        let number = 2 * packet.route as usize + usize::from(!packet.back);
        let now = self.now;
        let measured = now >= self.measuring;
        let end = &mut self.ends[number];
        if packet.conversation != end.conversation {
            // Of a conversation that is over: nobody waits for it.
            return;
        }
        if let Some(next) = packet.ack
            && let Some(round_trip) = end.sender.handle_ack(now, next)
        {
            end.last_round_trip = round_trip;
            if measured {
                end.round_trips.add(round_trip.as_secs_f64());
            }
        }
        if let Some(data) = packet.data {
            let next = end.receiver.handle_packet(data);
            if end.transport.flow_control != FlowControl::None {
                end.acks.push_back(next);
            }
            while let Some(data) = end.receiver.poll_delivered() {
                end.bytes_in_all += u64::from(data.bytes);
                if measured {
                    end.packets_in += 1;
                    end.bytes_in += u64::from(data.bytes);
                }
                if !data.ends {
                    continue;
                }
                if let Some(source) = &mut end.source {
                    source.handle_answer(now);
                } else if let Some(bytes) = data.answer {
                    end.sender.write(Message { bytes, answer: None });
                }
            }
        }
        self.attend(number);
    }

    // Packets and cells.

    fn keep(&mut self, packet: Packet) -> u32 {
        match self.vacant.pop() {
            Some(place) => {
                self.packets[place as usize] = packet;
                place
            }
            None => {
                self.packets.push(packet);
                (self.packets.len() - 1) as u32
            }
        }
    }

    /// A cell of a packet is gone; with the last of them the packet is.
    fn let_go(&mut self, packet: u32) {
        let kept = &mut self.packets[packet as usize];
        kept.left -= 1;
        if kept.left == 0 {
            self.vacant.push(packet);
        }
    }

    /// A port is free: what is next leaves.
    fn free(&mut self, port: usize) {
        self.ports[port].is_busy = false;
        self.send(port);
    }

    /// Lets the next packet or cell of a port leave, if it is free.
    fn send(&mut self, place: usize) {
        if self.ports[place].is_busy {
            return;
        }
        let now = self.now;
        let port = &mut self.ports[place];
        match &mut port.waiting {
            Waiting::Ends { .. } => {
                if let Some(packet) = self.poll_ends(place) {
                    self.transmit_packet(place, packet);
                }
            }
            Waiting::Packets(packets) => {
                if let Some(packet) = packets.pop_front() {
                    self.transmit_packet(place, packet);
                }
            }
            Waiting::Cells { cells, wakes, .. } => {
                if let Some(cell) = cells.pop(now) {
                    self.transmit_cell(place, cell);
                } else if let Some(held) = cells.next_timeout()
                    && held > now
                    && wakes.is_none_or(|wakes| held < wakes)
                {
                    *wakes = Some(held);
                    self.due.push(held, Due::Held { port: place as u32 });
                }
            }
        }
    }

    /// Occupies a port for `bytes`; when what is sent is at the other end, and whether the port is free then.
    fn occupy(&mut self, place: usize, bytes: u32) -> (Time, bool) {
        let port = &mut self.ports[place];
        let takes = port.line.occupy(bytes);
        port.is_busy = true;
        if self.now >= self.measuring {
            port.sending += takes;
            port.bytes += u64::from(bytes);
        }
        let free = self.now + takes;
        if !port.delay.is_zero() {
            self.due.push(free, Due::Free { port: place as u32 });
        }
        (free + port.delay, port.delay.is_zero())
    }

    fn transmit_packet(&mut self, place: usize, packet: u32) {
        let bytes = self.packets[packet as usize].bytes.max(self.config.smallest_packet);
        let (at, frees) = self.occupy(place, bytes);
        self.due.push(at, Due::Packet { port: place as u32, packet, frees });
    }

    fn transmit_cell(&mut self, place: usize, cell: Cell) {
        let (at, frees) = self.occupy(place, self.config.cutting.on_line(u32::from(cell.carried)));
        let hops = &self.plan.circuits[cell.circuit as usize].ports;
        let hop = hops.iter().position(|port| *port == place).unwrap_or_default();
        self.happened(Happening::Sent, self.ports[place].from, cell);
        if hop == 0 {
            let node = self.ports[place].from;
            let vc = &mut self.circuits[cell.circuit as usize];
            vc.queued -= 1;
            vc.circuit.handle_sent(self.now, 0);
            let meter = &mut self.routers[node];
            if self.now >= self.measuring {
                meter.counts.cells += 1;
                if cell.last {
                    let came = self.packets[cell.packet as usize].arrived + self.ports[place].delay;
                    meter.delay.add(at.since(came).as_secs_f64());
                }
            }
        }
        self.due.push(at, Due::Cell { cell, hop: hop as u8, frees });
    }

    /// A packet has come to the other end of a port.
    fn packet_came(&mut self, place: usize, number: u32) {
        let packet = self.packets[number as usize];
        let link = &self.config.links[place / 2];
        let node = link.ends[1 - place % 2];
        if matches!(self.config.nodes[node], Node::Host(_)) {
            self.vacant.push(number);
            return self.packet_at_host(packet);
        }
        self.packets[number as usize].arrived = self.now;
        let way = &self.plan.ways[packet.route as usize][usize::from(packet.back)];
        let circuit = way.circuit;
        let port = self.plan.circuits[circuit as usize].ports[0];
        if self.now >= self.measuring {
            self.routers[node].counts.packets += 1;
        }
        self.circuits[circuit as usize].circuit.handle_data(self.now);
        self.attend_circuit(circuit);
        let Waiting::Cells { packets, packets_waiting, .. } = &mut self.ports[port].waiting else { return };
        packets.push(2 * packet.route + u32::from(packet.back), number);
        *packets_waiting += 1;
        self.cut(port);
    }

    /// Cuts packets whose circuits admit them, and lets cells leave.
    fn cut(&mut self, place: usize) {
        loop {
            let (circuits, plan, all) = (&self.circuits, &self.plan, &self.packets);
            let Waiting::Cells { packets, packets_waiting, .. } = &mut self.ports[place].waiting else { return };
            let next = packets.pop_ready(|direction, number| {
                let circuit = plan.ways[direction as usize / 2][direction as usize % 2].circuit;
                circuits[circuit as usize].circuit.admits(all[*number as usize].cells)
            });
            let Some(number) = next else { break };
            *packets_waiting -= 1;
            self.cut_packet(place, number);
        }
        self.send(place);
    }

    fn cut_packet(&mut self, place: usize, number: u32) {
        let packet = &mut self.packets[number as usize];
        packet.left = packet.cells;
        let Packet { route, back, bytes, cells, .. } = *packet;
        let circuit = self.plan.ways[route as usize][usize::from(back)].circuit;
        let vc = &mut self.circuits[circuit as usize];
        vc.circuit.handle_sent(self.now, if vc.circuit.has_window() { cells } else { 0 });
        for index in 0..cells {
            let cell = Cell {
                circuit,
                packet: number,
                carried: self.config.cutting.carried(bytes, index) as u16,
                first: index == 0,
                last: index + 1 == cells,
            };
            self.cells += 1;
            self.queue_cell(place, cell, true);
        }
    }

    /// Puts a cell before a port, or loses it.
    fn queue_cell(&mut self, place: usize, cell: Cell, is_input: bool) {
        let from = self.ports[place].from;
        let Waiting::Cells { cells, .. } = &mut self.ports[place].waiting else { return };
        match cells.push(cell) {
            Ok(()) => {
                self.circuits[cell.circuit as usize].queued += u32::from(is_input);
                self.happened(Happening::Queued, from, cell);
            }
            Err(why) => {
                self.happened(Happening::Lost(why), from, cell);
                self.cells_lost += 1;
                if self.now >= self.measuring {
                    self.routers[from].counts.cells_lost += 1;
                }
                self.packets[cell.packet as usize].is_dead = true;
                self.credit(cell.circuit);
                self.let_go(cell.packet);
            }
        }
    }

    /// A cell is out of its circuit, and the circuit's input will know.
    fn credit(&mut self, circuit: u32) {
        if self.circuits[circuit as usize].circuit.has_window() {
            let back = self.plan.circuits[circuit as usize].back;
            self.due.push(self.now + back, Due::Credit { circuit, cells: 1 });
        }
    }

    /// A cell has come over hop `hop` of its circuit.
    fn cell_came(&mut self, cell: Cell, hop: usize) {
        let path = &self.plan.circuits[cell.circuit as usize];
        let (node, next) = (path.nodes[hop + 1], path.ports.get(hop + 1).copied());
        self.happened(Happening::Arrived, node, cell);
        if let Some(port) = next {
            self.queue_cell(port, cell, false);
            return self.send(port);
        }
        self.cells_arrived += 1;
        let packet = self.packets[cell.packet as usize];
        let joined = self.circuits[cell.circuit as usize].reassembly.join(cell, packet.cells, packet.is_dead);
        self.credit(cell.circuit);
        match joined {
            Joined::Whole => {
                // All its cells have come, so that nobody else knows it.
                let way = &self.plan.ways[packet.route as usize][usize::from(packet.back)];
                let port = way.last_port;
                if let Waiting::Packets(packets) = &mut self.ports[port].waiting {
                    packets.push_back(cell.packet);
                }
                return self.send(port);
            }
            Joined::Broken if self.now >= self.measuring => self.routers[node].counts.packets_broken += 1,
            Joined::Broken | Joined::Part => {}
        }
        self.let_go(cell.packet);
    }

    /// Serves a circuit's timer and says to its port whether it is there.
    fn attend_circuit(&mut self, number: u32) {
        let place = self.plan.circuits[number as usize].ports[0];
        let vc = &mut self.circuits[number as usize];
        if vc.wakes.is_some_and(|wakes| wakes <= self.now) {
            vc.wakes = None;
        }
        let was = vc.circuit.is_open();
        vc.circuit.handle_timeout(self.now, vc.queued > 0);
        let is = vc.circuit.is_open();
        if let Some(due) = vc.circuit.next_timeout()
            && vc.wakes.is_none()
        {
            vc.wakes = Some(due);
            self.due.push(due, Due::Circuit { circuit: number });
        }
        if let Waiting::Cells { cells, .. } = &mut self.ports[place].waiting {
            cells.stop(number, !is);
        }
        if is && !was {
            self.send(place);
        }
    }

    // What is measured.

    #[inline]
    fn happened(&mut self, happening: Happening, node: usize, cell: Cell) {
        if !self.observer.watches_cells() {
            return;
        }
        let packet = &self.packets[cell.packet as usize];
        let (at, route, data) = (self.now, packet.route as usize, packet.data.map(|data| data.number));
        self.observer.cell(Event { at, happening, node, cell, route, back: packet.back, data, ack: packet.ack });
    }

    fn look_at_router(&mut self, node: usize) {
        let Node::Router(router) = &self.config.nodes[node] else { return };
        let payload = u64::from(self.config.cutting.payload());
        let (mut bytes, mut waiting) = (0, 0);
        for port in self.ports.iter().filter(|port| port.from == node) {
            if let Waiting::Cells { cells, packets_waiting, .. } = &port.waiting {
                bytes += cells.bytes() / payload * payload;
                waiting += packets_waiting;
            }
        }
        let meter = &mut self.routers[node];
        meter.queue.add(bytes as f64);
        meter.waiting.add(f64::from(waiting));
        self.observer.queue(self.now, node, bytes);
        self.due.push(self.now + router.look_every, Due::Router { node: node as u32 });
    }

    fn look_at_hosts(&mut self) {
        for route in 0..self.config.routes.len() {
            let [end, other] = &self.ends[2 * route..2 * route + 2] else { continue };
            let smoothed = end.sender.smoothed().unwrap_or_default();
            let (window, last) = (end.sender.window(), end.last_round_trip);
            self.observer.source(self.now, route, window, last, smoothed, other.bytes_in_all);
        }
        self.due.push(self.now + self.config.look_every, Due::Hosts);
    }

    fn expect_checkpoint(&mut self) {
        if let Some(every) = self.config.checkpoint_every {
            self.due.push(self.now + every, Due::Checkpoint);
        }
    }

    /// Forgets what was counted before the time that is measured.
    fn begin_to_measure(&mut self) {
        for end in &mut self.ends {
            end.before = end.repairs();
        }
    }

    fn results(&self, regenerated: bool) -> Results {
        let measured = self.now.since(self.measuring.min(self.now));
        let seconds = measured.as_secs_f64();
        let share = |sending: Duration| if seconds > 0.0 { (sending.as_secs_f64() / seconds).min(1.0) } else { 0.0 };
        let mut hosts: Vec<Option<HostResults>> = vec![None; self.config.nodes.len()];
        for (route, pair) in self.config.routes.iter().zip(self.ends.chunks_exact(2)) {
            let nodes = [route.nodes[0], route.nodes[route.nodes.len() - 1]];
            for (node, end, other) in [(nodes[0], &pair[0], &pair[1]), (nodes[1], &pair[1], &pair[0])] {
                let host = hosts[node].get_or_insert_with(HostResults::default);
                host.packets_delivered += other.packets_in;
                host.bytes_delivered += other.bytes_in;
                host.packets_sent += end.packets_sent;
                let repairs = end.repairs();
                host.retransmissions += repairs.retransmissions - end.before.retransmissions;
                host.timeouts += repairs.timeouts - end.before.timeouts;
                host.conversations += end.source.as_ref().map_or(0, Source::begun);
                if end.source.is_some() {
                    host.round_trip_s = end.round_trips.spread();
                }
            }
        }
        let mut routers: Vec<Option<RouterResults>> = vec![None; self.config.nodes.len()];
        for (place, meter) in self.routers.iter().enumerate() {
            if !matches!(self.config.nodes[place], Node::Router(_)) {
                continue;
            }
            let begin_here = self.plan.circuits.iter().zip(&self.circuits).filter(|(path, _)| path.nodes[0] == place);
            routers[place] = Some(RouterResults {
                queue_bytes: meter.queue.spread(),
                waiting_packets: meter.waiting.spread(),
                packet_delay_s: meter.delay.spread(),
                circuits_set_up: begin_here.map(|(_, vc)| vc.circuit.setups()).sum(),
                ..meter.counts.clone()
            });
        }
        let links = self.ports.chunks_exact(2).map(|pair| {
            [0, 1].map(|way| LinkResults { utilisation: share(pair[way].sending), bytes: pair[way].bytes })
        });
        Results {
            end: self.now.since(Time::ZERO),
            regenerated,
            measured,
            routers,
            hosts,
            links: links.collect(),
            cells: self.cells,
            cells_arrived: self.cells_arrived,
            cells_lost: self.cells_lost,
            cells_under_way: self.cells - self.cells_arrived - self.cells_lost,
            events: self.events,
        }
    }
}
