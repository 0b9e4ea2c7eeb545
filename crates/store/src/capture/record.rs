//! A packet as a capture file holds it, and as a reader hands it on.

use flowloom_core::time::Time;
use flowloom_core::wire::{Decoder, LinkType, Parsed, SetAside};
use flowloom_core::workload::LinkSide;

/// More captured bytes than any packet has; a record that claims more is damaged.
pub(super) const MOST_PACKET_BYTES: usize = 16 << 20;

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Time stamp, since the Unix epoch. Never trusted to increase.
    pub time: Time,
    /// What `bytes` begins with.
    pub link: LinkType,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// Its length on the wire as the capture states it.
    pub wire_length: u32,
    /// The side of the link it came from, where the capture format marks directions (pcapng, ERF).
    pub from: Option<LinkSide>,
    /// The position of its input among those opened.
    pub input: usize,
}

impl Packet<'_> {
    /// What it carries, or why it yields nothing. The capture format's direction mark wins over the link header's.
    ///
    /// The decoder is the same for all packets of the captures read together.
    #[inline]
    pub fn decode(&self, decoder: &mut Decoder) -> Result<Parsed, SetAside> {
        let mut parsed = decoder.decode(self.time, self.link, self.bytes, self.wire_length);
        if self.from.is_some() {
            match &mut parsed {
                Ok(Parsed::Segment(segment)) => segment.from = self.from,
                Ok(Parsed::Datagram(datagram)) => datagram.from = self.from,
                Err(_) => {}
            }
        }
        parsed
    }
}

/// A record as a format's reader found it: `source.window()[start..][..length]` is the packet.
pub(super) struct Record {
    pub(super) time: Option<Time>,
    pub(super) link: LinkType,
    pub(super) wire_length: u32,
    pub(super) from: Option<LinkSide>,
    pub(super) start: usize,
    pub(super) length: usize,
}

/// Byte order of a file or section.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    #[inline]
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        if self == ByteOrder::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    #[inline]
    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        if self == ByteOrder::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    #[inline]
    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        if self == ByteOrder::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
    }
}
