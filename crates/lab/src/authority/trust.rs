//! Whom a member believes: its lab's authority, less what is revoked.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, RootCertStore};
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

use super::error::Error;
use super::identity::{Certified, LabId, lab_of};

/// The lab's authority and its newest revocations.
#[derive(Clone, Debug)]
pub struct Trust {
    lab: LabId,
    authority: CertificateDer<'static>,
    revocations: Vec<u8>,
    number: u64,
    clients: Arc<dyn ClientCertVerifier>,
    servers: Arc<WebPkiServerVerifier>,
}

impl Trust {
    /// Of an authority's certificate and its list of revocations, both DER.
    ///
    /// # Errors
    /// If one of them is not what it should be, or the list is not the authority's.
    pub fn new(authority: CertificateDer<'static>, revocations: Vec<u8>) -> Result<Trust, Error> {
        let lab = lab_of(&authority)?;
        let number = number_of(&authority, &revocations)?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone()).map_err(|error| Error::form("authority", error))?;
        let roots = Arc::new(roots);
        let list = || [CertificateRevocationListDer::from(revocations.clone())];
        let provider = provider();
        // What strangers are shown of who is believed is nothing.
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .with_crls(list())
            .clear_root_hint_subjects()
            .build()
            .map_err(|error| Error::form("authority", error))?;
        let servers = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .with_crls(list())
            .build()
            .map_err(|error| Error::form("authority", error))?;
        Ok(Trust { lab, authority, revocations, number, clients, servers })
    }

    /// Which lab it is.
    pub fn lab(&self) -> LabId {
        self.lab
    }

    /// The authority's certificate.
    pub fn authority(&self) -> &CertificateDer<'static> {
        &self.authority
    }

    /// The list of revocations, DER.
    pub fn revocations(&self) -> &[u8] {
        &self.revocations
    }

    /// The number of that list: the higher, the newer.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn clients(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::clone(&self.clients)
    }

    pub(crate) fn servers(&self) -> Arc<WebPkiServerVerifier> {
        Arc::clone(&self.servers)
    }

    /// Whom a certificate is of: a member of this lab, now.
    ///
    /// # Errors
    /// If it is not the authority's, expired, revoked, or names no member of this lab.
    pub fn member(&self, certificate: &[u8], now_unix_s: i64) -> Result<Certified, Error> {
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now_unix_s.max(0).unsigned_abs()));
        self.clients
            .verify_client_cert(&CertificateDer::from(certificate), &[], now)
            .map_err(|error| Error::Refused(in_words(&error)))?;
        let certified = Certified::read(certificate)?;
        if certified.identity.lab != self.lab {
            return Err(Error::Refused("its certificate names another lab".to_owned()));
        }
        Ok(certified)
    }

    /// The same with the revocations of `list` (DER), if that is newer.
    ///
    /// # Errors
    /// If it is not a list of this authority.
    pub fn newer(&self, list: &[u8]) -> Result<Option<Trust>, Error> {
        if list == self.revocations || number_of(&self.authority, list)? <= self.number {
            return Ok(None);
        }
        Trust::new(self.authority.clone(), list.to_vec()).map(Some)
    }
}

/// How TLS encrypts and signs.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Why a certificate was not believed.
pub(crate) fn in_words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(why) => match why {
            CertificateError::Revoked => "its certificate is revoked".to_owned(),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate counts only from later on: compare the hosts' clocks".to_owned()
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature | CertificateError::NotValidForName => {
                "its certificate is of another lab".to_owned()
            }
            why => format!("its certificate is not accepted: {why}"),
        },
        error => error.to_string(),
    }
}

/// The number of a list of revocations that `authority` signed.
fn number_of(authority: &[u8], list: &[u8]) -> Result<u64, Error> {
    let what = "list of revocations";
    let (rest, list) = CertificateRevocationList::from_der(list).map_err(|error| Error::form(what, error))?;
    let (_, authority) = X509Certificate::from_der(authority).map_err(|error| Error::form("authority", error))?;
    if !rest.is_empty() {
        return Err(Error::form(what, "something follows it"));
    }
    list.verify_signature(authority.public_key())
        .map_err(|_| Error::form(what, "it is not signed by the lab's authority"))?;
    let number = list.crl_number().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| Error::form(what, "it has no number"))
}
