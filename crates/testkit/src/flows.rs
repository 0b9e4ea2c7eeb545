//! Export messages of NetFlow and IPFIX, written byte by byte and not with the code under test.

use std::io::{Cursor, Read};

use flowloom_core::workload::ConnectionVector;
use flowloom_store::flows::{FlowError, MergeFacts, MergeOptions, Options, Reader, Vectors};

/// 1 September 2026, 12:00 UTC, in seconds.
pub const NOON: u64 = 1_788_264_000;

/// A set (flowset) of `id`.
pub fn set(id: u16, body: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes()[..], &(body.len() as u16 + 4).to_be_bytes(), body].concat()
}

/// The body of a template set with one template; an enterprise number makes a field of IPFIX's longer form.
pub fn template(id: u16, fields: &[(u16, u16, Option<u32>)]) -> Vec<u8> {
    [&id.to_be_bytes()[..], &(fields.len() as u16).to_be_bytes(), &specifiers(fields)].concat()
}

/// The body of an IPFIX options template set with one template.
pub fn options_template(id: u16, scope: u16, fields: &[(u16, u16, Option<u32>)]) -> Vec<u8> {
    let count = fields.len() as u16;
    [&id.to_be_bytes()[..], &count.to_be_bytes(), &scope.to_be_bytes(), &specifiers(fields)].concat()
}

fn specifiers(fields: &[(u16, u16, Option<u32>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (id, length, enterprise) in fields {
        let bit = if enterprise.is_some() { 0x8000 } else { 0 };
        bytes.extend((id | bit).to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(enterprise.iter().flat_map(|enterprise| enterprise.to_be_bytes()));
    }
    bytes
}

/// An IPFIX message sent `seconds` after noon.
pub fn ipfix(seconds: u64, sequence: u32, domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let body = sets.concat();
    let mut message = 10u16.to_be_bytes().to_vec();
    message.extend((16 + body.len() as u16).to_be_bytes());
    message.extend(((NOON + seconds) as u32).to_be_bytes());
    message.extend(sequence.to_be_bytes());
    message.extend(domain.to_be_bytes());
    message.extend(body);
    message
}

/// A NetFlow v9 message sent at `uptime` ms, by its header `seconds` after noon.
pub fn v9(seconds: u64, uptime: u32, sequence: u32, source: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let mut message = vec![0, 9, 0, sets.len() as u8];
    message.extend(uptime.to_be_bytes());
    message.extend(((NOON + seconds) as u32).to_be_bytes());
    message.extend(sequence.to_be_bytes());
    message.extend(source.to_be_bytes());
    message.extend(sets.concat());
    message
}

/// A NetFlow v5 message sent `seconds` after noon, 1,000 s after the exporter's start.
pub fn v5(seconds: u64, sequence: u32, sampling: u16, flows: &[Flow]) -> Vec<u8> {
    let mut message = vec![0, 5];
    message.extend((flows.len() as u16).to_be_bytes());
    message.extend(1_000_000u32.to_be_bytes());
    message.extend(((NOON + seconds) as u32).to_be_bytes());
    message.extend([0; 4]);
    message.extend(sequence.to_be_bytes());
    message.extend([0, 0]);
    message.extend(sampling.to_be_bytes());
    let uptime = |ms: i64| (1_000_000 - seconds as i64 * 1_000 + ms) as u32;
    for flow in flows {
        message.extend([10, 0, 0, flow.source.0, 10, 0, 0, flow.destination.0]);
        message.extend([0; 8]);
        message.extend((flow.packets as u32).to_be_bytes());
        message.extend((flow.octets as u32).to_be_bytes());
        message.extend(uptime(flow.first_ms).to_be_bytes());
        message.extend(uptime(flow.last_ms).to_be_bytes());
        message.extend(flow.source.1.to_be_bytes());
        message.extend(flow.destination.1.to_be_bytes());
        message.extend([0, flow.flags, flow.protocol]);
        message.extend([0; 9]);
    }
    message
}

/// A flow between hosts of 10.0.0.0/24. Times are milliseconds after noon.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The last byte of the sender's address, and its port.
    pub source: (u8, u16),
    /// The last byte of the receiver's address, and its port.
    pub destination: (u8, u16),
    /// The protocol number of IP.
    pub protocol: u8,
    /// All TCP flags of the packets.
    pub flags: u8,
    /// Bytes, IP headers included.
    pub octets: u64,
    /// Packets.
    pub packets: u64,
    /// Time of the first packet.
    pub first_ms: i64,
    /// Time of the last packet.
    pub last_ms: i64,
    /// flowEndReason of IPFIX (element 136).
    pub reason: u8,
    /// flowDirection of IPFIX (element 61).
    pub direction: u8,
}

/// The FIN flag of TCP.
pub const FIN: u8 = 0x01;
/// The SYN flag of TCP.
pub const SYN: u8 = 0x02;
/// The RST flag of TCP.
pub const RST: u8 = 0x04;
/// The ACK flag of TCP.
pub const ACK: u8 = 0x10;

/// A TCP flow of a whole connection.
pub fn tcp(source: (u8, u16), destination: (u8, u16), octets: u64, packets: u64, ms: (i64, i64)) -> Flow {
    Flow {
        source,
        destination,
        protocol: 6,
        flags: SYN | ACK | FIN,
        octets,
        packets,
        first_ms: ms.0,
        last_ms: ms.1,
        reason: 3,
        direction: 0,
    }
}

/// The template of [`data`].
pub fn flow_template() -> Vec<u8> {
    let fields =
        [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (6, 1), (1, 8), (2, 8), (152, 8), (153, 8), (136, 1), (61, 1)];
    set(2, &template(256, &fields.map(|(id, length)| (id, length, None))))
}

/// A data set of IPFIX flow records.
pub fn data(flows: &[Flow]) -> Vec<u8> {
    let mut body = Vec::new();
    for flow in flows {
        body.extend([10, 0, 0, flow.source.0, 10, 0, 0, flow.destination.0]);
        body.extend(flow.source.1.to_be_bytes());
        body.extend(flow.destination.1.to_be_bytes());
        body.extend([flow.protocol, flow.flags]);
        body.extend(flow.octets.to_be_bytes());
        body.extend(flow.packets.to_be_bytes());
        for ms in [flow.first_ms, flow.last_ms] {
            body.extend(((NOON * 1_000) as i64 + ms).to_be_bytes());
        }
        body.extend([flow.reason, flow.direction]);
    }
    set(256, &body)
}

/// A reader of files that are in memory.
pub fn reader(files: &[Vec<u8>]) -> Result<Reader, FlowError> {
    let readers = files.iter().enumerate().map(|(number, file)| {
        let bytes: Box<dyn Read + Send> = Box::new(Cursor::new(file.clone()));
        (format!("file{number}"), bytes)
    });
    Reader::from_readers(readers.collect(), Options { sha256: false, ..Options::default() })
}

/// The vectors in files that are in memory, and what merging came to.
pub fn merge(files: &[Vec<u8>], options: MergeOptions) -> Result<(Vec<ConnectionVector>, MergeFacts), FlowError> {
    let mut merged = Vectors::new(reader(files)?, options);
    let vectors = merged.by_ref().collect::<Result<Vec<_>, _>>()?;
    Ok((vectors, *merged.merge_facts()))
}
