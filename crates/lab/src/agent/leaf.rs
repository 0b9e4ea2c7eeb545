//! What an agent runs: a leaf of the control tree. Each kind is a file of its own that has a [`LeafKind`] and a [`Leaf`].
//!
//! The agent calls a leaf in this order: [`Leaf::demand`] and [`Leaf::sends`] as soon as it is made, and if its limits and the
//! receivers' consents allow that, `prepare`, `open`, `run`, `close`, `results`. After `prepare` it may go straight to `close`. Calls
//! never overlap. A call that is dropped before it has ended must leave nothing behind that sends.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use tokio::io::DuplexStream;
use tokio::sync::watch;

use super::consent::{ConsentError, Permits};
use super::limits::{Demand, LimitError};
use crate::clock::{Clock, sleep_until};
use crate::leaves::WorkError;
use crate::rpc::Protocol;
use crate::script::diagnostic::Diagnostic;
use crate::script::tree::Block;

/// Why a leaf cannot be made, or cannot do what it is asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeafError {
    /// Its block has errors.
    #[error("{}", errors.join("; "))]
    Script {
        /// The errors.
        errors: Vec<String>,
    },
    /// Its block is of no kind of leaf.
    #[error("{0} is of no kind that is known")]
    UnknownKind(String),
    /// Its block is of another kind of leaf.
    #[error("it is no {0}")]
    OtherKind(&'static str),
    /// Its block is of a kind that another file makes.
    #[error("{0} is a leaf of its own")]
    OfItsOwn(String),
    /// The agent's limits do not allow it.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// There is no consent to it.
    #[error(transparent)]
    Consent(#[from] ConsentError),
    /// Its work cannot be done.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// Nothing can end the commands that it would start.
    #[error("this agent runs no commands: it has nothing to keep them with")]
    NoKeeper,
    /// The kernel has not what it asks for.
    #[error(transparent)]
    Unsupported(#[from] flowloom_live::host::settings::Unsupported),
    /// Its traffic is impossible.
    #[error(transparent)]
    Traffic(#[from] flowloom_models::generate::Impossible),
    /// It ran, and nothing is left of it.
    #[error("it is gone")]
    Gone,
    /// It was not opened.
    #[error("it is not open")]
    NotOpen,
    /// It has run.
    #[error("it has run")]
    HasRun,
    /// It was stopped.
    #[error("it was stopped")]
    Stopped,
    /// It was stopped before it started.
    #[error("it was stopped before it started")]
    StoppedEarly,
    /// It went on for too long, and was stopped.
    #[error("it was stopped: it went on for longer than it announced, or than a consent counts")]
    Overtime,
    /// It did not stop.
    #[error("it did not stop when it was told, and was dropped")]
    Dropped,
    /// The kernel gives it no thread.
    #[error("no thread for the leaf: {0}")]
    NoThread(io::Error),
    /// Its thread ended before its work.
    #[error("the {0}'s thread ended")]
    ThreadEnded(&'static str),
    /// Another path has an interface.
    #[error("{0} is the end of another path")]
    Taken(String),
    /// A path ended before its time.
    #[error("{}", why.as_deref().unwrap_or("it ended by itself"))]
    PathEnded {
        /// The emulator's words.
        why: Option<String>,
    },
    /// A socket cannot be had, or connected.
    #[error(transparent)]
    Socket(io::Error),
    /// It carried nothing.
    #[error("{why}")]
    Failed {
        /// Its words.
        why: String,
    },
    /// Its process cannot be started, or talked to.
    #[error("{process}: {cause}")]
    Process {
        /// What the process is.
        process: &'static str,
        /// The kernel's words.
        cause: io::Error,
    },
    /// Its process does not do as it should.
    #[error("{process} {does}")]
    Unexpected {
        /// What the process is.
        process: &'static str,
        /// What it does.
        does: &'static str,
    },
    /// Its process cannot be waited for, or ended.
    #[error(transparent)]
    Waiting(io::Error),
    /// Its process ended with an error.
    #[error("the process of the side ended with {0}")]
    Ended(ExitStatus),
    /// There is no room for the table of a replay.
    #[error("no room for its table: {0}")]
    NoRoom(io::Error),
    /// Its workload cannot be read.
    #[error(transparent)]
    Workload(#[from] flowloom_store::workload::WorkloadError),
    /// The file of its workload cannot be read.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The kernel's words.
        cause: io::Error,
    },
    /// A task of the agent failed.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

impl LeafError {
    /// Of a block in which these were found.
    pub(super) fn of_script(found: &[Diagnostic]) -> LeafError {
        let errors = found.iter().filter(|one| one.is_error()).map(|one| one.message.clone());
        LeafError::Script { errors: errors.collect() }
    }
}

/// A kind of leaf, by the keyword of its block.
pub trait LeafKind: Send + Sync {
    /// The keyword.
    fn keyword(&self) -> &'static str;

    /// Makes one of its block, whose parameters are read here and nowhere else.
    ///
    /// # Errors
    /// What is wrong with the block.
    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, LeafError>;
}

/// Traffic to an address, as a leaf announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Where to.
    pub to: SocketAddr,
    /// By what.
    pub protocol: Protocol,
    /// At most, in bit/s of IP packets.
    pub rate_bit_s: u64,
}

/// A leaf. What a call returns is a sentence for the user, empty if there is nothing to say, or why it could not.
#[tonic::async_trait]
pub trait Leaf: Send {
    /// What it will take.
    fn demand(&self) -> Demand;

    /// Every address it will send to; it may send to no other.
    fn sends(&self) -> Vec<Sending>;

    /// Allocates what it needs, and listens where it will receive.
    async fn prepare(&mut self) -> Result<String, LeafError>;

    /// Connects, where `permits` has a permit.
    async fn open(&mut self, permits: &Permits) -> Result<String, LeafError>;

    /// Does what it is for from `start` on, for which it is called a little earlier, until that is done or `stop` says so; then it ends
    /// within a quarter of a second, or is dropped.
    async fn run(&mut self, start: Start, stop: Stop) -> Result<Ran, LeafError>;

    /// Its end of a conversation with the one who commands it, if it has one; asked for once, when it is made.
    fn talk(&mut self) -> Option<DuplexStream> {
        None
    }

    /// Closes its connections and listeners.
    async fn close(&mut self) -> Result<String, LeafError>;

    /// Writes what it found.
    ///
    /// # Errors
    /// If `out` does not take it.
    fn results(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// Says how it is set, for `parameters` (transfer only) and, with all else, for `config`.
    fn describe(&self) -> String;
}

/// When a leaf starts.
#[derive(Clone)]
pub struct Start {
    /// By the host's monotonic clock, in nanoseconds.
    pub monotonic_ns: i64,
    pub(super) clock: Arc<dyn Clock>,
}

impl Start {
    /// Waits for it, as exactly as the kernel can, and says when it was, in nanoseconds of the monotonic clock.
    pub async fn wait(&self) -> i64 {
        sleep_until(&*self.clock, self.monotonic_ns).await;
        self.clock.monotonic_ns()
    }
}

/// That a leaf has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// When it did its first deed, in nanoseconds of the monotonic clock.
    pub started_monotonic_ns: i64,
    /// A sentence for the user.
    pub text: String,
}

/// Tells a leaf to stop.
#[derive(Clone, Debug)]
pub struct Stop(pub(super) watch::Receiver<bool>);

impl Stop {
    /// Whether it has been told, for threads.
    pub fn is_told(&self) -> bool {
        *self.0.borrow()
    }

    /// Comes back when it is told.
    pub async fn told(&mut self) {
        // Whoever could tell it has gone: that is telling too.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
