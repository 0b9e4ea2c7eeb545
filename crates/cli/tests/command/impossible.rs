//! Files whose numbers nothing can have, and what files hold that is printed.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Bench, Traffic};

/// A conn.log of two connections, of which the second lasts so many seconds.
fn log(seconds: &str) -> Vec<u8> {
    let row = |start: &str, uid: &str, duration: &str| {
        format!("{start}\t{uid}\t10.0.0.1\t5000\t10.0.0.2\t80\ttcp\t{duration}\t300\t7000\tSF\t0\t6\t620\t8\t7420\n")
    };
    let head = "#separator \\x09\n#path\tconn\n\
        #fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\torig_bytes\tresp_bytes\tconn_state\tmissed_bytes\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n\
        #types\ttime\tstring\taddr\tport\taddr\tport\tenum\tinterval\tcount\tcount\tstring\tcount\tcount\tcount\tcount\tcount\n";
    [head, &row("1.0", "Ca", "0.5"), &row("2.0", "Cb", seconds)].concat().into_bytes()
}

/// JSON lines of a few connections, whose header `change` changes.
fn lines(bench: &Bench, name: &str, change: impl FnOnce(&mut Value)) {
    bench.file("c.pcap", &Traffic::many(5).pcap());
    bench.flowloom(&["convert", "c.pcap", "-o", "plain.jsonl", "--force", "--quiet"]).succeeded();
    let text = std::fs::read_to_string(bench.path("plain.jsonl")).unwrap();
    let (head, rest) = text.split_once('\n').unwrap();
    let mut head: Value = serde_json::from_str(head).unwrap();
    change(&mut head["facts"]["capture"]);
    bench.file(name, format!("{head}\n{rest}").as_bytes());
}

#[test]
fn draws_of_ten_years_take_no_longer_than_others() {
    let bench = Bench::new();
    bench.file("long.log", &log("300000000"));
    bench.flowloom(&["run", "long.log", "--seed", "1", "--seed", "2", "-o", "r"]).succeeded();
    // A century is too much for a run, and the log says so, not an experiment.
    bench.file("longer.log", &log("4294967295"));
    bench.flowloom(&["run", "longer.log", "-o", "l"]).failed(1, &["longer.log lasts ", "at most 876000h"]);
    assert!(bench.names().iter().all(|name| !name.contains("partial")), "{:?}", bench.names());
}

#[test]
fn facts_that_cannot_be_are_refused_with_their_line() {
    let bench = Bench::new();
    let most = u64::MAX;
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 4] = [
        ("capture.datagrams.udp says", |capture| {
            capture["datagrams"]["udp"]["payload_bytes"] = json!({ "initiator": 0, "acceptor": u64::MAX })
        }),
        ("capture.packets says", |capture| capture["packets"] = json!(u64::MAX)),
        ("capture.set_aside_bytes says", |capture| {
            capture["set_aside_bytes"] = json!({ "a": 1_u64 << 60, "b": u64::MAX })
        }),
        ("capture.payload says", |capture| capture["payload"]["initiator"]["captured"] = json!(u64::MAX)),
    ];
    for (number, (words, change)) in cases.into_iter().enumerate() {
        let name = format!("{number}.jsonl");
        lines(&bench, &name, change);
        let refused = format!("{name}:1: facts that cannot be: {words}");
        bench.flowloom(&["run", &name, "-o", "r"]).failed(1, &[&refused, &most.to_string()]);
    }
    assert!(bench.names().iter().all(|name| !name.contains("partial") && name != "r"), "{:?}", bench.names());
}

#[test]
fn results_of_tools_have_instants_of_a_test() {
    let bench = Bench::new();
    let file = |name: &str, x_values: &str, values: &str| {
        let text = format!(r#"{{"metadata":{{}},"x_values":{x_values},"results":{{"TCP upload":{values}}}}}"#);
        bench.file(name, text.as_bytes());
    };
    file("a.json", "[1.0,2.0,3.0]", "[5.0,6.0,5.0]");
    for (x_values, values, words) in [
        ("[-1e300,1.0,2.0]", "[5.0,6.0,5.0]", "a value at -1e300 s"),
        ("[1.0,2.0,1e300]", "[5.0,6.0,5.0]", "a value at 1e300 s"),
        ("[1.0,2.0,3.0]", "[5.0,-6.0,5.0]", "negative or beyond anything measured"),
        ("[1.0,2.0,3.0]", "[5.0,1e300,5.0]", "negative or beyond anything measured"),
    ] {
        file("b.json", x_values, values);
        bench.flowloom(&["compare", "b.json", "a.json"]).failed(1, &["b.json: `TCP upload` has", words]);
    }
}

#[test]
fn warnings_of_a_workload_are_told_again() {
    let bench = Bench::new();
    let pcap = Traffic::many(20).pcap();
    bench.file("cut.pcap", &pcap[..pcap.len() - 7]);
    bench.flowloom(&["extract", "cut.pcap", "-o", "w.parquet"]).succeeded();
    for command in ["describe w.parquet", "fit w.parquet", "convert w.parquet -o w.csv"] {
        let said = bench.flowloom(&command.split(' ').collect::<Vec<_>>());
        let told = "warning: when this workload was made: ";
        assert!(said.succeeded().err.contains(told), "{command}: {}", said.err);
    }
    lines(&bench, "part.jsonl", |capture| capture["interrupted"] = json!(true));
    let said = bench.flowloom(&["run", "part.jsonl", "-o", "r"]);
    let verdict = "accounted DEGRADED";
    let why = "original read to its end: its extraction was interrupted after";
    assert!(said.succeeded().out.contains(verdict) && said.out.contains(why), "{}", said.out);
}

#[test]
fn a_run_without_its_report_ran_to_its_end() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r"]).succeeded();
    let path = bench.path("r/run.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    (run["complete"], run["reason"]) = (json!(false), json!("report.html:no-room"));
    // As a disk leaves it that was full when the report was written.
    std::fs::remove_file(bench.path("r/manifest.json")).unwrap();
    for (recorded, wanted) in [(false, "ran to its end: interrupted"), (true, "report.html:no-room")] {
        run["recorded"] = json!(recorded);
        std::fs::write(&path, run.to_string()).unwrap();
        let said = bench.flowloom(&["describe", "r"]);
        assert!(said.succeeded().out.contains(wanted), "{}", said.out);
        assert_eq!(said.out.contains("interrupted"), !recorded, "{}", said.out);
    }
}

#[test]
fn what_files_hold_does_not_act_on_the_terminal() {
    let bench = Bench::new();
    lines(&bench, "evil.jsonl", |capture| capture["warnings"] = json!(["\u{1b}]0;owned\u{7}\u{202e}\u{1b}[2J"]));
    for command in ["describe evil.jsonl", "run evil.jsonl -o r", "describe r", "compare r"] {
        let said = bench.flowloom(&command.split(' ').collect::<Vec<_>>());
        assert!(
            said.code == 0 && !(said.out.clone() + &said.err).contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{command}"
        );
    }
    let said = bench.flowloom(&["describe", "r"]);
    assert!(said.out.contains("\\u{1b}]0;owned"), "{}", said.out);
}

#[test]
fn prefixes_that_hold_both_ends_or_neither_are_told() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    for prefix in ["0.0.0.0/0", "::/0"] {
        let said = bench.flowloom(&["describe", "c.pcap", "--inside", prefix]);
        let told = "for 20 vectors: --inside holds both of their ends, or neither; their initiators are taken as left";
        assert!(said.succeeded().err.contains(told), "{prefix}: {}", said.err);
    }
}

#[test]
fn timeouts_that_cut_at_every_pause_are_refused() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    for (option, time) in [("--idle-timeout", "0s"), ("--idle-timeout", "1ns"), ("--udp-idle-timeout", "0s")] {
        let said = bench.flowloom(&["describe", "c.pcap", option, time]);
        said.failed(2, &[option, "is needed", "hint: leave it out"]);
    }
    bench.flowloom(&["describe", "c.pcap", "--idle-timeout", "1s"]).succeeded();
}

#[test]
fn all_that_is_missing_is_told_at_once() {
    let bench = Bench::new();
    for command in ["describe a.pcap b.pcap", "run a.pcap b.pcap", "extract a.pcap b.pcap -o w.parquet", "compare a b"]
    {
        bench.flowloom(&command.split(' ').collect::<Vec<_>>()).failed(1, &["a", "b"]);
    }
    let said = bench.flowloom(&["run", "a.pcap", "b.pcap"]);
    said.failed(1, &["a.pcap: there is no such file", "b.pcap: there is no such file"]);
    let experiment = "[workload]\nsource = \"a.pcap\"\n[network]\nbottleneck = { trace = \"b.up\" }\n";
    bench.file("e.toml", experiment.as_bytes());
    let said = bench.flowloom(&["run", "e.toml"]);
    assert!(said.code != 0 && said.err.contains("a.pcap does not exist") && said.err.contains("b.up"), "{}", said.err);
}

#[test]
fn options_of_labs_are_checked() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(5).pcap());
    bench.flowloom(&["run", "c.pcap", "--lab", "lab"]).failed(2, &["--lab names the controller of a lab"]);
    for (option, value, words) in [
        ("--within", "0s", "valid for 1s or longer"),
        ("--address", "foo", "the port is missing"),
        ("--address", "host:99999", "no port from 1 to 65535"),
        ("--address", "::1:42", "no host with a port"),
    ] {
        bench.flowloom(&["lab", "invite", "east", option, value]).failed(2, &[words]);
    }
}

#[test]
fn help_that_cannot_be_printed_is_a_failure() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for words in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let status = Command::new(env!("CARGO_BIN_EXE_flowloom")).args(words).stdout(full()).status().unwrap();
        assert_eq!(status.code(), Some(1), "{words:?}");
    }
}

#[test]
fn the_schema_of_describe_knows_lists() {
    let bench = Bench::new();
    let schema = bench.json(&["schema", "describe"]);
    assert_eq!(
        (&schema["type"], &schema["items"]),
        (&json!(["object", "array"]), &json!({ "$ref": "#/$defs/describe" }))
    );
    assert_eq!(schema["$defs"]["describe"]["properties"], schema["properties"]);
    assert_eq!(bench.json(&["schema", "run"])["type"], "object");
}
