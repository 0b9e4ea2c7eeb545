//! Who takes part in a lab: its private certificate authority, the one-time tokens by which agents come in, and what is revoked.
//!
//! A lab is its authority: an identity ([`identity::Identity`]) is a certificate of it that names the lab, a role and a name. The
//! authority's folder, made by [`folder::Authority::init`], is also that of the first controller; every other member has a folder of
//! credentials ([`credentials::Credentials`]) whose key was made on the host and has never left it ([`enrolment`]).

pub mod admission;
pub mod credentials;
pub mod enrolment;
pub mod files;
pub mod folder;
pub mod identity;
mod issue;
pub mod statement;
pub mod token;
pub mod trust;

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
    fn file(path: &Path) -> impl Fn(io::Error) -> Error {
        move |error| Error::File { path: path.to_owned(), error }
    }

    fn form(what: impl Into<String>, why: impl ToString) -> Error {
        Error::Form { what: what.into(), why: why.to_string() }
    }
}

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;

/// A name for an experiment that no other has: 128 random bits, as 32 hexadecimal digits.
///
/// # Errors
/// If the system has no random numbers.
pub fn unique() -> Result<String, Error> {
    Ok(issue::random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}
