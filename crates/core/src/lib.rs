//! Flowloom's machines: packets to connection vectors, players, TCP, queue disciplines, links, DelayBox.
//!
//! Everything here is a state machine without I/O. Time comes in as an argument, randomness as a seeded
//! stream at construction. The rules every machine keeps are in `ARCHITECTURE.md`, "Calling contract".

#![forbid(unsafe_code)]

pub mod cell;
#[cfg(test)]
mod contract;
pub mod extract;
mod fft;
pub mod lrd;
pub mod model;
pub mod path;
pub mod plausibility;
pub mod play;
pub mod queue;
pub mod record;
pub mod rng;
pub mod sketch;
pub mod special;
pub mod tcp;
pub mod time;
pub mod units;
pub mod wire;
pub mod workload;
