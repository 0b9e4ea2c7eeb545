//! What a workload needs of every source model: connections in the order of their starts, within the run, with dense ids.

use std::collections::BTreeSet;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, ConnectionVector, Endpoint, Host, PerSide, Side};
use flowloom_models::generate::SourceModel;
use flowloom_models::generate::harpoon::{Personality, Plugin};
use flowloom_models::swing::{Grouping, Survey};

/// Models that send little enough for long runs.
const SLOW: [&str; 37] = [
    r#"kind = "netspec", sources = [{ traffic = { type = "telnet", lambda = 0.000001 }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "telnet", lambda = 0.000001 }, protocol = "udp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "telnet", lambda = 1e-7 }, protocol = "tcp", count = 3 }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "telnet", lambda = 1e-300 }, protocol = "udp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "telnet", lambda = 1e-6 }, protocol = "tcp", speed = "300bit" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "ftp", lambda = 1e-6 }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "ftp", lambda = 1e-6 }, protocol = "udp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "www", lambda = 1e-6, shape = 0.4, min = 2000 }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "www", lambda = 1e-6, shape = 0.4, min = 2000 }, protocol = "udp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "voice", lambda = 1e-6, duration-lambda = 1e-8, blocksize = 160 }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "voice", lambda = 1e-6, duration-lambda = 1e-8, blocksize = 160 }, protocol = "udp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "cbr", blocksize = 1, period = 1e9 }, protocol = "tcp", count = 5 }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "burst", blocksize = 3000, period = 50000 }, protocol = "udp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "burstq", blocksize = 3000, period = 50000, repeats = 3 }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "full", blocksize = 1 }, protocol = "tcp", speed = "1bit" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "full", blocksize = 32768 }, protocol = "udp", speed = "100gbit", duration = 1e-9 }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "sink" }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "mpeg", frame-rate = 25, gop = "IBBPBB", scene-length-mean = 5, scene-mean = 20000, scene-sd = 5000, i-weights = [0.5, 0.15], i-sd = 800, p-mean = 8000, p-sd = 3000, b-mean = 3000, b-sd = 1000 }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "videoconference", frame-rate = 25, shape = 2, scale = 1000, correlation = 0.9, memory = "dar" }, protocol = "udp" }]"#,
    r#"kind = "exchanges", connections-per-second = 1e-9, request-bytes = { kind = "constant", value = 1 }, response-bytes = { kind = "constant", value = 1 }, rtt-ms = { kind = "constant", value = 1 }"#,
    r#"kind = "exchanges", connections-per-second = 20, request-bytes = { kind = "constant", value = 1 }, response-bytes = { kind = "pareto", min = 1, shape = 0.1 }, rtt-ms = { kind = "constant", value = 0 }"#,
    r#"kind = "tcplib", application = "mix", hosts = 20, gap-s = { kind = "exponential", mean = 1 }, speed = "10mbit""#,
    r#"kind = "tcplib", application = "telnet", hosts = 1, gap-s = { kind = "constant", value = 0 }, speed = "1bit""#,
    r#"kind = "tcplib", application = "ftp", hosts = 3, gap-s = { kind = "pareto", min = 1e-9, shape = 0.1 }, speed = "10gbit", connection = "per-conversation""#,
    r#"kind = "tcplib-misc", hosts = 3, packets = { kind = "geometric", min = 1, mean = 6000 }, packet-gap-s = { kind = "exponential", mean = 0.1 }, bytes = { kind = "constant", value = 9000 }"#,
    r#"kind = "web", browsing = "surge", users = 20, connection = "per-object", speed = "1mbit""#,
    r#"kind = "web", browsing = "surge", users = 1, connection = "per-page", speed = "1kbit""#,
    r#"kind = "web", browsing = "mah", users = 20, connection = "per-object", speed = "10gbit""#,
    r#"kind = "web", browsing = "mah", users = 20, connection = "per-server", speed = "1mbit""#,
    r#"kind = "on-off", sources = 30, rate = "80kbit", on = { min = "100ms", shape = 1.1 }, off = { min = "1us", shape = 1.9 }, transport = "tcp""#,
    r#"kind = "on-off", sources = 30, rate = "80kbit", on = { min = "100ms", shape = 1.4 }, off = { min = "100ms", shape = 1.4 }, begin = "silent""#,
    r#"kind = "cbr", flows = 1, rate = "1bit", payload-bytes = 1000"#,
    r#"kind = "poisson", flows = 5, rate = "1kbit", payload-bytes = 1"#,
    r#"kind = "d-itg", profile = "telnet", flows = 5"#,
    r#"kind = "d-itg", profile = "quake3", flows = 5"#,
    r#"kind = "packmime", rate = 5, reverse-rate = 3, clouds = 4, http = "1.1""#,
    r#"kind = "harpoon", sessions = [3, 0, 9], repeat = true, gap-ms = { kind = "exponential", mean = 900 }, file-bytes = { kind = "pareto", min = 1, shape = 0.5 }, clients = ["10.0.0.0/24"], servers = ["10.1.0.0/24"]"#,
];

/// Models that send so much that runs must be short.
const FAST: [&str; 14] = [
    r#"kind = "netspec", sources = [{ traffic = { type = "telnet", lambda = 0.001 }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "telnet", lambda = 0.1 }, protocol = "udp", count = 2 }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "voice", lambda = 1, duration-lambda = 1, blocksize = 1 }, protocol = "tcp" }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "cbr", blocksize = 1, period = 1 }, protocol = "udp", count = 3 }]"#,
    r#"kind = "netspec", sources = [{ traffic = { type = "burstq", blocksize = 3000, period = 1, repeats = 9 }, protocol = "udp", speed = "1bit" }]"#,
    r#"kind = "exchanges", connections-per-second = 1e9, request-bytes = { kind = "constant", value = 1 }, response-bytes = { kind = "constant", value = 1 }, rtt-ms = { kind = "constant", value = 1 }"#,
    r#"kind = "tcplib-misc", hosts = 1, packets = { kind = "constant", value = 1 }, packet-gap-s = { kind = "constant", value = 1e-9 }, bytes = { kind = "constant", value = 1 }"#,
    r#"kind = "poisson", flows = 2, rate = "10gbit", payload-bytes = 1"#,
    r#"kind = "cbr", flows = 1000, rate = "10gbit", payload-bytes = 1000"#,
    r#"kind = "on-off", sources = 1, rate = "10gbit", on = { min = "1us", shape = 1.01 }, off = { min = "1us", shape = 1.01 }"#,
    r#"kind = "campus-2008", scale = 1.0"#,
    r#"kind = "enterprise-2006", scale = 1.0"#,
    r#"kind = "harpoon", interval = "1ms", sessions = 2, traffic = "udp-exponential", period-ms = { kind = "constant", value = 1e-6 }, file-bytes = { kind = "constant", value = 10 }, request-bytes = { kind = "constant", value = 70000 }, clients = ["10.0.0.0/24"], servers = ["10.1.0.0/24"]"#,
    r#"kind = "harpoon", interval = "5ms", sessions = 2, traffic = "udp-constant", gap-ms = { kind = "constant", value = 0.1 }, file-bytes = { kind = "constant", value = 10000 }, rate = "1bit", clients = ["10.0.0.0/24"], servers = ["10.1.0.0/24"]"#,
];

const LENGTHS_NS: [u64; 4] = [0, 1, 50_000_000, 3_000_000_000_000];

fn model(keys: &str) -> SourceModel {
    let model: toml::Table =
        toml::from_str(&format!("model = {{ {keys} }}")).unwrap_or_else(|error| panic!("{keys}: {error}"));
    let model: SourceModel = model["model"].clone().try_into().unwrap_or_else(|error| panic!("{keys}: {error}"));
    model
}

/// Swing and Harpoon by what a made workload holds.
fn configured() -> Vec<SourceModel> {
    let adu = |side, bytes| Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
    let end = |host| Endpoint { host: Some(Host::Number(host)), ..Endpoint::default() };
    let mut survey = Survey::new(Grouping::default());
    for second in [0, 0, 2, 25, 60, 100, 500, 505] {
        survey.add(&ConnectionVector {
            start: Time::ZERO + Duration::from_secs(second),
            ends: PerSide { initiator: end(1 + second as u32 % 3), acceptor: end(9) },
            adus: vec![adu(Side::Initiator, 300), adu(Side::Acceptor, 9_000)],
            ..ConnectionVector::default()
        });
    }
    let swing = survey.finish(Duration::from_secs(600));
    let swing = ["independent", "sessions"].map(|draw| {
        let SourceModel::Swing(mut found) = model(&format!(r#"kind = "swing", config = "s.json", draw = "{draw}""#))
        else {
            panic!("not swing")
        };
        found.set(swing.clone()).expect("a model that was found can be drawn from");
        SourceModel::Swing(found)
    });
    let client = Plugin {
        object: "tcp_plugin.so".into(),
        threads: 12,
        personality: Personality::Client,
        interconnection_times: vec![0.0, 10.0, 30.0],
        active_sessions: vec![2, 0, 12],
        sources: vec!["10.0.0.1".parse().expect("an address")],
        destinations: vec!["10.0.9.1".parse().expect("an address")],
        ..Plugin::default()
    };
    let server = Plugin { personality: Personality::Server, file_sizes: vec![1.0, 2_000.0], ..client.clone() };
    let SourceModel::Harpoon(mut harpoon) = model(r#"kind = "harpoon", config = "h.xml", repeat = true"#) else {
        panic!("not harpoon")
    };
    harpoon.configure(&[client, server], Vec::new()).expect("a client and its server");
    swing.into_iter().chain([SourceModel::Harpoon(harpoon)]).collect()
}

/// The first connections of `model`, as many as 4,000 ADUs hold, keep the promises of [`SourceModel::vectors`].
fn keeps_order(model: &SourceModel, seed: u64, length: Duration) {
    let (mut last, mut adus) = (Time::ZERO, 0);
    for (vector, id) in model.vectors(seed, length).zip(0..) {
        let start = vector.start;
        assert!(last <= start, "seed {seed}, {length}: {id} starts at {start:?}, after {last:?}: {model:?}");
        assert!(start < Time::ZERO + length, "seed {seed}, {length}: {id} starts at {start:?}: {model:?}");
        assert_eq!(vector.id, id, "seed {seed}, {length}: {model:?}");
        assert!(!vector.adus.is_empty(), "seed {seed}, {length}: {id} carries nothing: {model:?}");
        last = start;
        adus += vector.adus.len();
        if adus > 4_000 {
            break;
        }
    }
}

#[test]
fn every_model_keeps_order_of_starts() {
    let slow: Vec<SourceModel> = SLOW.into_iter().map(model).chain(configured()).collect();
    let fast: Vec<SourceModel> = FAST.into_iter().map(model).collect();
    for (models, lengths) in [(&slow, &LENGTHS_NS[..]), (&fast, &LENGTHS_NS[..3])] {
        for (model, seed) in models.iter().flat_map(|model| (1..=3).map(move |seed| (model, seed))) {
            model.check().unwrap_or_else(|problem| panic!("{model:?}: {problem}"));
            lengths.iter().for_each(|length| keeps_order(model, seed, Duration::from_nanos(*length)));
        }
    }
    // None is forgotten: the schema lists them all.
    let schema = serde_json::to_value(schemars::schema_for!(SourceModel)).expect("a schema is JSON");
    let kinds = schema["oneOf"].as_array().expect("a list of models").iter();
    let kinds: BTreeSet<&str> = kinds.filter_map(|kind| kind["properties"]["kind"]["const"].as_str()).collect();
    let seen: BTreeSet<&str> = slow.iter().chain(&fast).map(SourceModel::name).collect();
    assert_eq!(kinds, seen);
}
