//! `flowloom run FILE.spec`: VCSIM's specifications.

use crate::support::Bench;

/// Two conversations of FTP for 20 s, in cells of 48 bytes.
pub const TWO: &str = "
seed 3091 4917 seed_end
timer end 20 timer_end
router router_id 1 router_end
router router_id 2 report 0 router_end
switch switch_id 3 switch_end
link connects 1 3 delay 0.0225 link_end
link connects 3 2 delay 0 link_end
host host_id 10 traffic_type ftp host_end
host host_id 11 traffic_type telnet host_end
host host_id 110 function receiver host_end
host host_id 111 host_end
link connects 10 1 link_end
link connects 11 1 link_end
link connects 2 110 link_end
link connects 2 111 link_end
route 10 1 3 2 110 route_end
route 11 1 3 2 111 route_end
";

#[test]
fn a_specification_is_run_and_told_node_by_node() {
    let bench = Bench::new();
    bench.file("two.spec", TWO.as_bytes());
    let said = bench.flowloom(&["run", "two.spec", "-o", "results", "--cell-trace", "cells.tsv"]);
    let text = &said.succeeded().out;
    assert_eq!(said.err, "", "nothing to warn of");
    for wanted in [
        "router 1\n",
        "source 10\n",
        "source 11\n",
        "receiver 110\n",
        "cell throughput",
        "utilisation of the link to 3",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(!text.contains("router 2\n"), "it is not reported");
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    assert_eq!(&read("results/results.txt"), text);
    let answer = bench.json(&["run", "two.spec", "--json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&read("results/results.json")).unwrap(), answer);
    let specification = &answer["specification"];
    assert_eq!((&specification["file"], &specification["timer"]["end_s"]), (&"two.spec".into(), &20.0.into()));
    assert_eq!(specification["links"][0]["speed_bits_per_second"], 1.5e6, "the default");
    let run = &answer["runs"][0];
    assert_eq!(run["routers"][0]["queue_bytes"]["n"], 200, "every 0.1 s");
    assert!(run["hosts"][0]["bits_per_second"].as_f64().unwrap() > 1e5, "{run}");
    assert_eq!(read("results/queues.csv").lines().count(), 1 + 2 * 200);
    assert_eq!(read("results/sources.csv").lines().count(), 1 + 2 * 200);
    // Every cell that entered a circuit was sent at its router.
    let cells = read("cells.tsv");
    let count = |event: &str| cells.lines().filter(|line| line.contains(event)).count() as u64;
    let arrived = run["cells_arrived"].as_u64().unwrap();
    assert_eq!(run["cells"].as_u64().unwrap(), arrived + run["cells_under_way"].as_u64().unwrap());
    // Each waits at a router and at a switch, and comes to a switch and to a router.
    assert!(count("\tcame\t") >= 2 * arrived && count("\tqueued\t") >= count("\tsent\t"), "{arrived}");
    assert_eq!(count("\tlost\t"), 0);
    bench.flowloom(&["run", "two.spec", "-o", "results"]).failed(1, &["results exists", "--force"]);
    bench.flowloom(&["run", "two.spec", "-o", "results", "--force"]).succeeded();
    let several = bench.flowloom(&["run", "two.spec", "--seed", "1", "--seed", "2", "--seed", "3"]);
    assert!(several.succeeded().out.contains("3 runs; means and 95 % intervals"), "{}", several.out);
}

#[test]
fn wrong_specifications_are_refused_with_their_place() {
    let bench = Bench::new();
    let cases = [
        ("route 10 1 3 2 110", "route 10 1 2 110", ":17:", "no switch between its routers"),
        ("route 10 1 3 2 110", "route 110 2 3 1 10", ":17:", "must be a source"),
        ("route 10 1 3 2 110", "route 10 1 3 2 11", ":17:", "must be a receiver"),
        ("route 10 1 3 2 110", "route 10 1 3 1 3 2 110", ":17:", "comes to a node twice"),
        ("route 10 1 3 2 110", "route 3 1 10", ":17:", "must be a host, a router, one or more switches"),
        ("route 10 1 3 2 110", "route 11 1 3 2 110", ":18:", "one conversation at a time"),
        ("link connects 3 2 delay 0 link_end", "", ":17:", "route: nodes 3 and 2 are not linked"),
        ("3091 4917", "3092 4917", ":2:", "3092 is even, and seeds must be odd"),
        ("traffic_type ftp", "traffic_type gopher", ":9:", "unknown word \"gopher\""),
        ("delay 0.0225", "delay soon", ":7:", "link.delay: \"soon\" is not a number"),
        ("end 20", "end 0", ":3:", "timer.end must be above 0"),
        ("end 20", "log 10 regeneration 5 end 20", ":3:", "timer.regeneration of 5 s must not be before timer.log"),
        ("connects 1 3", "connects 1 1", ":7:", "link.connects joins node 1 with itself"),
        ("seed 3091", "tables nowhere seed 3091", ":2:", "tables: nowhere"),
    ];
    for (from, to, line, problem) in cases {
        let text = TWO.replacen(from, to, 1);
        assert_ne!(text, TWO);
        bench.file("bad.spec", text.as_bytes());
        bench.flowloom(&["run", "bad.spec", "-o", "r"]).failed(2, &["bad.spec", line, problem]);
    }
    assert_eq!(bench.names(), ["bad.spec"]);
    bench.file("two.spec", TWO.as_bytes());
    bench.flowloom(&["run", "two.spec", "--rate", "1mbit"]).failed(2, &["--rate is about replays"]);
    bench.flowloom(&["run", "two.spec", "two.spec"]).failed(2, &["is run alone"]);
    bench
        .flowloom(&["run", "two.spec", "--seed", "7", "--seed", "8", "--seed", "7"])
        .failed(2, &["seed 7 is given twice"]);
    let traced =
        |path: &str, more: &[&str]| bench.flowloom(&[&["run", "two.spec", "--cell-trace", path], more].concat());
    traced("two.spec", &[]).failed(1, &["two.spec: exists already", "--force"]);
    traced("./results/cells.tsv", &["-o", "results"])
        .failed(2, &["--cell-trace ./results/cells.tsv", "folder of results"]);
    traced("cells.tsv", &["--seed", "1", "--seed", "2"]).failed(2, &["--cell-trace follows one run"]);
    assert_eq!(bench.names(), ["bad.spec", "two.spec"]);
    bench.file("odd.spec", b"// one\n// \xff\n");
    bench.flowloom(&["run", "odd.spec"]).failed(2, &["odd.spec:2:4: this is not UTF-8"]);
    for words in [&["describe"][..], &["overhead"], &["model", "queue"]] {
        bench.flowloom(&[words, &["two.spec"]].concat()).failed(2, &["two.spec", "a specification of an internetwork"]);
    }
    bench.file("mine", b"");
    bench.flowloom(&["run", "two.spec", "-o", "mine", "--force"]).failed(1, &["mine exists and holds no results"]);
}

/// The FTP source sends without a pause, so that the network is never empty.
#[test]
fn what_has_no_effect_is_warned_of() {
    let bench = Bench::new();
    let with = |from: &str, to: &str| {
        assert!(TWO.contains(from));
        bench.file("odd.spec", TWO.replacen(from, to, 1).as_bytes());
        bench.json(&["run", "odd.spec", "--json", "-o", "odd", "--force"])["warnings"].clone()
    };
    assert_eq!(with("end 20", "end 20"), serde_json::json!([]));
    let window = with("router router_id 1", "router router_id 1 flow_control none default_window 64");
    let text = window[0].as_str().unwrap();
    assert!(text.starts_with("default_window and maximum_window have no effect without flow control"), "{window}");
    assert!(text.contains("router 1, router 2 (the first in line 4) (remedy: set flow_control"), "{window}");
    let never = with("end 20", "regeneration 10 end 20");
    assert!(
        never[0].as_str().unwrap().starts_with("no instant of regeneration from 10 s to the end at 20 s"),
        "{never}"
    );
    let late = with("end 20", "regeneration 30 end 20");
    assert!(late[0].as_str().unwrap().contains("looked for after timer.end"), "{late}");
    bench.flowloom(&["run", "odd.spec"]).succeeded();
    let said = bench.flowloom(&["run", "odd.spec", "--seed", "1", "--seed", "3"]);
    assert!(said.err.contains("warning: 2 of 2 runs: no instant of regeneration"), "{}", said.err);
    let results = std::fs::read_to_string(bench.path("odd/results.json")).unwrap();
    assert!(results.contains("looked for after timer.end"), "the folder has it too: {results}");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let bench = Bench::new();
    let text = TWO
        .replace("router router_id 1", "router router_id 1 vcmap per_type idle_time soon")
        .replace("delay 0.0225", "dely 0.0225")
        .replace("host_id 11 traffic_type telnet", "host_id 11 traffic_type telnett window_limit 0")
        .replace("link connects 2 110 link_end", "link connects 2 112 link_end");
    bench.file("bad.spec", text.as_bytes());
    let said = bench.flowloom(&["run", "bad.spec", "-o", "r"]);
    said.failed(2, &[]);
    let names = "cell_queue, dynamic_vc, idle_time, setup_time, vc_window, flow_control, default_window, \
                 maximum_window, peak_rate, meter_time, report, buffer_policy, \
                 buffer_size, discard, discard_threshold";
    let wanted = format!(
        "error: bad.spec:4:20: unknown name \"vcmap\" in a router block
    router router_id 1 vcmap per_type idle_time soon router_end
                       ^^^^^
  known: router_id, vc_map, packet_queue, {names}
  hint: did you mean \"vc_map\"?
error: bad.spec:4:45: router.idle_time: \"soon\" is not a number of at least 0
    router router_id 1 vcmap per_type idle_time soon router_end
                                                ^^^^
error: bad.spec:7:19: unknown name \"dely\" in a link block
    link connects 1 3 dely 0.0225 link_end
                      ^^^^
  known: link_id, connects, speed, delay, report
  hint: did you mean \"delay\"?
error: bad.spec:10:30: host.traffic_type: unknown word \"telnett\"
    host host_id 11 traffic_type telnett window_limit 0 host_end
                                 ^^^^^^^
  known: ftp, nntp, smtp, telnet, misc
  hint: did you mean \"telnet\"?
error: bad.spec:10:51: host.window_limit: \"0\" is not a whole number from 1 to 16777216
    host host_id 11 traffic_type telnett window_limit 0 host_end
                                                      ^
error: bad.spec:15:17: link.connects: there is no node 112
    link connects 2 112 link_end
                    ^^^
"
    );
    assert_eq!(said.err, wanted);
    bench.file("bad.spec", TWO.replace("route 1", &"route 1 ".repeat(25)).as_bytes());
    let said = bench.flowloom(&["run", "bad.spec", "-o", "r"]);
    assert!(said.err.ends_with("\nerror: there are 30 more errors\n"), "{}", said.err);
}
