//! Harpoon: a model is found in flow records, written as its XML, generated from, and found again (methods K.1).

use std::collections::BTreeMap;
use std::io::Read as _;

use flowloom::core::rng::{Purpose, Stream};
use flowloom::core::workload::{LinkSide, Side};
use flowloom::models::generate::harpoon::{Personality, Plugin};
use flowloom::store::harpoon;
use flowloom::store::workload::WorkloadReader;
use serde_json::Value;

use crate::support::{Bench, Traffic};

/// Sessions of some hosts.
pub const SESSIONS: &str = "[workload]\nmodel = { kind = \"harpoon\", interval = \"20s\", sessions = 9, gap-ms = 900, \
    file-bytes = 5000, clients = [\"10.0.0.0/24\"], servers = [\"10.0.1.0/24\"] }\n";

/// Seconds of the made traffic.
const LENGTH: f64 = 1_800.0;

/// A flow of the made traffic: when, from whom to whom, its bytes there and back.
struct Flow {
    start: f64,
    client: u32,
    server: u32,
    bytes: [u64; 2],
}

/// Sessions of users with a heavy tail of flows each, gaps and files that are lognormal, and hosts of which few have much; the model
/// has none of these laws.
fn traffic() -> Vec<Flow> {
    let mut stream = Stream::new(9, Purpose::Sizes, 0);
    let normal = |stream: &mut Stream| (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
    // A host by its rank, the share up to which falls as a power.
    let host = |stream: &mut Stream, hosts: f64| (hosts * stream.uniform().powi(3)) as u32;
    let mut flows = Vec::new();
    for _ in 0..5_000 {
        let (client, server) = (host(&mut stream, 600.0), host(&mut stream, 250.0));
        let mut start = LENGTH * stream.uniform();
        for _ in 0..(3.0 * (1.0 - stream.uniform()).powf(-1.0 / 1.3)).min(500.0) as u32 {
            if start >= LENGTH {
                break;
            }
            let bytes = [(6.0 + 0.5 * normal(&mut stream)).exp(), (9.0 + 1.2 * normal(&mut stream)).exp()];
            flows.push(Flow { start, client, server, bytes: bytes.map(|bytes| 101 + bytes as u64) });
            start += (1.2 + normal(&mut stream)).exp();
        }
    }
    flows.sort_by(|one, other| one.start.total_cmp(&other.start));
    flows
}

/// NetFlow v5 records of `flows`, two of each, in the order of their ends.
fn netflow(flows: &[Flow]) -> Vec<u8> {
    records_of(flows, &[0, 1])
}

/// Records of what these ends sent, 0 for the client and 1 for the server.
fn records_of(flows: &[Flow], ends_reported: &[usize]) -> Vec<u8> {
    let mut records: Vec<(u32, Vec<u8>)> = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let address = |net: u32, host: u32| 10 << 24 | net << 16 | (host / 250) << 8 | (1 + host % 250);
        let ends = [address(1, flow.client), address(2, flow.server)];
        let ports = [1_024 + (number % 60_000) as u16, 80];
        let times = [flow.start, flow.start + 0.05 + flow.bytes[1] as f64 / 1e5].map(|at| (1e3 * at) as u32);
        for &side in ends_reported {
            let packets = flow.bytes[side] / 1_460 + 3;
            let octets = flow.bytes[side] + 40 * packets;
            let mut record = Vec::new();
            let mut long = |value: u32| record.extend(value.to_be_bytes());
            [ends[side], ends[1 - side], 0, 1 << 16 | 2, packets as u32, octets as u32].into_iter().for_each(&mut long);
            // The acceptor's first packet is a millisecond later.
            [times[0] + side as u32, times[1] + 1].into_iter().for_each(&mut long);
            [u32::from(ports[side]) << 16 | u32::from(ports[1 - side]), 0x1b << 16 | 6 << 8, 0, 0x1010_0000]
                .into_iter()
                .for_each(&mut long);
            records.push((times[1] + 1, record));
        }
    }
    records.sort_by_key(|(end, _)| *end);
    let mut file = Vec::new();
    for (number, batch) in records.chunks(30).enumerate() {
        let uptime = batch[batch.len() - 1].0;
        let unix = [1_700_000_000 + uptime / 1_000, uptime % 1_000 * 1_000_000];
        file.extend((5u32 << 16 | batch.len() as u32).to_be_bytes());
        [uptime, unix[0], unix[1], 30 * number as u32, 0].iter().for_each(|value| file.extend(value.to_be_bytes()));
        batch.iter().for_each(|(_, record)| file.extend(record));
    }
    file
}

/// Largest difference of the shares of values up to any.
fn ks(mut one: Vec<f64>, mut other: Vec<f64>) -> f64 {
    one.sort_by(f64::total_cmp);
    other.sort_by(f64::total_cmp);
    let share = |sorted: &[f64], x: f64| sorted.partition_point(|value| *value <= x) as f64 / sorted.len() as f64;
    let at = one.iter().chain(&other);
    at.map(|x| (share(&one, *x) - share(&other, *x)).abs()).fold(0.0, f64::max)
}

/// The rank of each entry's address in its pool: its distribution is that of sessions over ranks.
fn ranks(plugin: &Plugin, of_destinations: bool) -> Vec<f64> {
    let pool = if of_destinations { &plugin.destinations } else { &plugin.sources };
    let mut ranks = BTreeMap::new();
    pool.iter()
        .map(|block| {
            let next = ranks.len() as f64;
            *ranks.entry(block.base).or_insert(next)
        })
        .collect()
}

fn of<'a>(plugins: &'a [Plugin], personality: Personality, name: &str) -> &'a Plugin {
    plugins.iter().find(|plugin| plugin.personality == personality && plugin.name == name).unwrap()
}

fn mean(fitted: &Value, direction: usize, what: &str) -> f64 {
    let intervals = fitted["directions"][direction]["intervals"].as_array().unwrap();
    intervals.iter().map(|interval| interval[what].as_f64().unwrap()).sum::<f64>() / intervals.len() as f64
}

/// What is found in `input`, and what is found in the traffic that the model makes in `duration`: every variable within a KS distance
/// of `most_ks`, and bytes and flows of an interval within a share `most` of what they were.
fn extracted_again(bench: &Bench, input: &str, more: &[&str], duration: &str, most_ks: f64, most: f64) {
    let fit = |input: &str, output: &str, more: &[&str]| {
        let words = ["fit", input, "--model", "harpoon", "-o", output, "--json"];
        let fitted = bench.json(&[&words[..], more].concat());
        (fitted, harpoon::open(&bench.path(output)).unwrap().plugins)
    };
    let (first, one) = fit(input, "one.xml", more);
    bench.file("e.toml", b"[workload]\nmodel = { kind = \"harpoon\", config = \"one.xml\", repeat = true }\n");
    bench.flowloom(&["model", "e.toml", "-o", "made.parquet", "--duration", duration]).succeeded();
    let (second, other) = fit("made.parquet", "other.xml", &[]);
    for (direction, [client, server]) in [["TcpClient", "TcpServer"], ["TcpClientUp", "TcpServerUp"]].iter().enumerate()
    {
        let clients = [&one, &other].map(|plugins| of(plugins, Personality::Client, client));
        let servers = [&one, &other].map(|plugins| of(plugins, Personality::Server, server));
        let pair = |values: [Vec<f64>; 2]| {
            let [one, other] = values;
            ks(one, other)
        };
        for (variable, found) in [
            ("gaps", pair(clients.map(|plugin| plugin.interconnection_times.clone()))),
            ("files", pair(servers.map(|plugin| plugin.file_sizes.clone()))),
            ("sources", pair(clients.map(|plugin| ranks(plugin, false)))),
            ("destinations", pair(clients.map(|plugin| ranks(plugin, true)))),
        ] {
            println!("{input}: {client}: {variable} {found:.4}");
            assert!(found <= most_ks, "{client}: {variable} differ by {found}");
        }
        for what in ["bytes", "flows"] {
            let ratio = mean(&second, direction, what) / mean(&first, direction, what);
            println!("{input}: {client}: {what} of an interval times {ratio:.4}");
            assert!((ratio - 1.0).abs() < most, "{client}: {what} of an interval times {ratio}");
        }
    }
}

/// Of flow records, repeated so long that 14,000 sessions tell the shares of 600 hosts.
#[test]
fn a_model_of_flow_records_is_extracted_again() {
    let bench = Bench::new();
    bench.file("flows.nf5", &netflow(&traffic()));
    extracted_again(&bench, "flows.nf5", &["--inside", "10.1.0.0/16"], "36000s", 0.05, 0.05);
}

/// Harpoon's own input: a router reports what comes in on one interface, so that the servers' half is all there is. It tells of the
/// servers' flows what both halves tell.
#[test]
fn one_way_records_give_the_same_model() {
    let bench = Bench::new();
    let flows = &traffic()[..3_000];
    bench.file("both.nf5", &netflow(flows));
    bench.file("one.nf5", &records_of(flows, &[1]));
    let fit = |file: &str| {
        let output = file.replace("nf5", "xml");
        bench.json(&[
            "fit",
            file,
            "--model",
            "harpoon",
            "--inside",
            "10.1.0.0/16",
            "--interval",
            "20s",
            "-o",
            &output,
            "--json",
        ])
    };
    let [both, one] = ["both.nf5", "one.nf5"].map(fit);
    assert_eq!(one["directions"].as_array().unwrap().len(), 1, "{one}");
    let [from_both, from_one] = [&both, &one].map(|fitted| &fitted["directions"][0]);
    for what in ["from", "flows", "sessions", "file_bytes", "gap_ns", "senders", "receivers"] {
        assert_eq!(from_one[what], from_both[what], "{what}");
    }
    // And what was put in.
    assert_eq!(from_one["flows"], 3_000);
    let mean = flows.iter().map(|flow| flow.bytes[1]).sum::<u64>() as f64 / 3_000.0;
    assert!((from_one["file_bytes"]["mean"].as_f64().unwrap() / mean - 1.0).abs() < 1e-9, "{from_one}");
    let plugins = harpoon::open(&bench.path("one.xml")).unwrap().plugins;
    assert_eq!(plugins.len(), 2, "a client and its server");
    // Elsewhere a connection needs both halves: nobody knows what the other one was.
    bench.flowloom(&["convert", "one.nf5", "-o", "w.parquet"]).failed(1, &["3,000 connections: one direction only"]);
}

/// The packets of a pcap of Ethernet and IPv4 that come from 10.77.2.0/24.
fn from_the_right(pcap: &[u8]) -> Vec<u8> {
    let (header, mut rest) = pcap.split_at(24);
    let mut kept = header.to_vec();
    while rest.len() >= 16 {
        let captured = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, after) = rest.split_at(16 + captured);
        let source = 16 + 14 + 12;
        if record[source..].starts_with(&[10, 77, 2]) {
            kept.extend(record);
        }
        rest = after;
    }
    kept
}

/// A monitor on one direction of a link sees one half of the bundled capture. A flow is complete there if its own end closed it.
#[test]
fn a_capture_of_one_direction_has_the_flows_of_its_half() {
    let bench = Bench::new();
    let mut pcap = Vec::new();
    let packed = &include_bytes!("../../../../testdata/demo.pcap.gz")[..];
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut pcap).unwrap();
    bench.file("both.pcap", &pcap);
    bench.file("one.pcap", &from_the_right(&pcap));
    let inside = ["--inside", "10.77.1.0/24"];
    let words = ["fit", "one.pcap", "--model", "harpoon", "--json"];
    let fitted = bench.json(&[&words[..], &inside].concat());
    bench.flowloom(&[&["extract", "both.pcap", "-o", "both.parquet"][..], &inside].concat()).succeeded();
    let vectors = WorkloadReader::open(&bench.path("both.parquet")).unwrap().map(Result::unwrap);
    let flows = vectors.filter_map(|vector| {
        let side = if vector.initiator_side == LinkSide::Right { Side::Initiator } else { Side::Acceptor };
        let end = &vector.ends[side];
        let is_complete = end.syn_seen && (end.fin_wait.is_some() || end.rst_seen);
        (is_complete && vector.bytes(side) >= 100).then(|| vector.bytes(side) as f64)
    });
    let bytes: Vec<f64> = flows.collect();
    let [direction] = &fitted["directions"].as_array().unwrap()[..] else { panic!("{fitted}") };
    assert_eq!((&direction["from"], &direction["flows"]), (&"right".into(), &bytes.len().into()), "{fitted}");
    let mean = bytes.iter().sum::<f64>() / bytes.len() as f64;
    // What the capture lost and the other half acknowledges is not known to be missing.
    assert!((direction["file_bytes"]["mean"].as_f64().unwrap() / mean - 1.0).abs() < 1e-3, "{mean}: {direction}");
    let said = bench.flowloom(&words[..4]);
    assert!(!said.succeeded().err.contains("warning: no connection can be replayed"), "{}", said.err);
    bench.flowloom(&["run", "one.pcap"]).failed(1, &["no connection to replay", "one direction only"]);
}

/// Of the bundled capture, for as long as it is: 27 sessions of 20 clients and 4 servers, and some 300 files. Two samples of 300
/// differ by 0.11 once in twenty times, if nothing else makes them differ.
#[test]
fn a_model_of_a_capture_is_extracted_again() {
    let bench = Bench::new();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    extracted_again(&bench, capture, &[], "110s", 0.1, 0.15);
}

/// The same bytes for the same input and seed, and files for either side that say the same as one.
#[test]
fn configurations_are_reproducible_and_come_apart_by_side() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(300).pcap());
    // Each of its connections is of other hosts: no session has two.
    bench.flowloom(&["fit", "c.pcap", "--model", "harpoon"]).failed(1, &["no two hosts have two flows in a session"]);
    bench.file("flows.nf5", &netflow(&traffic()[..2_000]));
    let fit_flows = |output: &str, more: &[&str]| {
        let words =
            ["fit", "flows.nf5", "--model", "harpoon", "--inside", "10.1.0.0/16", "--interval", "20s", "-o", output];
        bench.flowloom(&[&words[..], more].concat()).succeeded().out.clone()
    };
    let said = fit_flows("a.xml", &[]);
    assert!(said.contains("from right\n") && said.contains("configuration a.xml"), "{said}");
    fit_flows("b.xml", &[]);
    fit_flows("c.xml", &["--per-side", "--left-pool", "172.16.0.0/16"]);
    assert_eq!(std::fs::read(bench.path("a.xml")).unwrap(), std::fs::read(bench.path("b.xml")).unwrap());
    assert!(!bench.path("c.xml").exists());
    let experiment =
        |config: &str| format!("[workload]\nmodel = {{ kind = \"harpoon\", config = {config}, repeat = true }}\n");
    for (name, config) in [("one", "\"a.xml\""), ("two", "[\"c-left.xml\", \"c-right.xml\"]")] {
        bench.file("e.toml", experiment(config).as_bytes());
        let output = format!("{name}.parquet");
        bench.flowloom(&["model", "e.toml", "-o", &output, "--duration", "100s"]).succeeded();
        let fitted = bench.json(&["fit", &output, "--model", "harpoon", "--json"]);
        assert_eq!(fitted["directions"].as_array().unwrap().len(), 2, "{fitted}");
    }
    let left = std::fs::read_to_string(bench.path("c-left.xml")).unwrap();
    assert!(
        left.contains("ipv4=\"172.16.0.1/32\"") && left.contains("TcpServerUp") && left.contains("TcpClient\""),
        "{left}"
    );
}

#[test]
fn inputs_without_a_model_say_why() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    let fit = |more: &[&str]| bench.flowloom(&[&["fit", "w.parquet", "--model", "harpoon"][..], more].concat());
    fit(&["-o", "x.xml"]).failed(1, &["no connection has hosts, and sessions are between hosts", "--hosts number"]);
    fit(&["--interval", "0s"]).failed(2, &["--interval of 0s is too short"]);
    fit(&["--left-pool", "10.0.0.0"]).failed(2, &["--left-pool 10.0.0.0/32: no host has such an address"]);
    fit(&["--right-pool", "moon"]).failed(2, &["is no block of IPv4 addresses"]);
    fit(&["--variable", "rtt"]).failed(2, &["--variable"]);
    bench.flowloom(&["fit", "w.parquet", "--interval", "5s"]).failed(2, &["--model"]);
    bench.flowloom(&["fit", "w.parquet", "--model", "tides"]).failed(2, &["harpoon"]);
    bench.file("flows.nf5", &netflow(&traffic()[..50]));
    let flows = |more: &[&str]| bench.flowloom(&[&["fit", "flows.nf5", "--model", "harpoon"][..], more].concat());
    flows(&["--interval", "2h"]).failed(1, &["less than one interval of", "choose a shorter --interval"]);
    flows(&["-o", "none/x.xml"]).failed(1, &["none/x.xml"]);
    assert_eq!(bench.names(), ["c.pcap", "flows.nf5", "w.parquet"]);
}

const PAIR: &str = r#"<harpoon_plugins>
  <plugin name="C" objfile="tcp_plugin.@SHLIB_EXT@" maxthreads="5" personality="client">
    <interconnection_times> 0.5 1 2 </interconnection_times>
    <active_sessions> 3 </active_sessions>
    <ip_tos> 4 </ip_tos>
    <moonlight> 9 </moonlight>
  </plugin>
  <plugin name="S" objfile="tcp_plugin.so" maxthreads="5" personality="server"><file_sizes> 1000 9000 </file_sizes></plugin>
</harpoon_plugins>
"#;

#[test]
fn configurations_run_and_what_is_left_out_is_said() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("lists")).unwrap();
    bench.file("lists/pair.xml", PAIR.as_bytes());
    let model =
        "model = { kind = \"harpoon\", config = \"lists/pair.xml\", interval = \"5s\", ends = { rtt = \"10ms\" } }";
    bench.file("e.toml", format!("[workload]\n{model}\n[measure]\nduration = \"20s\"\n").as_bytes());
    let made = bench.flowloom(&["model", "e.toml", "-o", "w.parquet"]);
    made.succeeded();
    for said in [
        "warning: pair.xml:5: element ip_tos of plugin C has no use here and is left out",
        "warning: pair.xml:6: element moonlight of plugin C is not known and is left out",
        "sessions are given for 5.00 s: then nothing starts (repeat = true begins again)",
    ] {
        assert!(made.err.contains(said), "{}", made.err);
    }
    let folder = bench.path("").display().to_string();
    let made = std::fs::read(bench.path("w.parquet")).unwrap();
    assert!(!made.windows(folder.len()).any(|found| found == folder.as_bytes()), "where it lies is nobody's business");
    let ran = bench.json(&["run", "e.toml", "-o", "r", "--json"]);
    assert!(ran.to_string().contains("moonlight"), "the run says it too: {ran}");
    // From another folder, and with what Harpoon itself sends.
    bench.file(
        "h.toml",
        format!("[workload]\n{}\n", model.replace("interval", "transfer = \"harpoon\", interval")).as_bytes(),
    );
    bench.flowloom(&["run", "h.toml", "--duration", "20s", "-o", "h"]).succeeded();
}

#[test]
fn bad_configurations_are_refused_with_their_line() {
    let bench = Bench::new();
    bench.file("e.toml", b"[workload]\nmodel = { kind = \"harpoon\", config = \"c.xml\" }\n");
    let refused = |text: &str, wanted: &str| {
        bench.file("c.xml", text.as_bytes());
        let said = bench.flowloom(&["model", "e.toml", "-o", "w.parquet", "--duration", "10s"]);
        said.failed(2, &["workload.model.config: ", wanted, "docs/reference/models.md"]);
        assert_eq!(bench.names(), ["c.xml", "e.toml"], "nothing is made");
    };
    refused(&PAIR.replace("</harpoon_plugins>", ""), "c.xml:10: the file ends within harpoon_plugins");
    refused(&PAIR.replace("</plugin>\n</h", "</plug>\n</h"), "c.xml:8: ");
    refused(&PAIR.replace(" 1 2 ", " 1 two "), "c.xml:3: \"two\" in interconnection_times");
    refused(&PAIR.replace("personality=\"server\"", ""), "c.xml:2: plugin C has no server of tcp_plugin");
    refused(&PAIR.replace("tcp_plugin", "dummy_plugin"), "no plugin is a client whose traffic is known here");
    refused("flows,bytes\n1,2", "c.xml:2: no plugin in it");
    std::fs::remove_file(bench.path("c.xml")).unwrap();
    let said = bench.flowloom(&["model", "e.toml", "-o", "w.parquet", "--duration", "10s"]);
    said.failed(2, &["c.xml: cannot open"]);
    for (keys, wanted) in [
        ("sessions = 1, gap-ms = 5", "workload.model.file-bytes is missing"),
        ("config = \"c.xml\", sessions = 1", "workload.model.sessions is what a config says"),
        ("config = []", "workload.model.config names no file"),
        ("sessions = 1, gap-ms = 5, file-bytes = 9, clients = [\"10.0.0.0/33\"]", "no block of IPv4 addresses"),
        (
            "traffic = \"udp-constant\", sessions = 1, gap-ms = 5, file-bytes = 9, payload-bytes = 0",
            "payload-bytes of 0",
        ),
        ("flows = 3", "flows"),
    ] {
        bench.file("k.toml", format!("[workload]\nmodel = {{ kind = \"harpoon\", {keys} }}\n").as_bytes());
        bench.flowloom(&["model", "k.toml", "-o", "w.parquet", "--duration", "10s"]).failed(2, &["k.toml:2", wanted]);
    }
}
