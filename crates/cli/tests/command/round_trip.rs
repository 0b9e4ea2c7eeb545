//! Workload to simulation to capture to workload: the bundled capture replayed without a limit, its packets captured at
//! the link, and vectors extracted from that capture again. They must be the vectors that were replayed.

use flowloom::core::extract::{Extractor, Finished, Options};
use flowloom::core::wire::{Decoder, Parsed};
use flowloom::core::workload::{Adu, ConnectionVector, Pattern, Side};
use flowloom::store::capture::{self, Captures, Input};
use flowloom::store::workload::WorkloadReader;
use flowloom::time::Duration;

use crate::support::Bench;

/// The longest silence inside an ADU.
const QUIET: Duration = Duration::from_millis(500);

/// The connection a captured vector belongs to: the writer of captures numbers hosts and ports by it.
fn connection(found: &Finished) -> u64 {
    let host = found.initiator.ip as u32;
    let first = if host >= 0xac10_0001 { 0xac10_0001 } else { 0x0a00_0001 };
    u64::from(host - first) + (u64::from(found.initiator.port - 32_768) << 17)
}

/// Sizes and waits of the ADUs of `side`, or of both.
fn exchanges(vector: &ConnectionVector, side: Option<Side>) -> Vec<Adu> {
    let mut found: Vec<Adu> = Vec::new();
    for adu in vector.adus.iter().filter(|adu| side.is_none_or(|side| adu.side == side)) {
        let seen = |adu: &Adu| adu.seen.unwrap();
        match found.last_mut().filter(|before| side.is_some() && seen(adu).first - seen(before).last < QUIET) {
            // Of a side by itself no answer of the other parts what comes soon.
            Some(before) => {
                before.bytes += adu.bytes;
                before.seen = Some(seen(before).and(seen(adu)));
            }
            None => found.push(*adu),
        }
    }
    found
}

fn apart(a: Duration, b: Duration) -> Duration {
    a.max(b) - a.min(b)
}

#[test]
fn what_is_captured_at_the_link_is_what_was_replayed() {
    // With pauses and answers the ends of concurrent connections wait for each other, without them for themselves alone.
    for writes in [true, false] {
        compare_with_its_capture(writes);
    }
}

fn compare_with_its_capture(writes: bool) {
    let bench = Bench::new();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    // Losses are repaired when the replay's TCP does it, which moves what waits for them. The shortest transits come back where no packet
    // has a longer one.
    let replay = format!("{{ losses = false, writes = {writes}, rtt = 'min' }}");
    bench.file("e.toml", format!("workload = {{ source = '{demo}', replay = {replay} }}").as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r", "--rate", "unlimited", "--pcap"]).succeeded();
    let replayed: Vec<ConnectionVector> =
        WorkloadReader::open(&bench.path("r/workload.parquet")).unwrap().map(|vector| vector.unwrap()).collect();

    let inputs = [Input::from_argument(bench.path("r/link.pcap"))];
    let mut captures = Captures::open(&inputs, capture::Options::default()).unwrap();
    let (mut decoder, mut extractor) = (Decoder::default(), Extractor::new(Options::default()));
    while let Some(packet) = captures.next_packet().unwrap() {
        let Ok(Parsed::Segment(segment)) = packet.decode(&mut decoder) else { panic!("no segment: {packet:?}") };
        extractor.handle_segment(packet.time, &segment);
    }
    extractor.finish();
    let mut captured: Vec<Option<ConnectionVector>> = vec![None; replayed.len()];
    while let Some(found) = extractor.poll_finished() {
        let id = connection(&found) as usize;
        captured[id] = Some(found.vector);
    }

    let (mut waits, mut concurrent) = (0, 0);
    for (original, captured) in replayed.iter().zip(&captured) {
        let id = original.id;
        let captured = captured.as_ref().unwrap_or_else(|| panic!("connection {id} was not captured"));
        for side in Side::BOTH {
            assert_eq!(original.bytes(side), captured.bytes(side), "connection {id}, {side:?}");
        }
        let rtt = original.min_rtt().unwrap().as_secs_f64();
        let seen = captured.min_rtt().unwrap().as_secs_f64();
        assert!((seen - rtt).abs() <= 0.01 * rtt, "connection {id}: RTT {rtt} became {seen}");
        // Sequential: one order of all ADUs. Concurrent: each side its own.
        let sides: &[Option<Side>] = match original.pattern {
            Pattern::Sequential => &[None],
            Pattern::Concurrent if writes => &[],
            Pattern::Concurrent => &[Some(Side::Initiator), Some(Side::Acceptor)],
        };
        concurrent += u32::from(original.pattern == Pattern::Concurrent);
        for &side in sides {
            let (original, captured) = (exchanges(original, side), exchanges(captured, side));
            let shape = |adus: &[Adu]| adus.iter().map(|adu| (adu.side, adu.bytes)).collect::<Vec<_>>();
            assert_eq!(shape(&original), shape(&captured), "connection {id}");
            // A concurrent connection whose ends happen not to overlap in the replay is captured as a sequential one:
            // what a side waits after itself is the same in both.
            for (original, captured) in original.windows(2).zip(captured.windows(2)) {
                let [wanted, found] =
                    [original, captured].map(|adus| adus[1].seen.unwrap().first - adus[0].seen.unwrap().last);
                waits += 1;
                assert!(
                    apart(wanted, found) <= Duration::from_micros(1),
                    "connection {id}: a wait of {wanted} became {found}"
                );
            }
        }
    }
    assert!(replayed.len() > 300 && concurrent > 20 && waits > 1_000, "the capture has something of everything");
}
