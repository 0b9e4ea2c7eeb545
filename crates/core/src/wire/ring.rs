//! FDDI and Token Ring: addresses, then an LLC header.

use super::layer::{Layer, Rest, Trail};
use super::set_aside::SetAside;

/// Steps behind an FDDI header: frame control, destination, source.
pub(super) fn fddi(rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    let [control] = *rest.take::<1>()?;
    // Asynchronous and synchronous LLC frames; others manage the ring.
    if control & 0x30 != 0x10 {
        return Err(SetAside::NotIp);
    }
    addresses(rest, trail)?;
    Ok(Layer::Llc)
}

/// Steps behind a Token Ring header: access control, frame control, destination, source, and a route if the first bit
/// of the source says so.
pub(super) fn token(rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    let [_, control] = *rest.take::<2>()?;
    if control >> 6 != 1 {
        return Err(SetAside::NotIp);
    }
    if addresses(rest, trail)? {
        let length = rest.bytes.first().map(|first| usize::from(first & 0x1f));
        rest.skip(length.ok_or(SetAside::HeaderCut)?)?;
    }
    Ok(Layer::Llc)
}

/// Steps behind the addresses; whether the first bit of the source is set.
fn addresses(rest: &mut Rest<'_>, trail: &mut Trail) -> Result<bool, SetAside> {
    let (addresses, _) = rest.take::<12>()?.as_chunks::<6>();
    trail.macs = Some([addresses[0], addresses[1]]);
    Ok(addresses[1][0] & 0x80 != 0)
}
