//! Every capture of the shared corpus: packet counts as capinfos has them, TCP packets as tshark has them.

use std::fs::File;
use std::io::Read;

use flate2::read::GzDecoder;
use flowloom_core::time::Time;
use flowloom_core::wire::{Decoder, Parsed, SetAside, SetAsideCounts};
use flowloom_store::capture::{Captures, Input, Options};
use serde_json::Value;

use crate::real_captures;

/// Seconds written with a fraction, in nanoseconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{seconds}{fraction:0<9}").parse().ok()
}

#[test]
fn corpus_reads_with_the_packet_counts_of_other_tools() {
    let Some(folder) = real_captures::folder() else { return };
    let mut text = String::new();
    let truth = File::open(folder.join("truth.jsonl.gz")).expect("truth.jsonl.gz");
    GzDecoder::new(truth).read_to_string(&mut text).expect("gzip");
    let (mut files, mut wrong) = (0, Vec::new());
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).expect("JSON");
        if entry["type"] != "file" {
            continue;
        }
        files += 1;
        let file = entry["file"].as_str().expect("file");
        let opened = Captures::open(&[Input::File(folder.join(file))], Options::default());
        let mut captures = opened.unwrap_or_else(|error| panic!("{error}"));
        let (mut packets, mut segments) = (0, 0);
        let (mut decoder, mut aside) = (Decoder::default(), SetAsideCounts::default());
        while let Some(packet) = captures.next_packet().unwrap_or_else(|error| panic!("{error}")) {
            packets += 1;
            match packet.decode(&mut decoder) {
                Ok(Parsed::Segment(_)) => segments += 1,
                Ok(Parsed::Datagram(_)) => aside.count(SetAside::Udp, packet.wire_length),
                Err(reason) => aside.count(reason, packet.wire_length),
            }
        }
        let facts = &captures.inputs()[0];
        assert_eq!(entry["sha256"].as_str(), facts.sha256.as_deref(), "{file}");
        let capinfos = entry["capinfos"]["Number of packets"].as_str().expect("capinfos");
        assert_eq!(capinfos, packets.to_string(), "{file}");
        assert_eq!(segments + aside.total(), packets, "{file}");
        for (ours, theirs) in [(facts.earliest, "Start time"), (facts.latest, "End time")] {
            let theirs = entry["capinfos"][theirs].as_str().and_then(nanoseconds);
            assert_eq!(ours.map(Time::as_nanos), theirs, "{file}");
        }
        let expected = entry["tshark"]["tcp_packets"].as_u64().unwrap_or(0);
        if segments != expected {
            let reasons: Vec<String> =
                aside.iter().filter(|(_, n)| *n > 0).map(|(why, n)| format!("{} {n}", why.name())).collect();
            wrong.push(format!("{file}: {segments} segments (tshark {expected}); set aside: {}", reasons.join(", ")));
        }
    }
    assert_eq!(files, 61);
    assert!(wrong.is_empty(), "{} of {files} files differ:\n{}", wrong.len(), wrong.join("\n"));
}
