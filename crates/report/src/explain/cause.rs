//! What a replay can leave out of its original.

use serde::Serialize;

/// Something of its original that a replay can leave out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Its name: the last part of its key.
    pub name: String,
    /// The key of an experiment that decides on it.
    pub key: String,
    /// The key's value that leaves it out.
    pub without: String,
    /// The key's value that replays it.
    pub with: String,
}

/// What stands for the difference that no cause explains.
pub const UNKNOWN: &str = "unknown";
