//! BSD loopback captures: a 4-byte address family before the IP header.

use super::layer::{Layer, Rest};
use super::set_aside::SetAside;

/// Steps behind the family, whose byte order is that of the capturing host (or network order for `Loop`): a family is
/// below 65,536, so that the order shows. AF_INET6 is that of Linux, Windows, NetBSD and OpenBSD, FreeBSD, Darwin.
pub(super) fn open(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    let family = rest.take::<4>()?;
    match u32::from_be_bytes(*family).min(u32::from_le_bytes(*family)) {
        2 => Ok(Layer::Ipv4),
        10 | 23 | 24 | 28 | 30 => Ok(Layer::Ipv6),
        _ => Err(SetAside::NotIp),
    }
}
