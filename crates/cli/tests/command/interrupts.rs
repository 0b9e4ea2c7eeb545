//! One Ctrl-C ends a command that waits for its input or a reader of its output, and what was done until then replaces nothing.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

use flowloom::experiment::Setting;
use flowloom::{
    Context, Event, ExtractOptions, Packets, RunOptions, Stop, VcsimOptions, Warning, extract, run_files, run_vcsim,
};
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

#[test]
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn one_interrupt_ends_waiting_for_a_reader() {
    let bench = Bench::new();
    mkfifo(&bench.path("fifo"), Mode::S_IRWXU).unwrap();
    bench.file("c.pcap", &Traffic::many(3).pcap());
    bench.file("two.spec", crate::internetworks::TWO.as_bytes());
    let names = bench.names();
    for words in [
        &["convert", "c.pcap", "--to", "jsonl", "-o", "fifo"][..],
        &["describe", "c.pcap", "--html", "fifo"],
        &["fit", "c.pcap", "--model", "swing", "-o", "fifo"],
        &["run", "two.spec", "--cell-trace", "fifo"],
    ] {
        let child = started(&bench, words, Stdio::null());
        // Reading such a capture takes milliseconds; an interrupt that comes earlier ends the command, too.
        sleep(Duration::from_millis(400));
        interrupted(child, "-INT", words);
        assert_eq!(bench.names(), names, "{words:?} leaves nothing");
    }
    // A reader that comes later gets all of it.
    let words = ["convert", "c.pcap", "--to", "jsonl", "-o", "fifo", "-q"];
    let child = started(&bench, &words, Stdio::null());
    sleep(Duration::from_millis(200));
    let mut text = String::new();
    File::open(bench.path("fifo")).unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait_with_output().unwrap().status.success() && text.lines().count() > 3, "{text}");
}

/// The parts that warnings told of.
fn parts(warnings: &Mutex<Vec<Warning>>) -> Vec<String> {
    let told = std::mem::take(&mut *warnings.lock().unwrap());
    let name = |warning: &Warning| match warning {
        Warning::PartKept { part, .. } => Some(part.file_name().unwrap().to_str().unwrap().to_owned()),
        _ => None,
    };
    told.iter().filter_map(name).collect()
}

#[test]
fn what_was_stopped_replaces_no_result() {
    let bench = Bench::new();
    let capture = bench.file("c.pcap", &Traffic::many(30).pcap());
    let specification = bench.file("two.spec", crate::internetworks::TWO.as_bytes());
    let warnings: Mutex<Vec<Warning>> = Mutex::default();
    let observer = |event: &Event<'_>| {
        if let Event::Warning(warning) = event {
            warnings.lock().unwrap().push((*warning).clone());
        }
    };
    let stop = Stop::new();
    let context = Context::new(&observer, &stop);
    let inputs = [capture];
    let extraction = ExtractOptions { replace: true, ..ExtractOptions::default() };
    let extract = || extract(Packets::Files(&inputs), &bench.path("w.parquet"), &extraction, context).unwrap().workload;
    let run = |seeds: &[u64]| {
        let mut options = RunOptions { replace: true, ..RunOptions::to(bench.path("r")) };
        options.settings = vec![Setting::of("seeds", &format!("{seeds:?}")).unwrap()];
        run_files(&inputs, &options, context).unwrap().folder
    };
    let vcsim = || {
        let trace = Some(bench.path("cells.tsv"));
        let target = Some(bench.path("v"));
        let options = VcsimOptions { target, replace: true, cell_trace: trace, ..VcsimOptions::default() };
        run_vcsim(&specification, &options, context).unwrap();
    };
    assert_eq!((extract(), run(&[1])), (bench.path("w.parquet"), bench.path("r")));
    vcsim();
    assert_eq!(parts(&warnings), [""; 0]);
    let results = || ["w.parquet", "r/run.json", "v/results.json", "cells.tsv"].map(|name| fs::read(bench.path(name)));
    let before = results().map(Result::unwrap);
    stop.request();
    assert_eq!([extract(), extract()], [bench.path("w.parquet.part"), bench.path("w.parquet.part-2")]);
    assert_eq!([run(&[1]), run(&[1, 2])], [bench.path("r.part"), bench.path("r.part-2")]);
    vcsim();
    let told = ["w.parquet.part", "w.parquet.part-2", "r.part", "r.part-2", "cells.tsv.part", "v.part"];
    assert_eq!(parts(&warnings), told);
    assert_eq!(results().map(Result::unwrap), before);
    // What is left stops no later run.
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", "--force"]).succeeded();
    bench.flowloom(&["run", "w.parquet", "-o", "r", "--force", "-q"]).succeeded();
    bench.flowloom(&["run", "two.spec", "-o", "v", "--force", "-q"]).succeeded();
}
