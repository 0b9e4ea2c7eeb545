//! `flowloom lab`: scripts of experiments over several hosts.

use std::path::Path;

use crate::support::Bench;

/// Two clusters, one of which has a source that is drawn.
pub const SCRIPT: &str = "serial {
  cluster {
    test a {
      type = burst(blocksize = 125000, period = 10000, duration = 10);
      protocol = tcp(window = 128K);
      own = a:1;
      peer = b:2;
    }
    test b {
      type = sink(blocksize = 32K, duration = 10);
      protocol = tcp;
      own = b:2;
      peer = a:1;
    }
  }
  cluster {
    test {
      type = burstq(blocksize = ftpItemSize(min = 8), period = 1000, duration = 5);
      protocol = udp;
      own = a:3;
      peer = b:4;
      colour = red;
    }
    probe c {
      every = 5;
    }
  }
}
";

#[test]
fn a_script_is_explained() {
    let bench = Bench::new();
    bench.file("s.ns", SCRIPT.as_bytes());
    let said = bench.flowloom(&["lab", "check", "s.ns"]);
    let text = &said.succeeded().out;
    for wanted in [
        "s.ns  4 leaves on 4 hosts, for an unknown time\n",
        "burst(blocksize = 125000, period = 10000, duration = 10): offers 100 Mbit/s\n",
        "2.1  test: from 10 s on, sends from a:3 to b:4 by udp for 5 s\n",
        "this host  sends 1\n",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(said.err.contains("warning: s.ns:17:5: nothing receives at b:4 by udp"), "{}", said.err);
    assert!(said.err.contains("warning: s.ns:22:7: colour means nothing to a test, and is passed on"), "{}", said.err);
    assert_eq!(bench.flowloom(&["lab", "check", "s.ns", "-q"]).succeeded().err, "");
    let answer = bench.json(&["lab", "check", "s.ns", "--json"]);
    assert_eq!(answer["script"]["children"][0]["children"][0]["leaf"]["offered_bits_per_second"], 100e6);
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 2);
}

#[test]
fn all_errors_of_a_script_are_told_at_once() {
    let bench = Bench::new();
    bench.file("s.ns", b"cluster {\n  test a {\n    own = a:70000;\n    type = full(\n  }\n}\n");
    let said = bench.flowloom(&["lab", "check", "s.ns", "--json"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    let wanted = "\
error: s.ns:3:11: a:70000: a port is a number from 0 to 65535, not \"70000\"
        own = a:70000;
              ^^^^^^^
error: s.ns:5:3: an argument or \")\" is expected here, not \"}\"
      }
      ^
  errors in all: 2
  hint: the \"(\" in line 4 has no end
";
    assert_eq!(said.err, wanted);
    bench.file("d.ns", b"test a { type = burst(blocksize = 1); }");
    bench
        .flowloom(&["lab", "check", "d.ns"])
        .failed(2, &["burst needs period", "the test has no peer", "errors in all: 5"]);
    bench.file("l.ns", b"cluster { x = 1 }");
    bench.flowloom(&["lab", "check", "l.ns"]).succeeded();
    bench.flowloom(&["lab", "check", "l.ns", "--strict"]).failed(2, &["error: l.ns:1:16: a \";\" is missing"]);
    bench.file("b.ns", b"cluster {\n\xff }");
    bench.flowloom(&["lab", "check", "b.ns"]).failed(2, &["error: b.ns:2:1: this is not UTF-8"]);
    bench.flowloom(&["lab", "check", "none.ns"]).failed(1, &["none.ns: "]);
}

#[test]
fn files_are_included_from_beside_the_script() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("sub")).unwrap();
    bench.file("s.ns", b"cluster { @include \"sub/one.ns\"; }");
    bench.file("sub/one.ns", b"@include \"two.ns\";");
    bench.file("sub/two.ns", b"probe { x = 16KK; }");
    let wanted = ["error: sub/two.ns:1:13: 16KK", "  included at sub/one.ns:1:10\n  included at s.ns:1:20\n"];
    bench.flowloom(&["lab", "check", "s.ns"]).failed(2, &wanted);
    bench.file("sub/two.ns", b"probe {}");
    let answer = bench.json(&["lab", "check", "s.ns", "--json"]);
    assert_eq!(answer["files"], serde_json::json!(["s.ns", "sub/one.ns", "sub/two.ns"]));
    bench.file("sub/two.ns", b"@include \"one.ns\";");
    bench.flowloom(&["lab", "check", "s.ns"]).failed(2, &["sub/two.ns:1:10: sub/one.ns includes itself"]);
    bench.file("sub/two.ns", b"@include \"three.ns\";");
    bench.flowloom(&["lab", "check", "s.ns"]).failed(2, &["sub/two.ns:1:10: sub/three.ns: "]);
}

#[test]
fn scripts_are_laid_out() {
    let bench = Bench::new();
    bench.file("good.ns", SCRIPT.as_bytes());
    bench.file("bad.ns", b"cluster{ # why\ntest a{x=1}}");
    assert_eq!(bench.flowloom(&["lab", "format", "good.ns"]).succeeded().out, SCRIPT);
    assert_eq!(bench.flowloom(&["lab", "format", "good.ns", "--check"]).succeeded().out, "");
    let said = bench.flowloom(&["lab", "format", "--check", "good.ns", "bad.ns"]);
    assert_eq!((said.code, said.out.as_str()), (4, "bad.ns: laid out otherwise from line 1 on\n"));
    let formatted = "cluster { # why\n  test a {\n    x = 1;\n  }\n}\n";
    bench.flowloom(&["lab", "format", "bad.ns", "-o", "bad.ns"]).failed(1, &["bad.ns: exists already", "--force"]);
    bench.flowloom(&["lab", "format", "bad.ns", "-o", "bad.ns", "--force"]).succeeded();
    assert_eq!(std::fs::read_to_string(bench.path("bad.ns")).unwrap(), formatted);
    bench.flowloom(&["lab", "format", "good.ns", "bad.ns"]).failed(2, &["several scripts", "--check"]);
    let toml = bench.flowloom(&["lab", "format", "bad.ns", "--to", "toml", "-o", "bad.toml"]);
    assert!(toml.succeeded().err.contains("warning: comments are lost in TOML"), "{}", toml.err);
    let back = bench.flowloom(&["lab", "format", "bad.toml", "--to", "netspec"]);
    assert_eq!(back.succeeded().out, formatted.replace(" # why", ""));
    bench.flowloom(&["lab", "format", "bad.toml", "--check"]).succeeded();
    // A file that is included is no whole script.
    bench.file("part.ns", b"@let x = 1;\ny = $x;\n");
    bench.flowloom(&["lab", "format", "part.ns", "--check"]).succeeded();
}

#[test]
fn examples_have_nothing_to_warn_of() {
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lab"));
    let bench = Bench::new();
    let mut scripts = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let path = path.to_str().unwrap();
        bench.flowloom(&["lab", "format", "--check", path]).succeeded();
        if path.ends_with("two-hosts.ns") {
            let said =
                bench.flowloom(&["lab", "check", path]).succeeded().out.replace(path, "examples/lab/two-hosts.ns");
            let lines =
                said.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") });
            let lines: String = lines.collect();
            assert!(
                include_str!("../../../../docs/guide/lab.md").contains(&lines),
                "docs/guide/lab.md shows something else than\n{lines}"
            );
        }
        if !path.ends_with("target.ns") {
            let said = bench.flowloom(&["lab", "check", "--strict", path]);
            assert!(!said.succeeded().err.contains("warning"), "{path}: {}", said.err);
            scripts += 1;
        }
    }
    assert_eq!(scripts, 3);
    let congestion = examples.join("frost-1998");
    for name in ["mix.ns", "example.ns"] {
        bench.flowloom(&["lab", "format", "--check", congestion.join(name).to_str().unwrap()]).succeeded();
    }
    let example = congestion.join("example.ns");
    let said = bench.flowloom(&["lab", "check", "--strict", example.to_str().unwrap()]);
    assert!(!said.succeeded().err.contains("warning"), "{}", said.err);
    assert!(said.out.contains("path on r: is a path of 10.0 Mbit/s and 0.005 s between eth1 and eth2 for 22 s"));
}
