//! What passes the bottleneck while a run goes on, second by second of its time.

use std::collections::BTreeMap;

use flowloom_core::record::{DropRecord, Outcome, QueueSample, ThroughputBin, Traffic};
use flowloom_core::time::{Duration, Time};
use serde::Serialize;

/// Length of an interval, in the time of the run.
const EVERY: Duration = Duration::from_secs(1);
/// An interval is told when traffic of so many after it has come: the directions are not recorded at one pace.
const BEHIND: u64 = 2;

/// Intervals without anything in them that are told one by one; a clock that jumped years leaves more.
const MOST_SILENT: u64 = 3_600;

/// What passed the bottleneck in an interval of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The run's.
    pub seed: u64,
    /// Where it begins, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Packets from the left.
    pub left_to_right: Passed,
    /// Packets from the right.
    pub right_to_left: Passed,
    /// Packets dropped in it, in both directions.
    pub dropped_packets: u64,
    /// Connections that completed and were recorded since the interval before was reported.
    pub completed_connections: u64,
    /// Connections that were reset or given up by TCP, likewise.
    pub reset_connections: u64,
}

/// What passed the bottleneck in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Passed {
    /// Packets carried.
    pub packets: u64,
    /// Rate carried, in bit/s on the link.
    pub bits_per_second: f64,
    /// Payload carried, in bit/s.
    pub goodput_bits_per_second: f64,
    /// The longest queue sampled, in packets.
    pub queue_max_packets: u64,
}

/// An interval that is not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pending {
    /// Carried, by the side it came from.
    carried: [Traffic; 2],
    dropped_packets: u64,
    /// Longest queues that were sampled.
    queue_packets: [u64; 2],
}

/// The intervals of one run that are not told yet.
#[derive(Clone, Debug)]
pub struct Intervals {
    seed: u64,
    pending: BTreeMap<u64, Pending>,
    /// The first that is not told.
    next: u64,
    /// Connections whose ends were recorded since the last line: completed, reset.
    ended: [u64; 2],
}

impl Intervals {
    /// Of the run with this seed.
    pub fn new(seed: u64) -> Intervals {
        Intervals { seed, pending: BTreeMap::new(), next: 0, ended: [0; 2] }
    }

    /// The interval of an instant; what comes too late for its own counts in the next that is told.
    fn at(&mut self, time: Time) -> &mut Pending {
        let number = time.as_nanos() / EVERY.as_nanos();
        self.pending.entry(number.max(self.next)).or_default()
    }

    /// A connection ended.
    pub fn connection(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Completed => self.ended[0] += 1,
            Outcome::Reset | Outcome::GaveUp => self.ended[1] += 1,
            Outcome::Unfinished => {}
        }
    }

    /// A sample of a queue.
    pub fn queue(&mut self, sample: &QueueSample) {
        if sample.link <= 1 {
            let longest = &mut self.at(sample.time).queue_packets[sample.from as usize];
            *longest = sample.packets.max(*longest);
        }
    }

    /// A packet was dropped.
    pub fn dropped(&mut self, record: &DropRecord) {
        if record.link.is_none_or(|link| link <= 1) {
            self.at(record.time).dropped_packets += 1;
        }
    }

    /// A bin of traffic; the lines that it completes.
    pub fn throughput(&mut self, bin: &ThroughputBin) -> Vec<Interval> {
        if bin.link > 1 {
            return Vec::new();
        }
        self.at(bin.start).carried[bin.from as usize].add(bin.carried);
        let now = bin.start.as_nanos() / EVERY.as_nanos();
        self.told(now.saturating_sub(BEHIND))
    }

    /// The lines that are left when the run has ended.
    pub fn finish(&mut self) -> Vec<Interval> {
        let last = self.pending.last_key_value().map_or(self.next, |(last, _)| last + 1);
        self.told(last)
    }

    /// The lines of the intervals before `end`, those without traffic between them too unless they are too many.
    fn told(&mut self, end: u64) -> Vec<Interval> {
        let mut lines = Vec::new();
        while self.next < end
            && let Some((first, _)) = self.pending.first_key_value()
        {
            if first - self.next > MOST_SILENT {
                self.next = *first;
                continue;
            }
            let interval = self.pending.remove(&self.next).unwrap_or_default();
            lines.push(self.line(self.next, &interval));
            self.next += 1;
        }
        lines
    }

    fn line(&mut self, number: u64, interval: &Pending) -> Interval {
        let per_second = 1e9 / EVERY.as_nanos() as f64;
        let way = |from: usize| {
            let carried = interval.carried[from];
            Passed {
                packets: carried.packets,
                bits_per_second: carried.bytes as f64 * 8.0 * per_second,
                goodput_bits_per_second: carried.payload_bytes as f64 * 8.0 * per_second,
                queue_max_packets: interval.queue_packets[from],
            }
        };
        let [completed_connections, reset_connections] = std::mem::take(&mut self.ended);
        Interval {
            seed: self.seed,
            start_ns: number * EVERY.as_nanos(),
            end_ns: (number + 1) * EVERY.as_nanos(),
            left_to_right: way(0),
            right_to_left: way(1),
            dropped_packets: interval.dropped_packets,
            completed_connections,
            reset_connections,
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::workload::LinkSide;

    use super::*;

    fn bin(millis: u64, from: LinkSide, packets: u64) -> ThroughputBin {
        let carried = Traffic { packets, bytes: packets * 1_000, payload_bytes: packets * 900 };
        let (start, width) = (Time::ZERO + Duration::from_millis(millis), Duration::from_millis(1));
        ThroughputBin { start, width, link: from as u16, from, offered: carried, carried }
    }

    #[test]
    fn every_packet_is_in_one_line() {
        let mut intervals = Intervals::new(7);
        let mut lines = Vec::new();
        for millis in 0..5_000 {
            lines.extend(intervals.throughput(&bin(millis, LinkSide::Left, 2)));
            // The other direction is recorded three seconds late.
            if millis % 1_000 == 999 {
                lines.extend(intervals.throughput(&bin(millis.saturating_sub(3_000), LinkSide::Right, 5)));
            }
        }
        assert_eq!(lines.len(), 2, "seconds that others have followed");
        assert_eq!((lines[0].start_ns, lines[0].left_to_right.packets), (0, 2_000));
        assert_eq!(lines[0].left_to_right.bits_per_second, 16e6);
        intervals.connection(Outcome::Completed);
        lines.extend(intervals.finish());
        assert_eq!(lines.len(), 5);
        let sum = |way: fn(&Interval) -> Passed| -> u64 { lines.iter().map(|line| way(line).packets).sum() };
        assert_eq!((sum(|line| line.left_to_right), sum(|line| line.right_to_left)), (10_000, 25));
        assert_eq!(lines.iter().map(|line| line.completed_connections).sum::<u64>(), 1);
        assert!(intervals.finish().is_empty());
    }

    #[test]
    fn silence_is_told_too() {
        let mut intervals = Intervals::new(1);
        intervals.throughput(&bin(0, LinkSide::Left, 1));
        let lines = intervals.throughput(&bin(6_000, LinkSide::Left, 1));
        let packets: Vec<u64> = lines.iter().map(|line| line.left_to_right.packets).collect();
        assert_eq!(packets, [1, 0, 0, 0]);
        let years = 60_000_000_000;
        let mut lines = intervals.throughput(&bin(years, LinkSide::Left, 7));
        lines.extend(intervals.finish());
        let starts: Vec<u64> = lines.iter().map(|line| line.start_ns).collect();
        assert_eq!(
            starts,
            [4, 5, 6, years / 1_000].map(|second| second * 1_000_000_000),
            "a jump of years is one step"
        );
    }
}
