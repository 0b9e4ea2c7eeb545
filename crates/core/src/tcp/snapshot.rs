//! What a sender tells of itself, for tests and traces.

use crate::time::Duration;

/// The state of a sender at one moment, as `tcp_info` would have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Payload of a full-sized segment.
    pub mss: u16,
    /// SND.NXT - SND.UNA: bytes sent and not acknowledged, SYN and FIN counted.
    pub in_flight: u64,
    /// Bytes of those that the peer reported to have (RFC 2018).
    pub sacked: u64,
    /// Bytes taken to be in the network (RFC 6675 section 4): in flight, neither reported nor taken for lost, and sent again.
    pub pipe: u64,
    /// Slow start threshold, in bytes.
    pub threshold: u32,
    /// Retransmission timeout, backed off where it was.
    pub timeout: Duration,
    /// What loss recovery is doing.
    pub phase: Phase,
}

/// What loss recovery is doing, numbered as Linux numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Nothing is known to be lost, and no reduction is under way.
    Open = 0,
    /// Duplicate acknowledgements came, too few to act upon.
    Disorder = 1,
    /// The window was reduced for a mark (RFC 3168) of this round trip.
    Reduced = 2,
    /// Fast recovery repairs a loss.
    Recovery = 3,
    /// Sending again after a timeout.
    Loss = 4,
}
