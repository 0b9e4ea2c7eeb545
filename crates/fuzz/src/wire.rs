//! Packets.

use flowloom::core::wire::{Decoder, LinkType, Parsed};
use flowloom::time::{Duration, Time};

/// Numbers of link types: of all that are read, of some that are not.
pub const LINKS: [u32; 16] = [1, 113, 276, 101, 0, 108, 9, 50, 51, 104, 12, 228, 229, 10, 105, 197];

/// Bytes before each packet: link type (its position in [`LINKS`]), milliseconds since the packet before (a signed
/// byte), wire length, captured length.
pub const HEADER: usize = 8;

/// Packets one after the other through one decoder, so that fragments meet.
pub fn packets(mut data: &[u8]) {
    let (mut decoder, mut time) = (Decoder::default(), Time::from_nanos(1_700_000_000_000_000_000));
    while let Some((&[link, step, w0, w1, w2, w3, l0, l1], rest)) = data.split_first_chunk::<HEADER>() {
        let length = usize::from(u16::from_be_bytes([l0, l1])).min(rest.len());
        let (bytes, after) = rest.split_at(length);
        data = after;
        let step = step as i8;
        let distance = Duration::from_millis(u64::from(step.unsigned_abs()));
        time = if step < 0 { Time::from_nanos(time.as_nanos() - distance.as_nanos()) } else { time + distance };
        let link = LinkType::from_number(LINKS[usize::from(link) % LINKS.len()]);
        let wire_length = u32::from_be_bytes([w0, w1, w2, w3]);
        // A length field of 16 bits and a header of 40 bytes, or the lengths of the record.
        let most = wire_length.max(65_535).max(length as u32);
        let (payload_bytes, link_bytes, headers) = match decoder.decode(time, link, bytes, wire_length) {
            Ok(Parsed::Segment(segment)) => (segment.payload_bytes, segment.link_bytes, 14 + 20 + 20),
            Ok(Parsed::Datagram(datagram)) => (datagram.payload_bytes, datagram.link_bytes, 14 + 20 + 8),
            Err(_) => continue,
        };
        assert!(payload_bytes <= most, "payload from nowhere");
        assert!(link_bytes >= payload_bytes.saturating_add(headers), "headers are missing");
    }
}
