//! One link against what arithmetic and queueing theory say it must do.

use flowloom_core::path::{Link, Offered, Passage};
use flowloom_core::queue::{Admission, DropTail, Packet, Queue};
use flowloom_core::record::DropReason;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_sim::open_loop::{self, Gaps, Results, Sizes, Source};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const WINDOW: Duration = Duration::from_secs(1_000_000);

fn link(rate: u64, delay: Duration, limit: Limit) -> Link {
    let queue = Queue::Arrival(Admission::DropTail(DropTail::new(limit)));
    Link::new(queue, Rate::from_bits_per_second(rate).unwrap(), delay, WINDOW)
}

fn offer(link: &mut Link, now: Time, bytes: u32) -> Result<Passage, DropReason> {
    link.offer(now, Packet::new(bytes)).map(|offered| match offered {
        Offered::Passes(passage) => passage,
        Offered::Queued => unreachable!("drop-tail decides at arrival"),
    })
}

/// A server with a mean service time of 1 ms (125,000 bytes at 1 Gbit/s, so that whole bytes are fine enough) under
/// Poisson arrivals at load `rho`.
fn single_server(rho: f64, sizes: Sizes, limit: Limit, packets: u64, seed: u64) -> (Results, Link) {
    let mut link = link(1_000_000_000, Duration::ZERO, limit);
    let source = Source { gaps: Gaps::Exponential(Duration::from_secs_f64(1e-3 / rho)), sizes };
    let results = open_loop::run(&mut link, &[source], packets, seed);
    (results, link)
}

fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let off = (measured / expected - 1.0).abs();
    assert!(off <= tolerance, "{what}: {measured} instead of {expected}, {:.2} % off", 100.0 * off);
}

/// Rate, latency, buffer and packet size in all combinations: what is delivered, when, and what is dropped.
#[test]
fn rate_by_latency_by_buffer_by_size() {
    for rate in [64_000, 1_500_000, 10_000_000, 1_000_000_000] {
        for delay in [0, 1, 20_000_000, 300_000_000].map(Duration::from_nanos) {
            for buffer in [0, 1, 7, 100] {
                for size in [40, 54, 1_000, 1_514, 65_535u32] {
                    let what = format!("{rate} bit/s, {delay}, {buffer} packets, {size} bytes");
                    let line = |n: u64| {
                        Duration::from_nanos(
                            (u128::from(n) * u128::from(size) * 8_000_000_000 / u128::from(rate)) as u64,
                        )
                    };
                    let mut link = link(rate, delay, Limit::Packets(buffer));
                    let start = Time::from_nanos(12_345);
                    let single = offer(&mut link, start, size).unwrap();
                    assert_eq!(single.arrived, start + line(1) + delay, "single packet: {what}");

                    // Two packets offered per transmission time, 1,000 transmission times long: one too many each time.
                    let mut link = self::link(rate, delay, Limit::Packets(buffer));
                    let arrivals: Vec<_> =
                        (0..2_000).map(|n| offer(&mut link, Time::ZERO + line(n / 2), size)).collect();
                    let carried: Vec<_> = arrivals.iter().flatten().collect();
                    // The line never rests: packet n leaves after exactly n transmission times, so the delivered rate is
                    // the link's, and what is dropped is what did not fit: everything but the carried and the buffered.
                    for (n, passage) in (1..).zip(&carried) {
                        assert_eq!(passage.departed, Time::ZERO + line(n), "{what}");
                        assert_eq!(passage.arrived, passage.departed + delay, "{what}");
                    }
                    assert_eq!(carried.len() as u64, 1_000 + buffer.min(1_000), "{what}");
                    let bits = 8.0 * f64::from(size) * carried.len() as f64;
                    assert_near(&what, bits / carried.last().unwrap().departed.as_secs_f64(), rate as f64, 1e-6);
                }
            }
        }
    }
}

/// Standard deviation of the mean wait over n packets at load 0.8 is 1.1 % of it for M/M/1 (Whitt 1989) at n = 1e6; half
/// of that for M/D/1. `examples/queueing_truth.rs` runs the whole table at 1e7.
#[test]
fn mm1_and_md1() {
    let unlimited = Limit::Packets(u64::MAX);
    for (rho, mm1, md1, tolerance) in [(0.5, 1.0, 0.5, 0.01), (0.8, 4.0, 2.0, 0.03)] {
        let (exponential, link) = single_server(rho, Sizes::Exponential(125_000.0), unlimited, 1_000_000, 1);
        assert_near("M/M/1 wait", exponential.mean_wait, mm1 * 1e-3, tolerance);
        assert_near("M/M/1 number", exponential.mean_number, rho / (1.0 - rho), tolerance);
        // What the link integrates itself, over its own window.
        let share = exponential.end.as_secs_f64() / WINDOW.as_secs_f64();
        assert_near("queue length", link.statistics().mean_packets() / share, rho * mm1, tolerance);
        assert_near("utilisation", link.statistics().utilisation() / share, rho, 0.01);
        // Nobody waits while the system holds none or one: (1 - rho)(1 + rho).
        let nonempty = (1.0 - link.statistics().empty_share()) / share;
        assert_near("queue not empty", nonempty, rho * rho, tolerance);

        let (constant, _) = single_server(rho, Sizes::Constant(125_000), unlimited, 1_000_000, 2);
        assert_near("M/D/1 wait", constant.mean_wait, md1 * 1e-3, tolerance);
        if rho == 0.8 {
            for (found, expected) in constant.found.iter().zip([0.2, 0.245_11, 0.189_41, 0.127_58, 0.083_28, 0.054_13])
            {
                assert_near("M/D/1 occupancy", *found as f64 / 1e6, expected, 0.03);
            }
        }
    }
}

#[test]
fn mm1_with_room_for_ten() {
    for (rho, blocking) in [(0.8, 0.023_493), (0.95, 0.069_427)] {
        // Nine wait and one is being served.
        let (results, _) = single_server(rho, Sizes::Exponential(125_000.0), Limit::Packets(9), 2_000_000, 3);
        assert_near("blocking", results.dropped as f64 / results.offered as f64, blocking, 0.03);
    }
}

/// Methods C.10: 1,000-byte packets on 1 Mbit/s at load 0.7, within the 99 % interval of 20 replications.
#[test]
fn validation_run_of_the_methods() {
    let replications = |sizes: Sizes| -> Vec<Results> {
        (0..20)
            .map(|seed| {
                let mut link = link(1_000_000, Duration::ZERO, Limit::Packets(u64::MAX));
                let gaps = Gaps::Exponential(Duration::from_secs_f64(0.008 / 0.7));
                open_loop::run(&mut link, &[Source { gaps, sizes }], 50_000, seed)
            })
            .collect()
    };
    let within = |what: &str, values: Vec<f64>, expected: f64| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // Student's t, 19 degrees of freedom, two-sided 99 %.
        let half = 2.860_9 * (variance / n).sqrt();
        assert!((mean - expected).abs() <= half, "{what}: {mean} +/- {half} instead of {expected}");
        assert!(half < 0.02 * expected, "{what}: an interval that wide shows nothing");
    };
    let constant = replications(Sizes::Constant(1_000));
    within("M/D/1 sojourn", constant.iter().map(|r| r.mean_sojourn).collect(), 0.017_333_3);
    within("M/D/1 number", constant.iter().map(|r| r.mean_number).collect(), 1.516_667);
    let exponential = replications(Sizes::Exponential(1_000.0));
    within("M/M/1 sojourn", exponential.iter().map(|r| r.mean_sojourn).collect(), 0.026_666_7);
    within("M/M/1 number", exponential.iter().map(|r| r.mean_number).collect(), 2.333_333);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is offered is carried or dropped, in order, never faster than the rate, and the queue never exceeds
    /// its limit.
    #[test]
    fn conservation(
        rate in 1_000u64..10_000_000_000,
        limit in prop_oneof![(0u64..50).prop_map(Limit::Packets), (0u64..50_000).prop_map(Limit::Bytes)],
        offers in prop::collection::vec((0u64..3_000_000, 1u32..10_000), 1..300),
    ) {
        let mut link = link(rate, Duration::from_nanos(17), limit);
        let (mut now, mut carried, mut dropped, mut bytes) = (Time::ZERO, 0, 0, 0u64);
        let mut last = Time::ZERO;
        let mut busy_since = Time::ZERO;
        let mut busy_bytes = 0u64;
        for &(gap, size) in &offers {
            now += Duration::from_nanos(gap);
            match offer(&mut link, now, size) {
                Ok(passage) => {
                    prop_assert!(passage.started >= last && passage.started >= now && passage.departed >= passage.started);
                    if passage.started > last || last == Time::ZERO {
                        (busy_since, busy_bytes) = (passage.started, 0);
                    }
                    busy_bytes += u64::from(size);
                    // Exact: a busy period of n bytes lasts floor(8n/rate) nanoseconds, wherever it is cut.
                    let exact = u128::from(busy_bytes) * 8_000_000_000 / u128::from(rate);
                    prop_assert_eq!(u128::from(passage.departed.since(busy_since).as_nanos()), exact);
                    last = passage.departed;
                    carried += 1;
                    bytes += u64::from(size);
                }
                Err(_) => dropped += 1,
            }
            let backlog = link.backlog();
            let within = match limit {
                Limit::Packets(most) => backlog.packets <= most,
                Limit::Bytes(most) => backlog.bytes <= most,
            };
            prop_assert!(within, "{:?} of {}", backlog, limit);
        }
        prop_assert_eq!(carried + dropped, offers.len());
        link.handle_timeout(last);
        prop_assert_eq!(link.backlog().packets, 0);
        prop_assert!(bytes as f64 * 8.0 / (rate as f64) <= last.as_secs_f64() + 1e-6);
    }
}
