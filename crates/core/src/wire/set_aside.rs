//! Why a packet yields neither a segment nor a datagram, and how often.

use std::fmt;

/// The reason a packet yields nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SetAside {
    /// The capture's link type is not one of those read.
    UnsupportedLink,
    /// Neither IPv4 nor IPv6: ARP, LLDP and the like.
    NotIp,
    /// Below MPLS labels is neither IP nor an Ethernet frame.
    Mpls,
    /// Encrypted, compressed or unknown: ESP, MACsec, PPP with compressed headers or in several links, GRE with a
    /// source route or of a protocol that is not known.
    Tunnel,
    /// A fragment of a TCP segment or a tunnel's packet, which counts once, with the fragment that completes it.
    Fragment,
    /// The same of a UDP datagram.
    UdpFragment,
    /// A fragment that contradicts others of its packet: RFC 5722 overlaps, several ends, or too many.
    FragmentConflict,
    /// UDP, where only TCP is wanted.
    Udp,
    /// ICMP or ICMPv6; the TCP header quoted inside an error belongs to no connection.
    Icmp,
    /// IP, but none of the above.
    OtherTransport,
    /// The capture's snap length cut the packet before the end of the headers needed.
    HeaderCut,
    /// A header contradicts itself.
    Malformed,
}

impl SetAside {
    /// Every reason, in the order counts are shown.
    pub const ALL: [SetAside; 12] = [
        SetAside::UnsupportedLink,
        SetAside::NotIp,
        SetAside::Mpls,
        SetAside::Tunnel,
        SetAside::Fragment,
        SetAside::UdpFragment,
        SetAside::FragmentConflict,
        SetAside::Udp,
        SetAside::Icmp,
        SetAside::OtherTransport,
        SetAside::HeaderCut,
        SetAside::Malformed,
    ];

    /// A stable name, as in JSON output.
    pub const fn name(self) -> &'static str {
        match self {
            SetAside::UnsupportedLink => "unsupported-link-type",
            SetAside::NotIp => "not-ip",
            SetAside::Mpls => "mpls",
            SetAside::Tunnel => "tunnel",
            SetAside::Fragment => "ip-fragment",
            SetAside::UdpFragment => "udp-fragment",
            SetAside::FragmentConflict => "fragment-conflict",
            SetAside::Udp => "udp",
            SetAside::Icmp => "icmp",
            SetAside::OtherTransport => "other-transport",
            SetAside::HeaderCut => "header-cut",
            SetAside::Malformed => "malformed",
        }
    }

    /// What the reason means, in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            SetAside::UnsupportedLink => "the capture's link type is not one Flowloom reads",
            SetAside::NotIp => "the packet is neither IPv4 nor IPv6",
            SetAside::Mpls => "below its MPLS labels is neither IP nor an Ethernet frame",
            SetAside::Tunnel => "the packet is encrypted or compressed, or in a tunnel of an unknown kind",
            SetAside::Fragment => "it is a fragment: its packet counts once, with the fragment that completes it",
            SetAside::UdpFragment => "it is a fragment of a UDP datagram",
            SetAside::FragmentConflict => "it is a fragment that contradicts others of the same packet",
            SetAside::Udp => "it is UDP, not TCP",
            SetAside::Icmp => "it is ICMP, not TCP",
            SetAside::OtherTransport => "it is IP, but neither TCP, UDP nor ICMP",
            SetAside::HeaderCut => "the capture cut the packet before the end of its headers",
            SetAside::Malformed => "a header contradicts itself",
        }
    }
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// How many packets were set aside, and their bytes on the wire, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SetAsideCounts {
    packets: [u64; SetAside::ALL.len()],
    bytes: [u64; SetAside::ALL.len()],
}

impl SetAsideCounts {
    /// Counts one more packet of `wire_length` bytes, as the capture states them.
    pub fn count(&mut self, reason: SetAside, wire_length: u32) {
        self.packets[reason as usize] += 1;
        self.bytes[reason as usize] += u64::from(wire_length);
    }

    /// How many packets were set aside for `reason`.
    pub fn get(&self, reason: SetAside) -> u64 {
        self.packets[reason as usize]
    }

    /// The bytes on the wire of packets set aside for `reason`.
    pub fn bytes(&self, reason: SetAside) -> u64 {
        self.bytes[reason as usize]
    }

    /// How many packets were set aside.
    pub fn total(&self) -> u64 {
        self.packets.iter().sum()
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &SetAsideCounts) {
        for reason in SetAside::ALL {
            self.packets[reason as usize] += other.get(reason);
            self.bytes[reason as usize] += other.bytes(reason);
        }
    }

    /// Every reason with its packets, zero included, in the order of [`SetAside::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (SetAside, u64)> + '_ {
        SetAside::ALL.into_iter().zip(self.packets)
    }
}
