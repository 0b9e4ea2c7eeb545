//! Packets: one byte chooses the link type, four are the wire length, the rest is the packet.
#![no_main]

use flowloom_core::time::Time;
use flowloom_core::wire::{Decoder, LinkType, Parsed};
use libfuzzer_sys::fuzz_target;

/// Of every supported link type, and of none.
const LINKS: [u32; 7] = [1, 113, 276, 101, 0, 108, 105];

fuzz_target!(|data: &[u8]| {
    let Some(([link, length @ ..], bytes)) = data.split_first_chunk::<5>() else { return };
    let link = LinkType::from_number(LINKS[usize::from(*link) % LINKS.len()]);
    let wire_length = u32::from_be_bytes(*length);
    if let Ok(Parsed::Segment(segment)) = Decoder::default().decode(Time::ZERO, link, bytes, wire_length) {
        // A length field of 16 bits and a header of 40 bytes, or the lengths of the record.
        let most = wire_length.max(65_535).max(bytes.len() as u32);
        assert!(segment.payload_bytes <= most, "payload from nowhere");
        assert!(segment.link_bytes >= segment.payload_bytes.saturating_add(54), "headers are missing");
    }
});
