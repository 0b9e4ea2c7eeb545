//! The segment size and the window that the ends of a replayed connection have.

use flowloom_core::tcp::Limits;
use flowloom_core::workload::{ConnectionVector, Side};

/// Smallest MSS played, as Linux has it (TCP_MIN_SND_MSS): captures hold SYNs with an MSS of 0.
const MIN_MSS: u16 = 48;

/// What the end `side` of the connection of `vector` has as limits when it is replayed.
pub fn limits(vector: &ConnectionVector, side: Side) -> Limits {
    let (end, default) = (&vector.ends[side], Limits::default());
    Limits {
        mss: end.mss.unwrap_or(default.mss).max(MIN_MSS),
        max_window: match vector.window(side) {
            // What was advertised without a known scale is a lower bound.
            None => end.max_window.unwrap_or(0).max(u64::from(default.max_window)),
            Some(window) => window,
        }
        .try_into()
        .unwrap_or(u32::MAX),
    }
}
