//! `flowloom-validate [GROUP...]`: runs the checks, prints them, and, if all were run, rewrites `docs/validation.md`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use flowloom_validate::check::{Effort, Row, Verdict};
use flowloom_validate::{GROUPS, rows, table};

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|name| !GROUPS.contains(&name.as_str())) {
        eprintln!("{unknown} is not a group of checks; they are {}", GROUPS.join(", "));
        return ExitCode::from(2);
    }
    let mut all: Vec<Row> = Vec::new();
    for group in GROUPS.iter().filter(|group| wanted.is_empty() || wanted.iter().any(|name| name == *group)) {
        let found = rows(group, Effort::Full);
        println!("\n{group}: {} rows; published, ours, tolerance", found.len());
        found.iter().for_each(|row| println!("  {row}"));
        all.extend(found);
    }
    let fails = all.iter().filter(|row| row.verdict() == Verdict::Fails).count();
    println!("\n{} rows, {fails} of them fail", all.len());
    if wanted.is_empty() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation.md");
        if let Err(error) = fs::write(&path, table::page(&all)) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::from(u8::from(fails > 0))
}
