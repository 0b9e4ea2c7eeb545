//! What a file of flow records is, from its first bytes.

use std::ops::Range;

use super::bytes::{u16_at, u32_at};
use super::facts::Kind;
use super::record::Version;

/// How many bytes [`detect`] wants to see.
pub const HEAD_BYTES: usize = 64;

/// A stamp between 1995 and 2050, in seconds: flow export is no older.
const PLAUSIBLE: Range<u32> = 788_918_400..2_524_608_000;
/// The clock of an exporter that was never set runs from 1970: here for a year.
const NEVER_SET: Range<u32> = 0..31_536_000;

/// Formats of flow records that are known and not read: how they begin, their name, what to do.
const NOT_READ: [(&[u8], &str, &str); 7] = [
    (&[0xa5, 0x0c, 0x01, 0x00], NFCAPD, NFCAPD_HINT),
    (&[0xa5, 0x0c, 0x02, 0x00], NFCAPD, NFCAPD_HINT),
    (&[0x0c, 0xa5, 0x00, 0x01], NFCAPD, NFCAPD_HINT),
    (&[0x0c, 0xa5, 0x00, 0x02], NFCAPD, NFCAPD_HINT),
    (&[0xde, 0xad, 0xbe, 0xef], "a SiLK file", "write it as IPFIX: rwsilk2ipfix FILE > FILE.ipfix"),
    (&[0xcf, 0x10, 0x01], FLOW_TOOLS, FLOW_TOOLS_HINT),
    (&[0xcf, 0x10, 0x02], FLOW_TOOLS, FLOW_TOOLS_HINT),
];
const NFCAPD: &str = "an nfcapd file of nfdump";
const NFCAPD_HINT: &str = "nfdump -r FILE -o csv (or json) writes its records as text; to read it here, let nfreplay -v 9 send it while tcpdump captures, and give the capture";
const FLOW_TOOLS: &str = "a flow-tools file";
const FLOW_TOOLS_HINT: &str = "let flow-send send it while tcpdump captures, and give the capture";

/// Whether a file that begins with `head`, uncompressed, holds export messages back to back, and of which version
/// the first is. Captures of exporters are captures first: see [`super::Reader::open`].
///
/// Two bytes of version are little to go by; the header's other fields must make sense as well.
pub fn detect(head: &[u8]) -> Option<Kind> {
    let plausible =
        |at: usize| u32_at(head, at).is_some_and(|time| PLAUSIBLE.contains(&time) || NEVER_SET.contains(&time));
    let version = match u16_at(head, 0)? {
        5 if plausible(8) && u32_at(head, 12)? < 1_000_000_000 => Version::V5,
        9 if plausible(8) && is_set(u16_at(head, 20)?, u16_at(head, 22)?, [0, 1]) => Version::V9,
        10 if plausible(4) && u16_at(head, 2)? >= 16 => match (u16_at(head, 16), u16_at(head, 18)) {
            (Some(id), Some(length)) if !is_set(id, length, [2, 3]) => return None,
            _ => Version::Ipfix,
        },
        _ => return None,
    };
    Some(Kind::Messages(version))
}

fn is_set(id: u16, length: u16, templates: [u16; 2]) -> bool {
    (id >= 256 || templates.contains(&id)) && length >= 4
}

/// The name of what begins with `head`, and what to do about it, if it is a format that is known and not read.
pub(super) fn not_read(head: &[u8]) -> Option<(&'static str, &'static str)> {
    NOT_READ.iter().find(|(magic, ..)| head.starts_with(magic)).map(|(_, name, hint)| (*name, *hint))
}
