//! `flowloom run --on live`: the kernel's TCP, in namespaces of the run's own. These tests need root (or user namespaces) and say so
//! where they are skipped. Hosts of tests are busy: bounds are loose, and no test asks for a verdict of VALID.

mod capacity;
mod cells;
mod chain;
mod congestion;
mod datagrams;
mod faults;
mod host;
mod ipv6;
mod lab;
mod lab_faults;
mod lab_processes;
mod network;
mod plausibility;
mod preflight;
mod probes;
mod recipes;
mod shell;
mod sweeps;
mod watch;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use flowloom_testkit::command as support;

/// Live runs at a time: they mostly wait for real time, and more would make each other late.
const MOST_RUNS: usize = 2;

static RUNS: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Room for live runs, until it is dropped.
pub struct Room(usize);

fn runs() -> MutexGuard<'static, usize> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn room(of: usize) -> Room {
    let free = ENDED.wait_while(runs(), |runs| *runs + of > MOST_RUNS);
    *free.unwrap_or_else(PoisonError::into_inner) += of;
    Room(of)
}

impl Drop for Room {
    fn drop(&mut self) {
        *runs() -= self.0;
        ENDED.notify_all();
    }
}

/// Room for a live run, with another beside it.
pub fn one_run() -> Room {
    room(1)
}

/// Room for a live run with no other beside it, for tests that look at how late it was or at all processes of the host.
pub fn alone() -> Room {
    room(MOST_RUNS)
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
