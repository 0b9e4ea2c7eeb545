//! Stored formats: captures, workload files, run folders.

pub mod capture;
