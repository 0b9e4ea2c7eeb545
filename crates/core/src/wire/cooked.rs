//! Linux cooked captures (tcpdump.org, LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2): what `-i any` records.

use super::{Segment, SetAside, ethernet};
use crate::workload::LinkSide;

/// Version 1: packet type, hardware type, address length, address (8), protocol.
#[inline(always)]
pub(super) fn v1(bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    let Some((header, rest)) = bytes.split_first_chunk::<16>() else { return Err(SetAside::HeaderCut) };
    let packet_type = u16::from_be_bytes([header[0], header[1]]);
    let protocol = u16::from_be_bytes([header[14], header[15]]);
    let mut segment = ethernet::network(protocol, rest, wire_length.saturating_sub(16))?;
    segment.from = side(packet_type);
    Ok(segment)
}

/// Version 2: protocol, reserved, interface index, hardware type, packet type, address length, address (8).
#[inline(always)]
pub(super) fn v2(bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    let Some((header, rest)) = bytes.split_first_chunk::<20>() else { return Err(SetAside::HeaderCut) };
    let protocol = u16::from_be_bytes([header[0], header[1]]);
    let mut segment = ethernet::network(protocol, rest, wire_length.saturating_sub(20))?;
    segment.from = side(u16::from(header[10]));
    Ok(segment)
}

/// What the host sent is from inside, what was sent to it from outside; traffic between others says nothing.
fn side(packet_type: u16) -> Option<LinkSide> {
    match packet_type {
        0..=2 => Some(LinkSide::Right),
        4 => Some(LinkSide::Left),
        _ => None,
    }
}
