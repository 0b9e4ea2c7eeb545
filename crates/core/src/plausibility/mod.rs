//! Whether a run is plausible: each flow's mean window beside the response function of its congestion control.
//!
//! A response function gives the mean window that an algorithm reaches at a rate of loss events and a round-trip time. A flow that keeps a window far from it does not
//! react to losses as its algorithm does, whatever else the run looks like.
//!
//! | file | holds |
//! |---|---|
//! | `response` | the response functions |
//! | `losses` | what is measured: packets, times on the way, loss events |
//! | `judge` | the comparison, and which flows it leaves out |
//!
//! `docs/guide/plausibility.md` has the definitions and the reasons.

mod judge;
mod losses;
pub mod response;

pub use judge::{Conditions, Excuse, Expected, Finding, MOST_FACTOR, MOST_IDLE, Response};
pub use losses::{LEAST_LOSS_EVENTS, LossEvents, Signal, Stretch, Tally};
