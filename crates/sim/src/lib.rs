//! The virtual-time driver: a workload over a simulated network.
//!
//! [`run`] plays connection vectors closed-loop over a link with two directions, and others before and behind it, and leaves
//! everything it measures with a [`Recorder`](flowloom_core::record::Recorder). The machines are `core`'s; this crate moves time.
//!
//! A packet costs two events: it reaches its first link, and it reaches its receiver; every further link costs one more.
//! What happens in between is known when a link accepts it. Only the first packet of a queue has an event, and packets,
//! connections and wake-ups are plain values in arrays, so that nothing is allocated per packet.
//!
//! | file | holds |
//! |---|---|
//! | `events` | the event queue |
//! | `flight` | packets on their way, and the bytes they take |
//! | `flow` | the packets of two ends, what the monitor makes of them |
//! | `classed` | a vector, its class, and where it comes from |
//! | `limits` | segment size, window, options and version of IP of the ends of a vector |
//! | `connection` | one connection: its two ends |
//! | `datagram_flow`, `datagrams` | a flow of datagrams in an experiment; under way: its sender, its receiver |
//! | `topology` | nodes, links, routes |
//! | `network` | the links |
//! | `meters` | queue samples, throughput, packets past the monitor |
//! | `coverage` | which bytes have passed |
//! | `starts` | connections in the order of their SYNs |
//! | `run` | the loop |
//! | `progress` | how far a run is |
//! | `prefetch` | memory that the next events need |
//! | `emulation` | the same without ends: packets come from outside |
//! | `open_loop` | sources with known answers |
//! | `cell_queue` | a queue of cells with constant service |

pub mod cell_queue;
pub mod emulation;
pub mod events;
pub mod keys;
pub mod open_loop;
pub mod topology;

pub mod cells;
mod classed;
mod config;
mod connection;
mod coverage;
mod datagram_flow;
mod datagrams;
mod flight;
mod flow;
mod limits;
mod meters;
mod network;
mod plausibility;
mod prefetch;
mod progress;
mod run;
mod starts;
mod summary;

pub use classed::{Classed, Origin};
pub use config::{Class, Config, ConfigError, Grouping, LinkConfig, LinkNumber, Monitored, Traced, Way};
pub use datagram_flow::DatagramFlow;
pub use emulation::{Closed, Emulation};
pub use flight::{Handle, link_bytes};
pub use limits::{AsCaptured, ip_version, limits, offers};
pub use plausibility::{
    ClassDrops, ClassPackets, Drops, FlowFindings, Judged, JudgedFlow, PacketsMet, Plausibility, Sending,
};
pub use progress::{LinkProgress, Links, LinksAt, Progress};
pub use run::run;
pub use starts::Starts;
pub use summary::{ClassCounts, ConnectionCounts, Direction, LinkCounts, PacketCounts, RunError, Sharing, Summary};
