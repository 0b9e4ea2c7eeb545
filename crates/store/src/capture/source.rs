//! The bytes of one input: hashed as stored, uncompressed, and buffered in large reads.

use std::io::{self, BufReader, Read};

use lzma_rust2::XzReader;
use sha2::{Digest, Sha256};
use zstd::zstd_safe;

use super::error::{CaptureErrorKind, Fault};
use super::facts::Compression;
use super::gzip::Members;
use crate::sealed::hexadecimal;

/// Largest read from a file. Reads of this size beat mapping the file (no page faults), and what is read is hashed and
/// decoded while it is in the cache.
const READ_BYTES: usize = 256 << 10;
/// The first read; small captures, of which there may be many, need no more.
const FIRST_READ_BYTES: usize = 64 << 10;
/// What the buffers of all inputs may take together.
const ALL_BUFFERS_BYTES: usize = 64 << 20;

/// gzip, RFC 1952.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Zstandard frame, RFC 8878.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The .xz file format, version 1.2.1.
const XZ_MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// What an xz block may ask for, in KiB; `xz -9` asks for a quarter. A header of 12 bytes could claim 4 GiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;
/// The window that a zstd frame may ask for, as the power of two that `zstd -d` takes unasked: 128 MiB.
const ZSTD_WINDOW_LOG: u32 = 27;
/// ZSTD_error_frameParameter_windowTooLarge (zstd_errors.h), as functions return it.
const ZSTD_WINDOW_TOO_LARGE: usize = 16_usize.wrapping_neg();

/// The file as stored. Counts and hashes every byte that passes.
struct Stored {
    reader: Box<dyn Read + Send>,
    /// First bytes, read to detect compression and still to be handed out.
    head: Vec<u8>,
    bytes: u64,
    hasher: Option<Sha256>,
}

impl Read for Stored {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.head.is_empty() {
            let count = self.head.len().min(into.len());
            into[..count].copy_from_slice(&self.head[..count]);
            self.head.drain(..count);
            return Ok(count);
        }
        let count = self.reader.read(into)?;
        self.note(&into[..count]);
        Ok(count)
    }
}

impl Stored {
    fn note(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
    }
}

/// The stored file behind its decompressor, if it has one.
enum Stream {
    Plain(Stored),
    Gzip(Box<Members<BufReader<Stored>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<Stored>>>),
    Xz(Box<XzReader<BufReader<Stored>>>),
}

impl Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stored) => stored.read(into),
            Stream::Gzip(decoder) => decoder.read(into),
            Stream::Zstd(decoder) => decoder.read(into),
            Stream::Xz(decoder) => decoder.read(into),
        }
    }

    fn stored(&self) -> &Stored {
        match self {
            Stream::Plain(stored) => stored,
            Stream::Gzip(decoder) => decoder.get_ref().get_ref(),
            Stream::Zstd(decoder) => decoder.get_ref().get_ref(),
            Stream::Xz(decoder) => decoder.inner().get_ref(),
        }
    }

    fn stored_mut(&mut self) -> &mut Stored {
        match self {
            Stream::Plain(stored) => stored,
            Stream::Gzip(decoder) => decoder.get_mut().get_mut(),
            Stream::Zstd(decoder) => decoder.get_mut().get_mut(),
            Stream::Xz(decoder) => decoder.inner_mut().get_mut(),
        }
    }
}

/// A window on the uncompressed bytes of one input. Readers ask for as many bytes as the next record needs, look
/// at them in place, and consume them.
pub(crate) struct Source {
    stream: Stream,
    compression: Compression,
    window: Vec<u8>,
    /// How large the window may grow, records that are larger apart.
    limit: usize,
    /// The bytes read and not yet consumed are `window[start..end]`.
    start: usize,
    end: usize,
    /// Offset in the uncompressed capture of `window[0]`.
    base: u64,
    ended: bool,
    /// The compressed stream ended before it was complete.
    cut: bool,
    refills: u64,
}

impl Source {
    /// Wraps `reader`, one of `inputs`, detecting its compression.
    pub fn new(mut reader: Box<dyn Read + Send>, inputs: usize, hash: bool) -> Result<Source, CaptureErrorKind> {
        let mut head = Vec::new();
        let taken = reader.by_ref().take(XZ_MAGIC.len() as u64).read_to_end(&mut head);
        taken.map_err(CaptureErrorKind::Read)?;
        let compression = if head.starts_with(&GZIP_MAGIC) {
            Compression::Gzip
        } else if head.starts_with(&ZSTD_MAGIC) {
            Compression::Zstd
        } else if head.starts_with(&XZ_MAGIC) {
            Compression::Xz
        } else {
            Compression::None
        };
        let mut stored = Stored { reader, head: Vec::new(), bytes: 0, hasher: hash.then(Sha256::new) };
        stored.note(&head);
        stored.head = head;
        let limit = (ALL_BUFFERS_BYTES / inputs.max(1)).clamp(FIRST_READ_BYTES, READ_BYTES);
        let buffered = |stored| BufReader::with_capacity(FIRST_READ_BYTES, stored);
        let stream = match compression {
            Compression::None => Stream::Plain(stored),
            Compression::Gzip => Stream::Gzip(Box::new(Members::new(buffered(stored)))),
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(buffered(stored)).and_then(|mut decoder| {
                    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                    Ok(decoder)
                });
                Stream::Zstd(Box::new(decoder.map_err(CaptureErrorKind::Read)?))
            }
            Compression::Xz => Stream::Xz(Box::new(XzReader::new_mem_limit(buffered(stored), true, XZ_MEMORY_KIB))),
        };
        let window = vec![0; FIRST_READ_BYTES];
        Ok(Source {
            stream,
            compression,
            window,
            limit,
            start: 0,
            end: 0,
            base: 0,
            ended: false,
            cut: false,
            refills: 0,
        })
    }

    /// How the input is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Offset of the next byte in the uncompressed capture.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// What has been read and not consumed. Indices into [`Source::window`] begin at [`Source::position`].
    #[inline]
    pub fn available(&self) -> &[u8] {
        &self.window[self.start..self.end]
    }

    /// Index of the next byte in [`Source::window`].
    #[inline]
    pub fn position(&self) -> usize {
        self.start
    }

    /// The buffer; what was consumed stays in it until the next [`Source::require`] or [`Source::skip`].
    #[inline]
    pub fn window(&self) -> &[u8] {
        &self.window
    }

    /// Moves past `count` bytes, which must be available.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
    }

    /// Makes at least `count` bytes available; false if the input ends before.
    #[inline]
    pub fn require(&mut self, count: usize) -> Result<bool, Fault> {
        if self.end - self.start >= count { Ok(true) } else { self.refill(count) }
    }

    #[cold]
    fn refill(&mut self, count: usize) -> Result<bool, Fault> {
        if self.ended {
            return Ok(false);
        }
        self.refills += 1;
        let full = self.end == self.window.len();
        if self.start > 0 {
            self.window.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if full && self.window.len() < self.limit {
            self.window.resize((self.window.len() * 2).min(self.limit), 0);
        }
        while self.end < count && !self.ended {
            if self.end == self.window.len() {
                // A large record, or a damaged length: memory grows with what is there, not with what is claimed.
                self.window.resize((self.window.len() * 2).min(count), 0);
            }
            match self.stream.read(&mut self.window[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.fail(error)?,
            }
        }
        Ok(self.end >= count)
    }

    /// A compressed stream that ends early is a cut-off capture; other errors of a decompressor are damage.
    fn fail(&mut self, error: io::Error) -> Result<(), Fault> {
        if self.compression != Compression::None && error.kind() == io::ErrorKind::UnexpectedEof {
            self.ended = true;
            self.cut = true;
            return Ok(());
        }
        let damaged = error.raw_os_error().is_none();
        let kind = match self.compression {
            Compression::Gzip if damaged => CaptureErrorKind::Compression("gzip", error),
            // The crate hands on the library's text and not its number.
            Compression::Zstd if error.to_string() == zstd_safe::get_error_name(ZSTD_WINDOW_TOO_LARGE) => {
                CaptureErrorKind::Memory { format: "zstd", mib: 1 << (ZSTD_WINDOW_LOG - 20) }
            }
            Compression::Zstd if damaged => CaptureErrorKind::Compression("zstd", error),
            Compression::Xz if error.kind() == io::ErrorKind::OutOfMemory => {
                CaptureErrorKind::Memory { format: "xz", mib: XZ_MEMORY_KIB >> 10 }
            }
            Compression::Xz if damaged => CaptureErrorKind::Compression("xz", error),
            _ => CaptureErrorKind::Read(error),
        };
        Err(Fault { offset: self.offset(), kind })
    }

    /// Moves past `count` bytes however many; false if the input ends before.
    pub fn skip(&mut self, mut count: u64) -> Result<bool, Fault> {
        loop {
            let here = (self.end - self.start).min(usize::try_from(count).unwrap_or(usize::MAX));
            self.start += here;
            count -= here as u64;
            if count == 0 {
                return Ok(true);
            }
            if !self.require(1)? {
                return Ok(false);
            }
        }
    }

    /// Whether the compressed stream ended before it was complete.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// How often the buffer was filled; while it stays the same, so does [`Source::stored_bytes`].
    pub fn refills(&self) -> u64 {
        self.refills
    }

    /// Bytes read of the file as stored.
    pub fn stored_bytes(&self) -> u64 {
        self.stream.stored().bytes
    }

    /// Reads what is left of the file as stored, and returns the SHA-256 of all of it, in hexadecimal.
    pub fn finish(&mut self) -> Result<Option<String>, Fault> {
        let offset = self.offset();
        let stored = self.stream.stored_mut();
        io::copy(stored, &mut io::sink()).map_err(|error| Fault { offset, kind: CaptureErrorKind::Read(error) })?;
        self.window = Vec::new();
        (self.start, self.end, self.ended) = (0, 0, true);
        self.base = offset;
        let digest = self.stream.stored_mut().hasher.take().map(Sha256::finalize);
        Ok(digest.map(|digest| hexadecimal(&digest)))
    }
}
