//! Calls to other programs by HTTP: one place for what is trusted, for limits, and for what errors may tell.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

/// A client whose calls end within `most`. It trusts the certificates that the host does (without any, plain http is left), and follows no
/// redirections.
pub fn client(most: Duration) -> ureq::Agent {
    let trusted = rustls_native_certs::load_native_certs().certs;
    let trusted: Vec<Certificate<'static>> =
        trusted.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::new_with_certs(&trusted))
        .unversioned_rustls_crypto_provider(provider)
        .build();
    let config = ureq::Agent::config_builder().timeout_global(Some(most)).max_redirects(0).tls_config(tls).build();
    ureq::Agent::new_with_config(config)
}

/// Why a call failed, without its URL, of which a part may be a secret.
pub fn problem(error: &ureq::Error) -> String {
    match error {
        ureq::Error::StatusCode(status) => format!("its URL answered with {status}"),
        ureq::Error::Io(error) => format!("its URL: {}", error.kind()),
        ureq::Error::Timeout(_) => format!("its URL: {}", io::ErrorKind::TimedOut),
        ureq::Error::HostNotFound => "its URL: unknown host".to_owned(),
        _ => "its URL cannot be called".to_owned(),
    }
}
