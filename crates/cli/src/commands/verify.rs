//! `flowloom verify`: whether workloads and run folders are undamaged.

use flowloom::verify::{State, Verification, VerifiedFile, verify};
use flowloom::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::args;
use crate::diagnostics::one_line;
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Verify, manner: Manner) -> Result<Exit, Error> {
    manner.start("verify")?;
    let found = verify(&args.paths, manner.observer().context());
    if !found.files.is_empty() || found.errors.is_empty() {
        manner.answer(
            || json!({ "files": found.files, "counts": counts(&found), "interrupted": found.interrupted }),
            || text(&found),
        )?;
    }
    if manner.quiet {
        let damaged = found.files.iter().filter(|file| file.state.is_damage());
        damaged.for_each(|file| tell_as_is!("{}", line(file)));
    }
    let kind = if found.is_damaged() { ErrorKind::Failed } else { ErrorKind::Interrupted };
    let interrupted = found.interrupted.then(|| Error {
        kind,
        ..Error::new(format_args!("interrupted after {}: the others were not read", files(&found)))
    });
    match Error::all(interrupted.into_iter().chain(found.errors.clone())) {
        Some(error) => Err(error),
        None if found.is_damaged() => Ok(Exit::CouldNot),
        None => Ok(Exit::Done),
    }
}

/// How many files are in each state.
fn counts(found: &Verification) -> Map<String, Value> {
    State::ALL.iter().map(|state| (state.name().to_owned(), found.count(*state).into())).collect()
}

fn files(found: &Verification) -> String {
    let files = found.files.len();
    format!("{files} file{}", if files == 1 { "" } else { "s" })
}

/// A line for each file, and how many there are of each kind.
fn text(found: &Verification) -> String {
    let lines: String = found.files.iter().map(line).collect();
    let counts = State::ALL.into_iter().filter_map(|state| match found.count(state) {
        0 => None,
        count => Some(format!("{count} {}", state.name())),
    });
    let counts: Vec<String> = counts.collect();
    let interrupted = if found.interrupted { "interrupted after " } else { "" };
    format!("{lines}{interrupted}{}: {}\n", files(found), counts.join(", "))
}

/// A name cannot make a line of its own.
fn line(file: &VerifiedFile) -> String {
    let line = match &file.problem {
        Some(problem) => problem.clone(),
        None => {
            let rows =
                file.rows.map_or_else(String::new, |rows| format!(" ({rows} row{})", if rows == 1 { "" } else { "s" }));
            format!("{}: {}{rows}", file.state.name(), file.path.display())
        }
    };
    one_line(&line) + "\n"
}
