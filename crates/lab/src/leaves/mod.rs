//! What leaves of the control tree do: those that send and receive traffic (methods J.4, J.5), programs of NetSpec's sources over sockets
//! of the kernel; and those that carry the traffic of others, look on, or run something.
//!
//! What a source writes and when is decided by the machines that the models and the simulator have
//! ([`Leaf::written`](flowloom_models::generate::netspec::Leaf::written), [`BlockWriter`](flowloom_core::play::BlockWriter));
//! here are their sockets. Everything is done in one thread without blocking, so that a leaf stops within [`GLANCE`] of being told to.
//!
//! | module | what |
//! |---|---|
//! | `announced` | what a leaf will take, before it does anything |
//! | `source` | writes |
//! | `sink` | reads |

//! | `arrivals` | what a sink takes note of |
//! | `socket` | sockets with the options of a script |
//! | `path` | carries what passes between two interfaces, as a path |
//! | `capture`, `watch` | packets into a file; one flow, packet by packet |
//! | `interface` | the packets of a network interface, for both |
//! | `monitor` | counters |
//! | `command` | programs |
//! | `work` | what the last four have in common |
//! | `error` | why a leaf cannot do its work |

pub mod announced;
mod arrivals;
mod capture;
mod command;
mod error;
mod interface;
mod monitor;
mod path;
mod sink;
mod socket;
mod source;
mod watch;
mod work;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};

use flowloom_core::time::Duration;
use serde::{Deserialize, Serialize};

pub use arrivals::Arrivals;
pub use capture::{CaptureResults, Capturing};
pub use command::{CommandResults, Commanding};
pub use error::WorkError;
pub use monitor::{MonitorResults, Monitoring};
pub use path::{Carried, Carrying, PathResults};
pub use sink::{Sink, SinkResults};
pub use source::{Source, SourceResults};
pub use watch::{WatchResults, Watching};
pub use work::Work;

/// A leaf that waits looks this often whether it is to stop.
pub const GLANCE: Duration = Duration::from_millis(50);

/// What a script says of the transport of a leaf: `protocol = tcp(window=..., tcpmtu=...)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Room for what was not acknowledged and what was not read, in bytes (`window`, or `buffer` of a source); the kernel's choice if it is
    /// left out.
    pub window: Option<u32>,
    /// Largest segment in bytes (`mss`; `tcpmtu` less 40).
    pub mss: Option<u16>,
    /// Whether small segments are sent at once.
    pub nodelay: bool,
    /// Whether the rate that a source is held to is one that it is paced to (`rate`): then nothing goes ahead of it.
    pub paced: bool,
    /// Congestion control, by the kernel's name.
    pub congestion: Option<String>,
}

/// Where a leaf is and who its peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Its own address. The port of a source may be 0; one that has several connections takes any.
    pub own: SocketAddr,
    /// The other's.
    pub peer: SocketAddr,
}

/// Tells a leaf to end.
#[derive(Debug, Default)]
pub struct Order(AtomicU8);

/// What a leaf is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Todo {
    /// Go on.
    GoOn,
    /// Begin nothing more, and close connections in order.
    Finish,
    /// Send nothing more, not even what was written: connections are reset.
    Stop,
}

impl Order {
    /// To go on.
    pub const fn new() -> Order {
        Order(AtomicU8::new(0))
    }

    /// Gives it, unless more was ordered before.
    pub fn give(&self, todo: Todo) {
        self.0.fetch_max(todo as u8, Ordering::AcqRel);
    }

    /// What it is.
    pub fn todo(&self) -> Todo {
        match self.0.load(Ordering::Acquire) {
            0 => Todo::GoOn,
            1 => Todo::Finish,
            _ => Todo::Stop,
        }
    }
}
