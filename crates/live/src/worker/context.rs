//! Errors with what was tried.

use std::io;

/// Returns `error` with what was tried before its own words.
pub(super) fn context(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
