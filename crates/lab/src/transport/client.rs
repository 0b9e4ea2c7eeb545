//! The calling side: a connection to an agent whose certificate is verified before anything is said, and greeted before anything else.

use std::error::Error as _;
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
use tonic::Status;
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint};

use super::{KEEP_ALIVE_EVERY, KEEP_ALIVE_PATIENCE, MOST_MESSAGE_BYTES, Version, tls};
use crate::authority::credentials::Credentials;
use crate::authority::identity::{Certified, Name, Role};
use crate::authority::trust::{Trust, in_words};
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
) -> Result<Link, String> {
    let stream = match timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(format!("{address}: {error}")),
        Err(_) => return Err(format!("{address}: no connection within {} s", PATIENCE.as_secs())),
    };
    let told = |why: String| format!("{address}: {why}");
    stream.set_nodelay(true).map_err(|error| told(error.to_string()))?;
    let ends = [stream.local_addr(), stream.peer_addr()];
    let [Ok(ours), Ok(its)] = ends else { return Err(told("the connection was closed".to_owned())) };
    let config = tls::client(own, trust).map_err(|error| told(error.to_string()))?;
    let name = ServerName::try_from(trust.lab().dns_name()).map_err(|error| told(error.to_string()))?;
    let connect = TlsConnector::from(config).connect(name, stream);
    let mut stream = match timeout(PATIENCE, connect).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(told(tls_words(&error))),
        Err(_) => return Err(told(format!("no handshake within {} s", PATIENCE.as_secs()))),
    };
    let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let agent = certificate.ok_or_else(|| told("it has no certificate".to_owned()))?;
    let agent = Certified::read(agent).map_err(|error| told(error.to_string()))?;
    if agent.identity.role != Role::Agent {
        return Err(told(format!("{} answers there, which is no agent", agent.identity)));
    }
    if let Some(expected) = expected.filter(|expected| **expected != agent.identity.name) {
        return Err(told(format!("{} answers there, where {expected} is expected", agent.identity)));
    }

    // Our handshake ends before the agent has looked at our certificate (RFC 8446 section 4.4). What it says next are its HTTP/2 settings,
    // or why it closes.
    match timeout(PATIENCE, stream.fill_buf()).await {
        Ok(Ok([])) => return Err(told("the connection was closed".to_owned())),
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(told(tls_words(&error))),
        Err(_) => return Err(told(format!("no word within {} s", PATIENCE.as_secs()))),
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
        .map_err(|error| told(error.to_string()))?;
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
        Ok(Err(status)) => return Err(told(words(&status))),
        Err(_) => return Err(told(format!("no greeting within {} s", PATIENCE.as_secs()))),
    };
    if Version::of(&hello) != *version {
        return Err(told(format!("{} runs {}, this is {version}", agent.identity, Version::of(&hello))));
    }
    Ok(Link { client, agent, hello, ends: [ours, its] })
}

/// What a refused call says.
pub fn words(status: &Status) -> String {
    let mut source = status.source();
    let mut is_lost = false;
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return tls_words(error);
        }
        is_lost |= error.is::<hyper::Error>();
        source = error.source();
    }
    if is_lost {
        // It does not say which of the two it was.
        let silence_s = (KEEP_ALIVE_EVERY + KEEP_ALIVE_PATIENCE).as_secs_f64();
        return format!("the connection was lost: the other end closed it, or gave no sign of life for {silence_s} s");
    }
    match status.message() {
        "" => status.code().to_string(),
        message => message.to_owned(),
    }
}

fn tls_words(error: &io::Error) -> String {
    use rustls::AlertDescription as Alert;
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::AlertReceived(alert)) => match alert {
            Alert::CertificateRevoked => "our certificate is revoked".to_owned(),
            Alert::CertificateExpired => "our certificate has expired".to_owned(),
            Alert::UnknownCA | Alert::DecryptError | Alert::BadCertificate => {
                "our certificate is of another lab".to_owned()
            }
            alert => format!("it does not accept us: {alert:?}"),
        },
        Some(error) => in_words(error),
        None => match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                "the connection was closed".to_owned()
            }
            _ => error.to_string(),
        },
    }
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
    pub async fn connect(&self, address: &str, expected: Option<&Name>) -> Result<Link, String> {
        connect(&self.own, &self.trust, address, expected, &self.version).await
    }
}
