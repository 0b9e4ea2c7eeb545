//! Packet-delivery traces of mahimahi: one integer in each line, the millisecond at which 1,500 bytes can be delivered
//! (mm-link(1)). What a trace means is [`Trace`]'s matter; compressed files are read too.

use std::path::Path;

use flowloom_core::path::{Trace, TraceError};
use flowloom_core::time::Duration;

use crate::capture::Input;
use crate::formats::FormatError;
use crate::formats::error::Flaw;
use crate::formats::lines::Lines;
use crate::interrupt::Interrupt;

/// Longest line: a number of twenty digits and some space.
const MOST_LINE_BYTES: usize = 64;
/// Longest trace: a year.
const MOST_MILLIS: u64 = 366 * 86_400_000;
/// Most opportunities: 400 Gbit/s for a second, 40 Mbit/s for two hours and a half; 268 MB of memory.
const MOST_OPPORTUNITIES: usize = 1 << 25;

/// Reads the trace at `path`, a pipe until `interrupt` is requested.
///
/// # Errors
/// A file that cannot be read, and the first line that is no opportunity, with its number.
pub fn open(path: &Path, interrupt: &Interrupt) -> Result<Trace, FormatError> {
    trace(Lines::open(&Input::File(path.to_path_buf()), interrupt)?)
}

/// Reads a trace in memory.
///
/// # Errors
/// As [`open`].
pub fn read(text: &[u8]) -> Result<Trace, FormatError> {
    trace(Lines::of("trace", text)?)
}

fn trace(mut lines: Lines) -> Result<Trace, FormatError> {
    let mut instants: Vec<Duration> = Vec::new();
    while lines.advance(MOST_LINE_BYTES)? {
        let flaw = |problem: &str| lines.flaw(&Flaw::new(problem, "a time in whole milliseconds, as 17"));
        let text = lines.text()?.trim();
        if text.is_empty() {
            return Err(flaw("an empty line"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(flaw("not a delivery opportunity"));
        }
        let millis = text.parse().ok().filter(|&millis| millis <= MOST_MILLIS);
        let instant = Duration::from_millis(millis.ok_or_else(|| flaw("a time beyond a year"))?);
        if instants.last().is_some_and(|last| instant < *last) {
            return Err(flaw("an opportunity before the one in the line above"));
        }
        if instants.len() == MOST_OPPORTUNITIES {
            return Err(flaw("more opportunities than a trace may have: 33,554,432"));
        }
        instants.push(instant);
    }
    // The empty file has no line to blame: the first is missing.
    let line = lines.number().max(1);
    Trace::new(instants).map_err(|error: TraceError| lines.flaw_at(line, &Flaw::new(error.to_string(), "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_mahimahi_reads() {
        // Both of the manual's: 12 Mbit/s from zero, and two packets in a millisecond.
        let trace = read(b"0\n1\n2\n3\n").unwrap();
        assert_eq!((trace.opportunities(), trace.period()), (4, Duration::from_millis(3)));
        let trace = read(b"5\r\n 7 \r\n7\r\n0000010").unwrap();
        assert_eq!((trace.opportunities(), trace.period()), (4, Duration::from_millis(10)));
        assert_eq!(trace.mean_rate(), "4.8mbit".parse().unwrap());
    }

    #[test]
    fn every_fault_has_its_line() {
        for (text, wanted) in [
            (&b""[..], "trace:1: the trace has no delivery opportunity"),
            (b"0\n0\n", "trace:2: the trace takes no time"),
            (b"1\n\n2\n", "trace:2: an empty line; expected a time in whole milliseconds"),
            (b"1\n1.5\n", "trace:2: not a delivery opportunity: \"1.5\"; expected"),
            (b"1\n-2\n", "trace:2: not a delivery opportunity: \"-2\""),
            (b"1\n+2\n", "trace:2: not a delivery opportunity: \"+2\""),
            (b"3\n4\n2\n", "trace:3: an opportunity before the one in the line above: \"2\""),
            (b"99999999999999999999999\n", "trace:1: a time beyond a year"),
            (b"31622400001\n", "trace:1: a time beyond a year"),
            (b"1 2\n", "trace:1: not a delivery opportunity"),
            (b"1\n\xff\n", "trace:2: this is not UTF-8"),
            (&[b'1'; 65], "trace:1: a line of more than 64 bytes"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.starts_with(wanted), "{message}");
        }
        let missing = open(Path::new("/no/such/trace.up"), &Interrupt::never()).unwrap_err().to_string();
        assert!(missing.starts_with("/no/such/trace.up: cannot open"), "{missing}");
    }
}
