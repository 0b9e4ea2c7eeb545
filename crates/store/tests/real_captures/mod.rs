//! Extraction over the shared captures that this project did not make.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};

use flowloom_core::extract::{Counts, Extractor, Finished, Options};
use flowloom_core::wire::{Address, Decoder, Parsed};
use flowloom_core::workload::Side;
use flowloom_store::capture::{self, Captures, Input};

/// The folder of shared captures, if this checkout has it; says so if not.
pub fn folder() -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("FLOWLOOM_SHARED").map_or(beside, PathBuf::from).join("pcap");
    if !folder.is_dir() {
        eprintln!("skipped: no shared captures (set FLOWLOOM_SHARED)");
        return None;
    }
    Some(folder)
}

/// Every connection of a capture in the order of starts, those set aside included, and the counts.
pub fn extract(path: &Path, options: Options) -> (Vec<Finished>, Counts) {
    let input = [Input::File(path.to_owned())];
    let name = path.display();
    let mut captures =
        Captures::open(&input, capture::Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut decoder = Decoder::default();
    let mut extractor = Extractor::new(Options { keep_set_aside: true, ..options });
    while let Some(packet) = captures.next_packet().unwrap_or_else(|error| panic!("{name}: {error}")) {
        extractor.begin(packet.time);
        if let Ok(Parsed::Segment(segment)) = packet.decode(&mut decoder) {
            extractor.handle_segment(packet.time, &segment);
        }
    }
    extractor.finish();
    let finished = std::iter::from_fn(|| extractor.poll_finished()).collect();
    (finished, extractor.counts())
}

/// The side at `address`.
pub fn side(finished: &Finished, address: Address) -> Side {
    if finished.initiator == address { Side::Initiator } else { Side::Acceptor }
}

/// Payload bytes seen of `side`, each counted once.
pub fn unique(finished: &Finished, side: Side) -> u64 {
    finished.vector.bytes(side) - finished.vector.ends[side].missing_bytes()
}
