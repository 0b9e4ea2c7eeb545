//! How hosts of a lab talk: gRPC over mutual TLS 1.3. A stranger gets nothing but a close.

pub mod client;
mod counts;
mod error;
pub mod server;
mod tls;

use std::time::Duration;

use crate::rpc::HelloReply;

pub use error::{AgentError, CallError};

/// The version of the messages. It grows when one of them changes its form or its meaning.
pub const PROTOCOL: u32 = 3;

/// A command, with the script of its block, is no longer; ten thousand leaves of a few lines are two megabytes.
pub const MOST_MESSAGE_BYTES: usize = 16 << 20;

/// A quiet connection is asked for a sign of life this often...
const KEEP_ALIVE_EVERY: Duration = Duration::from_millis(500);
/// ... and is lost when none comes for so long. Both together, and the stopping after it, are less than 2 s.
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_millis(750);

/// Which release somebody runs. Only equal ones work together: the parts of an experiment are of one make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The release, as `flowloom --version` prints it.
    pub release: String,
    /// That of the messages.
    pub protocol: u32,
}

impl Version {
    /// Ours.
    pub fn ours() -> Version {
        Version { release: env!("CARGO_PKG_VERSION").to_owned(), protocol: PROTOCOL }
    }

    /// That of an answer.
    pub fn of(reply: &HelloReply) -> Version {
        Version { release: reply.version.clone(), protocol: reply.protocol }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "flowloom {} (protocol {})", self.release, self.protocol)
    }
}
