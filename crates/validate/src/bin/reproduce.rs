//! `reproduce`: takes the runs of sweeps of published studies into the tables of their pages, and writes the pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flowloom_validate::aikat;

const USAGE: &str = "\
Write docs/evidence/reproductions/aikat-2010.md

reproduce [SWEEP...]    take the runs that these sweeps of examples/aikat-2010 have ended into
                        aikat-2010/cells.csv, and write the page and its pictures from all rows there";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument.starts_with('-')) {
        println!("{USAGE}");
        return ExitCode::from(u8::from(arguments != ["--help"]));
    }
    let sweeps: Vec<PathBuf> = arguments.into_iter().map(PathBuf::from).collect();
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/reproductions");
    match aikat::reproduce(&pages, &sweeps) {
        Ok(rows) => {
            println!("docs/evidence/reproductions/aikat-2010.md: {rows} runs");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
