//! gzip with what real files have behind their first member: further members, and padding.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first byte of a member (RFC 1952 section 2.3.1).
const FIRST_BYTE: u8 = 0x1f;

/// The members of a gzip file as one stream (RFC 1952 section 2.2).
///
/// Zeros behind a member are the padding that tapes and block devices leave; `gzip -t` passes over them too. Anything
/// else that is no member is damage: it may have been one, and its packets would be missing.
pub(super) struct Members<R> {
    /// The member being read; `None` only while the next takes its place.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    /// Reads from the first byte of the first member.
    pub fn new(reader: R) -> Members<R> {
        Members { member: Some(GzDecoder::new(reader)) }
    }

    /// What is decompressed.
    pub fn get_ref(&self) -> &R {
        self.member.as_ref().expect(BETWEEN).get_ref()
    }

    /// As [`Members::get_ref`].
    pub fn get_mut(&mut self) -> &mut R {
        self.member.as_mut().expect(BETWEEN).get_mut()
    }

    /// Goes to the next member; `false` at the end of the file.
    fn advance(&mut self) -> io::Result<bool> {
        let reader = self.get_mut();
        loop {
            let held = reader.fill_buf()?;
            let Some(at) = held.iter().position(|byte| *byte != 0) else {
                let zeros = held.len();
                if zeros == 0 {
                    return Ok(false);
                }
                reader.consume(zeros);
                continue;
            };
            if held[at] != FIRST_BYTE {
                let text = "what follows a complete member is neither another one nor padding";
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            reader.consume(at);
            let reader = self.member.take().expect(BETWEEN).into_inner();
            *self = Members::new(reader);
            return Ok(true);
        }
    }
}

const BETWEEN: &str = "a member is there between calls";

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.member.as_mut().expect(BETWEEN).read(into)?;
            if count > 0 || into.is_empty() || !self.advance()? {
                return Ok(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// What comes out, and the error at its end, whatever the buffer's size.
    fn read(stored: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let outcomes = [1, 3, 1 << 16].map(|buffer| {
            let mut out = Vec::new();
            let error = Members::new(BufReader::with_capacity(buffer, stored)).read_to_end(&mut out).err();
            (out, error)
        });
        let said = outcomes.each_ref().map(|(out, error)| (out.clone(), error.as_ref().map(io::Error::to_string)));
        assert!(said.iter().all(|one| *one == said[0]), "{said:?}");
        outcomes.into_iter().next().unwrap()
    }

    #[test]
    fn members_and_padding_between_and_behind() {
        let (a, b) = (member(b"one "), member(b"two"));
        for padding in [0, 1, 9, 10, 512, 100_000] {
            let zeros = vec![0; padding];
            let (out, error) = read(&[&a[..], &zeros, &member(b""), &b, &zeros].concat());
            assert!(error.is_none() && out == b"one two", "{padding}: {error:?}");
        }
    }

    #[test]
    fn what_is_no_member_is_damage_and_a_part_of_one_is_a_cut() {
        let (a, b) = (member(b"one "), member(b"two"));
        for behind in [&b"x"[..], b"\0\0x", b"garbage that goes on", b"\x1f\x8c and on and on"] {
            let (out, error) = read(&[&a[..], behind].concat());
            assert_eq!(out, b"one ");
            assert_ne!(error.expect("it is no member").kind(), io::ErrorKind::UnexpectedEof, "{behind:?}");
        }
        for length in 1..b.len() {
            let (out, error) = read(&[&a[..], &b[..length]].concat());
            assert!(out.starts_with(b"one "));
            assert_eq!(error.expect("it is cut").kind(), io::ErrorKind::UnexpectedEof, "{length} bytes");
        }
    }
}
