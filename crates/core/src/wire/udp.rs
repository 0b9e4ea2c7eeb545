//! The UDP header (RFC 768), and whether QUIC is behind it.

use super::layer::Rest;
use super::{Address, Datagram, SetAside, ip};
use crate::units::LINK_HEADER_BYTES;

/// Parses a UDP header; `rest` goes to its payload.
///
/// A length of 0 is segmentation offload or a jumbogram (RFC 2675), and one beyond the IP packet a lie: the IP header's
/// length counts then. What follows behind the UDP length belongs to no one.
pub(super) fn parse(rest: &mut Rest<'_>, ip: &ip::Header) -> Result<Datagram, SetAside> {
    let within = rest.length;
    let header = rest.take::<8>()?;
    let left = within.checked_sub(8).ok_or(SetAside::Malformed)?;
    rest.length = match u32::from(u16::from_be_bytes([header[4], header[5]])) {
        0 => left,
        length => length.checked_sub(8).ok_or(SetAside::Malformed)?.min(left),
    };
    rest.bytes = &rest.bytes[..rest.bytes.len().min(rest.length as usize)];
    Ok(Datagram {
        source: Address { ip: ip.addresses[0], port: u16::from_be_bytes([header[0], header[1]]) },
        destination: Address { ip: ip.addresses[1], port: u16::from_be_bytes([header[2], header[3]]) },
        payload_bytes: rest.length,
        link_bytes: ip.total_length.saturating_add(LINK_HEADER_BYTES),
        quic: is_quic(rest.bytes),
        vlan: None,
        from: None,
        macs: None,
    })
}

/// QUIC version 1 (RFC 9000 section 15), version 2 (RFC 9369), the IETF's drafts, and version negotiation.
const VERSION_1: u32 = 1;
const VERSION_2: u32 = 0x6b33_43cf;
const DRAFTS: std::ops::RangeInclusive<u32> = 0xff00_0000..=0xff00_00ff;
const NEGOTIATION: u32 = 0;

/// Versions 1 and 2 allow no longer connection identifiers (RFC 9000 section 17.2).
const LONGEST_IDENTIFIER: u8 = 20;

/// Whether `payload` begins with a QUIC long header: form bit, version, connection identifiers of possible lengths.
fn is_quic(payload: &[u8]) -> bool {
    let [first, v0, v1, v2, v3, destination, behind @ ..] = payload else { return false };
    if first & 0x80 == 0 || *destination > LONGEST_IDENTIFIER {
        return false;
    }
    let source = behind.get(usize::from(*destination)).copied();
    if source.is_some_and(|length| length > LONGEST_IDENTIFIER) {
        return false;
    }
    match u32::from_be_bytes([*v0, *v1, *v2, *v3]) {
        // Its other bits may be anything, so that the lengths must have been captured.
        NEGOTIATION => source.is_some(),
        // The bit behind the form bit is 1, but for greasing (RFC 9287), which both ends agree on only later.
        VERSION_1 | VERSION_2 => first & 0x40 != 0,
        version => DRAFTS.contains(&version) && first & 0x40 != 0,
    }
}
