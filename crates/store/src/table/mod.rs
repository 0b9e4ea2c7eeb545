//! Tables of typed rows in Parquet files: the layer under workload files and run folders.
//!
//! A row type lists its columns once ([`Row::columns`]); [`TableWriter`] streams rows into row groups of bounded
//! size, [`TableReader`] streams them out again in batches. Neither holds more than one row group. Every file
//! says in its metadata what it is (`flowloom.format`) and in which version (`flowloom.version`), and carries digests of all its
//! bytes (`digests`): what was changed since it was written is not read.

mod checked;
mod column;
mod digests;
#[cfg(test)]
mod documented;
mod error;
mod guard;
mod reader;
mod row;
mod sealing;
mod thrift;
mod value;
mod writer;

pub(crate) use column::{Column, column, derived, element, list};
pub use error::{FileError, Part};
pub(crate) use reader::{TableReader, count, format_of, read_through};
pub(crate) use row::Row;
pub(crate) use value::Text;
pub(crate) use writer::TableWriter;
