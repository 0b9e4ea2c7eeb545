//! From the store of a monitor to experiments: files of rates, and a real link beside a run.

use std::fs;

use flowloom::store::manifest::FileDigest;
use flowloom::store::monitor::{Kind, SECOND, Series};
use flowloom::store::run_folder::{RunFolder, TrafficPoint};
use flowloom_testkit::monitor::{MINUTE, START, Store};
use serde_json::Value;

use crate::documented::check;
use crate::support::{Bench, Traffic};

/// A counter of port `a` of `core`.
fn counter(counter: &str, unit: &str, interval_ns: u64) -> Series {
    let (target, port) = ("core".to_owned(), "a".to_owned());
    Series { id: 0, target, port, counter: counter.to_owned(), unit: unit.to_owned(), kind: Kind::Counter, interval_ns }
}

/// The file of rates of the counter `out` in the minutes from `from` to `to`.
fn rates(bench: &Bench, from: &str, to: &str) -> String {
    let [from, to] = [from, to].map(|minute| format!("2024-10-04T00:{minute}"));
    let words = ["monitor", "show", "counters", "--counter", "out", "--format", "rates", "--from", &from, "--to", &to];
    bench.flowloom(&words).succeeded().out.clone()
}

/// The bytes of a run at a point from the left in whole minutes.
fn minutes(run: &std::path::Path, point: TrafficPoint) -> Vec<u64> {
    let mut minutes = vec![0; 5];
    for row in RunFolder::open(run).unwrap().throughput().unwrap().map(Result::unwrap) {
        if row.point == point && row.link == 0 {
            minutes[(row.start.as_nanos() / MINUTE).min(4) as usize] += row.traffic.bytes;
        }
    }
    minutes
}

/// Four minutes of a port; nothing is known of the third.
#[test]
fn a_stretch_of_a_store_loads_a_link_and_a_model() {
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
    let words = ["monitor", "show", "counters", "--counter", "out", "--from", "2024-10-04", "--format", "rates"];
    for idle in [&["--json"][..], &["--points", "9"], &["--percentile", "5min"]] {
        bench.flowloom(&[&words, idle].concat()).failed(2, &[idle[0], "changes nothing about a file of rates"]);
    }
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
    let minutes = minutes(&bench.path("r"), TrafficPoint::ReplayCarried);
    assert_eq!(minutes.iter().sum::<u64>(), 27_000_000, "{minutes:?}");
    for (found, counted) in minutes.iter().zip([6_000_000_u64, 18_000_000, 0, 3_000_000, 0]) {
        // Datagrams that are on their way at the border are one or two.
        assert!(found.abs_diff(counted) <= 10_000, "{minutes:?}");
    }
    // The same minutes with other rates are another input.
    let run: Value = serde_json::from_slice(&fs::read(bench.path("r/run.json")).unwrap()).unwrap();
    let digest = FileDigest::of(&bench.path("rates.csv")).unwrap().sha256;
    assert_eq!(run["provenance"]["rates.csv"], format!("SHA-256 {digest}"));
    bench.file("rates.csv", shown.out.replace("2400000", "2300000").as_bytes());
    let again = bench.flowloom(&["run", "r", "-o", "s"]);
    assert!(again.succeeded().err.contains("rates.csv"), "{}", again.err);
    bench.file("rates.csv", b"cell_seconds\n0\n1\n");
    bench.flowloom(&["run", "x.toml", "-o", "q"]).failed(2, &["sources[0].rates", "has no rates", "x.toml:9"]);
    // A hundred flows of which each has 100,000 datagrams on their way.
    bench.file("rates.csv", b"seconds,bits_per_second\n0,1e9\n1,2e9\n");
    bench.file("x.toml", experiment.replace("\"20ms\"", "\"10s\"\ncount = 100").as_bytes());
    bench.flowloom(&["run", "x.toml", "-o", "q"]).failed(2, &["sources[0].rtt", "datagrams on their way", "x.toml:11"]);
}

/// Four minutes of a port at 0.8, 2.4, unknown and 0.4 Mbit/s out, 80 kbit/s in; and a run that sends 1.2 Mbit/s to the right.
#[test]
fn a_run_is_shown_beside_a_real_link() {
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
    let minutes = minutes(&bench.path("r"), TrafficPoint::RealLink);
    assert_eq!(minutes, [6_000_000, 18_000_000, 0, 3_000_000, 0]);
    let page = fs::read_to_string(bench.path("r/report.html")).unwrap();
    for part in ["id=\"real-link\"", "\"role\":\"link0\"", "a of core, 2024-10-04T00:00:00Z to 2024-10-04T00:04:00Z"] {
        assert!(page.contains(part), "{part}");
    }
    // At the right end of the bottleneck what goes out goes to the left.
    bench.flowloom(&["run", "x.toml", "-o", "q", "--real-link", &format!("{link},end=right")]).succeeded();
    let turned: Value = serde_json::from_slice(&fs::read(bench.path("q/run.json")).unwrap()).unwrap();
    assert_eq!(turned["real_link"]["right_to_left"]["counter"], "out");
    // Without the store the report is the same.
    fs::remove_dir_all(bench.path("counters")).unwrap();
    bench.flowloom(&["report", "r", "-o", "again.html"]).succeeded();
    assert!(fs::read_to_string(bench.path("again.html")).unwrap().contains("id=\"real-link\""));
    bench
        .flowloom(&["run", "x.toml", "-o", "p", "--real-link", link])
        .failed(2, &["measure.real-link.store", "cannot be read"]);
}

#[test]
fn a_real_link_must_be_in_its_store_and_have_a_time() {
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
fn a_counter_read_at_another_interval_is_the_same() {
    let bench = Bench::new();
    let mut store = Store::create(&bench.path("counters"), START);
    // Each minute, and from the second minute on every 20 s; the unit changed in the fourth.
    let minutely = store.add(counter("out", "octets", MINUTE));
    let often = store.add(counter("out", "octets", 20 * SECOND));
    let cells = store.add(counter("out", "cells", 20 * SECOND));
    for minute in [1, 2] {
        store.samples(START + minute * MINUTE, MINUTE, &[(minutely, 60_000)]);
    }
    for part in 7..=9 {
        store.samples(START + part * 20 * SECOND, 20 * SECOND, &[(often, 20_000 * part)]);
    }
    store.samples(START + 200 * SECOND, 20 * SECOND, &[(cells, 2_000)]);
    drop(store);
    let rows: Vec<String> = rates(&bench, "00", "03:20").lines().skip(2).map(str::to_owned).collect();
    let wanted = [(0, 8_000), (60, 8_000), (120, 56_000), (140, 64_000), (160, 72_000), (180, 42_400), (190, 42_400)];
    assert_eq!(rows, wanted.map(|(second, rate)| format!("{second}.000000000,{rate}")));
    let experiment = "measure.duration = \"200s\"\n[network.bottleneck]\nrate = \"1mbit\"\ndelay = \"5ms\"\n\
                      [[sources]]\nname = \"x\"\nkind = \"cbr\"\ngap = \"1s\"\nrtt = \"20ms\"\n";
    bench.file("x.toml", experiment.as_bytes());
    let link = "counters,target=core,port=a,from=2024-10-04";
    let found = bench.json(&["run", "x.toml", "-o", "r", "--real-link", link, "--json"])["real_link"].clone();
    assert_eq!(found["left_to_right_bits_per_second"]["intervals"], 6);
    assert_eq!(found["left_to_right"]["unknown_ns"], 0);
    assert_eq!(minutes(&bench.path("r"), TrafficPoint::RealLink), [60_000, 60_000, 480_000, 106_000, 0]);
}

#[test]
fn cells_of_a_counter_are_cells_of_the_model() {
    let bench = Bench::new();
    let mut store = Store::create(&bench.path("counters"), START);
    let cells = store.add(Series { port: "é".repeat(60), ..counter("out", "cells", MINUTE) });
    store.samples(START + MINUTE, MINUTE, &[(cells, 60_000)]);
    store.samples(START + 2 * MINUTE, MINUTE, &[(cells, 180_000)]);
    drop(store);
    let text = rates(&bench, "00", "02");
    assert!(text.contains("\nseconds,cells_per_second\n0.000000000,1000\n60.000000000,3000\n"), "{text}");
    bench.file("rates.csv", text.as_bytes());
    let queue = bench.json(&["model", "queue", "rates.csv", "--load", "10%", "--json"]);
    assert_eq!(queue["series"]["mean_cells_per_second"], 2_000.0);
    // As a source each cell has 424 bits of the link.
    let experiment = "measure.duration = \"120s\"\n[network.bottleneck]\nrate = \"10mbit\"\ndelay = \"5ms\"\n\
                      [[sources]]\nname = \"x\"\nkind = \"cbr\"\nrates = \"rates.csv\"\npayload = \"958b\"\nrtt = \"20ms\"\n";
    bench.file("x.toml", experiment.as_bytes());
    bench.flowloom(&["run", "x.toml", "-o", "r"]).succeeded();
    let carried = minutes(&bench.path("r"), TrafficPoint::ReplayCarried);
    for (found, cells) in carried.into_iter().zip([60_000, 180_000, 0]) {
        assert!(found.abs_diff(53 * cells) <= 10_000, "{found} {cells}");
    }
}

/// A capture that begins at 2024-10-04T00:01, through a link that was counted from 00:00 to 00:04.
fn captured(bench: &Bench) {
    let begin = flowloom::core::time::Duration::from_nanos(START + MINUTE);
    let traffic = (0..40).fold(Traffic::default(), |traffic, id| {
        traffic.connection(id, begin + flowloom::core::time::Duration::from_millis(50 * id), 300, 5_000)
    });
    bench.file("c.pcap", &traffic.pcap());
    let mut store = Store::create(&bench.path("counters"), START);
    let [out, back] = ["customer-x", "in"].map(|name| store.add(counter(name, "octets", SECOND)));
    for second in 1..=240 {
        store.samples(START + second * SECOND, SECOND, &[(out, 1_000 * second), (back, 5)]);
    }
}

const LINK: &str = "counters,target=core,port=a,out=customer-x";

#[test]
fn a_real_link_is_beside_the_time_of_the_capture() {
    let bench = Bench::new();
    captured(&bench);
    let link = |name: &str| -> Value {
        let run: Value = serde_json::from_slice(&fs::read(bench.path(name).join("run.json")).unwrap()).unwrap();
        run["real_link"].clone()
    };
    // The packets of the capture cross the link when they were captured, from 00:01 on.
    bench.flowloom(&["run", "c.pcap", "-o", "a", "--real-link", LINK]).succeeded();
    assert_eq!(link("a")["from_ns"], START + MINUTE);
    // The window begins half a second later.
    let window = ["--set", "measure.window=[\"500ms\", \"1500ms\"]"];
    bench.flowloom(&[&["run", "c.pcap", "-o", "b", "--real-link", LINK][..], &window].concat()).succeeded();
    let half = SECOND / 2;
    assert_eq!(
        [&link("b")["from_ns"], &link("b")["to_ns"]],
        [START + MINUTE + half, START + MINUTE + 3 * half].map(Value::from).each_ref()
    );
    let mut counted = 0;
    for row in RunFolder::open(&bench.path("b")).unwrap().throughput().unwrap().map(Result::unwrap) {
        if row.point == TrafficPoint::RealLink && row.link == 0 {
            counted += row.traffic.bytes;
            assert!((half..3 * half).contains(&row.start.as_nanos()), "{row:?}");
        }
    }
    // The second half of the 61st second, and the first of the 62nd.
    assert_eq!(counted, 500 * 61 + 500 * 62);
    // The run begins half a second later, with what was active then.
    let prefill = ["--set", "workload.prefill=500ms"];
    bench.flowloom(&[&["run", "c.pcap", "-o", "p", "--real-link", LINK][..], &prefill].concat()).succeeded();
    let begins = link("p")["from_ns"].as_u64().unwrap();
    assert!((START + MINUTE + half..START + MINUTE + 2 * SECOND).contains(&begins), "{begins}");

    // Nobody knows when packets crossed it that are drawn anew.
    let refused = |words: &[&str], why: &str| {
        let words = [&["run", "c.pcap", "-o", "q", "--real-link", LINK], words].concat();
        bench.flowloom(&words).failed(2, &["measure.real-link.from is missing", why]);
    };
    refused(&["--seed", "1", "--seed", "2"], "starts are drawn anew");
    refused(&["--set", "workload.load={ method = \"thinning\", factor = 0.5 }"], "another load");
    refused(&["--anonymize"], "--anonymize");
    assert!(!bench.path("q").exists());

    // Names and times of the link are left out with those of the capture.
    let given = format!("{LINK},from=2024-10-04T00:01");
    bench.flowloom(&["run", "c.pcap", "-o", "n", "--real-link", &given, "--anonymize"]).succeeded();
    for file in ["run.json", "report.html"] {
        let text = fs::read_to_string(bench.path("n").join(file)).unwrap();
        for name in ["customer-x", "2024-10-04", "counters"] {
            assert!(!text.contains(name), "{file}: {name}");
        }
        assert!(!text.contains(&(START + MINUTE).to_string()), "{file}");
    }
    assert_eq!(link("n")["left_to_right"]["counter"], "out");

    // What differs is explained without the store, and wherever it is.
    fs::rename(bench.path("counters"), bench.path("elsewhere")).unwrap();
    bench.flowloom(&["compare", "a", "--explain"]).succeeded();
}

#[test]
fn a_sweep_has_no_real_link() {
    let bench = Bench::new();
    captured(&bench);
    let words = ["sweep", "c.pcap", "--vary", "delay=5ms,10ms", "-o", "s"];
    bench.flowloom(&[&words[..], &["--real-link", LINK]].concat()).failed(2, &["measure.real-link is of single runs"]);
    let text = "[workload]\nsource = \"c.pcap\"\n[measure.real-link]\nstore = \"counters\"\ntarget = \"core\"\nport = \"a\"\n\
                [sweep]\nvary = [\"delay=5ms,10ms\"]\n";
    bench.file("x.toml", text.as_bytes());
    bench.flowloom(&["sweep", "x.toml", "-o", "s"]).failed(2, &["x.toml:3", "measure.real-link is of single runs"]);
    assert!(!bench.path("s").exists());
}
