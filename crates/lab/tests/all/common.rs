//! A lab in one process: its authority, agents that listen on loopback, and leaves whose doings tests can see.

use std::io::{self, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowloom_lab::agent::consent::Permits;
use flowloom_lab::agent::leaf::{Leaf, LeafError, LeafKind, Ran, Sending, Start, Stop};
use flowloom_lab::agent::limits::{DEFAULT, Demand};
use flowloom_lab::agent::{Agent, LIMITS_FILE};
use flowloom_lab::authority::credentials::Credentials;
use flowloom_lab::authority::enrolment::{Request, join, new_key};
use flowloom_lab::authority::folder::{Authority, INVITATION_S, Invitation};
use flowloom_lab::authority::identity::Role;
use flowloom_lab::clock::{Clock, HostClock};
use flowloom_lab::rpc::Protocol;
use flowloom_lab::script::tree::{Block, Value};
use flowloom_lab::transport::client::{Caller, Link};
use flowloom_lab::transport::server::Bounds;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A lab.
pub struct Lab {
    pub place: TempDir,
    pub authority: Authority,
}

impl Lab {
    pub fn new() -> Lab {
        let place = tempfile::tempdir().unwrap();
        let authority = Authority::init(&place.path().join("lab"), "test", HostClock.unix_s()).unwrap();
        Lab { place, authority }
    }

    /// Enrols a member as of some time ago, for so many days.
    pub fn enrol(&self, name: &str, role: Role, days_ago: i64, days: i64, limits: &str) -> PathBuf {
        let then = HostClock.unix_s() - days_ago * 86_400;
        let invitation =
            Invitation { name: name.parse().unwrap(), role, until_unix_s: then + INVITATION_S, certificate_days: days };
        let token = self.authority.invite(&invitation, None).unwrap();
        let key = new_key().unwrap();
        let (_, answer) = self.authority.admit(&Request::new(&token, &key).unwrap(), then).unwrap();
        let folder = self.place.path().join(name);
        join(&folder, &token.authority, &key, &answer, &[(LIMITS_FILE, limits)], then).unwrap();
        folder
    }

    pub fn controller(&self) -> Caller {
        Caller::new(self.authority.credentials().unwrap())
    }

    pub fn member(&self, name: &str, role: Role) -> Caller {
        Caller::new(Credentials::load(&self.enrol(name, role, 0, 365, DEFAULT)).unwrap())
    }

    /// An agent that listens on loopback.
    pub async fn agent(&self, name: &str) -> Running {
        self.agent_with(name, DEFAULT, Arc::new(HostClock), Bounds::default(), |agent| agent).await
    }

    pub async fn agent_with(
        &self,
        name: &str,
        limits: &str,
        clock: Arc<dyn Clock>,
        bounds: Bounds,
        with: impl FnOnce(Agent) -> Agent,
    ) -> Running {
        self.agent_at(name, "127.0.0.1:0".parse().unwrap(), limits, clock, bounds, with).await
    }

    pub async fn agent_at(
        &self,
        name: &str,
        place: SocketAddr,
        limits: &str,
        clock: Arc<dyn Clock>,
        bounds: Bounds,
        with: impl FnOnce(Agent) -> Agent,
    ) -> Running {
        let folder = self.place.path().join(name);
        if !folder.exists() {
            self.enrol(name, Role::Agent, 0, 365, limits);
        }
        let seen = Arc::new(Seen::default());
        let agent = Agent::open(folder.clone(), clock).unwrap().with_kind(Box::new(Probe(Arc::clone(&seen))));
        let listening = with(agent).listen(place, bounds).await.unwrap();
        let address = listening.address().unwrap();
        let end = watch::Sender::new(false);
        let task = tokio::spawn(listening.serve(end.subscribe()));
        Running { folder, address, seen, end, task }
    }
}

/// An agent that runs.
pub struct Running {
    pub folder: PathBuf,
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    end: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    pub async fn link(&self, by: &Caller) -> Link {
        by.connect(&self.address.to_string(), None).await.unwrap()
    }

    pub async fn end(self) {
        self.end.send_replace(true);
        self.task.await.unwrap();
    }

    pub fn audit(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.join("audit.jsonl")).unwrap();
        // The last line may be just being written.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// What the probes of an agent did.
#[derive(Default)]
pub struct Seen {
    pub running: AtomicU64,
    pub beats: AtomicU64,
    pub dropped: AtomicU64,
}

/// Waits until something is so; that it ever is, is what is tested.
pub async fn until(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if is() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}: not within 20 s");
}

/// `probe { duration = seconds; deaf = 1; to = address:port; rate = bit/s; }`: runs, sends a datagram a beat, and may be deaf to its stop, or
/// fail at its end (`fails = 1`).
pub struct Probe(pub Arc<Seen>);

struct Probing {
    seen: Arc<Seen>,
    duration_s: f64,
    is_deaf: bool,
    fails: bool,
    to: Option<SocketAddr>,
    rate_bit_s: u64,
    socket: Option<UdpSocket>,
    beats: u64,
    size: usize,
}

impl LeafKind for Probe {
    fn keyword(&self) -> &'static str {
        "probe"
    }

    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, LeafError> {
        let word = |name: &str| {
            block.body.parameters.iter().find(|parameter| parameter.name == name).map(|parameter| {
                match &parameter.value {
                    Value::Word(word) => word.text.clone(),
                    _ => panic!("{name}"),
                }
            })
        };
        Ok(Box::new(Probing {
            seen: Arc::clone(&self.0),
            duration_s: word("duration").map_or(0.0, |text| text.parse().unwrap()),
            is_deaf: word("deaf").is_some(),
            fails: word("fails").is_some(),
            to: word("to").map(|text| text.parse().unwrap()),
            rate_bit_s: word("rate").map_or(0, |text| text.parse().unwrap()),
            socket: None,
            beats: 0,
            size: word("size").map_or(0, |text| text.parse().unwrap()),
        }))
    }
}

/// Counts a run as long as it lives, dropped or not.
struct Counted(Arc<Seen>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

#[tonic::async_trait]
impl Leaf for Probing {
    fn demand(&self) -> Demand {
        Demand { rate_bit_s: self.rate_bit_s, connections: 0, duration_ns: (self.duration_s * 1e9) as u64 }
    }

    fn sends(&self) -> Vec<Sending> {
        self.to.map(|to| Sending { to, protocol: Protocol::Udp, rate_bit_s: self.rate_bit_s }).into_iter().collect()
    }

    async fn prepare(&mut self) -> Result<String, LeafError> {
        Ok("prepared".to_owned())
    }

    async fn open(&mut self, permits: &Permits) -> Result<String, LeafError> {
        if let Some(to) = self.to {
            permits.to(to, Protocol::Udp)?;
            self.socket = Some(UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).unwrap());
        }
        Ok(String::new())
    }

    async fn run(&mut self, start: Start, stop: Stop) -> Result<Ran, LeafError> {
        let started_monotonic_ns = start.wait().await;
        let ran = |text: &str| Ran { started_monotonic_ns, text: text.to_owned() };
        self.seen.running.fetch_add(1, Ordering::SeqCst);
        let _counted = Counted(Arc::clone(&self.seen));
        let start = HostClock.monotonic_ns();
        while HostClock.monotonic_ns() - start < (self.duration_s * 1e9) as i64 {
            if stop.is_told() && !self.is_deaf {
                return Ok(ran("stopped"));
            }
            self.beats += 1;
            self.seen.beats.fetch_add(1, Ordering::SeqCst);
            if let (Some(socket), Some(to)) = (&self.socket, self.to) {
                socket.send_to(b"beat", to).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if self.fails {
            return Err(LeafError::Failed { why: "it fails, as it was told to".to_owned() });
        }
        Ok(ran("to its end"))
    }

    async fn close(&mut self) -> Result<String, LeafError> {
        self.socket = None;
        Ok(String::new())
    }

    fn results(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{} beats{}", self.beats, " ".repeat(self.size))
    }

    fn describe(&self) -> String {
        format!("duration = {}", self.duration_s)
    }
}

/// The host's clock, set off by something that can be changed.
#[derive(Default)]
pub struct Shifted {
    pub by_ns: AtomicI64,
}

impl Clock for Shifted {
    fn monotonic_ns(&self) -> i64 {
        HostClock.monotonic_ns() + self.by_ns.load(Ordering::SeqCst)
    }

    fn unix_ns(&self) -> i64 {
        HostClock.unix_ns()
    }
}

/// A cable between a caller and an agent that can be cut: then nothing passes, and nobody is told.
pub struct Cable {
    pub address: SocketAddr,
    pub is_cut: Arc<AtomicBool>,
    wires: Arc<Mutex<Vec<JoinHandle<()>>>>,
    _held: Arc<Mutex<Vec<tokio::net::tcp::OwnedWriteHalf>>>,
}

impl Cable {
    pub async fn to(agent: SocketAddr) -> Cable {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (is_cut, held) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let wires: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
        let (cut, holding, wiring) = (Arc::clone(&is_cut), Arc::clone(&held), Arc::clone(&wires));
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = tokio::net::TcpStream::connect(agent).await.unwrap();
                let (near, far) = (near.into_split(), far.into_split());
                for (mut from, mut to) in [(near.0, far.1), (far.0, near.1)] {
                    let (cut, holding) = (Arc::clone(&cut), Arc::clone(&holding));
                    let wire = tokio::spawn(async move {
                        let mut bytes = vec![0; 65_536];
                        loop {
                            match from.read(&mut bytes).await {
                                Ok(n) if n > 0 => {
                                    if !cut.load(Ordering::SeqCst) && to.write_all(&bytes[..n]).await.is_err() {
                                        return;
                                    }
                                }
                                _ if cut.load(Ordering::SeqCst) => {
                                    // Dropped, it would tell.
                                    holding.lock().unwrap().push(to);
                                    return;
                                }
                                _ => return,
                            }
                        }
                    });
                    wiring.lock().unwrap().push(wire);
                }
            }
        });
        Cable { address, is_cut, wires, _held: held }
    }

    /// How many connections there have been.
    pub fn connections(&self) -> usize {
        self.wires.lock().unwrap().len() / 2
    }

    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
    }

    /// Ends both directions as a process does that is killed.
    pub fn kill(&self) {
        self.wires.lock().unwrap().drain(..).for_each(|wire| wire.abort());
    }
}

/// Seconds since 1970.
pub fn now() -> i64 {
    HostClock.unix_s()
}
