//! The main job through the command line: extract, describe, run, compare, report.

use std::collections::BTreeMap;
use std::process::Command;

use crate::support::{Bench, Traffic, contents};
use flowloom::time::Duration;
use flowloom_needs::{Need, skip};
use serde_json::Value;

/// Every field of `value` named by a path like `connections.total` is a number, an object or a string, not missing.
#[track_caller]
fn has(value: &Value, paths: &[&str]) {
    for path in paths {
        let found = path.split('.').try_fold(value, |value, key| value.get(key));
        assert!(found.is_some_and(|found| !found.is_null()), "{path} is missing in {value}");
    }
}

/// The first command of the README, in a folder where nothing was run before.
#[test]
fn folders_above_a_run_are_made_when_there_is_a_run() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(4).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "runs/deep/demo"]).succeeded();
    assert!(bench.path("runs/deep/demo/run.json").exists());
    bench.file("nothing.pcap", &Traffic::many(0).pcap());
    bench.flowloom(&["run", "nothing.pcap", "-o", "others/demo"]);
    assert!(!bench.path("others").exists());
}

#[test]
fn extract_counts_what_the_design_promises() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(40).pcap());
    let counts = bench.json(&["extract", "c.pcap", "-o", "w.parquet", "--json"]);
    has(
        &counts,
        &[
            "packets",
            "bytes",
            "duration_ns",
            "connections.total",
            "connections.sequential",
            "connections.concurrent",
            "connections.no_data",
            "connections.one_way",
            "connections.complete",
            "connections.incomplete",
            "payload_bytes.initiator",
            "payload_bytes.acceptor",
            "set_aside",
        ],
    );
    assert_eq!(counts["connections"]["sequential"], 40);
    assert_eq!(counts["connections"]["complete"], 40);
    let sent: u64 = (0..40).map(|id| 200 + id * 37 % 400).sum();
    assert_eq!(counts["payload_bytes"]["initiator"], sent);
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).failed(1, &["w.parquet: exists already", "--force"]);
    bench.flowloom(&["extract", "c.pcap", "-o", "w.csv"]).failed(2, &["w.csv: extract writes", "flowloom convert"]);
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", "--force"]).succeeded();
}

#[test]
fn the_position_of_the_monitor_decides_where_segments_were_lost_and_is_doubted_if_it_cannot_be() {
    let bench = Bench::new();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    let told = |monitor: &str| {
        let counts = bench.json(&["extract", demo, "--monitor", monitor, "-o", "w.parquet", "--force", "--json"]);
        let count = |name: &str| counts["tcp"][name].as_u64().unwrap();
        assert_eq!(count("late_segments"), count("segments_lost_before_monitor") + count("uncaptured_segments"));
        (count("segments_lost_before_monitor"), count("uncaptured_segments"), counts["warnings"].to_string())
    };
    let (lost, uncaptured, warnings) = told("mid");
    assert!(lost > 0 && uncaptured == 0 && !warnings.contains("--monitor"), "{lost} {uncaptured} {warnings}");
    let [initiator, acceptor] = ["initiator", "acceptor"].map(told);
    // What one end lost before a monitor in the middle, a monitor at that end did not capture.
    assert_eq!((initiator.0 + initiator.1, acceptor.0 + acceptor.1), (lost, lost));
    assert_eq!((initiator.0, initiator.1), (acceptor.1, acceptor.0));
    assert!(initiator.0 > 0 && acceptor.0 > 0, "{initiator:?} {acceptor:?}");
    // The demonstration was captured in the middle.
    for (position, said) in [("initiator", initiator.2), ("acceptor", acceptor.2)] {
        assert!(said.contains(&format!("--monitor {position} says the capture was made there, but")), "{said}");
    }
}

#[test]
fn a_replay_over_a_wide_link_is_the_original() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(100).pcap());
    let run = bench.json(&["run", "c.pcap", "-o", "r", "--rate", "unlimited", "--json"]);
    has(
        &run,
        &[
            "verdict",
            "connections.started",
            "connections.completed",
            "connections.reset",
            "connections.unfinished",
            "duration_ns.n",
            "duration_ns.mean",
            "duration_ns.p999",
            "response_time_ns.p50",
            "queue_packets.max",
            "throughput",
            "active_connections",
            "packets",
            "events",
            "wall_ns",
        ],
    );
    assert_eq!(run["verdict"]["accounted"]["word"], "VALID");
    assert_eq!(run["connections"]["completed"], 100);
    let compared = bench.json(&["compare", "r", "--json"]);
    let differences = compared["comparisons"][0]["differences"].as_array().unwrap();
    for metric in ["response_time", "round_trip_time", "adu_size"] {
        let found = differences.iter().find(|difference| difference["metric"] == metric).unwrap();
        assert_eq!(found["judgement"], "same", "{found}");
    }
    for file in ["run.json", "host.json", "report.html", "workload.parquet", "connections.parquet", "epochs.parquet"] {
        assert!(bench.path("r").join(file).exists(), "{file}");
    }
    let report = std::fs::read_to_string(bench.path("r/report.html")).unwrap();
    assert!(report.contains("</html>") && !report.contains("10.0.0."), "whole, and without addresses");
    bench.flowloom(&["compare", "r", "r", "--check"]).succeeded();
    bench.flowloom(&["report", "r", "r", "-o", "two.html"]).succeeded();
    assert!(bench.path("two.html").exists());
}

#[test]
fn a_narrow_link_is_told_from_a_wide_one() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(200).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench.flowloom(&["run", "w.parquet", "-o", "wide"]).succeeded();
    bench.flowloom(&["run", "w.parquet", "-o", "narrow", "--rate", "101%", "--queue", "10p"]).succeeded();
    bench.flowloom(&["compare", "wide", "narrow", "--check"]).failed(4, &[]);
    let narrow = bench.json(&["describe", "narrow", "--json"]);
    assert!(narrow["summary"]["retransmissions"].as_u64().unwrap() > 0, "a queue of ten packets must drop some");
}

#[test]
fn describe_reads_captures_workloads_and_runs() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(30).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r"]).succeeded();
    let capture = bench.json(&["describe", "c.pcap", "--json"]);
    let workload = bench.json(&["describe", "r/workload.parquet", "--json"]);
    for part in ["capture", "workload", "load"] {
        assert_eq!(capture[part], workload[part], "a workload file tells what its capture told: {part}");
    }
    assert_eq!((&capture["protocols"][0]["protocol"], &workload["protocols"]), (&"tcp".into(), &Value::Null));
    assert_eq!(capture["classes"][2], workload["classes"][2]);
    assert_eq!(capture["workload"]["connections"]["sequential"], 30);
    for input in ["c.pcap", "r/workload.parquet", "r"] {
        let said = bench.flowloom(&["describe", input]);
        assert!(said.succeeded().out.contains("response time"), "{}", said.out);
    }
}

#[test]
fn describe_tells_what_the_records_of_runs_say() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "s", "--seed", "1", "--seed", "2"]).succeeded();
    let one = bench.flowloom(&["describe", "r", "--html", "r.html"]).succeeded().out.clone();
    for told in ["VALID", "response times, at the ends", "in bins of", "line busy", "Hurst parameter", "run length"] {
        assert!(one.contains(told), "{told}: {one}");
    }
    let tables = &one[one.find("durations, at the ends").unwrap()..];
    assert!(tables.lines().all(|line| line.chars().count() <= 100), "{tables}");
    assert!(std::fs::read_to_string(bench.path("r.html")).unwrap().contains("<html"), "the report");
    let run = bench.json(&["describe", "r", "--json"]);
    let mut again = bench.json(&["run", "c.pcap", "-o", "again", "--json"]);
    again["wall_ns"] = run["summary"]["wall_ns"].clone();
    again.as_object_mut().unwrap().remove("json_version");
    assert_eq!(again.as_object_mut().unwrap().remove("folder"), Some("again".into()));
    assert_eq!(run["summary"], again, "what run printed");
    let several = bench.json(&["describe", "s", "--json"]);
    assert_eq!(several["runs"].as_array().unwrap().len(), 2);
    assert_eq!(several["warm_up"][0]["runs"], 2);
    // What breaks the traffic down adds up to all of it.
    let count = |pattern: &str, size: &str| {
        let rows = run["breakdowns"].as_array().unwrap();
        let row = rows.iter().find(|row| {
            (&row["variable"], &row["measured_at"]) == (&"duration_ns".into(), &"endpoint".into())
                && (&row["pattern"], &row["size"]) == (&pattern.into(), &size.into())
        });
        row.map_or(0, |row| row["values"]["n"].as_u64().unwrap())
    };
    let all = count("all", "all");
    assert_eq!((count("sequential", "all") + count("concurrent", "all"), all > 0), (all, true));
    assert_eq!(count("all", "below_4_kb") + count("all", "4_kb_and_more"), all);
    let marginals = run["marginals"].as_array().unwrap();
    assert!(marginals.len() > 1 && marginals[0]["bin_ns"] == 1_000_000, "{marginals:?}");
    let means: Vec<f64> = marginals.iter().map(|one| one["packets_per_second"]["mean"].as_f64().unwrap()).collect();
    assert!((means[0] / means[1] - 1.0).abs() < 0.1, "{means:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_whatever_the_threads() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "a"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "b"]).succeeded();
    let (a, b) = (contents(&bench.path("a")), contents(&bench.path("b")));
    assert_eq!(
        a.len(),
        15,
        "twelve tables, run.json, report.html, workload.parquet and nothing unexpected: {:?}",
        a.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    for ((name, left), (other, right)) in a.iter().zip(&b) {
        assert!(name == other && left == right, "{} differs", name.display());
    }
    let seeds = ["--seed", "1", "--seed", "2", "--seed", "3"];
    bench.flowloom(&[&["run", "c.pcap", "-o", "one", "--jobs", "1"][..], &seeds].concat()).succeeded();
    bench.flowloom(&[&["run", "c.pcap", "-o", "two", "--jobs", "2"][..], &seeds].concat()).succeeded();
    let (one, two) = (contents(&bench.path("one")), contents(&bench.path("two")));
    assert_eq!(one.len(), 47, "three run folders of fifteen files, their index and report");
    for ((name, left), (other, right)) in one.iter().zip(&two) {
        assert!(name == other && left == right, "{} differs", name.display());
    }
}

#[test]
fn experiments_run_relative_to_their_file() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("lab")).unwrap();
    bench.file("lab/c.pcap", &Traffic::many(20).pcap());
    bench.file(
        "lab/e.toml",
        b"title = \"Test\"\n[workload]\nsource = \"c.pcap\"\n[network]\nbottleneck = { rate = \"20mbit\", delay = \"1ms\" }\n",
    );
    bench.flowloom(&["run", "lab/e.toml", "-o", "r"]).succeeded();
    let run: Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
    assert_eq!(run["title"], "Test");
    assert_eq!(run["verdict"]["accounted"]["word"], "VALID");
    let again = run["experiment"].as_str().unwrap();
    assert!(again.contains("rate = \"20mbit\""), "{again}");
}

#[test]
fn a_window_leaves_out_what_starts_outside() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.file("e.toml", b"[workload]\nsource = \"c.pcap\"\n[measure]\nwindow = [\"0s\", \"300ms\"]\n");
    let all = bench.json(&["run", "c.pcap", "-o", "all", "--json"]);
    let part = bench.json(&["run", "e.toml", "-o", "part", "--json"]);
    let started = |run: &Value| run["connections"]["started"].as_u64().unwrap();
    assert!(0 < started(&part) && started(&part) < started(&all), "{} of {}", started(&part), started(&all));
    assert_eq!(part["packets"], all["packets"], "all of it is replayed; the window says what counts");
    let said = bench.flowloom(&["describe", "part"]);
    assert!(said.succeeded().out.contains("window 0 s-300 ms"), "{}", said.out);
}

#[test]
fn a_run_can_begin_in_the_middle_with_connections_in_progress() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    let experiment = |prefill: &str| format!("[workload]\nsource = \"c.pcap\"\nprefill = \"{prefill}\"\n");
    bench.file("e.toml", experiment("300ms").as_bytes());
    bench.file("long.toml", experiment("10h").as_bytes());
    let all = bench.json(&["run", "c.pcap", "-o", "all", "--json"]);
    let rest = bench.json(&["run", "e.toml", "-o", "rest", "--json"]);
    let number = |run: &Value, key: &str| run["connections"][key].as_u64().unwrap();
    assert_eq!(rest["verdict"]["accounted"]["word"], "VALID");
    assert_eq!(number(&rest, "completed"), number(&rest, "started"));
    assert!(number(&rest, "started") < number(&all, "started"), "those that were over are left out");
    let said: Value = serde_json::from_slice(&std::fs::read(bench.path("rest/run.json")).unwrap()).unwrap();
    assert!(said["model"].as_str().unwrap().contains("beginning after 300ms"), "{}", said["model"]);
    let refused = bench.flowloom(&["run", "long.toml", "-o", "none"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("workload.prefill of 10h is longer than the workload"), "{}", refused.err);
}

#[test]
fn a_window_behind_the_record_is_explained() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    bench.file(
        "e.toml",
        b"[workload]\nsource = \"c.pcap\"\n[measure]\nduration = \"9min\"\nwindow = [\"5min\", \"8min\"]\n",
    );
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    let out = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.code, 3, "{out}");
    assert!(out.contains("results begin at 300 s (measure.window), and the record that is replayed ends at"), "{out}");
}

#[test]
fn shares_of_the_load_that_no_link_has_are_refused() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    bench
        .flowloom(&["run", "c.pcap", "-o", "r", "--rate", "0.00001%"])
        .failed(2, &["network.bottleneck.rate of 0.00001% comes to", "a link has at least 100 bit/s"]);
}

#[test]
fn a_run_says_how_to_repeat_it_and_a_report_when_it_was_made_but_not_where() {
    let bench = Bench::new();
    let capture = bench.file("c.pcap", &Traffic::many(20).pcap());
    let typed = capture.to_str().unwrap();
    let options = ["--idle-timeout", "90s", "--udp-idle-timeout", "5s", "--complete-only"];
    bench.flowloom(&[&["run", typed, "-o", "r"][..], &options].concat()).succeeded();
    let run: Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
    assert_eq!(run["source"], "c.pcap");
    assert!(run["provenance"]["c.pcap"].as_str().unwrap().starts_with("SHA-256"), "{}", run["provenance"]);
    let command = run["command"].as_str().unwrap();
    let options = "--idle-timeout 90000000000ns --udp-idle-timeout 5000000000ns --complete-only --seed 1";
    assert_eq!(command, format!("flowloom run {typed} {options}"));
    bench.flowloom(&["report", "r", "-o", "again.html"]).succeeded();
    let host: Value = serde_json::from_slice(&std::fs::read(bench.path("r/host.json")).unwrap()).unwrap();
    let [own, again] = ["r/report.html", "again.html"].map(|path| std::fs::read_to_string(bench.path(path)).unwrap());
    let date = host["date"].as_str().unwrap();
    assert!(again.contains(date) && again.contains("<dt>wall time</dt>") && again.contains("<dt>kernel</dt>"));
    assert!(
        !own.contains(date) && !own.contains("<dt>wall time</dt>"),
        "the folder's bytes are the experiment's alone"
    );
}

#[test]
fn quiet_leaves_the_exit_code_alone() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r", "-q"]).succeeded();
    for words in [&["compare", "r", "r", "--check", "-q"][..], &["doctor", "-q"], &["report", "r", "-q"]] {
        assert_eq!(bench.flowloom(words).succeeded().out, "", "{words:?}");
    }
}

#[test]
fn the_example_experiments_run() {
    let bench = Bench::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut found = 0;
    for example in std::fs::read_dir(examples).unwrap() {
        let path = example.unwrap().path();
        // Scripts of the lab, which need hosts, have a folder of their own.
        if path.is_dir() {
            continue;
        }
        found += 1;
        bench.flowloom(&["run", &path.to_string_lossy(), "-o", &format!("r{found}")]).succeeded();
    }
    assert!(found > 0);
}

#[test]
fn captures_are_read_from_standard_input_and_several_at_once() {
    let bench = Bench::new();
    let all = Traffic::many(20);
    let (even, odd): (Vec<_>, Vec<_>) = all.packets.iter().copied().partition(|packet| packet.connection % 2 == 0);
    bench.file("all.pcap", &all.pcap());
    bench.file("even.pcap", &Traffic { packets: even }.pcap());
    bench.file("odd.pcap", &Traffic { packets: odd }.pcap());
    let whole = bench.json(&["extract", "all.pcap", "-o", "whole.parquet", "--json"]);
    let merged = bench.json(&["extract", "even.pcap", "odd.pcap", "-o", "merged.parquet", "--json"]);
    assert_eq!(whole["connections"], merged["connections"]);
    assert_eq!(whole["duration_ns"], merged["duration_ns"]);
    let piped = assert_cmd::Command::cargo_bin("flowloom")
        .unwrap()
        .current_dir(bench.folder.path())
        .args(["extract", "-", "-o", "piped.parquet", "--json"])
        .write_stdin(all.pcap())
        .output()
        .unwrap();
    let piped: Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(whole["connections"], piped["connections"]);
}

#[test]
fn progress_comes_as_lines() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(300).pcap());
    for words in [&["extract", "c.pcap", "-o", "w.parquet"][..], &["run", "c.pcap", "-o", "r"], &["describe", "c.pcap"]]
    {
        let said = bench.flowloom(&[words, &["--json-stream"]].concat());
        let lines: Vec<Value> = said.succeeded().out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.first().unwrap()["event"], "start");
        assert!(lines.iter().any(|line| line["event"] == "progress" && line["done"].is_u64()), "{}", said.out);
        let end = lines.last().unwrap();
        assert_eq!(end["event"], "end");
        assert!(end["result"].is_object());
    }
}

/// Runs that go on side by side: whole lines, of which each says of which run it is.
#[test]
fn intervals_name_their_run() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(300).pcap());
    let said = bench.flowloom(&["run", "c.pcap", "-o", "r", "--seed", "1", "--seed", "2", "--json-stream"]);
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    for line in said.succeeded().out.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        if event["event"] == "interval" {
            let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} of {line}"));
            let before = ends.insert(number("seed"), number("end_ns"));
            assert!(before.is_none_or(|before| before <= number("start_ns")), "{line} after {before:?}");
        }
    }
    assert!(ends.keys().eq(&[1, 2]), "{ends:?}");
}

#[test]
fn a_terminal_shows_how_far_a_run_is() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(8_000).pcap());
    let command = format!("{} run c.pcap -o r", env!("CARGO_BIN_EXE_flowloom"));
    let words = ["-qec", &command, "/dev/null"];
    let script = Command::new("script").args(words).env("TERM", "xterm").current_dir(bench.folder.path()).output();
    let Ok(output) = script else {
        return skip("cli: progress on a terminal", Need::new("script", "apt-get install bsdutils"));
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let shown = said.split(['\r', '\n']).find(|line| line.contains("simulating")).unwrap_or_else(|| panic!("{said}"));
    // Simulated time, rate, time left.
    for word in [" %  ", " of 400 s  ", " s/s  ", " left"] {
        assert!(shown.contains(word), "{word} is missing in {shown}");
    }
}

#[test]
fn decisions_are_explained_on_request() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(3).pcap());
    let said = bench.flowloom(&["describe", "c.pcap", "-v"]);
    assert!(said.succeeded().err.contains("initiator told: 3 by its SYN"), "{}", said.err);
    let said = bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", "-q"]);
    assert!(said.succeeded().out.is_empty() && said.err.is_empty());
}

#[test]
fn names_of_inputs_can_be_left_out() {
    let bench = Bench::new();
    bench.file("secret-site.pcap", &Traffic::many(20).pcap());
    bench.file("e.toml", b"[workload]\nsource = \"secret-site.pcap\"\n");
    bench.flowloom(&["run", "secret-site.pcap", "-o", "r", "--anonymize"]).succeeded();
    bench.flowloom(&["run", "e.toml", "-o", "e", "--anonymize"]).succeeded();
    // A remark about a line of a log would say where the log lies.
    bench.file(
        "secret-site.log",
        b"#separator \\x09\n#path\tconn\n\
          #fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\torig_bytes\tresp_bytes\tconn_state\tmissed_bytes\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n\
          #types\ttime\tstring\taddr\tport\taddr\tport\tenum\tinterval\tcount\tcount\tstring\tcount\tcount\tcount\tcount\tcount\n\
          1.0\tCa\t10.0.0.1\t5000\t10.0.0.2\t80\ttcp\t2.5\t300\t7000\tSF\t1460\t6\t620\t8\t7420\n",
    );
    let log = bench.flowloom(&["run", "secret-site.log", "-o", "l", "--anonymize"]);
    assert!(log.succeeded().out.contains("missed bytes"), "{}", log.out);
    let named = bench.flowloom(&["run", "secret-site.log", "-o", "named"]);
    assert!(named.succeeded().out.contains("secret-site.log:5"), "{}", named.out);
    let folders = ["r", "e", "l"].map(|folder| contents(&bench.path(folder)));
    for (name, bytes) in folders.into_iter().flatten() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("secret-site"), "{} names the input", name.display());
    }
}

#[test]
fn every_input_keeps_its_hash() {
    let bench = Bench::new();
    let all = Traffic::many(20);
    let (even, odd): (Vec<_>, Vec<_>) = all.packets.iter().copied().partition(|packet| packet.connection % 2 == 0);
    for (folder, packets) in [("a", even), ("b", odd)] {
        std::fs::create_dir(bench.path(folder)).unwrap();
        bench.file(&format!("{folder}/c.pcap"), &Traffic { packets }.pcap());
    }
    for (output, anonymize) in [("named", &[][..]), ("unnamed", &["--anonymize"])] {
        bench.flowloom(&[&["run", "a/c.pcap", "b/c.pcap", "-o", output][..], anonymize].concat()).succeeded();
        let run = std::fs::read(bench.path(output).join("run.json")).unwrap();
        let run: Value = serde_json::from_slice(&run).unwrap();
        let hashes =
            run["provenance"].as_object().unwrap().values().filter(|value| value.to_string().contains("SHA-256"));
        assert_eq!(hashes.count(), 2, "{}", run["provenance"]);
    }
}

#[test]
fn packets_at_the_monitor_can_be_kept() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(25).connection(99, Duration::from_secs(2), 100, 100_000).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r", "--rate", "unlimited", "--pcap"]).succeeded();
    let original = bench.json(&["describe", "c.pcap", "--json"]);
    let replayed = bench.json(&["describe", "r/link.pcap", "--json"]);
    for key in ["connections", "payload_bytes"] {
        assert_eq!(original["workload"][key], replayed["workload"][key]);
    }
}

#[test]
fn doctor_says_what_this_host_can_do() {
    let bench = Bench::new();
    let said = bench.flowloom(&["doctor"]);
    assert!(
        said.succeeded().out.lines().any(|line| line.starts_with("ok") && line.contains("processor")),
        "{}",
        said.out
    );
    let capabilities = bench.json(&["doctor", "--json"]);
    let names: Vec<_> = capabilities["capabilities"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    for name in ["memory", "namespaces", "testbed", "ipv6", "congestion", "descriptors", "wake-ups", "clock", "load"] {
        assert!(names.iter().any(|known| *known == name), "{name}: {names:?}");
    }
}

#[test]
fn doctor_cleans_what_no_run_uses_and_says_so() {
    let bench = Bench::new();
    let nothing = bench.flowloom(&["doctor", "--clean"]);
    assert!(nothing.succeeded().out.contains("nothing to end"), "{}", nothing.out);
    for folder in ["runs/a.partial-Ab3xYz", "runs/b"] {
        std::fs::create_dir_all(bench.path(folder)).unwrap();
    }
    bench.file("runs/a.partial-Ab3xYz/connections.parquet", b"unfinished");
    bench.file("runs/b/run.json", b"{}");
    let cleaned = bench.json(&["doctor", "--clean", "--runs", "runs", "--json"]);
    assert_eq!(cleaned["removed_folders"], serde_json::json!(["runs/a.partial-Ab3xYz"]));
    let again = bench.flowloom(&["doctor", "--clean", "--runs", "runs"]);
    assert!(again.succeeded().out.contains("no unfinished run folder in runs"), "{}", again.out);
    assert!(bench.path("runs/b/run.json").exists());
    bench.flowloom(&["doctor", "--clean", "--runs", "none"]).failed(1, &["cannot read none"]);
    bench.flowloom(&["doctor", "--runs", "runs"]).failed(2, &["--clean"]);
}

#[test]
fn help_has_examples_for_every_command() {
    let bench = Bench::new();
    for command in ["extract", "describe", "run", "sweep", "compare", "report", "doctor"] {
        let said = bench.flowloom(&[command, "--help"]);
        assert!(said.succeeded().out.contains("Example"), "{command}");
    }
}

#[test]
fn a_folder_of_rotated_captures_is_the_capture_it_was_cut_from() {
    let bench = Bench::new();
    let whole = Traffic::many(40);
    bench.file("c.pcap", &whole.pcap());
    std::fs::create_dir(bench.path("ring")).unwrap();
    let mut packets = whole.packets.clone();
    packets.sort_by_key(|packet| packet.time);
    for (number, part) in packets.chunks(50).enumerate() {
        bench.file(&format!("ring/{number}.pcap"), &Traffic { packets: part.to_vec() }.pcap());
    }
    bench.file("ring/notes.txt", b"rotated every 50 packets");
    let one = bench.json(&["extract", "c.pcap", "-o", "one.parquet", "--json"]);
    let many = bench.json(&["extract", "ring", "-o", "many.parquet", "--json"]);
    for field in ["packets", "connections", "payload_bytes", "tcp", "duration_ns"] {
        assert_eq!(one[field], many[field], "{field}");
    }
    assert!(many["inputs"].as_array().unwrap().len() > 5);
    let said = bench.flowloom(&["-v", "describe", "ring"]);
    said.succeeded();
    assert!(said.err.contains("1 entry of the folder is no capture and left out"), "{}", said.err);
    assert!(said.err.contains("ring/notes.txt: left out: it is text"), "{}", said.err);
}

#[test]
fn a_live_capture_becomes_a_workload() {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Traffic until the capture has enough of it: 20 packets are at least one of these connections.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 100]);
            let _ = stream.write_all(&[7; 1_000]);
        }
    });
    std::thread::spawn(move || {
        while let Ok(mut stream) = TcpStream::connect(address) {
            let _ = stream.write_all(&[1; 100]);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    let words = ["extract", "--interface", "lo", "--packets", "2000", "-o", "w.parquet", "--json"];
    let said = bench.flowloom(&words);
    if said.err.contains("not permitted") {
        return skip("cli: capture from an interface", Need::ROOT);
    }
    said.succeeded();
    let counts: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&counts["packets"], &counts["interrupted"]), (&2_000.into(), &false.into()));
    assert_eq!((&counts["inputs"][0]["name"], &counts["inputs"][0]["format"]), (&"lo".into(), &"interface".into()));
    assert!(counts["inputs"][0]["drops"].is_u64(), "{counts}");
    assert!(counts["connections"]["sequential"].as_u64().unwrap() > 20, "{counts}");
    assert!(said.err.contains("capturing from lo"), "{}", said.err);
    bench.flowloom(&["describe", "w.parquet"]).succeeded();
}
