//! Files that are odd: whatever is wrong is told once, at its place, and nothing makes the reader panic.

use std::collections::BTreeSet;

use crate::experiment::Experiment;

/// Errors as `line:column key`, without keys where there is none.
fn told(text: &str) -> Vec<String> {
    let Err(error) = Experiment::parse(text, "x") else { return Vec::new() };
    let lines: Vec<&str> = text.split('\n').collect();
    let mut seen = BTreeSet::new();
    let mut before = (0, 0);
    let told = error.each().filter(|one| one.place.as_ref().is_some_and(|place| place.line.is_some())).map(|one| {
        let place = one.place.as_deref().unwrap();
        let (line, column) = (place.line.unwrap_or(0), place.column.unwrap_or(0));
        let key = one.key.as_deref().unwrap_or("-");
        assert!((1..=lines.len()).contains(&line), "{text:?}: line {line}: {error}");
        let length = lines[line - 1].trim_start_matches('\u{feff}').chars().count();
        assert!((1..=length + 1).contains(&column), "{text:?}: column {column}: {error}");
        assert!(before <= (line, column), "{text:?}: not in the order of the file: {error}");
        before = (line, column);
        assert!(seen.insert((before, one.key.clone())), "{text:?}: told twice: {error}");
        assert!(!one.cause.is_empty() && !one.cause.contains('\n'), "{text:?}: {:?}", one.cause);
        format!("{line}:{column} {key}")
    });
    told.collect()
}

const QUEUE: &str = "network.bottleneck.queue";

#[test]
fn places_are_those_of_keys_and_values() {
    let mut wrong = Vec::new();
    for (text, wanted) in [
        // Dotted keys, headers, inline tables and mixtures of them.
        ("network.bottleneck.queue.mni = \"5p\"", &["1:26 network.bottleneck.queue.mni"][..]),
        ("network.bottleneck.qeue.min = \"5p\"", &["1:20 network.bottleneck.qeue"]),
        ("[network]\nbottleneck.queue.kind = \"cdel\"", &["2:25 network.bottleneck.queue.kind"]),
        ("[network.bottleneck]\nqueue = { kind = \"codel\",\n min = \"5p\" }", &["3:2 network.bottleneck.queue.min"]),
        ("[network.bottleneck.queue]\n[network.bottleneck.quue]", &["2:21 network.bottleneck.quue"]),
        ("network.bottleneck.shaper.rate = \"1mbit\"", &["1:20 network.bottleneck.shaper.burst"]),
        ("[network.bottleneck.shaper]\nrate = \"1mbit\"", &["1:1 network.bottleneck.shaper.burst"]),
        ("[network.bottleneck]\nshaper = { rate = \"1mbit\" }", &["2:10 network.bottleneck.shaper.burst"]),
        // Lists of tables.
        ("[[sources]]\nname = \"a\"\n\n[[sources]]\nkind = \"bulk\"", &["1:1 sources[0].kind", "4:1 sources[1].name"]),
        (
            "sources = [\n {name = \"a\", kind = \"bulk\"},\n {name = \"b\", kind = \"bulk\", mss = 1}]",
            &["3:36 sources[1].mss"],
        ),
        ("[[sources]]\nname = \"a\"\nkind = \"bulk\"\n[sources.tcp]\nsak = \"on\"", &["5:1 sources[0].tcp.sak"]),
        (
            "[[sources]]\nname = \"a\"\nkind = \"bulk\"\n[[sources]]\nname = \"a\"\nkind = \"bulk\"",
            &["5:1 sources[1].name"],
        ),
        ("sources = [5, \"a\", []]", &["1:12 sources[0]", "1:15 sources[1]", "1:20 sources[2]"]),
        ("sources = { name = \"a\" }", &["1:11 sources"]),
        ("[sources]\nname = \"a\"", &["1:1 sources"]),
        ("[[network]]\nhops = 3", &["1:1 network"]),
        ("[[network.path.from-left]]\nloss = \"1%\"", &["1:1 network.path.from-left"]),
        ("[tcp]\nclasses = [{ name = \"a b\", port = 80, tcp = {} }]", &["2:14 tcp.classes[0].name"]),
        // Items of lists.
        ("run.seeds = [1, \"2\", -3]", &["1:17 run.seeds[1]", "1:22 run.seeds[2]"]),
        ("measure.window = [\"1s\", 5]", &["1:25 measure.window[1]"]),
        ("workload.rtt = { kind = \"list\", values = [\"1ms\", \"2\"] }", &["1:50 workload.rtt.values[1]"]),
        ("network.path.loss = { kind = \"list\", packets = [1, 0, \"x\"] }", &["1:52 network.path.loss.packets[1]"]),
        // Values of other types.
        ("title = 2024-01-01", &["1:9 title"]),
        ("network.hops = 99999999999999999999", &["1:16 network.hops"]),
        ("network.bottleneck.queue = { kind = \"red\", max-p = nan }", &["1:52 network.bottleneck.queue.max-p"]),
        ("network.bottleneck.queue = { kind = \"red\", max-p = inf }", &["1:52 network.bottleneck.queue.max-p"]),
        ("network.hops = 3.5", &["1:16 network.hops"]),
        ("network.bottleneck.queue.kind = 3", &["1:33 network.bottleneck.queue.kind"]),
        ("workload.model.kind = 3", &["1:23 workload.model.kind"]),
        ("workload.model = {}", &["1:18 workload.model.kind"]),
        // Letters of several bytes, marks, other ends of lines.
        ("title = \"日本\"\r\n\"日本\" = 1\r\n", &["2:1 日本"]),
        ("\u{feff}titel = 1", &["1:1 titel"]),
        ("title = \"\"\"\n\n\"\"\"\ntitel = 1", &["4:1 titel"]),
        ("'a.b' = 1\n\"x[0]\" = 2", &["1:1 a.b", "2:1 x[0]"]),
        ("\"\" = 1", &["1:1 "]),
        // Values beside values of other tables.
        (
            "[measure]\nduration = \"2s\"\n[[sources]]\nname = \"a\"\nkind = \"bulk\"\nstart = \"3s\"",
            &["6:1 sources[0].start"],
        ),
        ("[tcp]\nrto-min = \"2h\"\nrto-initial = \"0s\"", &["2:11 tcp.rto-min", "3:15 tcp.rto-initial"]),
        (
            "workload.model = { kind = \"netspec\", sources = [{ traffic = { type = \"full\", blocksize = 0 }, protocol = \"tcp\" }] }",
            &["1:90 workload.model.sources[0].traffic.blocksize"],
        ),
        (
            "workload.model = { kind = \"netspec\", sources = [{ traffic = { type = \"full\", blocksize = 1 }, protocol = \"tcp\" }] }",
            &["1:49 workload.model.sources[0].speed"],
        ),
    ] {
        let found = told(text);
        if found != wanted {
            wrong.push(format!("{text}\n  {found:?}, not {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A hundred and more files, made by putting an odd value at every kind of place.
#[test]
fn odd_values_are_told_once_everywhere() {
    let values = [
        "5",
        "-5",
        "0",
        "1.5",
        "nan",
        "true",
        "\"\"",
        "\"x\"",
        "\"0\"",
        "\"-1ms\"",
        "\"1e9s\"",
        "[]",
        "[[]]",
        "{}",
        "{ kind = 1 }",
        "{ kind = \"x\" }",
        "{ a.b.c = 1 }",
        "[{}, { kind = \"bulk\" }]",
        "1979-05-27",
        "07:32:00",
        "0xff",
        "'''\n'''",
    ];
    let places = [
        "title",
        "workload",
        "workload.source",
        "workload.rtt",
        "workload.model",
        "workload.load",
        "network",
        "network.bottleneck",
        QUEUE,
        "network.bottleneck.queue.kind",
        "network.bottleneck.queue.limit",
        "network.bottleneck.shaper",
        "network.links",
        "network.path.loss",
        "network.delay-box",
        "tcp",
        "tcp.classes",
        "tcp.delayed-ack",
        "sources",
        "measure.window",
        "measure.tcp-trace",
        "run.seeds",
        "run.vary",
        "live.tick",
        "unknown",
        "unknown.deep",
    ];
    let (mut files, mut refused) = (0, 0);
    for value in values {
        for place in places {
            let (table, key) = place.rsplit_once('.').unwrap_or(("", place));
            let header = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
            for text in [
                format!("{place} = {value}"),
                format!("{header}{key} = {value}\n"),
                format!("[[{place}]]\nx = {value}"),
            ] {
                files += 1;
                refused += usize::from(!told(&text).is_empty());
            }
        }
    }
    assert!(files > 1_000 && refused > files / 2, "{refused} of {files}");
}

#[test]
fn deep_and_long_files_are_told_too() {
    assert!(!told(&format!("title = {}{}", "[".repeat(10_000), "]".repeat(10_000))).is_empty());
    assert!(Experiment::parse(&format!("{} = 1", vec!["a"; 10_000].join(".")), "x").is_err());
    let many: String = (0..1_000).map(|key| format!("k{key} = 1\n")).collect();
    let error = Experiment::parse(&many, "x").unwrap_err();
    assert_eq!(error.each().count(), 21, "twenty and how many more");
    for broken in [
        "=",
        "a",
        "[",
        "[[",
        "[a",
        "a = ",
        "a = 1 2",
        "a = \"",
        "a = 1\na = 2",
        "[a]\n[a]",
        "a.b = 1\na = 2",
        "a = {b = 1}\n[a]",
    ] {
        assert_eq!(told(broken).len(), 1, "{broken}");
    }
}

/// TOML's reader gives no place for this one.
#[test]
fn keys_of_too_many_parts_have_a_line() {
    let text = format!("title = \"x\"\n{}a = 1\nrun.seeds = [1]\n", "a.".repeat(20_000));
    let error = Experiment::parse(&text, "x").unwrap_err();
    assert_eq!(error.to_string(), "x:2:1: keys or values are nested too deeply");
}
