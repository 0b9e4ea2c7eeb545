//! An open capture: its bytes, the reader of its container, and the record it would hand out next.

use std::io::Read;

use flowloom_core::time::Time;

use super::detect::{self, Container};
use super::erf::Erf;
use super::error::{CaptureErrorKind, Fault};
use super::facts::{Format, InputFacts};
use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::record::{Packet, Record};
use super::snoop::Snoop;
use super::source::Source;

/// Reads the records of one container.
enum Reader {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Erf(Erf),
    Snoop(Snoop),
}

/// An open input and the record it would hand out next.
pub(super) struct Opened {
    source: Source,
    reader: Reader,
    record: Option<Record>,
    /// [`Source::refills`] when the facts last took over the number of bytes read.
    refills: u64,
}

impl Opened {
    /// Reads the header of one of `inputs` captures.
    pub fn new(reader: Box<dyn Read + Send>, inputs: usize, sha256: bool) -> Result<Opened, Fault> {
        let mut source = Source::new(reader, inputs, sha256).map_err(|kind| Fault { offset: 0, kind })?;
        source.require(detect::HEAD_BYTES)?;
        let head = source.available();
        let container = if source.is_cut() && head.len() < 4 {
            Err(CaptureErrorKind::cut(format!("its compressed data end {} bytes into it", head.len())))
        } else {
            detect::look(head)
        };
        let reader = match container.map_err(|kind| Fault { offset: 0, kind })? {
            Container::Pcap => Reader::Pcap(Pcap::open(&mut source)?),
            Container::Pcapng => Reader::Pcapng(Pcapng::new()),
            Container::Erf => Reader::Erf(Erf::new()),
            Container::Snoop => Reader::Snoop(Snoop::open(&mut source)?),
        };
        let refills = source.refills();
        Ok(Opened { source, reader, record: None, refills })
    }

    /// What is known of it so far, as `name` of `size` bytes.
    pub fn facts(&self, name: String, size: Option<u64>) -> InputFacts {
        let format = match self.reader {
            Reader::Pcap(_) => Format::Pcap,
            Reader::Pcapng(_) => Format::Pcapng,
            Reader::Erf(_) => Format::Erf,
            Reader::Snoop(_) => Format::Snoop,
        };
        let mut facts = InputFacts::new(name, format, self.source.compression(), size);
        facts.bytes_read = self.source.stored_bytes();
        facts
    }

    /// Reads the next record; its time, or `None` after the last.
    #[inline]
    pub fn advance(&mut self, facts: &mut InputFacts) -> Result<Option<Time>, Fault> {
        let Opened { source, reader, record, refills } = self;
        let found = match reader {
            Reader::Pcap(pcap) => pcap.next(source),
            Reader::Pcapng(pcapng) => pcapng.next(source, facts),
            Reader::Erf(erf) => erf.next(source, facts),
            Reader::Snoop(snoop) => snoop.next(source, facts),
        };
        if source.refills() != *refills {
            *refills = source.refills();
            facts.bytes_read = source.stored_bytes();
        }
        *record = found?;
        Ok(record.as_ref().map(|record| record.time.or(facts.previous).unwrap_or_default()))
    }

    /// The packet of the record read last, which must be one.
    #[inline]
    pub fn packet(&self, facts: &mut InputFacts, input: usize) -> Option<Packet<'_>> {
        let record = self.record.as_ref()?;
        let time = match record.time {
            Some(time) => time,
            None => {
                facts.packets_without_time += 1;
                facts.previous.unwrap_or_default()
            }
        };
        facts.note(time);
        Some(Packet {
            time,
            link: record.link,
            bytes: &self.source.window()[record.start..record.start + record.length],
            wire_length: record.wire_length,
            from: record.from,
            input,
        })
    }

    /// Reads what is left of the file as stored, behind its last record.
    pub fn finish(&mut self, facts: &mut InputFacts) -> Result<(), Fault> {
        let sha256 = self.source.finish();
        facts.bytes_read = self.source.stored_bytes();
        facts.sha256 = sha256?;
        Ok(())
    }
}
