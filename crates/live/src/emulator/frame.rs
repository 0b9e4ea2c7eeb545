//! What a packet from a device says of itself, as far as the path needs it.
//!
//! Places are kept beside values, since some are rewritten. Anything may come out of a device: what makes no sense is refused, and
//! nothing here panics.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroU16, NonZeroU32};

use flowloom_core::wire::{Ecn, Flags};
use flowloom_core::workload::IpVersion;

use crate::addresses;

/// Protocol numbers of IP headers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Option kinds of TCP (RFC 9293 section 3.1, RFC 7323, RFC 2018).
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

/// SACK blocks that are read; the option has room for one more.
pub const SACK_BLOCKS: usize = 3;

/// A packet of IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The version of IP.
    pub version: IpVersion,
    /// Its sender: over IPv6 the IPv4 address for which that stands ([`addresses::ipv4_of`]), unspecified if it stands for none.
    pub source: Ipv4Addr,
    /// Its receiver, likewise.
    pub destination: Ipv4Addr,
    /// The protocol behind the header; of IPv6 the next header.
    pub protocol: u8,
    /// The whole packet, by its header, in bytes. What was read behind them is no part of it.
    pub bytes: u16,
    /// The ECN field.
    pub ecn: Ecn,
    /// What is behind the header.
    pub transport: Transport,
}

/// What is behind an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A segment of TCP.
    Tcp(Tcp),
    /// A datagram of UDP: its ports.
    Udp([u16; 2]),
    /// Anything else; so are fragments, and packets with extension headers.
    Other,
}

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Where it begins in the packet.
    pub at: usize,
    /// Source and destination.
    pub ports: [u16; 2],
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Flags.
    pub flags: Flags,
    /// The window field.
    pub window: u16,
    /// Payload behind it, in bytes.
    pub payload_bytes: u16,
    /// The maximum segment size option, and where its value stands.
    pub mss: Option<(usize, NonZeroU16)>,
    /// The window scale option, and where its value stands.
    pub window_scale: Option<(usize, u8)>,
    /// Where the SACK-permitted option stands.
    pub sack_permitted: Option<usize>,
    /// The timestamps option: value and echo. A value of 0 is left out.
    pub timestamps: Option<(NonZeroU32, u32)>,
    /// Where the timestamps option stands.
    pub timestamps_at: Option<usize>,
    /// The first SACK blocks, `[start, end)`; unused ones are empty.
    pub sack: [(u32, u32); SACK_BLOCKS],
}

/// Why a packet was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is no packet of IPv4 or IPv6.
    NotIp,
    /// Its lengths cannot be.
    Malformed,
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Frame {
    /// Reads a packet.
    ///
    /// # Errors
    /// It is none of IP, or makes no sense.
    pub fn read(packet: &[u8]) -> Result<Frame, Unread> {
        match packet.first().map(|first| first >> 4) {
            Some(4) => Frame::read_ipv4(packet),
            Some(6) => Frame::read_ipv6(packet),
            _ => Err(Unread::NotIp),
        }
    }

    fn read_ipv4(packet: &[u8]) -> Result<Frame, Unread> {
        let header = packet.first_chunk::<20>().ok_or(Unread::Malformed)?;
        let (at, bytes) = (usize::from(header[0] & 0x0f) * 4, word(header, 2));
        if at < 20 || usize::from(bytes) < at {
            return Err(Unread::Malformed);
        }
        let behind = packet.get(at..usize::from(bytes)).ok_or(Unread::Malformed)?;
        // More fragments, or not the first one.
        let is_fragment = word(header, 6) & 0x3fff != 0;
        let transport = if is_fragment { Transport::Other } else { Transport::read(header[9], behind, at)? };
        Ok(Frame {
            version: IpVersion::V4,
            source: Ipv4Addr::from_bits(long(header, 12)),
            destination: Ipv4Addr::from_bits(long(header, 16)),
            protocol: header[9],
            bytes,
            ecn: Ecn::from_traffic_class(header[1]),
            transport,
        })
    }

    /// RFC 8200 section 3. Extension headers are not looked behind: no kernel sends them with what connections send.
    fn read_ipv6(packet: &[u8]) -> Result<Frame, Unread> {
        const HEADER: u16 = IpVersion::V6.header_bytes() as u16;
        let header = packet.first_chunk::<{ HEADER as usize }>().ok_or(Unread::Malformed)?;
        let bytes = word(header, 4).checked_add(HEADER).ok_or(Unread::Malformed)?;
        let behind = packet.get(header.len()..usize::from(bytes)).ok_or(Unread::Malformed)?;
        let address = |at: usize| {
            let bits = header[at..at + 16].iter().fold(0, |bits: u128, byte| bits << 8 | u128::from(*byte));
            addresses::ipv4_of(Ipv6Addr::from_bits(bits)).unwrap_or(Ipv4Addr::UNSPECIFIED)
        };
        Ok(Frame {
            version: IpVersion::V6,
            source: address(8),
            destination: address(24),
            protocol: header[6],
            bytes,
            ecn: Ecn::from_traffic_class(header[1] >> 4),
            transport: Transport::read(header[6], behind, header.len())?,
        })
    }

    /// Source and destination port, if it has any.
    pub fn ports(&self) -> Option<[u16; 2]> {
        match self.transport {
            Transport::Tcp(Tcp { ports, .. }) | Transport::Udp(ports) => Some(ports),
            Transport::Other => None,
        }
    }
}

impl Transport {
    /// Reads what is behind an IP header and begins at `at` in the packet: `behind`, of this protocol.
    fn read(protocol: u8, behind: &[u8], at: usize) -> Result<Transport, Unread> {
        Ok(match protocol {
            TCP => Transport::Tcp(Tcp::read(behind, at)?),
            UDP if behind.len() < 8 => return Err(Unread::Malformed),
            UDP => Transport::Udp([word(behind, 0), word(behind, 2)]),
            _ => Transport::Other,
        })
    }
}

impl Tcp {
    /// Reads the header at the beginning of `bytes`, which begin at `at` in the packet and end with it.
    fn read(bytes: &[u8], at: usize) -> Result<Tcp, Unread> {
        let header = bytes.first_chunk::<20>().ok_or(Unread::Malformed)?;
        let length = usize::from(header[12] >> 4) * 4;
        if length < 20 || length > bytes.len() {
            return Err(Unread::Malformed);
        }
        let mut tcp = Tcp {
            at,
            ports: [word(header, 0), word(header, 2)],
            sequence: long(header, 4),
            acknowledgement: long(header, 8),
            flags: Flags(header[13]),
            window: word(header, 14),
            payload_bytes: (bytes.len() - length) as u16,
            mss: None,
            window_scale: None,
            sack_permitted: None,
            timestamps: None,
            timestamps_at: None,
            sack: Default::default(),
        };
        tcp.read_options(&bytes[..length]);
        Ok(tcp)
    }

    /// Reads the options behind the first 20 bytes of the header. A broken one ends them.
    fn read_options(&mut self, header: &[u8]) {
        let is_syn = self.flags.syn();
        let mut at = 20;
        while let Some(&kind) = header.get(at) {
            match kind {
                option::END => return,
                option::NO_OPERATION => {
                    at += 1;
                    continue;
                }
                _ => {}
            }
            let length = header.get(at + 1).map_or(0, |length| usize::from(*length));
            if length < 2 || at + length > header.len() {
                return;
            }
            match (kind, length) {
                (option::MAXIMUM_SEGMENT_SIZE, 4) if is_syn => {
                    self.mss = NonZeroU16::new(word(header, at + 2)).map(|mss| (self.at + at + 2, mss));
                }
                (option::WINDOW_SCALE, 3) if is_syn => {
                    self.window_scale = Some((self.at + at + 2, header[at + 2].min(LARGEST_SHIFT)));
                }
                (option::SACK_PERMITTED, 2) if is_syn => self.sack_permitted = Some(self.at + at),
                (option::TIMESTAMPS, 10) => {
                    self.timestamps_at = Some(self.at + at);
                    let echo = long(header, at + 6);
                    self.timestamps = NonZeroU32::new(long(header, at + 2)).map(|value| (value, echo));
                }
                (option::SACK, length) if length % 8 == 2 => {
                    for (place, at) in self.sack.iter_mut().zip((at + 2..at + length).step_by(8)) {
                        *place = (long(header, at), long(header, at + 4));
                    }
                }
                _ => {}
            }
            at += length;
        }
    }
}

#[cfg(test)]
pub mod tests {
    use flowloom_core::time::Time;
    use flowloom_core::wire::{Decoder, LinkType, Parsed};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::super::checksum::{IN_TCP, OF_IPV4, tests::sum};
    use super::*;

    /// A packet to be made.
    #[derive(Clone, Debug)]
    pub struct Make<'a> {
        pub version: IpVersion,
        pub from: (Ipv4Addr, u16),
        pub to: (Ipv4Addr, u16),
        pub sequence: u32,
        pub acknowledgement: u32,
        pub flags: u8,
        pub window: u16,
        pub options: &'a [u8],
        pub payload: usize,
        pub ecn: Ecn,
    }

    impl Make<'_> {
        fn ip(&self, protocol: u8, behind: &[u8]) -> Vec<u8> {
            if self.version == IpVersion::V6 {
                let mut packet = vec![0x60, self.ecn.bits() << 4, 0, 9];
                packet.extend((behind.len() as u16).to_be_bytes());
                packet.extend([protocol, 64]);
                packet.extend(addresses::ipv6_of(self.from.0).octets());
                packet.extend(addresses::ipv6_of(self.to.0).octets());
                packet.extend(behind);
                return packet;
            }
            let mut packet = vec![0x45, self.ecn.bits(), 0, 0, 0, 7, 0x40, 0, 64, protocol, 0, 0];
            packet.extend(self.from.0.octets());
            packet.extend(self.to.0.octets());
            packet.extend(behind);
            let length = packet.len() as u16;
            packet[2..4].copy_from_slice(&length.to_be_bytes());
            let checksum = !sum(&[&packet[..20]]);
            packet[OF_IPV4..OF_IPV4 + 2].copy_from_slice(&checksum.to_be_bytes());
            packet
        }

        /// With its checksums.
        pub fn tcp(&self) -> Vec<u8> {
            assert_eq!(self.options.len() % 4, 0);
            let mut tcp = Vec::new();
            tcp.extend(self.from.1.to_be_bytes());
            tcp.extend(self.to.1.to_be_bytes());
            tcp.extend(self.sequence.to_be_bytes());
            tcp.extend(self.acknowledgement.to_be_bytes());
            tcp.extend([((20 + self.options.len()) / 4 * 16) as u8, self.flags]);
            tcp.extend(self.window.to_be_bytes());
            tcp.extend([0; 4]);
            tcp.extend(self.options);
            tcp.extend((0..self.payload).map(|n| n as u8));
            let mut packet = self.ip(TCP, &tcp);
            let checksum = !pseudo_sum(&packet);
            let at = self.version.header_bytes() as usize + IN_TCP;
            packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
            packet
        }

        pub fn udp(&self) -> Vec<u8> {
            let mut udp = Vec::new();
            udp.extend(self.from.1.to_be_bytes());
            udp.extend(self.to.1.to_be_bytes());
            udp.extend((8 + self.payload as u16).to_be_bytes());
            udp.extend([0; 2]);
            udp.extend((0..self.payload).map(|n| n as u8));
            self.ip(UDP, &udp)
        }

        pub fn icmp(&self) -> Vec<u8> {
            self.ip(1, &vec![8; 8 + self.payload])
        }
    }

    /// The sum that the checksum of a TCP segment is of, pseudo header included.
    fn pseudo_sum(packet: &[u8]) -> u16 {
        let (addresses, behind) =
            if packet[0] >> 4 == 6 { (&packet[8..40], &packet[40..]) } else { (&packet[12..20], &packet[20..]) };
        sum(&[addresses, &[0, TCP], &(behind.len() as u16).to_be_bytes(), behind])
    }

    /// Fails unless the checksums of the segment, and of the IP header if that has one, are right.
    pub fn verify_tcp(packet: &[u8]) {
        assert!(packet[0] >> 4 == 6 || sum(&[&packet[..20]]) == 0xffff, "IP header");
        assert_eq!(pseudo_sum(packet), 0xffff, "segment");
    }

    pub fn make() -> Make<'static> {
        Make {
            version: IpVersion::V4,
            from: (Ipv4Addr::new(198, 18, 1, 0), 40_000),
            to: (Ipv4Addr::new(198, 19, 1, 0), 5_000),
            sequence: 0xffff_fff0,
            acknowledgement: 77,
            flags: Flags::ACK,
            window: 500,
            options: &[],
            payload: 0,
            ecn: Ecn::NotEct,
        }
    }

    #[test]
    fn options_are_found_where_they_stand() {
        let options = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 3, 1, 3, 3, 7];
        let packet = Make { flags: Flags::SYN, options: &options, payload: 3, ..make() }.tcp();
        verify_tcp(&packet);
        let Ok(Frame { bytes: 63, transport: Transport::Tcp(tcp), .. }) = Frame::read(&packet) else { panic!() };
        assert_eq!((tcp.mss, tcp.window_scale), (Some((42, NonZeroU16::new(1460).unwrap())), Some((59, 7))));
        assert_eq!((tcp.sack_permitted, tcp.timestamps_at, tcp.payload_bytes), (Some(44), Some(46), 3));
        assert_eq!(tcp.timestamps, Some((NonZeroU32::new(9).unwrap(), 3)));
        let options = [
            1, 1, 5, 34, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8,
        ];
        let packet = Make { options: &options, ..make() }.tcp();
        let Ok(Frame { transport: Transport::Tcp(tcp), .. }) = Frame::read(&packet) else { panic!() };
        assert_eq!(tcp.sack, [(1, 2), (3, 4), (5, 6)], "and a fourth");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let packet = Make { payload: 4, ..make() }.tcp();
        assert_eq!(Frame::read(&[]), Err(Unread::NotIp));
        assert_eq!(Frame::read(&[0x50; 60]), Err(Unread::NotIp));
        assert_eq!(Frame::read(&[0x60; 60]), Err(Unread::Malformed), "IPv6 of 24,712 bytes");
        for length in 1..packet.len() {
            assert_eq!(Frame::read(&packet[..length]), Err(Unread::Malformed), "{length}");
        }
        let with = |at: usize, value: u8| {
            let mut packet = packet.clone();
            packet[at] = value;
            Frame::read(&packet)
        };
        assert_eq!(with(0, 0x44), Err(Unread::Malformed), "an IP header of 16 bytes");
        assert_eq!(with(32, 0x40), Err(Unread::Malformed), "a TCP header of 16 bytes");
        assert_eq!(with(32, 0xf0), Err(Unread::Malformed), "one of 60, with 24 left");
        assert!(with(6, 0x20).is_ok_and(|frame| frame.transport == Transport::Other), "a fragment");
        let padded = [packet.clone(), vec![0; 9]].concat();
        assert_eq!(Frame::read(&padded), Frame::read(&packet), "what a link added behind it");
    }

    #[test]
    fn ipv6_is_read_as_far_as_its_addresses_and_headers_are_known() {
        let make = Make { version: IpVersion::V6, ecn: Ecn::Ect0, payload: 4, ..make() };
        let packet = make.tcp();
        verify_tcp(&packet);
        let frame = Frame::read(&packet).unwrap();
        assert_eq!((frame.version, frame.source, frame.destination), (IpVersion::V6, make.from.0, make.to.0));
        assert_eq!((frame.bytes, frame.ecn, frame.protocol), (64, Ecn::Ect0, TCP));
        let Transport::Tcp(tcp) = frame.transport else { panic!("{frame:?}") };
        assert_eq!((tcp.at, tcp.ports, tcp.payload_bytes), (40, [40_000, 5_000], 4));
        for length in 1..packet.len() {
            assert_eq!(Frame::read(&packet[..length]), Err(Unread::Malformed), "{length}");
        }
        let with = |at: usize, value: u8| {
            let mut packet = packet.clone();
            packet[at] = value;
            Frame::read(&packet).unwrap()
        };
        assert_eq!(with(6, 44).transport, Transport::Other, "a fragment");
        assert_eq!(with(8, 0xfe).source, Ipv4Addr::UNSPECIFIED, "an address of nobody here");
        let padded = [packet.clone(), vec![0; 9]].concat();
        assert_eq!(Frame::read(&padded), Frame::read(&packet), "what a link added behind it");
        let udp = Frame::read(&make.udp()).unwrap();
        assert_eq!((udp.bytes, udp.transport), (52, Transport::Udp([40_000, 5_000])));
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(12), failure_persistence: None, ..ProptestConfig::default() })]

        /// The decoder of captures finds the same, in packets with some bytes changed.
        #[test]
        fn reads_what_the_decoder_of_captures_reads(
            options in prop::collection::vec(0..12_u8, 40),
            words in 0..=10_usize,
            changes in prop::collection::vec((0..70_usize, any::<u8>()), 0..4),
            flags in any::<u8>(),
            version in prop::sample::select(vec![IpVersion::V4, IpVersion::V6]),
        ) {
            let mut packet = Make { version, options: &options[..4 * words], flags, payload: 30, ..make() }.tcp();
            for (at, value) in changes {
                if let Some(byte) = packet.get_mut(version.header_bytes() as usize + at) {
                    *byte = value;
                }
            }
            let decoded = Decoder::default().decode(Time::ZERO, LinkType::RawIp, &packet, packet.len() as u32);
            match (Frame::read(&packet), decoded) {
                (Ok(Frame { transport: Transport::Tcp(tcp), bytes, .. }), Ok(Parsed::Segment(segment))) => {
                    prop_assert_eq!(tcp.ports, [segment.source.port, segment.destination.port]);
                    prop_assert_eq!((tcp.sequence, tcp.acknowledgement), (segment.sequence, segment.acknowledgement));
                    prop_assert_eq!((tcp.flags, tcp.window), (segment.flags, segment.window));
                    prop_assert_eq!(u32::from(tcp.payload_bytes), segment.payload_bytes);
                    prop_assert_eq!(u32::from(bytes) + 14, segment.link_bytes);
                    prop_assert_eq!(tcp.mss.map(|mss| mss.1.get()), segment.mss);
                    prop_assert_eq!(tcp.window_scale.map(|scale| scale.1), segment.window_scale);
                }
                (frame, decoded) => prop_assert!(frame.is_err() && decoded.is_err(), "{:?}, {:?}", frame, decoded),
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100), first in 0x40..0x70_u8) {
            let mut bytes = bytes;
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            if let Ok(frame) = Frame::read(&bytes) {
                prop_assert!(usize::from(frame.bytes) <= bytes.len());
            }
        }
    }
}
