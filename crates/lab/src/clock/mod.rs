//! How far another host's clock is from ours, and how surely that is known.

pub mod exchange;
mod host;
pub mod track;

pub use host::{Clock, HostClock, sleep_until};
