//! Errors, problems and warnings of a live run.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_sim::{ConfigError, RunError};

use crate::host::counters::Loss;
use crate::host::settings::Unsupported;
use crate::host::testbed::{self, TestbedError};

/// Why there was no live run, or it could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum LiveError<W, R> {
    /// As in a simulation.
    #[error(transparent)]
    Run(#[from] RunError<W, R>),
    /// The kernel has not what the experiment asks for.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// There is no place for it.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// Workers do not work.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// Something of the host.
    #[error("{what}: {cause}")]
    Host {
        /// What was done.
        what: &'static str,
        /// What the kernel says.
        cause: io::Error,
    },
}

impl<W, R> From<ConfigError> for LiveError<W, R> {
    fn from(error: ConfigError) -> LiveError<W, R> {
        LiveError::Run(error.into())
    }
}

/// Why workers, or the hosts that they are on, do not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkersError {
    /// A side has no host, or more hosts than workers.
    #[error("{} and {} hosts cannot have {each_side} workers on each side", hosts[0], hosts[1])]
    Hosts {
        /// Hosts of the left and of the right side.
        hosts: [usize; 2],
        /// Workers of each side.
        each_side: u16,
    },
    /// A host says no more.
    #[error("{host}: {why}")]
    Gone {
        /// Its name.
        host: String,
        /// Its words, or why the connection to it ended.
        why: String,
    },
    /// Hosts do not answer.
    #[error("{} did not answer within {seconds} s", hosts.join(", "))]
    Silent {
        /// Their names.
        hosts: Vec<String>,
        /// How long the run waited for them.
        seconds: u64,
    },
    /// The tunnels of a side cannot be used.
    #[error("the tunnels of the {} side: {cause}", side.word())]
    Tunnels {
        /// The side.
        side: LinkSide,
        /// What the kernel says.
        cause: io::Error,
    },
    /// Datagrams of a host do not arrive.
    #[error("{host}: datagrams from {address} do not come through to this host")]
    Unreachable {
        /// Its name.
        host: String,
        /// The address of its tunnel.
        address: SocketAddr,
    },
    /// The namespace of this process is unknown.
    #[error("/proc is not there: {0}")]
    NoProc(io::Error),
    /// A worker cannot begin.
    #[error("{worker}: {why}")]
    Failed {
        /// Which.
        worker: WorkerName,
        /// Its words, or how it ended.
        why: String,
    },
    /// Workers do not begin in time.
    #[error("{waiting} of {workers} workers do not begin")]
    Late {
        /// How many.
        waiting: usize,
        /// Of how many.
        workers: usize,
    },
    /// There are more connections than pairs of addresses.
    #[error("there are more connections than pairs of addresses")]
    TooManyConnections,
}

/// A worker, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerName {
    /// Its side.
    pub side: LinkSide,
    /// Its number on that side.
    pub number: u16,
}

impl fmt::Display for WorkerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} on the {}", self.number, self.side.word())
    }
}

/// Something that went wrong in a run, which goes on or ends with what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The emulator ended before the run.
    Emulator {
        /// Its words.
        why: String,
    },
    /// Packets disappeared without a record.
    Unaccounted {
        /// How many.
        packets: u64,
    },
    /// A device is gone or down.
    Device {
        /// What the kernel says.
        why: String,
    },
    /// A worker failed.
    Worker {
        /// Which.
        worker: WorkerName,
        /// Its words, or how it ended.
        why: String,
    },
    /// Something of another host, or of the connection to it.
    Host {
        /// Its name, and what went wrong there.
        text: String,
    },
    /// Workers did not end when they were told.
    NotEnded,
    /// The kernel lost something.
    Lost {
        /// What.
        loss: Loss,
        /// How often.
        count: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Emulator { why } => write!(f, "the emulator could not go on: {why}"),
            Problem::Unaccounted { packets } => write!(f, "of {packets} packets it is not known what became"),
            Problem::Device { why } => write!(f, "a device is gone or down: {why}"),
            Problem::Worker { worker, why } => write!(f, "{worker}: {why}"),
            Problem::Host { text } => f.write_str(text),
            Problem::NotEnded => f.write_str("workers did not end when they were told"),
            Problem::Lost { loss, count } => write!(f, "{count} {loss}"),
        }
    }
}

/// Something that makes a run slower or less true.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// This host has not all that a testbed wants.
    Testbed {
        /// The words of [`testbed::Warning`].
        text: String,
    },
    /// Another host has not all that a testbed wants.
    Host {
        /// Its name.
        host: String,
        /// Its words.
        text: String,
    },
    /// The hosts of a side are not equally far away, and one value is taken off all delays.
    HostsApart {
        /// The side.
        side: LinkSide,
        /// The round-trip time to the nearest.
        least: Duration,
        /// The round-trip time to the farthest.
        most: Duration,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Testbed { text } => f.write_str(text),
            Warning::Host { host, text } => write!(f, "{host}: {text}"),
            Warning::HostsApart { side, least, most } => write!(
                f,
                "the hosts of the {} side are {least} to {most} away: half the mean is taken off delays",
                side.word()
            ),
        }
    }
}

impl From<&testbed::Warning> for Warning {
    fn from(warning: &testbed::Warning) -> Warning {
        Warning::Testbed { text: warning.to_string() }
    }
}
