//! `docs/reference/json.md` and `docs/reference/view-api.md` list every field that commands print and `flowloom view` answers as JSON, and
//! nothing else.

use serde_json::Value;

use crate::support::{Bench, Traffic, mixed};

const DOCUMENT: &str =
    concat!(include_str!("../../../../docs/reference/json.md"), include_str!("../../../../docs/reference/view-api.md"));

/// (path, type) of the fields of the document's section `name`.
fn fields(name: &str) -> Vec<(&'static str, &'static str)> {
    let heading = |line: &str| line.trim_start_matches('#').trim() == name && line.starts_with("##");
    let rest = DOCUMENT.split_inclusive('\n').skip_while(|line| !heading(line.trim_end())).skip(1);
    let rows = rest.take_while(|line| !line.starts_with('#')).filter_map(|line| line.strip_prefix("| `"));
    let fields: Vec<_> = rows
        .filter_map(|row| row.split_once("` | "))
        .map(|(path, rest)| (path, rest.split(" |").next().unwrap()))
        .collect();
    assert!(!fields.is_empty(), "docs/reference has no section \"{name}\"");
    fields
}

/// `value` has exactly the fields of section `name`, each of the type that stands there.
#[track_caller]
pub fn check(name: &str, value: &Value) {
    let fields = fields(name);
    for &(path, kind) in &fields {
        match path.split('.').try_fold(value, |value, key| value.get(key)) {
            Some(found) => check_type(&format!("{name}: {path}"), kind, found),
            None => assert!(kind.ends_with(" or absent"), "{name}: {path} is documented and not in {value}"),
        }
    }
    only_documented(name, &fields, "", value);
}

/// No object has a field that neither is documented nor contains documented ones.
#[track_caller]
fn only_documented(name: &str, fields: &[(&str, &str)], prefix: &str, value: &Value) {
    for (key, inner) in value.as_object().unwrap_or_else(|| panic!("{name} {prefix} is no object: {value}")) {
        let path = format!("{prefix}{key}");
        // Of every answer.
        if path == "json_version" {
            assert_eq!(inner, 1);
            continue;
        }
        if fields.iter().any(|(documented, _)| *documented == path) {
            continue;
        }
        let within = format!("{path}.");
        assert!(fields.iter().any(|(documented, _)| documented.starts_with(&within)), "{name}: {path} is undocumented");
        only_documented(name, fields, &within, inner);
    }
}

#[track_caller]
fn check_type(at: &str, kind: &str, value: &Value) {
    let kind = kind.trim_end_matches(" or absent");
    let (kind, nullable) = kind.strip_suffix(" or null").map_or((kind, false), |kind| (kind, true));
    if value.is_null() {
        assert!(nullable, "{at} is null");
        return;
    }
    let fits = match kind {
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "text" => value.is_string(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        _ => {
            let inner = kind.strip_prefix("list of ").zip(value.as_array());
            let map = kind.strip_prefix("map of ").zip(value.as_object());
            match (inner, map) {
                (Some((inner, list)), _) => list.iter().for_each(|item| check_type(at, inner, item)),
                (_, Some((inner, map))) => map.values().for_each(|item| check_type(at, inner, item)),
                _ => check(kind, value),
            }
            true
        }
    };
    assert!(fits, "{at} is no {kind}: {value}");
}

/// The command run on a capture that has something of everything, in a folder with runs `a`, `b` and, of two seeds, `s`.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "a"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "b", "--rate", "101%", "--queue", "10p"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "s", "--seed", "1", "--seed", "2"]).succeeded();
    bench
}

#[test]
fn every_field_is_documented() {
    let bench = bench();
    let extracted = bench.json(&["extract", "c.pcap", "-o", "w.parquet", "--json"]);
    assert_eq!(extracted["json_version"], 1);
    check("extract", &extracted);
    check("convert of a run", &bench.json(&["convert", "a", "-o", "a.iperf3.json", "--json"]));
    check("convert", &bench.json(&["convert", "w.parquet", "-o", "w.cvec", "--json"]));
    check("convert", &bench.json(&["extract", "w.cvec", "-o", "v.parquet", "--anonymize", "--json"]));
    check("describe", &bench.json(&["describe", "c.pcap", "--json"]));
    check("describe", &bench.json(&["describe", "c.pcap", "--conversations", "--json"]));
    check("describe", &bench.json(&["describe", "w.parquet", "--json"]));
    bench.file("mixed.pcap", &mixed());
    let mixed = bench.json(&["describe", "mixed.pcap", "--json"]);
    assert_eq!(mixed["workload"]["datagrams"].as_array().unwrap().len(), 2);
    check("describe", &mixed);
    let several = bench.json(&["describe", "c.pcap", "w.parquet", "--json"]);
    assert_eq!(several.as_array().unwrap().len(), 2);
    several.as_array().unwrap().iter().for_each(|one| check("describe", one));
    bench.file("m.toml", crate::models::EXCHANGES.as_bytes());
    check("model", &bench.json(&["model", "m.toml", "-o", "m.parquet", "--duration", "3s", "--json"]));
    bench.flowloom(&["model", "m.toml", "-o", "long.parquet", "--duration", "30s"]).succeeded();
    for file in ["c.pcap", "long.parquet"] {
        check("fit", &bench.json(&["fit", file, "--json"]));
    }
    // No wait is above zero: no law, and no distance that one would have to keep.
    bench.file("z.cvec", b"# tcvec format version 2\nSEQ 0 1 1 0\nw 65535 5840\nr 20000\n> 300\nt 0\n< 5000\n");
    let fitted = bench.json(&["fit", "z.cvec", "--json"]);
    let waits = fitted["variables"].as_array().unwrap().iter().find(|one| one["variable"] == "acceptor-wait").unwrap();
    assert!(waits["largest_ks"].is_null(), "{waits}");
    check("fit", &fitted);
    check("fit --model swing", &bench.json(&["fit", "c.pcap", "--model", "swing", "-o", "swing.json", "--json"]));
    bench.file("h.toml", crate::harpoon::SESSIONS.as_bytes());
    bench.flowloom(&["model", "h.toml", "-o", "h.parquet", "--duration", "60s"]).succeeded();
    check("fit --model harpoon", &bench.json(&["fit", "h.parquet", "--model", "harpoon", "--json"]));
    check("overhead", &bench.json(&["overhead", "c.pcap", "--json"]));
    check("overhead", &bench.json(&["overhead", "w.parquet", "--anonymize", "--stack", "ethernet", "--json"]));
    check("model queue", &bench.json(&["model", "queue", "c.pcap", "--from", "right", "--simulate=1000", "--json"]));
    let pipe = ["model", "pipe", "--rate", "1gbit", "--rtt", "40ms", "--bit-errors", "1e-9", "--json"];
    check("model pipe", &bench.json(&pipe));
    bench.file("k.toml", crate::calibrate::EXCHANGES.as_bytes());
    check("calibrate", &bench.json(&["calibrate", "k.toml", "--load", "20%", "--json"]));
    check("run", &bench.json(&["run", "w.parquet", "-o", "r", "--json"]));
    check("describe of a run", &bench.json(&["describe", "b", "--json"]));
    let seeds = ["run", "c.pcap", "-o", "t", "--seed", "1", "--seed", "2", "--json"];
    check("several runs", &bench.json(&seeds));
    check("describe of several seeds", &bench.json(&["describe", "s", "--json"]));
    let with_original = bench.json(&["compare", "a", "--json"]);
    assert!(with_original["comparisons"][0]["endings"].is_object());
    check("compare", &with_original);
    check("compare", &bench.json(&["compare", "a", "b", "--json"]));
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    bench.flowloom(&["run", demo, "-o", "demo"]).succeeded();
    check("compare --explain", &bench.json(&["compare", "demo", "--explain", "--json"]));
    bench.file("r.toml", b"[[rule]]\nmetric = \"response_time\"\nmax-ratio = 9\n");
    check("compare", &bench.json(&["compare", "a", "b", "--json", "--check", "r.toml"]));
    bench.flowloom(&["run", "c.pcap", "-o", "tight", "--seed", "1", "--seed", "2", "--rate", "101%"]).succeeded();
    check("compare", &bench.json(&["compare", "s", "tight", "--json"]));
    bench.file("two.spec", crate::internetworks::TWO.as_bytes());
    check("run of a specification", &bench.json(&["run", "two.spec", "--json"]));
    bench.file("lab.ns", crate::lab::SCRIPT.as_bytes());
    check("lab check", &bench.json(&["lab", "check", "lab.ns", "--json"]));
    check("doctor", &bench.json(&["doctor", "--json"]));
    check("doctor --clean", &bench.json(&["doctor", "--clean", "--runs", ".", "--json"]));
}

#[test]
fn every_event_is_documented() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    let said = bench.flowloom(&["run", "c.pcap", "-o", "r", "--json-stream"]);
    let mut steps = Vec::new();
    for line in said.succeeded().out.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        check(event["event"].as_str().unwrap(), &event);
        if event["event"] == "end" {
            check("run", &event["result"]);
        }
        steps.extend(event["step"].as_str().map(str::to_owned));
    }
    assert!(steps.contains(&"extracting".to_owned()) && steps.contains(&"simulating".to_owned()), "{steps:?}");
}
