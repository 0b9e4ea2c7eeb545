//! Queue delays of a run: in its text, its JSON, its page, and in comparisons.

use serde_json::Value;

use crate::support::Bench;

const EXPERIMENT: &str = r#"
[network]
bottleneck = { rate = "2mbit", delay = "10ms", queue = { kind = "codel" } }

[[sources]]
name = "ftp"
kind = "bulk"
rtt = "60ms"

[[sources]]
name = "voice"
kind = "cbr"
rate = "64kbit"
payload = "160b"
rtt = "50ms"

[measure]
duration = "20s"
"#;

#[test]
fn queue_delays_are_told_by_direction_and_class() {
    let bench = Bench::new();
    bench.file("e.toml", EXPERIMENT.as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "-o", "codel"]).succeeded().out.clone();
    assert!(said.contains("\nbottleneck queue ") && said.contains("\n  datagram "), "{said}");
    let run: Value = serde_json::from_slice(&std::fs::read(bench.path("codel/run.json")).unwrap()).unwrap();
    let direction = &run["summary"]["left_to_right"];
    let queue = &direction["queue_delay"];
    let count = |key: &str| queue[key].as_u64().unwrap();
    let classes: Vec<&str> =
        queue["classes"].as_array().unwrap().iter().map(|one| one["class"].as_str().unwrap()).collect();
    assert_eq!(classes, ["datagram", "source"]);
    // CoDel drops packets as they leave.
    let (sent, dropped) = (count("transmitted_packets"), count("dropped_from_queue_packets"));
    assert_eq!((count("dropped_at_arrival_packets"), queue["before_drop_ns"]["n"].as_u64()), (0, Some(dropped)));
    assert!(dropped > 0 && sent > 3_000, "{queue}");
    assert_eq!(queue["loss_share"].as_f64().unwrap(), dropped as f64 / (sent + dropped) as f64);
    let median = queue["per_packet_ns"]["p50"].as_f64().unwrap() / 1e6;
    assert!((1.0..50.0).contains(&median), "{median} ms");
    assert!(direction["utilisation"].as_f64().unwrap() > 0.8, "{direction}");
    let rates = direction["rates"].as_array().unwrap();
    assert_eq!(
        rates.iter().map(|one| one["bin_ns"].as_u64().unwrap()).collect::<Vec<_>>()[..2],
        [10_000_000, 100_000_000]
    );
    // A packet and a half take 9.08 ms.
    let warning = "target of 5.00 ms, and a packet and a half take 9.08 ms";
    assert!(run["warnings"].as_array().unwrap().iter().any(|one| one.as_str().unwrap().contains(warning)), "{run}");
    let page = std::fs::read_to_string(bench.path("codel/report.html")).unwrap();
    assert!(page.contains("id=\"queues\"") && page.contains("left to right: datagram"));

    bench.flowloom(&["run", "e.toml", "-o", "tail", "--queue", "50p"]).succeeded();
    let said = bench.flowloom(&["compare", "codel", "tail", "--metric", "queue_delay_from_left"]);
    assert!(said.succeeded().out.contains("queue delays from left to right"), "{}", said.out);
}
