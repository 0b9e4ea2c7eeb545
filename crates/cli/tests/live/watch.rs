//! A live run that is watched: its metrics, and Debian's Prometheus that scrapes them (`FLOWLOOM_MONITOR_HEAVY=1`, which `make test-heavy` sets).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use flowloom::running_in;
use flowloom::store::run_folder::RunFolder;
use flowloom_needs::{Need, skip};
use serde_json::Value;

use crate::support::Bench;
use crate::{can_run, one_run};

/// A bulk transfer over a link of 10 Mbit/s.
fn experiment(seconds: u64) -> String {
    format!(
        "measure.duration = \"{seconds}s\"\nmeasure.drain = \"0s\"\n[network.bottleneck]\nrate = \"10mbit\"\ndelay = \"5ms\"\n\
         queue = {{ kind = \"drop-tail\", limit = \"30p\" }}\n[[sources]]\nname = \"s\"\nkind = \"bulk\"\nrtt = \"20ms\"\n"
    )
}

/// A live run whose metrics are served, and where.
fn started(bench: &Bench) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["run", "x.toml", "--on", "live", "-o", "r", "--metrics", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut told).unwrap();
    let address = told.trim().strip_prefix("metrics at http://").unwrap().strip_suffix("/metrics").unwrap();
    (child, address.to_owned())
}

/// The body that is served under a path.
fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.contains(" 200 ").then(|| body.to_owned())
}

/// A number of the bottleneck from the left.
fn of_link(text: &str, name: &str) -> Option<f64> {
    let line = format!("{name}{{run=\"r\",seed=\"1\",link=\"bottleneck\",from=\"left\"}} ");
    text.lines().find_map(|found| found.strip_prefix(&line))?.parse().ok()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn a_live_run_says_how_it_goes_on() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("x.toml", experiment(4).as_bytes());
    let (mut child, address) = started(&bench);
    let (mut texts, mut seen) = (Vec::new(), Vec::new());
    while child.try_wait().unwrap().is_none() {
        texts.extend(
            get(&address, "/metrics")
                .filter(|text| text.contains("flowloom_run_info{run=\"r\",seed=\"1\",driver=\"live\"}")),
        );
        seen.extend(running_in(bench.folder.path()));
        sleep(Duration::from_millis(100));
    }
    assert!([0, 3].contains(&child.wait().unwrap().code().unwrap()));
    // It grows, and never beyond what the link can carry or the run has in the end.
    let carried: Vec<f64> =
        texts.iter().map(|text| of_link(text, "flowloom_run_link_carried_bytes_total").unwrap()).collect();
    assert!(carried.len() > 3 && carried.is_sorted() && carried[0] < carried[carried.len() - 1], "{carried:?}");
    let run = RunFolder::open(&bench.path("r")).unwrap();
    let link = &run.run()["topology"]["links"][0];
    let whole = link["offered_bytes"].as_f64().unwrap() - link["dropped_bytes"].as_f64().unwrap();
    let last = carried[carried.len() - 1];
    assert!(last <= whole && last >= 0.2 * whole, "{last} of {whole}");
    let rates = texts.iter().filter_map(|text| of_link(text, "flowloom_run_link_throughput_bytes_per_second"));
    let most = rates.fold(0.0, f64::max);
    assert!(most * 8.0 > 5e6, "a transfer fills the link: {most}");
    assert!(texts.last().unwrap().contains("flowloom_run_lateness_seconds{run=\"r\",seed=\"1\",share=\"0.99\"} "));
    let (_, observation) = seen.last().unwrap();
    let lateness = observation.lateness.unwrap();
    assert!(lateness.count > 0 && lateness.p50_ns <= lateness.p99_ns && lateness.p99_ns <= lateness.max_ns.max(1_000));
    assert_eq!(observation.connections.active, 1);
    assert!(!bench.path("r/running.json").exists());
}

/// Installs Prometheus where root may; whether it is there.
fn has_prometheus() -> bool {
    let is_there = || Command::new("prometheus").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there() {
        let words = ["install", "-y", "-qq", "--no-install-recommends", "prometheus"];
        let _ = Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive").output();
    }
    is_there()
}

/// Whether something needs more than the seconds of `make test`.
fn is_heavy() -> bool {
    std::env::var_os("FLOWLOOM_MONITOR_HEAVY").is_some()
}

/// The value of a query at a Prometheus, if it has one.
fn query(prometheus: &str, text: &str) -> Option<f64> {
    let answer: Value = serde_json::from_str(&get(prometheus, &format!("/api/v1/query?query={text}"))?).ok()?;
    answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn debians_prometheus_scrapes_a_live_run() {
    if !is_heavy() || !can_run() {
        return;
    }
    if !has_prometheus() {
        return skip("cli: Prometheus scrapes a live run", Need::new("prometheus", "apt-get install prometheus"));
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("x.toml", experiment(20).as_bytes());
    let (mut child, address) = started(&bench);
    let config = format!(
        "global: {{ scrape_interval: 1s }}\nscrape_configs:\n- job_name: flowloom\n  static_configs:\n  - targets: ['{address}']\n"
    );
    bench.file("p.yml", config.as_bytes());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut prometheus = Command::new("prometheus")
        .args(["--config.file=p.yml", "--storage.tsdb.path=data", &format!("--web.listen-address={free}")])
        .current_dir(bench.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // `{`, `"` and `}` of a selector, as a request has them.
    let carried = "flowloom_run_link_carried_bytes_total%7Bfrom=%22left%22,link=%22bottleneck%22%7D";
    let (mut found, mut rate, mut lint) = (Vec::new(), None, None);
    while child.try_wait().unwrap().is_none() {
        found.extend(query(&free, carried));
        rate = query(&free, &format!("rate({carried}[10s])")).or(rate);
        lint = lint.or_else(|| get(&address, "/metrics").filter(|text| text.contains("flowloom_run_info{")));
        sleep(Duration::from_millis(300));
    }
    prometheus.kill().unwrap();
    prometheus.wait().unwrap();
    assert!(found.len() > 5 && found.is_sorted() && found[0] < found[found.len() - 1], "{found:?}");
    // The transfer fills 10 Mbit/s: its own rate over ten seconds.
    let rate = rate.unwrap() * 8.0;
    assert!((7e6..=10.5e6).contains(&rate), "{rate}");
    // Names and types are as Prometheus' own checker wants them.
    let mut checker = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    checker.stdin.take().unwrap().write_all(lint.unwrap().as_bytes()).unwrap();
    let said = checker.wait_with_output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

/// A monitor beside a live run counts the links of its experiment.
#[test]
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn a_monitor_counts_the_links_of_a_live_run() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("x.toml", experiment(9).as_bytes());
    let registry =
        "[[target]]\nname = \"runs\"\nkind = \"runs\"\nfolder = \".\"\ninterval = \"2s\"\nports = [\"r/*\"]\n";
    bench.file("m.toml", registry.as_bytes());
    let (mut child, _) = started(&bench);
    let mut monitor = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["monitor", "run", "m.toml", "-o", "store", "-q"])
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(100));
    }
    assert!(Command::new("kill").args(["-TERM", &monitor.id().to_string()]).status().unwrap().success());
    assert_eq!(monitor.wait().unwrap().code(), Some(0));
    let show = ["monitor", "show", "store", "--port", "r/bottleneck", "--last", "1h", "--points", "100000", "--json"];
    let found = bench.json(&[&show[..], &["--counter", "out"]].concat());
    let points = found["curves"][0]["points"].as_array().unwrap();
    // The transfer fills 10 Mbit/s, and no rate is above what the link can carry.
    let rates: Vec<f64> = points.iter().map(|point| point["mean"].as_f64().unwrap() * 8.0).collect();
    assert!(rates.iter().any(|rate| (9e6..=10.1e6).contains(rate)), "{rates:?}");
    assert!(rates.iter().all(|rate| *rate <= 10.2e6), "{rates:?}");
    let delays = bench.json(&[&show[..], &["--counter", "queue-delay"]].concat());
    let most = delays["curves"][0]["most"].as_f64().unwrap();
    // 30 packets of 1,514 bytes take 36.3 ms.
    assert!((1e6..=36.5e6).contains(&most), "{most}");
}
