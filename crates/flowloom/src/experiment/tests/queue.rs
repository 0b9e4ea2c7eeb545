use flowloom_core::queue::keys::Queue;

use crate::error::by_line;
use crate::experiment::Experiment;

fn queue(keys: &str) -> Result<Queue, String> {
    let text = format!("[network.bottleneck]\nrate = \"10mbit\"\n\n[network.bottleneck.queue]\n{keys}\n");
    Experiment::parse(&text, "x.toml").map(|e| e.network.bottleneck.queue).map_err(by_line)
}

#[test]
fn every_kind_reads_with_its_keys_and_is_written_with_its_defaults() {
    for (keys, shown) in [
        ("kind = \"drop-tail\"", "drop-tail 65000p"),
        ("kind = \"head-drop\"\nlimit = \"64k\"", "head-drop 64k"),
        (
            "kind = \"red\"\nmin = \"50p\"\nmax = \"150p\"\nmax-p = 0.1\nweight = 0.002\ngentle = true\necn = true",
            "red 65000p",
        ),
        (
            "kind = \"red\"\nmin = \"20p\"\nmax = \"20p\"\nweight = 1\necn = true\nabove-max = \"drop\"",
            "red 65000p, above-max drop",
        ),
        ("kind = \"step\"", "step 65000p"),
        ("kind = \"step\"\nthreshold = \"40p\"\nlimit = \"200p\"", "step 200p, threshold 40p"),
        ("kind = \"step\"\nthreshold = \"64k\"\nat = \"dequeue\"", "step 65000p, at dequeue, threshold 64k"),
        ("kind = \"codel\"\nce-threshold = \"1ms\"", "codel 65000p, ce-threshold 1ms"),
        ("kind = \"fq-codel\"\nce-threshold = \"80us\"\necn = false", "fq-codel 10240p, ce-threshold 80us"),
        ("kind = \"adaptive-red\"\nabove-max = \"mark\"", "adaptive-red 65000p, above-max mark"),
        ("kind = \"adaptive-red\"\ntarget = \"5ms\"\ninterval = \"0.5s\"\nmin = \"9p\"", "adaptive-red 65000p"),
        ("kind = \"blue\"\nfreeze-time = \"10ms\"\nthreshold = \"90p\"", "blue 65000p"),
        ("kind = \"pi\"\ntarget = \"50p\"", "pi 65000p, target 50p"),
        ("kind = \"rem\"\ninterval = \"1ms\"", "rem 65000p, interval 1ms"),
        ("kind = \"pie\"\nestimator = \"departure-rate\"\nlimit = \"1000p\"", "pie 1000p, estimator departure-rate"),
        ("kind = \"codel\"\ntarget = \"10ms\"\necn = true", "codel 65000p"),
        ("kind = \"fq-codel\"", "fq-codel 10240p"),
        ("kind = \"drr\"\nquantum = 500", "drr 65000p, quantum 500"),
        ("kind = \"round-robin\"", "round-robin 65000p"),
        ("kind = \"priority\"\nbands = 2", "priority 65000p, bands 2"),
    ] {
        let read = queue(keys).unwrap();
        assert!(read.to_string().starts_with(shown), "{read}");
        let resolved = read.resolved();
        assert_eq!(resolved.discipline(), read.discipline(), "{keys}");
        let written = toml::to_string(&resolved).unwrap();
        assert_eq!(queue(&written).as_ref(), Ok(&resolved), "{written}");
    }
}

#[test]
fn what_is_wrong_is_said_with_key_and_line() {
    for (keys, wanted) in [
        ("kind = \"rde\"", "x.toml:5: network.bottleneck.queue.kind: unknown word \"rde\""),
        ("kind = \"red\"\nmni = \"5p\"", "x.toml:6: unknown key \"mni\""),
        ("kind = \"red\"\nmin = \"5\"", "x.toml:6: network.bottleneck.queue.min: \"5\" is not a queue limit"),
        (
            "kind = \"red\"\nmax = \"50p\"\nmin = \"150p\"",
            "x.toml:7: network.bottleneck.queue.min of 150p must not be above max of 50p",
        ),
        ("kind = \"red\"\nmax = \"9k\"", "x.toml:6: network.bottleneck.queue.max of 9216b has not the unit of min, 5p"),
        (
            "kind = \"red\"\nmax-p = 1.5",
            "x.toml:6: network.bottleneck.queue.max-p of 1.5 must be above 0 and at most 1",
        ),
        ("kind = \"red\"\nweight = 0", "x.toml:6"),
        ("kind = \"red\"\nlimit = \"0p\"", "x.toml:6: network.bottleneck.queue.limit must hold at least one packet"),
        ("limit = \"1000b\"", "x.toml:5: network.bottleneck.queue.limit must hold at least one packet"),
        ("kind = \"codel\"\nmin = \"5p\"", "x.toml:6: network.bottleneck.queue.min is not a key of codel"),
        ("kind = \"drop-tail\"\necn = true", "x.toml:6: network.bottleneck.queue.ecn is not a key of drop-tail"),
        (
            "kind = \"pi\"\ntarget = \"5ms\"",
            "x.toml:6: network.bottleneck.queue.target of pi is a number of packets, like 200p",
        ),
        ("kind = \"pie\"\ntarget = \"5p\"", "x.toml:6: network.bottleneck.queue.target of pie is a delay, like 15ms"),
        (
            "kind = \"pie\"\ntarget = \"soon\"",
            "x.toml:6: network.bottleneck.queue.target: \"soon\" is not a delay or a number of packets",
        ),
        (
            "kind = \"codel\"\ntarget = \"1s\"",
            "x.toml:6: network.bottleneck.queue.target of 1.00 s must be below interval",
        ),
        (
            "kind = \"fq-codel\"\nmemory = \"9p\"",
            "x.toml:6: network.bottleneck.queue.memory: \"9p\" is not a number of bytes",
        ),
        ("kind = \"fq-codel\"\nflows = 0", "x.toml:6: network.bottleneck.queue.flows of 0 must be from 1 to 1048576"),
        (
            "kind = \"step\"\nthreshold = \"40p\"\nlimit = \"40p\"",
            "x.toml:7: network.bottleneck.queue.limit of 40p is too short for threshold, which is 40p: the queue never",
        ),
        (
            "kind = \"step\"\nthreshold = \"40p\"\nlimit = \"41p\"\nat = \"dequeue\"",
            "x.toml:7: network.bottleneck.queue.limit of 41p is too short for threshold, which is 40p: no packet",
        ),
        ("kind = \"step\"\nthreshold = \"0p\"", "x.toml:6: network.bottleneck.queue.threshold must be above zero"),
        (
            "kind = \"step\"\nthreshold = \"1ms\"",
            "x.toml:6: network.bottleneck.queue.threshold: \"1ms\" is not a queue limit",
        ),
        ("kind = \"step\"\nat = \"arrival\"", "x.toml:6: network.bottleneck.queue.at: unknown word \"arrival\""),
        ("kind = \"step\"\necn = true", "x.toml:6: network.bottleneck.queue.ecn is not a key of step"),
        (
            "kind = \"drop-tail\"\nthreshold = \"9p\"",
            "x.toml:6: network.bottleneck.queue.threshold is not a key of drop-tail",
        ),
        (
            "kind = \"codel\"\nce-threshold = \"0ms\"",
            "x.toml:6: network.bottleneck.queue.ce-threshold must be above zero",
        ),
        (
            "kind = \"fq-codel\"\nce-threshold = \"5p\"",
            "x.toml:6: network.bottleneck.queue.ce-threshold: \"5p\" is not a",
        ),
        (
            "kind = \"pie\"\nce-threshold = \"1ms\"",
            "x.toml:6: network.bottleneck.queue.ce-threshold is not a key of pie",
        ),
        ("kind = \"red\"\nabove-max = \"keep\"", "x.toml:6: network.bottleneck.queue.above-max: unknown word \"keep\""),
        ("kind = \"blue\"\nabove-max = \"drop\"", "x.toml:6: network.bottleneck.queue.above-max is not a key of blue"),
        ("kind = \"drr\"\nquantum = -1", "x.toml:6"),
        ("kind = \"priority\"\nbands = 0", "x.toml:6: network.bottleneck.queue.bands must be above zero"),
        (
            "kind = \"red\"\nlimit = \"12p\"",
            "x.toml:6: network.bottleneck.queue.limit of 12p is below max, which is 15p",
        ),
    ] {
        let message = queue(keys).unwrap_err();
        assert!(message.contains(wanted), "{keys:?} gave {message}");
    }
    let inline = "[network]\nbottleneck = { rate = \"1mbit\",\n  queue = { kind = \"red\",\n  min = \"20p\" } }\n";
    let message = by_line(Experiment::parse(inline, "x.toml").unwrap_err());
    assert!(message.contains("x.toml:4: network.bottleneck.queue.min of 20p"), "{message}");
}
