//! `flowloom overhead`: lengths from every kind of input, the published tables, and what it refuses.

use flowloom::core::cell::framing::{KNOWN, NAMED_STACKS};
use flowloom::time::Duration;

use crate::support::{Bench, Traffic, mixed};

/// Methods H.4.
const HUNDRED: &str = "# a hundred datagrams\nprotocol,data_bytes,count\n\
    tcp,0,40\ntcp,1,25\ntcp,9,5\ntcp,100,10\ntcp,512,10\ntcp,536,5\nudp,40,4\nudp,120,1\n";

#[test]
fn a_histogram_makes_the_published_table() {
    let bench = Bench::new();
    bench.file("lengths.csv", HUNDRED.as_bytes());
    let told = bench.flowloom(&["overhead", "lengths.csv", "--stack", "smds-802.6", "--stack", "none-sar"]);
    let out = &told.succeeded().out;
    assert!(out.starts_with("lengths.csv  95 TCP and 5 UDP datagrams, 13.1 kB, of which 9.15 kB are data\n"), "{out}");
    for row in
        [["standard", "42.5", "60.8", "73.8"], ["PD+CHS", "54.5", "78.0", "94.6"], ["All", "87.4", "92.4", "92.4"]]
    {
        assert!(out.lines().any(|line| line.split_whitespace().eq(row)), "{row:?} is missing in: {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let told = bench.json(&["overhead", "lengths.csv", "--stack", "xfrs+cells:48/5", "--payloads", "44-52", "--json"]);
    let stack = &told["stacks"][0];
    assert_eq!((told["tcp"]["data_bytes"].as_u64(), told["left_out_packets"].is_null()), (Some(8_870), true));
    assert_eq!(stack["techniques"][0]["line_bytes_per_datagram"], 199.81);
    let curve = stack["curve"].as_array().unwrap();
    assert_eq!((curve.len(), &curve[4]["application"]), (9, &stack["techniques"][0]["application"]));
}

#[test]
fn lengths_of_a_capture_are_those_of_its_packets() {
    let bench = Bench::new();
    bench.file("c.pcap", &mixed());
    let extracted = bench.json(&["extract", "c.pcap", "-o", "w.parquet", "--json"]);
    let told = bench.json(&["overhead", "c.pcap", "--stack", "mac", "--json"]);
    let both = |field: &str| told["tcp"][field].as_u64().unwrap() + told["udp"][field].as_u64().unwrap();
    assert_eq!(Some(both("datagrams")), extracted["packets"].as_u64());
    // An Ethernet header on each: what the capture says of the bytes on the wire.
    assert_eq!(Some(both("ip_bytes") + 14 * both("datagrams")), extracted["bytes"].as_u64());
    let line = told["stacks"][0]["techniques"][0]["line_bytes_per_datagram"].as_f64().unwrap();
    assert_eq!((line * both("datagrams") as f64).round() as u64, extracted["bytes"].as_u64().unwrap());
    assert_eq!((&told["lengths_of"], &told["left_out_packets"]), (&"packets".into(), &0.into()));
    let payload = &extracted["payload_bytes"];
    let payload = payload["initiator"].as_u64().unwrap() + payload["acceptor"].as_u64().unwrap();
    assert_eq!(told["tcp"]["data_bytes"], payload, "nothing was sent twice");
    let vectors = bench.json(&["overhead", "w.parquet", "--stack", "mac", "--json"]);
    assert_eq!((&vectors["lengths_of"], &vectors["tcp"]["data_bytes"]), (&"workload".into(), &payload.into()));
    let udp = |told: &serde_json::Value| ["datagrams", "data_bytes"].map(|field| told["udp"][field].as_u64().unwrap());
    let [datagrams, bytes] = udp(&told);
    assert_eq!(udp(&vectors), [datagrams - 1, bytes], "a flow without data is in no workload");
}

#[test]
fn datagrams_of_a_workload_are_those_that_a_run_sends() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    // The estimate knows of no acknowledgement policies.
    bench.file("e.toml", b"[workload]\nsource = \"c.pcap\"\nreplay = { acks = false }\n");
    bench.flowloom(&["run", "e.toml", "-o", "r", "--pcap"]).succeeded();
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    let tcp = |file| {
        let told = bench.json(&["overhead", file, "--json"]);
        ["datagrams", "data_bytes"].map(|field| told["tcp"][field].as_u64().unwrap())
    };
    let ([estimated, bytes], [sent, sent_bytes]) = (tcp("w.parquet"), tcp("r/link.pcap"));
    assert_eq!(bytes, sent_bytes);
    assert!(estimated.abs_diff(sent) * 20 <= sent, "{estimated} datagrams for {sent}");
}

#[test]
fn totals_and_long_datagrams_are_warned_of() {
    let bench = Bench::new();
    let mut traffic = Traffic::default().connection(0, Duration::ZERO, 300, 1_460);
    bench.file("c.pcap", &traffic.pcap());
    assert_eq!(bench.json(&["overhead", "c.pcap", "--json"])["warnings"], serde_json::json!([]));
    let response = traffic.packets.iter_mut().find(|packet| packet.payload_bytes == 1_460).unwrap();
    response.payload_bytes = 1_461;
    bench.file("c.pcap", &traffic.pcap());
    let said = bench.flowloom(&["overhead", "c.pcap"]);
    assert!(said.succeeded().err.contains("warning: datagrams of more than 1,500 bytes: 1; "), "{}", said.err);
    bench.file(
        "conn.log",
        b"#separator \\x09\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\tconn_state\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n\
          #types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\tcount\tstring\tcount\tcount\tcount\tcount\n\
          1.0\tCa\t10.0.0.1\t5000\t10.0.0.2\t80\ttcp\t-\t2.5\t300\t7000\tSF\t0\tShADadFf\t6\t620\t8\t7420\n",
    );
    let told = bench.json(&["overhead", "conn.log", "--json"]);
    assert_eq!(told["tcp"]["data_bytes"], 7_300);
    assert!(told["warnings"][0].as_str().unwrap().starts_with("connections have totals only"), "{told}");
}

#[test]
fn pictures_are_one_file_and_two_runs_are_the_same() {
    let bench = Bench::new();
    let words = |page| ["overhead", "--lengths", "ucb-1989", "--html", page];
    let said = bench.flowloom(&words("a.html"));
    assert!(said.succeeded().out.ends_with("pictures      a.html\n"), "{}", said.out);
    bench.flowloom(&words("b.html")).succeeded();
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    let page = read("a.html");
    assert_eq!(page, read("b.html"));
    assert!(
        page.contains("Efficiency against the payload of a cell")
            && page.contains("smds-802.6")
            && page.contains("gtp-u+udp")
    );
    bench.flowloom(&["overhead", "--lengths", "ucb-1989", "--stack", "ethernet", "--html", "e.html"]).succeeded();
    assert!(!read("e.html").contains("payload of a cell"), "no cells, no curve");
}

#[test]
fn what_cannot_be_is_refused() {
    let bench = Bench::new();
    bench.file("lengths.csv", HUNDRED.as_bytes());
    let refused =
        |words: &[&str], code, said: &[&str]| bench.flowloom(&[&["overhead"], words].concat()).failed(code, said);
    let of = |stack| ["lengths.csv", "--stack", stack];
    refused(
        &of("ether"),
        2,
        &["--stack ether: unknown framing \"ether\"", "known: smds-802.6, ", "did you mean \"ethernet\"?"],
    );
    refused(&of("wireguard+ipv7"), 2, &["unknown framing \"ipv7\"", "did you mean \"ipv"]);
    refused(&of("cells:0/5"), 2, &["a cell with a payload of 0 carries nothing"]);
    refused(&of("atm+ethernet"), 2, &["cells are what goes on the line"]);
    refused(&["lengths.csv", "--payloads", "0-9"], 2, &["--payloads", "a payload of 0 carries nothing"]);
    refused(&["lengths.csv", "--payloads", "-9"], 2, &["--payloads", "write it like 8-128"]);
    refused(&["--lengths", "ucb-1988"], 2, &["ucb-1989"]);
    refused(&[], 2, &["FILE"]);
    refused(&["lengths.csv", "--threads", "2", "--lengths", "ucb-1989"], 2, &["cannot be used with"]);
    for lengths in [&["lengths.csv"][..], &["--lengths", "ucb-1989"]] {
        refused(&[lengths, &["--threads", "2"]].concat(), 2, &["--threads is about reading captures", "histogram"]);
    }
    bench.file("short.csv", b"protocol,ip_bytes,count\ntcp,40,1\ntcp,39,1\n");
    refused(&["short.csv"], 1, &["short.csv:3: shorter than its headers", "40 bytes"]);
    bench.file("none.csv", b"protocol,data_bytes,count\ntcp,0,0\n");
    refused(&["none.csv"], 1, &["none.csv: holds no TCP or UDP datagrams"]);
    bench.file("e.toml", b"");
    refused(&["e.toml"], 2, &["e.toml is an experiment, which holds no datagrams"]);
    bench.file("empty.pcap", b"");
    refused(&["empty.pcap"], 1, &["empty.pcap"]);
}

#[test]
fn every_framing_is_documented() {
    let document = include_str!("../../../../docs/guide/overhead.md");
    for known in KNOWN {
        let row = format!("| `{}` | {} | {} |", known.name, known.meaning, known.source);
        assert!(document.lines().any(|line| line == row), "{row} is missing");
    }
    for stack in NAMED_STACKS {
        let row = format!("| `{}` | `{}` |", stack.name, stack.written);
        assert!(document.lines().any(|line| line.starts_with(&row)), "{row} is missing");
    }
}
