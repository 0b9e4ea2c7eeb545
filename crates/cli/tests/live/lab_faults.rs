//! What becomes of an experiment over hosts with a network and a disk of their own when one of these breaks, or a process: traffic is
//! counted at the bridge between them. `lab_processes` has what needs no such hosts.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::host::processes_in;
use crate::network::{Hosts, ip};
use crate::support::{Said, processes_with};
use crate::{can_run, one_run, pause, signal};

/// The hosts of these tests, in the order of their addresses.
const AGENTS: [&str; 4] = ["east", "west", "north", "south"];

/// Longer than any test waits: what ends earlier was stopped.
const LONG_S: u32 = 60;

/// What says that nobody is at the other end any more.
pub const LOST: &str = "the connection was lost: the other end closed it, or gave no sign of life for 1.25 s";

/// Traffic from one agent to another: 1 MB a second, in small writes. The sink listens for a second longer.
fn pair(protocol: &str, source: &str, sink: &str, port: u16, seconds: u32) -> String {
    let address = |agent| format!("{}:{port}", address(agent));
    let (from, to, longer) = (address(source), address(sink), seconds + 1);
    format!(
        "test {source} {{ type = burst (blocksize = 1000, period = 1000, duration = {seconds}); protocol = {protocol}; own = {from}; peer = {to}; }}
         test {sink} {{ type = sink (blocksize = 1000, duration = {longer}); protocol = {protocol}; own = {to}; peer = {from}; }}\n"
    )
}

/// Traffic from east to west for a minute, and from north to south for 4 s.
fn two_pairs() -> String {
    let (long, short) = (pair("udp", "east", "west", 43_000, LONG_S), pair("tcp", "north", "south", 43_000, 4));
    format!("parallel {{ cluster {{ {long} }} cluster {{ {short} }} }}")
}

fn address(agent: &str) -> String {
    format!("10.99.0.{}", AGENTS.iter().position(|name| *name == agent).unwrap() + 2)
}

/// Whether it comes to be so.
fn comes(mut is: impl FnMut() -> bool) -> bool {
    (0..400).any(|_| {
        is() || {
            pause(50);
            false
        }
    })
}

impl Hosts {
    /// How many bytes the bridge has sent to each of these hosts.
    fn bytes_to(&self, agents: &[&str]) -> Vec<u64> {
        let bytes = |agent: &&str| {
            let words = ["-n", &self.names[0], "-json", "-statistics", "link", "show", "dev", agent];
            let said = Command::new("ip").args(words).output().unwrap().stdout;
            serde_json::from_slice::<Value>(&said).unwrap()[0]["stats64"]["tx"]["bytes"].as_u64().unwrap()
        };
        agents.iter().map(bytes).collect()
    }

    /// From 2 s after now on no traffic comes to these hosts. What agents say to each other is far less than a second of it.
    fn are_silent_in_2_s(&self, agents: &[&str]) {
        pause(2_000);
        let before = self.bytes_to(agents);
        pause(1_000);
        let more: Vec<u64> = self.bytes_to(agents).iter().zip(before).map(|(now, before)| now - before).collect();
        assert!(more.iter().all(|more| *more < 50_000), "{agents:?}: {more:?} bytes in a second");
    }

    /// Lines of an agent's log, of an experiment.
    fn audit(&self, agent: &str, experiment: &str) -> Vec<Value> {
        let log = fs::read_to_string(self.bench.path(agent).join("audit.jsonl")).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["experiment"] == experiment).collect()
    }

    /// Whether an agent comes to let go of an experiment, which it does when it has stopped everything of it.
    fn lets_go(&self, agent: &str, experiment: &str) -> bool {
        comes(|| self.audit(agent, experiment).iter().any(|line| line["command"] == "ended"))
    }

    fn flowloom(&self, words: &[&str]) -> Said {
        self.said(self.by_the_controller(words))
    }

    /// Another experiment with these agents can be had at once.
    fn go_on(&self, agents: &[&str]) {
        let leaves: String = agents.iter().map(|agent| format!("sleep {agent} {{ duration = 0.1; }} ")).collect();
        self.bench.file("next.ns", format!("cluster {{ {leaves} }}").as_bytes());
        self.flowloom(&["lab", "run", "next.ns", "--hosts", "HOSTS.toml", "-o", "next", "--force"]).succeeded();
    }

    /// The leaves of a lost experiment whose results are there, and what they are.
    fn take_up(&self, experiment: &str) -> BTreeMap<String, Value> {
        let words = ["lab", "run", "script.ns", "--hosts", "HOSTS.toml", "-o", "found", "--take-up", experiment];
        self.flowloom(&words).succeeded();
        self.results("found")
    }

    /// The leaves whose results are in a folder, and what they are.
    fn results(&self, folder: &str) -> BTreeMap<String, Value> {
        let found = fs::read_to_string(self.bench.path(folder).join("results.jsonl")).unwrap();
        let lines = found.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| (line["node"].as_str().unwrap().to_owned(), line["report"]["results"].clone())).collect()
    }
}

/// An experiment that goes on.
struct Going {
    hosts: Hosts,
    run: Child,
    name: String,
}

impl Going {
    /// Begins a script with these hosts' agents, and waits until traffic comes to some of them.
    fn start(hosts: Hosts, script: &str, receivers: &[&str]) -> Going {
        hosts.bench.file("script.ns", script.as_bytes());
        let before = hosts.bytes_to(receivers);
        let words = ["lab", "run", "script.ns", "--hosts", "HOSTS.toml", "-o", "out"];
        let said = fs::File::create(hosts.bench.path("said")).unwrap();
        let run = hosts.by_the_controller(&words).stdout(Stdio::null()).stderr(said).spawn().unwrap();
        let has_come = || hosts.bytes_to(receivers).iter().zip(&before).all(|(now, before)| now - before > 400_000);
        let comes = comes(has_come);
        let said = fs::read_to_string(hosts.bench.path("said")).unwrap();
        assert!(comes, "no traffic: {said}");
        let name = said.lines().find_map(|line| line.strip_prefix("experiment ")).unwrap().to_owned();
        Going { hosts, run, name }
    }

    /// It ends by itself, with this code: what failed (the leaf, the command and the words), and the results that are there.
    fn ends(&mut self, code: i32) -> (Vec<[String; 3]>, BTreeMap<String, Value>) {
        let ended = comes(|| self.run.try_wait().unwrap().is_some());
        let said = fs::read_to_string(self.hosts.bench.path("said")).unwrap();
        if !ended {
            self.run.kill().unwrap();
        }
        assert!(ended, "it does not end: {said}");
        assert_eq!(self.run.wait().unwrap().code(), Some(code), "{said}");
        let experiment = fs::read_to_string(self.hosts.bench.path("out/experiment.json")).unwrap();
        let experiment: Value = serde_json::from_str(&experiment).unwrap();
        let failed = experiment["failed"].as_array().unwrap().iter();
        let failed: Vec<[String; 3]> =
            failed.map(|one| ["node", "command", "text"].map(|key| one[key].as_str().unwrap().to_owned())).collect();
        for [node, command, text] in &failed {
            assert!(said.contains(&format!("error: {node}: {command}: {text}\n")), "what is kept is said: {said}");
        }
        (failed, self.hosts.results("out"))
    }

    /// Of [`two_pairs`] these leaves failed while they ran, with these words, and everything else is there.
    fn ends_without(&mut self, lost: &[&str], words: &str) {
        let (failed, results) = self.ends(3);
        let lost_so = lost.iter().map(|leaf| [*leaf, "run", words].map(str::to_owned)).collect::<Vec<_>>();
        assert_eq!(failed, lost_so);
        for leaf in [EAST, WEST, NORTH, SOUTH] {
            let bytes = results.get(leaf).map(|results| results["bytes"].as_u64().unwrap());
            assert!(if lost.contains(&leaf) { bytes.is_none() } else { bytes > Some(100_000) }, "{leaf}: {bytes:?}");
        }
        assert_eq!(results[NORTH]["bytes"], results[SOUTH]["bytes"], "the others went on to their end");
        assert_eq!(results[NORTH]["stopped"], false);
    }
}

/// Names of leaves of [`two_pairs`].
const EAST: &str = "test 1.1.1 at east";
const WEST: &str = "test 1.1.2 at west";
const NORTH: &str = "test 1.2.1 at north";
const SOUTH: &str = "test 1.2.2 at south";

/// What is lost of an agent, and whether traffic between east and west stops.
fn agent_lost(breaks: impl FnOnce(&Hosts), lost: &[&str], words: &str) -> Going {
    let mut going = Going::start(Hosts::new(&AGENTS), &two_pairs(), &["west", "south"]);
    breaks(&going.hosts);
    going.hosts.are_silent_in_2_s(&["west"]);
    going.ends_without(lost, words);
    going
}

#[test]
fn a_sender_that_is_killed_is_named_and_the_others_go_on() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let with_command =
        two_pairs().replacen("parallel {", "parallel { command east { name = sleeps; duration = 60; }", 1);
    let mut going = Going::start(Hosts::new(&AGENTS), &with_command, &["west", "south"]);
    let sleeps = going.hosts.sleeps.clone();
    assert!(processes_with(&sleeps) > 0);
    going.hosts.signal("KILL", "east");
    going.hosts.are_silent_in_2_s(&["west"]);
    let (failed, results) = going.ends(3);
    let lost = ["command 1.1 at east", "test 1.2.1 at east"].map(|leaf| [leaf, "run", LOST].map(str::to_owned));
    assert_eq!(failed, lost);
    let left = ["test 1.2.2 at west", "test 1.3.1 at north", "test 1.3.2 at south"];
    assert_eq!(results.keys().collect::<Vec<_>>(), left);
    // What it ran ended with it: of all there was, three agents are there.
    assert!(comes(|| processes_with(&sleeps) == 0));
    let there = processes_in(going.hosts.bench.folder.path());
    assert!(there.values().all(|words| words[1] == "agent") && there.len() == 3, "{there:?}");
    going.hosts.go_on(&["west", "north", "south"]);
}

#[test]
fn an_agent_that_is_ended_says_so() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let ended = "it was stopped: the agent was ended, or has lost who commands it";
    let mut going = agent_lost(|hosts| hosts.signal("TERM", "west"), &[WEST], ended);
    // What it found is on its disk.
    let host = going.hosts.names[2].clone();
    going.hosts.agent("west", &host, &address("west"));
    let found = going.hosts.take_up(&going.name);
    assert!(found.len() == 4 && found[WEST]["bytes"].as_u64() > Some(100_000));
}

#[test]
fn a_link_that_goes_down_is_an_agent_that_is_lost() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let cut = |hosts: &Hosts, how| ip(&format!("-n {} link set east {how}", hosts.names[0]));
    let going = agent_lost(|hosts| cut(hosts, "down"), &[EAST], LOST);
    // The one beyond it has stopped too.
    assert!(going.hosts.lets_go("east", &going.name));
    cut(&going.hosts, "up");
    assert_eq!(going.hosts.take_up(&going.name).len(), 4);
}

#[test]
fn a_controller_that_is_stopped_is_lost_and_says_so_when_it_goes_on() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let long = |protocol, from, to| pair(protocol, from, to, 43_000, LONG_S);
    let (one, other) = (long("udp", "east", "west"), long("tcp", "north", "south"));
    let script = format!("parallel {{ cluster {{ {one} }} cluster {{ {other} }} }}");
    let mut going = Going::start(Hosts::new(&AGENTS), &script, &["west", "south"]);
    signal("STOP", going.run.id());
    going.hosts.are_silent_in_2_s(&["west", "south"]);
    for agent in AGENTS {
        assert!(going.hosts.lets_go(agent, &going.name), "{agent}");
    }
    going.hosts.go_on(&AGENTS);
    let found = going.hosts.take_up(&going.name);
    assert_eq!(found.keys().collect::<Vec<_>>(), [EAST, WEST, NORTH, SOUTH]);
    for (sent, received) in [(EAST, WEST), (NORTH, SOUTH)] {
        let [sent, received] = [sent, received].map(|leaf| found[leaf]["bytes"].as_u64().unwrap());
        assert!(received > 300_000 && received <= sent, "{sent} {received}");
    }
    signal("CONT", going.run.id());
    let (failed, results) = going.ends(3);
    assert!(results.is_empty() && failed.iter().any(|[_, _, text]| text == LOST), "{failed:?}");
}

#[test]
fn a_commanding_agent_that_is_stopped_is_lost_like_one_that_is_killed() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let (below, beside) = (pair("udp", "east", "west", 43_000, LONG_S), pair("tcp", "east", "south", 43_001, 4));
    let script = format!("parallel {{ cluster north {{ {below} }} cluster {{ {beside} }} }}");
    let mut going = Going::start(Hosts::new(&AGENTS), &script, &["west", "south"]);
    going.hosts.signal("STOP", "north");
    going.hosts.are_silent_in_2_s(&["west"]);
    let (failed, results) = going.ends(3);
    assert_eq!(failed, [["cluster 1.1 at north", "run", LOST].map(str::to_owned)]);
    let others = ["test 1.2.1 at east", SOUTH];
    assert_eq!(results.keys().collect::<Vec<_>>(), others);
    assert_eq!(results[others[0]]["bytes"], results[others[1]]["bytes"], "the others went on to their end");
    // It goes on, lets go, and reports of those below come through it.
    going.hosts.signal("CONT", "north");
    assert!(going.hosts.lets_go("north", &going.name));
    let found = going.hosts.take_up(&going.name);
    assert_eq!(found.keys().collect::<Vec<_>>(), [EAST, WEST, others[0], others[1]]);
    assert!(found[WEST]["bytes"].as_u64() > Some(300_000));
}

/// Puts an agent's folder on a small disk, which others do not see, before what follows becomes the agent.
const ON_A_SMALL_DISK: &str =
    "cp -a east kept && mount -t tmpfs -o size=256k none east && cp -a kept/. east && exec \"$@\"";

#[test]
fn a_disk_that_is_full_at_an_agent_costs_no_results() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let mut hosts = Hosts::new(&AGENTS);
    hosts.signal("KILL", "east");
    let host = hosts.names[1].clone();
    hosts.agent_by(&["sh", "-c", ON_A_SMALL_DISK, "sh"], "east", &host, &address("east"));
    // The log's last lines find no room: of each block there are some.
    let sleeps = "sleep east { duration = 2; } ".repeat(20);
    let script = format!("parallel {{ {} {sleeps} }}", pair("tcp", "north", "south", 43_000, 2));
    let mut going = Going::start(hosts, &script, &["south"]);
    let disk = format!("/proc/{}/root{}", going.hosts.process("east"), going.hosts.bench.path("east").display());
    let full = fs::write(format!("{disk}/fill"), vec![0; 1 << 20]).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::StorageFull);

    let (failed, results) = going.ends(3);
    let words = "this agent's audit log cannot be written: No space left on device (os error 28)";
    assert!(!failed.is_empty() && failed.iter().all(|[leaf, _, text]| leaf.ends_with(" at east") && text == words));
    assert_eq!(results.len(), 22);
    let [sent, received] = ["test 1.1 at north", "test 1.2 at south"].map(|leaf| results[leaf]["bytes"].as_u64());
    assert!(sent == received && sent > Some(400_000));
    let next = ["lab", "run", "script.ns", "--hosts", "HOSTS.toml", "-o", "next"];
    going.hosts.flowloom(&next).failed(1, &["10.99.0.2:42010: ", words]);

    // With room again it works as before, and no line of the log is broken.
    fs::remove_file(format!("{disk}/fill")).unwrap();
    going.hosts.go_on(&AGENTS);
    assert_eq!(going.hosts.take_up(&going.name).len(), 22);
    let log = fs::read_to_string(format!("{disk}/audit.jsonl")).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
}
