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

/// Whether a file that begins with `head`, uncompressed, is a capture that is read.
pub(crate) fn is_capture(head: &[u8]) -> bool {
    detect::look(&head[..head.len().min(detect::HEAD_BYTES)]).is_ok()
}
