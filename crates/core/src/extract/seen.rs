//! A segment as an observer is told of it.

use std::num::NonZeroU16;

use crate::units::LINK_HEADER_BYTES;
use crate::wire::{Flags, Segment, Timestamps};

/// What the monitor sees of a segment once its connection and sender are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Seen {
    /// Sequence number on the wire.
    pub sequence: u32,
    /// Acknowledgement number on the wire, meaningful if the ACK flag is set.
    pub acknowledgement: u32,
    /// Flags.
    pub flags: Flags,
    /// Window field, unscaled.
    pub window: u16,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// IP bytes, headers included.
    pub ip_bytes: u32,
    /// IPv4 identification, where it can tell packets apart; hosts that set none leave it 0.
    pub ip_id: Option<NonZeroU16>,
    /// MSS option, on SYNs.
    pub mss: Option<u16>,
    /// Window scale option, on SYNs.
    pub window_scale: Option<u8>,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK-permitted option of a SYN, SACK blocks of another segment.
    pub sack: bool,
    /// Its first SACK blocks, as [`Segment::sack_blocks`].
    pub sack_blocks: [(u32, u32); 3],
    /// Options that are absent may have been cut off.
    pub options_cut: bool,
}

impl From<&Segment> for Seen {
    fn from(segment: &Segment) -> Seen {
        Seen {
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            flags: segment.flags,
            window: segment.window,
            payload_bytes: segment.payload_bytes,
            ip_bytes: segment.link_bytes.saturating_sub(LINK_HEADER_BYTES),
            ip_id: segment.ip_id,
            mss: segment.mss,
            window_scale: segment.window_scale,
            timestamps: segment.timestamps,
            sack: segment.sack,
            sack_blocks: segment.sack_blocks,
            options_cut: segment.options_cut,
        }
    }
}
