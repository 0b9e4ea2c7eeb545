//! Bad input gets a clear error or a clear count; nothing half-written is left behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::support::{Bench, Traffic};
use flowloom::core::workload::Side;
use flowloom::store::workload::WorkloadReader;
use flowloom::time::Duration;
use flowloom_needs::{Need, skip};
use flowloom_testkit::earlier;

const SECOND: Duration = Duration::from_secs(1);

/// `extract --json` of these bytes.
fn counts(bytes: &[u8]) -> serde_json::Value {
    let bench = Bench::new();
    bench.file("c.pcap", bytes);
    bench.json(&["extract", "c.pcap", "-o", "w.parquet", "--json"])
}

#[test]
fn an_empty_file() {
    let bench = Bench::new();
    bench.file("empty.pcap", b"");
    bench.flowloom(&["run", "empty.pcap", "-o", "r"]).failed(1, &["empty.pcap", "empty", "hint"]);
    bench.flowloom(&["extract", "empty.pcap", "-o", "w.parquet"]).failed(1, &["empty.pcap", "empty"]);
    bench.flowloom(&["run", "empty.pcap", "-o", "r", "--seed", "1", "--seed", "2"]).failed(1, &["empty.pcap", "empty"]);
    assert_eq!(bench.names(), ["empty.pcap"], "nothing is left behind");
}

#[test]
fn no_capture_at_all() {
    let bench = Bench::new();
    bench.file("notes.txt", b"these are my notes, not packets\n");
    bench.flowloom(&["run", "notes.txt", "-o", "r"]).failed(1, &["notes.txt: not a capture", "hint"]);
    bench.flowloom(&["describe", "missing.pcap"]).failed(1, &["missing.pcap", "hint: check the spelling"]);
    assert_eq!(bench.names(), ["notes.txt"]);
}

#[test]
fn a_capture_cut_in_mid_record() {
    let bench = Bench::new();
    let whole = Traffic::many(20).pcap();
    bench.file("cut.pcap", &whole[..whole.len() - 30]);
    let said = bench.flowloom(&["extract", "cut.pcap", "-o", "w.parquet", "--strict"]);
    said.failed(1, &["cut.pcap: packet ", " at byte ", "nothing was written", "--allow-truncated"]);
    assert_eq!(bench.names(), ["cut.pcap"]);
    let counts = bench.json(&["extract", "cut.pcap", "-o", "w.parquet", "--json"]);
    assert_eq!(counts["connections"]["total"], 20);
    assert_eq!(counts["inputs"][0]["truncated"], true);
    assert!(counts["warnings"][0].as_str().unwrap().contains("ends inside its last record"), "{counts}");
    for (command, options) in [("describe", &[][..]), ("run", &["-o", "r"]), ("convert", &["-o", "w.jsonl"])] {
        let refused = bench.flowloom(&[&[command, "cut.pcap", "--strict"], options].concat());
        refused.failed(1, &["cut.pcap: packet "]);
        let said = bench.flowloom(&[&[command, "cut.pcap"], options].concat());
        said.succeeded();
        assert!(format!("{}{}", said.out, said.err).contains("last record"), "{command}: {}{}", said.out, said.err);
    }
    // A length that no packet has is damage, which may hide other records.
    let mut damaged = whole.clone();
    let last = whole.len() - 30;
    let header = record_before(&whole, last);
    damaged[header + 9] = 0xff;
    bench.file("damaged.pcap", &damaged);
    bench.flowloom(&["describe", "damaged.pcap"]).failed(1, &["damaged.pcap: packet ", "--allow-truncated"]);
    bench.flowloom(&["describe", "damaged.pcap", "--allow-truncated"]).succeeded();
}

/// Where the record begins that holds byte `at` of a little-endian pcap.
fn record_before(pcap: &[u8], at: usize) -> usize {
    let mut start = 24;
    loop {
        let captured = u32::from_le_bytes(pcap[start + 8..start + 12].try_into().unwrap()) as usize;
        if start + 16 + captured > at {
            return start;
        }
        start += 16 + captured;
    }
}

/// One bit of the metadata makes the Parquet crate panic, in a file without digests: the error says that the file is damaged, in words of ours.
#[test]
fn panics_of_libraries_are_not_printed() {
    let bench = Bench::new();
    let panics = |at: &usize| {
        let mut bytes = earlier::WORKLOAD.to_vec();
        bytes[*at] ^= 1;
        bench.file("d.parquet", &bytes);
        let vectors =
            WorkloadReader::open(&bench.path("d.parquet")).map(|reader| reader.collect::<Result<Vec<_>, _>>());
        vectors.and_then(|vectors| vectors).is_err_and(|error| error.to_string().contains("contradict each other"))
    };
    let found = (0..earlier::WORKLOAD.len()).rev().find(panics);
    assert!(found.is_some(), "no bit makes it panic");
    bench.flowloom(&["convert", "d.parquet", "-o", "w.jsonl"]).failed(1, &["damaged: d.parquet", "take another copy"]);
    assert!(!bench.path("w.jsonl").exists());
}

/// Rewrites a nanosecond pcap with every record cut to `length` bytes.
fn snapped(pcap: &[u8], length: usize) -> Vec<u8> {
    let mut out = pcap[..24].to_vec();
    let mut rest = &pcap[24..];
    while rest.len() >= 16 {
        let captured = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let kept = captured.min(length);
        out.extend_from_slice(&rest[..8]);
        out.extend_from_slice(&(kept as u32).to_le_bytes());
        out.extend_from_slice(&rest[12..16 + kept]);
        rest = &rest[16 + captured..];
    }
    out
}

/// A nanosecond pcap with every `nth` record twice.
fn doubled(pcap: &[u8], nth: usize) -> Vec<u8> {
    let mut out = pcap[..24].to_vec();
    let mut rest = &pcap[24..];
    for at in 0.. {
        if rest.len() < 16 {
            break;
        }
        let length = 16 + u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        out.extend(rest[..length].repeat(1 + usize::from(at % nth == 0)));
        rest = &rest[length..];
    }
    out
}

#[test]
fn a_capture_of_every_packet_twice_is_doubted() {
    let bench = Bench::new();
    let whole = Traffic::many(60).pcap();
    bench.file("once.pcap", &whole);
    bench.file("few.pcap", &doubled(&whole, 40));
    bench.file("twice.pcap", &doubled(&whole, 1));
    let warning = "captured more than once: ";
    for (name, is_doubted) in [("once.pcap", false), ("few.pcap", false), ("twice.pcap", true)] {
        for words in [&["describe", name][..], &["extract", name, "-o", "w.parquet", "--force"]] {
            let said = bench.flowloom(words);
            let told = said.succeeded().err.clone() + &said.out;
            assert_eq!(told.contains(warning) && told.contains("editcap -w 0.005"), is_doubted, "{words:?}: {told}");
        }
        // Of the capture, and of the workload that was made of it.
        for input in [name, "w.parquet"] {
            let answer = bench.json(&["run", input, "-o", "r", "--force", "--json"]);
            let plausible = &answer["verdict"]["plausible"];
            let doubt = plausible["reasons"].to_string().contains("are copies of others");
            assert_eq!(doubt, is_doubted, "{input}: {plausible}");
            assert!(!doubt || plausible["word"] == "doubtful", "{plausible}");
        }
    }
}

#[test]
fn a_snap_length_of_54_loses_nothing_but_options() {
    let whole = Traffic::many(20).pcap();
    let (full, short) = (counts(&whole), counts(&snapped(&whole, 54)));
    for key in ["connections", "payload_bytes", "packets"] {
        assert_eq!(full[key], short[key]);
    }
}

#[test]
fn the_wrong_link_type() {
    let bench = Bench::new();
    let mut bytes = Traffic::many(5).pcap();
    bytes[20..24].copy_from_slice(&147u32.to_le_bytes());
    bench.file("c.pcap", &bytes);
    let said = bench.flowloom(&["run", "c.pcap", "-o", "r"]);
    said.failed(1, &["no connection to replay", "none of the", "hint"]);
    assert_eq!(bench.names(), ["c.pcap"]);
    let set_aside = &counts(&bytes)["set_aside"];
    assert!(set_aside.as_object().unwrap().keys().any(|reason| reason.contains("link-type")), "{set_aside}");
}

#[test]
fn a_clock_that_runs_backwards() {
    let traffic = Traffic::many(20);
    let mut packets = traffic.packets.clone();
    packets.sort_by_key(|packet| packet.time);
    let middle = packets.len() / 2;
    for packet in &mut packets[middle..] {
        packet.time = packet.time.before(Duration::from_millis(300));
    }
    let back = counts(&Traffic::in_order(&packets));
    assert_eq!(back["connections"]["total"], 20, "no connection is split");
    assert_eq!(back["payload_bytes"], counts(&traffic.pcap())["payload_bytes"]);
    assert_eq!(back["tcp"]["clock_ran_backwards"], 1);
}

#[test]
fn a_clock_that_jumps_years() {
    let bench = Bench::new();
    let years = Duration::from_secs(5 * 365 * 86_400);
    let traffic = Traffic::many(10).connection(50, years, 300, 5_000).connection(51, years + SECOND, 300, 5_000);
    bench.file("c.pcap", &traffic.pcap());
    // Five years in bins of a second or steps of an event would take minutes and gigabytes.
    let run = bench.json(&["run", "c.pcap", "-o", "r", "--json"]);
    assert_eq!(run["connections"]["completed"], 12);
    let size = std::fs::metadata(bench.path("r/report.html")).unwrap().len();
    assert!(size < 3_000_000, "the report has {size} bytes");
}

#[test]
fn a_clock_that_jumps_after_a_packet_of_another_protocol() {
    let bench = Bench::new();
    let traffic = (1..6).fold(Traffic::default().connection(0, Duration::ZERO, 10, 10), |traffic, id| {
        traffic.connection(id, SECOND * (86_400 * 400 + id), 300, 5_000)
    });
    let mut bytes = traffic.pcap();
    // The protocol of the first packet: the run must last from it to the end all the same.
    bytes[24 + 16 + 14 + 9] = 17;
    bench.file("c.pcap", &bytes);
    let run = bench.json(&["run", "c.pcap", "-o", "r", "--json"]);
    assert_eq!(run["connections"]["completed"], 6);
}

#[test]
fn sequence_numbers_that_wrap() {
    let traffic = Traffic::default().connection_from(0, SECOND, u32::MAX - 2_000, 10_000, 50_000);
    let wrapped = counts(&traffic.pcap());
    assert_eq!(wrapped["connections"]["sequential"], 1);
    assert_eq!(wrapped["payload_bytes"]["initiator"], 10_000);
    assert_eq!(wrapped["payload_bytes"]["acceptor"], 50_000);
}

#[test]
fn duplicate_packets() {
    let traffic = Traffic::many(20);
    let mut doubled: Vec<_> = traffic.packets.iter().flat_map(|packet| [*packet, *packet]).collect();
    doubled.sort_by_key(|packet| packet.time);
    let (once, twice) = (counts(&traffic.pcap()), counts(&Traffic::in_order(&doubled)));
    assert_eq!(once["payload_bytes"], twice["payload_bytes"]);
    assert_eq!(once["connections"], twice["connections"]);
    assert_eq!(twice["tcp"]["duplicate_segments"], once["tcp"]["data_segments"]);
}

#[test]
fn a_4_tuple_used_again() {
    let traffic = Traffic::default()
        .connection_from(0, Duration::ZERO, 5_000, 100, 1_000)
        .connection_from(0, SECOND, 900_000, 200, 2_000);
    let reused = counts(&traffic.pcap());
    assert_eq!(reused["connections"]["sequential"], 2);
    assert_eq!(reused["connections"]["complete"], 2);
}

/// Four connections without their SYNs, of which each was closed by FINs that were acknowledged, and the next begins 200 kB lower.
#[test]
fn a_4_tuple_used_again_without_syns() {
    let mut traffic = (0..4).fold(Traffic::default(), |traffic, use_of_it| {
        traffic.connection_from(
            0,
            SECOND * (30 * u64::from(use_of_it)),
            2_000_000_000 - 200_000 * use_of_it,
            300,
            20_000,
        )
    });
    traffic.packets.retain(|packet| packet.flags & 2 == 0);
    let reused = counts(&traffic.pcap());
    assert_eq!(reused["connections"]["sequential"], 4);
    assert_eq!(reused["payload_bytes"]["acceptor"], 80_000);
    assert_eq!(reused["tcp"]["missing_bytes"], 0);
}

#[test]
fn one_direction_only() {
    let bench = Bench::new();
    let mut traffic = Traffic::many(10);
    traffic.packets.retain(|packet| packet.sender == Side::Acceptor);
    bench.file("c.pcap", &traffic.pcap());
    let said = bench.flowloom(&["run", "c.pcap", "-o", "r"]);
    said.failed(1, &["no connection to replay", "both directions", "set aside: 10 connections: one direction only"]);
    assert_eq!(counts(&traffic.pcap())["connections"]["one_way"], 10);
    assert_eq!(bench.names(), ["c.pcap"]);
}

#[test]
fn no_tcp_at_all() {
    let bench = Bench::new();
    let mut bytes = Traffic::many(3).pcap();
    let mut at = 24;
    while at < bytes.len() {
        let captured = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        bytes[at + 16 + 14 + 9] = 17;
        at += 16 + captured;
    }
    bench.file("udp.pcap", &bytes);
    bench.file("e.toml", b"workload = { source = \"udp.pcap\", datagrams = \"leave-out\" }");
    bench.flowloom(&["run", "e.toml"]).failed(1, &["no connection to replay"]);
    assert_eq!(bench.names(), ["e.toml", "udp.pcap"], "not even the folder of runs is left");
    let counted = counts(&bytes);
    assert!(counted["datagrams"]["packets"].as_u64().unwrap() > 0, "{counted}");
    assert_eq!(counted["connections"]["total"], 0);
    let warnings = counted["warnings"].to_string();
    assert!(warnings.contains("there is UDP and no TCP"), "{warnings}");
    let counted = bench.json(&["extract", "udp.pcap", "-o", "w.parquet", "--tcp-only", "--json"]);
    let warnings = counted["warnings"].to_string();
    assert!(warnings.contains("packets is TCP that could be read"), "{warnings}");
}

#[test]
fn an_output_that_cannot_be_written() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    bench.file("file", b"in the way");
    bench.flowloom(&["extract", "c.pcap", "-o", "missing/w.parquet"]).failed(1, &["missing/w.parquet"]);
    bench.flowloom(&["run", "c.pcap", "-o", "file/r"]).failed(1, &["file/r"]);
    bench.flowloom(&["run", "c.pcap", "-o", "file"]).failed(1, &["exists already", "-o"]);
    bench.flowloom(&["run", "c.pcap", "-o", "file", "--force"]).failed(1, &["not a run folder"]);
    bench.flowloom(&["run", "c.pcap", "-o", "/proc/r"]).failed(1, &["/proc/r"]);
    assert_eq!(bench.names(), ["c.pcap", "file"]);
    assert_eq!(std::fs::read(bench.path("file")).unwrap(), b"in the way");
}

#[test]
fn a_full_disk() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(2_000).pcap());
    let small = bench.path("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&small).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("cli: full disk", Need::MOUNT);
    }
    let workload = bench.flowloom(&["extract", "c.pcap", "-o", "small/w.parquet"]);
    let run = bench.flowloom(&["run", "c.pcap", "-o", "small/r"]);
    let left = std::fs::read_dir(&small).unwrap().count();
    assert!(Command::new("umount").arg(&small).status().unwrap().success());
    workload.failed(1, &["small/w.parquet", "No space left"]);
    run.failed(1, &["No space left"]);
    assert_eq!(left, 0, "nothing half-written is left on a full disk");
}

/// Where there is no room for the report, the tables stay, and the error says where.
#[test]
fn a_disk_that_the_report_fills() {
    let bench = Bench::new();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    let small = bench.path("small");
    std::fs::create_dir(&small).unwrap();
    for (size, seeds) in [("900k", &["--seed", "1"][..]), ("1800k", &["--seed", "1", "--seed", "2", "--jobs", "1"])] {
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&small).status();
        if !mounted.is_ok_and(|status| status.success()) {
            return skip("cli: full disk", Need::MOUNT);
        }
        let run = bench.flowloom(&[&["run", demo, "-o", "small/r"], seeds].concat());
        let named = run.err.lines().find_map(|line| Some(line.split_once("what was recorded is in ")?.1.to_owned()));
        let left = named.as_deref().map(|folder| bench.flowloom(&["describe", folder]).code);
        let whole = bench.flowloom(&["describe", "small/r"]).code;
        assert!(Command::new("umount").arg(&small).status().unwrap().success());
        run.failed(1, &["report.html: No space left", "describe, compare and report read it"]);
        assert_eq!(left, Some(0), "{}", run.err);
        if seeds.len() > 2 {
            run.failed(1, &["complete are the runs of seeds 1 in small/r"]);
            assert_eq!(whole, 0);
        }
    }
}

#[test]
fn a_workload_of_a_newer_format() {
    let bench = Bench::new();
    let mut bytes = earlier::WORKLOAD.to_vec();
    // The version is the value after its key in the file's metadata: one digit, so nothing moves.
    let key = b"flowloom.version";
    let at = bytes.windows(key.len()).rposition(|window| window == key).unwrap() + key.len();
    let digit = at + bytes[at..].iter().position(|&byte| byte == b'1').unwrap();
    bytes[digit] = b'9';
    bench.file("newer.parquet", &bytes);
    bench.flowloom(&["run", "newer.parquet", "-o", "r"]).failed(1, &["newer format: version 9", "update flowloom"]);
    bench.flowloom(&["describe", "newer.parquet"]).failed(1, &["newer format"]);
    bench.file("damaged.parquet", &bytes[..bytes.len() - 9]);
    bench.flowloom(&["run", "damaged.parquet", "-o", "r"]).failed(1, &["damaged.parquet"]);
    bench.file("tiny.parquet", b"PAR1");
    bench.flowloom(&["run", "tiny.parquet", "-o", "r"]).failed(1, &["tiny.parquet"]);
    // The metadata are a map of 2^31 - 1 booleans.
    bench.file("claims.parquet", b"PAR1\x9b\xff\xff\xff\xff\x07\x11\x00\x08\x00\x00\x00PAR1");
    let words = ["damaged: claims.parquet", "at byte 5: a count of 2147483647", "take another copy"];
    bench.flowloom(&["describe", "claims.parquet"]).failed(1, &words);
}

#[test]
fn an_experiment_with_an_unknown_key() {
    let bench = Bench::new();
    bench.file("e.toml", b"[workload]\nsource = \"c.pcap\"\n[network.bottleneck]\nqeue = { kind = \"drop-tail\" }\n");
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    said.failed(
        2,
        &[
            "e.toml:4: unknown key \"qeue\"",
            "known: cells, delay, from, policer, queue, rate",
            "did you mean \"queue\"?",
        ],
    );
    bench.file("e.toml", b"[workload]\nsource = \"c.pcap\"\n[network.bottleneck.queue]\nkind = \"droptail\"\n");
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(2, &["e.toml:4", "did you mean \"drop-tail\"?"]);
    bench.file("e.toml", b"title = \"no source\"\n");
    let missing = ["workload.source is missing", "add source = \"FILE\" to [workload]"];
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(2, &[missing[0], missing[1], "e.toml: "]);
    bench.file("e.toml", b"title = \"no source\"\n[workload]\nrtt = \"20ms\"\n");
    for command in ["run", "model"] {
        bench.flowloom(&[command, "e.toml", "-o", "r.parquet"]).failed(2, &["e.toml:2: ", missing[0], missing[1]]);
    }
    bench.file("e.toml", b"[workload]\nsource = \"missing.pcap\"\n");
    let words = ["e.toml:2: workload.source: missing.pcap does not exist", "hint"];
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(1, &words);
    bench.file("e.toml", b"[workload]\nsource = \"\"\n");
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(2, &["e.toml:2: workload.source names no file"]);
}

#[test]
fn impossible_numbers() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    for (words, wanted) in [
        (["--rate", "0mbit"], "above zero"),
        (["--rate", "-5mbit"], "-5mbit"),
        (["--rate", "ten"], "write it like"),
        (["--rate", "10"], "too slow"),
        (["--rate", "1bit"], "too slow"),
        (["--queue", "0p"], "at least one packet"),
        (["--queue", "100b"], "at least one packet"),
        (["--delay", "20"], "20ms"),
        (["--delay", "99h"], "too long"),
        (["--delay", "-5ms"], "\"-5ms\" is not a time (write it like 20ms)"),
        (["--queue", "-5p"], "\"-5p\" is not a queue limit (write it like 65000p or 64k)"),
        (["--wait-min", "-1s"], "\"-1s\" is not a time"),
        (["--max-memory", "-2gb"], "write it like 500mb or 2gb"),
        (["--threads", "-1"], "-1 is not in 1..=64"),
        (["--seed", "-1"], "not a whole number from 0"),
        (["--duration", "0s"], "above zero"),
        (["--jobs", "0"], "0"),
        (["--inside", "10.0.0.0/40"], "not an address prefix"),
    ] {
        bench.flowloom(&[&["run", "c.pcap", "-o", "r"][..], &words].concat()).failed(2, &[wanted]);
    }
    assert_eq!(bench.names(), ["c.pcap"]);
}

#[test]
fn an_output_that_cannot_be_is_named_as_it_was_given() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    bench.file("notes", b"no folder");
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench.flowloom(&["run", "w.parquet", "-o", "r"]).succeeded();
    for (words, output) in [
        (&["extract", "c.pcap", "-o"][..], "notes/w.parquet"),
        (&["convert", "w.parquet", "-o"], "notes/w.jsonl"),
        (&["convert", "w.parquet", "-o"], "notes/w.parquet"),
        (&["run", "w.parquet", "-o"], "notes/r"),
        (&["run", "c.pcap", "-o"], "notes/r"),
        (&["run", "c.pcap", "--force", "-o"], "notes/r"),
        (&["describe", "c.pcap", "--html"], "notes/d.html"),
        (&["report", "r", "-o"], "notes/r.html"),
    ] {
        let said = bench.flowloom(&[words, &[output]].concat());
        said.failed(1, &[output, "Not a directory"]);
        for temporary in ["partial", "at path", "/.", "exists already"] {
            assert!(!said.err.contains(temporary), "{words:?}: {}", said.err);
        }
    }
    assert_eq!(bench.names(), ["c.pcap", "notes", "r", "w.parquet"], "nothing is left behind");
}

#[test]
fn no_run_folder() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("empty")).unwrap();
    for command in ["compare", "report"] {
        bench.flowloom(&[command, "empty"]).failed(1, &["not a run folder", "hint"]);
        bench.flowloom(&[command, "missing"]).failed(1, &["missing"]);
    }
    for command in [&["run", "empty"][..], &["describe", "empty"], &["extract", "empty", "-o", "w.parquet"]] {
        bench.flowloom(command).failed(1, &["empty: no capture is in this folder", "hint"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["describe", "c.pcap"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_interrupt_keeps_what_was_read() {
    let bench = Bench::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["extract", "-", "-o", "w.parquet", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: only the child is interrupted.
        .process_group(0)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // A capture without an end: the command stops because it is asked to, or never.
    let mut id = 0;
    let mut header_sent = false;
    loop {
        let batch = (id..id + 500)
            .fold(Traffic::default(), |traffic, id| traffic.connection(id, Duration::from_millis(id * 10), 300, 3_000));
        id += 500;
        let bytes = batch.pcap();
        if input.write_all(if header_sent { &bytes[24..] } else { &bytes }).is_err() {
            break;
        }
        header_sent = true;
        if id == 5_000 {
            let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(interrupted.success());
        }
    }
    drop(input);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("interrupted after"), "{err}");
    let counts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counts["interrupted"], true);
    let kept = bench.json(&["describe", "w.parquet", "--json"]);
    assert!(kept["workload"]["connections"]["total"].as_u64().unwrap() > 1_000);
}

#[test]
fn options_about_captures_are_refused_where_there_is_none() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r"]).succeeded();
    for words in [
        &["run", "r/workload.parquet", "--complete-only", "-o", "x"][..],
        &["describe", "r/workload.parquet", "--complete-only"],
        &["describe", "r", "--complete-only"],
    ] {
        bench
            .flowloom(words)
            .failed(2, &["--complete-only is about reading captures", "hint: leave --complete-only out"]);
    }
    assert!(!bench.path("x").exists());
}

#[test]
fn a_window_beyond_the_run_is_refused() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench.file("e.toml", b"[workload]\nsource = \"c.pcap\"\n[measure]\nwindow = [\"1s\", \"10h\"]\n");
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(
        2,
        &["e.toml:4: measure.window [1s, 10h] ends after the run", "hint: connections start for measure.duration"],
    );
    assert!(!bench.path("r").exists());
}

#[test]
fn that_nobody_reads_errors_changes_no_exit_code() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [&["verify", "absent"][..], &["compare", "absent"], &["run", "absent.toml"], &["schema", "absent"]]
    {
        let run = |stderr: Stdio| {
            Command::new(env!("CARGO_BIN_EXE_flowloom")).args(arguments).stderr(stderr).stdout(Stdio::null()).status()
        };
        let usual = run(Stdio::null()).unwrap().code();
        assert!(matches!(usual, Some(1 | 2)), "{arguments:?}: {usual:?}");
        assert_eq!(run(full.try_clone().unwrap().into()).unwrap().code(), usual, "{arguments:?}");
    }
}

/// Runs `w.parquet` of `bench` and interrupts it when a simulation has begun: the result of its last line.
fn interrupt_a_run(bench: &Bench, options: &[&str]) -> serde_json::Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["run", "w.parquet", "-o", "r", "--json-stream"])
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The first line about simulation comes before its first event, millions of which follow.
    assert!(lines.any(|line| line.contains("simulating")));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let last = lines.last().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let end: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!(end["event"], "end");
    end["result"].clone()
}

/// A workload that takes longer to simulate than a signal to arrive.
fn long_workload() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(30_000).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench
}

fn run_json(bench: &Bench, folder: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(bench.path(&format!("{folder}/run.json"))).unwrap()).unwrap()
}

#[test]
fn an_interrupt_keeps_what_was_simulated() {
    let bench = long_workload();
    bench.flowloom(&["run", "w.parquet", "-o", "whole"]).succeeded();
    let ran = run_json(&bench, "whole");
    let whole = ran["window_ns"][1].as_u64().unwrap();
    assert!(ran["planned_window_ns"].is_null(), "it is what was planned");
    for jobs in ["1", "2"] {
        let result = interrupt_a_run(&bench, &["--jobs", jobs, "--pcap", "--force"]);
        let started = result["connections"]["started"].as_u64().unwrap();
        assert!((1..30_000).contains(&started), "{result}");
        let run = run_json(&bench, "r");
        assert_eq!((&run["complete"], &run["interrupted"]), (&false.into(), &true.into()));
        let window = run["window_ns"][1].as_u64().unwrap();
        assert!(window < whole, "what was not simulated counts for nothing: {window} of {whole} ns");
        assert_eq!(run["planned_window_ns"], serde_json::json!([0, whole]));
        let told = result["warnings"].as_array().unwrap().iter().find(|warning| warning["kind"] == "interrupted");
        assert_eq!(told.unwrap()["end_ns"], window);
        let described = bench.json(&["describe", "r", "--json"]);
        assert_eq!(
            described["summary"]["connections"], result["connections"],
            "what was recorded is what was simulated"
        );
        let capture = bench.json(&["describe", "r/link.pcap", "--json"]);
        assert!(capture["workload"]["connections"]["total"].as_u64().unwrap() > 0);
        assert!(bench.path("r/report.html").exists());
    }
}

#[test]
fn an_interrupt_keeps_what_was_simulated_of_every_seed_that_was_begun() {
    let bench = long_workload();
    let result = interrupt_a_run(&bench, &["--jobs", "2", "--seed", "4", "--seed", "5", "--seed", "6"]);
    // If there was time for one only, its result is the answer.
    let runs = result["runs"].as_array().cloned().unwrap_or_else(|| vec![result]);
    let index: serde_json::Value = serde_json::from_slice(&std::fs::read(bench.path("r/index.json")).unwrap()).unwrap();
    let listed: Vec<&str> =
        index["runs"].as_array().unwrap().iter().map(|run| run["folder"].as_str().unwrap()).collect();
    assert!(listed.len() == runs.len() && listed.first() == Some(&"seed-4"), "{index}");
    assert!(listed.len() < 3, "the third was never begun");
    for (folder, result) in listed.iter().zip(&runs) {
        let run = run_json(&bench, &format!("r/{folder}"));
        assert_eq!((&run["complete"], &run["interrupted"]), (&false.into(), &true.into()), "{folder}");
        assert!(result["connections"]["started"].as_u64().unwrap() < 30_000, "{result}");
    }
    assert!(bench.path("r/report.html").exists());
    bench.flowloom(&["describe", "r"]).succeeded();
}

#[test]
fn interfaces_that_cannot_be_captured_from() {
    let bench = Bench::new();
    bench
        .flowloom(&["extract", "--interface", "none0", "-o", "w.parquet"])
        .failed(1, &["none0: there is no such network interface; there are ", "lo", "hint"]);
    bench.flowloom(&["extract", "--interface", "lo", "c.pcap", "-o", "w.parquet"]).failed(2, &["cannot be used with"]);
    bench.flowloom(&["extract", "c.pcap", "--duration", "1s", "-o", "w.parquet"]).failed(2, &["cannot be used with"]);
    bench.flowloom(&["extract", "--duration", "1s", "-o", "w.parquet"]).failed(2, &["--interface"]);
    bench.flowloom(&["extract", "-o", "w.parquet"]).failed(2, &["CAPTURE"]);
    let check = "cli: capture without the right to";
    // As a user who may not, whoever runs this test; the program must be where such a user can start it.
    let program = bench.path("flowloom");
    std::fs::copy(env!("CARGO_BIN_EXE_flowloom"), &program).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(bench.folder.path(), open).unwrap();
    let nobody = ["--reuid", "65534", "--clear-groups", "--"];
    let words = ["extract", "--interface", "lo", "--packets", "1", "-o", "w.parquet"];
    let command =
        Command::new("setpriv").args(nobody).arg(&program).args(words).current_dir(bench.folder.path()).output();
    let Ok(output) = command else {
        return skip(check, Need::OTHER_USERS);
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("setpriv:") {
        return skip(check, Need::OTHER_USERS);
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("lo: capturing from a network interface is not permitted"), "{said}");
    assert!(said.contains("hint: run as root, or allow this program once: sudo setcap cap_net_raw+ep"), "{said}");
    assert_eq!(bench.names(), ["flowloom"], "nothing is left");
}
