//! Stored records in; summaries, comparison and one HTML file out.

pub mod metric;
pub mod statistics;
