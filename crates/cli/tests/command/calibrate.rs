//! Rates that load a link as was asked: `flowloom calibrate`.

use crate::support::Bench;

/// Both directions of web traffic.
const WEB: &str = "[workload]\nmodel = { kind = \"packmime\", rate = 5.0, reverse-rate = 2.0, clouds = 2 }\n\
    [network.bottleneck]\nrate = \"100tbit\"\n[measure]\nduration = \"1s\"\n";

/// One direction counts.
pub const EXCHANGES: &str = "[workload]\nmodel = { kind = \"exchanges\", connections-per-second = 2.0, request-bytes = 300, \
    response-bytes = 9000, rtt-ms = 40 }\n[network.bottleneck]\nrate = \"5mbit\"\n[measure]\nduration = \"20s\"\n";

#[test]
fn loads_are_what_was_asked_and_rates_rise() {
    let bench = Bench::new();
    bench.file("e.toml", EXCHANGES.as_bytes());
    let table = bench.json(&["calibrate", "e.toml", "--load", "50%,70%,105%", "-o", "found", "--json"]);
    let loads = table["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 3);
    for (row, wanted) in loads.iter().zip([0.5, 0.7, 1.05]) {
        assert_eq!(row["load"], wanted);
        let carried = row["carried"]["right"].as_f64().unwrap();
        assert!((carried / wanted - 1.0).abs() <= 0.01, "{row}");
    }
    assert!(loads.is_sorted_by_key(|row| row["rates"]["connections-per-second"].as_f64().unwrap()), "{table}");
    let saved: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("found/calibration.json")).unwrap()).unwrap();
    assert_eq!(saved["loads"], table["loads"]);
    // The experiment of a load begins where its search ended.
    let again = bench.json(&["calibrate", "found/e-70.toml", "--load", "70%", "--json"]);
    let rate = |row: &serde_json::Value| row["rates"]["connections-per-second"].as_f64().unwrap();
    assert!((rate(&again["loads"][0]) / rate(&loads[1]) - 1.0).abs() < 0.01, "{again}");
    bench.flowloom(&["run", "found/e-70.toml", "-o", "r"]).succeeded();
    bench
        .flowloom(&["calibrate", "e.toml", "--load", "50%", "-o", "found"])
        .failed(1, &["found: exists already", "--force"]);
}

#[test]
fn the_busier_direction_counts_where_there_is_one_rate() {
    let bench = Bench::new();
    bench.file("e.toml", EXCHANGES.as_bytes());
    let table = bench.json(&["calibrate", "e.toml", "--load", "60%", "--json"]);
    let row = &table["loads"][0];
    assert!((row["carried"]["right"].as_f64().unwrap() / 0.6 - 1.0).abs() <= 0.005, "{row}");
    assert!(row["carried"]["left"].as_f64().unwrap() < 0.1, "{row}");
    // 9,000 bytes and headers: some 9.6 kB of 375 kB/s.
    let rate = row["rates"]["connections-per-second"].as_f64().unwrap();
    assert!((35.0..42.0).contains(&rate), "{row}");
    let text = bench.flowloom(&["calibrate", "e.toml", "--load", "60%"]).succeeded().out.clone();
    assert!(text.contains("connections-per-second") && text.contains("60 %"), "{text}");
}

/// What is sent is what a run of the found experiment sends: with its structure, and round-trip times that fill no window.
#[test]
fn changes_of_the_workload_are_calibrated_with() {
    let bench = Bench::new();
    let load = |change: &str| {
        bench.file("e.toml", EXCHANGES.replace("[workload]\n", &format!("[workload]\n{change}\n")).as_bytes());
        let table = bench.json(&["calibrate", "e.toml", "--load", "60%", "-o", "found", "--force", "--json"]);
        table["loads"][0].clone()
    };
    let plain = load("");
    assert_eq!(plain["exchanges_per_second"]["right"], 0.0, "{plain}");
    let two = load("structure = \"harpoon\"");
    assert_eq!(two["exchanges_per_second"]["left"], 0.0, "nobody answers: {two}");
    assert!(two["seconds_for_250000_exchanges"].is_null(), "{two}");
    assert!(two["carried"]["left"].as_f64() > plain["carried"]["left"].as_f64(), "{two}, {plain}");
    let saved = std::fs::read_to_string(bench.path("found/e-60.toml")).unwrap();
    assert!(saved.contains("structure = \"harpoon\""), "{saved}");
    let rate = |row: &serde_json::Value| row["rates"]["connections-per-second"].as_f64().unwrap();
    // With nothing in the way: neither losses nor rates of paths.
    bench.file("e.toml", format!("{EXCHANGES}[[network.delay-box]]\nloss = \"20%\"\nrate = \"1mbit\"\n").as_bytes());
    let lossy = bench.json(&["calibrate", "e.toml", "--load", "60%", "--json"]);
    assert_eq!(lossy["loads"][0], plain);
    let far = load("rtt = \"4s\"");
    assert!(rate(&far) > 1.1 * rate(&plain), "of 20 s several pass before the first response comes: {far}, {plain}");
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    let bench = Bench::new();
    for (text, words) in [
        ("[network.bottleneck]\nrate = \"5mbit\"\n".to_owned(), "e.toml: [workload] names no model"),
        (EXCHANGES.replace("rate = \"5mbit\"", "delay = \"1ms\""), "e.toml: network.bottleneck.rate is not given"),
        (EXCHANGES.replace("duration = \"20s\"", ""), "e.toml: measure.duration is missing"),
        (EXCHANGES.replace("5mbit", "unlimited"), "e.toml: network.bottleneck.rate is unlimited"),
        (
            EXCHANGES.replace("[workload]\n", "[workload]\nrtt = \"median\"\n"),
            "e.toml: workload.rtt = \"median\" is made",
        ),
        (
            EXCHANGES.replace("[workload]\n", "[workload]\nload = { factor = 2.0, method = \"blocks\" }\n"),
            "e.toml: workload.load",
        ),
    ] {
        bench.file("e.toml", text.as_bytes());
        bench.flowloom(&["calibrate", "e.toml", "--load", "50%"]).failed(2, &[words]);
    }
    for load in ["50", "0%", "-5%", "501%", "half"] {
        bench.flowloom(&["calibrate", "e.toml", "--load", load]).failed(2, &["a share of the bottleneck's rate"]);
    }
    bench.flowloom(&["calibrate", "w.parquet", "--load", "50%"]).failed(2, &["w.parquet: this is no experiment"]);
    // A link that the fastest model does not fill.
    bench.file("slow.toml", WEB.as_bytes());
    let said = bench.flowloom(&["calibrate", "slow.toml", "--load", "50%"]);
    said.failed(1, &["no rate makes a load of 50 %", "out of what the model can do"]);
}
