//! UDP and QUIC on the command line: in workloads and in replays, or left out of these with a word about it.

use std::collections::BTreeMap;

use flowloom::core::workload::{LinkSide, Protocol, Side};
use flowloom::report::loops::{Loops, Scope};
use flowloom::store::run_folder::RunFolder;
use flowloom::store::workload::WorkloadReader;
use flowloom::time::Duration;

use crate::support::{Bench, Traffic, mixed};

/// Captures of others with datagrams of which none is larger than a packet of Ethernet.
const WITH_DATAGRAMS: [&str; 4] =
    ["ndpi-1kxun.pcap", "ndpi-gnutella.pcap", "ndpi-alexa-app.pcapng", "ndpi-netflix.pcap"];

#[test]
fn flows_are_in_the_workload_and_counted() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    let said = bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]);
    assert!(said.succeeded().out.contains("3 TCP connections (3 sequential, 0 concurrent), 1 UDP flow, 1 QUIC flow,"));
    assert!(said.out.contains("1 flow: no data"), "{}", said.out);
    let counted = bench.json(&["extract", "c.pcap", "-o", "w.parquet", "--force", "--json"]);
    assert_eq!((&counted["datagrams"]["packets"], &counted["datagrams"]["link_bytes"]), (&5.into(), &2_730.into()));
    let udp = &counted["datagrams"]["udp"];
    assert_eq!(
        (&udp["flows"], &udp["no_data"], &udp["one_way"], &udp["packets"]),
        (&2.into(), &1.into(), &1.into(), &3.into())
    );
    let quic = &counted["datagrams"]["quic"];
    assert_eq!((&quic["flows"], &quic["payload_bytes"]["initiator"]), (&1.into(), &1_200.into()));
    assert_eq!((&counted["connections"]["total"], &counted["set_aside"]["flows-no-data"]), (&3.into(), &1.into()));
    let described = bench.json(&["describe", "w.parquet", "--json"]);
    assert_eq!(described["capture"]["datagrams"]["udp"], *udp);
    let of_protocols = described["workload"]["datagrams"].as_array().unwrap();
    let of_protocols: Vec<_> =
        of_protocols.iter().map(|one| (&one["protocol"], &one["flows"], &one["packets"])).collect();
    assert_eq!(of_protocols, [(&"udp".into(), &1.into(), &2.into()), (&"quic".into(), &1.into(), &2.into())]);
    assert_eq!(described["workload"]["connections"]["total"], 3);
    let explained = bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", "--force", "-v"]);
    assert!(explained.err.contains("2 UDP flows, 1 of one direction; 1 set aside"), "{}", explained.err);
}

#[test]
fn they_can_be_left_out() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    let counted = bench.json(&["extract", "c.pcap", "-o", "w.parquet", "--tcp-only", "--json"]);
    assert_eq!((&counted["set_aside"]["packets-udp"], &counted["datagrams"]["packets"]), (&5.into(), &0.into()));
    bench.flowloom(&["run", "w.parquet", "-o", "r", "--tcp-only"]).failed(2, &["--tcp-only"]);
}

#[test]
fn a_silence_of_the_users_choice_ends_them() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    let options = ["extract", "c.pcap", "-o", "w.parquet", "--udp-idle-timeout", "1us", "--json"];
    let counted = &bench.json(&options)["datagrams"];
    assert_eq!((&counted["udp"]["flows"], &counted["quic"]["flows"]), (&4.into(), &1.into()), "each is a flow");
}

#[test]
fn a_replay_without_datagrams_says_so() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    bench.file("x.toml", b"[workload]\nsource = \"c.pcap\"\ndatagrams = \"leave-out\"\n");
    let said = bench.flowloom(&["run", "x.toml", "-o", "r"]);
    assert!(said.succeeded().out.contains("3 flows: 1 no data, 1 QUIC, 1 UDP"), "{}", said.out);
    let run: serde_json::Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("2 flows of UDP or QUIC datagrams not replayed"), "{warnings}");
    assert_eq!(run["original"]["set_aside"]["flows-udp"], 1);
    assert!(warnings.contains("--tcp-only"), "{warnings}");
    bench.file("y.toml", b"[workload]\nsource = \"r/workload.parquet\"\ndatagrams = \"leave-out\"\n");
    let counted = bench.json(&["run", "y.toml", "-o", "again", "--json"]);
    let again = std::fs::read_to_string(bench.path("again/run.json")).unwrap();
    assert!(again.contains("2 flows of UDP") && !again.contains("--tcp-only"), "of no use for a workload: {again}");
    assert_eq!(
        (&counted["connections"]["started"], &counted["verdict"]["accounted"]["word"]),
        (&3.into(), &"VALID".into())
    );
}

/// Draws and changed loads leave the flows out of the workload, and say so as a replay does.
#[test]
fn a_draw_says_what_it_leaves_out() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    bench.file("e.toml", b"workload = { source = \"c.pcap\", datagrams = \"leave-out\" }");
    let said = bench.flowloom(&["run", "e.toml", "-o", "r", "--vary", "jitter 10ms", "--seed", "1", "--seed", "2"]);
    assert!(said.succeeded().out.contains("3 flows: 1 no data, 1 QUIC, 1 UDP"), "{}", said.out);
    assert!(said.out.contains("2 flows of UDP or QUIC datagrams not replayed"), "{}", said.out);
}

/// A share of the load is one of what is sent.
#[test]
fn a_rate_in_percent_counts_the_datagrams_that_are_sent() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    let rate = |datagrams: &str, vary: &str| {
        let experiment = format!(
            "workload = {{ source = \"c.pcap\", datagrams = \"{datagrams}\" }}\nrun.vary = \"{vary}\"\n\
             network.bottleneck.rate = \"100%\"\n"
        );
        bench.file("x.toml", experiment.as_bytes());
        let run = bench.json(&["run", "x.toml", "-o", "r", "--force", "--json"]);
        run["rate_bits_per_second"].as_f64().unwrap()
    };
    let described = bench.json(&["describe", "c.pcap", "--json"]);
    let seconds = described["capture"]["duration_ns"].as_f64().unwrap() / 1e9;
    for vary in ["nothing", "jitter 1ms"] {
        // An answer of 90 bytes and one of 1,200, each with 42 of Ethernet, IP and UDP.
        let bits = 8.0 * (90.0 + 1_200.0 + 2.0 * 42.0) / seconds;
        let more = rate("as-seen", vary) - rate("leave-out", vary);
        assert!((more - bits).abs() < 40.0, "{vary}: {more}, not {bits}");
    }
}

#[test]
fn datagrams_alone_are_described_and_replayed() {
    let bench = Bench::new();
    let mixed = mixed();
    let tcp = Traffic::many(3).pcap();
    bench.file("u.pcap", &mixed[..mixed.len() - (tcp.len() - 24)]);
    let said = bench.flowloom(&["describe", "u.pcap"]);
    let out = &said.succeeded().out;
    for expected in [
        "connections   none to replay\n",
        "datagrams     1 UDP flow: 2 packets, 30 B from initiators, 90 B from acceptors\n",
        "              1 QUIC flow: 2 packets, 1.20 kB from initiators, 1.20 kB from acceptors\n",
        "bytes per flow",
        "flow duration",
    ] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
    for absent in ["per connection", "sequential", "losses"] {
        assert!(!out.contains(absent), "{absent}: {out}");
    }
    bench.flowloom(&["extract", "u.pcap", "-o", "u.parquet"]).succeeded();
    bench.file("c.pcap", &tcp);
    let beside = bench.flowloom(&["describe", "c.pcap", "u.parquet"]);
    let warned = bench.flowloom(&["describe", "c.pcap", "u.pcap"]);
    let about = "u.pcap:\nwarning: no connection can be replayed: there is UDP and no TCP";
    assert!(warned.succeeded().err.contains(about), "{}", warned.err);
    let row = |name: &str| -> Vec<&str> {
        let row = beside.succeeded().out.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        row.split_whitespace().collect()
    };
    assert_eq!(row("QUIC flows"), ["0", "1"]);
    assert_eq!((row("with losses"), row("  no data")), (vec!["0", "–"], vec!["0", "(0", "%)", "0"]));
    for input in ["u.pcap", "u.parquet"] {
        bench.flowloom(&["run", input, "-o", input.trim_start_matches("u.")]).succeeded();
        bench.file("x.toml", format!("[workload]\nsource = {input:?}\ndatagrams = \"leave-out\"\n").as_bytes());
        bench
            .flowloom(&["run", "x.toml", "-o", "r"])
            .failed(1, &["no connection to replay", "set aside: 3 flows: 1 no data, 1 QUIC, 1 UDP"]);
    }
}

#[test]
fn flows_of_a_workload_are_sent() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    let experiment = "[workload]\nsource = \"c.pcap\"\n";
    bench.file("x.toml", experiment.as_bytes());
    let said = bench.flowloom(&["run", "x.toml", "-o", "r"]);
    assert!(said.succeeded().out.contains("datagrams "), "{}", said.out);
    let run = RunFolder::open(&bench.path("r")).unwrap();
    let warnings = run.run()["warnings"].to_string();
    assert!(!warnings.contains("not replayed"), "{warnings}");
    assert!(!warnings.contains("in equal sizes and gaps"), "{warnings}");
    assert_eq!(run.run()["original"]["set_aside"].get("flows-udp"), None);
    let mut rows: Vec<_> = run.sources().unwrap().map(Result::unwrap).collect();
    rows.sort_by_key(|row| row.sent_bytes);
    // A query and its answer; a QUIC exchange: one direction each.
    let sent: Vec<_> = rows.iter().map(|row| (row.sent_packets, row.sent_bytes)).collect();
    assert_eq!(sent, [(Some(1), 30), (Some(1), 90), (Some(1), 1_200), (Some(1), 1_200)]);
    assert!(rows.iter().all(|row| (row.received_packets, row.received_bytes) == (row.sent_packets, row.sent_bytes)));
    let class = run.run()["classes"].as_array().unwrap().last().unwrap();
    let counts = ["sent_datagrams", "to_acceptors_bytes", "to_initiators_bytes"].map(|field| class[field].as_u64());
    assert_eq!(counts, [Some(4), Some(1_230), Some(1_290)], "{class}");
    // Alone they are something to run; and what is called as they are is refused.
    let tcp = Traffic::many(3).pcap();
    let mixed = mixed();
    bench.file("c.pcap", &mixed[..mixed.len() - (tcp.len() - 24)]);
    bench.flowloom(&["run", "x.toml", "-o", "alone"]).succeeded();
    let source = "[[sources]]\nname = \"datagrams\"\nkind = \"cbr\"\nrate = \"1mbit\"\nrtt = \"10ms\"\n";
    bench.file("y.toml", format!("{experiment}{source}").as_bytes());
    bench.flowloom(&["run", "y.toml", "-o", "y"]).failed(2, &["\"datagrams\"", "another name"]);
    bench.file("z.toml", format!("{experiment}datagrams = \"as-heard\"\n").as_bytes());
    bench.flowloom(&["run", "z.toml", "-o", "z"]).failed(2, &["as-heard", "leave-out"]);
}

/// Their flows have numbers from 2^40 on, and a capture addresses for 2^32 connections.
#[test]
fn pcap_has_the_datagrams_of_a_workload() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    bench.file("x.toml", b"[workload]\nsource = \"c.pcap\"\ndatagrams = \"as-seen\"\n");
    bench.flowloom(&["run", "x.toml", "--pcap", "-o", "r"]).succeeded();
    let udp = &bench.json(&["describe", "r/link.pcap", "--json"])["capture"]["datagrams"]["udp"];
    // A query and its answer are one flow, and so are the two datagrams of the QUIC exchange.
    assert_eq!((&udp["flows"], &udp["packets"]), (&2.into(), &4.into()), "{udp}");
    let model = "[workload]\nmodel = { kind = \"cbr\", flows = 1, rate = \"1mbit\" }\ndatagrams = \"as-seen\"\n\
                 [measure]\nduration = \"1s\"\n";
    bench.file("cbr.toml", model.as_bytes());
    bench.flowloom(&["run", "cbr.toml", "--pcap", "-o", "cbr"]).succeeded();
}

/// Time from the first packet, side of the link and size of every datagram of a workload, in the order in which they passed.
fn passed(path: &std::path::Path) -> Vec<(u64, LinkSide, u64)> {
    let vectors = WorkloadReader::open(path).unwrap().map(Result::unwrap);
    let flows = vectors.filter(|vector| vector.protocol != Protocol::Tcp);
    let mut datagrams = Vec::new();
    for vector in flows {
        for side in Side::BOTH {
            let from = if side == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
            datagrams.extend(vector.single_datagrams(side).map(|adu| {
                assert_eq!(adu.packets, Some(1), "each is known");
                ((vector.start + adu.seen.unwrap().first).as_nanos(), from, adu.bytes)
            }));
        }
    }
    datagrams.sort_unstable_by_key(|(time, from, bytes)| (*time, *from as u8, *bytes));
    datagrams
}

/// Largest difference of two sorted lists of times, in nanoseconds, for each side and size by itself.
fn farthest(one: &[(u64, LinkSide, u64)], other: &[(u64, LinkSide, u64)]) -> u64 {
    let by_kind = |list: &[(u64, LinkSide, u64)]| {
        let mut kinds: BTreeMap<(u8, u64), Vec<u64>> = BTreeMap::new();
        list.iter().for_each(|(time, from, bytes)| kinds.entry((*from as u8, *bytes)).or_default().push(*time));
        kinds
    };
    let (one, other) = (by_kind(one), by_kind(other));
    assert!(one.keys().eq(other.keys()), "sizes");
    let pairs = one.iter().zip(other.iter()).flat_map(|((kind, one), (_, other))| {
        assert_eq!(one.len(), other.len(), "{kind:?}");
        one.iter().zip(other)
    });
    pairs.map(|(one, other)| one.abs_diff(*other)).max().unwrap_or(0)
}

/// Over a link without limits every datagram passes the replay's monitor when it passed the capture's.
#[test]
fn a_replay_has_the_datagrams_of_its_capture() {
    let Some(folder) = flowloom_needs::shared("cli: datagrams of real captures", "pcap") else { return };
    let mut captures = 0;
    for name in WITH_DATAGRAMS {
        let bench = Bench::new();
        let capture = folder.join(name);
        bench.flowloom(&["extract", capture.to_str().unwrap(), "-o", "w.parquet"]).succeeded();
        bench.flowloom(&["run", "w.parquet", "--rate", "100tbit", "--pcap", "-o", "r"]).succeeded();
        bench.flowloom(&["extract", "r/link.pcap", "-o", "again.parquet"]).succeeded();
        let (original, again) = (passed(&bench.path("w.parquet")), passed(&bench.path("again.parquet")));
        // What is larger than Ethernet's packets leaves in pieces.
        let fits = |list: &[(u64, LinkSide, u64)]| list.iter().all(|(_, _, bytes)| *bytes <= 1_472);
        assert!(fits(&original) && original.len() > 20, "{name}: {}", original.len());
        // The capture of the replay may begin with another packet: its times are from that.
        let shift = |list: Vec<(u64, LinkSide, u64)>| {
            let first = list.first().map_or(0, |first| first.0);
            list.into_iter().map(|(time, from, bytes)| (time - first, from, bytes)).collect::<Vec<_>>()
        };
        let apart = farthest(&shift(original), &shift(again));
        assert_eq!(apart, 0, "{name}: nanoseconds");
        captures += 1;
    }
    assert!(captures > 3);
}

/// Every byte that was captured is replayed in a closed loop, in an open one, or left out, whatever part of the capture a run has.
#[test]
fn bytes_of_all_captures_add_up() {
    let Some(folder) = flowloom_needs::shared("cli: bytes of real captures", "pcap") else { return };
    let bench = Bench::new();
    let (mut captures, mut with_datagrams) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let capture = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if !entry.file_type().unwrap().is_file() || name == "README.md" || name.starts_with("truth") {
            continue;
        }
        let counted = bench.json(&["extract", capture.to_str().unwrap(), "-o", "w.parquet", "--force", "--json"]);
        let number = |value: &serde_json::Value| value.as_u64().unwrap_or_default();
        let others = counted["set_aside_bytes"].as_object().unwrap().iter();
        let of_tcp_or_udp = ["packets-doubled", "packets-ip-fragment", "packets-udp-fragment"];
        let others = others.filter(|(name, _)| name.starts_with("packets-") && !of_tcp_or_udp.contains(&name.as_str()));
        let captured = number(&counted["tcp"]["link_bytes"])
            + number(&counted["datagrams"]["link_bytes"])
            + others.map(|(_, bytes)| number(bytes)).sum::<u64>();
        let workload = WorkloadReader::open(&bench.path("w.parquet")).unwrap();
        let length = Duration::from_nanos(workload.facts().capture.duration_ns);
        for (start, length, datagrams) in
            [(0, length, true), (0, length, false), (0, length / 3, true), (1, length / 2, false), (2, length, true)]
        {
            let scope = Scope { start: Duration::from_secs(start), length, datagrams, payload_bytes: 0 };
            let loops = Loops::new(workload.facts(), scope);
            // What an offload merged counts as packets of the link, each with headers of its own.
            let merged = number(&counted["tcp"]["merged_packets"]);
            let headers = loops.captured_bytes() - captured;
            assert!((merged * 54..=merged * 134).contains(&headers), "{name}: {headers} {loops:?}");
        }
        let whole = Scope { start: Duration::ZERO, length, datagrams: true, payload_bytes: 0 };
        with_datagrams += u64::from(Loops::new(workload.facts(), whole).open_bytes > 0);
        captures += 1;
    }
    assert!(captures > 55 && with_datagrams > 10, "{captures}, {with_datagrams}");
}
