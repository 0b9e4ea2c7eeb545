//! Sending without loss: slow start, windows, idle restart, push.

use super::transcript::Transcript;
use crate::tcp::{Config, InitialWindow, Limits, Sack};

fn config(initial_window: InitialWindow) -> Config {
    Config { initial_window, ..Config::default() }
}

const KILO: Limits = Limits { mss: 1000, max_window: 65_535 };

#[test]
fn slow_start_adds_a_segment_per_acknowledgement() {
    Transcript::established(config(InitialWindow::Segments(2)), KILO)
        .play(
            "0.200 ! write 9500
             0.200 > .  1:1001 ack 1
             0.200 > .  1001:2001 ack 1
             0.300 < .  1:1 ack 1001
             0.300 = cwnd 3000
             0.300 > .  2001:3001 ack 1
             0.300 > .  3001:4001 ack 1
             0.301 < .  1:1 ack 2001
             0.301 > .  4001:5001 ack 1
             0.301 > .  5001:6001 ack 1
             0.400 < .  1:1 ack 4001
             0.400 = cwnd 5000
             0.400 > .  6001:7001 ack 1
             0.400 > .  7001:8001 ack 1
             0.400 > .  8001:9001 ack 1
             0.400 = unsent 500
             0.401 < .  1:1 ack 6001
             0.401 = cwnd 6000
             0.401 > P. 9001:9501 ack 1
             0.401 = transmitted 9500
             0.500 < .  1:1 ack 9501
             0.500 = acked 9500",
        )
        .rests();
}

#[test]
fn initial_windows() {
    assert_eq!(InitialWindow::Rfc5681.bytes(1460), 3 * 1460);
    assert_eq!(InitialWindow::Rfc5681.bytes(536), 4 * 536);
    assert_eq!(InitialWindow::Rfc5681.bytes(4000), 8000);
    assert_eq!(InitialWindow::Rfc6928.bytes(1460), 14_600);
    assert_eq!(InitialWindow::Rfc6928.bytes(536), 5360);
    assert_eq!(InitialWindow::Rfc6928.bytes(9000), 18_000);
    assert_eq!(InitialWindow::Segments(1).bytes(1460), 1460);
}

#[test]
fn the_peers_window_is_filled_with_whole_segments() {
    Transcript::connect(config(InitialWindow::Rfc6928), Limits::default()).play(
        "0.000 > S  0:1 mss 1460 ws 0
             0.000 ! write 20000
             0.080 < S. 0:1 ack 1 win 4096 mss 1460
             0.080 > .  1:1461 ack 1
             0.080 > .  1461:2921 ack 1
             0.160 < .  1:1 ack 2921 win 4096
             0.160 > .  2921:4381 ack 1
             0.160 > .  4381:5841 ack 1",
    );
}

/// RFC 9293 section 3.8.6.2.1, (3): a peer whose whole window is less than two segments gets half of it at once.
#[test]
fn half_of_the_largest_window_is_worth_a_segment() {
    Transcript::connect(config(InitialWindow::Rfc6928), Limits::default()).play(
        "0.000 > S  0:1 mss 1460 ws 0
         0.000 ! write 5000
         0.080 < S. 0:1 ack 1 win 2000 mss 1460
         0.080 > .  1:1461 ack 1
         0.160 < .  1:1 ack 1461 win 1000
         0.160 > .  1461:2461 ack 1
         0.240 < .  1:1 ack 2461 win 999
         0.300 -
         0.320 < .  1:1 ack 2461 win 2000
         0.320 > .  2461:3921 ack 1",
    );
}

/// (4): what is less waits for the timer.
#[test]
fn a_small_window_is_filled_after_a_timeout() {
    let config = Config { sack: Sack::On, ..config(InitialWindow::Rfc6928) };
    Transcript::connect(config, Limits::default()).play(
        "0.000 > S  0:1 mss 1460 ws 0 sok
         0.000 ! write 5000
         0.080 < S. 0:1 ack 1 win 4000 mss 1460 sok
         0.080 > .  1:1461 ack 1
         0.080 > .  1461:2921 ack 1
         0.160 < .  1:1 ack 2921 win 700
         1.160 > .  2921:3621 ack 1
         1.240 < .  1:1 ack 3621 win 0
         2.240 > .  3621:3622 ack 1
         2.320 < .  1:1 ack 3621 win 0
         4.240 > .  3621:3622 ack 1
         4.320 < .  1:1 ack 3621 win 0
         4.330 < .  1:1 ack 3621 win 0
         4.340 < .  1:1 ack 3621 win 0
         4.400 < .  1:1 ack 3621 win 4000
         4.400 > .  3621:3622 ack 1
         4.400 > P. 3622:5001 ack 1
         4.400 = timeouts 0
         4.400 = cwnd 14600
         4.500 < .  1:1 ack 5001 win 4000",
    );
}

/// RFC 9293 section 3.8.6.1: a connection whose probes are answered stays open.
#[test]
fn probes_that_nobody_answers_end_the_connection() {
    let config = Config { data_retries: 3, ..config(InitialWindow::Rfc6928) };
    Transcript::connect(config, Limits::default()).play(
        "0.000 > S  0:1 mss 1460 ws 0
         0.000 ! write 5000
         0.080 < S. 0:1 ack 1 win 0 mss 1460
         0.080 > .  1:1 ack 1
         1.080 > .  1:2 ack 1
         3.080 > .  1:2 ack 1
         3.100 < .  1:1 ack 1 win 0
         7.080 > .  1:2 ack 1
         15.08 > .  1:2 ack 1
         31.08 -
         31.08 = reset true",
    );
}

#[test]
fn an_overtaken_acknowledgement_does_not_bring_its_window_back() {
    Transcript::established(config(InitialWindow::Segments(4)), KILO).play(
        "0.200 ! write 9000
         0.200 > .  1:1001 ack 1
         0.200 > .  1001:2001 ack 1
         0.200 > .  2001:3001 ack 1
         0.200 > .  3001:4001 ack 1
         0.300 < .  1:1 ack 2001 win 2000
         0.310 < .  1:1 ack 1001 win 65535
         0.310 -",
    );
}

#[test]
fn an_unused_window_does_not_grow() {
    Transcript::established(config(InitialWindow::Segments(4)), KILO)
        .play(
            "0.200 ! write 1000
             0.200 > P. 1:1001 ack 1
             0.300 < .  1:1 ack 1001
             0.300 = cwnd 4000
             0.400 ! write 3000
             0.400 > .  1001:2001 ack 1
             0.400 > .  2001:3001 ack 1
             0.400 > P. 3001:4001 ack 1
             0.500 < .  1:1 ack 4001
             0.500 = cwnd 5000",
        )
        .rests();
}

#[test]
fn after_an_idle_timeout_the_window_starts_again() {
    let grown = "0.200 ! write 8000
         0.200 > .  1:1001 ack 1
         0.200 > .  1001:2001 ack 1
         0.200 > .  2001:3001 ack 1
         0.200 > .  3001:4001 ack 1
         0.300 < .  1:1 ack 4001
         0.300 > .  4001:5001 ack 1
         0.300 > .  5001:6001 ack 1
         0.300 > .  6001:7001 ack 1
         0.300 > P. 7001:8001 ack 1
         0.400 < .  1:1 ack 8001
         0.400 = cwnd 6000";
    // Exactly one timeout (1 s) after the last data is not yet idle for more than one.
    let not_yet = "1.300 ! write 6000
         1.300 > .  8001:9001 ack 1
         1.300 > .  9001:10001 ack 1
         1.300 > .  10001:11001 ack 1
         1.300 > .  11001:12001 ack 1
         1.300 > .  12001:13001 ack 1
         1.300 > P. 13001:14001 ack 1";
    let later = not_yet.replace("1.300", "1.301");
    let restarted: String = later.lines().take(5).collect::<Vec<_>>().join("\n");
    let four = config(InitialWindow::Segments(4));
    Transcript::established(four.clone(), KILO).play(grown).play(not_yet);
    Transcript::established(four.clone(), KILO).play(grown).play(&restarted);
    Transcript::established(Config { restart_after_idle: false, ..four }, KILO).play(grown).play(&later);
}

#[test]
fn a_write_ends_a_segment_and_waiting_writes_share_one() {
    Transcript::established(config(InitialWindow::Segments(2)), KILO).play(
        "0.200 ! write 300
             0.200 > P. 1:301 ack 1
             0.200 ! write 1300
             0.200 > .  301:1301 ack 1
             0.200 > P. 1301:1601 ack 1
             0.200 ! write 600
             0.200 ! write 600
             0.300 < .  1:1 ack 1301
             0.300 > .  1601:2601 ack 1
             0.300 > P. 2601:2801 ack 1",
    );
}

/// Without byte counting an acknowledgement of two segments widens the window as one of a single segment does.
#[test]
fn delayed_acknowledgements_halve_the_growth_where_acknowledgements_are_counted() {
    for (byte_counting, wider, last) in [(true, 3000, "1.400 > . 6001:7001 ack 1"), (false, 2000, "")] {
        let config = Config { byte_counting, ..config(InitialWindow::Segments(2)) };
        Transcript::established(config, KILO).play(&format!(
            "0.200 ! write 20000
             0.200 > .  1:1001 ack 1
             0.200 > .  1001:2001 ack 1
             1.200 > .  1:1001 ack 1
             1.300 < .  1:1 ack 2001
             1.300 = cwnd 2000
             1.300 > .  2001:3001 ack 1
             1.300 > .  3001:4001 ack 1
             1.400 < .  1:1 ack 4001
             1.400 = cwnd {wider}
             1.400 > .  4001:5001 ack 1
             1.400 > .  5001:6001 ack 1
             {last}"
        ));
    }
}
