//! Every format, byte order and compression; several interfaces, sections and inputs; standard input.

use std::io::{Cursor, Read, Write};
use std::process::{Command, Stdio};

use crate::capture_support::{
    ErfFile, ORDERS, Order, PcapFile, PcapngFile, Seen, SnoopFile, Trickle, drain, fails, frame, gzip, open, read, xz,
    zstd,
};
use flowloom_core::wire::{Decoder, LinkType, Parsed, SetAside};
use flowloom_core::workload::LinkSide;
use flowloom_store::capture::{CaptureErrorKind, Captures, Compression, Format, Input, Options};

const T0: u64 = 1_700_000_000_000_000_000;

/// Three packets of different sizes, a millisecond and a bit apart.
fn three() -> [(u64, Vec<u8>); 3] {
    [(T0, frame(0)), (T0 + 1_000_123_000, vec![1, 2, 3]), (T0 + 2_000_000_000, vec![])]
}

/// The same three packets as every plain format stores them.
fn plain() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for order in ORDERS {
        for nanoseconds in [false, true] {
            let mut file = PcapFile::new(order, nanoseconds, 1);
            for (time, data) in three() {
                file.packet(time, &data, data.len() as u32);
            }
            files.push((format!("pcap {order:?} ns={nanoseconds}"), file.bytes));
        }
        let mut file = PcapngFile::new(order);
        file.interface(1, 65_535, &[]);
        for (time, data) in three() {
            file.enhanced(0, time / 1_000, &data, data.len() as u32, &[]);
        }
        files.push((format!("pcapng {order:?}"), file.bytes));
    }
    let (mut erf, mut snoop) = (ErfFile::default(), SnoopFile::new(4));
    for (time, data) in three() {
        erf.ethernet(time, 0, &data, data.len() as u16);
        snoop.packet(time, &data, data.len() as u32, 0);
    }
    files.push(("erf".to_owned(), erf.bytes));
    files.push(("snoop".to_owned(), snoop.bytes));
    files
}

#[test]
fn every_format_order_and_compression_reads_the_same() {
    let expected: Vec<Seen> = three().iter().map(|(time, data)| Seen::new(*time, data)).collect();
    for (name, bytes) in plain() {
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        let several = |pack: fn(&[u8]) -> Vec<u8>| [pack(head), pack(tail)].concat();
        for (stored, compression) in [
            (bytes.clone(), Compression::None),
            (gzip(&bytes), Compression::Gzip),
            (several(gzip), Compression::Gzip),
            (zstd(&bytes), Compression::Zstd),
            (several(zstd), Compression::Zstd),
            (xz(&bytes), Compression::Xz),
            (several(xz), Compression::Xz),
            // Padding between streams, as `xz` allows it.
            ([xz(head), vec![0; 8], xz(tail)].concat(), Compression::Xz),
        ] {
            let (seen, facts) = read(&stored);
            assert_eq!(seen, expected, "{name} {compression:?}");
            let format = match name.split(' ').next() {
                Some("pcapng") => Format::Pcapng,
                Some("erf") => Format::Erf,
                Some("snoop") => Format::Snoop,
                _ => Format::Pcap,
            };
            assert_eq!((facts.format, facts.compression), (format, compression), "{name}");
            assert_eq!(facts.bytes_read, stored.len() as u64, "{name}: every stored byte is read");
            assert_eq!(facts.packets, 3);
            assert_eq!(facts.earliest.map(|time| time.as_nanos()), Some(T0));
            assert_eq!(facts.latest.map(|time| time.as_nanos()), Some(T0 + 2_000_000_000));
        }
    }
}

#[test]
fn a_pipe_that_hands_out_single_bytes_changes_nothing() {
    for (name, bytes) in plain() {
        for stored in [bytes.clone(), gzip(&bytes), zstd(&bytes), xz(&bytes)] {
            let trickle = Box::new(Trickle(Cursor::new(stored), 1)) as Box<dyn Read + Send>;
            let captures = Captures::from_readers(vec![("pipe".into(), trickle)], Options::default()).expect("opens");
            assert_eq!(drain(captures).0.len(), 3, "{name}");
        }
    }
}

#[test]
fn the_hash_is_that_of_the_file_as_stored() {
    // sha256sum of the 24 bytes of an empty little-endian microsecond Ethernet pcap with snap length 65,535.
    let empty = PcapFile::new(Order::Little, false, 1).bytes;
    let (seen, facts) = read(&empty);
    assert!(seen.is_empty());
    assert_eq!(facts.sha256.as_deref(), Some(EMPTY_PCAP_SHA256));
    assert_eq!((facts.earliest, facts.latest, facts.packets), (None, None, 0));

    let options = Options { sha256: false, ..Options::default() };
    assert_eq!(drain(open(&[&empty], options).expect("opens")).1[0].sha256, None);
}

const EMPTY_PCAP_SHA256: &str = "acc530668c8bc60b2d229281130b1899bfc81d70fdada5c34b3236c628f739c8";

#[test]
fn nanoseconds_and_records_larger_than_the_buffer_survive() {
    // The buffer holds 1 MiB: a record of 3 MiB makes it grow, and the next ones still stand where they should.
    let large = vec![0xab; 3 << 20];
    let mut file = PcapFile::new(Order::Big, true, 1);
    file.packet(T0 + 1, &large, large.len() as u32).packet(T0 + 2, &[7; 60], 60);
    let (seen, _) = read(&file.bytes);
    assert_eq!(seen, [Seen::new(T0 + 1, &large), Seen::new(T0 + 2, &[7; 60])]);
}

#[test]
fn long_captures_cross_buffer_borders_in_every_way() {
    // Record sizes that share no factor with the buffer's, about 5 MiB in all.
    let mut pcap = PcapFile::new(Order::Little, true, 1);
    let mut pcapng = PcapngFile::new(Order::Little);
    pcapng.interface(1, 0, &[(9, &[9])]);
    let sizes = (0..20_000u64).map(|index| (index, (index * 37 % 501) as usize));
    for (index, size) in sizes.clone() {
        let data = vec![index as u8; size];
        pcap.packet(T0 + index, &data, 1500);
        pcapng.enhanced(0, T0 + index, &data, 1500, &[]);
    }
    for bytes in [&pcap.bytes, &pcapng.bytes] {
        let (seen, _) = read(bytes);
        assert_eq!(seen.len(), 20_000);
        for ((index, size), packet) in sizes.clone().zip(&seen) {
            assert_eq!((packet.nanos, packet.wire), (T0 + index, 1500));
            assert!(packet.bytes.len() == size && packet.bytes.iter().all(|byte| *byte == index as u8));
        }
    }
}

#[test]
fn old_libpcap_wrote_the_two_lengths_the_other_way_round() {
    for (version, captured, wire) in [((2, 2), 1500, 3), ((2, 3), 1500, 3), ((2, 3), 3, 1500), ((2, 4), 3, 1500)] {
        let mut file = PcapFile::with_version(Order::Big, 0xa1b2_c3d4, version, 1);
        file.record(T0, captured, wire, &[1, 2, 3]);
        let (seen, _) = read(&file.bytes);
        assert_eq!((seen.len(), seen[0].bytes.len(), seen[0].wire), (1, 3, 1500), "{version:?}");
    }
    let file = PcapFile::with_version(Order::Big, 0xa1b2_c3d4, (3, 0), 1);
    assert_eq!(fails(&file.bytes).to_string(), "0: pcap version 3.0 does not exist (2.4)");
}

#[test]
fn link_types_come_from_the_header_without_its_fcs_bits() {
    for (number, link) in [
        (0x5400_0001, LinkType::Ethernet),
        (113, LinkType::LinuxCookedV1),
        (276, LinkType::LinuxCookedV2),
        (101, LinkType::RawIp),
        (0, LinkType::Null),
        (108, LinkType::Loop),
        (105, LinkType::Unsupported(105)),
    ] {
        let mut file = PcapFile::new(Order::Little, false, number);
        file.packet(T0, &[0; 60], 60);
        assert_eq!(read(&file.bytes).0[0].link, link);
    }
}

#[test]
fn a_wrong_link_type_sets_packets_aside_with_the_reason() {
    let mut file = PcapFile::new(Order::Little, false, 105);
    file.packet(T0, &frame(0), 54);
    let mut captures = open(&[&file.bytes], Options::default()).expect("opens");
    let packet = captures.next_packet().expect("reads").expect("one packet");
    assert_eq!(packet.decode(&mut Decoder::default()), Err(SetAside::UnsupportedLink));
}

#[test]
fn a_snap_length_of_54_loses_no_packet_and_no_byte() {
    let mut file = PcapFile::new(Order::Little, false, 1);
    file.packet(T0, &frame(1_460), 1_514);
    let mut captures = open(&[&file.bytes], Options::default()).expect("opens");
    let packet = captures.next_packet().expect("reads").expect("one packet");
    assert_eq!(packet.bytes.len(), 54);
    let Ok(Parsed::Segment(segment)) = packet.decode(&mut Decoder::default()) else { panic!("{packet:?}") };
    assert_eq!((segment.payload_bytes, segment.link_bytes), (1_460, 1_514));
}

#[test]
fn interfaces_have_their_own_clock_link_and_offset() {
    for order in ORDERS {
        let mut file = PcapngFile::new(order);
        file.interface(1, 0, &[]) // microseconds
            .interface(101, 96, &[(9, &[9])]) // nanoseconds
            .interface(113, 96, &[(9, &[0x80 | 10])]) // 2^-10 s
            .interface(1, 0, &[(9, &[3]), (14, &order.u64(1_000_000_000))]) // milliseconds, offset
            .interface(1, 0, &[(9, &[12])]) // picoseconds
            .interface(1, 0, &[(14, &order.u64(-1i64 as u64))]) // microseconds, one second back
            .interface(1, 0, &[(9, &[0])]) // seconds
            .interface(1, 0, &[(9, &[100])]) // finer than anything
            .interface(1, 0, &[(9, &[0xff])]); // 2^-127 s
        let data = [9u8; 21];
        let ticks = [1_000_001, 1_000_001, 1_536, 500, 1_234_567, 3_000_000, 7, u64::MAX, u64::MAX];
        for (interface, ticks) in ticks.into_iter().enumerate() {
            file.enhanced(interface as u32, ticks, &data, 1500, &[]);
        }
        let (seen, facts) = read(&file.bytes);
        let times: Vec<u64> = seen.iter().map(|packet| packet.nanos).collect();
        let expected =
            [1_000_001_000, 1_000_001, 1_500_000_000, 1_000_000_000_500_000_000, 1_234, 2_000_000_000, 7_000_000_000];
        assert_eq!(times[..7], expected, "{order:?}");
        assert_eq!(times[7..], [0, 0], "{order:?}");
        let links: Vec<LinkType> = seen.iter().take(3).map(|packet| packet.link).collect();
        assert_eq!(links, [LinkType::Ethernet, LinkType::RawIp, LinkType::LinuxCookedV1]);
        assert!(seen.iter().all(|packet| packet.bytes == data && packet.wire == 1500));
        assert!(facts.jumps >= 2, "32 years there and back");
    }
}

#[test]
fn a_new_section_has_its_own_order_and_interfaces() {
    let mut file = PcapngFile::new(Order::Little);
    file.interface(1, 0, &[(9, &[9])]).interface(101, 0, &[(9, &[9])]).enhanced(1, 5, &[1], 1, &[]);
    file.section(Order::Big).interface(113, 0, &[(9, &[9])]).enhanced(0, 6, &[2], 1, &[]);
    let (seen, _) = read(&file.bytes);
    assert_eq!((seen[0].link, seen[0].nanos), (LinkType::RawIp, 5));
    assert_eq!((seen[1].link, seen[1].nanos), (LinkType::LinuxCookedV1, 6));

    let at = file.bytes.len();
    file.enhanced(1, 7, &[3], 1, &[]);
    let error = fails(&file.bytes);
    let text = format!("0: packet 3 at byte {at}: packet of interface 1, but the section describes 1");
    assert_eq!(error.to_string(), text);
}

#[test]
fn all_packet_blocks_are_read_and_other_blocks_skipped() {
    for order in ORDERS {
        let mut file = PcapngFile::new(order);
        file.block(0x0bad_cafe, &[1, 2, 3, 4, 5]) // unknown, before any interface
            .interface(1, 4, &[(2, b"eth0"), (13, &[4])])
            .block(4, &[0; 8]) // name resolution
            .obsolete(0, 1_000, &[1, 2, 3], 60)
            .simple(&[4, 5, 6, 7], 99) // cut to the interface's snap length
            .block(5, &[0; 12]) // interface statistics that state nothing
            .block(0x4000_0bad, &vec![0; 40 << 20]) // larger than any packet, custom
            .simple(&[8, 9], 2)
            .enhanced(0, 2_000, &[], 60, &[]);
        let (seen, facts) = read(&file.bytes);
        let found: Vec<(u64, &[u8], u32)> =
            seen.iter().map(|packet| (packet.nanos, &packet.bytes[..], packet.wire)).collect();
        let expected: [(u64, &[u8], u32); 4] = [
            (1_000_000, &[1, 2, 3], 60),
            (1_000_000, &[4, 5, 6, 7], 99),
            (1_000_000, &[8, 9], 2),
            (2_000_000, &[], 60),
        ];
        assert_eq!(found, expected, "{order:?}");
        assert_eq!(facts.packets_without_time, 2);
        assert_eq!(facts.backwards, 0, "a packet without time stands still");
    }
}

#[test]
fn interface_statistics_tell_of_losses() {
    for order in ORDERS {
        let mut file = PcapngFile::new(order);
        file.interface(1, 0, &[]).interface(1, 0, &[]).enhanced(0, 1, &[1], 1, &[]);
        let none = file.bytes.clone();
        for (interface, lost, dropped) in [(0, 3, 4), (1, 10, 0), (0, 5, 6), (9, 1_000, 0)] {
            let counts = [(5, order.u64(lost)), (7, order.u64(dropped)), (4, order.u64(77))];
            let body = [&order.u32(interface)[..], &[0; 8], &options(order, &counts)].concat();
            file.block(5, &body);
        }
        assert_eq!(read(&none).1.drops, None, "{order:?}");
        // The latest of each interface that exists.
        assert_eq!(read(&file.bytes).1.drops, Some(5 + 6 + 10), "{order:?}");
    }
}

fn options(order: Order, counts: &[(u16, [u8; 8])]) -> Vec<u8> {
    counts.iter().flat_map(|(code, value)| [&order.u16(*code)[..], &order.u16(8), value].concat()).collect()
}

#[test]
fn direction_marks_tell_inside_from_outside() {
    for order in ORDERS {
        let mut file = PcapngFile::new(order);
        file.interface(1, 0, &[]);
        let data = frame(10);
        for (flags, comment) in [(0b01, true), (0b10, false), (0b00, false), (0b1110, true)] {
            let flags = order.u32(flags);
            let mut options: Vec<(u16, &[u8])> = Vec::new();
            if comment {
                options.push((1, b"a comment"));
            }
            options.push((2, &flags));
            file.enhanced(0, 0, &data, 64, &options);
        }
        file.enhanced(0, 0, &data, 64, &[(1, b"no flags")]);
        let marks: Vec<Option<LinkSide>> = read(&file.bytes).0.iter().map(|packet| packet.from).collect();
        let (left, right) = (Some(LinkSide::Left), Some(LinkSide::Right));
        assert_eq!(marks, [right, left, None, left, None]);
        let mut captures = open(&[&file.bytes], Options::default()).expect("opens");
        let packet = captures.next_packet().expect("reads").expect("a packet");
        let Ok(Parsed::Segment(segment)) = packet.decode(&mut Decoder::default()) else { panic!("{packet:?}") };
        assert_eq!(segment.from, right);
    }
}

#[test]
fn inputs_are_merged_by_time_and_ties_by_which_begins_first() {
    let file = |times: &[u64], mark: u8| {
        let mut file = PcapFile::new(Order::Little, true, 1);
        for time in times {
            file.packet(*time, &[mark], 60);
        }
        file.bytes
    };
    let (a, b, c) = (file(&[10, 20, 20, 50], 0), gzip(&file(&[5, 20, 30], 1)), file(&[], 2));
    let (seen, facts, error) = drain(open(&[&a, &b, &c], Options::default()).expect("opens"));
    assert!(error.is_none());
    let order: Vec<(u64, usize)> = seen.iter().map(|packet| (packet.nanos, packet.input)).collect();
    // The second input begins first, and so do its packets of equal time.
    assert_eq!(order, [(5, 1), (10, 0), (20, 1), (20, 0), (20, 0), (30, 1), (50, 0)]);
    assert!(seen.iter().all(|packet| usize::from(packet.bytes[0]) == packet.input));
    let packets: Vec<u64> = facts.iter().map(|fact| fact.packets).collect();
    assert_eq!(packets, [4, 3, 0]);
    assert!(facts.iter().all(|fact| fact.sha256.is_some()));
}

#[test]
fn a_clock_that_runs_backwards_keeps_the_file_in_order() {
    let mut file = PcapFile::new(Order::Little, true, 1);
    for (index, time) in [100, 90, 95, 95, 200].into_iter().enumerate() {
        file.packet(time, &[index as u8], 60);
    }
    let mut other = PcapFile::new(Order::Little, true, 1);
    other.packet(98, &[9], 60);
    let (seen, facts, _) = drain(open(&[&file.bytes, &other.bytes], Options::default()).expect("opens"));
    let marks: Vec<u8> = seen.iter().map(|packet| packet.bytes[0]).collect();
    assert_eq!(marks, [9, 0, 1, 2, 3, 4]);
    assert_eq!((facts[0].backwards, facts[1].backwards, facts[0].jumps), (1, 0, 0));
    let range = (facts[0].earliest.map(|time| time.as_nanos()), facts[0].latest.map(|time| time.as_nanos()));
    assert_eq!(range, (Some(90), Some(200)));
}

#[test]
fn jumps_of_years_either_way_are_counted_and_cost_nothing() {
    const YEAR: u64 = 365 * 86_400 * 1_000_000_000;
    let mut file = PcapFile::new(Order::Little, false, 1);
    for time in [T0, T0 + 30 * YEAR, T0, T0 + 86_400_000_000_000, T0 + 2 * 86_400_000_000_000 + 1_000] {
        file.packet(time, &[0], 60);
    }
    let (seen, facts) = read(&file.bytes);
    assert_eq!(seen.len(), 5);
    assert_eq!((facts.backwards, facts.jumps), (1, 3), "exactly a day is no jump");
}

#[test]
fn very_many_inputs_share_the_buffers() {
    let mut files = Vec::new();
    for index in 0..500 {
        let mut file = PcapFile::new(Order::Little, true, 1);
        file.packet(1_000 - index, &[1; 60], 60).packet(2_000 + index, &[2; 60], 60);
        files.push(file.bytes);
    }
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let seen = drain(open(&files, Options::default()).expect("opens")).0;
    assert_eq!(seen.len(), 1_000);
    assert!(seen.windows(2).all(|pair| pair[0].nanos <= pair[1].nanos));
}

#[test]
fn files_and_their_sizes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("two words.pcap");
    let (_, bytes) = plain().swap_remove(0);
    std::fs::write(&path, &bytes).expect("writes");
    let captures = Captures::open(&[Input::from_argument(&path)], Options::default()).expect("opens");
    assert_eq!(captures.inputs()[0].total_bytes, Some(bytes.len() as u64));
    assert_eq!(captures.inputs()[0].name, path.display().to_string());
    assert_eq!(drain(captures).0.len(), 3);
}

#[test]
fn standard_input_once() {
    let error = Captures::open(&[Input::Stdin, Input::Stdin], Options::default()).err().expect("an error");
    assert!(matches!(error.kind, CaptureErrorKind::StdinTwice));
    assert_eq!(error.to_string(), "standard input: given twice, and it can be read only once");
}

/// The child of the test below: reads the capture on its standard input and says what it saw.
#[test]
#[ignore = "run by standard_input_is_a_capture with a capture on standard input"]
fn standard_input_child() {
    let captures = Captures::open(&[Input::from_argument("-")], Options::default()).expect("opens");
    let (seen, facts, error) = drain(captures);
    println!("saw {} packets of {}, size {:?}, error {error:?}", seen.len(), facts[0].name, facts[0].total_bytes);
}

#[test]
fn standard_input_is_a_capture() {
    for (name, bytes) in plain() {
        for stored in [bytes.clone(), gzip(&bytes), zstd(&bytes), xz(&bytes)] {
            let mut child = Command::new(std::env::current_exe().expect("a path"))
                .args(["--ignored", "--exact", "capture_formats::standard_input_child", "--nocapture"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("starts");
            child.stdin.take().expect("piped").write_all(&stored).expect("a pipe");
            let output = child.wait_with_output().expect("ends");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("saw 3 packets of standard input, size None, error None"), "{name}: {text}");
        }
    }
}
