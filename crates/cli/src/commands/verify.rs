//! `flowloom verify`: whether workloads and run folders are what was written.

use flowloom::verify::{State, Verification, VerifiedFile, verify};
use flowloom::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::args;
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Verify, manner: Manner) -> Result<Exit, Error> {
    manner.start("verify")?;
    let found = verify(&args.paths, manner.observer().context())?;
    manner.answer(|| json!({ "files": found.files, "counts": counts(&found) }), || text(&found))?;
    if manner.quiet {
        let damaged = found.files.iter().filter(|file| file.state.is_damage());
        damaged.filter_map(|file| file.problem.as_ref()).for_each(|problem| eprintln!("{problem}"));
    }
    Ok(match (found.is_damaged(), found.interrupted) {
        (true, _) => Exit::CouldNot,
        (false, true) => Exit::from(ErrorKind::Interrupted),
        (false, false) => Exit::Done,
    })
}

/// How many files are in each state.
fn counts(found: &Verification) -> Map<String, Value> {
    State::ALL.iter().map(|state| (state.name().to_owned(), found.count(*state).into())).collect()
}

/// A line for each file, and how many there are of each kind.
fn text(found: &Verification) -> String {
    let lines: String = found.files.iter().map(line).collect();
    let counts = State::ALL.into_iter().filter_map(|state| match found.count(state) {
        0 => None,
        count => Some(format!("{count} {}", state.name())),
    });
    let files = found.files.len();
    let counts: Vec<String> = counts.collect();
    format!("{lines}{files} file{}: {}\n", if files == 1 { "" } else { "s" }, counts.join(", "))
}

fn line(file: &VerifiedFile) -> String {
    match &file.problem {
        Some(problem) => format!("{problem}\n"),
        None => {
            let rows =
                file.rows.map_or_else(String::new, |rows| format!(" ({rows} row{})", if rows == 1 { "" } else { "s" }));
            format!("{}: {}{rows}\n", file.state.name(), file.path.display())
        }
    }
}
