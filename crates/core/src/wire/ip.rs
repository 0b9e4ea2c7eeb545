//! IPv4 and IPv6 headers.
//!
//! Lengths come from the IP header, never from the capture (methods A.1.6): padding does not count, a cut packet
//! counts in full, and a record whose wire length is a lie is not believed. Only a length of 0, which segmentation
//! offload leaves behind, gives way to the record's wire length.

use super::{Segment, SetAside, tcp};

/// IP protocol numbers (IANA).
mod protocol {
    pub const HOP_BY_HOP: u8 = 0;
    pub const ICMP: u8 = 1;
    pub const IPV4: u8 = 4;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const GRE: u8 = 47;
    pub const AUTHENTICATION: u8 = 51;
    pub const ICMPV6: u8 = 58;
    pub const DESTINATION: u8 = 60;
    /// Mobility, Host Identity and Shim6: extension headers of the common form (RFC 7045).
    pub const OTHER_EXTENSIONS: [u8; 3] = [135, 139, 140];
}

/// More extension headers than any packet needs; a longer chain is a crafted packet.
const MOST_EXTENSIONS: usize = 16;

/// The two addresses of a packet, source first.
pub(super) type Addresses = [u128; 2];

/// Parses a packet by its version field.
#[inline(always)]
pub(super) fn any(bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    match bytes.first() {
        Some(first) if first >> 4 == 4 => v4(bytes, wire_length),
        Some(first) if first >> 4 == 6 => v6(bytes, wire_length),
        Some(_) => Err(SetAside::NotIp),
        None => Err(SetAside::HeaderCut),
    }
}

/// Parses an IPv4 packet (RFC 791).
#[inline(always)]
pub(super) fn v4(bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    let Some(header) = bytes.first_chunk::<20>() else { return Err(SetAside::HeaderCut) };
    let header_length = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || header_length < 20 {
        return Err(SetAside::Malformed);
    }
    let total_length = match u16::from_be_bytes([header[2], header[3]]) {
        0 => wire_length.max(clamp(bytes.len())),
        length => u32::from(length),
    };
    let Some(length) = total_length.checked_sub(header_length as u32) else { return Err(SetAside::Malformed) };
    let addresses = [
        mapped([header[12], header[13], header[14], header[15]]),
        mapped([header[16], header[17], header[18], header[19]]),
    ];
    if header[9] != protocol::TCP && header[9] != protocol::AUTHENTICATION {
        return Err(not_tcp(header[9]));
    }
    if u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 0 {
        return Err(SetAside::Fragment);
    }
    let Some(payload) = bytes.get(header_length..) else { return Err(SetAside::HeaderCut) };
    if header[9] == protocol::TCP {
        return tcp::parse(payload, length, total_length, addresses);
    }
    extensions(header[9], payload, length, total_length, addresses)
}

/// Parses an IPv6 packet (RFC 8200).
#[inline(always)]
pub(super) fn v6(bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    let Some((header, payload)) = bytes.split_first_chunk::<40>() else { return Err(SetAside::HeaderCut) };
    if header[0] >> 4 != 6 {
        return Err(SetAside::Malformed);
    }
    // A length of 0 is segmentation offload or a jumbogram (RFC 2675).
    let length = match u16::from_be_bytes([header[4], header[5]]) {
        0 => wire_length.max(clamp(bytes.len())).saturating_sub(40),
        length => u32::from(length),
    };
    let (mut source, mut destination) = ([0; 16], [0; 16]);
    source.copy_from_slice(&header[8..24]);
    destination.copy_from_slice(&header[24..40]);
    let addresses = [u128::from_be_bytes(source), u128::from_be_bytes(destination)];
    let total_length = length.saturating_add(40);
    if header[6] == protocol::TCP {
        return tcp::parse(payload, length, total_length, addresses);
    }
    extensions(header[6], payload, length, total_length, addresses)
}

/// Walks extension headers to TCP. `length` is what the IP header says is left, `bytes` what was captured of it.
#[inline(never)]
fn extensions(
    mut next: u8,
    mut bytes: &[u8],
    mut length: u32,
    total_length: u32,
    addresses: Addresses,
) -> Result<Segment, SetAside> {
    for _ in 0..=MOST_EXTENSIONS {
        let extension = match next {
            protocol::TCP => return tcp::parse(bytes, length, total_length, addresses),
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION
            | protocol::FRAGMENT
            | protocol::AUTHENTICATION => next,
            other if protocol::OTHER_EXTENSIONS.contains(&other) => next,
            other => return Err(not_tcp(other)),
        };
        let Some(header) = bytes.first_chunk::<4>() else { return Err(SetAside::HeaderCut) };
        next = header[0];
        let header_length = match extension {
            protocol::FRAGMENT => {
                // An atomic fragment (RFC 6946) or the first has offset 0 and holds the headers.
                if u16::from_be_bytes([header[2], header[3]]) & 0xfff8 != 0 {
                    return Err(match not_tcp(next) {
                        SetAside::OtherTransport => SetAside::Fragment,
                        known => known,
                    });
                }
                8
            }
            protocol::AUTHENTICATION => (usize::from(header[1]) + 2) * 4,
            _ => (usize::from(header[1]) + 1) * 8,
        };
        let Some(left) = length.checked_sub(header_length as u32) else { return Err(SetAside::Malformed) };
        let Some(rest) = bytes.get(header_length..) else { return Err(SetAside::HeaderCut) };
        (bytes, length) = (rest, left);
    }
    Err(SetAside::Malformed)
}

/// What a protocol number that does not lead to TCP is counted as.
fn not_tcp(protocol: u8) -> SetAside {
    match protocol {
        protocol::UDP => SetAside::Udp,
        protocol::ICMP | protocol::ICMPV6 => SetAside::Icmp,
        protocol::IPV4 | protocol::IPV6 | protocol::GRE => SetAside::Tunnel,
        _ => SetAside::OtherTransport,
    }
}

/// An IPv4 address in its IPv6-mapped form, `::ffff:a.b.c.d`.
#[inline(always)]
fn mapped(address: [u8; 4]) -> u128 {
    0xffff_0000_0000 | u128::from(u32::from_be_bytes(address))
}

/// A captured length as a wire length.
#[inline(always)]
fn clamp(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
