//! `--threads`, `--max-memory` and `--vlan-key`: what they change and what not.

use std::path::{Path, PathBuf};

use crate::support::{Bench, Traffic, contents};

/// The captures to compare on: the bundled one, and the shared ones where there are any.
fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut captures = vec![root.join("../../testdata/demo.pcap.gz")];
    if let Some(folder) = flowloom_needs::shared("cli: threads on real captures", "pcap") {
        let entries = std::fs::read_dir(folder).unwrap();
        captures.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            [".pcap", ".pcap.gz", ".pcapng", ".dmp"].iter().any(|ending| name.ends_with(ending))
        }));
    }
    captures.sort();
    captures
}

#[test]
fn the_result_is_the_same_with_any_number_of_threads() {
    let bench = Bench::new();
    let mut compared = 0;
    for capture in captures() {
        let extract = |threads: &str| {
            let said = bench.flowloom(&[
                "extract",
                capture.to_str().unwrap(),
                "--allow-truncated",
                "-o",
                "w.parquet",
                "--force",
                "--hosts",
                "number",
                "--json",
                "--threads",
                threads,
            ]);
            (said.code, said.out, said.err, std::fs::read(bench.path("w.parquet")).ok())
        };
        let alone = extract("1");
        for threads in ["2", "4"] {
            assert!(extract(threads) == alone, "{} differs with {threads} threads", capture.display());
        }
        compared += usize::from(alone.0 == 0);
    }
    assert!(compared > 0);
    eprintln!("{compared} captures are the same with 1, 2 and 4 threads");
}

#[test]
fn an_error_in_the_middle_of_a_capture_ends_every_thread() {
    let bench = Bench::new();
    let mut bytes = Traffic::many(400).pcap();
    bytes.truncate(bytes.len() - 7);
    bench.file("cut.pcap", &bytes);
    for threads in ["1", "2", "4"] {
        let said = bench.flowloom(&["extract", "cut.pcap", "-o", "w.parquet", "--strict", "--threads", threads]);
        said.failed(1, &["cut.pcap", "nothing was written", "--allow-truncated"]);
        assert_eq!(bench.names(), ["cut.pcap"]);
    }
}

/// More than a batch of everything, over a link that drops.
fn busy(bench: &Bench) {
    bench.file("c.pcap", &Traffic::many(3_000).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
}

#[test]
fn a_run_is_the_same_whoever_reads_and_writes() {
    let bench = Bench::new();
    busy(&bench);
    let run = |jobs: &str| {
        let words = ["run", "w.parquet", "--rate", "1mbit", "--queue", "5p", "--pcap", "--force", "-o", "r"];
        let said = bench.flowloom(&[&words[..], &["--json", "--jobs", jobs]].concat());
        let mut answer: serde_json::Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}", said.err));
        answer["wall_ns"] = 0.into();
        (said.code, answer, said.err, contents(&bench.path("r")))
    };
    let alone = run("1");
    let names: Vec<_> = alone.3.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert!(names.contains(&"link.pcap") && names.contains(&"drops.parquet"), "{names:?}");
    for jobs in ["2", "4"] {
        assert!(run(jobs) == alone, "it differs with {jobs} threads");
    }
}

#[test]
fn an_error_in_the_middle_of_a_workload_ends_every_thread_of_a_run() {
    let bench = Bench::new();
    busy(&bench);
    let mut bytes = std::fs::read(bench.path("w.parquet")).unwrap();
    // Pages are at its beginning; what describes them stays whole.
    let third = bytes.len() / 3;
    bytes[third..third + 64].fill(0xff);
    bench.file("damaged.parquet", &bytes);
    let errors = ["1", "2"].map(|jobs| {
        let said = bench.flowloom(&["run", "damaged.parquet", "-o", "r", "--jobs", jobs]);
        assert!(said.code == 1 && !bench.path("r").exists(), "{}", said.err);
        // With overflow checks the Parquet crate has a line to say before it.
        said.err.lines().find(|line| line.starts_with("error: ")).unwrap().to_owned()
    });
    assert!(errors[0].starts_with("error: damaged: damaged.parquet, column "), "{}", errors[0]);
    assert_eq!(errors[0], errors[1]);
}

#[test]
fn sizes_and_threads_are_checked() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(2).pcap());
    for (option, value, word) in
        [("--max-memory", "2", "2gb"), ("--max-memory", "10mb", "100mb"), ("--threads", "0", "1..=64")]
    {
        bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", option, value]).failed(2, &[option, word]);
    }
}
