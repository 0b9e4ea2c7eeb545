//! Parity: the same experiment in the simulator and through the kernel's TCP, compared cell by cell.

pub mod cells;
pub mod collect;
pub mod flight;
pub mod measure;
pub mod repetitions;
pub mod vectors;
pub mod world;

use std::fmt::Display;

/// Why a cell could not be run, measured or compared.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Problem(String);

impl Problem {
    /// Called by what is wrong.
    pub fn new(what: impl Display) -> Problem {
        Problem(what.to_string())
    }
}
