//! Many captures as one stream of packets by time, each open only while its time lasts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flowloom_core::time::Time;

use super::error::{CaptureError, CaptureErrorKind, Fault};
use super::facts::InputFacts;
use super::folder::{self, Skipped};
use super::input::{Input, Options, Truncation};
use super::opened::Opened;
use super::record::Packet;
use crate::interrupt::{self, Interrupt, standard_input};

/// The display name of standard input.
const STDIN: &str = "standard input";

/// How far an input is.
enum Stage {
    /// A file that was looked at and closed; it is opened again when its first packet is due.
    Waiting(PathBuf),
    Open(Box<Opened>),
    Ended,
}

/// An input whose next packet is due at `time`. Of equal times, the input that begins first comes first: a capture
/// that goes on in another file ends before that one begins, however the two are named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    time: Time,
    first: Time,
    input: usize,
}

/// The captures, and which is due.
pub(super) struct Merge {
    stages: Vec<Stage>,
    facts: Vec<InputFacts>,
    /// Time of each input's first packet, if it has one.
    firsts: Vec<Option<Time>>,
    skipped: Vec<Skipped>,
    options: Options,
    /// What ends the reading of pipes.
    interrupt: Interrupt,
    /// How many inputs there are to share the memory for buffers.
    inputs: usize,
    /// The input whose record was handed out last.
    current: Option<usize>,
    /// The other inputs by the time of their next record.
    waiting: BinaryHeap<Reverse<Due>>,
    begun: bool,
}

impl Merge {
    /// Opens files, the captures in folders, and standard input.
    pub fn open(inputs: &[Input], options: Options, interrupt: &Interrupt) -> Result<Merge, CaptureError> {
        if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
            return Err(whole_file(STDIN.into(), CaptureErrorKind::StdinTwice));
        }
        let mut merge = Merge::new(options, interrupt.clone());
        let mut folders = Vec::new();
        let mut paths = 0;
        for input in inputs {
            let files = match input {
                Input::File(path) if path.is_dir() => {
                    let (files, others) = folder::entries(path)
                        .map_err(|error| whole_file(path.display().to_string(), CaptureErrorKind::Open(error)))?;
                    merge.skipped.extend(others);
                    Some(files)
                }
                _ => None,
            };
            paths += files.as_ref().map_or(1, Vec::len);
            folders.push(files);
        }
        merge.inputs = paths;
        for (input, files) in inputs.iter().zip(folders) {
            match (input, files) {
                (Input::Stdin, _) => {
                    let reader = standard_input(interrupt)
                        .map_err(|error| whole_file(STDIN.into(), CaptureErrorKind::Open(error)))?;
                    merge.add(STDIN.to_owned(), Box::new(reader), None)?;
                }
                (Input::File(path), None) => merge.add_file(path)?,
                (Input::File(folder), Some(files)) => merge.add_folder(folder, &files)?,
            }
        }
        Ok(merge)
    }

    /// Opens anything that can be read, under its display name.
    pub fn from_readers(readers: Vec<(String, Box<dyn Read + Send>)>, options: Options) -> Result<Merge, CaptureError> {
        let mut merge = Merge::new(options, Interrupt::never());
        merge.inputs = readers.len();
        for (name, reader) in readers {
            merge.add(name, reader, None)?;
        }
        Ok(merge)
    }

    fn new(options: Options, interrupt: Interrupt) -> Merge {
        Merge {
            stages: Vec::new(),
            facts: Vec::new(),
            firsts: Vec::new(),
            skipped: Vec::new(),
            options,
            interrupt,
            inputs: 0,
            current: None,
            waiting: BinaryHeap::new(),
            begun: false,
        }
    }

    /// Adds what can be read once.
    fn add(&mut self, name: String, reader: Box<dyn Read + Send>, size: Option<u64>) -> Result<(), CaptureError> {
        let opened = Opened::new(reader, self.inputs, self.options.sha256)
            .map_err(|fault| whole_file(name.clone(), fault.kind))?;
        self.facts.push(opened.facts(name, size));
        self.stages.push(Stage::Open(Box::new(opened)));
        self.firsts.push(None);
        Ok(())
    }

    /// Adds a file: looks at its first packet, if it is one of several and can be opened again.
    fn add_file(&mut self, path: &Path) -> Result<(), CaptureError> {
        let name = path.display().to_string();
        let (file, size) =
            open(path, &self.interrupt).map_err(|error| whole_file(name.clone(), CaptureErrorKind::Open(error)))?;
        if size.is_none() || self.inputs == 1 {
            return self.add(name, file, size);
        }
        let mut opened = Opened::new(file, self.inputs, false).map_err(|fault| whole_file(name.clone(), fault.kind))?;
        let mut facts = opened.facts(name, size);
        // What is wrong with the first record is said when its turn comes.
        self.firsts.push(opened.advance(&mut facts.clone()).unwrap_or_default());
        facts.bytes_read = 0;
        self.facts.push(facts);
        self.stages.push(Stage::Waiting(path.to_owned()));
        Ok(())
    }

    /// Adds the captures among `files`. What is something else is left out; a format that is a capture's, and not
    /// read, is an error: its packets would be missing.
    fn add_folder(&mut self, folder: &Path, files: &[PathBuf]) -> Result<(), CaptureError> {
        let before = self.facts.len();
        for path in files {
            match self.add_file(path) {
                Err(CaptureError { file, kind: CaptureErrorKind::NotACapture(why), .. }) => {
                    self.skipped.push(Skipped { name: file, why });
                }
                Err(CaptureError { file, kind: kind @ CaptureErrorKind::Empty, .. }) => {
                    self.skipped.push(Skipped { name: file, why: kind.to_string() });
                }
                other => other?,
            }
        }
        if self.facts.len() == before {
            return Err(whole_file(folder.display().to_string(), CaptureErrorKind::NoCaptures(files.len())));
        }
        Ok(())
    }

    /// The next packet by time, `None` after the last.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        if let Some(input) = self.current {
            match self.advance(input)? {
                // The usual case, and the only one with a single input: the same file goes on.
                Some(due) if self.waiting.peek().is_none_or(|Reverse(first)| due < *first) => {}
                Some(due) => {
                    self.waiting.push(Reverse(due));
                    self.turn()?;
                }
                None => self.turn()?,
            }
        } else if !self.begun {
            self.begin()?;
        }
        let Some(input) = self.current else { return Ok(None) };
        let Stage::Open(opened) = &self.stages[input] else { return Ok(None) };
        Ok(opened.packet(&mut self.facts[input], input))
    }

    /// What is known of each input.
    pub fn facts(&self) -> &[InputFacts] {
        &self.facts
    }

    /// What stood in a folder and is no capture.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Puts every input where its first packet belongs.
    #[cold]
    fn begin(&mut self) -> Result<(), CaptureError> {
        self.begun = true;
        for input in 0..self.stages.len() {
            let due = match (&self.stages[input], self.firsts[input]) {
                (Stage::Waiting(_), Some(first)) => Some(Due { time: first, first, input }),
                // Nothing is known of its first packet yet: there may be none, or it is damaged.
                _ => self.start(input)?,
            };
            self.waiting.extend(due.map(Reverse));
        }
        self.turn()
    }

    /// Goes on with the input that is due first, and opens it if it waits.
    #[cold]
    fn turn(&mut self) -> Result<(), CaptureError> {
        self.current = None;
        while let Some(Reverse(due)) = self.waiting.pop() {
            if matches!(self.stages[due.input], Stage::Waiting(_)) {
                // Once open, it is due when its first packet is, should the file have changed.
                let due = self.start(due.input)?;
                self.waiting.extend(due.map(Reverse));
            } else {
                self.current = Some(due.input);
                break;
            }
        }
        Ok(())
    }

    /// Opens an input that waits, and reads its first record.
    #[cold]
    fn start(&mut self, input: usize) -> Result<Option<Due>, CaptureError> {
        if let Stage::Waiting(path) = &self.stages[input] {
            let opened = open(path, &self.interrupt)
                .map_err(CaptureErrorKind::Open)
                .and_then(|(file, _)| Opened::new(file, self.inputs, self.options.sha256).map_err(|fault| fault.kind));
            match opened {
                Ok(opened) => self.stages[input] = Stage::Open(Box::new(opened)),
                Err(kind) => {
                    self.waiting.clear();
                    return Err(whole_file(self.facts[input].name.clone(), kind));
                }
            }
        }
        let due = self.advance(input)?;
        self.firsts[input] = due.map(|due| due.time);
        Ok(due.map(|due| Due { first: due.time, ..due }))
    }

    /// Reads the next record of an open input; `None` after the last.
    #[inline]
    fn advance(&mut self, input: usize) -> Result<Option<Due>, CaptureError> {
        let Stage::Open(opened) = &mut self.stages[input] else { return Ok(None) };
        match opened.advance(&mut self.facts[input]) {
            Ok(Some(time)) => Ok(Some(Due { time, first: self.firsts[input].unwrap_or_default(), input })),
            Ok(None) => self.end(input, None),
            Err(fault) => self.end(input, Some(fault)),
        }
    }

    /// The input ended, orderly or with `fault`.
    #[cold]
    fn end(&mut self, input: usize, fault: Option<Fault>) -> Result<Option<Due>, CaptureError> {
        let Stage::Open(mut opened) = std::mem::replace(&mut self.stages[input], Stage::Ended) else { return Ok(None) };
        let fault = match fault {
            Some(Fault { kind: CaptureErrorKind::Truncated { plausible, .. }, .. })
                if self.may_end_early(input, plausible) =>
            {
                self.facts[input].truncated = true;
                None
            }
            other => other,
        };
        let result = match fault {
            None => opened.finish(&mut self.facts[input]),
            Some(fault) => Err(fault),
        };
        result.map(|()| None).map_err(|Fault { offset, mut kind }| {
            if let CaptureErrorKind::Truncated { text, .. } = &mut kind
                && self.is_newest(input)
            {
                text.push_str(&format!("; it is the newest of {} files, perhaps still being written", self.inputs));
            }
            self.current = None;
            self.waiting.clear();
            let facts = &self.facts[input];
            CaptureError { file: facts.name.clone(), packet: Some(facts.packets + 1), offset: Some(offset), kind }
        })
    }

    /// Whether an input that ends inside a record is read up to there.
    fn may_end_early(&self, input: usize, plausible: bool) -> bool {
        match self.options.truncation {
            Truncation::Refuse => false,
            Truncation::LastRecord => plausible && self.facts[input].packets > 0,
            Truncation::Allow => true,
        }
    }

    /// Whether no other of several inputs begins later. One without a packet may be about to get its first.
    fn is_newest(&self, input: usize) -> bool {
        let first = self.firsts[input];
        self.inputs > 1 && (first.is_none() || self.firsts.iter().all(|other| *other <= first))
    }
}

/// Opens a regular file or a pipe; the size is known of the former only.
fn open(path: &Path, interrupt: &Interrupt) -> io::Result<(Box<dyn Read + Send>, Option<u64>)> {
    let (reader, metadata) = interrupt::open(path, interrupt)?;
    Ok((reader, metadata.is_file().then_some(metadata.len())))
}

fn whole_file(file: String, kind: CaptureErrorKind) -> CaptureError {
    CaptureError { file, packet: None, offset: None, kind }
}
