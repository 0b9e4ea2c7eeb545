//! Captures in and out: pcap, pcapng, ERF and snoop, plain or compressed, one or several merged by time.

mod detect;
mod erf;
pub(crate) mod error;
mod facts;
mod pcap;
mod pcapng;
mod snoop;
pub(crate) mod source;
mod write;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use flowloom_core::time::Time;
use flowloom_core::wire::{Decoder, LinkType, Parsed, SetAside};
use flowloom_core::workload::LinkSide;

use detect::Container;
use erf::Erf;
use error::Fault;
pub use error::{CaptureError, CaptureErrorKind};
pub use facts::{Compression, Format, InputFacts};
use pcap::Pcap;
use pcapng::Pcapng;
use snoop::Snoop;
use source::Source;
pub use write::PcapWriter;

/// More captured bytes than any packet has; a record that claims more is damaged.
const MOST_PACKET_BYTES: usize = 16 << 20;

/// Where a capture comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The input a command line argument names: `-` is standard input.
    pub fn from_argument(argument: impl Into<PathBuf>) -> Input {
        let path = argument.into();
        if path.as_os_str() == "-" { Input::Stdin } else { Input::File(path) }
    }
}

/// How to read captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A file cut off in mid-record ends there instead of being an error.
    pub allow_truncated: bool,
    /// Whether to compute the SHA-256 of every input while reading.
    pub sha256: bool,
}

impl Default for Options {
    /// Cut-off files are errors; hashes are computed.
    fn default() -> Options {
        Options { allow_truncated: false, sha256: true }
    }
}

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Time stamp, since the Unix epoch. Never trusted to increase.
    pub time: Time,
    /// What `bytes` begins with.
    pub link: LinkType,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// Its length on the wire as the capture states it.
    pub wire_length: u32,
    /// The side of the link it came from, where the capture format marks directions (pcapng, ERF).
    pub from: Option<LinkSide>,
    /// The position of its input among those opened.
    pub input: usize,
}

impl Packet<'_> {
    /// What it carries, or why it yields nothing. The capture format's direction mark wins over the link header's.
    ///
    /// The decoder is the same for all packets of the captures read together.
    #[inline]
    pub fn decode(&self, decoder: &mut Decoder) -> Result<Parsed, SetAside> {
        let mut parsed = decoder.decode(self.time, self.link, self.bytes, self.wire_length)?;
        let from = match &mut parsed {
            Parsed::Segment(segment) => &mut segment.from,
            Parsed::Datagram(datagram) => &mut datagram.from,
        };
        *from = self.from.or(*from);
        Ok(parsed)
    }
}

/// A record as a format's reader found it: `source.window()[start..][..length]` is the packet.
struct Record {
    time: Option<Time>,
    link: LinkType,
    wire_length: u32,
    from: Option<LinkSide>,
    start: usize,
    length: usize,
}

/// Byte order of a file or section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    #[inline]
    fn u16(self, bytes: [u8; 2]) -> u16 {
        if self == ByteOrder::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    #[inline]
    fn u32(self, bytes: [u8; 4]) -> u32 {
        if self == ByteOrder::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    #[inline]
    fn u64(self, bytes: [u8; 8]) -> u64 {
        if self == ByteOrder::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
    }
}

/// Reads the records of one container.
enum Reader {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Erf(Erf),
    Snoop(Snoop),
}

/// An open input and the record it would hand out next.
struct Open {
    source: Source,
    reader: Reader,
    record: Option<Record>,
    /// [`Source::refills`] when the facts last took over the number of bytes read.
    refills: u64,
}

/// Several captures read as one, in the order of their time stamps.
///
/// Call [`Captures::next_packet`] until it returns `None`; a packet borrows the reader's buffer and must be done with
/// before the next call. The order within a file is never changed: where its clock runs backwards, so do the packets'
/// times. Equal times are served in the order of the inputs. After an error there are no more packets.
/// [`Captures::inputs`] may be read at any time.
pub struct Captures {
    opened: Vec<Open>,
    facts: Vec<InputFacts>,
    options: Options,
    /// The input whose record was handed out last.
    current: Option<usize>,
    /// The other inputs by the time of their next record.
    waiting: BinaryHeap<Reverse<(Time, usize)>>,
    begun: bool,
}

impl Captures {
    /// Opens `inputs` and reads their file headers.
    pub fn open(inputs: &[Input], options: Options) -> Result<Captures, CaptureError> {
        if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
            return Err(whole_file(STDIN.into(), CaptureErrorKind::StdinTwice));
        }
        let mut captures = Captures::empty(options);
        for input in inputs {
            let (name, reader, size): (_, Box<dyn Read + Send>, _) = match input {
                Input::Stdin => (STDIN.to_string(), Box::new(io::stdin()), None),
                Input::File(path) => {
                    let name = path.display().to_string();
                    let (file, size) =
                        open(path).map_err(|error| whole_file(name.clone(), CaptureErrorKind::Open(error)))?;
                    (name, Box::new(file), size)
                }
            };
            captures.add(name, reader, size, inputs.len())?;
        }
        Ok(captures)
    }

    /// Reads captures from anything: (display name, bytes).
    pub fn from_readers(
        readers: Vec<(String, Box<dyn Read + Send>)>,
        options: Options,
    ) -> Result<Captures, CaptureError> {
        let mut captures = Captures::empty(options);
        let inputs = readers.len();
        for (name, reader) in readers {
            captures.add(name, reader, None, inputs)?;
        }
        Ok(captures)
    }

    fn empty(options: Options) -> Captures {
        Captures {
            opened: Vec::new(),
            facts: Vec::new(),
            options,
            current: None,
            waiting: BinaryHeap::new(),
            begun: false,
        }
    }

    fn add(
        &mut self,
        name: String,
        reader: Box<dyn Read + Send>,
        size: Option<u64>,
        inputs: usize,
    ) -> Result<(), CaptureError> {
        let open = || -> Result<(Source, Reader), Fault> {
            let mut source =
                Source::new(reader, inputs, self.options.sha256).map_err(|kind| Fault { offset: 0, kind })?;
            source.require(detect::HEAD_BYTES)?;
            let head = source.available();
            let container = if source.is_cut() && head.len() < 4 {
                Err(CaptureErrorKind::Truncated(format!("its compressed data end {} bytes into it", head.len())))
            } else {
                detect::look(head)
            };
            let reader = match container.map_err(|kind| Fault { offset: 0, kind })? {
                Container::Pcap => Reader::Pcap(Pcap::open(&mut source)?),
                Container::Pcapng => Reader::Pcapng(Pcapng::new()),
                Container::Erf => Reader::Erf(Erf::new()),
                Container::Snoop => Reader::Snoop(Snoop::open(&mut source)?),
            };
            Ok((source, reader))
        };
        let (source, reader) = open().map_err(|fault| whole_file(name.clone(), fault.kind))?;
        let format = match reader {
            Reader::Pcap(_) => Format::Pcap,
            Reader::Pcapng(_) => Format::Pcapng,
            Reader::Erf(_) => Format::Erf,
            Reader::Snoop(_) => Format::Snoop,
        };
        let mut facts = InputFacts::new(name, format, source.compression(), size);
        facts.bytes_read = source.stored_bytes();
        self.facts.push(facts);
        let refills = source.refills();
        self.opened.push(Open { source, reader, record: None, refills });
        Ok(())
    }

    /// The next packet by time, `None` after the last.
    ///
    /// # Errors
    /// Where a file cannot be read on; the packets before were handed out.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        if let Some(index) = self.current {
            match self.advance(index)? {
                // The usual case, and the only one with a single input: the same file goes on.
                Some(time) if self.waiting.peek().is_none_or(|Reverse(first)| (time, index) < *first) => {}
                Some(time) => {
                    self.waiting.push(Reverse((time, index)));
                    self.current = self.waiting.pop().map(|Reverse((_, first))| first);
                }
                None => self.current = self.waiting.pop().map(|Reverse((_, first))| first),
            }
        } else if !self.begun {
            self.begin()?;
        }
        let Some(input) = self.current else { return Ok(None) };
        let Some(Open { source, record: Some(record), .. }) = self.opened.get(input) else { return Ok(None) };
        let facts = &mut self.facts[input];
        let time = match record.time {
            Some(time) => time,
            None => {
                facts.packets_without_time += 1;
                facts.previous.unwrap_or_default()
            }
        };
        facts.note(time);
        Ok(Some(Packet {
            time,
            link: record.link,
            bytes: &source.window()[record.start..record.start + record.length],
            wire_length: record.wire_length,
            from: record.from,
            input,
        }))
    }

    /// What is known of each input, in the order given.
    pub fn inputs(&self) -> &[InputFacts] {
        &self.facts
    }

    /// Reads the first record of every input.
    #[cold]
    fn begin(&mut self) -> Result<(), CaptureError> {
        self.begun = true;
        for index in 0..self.opened.len() {
            if let Some(time) = self.advance(index)? {
                self.waiting.push(Reverse((time, index)));
            }
        }
        self.current = self.waiting.pop().map(|Reverse((_, first))| first);
        Ok(())
    }

    /// Reads the next record of one input; its time, or `None` after the last.
    #[inline]
    fn advance(&mut self, index: usize) -> Result<Option<Time>, CaptureError> {
        let Open { source, reader, record, refills } = &mut self.opened[index];
        let found = match reader {
            Reader::Pcap(pcap) => pcap.next(source),
            Reader::Pcapng(pcapng) => pcapng.next(source, &mut self.facts[index]),
            Reader::Erf(erf) => erf.next(source, &mut self.facts[index]),
            Reader::Snoop(snoop) => snoop.next(source, &mut self.facts[index]),
        };
        if source.refills() != *refills {
            *refills = source.refills();
            self.facts[index].bytes_read = source.stored_bytes();
        }
        match found {
            Ok(Some(next)) => {
                let time = next.time.or(self.facts[index].previous).unwrap_or_default();
                *record = Some(next);
                Ok(Some(time))
            }
            Ok(None) => self.end(index, None),
            Err(fault) => self.end(index, Some(fault)),
        }
    }

    /// The input ended, orderly or with `fault`.
    #[cold]
    fn end(&mut self, index: usize, fault: Option<Fault>) -> Result<Option<Time>, CaptureError> {
        let Open { source, record, .. } = &mut self.opened[index];
        *record = None;
        let fault = match fault {
            Some(Fault { kind: CaptureErrorKind::Truncated(_), .. }) if self.options.allow_truncated => {
                self.facts[index].truncated = true;
                None
            }
            other => other,
        };
        let result = match fault {
            None => source.finish(),
            Some(fault) => Err(fault),
        };
        let facts = &mut self.facts[index];
        facts.bytes_read = source.stored_bytes();
        match result {
            Ok(sha256) => {
                facts.sha256 = sha256;
                Ok(None)
            }
            Err(Fault { offset, kind }) => {
                let (file, packet) = (facts.name.clone(), Some(facts.packets + 1));
                self.current = None;
                self.waiting.clear();
                Err(CaptureError { file, packet, offset: Some(offset), kind })
            }
        }
    }
}

/// The display name of standard input.
const STDIN: &str = "standard input";

/// Opens a regular file or a pipe; the size is known of the former only.
fn open(path: &PathBuf) -> io::Result<(File, Option<u64>)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    Ok((file, metadata.is_file().then_some(metadata.len())))
}

fn whole_file(file: String, kind: CaptureErrorKind) -> CaptureError {
    CaptureError { file, packet: None, offset: None, kind }
}
