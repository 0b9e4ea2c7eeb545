//! `flowloom doctor --calibrate` in small, and what plans of live runs make of its result.

use std::process::{Command, Stdio};
use std::sync::Mutex;

use flowloom::capacity::{FILE, Known, Load, known};
use flowloom::time::Duration;
use flowloom::{CapacityOptions, Context, Event, Stop, measure_capacity};
use serde_json::Value;

use crate::host::workers_in;
use crate::support::Bench;
use crate::{alone, can_run, demo, experiment, one_run, pause, signal};

/// The command whose cache is in the folder of the test.
fn flowloom(bench: &Bench, words: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("flowloom"));
    command.current_dir(bench.path(".")).env("XDG_CACHE_HOME", bench.path("cache")).args(words);
    command
}

fn plan(bench: &Bench) -> String {
    bench.file("x.toml", experiment(&demo(), "20s").as_bytes());
    let output = flowloom(bench, &["run", "x.toml", "--on", "live", "--dry-run"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_measured_limit_is_used_by_plans() {
    if !can_run() {
        return;
    }
    let _alone = alone();
    let bench = Bench::new();
    let none = plan(&bench);
    assert!(none.contains("starts/s\n") && none.contains("# this host is not calibrated: `flowloom doctor"), "{none}");
    let cache = bench.path("cache/flowloom");
    // Two runs of 2 s, and what they take to begin and to end.
    let options = CapacityOptions {
        program: assert_cmd::cargo::cargo_bin("flowloom"),
        loads: vec![Load::Packets],
        time: Duration::from_millis(5_900),
        cache: Some(cache.clone()),
    };
    let tried = Mutex::new(0);
    let observer = |event: &Event<'_>| {
        if let Event::LoadTried(run) = event {
            assert!(run.failure.is_some() || run.reached > 0.8 * run.level, "{}", run.words());
            *tried.lock().unwrap() += 1;
        }
    };
    let measured = measure_capacity(&options, Context::new(&observer, &Stop::new())).unwrap();
    let tried = *tried.lock().unwrap();
    assert!((1..=3).contains(&tried) && !measured.is_interrupted, "{tried} runs: {measured:?}");
    assert_eq!(measured.file, Some(cache.join(FILE)));
    assert_eq!(known(&cache), Known::Measured(measured.capacity.clone()));
    assert!(measured.capacity.limits[&Load::Packets].date.starts_with("20"));
    let text = plan(&bench);
    assert!(text.contains("packets/s; this host can do") && text.contains("was not measured"), "{text}");
}

#[test]
fn an_interrupted_calibration_says_what_it_has() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    let mut command = flowloom(&bench, &["doctor", "--calibrate", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let folder = bench.folder.path().canonicalize().unwrap();
    let is_running = (0..500).any(|_| {
        pause(20);
        !workers_in(&folder).is_empty()
    });
    assert!(is_running, "no worker within 10 s");
    signal("INT", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["interrupted"], &answer["file"]), (&Value::Bool(true), &Value::Null));
    assert_eq!(answer["limits"], serde_json::json!({}));
    assert!(!bench.path("cache").exists());
}
