//! Packets that a capture holds more than once, counted as they come.

use crate::time::{Duration, Time};

use super::packet::{Datagram, Segment};

/// Packets that are remembered, by a few bits of their mark: the next one with the same bits takes the place.
const REMEMBERED: usize = 512;

/// A packet of the same identification and numbers within this is a copy.
const COPY_WITHOUT_DOUBT: Duration = Duration::from_millis(5);

/// Without an identification two packets may be alike: a copy comes sooner than a program sends again.
const COPY_WITH_DOUBT: Duration = Duration::from_micros(100);

/// Multiplies like the hash of Fibonacci: the upper bits depend on all.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Counts exact copies among the packets of a capture: mirror ports of both directions, `-i any` and overlapping files hold each packet
/// twice. Copies may differ in what a router changes, as the time to live. It misses a copy
/// whose place another packet took meanwhile: the count tells whether a capture holds many, and not which.
#[derive(Clone, Debug)]
pub struct Copies {
    recent: Box<[(u64, Time); REMEMBERED]>,
    judged: u64,
    copies: u64,
}

impl Default for Copies {
    fn default() -> Copies {
        Copies { recent: Box::new([(0, Time::ZERO); REMEMBERED]), judged: 0, copies: 0 }
    }
}

impl Copies {
    /// Takes note of a segment. Without identification and payload it tells nothing: acknowledgements that ask for data are alike.
    #[inline]
    pub fn segment(&mut self, now: Time, segment: &Segment) {
        if segment.ip_id.is_none() && segment.payload_bytes == 0 {
            return;
        }
        let numbers = u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgement);
        let id = segment.ip_id.map_or(0, |id| id.get());
        let mark = numbers ^ u64::from(id) << 24 ^ u64::from(segment.payload_bytes);
        self.note(now, mark, segment.ip_id.is_some());
    }

    /// Takes note of a datagram. Without identification and checksum it tells nothing.
    #[inline]
    pub fn datagram(&mut self, now: Time, datagram: &Datagram) {
        let Some(mark) = datagram.mark else { return };
        let mark =
            u64::from(mark.get()) << 32 | u64::from(datagram.source.port) << 16 ^ u64::from(datagram.payload_bytes);
        self.note(now, mark, datagram.has_id());
    }

    #[inline]
    fn note(&mut self, now: Time, mark: u64, has_id: bool) {
        let mark = mark.wrapping_mul(SPREAD);
        let (before, at) = std::mem::replace(&mut self.recent[(mark >> 55) as usize], (mark, now));
        self.judged += 1;
        if before == mark {
            let within = if has_id { COPY_WITHOUT_DOUBT } else { COPY_WITH_DOUBT };
            self.copies += u64::from(now >= at && now.since(at) <= within);
        }
    }

    /// Packets that are copies of one before.
    pub fn copies(&self) -> u64 {
        self.copies
    }

    /// Packets of which it could be told whether they are.
    pub fn judged(&self) -> u64 {
        self.judged
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU16, NonZeroU32};

    use super::super::packet::{Address, Flags};
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn address(port: u16) -> Address {
        Address { ip: 1, port }
    }

    fn segment(sequence: u32, id: u16, payload_bytes: u32) -> Segment {
        Segment {
            source: address(1),
            destination: address(2),
            sequence,
            acknowledgement: 7,
            flags: Flags(Flags::ACK),
            window: 500,
            payload_bytes,
            link_bytes: payload_bytes + 54,
            ip_id: NonZeroU16::new(id),
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

    fn datagram(mark: u32) -> Datagram {
        Datagram {
            source: address(1),
            destination: address(2),
            payload_bytes: 100,
            link_bytes: 142,
            mark: NonZeroU32::new(mark),
            quic: false,
            vlan: None,
            from: None,
            macs: None,
        }
    }

    /// What two packets count, the second so many microseconds after the first.
    fn segments(apart: u64, one: Segment, other: Segment) -> (u64, u64) {
        let mut copies = Copies::default();
        copies.segment(at(1_000), &one);
        copies.segment(at(1_000 + apart), &other);
        (copies.copies(), copies.judged())
    }

    #[test]
    fn copies_are_told_from_packets_that_are_alike() {
        let data = segment(1, 9, 1_000);
        let routed = Segment { link_bytes: 2_000, macs: Some([[1; 6]; 2]), ..data };
        for (apart, other, copies) in [
            (0, data, 1),
            (3_000, routed, 1),
            (9_000, data, 0),
            (10, segment(1, 10, 1_000), 0),
            (10, segment(1_001, 9, 1_000), 0),
        ] {
            assert_eq!(segments(apart, data, other), (copies, 2), "{apart}");
        }
        // Without an identification, soon enough and with data.
        let data = segment(1, 0, 1_000);
        assert_eq!((segments(50, data, data), segments(3_000, data, data)), ((1, 2), (0, 2)));
        let asking = segment(1, 0, 0);
        assert_eq!(segments(5, asking, asking), (0, 0));
    }

    #[test]
    fn datagrams_are_told_by_identification_and_checksum() {
        let counted = |apart: u64, mark: u32| {
            let mut copies = Copies::default();
            copies.datagram(at(0), &datagram(mark));
            copies.datagram(at(apart), &datagram(mark));
            (copies.copies(), copies.judged())
        };
        assert_eq!([counted(3_000, 0x5_0007), counted(50, 7), counted(3_000, 7)], [(1, 2), (1, 2), (0, 2)]);
        assert_eq!(counted(5, 0), (0, 0), "nothing tells one from the next");
    }

    #[test]
    fn most_copies_are_found_behind_others() {
        let mut copies = Copies::default();
        for packet in 0..10_000 {
            copies.segment(at(20 * packet), &segment(1_000 * packet as u32, packet as u16 | 1, 1_000));
            if packet >= 20 {
                let before = packet - 20;
                copies.segment(at(20 * packet), &segment(1_000 * before as u32, before as u16 | 1, 1_000));
            }
        }
        assert!(copies.copies() > 9_000 && copies.judged() == 19_980, "{} of {}", copies.copies(), copies.judged());
    }
}
