//! TCP over the dumbbell against known answers: slow start by the round, and what a flow makes of a buffer.

use crate::common::{at, exchange, ms, simulate, vector};
use flowloom_core::queue::Discipline;
use flowloom_core::record::Outcome;
use flowloom_core::tcp::{InitialWindow, RtoConfig};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_core::workload::{ConnectionVector, Pattern, Side};
use flowloom_sim::Config;

const MSS: u64 = 1_460;

/// A transfer of `bytes` to the right, 50 ms either side of the monitor per 100 ms of `rtt`, with room for it all.
fn transfer(rtt: Duration, bytes: u64) -> ConnectionVector {
    let mut vector = exchange(1, at(0), bytes, 1);
    for end in [&mut vector.ends.initiator, &mut vector.ends.acceptor] {
        end.min_transit = Some(rtt / 2);
        end.max_window = Some(1 << 30);
    }
    vector
}

/// Round trips until the last of `segments` was sent in slow start.
///
/// The link takes 1 ms for a segment, and a lone segment is acknowledged after 1.5 ms: so the two segments that such an
/// acknowledgement brings join the end of their round, and rounds of w segments are acknowledged ceil(w / 2) times. A
/// round trip of 10 s is long against all that.
fn rounds(segments: u64, initial: u16, delayed: bool) -> u64 {
    let rtt = Duration::from_secs(10);
    let rate = Rate::from_bits_per_second(1_514 * 8 * 1_000).unwrap();
    let mut config = Config::new(rate, Duration::from_secs(10_000));
    config.classes[0].tcp.initial_window = InitialWindow::Segments(initial);
    config.classes[0].tcp.delayed_ack = delayed.then_some(Duration::from_micros(1_500));
    config.classes[0].tcp.rto.initial = Duration::from_secs(60);
    config.classes[0].tcp.rto.min = Duration::from_secs(60);
    let (_, log) = simulate(&[transfer(rtt, segments * MSS)], &config);
    let record = &log.connections[0].1;
    assert_eq!((record.outcome, record.retransmissions), (Outcome::Completed, 0));
    let data: Vec<Time> = log.packets.iter().filter(|p| p.payload_bytes > 1).map(|p| p.time).collect();
    assert_eq!(data.len() as u64, segments);
    data.last().unwrap().since(data[0]).as_nanos() / rtt.as_nanos() + 1
}

#[test]
fn rounds_of_slow_start() {
    let sizes = [7, 14, 70, 700];
    for (initial, without, with) in [
        (1, [3, 4, 7, 10], [4, 5, 8, 14]),
        // Delayed acknowledgements, rounds of w + ceil(w / 2): 2, 3, 5, 8, 12, 18, 27, ... and 4, 6, 9, 14, 21, 32, ...
        (2, [3, 3, 6, 9], [3, 4, 7, 13]),
        (4, [2, 3, 5, 8], [2, 3, 6, 11]),
        (10, [1, 2, 3, 7], [1, 2, 4, 9]),
    ] {
        let what = format!("initial window {initial}");
        assert_eq!(sizes.map(|n| rounds(n, initial, false)), without, "{what}, every segment acknowledged");
        assert_eq!(sizes.map(|n| rounds(n, initial, true)), with, "{what}, delayed acknowledgements");
    }
}

/// One Reno flow over a bandwidth-delay product of 200 packets and a buffer of a share of it, without delayed
/// acknowledgements, after the first loss: the saw-tooth of congestion avoidance.
#[test]
fn utilisation_of_one_flow_by_buffer() {
    let rtt = ms(100);
    let rate = Rate::from_bits_per_second(200 * 1_514 * 8 * 10).unwrap();
    // The window falls from (1 + b) to half of it and rises by a segment a round, which takes a round-trip time up to the
    // product and longer above: 3/8 (1 + b)^2 / ((1 - b) / 2 + ((1 + b)^2 - 1) / 2), for b of 0.025 to 1.
    for (buffer, expected) in [(5, 0.768), (20, 0.818), (50, 0.893), (100, 0.964), (200, 1.0)] {
        let mut config = Config::new(rate, Duration::from_secs(600));
        config.bottleneck.queue = Discipline::DropTail(Limit::Packets(buffer));
        config.classes[0].tcp.delayed_ack = None;
        config.drain = Duration::ZERO;
        let (summary, log) = simulate(&[transfer(rtt, 10_000_000_000)], &config);
        let losses: Vec<Time> = log.drops.iter().map(|drop| drop.time).collect();
        // From one loss of congestion avoidance to another: whole teeth. The first ones are the overshoot of slow start.
        let start = *losses.iter().find(|time| time.since(losses[0]) > Duration::from_secs(30)).unwrap();
        let end = *losses.last().unwrap();
        let teeth = losses.iter().filter(|&&time| time >= start).count() - 1;
        assert!(teeth >= 10, "{teeth} teeth show too little");
        let carried: u64 = log
            .packets
            .iter()
            .filter(|packet| packet.payload_bytes > 0 && packet.time >= start && packet.time < end)
            .map(|packet| u64::from(packet.payload_bytes) + 54)
            .sum();
        let utilisation =
            carried as f64 * 8.0 / (end.since(start).as_secs_f64() * rate.bits_per_second().unwrap() as f64);
        assert!(
            (utilisation - expected).abs() <= 0.03,
            "buffer {buffer}: {utilisation:.3} instead of {expected}, {summary:?}"
        );
    }
}

/// Requests and responses of all sizes, steady for many round trips, on paths up to three times as long as the least
/// timeout: nothing is lost, so nothing may be taken for lost, whatever the delay of acknowledgements.
#[test]
fn a_path_without_loss_sees_no_timeout() {
    for rtt in [50, 150, 190, 250, 600] {
        for delayed_ack in [40, 100, 199] {
            let adu = |n: u64| match n % 2 {
                0 => (Side::Initiator, 300, ms(0)),
                _ => (Side::Acceptor, 1_000 + 7_001 * (n % 9), ms(700)),
            };
            let mut vector = vector(1, at(0), Pattern::Sequential, &(0..40).map(adu).collect::<Vec<_>>());
            vector.ends.initiator.min_transit = Some(ms(rtt / 4));
            vector.ends.acceptor.min_transit = Some(ms(rtt - rtt / 4));
            let mut config = Config::new("1gbit".parse().unwrap(), Duration::from_secs(1_000));
            config.classes[0].tcp.initial_window = InitialWindow::Segments(10);
            config.classes[0].tcp.delayed_ack = Some(ms(delayed_ack));
            let seen = |rto| {
                let mut config = config.clone();
                config.classes[0].tcp.rto = rto;
                let (_, log) = simulate(std::slice::from_ref(&vector), &config);
                let record = &log.connections[0].1;
                assert_eq!(record.outcome, Outcome::Completed);
                (record.timeouts, record.retransmissions)
            };
            let what = format!("{rtt} ms, acknowledgements delayed by {delayed_ack} ms");
            assert_eq!(seen(RtoConfig::with_margin(ms(200))), (0, 0), "{what}");
            assert_eq!(seen(RtoConfig::default()), (0, 0), "RFC 6298's least timeout of 1 s: {what}");
        }
    }
}
