//! The common packet, decoded without going from header to header.
//!
//! Nearly all packets of nearly all captures are TCP segments without SYN in plain IPv4 or IPv6, on Ethernet or without
//! a link header. All their fields stand at fixed places, so that two comparisons of lengths cover every read. What
//! this leaves out, or finds anything wrong with, takes the general way; a property test holds the two to the same answer.

use super::ethernet::ether_type;
use super::ip::{self, protocol};
use super::link::LinkType;
use super::packet::{Flags, Segment};
use super::{ethernet, tcp};

/// The segment, if the packet is a common one.
#[inline(always)]
pub(super) fn segment(link: LinkType, bytes: &[u8]) -> Option<Segment> {
    match link {
        LinkType::Ethernet => {
            let (header, packet) = bytes.split_first_chunk::<14>()?;
            let (macs, ether_type) = ethernet::header(header);
            let segment = match ether_type {
                ether_type::IPV4 => v4(packet)?,
                ether_type::IPV6 => v6(packet)?,
                _ => return None,
            };
            Some(Segment { macs: Some(*macs), ..segment })
        }
        LinkType::RawIp => v4(bytes).or_else(|| v6(bytes)),
        _ => None,
    }
}

/// IPv4 without options, not a fragment, of a stated length.
#[inline(always)]
fn v4(packet: &[u8]) -> Option<Segment> {
    let (header, bytes) = packet.split_first_chunk::<20>()?;
    let fragment = u16::from_be_bytes([header[6], header[7]]) & ip::FRAGMENT_BITS;
    if header[0] != 0x45 || header[9] != protocol::TCP || fragment != 0 {
        return None;
    }
    let total_length = u32::from(u16::from_be_bytes([header[2], header[3]]));
    let identification = u16::from_be_bytes([header[4], header[5]]);
    transport(bytes, total_length.checked_sub(20)?, total_length, identification, ip::v4_addresses(header))
}

/// IPv6 without extension headers, of a stated length.
#[inline(always)]
fn v6(packet: &[u8]) -> Option<Segment> {
    let (header, bytes) = packet.split_first_chunk::<40>()?;
    if header[0] >> 4 != 6 || header[6] != protocol::TCP {
        return None;
    }
    let length = u32::from(u16::from_be_bytes([header[4], header[5]]));
    transport(bytes, length, length + 40, 0, ip::v6_addresses(header))
}

/// TCP without SYN and with no options but timestamps. A length of 0, which says nothing, is below that of the header.
#[inline(always)]
fn transport(
    bytes: &[u8],
    length: u32,
    total_length: u32,
    identification: u16,
    addresses: [u128; 2],
) -> Option<Segment> {
    let header = bytes.first_chunk::<16>()?;
    let header_length = u32::from(header[12] >> 4) * 4;
    if header_length < 20 || header_length > length || Flags(header[13]).syn() {
        return None;
    }
    let segment = tcp::segment(header, addresses, identification, length - header_length, total_length);
    if header_length == 20 {
        return Some(segment);
    }
    // Selective acknowledgements and the like beside them take the general way.
    let options = bytes.get(20..header_length as usize)?;
    let timestamps = tcp::common_timestamps(options.try_into().ok()?)?;
    Some(Segment { timestamps: Some(timestamps), ..segment })
}
