//! Queue disciplines in the dumbbell: they carry TCP, everything is accounted for, and they do what they are for.

use std::collections::BTreeSet;

use crate::common::{Log, at, ms, simulate, vector};
use flowloom_core::queue::*;
use flowloom_core::record::{DropReason, Traffic};
use flowloom_core::time::Duration;
use flowloom_core::units::Limit;
use flowloom_core::workload::*;
use flowloom_sim::{Config, Summary};

fn exchange(id: u64, start: u64, response: u64) -> ConnectionVector {
    let adus = [(Side::Initiator, 500, ms(5)), (Side::Acceptor, response, ms(0))];
    vector(id, at(start), Pattern::Sequential, &adus)
}

fn run(vectors: &[ConnectionVector], window: u64, queue: Discipline) -> (Summary, Log) {
    let mut config = Config::new("10mbit".parse().unwrap(), ms(window));
    config.bottleneck.queue = queue;
    simulate(vectors, &config)
}

/// Every kind, with room for `limit`.
fn kinds(limit: Limit) -> Vec<Discipline> {
    let red = RedParams { limit, ..RedParams::default() };
    vec![
        Discipline::DropTail(limit),
        Discipline::HeadDrop(limit),
        Discipline::Step(StepParams { limit, threshold: Limit::Packets(8), at: StepPoint::Enqueue }),
        Discipline::Step(StepParams { limit, threshold: Limit::Packets(8), at: StepPoint::Dequeue }),
        Discipline::Red(red),
        Discipline::Red(RedParams { gentle: true, weight: 0.02, ..red }),
        Discipline::AdaptiveRed(AdaptiveRedParams { limit, ..AdaptiveRedParams::default() }),
        Discipline::Blue(BlueParams { limit, ..BlueParams::default() }),
        Discipline::Pi(PiParams { limit, target: 10, ..PiParams::default() }),
        Discipline::Rem(RemParams { limit, ..RemParams::default() }),
        Discipline::Pie(PieParams { limit, ..PieParams::default() }),
        Discipline::Codel(CodelParams { limit, ..CodelParams::default() }),
        Discipline::FqCodel(FqCodelParams { limit, ..FqCodelParams::default() }),
        Discipline::DeficitRoundRobin { limit, quantum: 1_514 },
        Discipline::RoundRobin(limit),
        Discipline::Priority { limit, bands: 3 },
    ]
}

#[test]
fn everything_is_accounted_for_under_every_discipline() {
    let vectors: Vec<_> = (0..40).map(|id| exchange(id, 31 * id, 150_000)).collect();
    for discipline in kinds(Limit::Packets(20)) {
        let (summary, log) = run(&vectors, 2_000, discipline.clone());
        assert_eq!(summary.connections.completed, 40, "{discipline:?}: {:?}", summary.connections);
        for (from, direction) in [LinkSide::Left, LinkSide::Right].into_iter().zip(&summary.directions) {
            let packets: Vec<_> = log.packets.iter().filter(|packet| packet.from == from).collect();
            let mut sums = [Traffic::default(), Traffic::default()];
            for bin in log.bins.iter().filter(|bin| bin.from == from) {
                sums[0].add(bin.offered);
                sums[1].add(bin.carried);
            }
            assert_eq!(sums[0].packets, direction.offered.total(), "{discipline:?}");
            assert_eq!(sums[1].packets, direction.carried.total(), "{discipline:?}");
            assert_eq!(packets.len() as u64, direction.carried.total(), "{discipline:?}");
            let dropped = log.drops.iter().filter(|drop| drop.from == from).count() as u64;
            assert_eq!(dropped, direction.dropped.total(), "{discipline:?}");
            assert_eq!(direction.offered.total(), direction.carried.total() + dropped, "{discipline:?}");
            let bytes: BTreeSet<_> = packets
                .iter()
                .flat_map(|p| (0..p.payload_bytes).map(|n| (p.connection, p.sequence.wrapping_add(n))))
                .collect();
            assert_eq!(sums[1].payload_bytes, bytes.len() as u64, "goodput counts a byte once: {discipline:?}");
            let longest = log.queue.iter().filter(|sample| sample.from == from).map(|sample| sample.packets).max();
            assert!(longest.unwrap_or(0) <= direction.link.max().packets, "{discipline:?}");
        }
        assert!(log.packets.is_sorted_by_key(|packet| packet.time));
        assert!(!log.drops.is_empty(), "{discipline:?}");
        assert_eq!(run(&vectors, 2_000, discipline.clone()), (summary, log), "the same again: {discipline:?}");
    }
}

/// With room for all, whatever keeps the order of arrival is drop-tail, to the last sample.
#[test]
fn a_link_that_decides_at_departure_measures_as_one_that_decides_at_arrival() {
    let vectors: Vec<_> = (0..40).map(|id| exchange(id, 31 * id, 150_000)).collect();
    let limit = Limit::Packets(65_000);
    let (expected, expected_log) = run(&vectors, 2_000, Discipline::DropTail(limit));
    let patient = CodelParams {
        limit,
        target: Duration::from_secs(100),
        interval: Duration::from_secs(200),
        ..CodelParams::default()
    };
    for discipline in
        [Discipline::HeadDrop(limit), Discipline::Codel(patient), Discipline::Priority { limit, bands: 1 }]
    {
        let (summary, log) = run(&vectors, 2_000, discipline.clone());
        assert_eq!(log, expected_log, "{discipline:?}");
        for (one, other) in summary.directions.iter().zip(&expected.directions) {
            let facts = |direction: &flowloom_sim::Direction| {
                let link = &direction.link;
                (link.mean_packets(), link.mean_bytes(), link.max(), link.empty_share(), link.utilisation())
            };
            assert_eq!(facts(one), facts(other), "{discipline:?}");
        }
        assert!(summary.events > expected.events, "it takes an event per packet that waits");
    }
}

#[test]
fn a_run_that_is_cut_counts_what_waits() {
    let vectors: Vec<_> = (0..40).map(|id| exchange(id, 10 * id, 1_000_000)).collect();
    for discipline in kinds(Limit::Packets(50)) {
        let mut config = Config::new("10mbit".parse().unwrap(), ms(1_000));
        config.bottleneck.queue = discipline.clone();
        config.drain = ms(300);
        let (summary, _) = simulate(&vectors, &config);
        let right = &summary.directions[1];
        assert!(right.remaining.data > 0 && right.in_flight > 0, "{discipline:?}: {right:?}");
        let accounted = right.carried.total() + right.dropped.total() + right.remaining.total();
        assert_eq!(accounted, right.offered.total(), "{discipline:?}");
    }
}

/// Mean delay in the queue from the right, in seconds, and the utilisation, under ten long flows.
fn long_flows(queue: Discipline) -> (f64, f64, Log) {
    let vectors: Vec<_> = (0..10).map(|id| exchange(id, 100 * id, 50_000_000)).collect();
    let mut config = Config::new("10mbit".parse().unwrap(), ms(30_000));
    config.bottleneck.queue = queue;
    config.drain = ms(0);
    let (summary, log) = simulate(&vectors, &config);
    let link = &summary.directions[1].link;
    (link.mean_bytes() * 8.0 / 1e7, link.utilisation(), log)
}

#[test]
fn what_controls_the_delay_keeps_it_short_and_the_line_busy() {
    let limit = Limit::Packets(1_000);
    let (full, ..) = long_flows(Discipline::DropTail(limit));
    assert!(full > 0.3, "a full buffer of 1.2 s: {full}");
    let adaptive = AdaptiveRedParams { limit, mean_packet: 1_514, ..AdaptiveRedParams::default() };
    let adaptive = Discipline::AdaptiveRed(adaptive);
    let aims = [
        (Discipline::Pie(PieParams { limit, ..PieParams::default() }), 0.005..0.03, 0.9),
        (Discipline::Codel(CodelParams { limit, ..CodelParams::default() }), 0.003..0.03, 0.9),
        (Discipline::FqCodel(FqCodelParams::default()), 0.003..0.04, 0.9),
        // A queue of 5 to 15 packets where 66 fit the path.
        (adaptive, 0.003..0.03, 0.8),
    ];
    for (discipline, delay, busy) in aims {
        let (mean, utilisation, log) = long_flows(discipline.clone());
        assert!(delay.contains(&mean) && utilisation > busy, "{mean} s and {utilisation} under {discipline:?}");
        assert!(log.drops.iter().all(|drop| drop.reason == DropReason::Early), "no buffer overflows: {discipline:?}");
    }
}

#[test]
fn short_exchanges_pass_long_ones_where_flows_have_queues_of_their_own() {
    let vectors: Vec<_> = (0..10)
        .map(|id| exchange(id, 100 * id, 50_000_000))
        .chain((10..60).map(|id| exchange(id, 5_000 + 100 * id, 2_000)))
        .collect();
    let mean_response = |queue| {
        let mut config = Config::new("10mbit".parse().unwrap(), ms(15_000));
        config.bottleneck.queue = queue;
        config.drain = ms(0);
        let (_, log) = simulate(&vectors, &config);
        let epochs: Vec<_> = log.connections.iter().filter(|c| c.0.id >= 10).flat_map(|c| &c.2).collect();
        assert!(epochs.len() >= 45, "{}", epochs.len());
        epochs.iter().map(|epoch| epoch.end.unwrap().since(epoch.start).as_secs_f64()).sum::<f64>()
            / epochs.len() as f64
    };
    let limit = Limit::Packets(200);
    let shared = mean_response(Discipline::DropTail(limit));
    // 80 ms of round trip, 5 ms of thinking, the packets themselves and what is in transmission.
    for queue in [
        Discipline::FqCodel(FqCodelParams::default()),
        Discipline::DeficitRoundRobin { limit, quantum: 1_514 },
        Discipline::RoundRobin(limit),
    ] {
        let apart = mean_response(queue.clone());
        assert!(apart < 0.13 && shared > apart + 0.05, "{apart} s under {queue:?}, {shared} s in one queue");
    }
}
