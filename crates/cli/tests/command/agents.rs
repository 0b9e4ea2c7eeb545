//! A lab of one agent, as its keepers make it: every command of `docs/guide/agents.md`.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::documented;
use crate::support::{Bench, processes_with};

/// A command that listens, and where; it is ended with this.
struct Listening {
    child: Child,
    address: SocketAddr,
}

impl Listening {
    fn new(folder: &Path, words: &[&str]) -> Listening {
        let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
            .args(words)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.split_whitespace().find_map(|word| word.parse().ok());
        Listening { child, address: address.unwrap_or_else(|| panic!("{said}")) }
    }

    fn terminate(&mut self) -> Option<i32> {
        let number = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &number]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn members_come_work_and_go() {
    let bench = Bench::new();
    let folder = bench.path(".");
    bench.flowloom(&["lab", "init", "lab", "--name", "test"]).succeeded();
    bench.flowloom(&["lab", "init", "lab"]).failed(1, &["lab exists already"]);
    bench.flowloom(&["lab", "invite", "East"]).failed(2, &["lower-case"]);

    // Over the network: the token names an address that is known only when somebody listens.
    bench.flowloom(&["lab", "invite", "keeps-it-open"]).succeeded();
    let mut door = Listening::new(&folder, &["lab", "admit", "--listen", "127.0.0.1:0"]);
    let token = |name: &str| {
        let said = bench.flowloom(&["lab", "invite", name, "--address", &door.address.to_string()]);
        said.succeeded().out.trim().to_owned()
    };
    let east = token("east");
    bench.flowloom(&["lab", "enrol", &east, "--dir", "east"]).succeeded();
    bench.flowloom(&["lab", "enrol", &east, "--dir", "again"]).failed(1, &["has been used"]);
    bench.flowloom(&["lab", "enrol", "nonsense", "--dir", "again"]).failed(2, &["no token"]);
    assert_eq!(door.terminate(), Some(3), "interrupted: one who is invited has not come");

    // By files.
    let token = bench.flowloom(&["lab", "invite", "nowhere"]).succeeded().out.trim().to_owned();
    bench.flowloom(&["lab", "enrol", &token, "--dir", "nowhere"]).failed(1, &["no address"]);
    bench.enrol("west");

    lend_commands(&bench);
    let mut agent = Listening::new(&folder, &["agent", "--dir", "east", "--listen", "127.0.0.1:0"]);
    let address = agent.address.to_string();
    let status = bench.json(&["lab", "status", &address, "--json"]);
    documented::check("lab status", &status);
    assert_eq!(status["agents"][0]["name"], "east");
    let clock = &status["agents"][0]["clock"]["time_of_day"];
    assert!(
        clock["offset_ns"].as_i64().unwrap().abs() <= clock["error_ns"].as_i64().unwrap(),
        "it is the same clock: {clock}"
    );
    bench.file("HOSTS.toml", format!("[hosts]\nnorth = \"{address}\"\n").as_bytes());
    bench.flowloom(&["lab", "status", "HOSTS.toml"]).failed(1, &["agent east answers there, where north is expected"]);

    bench.file("HOSTS.toml", format!("[hosts]\neast = \"{address}\"\n").as_bytes());
    runs_scripts(&bench);
    runs_commands(&bench);

    is_taken_up(&bench);

    let logs = bench.json(&["lab", "logs", "HOSTS.toml", "--json"]);
    documented::check("lab logs", &logs);
    let lines = logs["lines"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["command"] == "run" && line["agent"] == "east"), "{logs}");
    let experiment = lines[0]["experiment"].as_str().unwrap();
    let shown = bench.flowloom(&["lab", "logs", &address, "--experiment", experiment, "--lines", "2"]);
    let shown = shown.succeeded().out.clone();
    assert_eq!(shown.lines().filter(|line| line.contains(&experiment[..8])).count(), 2, "{shown}");
    bench.flowloom(&["lab", "logs", "127.0.0.1:1"]).failed(1, &["127.0.0.1:1"]);

    bench.flowloom(&["lab", "revoke", "east"]).succeeded();
    bench.flowloom(&["lab", "revoke", "nobody"]).failed(1, &["no certificate of nobody"]);
    bench.flowloom(&["lab", "status", &address]).failed(1, &["its certificate is revoked"]);
    assert_eq!(agent.terminate(), Some(0));
}

/// The controller is killed; what the agent found until then is fetched by another.
fn is_taken_up(bench: &Bench) {
    bench.file("long.ns", b"sleep east { duration = 60; }");
    let mut run = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .args(["lab", "run", "long.ns", "--hosts", "HOSTS.toml", "-o", "lost"])
        .current_dir(bench.path("."))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let name = said.find_map(|line| line.strip_prefix("experiment ").map(str::to_owned)).unwrap();
    let written = |what: &str| {
        let log = std::fs::read_to_string(bench.path("east/audit.jsonl")).unwrap();
        log.lines().any(|line| line.contains(&name) && line.contains(what))
    };
    let waits_for = |what: &str| {
        (0..400).any(|_| {
            written(what) || {
                pause(25);
                false
            }
        })
    };
    assert!(waits_for(r#""command":"start""#), "it runs");
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(waits_for(r#""command":"ended""#), "the agent stops what its controller was lost of");
    assert!(!bench.path("lost").exists());
    let take_up = ["lab", "run", "long.ns", "--hosts", "HOSTS.toml", "-o", "found", "--take-up", &name];
    bench.flowloom(&take_up).succeeded();
    let found = std::fs::read_to_string(bench.path("found/results.jsonl")).unwrap();
    assert!(found.contains(r#""leaf":"sleep""#), "{found}");
    let unknown = "0".repeat(32);
    let nothing = ["lab", "run", "long.ns", "--hosts", "HOSTS.toml", "-o", "none", "--take-up", &unknown];
    bench.flowloom(&nothing).failed(1, &["is not known here"]);
}

/// Lets other processes go on.
#[expect(clippy::disallowed_methods, reason = "other processes are waited for")]
fn pause(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

/// One agent sends to itself.
fn runs_scripts(bench: &Bench) {
    let port = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (source, sink) = (port(), port());
    let script = |sink_there: u16| {
        format!(
            "cluster {{
               test east {{ type = cbr (blocksize = 1000, period = 10000, duration = 0.5); protocol = udp; own = 127.0.0.1:{source}; peer = 127.0.0.1:{sink}; }}
               test east {{ type = sink (blocksize = 1000, duration = 1); protocol = udp; own = 127.0.0.1:{sink_there}; peer = 127.0.0.1:{source}; }}
             }}"
        )
    };
    bench.file("one.ns", script(sink).as_bytes());
    let run = ["lab", "run", "one.ns", "--hosts", "HOSTS.toml", "-o", "results"];
    bench.flowloom(&run).succeeded();
    let lines = std::fs::read_to_string(bench.path("results/results.jsonl")).unwrap();
    let reports: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), 2);
    let sent = reports[0]["report"]["results"]["calls"].as_u64().unwrap();
    let came = &reports[1]["report"]["results"]["datagrams"];
    assert!(sent > 0 && came["received"].as_u64().unwrap() + came["lost"].as_u64().unwrap() <= sent, "{lines}");
    let whole: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("results/experiment.json")).unwrap()).unwrap();
    assert_eq!(whole["leaves"].as_array().unwrap().len(), 2);
    assert!(whole["leaves"][0]["started"]["not_after_ns"].as_i64() >= whole["leaves"][0]["meant_to_start_ns"].as_i64());
    bench.flowloom(&["lab", "check", "results/script.ns"]).succeeded();

    bench.flowloom(&run).failed(1, &["results exists already", "--force"]);
    bench.flowloom(&["lab", "run", "one.ns", "--hosts", "HOSTS.toml", "-o", "results", "--force"]).succeeded();
    // Nobody who takes part receives there.
    bench.file("one.ns", script(source).as_bytes());
    let silent = ["lab", "run", "one.ns", "--hosts", "HOSTS.toml", "-o", "silent"];
    bench.flowloom(&silent).failed(1, &["no agent at 127.0.0.1:"]);
    bench.file("one.ns", b"sleep { duration = 1; }");
    bench.flowloom(&["lab", "run", "one.ns", "-o", "none"]).failed(1, &["has no address"]);
    bench.file("one.ns", b"sleep north.invalid { duration = 1; }");
    bench.flowloom(&["lab", "run", "one.ns", "-o", "none"]).failed(1, &["north.invalid:42010"]);
    assert!(!bench.path("none").exists());
}

/// Seconds that only a process of this test sleeps.
const LONG: &str = "31415";

fn lend_commands(bench: &Bench) {
    let limits = std::fs::read_to_string(bench.path("east/limits.toml")).unwrap();
    let commands = format!(
        "\n[commands]\nsays = [\"/bin/sh\", \"-c\", \"echo out; echo err >&2; env; pwd; exit 7\"]\n\
         talks = [\"/bin/sh\", \"-c\", \"while :; do echo 0123456789012345678901234567890123456789; done\"]\n\
         stays = [\"/bin/sh\", \"-c\", \"setsid sleep {LONG} & sleep {LONG} & trap '' TERM; echo up; wait\"]\n\
         leaves = [\"/bin/sh\", \"-c\", \"setsid sleep {LONG} >/dev/null 2>&1 & echo gone\"]\n\
         none = [\"/no/such/program\"]\n"
    );
    bench.file("east/limits.toml", (limits + &commands).as_bytes());
}

fn runs_commands(bench: &Bench) {
    let command = |name: &str, seconds: &str| format!("command east {{ name = {name}; duration = {seconds}; }}\n");
    let script = [("says", "5"), ("talks", "0.5"), ("stays", "0.5"), ("leaves", "5"), ("none", "5"), ("hidden", "5")];
    let script: String = script.iter().map(|(name, seconds)| command(name, seconds)).collect();
    bench.file("commands.ns", format!("parallel {{ {script} }}").as_bytes());
    let said = bench.flowloom(&["lab", "run", "commands.ns", "--hosts", "HOSTS.toml", "-o", "commands"]);
    assert_eq!(said.code, 3, "two could not: {}", said.err);
    assert!(
        said.err.contains("hidden is not in this agent's commands (leaves, none, says, stays, talks)"),
        "{}",
        said.err
    );
    assert!(said.err.contains("/no/such/program: No such file"), "{}", said.err);
    assert!(said.err.contains("command 1.1 at east: it ended with 7"), "{}", said.err);
    let lines = std::fs::read_to_string(bench.path("commands/results.jsonl")).unwrap();
    let found = |name: &str| {
        let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let of_name = lines.map(|line| line["report"]["results"].clone()).find(|results| results["name"] == name);
        of_name.unwrap_or_else(|| {
            panic!("{name}: {lines}", lines = std::fs::read_to_string(bench.path("commands/results.jsonl")).unwrap())
        })
    };
    let says = found("says");
    assert_eq!((says["exit_code"].as_u64(), says["errors"]["text"].as_str()), (Some(7), Some("err\n")));
    let text = says["output"]["text"].as_str().unwrap();
    assert!(text.starts_with("out\n") && text.ends_with("/\n"), "{text}");
    assert!(!text.contains("PATH=") && !text.contains("HOME="), "it has none of the agent's variables: {text}");
    let talks = found("talks");
    assert_eq!((talks["timed_out"].as_bool(), talks["exit_code"].as_u64()), (Some(true), Some(137)));
    assert_eq!(talks["output"]["text"].as_str().unwrap().len(), 1 << 20, "what is kept of it is bounded");
    assert!(talks["output"]["bytes"].as_u64().unwrap() > 1 << 20);
    let stays = found("stays");
    assert_eq!((stays["timed_out"].as_bool(), stays["output"]["text"].as_str()), (Some(true), Some("up\n")));
    assert_eq!((found("leaves")["exit_code"].as_u64(), found("leaves")["timed_out"].as_bool()), (Some(0), Some(false)));
    assert_eq!(processes_with(LONG), 0, "nothing that a command started goes on");
}
