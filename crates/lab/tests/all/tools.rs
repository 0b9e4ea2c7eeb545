//! Leaves that look on, over agents and the loopback device: what they found comes back, as files where that is what it is; and nothing of
//! it is lent unless the agent's keeper says so.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flowloom_lab::agent::limits::DEFAULT;
use flowloom_lab::authority::identity::Name;
use flowloom_lab::authority::unique;
use flowloom_lab::clock::HostClock;
use flowloom_lab::controller::experiment::{Experiment, Outcome, run_whole};
use flowloom_lab::report::Reports;
use flowloom_lab::script::parser::{self, Mode};
use flowloom_lab::script::place::Files;
use flowloom_lab::script::tree::Block;
use flowloom_lab::transport::server::Bounds;
use flowloom_needs::{Need, skip};
use flowloom_store::capture::{Captures, Input, Options};
use serde_json::Value;

use crate::common::{Lab, Running};

/// All that can be lent of the loopback device.
const LENDS: &str = r#"
[capture]
interfaces = ["lo"]
snap = "96b"
[watch]
interfaces = ["lo"]
[monitor]
interfaces = ["lo"]
host = true
"#;

fn script(text: &str) -> Block {
    let mut files = Files::new();
    let file = files.add("script", text, None);
    let (body, found) = parser::script(&files, file, Mode::Strict);
    assert!(found.iter().all(|one| !one.is_error()), "{:?}", found.first().map(|one| one.summary(&files)));
    body.blocks().next().unwrap().clone()
}

/// A port that nobody had a moment ago.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn agent(lab: &Lab, name: &str, limits: &str) -> Running {
    lab.agent_with(name, limits, Arc::new(HostClock), Bounds::default(), |agent| agent).await
}

/// Runs a script into a folder, until its end or for so long.
async fn played(lab: &Lab, agents: &[(&str, &Running)], text: &str, folder: &Path, stop: Option<Duration>) -> Outcome {
    let list: BTreeMap<Name, String> =
        agents.iter().map(|(name, agent)| (name.parse().unwrap(), agent.address.to_string())).collect();
    let name = unique().unwrap();
    let experiment = Experiment::begin(&lab.controller(), Arc::new(HostClock), &name, &script(text), &list).await;
    let experiment = experiment.unwrap_or_else(|problems| panic!("{problems:?}"));
    let mut reports = Reports::new(folder);
    let stop = async {
        match stop {
            Some(after) => tokio::time::sleep(after).await,
            None => std::future::pending().await,
        }
    };
    let outcome = run_whole(experiment, |_| {}, |part| reports.take(&part), stop).await;
    reports.finish().unwrap();
    outcome
}

/// What the leaf of this number reported.
fn report(folder: &Path, number: &str) -> Value {
    let text = std::fs::read_to_string(folder.join("results.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of = lines.into_iter().find(|line| line["node"].as_str().unwrap().contains(&format!(" {number} at ")));
    of.unwrap_or_else(|| panic!("{number}: {text}"))["report"].clone()
}

/// Whether packets can be captured here; a skip where not.
fn may_capture() -> bool {
    let can = nix::unistd::geteuid().is_root();
    if !can {
        skip("lab: capture, watch and monitor leaves", Need::ROOT);
    }
    can
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lent_by_default() {
    let lab = Lab::new();
    let west = agent(&lab, "west", DEFAULT).await;
    let place = tempfile::tempdir().unwrap();
    for (leaf, why) in [
        ("capture west { interface = lo; duration = 1; }", "lo is not in this agent's capture.interfaces"),
        (
            "path west { left = lo; right = eth0; rate = 1M; duration = 1; }",
            "lo is not in this agent's path.interfaces",
        ),
        (
            "watch west { interface = lo; protocol = udp; from = 127.0.0.1:0; to = 127.0.0.1:9; duration = 1; }",
            "lo is not in this agent's watch.interfaces",
        ),
        ("monitor west { period = 100000; duration = 1; }", "monitor.host"),
        ("command west { name = id; duration = 1; }", "id is not in this agent's commands (none)"),
    ] {
        let folder = place.path().join(why.split(' ').next_back().unwrap().replace(['(', ')'], ""));
        std::fs::create_dir_all(&folder).unwrap();
        let outcome = played(&lab, &[("west", &west)], &format!("cluster {{ {leaf} }}"), &folder, None).await;
        assert!(outcome.is_failed && outcome.failed[0].text.contains(why), "{leaf}: {outcome:?}");
    }
    west.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_captured_watched_and_counted_is_what_was_sent() {
    if !may_capture() {
        return;
    }
    let lab = Lab::new();
    let west = agent(&lab, "west", DEFAULT).await;
    let east = agent(&lab, "east", &format!("{DEFAULT}{LENDS}")).await;
    let (source, sink) = (port(), port());
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let text = format!(
        "cluster {{
           test west {{ type = cbr (blocksize = 500, period = 2000, duration = 1); protocol = udp; own = 127.0.0.1:{source}; peer = 127.0.0.1:{sink}; }}
           test east {{ type = sink (blocksize = 2K, duration = 1.5); protocol = udp; own = 127.0.0.1:{sink}; peer = 127.0.0.1:{source}; }}
           capture east {{ interface = lo; snap = 64; duration = 1.5; }}
           watch east {{ interface = lo; protocol = udp; from = 127.0.0.1:{source}; to = 127.0.0.1:{sink}; numbered = true; duration = 1.5; }}
           monitor east {{ interface = lo; period = \"100ms\"; duration = 1.5; }}
         }}"
    );
    let outcome = played(&lab, &[("west", &west), ("east", &east)], &text, folder, None).await;
    assert!(!outcome.is_failed && outcome.failed.is_empty(), "{outcome:?}");
    let came = report(folder, "1.2")["results"]["datagrams"]["received"].as_u64().unwrap();
    assert_eq!(report(folder, "1.1")["results"]["calls"].as_u64(), Some(came));
    // One every 2 ms for a second, of which a machine that is late leaves some out.
    assert!((100..=502).contains(&came), "{came}");

    let captured = report(folder, "1.3");
    assert_eq!((&captured["file"]["name"], &captured["results"]["dropped"]), (&"1.3.pcapng".into(), &0.into()));
    let input = [Input::File(folder.join("1.3.pcapng"))];
    let mut captures = Captures::open(&input, Options::default()).unwrap();
    let (mut of_flow, mut all) = (0, 0);
    let covers = &captured["results"]["covers_unix_ns"];
    let (from, to) = (covers[0].as_u64().unwrap(), covers[1].as_u64().unwrap());
    while let Some(packet) = captures.next_packet().unwrap() {
        all += 1;
        assert!(packet.bytes.len() <= 64 && (from..to).contains(&packet.time.as_nanos()));
        let ports = [source.to_be_bytes(), sink.to_be_bytes()].concat();
        if packet.bytes.get(23) == Some(&17) && packet.bytes.get(34..38) == Some(ports.as_slice()) {
            assert_eq!(packet.wire_length, 14 + 28 + 500);
            of_flow += 1;
        }
    }
    assert_eq!(of_flow, came, "every datagram once");
    assert_eq!(captured["results"]["packets"].as_u64(), Some(all));

    let watched = &report(folder, "1.4")["results"];
    let datagrams = &watched["datagrams"];
    assert_eq!(watched["packets"].as_u64(), Some(came));
    assert_eq!(watched["bytes"].as_u64(), Some(came * (14 + 28 + 500)));
    for (name, count) in [("passed", came), ("lost", 0), ("reordered", 0), ("repeated", 0), ("flows", 1)] {
        assert_eq!(datagrams[name].as_u64(), Some(count), "{name}");
    }
    let arrivals = &watched["arrivals"];
    assert_eq!(arrivals["count"].as_u64(), Some(came - 1));
    let span = arrivals["mean_ns"].as_f64().unwrap() * (came - 1) as f64;
    assert!((0.5e9..1.5e9).contains(&span), "a second, where the machine is on time: {arrivals}");

    let table = std::fs::read_to_string(folder.join("1.5.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(report(folder, "1.5")["results"]["samples"].as_u64(), Some(rows.len() as u64 - 1));
    let column = rows[0].iter().position(|name| *name == "interface_received_packets").unwrap();
    let count = |row: usize| rows[row][column].parse::<u64>().unwrap();
    // A monitor that is late has not seen the first ones as new.
    assert!(count(rows.len() - 1) - count(1) >= came / 2, "{table}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    // Nothing is left in the agent's folder but what was asked for.
    let kept = std::fs::read_dir(east.folder.join("results")).unwrap().count();
    assert_eq!(kept, 1, "the folder of this experiment");
    west.end().await;
    east.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_are_told_apart_where_they_pass() {
    if !may_capture() {
        return;
    }
    let lab = Lab::new();
    let west = agent(&lab, "west", DEFAULT).await;
    let east = agent(&lab, "east", &format!("{DEFAULT}{LENDS}")).await;
    let (source, sink) = (port(), port());
    let place = tempfile::tempdir().unwrap();
    let text = format!(
        "cluster {{
           test west {{ type = cbr (blocksize = 1000, period = 5000, duration = 0.5); protocol = tcp (nodelay = true); own = 127.0.0.1:{source}; peer = 127.0.0.1:{sink}; }}
           test east {{ type = sink (blocksize = 2K, duration = 1); protocol = tcp; own = 127.0.0.1:{sink}; peer = 127.0.0.1:{source}; }}
           watch east {{ interface = lo; protocol = tcp; from = 127.0.0.1:{source}; to = 127.0.0.1:{sink}; duration = 1; }}
         }}"
    );
    let outcome = played(&lab, &[("west", &west), ("east", &east)], &text, place.path(), None).await;
    assert!(!outcome.is_failed && outcome.failed.is_empty(), "{outcome:?}");
    let bytes = report(place.path(), "1.2")["results"]["bytes"].as_u64().unwrap();
    let watched = &report(place.path(), "1.3")["results"];
    assert_eq!(watched["payload_bytes"].as_u64(), Some(bytes));
    let segments = &watched["segments"];
    for (name, count) in
        [("connections", 1), ("reordered", 0), ("lost_before", 0), ("repeated", 0), ("missing_bytes", 0)]
    {
        assert_eq!(segments[name].as_u64(), Some(count), "{name}: {segments}");
    }
    assert_eq!(segments["data"].as_u64(), Some(bytes / 1_000));
    west.end().await;
    east.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_are_stopped_tell_what_they_found() {
    if !may_capture() {
        return;
    }
    let lab = Lab::new();
    let east = agent(&lab, "east", &format!("{DEFAULT}{LENDS}")).await;
    let place = tempfile::tempdir().unwrap();
    let text = "parallel {
        capture east { interface = lo; snap = 96; duration = 60; }
        watch east { interface = lo; protocol = udp; from = 127.0.0.1:0; to = 127.0.0.1:9; duration = 60; }
        monitor east { period = 50000; duration = 60; }
        capture east { interface = lo; snap = 97; duration = 60; }
        capture east { interface = nosuch; duration = 60; }
    }";
    let outcome = played(&lab, &[("east", &east)], text, place.path(), Some(Duration::from_millis(1_200))).await;
    let failed: Vec<String> = outcome.failed.iter().map(ToString::to_string).collect();
    assert!(
        failed.iter().any(|one| one.contains("97 bytes of a packet is more than this agent's capture.snap of 96")),
        "{failed:?}"
    );
    assert!(failed.iter().any(|one| one.contains("interrupted")), "{failed:?}");
    assert!(!failed.iter().any(|one| one.contains("was dropped")), "{failed:?}");
    for number in ["1.1", "1.3"] {
        assert!(place.path().join(report(place.path(), number)["file"]["name"].as_str().unwrap()).is_file());
    }
    assert!(report(place.path(), "1.3")["results"]["samples"].as_u64().unwrap() >= 5);
    assert_eq!(report(place.path(), "1.2")["results"]["packets"], 0);
    east.end().await;
}
