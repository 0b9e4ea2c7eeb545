//! The monitor against Debian's snmpd, with traffic on a wire in a namespace. All that can happen to targets happens at the same time, so
//! that the test takes as long as ten intervals.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::thread;

use flowloom_monitor::{Archive, Bell, Board, Curve, Moment, Query, Registry, Report, Selection, run};
use flowloom_store::monitor::{MILLIONTHS, Reason};
use nix::sys::signal::Signal;

use super::network::{AUTHENTICATION, COMMUNITY, PRIVACY, Snmpd, enter, ip, look_every_second, send, wire};

/// More than the second after which the agents look at their interfaces again.
const INTERVAL_MS: u64 = 1_050;

/// Bytes of a datagram on the wire, and datagrams in a burst.
const FRAME: usize = 1_000;
const BURST: u64 = 20;

fn registry(agents: [&str; 3], silent: &str) -> Registry {
    let [steady, restarting, stopping] = agents;
    let by_community = |name: &str, address: &str, community: &str, more: &str| {
        format!("[[target]]\nname = \"{name}\"\naddresses = [\"{address}\"]\ncommunity = \"{community}\"\n{more}\n")
    };
    let by_user = |name: &str, key: &str| {
        format!(
            "[[target]]\nname = \"{name}\"\naddresses = [\"{steady}\"]\nports = [\"wire0\"]\n[target.user]\nname = \"watcher\"\n\
             authentication-key = \"{key}\"\nprivacy-key = \"{PRIVACY}\"\n"
        )
    };
    // A counter of cells, of 32 bits, of an OC-3.
    let cells = "[[target.counter]]\nname = \"cells\"\noid = \"1.3.6.1.4.1.8072.9999.1.1.0\"\nunit = \"cells\"\ncapacity = 353208\n";
    let text = [
        format!("interval = \"{INTERVAL_MS}ms\"\ntimeout = \"400ms\"\nretries = 0\n"),
        by_community("v2c", steady, COMMUNITY, &format!("ports = [\"wire*\", \"swap0\"]\n{cells}")),
        by_user("v3", AUTHENTICATION),
        by_community("wrong-community", steady, "wr0ng", ""),
        by_user("wrong-key", "wr0ng-k3y"),
        by_community("silent", silent, COMMUNITY, ""),
        by_community("restarting", restarting, COMMUNITY, "ports = [\"wire0\"]"),
        by_community("stopping", stopping, COMMUNITY, "ports = [\"wire0\"]"),
    ]
    .concat();
    let registry: Registry = toml::from_str(&text).unwrap();
    assert_eq!(registry.problems(), []);
    registry
}

/// Waits until so many tenths of intervals have passed since `start`.
fn wait(start: &Moment, tenths: u64) {
    Bell::default().wait_until(start.monotonic_ns + tenths * INTERVAL_MS * 100_000);
}

/// Sends bursts from the first to the tenth interval; the bytes that were sent.
fn traffic(start: &Moment) -> u64 {
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    let mut sent = 0;
    // Before the first answer and after the last there is silence.
    for tenth in 16..94 {
        wait(start, tenth);
        for _ in 0..BURST {
            send(&socket, FRAME);
            sent += FRAME as u64;
        }
    }
    sent
}

struct Story {
    curves: BTreeMap<(String, String, String), Curve>,
    start: Moment,
}

impl Story {
    fn curve(&self, target: &str, port: &str, counter: &str) -> &Curve {
        let key = (target.to_owned(), port.to_owned(), counter.to_owned());
        self.curves.get(&key).unwrap_or_else(|| panic!("{key:?} of {:?}", self.curves.keys()))
    }

    fn reasons(&self, target: &str, port: &str, counter: &str) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = self.curve(target, port, counter).gaps.iter().map(|gap| gap.reason).collect();
        reasons.dedup();
        reasons
    }
}

#[test]
fn rates_are_those_of_the_traffic() {
    if !enter("monitor: real agents") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    wire("swap0", "swap1");
    let mut agents = [16_101, 16_102, 16_103].map(|port| Snmpd::start(folder.path(), port));
    agents.iter().for_each(look_every_second);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addresses = agents.each_ref().map(Snmpd::address);
    let registry = registry(addresses.each_ref().map(String::as_str), &silent.local_addr().unwrap().to_string());
    let store = folder.path().join("store");
    let (bell, board) = (Bell::default(), Board::default());
    let start = Moment::now();
    let mut said = Vec::new();
    let sent = thread::scope(|scope| {
        let traffic = scope.spawn(move || traffic(&start));
        let (ended, agents) = (bell.clone(), &mut agents);
        scope.spawn(move || {
            happen(&start, agents);
            ended.ring();
        });
        let mut observe = |report: &Report<'_>| said.push(format!("{report:?}"));
        run(&registry, folder.path(), &store, &bell, &board, &mut observe).unwrap();
        traffic.join().unwrap()
    });
    let archive = Archive::open(&store).unwrap();
    let query = Query { from_ns: start.wall_ns, to_ns: Moment::now().wall_ns, points: 100_000, percentile_ns: None };
    let curves = archive.ask(&archive.series().unwrap(), &query).unwrap();
    let key = |curve: &Curve| (curve.series.target.clone(), curve.series.port.clone(), curve.series.counter.clone());
    let story = Story { curves: curves.into_iter().map(|curve| (key(&curve), curve)).collect(), start };
    check_traffic(&story, sent);
    check_changes(&story);
    check_silence(&story, &said, &board);
    let secrets = [COMMUNITY, AUTHENTICATION, PRIVACY, "wr0ng"];
    let told = format!("{said:?}{}", board.prometheus());
    assert!(!secrets.iter().any(|secret| told.contains(secret)), "{told}");
    for selected in ["v2c", "v?", "*"] {
        let selection = Selection { target: selected.to_owned(), port: "wire0".to_owned(), counter: "out".to_owned() };
        assert!(story.curves.values().any(|curve| selection.holds(&curve.series)));
    }
}

/// What happens to the agents.
fn happen(start: &Moment, agents: &mut [Snmpd; 3]) {
    // Three intervals: long enough that three questions find no answer.
    wait(start, 28);
    agents[2].signal(Signal::SIGSTOP);
    wait(start, 33);
    agents[0].count("12000\n");
    wait(start, 42);
    agents[1].restart();
    wait(start, 52);
    // The interface comes back with another index.
    ip("link del swap0");
    wire("swap0", "swap1");
    wait(start, 58);
    agents[2].signal(Signal::SIGCONT);
    wait(start, 115);
}

fn check_traffic(story: &Story, sent: u64) {
    let fastest = BURST * FRAME as u64 * 10_000 / INTERVAL_MS;
    for (target, counter, port) in [("v2c", "out", "wire0"), ("v2c", "in", "wire1"), ("v3", "out", "wire0")] {
        let curve = story.curve(target, port, counter);
        let counted = curve.amount.unwrap();
        let intervals = curve.whole.unwrap().samples;
        assert!((10..=11).contains(&intervals), "{target}: {intervals} intervals");
        assert!(counted.abs_diff(sent) * 100 <= sent, "{target} {port}: {counted} of {sent} bytes");
        assert_eq!(curve.gaps, []);
        let most = curve.whole.unwrap().most / u128::from(MILLIONTHS);
        assert!(most < u128::from(fastest * 3 / 2), "{target}: {most} octets/s, and no more than {fastest} were sent");
    }
    let packets = story.curve("v2c", "wire0", "out-packets").amount.unwrap();
    assert!(packets.abs_diff(sent / FRAME as u64) * 100 <= packets, "{packets} packets");
    // Methods I.5: the counter goes from 4294960000 to 12000.
    let cells = story.curve("v2c", "", "cells");
    assert_eq!((cells.amount, cells.gaps.len()), (Some(19_296), 0));
    let rate = cells.whole.unwrap().most as f64 / MILLIONTHS as f64;
    let span_ns: u64 = cells.points.iter().filter(|point| point.most > 0).map(|point| point.covered_ns).sum();
    let expected = 19_296.0 / (span_ns as f64 / 1e9);
    assert!((rate - expected).abs() < 1e-3 * expected, "{rate} cells/s, {expected} in {span_ns} ns");
}

fn check_changes(story: &Story) {
    let is_quiet = |curve: &Curve| curve.points.iter().all(|point| point.most / u128::from(MILLIONTHS) < 1_000_000);
    assert_eq!(
        story.reasons("v2c", "swap0", "out").first(),
        Some(&Reason::IndexChange),
        "{:?}",
        story.curve("v2c", "swap0", "out").gaps
    );
    assert!(is_quiet(story.curve("v2c", "swap0", "out")));
    let restarting = story.reasons("restarting", "wire0", "out");
    assert!(restarting.contains(&Reason::Restart), "{restarting:?}");
    assert!(is_quiet(story.curve("restarting", "wire0", "out")));
    // What was counted while the agent was held is known in all, and is no sample.
    let stopping = story.curve("stopping", "wire0", "out");
    assert_eq!(story.reasons("stopping", "wire0", "out"), [Reason::NoAnswer]);
    let [gap] = &stopping.gaps[..] else { panic!("{:?}", stopping.gaps) };
    let intervals = (gap.end_ns - gap.start_ns) as f64 / (INTERVAL_MS as f64 * 1e6);
    assert!((3.0..=5.5).contains(&intervals), "{intervals} intervals");
    assert!(gap.start_ns > story.start.wall_ns && gap.amount.is_some_and(|amount| amount > 0));
    assert!(is_quiet(stopping));
}

fn check_silence(story: &Story, said: &[String], board: &Board) {
    for (target, words) in [
        ("wrong-community", "no answer from 127.0.0.1"),
        ("silent", "no answer from 127.0.0.1"),
        ("wrong-key", "rejects the user or its keys"),
    ] {
        assert!(said.iter().any(|text| text.contains(target) && text.contains(words)), "{target}: {said:?}");
        let answers = story.curve(target, "", "answer-time");
        assert!(answers.points.is_empty() && !answers.gaps.is_empty(), "{target}");
        let state = board.targets().into_iter().find(|state| state.name == target).unwrap();
        assert!(state.failed == state.asked && state.failed >= 9, "{state:?}");
    }
    let state = board.targets().into_iter().find(|state| state.name == "v2c").unwrap();
    assert!(state.failed == 0 && state.late == 0 && state.asked >= 11, "{state:?}");
    // The monitor's own packets are told apart.
    assert!(story.curve("v2c", "", "own-packets").amount.is_some_and(|packets| packets >= 60));
}
