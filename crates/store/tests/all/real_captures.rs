//! Extraction over the shared captures that this project did not make.

use std::path::{Path, PathBuf};

use flowloom_core::extract::{Counts, Extractor, Finished, Options};
use flowloom_core::wire::{Address, Decoder, Parsed, SetAsideCounts};
use flowloom_core::workload::{Protocol, Side};
use flowloom_store::capture::{self, Captures, Input};

/// The folder of shared captures, if it is there; a skip if not.
pub fn folder() -> Option<PathBuf> {
    flowloom_needs::shared("store: real captures", "pcap")
}

/// What a capture holds.
pub struct Extraction {
    /// Every connection in the order of starts, those set aside included.
    pub connections: Vec<Finished>,
    /// Every flow of datagrams, likewise.
    pub flows: Vec<Finished>,
    /// Counts of the extractor.
    pub counts: Counts,
    /// What was neither.
    pub set_aside: SetAsideCounts,
}

/// Reads a capture whole.
pub fn extract(path: &Path, options: Options) -> Extraction {
    let input = [Input::File(path.to_owned())];
    let name = path.display();
    let mut captures =
        Captures::open(&input, capture::Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut decoder = Decoder::default();
    let mut extractor = Extractor::new(Options { keep_set_aside: true, ..options });
    let mut set_aside = SetAsideCounts::default();
    while let Some(packet) = captures.next_packet().unwrap_or_else(|error| panic!("{name}: {error}")) {
        extractor.begin(packet.time);
        match packet.decode(&mut decoder) {
            Ok(Parsed::Segment(segment)) => extractor.handle_segment(packet.time, &segment),
            Ok(Parsed::Datagram(datagram)) => extractor.handle_datagram(packet.time, &datagram),
            Err(reason) => set_aside.count(reason, packet.wire_length),
        }
    }
    extractor.finish();
    let finished = std::iter::from_fn(|| extractor.poll_finished());
    let (connections, flows) = finished.partition(|one| one.vector.protocol == Protocol::Tcp);
    Extraction { connections, flows, counts: extractor.counts(), set_aside }
}

/// The side at `address`.
pub fn side(finished: &Finished, address: Address) -> Side {
    if finished.initiator == address { Side::Initiator } else { Side::Acceptor }
}

/// Payload bytes seen of `side`, each counted once.
pub fn unique(finished: &Finished, side: Side) -> u64 {
    finished.vector.payload(side).captured
}
