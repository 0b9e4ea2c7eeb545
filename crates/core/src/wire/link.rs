//! What a captured packet begins with: the link types a capture file names by number.

use std::fmt;

/// Link-layer header type of a capture, from its LINKTYPE/DLT number (tcpdump.org, "Link-layer header types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkType {
    /// Ethernet (1).
    Ethernet,
    /// Linux cooked capture, version 1 (113).
    LinuxCookedV1,
    /// Linux cooked capture, version 2 (276).
    LinuxCookedV2,
    /// The packet begins with its IPv4 or IPv6 header (101; 12 and 14 in old files; 228 and 229).
    RawIp,
    /// BSD loopback, address family in the byte order of the capturing host (0).
    Null,
    /// OpenBSD loopback, address family in network byte order (108).
    Loop,
    /// PPP (9).
    Ppp,
    /// PPP or Cisco's HDLC in HDLC-like framing (50).
    PppHdlc,
    /// The packet begins with its PPPoE header (51).
    PppOverEthernet,
    /// Cisco's HDLC (104).
    CiscoHdlc,
    /// FDDI (10).
    Fddi,
    /// Token Ring (6).
    TokenRing,
    /// Any other number.
    Unsupported(u32),
}

impl LinkType {
    /// The link type with this number.
    pub const fn from_number(number: u32) -> LinkType {
        match number {
            1 => LinkType::Ethernet,
            113 => LinkType::LinuxCookedV1,
            276 => LinkType::LinuxCookedV2,
            12 | 14 | 101 | 228 | 229 => LinkType::RawIp,
            0 => LinkType::Null,
            108 => LinkType::Loop,
            9 => LinkType::Ppp,
            50 => LinkType::PppHdlc,
            51 => LinkType::PppOverEthernet,
            104 => LinkType::CiscoHdlc,
            10 => LinkType::Fddi,
            6 => LinkType::TokenRing,
            other => LinkType::Unsupported(other),
        }
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkType::Ethernet => f.write_str("Ethernet"),
            LinkType::LinuxCookedV1 => f.write_str("Linux cooked v1"),
            LinkType::LinuxCookedV2 => f.write_str("Linux cooked v2"),
            LinkType::RawIp => f.write_str("raw IP"),
            LinkType::Null => f.write_str("BSD loopback"),
            LinkType::Loop => f.write_str("OpenBSD loopback"),
            LinkType::Ppp => f.write_str("PPP"),
            LinkType::PppHdlc => f.write_str("PPP in HDLC framing"),
            LinkType::PppOverEthernet => f.write_str("PPPoE"),
            LinkType::CiscoHdlc => f.write_str("Cisco HDLC"),
            LinkType::Fddi => f.write_str("FDDI"),
            LinkType::TokenRing => f.write_str("Token Ring"),
            LinkType::Unsupported(number) => write!(f, "link type {number}"),
        }
    }
}
