//! Playing a connection vector: who writes how much when, on any transport; and sources of datagrams.

mod blocks;
pub mod conversation;
mod datagrams;
mod habits;
mod pauses;
mod player;
mod prefill;
mod put_away;
mod reader;
mod script;
mod waits;

pub use blocks::{BlockWriter, Late, Written};
pub use datagrams::{Datagram, DatagramSink, DatagramSource, Datagrams, Delays, Pacing, Run};
pub use habits::habits;
pub use pauses::Pauses;
pub use player::{AHEAD, Action, EpochTimes, Player};
pub use prefill::{Placed, Prefill, open_for};
pub use put_away::PutAway;
pub use reader::Reader;
pub use script::{Script, Step};
pub use waits::{Correction, MIN_WAIT, ReplayModel, Waits};

#[cfg(test)]
mod over_tcp;
#[cfg(test)]
mod tests;
