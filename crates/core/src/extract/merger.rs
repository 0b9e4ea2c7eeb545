//! The connections of all parts in the order in which they began.

use std::collections::{BTreeMap, VecDeque};

use super::key::PARTS;
use super::options::Options;
use super::packed::Packed;
use super::part::{Finished, Report};

/// Bins that may still grow behind the clock: a second. What comes later than that counts for itself.
const OPEN_BINS: u64 = 100;

/// Bins held at most, however far apart stamps are.
const MAX_BINS: usize = 8192;

/// Puts what parts report into the order of the capture: connections by the packet that opened them, the peak of the
/// traffic by its bins.
///
/// [`take`](Self::take) every report of every part, those of one part in order, then [`poll`](Self::poll) until it
/// returns nothing. A connection waits for all that began before it. When there is no room for those that wait,
/// [`unload`](Self::unload) gives them away; they come back by other means (see [`next`](Self::next)).
#[derive(Debug)]
pub struct Merger {
    options: Options,
    /// By number: those that wait. They come nearly in order, and leave in order.
    waiting: BTreeMap<u64, Packed>,
    bytes: u64,
    /// Of each part.
    settled: [u64; PARTS],
    next_id: u64,
    /// Rounds that some parts have reported: parts still missing, and what the others said.
    rounds: VecDeque<(usize, u64)>,
    first_round: u64,
    bins: BTreeMap<u64, [u64; 2]>,
    early: BTreeMap<u64, Vec<(u64, [u64; 2])>>,
    /// Parts that have not reported the end, and the bins behind the last round of those that have.
    unended: usize,
    last: Vec<(u64, [u64; 2])>,
    peak: u64,
}

impl Merger {
    /// One that has seen nothing.
    pub fn new(options: &Options) -> Merger {
        Merger {
            options: options.clone(),
            waiting: BTreeMap::new(),
            bytes: 0,
            settled: [0; PARTS],
            next_id: 0,
            rounds: VecDeque::new(),
            first_round: 0,
            bins: BTreeMap::new(),
            early: BTreeMap::new(),
            unended: PARTS,
            last: Vec::new(),
            peak: 0,
        }
    }

    /// Takes in a report.
    pub fn take(&mut self, report: Report) {
        self.settled[report.part] = report.settled;
        for finished in report.finished {
            self.bytes += finished.bytes();
            self.waiting.insert(finished.number, finished);
        }
        // Bins are added up round by round, as one thread would: then nothing depends on which part is ahead.
        let Some(round) = report.round else {
            self.last.extend(report.bins);
            self.unended -= 1;
            if self.unended == 0 {
                let bins = std::mem::take(&mut self.last);
                self.add_bins(bins);
            }
            return;
        };
        self.early.entry(round.number).or_default().extend(report.bins);
        let at = (round.number - self.first_round) as usize;
        while self.rounds.len() <= at {
            self.rounds.push_back((PARTS, 0));
        }
        self.rounds[at].0 -= 1;
        self.rounds[at].1 = round.bin;
        while self.rounds.front().is_some_and(|round| round.0 == 0)
            && let Some((_, bin)) = self.rounds.pop_front()
        {
            let bins = self.early.remove(&self.first_round).unwrap_or_default();
            self.first_round += 1;
            self.add_bins(bins);
            self.close_bins(bin.saturating_sub(OPEN_BINS));
        }
    }

    /// The packet before which everything has been reported.
    pub fn settled(&self) -> u64 {
        self.settled.iter().copied().min().unwrap_or(u64::MAX)
    }

    /// The number of the first connection that waits here.
    pub fn next(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|(number, _)| *number)
    }

    /// The next connection in the order of starts, if nothing before it can come any more.
    pub fn poll(&mut self) -> Option<Finished> {
        if self.next()? >= self.settled() {
            return None;
        }
        let mut finished = self.pop()?.unpack().expect("was packed by a part");
        self.give_id(&mut finished);
        Some(finished)
    }

    /// Gives the next connection its id. [`poll`](Self::poll) has done that; those that were unloaded need it when
    /// their turn has come.
    pub fn give_id(&mut self, finished: &mut Finished) {
        if finished.is_kept(&self.options) {
            finished.vector.id = self.next_id;
            self.next_id += 1;
        }
    }

    /// Bytes of those that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes out all that wait, in order and without ids.
    pub fn unload(&mut self) -> Vec<Packed> {
        let mut all = Vec::with_capacity(self.waiting.len());
        while let Some(finished) = self.pop() {
            all.push(finished);
        }
        all
    }

    /// Bytes on the link of the busiest 10 ms of either direction (methods M.9), once everything was reported.
    pub fn peak_bytes(&self) -> u64 {
        self.bins.values().flatten().copied().fold(self.peak, u64::max)
    }

    fn pop(&mut self) -> Option<Packed> {
        let (_, packed) = self.waiting.pop_first()?;
        self.bytes -= packed.bytes();
        Some(packed)
    }

    fn add_bins(&mut self, bins: Vec<(u64, [u64; 2])>) {
        for (bin, sides) in bins {
            let sum = self.bins.entry(bin).or_default();
            sum.iter_mut().zip(sides).for_each(|(sum, bytes)| *sum += bytes);
        }
    }

    /// Nothing more is added to bins before `end`.
    fn close_bins(&mut self, end: u64) {
        loop {
            let many = self.bins.len() > MAX_BINS;
            let Some(first) = self.bins.first_entry().filter(|first| many || *first.key() < end) else { break };
            self.peak = first.remove().into_iter().fold(self.peak, u64::max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::Round;
    use crate::time::Time;

    #[test]
    fn the_peak_does_not_depend_on_which_part_is_ahead() {
        let report = |part: usize, round: Option<Round>, bins: &[(u64, [u64; 2])]| Report {
            part,
            round,
            finished: Vec::new(),
            settled: 0,
            bins: bins.to_vec(),
        };
        let round = Round { number: 0, clock: Time::ZERO, bin: 10_000, next: 0 };
        // Behind the round the clock runs back far, and two parts have traffic in one bin.
        let of_round = |part| report(part, Some(round), &[]);
        let of_end =
            |part: usize| report(part, None, if part == 0 || part == PARTS - 1 { &[(5, [700, 0])] } else { &[] });
        let together = (0..PARTS).map(of_round).chain((0..PARTS).map(of_end));
        let one_by_one = (0..PARTS).flat_map(|part| [of_round(part), of_end(part)]);
        for reports in [together.collect::<Vec<_>>(), one_by_one.collect()] {
            let mut merger = Merger::new(&Options::default());
            reports.into_iter().for_each(|report| merger.take(report));
            assert_eq!(merger.peak_bytes(), 1_400);
        }
    }
}
