//! What an end tells with options: SACK (RFC 2018, RFC 2883), timestamps (RFC 7323); and quick acknowledgements.

use super::transcript::Transcript;
use crate::tcp::{Config, Limits, Sack};
use crate::time::Duration;

fn sack(sack: Sack) -> Transcript {
    let config = Config { sack, delayed_ack: None, ..Config::default() };
    Transcript::listen(config, Limits::default()).play(
        "0.000 < S  0:1 mss 1460 ws 7 sok
         0.000 > S. 0:1 ack 1 mss 1460 ws 0 sok
         0.100 < .  1:1 ack 1",
    )
}

#[test]
fn options_are_agreed_by_both_ends() {
    let config = Config { sack: Sack::On, timestamps: true, ..Config::default() };
    Transcript::connect(config.clone(), Limits::default()).play(
        "0.000 > S  0:1 mss 1460 ws 0 sok ts 1,0
         0.100 < S. 0:1 ack 1 mss 1460 ws 7 sok ts 700,1
         0.100 > .  1:1 ack 1 ts 101,700
         0.200 ! write 1500
         0.200 > .  1:1449 ack 1 ts 201,700
         0.200 > P. 1449:1501 ack 1 ts 201,700
         0.300 < .  101:201 ack 1 ts 900,101
         0.300 > .  1501:1501 ack 1 ts 301,700 sack 101:201",
    );
    // The peer offers neither.
    Transcript::listen(config, Limits::default()).play(
        "0.000 < S  0:1 mss 1460 ws 7
         0.000 > S. 0:1 ack 1 mss 1460 ws 0
         0.100 < .  1:1 ack 1
         0.200 < .  101:201 ack 1
         0.200 > .  1:1 ack 1
         0.300 ! write 1460
         0.300 > P. 1:1461 ack 1",
    );
}

/// RFC 2018 section 5, case 2 and 3: segments of 500 bytes from 5000 on, moved to 1; the first is lost, then also the
/// second, fourth, sixth and eighth.
#[test]
fn the_tables_of_rfc_2018() {
    sack(Sack::On).play(
        "0.200 < . 501:1001 ack 1
         0.200 > . 1:1 ack 1 sack 501:1001
         0.200 < . 1001:1501 ack 1
         0.200 > . 1:1 ack 1 sack 501:1501
         0.200 < . 1501:2001 ack 1
         0.200 > . 1:1 ack 1 sack 501:2001",
    );
    sack(Sack::On).play(
        "0.200 < . 1:501 ack 1
         0.200 > . 1:1 ack 501
         0.200 < . 1001:1501 ack 1
         0.200 > . 1:1 ack 501 sack 1001:1501
         0.200 < . 2001:2501 ack 1
         0.200 > . 1:1 ack 501 sack 2001:2501,1001:1501
         0.200 < . 3001:3501 ack 1
         0.200 > . 1:1 ack 501 sack 3001:3501,2001:2501,1001:1501
         0.300 < . 1501:2001 ack 1
         0.300 > . 1:1 ack 501 sack 1001:2501,3001:3501
         0.400 < . 501:1001 ack 1
         0.400 > . 1:1 ack 2501 sack 3001:3501",
    );
}

#[test]
fn blocks_that_grew_lately_come_before_others() {
    sack(Sack::On).play(
        "0.200 < . 101:201 ack 1
         0.200 > . 1:1 ack 1 sack 101:201
         0.200 < . 301:401 ack 1
         0.200 > . 1:1 ack 1 sack 301:401,101:201
         0.200 < . 501:601 ack 1
         0.200 > . 1:1 ack 1 sack 501:601,301:401,101:201
         0.200 < . 701:801 ack 1
         0.200 > . 1:1 ack 1 sack 701:801,501:601,301:401
         0.200 < . 401:501 ack 1
         0.200 > . 1:1 ack 1 sack 301:601,701:801,101:201
         0.200 < . 201:301 ack 1
         0.200 > . 1:1 ack 1 sack 101:601,701:801",
    );
}

/// Data that was there is told to be, also where the FIN with it is new (RFC 2883).
#[test]
fn a_new_fin_with_data_that_is_not_new_is_a_duplicate_without_it() {
    sack(Sack::WithDuplicates).play(
        "0.200 < .  101:201 ack 1
         0.200 > .  1:1 ack 1 sack 101:201
         0.300 < F. 101:202 ack 1
         0.300 > .  1:1 ack 1 sack 101:201,101:202
         0.400 < .  1:101 ack 1
         0.400 > .  1:1 ack 202
         0.400 = peer_closed true",
    );
}

/// It has a sequence number (RFC 9293 section 3.4), and blocks are of those.
#[test]
fn a_fin_ahead_of_a_hole_is_reported() {
    sack(Sack::WithDuplicates)
        .play(
            "0.200 < F. 201:202 ack 1
             0.200 > .  1:1 ack 1 sack 201:202
             0.200 < F. 201:202 ack 1
             0.200 > .  1:1 ack 1 sack 201:202,201:202
             0.300 < .  101:201 ack 1
             0.300 > .  1:1 ack 1 sack 101:202
             0.300 = peer_closed false
             0.400 < .  1:101 ack 1
             0.400 > .  1:1 ack 202
             0.400 = received 200
             0.400 = peer_closed true
             0.500 < F. 101:202 ack 1
             0.500 > .  1:1 ack 202 sack 101:202",
        )
        .rests();
}

#[test]
fn duplicates_are_reported_once_and_before_the_range_that_holds_them() {
    sack(Sack::WithDuplicates).play(
        "0.200 < . 1:101 ack 1
         0.200 > . 1:1 ack 101
         0.200 < . 1:101 ack 1
         0.200 > . 1:1 ack 101 sack 1:101
         0.200 < . 101:201 ack 1
         0.200 > . 1:1 ack 201
         0.300 < . 301:401 ack 1
         0.300 > . 1:1 ack 201 sack 301:401
         0.300 < . 501:601 ack 1
         0.300 > . 1:1 ack 201 sack 501:601,301:401
         0.300 < . 301:401 ack 1
         0.300 > . 1:1 ack 201 sack 301:401,301:401,501:601",
    );
    sack(Sack::On).play(
        "0.200 < . 1:101 ack 1
         0.200 > . 1:1 ack 101
         0.200 < . 1:101 ack 1
         0.200 > . 1:1 ack 101",
    );
}

#[test]
fn data_with_blocks_is_shorter_by_them() {
    sack(Sack::On).play(
        "0.200 < . 101:201 ack 1
         0.200 > . 1:1 ack 1 sack 101:201
         0.300 ! write 2000
         0.300 > . 1:1449 ack 1 sack 101:201
         0.300 > P. 1449:2001 ack 1 sack 101:201",
    );
}

/// RFC 7323 section 4.3: the timestamp of the first segment that waits for a delayed acknowledgement, and of the one that
/// fills a hole, not of those ahead of it.
#[test]
fn the_echoed_timestamp_covers_the_wait() {
    Transcript::listen(Config { timestamps: true, ..Config::default() }, Limits::default()).play(
        "0.000 < S  0:1 mss 1460 ws 7 ts 10,0
         0.000 > S. 0:1 ack 1 mss 1460 ws 0 ts 1,10
         0.100 < .  1:1 ack 1 ts 110,1
         0.200 < .  1:101 ack 1 ts 210,1
         0.210 < .  101:201 ack 1 ts 220,1
         0.300 > .  1:1 ack 201 ts 301,210
         0.400 < .  301:401 ack 1 ts 410,1
         0.400 > .  1:1 ack 201 ts 401,210
         0.500 < .  201:301 ack 1 ts 510,1
         0.500 > .  1:1 ack 401 ts 501,510",
    );
}

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    // Full ones; one that is not full is acknowledged once it is read, as in Linux.
    let config = Config { quick_acks: 3, delayed_ack: Some(Duration::from_millis(40)), ..Config::default() };
    let open = "0.000 < S  0:1 mss 1460 ws 7
         0.000 > S. 0:1 ack 1 mss 1460 ws 0
         0.100 < .  1:1 ack 1
         0.200 < P. 1:101 ack 1
         0.200 > .  1:1 ack 101
         0.210 < P. 101:201 ack 1
         0.210 > .  1:1 ack 201";
    Transcript::listen(config.clone(), Limits::default()).play(open).play(
        "0.220 < .  201:1661 ack 1
         0.220 > .  1:1 ack 1661
         0.230 < .  1661:3121 ack 1
         0.270 > .  1:1 ack 3121
         0.300 < P. 3121:3221 ack 1
         0.300 > .  1:1 ack 3221
         2.000 < .  3221:4681 ack 1
         2.000 > .  1:1 ack 4681",
    );
    // A program that answers carries the acknowledgement, until it does not in time.
    Transcript::listen(Config { quick_acks: 4, ..config }, Limits::default()).play(open).play(
        "0.215 ! write 10
         0.215 > P. 1:11 ack 201
         0.220 < P. 201:301 ack 11
         0.260 > .  11:11 ack 301
         0.270 < P. 301:401 ack 11
         0.270 > .  11:11 ack 401
         0.280 < .  401:1861 ack 11
         0.320 > .  11:11 ack 1861",
    );
}

/// A program that answers is not waited for when a second segment that is not full arrives (`ICSK_ACK_PUSHED2`).
#[test]
fn a_second_short_segment_does_not_wait_for_the_answer() {
    let config = Config { quick_acks: 1, delayed_ack: Some(Duration::from_millis(40)), ..Config::default() };
    let open = "0.000 < S  0:1 mss 1460 ws 7
         0.000 > S. 0:1 ack 1 mss 1460 ws 0
         0.100 < .  1:1 ack 1
         0.200 < P. 1:101 ack 1
         0.200 > .  1:1 ack 101
         0.210 ! write 10
         0.210 > P. 1:11 ack 101";
    Transcript::listen(config, Limits::default()).play(open).play(
        "0.220 < P. 101:201 ack 11
         0.225 < P. 201:301 ack 11
         0.225 > .  11:11 ack 301",
    );
}
