//! Why an experiment cannot be begun, or an agent below not be had.

use std::io;

use flowloom_core::workload::LinkSide;

use crate::transport::{AgentError, CallError};

/// Why an experiment cannot be begun, or something cannot be asked of an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// An agent cannot be had.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// An agent does not do what it is asked.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A leaf has no address.
    #[error("{keyword} {path} has no address: write {keyword} HOST {{ ... }}")]
    NoAddress {
        /// Its kind.
        keyword: String,
        /// Its place in the script.
        path: String,
    },
    /// Delegations name agents, and this one has no name.
    #[error("{block} is done by an agent, and {address} is not in the list of hosts: delegations name their agents")]
    NoName {
        /// The block that is delegated.
        block: String,
        /// The address of the agent.
        address: String,
    },
    /// An agent does not take a block.
    #[error("{block} at {agent}: {why}")]
    NotPlaced {
        /// The block.
        block: String,
        /// The agent.
        agent: String,
        /// A line of what it says, each of them of something that it cannot have.
        why: String,
    },
    /// A delegation cannot be read.
    #[error("a delegation is not good: {0}")]
    Delegation(prost::DecodeError),
    /// What is asked cannot be read.
    #[error(transparent)]
    Asking(prost::DecodeError),
    /// An agent is nowhere below.
    #[error("there is no agent {0} below")]
    NotBelow(String),
    /// A statement cannot be signed.
    #[error(transparent)]
    Sign(#[from] crate::authority::Error),
    /// An agent has not answered whether it agrees.
    #[error("it has not answered")]
    NoAnswer,
    /// An agent does not agree, in its words.
    #[error("{0}")]
    Disagrees(String),
    /// The limits of an agent cannot be read.
    #[error("{0}")]
    Limits(String),
    /// A side has no host.
    #[error("the {} side has no host", .0.word())]
    NoHost(LinkSide),
    /// A side has hosts by IPv4 and hosts by IPv6.
    #[error("name the hosts of the {} side all by IPv4, or all by IPv6", .0.word())]
    Families(LinkSide),
    /// The kernel gives no socket.
    #[error("no socket for tunnels: {0}")]
    NoSocket(io::Error),
    /// A socket has no port.
    #[error(transparent)]
    Socket(io::Error),
    /// A task failed.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
    /// The same with the host that it is about.
    #[error("{host}: {why}")]
    Host {
        /// The host.
        host: String,
        /// What.
        why: Box<ControlError>,
    },
}

impl ControlError {
    pub(super) fn of_host(self, host: &str) -> ControlError {
        ControlError::Host { host: host.to_owned(), why: Box::new(self) }
    }
}
