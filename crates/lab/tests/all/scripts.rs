//! Whole scripts over agents: traffic between them, the rules of blocks, and what no consent lets through.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use flowloom_lab::authority::identity::Name;
use flowloom_lab::authority::unique;
use flowloom_lab::clock::HostClock;
use flowloom_lab::control::{Command, Part};
use flowloom_lab::controller::experiment::{Experiment, Outcome, run_whole};
use flowloom_lab::script::parser::{self, Mode};
use flowloom_lab::script::place::Files;
use flowloom_lab::script::tree::Block;

use crate::common::{Lab, Running};

fn script(text: &str) -> Block {
    let mut files = Files::new();
    let file = files.add("script", text, None);
    let (body, found) = parser::script(&files, file, Mode::Strict);
    assert!(
        found.iter().all(|one| !one.is_error()),
        "{:?}",
        found.iter().map(|one| one.summary(&files)).collect::<Vec<_>>()
    );
    body.blocks().next().unwrap().clone()
}

/// A port that nobody had a moment ago.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn played(lab: &Lab, agents: &[&Running], text: &str) -> (Outcome, Vec<Part>, Vec<String>) {
    let names = ["west", "east"];
    let list: BTreeMap<Name, String> =
        names.iter().zip(agents).map(|(name, agent)| (name.parse().unwrap(), agent.address.to_string())).collect();
    let name = unique().unwrap();
    let experiment = Experiment::begin(&lab.controller(), Arc::new(HostClock), &name, &script(text), &list).await;
    let mut phases = Vec::new();
    let experiment = experiment.unwrap_or_else(|problems| panic!("{problems:?}"));
    let mut parts = Vec::new();
    let phase = |command: Command| phases.push(command.to_string());
    let outcome = run_whole(experiment, phase, |part| parts.push(part), std::future::pending()).await;
    (outcome, parts, phases)
}

fn results(parts: &[Part], node: &str) -> serde_json::Value {
    let of_node: Vec<u8> =
        parts.iter().filter(|part| part.node.contains(node)).flat_map(|part| part.bytes.clone()).collect();
    serde_json::from_slice(&of_node).unwrap_or_else(|error| panic!("{node}: {error}: {parts:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn traffic_flows_between_agents_from_an_agreed_moment_on() {
    let lab = Lab::new();
    let (west, east) = (lab.agent("west").await, lab.agent("east").await);
    let (source, sink, rate) = (port(), port(), "rate = 20M");
    for protocol in ["tcp", "udp"] {
        let text = format!(
            "cluster {{
               test west {{ type = full (blocksize = 32768, duration = 0.5); protocol = {protocol} ({rate}); own = 127.0.0.1:{source}; peer = 127.0.0.1:{sink}; }}
               test east {{ type = sink (blocksize = 32768, duration = 1); protocol = {protocol}; own = 127.0.0.1:{sink}; peer = 127.0.0.1:{source}; }}
             }}"
        );
        let (outcome, parts, phases) = played(&lab, &[&west, &east], &text).await;
        assert!(!outcome.is_failed && outcome.failed.is_empty(), "{outcome:?}");
        assert_eq!(phases, ["setup", "open", "run", "finish", "close", "report", "teardown"]);
        let (sent, came) = (results(&parts, "1.1 at west"), results(&parts, "1.2 at east"));
        let bytes = |of: &serde_json::Value| of["results"]["bytes"].as_u64().unwrap();
        assert!(bytes(&sent) > 10_000, "{sent}");
        // The rate is 20,000,000 bit/s of packets; half a second, and the bucket.
        assert!(bytes(&sent) <= 20_000_000 / 8 * 6 / 10, "{sent}");
        if protocol == "tcp" {
            assert_eq!(bytes(&came), bytes(&sent));
        } else {
            let datagrams = &came["results"]["datagrams"];
            assert!(datagrams["received"].as_u64().unwrap() > 0, "{came}");
        }
        // Nothing began before it was agreed to, as far as anybody can tell.
        assert_eq!(outcome.leaves.len(), 2);
        for leaf in &outcome.leaves {
            let ((_, no_later), meant) = (leaf.started_ns.unwrap(), leaf.meant_ns.unwrap());
            assert!(no_later >= meant, "{leaf:?}");
            assert!(leaf.ended_ns.unwrap().1 > no_later);
        }
        assert_eq!(outcome.agents.len(), 2);
        assert!(outcome.agents.iter().all(|agent| agent.clock_steps == 0 && agent.offset.iter().all(Option::is_some)));
    }
    west.end().await;
    east.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leaf_that_fails_fails_its_cluster_and_no_other() {
    let lab = Lab::new();
    let (west, east) = (lab.agent("west").await, lab.agent("east").await);
    let ports: Vec<u16> = (0..4).map(|_| port()).collect();
    // The first sink's port is taken.
    let _taken = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], ports[1]))).unwrap();
    let pair = |source: u16, sink: u16| {
        format!(
            "cluster {{
               test west {{ type = burst (blocksize = 1000, period = 10000, duration = 0.3); protocol = tcp; own = 127.0.0.1:{source}; peer = 127.0.0.1:{sink}; }}
               test east {{ type = sink (blocksize = 1000, duration = 0.6); protocol = tcp; own = 127.0.0.1:{sink}; peer = 127.0.0.1:{source}; }}
             }}"
        )
    };
    let (one, two) = (pair(ports[0], ports[1]), pair(ports[2], ports[3]));
    for kind in ["parallel", "serial"] {
        let (outcome, parts, _) = played(&lab, &[&west, &east], &format!("{kind} {{ {one} {two} }}")).await;
        assert!(!outcome.is_failed);
        assert_eq!(outcome.failed.len(), 1, "{outcome:?}");
        assert!(
            outcome.failed[0].to_string().starts_with("test 1.1.2 at east: setup: cannot have 127.0.0.1:"),
            "{outcome:?}"
        );
        assert!(results(&parts, "1.2.2 at east")["results"]["bytes"].as_u64().unwrap() >= 1_000);
    }
    let (outcome, _, phases) = played(&lab, &[&west, &east], &format!("cluster {{ {one} {two} }}")).await;
    assert!(outcome.is_failed);
    assert_eq!(phases, ["setup", "kill", "report", "teardown"]);
    west.end().await;
    east.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_to_a_host_that_has_not_agreed() {
    let lab = Lab::new();
    let west = lab.agent("west").await;
    // Somebody listens there, who is no agent of the lab.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let peer = silent.local_addr().unwrap();
    let own = port();
    let text = format!(
        "test west {{ type = burst (blocksize = 100, period = 1000, duration = 0.3); protocol = udp; own = 127.0.0.1:{own}; peer = {peer}; }}"
    );
    let (outcome, _, _) = played(&lab, &[&west], &text).await;
    assert!(outcome.is_failed, "{outcome:?}");
    assert!(outcome.failed[0].text.contains("no agent at"), "{outcome:?}");
    assert!(silent.recv_from(&mut [0; 16]).is_err(), "not one packet");
    west.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_experiment_stops_and_reports() {
    let lab = Lab::new();
    let (west, east) = (lab.agent("west").await, lab.agent("east").await);
    let (source, sink) = (port(), port());
    let text = format!(
        "cluster {{
           test west {{ type = full (blocksize = 32768, duration = 60); protocol = tcp (rate = 5M); own = 127.0.0.1:{source}; peer = 127.0.0.1:{sink}; }}
           test east {{ type = sink (blocksize = 32768, duration = 60); protocol = tcp; own = 127.0.0.1:{sink}; peer = 127.0.0.1:{source}; }}
         }}"
    );
    let list: BTreeMap<Name, String> =
        [("west".parse().unwrap(), west.address.to_string()), ("east".parse().unwrap(), east.address.to_string())]
            .into();
    let name = unique().unwrap();
    let experiment = Experiment::begin(&lab.controller(), Arc::new(HostClock), &name, &script(&text), &list)
        .await
        .unwrap_or_else(|_| panic!());
    let enough = tokio::time::sleep(std::time::Duration::from_millis(1_200));
    let mut parts = Vec::new();
    let outcome = run_whole(experiment, |_| {}, |part| parts.push(part), enough).await;
    assert!(outcome.is_failed && outcome.failed[0].text.contains("interrupted"), "{outcome:?}");
    assert!(results(&parts, "1.1 at west")["results"]["bytes"].as_u64().unwrap() > 0);
    west.end().await;
    east.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_agent_is_said_at_once() {
    let lab = Lab::new();
    let nobody = port();
    let list: BTreeMap<Name, String> = [("west".parse().unwrap(), format!("127.0.0.1:{nobody}"))].into();
    let name = unique().unwrap();
    for (text, why) in
        [("sleep west { duration = 1; }", "refused"), ("parallel { sleep { duration = 1; } }", "has no address")]
    {
        let begun = Experiment::begin(&lab.controller(), Arc::new(HostClock), &name, &script(text), &list).await;
        let problems = begun.err().unwrap();
        assert!(problems[0].to_string().contains(why), "{problems:?}");
    }
}
