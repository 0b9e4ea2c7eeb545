//! Pictures as files: of runs, of a sweep, and what is refused.

use std::fs;
use std::process::Command;

use flowloom_needs::{Need, skip};
use flowloom_testkit::command::{Bench, Traffic};

use crate::documented::check;

const POPPLER: Need = Need::new("pdftotext", "apt-get install poppler-utils");

#[test]
fn figures_of_runs_are_written() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(60).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "a"]).succeeded();
    let list = bench.flowloom(&["plot", "a", "--list"]);
    let line = |name: &str| {
        let found = list.out.lines().find(|line| line.split(' ').next() == Some(name));
        found.unwrap_or_else(|| panic!("{name}: {}", list.out)).to_owned()
    };
    assert!(line("response-cdf").ends_with("response times"), "{}", list.out);
    assert!(line("queue-length").ends_with("(no data: no packet waited)"), "{}", list.out);
    let figures = bench.json(&["plot", "a", "--list", "--json"]);
    check("plot --list", &figures);

    let words = ["plot", "a", "--figure", "response-cdf"];
    let with = |more: &[&str]| bench.flowloom(&[&words[..], more].concat());
    check("plot", &bench.json(&[&words[..], &["-o", "a.svg", "--data", "a.csv", "--json"]].concat()));
    let svg = fs::read_to_string(bench.path("a.svg")).unwrap();
    assert!(svg.contains("data-name=\"original\"") && svg.contains("data-name=\"replay\""), "{}", &svg[..300]);
    assert!(
        fs::read_to_string(bench.path("a.csv"))
            .unwrap()
            .starts_with("series,response_time_ns,share_at_most,share_above\noriginal,")
    );
    // Lines that are compared count in the same bins.
    bench.flowloom(&["plot", "a", "--figure", "logscale", "--data", "l.csv"]).succeeded();
    let octaves = fs::read_to_string(bench.path("l.csv")).unwrap();
    let rows: Vec<Vec<&str>> = octaves.lines().skip(1).map(|line| line.split(',').collect()).collect();
    for name in ["original", "replay"] {
        let of_line: Vec<&[&str]> = rows.iter().filter(|row| row[0] == name).map(|row| &row[1..3]).collect();
        assert!(of_line.len() > 3 && of_line[0] == ["1", "0.02"], "{octaves}");
    }
    // The same picture is the same file, wherever it goes.
    assert_eq!(with(&["-o", "-", "--format", "svg"]).succeeded().out, svg);
    with(&["-o", "a.png", "--dpi", "100", "--title", "Office"]).succeeded();
    assert!(fs::read(bench.path("a.png")).unwrap().starts_with(b"\x89PNG"));

    with(&["-o", "a.svg"]).failed(1, &["a.svg: exists already", "--force"]);
    with(&["-o", "a.svg", "--force"]).succeeded();
    with(&["-o", "a.jpeg"]).failed(2, &["a.jpeg", "svg, pdf, png", "--format"]);
    with(&["-o", "-"]).failed(2, &["which form", "--format"]);
    with(&["-o", "none/a.svg"]).failed(1, &["none/a.svg"]);
    std::os::unix::fs::symlink("b.svg", bench.path("link")).unwrap();
    for data in ["b.svg", "./b.svg", "link"] {
        with(&["-o", "b.svg", "--data", data]).failed(2, &["one file"]);
    }
    with(&["-o", "b.svg", "--width", "15"]).failed(2, &["no room", "at least"]);
    with(&["-o", "b.svg", "--width", "0"]).failed(2, &["--width is 0 mm"]);
    bench
        .flowloom(&["plot", "a", "--figure", "response-cfd", "-o", "b.svg"])
        .failed(2, &["did you mean \"response-cdf\"?"]);
    bench
        .flowloom(&["plot", "a", "--figure", "queue-length", "-o", "b.svg"])
        .failed(1, &["a: nothing to draw", "no packet waited", "--list"]);
    bench
        .flowloom(&["plot", "a", "--figure", "probes-cdf", "-o", "b.svg"])
        .failed(1, &["a: nothing to draw", "no probe", "--list"]);
    bench.flowloom(&["run", "c.pcap", "-o", "part", "--set", "measure.window=[\"1s\", \"2s\"]"]).succeeded();
    let active = ["plot", "a", "part", "--figure", "active", "--data", "t.csv"];
    let said = bench.flowloom(&active);
    assert!(said.succeeded().err.contains("the picture lacks part"), "{}", said.err);
    let drawn = fs::read_to_string(bench.path("t.csv")).unwrap();
    assert!(drawn.contains("\na,") && !drawn.contains("\npart,"), "{drawn}");
    bench.flowloom(&["plot", "c.pcap", "--figure", "response-cdf", "-o", "b.svg"]).failed(1, &["c.pcap"]);
    assert!(!bench.path("b.svg").exists());

    with(&["-o", "a.pdf"]).succeeded();
    if Command::new("pdftotext").arg("-v").output().is_err() {
        return skip("cli: text and fonts of a PDF", POPPLER);
    }
    let said = |program: &str, more: &[&str]| {
        let output = Command::new(program).arg(bench.path("a.pdf")).args(more).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = said("pdftotext", &["-"]);
    assert!(
        text.contains("response time (") && text.contains("share of response times ≤ x") && text.contains("replay"),
        "{text}"
    );
    let fonts = said("pdffonts", &[]);
    let font = fonts.lines().last().unwrap();
    assert!(font.contains("+Arimo") && font.contains("CID TrueType") && font.contains("yes yes yes"), "{fonts}");
}

#[test]
fn figures_of_a_sweep_are_written() {
    let bench = Bench::new();
    bench.file("x.toml", crate::models::EXCHANGES.as_bytes());
    let words = ["sweep", "x.toml", "--set", "measure.duration=3s", "--vary", "queue=5p,50p", "--rate", "60%"];
    bench.flowloom(&[&words[..], &["--seeds", "5", "-o", "s"]].concat()).succeeded();
    let list = bench.flowloom(&["plot", "s", "--list"]).succeeded().out.clone();
    assert!(list.contains("answer ") && list.contains("it needs two axes"), "{list}");
    bench.flowloom(&["plot", "s", "--figure", "answer", "-o", "a.svg", "--data", "a.csv"]).succeeded();
    let csv = fs::read_to_string(bench.path("a.csv")).unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("s/answer.json")).unwrap()).unwrap();
    for (variant, line) in answer["variants"].as_array().unwrap().iter().zip(csv.lines().skip(1)) {
        let estimated = &variant["metrics"]["response_time_p50_ms"];
        let cells: Vec<&str> = line.rsplit(',').collect();
        for (cell, known) in [(cells[4], &estimated["mean"]), (cells[3], &estimated["interval"][0])] {
            let ratio = cell.parse::<f64>().unwrap() / known.as_f64().unwrap();
            assert!((ratio - 1.0).abs() < 1e-12, "{csv}");
        }
    }
    bench.flowloom(&["plot", "s", "--figure", "response-cdf", "-o", "r.pdf"]).succeeded();
    bench.flowloom(&["plot", "s", "s", "--figure", "answer", "-o", "b.svg"]).failed(2, &["s is a sweep", "alone"]);
    fs::remove_file(bench.path("s/grid.json")).unwrap();
    bench.flowloom(&["plot", "s", "--list"]).failed(1, &["not complete", "runs no cell twice"]);
}

/// Energies of other bins cannot be set beside each other: the page and the figure say which line is missing.
#[test]
fn a_line_with_other_bins_is_told() {
    let bench = Bench::new();
    let text = "[[sources]]\nname = \"voice\"\nkind = \"poisson\"\ngap = \"4ms\"\npayload = \"160b\"\nrtt = \"50ms\"\n\
                [measure]\nduration = \"6s\"\n";
    bench.file("e.toml", text.as_bytes());
    for every in ["4ms", "5ms"] {
        let setting = format!("measure.throughput-every={every}");
        bench.flowloom(&["run", "e.toml", "-o", every, "--set", &setting]).succeeded();
    }
    bench.flowloom(&["report", "4ms", "5ms", "-o", "r.html"]).succeeded();
    let page = fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(page.contains("4ms has no line: its bins of 4 ms cannot be joined to bins of 5 ms."));
}
