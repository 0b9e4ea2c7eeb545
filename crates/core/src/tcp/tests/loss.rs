//! Loss: fast retransmit, NewReno recovery (RFC 6582), retransmission timeout (RFC 6298).

use super::transcript::Transcript;
use crate::tcp::congestion::{Algorithm, WindowRules};
use crate::tcp::{Config, InitialWindow, Limits, RtoConfig};
use crate::time::Duration;

const KILO: Limits = Limits { mss: 1000, max_window: 65_535 };

fn open(initial_window: u16) -> Transcript {
    let config = Config { initial_window: InitialWindow::Segments(initial_window), ..Config::default() };
    Transcript::established(config, KILO)
}

const EIGHT: &str = "0.200 ! write 20000
     0.200 > .  1:1001 ack 1
     0.200 > .  1001:2001 ack 1
     0.200 > .  2001:3001 ack 1
     0.200 > .  3001:4001 ack 1
     0.200 > .  4001:5001 ack 1
     0.200 > .  5001:6001 ack 1
     0.200 > .  6001:7001 ack 1
     0.200 > .  7001:8001 ack 1";

/// The first of eight is lost.
const FIRST_LOST: &str = "0.300 < .  1:1 ack 1
     0.300 < .  1:1 ack 1
     0.300 = retransmissions 0
     0.300 < .  1:1 ack 1
     0.300 > .  1:1001 ack 1
     0.300 = cwnd 7000
     0.300 = retransmissions 1
     0.300 < .  1:1 ack 1
     0.300 < .  1:1 ack 1
     0.300 > .  8001:9001 ack 1
     0.300 < .  1:1 ack 1
     0.300 > .  9001:10001 ack 1";

#[test]
fn third_duplicate_retransmits_and_a_full_acknowledgement_ends_recovery() {
    open(8).play(EIGHT).play(FIRST_LOST).play(
        "0.300 < .  1:1 ack 1
         0.300 > .  10001:11001 ack 1
         0.400 < .  1:1 ack 8001
         0.400 = cwnd 4000
         0.400 > .  11001:12001 ack 1
         0.401 < .  1:1 ack 9001
         0.401 = cwnd 4000
         0.401 > .  12001:13001 ack 1
         0.402 < .  1:1 ack 11001
         0.402 > .  13001:14001 ack 1
         0.402 > .  14001:15001 ack 1
         0.403 < .  1:1 ack 12001
         0.403 = cwnd 5000
         0.403 > .  15001:16001 ack 1
         0.403 > .  16001:17001 ack 1
         0.403 = timeouts 0",
    );
}

#[test]
fn partial_acknowledgements_repair_one_hole_each() {
    // The first and the third of eight are lost.
    open(8).play(EIGHT).play(FIRST_LOST).play(
        "0.400 < .  1:1 ack 2001
         0.400 > .  2001:3001 ack 1
         0.400 > .  10001:11001 ack 1
         0.400 = cwnd 9000
         0.400 < .  1:1 ack 2001
         0.400 > .  11001:12001 ack 1
         0.400 < .  1:1 ack 2001
         0.400 > .  12001:13001 ack 1
         0.500 < .  1:1 ack 10001
         0.500 = cwnd 4000
         0.500 > .  13001:14001 ack 1
         0.500 = retransmissions 2
         0.500 = timeouts 0",
    );
}

#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer() {
    open(8).play(EIGHT).play(FIRST_LOST).play(
        "0.400 < .  1:1 ack 2001
         0.400 > .  2001:3001 ack 1
         0.400 > .  10001:11001 ack 1
         1.300 < .  1:1 ack 4001
         1.300 > .  4001:5001 ack 1
         1.300 > .  11001:12001 ack 1
         1.400 > .  4001:5001 ack 1
         1.400 = timeouts 1
         1.400 = cwnd 1000",
    );
}

/// The same in Linux (`tcp_rearm_rto`): a hole per round trip, and no timeout.
#[test]
fn each_partial_acknowledgement_restarts_the_timer_of_linux() {
    let config =
        Config { initial_window: InitialWindow::Segments(8), window_rules: WindowRules::Linux, ..Config::default() };
    Transcript::established(config, KILO).play(EIGHT).play(FIRST_LOST).play(
        "0.400 < .  1:1 ack 2001
         0.400 > .  2001:3001 ack 1
         0.400 > .  10001:11001 ack 1
         1.300 < .  1:1 ack 4001
         1.300 > .  4001:5001 ack 1
         1.300 > .  11001:12001 ack 1
         2.200 < .  1:1 ack 6001
         2.200 > .  6001:7001 ack 1
         2.200 > .  12001:13001 ack 1
         2.200 = timeouts 0
         3.200 > .  6001:7001 ack 1
         3.200 = timeouts 1",
    );
}

/// What was sent before a timeout is not in flight after it, also where each transmission is noted: BBR asks for that.
#[test]
fn a_timeout_empties_the_pipe_without_sack() {
    let config = Config { initial_window: InitialWindow::Segments(8), congestion: Algorithm::Bbr, ..Config::default() };
    Transcript::established(config, KILO).play(EIGHT).play(
        "0.200 = pipe 8000
         1.200 > .  1:1001 ack 1
         1.200 = timeouts 1
         1.200 = pipe 1000
         1.300 < .  1:1 ack 1001
         1.300 > .  1001:2001 ack 1
         1.300 > .  2001:3001 ack 1
         1.300 > .  3001:4001 ack 1
         1.300 > .  4001:5001 ack 1
         1.300 = pipe 4000",
    );
}

#[test]
fn two_duplicates_are_reordering() {
    open(8).play(EIGHT).play(
        "0.300 < .  1:1 ack 1
         0.300 < .  1:1 ack 1
         0.301 < .  1:1 ack 4001
         0.301 > .  8001:9001 ack 1
         0.301 > .  9001:10001 ack 1
         0.301 > .  10001:11001 ack 1
         0.301 > .  11001:12001 ack 1
         0.301 > .  12001:13001 ack 1
         0.301 = retransmissions 0",
    );
}

#[test]
fn segments_with_data_or_another_window_are_no_duplicates() {
    open(8).play(EIGHT).play(
        "0.300 < P. 1:11 ack 1
         0.300 < P. 11:21 ack 1
         0.300 < P. 21:31 ack 1
         0.310 < .  31:31 ack 1 win 65000
         0.320 < .  31:31 ack 1 win 64000
         0.330 < .  31:31 ack 1 win 63000
         0.330 = retransmissions 0
         0.400 > .  8001:8001 ack 31",
    );
}

#[test]
fn a_retransmission_never_sends_what_was_not_sent_before() {
    // Four short segments fill the window of four segments; more was written since.
    Transcript::established(Config::default(), KILO).play(
        "0.200 ! write 100
         0.200 > P. 1:101 ack 1
         0.200 ! write 100
         0.200 > P. 101:201 ack 1
         0.200 ! write 100
         0.200 > P. 201:301 ack 1
         0.200 ! write 100
         0.200 > P. 301:401 ack 1
         0.300 < .  1:1 ack 1
         0.300 < .  1:1 ack 1
         0.300 < .  1:1 ack 1
         0.300 > P. 1:401 ack 1",
    );
}

#[test]
fn timeouts_back_off_and_start_over_with_one_segment() {
    open(4)
        .play(
            "0.200 ! write 6000
         0.200 > .  1:1001 ack 1
         0.200 > .  1001:2001 ack 1
         0.200 > .  2001:3001 ack 1
         0.200 > .  3001:4001 ack 1
         1.200 > .  1:1001 ack 1
         1.200 = cwnd 1000
         3.200 > .  1:1001 ack 1
         7.200 > .  1:1001 ack 1
         7.200 = timeouts 3
         7.300 < .  1:1 ack 1001
         7.300 = cwnd 2000
         7.300 > .  1001:2001 ack 1
         7.300 > .  2001:3001 ack 1
         7.400 < .  1:1 ack 4001
         7.400 > .  4001:5001 ack 1
         7.400 > P. 5001:6001 ack 1
         7.500 < .  1:1 ack 6001
         7.500 = retransmissions 5",
        )
        .rests();
}

#[test]
fn a_valid_sample_ends_the_back_off() {
    // Karn: the acknowledgement of a retransmission is no sample and the timeout stays 2 s; new data gives one.
    open(4).play(
        "0.200 ! write 1000
         0.200 > P. 1:1001 ack 1
         1.200 > P. 1:1001 ack 1
         1.300 < .  1:1 ack 1001
         2.000 ! write 1000
         2.000 > P. 1001:2001 ack 1
         4.000 > P. 1001:2001 ack 1
         4.100 < .  1:1 ack 2001
         5.000 ! write 1000
         5.000 > P. 2001:3001 ack 1
         5.100 < .  1:1 ack 3001
         6.000 ! write 1000
         6.000 > P. 3001:4001 ack 1
         7.000 > P. 3001:4001 ack 1",
    );
}

#[test]
fn duplicates_of_data_sent_before_a_timeout_do_not_retransmit_fast() {
    open(8).play(EIGHT).play(
        "1.200 > .  1:1001 ack 1
         1.300 < .  1:1 ack 1001
         1.300 > .  1001:2001 ack 1
         1.300 > .  2001:3001 ack 1
         1.301 < .  1:1 ack 1001
         1.302 < .  1:1 ack 1001
         1.303 < .  1:1 ack 1001
         1.304 < .  1:1 ack 1001
         1.304 = retransmissions 3",
    );
}

#[test]
fn acknowledged_data_is_not_sent_again_after_a_timeout() {
    open(8).play(EIGHT).play(
        "1.200 > .  1:1001 ack 1
         1.300 < .  1:1 ack 8001
         1.300 = cwnd 2000
         1.300 > .  8001:9001 ack 1
         1.300 > .  9001:10001 ack 1
         1.300 = retransmissions 1",
    );
}

#[test]
fn an_established_connection_gives_up_in_the_end() {
    let config = Config { data_retries: 2, ..Config::default() };
    Transcript::established(config, KILO)
        .play(
            "0.200 ! write 10
             0.200 > P. 1:11 ack 1
             1.200 > P. 1:11 ack 1
             3.200 > P. 1:11 ack 1
             7.199 = reset false
             7.200 = reset true",
        )
        .rests();
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_is_answered_and_ignored() {
    open(4).play(
        "0.200 ! write 10
         0.200 > P. 1:11 ack 1
         0.300 < .  1:1 ack 500
         0.300 > .  11:11 ack 1
         0.300 = acked 0",
    );
}

#[test]
fn recovery_that_ends_with_nothing_outstanding_does_not_burst() {
    open(8)
        .play(&EIGHT.replace("write 20000", "write 8000").replace("> .  7001", "> P. 7001"))
        .play(
            "0.300 < .  1:1 ack 1
             0.300 < .  1:1 ack 1
             0.300 < .  1:1 ack 1
             0.300 > .  1:1001 ack 1
             0.400 < .  1:1 ack 8001
             0.400 = cwnd 2000",
        )
        .rests();
}

#[test]
fn what_is_sent_again_or_during_recovery_is_not_timed() {
    // RTT 0.1 s throughout; the sample of the handshake makes the timeout 0.3 s. Neither the repaired segment (0.25 s
    // after its first copy) nor what was sent behind the hole (held up 50 ms by it) may change that.
    let rto = RtoConfig { min: Duration::from_millis(10), ..RtoConfig::default() };
    let initial_window = InitialWindow::Segments(8);
    Transcript::established(Config { rto, initial_window, ..Config::default() }, KILO)
        .play(&EIGHT.replace("write 20000", "write 9000"))
        .play(
            "0.300 < .  1:1 ack 1
             0.300 < .  1:1 ack 1
             0.300 < .  1:1 ack 1
             0.300 > .  1:1001 ack 1
             0.300 < .  1:1 ack 1
             0.300 < .  1:1 ack 1
             0.300 > P. 8001:9001 ack 1
             0.450 < .  1:1 ack 9001
             1.000 ! write 100
             1.000 > P. 9001:9101 ack 1
             1.300 > P. 9001:9101 ack 1",
        );
}

#[test]
fn a_timeout_that_ends_a_recovery_keeps_its_threshold() {
    // Recovery set it to 4,000; eleven segments are outstanding at the timeout, which would make it 5,500.
    open(8).play(EIGHT).play(FIRST_LOST).play(
        "0.300 < .  1:1 ack 1
         0.300 > .  10001:11001 ack 1
         1.200 > .  1:1001 ack 1
         1.200 = cwnd 1000
         1.300 < .  1:1 ack 11001
         1.300 = cwnd 2000
         1.300 > .  11001:12001 ack 1
         1.300 > .  12001:13001 ack 1
         1.400 < .  1:1 ack 13001
         1.400 = cwnd 3000
         1.400 > .  13001:14001 ack 1
         1.400 > .  14001:15001 ack 1
         1.400 > .  15001:16001 ack 1
         1.500 < .  1:1 ack 16001
         1.500 = cwnd 4000
         1.500 > .  16001:17001 ack 1
         1.500 > .  17001:18001 ack 1
         1.500 > .  18001:19001 ack 1
         1.500 > P. 19001:20001 ack 1
         1.600 < .  1:1 ack 18001
         1.600 = cwnd 4000",
    );
}
