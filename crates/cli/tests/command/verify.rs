//! `flowloom verify`, and what other commands say of damaged files.

use std::fs;
use std::path::Path;

use flowloom_testkit::earlier;
use serde_json::{Value, json};

use crate::documented::check;
use crate::support::{Bench, Traffic};

/// A folder with the workload `w.parquet`, its run `r`, and its run `s` with two seeds.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench.flowloom(&["run", "w.parquet", "-o", "r", "--pcap"]).succeeded();
    bench.flowloom(&["run", "w.parquet", "-o", "s", "--seed", "1", "--seed", "2"]).succeeded();
    bench
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

/// The answer, whatever the exit code.
fn answer(bench: &Bench, paths: &[&str], code: u8) -> Value {
    let said = bench.flowloom(&[&["verify", "--json"], paths].concat());
    assert_eq!(i32::from(code), said.code, "{}", said.err);
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    check("verify", &answer);
    answer
}

/// The files that are not whole: name and state.
fn others(answer: &Value) -> Vec<(&str, &str)> {
    let files = answer["files"].as_array().unwrap().iter();
    let all = files.map(|file| (file["path"].as_str().unwrap(), file["state"].as_str().unwrap()));
    all.filter(|(_, state)| *state != "whole").collect()
}

#[test]
fn whole_files_are_whole() {
    let bench = bench();
    let found = answer(&bench, &["w.parquet", "r", "s"], 0);
    assert_eq!(others(&found), []);
    // r: twelve tables, run.json, host.json, manifest.json, report.html, link.pcap; s: twice the same without a capture;
    // index.json, manifest.json, report.html.
    assert_eq!(found["counts"]["whole"], 1 + 17 + 2 * 16 + 3);
    let rows = |name: &str| {
        found["files"].as_array().unwrap().iter().find(|file| file["path"] == name).unwrap()["rows"].clone()
    };
    assert_eq!(
        (rows("w.parquet"), rows("r/connections.parquet"), rows("r/run.json")),
        (20.into(), 20.into(), Value::Null)
    );
    // All that is in this folder.
    assert_eq!(answer(&bench, &["."], 0)["counts"], found["counts"]);
    let said = bench.flowloom(&["verify", "w.parquet", "r"]);
    said.succeeded();
    assert!(said.out.starts_with("whole: w.parquet (20 rows)\n"), "{}", said.out);
    assert!(said.out.ends_with("18 files: 18 whole\n"), "{}", said.out);
}

#[test]
fn a_flipped_bit_is_found_and_refused() {
    let bench = bench();
    let commands: [&[&str]; 4] =
        [&["describe", "r"], &["compare", "r"], &["report", "r", "-o", "r.html"], &["convert", "r", "-o", "r.dat"]];
    for file in ["r/run.json", "r/host.json", "r/manifest.json", "r/epochs.parquet", "r/throughput.parquet"] {
        flip(&bench.path(file), 40);
        for command in commands {
            bench.flowloom(command).failed(1, &[&format!("damaged: {file}"), "take another copy"]);
        }
        let found = answer(&bench, &["r"], 1);
        assert_eq!(others(&found), expected(file), "{file}");
        flip(&bench.path(file), 40);
    }
    assert!(!bench.path("r.html").exists() && !bench.path("r.dat").exists());
    flip(&bench.path("w.parquet"), 8);
    for command in
        [&["run", "w.parquet", "-o", "x"][..], &["describe", "w.parquet"], &["convert", "w.parquet", "-o", "x.csv"]]
    {
        bench.flowloom(command).failed(1, &["damaged: w.parquet, column id, row group 0: its bytes are not those"]);
    }
    let said = bench.flowloom(&["verify", "w.parquet", "--quiet"]);
    assert!(said.code == 1 && said.out.is_empty(), "{}", said.out);
    assert!(said.err.starts_with("damaged: w.parquet, column id, row group 0: "), "{}", said.err);
    let file = &answer(&bench, &["w.parquet"], 1)["files"][0];
    assert_eq!((&file["column"], &file["row_group"]), (&json!("id"), &json!(0)));
}

/// Without its manifest, nothing says whether the other files are what was written.
fn expected(file: &str) -> Vec<(&str, &'static str)> {
    match file {
        "r/manifest.json" => [("r/manifest.json", "damaged")]
            .into_iter()
            .chain(["r/host.json", "r/link.pcap", "r/report.html", "r/run.json"].map(|name| (name, "unprotected")))
            .collect(),
        file => vec![(file, "damaged")],
    }
}

#[test]
fn files_that_change_hands_are_told() {
    let bench = bench();
    // What Flowloom writes into a run folder is entered, what others put there is named.
    bench.flowloom(&["report", "r", "-o", "r/again.html"]).succeeded();
    bench.flowloom(&["convert", "r", "-o", "r/r.dat"]).succeeded();
    bench.file("r/notes.txt", b"mine");
    let found = answer(&bench, &["r"], 0);
    assert_eq!(others(&found), [("r/notes.txt", "unlisted")]);
    bench.flowloom(&["describe", "r"]).succeeded();
    // A table of another run is intact, and still not the one that belongs here.
    fs::copy(bench.path("s/seed-2/run.json"), bench.path("r/run.json")).unwrap();
    fs::copy(bench.path("s/seed-2/adus.parquet"), bench.path("r/queue.parquet")).unwrap();
    fs::remove_file(bench.path("r/epochs.parquet")).unwrap();
    fs::remove_dir_all(bench.path("s/seed-1")).unwrap();
    let found = answer(&bench, &["r", "s"], 1);
    let all = [
        ("r/epochs.parquet", "missing"),
        ("r/notes.txt", "unlisted"),
        ("r/queue.parquet", "damaged"),
        ("r/run.json", "damaged"),
        ("s/seed-1", "missing"),
    ];
    assert_eq!(others(&found), all);
    fs::remove_file(bench.path("s/manifest.json")).unwrap();
    bench.flowloom(&["compare", "s"]).failed(1, &["damaged: s/manifest.json: it is missing"]);
    assert_eq!(
        others(&answer(&bench, &["s"], 1))[..2],
        [("s/index.json", "unprotected"), ("s/report.html", "unprotected")]
    );
}

#[test]
fn files_of_version_1_are_unprotected() {
    let bench = Bench::new();
    bench.file("old.parquet", earlier::WORKLOAD);
    earlier::copy_run(&bench.path("old"));
    let found = answer(&bench, &["old.parquet", "old"], 0);
    assert_eq!(found["counts"]["unprotected"], 1 + 13);
    assert_eq!(others(&found).len(), 14);
    bench.flowloom(&["describe", "old"]).succeeded();
    bench.flowloom(&["run", "old.parquet", "-o", "new"]).succeeded();
    // Such a file is read to its end all the same.
    let mut cut = earlier::WORKLOAD.to_vec();
    cut[4..12].fill(0xff);
    bench.file("old.parquet", &cut);
    assert_eq!(others(&answer(&bench, &["old.parquet"], 1)), [("old.parquet", "damaged")]);
}

#[test]
fn what_holds_nothing_to_verify_is_an_error() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(2).pcap());
    fs::create_dir(bench.path("empty")).unwrap();
    bench.flowloom(&["verify", "c.pcap"]).failed(1, &["c.pcap: neither a workload nor a file of a run folder", "hint"]);
    bench.flowloom(&["verify", "empty"]).failed(1, &["empty: there is no workload or run folder in it"]);
    bench.flowloom(&["verify", "none.parquet"]).failed(1, &["none.parquet: No such file"]);
}

#[test]
fn files_of_a_path_are_told_whatever_is_wrong_with_others() {
    let bench = bench();
    let said = bench.flowloom(&["verify", "w.parquet", "none", "r"]);
    said.failed(1, &["error: none: No such file"]);
    assert!(said.out.ends_with("\n18 files: 18 whole\n"), "{}", said.out);
}

#[test]
fn a_run_of_another_seed_is_damage() {
    let bench = bench();
    fs::remove_dir_all(bench.path("s/seed-2")).unwrap();
    fs::rename(bench.path("s/seed-1"), bench.path("s/seed-2")).unwrap();
    fs::rename(bench.path("r"), bench.path("s/seed-1")).unwrap();
    let found = answer(&bench, &["s"], 1);
    // The other folder has the run of another workload.
    assert_eq!(others(&found), [("s/seed-1", "damaged"), ("s/seed-2", "damaged")]);
    let wanted = "damaged: s/seed-2: it holds the run of seed 1, and index.json lists it as seed 2";
    assert!(found.to_string().contains(wanted), "{found}");
    for command in [&["describe", "s"][..], &["compare", "s"], &["report", "s", "-o", "s.html"]] {
        let first = "damaged: s/seed-1: it holds another run than the one that index.json lists";
        bench.flowloom(command).failed(1, &[first]);
    }
    // Another run of the same seed.
    bench.flowloom(&["run", "w.parquet", "-o", "x", "--rate", "1gbit", "--seed", "2"]).succeeded();
    fs::remove_dir_all(bench.path("s/seed-2")).unwrap();
    fs::rename(bench.path("x"), bench.path("s/seed-2")).unwrap();
    let found = answer(&bench, &["s"], 1);
    assert!(found.to_string().contains("s/seed-2: it holds another run than the one that index.json lists"), "{found}");
}

#[test]
fn what_is_no_part_of_a_run_is_named() {
    let bench = bench();
    let at = |name: &str| bench.path(name);
    fs::rename(at("s/seed-1"), at("r/other")).unwrap();
    flip(&at("r/other/run.json"), 40);
    std::os::unix::fs::symlink("..", at("r/up")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(at("r/fifo")).status().unwrap();
    assert!(made.success());
    fs::rename(at("w.parquet"), at("r/a\nwhole: b\u{1b}")).unwrap();
    let found = answer(&bench, &["r"], 1);
    let all = [
        ("r/a\nwhole: b\u{1b}", "unlisted"),
        ("r/fifo", "unlisted"),
        ("r/other", "unlisted"),
        ("r/other/run.json", "damaged"),
        ("r/up", "unlisted"),
    ];
    assert_eq!(others(&found), all);
    let said = bench.flowloom(&["verify", "r"]);
    assert!(said.out.contains("\nunlisted: r/a\\u{a}whole: b\\u{1b} (20 rows)\n"), "{}", said.out);
}

#[test]
fn tables_need_the_run_they_are_of() {
    let bench = bench();
    for file in ["run.json", "host.json", "manifest.json"] {
        fs::remove_file(bench.path("r").join(file)).unwrap();
    }
    assert_eq!(others(&answer(&bench, &["r"], 1)), [("r/run.json", "missing")]);
}

#[test]
fn files_of_other_lengths_are_not_read() {
    let bench = bench();
    let size = |name: &str, bytes| {
        let file = fs::File::options().write(true).open(bench.path(name)).unwrap();
        file.set_len(bytes).unwrap();
    };
    size("r/report.html", 40 << 30);
    size("r/queue.parquet", 0);
    let length = fs::metadata(bench.path("r/epochs.parquet")).unwrap().len();
    size("r/epochs.parquet", length + 1);
    fs::remove_file(bench.path("r/drops.parquet")).unwrap();
    fs::create_dir(bench.path("r/drops.parquet")).unwrap();
    fs::remove_file(bench.path("r/adus.parquet")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", bench.path("r/adus.parquet")).unwrap();
    size("w.parquet", 0);
    let found = answer(&bench, &["r", "w.parquet"], 1);
    let problem = |name: &str| {
        let file = found["files"].as_array().unwrap().iter().find(|file| file["path"] == name).unwrap();
        file["problem"].as_str().unwrap().to_owned()
    };
    assert!(
        problem("r/report.html").starts_with("damaged: r/report.html: it has 42949672960 bytes, and manifest.json")
    );
    assert!(problem("r/queue.parquet").starts_with("damaged: r/queue.parquet: it has 0 bytes, and manifest.json"));
    assert!(problem("r/epochs.parquet").contains(&format!("it has {} bytes", length + 1)));
    assert_eq!(problem("r/adus.parquet"), "damaged: cannot read r/adus.parquet: it is not a regular file");
    assert!(problem("w.parquet").starts_with("damaged: w.parquet is not a Flowloom file"), "{}", problem("w.parquet"));
    let damaged =
        ["r/adus.parquet", "r/drops.parquet", "r/epochs.parquet", "r/queue.parquet", "r/report.html", "w.parquet"];
    assert_eq!(others(&found), damaged.map(|name| (name, "damaged")));
}

#[test]
fn experiments_are_regular_files() {
    let bench = Bench::new();
    let made = std::process::Command::new("mkfifo").arg(bench.path("f.toml")).arg(bench.path("f.spec")).status();
    assert!(made.unwrap().success());
    for file in ["f.toml", "f.spec"] {
        bench.flowloom(&["run", file]).failed(1, &[file, "it is not a regular file"]);
    }
}
