//! The Swing model: fitted to a capture, drawn from by experiments, and found again in what was drawn.

use std::collections::BTreeMap;

use flowloom::core::workload::ConnectionVector;
use flowloom::models::swing::SwingModel;
use flowloom::store::swing;
use flowloom::store::workload::WorkloadReader;

use crate::support::{Bench, Traffic};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");

fn experiment(keys: &str, seconds: u64) -> Vec<u8> {
    format!("[workload]\nmodel = {{ kind = \"swing\", config = \"models/swing.json\"{keys} }}\n[measure]\nduration = \"{seconds}s\"\n")
        .into_bytes()
}

/// A bench with the capture's model, which experiments name relative to themselves.
fn bench(capture: &str, options: &[&str]) -> (Bench, SwingModel) {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("models")).unwrap();
    let words = ["fit", capture, "--model", "swing", "-o", "models/swing.json"];
    bench.flowloom(&[&words[..], options].concat()).succeeded();
    let model = swing::open(&bench.path("models/swing.json")).unwrap();
    (bench, model)
}

/// The distance of every variable of `found` from that of `wanted`, by class and name.
fn distances(wanted: &SwingModel, found: &SwingModel) -> BTreeMap<String, f64> {
    assert_eq!(wanted.classes.len(), found.classes.len());
    let of_classes = wanted.classes.iter().zip(&found.classes).flat_map(|(wanted, found)| {
        assert_eq!((&wanted.name, wanted.from), (&found.name, found.from));
        let found = found.variables();
        let wanted = wanted.variables().into_iter();
        wanted.map(move |wanted| {
            let same = found.iter().find(|variable| variable.name == wanted.name);
            let distance = same.and_then(|found| wanted.law.distance(&found.law));
            (wanted.name, distance.expect("a variable that comes again"))
        })
    });
    of_classes.collect()
}

#[test]
fn every_variable_of_the_bundled_capture_comes_again() {
    let (bench, model) = bench(DEMO, &[]);
    for keys in ["", ", draw = \"sessions\""] {
        // Four hours of a capture of two minutes: some 2,600 sessions and 52,000 connections.
        bench.file("e.toml", &experiment(keys, 14_400));
        bench.flowloom(&["model", "e.toml", "-o", "w.parquet", "--force"]).succeeded();
        let said = bench.flowloom(&["fit", "w.parquet", "--model", "swing", "-o", "again.json", "--force"]);
        assert!(said.succeeded().out.contains("all from the left: "), "{}", said.out);
        let again = swing::open(&bench.path("again.json")).unwrap();
        let far: Vec<_> = distances(&model, &again).into_iter().filter(|(_, distance)| *distance > 0.05).collect();
        assert!(far.is_empty(), "{keys}: {far:?}");
        let rates = [&model, &again].map(SwingModel::sessions_per_second);
        // All sessions of the capture begin with it, so that times between them vary by four times their mean: standard error 8 %.
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.25, "{rates:?}");
    }
}

#[test]
fn applications_are_told_apart_where_that_is_asked_for() {
    let (bench, model) = bench(DEMO, &["--per-class", "--rre-gap", "5s", "--session-gap", "20s"]);
    let names: Vec<&str> = model.classes.iter().map(|class| class.name.as_str()).collect();
    assert!(names.contains(&"http/tcp") && names.contains(&"ssh/tcp"), "{names:?}");
    assert_eq!((model.rre_gap_ns, model.session_gap_ns), (5_000_000_000, 20_000_000_000));
    bench.file("e.toml", &experiment(", sessions-per-second = 20.0", 60));
    bench.flowloom(&["model", "e.toml", "-o", "w.parquet"]).succeeded();
    let drawn: Vec<ConnectionVector> =
        WorkloadReader::open(&bench.path("w.parquet")).unwrap().map(|vector| vector.unwrap()).collect();
    let mut sessions: Vec<_> =
        drawn.iter().map(|vector| vector.label.unwrap()).map(|label| (label.subset, label.id)).collect();
    sessions.sort_unstable();
    sessions.dedup();
    // 1,200 in the mean; the gaps of each class are those of the capture, of which there are few.
    assert!((800..1_700).contains(&sessions.len()), "{}", sessions.len());
    for (at, class) in model.classes.iter().enumerate() {
        let ports: Vec<u16> = class.connections.iter().flat_map(|of| of.ports.iter().map(|of| of.0)).collect();
        let drawn = drawn.iter().filter(|vector| vector.label.unwrap().subset == at as u64);
        assert!(
            drawn.filter_map(|vector| vector.ends.acceptor.port).all(|port| ports.contains(&port)),
            "{}",
            class.name
        );
    }
}

#[test]
fn a_run_draws_what_the_command_draws() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    std::fs::create_dir(bench.path("models")).unwrap();
    bench.flowloom(&["fit", "c.pcap", "--model", "swing", "-o", "models/swing.json"]).succeeded();
    bench.file("e.toml", &experiment("", 3));
    bench.flowloom(&["model", "e.toml", "-o", "w.parquet", "--seed", "1"]).succeeded();
    bench.flowloom(&["run", "e.toml", "-o", "run"]).succeeded();
    let vectors = |name: &str| WorkloadReader::open(&bench.path(name)).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(vectors("w.parquet"), vectors("run/workload.parquet"));
    assert_ne!(vectors("w.parquet").len(), 0);
    assert_eq!(bench.names(), ["c.pcap", "e.toml", "models", "run", "w.parquet"], "nothing is left over");
}

#[test]
fn what_cannot_be_fitted_or_drawn_is_refused() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench
        .flowloom(&["fit", "w.parquet", "--model", "swing"])
        .failed(1, &["w.parquet: does not say which client", "--hosts number"]);
    for (words, code, wanted) in [
        (&["--rre-gap", "9min"][..], 2, "--rre-gap 540 s is longer than --session-gap 300 s"),
        (&["--variable", "rtt"], 2, "cannot be used with"),
        (&["-o", "none/swing.json"], 1, "none/swing.json: No such file or directory"),
    ] {
        let fit = ["fit", "c.pcap", "--model", "swing"];
        bench.flowloom(&[&fit[..], words].concat()).failed(code, &[wanted]);
    }
    bench.flowloom(&["fit", "c.pcap", "--rre-gap", "9s"]).failed(2, &["--model"]);
    bench.flowloom(&["fit", "c.pcap", "--model", "swing", "-o", "swing.json"]).succeeded();
    let text = std::fs::read_to_string(bench.path("swing.json")).unwrap();
    for (config, keys, wanted) in [
        ("{}".to_owned(), "", "workload.model.config: ./models/swing.json: this is no Swing model: missing field"),
        (
            text.replacen("\"num_rre\":[[1,0]", "\"num_rre\":[[0,0]", 1),
            "",
            "classes[0].users.num_rre: needs values from 1 on",
        ),
        (text[..text.len() / 2].to_owned(), "", "this is no Swing model: EOF"),
        (text.clone(), ", sessions-per-second = 0.0", "workload.model.sessions-per-second of 0 must be above 0"),
        (text.clone(), ", draw = \"users\"", "unknown word \"users\""),
        (text, ", scale = 2", "unknown key \"scale\""),
    ] {
        std::fs::create_dir_all(bench.path("models")).unwrap();
        bench.file("models/swing.json", config.as_bytes());
        bench.file("e.toml", &experiment(keys, 3));
        bench
            .flowloom(&["model", "e.toml", "-o", "made.parquet"])
            .failed(2, &[wanted.trim_start_matches("workload.model.config: ./")]);
    }
    std::fs::remove_file(bench.path("models/swing.json")).unwrap();
    bench.file("e.toml", &experiment("", 3));
    bench
        .flowloom(&["model", "e.toml", "-o", "made.parquet"])
        .failed(2, &["models/swing.json: cannot open", "flowloom fit FILE --model swing"]);
    assert!(!bench.path("made.parquet").exists());
}
