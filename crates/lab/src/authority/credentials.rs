//! A member's folder: its certificate and key, its lab's authority, and what is revoked.

use std::path::{Path, PathBuf};

use rcgen::KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::error::{DAY_S, Error};
use super::files;
use super::identity::{Certified, Identity};
use super::trust::Trust;

/// The member's certificate.
pub(super) const CERTIFICATE: &str = "certificate.pem";
/// Its key.
pub(super) const KEY: &str = "key.pem";
/// The lab's authority.
pub(super) const AUTHORITY: &str = "authority.pem";
/// What is revoked, DER.
pub(super) const REVOKED: &str = "revoked.crl";
/// No file of certificates is longer; a list of revocations has some 50 bytes for each.
pub(super) const MOST_BYTES: u64 = 16 << 20;
/// From when on a member says that its certificate ends.
const ENDS_SOON_S: i64 = 30 * DAY_S;

/// A member's own certificate and key, and whom it believes.
#[derive(Debug)]
pub struct Credentials {
    folder: PathBuf,
    own: Certified,
    certificate: CertificateDer<'static>,
    key: KeyPair,
    trust: Trust,
}

impl Credentials {
    /// Reads a folder.
    ///
    /// # Errors
    /// If a file is missing or is not what it should be, or if they do not belong together.
    pub fn load(folder: &Path) -> Result<Credentials, Error> {
        let read = |name: &str| files::read(&folder.join(name), MOST_BYTES);
        let in_file = |name: &str, why: String| Error::form(folder.join(name).display().to_string(), why);
        let certificate =
            |name: &str| CertificateDer::from_pem_slice(&read(name)?).map_err(|error| in_file(name, error.to_string()));
        let own_certificate = certificate(CERTIFICATE)?;
        let trust = Trust::new(certificate(AUTHORITY)?, read(REVOKED)?)?;
        let key = String::from_utf8(read(KEY)?).map_err(|error| in_file(KEY, error.to_string()))?;
        let key = KeyPair::from_pem(&key).map_err(|error| in_file(KEY, error.to_string()))?;
        let own = Certified::read(&own_certificate)?;
        if own.public_key != key.public_key_raw() {
            return Err(in_file(KEY, format!("it is not the key of {CERTIFICATE}")));
        }
        if own.identity.lab != trust.lab() {
            return Err(in_file(CERTIFICATE, "it is of another lab than the authority".to_owned()));
        }
        Ok(Credentials { folder: folder.to_owned(), own, certificate: own_certificate, key, trust })
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.own.identity
    }

    /// Until when the certificate counts, in seconds since 1970.
    pub fn not_after_unix_s(&self) -> i64 {
        self.own.not_after_unix_s
    }

    /// A sentence about the certificate's end, from 30 days before on.
    pub fn ends_soon(&self, now_unix_s: i64) -> Option<String> {
        let left_s = self.own.not_after_unix_s - now_unix_s;
        let who = &self.own.identity;
        let again = format!("`flowloom lab invite {}` and `flowloom lab enrol` make another", who.name);
        match left_s {
            ..=0 => Some(format!("the certificate of {who} has expired: {again}")),
            1..ENDS_SOON_S => Some(format!("the certificate of {who} ends in {} days: {again}", left_s / DAY_S)),
            _ => None,
        }
    }

    /// Its certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Whom it believes, as the folder has it.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    pub(crate) fn key(&self) -> &KeyPair {
        &self.key
    }

    pub(crate) fn tls_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()))
    }

    /// Keeps a newer list of revocations (DER) in the folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_revocations(&self, list: &[u8]) -> Result<(), Error> {
        files::replace(&self.folder.join(REVOKED), list)
    }
}

/// What a member's folder is made of.
pub(super) struct Parts<'a> {
    pub certificate_pem: &'a str,
    pub key: &'a KeyPair,
    pub authority_pem: &'a str,
    pub revocations: &'a [u8],
}

impl Parts<'_> {
    /// Writes them into `folder`.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Error> {
        files::write_new(&folder.join(CERTIFICATE), self.certificate_pem.as_bytes())?;
        files::write_new(&folder.join(KEY), self.key.serialize_pem().as_bytes())?;
        files::write_new(&folder.join(AUTHORITY), self.authority_pem.as_bytes())?;
        files::write_new(&folder.join(REVOKED), self.revocations)
    }
}
