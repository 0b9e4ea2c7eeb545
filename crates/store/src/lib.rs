//! Stored formats: captures in and out, workload files, run folders, traces of links. `docs/reference/schemas.md` describes what we write.

#![forbid(unsafe_code)]

pub mod addresses;
pub mod capture;
pub mod flows;
pub mod formats;
pub mod harpoon;
pub mod histogram;
pub mod lengths;
pub mod mahimahi;
pub mod rates;
pub mod reserve;
pub mod results;
pub mod run_folder;
pub mod staged;
pub mod swing;
mod table;
pub mod vcsim;
pub mod workload;

pub use table::FileError;
