//! `compare`: variants with replications, rules, and what is refused.

use crate::support::{Bench, Traffic};

/// A bench with the runs of `seeds` over a lossy link that is narrow or not, as folders of seeds `wide` and `narrow`.
fn bench(seeds: &str) -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(100).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    for (name, rate) in [("wide", "1gbit"), ("narrow", "102%")] {
        let experiment = format!(
            "[workload]\nsource = \"w.parquet\"\n[network]\nbottleneck = {{ rate = \"{rate}\" }}\npath = {{ loss = \"1%\" }}\n\
             [run]\nseeds = [{seeds}]\n"
        );
        bench.file(&format!("{name}.toml"), experiment.as_bytes());
        bench.flowloom(&["run", &format!("{name}.toml"), "-o", name]).succeeded();
    }
    bench
}

#[test]
fn replications_are_compared_pair_by_pair() {
    let bench = bench("1, 2, 3, 4, 5");
    let compared = bench.json(&["compare", "wide", "narrow", "--json"]);
    let comparison = &compared["comparisons"][0];
    assert_eq!(comparison["replications"], serde_json::json!([5, 5]));
    assert_eq!(comparison["pairing"], "paired: the same seeds and workloads");
    let of = |metric: &str| {
        let differences = comparison["differences"].as_array().unwrap();
        differences.iter().find(|difference| difference["metric"] == metric).unwrap()["verdict"].clone()
    };
    let slower = of("response_time");
    assert_eq!(
        (&slower["outcome"], &slower["basis"]),
        (&"different".into(), &"paired-replications".into()),
        "{slower}"
    );
    assert!(slower["effects"][0]["adjusted_p_value"].as_f64() >= slower["effects"][0]["p_value"].as_f64());
    // The base round-trip times of paths are those of the workload.
    assert_eq!(
        (&of("round_trip_time")["outcome"], &of("round_trip_time")["basis"]),
        (&"same".into(), &"distance".into())
    );
    bench.flowloom(&["compare", "wide", "narrow", "--check"]).failed(4, &[]);
    bench.flowloom(&["compare", "wide", "narrow", "--check", "--metric", "round_trip_time"]).succeeded();
    let said = bench.flowloom(&["compare", "wide", "narrow"]);
    assert!(said.succeeded().out.contains("5 replications each, paired: the same seeds"), "{}", said.out);
    assert!(said.out.lines().all(|line| line.chars().count() <= 100), "{}", said.out);

    // The same by naming each run, the other way round: what follows --against is the reference.
    let folders = |name: &str| (1..=5).map(|seed| format!("{name}/seed-{seed}")).collect::<Vec<_>>();
    let (wide, narrow) = (folders("wide"), folders("narrow"));
    let mut words = vec!["compare"];
    words.extend(narrow.iter().map(String::as_str));
    words.push("--against");
    words.extend(wide.iter().map(String::as_str));
    words.push("--json");
    let named = bench.json(&words);
    assert_eq!(named["comparisons"][0]["reference"], "wide/seed-1 and 4 more");
    let verdicts = |differences: &serde_json::Value| -> Vec<serde_json::Value> {
        differences.as_array().unwrap().iter().map(|difference| difference["verdict"].clone()).collect()
    };
    assert_eq!(verdicts(&named["comparisons"][0]["differences"]), verdicts(&comparison["differences"]));

    // With other seeds there are no pairs.
    let words = ["compare", "narrow", "--against", "wide/seed-1", "wide/seed-2", "--pairing", "paired"];
    bench.flowloom(&words).failed(2, &["cannot be paired: they have different seeds", "--pairing unpaired"]);
    let text = bench.flowloom(&[&words[..5], &["--metric", "goodput"]].concat());
    // Lines end where there is no more room.
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let unpaired = "2 and 5 replications, not paired: they have different seeds";
    assert!(unwrapped(&text.succeeded().out).contains(unpaired), "{}", text.out);
    assert!(text.out.contains("by distance: goodput"), "{}", text.out);

    // Each draw has an original of its own.
    let refused = ["narrow: each of its seeds replays a draw of the workload", "name the folder of one seed"];
    bench.flowloom(&["compare", "narrow"]).failed(2, &refused);
    bench.flowloom(&["compare", "narrow/seed-1"]).succeeded();

    // Replications of a replay beside its original have one card.
    bench.flowloom(&["run", "narrow.toml", "--vary", "nothing", "-o", "replicated"]).succeeded();
    let card = bench.flowloom(&["compare", "replicated"]);
    assert!(card.succeeded().out.contains("fidelity") && card.out.contains("closed in both"), "{}", card.out);
    assert!(unwrapped(&card.out).contains("5 replications beside the one original"), "{}", card.out);
}

#[test]
fn rules_decide_what_is_good_enough() {
    let bench = bench("1");
    let rules = |text: &str| {
        bench.file("r.toml", text.as_bytes());
        bench.flowloom(&["compare", "wide", "narrow", "--check", "r.toml"])
    };
    let held = rules("[[rule]]\nmetric = \"response_time\"\nstatistic = \"p90\"\nmin-ratio = 0.5\nmax = \"60s\"\n");
    assert!(
        held.succeeded().out.contains("held            response_time: ratio of p90 at least 0.5: "),
        "{}",
        held.out
    );
    let broken = rules("[[rule]]\nname = \"fast\"\nmetric = \"response_time\"\nmax = \"1us\"\n");
    broken.failed(4, &[]);
    assert!(broken.out.contains("broken          fast: "), "{}", broken.out);
    // Sizes of ADUs are not measured at the endpoints: nothing can be told of them.
    let unknown = "[[rule]]\nmetric = \"adu_size\"\nverdict = \"same\"\n";
    rules(unknown).failed(4, &[]);
    rules(&format!("{unknown}cannot-tell = \"pass\"\n")).succeeded();
    rules("[[rule]]\nmetric = \"goodput\"\nmaxratio = 2\n")
        .failed(2, &["r.toml:3: unknown key \"maxratio\"", "max-ratio"]);
    bench.flowloom(&["compare", "--check", "wide", "narrow"]).failed(2, &["is a folder", "write --check behind"]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let bench = bench("1, 2");
    let run = |name: &str, more: &[&str]| {
        bench.flowloom(&[&["run", "w.parquet", "-o", name], more].concat()).succeeded();
    };
    run("a", &[]);
    run("short", &["--duration", "1s"]);
    bench
        .flowloom(&["compare", "a", "short"])
        .failed(2, &["short is measured over [0 s, 1.00 s), a over", "measure.window"]);
    bench
        .flowloom(&["compare", "a", "a", "--metric", "adu_size"])
        .failed(2, &["ADU sizes: no values in any of the runs"]);
    bench
        .flowloom(&["compare", "a", "a", "--metric", "speed"])
        .failed(2, &["unknown metric \"speed\"", "response_time"]);
    bench
        .flowloom(&["compare", "wide/seed-1", "narrow/seed-2", "--against", "a"])
        .failed(2, &["are not seeds of one experiment", "network.bottleneck.rate"]);
    bench
        .flowloom(&["compare", "wide/seed-1", "wide", "--against", "a"])
        .failed(2, &["both have seed 1", "would count for two"]);
    bench.flowloom(&["compare", "wide", "narrow", "--margin", "5"]).failed(2, &["is no margin"]);
    bench.flowloom(&["compare", "wide", "narrow", "--confidence", "5"]).failed(2, &["from 50 to 99.99"]);
    // Nothing came to its end on a link of a hundred bits a second.
    bench.flowloom(&["run", "w.parquet", "-o", "stuck", "--rate", "100bit"]).failed(3, &[]);
    bench.flowloom(&["compare", "stuck", "a"]).failed(2, &["stuck: none of its 100 connections was completed"]);
}

#[test]
fn all_pairs_are_compared_where_that_is_asked_for() {
    let bench = bench("1");
    let pairs = |more: &[&str]| {
        let compared = bench.json(&[&["compare", "wide", "narrow", "wide", "--json"], more].concat());
        let pair = |one: &serde_json::Value| {
            format!("{}-{}", one["reference"].as_str().unwrap(), one["other"].as_str().unwrap())
        };
        compared["comparisons"].as_array().unwrap().iter().map(pair).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&[]), ["wide-narrow", "wide-wide"]);
    assert_eq!(pairs(&["--all-pairs"]), ["wide-narrow", "wide-wide", "narrow-wide"]);
}

#[test]
fn results_of_other_tools_are_compared_where_metrics_match() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(300).pcap());
    for (name, rate) in [("a", "1gbit"), ("b", "102%")] {
        bench.flowloom(&["run", "c.pcap", "-o", name, "--rate", rate]).succeeded();
        bench.flowloom(&["convert", name, "-o", &format!("{name}.iperf3.json")]).succeeded();
    }
    let verdict = |words: &[&str]| {
        let compared = bench.json(&[words, &["--json"]].concat());
        let comparison = &compared["comparisons"][0];
        let metrics: Vec<&str> =
            comparison["differences"].as_array().unwrap().iter().map(|one| one["metric"].as_str().unwrap()).collect();
        assert_eq!(metrics, ["goodput"], "{words:?}");
        assert!(comparison["left_out"]["response_time"].is_string(), "{comparison}");
        comparison["differences"][0]["mean_ratio"].as_f64().unwrap()
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    // What was written is what was measured.
    near(verdict(&["compare", "a", "a.iperf3.json"]), 1.0);
    let ratio = verdict(&["compare", "a", "b.iperf3.json"]);
    assert!(ratio < 0.99, "{ratio}");
    near(verdict(&["compare", "a.iperf3.json", "b.iperf3.json"]), ratio);
    let paired = ["compare", "b.iperf3.json", "a.iperf3.json", "--against", "a.iperf3.json", "b.iperf3.json"];
    let paired = bench.json(&[&paired[..], &["--pairing", "paired", "--json"]].concat());
    assert_eq!(paired["comparisons"][0]["pairing"], "paired: in the order in which they are named");
    bench
        .flowloom(&["compare", "b.iperf3.json", "--against", "a.iperf3.json", "b.iperf3.json", "--pairing", "paired"])
        .failed(2, &["there are 1 and 2 results", "as many files before --against as behind it"]);
    bench.flowloom(&["compare", "a.iperf3.json"]).failed(2, &["nothing to compare it with", "a second file"]);
    bench
        .flowloom(&["compare", "a", "a.iperf3.json", "--metric", "response_time"])
        .failed(2, &["response times: other tools do not measure it, or not so"]);
    bench.file("cut.json", b"{ \"start\": {}, ");
    bench.flowloom(&["compare", "a", "cut.json"]).failed(1, &["cut.json", "EOF"]);
}

/// Two variants of a real capture through an overloaded link: the report has the numbers of `compare`, unfinished exchanges counted.
#[test]
fn report_and_compare_agree_on_a_real_capture() {
    let Some(capture) = flowloom_needs::shared("cli: report beside compare", "pcap/zeek-http-92conns.pcap") else {
        return;
    };
    let bench = Bench::new();
    for queue in ["drop-tail", "fq-codel"] {
        let experiment = format!(
            "[workload]\nsource = \"{}\"\n[network.bottleneck]\nrate = \"105%\"\nqueue = {{ kind = \"{queue}\" }}\n",
            capture.display()
        );
        bench.file(&format!("{queue}.toml"), experiment.as_bytes());
        bench.flowloom(&["run", &format!("{queue}.toml"), "-o", queue]);
    }
    bench.flowloom(&["report", "drop-tail", "fq-codel", "-o", "both.html"]).succeeded();
    let page = std::fs::read_to_string(bench.path("both.html")).unwrap().replace('\u{a0}', " ");
    let compared = bench.json(&["compare", "drop-tail", "fq-codel", "--json"]);
    let comparison = &compared["comparisons"][0];
    assert_eq!(comparison["measured_at"], "endpoint");
    let differences = comparison["differences"].as_array().unwrap();
    let show = |quantities: &serde_json::Value, key: &str| {
        let show = |value: f64| flowloom::report::metric::Unit::Time.show(value);
        match quantities[key].as_f64() {
            Some(value) => show(value),
            None => format!("&gt; {}", show(quantities[format!("{key}_at_least")].as_f64().unwrap())),
        }
    };
    for metric in ["duration", "response_time"] {
        let difference = differences.iter().find(|difference| difference["metric"] == metric).unwrap();
        for side in ["reference", "other"] {
            let cell = format!("{} / {}", show(&difference[side], "p50"), show(&difference[side], "p99"));
            assert!(page.contains(&cell), "{metric} of {side}: {cell}");
        }
    }
}

/// A link of its own makes a replay no worse copy of its original, and one that ended few connections is not compared without a word.
#[test]
fn conditions_and_verdicts_are_told() {
    let bench = Bench::new();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    for (name, rate) in [("good", "1gbit"), ("bad", "1mbit")] {
        let experiment = format!(
            "[workload]\nsource = '{demo}'\n[network.bottleneck]\nrate = \"{rate}\"\n\
             [measure]\nduration = \"10s\"\ndrain = \"1s\"\n"
        );
        bench.file(&format!("{name}.toml"), experiment.as_bytes());
        bench.flowloom(&["run", &format!("{name}.toml"), "-o", name]).succeeded();
    }
    let beside = bench.flowloom(&["compare", "bad", "--check"]);
    let out = &beside.succeeded().out;
    assert!(out.contains("not compared, under other conditions: ") && out.contains("beside the original"), "{out}");
    let said = bench.flowloom(&["compare", "good", "bad"]);
    assert!(said.succeeded().out.contains("verdict of bad: DEGRADED: "), "{}", said.out);
    let compared = bench.json(&["compare", "good", "bad", "--json"]);
    assert_eq!(compared["comparisons"][0]["other_verdict"]["accounted"]["word"], "DEGRADED");
}

/// Vectors that were never measured have sizes and round-trip times, and the monitor finds them again.
#[test]
fn a_model_is_compared_with_its_vectors() {
    let bench = Bench::new();
    bench.file("e.toml", format!("{}\n[measure]\nduration = \"20s\"\n", crate::models::EXCHANGES).as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let compared = bench.json(&["compare", "r", "--json"]);
    let comparison = &compared["comparisons"][0];
    assert_eq!((&comparison["reference"], &comparison["measured_at"]), (&"vectors".into(), &"monitor".into()));
    let differences = comparison["differences"].as_array().unwrap();
    let found: Vec<_> =
        differences.iter().map(|one| (one["metric"].as_str().unwrap(), one["judgement"].as_str().unwrap())).collect();
    assert_eq!(found, [("round_trip_time", "same"), ("adu_size", "same")], "{comparison}");
    assert!(differences.iter().all(|one| one["n"].as_u64().unwrap() > 100));
    assert!(comparison["left_out"]["response_time"].as_str().unwrap().contains("never measured"));
    // The verdict does not take them for an original.
    let run: serde_json::Value = serde_json::from_slice(&std::fs::read(bench.path("r/run.json")).unwrap()).unwrap();
    assert_eq!(run["verdict"]["fidelity"]["word"], "not compared");
}

/// Runs of one window have the same bytes to replay, however long they go on behind it; with another prefill they replay another part.
#[test]
fn parts_of_a_capture_are_told() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(100).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    let keys = [
        ("long", "measure = { window = [\"1s\", \"3s\"] }"),
        ("short", "measure = { window = [\"1s\", \"3s\"], duration = \"3s\" }"),
        ("late", "measure = { window = [\"1s\", \"3s\"] }\nworkload.prefill = \"2s\""),
    ];
    for (name, keys) in keys {
        bench.file("e.toml", format!("workload.source = \"w.parquet\"\n{keys}\n").as_bytes());
        bench.flowloom(&["run", "e.toml", "-o", name]).succeeded();
    }
    let compared = bench.json(&["compare", "long", "short", "--json"]);
    assert!(compared.get("other_bytes").is_none() && compared.get("other_parts").is_none(), "{compared}");
    let compared = bench.json(&["compare", "long", "late", "--json"]);
    let told = "parts differ: late replays 2.00 s to 4.00 s of its workload, long 1.00 s to 3.00 s";
    assert_eq!(compared["other_parts"], told);
    let said = bench.flowloom(&["compare", "long", "late"]);
    assert!(said.err.contains("warning: parts differ: ") && said.err.contains("workload.prefill"), "{}", said.err);
}

/// What `compare` refuses `report` refuses, and what it warns of `report` says, on the page too.
#[test]
fn report_of_two_refuses_what_compare_does() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(100).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    let keys = [
        ("whole", "measure = { window = [\"1s\", \"3s\"] }"),
        ("late", "measure = { window = [\"1s\", \"3s\"] }\nworkload.prefill = \"2s\""),
        ("few", "measure = { window = [\"1s\", \"3s\"] }\nworkload.load = { method = \"thinning\", factor = 0.5 }"),
        ("half", "measure = { window = [\"1s\", \"2s\"] }"),
    ];
    for (name, keys) in keys {
        bench.file("e.toml", format!("workload.source = \"w.parquet\"\n{keys}\n").as_bytes());
        bench.flowloom(&["run", "e.toml", "-o", name]).succeeded();
    }
    for (other, warning) in [("late", "parts differ: "), ("few", "bytes differ: few has ")] {
        let [compared, reported] = [&["compare", "whole", other][..], &["report", "whole", other, "-o", "p.html"]]
            .map(|words| bench.flowloom(words));
        assert!(compared.succeeded().err.contains(&format!("warning: {warning}")), "{}", compared.err);
        assert_eq!(reported.succeeded().err, compared.err);
        let page = std::fs::read_to_string(bench.path("p.html")).unwrap();
        let sentence = warning.replacen(&warning[..1], &warning[..1].to_uppercase(), 1);
        assert!(page.contains(&sentence) && page.contains("Remedy: "), "{sentence}");
        std::fs::remove_file(bench.path("p.html")).unwrap();
    }
    let [compared, reported] = [&["compare", "whole", "half"][..], &["report", "whole", "half", "-o", "p.html"]]
        .map(|words| bench.flowloom(words));
    compared.failed(2, &["is measured over"]);
    reported.failed(2, &["is measured over"]);
    assert_eq!(reported.err, compared.err);
    assert!(!bench.path("p.html").exists());
    // One by itself is set beside no other.
    assert_eq!(bench.flowloom(&["report", "half", "-o", "p.html"]).succeeded().err, "");
}

/// Sources alone have no connections of a workload to compare.
#[test]
fn sources_alone_have_no_active_connections() {
    let bench = Bench::new();
    for (name, rate) in [("one", "800kbit"), ("two", "400kbit")] {
        let text = format!(
            "[[sources]]\nname = \"c\"\nkind = \"cbr\"\nrate = \"{rate}\"\npayload = \"958b\"\nrtt = \"20ms\"\n\
             [measure]\nduration = \"20s\"\nwindow = [\"5s\", \"15s\"]\n[network]\nbottleneck = {{ rate = \"1mbit\" }}\n"
        );
        bench.file(&format!("{name}.toml"), text.as_bytes());
        bench.flowloom(&["run", &format!("{name}.toml"), "-o", name]).succeeded();
    }
    let comparison = &bench.json(&["compare", "one", "two", "--json"])["comparisons"][0];
    let text = bench.flowloom(&["compare", "one", "two"]).out;
    assert!(!text.contains("\nactive connections") && !text.contains("  active connections"), "{text}");
    assert_eq!(comparison["left_out"]["active_connections"], "no workload in either, and so no connections");
}
