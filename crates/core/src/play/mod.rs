//! Playing a connection vector: who writes how much when, on any transport; and sources of datagrams.

mod blocks;
mod datagrams;
mod pauses;
mod player;
mod put_away;
mod script;

pub use blocks::{BlockWriter, Late, Written};
pub use datagrams::{Datagram, DatagramSink, DatagramSource, Datagrams, Delays, Pacing, Run};
pub use pauses::Pauses;
pub use player::{AHEAD, Action, EpochTimes, Player};
pub use put_away::PutAway;
pub use script::{Script, Step};

#[cfg(test)]
mod over_tcp;
#[cfg(test)]
mod tests;
