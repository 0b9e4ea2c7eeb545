//! Tmix connection vectors in both spellings (methods A.10, `docs/reference/formats.md`).
//!
//! The *original* spelling (`SEQ`, `CONC`; "tcvec format version 2") writes waits on lines of their own; the *alternate*
//! one (`S`, `C`) writes rows `I|A SEND_WAIT RECEIVE_WAIT BYTES`. Both say the same, so both are read into [`Row`]s and
//! written from them: [`rows`] turns rows into vectors and back, [`read`] and [`write`] spell them.

mod read;
mod rows;
mod write;

pub(super) use read::TmixReader;
pub use read::read;
pub(super) use rows::micros;
pub use write::{Assumptions, TmixWriter};

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
enum After {
    /// The end's own previous send; also of a first row, which does not wait.
    Sending,
    /// Having received all that the other end sent before.
    Receiving,
}

/// What one end does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    side: Side,
    after: After,
    wait_us: u64,
    /// Bytes to send; zero closes.
    bytes: u64,
}

/// Longest time read, in microseconds: 292 years, so that no sum of a few overflows nanoseconds.
const MOST_MICROS: u64 = (i64::MAX / 1_000) as u64;
