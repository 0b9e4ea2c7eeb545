//! Experiments that cannot mean anything are refused before anything is read, with file, line and key.

use crate::support::{Bench, without_columns};

const WORKLOAD: &str = "[workload]\nsource = \"none.parquet\"\n";

/// Two links in a row; the second has its keys from line 10 on.
const GRAPH: &str = r#"[network]
topology = "graph"
ends = { left = "a", right = "c" }
[network.bottleneck]
from = "a"
to = "b"
rate = "10mbit"
[[network.links]]
name = "tail"
from = "b"
to = "c"
rate = "5mbit"
"#;

/// Runs an experiment that must be refused with `e.toml:LINE:COLUMN: ` and `wanted`.
#[track_caller]
fn refused(bench: &Bench, text: &str, line: usize, wanted: &str) {
    bench.file("e.toml", format!("{WORKLOAD}{text}").as_bytes());
    let said = bench.flowloom(&["run", "e.toml", "-o", "r"]);
    said.failed(2, &[]);
    let wanted = format!("error: e.toml:{line}: {wanted}");
    let err = without_columns(&said.err);
    assert!(err.starts_with(&wanted), "{text}\nwas to be refused with\n{wanted}\nand was with\n{}", said.err);
    // The line itself follows, and a pointer.
    let shown = format!("{WORKLOAD}{text}").lines().nth(line - 1).map(str::to_owned).unwrap_or_default();
    let shown: Vec<&str> = said.err.lines().skip(1).take(2).filter(|line| line.trim() == shown.trim()).collect();
    assert_eq!(shown.len(), 1, "{}", said.err);
    assert_eq!(bench.names(), ["e.toml"], "nothing is made");
}

#[test]
fn links_that_cannot_be() {
    let bench = Bench::new();
    for (keys, wanted) in [
        ("rate = \"-5mbit\"", "rate: \"-5mbit\" is not a rate"),
        ("rate = \"0mbit\"", "rate: \"0mbit\" is not a rate above zero"),
        ("rate = \"10\"", "rate: \"10\" is not a rate"),
        ("rate = \"9bit\"", "rate of 9bit is too slow (at least 100 bit/s)"),
        ("rate = \"1000tbit\"", "rate of 1000tbit is too fast (at most 100 Tbit/s"),
        ("rate = \"1e400mbit\"", "rate: \"1e400mbit\" is not a rate"),
        ("rate = \"-5%\"", "rate: \"-5%\" is not a rate or a share of the offered load"),
        ("rate = \"1e30%\"", "rate: \"1e30%\" is not a rate or a share of the offered load"),
        ("delay = \"-1ms\"", "delay: \"-1ms\" is not a time"),
        ("delay = \"2h\"", "delay of 2h is too long"),
        ("queue = { limit = \"0p\" }", "queue.limit must hold at least one packet of 1514 bytes"),
        ("queue = { limit = \"1513b\" }", "queue.limit must hold at least one packet of 1514 bytes"),
        ("queue = { limit = \"-5p\" }", "queue.limit: \"-5p\" is not a queue limit"),
        ("queue = { kind = \"fqcodel\" }", "queue.kind: unknown word \"fqcodel\""),
        ("queue = { kind = \"red\", min = \"15p\", max = \"5p\" }", "queue.min of 15p must not be above max of 5p"),
        (
            "queue = { kind = \"step\", threshold = \"20p\", limit = \"20p\" }",
            "queue.limit of 20p is too short for threshold",
        ),
        ("queue = { kind = \"step\", threshold = \"0b\" }", "queue.threshold must be above zero"),
        ("queue = { kind = \"step\", at = \"both\" }", "queue.at: unknown word \"both\""),
        ("queue = { kind = \"codel\", ce-threshold = \"0s\" }", "queue.ce-threshold must be above zero"),
        ("queue = { kind = \"codel\", threshold = \"9p\" }", "queue.threshold is not a key of codel"),
        ("queue = { kind = \"red\", max = \"50p\", limit = \"40p\" }", "queue.limit of 40p is below max, which is 50p"),
        ("queue = { kind = \"red\", min = \"9k\", max = \"2m\", limit = \"20p\" }", "queue.limit of 20p is below max"),
        (
            "queue = { kind = \"adaptive-red\", min = \"50p\", limit = \"49p\" }",
            "queue.limit of 49p is below min, which is 50p",
        ),
        (
            "queue = { kind = \"adaptive-red\", target = \"0ms\" }",
            "queue.target: \"0ms\" is not a delay or a number of packets above zero",
        ),
        ("queue = { kind = \"pi\", limit = \"150p\" }", "queue.limit of 150p is below target, which is 200p"),
        ("queue = { kind = \"pi\", frequency = 1e30 }", "queue.frequency of 1e30 must be above 0 and at most 1000000"),
        ("queue = { kind = \"rem\", target = \"20p\", limit = \"10p\" }", "queue.limit of 10p is below target"),
        ("queue = { kind = \"blue\", threshold = \"9p\", limit = \"8p\" }", "queue.limit of 8p is below threshold"),
        ("queue = { kind = \"red\", max-p = -0.1 }", "queue.max-p of -0.1 must be above 0 and at most 1"),
        ("queue = { kind = \"codel\", target = \"2s\" }", "queue.target of 2.00 s must be below interval"),
        ("queue = { kind = \"drop-tail\", min = \"5p\" }", "queue.min is not a key of drop-tail"),
        ("shaper = { rate = \"-1mbit\", burst = \"32k\" }", "shaper.rate: \"-1mbit\" is not a rate"),
        ("shaper = { rate = \"5bit\", burst = \"32k\" }", "shaper.rate of 5bit must be between 100bit"),
        ("policer = { rate = \"1mbit\", burst = \"100b\" }", "policer.burst of 100b must be between 1514b"),
    ] {
        refused(&bench, &format!("[network.bottleneck]\n{keys}\n"), 4, &format!("network.bottleneck.{wanted}"));
        let graph = match keys.starts_with("rate") {
            true => GRAPH.replace("rate = \"5mbit\"", keys),
            false => format!("{GRAPH}{keys}\n"),
        };
        let line = if keys.starts_with("rate") { 14 } else { 15 };
        refused(&bench, &graph, line, &format!("network.links[0].{wanted}"));
    }
}

#[test]
fn networks_that_do_not_hang_together() {
    let bench = Bench::new();
    let route =
        |from: &str, via: &str| format!("{GRAPH}[[network.routes]]\nfrom = \"{from}\"\nto = \"c\"\nvia = [{via}]\n");
    let link = |name: &str, from: &str, to: &str| {
        format!("{GRAPH}[[network.links]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1mbit\"\n")
    };
    for (text, line, wanted) in [
        (GRAPH.replace("right = \"c\"", "right = \"z\""), 5, "network.ends.right: there is no node z"),
        (GRAPH.replace("left = \"a\"", "left = \"c\""), 5, "network.ends.right is c, as the left one is"),
        (GRAPH.replace("name", "one-way = true\nname"), 5, "network.ends: no way leads from c to a"),
        (GRAPH.replace("ends", "#"), 3, "network.ends is missing"),
        (link("x", "p", "q"), 15, "network.links[1]: no link joins p to the rest of the network"),
        (link("x", "b", "b"), 15, "network.links[1]: link x joins b with itself"),
        (link("tail", "b", "c"), 15, "network.links[1]: there are two links named tail"),
        (link("a b", "b", "c"), 16, "network.links[1].name: a link is named \"a b\""),
        (route("a", "\"b\", \"a\""), 15, "network.routes[0]: the route from a to c comes to a twice"),
        (route("a", "\"c\", \"b\""), 15, "network.routes[0]: the route from a to c comes to c twice"),
        (route("a", "\"z\""), 15, "network.routes[0]: there is no node z"),
        (route("a", ""), 15, "network.routes[0]: the route from a to c goes from a to c, and no link joins"),
        (
            format!("{}[[network.routes]]\nfrom = \"a\"\nto = \"c\"\nvia = [\"b\"]\n", route("a", "\"b\"")),
            19,
            "network.routes[1]: there are two routes from a to c",
        ),
        ("[network]\ntopology = \"parking-lot\"\nhops = 0\n".into(), 5, "network.hops of 0 must be between 1"),
        ("[network]\nhops = 3\n".into(), 4, "network.hops is of networks with topology = \"parking-lot\""),
        ("[network]\ntopology = \"star\"\n".into(), 4, "network.topology: unknown word \"star\""),
    ] {
        refused(&bench, &text, line, wanted);
    }
}

#[test]
fn everything_else_that_cannot_be() {
    let bench = Bench::new();
    for (section, key, wanted) in [
        ("tcp", "congestion = \"cubik\"", "tcp.congestion: unknown word \"cubik\""),
        ("tcp", "profile = \"windows\"", "tcp.profile: unknown word \"windows\""),
        ("tcp", "initial-window = -1", "tcp.initial-window of -1 must be between 0 and 1000"),
        ("tcp", "initial-window = 5000", "tcp.initial-window of 5000 segments is above 1000"),
        ("tcp", "rto-min = \"0ms\"", "tcp.rto-min must be above zero"),
        ("tcp", "rto-min = \"3h\"", "tcp.rto-min of 3h is above the longest timeout"),
        ("tcp", "delayed-ack = \"10s\"", "tcp.delayed-ack of 10s is too long (at most 500ms"),
        ("tcp", "ecn = true", "tcp.ecn: expected \"off\" or \"on\", found true"),
        ("tcp", "sack = 1", "tcp.sack: expected \"off\" or"),
        ("tcp", "mss = 100", "unknown key \"mss\""),
        ("measure", "queue-every = \"0ms\"", "measure.queue-every must be above zero"),
        ("measure", "throughput-every = \"1ns\"", "measure.throughput-every of 1ns is too short"),
        ("measure", "drain = \"2h\"", "measure.drain of 2h is too long"),
        ("measure", "duration = \"900000h\"", "measure.duration of 900000h is too long"),
        ("measure", "window = [\"2s\", \"1s\"]", "measure.window ends at 1s, which is not after its start at 2s"),
        ("measure", "monitor = [\"tail\"]", "measure.monitor[0]: there is no link tail (known: bottleneck)"),
        ("run", "seeds = []", "run.seeds is empty: nothing to run"),
        ("run", "seeds = [1, 1]", "run.seeds holds 1 twice"),
        ("run", "seeds = [-1]", "run.seeds[0] of -1 must be between 0 and 9223372036854775807"),
        ("network.path", "loss = \"150%\"", "network.path.loss: \"150%\" is not a share of 0% to 100%"),
        ("network.path", "loss = { kind = \"list\", packets = [\"8-5\"] }", "network.path.loss: 8-5 is no interval"),
        ("network.path", "loss = { kind = \"list\", packets = [1.5] }", "network.path.loss.packets[0]: expected"),
        ("network.bottleneck", "trace = 5", "network.bottleneck.trace: expected a text in quotes or a table"),
        ("network.path", "jitter = \"2h\"", "network.path.jitter: 2h is too long"),
        (
            "network.path",
            "jitter = { kind = \"pareto\", min = \"1ms\", shape = 0.0 }",
            "network.path.jitter.shape of 0.0 must be above 0",
        ),
        ("[network.delay-box]", "delay = \"-1ms\"", "network.delay-box[0].delay: \"-1ms\" is not a time"),
        ("[network.delay-box]", "rate = \"5bit\"", "network.delay-box[0].rate: 5bit is too slow"),
        ("workload.waits", "min = \"-1ms\"", "workload.waits.min: \"-1ms\" is not a time"),
    ] {
        refused(&bench, &format!("[{section}]\n{key}\n"), 4, wanted);
    }
    let rules = "[[network.delay-box]]\ndelay = \"5ms\"\n[[network.delay-box]]\n";
    refused(&bench, &format!("{rules}port = 443\n"), 5, "network.delay-box[1] changes nothing");
    refused(&bench, &format!("{rules}loss = \"-1%\"\n"), 6, "network.delay-box[1].loss: \"-1%\" is not a share");
}

#[test]
fn options_that_cannot_be_are_named_by_their_key() {
    let bench = Bench::new();
    for (option, value, words) in [
        ("--rate", "-5mbit", ["--rate", "is not a rate"]),
        ("--rate", "9bit", ["network.bottleneck.rate", "too slow"]),
        ("--delay", "2h", ["network.bottleneck.delay", "too long"]),
        ("--queue", "100b", ["network.bottleneck.queue.limit", "at least one packet"]),
        ("--duration", "0s", ["measure.duration", "above zero"]),
    ] {
        bench.flowloom(&["run", "none.parquet", "-o", "r", option, value]).failed(2, &words);
    }
    assert!(bench.names().is_empty());
}

#[test]
fn all_that_is_wrong_with_a_load_is_told() {
    let bench = Bench::new();
    let load = "method = \"thinning\"\nfactor = 3.0\ntarget = \"5mbit\"\nblock = \"5s\"\nduration = \"1s\"\n";
    bench.file("e.toml", format!("[workload]\nsource = \"c.pcap\"\n[workload.load]\n{load}").as_bytes());
    let words =
        ["load.factor and target both say", "load.block is a key of method", "load.duration is a key of the methods"];
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(2, &words);
}

#[test]
fn unknown_keys_in_lists_name_their_table() {
    let bench = Bench::new();
    bench.file("e.toml", b"[[tcp.classes]]\nname = \"a\"\nshare = \"5%\"\ntcp.sack = \"on\"\n[[tcp.classes]]\nname = \"b\"\nshare = \"5%\"\ntcp.mss = 5\n");
    bench.flowloom(&["run", "e.toml", "-o", "r"]).failed(2, &["e.toml:8: unknown key \"mss\" in tcp.classes[1].tcp"]);
}

#[test]
fn texts_that_are_not_utf8_have_a_place() {
    let bench = Bench::new();
    bench.file("rules.toml", b"[[rule]]\nmetric = \"\xff\"\n");
    bench
        .flowloom(&["compare", "r", "s", "--check", "rules.toml"])
        .failed(2, &["rules.toml:2:11: this is not UTF-8", "0xff at offset 19"]);
    bench.file("trace", b"1\n\xfe\n");
    bench.file("t.toml", b"measure.duration = \"1s\"\nnetwork.bottleneck.trace = \"trace\"\n[[sources]]\nname = \"s\"\nkind = \"bulk\"\n");
    bench
        .flowloom(&["run", "t.toml", "-o", "r"])
        .failed(2, &["trace:2: this is not UTF-8 text: byte 0xfe at offset 2"]);
}
