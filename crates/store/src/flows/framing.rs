//! Where a message ends and the next begins.
//!
//! A v5 message states how many records it has, an IPFIX message its length. A v9 message states neither: it ends where
//! a set would begin with 5, 9 or 10, the versions that begin a message. No set has these numbers (RFC 3954 section 5.2
//! reserves 2 to 255), so files of messages back to back have only one reading.

use super::bytes::u16_at;
use super::record::Version;
use super::v5;

/// Length of a NetFlow v9 header.
pub(super) const V9_HEADER_BYTES: usize = 20;
/// Length of an IPFIX header.
pub(super) const IPFIX_HEADER_BYTES: usize = 16;
/// No message is longer: a datagram is not, and IPFIX states its length in two bytes.
pub(super) const MOST_MESSAGE_BYTES: usize = 65_535;

/// What stands at the start of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message of this length.
    Message(Version, usize),
    /// The start of a message; so many bytes in all would tell more.
    More(usize),
    /// No message: at which byte, and why.
    Wrong(usize, String),
}

/// The message that begins `bytes`. With `all`, there are no more bytes than these.
pub(super) fn frame(bytes: &[u8], all: bool) -> Frame {
    let Some(version) = u16_at(bytes, 0) else { return Frame::More(2) };
    match version {
        5 => v5_frame(bytes),
        9 => v9_frame(bytes, all),
        10 => ipfix_frame(bytes),
        1 | 6 | 7 | 8 => Frame::Wrong(0, format!("NetFlow v{version} is not read")),
        _ => Frame::Wrong(0, format!("a message begins with its version, 5, 9 or 10; here are {version:#06x}")),
    }
}

fn v5_frame(bytes: &[u8]) -> Frame {
    let Some(count) = u16_at(bytes, 2).map(usize::from) else { return Frame::More(v5::HEADER_BYTES) };
    if count > v5::MOST_RECORDS {
        let most = v5::MOST_RECORDS;
        return Frame::Wrong(
            2,
            format!("a NetFlow v5 header claims {count} records; no datagram holds more than {most}"),
        );
    }
    whole(Version::V5, v5::HEADER_BYTES + count * v5::RECORD_BYTES, bytes)
}

fn ipfix_frame(bytes: &[u8]) -> Frame {
    let Some(length) = u16_at(bytes, 2).map(usize::from) else { return Frame::More(IPFIX_HEADER_BYTES) };
    if length < IPFIX_HEADER_BYTES {
        return Frame::Wrong(2, format!("an IPFIX message of {length} bytes is shorter than its header (16)"));
    }
    whole(Version::Ipfix, length, bytes)
}

fn whole(version: Version, length: usize, bytes: &[u8]) -> Frame {
    if bytes.len() < length { Frame::More(length) } else { Frame::Message(version, length) }
}

fn v9_frame(bytes: &[u8], all: bool) -> Frame {
    let mut at = V9_HEADER_BYTES;
    loop {
        if at > MOST_MESSAGE_BYTES {
            return Frame::Wrong(at, "a NetFlow v9 message is longer than a datagram can be".to_string());
        }
        match u16_at(bytes, at) {
            None if all && (bytes.len() == at || bytes.get(at) == Some(&0)) => {
                return Frame::Message(Version::V9, bytes.len());
            }
            None => return Frame::More(at + 2),
            Some(5 | 9 | 10) => return Frame::Message(Version::V9, at),
            Some(id) => match (id, u16_at(bytes, at + 2)) {
                // Some exporters fill their datagrams with zeros.
                (0, Some(0)) => at += 2,
                (0, None) if all => at += 2,
                (_, None) => return Frame::More(at + 4),
                (_, Some(length @ 0..4)) => return Frame::Wrong(at + 2, short_set(id, length)),
                (_, Some(length)) => at += usize::from(length),
            },
        }
    }
}

/// What is said of a set whose length does not hold its own header.
pub(super) fn short_set(id: u16, length: u16) -> String {
    format!("set {id} has a length of {length}, which is less than its header (4)")
}

/// Whether all of `bytes` are zero.
pub(super) fn is_padding(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// A set inside a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set<'a> {
    pub id: u16,
    /// Where it begins, from the first set.
    pub at: usize,
    /// What follows its header.
    pub body: &'a [u8],
}

/// What keeps sets from being read: where, from the first set, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub at: usize,
    pub text: String,
}

/// The sets of a message, of which `bytes` are what follows the header. Ends after the first that is wrong.
pub(super) fn sets(bytes: &[u8]) -> impl Iterator<Item = Result<Set<'_>, Unreadable>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &bytes[at..];
        let (Some(id), Some(length)) = (u16_at(rest, 0), u16_at(rest, 2)) else { return None };
        if id == 0 && length == 0 && is_padding(rest) {
            return None;
        }
        let start = at;
        let wrong = |text| Some(Err(Unreadable { at: start, text }));
        if length < 4 {
            at = bytes.len();
            return wrong(short_set(id, length));
        }
        let Some(body) = rest.get(4..usize::from(length)) else {
            at = bytes.len();
            return wrong(format!("set {id} claims {length} bytes, and its message has {} left", rest.len()));
        };
        at += usize::from(length);
        Some(Ok(Set { id, at: start, body }))
    })
}
