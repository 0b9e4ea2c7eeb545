//! A table by its rows: its name, its version, its columns.

use parquet::basic::Repetition;
use parquet::schema::types::TypePtr;

use super::column::{self, Column};

/// A row of a table.
pub(crate) trait Row: Sized + 'static {
    /// The table's name: its `flowloom.format`, and the name of its schema.
    const TABLE: &'static str;

    /// Rows of a row group at most, so that its columns take some megabytes. What a file says of each of its row groups is kept
    /// until its end, so tables of few columns have large ones.
    const GROUP_ROWS: usize = 65_536;

    /// A row to read into.
    fn blank() -> Self;

    /// The columns in order.
    fn columns() -> Vec<Column<Self>>;

    /// How much of a row group this row uses up, in units of a flat row.
    fn weight(&self) -> usize {
        1
    }
}

/// The Parquet schema of a table.
pub(super) fn schema<R: Row>(columns: &[Column<R>]) -> TypePtr {
    let fields = columns.iter().map(|column| column.schema.clone()).collect();
    // The root of a Parquet schema has no repetition of its own; the crate reads it back as required.
    column::group(R::TABLE, Repetition::REQUIRED, None, fields)
}

/// Metadata key: which of our formats a file is in.
pub(super) const FORMAT_KEY: &str = "flowloom.format";

/// Metadata key: which version of it.
pub(super) const VERSION_KEY: &str = "flowloom.version";
