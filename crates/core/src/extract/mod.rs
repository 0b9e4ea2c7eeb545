//! Extraction: TCP segments in, connection vectors out (methods A.1-A.9).
//!
//! Two layers. [`Observer`] is one connection: it is told which side sent each segment and makes the vector. The
//! simulator's monitor uses it directly, because it knows whose packet it sees. In front of it, for captures, stand three
//! machines: a [`Front`] that sees every packet once and in order, [`Part`]s that hold the connections (which one a
//! segment belongs to, which end is the initiator, when a connection is over), and a [`Merger`] that brings the vectors
//! into the order of their starts. [`Extractor`] is all three in one thread.
//!
//! What each file decides: `sequence` unwraps numbers, `coverage` tells new bytes from repeated ones (methods A.3),
//! `gaps` which bytes the capture lacks, `exchange` sequential from concurrent (methods A.4), `doubled` knows a second number space of the
//! acceptor (methods A.1.2), `adus` builds ADUs and waits (methods A.5), `transit`
//! measures round trips and the handshake (methods A.6), `recovery` tells retransmissions from reordering and copies
//! (methods A.8) as far as `monitor` stands where that can be told. What ends do beside their data (methods A.13) is found by `writes` (pauses
//! inside ADUs, with the help of the sender's `clock`), `seams` (writes that follow at once), `answers` (what ends of concurrent connections wait for), `reads` (pauses of
//! readers), `rate` (sender rates), `flight` (first-flight windows), `acks` (acknowledgement policies), `syns` (SYNs sent again) and `offload`. `end` holds what they know of an end, `seen` is a
//! segment as they are told of it, `observer` joins both ends. `datagrams` is the same for UDP and QUIC. On the capture side
//! `flow_table` finds connections, held in a `slab` each, `connection` knows its roles and its traffic, `tombstone` is what is left of a closed one,
//! `packed` how those that wait are held, `counts` what is reported.

mod acks;
mod adus;
mod answers;
mod boundaries;
mod clock;
mod connection;
pub mod conversations;
mod counts;
mod coverage;
mod datagrams;
mod delays;
mod doubled;
mod end;
mod exchange;
mod extractor;
mod flight;
mod flow;
mod flow_table;
mod front;
mod gaps;
mod key;
mod merger;
mod monitor;
mod nagle;
mod observer;
mod offload;
mod options;
mod packed;
mod part;
mod rate;
mod reads;
mod recovery;
mod remains;
mod sacked;
mod seams;
mod seen;
mod sequence;
mod slab;
mod syns;
mod tombstone;
mod transit;
mod undelayed;
mod writes;

pub use boundaries::Boundaries;
pub use counts::{
    Class, ClassCounts, Counts, DatagramCounts, DoubledCounts, FlowCounts, KeptPayload, LeftOut, SetAsideHoles,
    SideRule, Tally, TrafficSeries,
};
pub use extractor::Extractor;
pub use front::{Front, Packet, Round};
pub use key::PARTS;
pub use merger::Merger;
pub use monitor::Position;
pub use observer::{Arrival, Identity, Observer};
pub use options::{Missing, Options, ParsePrefixError, Prefix, ROUND};
pub use packed::Packed;
pub use part::{Finished, LEAST_MEMORY, Part, Report};
pub use seen::Seen;

#[cfg(test)]
mod tests;
