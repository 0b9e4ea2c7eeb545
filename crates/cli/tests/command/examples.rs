//! What pages for new readers show after a `$` is what the program prints.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::Bench;

const PAGES: [(&str, &str); 4] = [
    ("README.md", include_str!("../../../../README.md")),
    ("docs/start/first-run.md", include_str!("../../../../docs/start/first-run.md")),
    ("docs/recipes/fq-codel.md", include_str!("../../../../docs/recipes/fq-codel.md")),
    ("docs/guide/comparison.md", include_str!("../../../../docs/guide/comparison.md")),
];
/// Examples of twenty simulations, which would take seconds.
const SLOW: [&str; 2] = ["compare codel tail", "compare demo --explain"];
const DROP_TAIL: &str = include_str!("../../../../examples/fq-codel/drop-tail.toml");
const FQ_CODEL: &str = include_str!("../../../../examples/fq-codel/fq-codel.toml");

/// A command of a page and the lines below it; `...` stands for lines that are left out.
struct Example {
    line: usize,
    command: &'static str,
    shown: Vec<&'static str>,
}

fn examples(page: &'static str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_shown = false;
    for (index, text) in page.lines().enumerate() {
        if let Some(command) = text.strip_prefix("$ flowloom ") {
            examples.push(Example { line: index + 1, command, shown: Vec::new() });
            is_shown = true;
        } else if text.starts_with("```") {
            is_shown = false;
        } else if let Some(example) = examples.last_mut().filter(|_| is_shown) {
            example.shown.push(text);
        }
    }
    examples
}

/// The first line of `shown` that `printed` does not have at its place.
fn first_difference<'a>(shown: &[&'a str], printed: &str) -> Option<&'a str> {
    let mut printed = printed.trim_end().lines();
    let mut may_skip = false;
    for line in shown {
        if *line == "..." {
            may_skip = true;
        } else if printed.next() != Some(*line) && !(may_skip && printed.any(|one| one == *line)) {
            return Some(line);
        } else {
            may_skip = false;
        }
    }
    (!may_skip && printed.next().is_some()).then_some("the end")
}

#[test]
fn pages_show_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let bench = Bench::new();
    for folder in ["testdata", "examples"] {
        symlink(root.join(folder), bench.path(folder)).unwrap();
    }
    // The README's run, which the guide compares.
    symlink(bench.path("runs/demo"), bench.path("demo")).unwrap();
    let mut printed: BTreeMap<&str, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, page) in PAGES {
        let examples = examples(page);
        assert!(!examples.is_empty(), "{name} has no example");
        let quick = |example: &Example| !SLOW.iter().any(|slow| example.command.starts_with(slow));
        for Example { line, command, shown } in examples.into_iter().filter(quick) {
            let words: Vec<&str> = command.split(' ').collect();
            let out = printed.entry(command).or_insert_with(|| bench.flowloom(&words).succeeded().out.clone());
            if let Some(different) = first_difference(&shown, out) {
                wrong.push(format!("{name}:{line}: flowloom {command}: no line {different:?}; it prints\n{out}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_recipe_shows_its_experiments() {
    let (_, recipe) = PAGES[2];
    let (comments, experiment) = DROP_TAIL.split_once("title").unwrap();
    assert!(comments.lines().all(|line| line.starts_with('#')), "{comments}");
    assert!(recipe.contains(&format!("```toml\ntitle{experiment}```\n")), "the recipe shows another experiment");
    let queue = |line: &&str| line.starts_with("bottleneck");
    let other: Vec<&str> = FQ_CODEL.lines().skip(2).collect();
    let differing: Vec<_> = DROP_TAIL.lines().skip(2).zip(other).filter(|(one, other)| one != other).collect();
    assert_eq!(differing.len(), 2, "title and queue differ: {differing:?}");
    assert!(differing.iter().any(|(one, _)| queue(one)));
    assert!(differing.iter().all(|(_, other)| !queue(other) || other.contains("queue = { kind = \"fq-codel\" }")));
}

#[test]
fn differences_are_found() {
    assert_eq!(first_difference(&["a", "b"], "a\nb\n\n"), None);
    assert_eq!(first_difference(&["a", "...", "c"], "a\nb\nc\n"), None);
    assert_eq!(first_difference(&["a", "..."], "a\nb\nc\n"), None);
    assert_eq!(first_difference(&["a", "...", "d"], "a\nb\nc\n"), Some("d"));
    assert_eq!(first_difference(&["a", "c"], "a\nb\nc\n"), Some("c"));
    assert_eq!(first_difference(&["a"], "a\nb\n"), Some("the end"));
}
