//! What several test programs and examples share. No other code may depend on this crate.
//!
//! - [`command`]: captures, and the command run on them
//! - [`earlier`]: stored files of an earlier version
//! - [`flows`]: export messages of NetFlow and IPFIX
//! - [`monitor`]: stores of monitors that never ran
//! - [`recipes`]: the commands of `docs/recipes`
//! - [`reports`]: run folders of runs that did not happen
//! - [`workload`]: workload files that no capture made
//!
//! Functions panic where a test would: a test program that cannot set up its input has failed.

pub mod command;
pub mod earlier;
pub mod flows;
pub mod monitor;
pub mod recipes;
pub mod reports;
pub mod workload;
