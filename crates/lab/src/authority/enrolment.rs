//! How somebody comes in: its key is made where it will stay, a request carries the public half and the token's secret, and the
//! answer counts only if it comes from the lab that the token names. Over the network ([`super::admission`]) or by files.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, CertificateSigningRequestParams, KeyPair, PublicKeyData};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer};
use serde::{Deserialize, Serialize};

use super::credentials::{Credentials, Parts};
use super::error::Error;
use super::identity::Identity;
use super::token::Token;
use super::trust::Trust;
use super::{files, issue};

/// Requests and answers are no longer.
pub const MOST_BYTES: u64 = 1 << 20;

/// What the one who comes sends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    authority_sha256: String,
    secret: String,
    /// PKCS #10 (RFC 2986), DER, base64: proof that the sender has the key. What it asks to be called counts for nothing.
    key_request: String,
}

impl Request {
    /// With the secret of `token`, for `key`.
    ///
    /// # Errors
    /// If the key cannot sign.
    pub fn new(token: &Token, key: &KeyPair) -> Result<Request, Error> {
        let request = CertificateParams::default().serialize_request(key).map_err(|error| Error::form("key", error))?;
        Ok(Request {
            authority_sha256: BASE64_STANDARD.encode(token.authority),
            secret: BASE64_STANDARD.encode(token.secret),
            key_request: BASE64_STANDARD.encode(request.der()),
        })
    }

    pub(super) fn authority(&self) -> Result<Vec<u8>, Error> {
        decoded(&self.authority_sha256)
    }

    pub(super) fn secret(&self) -> Result<Vec<u8>, Error> {
        decoded(&self.secret)
    }

    /// The key, of the one kind that members have, if the request is signed with it.
    pub(super) fn public_key(&self) -> Result<impl PublicKeyData, Error> {
        let request = CertificateSigningRequestDer::from(decoded(&self.key_request)?);
        let request =
            CertificateSigningRequestParams::from_der(&request).map_err(|error| Error::form("key request", error))?;
        if *request.public_key.algorithm() != rcgen::PKCS_ECDSA_P256_SHA256 {
            return Err(Error::form("key request", "its key is not of P-256"));
        }
        Ok(request.public_key)
    }
}

/// What comes back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    certificate_pem: String,
    authority_pem: String,
    revocations: String,
}

impl Answer {
    pub(super) fn new(certificate_pem: String, authority_pem: String, revocations: &[u8]) -> Answer {
        Answer { certificate_pem, authority_pem, revocations: BASE64_STANDARD.encode(revocations) }
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, Error> {
    BASE64_STANDARD.decode(text).map_err(|error| Error::form("request", error))
}

/// Makes the folder of a member of `answer`, if that is of the lab that the token names, and over `key`.
///
/// # Errors
/// If it is not, or if there is something at `folder`.
pub fn join(
    folder: &Path,
    authority_sha256: &[u8],
    key: &KeyPair,
    answer: &Answer,
    extra: &[(&str, &str)],
    now_unix_s: i64,
) -> Result<Identity, Error> {
    let pem =
        |text: &str| CertificateDer::from_pem_slice(text.as_bytes()).map_err(|error| Error::form("answer", error));
    let authority = pem(&answer.authority_pem)?;
    if Token::fingerprint(&authority) != authority_sha256 {
        return Err(Error::Refused("the answer is of another lab than the token".to_owned()));
    }
    let revocations = decoded(&answer.revocations)?;
    let member = Trust::new(authority, revocations.clone())?.member(&pem(&answer.certificate_pem)?, now_unix_s)?;
    if member.public_key != key.public_key_raw() {
        return Err(Error::Refused("the answer is for another key than this host's".to_owned()));
    }
    files::create_folder(folder, |folder| {
        let (certificate_pem, authority_pem) = (answer.certificate_pem.as_str(), answer.authority_pem.as_str());
        Parts { certificate_pem, key, authority_pem, revocations: &revocations }.write(folder)?;
        extra.iter().try_for_each(|(name, content)| files::write_new(&folder.join(name), content.as_bytes()))?;
        Credentials::load(folder).map(drop)
    })?;
    Ok(member.identity)
}

/// A new key, for a member to be.
///
/// # Errors
/// If the system has no random numbers.
pub fn new_key() -> Result<KeyPair, Error> {
    issue::new_key()
}

/// An enrolment by files, between its request and its answer: the key waits beside the folder that will be made.
#[derive(Debug)]
pub struct Pending {
    folder: PathBuf,
}

impl Pending {
    const KEY: &'static str = "key.pem";
    const AUTHORITY: &'static str = "authority.sha256";

    /// That of a member's folder to be.
    pub fn of(folder: &Path) -> Pending {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Pending { folder: folder.with_file_name(format!("{name}.pending")) }
    }

    /// Begins: makes the key and returns the request.
    ///
    /// # Errors
    /// If one has begun already, or nothing can be written.
    pub fn begin(&self, token: &Token) -> Result<Request, Error> {
        if self.folder.exists() {
            return Err(Error::Refused(format!(
                "a request was made before, and its key waits in {} for the answer: take the answer in with --answer, or remove that folder to \
                 begin anew",
                self.folder.display()
            )));
        }
        let key = new_key()?;
        files::create_folder(&self.folder, |folder| {
            files::write_new(&folder.join(Self::KEY), key.serialize_pem().as_bytes())?;
            files::write_new(&folder.join(Self::AUTHORITY), &token.authority)
        })?;
        Request::new(token, &key)
    }

    /// Takes back what was begun, if anything was: its key is of no more use.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn cancel(&self) -> Result<(), Error> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(&self.folder)(error)),
            _ => Ok(()),
        }
    }

    /// Ends: makes the member's folder.
    ///
    /// # Errors
    /// As [`join`], or if none has begun.
    pub fn end(
        &self,
        folder: &Path,
        answer: &Answer,
        extra: &[(&str, &str)],
        now_unix_s: i64,
    ) -> Result<Identity, Error> {
        let read = |name: &str| files::read(&self.folder.join(name), MOST_BYTES);
        let key = String::from_utf8(read(Self::KEY)?).map_err(|error| Error::form("key", error))?;
        let key = KeyPair::from_pem(&key).map_err(|error| Error::form("key", error))?;
        let identity = join(folder, &read(Self::AUTHORITY)?, &key, answer, extra, now_unix_s)?;
        fs::remove_dir_all(&self.folder).map_err(Error::file(&self.folder))?;
        Ok(identity)
    }
}
