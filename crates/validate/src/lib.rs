//! Checks of the simulator against what is published.

pub mod transcripts;
