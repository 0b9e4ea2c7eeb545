//! Stored formats: captures in and out, workload files, run folders, traces of links. `docs/reference/schemas.md` describes what we write.
//!
//! | module | holds |
//! |---|---|
//! | `capture` | pcap, pcapng, ERF, snoop; compressions; folders; interfaces; captures written |
//! | `flows` | NetFlow and IPFIX, and how records become connections (`merge/`) |
//! | `formats` | vectors in other forms: Tmix, conn.log, CSV, JSON lines, TRex, tgen |
//! | `workload` | workload files |
//! | `run_folder`, `reserve`, `staged` | run folders; room kept back for a full disk; names given when a file is complete |
//! | `running` | a run while it goes on, for other processes |
//! | `table` | the typed layer over Parquet: each table's columns once; digests of what is in a file |
//! | `manifest`, `sealed` | digests of the files in a folder; digests that stand in what they are of |
//! | `verify` | any table read to its end |
//! | `regular`, `interrupt` | files that are no FIFOs and no devices; reading of pipes that a request ends |
//! | `results` | results of other tools |
//! | `silence` | jumps of a clock |
//! | `monitor` | the store of a monitor: journal, days, pyramid |
//! | `harpoon`, `swing`, `histogram`, `lengths`, `rates`, `mahimahi` | files of models, tables, lengths, rates, traces of links |
//! | `vcsim` | VCSIM's specifications |
//! | `addresses` | what is kept of addresses |

#![forbid(unsafe_code)]

pub mod addresses;
pub mod capture;
pub mod flows;
pub mod formats;
pub mod harpoon;
pub mod histogram;
pub mod interrupt;
pub mod lengths;
pub mod mahimahi;
pub mod manifest;
pub mod monitor;
pub mod rates;
pub mod regular;
pub mod reserve;
pub mod results;
pub mod run_folder;
pub mod running;
mod sealed;
pub mod silence;
pub mod staged;
pub mod swing;
mod table;
pub mod vcsim;
mod verify;
pub mod workload;

pub use table::{FileError, Part};
pub use verify::{Verified, verify};
