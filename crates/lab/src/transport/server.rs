//! The listening side. Whoever has not shown a certificate of the lab in time is closed on, and nobody learns why; whoever has is
//! served until it goes, its certificate is revoked, or the listener ends.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::codegen::{Service, http};

use super::counts::{Counted, Counts};
use super::{KEEP_ALIVE_EVERY, KEEP_ALIVE_PATIENCE, tls};
use crate::authority::Error;
use crate::authority::credentials::Credentials;
use crate::authority::identity::{Certified, Identity};
use crate::authority::trust::Trust;
use crate::clock::Clock;

/// How much strangers and members may take.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Whoever has not shown a certificate by then goes.
    pub handshake: Duration,
    /// Connections that have not shown one yet.
    pub half_open: usize,
    /// Connections of one address, of IPv6 of one /64.
    pub per_address: usize,
    /// Connections in all.
    pub connections: usize,
    /// Calls at once on one connection.
    pub calls: u32,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { handshake: Duration::from_secs(5), half_open: 64, per_address: 64, connections: 512, calls: 64 }
    }
}

/// Who is at the other end of a connection.
#[derive(Debug)]
pub struct Peer {
    /// Its certificate, as it was verified.
    pub certified: Certified,
    /// Where it is.
    pub address: SocketAddr,
    certificate: Vec<u8>,
}

impl Peer {
    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.certified.identity
    }
}

/// A listener, bound.
pub struct Server {
    listener: TcpListener,
    bounds: Bounds,
    own: Arc<Credentials>,
    trust: watch::Receiver<Arc<Trust>>,
    clock: Arc<dyn Clock>,
}

impl Server {
    /// Listens on `address`, with what is trusted as `trust` has it at each moment.
    ///
    /// # Errors
    /// If the address cannot be had, or TLS not be set up.
    pub async fn bind(
        address: SocketAddr,
        bounds: Bounds,
        own: Arc<Credentials>,
        trust: watch::Receiver<Arc<Trust>>,
        clock: Arc<dyn Clock>,
    ) -> Result<Server, Error> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| Error::Form { what: format!("listening on {address}"), why: error.to_string() })?;
        tls::server(&own, &trust.borrow())?;
        Ok(Server { listener, bounds, own, trust, clock })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the socket does not know.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `end` says so, each connection with what `service` makes for it; strangers are told to `stranger`.
    pub async fn serve<S>(
        self,
        service: impl Fn(Arc<Peer>) -> S,
        stranger: impl Fn(SocketAddr, &str) + Clone + Send + 'static,
        mut end: watch::Receiver<bool>,
    ) where
        S: Service<http::Request<Incoming>, Response = http::Response<tonic::body::Body>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
    {
        let counts = Counts::new(self.bounds.connections, self.bounds.per_address);
        let half_open = Arc::new(Semaphore::new(self.bounds.half_open));
        let mut connections = JoinSet::new();
        let (came, mut coming) = tokio::sync::mpsc::channel(1);
        let ends = end.clone();
        loop {
            let (stream, address) = tokio::select! {
                () = told(&mut end) => break,
                Some(member) = coming.recv() => {
                    let Member { stream, peer, counted } = member;
                    let service = service(Arc::clone(&peer));
                    let (trust, clock, end) = (self.trust.clone(), Arc::clone(&self.clock), ends.clone());
                    connections.spawn(serve(stream, peer, service, self.bounds.calls, trust, clock, end, counted));
                    continue;
                }
                Some(_) = connections.join_next() => continue,
                accepted = self.listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(_) => {
                        // Out of descriptors: others have to end first.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                },
            };
            let Some(counted) = counts.one_more(address.ip()) else {
                stranger(address, "too many connections");
                continue;
            };
            let Ok(opening) = Arc::clone(&half_open).try_acquire_owned() else {
                stranger(address, "too many connections are half open");
                continue;
            };
            // Made anew, because what is revoked may have changed.
            let trust = Arc::clone(&self.trust.borrow());
            let Ok(config) = tls::server(&self.own, &trust) else { continue };
            let (patience, now_unix_s) = (self.bounds.handshake, self.clock.unix_s());
            let (came, stranger) = (came.clone(), stranger.clone());
            tokio::spawn(async move {
                let _opening = opening;
                let shaken = timeout(patience, handshake(stream, address, config, &trust, now_unix_s)).await;
                match shaken.unwrap_or(Err(Stranger::Late)) {
                    // If the listener has ended meanwhile, nobody takes it.
                    Ok((stream, peer)) => drop(came.send(Member { stream, peer: Arc::new(peer), counted }).await),
                    Err(why) => stranger(address, &why.to_string()),
                }
            });
        }
        // What is under way may end; the agent has stopped what it ran.
        let _ = timeout(Duration::from_millis(500), async { while connections.join_next().await.is_some() {} }).await;
    }
}

/// Why a connection is refused.
#[derive(Debug, thiserror::Error)]
enum Stranger {
    #[error("it said nothing")]
    Silent,
    #[error("it does not speak TLS")]
    NoTls,
    #[error("it has no certificate")]
    NoCertificate,
    #[error("no certificate in time")]
    Late,
    #[error(transparent)]
    Socket(io::Error),
    /// In the library's words.
    #[error("{0}")]
    Tls(String),
    #[error(transparent)]
    NoMember(#[from] crate::authority::Error),
}

struct Member {
    stream: TlsStream<TcpStream>,
    peer: Arc<Peer>,
    counted: Counted,
}

async fn handshake(
    stream: TcpStream,
    address: SocketAddr,
    config: Arc<rustls::ServerConfig>,
    trust: &Trust,
    now_unix_s: i64,
) -> Result<(TlsStream<TcpStream>, Peer), Stranger> {
    // A handshake record (RFC 8446 section 5.1). To anything else TLS would answer with an alert: it gets no byte.
    const HANDSHAKE: u8 = 22;
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1..) if first[0] == HANDSHAKE => {}
        Ok(0) => return Err(Stranger::Silent),
        Ok(_) => return Err(Stranger::NoTls),
        Err(error) => return Err(Stranger::Socket(error)),
    }
    stream.set_nodelay(true).map_err(Stranger::Socket)?;
    let stream = TlsAcceptor::from(config).accept(stream).await.map_err(|error| {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        Stranger::Tls(tls.map_or_else(|| error.to_string(), crate::authority::trust::in_words))
    })?;
    let certificate = match stream.get_ref().1.peer_certificates() {
        Some([certificate, ..]) => certificate.to_vec(),
        _ => return Err(Stranger::NoCertificate),
    };
    let certified = trust.member(&certificate, now_unix_s)?;
    Ok((stream, Peer { certified, address, certificate }))
}

#[expect(clippy::too_many_arguments, reason = "a connection has this much about it, and is served once")]
async fn serve<S>(
    stream: TlsStream<TcpStream>,
    peer: Arc<Peer>,
    service: S,
    calls: u32,
    mut trust: watch::Receiver<Arc<Trust>>,
    clock: Arc<dyn Clock>,
    mut end: watch::Receiver<bool>,
    counted: Counted,
) where
    S: Service<http::Request<Incoming>, Response = http::Response<tonic::body::Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    let _counted = counted;
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE_EVERY)
        .keep_alive_timeout(KEEP_ALIVE_PATIENCE)
        .max_concurrent_streams(calls)
        .max_header_list_size(16 << 10);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)));
    let mut ending = false;
    loop {
        tokio::select! {
            // A connection that fails is one that has ended.
            _ = connection.as_mut() => return,
            Ok(()) = trust.changed() => {
                if trust.borrow().member(&peer.certificate, clock.unix_s()).is_err() {
                    return;
                }
            }
            () = told(&mut end), if !ending => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Comes back when the end is told; a teller that has gone has told it.
async fn told(end: &mut watch::Receiver<bool>) {
    let _ = end.wait_for(|end| *end).await;
}
