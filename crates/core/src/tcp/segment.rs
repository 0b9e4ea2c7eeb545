//! A segment between two endpoints.

use std::num::{NonZeroU16, NonZeroU32};

use crate::time::Time;
use crate::wire::{Ecn, Flags};

/// A TCP segment without its payload: what an endpoint emits and takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Segment {
    /// Offset of its first byte in the sender's stream: 0 is the SYN, 1 the first data byte.
    pub sequence: u64,
    /// Offset the sender expects next from the receiver; meaningful with the ACK flag.
    pub acknowledgement: u64,
    /// The length of the payload, in bytes.
    pub payload_bytes: u32,
    /// Advertised window in bytes: always a value that 16 bits shifted by [`Self::window_shift`] can express.
    pub window: u32,
    /// Timestamps option (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// What arrived ahead of a hole (RFC 2018).
    pub sack: SackBlocks,
    /// The MSS option of a SYN, in bytes.
    pub mss: Option<NonZeroU16>,
    /// Window scale option, on SYNs.
    pub window_scale: Option<u8>,
    /// The control flags of the header.
    pub flags: Flags,
    /// Shift that applies to the window field: 0 on SYNs and where scaling was not negotiated.
    pub window_shift: u8,
    /// The ECN field of the packet's IP header: as sent, or as a queue on the way marked it.
    pub ecn: Ecn,
    /// SACK-permitted option, on SYNs.
    pub sack_permitted: bool,
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

    /// Bytes of TCP options, padded as common stacks lay them out: MSS 4, window scale 3 and a NOP, timestamps 10 with
    /// the 2 of SACK-permitted or two NOPs, SACK-permitted alone 2 and two NOPs, n SACK blocks 2 + 8 n and two NOPs.
    pub fn option_bytes(&self) -> u32 {
        let unpadded = [
            if self.mss.is_some() { 4 } else { 0 },
            if self.window_scale.is_some() { 4 } else { 0 },
            match (self.timestamps, self.sack_permitted) {
                (Some(_), _) => Timestamps::OPTION_BYTES,
                (None, true) => 4,
                (None, false) => 0,
            },
            self.sack.option_bytes(),
        ];
        unpadded.iter().sum()
    }

    /// The SACK blocks as offsets, in the order of the option, without those that end before they begin. The first may be a
    /// duplicate ([`Self::duplicate_block`]).
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (blocks, near) = (self.sack, self.acknowledgement);
        blocks
            .0
            .into_iter()
            .take_while(|block| block.0 != block.1)
            .map(move |(start, end)| (widen(start, near), widen(end, near)))
            .filter(|(start, end)| start < end)
    }

    /// The block that reports what arrived twice, if one does (RFC 2883 section 4): the first, if it ends at or before the
    /// acknowledgement, or lies within the second.
    pub fn duplicate_block(&self) -> Option<(u64, u64)> {
        let mut blocks = self.sack_blocks();
        let (first, second) = (blocks.next()?, blocks.next());
        let within = second.is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        (first.1 <= self.acknowledgement || within).then_some(first)
    }

    /// The last instant of the tick that its timestamp echoes, as of `now`; `now` without one. What this acknowledges was sent
    /// by then (RFC 8985 section 6.2, step 2, first condition).
    pub fn echoes_until(&self, now: Time) -> Time {
        let Some(timestamps) = self.timestamps else { return now };
        let age = u64::from(Timestamps::clock(now).get().wrapping_sub(timestamps.echo));
        let tick = (now.as_nanos() / Timestamps::TICK_NANOS + 1).saturating_sub(age);
        now.min(Time::from_nanos((tick * Timestamps::TICK_NANOS).saturating_sub(1)))
    }

    /// Sequence space it takes: payload, SYN and FIN.
    pub fn sequence_length(&self) -> u64 {
        u64::from(self.payload_bytes) + u64::from(self.flags.syn()) + u64::from(self.flags.fin())
    }

    /// The offset after its last byte, SYN and FIN counted.
    pub fn end(&self) -> u64 {
        self.sequence + self.sequence_length()
    }

    /// The RST that answers it where there is no connection (RFC 9293 section 3.10.7.1), which its sender cannot take for an old one.
    pub fn refusal(&self) -> Segment {
        match self.flags.ack() {
            true => Segment { sequence: self.acknowledgement, flags: Flags(Flags::RST), ..Segment::default() },
            false => {
                Segment { acknowledgement: self.end(), flags: Flags(Flags::RST | Flags::ACK), ..Segment::default() }
            }
        }
    }
}

/// The offset with these low 32 bits that is nearest to `near`.
fn widen(low: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}

/// Timestamps option (RFC 7323 section 3): TSval and TSecr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the clock of the sender of this segment, in ms.
    pub value: NonZeroU32,
    /// The value of the peer that is echoed; meaningful with the ACK flag.
    pub echo: u32,
}

impl Timestamps {
    /// What the option takes in a header, with its two NOPs.
    pub const OPTION_BYTES: u32 = 12;

    /// The length of a tick of the timestamp clock, in nanoseconds.
    const TICK_NANOS: u64 = 1_000_000;

    /// The clock of every endpoint: 1 ms a tick, as Linux and FreeBSD have it, and never 0.
    pub fn clock(now: Time) -> NonZeroU32 {
        let ticks = now.as_nanos() / Self::TICK_NANOS % u64::from(u32::MAX);
        NonZeroU32::MIN.saturating_add(ticks as u32)
    }
}

/// SACK blocks of a segment, three at most: what fits beside timestamps, and the least that RFC 2018 asks for.
///
/// They are kept as they stand on the wire, in 32 bits relative to the stream: no receive window is so large that
/// this is ambiguous (RFC 7323 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks([(u32, u32); SackBlocks::MOST]);

impl SackBlocks {
    /// The largest number of blocks in a segment.
    pub const MOST: usize = 3;

    /// Of no more than [`Self::MOST`] of `blocks` `[start, end)`.
    pub fn new(blocks: impl IntoIterator<Item = (u64, u64)>) -> SackBlocks {
        let mut packed = SackBlocks::default();
        for (place, (start, end)) in packed.0.iter_mut().zip(blocks) {
            *place = (start as u32, end as u32);
        }
        packed
    }

    /// Whether the segment carries no blocks.
    pub fn is_empty(self) -> bool {
        self.0[0].0 == self.0[0].1
    }

    /// The number of blocks in the segment.
    pub fn len(self) -> usize {
        self.0.iter().take_while(|block| block.0 != block.1).count()
    }

    /// What the option takes in a header, with its two NOPs.
    pub fn option_bytes(self) -> u32 {
        if self.is_empty() { 0 } else { 4 + 8 * self.len() as u32 }
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
            flags: Flags(Flags::ACK | Flags::FIN),
            window_shift: 3,
            ..Segment::default()
        };
        assert_eq!(segment.wire_numbers(u32::MAX, u32::MAX), (705_032_704, 0));
        assert_eq!(segment.window_field(), 37_500);
        assert_eq!(segment.end(), 5_000_000_012);
        let syn = Segment { flags: Flags(Flags::SYN), ..segment };
        assert_eq!(syn.wire_numbers(7, 9).1, 0, "no ACK flag, no number");
    }

    #[test]
    fn options_take_what_common_stacks_make_of_them() {
        let plain = Segment::default();
        let timestamps = Some(Timestamps { value: NonZeroU32::MIN, echo: 0 });
        let syn = Segment { mss: NonZeroU16::new(1460), window_scale: Some(7), ..plain };
        let three = |count: u64| SackBlocks::new((0..count).map(|n| (100 * n + 1, 100 * n + 51)));
        for (bytes, segment) in [
            (0, plain),
            (8, syn),
            (12, Segment { sack_permitted: true, ..syn }),
            (20, Segment { timestamps, ..syn }),
            (20, Segment { timestamps, sack_permitted: true, ..syn }),
            (12, Segment { timestamps, ..plain }),
            (12, Segment { sack: three(1), ..plain }),
            (28, Segment { sack: three(3), ..plain }),
            (40, Segment { sack: three(3), timestamps, ..plain }),
        ] {
            assert_eq!(segment.option_bytes(), bytes, "{segment:?}");
        }
    }

    #[test]
    fn sack_blocks_keep_their_offsets_beyond_32_bits() {
        for near in [1_u64, 1 << 31, (1 << 32) - 1, 1 << 32, 5_000_000_000] {
            let blocks =
                [(near + 1000, near + 2000), (near.saturating_sub(500), near), (near + 3000, near + (1 << 30))];
            let segment = Segment { acknowledgement: near, sack: SackBlocks::new(blocks), ..Segment::default() };
            assert!(segment.sack_blocks().eq(blocks));
            assert_eq!((segment.sack.len(), segment.sack.is_empty()), (3, false));
        }
        let reversed = SackBlocks::new([(2000, 1000), (3000, 4000)]);
        let segment = Segment { acknowledgement: 5000, sack: reversed, ..Segment::default() };
        assert_eq!(
            (segment.sack_blocks().collect(), segment.duplicate_block()),
            (vec![(3000, 4000)], Some((3000, 4000)))
        );
        assert_eq!(Segment::default().sack_blocks().count(), 0);
        assert!(SackBlocks::new([]).is_empty());
    }

    #[test]
    fn the_timestamp_clock_ticks_each_millisecond_and_is_never_zero() {
        assert_eq!(Timestamps::clock(Time::ZERO).get(), 1);
        assert_eq!(Timestamps::clock(Time::from_nanos(1_999_999)).get(), 2);
        assert_eq!(Timestamps::clock(Time::from_nanos(u64::from(u32::MAX) * 1_000_000)).get(), 1, "after 49 days");
    }

    #[test]
    fn an_echo_tells_by_when_its_segment_was_sent() {
        let at = Time::from_nanos;
        let echo = |sent: Time| Some(Timestamps { value: NonZeroU32::MIN, echo: Timestamps::clock(sent).get() });
        let until = |sent, now| Segment { timestamps: echo(sent), ..Segment::default() }.echoes_until(now);
        assert_eq!(until(at(3_000_000), at(5_500_000)), at(3_999_999));
        assert_eq!(until(at(3_999_999), at(5_500_000)), at(3_999_999));
        assert_eq!(until(at(5_000_000), at(5_500_000)), at(5_500_000), "never later than now");
        assert_eq!(Segment::default().echoes_until(at(7)), at(7));
    }

    /// Timestamps and three SACK blocks double it; a box for the blocks would save 24 bytes of each packet and cost an
    /// allocation for every acknowledgement behind a hole.
    #[test]
    fn segments_are_a_cache_line() {
        assert_eq!(size_of::<Segment>(), 64);
    }
}
