//! Ethernet frames, their VLAN tags, and what an EtherType leads to.

use super::layer::{Layer, Rest, Trail};
use super::{SetAside, Vlan};

/// EtherTypes (IEEE 802 numbers) this parser knows.
pub(super) mod ether_type {
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

/// LLC/SNAP header (RFC 1042) before the EtherType: DSAP, SSAP, control, OUI 0.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// The addresses and the type of a frame that begins with the destination address.
#[inline(always)]
pub(super) fn header(header: &[u8; 14]) -> ([[u8; 6]; 2], u16) {
    let [mut destination, mut source] = [[0; 6]; 2];
    destination.copy_from_slice(&header[..6]);
    source.copy_from_slice(&header[6..12]);
    ([source, destination], u16::from_be_bytes([header[12], header[13]]))
}

/// Steps behind a frame's header.
pub(super) fn open(rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    let (macs, ether_type) = header(rest.take::<14>()?);
    trail.macs = trail.macs.or(Some(macs));
    Ok(Layer::EtherType(ether_type))
}

/// What an EtherType announces.
pub(super) fn follow(ether_type: u16, rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    match ether_type {
        ether_type::IPV4 => Ok(Layer::Ipv4),
        ether_type::IPV6 => Ok(Layer::Ipv6),
        tag if ether_type::VLAN.contains(&tag) => {
            let [tag_high, tag_low, type_high, type_low] = *rest.take::<4>()?;
            trail.vlan = Vlan::inside(trail.vlan, u16::from_be_bytes([tag_high, tag_low]) & 0xfff);
            Ok(Layer::EtherType(u16::from_be_bytes([type_high, type_low])))
        }
        length if length < ether_type::LEAST => {
            let [snap @ .., high, low] = rest.take::<8>().map_err(|_| SetAside::NotIp)?;
            if *snap != SNAP {
                return Err(SetAside::NotIp);
            }
            Ok(Layer::EtherType(u16::from_be_bytes([*high, *low])))
        }
        mpls if ether_type::MPLS.contains(&mpls) => Err(SetAside::Mpls),
        pppoe if ether_type::PPPOE.contains(&pppoe) => Err(SetAside::Pppoe),
        ether_type::BACKBONE => Err(SetAside::Tunnel),
        _ => Err(SetAside::NotIp),
    }
}
