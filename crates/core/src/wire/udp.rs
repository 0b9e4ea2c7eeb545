//! The UDP header (RFC 768), and whether QUIC is behind it.

use std::num::NonZeroU32;

use super::ip;
use super::layer::Rest;
use super::packet::{Address, Datagram};
use super::set_aside::SetAside;
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
        mark: NonZeroU32::new(
            u32::from(ip.identification) << 16 | u32::from(u16::from_be_bytes([header[6], header[7]])),
        ),
        quic: is_quic(rest.bytes, rest.length),
        vlan: None,
        from: None,
        macs: None,
    })
}

/// QUIC version 1 (RFC 9000 section 15) and version 2 (RFC 9369).
const VERSION_1: u32 = 1;
const VERSION_2: u32 = 0x6b33_43cf;

/// The drafts of version 1 since its header has the form that RFC 8999 fixed (draft-ietf-quic-transport-22 to -34). Draft 0
/// would be a DNS query without recursion whose identifier ends in ff.
const DRAFTS: std::ops::RangeInclusive<u32> = 0xff00_0016..=0xff00_0022;

/// Versions 1 and 2 allow no longer connection identifiers (RFC 9000 section 17.2), and of a client's first packet no
/// shorter one of its peer (section 7.2).
const LONGEST_IDENTIFIER: u8 = 20;
const SHORTEST_FIRST_IDENTIFIER: u8 = 8;

/// A client's first datagram has at least this payload (RFC 9000 section 14.1).
const LEAST_FIRST_DATAGRAM: u32 = 1200;

/// Whether a payload of `length` bytes, of which `payload` were captured, begins with a QUIC long header: form bit,
/// fixed bit, a version, connection identifiers of possible lengths.
///
/// The fixed bit is 1 in all packets before both ends have agreed to grease it (RFC 9287). RTP never sets it, STUN not the
/// form bit; of DNS the version field is the end of the identifier, the flags and the upper half of a count of questions.
/// Version negotiation is not told: its version is 0, which DNS and RTP have too, and it answers a datagram that is told.
fn is_quic(payload: &[u8], length: u32) -> bool {
    let [first, v0, v1, v2, v3, destination, behind @ ..] = payload else { return false };
    if first & 0xc0 != 0xc0 || *destination > LONGEST_IDENTIFIER {
        return false;
    }
    if behind.get(usize::from(*destination)).is_some_and(|source| *source > LONGEST_IDENTIFIER) {
        return false;
    }
    match u32::from_be_bytes([*v0, *v1, *v2, *v3]) {
        VERSION_1 | VERSION_2 => true,
        // Reserved to force version negotiation (RFC 9000 section 15): a client begins with it.
        version if version & 0x0f0f_0f0f == 0x0a0a_0a0a => {
            length >= LEAST_FIRST_DATAGRAM && *destination >= SHORTEST_FIRST_IDENTIFIER
        }
        version => DRAFTS.contains(&version),
    }
}
