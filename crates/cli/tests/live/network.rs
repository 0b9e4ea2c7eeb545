//! Hosts that are network namespaces with addresses of their own behind a bridge: the programs of a lab on them.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use assert_cmd::cargo::CommandCargoExt;

use crate::support::{Bench, Said};
use crate::{pause, signal};

/// Hosts behind a bridge, the first with a controller, the others with agents. Dropped, they are gone.
pub struct Hosts {
    pub bench: Bench,
    pub names: Vec<String>,
    /// Seconds that only a command of these hosts sleeps.
    pub sleeps: String,
    /// The agents' processes.
    agents: BTreeMap<String, Child>,
}

/// Labs that this process has made.
static LABS: AtomicU32 = AtomicU32::new(0);

/// What the names of all hosts that this process makes begin with.
pub fn of_this_process() -> String {
    format!("fl-{}-", std::process::id())
}

/// Does something to network namespaces.
pub fn ip(words: &str) {
    let said = Command::new("ip").args(words.split_whitespace()).output().unwrap();
    assert!(said.status.success(), "ip {words}: {}", String::from_utf8_lossy(&said.stderr));
}

/// The program, with these words, in the network namespace of a host.
fn flowloom_at(host: &str, words: &[&str]) -> Command {
    let flowloom = Command::cargo_bin("flowloom").unwrap();
    let mut command = Command::new("ip");
    command.args(["netns", "exec", host]).arg(flowloom.get_program()).args(words);
    command
}

/// How far the monotonic clock of the host with this address is ahead of the controller's: a thousand seconds for each number of its last
/// byte. A start by the wrong clock, or by the right one the wrong way, never comes.
pub fn ahead_seconds(address: &str) -> i64 {
    1_000 * address.rsplit('.').next().unwrap().parse::<i64>().unwrap()
}

impl Hosts {
    /// A lab with these agents, of which the first half plays the left side.
    pub fn new(agents: &[&str]) -> Hosts {
        let lab = LABS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("{}{lab}-", of_this_process());
        let names: Vec<String> = ["controller"].iter().chain(agents).map(|name| format!("{prefix}{name}")).collect();
        let mut hosts =
            Hosts { bench: Bench::new(), names, sleeps: (27_182 + lab).to_string(), agents: BTreeMap::new() };
        let controller = hosts.names[0].clone();
        hosts.names.iter().for_each(|name| ip(&format!("netns add {name}")));
        ip(&format!("-n {controller} link add bridge type bridge"));
        ip(&format!("-n {controller} address add 10.99.0.1/24 dev bridge"));
        ip(&format!("-n {controller} link set bridge up"));
        hosts.bench.flowloom(&["lab", "init", "lab"]).succeeded();
        let (mut list, mut sides) = ("[hosts]\n".to_owned(), [String::new(), String::new()]);
        for (number, agent) in agents.iter().enumerate() {
            let (name, address) = (hosts.names[number + 1].clone(), format!("10.99.0.{}", number + 2));
            ip(&format!("-n {controller} link add {agent} type veth peer name eth0 netns {name}"));
            ip(&format!("-n {controller} link set {agent} master bridge up"));
            ip(&format!("-n {name} address add {address}/24 dev eth0"));
            ip(&format!("-n {name} link set eth0 up"));
            ip(&format!("-n {name} link set lo up"));
            hosts.enrol(agent, r#"destinations = ["10.99.0.0/24"]"#);
            hosts.agent(agent, &name, &address);
            list += &format!("{agent} = \"{address}\"\n");
            sides[usize::from(2 * number >= agents.len())] += &format!("\"{agent}\", ");
        }
        let list = format!("{list}[sides]\nleft = [{}]\nright = [{}]\n", sides[0], sides[1]);
        hosts.bench.file("HOSTS.toml", list.as_bytes());
        hosts
    }

    /// Makes an agent a member, which may send to these destinations.
    pub fn enrol(&self, agent: &str, destinations: &str) {
        self.bench.enrol(agent);
        let file = self.bench.path(agent).join("limits.toml");
        let limits = fs::read_to_string(&file).unwrap();
        let lends_more = limits.replace(r#"destinations = ["127.0.0.0/8", "::1/128"]"#, destinations).replacen(
            r#"rate = "100mbit""#,
            r#"rate = "1gbit""#,
            1,
        );
        assert_ne!(lends_more, limits);
        let demo = self.bench.path("demo.parquet");
        let lends =
            format!("[workloads]\ndemo = {demo:?}\n[commands]\nsleeps = [\"/bin/sleep\", \"{}\"]\n", self.sleeps);
        fs::write(file, lends_more + &lends).unwrap();
    }

    /// Starts an agent, and waits until it listens.
    pub fn agent(&mut self, agent: &str, host: &str, address: &str) {
        self.agent_by(&[], agent, host, address);
    }

    /// The same by a program that does something before it becomes the agent.
    pub fn agent_by(&mut self, program: &[&str], agent: &str, host: &str, address: &str) {
        if let Some(mut before) = self.agents.remove(agent) {
            before.wait().unwrap();
        }
        let log = fs::File::create(self.bench.path(&format!("{agent}.log"))).unwrap();
        let flowloom = Command::cargo_bin("flowloom").unwrap();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", host]).args(program);
        command.args(["unshare", "--time", "--monotonic", &ahead_seconds(address).to_string()]);
        command.arg(flowloom.get_program()).args(["agent", "--dir", agent, "--listen", &format!("{address}:42010")]);
        command.current_dir(self.bench.folder.path()).stdout(Stdio::null()).stderr(log);
        self.agents.insert(agent.to_owned(), command.spawn().unwrap());
        let listens = |_| fs::read_to_string(self.bench.path(&format!("{agent}.log"))).unwrap().contains("listens");
        assert!(
            (0..200).any(|turn| listens(turn) || {
                pause(25);
                false
            }),
            "{agent} does not listen"
        );
    }

    /// Sends a signal to an agent.
    pub fn signal(&self, name: &str, agent: &str) {
        signal(name, self.process(agent));
    }

    /// An agent's process.
    pub fn process(&self, agent: &str) -> u32 {
        self.agents[agent].id()
    }

    /// The program, with these words, on the controller's host.
    pub fn by_the_controller(&self, words: &[&str]) -> Command {
        let mut command = flowloom_at(&self.names[0], words);
        command.current_dir(self.bench.folder.path());
        command
    }

    /// What a program says.
    pub fn said(&self, mut command: Command) -> Said {
        let output = command.output().unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for agent in self.agents.values_mut() {
            // It may have ended.
            let _ = agent.kill();
            let _ = agent.wait();
        }
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}
