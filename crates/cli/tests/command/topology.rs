//! Networks of several links: as an experiment writes them, as results tell of them.

use flowloom::store::run_folder::{RunFolder, TrafficPoint};
use flowloom_needs::{Need, skip};
use serde_json::Value;

use crate::support::{Bench, Traffic};

/// Two slow links: the bottleneck, and one behind it that drops what the bottleneck lets through.
const GRAPH: &str = r#"
[workload]
source = "c.pcap"

[network]
topology = "graph"
ends = { left = "client", right = "server" }
bottleneck = { from = "client", to = "middle", rate = "20mbit", delay = "1ms" }

[[network.links]]
name = "tail"
from = "middle"
to = "server"
rate = "1mbit"
delay = "2ms"
queue = { kind = "drop-tail", limit = "8p" }

[[network.links]]
name = "spare"
from = "client"
to = "server"
rate = "1gbit"
one-way = true

[[network.routes]]
from = "client"
to = "server"
via = ["middle"]
"#;

fn bench(experiment: &str) -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.file("e.toml", experiment.as_bytes());
    bench
}

fn facts(bench: &Bench, folder: &str) -> Value {
    serde_json::from_slice(&std::fs::read(bench.path(&format!("{folder}/run.json"))).unwrap()).unwrap()
}

#[test]
fn a_graph_is_simulated_and_its_links_are_told_of() {
    let bench = bench(GRAPH);
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    let run = facts(&bench, "r");
    assert_eq!(run["verdict"]["accounted"]["word"], "VALID", "{}", said.err);
    let topology = &run["topology"];
    assert_eq!(topology["nodes"], serde_json::json!(["client", "middle", "server"]));
    assert_eq!(topology["ends"], serde_json::json!(["client", "server"]));
    let links = topology["links"].as_array().unwrap();
    let names: Vec<_> = links.iter().map(|link| link["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bottleneck", "bottleneck-back", "tail", "tail-back", "spare"]);
    let link = |name: &str| links.iter().find(|link| link["name"] == name).unwrap();
    assert!(link("bottleneck")["monitored"] == true && link("tail")["monitored"] == false);
    assert_eq!(link("spare")["offered_packets"], 0, "the route leads around it");
    let count = |name: &str, key: &str| link(name)[key].as_u64().unwrap();
    assert!(count("tail-back", "dropped_packets") > 0, "responses come faster than it sends");
    assert_eq!(count("bottleneck", "offered_packets"), count("tail", "offered_packets"));
    assert_eq!(
        count("tail-back", "offered_packets") - count("tail-back", "dropped_packets"),
        count("bottleneck-back", "offered_packets")
    );
    assert_eq!(count("tail-back", "queue_max_packets"), 8);
    // 1 Mbit/s over the three seconds of the window, the rest in the drain.
    let share = link("tail-back")["utilisation"].as_f64().unwrap();
    let most = count("tail-back", "offered_bytes") as f64 * 8.0 / 1e6 / 3.0;
    assert!(share > 0.3 && share < most, "{share} of {most}");
    let line = said.out.lines().find(|line| line.starts_with("tail-back ")).unwrap_or_else(|| panic!("{}", said.out));
    assert!(line.ends_with(" / 8"), "{line}");
    let report = std::fs::read_to_string(bench.path("r/report.html")).unwrap();
    assert_eq!(report.matches("class=\"wire").count(), 3);
    assert!(report.contains("spare (client → server)"));
    assert!(report.contains(">1.00 Mbit/s, 2"));
    assert_eq!(run["network"].as_str().unwrap().split(',').next(), Some("graph of 3 links"));
    // What an experiment resolves to means the same.
    bench.file("again.toml", run["experiment"].as_str().unwrap().as_bytes());
    bench.flowloom(&["run", "again.toml", "-o", "s"]).succeeded();
    assert_eq!(facts(&bench, "s")["topology"], *topology);
}

#[test]
fn a_parking_lot_has_links_like_its_bottleneck() {
    let experiment = "[workload]\nsource = \"c.pcap\"\n[network]\ntopology = \"parking-lot\"\nhops = 7\n\
                      bottleneck = { rate = \"10mbit\", delay = \"1ms\", queue = { limit = \"111p\" } }\n";
    let bench = bench(experiment);
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run = facts(&bench, "r");
    let links = run["topology"]["links"].as_array().unwrap();
    assert_eq!(links.len(), 14);
    for link in links {
        assert_eq!(
            (link["rate_bits_per_second"].as_u64(), link["delay_ns"].as_u64()),
            (Some(10_000_000), Some(1_000_000))
        );
        assert_eq!((link["queue"].as_str(), link["dropped_packets"].as_u64()), (Some("drop-tail 111p"), Some(0)));
    }
    assert_eq!(links[0]["offered_packets"], links[12]["offered_packets"], "no other traffic joins in between");
    assert!(run["network"].as_str().unwrap().starts_with("parking lot of 7 links, 10.0 Mbit/s, 1"), "{run}");
}

/// Lengths on the wire are those that the link carried, options included; tshark, if it is there, finds nothing wrong.
#[test]
fn the_capture_of_a_run_has_the_options_that_its_ends_sent() {
    let bench = bench(&format!("{GRAPH}\n[tcp]\nprofile = \"linux\"\n"));
    bench.flowloom(&["run", "e.toml", "-o", "r", "--pcap"]).succeeded();
    let bytes = std::fs::read(bench.path("r/link.pcap")).unwrap();
    let wire = bytes_in(&bytes);
    let run = facts(&bench, "r");
    let monitored = &run["topology"]["links"].as_array().unwrap()[..2];
    let bytes_of = |key: &str| monitored.iter().map(|link| link[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(wire, bytes_of("offered_bytes") - bytes_of("dropped_bytes"));
    let fields =
        ["-T", "fields", "-e", "tcp.options.sack_le", "-e", "tcp.options.timestamp.tsval", "-e", "_ws.malformed"];
    let tshark = std::process::Command::new("tshark").arg("-r").arg(bench.path("r/link.pcap")).args(fields).output();
    let Ok(told) = tshark.map(|output| String::from_utf8(output.stdout).unwrap()) else {
        return skip("cli: options in the capture of a run", Need::TSHARK);
    };
    let column = |line: &str, at: usize| !line.split('\t').nth(at).unwrap_or_default().is_empty();
    assert!(told.lines().all(|line| column(line, 1) && !column(line, 2)), "every segment has a time stamp");
    assert!(told.lines().any(|line| column(line, 0)), "losses behind the monitor are told of by SACK");
}

/// Length on the wire of all packets in a pcap file.
fn bytes_in(pcap: &[u8]) -> u64 {
    let (mut rest, mut wire) = (&pcap[24..], 0);
    while rest.len() >= 16 {
        let length = |at: usize| u64::from(u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()));
        wire += length(12);
        rest = &rest[16 + length(8) as usize..];
    }
    wire
}

#[test]
fn any_link_can_be_monitored_and_captured() {
    let bench = bench(&format!("{GRAPH}\n[measure]\nmonitor = [\"tail\"]\n"));
    bench.flowloom(&["run", "e.toml", "-o", "r", "--pcap=tail-back,bottleneck"]).succeeded();
    let run = facts(&bench, "r");
    let links = run["topology"]["links"].as_array().unwrap();
    let carried = |number: usize, what: &str| {
        let count = |key: &str| links[number][format!("{key}_{what}")].as_u64().unwrap();
        count("offered") - count("dropped")
    };
    let folder = RunFolder::open(&bench.path("r")).unwrap();
    let bins: Vec<_> = folder.throughput().unwrap().map(Result::unwrap).collect();
    let sum = |link: u16, point| {
        let bins = bins.iter().filter(|bin| bin.link == link && bin.point == point);
        bins.map(|bin| bin.traffic.bytes).sum::<u64>()
    };
    assert!(links[3]["dropped_bytes"].as_u64().unwrap() > 0);
    for (number, link) in (0..4u16).zip(links) {
        assert_eq!(sum(number, TrafficPoint::ReplayOffered), link["offered_bytes"].as_u64().unwrap(), "{link}");
        assert_eq!(sum(number, TrafficPoint::ReplayCarried), carried(number.into(), "bytes"), "{link}");
    }
    assert!(bins.iter().all(|bin| bin.link < 4), "spare is not monitored");
    let samples: Vec<_> = folder.queue().unwrap().map(Result::unwrap).collect();
    assert_eq!(samples.iter().filter(|sample| sample.link == 3).map(|sample| sample.packets).max(), Some(8));
    // One capture for a link and the link back.
    for (file, there) in [("link.pcap", 0), ("link-tail.pcap", 2)] {
        let path = bench.path("r").join(file);
        assert_eq!(bytes_in(&std::fs::read(&path).unwrap()), carried(there, "bytes") + carried(there + 1, "bytes"));
        let words = ["-T", "fields", "-e", "tcp.flags.syn", "-e", "_ws.malformed"];
        match std::process::Command::new("tshark").arg("-r").arg(&path).args(words).output() {
            Ok(told) => {
                let lines = String::from_utf8(told.stdout).unwrap();
                assert_eq!(lines.lines().count() as u64, carried(there, "packets") + carried(there + 1, "packets"));
                assert!(lines.lines().all(|line| ["0\t", "1\t", "False\t", "True\t"].contains(&line)), "{file}");
            }
            Err(_) => skip("cli: captures of chosen links", Need::TSHARK),
        }
    }
    let report = std::fs::read_to_string(bench.path("r/report.html")).unwrap();
    for title in ["Throughput at tail (middle → server)", "Queue length at tail-back (server → middle)"] {
        assert!(report.contains(title), "{title}");
    }
    assert!(!report.contains("at spare"));
    // The series of other links change no result of the bottleneck.
    bench.file("plain.toml", GRAPH.as_bytes());
    bench.flowloom(&["run", "plain.toml", "-o", "plain"]).succeeded();
    assert_eq!(facts(&bench, "plain")["summary"], run["summary"]);
    let command = run["command"].as_str().unwrap();
    assert!(command.ends_with("--pcap=tail-back,bottleneck --seed 1"), "{command}");
    bench
        .flowloom(&["run", "e.toml", "-o", "x", "--pcap=tial"])
        .failed(2, &["--pcap: there is no link tial (known: bottleneck, tail, spare)"]);
    bench.file("e.toml", format!("{GRAPH}\n[measure]\nmonitor = [\"tial\"]\n").as_bytes());
    bench
        .flowloom(&["run", "e.toml", "-o", "x"])
        .failed(2, &["e.toml:31: measure.monitor[0]: there is no link tial (known: bottleneck, tail, spare)"]);
}

#[test]
fn a_network_that_cannot_be_is_refused_before_anything_is_read() {
    let bench = bench(&GRAPH.replace("right = \"server\"", "right = \"severe\""));
    std::fs::remove_file(bench.path("c.pcap")).unwrap();
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    said.failed(2, &["e.toml:7: network.ends.right: there is no node severe (known: client, middle, server)"]);
    assert_eq!(bench.names(), ["e.toml"]);
}
