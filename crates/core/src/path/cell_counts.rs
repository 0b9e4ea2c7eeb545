//! What a link of cells counted.

use serde::{Deserialize, Serialize};

/// Cells, packets and bytes of one direction of a link of cells, from the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CellCounts {
    /// Cells that packets were cut into.
    pub cut: u64,
    /// Of them, cells that the line sent.
    pub sent: u64,
    /// Of them, cells that found no room.
    pub full: u64,
    /// Of them, cells that partial discard took: an earlier cell of their packet was lost.
    pub rest: u64,
    /// Of them, cells that early discard took with their whole packet.
    pub early: u64,
    /// Of those sent, cells of packets that died: the line carried them for nothing.
    pub dead: u64,
    /// Packets whose cells all passed, and that were lost because the end of the packet before them was missing.
    pub spoilt: u64,
    /// Packets that passed whole.
    pub whole: u64,
    /// IP bytes of the packets that passed whole.
    pub datagram_bytes: u64,
    /// Bytes on the line of all cells sent.
    pub line_bytes: u64,
}

impl CellCounts {
    /// Cells that were lost.
    pub const fn lost(&self) -> u64 {
        self.full + self.rest + self.early
    }

    /// Cells that still wait: each cell was sent, was lost or waits.
    pub const fn waiting(&self) -> u64 {
        self.cut - self.sent - self.lost()
    }

    /// IP bytes of whole packets in each byte of the line (methods H.1); `None` before the first cell.
    pub fn efficiency(&self) -> Option<f64> {
        (self.line_bytes > 0).then(|| self.datagram_bytes as f64 / self.line_bytes as f64)
    }
}
