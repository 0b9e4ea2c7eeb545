//! The keys of a network: `[network]` of experiments.

mod config;
mod network;
pub mod schema;
mod topology;

pub use network::{Bottleneck, Network, RateChoice};
pub use topology::{Ends, Link, Pair, Part, Route, Shape, Topology, UnknownLink, link_problems};
