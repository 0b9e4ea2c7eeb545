//! Every way a capture can be wrong says what, where, and what to do.

use crate::capture_support::{
    ErfFile, ORDERS, Order, PcapFile, PcapngFile, SnoopFile, drain, fails, frame, gzip, open, read, xz, zstd,
};
use flowloom_store::capture::{CaptureErrorKind, Captures, Input, Options, Truncation};
use proptest::prelude::*;

const ALLOW: Options = Options { truncation: Truncation::Allow, sha256: true };

fn pcap(packets: u64) -> Vec<u8> {
    let mut file = PcapFile::new(Order::Little, false, 1);
    for index in 0..packets {
        file.packet(index * 1_000, &frame(100), 154);
    }
    file.bytes
}

fn pcapng(packets: u64) -> Vec<u8> {
    let mut file = PcapngFile::new(Order::Little);
    file.interface(1, 0, &[]);
    for index in 0..packets {
        file.enhanced(0, index, &frame(100), 154, &[]);
    }
    file.bytes
}

#[test]
fn a_missing_file_and_an_empty_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let open = |path: &std::path::Path| {
        Captures::open(&[Input::from_argument(path)], Options::default()).err().expect("an error")
    };
    let missing = folder.path().join("none.pcap");
    let error = open(&missing);
    assert!(error.to_string().starts_with(&format!("{}: cannot open: ", missing.display())), "{error}");
    assert_eq!(error.hint(), Some("check the spelling of the path"));
    let error = open(folder.path());
    assert_eq!(error.to_string(), format!("{}: no capture is in this folder", folder.path().display()));
    assert!(error.hint().is_some());
}

#[test]
fn empty_files_say_so() {
    for bytes in [vec![], gzip(&[]), zstd(&[]), xz(&[])] {
        let error = fails(&bytes);
        assert_eq!(error.to_string(), "0: the file is empty");
        assert!(error.hint().is_some());
    }
}

#[test]
fn other_files_are_told_apart() {
    for (bytes, text) in [
        (&b"0"[..], "not a capture: it is text that begins \"0\""),
        (b"time,size\n1,2\n", "not a capture: it is text that begins \"time,size\""),
        (b"  <!DOCTYPE html><title>404</title>", "not a capture: it is an HTML page, perhaps a download that failed"),
        (b"PAR1\x15\x04", "not a capture: it is a Parquet file, perhaps a workload"),
        (b"PK\x03\x04....", "not a capture: it is a zip archive"),
        (
            b"\x00\x01\x02\x03\xff\xfe\xfd\xfc\xfb\xfa",
            "not a capture: it begins with the bytes 00 01 02 03 ff fe fd fc",
        ),
        (b"1,234,56\n1,234,57\n", "not a capture: it is text that begins \"1,234,56\""),
        (
            b"<?xml version=\"1.0\"?>\n<harpoon_plugins>\n",
            "not a capture: it is a configuration of Harpoon, which an experiment reads: workload.model = { kind = \"harpoon\", \
             config = FILE }",
        ),
        (
            b"# two hosts\ncluster {\n  test a {",
            "not a capture: it looks like a script of NetSpec, which `flowloom lab run` and `flowloom lab check` read",
        ),
        (
            b"set pm [new PackMimeHTTP]\n",
            "not a capture: it is a script for PackMime of ns-2, whose parameters an experiment \
         takes: workload.model = { kind = \"packmime\" }",
        ),
        (b"test of nothing\n", "not a capture: it is text that begins \"test of nothing\""),
        (b"BZh91AY&SY", "a bzip2 file is not read"),
        (b"\xa1\xb2\xcd\x34\x00\x02\x00\x04", "modified pcap (Kuznetzov's, magic a1b2cd34) is not read"),
        (b"\x34\xcd\xb2\xa1\x02\x00\x04\x00", "modified pcap (Kuznetzov's, magic a1b2cd34) is not read"),
    ] {
        let error = fails(bytes);
        assert_eq!(error.to_string(), format!("0: {text}"));
        assert!(error.hint().is_some());
        assert!(matches!(error.kind, CaptureErrorKind::NotACapture(_) | CaptureErrorKind::NotRead(_)));
    }
}

#[test]
fn a_header_cut_short_is_an_error_even_where_cut_files_are_allowed() {
    let error = open(&[&pcap(0)[..23]], ALLOW).err().expect("an error");
    assert_eq!(error.to_string(), "0: the capture is cut off: 23 bytes, where the file header alone has 24");
}

#[test]
fn a_file_cut_in_mid_record_says_where_and_ends_there_if_allowed() {
    for (whole, header, record) in [(pcap(3), 24, 70), (pcapng(3), 48, 88)] {
        let end = header + 3 * record;
        assert_eq!(whole.len(), end, "the sizes this test computes with");
        for cut in 1..record {
            let bytes = &whole[..end - cut];
            let error = fails(bytes);
            assert_eq!((error.packet, error.offset), (Some(3), Some((header + 2 * record) as u64)));
            assert!(matches!(error.kind, CaptureErrorKind::Truncated { .. }), "{error}");
            assert!(error.hint().expect("a hint").contains("--allow-truncated"));

            let (seen, facts, error) = drain(open(&[bytes], ALLOW).expect("opens"));
            assert!(error.is_none(), "{error:?}");
            assert_eq!((seen.len(), facts[0].truncated), (2, true));
            assert_eq!(facts[0].bytes_read, bytes.len() as u64);
            assert!(facts[0].sha256.is_some());
        }
        let (seen, facts) = read(&whole[..end - record]);
        assert_eq!((seen.len(), facts.truncated), (2, false), "a cut between records cannot be seen");
    }
    let error = fails(&pcap(3)[..24 + 140 + 20]);
    let text = "0: packet 3 at byte 164: the capture is cut off: the record needs 70 bytes and 20 are left";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_compressed_file_cut_anywhere_is_cut_off_and_keeps_what_was_whole() {
    for pack in [gzip, zstd, xz] {
        let whole = pack(&pcap(200));
        for cut in 6..whole.len() {
            let bytes = &whole[..cut];
            let error = fails(bytes);
            assert!(matches!(error.kind, CaptureErrorKind::Truncated { .. }), "{cut}: {error}");
            if let Ok(captures) = open(&[bytes], ALLOW) {
                let (seen, facts, error) = drain(captures);
                assert!(error.is_none() && facts[0].truncated && seen.len() <= 200, "{cut}: {error:?}");
            }
        }
    }
}

#[test]
fn damaged_compression_says_so() {
    let mut bytes = gzip(&pcap(50));
    let last = bytes.len() - 5; // in the CRC
    bytes[last] ^= 0xff;
    let error = fails(&bytes);
    assert!(matches!(error.kind, CaptureErrorKind::Compression("gzip", _)), "{error}");
    let mut bytes = zstd(&pcap(50));
    bytes[4] ^= 0x08; // the reserved bit of the frame header
    let error = fails(&bytes);
    assert!(matches!(error.kind, CaptureErrorKind::Compression("zstd", _)), "{error}");
    let whole = xz(&pcap(50));
    for at in [8, 40, whole.len() - 3] {
        // In the stream header, a block, the footer.
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let error = fails(&bytes);
        assert!(matches!(error.kind, CaptureErrorKind::Compression("xz", _)), "{at}: {error}");
    }
}

#[test]
fn an_xz_header_that_claims_gigabytes_is_refused() {
    // Stream header with CRC-32 checks; block header of one filter, LZMA2, with a dictionary of 4 GiB - 1.
    let mut bytes = b"\xfd7zXZ\0\0\x01\x69\x22\xde\x36".to_vec();
    let mut block = vec![2, 0, 0x21, 1, 40, 0, 0, 0];
    let mut crc = flate2::Crc::new();
    crc.update(&block);
    block.extend(crc.sum().to_le_bytes());
    bytes.extend(block);
    bytes.extend([0; 64]);
    let error = fails(&bytes);
    assert_eq!(error.to_string(), "0: xz data that take more than 256 MiB of memory to decompress are not read");
    assert_eq!(error.hint(), Some("decompress it first: xz -dk FILE"));
}

#[test]
fn a_zstd_window_of_gigabytes_is_refused_and_the_usual_ones_are_not() {
    let plain = pcap(3);
    // Magic; a frame header (RFC 8878 section 3.1.1.1) of a window of 2^log bytes; one block, the last, as it is.
    let frame = |log: u8| {
        let block = (plain.len() as u32) << 3 | 1;
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3][..], &block.to_le_bytes()[..3], &plain].concat()
    };
    for log in [20, 27] {
        assert_eq!(read(&frame(log)).0.len(), 3, "2^{log}");
    }
    for log in [28, 31] {
        let error = fails(&frame(log));
        assert_eq!(error.to_string(), "0: zstd data that take more than 128 MiB of memory to decompress are not read");
        assert_eq!(error.hint(), Some("decompress it first: zstd -d --long=31 FILE"));
    }
}

#[test]
fn what_follows_a_gzip_file_is_padding_another_member_or_damage() {
    let packed = gzip(&pcap(3));
    for padding in [1, 9, 10, 512, 100_000] {
        assert_eq!(read(&[&packed[..], &vec![0; padding]].concat()).0.len(), 3, "{padding} zeros, as on a tape");
    }
    for behind in [&b"x"[..], b"\0\0\0PK", b"something else altogether"] {
        let error = fails(&[&packed[..], behind].concat());
        let text = "0: packet 4 at byte 234: the gzip data are damaged: what follows a complete member is neither \
                    another one nor padding";
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn impossible_lengths_in_pcap() {
    for order in ORDERS {
        let mut file = PcapFile::new(order, false, 1);
        file.packet(1_000, &[0; 60], 60).record(2_000, 0xffff_fff0, 60, &[0; 60]);
        let text = "0: packet 2 at byte 100: record claims 4,294,967,280 captured bytes, more than any packet has (16,777,216)";
        assert_eq!(fails(&file.bytes).to_string(), text);
    }
}

#[test]
fn two_captures_joined_with_cat() {
    for second in [pcap(1), pcapng(1)] {
        let error = fails(&[pcap(2), second].concat());
        assert!(error.to_string().contains("another capture begins here"), "{error}");
        assert_eq!((error.packet, error.offset), (Some(3), Some(164)));
    }
}

#[test]
fn contradictions_in_pcapng() {
    let start = pcapng(1);
    let at = start.len();
    let with = |bytes: &[u8]| fails(&[&start[..], bytes].concat()).to_string();
    let block = |kind: u32, length: u32, body: &[u8], end: u32| {
        [&kind.to_le_bytes(), &length.to_le_bytes()[..], body, &end.to_le_bytes()].concat()
    };
    let place = format!("0: packet 2 at byte {at}: ");
    for (bytes, text) in [
        (block(6, 12, &[], 12), "block length 12 is shorter than its header (32)"),
        (block(9, 8, &[], 8), "block length 8 is shorter than its header (12)"),
        (block(9, 14, &[0; 2], 14), "block length 14 is not a multiple of 4"),
        (block(4, 0xffff_fffc, &[], 0), "the capture is cut off: a block needs 4,294,967,292 bytes"),
        (
            block(6, 0xffff_fffc, &[0; 20], 0),
            "block claims 4,294,967,292 bytes, more than any packet needs (17,825,792)",
        ),
        (block(6, 32, &[0; 20], 36), "block length 32 at its start, 36 at its end"),
        (block(1, 20, &[0; 8], 24), "block length 20 at its start, 24 at its end"),
        (
            block(6, 32, &[[0; 12].as_slice(), &[5, 0, 0, 0], &[0; 4]].concat(), 32),
            "captured length 5 does not fit in a block of 32 bytes",
        ),
        (
            block(6, 32, &[[0; 12].as_slice(), &[1, 0, 0, 0], &[0; 4]].concat(), 32),
            "captured length 1 leaves no room for the block's end",
        ),
        (
            block(6, 32, &[[0; 12].as_slice(), &[0xff; 4], &[0; 4]].concat(), 32),
            "captured length 4,294,967,295 does not fit in a block of 32 bytes",
        ),
        (block(0x0a0d_0d0a, 28, &[0; 16], 28), "section header without a byte-order magic"),
        (
            block(0x0a0d_0d0a, 28, &[&[0x4d, 0x3c, 0x2b, 0x1a, 2, 0, 0, 0][..], &[0; 8]].concat(), 28),
            "pcapng version 2 does not exist (1)",
        ),
    ] {
        assert_eq!(with(&bytes), format!("{place}{text}"));
    }
    let mut file = PcapngFile::new(Order::Little);
    file.simple(&[1, 2, 3], 3);
    assert!(fails(&file.bytes).to_string().ends_with("packet before any interface description"));
    let mut file = PcapngFile::new(Order::Little);
    for _ in 0..65_537 {
        file.interface(1, 0, &[]);
    }
    assert!(fails(&file.bytes).to_string().ends_with("more than 65,536 interfaces"));
}

#[test]
fn the_second_of_two_inputs_is_the_one_named() {
    let (good, bad) = (pcap(3), pcap(3));
    let strict = Options { truncation: Truncation::Refuse, ..Options::default() };
    let (seen, facts, error) = drain(open(&[&good, &bad[..bad.len() - 1]], strict).expect("opens"));
    let error = error.expect("an error");
    assert_eq!((error.file.as_str(), error.packet), ("1", Some(3)));
    assert_eq!((facts[0].packets + facts[1].packets) as usize, seen.len());
}

/// A valid capture of every kind: two interfaces, options, all packet blocks; and pcap in either byte order.
fn specimen(kind: usize) -> Vec<u8> {
    let mut file = PcapngFile::new(if kind.is_multiple_of(2) { Order::Little } else { Order::Big });
    file.interface(1, 64, &[(9, &[9]), (14, &[0; 8])]).interface(101, 0, &[(9, &[0x8a])]);
    for index in 0..6 {
        file.enhanced(index % 2, 1 << (index * 9), &frame(7), 61, &[(2, &[1, 0, 0, 0])]);
        file.simple(&frame(9), 63).obsolete(0, 77, &[1, 2, 3], 60).block(4, &[0; 8]);
    }
    let mut pcap = PcapFile::new(if kind.is_multiple_of(2) { Order::Little } else { Order::Big }, true, 1);
    for index in 0..10 {
        pcap.packet(index, &frame(index as u16), 60);
    }
    let (mut erf, mut snoop) = (ErfFile::default(), SnoopFile::new(4));
    for index in 0..6 {
        let time = (1_000_000_000 + index) * 1_000_000_000;
        erf.ethernet(time, index as u8, &frame(3), 64).record(1 << 62, 0x81, 1, 7, 60, &[[0x80; 8], [0; 8]].concat());
        erf.record(1 << 62, 27, 0, 0, 0, &[0; 16]).record(1 << 62, 5, 0, 9, 40, &[0; 40]);
        snoop.packet(time, &frame(index as u16), 70, index as u32);
    }
    match kind % 9 {
        0 | 1 => file.bytes,
        2 | 3 => pcap.bytes,
        4 => erf.bytes,
        5 => snoop.bytes,
        6 => gzip(&file.bytes),
        7 => xz(&file.bytes),
        _ => zstd(&pcap.bytes),
    }
}

/// Reads whatever `bytes` are: no panic, and no more packets or bytes than there is room for.
fn stays_within(bytes: &[u8], kind: usize, options: Options) {
    let Ok(captures) = open(&[bytes], options) else { return };
    let (seen, facts, _) = drain(captures);
    assert_eq!(facts[0].packets, seen.len() as u64);
    if kind % 9 < 6 {
        // The smallest record of any format is 16 bytes.
        let held: usize = seen.iter().map(|packet| 16 + packet.bytes.len()).sum();
        assert!(held <= bytes.len(), "{} packets of {held} bytes from {}", seen.len(), bytes.len());
    }
}

proptest! {
    #[test]
    fn no_damage_panics_or_makes_packets(
        kind in 0..9usize,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..4),
        cut in any::<prop::sample::Index>(),
        truncate in any::<bool>(),
        allow_truncated in any::<bool>(),
    ) {
        let mut bytes = specimen(kind);
        for (at, bits) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        if truncate {
            bytes.truncate(cut.index(bytes.len()));
        }
        let truncation = if allow_truncated { Truncation::Allow } else { Truncation::LastRecord };
        stays_within(&bytes, kind, Options { truncation, sha256: false });
    }

    #[test]
    fn noise_behind_a_magic_number_does_not_panic(
        kind in 0..6usize,
        noise in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = specimen(kind)[..16].to_vec();
        bytes.extend(noise);
        stays_within(&bytes, kind, Options { truncation: Truncation::Allow, sha256: false });
    }
}
