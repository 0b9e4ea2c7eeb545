//! `flowloom convert`, and the other commands on what it reads.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use flowloom::core::workload::{Close, Evidence, Host, LinkSide, Side};
use flowloom::store::workload::WorkloadReader;
use serde_json::Value;

use crate::support::{Bench, Traffic};

const TMIX: &str = "# tcvec format version 2\n# Number of Cvecs: 77\n\nSEQ 1000 1 1 7\nw 65535 5840\nr 20000\nl 0 0.01\n> 300\nt 12000\n< 5000\nt 500000\n";
const ZEEK: &str = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n#fields\tts\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\torig_bytes\tresp_bytes\tconn_state\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n1500000002.500000\t10.0.0.2\t40000\t192.0.2.9\t80\ttcp\t0.500000\t120\t4000\tSF\tShADadFf\t6\t440\t5\t4268\n1500000001.000000\t10.0.0.1\t40001\t192.0.2.9\t80\ttcp\t2.000000\t100\t-\tS0\tSD\t6\t400\t4\t200\n1500000000.000000\t10.0.0.1\t50000\t192.0.2.53\t53\tudp\t0.010000\t40\t90\tSF\tDd\t1\t68\t1\t118\n";

/// A file of the data shared beside the repository.
fn shared(name: &str) -> Option<String> {
    let path = flowloom_needs::shared("cli: conversion of shared files", name)?;
    Some(path.to_string_lossy().into_owned())
}

fn vectors(bench: &Bench, name: &str) -> Vec<flowloom::core::workload::ConnectionVector> {
    WorkloadReader::open(&bench.path(name)).unwrap().map(Result::unwrap).collect()
}

fn text(bench: &Bench, name: &str) -> String {
    std::fs::read_to_string(bench.path(name)).unwrap()
}

#[test]
fn profiles_of_generators_are_written_and_not_read() {
    let bench = Bench::new();
    bench.file("c.cvec", TMIX.as_bytes());
    let said = bench.flowloom(&["convert", "c.cvec", "-o", "w.astf.json"]).succeeded().err.clone();
    assert!(said.contains("starts, round-trip times and losses were left out"), "{said}");
    let profile: Value = serde_json::from_str(&text(&bench, "w.astf.json")).unwrap();
    let template = &profile["templates"][0];
    let commands = |end: &str| {
        let program = template[end]["program_index"].as_u64().unwrap() as usize;
        profile["program_list"][program]["commands"].to_string()
    };
    // The wait of the acceptor, without the 10 ms to it and back; the close by who sent last.
    assert!(commands("client_template").contains("{\"min_bytes\":5000,\"name\":\"rx\"}"), "{template}");
    assert!(commands("server_template").contains("\"usec\":500000"), "{}", commands("server_template"));
    assert_eq!(template["client_template"]["port"], template["server_template"]["assoc"][0]["port"]);
    bench.flowloom(&["convert", "c.cvec", "-o", "w.tgenrc.graphml"]).succeeded();
    assert!(text(&bench, "w.tgenrc.graphml").contains("<data key=\"recvsize\">5000</data>"));
    bench.flowloom(&["convert", "w.astf.json", "-o", "w.csv"]).failed(1, &["w.astf.json"]);
    bench.flowloom(&["convert", "-", "--from", "tgen", "-o", "w.csv"]).failed(2, &["--from"]);
}

#[test]
fn every_form_becomes_every_other_and_comes_back() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(40).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", "--hosts", "number"]).succeeded();
    // Through the forms that hold everything, the same bytes: facts, hosts, waits.
    for (form, ending) in [("jsonl", "jsonl"), ("parquet", "parquet")] {
        let there = format!("there.{ending}");
        bench.flowloom(&["convert", "w.parquet", "-o", &there]).succeeded();
        let said = bench.json(&["convert", &there, "-o", "back.parquet", "--force", "--json"]);
        assert_eq!((said["from"].as_str(), said["written"].as_u64()), (Some(form), Some(40)));
        assert_eq!(vectors(&bench, "back.parquet"), vectors(&bench, "w.parquet"), "{form}");
        let facts = |name| WorkloadReader::open(&bench.path(name)).unwrap().facts().clone();
        assert_eq!(facts("back.parquet").provenance, facts("w.parquet").provenance);
        assert_eq!(facts("back.parquet").capture, facts("w.parquet").capture);
    }
    bench.flowloom(&["convert", "w.parquet", "-o", "w.csv"]).succeeded();
    bench.flowloom(&["convert", "w.csv", "-o", "of-csv.parquet"]).succeeded();
    assert_eq!(vectors(&bench, "of-csv.parquet"), vectors(&bench, "w.parquet"));
    // A capture is one input of many.
    bench.flowloom(&["convert", "c.pcap", "-o", "direct.csv", "--hosts", "number"]).succeeded();
    assert_eq!(text(&bench, "direct.csv"), text(&bench, "w.csv"));
    // Tmix keeps what it can hold, whichever way it goes.
    bench.flowloom(&["convert", "w.parquet", "-o", "w.cvec"]).succeeded();
    bench.flowloom(&["convert", "w.cvec", "-o", "w.alt.cvec"]).succeeded();
    bench.flowloom(&["convert", "w.alt.cvec", "-o", "again.cvec"]).succeeded();
    assert_eq!(text(&bench, "w.cvec"), text(&bench, "again.cvec"));
    assert!(text(&bench, "w.cvec").starts_with("# tcvec format version 2\nSEQ 0 1 1 0\n"));
    assert!(text(&bench, "w.alt.cvec").starts_with("S 0 1 1 0\n"));
    // And Zeek's form its totals.
    bench.flowloom(&["convert", "w.parquet", "-o", "conn.log"]).succeeded();
    bench.flowloom(&["convert", "conn.log", "-o", "z.parquet"]).succeeded();
    let totals = |name| {
        let of = |vector: &flowloom::core::workload::ConnectionVector| Side::BOTH.map(|side| vector.bytes(side));
        vectors(&bench, name).iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(totals("z.parquet"), totals("w.parquet"));
    assert!(vectors(&bench, "z.parquet").iter().all(|vector| vector.evidence == Evidence::FlowRecord));
}

#[test]
fn tmix_files_are_read_as_they_are() {
    let bench = Bench::new();
    bench.file("1of2.cinit.tcvec", TMIX.as_bytes());
    bench.file("1of2.crecv.tcvec", TMIX.replace("SEQ 1000 1 1 7", "SEQ 500 1 1 8").as_bytes());
    bench.flowloom(&["convert", "1of2.cinit.tcvec", "1of2.crecv.tcvec", "-o", "w.parquet"]).succeeded();
    let all = vectors(&bench, "w.parquet");
    let seen: Vec<_> = all.iter().map(|v| (v.label.unwrap().id, v.initiator_side, v.evidence)).collect();
    assert_eq!(seen, [(8, LinkSide::Right, Evidence::VectorFile), (7, LinkSide::Left, Evidence::VectorFile)]);
    assert_eq!(all[0].close, Close::Fin(Side::Acceptor));
    // The side of the link is lost again, and this is said.
    let said = bench.flowloom(&["convert", "w.parquet", "-o", "w.cvec"]);
    assert!(
        said.succeeded().err.contains("opened from the right of the link were written like those from the left: 1")
    );
    for (name, reason) in [
        ("body-before-header.v1", ":1: this stands before the first header"),
        ("both-waits-nonzero.v2", ":6: both waits are set"),
        ("conc-body-in-seq.v1", ":5: a line of a CONC vector in a SEQ vector"),
        ("loss-above-one.v1", ":4: a loss of 1.5"),
        ("negative-time.v1", ":6: -5 is negative"),
        ("two-adus-without-t.v1", ":6: two ADUs without a wait between them"),
        ("window-one-field.v1", ":2: a field is missing"),
    ] {
        let Some(path) = shared(&format!("tmix/bad/{name}.cvec")) else { return };
        for command in ["convert", "extract", "run"] {
            bench.flowloom(&[command, &path, "-o", "bad.parquet"]).failed(1, &["error: ", name, reason]);
        }
        bench.flowloom(&["describe", &path]).failed(1, &[name, reason]);
    }
    assert!(!bench.names().iter().any(|name| name.contains("bad") || name.starts_with('.')), "{:?}", bench.names());
    for (name, warning) in [("no-final-newline-is-fine.v1", false), ("epoch-count-mismatch.v1", true)] {
        let Some(path) = shared(&format!("tmix/bad/{name}.cvec")) else { return };
        let said = bench.flowloom(&["convert", &path, "-o", "fine.csv", "--force"]);
        assert_eq!(said.succeeded().err.contains("another number of epochs"), warning, "{name}: {}", said.err);
    }
}

/// Tmix tells waits that contain a round trip, and no transit to take out of them.
#[test]
fn a_replay_of_tmix_warns_of_doubled_round_trips() {
    let bench = Bench::new();
    bench.file("v.cvec", TMIX.as_bytes());
    let warnings = |correct: &str, min: &str| {
        let waits = ["--wait-correct", correct, "--wait-min", min];
        bench.flowloom(&[&["run", "v.cvec", "-o", "r", "--force"], &waits[..]].concat()).succeeded();
        flowloom::store::run_folder::RunFolder::open(&bench.path("r")).unwrap().run()["warnings"].to_string()
    };
    for correct in ["ostt", "none"] {
        let warned = warnings(correct, "0ms");
        assert!(warned.contains("the waits of 1 connection contain a round trip"), "{warned}");
    }
    // The published setting.
    assert!(!warnings("none", "500ms").contains("round trip"));
}

/// The last response passes behind the window, which ends with what the vectors tell of the last connection.
#[test]
fn a_replay_of_tmix_has_the_sizes_of_its_vectors() {
    let bench = Bench::new();
    let vector = |id: u32| {
        let exchange = "> 300\nt 50000\n< 4000\n";
        let start = 1_000_000 * id;
        format!("SEQ {start} 2 1 {id}\nw 65535 65535\nr 40000\nl 0 0\n{exchange}t 10000\n{exchange}")
    };
    bench.file("v.cvec", (0..12).map(vector).collect::<String>().as_bytes());
    bench.flowloom(&["run", "v.cvec", "-o", "r"]).succeeded();
    let compared = bench.json(&["compare", "r", "--metric", "adu_size", "--json"]);
    let sizes = &compared["comparisons"][0]["differences"][0];
    assert_eq!((sizes["metric"].as_str(), sizes["ks"].as_f64()), (Some("adu_size"), Some(0.0)), "{compared}");
}

#[test]
fn flow_level_input_is_marked_and_nothing_is_invented() {
    let bench = Bench::new();
    bench.file("log-of-monday", ZEEK.as_bytes());
    let said = bench.json(&["convert", "log-of-monday", "-o", "w.parquet", "--json"]);
    assert_eq!((said["from"].as_str(), said["to"].as_str()), (Some("zeek"), Some("parquet")));
    let all = vectors(&bench, "w.parquet");
    assert_eq!(all.len(), 3, "sorted, in a log that is in the order of ends");
    assert!(all.windows(2).all(|pair| pair[0].start < pair[1].start) && all[0].start.as_nanos() == 0);
    for vector in &all {
        assert_eq!(vector.evidence, Evidence::FlowRecord);
        assert_eq!((vector.min_rtt(), vector.window(Side::Initiator), vector.ends.initiator.host), (None, None, None));
        assert!(vector.adus.iter().all(|adu| adu.wait.is_none() && adu.seen.is_none()));
        assert!(vector.ends.acceptor.port.is_some() && vector.ends.initiator.port.is_none());
    }
    // A vector file cannot leave a round-trip time out: it is asked for, not made up.
    bench
        .flowloom(&["convert", "w.parquet", "-o", "w.cvec"])
        .failed(1, &["none is known of these connections", "--rtt TIME assumes one"]);
    assert!(!bench.path("w.cvec").exists());
    let said = bench.flowloom(&["convert", "w.parquet", "-o", "w.cvec", "--rtt", "30ms"]);
    for lost in [
        "assumed one: 2",
        "waits of zero: 1",
        "datagram vectors were left out: the format holds TCP connections only: 1",
    ] {
        assert!(said.succeeded().err.contains(lost), "{lost}: {}", said.err);
    }
    assert!(text(&bench, "w.cvec").contains("r 30000\n"));
    // A replay says what of it is an assumption.
    let run = bench.json(&["run", "log-of-monday", "-o", "r", "--json"]);
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("connections of which only totals are known: 2"), "{warnings}");
    assert!(warnings.contains("datagrams of 1 flow are sent in equal sizes and gaps"), "{warnings}");
    // Nor is it called what nobody knows, whichever way it takes.
    let words = "2 TCP connections (2 known by totals only)";
    let said = bench.flowloom(&["convert", "log-of-monday", "-o", "again.parquet"]);
    assert!(said.succeeded().out.contains(&format!("{words}, 1 UDP flow, ")), "{}", said.out);
    assert!(said.out.contains("again.parquet, 3 vectors\n"), "{}", said.out);
    for input in ["log-of-monday", "again.parquet"] {
        let said = bench.flowloom(&["run", input, "-o", "r", "--force"]);
        assert!(said.out.contains(words), "{input}: {}", said.out);
        assert!(said.out.replace("\n ", "").contains("only totals are known: 2"), "{input}: {}", said.out);
    }
    // Those that begin outside the window are no part of the results.
    bench.file(
        "later.toml",
        b"[workload]\nsource = \"again.parquet\"\n[measure]\nduration = \"10s\"\nwindow = [\"0s\", \"2s\"]\n",
    );
    let said = bench.flowloom(&["run", "later.toml", "-o", "later"]);
    assert!(said.out.contains("1 TCP connection (1 known by totals only)"), "{}{}", said.out, said.err);
    let described = &bench.json(&["describe", "w.parquet", "--json"])["workload"];
    assert_eq!((&described["connections"]["total"], &described["datagrams"][0]["flows"]), (&2.into(), &1.into()));
}

#[test]
fn hosts_of_logs_are_kept_as_asked_for() {
    let bench = Bench::new();
    bench.file("conn.log", ZEEK.as_bytes());
    bench.file("key", b"a key that must not be found out");
    let hosts = |options: &[&str]| {
        bench.flowloom(&[&["convert", "conn.log", "-o", "w.parquet", "--force"], options].concat()).succeeded();
        vectors(&bench, "w.parquet").iter().map(|vector| vector.ends.initiator.host).collect::<Vec<_>>()
    };
    assert_eq!(hosts(&[]), [None; 3]);
    let numbers = [0, 0, 3].map(|number| Some(Host::Number(number)));
    assert_eq!(hosts(&["--hosts", "number"]), numbers);
    // Flowloom's own files keep what was asked for when they were made.
    bench.flowloom(&["convert", "w.parquet", "-o", "w.jsonl"]).succeeded();
    bench.flowloom(&["convert", "w.jsonl", "-o", "again.parquet"]).succeeded();
    assert_eq!(vectors(&bench, "again.parquet"), vectors(&bench, "w.parquet"));
    let plain = hosts(&["--hosts", "captured"]);
    assert_eq!(plain[0], Some(Host::Address("10.0.0.1".parse().unwrap())));
    bench.flowloom(&["convert", "w.parquet", "-o", "kept.csv"]).succeeded();
    assert!(text(&bench, "kept.csv").contains("10.0.0.1"));
    bench.flowloom(&["convert", "w.parquet", "-o", "none.csv", "--hosts", "none"]).succeeded();
    assert!(!text(&bench, "none.csv").contains("10.0.0"));
    let encrypted = hosts(&["--hosts", "cryptopan", "--key", "key"]);
    assert!(encrypted[0] != plain[0] && encrypted[0] == encrypted[1]);
    for form in ["parquet", "csv", "jsonl", "zeek", "tmix"] {
        let words = [
            "convert",
            "conn.log",
            "-o",
            "x",
            "--to",
            form,
            "--rtt",
            "1ms",
            "--hosts",
            "cryptopan",
            "--key",
            "key",
            "--force",
        ];
        let words: Vec<&str> =
            words.into_iter().filter(|word| form == "tmix" || !["--rtt", "1ms"].contains(word)).collect();
        bench.flowloom(&words).succeeded();
        let written = std::fs::read(bench.path("x")).unwrap();
        assert!(!written.windows(8).any(|part| part == &b"a key that must not be found out"[..8]), "{form}");
    }
    bench.flowloom(&["convert", "conn.log", "-o", "y.csv", "--hosts", "cryptopan"]).failed(2, &["needs --key"]);
}

#[test]
fn pipes_and_compression() {
    let bench = Bench::new();
    bench.file("w.cvec", TMIX.as_bytes());
    let said = bench.flowloom(&["convert", "w.cvec", "-o", "-", "--to", "jsonl"]);
    let lines: Vec<Value> = said.succeeded().out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["format"]), (2, &Value::from("flowloom-vectors")));
    assert_eq!(lines[1]["adus"][0]["bytes"], 300);
    bench.flowloom(&["convert", "w.cvec", "-o", "-"]).failed(2, &["which form", "--to"]);
    bench.flowloom(&["convert", "w.cvec", "-o", "-", "--to", "csv", "--json"]).failed(2, &["standard output"]);
    bench.flowloom(&["convert", "w.cvec", "-o", "-", "--to", "parquet"]).failed(1, &["cannot be written to a pipe"]);
    bench.flowloom(&["convert", "-", "-o", "x.csv"]).failed(2, &["standard input", "--from"]);
    let packed = gzip(TMIX.as_bytes());
    bench.file("packed", &packed);
    bench.flowloom(&["convert", "packed", "-o", "x.csv"]).succeeded();
    bench.file("cut", &packed[..packed.len() - 4]);
    bench.flowloom(&["convert", "cut", "-o", "y.csv", "--from", "tmix"]).failed(1, &["cut: line ", "hint"]);
    assert!(!bench.path("y.csv").exists());
}

#[test]
fn standard_input_and_readers_that_leave() {
    let bench = Bench::new();
    let command = || {
        let mut command = assert_cmd::Command::cargo_bin("flowloom").unwrap();
        command.current_dir(bench.folder.path());
        command
    };
    let words = ["convert", "-", "-o", "w.parquet", "--from", "zeek", "--quiet"];
    command().args(words).write_stdin(ZEEK).assert().success();
    assert_eq!(vectors(&bench, "w.parquet").len(), 3);
    let odd = TMIX.replace("1000 1", "1000 9");
    let said =
        command().args(["convert", "-", "--from", "tmix", "-o", "odd.parquet"]).write_stdin(odd).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("the first at standard input:4\n"), "{said:?}");
    let words = ["convert", "-", "--from", "parquet", "-o", "no.parquet"];
    let said = command().args(words).write_stdin(std::fs::read(bench.path("w.parquet")).unwrap()).output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("a workload is read from its end"), "{said:?}");
    bench.file("c.pcap", &Traffic::many(2_000).pcap());
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["convert", "c.pcap", "-o", "-", "--to", "jsonl"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let said = child.wait_with_output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn a_capture_of_exporters_is_read_as_flow_records_if_asked_for() {
    let Some(path) = shared("flows/netflow/netflow5.dat") else { return };
    let file = std::fs::read(&path).unwrap();
    // pcap, raw IP: each message in a UDP datagram to port 2055.
    let mut capture = [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 101].map(u32::to_be_bytes).concat();
    let mut rest = &file[..];
    while !rest.is_empty() {
        let records = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        let (message, after) = rest.split_at(24 + 48 * records);
        rest = after;
        let [udp, ip] = [8, 28].map(|headers| (headers + message.len()) as u16);
        capture.extend([1_500_000_000, 0, u32::from(ip), u32::from(ip)].map(u32::to_be_bytes).concat());
        capture.extend([0x45, 0, (ip >> 8) as u8, ip as u8, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        capture.extend([0xc0, 0, 0x08, 0x07, (udp >> 8) as u8, udp as u8, 0, 0]);
        capture.extend(message);
    }
    let bench = Bench::new();
    bench.file("exporters.pcap", &capture);
    bench.flowloom(&["convert", "exporters.pcap", "--from", "flows", "-o", "w.parquet"]).succeeded();
    bench.flowloom(&["convert", &path, "-o", "direct.parquet"]).succeeded();
    assert_eq!(vectors(&bench, "w.parquet"), vectors(&bench, "direct.parquet"));
}

#[test]
fn prefixes_tell_the_side_of_the_link_where_addresses_are_known() {
    let bench = Bench::new();
    bench.file("conn.log", ZEEK.as_bytes());
    let said = bench.flowloom(&["convert", "conn.log", "-o", "w.parquet"]);
    assert!(
        said.succeeded().err.contains("the side of the link is unknown for 3 vectors; their initiators"),
        "{}",
        said.err
    );
    let said = bench.flowloom(&["convert", "conn.log", "-o", "w.parquet", "--force", "--inside", "192.0.2.0/24"]);
    assert!(!said.succeeded().err.contains("the side of the link"), "{}", said.err);
    let all = vectors(&bench, "w.parquet");
    assert!(all.iter().all(|vector| vector.initiator_side == LinkSide::Right && vector.ends.initiator.host.is_none()));
    // A share of a load that nobody counted is no rate.
    bench.flowloom(&["run", "w.parquet", "-o", "r", "--rate", "105%"]).failed(2, &["relative to the original's load"]);
    bench.flowloom(&["run", "w.parquet", "-o", "r", "--rate", "10mbit"]).succeeded();
}

#[test]
fn a_thousand_logs_need_few_open_files() {
    let bench = Bench::new();
    for number in 0..60 {
        bench.file(&format!("{number:02}.cvec"), TMIX.replace("1000 1", &format!("{number} 1")).as_bytes());
    }
    let command = format!("ulimit -n 24 && exec {} convert *.cvec -o w.parquet", env!("CARGO_BIN_EXE_flowloom"));
    let output = Command::new("sh").args(["-c", &command]).current_dir(bench.folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(vectors(&bench, "w.parquet").len(), 60);
}

#[test]
fn an_output_that_cannot_be_is_refused_before_anything_is_read() {
    let bench = Bench::new();
    bench.file("bad.cvec", b"SEQ 1 2\n");
    for name in ["missing/w.jsonl", "missing/w.parquet"] {
        let said = bench.flowloom(&["convert", "bad.cvec", "-o", name]);
        said.failed(1, &[name, "cannot write: No such file or directory", "hint: make its folder first"]);
        assert!(!said.err.contains("partial"), "{}", said.err);
    }
    assert_eq!(bench.names(), ["bad.cvec"]);
}

/// Feeds `flowloom convert --from FORM -` until it ends, with an interrupt on the way: it leaves nothing.
fn interrupt_a_conversion(from: &str, piece: &[u8]) {
    const PIECES: usize = 40;
    let bench = Bench::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["convert", "-", "--from", from, "-o", "w.parquet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own: only the child is interrupted.
        .process_group(0)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for number in 0..PIECES {
        if input.write_all(piece).is_err() {
            break;
        }
        if number == 5 {
            let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(interrupted.success());
        }
    }
    drop(input);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{from}: {err}");
    assert!(err.contains("interrupted: nothing was written"), "{from}: {err}");
    assert_eq!(bench.names(), [""; 0], "{from}");
}

#[test]
fn an_interrupted_conversion_leaves_nothing() {
    interrupt_a_conversion(
        "tmix",
        "S 1 1 1 1\nw 65535 65535\nr 20000\nl 0 0\nI 0 0 300\nA 0 9 5\n".repeat(20_000).as_bytes(),
    );
    // One direction of one flow, sent all at one time: no connection is complete before the end.
    let mut message = [0; 72];
    message[..4].copy_from_slice(&[0, 5, 0, 1]);
    message[8..12].copy_from_slice(&1_788_264_000u32.to_be_bytes());
    message[62] = 6;
    interrupt_a_conversion("flows", &message.repeat(20_000));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn adus_are_rows_if_asked_for() {
    let bench = Bench::new();
    bench.file("w.cvec", TMIX.as_bytes());
    bench.flowloom(&["convert", "w.cvec", "-o", "adus.csv", "--adus"]).succeeded();
    assert_eq!(
        text(&bench, "adus.csv"),
        "id,start_ns,adu,epoch,side,bytes,missing_bytes,wait_ns,waiter,first_seen_ns,last_seen_ns,packets\n\
         0,1000000,0,0,initiator,300,,12000000,acceptor,,,\n0,1000000,1,0,acceptor,5000,,,acceptor,,,\n"
    );
    bench.flowloom(&["convert", "adus.csv", "-o", "w.parquet"]).failed(1, &["a row per ADU"]);
    bench.flowloom(&["convert", "w.cvec", "-o", "w.jsonl", "--adus"]).failed(2, &["--adus is about CSV"]);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(2).pcap());
    bench.file("w.cvec", TMIX.as_bytes());
    bench.file("conn.log", ZEEK.as_bytes());
    bench.file("notes.csv", b"name,age\nme,40\n");
    bench.file("empty.cvec", b"");
    bench.file("no-vectors.cvec", b"# tcvec format version 2\n");
    let convert = |words: &[&str]| bench.flowloom(&[&["convert"], words].concat());
    convert(&["w.cvec", "-o", "x.parqet"]).failed(2, &["no form is known by this ending", "did you mean .parquet?"]);
    convert(&["w.cvec", "conn.log", "-o", "x.csv"])
        .failed(2, &["w.cvec is a file of Tmix vectors, and conn.log is a conn.log"]);
    convert(&["w.cvec", "-o", "x.csv", "--inside", "10.0.0.0/8"]).failed(2, &["--inside", "a file of Tmix vectors"]);
    convert(&["c.pcap", "-o", "x.csv", "--allow-sampled"])
        .failed(2, &["--allow-sampled is about reading flow records"]);
    convert(&["w.cvec", "-o", "x.csv", "--rtt", "1ms"]).failed(2, &["--rtt is about Tmix"]);
    convert(&["missing.cvec", "-o", "x.csv"]).failed(1, &["missing.cvec", "hint"]);
    convert(&["notes.csv", "-o", "x.csv"]).failed(1, &["notes.csv:1: other columns"]);
    convert(&["empty.cvec", "-o", "x.csv"]).failed(1, &["there is no connection to write"]);
    convert(&["no-vectors.cvec", "-o", "x.csv"]).failed(1, &["there is no connection to write"]);
    convert(&["w.cvec", "-o", "x.csv", "--from", "zeek"]).failed(1, &["w.cvec"]);
    bench.file("x.csv", b"mine");
    convert(&["w.cvec", "-o", "x.csv"]).failed(1, &["exists already", "--force"]);
    // What fails on the way replaces nothing.
    bench.file("late.cvec", format!("{TMIX}SEQ 5 x\n").as_bytes());
    convert(&["late.cvec", "-o", "x.csv", "--force"]).failed(1, &["late.cvec:12"]);
    assert_eq!(text(&bench, "x.csv"), "mine");
    convert(&["w.cvec", "-o", "x.csv", "--force"]).succeeded();
    assert!(bench.names().iter().all(|name| !name.contains("partial")), "{:?}", bench.names());
}

#[test]
fn every_command_takes_every_form() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(10).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    for form in ["tmix", "tmix-alt", "zeek", "csv", "jsonl"] {
        // The name says nothing.
        bench.flowloom(&["convert", "w.parquet", "-o", form, "--to", form]).succeeded();
        assert_eq!(bench.json(&["describe", form, "--json"])["workload"]["connections"]["total"], 10, "{form}");
        let extracted = format!("{form}.parquet");
        bench.flowloom(&["extract", form, "-o", &extracted]).succeeded();
        assert_eq!(vectors(&bench, &extracted).len(), 10);
        let folder = format!("run-{form}");
        let run = bench.flowloom(&["run", form, "-o", &folder, "--json"]);
        let said: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{form}: {} {}", run.out, run.err));
        assert_eq!(said["connections"]["completed"], 10, "{form}: {said}");
        assert!(bench.path(&folder).join("workload.parquet").is_file());
    }
    let Some(netflow) = shared("flows/netflow/netflow5.dat") else { return };
    let said = bench.json(&["convert", &netflow, "-o", "flows.parquet", "--json"]);
    assert_eq!((said["from"].as_str(), said["written"].as_u64()), (Some("flows"), Some(3)));
    bench.flowloom(&["describe", &netflow]).succeeded();
}

#[test]
fn counts_that_no_link_could_make_add_up_to_the_largest_number() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(4).pcap());
    bench.flowloom(&["convert", "c.pcap", "-o", "c.jsonl"]).succeeded();
    let text = std::fs::read_to_string(bench.path("c.jsonl")).unwrap();
    let (header, connections) = text.split_once('\n').unwrap();
    let mut told = format!("{header}\n");
    for line in connections.lines() {
        let mut connection: serde_json::Value = serde_json::from_str(line).unwrap();
        for end in ["initiator", "acceptor"] {
            for count in ["packets", "ip_bytes"] {
                connection[end][count] = u64::MAX.into();
            }
            let segments = connection[end]["segments"].as_object_mut().unwrap();
            segments.values_mut().for_each(|count| *count = u64::MAX.into());
        }
        told.push_str(&format!("{connection}\n"));
    }
    bench.file("odd.jsonl", told.as_bytes());
    let described = bench.json(&["describe", "odd.jsonl", "--json"]);
    let classes = described["classes"].as_array().unwrap();
    assert!(classes.iter().any(|class| class["packets"] == u64::MAX), "{classes:?}");
    bench.flowloom(&["describe", "odd.jsonl", "c.jsonl"]).succeeded();
    bench.flowloom(&["run", "odd.jsonl", "-o", "r"]).succeeded();
}
