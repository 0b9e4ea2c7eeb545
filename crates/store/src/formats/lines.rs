//! The lines of a text file: decompressed, hashed, numbered, and never longer in memory than a limit.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use super::error::{Flaw, FormatError, LineError};
use crate::capture::{COPY_AGAIN, Fault, Input, Source};
use crate::interrupt::{self, Interrupt, standard_input};
use crate::regular;

/// What is shown of a line in an error.
const SHOWN: usize = 80;
/// How much of a file is looked at to tell its format: licences stand in comments above the first line.
pub(crate) const HEAD_BYTES: usize = 64 << 10;
/// Bytes of the text read at a time while a line goes on.
const STEP: usize = 16 << 10;

/// The lines of one input.
pub(crate) struct Lines {
    source: Source,
    file: String,
    /// The number of the line handed out last, from 1.
    number: u64,
    /// Where it lies in the source's window.
    current: Range<usize>,
    /// Where it lies in the text, in bytes.
    begin: u64,
    sha256: Option<String>,
}

impl Lines {
    /// Opens `input`, to be read until `interrupt` is requested.
    pub(crate) fn open(input: &Input, interrupt: &Interrupt) -> Result<Lines, FormatError> {
        let (file, opened) = match input {
            Input::Stdin => {
                ("standard input".to_owned(), standard_input(interrupt).map(|reader| Box::new(reader) as _))
            }
            Input::File(path) => {
                (path.display().to_string(), interrupt::open(path, interrupt).map(|(reader, _)| reader))
            }
        };
        let opened: Box<dyn Read + Send> = opened.map_err(|source| FormatError::Open { file: file.clone(), source })?;
        Lines::over(file, opened)
    }

    /// Opens a regular file.
    pub(crate) fn open_file(path: &Path) -> Result<Lines, FormatError> {
        let file = path.display().to_string();
        let opened = regular::open(path).map_err(|source| FormatError::Open { file: file.clone(), source })?;
        Lines::over(file, Box::new(opened))
    }

    /// Lines of a text in memory.
    pub(crate) fn of(file: &str, text: &[u8]) -> Result<Lines, FormatError> {
        Lines::over(file.to_owned(), Box::new(io::Cursor::new(text.to_vec())))
    }

    fn over(file: String, reader: Box<dyn Read + Send>) -> Result<Lines, FormatError> {
        let source = Source::new(reader, 1, true).map_err(|kind| {
            let (problem, hint) = (kind.to_string(), kind.hint());
            FormatError::Read { file: file.clone(), line: 1, offset: 0, problem, hint }
        })?;
        Ok(Lines { source, file, number: 0, current: 0..0, begin: 0, sha256: None })
    }

    /// The first bytes of the text, for a look at what it is. To be called before the first line is read.
    pub(crate) fn head(&mut self) -> Result<&[u8], FormatError> {
        match self.source.require(HEAD_BYTES) {
            Ok(_) => {}
            // What could be decompressed may tell the format; the damage is met again on the way.
            Err(_) if !self.source.available().is_empty() => {}
            Err(fault) => return Err(self.failed(fault)),
        }
        let head = self.source.available();
        Ok(&head[..head.len().min(HEAD_BYTES)])
    }

    /// Goes to the next line; false at the end of the file. A line ends with LF or CR LF, the last one may lack it.
    ///
    /// # Errors
    /// A line longer than `limit`, a NUL byte, or a file that cannot be read on.
    pub(crate) fn advance(&mut self, limit: usize) -> Result<bool, FormatError> {
        let mut searched = 0;
        let (length, terminator) = loop {
            let available = self.source.available();
            if let Some(at) = available[searched..].iter().position(|byte| *byte == b'\n') {
                break (searched + at, 1);
            }
            searched = available.len();
            if searched > limit {
                self.number += 1;
                let start = &self.source.available()[..searched.min(4 * SHOWN)];
                return Err(self.flaw_in(&String::from_utf8_lossy(start), &too_long(limit)));
            }
            match self.source.require(searched + STEP) {
                Ok(true) => {}
                Ok(false) if self.source.available().len() > searched => {}
                Ok(false) if self.source.is_cut() => {
                    let problem = "the compressed data end before they are complete".to_owned();
                    return Err(self.broken(problem, Some(COPY_AGAIN)));
                }
                Ok(false) if searched == 0 => return Ok(false),
                Ok(false) => break (searched, 0),
                Err(fault) => return Err(self.failed(fault)),
            }
        };
        self.number += 1;
        let start = self.source.position();
        self.begin = self.source.offset();
        self.source.consume(length + terminator);
        self.current = start..start + length;
        if self.source.window()[self.current.clone()].last() == Some(&b'\r') {
            self.current.end -= 1;
        }
        if length > limit {
            return Err(self.flaw(&too_long(limit)));
        }
        if self.bytes().contains(&0) {
            return Err(self.flaw(&Flaw::new("a NUL byte: this is no text", "")));
        }
        Ok(true)
    }

    /// The line, without its end.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.source.window()[self.current.clone()]
    }

    /// The line as text.
    pub(crate) fn text(&self) -> Result<&str, FormatError> {
        std::str::from_utf8(self.bytes()).map_err(|error| {
            let within = error.valid_up_to();
            let (byte, offset) = (self.bytes()[within], self.begin + within as u64);
            self.flaw(&Flaw::new(format!("this is not UTF-8 text: byte 0x{byte:02x} at offset {offset}"), ""))
        })
    }

    /// Its number, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The file as named by the user.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The error that names the present line.
    pub(crate) fn flaw(&self, flaw: &Flaw) -> FormatError {
        self.flaw_in(&String::from_utf8_lossy(self.bytes()), flaw)
    }

    /// The error of a line before, whose text is gone.
    pub(crate) fn flaw_at(&self, line: u64, flaw: &Flaw) -> FormatError {
        self.line_error(line, String::new(), flaw)
    }

    fn flaw_in(&self, text: &str, flaw: &Flaw) -> FormatError {
        let mut shown: String = text.trim().chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
        if text.trim().chars().count() > SHOWN {
            shown.push_str("...");
        }
        self.line_error(self.number, shown, flaw)
    }

    fn line_error(&self, line: u64, text: String, flaw: &Flaw) -> FormatError {
        FormatError::from(Box::new(LineError {
            file: self.file.clone(),
            line,
            text,
            problem: flaw.problem.clone(),
            expected: flaw.expected,
        }))
    }

    fn failed(&self, fault: Fault) -> FormatError {
        self.broken(fault.kind.to_string(), fault.kind.hint())
    }

    fn broken(&self, problem: String, hint: Option<&'static str>) -> FormatError {
        let offset = self.source.offset();
        FormatError::Read { file: self.file.clone(), line: self.number + 1, offset, problem, hint }
    }

    /// Bytes of the file as stored read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.source.stored_bytes()
    }

    /// SHA-256 of the file as stored, which this reads to its end.
    pub(crate) fn sha256(&mut self) -> Result<String, FormatError> {
        if let Some(digest) = &self.sha256 {
            return Ok(digest.clone());
        }
        let digest = self.source.finish().map_err(|fault| self.failed(fault))?.unwrap_or_default();
        self.current = 0..0;
        self.sha256 = Some(digest.clone());
        Ok(digest)
    }
}

fn too_long(limit: usize) -> Flaw {
    Flaw::new(format!("a line of more than {limit} bytes"), "one record in a line")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Result<Vec<String>, FormatError> {
        let mut lines = Lines::of("f", text)?;
        let mut all = Vec::new();
        while lines.advance(1 << 16)? {
            all.push(lines.text()?.to_owned());
        }
        Ok(all)
    }

    #[test]
    fn ends_of_lines() {
        assert_eq!(lines(b"a\nb\r\n\nc").unwrap(), ["a", "b", "", "c"]);
        assert_eq!(lines(b"").unwrap(), [""; 0]);
        assert_eq!(lines(b"\n").unwrap(), [""]);
        let long = "x".repeat(60_000);
        assert_eq!(lines(format!("{long}\n{long}").as_bytes()).unwrap(), [&long[..], &long]);
    }

    #[test]
    fn endless_lines_and_no_text_are_errors_with_their_line() {
        let text = [b"first\n".to_vec(), vec![b'x'; 1 << 20]].concat();
        let message = lines(&text).unwrap_err().to_string();
        assert!(message.starts_with("f:2: a line of more than 65536 bytes: \"xxxx"), "{message}");
        assert_eq!(lines(b"a\nb\0c\n").unwrap_err().to_string(), "f:2: a NUL byte: this is no text: \"b c\"");
        assert!(lines(b"a\n\xff\xfe\n").unwrap_err().to_string().starts_with("f:2: this is not UTF-8"));
    }

    #[test]
    fn an_endless_line_takes_bounded_memory() {
        let mut lines = Lines::over("f".into(), Box::new(io::repeat(b'x'))).unwrap();
        assert!(lines.advance(1 << 20).is_err());
        assert!(lines.source.window().len() <= 4 << 20);
    }

    #[test]
    fn the_hash_is_that_of_the_whole_file() {
        let mut lines = Lines::of("f", b"abc").unwrap();
        assert_eq!(lines.sha256().unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(lines.bytes_read(), 3);
    }
}
