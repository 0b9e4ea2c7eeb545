//! NetFlow version 5: records of 48 bytes, all alike, and IPv4 only.

use flowloom_core::time::Time;
use flowloom_core::wire::{Address, Flags};

use super::record::{Clock, Counters, FlowRecord, ObservationPoint, Sampling, Version};
use super::values::since_start;

/// Length of the message header.
pub(super) const HEADER_BYTES: usize = 24;
/// Length of a record.
pub(super) const RECORD_BYTES: usize = 48;
/// No datagram holds more records; Cisco's exporters send at most 30.
pub(super) const MOST_RECORDS: usize = (65_535 - HEADER_BYTES) / RECORD_BYTES;

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub count: u16,
    /// Milliseconds since the exporter's start.
    uptime: u32,
    exported: Time,
    /// Flows exported before this message.
    pub sequence: u32,
    /// Engine type and number.
    pub engine: u16,
    sampling: Sampling,
}

impl Header {
    pub fn new(bytes: &[u8; HEADER_BYTES]) -> Header {
        let u32_at = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u16_at = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let nanos = u64::from(u32_at(8)) * 1_000_000_000 + u64::from(u32_at(12).min(999_999_999));
        Header {
            count: u16_at(2),
            uptime: u32_at(4),
            exported: Time::from_nanos(nanos),
            sequence: u32_at(16),
            engine: u16_at(20),
            // Two bits of mode above the interval: some exporters leave them 0 and sample all the same.
            sampling: Sampling::share(1, u64::from(u16_at(22) & 0x3fff)),
        }
    }

    /// The record in `bytes`.
    pub fn record(&self, bytes: &[u8; RECORD_BYTES], observed: ObservationPoint) -> FlowRecord {
        let u32_at = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u16_at = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let address = |ip: usize, port: usize| Address::new(std::net::Ipv4Addr::from(u32_at(ip)).into(), u16_at(port));
        let first = since_start(self.exported, self.uptime, u32_at(24));
        let last = since_start(self.exported, self.uptime, u32_at(28));
        let forward = Counters {
            packets: Some(u64::from(u32_at(16))),
            octets: Some(u64::from(u32_at(20))),
            payload: None,
            flags: Some(Flags(bytes[37])),
        };
        FlowRecord {
            version: Version::V5,
            protocol: bytes[38],
            source: address(0, 32),
            destination: address(4, 34),
            first,
            last: last.max(first),
            clock: Clock::Stated,
            exported: self.exported,
            forward,
            reverse: None,
            totals: false,
            source_side: None,
            end_reason: None,
            event: None,
            sampling: self.sampling,
            observed,
        }
    }
}
