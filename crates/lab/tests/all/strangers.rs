//! Who is no member gets nothing but a close; who is one gets no more than a member may.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use flowloom_lab::agent::limits::DEFAULT;
use flowloom_lab::authority::credentials::Credentials;
use flowloom_lab::authority::identity::Role;
use flowloom_lab::authority::unique;
use flowloom_lab::clock::HostClock;
use flowloom_lab::controller::Edge;
use flowloom_lab::rpc::agent_client::AgentClient;
use flowloom_lab::transport::MOST_MESSAGE_BYTES;
use flowloom_lab::transport::client::Caller;
use flowloom_lab::transport::server::Bounds;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::common::{self, Lab, Running, until};

/// What begins an HTTP/2 connection (RFC 9113 section 3.4), with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// All that comes until the other side closes.
async fn rest(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is a close too.
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes))
        .await
        .expect("it is never closed");
    bytes
}

/// Believes anybody: a stranger is not particular.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// TLS with the certificate and key of a member's folder, or with none.
async fn tls(address: SocketAddr, own: Option<&std::path::Path>) -> std::io::Result<TlsStream<TcpStream>> {
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody));
    let mut config = match own {
        None => config.with_no_client_auth(),
        Some(folder) => {
            let certificate = CertificateDer::from_pem_file(folder.join("certificate.pem")).unwrap();
            config
                .with_client_auth_cert(vec![certificate], PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap())
                .unwrap()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("stranger").unwrap(), stream).await
}

/// What a stranger gets who completes the handshake as far as it can and then speaks HTTP/2.
async fn got(address: SocketAddr, own: Option<&std::path::Path>) -> Vec<u8> {
    let Ok(mut stream) = tls(address, own).await else { return Vec::new() };
    // The agent may have closed already.
    let _ = stream.write_all(PREFACE).await;
    let _ = stream.flush().await;
    rest(&mut stream).await
}

fn reasons(agent: &Running) -> Vec<String> {
    agent.audit().iter().filter_map(|line| line["stranger"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_get_nothing_but_a_close() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    for said in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], PREFACE, b"SSH-2.0-x\r\n", b"\0", &[0xff; 4096]] {
        let mut stream = TcpStream::connect(agent.address).await.unwrap();
        stream.write_all(said).await.unwrap();
        assert_eq!(rest(&mut stream).await, b"", "{said:?}");
    }
    assert_eq!(got(agent.address, None).await, b"", "without a certificate");

    let other = Lab::new();
    other.enrol("spy", Role::Controller, 0, 365, DEFAULT);
    assert_eq!(got(agent.address, Some(&other.place.path().join("spy"))).await, b"", "of another lab");
    lab.enrol("expired", Role::Controller, 30, 10, DEFAULT);
    assert_eq!(got(agent.address, Some(&lab.place.path().join("expired"))).await, b"", "expired");

    // The same way in, with a certificate that counts: the agent's settings come.
    let mut stream = tls(agent.address, Some(&lab.place.path().join("lab"))).await.unwrap();
    stream.write_all(PREFACE).await.unwrap();
    let mut header = [0; 9];
    stream.read_exact(&mut header).await.unwrap();
    assert_eq!(header[3], 4, "a SETTINGS frame");

    for why in ["it does not speak TLS", "another lab", "has expired"] {
        until(why, || reasons(&agent).iter().any(|reason| reason.contains(why))).await;
    }
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_learn_why_they_are_refused() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let address = agent.address.to_string();
    let refused = |caller: Caller| {
        let address = address.clone();
        async move { caller.connect(&address, None).await.unwrap_err().to_string() }
    };
    let foreign = refused(Lab::new().controller()).await;
    assert!(foreign.contains("another lab"), "{foreign}");
    let old = lab.enrol("old", Role::Controller, 30, 10, DEFAULT);
    let old = refused(Caller::new(Credentials::load(&old).unwrap())).await;
    assert!(old.contains("has expired"), "{old}");
    let east = "west".parse().unwrap();
    let other = lab.controller().connect(&address, Some(&east)).await.unwrap_err().to_string();
    assert!(other.contains("agent east answers there, where west is expected"), "{other}");
    let nobody = lab.controller().connect("127.0.0.1:1", None).await.unwrap_err().to_string();
    assert!(nobody.contains("127.0.0.1:1") && nobody.contains("refused"), "{nobody}");
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_member_is_out_as_soon_as_a_controller_has_come() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let gone = lab.member("gone", Role::Controller);
    let mut link = agent.link(&gone).await;
    let edge = Edge::begin(&mut link, &unique().unwrap()).await.unwrap();
    edge.setup("a", "probe { duration = 60; }", vec![]).await.unwrap();

    lab.authority.revoke(&"gone".parse().unwrap(), common::now()).unwrap();
    agent.link(&lab.controller()).await;
    // Its connection is closed on, and no other is made.
    until("it is out", || agent.audit().iter().any(|line| line["command"] == "ended")).await;
    assert!(edge.setup("b", "probe { duration = 60; }", vec![]).await.is_err());
    let refused = gone.connect(&agent.address.to_string(), None).await.unwrap_err().to_string();
    assert!(refused.contains("revoked"), "{refused}");
    assert_eq!(got(agent.address, Some(&lab.place.path().join("gone"))).await, b"");

    // Nor when the agent starts again; nor does a list from before bring it back.
    let (address, folder) = (agent.address, agent.folder.clone());
    agent.end().await;
    let trust = Credentials::load(&folder).unwrap().trust().clone();
    assert_eq!(trust.number(), 2);
    let agent = lab.agent("east").await;
    assert_ne!(address.port(), 0);
    let refused = gone.connect(&agent.address.to_string(), None).await.unwrap_err().to_string();
    assert!(refused.contains("revoked"), "{refused}");

    // A revoked agent is believed by no controller.
    lab.authority.revoke(&"east".parse().unwrap(), common::now()).unwrap();
    let refused = lab.controller().connect(&agent.address.to_string(), None).await.unwrap_err().to_string();
    assert!(refused.contains("its certificate is revoked"), "{refused}");
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_connections_are_few_and_short() {
    let lab = Lab::new();
    let bounds = Bounds { handshake: Duration::from_secs(2), half_open: 4, per_address: 6, ..Bounds::default() };
    let agent = lab.agent_with("east", DEFAULT, Arc::new(HostClock), bounds, |agent| agent).await;
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.push(TcpStream::connect(agent.address).await.unwrap());
    }
    for stream in &mut silent {
        assert_eq!(rest(stream).await, b"");
    }
    // It is closed on before that is written down.
    until("all are in the log", || reasons(&agent).len() == 10).await;
    let reasons = reasons(&agent);
    let count = |why: &str| reasons.iter().filter(|reason| *reason == why).count();
    assert_eq!((count("no certificate in time"), count("too many connections are half open")), (4, 6), "{reasons:?}");

    // Members have room again; of one address there are so many at once.
    let controller = lab.controller();
    let mut links = Vec::new();
    for _ in 0..6 {
        links.push(agent.link(&controller).await);
    }
    assert!(controller.connect(&agent.address.to_string(), None).await.is_err());
    links.pop();
    let mut came = false;
    for _ in 0..200 {
        came = came || controller.connect(&agent.address.to_string(), None).await.is_ok();
        tokio::time::sleep(Duration::from_millis(10)).await;
        if came {
            break;
        }
    }
    assert!(came, "there is room when one has gone");
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_refused_at_its_header() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let stream = tls(agent.address, Some(&lab.place.path().join("lab"))).await.unwrap();
    let (mut http, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    // gRPC's header says a length of four gigabytes, the most it can; a byte follows, and the rest never comes.
    for length in [u32::MAX, MOST_MESSAGE_BYTES as u32 + 1] {
        let (body, frames) =
            tokio::sync::mpsc::channel::<Result<hyper::body::Frame<hyper::body::Bytes>, std::io::Error>>(2);
        let header = [&[0][..], &length.to_be_bytes(), &[0]].concat();
        body.send(Ok(hyper::body::Frame::data(header.into()))).await.unwrap();
        let request = hyper::Request::post("http://agent/flowloom.lab.v1.Agent/Hello")
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(http_body_util::StreamBody::new(tokio_stream::wrappers::ReceiverStream::new(frames)))
            .unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(20), http.send_request(request))
            .await
            .expect("no answer")
            .unwrap();
        let status = answer.headers().get("grpc-status").unwrap().to_str().unwrap().to_owned();
        assert_eq!(status, "11", "OUT_OF_RANGE for {length}");
        drop(body);
    }
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_greeting_comes_first() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let stream = tls(agent.address, Some(&lab.place.path().join("lab"))).await.unwrap();
    let mut once = Some(TokioIo::new(stream));
    let connector = tower::service_fn(move |_: hyper::Uri| {
        let stream = once.take().ok_or(std::io::ErrorKind::NotConnected);
        async move { stream.map_err(std::io::Error::from) }
    });
    let channel =
        tonic::transport::Endpoint::from_static("http://agent").connect_with_connector(connector).await.unwrap();
    let mut client = AgentClient::new(channel);
    let refused = client.control(tokio_stream::empty()).await.unwrap_err();
    assert_eq!(refused.message(), "the greeting comes first");
    let refused = client.consents(flowloom_lab::rpc::Signed::default()).await.unwrap_err();
    assert_eq!(refused.message(), "the greeting comes first");
    let refused = client.clock(tokio_stream::empty()).await.unwrap_err();
    assert_eq!(refused.message(), "the greeting comes first");
    agent.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_does_no_harm() {
    let lab = Lab::new();
    let agent = lab.agent("east").await;
    let mut seed = 1_u64;
    let mut next = || {
        // xorshift (Marsaglia 2003).
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for i in 0..200 {
        let mut noise: Vec<u8> = (0..next() % 600 + 1).map(|_| next() as u8).collect();
        if i % 2 == 0 {
            // As if a handshake were to begin.
            let length = noise.len().min(512) as u16;
            noise.splice(0..0, [22, 3, 1, (length >> 8) as u8, length as u8, 1, 0, (length >> 8) as u8, length as u8]);
        }
        let mut stream = TcpStream::connect(agent.address).await.unwrap();
        let _ = stream.write_all(&noise).await;
        drop(stream);
    }
    // Noise inside TLS, from a member.
    for _ in 0..50 {
        // Of noise that it has not yet looked at an agent holds only so much.
        let taken = async {
            loop {
                if let Ok(stream) = tls(agent.address, Some(&lab.place.path().join("lab"))).await {
                    return stream;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let mut stream = tokio::time::timeout(Duration::from_secs(30), taken).await.unwrap();
        let noise: Vec<u8> = (0..next() % 2_000).map(|_| next() as u8).collect();
        let _ = stream.write_all(PREFACE).await;
        let _ = stream.write_all(&noise).await;
        drop(stream);
    }
    agent.link(&lab.controller()).await;
    agent.end().await;
}
