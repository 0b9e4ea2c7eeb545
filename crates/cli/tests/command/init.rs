//! `flowloom init`: a commented experiment.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::support::{Bench, Traffic};

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

#[test]
fn init_reads_as_the_run_will() {
    let bench = Bench::new();
    bench.file("a b.pcap", &cut_capture());
    // A cut last record is read with a warning.
    bench.flowloom(&["init", "--from", "a b.pcap", "-o", "x.toml"]).succeeded();
    bench.flowloom(&["init", "--from", "a b.pcap", "-o", "y.toml", "--strict"]).failed(1, &["a b.pcap"]);
    let options = ["--inside", "10.0.0.0/8", "--monitor", "left", "--allow-truncated"];
    let begin = [&["init", "--from", "a b.pcap", "-o", "c d.toml"][..], &options[..]].concat();
    let said = bench.flowloom(&begin).succeeded().out.clone();
    let command = format!("flowloom run 'c d.toml' {}", options.join(" "));
    assert!(said.ends_with(&format!("{command}\n")), "{said}");
    let text = std::fs::read_to_string(bench.path("c d.toml")).unwrap();
    let text = text.replace("\n# ", " ");
    assert!(
        text.contains(&format!("It was read with {}: give `flowloom run` the same options.", options.join(" "))),
        "{text}"
    );
    bench.flowloom(&[&["run", "c d.toml", "-o", "r"][..], &options[..]].concat()).succeeded();
}

/// A capture that ends in the middle of a packet.
fn cut_capture() -> Vec<u8> {
    let whole = Traffic::many(20).pcap();
    whole[..whole.len() - 10].to_vec()
}

#[test]
fn init_refuses_sources_that_no_run_can_read() {
    let bench = Bench::new();
    let begin = |source: &str| bench.flowloom(&["init", "--from", source, "-o", "x.toml"]);
    begin("-").failed(2, &["-: this can be read only once", "save it to a file"]);
    begin("/dev/null").failed(2, &["/dev/null: this can be read only once"]);
    bench.file("header.pcap", &cut_capture()[..24]);
    begin("header.pcap").failed(1, &["header.pcap: there is no connection to replay", "flowloom describe"]);
    let odd = bench.path("").join(OsStr::from_bytes(b"odd-\xff.pcap"));
    std::fs::write(&odd, cut_capture()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flowloom"));
    command.current_dir(bench.folder.path()).args(["init", "-o", "x.toml", "--from"]).arg(&odd);
    let said = command.output().unwrap();
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(2) && told.contains("this path is not UTF-8"), "{told}");
    bench.flowloom(&["init", "--inside", "10.0.0.0/8"]).failed(2, &["--inside is about reading captures"]);
    bench.flowloom(&["init", "--from", "header.pcap", "--anonymize"]).failed(2, &["an experiment names its source"]);
    assert!(!bench.path("x.toml").exists() && !bench.path("experiment.toml").exists());
}
