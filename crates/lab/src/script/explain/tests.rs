use super::super::expand::whole;
use super::super::parser::Mode;
use super::*;

fn explained(script: &str) -> (Explanation, Vec<String>) {
    let whole = whole("a.ns", script, Mode::Lenient, &mut |_, _| Err("no files".to_owned()));
    let block = whole.block.unwrap_or_else(|| panic!("{script}: {:?}", whole.found));
    let (explanation, _) = explain(&whole.files, &block, whole.found).unwrap_or_else(|found| panic!("{found:?}"));
    let told = explanation.warnings.iter().map(|one| {
        let hint = one.hint.as_ref().map_or(String::new(), |hint| format!(" | {hint}"));
        format!("{}: {}{hint}", one.place, one.message)
    });
    let told = told.collect();
    (explanation, told)
}

fn test(host: &str, kind: &str, protocol: &str, own: &str, peer: &str) -> String {
    format!("test {host} {{ type = {kind}; protocol = {protocol}; own = {own}; peer = {peer}; }}\n")
}

const BURST: &str = "burst(blocksize = 125000, period = 10000, duration = 10)";
const SINK: &str = "sink(blocksize = 32K, duration = 10)";

#[test]
fn a_script_is_told_in_words() {
    let pair = test("a", BURST, "tcp(window = 128K)", "a:1", "b:2") + &test("b", SINK, "tcp", "b:2", "a:1");
    let full = test("c", "full(blocksize = 1K, duration = 2.5)", "udp", "c:1", "b:2");
    let script = format!(
        "serial ctl {{ cluster {{ {pair} }} cluster {{ {full} {} }} parallel d {{ x = 1; probe {{ y = \"z\"; }} }} }}",
        test("b", SINK, "udp", "b:2", "c:1")
    );
    let (explanation, warnings) = explained(&script);
    assert_eq!(warnings, [""; 0]);
    let wanted = "\
a.ns  5 leaves on 4 hosts, for an unknown time

serial: one after the other
  1  cluster: at the same time, and if one fails all have
    1.1  test on a: sends from a:1 to b:2 by tcp for 10 s
         burst(blocksize = 125000, period = 10000, duration = 10): offers 100 Mbit/s
         tcp(window = 128K)
    1.2  test on b: receives at b:2 from a:1 by tcp for 10 s
         sink(blocksize = 32K, duration = 10)
         tcp
  2  cluster: at the same time, and if one fails all have
    2.1  test on c: from 10 s on, sends from c:1 to b:2 by udp for 2.5 s
         full(blocksize = 1K, duration = 2.5): as fast as it can
         udp
    2.2  test on b: from 10 s on, receives at b:2 from c:1 by udp for 10 s
         sink(blocksize = 32K, duration = 10)
         udp
  3  parallel on d: at the same time
     x = 1
    3.1  probe: not known here, given as it is
         y = \"z\"

hosts
  a  sends 1
  b  receives 2
  c  sends 1
  d  other leaves 1
";
    assert_eq!(text(&explanation), wanted);
    assert_eq!(explanation.script.children[2].start_ns, Some(20_000_000_000));
    let notes: Vec<&str> = explanation.notes.iter().map(|note| note.message.as_str()).collect();
    let notes_wanted = [
        "the outermost block runs here, so that its address ctl means nothing",
        "leaves of the kind probe are not known here: what they are given is passed on",
    ];
    assert_eq!(notes, notes_wanted);
    assert_eq!(
        text(&explained("parallel {}").0),
        "a.ns  0 leaves on 0 hosts, for 0 s\n\nparallel: nothing to do\n\nhosts\n"
    );
}

#[test]
fn what_is_probably_not_meant_is_warned_of() {
    let source = |peer: &str| test("a", BURST, "tcp", "a:1", peer);
    let sink = |own: &str, peer: &str| test("b", SINK, "tcp", own, peer);
    for (script, wanted) in [
        (format!("cluster {{ {} }}", source("b:2")), vec!["a.ns:1:11: nothing receives at b:2 by tcp"]),
        (
            format!("cluster {{ {}{} }}", source("b:2"), sink("b:3", "a:1")),
            vec![
                "a.ns:1:11: nothing receives at b:2 by tcp | a sink of that host is at b:3 by tcp",
                "a.ns:2:1: nothing sends to b:3 by tcp",
            ],
        ),
        (
            format!("cluster {{ {}{} }}", source("b:2"), test("b", SINK, "udp", "b:2", "a:1")),
            vec![
                "a.ns:1:11: nothing receives at b:2 by tcp | its sink receives by udp",
                "a.ns:2:1: nothing sends to b:2 by udp",
            ],
        ),
        (
            format!("parallel {{ {}{} }}", source("b:2"), sink("b:2", "a:1")),
            vec![
                "a.ns:1:12: the sink at b:2 is in no cluster with it, so that nothing makes it listen first | put both into cluster { ... }",
            ],
        ),
        (
            format!("cluster {{ {}{} }}", source("b:2"), sink("b:2", "a:9")),
            vec!["a.ns:1:11: its sink at b:2 names a:9 as its peer, not a:1"],
        ),
        (
            format!("cluster {{ {}{} }}", source("b:2"), sink("b:2", "a:1").replace("duration = 10", "duration = 9.5")),
            vec!["a.ns:1:11: it sends for 10 s, and its sink receives for 9.5 s"],
        ),
        (
            format!("cluster {{ {}{} }}", source("b:2"), sink("b:2", "a:1").replace("test b", "test c")),
            vec!["a.ns:2:1: it runs on c, and its own address is that of b"],
        ),
        (
            format!("cluster {{ {}{}{} }}", source("b:2"), sink("b:2", "a:1"), source("b:2")),
            vec!["a.ns:3:1: a:1 is taken by tcp of another leaf at the same time | it is that of line 1"],
        ),
    ] {
        assert_eq!(explained(&script).1, wanted, "{script}");
    }
    let pair = format!("cluster {{ {}{} }}", source("b:2"), sink("b:2", "a:1"));
    assert_eq!(
        explained(&format!("serial {{ {pair} {pair} }}")).1,
        [""; 0],
        "one after the other they have a port each"
    );
    assert_eq!(explained(&format!("parallel {{ {pair} {pair} }}")).1.len(), 2);
    let nested = format!("parallel {{ serial {{ {pair} {pair} }} {pair} }}");
    assert_eq!(explained(&nested).1.len(), 2, "the last is at the same time as the serial");
}

#[test]
fn what_leaves_cannot_do_is_an_error() {
    let whole =
        whole("a.ns", "cluster { test {} test { type = sink; } }", Mode::Strict, &mut |_, _| Err(String::new()));
    let found = explain(&whole.files, &whole.block.unwrap(), whole.found).unwrap_err();
    assert_eq!(found.len(), 4 + 3 + 2, "{found:?}");
}

/// A file that is not there hides nothing of the leaves, except of those that may have their parameters from it.
#[test]
fn errors_of_leaves_are_told_beside_others() {
    let text = "cluster {\n@include \"no\";\nsleep { duration = x; }\nsleep { @include \"no\"; }\nsleep { duration = 1KK; }\n}";
    let whole = whole("a.ns", text, Mode::Strict, &mut |_, _| Err("no such file".to_owned()));
    assert!(whole.block.is_none());
    let places: Vec<u32> = whole.found.iter().chain(&remarks(&whole.part)).map(|one| one.place.line).collect();
    assert_eq!(places, [5, 2, 4, 3]);
}

#[test]
fn ten_thousand_leaves_are_explained() {
    let pair = |n: usize| {
        let (a, b) = (format!("a:{n}"), format!("b:{n}"));
        format!("cluster {{ {}{} }}", test("a", BURST, "tcp", &a, &b), test("b", SINK, "tcp", &b, &a))
    };
    let (explanation, warnings) = explained(&format!("parallel {{ {} }}", (1..=5_000).map(pair).collect::<String>()));
    assert_eq!((explanation.leaves, warnings.len()), (10_000, 0));
}
