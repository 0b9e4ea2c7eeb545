//! What a packet carries for extraction: a TCP segment or a UDP datagram, and the VLAN it came in.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::num::{NonZeroU16, NonZeroU32};

use serde::{Deserialize, Serialize};

use crate::workload::LinkSide;

/// A transport address. IPv4 addresses are held in their IPv6-mapped form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The address; IPv4 as `::ffff:a.b.c.d`.
    pub ip: u128,
    /// The TCP or UDP port.
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

    /// The address without the port, in its own family.
    pub fn host(self) -> IpAddr {
        Ipv6Addr::from(self.ip).to_canonical()
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
    /// ECE bit: ECN echo (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// CWR bit: congestion window reduced (RFC 3168).
    pub const CWR: u8 = 0x80;

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

    /// Whether PSH is set.
    pub const fn psh(self) -> bool {
        self.0 & Self::PSH != 0
    }

    /// Whether ACK is set.
    pub const fn ack(self) -> bool {
        self.0 & Self::ACK != 0
    }

    /// Whether ECE is set.
    pub const fn ece(self) -> bool {
        self.0 & Self::ECE != 0
    }

    /// Whether CWR is set.
    pub const fn cwr(self) -> bool {
        self.0 & Self::CWR != 0
    }
}

/// The timestamps option (RFC 7323 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The latest clock of the other end that it has heard; meaningful if the ACK flag is set.
    pub echo: u32,
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
    /// IPv4 identification: packets of one sender that carry the same soon after each other are one packet. `None` where
    /// it tells nothing: 0, which many hosts send, and IPv6.
    pub ip_id: Option<NonZeroU16>,
    /// MSS option, looked for on SYNs.
    pub mss: Option<u16>,
    /// Window scale option, looked for on SYNs.
    pub window_scale: Option<u8>,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK (RFC 2018): the SACK-permitted option of a SYN, blocks of another segment.
    pub sack: bool,
    /// The first three SACK blocks, from the first number of each to the one past its last; those behind the last are empty.
    pub sack_blocks: [(u32, u32); 3],
    /// The header is longer than what was captured of it: options that are absent here may have been cut off.
    pub options_cut: bool,
    /// The VLAN it was tagged with on this link.
    pub vlan: Option<Vlan>,
    /// Side of the link it came from, where the capture marks directions.
    pub from: Option<LinkSide>,
    /// Destination and source MAC addresses, as they follow each other on the wire, where the link has them.
    pub macs: Option<[[u8; 6]; 2]>,
}

/// A UDP datagram as a monitor saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Payload on the wire: the UDP length less its header, never the captured length.
    pub payload_bytes: u32,
    /// IP bytes + 14: its share of the link (methods C.6).
    pub link_bytes: u32,
    /// IPv4 identification, and below it the UDP checksum: the same in copies of one datagram, and hardly in others soon after it.
    /// `None` where both are 0.
    pub mark: Option<NonZeroU32>,
    /// Its payload begins with a QUIC long header (RFC 8999 section 5.1) of a version that other protocols cannot be
    /// taken for. Short headers cannot be told from other bytes; neither can a header that was not captured.
    pub quic: bool,
    /// The VLAN it was tagged with on this link.
    pub vlan: Option<Vlan>,
    /// Side of the link it came from, where the capture marks directions.
    pub from: Option<LinkSide>,
    /// Destination and source MAC addresses, as they follow each other on the wire, where the link has them.
    pub macs: Option<[[u8; 6]; 2]>,
}

impl Datagram {
    /// Whether its IPv4 identification is known.
    pub(super) fn has_id(&self) -> bool {
        self.mark.is_some_and(|mark| mark.get() >> 16 != 0)
    }
}

/// What a packet turned out to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// TCP.
    Segment(Segment),
    /// UDP.
    Datagram(Datagram),
}

/// The VLAN of a packet: what keeps customers with the same addresses apart on one link.
///
/// It holds the identifiers of the outermost two tags (802.1ad: service and customer; further ones add nothing to
/// these). A priority tag, of identifier 0, is no VLAN. Tags inside a tunnel are not this link's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vlan(NonZeroU32);

impl Vlan {
    /// The VLAN of tags with these identifiers (12 bits each), outermost first; `None` if there are none but 0.
    pub fn new(identifiers: impl IntoIterator<Item = u16>) -> Option<Vlan> {
        let identifiers = identifiers.into_iter().map(|identifier| u32::from(identifier & 0xfff));
        let both = identifiers.filter(|identifier| *identifier > 0).take(2).fold(0, |both, next| both << 12 | next);
        NonZeroU32::new(both).map(Vlan)
    }

    /// The VLAN inside this one that a further tag makes.
    pub(super) fn inside(outer: Option<Vlan>, identifier: u16) -> Option<Vlan> {
        match outer {
            None => Vlan::new([identifier]),
            Some(Vlan(outer)) if outer.get() <= 0xfff => Vlan::new([outer.get() as u16, identifier]),
            Some(both) => Some(both),
        }
    }

    /// Its tags in the lower 24 bits, the innermost last; never 0.
    pub(crate) fn bits(self) -> u32 {
        self.0.get()
    }

    /// The VLAN that has these [`bits`](Self::bits), `None` if they are 0.
    pub(crate) fn from_bits(bits: u32) -> Option<Vlan> {
        NonZeroU32::new(bits).map(Vlan)
    }

    /// The number of the innermost of its tags.
    pub fn identifier(self) -> u16 {
        (self.0.get() & 0xfff) as u16
    }

    /// The number of the service tag around it, if there are two.
    pub fn service(self) -> Option<u16> {
        let service = (self.0.get() >> 12) as u16;
        (service > 0).then_some(service)
    }
}

impl fmt::Display for Vlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.service() {
            Some(service) => write!(f, "{service}.{}", self.identifier()),
            None => write!(f, "{}", self.identifier()),
        }
    }
}
