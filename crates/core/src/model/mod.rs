//! Models that turn what was measured into what is replayed.

mod distribution;
mod prefill;
mod waits;

pub use distribution::{Distribution, DistributionError, Law};
pub use prefill::{Placed, Prefill, open_for};
pub use waits::{Correction, MIN_WAIT, ReplayModel, Waits};
