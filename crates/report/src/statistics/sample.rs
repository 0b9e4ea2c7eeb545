//! A sample: its distribution function, quantiles and moments (methods C.6, C.7).

use flowloom_core::sketch::Empirical;

/// A value, and how many of a sample are at most that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    value: f64,
    up_to: usize,
}

/// Finite values in ascending order, equal ones together; and values of which only a lower bound is known.
///
/// Those are of exchanges and connections that were not over when they were last seen. Each is at least as long as it was seen to last,
/// and may be longer than any: what that leaves open of a quantile is said with it. A distribution function counts them as longer than
/// any, and ends below 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    steps: Vec<Step>,
    /// 0 of an empty sample. Unfinished values count as what was seen of them.
    mean: f64,
    /// How many are unfinished.
    unfinished: usize,
    /// All values with unfinished ones as long as they were seen to last; empty without such.
    as_seen: Vec<Step>,
}

/// A quantile whose bounds are no further apart than this part of them is known: it is written with three digits.
const KNOWN_WITHIN: f64 = 0.005;

/// A quantile of a sample with unfinished values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantile {
    /// This value.
    Is(f64),
    /// At least this, however long unfinished values last: the quantile with each of them as long as it was seen to last.
    Above(f64),
}

impl Quantile {
    /// The value, or the bound.
    pub fn at_least(self) -> f64 {
        match self {
            Quantile::Is(value) | Quantile::Above(value) => value,
        }
    }
}

impl Sample {
    /// The sample of `values`, which must be finite.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Sample {
        let mut values: Vec<f64> = values.into_iter().collect();
        debug_assert!(values.iter().all(|value| value.is_finite()), "a sample holds finite values");
        values.sort_unstable_by(f64::total_cmp);
        Sample::from_steps(values.into_iter().map(|value| (value, 1)))
    }

    /// The sample of values that come ascending, each with how many of it there are.
    pub fn from_steps(values: impl IntoIterator<Item = (f64, usize)>) -> Sample {
        let mut steps: Vec<Step> = Vec::new();
        let (mut up_to, mut sum) = (0, 0.0);
        for (value, count) in values {
            up_to += count;
            // Ascending order adds the small values first, which keeps the rounding error of long-tailed sums low.
            sum += value * count as f64;
            match steps.last_mut() {
                Some(last) if last.value == value => last.up_to = up_to,
                _ => steps.push(Step { value, up_to }),
            }
        }
        let mean = if up_to > 0 { sum / up_to as f64 } else { 0.0 };
        Sample { steps, mean, unfinished: 0, as_seen: Vec::new() }
    }

    /// The same with values that were not over when they were last seen, after so long.
    pub fn with_unfinished(self, seen: &[f64]) -> Sample {
        if seen.is_empty() {
            return self;
        }
        let sum = self.mean * self.len() as f64 + seen.iter().sum::<f64>();
        let mut all: Vec<(f64, usize)> = self.as_seen().steps().chain(seen.iter().map(|seen| (*seen, 1))).collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let as_seen = Sample::from_steps(all);
        Sample {
            mean: sum / as_seen.len() as f64,
            unfinished: self.unfinished + seen.len(),
            as_seen: as_seen.steps,
            ..self
        }
    }

    /// The same with unfinished values as if they had ended when they were last seen: the shortest that all values can be.
    pub fn as_seen(&self) -> Sample {
        let steps = if self.unfinished > 0 { &self.as_seen } else { &self.steps };
        Sample { steps: steps.clone(), mean: self.mean, unfinished: 0, as_seen: Vec::new() }
    }

    /// All values of several samples.
    pub fn pooled(samples: &[Sample]) -> Sample {
        if let [one] = samples {
            return one.clone();
        }
        let joined = |mut steps: Vec<(f64, usize)>| {
            steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            Sample::from_steps(steps).steps
        };
        // Means are exact where values are counted in buckets.
        let sum: f64 = samples.iter().map(|sample| sample.mean * sample.len() as f64).sum();
        let unfinished = samples.iter().map(|sample| sample.unfinished).sum();
        let as_seen = samples.iter().filter(|_| unfinished > 0).map(Sample::as_seen);
        let mut pooled = Sample {
            steps: joined(samples.iter().flat_map(Sample::steps).collect()),
            mean: 0.0,
            unfinished,
            as_seen: joined(as_seen.flat_map(|sample| sample.steps().collect::<Vec<_>>()).collect()),
        };
        pooled.mean = if pooled.is_empty() { 0.0 } else { sum / pooled.len() as f64 };
        pooled
    }

    /// The values, ascending, each with how many of it there are; without unfinished ones.
    pub fn steps(&self) -> impl Iterator<Item = (f64, usize)> + Clone + '_ {
        let before = std::iter::once(0).chain(self.steps.iter().map(|step| step.up_to));
        self.steps.iter().zip(before).map(|(step, before)| (step.value, step.up_to - before))
    }

    /// How many there are, unfinished ones among them.
    pub fn len(&self) -> usize {
        self.finished() + self.unfinished
    }

    /// How many are known.
    pub(super) fn finished(&self) -> usize {
        self.steps.last().map_or(0, |last| last.up_to)
    }

    /// How many are unfinished.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `#{x_i <= x}`.
    pub fn count_up_to(&self, x: f64) -> usize {
        let steps = self.steps.partition_point(|step| step.value <= x);
        steps.checked_sub(1).map_or(0, |last| self.steps[last].up_to)
    }

    /// The value of this rank, from 1 on, with unfinished values as longer than any.
    fn ranked(&self, rank: usize) -> Option<f64> {
        ranked(&self.steps, rank)
    }

    /// F(x) = #{x_i <= x} / n; `None` of an empty sample.
    pub fn cdf(&self, x: f64) -> Option<f64> {
        (!self.is_empty()).then(|| self.count_up_to(x) as f64 / self.len() as f64)
    }

    /// #{x_i > x} / n, which is 0 at the largest value; `None` of an empty sample.
    pub fn ccdf(&self, x: f64) -> Option<f64> {
        (!self.is_empty()).then(|| (self.len() - self.count_up_to(x)) as f64 / self.len() as f64)
    }

    /// Inverse-CDF quantile: the smallest `x_(k)` with `k >= n p`, `k >= 1`. `None` of an empty sample.
    ///
    /// `None` also where it depends on how long unfinished values last: see [`Self::quantile_or_bound`].
    ///
    /// `n p` is rounded to the nearest integer when it is one up to floating-point error, so that the 0.1 quantile
    /// of ten values is the first and not the second.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        match self.quantile_or_bound(p)? {
            Quantile::Is(value) => Some(value),
            Quantile::Above(_) => None,
        }
    }

    /// [`Self::quantile`], or what it is at least, however long unfinished values last. `None` of an empty sample.
    ///
    /// Where every unfinished value was seen to last as long as the quantile it makes no difference how long it is.
    pub fn quantile_or_bound(&self, p: f64) -> Option<Quantile> {
        let rank = self.len() as f64 * p.clamp(0.0, 1.0);
        let nearest = rank.round();
        let rank = if (rank - nearest).abs() <= 1e-9 * rank.max(1.0) { nearest } else { rank.ceil() };
        let rank = (rank as usize).max(1);
        let longest = self.ranked(rank);
        if self.unfinished == 0 {
            return longest.map(Quantile::Is);
        }
        let shortest = ranked(&self.as_seen, rank)?;
        let is_known = longest.is_some_and(|longest| longest - shortest <= KNOWN_WITHIN * shortest.abs());
        Some(if is_known { Quantile::Is(shortest) } else { Quantile::Above(shortest) })
    }

    /// Quantile interpolated linearly between order statistics (Hyndman and Fan's type 7). `None` of an empty sample.
    pub fn quantile_type7(&self, p: f64) -> Option<f64> {
        let position = self.len().checked_sub(1)? as f64 * p.clamp(0.0, 1.0);
        let below = position.floor() as usize;
        let low = self.ranked(below + 1)?;
        let high = self.ranked(below + 2).unwrap_or(low);
        Some(low + (high - low) * (position - below as f64))
    }

    /// Sum divided by n; `None` of an empty sample. With unfinished values the least that it can be.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.mean)
    }

    /// Standard deviation with n - 1; `None` of fewer than two values, and of unfinished ones.
    pub fn standard_deviation(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.len() > 1 && self.unfinished == 0)?;
        let squares: f64 = self.steps().map(|(value, count)| (value - mean) * (value - mean) * count as f64).sum();
        Some((squares / (self.len() - 1) as f64).sqrt())
    }

    /// Standard deviation / mean; `None` of fewer than two values or a mean of zero.
    pub fn coefficient_of_variation(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean != 0.0)?;
        Some(self.standard_deviation()? / mean)
    }

    /// The smallest value.
    pub fn min(&self) -> Option<f64> {
        self.steps.first().map(|step| step.value)
    }

    /// The largest value that is known.
    pub fn max(&self) -> Option<f64> {
        self.steps.last().map(|step| step.value)
    }
}

/// The value of this rank, from 1 on.
fn ranked(steps: &[Step], rank: usize) -> Option<f64> {
    steps.get(steps.partition_point(|step| step.up_to < rank)).map(|step| step.value)
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Sample {
        Sample::new(values)
    }
}

/// Of whole numbers that were counted in bounded memory: number, mean and extremes are exact, the others at most 0.05 % low where
/// there are more than the sketch keeps apart.
impl From<&Empirical> for Sample {
    fn from(counted: &Empirical) -> Sample {
        let mut steps: Vec<(f64, usize)> =
            counted.steps().iter().map(|step| (step.value as f64, step.count as usize)).collect();
        // The largest is in the last bucket, which is called by its smallest.
        if let (Some((last, count)), Some(largest)) = (steps.last_mut(), counted.max().map(|largest| largest as f64))
            && *last < largest
        {
            *count -= 1;
            if *count == 0 {
                steps.pop();
            }
            steps.push((largest, 1));
        }
        let sample = Sample::from_steps(steps);
        Sample { mean: counted.mean().unwrap_or(sample.mean), ..sample }
    }
}

/// The distribution functions of two samples at each value of either: (value, how many of `f` are at most that, how many of `g`).
pub(super) fn beside<'a>(f: &'a Sample, g: &'a Sample) -> impl Iterator<Item = (f64, usize, usize)> + 'a {
    let (mut f, mut g) = (f.steps.iter().peekable(), g.steps.iter().peekable());
    let (mut of_f, mut of_g) = (0, 0);
    std::iter::from_fn(move || {
        let value = match (f.peek(), g.peek()) {
            (Some(a), Some(b)) => a.value.min(b.value),
            (Some(one), None) | (None, Some(one)) => one.value,
            (None, None) => return None,
        };
        of_f = f.next_if(|step| step.value == value).map_or(of_f, |step| step.up_to);
        of_g = g.next_if(|step| step.value == value).map_or(of_g, |step| step.up_to);
        Some((value, of_f, of_g))
    })
}

#[cfg(test)]
mod tests {
    use super::super::vectors::assert_near;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_methods_c7() {
        let sample = Sample::new([9.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 5.0, 6.0, 1.0]);
        for (p, expected) in [(0.1, 1.0), (0.25, 2.0), (0.5, 3.0), (0.9, 6.0), (0.0, 1.0), (1.0, 9.0)] {
            assert_eq!(sample.quantile(p), Some(expected), "q({p})");
        }
        assert_eq!(sample.cdf(3.0), Some(0.5));
        assert_eq!(sample.ccdf(9.0), Some(0.0), "the largest point has CCDF 0");
        assert_eq!(sample.cdf(0.5), Some(0.0));
    }

    #[test]
    fn type_7_interpolates() {
        let sample = Sample::new([1.0, 2.0, 4.0, 8.0]);
        assert_eq!(sample.quantile_type7(0.5), Some(3.0));
        assert_eq!(sample.quantile_type7(1.0), Some(8.0));
        assert_near(sample.quantile_type7(0.9).unwrap(), 6.8, 1e-12);
        assert_eq!(sample.quantile(0.5), Some(2.0), "the other definition");
    }

    #[test]
    fn coefficients_of_variation_of_methods_c6() {
        // Samples made to have the published means and deviations: m +- s/sqrt(2) has mean m and deviation s.
        for (mean, deviation, expected) in [(48.8, 5.6, 0.1148), (60.2, 3.8, 0.0631)] {
            let half = deviation / f64::sqrt(2.0);
            let sample = Sample::new([mean - half, mean + half]);
            assert_near(sample.mean().unwrap(), mean, 1e-12);
            assert_near(sample.standard_deviation().unwrap(), deviation, 1e-12);
            assert_near(sample.coefficient_of_variation().unwrap(), expected, 5e-5);
        }
    }

    #[test]
    fn pooled_is_all_of_them() {
        let pooled = Sample::pooled(&[Sample::new([3.0, 1.0]), Sample::default(), Sample::new([2.0, 3.0, 6.0])]);
        assert_eq!(pooled, Sample::new([1.0, 2.0, 3.0, 3.0, 6.0]));
        assert!(Sample::pooled(&[]).is_empty());
    }

    #[test]
    fn unfinished_values_are_at_least_as_long_as_seen() {
        let sample = Sample::new((1..=8).map(f64::from)).with_unfinished(&[20.0, 3.5]);
        assert_eq!((sample.len(), sample.unfinished(), sample.max()), (10, 2, Some(8.0)));
        let of = |p| sample.quantile_or_bound(p);
        assert_eq!(of(0.3), Some(Quantile::Is(3.0)), "both lasted longer than that");
        assert_eq!(of(0.4), Some(Quantile::Above(3.5)), "3.5 if that one ended then, 4 if it lasted");
        assert_eq!(of(0.5), Some(Quantile::Above(4.0)), "1, 2, 3, 3.5 and 4");
        assert_eq!((of(0.9), of(1.0)), (Some(Quantile::Above(8.0)), Some(Quantile::Above(20.0))));
        assert_eq!((sample.quantile(0.3), sample.quantile(0.5)), (Some(3.0), None));
        assert_eq!((sample.ccdf(8.0), sample.ccdf(7.0)), (Some(0.2), Some(0.3)));
        assert_eq!(sample.mean(), Some(5.95), "(36 + 20 + 3.5) / 10: the least it can be");
        let pooled = Sample::pooled(&[sample.clone(), Sample::new([8.0]).with_unfinished(&[3.0])]);
        assert_eq!((pooled.len(), pooled.unfinished()), (12, 3));
        assert_eq!(pooled.quantile_or_bound(1.0), Some(Quantile::Above(20.0)));
        assert_eq!(pooled.quantile_or_bound(0.5), Some(Quantile::Above(4.0)), "1, 2, 3, 3, 3.5 and 4");
        let none = Sample::default().with_unfinished(&[2.0]);
        assert_eq!((none.is_empty(), none.quantile_or_bound(0.5)), (false, Some(Quantile::Above(2.0))));
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let empty = Sample::default();
        assert_eq!(empty.quantile(0.5), None);
        assert_eq!(empty.quantile_type7(0.5), None);
        assert_eq!(empty.mean(), None);
        assert_eq!(empty.cdf(1.0), None);
        assert_eq!(Sample::new([1.0]).standard_deviation(), None);
        assert_eq!(Sample::new([0.0, 0.0]).coefficient_of_variation(), None);
    }

    proptest! {
        /// However long the unfinished values are: the quantile of what they come to keeps the bound.
        #[test]
        fn a_bound_holds_whatever_follows(
            values in proptest::collection::vec(1u32..50, 0..30),
            cut in proptest::collection::vec((1u32..50, 0u32..50), 1..30),
            p in 0.01f64..1.0,
        ) {
            let known = || values.iter().map(|&value| f64::from(value));
            let seen: Vec<f64> = cut.iter().map(|(seen, _)| f64::from(*seen)).collect();
            let at_end: Sample = known().chain(cut.iter().map(|(seen, more)| f64::from(seen + more))).collect();
            let sample = Sample::new(known()).with_unfinished(&seen);
            match sample.quantile_or_bound(p).unwrap() {
                Quantile::Is(value) => prop_assert_eq!(Some(value), at_end.quantile(p)),
                Quantile::Above(least) => prop_assert!(least <= at_end.quantile(p).unwrap()),
            }
            let pooled = Sample::pooled(&[Sample::new(known()), Sample::default().with_unfinished(&seen)]);
            prop_assert_eq!(pooled.quantile_or_bound(p), sample.quantile_or_bound(p));
        }

        #[test]
        fn quantile_is_the_smallest_value_whose_cdf_reaches_p(
            values in proptest::collection::vec(0u32..50, 1..60), p in 0.01f64..1.0,
        ) {
            let sample: Sample = values.iter().map(|&value| f64::from(value)).collect();
            let q = sample.quantile(p).unwrap();
            prop_assert!(sample.cdf(q).unwrap() >= p - 1e-9);
            let before = sample.steps().take_while(|&(value, _)| value < q).map(|(_, count)| count).sum::<usize>() as f64;
            let before = before / sample.len() as f64;
            prop_assert!(before < p + 1e-9);
        }
    }
}
