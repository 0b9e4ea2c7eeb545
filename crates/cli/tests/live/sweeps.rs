//! Sweeps over the kernel's TCP, and sweeps whose disk is full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Bench, contents};
use crate::{can_run, demo, experiment, one_run};

/// Cells that are missing are so because the host was too slow for them, twice.
pub fn are_invalid(failed: &Path) {
    let failed = if failed.exists() { contents(failed) } else { Vec::new() };
    for (path, why) in failed {
        let why = String::from_utf8(why).unwrap();
        assert!(why.contains("INVALID"), "{}: {why}", path.display());
    }
}

/// Cells run one after the other, and are there when the same command is given again.
#[test]
fn a_sweep_is_run_live() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("x.toml", experiment(&demo(), "3s").as_bytes());
    let words = ["sweep", "x.toml", "--vary", "queue=drop-tail,codel", "--seeds", "1", "--on", "live", "-o", "s"];
    let said = bench.flowloom(&words);
    assert!(matches!(said.code, 0 | 3), "{}{}", said.out, said.err);
    assert!(said.err.contains("2 live runs take, each, 3.00 s, and up to "), "with the drain: {}", said.err);
    let count = |folder: &str| fs::read_dir(bench.path(folder)).map_or(0, |found| found.count());
    let cells = contents(&bench.path("s")).iter().filter(|(path, _)| path.ends_with("cell.json")).count();
    assert_eq!(cells + count("s/failed"), 2, "{}{}", said.out, said.err);
    are_invalid(&bench.path("s/failed"));
    let again = bench.flowloom(&words);
    assert!(!again.err.contains("live run"), "all are there or known to fail: {}", again.err);
    let again = bench.json(&[&words[..], &["--json"]].concat());
    assert_eq!((&again["run_cells"], &again["kept_cells"]), (&0.into(), &cells.into()));
}

/// A cell that is INVALID twice is missing, with the reason.
#[test]
fn an_invalid_cell_is_repeated_and_then_missing() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    // Packets are forwarded up to ten milliseconds late.
    bench.file("x.toml", format!("{}\n[live]\ntick = \"10ms\"\n", experiment(&demo(), "3s")).as_bytes());
    let words = ["sweep", "x.toml", "--vary", "queue=drop-tail", "--seeds", "1", "--on", "live", "-o", "s"];
    let said = bench.flowloom(&words);
    assert_eq!(said.code, 3, "{}{}", said.out, said.err);
    assert!(said.out.contains("with seed 1: INVALID twice"), "{}", said.out);
    let left: Vec<PathBuf> = contents(&bench.path("s/cells")).into_iter().map(|(path, _)| path).collect();
    assert!(left.is_empty(), "{left:?}");
    let failed = contents(&bench.path("s/failed"));
    let [(_, failure)] = &failed[..] else { panic!("{failed:?}") };
    let failure: serde_json::Value = serde_json::from_slice(failure).unwrap();
    assert!(failure["command"].as_str().unwrap().contains("--on live"), "{failure}");
}

/// A disk of its own, as long as it is there.
struct Disk(PathBuf);

impl Disk {
    fn mount(&self, options: &str) {
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&self.0).status().unwrap();
        assert!(done.success(), "mount -o {options}");
    }

    fn new(at: &Path, size: &str) -> Disk {
        fs::create_dir(at).unwrap();
        let disk = Disk(at.to_owned());
        disk.mount(&format!("size={size}"));
        disk
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Whatever a full disk ends, nothing is lost: the error names the folder, no cell is remembered as failed, and the sweep goes on.
#[test]
fn a_sweep_goes_on_once_its_disk_has_room() {
    if !can_run() {
        return;
    }
    let bench = Bench::new();
    let text = "workload.model = { kind = \"exchanges\", connections-per-second = 40.0, request-bytes = 500.0, \
                response-bytes = 9000.0, think-ms = 50.0, rtt-ms = 50.0 }\nmeasure.duration = \"4s\"\nmeasure.drain = \"2s\"\n\
                network.bottleneck.rate = \"4mbit\"\n[sweep]\nvary = [\"queue=drop-tail,codel,pie\", \"rate=3mbit,5mbit\"]\nseeds = 3\n";
    bench.file("x.toml", text.as_bytes());
    let words = |folder| ["sweep", "x.toml", "-o", folder, "--tables", "all", "-q"];
    bench.flowloom(&words("whole")).succeeded();
    let disk = Disk::new(&bench.path("disk"), "3m");
    let mut ends = Vec::new();
    for size in ["3m", "4m", "6m", "64m"] {
        disk.mount(&format!("remount,size={size}"));
        let said = bench.flowloom(&words("disk/s"));
        if said.code != 0 {
            assert_eq!(said.code, 1, "{size}: {}{}", said.out, said.err);
            assert!(said.err.contains("disk/s: the disk is full") && said.err.contains("make room"), "{}", said.err);
        }
        let failed = fs::read_dir(bench.path("disk/s/failed")).map_or(0, |found| found.count());
        assert_eq!(failed, 0, "{size}: a cell that found no room has not failed");
        ends.push(said.code);
    }
    assert_eq!((ends[0], ends[3]), (1, 0), "{ends:?}");
    let (whole, resumed) = (contents(&bench.path("whole")), contents(&bench.path("disk/s")));
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&whole), names(&resumed));
    assert!(whole == resumed, "the bytes are the same");
}
