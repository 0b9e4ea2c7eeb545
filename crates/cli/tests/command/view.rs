//! `flowloom view`: it prints its link, answers as documented, and ends by a signal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::documented::check;
use crate::support::{Bench, Traffic};
use crate::watch::{experiment, running, started};

const REGISTRY: &str = "\
[[site]]
name = \"north\"
place = \"Hall 1\"
latitude = 52.5
longitude = 13.4
[[target]]
name = \"core\"
site = \"north\"
type = \"switch\"
kind = \"local\"
[[target.port]]
name = \"a\"
capacity = \"1gbit\"
carries = \"the lab\"
[[target]]
name = \"edge\"
kind = \"local\"
[[link]]
from = \"core:a\"
to = \"edge:b\"
since = \"2024-01-01\"
[[link]]
from = \"core:b\"
to = \"edge:a\"
until = \"2024-01-01\"
";

/// A server, ended with the test.
struct Viewed(Child, String);

impl Viewed {
    fn start(bench: &Bench, options: &[&str]) -> Viewed {
        let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
            .current_dir(bench.folder.path())
            .arg("view")
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut link = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut link).unwrap();
        let address = link.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        Viewed(child, address)
    }

    fn ask(&self, target: &str) -> Value {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.1).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{target}: {text}");
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Follows a run.
    fn events(&self, run: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        write!(stream, "GET /api/events?run={run} HTTP/1.1\r\nhost: {}\r\n\r\n", self.1).unwrap();
        BufReader::new(stream)
    }

    /// Asks a run to stop, as the page does.
    fn stop(&self, run: &str) -> Value {
        let send = |request: String| {
            let mut stream = TcpStream::connect(&self.1).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text.split_once("\r\n\r\n").unwrap().1.to_owned()
        };
        let page = send(format!("GET / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.1));
        let token = page.split_once("name=\"page-token\" content=\"").unwrap().1.split('"').next().unwrap();
        let answer = send(format!(
            "POST /api/stop?run={run} HTTP/1.1\r\nhost: {0}\r\norigin: http://{0}\r\nflowloom-page-token: {token}\r\n\
             content-length: 0\r\nconnection: close\r\n\r\n",
            self.1
        ));
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"))
    }

    /// Ends it by a signal: its exit code, and what it said.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap().code(), said)
    }
}

impl Drop for Viewed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The next event of a stream: its name and what it says.
fn event(events: &mut BufReader<TcpStream>) -> (String, Value) {
    let mut lines = events.lines().map(Result::unwrap);
    let name = lines.find_map(|line| Some(line.strip_prefix("event: ")?.to_owned())).expect("the stream has ended");
    let data = lines.next().unwrap();
    (name, serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
}

/// Two hours of two ports.
fn monitor(bench: &Bench) {
    use flowloom_testkit::monitor::{MINUTE, START, Store};
    let mut store = Store::create(&bench.path("counters"), START);
    let one = store.series("core", "a", "out");
    let other = store.series("edge", "b", "out");
    for minute in 1..=120 {
        let burst = if minute % 30 == 7 { 900_000 } else { 1_000 };
        store.samples(START + minute * MINUTE, MINUTE, &[(one, burst * 60), (other, minute * 60)]);
    }
    store.gap(one, START + 120 * MINUTE, START + 125 * MINUTE);
}

#[test]
fn every_answer_is_as_documented() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(30).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "runs/a"]).succeeded();
    bench.flowloom(&["sweep", "c.pcap", "--vary", "queue=5p,50p", "--seeds", "2", "-o", "sweeps/q"]).succeeded();
    bench.file("campus.toml", REGISTRY.as_bytes());
    bench.file(
        "notes.toml",
        b"[[note]]\nrun = \"runs/a\"\ntags = [\"first\"]\n[[note]]\nfrom = \"2024-10-04\"\ntext = \"x\"\n",
    );
    monitor(&bench);
    let viewed = Viewed::start(&bench, &["."]);
    let folders = viewed.ask("/api/folders");
    check("view folders", &folders);
    assert_eq!(folders["problems"], serde_json::json!([]));
    assert_eq!(folders["registries"][0]["id"], "0/campus.toml");
    let told = viewed.ask("/api/monitor?monitor=0/counters");
    check("view monitor", &told);
    let (one, other) = (&told["series"][0]["id"], &told["series"][1]["id"]);
    let of = "monitor=0/counters&from=2024-10-04&to=2024-10-04T02:10";
    let both = format!("{of}&series={one}&series={other}");
    let period = viewed.ask(&format!("/api/period?{both}&sum=true"));
    check("view period", &period);
    assert_eq!(period["curves"][0]["gaps"][0]["reason"], "no-answer");
    check("view days", &viewed.ask(&format!("/api/days?{both}")));
    check("view correlation", &viewed.ask(&format!("/api/correlation?{both}&lags=3")));
    let bursts = viewed.ask(&format!("/api/bursts?{of}&series={one}&above=5000"));
    check("view bursts", &bursts);
    assert_eq!(bursts["count"], 4);
    let map = viewed.ask("/api/map?registry=0/campus.toml&monitor=0/counters&from=2024-10-04&to=2024-10-05");
    check("view map", &map);
    let [link] = &map["links"].as_array().unwrap()[..] else { panic!("{map}") };
    assert_eq!(
        (&link["capacity_bps"], &link["forth"]["series"], &link["back"]["series"]),
        (&1_000_000_000.into(), one, other)
    );
    // 116 minutes of 1,000 and 4 of 900,000 octets a second.
    let mean = (116.0 * 1_000.0 + 4.0 * 900_000.0) / 120.0 * 8.0;
    assert!((link["forth"]["mean_bps"].as_f64().unwrap() - mean).abs() < 1e-3 * mean, "{link} {mean}");
    let before = viewed.ask("/api/map?registry=0/campus.toml&monitor=0/counters&from=2023-10-04&to=2023-10-05");
    assert_eq!(before["links"][0]["from"]["port"], "b");
    let runs = viewed.ask("/api/runs");
    check("view runs", &runs);
    assert_eq!(runs["runs"][0]["tags"], serde_json::json!(["first"]));
    check("view run", &viewed.ask("/api/run?run=0/runs/a"));
    check("view marks", &viewed.ask("/api/marks?from=2024-01-01&to=2034-01-01"));
    let compared = viewed.ask("/api/compare?run=0/runs/a");
    check("view compare", &compared);
    let printed = bench.flowloom(&["compare", "runs/a"]).succeeded().out.clone();
    assert_eq!(
        compared["text"].as_str().unwrap().lines().skip(1).collect::<Vec<_>>(),
        printed.lines().skip(1).collect::<Vec<_>>()
    );
    let sweep = viewed.ask("/api/sweep?sweep=0/sweeps/q");
    check("view sweep", &sweep);
    let told = std::fs::read_to_string(bench.path("sweeps/q/answer.json")).unwrap();
    assert_eq!(sweep["answer"]["sentence"], serde_json::from_str::<Value>(&told).unwrap()["sentence"]);
    let (code, said) = viewed.end("-INT");
    assert_eq!((code, &said[..]), (Some(0), ""));
}

#[test]
fn a_run_is_seen_stopped_and_found_with_its_report() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("runs")).unwrap();
    bench.file("x.toml", experiment(100_000).as_bytes());
    let mut child = started(&bench, &["run", "x.toml", "-o", "runs/r", "-q"]);
    let viewed = Viewed::start(&bench, &["runs"]);
    running(&bench.path("runs"), &mut child);
    let listed =
        std::iter::repeat_with(|| viewed.ask("/api/running")).find(|told| told["runs"][0].is_object()).unwrap();
    check("view running", &listed);
    let run = &listed["runs"][0];
    assert_eq!((&run["name"], &run["can_stop"]), (&"r".into(), &true.into()));
    let id = run["id"].as_str().unwrap();
    let mut events = viewed.events(id);
    let (name, first) = event(&mut events);
    assert_eq!(name, "observation");
    check("view-running", &first);
    let time = |told: &Value| told["observation"]["time_ns"].as_u64().unwrap();
    let (_, next) = event(&mut events);
    assert!(time(&next) > time(&first), "{next}");
    check("view stop", &viewed.stop(id));
    let (name, results) =
        std::iter::repeat_with(|| event(&mut events)).find(|(name, _)| name != "observation").unwrap();
    check("view results", &results);
    let expected = serde_json::json!({ "json_version": 1, "run": "0/r", "sweep": null, "has_report": true });
    assert_eq!((&name[..], &results), ("end", &expected));
    assert_eq!(child.output().status.code(), Some(3));
    assert_eq!(viewed.ask("/api/run?run=0/r")["run"]["is_complete"], false);
    let (code, said) = viewed.end("-INT");
    assert_eq!((code, &said[..]), (Some(0), ""));
}

#[test]
fn cells_of_a_sweep_lead_to_their_sweep() {
    let bench = Bench::new();
    bench.file("x.toml", experiment(100_000).as_bytes());
    let words = ["sweep", "x.toml", "--vary", "rate=50mbit,100mbit", "--seeds", "1", "-o", "s", "--yes"];
    let mut child = started(&bench, &words);
    let viewed = Viewed::start(&bench, &["."]);
    let listed = loop {
        let told = viewed.ask("/api/running");
        if told["runs"][0].is_object() {
            break told;
        }
        assert!(child.child().try_wait().unwrap().is_none(), "it ended without a word");
    };
    let run = &listed["runs"][0];
    assert!(run["name"].as_str().unwrap().starts_with("s/cells/"), "{run}");
    let id = run["id"].as_str().unwrap();
    let mut events = viewed.events(id);
    assert_eq!(event(&mut events).0, "observation");
    viewed.stop(id);
    let (_, results) = std::iter::repeat_with(|| event(&mut events)).find(|(name, _)| name == "end").unwrap();
    assert_eq!((&results["run"], &results["sweep"]), (&Value::Null, &"0/s".into()));
    assert_eq!(child.output().status.code(), Some(3));
}

#[test]
fn it_says_what_cannot_be_served() {
    let bench = Bench::new();
    bench.flowloom(&["view", "nowhere"]).failed(1, &["nowhere"]);
    bench.file("token", b"short\n");
    bench.flowloom(&["view", ".", "--token-file", "token"]).failed(2, &["a token has 16", "openssl rand"]);
    let viewed = Viewed::start(&bench, &[".", "--listen", "0.0.0.0:0"]);
    let (code, said) = viewed.end("-TERM");
    assert_eq!(code, Some(0));
    assert!(
        said.starts_with("warning: whoever reads what passes between here and the browser reads the token"),
        "{said}"
    );
}
