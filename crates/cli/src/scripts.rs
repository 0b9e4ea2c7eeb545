//! Scripts of the lab: from files, and what is wrong with them to the user.

use std::io::Read;
use std::path::Path;

use flowloom::lab::script::diagnostic::Diagnostic;
use flowloom::lab::script::parser::MOST_BYTES;
use flowloom::lab::script::place::Files;
use flowloom::store::interrupt::standard_input;
use flowloom::store::regular;

use flowloom::{Error, decoded};

use crate::{diagnostics, interrupt};

/// The name and the text of a script; "-" is standard input.
pub fn read(path: &Path) -> Result<(String, String), Error> {
    let unreadable = |error| Error::new(format_args!("{}: {error}", path.display()));
    if path.as_os_str() == "-" {
        let name = "standard input".to_owned();
        let interrupt = interrupt::stop().interrupt();
        let read = standard_input(&interrupt).map_err(unreadable).and_then(|file| text(file, &name, unreadable));
        return match read {
            Err(_) if interrupt.has_cut() => Err(Error::interrupted("interrupted: the script was not read to its end")),
            read => Ok((name, read?)),
        };
    }
    let name = path.display().to_string();
    let file = regular::open(path).map_err(unreadable)?;
    Ok((name.clone(), text(file, &name, unreadable)?))
}

/// A file that the script called `from` includes as `named`: beside it, unless the name begins at the root.
pub fn included(from: &str, named: &str) -> Result<(String, String), String> {
    let path = Path::new(from).parent().unwrap_or(Path::new("")).join(named);
    let name = path.display().to_string();
    let unreadable = |error| Error::new(format_args!("{name}: {error}"));
    let text = regular::open(&path).map_err(unreadable).and_then(|file| text(file, &name, unreadable));
    text.map(|text| (name.clone(), text)).map_err(|error| error.to_string())
}

/// What stands in the file called `name`, and no more of it than is taken anyway.
fn text(file: impl Read, name: &str, unreadable: impl Fn(std::io::Error) -> Error) -> Result<String, Error> {
    let mut bytes = Vec::new();
    // One byte more shows that it is too long.
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    decoded(bytes, name, "a script is text in UTF-8")
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
            tell!("warnings and notes that are not shown: {}", others.len() - MOST_SHOWN);
        }
    }
    let shown = errors.len().min(MOST_SHOWN);
    for (number, one) in (1..).zip(&errors[..shown]) {
        let is_last = number == shown && shown > 1;
        diagnostics::script(files, one, is_last.then(|| format!("errors in all: {}", errors.len())));
    }
    errors.is_empty()
}
