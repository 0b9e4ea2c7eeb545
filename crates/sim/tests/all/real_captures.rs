//! Real captures through extraction, simulation over an unconstrained path, and the monitor: the exchanges come back.

use std::path::{Path, PathBuf};

use crate::common::simulate;
use flowloom_core::extract::{Extractor, Options};
use flowloom_core::play::{ReplayModel, Waits};
use flowloom_core::record::Outcome;
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::wire::{Decoder, Parsed};
use flowloom_core::workload::{ConnectionVector, Pattern, Side};
use flowloom_sim::{AsCaptured, Config};
use flowloom_store::capture::{self, Captures, Input};

fn captures() -> Option<Vec<PathBuf>> {
    let folder = flowloom_needs::shared("sim: exchanges of real captures", "pcap")?;
    let mut files: Vec<_> = std::fs::read_dir(folder).ok()?.filter_map(|e| Some(e.ok()?.path())).collect();
    files.sort();
    Some(files)
}

pub fn extract(path: &Path) -> Vec<ConnectionVector> {
    let options = capture::Options { truncation: capture::Truncation::Allow, ..Default::default() };
    let Ok(mut captures) = Captures::open(&[Input::File(path.to_owned())], options) else { return Vec::new() };
    let (mut decoder, mut extractor) = (Decoder::default(), Extractor::new(Options::default()));
    let mut first = true;
    while let Ok(Some(packet)) = captures.next_packet() {
        if std::mem::take(&mut first) {
            extractor.begin(packet.time);
        }
        if let Ok(Parsed::Segment(segment)) = packet.decode(&mut decoder) {
            extractor.handle_segment(packet.time, &segment);
        }
    }
    extractor.finish();
    std::iter::from_fn(|| extractor.poll_vector()).collect()
}

/// RFC 1122, section 4.2.3.2.
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(500);

#[test]
fn exchanges_of_real_connections_come_back() {
    let Some(files) = captures() else { return };
    let mut config = Config::new(Rate::UNLIMITED, Config::MAX_WINDOW);
    config.replay = ReplayModel::with_waits(Waits::CORRECTED);
    // Small segments are held back only if they are small in the original, too: timestamps take room in each.
    config.classes[0].as_captured = AsCaptured::ALL;
    let (mut sequential, mut waits, mut concurrent, mut held_back) = (0, 0, 0, 0);
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let vectors = extract(&file);
        let (summary, log) = simulate(&vectors, &config);
        assert_eq!(summary.connections.completed, vectors.len() as u64, "{name}: {:?}", summary.connections);
        for (original, record, _, monitor) in &log.connections {
            let what = format!("{name}, connection {}", original.id);
            let monitor = monitor.as_ref().expect("its packets passed");
            assert_eq!(record.outcome, Outcome::Completed, "{what}");
            let bytes = Side::BOTH.map(|side| original.bytes(side));
            assert_eq!(record.delivered_bytes, bytes, "{what}");
            assert_eq!(Side::BOTH.map(|side| monitor.bytes(side)), bytes, "{what}");
            if original.pattern == Pattern::Concurrent {
                concurrent += 1;
                continue;
            }
            sequential += 1;
            let sizes = |vector: &ConnectionVector| vector.adus.iter().map(|a| (a.side, a.bytes)).collect::<Vec<_>>();
            assert_eq!(sizes(original), sizes(monitor), "{what}");
            for (number, (meant, seen)) in original.adus.iter().zip(&monitor.adus).enumerate() {
                if let (Some(wait), Some(seen)) = (meant.wait, seen.wait) {
                    waits += 1;
                    let off = wait.saturating_sub(seen).max(seen.saturating_sub(wait));
                    // A wait shorter than the least transit it should hold cannot be kept.
                    let impossible = original.ends[meant.waiter].min_transit.is_some_and(|least| wait < least);
                    // Where no transit is known at all, half of the assumed round trip comes on top of an answer's wait.
                    let assumed = match original.min_rtt() {
                        None => config.unknown_rtt / 2,
                        Some(_) => Duration::ZERO,
                    };
                    let allowed = Duration::from_micros(1) + assumed;
                    // An end that holds small segments back began its next ADU with one, which waits for a delayed acknowledgement more.
                    let next = original.adus.get(number + 1).is_some_and(|next| next.side == meant.side);
                    let is_held = seen > wait && next && original.ends[meant.side].nagle == Some(true);
                    if off > allowed && is_held && off <= LONGEST_ACK_DELAY {
                        held_back += 1;
                        continue;
                    }
                    assert!(off <= allowed || impossible, "{what}: {seen} instead of {wait}");
                }
            }
        }
    }
    println!("{sequential} sequential connections with {waits} waits, {concurrent} concurrent ones");
    assert!(held_back <= 3, "{held_back} waits were prolonged by Nagle's algorithm");
    assert!(sequential > 1_400 && waits > 50_000 && concurrent > 200, "the captures are all there");
}
