//! Workloads that are drawn from a model or changed by one: `flowloom model`, and `run` of such experiments.

use flowloom_core::workload::{ConnectionVector, Evidence, Side};
use flowloom_store::workload::WorkloadReader;

use crate::support::Bench;

/// A model of 60 connections in three seconds, or so.
pub const EXCHANGES: &str = "[workload]\nmodel = { kind = \"exchanges\", connections-per-second = 20.0, request-bytes = 300, \
    response-bytes = { kind = \"lognormal\", median = 4000, mean = 9000 }, think-ms = 5, rtt-ms = 40, port = 80 }\n";

fn vectors(bench: &Bench, name: &str) -> Vec<ConnectionVector> {
    WorkloadReader::open(&bench.path(name)).unwrap().map(|vector| vector.unwrap()).collect()
}

#[test]
fn a_model_makes_a_workload_that_everything_else_takes() {
    let bench = Bench::new();
    bench.file("e.toml", EXCHANGES.as_bytes());
    let said = bench.flowloom(&["model", "e.toml", "-o", "w.parquet", "--duration", "3s"]);
    assert!(said.succeeded().out.starts_with("3.00 s, "), "{}", said.out);
    let made = vectors(&bench, "w.parquet");
    // Poisson: 60, standard deviation 7.7.
    assert!((30..100).contains(&made.len()), "{}", made.len());
    assert!(made.iter().all(|vector| vector.evidence == Evidence::Model && vector.bytes(Side::Initiator) == 300));
    let described = bench.json(&["describe", "w.parquet", "--json"]);
    assert_eq!(described["workload"]["connections"]["total"], made.len());
    bench.flowloom(&["convert", "w.parquet", "-o", "w.cvec"]).succeeded();
    let run = bench.json(&["run", "w.parquet", "-o", "of-file", "--json"]);
    assert_eq!(run["connections"]["completed"], made.len(), "{run}");
    bench
        .flowloom(&["model", "e.toml", "-o", "w.parquet", "--duration", "3s"])
        .failed(1, &["exists already", "--force"]);
}

#[test]
fn a_run_of_a_model_makes_what_the_command_makes() {
    let bench = Bench::new();
    bench.file("e.toml", format!("{EXCHANGES}[measure]\nduration = \"3s\"\n[run]\nseeds = [4, 5]\n").as_bytes());
    bench.flowloom(&["model", "e.toml", "-o", "five.parquet", "--seed", "5"]).succeeded();
    bench.flowloom(&["run", "e.toml", "-o", "runs"]).succeeded();
    let of_run = |seed: u64| vectors(&bench, &format!("runs/seed-{seed}/workload.parquet"));
    assert_eq!(vectors(&bench, "five.parquet"), of_run(5));
    assert_ne!(of_run(4).len(), 0);
    assert_ne!(of_run(4), of_run(5), "each seed draws its own");
    bench.flowloom(&["run", "e.toml", "-o", "one", "--seed", "5"]).succeeded();
    assert_eq!(vectors(&bench, "one/workload.parquet"), of_run(5));
    let names = bench.names();
    assert_eq!(names, ["e.toml", "five.parquet", "one", "runs"], "nothing is left over");
}

#[test]
fn models_that_cannot_be_are_refused() {
    let bench = Bench::new();
    let both = EXCHANGES.replace("[workload]\n", "[workload]\nsource = \"w.parquet\"\n");
    for (text, words) in [
        (EXCHANGES.to_owned(), ["e.toml: measure.duration is missing", "--duration"]),
        ("[network]\n".to_owned(), ["e.toml: [workload] names no model", "exchanges"]),
        (both, ["e.toml:3: workload.model draws a workload, and workload.source names one", ""]),
        (
            EXCHANGES.replace("20.0", "0.0"),
            ["e.toml:2: workload.model.connections-per-second of 0 must be above 0", ""],
        ),
        (EXCHANGES.replace("exchanges", "exchange"), ["unknown word \"exchange\"", "did you mean \"exchanges\"?"]),
        (EXCHANGES.replace("port", "prot"), ["unknown key \"prot\"", "did you mean \"port\"?"]),
        (EXCHANGES.replace("mean = 9000", "mean = 10"), ["mean of 10 is not possible: not below the median", ""]),
        (EXCHANGES.replace("rtt-ms = 40", "rtt-ms = -40"), ["a value of -40 is not possible", ""]),
    ] {
        bench.file("e.toml", text.as_bytes());
        bench.flowloom(&["model", "e.toml", "-o", "w.parquet"]).failed(2, &words);
    }
    bench.flowloom(&["model", "w.pcap", "-o", "w.parquet"]).failed(2, &["w.pcap: this is no experiment"]);
    bench.flowloom(&["model", "e.toml", "-o", "w.cvec"]).failed(2, &["model writes workloads"]);
    assert_eq!(bench.names(), ["e.toml"]);
}
