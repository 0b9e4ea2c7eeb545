//! Latency under load: probes against what is known of paths and queues.

use std::ops::ControlFlow;

use flowloom_core::distribution::Distribution;
use flowloom_core::play::{Datagrams, Pacing};
use flowloom_core::queue::{Discipline, FqCodelParams};
use flowloom_core::record::*;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Limit;
use flowloom_core::workload::*;
use flowloom_sim::*;

use crate::common::{Log, at, exchange, ms};

/// Bytes of the payload of a probe; 42 of headers come on top, of a segment 54.
const PAYLOAD: u32 = 64;

/// Probes of 64 bytes from the left, with a mean gap.
fn probes(pacing: Pacing, gap: Duration, rtt: Duration) -> DatagramFlow {
    let payload = Distribution::constant(PAYLOAD.into()).unwrap();
    let datagrams = Datagrams { pacing, gap, payload, start: at(0), stop: Time::MAX, answered: true };
    DatagramFlow { id: ProbeRecord::FIRST, class: 0, from: LinkSide::Left, rtt, ip_version: None, datagrams }
}

/// Datagrams of so many bytes on the link from the left.
fn load(pacing: Pacing, gap: Duration, bytes: u32) -> DatagramFlow {
    let payload = Distribution::constant((bytes - 42).into()).unwrap();
    let datagrams = Datagrams { pacing, gap, payload, start: at(0), stop: Time::MAX, answered: false };
    DatagramFlow { id: 1, class: 0, from: LinkSide::Left, rtt: ms(2), ip_version: None, datagrams }
}

fn simulated(connections: Vec<Classed>, config: &Config) -> (Summary, Log) {
    let mut log = Log::default();
    let summary =
        run(connections.into_iter().map(Ok::<_, ()>), config, &mut log, |_| ControlFlow::Continue(())).unwrap();
    (summary, log)
}

/// Over an idle link a probe takes the path's delay and what the link takes for its bits, and the queue has seen it; no traffic has.
#[test]
fn an_idle_path_is_measured_exactly() {
    let mut config = Config::new("1mbit".parse().unwrap(), ms(10_000));
    config.datagrams = vec![probes(Pacing::Constant, ms(100), ms(30))];
    let mut request = exchange(ProbeRecord::FIRST + 1, at(50), PAYLOAD.into(), PAYLOAD.into());
    request.ends = PerSide::default();
    request.stated_rtt = Some(ms(30));
    let (summary, log) = simulated(vec![Classed { vector: request, class: 0, origin: Origin::Probe }], &config);
    let bits = |bytes: u64| Duration::from_micros(8 * bytes);
    let way = ms(15) + bits(106);
    let (requests, datagrams): (Vec<&ProbeRecord>, Vec<&ProbeRecord>) =
        log.probes.iter().partition(|probe| probe.kind == ProbeKind::Request);
    assert_eq!(datagrams.len(), 100);
    for (number, probe) in (0..).zip(&datagrams) {
        let expected = ProbeRecord {
            number,
            kind: ProbeKind::Datagram,
            from: LinkSide::Left,
            sent: at(100 * number),
            connect: None,
            round_trip: Some(way * 2),
            there: Some(way),
            back: Some(way),
            lost: false,
        };
        assert_eq!(**probe, expected);
    }
    // SYNs have 62 bytes, the request and its response 118, with an acknowledgement in each.
    let [request] = requests[..] else { panic!("one request") };
    assert_eq!((request.sent, request.connect), (at(50), Some(ms(30) + bits(62) * 2)));
    assert_eq!(request.round_trip, Some(ms(30) + bits(118) * 2 + bits(54)), "behind the acknowledgement of the SYN");
    assert_eq!(request.total(), Some(ms(60) + bits(62) * 2 + bits(118) * 2 + bits(54)));
    assert!(log.bins.is_empty() && log.sources.is_empty() && log.connections.is_empty(), "no traffic");
    assert_eq!(summary.connections, ConnectionCounts::default());
    let class = &summary.classes[0];
    let payload = 101 * u64::from(PAYLOAD);
    assert_eq!((class.to_acceptors_bytes, class.to_initiators_bytes), (payload, payload), "of both kinds, both ways");
    assert!(log.sojourns.iter().all(|bin| bin.class == TrafficClass::Probe));
    let carried = summary.directions[0].carried;
    assert!(carried.data >= 101 && carried.total() == summary.directions[0].offered.total(), "the link's totals");
}

/// Poisson probes see the time average (PASTA): beside Poisson datagrams their wait is that of M/G/1, within the 99 % interval of 20 runs.
#[test]
fn poisson_probes_wait_as_theory_says() {
    const RATE: f64 = 10e6;
    let (big, small) = (1_000.0 * 8.0 / RATE, 106.0 * 8.0 / RATE);
    let (gap, every) = (Duration::from_secs_f64(big / 0.7), ms(20));
    let rates = [1.0 / gap.as_secs_f64(), 1.0 / every.as_secs_f64()];
    let load_of = rates[0] * big + rates[1] * small;
    let theory = (rates[0] * big * big + rates[1] * small * small) / (2.0 * (1.0 - load_of));
    let waits: Vec<f64> = (0..20)
        .map(|seed| {
            let mut config = Config::new("10mbit".parse().unwrap(), ms(40_000));
            config.bottleneck.queue = Discipline::DropTail(Limit::Packets(1 << 30));
            config.seed = seed;
            config.datagrams = vec![probes(Pacing::Poisson, every, ms(10)), load(Pacing::Poisson, gap, 1_000)];
            let (_, log) = simulated(Vec::new(), &config);
            assert!(log.probes.len() > 1_500 && log.probes.iter().all(|probe| !probe.lost));
            let there = log.probes.iter().map(|probe| probe.there.unwrap().as_secs_f64()).sum::<f64>();
            there / log.probes.len() as f64 - 0.005 - small
        })
        .collect();
    let mean = waits.iter().sum::<f64>() / 20.0;
    let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / 19.0;
    // Student's t, 19 degrees of freedom, two-sided 99 %.
    let half = 2.860_9 * (variance / 20.0).sqrt();
    assert!((mean - theory).abs() <= half, "{mean} +/- {half}, not {theory}");
    assert!(half <= 0.06 * theory, "{half} of {theory} shows nothing");
}

/// A full drop-tail buffer is what a probe waits for that gets in: its bytes over the rate, to the packet that does not fit.
#[test]
fn a_full_buffer_is_what_probes_wait_for() {
    let mut config = Config::new("10mbit".parse().unwrap(), ms(20_000));
    let (bytes, packet) = (50_000, 1_000);
    config.bottleneck.queue = Discipline::DropTail(Limit::Bytes(bytes));
    // Twice as much as the link carries.
    let gap = Duration::from_micros(400);
    config.datagrams = vec![probes(Pacing::Poisson, ms(10), ms(10)), load(Pacing::Constant, gap, packet)];
    let (summary, log) = simulated(Vec::new(), &config);
    let bits = |bytes: u64| Duration::from_nanos(800 * bytes);
    let later = log.probes.iter().filter(|probe| probe.sent > at(1_000));
    let known: Vec<Duration> = later.clone().filter_map(|probe| probe.there).collect();
    assert!(known.len() > 1_000);
    for there in &known {
        let wait = *there - ms(5) - bits(106);
        let packet = u64::from(packet);
        assert!((bits(bytes - 2 * packet)..=bits(bytes + packet)).contains(&wait), "{wait} for {bytes} bytes");
    }
    // Each packet of the traffic, and of probes, is accounted for apart.
    let offered: u64 = log.bins.iter().map(|bin| bin.offered.packets).sum();
    let [left, right] = &summary.directions;
    assert_eq!(right.offered.total(), log.probes.iter().filter(|probe| probe.there.is_some()).count() as u64);
    assert_eq!(offered, left.offered.total() - log.probes.len() as u64);
    let dropped = log.drops.iter().filter(|drop| ProbeRecord::has(drop.connection)).count();
    assert_eq!(dropped, log.probes.iter().filter(|probe| probe.lost).count());
}

/// A queue that is fair to flows takes probes before the bulk: what they meet is not the delay of its queue.
#[test]
fn a_fair_queue_favours_probes() {
    let mut config = Config::new("10mbit".parse().unwrap(), ms(20_000));
    let limit = Limit::Packets(1_000);
    config.bottleneck.queue = Discipline::FqCodel(FqCodelParams { limit, ..FqCodelParams::default() });
    config.datagrams = vec![probes(Pacing::Poisson, ms(20), ms(20))];
    let bulk = |id| {
        let vector = ConnectionVector { adus: Vec::new(), ..exchange(id, at(id), 1, 1) };
        Classed { vector, class: 0, origin: Origin::Source { endless_until: Some(at(20_000)) } }
    };
    let (_, log) = simulated((1..=4).map(bulk).collect(), &config);
    let of = |class| {
        let bins = log
            .sojourns
            .iter()
            .filter(|bin| (bin.class, bin.from, bin.fate) == (class, LinkSide::Left, QueueFate::Transmitted));
        let [total, packets] =
            bins.fold([0.0, 0.0], |[time, n], bin| [time + bin.total.as_secs_f64(), n + bin.packets as f64]);
        total / packets
    };
    let (probe, bulk) = (of(TrafficClass::Probe), of(TrafficClass::Source));
    assert!(probe < 0.0025 && bulk > 4.0 * probe, "{probe} and {bulk}");
}

/// A run that is cut does not call lost what may still come, and what it has lost is known.
#[test]
fn a_cut_run_knows_what_was_under_way() {
    let mut config = Config::new("1mbit".parse().unwrap(), ms(1_000));
    config.drain = Duration::ZERO;
    config.datagrams = vec![probes(Pacing::Constant, ms(100), ms(250))];
    let (summary, log) = simulated(Vec::new(), &config);
    let [answered, lost] = [|probe: &&ProbeRecord| probe.round_trip.is_some(), |probe: &&ProbeRecord| probe.lost]
        .map(|of| log.probes.iter().filter(of).count());
    assert_eq!((log.probes.len(), answered, lost), (10, 8, 0));
    assert_eq!(summary.directions[0].remaining.total(), summary.directions[0].remaining_probes);
}
