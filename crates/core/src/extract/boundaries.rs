//! Where the ADUs of a connection begin, as its vector says: what the monitor of a replay knows beside the packets.

use crate::workload::{ConnectionVector, PerSide, Side};

/// The places in the streams of both ends at which an ADU begins.
///
/// A capture says nothing of them but by silence (methods A.5.2). In a replay over a slow link a silence may also be the network's:
/// a response in pieces half a second apart is one response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundaries(PerSide<Box<[u64]>>);

impl Boundaries {
    /// Those of the connection that is replayed from `vector`.
    pub fn of(vector: &ConnectionVector) -> Boundaries {
        let of = |side: Side| -> Box<[u64]> {
            let adus = vector.adus.iter().filter(|adu| adu.side == side && adu.bytes > 0);
            let begin = |at: &mut u64, bytes: u64| Some(std::mem::replace(at, *at + bytes));
            adus.map(|adu| adu.bytes).scan(0, begin).collect()
        };
        Boundaries(PerSide { initiator: of(Side::Initiator), acceptor: of(Side::Acceptor) })
    }

    /// Whether an ADU of `side` begins after so many bytes of its stream.
    pub(super) fn are_at(&self, side: Side, bytes: u64) -> bool {
        self.0[side].binary_search(&bytes).is_ok()
    }

    pub(super) fn swap_sides(&mut self) {
        std::mem::swap(&mut self.0.initiator, &mut self.0.acceptor);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Boundaries>() + Side::BOTH.iter().map(|&side| size_of_val(&*self.0[side])).sum::<usize>()
    }
}
