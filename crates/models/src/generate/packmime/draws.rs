//! What single and persistent connections of a cloud draw alike.

use flowloom_core::distribution::Distribution;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_core::workload::{Adu, LinkSide, Side};

use super::marginals::MAX_SERVER_DELAY;

/// Which stream of a purpose belongs to a pair of clouds; those behind it, below the next pair's, to its connections.
pub(super) fn stream(seed: u64, purpose: Purpose, clients: LinkSide, index: u32, connection: u64) -> Stream {
    Stream::new(seed, purpose, (clients as u64) << 63 | u64::from(index) << 40 | connection)
}

/// Bytes of a size: cut, not rounded, and one at least.
pub(super) fn whole(bytes: f64) -> u64 {
    (bytes as u64).max(1)
}

/// How long a server takes before it answers (methods F.5).
pub(super) fn server_delay(speed: &Distribution, stream: &mut Stream) -> Duration {
    Duration::from_secs_f64((1.0 / speed.sample(stream)).min(MAX_SERVER_DELAY))
}

/// Data that a monitor did not see.
pub(super) fn adu(side: Side, bytes: u64, wait: Option<Duration>, waiter: Side) -> Adu {
    Adu { side, bytes, missing_bytes: 0, wait, waiter, seen: None, packets: None }
}
