//! `flowloom describe`: several inputs, pictures, and what it refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use flowloom::time::Duration;

use crate::support::{Bench, Traffic};

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(30).pcap());
    bench.file("d.pcap", &Traffic::many(40).pcap());
    bench
}

#[test]
fn conversations_are_those_of_the_capture_if_they_are_asked_for() {
    let bench = bench();
    let plain = bench.json(&["describe", "c.pcap", "--json"]);
    assert!(plain["conversations"].is_null());
    let described = bench.json(&["describe", "c.pcap", "--conversations", "--json"]);
    assert_eq!(plain["workload"], described["workload"], "asking changes nothing else");
    let told = &described["conversations"];
    assert_eq!(told["silence_ns"], 1_200_000_000_000u64);
    let total = |field: &str| -> u64 {
        told["applications"].as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
    };
    assert_eq!((total("conversations"), total("without_data")), (30, 0));
    let payload = &described["workload"]["payload_bytes"];
    let payload = payload["initiator"].as_u64().unwrap() + payload["acceptor"].as_u64().unwrap();
    assert_eq!(total("payload_bytes"), payload);
    assert_eq!(Some(total("packets")), described["capture"]["packets"].as_u64());
    let text = bench.flowloom(&["describe", "c.pcap", "--conversations"]);
    let out = &text.succeeded().out;
    assert!(out.contains("conversations (silence 20 min), medians") && out.contains("all conversations"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    assert!(!bench.flowloom(&["describe", "c.pcap"]).succeeded().out.contains("conversations"));
}

#[test]
fn packets_are_told_by_protocol() {
    let bench = bench();
    let described = bench.json(&["describe", "c.pcap", "--json"]);
    let rows = described["protocols"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["protocol"]), (1, &"tcp".into()));
    assert_eq!(
        (&rows[0]["packets"], &rows[0]["bytes"]),
        (&described["capture"]["packets"], &described["capture"]["bytes"])
    );
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    assert!(bench.json(&["describe", "w.parquet", "--json"])["protocols"].is_null(), "a workload has no packets");
}

/// What flow records cannot tell is absent, in every form of the answer.
#[test]
fn flow_records_have_totals_and_nothing_made_up() {
    let bench = Bench::new();
    bench.file(
        "conn.log",
        b"#separator \\x09\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\tconn_state\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n\
          #types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\tcount\tstring\tcount\tcount\tcount\tcount\n\
          1.0\tCa\t10.0.0.1\t5000\t10.0.0.2\t80\ttcp\t-\t2.5\t300\t7000\tSF\t0\tShADadFf\t6\t620\t8\t7420\n\
          2.0\tCb\t10.0.0.1\t5001\t10.0.0.2\t53\tudp\t-\t0.5\t40\t90\tSF\t0\tDd\t1\t68\t1\t118\n",
    );
    let described = bench.json(&["describe", "conn.log", "--json"]);
    let connections = &described["workload"]["connections"];
    assert_eq!(
        (&connections["totals_only"], &connections["sequential"], &connections["total"]),
        (&1.into(), &0.into(), &1.into())
    );
    let names = |distributions: &serde_json::Value| -> Vec<String> {
        distributions.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&described["workload"]["distributions"]), ["connection_bytes", "lifetime_ns"]);
    assert_eq!(described["workload"]["distributions"][0]["p50"], 7300.0);
    assert_eq!(described["workload"]["distributions"][1]["p50"], 2.5e9);
    assert_eq!(names(&described["workload"]["datagrams"][0]["distributions"]), ["flow_bytes", "lifetime_ns"]);
    let classes = described["classes"].as_array().unwrap();
    assert_eq!(classes.len(), 3, "nothing says that none was concurrent: {classes:?}");
    let last = classes.last().unwrap();
    assert_eq!(
        (&last["class"], &last["connections"], &last["payload_bytes"]),
        (&"totals_only".into(), &1.into(), &7300.into())
    );
    let said = bench.flowloom(&["describe", "conn.log", "--html", "flows.html"]);
    let out = &said.succeeded().out;
    assert!(out.contains("known by totals only") && out.contains("\nlifetime "), "{out}");
    for absent in ["request size", "epochs", "wait", "RTT", "window", "losses"] {
        assert!(!out.contains(absent), "{absent}: {out}");
    }
    let page = std::fs::read_to_string(bench.path("flows.html")).unwrap();
    assert!(page.contains("<figure id=\"lifetime\"") && !page.contains("<figure id=\"request\""));
}

#[test]
fn the_classes_add_up_to_the_capture() {
    let bench = Bench::new();
    let one_way: Traffic =
        Traffic { packets: Traffic::many(1).packets.into_iter().filter(|one| one.payload_bytes > 1_000).collect() };
    let mut traffic = Traffic::many(20).connection(77, Duration::from_secs(3), 0, 0);
    traffic.packets.extend(one_way.packets.into_iter().map(|mut packet| {
        packet.connection = 78;
        packet
    }));
    bench.file("c.pcap", &traffic.pcap());
    let described = bench.json(&["describe", "c.pcap", "--json"]);
    let classes = described["classes"].as_array().unwrap();
    let sum = |field: &str| -> u64 { classes.iter().map(|class| class[field].as_u64().unwrap()).sum() };
    assert_eq!(Some(sum("packets")), described["capture"]["packets"].as_u64());
    assert_eq!(Some(sum("connections")), described["capture"]["connections"]["total"].as_u64());
    assert_eq!((classes[0]["class"].as_str(), &classes[0]["connections"]), (Some("no_data"), &1.into()));
    assert_eq!(classes[2]["connections"], 20);
}

#[test]
fn several_inputs_stand_side_by_side() {
    let bench = bench();
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    let said = bench.flowloom(&["describe", "c.pcap", "d.pcap", "w.parquet", "d.pcap"]);
    let out = &said.succeeded().out;
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let row = out.lines().find(|line| line.starts_with("connections to replay")).unwrap();
    assert_eq!(row.split_whitespace().skip(3).collect::<Vec<_>>(), ["30", "40", "30"]);
    assert_eq!(out.matches("d.pcap").count(), 2, "the fourth stands below: {out}");
    let one = bench.flowloom(&["describe", "c.pcap"]);
    assert!(one.succeeded().out.lines().all(|line| line.chars().count() <= 100), "{}", one.out);
}

#[test]
fn pictures_are_one_file_that_needs_nothing_else() {
    let bench = bench();
    let said = bench.flowloom(&["describe", "c.pcap", "d.pcap", "--conversations", "--html", "both.html"]);
    assert!(said.succeeded().out.contains("pictures      both.html"));
    let page = std::fs::read_to_string(bench.path("both.html")).unwrap();
    for expected in [
        "<figure id=\"response-time\"",
        "<figure id=\"rtt\"",
        "CCDF",
        "Packets by protocol",
        "Conversations",
        "c.pcap",
        "d.pcap",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org/").count());
    bench.flowloom(&["describe", "c.pcap", "--anonymize", "--html", "one.html"]).succeeded();
    assert!(!std::fs::read_to_string(bench.path("one.html")).unwrap().contains("c.pcap"));
    bench.flowloom(&["describe", "c.pcap", "--html", "no/such/folder.html"]).failed(1, &["no/such/folder.html"]);
    assert_eq!(bench.names(), ["both.html", "c.pcap", "d.pcap", "one.html"], "nothing half-written is left");
}

#[test]
fn silence_is_an_option() {
    let bench = bench();
    let conversations = |silence: &str| {
        let told = bench.json(&["describe", "c.pcap", "--conversations", "--silence", silence, "--json"]);
        told["conversations"]["applications"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["conversations"].as_u64().unwrap())
            .sum::<u64>()
    };
    // The response comes 50 ms after the request.
    assert_eq!((conversations("51ms"), conversations("50ms")), (30, 60));
    bench
        .flowloom(&["describe", "c.pcap", "--conversations", "--silence", "0s"])
        .failed(2, &["--silence 0", "hint: write it like 20min"]);
    bench.flowloom(&["describe", "c.pcap", "--silence", "5s"]).failed(2, &["--conversations"]);
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench
        .flowloom(&["describe", "w.parquet", "--conversations"])
        .failed(2, &["w.parquet: --conversations is about the packets of captures", "hint: leave --conversations out"]);
}

#[test]
fn what_cannot_be_described_is_said() {
    let bench = bench();
    bench.file("empty.pcap", &Traffic::default().pcap());
    bench.flowloom(&["describe", "empty.pcap"]).failed(1, &["empty.pcap: holds no packets", "hint:"]);
    bench.flowloom(&["describe", "c.pcap", "empty.pcap"]).failed(1, &["empty.pcap: holds no packets"]);
    bench.file("bare.pcap", &Traffic::default().connection(1, Duration::ZERO, 0, 0).pcap());
    bench.flowloom(&["extract", "bare.pcap", "-o", "bare.parquet"]).succeeded();
    bench
        .flowloom(&["describe", "bare.parquet"])
        .failed(1, &["bare.parquet: holds no connections", "set aside: 1 connection: no data"]);
    // The capture itself has packets to tell of.
    assert!(bench.flowloom(&["describe", "bare.pcap"]).succeeded().out.contains("no data"));
    bench.flowloom(&["run", "c.pcap", "-o", "r"]).succeeded();
    bench
        .flowloom(&["describe", "r", "c.pcap"])
        .failed(2, &["r: a run folder is described alone", "hint: flowloom compare"]);
    bench.flowloom(&["describe", "c.pcap", "r"]).failed(2, &["r: a run folder is described alone"]);
    bench.file("e.toml", b"");
    bench.flowloom(&["describe", "c.pcap", "e.toml"]).failed(2, &["e.toml: an experiment has not run yet"]);
    bench.flowloom(&["describe"]).failed(2, &["<FILE>"]);
}

#[test]
fn an_interrupt_describes_what_was_read() {
    let capture = Traffic::many(200).pcap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .args(["describe", "-", "--json-stream"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut packets = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    // Read on a thread, or a full pipe would stop both.
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        out.read_to_string(&mut rest).map(|_| rest)
    });
    packets.write_all(&capture).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    // The same packets again, until nobody reads them any more.
    let stopped = (0..10_000).any(|_| packets.write_all(&capture[24..]).is_err());
    drop(packets);
    let output = child.wait_with_output().unwrap();
    assert!(stopped, "it read on");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("warning: interrupted after"), "{said}");
    let rest = rest.join().unwrap().unwrap();
    let end: serde_json::Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert!(end["result"]["capture"]["packets"].as_u64().unwrap() > 0, "{end}");
}
