//! Generic routing encapsulation: RFC 2784 with the key and sequence number of RFC 2890, the enhanced form that carries
//! PPP (RFC 2637), and ERSPAN, which mirrors Ethernet frames through it.

use super::ethernet::ether_type;
use super::layer::{Layer, Rest};
use super::set_aside::SetAside;

/// Flags of the first 16 bits, and the version.
const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGEMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

/// Protocol types beside EtherTypes.
const ERSPAN_I_OR_II: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const PPP: u16 = 0x880b;
const WCCP: u16 = 0x883e;

/// Steps behind a GRE header.
pub(super) fn open(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    let [flags_high, flags_low, type_high, type_low] = *rest.take::<4>()?;
    let (flags, kind) = (u16::from_be_bytes([flags_high, flags_low]), u16::from_be_bytes([type_high, type_low]));
    match flags & VERSION {
        0 => original(flags, kind, rest),
        1 => enhanced(flags, kind, rest),
        _ => Err(SetAside::Malformed),
    }
}

fn original(flags: u16, kind: u16, rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    if flags & ROUTING != 0 {
        // Source routes (RFC 1701) are as long as they like, and gone.
        return Err(SetAside::Tunnel);
    }
    let words = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|flag| flags & flag != 0).count();
    rest.skip(words * 4)?;
    match kind {
        PPP => Ok(Layer::Ppp),
        // Type I has no header and no sequence number (draft-foschiano-erspan).
        ERSPAN_I_OR_II if flags & SEQUENCE == 0 => Ok(Layer::Ethernet),
        ERSPAN_I_OR_II => rest.skip(8).map(|()| Layer::Ethernet),
        ERSPAN_III => erspan_iii(rest),
        // A redirect header of four bytes in version 2, none in version 1.
        WCCP => {
            if rest.bytes.first().is_some_and(|first| first >> 4 != 4) {
                rest.skip(4)?;
            }
            Ok(Layer::Ipv4)
        }
        other if ether_type::is_known(other) => Ok(Layer::EtherType(other)),
        // Keep-alives.
        0 => Err(SetAside::NotIp),
        _ => Err(SetAside::Tunnel),
    }
}

/// The header of version 1 always has a key: length of the payload and call.
fn enhanced(flags: u16, kind: u16, rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    if flags & KEY == 0 || flags & (CHECKSUM | ROUTING) != 0 || kind != PPP {
        return Err(SetAside::Malformed);
    }
    let key = rest.take::<4>()?;
    rest.skip([SEQUENCE, ACKNOWLEDGEMENT].into_iter().filter(|flag| flags & flag != 0).count() * 4)?;
    // A header with nothing behind it acknowledges.
    if key[..2] == [0, 0] { Err(SetAside::NotIp) } else { Ok(Layer::Ppp) }
}

/// ERSPAN type III: 12 bytes, of which the last tells the frame type and whether 8 more follow.
fn erspan_iii(rest: &mut Rest<'_>) -> Result<Layer, SetAside> {
    let header = rest.take::<12>()?;
    if header[11] & 1 != 0 {
        rest.skip(8)?;
    }
    match (header[10] >> 2) & 0x1f {
        0 => Ok(Layer::Ethernet),
        2 => Ok(Layer::Ip),
        _ => Err(SetAside::Tunnel),
    }
}
