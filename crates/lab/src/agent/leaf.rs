//! What an agent runs: a leaf of the control tree. Each kind is a file of its own that has a [`LeafKind`] and a [`Leaf`].
//!
//! The agent calls a leaf in this order: [`Leaf::demand`] and [`Leaf::sends`] as soon as it is made, and if its limits and the
//! receivers' consents allow that, `prepare`, `open`, `run`, `close`, `results`. After `prepare` it may go straight to `close`. Calls
//! never overlap. A call that is dropped before it has ended must leave nothing behind that sends.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::DuplexStream;
use tokio::sync::watch;

use super::consent::Permits;
use super::limits::Demand;
use crate::clock::{Clock, sleep_until};
use crate::rpc::Protocol;
use crate::script::tree::Block;

/// A kind of leaf, by the keyword of its block.
pub trait LeafKind: Send + Sync {
    /// The keyword.
    fn keyword(&self) -> &'static str;

    /// Makes one of its block, whose parameters are read here and nowhere else.
    ///
    /// # Errors
    /// What is wrong with the block.
    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, String>;
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
    async fn prepare(&mut self) -> Result<String, String>;

    /// Connects, where `permits` has a permit.
    async fn open(&mut self, permits: &Permits) -> Result<String, String>;

    /// Does what it is for from `start` on, for which it is called a little earlier, until that is done or `stop` says so; then it ends
    /// within a quarter of a second, or is dropped.
    async fn run(&mut self, start: Start, stop: Stop) -> Result<Ran, String>;

    /// Its end of a conversation with the one who commands it, if it has one; asked for once, when it is made.
    fn talk(&mut self) -> Option<DuplexStream> {
        None
    }

    /// Closes its connections and listeners.
    async fn close(&mut self) -> Result<String, String>;

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
