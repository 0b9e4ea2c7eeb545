//! `flowloom run --on live`: the kernel's TCP, in namespaces of the run's own. These tests need root (or user namespaces) and say so
//! where they are skipped. Hosts of tests are busy: bounds are loose, and no test asks for a verdict of VALID.

mod chain;
mod congestion;
mod datagrams;
mod faults;
mod host;
mod lab;
mod lab_faults;
mod lab_processes;
mod network;
mod plausibility;
mod preflight;
mod shell;

use std::sync::{Mutex, MutexGuard, PoisonError};

use flowloom_testkit::command as support;

/// One live run at a time: two would make each other late.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether live runs can be here; a skip where they cannot.
pub fn can_run() -> bool {
    let can = host::is_root();
    if !can {
        flowloom_needs::skip("cli: live runs", flowloom_needs::Need::ROOT);
    }
    can
}

/// Sends a signal to a process, by its name.
pub fn signal(name: &str, process: u32) {
    let words = [format!("-{name}"), process.to_string()];
    assert!(std::process::Command::new("kill").args(words).status().unwrap().success());
}

/// Lets other processes go on.
#[expect(clippy::disallowed_methods, reason = "other processes are waited for")]
pub fn pause(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

/// The bundled capture.
pub fn demo() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz").to_owned()
}

/// An experiment that replays `source` for so long, and waits two seconds for connections to end: the bundled capture has some
/// that never do.
pub fn experiment(source: &str, duration: &str) -> String {
    format!("[workload]\nsource = \"{source}\"\n[measure]\nduration = \"{duration}\"\ndrain = \"2s\"\n")
}
