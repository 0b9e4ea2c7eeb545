//! How a sweep is run, beside what the experiment says.

use flowloom_core::keys::Share;

use crate::experiment::{Axis, LeaveOut, Quantity, RateOf, Tables};
use crate::run::RunOptions;

/// How a sweep is run. What is `None` is as the experiment's `[sweep]` says.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// How its runs are run. Their target is the folder of the sweep; `None`: `runs/NAME-KEYS`. With `replace`, a sweep that asked something
    /// else makes room for this one; cells that both have stay.
    pub run: RunOptions,
    /// Axes; empty: those of the experiment.
    pub vary: Vec<Quantity<Axis>>,
    /// Combinations that are left out, with `vary`.
    pub leave_out: Vec<Quantity<LeaveOut>>,
    /// Seeds of each variant, from 1 on.
    pub seeds: Option<u16>,
    /// Seeds of each variant at most, if more are run until the best is decided.
    pub most_seeds: Option<u16>,
    /// What rates in percent are of.
    pub rate_of: Option<RateOf>,
    /// What the best variant has least or most of.
    pub objective: Option<String>,
    /// A difference that does not matter.
    pub margin: Option<Quantity<Share>>,
    /// Tables that are kept of each run.
    pub tables: Option<Quantity<Tables>>,
    /// Run as many cells as there are, however long it takes.
    pub yes: bool,
    /// Run cells again that failed before.
    pub retry_failed: bool,
}
