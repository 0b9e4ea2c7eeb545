//! Sojourn times against queueing theory, against what the link itself measured, and against targets.

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::play::{Datagrams, Pacing};
use flowloom_core::queue::*;
use flowloom_core::record::*;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{LINK_HEADER_BYTES, Limit};
use flowloom_core::workload::*;
use flowloom_sim::{Config, DatagramFlow, run};

use crate::common::{Log, at, exchange, ms, simulate};

/// Bytes of a datagram on the link beside its payload.
const HEADERS: f64 = 28.0 + LINK_HEADER_BYTES as f64;
const RATE: f64 = 10e6;

/// Mean sojourn, and the mean over time with an idle link as 0, in seconds, of Poisson datagrams at a load.
fn poisson(load: f64, payload: &Law, packets: u64, seed: u64) -> [f64; 2] {
    let payload = Distribution::new(payload.clone()).unwrap();
    let gap = Duration::from_secs_f64(service(&payload)[0] / load);
    let window = gap * packets;
    let mut config = Config::new("10mbit".parse().unwrap(), window);
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(1 << 30));
    config.seed = seed;
    let datagrams =
        Datagrams { pacing: Pacing::Poisson, gap, payload, start: Time::ZERO, stop: Time::MAX, answered: false };
    config.datagrams =
        vec![DatagramFlow { id: 1, class: 0, from: LinkSide::Left, rtt: ms(1), ip_version: None, datagrams }];
    let mut log = Log::default();
    let none = std::iter::empty::<Result<ConnectionVector, Infallible>>();
    run(none, &config, &mut log, |_| ControlFlow::Continue(())).unwrap();
    let waits = log.sojourns.iter().map(|bin| bin.total.as_secs_f64()).sum::<f64>();
    let packets = log.sojourns.iter().map(|bin| bin.packets).sum::<u64>() as f64;
    let of_bin = |bin: &SojournRecord| bin.held.as_secs_f64() * bin.total.as_secs_f64() / bin.packets.max(1) as f64;
    assert!(log.sojourns.iter().all(|bin| bin.class == TrafficClass::Datagram && bin.fate == QueueFate::Transmitted));
    [waits / packets, log.sojourns.iter().map(of_bin).sum::<f64>() / window.as_secs_f64()]
}

/// Mean and second moment of the time that a datagram takes on the link.
fn service(payload: &Distribution) -> [f64; 2] {
    let many = 100_000;
    let times = (0..many).map(|n| {
        let bytes = payload.quantile((f64::from(n) + 0.5) / f64::from(many)).round() + HEADERS;
        bytes * 8.0 / RATE
    });
    times.fold([0.0, 0.0], |[sum, squares], time| [sum + time, squares + time * time]).map(|sum| sum / f64::from(many))
}

/// The wait of M/G/1 (Pollaczek and Khinchine) lies within the 99 % interval of 20 runs. `make validate` has longer ones.
#[test]
fn waits_are_those_of_theory() {
    for (law, name) in [(Law::Constant(958.0), "M/D/1"), (Law::Uniform { min: 60.0, max: 1_472.0 }, "M/G/1")] {
        let [mean, squares] = service(&Distribution::new(law.clone()).unwrap());
        for (load, packets, width) in [(0.5, 10_000, 0.05), (0.8, 20_000, 0.06), (0.9, 40_000, 0.1)] {
            let theory = load / mean * squares / (2.0 * (1.0 - load));
            let runs: Vec<[f64; 2]> = (0..20).map(|seed| poisson(load, &law, packets, seed)).collect();
            // At a time, the packet in transmission waited as long as any; the link is idle for the rest.
            for (place, expected) in [theory, load * theory].into_iter().enumerate() {
                let mean = runs.iter().map(|run| run[place]).sum::<f64>() / 20.0;
                let variance = runs.iter().map(|run| (run[place] - mean).powi(2)).sum::<f64>() / 19.0;
                // Student's t, 19 degrees of freedom, two-sided 99 %.
                let half = 2.860_9 * (variance / 20.0).sqrt();
                assert!((mean - expected).abs() <= half, "{name}, load {load}: {mean} +/- {half}, not {expected}");
                assert!(half <= width * expected, "{name}, load {load}: {half} of {expected} shows nothing");
            }
        }
    }
}

fn sum(records: &[&SojournRecord], of: fn(&SojournRecord) -> u64) -> u64 {
    records.iter().map(|record| of(record)).sum()
}

/// Whatever the discipline: the waiting times are the queue length integrated over time, every packet has one fate, and while the line
/// is busy a packet is the last that it took.
#[test]
fn sojourns_are_the_queue_over_time() {
    let limit = Limit::Packets(20);
    let vectors: Vec<_> = (0..40).map(|id| exchange(id, at(31 * id), 500, 150_000)).collect();
    for queue in [
        Discipline::DropTail(limit),
        Discipline::HeadDrop(limit),
        Discipline::Red(RedParams { limit, ..RedParams::default() }),
        Discipline::Pie(PieParams { limit, ..PieParams::default() }),
        Discipline::Codel(CodelParams { limit, ..CodelParams::default() }),
        Discipline::FqCodel(FqCodelParams { limit, ..FqCodelParams::default() }),
        Discipline::DeficitRoundRobin { limit, quantum: 1_514 },
        Discipline::Priority { limit, bands: 3 },
    ] {
        let mut config = Config::new("10mbit".parse().unwrap(), ms(60_000));
        config.bottleneck.queue = queue.clone();
        let (summary, log) = simulate(&vectors, &config);
        for (from, direction) in [LinkSide::Left, LinkSide::Right].into_iter().zip(&summary.directions) {
            let all: Vec<&SojournRecord> = log.sojourns.iter().filter(|record| record.from == from).collect();
            let of = |fate| -> Vec<&SojournRecord> { all.iter().copied().filter(|one| one.fate == fate).collect() };
            let packets = |fate| sum(&of(fate), |one| one.packets);
            assert_eq!(packets(QueueFate::Transmitted), direction.carried.total(), "{queue:?}");
            let dropped = packets(QueueFate::DroppedAtArrival) + packets(QueueFate::DroppedFromQueue);
            assert_eq!(dropped, direction.dropped.total(), "{queue:?}");
            let waited = sum(&all, |one| one.total.as_nanos()) as f64;
            let integral = direction.link.mean_packets() * 60e9;
            assert!((waited - integral).abs() <= 1e-9 * integral, "{queue:?}: {waited}, not {integral}");
            let held = sum(&all, |one| one.held.as_nanos()) as f64;
            let busy = direction.link.utilisation() * 60e9;
            assert!((held - busy).abs() <= 1e-9 * busy, "{queue:?}: {held}, not {busy}");
            assert!(all.iter().all(|one| one.class == TrafficClass::Sequential));
        }
        assert!(log.sojourns.iter().any(|one| one.fate != QueueFate::Transmitted), "{queue:?}");
    }
}

/// RFC 8033 4.2: long flows keep PIE's queue at its target of 15 ms.
#[test]
fn pie_keeps_its_target_delay() {
    let mut config = Config::new("10mbit".parse().unwrap(), ms(60_000));
    config.bottleneck.queue = Discipline::Pie(PieParams::default());
    config.results = Some([at(10_000), at(60_000)]);
    config.drain = ms(0);
    let long: Vec<_> = (0..10).map(|id| exchange(id, at(211 * id), 500, 1 << 28)).collect();
    let (_, log) = simulate(&long, &config);
    let of_data = |one: &&SojournRecord| one.from == LinkSide::Right && one.fate == QueueFate::Transmitted;
    let records: Vec<&SojournRecord> = log.sojourns.iter().filter(of_data).collect();
    let mean = sum(&records, |one| one.total.as_nanos()) as f64 / sum(&records, |one| one.packets) as f64 / 1e6;
    assert!((12.0..18.0).contains(&mean), "{mean} ms");
}
