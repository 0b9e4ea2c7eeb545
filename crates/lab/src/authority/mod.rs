//! Who takes part in a lab: its private certificate authority, the one-time tokens by which agents come in, and what is revoked.
//!
//! A lab is its authority: an identity ([`identity::Identity`]) is a certificate of it that names the lab, a role and a name. The
//! authority's folder, made by [`folder::Authority::init`], is also that of the first controller; every other member has a folder of
//! credentials ([`credentials::Credentials`]) whose key was made on the host and has never left it ([`enrolment`]).

pub mod admission;
pub mod credentials;
pub mod enrolment;
mod error;
pub mod files;
pub mod folder;
pub mod identity;
mod issue;
pub mod statement;
pub mod token;
pub mod trust;

pub use error::{DAY_S, Error};

/// A name for an experiment that no other has: 128 random bits, as 32 hexadecimal digits.
///
/// # Errors
/// If the system has no random numbers.
pub fn unique() -> Result<String, Error> {
    Ok(issue::random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}
