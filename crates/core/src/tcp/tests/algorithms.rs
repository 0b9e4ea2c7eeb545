//! What the congestion controls differ in as seen on the wire, and that each of them carries everything.

use super::pair::Pair;
use super::transcript::Transcript;
use crate::rng::{Purpose, Stream};
use crate::tcp::congestion::{Algorithm, WindowCause};
use crate::tcp::{Config, InitialWindow, Limits};
use crate::time::{Duration, Time};

const KILO: Limits = Limits { mss: 1000, max_window: 65_535 };

/// Eight segments are sent; the first is lost and the others bring duplicates.
fn eight(congestion: Algorithm) -> Transcript {
    let config = Config { congestion, initial_window: InitialWindow::Segments(8), ..Config::default() };
    Transcript::established(config, KILO).play(
        "0.200 ! write 20000
         0.200 > .  1:1001 ack 1
         0.200 > .  1001:2001 ack 1
         0.200 > .  2001:3001 ack 1
         0.200 > .  3001:4001 ack 1
         0.200 > .  4001:5001 ack 1
         0.200 > .  5001:6001 ack 1
         0.200 > .  6001:7001 ack 1
         0.200 > .  7001:8001 ack 1
         0.300 < .  1:1 ack 1
         0.300 < .  1:1 ack 1
         0.300 < .  1:1 ack 1
         0.300 > .  1:1001 ack 1",
    )
}

/// No fast recovery: duplicates after the third send nothing, and slow start begins with one segment.
#[test]
fn tahoe_starts_again_from_one_segment() {
    eight(Algorithm::Tahoe).play(
        "0.300 = cwnd 1000
         0.300 < .  1:1 ack 1
         0.300 < .  1:1 ack 1
         0.300 < .  1:1 ack 1
         0.300 < .  1:1 ack 1
         0.300 -
         0.400 < .  1:1 ack 8001
         0.400 > .  8001:9001 ack 1
         0.400 > .  9001:10001 ack 1
         0.400 = cwnd 2000
         0.500 < .  1:1 ack 9001
         0.500 > .  10001:11001 ack 1
         0.500 > .  11001:12001 ack 1
         0.500 = timeouts 0",
    );
}

/// The first acknowledgement of new data ends recovery, so a second hole waits for the timer. NewReno's story is in
/// `loss.rs`.
#[test]
fn reno_repairs_one_hole_and_waits_for_the_timer_with_the_second() {
    eight(Algorithm::Reno).play(
        "0.300 = cwnd 7000
         0.400 < .  1:1 ack 2001
         0.400 = cwnd 4000
         0.400 < .  1:1 ack 2001
         0.400 < .  1:1 ack 2001
         0.400 < .  1:1 ack 2001
         0.400 -
         1.400 > .  2001:3001 ack 1
         1.400 = timeouts 1
         1.400 = cwnd 1000",
    );
}

/// A megabyte over a path that loses 2 %, with each algorithm.
#[test]
fn each_algorithm_carries_everything() {
    for congestion in Algorithm::all() {
        for seed in 0..5 {
            let config = Config { congestion: congestion.clone(), data_retries: 255, ..Config::default() };
            let mut pair = Pair::new(config, [Limits::default(); 2], Duration::from_millis(20));
            let mut stream = Stream::new(seed, Purpose::Loss, 0);
            pair.pipe =
                Some(Box::new(move |_, _| if stream.below(50) == 0 { Vec::new() } else { vec![Duration::ZERO] }));
            pair.ends[0].write(1_000_000);
            pair.ends[0].close();
            pair.ends[1].close();
            pair.kick();
            pair.run_until(Time::ZERO + Duration::from_secs(100_000));
            assert_eq!(pair.ends[1].bytes_received(), 1_000_000, "{congestion}, seed {seed}");
            assert!(pair.ends.iter().all(|end| end.is_closed()), "{congestion}, seed {seed}");
            assert!(pair.ends[0].retransmissions() > 0, "{congestion}, seed {seed}");
            assert_ne!(pair.ends[0].window_cause(), WindowCause::Initial, "{congestion}, seed {seed}");
        }
    }
}
