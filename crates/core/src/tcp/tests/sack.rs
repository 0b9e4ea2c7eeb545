//! What a sender does with SACK, time and marks: RFC 6675 with RFC 9937, RFC 3042, RFC 8985, RFC 3168, RFC 7323.

use super::pair::Pair;
use super::transcript::Transcript;
use crate::tcp::congestion::{Algorithm, WindowRules};
use crate::tcp::{Config, EcnEcho, InitialWindow, Limits, Profile, Sack};
use crate::time::{Duration, Time};

const KILO: Limits = Limits { mss: 1000, max_window: 65_535 };

fn sack() -> Config {
    Config { sack: Sack::WithDuplicates, initial_window: InitialWindow::Segments(10), ..Config::default() }
}

fn rack() -> Config {
    Config { rack: true, limited_transmit: true, ..sack() }
}

const TEN: &str = "0.200 ! write 30000
     0.200 > .  1:1001 ack 1
     0.200 > .  1001:2001 ack 1
     0.200 > .  2001:3001 ack 1
     0.200 > .  3001:4001 ack 1
     0.200 > .  4001:5001 ack 1
     0.200 > .  5001:6001 ack 1
     0.200 > .  6001:7001 ack 1
     0.200 > .  7001:8001 ack 1
     0.200 > .  8001:9001 ack 1
     0.200 > .  9001:10001 ack 1";

/// The first of ten is lost, and two were reported before the third duplicate: RecoverFS is 8 segments (RFC 9937 section 6). The
/// flight of 10,000 shrinks to 5,000, and then each arrival lets a segment out.
#[test]
fn one_loss_under_prr() {
    Transcript::established(sack(), KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1 sack 1001:2001
         0.300 < .  1:1 ack 1 sack 1001:3001
         0.300 < .  1:1 ack 1 sack 1001:4001
         0.300 > .  1:1001 ack 1
         0.300 = cwnd 7000
         0.300 < .  1:1 ack 1 sack 1001:5001
         0.300 > .  10001:11001 ack 1
         0.300 < .  1:1 ack 1 sack 1001:6001
         0.300 < .  1:1 ack 1 sack 1001:7001
         0.300 < .  1:1 ack 1 sack 1001:8001
         0.300 > .  11001:12001 ack 1
         0.300 < .  1:1 ack 1 sack 1001:9001
         0.300 > .  12001:13001 ack 1
         0.300 < .  1:1 ack 1 sack 1001:10001
         0.300 > .  13001:14001 ack 1
         0.400 < .  1:1 ack 10001
         0.400 > .  14001:15001 ack 1
         0.400 = cwnd 5000
         0.400 = retransmissions 1
         0.400 = timeouts 0",
    );
}

/// The first, third and fifth of ten are lost: all are repaired within a round trip of noticing.
#[test]
fn three_losses_under_prr() {
    Transcript::established(sack(), KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1 sack 1001:2001
         0.300 < .  1:1 ack 1 sack 3001:4001,1001:2001
         0.300 < .  1:1 ack 1 sack 5001:6001,3001:4001,1001:2001
         0.300 > .  1:1001 ack 1
         0.300 < .  1:1 ack 1 sack 5001:7001,3001:4001,1001:2001
         0.300 < .  1:1 ack 1 sack 5001:8001,3001:4001,1001:2001
         0.300 > .  2001:3001 ack 1
         0.300 > .  4001:5001 ack 1
         0.300 < .  1:1 ack 1 sack 5001:9001,3001:4001,1001:2001
         0.300 > .  10001:11001 ack 1
         0.300 < .  1:1 ack 1 sack 5001:10001,3001:4001,1001:2001
         0.300 > .  11001:12001 ack 1
         0.400 < .  1:1 ack 2001 sack 5001:10001,3001:4001
         0.400 > .  12001:13001 ack 1
         0.400 < .  1:1 ack 4001 sack 5001:10001
         0.400 > .  13001:14001 ack 1
         0.400 < .  1:1 ack 10001
         0.400 > .  14001:15001 ack 1
         0.400 = cwnd 5000
         0.400 = retransmissions 3
         0.400 = timeouts 0",
    );
}

/// Without PRR nothing is sent until what is in flight is below the threshold (RFC 6675 section 5, step C).
#[test]
fn without_prr_the_pipe_drains_first() {
    Transcript::established(Config { prr: false, ..sack() }, KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1 sack 1001:4001
         0.300 > .  1:1001 ack 1
         0.300 < .  1:1 ack 1 sack 1001:5001
         0.300 < .  1:1 ack 1 sack 1001:6001
         0.300 < .  1:1 ack 1 sack 1001:7001
         0.300 > .  10001:11001 ack 1",
    );
}

#[test]
fn a_timeout_sends_only_what_did_not_arrive() {
    Transcript::established(sack(), KILO)
        .play(&TEN.replace("write 30000", "write 10000").replace("> .  9001", "> P. 9001"))
        .play(
            "0.300 < .  1:1 ack 1 sack 2001:3001
         1.200 > .  1:1001 ack 1
         1.200 = cwnd 1000
         1.300 < .  1:1 ack 1001 sack 2001:3001
         1.300 > .  1001:2001 ack 1
         1.300 > .  3001:4001 ack 1
         1.400 < .  1:1 ack 4001
         1.400 > .  4001:5001 ack 1
         1.400 > .  5001:6001 ack 1
         1.400 > .  6001:7001 ack 1
         1.400 = retransmissions 6",
        );
}

/// RFC 6675 section 4, rules 3 and 4: with a window to spare and nothing new, what is not known to be lost, then the end.
#[test]
fn a_rescue_retransmission_follows_when_the_end_is_lost() {
    let limits = KILO;
    Transcript::established(Config { prr: false, ..sack() }, limits)
        .play(&TEN.replace("write 30000", "write 10000").replace("> .  9001", "> P. 9001"))
        .play(
            "0.300 < .  1:1 ack 1 sack 1001:4001
             0.300 > .  1:1001 ack 1
             0.310 < .  1:1 ack 1 sack 1001:6001
             0.320 < .  1:1 ack 1 sack 1001:8001
             0.320 > P. 9001:10001 ack 1
             0.400 < .  1:1 ack 8001
             0.400 = retransmissions 2",
        );
}

#[test]
fn the_first_two_duplicates_send_new_segments() {
    let config = Config { limited_transmit: true, initial_window: InitialWindow::Segments(10), ..Config::default() };
    Transcript::established(config.clone(), KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1
         0.300 > .  10001:11001 ack 1
         0.300 < .  1:1 ack 1
         0.300 > .  11001:12001 ack 1
         0.300 < .  1:1 ack 1
         0.300 > .  1:1001 ack 1
         0.300 = cwnd 8000",
    );
    Transcript::established(Config { limited_transmit: true, ..sack() }, KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1 sack 1001:2001
         0.300 > .  10001:11001 ack 1
         0.300 < .  1:1 ack 1 sack 1001:3001
         0.300 > .  11001:12001 ack 1
         0.300 < .  1:1 ack 1 sack 1001:4001
         0.300 > .  1:1001 ack 1
         0.300 = cwnd 9000",
    );
}

/// RFC 8985: a segment may be late by a quarter of the round trip; once one was, so may all.
#[test]
fn reordering_within_a_quarter_of_the_round_trip_is_no_loss() {
    Transcript::established(rack(), KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1 sack 1001:2001
         0.300 > .  10001:11001 ack 1
         0.310 < .  1:1 ack 2001
         0.310 = retransmissions 0
         0.310 > .  11001:12001 ack 1
         0.310 > .  12001:13001 ack 1
         0.320 < .  1:1 ack 2001 sack 3001:7001
         0.320 > .  13001:14001 ack 1
         0.320 > .  14001:15001 ack 1
         0.320 > .  15001:16001 ack 1
         0.320 > .  16001:17001 ack 1
         0.345 > .  2001:3001 ack 1
         0.345 = retransmissions 1",
    );
}

/// A late segment is sent again before it arrives. RFC 8985 sees no reordering in what was sent twice, so the next late one is
/// sent again, too. Linux learns from the timestamp that the first copy came, and waits from then on.
#[test]
fn linux_learns_of_reordering_from_a_retransmission_without_cause() {
    let open = |window_rules, then: &str| {
        let config = Config { timestamps: true, undo: true, window_rules, ..rack() };
        let late = "0.300 < .  1:1 ack 1 sack 1001:4001 ts 300,1
             0.300 > .  1:1001 ack 1
             0.300 > .  10001:11001 ack 1
             0.301 < .  1:1 ack 4001 ts 301,201
             0.301 = retransmissions 1
             0.301 > .  11001:12001 ack 1
             0.301 > .  12001:13001 ack 1
             0.301 > P. 13001:14001 ack 1";
        let ten = TEN.replace("30000", "14000");
        Transcript::established(config, Limits { mss: 1012, ..KILO }).play(&ten).play(&[late, then].join("\n"));
    };
    open(
        WindowRules::Rfc,
        "0.302 < .  1:1 ack 4001 sack 5001:8001 ts 302,201
         0.302 > .  4001:5001 ack 1
         0.302 = retransmissions 2",
    );
    open(
        WindowRules::Linux,
        "0.302 < .  1:1 ack 4001 sack 5001:8001 ts 302,201
         0.302 = retransmissions 1",
    );
}

/// Linux's timers of RACK and of probes fire 2 ms later (`TCP_TIMEOUT_MIN_US`), so that the next acknowledgement often comes first.
#[test]
fn linux_adds_two_milliseconds_to_reordering_timers_and_probes() {
    let reordered = "0.300 < .  1:1 ack 1 sack 1001:2001
         0.300 > .  10001:11001 ack 1
         0.310 < .  1:1 ack 2001
         0.310 > .  11001:12001 ack 1
         0.310 > .  12001:13001 ack 1
         0.320 < .  1:1 ack 2001 sack 3001:7001
         0.320 > .  13001:14001 ack 1
         0.320 > .  14001:15001 ack 1
         0.320 > .  15001:16001 ack 1
         0.320 > .  16001:17001 ack 1
         0.347 > .  2001:3001 ack 1";
    let linux = || Config { window_rules: WindowRules::Linux, ..rack() };
    Transcript::established(linux(), KILO).play(TEN).play(reordered);
    Transcript::established(linux(), KILO).play(
        "0.200 ! write 2000
         0.200 > .  1:1001 ack 1
         0.200 > P. 1001:2001 ack 1
         0.402 > P. 1001:2001 ack 1",
    );
}

#[test]
fn three_duplicates_are_a_loss_where_nothing_was_reordered() {
    Transcript::established(rack(), KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1 sack 1001:4001
         0.300 > .  1:1001 ack 1
         0.300 > .  10001:11001 ack 1
         0.300 = cwnd 8000",
    );
}

/// The first and the fourth of ten are lost. The block with the highest data stands first in the option; the one below it grew within
/// the same acknowledgement, in order.
#[test]
fn two_blocks_of_one_ack_are_not_reordering() {
    Transcript::established(rack(), KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1 sack 1001:2001
         0.300 > .  10001:11001 ack 1
         0.300 < .  1:1 ack 1 sack 4001:5001,1001:3001
         0.300 > .  1:1001 ack 1",
    );
}

#[test]
fn a_lost_retransmission_is_noticed_by_time() {
    Transcript::established(rack(), KILO).play(TEN).play(
        "0.300 < .  1:1 ack 1 sack 1001:8001
         0.300 > .  1:1001 ack 1
         0.300 > .  10001:11001 ack 1
         0.300 > .  11001:12001 ack 1
         0.400 < .  1:1 ack 1 sack 1001:12001
         0.400 > .  1:1001 ack 1
         0.400 = retransmissions 2
         0.400 = timeouts 0
         0.400 > .  12001:13001 ack 1
         0.400 > .  13001:14001 ack 1
         0.400 > .  14001:15001 ack 1
         0.400 > .  15001:16001 ack 1",
    );
}

/// RFC 8985 section 7: two of three are lost, and the third would not tell without a probe. One arrival lets one segment out; the
/// first that advances, a further one (RFC 9937 section 6).
#[test]
fn a_probe_tells_of_a_lost_tail() {
    Transcript::established(rack(), KILO).play(
        "0.200 ! write 3000
         0.200 > .  1:1001 ack 1
         0.200 > .  1001:2001 ack 1
         0.200 > P. 2001:3001 ack 1
         0.400 > P. 2001:3001 ack 1
         0.500 < .  1:1 ack 1 sack 2001:3001
         0.500 > .  1:1001 ack 1
         0.600 < .  1:1 ack 1001 sack 2001:3001
         0.600 > .  1001:2001 ack 1
         0.700 < .  1:1 ack 3001
         0.700 = timeouts 0
         0.700 = cwnd 2000",
    );
}

#[test]
fn a_probe_waits_for_the_delayed_acknowledgement_of_a_single_segment() {
    Transcript::established(rack(), KILO)
        .play(
            "0.200 ! write 1000
         0.200 > P. 1:1001 ack 1
         0.600 > P. 1:1001 ack 1
         0.700 < .  1:1 ack 1001 sack 1:1001
         0.700 = cwnd 10000
         0.700 = timeouts 0",
        )
        .rests();
}

/// A probe that repairs a loss has the window reduced, once later data shows that only one copy arrived.
#[test]
fn a_loss_that_a_probe_repairs_counts() {
    Transcript::established(rack(), KILO).play(
        "0.200 ! write 8000
         0.200 > .  1:1001 ack 1
         0.200 > .  1001:2001 ack 1
         0.200 > .  2001:3001 ack 1
         0.200 > .  3001:4001 ack 1
         0.200 > .  4001:5001 ack 1
         0.200 > .  5001:6001 ack 1
         0.200 > .  6001:7001 ack 1
         0.200 > P. 7001:8001 ack 1
         0.300 < .  1:1 ack 7001
         0.700 > P. 7001:8001 ack 1
         0.800 < .  1:1 ack 8001
         0.900 ! write 1000
         0.900 > P. 8001:9001 ack 1
         1.000 < .  1:1 ack 9001
         1.000 = cwnd 2000",
    );
}

/// RFC 3168 sections 6.1.2 and 6.1.5: one reduction a round trip, told by CWR; what is sent again is not capable.
#[test]
fn marks_halve_the_window_once_a_round_trip() {
    let config = Config { ecn: EcnEcho::UntilAnswered, ..sack() };
    Transcript::established(config, KILO).play(&TEN.replace("ack 1", "ack 1 ect0")).play(
        "0.300 < .E 1:1 ack 2001
         0.300 = cwnd 5000
         0.300 < .E 1:1 ack 4001
         0.300 < .E 1:1 ack 6001
         0.300 = cwnd 5000
         0.300 > .W 10001:11001 ack 1 ect0
         0.310 < .  1:1 ack 6001 sack 7001:10001
         0.310 > .  6001:7001 ack 1
         0.310 > .  11001:12001 ack 1 ect0
         0.310 > .  12001:13001 ack 1 ect0
         0.310 = cwnd 4000",
    );
}

/// RFC 7323 section 4: a retransmission gives a sample, too, which Karn's rule forbids.
#[test]
fn timestamps_time_retransmissions() {
    let config = Config { timestamps: true, ..Config::default() };
    Transcript::established(config, KILO).play(
        "0.200 = srtt_us 100000
         0.200 ! write 988
         0.200 > P. 1:989 ack 1 ts 201,5
         1.200 > P. 1:989 ack 1 ts 1201,5
         1.250 < .  1:1 ack 989 ts 900,1201
         1.250 = srtt_us 93750",
    );
}

/// 120 % of a window of 10 segments in 100 ms is a segment each 8.333 ms; in slow start twice the window, each 5 ms.
#[test]
fn paced_segments_leave_one_by_one() {
    let config = Config { pacing: true, initial_window: InitialWindow::Segments(10), ..Config::default() };
    Transcript::established(config, KILO).play(TEN).play(
        "0.300 < .  1:1 ack 10001
         0.300 > .  10001:11001 ack 1
         0.304545454 > .  11001:12001 ack 1
         0.309090908 > .  12001:13001 ack 1
         0.313636362 > .  13001:14001 ack 1",
    );
}

/// 2 % of all packets lost, both ways: every profile delivers, and those with SACK hardly ever wait for a timeout.
#[test]
fn profiles_deliver_over_a_lossy_path() {
    let profiles = [Profile::Plain, Profile::Rfc, Profile::Bsd2008, Profile::Linux, Profile::Classic];
    let timeouts = profiles.map(|profile| {
        let mut pair =
            Pair::new(Config::of(profile), [Limits { mss: 1460, max_window: 1 << 20 }; 2], Duration::from_millis(20));
        let mut count = 0_u64;
        pair.pipe = Some(Box::new(move |_, _| {
            count += 1;
            if count % 50 == 25 { Vec::new() } else { vec![Duration::ZERO] }
        }));
        pair.ends[0].write(2_000_000);
        pair.ends[0].close();
        pair.kick();
        pair.run_until(Time::ZERO + Duration::from_secs(600));
        assert_eq!(pair.ends[1].bytes_received(), 2_000_000, "{profile:?}");
        pair.ends[0].timeouts()
    });
    assert!(timeouts[3] <= timeouts[1] && timeouts[1] <= 3, "{timeouts:?}");
}

/// Bytes that arrive within `millis` milliseconds, one way of 20 ms, where `pipe` says for the number of a data packet when copies of it arrive.
fn delivered(config: Config, millis: u64, pipe: impl Fn(u64) -> Vec<Duration> + 'static) -> u64 {
    let limits = Limits { mss: 1460, max_window: 4 << 20 };
    let mut pair = Pair::new(config, [limits; 2], Duration::from_millis(20));
    let mut count = 0_u64;
    pair.pipe = Some(Box::new(move |_, segment| {
        count += u64::from(segment.payload_bytes > 0);
        if segment.payload_bytes > 0 { pipe(count) } else { vec![Duration::ZERO] }
    }));
    pair.ends[0].write(100_000_000);
    pair.kick();
    pair.run_until(Time::ZERO + Duration::from_millis(millis));
    pair.ends[1].bytes_received()
}

/// Every fifth packet is overtaken by more than three. Once it knows, Linux counts for its window what SACK reports as it comes
/// (`tcp_may_raise_cwnd`), and its window grows nearly as without.
#[test]
fn far_reordering_does_not_hold_the_window_down() {
    let late = |count: u64| vec![Duration::from_millis(if count.is_multiple_of(5) { 5 } else { 0 })];
    let config = || Config { congestion: Algorithm::Reno, ..Config::of(Profile::Linux) };
    let [reordered, in_order] = [delivered(config(), 600, late), delivered(config(), 600, |_| vec![Duration::ZERO])];
    assert!(2 * reordered > in_order, "{reordered}, {in_order}");
}

/// The network duplicates every fifth packet and loses every fiftieth. More duplicates are reported than were sent again, so that
/// they say nothing of retransmissions, and no reduction is taken back for them (`tcp_dsack_seen`).
#[test]
fn duplicates_of_the_network_take_nothing_back() {
    let faulty = |count: u64| match count {
        _ if count.is_multiple_of(50) => vec![],
        _ if count.is_multiple_of(5) => vec![Duration::ZERO; 2],
        _ => vec![Duration::ZERO],
    };
    let config = |undo| Config { undo, ..Config::of(Profile::Linux) };
    let [with, without] = [true, false].map(|undo| delivered(config(undo), 20_000, faulty));
    assert!(10 * with <= 13 * without, "{with}, {without}");
}

/// Each hundredth packet comes 5 ms late, behind more than three others. The first one is sent again, and its original shows that
/// packets change places; a quarter of the round trip of 40 ms is more than 5 ms.
#[test]
fn a_late_original_makes_rack_wait() {
    let config = Config::of(Profile::Linux);
    let limits = Limits { mss: 1460, max_window: 1 << 20 };
    let mut pair = Pair::new(config, [limits; 2], Duration::from_millis(40));
    let mut count = 0_u64;
    pair.pipe = Some(Box::new(move |_, segment| {
        count += u64::from(segment.payload_bytes > 0);
        let late = segment.payload_bytes > 0 && count.is_multiple_of(100);
        vec![Duration::from_millis(if late { 5 } else { 0 })]
    }));
    pair.ends[0].write(2_000_000);
    pair.kick();
    pair.run_until(Time::ZERO + Duration::from_secs(60));
    assert_eq!(pair.ends[1].bytes_received(), 2_000_000);
    assert!(pair.ends[0].retransmissions() <= 2, "{}", pair.ends[0].retransmissions());
}

/// The last data is lost and the FIN is not: what RACK waits for is a reordering window, not a timeout.
#[test]
fn a_fin_that_arrives_tells_that_the_data_before_it_is_lost() {
    Transcript::established(rack(), KILO).play(
        "0.200 ! write 1500
         0.200 > .  1:1001 ack 1
         0.200 > P. 1001:1501 ack 1
         0.210 ! close
         0.210 > F. 1501:1502 ack 1
         0.300 < .  1:1 ack 1001
         0.310 < .  1:1 ack 1001 sack 1501:1502
         0.325 > FP. 1001:1502 ack 1
         0.425 < .  1:1 ack 1502
         0.425 = timeouts 0
         0.425 = acked 1500",
    );
}
