//! The calling side: a connection to an agent whose certificate is verified before anything is said, and greeted before anything else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::AsyncBufReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint};

use super::error::{AgentError, CallError};
use super::{KEEP_ALIVE_EVERY, KEEP_ALIVE_PATIENCE, MOST_MESSAGE_BYTES, Version, tls};
use crate::authority::credentials::Credentials;
use crate::authority::identity::{Certified, Name, Role};
use crate::authority::trust::Trust;
use crate::rpc::agent_client::AgentClient;
use crate::rpc::{HelloReply, HelloRequest};

/// Who has not answered by then is not there.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to an agent of the lab that runs our release.
#[derive(Clone, Debug)]
pub struct Link {
    /// To call it by.
    pub client: AgentClient<Channel>,
    /// Who it is.
    pub agent: Certified,
    /// What it said when it was greeted.
    pub hello: HelloReply,
    /// The connection's ends: ours and its.
    pub ends: [SocketAddr; 2],
}

/// Connects to the agent at `address` (`host:port`), which is to be called `expected` where a name is known, and greets it as
/// `version`.
///
/// # Errors
/// A sentence: nobody is there, it is no agent of the lab, it is another one, or of another release.
pub async fn connect(
    own: &Credentials,
    trust: &Trust,
    address: &str,
    expected: Option<&Name>,
    version: &Version,
) -> Result<Link, AgentError> {
    connected(own, trust, address, expected, version).await.map_err(|why| why.at(address))
}

async fn connected(
    own: &Credentials,
    trust: &Trust,
    address: &str,
    expected: Option<&Name>,
    version: &Version,
) -> Result<Link, CallError> {
    let late = |what| CallError::Late { what, seconds: PATIENCE.as_secs() };
    let stream = match timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(CallError::system(error)),
        Err(_) => return Err(late("connection")),
    };
    stream.set_nodelay(true).map_err(CallError::system)?;
    let ends = [stream.local_addr(), stream.peer_addr()];
    let [Ok(ours), Ok(its)] = ends else { return Err(CallError::Closed) };
    let config = tls::client(own, trust).map_err(CallError::system)?;
    let name = ServerName::try_from(trust.lab().dns_name()).map_err(CallError::system)?;
    let connect = TlsConnector::from(config).connect(name, stream);
    let mut stream = match timeout(PATIENCE, connect).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(CallError::of_tls(&error)),
        Err(_) => return Err(late("handshake")),
    };
    let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let agent = certificate.ok_or(CallError::NoCertificate)?;
    let agent = Certified::read(agent).map_err(CallError::system)?;
    if agent.identity.role != Role::Agent {
        return Err(CallError::NoAgent(agent.identity));
    }
    if let Some(expected) = expected.filter(|expected| **expected != agent.identity.name) {
        return Err(CallError::OtherAgent { found: Box::new(agent.identity), expected: expected.clone() });
    }

    // Our handshake ends before the agent has looked at our certificate (RFC 8446 section 4.4). What it says next are its HTTP/2 settings,
    // or why it closes.
    match timeout(PATIENCE, stream.fill_buf()).await {
        Ok(Ok([])) => return Err(CallError::Closed),
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(CallError::of_tls(&error)),
        Err(_) => return Err(late("word")),
    }

    // One connection: when it has ended its experiments are stopped, and another would not know of them.
    let mut once = Some(TokioIo::new(stream));
    let connector = tower::service_fn(move |_: Uri| {
        let stream = once.take().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected));
        async move { stream }
    });
    let channel = Endpoint::from_static("http://agent.lab.flowloom.internal")
        .http2_keep_alive_interval(KEEP_ALIVE_EVERY)
        .keep_alive_timeout(KEEP_ALIVE_PATIENCE)
        .keep_alive_while_idle(true)
        .connect_with_connector(connector)
        .await
        .map_err(CallError::system)?;
    let mut client = AgentClient::new(channel)
        .max_decoding_message_size(MOST_MESSAGE_BYTES)
        .max_encoding_message_size(MOST_MESSAGE_BYTES);
    let request = HelloRequest {
        version: version.release.clone(),
        protocol: version.protocol,
        revocations: trust.revocations().to_vec(),
    };
    let hello = match timeout(PATIENCE, client.hello(request)).await {
        Ok(Ok(reply)) => reply.into_inner(),
        Ok(Err(status)) => return Err(CallError::of(&status)),
        Err(_) => return Err(late("greeting")),
    };
    if Version::of(&hello) != *version {
        let (theirs, ours) = (Box::new(Version::of(&hello)), Box::new(version.clone()));
        return Err(CallError::Version { agent: Box::new(agent.identity), theirs, ours });
    }
    Ok(Link { client, agent, hello, ends: [ours, its] })
}

/// What members hold of each other at one moment, to connect by.
#[derive(Clone, Debug)]
pub struct Caller {
    /// As whom.
    pub own: Arc<Credentials>,
    /// Believing whom.
    pub trust: Arc<Trust>,
    /// Of which release.
    pub version: Version,
}

impl Caller {
    /// As the folder of `own` has it.
    pub fn new(own: Credentials) -> Caller {
        let trust = Arc::new(own.trust().clone());
        Caller { own: Arc::new(own), trust, version: Version::ours() }
    }

    /// Connects, as [`connect`] does.
    ///
    /// # Errors
    /// As [`connect`].
    pub async fn connect(&self, address: &str, expected: Option<&Name>) -> Result<Link, AgentError> {
        connect(&self.own, &self.trust, address, expected, &self.version).await
    }
}
