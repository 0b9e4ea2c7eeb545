//! Captured packets as they were: a pcapng file of one section and one interface (draft-ietf-opsawg-pcapng).

use std::io::{self, Write};

use flowloom_core::wire::LinkType;
use flowloom_core::workload::LinkSide;

use super::record::Packet;

/// Block types (section 11.1 of the draft).
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const UNKNOWN_LENGTH: u64 = u64::MAX;

/// Options.
const END_OF_OPTIONS: u16 = 0;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

/// Type and both lengths of a block.
const AROUND: usize = 12;
/// The fields of an enhanced packet block before the packet.
const PACKET_FIELDS: usize = 20;
/// Its flags, and the end of its options.
const PACKET_OPTIONS: usize = 12;

/// What a packet of which so many bytes were captured takes in such a file.
pub const fn pcapng_record_bytes(captured: usize) -> u64 {
    (AROUND + PACKET_FIELDS + captured.next_multiple_of(4) + PACKET_OPTIONS) as u64
}

/// Writes packets with their times in nanoseconds, how long they were on the wire, and which way they went; at the end, what was lost.
///
/// The writer does not buffer: give it a [`std::io::BufWriter`].
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: W,
    bytes: u64,
    last: (u32, u32),
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the headers. All packets will be of this link type, from the interface of this name, at most `snap` bytes of each.
    ///
    /// # Errors
    /// Of the underlying writer; of kind [`io::ErrorKind::InvalidInput`] for a link type that no interface of Linux captures as.
    pub fn new(out: W, link: LinkType, interface: &str, snap: u32) -> io::Result<PcapngWriter<W>> {
        let number: u16 = match link {
            LinkType::Ethernet => 1,
            LinkType::RawIp => 101,
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "captures are of Ethernet or of IP")),
        };
        let mut writer = PcapngWriter { out, bytes: 0, last: (0, 0) };
        let mut section = Vec::new();
        section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        section.extend(1u16.to_le_bytes());
        section.extend(0u16.to_le_bytes());
        section.extend(UNKNOWN_LENGTH.to_le_bytes());
        writer.block(SECTION_HEADER, &section)?;
        let mut description = Vec::new();
        description.extend(number.to_le_bytes());
        description.extend(0u16.to_le_bytes());
        description.extend(snap.to_le_bytes());
        option(&mut description, IF_NAME, interface.as_bytes());
        // 10^-9 s.
        option(&mut description, IF_TSRESOL, &[9]);
        option(&mut description, END_OF_OPTIONS, &[]);
        writer.block(INTERFACE_DESCRIPTION, &description)?;
        Ok(writer)
    }

    /// Writes one packet.
    ///
    /// # Errors
    /// Of the underlying writer.
    pub fn write(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let nanos = packet.time.as_nanos();
        self.last = ((nanos >> 32) as u32, nanos as u32);
        let mut block = Vec::with_capacity(pcapng_record_bytes(packet.bytes.len()) as usize);
        for field in [0, self.last.0, self.last.1, packet.bytes.len() as u32, packet.wire_length] {
            block.extend(field.to_le_bytes());
        }
        block.extend(packet.bytes);
        pad(&mut block);
        // Bits 0 and 1: inbound is 1, outbound 2.
        let direction: u32 = packet.from.map_or(0, |from| if from == LinkSide::Right { 1 } else { 2 });
        option(&mut block, EPB_FLAGS, &direction.to_le_bytes());
        option(&mut block, END_OF_OPTIONS, &[]);
        self.block(ENHANCED_PACKET, &block)
    }

    /// How long the file is so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes how many packets the interface had and how many of them were lost, flushes, and gives back the underlying writer.
    ///
    /// # Errors
    /// Of the underlying writer.
    pub fn finish(mut self, received: u64, dropped: u64) -> io::Result<W> {
        let mut statistics = Vec::new();
        for field in [0, self.last.0, self.last.1] {
            statistics.extend(field.to_le_bytes());
        }
        option(&mut statistics, ISB_IFRECV, &received.to_le_bytes());
        option(&mut statistics, ISB_IFDROP, &dropped.to_le_bytes());
        option(&mut statistics, END_OF_OPTIONS, &[]);
        self.block(INTERFACE_STATISTICS, &statistics)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = (AROUND + body.len()) as u32;
        let mut block = Vec::with_capacity(AROUND + body.len());
        block.extend(kind.to_le_bytes());
        block.extend(length.to_le_bytes());
        block.extend(body);
        block.extend(length.to_le_bytes());
        self.bytes += u64::from(length);
        self.out.write_all(&block)
    }
}

fn option(to: &mut Vec<u8>, code: u16, value: &[u8]) {
    to.extend(code.to_le_bytes());
    to.extend((value.len() as u16).to_le_bytes());
    to.extend(value);
    pad(to);
}

fn pad(to: &mut Vec<u8>) {
    to.resize(to.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::Time;

    use super::*;
    use crate::capture::{Captures, Options};

    #[test]
    fn what_is_written_is_read() {
        let frames: Vec<Vec<u8>> = (0..9).map(|length| (0..60 + length).collect()).collect();
        let mut writer = PcapngWriter::new(Vec::new(), LinkType::Ethernet, "eth1", 128).unwrap();
        for (at, bytes) in frames.iter().enumerate() {
            let before = writer.bytes();
            let from = [None, Some(LinkSide::Left), Some(LinkSide::Right)][at % 3];
            let time = Time::from_nanos(1_700_000_000_123_456_789 + at as u64);
            let packet =
                Packet { time, link: LinkType::Ethernet, bytes, wire_length: 1_500 + at as u32, from, input: 0 };
            writer.write(&packet).unwrap();
            assert_eq!(writer.bytes() - before, pcapng_record_bytes(bytes.len()));
        }
        let length = writer.bytes();
        let file = writer.finish(12, 3).unwrap();
        assert!(file.len() as u64 > length);
        let readers: Vec<(String, Box<dyn io::Read + Send>)> = vec![("a".into(), Box::new(io::Cursor::new(file)))];
        let mut captures = Captures::from_readers(readers, Options::default()).unwrap();
        for (at, bytes) in frames.iter().enumerate() {
            let packet = captures.next_packet().unwrap().unwrap();
            assert_eq!((packet.bytes, packet.wire_length), (bytes.as_slice(), 1_500 + at as u32));
            assert_eq!(packet.time, Time::from_nanos(1_700_000_000_123_456_789 + at as u64));
            assert_eq!(packet.from, [None, Some(LinkSide::Left), Some(LinkSide::Right)][at % 3]);
        }
        assert!(captures.next_packet().unwrap().is_none());
        assert_eq!(captures.inputs()[0].drops, Some(3));
    }
}
