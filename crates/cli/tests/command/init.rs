//! `flowloom init`: a commented experiment.

use crate::support::Bench;

#[test]
fn init_writes_an_experiment_and_replaces_nothing_else() {
    let bench = Bench::new();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    let said = bench.flowloom(&["init", "--from", capture, "-o", "campus.toml"]).succeeded().out.clone();
    assert!(said.contains("flowloom run campus.toml"), "{said}");
    let text = std::fs::read_to_string(bench.path("campus.toml")).unwrap();
    assert!(text.contains("399 connections") && text.contains("demo.pcap.gz"), "{text}");
    bench.flowloom(&["run", "campus.toml", "-o", "r"]).succeeded();
    bench.flowloom(&["init", "-o", "campus.toml"]).failed(1, &["campus.toml: exists already", "--force"]);
    bench.flowloom(&["init", "-o", "campus.toml", "--force"]).succeeded();
    bench.file("notes.pcap", &std::fs::read(capture).unwrap());
    let refused = bench.flowloom(&["init", "--from", "notes.pcap", "-o", "notes.pcap", "--force"]);
    refused.failed(1, &["notes.pcap: this is no experiment, and is not replaced"]);
    assert_eq!(std::fs::read(bench.path("notes.pcap")).unwrap(), std::fs::read(capture).unwrap());
    assert!(bench.flowloom(&["init", "-o", "-"]).succeeded().out.starts_with("# An experiment of Flowloom"));
    bench.flowloom(&["init", "--from", "nothing.pcap", "-o", "x.toml"]).failed(1, &["nothing.pcap"]);
    assert_eq!(bench.names(), ["campus.toml", "notes.pcap", "r"]);
}
