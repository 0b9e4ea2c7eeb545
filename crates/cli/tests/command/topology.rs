//! Networks of several links: as an experiment writes them, as results tell of them.

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
    assert_eq!(run["verdict"], "VALID", "{}", said.err);
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
    let (mut rest, mut wire) = (&bytes[24..], 0);
    while rest.len() >= 16 {
        let length = |at: usize| u64::from(u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()));
        wire += length(12);
        rest = &rest[16 + length(8) as usize..];
    }
    let run = facts(&bench, "r");
    let monitored = &run["topology"]["links"].as_array().unwrap()[..2];
    let bytes_of = |key: &str| monitored.iter().map(|link| link[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(wire, bytes_of("offered_bytes") - bytes_of("dropped_bytes"));
    let fields =
        ["-T", "fields", "-e", "tcp.options.sack_le", "-e", "tcp.options.timestamp.tsval", "-e", "_ws.malformed"];
    let tshark = std::process::Command::new("tshark").arg("-r").arg(bench.path("r/link.pcap")).args(fields).output();
    let Ok(told) = tshark.map(|output| String::from_utf8(output.stdout).unwrap()) else {
        eprintln!("skipped: no tshark");
        return;
    };
    let column = |line: &str, at: usize| !line.split('\t').nth(at).unwrap_or_default().is_empty();
    assert!(told.lines().all(|line| column(line, 1) && !column(line, 2)), "every segment has a time stamp");
    assert!(told.lines().any(|line| column(line, 0)), "losses behind the monitor are told of by SACK");
}

#[test]
fn a_network_that_cannot_be_is_refused_before_anything_is_read() {
    let bench = bench(&GRAPH.replace("right = \"server\"", "right = \"severe\""));
    std::fs::remove_file(bench.path("c.pcap")).unwrap();
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    said.failed(2, &["e.toml:7: network.ends.right: there is no node severe (known: client, middle, server)"]);
    assert_eq!(bench.names(), ["e.toml"]);
}
