//! Experiments at agents: phases, numbers, limits, several at once, and what happens when the controller is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowloom_lab::agent::limits::DEFAULT;
use flowloom_lab::authority::identity::Role;
use flowloom_lab::authority::unique;
use flowloom_lab::clock::track::Learnt;
use flowloom_lab::clock::{Clock, HostClock};
use flowloom_lab::controller::{Clocks, Edge, delegate};
use flowloom_lab::rpc::down::Command;
use flowloom_lab::rpc::phase::Kind;
use flowloom_lab::rpc::{Attach, DelegatedBlock, Delegation, Phase, Setup};
use flowloom_lab::transport::client::connect;
use flowloom_lab::transport::server::Bounds;
use flowloom_lab::transport::{CallError, PROTOCOL, Version};
use sha2::{Digest, Sha256};

use crate::common::{Cable, Lab, Shifted, until};

async fn report(edge: &Edge, block: &str) -> Result<String, CallError> {
    let mut bytes = Vec::new();
    edge.report(block, |part| bytes.extend(part)).await?;
    Ok(String::from_utf8(bytes).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_phases_of_a_block() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let mut link = agent.link(&lab.controller()).await;
    let kinds = ["sleep", "test", "path", "capture", "watch", "monitor", "command", "probe"];
    assert_eq!(link.hello.leaf_kinds, kinds);
    assert_eq!(link.hello.limits_toml, DEFAULT);
    let experiment = unique().unwrap();
    let edge = Edge::begin(&mut link, &experiment).await.unwrap();
    assert_eq!(edge.setup("a", "probe { duration = 0.05; }", vec![]).await.unwrap().text, "prepared");
    assert!(edge.setup("a", "probe { }", vec![]).await.unwrap_err().to_string().contains("set up already"));
    assert!(edge.run("a", 0).await.unwrap_err().to_string().contains("run comes after open"));
    assert!(edge.phase("b", Kind::Open).await.unwrap_err().to_string().contains("no block b"));
    edge.phase("a", Kind::Open).await.unwrap();
    let start = HostClock.monotonic_ns() + 20_000_000;
    let ran = edge.run("a", start).await.unwrap();
    assert_eq!(ran.text, "to its end");
    assert!(
        ran.started_monotonic_ns >= start && ran.ended_monotonic_ns - ran.started_monotonic_ns >= 50_000_000,
        "{ran:?}"
    );
    edge.phase("a", Kind::Close).await.unwrap();
    assert!(report(&edge, "a").await.unwrap().ends_with("beats"));
    assert_eq!(edge.phase("a", Kind::Parameters).await.unwrap().text, "duration = 0.05");
    edge.phase("a", Kind::Reset).await.unwrap();
    edge.phase("a", Kind::Open).await.unwrap();
    edge.phase("a", Kind::Teardown).await.unwrap();
    for (text, why) in [
        ("probe { duration = }", "block:1"),
        ("full { }", "no leaf \"full\""),
        ("sleep { duration = x; }", "duration"),
        ("probe { duration = 3601; }", "send.duration"),
        ("probe { rate = 100000001; }", "send.rate"),
    ] {
        let error = edge.setup("c", text, vec![]).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    for name in ["", "../x", ".x", "a/b", &"x".repeat(181)] {
        assert!(edge.setup(name, "probe { }", vec![]).await.unwrap_err().to_string().contains("no name of a block"));
    }
    edge.phase("k", Kind::Kill).await.unwrap();
    assert!(
        edge.setup("k", "probe { }", vec![]).await.unwrap_err().to_string().contains("was killed"),
        "before it was there"
    );
    assert_eq!(report(&edge, "k").await.unwrap(), "", "nothing was found");
    edge.phase("k", Kind::Teardown).await.unwrap();
    edge.setup("s", "sleep { duration = 0.01; }", vec![]).await.unwrap();
    edge.phase("s", Kind::Open).await.unwrap();
    edge.run("s", 0).await.unwrap();
    assert!(report(&edge, "s").await.unwrap().contains("slept_s"));
    edge.detach().await.unwrap();

    let audit = agent.audit();
    let commands: Vec<&str> = audit.iter().filter_map(|line| line["command"].as_str()).collect();
    for command in ["attach", "setup", "open", "start", "run", "close", "report", "teardown", "ended"] {
        assert!(commands.contains(&command), "{command} is not in {commands:?}");
    }
    assert!(
        audit.iter().all(|line| line["peer"] == "controller controller" && line["experiment"] == experiment.as_str())
    );
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_answered_once() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let controller = lab.controller();
    let mut link = agent.link(&controller).await;
    let experiment = unique().unwrap();
    let edge = Edge::begin(&mut link, &experiment).await.unwrap();
    let setup = |block: &str| {
        Command::Setup(Setup { block: block.to_owned(), text: "probe { duration = 60; }".to_owned(), consents: vec![] })
    };
    let teardown = Command::Phase(Phase { block: "a".to_owned(), kind: Kind::Teardown.into() });
    edge.command_numbered(2, setup("a")).await.unwrap();
    edge.command_numbered(3, teardown).await.unwrap();
    // The setup again: had it been done, the block would be there.
    assert!(edge.command_numbered(2, setup("a")).await.unwrap_err().to_string().contains("answered before"));
    assert!(edge.command_numbered(1, setup("a")).await.unwrap_err().to_string().contains("answered before"));
    assert!(edge.command_numbered(5, setup("b")).await.unwrap_err().to_string().contains("where 4 is next"));
    let command = Command::Phase(Phase { block: "a".to_owned(), kind: Kind::Config.into() });
    assert!(edge.command_numbered(4, command).await.unwrap_err().to_string().contains("no block a"));
    // Not on another connection either: neither from its beginning nor from where it was.
    drop(edge);
    drop(link);
    until("the edge has ended", || agent.audit().iter().any(|line| line["command"] == "ended")).await;
    let mut link = agent.link(&controller).await;
    let again = Edge::begin(&mut link, &experiment).await.err().unwrap().to_string();
    assert!(again.contains("been here before"), "{again}");
    let again = Edge::resume(&mut link, &experiment, 4).await.err().unwrap().to_string();
    assert!(again.contains("answered before"), "{again}");
    let edge = Edge::resume(&mut link, &experiment, 5).await.unwrap();
    assert_eq!(edge.last_number, 4);
    assert!(Edge::resume(&mut link, &unique().unwrap(), 1).await.err().unwrap().to_string().contains("not known"));
    drop(edge);
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_controller_stops_everything_and_reports_wait_for_it() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let controller = lab.controller();
    for how in ["killed", "cut"] {
        let cable = Cable::to(agent.address).await;
        let mut link = controller.connect(&cable.address.to_string(), None).await.unwrap();
        let experiment = unique().unwrap();
        let edge = Arc::new(Edge::begin(&mut link, &experiment).await.unwrap());
        // One listens to its stop, one does not: it is dropped.
        for (block, text) in [("a", "probe { duration = 60; }"), ("b", "probe { duration = 60; deaf = 1; }")] {
            edge.setup(block, text, vec![]).await.unwrap();
            edge.phase(block, Kind::Open).await.unwrap();
            let edge = Arc::clone(&edge);
            tokio::spawn(async move { edge.run(block, 0).await });
        }
        until("both run", || agent.seen.running.load(Ordering::SeqCst) == 2).await;
        let at = HostClock.monotonic_ns();
        if how == "cut" {
            cable.cut();
        } else {
            // As a process that is killed: its sockets close.
            cable.kill();
        }
        until("both have stopped", || agent.seen.running.load(Ordering::SeqCst) == 0).await;
        println!("{how}: stopped within {} ms", (HostClock.monotonic_ns() - at) / 1_000_000);
        let beats = agent.seen.beats.load(Ordering::SeqCst);
        until("the edge has ended", || {
            agent.audit().iter().any(|line| line["command"] == "ended" && line["experiment"] == experiment.as_str())
        })
        .await;
        assert_eq!(agent.seen.beats.load(Ordering::SeqCst), beats, "nothing beats any more");

        let mut link = agent.link(&controller).await;
        let again = Edge::resume(&mut link, &experiment, 100).await.unwrap();
        for block in ["a", "b"] {
            let report = report(&again, block).await.unwrap();
            let beats: u64 = report.strip_suffix(" beats").unwrap().parse().unwrap();
            assert!(beats > 0, "{how} {block}: {report}");
        }
        assert!(again.run("a", 0).await.unwrap_err().to_string().contains("no block a"), "it is over");
        again.detach().await.unwrap();
    }
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ends_stops_and_keeps_what_it_ran() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let controller = lab.controller();
    let mut link = agent.link(&controller).await;
    let experiment = unique().unwrap();
    let edge = Arc::new(Edge::begin(&mut link, &experiment).await.unwrap());
    edge.setup("a", "probe { duration = 60; }", vec![]).await.unwrap();
    edge.phase("a", Kind::Open).await.unwrap();
    let running = tokio::spawn({
        let edge = Arc::clone(&edge);
        async move { edge.run("a", 0).await }
    });
    until("it runs", || agent.seen.running.load(Ordering::SeqCst) == 1).await;
    let seen = Arc::clone(&agent.seen);
    agent.end().await;
    assert_eq!(seen.running.load(Ordering::SeqCst), 0);
    // It is told, one way or the other.
    let _ = running.await.unwrap();
    assert!(edge.phase("a", Kind::Config).await.is_err());

    let agent = lab.agent("east").await;
    let mut link = agent.link(&controller).await;
    let again = Edge::resume(&mut link, &experiment, 1).await.unwrap();
    assert!(report(&again, "a").await.unwrap().ends_with("beats"));
    assert!(report(&again, "b").await.unwrap_err().to_string().contains("no results"));
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn experiments_are_kept_apart() {
    let lab = Lab::new();
    let limits = DEFAULT.replace("experiments = 16", "experiments = 2");
    let agent = lab.agent_with("east", &limits, Arc::new(HostClock), Bounds::default(), |agent| agent).await;
    let (one, other) = (lab.controller(), lab.member("second", Role::Controller));
    let mut links = [agent.link(&one).await, agent.link(&other).await];
    let names = [unique().unwrap(), unique().unwrap()];
    let first = Edge::begin(&mut links[0], &names[0]).await.unwrap();
    let second = Edge::begin(&mut links[1], &names[1]).await.unwrap();
    let third = Edge::begin(&mut links[0], &unique().unwrap()).await.err().unwrap().to_string();
    assert!(third.contains("run.experiments"), "{third}");
    first.setup("a", "probe { duration = 1; }", vec![]).await.unwrap();
    second.setup("a", "probe { duration = 2; }", vec![]).await.unwrap();
    assert_eq!(first.phase("a", Kind::Config).await.unwrap().text, "duration = 1");
    assert_eq!(second.phase("a", Kind::Config).await.unwrap().text, "duration = 2");
    first.detach().await.unwrap();
    assert_eq!(second.phase("a", Kind::Config).await.unwrap().text, "duration = 2");
    // Another controller neither takes it up nor reads what it found.
    let spied = Edge::resume(&mut links[1], &names[0], 100).await.err().unwrap().to_string();
    assert!(spied.contains("not known"), "{spied}");
    assert_eq!(agent.link(&one).await.hello.experiments.iter().filter(|running| running.attached).count(), 1);
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_the_disk_does_not_take_are_still_reported() {
    let lab = Lab::new();
    let limits = DEFAULT.replace("results = \"256mb\"", "results = \"100kb\"");
    let agent = lab.agent_with("east", &limits, Arc::new(HostClock), Bounds::default(), |agent| agent).await;
    let mut link = agent.link(&lab.controller()).await;
    let edge = Edge::begin(&mut link, &unique().unwrap()).await.unwrap();
    for (block, size) in [("small", 50_000), ("large", 200_000)] {
        edge.setup(block, &format!("probe {{ duration = 0.01; size = {size}; }}"), vec![]).await.unwrap();
        edge.phase(block, Kind::Open).await.unwrap();
        edge.run(block, 0).await.unwrap();
        edge.phase(block, Kind::Close).await.unwrap();
        assert!(report(&edge, block).await.unwrap().len() > size);
    }
    let kept: Vec<u64> = walk(&agent.folder.join("results"));
    assert_eq!(kept.len(), 1, "{kept:?}");
    let told = edge.phase("large", Kind::Teardown).await.unwrap().text;
    assert!(told.contains("in memory"), "{told}");
    agent.end().await;
}

fn walk(folder: &std::path::Path) -> Vec<u64> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .flat_map(
            |entry| if entry.path().is_dir() { walk(&entry.path()) } else { vec![entry.metadata().unwrap().len()] },
        )
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_release_is_refused_with_both_versions() {
    let lab = Lab::new();
    let other = Version { release: "9.9.9".to_owned(), protocol: PROTOCOL };
    let theirs = other.clone();
    let agent = lab
        .agent_with("east", DEFAULT, Arc::new(HostClock), Bounds::default(), |agent| agent.with_version(theirs))
        .await;
    let controller = lab.controller();
    let error = controller.connect(&agent.address.to_string(), None).await.unwrap_err().to_string();
    assert!(error.contains("9.9.9") && error.contains(env!("CARGO_PKG_VERSION")), "{error}");
    connect(&controller.own, &controller.trust, &agent.address.to_string(), None, &other).await.unwrap();
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_is_noticed_and_its_bound_is_true() {
    const STEP: i64 = 5_000_000_000;
    let lab = Lab::new();
    let clock = Arc::new(Shifted::default());
    clock.by_ns.store(-7 * STEP, Ordering::SeqCst);
    let of_agent: Arc<dyn Clock> = clock.clone();
    let agent = lab.agent_with("east", DEFAULT, of_agent, Bounds::default(), |agent| agent).await;
    let mut link = agent.link(&lab.controller()).await;
    let mut clocks = Clocks::default();
    let learnt = link.measure_clock(&HostClock, &mut clocks, 20).await.unwrap();
    assert!(learnt.iter().all(|learnt| *learnt == Learnt::Agrees), "{learnt:?}");
    let before = clocks.monotonic.offset(HostClock.monotonic_ns()).unwrap();
    assert!(before.low_ns <= -7 * STEP && -7 * STEP <= before.high_ns, "{before:?}");
    let between = HostClock.monotonic_ns();
    clock.by_ns.fetch_add(STEP, Ordering::SeqCst);
    let learnt = link.measure_clock(&HostClock, &mut clocks, 20).await.unwrap();
    assert!(matches!(learnt[0], Learnt::Step(by) if by <= STEP && by > STEP - 1_000_000_000), "{learnt:?}");
    assert_eq!((clocks.monotonic.steps(), clocks.time_of_day.steps()), (1, 0));
    let day = clocks.time_of_day.offset(HostClock.unix_ns()).unwrap();
    assert!(day.low_ns <= 0 && 0 <= day.high_ns, "{day:?}");
    let after = clocks.monotonic.offset(HostClock.monotonic_ns()).unwrap();
    assert!(after.low_ns <= -6 * STEP && -6 * STEP <= after.high_ns && after.error_ns() < STEP / 2, "{after:?}");
    let between = clocks.monotonic.offset(between).unwrap();
    assert!(between.low_ns <= -7 * STEP && -6 * STEP <= between.high_ns, "{between:?}");
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_commands_another_only_as_a_controller_has_delegated() {
    let lab = Lab::new();
    let agent = lab.agent("child").await;
    let parent = lab.member("parent", Role::Agent);
    let controller = lab.controller();
    let mut link = agent.link(&parent).await;
    let experiment = unique().unwrap();
    let attach = |above: &str, delegations| Attach {
        experiment: experiment.clone(),
        above: above.to_owned(),
        delegations,
        ..Attach::default()
    };
    let refused = Edge::attach(&mut link, 1, attach("1.2", vec![])).await.err().unwrap().to_string();
    assert!(refused.contains("is no controller"), "{refused}");

    let text = "probe { duration = 0.01; }";
    let delegation = Delegation {
        experiment: experiment.clone(),
        parent: "parent".to_owned(),
        above: "1.2".to_owned(),
        child: "child".to_owned(),
        blocks: vec![DelegatedBlock { block: "a".to_owned(), sha256: Sha256::digest(text).to_vec() }],
        until_unix_s: HostClock.unix_s() + 60,
    };
    let bad = [
        (delegate(&parent.own, &delegation), "agent parent has signed it"),
        (
            delegate(&controller.own, &Delegation { parent: "other".to_owned(), ..delegation.clone() }),
            "another experiment",
        ),
        (
            delegate(&controller.own, &Delegation { child: "other".to_owned(), ..delegation.clone() }),
            "another experiment",
        ),
        (delegate(&controller.own, &Delegation { above: "1".to_owned(), ..delegation.clone() }), "another experiment"),
        (
            delegate(&controller.own, &Delegation { experiment: unique().unwrap(), ..delegation.clone() }),
            "another experiment",
        ),
        (
            delegate(&controller.own, &Delegation { until_unix_s: HostClock.unix_s(), ..delegation.clone() }),
            "has ended",
        ),
        (delegate(&Lab::new().controller().own, &delegation), "another lab"),
    ];
    for (signed, why) in bad {
        let refused = Edge::attach(&mut link, 1, attach("1.2", vec![signed.unwrap()])).await.err().unwrap().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let good = delegate(&controller.own, &delegation).unwrap();
    for above in ["", "../x", "1.2/"] {
        let refused = Edge::attach(&mut link, 1, attach(above, vec![good.clone()])).await.err().unwrap().to_string();
        assert!(refused.contains("is at work on a block"), "{above}: {refused}");
    }
    let edge = Edge::attach(&mut link, 1, attach("1.2", vec![good.clone()])).await.unwrap();
    assert!(
        edge.setup("b", text, vec![]).await.unwrap_err().to_string().contains("no controller has delegated block b")
    );
    assert!(
        edge.setup("a", "probe { duration = 1; }", vec![])
            .await
            .unwrap_err()
            .to_string()
            .contains("not the one that was delegated")
    );
    edge.setup("a", text, vec![]).await.unwrap();
    edge.phase("a", Kind::Open).await.unwrap();
    edge.run("a", 0).await.unwrap();
    edge.detach().await.unwrap();
    // What was delegated for one experiment is not begun again by it.
    let again = Edge::attach(&mut link, 1, attach("1.2", vec![good])).await.err().unwrap().to_string();
    assert!(again.contains("been here before"), "{again}");
    agent.end().await;
}
