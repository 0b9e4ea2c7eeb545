//! The same machines under the simulator and under this driver, with a clock of ours: the same records.
//!
//! The ends are the simulator's TCP and programs, but what they say goes through headers, devices and the path. So everything is
//! compared that packets pass on their way: reading and numbering them, rewriting, the network, what is recorded.

use flowloom_core::time::Duration;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::cell::{Discard, Mapping};
use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::path::cell_keys::Paced;
use flowloom_core::path::{Abr, CellParams, Jitter, LossRate, Matching, Reorder, Reordering, Rule, Rules};
use flowloom_core::play::{Action, Player, Script};
use flowloom_core::queue::{FqCodelParams, RedParams, StepParams, StepPoint};
use flowloom_core::record::{
    ConnectionRecord, PacketRecord, QueueSample, Record, Recorder, SojournRecord, ThroughputBin,
};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::congestion::Setup;
use flowloom_core::tcp::{self, EcnEcho, Endpoint, Profile, SackBlocks, Segment, Timestamps};
use flowloom_core::workload::{self, Adu, Close};
use flowloom_sim::{AsCaptured, Class, Grouping, LinkConfig, LinkNumber, Monitored, Starts, Way, limits, run};

use super::*;

/// What ends and network reported.
#[derive(Debug, Default, PartialEq)]
struct Log {
    queue: Vec<QueueSample>,
    bins: Vec<ThroughputBin>,
    drops: Vec<DropRecord>,
    sojourns: Vec<SojournRecord>,
    packets: Vec<(u16, PacketRecord)>,
    connections: BTreeMap<u64, AtEnds>,
    monitor: BTreeMap<u64, Option<ConnectionVector>>,
}

/// Of a connection, as its ends saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct AtEnds {
    rtt: Duration,
    established: Option<Time>,
    first_data: Option<Time>,
    last_data: Option<Time>,
    closed: Option<Time>,
    retransmissions: u64,
    delivered_bytes: [u64; 2],
}

impl Recorder for Log {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        match record {
            Record::Connection { original, ended, monitor, .. } => {
                let &ConnectionRecord { rtt, established, first_data, last_data, closed, .. } = ended;
                let &ConnectionRecord { retransmissions, delivered_bytes, .. } = ended;
                let ends = AtEnds { rtt, established, first_data, last_data, closed, retransmissions, delivered_bytes };
                self.connections.insert(original.id, ends);
                self.monitor.insert(original.id, monitor.cloned());
            }
            Record::Queue { sample } => self.queue.push(*sample),
            Record::Throughput { bin } => self.bins.push(*bin),
            Record::Dropped { packet } => self.drops.push(*packet),
            Record::Sojourn { bin } => self.sojourns.push(*bin),
            Record::Packet { link, packet } => self.packets.push((link, *packet)),
            Record::Source { .. } | Record::Probe { .. } | Record::Flow { .. } | Record::Window { .. } => {}
        }
        Ok(())
    }
}

/// Both ends of a connection, whose segments are packets.
struct Host {
    serial: Serial,
    initiator_side: LinkSide,
    version: IpVersion,
    tcp: tcp::Config,
    ends: PerSide<(Player, Endpoint)>,
    script: Script,
    numbers: PerSide<u32>,
    /// The shift that each SYN offered.
    offered: PerSide<Option<u8>>,
    seen: AtEnds,
    /// Packets to be sent: by which side.
    out: Vec<(LinkSide, Vec<u8>)>,
}

impl Host {
    fn new(serial: Serial, Classed { vector, class, origin }: &Classed, config: &Config) -> Host {
        let tcp = config.classes[usize::from(*class)].tcp.clone();
        let end = |side: Side| {
            let limits = limits(vector, side);
            let (endpoint, parity) = match side {
                Side::Initiator => (Endpoint::connect(&tcp, limits), 0),
                Side::Acceptor => (Endpoint::listen(&tcp, limits), 1),
            };
            let setup = Setup { seed: config.seed, stream: vector.id.wrapping_mul(2) + parity };
            (Player::new(side), endpoint.with_stream(setup, &tcp))
        };
        let mut numbers = Stream::new(config.seed, Purpose::SequenceNumbers, vector.id);
        Host {
            serial,
            initiator_side: vector.initiator_side,
            version: vector.ip_version.unwrap(),
            ends: PerSide { initiator: end(Side::Initiator), acceptor: end(Side::Acceptor) },
            script: origin.script(vector, &config.replay),
            numbers: PerSide { initiator: numbers.bits32(), acceptor: numbers.bits32() },
            offered: PerSide::default(),
            seen: AtEnds::default(),
            out: Vec::new(),
            tcp,
        }
    }

    fn transmit(&mut self, side: Side, now: Time) {
        let before = self.ends[side].1.bytes_transmitted();
        while let Some(segment) = self.ends[side].1.poll_transmit(now, &self.tcp) {
            if segment.payload_bytes > 0 {
                self.seen.first_data.get_or_insert(now);
            }
            if segment.flags.fin() || segment.flags.rst() {
                self.seen.closed.get_or_insert(now);
            }
            if segment.flags.syn() {
                self.offered[side] = segment.window_scale;
            }
            let from = if side == Side::Initiator { self.initiator_side } else { self.initiator_side.other() };
            self.out.push((from, self.packet(side, &segment)));
        }
        let (player, endpoint) = &mut self.ends[side];
        if endpoint.bytes_transmitted() != before {
            player.handle_transmitted(now, endpoint.bytes_transmitted(), &self.script);
        }
    }

    fn act(&mut self, side: Side, now: Time) {
        loop {
            let (player, endpoint) = &mut self.ends[side];
            match player.poll_action(&self.script) {
                Some(Action::Write(bytes)) => endpoint.write(bytes),
                Some(Action::Close) => endpoint.close(),
                Some(Action::Abort) => endpoint.abort(),
                None => return,
            }
            self.transmit(side, now);
        }
    }

    fn wake(&mut self, side: Side, now: Time) {
        self.ends[side].1.handle_timeout(now, &self.tcp);
        self.transmit(side, now);
        self.act(side, now);
        self.ends[side].0.handle_timeout(now);
        self.act(side, now);
    }

    fn deliver(&mut self, side: Side, segment: &Segment, now: Time) {
        let state =
            |endpoint: &Endpoint| (endpoint.is_established(), endpoint.bytes_received(), endpoint.is_peer_closed());
        let before = state(&self.ends[side].1);
        self.ends[side].1.handle_segment(now, segment, &self.tcp);
        self.transmit(side, now);
        self.act(side, now);
        let after = state(&self.ends[side].1);
        if after.0 && !before.0 {
            if side == Side::Initiator {
                self.seen.established = Some(now);
            }
            self.ends[side].0.handle_established(now, &self.script);
            self.act(side, now);
        }
        if after.1 > before.1 {
            self.seen.last_data = Some(now);
            self.ends[side].0.handle_received(now, after.1, &self.script);
            self.act(side, now);
        }
        if after.2 && !before.2 {
            self.ends[side].0.handle_peer_closed(now, &self.script);
            self.act(side, now);
        }
    }

    fn deadline(&self, side: Side) -> Option<Time> {
        let (player, endpoint) = &self.ends[side];
        let player = player.next_timeout().filter(|_| !endpoint.is_reset());
        [player, endpoint.next_timeout()].into_iter().flatten().min()
    }

    /// A segment as it stands on the wire.
    fn packet(&self, sender: Side, segment: &Segment) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some(mss) = segment.mss {
            options.extend([2, 4]);
            options.extend(mss.get().to_be_bytes());
        }
        if let Some(Timestamps { value, echo }) = segment.timestamps {
            options.extend(if segment.sack_permitted { [4, 2] } else { [1, 1] });
            options.extend([8, 10]);
            options.extend(value.get().to_be_bytes());
            options.extend(echo.to_be_bytes());
        } else if segment.sack_permitted {
            options.extend([1, 1, 4, 2]);
        }
        if let Some(shift) = segment.window_scale {
            options.extend([1, 3, 3, shift]);
        }
        if !segment.sack.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * segment.sack.len() as u8]);
            for (start, end) in segment.sack_blocks() {
                let wire = |offset: u64| self.numbers[sender.other()].wrapping_add(offset as u32).to_be_bytes();
                options.extend([wire(start), wire(end)].concat());
            }
        }
        assert_eq!(options.len() as u32, segment.option_bytes());
        let (initiator, acceptor) = addresses::of_connection(self.serial, self.initiator_side);
        let version = self.version;
        let there = Make { version, from: (initiator, 40_000), to: (acceptor, 5_000), ..make() };
        let (sequence, acknowledgement) = segment.wire_numbers(self.numbers[sender], self.numbers[sender.other()]);
        Make {
            sequence,
            acknowledgement,
            flags: segment.flags.0,
            window: segment.window_field(),
            options: &options,
            payload: segment.payload_bytes as usize,
            ecn: segment.ecn,
            ..if sender == Side::Initiator { there } else { backwards(there) }
        }
        .tcp()
    }

    /// A packet of `sender` as the other end takes it. No stream here is 4 GiB long.
    fn segment(&self, sender: Side, packet: &[u8]) -> Segment {
        let (header, ecn) = (tcp(packet), Frame::read(packet).unwrap().ecn);
        let offset = |side: Side, number: u32| u64::from(number.wrapping_sub(self.numbers[side]));
        let acknowledges = |number| offset(sender.other(), number);
        let is_scaled = Side::BOTH.iter().all(|side| self.offered[*side].is_some()) && !header.flags.syn();
        let window_shift = self.offered[sender].filter(|_| is_scaled).unwrap_or(0);
        let blocks = header.sack.iter().filter(|block| block.0 != block.1);
        Segment {
            sequence: offset(sender, header.sequence),
            acknowledgement: if header.flags.ack() { acknowledges(header.acknowledgement) } else { 0 },
            payload_bytes: header.payload_bytes.into(),
            window: u32::from(header.window) << window_shift,
            timestamps: header.timestamps.map(|(value, echo)| Timestamps { value, echo }),
            sack: SackBlocks::new(blocks.map(|block| (acknowledges(block.0), acknowledges(block.1)))),
            mss: header.mss.map(|mss| mss.1),
            window_scale: header.window_scale.map(|scale| scale.1),
            flags: header.flags,
            window_shift,
            ecn,
            sack_permitted: header.sack_permitted.is_some(),
        }
    }
}

fn workload() -> Vec<ConnectionVector> {
    let ms = Duration::from_millis;
    let adu = |side, bytes, wait| Adu {
        side,
        bytes,
        missing_bytes: 0,
        wait: Some(ms(wait)),
        waiter: side,
        seen: None,
        packets: None,
    };
    let vector = |n: u64| {
        let end = |nanos, window| workload::Endpoint {
            min_transit: Some(Duration::from_nanos(nanos)),
            max_window: Some(window),
            mss: Some(1_200 + n as u16),
            syn_seen: true,
            window_scale: Some(9),
            ..workload::Endpoint::default()
        };
        let initiator = end(4_000_003 + 1_700_021 * n, 300_000);
        ConnectionVector {
            id: 7 * n,
            start: Time::ZERO + Duration::from_nanos(23_456_789 * n),
            initiator_side: if n.is_multiple_of(2) { LinkSide::Left } else { LinkSide::Right },
            complete: true,
            ends: PerSide { initiator, acceptor: end(31_000_007, 65_535 + 40_000 * (n % 3)) },
            ip_version: Some(if n % 4 == 3 { IpVersion::V6 } else { IpVersion::V4 }),
            close: if n.is_multiple_of(5) { Close::Rst(Side::Initiator) } else { Close::Fin(Side::Acceptor) },
            adus: vec![
                adu(Side::Initiator, 300 + n, 0),
                adu(Side::Acceptor, 20_000 + 900 * n, 40),
                adu(Side::Initiator, 4_000, 0),
                adu(Side::Acceptor, 60_000, 30),
            ],
            ..ConnectionVector::default()
        }
    };
    (0..40).map(vector).collect()
}

/// Two classes, of which one is Linux with ECN and crosses a link more. A quarter of the connections are over IPv6.
fn experiment(queue: Discipline) -> Config {
    let ms = Duration::from_millis;
    let mut config = Config::new("6mbit".parse().unwrap(), ms(8_000));
    config.record_packets = true;
    config.bottleneck = LinkConfig { queue, delay: ms(2), ..LinkConfig::new("6mbit".parse().unwrap()) };
    config.links = vec![LinkConfig { delay: ms(1), ..LinkConfig::new("5mbit".parse().unwrap()) }];
    config.monitored = vec![Monitored { there: LinkNumber::other(0), back: None }];
    let mut longer = Way::across_bottleneck();
    longer.there = [LinkNumber::bottleneck(LinkSide::Left), LinkNumber::other(0)].into();
    let linux = tcp::Config { ecn: EcnEcho::UntilAnswered, ..tcp::Config::of(Profile::Linux) };
    let as_captured = AsCaptured { ip_version: true, ..AsCaptured::default() };
    let class = Class { as_captured, ..Class::default() };
    config.classes = vec![class.clone(), Class { way: longer, tcp: linux, ..class }];
    let of = |law| Distribution::new(law).unwrap();
    let probability = |p| Probability::new(p).unwrap();
    config.path[0].loss = LossModel::Bernoulli(probability(0.01));
    config.path[1] = Impairments {
        duplicate: probability(0.01),
        reorder: Some(Reorder { share: probability(0.02), gap: 3, manner: Reordering::Late(ms(3)) }),
        jitter: Some(Jitter { distribution: of(Law::Exponential { mean: 4e5 }), keeps_order: false }),
        ..Impairments::default()
    };
    config.rules = Rules::new(vec![Rule {
        matching: Matching { from: Some(LinkSide::Right), ..Matching::default() },
        delay: Some(of(Law::Uniform { min: 1e7, max: 5e7 })),
        loss: LossRate::Drawn(of(Law::Constant(0.005))),
        rate: Some(of(Law::Constant(2e7))),
    }]);
    config
}

/// The same over links of cells, which mark nothing.
fn with_cells() -> Config {
    let mut config = experiment(Discipline::DropTail(Limit::Packets(60)));
    let cells = CellParams::new("aal5+atm".parse().unwrap());
    config.classes[1].is_target = true;
    config.bottleneck.per = Grouping::Circuit(Mapping::PerConversation, Paced::Target);
    config.bottleneck.cells = Some(CellParams {
        room: Some(400),
        discard: Discard::Early(300),
        access: "20mbit".parse().unwrap(),
        peak: "3mbit".parse().unwrap(),
        abr: Some(Abr { every: Duration::from_millis(300), rate: config.bottleneck.rate }),
        ..cells.clone()
    });
    config.links[0].per = Grouping::Circuit(Mapping::PerDestination, Paced::Both);
    config.links[0].cells = Some(CellParams { room: Some(300), ..cells });
    config
}

fn classed() -> Vec<Classed> {
    let class = |vector: ConnectionVector| Classed { class: (vector.id % 3 / 2) as u16, ..vector.into() };
    workload().into_iter().map(class).collect()
}

/// The run under this driver, whose clock stands where it is put; `end` is when the simulator was through.
fn driven(config: &Config, end: Time) -> (Log, EmulatorReport) {
    let now = Rc::new(Cell::new(Time::ZERO));
    let ((left, left_kernel), (right, right_kernel)) = (Fake::new(&now), Fake::new(&now));
    let (mut devices, kernels) = ([left, right], [left_kernel, right_kernel]);
    let (out, outputs) = channel();
    let mut recorder = Forward::new(out);
    // A step is due again as soon as there can be anything.
    let settings = Settings { tick: Duration::from_nanos(1), ipv6: true, ..Settings::default() };
    let mut path = Path::new(config, settings, &mut devices, &mut recorder).unwrap();
    let mut starts = Starts::new(classed().into_iter().map(Ok::<_, Infallible>));
    let mut plan = Vec::new();
    while let Some((at, classed)) = starts.next::<_, Infallible, _>(config).unwrap() {
        path.open(plan.len() as Serial, Box::new(classed.clone()));
        plan.push((at, Host::new(plan.len() as Serial, &classed, config), classed.vector.id));
    }
    let mut started = 0;
    loop {
        let time = now.get();
        let mut sends = Vec::new();
        while let Some((_, host, _)) = plan.get_mut(started).filter(|plan| plan.0 <= time) {
            host.transmit(Side::Initiator, time);
            sends.append(&mut host.out);
            started += 1;
        }
        for (_, host, _) in &mut plan[..started] {
            for side in Side::BOTH {
                if host.deadline(side).is_some_and(|deadline| deadline <= time) {
                    host.wake(side, time);
                }
            }
            sends.append(&mut host.out);
        }
        for kernel in &kernels {
            for (_, packet) in std::mem::take(&mut kernel.borrow_mut().got) {
                let frame = Frame::read(&packet).unwrap();
                let [source, destination] = frame.ports().unwrap();
                let sender = addresses::sender(source, destination).unwrap();
                let serial = match sender {
                    Side::Initiator => addresses::serial(frame.source, frame.destination),
                    Side::Acceptor => addresses::serial(frame.destination, frame.source),
                };
                let host = &mut plan[serial.unwrap() as usize].1;
                let segment = host.segment(sender, &packet);
                host.deliver(sender.other(), &segment, time);
                sends.append(&mut host.out);
            }
        }
        for (side, packet) in sends {
            kernels[side as usize].borrow_mut().sends.push_back((time, packet));
        }
        let wake = path.step(|| now.get()).unwrap();
        if kernels.iter().any(|kernel| !kernel.borrow().got.is_empty()) {
            continue;
        }
        let wake = match wake {
            Wake::At(time) | Wake::By(time) => Some(time),
            Wake::WithPacket => None,
        };
        let deadlines = plan[..started].iter().flat_map(|plan| Side::BOTH.map(|side| plan.1.deadline(side)));
        let start = plan.get(started).map(|plan| plan.0);
        let next = deadlines.chain([wake, start]).flatten().min().unwrap_or(end).max(time);
        if next > end || time == end {
            break;
        }
        now.set(next);
    }
    let report = path.finish(end, false).unwrap();
    recorder.flush().unwrap();
    drop(recorder);
    let mut log = Log::default();
    for (_, host, id) in plan {
        let count = |side: Side| u64::from(host.ends[side].1.retransmissions());
        let received = |side: Side| host.ends[side].1.bytes_received();
        let retransmissions = count(Side::Initiator) + count(Side::Acceptor);
        let delivered_bytes = [received(Side::Acceptor), received(Side::Initiator)];
        log.connections.insert(id, AtEnds { retransmissions, delivered_bytes, ..host.seen });
    }
    for output in outputs {
        match output {
            Output::Records(records) => records.iter().for_each(|kept| log.record(kept.record()).unwrap()),
            Output::State(_) => {}
            Output::Closed(_, closed) => {
                log.connections.get_mut(&closed.id).unwrap().rtt = closed.rtt;
                log.monitor.insert(closed.id, closed.monitor);
            }
        }
    }
    (log, report)
}

#[test]
fn the_same_machines_give_the_same_records_in_the_simulator() {
    let red = RedParams { limit: Limit::Packets(60), ecn: true, ..RedParams::default() };
    let steps = [StepPoint::Enqueue, StepPoint::Dequeue];
    let steps = steps.map(|at| StepParams { limit: Limit::Packets(40), threshold: Limit::Packets(15), at });
    let queues = [Discipline::Red(red), Discipline::FqCodel(FqCodelParams::default())];
    let queues = queues.into_iter().chain(steps.map(Discipline::Step)).map(experiment);
    for (config, marks) in queues.map(|config| (config, true)).chain([(with_cells(), false)]) {
        let mut log = Log::default();
        let vectors = classed().into_iter().map(Ok::<_, Infallible>);
        let summary = run(vectors, &config, &mut log, |_| ControlFlow::Continue(())).unwrap();
        let over_ipv6 = log.packets.iter().filter(|packet| packet.1.ip_version == IpVersion::V6).count();
        assert!(over_ipv6 > 100 && over_ipv6 < log.packets.len() / 2, "{over_ipv6}");
        let marked = log.packets.iter().filter(|packet| packet.1.ecn == Ecn::Ce).count();
        assert!(
            log.drops.len() > 50 && log.queue.len() > 100 && (marked > 10) == marks,
            "{}, {marked}",
            log.drops.len()
        );
        let (found, report) = driven(&config, summary.end);
        assert_eq!(report.unaccounted(), 0);
        assert_eq!(
            (&report.network.directions, &report.network.links),
            (&summary.directions, &summary.links),
            "{:?}",
            config.bottleneck
        );
        assert_eq!(found.connections, log.connections);
        assert_eq!(found.monitor, log.monitor);
        assert_eq!(found.drops, log.drops);
        assert!(!log.sojourns.is_empty());
        assert_eq!(found.sojourns, log.sojourns);
        assert_eq!(found.queue, log.queue);
        assert_eq!(found.bins, log.bins);
        assert_eq!(found.packets, log.packets);
    }
}
