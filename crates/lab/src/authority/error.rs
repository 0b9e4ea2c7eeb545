//! What goes wrong with keys and certificates.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why something about certificates, tokens or their files could not be done.
#[derive(Debug, Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file, a token or a message is not what it should be.
    #[error("{what}: {why}")]
    Form {
        /// What it is.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// It is understood, and refused.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    pub(super) fn file(path: &Path) -> impl Fn(io::Error) -> Error {
        move |error| Error::File { path: path.to_owned(), error }
    }

    pub(super) fn form(what: impl Into<String>, why: impl ToString) -> Error {
        Error::Form { what: what.into(), why: why.to_string() }
    }
}

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;
