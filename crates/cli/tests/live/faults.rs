//! What a run says, and leaves, when something breaks.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::CommandCargoExt;
use flowloom::core::record::Outcome;
use flowloom::store::run_folder::RunFolder;
use flowloom::time::{Duration, Time};
use flowloom_needs::{Need, skip};
use serde_json::{Map, Value};

use crate::host::{Host, held_namespaces, processes_in, workers_in};
use crate::support::{Bench, Traffic};
use crate::{can_run, demo, experiment, one_run, pause, signal};

/// A live run that goes on, and the host as it was before.
struct Going {
    bench: Bench,
    before: Host,
    run: Child,
    /// Left first.
    workers: Vec<u32>,
    /// The namespaces of its workers.
    namespaces: BTreeSet<String>,
}

/// How a live run ended.
struct Ended {
    bench: Bench,
    code: Option<i32>,
    /// Its run.json.
    said: Map<String, Value>,
}

impl Going {
    /// Starts a run of 8 s, and waits until it has played for a while.
    fn start(more: &str) -> Going {
        let bench = Bench::new();
        bench.file("x.toml", (experiment(&demo(), "8s") + more).as_bytes());
        Going::with(bench, live_run())
    }

    /// Waits until a run in the folder of `bench` has two workers and has played for a while.
    fn with(bench: Bench, mut command: Command) -> Going {
        let before = Host::now();
        command.current_dir(bench.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = command.spawn().unwrap();
        let workers = (0..400).find_map(|_| {
            pause(50);
            Some(workers_in(bench.folder.path())).filter(|workers| workers.len() == 2)
        });
        let Some(workers) = workers else {
            run.kill().unwrap();
            panic!("no workers: {}", run.wait().unwrap());
        };
        pause(2_500);
        let namespace = |process: &u32| fs::read_link(format!("/proc/{process}/ns/net")).unwrap();
        let namespaces = workers.iter().map(|worker| namespace(worker).display().to_string()).collect();
        Going { bench, before, run, workers, namespaces }
    }

    /// Waits for its end, and looks that nothing of it is there any more, after a while: processes, namespaces, devices, routes.
    fn end(mut self) -> (Bench, Option<i32>) {
        let code = self.run.wait().unwrap().code();
        let folder = self.bench.folder.path();
        for _ in 0..100 {
            if processes_in(folder).is_empty()
                && held_namespaces().is_disjoint(&self.namespaces)
                && Host::now() == self.before
            {
                return (self.bench, code);
            }
            pause(50);
        }
        panic!("{:?} and {:?} are left, or {:?}", processes_in(folder), Host::now(), self.namespaces);
    }

    /// Waits for its end, which is to leave nothing but a run folder.
    fn end_with_folder(self) -> Ended {
        let (bench, code) = self.end();
        assert_eq!(bench.names(), ["run", "x.toml"]);
        let folder = RunFolder::open(&bench.path("run")).unwrap();
        assert!(folder.connections().unwrap().map(Result::unwrap).count() > 0);
        Ended { code, said: folder.run().clone(), bench }
    }

    /// Does something in the namespace of a worker.
    fn within(&self, worker: usize, words: &[&str]) {
        let namespace = format!("--net=/proc/{}/ns/net", self.workers[worker]);
        assert!(Command::new("nsenter").arg(namespace).args(words).status().unwrap().success(), "{words:?}");
    }
}

impl Ended {
    /// What broke in it is said in these words, so that it is INVALID.
    fn is_broken(&self, words: &[&str]) {
        let problems = self.said["live"]["problems"].to_string();
        assert!(words.iter().all(|word| problems.contains(word)), "{words:?} in {problems}");
        assert_eq!((self.code, &self.said["verdict"]["accounted"]["word"]), (Some(3), &"INVALID".into()));
    }
}

fn live_run() -> Command {
    let mut command = Command::cargo_bin("flowloom").unwrap();
    command.args(["run", "x.toml", "--on", "live", "-o", "run", "--quiet"]);
    command
}

#[test]
fn a_worker_that_is_killed_is_named_and_the_run_keeps_what_it_has() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let going = Going::start("");
    signal("KILL", going.workers[0]);
    going.end_with_folder().is_broken(&["worker 0 on the", "signal: 9"]);
}

/// A device goes away like this in mid-run, so that the emulator cannot go on.
fn lose_device(devices: &str, words: &[&str], said: &[&str]) {
    let going = Going::start(&format!("[live]\ndevices = \"{devices}\"\n"));
    going.within(0, words);
    let ended = going.end_with_folder();
    ended.is_broken(&[&["the emulator could not go on"], said].concat());
    let [end, planned] = ["window_ns", "planned_window_ns"].map(|key| ended.said[key][1].as_u64().unwrap());
    assert!(end < planned, "results are of the {end} ns that there were");
    // What passed until then is there, at the ends, at the monitor and on the links.
    let folder = RunFolder::open(&ended.bench.path("run")).unwrap();
    let rows: Vec<_> = folder.connections().unwrap().map(Result::unwrap).collect();
    assert!(rows.iter().any(|row| row.outcome == Outcome::Completed && row.monitor_rtt.is_some()));
    // Those that it cut have what their ends had received by then.
    let cut = rows.iter().filter(|row| row.outcome == Outcome::Unfinished);
    assert!(cut.map(|row| row.delivered_to_initiator_bytes).max() > Some(0), "{rows:?}");
    let links = ended.said["topology"]["links"].as_array().unwrap();
    let offered: Vec<_> = links.iter().map(|link| link["offered_packets"].as_u64().unwrap()).collect();
    assert!(offered.iter().all(|packets| *packets > 100), "{offered:?}");
    assert!(ended.said["live"]["packets"].as_u64().unwrap() >= offered.iter().sum());
    let gates = ended.said["summary"]["gates"].as_array().unwrap();
    let accounted = gates.iter().find(|gate| gate["name"] == "packets accounted for").unwrap();
    assert_eq!(accounted["verdict"], "VALID", "{accounted}");
}

#[test]
fn a_device_that_is_removed_ends_the_run_which_keeps_what_it_has() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    for devices in ["tun", "packet-sockets"] {
        lose_device(devices, &["ip", "link", "delete", "path"], &["device", "gone or down"]);
    }
}

#[test]
fn a_device_that_is_taken_down_ends_the_run_which_keeps_what_it_has() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    lose_device("tun", &["ip", "link", "set", "path", "down"], &["the device of the left side fails", "gone or down"]);
}

#[test]
fn a_device_that_is_taken_down_unseen_by_the_emulator_is_a_problem() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    // The packet socket is at the other end of the pair, which is up.
    let going = Going::start("[live]\ndevices = \"packet-sockets\"\n");
    going.within(0, &["ip", "link", "set", "path", "down"]);
    going.end_with_folder().is_broken(&["a device is gone or down"]);
}

/// Two bulk transfers at 50 Mbit/s for a minute.
const BULK: &str = "[[sources]]\nkind = \"bulk\"\nname = \"ftp\"\ncount = 2\nrtt = \"20ms\"\n[network.bottleneck]\nrate = \
                    \"50mbit\"\n[measure]\nduration = \"60s\"\ndrain = \"2s\"\n";

/// What runs in a mount namespace with a small disk, and brings out what is there afterwards.
const ON_A_SMALL_DISK: &str = "mount -t tmpfs -o size=48m none disk && \"$0\" run x.toml --on live --pcap -o disk/run --quiet; \
                               code=$?; ls -A disk > names; cp -r disk/run run; exit $code";

/// The simulator fills its disk itself: 60 s at 50 Mbit/s are 22 MB of captured headers.
#[test]
fn a_full_disk_makes_a_simulation_invalid() {
    if !can_run() {
        return;
    }
    let bench = Bench::new();
    bench.file("x.toml", BULK.as_bytes());
    fs::create_dir(bench.path("disk")).unwrap();
    let script = "mount -t tmpfs -o size=8m none disk && \"$0\" run x.toml --pcap -o disk/run --quiet; code=$?; \
                  cp -r disk/run run; exit $code";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(assert_cmd::cargo::cargo_bin("flowloom"));
    let status = command.current_dir(bench.path("")).status().unwrap();
    let said = RunFolder::open(&bench.path("run")).unwrap().run().clone();
    let accounted = &said["verdict"]["accounted"]["word"];
    assert_eq!((status.code(), accounted, &said["disk_full"]), (Some(3), &"INVALID".into(), &true.into()));
    assert_eq!(said["complete"], false);
}

#[test]
fn a_disk_that_is_full_ends_the_run_which_keeps_what_it_has() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("x.toml", BULK.as_bytes());
    fs::create_dir(bench.path("disk")).unwrap();
    let program = assert_cmd::cargo::cargo_bin("flowloom");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", ON_A_SMALL_DISK]).arg(program);
    let going = Going::with(bench, command);
    // Of its disk nothing is left but what the run keeps back.
    let disk = format!("/proc/{}/root{}", going.workers[0], going.bench.path("disk").display());
    let mut fill = fs::File::create(format!("{disk}/fill")).unwrap();
    let full = (0..).find_map(|_| fill.write_all(&[0; 1 << 16]).err()).unwrap();
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    drop(fill);
    let (bench, code) = going.end();
    assert_eq!(fs::read_to_string(bench.path("names")).unwrap(), "fill\nrun\n");
    let folder = RunFolder::open(&bench.path("run")).unwrap();
    let ended = Ended { code, said: folder.run().clone(), bench };
    ended.is_broken(&["the disk is full"]);
    assert_eq!(ended.said["complete"], false);
    // It did not go on for the minute, and what it says it recorded is there.
    let last = folder.queue().unwrap().map(|row| row.unwrap().time).max().unwrap();
    assert!(last > Time::ZERO + Duration::from_secs(2) && last < Time::ZERO + Duration::from_secs(50), "{last:?}");
    assert_eq!(folder.sources().unwrap().map(Result::unwrap).filter(|row| row.received_bytes > 100_000).count(), 2);
}

/// A library that comes before the kernel's clocks: the wall clock is an hour ahead or two, by turns of a second.
const JUMPING: &str = "
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    struct timespec steady;
    int result = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &steady);
        now->tv_sec += steady.tv_sec % 2 ? 3600 : 7200;
    }
    return result;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now) *now = time.tv_sec;
    return time.tv_sec;
}
";

/// The kernel's own timers of a run are all of CLOCK_MONOTONIC, which nobody can set. To set the host's wall clock would be to set
/// that of all others, so that it jumps for the programs of the run alone.
#[test]
fn a_wall_clock_that_jumps_changes_nothing() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("jumping.c", JUMPING.as_bytes());
    let made = Command::new("cc")
        .current_dir(bench.path("."))
        .args(["-shared", "-fPIC", "-o", "jumping.so", "jumping.c"])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("cli: wall clock that jumps in a live run", Need::new("cc", "apt-get install gcc libc6-dev"));
    }
    bench.file("x.toml", experiment(&demo(), "8s").as_bytes());
    let mut command = live_run();
    command.env("LD_PRELOAD", bench.path("jumping.so"));
    let going = Going::with(bench, command);
    let (bench, code) = going.end();
    assert!([Some(0), Some(3)].contains(&code), "{code:?}");
    let folder = RunFolder::open(&bench.path("run")).unwrap();
    let date = |words: &[&str]| -> u64 {
        let said = Command::new("date").args(words).output().unwrap().stdout;
        String::from_utf8(said).unwrap().trim().parse().unwrap()
    };
    let host: Value = serde_json::from_slice(&fs::read(bench.path("run/host.json")).unwrap()).unwrap();
    assert!(
        date(&["-d", host["date"].as_str().unwrap(), "+%s"]) > date(&["+%s"]) + 3_000,
        "its wall clock is ahead: {host}"
    );
    let live = &folder.run()["live"];
    assert_eq!((&live["problems"], &live["failed_connections"]), (&Value::Array(Vec::new()), &0.into()));
    assert_eq!(live["scheduled_connections"], live["started_connections"]);
    for what in ["releases", "starts", "waits"] {
        assert!(live[what]["max"].as_u64().unwrap() < 60_000_000_000, "{what}: {live}");
    }
    let completed =
        folder.connections().unwrap().filter(|row| row.as_ref().unwrap().outcome == Outcome::Completed).count();
    assert!(completed > 0);
}

#[test]
fn what_a_run_that_is_killed_leaves_is_cleaned_up() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let mut going = Going::start("");
    // One that is stopped ends all the same.
    signal("STOP", going.workers[1]);
    going.run.kill().unwrap();
    // No process, device, route or namespace.
    let (bench, code) = going.end();
    assert_eq!(code, None);
    // What it had begun to write has a name that says that it is not finished.
    assert!(bench.names().iter().any(|name| name.starts_with("run.partial-")), "{:?}", bench.names());
    let said = bench.flowloom(&["doctor", "--clean", "--runs", "."]);
    assert!(said.succeeded().out.contains("removed ./run.partial-"), "{}", said.out);
    assert_eq!(bench.names(), ["x.toml"]);
    assert!(bench.flowloom(&["doctor", "--clean", "--runs", "."]).succeeded().out.contains("nothing to remove"));
}

#[test]
fn an_interrupted_run_is_stored_as_such() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let going = Going::start("");
    signal("INT", going.run.id());
    let ended = going.end_with_folder();
    assert_eq!(ended.code, Some(3));
    assert_eq!((&ended.said["complete"], &ended.said["interrupted"]), (&false.into(), &true.into()));
    assert_eq!(ended.said["live"]["problems"], Value::Array(Vec::new()), "nothing is wrong with being interrupted");
}

#[test]
fn a_second_interrupt_ends_it_at_once_and_leaves_nothing_running() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let mut going = Going::start("");
    // A worker that does not hear that it is over keeps the run from its end for a while.
    let worker = going.workers[0];
    signal("STOP", worker);
    signal("INT", going.run.id());
    pause(300);
    signal("INT", going.run.id());
    going.run.wait().unwrap();
    signal("CONT", worker);
    let (bench, code) = going.end();
    assert_eq!(code, Some(130));
    bench.flowloom(&["doctor", "--clean", "--runs", "."]).succeeded();
    assert!(!bench.names().iter().any(|name| name.contains(".partial-")), "{:?}", bench.names());
}

#[test]
fn a_run_that_was_stopped_says_how_late_it_was() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let going = Going::start("");
    signal("STOP", going.run.id());
    pause(1_000);
    signal("CONT", going.run.id());
    let ended = going.end_with_folder();
    let longest = ended.said["live"]["releases"]["max"].as_u64().unwrap();
    assert!(longest > 300_000_000, "{longest} ns");
    assert_eq!((ended.code, &ended.said["verdict"]["accounted"]["word"]), (Some(3), &"INVALID".into()));
}

/// Exchanges that begin every 10 ms for 8 s; a worker is stopped for one of them.
fn stall(place: usize) -> Value {
    let bench = Bench::new();
    let traffic = (0..800).fold(Traffic::default(), |traffic, id| {
        let start = Duration::from_millis(10 * id);
        traffic.connection_from(id, start, 1_000 * id as u32, 300, 2_000)
    });
    bench.file("steady.pcap", &traffic.pcap());
    bench.file("x.toml", experiment("steady.pcap", "8s").as_bytes());
    let going = Going::with(bench, live_run());
    signal("STOP", going.workers[place]);
    pause(1_000);
    signal("CONT", going.workers[place]);
    let (bench, _) = going.end();
    RunFolder::open(&bench.path("run")).unwrap().run()["summary"].clone()
}

/// p99 of response times from where requests were intended, in seconds.
fn intended_p99(summary: &Value) -> f64 {
    assert!(summary["intended_response_time_ns"]["n"].as_u64().unwrap() > 700, "{summary}");
    summary["intended_response_time_ns"]["p99"].as_f64().unwrap() / 1e9
}

#[test]
fn a_stalled_end_does_not_hide_what_it_held_up() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    // Of 800 the eighth that were due meanwhile took up to a second: the worst hundredth 0.92 s and more. On a busy host the
    // stop may take longer than it was asked for.
    for place in [0, 1] {
        let summary = stall(place);
        let p99 = intended_p99(&summary);
        assert!((0.8..1.6).contains(&p99), "worker {place}: {p99} s");
    }
}
