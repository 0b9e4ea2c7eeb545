//! A segment between two endpoints.

use crate::wire::Flags;

/// A TCP segment without its payload: what an endpoint emits and takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of its first byte in the sender's stream: 0 is the SYN, 1 the first data byte.
    pub sequence: u64,
    /// Offset the sender expects next from the receiver; meaningful with the ACK flag.
    pub acknowledgement: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Advertised window in bytes: always a value that 16 bits shifted by [`Self::window_shift`] can express.
    pub window: u32,
    /// MSS option, on SYNs.
    pub mss: Option<u16>,
    /// Flags.
    pub flags: Flags,
    /// Window scale option, on SYNs.
    pub window_scale: Option<u8>,
    /// Shift that applies to the window field: 0 on SYNs and where scaling was not negotiated.
    pub window_shift: u8,
}

impl Segment {
    /// The window field as it stands in the header.
    pub fn window_field(&self) -> u16 {
        (self.window >> self.window_shift) as u16
    }

    /// Sequence and acknowledgement number in the header, given the initial sequence numbers of its sender and of
    /// its receiver. The acknowledgement number is 0 without the ACK flag.
    pub fn wire_numbers(&self, sender_isn: u32, receiver_isn: u32) -> (u32, u32) {
        let sequence = sender_isn.wrapping_add(self.sequence as u32);
        let acknowledgement = if self.flags.ack() { receiver_isn.wrapping_add(self.acknowledgement as u32) } else { 0 };
        (sequence, acknowledgement)
    }

    /// Bytes of TCP options: MSS 4, window scale 3 padded to 4 (as common stacks lay them out).
    pub fn option_bytes(&self) -> u32 {
        4 * (u32::from(self.mss.is_some()) + u32::from(self.window_scale.is_some()))
    }

    /// Sequence space it takes: payload, SYN and FIN.
    pub fn sequence_length(&self) -> u64 {
        u64::from(self.payload_bytes) + u64::from(self.flags.syn()) + u64::from(self.flags.fin())
    }

    /// The offset after its last byte, SYN and FIN counted.
    pub fn end(&self) -> u64 {
        self.sequence + self.sequence_length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_numbers_wrap() {
        let segment = Segment {
            sequence: 5_000_000_001,
            acknowledgement: 1,
            payload_bytes: 10,
            window: 300_000,
            mss: None,
            flags: Flags(Flags::ACK | Flags::FIN),
            window_scale: None,
            window_shift: 3,
        };
        assert_eq!(segment.wire_numbers(u32::MAX, u32::MAX), (705_032_704, 0));
        assert_eq!(segment.window_field(), 37_500);
        assert_eq!(segment.end(), 5_000_000_012);
        let syn = Segment { flags: Flags(Flags::SYN), mss: Some(1460), window_scale: Some(3), ..segment };
        assert_eq!(syn.wire_numbers(7, 9).1, 0, "no ACK flag, no number");
        assert_eq!((syn.option_bytes(), segment.option_bytes()), (8, 0));
    }

    #[test]
    fn segments_are_half_a_cache_line() {
        assert_eq!(size_of::<Segment>(), 32);
    }
}
