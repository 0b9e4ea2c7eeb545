//! Inputs one after the other, their messages to the decoder, its records out.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use super::bytes::u16_at;
use super::decoder::{Decoder, Origin};
use super::detect::{HEAD_BYTES, detect, not_read};
use super::error::{FlowError, FlowErrorKind};
use super::exporters::Exporters;
use super::facts::{FlowFacts, InputFacts, Kind};
use super::framing::{Frame, frame};
use super::record::{FlowRecord, Version};
use crate::capture::error::Fault;
use crate::capture::source::Source;
use crate::capture::{self, CaptureError, CaptureErrorKind, Captures, Input, Truncation};
use crate::interrupt::{self, Interrupt, standard_input};

/// How to read flow records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Treatment of files that end early. Those of messages are read up to there with [`Truncation::Allow`] only.
    pub truncation: Truncation,
    /// Whether to compute the SHA-256 of every input while reading.
    pub sha256: bool,
}

impl Default for Options {
    /// Cut-off files of messages are errors; hashes are computed.
    fn default() -> Options {
        Options { truncation: Truncation::default(), sha256: true }
    }
}

/// The display name of standard input.
const STDIN: &str = "standard input";

/// An input that was looked at and not read yet.
struct Ahead {
    name: String,
    bytes: Bytes,
}

/// Where an input's bytes come from. Files are opened when their turn comes: there may be thousands.
enum Bytes {
    File(PathBuf),
    Reader(Box<dyn Read + Send>),
}

/// An input being read.
enum Current {
    Messages(Box<Messages>),
    Exporters(Box<Exporters>),
}

/// A file of messages being read.
struct Messages {
    source: Source,
    input: usize,
    /// Messages read.
    count: u64,
}

/// Flow records of several inputs.
///
/// Call [`Reader::next_record`] until it returns `None`. Inputs are read one after the other, in the order given: templates of one
/// hold in those after it, as where a collector splits its stream into files. Records come as they were exported, which
/// is roughly in the order of their ends. After an error there are no more records. [`Reader::facts`] may be read at
/// any time; what it says of missing templates is complete after the last record.
pub struct Reader {
    ahead: VecDeque<Ahead>,
    current: Option<Current>,
    decoder: Decoder,
    /// Records decoded and not handed out: `records[next..]`.
    records: Vec<FlowRecord>,
    next: usize,
    options: Options,
    /// What ends the reading of pipes.
    interrupt: Interrupt,
}

impl Reader {
    /// Opens the first of `inputs`; the others are opened in their turn.
    ///
    /// # Errors
    /// Every [`FlowError`] about the start of the first input.
    pub fn open(inputs: &[Input], options: Options) -> Result<Reader, FlowError> {
        Reader::open_until(inputs, options, &Interrupt::never())
    }

    /// The same, but pipes and standard input are read until `interrupt` is requested.
    ///
    /// # Errors
    /// As [`Reader::open`]; any error once [`Interrupt::has_cut`].
    pub fn open_until(inputs: &[Input], options: Options, interrupt: &Interrupt) -> Result<Reader, FlowError> {
        if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
            return Err(CaptureError {
                file: STDIN.into(),
                packet: None,
                offset: None,
                kind: CaptureErrorKind::StdinTwice,
            }
            .into());
        }
        let stdin = |error| CaptureError {
            file: STDIN.into(),
            packet: None,
            offset: None,
            kind: CaptureErrorKind::Open(error),
        };
        let ahead = inputs.iter().map(|input| match input {
            Input::Stdin => {
                let reader = standard_input(interrupt).map_err(stdin)?;
                Ok(Ahead { name: STDIN.to_string(), bytes: Bytes::Reader(Box::new(reader)) })
            }
            Input::File(path) => Ok(Ahead { name: path.display().to_string(), bytes: Bytes::File(path.clone()) }),
        });
        Reader::over(ahead.collect::<Result<_, CaptureError>>()?, options, interrupt.clone())
    }

    /// Reads flow records from anything: (display name, bytes).
    ///
    /// # Errors
    /// Every [`FlowError`] about the start of the first.
    pub fn from_readers(readers: Vec<(String, Box<dyn Read + Send>)>, options: Options) -> Result<Reader, FlowError> {
        let ahead = readers.into_iter().map(|(name, reader)| Ahead { name, bytes: Bytes::Reader(reader) });
        Reader::over(ahead.collect(), options, Interrupt::never())
    }

    fn over(ahead: VecDeque<Ahead>, options: Options, interrupt: Interrupt) -> Result<Reader, FlowError> {
        let mut reader =
            Reader { ahead, current: None, decoder: Decoder::new(), records: Vec::new(), next: 0, options, interrupt };
        reader.open_next()?;
        Ok(reader)
    }

    /// The next flow record, `None` after the last.
    ///
    /// # Errors
    /// Where an input cannot be read on; the records before were handed out.
    pub fn next_record(&mut self) -> Result<Option<FlowRecord>, FlowError> {
        loop {
            if let Some(record) = self.poll_record() {
                return Ok(Some(record));
            }
            if !self.read_on()? {
                return Ok(None);
            }
        }
    }

    /// The next of the records read so far.
    pub fn poll_record(&mut self) -> Option<FlowRecord> {
        let record = self.records.get(self.next)?;
        self.next += 1;
        Some(*record)
    }

    /// Reads one message, or one packet of a capture, unless records wait; `false` after the last. There may be many
    /// without a record: whoever wants to stop in between reads so.
    ///
    /// # Errors
    /// As [`Reader::next_record`].
    pub fn read_on(&mut self) -> Result<bool, FlowError> {
        if self.next < self.records.len() {
            return Ok(true);
        }
        self.next = 0;
        self.records.clear();
        let Some(current) = &mut self.current else {
            let more = self.open_next()?;
            if !more {
                self.decoder.finish();
            }
            return Ok(more);
        };
        let read = match current {
            Current::Messages(messages) => messages.read_one(&mut self.decoder, self.options),
            Current::Exporters(exporters) => exporters.read_one(&mut self.decoder),
        };
        match read {
            Ok(true) => self.decoder.take_records(&mut self.records),
            Ok(false) => self.current = None,
            Err(error) => {
                self.current = None;
                self.ahead.clear();
                return Err(error);
            }
        }
        Ok(true)
    }

    /// What was read so far.
    pub fn facts(&self) -> &FlowFacts {
        &self.decoder.facts
    }

    /// Opens the next input; `false` if there is none.
    fn open_next(&mut self) -> Result<bool, FlowError> {
        let Some(Ahead { name, bytes }) = self.ahead.pop_front() else { return Ok(false) };
        let opened = self.open_one(name, bytes);
        if opened.is_err() {
            self.ahead.clear();
        }
        opened.map(|()| true)
    }

    fn open_one(&mut self, name: String, bytes: Bytes) -> Result<(), FlowError> {
        let file_error = |kind| CaptureError { file: name.clone(), packet: None, offset: None, kind };
        let (mut reader, path, total_bytes): (Box<dyn Read + Send>, _, _) = match bytes {
            Bytes::Reader(reader) => (reader, None, None),
            // Captures in a folder are one stream; flow files in one are not.
            Bytes::File(path) if path.is_dir() => return self.open_capture(name, Input::File(path)),
            Bytes::File(path) => {
                let (file, size) =
                    open(&path, &self.interrupt).map_err(|error| file_error(CaptureErrorKind::Open(error)))?;
                // What was read of a pipe cannot be read again.
                (file, size.is_some().then_some(path), size)
            }
        };
        let mut start = Vec::new();
        let taken = reader.by_ref().take(START_BYTES).read_to_end(&mut start);
        taken.map_err(|error| file_error(CaptureErrorKind::Read(error)))?;
        let head = unpacked(&start).map_err(file_error)?;
        let whole = |kind| FlowError::Messages { file: name.clone(), message: None, offset: None, kind };
        if let Some((name, hint)) = not_read(&head) {
            return Err(whole(FlowErrorKind::NotRead { name, hint }));
        }
        // Flow records first: the start of an IPFIX message may look like that of an ERF capture.
        if detect(&head).is_none() && capture::is_capture(&head) {
            return match path {
                Some(path) => self.open_capture(name, Input::File(path)),
                None => {
                    let reader: Box<dyn Read + Send> = Box::new(Cursor::new(start).chain(reader));
                    let captures = Captures::from_readers(vec![(name.clone(), reader)], self.capture_options())?;
                    self.begin_capture(name, captures);
                    Ok(())
                }
            };
        }
        let version = match u16_at(&head, 0) {
            None if head.is_empty() => return Err(whole(FlowErrorKind::Empty)),
            Some(5) => Version::V5,
            Some(9) => Version::V9,
            Some(10) => Version::Ipfix,
            Some(old @ (1 | 6 | 7 | 8)) => {
                return Err(whole(FlowErrorKind::NotFlows(format!("if it is NetFlow, it is v{old}"))));
            }
            _ => {
                let bytes: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                return Err(whole(FlowErrorKind::NotFlows(format!("it begins with the bytes {}", bytes.join(" ")))));
            }
        };
        let reader = Box::new(Cursor::new(start).chain(reader));
        let source = Source::new(reader, 1, self.options.sha256).map_err(file_error)?;
        let input = self.begin_input(name, Kind::Messages(version), total_bytes);
        self.current = Some(Current::Messages(Box::new(Messages { source, input, count: 0 })));
        Ok(())
    }

    fn open_capture(&mut self, name: String, input: Input) -> Result<(), FlowError> {
        let captures = Captures::open(&[input], self.capture_options())?;
        self.begin_capture(name, captures);
        Ok(())
    }

    fn begin_capture(&mut self, name: String, captures: Captures) {
        let total_bytes = captures.inputs().iter().map(|facts| facts.total_bytes).sum();
        let input = self.begin_input(name, Kind::Capture, total_bytes);
        self.current = Some(Current::Exporters(Box::new(Exporters::new(captures, input))));
    }

    fn capture_options(&self) -> capture::Options {
        let Options { truncation, sha256 } = self.options;
        capture::Options { truncation, sha256 }
    }

    fn begin_input(&mut self, name: String, kind: Kind, total_bytes: Option<u64>) -> usize {
        let inputs = &mut self.decoder.facts.inputs;
        inputs.push(InputFacts { name, kind, messages: 0, bytes_read: 0, total_bytes, truncated: false, sha256: None });
        inputs.len() - 1
    }
}

/// How much of an input is looked at to say what it is. A block of a compressed file has at most half as many bytes.
const START_BYTES: u64 = 256 << 10;

/// The first bytes of a file that begins with `start`, uncompressed.
fn unpacked(start: &[u8]) -> Result<Vec<u8>, CaptureErrorKind> {
    let mut source = Source::new(Box::new(Cursor::new(start.to_vec())), 1, false)?;
    source.require(HEAD_BYTES).map_err(|fault| fault.kind)?;
    if source.available().is_empty() && !start.is_empty() {
        return Err(CaptureErrorKind::cut("its compressed data end before their first byte".to_owned()));
    }
    Ok(source.available().iter().copied().take(HEAD_BYTES).collect())
}

impl Messages {
    /// Reads one message; `false` after the last.
    fn read_one(&mut self, decoder: &mut Decoder, options: Options) -> Result<bool, FlowError> {
        let mut all = false;
        let (version, length) = loop {
            let bytes = self.source.available();
            if all && bytes.is_empty() {
                if self.source.is_cut() && options.truncation != Truncation::Allow {
                    let kind = CaptureErrorKind::cut("its compressed data end early".to_owned());
                    return Err(self.fault(decoder, Fault { offset: self.source.offset(), kind }));
                }
                decoder.facts.inputs[self.input].truncated = self.source.is_cut();
                return self.end(decoder);
            }
            match frame(bytes, all) {
                Frame::Message(version, length) => break (version, length),
                Frame::More(length) if all => {
                    let missing = length - bytes.len();
                    return self.cut_off(decoder, options, length, missing);
                }
                Frame::More(length) => {
                    let enough = self.source.require(length).map_err(|fault| self.fault(decoder, fault))?;
                    all = !enough;
                }
                Frame::Wrong(at, text) => {
                    return Err(self.error(decoder, self.source.offset() + at as u64, FlowErrorKind::Corrupt(text)));
                }
            }
        };
        self.count += 1;
        let origin =
            Origin { input: self.input, exporter: None, message: self.count, offset: self.source.offset(), cut: false };
        decoder.handle_message(version, &self.source.available()[..length], origin);
        self.source.consume(length);
        let facts = &mut decoder.facts.inputs[self.input];
        facts.messages = self.count;
        facts.bytes_read = self.source.stored_bytes();
        Ok(true)
    }

    /// The file ends inside a message.
    fn cut_off(
        &mut self,
        decoder: &mut Decoder,
        options: Options,
        length: usize,
        missing: usize,
    ) -> Result<bool, FlowError> {
        if options.truncation == Truncation::Allow {
            decoder.facts.inputs[self.input].truncated = true;
            return self.end(decoder);
        }
        let version = match u16_at(self.source.available(), 0) {
            Some(5) => Version::V5,
            Some(9) => Version::V9,
            _ => Version::Ipfix,
        };
        Err(self.error(decoder, self.source.offset(), FlowErrorKind::Truncated { version, length, missing }))
    }

    fn end(&mut self, decoder: &mut Decoder) -> Result<bool, FlowError> {
        let sha256 = self.source.finish().map_err(|fault| self.fault(decoder, fault))?;
        let facts = &mut decoder.facts.inputs[self.input];
        facts.bytes_read = self.source.stored_bytes();
        facts.sha256 = sha256;
        Ok(false)
    }

    fn fault(&self, decoder: &Decoder, fault: Fault) -> FlowError {
        let file = decoder.facts.inputs[self.input].name.clone();
        CaptureError { file, packet: None, offset: Some(fault.offset), kind: fault.kind }.into()
    }

    fn error(&self, decoder: &Decoder, offset: u64, kind: FlowErrorKind) -> FlowError {
        let file = decoder.facts.inputs[self.input].name.clone();
        FlowError::Messages { file, message: Some(self.count + 1), offset: Some(offset), kind }
    }
}

/// Opens a regular file or a pipe; the size is known of the former only.
fn open(path: &Path, interrupt: &Interrupt) -> io::Result<(Box<dyn Read + Send>, Option<u64>)> {
    let (reader, metadata) = interrupt::open(path, interrupt)?;
    Ok((reader, metadata.is_file().then_some(metadata.len())))
}

/// Decodes a file of export messages that is in memory: its records as far as it can be read, what was noted, and why it could not be
/// read on. For fuzzing and tests; never panics, whatever the bytes.
pub fn decode(bytes: &[u8]) -> (Vec<FlowRecord>, FlowFacts, Option<FlowError>) {
    let source: Box<dyn Read + Send> = Box::new(Cursor::new(bytes.to_vec()));
    let options = Options { sha256: false, ..Options::default() };
    let mut reader = match Reader::from_readers(vec![("bytes".to_string(), source)], options) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), FlowFacts::default(), Some(error)),
    };
    let mut records = Vec::new();
    let error = loop {
        match reader.next_record() {
            Ok(Some(record)) => records.push(record),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    (records, reader.facts().clone(), error)
}
