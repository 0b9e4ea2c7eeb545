//! Sojourn times: how long packets wait in the queue of one direction of a link, from acceptance to the start of transmission.
//!
//! Any number of packets is counted in bounded memory, in bins that are the same in every run, so that counts of runs add up.

use std::collections::VecDeque;

use crate::record::{QueueFate, SojournRecord, TrafficClass};
use crate::time::{Duration, Time};
use crate::workload::LinkSide;

/// Bins are 2^-8 (0.4 %) of their values wide; values below 2^9 ns have one each.
const BITS: u32 = 8;
const CLASSES: usize = TrafficClass::ALL.len();
const FATES: usize = QueueFate::ALL.len();

/// The bin of a sojourn.
fn bin(sojourn: Duration) -> usize {
    let nanos = sojourn.as_nanos();
    let exponent = nanos.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
    ((exponent as usize) << BITS) + (nanos >> exponent) as usize
}

/// The shortest sojourn of a bin.
fn least(bin: usize) -> Duration {
    let exponent = (bin >> BITS).saturating_sub(1) as u32;
    Duration::from_nanos((bin as u64 - (u64::from(exponent) << BITS)) << exponent)
}

/// What was counted in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    packets: u64,
    marked: u64,
    /// The sum of their sojourns.
    total: u64,
    /// How long packets of the bin were the last that the line had taken.
    held: u64,
}

/// A packet that the line takes, now or later.
#[derive(Clone, Copy, Debug)]
struct Taken {
    class: TrafficClass,
    marked: bool,
    accepted: Time,
    started: Time,
    departed: Time,
}

/// Packets that a line took from its queue, and how long all of them had waited there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Packets.
    pub packets: u64,
    /// The sum of their sojourn times.
    pub total: Duration,
}

/// Counts the sojourns of one direction of a link, in the time from the first to the second end of its window.
///
/// A packet counts when its transmission starts, or when it is dropped. Each counts once, and beside that for as long as it is the
/// last that the line took: until the next one starts that had arrived by then, or until its own last bit has left. So the
/// times of a busy link have no gap, and an idle link has none.
#[derive(Clone, Debug)]
pub struct Sojourns {
    window: [Time; 2],
    /// Packets whose transmission starts later than anything that was told, by when it starts.
    coming: VecDeque<Taken>,
    /// The packet that the line took last.
    last: Option<Taken>,
    waited: Waited,
    counts: [[Vec<Counts>; FATES]; CLASSES],
}

impl Sojourns {
    /// Nothing counted yet, of events in `[start, end)` of `window`.
    pub fn new(window: [Time; 2]) -> Sojourns {
        let (coming, waited) = (VecDeque::new(), Waited::default());
        Sojourns { window, coming, last: None, waited, counts: Default::default() }
    }

    /// A packet that was accepted at `accepted` is taken from the queue at `started`, which is not before the last call nor before the
    /// start of the packet before it; its last bit leaves the line at `departed`. `now` is when that is told; transmission may start later.
    #[inline]
    pub fn started(
        &mut self,
        now: Time,
        class: TrafficClass,
        accepted: Time,
        [started, departed]: [Time; 2],
        marked: bool,
    ) {
        self.advance(now);
        let taken = Taken { class, marked, accepted, started, departed };
        if started <= now && self.coming.is_empty() {
            self.take(taken);
        } else {
            self.coming.push_back(taken);
        }
    }

    /// A packet that was accepted at `accepted`, or reached the queue then and was not, is dropped at `now`.
    pub fn dropped(&mut self, now: Time, class: TrafficClass, accepted: Time) {
        if self.holds(now) {
            let waited = now.since(accepted);
            let fate = if waited.is_zero() { QueueFate::DroppedAtArrival } else { QueueFate::DroppedFromQueue };
            self.count(class, fate, waited, false);
        }
    }

    /// Takes the packets whose transmission starts by `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        while let Some(&taken) = self.coming.front()
            && taken.started <= now
        {
            self.coming.pop_front();
            self.take(taken);
        }
    }

    fn take(&mut self, taken: Taken) {
        self.waited.packets += 1;
        self.waited.total += taken.started.since(taken.accepted);
        if let Some(last) = self.last.replace(taken) {
            let until = if taken.accepted <= last.departed { taken.started } else { last.departed };
            self.hold(last, until);
        }
        if self.holds(taken.started) {
            self.count(taken.class, QueueFate::Transmitted, taken.started.since(taken.accepted), taken.marked);
        }
    }

    /// `last` was the last packet that the line had taken until `until`.
    fn hold(&mut self, last: Taken, until: Time) {
        let [start, end] = self.window;
        let held = until.min(end).since(last.started.max(start));
        if !held.is_zero() {
            let sojourn = last.started.since(last.accepted);
            self.counts_of(last.class, QueueFate::Transmitted, sojourn).held += held.as_nanos();
        }
    }

    fn holds(&self, time: Time) -> bool {
        self.window[0] <= time && time < self.window[1]
    }

    fn counts_of(&mut self, class: TrafficClass, fate: QueueFate, sojourn: Duration) -> &mut Counts {
        let (counts, bin) = (&mut self.counts[class as usize][fate as usize], bin(sojourn));
        if counts.len() <= bin {
            counts.resize(bin + 1, Counts::default());
        }
        &mut counts[bin]
    }

    fn count(&mut self, class: TrafficClass, fate: QueueFate, sojourn: Duration, marked: bool) {
        let counts = self.counts_of(class, fate, sojourn);
        counts.packets += 1;
        counts.marked += u64::from(marked);
        counts.total = counts.total.saturating_add(sojourn.as_nanos());
    }

    /// Ends the window at `end`, if it would end later: what was told of later times is not counted. To be called once, when nothing else
    /// will be.
    pub fn finish(&mut self, end: Time) {
        self.window[1] = self.window[1].min(end).max(self.window[0]);
        self.advance(end);
        if let Some(last) = self.last.take() {
            // The next one, if it had arrived when this one left, would have started then or later.
            let until = match self.coming.front() {
                Some(next) if next.accepted <= last.departed => next.started,
                _ => last.departed,
            };
            self.hold(last, until);
        }
        self.coming.clear();
    }

    /// Packets whose transmission has started by the last call, inside the window or not.
    pub fn waited(&self) -> Waited {
        self.waited
    }

    /// What was counted of packets that come from `from` at the link of this number: by class, fate and sojourn.
    pub fn records(&self, link: u16, from: LinkSide) -> impl Iterator<Item = SojournRecord> + '_ {
        TrafficClass::ALL.into_iter().zip(&self.counts).flat_map(move |(class, counts)| {
            QueueFate::ALL.into_iter().zip(counts).flat_map(move |(fate, counts)| {
                let counted = counts.iter().enumerate().filter(|(_, counts)| **counts != Counts::default());
                counted.map(move |(bin, counts)| SojournRecord {
                    link,
                    from,
                    class,
                    fate,
                    sojourn: least(bin),
                    packets: counts.packets,
                    marked: counts.marked,
                    total: Duration::from_nanos(counts.total),
                    held: Duration::from_nanos(counts.held),
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLASS: TrafficClass = TrafficClass::Sequential;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn records(sojourns: &Sojourns) -> Vec<SojournRecord> {
        sojourns.records(0, LinkSide::Left).collect()
    }

    #[test]
    fn packets_count_once_and_for_their_time() {
        let mut sojourns = Sojourns::new([at(0), at(1_000)]);
        // Three at once take 100 us each; one finds the line idle at 400.
        for (accepted, start) in [(0, 0), (0, 100), (0, 200), (400, 400)] {
            sojourns.started(at(accepted), CLASS, at(accepted), [at(start), at(start + 100)], false);
        }
        sojourns.dropped(at(450), CLASS, at(450));
        sojourns.dropped(at(460), CLASS, at(420));
        sojourns.finish(at(1_000));
        assert_eq!(sojourns.waited(), Waited { packets: 4, total: micros(300) });
        let found = records(&sojourns);
        let of = |fate| found.iter().filter(move |record| record.fate == fate);
        let sent: Vec<_> = of(QueueFate::Transmitted).map(|one| (one.total, one.packets, one.held)).collect();
        assert_eq!(sent, [(micros(0), 2, micros(200)), (micros(100), 1, micros(100)), (micros(200), 1, micros(100))]);
        assert_eq!(of(QueueFate::DroppedAtArrival).map(|one| one.packets).sum::<u64>(), 1);
        let lost: Vec<_> = of(QueueFate::DroppedFromQueue).map(|one| (one.total, one.packets)).collect();
        assert_eq!(lost, [(micros(40), 1)]);
    }

    #[test]
    fn only_the_window_counts() {
        let mut sojourns = Sojourns::new([at(150), at(10_000)]);
        (0..5).for_each(|n| sojourns.started(at(0), CLASS, at(0), [at(100 * n), at(100 * n + 100)], n == 2));
        // The run ends before the window: two packets have not started.
        sojourns.finish(at(250));
        assert_eq!(sojourns.waited(), Waited { packets: 3, total: micros(300) }, "before the window too");
        let found: Vec<_> =
            records(&sojourns).iter().map(|one| (one.total, one.packets, one.marked, one.held)).collect();
        assert_eq!(found, [(micros(0), 0, 0, micros(50)), (micros(200), 1, 1, micros(50))]);
    }

    #[test]
    fn a_shaper_holds_the_time_until_the_next_start() {
        // The line is fast; packets that wait leave every millisecond.
        let mut sojourns = Sojourns::new([at(0), at(10_000)]);
        (0..3).for_each(|n| sojourns.started(at(0), CLASS, at(0), [at(1_000 * n), at(1_000 * n + 1)], false));
        sojourns.finish(at(10_000));
        let found: Vec<_> = records(&sojourns).iter().map(|one| one.held).collect();
        assert_eq!(found, [micros(1_000), micros(1_000), micros(1)]);
    }

    proptest! {
        #[test]
        fn bins_hold_their_values_and_ascend(nanos in any::<u64>()) {
            let sojourn = Duration::from_nanos(nanos);
            let found = bin(sojourn);
            prop_assert!(least(found) <= sojourn);
            prop_assert!(found == bin(Duration::MAX) || sojourn < least(found + 1));
            let width = (nanos - least(found).as_nanos()) as f64;
            prop_assert!(width <= nanos as f64 / 256.0);
            prop_assert_eq!(bin(least(found)), found);
        }
    }
}
