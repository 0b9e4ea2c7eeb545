//! Captures that lack bytes say so, and the numbers add up.

use flowloom_testkit::command::{Bench, Traffic};
use serde_json::Value;

/// Captures of which more than 3 % of the payload is missing.
const WITH_HOLES: [&str; 6] = [
    "ndpi-netflix.pcap",
    "pcpp-tls2-dataonly.pcap",
    "tcptrace-ipv6_ftp_nasa.snoop",
    "ndpi-ultrasurf-vlan.pcap",
    "tcptrace-http.dmp",
    "ndpi-fuzz-2594.pcap",
];

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Captured, missing, acknowledged and replayed bytes of both directions.
fn payload(facts: &Value) -> [u64; 4] {
    let sum = |ends: [&str; 2]| {
        ["captured", "missing", "acknowledged", "replayed"]
            .map(|name| ends.iter().map(|end| number(&facts[*end][name])).sum::<u64>())
    };
    let by_end = sum(["initiator", "acceptor"]);
    assert_eq!(by_end, sum(["from_left", "from_right"]), "{facts}");
    by_end
}

fn warns(answer: &Value) -> bool {
    answer["warnings"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().contains("payload is missing"))
}

#[test]
fn captures_with_holes_say_so() {
    let Some(folder) = flowloom_needs::shared("cli: captures that lack bytes", "pcap") else { return };
    let bench = Bench::new();
    for name in WITH_HOLES {
        let path = folder.join(name);
        let capture = path.to_str().unwrap();
        let described = bench.json(&["describe", capture, "--json"]);
        let [captured, missing, acknowledged, replayed] = payload(&described["workload"]["payload"]);
        assert!(missing * 100 > 3 * (captured + missing), "{name}: {missing} beside {captured}");
        assert_eq!(replayed, captured + acknowledged, "{name}");
        let text = bench.flowloom(&["describe", capture]);
        assert!(text.out.contains("  missing     ") && !text.out.contains("losses        none\n"), "{}", text.out);
        let answers = ["acknowledged", "all", "skip"].map(|missing| {
            bench.json(&["extract", capture, "-o", "w.parquet", "--force", "--missing", missing, "--json"])
        });
        let [by_default, all, skip] = answers.each_ref().map(|answer| payload(&answer["payload"]));
        assert_eq!(by_default, [captured, missing, acknowledged, replayed], "{name}");
        assert_eq!(all, [captured, missing, acknowledged, captured + missing], "{name}");
        let left_out = number(&answers[2]["set_aside_bytes"]["connections-missing-bytes"]);
        assert_eq!([skip[0] + left_out, skip[1], skip[3]], [captured, 0, skip[0]], "{name}");
        assert!(warns(&answers[0]) && warns(&answers[1]) && !warns(&answers[2]), "{name}");
        let run = bench.json(&["run", capture, "-o", "r", "--force", "--json"]);
        let verdict = &run["verdict"];
        assert_eq!(verdict["plausible"]["word"], "doubtful", "{name}: {verdict}");
        assert!(verdict["plausible"]["reasons"][0].as_str().unwrap().starts_with("doubtful: "), "{name}: {verdict}");
        let page = std::fs::read_to_string(bench.path("r/report.html")).unwrap();
        assert!(page.contains("class=\"verdict invalid\""), "{name}: the headline is not green");
    }
}

/// Three connections in full, and six of which only the initiator's packets were captured: 30 kB that nobody saw were acknowledged.
#[test]
fn a_direction_that_was_not_captured_is_missing() {
    let bench = Bench::new();
    let second = flowloom::time::Duration::from_secs(1);
    let mut traffic = (0..9).fold(Traffic::default(), |traffic, id| traffic.connection(id, second * id, 100, 5_000));
    traffic
        .packets
        .retain(|packet| packet.connection < 3 || packet.sender == flowloom::core::workload::Side::Initiator);
    bench.file("c.pcap", &traffic.pcap());
    let missing = "  missing     30.0 kB (65.4 %) in 6 connections: 30.0 kB acknowledged, 0 B replayed";
    let described = bench.flowloom(&["describe", "c.pcap"]);
    assert!(described.succeeded().out.contains(missing), "{}", described.out);
    let said = bench.flowloom(&["run", "c.pcap", "-o", "r"]);
    assert!(said.succeeded().out.contains(missing), "{}", said.out);
    let run: Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
    let plausible = &run["verdict"]["plausible"];
    assert_eq!(plausible["word"], "doubtful", "{plausible}");
    assert!(plausible["reasons"][0].as_str().unwrap().contains("no data was captured"), "{plausible}");
    let of_set_aside = serde_json::json!({
        "connections": 6, "captured_bytes": 600, "missing_bytes": 30_000, "acknowledged_bytes": 30_000,
    });
    assert_eq!(run["original"]["payload"]["set_aside"], of_set_aside);
    // Neither mean nor busiest second counts them.
    let said = bench.flowloom(&["run", "c.pcap", "-o", "rate", "--rate", "105%"]);
    assert!(said.succeeded().out.contains("both of the replayed packets alone"), "{}", said.out);
}

#[test]
fn a_run_states_what_its_capture_lacks() {
    let bench = Bench::new();
    bench.file("holes.pcap", &with_a_hole());
    let said = bench.flowloom(&["run", "holes.pcap", "-o", "r"]);
    assert!(said.out.contains("  missing     1.46 kB (28.6 %) in 1 connection"), "{}", said.out);
    let run: Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
    let facts = &run["original"]["payload"];
    assert_eq!(payload(facts), [3_640, 1_460, 1_460, 5_100]);
    assert!(warns(&run), "{run}");
    let left_out = bench.flowloom(&["run", "holes.pcap", "-o", "s", "--missing", "skip"]);
    left_out.failed(1, &["with missing bytes (--missing skip)"]);
}

#[test]
fn the_choice_is_about_captures() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench
        .flowloom(&["run", "w.parquet", "-o", "r", "--missing", "all"])
        .failed(2, &["--missing is about reading captures"]);
    bench.file("e.toml", b"[workload]\nsource = \"w.parquet\"\nmissing = \"all\"\n");
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(2, &["e.toml:3", "is about reading captures"]);
    bench.file("e.toml", b"[workload]\nsource = \"c.pcap\"\nmissing = \"skip\"\n");
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run: Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
    assert!(run["experiment"].as_str().unwrap().contains("missing = \"skip\""));
}

/// A connection of which the acceptor's second segment is missing, and was acknowledged.
fn a_hole() -> Traffic {
    let mut traffic = Traffic::default().connection(1, flowloom::time::Duration::ZERO, 100, 5_000);
    let lost = traffic.packets.iter().position(|packet| packet.payload_bytes == 1460).unwrap() + 1;
    traffic.packets.remove(lost);
    traffic
}

fn with_a_hole() -> Vec<u8> {
    a_hole().pcap()
}

#[test]
fn connections_set_aside_are_not_counted_as_kept() {
    let bench = Bench::new();
    let start = flowloom::time::Duration::from_secs;
    let traffic = a_hole().connection(2, start(1), 100, 500).connection(3, start(2), 0, 0);
    bench.file("c.pcap", &traffic.pcap());
    let kept = |words: &[&str]| {
        let said = bench.flowloom(words);
        said.succeeded().out.split_once(')').unwrap().0.to_owned()
    };
    assert!(kept(&["extract", "c.pcap", "-o", "all.parquet"]).contains("2 TCP connections ("));
    for words in
        [&["extract", "c.pcap", "-o", "w.parquet", "--missing", "skip"][..], &["convert", "w.parquet", "-o", "w.csv"]]
    {
        let kept = kept(words);
        assert!(kept.ends_with("1 TCP connection (1 sequential, 0 concurrent"), "{words:?}: {kept}");
    }
    let counted = bench.json(&["extract", "c.pcap", "-o", "w.parquet", "--force", "--missing", "skip", "--json"]);
    assert_eq!(counted["connections"]["total"], 3);
}

#[test]
fn other_forms_keep_the_doubt_or_say_that_they_cannot() {
    let bench = Bench::new();
    bench.file("holes.pcap", &with_a_hole());
    bench.flowloom(&["extract", "holes.pcap", "-o", "w.parquet"]).succeeded();
    for (form, keeps) in
        [("w.cvec", true), ("w.alt.cvec", true), ("w.jsonl", true), ("w.csv", true), ("w.graphml", false)]
    {
        let said = bench.flowloom(&["convert", "w.parquet", "-o", form]);
        let is_told = said.succeeded().err.contains("which bytes the capture lacked was left out");
        assert_eq!(is_told, !keeps, "{form}: {}", said.err);
        if keeps {
            let verdict = &bench.json(&["run", form, "-o", "r", "--force", "--json"])["verdict"];
            assert_eq!(verdict["plausible"]["word"], "doubtful", "{form}: {verdict}");
            let run: Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
            assert_eq!(payload(&run["original"]["payload"]), [3_640, 1_460, 1_460, 5_100], "{form}");
        }
    }
}

/// What `--missing skip` leaves out is doubted as what stands in for it is.
#[test]
fn connections_left_out_for_holes_are_doubted() {
    let bench = Bench::new();
    let hole = with_a_hole();
    let whole = Traffic::default().connection(2, flowloom::time::Duration::from_secs(1), 100, 5_000).pcap();
    bench.file("c.pcap", &[&hole[..], &whole[24..]].concat());
    let verdict = &bench.json(&["run", "c.pcap", "-o", "r", "--missing", "skip", "--json"])["verdict"]["plausible"];
    assert_eq!(verdict["word"], "doubtful", "{verdict}");
    assert!(verdict["reasons"][0].as_str().unwrap().contains("of captured payload are left out"), "{verdict}");
    // Whatever else is changed, as much is left out beside as much: the captured payload of one connection beside the other.
    for (name, keys) in [
        ("jitter", "run = { vary = \"jitter 10ms\" }"),
        ("load", "workload.load = { method = \"start-times\", factor = 1.0 }"),
        ("structure", "workload.structure = \"a-b\""),
        ("rtt", "workload.rtt = \"80ms\""),
    ] {
        let experiment = format!("workload.source = \"c.pcap\"\nworkload.missing = \"skip\"\n{keys}\n");
        bench.file("e.toml", experiment.as_bytes());
        let run = bench.json(&["run", "e.toml", "-o", name, "--json"]);
        let is_left_out = |warning: &&Value| warning["kind"] == "left_out_payload";
        let warning = run["warnings"].as_array().unwrap().iter().find(is_left_out);
        let bytes = warning.map(|warning| [&warning["left_out_bytes"], &warning["replayed_bytes"]]);
        assert_eq!(bytes, Some([&3_640.into(), &5_100.into()]), "{name}: {run}");
        let run: Value = serde_json::from_slice(&std::fs::read(bench.path(name).join("run.json")).unwrap()).unwrap();
        assert_eq!(run["original"]["set_aside"]["connections-missing-bytes"], 1, "{name}");
    }
}

/// What results are of decides: here 1,460 of 5,100 bytes, or none, where the file lacks 1,460 of 206,500.
#[test]
fn holes_are_doubted_where_they_are_replayed() {
    let bench = Bench::new();
    let second = flowloom::time::Duration::from_secs(1);
    let large = |at: u64| Traffic::default().connection(2, second * at, 1_400, 200_000).pcap()[24..].to_vec();
    let hole = with_a_hole();
    bench.file("first.pcap", &[&hole[..], &large(5)].concat());
    let late = Traffic::default().connection(1, second * 2, 1_400, 200_000).pcap();
    let mut behind = Traffic::default().connection(2, second * 5, 100, 5_000);
    let lost = behind.packets.iter().position(|packet| packet.payload_bytes == 1460).unwrap() + 1;
    behind.packets.remove(lost);
    bench.file("last.pcap", &[&late[..], &behind.pcap()[24..]].concat());
    for (name, capture, options, missing) in [
        ("a", "first.pcap", &["--duration", "3s"][..], Some([3_640, 1_460, 1_460, 5_100])),
        ("b", "first.pcap", &[], None),
        ("c", "last.pcap", &["--duration", "4s"], None),
    ] {
        let run = bench.json(&[&["run", capture, "-o", name, "--json"], options].concat());
        let plausible = if missing.is_some() { "doubtful" } else { "yes" };
        assert_eq!(run["verdict"]["plausible"]["word"], plausible, "{name}: {run}");
        let facts: Value = serde_json::from_slice(&std::fs::read(bench.path(name).join("run.json")).unwrap()).unwrap();
        let original = &facts["original"];
        let counted = payload(original.get("window_payload").unwrap_or(&original["payload"]));
        assert_eq!(counted[3], run["payload_bytes"].as_u64().unwrap(), "{name}: as results count it");
        assert!(missing.is_none_or(|missing| missing == counted), "{name}: {counted:?}");
    }
}

/// Two connections, each of which lacks 1,460 of 5,100 bytes: a Tmix file states it of both together, and one of them lacks half of that.
#[test]
fn parts_of_a_tmix_file_lack_bytes_too() {
    let bench = Bench::new();
    let second = flowloom::time::Duration::from_secs(1);
    let holes = [0, 5].map(|at| {
        let mut traffic = Traffic::default().connection(at, second * at, 100, 5_000);
        let lost = traffic.packets.iter().position(|packet| packet.payload_bytes == 1460).unwrap() + 1;
        traffic.packets.remove(lost);
        traffic.pcap()
    });
    bench.file("c.pcap", &[&holes[0][..], &holes[1][24..]].concat());
    bench.flowloom(&["convert", "c.pcap", "-o", "c.cvec"]).succeeded();
    let thinned = "workload.load={ method = \"thinning\", factor = 0.5 }";
    for (name, options, count) in [
        ("whole", &[][..], 2),
        ("part", &["--duration", "3s"], 1),
        ("load", &["--set", thinned], 1),
        ("draw", &["--vary", "jitter 1s"], 2),
    ] {
        let run = bench.json(&[&["run", "c.cvec", "-o", name, "--json"], options].concat());
        assert_eq!(run["verdict"]["plausible"]["word"], "doubtful", "{name}: {run}");
        let facts: Value = serde_json::from_slice(&std::fs::read(bench.path(name).join("run.json")).unwrap()).unwrap();
        let original = &facts["original"];
        let counted = original.get("window_payload").unwrap_or(&original["payload"]);
        assert_eq!(payload(counted), [3_640, 1_460, 1_460, 5_100].map(|bytes| bytes * count), "{name}");
        assert_eq!(counted["connections_with_missing"], count, "{name}");
    }
}

/// Ten connections in a conn.log of Zeek, each with a response of 20,000 bytes, so many of them missed, in packets of so many IP bytes.
#[test]
fn records_that_packets_did_not_carry_are_doubted() {
    let bench = Bench::new();
    let header = "#separator \\x09\n#unset_field\t-\n#path\tconn\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\t\
                  duration\torig_bytes\tresp_bytes\tconn_state\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n";
    for (name, missed, ip_bytes, missing) in [
        ("missed.log", 15_000, 5_800, 150_000),
        ("overstated.log", 0, 1_800, 190_000),
        ("whole.log", 0, 20_800, 0),
        ("little.log", 300, 20_500, 3_000),
    ] {
        let row = |n: u64| {
            format!(
                "{}\tC{n}\t10.0.0.{n}\t3000\t20.0.0.1\t80\ttcp\t2.0\t1000\t20000\tSF\t{missed}\tShADadFf\t10\t1400\t20\t{ip_bytes}\n",
                1_700_000_000 + n
            )
        };
        bench.file(name, (header.to_owned() + &(0..10).map(row).collect::<String>()).as_bytes());
        let described = bench.json(&["describe", name, "--json"]);
        let counted = payload(&described["workload"]["payload"]);
        assert_eq!(counted, [210_000 - missing, missing, 0, 210_000], "{name}");
        assert_eq!(bench.flowloom(&["describe", name]).out.contains("  missing     "), missing > 0, "{name}");
        let run = bench.json(&["run", name, "-o", "r", "--force", "--json"]);
        let plausible = &run["verdict"]["plausible"];
        let word = if missing > 4_200 { "doubtful" } else { "yes" };
        assert_eq!(plausible["word"], word, "{name}: {plausible}");
        assert_eq!(plausible["reasons"].to_string().contains("captured without holes"), missing > 4_200, "{plausible}");
    }
}

/// One of two connections has a hole and no end in the capture.
#[test]
fn what_is_left_out_is_not_replayed_as_seen() {
    let bench = Bench::new();
    let mut hole = Traffic::default().connection(1, flowloom::time::Duration::ZERO, 100, 5_000);
    let lost = hole.packets.iter().position(|packet| packet.payload_bytes == 1460).unwrap() + 1;
    hole.packets.remove(lost);
    hole.packets.retain(|packet| packet.flags & 1 == 0);
    let whole = Traffic::default().connection(2, flowloom::time::Duration::from_secs(1), 100, 5_000).pcap();
    bench.file("c.pcap", &[&hole.pcap()[..], &whole[24..]].concat());
    for (missing, is_told) in [("acknowledged", true), ("skip", false)] {
        let said = bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", "--force", "--missing", missing]);
        assert_eq!(
            said.succeeded().err.contains("50 % of the replayable connections"),
            is_told,
            "{missing}: {}",
            said.err
        );
    }
}
