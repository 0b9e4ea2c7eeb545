//! Vectors in the formats of other tools and in texts that every tool reads (`docs/reference/formats.md`).
//!
//! [`VectorFile`] reads any of them, told apart by content; [`VectorWriter`] writes one, chosen by the name. Each format
//! has a `read(&[u8])` of its own.

pub mod astf;
pub mod csv_table;
pub(crate) mod error;
mod format;
pub mod json_lines;
mod limits;
pub(crate) mod lines;
mod notes;
mod read_vectors;
mod reader;
mod sorted;
mod stored;
mod tally;
pub mod tgen;
pub mod tmix;
mod writer;
pub mod zeek;

pub use csv_table::Rows;
pub use error::{FormatError, LineError, remedy};
pub use format::head;
pub use notes::{Notes, Occurrences, Remark};
pub use reader::{Clock, VectorFile};
pub use sorted::{Sorted, Sorter};
pub use tally::Tally;
pub use tmix::Assumptions;
pub use writer::VectorWriter;

pub use format::Format;
