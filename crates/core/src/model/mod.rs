//! Models that turn what was measured into what is replayed.

mod distribution;
mod waits;

pub use distribution::{Distribution, DistributionError, Law};
pub use waits::{Correction, MIN_WAIT, ReplayModel, Waits};
