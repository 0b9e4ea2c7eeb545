//! The present state of long work, served as Prometheus text under `/metrics`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::error::Error;

/// The version of the text.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Connections that are served at the same time, at most.
const MOST_CONNECTIONS: usize = 32;

/// A client has so long for its question and for taking the answer: less than a scraper waits (Prometheus: 10 s).
const CONNECTION_TIME: std::time::Duration = std::time::Duration::from_secs(5);

/// Serves until it is dropped.
pub(crate) struct MetricsServer {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves what `text` returns at `address`, from a thread of its own.
///
/// # Errors
/// Nothing can listen there.
pub(crate) fn serve(
    address: SocketAddr,
    text: impl Fn() -> String + Send + Sync + 'static,
) -> Result<MetricsServer, Error> {
    let failed = |error| Error::new(format_args!("metrics at {address}: {error}"));
    let listener = std::net::TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let (end, ended) = oneshot::channel();
    let text: Arc<dyn Fn() -> String + Send + Sync> = Arc::new(text);
    let thread = thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = ended => {}
                () = accept(listener, text) => {}
            }
        });
    });
    Ok(MetricsServer { address: bound, end: Some(end), thread: Some(thread.map_err(failed)?) })
}

async fn accept(listener: std::net::TcpListener, text: Arc<dyn Fn() -> String + Send + Sync>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let places = Arc::new(tokio::sync::Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many descriptors are open: others may be closed meanwhile.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let text = Arc::clone(&text);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let response = respond(&request, &*text);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut server = http1::Builder::new();
            // One that stays, asks nothing and reads nothing would keep its place.
            server.timer(TokioTimer::new()).header_read_timeout(CONNECTION_TIME).keep_alive(false);
            // A client that went away is no concern of the work.
            let _ = tokio::time::timeout(CONNECTION_TIME, server.serve_connection(TokioIo::new(stream), service)).await;
            drop(place);
        });
    }
}

fn respond(request: &Request<Incoming>, text: &dyn Fn() -> String) -> Response<Full<Bytes>> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, text()),
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, "only GET is possible\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "there is only /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn ask(address: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn clients_that_do_not_read_shut_nobody_out() {
        let server = serve("127.0.0.1:0".parse().unwrap(), || "flowloom_x 1\n".repeat(1 << 20)).unwrap();
        let deaf: Vec<TcpStream> = (0..MOST_CONNECTIONS)
            .map(|_| {
                let mut stream = TcpStream::connect(server.address()).unwrap();
                write!(stream, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
                stream
            })
            .collect();
        // It waits until they are sent away.
        assert!(ask(server.address(), "GET /metrics").starts_with("HTTP/1.1 200 OK\r\n"));
        drop(deaf);
    }

    #[test]
    fn the_state_is_served_until_the_end() {
        let server = serve("127.0.0.1:0".parse().unwrap(), || "flowloom_x 1\n".to_owned()).unwrap();
        let address = server.address();
        let answer = ask(address, "GET /metrics");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nflowloom_x 1\n"), "{answer}");
        assert!(answer.contains("content-type: text/plain; version=0.0.4"), "{answer}");
        assert!(ask(address, "GET /").starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /metrics").starts_with("HTTP/1.1 405"));
        assert!(serve(address, String::new).err().unwrap().to_string().starts_with(&format!("metrics at {address}: ")));
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }
}
