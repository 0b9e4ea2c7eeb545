//! Values of keys on the command line, experiments that are only shown, and runs made again.

use std::fs;

use serde_json::Value;

use crate::support::{Bench, Traffic};

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench
}

/// The experiment of a run, as resolved, without its source.
fn experiment(bench: &Bench, run: &str) -> String {
    let run: Value = serde_json::from_slice(&fs::read(bench.path(run).join("run.json")).unwrap()).unwrap();
    let text = run["experiment"].as_str().unwrap();
    text.lines().filter(|line| !line.starts_with("source = ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn options_are_the_keys_of_a_file() {
    let bench = bench();
    let text = "workload.source = \"c.pcap\"\nnetwork.bottleneck = { rate = \"105%\", delay = \"3ms\", queue = { kind = \"codel\", \
                limit = \"300p\" } }\ntcp = { profile = \"linux\", congestion = \"bbr\", ecn = \"on\" }\nworkload.waits.min = \"1ms\"\n";
    bench.file("x.toml", text.as_bytes());
    bench.flowloom(&["run", "x.toml", "-o", "file"]).succeeded();
    let options = "run c.pcap -o options --rate 105% --delay 3ms --queue codel,limit=300p --profile linux --congestion bbr \
                   --wait-min 1ms --set tcp.ecn=on";
    bench.flowloom(&options.split_whitespace().collect::<Vec<_>>()).succeeded();
    assert_eq!(experiment(&bench, "options"), experiment(&bench, "file"));
    // A kind replaces the queue, and a limit alone changes it.
    bench.flowloom(&["run", "x.toml", "-o", "kind", "--queue", "fq_codel"]).succeeded();
    assert!(experiment(&bench, "kind").contains("kind = \"fq-codel\"\nlimit = \"10240p\""));
    bench.flowloom(&["run", "x.toml", "-o", "limit", "--queue", "40p", "--set", "queue=50p"]).succeeded();
    assert!(experiment(&bench, "limit").contains("kind = \"codel\"\nlimit = \"50p\""));
}

#[test]
fn what_options_refuse_is_named_with_the_option() {
    let bench = bench();
    for (options, wanted) in [
        (&["--queue", "fqcodel"][..], &["did you mean \"fq-codel\"?", "given by --queue fqcodel"][..]),
        (&["--queue", "codel,red"], &["second kind of queue"]),
        (&["--congestion", "cubik"], &["did you mean \"cubic\"?", "given by --congestion cubik"]),
        (&["--set", "tcp.ecn"], &["write KEY=VALUE"]),
        (&["--set", "tcp.enc=on"], &["unknown key \"enc\"", "did you mean \"ecn\"?", "given by --set tcp.enc=on"]),
        (&["--set", "workload.source=d.pcap"], &["leave out one of them"]),
    ] {
        let all = [&["run", "c.pcap", "-o", "r"], options].concat();
        bench.flowloom(&all).failed(2, wanted);
        assert!(!bench.path("r").exists());
    }
}

#[test]
fn a_dry_run_shows_the_experiment_and_leaves_nothing() {
    let bench = bench();
    let shown = bench.flowloom(&["run", "c.pcap", "--rate", "105%", "--seed", "3", "--dry-run"]);
    assert!(shown.out.starts_with("# 1 run of 20 connections"), "{}", shown.out);
    assert!(!bench.path("runs").exists());
    bench.file("x.toml", shown.out.as_bytes());
    bench.flowloom(&["run", "x.toml", "-o", "file"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "--rate", "105%", "--seed", "3", "-o", "options"]).succeeded();
    assert_eq!(experiment(&bench, "options"), experiment(&bench, "file"));
    let answer = bench.json(&["run", "x.toml", "--dry-run", "--json"]);
    assert_eq!((&answer["needs"]["runs"], &answer["needs"]["connections"]), (&1.into(), &20.into()));
}

#[test]
fn a_run_is_made_again_from_its_folder() {
    let bench = bench();
    fs::create_dir(bench.path("below")).unwrap();
    bench.file("below/x.toml", b"workload.source = \"../c.pcap\"\nnetwork.bottleneck.rate = \"90%\"\n");
    let same = |first: &str, again: &str| {
        let table = |run: &str| fs::read(bench.path(run).join("connections.parquet")).unwrap();
        assert_eq!(table(first), table(again), "{again}");
        assert_eq!(experiment(&bench, first), experiment(&bench, again));
    };
    bench
        .flowloom(&["run", "c.pcap", "-o", "a", "--rate", "105%", "--inside", "10.0.0.0/16", "--idle-timeout", "90s"])
        .succeeded();
    bench.flowloom(&["run", "a", "-o", "b"]).succeeded();
    same("a", "b");
    bench.flowloom(&["run", "below/x.toml", "-o", "e", "--seed", "4", "--queue", "pie"]).succeeded();
    bench.flowloom(&["run", "e", "-o", "f"]).succeeded();
    same("e", "f");
    bench.flowloom(&["run", "c.pcap", "-o", "s", "--seed", "1", "--seed", "2", "--vary", "jitter 1s"]).succeeded();
    bench.flowloom(&["run", "s", "-o", "t"]).succeeded();
    same("s/seed-2", "t/seed-2");
    bench.flowloom(&["run", "s/seed-2", "-o", "u"]).succeeded();
    same("s/seed-2", "u");
    // Of an experiment that does not say what varies, seeds draw blocks.
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    bench.flowloom(&["run", capture, "-o", "d", "--seed", "1", "--seed", "2", "-q"]).succeeded();
    bench.flowloom(&["run", "d/seed-2", "-o", "v", "-q"]).succeeded();
    same("d/seed-2", "v");
    // Other values change the experiment, whose defaults follow.
    bench.flowloom(&["run", "a", "-o", "g", "--profile", "linux"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "h", "--rate", "105%", "--profile", "linux"]).succeeded();
    assert_eq!(experiment(&bench, "g"), experiment(&bench, "h"));
    // What the run read is another file now.
    bench.file("c.pcap", &Traffic::many(19).pcap());
    let again = bench.flowloom(&["run", "a", "-o", "i"]);
    assert!(again.err.contains("c.pcap is not what the earlier run read"), "{}", again.err);
}

#[test]
fn a_run_that_does_not_say_how_it_was_asked_for_is_refused() {
    let bench = bench();
    bench.flowloom(&["run", "c.pcap", "-o", "a", "--anonymize"]).succeeded();
    bench.flowloom(&["run", "a", "-o", "b"]).failed(1, &["does not say how it was asked for", "--anonymize"]);
    bench.flowloom(&["run", "c.pcap", "-o", "c"]).succeeded();
    bench.flowloom(&["run", "c", "-o", "d", "--inside", "10.0.0.0/8"]).failed(2, &["--inside"]);
    bench.flowloom(&["run", "c", "c.pcap", "-o", "d"]).failed(2, &["this is a folder"]);
}
