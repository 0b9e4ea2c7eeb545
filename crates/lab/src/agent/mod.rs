//! The agent of a lab: a service on a host that runs leaves of experiments for controllers of its lab, within the limits that its
//! keeper has set.
//!
//! A call is checked from the outside in: the connection's certificate ([`crate::transport::server`]), the greeting
//! ([`service`]), whether the one who commands may command ([`sessions`]), and by what number ([`session`]), what the leaf asks for
//! against the limits ([`limits`]) and against what the receivers of its traffic agreed to ([`consent`]). The leaf comes last.

pub mod audit;
pub mod consent;
mod facts;
mod key;
pub mod leaf;
pub mod limits;
mod path;
mod refusal;
mod replay;
pub mod service;
mod session;
mod sessions;
mod shared;
mod side;
mod sleep;
mod stage;
mod store;
mod subtree;
mod thread;
mod tools;
mod traffic;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use flowloom_live::Program;
use tokio::sync::watch;

use crate::authority::Error;
use crate::authority::credentials::Credentials;
use crate::authority::identity::Identity;
use crate::clock::Clock;
use crate::rpc::agent_server::AgentServer;
use crate::transport::server::{Bounds, Server};
use crate::transport::{MOST_MESSAGE_BYTES, Version};

use audit::Audit;
use leaf::LeafKind;
use limits::{Limits, Reservations};
use service::Handler;
use sessions::Sessions;
use shared::Shared;
use store::Store;
use tools::Lent;

/// The agent's limits, in its folder.
pub const LIMITS_FILE: &str = "limits.toml";
/// The agent's log, in its folder.
pub const AUDIT_FILE: &str = "audit.jsonl";
/// Results, in its folder.
pub const RESULTS_FOLDER: &str = "results";

/// The programs that leaves run which are processes of their own.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Keeps the commands of the limits: what is called with `--parent PID -- COMMAND...` has to end up in
    /// [`flowloom_live::guests::keep`].
    pub keeper: Program,
    /// Plays a side of a run: what is called with `--emulator ADDRESS:PORT --rate RATE` has to end up in
    /// [`flowloom_live::elsewhere::side::process`].
    pub side: Program,
    /// Plays a side of a workload with another host: has to end up in [`flowloom_live::remote::peer::process`].
    pub share: Program,
}

/// An agent, before it listens.
pub struct Agent {
    shared: Shared,
}

impl Agent {
    /// The agent of a folder that `flowloom lab enrol` made, with the leaves that every agent has.
    ///
    /// # Errors
    /// If a file of the folder is not what it should be.
    pub fn open(folder: PathBuf, clock: Arc<dyn Clock>) -> Result<Agent, Error> {
        Agent::open_with(folder, clock, None)
    }

    /// The same with the programs that some leaves are. Without them it has no such leaves.
    ///
    /// # Errors
    /// If a file of the folder is not what it should be.
    pub fn open_with(folder: PathBuf, clock: Arc<dyn Clock>, programs: Option<Programs>) -> Result<Agent, Error> {
        let own = Credentials::load(&folder)?;
        let (limits, limits_toml) = Limits::load(&folder.join(LIMITS_FILE))?;
        let audit = Audit::open(folder.join(AUDIT_FILE))?;
        let room = folder.join(RESULTS_FOLDER);
        let store = Store::open(room.clone(), limits.run.results_bytes())?;
        let keeper = programs.as_ref().map(|programs| programs.keeper.clone());
        let lent = Lent { limits: limits.clone(), room, keeper };
        let mut kinds: Vec<Box<dyn LeafKind>> = vec![Box::new(sleep::Sleep), Box::new(traffic::Test)];
        if let Some(Programs { side, share, .. }) = programs {
            kinds.push(Box::new(side::Side(side)));
            kinds.push(Box::new(replay::Replay::new(share, &lent)));
        }
        kinds.push(Box::new(path::PathKind::new(&lent)));
        kinds.extend(tools::InThread::kinds(&lent));
        let shared = Shared {
            trust: watch::Sender::new(Arc::new(own.trust().clone())),
            own: Arc::new(own),
            reservations: Arc::new(Reservations::new(limits.clone())),
            limits,
            limits_toml,
            version: Version::ours(),
            clock,
            kinds,
            audit,
            store,
        };
        Ok(Agent { shared })
    }

    /// The same with a further kind of leaf.
    pub fn with_kind(mut self, kind: Box<dyn LeafKind>) -> Agent {
        self.shared.kinds.push(kind);
        self
    }

    /// The same as another release, to see how it is met.
    pub fn with_version(mut self, version: Version) -> Agent {
        self.shared.version = version;
        self
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        self.shared.identity()
    }

    /// What its keeper should know now.
    pub fn notices(&self) -> Vec<String> {
        self.shared.notices()
    }

    /// Listens on `address`.
    ///
    /// # Errors
    /// If it cannot be had.
    pub async fn listen(self, address: SocketAddr, bounds: Bounds) -> Result<Listening, Error> {
        let agent = Arc::new(self.shared);
        let (own, trust, clock) = (Arc::clone(&agent.own), agent.trust.subscribe(), Arc::clone(&agent.clock));
        let server = Server::bind(address, bounds, own, trust, clock).await?;
        Ok(Listening { agent, server })
    }
}

/// An agent that listens.
pub struct Listening {
    agent: Arc<Shared>,
    server: Server,
}

impl Listening {
    /// Where.
    ///
    /// # Errors
    /// If the socket does not know.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.server.address()
    }

    /// Serves until `end` says so; then everything that runs is stopped, and what it found is kept.
    pub async fn serve(self, end: watch::Receiver<bool>) {
        let Listening { agent, server } = self;
        let sessions = Arc::new(Sessions::new(Arc::clone(&agent)));
        let ended = {
            let (sessions, mut end) = (Arc::clone(&sessions), end.clone());
            tokio::spawn(async move {
                // A sender that has gone ends it too.
                let _ = end.wait_for(|end| *end).await;
                sessions.stop_all().await;
            })
        };
        let service = |peer| {
            AgentServer::new(Handler::new(Arc::clone(&agent), Arc::clone(&sessions), peer))
                .max_decoding_message_size(MOST_MESSAGE_BYTES)
                .max_encoding_message_size(MOST_MESSAGE_BYTES)
        };
        let strangers = Arc::clone(&agent);
        let stranger = move |address, why: &str| strangers.audit.stranger(&*strangers.clock, address, why);
        server.serve(service, stranger, end).await;
        // It ends because it was asked to.
        let _ = ended.await;
    }
}
