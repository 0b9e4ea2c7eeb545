//! TCP without I/O: an [`Endpoint`] per end of a connection, segments in, segments out.
//!
//! Built for many connections in a simulator: an endpoint is a plain value of a few cache lines, holds no payload
//! (only byte counts), and reads everything that connections share from a [`Config`] passed into each call.
//!
//! Sequence numbers are 64-bit offsets into the stream of each direction: 0 is the SYN, 1 the first data byte, and
//! the FIN follows the last. They never wrap; 32-bit numbers exist only where a packet is recorded
//! ([`Segment::wire_numbers`]).
//!
//! | file | holds |
//! |---|---|
//! | `endpoint` | states of RFC 9293, the calls |
//! | `agreed` | what the SYNs settle |
//! | `opened` | connections that were opened before |
//! | `sender` | the state of the sending half |
//! | `sender/rare` | sender state that few connections need at any time |
//! | `sender/ack` | handling of acknowledgements, recovery without SACK (RFC 6582) |
//! | `sender/repair` | recovery over SACK (RFC 6675), RACK-TLP (RFC 8985) |
//! | `sender/undo` | reductions that had no cause: Eifel, D-SACK, F-RTO (RFC 5682) |
//! | `sender/timeout` | the retransmission timer (RFC 6298) |
//! | `sender/output` | the next piece to send |
//! | `sender/bursts` | pieces that leave together, and pacing |
//! | `sender/persist` | windows of the peer that are small or closed |
//! | `sender/usage` | how much of the window is used, and what becomes of one that is not, as in Linux |
//! | `scoreboard` | what became of everything outstanding |
//! | `prr` | how much recovery sends (RFC 9937) |
//! | `rack` | reordering window and probes |
//! | `rate` | delivery rate samples |
//! | `receiver` | reassembly, acknowledgements and what they carry, the advertised window |
//! | `receiver/buffer` | a receive buffer that is sized by what arrives, as in Linux |
//! | `receiver/rare` | receiver state that few connections need at any time |
//! | `rto` | round-trip time and retransmission timeout of RFC 6298 |
//! | `congestion` | one file per congestion control |
//! | `arithmetic` | what windows, slow start and recovery come to, without packets |

pub mod arithmetic;
pub mod congestion;
mod deadline;
pub mod keys;

mod agreed;
mod config;
mod endpoint;
mod opened;
mod prr;
mod rack;
mod rate;
mod receiver;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod snapshot;

pub use config::{
    AckHabit, Config, EcnEcho, Habits, InitialWindow, Limits, Offers, Profile, ReceiveBuffer, RtoConfig, RtoVariation,
    Sack,
};
pub use endpoint::Endpoint;
pub use opened::open_before;
pub use receiver::shift_for;
pub use segment::{SackBlocks, Segment, Timestamps};
pub use snapshot::{Phase, Snapshot};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::pair::Pair;
