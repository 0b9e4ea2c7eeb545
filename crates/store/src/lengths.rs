//! Histograms of datagram lengths: CSV with a row for each transport and length (`docs/guide/overhead.md`), and those that are built in. Compressed
//! files are read too.

use std::path::Path;

use flowloom_core::cell::framing::{Lengths, header_bytes};
use flowloom_core::extract::conversations::Transport;

use crate::formats::FormatError;
use crate::formats::error::Flaw;
use crate::formats::lines::Lines;

/// Longest line.
const MOST_LINE_BYTES: usize = 256;
/// Most rows.
const MOST_ROWS: usize = 1 << 20;
/// Most datagrams, so that no sum of their bytes is cut.
const MOST_DATAGRAMS: u64 = 100_000_000_000_000;
/// Length of the largest IP datagram.
const MOST_IP_BYTES: u32 = 65_535;
/// The names of the columns: of application bytes, or of IP bytes with headers.
const COLUMNS: [&str; 2] = ["protocol,data_bytes,count", "protocol,ip_bytes,count"];

/// Histograms that are built in, by name.
pub const BUILT_IN: [(&str, &str); 1] = [("ucb-1989", include_str!("lengths/ucb-1989.csv"))];

/// The built-in histogram of this name.
pub fn built_in(name: &str) -> Option<Lengths> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    read(text.as_bytes()).ok()
}

/// Whether a text begins as such a histogram: its first line that is no comment names the columns.
pub fn begins(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| COLUMNS.contains(&line))
}

/// Reads a histogram.
///
/// # Errors
/// A file that cannot be read, and the first line that is no row, with its number.
pub fn open(path: &Path) -> Result<Lengths, FormatError> {
    rows(Lines::open_file(path)?)
}

/// Reads a histogram in memory.
///
/// # Errors
/// As [`open`].
pub fn read(text: &[u8]) -> Result<Lengths, FormatError> {
    rows(Lines::of("histogram", text)?)
}

fn rows(mut lines: Lines) -> Result<Lengths, FormatError> {
    const ROW: &str = "tcp or udp, bytes and a count, as tcp,512,1000";
    let mut with_headers = None;
    let (mut lengths, mut rows, mut datagrams) = (Lengths::default(), 0, 0u64);
    while lines.advance(MOST_LINE_BYTES)? {
        let flaw = |problem: &str| Err(lines.flaw(&Flaw::new(problem, ROW)));
        let line = lines.text()?.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(with_headers) = with_headers else {
            let Some(place) = COLUMNS.iter().position(|columns| *columns == line) else {
                let wanted = "protocol,data_bytes,count or protocol,ip_bytes,count";
                return Err(lines.flaw(&Flaw::new("the first line does not name the columns", wanted)));
            };
            with_headers = Some(place == 1);
            continue;
        };
        let [protocol, bytes, count] = line.split(',').map(str::trim).collect::<Vec<_>>()[..] else {
            return flaw("not a row of three");
        };
        let transport = match protocol {
            "tcp" => Transport::Tcp,
            "udp" => Transport::Udp,
            _ => return flaw("a protocol that is neither tcp nor udp"),
        };
        let (Ok(bytes), Ok(count)) = (bytes.parse::<u32>(), count.parse::<u64>()) else {
            return flaw("a length or a count that is no whole number from 0 on");
        };
        let headers = header_bytes(transport);
        if with_headers && bytes < headers {
            return flaw(match transport {
                Transport::Tcp => "shorter than its headers: IP and TCP take 40 bytes",
                Transport::Udp => "shorter than its headers: IP and UDP take 28 bytes",
            });
        }
        let data_bytes = if with_headers { bytes - headers } else { bytes };
        if data_bytes > MOST_IP_BYTES - headers {
            return flaw("longer than a datagram can be: 65,535 bytes with headers");
        }
        datagrams = datagrams.saturating_add(count);
        rows += 1;
        if datagrams > MOST_DATAGRAMS {
            return flaw("more than 10^14 datagrams up to here");
        }
        if rows > MOST_ROWS {
            return flaw("more rows than a histogram may have: 1,048,576");
        }
        lengths.add_data(transport, data_bytes, count);
    }
    if rows == 0 {
        return Err(lines.flaw_at(lines.number().max(1), &Flaw::new("the histogram has no rows", ROW)));
    }
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_columns_of_lengths_are_read() {
        let data = read(b"# a comment\n\nprotocol,data_bytes,count\r\ntcp,0,40\r\ntcp,512,10\nudp, 40, 4").unwrap();
        let whole = read(b"protocol,ip_bytes,count\ntcp,40,30\ntcp,552,10\ntcp,40,10\nudp,68,4\n").unwrap();
        assert_eq!(data, whole);
        assert_eq!((data.datagrams(Transport::Tcp), data.data_bytes(Transport::Tcp)), (50, 5_120));
    }

    #[test]
    fn a_histogram_is_told_by_its_columns() {
        assert!(begins(b"# from a trace\nprotocol,data_bytes,count\ntcp,0,1\n"));
        assert!(begins(b"protocol,ip_bytes,count"));
        for other in [&b""[..], b"tcp,0,1\n", b"id,start_ns\n", b"value,cumprob\n"] {
            assert!(!begins(other));
        }
    }

    #[test]
    fn every_fault_has_its_line() {
        for (text, wanted) in [
            (&b""[..], "histogram:1: the histogram has no rows"),
            (b"protocol,data_bytes,count\n", "histogram:1: the histogram has no rows"),
            (b"tcp,0,1\n", "histogram:1: the first line does not name the columns"),
            (b"protocol,data_bytes,count\ntcp,0\n", "histogram:2: not a row of three"),
            (b"protocol,data_bytes,count\ntcp,0,1,2\n", "histogram:2: not a row of three"),
            (b"protocol,data_bytes,count\ntcp,0,1\nicmp,8,1\n", "histogram:3: a protocol that is neither"),
            (b"protocol,data_bytes,count\ntcp,-1,1\n", "histogram:2: a length or a count that is no whole number"),
            (b"protocol,data_bytes,count\ntcp,1,1.5\n", "histogram:2: a length or a count that is no whole number"),
            (b"protocol,data_bytes,count\ntcp,65496,1\n", "histogram:2: longer than a datagram can be"),
            (b"protocol,ip_bytes,count\ntcp,39,1\n", "histogram:2: shorter than its headers: IP and TCP"),
            (b"protocol,ip_bytes,count\nudp,27,1\n", "histogram:2: shorter than its headers: IP and UDP"),
            (b"protocol,data_bytes,count\ntcp,0,100000000000001\n", "histogram:2: more than 10^14 datagrams"),
            (b"protocol,data_bytes,count\n\xff\n", "histogram:2: this is not UTF-8"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.starts_with(wanted), "{message}");
        }
    }

    #[test]
    fn what_is_built_in_is_whole() {
        for (name, _) in BUILT_IN {
            let lengths = built_in(name).unwrap();
            assert!(lengths.datagrams(Transport::Tcp) > 0 && lengths.datagrams(Transport::Udp) > 0, "{name}");
        }
        assert_eq!(built_in("ucb-1988"), None);
    }
}
