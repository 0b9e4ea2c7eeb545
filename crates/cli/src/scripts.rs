//! Scripts of the lab: from files, and what is wrong with them to the user.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flowloom::lab::script::diagnostic::Diagnostic;
use flowloom::lab::script::parser::MOST_BYTES;
use flowloom::lab::script::place::Files;

use flowloom::Error;

use crate::diagnostics;

/// The name and the text of a script; "-" is standard input.
pub fn read(path: &Path) -> Result<(String, String), Error> {
    let read = match path.as_os_str() == "-" {
        true => text(std::io::stdin().lock()).map(|text| ("standard input".to_owned(), text)),
        false => File::open(path)
            .map_err(|error| error.to_string())
            .and_then(text)
            .map(|text| (path.display().to_string(), text)),
    };
    read.map_err(|problem| Error::new(format_args!("{}: {problem}", path.display())))
}

/// A file that the script called `from` includes as `named`: beside it, unless the name begins at the root.
pub fn included(from: &str, named: &str) -> Result<(String, String), String> {
    let path = Path::new(from).parent().unwrap_or(Path::new("")).join(named);
    let name = path.display().to_string();
    let text = File::open(&path).map_err(|error| error.to_string()).and_then(text);
    text.map(|text| (name.clone(), text)).map_err(|problem| format!("{name}: {problem}"))
}

/// What stands in a file, and no more of it than is taken anyway.
fn text(file: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    // One byte more shows that it is too long.
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is no text in UTF-8")
    })
}

/// Most warnings, and most errors, that are printed.
const MOST_SHOWN: usize = 50;

/// Prints what was found; whether none of it is an error.
#[must_use]
pub fn tell(files: &Files, found: &[Diagnostic], quiet: bool) -> bool {
    let (errors, others): (Vec<&Diagnostic>, Vec<&Diagnostic>) = found.iter().partition(|one| one.is_error());
    if !quiet {
        others.iter().take(MOST_SHOWN).for_each(|one| diagnostics::script(files, one, None));
        if others.len() > MOST_SHOWN {
            eprintln!("warnings and notes that are not shown: {}", others.len() - MOST_SHOWN);
        }
    }
    let shown = errors.len().min(MOST_SHOWN);
    for (number, one) in (1..).zip(&errors[..shown]) {
        let is_last = number == shown && shown > 1;
        diagnostics::script(files, one, is_last.then(|| format!("errors in all: {}", errors.len())));
    }
    errors.is_empty()
}
