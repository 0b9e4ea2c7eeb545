//! What an experiment file says of the path is simulated, recorded and refused if it cannot be.

use crate::support::{Bench, Traffic};

const EXPERIMENT: &str = "[workload]\nsource = \"c.pcap\"\n\
    [network.bottleneck]\ntrace = \"link.up\"\npolicer = { rate = \"2mbit\", burst = \"4k\" }\n\
    [network.path]\nloss = \"5%\"\nduplicate = \"1%\"\nreorder = { share = \"2%\", late = \"3ms\" }\n\
    jitter = { kind = \"exponential\", mean = \"2ms\" }\n\
    [[network.delay-box]]\ndelay = { kind = \"lognormal\", median = \"64ms\", mean = \"101ms\" }\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.file("link.up", b"1\n2\n3\n9\n");
    bench.file("e.toml", EXPERIMENT.as_bytes());
    bench
}

#[test]
fn a_rough_path_is_simulated_and_the_same_again() {
    let bench = bench();
    bench.flowloom(&["run", "e.toml", "-o", "a"]).succeeded();
    bench.flowloom(&["run", "e.toml", "-o", "b"]).succeeded();
    for table in ["connections.parquet", "drops.parquet"] {
        let bytes = |folder: &str| std::fs::read(bench.path(&format!("{folder}/{table}"))).unwrap();
        assert_eq!(bytes("a"), bytes("b"), "{table}");
    }
    let text = std::fs::read_to_string(bench.path("a/run.json")).unwrap();
    assert!(text.contains("rate of a trace (its mean is given), policer, impaired path, 1 DelayBox rule"), "{text}");
}

#[test]
fn a_trace_that_is_none_is_refused_with_its_line() {
    let bench = bench();
    bench.file("link.up", b"1\n2\nthree\n");
    let said = bench.flowloom(&["run", "e.toml", "-o", "a"]);
    said.failed(2, &["network.bottleneck.trace", "link.up:3: not a delivery opportunity: \"three\""]);
    assert!(!bench.path("a").exists());
}
