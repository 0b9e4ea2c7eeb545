//! Several seeds in one answer, and captures that are hard to draw from: whose clock jumps, that are short, or nearly empty.

use flowloom::time::Duration;
use serde_json::Value;

use crate::support::{Bench, Traffic};

const DAY: Duration = Duration::from_secs(86_400);

fn page(bench: &Bench, run: &str) -> String {
    std::fs::read_to_string(bench.path(&format!("{run}/report.html"))).unwrap()
}

/// Metrics that the answer of several seeds has.
fn metrics(answer: &Value) -> Vec<&str> {
    answer["over_seeds"].as_array().unwrap().iter().map(|row| row["metric"].as_str().unwrap()).collect()
}

/// A capture of a few seconds, and another that was pasted to it.
fn jumping() -> Bench {
    let bench = Bench::new();
    bench.file("jump.pcap", &Traffic::many(60).connection(99, DAY * 40, 300, 5_000).pcap());
    bench
}

#[test]
fn a_jump_of_the_clock_leaves_no_rates() {
    let bench = jumping();
    let said = bench.flowloom(&["run", "jump.pcap", "-o", "one"]);
    let text = &said.succeeded().out;
    assert!(text.contains("the clock jumps by 40.0 d: no rates"), "{text}");
    assert!(!text.contains("throughput") && !text.contains("active connections"), "{text}");
    let summary = &bench.json(&["describe", "one", "--json"])["summary"];
    for series in [
        &summary["throughput"]["left_to_right_bits_per_second"],
        &summary["throughput"]["right_to_left_bits_per_second"],
        &summary["throughput"]["goodput_bits_per_second"],
        &summary["active_connections"],
    ] {
        assert_eq!((&series["n"], &series["mean"], &series["max"]), (&Value::from(0), &Value::Null, &Value::Null));
    }
    for figure in ["throughput-left", "throughput-right", "goodput", "active"] {
        assert!(!page(&bench, "one").contains(&format!("\"{figure}\"")), "{figure}");
    }
    let compared = bench.json(&["compare", "one", "--json"]);
    assert_eq!(compared["comparisons"][0]["left_out"]["goodput"], "no rates over time: the clock jumps");
    let seeds = ["run", "jump.pcap", "-o", "s", "--seed", "1", "--seed", "2", "--vary", "nothing", "--json"];
    // Times of packets in a queue are no rates: medians, and from the right 99 % quantiles too.
    let delays = ["queue_delay_from_left", "queue_delay_from_right", "queue_delay_from_right"];
    assert_eq!(metrics(&bench.json(&seeds)), [&["duration", "response_time"][..], &delays].concat());
}

/// The packet moves the end of the capture and is in no series.
#[test]
fn one_packet_from_the_future_leaves_no_rates() {
    let bench = Bench::new();
    let mut packets = Traffic::many(60).packets;
    let middle = packets.len() / 2;
    packets[middle].time += DAY * 30;
    bench.file("one.pcap", &Traffic::in_order(&packets));
    let text = bench.flowloom(&["run", "one.pcap", "-o", "r"]).succeeded().out.clone();
    assert!(text.contains("the clock jumps by 30.0 d: no rates"), "{text}");
    assert!(!text.contains("throughput") && !text.contains("active connections"), "{text}");
    // A window that ends before is of an ordinary clock.
    bench.file("e.toml", b"[workload]\nsource = \"one.pcap\"\n[measure]\nduration = \"5s\"\n");
    let text = bench.flowloom(&["run", "e.toml", "-o", "e"]).succeeded().out.clone();
    assert!(text.contains("throughput") && !text.contains("no rates"), "{text}");
}

/// What the first lines tell is of all draws.
#[test]
fn the_first_lines_are_of_all_draws() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(200).pcap());
    let seeds = ["run", "c.pcap", "-o", "s", "--seed", "1", "--seed", "2", "--seed", "3"];
    let text = bench.flowloom(&seeds).succeeded().out.replace("\n              ", " ");
    let runs = bench.json(&[&seeds[..], &["--force", "--json"]].concat())["runs"].as_array().unwrap().clone();
    let payload = || runs.iter().map(|run| run["payload_bytes"].as_u64().unwrap() as f64 / 1e6);
    let (least, most) = (payload().fold(f64::MAX, f64::min), payload().fold(0.0, f64::max));
    assert!(least < most && text.contains(&format!("{least:.2} MB to {most:.2} MB payload")), "{text}");
    let bytes = format!("100 % of {:.2} MB of payload closed-loop", payload().sum::<f64>());
    assert!(text.contains(&bytes) && text.contains("above: bytes of all draws"), "{bytes}: {text}");
    bench.flowloom(&["run", "c.pcap", "-o", "t", "--seed", "4", "--seed", "5"]).succeeded();
    let compared = bench.flowloom(&["compare", "s", "t"]).succeeded().out.clone();
    assert!(compared.contains(&format!("bytes of s: {bytes}")), "{bytes}: {compared}");
}

/// Of six draws of an overload: what had not ended is longer than any value that is known, and bytes are those of all draws, everywhere.
#[test]
fn a_folder_of_seeds_is_told_as_one() {
    let bench = Bench::new();
    let overload = "[workload]\nmodel = { kind = \"exchanges\", connections-per-second = 0.3, request-bytes = 300, \
                    response-bytes = 6000, rtt-ms = 40 }\n[network]\nbottleneck = { rate = \"12kbit\" }\n\
                    [measure]\nduration = \"40s\"\n[run]\nseeds = [1, 2, 3, 4, 5, 6]\n";
    bench.file("e.toml", overload.as_bytes());
    let text = bench.flowloom(&["run", "e.toml", "-o", "s"]).succeeded().out.clone();
    let answer = bench.json(&["run", "e.toml", "-o", "s", "--force", "--json"]);
    let rows = answer["over_seeds"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == "duration" && row["statistic"] == "p50").unwrap();
    assert_eq!((&row["is_bound"], &row["range_is_bound"]), (&true.into(), &serde_json::json!([false, true])), "{row}");
    let exact = rows.iter().filter(|row| row["is_bound"] == false);
    assert!(exact.into_iter().all(|row| row["range_is_bound"] == serde_json::json!([false, false])), "{rows:?}");
    let line = text.lines().find(|line| line.contains("durations p50")).unwrap();
    let range = line.split_once('[').unwrap().1;
    assert!(!range.starts_with('>') && range.contains(", > "), "{line}");
    let payload = answer["runs"].as_array().unwrap().iter().map(|run| run["payload_bytes"].as_u64().unwrap());
    let bytes = format!("100 % of {} kB of payload closed-loop", payload.sum::<u64>() / 1_000);
    bench.flowloom(&["report", "s", "-o", "s.html"]).succeeded();
    let page = std::fs::read_to_string(bench.path("s.html")).unwrap();
    assert!(text.contains(&bytes) && page.contains(&format!("Bytes: {bytes}")), "{bytes}: {text}");
    let swept = bench.flowloom(&["sweep", "e.toml", "--vary", "queue=drop-tail,fq-codel", "-o", "w"]);
    let swept = swept.succeeded().out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(swept.contains(&bytes) && swept.contains(" (all seeds of drop-tail)"), "{bytes}: {swept}");
    // Each connection has one exchange, which ended or has a bound: both metrics rest on all connections of all seeds.
    bench.flowloom(&["run", "e.toml", "-o", "t", "--rate", "20kbit"]).succeeded();
    let compared = bench.json(&["compare", "s", "t", "--json"]);
    let card = compared["comparisons"][0]["card"].as_array().unwrap();
    let rests = |metric: &str| card.iter().find(|score| score["metric"] == metric).map(|score| &score["share"]);
    assert_eq!((rests("response_time"), rests("duration")), (Some(&1.0.into()), Some(&1.0.into())), "{card:?}");
}

/// An ARP packet, of which no link carries traffic, and forty days later the connections.
#[test]
fn a_jump_behind_another_protocol_is_one() {
    let bench = Bench::new();
    let traffic = (0..60).fold(Traffic::default(), |traffic, id| {
        traffic.connection(id, DAY * 40 + Duration::from_millis(50 * id), 300, 5_000)
    });
    let mut bytes = traffic.pcap();
    let record =
        [[0, 0, 0, 0, 0, 0, 0, 0, 42, 0, 0, 0, 42, 0, 0, 0].as_slice(), &[255; 12], &[8, 6], &[0; 28]].concat();
    bytes.splice(24..24, record);
    bench.file("arp.pcap", &bytes);
    let described = bench.json(&["describe", "arp.pcap", "--json"]);
    let jump = described["clock_jumps_ns"].as_u64().unwrap();
    assert!(Duration::from_nanos(jump) >= DAY * 39, "{described}");
    let said = bench.flowloom(&["run", "arp.pcap", "-o", "one", "--rate", "105%"]);
    let text = &said.succeeded().out;
    assert!(text.contains("the clock jumps by") && text.contains("no rates"), "{text}");
    assert!(
        metrics(&bench.json(&["run", "arp.pcap", "-o", "s", "--seed", "1", "--seed", "2", "--json"]))
            .contains(&"goodput")
    );
}

#[test]
fn a_part_without_the_jump_has_rates() {
    let bench = jumping();
    let answer = bench.json(&["run", "jump.pcap", "-o", "part", "--duration", "5s", "--json"]);
    assert!(answer["throughput"]["goodput_bits_per_second"]["mean"].as_f64().unwrap() > 1_000.0);
}

#[test]
fn draws_and_loads_leave_the_jump_out() {
    let bench = jumping();
    let answer = bench.json(&["run", "jump.pcap", "-o", "s", "--seed", "1", "--seed", "2", "--json"]);
    assert!(metrics(&answer).contains(&"goodput"));
    let run: Value = serde_json::from_str(&std::fs::read_to_string(bench.path("s/seed-1/run.json")).unwrap()).unwrap();
    assert!(Duration::from_nanos(run["window_ns"][1].as_u64().unwrap()) < Duration::from_secs(60));
    let loaded = bench.json(&["run", "jump.pcap", "-o", "105", "--rate", "105%", "--json"]);
    assert!(loaded["rate_bits_per_second"].as_u64().unwrap() > 1_000, "not the load of forty days");
}

#[test]
fn a_fitted_experiment_leaves_the_jump_out() {
    let bench = jumping();
    bench.flowloom(&["fit", "jump.pcap", "-o", "fitted.toml"]).succeeded();
    let table: toml::Table = std::fs::read_to_string(bench.path("fitted.toml")).unwrap().parse().unwrap();
    let seconds = table["measure"]["duration"].as_str().unwrap().trim_end_matches('s').parse::<u64>().unwrap();
    assert!(seconds < 60, "{seconds}");
    assert!(table["workload"]["model"]["connections-per-second"].as_float().unwrap() > 1.0);
}

/// A connection at the beginning, and one in the rest behind the last of nineteen blocks: a third of all draws hold neither.
#[test]
fn every_draw_holds_a_connection() {
    let bench = Bench::new();
    let end = Duration::from_millis(19_500);
    bench.file(
        "sparse.pcap",
        &Traffic::default().connection(1, Duration::ZERO, 300, 5_000).connection(2, end, 9, 9).pcap(),
    );
    let mut words = vec!["run", "sparse.pcap", "-o", "s", "--json"];
    words.extend(["1", "2", "3", "4", "5", "6", "7", "8"].into_iter().flat_map(|seed| ["--seed", seed]));
    let answer = bench.json(&words);
    let runs = answer["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
    assert!(runs.iter().all(|run| run["connections"]["started"].as_u64().unwrap() > 0));
}

/// The only connection with data starts in the rest behind the last whole block.
#[test]
fn what_no_draw_can_hold_is_refused_before_the_run() {
    let bench = Bench::new();
    let end = Duration::from_millis(19_500);
    bench.file("rest.pcap", &Traffic::default().connection(1, Duration::ZERO, 0, 0).connection(2, end, 300, 50).pcap());
    let said = bench.flowloom(&["run", "rest.pcap", "-o", "s", "--seed", "1", "--seed", "2"]);
    said.failed(1, &["no draw of blocks of 1.00 s holds a connection", "--vary"]);
    assert!(!bench.path("s").exists());
}

/// Draws with none, one or two of the large connection: Student's interval of their rate reaches below zero.
#[test]
fn no_interval_of_a_rate_reaches_below_zero() {
    let bench = Bench::new();
    let at = Duration::from_secs;
    let traffic = Traffic::default().connection(1, at(0), 300, 900_000).connection(2, at(10), 300, 50);
    bench.file("large.pcap", &traffic.connection(3, at(19), 300, 50).pcap());
    let seeds = ["1", "2", "3", "4", "5"].into_iter().flat_map(|seed| ["--seed", seed]);
    let answer = bench.json(&["run", "large.pcap", "-o", "s", "--json"].into_iter().chain(seeds).collect::<Vec<_>>());
    let rows = answer["over_seeds"].as_array().unwrap();
    let lows: Vec<f64> = rows.iter().filter_map(|row| row["interval"][0].as_f64()).collect();
    assert!(lows.contains(&0.0) && lows.iter().all(|low| *low >= 0.0), "{rows:?}");
    // All small connections have one response time.
    let constant = rows.iter().filter(|row| row["range"][0] == row["range"][1]);
    assert!(constant.into_iter().all(|row| row["interval"].is_null()), "{rows:?}");
}

#[test]
fn a_short_capture_is_replayed_as_it_is() {
    let bench = Bench::new();
    bench.file("short.pcap", &Traffic::default().connection(1, Duration::ZERO, 300, 5_000).pcap());
    let said = bench.flowloom(&["run", "short.pcap", "-o", "s", "--seed", "1", "--seed", "2"]);
    let text = &said.succeeded().out;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cannot be cut into two blocks of 1 s to draw from"), "{text}");
    assert!(!words.contains("starts drawn anew"), "{text}");
}

#[test]
fn a_number_is_a_rate_in_bits_per_second() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    let answer = bench.json(&["run", "c.pcap", "-o", "r", "--rate", "2000000", "--json"]);
    assert_eq!(answer["rate_bits_per_second"], 2_000_000);
    bench.flowloom(&["run", "c.pcap", "-o", "s", "--rate", "7"]).failed(2, &["too slow (at least 100 bit/s)"]);
}
