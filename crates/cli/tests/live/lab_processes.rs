//! Faults of a lab whose parts are processes: agents at loopback addresses of their own and a controller, one of which is killed or
//! stopped while leaves send. Nothing here needs root.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;

use crate::lab_faults::LOST;
use crate::support::Bench;
use crate::{one_run, pause, signal};

/// When an agent has lost its parent, everything has stopped within this (docs/guide/agents.md).
const STOPPED_WITHIN_NS: i64 = 2_000_000_000;
/// Leaves start so long after they were asked to, and no later with few of them (docs/guide/agents.md).
const LEAD_NS: i64 = 501_000_000;
/// Longer than any test takes: what has this to do is ended by something else.
const LONG_S: u32 = 300;

/// A controller's folder and agents. Dropped, they are gone.
struct Lab {
    bench: Bench,
    agents: BTreeMap<&'static str, Agent>,
}

struct Agent {
    process: Child,
    address: SocketAddr,
}

/// A `lab run` at work.
struct Run {
    process: Child,
    /// The experiment's name.
    name: String,
    /// Where its results will be.
    folder: &'static str,
}

/// What came of it.
struct Found {
    code: Option<i32>,
    err: String,
    /// Reports, by the leaf's number.
    reports: BTreeMap<String, Value>,
    experiment: Value,
}

/// The time of day.
#[expect(clippy::disallowed_methods, reason = "logs of other processes are compared with it")]
fn unix_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_nanos().try_into().unwrap()
}

#[track_caller]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    assert!(
        (0..1_600).any(|_| is() || {
            pause(25);
            false
        }),
        "{what}: it does not come"
    );
}

impl Lab {
    fn new(names: &[&'static str]) -> Lab {
        let mut lab = Lab { bench: Bench::new(), agents: BTreeMap::new() };
        lab.bench.flowloom(&["lab", "init", "lab"]).succeeded();
        for (name, number) in names.iter().zip(2..) {
            lab.bench.enrol(name);
            lab.start(name, &format!("127.0.0.{number}:0"));
        }
        let list: String = lab.agents.iter().map(|(name, agent)| format!("{name} = \"{}\"\n", agent.address)).collect();
        lab.bench.file("HOSTS.toml", format!("[hosts]\n{list}").as_bytes());
        lab
    }

    /// Starts an agent, and waits until it listens.
    fn start(&mut self, name: &'static str, listen: &str) {
        let log = self.bench.path(&format!("{name}.log"));
        let mut command = Command::cargo_bin("flowloom").unwrap();
        command.args(["agent", "--dir", name, "--listen", listen]).current_dir(self.bench.folder.path());
        let process = command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
        let mut address = None;
        until("an agent listens", || {
            let said = fs::read_to_string(&log).unwrap();
            let line = said.split_once('\n').map_or("", |(line, _)| line);
            address = line.split_once(" listens on ").map(|(_, at)| at.parse().unwrap());
            address.is_some()
        });
        self.agents.insert(name, Agent { process, address: address.unwrap() });
    }

    fn signal(&self, name: &str, which: &str) {
        signal(which, self.agents[name].process.id());
    }

    /// A source and its sink, as two leaves of so many seconds; 8 Mbit/s.
    fn pair(&self, from: &str, to: &str, protocol: &str, seconds: u32) -> String {
        let end = |agent: &str| TcpListener::bind((self.agents[agent].address.ip(), 0)).unwrap().local_addr().unwrap();
        let (own, peer) = (end(from), end(to));
        format!(
            "test {from} {{ type = burst (blocksize = 10000, period = 10000, duration = {seconds}); protocol = {protocol}; own = {own}; peer = {peer}; }}
             test {to} {{ type = sink (blocksize = 10000, duration = {seconds}.5); protocol = {protocol}; own = {peer}; peer = {own}; }}\n"
        )
    }

    fn lab_run(&self, folder: &'static str, more: &[&str]) -> Child {
        let mut command = Command::cargo_bin("flowloom").unwrap();
        command.args(["lab", "run", "script.ns", "--hosts", "HOSTS.toml", "-o", folder]).args(more);
        let err = fs::File::create(self.bench.path(&format!("{folder}.err"))).unwrap();
        command.current_dir(self.bench.folder.path()).stdout(Stdio::null()).stderr(err).spawn().unwrap()
    }

    /// Starts a run of a script, and waits until its leaves have been at work for a while at these agents.
    fn runs(&self, script: &str, at: &[&str]) -> Run {
        self.bench.file("script.ns", script.as_bytes());
        let mut process = self.lab_run("out", &[]);
        let mut name = String::new();
        until("leaves run", || {
            let said = self.said("out");
            assert!(process.try_wait().unwrap().is_none(), "{said}");
            name = said.lines().find_map(|line| line.strip_prefix("experiment ")).unwrap_or_default().to_owned();
            name.len() == 32 && at.iter().all(|agent| self.logged(agent, &name, "start").is_some())
        });
        pause(1_500);
        Run { process, name, folder: "out" }
    }

    fn said(&self, folder: &str) -> String {
        fs::read_to_string(self.bench.path(&format!("{folder}.err"))).unwrap()
    }

    /// When an agent first wrote this command of an experiment down, in nanoseconds since 1970.
    fn logged(&self, agent: &str, experiment: &str, command: &str) -> Option<i64> {
        let log = fs::read_to_string(self.bench.path(agent).join("audit.jsonl")).unwrap();
        // The last line may be in the middle of being written.
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut of_this = lines.filter(|line| line["experiment"] == experiment && line["command"] == command);
        of_this.next().map(|line| line["unix_ns"].as_i64().unwrap())
    }

    /// Waits until it has ended by itself.
    #[track_caller]
    fn ended(&self, mut run: Run) -> Found {
        let mut code = None;
        until("the run ends", || {
            code = run.process.try_wait().unwrap();
            code.is_some()
        });
        let path = self.bench.path(run.folder);
        let read =
            |name: &str| fs::read_to_string(path.join(name)).unwrap_or_else(|_| panic!("{}", self.said(run.folder)));
        let lines = read("results.jsonl");
        let reports = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).map(|line| {
            let number = line["node"].as_str().unwrap().split(' ').nth(1).unwrap().to_owned();
            (number, line["report"].clone())
        });
        Found {
            code: code.unwrap().code(),
            err: self.said(run.folder),
            reports: reports.collect(),
            experiment: serde_json::from_str(&read("experiment.json")).unwrap(),
        }
    }

    /// What an agent keeps on disk of the only leaf that it had of an experiment.
    fn results(&self, agent: &str, experiment: &str) -> Value {
        let folder = self.bench.path(agent).join("results").join(experiment);
        let files = fs::read_dir(folder).unwrap().flat_map(|parent| fs::read_dir(parent.unwrap().path()).unwrap());
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap()
    }

    #[track_caller]
    fn all_live(&mut self) {
        for (name, agent) in &mut self.agents {
            assert!(agent.process.try_wait().unwrap().is_none(), "{name} has ended");
        }
    }

    /// What agents have of an experiment that was lost.
    fn taken_up(&self, name: &str) -> Found {
        let process = self.lab_run("found", &["--take-up", name]);
        self.ended(Run { process, name: name.to_owned(), folder: "found" })
    }

    /// These agents stopped what they ran of an experiment in time after `since`, by their logs and by what a sink of theirs read last.
    #[track_caller]
    fn stopped_in_time(&self, experiment: &str, since_ns: i64, agents: &[&str], sinks: &[(&str, &Value)]) {
        for agent in agents {
            let after_ns = self.logged(agent, experiment, "ended").unwrap() - since_ns;
            println!("{agent}: has stopped {} ms after the fault", after_ns / 1_000_000);
            assert!(after_ns <= STOPPED_WITHIN_NS, "{agent}: {after_ns} ns");
        }
        for (agent, report) in sinks {
            assert_eq!(report["leaf"], "sink");
            assert!(report["results"]["bytes"].as_u64().unwrap() > 100_000, "it has read until then: {report}");
            let last_ns = report["results"]["reads_ns"][1].as_i64().unwrap();
            let latest_ns = self.logged(agent, experiment, "start").unwrap() + LEAD_NS + last_ns;
            println!("{agent}: read last no later than {} ms after the fault", (latest_ns - since_ns) / 1_000_000);
            assert!(latest_ns - since_ns <= STOPPED_WITHIN_NS, "{agent}: {report}");
        }
    }

    /// An experiment is run at once, and everything of it is as it should be.
    #[track_caller]
    fn serves(&self, from: &str, to: &str) {
        self.bench.file("script.ns", format!("cluster {{ {} }}", self.pair(from, to, "tcp", 1)).as_bytes());
        // It may have been there before.
        let _ = fs::remove_dir_all(self.bench.path("again"));
        let process = self.lab_run("again", &[]);
        let found = self.ended(Run { process, name: String::new(), folder: "again" });
        assert_eq!(found.code, Some(0), "{}", found.err);
        assert!(found.bytes("1.2") > 100_000, "{:?}", found.reports);
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for agent in self.agents.values_mut() {
            // It may have ended.
            let _ = agent.process.kill();
            let _ = agent.process.wait();
        }
    }
}

impl Found {
    fn bytes(&self, leaf: &str) -> u64 {
        self.reports[leaf]["results"]["bytes"].as_u64().unwrap()
    }

    fn leaves(&self) -> Vec<&str> {
        self.reports.keys().map(String::as_str).collect()
    }

    /// What was lost: nodes and commands, as experiment.json has them and as it was said.
    #[track_caller]
    fn failed(&self) -> Vec<String> {
        let failed = self.experiment["failed"].as_array().unwrap().iter().map(|failure| {
            let [node, command, text] = ["node", "command", "text"].map(|key| failure[key].as_str().unwrap());
            assert_eq!(text, LOST);
            assert!(self.err.contains(&format!("error: {node}: {command}: {text}")), "{}", self.err);
            format!("{node} {command}")
        });
        failed.collect()
    }
}

#[test]
fn an_agent_that_sends_is_killed_and_its_cluster_ends() {
    let _run = one_run();
    let agents = ["east", "west", "north", "south"];
    let lab = Lab::new(&agents);
    let pairs = [lab.pair("east", "west", "tcp", LONG_S), lab.pair("north", "south", "udp", LONG_S)].concat();
    let run = lab.runs(&format!("cluster {{ {pairs} }}"), &agents);
    lab.signal("east", "KILL");
    let found = lab.ended(run);
    assert_eq!(found.code, Some(1), "the experiment is one cluster: {}", found.err);
    assert_eq!(found.failed(), ["test 1.1 at east run"]);
    assert_eq!(found.experiment["failed_as_a_whole"], true);
    assert_eq!(found.leaves(), ["1.2", "1.3", "1.4"], "{:?}", found.reports);
    assert!(found.bytes("1.2") > 100_000 && found.bytes("1.4") > 100_000, "{:?}", found.reports);
}

#[test]
fn an_agent_that_receives_is_killed_and_others_go_on() {
    let _run = one_run();
    let agents = ["east", "west", "north", "south"];
    let lab = Lab::new(&agents);
    let pairs = [lab.pair("east", "west", "tcp", 5), lab.pair("north", "south", "udp", 5)].concat();
    let run = lab.runs(&format!("parallel {{ {pairs} }}"), &agents);
    lab.signal("west", "KILL");
    let found = lab.ended(run);
    assert_eq!(found.code, Some(3), "{}", found.err);
    assert_eq!(found.failed(), ["test 1.2 at west run"]);
    assert_eq!(found.experiment["failed_as_a_whole"], false);
    assert_eq!(found.leaves(), ["1.1", "1.3", "1.4"], "{:?}", found.reports);
    // Its source says what became of its connection; the others were not touched.
    let cut = &found.reports["1.1"]["results"];
    assert!(cut["failure"].is_string() && cut["bytes"].as_u64().unwrap() < found.bytes("1.3"), "{cut}");
    assert!(found.reports["1.3"]["results"]["failure"].is_null(), "{:?}", found.reports);
    assert!(found.bytes("1.4") > 1_000_000, "{:?}", found.reports);
}

#[test]
fn the_controller_is_killed_and_agents_stop_and_serve_the_next() {
    let _run = one_run();
    let agents = ["east", "west", "north", "south"];
    let mut lab = Lab::new(&agents);
    let pairs = [lab.pair("east", "west", "tcp", LONG_S), lab.pair("north", "south", "udp", LONG_S)].concat();
    let script = format!("parallel {{ {pairs} }}");
    let mut run = lab.runs(&script, &agents);
    let since_ns = unix_ns();
    run.process.kill().unwrap();
    run.process.wait().unwrap();
    until("agents stop", || agents.iter().all(|agent| lab.logged(agent, &run.name, "ended").is_some()));
    assert!(!lab.bench.path("out").exists());
    lab.serves("east", "west");
    lab.serves("south", "north");
    lab.all_live();
    lab.bench.file("script.ns", script.as_bytes());
    let found = lab.taken_up(&run.name);
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert_eq!(found.leaves(), ["1.1", "1.2", "1.3", "1.4"]);
    let sinks = [("west", &found.reports["1.2"]), ("south", &found.reports["1.4"])];
    lab.stopped_in_time(&run.name, since_ns, &agents, &sinks);
}

#[test]
fn an_agent_that_commands_is_killed_and_those_below_stop() {
    let _run = one_run();
    let agents = ["east", "west", "north", "south"];
    let mut lab = Lab::new(&["east", "middle", "west", "north", "south"]);
    let (below, beside) = (lab.pair("east", "west", "tcp", LONG_S), lab.pair("north", "south", "udp", 6));
    let script = format!("parallel {{ parallel middle {{ {below} }} {beside} }}");
    let run = lab.runs(&script, &agents);
    let name = run.name.clone();
    let since_ns = unix_ns();
    lab.signal("middle", "KILL");
    let found = lab.ended(run);
    assert_eq!(found.code, Some(3), "{}", found.err);
    assert_eq!(found.failed(), ["parallel 1.1 at middle run"]);
    assert_eq!(found.leaves(), ["1.2", "1.3"], "what others found is kept");
    assert!(found.bytes("1.3") > 1_000_000, "they went on: {:?}", found.reports);
    lab.stopped_in_time(&name, since_ns, &["east", "west"], &[]);
    let by_middle = lab.results("west", &name);
    lab.stopped_in_time(&name, since_ns, &[], &[("west", &by_middle)]);
    // Started again it knows of the experiment, and reports of those below come through it.
    let middle = lab.agents.get_mut("middle").unwrap();
    middle.process.wait().unwrap();
    let address = middle.address.to_string();
    lab.start("middle", &address);
    lab.bench.file("script.ns", script.as_bytes());
    let found = lab.taken_up(&name);
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert_eq!(found.leaves(), ["1.1.1", "1.1.2", "1.2", "1.3"]);
    assert_eq!(found.reports["1.1.2"], by_middle);
    lab.serves("east", "west");
}

#[test]
fn an_agent_that_is_stopped_for_a_while_is_lost_and_can_be_asked_later() {
    let _run = one_run();
    let agents = ["east", "west", "north", "south"];
    let mut lab = Lab::new(&agents);
    let pairs = [lab.pair("east", "west", "udp", 12), lab.pair("north", "south", "udp", 12)].concat();
    let script = format!("parallel {{ {pairs} }}");
    let run = lab.runs(&script, &agents);
    let name = run.name.clone();
    lab.signal("east", "STOP");
    pause(5_000);
    let since_ns = unix_ns();
    lab.signal("east", "CONT");
    let found = lab.ended(run);
    assert_eq!(found.code, Some(3), "{}", found.err);
    assert_eq!(found.failed(), ["test 1.1 at east run"]);
    assert_eq!(found.leaves(), ["1.2", "1.3", "1.4"]);
    assert!(found.bytes("1.2") < found.bytes("1.4") / 2, "it was not let go on: {:?}", found.reports);
    lab.stopped_in_time(&name, since_ns, &["east"], &[("west", &found.reports["1.2"])]);
    lab.all_live();
    let found = lab.taken_up(&name);
    assert_eq!(found.code, Some(0), "{}", found.err);
    assert!(found.bytes("1.1") > 100_000, "{:?}", found.reports);
    lab.serves("east", "west");
}

#[test]
fn an_agent_that_is_stopped_for_ever_keeps_nobody_waiting() {
    let _run = one_run();
    let agents = ["east", "west", "north", "south"];
    let lab = Lab::new(&agents);
    // The whole ends by its being lost, not by anybody's duration.
    let pairs = [lab.pair("east", "west", "tcp", LONG_S), lab.pair("north", "south", "udp", LONG_S)].concat();
    let run = lab.runs(&format!("cluster {{ {pairs} }}"), &agents);
    let since_ns = unix_ns();
    lab.signal("west", "STOP");
    let found = lab.ended(run);
    println!("it ended {} ms after the stop\n{}", (unix_ns() - since_ns) / 1_000_000, found.err);
    assert_eq!(found.code, Some(1), "{}", found.err);
    assert_eq!(found.failed(), ["test 1.2 at west run"]);
    assert_eq!(found.leaves(), ["1.1", "1.3", "1.4"], "{:?}", found.reports);
    assert!(found.bytes("1.1") > 100_000 && found.bytes("1.4") > 100_000, "{:?}", found.reports);
    lab.serves("north", "south");
}
