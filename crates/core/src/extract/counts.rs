//! What an extraction reports beside the vectors: nothing disappears without a count.

use crate::record::Series;
use crate::time::{Duration, Time};
use crate::workload::{InitiatorRule, Pattern, PerSide};

/// What a connection turned out to be (methods A.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// No payload byte in either direction: set aside.
    NoData,
    /// Data, but packets in one direction only: set aside.
    OneWay,
    /// Can be replayed.
    Replayable {
        /// Whether the ends took turns.
        pattern: Pattern,
        /// A SYN and (a FIN or an RST) were seen.
        complete: bool,
    },
}

impl Class {
    /// Every class, in the order of reports.
    pub const ALL: [Class; 6] = [
        Class::NoData,
        Class::OneWay,
        Class::Replayable { pattern: Pattern::Sequential, complete: true },
        Class::Replayable { pattern: Pattern::Sequential, complete: false },
        Class::Replayable { pattern: Pattern::Concurrent, complete: true },
        Class::Replayable { pattern: Pattern::Concurrent, complete: false },
    ];

    /// Position in [`Self::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Class::NoData => 0,
            Class::OneWay => 1,
            Class::Replayable { pattern: Pattern::Sequential, complete: true } => 2,
            Class::Replayable { pattern: Pattern::Sequential, complete: false } => 3,
            Class::Replayable { pattern: Pattern::Concurrent, complete: true } => 4,
            Class::Replayable { pattern: Pattern::Concurrent, complete: false } => 5,
        }
    }

    /// Whether connections of this class become vectors.
    pub const fn is_replayable(self) -> bool {
        matches!(self, Class::Replayable { .. })
    }

    /// The name reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Class::NoData => "no_data",
            Class::OneWay => "one_way",
            Class::Replayable { pattern: Pattern::Sequential, complete: true } => "sequential_complete",
            Class::Replayable { pattern: Pattern::Sequential, complete: false } => "sequential_incomplete",
            Class::Replayable { pattern: Pattern::Concurrent, complete: true } => "concurrent_complete",
            Class::Replayable { pattern: Pattern::Concurrent, complete: false } => "concurrent_incomplete",
        }
    }
}

/// Which rule told the side of the link an initiator is on (methods M.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum SideRule {
    /// The capture marks directions.
    Marks = 0,
    /// An `--inside` prefix.
    Inside = 1,
    /// The MAC addresses of the capture's first TCP packet.
    Macs = 2,
    /// None applied: taken as left.
    Unknown = 3,
}

/// Connections of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClassCounts {
    /// How many.
    pub connections: u64,
    /// Their packets.
    pub packets: u64,
    /// Payload bytes per sender, each counted once, missing ones not counted.
    pub payload_bytes: PerSide<u64>,
}

/// Counts over everything an [`Extractor`](super::Extractor) has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// TCP segments handed in.
    pub packets: u64,
    /// Their IP bytes + 14 each.
    pub link_bytes: u64,
    /// Earliest capture time, packets that are no TCP segment included where the capture begins with one.
    pub first: Option<Time>,
    /// Latest capture time.
    pub last: Option<Time>,
    /// Per class, in the order of [`Class::ALL`].
    pub classes: [ClassCounts; 6],
    /// Replayable but incomplete connections left out on request ([`Options::complete_only`](super::Options::complete_only)); they
    /// are counted in their class too.
    pub incomplete_left_out: u64,
    /// Connections by the rule that told the initiator, in the order of [`InitiatorRule`].
    pub initiator_rules: [u64; 4],
    /// Connections by the rule that told the initiator's side of the link, in the order of [`SideRule`].
    pub side_rules: [u64; 4],
    /// Connections that began on a 4-tuple whose earlier connection was still held.
    pub port_reuse: u64,
    /// Connections ended by silence: after the idle timeout, attempts that never got past their SYNs earlier
    /// ([`Options::linger`](super::Options::linger)).
    pub idle_ended: u64,
    /// Connections whose handshake repeated a SYN or SYN/ACK.
    pub handshake_repeated: u64,
    /// Connections with bytes that were never seen.
    pub with_missing_bytes: u64,
    /// Those bytes.
    pub missing_bytes: u64,
    /// Keep-alives and zero-window probes ignored.
    pub probes: u64,
    /// Data segments, repeated ones included.
    pub data_segments: u64,
    /// Data segments all of whose bytes had been seen.
    pub duplicates: u64,
    /// Data segments that filled a hole.
    pub late: u64,
    /// Late segments that are losses before the monitor.
    pub lost_before: u64,
    /// Segments whose timestamp lies before the one before them in the capture.
    pub clock_backwards: u64,
    /// The farthest such step.
    pub farthest_backwards: Duration,
    /// Vectors whose start was moved up to the start before them because the clock had gone back.
    pub starts_moved: u64,
}

impl Counts {
    /// The counts of `class`.
    pub fn class(&self, class: Class) -> &ClassCounts {
        &self.classes[class.index()]
    }

    /// Connections of every class.
    pub fn connections(&self) -> u64 {
        self.classes.iter().map(|class| class.connections).sum()
    }

    /// Connections of the classes `choose` picks.
    pub fn connections_where(&self, choose: impl Fn(Class) -> bool) -> u64 {
        Class::ALL.iter().filter(|class| choose(**class)).map(|class| self.class(*class).connections).sum()
    }

    /// Payload bytes per sender of replayable connections.
    pub fn payload_bytes(&self) -> PerSide<u64> {
        let mut sum = PerSide::default();
        for class in Class::ALL.into_iter().filter(|class| class.is_replayable()) {
            let bytes = self.class(class).payload_bytes;
            sum.initiator += bytes.initiator;
            sum.acceptor += bytes.acceptor;
        }
        sum
    }

    /// Connections whose initiator `rule` told.
    pub fn initiator_rule(&self, rule: InitiatorRule) -> u64 {
        self.initiator_rules[rule as usize]
    }

    /// Connections whose side of the link `rule` told.
    pub fn side_rule(&self, rule: SideRule) -> u64 {
        self.side_rules[rule as usize]
    }

    /// First to last packet.
    pub fn duration(&self) -> Duration {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.since(first),
            _ => Duration::ZERO,
        }
    }
}

/// Traffic past the monitor by 10 ms bins from the first packet, per side of the link it came from (left, right).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficSeries {
    /// Packets of connections that became vectors (methods M.8).
    pub replayed: [Series; 2],
    /// Packets of those set aside.
    pub set_aside: [Series; 2],
}

impl TrafficSeries {
    /// Bytes of the busiest 10 ms of either direction, replayed and set-aside traffic together (methods M.9).
    pub fn peak_bytes(&self) -> u64 {
        let directions = self.replayed.iter().zip(&self.set_aside);
        directions.map(|(replayed, set_aside)| peak(replayed, set_aside)).max().unwrap_or(0)
    }

    /// Width of a bin.
    pub const WIDTH: Duration = Duration::from_millis(10);
}

impl Default for TrafficSeries {
    fn default() -> TrafficSeries {
        let empty = || [Series::new(Self::WIDTH), Series::new(Self::WIDTH)];
        TrafficSeries { replayed: empty(), set_aside: empty() }
    }
}

/// The most bytes in one bin of two series added.
fn peak(one: &Series, other: &Series) -> u64 {
    let mut beside = other.bins().peekable();
    let mut most = 0;
    for &(index, traffic) in one.bins() {
        // Bins that only the other series has.
        while let Some((_, alone)) = beside.next_if(|bin| bin.0 < index) {
            most = most.max(alone.bytes);
        }
        let same = beside.next_if(|bin| bin.0 == index).map_or(0, |bin| bin.1.bytes);
        most = most.max(traffic.bytes + same);
    }
    beside.fold(most, |most, (_, alone)| most.max(alone.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Traffic;

    #[test]
    fn the_peak_adds_what_shared_ten_milliseconds() {
        let series = |bins: &[(u64, u64)]| {
            let mut series = Series::new(TrafficSeries::WIDTH);
            for &(ms, bytes) in bins {
                series.add(Time::ZERO + Duration::from_millis(ms), Traffic { packets: 1, bytes, payload_bytes: 0 });
            }
            series
        };
        let traffic = TrafficSeries {
            replayed: [series(&[(0, 100), (20, 300), (45, 10)]), series(&[(0, 5)])],
            set_aside: [series(&[(10, 350), (25, 60)]), series(&[(70, 90)])],
        };
        assert_eq!(traffic.peak_bytes(), 360, "300 and 60 between 20 and 30 ms");
    }
}
