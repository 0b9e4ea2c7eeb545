//! Opening: three-way handshake, what is agreed in it, and its losses.

use super::transcript::Transcript;
use crate::tcp::congestion::WindowRules;
use crate::tcp::{Config, Limits, RtoConfig};
use crate::time::Duration;

fn fast_ack() -> Config {
    Config { delayed_ack: None, ..Config::default() }
}

#[test]
fn initiator() {
    Transcript::connect(fast_ack(), Limits { mss: 1460, max_window: 65_535 })
        .play(
            "0.000 > S  0:1 win 65535 mss 1460 ws 0
             0.010 = established false
             0.040 < S. 0:1 ack 1 mss 1460 ws 2
             0.040 = established true
             0.040 > .  1:1 ack 1 win 65535",
        )
        .rests();
}

#[test]
fn acceptor() {
    Transcript::listen(fast_ack(), Limits { mss: 1400, max_window: 65_535 })
        .play(
            "0.000 < S  0:1 mss 1460 ws 7
             0.000 > S. 0:1 ack 1 win 65535 mss 1400 ws 0
             0.030 = established false
             0.040 < .  1:1 ack 1
             0.040 = established true",
        )
        .rests();
}

#[test]
fn data_written_before_the_handshake_leaves_with_it() {
    Transcript::connect(fast_ack(), Limits::default())
        .play(
            "0.000 > S   0:1 mss 1460 ws 0
             0.000 ! write 300
             0.000 = transmitted 0
             0.040 < S.  0:1 ack 1 mss 1460 ws 0
             0.040 > P.  1:301 ack 1
             0.040 = transmitted 300
             0.080 < .   1:1 ack 301",
        )
        .rests();
}

#[test]
fn data_completes_the_handshake_when_its_last_ack_was_lost() {
    Transcript::listen(fast_ack(), Limits::default())
        .play(
            "0.000 < S   0:1 mss 1460 ws 0
             0.000 > S.  0:1 ack 1 mss 1460 ws 0
             0.050 < P.  1:101 ack 1
             0.050 = established true
             0.050 = received 100
             0.050 > .   1:1 ack 101",
        )
        .rests();
}

#[test]
fn a_lost_syn_is_repeated_with_doubling_timeouts_then_given_up() {
    Transcript::connect(Config { syn_retries: 3, ..fast_ack() }, Limits::default())
        .play(
            "0.000 > S 0:1 mss 1460 ws 0
             1.000 > S 0:1 mss 1460 ws 0
             3.000 > S 0:1 mss 1460 ws 0
             7.000 > S 0:1 mss 1460 ws 0
             14.99 = reset false
             15.00 = reset true
             15.00 = timeouts 3",
        )
        .rests();
}

#[test]
fn a_lost_syn_ack_is_repeated_by_its_timer_and_by_the_repeated_syn() {
    Transcript::listen(fast_ack(), Limits::default())
        .play(
            "0.000 < S  0:1 mss 1460 ws 0
             0.000 > S. 0:1 ack 1 mss 1460 ws 0
             0.900 < S  0:1 mss 1460 ws 0
             0.900 > S. 0:1 ack 1 mss 1460 ws 0
             1.000 > S. 0:1 ack 1 mss 1460 ws 0
             1.100 < .  1:1 ack 1
             1.100 = established true",
        )
        .rests();
}

#[test]
fn a_repeated_syn_ack_is_acknowledged_again() {
    Transcript::established(fast_ack(), Limits::default())
        .play(
            "1.100 < S. 0:1 ack 1 mss 1460 ws 7
             1.100 > .  1:1 ack 1",
        )
        .rests();
}

#[test]
fn after_a_lost_syn_data_starts_with_one_segment_and_three_seconds() {
    Transcript::connect(fast_ack(), Limits::default()).play(
        "0.000 > S   0:1 mss 1460 ws 0
             1.000 > S   0:1 mss 1460 ws 0
             1.040 < S.  0:1 ack 1 mss 1460 ws 0
             1.040 > .   1:1 ack 1
             2.000 ! write 5000
             2.000 > .   1:1461 ack 1
             5.000 > .   1:1461 ack 1",
    );
}

/// Linux: the echo tells whether the first of three SYNs was lost or answered late. Only a lost one costs the initial window.
#[test]
fn syns_that_were_sent_again_without_cause_cost_nothing() {
    let linux = Config { timestamps: true, window_rules: WindowRules::Linux, ..fast_ack() };
    let syns = "0.000 > S   0:1 mss 1460 ws 0 ts 1,0
                1.000 > S   0:1 mss 1460 ws 0 ts 1001,0
                3.000 > S   0:1 mss 1460 ws 0 ts 3001,0\n";
    let late = "3.500 < S.  0:1 ack 1 mss 1460 ws 0 ts 700,1
                3.500 > .   1:1 ack 1 ts 3501,700
                4.000 ! write 2896
                4.000 > .   1:1449 ack 1 ts 4001,700
                4.000 > P.  1449:2897 ack 1 ts 4001,700";
    Transcript::connect(linux.clone(), Limits::default()).play(&[syns, late].concat());
    let lost = "3.500 < S.  0:1 ack 1 mss 1460 ws 0 ts 700,3001
                3.500 > .   1:1 ack 1 ts 3501,700
                4.000 ! write 2896
                4.000 > .   1:1449 ack 1 ts 4001,700
                4.500 < .   1:1 ack 1449 ts 1700,4001
                4.500 > P.  1449:2897 ack 1 ts 4501,1700";
    Transcript::connect(linux, Limits::default()).play(&[syns, lost].concat());
}

/// The same at the acceptor, which has its window since the SYN came. Its SYN/ACK goes out again by the timer and for a repeated SYN.
#[test]
fn syn_acks_that_were_sent_again_without_cause_cost_nothing() {
    let linux = Config { timestamps: true, window_rules: WindowRules::Linux, ..fast_ack() };
    let twice = "0.000 < S   0:1 mss 1460 ws 0 ts 10,0
                 0.000 > S.  0:1 ack 1 mss 1460 ws 0 ts 1,10
                 1.000 > S.  0:1 ack 1 mss 1460 ws 0 ts 1001,10
                 1.010 < S   0:1 mss 1460 ws 0 ts 1010,0
                 1.010 > S.  0:1 ack 1 mss 1460 ws 0 ts 1011,10\n";
    let late = "2.000 < .   1:1 ack 1 ts 2010,1
                3.000 ! write 2896
                3.000 > .   1:1449 ack 1 ts 3001,2010
                3.000 > P.  1449:2897 ack 1 ts 3001,2010";
    Transcript::listen(linux.clone(), Limits::default()).play(&[twice, late].concat());
    let lost = "2.000 < .   1:1 ack 1 ts 2010,1011
                3.000 ! write 2896
                3.000 > .   1:1449 ack 1 ts 3001,2010";
    Transcript::listen(linux, Limits::default()).play(&[twice, lost].concat());
}

#[test]
fn a_first_round_trip_sample_sets_the_timeout() {
    // RTT 0.1 s: RTO = 0.1 + 4 * 0.05 = 0.3 s where the minimum allows it (RFC 6298 rule 2.2). The next sample of
    // 0.1 s makes it 0.1 + 4 * 0.0375.
    let rto = RtoConfig { min: Duration::from_millis(10), ..RtoConfig::default() };
    Transcript::established(Config { rto, ..fast_ack() }, Limits::default()).play(
        "0.100 = srtt_us 100000
         0.200 ! write 100
         0.200 > P. 1:101 ack 1
         0.500 > P. 1:101 ack 1
         1.100 > P. 1:101 ack 1
         1.200 < .  1:1 ack 101
         2.000 ! write 100
         2.000 > P. 101:201 ack 1
         2.100 < .  1:1 ack 201
         2.200 ! write 100
         2.200 > P. 201:301 ack 1
         2.450 > P. 201:301 ack 1",
    );
}

#[test]
fn simultaneous_open() {
    Transcript::connect(fast_ack(), Limits::default())
        .play(
            "0.000 > S   0:1 mss 1460 ws 0
             0.010 < S   0:1 mss 1460 ws 0
             0.010 > S.  0:1 ack 1 mss 1460 ws 0
             0.020 < S.  0:1 ack 1 mss 1460 ws 0
             0.020 = established true",
        )
        .rests();
}

#[test]
fn a_refused_connection_is_reset() {
    Transcript::connect(fast_ack(), Limits::default())
        .play(
            "0.000 > S  0:1 mss 1460 ws 0
             0.010 < R. 0:0 ack 7
             0.010 = reset false
             0.040 < R. 0:0 ack 1
             0.040 = reset true",
        )
        .rests();
}

#[test]
fn segments_take_the_smaller_mss_and_536_without_the_option() {
    Transcript::connect(fast_ack(), Limits { mss: 1460, max_window: 65_535 }).play(
        "0.000 > S   0:1 mss 1460 ws 0
         0.000 ! write 2000
         0.040 < S.  0:1 ack 1 mss 1000 ws 0
         0.040 > .   1:1001 ack 1
         0.040 > P.  1001:2001 ack 1",
    );
    Transcript::connect(fast_ack(), Limits { mss: 1460, max_window: 65_535 }).play(
        "0.000 > S   0:1 mss 1460 ws 0
         0.000 ! write 600
         0.040 < S.  0:1 ack 1
         0.040 > .   1:537 ack 1
         0.040 > P.  537:601 ack 1",
    );
}

#[test]
fn a_large_window_is_scaled_by_the_least_shift_and_rounded_down() {
    // 300,001 needs a shift of 3: 300,001 / 8 = 37,500.1, so 300,000 is what the header can say.
    Transcript::connect(fast_ack(), Limits { mss: 1460, max_window: 300_001 }).play(
        "0.000 > S   0:1 win 65535 mss 1460 ws 3
         0.040 < S.  0:1 ack 1 mss 1460 ws 0
         0.040 > .   1:1 ack 1 win 300000",
    );
}

#[test]
fn windows_on_syns_are_never_scaled() {
    Transcript::listen(fast_ack(), Limits { mss: 1460, max_window: 300_001 }).play(
        "0.000 < S   0:1 mss 1460 ws 7
         0.000 > S.  0:1 ack 1 win 65535 mss 1460 ws 3
         0.040 < P.  1:101 ack 1
         0.040 > .   1:1 ack 101 win 300000",
    );
}

#[test]
fn without_the_peers_option_windows_stay_below_64_kb() {
    Transcript::connect(fast_ack(), Limits { mss: 1460, max_window: 300_001 }).play(
        "0.000 > S   0:1 win 65535 mss 1460 ws 3
         0.040 < S.  0:1 ack 1 mss 1460
         0.040 > .   1:1 ack 1 win 65535",
    );
    Transcript::listen(fast_ack(), Limits { mss: 1460, max_window: 300_001 }).play(
        "0.000 < S   0:1 mss 1460
         0.000 > S.  0:1 ack 1 win 65535 mss 1460
         0.040 < P.  1:101 ack 1
         0.040 > .   1:1 ack 101 win 65535",
    );
}

#[test]
fn scaling_can_be_switched_off() {
    Transcript::connect(Config { window_scaling: false, ..fast_ack() }, Limits { mss: 1460, max_window: 300_001 })
        .play(
            "0.000 > S   0:1 win 65535 mss 1460
             0.040 < S.  0:1 ack 1 mss 1460
             0.040 > .   1:1 ack 1 win 65535",
        );
}
