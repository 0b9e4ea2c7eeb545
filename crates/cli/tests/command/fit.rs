//! `flowloom fit`: it finds the laws that a model drew from, and what it prints can be pasted into an experiment.

use serde_json::Value;

use crate::models::EXCHANGES;
use crate::support::{Bench, Traffic};

fn variable<'a>(fitted: &'a Value, name: &str) -> &'a Value {
    let found = fitted["variables"].as_array().unwrap().iter().find(|variable| variable["variable"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {fitted}"))
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("e.toml", EXCHANGES.as_bytes());
    bench.flowloom(&["model", "e.toml", "-o", "w.parquet", "--duration", "100s"]).succeeded();
    bench
}

#[test]
fn the_law_that_was_drawn_from_is_found_and_can_be_drawn_from_again() {
    let bench = bench();
    let fitted = bench.json(&["fit", "w.parquet", "--json"]);
    let response = variable(&fitted, "response-size");
    let best = &response["laws"][0];
    assert_eq!(best["kind"], "lognormal", "{response}");
    // Of 2,000 values 1.63 / sqrt(n) is exceeded once in a hundred times.
    assert!(best["ks"].as_f64().unwrap() < 0.037, "{best}");
    assert!((best["mean"].as_f64().unwrap() / 9_000.0 - 1.0).abs() < 0.2, "{best}");
    // No law whose mode is above zero fits the gaps of a Poisson process, and it says so.
    let gaps = variable(&fitted, "interarrival");
    assert!(gaps["laws"].as_array().unwrap().len() >= 5, "{gaps}");
    let normal = gaps["refused"].as_array().unwrap().iter().find(|refused| refused["kind"] == "normal").unwrap();
    assert!(normal["reason"].as_str().unwrap().starts_with("the values are spread too far"), "{normal}");
    // All that is printed is read: numbers by keys of models, quantities by those of paths and sources.
    for law in response["laws"].as_array().unwrap() {
        let text =
            EXCHANGES.replace("{ kind = \"lognormal\", median = 4000, mean = 9000 }", law["numbers"].as_str().unwrap());
        let source = format!(
            "[[sources]]\nname = \"s\"\nkind = \"bulk\"\ncount = 1\nbytes = {}\n",
            law["quantities"].as_str().unwrap()
        );
        let law_of_gaps = &variable(&fitted, "interarrival")["laws"][0]["quantities"];
        let path = format!("[[network.delay-box]]\ndelay = {}\n", law_of_gaps.as_str().unwrap());
        bench.file("again.toml", format!("{text}{source}{path}").as_bytes());
        bench.flowloom(&["model", "again.toml", "-o", "again.parquet", "--duration", "100s", "--force"]).succeeded();
    }
    // The nearest of them makes what it was fitted to.
    let text =
        EXCHANGES.replace("{ kind = \"lognormal\", median = 4000, mean = 9000 }", best["numbers"].as_str().unwrap());
    bench.file("again.toml", text.as_bytes());
    bench.flowloom(&["model", "again.toml", "-o", "again.parquet", "--duration", "100s", "--force"]).succeeded();
    let again = bench.json(&["fit", "again.parquet", "--variable", "response-size", "--json"]);
    assert_eq!(again["variables"].as_array().unwrap().len(), 1);
    let medians = [response, variable(&again, "response-size")].map(|found| found["median"].as_f64().unwrap());
    // The standard error of a median of 2,000 values with sigma 1.27 is 3.6 %.
    assert!((medians[1] / medians[0] - 1.0).abs() < 0.15, "{medians:?}");
}

#[test]
fn pictures_come_as_one_page() {
    let bench = bench();
    let said = bench.flowloom(&["fit", "w.parquet", "--html", "laws.html"]);
    assert!(said.succeeded().out.contains("pictures      laws.html"), "{}", said.out);
    assert!(said.out.contains("Response size (response-size): ") && said.out.contains("tail index"), "{}", said.out);
    let page = std::fs::read_to_string(bench.path("laws.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for name in ["request-size", "response-size", "adu-size", "acceptor-wait", "rtt", "connection-size", "interarrival"]
    {
        assert!(page.contains(&format!("<section id=\"of-{name}\">")), "{name}");
    }
    for link in ["http://", "https://", "src="] {
        let inside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!inside.contains(link), "the page needs {link}");
    }
}

/// What is fitted to a workload of exchanges makes one of the same load and sizes.
#[test]
fn fitted_experiment_runs_as_it_is() {
    let bench = bench();
    let said = bench.flowloom(&["fit", "w.parquet", "-o", "laws.toml"]);
    assert!(said.succeeded().out.contains("next          flowloom run laws.toml\n"), "{}", said.out);
    bench.flowloom(&["run", "laws.toml", "-o", "r"]).succeeded();
    let [before, after] = ["w.parquet", "r/workload.parquet"].map(|file| bench.json(&["fit", file, "--json"]));
    for (name, tolerance) in [("request-size", 0.1), ("response-size", 0.15), ("rtt", 0.05), ("interarrival", 0.1)] {
        let medians = [&before, &after].map(|fitted| variable(fitted, name)["median"].as_f64().unwrap());
        assert!((medians[1] / medians[0] - 1.0).abs() < tolerance, "{name}: {medians:?}");
    }
    bench.flowloom(&["fit", "w.parquet", "-o", "laws.toml"]).failed(1, &["laws.toml: exists already", "--force"]);
    bench.flowloom(&["fit", "w.parquet", "-o", "laws.toml", "--force"]).succeeded();
    bench.flowloom(&["fit", "w.parquet", "-o", "l.html"]).failed(2, &["-o writes an experiment", "--html"]);
    bench.flowloom(&["fit", "w.parquet", "-o", "a.toml", "--variable", "rtt"]).failed(2, &["--variable"]);
}

#[test]
fn outputs_are_not_replaced_silently() {
    let bench = bench();
    bench.flowloom(&["run", "w.parquet", "-o", "r"]).succeeded();
    for (words, file) in [
        (&["fit", "w.parquet", "--html", "page.html"][..], "page.html"),
        (&["fit", "w.parquet", "--model", "swing", "-o", "swing.json"], "swing.json"),
        (&["describe", "w.parquet", "--html", "page.html"], "page.html"),
        (&["describe", "r", "--html", "page.html"], "page.html"),
        (&["report", "r", "-o", "page.html"], "page.html"),
        (&["overhead", "w.parquet", "--html", "page.html"], "page.html"),
    ] {
        bench.file(file, b"mine");
        bench.flowloom(words).failed(1, &[&format!("{file}: exists already"), "--force"]);
        assert_eq!(std::fs::read(bench.path(file)).unwrap(), b"mine", "{words:?}");
    }
    bench.flowloom(&["report", "r", "-o", "page.html", "--force"]).succeeded();
    assert!(std::fs::read(bench.path("page.html")).unwrap().starts_with(b"<!doctype html>"));
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let bench = bench();
    bench.flowloom(&["fit", "e.toml"]).failed(2, &["e.toml is an experiment, not a workload", "fit the capture"]);
    bench.flowloom(&["fit", "w.parquet", "--variable", "size"]).failed(2, &["size", "response-size"]);
    bench.flowloom(&["fit", "none.parquet"]).failed(1, &["none.parquet"]);
    bench
        .flowloom(&["fit", "w.parquet", "--variable", "duration"])
        .failed(1, &["w.parquet: holds no values of what --variable names", "flowloom describe"]);
    // A handful of connections has no tail and few laws, and says so.
    bench.file("c.pcap", &Traffic::many(3).pcap());
    let few = bench.json(&["fit", "c.pcap", "--variable", "rtt", "--json"]);
    assert!(variable(&few, "rtt")["laws"].as_array().unwrap().is_empty());
    let reason = &variable(&few, "rtt")["refused"][0]["reason"];
    assert_eq!(reason, "fewer than five values above zero");
    assert!(variable(&few, "rtt")["tail"].is_null());
}

/// A simulated run of a model with known parameters, captured at its link: rate, sizes and think times are found again, and the experiment
/// that is written has the arrivals and the bytes of the capture. 2,000 connections: standard errors of 2.2 % of rate and think times and
/// of 3.4 % of bytes.
#[test]
fn a_captured_run_gives_its_model_back() {
    let bench = Bench::new();
    let experiment = "[workload.model]\nkind = \"exchanges\"\nconnections-per-second = 20\n\
                      request-bytes = { kind = \"exponential\", mean = 400 }\n\
                      response-bytes = { kind = \"lognormal\", median = 4000, mean = 6000 }\n\
                      think-ms = { kind = \"exponential\", mean = 30 }\nrtt-ms = { kind = \"uniform\", min = 20, max = 60 }\n\
                      from-left = 0.5\n[measure]\nduration = \"100s\"\n";
    bench.file("e.toml", experiment.as_bytes());
    bench.flowloom(&["run", "e.toml", "--pcap", "-o", "r"]).succeeded();
    let capture = bench.json(&["describe", "r/link.pcap", "--json"]);
    let fitted = bench.json(&["fit", "r/link.pcap", "--json"]);
    assert_eq!(fitted["observed_ns"], capture["capture"]["duration_ns"]);
    bench.flowloom(&["fit", "r/link.pcap", "-o", "laws.toml"]).succeeded();
    let written: toml::Table = std::fs::read_to_string(bench.path("laws.toml")).unwrap().parse().unwrap();
    let model = &written["workload"]["model"];
    let rate = model["connections-per-second"].as_float().unwrap();
    let seconds = fitted["observed_ns"].as_f64().unwrap() / 1e9;
    let connections = fitted["connections"].as_f64().unwrap();
    assert!((rate * seconds / connections - 1.0).abs() < 1e-4, "{rate} {seconds} {connections}");
    assert!((rate / 20.0 - 1.0).abs() < 0.08, "{rate}");
    for (key, mean, tolerance) in [
        ("request-bytes", 400.0, 0.08),
        ("response-bytes", 6_000.0, 0.12),
        ("think-ms", 30.0, 0.08),
        ("rtt-ms", 40.0, 0.03),
    ] {
        let law: flowloom::core::distribution::Distribution = model[key].clone().try_into().unwrap();
        assert!((law.mean().unwrap() / mean - 1.0).abs() < tolerance, "{key}: {:?}", law.mean());
    }
    bench.flowloom(&["model", "laws.toml", "-o", "again.parquet"]).succeeded();
    let again = bench.json(&["describe", "again.parquet", "--json"]);
    for end in ["initiator", "acceptor"] {
        let per_second = |described: &Value| {
            let bytes = described["workload"]["payload_bytes"][end].as_f64().unwrap();
            bytes / described["capture"]["duration_ns"].as_f64().unwrap()
        };
        let ratio = per_second(&again) / per_second(&capture);
        assert!((ratio - 1.0).abs() < 0.15, "{end}: {ratio}");
    }
}
