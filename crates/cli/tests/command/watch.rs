//! A run that is watched: what it says of itself while it goes on, as events, as metrics and as a file; that it comes to the same; that it is
//! stopped, and killed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use flowloom::store::run_folder::RunFolder;
use flowloom::{Observation, observe, request_stop, running_in};
use serde_json::Value;

use crate::documented::check;
use crate::support::Bench;

/// A bulk transfer that fills a link of 100 Mbit/s.
pub fn experiment(seconds: u64) -> String {
    format!(
        "measure.duration = \"{seconds}s\"\nmeasure.throughput-every = \"1s\"\n[network.bottleneck]\nrate = \"100mbit\"\ndelay = \"5ms\"\n\
         queue = {{ kind = \"drop-tail\", limit = \"200p\" }}\n[[sources]]\nname = \"s\"\nkind = \"bulk\"\nrtt = \"20ms\"\n"
    )
}

/// The command at work. It ends with the test: a run of days would outlive one that fails.
pub struct Started(Option<Child>);

impl Started {
    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    /// Waits for its end.
    pub fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn started(bench: &Bench, words: &[&str]) -> Started {
    let child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")
        .spawn()
        .unwrap();
    Started(Some(child))
}

/// The only run that goes on in a folder, once it says so.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
pub fn running(root: &Path, started: &mut Started) -> (PathBuf, Observation) {
    loop {
        if let [one] = &running_in(root)[..] {
            return one.clone();
        }
        assert!(started.child().try_wait().unwrap().is_none(), "it ended without a word");
        sleep(Duration::from_millis(10));
    }
}

/// The samples of a text for Prometheus, by name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

fn scrape(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_owned())
}

/// What the files of a run hold, but those that tell of the host and its time.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let named = entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()));
    named.filter(|(name, _)| !["host.json", "manifest.json", "report.html"].contains(&name.as_str())).collect()
}

#[test]
fn a_watched_run_comes_to_the_same() {
    let bench = Bench::new();
    bench.file("x.toml", experiment(400).as_bytes());
    let mut child = started(&bench, &["run", "x.toml", "-o", "seen", "--metrics", "0", "--json-stream"]);
    let mut told = String::new();
    BufReader::new(child.child().stderr.as_mut().unwrap()).read_line(&mut told).unwrap();
    let address = told.trim().strip_prefix("metrics at http://").unwrap().strip_suffix("/metrics").unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let (folder, seen) = running(bench.folder.path(), &mut child);
    let metrics = scrape(address).unwrap();
    let output = child.output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.exists(), "it has its name");
    assert!(!bench.path("seen/running.json").exists());

    // What it said while it went on.
    assert_eq!((seen.run.as_str(), seen.driver.as_str(), seen.seed), ("seen", "sim", 1));
    assert_eq!((seen.window_ns, seen.verdict.as_str()), (400_000_000_000, "VALID"));
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&Value> = lines.iter().filter(|line| line["event"] == "observation").collect();
    check("observation", events[0]);
    check("observed-link", &events[0]["links"][0]);
    assert_eq!(events.last().unwrap()["phase"], "ended");
    // The transfer fills the link but for its slow start. 200 packets of 1,514 bytes and the one on the line take 24.4 ms: no packet waits longer.
    let number = |value: &Value| value.as_f64().unwrap();
    for event in events.iter().filter(|event| event["phase"] == "running") {
        let link = &event["links"][0];
        let (rate, delay) = (number(&link["throughput_bps"]), number(&link["queue_delay_ns"]));
        assert!((95e6..=100.01e6).contains(&rate), "{event}");
        assert!((1e6..=24.4e6).contains(&delay) && number(&link["queue_packets"]) <= 200.0, "{event}");
        assert_eq!(event["connections"]["active"], 1);
    }
    // Rates add up to what was carried, and that is what the tables have for the time.
    let last = events.iter().rfind(|event| event["phase"] == "running").unwrap();
    let (mut bits, mut before) = (0.0, 0.0);
    for event in events.iter().filter(|event| event["phase"] == "running") {
        bits += number(&event["links"][0]["throughput_bps"]) * (number(&event["time_ns"]) - before) / 1e9;
        before = number(&event["time_ns"]);
    }
    let carried = number(&last["links"][0]["carried_bytes"]);
    assert!((bits / 8.0 - carried).abs() < 1.0, "{bits} bits, {carried} bytes");
    let whole = before as u64 / 1_000_000_000;
    let rows = RunFolder::open(&bench.path("seen")).unwrap().throughput().unwrap().map(Result::unwrap);
    let is_carried = |point: flowloom::store::run_folder::TrafficPoint| format!("{point:?}") == "ReplayCarried";
    let until =
        rows.filter(|row| row.link == 0 && is_carried(row.point) && row.start.as_nanos() / 1_000_000_000 < whole);
    let recorded: u64 = until.map(|row| row.traffic.bytes).sum();
    let rest = carried - recorded as f64;
    // What passed in the second that was not over, and a packet that is on the line.
    assert!((-2_000.0..=12.6e6).contains(&rest), "{carried} of {recorded} in {whole} s");
    // At its end it has all of it.
    let rows = RunFolder::open(&bench.path("seen")).unwrap().throughput().unwrap().map(Result::unwrap);
    let all = rows.filter(|row| row.link == 0 && is_carried(row.point)).map(|row| row.traffic.bytes).sum::<u64>();
    let carried = events.last().unwrap()["links"][0]["carried_bytes"].as_u64().unwrap();
    assert!(carried.abs_diff(all) <= 2_000, "{carried} of {all}");

    let samples = samples(&metrics);
    let of = |name: &str| samples.get(name).copied().unwrap_or_else(|| panic!("{name} is missing in {metrics}"));
    assert_eq!(of("flowloom_run_info{run=\"seen\",seed=\"1\",driver=\"sim\"}"), 1.0);
    assert_eq!(of("flowloom_run_verdict{run=\"seen\",seed=\"1\",verdict=\"VALID\"}"), 1.0);
    let rate =
        of("flowloom_run_link_throughput_bytes_per_second{run=\"seen\",seed=\"1\",link=\"bottleneck\",from=\"left\"}");
    assert!((95e6..=100.01e6).contains(&(rate * 8.0)), "{rate}");

    bench.flowloom(&["run", "x.toml", "-o", "unseen", "-q"]).succeeded();
    let (seen, unseen) = (files(&bench.path("seen")), files(&bench.path("unseen")));
    assert!(seen.keys().eq(unseen.keys()) && seen.len() > 12);
    for (name, bytes) in &seen {
        // Each says its own name.
        if name != "run.json" {
            assert!(*bytes == unseen[name], "{name} differs");
        }
    }
}

#[test]
fn a_run_is_stopped_by_its_folder_and_keeps_what_it_has() {
    let bench = Bench::new();
    bench.file("x.toml", experiment(100_000).as_bytes());
    let mut child = started(&bench, &["run", "x.toml", "-o", "r", "--json"]);
    let (folder, seen) = running(bench.folder.path(), &mut child);
    let shown = bench.json(&["watch", ".", "--json"]);
    check("watch", &shown);
    assert_eq!(shown["runs"][0]["observation"]["run"], "r");
    let line = bench.flowloom(&["watch", "."]).succeeded().out.clone();
    assert!(line.starts_with("r seed 1 (sim)  ") && line.contains(" of 100000 s  "), "{line}");
    bench.flowloom(&["watch", "nowhere"]).failed(1, &["nowhere: there is no such folder"]);
    bench.flowloom(&["watch", folder.to_str().unwrap(), "--stop"]).succeeded();
    let output = child.output();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    // As after an interrupt: a whole folder, of the time until then.
    bench.flowloom(&["verify", "r"]).succeeded();
    let run = RunFolder::open(&bench.path("r")).unwrap();
    assert_eq!(run.run()["interrupted"], true);
    assert!(run.run()["end_ns"].as_u64().unwrap() >= seen.time_ns && seen.share_done < 1.0);
    assert!(!["running.json", "stop.json"].iter().any(|name| bench.path("r").join(name).exists()));
    assert!(running_in(bench.folder.path()).is_empty() && !request_stop(&bench.path("r")).unwrap());
}

#[test]
fn a_killed_run_does_not_seem_to_go_on() {
    let bench = Bench::new();
    bench.file("x.toml", experiment(100_000).as_bytes());
    let mut child = started(&bench, &["run", "x.toml", "-o", "r", "-q"]);
    let (folder, _) = running(bench.folder.path(), &mut child);
    drop(child);
    assert!(observe(&folder).is_none() && running_in(bench.folder.path()).is_empty());
    bench.flowloom(&["doctor", "--clean", "--runs", "."]).succeeded();
    assert!(!folder.exists());
}

#[test]
fn cells_of_a_sweep_are_watched() {
    let bench = Bench::new();
    bench.file("x.toml", experiment(100_000).as_bytes());
    let words =
        ["sweep", "x.toml", "--vary", "rate=50mbit,100mbit", "--seeds", "1", "-o", "s", "--yes", "--metrics", "0"];
    let mut child = started(&bench, &words);
    let mut told = String::new();
    BufReader::new(child.child().stderr.as_mut().unwrap()).read_line(&mut told).unwrap();
    let address = told.trim().strip_prefix("metrics at http://").unwrap().strip_suffix("/metrics").unwrap().to_owned();
    let folder = loop {
        if let Some((folder, _)) = running_in(bench.folder.path()).into_iter().next() {
            break folder;
        }
        assert!(child.child().try_wait().unwrap().is_none());
    };
    let metrics = scrape(&address).unwrap();
    assert!(metrics.contains("flowloom_run_info{run=\""), "{metrics}");
    assert!(request_stop(&folder).unwrap());
    // One stop ends the whole sweep, which goes on when it is asked again.
    assert_eq!(child.output().status.code(), Some(3));
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let bench = Bench::new();
    bench.file("x.toml", experiment(1).as_bytes());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    bench.flowloom(&["run", "x.toml", "-o", "r", "--metrics", &address]).failed(1, &["metrics at 127.0.0.1:"]);
    bench.flowloom(&["run", "x.toml", "-o", "r", "--metrics", "here"]).failed(2, &["write a port (9421)"]);
    assert!(!bench.path("r").exists());
}

/// A collector of OTLP: its URL, and what was pushed to it.
fn collector() -> (String, std::sync::mpsc::Receiver<Value>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut text = Vec::new();
            let body = loop {
                let mut block = [0; 65_536];
                let read = stream.read(&mut block).unwrap();
                text.extend(&block[..read]);
                let so_far = String::from_utf8_lossy(&text).into_owned();
                let Some((head, body)) = so_far.split_once("\r\n\r\n") else { continue };
                let length = head
                    .lines()
                    .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
                assert!(head.starts_with("POST /v1/metrics ") && head.contains("Bearer"), "{head}");
                if read == 0 || body.len() >= length.unwrap() {
                    break body.to_owned();
                }
            };
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}").unwrap();
            if sender.send(serde_json::from_str(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

/// What is pushed, until nothing comes for a minute.
fn pushes(pushed: &std::sync::mpsc::Receiver<Value>) -> impl Iterator<Item = Value> + '_ {
    std::iter::from_fn(|| pushed.recv_timeout(Duration::from_secs(60)).ok())
}

/// The points of a metric in a request.
fn points<'a>(request: &'a Value, name: &str) -> Option<&'a Vec<Value>> {
    let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let metric = metrics.iter().find(|metric| metric["name"] == name)?;
    let data = if name.ends_with("_total") { &metric["sum"] } else { &metric["gauge"] };
    data["dataPoints"].as_array().filter(|points| !points.is_empty())
}

#[test]
fn metrics_are_pushed_while_a_run_goes_on() {
    let bench = Bench::new();
    bench.file("x.toml", experiment(100_000).as_bytes());
    let (url, pushed) = collector();
    let mut child = started(&bench, &["run", "x.toml", "-o", "r", "-q", "--otlp", &url, "--otlp-interval", "1s"]);
    let is_of_run = |request: &Value| points(request, "flowloom_run_link_carried_bytes_total").is_some();
    let request = pushes(&pushed).find(is_of_run).unwrap();
    let [first, ..] = &points(&request, "flowloom_run_link_carried_bytes_total").unwrap()[..] else { panic!() };
    assert!(first["asInt"].as_str().unwrap().parse::<u64>().unwrap() > 1_000_000, "{first}");
    assert_eq!(first["attributes"][0]["value"]["stringValue"], "r");
    let (folder, _) = running(bench.folder.path(), &mut child);
    assert!(request_stop(&folder).unwrap());
    assert_eq!(child.output().status.code(), Some(3));
    bench.flowloom(&["run", "x.toml", "-o", "q", "--otlp", "here"]).failed(2, &["--otlp: \"here\" is no URL"]);
}

#[test]
fn a_monitor_pushes_and_counts_the_links_of_runs() {
    let bench = Bench::new();
    let registry = "[[target]]\nname = \"here\"\nkind = \"local\"\nports = [\"lo\"]\ninterval = \"50ms\"\n[[target]]\nname = \"runs\"\n\
                    kind = \"runs\"\nfolder = \".\"\ninterval = \"2s\"\n";
    bench.file("r.toml", registry.as_bytes());
    let found = bench.json(&["monitor", "check", "r.toml", "--json"]);
    assert_eq!((&found["targets"][1]["name"], &found["targets"][1]["problem"]), (&"runs".into(), &Value::Null));
    let (url, pushed) = collector();
    let words = ["monitor", "run", "r.toml", "-o", "store", "-q", "--otlp", &url, "--otlp-interval", "1s"];
    let mut child = started(&bench, &words);
    let is_counted = |request: &Value| points(request, "flowloom_counted_total").is_some();
    let request = pushes(&pushed).find(is_counted).unwrap();
    let up = points(&request, "flowloom_target_up").unwrap();
    assert_eq!(up[0]["asInt"], "1");
    assert!(Command::new("kill").args(["-TERM", &child.child().id().to_string()]).status().unwrap().success());
    assert_eq!(child.output().status.code(), Some(0));
}
