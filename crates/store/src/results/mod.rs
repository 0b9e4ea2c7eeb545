//! Results in the forms of other tools: read to be compared with a run's, written to be opened in what shows those (`docs/reference/exports.md`).

pub mod flent;
pub mod iperf3;
mod series;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::regular;
pub use series::{Quantity, Results, Series, View, Way};

/// Bytes that a file of results may have, and unpacked ones.
const MOST_BYTES: u64 = 256 << 20;

/// Why results of another tool cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It holds more than anybody's results.
    #[error("{}: more than {} MiB of results", path.display(), MOST_BYTES >> 20)]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It is none of the forms that are known, or holds something else than they do.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
}

impl Results {
    /// Reads what iperf3 or flent wrote, told apart by content; compressed by gzip or not.
    ///
    /// # Errors
    ///
    /// [`ResultsError`], which names the file and what is wrong in it.
    pub fn open(path: &Path) -> Result<Results, ResultsError> {
        let unreadable = |source| ResultsError::Read { path: path.to_owned(), source };
        let mut file = regular::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.by_ref().take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let packed = std::mem::take(&mut bytes);
            MultiGzDecoder::new(&packed[..]).take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        }
        if bytes.len() as u64 > MOST_BYTES {
            return Err(ResultsError::TooLong { path: path.to_owned() });
        }
        Results::read(&bytes).map_err(|problem| ResultsError::Malformed { path: path.to_owned(), problem })
    }

    /// The same of a file's bytes, unpacked.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words.
    pub fn read(bytes: &[u8]) -> Result<Results, String> {
        let results = if flent::begins(bytes) { flent::read(bytes) } else { iperf3::read(bytes) }?;
        results.check()?;
        Ok(results)
    }
}

/// Whether `path` may hold results of another tool, by its first bytes: JSON or gzip.
pub fn may_be(path: &Path) -> bool {
    let mut head = [0; 2];
    let read = regular::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && (head == [0x1f, 0x8b] || head[0] == b'{')
}
