//! The emulation and the simulator are the same network: what ends of a simulation sent, sent again from outside, meets the same.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::cell::{Discard, Mapping};
use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::path::cell_keys::Paced;
use flowloom_core::path::{
    self, Abr, CellParams, Impairments, Jitter, LossModel, LossRate, Matching, Reorder, Reordering, Rule, Rules,
};
use flowloom_core::play::{Datagrams, Pacing};
use flowloom_core::queue::{CodelParams, Discipline, FqCodelParams, RedParams, StepParams, StepPoint};
use flowloom_core::record::*;
use flowloom_core::tcp::Segment;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability};
use flowloom_core::workload::*;

use super::*;
use crate::{Class, DatagramFlow, Grouping, LinkConfig, LinkNumber, Monitored, Origin, Summary, Way, run};

/// What passed between a flow and its ends.
#[derive(Clone, Debug, Default, PartialEq)]
struct Passed {
    sent: Vec<(Time, u64, Side, Segment)>,
    received: Vec<(Time, u64, Side, Segment)>,
}

thread_local! {
    static PASSED: RefCell<Passed> = RefCell::default();
}

/// An end has sent a packet.
pub fn note_sent(now: Time, flow: u64, sender: Side, segment: &Segment) {
    PASSED.with_borrow_mut(|passed| passed.sent.push((now, flow, sender, *segment)));
}

/// An end is given a packet.
pub fn note_received(now: Time, flow: u64, sender: Side, segment: &Segment) {
    PASSED.with_borrow_mut(|passed| passed.received.push((now, flow, sender, *segment)));
}

/// What networks report, and the vectors of the monitor.
#[derive(Clone, Debug, Default, PartialEq)]
struct Log {
    queue: Vec<QueueSample>,
    bins: Vec<ThroughputBin>,
    drops: Vec<DropRecord>,
    sojourns: Vec<SojournRecord>,
    packets: Vec<(u16, PacketRecord)>,
    flows: Vec<(u64, path::Flow)>,
    paths: BTreeMap<u64, (Duration, Option<ConnectionVector>)>,
}

impl Recorder for Log {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        match record {
            Record::Connection { original, ended, monitor, .. } => {
                self.paths.insert(original.id, (ended.rtt, monitor.cloned()));
            }
            Record::Source { source } => {
                self.paths.insert(source.id, (source.rtt, None));
            }
            Record::Queue { sample } => self.queue.push(*sample),
            Record::Throughput { bin } => self.bins.push(*bin),
            Record::Sojourn { bin } => self.sojourns.push(*bin),
            Record::Dropped { packet } => self.drops.push(*packet),
            Record::Flow { connection, flow } => self.flows.push((connection, *flow)),
            Record::Packet { link, packet } => self.packets.push((link, *packet)),
            Record::Probe { .. } | Record::Window { .. } => {}
        }
        Ok(())
    }
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn probability(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

/// Requests and large responses of two classes, one half from the left, and a bulk transfer beside them.
fn workload() -> Vec<Classed> {
    let adu = |side, bytes, wait| Adu {
        side,
        bytes,
        missing_bytes: 0,
        wait: Some(ms(wait)),
        waiter: side,
        seen: None,
        packets: None,
    };
    let mut vectors: Vec<Classed> = (0..60)
        .map(|n| {
            let end =
                |transit| Endpoint { min_transit: Some(transit), max_window: Some(200_000), ..Endpoint::default() };
            let side = if n % 2 == 0 { LinkSide::Left } else { LinkSide::Right };
            let vector = ConnectionVector {
                id: n,
                start: Time::ZERO + ms(23 * n),
                initiator_side: side,
                complete: true,
                ends: PerSide { initiator: end(ms(5 + n)), acceptor: end(ms(30)) },
                close: Close::Fin(Side::Initiator),
                adus: vec![
                    adu(Side::Initiator, 300 + n, 0),
                    adu(Side::Acceptor, 20_000 + 900 * n, 40),
                    adu(Side::Initiator, 4_000, 0),
                    adu(Side::Acceptor, 50_000, 0),
                ],
                ..ConnectionVector::default()
            };
            Classed { class: (n % 3 / 2) as u16, ..vector.into() }
        })
        .collect();
    let bulk = ConnectionVector {
        id: 1_000,
        stated_rtt: Some(ms(44)),
        start: Time::ZERO + ms(500),
        ..ConnectionVector::default()
    };
    let origin = Origin::Source { endless_until: Some(Time::ZERO + ms(2_500)) };
    vectors.insert(22, Classed { vector: bulk, class: 1, origin });
    vectors
}

/// Two classes, of which one crosses a link more, with loss, jitter, doubled and reordered packets, and rules.
fn experiment(queue: Discipline, drain: Duration) -> Config {
    let mut config = Config::new("8mbit".parse().unwrap(), ms(4_000));
    config.record_packets = true;
    config.drain = drain;
    config.bottleneck = LinkConfig { queue, delay: ms(2), ..LinkConfig::new("8mbit".parse().unwrap()) };
    let slow = Discipline::HeadDrop(Limit::Packets(20));
    config.links = vec![LinkConfig { queue: slow, delay: ms(1), ..LinkConfig::new("5mbit".parse().unwrap()) }];
    config.monitored = vec![Monitored { there: LinkNumber::other(0), back: None }];
    let mut longer = Way::across_bottleneck();
    longer.there = [LinkNumber::bottleneck(LinkSide::Left), LinkNumber::other(0)].into();
    config.classes = vec![Class::default(), Class { way: longer, ..Class::default() }];
    let of = |law| Distribution::new(law).unwrap();
    config.path[0] = Impairments { loss: LossModel::Bernoulli(probability(0.01)), ..Impairments::default() };
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
    config.datagrams = vec![DatagramFlow {
        id: 2_000,
        class: 0,
        from: LinkSide::Right,
        rtt: ms(30),
        ip_version: None,
        datagrams: Datagrams {
            pacing: Pacing::Poisson,
            gap: ms(7),
            payload: of(Law::Constant(400.0)),
            start: Time::ZERO + ms(100),
            stop: Time::ZERO + ms(3_000),
            answered: false,
        },
    }];
    config
}

/// The same over links of cells: circuits of conversations that are paced in one class and have shares, and one circuit of all.
fn with_cells(mut config: Config) -> Config {
    let cells = CellParams::new("aal5+atm".parse().unwrap());
    let rate = config.bottleneck.rate;
    config.classes[1].is_target = true;
    config.bottleneck.per = Grouping::Circuit(Mapping::PerConversation, Paced::Target);
    config.bottleneck.cells = Some(CellParams {
        room: Some(400),
        discard: Discard::Early(300),
        access: "20mbit".parse().unwrap(),
        peak: "3mbit".parse().unwrap(),
        abr: Some(Abr { every: ms(300), rate }),
        ..cells.clone()
    });
    config.links[0].per = Grouping::Circuit(Mapping::PerDestination, Paced::Both);
    config.links[0].cells = Some(CellParams { room: Some(300), ..cells });
    config
}

/// A simulation, and what its ends sent and received.
fn simulated(config: &Config) -> (Summary, Log, Passed) {
    let mut log = Log::default();
    PASSED.take();
    let vectors = workload().into_iter().map(Ok::<_, Infallible>);
    let summary = run(vectors, config, &mut log, |_| ControlFlow::Continue(())).unwrap();
    (summary, log, PASSED.take())
}

/// The same packets through an emulation whose driver comes at multiples of `tick` only, or whenever something happens.
fn emulated(
    config: &Config,
    sent: &[(Time, u64, Side, Segment)],
    end: Time,
    tick: Option<Duration>,
) -> (Emulated, Log, Passed) {
    let mut log = Log::default();
    PASSED.take();
    let mut emulation = Emulation::new(config, &mut log).unwrap();
    let vectors = workload().into_iter().chain(config.datagrams.iter().map(|flow| {
        let origin = Origin::Source { endless_until: None };
        Classed { vector: flow.vector(), class: flow.class, origin }
    }));
    let mut unopened: BTreeMap<u64, Classed> = vectors.map(|classed| (classed.vector.id, classed)).collect();
    let mut slots: BTreeMap<u64, Slot> = BTreeMap::new();
    // The simulator opens flows of datagrams at its start, and draws for them as of theirs.
    for flow in &config.datagrams {
        slots.insert(flow.id, emulation.open(Time::ZERO, &unopened.remove(&flow.id).unwrap()).unwrap());
    }
    let (mut sent, mut deliveries, mut wake) = (sent.iter().peekable(), 0, Time::ZERO);
    loop {
        // What was sent since the driver came last, with the times at which it was.
        while let Some(&(time, id, sender, segment)) = sent.next_if(|packet| packet.0 <= wake) {
            let slot =
                *slots.entry(id).or_insert_with(|| emulation.open(time, &unopened.remove(&id).unwrap()).unwrap());
            emulation.send(time, slot, sender, segment, 0).unwrap();
        }
        emulation.advance(wake).unwrap();
        deliveries += std::iter::from_fn(|| emulation.poll_delivery()).count();
        if wake == end {
            break;
        }
        wake = match tick {
            Some(tick) => wake + tick,
            None => {
                let next = [sent.peek().map(|packet| packet.0), emulation.next_timeout()];
                next.into_iter().flatten().min().unwrap_or(end)
            }
        };
        wake = wake.min(end);
    }
    let mut paths = BTreeMap::new();
    for (id, slot) in slots {
        let closed = emulation.cut(slot).unwrap();
        assert_eq!(closed.id, id);
        paths.insert(id, (closed.rtt, closed.monitor));
    }
    let emulated = emulation.finish(end.max(Time::ZERO + config.window)).unwrap();
    log.paths = paths;
    let passed = PASSED.take();
    assert_eq!(deliveries, passed.received.len());
    (emulated, log, passed)
}

#[test]
fn a_driver_that_comes_late_meets_the_same_network_as_the_simulator() {
    let red = RedParams { limit: Limit::Packets(60), ..RedParams::default() };
    let queues = [
        Discipline::Red(red),
        Discipline::Codel(CodelParams { limit: Limit::Packets(200), ..CodelParams::default() }),
        Discipline::FqCodel(FqCodelParams::default()),
        Discipline::Step(StepParams {
            limit: Limit::Packets(60),
            threshold: Limit::Packets(15),
            at: StepPoint::Dequeue,
        }),
    ];
    let tail = Discipline::DropTail(Limit::Packets(60));
    for (queue, has_cells) in queues.into_iter().map(|queue| (queue, false)).chain([(tail, true)]) {
        for drain in [ms(60_000), ms(200)] {
            let config = experiment(queue.clone(), drain);
            let config = if has_cells { with_cells(config) } else { config };
            let (summary, log, ends) = simulated(&config);
            assert!(ends.sent.len() > 5_000 && log.drops.len() > 50 && log.queue.len() > 100, "{}", log.drops.len());
            assert_eq!(summary.connections.unfinished > 0, drain < ms(1_000), "what is cut is cut in both");
            for tick in [None, Some(Duration::from_micros(100)), Some(Duration::from_nanos(1_234_567))] {
                let (network, found, passed) = emulated(&config, &ends.sent, summary.end, tick);
                assert_eq!((&network.directions, &network.links), (&summary.directions, &summary.links));
                assert_eq!(passed.received, ends.received, "{queue:?}, {tick:?}");
                assert_eq!(found.drops, log.drops, "{queue:?}, {tick:?}");
                assert_eq!(found.queue, log.queue);
                assert_eq!(found.bins, log.bins);
                assert_eq!(found.packets, log.packets);
                assert_eq!(found.paths, log.paths);
                let opened =
                    |log: &Log| log.flows.iter().map(|flow| (flow.0, flow.1.values)).collect::<BTreeMap<_, _>>();
                assert_eq!(opened(&found), opened(&log));
            }
        }
    }
}

/// A line of 8 Mbit/s, 1 us a byte, with a propagation of 2 ms.
fn line() -> Config {
    let mut config = Config::new("8mbit".parse().unwrap(), ms(1_000));
    config.record_packets = true;
    config.bottleneck.delay = ms(2);
    config
}

fn micros(n: u64) -> Time {
    Time::ZERO + Duration::from_micros(n)
}

fn deliveries(emulation: &mut Emulation<'_, Log>) -> Vec<(Time, LinkSide, u32)> {
    std::iter::from_fn(|| emulation.poll_delivery()).map(|d| (d.due, d.from, d.handle.index())).collect()
}

#[test]
fn a_packet_takes_the_bytes_it_has() {
    let (config, mut log) = (line(), Log::default());
    let mut emulation = Emulation::new(&config, &mut log).unwrap();
    let slot = emulation.open_guest(LinkSide::Right);
    let segment = Segment { payload_bytes: 946, flags: flowloom_core::wire::Flags(0x10), ..Segment::default() };
    for (n, extra) in [(0, 0), (1, 12), (2, -20)] {
        emulation.send(micros(5_000 * n), slot, Side::Initiator, segment, extra).unwrap();
    }
    emulation.advance(micros(20_000)).unwrap();
    let due = deliveries(&mut emulation).into_iter().map(|delivery| delivery.0).collect::<Vec<_>>();
    assert_eq!(due, [micros(3_000), micros(8_012), micros(12_980)]);
    let counts = emulation.finish(micros(20_000)).unwrap().directions;
    assert_eq!((counts[1].offered.data, counts[1].offered.bytes, counts[1].delivered), (3, 3_000 - 8, 3));
    assert!(log.paths.is_empty());
}

#[test]
fn what_the_driver_adds_comes_off_the_last_part_of_the_way_first() {
    let mut config = line();
    let delay = |nanos| Some(Distribution::new(Law::Constant(nanos)).unwrap());
    let port = |port| Matching { port: Some(port), ..Matching::default() };
    config.rules = Rules::new(vec![
        Rule { matching: port(80), delay: delay(10e6), ..Rule::default() },
        Rule { matching: port(81), delay: delay(1e5), ..Rule::default() },
    ]);
    // From the left: 1 us a byte and 2 ms for the link, 10 ms drawn or 6 and 5 ms measured, and 300 us less.
    for (port, arrived) in [(None, 13_054 - 300), (Some(80), 12_054 - 300), (Some(81), 2_154 - 100)] {
        let mut log = Log::default();
        let mut emulation = Emulation::new(&config, &mut log).unwrap().ahead_by(Duration::from_micros(300));
        let end = |transit, port| Endpoint { min_transit: Some(ms(transit)), port, ..Endpoint::default() };
        let vector = ConnectionVector {
            ends: PerSide { initiator: end(12, None), acceptor: end(14, port) },
            ..ConnectionVector::default()
        };
        let slot = emulation.open(Time::ZERO, &vector.into()).unwrap();
        let ack = Segment { flags: flowloom_core::wire::Flags(0x10), ..Segment::default() };
        emulation.send(Time::ZERO, slot, Side::Initiator, ack, 0).unwrap();
        emulation.advance(micros(20_000)).unwrap();
        assert_eq!(deliveries(&mut emulation)[0].0, micros(arrived), "{port:?}");
    }
}

#[test]
fn strangers_have_what_rules_draw_for_their_side() {
    let mut config = line();
    let rule = |side, delay| Rule {
        matching: Matching { from: Some(side), ..Matching::default() },
        delay: Some(Distribution::new(Law::Constant(delay)).unwrap()),
        ..Rule::default()
    };
    // An acceptor without a rule has what the initiator's draws (methods F.6).
    config.rules = Rules::new(vec![rule(LinkSide::Left, 10e6), rule(LinkSide::Right, 5e6)]);
    for (sender, arrived) in [(Side::Initiator, 12_054), (Side::Acceptor, 7_054)] {
        let mut log = Log::default();
        let mut emulation = Emulation::new(&config, &mut log).unwrap();
        let slot = emulation.open_stranger(Time::ZERO, LinkSide::Left).unwrap();
        let ack = Segment { flags: flowloom_core::wire::Flags(0x10), ..Segment::default() };
        emulation.send(Time::ZERO, slot, sender, ack, 0).unwrap();
        emulation.advance(micros(20_000)).unwrap();
        assert_eq!(deliveries(&mut emulation)[0].0, micros(arrived), "{sender:?}");
    }
}

#[test]
fn a_flow_is_closed_when_its_packets_are_there_and_its_handles_come_again() {
    let (config, mut log) = (line(), Log::default());
    let mut emulation = Emulation::new(&config, &mut log).unwrap();
    assert_eq!(emulation.next_timeout(), None);
    let slot = emulation.open_guest(LinkSide::Left);
    let datagram = Segment { payload_bytes: 100, ..Segment::default() };
    let sent = emulation.send(micros(0), slot, Side::Acceptor, datagram, 0).unwrap();
    assert!(emulation.is_busy(slot) && emulation.close(slot).is_none());
    assert!(emulation.next_timeout().is_some_and(|time| time <= micros(2_142)));
    emulation.advance(micros(10_000)).unwrap();
    assert_eq!(emulation.next_timeout(), Some(micros(10_000)), "a delivery is to be polled");
    assert_eq!(deliveries(&mut emulation), [(micros(2_142), LinkSide::Right, sent.packet.unwrap().index())]);
    assert_eq!(emulation.next_timeout(), None);
    let closed = emulation.close(slot).unwrap();
    assert_eq!((closed.id, closed.rtt, closed.monitor), (FIRST_GUEST, ms(4), None));
    let again = emulation.open_guest(LinkSide::Left);
    assert_eq!((again, emulation.send(micros(0), again, Side::Initiator, datagram, 0).unwrap()), (slot, sent));
    assert_eq!(emulation.now(), micros(10_000), "time does not go back");
}
