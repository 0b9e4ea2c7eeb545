//! `[workload.replay]`: which of what vectors say of their ends, beside data units, is replayed (methods A.13).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[workload.replay]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Replay {
    /// Pauses of programs inside data units (methods A.13.1); default: true.
    pub writes: bool,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay { writes: true }
    }
}

impl Replay {
    pub(super) fn is_default(&self) -> bool {
        *self == Replay::default()
    }
}
