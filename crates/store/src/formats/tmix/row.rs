//! Lines of both spellings of Tmix.

use flowloom_core::workload::Side;

/// The two ways to write the same vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `SEQ` and `CONC`.
    Original,
    /// `S` and `C`, of ns-2.
    Alternate,
}

impl Spelling {
    /// The spelling of a file whose first token is `token`.
    pub fn of(token: &str) -> Option<Spelling> {
        match token {
            "SEQ" | "CONC" => Some(Spelling::Original),
            "S" | "C" => Some(Spelling::Alternate),
            _ => None,
        }
    }
}

/// What a row's wait is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The end's own previous send; also of a first row, which does not wait.
    Sending,
    /// Having received all that the other end sent before.
    Receiving,
}

/// What one end does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) side: Side,
    pub(super) after: After,
    pub(super) wait_us: u64,
    /// Bytes to send; zero closes.
    pub(super) bytes: u64,
}

/// Longest time read, in microseconds: 292 years, so that no sum of a few overflows nanoseconds.
pub(super) const MOST_MICROS: u64 = (i64::MAX / 1_000) as u64;
