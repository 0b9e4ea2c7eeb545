//! What a leaf is told, before it starts and while it works.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};

use flowloom_core::time::Duration;
use serde::{Deserialize, Serialize};

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
