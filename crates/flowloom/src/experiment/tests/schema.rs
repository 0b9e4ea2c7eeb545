//! The schema beside an independent validator, and beside what reads experiments.

use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use crate::experiment::{Experiment, schema};

/// A validator of JSON Schema that is not ours.
pub(super) struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    pub(super) fn new() -> Validator {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("experiment.json", schema().clone()).unwrap();
        let index = compiler.compile("experiment.json", &mut schemas).unwrap();
        Validator { schemas, index }
    }

    pub(super) fn accepts(&self, text: &str) -> Result<(), String> {
        let value: Value = toml::from_str(text).map_err(|error| error.to_string())?;
        self.schemas.validate(&value, self.index).map_err(|error| format!("{error:#}"))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder of the repository whose name ends so.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

#[test]
fn the_schema_accepts_every_experiment_here() {
    let validator = Validator::new();
    let mut found = Vec::new();
    ["examples", "benches"].iter().for_each(|folder| files(&root().join(folder), ".toml", &mut found));
    assert!(found.len() >= 5, "{found:?}");
    for file in found {
        let text = std::fs::read_to_string(&file).unwrap();
        Experiment::parse(&text, "x").unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        validator.accepts(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    let mut pages = Vec::new();
    files(&root().join("docs"), ".md", &mut pages);
    let mut experiments = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for block in text.split("```toml\n").skip(1).filter_map(|block| block.split_once("```")) {
            // Some show rules, or the hosts of a lab.
            if Experiment::parse(block.0, "x").is_ok() {
                experiments += 1;
                validator.accepts(block.0).unwrap_or_else(|error| panic!("{}: {}{error}", page.display(), block.0));
            }
        }
    }
    assert!(experiments >= 10, "{experiments}");
}

/// What is resolved is an experiment too.
#[test]
fn the_schema_accepts_what_is_resolved() {
    let validator = Validator::new();
    for profile in ["plain", "rfc", "bsd-2008", "linux", "classic"] {
        for kind in ["drop-tail", "step", "red", "adaptive-red", "blue", "pi", "rem", "pie", "codel", "fq-codel", "drr"]
        {
            let experiment = Experiment::of("a.pcap")
                .with("network.bottleneck.queue", kind)
                .and_then(|experiment| experiment.with("tcp.profile", profile))
                .unwrap();
            validator.accepts(&experiment.to_toml()).unwrap();
        }
    }
}

/// What no schema can say is left to what reads experiments; all of this it can.
#[test]
fn the_schema_refuses_broken_experiments() {
    let broken = [
        "titel = \"x\"",
        "title = 5",
        "workload = \"a.pcap\"",
        "workload.source = 1",
        "workload.structure = \"a-b-t\"",
        "workload.rtt = 20",
        "workload.rtt = { kind = \"paths\" }",
        "workload.rtt = { kind = \"uniform\", min = \"1ms\", max = \"2\" }",
        "workload.window = \"64\"",
        "workload.lead-in = \"yes\"",
        "workload.model = { kind = \"packmine\", rate = 1.0 }",
        "workload.model = { rate = 1.0 }",
        "workload.load = { method = \"thin\" }",
        "network.topology = \"ring\"",
        "network.hops = 0",
        "network.hops = 1.5",
        "network.bottleneck.rate = \"10mb/s\"",
        "network.bottleneck.rate = \"2mbps\"",
        "network.bottleneck.rate = true",
        "network.bottleneck.delay = \"-1ms\"",
        "network.bottleneck.queue = \"codel\"",
        "network.bottleneck.queue = { kind = \"codel\", min = \"5p\" }",
        "network.bottleneck.queue = { kind = \"red\", max-p = \"0.1\" }",
        "network.bottleneck.queue = { threshold = \"5p\" }",
        "network.bottleneck.shaper = { rate = \"1mbit\" }",
        "network.bottleneck.trace = { from-left = \"a\" }",
        "network.links = [{ name = \"a\", from = \"b\", to = \"c\" }]",
        "network.links = { name = \"a\" }",
        "network.path.loss = 0.01",
        "network.path.loss = { kind = \"gilbert-elliott\", p = \"1%\" }",
        "network.path.jitter = { kind = \"normal\", mean = \"1ms\" }",
        "network.delay-box = [{ from = \"middle\" }]",
        "tcp.congestion = \"cubik\"",
        "tcp.sack = true",
        "tcp.initial-window = -1",
        "tcp.quick-acks = 256",
        "tcp.rto-min = 1",
        "tcp.classes = [{ name = \"a\" }]",
        "sources = [{ name = \"a\" }]",
        "sources = [{ name = \"a\", kind = \"ftp\" }]",
        "sources = [{ name = \"a\", kind = \"cbr\", bytes = \"1k\" }]",
        "measure.window = [\"1s\"]",
        "measure.window = [\"1s\", \"2s\", \"3s\"]",
        "measure.tcp-trace = \"some\"",
        "run.seeds = [-1]",
        "run.seeds = 1",
        "run.seeds = []",
        "run.seeds = [1, 1]",
        "live.hosts = 65",
        "live.devices = \"tap\"",
    ];
    let validator = Validator::new();
    for text in broken {
        assert!(validator.accepts(text).is_err(), "the validator accepts {text}");
        let error = Experiment::parse(text, "x").expect_err(text);
        for error in error.each() {
            assert!(
                error.key.is_some() && error.place.as_ref().is_some_and(|place| place.column.is_some()),
                "{text}: {error:?}"
            );
        }
    }
}

/// Numbers and times that the machines refuse: the schema refuses them, and each is told once.
#[test]
fn the_schema_states_bounds() {
    let queue = |kind: &str, key: &str, value: &str| {
        format!("network.bottleneck.queue = {{ kind = \"{kind}\", {key} = {value} }}")
    };
    let mut refused: Vec<String> = Vec::new();
    for (kinds, keys, values) in [
        (&["red", "adaptive-red"][..], &["max-p", "weight"][..], &["0", "-0.1", "1.1"][..]),
        (&["red", "adaptive-red"], &["mean-packet"], &["0"]),
        (&["adaptive-red"], &["increment", "decrease"], &["0.0", "2"]),
        (&["blue"], &["increment", "decrement"], &["0", "1.5"]),
        (&["pi"], &["a", "b", "frequency"], &["0", "-1", "1e7"]),
        (&["pie"], &["alpha", "beta"], &["0.0", "1e300"]),
        (&["pie"], &["ecn-threshold"], &["0", "1.01"]),
        (&["rem"], &["gamma"], &["0", "1e300"]),
        (&["rem"], &["alpha"], &["0", "1.5"]),
        (&["rem"], &["phi"], &["1", "0.5", "1e300"]),
        (&["fq-codel"], &["flows"], &["0", "1048577"]),
        (&["fq-codel", "drr"], &["quantum"], &["0"]),
        (&["pie", "rem", "adaptive-red", "codel", "fq-codel"], &["interval"], &["\"0ms\"", "\"0.0s\""]),
        (&["blue"], &["freeze-time"], &["\"0ms\""]),
        (&["codel", "fq-codel"], &["ce-threshold"], &["\"0us\""]),
        (&["pie", "codel", "fq-codel", "adaptive-red"], &["target"], &["\"0ms\""]),
        (&["pi", "rem"], &["target"], &["\"0p\"", "\"00p\""]),
    ] {
        for (kind, key, value) in kinds
            .iter()
            .flat_map(|kind| keys.iter().flat_map(move |key| values.iter().map(move |value| (*kind, *key, *value))))
        {
            refused.push(queue(kind, key, value));
        }
    }
    for (keys, values) in [
        (&["measure.duration", "measure.queue-every", "measure.throughput-every"][..], &["\"0ms\"", "\"0.000h\""][..]),
        (&["tcp.rto-min", "tcp.rto-initial"], &["\"0s\""]),
        (&["network.bottleneck.rate"], &["\"0mbit\"", "\"0%\"", "\"0.0 %\""]),
        (&["network.path.loss", "network.path.duplicate"], &["\"101%\"", "\"100.1%\"", "\"-1%\"", "\"1000 %\""]),
        (&["network.path.reorder"], &["{ share = \"1%\", gap = 0 }"]),
        (
            &["workload.load"],
            &[
                "{ method = \"thinning\", factor = 0 }",
                "{ method = \"thinning\", factor = 1e7 }",
                "{ method = \"blocks\", factor = 2, block = \"0s\" }",
                "{ shuffle = \"0s\" }",
            ],
        ),
        (&["sources"], &["[{ name = \"a\", kind = \"cbr\", gap = \"0ms\" }]"]),
    ] {
        for (key, value) in keys.iter().flat_map(|key| values.iter().map(move |value| (*key, *value))) {
            refused.push(format!("{key} = {value}"));
        }
    }
    let validator = Validator::new();
    for text in refused {
        assert!(validator.accepts(&text).is_err(), "the validator accepts {text}");
        let error = Experiment::parse(&text, "x").expect_err(&text);
        assert_eq!(error.each().count(), 1, "{text}: {error}");
    }
}

/// A pattern that refuses what can be read would make editors wrong.
#[test]
fn patterns_accept_what_is_read() {
    let validator = Validator::new();
    for (key, values) in [
        ("measure.duration", &["1s", "1.5 min", ".5h", "7.ms", "3US", "10ns"][..]),
        (
            "network.bottleneck.rate",
            &[
                "auto",
                "105%",
                "0.5 %",
                "unlimited",
                "10MBIT",
                "1.5 gbit",
                "64Kbps",
                "2 Mbit/s",
                "2Mb",
                "2Mb/s",
                "2M",
                "2k",
                "3MB/s",
            ],
        ),
        ("network.bottleneck.queue.limit", &["10p", "64k", "1.5mb", "3000B"]),
        ("workload.window", &["measured", "64k", "512m"]),
        ("workload.rtt", &["usernet", "nodelay", "30-path", "80ms", "ibm-mean"]),
        ("measure.queue-every", &["1us", "10.0ms", "0.5ms", ".05s", "007ms", "0010us"]),
        (
            "network.path.loss",
            &["1%", "0%", "1e-3%", "100 %", "100.0%", "99.99%", ".5%", "0.0%", "+5%", "1E-1%", "007%"],
        ),
        ("tcp.dctcp-gain", &["1/16", "0.0625", "+00.062500"]),
        ("tcp.delayed-ack", &["off", "40ms"]),
        ("tcp.receive-buffer", &["off", "128k"]),
    ] {
        for value in values {
            let text = format!("{key} = \"{value}\"");
            Experiment::parse(&text, "x").unwrap_or_else(|error| panic!("{error}"));
            validator.accepts(&text).unwrap();
        }
    }
}

/// A number without quotes is a rate in bit/s: in keys, in distributions, and as it is written again.
#[test]
fn plain_numbers_are_bits_per_second() {
    let validator = Validator::new();
    for text in
        ["network.bottleneck.rate = 2000000", "network.bottleneck.rate = 2e6", "network.bottleneck.rate = \"2 Mbit/s\""]
    {
        validator.accepts(text).unwrap();
        let experiment = Experiment::parse(text, "x").unwrap_or_else(|error| panic!("{text}: {error}"));
        let rate = "2mbit".parse().unwrap();
        assert_eq!(experiment.network.bottleneck.rate.value, rate, "{text}");
        let again = Experiment::parse(&experiment.to_toml(), "again").unwrap();
        assert_eq!(again.network.bottleneck.rate.value, rate, "{text}");
    }
    let drawn = "network.delay-box = [{ from = \"left\", rate = { kind = \"uniform\", min = 1e6, max = \"2M\" } }]";
    validator.accepts(drawn).unwrap();
    Experiment::parse(drawn, "x").unwrap_or_else(|error| panic!("{error}"));
    let constant = "network.delay-box = [{ from = \"left\", rate = 1000000 }]";
    validator.accepts(constant).unwrap();
    Experiment::parse(constant, "x").unwrap_or_else(|error| panic!("{error}"));
    // A time has no unit to guess, and no rate is below what links have.
    for wrong in ["network.bottleneck.delay = 20", "network.bottleneck.rate = -2000000", "network.bottleneck.rate = 10"]
    {
        Experiment::parse(wrong, "x").expect_err(wrong);
    }
}

/// The schema and the reader of experiments agree about values just outside of what is possible.
#[test]
fn the_schema_and_the_reader_refuse_the_same() {
    let mut refused: Vec<String> = Vec::new();
    let on_off = |rate: &str| {
        format!(
            "workload.model = {{ kind = \"on-off\", sources = 1, on = {{ mean-s = 1, shape = 1.5 }}, \
             off = {{ mean-s = 1, shape = 1.5 }}, rate = {rate} }}"
        )
    };
    let exchanges = |keys: &str| {
        format!("workload.model = {{ kind = \"exchanges\", connections-per-second = 1, rtt-ms = 1, {keys} }}")
    };
    let misc = |keys: &str| format!("workload.model = {{ kind = \"tcplib-misc\", {keys} }}");
    let netspec = |traffic: &str| {
        format!("workload.model = {{ kind = \"netspec\", sources = [{{ protocol = \"tcp\", traffic = {traffic} }}] }}")
    };
    refused.extend(["0", "-1", "1e300", "\"0.4bit\""].map(on_off));
    refused.extend([
        exchanges("request-bytes = -1, response-bytes = 1"),
        exchanges("request-bytes = 0, response-bytes = 1"),
        exchanges("request-bytes = 1, response-bytes = 0.5"),
        exchanges("request-bytes = 1, response-bytes = 1, think-ms = -1"),
        misc("packets = 0, packet-gap-s = 1, bytes = 1"),
        misc("packets = 1, packet-gap-s = 0, bytes = 1"),
        misc("packets = 1, packet-gap-s = 1, bytes = 0"),
        misc("packets = 1, packet-gap-s = 1, bytes = 1, gap-s = -1"),
        netspec("{ type = \"burst\", blocksize = -1, period = 1 }"),
        netspec("{ type = \"burst\", blocksize = 1, period = 0 }"),
        netspec("{ type = \"burst\", blocksize = { function = \"x\" }, period = 1 }"),
    ]);
    for (key, values) in [
        ("workload.model", &["{ kind = \"swing\", config = \"a\", sessions-per-second = 0 }"][..]),
        ("workload.model", &["{ kind = \"swing\", config = \"a\", sessions-per-second = 1000001 }"]),
        ("workload.model", &["{ kind = \"harpoon\", sessions = 1, gap-ms = 1, file-bytes = 1, clients = [\"x\"] }"]),
        ("workload.load", &["{ target = 0 }", "{ target = -1 }"]),
        ("workload.rtt", &["\"usernett\"", "\"off\"", "\"1e9\"", "\"0-path\"", "\"1048577-path\""]),
        ("sources", &["[{ name = \"a\", kind = \"cbr\", rate = \"unlimited\" }]"]),
        ("sources", &["[{ name = \"a\", kind = \"cbr\", rate = \"100tbit\" }]"]),
        ("sources", &["[{ name = \"a\", kind = \"cbr\", rate = \"12gbit\" }]"]),
        ("network.delay-box", &["[{ subset = 10000000000000000000 }]"]),
        ("workload.rtt", &["\"61min\"", "{ kind = \"paths\", paths = 3, trim = \"50%\" }"]),
        ("workload.rtt", &["{ kind = \"published\", name = \"unc-maen\" }"]),
        ("workload.window", &["\"0.5b\""]),
        ("network.bottleneck.shaper", &["{ rate = \"unlimited\", burst = \"64k\" }"]),
        ("network.delay-box", &["[{ rate = \"unlimited\" }]", "[{ rate = 99.5 }]"]),
        ("network.bottleneck.rate", &["99.5", "\"99.5bit\""]),
        ("network.bottleneck.queue", &["{ kind = \"drop-tail\", limit = \"1513.5b\" }"]),
        ("network.path.loss", &["\"1.0000001e2%\"", "\"1e400%\"", "\"1e1%\"", "\"5\\t%\"", "\"1000e-1%\""]),
        ("tcp.dctcp-gain", &["\"1e-1\"", "\"6.25e-2\"", "\"0.06250000000000000000000001\"", "\"0\"", "\"1/3\""]),
        ("tcp.receive-buffer", &["\"4095.5b\""]),
        (
            "tcp.classes",
            &["[{ name = \"a\", port = 1, tcp.classes = [{ name = \"b\", port = 2, tcp.sack = \"on\" }] }]"],
        ),
        (
            "sources",
            &["[{ name = \"a\", kind = \"bulk\", tcp.classes = [{ name = \"b\", port = 2, tcp.sack = \"on\" }] }]"],
        ),
        ("measure.drain", &["\"60000000000.4ns\"", "\"60.0000000000000001s\""]),
        ("measure.duration", &["\"0.9ns\""]),
        ("live.tick", &["\"9999.6ns\""]),
    ] {
        refused.extend(values.iter().map(|value| format!("{key} = {value}")));
    }
    let validator = Validator::new();
    let mut wrong = Vec::new();
    for text in refused {
        wrong.extend(validator.accepts(&text).ok().map(|()| format!("accepted by the schema: {text}")));
        wrong.extend(Experiment::parse(&text, "x").ok().map(|_| format!("read: {text}")));
    }
    for text in [
        "tcp.initial-window = 10.0",
        "measure.drain = \"59.9999999995s\"",
        "network.bottleneck.queue = { kind = \"drop-tail\", limit = \"1.5k\" }",
        "network.path.loss = \"99.999e-1%\"",
        "network.delay-box = [{ rate = 100 }]",
        "workload.rtt = { kind = \"paths\", paths = 3, trim = \"49.9%\" }",
        "workload.rtt = { kind = \"paths\", paths = 4.0 }",
        "workload.rtt = \"1048576-path\"",
    ] {
        wrong.extend(validator.accepts(text).err().map(|error| format!("refused by the schema: {text}{error}")));
        wrong.extend(Experiment::parse(text, "x").err().map(|error| format!("refused: {text}{error}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A word that is nearly right has a hint, and its own place.
#[test]
fn near_words_are_named() {
    for (text, column, meant) in [
        ("workload.rtt = \"usernett\"", 16, "usernet"),
        ("workload.rtt = { kind = \"published\", name = \"unc-maen\" }", 45, "unc-mean"),
        ("measure.monitor = [\"botleneck\"]", 20, "bottleneck"),
        (
            "workload.model.sources = [{ protocol = \"tcp\", traffic = { type = \"burst\", period = 1, blocksize.function = \"ftpItemSise\" } }]\nworkload.model.kind = \"netspec\"",
            108,
            "ftpItemSize",
        ),
    ] {
        let error = Experiment::parse(text, "x").unwrap_err();
        let place = error.place.as_ref().unwrap();
        assert_eq!((place.line, place.column), (Some(1), Some(column)), "{error}");
        assert!(error.to_string().contains(meant), "{error}");
        assert!(error.others.is_empty(), "{error}");
    }
    let error = Experiment::parse("workload.prefill = \"5124096h\"", "x").unwrap_err();
    assert!(error.cause.contains("\"5124096h\" is too large for a time"), "{error}");
    let error = Experiment::parse("measure.duration = \"876001h\"", "x").unwrap_err();
    assert!(error.cause.contains("876001h is too long (at most 876000h)"), "{error}");
}
