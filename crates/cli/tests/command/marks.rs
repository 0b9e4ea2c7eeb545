//! Step marking and DCTCP from experiment files.

use serde_json::Value;

use crate::support::Bench;

/// `examples/dctcp-step.toml`, which `docs/reference/queues.md` shows from `[network]` on.
const EXAMPLE: &str = include_str!("../../../../examples/dctcp-step.toml");
const DOCUMENT: &str = include_str!("../../../../docs/reference/queues.md");
/// The example's queue.
const STEP: &str = "kind = \"step\", threshold = \"20p\", limit = \"200p\"";

/// What the link from the left did in a run of the example with `queue` and other `tcp`.
fn link(queue: &str, tcp: &str) -> Value {
    let bench = Bench::new();
    let text = EXAMPLE.replace(STEP, queue).replace("congestion = \"dctcp\"", tcp);
    assert!(text.contains(queue) && text.contains(tcp), "{text}");
    bench.file("e.toml", text.as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run = std::fs::read(bench.path("r/run.json")).expect("run.json");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    run["topology"]["links"][0].clone()
}

/// Mean queue in packets, the most, and how many packets were dropped.
fn queue(link: &Value) -> (f64, f64, u64) {
    let number = |key: &str| link[key].as_f64().unwrap_or_else(|| panic!("{key} in {link}"));
    (number("queue_mean_packets"), number("queue_max_packets"), number("dropped_packets") as u64)
}

#[test]
fn the_documented_example_is_the_one_in_the_folder() {
    let body = &EXAMPLE[EXAMPLE.find("[network]").expect("the network")..];
    assert!(DOCUMENT.contains(&format!("```toml\n{body}```")), "{body}");
}

#[test]
fn dctcp_keeps_a_step_queue_near_its_threshold() {
    // 20 packets of 1,514 bytes take 2.42 ms at 100 Mbit/s.
    let marking = [
        STEP,
        "kind = \"step\", threshold = \"30280b\", limit = \"200p\"",
        "kind = \"step\", threshold = \"20p\", limit = \"200p\", at = \"dequeue\"",
        "kind = \"red\", min = \"20p\", max = \"20p\", weight = 1, ecn = true, limit = \"200p\"",
        "kind = \"codel\", target = \"50ms\", ce-threshold = \"2.42ms\", limit = \"200p\"",
        "kind = \"fq-codel\", flows = 1, target = \"50ms\", ecn = false, ce-threshold = \"2.42ms\", limit = \"200p\"",
    ];
    for kind in marking {
        for profile in ["plain", "linux"] {
            let found = link(kind, &format!("profile = \"{profile}\"\ncongestion = \"dctcp\""));
            let (mean, most, dropped) = queue(&found);
            // Two flows take the queue to 22 packets and back by about 8; the first marks come in slow start.
            assert!((10.0..22.0).contains(&mean), "{mean} packets with {kind}, {profile}");
            // RED drops what cannot carry a mark, such as the second flow's SYN.
            let bare = if kind.contains("red") { 5 } else { 0 };
            assert!(most < 150.0 && dropped <= bare, "{most} packets, {dropped} dropped with {kind}, {profile}");
            assert!(found["utilisation"].as_f64().expect("a share") > 0.95, "{found}");
        }
    }
}

#[test]
fn without_step_marks_the_queue_fills() {
    for (kind, tcp) in [
        ("kind = \"drop-tail\", limit = \"200p\"", "congestion = \"dctcp\""),
        // Nobody asks for ECN: nothing can be marked, and nothing is dropped early.
        (STEP, "congestion = \"newreno\""),
        (STEP, "congestion = \"dctcp\"\necn = \"off\""),
    ] {
        let (mean, most, dropped) = queue(&link(kind, tcp));
        assert!(mean > 80.0 && most >= 199.0 && dropped > 0, "{mean} of {most}, {dropped} dropped: {kind}, {tcp}");
    }
    // RED that drops above its range drops what it would have to mark.
    let drops =
        "kind = \"red\", min = \"20p\", max = \"20p\", weight = 1, ecn = true, above-max = \"drop\", limit = \"200p\"";
    let (mean, most, dropped) = queue(&link(drops, "congestion = \"dctcp\""));
    assert!(mean < 20.0 && most < 21.0 && dropped > 10, "{mean} of {most}, {dropped} dropped");
}
