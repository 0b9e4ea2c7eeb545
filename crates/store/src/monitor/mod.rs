//! The store of a monitor: counters over months, in one folder (`docs/reference/schemas.md`).
//!
//! ```text
//! monitor.json                             which series there are
//! journal/00000042.journal                 what was recorded last: appended, each record with a digest
//! 2026-11-27/manifest.json                 a UTC day: which files count
//! 2026-11-27/samples-00000001-00000041.parquet   and `seconds-`, `minutes-`, `hours-`, `gaps-`, `overnight-`
//! ```
//!
//! One process writes ([`MonitorWriter`]); any number read meanwhile ([`MonitorReader`]). A journal segment is *folded* into the days that
//! its samples are of. The names of files say which segments they hold, so a segment counts once, whatever was interrupted. What a
//! folder holds changes in one step: when its manifest is replaced.
//!
//! | file | holds |
//! |---|---|
//! | `level` | levels of the pyramid; units |
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
mod level;
mod merge;
mod reader;
mod rows;
mod writer;

pub use catalogue::{CATALOGUE_FILE, Catalogue, Kind, Series};
pub use check::{is_store, is_written, verify_catalogue, verify_day, verify_journal};
pub(crate) use check::{is_table, verify_table};
pub use day::{date_ns, of_utc_name, utc_name, utc_ns, utc_text};
pub use journal::{Batch, JOURNAL_FOLDER, Read as JournalRead, Record as JournalRecord, read as read_journal};
pub use level::{Level, MILLIONTHS, SECOND};
pub use merge::{Maintainer, Retention};
pub use reader::{MonitorReader, Piece, Wanted};
pub use rows::{GapRow, LevelRow, Reason, SampleRow, share};
pub use writer::{MonitorWriter, TickError, WriterOptions};

#[cfg(test)]
mod tests;
