//! Borrowed views of packet headers, and what extraction needs of them: TCP segments and UDP datagrams on the wire.

mod common;
mod cooked;
mod copies;
mod decoder;
mod ecn;
mod ethernet;
mod fragments;
mod gre;
mod ip;
mod layer;
mod link;
mod loopback;
mod mpls;
mod packet;
mod ppp;
mod ring;
mod set_aside;
mod tcp;
#[cfg(test)]
mod tests;
mod tunnel;
mod udp;

pub use copies::Copies;
pub use decoder::Decoder;
pub use ecn::Ecn;
pub use fragments::FragmentCounts;
pub use link::LinkType;
pub use packet::{Address, Datagram, Flags, Parsed, Segment, Timestamps, Vlan};
pub use set_aside::{SetAside, SetAsideCounts};
