//! Ten thousand leaves in one script: it ends with a clear record, in bounded memory.
//!
//! It has a process of its own, since it measures its memory.

use std::process::Command;
use std::sync::Arc;

use flowloom_lab::agent::limits::DEFAULT;
use flowloom_lab::authority::unique;
use flowloom_lab::clock::{Clock, HostClock};
use flowloom_lab::controller::Hosts;
use flowloom_lab::controller::experiment::{Experiment, run_whole};
use flowloom_lab::script::parser;
use flowloom_lab::script::place::Files;
use flowloom_lab::transport::server::Bounds;

use crate::common::Lab;

const LEAVES: usize = 10_000;
/// Every so many leaves one asks for more than its agent lends.
const REFUSED_EVERY: usize = 997;

fn most_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1_024
}

#[test]
fn ten_thousand_leaves() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "scale::ten_thousand_leaves_child", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    println!("{text}");
    assert!(child.status.success() && text.contains("1 passed"), "{}", String::from_utf8_lossy(&child.stderr));
}

/// The process of the test above.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by ten_thousand_leaves in a process of its own"]
async fn ten_thousand_leaves_child() {
    let lab = Lab::new();
    let limits = DEFAULT.replace("leaves = 1000 ", "leaves = 6000 ");
    let names = ["a", "b", "c", "d"];
    let mut agents = Vec::new();
    for name in names {
        agents.push(lab.agent_with(name, &limits, Arc::new(HostClock), Bounds::default(), |agent| agent).await);
    }
    let hosts: Hosts =
        names.iter().zip(&agents).map(|(name, agent)| (name.parse().unwrap(), agent.address.to_string())).collect();
    // Half of them are the controller's own, a quarter a's, who leaves half of them to b.
    let leaf = |at: usize| {
        let duration = if at.is_multiple_of(REFUSED_EVERY) { "9999" } else { "0.1" };
        format!("sleep {} {{ duration = {duration}; }} ", names[at % 4])
    };
    let some = |range: std::ops::Range<usize>| range.map(leaf).collect::<String>();
    let text = format!(
        "parallel {{ {} parallel a {{ {} parallel b {{ {} }} }} parallel c {{ {} }} }}",
        some(0..LEAVES / 2),
        some(LEAVES / 2..LEAVES * 5 / 8),
        some(LEAVES * 5 / 8..LEAVES * 3 / 4),
        some(LEAVES * 3 / 4..LEAVES),
    );
    let mut files = Files::new();
    let file = files.add("script", &text, None);
    let script = parser::block(&files, file).unwrap_or_else(|found| panic!("{}", found[0].summary(&files)));
    let began = HostClock.monotonic_ns();
    let seconds = || (HostClock.monotonic_ns() - began) as f64 / 1e9;
    let name = unique().unwrap();
    let experiment = Experiment::begin(&lab.controller(), Arc::new(HostClock), &name, &script, &hosts).await;
    let experiment = experiment.unwrap_or_else(|problems| panic!("{problems:?}"));
    let mut reports = 0;
    let phase = |command| println!("{:.1} s: {command}", seconds());
    let outcome = run_whole(experiment, phase, |_| reports += 1, std::future::pending()).await;
    println!("{:.1} s in all, {} MB at most", seconds(), most_memory_bytes() >> 20);
    let refused = LEAVES.div_ceil(REFUSED_EVERY);
    assert!(!outcome.is_failed);
    let others = outcome.failed.iter().find(|failure| !failure.text.contains("send.duration"));
    assert!(others.is_none(), "{others:?}");
    assert_eq!(outcome.failed.len(), refused);
    assert_eq!((outcome.leaves.len(), reports), (LEAVES - refused, LEAVES - refused));
    // Four agents, a controller and their scripts: 10,000 leaves are some tens of megabytes.
    assert!(most_memory_bytes() < 400 << 20, "{} MB", most_memory_bytes() >> 20);
    for agent in agents {
        agent.end().await;
    }
}
