//! Playing a connection vector: who writes how much when, on any transport.

mod player;
mod script;

pub use player::{Action, EpochTimes, Player};
pub use script::{Script, Step};

#[cfg(test)]
mod over_tcp;
#[cfg(test)]
mod tests;
