//! Probes from the command line: gaps in their figures, and warnings about what they load.

use std::fs;

use serde_json::Value;

use crate::support::Bench;

/// A source over two links, of which the one behind the bottleneck is slow, and a probe every other second.
const EXPERIMENT: &str = r#"
[network]
topology = "graph"
ends = { left = "client", right = "server" }
bottleneck = { from = "client", to = "middle", rate = "20mbit", delay = "1ms" }

[[network.links]]
name = "tail"
from = "middle"
to = "server"
rate = "16kbit"
delay = "2ms"

[[sources]]
name = "voice"
kind = "cbr"
rate = "1kbit"
payload = "20b"
from = "client"
to = "server"
rtt = "50ms"

[probe]
from = "client"
to = "server"
every = "2s"

[measure]
duration = "8s"
"#;

/// The warnings of a run of the experiment with these settings.
fn warnings(bench: &Bench, name: &str, settings: &[&str]) -> String {
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    bench.flowloom(&[&["run", "e.toml", "-o", name][..], &settings].concat()).succeeded();
    let run: Value = serde_json::from_slice(&fs::read(bench.path(&format!("{name}/run.json"))).unwrap()).unwrap();
    run["warnings"].to_string()
}

#[test]
fn bins_without_answers_are_gaps() {
    const NAME: &str = "a\u{1b}[31m";
    let bench = Bench::new();
    bench.file("e.toml", EXPERIMENT.as_bytes());
    for name in [NAME, "b"] {
        bench.flowloom(&["run", "e.toml", "-o", name]).succeeded();
    }
    let plot = |more: &[&str]| {
        let words = ["plot", NAME, "b", "--figure", "probes"];
        bench.flowloom(&[&words[..], more].concat()).succeeded();
    };
    plot(&["--data", "t.csv", "-o", "t.svg"]);
    plot(&["-o", "t.pdf"]);
    plot(&["-o", "t.png"]);
    let table = fs::read_to_string(bench.path("t.csv")).unwrap();
    assert!(!table.contains('\u{1b}') && !table.contains("NaN"), "{table}");
    let rows = table.lines().map(|line| line.split(',').collect::<Vec<&str>>());
    let rows: Vec<Vec<&str>> = rows.filter(|row| row[0] == "a\\u{1b}[31m").collect();
    let answered = rows.iter().filter(|row| !row[2].is_empty()).count();
    assert_eq!((rows.len(), answered), (80, 4), "{table}");
    // A stroke for each answer, and none between them.
    let picture = fs::read_to_string(bench.path("t.svg")).unwrap();
    let line =
        picture.split("class=\"line\"").nth(1).unwrap().split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(line.matches('M').count(), 4, "{line}");
    let page = fs::read_to_string(bench.path("b/report.html")).unwrap();
    assert!(page.contains("(gaps: no answers)") && page.contains(",null,"), "the page has gaps too");
}

#[test]
fn probes_that_fill_any_link_are_warned_of() {
    let bench = Bench::new();
    bench.file("e.toml", EXPERIMENT.as_bytes());
    // 848 bit in 100 ms are 53 % of 16 kbit/s, and nothing of the bottleneck.
    let told = warnings(&bench, "a", &["probe.every=100ms"]);
    assert!(told.contains("probes offer 53 % of the rate of tail in each direction"), "{told}");
    let told = warnings(&bench, "b", &[]);
    assert!(!told.contains("probes offer"), "{told}");
}

#[test]
fn ecn_over_queues_that_never_mark_is_warned_of() {
    let bench = Bench::new();
    bench.file("e.toml", EXPERIMENT.as_bytes());
    let is_told = |name: &str, settings: &[&str]| {
        warnings(&bench, name, settings).contains("no queue between the ends marks packets")
    };
    assert!(is_told("on", &["tcp.ecn=on"]));
    assert!(!is_told("off", &[]));
    assert!(!is_told("codel", &["tcp.ecn=on", "network.bottleneck.queue={ kind = \"codel\", ecn = true }"]));
}
