//! Programs that do not read (methods A.13.12): the window closes where they say, and opens when they read on.

use super::pair::Pair;
use crate::tcp::{Config, Limits, Profile};
use crate::time::{Duration, Time};

const ALL: u64 = 100_000;
/// Where the window ends: no multiple of a segment, nor of a scale.
const END: u64 = 20_001;

const PROFILES: [Profile; 5] = [Profile::Plain, Profile::Linux, Profile::Rfc, Profile::Bsd2008, Profile::Classic];

/// End 0 writes [`ALL`] to end 1, which has a window of so many bytes and reads as far as [`END`].
fn stopped(profile: Profile, window: u32) -> Pair {
    let limits = Limits { max_window: window, ..Limits::default() };
    let mut pair = Pair::new(Config::of(profile), [Limits::default(), limits], Duration::from_millis(10));
    pair.ends[1].set_window_end(Some(END));
    pair.ends[0].write(ALL);
    pair
}

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

#[test]
fn a_window_closes_where_the_program_stops() {
    for profile in PROFILES {
        for window in [8_000, 15_000, 65_535, 1 << 20] {
            let mut pair = stopped(profile, window);
            pair.run_until(at(9_000));
            assert!(pair.ends[1].has_shut_out(), "{profile:?} {window}");
            let received = pair.ends[1].bytes_received();
            assert!((END - 64..=END).contains(&received), "{profile:?} {window}: {received}, as the scale allows");
            let edges = pair.sent.iter().filter(|(_, end, _)| *end == 1);
            let edges = edges.map(|(_, _, segment)| segment.acknowledgement + u64::from(segment.window));
            assert!(edges.clone().all(|edge| edge <= END + 1), "{profile:?} {window}");
            let probes = pair.sent.iter().filter(|(time, end, _)| *end == 0 && *time > at(3_000)).count();
            // A SYN told the end to the byte, later windows round it off: a probe then brings a byte, up to 31 with this scale.
            let most = if window > 65_535 { 32 } else { 10 };
            assert!((2..most).contains(&probes), "{profile:?} {window}: {probes} probes in 6 s");
        }
    }
}

#[test]
fn who_reads_on_tells_at_once() {
    for profile in PROFILES {
        let mut pair = stopped(profile, 15_000);
        pair.run_until(at(9_000));
        let before = pair.sent.len();
        pair.ends[1].set_window_end(None);
        assert!(!pair.ends[1].has_shut_out());
        pair.kick();
        let (time, end, update) = pair.sent[before];
        assert_eq!((time, end, update.payload_bytes), (pair.now, 1, 0));
        assert!(update.window > 14_000, "{}", update.window);
        pair.run_until(at(10_000));
        assert_eq!(pair.ends[1].bytes_received(), ALL, "{profile:?}");
        let last = pair.arrived.iter().rfind(|(_, end, segment)| *end == 1 && segment.payload_bytes > 0).unwrap().0;
        assert!(last < at(9_500), "{profile:?}: {last:?}, and nothing waits for a timer");
    }
}

#[test]
fn losses_leave_no_window_closed() {
    for profile in PROFILES {
        for every in [7, 11, 13] {
            let mut pair = stopped(profile, 15_000);
            let mut count = 0;
            pair.pipe = Some(Box::new(move |_, _| {
                count += 1;
                if count % every == 0 { Vec::new() } else { vec![Duration::ZERO] }
            }));
            let mut ends = (2..10).map(|nth| nth * 10_007);
            while pair.ends[1].bytes_received() < ALL {
                assert!(pair.now < at(600_000), "{profile:?}, one of {every}: {}", pair.ends[1].bytes_received());
                if pair.ends[1].has_shut_out() {
                    pair.run_until(pair.now + Duration::from_millis(700));
                    pair.ends[1].set_window_end(ends.next());
                    pair.kick();
                }
                pair.step();
            }
        }
    }
}
