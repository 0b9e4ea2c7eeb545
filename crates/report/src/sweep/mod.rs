//! A sweep as an answer: variants of an experiment, each with the same seeds, beside each other.
//!
//! | file | holds |
//! |---|---|
//! | `cell` | what is kept of a run: numbers, curves, its verdict |
//! | `grid` | axes, variants and their runs |
//! | `samples` | a metric over the seeds that all variants have |
//! | `decision` | which variant is best, at a planned look |
//! | `effects` | what each axis does, pairs of axes, ranks |
//! | `answer` | all of it together, with the sentence that says it |
//! | `text` | the answer on a terminal |

mod answer;
mod cell;
mod decision;
mod effects;
mod grid;
mod samples;
mod text;

pub use answer::{Baseline, Column, Missing, SweepAnswer, VariantAnswer};
pub(crate) use answer::{unit_of, words};
pub use cell::{Cell, Curve, Number};
pub use decision::{ALPHA, Decision, Look, decision};
pub use effects::{AxisEffect, Effects, Interaction, LevelEffect, Matters, Rank};
pub use grid::{Absent, Grid, GridAxis, Objective, Variant};
pub use samples::{Estimated, Ratio, to_control};
pub use text::sweep_text;
