//! The control tree (methods J.2, J.3): commands go down its edges, and a node answers after its children did.
//!
//! Every [`Node`] is the same seen from above, wherever it is: a leaf here or at another host, or a [`Branch`], whose children are nodes
//! again. Nothing here knows how the ends of an edge talk.

mod branch;
#[cfg(test)]
mod tests;

use std::fmt;

use tokio::sync::mpsc;

pub use branch::{Branch, NextStart};

/// What is asked of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Allocate what it needs, and listen where it will receive.
    Setup,
    /// Connect.
    Open,
    /// Transfer, from this reading of the asking host's monotonic clock on, in nanoseconds; `None` is at once.
    Run {
        /// The reading.
        start_ns: Option<u64>,
    },
    /// Stop, in order.
    Finish,
    /// Close connections.
    Close,
    /// Free what it has; results are kept until then.
    Teardown,
    /// Return results.
    Report,
    /// Forget everything, to be set up anew.
    Reset,
    /// Stop at once.
    Kill,
    /// Say how the transfer is set.
    Parameters,
    /// Say how everything is set.
    Config,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Command::Setup => "setup",
            Command::Open => "open",
            Command::Run { .. } => "run",
            Command::Finish => "finish",
            Command::Close => "close",
            Command::Teardown => "teardown",
            Command::Report => "report",
            Command::Reset => "reset",
            Command::Kill => "kill",
            Command::Parameters => "parameters",
            Command::Config => "config",
        })
    }
}

/// What a node acknowledges with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// What nodes below said, to be shown as it is.
    pub said: Vec<Said>,
    /// Leaves, and clusters as a whole, that failed and take no further part, which does not fail this node.
    pub failed: Vec<Failure>,
}

/// What a node said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Which.
    pub node: String,
    /// What.
    pub text: String,
}

/// A node that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which.
    pub node: String,
    /// What it was asked to do.
    pub command: Command,
    /// Why it could not.
    pub text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.node, self.command, self.text)
    }
}

/// A part of a leaf's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The leaf.
    pub node: String,
    /// What it reports.
    pub bytes: Vec<u8>,
}

/// Where parts of reports go as they come: none is held back for others, and who is faster than whoever reads them waits.
pub type Reports = mpsc::Sender<Part>;

/// An answer: what was acknowledged, or what failed and with it the node.
pub type Reply = Result<Acknowledgement, Vec<Failure>>;

/// A node as it is seen from above.
///
/// A call that is dropped before it has ended is answered by nobody; what may be asked after that is [`Command::Kill`],
/// [`Command::Report`], [`Command::Teardown`] and [`Command::Reset`].
#[tonic::async_trait]
pub trait Node: Send + Sync {
    /// What the user knows it by: `test a:42005`.
    fn name(&self) -> &str;

    /// Does what is asked of it and all below it.
    async fn command(&mut self, command: Command, reports: &Reports) -> Reply;
}
