//! Draws of a capture, and runs that last longer or shorter than it, through the command.

use serde_json::Value;

use crate::support::Bench;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");

fn run(bench: &Bench, arguments: &[&str]) -> Value {
    bench.json(&[&["run", DEMO, "--json"], arguments].concat())
}

fn active(run: &Value) -> f64 {
    run["active_connections"]["mean"].as_f64().expect("a number")
}

/// The replay itself has 13.6 where the capture has 14.6. Connections that stayed open until the ends of the draws made it 22.6.
#[test]
fn draws_have_as_many_active_connections_as_their_capture() {
    let bench = Bench::new();
    let whole = active(&run(&bench, &["-o", "whole"]));
    let seeds: Vec<String> = (1..=20).map(|seed: u32| seed.to_string()).collect();
    let of_seed = |seed: &String| active(&run(&bench, &["--vary", "blocks", "--seed", seed, "-o", seed]));
    let means: Vec<f64> = seeds.iter().map(of_seed).collect();
    let mean = means.iter().sum::<f64>() / 20.0;
    let variance = means.iter().map(|of| (of - mean).powi(2)).sum::<f64>() / 19.0;
    let error = (variance / 20.0).sqrt();
    assert!(mean < whole + 2.5 * error && mean > 0.7 * whole, "{mean} with a standard error of {error}, {whole}");
}

/// After the end of the capture there is nothing to be measured.
#[test]
fn a_longer_run_has_the_results_of_the_capture() {
    let bench = Bench::new();
    let [whole, longer] = [&["-o", "whole"][..], &["--duration", "300s", "-o", "longer"]].map(|keys| run(&bench, keys));
    for metric in ["active_connections", "throughput", "response_time_ns", "duration_ns", "connections"] {
        assert_eq!(longer[metric], whole[metric], "{metric}");
    }
    assert_eq!(longer["verdict"], whole["verdict"]);
    let said = |run: &Value| run["warnings"].to_string().contains("the record that is replayed ends at");
    assert!(said(&longer) && !said(&whole), "{}", longer["warnings"]);
    let text = bench.flowloom(&["run", DEMO, "--duration", "300s", "-o", "text"]).succeeded().out.clone();
    assert!(text.contains("the record that is replayed ends at"), "{text}");
    let page = std::fs::read_to_string(bench.path("text/report.html")).unwrap();
    assert!(page.contains("record that is replayed ends at"));
    // One that is shorter leaves out what begins later, and nothing of it ends early.
    assert!(!said(&run(&bench, &["--duration", "20s", "-o", "shorter"])));
}

/// Draws move connections of minutes to where the run is over before they are.
#[test]
fn connections_that_close_behind_the_end_are_cut() {
    let Some(folder) = flowloom_needs::shared("cli: connections cut by the end", "pcap") else { return };
    let bench = Bench::new();
    let capture = folder.join("zeek-http-92conns.pcap");
    let capture = capture.to_str().unwrap();
    for seed in ["1", "2", "3"] {
        let run = bench.json(&["run", capture, "--vary", "blocks", "--seed", seed, "-o", seed, "--json"]);
        let (connections, accounted) = (&run["connections"], &run["verdict"]["accounted"]);
        assert_eq!((&connections["unfinished"], &accounted["word"]), (&0.into(), &"VALID".into()), "{run}");
    }
}

/// 300 transfers over 1 Mbit/s and 20 packets: most never get a segment through.
#[test]
fn sources_that_never_send_are_named() {
    let bench = Bench::new();
    let sources = |count: u32| {
        format!(
            "[network]\nbottleneck = {{ rate = \"1mbit\", queue = {{ limit = \"20p\" }} }}\n[[sources]]\nname = \"ftp\"\nkind = \"bulk\"\n\
             count = {count}\nrtt = \"40ms\"\nstart = {{ kind = \"uniform\", min = \"0s\", max = \"1s\" }}\n[measure]\nduration = \"10s\"\n"
        )
    };
    let gate = |count: u32| {
        let name = format!("{count}.toml");
        bench.file(&name, sources(count).as_bytes());
        let run = bench.json(&["run", &name, "-o", &count.to_string(), "--json"]);
        let gates = run["gates"].as_array().unwrap();
        gates.iter().find(|gate| gate["name"] == "sources sent").cloned().expect("a gate")
    };
    let (few, many) = (gate(3), gate(300));
    assert_eq!((&few["verdict"], &few["found"]), (&"VALID".into(), &"all sent".into()));
    assert_eq!(many["verdict"], "DEGRADED");
    let found = many["found"].as_str().unwrap();
    assert!(found.contains("of 300 TCP flows never sent a byte: ") && found.contains("not open yet"), "{found}");
}

/// Thinning hits the busier direction's load, and an upload of 2.7 MB is or is not in the other one's twentieth.
#[test]
fn the_direction_that_a_draw_misses_is_named() {
    let bench = Bench::new();
    let text = format!("[workload]\nsource = \"{DEMO}\"\nload = {{ method = \"thinning\", factor = 0.05 }}\n");
    bench.file("thin.toml", text.as_bytes());
    let run = bench.json(&["run", "thin.toml", "--seed", "2", "-o", "r", "--json"]);
    let warnings = run["warnings"].as_array().unwrap();
    let payload: Vec<&Value> = warnings.iter().filter(|warning| warning["kind"] == "other_payload").collect();
    let [quieter] = payload[..] else { panic!("{warnings:?}") };
    assert_eq!(quieter["from_side"], "left");
    let bytes = |field: &str| quieter[field].as_f64().unwrap();
    assert!(bytes("sent_bytes") > 5.0 * bytes("asked_bytes"), "{quieter}");
    assert_eq!(run["verdict"]["plausible"]["word"], "doubtful");
}
