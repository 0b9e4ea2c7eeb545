//! A series as rates that held for some time each, as files of rates and lines in a report have it.

use std::ops::Range;

use flowloom_store::FileError;
use flowloom_store::monitor::Series;

use crate::query::Archive;
use crate::steps::{Step, in_order};

/// What was counted between two answers; a row, where samples are no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its beginning, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// How much of that time is known, in nanoseconds: of a sample all.
    pub covered_ns: u64,
    /// What was counted, in billionths of a unit; of a gauge, its value times the time.
    pub integral: u128,
}

impl Held {
    /// In units (per second), over its whole time: what is counted is neither more nor less, even if only a part of the time is known.
    pub fn rate(&self) -> f64 {
        self.integral as f64 / (self.end_ns - self.start_ns).max(1) as f64
    }
}

impl Archive {
    /// `series` in a period, in order: samples, and rows where samples are no longer kept. It is unknown in the times between them. If there
    /// are more than `most`, some of them: one more.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn held(&self, series: &Series, period: &Range<u64>, most: usize) -> Result<Vec<Held>, FileError> {
        let mut steps = Vec::new();
        self.visit(std::slice::from_ref(series), period.clone(), 0, &mut |_, step| {
            if steps.len() <= most {
                steps.push(step);
            }
        })?;
        in_order(&mut steps);
        let held = |step: &Step| Held {
            start_ns: step.start_ns,
            end_ns: step.end_ns,
            covered_ns: step.row.covered_ns,
            integral: step.row.integral,
        };
        Ok(steps.iter().map(held).collect())
    }
}
