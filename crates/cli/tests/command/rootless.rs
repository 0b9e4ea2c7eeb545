//! Live runs without root. The kernel lets no process with threads have a user namespace, so that only the whole command can be
//! tried.

use flowloom_needs::{Need, skip};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::support::{Bench, Traffic};

const NOBODY: u32 = 65_534;

/// The user who runs this.
fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").unwrap().lines().any(|line| line.starts_with("Uid:\t0\t0"))
}

#[test]
fn a_live_run_needs_no_root() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    std::fs::set_permissions(bench.path("."), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("flowloom"));
    command.current_dir(bench.path(".")).args(["run", "c.pcap", "--on", "live", "-o", "r", "--json"]);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(_) => return skip("cli: live run without root", Need::OTHER_USERS),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("user namespace") || said.contains("network namespace cannot be made") {
        eprintln!("{said}");
        return skip("cli: live run without root", Need::USER_NAMESPACES);
    }
    // On a busy host the run is INVALID, and says so, but it is there.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["connections"]["completed"], 20, "{result}");
    assert!(bench.path("r/run.json").exists());
}
