//! Every target on its seeds and on seeded mutations of them: what libFuzzer does, without a nightly compiler. Equal numbers
//! make equal mutations, so a finding is found again by the number it is reported with.
//!
//! As many mutations as [`Target::smoke`] says, or, where `FLOWLOOM_FUZZ_SECONDS` is set, as many as so many seconds allow
//! (continuous integration: 20 per target). How many there were is printed.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use flowloom_fuzz::{Mutator, TARGETS, Target, extract, valid_captures};

/// A test for every target, so that they run beside each other.
macro_rules! targets {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            smoke($name);
        })*

        const TESTED: &[&str] = &[$($name),*];
    };
}

targets! {
    wire: "wire",
    capture: "capture",
    compression: "compression",
    extraction: "extraction",
    flows: "flows",
    tmix: "tmix",
    zeek_tsv: "zeek-tsv",
    zeek_json: "zeek-json",
    csv: "csv",
    json_lines: "json-lines",
    results: "results",
    rates: "rates",
    mahimahi: "mahimahi",
    harpoon: "harpoon",
    histogram: "histogram",
    lengths: "lengths",
    swing: "swing",
    workload: "workload",
    run_folder: "run-folder",
    experiment: "experiment",
    rules: "rules",
    specification: "specification",
    script: "script",
    script_toml: "script-toml",
    snmp: "snmp",
    registry: "registry",
    kept: "kept",
    journal: "journal",
    running: "running",
    question: "question",
    prefix: "prefix",
    key: "key",
}

/// Tries the seeds and mutations of the target called `name`.
fn smoke(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of this name");
    let seeds = (target.seeds)();
    assert!(!seeds.is_empty(), "{name} has no seeds");
    for (index, seed) in seeds.iter().enumerate() {
        hand(target, seed, &format!("seed {index}"));
    }
    let enough = budget(target);
    let (mut mutator, mut mutations) = (Mutator::new(1), 0);
    while !enough(mutations) {
        hand(target, &mutator.damage(&seeds), &format!("mutation {mutations}"));
        mutations += 1;
    }
    // Not by `eprintln`, of which a test that passes shows nothing.
    let _ = writeln!(io::stderr(), "{name}: {} seeds and {mutations} mutations, nothing found", seeds.len());
}

/// Says whether so many mutations are enough.
#[expect(clippy::disallowed_methods, reason = "how long to go on is asked for in seconds; no result depends on it")]
fn budget(target: &Target) -> Box<dyn Fn(u64) -> bool> {
    let Ok(seconds) = env::var("FLOWLOOM_FUZZ_SECONDS") else {
        let most = target.smoke;
        return Box::new(move |mutations| mutations >= most);
    };
    let seconds = Duration::from_secs(seconds.parse().expect("FLOWLOOM_FUZZ_SECONDS is a number of seconds"));
    let begin = Instant::now();
    Box::new(move |_| begin.elapsed() >= seconds)
}

/// Runs the entry; a panic says with which input.
fn hand(target: &Target, data: &[u8], what: &str) {
    if catch_unwind(AssertUnwindSafe(|| (target.entry)(data))).is_err() {
        let path = env::temp_dir().join(format!("flowloom-fuzz-{}", target.name));
        let kept = fs::write(&path, data).map_or("nowhere".to_owned(), |()| path.display().to_string());
        panic!("{}: {what} breaks a promise; the input is in {kept}", target.name);
    }
}

#[test]
fn every_target_is_tried_here_and_by_libfuzzer() {
    assert_eq!(TARGETS.iter().map(|target| target.name).collect::<Vec<_>>(), TESTED);
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("the manifest of the fuzz targets");
    for name in TESTED {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} is not in fuzz/Cargo.toml");
        let program = fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs"))).expect("a fuzz target");
        assert!(program.contains(&format!("run(\"{name}\", data)")), "fuzz_targets/{name}.rs runs another target");
    }
}

#[test]
fn made_captures_are_what_they_are_made_for() {
    // Seeds that no reader takes would make every test above pass without trying anything.
    let found = valid_captures().iter().enumerate().map(|(index, file)| {
        let read = extract(file, 0);
        assert!(read.packets > 1, "capture {index}: {read:?}");
        (read.connections, read.flows)
    });
    let (connections, flows): (Vec<u64>, Vec<u64>) = found.unzip();
    assert_eq!(connections, [3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(flows[11], 2, "{flows:?}");
}

#[test]
fn made_observations_are_read() {
    let target = TARGETS.iter().find(|target| target.name == "running").expect("the target");
    let is_read = |seed: &Vec<u8>| flowloom::store::running::parse(seed).is_some();
    assert_eq!((target.seeds)().iter().map(is_read).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn made_workloads_hold_vectors_and_claims_are_refused() {
    use flowloom::store::workload::WorkloadReader;
    let target = TARGETS.iter().find(|target| target.name == "workload").expect("the target");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("w.parquet");
    let read = (target.seeds)().into_iter().map(|seed| {
        fs::write(&path, seed).expect("a temporary file");
        let rows =
            WorkloadReader::open(&path).and_then(|mut rows| rows.try_fold(0, |count, row| row.map(|_| count + 1)));
        rows.map_err(|error| error.to_string())
    });
    let read: Vec<Result<u32, String>> = read.collect();
    assert_eq!(read[..3], [Ok(3), Ok(0), Ok(14)]);
    assert_eq!(read.len(), 6);
    for refused in &read[3..] {
        let said = refused.as_ref().expect_err("a claim that cannot be right");
        assert!(said.contains("cannot be right at byte 5"), "{said}");
    }
}

#[test]
fn made_export_messages_hold_records() {
    let flows = TARGETS.iter().find(|target| target.name == "flows").expect("the target");
    let counts = (flows.seeds)().iter().map(|seed| flowloom::store::flows::decode(seed).0.len()).collect::<Vec<_>>();
    assert_eq!(counts, [2, 2, 2, 4, 4, 6]);
}

#[test]
fn made_texts_hold_vectors() {
    use flowloom::store::formats::{csv_table, json_lines, tmix, zeek};
    type Read = fn(&[u8]) -> usize;
    let readers: [(&str, Read, &[usize]); 5] = [
        ("tmix", |text| tmix::read(text).expect("a seed").0.len(), &[3, 2, 3, 3, 3]),
        ("zeek-tsv", |text| zeek::read(text).expect("a seed").0.len(), &[2, 1, 3]),
        // Times in milliseconds are refused.
        ("zeek-json", |text| zeek::read(text).map_or(0, |read| read.0.len()), &[2, 0, 2]),
        ("csv", |text| csv_table::read(text).expect("a seed").len(), &[3, 0]),
        ("json-lines", |text| json_lines::read(text).expect("a seed").0.len(), &[3, 0]),
    ];
    for (name, read, vectors) in readers {
        let target = TARGETS.iter().find(|target| target.name == name).expect("the target");
        assert_eq!((target.seeds)().iter().map(|seed| read(seed)).collect::<Vec<_>>(), vectors, "{name}");
    }
}
