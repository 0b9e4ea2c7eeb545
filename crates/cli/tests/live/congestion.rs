//! The congestion experiments of Frost et al. (1998) in small, as the example has them: five hosts in namespaces, an agent on each.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::Bench;
use crate::{alone, can_run};

/// The runs of the example with these loads, for so many seconds each.
fn congestion(bench: &Bench, loads: &str, seconds: &str) -> Vec<Value> {
    let example = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lab/frost-1998"));
    let run = Command::new("sh")
        .arg(example.join("run.sh"))
        .args([bench.path("out").to_str().unwrap(), seconds])
        .env("FLOWLOOM", env!("CARGO_BIN_EXE_flowloom"))
        .env("LOADS", loads)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let table =
        Command::new("python3").arg(example.join("table.py")).arg(bench.path("out")).arg("--json").output().unwrap();
    assert!(table.status.success(), "{}", String::from_utf8_lossy(&table.stderr));
    serde_json::from_slice(&table.stdout).unwrap()
}

fn namespaces() -> String {
    let told = Command::new("ip").args(["netns", "list"]).output().unwrap();
    String::from_utf8(told.stdout).unwrap()
}

/// Whether loss and jitter of a target rise with the load of others and fall when those are paced. Margins are far from what is found (8 %
/// and 0, 2.9 ms and 1.2 ms): hosts of tests are busy.
fn is_as_published(rows: &[Value]) -> bool {
    ["udp", "tcp"].iter().all(|target| {
        let of = |load: &str, pacing: &str, what: &str| {
            let row =
                rows.iter().find(|row| row["target"] == *target && row["load"] == load && row["pacing"] == pacing);
            row.and_then(|row| row[what].as_f64())
                .unwrap_or_else(|| panic!("{target} {load} {pacing} {what}: {rows:?}"))
        };
        let (alone, loaded, paced) = (("none", "unpaced"), ("high", "unpaced"), ("high", "paced"));
        let lost = |(load, pacing)| of(load, pacing, "lost_percent");
        let jitter = |(load, pacing)| of(load, pacing, "jitter_ms");
        lost(loaded) > lost(alone) + 2.0
            && lost(paced) < lost(loaded) / 2.0
            && jitter(loaded) > 1.3 * jitter(alone)
            && jitter(paced) < 0.8 * jitter(loaded)
    })
}

#[test]
fn loss_and_jitter_rise_with_load_and_fall_with_pacing() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    let (bench, before) = (Bench::new(), namespaces());
    let mut rows = congestion(&bench, "none high", "5");
    // A machine that stands still for half a second loses a tenth of five seconds. A defect shows each time.
    for _ in 0..2 {
        if !is_as_published(&rows) {
            std::fs::remove_dir_all(bench.path("out")).unwrap();
            rows = congestion(&bench, "none high", "5");
        }
    }
    assert_eq!(rows.len(), 6);
    assert!(rows.iter().all(|row| row["unaccounted"] == 0), "{rows:?}");
    assert!(is_as_published(&rows), "{rows:?}");
    assert_eq!(namespaces(), before, "everything is taken down again");
}
