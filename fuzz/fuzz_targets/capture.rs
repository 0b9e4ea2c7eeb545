//! Capture files, read and extracted: the lowest bits of the first byte choose options and the size of reads, the rest
//! is the file.
#![no_main]

use std::io::{self, Cursor, Read};

use flowloom_core::extract::{Class, Extractor};
use flowloom_core::wire::{Decoder, Parsed};
use flowloom_core::workload::Side;
use flowloom_store::capture::{Captures, Compression, Options};
use libfuzzer_sys::fuzz_target;

/// Hands out a few bytes at a time, so that records straddle reads.
struct Trickle(Cursor<Vec<u8>>, usize);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.1);
        self.0.read(&mut into[..most])
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, file)) = data.split_first() else { return };
    let options = Options { allow_truncated: choice & 1 != 0, sha256: choice & 2 != 0 };
    let chunk = if choice & 4 != 0 { 5 } else { usize::MAX };
    let reader = || Box::new(Trickle(Cursor::new(file.to_vec()), chunk)) as Box<dyn Read + Send>;
    let inputs = if choice & 8 != 0 { 2 } else { 1 };
    let readers = (0..inputs).map(|input| (input.to_string(), reader())).collect();
    let Ok(mut captures) = Captures::from_readers(readers, options) else { return };
    let (mut packets, mut held) = (0, 0);
    let (mut decoder, mut extractor) = (Decoder::default(), Extractor::new(Default::default()));
    let (mut segments, mut payload_bytes) = (0, 0);
    loop {
        match captures.next_packet() {
            Ok(Some(packet)) => {
                packets += 1;
                // The smallest record of any format is 16 bytes beside its packet.
                held += 16 + packet.bytes.len();
                if let Ok(Parsed::Segment(segment)) = packet.decode(&mut decoder) {
                    segments += 1;
                    payload_bytes += u64::from(segment.payload_bytes);
                    extractor.handle_segment(packet.time, &segment);
                }
            }
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                let _ = error.hint();
                break;
            }
        }
    }
    let facts = captures.inputs();
    assert_eq!(packets, facts.iter().map(|facts| facts.packets).sum::<u64>());
    if facts[0].compression == Compression::None {
        assert!(held <= inputs * file.len(), "packets from nowhere");
    }
    extractor.finish();
    let mut last = None;
    while let Some(vector) = extractor.poll_vector() {
        assert!(last.replace((vector.start, vector.id)) < Some((vector.start, vector.id)), "out of order");
        for side in Side::BOTH {
            assert!(vector.ends[side].missing_bytes <= vector.bytes(side), "more is missing than there is");
        }
    }
    let counts = extractor.counts();
    let of_classes = Class::ALL.map(|class| *counts.class(class));
    assert_eq!(of_classes.iter().map(|class| class.packets).sum::<u64>(), segments, "packets of no connection");
    let new = of_classes.iter().map(|class| class.payload_bytes.initiator + class.payload_bytes.acceptor).sum::<u64>();
    assert!(new <= payload_bytes, "payload from nowhere");
});
