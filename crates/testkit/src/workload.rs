//! Workload files that no capture made.

use std::path::Path;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, ConnectionVector, Side, Span};
use flowloom_store::workload::{CAPTURED, CaptureFacts, Provenance, TrafficFacts, WorkloadWriter};

/// A workload of connections with a request each.
pub struct Stored {
    /// When its first packet was captured, in nanoseconds since 1970 UTC.
    pub begin_ns: u64,
    /// How long it is.
    pub seconds: u64,
    /// Its connections, one each second. Without any no packet was captured.
    pub connections: u64,
    /// From when until when an interface was captured, if it was.
    pub captured_ns: Option<[u64; 2]>,
}

impl Stored {
    /// Writes the workload `path`, and the folder that it is in.
    pub fn write(&self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = WorkloadWriter::create(path).unwrap();
        for id in 0..self.connections {
            let seen = Some(Span { first: Duration::ZERO, last: Duration::from_millis(1) });
            let side = Side::Initiator;
            let adu = Adu { side, bytes: 100, missing_bytes: 0, wait: None, waiter: side, seen, packets: None };
            let start = Time::ZERO + Duration::from_secs(id);
            writer.write(&ConnectionVector { id, start, adus: vec![adu], ..ConnectionVector::default() }).unwrap();
        }
        let capture = CaptureFacts {
            first_packet_unix_ns: Some(self.begin_ns).filter(|_| self.connections > 0),
            duration_ns: self.seconds * 1_000_000_000,
            ..CaptureFacts::default()
        };
        let mut provenance = Provenance::default();
        provenance.options.extend(self.captured_ns.map(|times| (CAPTURED.to_owned(), times.to_vec().into())));
        writer.finish(provenance, capture, &TrafficFacts::default()).unwrap();
    }
}
