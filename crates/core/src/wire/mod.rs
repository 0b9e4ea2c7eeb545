//! Borrowed views of packet headers, and the one fact extraction needs: a TCP segment on the wire.

mod cooked;
mod ethernet;
mod ip;
mod link;
mod loopback;
mod set_aside;
mod tcp;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::workload::LinkSide;
pub use link::LinkType;
pub use set_aside::{SetAside, SetAsideCounts};

/// A transport address. IPv4 addresses are held in their IPv6-mapped form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The address; IPv4 as `::ffff:a.b.c.d`.
    pub ip: u128,
    /// The TCP port.
    pub port: u16,
}

impl Address {
    /// The address with `ip` and `port`.
    pub fn new(ip: IpAddr, port: u16) -> Address {
        let ip = match ip {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        Address { ip: u128::from(ip), port }
    }
}

/// TCP flag bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// FIN bit.
    pub const FIN: u8 = 0x01;
    /// SYN bit.
    pub const SYN: u8 = 0x02;
    /// RST bit.
    pub const RST: u8 = 0x04;
    /// PSH bit.
    pub const PSH: u8 = 0x08;
    /// ACK bit.
    pub const ACK: u8 = 0x10;

    /// Whether FIN is set.
    pub const fn fin(self) -> bool {
        self.0 & Self::FIN != 0
    }

    /// Whether SYN is set.
    pub const fn syn(self) -> bool {
        self.0 & Self::SYN != 0
    }

    /// Whether RST is set.
    pub const fn rst(self) -> bool {
        self.0 & Self::RST != 0
    }

    /// Whether ACK is set.
    pub const fn ack(self) -> bool {
        self.0 & Self::ACK != 0
    }
}

/// A TCP segment as a monitor saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number; meaningful if the ACK flag is set.
    pub acknowledgement: u32,
    /// Flags.
    pub flags: Flags,
    /// Window field, unscaled.
    pub window: u16,
    /// Payload on the wire: IP total length less headers, never the captured length (methods A.1.6).
    pub payload_bytes: u32,
    /// IP bytes + 14: its share of the link (methods C.6).
    pub link_bytes: u32,
    /// MSS option, looked for on SYNs.
    pub mss: Option<u16>,
    /// Window scale option, looked for on SYNs.
    pub window_scale: Option<u8>,
    /// Side of the link it came from, where the capture marks directions.
    pub from: Option<LinkSide>,
    /// Source and destination MAC addresses, where the link has them.
    pub macs: Option<[[u8; 6]; 2]>,
}

/// The TCP segment in a captured packet, or why there is none.
///
/// `bytes` is what was captured of the packet and may be cut; `wire_length` its length on the wire as the capture
/// states it, which counts only where the IP header gives no length. [`Segment::from`] is filled where the link
/// header marks directions (Linux cooked), [`Segment::macs`] on Ethernet. Never panics, whatever the bytes.
#[inline]
pub fn parse(link: LinkType, bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    match link {
        LinkType::Ethernet => ethernet::parse(bytes, wire_length),
        LinkType::RawIp => ip::any(bytes, wire_length),
        LinkType::LinuxCookedV1 => cooked::v1(bytes, wire_length),
        LinkType::LinuxCookedV2 => cooked::v2(bytes, wire_length),
        LinkType::Null | LinkType::Loop => loopback::parse(bytes, wire_length),
        LinkType::Unsupported(_) => Err(SetAside::UnsupportedLink),
    }
}
