//! What an experiment file says of the path is simulated, recorded and refused if it cannot be.

use flowloom::core::workload::Side;
use flowloom::store::run_folder::RunFolder;
use flowloom::time::Duration;

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
fn what_rules_drew_is_a_table() {
    let bench = bench();
    let rules = "[[network.delay-box]]\nfrom = \"left\"\ndelay = { kind = \"uniform\", min = \"10ms\", max = \"90ms\" }\n\
                 loss = \"2%\"\n[[network.delay-box]]\nport = 1\nrate = \"3mbit\"\n";
    bench.file("e.toml", format!("[workload]\nsource = \"c.pcap\"\n{rules}").as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let rows: Vec<_> = RunFolder::open(&bench.path("r")).unwrap().flows().unwrap().map(Result::unwrap).collect();
    let (sent, answered): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.sender == Side::Initiator);
    assert_eq!((sent.len(), answered.len()), (60, 60));
    assert!(rows.is_sorted_by_key(|row| (row.opened, row.connection)));
    // Initiators are on the left.
    let ms = Duration::from_millis;
    for row in &sent {
        assert_eq!((row.rule, row.loss_ppb, row.rate), (Some(1), 20_000_000, None));
        assert!((ms(10)..ms(90)).contains(&row.delay.unwrap()), "{row:?}");
    }
    let different: std::collections::BTreeSet<_> = sent.iter().map(|row| row.delay).collect();
    assert!(different.len() > 50 && different.last() > Some(&Some(ms(70))), "{different:?}");
    // Packets back have no rule of their own: they get the values of those there.
    assert!(answered.iter().zip(&sent).all(|(back, there)| (back.rule, back.delay) == (there.rule, there.delay)));
}

#[test]
fn a_trace_that_is_none_is_refused_with_its_line() {
    let bench = bench();
    bench.file("link.up", b"1\n2\nthree\n");
    let said = bench.flowloom(&["run", "e.toml", "-o", "a"]);
    said.failed(2, &["error: e.toml:4: network.bottleneck.trace", "link.up:3: not a delivery opportunity: \"three\""]);
    assert!(!bench.path("a").exists());
}
