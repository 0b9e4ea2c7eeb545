//! TLS as both sides speak it: version 1.3 alone, each side with its certificate, no session resumed: what is revoked is revoked for
//! the next connection.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::server::NoServerSessionStorage;
use rustls::{ClientConfig, ServerConfig};

use crate::authority::Error;
use crate::authority::credentials::Credentials;
use crate::authority::trust::{Trust, provider};

/// HTTP/2, which gRPC speaks.
const ALPN: &[u8] = b"h2";

pub(super) fn server(own: &Credentials, trust: &Trust) -> Result<Arc<ServerConfig>, Error> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|config| {
            config
                .with_client_cert_verifier(trust.clients())
                .with_single_cert(vec![own.certificate().clone()], own.tls_key())
        })
        .map_err(|error| Error::Form { what: "TLS".to_owned(), why: error.to_string() })?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

pub(super) fn client(own: &Credentials, trust: &Trust) -> Result<Arc<ClientConfig>, Error> {
    let verifier: Arc<dyn ServerCertVerifier> = trust.servers();
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|config| {
            config
                .dangerous()
                .with_custom_certificate_verifier(verifier)
                .with_client_auth_cert(vec![own.certificate().clone()], own.tls_key())
        })
        .map_err(|error| Error::Form { what: "TLS".to_owned(), why: error.to_string() })?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    // The name, which would go in the clear, is the lab's and tells nothing else.
    config.enable_sni = false;
    Ok(Arc::new(config))
}
