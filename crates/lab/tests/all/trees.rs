//! Scripts whose blocks are done at other hosts: agents that command agents.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowloom_lab::agent::limits::DEFAULT;
use flowloom_lab::authority::unique;
use flowloom_lab::clock::{Clock, HostClock};
use flowloom_lab::control::Part;
use flowloom_lab::controller::experiment::{Experiment, Outcome, report_whole, run_whole};
use flowloom_lab::controller::{ControlError, Hosts, Step};
use flowloom_lab::script::parser;
use flowloom_lab::script::place::Files;
use flowloom_lab::script::tree::Block;
use flowloom_lab::transport::server::Bounds;
use flowloom_lab::transport::{PROTOCOL, Version};

use crate::common::{Cable, Lab, Running, Shifted, until};

fn script(text: &str) -> Block {
    let mut files = Files::new();
    let file = files.add("script", text, None);
    parser::block(&files, file).unwrap_or_else(|found| panic!("{}", found[0].summary(&files)))
}

/// A port that nobody had a moment ago.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn hosts(agents: &[(&str, &Running)]) -> Hosts {
    agents.iter().map(|(name, agent)| (name.parse().unwrap(), agent.address.to_string())).collect()
}

async fn begun(lab: &Lab, name: &str, text: &str, hosts: &Hosts) -> Result<Experiment, Vec<ControlError>> {
    Experiment::begin(&lab.controller(), Arc::new(HostClock), name, &script(text), hosts).await
}

async fn played(lab: &Lab, text: &str, hosts: &Hosts) -> (Outcome, Vec<Part>) {
    let experiment =
        begun(lab, &unique().unwrap(), text, hosts).await.unwrap_or_else(|problems| panic!("{problems:?}"));
    let mut parts = Vec::new();
    let outcome = run_whole(experiment, |_| {}, |part| parts.push(part), std::future::pending()).await;
    (outcome, parts)
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_of_all_hosts_are_heard_as_they_are_taken() {
    let lab = Lab::new();
    let (a, b) = (lab.agent("a").await, lab.agent("b").await);
    let hosts = hosts(&[("a", &a), ("b", &b)]);
    let text = "serial { probe a { duration = 0.1; } cluster b { probe a { duration = 0.1; } } }";
    let experiment = begun(&lab, &unique().unwrap(), text, &hosts).await.unwrap();
    let (heard, steps) = std::sync::mpsc::channel();
    let watcher = move |step: Step<'_>| {
        heard.send((step.agent.to_owned(), step.node.to_owned(), step.command.to_string(), step.is_done)).unwrap();
    };
    let outcome = run_whole(experiment.watched(Box::new(watcher)), |_| {}, |_| {}, std::future::pending()).await;
    assert!(outcome.failed.is_empty(), "{outcome:?}");
    let runs = steps.try_iter().filter(|(_, _, command, _)| command == "run");
    let runs: Vec<_> = runs.map(|(agent, node, _, is_done)| (agent, node, is_done)).collect();
    // What b commands is its own affair until it tells.
    let [leaf, block] = [("a", "probe 1.1 at a"), ("b", "cluster 1.2 at b")]
        .map(|(agent, node)| move |is_done| (agent.to_owned(), node.to_owned(), is_done));
    assert_eq!(runs, [leaf(None), leaf(Some(true)), block(None), block(Some(true))]);
}

fn reported(parts: &[Part]) -> Vec<&str> {
    let mut nodes: Vec<&str> = parts.iter().map(|part| part.node.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Traffic from `source` to `sink`, as two leaves.
fn pair(source: &str, sink: &str, seconds: f64) -> (String, String) {
    let (from, to) = (port(), port());
    let longer = seconds + 0.5;
    let source = format!(
        "test {source} {{ type = burst (blocksize = 1000, period = 10000, duration = {seconds}); protocol = udp; own = 127.0.0.1:{from}; peer = 127.0.0.1:{to}; }}"
    );
    let sink = format!(
        "test {sink} {{ type = sink (blocksize = 1000, duration = {longer}); protocol = udp; own = 127.0.0.1:{to}; peer = 127.0.0.1:{from}; }}"
    );
    (source, sink)
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_done_at_other_hosts_three_levels_deep() {
    let lab = Lab::new();
    let [a, b, c, d] = [lab.agent("a").await, lab.agent("b").await, lab.agent("c").await, lab.agent("d").await];
    let hosts = hosts(&[("a", &a), ("b", &b), ("c", &c), ("d", &d)]);
    // Sources and sinks in different subtrees; a commands a leaf of its own too; c is two levels below.
    let ((to_d, of_c), (to_c, of_a)) = (pair("c", "d", 0.4), pair("a", "c", 0.3));
    let text = format!(
        "parallel {{
           cluster a {{ {to_c} cluster b {{ {to_d} {of_a} probe {{ duration = 0.2; }} }} }}
           serial d {{ {of_c} }}
           serial a {{ probe b {{ duration = 0.1; }} probe c {{ duration = 0.1; }} }}
         }}"
    );
    let (outcome, parts) = played(&lab, &text, &hosts).await;
    assert!(!outcome.is_failed && outcome.failed.is_empty(), "{outcome:?}");
    let names = [
        "probe 1.1.2.3 at b",
        "probe 1.3.1 at b",
        "probe 1.3.2 at c",
        "test 1.1.1 at a",
        "test 1.1.2.1 at c",
        "test 1.1.2.2 at c",
        "test 1.2.1 at d",
    ];
    assert_eq!(reported(&parts), names);
    assert_eq!(outcome.leaves.iter().map(|leaf| leaf.node.as_str()).collect::<Vec<_>>(), names);
    let came = |node: &str| -> serde_json::Value {
        let bytes: Vec<u8> = parts
            .iter()
            .filter(|part| part.node.split(' ').nth(1) == Some(node))
            .flat_map(|part| part.bytes.clone())
            .collect();
        serde_json::from_slice(&bytes).unwrap()
    };
    for sink in ["1.2.1", "1.1.2.2"] {
        assert!(came(sink)["results"]["bytes"].as_u64().unwrap() >= 1_000, "{}", came(sink));
    }
    assert!(
        outcome.said.iter().any(|said| said.node == "probe 1.1.2.3 at b" && said.text == "prepared"),
        "{outcome:?}"
    );
    // Nothing began before it was agreed to, as far as anybody can tell; all hosts have the same clock here.
    let first = outcome.leaves.iter().filter_map(|leaf| leaf.meant_ns).min().unwrap();
    for leaf in &outcome.leaves {
        let ((not_before, no_later), meant) = (leaf.started_ns.unwrap(), leaf.meant_ns.unwrap());
        assert!(no_later >= meant && not_before <= no_later, "{leaf:?}");
        assert_eq!(meant == first, leaf.node != "probe 1.3.2 at c", "what follows has a start of its own: {leaf:?}");
    }
    let ended = outcome.leaves[1].ended_ns.unwrap().0;
    assert!(outcome.leaves[2].started_ns.unwrap().1 >= ended, "the second of a serial block comes after the first");
    // Who commanded whom.
    let mut commanded: Vec<(Option<&str>, &str)> =
        outcome.agents.iter().map(|agent| (agent.parent.as_deref(), agent.agent.as_str())).collect();
    commanded.sort_unstable();
    let (by_a, by_b) = (Some("a"), Some("b"));
    assert_eq!(
        commanded,
        [
            (None, "a"),
            (None, "d"),
            (by_a, "a"),
            (by_a, "b"),
            (by_a, "b"),
            (by_a, "c"),
            (by_b, "b"),
            (by_b, "c"),
            (Some("d"), "d")
        ]
    );
    for agent in &outcome.agents {
        for offset in agent.offset {
            let bounds = offset.unwrap().bounds;
            assert!(bounds.low_ns <= 0 && 0 <= bounds.high_ns, "one clock: {agent:?}");
        }
    }
    for agent in [a, b, c, d] {
        agent.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_fail_by_the_same_rules_wherever_they_are() {
    let lab = Lab::new();
    let (a, b) = (lab.agent("a").await, lab.agent("b").await);
    let hosts = hosts(&[("a", &a), ("b", &b)]);
    let bad = "probe b { duration = 9999; }";
    let (ok, slow) = ("probe b { duration = 0.1; }", "probe b { duration = 60; }");
    for (text, is_failed, failed, reports) in [
        // methods J.3: the first cluster errs, the top acknowledges, the others run.
        (format!("parallel {{ cluster a {{ {ok} {bad} }} cluster a {{ {ok} {ok} }} }}"), false, vec!["1.1.2"], 3..=3),
        // The last has nothing to report if it was not yet set up.
        (format!("cluster {{ cluster a {{ {ok} {bad} }} cluster a {{ {slow} }} }}"), true, vec!["1.1.2"], 1..=2),
        (format!("cluster {{ parallel a {{ {ok} {bad} }} cluster a {{ {ok} }} }}"), false, vec!["1.1.2"], 2..=2),
        (
            format!("serial {{ serial a {{ {bad} {ok} }} parallel a {{ parallel b {{ {bad} {bad} {ok} }} }} }}"),
            false,
            vec!["1.1.1", "1.2.1.1", "1.2.1.2"],
            2..=2,
        ),
    ] {
        let (outcome, parts) = played(&lab, &text, &hosts).await;
        assert_eq!(outcome.is_failed, is_failed, "{text} {outcome:?}");
        let named: Vec<&str> = outcome.failed.iter().map(|failure| failure.node.split(' ').nth(1).unwrap()).collect();
        assert_eq!(named, failed, "{text} {outcome:?}");
        assert!(outcome.failed.iter().all(|failure| failure.text.contains("send.duration")), "{outcome:?}");
        assert!(reports.contains(&reported(&parts).len()), "{text} {:?}", reported(&parts));
    }
    assert_eq!(b.seen.running.load(Ordering::SeqCst), 0);
    a.end().await;
    b.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_stopped_across_hosts_when_a_leaf_of_it_fails() {
    let lab = Lab::new();
    let [a, b, c] = [lab.agent("a").await, lab.agent("b").await, lab.agent("c").await];
    let hosts = hosts(&[("a", &a), ("b", &b), ("c", &c)]);
    let text = "cluster {
        cluster a { probe b { duration = 60; } }
        parallel c { serial a { probe b { duration = 60; } probe b { duration = 60; } } }
        serial c { cluster a { probe a { duration = 0.2; fails = 1; } probe b { duration = 60; } } probe c { duration = 0.1; } }
        cluster c { probe a { duration = 0.6; fails = 1; } }
    }";
    let (outcome, parts) = played(&lab, text, &hosts).await;
    assert!(outcome.is_failed, "{outcome:?}");
    let failed: Vec<&str> = outcome.failed.iter().map(|failure| failure.node.as_str()).collect();
    // The first failure is within a serial block, which goes on; the other is not.
    assert_eq!(failed, ["probe 1.4.1 at a"], "{outcome:?}");
    let beats = |agent: &Running| agent.seen.beats.load(Ordering::SeqCst);
    assert_eq!([&a, &b, &c].map(|agent| agent.seen.running.load(Ordering::SeqCst)), [0; 3]);
    assert_eq!(reported(&parts).len(), 7, "{:?}", reported(&parts));
    assert!(beats(&b) > 0 && beats(&b) < 3 * 60 * 200, "nobody ran for a minute");
    for agent in [a, b, c] {
        agent.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_controller_need_not_reach_the_leaves() {
    let lab = Lab::new();
    let (a, b) = (lab.agent("a").await, lab.agent("b").await);
    // Nothing that the controller sends there arrives: the address is a's name for b alone.
    let cable = Cable::to(b.address).await;
    let mut hosts = hosts(&[("a", &a)]);
    hosts.insert("b".parse().unwrap(), cable.address.to_string());
    let before = cable.connections();
    let (outcome, parts) = played(&lab, "cluster a { }", &hosts).await;
    assert!(!outcome.is_failed && parts.is_empty());
    let (source, sink) = pair("b", "a", 0.3);
    let (outcome, parts) = played(&lab, &format!("cluster {{ cluster a {{ {source} }} {sink} }}"), &hosts).await;
    assert!(outcome.failed.is_empty(), "{outcome:?}");
    assert_eq!(parts.len(), 2);
    assert_eq!(cable.connections() - before, 1, "a's alone");
    a.end().await;
    b.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_there_below_keeps_the_experiment_from_beginning() {
    let lab = Lab::new();
    let (a, b) = (lab.agent("a").await, lab.agent("b").await);
    let other = Version { release: "9.9.9".to_owned(), protocol: PROTOCOL };
    let c =
        lab.agent_with("c", DEFAULT, Arc::new(HostClock), Bounds::default(), |agent| agent.with_version(other)).await;
    let mut hosts = hosts(&[("a", &a), ("b", &b), ("c", &c)]);
    hosts.insert("d".parse().unwrap(), format!("127.0.0.1:{}", port()));
    // Who answers at b's place is c.
    hosts.insert("e".parse().unwrap(), b.address.to_string());
    let problems = |text: &'static str| {
        let (lab, hosts) = (&lab, &hosts);
        async move {
            let problems = begun(lab, &unique().unwrap(), text, hosts).await.err().unwrap();
            problems.iter().map(ControlError::to_string).collect::<Vec<_>>()
        }
    };
    for (text, wanted) in [
        ("parallel { cluster a { sleep c { duration = 1; } } }", "9.9.9"),
        ("parallel { cluster a { sleep d { duration = 1; } } }", "refused"),
        ("parallel { cluster a { sleep e { duration = 1; } } }", "agent b answers there, where e is expected"),
        ("parallel { cluster a { sleep unheard.example { duration = 1; } } }", "is not in the list of hosts"),
    ] {
        let problems = problems(text).await;
        assert_eq!(problems.len(), 1, "{text} {problems:?}");
        assert!(problems[0].contains("cluster 1.1") && problems[0].contains(wanted), "{text} {problems:?}");
    }
    // All of them at once, from two levels below.
    let all = problems("parallel { cluster a { cluster b { sleep c { duration = 1; } sleep d { duration = 1; } } sleep d { duration = 1; } } }").await;
    assert_eq!(all.len(), 1, "what is nearest comes first: {all:?}");
    let all =
        problems("parallel { cluster a { cluster b { sleep c { duration = 1; } sleep d { duration = 1; } } } }").await;
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().all(|why| why.starts_with("cluster 1.1 at a: cluster 1.1.1 at b: ")), "{all:?}");
    for agent in [a, b, c] {
        agent.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn why_a_receiver_did_not_agree_is_said_with_the_leaf() {
    let lab = Lab::new();
    let a = lab.agent("a").await;
    let limits =
        DEFAULT.replace("[receive]", "[receive]\n# little").replacen("rate = \"100mbit\"", "rate = \"100mbit\" ", 1);
    let limits = limits.replace("rate = \"100mbit\"                                # each sender", "rate = \"64kbit\"");
    assert!(limits.contains("64kbit"));
    let b = lab.agent_with("b", &limits, Arc::new(HostClock), Bounds::default(), |agent| agent).await;
    let hosts = hosts(&[("a", &a), ("b", &b)]);
    let (source, sink) = pair("a", "b", 0.2);
    for text in [
        format!("parallel {{ {source} {sink} }}"),
        format!("parallel {{ parallel a {{ {source} }} parallel a {{ {sink} }} }}"),
    ] {
        let (outcome, _) = played(&lab, &text, &hosts).await;
        assert_eq!(outcome.failed.len(), 1, "{outcome:?}");
        let told = &outcome.failed[0].text;
        assert!(
            told.contains("no agent at 127.0.0.1") && told.contains("agent b: ") && told.contains("receive.rate"),
            "{told}"
        );
    }
    a.end().await;
    b.end().await;
}

/// What is left when something between the controller and the leaves goes: all has stopped, and what was found is still there.
async fn lost(how: &str) {
    let lab = Lab::new();
    let (a, b) = (lab.agent("a").await, lab.agent("b").await);
    let (to_a, to_b) = (Cable::to(a.address).await, Cable::to(b.address).await);
    let hosts: Hosts =
        [("a".parse().unwrap(), to_a.address.to_string()), ("b".parse().unwrap(), to_b.address.to_string())].into();
    let text = "parallel { parallel a { probe b { duration = 60; } probe b { duration = 60; deaf = 1; } } probe a { duration = 0.5; } }";
    let name = unique().unwrap();
    let experiment = begun(&lab, &name, text, &hosts).await.unwrap_or_else(|problems| panic!("{problems:?}"));
    let (running, beats) = (Arc::clone(&b.seen), Arc::clone(&b.seen));
    let playing = tokio::spawn(async move {
        let mut parts = Vec::new();
        let outcome = run_whole(experiment, |_| {}, |part| parts.push(part), std::future::pending()).await;
        (outcome, parts)
    });
    until("both run", || running.running.load(Ordering::SeqCst) == 2).await;
    let mut a = Some(a);
    let at = HostClock.monotonic_ns();
    match how {
        "cut above" => to_a.cut(),
        "cut below" => to_b.cut(),
        "both cut" => {
            to_a.cut();
            to_b.cut();
        }
        "agent killed" => {
            to_a.kill();
            to_b.kill();
        }
        _ => playing.abort(),
    }
    until("all has stopped", || running.running.load(Ordering::SeqCst) == 0).await;
    println!("{how}: stopped within {} ms", (HostClock.monotonic_ns() - at) / 1_000_000);
    let counted = beats.beats.load(Ordering::SeqCst);
    if how != "controller gone" {
        let (outcome, parts) = playing.await.unwrap();
        assert!(!outcome.is_failed, "{outcome:?}");
        let named: Vec<String> =
            outcome.failed.iter().map(|failure| format!("{} {}", failure.node, failure.command)).collect();
        match how {
            "cut below" => {
                assert_eq!(named, ["probe 1.1.1 at b run", "probe 1.1.2 at b run"]);
                assert_eq!(reported(&parts), ["probe 1.2 at a"], "what arrived is there");
                assert_eq!(outcome.leaves.len(), 1);
            }
            _ => assert!(named.contains(&"parallel 1.1 at a run".to_owned()), "{named:?}"),
        }
    }
    assert_eq!(beats.beats.load(Ordering::SeqCst), counted, "nothing beats any more");
    // By other cables, what was found is asked for.
    let hosts: Hosts = [("a", a.as_ref().unwrap().address), ("b", b.address)]
        .map(|(name, at)| (name.parse().unwrap(), at.to_string()))
        .into();
    let (a_audit, b_audit) = (a.as_ref().unwrap(), &b);
    until("the edges have ended", || {
        [a_audit, b_audit].iter().all(|agent| agent.audit().iter().any(|line| line["command"] == "ended"))
    })
    .await;
    let experiment = Experiment::take_up(&lab.controller(), Arc::new(HostClock), &name, &script(text), &hosts).await;
    let experiment = experiment.unwrap_or_else(|problems| panic!("{how}: {problems:?}"));
    let mut parts = Vec::new();
    let outcome = report_whole(experiment, |part| parts.push(part)).await;
    assert_eq!(reported(&parts), ["probe 1.1.1 at b", "probe 1.1.2 at b", "probe 1.2 at a"], "{how}: {outcome:?}");
    for part in parts.iter().filter(|part| part.node.ends_with("at b")) {
        let found = String::from_utf8(part.bytes.clone()).unwrap();
        assert!(found.strip_suffix(" beats").is_some_and(|beats| beats.parse::<u64>().unwrap() > 0), "{found}");
    }
    a.take().unwrap().end().await;
    b.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_between_two_levels_is_cut() {
    lost("cut below").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_to_an_agent_that_commands_is_cut() {
    lost("cut above").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_links_are_cut() {
    lost("both cut").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_commands_is_killed() {
    lost("agent killed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_controller_of_a_tree_is_gone() {
    lost("controller gone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn times_are_true_through_clocks_that_are_off_and_set() {
    const S: i64 = 1_000_000_000;
    let lab = Lab::new();
    let clocks = [Arc::new(Shifted::default()), Arc::new(Shifted::default())];
    clocks[0].by_ns.store(-3 * S, Ordering::SeqCst);
    clocks[1].by_ns.store(11 * S, Ordering::SeqCst);
    let with = |name, clock: &Arc<Shifted>| {
        let clock: Arc<dyn Clock> = clock.clone();
        lab.agent_with(name, DEFAULT, clock, Bounds::default(), |agent| agent)
    };
    let (a, b) = (with("a", &clocks[0]).await, with("b", &clocks[1]).await);
    let hosts = hosts(&[("a", &a), ("b", &b)]);
    let text = "parallel { cluster a { probe b { duration = 0.3; } } }";
    for (set, by_ns) in [(None, 0), (Some(0), 5 * S), (Some(0), -5 * S), (Some(1), 5 * S), (Some(1), -5 * S)] {
        let experiment = begun(&lab, &unique().unwrap(), text, &hosts).await.unwrap_or_else(|_| panic!());
        let before = clocks.each_ref().map(|clock| clock.by_ns.load(Ordering::SeqCst));
        let began = HostClock.monotonic_ns();
        let seen = Arc::clone(&b.seen);
        let clock = set.map(|at: usize| Arc::clone(&clocks[at]));
        // The clock is set while the leaf runs.
        let true_start = tokio::spawn(async move {
            until("it runs", || seen.running.load(Ordering::SeqCst) == 1).await;
            let noticed = HostClock.monotonic_ns();
            if let Some(clock) = clock {
                clock.by_ns.fetch_add(by_ns, Ordering::SeqCst);
            }
            noticed
        });
        let outcome = run_whole(experiment, |_| {}, |_| {}, std::future::pending()).await;
        assert!(outcome.failed.is_empty(), "{outcome:?}");
        let (noticed, ended) = (true_start.await.unwrap(), HostClock.monotonic_ns());
        let leaf = &outcome.leaves[0];
        let (started, over) = (leaf.started_ns.unwrap(), leaf.ended_ns.unwrap());
        // It started before that was noticed, and not before it was meant to, half a second after it was asked for.
        let meant = leaf.meant_ns.unwrap();
        assert!(started.0 <= noticed && noticed - 100_000_000 <= started.1, "{set:?} {by_ns} {noticed} {leaf:?}");
        assert!(meant - 50_000_000 <= noticed && began < meant && over.0 <= ended && noticed <= over.1, "{leaf:?}");
        let wide = started.1 - started.0;
        println!("{set:?} set by {} s: known to {} us", by_ns / S, wide / 2_000);
        if set.is_none() {
            assert!(wide < S, "{leaf:?}");
        }
        for (agent, which) in [("a", 0), ("b", 1)] {
            let run = outcome.agents.iter().find(|run| run.agent == agent).unwrap();
            let truly = [before[which], clocks[which].by_ns.load(Ordering::SeqCst)];
            for (offset, truly) in run.offset.iter().zip(truly) {
                let bounds = offset.unwrap().bounds;
                assert!(bounds.low_ns <= truly && truly <= bounds.high_ns, "{set:?} {by_ns} {run:?} {truly}");
            }
            // What a sees of b it sees by its own clock, too.
            assert_eq!(run.clock_steps > 0, set == Some(which) || set == Some(0), "{set:?} {run:?}");
        }
    }
    a.end().await;
    b.end().await;
}
