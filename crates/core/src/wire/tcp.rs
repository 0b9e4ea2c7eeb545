//! The TCP header (RFC 9293) and the options extraction needs.

use std::num::NonZeroU16;

use super::ip;
use super::packet::{Address, Flags, Segment, Timestamps};
use super::set_aside::SetAside;
use crate::units::LINK_HEADER_BYTES;

/// Option kinds (RFC 9293 section 3.1, RFC 7323 section 2.2, RFC 2018).
mod option {
    pub const END: u8 = 0;
    pub const NO_OPERATION: u8 = 1;
    pub const MAXIMUM_SEGMENT_SIZE: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
}

/// RFC 7323 section 2.3: a shift above 14 is read as 14.
const LARGEST_SHIFT: u8 = 14;

/// Parses a TCP header. `bytes` is what was captured from its first byte on, `length` the header and payload by the
/// IP header.
///
/// Checksum and urgent pointer are not needed: a packet cut behind the window field (16 bytes) still counts, and
/// options are read as far as they were captured.
pub(super) fn parse(bytes: &[u8], length: u32, ip: &ip::Header) -> Result<Segment, SetAside> {
    let Some(header) = bytes.first_chunk::<16>() else {
        return Err(if length < 20 { SetAside::Malformed } else { SetAside::HeaderCut });
    };
    let header_length = u32::from(header[12] >> 4) * 4;
    if header_length < 20 || header_length > length {
        return Err(SetAside::Malformed);
    }
    let mut segment = segment(header, ip.addresses, ip.identification, length - header_length, ip.total_length);
    if header_length > 20 {
        let end = bytes.len().min(header_length as usize);
        segment.options_cut = end < header_length as usize;
        segment = options(bytes.get(20..end).unwrap_or_default(), segment);
    }
    Ok(segment)
}

/// The timestamps of a segment whose options are these alone, laid out as RFC 7323 appendix A recommends, as nearly
/// everyone does.
#[inline(always)]
pub(super) fn common_timestamps(options: &[u8; 12]) -> Option<Timestamps> {
    const LAYOUT: [u8; 4] = [option::NO_OPERATION, option::NO_OPERATION, option::TIMESTAMPS, 10];
    let [l0, l1, l2, l3, v0, v1, v2, v3, e0, e1, e2, e3] = *options;
    ([l0, l1, l2, l3] == LAYOUT)
        .then(|| Timestamps { value: u32::from_be_bytes([v0, v1, v2, v3]), echo: u32::from_be_bytes([e0, e1, e2, e3]) })
}

/// The segment with this TCP header, as far as its first 16 bytes tell.
#[inline(always)]
pub(super) fn segment(
    header: &[u8; 16],
    addresses: [u128; 2],
    identification: u16,
    payload_bytes: u32,
    total_length: u32,
) -> Segment {
    Segment {
        source: Address { ip: addresses[0], port: u16::from_be_bytes([header[0], header[1]]) },
        destination: Address { ip: addresses[1], port: u16::from_be_bytes([header[2], header[3]]) },
        sequence: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        acknowledgement: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
        flags: Flags(header[13]),
        window: u16::from_be_bytes([header[14], header[15]]),
        payload_bytes,
        ip_id: NonZeroU16::new(identification),
        link_bytes: total_length.saturating_add(LINK_HEADER_BYTES),
        mss: None,
        window_scale: None,
        timestamps: None,
        sack: false,
        sack_blocks: [(0, 0); 3],
        options_cut: false,
        vlan: None,
        from: None,
        macs: None,
    }
}

/// The first three blocks of a SACK option (RFC 2018 section 3).
fn sack_blocks(bytes: &[u8]) -> [(u32, u32); 3] {
    let mut blocks = [(0, 0); 3];
    for (block, bytes) in blocks.iter_mut().zip(bytes.chunks_exact(8)) {
        let [s0, s1, s2, s3, e0, e1, e2, e3] = *bytes else { break };
        *block = (u32::from_be_bytes([s0, s1, s2, s3]), u32::from_be_bytes([e0, e1, e2, e3]));
    }
    blocks
}

/// `segment` with what the options among `bytes` say; a broken or cut option ends the search. MSS, window scale and SACK-permitted count on SYNs
/// only, blocks of SACK on other segments only. An MSS of 0 offers none: nobody could send anything.
fn options(mut bytes: &[u8], mut segment: Segment) -> Segment {
    let syn = segment.flags.syn();
    loop {
        bytes = match *bytes {
            [] | [option::END, ..] => break,
            [option::NO_OPERATION, ref rest @ ..] => rest,
            [option::MAXIMUM_SEGMENT_SIZE, 4, high, low, ref rest @ ..] if syn => {
                segment.mss = Some(u16::from_be_bytes([high, low])).filter(|mss| *mss > 0);
                rest
            }
            [option::WINDOW_SCALE, 3, shift, ref rest @ ..] if syn => {
                segment.window_scale = Some(shift.min(LARGEST_SHIFT));
                rest
            }
            [option::SACK_PERMITTED, 2, ref rest @ ..] if syn => {
                segment.sack = true;
                rest
            }
            [option::SACK, length, ..] if !syn && (10..=bytes.len()).contains(&usize::from(length)) => {
                let (sack, rest) = bytes.split_at(usize::from(length));
                segment.sack = true;
                segment.sack_blocks = sack_blocks(&sack[2..]);
                rest
            }
            [option::TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3, ref rest @ ..] => {
                let (value, echo) = (u32::from_be_bytes([v0, v1, v2, v3]), u32::from_be_bytes([e0, e1, e2, e3]));
                segment.timestamps = Some(Timestamps { value, echo });
                rest
            }
            [_, length, ..] if (2..=bytes.len()).contains(&usize::from(length)) => &bytes[usize::from(length)..],
            _ => break,
        };
    }
    segment
}
