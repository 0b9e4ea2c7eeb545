//! Counters that went back without a wrap: they were reset, or the answer was wrong, and what they had comes back.

use crate::clock::Moment;
use crate::rates::Width;

/// How long it is doubted that a counter was reset, in nanoseconds.
const LASTS_NS: u64 = 3_600 * 1_000_000_000;

/// Values that one counter may come back to, at most.
const MOST: usize = 4;

/// Counts that add up, with their widths.
pub(crate) type Counts = Vec<(u64, Width)>;

/// What a counter had before it went back, for as long as it may come back to that.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubts(Vec<Doubt>);

#[derive(Clone, Debug)]
struct Doubt {
    /// What it had.
    had: Counts,
    /// What it went back to.
    low: Counts,
    at: Moment,
}

impl Doubt {
    /// Whether a counter that rises from `before` to `now` comes back to what it had: in one step, and not far beyond. One that was reset
    /// counts up to that, or passes it by more than it had lost.
    fn is_answered(&self, before: &Counts, now: &Counts) -> bool {
        self.is_reached(now) && {
            let (grew, fell) = (rise(&self.had, now), rise(before, &self.had));
            let (step, counted) = (rise(before, now), rise(&self.low, before));
            grew <= fell && step > counted
        }
    }

    fn is_reached(&self, now: &Counts) -> bool {
        now.len() == self.had.len() && now.iter().zip(&self.had).all(|(now, had)| now.0 >= had.0)
    }
}

/// How far counts rose in all, but for those that went back.
fn rise(from: &Counts, to: &Counts) -> u128 {
    from.iter().zip(to).map(|(from, to)| u128::from(to.0.saturating_sub(from.0))).sum()
}

impl Doubts {
    /// A counter went back from `had` to `low`.
    pub(crate) fn enter(&mut self, had: Counts, low: Counts, at: Moment) {
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(Doubt { had, low, at });
    }

    /// Whether a counter that rises from `before` to `now` comes back to what it had before it went back, so that the answers between were
    /// wrong. What it reached is doubted no longer.
    pub(crate) fn resolve(&mut self, before: &Counts, now: &Counts, at: &Moment) -> bool {
        self.0.retain(|doubt| at.since(&doubt.at) <= LASTS_NS);
        let comes_back = self.0.iter().any(|doubt| doubt.is_answered(before, now));
        self.0.retain(|doubt| !doubt.is_reached(now));
        comes_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(count: u64) -> Counts {
        vec![(count, Width::Bits64), (5, Width::Bits64)]
    }

    #[test]
    fn a_counter_comes_back_in_one_step() {
        let at = Moment::default();
        for (low, before, now, expected) in [
            (0, 0, 1_000, true),
            (0, 0, 1_300, true),
            (0, 0, 999, false),
            // Reset, and faster than ever.
            (0, 0, 2_001, false),
            // Reset, and counted up.
            (0, 950, 1_010, false),
            // A wrong answer that was nearly right.
            (900, 900, 1_010, true),
        ] {
            let mut doubts = Doubts::default();
            doubts.enter(counts(1_000), counts(low), at);
            assert_eq!(doubts.resolve(&counts(before), &counts(now), &at), expected, "{low} {before} {now}");
            assert_eq!(doubts.0.is_empty(), now >= 1_000);
        }
    }

    #[test]
    fn the_latest_doubts_are_kept() {
        let at = Moment::default();
        let mut doubts = Doubts::default();
        (1..=9).for_each(|number| doubts.enter(counts(1_000 * number), counts(0), at));
        assert_eq!(doubts.0.len(), MOST);
        assert!(doubts.resolve(&counts(0), &counts(9_100), &at) && doubts.0.is_empty());
    }
}
