//! The Extensible Record Format of Endace DAG cards (ERF types, Endace EDM11-01): records without a file header.

use flowloom_core::time::Time;
use flowloom_core::wire::LinkType;
use flowloom_core::workload::LinkSide;

use super::error::{CaptureErrorKind, Fault, Grouped};
use super::facts::InputFacts;
use super::record::Record;
use super::source::Source;

/// Bytes of a record header and of an extension header.
const HEADER: usize = 16;
const EXTENSION: usize = 8;
/// Behind the headers of an Ethernet record stand an offset and a pad byte.
const ETHERNET_PAD: usize = 2;
/// Behind those of a multi-channel record, its channel; before an AAL5 frame, the ATM header without its checksum.
const CHANNEL: usize = 4;
const ATM_HEADER: usize = 4;

/// Record types, the low seven bits of the type field; the highest says that extension headers follow.
mod kind {
    pub const HDLC_POS: u8 = 1;
    pub const ETHERNET: u8 = 2;
    pub const AAL5: u8 = 4;
    pub const MC_HDLC: u8 = 5;
    pub const MC_AAL5: u8 = 9;
    pub const COLOUR_HDLC_POS: u8 = 10;
    pub const COLOUR_ETHERNET: u8 = 11;
    pub const DSM_COLOUR_HDLC_POS: u8 = 15;
    pub const DSM_COLOUR_ETHERNET: u8 = 16;
    pub const COLOUR_MC_HDLC_POS: u8 = 17;
    pub const COLOUR_HASH_POS: u8 = 19;
    pub const COLOUR_HASH_ETHERNET: u8 = 20;
    pub const IPV4: u8 = 22;
    pub const IPV6: u8 = 23;
    pub const META: u8 = 27;
    pub const LAST: u8 = 29;
    pub const PAD: u8 = 48;
}

const HAS_EXTENSIONS: u8 = 0x80;

/// A record header.
struct Header {
    time: Time,
    kind: u8,
    extended: bool,
    interface: u8,
    record_length: usize,
    /// Packets lost since the record before, or a colour, by type.
    loss_or_colour: u16,
    wire_length: u16,
}

impl Header {
    fn read(bytes: &[u8; HEADER]) -> Header {
        let stamp =
            u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]]);
        // 32 bits of seconds, 32 of their fraction, to the nearest nanosecond.
        let (seconds, fraction) = (stamp >> 32, stamp & 0xffff_ffff);
        let nanos = seconds * 1_000_000_000 + ((fraction * 1_000_000_000 + (1 << 31)) >> 32);
        Header {
            time: Time::from_nanos(nanos),
            kind: bytes[8] & !HAS_EXTENSIONS,
            extended: bytes[8] & HAS_EXTENSIONS != 0,
            // The third bit of the number came later, above the flags.
            interface: bytes[9] & 0b11 | (bytes[9] & 0x40) >> 4,
            record_length: usize::from(u16::from_be_bytes([bytes[10], bytes[11]])),
            loss_or_colour: u16::from_be_bytes([bytes[12], bytes[13]]),
            wire_length: u16::from_be_bytes([bytes[14], bytes[15]]),
        }
    }

    /// Whether this can be the header of a record: what tells an ERF file from any other.
    fn is_plausible(&self) -> bool {
        let seconds = self.time.as_nanos() / 1_000_000_000;
        // From 1995, when the first such card was made, to 2050.
        (788_918_400..2_524_608_000).contains(&seconds)
            && (kind::HDLC_POS..=kind::LAST).contains(&self.kind)
            && self.record_length >= HEADER
            && (self.wire_length > 0 || self.kind == kind::META)
    }

    /// Whether the loss counter is one: coloured types hold a colour or a hash in its place, metadata comes from
    /// software.
    fn counts_losses(&self) -> bool {
        !matches!(
            self.kind,
            kind::COLOUR_HDLC_POS
                | kind::COLOUR_ETHERNET
                | kind::DSM_COLOUR_HDLC_POS
                | kind::DSM_COLOUR_ETHERNET
                | kind::COLOUR_MC_HDLC_POS
                | kind::COLOUR_HASH_POS
                | kind::COLOUR_HASH_ETHERNET
                | kind::META
        )
    }

    /// What the packet begins with, and how many bytes stand between the headers and it; `None` for records that hold
    /// no packet of a link Flowloom knows.
    fn packet(&self, after: &[u8]) -> Option<(LinkType, usize)> {
        let number = match self.kind {
            kind::ETHERNET | kind::COLOUR_ETHERNET | kind::DSM_COLOUR_ETHERNET | kind::COLOUR_HASH_ETHERNET => {
                return Some((LinkType::Ethernet, ETHERNET_PAD));
            }
            kind::IPV4 | kind::IPV6 => return Some((LinkType::RawIp, 0)),
            kind::HDLC_POS | kind::COLOUR_HDLC_POS | kind::DSM_COLOUR_HDLC_POS | kind::COLOUR_HASH_POS => {
                return Some((pos(after), 0));
            }
            kind::MC_HDLC | kind::COLOUR_MC_HDLC_POS => {
                return Some((pos(after.get(CHANNEL..).unwrap_or_default()), CHANNEL));
            }
            kind::AAL5 => (RFC_1483, ATM_HEADER),
            kind::MC_AAL5 => (RFC_1483, CHANNEL + ATM_HEADER),
            _ => return None,
        };
        Some((LinkType::from_number(number.0), number.1))
    }
}

/// LINKTYPE_ATM_RFC1483: LLC over AAL5.
const RFC_1483: u32 = 100;
/// LINKTYPE_PPP and LINKTYPE_C_HDLC.
const PPP: u32 = 9;
const CISCO_HDLC: u32 = 104;

/// Packet over SONET is PPP in HDLC-like framing (RFC 1662) or Cisco's HDLC, which has its own address bytes.
fn pos(frame: &[u8]) -> LinkType {
    let cisco = matches!(frame, [0x0f | 0x8f, ..]);
    LinkType::from_number(if cisco { CISCO_HDLC } else { PPP })
}

/// Reads records.
///
/// The interface number is the port of the card, and the ports of a pair (0 and 1, 2 and 3, ...) face the two
/// directions of a tapped link: even ones the left. A capture of a mirror port has both directions on one port, so a
/// number says nothing until a packet of the other port of its pair has passed.
pub(super) struct Erf {
    /// One bit for each interface number that was seen.
    seen: u8,
}

impl Erf {
    /// A reader at the first record.
    pub fn new() -> Erf {
        Erf { seen: 0 }
    }

    /// The next packet, `None` at the end of the file.
    pub fn next(&mut self, source: &mut Source, facts: &mut InputFacts) -> Result<Option<Record>, Fault> {
        loop {
            if !source.require(HEADER)? {
                let left = source.available().len();
                return if left == 0 && !source.is_cut() { Ok(None) } else { Err(cut(source, HEADER)) };
            }
            let header = Header::read(source.available().first_chunk().expect("required above"));
            let length = header.record_length;
            if length < HEADER {
                return Err(corrupt(source, format!("record length {length} is shorter than its header ({HEADER})")));
            }
            if !source.require(length)? {
                return Err(cut(source, length));
            }
            let headers = headers(&source.available()[..length], header.extended)
                .ok_or_else(|| corrupt(source, format!("extension headers run past a record of {length} bytes")))?;
            if header.counts_losses() {
                facts.add_drops(u64::from(header.loss_or_colour));
            }
            let Some((link, before)) = header.packet(&source.available()[headers..length]) else {
                if header.kind != kind::PAD {
                    facts.records_skipped += 1;
                }
                source.consume(length);
                continue;
            };
            let Some(room) = (length - headers).checked_sub(before) else {
                let text = format!("record length {length} leaves no room for the header of type {}", header.kind);
                return Err(corrupt(source, text));
            };
            // What a short frame leaves of a record is padding.
            let captured = room.min(usize::from(header.wire_length));
            let start = source.position() + headers + before;
            source.consume(length);
            return Ok(Some(Record {
                time: Some(header.time),
                link,
                wire_length: u32::from(header.wire_length),
                from: self.side(header.interface),
                start,
                length: captured,
            }));
        }
    }

    fn side(&mut self, interface: u8) -> Option<LinkSide> {
        self.seen |= 1 << interface;
        let other = interface ^ 1;
        if self.seen & 1 << other == 0 {
            return None;
        }
        Some(if interface.is_multiple_of(2) { LinkSide::Left } else { LinkSide::Right })
    }
}

/// Bytes of all headers of `record`: each extension header's highest bit says that another follows.
fn headers(record: &[u8], extended: bool) -> Option<usize> {
    let (mut at, mut more) = (HEADER, extended);
    while more {
        more = record.get(at)? & HAS_EXTENSIONS != 0;
        at += EXTENSION;
    }
    (at <= record.len()).then_some(at)
}

/// Whether `head`, the first bytes of a file, is ERF: no number says so, but a first record that makes sense, and a
/// second where `head` reaches as far.
pub(super) fn is_erf(head: &[u8]) -> bool {
    let header = |at: usize| head.get(at..).and_then(|rest| rest.first_chunk()).map(Header::read);
    let Some(first) = header(0).filter(Header::is_plausible) else { return false };
    header(first.record_length).is_none_or(|second| second.is_plausible() || second.kind == kind::PAD)
}

#[cold]
fn corrupt(source: &Source, text: String) -> Fault {
    Fault { offset: source.offset(), kind: CaptureErrorKind::Corrupt(text) }
}

/// The record that begins here needs `needed` bytes and the file has fewer.
#[cold]
fn cut(source: &Source, needed: usize) -> Fault {
    let (needed, found) = (Grouped(needed as u64), Grouped(source.available().len() as u64));
    let text = format!("the record needs {needed} bytes and {found} are left");
    Fault { offset: source.offset(), kind: CaptureErrorKind::cut(text) }
}
