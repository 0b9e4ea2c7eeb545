//! Playing a connection vector: who writes how much when, on any transport; and sources of datagrams.

mod blocks;
mod clocked;
pub mod conversation;
mod cut;
mod datagrams;
mod habits;
mod losses;
mod pauses;
mod player;
mod prefill;
mod probes;
mod put_away;
mod reader;
mod remains;
mod script;
mod syns;
mod waits;

pub use blocks::{BlockWriter, Late, Written};
pub use clocked::clocked_bytes;
pub use cut::TraceCut;
pub use datagrams::{Datagram, DatagramSink, DatagramSource, Datagrams, Delays, Pacing, Run};
pub use habits::{habits, holds_small_segments, sender_rate};
pub use losses::{Losses, LostAt};
pub use pauses::Pauses;
pub use player::{AHEAD, Action, EpochTimes, Player};
pub use prefill::{Placed, Prefill, open_for};
pub use probes::{ProbeKind, ProbeRecord, Probes};
pub use put_away::PutAway;
pub use reader::Reader;
pub use script::{Script, Step};
pub use syns::{AtEnd, Syns};
pub use waits::{Correction, MIN_WAIT, ReplayModel, Waits};

#[cfg(test)]
mod over_tcp;
#[cfg(test)]
mod tests;
