//! Captures of exporters: their datagrams out of the packets.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;

use flowloom_core::wire::{self, Address, Datagram, Parsed};

use super::bytes::u16_at;
use super::decoder::{Decoder, Origin};
use super::error::{FlowError, FlowErrorKind};
use super::facts::Problem;
use super::framing::{Frame, IPFIX_HEADER_BYTES, V9_HEADER_BYTES, frame, is_padding, sets};
use super::record::Version;
use super::v5;
use crate::capture::Captures;

/// Packets between two looks at how far the files are read.
const ROUND: u64 = 4_096;
/// Exporters whose later messages are known for what they are, even malformed.
const MOST_KNOWN: usize = 65_536;

/// A capture of exporters being read. Export messages are known by what they are, whatever their port.
pub(super) struct Exporters {
    captures: Captures,
    decoder: wire::Decoder,
    input: usize,
    packets: u64,
    messages: u64,
    /// Source and destination of datagrams that were messages.
    known: BTreeSet<(Address, Address)>,
}

impl Exporters {
    pub fn new(captures: Captures, input: usize) -> Exporters {
        Exporters {
            captures,
            decoder: wire::Decoder::default(),
            input,
            packets: 0,
            messages: 0,
            known: BTreeSet::new(),
        }
    }

    /// Reads one packet; `false` after the last.
    pub fn read_one(&mut self, decoder: &mut Decoder) -> Result<bool, FlowError> {
        if self.packets.is_multiple_of(ROUND) {
            decoder.facts.inputs[self.input].bytes_read = self.bytes_read();
        }
        let Some(packet) = self.captures.next_packet()? else {
            return self.end(decoder).map(|()| false);
        };
        self.packets += 1;
        let parsed = packet.decode(&mut self.decoder);
        let found = match &parsed {
            Ok(Parsed::Datagram(datagram)) => payload(packet.bytes, datagram).map(|payload| (datagram, payload)),
            _ => None,
        };
        let Some((datagram, payload)) = found else {
            decoder.facts.other_packets += 1;
            return Ok(true);
        };
        let cut = payload.len() < datagram.payload_bytes as usize;
        let ends = (datagram.source, datagram.destination);
        let origin = Origin {
            input: self.input,
            exporter: Some(Ipv6Addr::from(datagram.source.ip).to_canonical()),
            message: self.packets,
            offset: 0,
            cut,
        };
        match message(payload, cut) {
            Some((version, message)) => {
                self.messages += 1;
                decoder.facts.inputs[self.input].messages = self.messages;
                if self.known.len() < MOST_KNOWN {
                    self.known.insert(ends);
                }
                decoder.handle_message(version, message, origin);
            }
            None if self.known.contains(&ends) => {
                let (offset, text) = why_not(payload);
                decoder.facts.note(Problem { input: self.input, message: self.packets, offset, text });
            }
            None => decoder.facts.other_packets += 1,
        }
        Ok(true)
    }

    fn bytes_read(&self) -> u64 {
        self.captures.inputs().iter().map(|file| file.bytes_read).sum()
    }

    fn end(&mut self, decoder: &mut Decoder) -> Result<(), FlowError> {
        let files = self.captures.inputs();
        let facts = &mut decoder.facts.inputs[self.input];
        facts.bytes_read = self.bytes_read();
        facts.total_bytes = files.iter().map(|file| file.total_bytes).sum();
        facts.truncated = files.iter().any(|file| file.truncated);
        // A folder has no hash of its own.
        facts.sha256 = if let [file] = files { file.sha256.clone() } else { None };
        if self.messages == 0 {
            let kind = FlowErrorKind::NoMessages { packets: self.packets };
            return Err(FlowError::Messages { file: facts.name.clone(), message: None, offset: None, kind });
        }
        Ok(())
    }
}

/// What was captured of a datagram's payload: it is behind its addresses and ports. `None` if they are not in `packet`,
/// which has then a later fragment of it.
fn payload<'a>(packet: &'a [u8], datagram: &Datagram) -> Option<&'a [u8]> {
    let addresses: Vec<u8> = [datagram.source, datagram.destination]
        .into_iter()
        .flat_map(|end| match Ipv6Addr::from(end.ip).to_ipv4_mapped() {
            Some(v4) => v4.octets().to_vec(),
            None => Ipv6Addr::from(end.ip).octets().to_vec(),
        })
        .collect();
    let ports = [datagram.source.port.to_be_bytes(), datagram.destination.port.to_be_bytes()].concat();
    let addresses_end = packet.windows(addresses.len()).position(|bytes| bytes == addresses)? + addresses.len();
    // Options or extension headers may stand between.
    let header = packet[addresses_end..].windows(ports.len()).position(|bytes| bytes == ports)? + addresses_end;
    let captured = packet.get(header + 8..)?;
    Some(&captured[..captured.len().min(datagram.payload_bytes as usize)])
}

/// The export message that a datagram's payload is: its header and all its sets fit it exactly, zeros at its end aside.
/// Where a snap length cut it, what is there must fit.
fn message(payload: &[u8], cut: bool) -> Option<(Version, &[u8])> {
    let version = match u16_at(payload, 0)? {
        5 => Version::V5,
        9 => Version::V9,
        10 => Version::Ipfix,
        _ => return None,
    };
    let length = match frame(payload, !cut) {
        Frame::Message(_, length) => length,
        Frame::More(_) if cut && payload.len() > V9_HEADER_BYTES => return Some((version, payload)),
        Frame::More(_) | Frame::Wrong(..) => return None,
    };
    let (message, behind) = payload.split_at(length);
    let believable = match version {
        Version::V5 => length > v5::HEADER_BYTES,
        Version::V9 => length > V9_HEADER_BYTES,
        Version::Ipfix => sets(&message[IPFIX_HEADER_BYTES..]).all(|set| set.is_ok()),
    };
    (believable && is_padding(behind)).then_some((version, message))
}

/// Why a datagram of an exporter is no message: where, and what.
fn why_not(payload: &[u8]) -> (u64, String) {
    match frame(payload, true) {
        Frame::Wrong(at, text) => (at as u64, text),
        Frame::More(length) => {
            (payload.len() as u64, format!("the datagram ends before the {length} bytes that its message claims"))
        }
        Frame::Message(_, length) => {
            let inside = sets(payload.get(IPFIX_HEADER_BYTES..length).unwrap_or_default()).find_map(Result::err);
            let at = inside.as_ref().map_or(length, |wrong| IPFIX_HEADER_BYTES + wrong.at);
            let text = inside.map(|wrong| wrong.text);
            (at as u64, text.unwrap_or_else(|| "the datagram goes on behind its message".to_string()))
        }
    }
}
