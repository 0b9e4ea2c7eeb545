//! `flowloom run --on lab:HOSTS.toml`: hosts are network namespaces with addresses of their own behind a bridge.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};

use flowloom::core::record::Outcome;
use flowloom::core::workload::{ConnectionVector, Protocol};
use flowloom::store::run_folder::RunFolder;
use flowloom::store::workload::WorkloadReader;
use flowloom::time::Time;
use serde_json::{Map, Value};

use crate::host::processes_in;
use crate::network::{Hosts, ahead_seconds, ip};
use crate::support::{Bench, contents};
use crate::sweeps::are_invalid;
use crate::{can_run, demo, experiment, one_run, pause, signal};

impl Hosts {
    pub fn run(&self, more: &[&str]) -> Command {
        let words = ["run", "x.toml", "--on", "lab:HOSTS.toml", "-o", "run", "--quiet"];
        self.by_the_controller(&[&words[..], more].concat())
    }

    /// What the leaves of a script found.
    fn played(&self, script: &str) -> Vec<Value> {
        self.bench.file("script.ns", script.as_bytes());
        let words = ["lab", "run", "script.ns", "--hosts", "HOSTS.toml", "-o", "out", "--quiet"];
        let said = self.said(self.by_the_controller(&words));
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        let found = fs::read_to_string(self.bench.path("out/results.jsonl")).unwrap();
        found.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Processes that play sides, or ends of connections.
    fn players(&self) -> usize {
        let plays = |words: &Vec<String>| {
            words.iter().any(|word| ["live-side", "live-share", "live-worker"].contains(&word.as_str()))
        };
        processes_in(self.bench.folder.path()).values().filter(|words| plays(words)).count()
    }

    /// Whether there come to be no players.
    fn are_quiet(&self) -> bool {
        (0..200).any(|_| {
            self.players() == 0 || {
                pause(25);
                false
            }
        })
    }

    /// Starts the run, and waits until all players are there and have played for a while.
    fn start(&self, players: usize) -> Child {
        let run = self.run(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert!(
            (0..400).any(|_| self.players() == players || {
                pause(50);
                false
            }),
            "{} players",
            self.players()
        );
        pause(3_000);
        run
    }
}

/// Of a run folder: its run.json, how many connections it has, and how many of them completed.
fn found(bench: &Bench, name: &str) -> (Map<String, Value>, usize, usize) {
    let folder = RunFolder::open(&bench.path(name)).unwrap();
    let connections: Vec<_> = folder.connections().unwrap().map(Result::unwrap).collect();
    let completed = connections.iter().filter(|connection| connection.outcome == Outcome::Completed).count();
    (folder.run().clone(), connections.len(), completed)
}

#[test]
fn an_experiment_is_spread_over_hosts_and_comes_back_as_one_run() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    // The left side is on two hosts.
    let hosts = Hosts::new(&["north", "east", "west"]);
    hosts.bench.file("x.toml", experiment(&demo(), "8s").as_bytes());
    let said = hosts.said(hosts.run(&[]));
    assert!(matches!(said.code, 0 | 3), "{}{}", said.out, said.err);
    assert!(hosts.are_quiet());
    let (run, connections, completed) = found(&hosts.bench, "run");
    let live = &run["live"];
    assert_eq!(live["workers"], 2, "as many as the side with more hosts has");
    let notes = live["notes"].to_string();
    for (agent, address) in [("north", "10.99.0.2"), ("east", "10.99.0.3"), ("west", "10.99.0.4")] {
        let (_, found) = notes.split_once(&format!("the clock of {agent} was ")).unwrap_or_else(|| panic!("{notes}"));
        let (middle, rest) = found.split_once(" ns ahead to within ").unwrap();
        let (middle, bound): (i64, i64) = (middle.parse().unwrap(), rest.split_once(" ns").unwrap().0.parse().unwrap());
        assert!((middle - ahead_seconds(address) * 1_000_000_000).abs() <= bound, "{notes}");
    }

    // The simulator plays as many.
    let simulated = hosts.bench.flowloom(&["run", "x.toml", "-o", "simulated", "--quiet"]);
    assert_eq!(simulated.code, 0, "{}", simulated.err);
    let (_, in_simulator, completed_there) = found(&hosts.bench, "simulated");
    assert_eq!(connections, in_simulator);
    // Some of the last may be cut a moment earlier or later.
    assert!(completed * 10 >= completed_there * 9, "{completed} of {completed_there}");

    // Every host was talked to, and by nobody but the controller.
    for agent in ["north", "east", "west"] {
        let audit = fs::read_to_string(hosts.bench.path(agent).join("audit.jsonl")).unwrap();
        assert_eq!(audit.matches(r#""command":"talk""#).count(), 1, "{audit}");
        assert!(audit.lines().all(|line| line.contains(r#""peer":"controller"#)), "{audit}");
    }
}

/// A lab takes the cells of a sweep one after the other, and has those that are there when the same command is given again.
#[test]
fn a_sweep_is_run_on_a_lab() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let hosts = Hosts::new(&["east", "west"]);
    hosts.bench.file("x.toml", experiment(&demo(), "3s").as_bytes());
    let words =
        ["sweep", "x.toml", "--vary", "queue=drop-tail,codel", "--seeds", "1", "--on", "lab:HOSTS.toml", "-o", "s"];
    let said = hosts.said(hosts.by_the_controller(&words));
    assert!(matches!(said.code, 0 | 3), "{}{}", said.out, said.err);
    assert!(hosts.are_quiet());
    let cells = || contents(&hosts.bench.path("s")).iter().filter(|(path, _)| path.ends_with("cell.json")).count();
    let failed = fs::read_dir(hosts.bench.path("s/failed")).map_or(0, |found| found.count());
    assert_eq!(cells() + failed, 2, "{}{}", said.out, said.err);
    are_invalid(&hosts.bench.path("s/failed"));
    let kept = cells();
    let again = hosts.said(hosts.by_the_controller(&[&words[..], &["--json"]].concat()));
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((&again["run_cells"], &again["kept_cells"]), (&0.into(), &kept.into()));
}

#[test]
fn a_host_that_dies_makes_a_run_invalid_and_loses_nothing_of_it() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let mut hosts = Hosts::new(&["east", "west"]);
    hosts.bench.file("x.toml", experiment(&demo(), "8s").as_bytes());
    let mut run = hosts.start(4);
    hosts.signal("KILL", "west");
    assert_eq!(run.wait().unwrap().code(), Some(3));
    assert!(hosts.are_quiet());
    let (run, connections, _) = found(&hosts.bench, "run");
    assert_eq!(run["verdict"]["accounted"]["word"], "INVALID");
    let problems = run["live"]["problems"].to_string();
    assert!(problems.contains("west") && problems.contains("gone"), "{problems}");
    assert!(connections > 0, "what came is kept");

    // It comes back, and so does the run, until the controller is killed.
    let host = hosts.names[2].clone();
    hosts.agent("west", &host, "10.99.0.3");
    fs::remove_dir_all(hosts.bench.path("run")).unwrap();
    let mut run = hosts.start(4);
    let controller = processes_in(hosts.bench.folder.path());
    let controller = controller.iter().find(|(_, words)| words.iter().any(|word| word == "lab:HOSTS.toml")).unwrap();
    signal("KILL", *controller.0);
    run.wait().unwrap();
    assert!(hosts.are_quiet(), "hosts stop when the run is gone");
}

#[test]
fn what_cannot_be_spread_is_said_before_anything_is_sent() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let hosts = Hosts::new(&["east", "west"]);
    let refused = |list: &str, code: i32, words: &[&str]| {
        hosts.bench.file("HOSTS.toml", list.as_bytes());
        hosts.said(hosts.run(&[])).failed(code, words);
        assert!(!hosts.bench.path("run").exists());
    };
    let list = fs::read_to_string(hosts.bench.path("HOSTS.toml")).unwrap();
    hosts.bench.file("x.toml", experiment(&demo(), "1s").as_bytes());
    refused("[hosts]\neast = \"10.99.0.2\"\n", 2, &["which hosts play which side", "[sides]"]);
    refused(
        &list.replace("left = [\"east\"", "left = [\"north\""),
        2,
        &["sides.left names north, which is not in [hosts]"],
    );
    refused(&list.replace("left = [\"east\"", "left = [\"west\""), 2, &["west is named twice"]);
    refused(&list.replace("10.99.0.3", "10.99.0.9"), 1, &["10.99.0.9:42010"]);
    hosts.bench.file("x.toml", (experiment(&demo(), "1s") + "[live]\nhosts = 2\n").as_bytes());
    refused(&list, 2, &["live.hosts"]);
    // An agent sends where its keeper lets it, whatever the controller wants.
    hosts.bench.file("x.toml", experiment(&demo(), "1s").as_bytes());
    hosts.enrol("south", r#"destinations = ["192.0.2.0/24"]"#);
    let mut hosts = hosts;
    let host = hosts.names[1].clone();
    ip(&format!("-n {host} address add 10.99.0.7/24 dev eth0"));
    hosts.agent("south", &host, "10.99.0.7");
    let list = list.replace("east = \"10.99.0.2\"", "south = \"10.99.0.7\"").replace("\"east\"", "\"south\"");
    hosts.bench.file("HOSTS.toml", list.as_bytes());
    hosts.said(hosts.run(&[])).failed(1, &["10.99.0.1", "send.destinations"]);
    assert!(!hosts.bench.path("run").exists());
}

/// Both sides of a `replay`, of so many seconds, with more parameters for each.
fn replays(seconds: u32, more: [&str; 2]) -> String {
    let leaf = |own, host, peer, side, more| {
        format!(
            "replay {own} {{ own = 10.99.0.{host}:43000; peer = 10.99.0.{peer}:43000; side = {side}; workload = demo; \
             duration = {seconds}; rate = 100M; {more} }}"
        )
    };
    format!("cluster {{ {} {} }}", leaf("east", 2, 3, "left", more[0]), leaf("west", 3, 2, "right", more[1]))
}

/// The rows of a table of a `replay`, by connection: the values by column.
fn ends(table: &str) -> BTreeMap<u64, BTreeMap<&str, &str>> {
    let (columns, rows) = table.split_once('\n').unwrap();
    let columns: Vec<&str> = columns.split(',').collect();
    let by_id = rows.lines().map(|row| {
        assert_eq!(row.split(',').count(), columns.len(), "{row}");
        let row: BTreeMap<&str, &str> = columns.iter().copied().zip(row.split(',')).collect();
        (row["connection"].parse().unwrap(), row)
    });
    by_id.collect()
}

#[test]
fn a_script_replays_a_workload_between_two_hosts_with_the_path_of_each_connection() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let hosts = Hosts::new(&["east", "west"]);
    hosts.bench.flowloom(&["extract", &demo(), "-o", "demo.parquet", "--quiet"]).succeeded();
    let vectors: BTreeMap<u64, ConnectionVector> = WorkloadReader::open(&hosts.bench.path("demo.parquet"))
        .unwrap()
        .map(Result::unwrap)
        .filter(|vector| vector.protocol == Protocol::Tcp && vector.start < Time::from_nanos(8_000_000_000))
        .map(|vector| (vector.id, vector))
        .collect();

    let found = hosts.played(&replays(8, ["", ""]));
    assert!(hosts.are_quiet());
    let found: Vec<&Value> = found.iter().map(|leaf| &leaf["report"]["results"]).collect();
    let sum = |what: &str| found.iter().map(|side| side[what].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("initiated"), vectors.len() as u64, "{found:?}");
    assert_eq!(sum("started"), vectors.len() as u64, "{found:?}");
    assert_eq!(sum("lost_packets") + sum("unsent_packets") + sum("left_out_packets"), 0, "{found:?}");
    assert!(found.iter().all(|side| side["problems"] == Value::Array(Vec::new())), "{found:?}");
    assert_eq!(found[0]["workload_sha256"], found[1]["workload_sha256"]);

    let tables = ["1.1.csv", "1.2.csv"].map(|name| fs::read_to_string(hosts.bench.path("out").join(name)).unwrap());
    let [left, right] = [ends(&tables[0]), ends(&tables[1])];
    let number = |row: &BTreeMap<&str, &str>, column: &str| row[column].parse::<u64>().ok();
    let (mut whole, mut as_captured, mut beyond) = (0, 0_usize, Vec::new());
    for (id, vector) in &vectors {
        let ends = [&left[id], &right[id]];
        assert_ne!(ends[0]["end"], ends[1]["end"], "one initiates, the other accepts");
        for end in ends {
            if let (Some(rtt), Some(least)) = (vector.min_rtt(), number(end, "min_rtt_us")) {
                // The kernel's clock has steps of microseconds, and what the hosts' network takes was measured.
                assert!(least * 1_000 + 100_000 >= rtt.as_nanos(), "{id}: {least} us of {rtt}");
                beyond.push((least * 1_000).saturating_sub(rtt.as_nanos()));
            }
        }
        // Some are reset, as they were when they were captured.
        as_captured += usize::from(ends.iter().all(|end| ["completed", "reset"].contains(&end["ended"])));
        if ends.iter().all(|end| end["ended"] == "completed") {
            whole += 1;
            for (from, to) in [(0, 1), (1, 0)] {
                assert_eq!(ends[from]["sent_bytes"], ends[to]["received_bytes"], "{id}");
            }
        }
    }
    beyond.sort_unstable();
    assert!(beyond[beyond.len() / 2] < 5_000_000, "half of the paths are no more than 5 ms longer: {beyond:?}");
    // Some of the capture never end, or not in time; those do not in the simulator either.
    hosts.bench.file("x.toml", experiment(&demo(), "8s").replace("2s", "0s").as_bytes());
    hosts.bench.flowloom(&["run", "x.toml", "-o", "simulated", "--quiet"]);
    let (_, _, completed) = self::found(&hosts.bench, "simulated");
    assert!(as_captured.abs_diff(completed) * 10 <= completed, "{as_captured}, simulated {completed}");
    assert!(whole > 10, "{whole}");
    let responses = |side: &Value| -> u64 {
        side["responses_us"].as_array().unwrap().iter().map(|one| one[1].as_u64().unwrap()).sum()
    };
    assert!(found.iter().map(|side| responses(side)).sum::<u64>() >= whole / 2, "{found:?}");

    // Two pairs of leaves share the workload between them, each connection once.
    fs::remove_dir_all(hosts.bench.path("out")).unwrap();
    let found = hosts.played(&format!(
        "parallel {{ {} {} }}",
        replays(4, ["part = 1; parts = 2;"; 2]),
        replays(4, ["part = 2; parts = 2; delays = off; profile = rfc;"; 2]).replace(":43000", ":43001")
    ));
    let short = vectors.values().filter(|vector| vector.start < Time::from_nanos(4_000_000_000)).count();
    let initiated = found.iter().map(|leaf| leaf["report"]["results"]["initiated"].as_u64().unwrap());
    assert_eq!(initiated.sum::<u64>(), short as u64, "{found:?}");
}

#[test]
fn a_replay_that_does_not_fit_its_other_side_or_is_not_lent_is_said_to_be_so() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let hosts = Hosts::new(&["east", "west"]);
    let refused = |script: &str, words: &[&str]| {
        hosts.bench.file("script.ns", script.as_bytes());
        let words_of = ["lab", "run", "script.ns", "--hosts", "HOSTS.toml", "-o", "out", "--quiet"];
        let said = hosts.said(hosts.by_the_controller(&words_of));
        assert_ne!(said.code, 0);
        assert!(words.iter().all(|word| said.err.contains(word)), "{words:?}: {}", said.err);
        assert!(hosts.are_quiet());
        // It may be there, with what was found until then.
        let _ = fs::remove_dir_all(hosts.bench.path("out"));
    };
    refused(&replays(2, ["", ""]), &["demo.parquet"]);
    hosts.bench.flowloom(&["extract", &demo(), "-o", "demo.parquet", "--quiet"]).succeeded();
    refused(&replays(2, ["", "part = 2; parts = 2;"]), &["nothing came from", "the same workload, parts and workers"]);
    refused(&replays(2, ["", ""]).replace("workload = demo", "workload = secret"), &["secret", "workloads (demo)"]);
    refused(&replays(2, ["", ""]).replace("rate = 100M", "rate = 2G"), &["rate"]);
}
