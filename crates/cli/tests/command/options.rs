//! Options and headers of a replay, found again in the packets that it writes (methods A.13.4).

use std::collections::BTreeMap;

use flowloom_testkit::command::{Bench, Traffic};
use serde_json::Value;

/// The bundled capture.
const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");

/// The connections of a workload file.
fn vectors(bench: &Bench, workload: &str) -> Vec<Value> {
    let said = bench.flowloom(&["convert", workload, "-o", "-", "--to", "jsonl"]);
    let lines = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|vector| vector["protocol"] == "tcp").collect()
}

/// What a vector says of options and headers: of both ends, SACK, timestamps, ECN, and whether a scale was offered.
fn offers(vector: &Value) -> String {
    let of_end = |end: &str| {
        let end = &vector[end];
        format!("{} {} {} {}", end["sack"], end["timestamps"], end["ecn"], end["window_scale"].is_number())
    };
    format!("{} | {} | {}", vector["ip_version"], of_end("initiator"), of_end("acceptor"))
}

#[test]
fn options_of_each_profile_are_found_again() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(100).pcap());
    for (profile, offered) in [("plain", "false"), ("rfc", "true"), ("bsd-2008", "true"), ("linux", "true")] {
        bench.file("x.toml", format!("workload.source = \"c.pcap\"\ntcp.profile = \"{profile}\"\n").as_bytes());
        bench.flowloom(&["run", "x.toml", "-o", "r", "--pcap", "--force"]).succeeded();
        bench.flowloom(&["extract", "r/link.pcap", "-o", "w.parquet", "--force"]).succeeded();
        let found = vectors(&bench, "w.parquet");
        let end = format!("{offered} {offered} false true");
        let wanted = format!("\"ipv4\" | {end} | {end}");
        assert_eq!(found.len(), 100, "{profile}");
        assert!(found.iter().all(|vector| offers(vector) == wanted), "{profile}: {}", offers(&found[0]));
    }
}

#[test]
fn a_replay_has_the_options_of_its_capture() {
    let bench = Bench::new();
    bench.flowloom(&["run", DEMO, "-o", "r", "--pcap"]).succeeded();
    bench.flowloom(&["extract", "r/link.pcap", "-o", "w.parquet"]).succeeded();
    let count = |workload: &str| {
        let mut counts = BTreeMap::new();
        vectors(&bench, workload).iter().for_each(|vector| *counts.entry(offers(vector)).or_insert(0u32) += 1);
        counts
    };
    let (original, replay) = (count("r/workload.parquet"), count("w.parquet"));
    let known = original.iter().filter(|(offers, _)| !offers.contains("null"));
    let (mut all, mut found) = (0, 0);
    for (offers, connections) in known {
        all += connections;
        found += connections.min(replay.get(offers).unwrap_or(&0));
    }
    assert!(all > 100 && 100 * found >= 99 * all, "{found} of {all}\n{original:#?}\n{replay:#?}");
}

#[test]
fn keys_that_are_given_win_over_the_capture() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(10).pcap());
    // The capture's ends offer a window scale and no other option.
    for (keys, wanted) in [
        ("", "false false false true"),
        ("tcp.timestamps = true", "false true false true"),
        ("tcp.congestion = \"dctcp\"", "false false true true"),
        ("workload.replay.options = false\ntcp.sack = \"on\"", "true false false true"),
        ("tcp.profile = \"rfc\"\nworkload.replay.options = true", "false false false true"),
        ("tcp.profile = \"rfc\"\ntcp.ecn = \"on\"\nworkload.replay.options = true", "false false true true"),
    ] {
        bench.file("x.toml", format!("workload.source = \"c.pcap\"\n{keys}\n").as_bytes());
        bench.flowloom(&["run", "x.toml", "-o", "r", "--pcap", "--force"]).succeeded();
        bench.flowloom(&["extract", "r/link.pcap", "-o", "w.parquet", "--force"]).succeeded();
        let found = vectors(&bench, "w.parquet");
        assert_eq!(offers(&found[0]), format!("\"ipv4\" | {wanted} | {wanted}"), "{keys}");
    }
}
