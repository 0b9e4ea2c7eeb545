//! What is measured in a virtual-circuit internetwork.

use flowloom_core::time::Duration;

/// Mean, spread and order statistics of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, of a sample.
    pub deviation: f64,
    /// The least.
    pub min: f64,
    /// The smallest value that 95 % of them do not exceed.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

/// Values as they come.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(Vec<f64>);

impl Values {
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn spread(&self) -> Spread {
        let count = self.0.len();
        if count == 0 {
            return Spread::default();
        }
        let n = count as f64;
        let mean = self.0.iter().sum::<f64>() / n;
        let squares: f64 = self.0.iter().map(|&value| (value - mean).powi(2)).sum();
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |place: usize| sorted[place];
        Spread {
            count: count as u64,
            mean,
            deviation: if count > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
            min: at(0),
            p95: at((0.95 * n).ceil() as usize - 1),
            max: at(count - 1),
        }
    }
}

/// What a run came to. Rates are per second of the time that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// When it ended.
    pub end: Duration,
    /// It ended at an instant at which no queue held anything.
    pub regenerated: bool,
    /// How much of it was measured.
    pub measured: Duration,
    /// By place of the node; `None` where there is no router.
    pub routers: Vec<Option<RouterResults>>,
    /// By place of the node; `None` where there is no host that is on a route.
    pub hosts: Vec<Option<HostResults>>,
    /// By place of the link: from its first end, and from its second.
    pub links: Vec<[LinkResults; 2]>,
    /// Cells that entered circuits, from the beginning.
    pub cells: u64,
    /// Of them, those that came to the other end.
    pub cells_arrived: u64,
    /// Those that found no room, or were refused with their packet.
    pub cells_lost: u64,
    /// Those that were in a queue or on a link at the end.
    pub cells_under_way: u64,
    /// Events that the simulator served.
    pub events: u64,
}

/// A router, as the input of circuits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouterResults {
    /// Bytes of packets in its queues of cells, whole cells' worth of them counted: what a study of 48-byte cells calls a queue of
    /// 9 cells, though a part of a tenth waits too.
    pub queue_bytes: Spread,
    /// Packets that wait for the window of their circuit.
    pub waiting_packets: Spread,
    /// From when a packet came to when the last of its cells has left, in seconds.
    pub packet_delay_s: Spread,
    /// Packets, of data and acknowledgements, that were cut into cells.
    pub packets: u64,
    /// Cells of them that left.
    pub cells: u64,
    /// Cells that it lost.
    pub cells_lost: u64,
    /// How often a circuit that begins here was set up.
    pub circuits_set_up: u64,
    /// Packets that came to the end of a circuit here and were not whole.
    pub packets_broken: u64,
}

/// A host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostResults {
    /// From the start of a packet on the host's link to its acknowledgement, in seconds; of packets sent once.
    pub round_trip_s: Spread,
    /// Packets that came in order at the other end.
    pub packets_delivered: u64,
    /// Bytes in them.
    pub bytes_delivered: u64,
    /// Packets of data sent.
    pub packets_sent: u64,
    /// Those sent again.
    pub retransmissions: u64,
    /// Acknowledgements that were late.
    pub timeouts: u64,
    /// Conversations that it began.
    pub conversations: u64,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkResults {
    /// Share of the time in which it sent.
    pub utilisation: f64,
    /// Bytes on it, headers and padding counted.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_95th_percentile_is_a_value() {
        let mut values = Values::default();
        (1..=20).rev().for_each(|value| values.add(f64::from(value)));
        let spread = values.spread();
        assert_eq!((spread.min, spread.p95, spread.max, spread.mean), (1.0, 19.0, 20.0, 10.5));
        assert_eq!(Values::default().spread(), Spread::default());
    }
}
