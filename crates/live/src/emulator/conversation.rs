//! The two streams of a connection: from numbers in headers to offsets, and what of headers is rewritten.

use std::num::NonZeroU16;

use flowloom_core::tcp::{SackBlocks, Segment, Timestamps};
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::workload::{ConnectionVector, PerSide, Side};
use flowloom_sim::{limits, link_bytes};

use super::checksum::{self, IN_TCP, OF_IPV4};
use super::frame::{Frame, Tcp, Transport};
use super::window::Window;

/// Where the ECN field stands in an IPv4 header.
const TRAFFIC_CLASS: usize = 1;

/// Where the window field stands in a TCP header.
const WINDOW: usize = 14;

/// What is known of the two ends of a flow from their packets.
#[derive(Clone, Debug)]
pub struct Conversation {
    ends: PerSide<End>,
}

/// What is known of an end from the packets it sent.
#[derive(Clone, Debug)]
struct End {
    /// The number of offset 0, of its SYN.
    first: Option<u32>,
    /// The highest offset so far, by which later numbers are told apart from those 2^32 before them.
    highest: u64,
    window: Window,
    /// The largest segments that it may ask for.
    mss: u16,
}

/// A packet as the path takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What it carries, as offsets.
    pub segment: Segment,
    /// What it takes on a link beyond [`link_bytes`].
    pub extra: i16,
    /// Numbers from which streams are counted, where they have become known.
    pub first: PerSide<Option<u32>>,
}

impl Conversation {
    /// Of the connection of a vector: windows and segment sizes are the vector's.
    pub fn of(vector: &ConnectionVector) -> Conversation {
        let end = |side| {
            let limits = limits(vector, side);
            End { first: None, highest: 0, window: Window::of_at_most(limits.max_window), mss: limits.mss }
        };
        Conversation { ends: PerSide { initiator: end(Side::Initiator), acceptor: end(Side::Acceptor) } }
    }

    /// Of no vector: nothing is rewritten.
    pub fn of_guest() -> Conversation {
        let end = || End { first: None, highest: 0, window: Window::of_at_most(u32::MAX), mss: u16::MAX };
        Conversation { ends: PerSide { initiator: end(), acceptor: end() } }
    }

    /// Takes a packet of `sender`, of which `frame` was read, and rewrites in it what is to be.
    pub fn take(&mut self, sender: Side, frame: &Frame, packet: &mut [u8]) -> Taken {
        let mut first = PerSide::default();
        let segment = match &frame.transport {
            Transport::Tcp(tcp) => {
                let segment = self.segment(sender, tcp, packet, &mut first);
                Segment { ecn: frame.ecn, ..segment }
            }
            Transport::Udp(_) | Transport::Other => {
                // All behind 20 bytes of IP and 8 of UDP.
                let payload_bytes = u32::from(frame.bytes).saturating_sub(28);
                Segment { payload_bytes, ecn: frame.ecn, ..Segment::default() }
            }
        };
        let extra = i64::from(u32::from(frame.bytes) + LINK_HEADER_BYTES) - i64::from(link_bytes(&segment));
        Taken { segment, extra: extra.clamp(i16::MIN.into(), i16::MAX.into()) as i16, first }
    }

    fn segment(&mut self, sender: Side, tcp: &Tcp, packet: &mut [u8], first: &mut PerSide<Option<u32>>) -> Segment {
        let flags = tcp.flags;
        self.begin(sender, tcp, first);
        let (window, window_shift) = self.rewrite(sender, tcp, packet);
        let (own, peer) = (&self.ends[sender], &self.ends[sender.other()]);
        let sack = tcp.sack.iter().take_while(|block| block.0 != block.1).map(|block| {
            let offset = |number: u32| u64::from(number.wrapping_sub(peer.first.unwrap_or(0)));
            (offset(block.0), offset(block.1))
        });
        let segment = Segment {
            sequence: own.offset(tcp.sequence),
            acknowledgement: if flags.ack() { peer.offset(tcp.acknowledgement) } else { 0 },
            payload_bytes: tcp.payload_bytes.into(),
            window: u32::from(window) << window_shift,
            timestamps: tcp.timestamps.map(|(value, echo)| Timestamps { value, echo }),
            sack: SackBlocks::new(sack),
            mss: tcp.mss.map(|(_, mss)| own.allowed(mss)),
            window_scale: if flags.syn() { own.window.offered() } else { None },
            flags,
            window_shift,
            ecn: Default::default(),
            sack_permitted: tcp.sack_permitted,
        };
        let own = &mut self.ends[sender];
        own.highest = own.highest.max(segment.end());
        segment
    }

    /// Learns from where streams are counted: of the sender by its SYN, or else as if this was its first byte; of the other end, if
    /// that has sent nothing, as if this acknowledged its SYN.
    fn begin(&mut self, sender: Side, tcp: &Tcp, first: &mut PerSide<Option<u32>>) {
        let own = &mut self.ends[sender];
        let number = if tcp.flags.syn() { tcp.sequence } else { tcp.sequence.wrapping_sub(1) };
        if own.first.is_none() || tcp.flags.syn() && own.first != Some(number) && own.highest <= 1 {
            (own.first, first[sender], own.highest) = (Some(number), Some(number), 0);
        }
        let peer = &mut self.ends[sender.other()];
        if peer.first.is_none() && tcp.flags.ack() {
            let number = tcp.acknowledgement.wrapping_sub(1);
            (peer.first, first[sender.other()]) = (Some(number), Some(number));
        }
    }

    /// Rewrites what the sender says of its window and of the segments that it takes; the window field and its shift.
    fn rewrite(&mut self, sender: Side, tcp: &Tcp, packet: &mut [u8]) -> (u16, u8) {
        let (checksum, is_syn) = (tcp.at + IN_TCP, tcp.flags.syn());
        if is_syn {
            let own = &mut self.ends[sender];
            let shift = own.window.offer(tcp.window_scale.map(|(_, shift)| shift));
            if let (Some((at, _)), Some(shift)) = (tcp.window_scale, shift) {
                checksum::replace(packet, checksum, at, shift);
            }
            if let Some((at, mss)) = tcp.mss {
                checksum::replace_word(packet, checksum, at, own.allowed(mss).get());
            }
        }
        let is_scaled = Side::BOTH.iter().all(|side| self.ends[*side].window.offered().is_some());
        let (field, shift) = self.ends[sender].window.field(tcp.window, is_syn, is_scaled);
        if field != tcp.window {
            checksum::replace_word(packet, checksum, tcp.at + WINDOW, field);
        }
        (field, shift)
    }
}

impl End {
    /// The offset of a number in its stream: the one nearest to the highest so far. What would be before its SYN is taken as that.
    fn offset(&self, number: u32) -> u64 {
        let low = number.wrapping_sub(self.first.unwrap_or(0));
        self.highest.saturating_add_signed(i64::from(low.wrapping_sub(self.highest as u32) as i32))
    }

    fn allowed(&self, mss: NonZeroU16) -> NonZeroU16 {
        NonZeroU16::new(self.mss).map_or(mss, |most| most.min(mss))
    }
}

/// Sets the congestion mark in the IP header of `packet`, if it is not there.
pub fn mark(packet: &mut [u8]) {
    if let Some(&class) = packet.get(TRAFFIC_CLASS)
        && packet.len() >= 20
    {
        checksum::replace(packet, OF_IPV4, TRAFFIC_CLASS, class | 0b11);
    }
}
