//! Times between the starts of an application's conversations.

use std::collections::VecDeque;

use crate::sketch::Sketch;
use crate::time::Time;

/// Takes starts in their order. A conversation that may yet turn out to be a keep-alive holds those after it back until
/// it is settled.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    /// Starts from ticket `first` on: whether each counts, if that is known.
    waiting: VecDeque<(Time, Option<bool>)>,
    first: u64,
    last: Option<Time>,
    pub gaps: Sketch,
}

impl Arrivals {
    /// A conversation started; `counts` if that is certain. Returns the ticket to settle it with. At most `most` starts
    /// wait: beyond that the first of them is taken for a keep-alive.
    pub fn open(&mut self, time: Time, counts: bool, most: usize) -> u64 {
        let ticket = self.first + self.waiting.len() as u64;
        self.waiting.push_back((time, counts.then_some(true)));
        if self.waiting.len() > most
            && let Some((_, counts)) = self.waiting.front_mut()
        {
            *counts = counts.or(Some(false));
        }
        self.drain();
        ticket
    }

    /// The conversation of `ticket` counts, or does not.
    pub fn settle(&mut self, ticket: u64, counts: bool) {
        let Some(at) = ticket.checked_sub(self.first) else { return };
        if let Some((_, settled)) = self.waiting.get_mut(at as usize) {
            *settled = settled.or(Some(counts));
        }
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(&(time, Some(counts))) = self.waiting.front() {
            self.waiting.pop_front();
            self.first += 1;
            if counts {
                let last = self.last.replace(time);
                self.gaps.extend(last.map(|last| time.since(last).as_nanos()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(arrivals: &Arrivals) -> Vec<u64> {
        let steps = arrivals.gaps.empirical();
        steps.steps().iter().flat_map(|step| std::iter::repeat_n(step.value, step.count as usize)).collect()
    }

    #[test]
    fn a_start_that_is_settled_late_is_in_its_place() {
        let mut arrivals = Arrivals::default();
        arrivals.open(Time::from_nanos(0), true, 100);
        let undecided = arrivals.open(Time::from_nanos(10), false, 100);
        let keep_alive = arrivals.open(Time::from_nanos(12), false, 100);
        arrivals.open(Time::from_nanos(30), true, 100);
        assert_eq!(gaps(&arrivals), [0u64; 0]);
        arrivals.settle(keep_alive, false);
        arrivals.settle(undecided, true);
        assert_eq!(gaps(&arrivals), [10, 20]);
        arrivals.settle(undecided, false);
        assert_eq!(gaps(&arrivals), [10, 20], "settled is settled");
    }

    #[test]
    fn no_more_than_the_limit_wait() {
        let mut arrivals = Arrivals::default();
        for nanos in 0..1_000 {
            arrivals.open(Time::from_nanos(nanos), nanos > 0, 8);
            assert!(arrivals.waiting.len() <= 8);
        }
        assert_eq!(gaps(&arrivals).len(), 998, "the first was given up");
    }
}
