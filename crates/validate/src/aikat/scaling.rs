//! How often window scaling was in use: what the published windows allow, and counts of real captures.

use std::fmt::{self, Write as _};
use std::path::Path;

use flowloom::{Context, ExtractOptions, Packets, Silent, Stop, extract};
use flowloom_core::workload::{ConnectionVector, Protocol, Side};
use flowloom_store::workload::WorkloadReader;
use serde::{Deserialize, Serialize};

/// The file of the counts, beside that of the runs.
pub const SCALING_FILE: &str = "scaling.csv";

/// The largest window without scaling, in bytes.
const UNSCALED: u64 = 65_535;

/// Shares of ends by their windows in percent (methods A.14): of 64 KB, and below 8 KB, which is not stated of IBM.
const PUBLISHED: [(&str, f64, Option<f64>); 4] = [
    ("UNC, initiators", 65.0, Some(8.4)),
    ("UNC, acceptors", 25.0, Some(36.0)),
    ("IBM, initiators", 80.0, None),
    ("IBM, acceptors", 50.0, None),
];

/// TCP connections of a capture with payload of which both SYNs were seen, by what these offered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scaling {
    /// Name of the capture.
    pub capture: String,
    /// All of them.
    pub connections: u64,
    /// The initiator offered scaling.
    pub initiator: u64,
    /// Both offered it: it is in use (RFC 7323).
    pub both: u64,
    /// Both offered it, and one of them advertised more than fits without.
    pub above: u64,
}

impl Scaling {
    /// Takes a connection into account.
    fn add(&mut self, vector: &ConnectionVector) {
        let ends = Side::BOTH.map(|side| &vector.ends[side]);
        if vector.protocol != Protocol::Tcp || !ends.iter().all(|end| end.syn_seen) {
            return;
        }
        let [initiator, acceptor] = ends.map(|end| end.window_scale.is_some());
        self.connections += 1;
        self.initiator += u64::from(initiator);
        if initiator && acceptor {
            self.both += 1;
            self.above += u64::from(ends.iter().any(|end| end.max_window.is_some_and(|window| window > UNSCALED)));
        }
    }

    fn share(&self, of: u64) -> String {
        format!("{:.1} %", 100.0 * of as f64 / self.connections.max(1) as f64)
    }
}

/// Counts the connections of these captures, and writes the counts to [`SCALING_FILE`] in `folder`.
///
/// # Errors
/// A capture cannot be read; the file cannot be written.
pub fn count_scaling(folder: &Path, captures: &[impl AsRef<Path>]) -> Result<usize, String> {
    let mut counts = Vec::new();
    for capture in captures {
        counts.push(of_capture(capture.as_ref())?);
    }
    counts.sort_by(|a, b| a.capture.cmp(&b.capture));
    let path = folder.join(SCALING_FILE);
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let mut file = csv::Writer::from_path(&path).map_err(|error| failed(&error))?;
    for count in counts.iter().filter(|count| count.connections > 0) {
        file.serialize(count).map_err(|error| failed(&error))?;
    }
    file.flush().map_err(|error| failed(&error))?;
    Ok(counts.len())
}

fn of_capture(capture: &Path) -> Result<Scaling, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let workload = scratch.path().join("workload.parquet");
    let stop = Stop::new();
    let (files, context) = ([capture.to_owned()], Context::new(&Silent, &stop));
    extract(Packets::Files(&files), &workload, &ExtractOptions::default(), context)
        .map_err(|error| error.to_string())?;
    let name = capture.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut counts = Scaling { capture: name, ..Scaling::default() };
    for vector in WorkloadReader::open(&workload).map_err(|error| error.to_string())? {
        counts.add(&vector.map_err(|error| error.to_string())?);
    }
    Ok(counts)
}

/// The counts in the file; none without one.
///
/// # Errors
/// It is no such file.
pub fn read_counts(path: &Path) -> Result<Vec<Scaling>, String> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let failed = |error: csv::Error| format!("{}: {error}", path.display());
    csv::Reader::from_path(path).map_err(failed)?.deserialize().map(|row| row.map_err(failed)).collect()
}

/// The part of the page.
pub fn section(counts: &[Scaling]) -> String {
    let mut text = "\n### Window scaling\n\nWithout scaling a window has 65,535 bytes at most. This is the 64 KB that many ends have. Ends with other windows have \
        less than 8 KB, between 8 and 64 KB, or more. The share of ends that scale is at most what the first two columns leave (methods A.14).\n\n\
        | ends | 64 KB | below 8 KB | scaled at most |\n|---|--:|--:|--:|\n"
        .to_owned();
    for (ends, full, small) in PUBLISHED {
        let below = small.map_or_else(|| "not stated".to_owned(), |small| format!("{small} %"));
        let most = 100.0 - full - small.unwrap_or(0.0);
        let _ = writeln!(text, "| {ends} | {full} % | {below} | {most:.1} % |");
    }
    if counts.is_empty() {
        return text;
    }
    text.push_str(
        "\nReal captures from the test data of other projects, which the first word names: TCP connections with payload of which both SYNs were captured. Scaling is in use where \
         both ends offer it. It is needed where one of them then advertises more than 65,535 bytes.\n\n\
         | capture | connections | offered by the initiator | in use | needed |\n|---|--:|--:|--:|--:|\n",
    );
    let mut all = Scaling { capture: "all".to_owned(), ..Scaling::default() };
    for count in counts {
        all.connections += count.connections;
        all.initiator += count.initiator;
        all.both += count.both;
        all.above += count.above;
    }
    for count in counts.iter().filter(|count| count.connections >= FEWEST).chain([&all]) {
        let [offered, used, needed] = [count.initiator, count.both, count.above].map(|of| count.share(of));
        let _ = writeln!(text, "| {} | {} | {offered} | {used} | {needed} |", count.capture, count.connections);
    }
    let _ = writeln!(text, "\nCaptures with fewer than {FEWEST} such connections are in the sum only.");
    text
}

/// Connections that a capture has at least to stand on the page for itself.
const FEWEST: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(initiator: Option<u8>, acceptor: Option<u8>, window: u64) -> ConnectionVector {
        let mut vector = ConnectionVector::default();
        for (side, scale) in Side::BOTH.into_iter().zip([initiator, acceptor]) {
            vector.ends[side].syn_seen = true;
            vector.ends[side].window_scale = scale;
        }
        vector.ends.acceptor.max_window = Some(window);
        vector
    }

    #[test]
    fn scaling_is_in_use_where_both_offer_it() {
        let mut counts = Scaling::default();
        counts.add(&vector(Some(7), Some(0), 65_536));
        counts.add(&vector(Some(7), Some(0), 65_535));
        counts.add(&vector(Some(7), None, 1 << 20));
        counts.add(&vector(None, None, 65_535));
        let mut midstream = vector(Some(7), Some(7), 1 << 20);
        midstream.ends.initiator.syn_seen = false;
        counts.add(&midstream);
        counts.add(&ConnectionVector { protocol: Protocol::Udp, ..vector(Some(7), Some(7), 1) });
        let wanted = Scaling { capture: String::new(), connections: 4, initiator: 3, both: 2, above: 1 };
        assert_eq!(counts, wanted);
    }

    #[test]
    fn what_is_left_of_the_published_windows_is_a_bound() {
        let text = section(&[]);
        // 100 - 65 - 8.4 and 100 - 25 - 36.
        assert!(text.contains("| UNC, initiators | 65 % | 8.4 % | 26.6 % |"), "{text}");
        assert!(text.contains("| UNC, acceptors | 25 % | 36 % | 39.0 % |"), "{text}");
        assert!(text.contains("| IBM, acceptors | 50 % | not stated | 50.0 % |"), "{text}");
        let few = Scaling { capture: "few".to_owned(), connections: 10, initiator: 10, both: 5, above: 0 };
        let many = Scaling { capture: "many".to_owned(), connections: 30, initiator: 10, both: 5, above: 2 };
        let text = section(&[few, many]);
        assert!(!text.contains("| few |"), "{text}");
        assert!(text.contains("| many | 30 | 33.3 % | 16.7 % | 6.7 % |"), "{text}");
        assert!(text.contains("| all | 40 | 50.0 % | 25.0 % | 5.0 % |"), "{text}");
    }
}
