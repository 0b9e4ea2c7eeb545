//! Workload files: connection vectors in Parquet, one row per connection, sorted by start (design: one file that
//! any Parquet reader opens, streamed both ways).
//!
//! [`WorkloadWriter`] writes under a temporary name beside the target and renames at the end: a file under the
//! target's name is always whole. [`WorkloadReader`] is an iterator that holds one batch of rows at a time.
//! `docs/reference/schemas.md` describes columns and metadata.

mod facts;
mod keys;
mod reader;
mod rows;
mod runs;
#[cfg(test)]
mod tests;
mod writer;

pub use crate::table::FileError as WorkloadError;
pub use facts::{
    CAPTURED, CaptureFacts, ConnectionCounts, CopyFacts, DatagramFacts, DirectionSeries, FlowFacts, InputFile, Lacking,
    PayloadFacts, PerSideBytes, Provenance, TrafficFacts, WorkloadFacts,
};
pub use keys::VERSION;
pub use reader::WorkloadReader;
pub use runs::Runs;
pub use writer::WorkloadWriter;
