//! The snoop format of Solaris (RFC 1761): one header, then records.

use flowloom_core::time::Time;
use flowloom_core::wire::LinkType;

use super::error::{CaptureErrorKind, Fault, Grouped};
use super::facts::InputFacts;
use super::record::{MOST_PACKET_BYTES, Record};
use super::source::Source;

/// The identification pattern at the start of a file.
pub(super) const SNOOP: &[u8; 8] = b"snoop\0\0\0";
/// Bytes of the file header and of a record header.
const FILE_HEADER: usize = 16;
const RECORD_HEADER: usize = 24;
/// The version RFC 1761 defines; Shomiti's Surveyor wrote 3 to 5, which differ.
const VERSION: u32 = 2;

/// Reads records; what the file header fixes.
pub(super) struct Snoop {
    link: LinkType,
}

impl Snoop {
    /// Reads the file header.
    pub fn open(source: &mut Source) -> Result<Snoop, Fault> {
        let fault = |kind| Err(Fault { offset: 0, kind });
        if !source.require(FILE_HEADER)? {
            let found = source.available().len();
            let text = format!("{found} bytes, where the file header alone has {FILE_HEADER}");
            return fault(CaptureErrorKind::cut(text));
        }
        let header: &[u8; FILE_HEADER] = source.available().first_chunk().expect("required above");
        let version = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        match version {
            VERSION => {}
            3..=5 => return fault(CaptureErrorKind::NotRead("a Shomiti Surveyor capture")),
            _ => {
                let text = format!("snoop version {version} does not exist ({VERSION})");
                return fault(CaptureErrorKind::Corrupt(text));
            }
        }
        let link = match u32::from_be_bytes([header[12], header[13], header[14], header[15]]) {
            // IEEE 802.3 and Ethernet differ in what the type field may hold, not in where it stands.
            0 | 4 => LinkType::Ethernet,
            1 => return fault(CaptureErrorKind::NotRead("a snoop capture of a token bus")),
            2 => LinkType::from_number(TOKEN_RING),
            3 => return fault(CaptureErrorKind::NotRead("a snoop capture of an IEEE 802.6 metropolitan network")),
            5 => return fault(CaptureErrorKind::NotRead("a snoop capture of an HDLC line")),
            6 => return fault(CaptureErrorKind::NotRead("a snoop capture of a character synchronous line")),
            7 => return fault(CaptureErrorKind::NotRead("a snoop capture of an IBM channel")),
            8 => LinkType::from_number(FDDI),
            _ => return fault(CaptureErrorKind::NotRead("a snoop capture of a link that RFC 1761 does not name")),
        };
        source.consume(FILE_HEADER);
        Ok(Snoop { link })
    }

    /// The next record, `None` at the end of the file.
    pub fn next(&mut self, source: &mut Source, facts: &mut InputFacts) -> Result<Option<Record>, Fault> {
        if !source.require(RECORD_HEADER)? {
            let left = source.available().len();
            return if left == 0 && !source.is_cut() { Ok(None) } else { Err(cut(source, RECORD_HEADER, true)) };
        }
        let header: &[u8; RECORD_HEADER] = source.available().first_chunk().expect("required above");
        let field = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (wire_length, captured, length, drops) = (field(0), field(4) as usize, field(8) as usize, field(12));
        let time = Time::from_nanos(u64::from(field(16)) * 1_000_000_000 + u64::from(field(20)) * 1_000);
        if header.starts_with(SNOOP) {
            let text = "another capture begins here: captures cannot be joined with cat, give them as separate files";
            return Err(corrupt(source, text.to_owned()));
        }
        if captured > MOST_PACKET_BYTES || length > MOST_PACKET_BYTES {
            let (claimed, most) = (Grouped(captured.max(length) as u64), Grouped(MOST_PACKET_BYTES as u64));
            return Err(corrupt(source, format!("record claims {claimed} bytes, more than any packet has ({most})")));
        }
        if length < RECORD_HEADER + captured {
            let text = format!("record length {length} is shorter than its header and {captured} captured bytes");
            return Err(corrupt(source, text));
        }
        if !source.require(length)? {
            return Err(cut(source, length, captured <= wire_length as usize && length - captured < 2 * RECORD_HEADER));
        }
        // Counted since the capture began.
        facts.set_drops(u64::from(drops));
        let start = source.position() + RECORD_HEADER;
        source.consume(length);
        Ok(Some(Record { time: Some(time), link: self.link, wire_length, from: None, start, length: captured }))
    }
}

/// LINKTYPE_IEEE802_5 and LINKTYPE_FDDI.
const TOKEN_RING: u32 = 6;
const FDDI: u32 = 10;

#[cold]
fn corrupt(source: &Source, text: String) -> Fault {
    Fault { offset: source.offset(), kind: CaptureErrorKind::Corrupt(text) }
}

/// The record that begins here needs `needed` bytes and the file has fewer; `plausible` if a record may be so long.
#[cold]
fn cut(source: &Source, needed: usize, plausible: bool) -> Fault {
    let (needed, found) = (Grouped(needed as u64), Grouped(source.available().len() as u64));
    let text = format!("the record needs {needed} bytes and {found} are left");
    Fault { offset: source.offset(), kind: CaptureErrorKind::Truncated { text, plausible } }
}
