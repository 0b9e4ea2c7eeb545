//! The maximum of the last ten rounds.

/// Rounds that count: a cycle of eight phases, and two (BBR draft section 4.1.1.4).
const ROUNDS: u32 = 10;

/// The largest value of the rounds up to the last one that had a value. Time without values lets none expire.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    /// The largest of a round, in the place of its number modulo [`ROUNDS`].
    largest: [(u32, u64); ROUNDS as usize],
    max: u64,
}

impl MaxFilter {
    /// Takes `value` in `round`, which never decreases.
    pub(super) fn update(&mut self, round: u32, value: u64) {
        let slot = &mut self.largest[(round % ROUNDS) as usize];
        *slot = (round, if slot.0 == round { slot.1.max(value) } else { value });
        let recent = self.largest.iter().filter(|slot| round - slot.0 < ROUNDS);
        self.max = recent.map(|slot| slot.1).max().unwrap_or(0);
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_ten_rounds() {
        let mut filter = MaxFilter::default();
        filter.update(1, 50);
        filter.update(1, 70);
        filter.update(1, 60);
        assert_eq!(filter.max(), 70);
        (2..=10).for_each(|round| filter.update(round, u64::from(round)));
        assert_eq!(filter.max(), 70);
        filter.update(11, 5);
        assert_eq!(filter.max(), 10);
        filter.update(1000, 1);
        assert_eq!(filter.max(), 1, "rounds without values are rounds");
    }
}
