//! What captures are read from, and how.

use std::path::PathBuf;

use super::detect;

/// Where a capture comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or a folder: all captures in it.
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

/// Captures that end early and are read up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// None: the end of a file must be the end of a record.
    Refuse,
    /// Those that end inside their last record, as a capturing program leaves them that was killed. At least one packet was
    /// read, and the record could have been as long as it says.
    #[default]
    LastRecord,
    /// All of them, whatever their last record says.
    Allow,
}

/// How to read captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Treatment of files that end early.
    pub truncation: Truncation,
    /// Whether to compute the SHA-256 of every input while reading.
    pub sha256: bool,
}

impl Default for Options {
    /// Captures may end inside their last record; hashes are computed.
    fn default() -> Options {
        Options { truncation: Truncation::default(), sha256: true }
    }
}

/// Whether a file that begins with `head`, uncompressed, is a capture that is read.
pub(crate) fn is_capture(head: &[u8]) -> bool {
    detect::look(&head[..head.len().min(detect::HEAD_BYTES)]).is_ok()
}
