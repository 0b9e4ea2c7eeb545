//! Queue delays of the bottleneck: sojourn times of packets by direction and class, and what was dropped and marked.

use std::collections::BTreeMap;

use flowloom_core::record::{QueueFate, SojournRecord, TrafficClass};
use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;

use crate::statistics::Sample;

/// What was counted in a bin of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    packets: u64,
    total: u128,
    held: u128,
}

impl Bin {
    fn add(&mut self, other: Bin) {
        self.packets += other.packets;
        self.total += other.total;
        self.held += other.held;
    }

    /// The mean of its times, in nanoseconds; `least` where no packet counts.
    fn time(&self, least: u64) -> f64 {
        if self.packets == 0 { least as f64 } else { self.total as f64 / self.packets as f64 }
    }
}

/// Packets that reached the queue of one direction and left it in the window, by how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Packets whose transmission started.
    pub transmitted: u64,
    /// Of them, packets that the queue gave the ECN mark.
    pub marked: u64,
    /// Packets dropped at the instant at which they arrived.
    pub dropped_at_arrival: u64,
    /// Packets dropped after they had waited.
    pub dropped_from_queue: u64,
}

impl QueueCounts {
    /// All of them.
    pub fn offered(&self) -> u64 {
        self.transmitted + self.dropped()
    }

    /// Those of another run or direction added.
    #[must_use]
    pub fn plus(self, other: QueueCounts) -> QueueCounts {
        QueueCounts {
            transmitted: self.transmitted + other.transmitted,
            marked: self.marked + other.marked,
            dropped_at_arrival: self.dropped_at_arrival + other.dropped_at_arrival,
            dropped_from_queue: self.dropped_from_queue + other.dropped_from_queue,
        }
    }

    /// Packets that the queue dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped_at_arrival + self.dropped_from_queue
    }

    /// Dropped packets over all; `None` without any.
    pub fn loss_share(&self) -> Option<f64> {
        (self.offered() > 0).then(|| self.dropped() as f64 / self.offered() as f64)
    }

    /// Marked packets over all; `None` without any.
    pub fn mark_share(&self) -> Option<f64> {
        (self.offered() > 0).then(|| self.marked as f64 / self.offered() as f64)
    }
}

/// The sojourn times of a run at its bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SojournTimes {
    bins: BTreeMap<(LinkSide, TrafficClass, QueueFate), BTreeMap<u64, Bin>>,
    marked: BTreeMap<(LinkSide, TrafficClass), u64>,
}

impl SojournTimes {
    /// Takes a row.
    pub(crate) fn add(&mut self, record: &SojournRecord) {
        let SojournRecord { from, class, fate, sojourn, packets, marked, total, held, .. } = *record;
        let bin = Bin { packets, total: total.as_nanos().into(), held: held.as_nanos().into() };
        self.bins.entry((from, class, fate)).or_default().entry(sojourn.as_nanos()).or_default().add(bin);
        *self.marked.entry((from, class)).or_default() += marked;
    }

    /// Whether nothing was recorded: nobody measured it, or no packet crossed the link.
    pub(crate) fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// The classes that have packets, in the order of tables.
    pub(crate) fn classes(&self, from: LinkSide) -> impl Iterator<Item = TrafficClass> + '_ {
        TrafficClass::ALL.into_iter().filter(move |class| self.counts(from, Some(*class)).offered() > 0)
    }

    /// The bins of a direction and a fate, of one class or of [all](is_of).
    fn joined(&self, from: LinkSide, class: Option<TrafficClass>, fate: QueueFate) -> BTreeMap<u64, Bin> {
        let mut joined: BTreeMap<u64, Bin> = BTreeMap::new();
        let wanted = |key: &(LinkSide, TrafficClass, QueueFate)| (key.0, key.2) == (from, fate) && is_of(class, key.1);
        for (least, bin) in self.bins.iter().filter(|(key, _)| wanted(key)).flat_map(|(_, bins)| bins) {
            joined.entry(*least).or_default().add(*bin);
        }
        joined
    }

    /// Nanoseconds, one value per packet, of one class or of [all](is_of).
    pub(crate) fn per_packet(&self, from: LinkSide, class: Option<TrafficClass>, fate: QueueFate) -> Sample {
        let bins = self.joined(from, class, fate);
        let counted = bins.iter().filter(|(_, bin)| bin.packets > 0);
        Sample::from_steps(counted.map(|(least, bin)| (bin.time(*least), bin.packets as usize)))
    }

    /// Nanoseconds, one value per nanosecond of a window of this length: the sojourn of the packet that the line took last, and 0 while the
    /// link is idle.
    pub(crate) fn over_time(&self, from: LinkSide, window: Duration) -> Sample {
        if self.is_empty() {
            return Sample::default();
        }
        // The line's time is filled by whatever it takes.
        let mut bins = self.joined(from, None, QueueFate::Transmitted);
        for (least, bin) in self.joined(from, Some(TrafficClass::Probe), QueueFate::Transmitted) {
            bins.entry(least).or_default().add(bin);
        }
        let held: u128 = bins.values().map(|bin| bin.held).sum();
        let idle = u128::from(window.as_nanos()).saturating_sub(held);
        let held = bins.iter().filter(|(_, bin)| bin.held > 0);
        let steps = held.map(|(least, bin)| (bin.time(*least), bin.held as usize));
        Sample::from_steps(std::iter::once((0.0, idle as usize)).filter(|(_, idle)| *idle > 0).chain(steps))
    }

    /// How packets left the queue, of one class or of [all](is_of).
    pub(crate) fn counts(&self, from: LinkSide, class: Option<TrafficClass>) -> QueueCounts {
        let packets = |fate| self.joined(from, class, fate).values().map(|bin| bin.packets).sum();
        let marked = self.marked.iter().filter(|((side, of), _)| *side == from && is_of(class, *of));
        QueueCounts {
            transmitted: packets(QueueFate::Transmitted),
            marked: marked.map(|(_, marked)| marked).sum(),
            dropped_at_arrival: packets(QueueFate::DroppedAtArrival),
            dropped_from_queue: packets(QueueFate::DroppedFromQueue),
        }
    }
}

/// Whether what is of class `of` counts in `class`; `None` stands for all but probes: their time is no delay of the queue, since queues that are
/// fair to flows favour them.
fn is_of(class: Option<TrafficClass>, of: TrafficClass) -> bool {
    class.map_or(of != TrafficClass::Probe, |class| class == of)
}

/// A class as tables have it.
pub fn class_name(class: TrafficClass) -> &'static str {
    match class {
        TrafficClass::Sequential => "sequential",
        TrafficClass::Concurrent => "concurrent",
        TrafficClass::Datagram => "datagram",
        TrafficClass::Source => "source",
        TrafficClass::Other => "other",
        TrafficClass::Probe => "probe",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(class: TrafficClass, fate: QueueFate, sojourn_ns: u64, packets: u64) -> SojournRecord {
        let sojourn = Duration::from_nanos(sojourn_ns);
        let held = if fate == QueueFate::Transmitted { Duration::from_nanos(10 * packets) } else { Duration::ZERO };
        let marked = if fate == QueueFate::Transmitted { packets / 2 } else { 0 };
        let (link, from) = (0, LinkSide::Left);
        SojournRecord { link, from, class, fate, sojourn, packets, marked, total: sojourn * packets, held }
    }

    #[test]
    fn samples_count_packets_and_time() {
        let mut times = SojournTimes::default();
        times.add(&record(TrafficClass::Sequential, QueueFate::Transmitted, 0, 6));
        times.add(&record(TrafficClass::Datagram, QueueFate::Transmitted, 1_000, 3));
        times.add(&record(TrafficClass::Sequential, QueueFate::Transmitted, 1_000, 1));
        times.add(&record(TrafficClass::Sequential, QueueFate::DroppedAtArrival, 0, 2));
        times.add(&record(TrafficClass::Sequential, QueueFate::DroppedFromQueue, 500, 1));
        let all = times.per_packet(LinkSide::Left, None, QueueFate::Transmitted);
        assert_eq!(
            (all.len(), all.mean(), all.quantile(0.5), all.quantile(0.7)),
            (10, Some(400.0), Some(0.0), Some(1_000.0))
        );
        let datagrams = times.per_packet(LinkSide::Left, Some(TrafficClass::Datagram), QueueFate::Transmitted);
        assert_eq!((datagrams.len(), datagrams.min()), (3, Some(1_000.0)));
        // The link is busy for 100 ns of 1,000.
        let over_time = times.over_time(LinkSide::Left, Duration::from_nanos(1_000));
        assert_eq!((over_time.len(), over_time.mean(), over_time.quantile(0.96)), (1_000, Some(40.0), Some(0.0)));
        // Probes have numbers of their own, but for the time that they hold the line.
        times.add(&record(TrafficClass::Probe, QueueFate::Transmitted, 0, 50));
        times.add(&record(TrafficClass::Probe, QueueFate::DroppedAtArrival, 0, 50));
        assert_eq!(times.per_packet(LinkSide::Left, None, QueueFate::Transmitted), all);
        assert_eq!(times.counts(LinkSide::Left, Some(TrafficClass::Probe)).offered(), 100);
        assert_eq!(times.over_time(LinkSide::Left, Duration::from_nanos(1_000)).mean(), Some(40.0));
        let counts = times.counts(LinkSide::Left, None);
        assert_eq!((counts.offered(), counts.dropped_at_arrival, counts.dropped_from_queue), (13, 2, 1));
        assert_eq!((counts.loss_share(), counts.mark_share()), (Some(3.0 / 13.0), Some(4.0 / 13.0)));
        assert!(times.per_packet(LinkSide::Right, None, QueueFate::Transmitted).is_empty());
        assert_eq!(times.counts(LinkSide::Right, None).loss_share(), None);
    }
}
