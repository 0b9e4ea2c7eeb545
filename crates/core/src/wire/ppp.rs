//! PPP (RFC 1661, framing of RFC 1662), PPPoE (RFC 2516), and Cisco's HDLC.

use super::layer::{Layer, Rest};
use super::set_aside::SetAside;

/// PPP protocol numbers (IANA).
mod protocol {
    pub const IPV4: u16 = 0x0021;
    pub const IPV6: u16 = 0x0057;
    pub const MPLS: [u16; 2] = [0x0281, 0x0283];
    /// Parts of packets, compressed or encrypted ones: Van Jacobson's headers, multilink, ECP, CCP, robust headers.
    pub const UNREADABLE: [u16; 9] = [0x002d, 0x002f, 0x003d, 0x0053, 0x0055, 0x00fb, 0x00fd, 0x0003, 0x0005];
}

/// The all-stations address and the control field of unnumbered information, left out where compressed.
const ADDRESS_AND_CONTROL: [u8; 2] = [0xff, 0x03];

/// Steps behind a PPP header: address and control if they are there, and a protocol of one byte or two.
pub(super) fn open(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    if rest.bytes.starts_with(&ADDRESS_AND_CONTROL) {
        rest.skip(2)?;
    }
    // RFC 1661 section 2: the lowest bit of the last byte is set, and of no other.
    let [first] = *rest.take::<1>()?;
    let protocol = match first & 1 {
        1 => u16::from(first),
        _ => u16::from_be_bytes([first, rest.take::<1>()?[0]]),
    };
    match protocol {
        protocol::IPV4 => Ok(Layer::Ipv4),
        protocol::IPV6 => Ok(Layer::Ipv6),
        mpls if protocol::MPLS.contains(&mpls) => Ok(Layer::Mpls),
        other if protocol::UNREADABLE.contains(&other) => Err(SetAside::Tunnel),
        _ => Err(SetAside::NotIp),
    }
}

/// Steps behind what LINKTYPE_PPP_HDLC has: PPP, or Cisco's HDLC, whose address is 0x0f or 0x8f.
pub(super) fn hdlc(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    match rest.bytes.first() {
        Some(0x0f | 0x8f) => cisco_hdlc(rest),
        _ => Ok(Layer::Ppp),
    }
}

/// Steps behind Cisco's HDLC header: address, control, EtherType.
pub(super) fn cisco_hdlc(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    let [_, _, high, low] = *rest.take::<4>()?;
    Ok(Layer::EtherType(u16::from_be_bytes([high, low])))
}

/// Steps behind a PPPoE header: version and type, code, session, length.
pub(super) fn over_ethernet(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    let header = rest.take::<6>()?;
    match (header[0], header[1]) {
        (0x11, 0) => Ok(Layer::Ppp),
        // Codes other than 0 find and end sessions.
        (0x11, _) => Err(SetAside::NotIp),
        _ => Err(SetAside::Malformed),
    }
}
