//! Models that turn what was measured into what is replayed.

mod waits;

pub use waits::{Correction, MIN_WAIT, ReplayModel, Waits};
