//! `compare --explain`: the answer in its forms, and what is refused.

use crate::support::{Bench, Traffic};

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(40).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "a"]).succeeded();
    bench
}

#[test]
fn an_explanation_in_its_forms() {
    let bench = bench();
    let said = bench.flowloom(&["compare", "a", "--explain", "-o", "a.html", "--jobs", "2"]);
    let text = &said.succeeded().out;
    assert!(text.starts_with("a explained by "), "{text}");
    // Its initiators acknowledge less often than TCP does by default, and do nothing else of their own.
    assert!(text.contains("  writes ") && text.contains("worth most: acks 0.101 alone, 0.101 left out\n"), "{text}");
    assert!(!text.contains("connections those that differ most"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let page = std::fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.contains("<svg class=\"chart\"") && page.contains("workload.replay.first-flight"), "{page}");
    bench.flowloom(&["compare", "a", "--explain", "-o", "a.html"]).failed(1, &["a.html", "--force"]);
    bench.flowloom(&["compare", "a", "--explain", "-o", "a.html", "--force", "-q"]).succeeded();

    // The run itself is the replay of everything, and has the distances of its score card.
    let explained = bench.json(&["compare", "a", "--explain", "--json"])["explanation"].clone();
    let card = bench.json(&["compare", "a", "--json"])["comparisons"][0]["card"].clone();
    for explained in explained["quantities"].as_array().unwrap() {
        assert_eq!(explained["run"], explained["all"], "{explained}");
        let score = card.as_array().unwrap().iter().find(|score| score["metric"] == explained["quantity"]);
        if let Some(score) = score {
            assert_eq!(
                [&score["distance"], &score["ratio"]],
                [&explained["run"]["distance"], &explained["run"]["ratio"]]
            );
        }
    }
    let causes = explained["causes"].as_array().unwrap().len();
    assert!(causes > 5 && explained["quantities"][0]["causes"].as_array().unwrap().len() == causes);
}

#[test]
fn explanations_that_are_refused() {
    let bench = bench();
    bench.flowloom(&["run", "c.pcap", "-o", "slow", "--rate", "80%"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "seeds", "--seed", "1", "--seed", "2", "--vary", "nothing"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "draws", "--seed", "1", "--seed", "2", "--vary", "jitter 1s"]).succeeded();
    bench.file("m.toml", b"[workload]\nmodel = { kind = \"exchanges\", connections-per-second = 5.0, request-bytes = 500.0, response-bytes = 2000.0, think-ms = 50.0, rtt-ms = 50.0 }\n[measure]\nduration = \"5s\"\n");
    bench.flowloom(&["run", "m.toml", "-o", "model"]).succeeded();
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench.flowloom(&["run", "w.parquet", "-o", "of-workload"]).succeeded();
    for (words, code, told) in [
        (&["slow"][..], 1, &["rate 80%", "without these changes"][..]),
        (&["seeds"], 2, &["several seeds", "name the folder of one seed"]),
        (&["draws/seed-1"], 1, &["starts drawn anew"]),
        (&["model"], 1, &["a model drew its workload", "flowloom run CAPTURE"]),
        (&["c.pcap"], 2, &["this is a file"]),
        (&["a", "slow"], 2, &["about one run"]),
        (&["nowhere"], 1, &["nowhere"]),
        (&["a", "--metric", "duration"], 2, &["--metric"]),
        (&["a", "--check"], 2, &["--check"]),
    ] {
        bench.flowloom(&[&["compare", "--explain"], words].concat()).failed(code, told);
    }
    // Without an explanation the page is the report.
    bench.flowloom(&["compare", "a", "-o", "b.html"]).succeeded();
    let page = std::fs::read_to_string(bench.path("b.html")).unwrap();
    assert!(page.contains("response time") && !page.contains("workload.replay.first-flight"), "{page}");
    // Seeds that replay one workload share its file.
    bench.flowloom(&["compare", "seeds/seed-1", "--explain"]).succeeded();
    bench.flowloom(&["compare", "of-workload", "--explain"]).succeeded();
    std::fs::rename(bench.path("w.parquet"), bench.path("moved.parquet")).unwrap();
    bench.flowloom(&["compare", "of-workload", "--explain"]).failed(1, &["w.parquet does not exist", "copy it to"]);
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet", "--complete-only"]).succeeded();
    bench.file("d.pcap", &Traffic::many(30).pcap());
    bench.flowloom(&["extract", "d.pcap", "-o", "w.parquet", "--force"]).succeeded();
    bench.flowloom(&["compare", "of-workload", "--explain"]).failed(1, &["another one today"]);
}

/// What a replay leaves out is part of its difference: the original is the same for all.
#[test]
fn datagrams_that_are_left_out_lack_in_the_throughput() {
    let bench = Bench::new();
    bench.file("m.pcap", &crate::support::mixed());
    bench.flowloom(&["run", "m.pcap", "-o", "a"]).succeeded();
    let explained = bench.json(&["compare", "a", "--explain", "--json"])["explanation"].clone();
    let of = |name: &str| {
        let all = explained["quantities"].as_array().unwrap();
        all.iter().find(|explained| explained["quantity"] == name).unwrap_or_else(|| panic!("{explained}")).clone()
    };
    let throughput = of("throughput_from_left");
    let tried = throughput["causes"].as_array().unwrap().iter().find(|tried| tried["cause"] == "datagrams").unwrap();
    assert!(tried["left_out"]["ratio"].as_f64() < throughput["all"]["ratio"].as_f64(), "{throughput}");
    assert!(tried["worth_left_out"].as_f64().unwrap() > 0.0, "{throughput}");
}
