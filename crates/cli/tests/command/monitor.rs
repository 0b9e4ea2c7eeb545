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

/// Four minutes of a port, of the third of which nothing is known.
#[test]
fn a_stretch_of_a_store_loads_a_link_and_a_model() {
    use flowloom::store::run_folder::{RunFolder, TrafficPoint};
    use flowloom_testkit::monitor::{MINUTE, START, Store};
    let bench = Bench::new();
    let mut store = Store::create(&bench.path("counters"), START);
    let id = store.series("core", "a", "out");
    for (minute, rate) in [(1, 100_000), (2, 300_000), (4, 50_000)] {
        store.samples(START + minute * MINUTE, MINUTE, &[(id, rate * 60)]);
    }
    drop(store);
    let show = |counter: &'static str, to: &'static str| {
        let words = [
            "monitor",
            "show",
            "counters",
            "--format",
            "rates",
            "--counter",
            counter,
            "--from",
            "2024-10-04",
            "--to",
            to,
        ];
        bench.flowloom(&words)
    };
    let shown = show("out", "2024-10-04T00:04");
    let shown = shown.succeeded();
    let expected = "# core a out, from 2024-10-04T00:00:00Z to 2024-10-04T00:04:00Z\nseconds,bits_per_second\n\
                    0.000000000,800000\n60.000000000,2400000\n120.000000000,0\n180.000000000,400000\n210.000000000,400000\n";
    assert_eq!(shown.out, expected);
    assert!(shown.err.contains("the rate is unknown for 60.0 s of the period"), "{}", shown.err);
    show("in", "2024-10-04T00:04").failed(2, &["no series of counters"]);
    bench.file("rates.csv", shown.out.as_bytes());
    // As the arrivals of a queue: (0.8 + 2.4 + 0 + 0.4) / 4 Mbit/s in cells of 48 bytes.
    let queue = bench.json(&["model", "queue", "rates.csv", "--load", "10%", "--json"]);
    let mean = queue["series"]["mean_cells_per_second"].as_f64().unwrap();
    assert!((mean - 0.9e6 / 384.0).abs() < 1e-6, "{mean}");
    assert_eq!(queue["series"]["duration_ns"], 240_000_000_000_u64);
    // As load beside a workload: datagrams of 1,000 bytes on the link.
    let experiment = "measure.duration = \"240s\"\nmeasure.throughput-every = \"1s\"\n[network.bottleneck]\nrate = \"10mbit\"\ndelay = \"5ms\"\n\
                      [[sources]]\nname = \"archive\"\nkind = \"cbr\"\nrates = \"rates.csv\"\npayload = \"958b\"\nrtt = \"20ms\"\n";
    bench.file("x.toml", experiment.as_bytes());
    bench.flowloom(&["run", "x.toml", "-o", "r"]).succeeded();
    let mut minutes = [0_u64; 5];
    for row in RunFolder::open(&bench.path("r")).unwrap().throughput().unwrap().map(Result::unwrap) {
        if row.point == TrafficPoint::ReplayCarried && row.link == 0 {
            minutes[(row.start.as_nanos() / MINUTE).min(4) as usize] += row.traffic.bytes;
        }
    }
    assert_eq!(minutes.iter().sum::<u64>(), 27_000_000, "{minutes:?}");
    for (found, counted) in minutes.into_iter().zip([6_000_000_u64, 18_000_000, 0, 3_000_000, 0]) {
        // Datagrams that are on their way at the border are one or two.
        assert!(found.abs_diff(counted) <= 10_000, "{minutes:?}");
    }
    bench.file("rates.csv", b"seconds,cells_per_second\n0,1\n1,2\n");
    bench.flowloom(&["run", "x.toml", "-o", "q"]).failed(2, &["sources[0].rates", "has no rates in bit/s", "x.toml:9"]);
}

/// Four minutes of a port at 0.8, 2.4, unknown and 0.4 Mbit/s out, 80 kbit/s in; and a run that sends 1.2 Mbit/s to the right.
#[test]
fn a_run_is_shown_beside_what_the_real_link_did() {
    use flowloom::store::run_folder::{RunFolder, TrafficPoint};
    use flowloom_testkit::monitor::{MINUTE, START, Store};
    let bench = Bench::new();
    let mut store = Store::create(&bench.path("counters"), START);
    let (out, back) = (store.series("core", "a", "out"), store.series("core", "a", "in"));
    for (minute, rate) in [(1, 100_000), (2, 300_000), (4, 50_000)] {
        store.samples(START + minute * MINUTE, MINUTE, &[(out, rate * 60)]);
    }
    (1..=4).for_each(|minute| store.samples(START + minute * MINUTE, MINUTE, &[(back, 10_000 * 60)]));
    drop(store);
    // Datagrams of 1,000 bytes on the link each 1/150 s.
    let experiment = "measure.duration = \"240s\"\n[network.bottleneck]\nrate = \"10mbit\"\ndelay = \"5ms\"\n\
                      [[sources]]\nname = \"x\"\nkind = \"cbr\"\nrate = \"1149600bit\"\npayload = \"958b\"\nrtt = \"20ms\"\n";
    bench.file("x.toml", experiment.as_bytes());
    let link = "counters,target=core,port=a,from=2024-10-04T00:00";
    let found = bench.json(&["run", "x.toml", "-o", "r", "--real-link", link, "--json"]);
    check("run", &found);
    let real = &found["real_link"];
    let direction = |name: &str, which: &str, rate: &str| real[name][which][rate].as_f64().unwrap();
    let right = |which, rate| direction("left_to_right_bits_per_second", which, rate);
    assert_eq!((&real["port"], &real["left_to_right"]["unknown_ns"]), (&"a".into(), &MINUTE.into()));
    assert_eq!(real["left_to_right_bits_per_second"]["known_ns"], 3 * MINUTE);
    // Of the three minutes that are known: a third each at 0.4, 0.8 and 2.4 Mbit/s.
    let rates = ["mean", "p50", "p95", "max"].map(|rate| right("real", rate));
    assert_eq!(rates, [1.2e6, 0.8e6, 2.4e6, 2.4e6]);
    for rate in ["mean", "p50", "p99", "max"] {
        assert!((right("run", rate) / 1.2e6 - 1.0).abs() < 0.002, "{real}");
    }
    let left = ["mean", "max"].map(|rate| direction("right_to_left_bits_per_second", "real", rate));
    assert_eq!(left, [8e4; 2]);
    assert_eq!(direction("right_to_left_bits_per_second", "run", "max"), 0.0);
    let mut minutes = [0_u64; 4];
    for row in RunFolder::open(&bench.path("r")).unwrap().throughput().unwrap().map(Result::unwrap) {
        if row.point == TrafficPoint::RealLink && row.link == 0 {
            minutes[(row.start.as_nanos() / MINUTE) as usize] += row.traffic.bytes;
        }
    }
    assert_eq!(minutes, [6_000_000, 18_000_000, 0, 3_000_000]);
    let page = fs::read_to_string(bench.path("r/report.html")).unwrap();
    for part in
        ["What the real link did", "\"role\":\"link0\"", "a of core, 2024-10-04T00:00:00Z to 2024-10-04T00:04:00Z"]
    {
        assert!(page.contains(part), "{part}");
    }
    // At the right end of the bottleneck what goes out goes to the left.
    bench.flowloom(&["run", "x.toml", "-o", "q", "--real-link", &format!("{link},end=right")]).succeeded();
    let turned: Value = serde_json::from_slice(&fs::read(bench.path("q/run.json")).unwrap()).unwrap();
    assert_eq!(turned["real_link"]["right_to_left"]["counter"], "out");
    // Without the store the report is the same.
    fs::remove_dir_all(bench.path("counters")).unwrap();
    bench.flowloom(&["report", "r", "-o", "again.html"]).succeeded();
    assert!(fs::read_to_string(bench.path("again.html")).unwrap().contains("What the real link did"));
    bench
        .flowloom(&["run", "x.toml", "-o", "p", "--real-link", link])
        .failed(2, &["measure.real-link.store", "cannot be read"]);
}

#[test]
fn a_real_link_must_be_in_its_store_and_have_a_time() {
    use flowloom_testkit::monitor::{MINUTE, START, Store};
    let bench = Bench::new();
    let mut store = Store::create(&bench.path("counters"), START);
    let out = store.series("core", "a", "out");
    store.series("core", "b", "in-drops");
    store.samples(START + MINUTE, MINUTE, &[(out, 600)]);
    drop(store);
    bench.file("x.toml", b"measure.duration = \"1s\"\n[[sources]]\nname = \"x\"\nkind = \"bulk\"\nrtt = \"20ms\"\n");
    let refused = |link: &str, parts: &[&str]| {
        bench.flowloom(&["run", "x.toml", "-o", "r", "--real-link", link]).failed(2, parts);
    };
    refused("counters,target=cor,port=a", &["measure.real-link.target of \"cor\" is not in"]);
    refused("counters,target=core,port=c", &["measure.real-link.port of \"c\" is not in"]);
    refused("counters,target=core,port=b", &["has no counters in and out"]);
    refused("counters,target=core,port=a,in=x", &["measure.real-link.in of \"x\" is no counter of this port"]);
    refused("counters,target=core,port=a", &["measure.real-link.from is missing"]);
    refused("counters,target=core,port=a,from=now", &["measure.real-link.from of \"now\" is no time"]);
    refused("counters,target=core,port=a,from=2024-10-05", &["has no rate that is known", "2024-10-05T00:00:00Z"]);
    refused("counters,port=a", &["target"]);
    refused("counters,target=core,port=a,port=b", &["port is given twice"]);
    assert!(!bench.path("r").exists());
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
    let day = path.filter(|path| path.join("manifest.json").exists()).last().unwrap();
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
