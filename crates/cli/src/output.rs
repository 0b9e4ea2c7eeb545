//! Standard output: the answer. A reader that went away (`flowloom ... | head`) is no error.

use std::io::{ErrorKind, IsTerminal, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Writes `text` as it is.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format_args!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes `object` as one indented JSON object.
pub fn json(object: &impl Serialize) -> Result<(), Failure> {
    let mut encoded =
        serde_json::to_string_pretty(object).map_err(|error| Failure::new(format_args!("JSON: {error}")))?;
    encoded.push('\n');
    text(&encoded)
}

/// Whether text for standard output may be coloured: it goes to a terminal and NO_COLOR is not set.
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints a warning with its remedy on standard error, unless quiet.
pub fn warn(quiet: bool, cause: &str, remedy: &str) {
    if !quiet {
        eprintln!("warning: {cause}\n  remedy: {remedy}");
    }
}
