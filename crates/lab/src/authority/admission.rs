//! Enrolment over the network: `flowloom lab admit` listens, the one who comes knows the lab's authority by its token and sends its
//! request through TLS.
//!
//! A message is a length (four bytes, big-endian) and as many bytes of JSON.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::enrolment::{Answer, MOST_BYTES, Request};
use super::error::Error;
use super::folder::Authority;
use super::identity::{Certified, Identity, Role, lab_of};
use super::token::Token;
use super::trust::provider;

/// Whoever has not said what it wants by then goes.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many may be asking at once.
const MOST_AT_ONCE: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    Answer(Answer),
    Refused(String),
}

/// The listener of an authority.
pub struct Admission {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    authority: Arc<Authority>,
    asking: Arc<Semaphore>,
}

/// What became of one who asked.
#[derive(Debug)]
pub struct Asked {
    /// From where.
    pub from: SocketAddr,
    /// Who came in, or why nobody did.
    pub outcome: Result<Identity, Error>,
}

impl Admission {
    /// Listens.
    ///
    /// # Errors
    /// If the address cannot be had, or the controller's credentials are not what they should be.
    pub async fn listen(authority: Arc<Authority>, address: SocketAddr) -> Result<Admission, Error> {
        let listener = TcpListener::bind(address).await.map_err(|error| Error::form(address.to_string(), error))?;
        let own = authority.credentials()?;
        let chain = vec![own.certificate().clone(), authority.certificate().clone()];
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, own.tls_key()))
            .map_err(|error| Error::form("TLS", error))?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Admission { listener, acceptor, authority, asking: Arc::new(Semaphore::new(MOST_AT_ONCE)) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the socket does not know.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves for ever; what becomes of each who asks goes to `asked`, and the time is what `now_unix_s` says.
    pub async fn serve(
        &self,
        now_unix_s: impl Fn() -> i64 + Clone + Send + 'static,
        asked: impl Fn(Asked) + Clone + Send + 'static,
    ) {
        loop {
            let Ok((stream, from)) = self.listener.accept().await else {
                // Out of descriptors: others have to end first.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let Ok(asking) = Arc::clone(&self.asking).try_acquire_owned() else { continue };
            let (acceptor, authority) = (self.acceptor.clone(), Arc::clone(&self.authority));
            let (now_unix_s, asked) = (now_unix_s.clone(), asked.clone());
            tokio::spawn(async move {
                let _asking = asking;
                let outcome = match timeout(PATIENCE, one(&acceptor, &authority, stream, now_unix_s)).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(Error::Refused("it did not say in time what it wants".to_owned())),
                };
                asked(Asked { from, outcome });
            });
        }
    }
}

async fn one(
    acceptor: &TlsAcceptor,
    authority: &Authority,
    stream: TcpStream,
    now_unix_s: impl Fn() -> i64,
) -> Result<Identity, Error> {
    let network = |error: io::Error| Error::form("connection", error);
    let mut stream = acceptor.accept(stream).await.map_err(network)?;
    let request = receive(&mut stream).await?;
    let outcome = authority.admit(&request, now_unix_s());
    let reply = match &outcome {
        Ok((_, answer)) => Reply::Answer(answer.clone()),
        Err(Error::Refused(why)) => Reply::Refused(why.clone()),
        // Of files here others learn nothing.
        Err(_) => Reply::Refused("the request cannot be served".to_owned()),
    };
    send(&mut stream, &reply).await?;
    stream.shutdown().await.map_err(network)?;
    outcome.map(|(identity, _)| identity)
}

/// Asks at `address` to come in by `token`.
///
/// # Errors
/// If nobody answers there, if the one who answers is not of the token's lab, or if it refuses.
pub async fn ask(token: &Token, address: &str, request: &Request) -> Result<Answer, Error> {
    let patience =
        |what: &'static str| move |_| Error::form(address, format!("{what} within {} s", PATIENCE.as_secs()));
    let network = |error: io::Error| Error::form(address, error);
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| Error::form("TLS", error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(OfToken(token.authority)))
        .with_no_client_auth();
    let stream =
        timeout(PATIENCE, TcpStream::connect(address)).await.map_err(patience("no connection"))?.map_err(network)?;
    // Which lab it has to be is known by the token alone.
    let name = ServerName::try_from("lab.flowloom.internal").map_err(|error| Error::form("name", error))?;
    let mut config = config;
    config.enable_sni = false;
    let connect = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let mut stream = timeout(PATIENCE, connect).await.map_err(patience("no handshake"))?.map_err(|_| {
        Error::Refused(format!("who answers at {address} is not the lab that the token names: nothing was sent"))
    })?;
    let reply = timeout(PATIENCE, async {
        send(&mut stream, request).await?;
        receive(&mut stream).await
    });
    match reply.await.map_err(patience("no answer"))?? {
        Reply::Answer(answer) => Ok(answer),
        Reply::Refused(why) => Err(Error::Refused(format!("the lab refuses: {why}"))),
    }
}

async fn send(stream: &mut (impl AsyncWriteExt + Unpin), message: &impl Serialize) -> Result<(), Error> {
    let bytes = serde_json::to_vec(message).map_err(|error| Error::form("message", error))?;
    let length = u32::try_from(bytes.len()).map_err(|error| Error::form("message", error))?;
    let written = async {
        stream.write_all(&length.to_be_bytes()).await?;
        stream.write_all(&bytes).await?;
        stream.flush().await
    };
    written.await.map_err(|error| Error::form("connection", error))
}

async fn receive<T: for<'de> Deserialize<'de>>(stream: &mut (impl AsyncReadExt + Unpin)) -> Result<T, Error> {
    let network = |error: io::Error| Error::form("connection", error);
    let length = stream.read_u32().await.map_err(network)?;
    if u64::from(length) > MOST_BYTES {
        return Err(Error::form("message", format!("{length} bytes, where at most {MOST_BYTES} are read")));
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes).await.map_err(network)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::form("message", error))
}

/// Believes a controller of the lab whose authority has this fingerprint, and shows itself with the authority's certificate.
#[derive(Debug)]
struct OfToken([u8; 32]);

impl ServerCertVerifier for OfToken {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let other = || rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let [authority] = intermediates else { return Err(other()) };
        if Token::fingerprint(authority) != self.0 {
            return Err(other());
        }
        let lab = lab_of(authority).map_err(|_| other())?;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let name = ServerName::try_from(lab.dns_name()).map_err(|_| other())?;
        let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
        verifier.build().map_err(|_| other())?.verify_server_cert(end_entity, &[], &name, &[], now)?;
        match Certified::read(end_entity) {
            Ok(certified) if certified.identity.role == Role::Controller => Ok(ServerCertVerified::assertion()),
            _ => Err(other()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // Neither side offers it.
        Err(rustls::Error::General("TLS 1.2 is not spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
