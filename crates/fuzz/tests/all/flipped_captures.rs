//! Any byte flips in a valid capture: nothing panics, every packet read has one fate, and no count exceeds the packets
//! read. What is asserted stands in `flowloom_fuzz::extract`; here are the captures and the flips.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use flowloom::core::rng::{Purpose, Stream};
use flowloom_fuzz::{extract, valid_captures};
use proptest::prelude::*;

/// Cut files are taken, hashes not computed.
const TOLERANT: u8 = 1;

#[test]
fn every_single_byte_of_every_made_capture() {
    for file in valid_captures() {
        for position in 0..file.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut file = file.clone();
                file[position] ^= change;
                extract(&file, TOLERANT);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_bytes_of_a_made_capture(
        which in any::<prop::sample::Index>(),
        choice in 0u8..128,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 2..12),
    ) {
        let mut file = which.get(valid_captures()).clone();
        for (position, change) in flips {
            let position = position.index(file.len());
            file[position] ^= change;
        }
        extract(&file, choice);
    }
}

/// The captures kept beside the repository, unpacked, and the bundled one.
fn real_captures() -> Vec<(String, Vec<u8>)> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut paths = vec![root.join("testdata/demo.pcap.gz")];
    if let Some(folder) = flowloom_needs::shared("fuzz: flips in real captures", "pcap") {
        let entries = fs::read_dir(folder).expect("a folder");
        paths.extend(entries.map(|entry| entry.expect("a folder entry").path()));
    }
    paths.retain(|path| {
        let name = path.to_string_lossy();
        [".pcap", ".pcapng", ".dmp", ".erf", ".snoop", ".pcap.gz"].iter().any(|end| name.ends_with(end))
    });
    paths.sort();
    let captures = paths.into_iter().map(|path| {
        let stored = fs::read(&path).expect("a capture");
        let mut file = Vec::new();
        match path.extension() {
            Some(end) if end == "gz" => drop(flate2::read::MultiGzDecoder::new(&stored[..]).read_to_end(&mut file)),
            _ => file = stored,
        }
        (path.display().to_string(), file)
    });
    captures.collect()
}

#[test]
fn a_thousand_bytes_of_every_real_capture() {
    for (index, (name, file)) in real_captures().into_iter().enumerate() {
        eprintln!("{name}: {} bytes", file.len());
        extract(&file, 0);
        // Few flips leave most of the capture readable, many make every other packet wrong.
        for flips in [1, 8, 1_000] {
            let mut random = Stream::new(flips, Purpose::Loss, index as u64);
            let mut file = file.clone();
            for _ in 0..flips {
                let position = random.below(file.len() as u64) as usize;
                file[position] ^= 1 + random.below(255) as u8;
            }
            extract(&file, TOLERANT);
        }
    }
}
