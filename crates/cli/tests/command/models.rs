//! Workloads that are drawn from a model or changed by one: `flowloom model`, and `run` of such experiments.

use flowloom::core::workload::{ConnectionVector, Evidence, Side};
use flowloom::store::workload::{CaptureFacts, Provenance, TrafficFacts, WorkloadReader, WorkloadWriter};
use flowloom::time::Duration;

use crate::support::{Bench, Traffic};

/// A model of 60 connections in three seconds, or so.
pub const EXCHANGES: &str = "[workload]\nmodel = { kind = \"exchanges\", connections-per-second = 20.0, request-bytes = 300, \
    response-bytes = { kind = \"lognormal\", median = 4000, mean = 9000 }, think-ms = 5, rtt-ms = 40, port = 80 }\n";

fn vectors(bench: &Bench, name: &str) -> Vec<ConnectionVector> {
    WorkloadReader::open(&bench.path(name)).unwrap().map(|vector| vector.unwrap()).collect()
}

#[test]
fn a_model_makes_a_workload_that_everything_else_takes() {
    let bench = Bench::new();
    bench.file("e.toml", EXCHANGES.as_bytes());
    let said = bench.flowloom(&["model", "e.toml", "-o", "w.parquet", "--duration", "3s"]);
    assert!(said.succeeded().out.starts_with("3.00 s, "), "{}", said.out);
    let made = vectors(&bench, "w.parquet");
    // Poisson: 60, standard deviation 7.7.
    assert!((30..100).contains(&made.len()), "{}", made.len());
    assert!(made.iter().all(|vector| vector.evidence == Evidence::Model && vector.bytes(Side::Initiator) == 300));
    let described = bench.json(&["describe", "w.parquet", "--json"]);
    assert_eq!(described["workload"]["connections"]["total"], made.len());
    bench.flowloom(&["convert", "w.parquet", "-o", "w.cvec"]).succeeded();
    let run = bench.json(&["run", "w.parquet", "-o", "of-file", "--json"]);
    assert_eq!(run["connections"]["completed"], made.len(), "{run}");
    bench
        .flowloom(&["model", "e.toml", "-o", "w.parquet", "--duration", "3s"])
        .failed(1, &["exists already", "--force"]);
}

#[test]
fn a_run_of_a_model_makes_what_the_command_makes() {
    let bench = Bench::new();
    bench.file("e.toml", format!("{EXCHANGES}[measure]\nduration = \"3s\"\n[run]\nseeds = [4, 5]\n").as_bytes());
    bench.flowloom(&["model", "e.toml", "-o", "five.parquet", "--seed", "5"]).succeeded();
    bench.flowloom(&["run", "e.toml", "-o", "runs"]).succeeded();
    let of_run = |seed: u64| vectors(&bench, &format!("runs/seed-{seed}/workload.parquet"));
    assert_eq!(vectors(&bench, "five.parquet"), of_run(5));
    assert_ne!(of_run(4).len(), 0);
    assert_ne!(of_run(4), of_run(5), "each seed draws its own");
    bench.flowloom(&["run", "e.toml", "-o", "one", "--seed", "5"]).succeeded();
    assert_eq!(vectors(&bench, "one/workload.parquet"), of_run(5));
    let names = bench.names();
    assert_eq!(names, ["e.toml", "five.parquet", "one", "runs"], "nothing is left over");
}

/// One connection uploads as much as all others download: without it one direction is alone.
#[test]
fn a_direction_that_misses_its_load_is_warned_of() {
    let bench = Bench::new();
    // From the right come 200 kB in twenty equal parts, from the left 100 kB in one of twenty.
    let traffic = (0..20).fold(Traffic::default(), |traffic, id| {
        let request = if id == 7 { 100_000 } else { 1 };
        traffic.connection(id, Duration::from_millis(id * 400), request, 10_000)
    });
    bench.file("c.pcap", &traffic.pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench.file("e.toml", b"[workload]\nsource = \"w.parquet\"\nload = { factor = 0.4, method = \"thinning\" }\n");
    for seed in ["1", "2", "3", "4"] {
        let said = bench.flowloom(&["model", "e.toml", "-o", "m.parquet", "--force", "--seed", seed]);
        // All of the upload or nothing, where 40 % were asked for; from the right it is 40 %.
        assert!(said.succeeded().err.contains("warning: the load from left is "), "{}", said.err);
        assert!(!said.err.contains("load from right"), "{}", said.err);
    }
}

/// A run that is asked to sends no datagrams: the load says so.
#[test]
fn datagrams_of_a_model_that_are_not_sent_are_told() {
    let bench = Bench::new();
    let text = "[workload]\nmodel = { kind = \"cbr\", flows = 1, rate = \"1mbit\" }\n[measure]\nduration = \"10s\"\n";
    bench.file("e.toml", text.replace("[workload]", "[workload]\ndatagrams = \"leave-out\"").as_bytes());
    let said = bench.flowloom(&["model", "e.toml", "-o", "w.parquet"]);
    assert!(said.succeeded().err.contains("1 flow of UDP or QUIC datagrams not replayed"), "{}", said.err);
    let words = ["no connection to replay", "1 flow of UDP or QUIC datagrams", "datagrams = \"as-seen\" in [workload]"];
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(1, &words);
    bench.file("e.toml", text.as_bytes());
    let answer = bench.json(&["model", "e.toml", "-o", "sent.parquet", "--json"]);
    let load = &answer["load"]["from_left"]["payload_bits_per_second"];
    assert!((load.as_f64().unwrap() / 1e6 - 1.0).abs() < 0.01, "{load}");
}

/// The file of a model that cannot be read is named with the line of its key.
#[test]
fn a_model_whose_file_is_missing_is_named_by_its_key() {
    let bench = Bench::new();
    bench.file(
        "e.toml",
        b"[workload]\nmodel = { kind = \"harpoon\", config = [\"no.xml\"] }\n[measure]\nduration = \"9s\"\n",
    );
    for command in ["model", "run"] {
        let words = ["e.toml:2: workload.model.config", "no.xml"];
        bench.flowloom(&[command, "e.toml", "-o", "w.parquet"]).failed(2, &words);
    }
}

#[test]
fn models_that_cannot_be_are_refused() {
    let bench = Bench::new();
    let campus =
        |key| format!("[workload]\nmodel = {{ kind = \"campus-2008\", {key} }}\n[measure]\nduration = \"1s\"\n");
    let both = EXCHANGES.replace("[workload]\n", "[workload]\nsource = \"w.parquet\"\n");
    for (text, words) in [
        (EXCHANGES.to_owned(), ["e.toml: measure.duration is missing", "--duration"]),
        ("[network]\n".to_owned(), ["e.toml: [workload] names no model and changes nothing", "exchanges"]),
        (both, ["e.toml:3: workload.model draws a workload, and workload.source names one", ""]),
        (
            EXCHANGES.replace("20.0", "0.0"),
            ["e.toml:2: workload.model.connections-per-second of 0 must be above 0", ""],
        ),
        (EXCHANGES.replace("exchanges", "exchange"), ["unknown word \"exchange\"", "did you mean \"exchanges\"?"]),
        (EXCHANGES.replace("port", "prot"), ["unknown key \"prot\"", "did you mean \"port\"?"]),
        (EXCHANGES.replace("mean = 9000", "mean = 10"), ["mean of 10 is not possible: not below the median", ""]),
        (
            EXCHANGES.replace("rtt-ms = 40", "rtt-ms = -40"),
            ["workload.model.rtt-ms of -40 must be between 0 and 3600000", ""],
        ),
        (
            campus("scale = 0"),
            ["e.toml:2: workload.model.scale of 0 must be above 0 and at most 1000; 1 is the published", ""],
        ),
        (campus("scale = -0.5"), ["scale of -0.5 must be above 0", ""]),
        (campus("scale = \"1\""), ["e.toml:2: workload.model.scale: expected a number, found \"1\"", ""]),
        (campus("rate = 1"), ["unknown key \"rate\"", "scale"]),
    ] {
        bench.file("e.toml", text.as_bytes());
        bench.flowloom(&["model", "e.toml", "-o", "w.parquet"]).failed(2, &words);
    }
    bench.flowloom(&["model", "w.pcap", "-o", "w.parquet"]).failed(2, &["w.pcap: this is no experiment"]);
    bench.flowloom(&["model", "e.toml", "-o", "w.cvec"]).failed(2, &["model writes workloads"]);
    assert_eq!(bench.names(), ["e.toml"]);
}

/// A workload of 60 connections in three seconds, `w.parquet`: 5 ms from the monitor to the initiators and back, 20 ms to the acceptors.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench
}

/// What `flowloom model` makes of `w.parquet` with these keys in `[workload]`.
fn made(bench: &Bench, keys: &str) -> Vec<ConnectionVector> {
    bench.file("e.toml", format!("[workload]\nsource = \"w.parquet\"\n{keys}\n").as_bytes());
    bench.flowloom(&["model", "e.toml", "-o", "made.parquet", "--force"]).succeeded();
    vectors(bench, "made.parquet")
}

fn bytes(vectors: &[ConnectionVector]) -> [u64; 2] {
    let mut from = [0; 2];
    for vector in vectors {
        from[vector.initiator_side as usize] += vector.bytes(Side::Initiator);
        from[vector.initiator_side.other() as usize] += vector.bytes(Side::Acceptor);
    }
    from
}

#[test]
fn every_structure_carries_the_bytes_of_the_source_and_runs() {
    let bench = bench();
    let source = vectors(&bench, "w.parquet");
    for structure in ["harpoon", "block-concurrent", "block-sequential", "a-b", "a-t-b"] {
        let made = made(&bench, &format!("structure = \"{structure}\""));
        assert_eq!(bytes(&made), bytes(&source), "{structure}");
        let connections = if structure == "harpoon" { 120 } else { 60 };
        assert_eq!(made.len(), connections, "{structure}");
        assert!(made.iter().zip(0..).all(|(vector, id)| vector.id == id && vector.evidence == Evidence::Model));
        let run = bench.json(&["run", "e.toml", "-o", structure, "--json"]);
        assert_eq!(run["connections"]["completed"], connections, "{structure}: {run}");
        assert_eq!(vectors(&bench, &format!("{structure}/workload.parquet")), made, "run and model make the same");
    }
    assert_eq!(made(&bench, "window = \"measured\"\nrtt = \"80ms\"").len(), 60);
    bench.file("e.toml", b"[workload]\nsource = \"w.parquet\"\nstructure = \"a-b\"\nprefill = \"1s\"\n");
    let run = bench.json(&["run", "e.toml", "-o", "later", "--json"]);
    assert!(run["connections"]["completed"].as_u64().unwrap() >= 39, "{run}");
}

#[test]
fn round_trip_times_and_windows_are_those_of_the_model() {
    let bench = bench();
    let rtts =
        |keys: &str| -> Vec<Duration> { made(&bench, keys).iter().filter_map(ConnectionVector::min_rtt).collect() };
    let millis = Duration::from_millis;
    for (keys, wanted) in [
        ("rtt = \"nodelay\"", millis(0)),
        ("rtt = \"mean\"", millis(25)),
        ("rtt = \"median\"", millis(25)),
        ("rtt = { kind = \"usernet\", place = \"halves\" }", millis(25)),
        ("rtt = { kind = \"paths\", paths = 7, quantum = \"10ms\" }", millis(30)),
        ("rtt = \"unc-median\"", millis(36)),
    ] {
        assert_eq!(rtts(keys), [wanted; 60], "{keys}");
    }
    assert_eq!(rtts("rtt = \"10-path\"")[8..12], [174, 200, 4, 16].map(millis));
    let drawn = rtts("rtt = { kind = \"uniform\", min = \"10ms\", max = \"12ms\" }");
    assert!([10, 11, 12].iter().all(|rtt| drawn.contains(&millis(*rtt))));
    assert!(drawn.iter().all(|rtt| (10..=12).map(millis).any(|one| one == *rtt)));
    let small = made(&bench, "window = \"8k\"");
    assert!(small.iter().all(|vector| Side::BOTH.iter().all(|&side| vector.window(side) == Some(8_192))));
    // Waits are those of the source, whatever the round-trip time is: about 25 ms after each request.
    let run = bench.json(&["run", "e.toml", "-o", "small", "--json"]);
    assert_eq!(run["connections"]["completed"], 60);
}

#[test]
fn a_model_of_round_trip_times_needs_some() {
    let bench = bench();
    let mut writer = WorkloadWriter::create(&bench.path("none.parquet")).unwrap();
    for mut vector in vectors(&bench, "w.parquet") {
        (vector.ends.initiator.min_transit, vector.ends.acceptor.min_transit) = (None, None);
        writer.write(&vector).unwrap();
    }
    let capture = CaptureFacts { duration_ns: 3_000_000_000, ..CaptureFacts::default() };
    writer.finish(Provenance::default(), capture, &TrafficFacts::default()).unwrap();
    for model in ["mean", "median", "30-path"] {
        bench.file("e.toml", format!("[workload]\nsource = \"none.parquet\"\nrtt = \"{model}\"\n").as_bytes());
        let words = ["no connection of the workload has one", "unc-30-path"];
        bench.flowloom(&["model", "e.toml", "-o", "m.parquet"]).failed(2, &words);
        bench.flowloom(&["run", "e.toml", "-o", "run"]).failed(2, &words);
    }
    assert!(!bench.path("m.parquet").exists() && !bench.path("run").exists());
}

#[test]
fn load_is_changed_told_and_kept_in_the_file() {
    let bench = bench();
    let source = vectors(&bench, "w.parquet");
    let model = |load: &str| {
        bench.file("e.toml", format!("[workload]\nsource = \"w.parquet\"\nload = {{ {load} }}\n").as_bytes());
        bench.json(&["model", "e.toml", "-o", "made.parquet", "--force", "--json"])
    };
    let rate = |load: &serde_json::Value| load["from_right"]["payload_bits_per_second"].as_f64().unwrap();
    let half = model("method = \"thinning\", factor = 0.5");
    let share = rate(&half["load"]) / rate(&half["load_before"]);
    // To one of the 60 vectors.
    assert!((share - 0.5).abs() < 0.03, "{half}");
    let facts = WorkloadReader::open(&bench.path("made.parquet")).unwrap().facts().clone();
    assert_eq!(facts.provenance.options["load"], half["load"]);
    assert_eq!(facts.provenance.inputs.len(), 1, "what it was made of");
    let target =
        model(&format!("method = \"poisson\", target = \"{}bit\"", (0.25 * rate(&half["load_before"])) as u64));
    assert!((rate(&target["load"]) / rate(&target["load_before"]) - 0.25).abs() < 0.2, "{target}");
    let stretched = model("method = \"start-times\", factor = 2.0");
    assert!((rate(&stretched["load"]) / rate(&stretched["load_before"]) - 2.0).abs() < 1e-3, "{stretched}");
    assert_eq!(vectors(&bench, "made.parquet").len(), 60);
    let shuffled = model("shuffle = \"500ms\"");
    assert_eq!(shuffled["load"]["from_right"]["payload_bytes"], shuffled["load_before"]["from_right"]["payload_bytes"]);
    let adus = |vectors: Vec<ConnectionVector>| vectors.into_iter().map(|vector| vector.adus).collect::<Vec<_>>();
    assert_ne!(adus(vectors(&bench, "made.parquet")), adus(source));
    model("method = \"blocks\", block = \"1s\", factor = 1.5, duration = \"20s\"");
    assert!(vectors(&bench, "made.parquet").len() > 450);
    // The load of a workload that was made is known, so that links can be told by it.
    bench.flowloom(&["run", "made.parquet", "-o", "r", "--rate", "200%"]).succeeded();
}

#[test]
fn each_seed_draws_its_own_load() {
    let bench = bench();
    let load = "load = { method = \"blocks\", block = \"1s\" }\nloss = \"measured\"";
    bench.file("e.toml", format!("[workload]\nsource = \"w.parquet\"\n{load}\n[run]\nseeds = [1, 2]\n").as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    assert_ne!(vectors(&bench, "r/seed-1/workload.parquet"), vectors(&bench, "r/seed-2/workload.parquet"));
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let bench = bench();
    for (keys, wanted) in [
        ("load = { factor = 0.5 }", "e.toml:3: workload.load.method is missing"),
        ("load = { method = \"thinning\", factor = 0.0 }", "e.toml:3: workload.load.factor of 0 must be above 0"),
        ("load = { method = \"thinning\", factor = 2.0 }", "workload.load: thinning leaves vectors out"),
        ("load = { method = \"poisson\", factor = 2.0 }", "workload.load: 2.000 times the load for"),
        ("load = { method = \"blocks\", factor = 9.0, block = \"1s\" }", "takes more blocks at a time than the"),
        ("load = { method = \"blocks\" }", "a block of 60.0 s is longer than the workload"),
        ("load = { method = \"blocks\", block = \"1ms\" }", "e.toml:3: workload.load.block of 1ms must be from"),
        ("load = { method = \"thinning\", duration = \"1s\" }", "e.toml:3: workload.load.duration is a key of"),
        (
            "load = { method = \"thinning\", factor = 0.5, target = \"1mbit\" }",
            "e.toml:3: workload.load.factor and target",
        ),
        ("load = { shuffle = \"0s\" }", "e.toml:3: workload.load.shuffle must be above zero"),
        ("rtt = \"usernett\"", "e.toml:3: workload.rtt: \"usernett\" is no model of round-trip times"),
        (
            "rtt = { kind = \"uniform\", min = \"2ms\", max = \"1ms\" }",
            "e.toml:3: workload.rtt: min of 2ms is above max",
        ),
        ("window = \"0k\"", "e.toml:3: workload.window: \"0k\" is not a window"),
        ("structure = \"a-b-t\"", "e.toml:3: workload.structure: unknown word \"a-b-t\""),
        ("loss = \"some\"", "e.toml:3: workload.loss: unknown word \"some\""),
    ] {
        bench.file("e.toml", format!("[workload]\nsource = \"w.parquet\"\n{keys}\n").as_bytes());
        bench.flowloom(&["model", "e.toml", "-o", "m.parquet"]).failed(2, &[wanted]);
    }
    assert_eq!(bench.names(), ["c.pcap", "e.toml", "w.parquet"]);
}
