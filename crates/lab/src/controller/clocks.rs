//! What a controller knows of the clock of an agent.

use crate::clock::track::Track;

/// What is known of an agent's clocks.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// That by which experiments start.
    pub monotonic: Track,
    /// That of its log, and of certificates.
    pub time_of_day: Track,
}
