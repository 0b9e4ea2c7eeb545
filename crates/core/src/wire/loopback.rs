//! BSD loopback captures: a 4-byte address family before the IP header.

use super::{Segment, SetAside, ip};

/// Parses behind the family, whose byte order is that of the capturing host (or network order for `Loop`): a
/// family is below 65,536, so that the order shows.
#[inline(always)]
pub(super) fn parse(bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    let Some((family, rest)) = bytes.split_first_chunk::<4>() else { return Err(SetAside::HeaderCut) };
    let wire_length = wire_length.saturating_sub(4);
    match u32::from_be_bytes(*family).min(u32::from_le_bytes(*family)) {
        2 => ip::v4(rest, wire_length),
        // AF_INET6 of Linux, Windows, NetBSD and OpenBSD, FreeBSD, Darwin.
        10 | 23 | 24 | 28 | 30 => ip::v6(rest, wire_length),
        _ => Err(SetAside::NotIp),
    }
}
