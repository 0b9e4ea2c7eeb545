//! A table on its way into a file: each row group is held back until its column chunks are hashed, and the footer until its
//! digest stands in it.

use std::io::{self, Write};

use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};

use super::digests::{self, ChunkDigest};

/// Memory that is kept from one row group to the next: more than most of them take.
const KEPT: usize = 1 << 20;

/// Takes the bytes of the Parquet crate, and hands them on to `W` with digests.
pub(super) struct Sealing<W> {
    out: W,
    held: Vec<u8>,
    /// Bytes handed on: where in the file what is held begins.
    passed: u64,
    chunks: Vec<ChunkDigest>,
}

impl<W: Write> Sealing<W> {
    /// An empty file.
    pub(super) fn new(out: W) -> Sealing<W> {
        Sealing { out, held: Vec::new(), passed: 0, chunks: Vec::new() }
    }

    /// Hashes `chunks`, all of which must be held, and hands on what is held.
    pub(super) fn pass(&mut self, chunks: &[ColumnChunkMetaData]) -> io::Result<()> {
        for chunk in chunks {
            let (start, length) = chunk.byte_range();
            let bytes = &self.held[(start - self.passed) as usize..][..length as usize];
            self.chunks.push(digests::of_chunk(bytes));
        }
        self.out.write_all(&self.held)?;
        self.passed += self.held.len() as u64;
        self.held.clear();
        self.held.shrink_to(KEPT);
        Ok(())
    }

    /// What the footer must say of the chunks that were passed, and of itself.
    pub(super) fn metadata(&self) -> [KeyValue; 2] {
        digests::metadata(&self.chunks)
    }

    /// Seals the footer, which is all that is held, and hands it on.
    pub(super) fn finish(mut self) -> io::Result<W> {
        digests::seal(&mut self.held);
        self.out.write_all(&self.held)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// What is held stays: [`Sealing::pass`] and [`Sealing::finish`] hand it on.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
