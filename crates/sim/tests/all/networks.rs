//! Networks of several links: exact times, what is conserved, and that a dumbbell is one of them.

use std::ops::ControlFlow;

use crate::common::*;
use flowloom_core::path::LossModel;
use flowloom_core::queue::{CodelParams, Discipline};
use flowloom_core::record::{PacketRecord, QueueSample, ThroughputBin, Traffic};
use flowloom_core::tcp::EcnEcho;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability, Rate};
use flowloom_core::workload::Side::Initiator;
use flowloom_core::workload::*;
use flowloom_sim::{
    Class, Classed, Config, ConfigError, LinkConfig, LinkNumber, Monitored, RunError, Summary, Way, run,
};

fn link(rate: &str, delay: Duration, packets: u64) -> LinkConfig {
    let queue = Discipline::DropTail(Limit::Packets(packets));
    LinkConfig { delay, queue, ..LinkConfig::new(rate.parse().unwrap()) }
}

fn number(at: usize) -> LinkNumber {
    LinkNumber::other(at)
}

const THERE: LinkNumber = LinkNumber::bottleneck(LinkSide::Left);
const BACK: LinkNumber = LinkNumber::bottleneck(LinkSide::Right);

/// A link before and a link behind the bottleneck, both ways.
fn tandem(before: &LinkConfig, bottleneck: &LinkConfig, behind: &LinkConfig) -> Config {
    let mut config = Config::new(bottleneck.rate, ms(20_000));
    config.bottleneck = bottleneck.clone();
    config.links = vec![before.clone(), behind.clone(), behind.clone(), before.clone()];
    config.classes[0].way =
        Way { there: [number(0), THERE, number(1)].into(), back: [number(2), BACK, number(3)].into() };
    config
}

fn simulate_classed(vectors: &[(ConnectionVector, u16)], config: &Config) -> (Summary, Log) {
    let mut log = Log::default();
    let vectors = vectors.iter().cloned().map(|(vector, class)| Ok::<_, ()>(Classed { class, ..vector.into() }));
    let summary = run(vectors, config, &mut log, |_| ControlFlow::Continue(())).unwrap();
    (summary, log)
}

#[test]
fn a_packet_takes_the_sum_of_its_links() {
    let mut config = tandem(&link("1mbit", ms(3), 10), &link("2mbit", ms(5), 10), &link("4mbit", ms(7), 10));
    config.classes[0].tcp.delayed_ack = None;
    let (summary, log) = simulate(&[exchange(1, at(0), 100, 1)], &config);
    // The path stays 80 ms long: 20 ms to the left end, 60 ms to the right, links included.
    let lines = |bytes: u64| Duration::from_nanos(bytes * 8 * (1_000 + 500 + 250));
    let record = &log.connections[0].1;
    assert_eq!(record.rtt, ms(80));
    let established = ms(80) + lines(62) + lines(62);
    assert_eq!(record.established, Some(Time::ZERO + established));
    // Acknowledgement and request leave together: the request waits for the first line only, as the others are faster.
    let asked = established + ms(40) + lines(154) + Duration::from_nanos(54 * 8 * 1_000);
    // On the way back the slowest line comes last: there the response waits for the acknowledgement ahead of it.
    let answered = asked + ms(40) + lines(54) + Duration::from_nanos(55 * 8 * 1_000);
    assert_eq!(log.connections[0].2[0].end.unwrap(), Time::ZERO + answered);
    // The monitor stands behind the first link: 10 ms to it, of which the link is 3.
    assert_eq!(log.packets[0].time, Time::ZERO + ms(10) + Duration::from_nanos(62 * 8 * 1_500));
    assert!(log.packets.is_sorted_by_key(|packet| packet.time));
    assert_eq!(summary.links.len(), 4);
    assert!(summary.links.iter().all(|link| link.dropped.total() == 0 && link.offered.total() > 3));
    assert_eq!(summary.links[0].offered, summary.directions[0].offered);
    assert_eq!(summary.links[2].offered, summary.directions[1].offered);
}

#[test]
fn links_that_take_no_time_change_nothing() {
    let vectors: Vec<_> = (0..40).map(|id| exchange(id, at(37 * id), 2_000 + 300 * id, 90_000)).collect();
    let mut dumbbell = Config::new("6mbit".parse().unwrap(), ms(20_000));
    dumbbell.bottleneck = link("6mbit", ms(4), 20);
    let free = LinkConfig { rate: Rate::UNLIMITED, ..link("1mbit", Duration::ZERO, 1_000) };
    let around = tandem(&free, &dumbbell.bottleneck, &free);
    let ((small, small_log), (large, large_log)) = (simulate(&vectors, &dumbbell), simulate(&vectors, &around));
    assert!(small.directions[1].dropped.total() > 50);
    assert_eq!(small.directions, large.directions);
    assert_eq!(small_log, large_log);
}

/// Two classes meet on the last link, which neither the monitor nor one of them sees otherwise.
#[test]
fn what_other_links_drop_is_recorded_and_seen_by_the_monitor_before() {
    let mut config = Config::new("50mbit".parse().unwrap(), ms(20_000));
    config.bottleneck = link("50mbit", ms(1), 1_000);
    config.links = vec![link("4mbit", ms(1), 15), link("50mbit", ms(1), 1_000)];
    let ways = [
        Way { there: [THERE, number(0)].into(), back: [BACK].into() },
        Way { there: [number(0)].into(), back: [number(1)].into() },
    ];
    config.classes = ways.map(|way| Class { way, ..Class::default() }).into();
    let vectors: Vec<_> = (0..30).map(|id| (exchange(id, at(20 * id), 100_000, 100), (id % 2) as u16)).collect();
    let (summary, log) = simulate_classed(&vectors, &config);
    assert_eq!(summary.connections.completed, 30);
    assert_eq!(summary.directions[0].dropped.total(), 0);
    let lost = summary.links[0].dropped.total();
    assert!(lost > 100 && lost == summary.directions[0].lost_elsewhere && lost == log.drops.len() as u64);
    let (first, second): (Vec<_>, Vec<_>) = log.connections.iter().partition(|(vector, ..)| vector.id % 2 == 0);
    assert!(second.iter().all(|(.., monitor)| monitor.is_none()), "they do not come by the monitor");
    for (vector, _, _, monitor) in first {
        let seen = monitor.as_ref().unwrap();
        assert_eq!(seen.bytes(Initiator), vector.bytes(Initiator));
        let segments = seen.ends.initiator.segments.unwrap();
        let dropped = log.drops.iter().filter(|drop| drop.connection == vector.id).count() as u64;
        // Each loss behind the monitor is repeated past it.
        assert!(segments.duplicates >= dropped.saturating_sub(3), "{} of {dropped}", segments.duplicates);
    }
}

/// A queue that decides at departure, before and behind the bottleneck.
#[test]
fn packets_come_through_queues_of_either_kind() {
    let queue = Discipline::HeadDrop(Limit::Packets(12));
    for slow in [0, 1] {
        let fast = link("50mbit", ms(1), 1_000);
        let held = LinkConfig { queue: queue.clone(), ..link("3mbit", ms(1), 1) };
        let mut config = match slow {
            0 => tandem(&held, &fast, &fast),
            _ => tandem(&fast, &fast, &held),
        };
        config.drain = ms(300);
        config.window = ms(2_000);
        let vectors: Vec<_> = (0..20).map(|id| exchange(id, at(90 * id), 60_000, 60_000)).collect();
        // It is cut with packets everywhere; the run itself checks that they add up.
        let (summary, _) = simulate(&vectors, &config);
        assert!(summary.directions.iter().all(|direction| direction.lost_elsewhere > 0), "{slow}");
        assert!(summary.directions.iter().any(|direction| direction.in_flight > 0), "{slow}");
    }
}

/// A queue before the bottleneck marks packets; the bottleneck, which has no queue to speak of, marks none.
#[test]
fn a_mark_counts_at_the_queue_that_set_it() {
    let codel = Discipline::Codel(CodelParams { ecn: true, ..CodelParams::default() });
    let slow = LinkConfig { queue: codel.clone(), ..link("2mbit", ms(1), 1_000) };
    let fast = LinkConfig { queue: codel, ..link("50mbit", ms(1), 1_000) };
    for (before, bottleneck, are_its) in [(&slow, &fast, false), (&fast, &slow, true)] {
        let mut config = tandem(before, bottleneck, &link("100mbit", ms(1), 1_000));
        config.classes[0].tcp.ecn = EcnEcho::EachMark;
        let (_, log) = simulate(&[exchange(1, at(0), 2_000_000, 1)], &config);
        let marked: u64 = log.sojourns.iter().map(|bin| bin.marked).sum();
        assert_eq!(marked > 0, are_its, "{marked}");
    }
}

/// What a monitored link says of itself, as if it were the bottleneck.
fn at_monitored(log: &Log, first: u16) -> (Vec<QueueSample>, Vec<ThroughputBin>, Vec<PacketRecord>) {
    let samples = log.queue.iter().filter(|sample| sample.link >= first);
    let bins = log.bins.iter().filter(|bin| bin.link >= first);
    // Of other links all payload counts, repeated or not.
    let whole = |traffic| Traffic { payload_bytes: 0, ..traffic };
    let bin = |bin: &ThroughputBin| ThroughputBin {
        link: bin.link - first,
        offered: whole(bin.offered),
        carried: whole(bin.carried),
        ..*bin
    };
    let packets = match first {
        0 => log.packets.clone(),
        _ => log.elsewhere.iter().map(|(_, packet)| *packet).collect(),
    };
    (
        samples.map(|sample| QueueSample { link: sample.link - first, ..*sample }).collect(),
        bins.map(bin).collect(),
        packets,
    )
}

/// The same two links, one of which takes no time, with either as the bottleneck, for runs to the end and runs that are cut.
#[test]
fn a_monitored_link_says_what_it_would_say_as_the_bottleneck() {
    let vectors: Vec<_> = (0..40).map(|id| exchange(id, at(37 * id), 2_000 + 300 * id, 90_000)).collect();
    let free = LinkConfig { rate: Rate::UNLIMITED, ..link("1mbit", Duration::ZERO, 1_000) };
    let codel = Discipline::Codel(CodelParams::default());
    for (queue, drain) in [(None, 20_000), (None, 0), (Some(codel), 0)] {
        let mut slow = link("6mbit", ms(4), 20);
        slow.queue = queue.unwrap_or(slow.queue);
        let two = |bottleneck: &LinkConfig, other: &LinkConfig, there: [LinkNumber; 2]| {
            let mut config = Config::new(bottleneck.rate, ms(1_500));
            config.drain = ms(drain);
            config.bottleneck = bottleneck.clone();
            config.links = vec![other.clone(), other.clone()];
            let back = there.map(|link| if link == THERE { BACK } else { number(1) });
            config.classes[0].way = Way { there: there.into(), back: [back[1], back[0]].into() };
            config
        };
        let mut watched = two(&free, &slow, [THERE, number(0)]);
        watched.monitored = vec![Monitored { there: number(0), back: Some(number(1)) }];
        let (elsewhere, log) = simulate(&vectors, &watched);
        let (bottleneck, expected) = simulate(&vectors, &two(&slow, &free, [number(0), THERE]));
        assert_eq!(elsewhere.links[1].dropped, bottleneck.directions[1].dropped);
        assert!(bottleneck.directions[1].dropped.total() > 20, "{drain}");
        let (found, wanted) = (at_monitored(&log, 2), at_monitored(&expected, 0));
        assert!(wanted.0.len() > 50 && wanted.1.len() > 500 && wanted.2.len() > 500, "{drain}");
        assert!(found == wanted, "{drain}");
    }
}

#[test]
fn a_link_without_a_link_back_is_monitored_in_its_direction() {
    let mut config = tandem(&link("2mbit", ms(1), 9), &link("9mbit", ms(1), 99), &link("9mbit", ms(1), 99));
    config.monitored = vec![Monitored { there: number(0), back: None }];
    let vectors: Vec<_> = (0..20).map(|id| exchange(id, at(50 * id), 60_000, 1_000)).collect();
    let (summary, log) = simulate(&vectors, &config);
    let packets = |of: fn(&ThroughputBin) -> u64| log.bins.iter().filter(|bin| bin.link == 2).map(of).sum::<u64>();
    assert_eq!(packets(|bin| bin.offered.packets), summary.links[0].offered.total());
    let carried = summary.links[0].offered.total() - summary.links[0].dropped.total();
    assert!(summary.links[0].dropped.total() > 0);
    assert_eq!((packets(|bin| bin.carried.packets), log.elsewhere.len() as u64), (carried, carried));
    assert_eq!(log.queue.iter().filter(|sample| sample.link == 2).map(|sample| sample.packets).max(), Some(9));
    assert!(log.bins.iter().all(|bin| bin.link <= 2));
    let refused = |monitored: Vec<Monitored>| {
        matches!(Config { monitored, ..config.clone() }.validate(), Err(ConfigError::Monitored { .. }))
    };
    let one = |there| Monitored { there, back: None };
    assert!(
        refused(vec![one(THERE)]) && refused(vec![one(number(4))]) && refused(vec![one(number(1)), one(number(1))])
    );
}

#[test]
fn ways_that_lead_nowhere_are_refused() {
    let refused = |ways: Vec<Way>| {
        let classes = ways.into_iter().map(|way| Class { way, ..Class::default() }).collect();
        let config = Config { classes, ..Config::new(Rate::UNLIMITED, ms(1)) };
        matches!(config.validate(), Err(ConfigError::Way { .. }))
    };
    let way = |there: &[LinkNumber]| Way { there: there.into(), back: [BACK].into() };
    assert!(refused(vec![]));
    assert!(refused(vec![way(&[])]));
    assert!(refused(vec![way(&[THERE, number(0)])]), "there is no such link");
    assert!(refused(vec![way(&[THERE, THERE])]));
    assert!(refused(vec![way(&[BACK])]), "packets from the left would count as from the right");
    assert!(!refused(vec![way(&[THERE])]));
    let classed = Classed { class: 1, ..exchange(1, at(0), 1, 1).into() };
    let outcome = run([Ok::<_, ()>(classed)], &Config::new(Rate::UNLIMITED, ms(1)), &mut Log::default(), |_| {
        ControlFlow::Continue(())
    });
    assert!(matches!(outcome, Err(RunError::Config(ConfigError::Way { class: 1 }))));
}

/// Goodput at the bottleneck counts each byte once, also those whose first copy was lost before it.
#[test]
fn every_byte_passes_the_bottleneck_once_whatever_was_lost_before() {
    let slow = link("3mbit", ms(1), 12);
    let mut config = tandem(&slow, &link("50mbit", ms(1), 1_000), &link("50mbit", ms(1), 1_000));
    config.links[3] = link("50mbit", ms(1), 1_000);
    config.path[0].loss = LossModel::Bernoulli(Probability::new(0.02).unwrap());
    let vectors: Vec<_> = (0..20).map(|id| exchange(id, at(300 * id), 60_000, 60_000)).collect();
    let (summary, log) = simulate(&vectors, &config);
    assert_eq!(summary.connections.completed, 20);
    assert!(summary.directions[0].lost_elsewhere > 20 && summary.directions[0].lost.total() > 20);
    for from in [LinkSide::Left, LinkSide::Right] {
        let bins = || log.bins.iter().filter(|bin| bin.from == from);
        assert_eq!(bins().map(|bin| bin.carried.payload_bytes).sum::<u64>(), 20 * 60_000, "{from:?}");
        assert_eq!(bins().map(|bin| bin.offered.payload_bytes).sum::<u64>(), 20 * 60_000, "{from:?}");
    }
}
