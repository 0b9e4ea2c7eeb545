//! Parity: the same experiment in the simulator and through the kernel's TCP, compared cell by cell.
//!
//! | file | holds |
//! |---|---|
//! | `cells`, `vectors` | the experiments, and the workloads of those that no capture has |
//! | `world` | one run of a cell, by the program itself |
//! | `measure`, `flight` | what is measured of a run folder; the flight, from packets |
//! | `repetitions`, `collect` | the kernel's repetitions: the file, and how it is filled |
//! | `bands` | whether the simulator is within what the repetitions allow |
//! | `outcome`, `page` | a cell in both worlds; `docs/evidence/parity.md` |

pub mod bands;
pub mod cells;
pub mod collect;
mod flight;
pub mod measure;
pub mod outcome;
pub mod page;
pub mod repetitions;
mod vectors;
pub mod world;

use std::fmt::Display;

/// Why a cell could not be run, measured or compared.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Problem(String);

impl Problem {
    /// A problem that is described by `what`.
    pub fn new(what: impl Display) -> Problem {
        Problem(what.to_string())
    }
}
