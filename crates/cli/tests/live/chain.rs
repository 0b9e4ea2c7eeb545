//! From a capture to a report, through the kernel.

use std::collections::BTreeMap;

use flowloom::core::record::Outcome;
use flowloom::core::workload::{Pattern, Side};
use flowloom::store::run_folder::{Point, RunFolder};
use serde_json::Value;

use crate::host::{Host, workers_in};
use crate::support::Bench;
use crate::{can_run, demo, experiment, one_run};

/// Data units at a point, by connection.
fn adus(run: &RunFolder, point: Point) -> BTreeMap<u64, Vec<(Side, u64)>> {
    let mut adus: BTreeMap<u64, Vec<(Side, u64)>> = BTreeMap::new();
    for row in run.adus().unwrap().map(Result::unwrap).filter(|row| row.point == point && row.bytes > 0) {
        adus.entry(row.connection).or_default().push((row.side, row.bytes));
    }
    adus
}

#[test]
fn a_capture_runs_through_the_kernel_as_it_does_through_the_simulator() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let (bench, before) = (Bench::new(), Host::now());
    bench.file("x.toml", experiment(&demo(), "10s").as_bytes());
    let said = bench.flowloom(&["run", "x.toml", "--on", "live", "--pcap", "-o", "live"]);
    assert!([0, 3].contains(&said.code), "{}\n{}", said.out, said.err);
    assert!(said.out.contains("late by") && said.out.contains("connections started"), "{}", said.out);
    assert_eq!(Host::now(), before, "devices, routes and namespaces are as they were");
    assert!(workers_in(bench.folder.path()).is_empty());

    let run = RunFolder::open(&bench.path("live")).unwrap();
    let (facts, live) = (run.run(), &run.run()["live"]);
    assert_eq!(facts["driver"], "live");
    assert_eq!(live["problems"], Value::Array(Vec::new()));
    assert_eq!(live["scheduled_connections"], live["started_connections"]);
    assert_eq!((&live["device_dropped_packets"], &live["stranger_packets"]), (&0.into(), &0.into()));
    let gates = facts["summary"]["gates"].as_array().unwrap();
    let accounted = gates.iter().find(|gate| gate["name"] == "packets accounted for").unwrap();
    assert_eq!(accounted["verdict"], "VALID", "{accounted}");

    // Every byte of every connection that was completed arrived, no more and no less.
    let rows: Vec<_> = run.connections().unwrap().map(Result::unwrap).collect();
    let completed: Vec<_> = rows.iter().filter(|row| row.outcome == Outcome::Completed).collect();
    // The others are cut: long transfers, and what the capture does not see the end of.
    assert!(completed.len() * 2 >= rows.len(), "{} of {}", completed.len(), rows.len());
    for row in &completed {
        let arrived = (row.delivered_to_acceptor_bytes, row.delivered_to_initiator_bytes);
        assert_eq!(arrived, (row.initiator_bytes, row.acceptor_bytes), "connection {}", row.id);
        assert!(row.established < row.last_data || row.last_data.is_none());
    }
    // The monitor finds what was replayed, but where a pause of a busy host looks like one of a program. Concurrent ends that answer
    // each other may not cross again.
    let (original, monitor) = (adus(&run, Point::Original), adus(&run, Point::Monitor));
    let sequential: Vec<_> = completed.iter().filter(|row| row.pattern == Pattern::Sequential).collect();
    let alike = sequential.iter().filter(|row| original.get(&row.id) == monitor.get(&row.id)).count();
    assert!(sequential.len() >= 20 && alike * 10 >= sequential.len() * 9, "{alike} of {}", sequential.len());
    // So does the extraction of the packets that were captured there.
    let object = bench.json(&["extract", "live/link.pcap", "-o", "again.parquet", "--json"]);
    let bytes: u64 = rows.iter().map(|row| row.initiator_bytes + row.acceptor_bytes).sum();
    let again = &object["payload_bytes"];
    let found = again["initiator"].as_u64().unwrap() + again["acceptor"].as_u64().unwrap();
    let delivered: u64 =
        rows.iter().map(|row| row.delivered_to_acceptor_bytes + row.delivered_to_initiator_bytes).sum();
    assert!(found >= delivered && found <= bytes, "{delivered} <= {found} <= {bytes}");

    // The kernel's paths are the simulator's: round-trip times are what was asked for, or more on a busy host, never less.
    // Of a side whose packets were all sent twice nobody knows the way (Karn).
    for row in completed.iter().filter(|row| row.original_rtt.is_some() && row.retransmissions == 0) {
        let (asked, found) = (row.path_rtt.as_secs_f64(), row.monitor_rtt.map_or(f64::MAX, |rtt| rtt.as_secs_f64()));
        assert!(found > asked - 0.001, "connection {}: {found} s of {asked} s", row.id);
    }
    // Requests are not intended for later than they were sent.
    for epoch in run.epochs().unwrap().map(Result::unwrap).filter(|epoch| epoch.point == Point::Endpoint) {
        assert!(epoch.intended.unwrap() <= epoch.start.unwrap(), "{epoch:?}");
    }
    assert!(run.lateness().unwrap().count() > 3);

    bench.flowloom(&["run", "x.toml", "-o", "sim"]).succeeded();
    bench.flowloom(&["compare", "sim", "live"]).succeeded();
    assert!(bench.flowloom(&["report", "sim", "live", "-o", "both.html"]).succeeded().err.is_empty());
}

#[test]
fn packet_sockets_carry_what_devices_cannot() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    let live = "[live]\ndevices = \"packet-sockets\"\ntick = \"200us\"\nworkers = 2\n";
    bench.file("x.toml", (experiment(&demo(), "3s") + live).as_bytes());
    let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "run"]);
    assert!([0, 3].contains(&said.code), "{}\n{}", said.out, said.err);
    let run = RunFolder::open(&bench.path("run")).unwrap();
    let live = &run.run()["live"];
    assert_eq!(
        (&live["devices"], &live["workers"], &live["tick_ns"]),
        (&"packet sockets".into(), &2.into(), &200_000.into())
    );
    assert!(run.connections().unwrap().map(Result::unwrap).any(|row| row.outcome == Outcome::Completed));
}

#[test]
fn sources_run_beside_nothing() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    let experiment = "[[sources]]\nkind = \"bulk\"\nname = \"ftp\"\ncount = 2\nrtt = \"20ms\"\n[network.bottleneck]\nrate = \
                      \"10mbit\"\nqueue = { kind = \"drop-tail\", limit = \"50p\" }\n[measure]\nduration = \"4s\"\ndrain = \"1s\"\n";
    bench.file("x.toml", experiment.as_bytes());
    let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "run"]);
    assert!([0, 3].contains(&said.code), "{}\n{}", said.out, said.err);
    let run = RunFolder::open(&bench.path("run")).unwrap();
    let received: u64 = run.sources().unwrap().map(|row| row.unwrap().received_bytes).sum();
    // 10 Mbit/s for 4 s carry 4.7 MB of payload.
    assert!((2_500_000..6_000_000).contains(&received), "{received}");
    let longest = run.queue().unwrap().map(|row| row.unwrap().packets).max();
    assert!(longest.is_some_and(|packets| (10..=50).contains(&packets)), "{longest:?}");
}

/// 100 KiB in segments of 536 bytes, 12 of which are timestamps, are 196 packets; in full ones they would be 71.
#[test]
fn mss_of_a_source_sizes_its_segments() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    let experiment = "[[sources]]\nkind = \"bulk\"\nname = \"ftp\"\nrtt = \"20ms\"\nbytes = \"100k\"\nmss = 536\n[network.bottleneck]\n\
                      rate = \"10mbit\"\n[tcp]\nprofile = \"linux\"\n[measure]\nduration = \"2s\"\n";
    bench.file("x.toml", experiment.as_bytes());
    let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "run"]);
    assert!([0, 3].contains(&said.code), "{}\n{}", said.out, said.err);
    let run = RunFolder::open(&bench.path("run")).unwrap();
    let packets = run.run()["summary"]["left_to_right"]["offered_packets"].as_u64().unwrap();
    assert!((196..260).contains(&packets), "{packets}");
}

#[test]
fn what_the_kernel_lacks_is_refused_before_anything_is_made() {
    if !can_run() {
        return;
    }
    let bench = Bench::new();
    let run = |text: &str| {
        let experiment = format!("[workload]\nsource = \"{}\"\n{text}\n[measure]\nduration = \"2s\"\n", demo());
        bench.file("x.toml", experiment.as_bytes());
        bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "run"])
    };
    run("[tcp]\ncongestion = \"tahoe\"").failed(2, &["tahoe", "reno"]);
    run("[live]\ntick = \"1s\"").failed(2, &["live.tick", "10.0 ms"]);
    run("[live]\ntick = \"-1s\"").failed(2, &["tick"]);
    run("[live]\ndevices = \"pigeons\"").failed(2, &["pigeons", "packet-sockets"]);
    run("[live]\nworkers = 6000").failed(2, &["workers", "100"]);
    run("[live]\nhosts = 0").failed(2, &["live.hosts", "between 1 and 64"]);
    run("[live]\nhosts = 65").failed(2, &["live.hosts of 65", "between 1 and 64"]);
    run("[live]\nhosts = \"all\"").failed(2, &["hosts"]);
    run("[live]\nworkers = 0").failed(2, &["workers"]);
    run("[[sources]]\nname = \"ftp\"\nkind = \"bulk\"\nmss = 9000")
        .failed(2, &["x.toml:6: sources[0].mss of 9000", "at most 1460", "--on sim"]);
    assert_eq!(bench.names(), ["x.toml"]);
}
