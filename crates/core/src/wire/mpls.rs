//! MPLS label stacks (RFC 3032) and what is below them, which no field says: IP, or an Ethernet pseudowire (RFC 4448)
//! with or without its control word.

use super::ethernet;
use super::layer::{Layer, Rest, Trail};
use super::set_aside::SetAside;

/// The control word of a pseudowire.
const CONTROL_WORD: usize = 4;

/// Steps behind one label.
pub(super) fn open(rest: &mut Rest<'_>, trail: &mut Trail) -> Result<Layer, SetAside> {
    trail.inside = true;
    let label = rest.take::<4>()?;
    if label[2] & 1 == 0 { Ok(Layer::Mpls) } else { below(rest) }
}

/// What is below the last label. The first four bits are an IP version, or those of a MAC address, or of a control
/// word (0; 1 is an associated channel, which carries no frames: RFC 4385).
fn below(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    let Some(&[first, _, high, low, six_high, six_low]) = rest.bytes.first_chunk() else {
        return Err(SetAside::HeaderCut);
    };
    // An address that looks like a version and a type: the length tells.
    let fits = |length: u32| length <= rest.length || !ethernet::is_frame(rest.bytes);
    let behind = rest.bytes.get(CONTROL_WORD..).unwrap_or_default();
    match first >> 4 {
        4 if fits(u32::from(u16::from_be_bytes([high, low]))) => Ok(Layer::Ipv4),
        6 if fits(u32::from(u16::from_be_bytes([six_high, six_low])) + 40) => Ok(Layer::Ipv6),
        0 if ethernet::is_frame(behind) => {
            rest.skip(CONTROL_WORD)?;
            Ok(Layer::Ethernet)
        }
        _ if ethernet::is_frame(rest.bytes) => Ok(Layer::Ethernet),
        _ => Err(SetAside::Mpls),
    }
}
