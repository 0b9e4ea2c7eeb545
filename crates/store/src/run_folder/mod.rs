//! Run folders: everything a run recorded, as `run.json`, `host.json` and Parquet tables.
//!
//! [`RunWriter`] is the recorder a driver fills. It writes under a temporary name beside the folder's and renames
//! at the end, so a folder under its own name is whole; what a cut run leaves under the temporary name can be
//! opened too and says in `run.json` that it is not complete. [`RunFolder`] reads. A run with several seeds is a
//! folder of run folders with a [`RunIndex`]. `docs/reference/schemas.md` describes every table.

mod active;
mod files;
mod index;
mod json;
mod missing;
mod reader;
mod rows;
mod writer;

pub use index::{IndexEntry, IndexFolder, RunIndex};
pub use missing::stand_in;
pub use reader::RunFolder;
pub use rows::{
    ActivePoint, ActiveRow, AduRow, ConnectionRow, EpochRow, FlowRow, LateWhat, LatenessRow, Point, ThroughputRow,
    TrafficPoint,
};
pub use writer::{RunOptions, RunWriter};

pub use files::{OPTIONAL_TABLE, RunFolderError, TABLES, VERSION};
