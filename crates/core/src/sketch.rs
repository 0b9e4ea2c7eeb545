//! The distribution of any number of values in bounded memory: exact while they are few, within 0.05 % after that.

/// Values held one by one; beyond them they are put in buckets.
const EXACT: usize = 1 << 16;
/// Bits of a value that its bucket keeps below the leading one: buckets are 2^-11 (0.05 %) of their values wide, and
/// values below 2^12 have one each.
const BITS: u32 = 11;

/// Counts values. Up to 65,536 of them are kept as they are (512 kB); more are counted in buckets of equal relative
/// width, at most `53 * 2^11` (1.7 MB), in practice as many as the values have decades times 6,800.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Values that are in no bucket yet, in no order.
    fresh: Vec<u64>,
    /// By value.
    buckets: Vec<Step>,
    count: u64,
    sum: u128,
    largest: u64,
}

/// So many values, all of them `value` or, if a sketch holds more values than it keeps apart, at most 0.05 % above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The smallest of them.
    pub value: u64,
    /// How many.
    pub count: u64,
}

impl Step {
    /// The bucket: exponents order buckets first, the kept bits those within one exponent.
    fn key(&self) -> u64 {
        let exponent = self.value.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
        (u64::from(exponent) << (BITS + 1)) | (self.value >> exponent)
    }
}

impl Sketch {
    /// Counts `value`.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.largest = self.largest.max(value);
        self.fresh.push(value);
        if self.fresh.len() > EXACT {
            self.fold();
        }
    }

    /// Counts everything that `other` counted.
    pub fn add_all(&mut self, other: &Sketch) {
        self.buckets = merge(std::mem::take(&mut self.buckets), other.buckets.iter().copied(), Step::key);
        let (count, sum) = (self.count + other.count, self.sum + other.sum);
        self.largest = self.largest.max(other.largest);
        other.fresh.iter().for_each(|value| self.add(*value));
        (self.count, self.sum) = (count, sum);
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their distribution.
    pub fn empirical(&self) -> Empirical {
        let mut fresh = self.fresh.clone();
        fresh.sort_unstable();
        let fresh = fresh.into_iter().map(|value| Step { value, count: 1 });
        let steps = if self.buckets.is_empty() {
            merge(Vec::new(), fresh, |step| step.value)
        } else {
            merge(self.buckets.clone(), fresh, Step::key)
        };
        Empirical { steps, count: self.count, sum: self.sum, largest: self.largest }
    }

    /// Puts the fresh values in buckets.
    fn fold(&mut self) {
        self.fresh.sort_unstable();
        let fresh = self.fresh.drain(..).map(|value| Step { value, count: 1 });
        self.buckets = merge(std::mem::take(&mut self.buckets), fresh, Step::key);
    }
}

impl Extend<u64> for Sketch {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.add(value));
    }
}

/// Two ascending lists as one, steps of the same `key` added.
fn merge(one: Vec<Step>, other: impl Iterator<Item = Step>, key: fn(&Step) -> u64) -> Vec<Step> {
    let mut merged: Vec<Step> = Vec::with_capacity(one.len());
    let mut push = |step: Step| match merged.last_mut() {
        Some(last) if key(last) == key(&step) => last.count += step.count,
        _ => merged.push(step),
    };
    let mut one = one.into_iter().peekable();
    for step in other {
        while let Some(before) = one.next_if(|before| before.value <= step.value) {
            push(before);
        }
        push(step);
    }
    one.for_each(push);
    merged
}

/// A distribution function: steps in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Empirical {
    steps: Vec<Step>,
    count: u64,
    sum: u128,
    largest: u64,
}

impl Empirical {
    /// The steps, ascending by value.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their exact mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest.
    pub fn min(&self) -> Option<u64> {
        self.steps.first().map(|step| step.value)
    }

    /// The largest.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.largest)
    }

    /// Inverse-CDF quantile (methods C.7): the smallest value that a share `p` of them does not exceed, or a smaller one
    /// of its step. `None` without values.
    pub fn quantile(&self, p: f64) -> Option<u64> {
        let rank = self.count as f64 * p.clamp(0.0, 1.0);
        // Floating point must not make the 0.1 quantile of ten values the second of them.
        let nearest = rank.round();
        let rank = if (rank - nearest).abs() <= 1e-9 * rank.max(1.0) { nearest } else { rank.ceil() };
        let rank = (rank as u64).max(1);
        if rank >= self.count {
            return self.max();
        }
        let mut passed = 0;
        self.steps.iter().find_map(|step| {
            passed += step.count;
            (passed >= rank).then_some(step.value)
        })
    }

    /// How many values are at most `x`.
    pub fn count_up_to(&self, x: u64) -> u64 {
        self.steps.iter().take_while(|step| step.value <= x).map(|step| step.count).sum()
    }

    /// The share of values at most `x`; `None` without values.
    pub fn cdf(&self, x: u64) -> Option<f64> {
        (self.count > 0).then(|| self.count_up_to(x) as f64 / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Sketch {
        let mut sketch = Sketch::default();
        sketch.extend(values);
        sketch
    }

    #[test]
    fn few_values_are_exact() {
        // The sample of methods C.7.
        let sample = of([9, 1, 2, 3, 3, 4, 5, 5, 6, 1]).empirical();
        for (p, expected) in [(0.0, 1), (0.1, 1), (0.25, 2), (0.5, 3), (0.9, 6), (1.0, 9)] {
            assert_eq!(sample.quantile(p), Some(expected), "q({p})");
        }
        assert_eq!(sample.cdf(3), Some(0.5));
        assert_eq!(sample.mean(), Some(3.9));
        assert_eq!((sample.min(), sample.max(), sample.count()), (Some(1), Some(9), 10));
        assert_eq!(sample.steps()[0], Step { value: 1, count: 2 });
        let large = [u64::MAX, u64::MAX - 1].map(|value| value - 7);
        assert_eq!(of(large).empirical().steps().len(), 2, "neighbours stay apart while there are few values");
    }

    #[test]
    fn none_has_no_quantiles() {
        let empty = Sketch::default().empirical();
        assert_eq!((empty.quantile(0.5), empty.mean(), empty.max(), empty.cdf(7)), (None, None, None, None));
    }

    #[test]
    fn many_values_keep_count_mean_and_extremes_exactly_and_quantiles_within_a_bucket() {
        // 7,919 is prime to 1,000,003: every value once, in no order.
        let n = 1_000_003u64;
        let scattered = || (0..n).map(|index| index * 7_919 % n);
        let sketch = of(scattered());
        assert!(sketch.fresh.len() <= EXACT && sketch.buckets.len() < 22_000, "{}", sketch.buckets.len());
        let sample = sketch.empirical();
        assert_eq!(sample.count(), n);
        assert_eq!(sample.mean(), Some(500_001.0));
        assert_eq!((sample.min(), sample.max()), (Some(0), Some(n - 1)));
        for p in [0.001, 0.01, 0.5, 0.9, 0.99999] {
            let (found, exact) = (sample.quantile(p).unwrap() as f64, (n as f64 * p).ceil() - 1.0);
            assert!(found <= exact && exact - found <= exact / 2048.0, "q({p}): {found} for {exact}");
        }
        assert_eq!(sample.count_up_to(4_095), 4_096, "small values have a bucket each");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn shards_make_the_whole_whatever_their_sizes(
            cuts in prop::collection::vec(0usize..200_000, 0..6), scale in 1u64..1 << 40, seed in any::<u64>(),
        ) {
            // Some shards keep their values, some are in buckets: in the end all of them are.
            let values: Vec<u64> = (0..200_000u64).map(|i| (i.wrapping_mul(seed | 1) % 65_537 * scale) >> 7).collect();
            let mut cuts = cuts;
            cuts.extend([0, values.len()]);
            cuts.sort_unstable();
            let mut joined = Sketch::default();
            for pair in cuts.windows(2) {
                joined.add_all(&of(values[pair[0]..pair[1]].iter().copied()));
            }
            prop_assert_eq!(joined.empirical(), of(values).empirical());
        }
    }

    proptest! {
        #[test]
        fn two_halves_make_the_whole(values in prop::collection::vec(any::<u64>(), 1..300), at in 0usize..300) {
            let (one, other) = values.split_at(at.min(values.len()));
            let mut joined = of(one.iter().copied());
            joined.add_all(&of(other.iter().copied()));
            prop_assert_eq!(joined.empirical(), of(values.iter().copied()).empirical());
        }

        #[test]
        fn buckets_keep_quantiles_within_their_width(mut values in prop::collection::vec(any::<u64>(), 1..200), p in 0.0f64..1.0) {
            let mut sketch = of(values.iter().copied());
            sketch.fold();
            let found = sketch.empirical().quantile(p).unwrap();
            values.sort_unstable();
            let exact = values[((values.len() as f64 * p).ceil() as usize).max(1) - 1];
            prop_assert!(values.contains(&found));
            prop_assert!(found <= exact && (exact - found) as f64 <= exact as f64 / 2048.0);
        }
    }
}
