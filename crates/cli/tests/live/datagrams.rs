//! Datagrams through the kernel: what the simulator's sources send, and what becomes of every one of them.

use std::collections::BTreeMap;

use flowloom::core::record::{DropReason, SourceRecord};
use flowloom::core::workload::Protocol;
use flowloom::store::run_folder::RunFolder;
use serde_json::Value;

use crate::support::{Bench, mixed};
use crate::{can_run, one_run};

/// All kinds of sources, beside each other, over a link that is too slow for them.
const SOURCES: &str = r#"
[network]
bottleneck = { rate = "2mbit", delay = "5ms", queue = { kind = "drop-tail", limit = "20p" } }

[[sources]]
name = "voice"
kind = "cbr"
count = 3
start = "100ms"
rate = "640kbit"
payload = "160b"
rtt = "30ms"

[[sources]]
name = "noise"
kind = "poisson"
from = "right"
to = "left"
gap = "4ms"
payload = { kind = "uniform", min = "1b", max = "1472b" }
rtt = "20ms"

[[sources]]
name = "talk"
kind = "on-off"
count = 4
rate = "400kbit"
payload = "1000b"
on = { kind = "exponential", mean = "200ms" }
off = { kind = "exponential", mean = "100ms" }

[[sources]]
name = "ftp"
kind = "bulk"
start = "500ms"
bytes = "60000b"
rtt = "20ms"

[[sources]]
name = "file"
kind = "bulk"
from = "right"
to = "left"
rtt = "40ms"

[measure]
duration = "3s"
drain = "3s"
"#;

fn by_id(run: &RunFolder) -> BTreeMap<u64, SourceRecord> {
    run.sources().unwrap().map(Result::unwrap).map(|row| (row.id, row)).collect()
}

/// Datagrams of each flow that the model dropped.
fn dropped(run: &RunFolder) -> BTreeMap<u64, u64> {
    let mut dropped = BTreeMap::new();
    for drop in run.drops().unwrap().map(Result::unwrap) {
        assert_eq!(drop.reason, DropReason::QueueFull);
        *dropped.entry(drop.connection).or_default() += 1;
    }
    dropped
}

#[test]
fn every_datagram_of_a_source_arrives_or_was_dropped_by_the_model() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("x.toml", SOURCES.as_bytes());
    let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "live"]);
    assert!([0, 3].contains(&said.code), "{}\n{}", said.out, said.err);
    bench.flowloom(&["run", "x.toml", "-o", "sim"]).succeeded();
    let [live, sim] = ["live", "sim"].map(|name| RunFolder::open(&bench.path(name)).unwrap());
    let facts = &live.run()["live"];
    assert_eq!(facts["problems"], Value::Array(Vec::new()));
    assert_eq!((&facts["device_dropped_packets"], &facts["stranger_packets"]), (&0.into(), &0.into()));
    assert!(facts["starts"]["n"].as_u64() >= Some(10) && facts["waits"]["n"].as_u64() > Some(1_000), "{facts}");

    let (played, simulated, dropped) = (by_id(&live), by_id(&sim), dropped(&live));
    assert!(played.keys().eq(simulated.keys()), "{:?} and {:?}", played.keys(), simulated.keys());
    let mut lost = 0;
    for (id, row) in played.iter().filter(|(_, row)| row.protocol == Protocol::Udp) {
        let other = &simulated[id];
        // What is sent is what the source draws, whoever sends it.
        let sent = |row: &SourceRecord| (row.sent_packets, row.sent_bytes, row.start, row.from, row.class, row.outcome);
        assert_eq!(sent(row), sent(other));
        assert_eq!(row.rtt, other.rtt);
        let drops = dropped.get(id).copied().unwrap_or(0);
        assert_eq!(row.sent_packets.unwrap(), row.received_packets.unwrap() + drops, "{row:?}");
        assert_eq!((row.late_packets, row.repeated_packets), (Some(0), Some(0)));
        assert!(drops > 0 || row.sent_bytes == row.received_bytes, "{row:?}");
        // Half the round-trip time, and what the queue takes: 20 packets and the one on the line of 8 ms at most. Never less.
        let delays = row.delays.unwrap();
        assert!(delays.min.as_secs_f64() > row.rtt.as_secs_f64() / 2.0 - 0.001, "{row:?}");
        lost += drops;
    }
    assert!(lost > 100, "{lost}");
    // Each of the constant size, not a byte more or less.
    for row in played.values().filter(|row| row.class == 1) {
        assert_eq!(row.received_bytes, 160 * row.received_packets.unwrap());
    }
    let bulk: Vec<_> = played.values().filter(|row| row.protocol == Protocol::Tcp).collect();
    assert!(bulk.len() == 2 && bulk.iter().all(|row| row.received_bytes > 0), "{bulk:?}");
    assert_eq!(played.values().find(|row| row.class == 4).unwrap().received_bytes, 60_000);
}

#[test]
fn sources_are_in_the_plan() {
    if !can_run() {
        return;
    }
    let bench = Bench::new();
    let sources = "[[sources]]\nkind = \"bulk\"\nname = \"ftp\"\ncount = 60000\nrtt = \"20ms\"\n";
    bench.file("x.toml", format!("{sources}[live]\nworkers = 1\n[measure]\nduration = \"4s\"\n").as_bytes());
    let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "run"]);
    said.failed(1, &["60000 connections would be open at once"]);
    assert_eq!(bench.names(), ["x.toml"]);
}

#[test]
fn flows_of_a_capture_are_sent_as_they_were_seen() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    let experiment = "[workload]\nsource = \"c.pcap\"\ndatagrams = \"as-seen\"\n[measure]\ndrain = \"2s\"\n";
    bench.file("x.toml", experiment.as_bytes());
    let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "live"]);
    assert!([0, 3].contains(&said.code), "{}\n{}", said.out, said.err);
    bench.flowloom(&["run", "x.toml", "-o", "sim"]).succeeded();
    let [live, sim] = ["live", "sim"].map(|name| by_id(&RunFolder::open(&bench.path(name)).unwrap()));
    assert!(live.len() == 4 && live.keys().eq(sim.keys()), "{live:?}");
    for (id, row) in &live {
        let counts = |row: &SourceRecord| {
            (row.sent_packets, row.sent_bytes, row.received_packets, row.received_bytes, row.from, row.start, row.rtt)
        };
        assert_eq!(counts(row), counts(&sim[id]));
        assert_eq!(row.sent_bytes, row.received_bytes);
    }
}
