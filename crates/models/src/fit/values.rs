//! What laws are fitted to: values, each with how often it was seen.

/// Finite values that are not negative, ascending, each with how often it was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    steps: Vec<(f64, u64)>,
    count: u64,
}

impl Values {
    /// These, in any order; what is negative or not finite is left out.
    pub fn new(values: impl IntoIterator<Item = (f64, u64)>) -> Values {
        let mut steps: Vec<(f64, u64)> =
            values.into_iter().filter(|(value, count)| value.is_finite() && *value >= 0.0 && *count > 0).collect();
        steps.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        steps.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        Values { count: steps.iter().map(|step| step.1).sum(), steps }
    }

    /// (value, how often), ascending.
    pub fn steps(&self) -> &[(f64, u64)] {
        &self.steps
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many are zero.
    pub fn zeros(&self) -> u64 {
        self.steps.first().filter(|step| step.0 == 0.0).map_or(0, |step| step.1)
    }

    /// Those above zero.
    pub fn positive(&self) -> Values {
        Values::new(self.steps.iter().copied().filter(|step| step.0 > 0.0))
    }

    /// The smallest; `None` without values.
    pub fn min(&self) -> Option<f64> {
        self.steps.first().map(|step| step.0)
    }

    /// The largest; `None` without values.
    pub fn max(&self) -> Option<f64> {
        self.steps.last().map(|step| step.0)
    }

    /// The mean of `f` of the values; not a number without any.
    pub fn mean_of(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.steps.iter().map(|&(value, count)| f(value) * count as f64).sum::<f64>() / self.count as f64
    }

    /// The smallest value that a share `p` does not exceed (methods C.7); `None` without values.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let rank = (self.count as f64 * p.clamp(0.0, 1.0) - 1e-9 * self.count as f64).max(0.0);
        let mut passed = 0;
        let found = self.steps.iter().find(|(_, count)| {
            passed += count;
            passed as f64 >= rank.max(1.0)
        });
        found.or(self.steps.last()).map(|step| step.0)
    }
}

impl FromIterator<f64> for Values {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Values {
        Values::new(values.into_iter().map(|value| (value, 1)))
    }
}

#[cfg(test)]
pub(super) mod vectors {
    use super::Values;

    /// The grid sample of methods E.1: x_i = x_m (1 - (i - 0.5) / n)^(-1/alpha).
    pub fn grid() -> Values {
        (1..=1_000).map(|i| 1_000.0 * libm::pow(1.0 - (f64::from(i) - 0.5) / 1e3, -1.0 / 1.23)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_step() {
        let values = Values::new([(3.0, 2), (0.0, 1), (1.0, 1), (3.0, 1), (f64::NAN, 5), (-1.0, 2)]);
        assert_eq!(values.steps(), [(0.0, 1), (1.0, 1), (3.0, 3)]);
        assert_eq!((values.count(), values.zeros(), values.positive().count()), (5, 1, 4));
        assert_eq!(
            (values.quantile(0.2), values.quantile(0.4), values.quantile(0.41)),
            (Some(0.0), Some(1.0), Some(3.0))
        );
        assert_eq!(values.mean_of(|value| value), 2.0);
        assert_eq!(Values::default().quantile(0.5), None);
    }
}
