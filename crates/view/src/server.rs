//! Connections, their bounds, the end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use flowloom::Error;
use flowloom::view::Shelf;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpUserTimeout;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

use crate::events::MOST_STREAMS;
use crate::guard::{Guard, LEAST_TOKEN};
use crate::routes::Routes;

/// Connections that are served at the same time; further ones wait.
pub const MOST_CONNECTIONS: usize = 64;

/// Questions that are answered at the same time.
const MOST_ANSWERS: usize = 4;

/// Looks at runs that are followed, at the same time.
const MOST_LOOKS: usize = 4;

/// Bytes of the head of a request at most.
const MOST_HEAD: usize = 16 << 10;

/// Fields of the head of a request at most.
const MOST_FIELDS: usize = 64;

/// A client has so long for its head.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// A client that takes nothing of its answer for so long is gone, in milliseconds: others wait for its place.
const STALLED_MS: u32 = 10_000;

/// Answers that are being made when the server ends have so long.
const END_TIME: Duration = Duration::from_secs(2);

/// What is served where.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// The folders that are shown, with all that is in them.
    pub folders: Vec<PathBuf>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Names by which browsers may ask beside the address, perhaps with a port: those of a proxy.
    pub hosts: Vec<String>,
    /// The token that requests must have; without one, a server on a loopback address needs none, and any other makes one.
    pub token: Option<String>,
}

/// Serves until it is dropped.
pub struct Server {
    address: SocketAddr,
    token: Option<String>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Begins to serve, in threads of its own.
    ///
    /// # Errors
    /// A folder cannot be read, nothing can listen at the address, or the token is too short.
    pub fn start(options: &ViewOptions) -> Result<Server, Error> {
        let shelf = Arc::new(Shelf::open(&options.folders)?);
        let failed = |error| Error::new(format_args!("{}: {error}", options.listen));
        let listener = std::net::TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let token = token_for(options, &address)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(MOST_ANSWERS + MOST_LOOKS)
            .enable_all()
            .build()
            .map_err(failed)?;
        let guard = Guard::new(address, &options.hosts, token.clone(), random_token()?);
        let (places, streams) = (Semaphore::new(MOST_ANSWERS), Arc::new(Semaphore::new(MOST_STREAMS)));
        let routes = Arc::new(Routes { shelf, guard, places, streams });
        let (end, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("view".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = ended => {}
                    () = accept(listener, routes) => {}
                }
            });
            runtime.shutdown_timeout(END_TIME);
        });
        Ok(Server { address, token, end: Some(end), thread: Some(thread.map_err(failed)?) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The link to open, with the token that it needs.
    pub fn link(&self) -> String {
        match &self.token {
            None => format!("http://{}/", self.address),
            Some(token) => format!("http://{}/?token={token}", self.address),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The token that requests must have, if they must.
fn token_for(options: &ViewOptions, address: &SocketAddr) -> Result<Option<String>, Error> {
    match &options.token {
        Some(token) => {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
            if token.len() < LEAST_TOKEN || !token.bytes().all(is_plain) {
                let problem = format_args!("a token has {LEAST_TOKEN} letters, digits, - _ . ~ or more");
                return Err(Error::usage(problem).hint("openssl rand -hex 32 makes one"));
            }
            Ok(Some(token.clone()))
        }
        None if address.ip().is_loopback() => Ok(None),
        None => random_token().map(Some),
    }
}

/// A token that nobody can guess.
fn random_token() -> Result<String, Error> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Error::new("the system gives no random numbers"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn accept(listener: std::net::TcpListener, routes: Arc<Routes>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many descriptors are open: others may be closed meanwhile.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        // Without this a client that does not read keeps its connection for as long as it likes.
        let _ = setsockopt(&stream, TcpUserTimeout, &STALLED_MS);
        let routes = Arc::clone(&routes);
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let routes = Arc::clone(&routes);
                async move {
                    // A body is not read, and ends the connection.
                    let (head, _) = request.into_parts();
                    Ok::<_, Infallible>(routes.respond(&head).await)
                }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
            server.max_buf_size(MOST_HEAD).max_headers(MOST_FIELDS);
            // A client that went away is no concern of others.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}
