//! Models that turn what was measured into what is replayed.

mod distribution;
pub mod generate;
mod prefill;
mod spelled;
mod waits;

pub use distribution::{Distribution, DistributionError, Law};
pub use prefill::{Placed, Prefill, open_for};
pub use waits::{Correction, MIN_WAIT, ReplayModel, Waits};
