//! Ethernet frames, their tags, and what an EtherType leads to.

use super::layer::{Layer, Rest, Trail};
use super::packet::Vlan;
use super::set_aside::SetAside;

/// EtherTypes (IEEE 802 numbers) this parser knows.
pub(super) mod ether_type {
    pub const IPV4: u16 = 0x0800;
    pub const IPV6: u16 = 0x86dd;
    pub const ARP: u16 = 0x0806;
    /// 802.1Q, 802.1ad, and the numbers older equipment used for outer tags.
    pub const VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
    pub const MPLS: [u16; 2] = [0x8847, 0x8848];
    pub const PPPOE_DISCOVERY: u16 = 0x8863;
    pub const PPPOE_SESSION: u16 = 0x8864;
    /// 802.1ah, provider backbone bridging.
    pub const BACKBONE: u16 = 0x88e7;
    /// 802.1AE.
    pub const MACSEC: u16 = 0x88e5;
    /// Cisco's metadata, which carries security group tags.
    pub const METADATA: u16 = 0x8909;
    /// Transparent Ethernet bridging: a frame.
    pub const BRIDGED: u16 = 0x6558;
    /// Below this the field is a length (802.3) and an LLC header follows.
    pub const LEAST: u16 = 0x0600;

    /// Whether a number is one of these.
    pub fn is_known(number: u16) -> bool {
        let single = [IPV4, IPV6, ARP, PPPOE_DISCOVERY, PPPOE_SESSION, BACKBONE, MACSEC, METADATA, BRIDGED];
        single.contains(&number) || VLAN.contains(&number) || MPLS.contains(&number)
    }
}

/// LLC/SNAP header (RFC 1042) before the EtherType: DSAP, SSAP, control, OUI 0.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// The addresses and the type of a frame that begins with the destination address.
///
/// The addresses keep the order they have on the wire, so that they are copied in one piece.
#[inline(always)]
pub(super) fn header(header: &[u8; 14]) -> (&[[u8; 6]; 2], u16) {
    let (addresses, _) = header.as_chunks::<6>();
    let addresses = addresses.first_chunk().expect("14 bytes hold two addresses");
    (addresses, u16::from_be_bytes([header[12], header[13]]))
}

/// Whether an Ethernet frame may begin here: its type is known, and followed by what it announces.
pub(super) fn is_frame(bytes: &[u8]) -> bool {
    let Some((frame, behind)) = bytes.split_first_chunk::<14>() else { return false };
    let (_, ether_type) = header(frame);
    let version = |number| behind.first().is_none_or(|first| first >> 4 == number);
    match ether_type {
        ether_type::IPV4 => version(4),
        ether_type::IPV6 => version(6),
        other => ether_type::is_known(other),
    }
}

/// Steps behind a frame's header. The first frame's addresses are those of this link.
pub(super) fn open(rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    let (macs, ether_type) = header(rest.take::<14>()?);
    if !trail.inside {
        trail.macs = Some(*macs);
    }
    Ok(Layer::EtherType(ether_type))
}

/// What an EtherType announces.
pub(super) fn follow(ether_type: u16, rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    match ether_type {
        ether_type::IPV4 => Ok(Layer::Ipv4),
        ether_type::IPV6 => Ok(Layer::Ipv6),
        tag if ether_type::VLAN.contains(&tag) => {
            let [tag_high, tag_low, type_high, type_low] = *rest.take::<4>()?;
            if !trail.inside {
                trail.vlan = Vlan::inside(trail.vlan, u16::from_be_bytes([tag_high, tag_low]) & 0xfff);
            }
            Ok(Layer::EtherType(u16::from_be_bytes([type_high, type_low])))
        }
        length if length < ether_type::LEAST => Ok(Layer::Llc),
        mpls if ether_type::MPLS.contains(&mpls) => Ok(Layer::Mpls),
        ether_type::PPPOE_SESSION => Ok(Layer::PppOverEthernet),
        // Flags and service identifier, then the customer's frame.
        ether_type::BACKBONE => {
            trail.inside = true;
            rest.skip(4)?;
            Ok(Layer::Ethernet)
        }
        ether_type::BRIDGED => {
            trail.inside = true;
            Ok(Layer::Ethernet)
        }
        ether_type::METADATA => {
            let [_version, words] = *rest.take::<2>()?;
            rest.skip(usize::from(words) * 4)?;
            Ok(Layer::EtherType(u16::from_be_bytes(*rest.take::<2>()?)))
        }
        ether_type::MACSEC => Err(SetAside::Tunnel),
        _ => Err(SetAside::NotIp),
    }
}

/// Steps behind an LLC header, if it is one that an EtherType follows.
pub(super) fn llc(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    let [snap @ .., high, low] = rest.take::<8>().map_err(|_| SetAside::NotIp)?;
    if *snap == SNAP { Ok(Layer::EtherType(u16::from_be_bytes([*high, *low]))) } else { Err(SetAside::NotIp) }
}
