//! Segments that leave together, and the pauses between them, as Linux has them.

use std::num::NonZeroU32;

use super::pair::Pair;
use super::transcript::Transcript;
use crate::tcp::congestion::{Algorithm, WindowRules};
use crate::tcp::{Config, Endpoint, Habits, InitialWindow, Limits, Sack};
use crate::time::{Duration, Time};

const KILO: Limits = Limits { mss: 1000, max_window: 65_535 };

fn config(initial_window: u16) -> Config {
    Config {
        bursts: true,
        window_rules: WindowRules::Linux,
        initial_window: InitialWindow::Segments(initial_window),
        slow_start_limit: None,
        sack: Sack::On,
        rack: true,
        ..Config::default()
    }
}

/// The peer opens its window wide.
const WIDE: &str = "0.150 < . 1:1 ack 1 win 2000000\n";

/// Lines that send `count` full segments from the one of number `first` on, so many of them together: the last of several that leave
/// together has PSH.
fn sends(time: &str, first: u32, count: u32, together: u32) -> String {
    let line = |n: u32| {
        let place = n % together;
        let pushed = n > 0 && (place == together - 1 || n + 1 == count && place > 0);
        let flags = if pushed { "P." } else { "." };
        format!("{time} > {flags} {}:{} ack 1\n", 1000 * (first + n) + 1, 1000 * (first + n) + 1001)
    };
    (0..count).map(line).collect()
}

/// Twice a window of 20 segments in 100 ms is 400,000 byte/s: two segments each 5 ms. The first pause is halved, because nothing left for
/// long.
#[test]
fn paced_segments_leave_in_pairs() {
    let times = ["0.300", "0.3025", "0.3075", "0.3125", "0.3175"];
    let pairs: String = (0..).zip(times).map(|(n, time)| sends(time, 10 + 2 * n, 2, 2)).collect();
    let text = ["0.200 ! write 40000\n", &sends("0.200", 0, 10, 2), "0.300 < . 1:1 ack 10001\n", &pairs].concat();
    Transcript::established(Config { pacing: true, ..config(10) }, KILO).play(&text);
}

/// The last burst holds what is left, and the pause after it is as long as that takes.
#[test]
fn the_pause_is_for_what_has_left() {
    let text =
        ["0.200 ! write 13000\n", &sends("0.200", 0, 10, 2), "0.300 < . 1:1 ack 10001\n", &sends("0.300", 10, 2, 2)]
            .concat();
    // 1,000 bytes take 2.5 ms; what comes 1 ms late in its turn has as much credit.
    let late = "0.3025 > P. 12001:13001 ack 1
                0.306 ! write 2000
                0.306 > . 13001:14001 ack 1
                0.306 > P. 14001:15001 ack 1
                0.306 ! write 1000
                0.310 > P. 15001:16001 ack 1";
    Transcript::established(Config { pacing: true, ..config(10) }, KILO).play(&text).play(late);
}

/// All data is acknowledged before the pause is over. The FIN leaves when it is, and is not forgotten.
#[test]
fn a_fin_waits_for_the_pause() {
    let text =
        ["0.200 ! write 12000\n", &sends("0.200", 0, 10, 2), "0.300 < . 1:1 ack 10001\n", &sends("0.300", 10, 2, 2)]
            .concat();
    let fin = "0.301 < . 1:1 ack 12001
               0.3015 ! close
               0.3025 > F. 12001:12002 ack 1
               0.3035 < F. 1:2 ack 12002
               0.3035 > . 12002:12002 ack 2
               0.3035 = closed true";
    Transcript::established(Config { pacing: true, ..config(10) }, KILO).play(&text).play(fin).rests();
}

/// Twice a window of 300 segments in 100 ms is 6,000,000 byte/s, and five segments a millisecond. The first acknowledgement finds that
/// nothing left for long; room for less than five waits then, because the next acknowledgement is due.
#[test]
fn a_burst_waits_for_the_next_acknowledgement() {
    let text = [
        WIDE,
        "0.200 ! write 900000\n",
        &sends("0.200", 0, 300, 5),
        "0.300 < . 1:1 ack 1001 win 2000000\n",
        &sends("0.300", 300, 2, 2),
    ]
    .concat();
    let waits = "0.3002 < . 1:1 ack 2001 win 2000000
                 0.3004 < . 1:1 ack 3001 win 2000000
                 0.3004 = cwnd 303000
                 0.3006 < . 1:1 ack 4001 win 2000000\n";
    let text = [&text, waits, &sends("0.3006", 302, 5, 5), "0.3006 = cwnd 304000"].concat();
    Transcript::established(config(300), KILO).play(&text);
}

/// What was sent after a pause is acknowledged 1.9 ms later: nothing waits for that. The window is 598 segments, and 11 leave
/// together; 596 are 54 bursts and two segments.
#[test]
fn a_burst_does_not_wait_for_a_distant_acknowledgement() {
    let text = [WIDE, "0.200 ! write 298000\n", &sends("0.200", 0, 298, 5)].concat();
    let pause = "0.202 ! write 900000
                 0.202 > . 298001:299001 ack 1
                 0.202 > P. 299001:300001 ack 1
                 0.3001 < . 1:1 ack 298001 win 2000000
                 0.3001 = cwnd 598000\n";
    let text = [&text, pause, &sends("0.3001", 300, 596, 11)].concat();
    Transcript::established(config(300), KILO).play(&text);
}

/// Data segments of these lengths, one after the other from `start` on; those of `pushed` have PSH.
fn cuts(time: &str, start: u32, lengths: &[u32], pushed: &[usize]) -> String {
    let mut next = start;
    let line = |(n, length): (usize, &u32)| {
        let begin = next;
        next += length;
        let flags = if pushed.contains(&n) { "P." } else { "." };
        format!("{time} > {flags} {begin}:{next} ack 1\n")
    };
    lengths.iter().enumerate().map(line).collect()
}

/// As on Ethernet with timestamps.
const ETHERNET: Limits = Limits { mss: 1448, max_window: 65_535 };

/// An 8,192-byte window is 5 segments of 1,448 bytes and 952 bytes, as in captures of Linux 6.18: the last burst of two begins with a full
/// segment.
#[test]
fn a_burst_fills_the_receive_window() {
    let text = [
        "0.150 < . 1:1 ack 1 win 8192\n0.200 ! write 100000\n",
        &cuts("0.200", 1, &[1448, 1448, 1448, 1448, 1448, 952], &[1, 3, 5]),
        "0.300 < . 1:1 ack 2897 win 8192\n",
        &cuts("0.300", 8193, &[1448, 1448], &[1]),
        "0.301 < . 1:1 ack 5793 win 8192\n",
        &cuts("0.301", 11_089, &[1448, 1448], &[1]),
        "0.302 < . 1:1 ack 8193 win 8192\n",
        &cuts("0.302", 13_985, &[1448, 952], &[1]),
    ]
    .concat();
    Transcript::established(config(10), ETHERNET).play(&text);
}

/// Less than a full segment waits for the next acknowledgement, though it is all that the window has left.
#[test]
fn room_for_less_than_a_segment_waits() {
    let text = [
        "0.150 < . 1:1 ack 1 win 3900\n0.200 ! write 100000\n",
        &cuts("0.200", 1, &[1448, 1448], &[1]),
        "0.300 < . 1:1 ack 1449 win 3900\n",
        &cuts("0.300", 2897, &[1448, 1004], &[1]),
        "0.310 < . 1:1 ack 2897 win 3895\n0.311 -\n",
        "0.320 < . 1:1 ack 5349 win 1447\n0.321 -\n",
    ]
    .concat();
    Transcript::established(config(10), ETHERNET).play(&text);
}

/// The peer never offered more than 2,000 bytes: segments have half of that at most, also in a window that is half open.
#[test]
fn segments_are_half_of_the_largest_window() {
    let text = [
        "0.000 > S 0:1 mss 1448 ws 0 sok\n0.000 ! write 100000\n",
        "0.100 < S. 0:1 ack 1 win 2000 mss 1460 ws 0 sok ts 5,1\n",
        &cuts("0.100", 1, &[1000, 1000], &[1]),
        "0.200 < . 1:1 ack 1001 win 1999 ts 6,2\n0.201 -\n",
        "0.210 < . 1:1 ack 2001 win 1999 ts 6,2\n",
        &cuts("0.210", 2001, &[1000, 999], &[1]),
    ]
    .concat();
    Transcript::connect(Config { timestamps: true, ..config(10) }, ETHERNET).play(&text);
}

/// Bytes that arrive in two seconds, one way of 20 ms, of an end with this rate.
fn arrived(config: Config, rate: u32) -> u64 {
    let wide = Limits { mss: 1000, max_window: 1 << 20 };
    let mut pair = Pair::new(config, [wide; 2], Duration::from_millis(20));
    let habits = Habits { rate: NonZeroU32::new(rate), ..Habits::default() };
    pair.ends[0] = Endpoint::connect(&pair.config, wide).with_habits(&habits, &pair.config);
    pair.ends[0].write(10_000_000);
    pair.kick();
    pair.run_until(Time::ZERO + Duration::from_secs(2));
    pair.ends[1].bytes_received()
}

/// Ten segments leave at once; all others at the rate at most, whatever the window allows.
#[test]
fn an_end_keeps_to_its_rate() {
    let bbr = Config { congestion: Algorithm::Bbr, ..config(10) };
    for (name, config) in [("plain", Config::default()), ("bursts", config(10)), ("bbr", bbr)] {
        let bytes = arrived(config.clone(), 500_000);
        assert!((850_000..=1_000_000).contains(&bytes), "{name}: {bytes}");
        assert!(arrived(config, 100_000_000) > 2_000_000, "{name}");
    }
}
