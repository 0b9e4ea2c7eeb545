//! Hosts that are network namespaces with their own addresses around a bridge: how together they start, and a link between two that
//! goes down. Needs root and iproute2; without them these tests say that they did nothing.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command as Program;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use flowloom_lab::agent::limits::DEFAULT;
use flowloom_lab::authority::unique;
use flowloom_lab::clock::{Clock, HostClock};
use flowloom_lab::control::Part;
use flowloom_lab::controller::Hosts;
use flowloom_lab::controller::experiment::{Experiment, Outcome, run_whole};
use flowloom_lab::script::parser;
use flowloom_lab::script::place::Files;
use flowloom_lab::transport::server::Bounds;
use flowloom_live::host::namespace::Namespace;
use flowloom_needs::{Need, skip};
use flowloom_store::capture::{Captures, LiveOptions};
use tokio::runtime::{Builder, Runtime};

use crate::common::{Lab, Running, until};

/// A host: its namespace, and an agent there in a runtime whose threads are there too.
struct Host {
    namespace: Namespace,
    runtime: Runtime,
    agent: Option<Running>,
}

/// Hosts around a bridge; the last is the bridge's own, where the controller is.
struct Network {
    lab: Lab,
    hosts: Vec<Host>,
}

fn ip(namespace: &Namespace, what: &str) {
    let done: std::io::Result<_> = namespace.within(|| Program::new("ip").args(what.split(' ')).output());
    let done = done.unwrap();
    assert!(done.status.success(), "ip {what}: {}", String::from_utf8_lossy(&done.stderr));
}

fn address(host: usize) -> String {
    format!("10.77.0.{}", host + 1)
}

impl Network {
    /// `None`, and a skip, if there can be none here.
    fn of(hosts: usize) -> Option<Network> {
        let namespaces: std::io::Result<Vec<Namespace>> = (0..=hosts).map(|_| Namespace::new()).collect();
        let is_there = Program::new("ip").arg("-V").output().is_ok();
        let (Ok(namespaces), true) = (namespaces, is_there) else {
            skip("lab: agents on hosts of their own", if is_there { Need::ROOT } else { Need::IP });
            return None;
        };
        let hub = &namespaces[hosts];
        ip(hub, "link add br0 type bridge");
        ip(hub, &format!("addr add {}/24 dev br0", address(hosts)));
        for (at, namespace) in namespaces[..hosts].iter().enumerate() {
            let there = format!("/proc/{}/fd/{}", std::process::id(), namespace.as_fd().as_raw_fd());
            ip(hub, &format!("link add port{at} type veth peer name eth0 netns {there}"));
            ip(hub, &format!("link set port{at} master br0 up"));
            ip(namespace, &format!("addr add {}/24 dev eth0", address(at)));
            ip(namespace, "link set eth0 up");
        }
        namespaces.iter().for_each(|namespace| ip(namespace, "link set lo up"));
        ip(hub, "link set br0 up");
        let lab = Lab::new();
        let limits = DEFAULT.replace("\"127.0.0.0/8\"", "\"10.77.0.0/24\"");
        let hosts = namespaces.into_iter().enumerate().map(|(at, namespace)| {
            let made: std::io::Result<_> = namespace.within(|| {
                let runtime = Builder::new_multi_thread().worker_threads(1).enable_io().enable_time().build()?;
                let name = format!("h{at}");
                let place = format!("{}:42010", address(at)).parse().unwrap();
                let clock = Arc::new(HostClock);
                let agent = lab.agent_at(&name, place, &limits, clock, Bounds::default(), |agent| agent);
                let agent = runtime.block_on(agent);
                Ok((runtime, agent))
            });
            let (runtime, agent) = made.unwrap();
            Host { namespace, runtime, agent: Some(agent) }
        });
        let hosts = hosts.collect();
        Some(Network { lab, hosts })
    }

    fn hub(&self) -> &Host {
        &self.hosts[self.hosts.len() - 1]
    }

    fn list(&self) -> Hosts {
        let place = |at: usize| (format!("h{at}").parse().unwrap(), format!("{}:42010", address(at)));
        (0..self.hosts.len()).map(place).collect()
    }

    /// Plays a script from the bridge's own host.
    fn played(&self, text: &str) -> (Outcome, Vec<Part>) {
        let mut files = Files::new();
        let file = files.add("script", text, None);
        let block = parser::block(&files, file).unwrap_or_else(|found| panic!("{}", found[0].summary(&files)));
        let (caller, list, name) = (self.lab.controller(), self.list(), unique().unwrap());
        let playing = async {
            let begun = Experiment::begin(&caller, Arc::new(HostClock), &name, &block, &list).await;
            let experiment = begun.unwrap_or_else(|problems| panic!("{problems:?}"));
            let mut parts = Vec::new();
            let outcome = run_whole(experiment, |_| {}, |part| parts.push(part), std::future::pending()).await;
            (outcome, parts)
        };
        let done: std::io::Result<_> = self.hub().namespace.within(|| Ok(self.hub().runtime.block_on(playing)));
        done.unwrap()
    }

    fn end(mut self) {
        for host in &mut self.hosts {
            host.runtime.block_on(host.agent.take().unwrap().end());
        }
    }
}

/// When the first packet of each source came to the bridge, by its port there, in nanoseconds of the monotonic clock.
fn first_packets(network: &Network, stop: &Arc<AtomicBool>) -> thread::JoinHandle<BTreeMap<u16, i64>> {
    let told = Arc::clone(stop);
    // Its sockets stay where they were made, whatever thread reads them.
    let capture: std::io::Result<_> = network.hub().namespace.within(|| {
        let options = LiveOptions { buffer_bytes: 8 << 20, ..LiveOptions::default() };
        let stop = Box::new(move || told.load(Ordering::SeqCst));
        Ok(Captures::live("br0", options, stop).unwrap())
    });
    let mut capture = capture.unwrap();
    thread::spawn(move || {
        let mut first = BTreeMap::new();
        // Whatever comes between two readings makes the difference smaller.
        let monotonic_less_unix =
            (0..10).map(|_| HostClock.monotonic_ns() - HostClock.unix_ns()).max().unwrap_or_default();
        while let Some(packet) = capture.next_packet().unwrap() {
            let bytes = packet.bytes;
            // Ethernet, IPv4 without options, UDP, to the last of nine hosts.
            if bytes.len() > 37 && bytes[12..14] == [8, 0] && bytes[23] == 17 && bytes[33] == 9 {
                let port = u16::from_be_bytes([bytes[36], bytes[37]]);
                first.entry(port).or_insert(packet.time.as_nanos() as i64 + monotonic_less_unix);
            }
        }
        first
    })
}

/// How late this machine wakes a thread at worst until `stop` is dropped, in nanoseconds.
fn lateness(stop: mpsc::Receiver<()>) -> thread::JoinHandle<i64> {
    thread::spawn(move || {
        let step = std::time::Duration::from_millis(1);
        let mut worst = 0;
        loop {
            let due = HostClock.monotonic_ns() + step.as_nanos() as i64;
            if stop.recv_timeout(step) != Err(mpsc::RecvTimeoutError::Timeout) {
                return worst;
            }
            worst = worst.max(HostClock.monotonic_ns() - due);
        }
    })
}

fn spread(times: impl Iterator<Item = i64> + Clone) -> i64 {
    times.clone().max().unwrap() - times.min().unwrap()
}

#[test]
fn eight_hosts_start_within_a_millisecond() {
    const SOURCES: usize = 8;
    let Some(network) = Network::of(SOURCES) else { return };
    let to = address(SOURCES);
    let leaf = |at: usize| {
        let (from, port) = (address(at), 6_000 + at);
        format!(
            "test h{at} {{ type = burst (blocksize = 100, period = 50000, duration = 0.2); protocol = udp; own = {from}:5001; peer = {to}:{port}; }}
             test h{SOURCES} {{ type = sink (blocksize = 100, duration = 0.4); protocol = udp; own = {to}:{port}; peer = {from}:5001; }}"
        )
    };
    let leaves: String = (0..SOURCES).map(leaf).collect();
    // Half of the sources are commanded by another host, so that their starts are translated twice.
    let halves: String =
        (0..SOURCES).map(|at| leaf(at) + if at == SOURCES / 2 - 1 { "} cluster h0 {" } else { "" }).collect();
    let scripts = [format!("cluster {{ {leaves} }}"), format!("cluster {{ cluster h7 {{ {halves} }} }}")];
    for (script, how) in scripts.iter().zip(["from one host", "over three hosts"]) {
        // A machine that does something else is late for everybody: a start may be as late, and a millisecond more. Of eight tries one
        // has to be good.
        let mut best = (i64::MAX, i64::MAX);
        for _ in 0..8 {
            let stop = Arc::new(AtomicBool::new(false));
            let capturing = first_packets(&network, &stop);
            let (watched, end) = mpsc::channel();
            let machine = lateness(end);
            let (outcome, _) = network.played(script);
            network.hub().runtime.block_on(async { tokio::time::sleep(std::time::Duration::from_millis(100)).await });
            stop.store(true, Ordering::SeqCst);
            let seen = capturing.join().unwrap();
            drop(watched);
            let late = machine.join().unwrap();
            assert!(outcome.failed.is_empty(), "{outcome:?}");
            assert_eq!(seen.len(), SOURCES, "{seen:?}");
            let mut told = BTreeMap::new();
            for leaf in outcome.leaves.iter().filter(|leaf| !leaf.node.ends_with(&format!("at h{SOURCES}"))) {
                let host: u16 = leaf.agent[1..].parse().unwrap();
                let (low, high) = leaf.started_ns.unwrap();
                told.insert(6_000 + host, (low, high, leaf.meant_ns.unwrap()));
            }
            let by_capture = spread(seen.values().copied());
            let by_agents = spread(told.values().map(|(low, high, _)| low + (high - low) / 2));
            let bound = told.values().map(|(low, high, _)| (high - low) / 2).max().unwrap();
            println!(
                "{how}: apart by the capture {} us, by the agents {} us, known to {} us, the machine late by {} us",
                by_capture / 1_000,
                by_agents / 1_000,
                bound / 1_000,
                late / 1_000
            );
            // No source is early by more than its host's clock may be off.
            for (port, (low, high, meant)) in &told {
                assert!(seen[port] >= meant - (high - low), "{port}: {} {meant}", seen[port]);
            }
            best = (best.0.min(by_capture - late), best.1.min(by_agents - late));
            if best.0 <= 1_000_000 && best.1 <= 1_000_000 {
                break;
            }
        }
        assert!(best.0 <= 1_000_000 && best.1 <= 1_000_000, "{how}: {best:?}");
    }
    network.end();
}

#[test]
fn a_link_between_two_levels_goes_down() {
    let Some(network) = Network::of(2) else { return };
    // What the controller hears of h1 it hears from h0.
    let text = "parallel { cluster h0 { probe h1 { duration = 60; } } probe h0 { duration = 0.3; } }";
    let seen = Arc::clone(&network.hosts[1].agent.as_ref().unwrap().seen);
    thread::scope(|scope| {
        let playing = scope.spawn(|| network.played(text));
        let waiting = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        waiting.block_on(until("it runs", || seen.running.load(Ordering::SeqCst) == 1));
        let at = HostClock.monotonic_ns();
        ip(&network.hub().namespace, "link set port1 down");
        waiting.block_on(until("it has stopped", || seen.running.load(Ordering::SeqCst) == 0));
        println!("link down: stopped within {} ms", (HostClock.monotonic_ns() - at) / 1_000_000);
        let (outcome, _) = playing.join().unwrap();
        let failed: Vec<String> =
            outcome.failed.iter().map(|failure| format!("{} {}", failure.node, failure.command)).collect();
        assert_eq!(failed, ["probe 1.1.1 at h1 run"], "{outcome:?}");
        assert!(!outcome.is_failed && outcome.leaves.iter().any(|leaf| leaf.node == "probe 1.2 at h0"), "{outcome:?}");
    });
    network.end();
}
