//! IPv4 and IPv6 headers.
//!
//! Lengths come from the IP header, never from the capture (methods A.1.6): padding does not count, a cut packet
//! counts in full, and a record whose wire length is a lie is not believed. Only a length of 0, which segmentation
//! offload leaves behind, gives way to the record's wire length.

use super::layer::Rest;
use super::set_aside::SetAside;

/// IP protocol numbers (IANA).
pub(super) mod protocol {
    pub const HOP_BY_HOP: u8 = 0;
    pub const ICMP: u8 = 1;
    pub const IPV4: u8 = 4;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const GRE: u8 = 47;
    /// Encapsulating security payload.
    pub const ENCRYPTED: u8 = 50;
    pub const AUTHENTICATION: u8 = 51;
    pub const ICMPV6: u8 = 58;
    pub const DESTINATION: u8 = 60;
    /// EtherIP (RFC 3378).
    pub const ETHERNET: u8 = 97;
    /// RFC 4023.
    pub const MPLS: u8 = 137;
    /// Mobility, Host Identity and Shim6: extension headers of the common form (RFC 7045).
    const OTHER_EXTENSIONS: [u8; 3] = [135, 139, 140];

    /// Whether packets of this protocol are looked into.
    pub fn is_read(number: u8) -> bool {
        matches!(number, TCP | UDP | IPV4 | IPV6 | GRE | ETHERNET | MPLS)
    }

    /// Whether an IPv6 extension header has this number.
    pub fn is_extension(number: u8) -> bool {
        matches!(number, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION)
            || OTHER_EXTENSIONS.contains(&number)
    }
}

/// More fragments follow, and the offset, in the IPv4 field that holds both.
pub(super) const FRAGMENT_BITS: u16 = 0x3fff;

/// No segmentation offload makes packets this large (Linux stops at 512 KiB): a record that claims more is not believed.
const LARGEST_OFFLOAD: u32 = 32 << 20;

/// More extension headers than any packet needs; a longer chain is a crafted packet.
const MOST_EXTENSIONS: usize = 16;

/// What an IP header, extension headers included, says of what follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Source and destination.
    pub addresses: [u128; 2],
    /// The whole packet, header included.
    pub total_length: u32,
    /// The identification of an IPv4 packet.
    pub identification: u16,
    /// What follows.
    pub protocol: u8,
    /// Which part of a fragmented packet this is, if it is one.
    pub part: Option<Part>,
}

/// A fragment's place in its packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The same in all fragments of a packet.
    pub identification: u32,
    /// The protocol where it tells packets apart: in IPv4.
    pub key: Option<u8>,
    /// Position in the packet of what follows, in bytes.
    pub offset: u32,
    /// How many bytes of the packet follow.
    pub length: u32,
    /// Others come behind these.
    pub more: bool,
}

/// Steps behind an IP header of either version.
pub(super) fn open(rest: &mut Rest<'_>) -> Result<Header, SetAside> {
    match rest.bytes.first() {
        Some(first) if first >> 4 == 4 => v4(rest),
        Some(first) if first >> 4 == 6 => v6(rest),
        Some(_) => Err(SetAside::NotIp),
        None => Err(SetAside::HeaderCut),
    }
}

/// Steps behind an IPv4 header (RFC 791).
pub(super) fn v4(rest: &mut Rest<'_>) -> Result<Header, SetAside> {
    let Some(header) = rest.bytes.first_chunk::<20>() else { return Err(SetAside::HeaderCut) };
    let header_length = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || header_length < 20 {
        return Err(SetAside::Malformed);
    }
    let total_length = match u16::from_be_bytes([header[2], header[3]]) {
        0 => offloaded(rest)?,
        length => u32::from(length),
    };
    let Some(length) = total_length.checked_sub(header_length as u32) else { return Err(SetAside::Malformed) };
    let mut found = Header {
        addresses: v4_addresses(header),
        total_length,
        identification: u16::from_be_bytes([header[4], header[5]]),
        protocol: header[9],
        part: None,
    };
    let fragment = u16::from_be_bytes([header[6], header[7]]) & FRAGMENT_BITS;
    if fragment != 0 {
        let identification = u32::from(found.identification);
        let (offset, more) = (u32::from(fragment & 0x1fff) * 8, fragment & 0x2000 != 0);
        found.part = Some(Part { identification, key: Some(found.protocol), offset, length, more });
    }
    let bytes = match rest.bytes.get(header_length..) {
        Some(bytes) => bytes,
        // Of a later fragment nothing more is needed.
        None if found.part.is_some_and(|part| part.offset > 0) => &[],
        None => return Err(SetAside::HeaderCut),
    };
    *rest = Rest { bytes, length, stated: true };
    if found.protocol == protocol::AUTHENTICATION && found.part.is_none_or(|part| part.offset == 0) {
        extensions(&mut found, rest)?;
    }
    Ok(found)
}

/// Steps behind an IPv6 header (RFC 8200) and its extension headers.
pub(super) fn v6(rest: &mut Rest<'_>) -> Result<Header, SetAside> {
    let Some((header, bytes)) = rest.bytes.split_first_chunk::<40>() else { return Err(SetAside::HeaderCut) };
    if header[0] >> 4 != 6 {
        return Err(SetAside::Malformed);
    }
    // A length of 0 is segmentation offload or a jumbogram (RFC 2675).
    let length = match u16::from_be_bytes([header[4], header[5]]) {
        0 => offloaded(rest)?.saturating_sub(40),
        length => u32::from(length),
    };
    let mut found = Header {
        addresses: v6_addresses(header),
        total_length: length.saturating_add(40),
        identification: 0,
        protocol: header[6],
        part: None,
    };
    *rest = Rest { bytes, length, stated: true };
    if found.protocol != protocol::TCP && found.protocol != protocol::UDP {
        extensions(&mut found, rest)?;
    }
    Ok(found)
}

/// The length of a packet whose header gives none: what is left of the record's.
fn offloaded(rest: &Rest<'_>) -> Result<u32, SetAside> {
    if rest.length > LARGEST_OFFLOAD { Err(SetAside::Malformed) } else { Ok(rest.length) }
}

/// Walks extension headers.
fn extensions(found: &mut Header, rest: &mut Rest<'_>) -> Result<(), SetAside> {
    for _ in 0..=MOST_EXTENSIONS {
        if !protocol::is_extension(found.protocol) {
            return Ok(());
        }
        let Some(header) = rest.bytes.first_chunk::<8>() else { return Err(SetAside::HeaderCut) };
        let header_length = match found.protocol {
            protocol::FRAGMENT => 8,
            protocol::AUTHENTICATION => (usize::from(header[1]) + 2) * 4,
            _ => (usize::from(header[1]) + 1) * 8,
        };
        if (rest.length as usize) < header_length {
            return Err(SetAside::Malformed);
        }
        let is_fragment = found.protocol == protocol::FRAGMENT;
        found.protocol = header[0];
        let place = u16::from_be_bytes([header[2], header[3]]);
        rest.skip(header_length)?;
        // An atomic fragment (RFC 6946), of offset 0 and without others, is a packet like any other.
        if is_fragment && place & 0xfff9 != 0 {
            let identification = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            let (offset, more) = (u32::from(place & 0xfff8), place & 1 != 0);
            found.part = Some(Part { identification, key: None, offset, length: rest.length, more });
            if offset > 0 {
                return Ok(());
            }
        }
    }
    Err(SetAside::Malformed)
}

/// Source and destination of an IPv4 header in their IPv6-mapped form, `::ffff:a.b.c.d`.
#[inline(always)]
pub(super) fn v4_addresses(header: &[u8; 20]) -> [u128; 2] {
    let source = u32::from_be_bytes([header[12], header[13], header[14], header[15]]);
    let destination = u32::from_be_bytes([header[16], header[17], header[18], header[19]]);
    [0xffff_0000_0000 | u128::from(source), 0xffff_0000_0000 | u128::from(destination)]
}

/// Source and destination of an IPv6 header.
#[inline(always)]
pub(super) fn v6_addresses(header: &[u8; 40]) -> [u128; 2] {
    let (mut source, mut destination) = ([0; 16], [0; 16]);
    source.copy_from_slice(&header[8..24]);
    destination.copy_from_slice(&header[24..40]);
    [u128::from_be_bytes(source), u128::from_be_bytes(destination)]
}
