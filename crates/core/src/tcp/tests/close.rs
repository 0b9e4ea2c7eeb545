//! Closing: FIN in every order, RST.

use super::transcript::Transcript;
use crate::tcp::{Config, Limits};

fn open() -> Transcript {
    Transcript::established(Config::default(), Limits::default())
}

#[test]
fn active_close_and_time_wait() {
    open()
        .play(
            "0.200 ! close
             0.200 > F. 1:2 ack 1
             0.200 = fin_sent true
             0.300 < .  1:1 ack 2
             0.300 = closed false
             0.310 < F. 1:2 ack 2
             0.310 = peer_closed true
             0.310 = closed true
             0.310 > .  2:2 ack 2
             0.900 < F. 1:2 ack 2
             0.900 > .  2:2 ack 2
             0.900 = reset false",
        )
        .rests();
}

#[test]
fn fin_and_acknowledgement_of_fin_in_one_segment() {
    open()
        .play(
            "0.200 ! close
             0.200 > F. 1:2 ack 1
             0.300 < F. 1:2 ack 2
             0.300 > .  2:2 ack 2
             0.300 = closed true",
        )
        .rests();
}

#[test]
fn passive_close() {
    open()
        .play(
            "0.200 < F. 1:2 ack 1
             0.200 > .  1:1 ack 2
             0.200 = peer_closed true
             0.200 = closed false
             0.250 ! close
             0.250 > F. 1:2 ack 2
             0.350 < .  2:2 ack 2
             0.350 = closed true",
        )
        .rests();
}

#[test]
fn half_close_goes_on_sending() {
    open()
        .play(
            "0.200 < FP. 1:102 ack 1
             0.200 > .   1:1 ack 102
             0.200 = received 100
             0.200 = peer_closed true
             0.300 ! write 200
             0.300 > P.  1:201 ack 102
             0.400 < .   102:102 ack 201
             0.500 ! close
             0.500 > F.  201:202 ack 102
             0.600 < .   102:102 ack 202
             0.600 = closed true",
        )
        .rests();
}

#[test]
fn half_closed_end_goes_on_receiving() {
    open()
        .play(
            "0.200 ! close
             0.200 > F.  1:2 ack 1
             0.300 < .   1:1 ack 2
             0.400 < P.  1:101 ack 2
             0.500 > .   2:2 ack 101
             0.600 < F.  101:102 ack 2
             0.600 > .   2:2 ack 102
             0.600 = received 100
             0.600 = closed true",
        )
        .rests();
}

#[test]
fn simultaneous_close() {
    open()
        .play(
            "0.200 ! close
             0.200 > F. 1:2 ack 1
             0.210 < F. 1:2 ack 1
             0.210 > .  2:2 ack 2
             0.210 = closed false
             0.300 < .  2:2 ack 2
             0.300 = closed true",
        )
        .rests();
}

#[test]
fn fin_follows_all_that_was_written() {
    open()
        .play(
            "0.200 ! write 5000
             0.200 > .   1:1461 ack 1
             0.200 > .   1461:2921 ack 1
             0.200 > .   2921:4381 ack 1
             0.200 ! close
             0.200 ! write 7
             0.300 < .   1:1 ack 4381
             0.300 > FP. 4381:5002 ack 1
             0.300 = transmitted 5000
             0.400 < .   1:1 ack 5002
             0.400 = acked 5000",
        )
        .rests();
}

#[test]
fn a_lost_fin_is_repeated() {
    open()
        .play(
            "0.200 ! close
             0.200 > F. 1:2 ack 1
             1.200 > F. 1:2 ack 1
             1.300 < F. 1:2 ack 2
             1.300 > .  2:2 ack 2
             1.300 = closed true
             1.300 = retransmissions 1",
        )
        .rests();
}

#[test]
fn a_fin_ahead_of_a_hole_waits() {
    open()
        .play(
            "0.200 < F. 101:102 ack 1
             0.200 > .  1:1 ack 1
             0.200 = peer_closed false
             0.300 < .  1:101 ack 1
             0.300 > .  1:1 ack 102
             0.300 = received 100
             0.300 = peer_closed true",
        )
        .rests();
}

#[test]
fn data_and_fin_ahead_of_a_hole_wait() {
    open()
        .play(
            "0.200 < F. 101:202 ack 1
             0.200 > .  1:1 ack 1
             0.300 < .  1:101 ack 1
             0.300 > .  1:1 ack 202
             0.300 = received 200
             0.300 = peer_closed true",
        )
        .rests();
}

#[test]
fn a_peers_reset_ends_everything() {
    open()
        .play(
            "0.200 ! write 100
             0.200 > P. 1:101 ack 1
             0.250 < P. 1:51 ack 1
             0.300 < R. 51:51 ack 1
             0.300 = reset true
             0.300 = closed true
             0.300 = received 50
             0.400 < P. 51:101 ack 1
             9.000 -",
        )
        .rests();
}

#[test]
fn a_reset_counts_with_the_next_number_alone() {
    open()
        .play(
            "0.200 < R  0:0
             0.200 < R  70000:70000
             0.200 = reset false
             0.200 < R  60000:60000
             0.200 > .  1:1 ack 1
             0.200 = reset false
             0.200 < R  1:1
             0.200 = reset true",
        )
        .rests();
}

#[test]
fn abort_sends_one_reset_and_answers_what_still_comes() {
    open()
        .play(
            "0.200 ! write 5000
             0.200 > .  1:1461 ack 1
             0.200 > .  1461:2921 ack 1
             0.200 > .  2921:4381 ack 1
             0.250 ! abort
             0.250 > R. 4381:4381 ack 1
             0.250 = reset true
             0.260 ! write 5
             0.260 ! close
             0.300 < P. 1:101 ack 1461
             0.300 > R  1461:1461
             0.310 < R. 101:101 ack 1",
        )
        .rests();
}

#[test]
fn abort_after_both_fins_is_silent() {
    open()
        .play(
            "0.200 ! close
             0.200 > F. 1:2 ack 1
             0.300 < F. 1:2 ack 2
             0.300 > .  2:2 ack 2
             0.400 ! abort",
        )
        .rests();
}

#[test]
fn abort_before_the_handshake_is_silent_and_refuses_the_answer() {
    Transcript::connect(Config::default(), Limits::default())
        .play(
            "0.000 > S  0:1 mss 1460 ws 0
             0.010 ! abort
             0.040 < S. 0:1 ack 1 mss 1460
             0.040 > R  1:1",
        )
        .rests();
}
