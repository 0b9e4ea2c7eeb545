//! `[workload.replay]`: which of what vectors say of their ends, beside data units, is replayed (methods A.13).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[workload.replay]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Replay {
    /// Pauses of programs inside data units (methods A.13.1); default: true.
    pub writes: bool,
    /// Window of each end at the start of a connection, where its first flight tells it (methods A.13.2); default: true. An initial window
    /// of `[tcp]` that is not the profile's wins.
    pub first_flight: bool,
    /// Data segments that each end acknowledges at once, and how long its acknowledgements wait (methods A.13.3); default: true. Delays
    /// and quick acknowledgements of `[tcp]` that are not the profile's win.
    pub acks: bool,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay { writes: true, first_flight: true, acks: true }
    }
}

impl Replay {
    pub(super) fn is_default(&self) -> bool {
        *self == Replay::default()
    }
}
