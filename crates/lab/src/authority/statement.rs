//! What a member says so that others can check it without the one who carries it: signed with its certificate's key.
//!
//! Three things are said in this way. A controller **asks** the agent that is to receive traffic, that agent **consents** to it, and the
//! agent that is to send it checks that itself: controllers, and agents between, only carry consents, they cannot make one. A controller
//! **delegates** blocks of an experiment to an agent, which may then command another agent of those blocks: an agent obeys no agent
//! without it.

use rcgen::SigningKey;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

use super::credentials::Credentials;
use super::error::Error;
use super::identity::Certified;
use super::trust::Trust;
use crate::rpc::Signed;

/// What a statement is, which is signed with it: none passes for one of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`crate::rpc::Asking`]
    Asking,
    /// [`crate::rpc::Consent`]
    Consent,
    /// [`crate::rpc::Delegation`]
    Delegation,
}

impl Kind {
    fn context(self) -> &'static [u8] {
        match self {
            Kind::Asking => b"flowloom lab asking 1\0",
            Kind::Consent => b"flowloom lab consent 1\0",
            Kind::Delegation => b"flowloom lab delegation 2\0",
        }
    }
}

/// Signs `statement`, an encoded message, as `who`.
///
/// # Errors
/// If the system has no random numbers.
pub fn sign(who: &Credentials, kind: Kind, statement: Vec<u8>) -> Result<Signed, Error> {
    let signature = who.key().sign(&signed_bytes(kind, &statement)).map_err(|error| Error::form("signature", error))?;
    Ok(Signed { statement, signature, certificate: who.certificate().to_vec() })
}

/// Who said it, if that is a member of the lab now and the signature is its own.
///
/// # Errors
/// If not: why.
pub fn verify(trust: &Trust, kind: Kind, signed: &Signed, now_unix_s: i64) -> Result<Certified, Error> {
    let certified = trust.member(&signed.certificate, now_unix_s)?;
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &certified.public_key)
        .verify(&signed_bytes(kind, &signed.statement), &signed.signature)
        .map_err(|_| Error::Refused(format!("it is not signed by {}", certified.identity)))?;
    Ok(certified)
}

fn signed_bytes(kind: Kind, statement: &[u8]) -> Vec<u8> {
    [kind.context(), statement].concat()
}
