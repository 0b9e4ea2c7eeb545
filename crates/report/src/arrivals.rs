//! Traffic on the link in bins as fine as they were recorded.

use flowloom_core::record::Traffic;
use flowloom_core::time::Duration;

/// Traffic on the link in bins as fine as they were recorded, over the whole window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Width of a bin.
    pub width: Duration,
    /// Packets in each.
    pub packets: Vec<u32>,
    /// Their IP bytes + 14.
    pub bytes: Vec<u64>,
}

impl Arrivals {
    /// Bins at most (72 minutes of milliseconds); longer windows have bins 2, 4, 8 ... times as wide.
    const MOST: u64 = 1 << 22;

    /// None yet, in bins of `recorded` or wider ones.
    pub(crate) fn new(recorded: Duration, window: Duration) -> Arrivals {
        let fits = |doublings: &u32| window.as_nanos() / (recorded.as_nanos() << doublings) <= Arrivals::MOST;
        let width = recorded * (1 << (0..40).find(fits).unwrap_or(40));
        Arrivals { width, packets: Vec::new(), bytes: Vec::new() }
    }

    pub(crate) fn add(&mut self, since_start: Duration, traffic: Traffic) {
        let bin = (since_start.as_nanos() / self.width.as_nanos()) as usize;
        self.resize(self.packets.len().max(bin + 1));
        self.packets[bin] = self.packets[bin].saturating_add(u32::try_from(traffic.packets).unwrap_or(u32::MAX));
        self.bytes[bin] = self.bytes[bin].saturating_add(traffic.bytes);
    }

    /// The same in bins of `width`, without a last one that is cut; `None` if that is no multiple of the bins, or longer than all of them.
    pub fn joined(&self, width: Duration) -> Option<Arrivals> {
        let together = (width.as_nanos() / self.width.as_nanos()) as usize;
        if together == 0 || !width.as_nanos().is_multiple_of(self.width.as_nanos()) || self.packets.len() < together {
            return None;
        }
        let packets = self
            .packets
            .chunks_exact(together)
            .map(|bins| bins.iter().fold(0, |sum: u32, bin| sum.saturating_add(*bin)));
        let bytes =
            self.bytes.chunks_exact(together).map(|bins| bins.iter().fold(0, |sum: u64, bin| sum.saturating_add(*bin)));
        Some(Arrivals { width, packets: packets.collect(), bytes: bytes.collect() })
    }

    pub(crate) fn resize(&mut self, bins: usize) {
        self.packets.resize(bins, 0);
        self.bytes.resize(bins, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_every_packet_whatever_their_bins() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(Arrivals::new(Duration::from_millis(1), hour).width, Duration::from_millis(1));
        let mut arrivals = Arrivals::new(Duration::from_millis(1), hour * 5);
        assert_eq!(arrivals.width, Duration::from_millis(8));
        let traffic = Traffic { packets: 2, bytes: 3_000, payload_bytes: 0 };
        (0..16).for_each(|bin| arrivals.add(Duration::from_millis(bin), traffic));
        assert_eq!((&arrivals.packets, &arrivals.bytes), (&vec![16, 16], &vec![24_000, 24_000]));
        let joined = arrivals.joined(Duration::from_millis(16)).unwrap();
        assert_eq!((joined.packets, joined.bytes), (vec![32], vec![48_000]));
        assert_eq!(arrivals.joined(Duration::from_millis(8)), Some(arrivals.clone()));
        for width in [4, 12, 24] {
            assert_eq!(arrivals.joined(Duration::from_millis(width)), None, "{width} ms");
        }
    }
}
