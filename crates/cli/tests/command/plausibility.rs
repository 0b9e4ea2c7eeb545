//! Plausibility of runs, through the command: what `--json`, `run.json`, the terminal and the report say.

use serde_json::Value;

use crate::documented::check;
use crate::support::Bench;

/// A bulk transfer with this congestion control over 20 Mbit/s and round trips of 40 ms, for 30 s.
pub fn bulk(congestion: &str, path: &str) -> String {
    format!(
        "[network]\nbottleneck = {{ rate = \"20mbit\", delay = \"10ms\", queue = {{ limit = \"500p\" }} }}\n{path}\n\
         [tcp]\nprofile = \"plain\"\nsack = \"on\"\n\
         [[sources]]\nname = \"ftp\"\nkind = \"bulk\"\nrtt = \"40ms\"\ntcp = {{ congestion = \"{congestion}\" }}\n\
         [measure]\nduration = \"30s\"\ndrain = \"0s\"\n"
    )
}

/// Packets from the left are lost with this probability.
pub fn losing(share: &str) -> String {
    format!("[network.path]\nfrom-left = {{ loss = \"{share}\" }}")
}

fn plausibility(experiment: &str) -> Value {
    let bench = Bench::new();
    bench.file("e.toml", experiment.as_bytes());
    let mut answer = bench.json(&["run", "e.toml", "-o", "r", "--json"]);
    check("run", &answer);
    let stored = std::fs::read(bench.path("r/run.json")).unwrap();
    let stored: Value = serde_json::from_slice(&stored).unwrap();
    assert_eq!(stored["plausibility"], answer["plausibility"]);
    let warned = answer["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["kind"].as_str());
    let warned: Vec<&str> = warned
        .filter(|kind| kind.starts_with("implausible") || ["overload", "first_flights", "bufferbloat"].contains(kind))
        .collect();
    let warned = warned.join(" ");
    answer["plausibility"]["warned"] = warned.into();
    answer["plausibility"].take()
}

#[test]
fn a_plausible_flow_is_judged_without_a_warning() {
    for congestion in ["reno", "newreno", "cubic"] {
        let found = plausibility(&bulk(congestion, &losing("1%")));
        assert_eq!(
            (&found["judged_flows"], &found["outside_flows"], &found["warned"]),
            (&1.into(), &0.into(), &"".into())
        );
        let flow = &found["flows"][0];
        assert_eq!(
            (&flow["class"], &flow["congestion"], &flow["from_side"]),
            (&"ftp".into(), &congestion.into(), &"left".into())
        );
        // Losses come one by one: one event for each, but for those within a round trip.
        let rate = flow["loss_event_rate"].as_f64().unwrap();
        assert!((0.005..0.013).contains(&rate), "{flow}");
        // The queue is empty: round trips are the path's and what 1,500 bytes take.
        assert!((40_000_000..45_000_000).contains(&flow["rtt_ns"].as_u64().unwrap()), "{flow}");
        let class = &found["classes"][0];
        assert!((0.005..0.02).contains(&class["from_left"]["dropped_share"].as_f64().unwrap()), "{class}");
        assert!(class["from_left"]["most_dropped_at"].is_null(), "{class}");
    }
}

#[test]
fn bbr_has_no_response_function() {
    let found = plausibility(&bulk("bbr", &losing("1%")));
    assert_eq!((&found["judged_flows"], &found["not_judged"]["no_response_function"]), (&0.into(), &1.into()));
    assert_eq!(found["flows"].as_array().unwrap().len(), 0);
}

/// Ten flows, so that there are more than a hundred packets.
#[test]
fn a_third_of_the_packets_lost_is_warned_of() {
    let experiment = bulk("newreno", &losing("35%")).replace("kind = \"bulk\"", "kind = \"bulk\"\ncount = 10");
    let found = plausibility(&experiment);
    // The file asks for it, and the flows slow down.
    assert_eq!(found["warned"], "overload", "{found}");
    let class = &found["classes"][0];
    assert!((0.3..0.42).contains(&class["from_left"]["dropped_share"].as_f64().unwrap()), "{class}");
    assert!((0.05..1.0).contains(&class["from_left"]["lossy_window_segments"].as_f64().unwrap()), "{class}");
    assert_eq!(class["from_right"]["dropped_packets"], 0);

    let bench = Bench::new();
    bench.file("e.toml", experiment.as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    let text = said.succeeded().out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("% of the TCP packets of ftp from the left were dropped, most of them by a loss model"),
        "{text}"
    );
    assert!(text.contains("no more than their losses allow"), "{text}");
    let page = std::fs::read_to_string(bench.path("r/report.html")).unwrap();
    assert!(page.contains("TCP packets of ftp from the left were dropped"));
    assert!(page.contains("Mean windows beside the response functions"));
}

/// A queue that overflows all the time: the link is named.
#[test]
fn a_link_that_drops_a_fifth_is_named() {
    let bench = Bench::new();
    let many = bulk("newreno", "").replace("limit = \"500p\"", "limit = \"3p\"").replace("20mbit", "1mbit");
    bench.file("e.toml", many.replace("kind = \"bulk\"", "kind = \"bulk\"\ncount = 60").as_bytes());
    let answer = bench.json(&["run", "e.toml", "-o", "r", "--json"]);
    check("run", &answer);
    let warnings = answer["warnings"].as_array().unwrap();
    let loss = warnings.iter().find(|warning| warning["kind"] == "overload").unwrap_or_else(|| panic!("{warnings:?}"));
    assert_eq!(
        (&loss["class"], &loss["from_side"], &loss["link"]),
        (&"ftp".into(), &"left".into(), &"bottleneck".into())
    );
    assert!(loss["share"].as_f64().unwrap() > 0.2, "{loss}");
    // 60 flows share a link that holds four packets.
    assert!(loss["window_segments"].as_f64().unwrap() < 3.0, "{loss}");
}

/// Transfers that fit into the initial window, over a queue of three packets: most of what is lost is lost at once, before a
/// loss can slow a flow down.
#[test]
fn first_flights_are_named_and_not_doubted() {
    let transfers = |segments: u32, queue: &str, bytes: u32, profile: &str| {
        format!(
            "[workload]\nmodel = {{ kind = \"exchanges\", connections-per-second = 0.5, request-bytes = 300, response-bytes = {bytes}, \
             rtt-ms = 80 }}\n[network]\nbottleneck = {{ rate = \"2mbit\", queue = {{ {queue} }} }}\n\
             [tcp]\nprofile = \"{profile}\"\ninitial-window = {segments}\n[measure]\nduration = \"60s\"\n"
        )
    };
    for profile in ["plain", "linux"] {
        for segments in [40, 100] {
            let found = plausibility(&transfers(segments, "limit = \"4000b\"", 60_000, profile));
            assert_eq!(found["warned"], "first_flights", "{profile} {segments}: {found}");
            let from = &found["classes"][0]["from_right"];
            let [first, dropped] = ["dropped_first_packets", "dropped_packets"].map(|key| from[key].as_u64().unwrap());
            assert!(first <= dropped && 10 * first > 6 * dropped, "{found}");
        }
    }
}

/// Overload, small buffers, constant rates beside TCP, deep queues: whoever asks for them gets no doubt.
#[test]
fn honest_what_ifs_are_not_doubted() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    let of_capture = |rate: &str, queue: &str| {
        format!(
            "[workload]\nsource = \"{demo}\"\n[network]\nbottleneck = {{ rate = \"{rate}\", queue = {{ {queue} }} }}\n"
        )
    };
    let of_sources = |rate: &str, queue: &str, sources: &str| {
        format!(
            "[network]\nbottleneck = {{ rate = \"{rate}\", queue = {{ {queue} }} }}\n{sources}\n[measure]\nduration = \"30s\"\n"
        )
    };
    let bulk = |count: u32, rtt: &str, tcp: &str| {
        format!(
            "[[sources]]\nname = \"ftp\"\nkind = \"bulk\"\ncount = {count}\nrtt = \"{rtt}\"\ntcp = {{ {tcp} }}\n\
             start = {{ kind = \"uniform\", min = \"0s\", max = \"1s\" }}\n"
        )
    };
    let cbr = |rate: &str| format!("[[sources]]\nname = \"cbr\"\nkind = \"cbr\"\nrate = \"{rate}\"\nrtt = \"20ms\"\n");
    let drop_tail = |limit: &str| format!("limit = \"{limit}\"");
    let linux = "profile = \"linux\"";
    let what_ifs = [
        of_capture("67%", &drop_tail("100p")),
        of_capture("33%", &drop_tail("100p")),
        of_capture("10%", &drop_tail("50p")),
        of_capture("105%", &drop_tail("5p")),
        of_capture("105%", &drop_tail("1p")),
        of_capture("105%", &drop_tail("10000p")),
        of_capture("105%", "kind = \"codel\""),
        of_capture("105%", "kind = \"fq-codel\""),
        of_capture("67%", "kind = \"red\", min = \"5p\", max = \"15p\", limit = \"60p\""),
        of_capture("50%", "kind = \"pie\""),
        of_sources("5mbit", &drop_tail("50p"), &cbr("10mbit")),
        of_sources("10mbit", &drop_tail("50p"), &(bulk(5, "40ms", "") + &cbr("9500kbit"))),
        of_sources("10mbit", &drop_tail("50p"), &(bulk(5, "40ms", "") + &cbr("12mbit"))),
        of_sources("1mbit", &drop_tail("20p"), &bulk(100, "40ms", "")),
        of_sources("10mbit", &drop_tail("100p"), &bulk(200, "50ms", linux)),
        of_sources("10mbit", &drop_tail("2000p"), &bulk(10, "50ms", linux)),
        of_sources("20mbit", "kind = \"red\", min = \"15p\", max = \"45p\", limit = \"120p\"", &bulk(50, "20ms", "")),
        of_sources("50mbit", &drop_tail("5p"), &bulk(4, "30ms", linux)),
        of_sources("5mbit", &drop_tail("10p"), &bulk(64, "20ms", "profile = \"bsd-2008\", congestion = \"reno\"")),
        of_sources("20mbit", "kind = \"pie\"", &bulk(400, "60ms", linux)),
        of_sources("1mbit", &drop_tail("65000p"), &(bulk(10, "40ms", "") + &cbr("900kbit"))),
        of_sources("1mbit", &drop_tail("65000p"), &(bulk(300, "40ms", "") + &cbr("900kbit"))),
        of_sources("1mbit", &drop_tail("65000p"), &(bulk(300, "40ms", "") + &cbr("1500kbit"))),
        of_sources("1mbit", &drop_tail("65000p"), &(bulk(60, "40ms", linux) + &cbr("1500kbit"))),
        of_sources("1mbit", &drop_tail("2000p"), &(bulk(60, "40ms", linux) + &cbr("900kbit"))),
        of_sources("1mbit", &drop_tail("2000p"), &bulk(300, "40ms", linux)),
        of_sources("1mbit", &drop_tail("500p"), &(bulk(5, "40ms", "profile = \"rfc\"") + &cbr("900kbit"))),
    ];
    assert_eq!(what_ifs.len(), 27);
    let (mut overloads, mut bufferbloats) = (0, 0);
    for what_if in what_ifs {
        let found = plausibility(&what_if);
        let warned = found["warned"].as_str().unwrap();
        assert!(!warned.contains("implausible"), "{what_if}\n{found}");
        overloads += u32::from(warned.contains("overload"));
        bufferbloats += u32::from(warned.contains("bufferbloat"));
    }
    assert!(overloads >= 10, "{overloads} overloads are named");
    assert!(bufferbloats >= 2, "{bufferbloats} bufferbloats are named");
}

/// DCTCP behind queues that mark single packets, for a minute: slow start had many marks, and windows do not grow while they are reduced.
#[test]
fn honest_dctcp_is_not_doubted() {
    let of = |profile: &str, rate: &str, rtt: &str, marks: &str| {
        format!(
            "[network]\nbottleneck = {{ rate = \"{rate}\", queue = {{ kind = \"red\", {marks}, ecn = true }} }}\n\
             [tcp]\nprofile = \"{profile}\"\ncongestion = \"dctcp\"\n\
             [[sources]]\nname = \"b\"\nkind = \"bulk\"\nrtt = \"{rtt}\"\n[measure]\nduration = \"60s\"\n"
        )
    };
    for what_if in [
        of("rfc", "2mbit", "200ms", "min = \"5p\", max = \"15p\""),
        of("rfc", "1mbit", "400ms", "min = \"20p\", max = \"60p\""),
        of("linux", "1mbit", "400ms", "min = \"20p\", max = \"60p\""),
    ] {
        let found = plausibility(&what_if);
        assert_eq!((&found["judged_flows"], &found["warned"]), (&1.into(), &"".into()), "{what_if}\n{found}");
    }
}
