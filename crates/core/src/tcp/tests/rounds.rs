//! Known answers for a single flow without loss: rounds of slow start, throughput of a fixed window.

use super::pair::Pair;
use crate::tcp::{Config, InitialWindow, Limits};
use crate::time::{Duration, Time};

const MSS: u64 = 1000;

/// How many round trips it takes until the last of `segments` is sent. The round trip is so much longer than the
/// delayed-acknowledgement timer that its delays never add up to a round.
fn rounds(initial_window: u16, segments: u64, delayed_ack: Option<Duration>) -> u64 {
    let initial_window = InitialWindow::Segments(initial_window);
    let config = Config { initial_window, delayed_ack, ..Config::default() };
    let limits = Limits { mss: MSS as u16, max_window: 1 << 30 };
    let one_way = Duration::from_millis(400);
    let mut pair = Pair::new(config, [limits; 2], one_way);
    pair.ends[0].write(segments * MSS);
    pair.run_until(Time::ZERO + Duration::from_secs(60));
    assert_eq!(pair.ends[1].bytes_received(), segments * MSS);
    assert_eq!(pair.ends[0].retransmissions(), 0);
    let data = || pair.sent.iter().filter(|(_, end, segment)| *end == 0 && segment.payload_bytes > 0);
    let (first, last) = (data().next().unwrap().0, data().next_back().unwrap().0);
    1 + last.since(first).as_nanos() / (one_way * 2).as_nanos()
}

#[test]
fn slow_start_takes_the_known_number_of_rounds() {
    let at = |initial_window, ack| [7, 14, 70, 700].map(|segments| rounds(initial_window, segments, ack));
    assert_eq!(at(1, None), [3, 4, 7, 10]);
    assert_eq!(at(2, None), [3, 3, 6, 9]);
    assert_eq!(at(4, None), [2, 3, 5, 8]);
    assert_eq!(at(10, None), [1, 2, 3, 7]);
    let delayed = Some(Duration::from_millis(1));
    assert_eq!(at(1, delayed), [4, 5, 8, 14]);
    assert_eq!(at(10, delayed), [1, 2, 4, 9]);
}

/// Bits per second once the window is full (methods B.4).
fn throughput(max_window: u32, mss: u16, rtt: Duration) -> f64 {
    let config = Config { delayed_ack: None, ..Config::default() };
    let limits = Limits { mss, max_window };
    let mut pair = Pair::new(config, [limits; 2], rtt / 2);
    pair.ends[0].write(1 << 40);
    pair.run_until(Time::ZERO + rtt * 100);
    let before = pair.ends[1].bytes_received();
    pair.run_until(Time::ZERO + rtt * 300);
    (pair.ends[1].bytes_received() - before) as f64 * 8.0 / (rtt * 200).as_secs_f64()
}

#[test]
fn a_fixed_window_gives_window_over_round_trip() {
    let rtt = Duration::from_millis(80);
    assert_eq!(throughput(8 * 1024, 1024, rtt), 819_200.0);
    assert_eq!(throughput(64 * 1024, 1024, rtt), 65_536.0 * 8.0 / 0.08);
    assert_eq!(throughput(8 * 1024, 1460, rtt), 5.0 * 1460.0 * 8.0 / 0.08, "whole segments");
    assert_eq!(throughput(1000, 1460, rtt), 1000.0 * 8.0 / 0.08, "less than a segment");
}
