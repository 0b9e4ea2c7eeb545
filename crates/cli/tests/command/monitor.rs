//! `flowloom monitor`: a registry in, a store out, periods printed.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::documented::check;
use crate::support::Bench;

const LOCAL: &str = "\
interval = \"20ms\"
[[target]]
name = \"here\"
kind = \"local\"
ports = [\"lo\"]
[[target.port]]
name = \"lo\"
carries = \"this test\"
[[target.port]]
name = \"lo\"
since = \"2500-01-01\"
carries = \"another test\"
[[alert]]
name = \"traffic\"
counter = \"in\"
above = 1
command = [\"touch\", \"alerted\"]
";

/// Datagrams on the loopback device.
fn traffic() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let mut block = [0; 1_000];
    for _ in 0..20 {
        socket.send_to(&block.clone(), to).unwrap();
        socket.recv(&mut block).unwrap();
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn a_monitor_collects_until_it_is_told_to_end() {
    let bench = Bench::new();
    bench.file("r.toml", LOCAL.as_bytes());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["monitor", "run", "r.toml", "-o", "store", "--metrics", &free])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut lines = [String::new(), String::new()];
    for line in &mut lines {
        told.read_line(line).unwrap();
    }
    assert_eq!(lines[0], format!("metrics at http://{free}/metrics\n"));
    assert!(lines[1].starts_with("here answers: "), "{}", lines[1]);
    let mut metrics = String::new();
    for _ in 0..200 {
        traffic();
        metrics.clear();
        let mut stream = TcpStream::connect(&free).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        stream.read_to_string(&mut metrics).unwrap();
        if metrics.contains("flowloom_rate{target=\"here\",port=\"lo\"") && bench.path("alerted").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(metrics.contains("flowloom_target_up{target=\"here\"} 1"), "{metrics}");
    assert!(bench.path("alerted").exists());
    // While it runs.
    check("monitor list", &bench.json(&["monitor", "list", "store", "--json"]));
    bench.flowloom(&["verify", "store"]).succeeded();
    bench.flowloom(&["monitor", "run", "r.toml", "-o", "store"]).failed(1, &["another monitor writes this store"]);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
    assert!(rest.contains("alert traffic raised: here lo in: "), "{rest}");
    shown(&bench);
}

/// What is printed of the store.
fn shown(bench: &Bench) {
    let show = ["monitor", "show", "store", "--port", "lo", "--counter", "in", "--last", "1h"];
    let found = bench.json(&[&show[..], &["--json"]].concat());
    check("monitor show", &found);
    let [curve] = &found["curves"].as_array().unwrap()[..] else { panic!("{found}") };
    check("monitored-curve", curve);
    check("monitored-series", &curve["series"]);
    check("monitored-point", &curve["points"][0]);
    assert!(curve["amount"].as_u64().unwrap() >= 20_000, "{curve}");
    assert_eq!(bench.json(&[&show[..], &["--format", "json"]].concat())["curves"][0]["series"], curve["series"]);
    let csv = bench.flowloom(&[&show[..], &["--format", "csv"]].concat()).succeeded().out.clone();
    assert!(csv.starts_with("target,port,counter,unit,start_utc,") && csv.contains("\nhere,lo,in,octets,"), "{csv}");
    let table = bench.flowloom(&show).succeeded().out.clone();
    assert!(table.starts_with("here lo in: mean ") && table.contains(", 95th percentile "), "{table}");
    bench.flowloom(&["verify", "store"]).succeeded();
    let none = ["monitor", "show", "store", "--counter", "none"];
    bench.flowloom(&none).failed(2, &["no series of store", "flowloom monitor list"]);
    let backwards = ["monitor", "show", "store", "--from", "2026-01-02", "--to", "2026-01-01"];
    bench.flowloom(&backwards).failed(2, &["the period ends at 2026-01-01T00:00:00Z, before it begins"]);
    bench.flowloom(&["monitor", "show", "store", "--from", "noon"]).failed(2, &["2026-11-27T10:00"]);
    bench.flowloom(&["monitor", "list", "."]).failed(1, &["it is no store of a monitor"]);
    let path = fs::read_dir(bench.path("store")).unwrap().map(|entry| entry.unwrap().path());
    let is_day = |path: &std::path::PathBuf| path.join("manifest.json").exists() && !path.ends_with("registry");
    let day = path.filter(is_day).last().unwrap();
    let mut tables = fs::read_dir(day).unwrap().map(|entry| entry.unwrap().path());
    let table = tables.find(|path| path.to_string_lossy().contains("/samples-")).unwrap();
    let mut bytes = fs::read(&table).unwrap();
    bytes[40] ^= 1;
    fs::write(table, bytes).unwrap();
    let said = bench.flowloom(&["verify", "store"]);
    assert!(said.code == 1 && said.out.contains("damaged: store/"), "{}", said.out);
    // A point for each sample.
    bench.flowloom(&[&show[..], &["--points", "100000"]].concat()).failed(1, &["damaged: store/"]);
}

#[test]
fn a_registry_is_checked() {
    let bench = Bench::new();
    bench.file("local.toml", LOCAL.as_bytes());
    let found = bench.json(&["monitor", "check", "local.toml", "--json"]);
    check("monitor check", &found);
    check("checked-target", &found["targets"][0]);
    check("checked-port", &found["targets"][0]["ports"][0]);
    assert_eq!(found["targets"][0]["ports"][0]["carries"], "this test");
    check("connection-change", &found["targets"][0]["changes"][0]);
    let text = bench.flowloom(&["monitor", "check", "local.toml"]).succeeded().out.clone();
    assert!(text.contains("  since 2500-01-01, lo: another test (before: this test)\n"), "{text}");
    assert!(bench.flowloom(&["monitor", "check", "local.toml"]).succeeded().out.starts_with("here  answers in "));
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let registry = format!(
        "timeout = \"20ms\"\nretries = 0\n[[target]]\nname = \"a\"\naddresses = [\"{address}\"]\ncommunity = \"hush-hush\"\n"
    );
    bench.file("silent.toml", registry.as_bytes());
    let said = bench.flowloom(&["monitor", "check", "silent.toml", "--json"]);
    assert_eq!(said.code, 1);
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    check("checked-target", &answer["targets"][0]);
    assert!(
        said.err.contains(&format!("error: a: no answer from {address}")) && said.err.contains("hint: "),
        "{}",
        said.err
    );
    assert!(!said.err.contains("hush") && !said.out.contains("hush"));
    bench.file("wrong.toml", b"intervall = \"1s\"\n[[target]]\nname = \"a\"\nkind = \"local\"\nsite = \"x\"\n");
    let words =
        ["wrong.toml:1:1: unknown key \"intervall\"", "did you mean \"interval\"?", "wrong.toml:5:1: target[0].site"];
    bench.flowloom(&["monitor", "check", "wrong.toml"]).failed(2, &words);
    bench.flowloom(&["monitor", "run", "wrong.toml", "-o", "store"]).failed(2, &words);
    assert!(!bench.path("store").exists());
    let schema = bench.flowloom(&["schema", "registry"]).succeeded().out.clone();
    assert!(serde_json::from_str::<Value>(&schema).unwrap()["properties"]["target"].is_object());
}
