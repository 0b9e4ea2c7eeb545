//! One Ctrl-C ends a command that waits for its input.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use flowloom_testkit::command::{Bench, Traffic};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

fn started(bench: &Bench, words: &[&str], input: Stdio) -> Child {
    Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(words)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends `signal`, and expects the exit code of an interruption.
#[track_caller]
fn interrupted(child: Child, signal: &str, words: &[&str]) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn one_interrupt_ends_waiting_for_a_fifo() {
    let bench = Bench::new();
    mkfifo(&bench.path("fifo"), Mode::S_IRWXU).unwrap();
    bench.file(
        "t.toml",
        b"measure.duration = \"1s\"\nnetwork.bottleneck.trace = \"fifo\"\n[[sources]]\nname = \"s\"\nkind = \"bulk\"\n",
    );
    let names = bench.names();
    for (words, signal) in [
        (&["extract", "fifo", "-o", "w.parquet"][..], "-INT"),
        (&["run", "fifo", "-o", "r"], "-TERM"),
        (&["run", "t.toml", "-o", "r"], "-INT"),
        (&["describe", "fifo"], "-INT"),
        (&["convert", "fifo", "--from", "zeek", "-o", "w.parquet"], "-INT"),
        (&["convert", "fifo", "--from", "flows", "-o", "w.parquet"], "-TERM"),
    ] {
        let child = started(&bench, words, Stdio::null());
        // It opens once the command reads.
        let writer = File::options().write(true).open(bench.path("fifo")).unwrap();
        interrupted(child, signal, words);
        drop(writer);
        assert_eq!(bench.names(), names, "{words:?} leaves nothing");
    }
}

#[test]
fn what_came_before_an_interrupt_is_kept() {
    let bench = Bench::new();
    let capture = Traffic::many(20).pcap();
    let words = ["extract", "-", "-o", "w.parquet", "--json-stream"];
    let mut child = started(&bench, &words, Stdio::piped());
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("start"));
    // More than a pipe holds: once it is written, much of it was read.
    let half = capture.len() / 2;
    input.write_all(&capture[..half]).unwrap();
    interrupted(child, "-INT", &words);
    drop((input, lines));
    let left = bench.names();
    assert!(left.is_empty() || left == ["w.parquet"], "{left:?}");
}
