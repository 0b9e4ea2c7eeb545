//! ERF and snoop: every record type, time stamps, directions, losses, and every way a record can lie.

use crate::capture_support::{ErfFile, SnoopFile, drain, erf_stamp, fails, frame, open, read};
use flowloom_core::wire::LinkType;
use flowloom_core::workload::LinkSide;
use flowloom_store::capture::{CaptureErrorKind, Format, Options, Truncation};

const T0: u64 = 1_100_000_000_000_000_000;
const STAMP: u64 = 1_100_000_000 << 32;
const ALLOW: Options = Options { truncation: Truncation::Allow, sha256: true };

#[test]
fn erf_stamps_are_rounded_to_the_nearest_nanosecond() {
    let mut file = ErfFile::default();
    // 2^32 - 1 is 0.23 ns short of a second; 2^31 is half of one; 2 and 3 are 0.47 ns and 0.70 ns; the last was computed
    // by hand from a capture of 2004.
    for fraction in [0, 2, 3, 1 << 31, u64::from(u32::MAX), 0x002f_4700] {
        file.record(STAMP + fraction, 2, 4, 0, 60, &[0; 62]);
    }
    let nanos: Vec<u64> = read(&file.bytes).0.iter().map(|packet| packet.nanos - T0).collect();
    assert_eq!(nanos, [0, 0, 1, 500_000_000, 1_000_000_000, 721_395]);
}

#[test]
fn every_erf_type_that_carries_packets_is_read_at_the_right_byte() {
    let ppp = [0xff, 0x03, 0x00, 0x21, 0x45, 0];
    let cisco = [0x0f, 0x00, 0x08, 0x00, 0x45, 0];
    let ip = [0x45, 0, 0, 40, 0, 0];
    let llc = [0xaa, 0xaa, 0x03, 0, 0, 0];
    let number = LinkType::from_number;
    for (kind, before, data, link) in [
        (1, 0, ppp, number(9)),
        (1, 0, cisco, number(104)),
        (2, 2, ip, LinkType::Ethernet),
        (4, 4, llc, number(100)),
        (5, 4, ppp, number(9)),
        (9, 8, llc, number(100)),
        (10, 0, cisco, number(104)),
        (11, 2, ip, LinkType::Ethernet),
        (15, 0, ppp, number(9)),
        (16, 2, ip, LinkType::Ethernet),
        (17, 4, cisco, number(104)),
        (19, 0, ppp, number(9)),
        (20, 2, ip, LinkType::Ethernet),
        (22, 0, ip, LinkType::RawIp),
        (23, 0, ip, LinkType::RawIp),
    ] {
        for extensions in 0..4 {
            let mut rest = Vec::new();
            for left in (0..extensions).rev() {
                rest.extend([if left > 0 { 0x83 } else { 0x03 }, 1, 2, 3, 4, 5, 6, 7]);
            }
            rest.resize(rest.len() + before, 0x77);
            rest.extend(data);
            rest.extend([0xee; 4]); // padding: the record is longer than the packet
            let mut file = ErfFile::default();
            let more = if extensions > 0 { 0x80 } else { 0 };
            file.record(STAMP, kind | more, 0, 0, data.len() as u16, &rest);
            let (seen, facts) = read(&file.bytes);
            assert_eq!((seen.len(), facts.format, facts.records_skipped), (1, Format::Erf, 0), "type {kind}");
            assert_eq!((seen[0].link, &seen[0].bytes[..]), (link, &data[..]), "type {kind}, {extensions} extensions");
        }
    }
}

#[test]
fn erf_records_without_packets_are_skipped_and_counted_padding_is_not() {
    let mut file = ErfFile::default();
    file.ethernet(T0, 0, &frame(0), 58);
    for kind in [3, 6, 7, 8, 12, 13, 14, 18, 21, 24, 25, 27, 28, 29, 30, 0] {
        file.record(STAMP, kind, 0, 0, 40, &[0; 40]);
    }
    for _ in 0..1_000 {
        file.record(0, 48, 0, 0, 0, &[]); // nothing but a header: as small as a record can be
    }
    file.ethernet(T0 + 5, 0, &frame(0), 58);
    let (seen, facts) = read(&file.bytes);
    assert_eq!((seen.len(), facts.records_skipped), (2, 16));
    assert_eq!(facts.backwards, 0);
}

#[test]
fn erf_may_begin_with_metadata() {
    let mut file = ErfFile::default();
    file.record(STAMP, 0x9b, 0, 0, 0, &[0; 56]).ethernet(T0, 0, &frame(0), 58);
    let (seen, facts) = read(&file.bytes);
    assert_eq!((seen.len(), facts.records_skipped), (1, 1));
}

#[test]
fn erf_losses_are_summed_and_colours_are_not() {
    let mut file = ErfFile::default();
    let rest = [0; 42];
    file.record(STAMP, 11, 0, 900, 40, &rest);
    assert_eq!(read(&file.bytes).1.drops, None, "a colour says nothing of losses");
    file.record(STAMP, 2, 0, 0, 40, &rest);
    assert_eq!(read(&file.bytes).1.drops, Some(0));
    file.record(STAMP, 2, 0, 5, 40, &rest).record(STAMP, 1, 0, 65_535, 40, &rest).record(STAMP, 48, 0, 2, 0, &rest);
    for coloured in [10, 11, 15, 16, 17, 19, 20, 27] {
        file.record(STAMP, coloured, 0, 1_000, 40, &rest);
    }
    assert_eq!(read(&file.bytes).1.drops, Some(65_542), "padding may be what comes after a loss");
}

#[test]
fn erf_ports_are_directions_once_both_of_a_pair_were_seen() {
    let mut file = ErfFile::default();
    for (at, port) in [0, 0, 1, 0, 1, 0x40, 0x41, 0x40, 3].into_iter().enumerate() {
        file.ethernet(T0 + at as u64, port, &frame(0), 58);
    }
    let marks: Vec<Option<LinkSide>> = read(&file.bytes).0.iter().map(|packet| packet.from).collect();
    let (left, right) = (Some(LinkSide::Left), Some(LinkSide::Right));
    assert_eq!(marks, [None, None, right, left, right, None, right, left, None]);
}

#[test]
fn erf_records_that_lie() {
    let first = |file: &mut ErfFile| {
        // The second one, too, shows what the file is.
        file.ethernet(T0, 0, &frame(0), 58).ethernet(T0, 0, &frame(0), 58);
        file.bytes.len()
    };
    let with = |edit: &dyn Fn(&mut ErfFile)| {
        let mut file = ErfFile::default();
        let at = first(&mut file);
        edit(&mut file);
        let error = fails(&file.bytes);
        assert_eq!((error.packet, error.offset), (Some(3), Some(at as u64)));
        error.kind.to_string()
    };
    for length in [0u16, 1, 15] {
        let text = with(&|file| {
            file.record(STAMP, 2, 0, 0, 60, &[0; 60]);
            let at = file.bytes.len() - 60 - 6;
            file.bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
        });
        assert_eq!(text, format!("record length {length} is shorter than its header (16)"));
    }
    let text = with(&|file| {
        file.record(STAMP, 2, 0, 0, 60, &[0]);
    });
    assert_eq!(text, "record length 17 leaves no room for the header of type 2");
    // Every extension header claims another.
    let text = with(&|file| {
        file.record(STAMP, 0x82, 0, 0, 60, &[0x80; 64]);
    });
    assert_eq!(text, "extension headers run past a record of 80 bytes");
    let text = with(&|file| {
        file.record(STAMP, 0x82, 0, 0, 60, &[0; 7]);
    });
    assert_eq!(text, "extension headers run past a record of 23 bytes");
}

#[test]
fn snoop_reads_padding_links_and_cumulative_losses() {
    let mut file = SnoopFile::new(4);
    file.packet(T0, &[1, 2, 3], 60, 0).packet(T0 + 1_000, &[4; 60], 1_514, 7).packet(T0 + 2_000, &[], 60, 9);
    let (seen, facts) = read(&file.bytes);
    let found: Vec<(u64, usize, u32)> =
        seen.iter().map(|packet| (packet.nanos - T0, packet.bytes.len(), packet.wire)).collect();
    assert_eq!(found, [(0, 3, 60), (1_000, 60, 1_514), (2_000, 0, 60)]);
    assert_eq!((facts.format, facts.drops, facts.records_skipped), (Format::Snoop, Some(9), 0));
    let ours = |number| match number {
        0 | 4 => LinkType::Ethernet,
        2 => LinkType::from_number(6),
        _ => LinkType::from_number(10),
    };
    for number in [0, 2, 4, 8] {
        let mut file = SnoopFile::new(number);
        file.packet(T0, &[1], 1, 0);
        assert_eq!(read(&file.bytes).0[0].link, ours(number), "{number}");
    }
    for number in [1, 3, 5, 6, 7, 9, 10, u32::MAX] {
        let error = fails(&SnoopFile::new(number).bytes);
        assert!(matches!(error.kind, CaptureErrorKind::NotRead(_)), "{number}: {error}");
    }
}

#[test]
fn snoop_headers_and_records_that_lie() {
    let version = |version: u32| {
        let mut file = SnoopFile::new(4);
        file.bytes[8..12].copy_from_slice(&version.to_be_bytes());
        fails(&file.bytes).to_string()
    };
    assert_eq!(version(1), "0: snoop version 1 does not exist (2)");
    assert_eq!(version(3), "0: a Shomiti Surveyor capture is not read");
    let error = open(&[&SnoopFile::new(4).bytes[..15]], ALLOW).err().expect("an error");
    assert_eq!(error.to_string(), "0: the capture is cut off: 15 bytes, where the file header alone has 16");
    for (lengths, text) in [
        ([60, 60, 83, 0], "record length 83 is shorter than its header and 60 captured bytes"),
        ([60, 0, 0, 0], "record length 0 is shorter than its header and 0 captured bytes"),
        ([60, u32::MAX, 84, 0], "record claims 4,294,967,295 bytes, more than any packet has (16,777,216)"),
        ([60, 60, 1 << 25, 0], "record claims 33,554,432 bytes, more than any packet has (16,777,216)"),
    ] {
        let mut file = SnoopFile::new(4);
        file.packet(T0, &[1; 60], 60, 0).record(lengths, T0, &[0; 60]);
        let error = fails(&file.bytes);
        assert_eq!((error.packet, error.offset), (Some(2), Some(100)));
        assert_eq!(error.kind.to_string(), text);
    }
    let mut joined = SnoopFile::new(4);
    joined.packet(T0, &[1; 60], 60, 0);
    let second = joined.bytes.clone();
    joined.bytes.extend(second);
    assert!(fails(&joined.bytes).to_string().contains("another capture begins here"));
}

#[test]
fn cut_at_every_byte_they_say_where_and_end_there_if_allowed() {
    let (mut erf, mut snoop) = (ErfFile::default(), SnoopFile::new(4));
    for at in 0..3 {
        erf.ethernet(T0 + at, 0, &frame(1), 60);
        snoop.packet(T0 + at, &frame(1), 60, 0);
    }
    assert_eq!(erf_stamp(T0), STAMP);
    for (whole, header, record) in [(erf.bytes, 0, 72), (snoop.bytes, 16, 80)] {
        assert_eq!(whole.len(), header + 3 * record, "the sizes this test computes with");
        for length in header + 1..whole.len() {
            let (packets, over) = ((length - header) / record, (length - header) % record);
            let bytes = &whole[..length];
            let Ok(captures) = open(&[bytes], ALLOW) else {
                assert!(length < 16, "{length}: a first record that shows what the file is opens it");
                continue;
            };
            let (seen, facts, error) = drain(captures);
            assert!(error.is_none(), "{error:?}");
            assert_eq!((seen.len(), facts[0].truncated), (packets, over > 0));
            if over > 0 {
                let error = fails(bytes);
                assert!(matches!(error.kind, CaptureErrorKind::Truncated { .. }), "{error}");
                assert_eq!(error.offset, Some((header + packets * record) as u64));
            }
        }
    }
}
