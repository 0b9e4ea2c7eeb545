//! Tunnels in UDP: VXLAN (RFC 7348), its generic extension, Geneve (RFC 8926) and GTP-U (3GPP TS 29.281).
//!
//! A port alone says nothing, since any application may use it: the tunnel's header must be right, and what is inside
//! must begin with a header that is.

use super::ethernet::{self, ether_type};
use super::layer::{Layer, Rest};

/// Destination ports (IANA; 8472 is Linux's for VXLAN).
mod port {
    pub const VXLAN: [u16; 2] = [4789, 8472];
    pub const VXLAN_GPE: u16 = 4790;
    pub const GENEVE: u16 = 6081;
    pub const GTP_USER: u16 = 2152;
}

/// What a datagram to this port carries if it is a tunnel's, `rest` going to its payload.
pub(super) fn over_udp<'a>(port: u16, rest: Rest<'a>) -> Option<(Layer, Rest<'a>)> {
    let mut rest = rest;
    let layer = match port {
        port if port::VXLAN.contains(&port) => vxlan(&mut rest),
        port::VXLAN_GPE => vxlan_gpe(&mut rest),
        port::GENEVE => geneve(&mut rest),
        port::GTP_USER => gtp_user(&mut rest),
        _ => None,
    }?;
    let begins_well = match layer {
        Layer::Ethernet => ethernet::is_frame(rest.bytes),
        Layer::Ipv4 => rest.bytes.first().is_some_and(|first| first >> 4 == 4),
        Layer::Ipv6 => rest.bytes.first().is_some_and(|first| first >> 4 == 6),
        _ => true,
    };
    begins_well.then_some((layer, rest))
}

/// Flags, 24 reserved bits (a group policy where its flag is set), network, 8 reserved bits.
fn vxlan(rest: &mut Rest<'_>) -> Option<Layer> {
    const NETWORK: u8 = 0x08;
    const GROUP_POLICY: u8 = 0x80;
    let header = rest.take::<8>().ok()?;
    (header[0] & !GROUP_POLICY == NETWORK && header[7] == 0).then_some(Layer::Ethernet)
}

/// The same with a version, of which there is one, and a next protocol (draft-ietf-nvo3-vxlan-gpe).
fn vxlan_gpe(rest: &mut Rest<'_>) -> Option<Layer> {
    const VERSION: u8 = 0x30;
    const NEXT_PROTOCOL: u8 = 0x04;
    let header = rest.take::<8>().ok()?;
    if header[0] & VERSION != 0 {
        return None;
    }
    match (header[0] & NEXT_PROTOCOL != 0, header[3]) {
        (true, 1) => Some(Layer::Ipv4),
        (true, 2) => Some(Layer::Ipv6),
        (true, 3) | (false, 0) => Some(Layer::Ethernet),
        (true, 5) => Some(Layer::Mpls),
        _ => None,
    }
}

/// Version, length of options in words, flags, protocol, network, 8 reserved bits, options.
fn geneve(rest: &mut Rest<'_>) -> Option<Layer> {
    let header = rest.take::<8>().ok()?;
    if header[0] >> 6 != 0 || header[7] != 0 {
        return None;
    }
    rest.skip(usize::from(header[0] & 0x3f) * 4).ok()?;
    match u16::from_be_bytes([header[2], header[3]]) {
        ether_type::BRIDGED => Some(Layer::Ethernet),
        ether_type::IPV4 => Some(Layer::Ipv4),
        ether_type::IPV6 => Some(Layer::Ipv6),
        _ => None,
    }
}

/// Version 1, message type, length, tunnel; then sequence number, N-PDU number and the type of an extension header if
/// any of their flags is set.
fn gtp_user(rest: &mut Rest<'_>) -> Option<Layer> {
    const VERSION_1: u8 = 0x30;
    const FIXED_BITS: u8 = 0xf8;
    const USER_DATA: u8 = 0xff;
    /// More extension headers than any packet needs.
    const MOST_EXTENSIONS: usize = 16;
    let header = rest.take::<8>().ok()?;
    if header[0] & FIXED_BITS != VERSION_1 || header[1] != USER_DATA {
        return None;
    }
    if header[0] & !FIXED_BITS != 0 {
        let [.., mut next] = *rest.take::<4>().ok()?;
        for _ in 0..MOST_EXTENSIONS {
            if next == 0 {
                break;
            }
            let words = usize::from(*rest.bytes.first()?);
            let length = words.checked_sub(1)? * 4 + 3;
            rest.skip(length).ok()?;
            next = rest.take::<1>().ok()?[0];
        }
        if next != 0 {
            return None;
        }
    }
    match rest.bytes.first()? >> 4 {
        4 => Some(Layer::Ipv4),
        6 => Some(Layer::Ipv6),
        _ => None,
    }
}
