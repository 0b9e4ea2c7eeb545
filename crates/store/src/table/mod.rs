//! Tables of typed rows in Parquet files: the layer under workload files and run folders.
//!
//! A row type lists its columns once ([`Row::columns`]); [`TableWriter`] streams rows into row groups of bounded
//! size, [`TableReader`] streams them out again in batches. Neither holds more than one row group. Every file
//! says in its metadata what it is (`flowloom.format`) and in which version (`flowloom.version`).

mod checked;
mod column;
#[cfg(test)]
mod documented;
mod error;
mod guard;
mod reader;
mod row;
mod thrift;
mod value;
mod writer;

pub(crate) use column::{Column, column, derived, element, list};
pub use error::FileError;
pub(crate) use reader::TableReader;
pub(crate) use row::Row;
pub(crate) use value::Text;
pub(crate) use writer::TableWriter;
