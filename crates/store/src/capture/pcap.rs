//! The pcap format (draft-ietf-opsawg-pcap): one header, then records.

use flowloom_core::time::Time;
use flowloom_core::wire::LinkType;

use super::detect::{PCAP_MICROSECONDS, PCAP_NANOSECONDS, PCAPNG};
use super::error::{CaptureErrorKind, Fault, Grouped};
use super::record::{ByteOrder, MOST_PACKET_BYTES, Record};
use super::source::Source;

/// Bytes of the file header and of a record header.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Reads records; everything the file header fixes.
pub(super) struct Pcap {
    order: ByteOrder,
    nanoseconds_per_tick: u64,
    link: LinkType,
    lengths: Lengths,
}

/// Which of a record's two lengths is the captured one. Old libpcap wrote them the other way round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    /// Version 2.4 and all that is written today.
    CapturedFirst,
    /// Before version 2.3.
    WireFirst,
    /// Version 2.3 came both ways: the captured length is the smaller.
    SmallerIsCaptured,
}

impl Pcap {
    /// Reads the file header.
    pub fn open(source: &mut Source) -> Result<Pcap, Fault> {
        let fault = |kind| Err(Fault { offset: 0, kind });
        if !source.require(FILE_HEADER)? {
            let found = source.available().len();
            let text = format!("{found} bytes, where the file header alone has {FILE_HEADER}");
            return fault(CaptureErrorKind::cut(text));
        }
        let header: [u8; FILE_HEADER] = *source.available().first_chunk().expect("required above");
        let magic = [header[0], header[1], header[2], header[3]];
        let order = match u32::from_be_bytes(magic) {
            PCAP_MICROSECONDS | PCAP_NANOSECONDS => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        let nanoseconds_per_tick = if order.u32(magic) == PCAP_NANOSECONDS { 1 } else { 1_000 };
        let (major, minor) = (order.u16([header[4], header[5]]), order.u16([header[6], header[7]]));
        let lengths = match (major, minor) {
            (2, 0..3) => Lengths::WireFirst,
            (2, 3) => Lengths::SmallerIsCaptured,
            (2, 4..) => Lengths::CapturedFirst,
            _ => return fault(CaptureErrorKind::Corrupt(format!("pcap version {major}.{minor} does not exist (2.4)"))),
        };
        // The upper bits say how long the FCS is; lengths come from the IP header, so that it does not matter.
        let link = LinkType::from_number(order.u32([header[20], header[21], header[22], header[23]]) & 0x03ff_ffff);
        source.consume(FILE_HEADER);
        Ok(Pcap { order, nanoseconds_per_tick, link, lengths })
    }

    /// The next record, `None` at the end of the file.
    #[inline]
    pub fn next(&mut self, source: &mut Source) -> Result<Option<Record>, Fault> {
        if !source.require(RECORD_HEADER)? {
            let left = source.available().len();
            if left == 0 && !source.is_cut() {
                return Ok(None);
            }
            return Err(cut(source, RECORD_HEADER, true));
        }
        let header: &[u8; RECORD_HEADER] = source.available().first_chunk().expect("required above");
        let field = |at: usize| self.order.u32([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let seconds = u64::from(field(0)) * 1_000_000_000;
        let time = Time::from_nanos(seconds + u64::from(field(4)) * self.nanoseconds_per_tick);
        let (captured, wire_length) = match (self.lengths, field(8), field(12)) {
            (Lengths::CapturedFirst, captured, wire) => (captured, wire),
            (Lengths::WireFirst, wire, captured) => (captured, wire),
            (Lengths::SmallerIsCaptured, one, other) => (one.min(other), one.max(other)),
        };
        let captured = captured as usize;
        // A file header in the place of a record reads as a record without bytes (pcap) or with far too many (pcapng).
        if captured > MOST_PACKET_BYTES || (captured == 0 && wire_length == 0 && begins_capture(header)) {
            return Err(no_record(source, captured as u64));
        }
        if !source.require(RECORD_HEADER + captured)? {
            return Err(cut(source, RECORD_HEADER + captured, captured <= wire_length as usize));
        }
        let start = source.position() + RECORD_HEADER;
        source.consume(RECORD_HEADER + captured);
        Ok(Some(Record { time: Some(time), link: self.link, wire_length, from: None, start, length: captured }))
    }
}

/// Whether a capture file begins with these bytes.
#[cold]
fn begins_capture(bytes: &[u8]) -> bool {
    let Some(magic) = bytes.first_chunk::<4>() else { return false };
    let pcap = [PCAP_MICROSECONDS, PCAP_NANOSECONDS];
    *magic == PCAPNG || pcap.contains(&u32::from_be_bytes(*magic)) || pcap.contains(&u32::from_le_bytes(*magic))
}

/// What begins here is no record.
#[cold]
fn no_record(source: &Source, captured: u64) -> Fault {
    let text = if begins_capture(source.available()) {
        "another capture begins here: captures cannot be joined with cat, give them as separate files".to_string()
    } else {
        let (captured, most) = (Grouped(captured), Grouped(MOST_PACKET_BYTES as u64));
        format!("record claims {captured} captured bytes, more than any packet has ({most})")
    };
    Fault { offset: source.offset(), kind: CaptureErrorKind::Corrupt(text) }
}

/// The record that begins here needs `needed` bytes and the file has fewer; `plausible` if a record may be so long.
#[cold]
fn cut(source: &Source, needed: usize, plausible: bool) -> Fault {
    let (needed, found) = (Grouped(needed as u64), Grouped(source.available().len() as u64));
    let text = format!("the record needs {needed} bytes and {found} are left");
    Fault { offset: source.offset(), kind: CaptureErrorKind::Truncated { text, plausible } }
}
