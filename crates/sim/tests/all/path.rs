//! What happens to packets on the way to the link, in whole runs: exact times, conservation, and that one connection's path
//! does not depend on the others.

use std::sync::Arc;

use crate::common::*;
use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::path::*;
use flowloom_core::record::*;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Probability, Rate};
use flowloom_core::workload::{ConnectionVector, LinkSide, Pattern, Side};
use flowloom_sim::{Config, Summary};

fn config() -> Config {
    Config::new("100mbit".parse().unwrap(), Duration::from_secs(30))
}

fn probability(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

fn of(law: Law) -> Distribution {
    Distribution::new(law).unwrap()
}

/// Requests of 300 bytes and responses of 40 kB, one every 50 ms.
fn many(connections: u64) -> Vec<ConnectionVector> {
    (0..connections).map(|id| exchange(id, at(50 * id), 300, 40_000)).collect()
}

/// One connection of `bytes` from left to right.
fn upload(bytes: u64) -> Vec<ConnectionVector> {
    vec![vector(0, at(0), Pattern::Sequential, &[(Side::Initiator, bytes, Duration::ZERO)])]
}

fn everything() -> Impairments {
    Impairments {
        loss: LossModel::GilbertElliott(GilbertElliott::simple(probability(0.01), probability(0.5))),
        duplicate: probability(0.02),
        reorder: Some(Reorder { share: probability(0.05), gap: 3, manner: Reordering::Late(ms(4)) }),
        jitter: Some(Jitter { distribution: of(Law::Exponential { mean: 2e6 }), keeps_order: false }),
    }
}

fn lost(log: &Log) -> u64 {
    log.drops.iter().filter(|drop| drop.reason == DropReason::Loss).count() as u64
}

/// Every packet is delivered, dropped at the queue or lost; the run itself checks the sum, here are the parts.
fn conserved(summary: &Summary, log: &Log) {
    for (from, direction) in [LinkSide::Left, LinkSide::Right].into_iter().zip(&summary.directions) {
        let (lost, dropped): (Vec<&DropRecord>, Vec<_>) =
            log.drops.iter().filter(|drop| drop.from == from).partition(|drop| drop.reason == DropReason::Loss);
        assert_eq!(lost.len() as u64, direction.lost.total());
        assert_eq!(dropped.len() as u64, direction.dropped.total());
        let reached = direction.sent + direction.duplicated - direction.lost.total();
        assert_eq!(direction.offered.total(), reached, "nothing is left on the way to the link");
        assert_eq!(direction.delivered + direction.dropped.total(), reached);
    }
}

#[test]
fn with_everything_that_can_happen_all_data_arrive_and_every_packet_is_accounted_for() {
    for monitor in [false, true] {
        let config = Config { path: [everything(), everything()], monitor, ..config() };
        let (summary, log) = simulate(&many(100), &config);
        conserved(&summary, &log);
        assert_eq!(summary.connections.completed, 100, "{:?}", summary.connections);
        assert!(log.connections.iter().all(|(_, record, ..)| record.delivered_bytes == [300, 40_000]));
        assert!(lost(&log) > 50 && summary.directions.iter().all(|direction| direction.duplicated > 20));
        let retransmissions: u64 = log.connections.iter().map(|(_, record, ..)| record.retransmissions).sum();
        assert!(retransmissions >= lost(&log) / 2);
        assert_eq!(simulate(&many(100), &config), (summary, log), "the same again");
    }
}

#[test]
fn a_run_that_is_cut_accounts_for_packets_that_were_overtaking() {
    let path = [everything(), everything()];
    for millis in (200..260).step_by(7) {
        let config = Config { window: ms(millis), drain: Duration::ZERO, path: path.clone(), ..config() };
        let (summary, _) = simulate(&many(5), &config);
        assert!(summary.directions.iter().any(|direction| direction.in_flight > 0));
    }
}

#[test]
fn a_listed_packet_is_lost_and_sent_again() {
    // SYN, ACK, then data: the third packet of the initiator is the first with data.
    let list = LossModel::List(PacketList::new([(3, 3)]).unwrap());
    let path = [Impairments { loss: list, ..Impairments::default() }, Impairments::default()];
    let (summary, log) = simulate(&upload(100_000), &Config { path, ..config() });
    conserved(&summary, &log);
    let [drop] = log.drops[..] else { panic!("{:?}", log.drops) };
    // The SYN passes the monitor at 0 at the earliest, so it leaves at 0; the handshake takes 80 ms and some microseconds.
    assert_eq!((drop.kind, drop.from, drop.reason), (PacketKind::Data, LinkSide::Left, DropReason::Loss));
    assert!((at(80)..at(81)).contains(&drop.time), "{:?}", drop.time);
    assert_eq!(log.connections[0].1.retransmissions, 1);
    assert_eq!(summary.directions[0].lost.data, 1);
}

#[test]
fn a_lost_syn_is_sent_again() {
    let list = LossModel::List(PacketList::new([(1, 2)]).unwrap());
    let path = [Impairments { loss: list, ..Impairments::default() }, Impairments::default()];
    let (summary, log) = simulate(&many(1), &Config { path, ..config() });
    conserved(&summary, &log);
    assert_eq!(summary.connections.completed, 1);
    assert_eq!(summary.directions[0].lost.control, 2);
}

#[test]
fn jitter_that_keeps_the_order_makes_no_retransmission() {
    let jitter = |keeps_order| {
        let jitter = Some(Jitter { distribution: of(Law::Exponential { mean: 3e6 }), keeps_order });
        let impairments = Impairments { jitter, ..Impairments::default() };
        let (_, log) =
            simulate(&upload(2_000_000), &Config { path: [impairments, Impairments::default()], ..config() });
        // The connection's numbers may wrap, the stream is shorter than half of their range.
        let data: Vec<u32> = log.packets.iter().filter(|p| p.payload_bytes > 0).map(|p| p.sequence).collect();
        let backwards = data.windows(2).filter(|pair| pair[1].wrapping_sub(pair[0]) > 1 << 31).count();
        (backwards, log.connections[0].1.retransmissions)
    };
    assert_eq!(jitter(true), (0, 0));
    assert!(jitter(false).0 > 100);
}

/// What a connection went through is the same whether it runs alone, with others, or after others that start earlier.
#[test]
fn a_connections_path_does_not_depend_on_the_others() {
    let rules = Rules::new(vec![Rule {
        delay: Some(of(Law::Lognormal { median: 64e6, mean: 101e6 })),
        loss: LossRate::Drawn(of(Law::Uniform { min: 0.0, max: 0.1 })),
        rate: Some(of(Law::Uniform { min: 1e6, max: 1e8 })),
        ..Rule::default()
    }]);
    // So fast a link that connections meet nowhere.
    let base = Config::new(Rate::UNLIMITED, Duration::from_secs(30));
    let config = Config { path: [everything(), everything()], rules, ..base };
    let fate = |log: &Log, id| {
        let (_, record, epochs, _) = log.connections.iter().find(|(vector, ..)| vector.id == id).unwrap();
        let shift = |time: Time| time.since(record.start);
        let drops: Vec<_> =
            log.drops.iter().filter(|drop| drop.connection == id).map(|drop| shift(drop.time)).collect();
        (
            record.rtt,
            record.retransmissions,
            drops,
            epochs.iter().map(|epoch| shift(epoch.end.unwrap())).collect::<Vec<_>>(),
        )
    };
    let [_, together] = [(), ()].map(|()| simulate(&many(40), &config).1);
    let mut reordered = many(40);
    let starts: Vec<Time> = reordered.iter().map(|vector| vector.start).collect();
    reordered.reverse();
    reordered.iter_mut().zip(starts).for_each(|(vector, start)| vector.start = start + Duration::from_secs(2));
    let backwards = simulate(&reordered, &config).1;
    assert!(lost(&together) > 100);
    for id in [1, 17, 39] {
        let vector = ConnectionVector { start: at(5_000), ..many(40)[id as usize].clone() };
        let alone = simulate(&[vector], &config).1;
        assert_eq!(fate(&alone, id), fate(&backwards, id), "connection {id} alone and in another order");
        assert_eq!(fate(&together, id).0, fate(&alone, id).0);
    }
}

/// Rules replace the delays of the vectors: exact round-trip times, and a bottleneck that spaces packets.
#[test]
fn rules_give_flows_their_delays_and_bottlenecks() {
    let rule = |sender, millis: u64, rate: Option<f64>| Rule {
        matching: Matching { sender: Some(sender), ..Matching::default() },
        delay: Some(of(Law::Constant(millis as f64 * 1e6))),
        rate: rate.map(|rate| of(Law::Constant(rate))),
        ..Rule::default()
    };
    let rules = Rules::new(vec![rule(Side::Initiator, 30, Some(1e6)), rule(Side::Acceptor, 5, None)]);
    let config = Config { rules, ..Config::new(Rate::UNLIMITED, Duration::from_secs(30)) };
    let (summary, log) = simulate(&upload(10_000), &config);
    conserved(&summary, &log);
    let (_, record, ..) = &log.connections[0];
    assert_eq!(record.rtt, ms(35));
    assert_eq!(record.established.unwrap().since(record.start), ms(35));
    // Full segments of 1,514 bytes pass the link every 12.112 ms, the flow's own bottleneck of 1 Mbit/s, or later.
    let data: Vec<Time> = log.packets.iter().filter(|packet| packet.payload_bytes == 1_460).map(|p| p.time).collect();
    let gaps: Vec<Duration> = data.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    let spaced = Duration::from_micros(12_112);
    assert!(gaps.iter().all(|&gap| gap >= spaced) && gaps.iter().filter(|&&gap| gap == spaced).count() > 3, "{gaps:?}");
}

/// Time between the last full segment and the 200th before it, when the link has long been the limit.
fn last_200(log: &Log) -> Duration {
    let data: Vec<Time> = log.packets.iter().filter(|packet| packet.payload_bytes == 1_460).map(|p| p.time).collect();
    data[data.len() - 1].since(data[data.len() - 201])
}

#[test]
fn a_trace_gives_the_link_its_opportunities() {
    let trace = |millis: &[u64]| Arc::new(Trace::new(millis.iter().map(|&n| ms(n)).collect()).unwrap());
    let mut config = config();
    // One opportunity in 2 ms from left to right, 6 Mbit/s; many back.
    config.bottleneck.trace = Some([trace(&[2]), trace(&[1])]);
    let (summary, log) = simulate(&upload(1_000_000), &config);
    conserved(&summary, &log);
    let millis = |packet: &PacketRecord| packet.time.as_nanos() % 2_000_000;
    assert!(log.packets.iter().filter(|packet| packet.from == LinkSide::Left).all(|packet| millis(packet) == 0));
    // 200 segments of 1,514 bytes are 201.87 opportunities.
    assert!([ms(402), ms(404)].contains(&last_200(&log)), "{}", last_200(&log));
}

#[test]
fn shapers_delay_and_policers_drop() {
    let bucket = BucketConfig::new("8mbit".parse().unwrap(), 20_000).unwrap();
    let mut shaped = config();
    shaped.bottleneck.shaper = Some(bucket);
    let (summary, log) = simulate(&upload(1_000_000), &shaped);
    conserved(&summary, &log);
    assert!(log.drops.is_empty());
    assert_eq!(last_200(&log), Duration::from_micros(200 * 1_514));
    let mut policed = config();
    policed.bottleneck.policer = Some(bucket);
    let (summary, log) = simulate(&upload(1_000_000), &policed);
    conserved(&summary, &log);
    assert!(!log.drops.is_empty() && log.drops.iter().all(|drop| drop.reason == DropReason::Policed));
    assert_eq!(summary.connections.completed, 1);
}
