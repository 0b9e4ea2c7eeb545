//! Links of cells: a capture and a NetSpec mix cross an OC-3, and what readers of runs say of it.

use serde_json::Value;

use flowloom::store::run_folder::RunFolder;

use crate::support::Bench;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");

/// The links of a run; each cell was sent, lost or waits, and each packet passed whole, was dropped or waits.
fn links(bench: &Bench, name: &str) -> Vec<Value> {
    let run = RunFolder::open(&bench.path(name)).unwrap();
    let links = run.run()["topology"]["links"].as_array().unwrap().clone();
    for link in &links {
        let count = |key: &str| link["cells"][key].as_u64().unwrap();
        let lost = count("full") + count("rest") + count("early");
        assert_eq!(count("cut"), count("sent") + lost + count("waiting"));
        let packets = |key: &str| link[key].as_u64().unwrap();
        let queued = packets("offered_packets") - packets("dropped_packets") - count("whole_packets");
        assert!(queued <= count("waiting"), "{link}");
        assert!(count("sent") > 0, "{link}");
    }
    links
}

#[test]
fn a_capture_crosses_an_oc3_of_cells() {
    let bench = Bench::new();
    let oc3 = ["--rate", "149.76mbit", "--duration", "20s", "--set", "network.bottleneck.cells.buffer=500"];
    bench.flowloom(&[&["run", DEMO, "-o", "atm"][..], &oc3].concat()).succeeded();
    bench.flowloom(&["run", DEMO, "--rate", "149.76mbit", "--duration", "20s", "-o", "ip"]).succeeded();
    for link in links(&bench, "atm") {
        assert_eq!(link["queue"], "cells aal5+atm, circuits conversation, order round-robin, buffer 500, discard tail");
        let efficiency = link["cells"]["efficiency"].as_f64().unwrap();
        assert!(efficiency > 0.5 && efficiency < 0.906, "48 of 53 bytes at most: {efficiency}");
    }
    // The usual readers read it; a link without cells has no dead ones.
    let compared = bench.flowloom(&["compare", "atm", "ip"]);
    assert!([0, 1].contains(&compared.code), "{}{}", compared.out, compared.err);
    bench.flowloom(&["describe", "atm"]).succeeded();
    bench.flowloom(&["report", "atm", "--force"]).succeeded();
    let page = String::from_utf8(std::fs::read(bench.path("atm/report.html")).unwrap()).unwrap();
    assert!(page.contains("of dead packets") && page.contains("spoilt packets"));
}

/// A narrow line with a small buffer: cells are lost, packets are spoilt, and sweeps have the metric.
#[test]
fn cells_of_dead_packets_are_a_metric_of_sweeps() {
    let bench = Bench::new();
    let experiment = format!(
        "[workload]\nsource = \"{DEMO}\"\n[network.bottleneck]\nrate = \"400kbit\"\n[network.bottleneck.cells]\nbuffer = 200\n\
         access = \"10mbit\"\n[measure]\nduration = \"20s\"\n[run]\nseeds = [1]\n"
    );
    bench.file("x.toml", experiment.as_bytes());
    bench.flowloom(&["run", "x.toml", "-o", "run"]).succeeded();
    let links = links(&bench, "run");
    assert!(links.iter().any(|link| link["cells"]["dead"].as_u64() > Some(0)), "{links:?}");
    let vary = "network.bottleneck.cells.discard=tail,partial,early";
    let words = ["sweep", "x.toml", "--vary", vary, "--objective", "dead_cells_share.down", "-o", "sweep", "--json"];
    let answer = bench.json(&words);
    let text = answer.to_string();
    assert!(text.contains("dead_cells_share.down"), "{text}");
}

/// `compare` has a row of each direction, which says what run.json counts; where no link has cells it has none.
#[test]
fn cells_of_dead_packets_are_compared() {
    let bench = Bench::new();
    let cells = "network.bottleneck.cells";
    let narrow = [format!("{cells}.access=10mbit"), format!("{cells}.buffer=200")];
    for discard in ["tail", "partial"] {
        let discards = format!("{cells}.discard={discard}");
        let keys = ["--set", &narrow[0], "--set", &narrow[1], "--set", &discards];
        let words = ["run", DEMO, "--rate", "400kbit", "--duration", "20s", "-o", discard];
        bench.flowloom(&[&words[..], &keys].concat()).succeeded();
    }
    for rate in ["400kbit", "500kbit"] {
        bench.flowloom(&["run", DEMO, "--rate", rate, "--duration", "20s", "-o", rate]).succeeded();
    }
    let difference = |answer: &Value, metric: &str| -> Option<Value> {
        let metrics = answer["comparisons"][0]["differences"].as_array().unwrap();
        metrics.iter().find(|found| found["metric"] == metric).cloned()
    };
    let compared = bench.json(&["compare", "tail", "partial", "--json"]);
    for (from, metric) in ["dead_cells_from_left", "dead_cells_from_right"].into_iter().enumerate() {
        let found = difference(&compared, metric).unwrap();
        for (side, name) in [("reference", "tail"), ("other", "partial")] {
            let cells = &links(&bench, name)[from]["cells"];
            let share = cells["dead"].as_f64().unwrap() / cells["sent"].as_f64().unwrap();
            assert!((found[side]["mean"].as_f64().unwrap() - share).abs() < 1e-12, "{metric} of {name}: {found}");
        }
        assert_eq!(found["judgement"], "cannot-tell", "one run is one value");
    }
    let said = bench.flowloom(&["compare", "tail", "partial", "--metric", "dead_cells_from_left"]);
    assert!(said.out.contains("cells of dead packets"), "{}", said.out);
    let plain = bench.json(&["compare", "400kbit", "500kbit", "--json"]);
    assert_eq!(difference(&plain, "dead_cells_from_left"), None);
    bench
        .flowloom(&["compare", "tail", "400kbit", "--metric", "dead_cells_from_left"])
        .failed(2, &["cells of dead packets from left to right"]);
}

/// The commands that the guide has of `examples/cells.toml`.
#[test]
fn the_example_can_be_swept() {
    let bench = Bench::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/cells.toml");
    let discards = "network.bottleneck.cells.discard=tail,partial,early";
    let rates = "network.bottleneck.cells.peak-rate=149.76mbit,667kbit";
    bench.flowloom(&["sweep", example, "--vary", discards, "--vary", rates, "--dry-run"]).succeeded();
    bench.flowloom(&["run", example, "--dry-run"]).succeeded();
}

#[test]
fn a_netspec_mix_crosses_an_oc3_of_cells() {
    let bench = Bench::new();
    let experiment = r#"
[workload]
[workload.model]
kind = "netspec"
sources = [
    { traffic = { type = "ftp", lambda = 0.000005 }, protocol = "tcp", count = 3 },
    { traffic = { type = "www", lambda = 0.00001, shape = 0.5, min = 100 }, protocol = "tcp", count = 3 },
    { traffic = { type = "cbr", blocksize = 1000, period = 4000 }, protocol = "udp" },
]
[network.bottleneck]
rate = "149.76mbit"
cells = { framing = "llc-snap+aal5+atm", circuits = "type", buffer = 500, discard = "early", peak-rate = "10mbit", paced = "background" }
[measure]
duration = "10s"
"#;
    bench.file("x.toml", experiment.as_bytes());
    bench.flowloom(&["run", "x.toml", "-o", "run"]).succeeded();
    links(&bench, "run");
}

#[test]
fn what_cells_cannot_be_is_said_with_its_line() {
    let bench = Bench::new();
    for (text, said) in [
        ("queue = { kind = \"codel\" }\ncells = {}", "network.bottleneck.queue is of links without cells"),
        ("cells = { buffer = 0 }", "network.bottleneck.cells.buffer"),
        ("cells = { framing = \"ethernet\" }", "a stack of framings that ends in cells"),
        ("cells = { paced = \"target\" }", "network.bottleneck.cells.paced has no effect without peak-rate"),
    ] {
        bench.file("x.toml", format!("[network.bottleneck]\nrate = \"10mbit\"\n{text}\n").as_bytes());
        bench.flowloom(&["run", "x.toml", "--dry-run"]).failed(2, &["x.toml:", said]);
    }
}
