//! What a leaf announces before it does anything: for limits, and for the consent of whoever receives.

use std::net::{SocketAddr, ToSocketAddrs};

use super::error::WorkError;
use crate::rpc;
use crate::script::address::Host;
use crate::script::leaf::{Endpoint, Leaf, Protocol, Work};

/// A leaf that says of no rate how fast it is, is held to this, in bit/s of IP packets.
pub const RATE_OF_OTHERS: u64 = 10_000_000;

/// Connections at once of a source of sessions.
const CONNECTIONS_OF_SESSIONS: u64 = 4_096;

/// The rate that a leaf is held to, in bit/s of IP packets: what its protocol is paced to; of blocks at a constant rate half as much
/// again, for headers and to make up for delays; otherwise [`RATE_OF_OTHERS`]. A sink sends nothing.
pub fn rate_bit_s(leaf: &Leaf) -> u64 {
    if !leaf.sends() {
        return 0;
    }
    if let Some(rate) = leaf.protocol.rate() {
        return rate.bits_per_second().unwrap_or(u64::MAX);
    }
    leaf.offered_bits_per_second().map_or(RATE_OF_OTHERS, |offered| (1.5 * offered).ceil().max(64_000.0) as u64)
}

/// How many connections it has at once at most.
pub fn connections(leaf: &Leaf) -> u64 {
    use flowloom_models::generate::netspec::Traffic;
    match &leaf.work {
        Work::Source { traffic, .. } if matches!(**traffic, Traffic::Telnet { .. } | Traffic::Voice { .. }) => {
            CONNECTIONS_OF_SESSIONS
        }
        Work::Source { .. } => 1,
        Work::Sink { .. } => 0,
    }
}

/// What carries it.
pub fn protocol(leaf: &Leaf) -> rpc::Protocol {
    match leaf.protocol {
        Protocol::Tcp(_) => rpc::Protocol::Tcp,
        Protocol::Udp(_) => rpc::Protocol::Udp,
    }
}

/// The address of an end; a name is looked up here.
///
/// # Errors
/// If the name is not known.
pub fn address(end: &Endpoint) -> Result<SocketAddr, WorkError> {
    match &end.host {
        Host::Ip(ip) => Ok(SocketAddr::new(*ip, end.port)),
        Host::Name(name) => {
            let found = (name.as_str(), end.port).to_socket_addrs();
            let found = found.map_err(|cause| WorkError::Named { name: name.clone(), cause })?.next();
            found.ok_or_else(|| WorkError::NoAddress(name.clone()))
        }
    }
}
