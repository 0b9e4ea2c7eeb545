//! Linux cooked captures (tcpdump.org, LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2): what `-i any` records.

use super::layer::{Layer, Rest, Trail};
use super::set_aside::SetAside;
use crate::workload::LinkSide;

/// Version 1: packet type, hardware type, address length, address (8), protocol.
pub(super) fn v1(rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    let header = rest.take::<16>()?;
    trail.from = side(u16::from_be_bytes([header[0], header[1]]));
    Ok(Layer::EtherType(u16::from_be_bytes([header[14], header[15]])))
}

/// Version 2: protocol, reserved, interface index, hardware type, packet type, address length, address (8).
pub(super) fn v2(rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    let header = rest.take::<20>()?;
    trail.from = side(u16::from(header[10]));
    Ok(Layer::EtherType(u16::from_be_bytes([header[0], header[1]])))
}

/// What the host sent is from inside, what was sent to it from outside; traffic between others says nothing.
fn side(packet_type: u16) -> Option<LinkSide> {
    match packet_type {
        0..=2 => Some(LinkSide::Right),
        4 => Some(LinkSide::Left),
        _ => None,
    }
}
