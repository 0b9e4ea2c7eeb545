//! The largest value of the last ten rounds, estimated with three samples (Nichols; `minmax` in Linux).

/// A sample counts for so many rounds after its own (BBR draft section 4.1.1.4: a cycle of eight phases, and two).
const ROUNDS: u32 = 10;

/// The largest value, and the best of those that came after it: when it expires, the next one is known. Each is a round and a
/// value, in the order of their rounds. Time without values lets none expire.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    best: [(u32, u64); 3],
}

impl MaxFilter {
    /// Takes `value` in `round`, which never decreases.
    pub(super) fn update(&mut self, round: u32, value: u64) {
        let sample = (round, value);
        let age = |best: (u32, u64)| round - best.0;
        if value >= self.best[0].1 || age(self.best[2]) > ROUNDS {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        if age(self.best[0]) > ROUNDS {
            for _ in 0..2 {
                if age(self.best[0]) > ROUNDS {
                    self.best = [self.best[1], self.best[2], sample];
                }
            }
        } else if self.best[1].0 == self.best[0].0 && age(self.best[0]) > ROUNDS / 4 {
            // A quarter of the window without a second best: one from here on will do.
            (self.best[1], self.best[2]) = (sample, sample);
        } else if self.best[2].0 == self.best[1].0 && age(self.best[0]) > ROUNDS / 2 {
            self.best[2] = sample;
        }
    }

    pub(super) fn max(&self) -> u64 {
        self.best[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_ten_rounds_after_its_own() {
        let mut filter = MaxFilter::default();
        filter.update(1, 50);
        filter.update(1, 70);
        filter.update(1, 60);
        assert_eq!(filter.max(), 70);
        (2..=11).for_each(|round| filter.update(round, u64::from(round)));
        assert_eq!(filter.max(), 70);
        filter.update(12, 5);
        assert_eq!(filter.max(), 11, "the best of the second half");
        filter.update(1000, 1);
        assert_eq!(filter.max(), 1, "rounds without values are rounds");
    }

    /// By hand: 40 takes the second place in round 4 (a quarter of ten rounds has passed), 30 the third in round 7. 90 expires
    /// in round 12, and 35 of round 3 is not known any more.
    #[test]
    fn three_samples_are_kept() {
        let mut filter = MaxFilter::default();
        for (round, value) in [(1, 90), (3, 35), (4, 40), (7, 30), (11, 20)] {
            filter.update(round, value);
            assert_eq!(filter.max(), 90);
        }
        filter.update(12, 10);
        assert_eq!(filter.max(), 40);
        filter.update(15, 10);
        assert_eq!(filter.max(), 30);
    }
}
