//! Flow records on the command line: files of NetFlow and IPFIX, captures of exporters, sampled ones.

use flowloom::core::workload::{ConnectionVector, Evidence, Side};
use flowloom::store::workload::WorkloadReader;
use flowloom_testkit::flows::{self as export, Flow, data, flow_template, ipfix, set, tcp, template, v5, v9};

use crate::support::Bench;

/// Two connections: 700 and 14,000 bytes, 300 and 5,000; and one that nobody answered.
fn flows() -> Vec<Flow> {
    let [one, two, server] = [(1, 40_000), (3, 40_001), (2, 443)];
    vec![
        tcp(one, server, 40 * 5 + 700, 5, (0, 90)),
        tcp(server, one, 40 * 12 + 14_000, 12, (20, 110)),
        tcp(two, server, 40 * 4 + 300, 4, (500, 800)),
        tcp(server, two, 40 * 6 + 5_000, 6, (520, 800)),
        Flow { flags: export::SYN, ..tcp((4, 1_000), server, 60, 1, (900, 900)) },
    ]
}

/// The same as NetFlow v9.
fn v9_messages() -> [Vec<u8>; 2] {
    let fields = [(8, 4), (12, 4), (22, 4), (21, 4), (2, 4), (1, 4), (7, 2), (11, 2), (4, 1), (6, 1)];
    let fields = fields.map(|(id, length)| (id, length, None));
    let mut body = Vec::new();
    for flow in flows() {
        body.extend([10, 0, 0, flow.source.0, 10, 0, 0, flow.destination.0]);
        for number in [flow.first_ms as u32, flow.last_ms as u32, flow.packets as u32, flow.octets as u32] {
            body.extend(number.to_be_bytes());
        }
        body.extend([flow.source.1.to_be_bytes(), flow.destination.1.to_be_bytes()].concat());
        body.extend([flow.protocol, flow.flags]);
    }
    [v9(1, 1_000, 0, 4, &[set(0, &template(300, &fields))]), v9(2, 2_000, 1, 4, &[set(300, &body)])]
}

/// A pcap file of these payloads, each in a UDP datagram over IPv4.
fn capture(payloads: &[Vec<u8>]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 101]);
    for payload in payloads {
        let length = 28 + payload.len();
        file.extend(words(&[export::NOON as u32, 0, length as u32, length as u32]));
        file.extend([0x45, 0]);
        file.extend((length as u16).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x30, 0x39, 8, 7]);
        file.extend((length as u16 - 20).to_be_bytes());
        file.extend([0, 0]);
        file.extend(payload);
    }
    file
}

fn vectors(bench: &Bench, name: &str) -> Vec<ConnectionVector> {
    WorkloadReader::open(&bench.path(name)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_protocol_becomes_the_same_workload() {
    let bench = Bench::new();
    bench.file("five.nf", &v5(2, 0, 0, &flows()));
    bench.file("nine.nf", &v9_messages().concat());
    bench.file("ten.ipfix", &ipfix(2, 0, 7, &[flow_template(), data(&flows())]));
    bench.file("exporter.pcap", &capture(&v9_messages()));
    for (input, more) in [
        ("five.nf", &[][..]),
        ("nine.nf", &[]),
        ("ten.ipfix", &[]),
        // A capture of exporters is a capture: that its payload is what counts has to be said.
        ("exporter.pcap", &["--from", "flows"]),
    ] {
        let words = [&["convert", input, "-o", "w.parquet", "--force", "--json"], more].concat();
        let said = bench.json(&words);
        assert_eq!((said["from"].as_str(), said["written"].as_u64()), (Some("flows"), Some(2)), "{input}");
        assert_eq!(said["set_aside"]["connections-one-way"], 1, "{input}");
        let vectors = vectors(&bench, "w.parquet");
        let sizes: Vec<_> = vectors.iter().map(|vector| Side::BOTH.map(|side| vector.bytes(side))).collect();
        assert_eq!(sizes, [[700, 14_000], [300, 5_000]], "{input}");
        for vector in &vectors {
            assert_eq!((vector.evidence, vector.complete), (Evidence::FlowRecord, true), "{input}");
            // What no record says is not there.
            assert!(vector.adus.iter().all(|adu| adu.wait.is_none() && adu.seen.is_none()), "{input}");
            assert!(vector.min_rtt().is_none(), "{input}");
            for side in Side::BOTH {
                let end = &vector.ends[side];
                assert!(end.segments.is_none() && end.max_window.is_none() && end.host.is_none(), "{input}");
            }
        }
        let starts: Vec<u64> = vectors.iter().map(|vector| vector.start.as_nanos() / 1_000_000).collect();
        assert_eq!(starts, [0, 500], "{input}");
    }
    // extract reads them as well, and names the file it read.
    let said = bench.json(&["extract", "ten.ipfix", "-o", "x.parquet", "--json"]);
    assert_eq!(said["written"], 2, "{said}");
    let facts = WorkloadReader::open(&bench.path("x.parquet")).unwrap().facts().clone();
    assert_eq!(facts.provenance.inputs[0].name.as_deref(), Some("ten.ipfix"));
    assert_eq!(facts.provenance.inputs[0].sha256.len(), 64);
    assert_eq!(facts.capture.first_packet_unix_ns, Some(export::NOON * 1_000_000_000));
}

#[test]
fn describe_leaves_out_what_flow_records_do_not_say() {
    let bench = Bench::new();
    bench.file("five.nf", &v5(2, 0, 0, &flows()));
    bench.flowloom(&["convert", "five.nf", "-o", "w.parquet"]).succeeded();
    for input in ["five.nf", "w.parquet"] {
        let said = bench.json(&["describe", input, "--json"]);
        let connections = &said["workload"]["connections"];
        assert_eq!((connections["total"].as_u64(), connections["unknown_rtt"].as_u64()), (Some(2), Some(2)));
        assert_eq!(said["workload"]["payload_bytes"]["acceptor"], 19_000);
        let named = said["workload"]["distributions"].as_array().unwrap();
        let known: Vec<&str> = named.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
        for unknown in [
            "epochs",
            "intra_epoch_wait_ns",
            "inter_epoch_wait_ns",
            "response_time_ns",
            "min_rtt_ns",
            "initiator_window_bytes",
            "acceptor_window_bytes",
            "initiator_loss",
            "acceptor_loss",
        ] {
            assert!(!known.contains(&unknown), "{input}: {known:?}");
        }
        assert!(known.contains(&"connection_bytes"), "{input}: {known:?}");
    }
}

#[test]
fn templates_and_halves_may_be_in_several_files() {
    let bench = Bench::new();
    let (up, down): (Vec<Flow>, Vec<Flow>) = flows().into_iter().take(4).partition(|flow| flow.source.0 != 2);
    bench.file("0.ipfix", &ipfix(2, 0, 7, &[flow_template(), data(&up)]));
    bench.file("1.ipfix", &ipfix(2, 2, 7, &[data(&down)]));
    let said = bench.json(&["convert", "0.ipfix", "1.ipfix", "-o", "w.parquet", "--json"]);
    assert_eq!(said["written"], 2, "{said}");
    // Alone the second has no template, and the first no other half.
    bench.flowloom(&["convert", "1.ipfix", "-o", "one.parquet"]).failed(1, &["template never came"]);
    bench.flowloom(&["describe", "1.ipfix"]).failed(1, &["template never came", "holds no connections"]);
    bench.flowloom(&["run", "1.ipfix", "-o", "r"]).failed(1, &["template never came", "no connection to replay"]);
    bench.flowloom(&["convert", "0.ipfix", "-o", "none.parquet"]).failed(1, &["one direction"]);
    assert_eq!(bench.names(), ["0.ipfix", "1.ipfix", "w.parquet"]);
}

#[test]
fn samples_are_undone_or_refused() {
    let bench = Bench::new();
    bench.file("ten.nf", &v5(2, 0, 10, &flows()));
    let said = bench.json(&["convert", "ten.nf", "-o", "w.parquet", "--json"]);
    assert_eq!(said["payload_bytes"]["acceptor"], 190_000, "ten times what was metered");
    assert!(said["warnings"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().contains("scaled up")));
    bench.file("thousand.nf", &v5(2, 0, 1_000, &flows()));
    for command in ["convert", "extract"] {
        bench.flowloom(&[command, "thousand.nf", "-o", "refused.parquet"]).failed(
            1,
            &["thousand.nf", "one packet in 1000", "of which connections cannot be told", "--allow-sampled"],
        );
    }
    assert!(!bench.path("refused.parquet").exists());
    let said = bench.json(&["convert", "thousand.nf", "-o", "asked.parquet", "--allow-sampled", "--json"]);
    assert_eq!(said["payload_bytes"]["acceptor"], 19_000_000);
}

#[test]
fn damage_is_said_with_its_place() {
    let bench = Bench::new();
    let whole = v5(2, 0, 0, &flows());
    bench.file("cut.nf", &[whole.clone(), whole[..100].to_vec()].concat());
    bench.flowloom(&["convert", "cut.nf", "-o", "w.parquet"]).failed(
        1,
        &[
            "cut.nf: message 2 at byte 264: the file ends 164 bytes before the end of a NetFlow v5 message",
            "--allow-truncated",
        ],
    );
    let said = bench.json(&["convert", "cut.nf", "-o", "w.parquet", "--allow-truncated", "--json"]);
    assert_eq!(said["written"], 2);
    assert!(said["warnings"].to_string().contains("cut off"), "{said}");
    let broken = ipfix(2, 0, 7, &[flow_template(), data(&flows()), vec![1, 0, 0, 2]]);
    bench.file("broken.ipfix", &broken);
    let said = bench.json(&["convert", "broken.ipfix", "-o", "b.parquet", "--json"]);
    assert!(said["warnings"].to_string().contains("set 256 has a length of 2"), "{said}");
}
