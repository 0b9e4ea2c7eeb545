//! The worker processes of live runs: what becomes of them is their run's to say.
#![cfg(target_os = "linux")]

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;

/// A worker that waits to be told how to begin.
fn worker() -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flowloom"));
    command.args(["live-worker", "--namespace", "0"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // SIGHUP and SIGINT are signals 1 and 2. It blocks them after it has tied its life to ours.
    while signals(&child, "SigBlk:") & 3 != 3 {
        thread::yield_now();
    }
    child
}

/// A set of signals of a process, as the kernel shows it.
fn signals(child: &Child, set: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}

#[test]
fn a_worker_leaves_interrupts_to_its_run_and_ends_with_its_input() {
    let mut child = worker();
    for signal in ["-INT", "-HUP"] {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    }
    // They wait, and nothing comes of them.
    while signals(&child, "ShdPnd:") & 3 != 3 {
        thread::yield_now();
    }
    assert_eq!(child.try_wait().unwrap(), None);
    drop(child.stdin.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(said.contains("the first message to a worker was not how to begin"), "{said}");
}

#[test]
fn a_worker_dies_with_the_thread_that_started_it() {
    let mut child = thread::spawn(worker).join().unwrap();
    let _input = child.stdin.take();
    let killed = child.wait().unwrap();
    assert_eq!(killed.signal(), Some(9), "{killed}");
}
