//! Every command of `docs/recipes` runs, in small where its page says how.

use std::os::unix::fs::symlink;

use flowloom_testkit::command::Bench;
use flowloom_testkit::recipes::{Recipe, pages, recipes, root};

/// Pages that are tried: each below, and `live.md` among the tests of live runs.
const TRIED: [&str; 8] =
    ["captures.md", "fq-codel.md", "live.md", "load.md", "own-tools.md", "paths.md", "queues.md", "transport.md"];

/// Runs the commands of `page` one after the other in one folder, beside the test data and the examples. Live ones are left to the tests
/// of live runs.
#[track_caller]
fn try_page(page: &str) {
    let bench = Bench::new();
    for folder in ["testdata", "examples"] {
        symlink(root().join(folder).canonicalize().unwrap(), bench.path(folder)).unwrap();
    }
    for Recipe { command, is_live } in recipes(page) {
        let words = command.strip_prefix("flowloom ").unwrap_or_else(|| panic!("{page}: {command} is no flowloom"));
        if !is_live {
            assert!(!words.contains(['\'', '"', '|', '>']), "{page}: this test does not read shells: {command}");
            let said = bench.flowloom(&words.split(' ').collect::<Vec<_>>());
            assert_eq!(said.code, 0, "{page}: {command}: {}", said.err);
        }
    }
}

#[test]
fn every_page_is_tried() {
    assert_eq!(pages(), TRIED);
    let all: Vec<Recipe> = TRIED.iter().flat_map(|page| recipes(page)).collect();
    assert!(all.len() >= 40, "{} commands", all.len());
    let buffers =
        "flowloom sweep testdata/demo.pcap.gz --vary queue=10p,30p,100p,300p --rate 105% --seeds 2 --duration 20s";
    assert!(all.contains(&Recipe { command: buffers.to_owned(), is_live: false }), "{all:?}");
    for page in TRIED {
        let text = std::fs::read_to_string(root().join("docs/recipes").join(page)).unwrap();
        let fenced = text.split("```").skip(1).step_by(2).flat_map(str::lines);
        let unmarked: Vec<&str> = fenced.filter(|line| line.trim_start().starts_with("flowloom ")).collect();
        assert!(unmarked.is_empty(), "{page}: commands without \"$ \" are not run: {unmarked:?}");
    }
}

#[test]
fn recipes_of_captures_run() {
    try_page("captures.md");
}

#[test]
fn recipes_of_fq_codel_and_own_tools_run() {
    try_page("fq-codel.md");
    try_page("own-tools.md");
}

#[test]
fn recipes_of_load_run() {
    try_page("load.md");
}

#[test]
fn recipes_of_paths_run() {
    try_page("paths.md");
}

#[test]
fn recipes_of_queues_run() {
    try_page("queues.md");
}

#[test]
fn recipes_of_transport_run() {
    try_page("transport.md");
}
