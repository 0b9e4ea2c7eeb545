//! A run whose sides are on other hosts: the workers there, the emulator here, and packets between them in tunnels.
//!
//! ```text
//!   host of the left side                    this host                    host of the right side
//!   workers <-> TCP <-> device <== UDP ==>  emulator  <== UDP ==> device <-> TCP <-> workers
//!          a side process                                            a side process
//! ```
//!
//! On each host a side process ([`side::process`]) makes a namespace with the addresses of its side, starts its workers in it, and
//! carries packets between the namespace's device and the emulator, each in a datagram. So connections have the addresses, paths and
//! queues that they have in any live run, nothing of them but these datagrams leaves a namespace, and a side may be spread over hosts.
//! What the way to the emulator takes is measured before the run and taken off the delays of paths; what it loses is counted.
//!
//! The run and a side process talk over a stream that somebody else provides, as the run and its workers do over pipes
//! ([`crate::control`]). Which clock is whose is for the run to know: hosts are told their own.
//!
//! | file | holds |
//! |---|---|
//! | `tunnel` | a packet in a datagram; both ends of a tunnel |
//! | `side` | the process on a host |
//! | `backend` | the run's end of it all |
//! | `peer`, `delays` | a side that plays with another one, without a run and an emulator; the delays of its connections |

pub mod backend;
pub mod delays;
pub mod peer;
pub mod side;
pub mod tunnel;

use flowloom_core::workload::LinkSide;
use serde::{Deserialize, Serialize};

use crate::control::{FromWorker, ToWorker};
use crate::host::counters::SideCounters;
use crate::host::settings::{Provenance, Settings};

/// From the run to a side process. The first is [`ToSide::Begin`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToSide {
    /// What it is.
    Begin(Box<SideOrders>),
    /// Something for the worker of this number.
    Worker(u16, Box<ToWorker>),
    /// Say what was counted.
    Count,
}

/// What a side process is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SideOrders {
    /// Its side.
    pub side: LinkSide,
    /// What its kernel is told.
    pub settings: Settings,
    /// The numbers of its workers, among those of its side: the first, and how many.
    pub workers: (u16, u16),
    /// By what both ends of its tunnel know each other's datagrams.
    pub token: u64,
}

/// From a side process to the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromSide {
    /// Its namespace is there, and its end of the tunnel.
    Begun(Box<Begun>),
    /// It cannot go on.
    Failed(String),
    /// What the worker of this number said.
    Worker(u16, Box<FromWorker>),
    /// The worker of this number says no more; why, if it had not said it was done.
    Ended(u16, Option<String>),
    /// What was counted so far.
    Counted(Box<SideCounters>),
}

/// That a side is there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begun {
    /// The UDP port of its end of the tunnel.
    pub port: u16,
    /// What carries packets, in words.
    pub device: String,
    /// What makes the run slower or less true, in words.
    pub warnings: Vec<String>,
    /// What its kernel told of itself.
    pub provenance: Provenance,
    /// Why connections cannot run over IPv6 there, in words; `None` if they can.
    pub no_ipv6: Option<String>,
}
