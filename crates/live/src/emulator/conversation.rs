//! The two streams of a connection: from numbers in headers to offsets, and what of headers is rewritten.

use std::num::NonZeroU16;

use flowloom_core::tcp::{Offers, SackBlocks, Segment, Timestamps};
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::wire::Flags;
use flowloom_core::workload::{ConnectionVector, IpVersion, PerSide, Side};
use flowloom_sim::{Class, ip_version, limits, link_bytes, offers};

use super::checksum::{self, IN_TCP, OF_IPV4};
use super::frame::{Frame, Tcp, Transport};
use super::window::Window;

/// Where the ECN field stands in an IP header; in IPv6 four bits higher than in IPv4.
const TRAFFIC_CLASS: usize = 1;

/// Where the flags and the window field stand in a TCP header.
const FLAGS: usize = 13;
const WINDOW: usize = 14;

/// The option that does nothing, in place of one that is taken out.
const NO_OPERATION: u8 = 1;

/// What is known of the two ends of a flow from their packets.
#[derive(Clone, Debug)]
pub struct Conversation {
    ends: PerSide<End>,
    /// The version of IP that its packets count as.
    ip_version: IpVersion,
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
    /// What it may offer; the kernel offers at least that.
    offers: Offers,
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
    /// Of the connection of a vector in `class`: windows, segment sizes, options and the size of headers are the vector's.
    pub fn of(vector: &ConnectionVector, class: &Class) -> Conversation {
        let end = |side| {
            let limits = limits(vector, side);
            let window = Window::of_at_most(limits.max_window);
            End { first: None, highest: 0, window, mss: limits.mss, offers: offers(vector, side, class) }
        };
        Conversation {
            ends: PerSide { initiator: end(Side::Initiator), acceptor: end(Side::Acceptor) },
            ip_version: ip_version(vector, class),
        }
    }

    /// Of no vector: nothing is rewritten.
    pub fn of_guest() -> Conversation {
        let offers = Offers { window_scaling: true, timestamps: true, sack: true, ecn: true };
        let end = || End { first: None, highest: 0, window: Window::of_at_most(u32::MAX), mss: u16::MAX, offers };
        Conversation { ends: PerSide { initiator: end(), acceptor: end() }, ip_version: IpVersion::V4 }
    }

    /// Takes a packet of `sender`, of which `frame` was read, and rewrites in it what is to be.
    pub fn take(&mut self, sender: Side, frame: &Frame, packet: &mut [u8]) -> Taken {
        let mut first = PerSide::default();
        let (segment, removed) = match &frame.transport {
            Transport::Tcp(tcp) => {
                let removed = if tcp.flags.syn() { self.refused_bytes(sender, tcp) } else { 0 };
                let segment = self.segment(sender, &self.agreed(tcp, packet), packet, &mut first);
                (Segment { ecn: frame.ecn, ..segment }, removed)
            }
            Transport::Udp(_) | Transport::Other => {
                // All behind the headers of IP and the 8 bytes of UDP.
                let payload_bytes = u32::from(frame.bytes).saturating_sub(frame.version.header_bytes() + 8);
                (Segment { payload_bytes, ecn: frame.ecn, ..Segment::default() }, 0)
            }
        };
        // A kernel without IPv6 sends IPv4 in its place.
        let bytes = u32::from(frame.bytes) + LINK_HEADER_BYTES + self.ip_version.header_bytes();
        let bytes = bytes - frame.version.header_bytes();
        let extra = i64::from(bytes) - i64::from(removed) - i64::from(link_bytes(&segment));
        Taken { segment, extra: extra.clamp(i16::MIN.into(), i16::MAX.into()) as i16, first }
    }

    /// Bytes of the options in a SYN that its sender is not to offer. They stay in the packet, as padding, and do not count.
    fn refused_bytes(&self, sender: Side, tcp: &Tcp) -> u32 {
        let Offers { window_scaling, timestamps, sack, .. } = self.ends[sender].offers;
        let kernels = Segment {
            window_scale: tcp.window_scale.map(|(_, shift)| shift),
            timestamps: tcp.timestamps.map(|(value, echo)| Timestamps { value, echo }),
            sack_permitted: tcp.sack_permitted.is_some(),
            ..Segment::default()
        };
        let offered = Segment {
            window_scale: kernels.window_scale.filter(|_| window_scaling),
            timestamps: kernels.timestamps.filter(|_| timestamps),
            sack_permitted: kernels.sack_permitted && sack,
            ..kernels
        };
        kernels.option_bytes() - offered.option_bytes()
    }

    /// Takes out of a SYN what not both ends are to offer; its header then. What the initiator offers alone goes too: a kernel
    /// that grants it would use it.
    fn agreed(&self, tcp: &Tcp, packet: &mut [u8]) -> Tcp {
        let mut agreed = *tcp;
        if !tcp.flags.syn() {
            return agreed;
        }
        let both = |offers: fn(&Offers) -> bool| Side::BOTH.iter().all(|side| offers(&self.ends[*side].offers));
        let mut remove = |at: usize, length: usize| {
            (at..at + length).for_each(|at| checksum::replace(packet, tcp.at + IN_TCP, at, NO_OPERATION));
        };
        if let Some((at, _)) = tcp.window_scale.filter(|_| !both(|offers| offers.window_scaling)) {
            remove(at - 2, 3);
            agreed.window_scale = None;
        }
        if let Some(at) = tcp.sack_permitted.filter(|_| !both(|offers| offers.sack)) {
            remove(at, 2);
            agreed.sack_permitted = None;
        }
        if let Some(at) = tcp.timestamps_at.filter(|_| !both(|offers| offers.timestamps)) {
            remove(at, 10);
            agreed.timestamps = None;
        }
        if !both(|offers| offers.ecn) {
            agreed.flags.0 &= !(Flags::ECE | Flags::CWR);
            checksum::replace(packet, tcp.at + IN_TCP, tcp.at + FLAGS, agreed.flags.0);
        }
        agreed
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
            sack_permitted: tcp.sack_permitted.is_some(),
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
    match *packet {
        // An IPv6 header has no checksum, and that of TCP does not cover the traffic class.
        [first, _, ..] if first >> 4 == 6 => packet[TRAFFIC_CLASS] |= 0b11 << 4,
        [_, class, ..] if packet.len() >= 20 => checksum::replace(packet, OF_IPV4, TRAFFIC_CLASS, class | 0b11),
        _ => {}
    }
}
