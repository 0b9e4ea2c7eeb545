//! Folders of captures: rings and rotated files read as one stream, and what else stands in them.

use std::fs::{self, File};
use std::path::Path;

use crate::capture_support::{self, Order, PcapFile, PcapngFile, Seen, drain, frame, gzip};
use flowloom_store::capture::{CaptureErrorKind, Captures, Input, InputFacts, Options, Truncation};

/// A nanosecond pcap with a packet at each time, marked with its file.
fn pcap(times: &[u64], mark: u8) -> Vec<u8> {
    let mut file = PcapFile::new(Order::Little, true, 1);
    for time in times {
        file.packet(*time, &[mark], 60);
    }
    file.bytes
}

fn open(paths: &[&Path], options: Options) -> Result<Captures, flowloom_store::capture::CaptureError> {
    let inputs: Vec<Input> = paths.iter().map(|path| Input::from_argument(*path)).collect();
    Captures::open(&inputs, options)
}

fn read(path: &Path) -> (Vec<Seen>, Vec<InputFacts>) {
    let (seen, facts, error) = drain(open(&[path], Options::default()).expect("opens"));
    assert!(error.is_none(), "{error:?}");
    (seen, facts)
}

fn times_and_marks(seen: &[Seen]) -> Vec<(u64, u8)> {
    seen.iter().map(|packet| (packet.nanos, packet.bytes[0])).collect()
}

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("writes");
    }
    folder
}

#[test]
fn a_ring_is_read_in_the_order_of_time_not_of_names() {
    // As `tcpdump -W 12` leaves them: the ring came round, and file 02 is the oldest. Stamps repeat across borders.
    let files: Vec<(String, Vec<u8>)> = (0..12u64)
        .map(|number| {
            let age = (number + 10) % 12;
            let times = [age * 10, age * 10 + 5, age * 10 + 10];
            (format!("trace.pcap{number:02}"), pcap(&times, number as u8))
        })
        .collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    let folder = folder(&files);
    let (seen, facts) = read(folder.path());
    let expected: Vec<(u64, u8)> =
        (0..12u64).flat_map(|age| [0, 5, 10].map(|more| (age * 10 + more, ((age + 2) % 12) as u8))).collect();
    assert_eq!(times_and_marks(&seen), expected);
    assert!(facts.iter().all(|facts| facts.packets == 3 && facts.sha256.is_some()));
    assert_eq!(facts[7].name, folder.path().join("trace.pcap07").display().to_string());
    assert_eq!(facts[7].bytes_read, facts[7].total_bytes.expect("a size"));
    assert!(seen.iter().all(|packet| packet.input == usize::from(packet.bytes[0])));
}

#[test]
fn formats_and_compressions_mix_and_what_overlaps_is_merged() {
    let mut ng = PcapngFile::new(Order::Big);
    ng.interface(1, 0, &[(9, &[9])]).enhanced(0, 12, &[1], 60, &[]).enhanced(0, 31, &[1], 60, &[]);
    let folder = folder(&[("b.pcap.gz", &gzip(&pcap(&[10, 20, 30], 0))), ("a.pcapng", &ng.bytes)]);
    let alone = tempfile::tempdir().expect("a temporary folder");
    let path = alone.path().join("c.pcap");
    fs::write(&path, pcap(&[5, 25], 2)).expect("writes");
    let captures = open(&[folder.path(), &path], Options::default()).expect("opens");
    let (seen, _, error) = drain(captures);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(times_and_marks(&seen), [(5, 2), (10, 0), (12, 1), (20, 0), (25, 2), (30, 0), (31, 1)]);
}

#[test]
fn thousands_of_files_are_open_one_after_another() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // More than a process may usually hold open.
    for number in 0..3_000u64 {
        let name = format!("ring_{:05}_20261121.pcap", 3_000 - number);
        fs::write(folder.path().join(name), pcap(&[number * 10, number * 10 + 9], 0)).expect("writes");
    }
    let mut captures = open(&[folder.path()], Options { sha256: false, ..Options::default() }).expect("opens");
    let (mut packets, mut most, mut last) = (0u64, 0, 0);
    while let Some(packet) = captures.next_packet().expect("reads") {
        assert!(packet.time.as_nanos() >= last);
        last = packet.time.as_nanos();
        packets += 1;
        if packets.is_multiple_of(500) {
            most = most.max(open_below(folder.path()));
        }
    }
    assert_eq!(packets, 6_000);
    assert!((1..=2).contains(&most), "{most} files open at once");
}

/// How many files below `folder` this process has open.
fn open_below(folder: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").expect("Linux");
    open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|file| file.starts_with(folder)).count()
}

#[test]
fn files_without_packets_take_part_without_any() {
    let folder = folder(&[("a.pcap", &pcap(&[1, 2], 0)), ("b.pcap", &pcap(&[], 1)), ("c.pcap", &pcap(&[3], 2))]);
    let (seen, facts) = read(folder.path());
    assert_eq!(times_and_marks(&seen), [(1, 0), (2, 0), (3, 2)]);
    assert_eq!((facts[1].packets, facts[1].sha256.is_some()), (0, true));
}

#[test]
fn what_is_no_capture_is_left_out_and_named() {
    let folder = folder(&[
        ("a.pcap", &pcap(&[1], 0)),
        ("README.md", b"# Captures of the link"),
        (".hidden.pcap", &pcap(&[2], 1)),
        ("b.pcap.tmp", &pcap(&[3], 2)),
        ("new.pcap", b""),
        ("w.parquet", b"PAR1\x15\x04"),
    ]);
    fs::create_dir(folder.path().join("older")).expect("a folder");
    fs::write(folder.path().join("older/c.pcap"), pcap(&[4], 3)).expect("writes");
    let mut captures = open(&[folder.path()], Options::default()).expect("opens");
    let skipped: Vec<(String, String)> = captures
        .skipped()
        .iter()
        .map(|skipped| (skipped.name.rsplit('/').next().expect("a name").to_owned(), skipped.why.clone()))
        .collect();
    let skipped: Vec<(&str, &str)> = skipped.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect();
    assert_eq!(
        skipped,
        [
            ("older", "it is a folder"),
            ("README.md", "it is text that begins \"# Captures of the link\""),
            ("new.pcap", "the file is empty"),
            ("w.parquet", "it is a Parquet file, perhaps a workload"),
        ]
    );
    assert_eq!(captures.next_packet().expect("reads").expect("a packet").time.as_nanos(), 1);
    assert!(captures.next_packet().expect("reads").is_none());
}

#[test]
fn a_folder_with_only_other_files_is_an_error() {
    for (files, text) in [
        (&[("a.txt", &b"hello"[..])][..], "no capture is in this folder (1 other file is)"),
        (&[("a.txt", b"hello"), ("b.txt", b"")], "no capture is in this folder (2 other files are)"),
        (&[(".hidden", b"")], "no capture is in this folder"),
    ] {
        let folder = folder(files);
        let error = open(&[folder.path()], Options::default()).err().expect("an error");
        assert_eq!(error.to_string(), format!("{}: {text}", folder.path().display()));
    }
}

#[test]
fn a_capture_that_cannot_be_read_is_an_error_also_in_a_folder() {
    let folder = folder(&[("a.pcap", &pcap(&[1], 0)), ("b.cap", b"GMBU\0\0\0\0")]);
    let error = open(&[folder.path()], Options::default()).err().expect("an error");
    assert!(matches!(error.kind, CaptureErrorKind::NotRead(_)), "{error}");
    assert!(error.file.ends_with("b.cap"));
}

#[test]
fn the_newest_file_of_a_ring_may_be_cut_off_and_the_error_says_so() {
    let whole = pcap(&[20, 21], 1);
    // In the second record, and in the first.
    for (cut, packets) in [(5, 3), (17 + 5, 2)] {
        let folder = folder(&[("a.pcap", &whole[..whole.len() - cut]), ("b.pcap", &pcap(&[1, 2], 0))]);
        let strict = Options { truncation: Truncation::Refuse, ..Options::default() };
        let (seen, _, error) = drain(open(&[folder.path()], strict).expect("opens"));
        let error = error.expect("an error");
        assert!(error.file.ends_with("a.pcap"), "{error}");
        let text = error.to_string();
        assert!(text.ends_with("; it is the newest of 2 files, perhaps still being written"), "{text}");
        assert!(error.hint().expect("a hint").contains("--allow-truncated"));
        assert!(seen.len() <= packets);

        let allow = Options { truncation: Truncation::Allow, ..Options::default() };
        let (seen, facts, error) = drain(open(&[folder.path()], allow).expect("opens"));
        assert!(error.is_none(), "{error:?}");
        assert_eq!((seen.len(), facts[0].truncated, facts[1].truncated), (packets, true, false));
    }
    // An older file that is cut off is not being written.
    let folder = folder(&[("a.pcap", &whole), ("b.pcap", &pcap(&[1, 2], 0)[..24 + 17 + 10])]);
    let strict = Options { truncation: Truncation::Refuse, ..Options::default() };
    let error = drain(open(&[folder.path()], strict).expect("opens")).2.expect("an error");
    assert!(error.file.ends_with("b.pcap") && !error.to_string().contains("newest"), "{error}");
}

#[test]
fn a_file_that_vanishes_from_the_ring_is_named() {
    let folder = folder(&[("a.pcap", &pcap(&[1], 0)), ("b.pcap", &pcap(&[2], 1))]);
    let mut captures = open(&[folder.path()], Options::default()).expect("opens");
    assert!(captures.next_packet().expect("reads").is_some());
    fs::remove_file(folder.path().join("b.pcap")).expect("removes");
    let error = captures.next_packet().expect_err("the file is gone");
    assert!(error.file.ends_with("b.pcap") && matches!(error.kind, CaptureErrorKind::Open(_)), "{error}");
    assert!(captures.next_packet().expect("an error is the end").is_none());
}

#[test]
fn a_pipe_among_several_files_is_read_once() {
    let folder = folder(&[("a.pcap", &pcap(&[1, 30], 0))]);
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut file = File::create(pipe).expect("opens");
            std::io::Write::write_all(&mut file, &pcap(&[10, 20], 1)).expect("writes");
        }
    });
    let (seen, _, error) = drain(open(&[&folder.path().join("a.pcap"), &pipe], Options::default()).expect("opens"));
    writer.join().expect("ends");
    assert!(error.is_none(), "{error:?}");
    assert_eq!(times_and_marks(&seen), [(1, 0), (10, 1), (20, 1), (30, 0)]);
}

#[test]
fn a_folder_reads_as_the_one_capture_it_was_cut_from() {
    let mut whole = PcapFile::new(Order::Little, true, 1);
    let folder = tempfile::tempdir().expect("a temporary folder");
    for number in 0..20u64 {
        let mut part = PcapFile::new(Order::Little, true, 1);
        for at in 0..7 {
            whole.packet(number * 100 + at, &frame(at as u16), 60);
            part.packet(number * 100 + at, &frame(at as u16), 60);
        }
        fs::write(folder.path().join(format!("part{number}")), part.bytes).expect("writes");
    }
    let one = capture_support::read(&whole.bytes).0;
    let mut many = read(folder.path()).0;
    many.iter_mut().for_each(|packet| packet.input = 0);
    assert_eq!(many, one);
}
