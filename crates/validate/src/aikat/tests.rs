//! Rows, claims and the page, over made-up rows and the ones that are kept.

use std::path::Path;

use flowloom::{Context, RunOptions, Silent, Stop, SweepOptions, sweep};
use flowloom_report::statistics::Interval;
use serde_json::Value;

use super::cells::{CellRow, Key, Network, read, write};
use super::claims::{Agreement, Asked, Claim, Growth, Of, Ours};
use super::prepare::{Origin, SWEEP_FILE, prepare_parts, prepare_twin};
use super::{CELLS_FILE, SCALING_FILE, collect, files, read_counts};

fn row(scale: f64, structure: &str, seed: u64, numbers: &[(&str, f64)]) -> CellRow {
    let key = Key {
        workload: "campus-2008".to_owned(),
        scale,
        network: Network::Constrained,
        structure: structure.to_owned(),
        rtt: "usernet".to_owned(),
        window: "measured".to_owned(),
        waits: "500ms none".to_owned(),
        queue: "drop-tail 65000p".to_owned(),
        minutes: 30,
        seed,
    };
    CellRow { key, numbers: numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect() }
}

fn claim(asked: Asked) -> Claim {
    Claim { name: String::new(), source: "", asked, why: None }
}

#[test]
fn rows_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(CELLS_FILE);
    let rows = [
        row(0.4, "a-b", 1, &[("presence_mean", 1.25), ("queue_mean_packets", 3.0)]),
        row(1.0, "a-b", 2, &[("presence_mean", 5.0)]),
    ];
    write(&path, &rows).unwrap();
    assert_eq!(read(&path).unwrap(), rows);
    std::fs::write(
        &path,
        "workload,scale,network,structure,rtt,window,waits,queue,minutes,seed,x\n\
            campus-2008,0.4,constrained,a-b,usernet,measured,500ms none,drop-tail 65000p,30,1,many\n",
    )
    .unwrap();
    assert!(read(&path).unwrap_err().ends_with("line 2: x is \"many\", not a number"));
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    assert!(read(&path).unwrap_err().contains("its columns do not begin with workload,scale"));
}

#[test]
fn intervals_are_students() {
    // Mean 2, deviation 1, three values: 4.303 / sqrt(3).
    let Ours { mean, interval, seeds } = Ours::of(&[1.0, 2.0, 3.0]).unwrap();
    let Interval { low, high } = interval.unwrap();
    assert_eq!((mean, seeds), (2.0, 3));
    assert!((high - 4.484).abs() < 1e-3 && (low + 0.484).abs() < 1e-3, "{low} {high}");
    assert_eq!(Ours::of(&[7.0]).unwrap().interval, None);
    assert_eq!(Ours::of(&[]), None);
}

#[test]
fn values_are_asked_at_the_published_scale() {
    let rows =
        [row(0.25, "a-t-b-t", 1, &[("presence_mean", 10.0)]), row(0.25, "a-t-b-t", 2, &[("presence_mean", 12.0)])];
    let of = Of::control("campus-2008", Network::Constrained);
    let ask = |growth, published| {
        let claim = claim(Asked::Value { of, quantity: "presence_mean", growth, published, tolerance: 0.1 });
        let ours = claim.ours(&rows, 0.25);
        (ours.unwrap().mean, claim.agreement(ours))
    };
    assert_eq!(ask(Growth::Linear, 40.0), (44.0, Agreement::Agrees));
    assert_eq!(ask(Growth::Root, 22.0), (22.0, Agreement::Agrees));
    // The interval of 10 and 12 is 11 and 12.7 to each side.
    assert_eq!(ask(Growth::None, 20.0).1, Agreement::Agrees);
    assert_eq!(ask(Growth::None, 30.0).1, Agreement::Differs);
    // One seed says nothing of others.
    let one =
        claim(Asked::Value { of, quantity: "presence_mean", growth: Growth::None, published: 10.0, tolerance: 0.1 });
    assert_eq!(one.agreement(one.ours(&rows[..1], 0.25)), Agreement::CannotTell);
    let missing = claim(Asked::Value {
        of: of.rtt("mean"),
        quantity: "presence_mean",
        growth: Growth::None,
        published: 1.0,
        tolerance: 0.1,
    });
    assert_eq!(missing.agreement(missing.ours(&rows, 0.25)), Agreement::NotRun);
}

#[test]
fn ratios_are_of_the_same_seed_and_need_their_interval() {
    let queue = "queue_mean_packets";
    let of = Of::control("campus-2008", Network::Constrained);
    let ask = |above: [f64; 3], bounds: (f64, f64)| {
        let mut rows: Vec<CellRow> =
            (1..).zip(above).map(|(seed, value)| row(0.4, "a-b", seed, &[(queue, value)])).collect();
        rows.extend((1..).zip([1.0, 10.0, 100.0]).map(|(seed, value)| row(0.4, "a-t-b-t", seed, &[(queue, value)])));
        // A seed without a partner counts for nothing.
        rows.push(row(0.4, "a-b", 9, &[(queue, 1e9)]));
        let claim = claim(Asked::Ratio {
            over: (of.structure("a-b"), queue),
            under: (of, queue),
            least: bounds.0,
            most: bounds.1,
        });
        let ours = claim.ours(&rows, 0.4).unwrap();
        assert_eq!(ours.seeds, 3);
        claim.agreement(Some(ours))
    };
    assert_eq!(ask([3.0, 31.0, 299.0], (2.0, f64::INFINITY)), Agreement::Agrees);
    assert_eq!(ask([3.0, 31.0, 299.0], (4.0, f64::INFINITY)), Agreement::Differs);
    assert_eq!(ask([9.0, 10.0, 200.0], (1.0, f64::INFINITY)), Agreement::CannotTell);
    assert_eq!(ask([1.0, 10.0, 101.0], (0.9, 1.1)), Agreement::Agrees);
    // Alike in the mean, and the interval has room for more.
    assert_eq!(ask([0.9, 10.0, 111.0], (0.9, 1.1)), Agreement::CannotTell);
}

#[test]
fn the_page_is_that_of_the_rows_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/reproductions");
    let rows = read(&folder.join("aikat-2010").join(CELLS_FILE)).unwrap();
    let scaling = read_counts(&folder.join("aikat-2010").join(SCALING_FILE)).unwrap();
    for (name, content) in files(&rows, &scaling) {
        let found = std::fs::read_to_string(folder.join(&name)).unwrap();
        assert!(found == content, "{name} is another: make reproduce");
    }
}

/// Connections with a SYN, a SYN/ACK and payload, those whose SYN has the option, and those whose SYN/ACK has it, too, by tshark 4.0.17
/// (fields `tcp.flags.syn`, `tcp.flags.ack`, `tcp.len` and `tcp.options.wscale.shift` by `tcp.stream`).
const TSHARK: [(&str, [u64; 3]); 7] = [
    ("ndpi-alexa-app.pcapng", [108, 108, 108]),
    ("ndpi-gnutella.pcap", [56, 56, 0]),
    ("ndpi-reddit-ipv6.pcap", [59, 59, 59]),
    ("ndpi-sites.pcapng", [56, 56, 54]),
    ("tcptrace-http.dmp", [57, 0, 0]),
    ("zeek-echo-500conns.pcap.gz", [500, 500, 500]),
    ("zeek-http-92conns.pcap", [83, 83, 80]),
];

#[test]
fn kept_counts_of_scaling_are_tsharks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/reproductions/aikat-2010");
    let counts = read_counts(&folder.join(SCALING_FILE)).unwrap();
    for (capture, wanted) in TSHARK {
        let found = counts.iter().find(|count| count.capture == capture).unwrap_or_else(|| panic!("no {capture}"));
        assert_eq!([found.connections, found.initiator, found.both], wanted, "{capture}");
    }
}

/// A small sweep: what a row has from the run's summary and tables is what the sweep itself says of the run, unit by unit.
#[test]
fn rows_are_what_the_sweep_says_of_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = (folder.path().join("study.toml"), folder.path().join("sweep"));
    let experiment = "[workload]\nmodel = { kind = \"campus-2008\", scale = 0.002 }\nwaits = { min = \"500ms\", correct = \"none\" }\n\
        cut = \"trace\"\n[network]\nbottleneck = { rate = \"105%\" }\n[measure]\nduration = \"2min\"\nwindow = [\"20s\", \"100s\"]\n\
        [sweep]\nvary = [\"workload.structure=a-t-b-t,a-b\"]\nseeds = 1\ntables = \"connections,queue\"\n";
    std::fs::write(&file, experiment).unwrap();
    let options = SweepOptions { run: RunOptions::to(&target), ..SweepOptions::default() };
    sweep(&[file], &options, Context::new(&Silent, &Stop::new())).unwrap();
    // What a sweep that goes on leaves is passed over.
    std::fs::create_dir(target.join("cells/half.partial-1")).unwrap();
    let rows = collect(&target).unwrap();
    assert_eq!(rows.len(), 2);
    let mut structures: Vec<&str> = rows.iter().map(|row| row.key.structure.as_str()).collect();
    structures.sort_unstable();
    assert_eq!(structures, ["a-b", "a-t-b-t"]);
    for row in &rows {
        let Key { scale, network, minutes, seed, .. } = row.key;
        assert_eq!((scale, network, minutes, seed), (0.002, Network::Constrained, 2, 1));
        let Key { rtt, waits, queue, .. } = &row.key;
        assert_eq!((rtt.as_str(), waits.as_str(), queue.as_str()), ("usernet", "500ms none", "drop-tail 65000p"));
        let cell = cell_of(&target, &row.key.structure);
        let said = |name: &str| cell.pointer(&format!("/cell/numbers/{name}/value")).and_then(Value::as_f64).unwrap();
        let busier = if said("throughput_mean_mbps.up") > said("throughput_mean_mbps.down") { "up" } else { "down" };
        let lazier = if busier == "up" { "down" } else { "up" };
        for (ours, theirs, factor) in [
            ("throughput_heavy_mbps", format!("throughput_mean_mbps.{busier}"), 1.0),
            ("throughput_light_mbps", format!("throughput_mean_mbps.{lazier}"), 1.0),
            ("throughput_sd_5s_heavy_mbps", format!("throughput_sd_5s_mbps.{busier}"), 1.0),
            ("packet_rate_heavy_kpps", format!("packet_rate_mean_pps.{busier}"), 1e-3),
            ("packet_rate_sd_1s_light_kpps", format!("packet_rate_sd_1s_pps.{lazier}"), 1e-3),
            ("queue_mean_packets", format!("queue_length_mean_packets.{busier}"), 1.0),
            ("queue_sd_packets", format!("queue_length_sd_packets.{busier}"), 1.0),
            ("queue_empty_share", format!("queue_empty_share.{busier}"), 1.0),
            ("last_byte_p50_ms", "time_to_last_byte_p50_ms".to_owned(), 1.0),
            ("last_byte_p90_ms", "time_to_last_byte_p90_ms".to_owned(), 1.0),
            ("last_byte_q50_ms", "time_to_last_byte_p50_ms".to_owned(), 1.0),
            ("response_p50_ms", "response_time_p50_ms".to_owned(), 1.0),
            ("response_q50_ms", "response_time_p50_ms".to_owned(), 1.0),
            ("response_mean_ms", "response_time_mean_ms".to_owned(), 1.0),
            ("presence_mean", "active_connections_presence_mean".to_owned(), 1.0),
            ("instant_mean", "active_connections_mean".to_owned(), 1.0),
        ] {
            let (ours_is, theirs_is) = (row.numbers[ours], factor * said(&theirs));
            assert!((ours_is - theirs_is).abs() <= 1e-3 * theirs_is.abs(), "{ours} {ours_is}, {theirs} {theirs_is}");
        }
        // A share of connections within a time lies between those of the quantiles around it.
        for limit in [80_u32, 500, 3_000] {
            let share = row.numbers[&format!("last_byte_within_{limit}ms_share")];
            for percent in [10_u32, 25, 50, 75, 90] {
                let is_below = row.numbers[&format!("last_byte_q{percent}_ms")] <= f64::from(limit);
                assert_eq!(is_below, share >= f64::from(percent) / 100.0 - 1e-9, "{limit} ms {share}, {percent} %");
            }
        }
        let connections = row.numbers["below_4kb_connections"] + row.numbers["from_4kb_connections"];
        assert!(connections > 50.0 && row.numbers["from_1mb_connections"] <= row.numbers["from_4kb_connections"]);
    }
}

/// The parts of a small workload and its twin, from the experiment to rows that say what they are of.
#[test]
fn parts_and_a_twin_are_swept_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dependence.toml");
    let experiment = "[workload]\nmodel = { kind = \"campus-2008\", scale = 0.002 }\nwaits = { min = \"500ms\", correct = \"none\" }\n\
        cut = \"trace\"\n[network]\nbottleneck = { rate = \"1gbit\" }\n[measure]\nduration = \"1min\"\nwindow = [\"10s\", \"50s\"]\n\
        [sweep]\nvary = [\"rate=1gbit\"]\nseeds = 1\ntables = \"connections,queue,throughput\"\n";
    std::fs::write(&file, experiment).unwrap();
    let swept = |name: &str| {
        let (file, target) = (folder.path().join(name).join(SWEEP_FILE), folder.path().join(name).join("sweep"));
        let options = SweepOptions { run: RunOptions::to(&target), yes: true, ..SweepOptions::default() };
        sweep(&[file], &options, Context::new(&Silent, &Stop::new())).unwrap();
        collect(&target).unwrap()
    };
    let parts = folder.path().join("parts");
    prepare_parts(&file, &parts).unwrap();
    let made = |part: &str| parts.join(format!("campus-2008_0.002_{part}_1.parquet"));
    let written = |part: &str| std::fs::metadata(made(part)).unwrap().modified().unwrap();
    let before = written("whole");
    std::fs::remove_file(made("largest")).unwrap();
    prepare_parts(&file, &parts).unwrap();
    assert!(written("largest") >= before && written("whole") == before, "what is there stays");
    let rows = swept("parts");
    let of = |part: &str| {
        let workload = format!("campus-2008, {part}");
        rows.iter().find(|row| row.key.workload == workload).unwrap_or_else(|| panic!("no {part}"))
    };
    assert_eq!(rows.len(), 9);
    let whole = of("whole");
    let Key { scale, network, minutes, seed, waits, .. } = &whole.key;
    assert_eq!(
        (*scale, *network, *minutes, *seed, waits.as_str()),
        (0.002, Network::Unconstrained, 1, 1, "500ms none")
    );
    // The file replays what the experiment does.
    let options = SweepOptions { run: RunOptions::to(folder.path().join("own")), ..SweepOptions::default() };
    sweep(std::slice::from_ref(&file), &options, Context::new(&Silent, &Stop::new())).unwrap();
    let own = collect(&folder.path().join("own")).unwrap();
    for (name, value) in own[0].numbers.iter().filter(|(name, _)| *name != "wall_s") {
        assert_eq!(whole.numbers.get(name), Some(value), "{name}");
    }
    // A connection is in one half or the other.
    for halves in [["longest", "shorter"], ["largest", "smaller"]] {
        let sum: f64 = halves.map(|part| of(part).numbers["connections"]).iter().sum();
        assert_eq!(sum, whole.numbers["connections"], "{halves:?}");
    }
    assert!(of("longest").numbers["presence_mean"] > 2.0 * of("shorter").numbers["presence_mean"]);
    prepare_twin(&file, &folder.path().join("twin")).unwrap();
    let rows = swept("twin");
    let mut names: Vec<&str> = rows.iter().map(|row| row.key.workload.as_str()).collect();
    names.sort_unstable();
    let [by_variables, by_sessions] = ["campus-2008, twin independent", "campus-2008, twin sessions"];
    assert_eq!(names, [by_variables, by_variables, by_sessions, by_sessions]);
    assert!(rows.iter().all(|row| (row.key.scale, row.key.seed) == (0.002, 1) && row.numbers["connections"] > 50.0));
}

#[test]
fn names_of_files_say_what_they_are_of() {
    let origin = Origin::of_file("somewhere/campus-2008_0.4_longest_3.parquet").unwrap();
    let wanted = Origin { workload: "campus-2008".to_owned(), scale: 0.4, part: "longest".to_owned(), seed: 3 };
    assert_eq!(origin, wanted);
    assert_eq!(wanted.to_string(), "campus-2008_0.4_longest_3");
    assert!(Origin::of_file("campus.parquet").unwrap_err().contains("is no WORKLOAD_SCALE_PART_SEED"));
    assert!(Origin::of_file("campus-2008_large_longest_3.parquet").is_err());
}

/// Datagrams beside a workload and one that begins with nobody there have rows of their own.
#[test]
fn what_is_beside_a_workload_is_in_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = (folder.path().join("study.toml"), folder.path().join("sweep"));
    let experiment = "[workload]\nmodel = { kind = \"campus-2008\", scale = 0.002 }\nwaits = { min = \"500ms\", correct = \"none\" }\n\
        cut = \"trace\"\n[network]\nbottleneck = { rate = \"105%\" }\n[[sources]]\nname = \"datagrams\"\nkind = \"poisson\"\nfrom = \"right\"\nto = \"left\"\n\
        rate = \"50kbit\"\nrtt = \"80ms\"\n[measure]\nduration = \"1min\"\nwindow = [\"10s\", \"50s\"]\n\
        [sweep]\nvary = [\"workload.cut=trace,none\"]\nseeds = 1\ntables = \"connections,queue\"\n";
    std::fs::write(&file, experiment).unwrap();
    let options = SweepOptions { run: RunOptions::to(&target), ..SweepOptions::default() };
    sweep(&[file], &options, Context::new(&Silent, &Stop::new())).unwrap();
    let rows = collect(&target).unwrap();
    let mut names: Vec<&str> = rows.iter().map(|row| row.key.workload.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["campus-2008 + poisson 50kbit", "campus-2008, from empty + poisson 50kbit"]);
    // What is open grows where nobody was there.
    let growth = |name: &str| rows.iter().find(|row| row.key.workload == name).unwrap().numbers["last_over_first_third_presence"];
    assert!(growth(names[1]) > growth(names[0]), "{} {}", growth(names[1]), growth(names[0]));
}

/// What the sweep in `folder` says of its run of a structure.
fn cell_of(folder: &Path, structure: &str) -> Value {
    let read = |path: &Path| serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap();
    let is_of = |path: &Path| {
        path.join("run.json").exists()
            && read(&path.join("run.json"))["experiment"]
                .as_str()
                .unwrap()
                .contains(&format!("structure = \"{structure}\""))
    };
    let mut folders = std::fs::read_dir(folder.join("cells")).unwrap().map(|entry| entry.unwrap().path());
    read(&folders.find(|path| is_of(path)).unwrap().join("cell.json"))
}
