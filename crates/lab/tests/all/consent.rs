//! No packet goes where no agent has agreed.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use flowloom_lab::agent::limits::DEFAULT;
use flowloom_lab::authority::identity::Role;
use flowloom_lab::authority::statement::{self, Kind as Statement};
use flowloom_lab::authority::unique;
use flowloom_lab::clock::HostClock;
use flowloom_lab::controller::{ControlError, Edge, Wanted, ask, delegate};
use flowloom_lab::rpc::phase::Kind;
use flowloom_lab::rpc::{Asking, Attach, Consent, DelegatedBlock, Delegation, Protocol, Signed};
use flowloom_lab::transport::client::{Caller, Link};
use flowloom_lab::transport::server::Bounds;
use prost::Message;

use crate::common::{Lab, Running, now};

/// A socket that hears what comes to a port, and who would send there.
struct Host {
    socket: UdpSocket,
    to: SocketAddr,
}

impl Host {
    fn new() -> Host {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let to = socket.local_addr().unwrap();
        Host { socket, to }
    }

    fn hears(&self) -> bool {
        self.socket.recv(&mut [0; 16]).is_ok()
    }
}

async fn consent(link: &mut Link, by: &Caller, experiment: &str, wanted: &Wanted) -> Result<Signed, ControlError> {
    link.consent(&by.own, experiment, wanted, now() + 60).await
}

fn wanted(to: SocketAddr) -> Wanted {
    Wanted { sender: "sender".to_owned(), to, protocol: Protocol::Udp, rate_bit_s: 1_000_000, duration_s: 60 }
}

fn block(to: SocketAddr, rate: u64) -> String {
    format!("probe {{ duration = 0.1; to = {to}; rate = {rate}; }}")
}

async fn two_agents(lab: &Lab) -> (Running, Running) {
    // Ports of sockets that nobody has chosen.
    let limits = DEFAULT.replace("1024-65535", "1-65535");
    let agent = |name| lab.agent_with(name, &limits, Arc::new(HostClock), Bounds::default(), |agent| agent);
    (agent("sender").await, agent("receiver").await)
}

#[tokio::test(flavor = "multi_thread")]
async fn traffic_goes_where_the_receiver_has_agreed() {
    let lab = Lab::new();
    let (sender, receiver) = two_agents(&lab).await;
    let controller = lab.controller();
    let host = Host::new();
    let experiment = unique().unwrap();
    let consent =
        consent(&mut receiver.link(&controller).await, &controller, &experiment, &wanted(host.to)).await.unwrap();
    let mut link = sender.link(&controller).await;
    let edge = Edge::begin(&mut link, &experiment).await.unwrap();
    edge.setup("a", &block(host.to, 1_000_000), vec![consent]).await.unwrap();
    assert!(!host.hears(), "nothing before it runs");
    edge.phase("a", Kind::Open).await.unwrap();
    edge.run("a", 0).await.unwrap();
    assert!(host.hears());
    let audit = receiver.audit();
    let line = audit.iter().find(|line| line["command"] == "consent").unwrap();
    assert!(line["block"].as_str().unwrap().starts_with("sender to 127.0.0.1 port"), "{line}");
    sender.end().await;
    receiver.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_host_gets_no_packet() {
    let lab = Lab::new();
    let (sender, receiver) = two_agents(&lab).await;
    let controller = lab.controller();
    let silent = Host::new();
    let experiment = unique().unwrap();
    let mut link = sender.link(&controller).await;
    let edge = Edge::begin(&mut link, &experiment).await.unwrap();
    let refused = edge.setup("none", &block(silent.to, 1_000_000), vec![]).await.unwrap_err().to_string();
    assert!(refused.contains("no agent at") && refused.contains("has agreed"), "{refused}");

    // A real consent, and all that it is not.
    let mut asked = receiver.link(&controller).await;
    let real = consent(&mut asked, &controller, &experiment, &wanted(silent.to)).await.unwrap();
    let changed = |change: &dyn Fn(&mut Consent)| {
        let mut consent = Consent::decode(real.statement.as_slice()).unwrap();
        change(&mut consent);
        consent.encode_to_vec()
    };
    // A controller that is not to be believed signs what it likes, as itself and with the receiver's name on it.
    let forged = statement::sign(&controller.own, Statement::Consent, real.statement.clone()).unwrap();
    let stolen = Signed { certificate: real.certificate.clone(), ..forged.clone() };
    let altered = |change: &dyn Fn(&mut Consent)| Signed { statement: changed(change), ..real.clone() };
    let other_port = SocketAddr::new(silent.to.ip(), if silent.to.port() == 9_999 { 9_998 } else { 9_999 });
    let other = Wanted { sender: "other".to_owned(), ..wanted(silent.to) };
    let cases = [
        ("forged", forged, "controller controller has signed it"),
        ("stolen", stolen, "not signed by agent receiver"),
        ("rate", altered(&|consent| consent.rate_bit_s = 1 << 40), "not signed by agent receiver"),
        ("until", altered(&|consent| consent.until_unix_s += 1), "not signed by agent receiver"),
        ("port", consent(&mut asked, &controller, &experiment, &wanted(other_port)).await.unwrap(), "has agreed"),
        (
            "experiment",
            consent(&mut asked, &controller, &unique().unwrap(), &wanted(silent.to)).await.unwrap(),
            "another experiment",
        ),
        ("sender", consent(&mut asked, &controller, &experiment, &other).await.unwrap(), "it is for other"),
        (
            "over",
            consent(&mut asked, &controller, &experiment, &Wanted { duration_s: 0, ..wanted(silent.to) })
                .await
                .unwrap(),
            "has ended",
        ),
        (
            "tcp",
            consent(&mut asked, &controller, &experiment, &Wanted { protocol: Protocol::Tcp, ..wanted(silent.to) })
                .await
                .unwrap(),
            "has agreed to PROTOCOL_UDP",
        ),
        (
            "slow",
            consent(&mut asked, &controller, &experiment, &Wanted { rate_bit_s: 999_999, ..wanted(silent.to) })
                .await
                .unwrap(),
            "999999 bit/s, not to 1000000",
        ),
    ];
    for (name, consent, why) in cases {
        let refused = edge.setup(name, &block(silent.to, 1_000_000), vec![consent]).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{name}: {refused}");
        assert!(edge.phase(name, Kind::Open).await.is_err());
        assert!(edge.run(name, 0).await.is_err());
    }
    // What the sender's own limits do not allow, no consent allows.
    let far: SocketAddr = "192.0.2.1:5001".parse().unwrap();
    let refused = edge.setup("far", &block(far, 1), vec![real]).await.unwrap_err().to_string();
    assert!(refused.contains("send.destinations"), "{refused}");
    assert!(!silent.hears(), "not one packet");
    sender.end().await;
    receiver.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_agrees_only_to_what_is_its_own_and_within_its_limits() {
    let lab = Lab::new();
    let receiver = lab.agent("receiver").await;
    let (experiment, controller) = (unique().unwrap(), lab.controller());
    let to: SocketAddr = "127.0.0.1:5001".parse().unwrap();
    let mut link = receiver.link(&controller).await;
    let good = wanted(to);
    for (asked, why) in [
        (Wanted { to: "192.0.2.1:5001".parse().unwrap(), ..good.clone() }, "not an address of agent receiver"),
        (Wanted { to: "0.0.0.0:5001".parse().unwrap(), ..good.clone() }, "not an address of"),
        (Wanted { to: "224.0.0.1:5001".parse().unwrap(), ..good.clone() }, "not an address of"),
        (Wanted { to: "255.255.255.255:5001".parse().unwrap(), ..good.clone() }, "not an address of"),
        (Wanted { to: "127.0.0.1:22".parse().unwrap(), ..good.clone() }, "receive.ports"),
        (Wanted { to: "127.0.0.1:0".parse().unwrap(), ..good.clone() }, "no port"),
        (Wanted { rate_bit_s: 100_000_001, ..good.clone() }, "receive.rate"),
        (Wanted { duration_s: 3_601, ..good.clone() }, "receive.duration"),
        (Wanted { sender: "../x".to_owned(), ..good.clone() }, "is no name"),
        (Wanted { protocol: Protocol::Unspecified, ..good.clone() }, "no protocol"),
    ] {
        let refused = consent(&mut link, &controller, &experiment, &asked).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{asked:?}: {refused}");
    }
    consent(&mut link, &controller, &experiment, &good).await.unwrap();
    // An agent asks for nothing of its own; what a controller asks it carries where it takes part, and nowhere else.
    let agent = lab.member("agent", Role::Agent);
    let mut carried = receiver.link(&agent).await;
    let own = consent(&mut carried, &agent, &experiment, &good).await.unwrap_err().to_string();
    assert!(own.contains("agent agent is no controller"), "{own}");
    let of_controller = consent(&mut carried, &controller, &experiment, &good).await.unwrap_err().to_string();
    assert!(of_controller.contains("agent agent has no part in the experiment"), "{of_controller}");
    let blocks = vec![DelegatedBlock { block: "1.1.1".to_owned(), sha256: vec![0; 32] }];
    let (parent, child, above) = ("agent".to_owned(), "receiver".to_owned(), "1.1".to_owned());
    let until_unix_s = now() + 60;
    let delegation = Delegation { experiment: experiment.clone(), parent, above, child, blocks, until_unix_s };
    let delegations = vec![delegate(&controller.own, &delegation).unwrap()];
    let attach = Attach { experiment: experiment.clone(), above: "1.1".to_owned(), delegations, ..Attach::default() };
    let edge = Edge::attach(&mut carried, 1, attach).await.unwrap();
    consent(&mut carried, &controller, &experiment, &good).await.unwrap();
    let other = consent(&mut carried, &controller, &unique().unwrap(), &good).await.unwrap_err().to_string();
    assert!(other.contains("has no part"), "{other}");
    let asking = |receiver: &str, until_unix_s| {
        let (experiment, requests) = (experiment.clone(), vec![good.request()]);
        ask(&controller.own, &Asking { experiment, receiver: receiver.to_owned(), requests, until_unix_s }).unwrap()
    };
    for (asking, why) in [
        (asking("sender", now() + 60), "it is for sender"),
        (asking("receiver", now()), "it has ended"),
        (Signed { signature: vec![0; 70], ..asking("receiver", now() + 60) }, "not signed by controller"),
    ] {
        let refused = carried.consents(asking).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    drop(edge);
    receiver.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_stops_when_the_consent_ends() {
    let lab = Lab::new();
    let (sender, receiver) = two_agents(&lab).await;
    let controller = lab.controller();
    let host = Host::new();
    let experiment = unique().unwrap();
    let short = Wanted { duration_s: 1, ..wanted(host.to) };
    let mut link = sender.link(&controller).await;
    let edge = Edge::begin(&mut link, &experiment).await.unwrap();
    let consent = consent(&mut receiver.link(&controller).await, &controller, &experiment, &short).await.unwrap();
    let text = block(host.to, 1_000_000).replace("duration = 0.1", "duration = 60");
    // The second may be over before it is looked at.
    match edge.setup("a", &text, vec![consent]).await {
        Ok(_) => {
            edge.phase("a", Kind::Open).await.unwrap();
            let ended = edge.run("a", 0).await.unwrap_err().to_string();
            assert!(ended.contains("a consent"), "{ended}");
        }
        Err(refused) => assert!(refused.to_string().contains("has ended"), "{refused}"),
    }
    while host.hears() {}
    sender.end().await;
    receiver.end().await;
}
