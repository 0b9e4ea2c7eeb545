//! Run folders that are damaged, old, new, cut or empty: named, with what to do.

use std::fs;

use flowloom::store::manifest::Manifest;

use serde_json::{Value, json};

use crate::support::{Bench, Traffic};

/// A folder with the run `r` of twenty connections.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r"]).succeeded();
    bench
}

/// Commands that read a run folder.
const COMMANDS: [&[&str]; 4] =
    [&["describe", "r"], &["compare", "r"], &["report", "r", "-o", "r.html"], &["convert", "r", "-o", "r.dat"]];

#[test]
fn a_run_folder_of_a_newer_format_is_refused_by_its_number() {
    let bench = bench();
    let path = bench.path("r").join("run.json");
    let mut run: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    run["version"] = json!(9);
    fs::write(&path, run.to_string()).unwrap();
    Manifest::of(&bench.path("r")).unwrap().write(&bench.path("r")).unwrap();
    for command in COMMANDS {
        bench.flowloom(command).failed(1, &["r is a run folder of a newer format: version 9", "update flowloom"]);
    }
    assert!(!bench.path("r.html").exists() && !bench.path("r.dat").exists());
}

#[test]
fn missing_and_cut_tables_are_named() {
    for table in ["connections", "epochs", "queue", "throughput", "drops"] {
        let bench = bench();
        let path = bench.path("r").join(format!("{table}.parquet"));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 7]).unwrap();
        for command in COMMANDS {
            bench.flowloom(command).failed(1, &[&format!("r/{table}.parquet")]);
        }
        fs::remove_file(&path).unwrap();
        for command in COMMANDS {
            bench.flowloom(command).failed(1, &[&format!("r/{table}.parquet")]);
        }
        assert!(!bench.path("r.html").exists() && !bench.path("r.dat").exists(), "nothing half-written");
    }
}

#[test]
fn a_run_of_which_nothing_completed_has_its_numbers_and_says_so() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    // Everything is lost before the link.
    bench.file(
        "e.toml",
        b"[workload]\nsource = \"c.pcap\"\n\n[network.path]\nloss = \"100%\"\n\n[measure]\ndrain = \"1s\"\n",
    );
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    assert_eq!(said.code, 3, "{}", said.err);
    bench.flowloom(&["describe", "r"]).succeeded();
    bench.flowloom(&["report", "r", "-o", "r.html"]).succeeded();
    for name in ["r.iperf3.json", "r.flent.gz", "r.hlog", "r.hgrm", "r.dat"] {
        bench.flowloom(&["convert", "r", "-o", name]).succeeded();
    }
    let page = fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(page.contains("INVALID") && !page.contains("NaN"), "a verdict, and no numbers that are none");
}

#[test]
fn results_are_converted_of_one_run_into_forms_of_results() {
    let bench = bench();
    bench.flowloom(&["run", "c.pcap", "-o", "s", "--seed", "1", "--seed", "2"]).succeeded();
    bench.flowloom(&["convert", "s", "-o", "s.dat"]).failed(2, &["s holds 2 runs", "s/seed-1"]);
    bench.flowloom(&["convert", "r", "s/seed-1", "-o", "s.dat"]).failed(2, &["one run at a time"]);
    bench.flowloom(&["convert", "r", "-o", "r.cvec"]).failed(2, &["r.cvec: no form of results", "flent (.flent.gz)"]);
    bench.flowloom(&["convert", "r", "-o", "-", "--to", "csv"]).failed(2, &["is a run folder"]);
    bench.flowloom(&["convert", "r", "-o", "-"]).failed(2, &["--to iperf3"]);
    bench.flowloom(&["convert", "r", "-o", "r.dat", "--adus"]).failed(2, &["--adus is about vectors"]);
    bench.flowloom(&["convert", "c.pcap", "-o", "c.flent.gz"]).failed(2, &["results of a run"]);
    bench.flowloom(&["convert", "s/seed-1", "-o", "s.dat"]).succeeded();
    bench.flowloom(&["convert", "s/seed-1", "-o", "s.dat"]).failed(1, &["s.dat: exists already"]);
    bench.flowloom(&["convert", "s/seed-1", "-o", "s.dat", "--force"]).succeeded();
    let printed = bench.flowloom(&["convert", "r", "-o", "-", "--to", "columns"]);
    assert!(printed.succeeded().out.contains("# index 0: "));
}

#[test]
fn schemas_are_printed_by_name() {
    let bench = Bench::new();
    let names = bench.flowloom(&["schema"]).succeeded().out.clone();
    for name in names.lines() {
        let schema: Value = serde_json::from_str(&bench.flowloom(&["schema", name]).succeeded().out).unwrap();
        let title = match name {
            "experiment" => "Experiment of Flowloom",
            "registry" => "Registry of a monitor of Flowloom",
            answer => answer,
        };
        assert_eq!(schema["title"], title);
        assert!(schema["properties"].as_object().is_some_and(|properties| !properties.is_empty()), "{name}");
    }
    assert!(names.lines().any(|name| name == "run") && names.lines().any(|name| name == "interval"), "{names}");
    bench.flowloom(&["schema", "runs"]).failed(2, &["there is no answer \"runs\"", "did you mean \"run\""]);
}
