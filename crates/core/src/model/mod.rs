//! Models that turn what was measured into what is replayed.

mod distribution;
pub mod fit;
pub mod generate;
mod prefill;
mod waits;

pub use distribution::{
    Distribution, DistributionError, Law, Part, Rounding, WrittenLaw, normal_below, normal_quantile,
};
pub use prefill::{Placed, Prefill, open_for};
pub use waits::{Correction, MIN_WAIT, ReplayModel, Waits};
