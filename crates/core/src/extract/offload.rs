//! Segments that a segmentation offload had merged when they were captured (methods A.13.10).
//!
//! A capture that is taken above TSO or GRO, as nearly every one at an end is, holds segments of many times the MSS. They are
//! taken apart into those that were on the link, which passed there at nearly the same time: packets, headers and segments
//! then count as they would in a capture from the link.

use std::num::NonZeroU16;

use crate::tcp::Timestamps;
use crate::wire::Flags;

use super::seen::Seen;

/// The MSS that every host accepts (RFC 9293 section 3.7.1). A smaller one on a SYN does not count here: a crafted capture would
/// otherwise have thousands of segments in each packet.
const LEAST_MSS: u16 = 536;

/// Linux merges at most this many bytes (`GSO_MAX_SIZE`); larger packets come from no offload.
pub(super) const LARGEST_MERGED: u32 = 512 << 10;

/// The largest payload of the segments that became this one, which is sent to an end with this MSS; `None` if it was one on the link.
#[inline]
pub(super) fn largest_of_merged(mss: Option<u16>, seen: &Seen) -> Option<u32> {
    let mss = u32::from(mss?.max(LEAST_MSS));
    // The MSS counts the options of a segment (RFC 6691), but there are stacks that fill it with payload beside them.
    let is_merged = (mss + 1..=LARGEST_MERGED).contains(&seen.payload_bytes);
    let options = if seen.timestamps.is_some() { Timestamps::OPTION_BYTES } else { 0 };
    (is_merged && seen.flags.0 & (Flags::SYN | Flags::RST) == 0).then_some(mss - options)
}

/// IP and TCP header of a segment, in bytes.
pub(super) fn header_bytes(seen: &Seen) -> u32 {
    seen.ip_bytes.saturating_sub(seen.payload_bytes)
}

/// The segments of at most `largest` bytes that became one. Each has its headers; IPv4 numbers them one by one.
pub(super) fn pieces(merged: &Seen, largest: u32) -> impl Iterator<Item = Seen> {
    let merged = *merged;
    (0..merged.payload_bytes.div_ceil(largest)).map(move |number| {
        let before = number * largest;
        let payload_bytes = largest.min(merged.payload_bytes - before);
        let is_last = before + payload_bytes == merged.payload_bytes;
        let ends = if is_last { 0 } else { Flags::FIN | Flags::PSH };
        Seen {
            sequence: merged.sequence.wrapping_add(before),
            flags: Flags(merged.flags.0 & !ends),
            payload_bytes,
            ip_bytes: header_bytes(&merged) + payload_bytes,
            ip_id: merged.ip_id.and_then(|id| NonZeroU16::new(id.get().wrapping_add(number as u16))),
            ..merged
        }
    })
}
