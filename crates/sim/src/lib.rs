//! The virtual-time driver: event queue, dumbbell, run.

pub mod events;
pub mod open_loop;
