//! Sweeps that are killed, and sweeps that share a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use flowloom_testkit::command::Bench;

const EXPERIMENT: &[u8] = b"workload.model = { kind = \"exchanges\", connections-per-second = 40.0, request-bytes = 500.0, \
    response-bytes = 9000.0, think-ms = 50.0, rtt-ms = 50.0 }\nmeasure.duration = \"4s\"\nmeasure.drain = \"2s\"\n\
    network.bottleneck.rate = \"4mbit\"\n[sweep]\nvary = [\"queue=drop-tail,codel,pie\", \"rate=3mbit,5mbit\"]\nseeds = 4\n";

fn started(bench: &Bench, folder: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["sweep", "x.toml", "-o", folder, "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The bytes of the files of a sweep, but for facts about the host and the manifests that hold their digests.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if !name.ends_with("host.json") && !name.ends_with("/manifest.json") {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Files that differ, by their names.
fn differing(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    a.keys().chain(b.keys()).filter(|path| a.get(*path) != b.get(*path)).cloned().collect()
}

/// `FLOWLOOM_KILLS` says how often; `make chaos` has 20, and 204 cells.
#[test]
#[expect(clippy::disallowed_methods, reason = "a kill comes at a moment of the wall clock")]
fn a_killed_sweep_ends_with_the_same_bytes() {
    let kills = std::env::var("FLOWLOOM_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    let (seeds, cells) = if kills < 20 { ("seeds = 4", 24) } else { ("seeds = 34", 204) };
    let bench = Bench::new();
    let text = String::from_utf8(EXPERIMENT.to_vec()).unwrap();
    bench.file("x.toml", text.replace("seeds = 4", seeds).as_bytes());
    bench.flowloom(&["sweep", "x.toml", "-o", "whole"]).succeeded();
    let whole = bytes(&bench.path("whole"));
    let found = whole.keys().filter(|name| name.ends_with("cell.json")).count();
    assert!(whole.contains_key("results.csv") && found == cells, "{found}");
    for kill in 0..kills {
        let mut child = started(&bench, "killed");
        // At moments that no run begins or ends at for sure.
        sleep(Duration::from_millis(40 + 67 * (kill % 9)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    bench.flowloom(&["sweep", "x.toml", "-o", "killed"]).succeeded();
    assert_eq!(differing(&whole, &bytes(&bench.path("killed"))), [] as [String; 0]);
}

#[test]
fn two_sweeps_share_a_folder() {
    let bench = Bench::new();
    bench.file("x.toml", EXPERIMENT);
    let both = [started(&bench, "shared"), started(&bench, "shared")];
    for mut child in both {
        assert!(child.wait().unwrap().success());
    }
    bench.flowloom(&["sweep", "x.toml", "-o", "alone", "--jobs", "1"]).succeeded();
    assert_eq!(differing(&bytes(&bench.path("alone")), &bytes(&bench.path("shared"))), [] as [String; 0]);
}

/// Answers and refusals of the command.
#[test]
fn a_sweep_answers_in_a_sentence() {
    let bench = Bench::new();
    bench.file("x.toml", EXPERIMENT);
    let words = ["sweep", "x.toml", "--vary", "rate=2mbit,40mbit", "--seeds", "5"];
    let said = bench.flowloom(&[&words[..], &["-o", "s"]].concat());
    assert!(said.succeeded().out.starts_with("rate 40mbit has the shortest responses: median "), "{}", said.out);
    let said = bench.flowloom(&[&words[..], &["--dry-run"]].concat());
    assert!(said.succeeded().out.contains("# 10 cells, 10 to run"), "{}", said.out);
    bench.flowloom(&["sweep", "x.toml", "--vary", "queu=pie,codel"]).failed(2, &["queu", "did you mean \"queue\"?"]);
    bench.flowloom(&["sweep", "x.toml", "--vary", "queue"]).failed(2, &["is no axis"]);
    bench
        .flowloom(&["sweep", "x.toml", "--vary", "rate=1mbit,2mbit", "-o", "s"])
        .failed(1, &["another question", "--force"]);
    bench.flowloom(&["run", "s", "-o", "r"]).failed(2, &["s: this is the folder of a sweep", "report.html"]);
    bench.flowloom(&["run", "x.toml", "-o", "r"]).succeeded();
    assert!(!bench.path("runs").exists());
}
