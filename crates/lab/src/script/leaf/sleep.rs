//! `sleep { duration = 2.5; }`: nothing for a while, to see whether a script, its hosts and their clocks work.

use flowloom_core::time::Duration;

use super::arguments::Arguments;

/// What a `sleep` is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// How long.
    pub duration: Duration,
}

impl Sleep {
    pub(super) const KEYWORD: &str = "sleep";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Sleep> {
        Some(Sleep { duration: given.duration()? })
    }

    pub(super) fn words(&self) -> String {
        "does nothing".to_owned()
    }
}
