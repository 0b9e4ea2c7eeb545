//! The digests that a table carries in its metadata: SHA-256 of each column chunk, and of the footer.
//!
//! The chunks of all row groups cover the file from the magic at its begin to the footer without gaps. The footer's digest is of
//! the metadata, their length and the magic at the end, with zeros in its own place. So every byte of the file is covered.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use parquet::file::metadata::KeyValue;
use sha2::{Digest, Sha256};

use crate::sealed::{self, BLANK};

/// From this version on, files of all formats carry digests. The file of an earlier version that has none is read as it is;
/// one bit cannot make an earlier version of a later one, because the footer's digest is looked for before the version is read.
pub(super) const FIRST_VERSION: u64 = 2;

/// Metadata key: the digests of the column chunks, in the order of the file, 32 bytes each, as one base64 text.
const CHUNKS_KEY: &str = "flowloom.chunks_sha256";

/// Metadata key: the digest of the footer, as hexadecimal digits.
const FOOTER_KEY: &str = "flowloom.footer_sha256";

/// What stands in front of the footer's digest: its key, and in Thrift's compact protocol the type of a string and its length.
fn footer_marker() -> Vec<u8> {
    [FOOTER_KEY.as_bytes(), &[0x18, BLANK.len() as u8]].concat()
}

/// The digest of a column chunk.
pub(super) type ChunkDigest = [u8; 32];

/// The digest of the column chunk `bytes`.
pub(super) fn of_chunk(bytes: &[u8]) -> ChunkDigest {
    Sha256::digest(bytes).into()
}

/// The metadata that carry `chunks` and have room for the footer's digest.
pub(super) fn metadata(chunks: &[ChunkDigest]) -> [KeyValue; 2] {
    [
        KeyValue::new(CHUNKS_KEY.to_owned(), STANDARD_NO_PAD.encode(chunks.as_flattened())),
        KeyValue::new(FOOTER_KEY.to_owned(), BLANK.to_owned()),
    ]
}

/// Puts its digest into a footer with [`metadata`].
pub(super) fn seal(footer: &mut [u8]) {
    sealed::seal(footer, &footer_marker());
}

/// Whether a footer is as it was written; `None` if it carries no digest.
pub(super) fn is_intact(footer: &[u8]) -> Option<bool> {
    sealed::is_intact(footer, &footer_marker())
}

/// The digests of column chunks in `metadata`; `None` if there are none there.
pub(super) fn of_chunks(metadata: Option<&Vec<KeyValue>>) -> Option<Vec<ChunkDigest>> {
    let text = metadata?.iter().find(|pair| pair.key == CHUNKS_KEY)?.value.as_deref()?;
    let bytes = STANDARD_NO_PAD.decode(text).ok()?;
    let (chunks, rest) = bytes.as_chunks();
    rest.is_empty().then(|| chunks.to_vec())
}
