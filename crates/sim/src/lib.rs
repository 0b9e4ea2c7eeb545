//! The virtual-time driver: a workload over a simulated dumbbell.
//!
//! [`run`] plays connection vectors closed-loop over one link with two directions, and leaves everything it measures
//! with a [`Recorder`](flowloom_core::record::Recorder). The machines are `core`'s; this crate moves time.
//!
//! A packet costs two events: it reaches the link, and it reaches its receiver. What happens in between is known when
//! the link accepts it. Only the first packet of a queue has an event, and packets, connections and wake-ups are plain
//! values in arrays, so that nothing is allocated per packet.
//!
//! | file | holds |
//! |---|---|
//! | `events` | the event queue |
//! | `flight` | packets on their way |
//! | `connection` | one connection: two ends, its path |
//! | `network` | the dumbbell |
//! | `meters` | queue samples, throughput, packets past the monitor |
//! | `coverage` | which bytes have passed |
//! | `run` | the loop |
//! | `open_loop` | sources with known answers |

pub mod events;
pub mod open_loop;

mod config;
mod connection;
mod coverage;
mod flight;
mod meters;
mod network;
mod run;
mod summary;

pub use config::{Bottleneck, Config, ConfigError};
pub use run::run;
pub use summary::{ConnectionCounts, Direction, PacketCounts, Progress, RunError, Summary};
