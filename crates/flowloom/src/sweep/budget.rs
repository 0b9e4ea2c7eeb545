//! What a sweep will need: from what runs need at a guess, or from those that were run first.

use std::path::Path;

use flowloom_core::time::Duration;
use flowloom_report::words::{counted, thousands};
use serde::Serialize;

use crate::error::Error;
use crate::run::Needs;

use super::question::Question;

/// Time of one core that a sweep may take without `--yes`.
const MOST_TIME: Duration = Duration::from_secs(3_600);
/// Room on the disk that it may take, in bytes.
const MOST_DISK: u64 = 10_000_000_000;

/// What a cell takes of one core beside its packets, about: its plan, its results, its files.
const EACH: Duration = Duration::from_millis(150);

/// What the cells of a sweep need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Cells: variants times seeds at the last look.
    pub cells: u64,
    /// Those that are not there yet.
    pub missing_cells: u64,
    /// Time of one core for them, in nanoseconds.
    pub time_ns: u64,
    /// Room on the disk for them, in bytes; 0 where nobody knows yet.
    pub disk_bytes: u64,
}

impl Budget {
    /// At a guess, before anything was run: every cell needs what the control does.
    pub fn planned(question: &Question, control: &Needs) -> Budget {
        let cells = (question.variants.len() * question.seeds.len()) as u64;
        let one = control.time.as_nanos() / control.runs.max(1) + EACH.as_nanos();
        Budget { cells, missing_cells: cells, time_ns: one.saturating_mul(cells), disk_bytes: 0 }
    }

    /// From cells that were run: how many nanoseconds they took together, and how many bytes they take.
    pub fn of_pilot(question: &Question, missing: usize, run: usize, [time_ns, bytes]: [u64; 2]) -> Budget {
        let (missing, run) = (missing as u64, (run as u64).max(1));
        Budget {
            cells: (question.variants.len() * question.seeds.len()) as u64,
            missing_cells: missing,
            time_ns: time_ns.saturating_mul(missing) / run,
            disk_bytes: bytes.saturating_mul(missing) / run,
        }
    }

    /// Refuses what takes longer, or more room, than anyone would ask for by mistake.
    ///
    /// # Errors
    /// The sweep needs more, and `yes` does not allow it.
    pub fn check(&self, yes: bool) -> Result<(), Error> {
        let is_small = self.time_ns <= MOST_TIME.as_nanos() && self.disk_bytes <= MOST_DISK;
        if yes || is_small {
            return Ok(());
        }
        Err(Error::usage(format_args!("this sweep needs {self}"))
            .note("by its first cells, which are kept")
            .hint("--yes runs it all the same; fewer seeds or values, or --tables summary, make it smaller"))
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = Duration::from_nanos(self.time_ns);
        write!(
            f,
            "{}, {} to run: about {time} of one core",
            counted(self.cells, "cell"),
            thousands(self.missing_cells)
        )?;
        if self.disk_bytes > 0 {
            write!(f, " and {} MB of disk", thousands(self.disk_bytes.div_ceil(1_000_000)))?;
        }
        Ok(())
    }
}

/// Bytes of the files in a folder.
pub fn size(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}
