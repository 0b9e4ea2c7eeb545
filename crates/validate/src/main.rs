//! `flowloom-validate [GROUP...]`: runs the checks, prints them, and rewrites `docs/evidence/references.md` and what is in `docs/evidence/reproductions/`,
//! and if all were run `docs/evidence/validation.md`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use flowloom_validate::check::{Effort, Row, Verdict};
use flowloom_validate::{GROUPS, REFERENCES, multiplexing, reproduction, rows, satellite, table};

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let groups = || GROUPS.into_iter().chain([REFERENCES]);
    if let Some(unknown) = wanted.iter().find(|name| groups().all(|group| group != name.as_str())) {
        eprintln!("{unknown} is not a group of checks; they are {}", groups().collect::<Vec<_>>().join(", "));
        return ExitCode::from(2);
    }
    let mut of_simulator: Vec<Row> = Vec::new();
    let mut of_references: Vec<Row> = Vec::new();
    for group in groups().filter(|group| wanted.is_empty() || wanted.iter().any(|name| name == group)) {
        let (found, files) = match group {
            "multiplexing" => {
                let study = multiplexing::study(Effort::Full);
                let found = multiplexing::rows_of(&study);
                let files = reproduction::files(&study, &found);
                (found, files)
            }
            "satellite" => (rows(group, Effort::Full), satellite::pictures()),
            _ => (rows(group, Effort::Full), Vec::new()),
        };
        for (name, content) in files {
            if let Err(error) = write(&format!("reproductions/{name}"), &content) {
                eprintln!("docs/evidence/reproductions/{name}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("\n{group}: {} rows; published, ours, tolerance", found.len());
        found.iter().for_each(|row| println!("  {row}"));
        if group == REFERENCES { &mut of_references } else { &mut of_simulator }.extend(found);
    }
    let all = || of_simulator.iter().chain(&of_references);
    let fails = all().filter(|row| row.verdict() == Verdict::Fails).count();
    println!("\n{} rows, {fails} of them fail", all().count());
    let pages = [
        ("validation.md", wanted.is_empty().then(|| table::page(&of_simulator))),
        ("references.md", (!of_references.is_empty()).then(|| table::references(&of_references))),
    ];
    for (name, page) in pages {
        if let Some(Err(error)) = page.map(|page| write(name, &page)) {
            eprintln!("docs/evidence/{name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::from(u8::from(fails > 0))
}

fn write(name: &str, page: &str) -> io::Result<()> {
    fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence").join(name), page)
}
