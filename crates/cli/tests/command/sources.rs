//! Sources beside the workload and classes of connections, through the command.

use flowloom::time::Duration;
use serde_json::Value;

use crate::support::{Bench, Traffic};

fn run_json(bench: &Bench, folder: &str) -> Value {
    let text = std::fs::read(bench.path(&format!("{folder}/run.json"))).expect("run.json");
    serde_json::from_slice(&text).expect("JSON")
}

fn class<'a>(run: &'a Value, name: &str) -> &'a Value {
    let classes = run["classes"].as_array().expect("classes");
    classes.iter().find(|class| class["name"] == name).unwrap_or_else(|| panic!("{name} in {classes:?}"))
}

const CLASSIC: &str = r#"
[network]
bottleneck = { rate = "10mbit", delay = "10ms", queue = { limit = "60p" } }
[[sources]]
name = "ftp"
kind = "bulk"
count = 4
start = { kind = "uniform", min = "0s", max = "1s" }
rtt = "60ms"
tcp = { congestion = "cubic" }
[[sources]]
name = "voice"
kind = "cbr"
from = "right"
to = "left"
rate = "64kbit"
payload = "160b"
[[sources]]
name = "noise"
kind = "poisson"
gap = "5ms"
[measure]
duration = "10s"
tcp-trace = "sources"
"#;

#[test]
fn sources_run_without_a_workload() {
    let bench = Bench::new();
    bench.file("e.toml", CLASSIC.as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "--pcap", "-o", "r"]);
    let out = &said.succeeded().out;
    assert!(out.contains("sources") && out.contains("4 x bulk transfer without end (ftp)"), "{out}");
    assert!(out.contains("VALID") && out.contains("voice"), "{out}");
    let run = run_json(&bench, "r");
    let ftp = class(&run, "ftp");
    assert_eq!((ftp["congestion"].as_str(), ftp["started"].as_u64()), (Some("cubic"), Some(4)));
    let bytes = |name: &str| class(&run, name)["to_acceptors_bytes"].as_u64().expect("a number");
    // 160 bytes each 20 ms for ten seconds, over a direction that nothing else is in but acknowledgements.
    assert_eq!((bytes("voice"), class(&run, "voice")["sent_datagrams"].as_u64()), (80_000, Some(500)));
    // 10 Mbit/s, less 1.6 of noise, less headers and slow start.
    assert!((8_500_000..10_300_000).contains(&bytes("ftp")), "{}", bytes("ftp"));
    assert!(run["original"].is_null() && run["summary"]["verdict"]["accounted"]["word"] == "VALID");
    // The totals are of the tables, the classes of the simulator.
    let summed = |field: &str| -> u64 {
        run["classes"].as_array().unwrap().iter().filter_map(|class| class[field].as_u64()).sum()
    };
    let totals =
        ["delivered_bytes", "retransmissions", "timeouts"].map(|field| run["summary"][field].as_u64().unwrap());
    assert_eq!(totals, ["to_acceptors_bytes", "retransmissions", "timeouts"].map(summed));
    assert!(run["summary"]["payload_bytes"].as_u64() >= Some(totals[0]) && totals[1] > 0, "{totals:?}");
    let described = bench.flowloom(&["describe", "r/link.pcap"]);
    assert!(described.succeeded().out.contains("UDP"), "{}", described.out);
    bench.flowloom(&["run", "e.toml", "--pcap", "--jobs", "1", "-o", "again"]).succeeded();
    for file in ["sources.parquet", "tcp_trace.parquet", "link.pcap", "drops.parquet", "run.json"] {
        let [one, two] = ["r", "again"].map(|run| std::fs::read(bench.path(&format!("{run}/{file}"))).expect("a file"));
        assert_eq!(one, two, "{file}");
    }
}

/// 100 segments of 536 bytes are 50 of 1,072; nothing else changes.
#[test]
fn mss_of_a_source_sizes_its_segments() {
    let bench = Bench::new();
    let packets = |mss: u32| {
        let text = format!(
            "[[sources]]\nname = \"ftp\"\nkind = \"bulk\"\nbytes = \"53600b\"\nrtt = \"20ms\"\nmss = {mss}\n\
             tcp = {{ profile = \"classic\", initial-window = 100 }}\n[measure]\nduration = \"5s\"\n"
        );
        bench.file("e.toml", text.as_bytes());
        bench.flowloom(&["run", "e.toml", "-o", "r", "--force"]).succeeded();
        let run = run_json(&bench, "r");
        assert_eq!(class(&run, "ftp")["to_acceptors_bytes"], 53_600);
        run["summary"]["left_to_right"]["offered_packets"].as_u64().expect("a number")
    };
    let [small, large] = [536, 1_072].map(packets);
    assert_eq!(small - large, 50, "{small} and {large}");
}

#[test]
fn sources_cross_the_links_between_their_nodes() {
    let bench = Bench::new();
    let text = CLASSIC.replace("[network]\n", "[network]\ntopology = \"parking-lot\"\nhops = 3\n");
    let across = "[[sources]]\nname = \"across\"\nkind = \"cbr\"\nfrom = \"n3\"\nto = \"n1\"\nrate = \"800kbit\"\n";
    bench.file("e.toml", format!("{across}{text}").as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run = run_json(&bench, "r");
    assert_eq!(class(&run, "across")["received_datagrams"], 1_000);
    let offered = |name: &str| {
        let links = run["topology"]["links"].as_array().expect("links");
        let link = links.iter().find(|link| link["name"] == name).expect("the link");
        link["offered_packets"].as_u64().expect("a number")
    };
    assert_eq!(offered("hop-3-back") - offered("bottleneck-back"), 1_000, "and no acknowledgement is lost there");
}

#[test]
fn classes_of_the_workload_have_their_share_and_their_tcp() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(400).pcap());
    let text = "[workload]\nsource = \"c.pcap\"\n[tcp]\nprofile = \"linux\"\n[[tcp.classes]]\nname = \"bbr\"\nshare = \"50%\"\n\
                tcp = { congestion = \"bbr\" }\n[[tcp.classes]]\nname = \"three\"\nconnections = [3]\ntcp = { profile = \"rfc\" }\n\
                [[sources]]\nname = \"noise\"\nkind = \"poisson\"\ngap = \"1ms\"\nrtt = \"10ms\"\n[measure]\ntcp-trace = [3]\n";
    bench.file("e.toml", text.as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    assert!(said.succeeded().out.contains("over the whole run:\nclass or source"), "{}", said.out);
    let run = run_json(&bench, "r");
    let started = |name: &str| class(&run, name)["started"].as_u64().expect("a number");
    assert_eq!(started("workload") + started("bbr") + started("three"), 400);
    assert!((160..240).contains(&started("bbr")), "half of 400 by lot: {}", started("bbr"));
    assert_eq!(class(&run, "bbr")["congestion"], "bbr");
    assert_eq!(class(&run, "workload")["congestion"], "cubic");
    assert!(run["original"].is_object(), "the workload is compared with its original");
    let quiet = bench.flowloom(&["run", "e.toml", "--seed", "1", "--seed", "2", "-o", "two"]);
    assert!(!quiet.succeeded().err.contains("runs with other seeds are alike"), "{}", quiet.err);
}

#[test]
fn what_no_connection_meets_is_said() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    let text = "[workload]\nsource = \"c.pcap\"\n[[tcp.classes]]\nname = \"far\"\nconnections = [19, 20]\ntcp = { profile = \"rfc\" }\n\
                [measure]\ntcp-trace = [18, 19]\n";
    let warnings = |text: &str| {
        bench.file("e.toml", text.as_bytes());
        let said = bench.flowloom(&["run", "e.toml", "--json", "-o", "r", "--force"]);
        serde_json::from_str::<Value>(&said.succeeded().out).expect("JSON")["warnings"].to_string()
    };
    let said = warnings(text);
    assert!(!said.contains("tcp.classes") && !said.contains("tcp-trace"), "connections are 0 to 19: {said}");
    let said = warnings(&text.replace("[19, 20]", "[20, 21]").replace("[18, 19]", "[18, 20]"));
    assert!(said.contains("no connection was of the class \\\"far\\\" (tcp.classes)"), "{said}");
    assert!(said.contains("of 2 connections to be traced 1 began (measure.tcp-trace)"), "{said}");
}

#[test]
fn what_sources_deliver_does_not_hide_a_workload_that_came_to_nothing() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    let source = "[[sources]]\nname = \"voice\"\nkind = \"cbr\"\nfrom = \"right\"\nto = \"left\"\nrate = \"64kbit\"\nrtt = \"20ms\"\n";
    let text = format!(
        "[workload]\nsource = \"c.pcap\"\n[network.path]\nfrom-left = {{ loss = \"100%\" }}\n{source}[measure]\ndrain = \"1s\"\n"
    );
    bench.file("e.toml", text.as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    assert_eq!(said.code, 3, "{}", said.out);
    assert!(said.out.contains("something happened: 0 of 20 connections ended"), "{}", said.out);
    // And where it comes to something, the link's traffic is not compared: the source's is in it.
    bench.file("e.toml", format!("[workload]\nsource = \"c.pcap\"\n{source}").as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "--json", "-o", "s"]);
    let answer: Value = serde_json::from_str(&said.succeeded().out).expect("JSON");
    let compared = answer.to_string();
    assert!(compared.contains("response") && !compared.contains("\"metric\":\"goodput\""), "{compared}");
}

/// A round trip of an hour in a run of ten seconds.
#[test]
fn flows_that_never_arrive_are_told_apart_from_none() {
    let bench = Bench::new();
    for kind in ["kind = \"bulk\"", "kind = \"cbr\"\nrate = \"64kbit\""] {
        let text = format!("[[sources]]\nname = \"far\"\n{kind}\nrtt = \"1h\"\n[measure]\nduration = \"10s\"\n");
        bench.file("e.toml", text.as_bytes());
        let said = bench.flowloom(&["run", "e.toml", "--json", "-o", "r", "--force"]);
        let answer: Value = serde_json::from_str(&said.out).expect("JSON");
        assert_eq!((said.code, &answer["verdict"]["accounted"]["word"]), (3, &"INVALID".into()), "{}", said.out);
        let run = run_json(&bench, "r");
        let warning = &run["summary"]["warnings"][0];
        assert_eq!((&warning["kind"], &warning["flows"]), (&"nothing_delivered".into(), &1.into()), "{warning}");
        let shown = bench.flowloom(&["describe", "r"]);
        assert!(shown.out.contains("1 flow began, and no byte arrived"), "{}", shown.out);
    }
}

/// Requests that are on their way for an hour.
#[test]
fn connections_of_which_no_byte_arrives_are_invalid() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    let said = bench.flowloom(&["run", "c.pcap", "--delay", "1h", "--json", "-o", "r"]);
    let answer: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((said.code, &answer["verdict"]["accounted"]["word"]), (3, &"INVALID".into()), "{}", said.out);
    let warning = &run_json(&bench, "r")["summary"]["warnings"][0];
    assert_eq!((&warning["kind"], &warning["flows"]), (&"nothing_delivered".into(), &20.into()), "{warning}");
}

#[test]
fn what_is_missing_is_said() {
    let bench = Bench::new();
    for (text, wanted) in [
        (CLASSIC.replace("duration = \"10s\"\n", ""), "e.toml:22: measure.duration is missing"),
        (
            CLASSIC.replace("delay = \"10ms\", ", ""),
            "sources[1].rtt is missing, and the links on its way take no time either",
        ),
        (
            CLASSIC.replace("rate = \"10mbit\"", "rate = \"80%\""),
            "e.toml:3: network.bottleneck.rate of 80% is relative to the original's load",
        ),
    ] {
        bench.file("e.toml", text.as_bytes());
        let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
        said.failed(2, &[wanted]);
        assert!(!bench.path("r").exists(), "{}", said.err);
    }
}

/// Datagrams that wait in the queue when the run ends are accounted for.
#[test]
fn datagrams_may_wait_at_the_end() {
    let bench = Bench::new();
    let text = r#"
        network.bottleneck = { rate = "200kbit", queue = { limit = "1000p" } }
        sources = [{ name = "u", kind = "poisson", rate = "300kbit", rtt = "20ms" }]
        measure = { duration = "10s", drain = "0s" }
    "#;
    bench.file("e.toml", text.as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run = run_json(&bench, "r");
    assert_eq!(run["verdict"]["accounted"]["word"], "VALID", "{}", run["summary"]["gates"]);
    let warnings = run["summary"]["warnings"].as_array().unwrap();
    let waiting = warnings.iter().find(|warning| warning["kind"] == "waiting_datagrams").unwrap();
    assert_eq!((&waiting["class"], &waiting["datagrams"]), (&"u".into(), &120.into()));
}

/// What a program calls its rate: all of them 2 Mbit/s, and what is 16 Mbit/s to tc alone is neither.
#[test]
fn a_rate_is_bits_and_is_told() {
    let bench = Bench::new();
    let text =
        "[[sources]]\nname = \"voice\"\nkind = \"cbr\"\nrate = 64000\nrtt = \"20ms\"\n[measure]\nduration = \"1s\"\n";
    bench.file("e.toml", text.as_bytes());
    for rate in ["2mbit", "2Mbit/s", "2 Mbit/s", "2Mb", "2Mb/s", "2Mbps", "2M", "250kB/s"] {
        let run = bench.json(&["run", "e.toml", "--rate", rate, "-o", "r", "--force", "--json"]);
        assert_eq!(run["rate_bits_per_second"], 2_000_000, "{rate}");
        let command = run_json(&bench, "r")["command"].as_str().unwrap().to_owned();
        assert!(
            command.contains(&format!("--rate {rate}")) || command.contains(&format!("--rate '{rate}'")),
            "{command}"
        );
    }
    let said = bench.flowloom(&["run", "e.toml", "--rate", "2M", "-o", "r", "--force"]);
    assert!(said.succeeded().out.contains("2.00 Mbit/s"), "{}", said.out);
    bench.flowloom(&["run", "e.toml", "--rate", "2mbps", "-o", "s"]).failed(2, &["2Mbit/s", "2MB/s as in tc"]);
    bench.file("f.toml", format!("{text}[network.bottleneck]\nrate = \"2mbps\"\n").as_bytes());
    bench.flowloom(&["run", "f.toml", "-o", "s"]).failed(2, &["f.toml:9:8", "2Mbit/s", "2MB/s as in tc"]);
}

/// A mean of 105 % says nothing of the seconds that are above it.
#[test]
fn a_rate_in_percent_is_told_with_the_busiest_second() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    let run = bench.json(&["run", "c.pcap", "--rate", "105%", "-o", "r", "--json"]);
    let (rate, busiest) = (run["rate_bits_per_second"].as_u64(), run["busiest_second_bits_per_second"].as_u64());
    assert!(rate.is_some() && busiest.is_some(), "{run}");
    let network = run_json(&bench, "r")["network"].as_str().unwrap().to_owned();
    assert!(network.contains("(105% of the mean; the busiest second of the original has "), "{network}");
}

/// Ten seconds with little and ten with much: who replays a part means its load.
#[test]
fn a_rate_in_percent_is_of_the_part_that_runs() {
    let bench = Bench::new();
    let traffic = (0..100).fold(Traffic::default(), |traffic, id| {
        let response = if id < 50 { 1_000 } else { 100_000 };
        traffic.connection(id, Duration::from_millis(200 * id), 300, response)
    });
    bench.file("two.pcap", &traffic.pcap());
    bench.flowloom(&["extract", "two.pcap", "-o", "two.parquet"]).succeeded();
    let run = |input: &str, options: &[&str]| {
        let run = bench.json(&[&["run", input, "--rate", "105%", "-o", "r", "--force", "--json"], options].concat());
        let folder = if run["runs"].is_null() { "r" } else { "r/seed-1" };
        let network = run_json(&bench, folder)["network"].as_str().unwrap().to_owned();
        let rate = run["rate_bits_per_second"].as_u64().or_else(|| run["runs"][0]["rate_bits_per_second"].as_u64());
        (rate.unwrap() as f64, network)
    };
    // Five connections a second, of 1,000 or 100,000 bytes and their headers.
    let (low, high) = (1.05 * 8.0 * 5.0 * 1_300.0, 1.05 * 8.0 * 5.0 * 105_000.0);
    let near = |rate: f64, expected: f64| (0.9 * expected..=1.1 * expected).contains(&rate);
    for input in ["two.pcap", "two.parquet"] {
        let (rate, network) = run(input, &["--duration", "10s"]);
        assert!(near(rate, low), "{rate} {low}");
        assert!(
            network.contains("(105% of the mean of the first 10.0 s; the busiest second of that part has "),
            "{network}"
        );
        let (rate, network) = run(input, &["--set", "workload.prefill=10s"]);
        assert!(near(rate, high), "{rate} {high}");
        assert!(network.contains("(105% of the mean from 10.0 s to "), "{network}");
        let (rate, _) = run(input, &["--set", "workload.prefill=5s", "--duration", "10s"]);
        assert!(near(rate, (5.0 * low + 4.0 * high) / 9.0), "the prefill opens for a second: {rate}");
        let (rate, _) = run(input, &["--duration", "60s"]);
        assert!(near(rate, (low + high) / 2.0), "{rate}");
        let (rate, network) =
            run(input, &["--duration", "10s", "--seed", "1", "--seed", "2", "--set", "run.vary=jitter 10ms"]);
        assert!(near(rate, low) && network.contains("(105% of the mean of what has its starts moved)"), "{network}");
        let (rate, network) = run(input, &["--duration", "10s", "--seed", "1", "--seed", "2"]);
        assert!(near(rate, (low + high) / 2.0), "blocks of all of it are drawn: {rate}");
        assert!(network.contains("(105% of the mean of what blocks were drawn from)"), "{network}");
    }
    // What a model draws begins before the run.
    let model = "[workload]\nmodel = { kind = \"exchanges\", connections-per-second = 20, request-bytes = 300, \
                 response-bytes = 20000, rtt-ms = 40 }\n[measure]\nduration = \"10s\"\n";
    bench.file("m.toml", model.as_bytes());
    let expected = 1.05 * 8.0 * 20.0 * 21_000.0;
    for options in [&[][..], &["--set", "workload.prefill=10s"]] {
        let (rate, network) = run("m.toml", options);
        assert!((0.7 * expected..=1.4 * expected).contains(&rate), "{rate} {expected}");
        assert_eq!(network.contains("from 10.0 s to 19.0 s)"), !options.is_empty(), "{network}");
    }
}

/// Ten times what the link carries, and seven of ten lost on the path.
#[test]
fn dropped_datagrams_are_told() {
    let bench = Bench::new();
    for (network, place) in [
        ("bottleneck = { rate = \"1mbit\", queue = { limit = \"20p\" } }", "at the link bottleneck"),
        ("bottleneck = { rate = \"100mbit\" }\npath = { loss = \"70%\" }", "by a loss model"),
    ] {
        let source = "[[sources]]\nname = \"voice\"\nkind = \"cbr\"\nrate = \"10mbit\"\nrtt = \"20ms\"\n";
        bench.file("e.toml", format!("[network]\n{network}\n{source}[measure]\nduration = \"1s\"\n").as_bytes());
        let said = bench.flowloom(&["run", "e.toml", "-o", "r", "--force"]);
        let out = said.succeeded().out.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = format!("of the datagrams of voice were dropped, most of them {place}");
        assert!(out.contains("warning: overload: ") && out.contains(&told), "{out}");
        let run = run_json(&bench, "r");
        let count = |field: &str| class(&run, "voice")[field].as_u64().expect("a number");
        assert_eq!(count("sent_datagrams"), count("received_datagrams") + count("dropped_datagrams"));
    }
}

/// What is under way when the run ends is not lost: half a second of datagrams on a path of a second, without any drain.
#[test]
fn datagrams_on_the_way_are_not_lost() {
    let bench = Bench::new();
    let source = "[[sources]]\nname = \"a\"\nkind = \"cbr\"\nrate = \"1mbit\"\nrtt = \"1s\"\n";
    bench.file("e.toml", format!("{source}[measure]\nduration = \"1s\"\ndrain = \"0s\"\n").as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run = run_json(&bench, "r");
    let count = |field: &str| class(&run, "a")[field].as_u64().unwrap_or(0);
    assert!(count("received_datagrams") < count("sent_datagrams") && count("dropped_datagrams") == 0, "{run}");
}

/// 5 MB need 40 s at 1 Mbit/s.
#[test]
fn a_transfer_that_does_not_finish_degrades() {
    let bench = Bench::new();
    for (duration, word) in [("3s", "DEGRADED"), ("50s", "VALID")] {
        let source = "[[sources]]\nname = \"a\"\nkind = \"bulk\"\nbytes = \"5m\"\nrtt = \"20ms\"\n";
        let rest =
            format!("[network.bottleneck]\nrate = \"1mbit\"\n[measure]\nduration = \"{duration}\"\ndrain = \"1s\"\n");
        bench.file("e.toml", format!("{source}{rest}").as_bytes());
        bench.flowloom(&["run", "e.toml", "-o", "r", "--force"]).succeeded();
        let accounted = &run_json(&bench, "r")["verdict"]["accounted"];
        assert_eq!(accounted["word"], word, "{accounted}");
        let is_told =
            accounted["reasons"].to_string().contains("transfers finished: 1 of 1 transfer of sources unfinished");
        assert_eq!(is_told, word == "DEGRADED", "{accounted}");
    }
}

/// 3 transfers whose SYNs are all lost, beside datagrams that arrive: TCP gives up, and the run says so.
#[test]
fn transfers_that_tcp_gives_up_degrade() {
    let bench = Bench::new();
    let text = r#"
        network = { path.from-left.loss = "100%", bottleneck.delay = "10ms" }
        sources = [
            { name = "x", kind = "bulk", count = 3, bytes = "100k" },
            { name = "u", kind = "cbr", rate = "64kbit", from = "right", to = "left" },
        ]
        measure.duration = "300s"
    "#;
    bench.file("e.toml", text.as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run = run_json(&bench, "r");
    assert_eq!(class(&run, "x")["gave_up"], 3, "{}", run["classes"]);
    let accounted = &run["verdict"]["accounted"];
    assert_eq!(accounted["word"], "DEGRADED", "{accounted}");
    let told = "transfers finished: 3 of 3 transfers of sources unfinished: 3 given up by TCP";
    assert!(accounted["reasons"].to_string().contains(told), "{accounted}");
}

/// Datagrams at twice the link's rate: no SYN is answered in time, and packets of both wait when the run ends. They are counted there.
#[test]
fn connections_that_tcp_gives_up_degrade_and_packets_wait() {
    let bench = Bench::new();
    let text = r#"
        network.bottleneck = { rate = "1kbit", queue = { limit = "65000p" } }
        [workload]
        model = { kind = "exchanges", connections-per-second = 0.02, request-bytes = 300, response-bytes = 1000, rtt-ms = 40 }
        [[sources]]
        name = "u"
        kind = "cbr"
        rate = "2kbit"
        rtt = "20ms"
        [measure]
        duration = "400s"
        drain = "1min"
    "#;
    bench.file("e.toml", text.as_bytes());
    let answer = bench.json(&["run", "e.toml", "--seed", "4", "-o", "r", "--json"]);
    let connections = &answer["connections"];
    let count = |field: &str| connections[field].as_u64().unwrap_or(0);
    assert!(count("gave_up") > 0 && count("gave_up") == count("started"), "{connections}");
    assert_eq!(answer["verdict"]["accounted"]["word"], "DEGRADED", "{answer}");
    let gates = answer["gates"].as_array().expect("gates");
    let gate = |name: &str| gates.iter().find(|gate| gate["name"] == name).expect("a gate");
    let packets = gate("packets accounted for");
    assert_eq!(packets["verdict"], "VALID", "{packets}");
    let run = run_json(&bench, "r");
    let remaining = run["remaining_packets"].as_u64().unwrap_or(0);
    assert!(remaining > 10, "{remaining}");
    assert_eq!(packets["found"], format!("{remaining} packets were in the queue when the run ended"));
    let found = gate("connections finished")["found"].to_string();
    assert!(found.contains("given up by TCP (") && found.contains("no acknowledgement for any retry"), "{found}");
    let kinds = answer["warnings"].as_array().expect("warnings").iter().filter(|one| one["kind"] == "gave_up");
    assert_eq!(kinds.count(), 1, "{answer}");
}

#[test]
fn a_window_without_traffic_of_sources_is_invalid() {
    let bench = Bench::new();
    for (window, code) in [("[\"0s\", \"2s\"]", 0), ("[\"3s\", \"4s\"]", 3)] {
        let source = "[[sources]]\nname = \"a\"\nkind = \"cbr\"\nrate = \"64kbit\"\nrtt = \"20ms\"\nstop = \"1s\"\n";
        bench.file("e.toml", format!("{source}[measure]\nduration = \"5s\"\nwindow = {window}\n").as_bytes());
        let said = bench.flowloom(&["run", "e.toml", "-o", "r", "--force"]);
        assert_eq!(said.code, code, "{}", said.out);
    }
    // Its only datagram arrives in the drain.
    let source = "[[sources]]\nname = \"a\"\nkind = \"cbr\"\nrate = \"5mbit\"\npayload = \"1000b\"\nrtt = \"40ms\"\n";
    let link = "[network]\nbottleneck = { rate = \"10mbit\", delay = \"10ms\" }\n";
    bench.file("e.toml", format!("{link}{source}start = \"1.9999s\"\n[measure]\nduration = \"2s\"\n").as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "-o", "r", "--force"]);
    assert_eq!(said.code, 3, "{}", said.out);
    assert!(said.out.contains("no packet passed the link in the window"), "{}", said.out);
}

/// Results have bins of 100 ms, from windows of 20 s on of a second; what does not divide them would move traffic.
#[test]
fn bins_that_do_not_fit_the_results_are_refused() {
    let bench = Bench::new();
    let source = "[[sources]]\nname = \"a\"\nkind = \"cbr\"\nrate = \"800kbit\"\nrtt = \"20ms\"\nstop = \"1550ms\"\n";
    let experiment = |measure: &str| {
        bench.file("e.toml", format!("{source}[measure]\n{measure}\n").as_bytes());
        bench.flowloom(&["run", "e.toml", "-o", "r", "--force"])
    };
    for measure in [
        "throughput-every = \"30ms\"\nduration = \"2s\"",
        "throughput-every = \"1s\"\nduration = \"2s\"",
        "throughput-every = \"5s\"\nduration = \"30s\"",
        "throughput-every = \"100ms\"\nduration = \"2s\"\nwindow = [\"50ms\", \"2s\"]",
    ] {
        experiment(measure)
            .failed(2, &["e.toml:8:", "measure.throughput-every of", "does not divide the bins of the results"]);
    }
    let goodput = |every: &str| {
        let said = experiment(&format!("throughput-every = \"{every}\"\nduration = \"2s\""));
        let said = said.succeeded();
        assert!(!said.out.contains("too low"), "{}", said.out);
        run_json(&bench, "r")["summary"]["throughput_from_left"].clone()
    };
    assert!(["20ms", "100ms"].iter().all(|every| goodput(every) == goodput("1ms")));
    let short = experiment("duration = \"2s\"\nwindow = [\"100ms\", \"150ms\"]");
    assert!(
        short.succeeded().out.contains("results are of 50.0 ms, and rates of whole bins of 100 ms"),
        "{}",
        short.out
    );
}

#[test]
fn flows_that_start_after_the_end_are_told() {
    let bench = Bench::new();
    let source = "[[sources]]\nname = \"a\"\nkind = \"bulk\"\ncount = 8\nrtt = \"20ms\"\n\
                  start = { kind = \"uniform\", min = \"0s\", max = \"40s\" }\n";
    bench.file(
        "e.toml",
        format!("{source}[measure]\nduration = \"20s\"\n[network.bottleneck]\nrate = \"1mbit\"\n").as_bytes(),
    );
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run = run_json(&bench, "r");
    let began = class(&run, "a")["started"].as_u64().unwrap();
    assert!((1..8).contains(&began), "{began}");
    let told = format!("of 8 flows of the source \"a\" {began} began");
    assert!(run["warnings"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().contains(&told)), "{run}");
}
