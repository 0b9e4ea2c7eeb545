//! When acknowledgements are sent (RFC 5681 section 4.2), and reassembly behind them.

use super::pair::Pair;
use super::transcript::Transcript;
use crate::tcp::{Config, Limits, ReceiveBuffer, Sack};
use crate::time::{Duration, Time};

fn open() -> Transcript {
    Transcript::established(Config::default(), Limits::default())
}

#[test]
fn one_segment_waits_for_the_timer() {
    open()
        .play(
            "0.200 < P. 1:101 ack 1
             0.200 = received 100
             0.300 > .  1:1 ack 101",
        )
        .rests();
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    open()
        .play(
            "0.200 < .  1:1461 ack 1
             0.201 < .  1461:2921 ack 1
             0.201 > .  1:1 ack 2921
             0.202 < .  2921:4381 ack 1
             0.203 < P. 4381:4382 ack 1
             0.203 > .  1:1 ack 4382",
        )
        .rests();
}

#[test]
fn the_timer_runs_from_the_first_segment_that_waits() {
    open()
        .play(
            "0.200 < P. 1:101 ack 1
             0.250 < P. 101:201 ack 1
             0.300 > .  1:1 ack 201",
        )
        .rests();
}

#[test]
fn data_carries_the_acknowledgement() {
    open()
        .play(
            "0.200 < P. 1:101 ack 1
             0.250 ! write 50
             0.250 > P. 1:51 ack 101
             0.320 < .  101:101 ack 51
             0.900 -",
        )
        .rests();
}

#[test]
fn without_delay_every_segment_is_acknowledged() {
    Transcript::established(Config { delayed_ack: None, ..Config::default() }, Limits::default())
        .play(
            "0.200 < P. 1:101 ack 1
             0.200 > .  1:1 ack 101
             0.210 < P. 101:201 ack 1
             0.210 > .  1:1 ack 201",
        )
        .rests();
}

#[test]
fn data_ahead_of_a_hole_and_data_that_fills_it_are_acknowledged_at_once() {
    open()
        .play(
            "0.200 < .  101:201 ack 1
             0.200 > .  1:1 ack 1
             0.210 < .  301:401 ack 1
             0.210 > .  1:1 ack 1
             0.220 < .  201:301 ack 1
             0.220 > .  1:1 ack 1
             0.220 = received 0
             0.230 < .  1:51 ack 1
             0.230 > .  1:1 ack 51
             0.240 < .  51:101 ack 1
             0.240 > .  1:1 ack 401
             0.240 = received 400
             0.250 < P. 401:501 ack 1
             0.350 > .  1:1 ack 501",
        )
        .rests();
}

#[test]
fn overlaps_count_once() {
    open()
        .play(
            "0.200 < .  101:301 ack 1
             0.200 > .  1:1 ack 1
             0.210 < .  1:201 ack 1
             0.210 > .  1:1 ack 301
             0.220 < .  251:351 ack 1
             0.230 < .  1:351 ack 1
             0.230 > .  1:1 ack 351
             0.230 = received 350",
        )
        .rests();
}

#[test]
fn data_seen_before_is_acknowledged_at_once() {
    open()
        .play(
            "0.200 < P. 1:101 ack 1
             0.300 > .  1:1 ack 101
             0.400 < P. 1:101 ack 1
             0.400 > .  1:1 ack 101
             0.400 = received 100",
        )
        .rests();
}

#[test]
fn data_beyond_the_window_is_not_taken() {
    Transcript::established(Config::default(), Limits { mss: 1460, max_window: 4096 })
        .play(
            "0.200 < .  4097:4197 ack 1
             0.200 > .  1:1 ack 1 win 4096
             0.210 < .  3001:4197 ack 1
             0.210 > .  1:1 ack 1
             0.220 < .  1:3001 ack 1
             0.220 > .  1:1 ack 4097 win 4096
             0.220 = received 4096",
        )
        .rests();
}

#[test]
fn a_fin_beyond_the_window_is_not_taken_either() {
    Transcript::established(Config::default(), Limits { mss: 1460, max_window: 4096 })
        .play(
            "0.200 < F. 4001:4202 ack 1
             0.200 > .  1:1 ack 1
             0.210 < .  1:4001 ack 1
             0.210 > .  1:1 ack 4097
             0.210 = peer_closed false
             0.220 < F. 4001:4202 ack 1
             0.220 > .  1:1 ack 4202
             0.220 = peer_closed true
             0.220 = received 4200",
        )
        .rests();
}

#[test]
fn a_window_below_two_segments_is_not_held_up_by_the_timer() {
    Transcript::established(Config::default(), Limits { mss: 1460, max_window: 2048 })
        .play(
            "0.200 < .  1:1461 ack 1
             0.200 > .  1:1 ack 1461
             0.300 < .  1461:2049 ack 1
             0.400 > .  1:1 ack 2049",
        )
        .rests();
}

/// As Linux acknowledges, with fewer quick acknowledgements.
fn linux(quick_acks: u8) -> Config {
    Config { quick_acks, window_growth: true, delayed_ack: Some(Duration::from_millis(40)), ..Config::default() }
}

#[test]
fn a_window_grows_with_what_arrives_which_is_acknowledged_meanwhile() {
    let limits = Limits { mss: 1460, max_window: 70_000 };
    // From 65,535 bytes, in units of two, in steps of 2,920 to the end; the first is one of the two quick ones.
    let grown = Transcript::established(linux(2), limits).play(
        "0.200 < P. 1:101 ack 1
         0.200 > .  1:1 ack 101 win 65534
         0.300 < .  101:1561 ack 1
         0.300 > .  1:1 ack 1561 win 67080
         0.400 < .  1561:3021 ack 1
         0.400 > .  1:1 ack 3021 win 70000
         0.500 < .  3021:4481 ack 1
         0.540 > .  1:1 ack 4481 win 70000",
    );
    // The pause was shorter than a timeout: no quick ones again.
    grown.play(
        "0.600 < .  4481:5941 ack 1
         0.640 > .  1:1 ack 5941 win 70000",
    );
    let all_at_once = Config { window_growth: false, ..linux(2) };
    Transcript::established(all_at_once, limits).play(
        "0.200 < P. 1:101 ack 1
         0.200 > .  1:1 ack 101 win 70000",
    );
    let small = Limits { max_window: 8_192, ..limits };
    Transcript::established(linux(0), small).play(
        "0.200 < .  1:1461 ack 1
         0.240 > .  1:1 ack 1461 win 8192",
    );
}

/// A full segment with PSH is acknowledged as soon as it is read (`tcp_measure_rcv_mss`), but not while the program answers. Linux
/// marks the last of several segments that leave together.
#[test]
fn a_full_segment_with_psh_is_acknowledged_at_once() {
    let limits = Limits { mss: 1460, max_window: 8_192 };
    let quick_ones = "0.110 < .  1:1461 ack 1
         0.110 > .  1:1 ack 1461
         0.120 < .  1461:2921 ack 1
         0.120 > .  1:1 ack 2921
         0.130 < .  2921:4381 ack 1
         0.170 > .  1:1 ack 4381";
    Transcript::established(linux(2), limits).play(quick_ones).play(
        "0.180 < P. 4381:5841 ack 1
         0.180 > .  1:1 ack 5841",
    );
    Transcript::established(linux(2), limits).play(quick_ones).play(
        "0.172 < .  4381:5841 ack 1
         0.175 ! write 50
         0.175 > P. 1:51 ack 5841
         0.180 < P. 5841:7301 ack 51
         0.220 > .  51:51 ack 7301",
    );
}

/// A Linux sender cuts its segments to half of the largest window, 1,000 bytes here: these are full segments, and every second of them is
/// acknowledged at once.
#[test]
fn half_of_a_small_window_is_a_full_segment() {
    Transcript::established(linux(2), Limits { mss: 1460, max_window: 2000 }).play(
        "0.110 < .  1:1001 ack 1
         0.110 > .  1:1 ack 1001
         0.120 < .  1001:2001 ack 1
         0.120 > .  1:1 ack 2001
         0.130 < .  2001:3001 ack 1
         0.131 < .  3001:4001 ack 1
         0.131 > .  1:1 ack 4001
         0.140 < .  4001:5001 ack 1
         0.180 > .  1:1 ack 5001
         0.190 < .  5001:6000 ack 1
         0.190 > .  1:1 ack 6000",
    );
}

/// Segments beyond a hole widen the window, too, where the peer has SACK (`tcp_data_queue_ofo`).
#[test]
fn a_window_grows_with_what_arrives_beyond_a_hole() {
    let limits = Limits { mss: 1460, max_window: 70_000 };
    Transcript::established(Config { sack: Sack::On, ..linux(2) }, limits).play(
        "0.200 < .  1461:2921 ack 1
         0.200 > .  1:1 ack 1 win 67080 sack 1461:2921
         0.210 < .  2921:4381 ack 1
         0.210 > .  1:1 ack 1 win 70000 sack 1461:4381",
    );
    Transcript::established(linux(2), limits).play(
        "0.200 < .  1461:2921 ack 1
         0.200 > .  1:1 ack 1 win 65534
         0.210 < .  2921:4381 ack 1
         0.210 > .  1:1 ack 1 win 65534",
    );
}

/// A buffer of 8,192 bytes, half of it payload, holds 4,096 less the segment that just came: 2,636, raised to two segments. The
/// window is 2,920 until a round trip brings more than that.
#[test]
fn a_receive_buffer_limits_the_window() {
    let limits = Limits { mss: 1460, max_window: 8_192 };
    let buffer = ReceiveBuffer { bytes: 8_192, payload_ratio: 128 };
    let config = Config { receive_buffer: Some(buffer), ..linux(2) };
    Transcript::established(config.clone(), limits).play(
        "0.200 < .  1:1461 ack 1
         0.200 > .  1:1 ack 1461 win 2920
         0.300 < .  1461:2921 ack 1
         0.300 > .  1:1 ack 2921 win 2920",
    );
    // Nothing beyond it is accepted.
    Transcript::established(config.clone(), limits).play(
        "0.200 < .  2921:4381 ack 1
         0.200 > .  1:1 ack 1",
    );
    // Where it is large it changes nothing.
    let ample = ReceiveBuffer { bytes: 65_536, payload_ratio: 128 };
    Transcript::established(Config { receive_buffer: Some(ample), ..config }, limits).play(
        "0.200 < P. 1:101 ack 1
         0.200 > .  1:1 ack 101 win 8192",
    );
}

/// 2 MB to a receiver with this buffer and a window of a multiple of two segments above 65,535 bytes; one in `loses` is lost.
fn bulk(receive_buffer: Option<ReceiveBuffer>, loses: usize) -> Pair {
    let config = Config { receive_buffer, sack: Sack::On, timestamps: true, ..linux(16) };
    let limits = Limits { mss: 1460, max_window: 65_535 + 2 * 1448 * 100 };
    let mut pair = Pair::new(config, [limits; 2], Duration::from_millis(20));
    let mut count = 0;
    pair.pipe = Some(Box::new(move |end, _| {
        count += usize::from(end == 0);
        if end == 0 && count % loses == 0 { Vec::new() } else { vec![Duration::ZERO] }
    }));
    pair.ends[0].write(2_000_000);
    pair.kick();
    pair.run_until(Time::ZERO + Duration::from_secs(60));
    assert_eq!(pair.ends[1].bytes_received(), 2_000_000);
    pair
}

#[test]
fn an_ample_receive_buffer_changes_no_segment() {
    let ample = ReceiveBuffer { bytes: ReceiveBuffer::LARGEST, payload_ratio: 128 };
    for loses in [usize::MAX, 50] {
        assert_eq!(bulk(Some(ample), loses).sent, bulk(None, loses).sent);
    }
}

#[test]
fn a_window_never_shrinks_while_the_buffer_grows() {
    for (bytes, payload_ratio) in [(65_536, 100), (65_536, 200), (131_072, 60), (131_072, 128)] {
        for loses in [usize::MAX, 20, 100] {
            let pair = bulk(Some(ReceiveBuffer { bytes, payload_ratio }), loses);
            let windows = pair.sent.iter().filter(|sent| sent.1 == 1).map(|sent| sent.2.window);
            let windows: Vec<_> = windows.collect();
            assert!(windows.is_sorted(), "{bytes} {payload_ratio} {loses}: {windows:?}");
            assert!(loses == 20 || windows.last() > windows.first(), "{bytes} {payload_ratio} {loses}");
        }
    }
}

#[test]
fn a_window_does_not_make_a_program_that_answers_acknowledge_sooner() {
    let limits = Limits { mss: 1460, max_window: 1 << 20 };
    Transcript::established(linux(1), limits).play(
        "0.200 < P. 1:201 ack 1
         0.200 > .  1:1 ack 201
         0.210 ! write 10
         0.210 > P. 1:11 ack 201
         0.220 < P. 201:401 ack 11
         0.230 ! write 10
         0.230 > P. 11:21 ack 401",
    );
}

#[test]
fn linux_leaves_the_acknowledgement_of_a_fin_to_the_program() {
    let open = || Transcript::established(linux(16), Limits::default());
    open().play(
        "0.200 < F. 1:2 ack 1
         0.201 ! close
         0.201 > F. 1:2 ack 2",
    );
    open().play(
        "0.200 < F. 1:102 ack 1
         0.240 > .  1:1 ack 102",
    );
    // Where nothing is left to be sent it goes at once.
    open().play(
        "0.200 ! close
         0.200 > F. 1:2 ack 1
         0.300 < F. 1:2 ack 2
         0.300 > .  2:2 ack 2",
    );
    Transcript::established(Config::default(), Limits::default()).play(
        "0.200 < F. 1:2 ack 1
         0.200 > .  1:1 ack 2",
    );
}

/// Linux answers three duplicates at once and holds back the next for a twentieth of the round trip, here 5 ms cut to 1 ms, unless a
/// hole is filled.
#[test]
fn acknowledgements_over_a_hole_are_held_back() {
    let config = Config { sack: Sack::On, sack_compression: true, ..linux(0) };
    let held = "0.000 > S  0:1 mss 1460 ws 0 sok
         0.100 < S. 0:1 ack 1 mss 1460 ws 0 sok
         0.100 > .  1:1 ack 1
         0.2000 < .  1461:2921 ack 1
         0.2000 > .  1:1 ack 1 sack 1461:2921
         0.2001 < .  2921:4381 ack 1
         0.2001 > .  1:1 ack 1 sack 1461:4381
         0.2002 < .  4381:5841 ack 1
         0.2002 > .  1:1 ack 1 sack 1461:5841
         0.2003 < .  5841:7301 ack 1
         0.2008 < .  7301:8761 ack 1
         0.2013 > .  1:1 ack 1 sack 1461:8761
         0.2014 < .  8761:10221 ack 1
         0.2015 < .  1:1461 ack 1
         0.2015 > .  1:1 ack 10221";
    Transcript::connect(config, Limits::default()).play(held).rests();
    // A third range would not be told of for sure: what is held back goes out with it.
    let three = &held[..held.find("0.2003").unwrap()];
    let many = Config { sack: Sack::On, sack_compression: true, ..linux(0) };
    Transcript::connect(many, Limits::default()).play(three).play(
        "0.2003 < .  5841:7301 ack 1
         0.2004 < .  8761:10221 ack 1
         0.2005 < .  11681:13141 ack 1
         0.2005 > .  1:1 ack 1 sack 11681:13141,8761:10221,1461:7301
         0.2006 < .  13141:14601 ack 1
         0.2007 < .  10221:11681 ack 1
         0.2016 > .  1:1 ack 1 sack 8761:14601,1461:7301",
    );
    // What is acknowledged quickly is not held back.
    let quick = Config { sack: Sack::On, sack_compression: true, ..linux(16) };
    Transcript::connect(quick, Limits::default()).play(three).play(
        "0.2003 < .  5841:7301 ack 1
         0.2003 > .  1:1 ack 1 sack 1461:7301
         0.2008 < .  7301:8761 ack 1
         0.2008 > .  1:1 ack 1 sack 1461:8761",
    );
}
