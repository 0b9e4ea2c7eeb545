//! Sources beside the workload: exact times, laws, and what is recorded of them.

use std::ops::ControlFlow;

use crate::common::*;
use flowloom_core::distribution::Distribution;
use flowloom_core::path::{Impairments, LinkStatistics, LossModel, Reorder, Reordering};
use flowloom_core::play::{Datagrams, Pacing, Prefill};
use flowloom_core::queue::keys::Per;
use flowloom_core::queue::{Discipline, FqCodelParams};
use flowloom_core::record::*;
use flowloom_core::tcp::Phase;
use flowloom_core::tcp::congestion::{Algorithm, CubicParameters, WindowCause};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability};
use flowloom_core::workload::*;
use flowloom_sim::*;

/// `payload` bytes every `gap`, for ten seconds.
fn datagrams(pacing: Pacing, gap: Duration, payload: u32) -> Datagrams {
    let payload = Distribution::constant(payload.into()).unwrap();
    Datagrams { pacing, gap, payload, start: at(0), stop: at(10_000), answered: false }
}

fn flow(id: u64, from: LinkSide, datagrams: Datagrams) -> DatagramFlow {
    DatagramFlow { id, class: 0, from, rtt: ms(30), ip_version: None, datagrams }
}

fn network(rate: &str, packets: u64, datagrams: Vec<DatagramFlow>) -> Config {
    let mut config = Config::new(rate.parse().unwrap(), ms(20_000));
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(packets));
    config.datagrams = datagrams;
    config
}

/// A bulk transfer from the left, of so many bytes or until then.
fn bulk(id: u64, start: Time, class: u16, bytes: Option<u64>, until: Time) -> Classed {
    let adus: Vec<_> = bytes.iter().map(|bytes| (Side::Initiator, *bytes, Duration::ZERO)).collect();
    let vector = match bytes {
        Some(_) => vector(id, start, Pattern::Sequential, &adus),
        None => ConnectionVector { adus: Vec::new(), ..exchange(id, start, 1, 1) },
    };
    let origin = Origin::Source { endless_until: bytes.is_none().then_some(until) };
    Classed { vector, class, origin }
}

fn simulate_all(classed: Vec<Classed>, config: &Config) -> (Summary, Log) {
    let mut log = Log::default();
    let config = Config { record_packets: true, ..config.clone() };
    let summary = run(classed.into_iter().map(Ok::<_, ()>), &config, &mut log, |_| ControlFlow::Continue(()));
    (summary.unwrap(), log)
}

/// What both ends of a flow sent: the last bit of each datagram passes the monitor when it did, and what the link takes for it later.
#[test]
fn datagrams_of_a_vector_pass_the_monitor_when_they_did() {
    let adu = |side, first, last, packets, bytes| {
        let seen = Some(Span { first: ms(first), last: ms(last) });
        Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen, packets: Some(packets) }
    };
    let adus = [
        adu(Side::Initiator, 0, 0, 1, 58),
        adu(Side::Acceptor, 30, 50, 3, 2_874),
        adu(Side::Initiator, 70, 70, 1, 958),
        // When the window is over.
        adu(Side::Initiator, 900, 900, 1, 958),
    ];
    let vector = ConnectionVector {
        id: 4,
        protocol: Protocol::Quic,
        start: at(500),
        initiator_side: LinkSide::Right,
        adus: adus.to_vec(),
        ..ConnectionVector::default()
    };
    let mut config = network("8mbit", 100, Vec::new());
    (config.window, config.unknown_rtt) = (ms(1_300), ms(60));
    config.bottleneck.delay = ms(7);
    let of = |side, prefill| DatagramFlow::of_vector(&vector, side, (side as u64, 0), prefill, &config);
    let flows = |prefill| Side::BOTH.into_iter().filter_map(|side| of(side, prefill)).collect::<Vec<_>>();
    let passed = |flows: Vec<DatagramFlow>| {
        let (_, log) = simulate_all(Vec::new(), &Config { datagrams: flows, ..config.clone() });
        assert!(log.sources.iter().all(|row| row.rtt == ms(60) && row.sent_bytes == row.received_bytes));
        log.packets
            .iter()
            .map(|packet| (packet.time.since(at(0)).as_nanos() / 1_000, packet.payload_bytes))
            .collect::<Vec<_>>()
    };
    // A byte takes the link a microsecond, and what comes from the right has crossed it.
    let seen = [(500_100, 58), (531_000, 958), (541_000, 958), (551_000, 958), (571_000, 958)];
    assert_eq!(passed(flows(Prefill::new(ms(0)))), seen);
    // A run that begins 540 ms later has what began by then behind it, and the last within its window.
    let later = Prefill::new(ms(540)).spread_over(ms(0));
    assert_eq!(passed(flows(later)), [(31_000, 958), (861_000, 958)]);
    assert_eq!(flows(Prefill::new(ms(5_000))), []);
}

/// 1,000 bytes every 10 ms over 1 Mbit/s: 1,042 bytes on the link take 8.336 ms, and half of the round trip is 15 ms.
#[test]
fn datagrams_at_a_constant_rate_below_the_links_take_the_same_time_each() {
    let config = network("1mbit", 10, vec![flow(7, LinkSide::Left, datagrams(Pacing::Constant, ms(10), 1_000))]);
    let (summary, log) = simulate(&[], &config);
    let delay = ms(15) + Duration::from_micros(8_336);
    let [record] = &log.sources[..] else { panic!("{:?}", log.sources) };
    let delays = record.delays.unwrap();
    assert_eq!((delays.min, delays.mean, delays.max, delays.jitter), (delay, delay, delay, Duration::ZERO));
    assert_eq!(
        (record.sent_packets, record.received_packets, record.late_packets),
        (Some(1_000), Some(1_000), Some(0))
    );
    assert_eq!((record.sent_bytes, record.received_bytes), (1_000_000, 1_000_000));
    assert_eq!((record.outcome, record.last), (Outcome::Completed, Some(at(9_990) + delay)));
    assert_eq!(
        summary.directions[0].carried,
        PacketCounts { data: 1_000, bytes: 1_042_000, ..PacketCounts::default() }
    );
    assert_eq!(summary.directions[1].offered.total(), 0);
    let carried: u64 = log.bins.iter().map(|bin| bin.carried.payload_bytes).sum();
    assert_eq!(carried, 1_000_000, "goodput");
    assert!(log.connections.is_empty() && summary.connections.started == 0);
    let class = summary.classes[0];
    assert_eq!((class.flows.completed, class.to_acceptors_bytes, class.sent_datagrams), (1, 1_000_000, 1_000));
    let packet = log.packets[0];
    assert_eq!((packet.flags, packet.payload_bytes, packet.connection), (0, 1_000, 7));
}

/// Twice what the link carries: it is busy from the first packet to the last, and what is not delivered was dropped.
#[test]
fn what_a_link_cannot_carry_is_dropped_and_counted() {
    for (queue, name) in [
        (Discipline::DropTail(Limit::Packets(5)), "at arrival"),
        (Discipline::HeadDrop(Limit::Packets(5)), "at departure"),
    ] {
        let flows = vec![flow(7, LinkSide::Right, datagrams(Pacing::Constant, Duration::from_micros(4_168), 1_000))];
        let mut config = network("1mbit", 5, flows);
        config.bottleneck.queue = queue;
        let (summary, log) = simulate(&[], &config);
        let record = &log.sources[0];
        let dropped = log.drops.len() as u64;
        let (sent, received) = (record.sent_packets.unwrap(), record.received_packets.unwrap());
        assert_eq!((sent, sent), (2_400, received + dropped), "{name}");
        // One leaves each 8.336 ms, from the first arrival at 15 ms to 10 s.
        assert!((1_199..=1_206).contains(&received), "{name}: {received}");
        assert!(log.drops.iter().all(|drop| drop.kind == PacketKind::Data && drop.connection == 7), "{name}");
        let carried: u64 = log.bins.iter().map(|bin| bin.carried.payload_bytes).sum();
        assert_eq!(carried, 1_000 * received, "{name}");
        assert_eq!(summary.directions[1].offered.total(), sent, "{name}");
    }
}

/// M/D/1 at four fifths of the link: packets wait two service times on average, 1.6 of them at a time.
#[test]
fn poisson_datagrams_make_the_queue_of_theory() {
    let service = Duration::from_micros(8_336);
    let gap = Duration::from_micros(10_420);
    let mut config = network("1mbit", 100_000, Vec::new());
    config.window = Duration::from_secs(30_000);
    let poisson = Datagrams { stop: Time::ZERO + config.window, ..datagrams(Pacing::Poisson, gap, 1_000) };
    config.datagrams = vec![flow(1, LinkSide::Left, poisson)];
    (config.queue_every, config.throughput_every) = (ms(10_000), ms(1_000));
    let mut log = Log::default();
    let none: [Result<ConnectionVector, ()>; 0] = [];
    let summary = run(none, &config, &mut log, |_| ControlFlow::Continue(())).unwrap();
    let wait = log.sources[0].delays.unwrap().mean - ms(15) - service;
    let ratio = wait.as_secs_f64() / service.as_secs_f64();
    assert!((1.96..2.04).contains(&ratio), "{ratio}");
    let statistics: &LinkStatistics = &summary.directions[0].link;
    assert!((1.57..1.63).contains(&statistics.mean_packets()), "{}", statistics.mean_packets());
}

#[test]
fn bulk_transfers_share_a_link_and_end() {
    let config = network("10mbit", 60, Vec::new());
    let until = at(15_000);
    let flows =
        vec![bulk(1, at(0), 0, None, until), bulk(2, at(0), 0, None, until), bulk(3, at(100), 0, Some(50_000), until)];
    let (summary, log) = simulate_all(flows, &config);
    assert!(log.connections.is_empty() && summary.connections.started == 0);
    assert_eq!((summary.classes[0].flows.started, summary.classes[0].flows.completed), (3, 3));
    let received = |id| log.sources.iter().find(|record| record.id == id).unwrap().received_bytes;
    assert_eq!(received(3), 50_000);
    let both = received(1) + received(2);
    // 1,460 of 1,514 bytes are payload; slow start overshoots, which takes some of 15 s.
    let most = 15.2 * 10e6 / 8.0 * 1_460.0 / 1_514.0;
    assert!((0.85 * most..most).contains(&(both as f64)), "{both} of {most}");
    let last = log.sources.iter().filter_map(|record| record.last).max().unwrap();
    assert!(last > until && last < until + ms(400), "what was written goes out: {last:?}");
    assert!(
        log.sources.iter().all(|record| record.protocol == Protocol::Tcp && record.sent_bytes == record.received_bytes)
    );
}

/// A CUBIC class beside a NewReno one on a long path, where they differ; and the workload is recorded apart.
#[test]
fn each_class_has_its_own_congestion_control() {
    let mut config = network("100mbit", 100, Vec::new());
    config.window = ms(60_000);
    config.classes.push(config.classes[0].clone());
    config.classes[1].tcp.congestion = Algorithm::Cubic(CubicParameters::default());
    let until = at(60_000);
    let alone = |class| {
        let (summary, _) = simulate_all(vec![bulk(9, at(0), class, None, until)], &config);
        (summary.classes[0].to_acceptors_bytes, summary.classes[1].to_acceptors_bytes)
    };
    let (reno, cubic) = (alone(0), alone(1));
    assert!(reno.1 == 0 && cubic.0 == 0);
    assert!(cubic.1 as f64 > 1.15 * reno.0 as f64, "{cubic:?} {reno:?}");
    let mixed = vec![Classed::from(exchange(1, at(0), 100, 10_000)), bulk(9, at(0), 1, None, until)];
    let (summary, log) = simulate_all(mixed, &config);
    assert_eq!((log.connections.len(), log.sources.len()), (1, 1));
    assert_eq!((summary.connections.started, summary.connections.completed), (1, 1));
    assert_eq!(summary.classes[0].to_initiators_bytes, 10_000);
    assert_eq!(log.sources[0].class, 1);
}

#[test]
fn what_the_path_loses_doubles_or_moves_shows_at_the_receiver() {
    let mut config = network("10mbit", 100, vec![flow(5, LinkSide::Left, datagrams(Pacing::Constant, ms(1), 100))]);
    let share = |share| Probability::new(share).unwrap();
    config.path[0] = Impairments {
        loss: LossModel::Bernoulli(share(0.1)),
        duplicate: share(0.05),
        reorder: Some(Reorder { share: share(0.02), gap: 1, manner: Reordering::Late(ms(3)) }),
        ..Impairments::default()
    };
    let (summary, log) = simulate(&[], &config);
    let record = &log.sources[0];
    let (sent, received) = (record.sent_packets.unwrap(), record.received_packets.unwrap());
    assert_eq!(sent, 10_000);
    let repeated = record.repeated_packets.unwrap();
    assert_eq!(repeated, summary.directions[0].duplicated);
    assert_eq!(received + log.drops.len() as u64, sent);
    assert!((900..1_100).contains(&log.drops.len()));
    // A fiftieth of nine tenths was held back.
    assert!((140..220).contains(&record.late_packets.unwrap()), "{:?}", record.late_packets);
}

/// Every datagram comes twice to a link that carries half of them: what arrives once is not lost, and its copy is no new payload.
#[test]
fn copies_of_datagrams_are_no_losses_and_no_goodput() {
    let codel = Discipline::FqCodel(FqCodelParams::default());
    for queue in [Discipline::DropTail(Limit::Packets(20)), codel] {
        let flow = flow(5, LinkSide::Left, datagrams(Pacing::Constant, ms(4), 958));
        let mut config = network("1mbit", 20, vec![flow]);
        config.bottleneck.queue = queue;
        config.path[0].duplicate = Probability::new(1.0).unwrap();
        let (summary, log) = simulate(&[], &config);
        let class = &summary.classes[0];
        assert_eq!(
            (class.sent_datagrams, class.sent_datagrams),
            (2_500, class.received_datagrams + class.dropped_datagrams)
        );
        assert_eq!(class.dropped_datagrams + class.dropped_copies, log.drops.len() as u64);
        assert!(class.dropped_copies > 1_000, "{class:?}");
        let carried: u64 = log.bins.iter().map(|bin| bin.carried.payload_bytes).sum();
        assert_eq!(carried, 958 * class.received_datagrams);
        let offered: u64 = log.bins.iter().map(|bin| bin.offered.payload_bytes).sum();
        assert_eq!(offered, 958 * class.sent_datagrams);
    }
}

#[test]
fn probes_with_copies_are_lost_with_their_last_answer() {
    let probes = Datagrams { answered: true, ..datagrams(Pacing::Constant, ms(10), 64) };
    let mut config = network("10mbit", 100, vec![flow(ProbeRecord::FIRST, LinkSide::Left, probes)]);
    let share = |share| Probability::new(share).unwrap();
    let rough = Impairments { loss: LossModel::Bernoulli(share(0.1)), duplicate: share(0.5), ..Impairments::default() };
    config.path = [rough.clone(), rough];
    let (summary, log) = simulate(&[], &config);
    let lost = log.probes.iter().filter(|probe| probe.lost).count() as u64;
    assert!((100..220).contains(&lost), "{lost}");
    assert_eq!(summary.classes[0].dropped_datagrams, lost);
    // Every probe and every answer comes twice: answers are dropped, and no probe is without any.
    config.path = [0.0, 0.005].map(|loss| Impairments {
        loss: LossModel::Bernoulli(share(loss)),
        duplicate: share(1.0),
        ..Impairments::default()
    });
    let (summary, log) = simulate(&[], &config);
    let lost: Vec<&ProbeRecord> = log.probes.iter().filter(|probe| probe.lost).collect();
    assert!(log.drops.len() > 10 && lost.is_empty(), "{} drops, {lost:?}", log.drops.len());
    let class = &summary.classes[0];
    assert_eq!((class.dropped_datagrams, class.dropped_copies), (0, log.drops.len() as u64));
}

#[test]
fn a_transfer_without_end_that_gives_up_is_told() {
    let mut config = network("10mbit", 100, Vec::new());
    config.window = ms(300_000);
    config.path[0].loss = LossModel::Bernoulli(Probability::new(1.0).unwrap());
    let (summary, log) = simulate_all(vec![bulk(9, at(0), 0, None, at(300_000))], &config);
    assert_eq!((summary.classes[0].flows.gave_up, log.sources[0].outcome), (1, Outcome::GaveUp));
}

#[test]
fn a_source_that_never_comes_to_send_does_not_hold_up_the_run() {
    let [on, off] = [1e9, 3_600e9].map(|nanos| Distribution::constant(nanos).unwrap());
    let config = network("1mbit", 20, vec![flow(5, LinkSide::Left, datagrams(Pacing::OnOff { on, off }, ms(2), 500))]);
    let (summary, log) = simulate(&[], &config);
    assert_eq!(summary.end, Time::ZERO);
    assert_eq!((log.sources[0].sent_packets, log.sources[0].outcome), (Some(0), Outcome::Completed));
}

/// Cut in the middle: nothing is lost from the accounts, which the run itself checks.
#[test]
fn sources_that_are_cut_say_so() {
    let onoff = Pacing::OnOff { on: Distribution::constant(3e8).unwrap(), off: Distribution::constant(1e8).unwrap() };
    let mut config = network("1mbit", 20, vec![flow(5, LinkSide::Left, datagrams(onoff, ms(2), 500))]);
    config.window = ms(2_000);
    config.drain = Duration::ZERO;
    let (summary, log) = simulate_all(vec![bulk(9, at(0), 0, None, Time::MAX)], &config);
    assert_eq!(
        log.sources.iter().filter(|record| record.outcome == Outcome::Unfinished).count(),
        1,
        "the bulk transfer"
    );
    assert_eq!(
        summary.classes[0].flows,
        ConnectionCounts { started: 2, completed: 1, unfinished: 1, reset: 0, gave_up: 0 }
    );
    assert!(summary.directions[0].in_flight > 0);
    let record = log.sources.iter().find(|record| record.id == 5).unwrap();
    // 150 datagrams in each 400 ms.
    assert_eq!(record.sent_packets, Some(750));
}

/// A bulk transfer from slow start over a loss to the end of recovery; the workload beside it is not traced.
#[test]
fn windows_are_traced_with_their_causes() {
    let mut config = network("10mbit", 30, Vec::new());
    config.classes[0].tcp.delayed_ack = None;
    let until = at(5_000);
    let mixed = || vec![Classed::from(exchange(1, at(0), 100, 200_000)), bulk(9, at(0), 0, None, until)];
    let (untraced, log) = simulate_all(mixed(), &config);
    assert!(log.windows.is_empty());
    config.traced = Traced::Sources;
    let (summary, log) = simulate_all(mixed(), &config);
    assert_eq!((untraced.traced, summary.traced), (0, 1));
    assert_eq!(Summary { traced: 0, ..summary }, untraced, "looking changes nothing");
    assert!(
        log.windows.iter().all(|record| record.connection == 9) && log.windows.is_sorted_by_key(|record| record.time)
    );
    let sender: Vec<&WindowRecord> = log.windows.iter().filter(|record| record.side == Side::Initiator).collect();
    let mut causes: Vec<WindowCause> = sender.iter().map(|record| record.cause).collect();
    causes.dedup();
    assert_eq!(causes[..3], [WindowCause::Initial, WindowCause::SlowStart, WindowCause::Loss], "{causes:?}");
    assert!(causes.contains(&WindowCause::Avoidance));
    let initial = sender[0];
    assert_eq!((initial.window_bytes, initial.threshold_bytes, initial.phase), (3 * 1_460, None, Phase::Open));
    // Slow start: each acknowledgement of a segment opens the window by one.
    let slow: Vec<u32> = sender.iter().skip(1).take(20).map(|record| record.window_bytes).collect();
    assert!(slow.iter().zip(4..).all(|(bytes, segments)| *bytes == segments * 1_460), "{slow:?}");
    let lost = sender.iter().position(|record| record.cause == WindowCause::Loss).unwrap();
    assert_eq!(sender[lost].phase, Phase::Recovery);
    let half = sender[lost].threshold_bytes.unwrap();
    assert!((sender[lost - 1].in_flight_bytes / 2).abs_diff(half.into()) < 3 * 1_460);
    config.traced = Traced::Connections([1].into());
    let (_, log) = simulate_all(mixed(), &config);
    assert!(!log.windows.is_empty() && log.windows.iter().all(|record| record.connection == 1));
    assert!(log.windows.iter().any(|record| record.side == Side::Acceptor));
}

/// Methods G.4 for packets: one transfer of a class beside four of another has a fifth of the link where connections have queues of
/// their own, and half of it where classes have.
#[test]
fn queues_belong_to_connections_or_to_classes() {
    let alone = |queue: Discipline, per: Per| {
        let mut config = network("10mbit", 200, Vec::new());
        config.classes.push(config.classes[0].clone());
        config.bottleneck.queue = queue;
        config.bottleneck.per = per.into();
        let until = at(20_000);
        let transfers = (0..5).map(|id| bulk(id, at(id), u16::from(id > 0), None, until)).collect();
        let (summary, _) = simulate_all(transfers, &config);
        let [own, others] = [0, 1].map(|class| summary.classes[class].to_acceptors_bytes as f64);
        own / (own + others)
    };
    let limit = Limit::Packets(200);
    // CoDel holds the window of one transfer lower than those of four.
    for (queue, by) in [
        (Discipline::DeficitRoundRobin { limit, quantum: 1_514 }, 0.03),
        (Discipline::RoundRobin(limit), 0.03),
        (Discipline::FqCodel(FqCodelParams { limit, ..FqCodelParams::default() }), 0.1),
    ] {
        for (per, wanted) in [(Per::Connection, 0.2), (Per::Class, 0.5)] {
            let share = alone(queue.clone(), per);
            assert!((share - wanted).abs() < by, "{queue:?} {per:?}: {share}");
        }
    }
}

/// Two flows whose windows are as one to two share a wide link as one to two: (1 + 2)^2 / (2 (1 + 4)) = 0.9. One that begins within the
/// window, and one that ends there, are not compared.
#[test]
fn flows_are_compared_where_all_are_active() {
    let mut config = network("100mbit", 1_000, Vec::new());
    config.results = Some([at(2_000), at(8_000)]);
    let windowed = |id, start, window, until| {
        let mut flow = bulk(id, start, 0, None, until);
        // A window that is stated, not a field of a header.
        flow.vector.evidence = Evidence::VectorFile;
        flow.vector.ends.acceptor.max_window = Some(window);
        flow
    };
    let flows = vec![
        windowed(1, at(0), 14_600, at(20_000)),
        windowed(2, at(10), 29_200, at(20_000)),
        windowed(3, at(20), 14_600, at(5_000)),
        windowed(4, at(3_000), 14_600, at(20_000)),
    ];
    let (summary, _) = simulate_all(flows, &config);
    let Sharing { flows, bytes, squares } = summary.classes[0].sharing;
    let jain = (bytes * bytes) as f64 / (2 * squares) as f64;
    assert_eq!(flows, 2);
    assert!((jain - 0.9).abs() < 0.002, "{jain}");
}
