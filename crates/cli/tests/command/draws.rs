//! Draws of a capture, and runs that last longer or shorter than it, through the command.

use flowloom::core::workload::{Adu, ConnectionVector, PerSide, Protocol, SeenDatagram, Side, Span};
use flowloom::store::run_folder::RunFolder;
use flowloom::store::workload::{CaptureFacts, Provenance, TrafficFacts, WorkloadReader, WorkloadWriter};
use flowloom::time::{Duration, Time};
use serde_json::Value;

use crate::support::{Bench, Traffic};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");

fn run(bench: &Bench, arguments: &[&str]) -> Value {
    bench.json(&[&["run", DEMO, "--json"], arguments].concat())
}

fn active(run: &Value) -> f64 {
    run["active_connections"]["mean"].as_f64().expect("a number")
}

/// The replay itself has 13.6 where the capture has 14.6. Connections that stayed open until the ends of the draws made it 22.6.
#[test]
fn draws_have_as_many_active_connections_as_their_capture() {
    let bench = Bench::new();
    let whole = active(&run(&bench, &["-o", "whole"]));
    let seeds: Vec<String> = (1..=20).map(|seed: u32| seed.to_string()).collect();
    let of_seed = |seed: &String| active(&run(&bench, &["--vary", "blocks", "--seed", seed, "-o", seed]));
    let means: Vec<f64> = seeds.iter().map(of_seed).collect();
    let mean = means.iter().sum::<f64>() / 20.0;
    let variance = means.iter().map(|of| (of - mean).powi(2)).sum::<f64>() / 19.0;
    let error = (variance / 20.0).sqrt();
    assert!(mean < whole + 2.5 * error && mean > 0.7 * whole, "{mean} with a standard error of {error}, {whole}");
}

/// After the end of the capture there is nothing to be measured.
#[test]
fn a_longer_run_has_the_results_of_the_capture() {
    let bench = Bench::new();
    let [whole, longer] = [&["-o", "whole"][..], &["--duration", "300s", "-o", "longer"]].map(|keys| run(&bench, keys));
    for metric in ["active_connections", "throughput", "response_time_ns", "duration_ns", "connections"] {
        assert_eq!(longer[metric], whole[metric], "{metric}");
    }
    assert_eq!(longer["verdict"], whole["verdict"]);
    let said = |run: &Value| run["warnings"].to_string().contains("the record that is replayed ends at");
    assert!(said(&longer) && !said(&whole), "{}", longer["warnings"]);
    let text = bench.flowloom(&["run", DEMO, "--duration", "300s", "-o", "text"]).succeeded().out.clone();
    assert!(text.contains("the record that is replayed ends at"), "{text}");
    let page = std::fs::read_to_string(bench.path("text/report.html")).unwrap();
    assert!(page.contains("record that is replayed ends at"));
    // One that is shorter leaves out what begins later, and nothing of it ends early.
    assert!(!said(&run(&bench, &["--duration", "20s", "-o", "shorter"])));
}

/// Draws move connections of minutes to where the run is over before they are.
#[test]
fn connections_that_close_behind_the_end_are_cut() {
    let Some(folder) = flowloom_needs::shared("cli: connections cut by the end", "pcap") else { return };
    let bench = Bench::new();
    let capture = folder.join("zeek-http-92conns.pcap");
    let capture = capture.to_str().unwrap();
    for seed in ["1", "2", "3"] {
        let run = bench.json(&["run", capture, "--vary", "blocks", "--seed", seed, "-o", seed, "--json"]);
        let (connections, accounted) = (&run["connections"], &run["verdict"]["accounted"]);
        assert_eq!((&connections["unfinished"], &accounted["word"]), (&0.into(), &"VALID".into()), "{run}");
    }
}

/// 300 transfers over 1 Mbit/s and 20 packets: most never get a segment through.
#[test]
fn sources_that_never_send_are_named() {
    let bench = Bench::new();
    let sources = |count: u32| {
        format!(
            "[network]\nbottleneck = {{ rate = \"1mbit\", queue = {{ limit = \"20p\" }} }}\n[[sources]]\nname = \"ftp\"\nkind = \"bulk\"\n\
             count = {count}\nrtt = \"40ms\"\nstart = {{ kind = \"uniform\", min = \"0s\", max = \"1s\" }}\n[measure]\nduration = \"10s\"\n"
        )
    };
    let gate = |count: u32| {
        let name = format!("{count}.toml");
        bench.file(&name, sources(count).as_bytes());
        let run = bench.json(&["run", &name, "-o", &count.to_string(), "--json"]);
        let gates = run["gates"].as_array().unwrap();
        gates.iter().find(|gate| gate["name"] == "sources sent").cloned().expect("a gate")
    };
    let (few, many) = (gate(3), gate(300));
    assert_eq!((&few["verdict"], &few["found"]), (&"VALID".into(), &"all sent".into()));
    assert_eq!(many["verdict"], "DEGRADED");
    let found = many["found"].as_str().unwrap();
    assert!(found.contains("of 300 TCP flows never sent a byte: ") && found.contains("not open yet"), "{found}");
}

/// Thinning hits the busier direction's load, and an upload of 2.7 MB is or is not in the other one's twentieth.
#[test]
fn the_direction_that_a_draw_misses_is_named() {
    let bench = Bench::new();
    let text = format!("[workload]\nsource = \"{DEMO}\"\nload = {{ method = \"thinning\", factor = 0.05 }}\n");
    bench.file("thin.toml", text.as_bytes());
    let run = bench.json(&["run", "thin.toml", "--seed", "2", "-o", "r", "--json"]);
    let warnings = run["warnings"].as_array().unwrap();
    let payload: Vec<&Value> = warnings.iter().filter(|warning| warning["kind"] == "other_payload").collect();
    let [quieter] = payload[..] else { panic!("{warnings:?}") };
    assert_eq!(quieter["from_side"], "left");
    let bytes = |field: &str| quieter[field].as_f64().unwrap();
    assert!(bytes("sent_bytes") > 5.0 * bytes("asked_bytes"), "{quieter}");
    assert_eq!(run["verdict"]["plausible"]["word"], "doubtful");
}

/// 20 connections a second in the first half of 20 s, and 2 in the second: half of the load is half of that of the part that runs.
#[test]
fn a_load_is_of_the_part_that_runs() {
    let bench = Bench::new();
    let millis = |n: u64| Duration::from_millis(n);
    let starts = (0..200).map(|n| millis(100 + n * 50)).chain((0..20).map(|n| millis(10_300 + n * 490)));
    let traffic = (1..).zip(starts).fold(Traffic::default(), |all, (id, start)| all.connection(id, start, 300, 6_000));
    bench.file("c.pcap", &traffic.pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    for (keys, payload) in [
        ("measure.duration = \"10s\"", 1_200_000.0),
        // Connections in progress open in the first of these nine seconds.
        ("workload.prefill = \"10s\"\nmeasure.duration = \"9s\"", 96_000.0),
        ("", 1_320_000.0),
    ] {
        for method in ["thinning", "poisson", "blocks"] {
            let block = if method == "blocks" { ", block = \"1s\"" } else { "" };
            let load = format!("workload.load = {{ method = \"{method}\", factor = 0.5{block} }}");
            bench.file("e.toml", format!("workload.source = \"w.parquet\"\n{load}\n{keys}\n").as_bytes());
            let run = bench.json(&["run", "e.toml", "-o", "r", "--force", "--json"]);
            assert!(!run["verdict"]["plausible"].to_string().contains("ask for"), "{method}, {keys}: {run}");
            let facts: Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
            let asked = facts["drawn_payload"]["from_right"]["asked_bytes"].as_f64().unwrap();
            // What is drawn before a prefill has the same load and is not in the results.
            assert!((asked / payload / 0.5 - 1.0).abs() < 0.05, "{method}, {keys}: {asked} of {payload}");
            let replayed = facts["original"]["payload"]["from_right"]["replayed"].as_f64().unwrap();
            let is_whole = method == "thinning" || !keys.contains("prefill");
            assert!(!is_whole || replayed > 0.9 * asked, "{method}, {keys}: {replayed} of {asked}");
        }
    }
}

/// How long the record of [`long_flows`] is.
const RECORD: Duration = Duration::from_secs(60);

/// Flows of 500 bytes every 100 ms in a record of 60 s: one from 20 s to its end, and five of 15 s that start every 10 s. Returns the bytes
/// of all.
fn long_flows(path: &std::path::Path) -> u64 {
    let flow = |id: u64, start: u64, seconds: u64| {
        let gap = |n: u64| if n == 0 { Duration::ZERO } else { Duration::from_millis(100) };
        let datagrams: Vec<_> = (0..10 * seconds).map(|n| SeenDatagram { bytes: 500, gap: gap(n) }).collect();
        let seen = Span { first: Duration::ZERO, last: datagrams.iter().map(|datagram| datagram.gap).sum() };
        let adu = Adu {
            side: Side::Initiator,
            bytes: 500 * datagrams.len() as u64,
            missing_bytes: 0,
            wait: None,
            waiter: Side::Initiator,
            seen: Some(seen),
            packets: Some(datagrams.len() as u32),
        };
        ConnectionVector {
            id,
            protocol: Protocol::Udp,
            start: Time::ZERO + Duration::from_secs(start),
            lifetime: Some(seen.last),
            adus: vec![adu],
            datagrams: PerSide { initiator: datagrams, acceptor: Vec::new() },
            ..ConnectionVector::default()
        }
    };
    let flows = [flow(0, 0, 15), flow(1, 10, 15), flow(2, 20, 40), flow(3, 20, 15), flow(4, 30, 15), flow(5, 40, 15)];
    let mut writer = WorkloadWriter::create(path).unwrap();
    flows.iter().for_each(|flow| writer.write(flow).unwrap());
    let capture = CaptureFacts { duration_ns: RECORD.as_nanos(), ..CaptureFacts::default() };
    writer.finish(Provenance::default(), capture, &TrafficFacts::default()).unwrap();
    flows.iter().map(|flow| flow.bytes(Side::Initiator)).sum()
}

/// The load of a part is that of the datagrams that pass in it: not of those that its flows send later, and with those of flows that began
/// before. 100 of 500 bytes pass in the first ten seconds, 80 + 50 + 80 from 30 s to 38 s.
#[test]
fn the_load_of_a_part_is_of_its_datagrams() {
    let bench = Bench::new();
    long_flows(&bench.path("w.parquet"));
    for (keys, passing) in
        [("measure.duration = \"10s\"", 50_000), ("workload.prefill = \"30s\"\nmeasure.duration = \"9s\"", 105_000)]
    {
        for method in ["thinning", "poisson", "blocks"] {
            let block = if method == "blocks" { ", block = \"2s\"" } else { "" };
            let load = format!("workload.load = {{ method = \"{method}\"{block} }}");
            bench.file("e.toml", format!("workload.source = \"w.parquet\"\n{load}\n{keys}\n").as_bytes());
            bench.flowloom(&["run", "e.toml", "-o", "r", "--force"]).succeeded();
            let facts: Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
            let [asked, drawn] = ["asked_bytes", "drawn_bytes"]
                .map(|bytes| facts["drawn_payload"]["from_left"][bytes].as_u64().unwrap());
            assert_eq!(asked, passing, "{method}, {keys}");
            let folder = RunFolder::open(&bench.path("r")).unwrap();
            let sent: u64 = folder.sources().unwrap().map(|row| row.unwrap().sent_bytes).sum();
            assert_eq!(sent, drawn, "{method}, {keys}");
            // Thinning keeps all; of what is drawn the last part may be too large: eight seconds of a flow, or two.
            let most = if method == "thinning" { 0 } else { 40_000 };
            assert!(drawn <= asked && asked - drawn <= most, "{method}, {keys}: {drawn} of {asked}");
        }
    }
}

/// Flows that go on when a draw ends lost three eighths of the long one's bytes and an eighth of all.
#[test]
fn draws_keep_the_load_of_long_flows() {
    let bench = Bench::new();
    let total = long_flows(&bench.path("w.parquet")) as f64;
    let seeds: Vec<String> = (1..=20).flat_map(|seed: u32| ["--seed".to_owned(), seed.to_string()]).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    bench.flowloom(&[&["run", "w.parquet", "-o", "r", "--vary", "blocks"], &seeds[..]].concat()).succeeded();
    let sent = |seed: u32| {
        let folder = RunFolder::open(&bench.path(&format!("r/seed-{seed}"))).unwrap();
        folder.sources().unwrap().map(|row| row.unwrap().sent_bytes as f64).sum::<f64>()
    };
    let sent: Vec<f64> = (1..=20).map(sent).collect();
    let mean = sent.iter().sum::<f64>() / 20.0;
    let error = (sent.iter().map(|bytes| (bytes - mean).powi(2)).sum::<f64>() / 19.0 / 20.0).sqrt();
    assert!((mean - total).abs() < 2.0 * error, "{mean} with a standard error of {error}, {total}");
    // Whole flows, each drawn some times or never, would have an error of 8 % and more.
    assert!(error < 0.05 * total, "{error}");
}

/// At other loads every byte of what was chosen is sent before the end.
#[test]
fn loads_keep_what_long_flows_send() {
    let bench = Bench::new();
    let total = long_flows(&bench.path("w.parquet")) as f64;
    for (load, share) in [
        ("method = \"poisson\"", 1.0),
        ("method = \"start-times\", factor = 1.5", 1.0),
        ("shuffle = \"7s\"", 1.0),
        ("method = \"blocks\", block = \"7s\", factor = 1.5", 1.5),
        ("method = \"blocks\", block = \"7s\", duration = \"90s\"", 1.5),
    ] {
        bench.file("e.toml", format!("workload = {{ source = \"w.parquet\", load = {{ {load} }} }}\n").as_bytes());
        bench.flowloom(&["model", "e.toml", "-o", "made.parquet", "--force"]).succeeded();
        let made = WorkloadReader::open(&bench.path("made.parquet")).unwrap();
        let end = Time::ZERO + Duration::from_nanos(made.facts().capture.duration_ns + 1);
        let passed = made.map(Result::unwrap).flat_map(|vector| {
            let (start, datagrams) = (vector.start, vector.single_datagrams(Side::Initiator).collect::<Vec<_>>());
            datagrams.into_iter().map(move |adu| (start + adu.seen.unwrap().first, adu.bytes))
        });
        let bytes: u64 = passed.filter(|(time, _)| *time < end).map(|(_, bytes)| bytes).sum();
        // Flows are whole, or parts of up to 70 datagrams.
        assert!((bytes as f64 / total / share - 1.0).abs() < 0.02, "{load}: {bytes} of {total}");
    }
}
