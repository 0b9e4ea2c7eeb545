//! The store of a monitor: counters over months, in one folder (`docs/reference/schemas.md`).
//!
//! ```text
//! monitor.json                             which series there are
//! journal/00000042.journal                 what was recorded last: appended, each record with a digest
//! 2026-11-27/manifest.json                 a UTC day: which files count
//! 2026-11-27/samples-00000001-00000041.parquet   and `seconds-`, `minutes-`, `hours-`, `gaps-`
//! ```
//!
//! One process writes ([`MonitorWriter`]); any number read meanwhile ([`MonitorReader`]). A journal segment is *folded* into the days that
//! its samples are of. The names of files say which segments they hold, so a segment counts once, whatever was interrupted. What a
//! folder holds changes in one step: when its manifest is replaced.
//!
//! | file | holds |
//! |---|---|
//! | `rows` | rows of the tables |
//! | `catalogue` | series, `monitor.json` |
//! | `journal` | segments: written, read |
//! | `day` | the folder of a day; its manifest |
//! | `fold` | samples into files; the pyramid |
//! | `merge` | several files into one; retention |
//! | `writer`, `reader` | the store as a whole |
//! | `check` | journals and the catalogue for `flowloom verify` |

mod catalogue;
mod check;
mod day;
mod fold;
mod journal;
mod merge;
mod reader;
mod rows;
mod writer;

pub use catalogue::{CATALOGUE_FILE, Catalogue, Kind, Series};
pub use check::{is_store, is_written, verify_catalogue, verify_journal};
pub(crate) use check::{is_table, verify_table};
pub use day::{date_ns, utc_ns, utc_text};
pub use journal::{Batch, JOURNAL_FOLDER, Read as JournalRead, Record as JournalRecord, read as read_journal};
pub use merge::{Maintainer, Retention};
pub use reader::{MonitorReader, Piece, Wanted};
pub use rows::{GapRow, LevelRow, Reason, SampleRow};
pub use writer::{MonitorWriter, WriterOptions};

/// Rates and values are stored in millionths, so that a packet a day is above zero.
pub const MILLIONTHS: u64 = 1_000_000;

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// Nanoseconds in a day.
const DAY: u64 = 86_400 * SECOND;

/// A level of the pyramid: the table of its rows, and their width in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every sample.
    Samples,
    /// A row a second.
    Seconds,
    /// A row a minute.
    Minutes,
    /// A row an hour.
    Hours,
}

impl Level {
    /// All of them, the finest first.
    pub const ALL: [Level; 4] = [Level::Samples, Level::Seconds, Level::Minutes, Level::Hours];

    /// Those that summarise samples.
    pub const PYRAMID: [Level; 3] = [Level::Seconds, Level::Minutes, Level::Hours];

    /// Width of a row in nanoseconds; 0 for samples.
    pub const fn width_ns(self) -> u64 {
        match self {
            Level::Samples => 0,
            Level::Seconds => SECOND,
            Level::Minutes => 60 * SECOND,
            Level::Hours => 3_600 * SECOND,
        }
    }

    /// The beginning of the names of its files.
    pub const fn stem(self) -> &'static str {
        match self {
            Level::Samples => "samples",
            Level::Seconds => "seconds",
            Level::Minutes => "minutes",
            Level::Hours => "hours",
        }
    }

    /// Whether it has rows of a series with a sample every `interval_ns`: a row has two samples at least.
    pub const fn holds(self, interval_ns: u64) -> bool {
        interval_ns.saturating_mul(2) <= self.width_ns() || matches!(self, Level::Samples)
    }
}

#[cfg(test)]
mod tests;
