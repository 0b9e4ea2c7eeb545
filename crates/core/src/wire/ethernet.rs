//! Ethernet frames, their VLAN tags, and what an EtherType leads to.

use super::{Segment, SetAside, ip};

/// EtherTypes (IEEE 802 numbers) this parser knows.
mod ether_type {
    pub const IPV4: u16 = 0x0800;
    pub const IPV6: u16 = 0x86dd;
    /// 802.1Q, 802.1ad, and the number older equipment used for outer tags.
    pub const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
    pub const MPLS: [u16; 2] = [0x8847, 0x8848];
    /// Discovery and session stage.
    pub const PPPOE: [u16; 2] = [0x8863, 0x8864];
    /// 802.1ah, provider backbone bridging.
    pub const BACKBONE: u16 = 0x88e7;
    /// Below this the field is a length (802.3) and an LLC header follows.
    pub const LEAST: u16 = 0x0600;
}

/// More tags than any network stacks; a longer chain is a crafted packet.
const MOST_TAGS: usize = 8;

/// LLC/SNAP header (RFC 1042) before the EtherType: DSAP, SSAP, control, OUI 0.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// Parses a frame that begins with the destination address.
#[inline(always)]
pub(super) fn parse(bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    let Some((header, rest)) = bytes.split_first_chunk::<14>() else { return Err(SetAside::HeaderCut) };
    let ether_type = u16::from_be_bytes([header[12], header[13]]);
    let mut segment = network(ether_type, rest, wire_length.saturating_sub(14))?;
    let [mut destination, mut source] = [[0; 6]; 2];
    destination.copy_from_slice(&header[..6]);
    source.copy_from_slice(&header[6..12]);
    segment.macs = Some([source, destination]);
    Ok(segment)
}

/// Parses what follows an EtherType field; `wire_length` counts from there too.
#[inline(always)]
pub(super) fn network(ether_type: u16, bytes: &[u8], wire_length: u32) -> Result<Segment, SetAside> {
    match ether_type {
        ether_type::IPV4 => ip::v4(bytes, wire_length),
        ether_type::IPV6 => ip::v6(bytes, wire_length),
        other => tagged(other, bytes, wire_length),
    }
}

/// The uncommon EtherTypes: VLAN tags, LLC/SNAP, and all that is set aside.
#[inline(never)]
fn tagged(mut ether_type: u16, mut bytes: &[u8], mut wire_length: u32) -> Result<Segment, SetAside> {
    for _ in 0..=MOST_TAGS {
        let taken = match ether_type {
            ether_type::IPV4 => return ip::v4(bytes, wire_length),
            ether_type::IPV6 => return ip::v6(bytes, wire_length),
            tag if ether_type::VLAN.contains(&tag) => {
                let Some(([_, _, high, low], rest)) = bytes.split_first_chunk() else {
                    return Err(SetAside::HeaderCut);
                };
                ether_type = u16::from_be_bytes([*high, *low]);
                bytes = rest;
                4
            }
            length if length < ether_type::LEAST => {
                let Some(([snap @ .., high, low], rest)) = bytes.split_first_chunk::<8>() else {
                    return Err(SetAside::NotIp);
                };
                if *snap != SNAP {
                    return Err(SetAside::NotIp);
                }
                ether_type = u16::from_be_bytes([*high, *low]);
                bytes = rest;
                8
            }
            mpls if ether_type::MPLS.contains(&mpls) => return Err(SetAside::Mpls),
            pppoe if ether_type::PPPOE.contains(&pppoe) => return Err(SetAside::Pppoe),
            ether_type::BACKBONE => return Err(SetAside::Tunnel),
            _ => return Err(SetAside::NotIp),
        };
        wire_length = wire_length.saturating_sub(taken);
    }
    Err(SetAside::Malformed)
}
