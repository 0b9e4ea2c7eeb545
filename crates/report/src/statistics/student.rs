//! Intervals of means and of differences of means over replications (methods G.7, L.3): Student's t, paired, and Welch's.

use flowloom_models::special::{student_above, student_quantile};

use super::interval::Interval;

/// A mean, or a difference of two, with what its interval is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom of Student's law, which `(value - truth) / standard_error` has.
    pub degrees: f64,
}

/// Mean and variance (with n - 1) of at least two values.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| (mean, squares / (n - 1.0)))
}

impl Estimate {
    /// The mean of independent values; `None` of fewer than two.
    pub fn of_mean(values: &[f64]) -> Option<Estimate> {
        let (value, variance) = moments(values)?;
        let n = values.len() as f64;
        Some(Estimate { value, standard_error: (variance / n).sqrt(), degrees: n - 1.0 })
    }

    /// The mean of `b - a` over pairs that share their randomness (methods L.5); `None` of fewer than two pairs, or of two lists of which
    /// one is longer.
    pub fn paired(a: &[f64], b: &[f64]) -> Option<Estimate> {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        Estimate::of_mean(&differences).filter(|_| a.len() == b.len())
    }

    /// mean(b) - mean(a) of independent values with different variances, by Welch's approximate degrees of freedom; `None` of fewer than
    /// two on a side.
    pub fn welch(a: &[f64], b: &[f64]) -> Option<Estimate> {
        Some(Estimate::of_mean(a)?.to(Estimate::of_mean(b)?))
    }

    /// `other` less this, of estimates that have nothing in common: their degrees of freedom are Welch's and Satterthwaite's.
    pub(super) fn to(self, other: Estimate) -> Estimate {
        let (of_self, of_other) = (self.standard_error.powi(2), other.standard_error.powi(2));
        let square = of_self + of_other;
        let degrees = square * square / (of_self * of_self / self.degrees + of_other * of_other / other.degrees);
        // Without any spread there is no spread of it either.
        let degrees = if square > 0.0 { degrees } else { self.degrees + other.degrees };
        Estimate { value: other.value - self.value, standard_error: square.sqrt(), degrees }
    }

    /// The interval that covers the truth with probability `confidence`.
    pub fn interval(&self, confidence: f64) -> Interval {
        let half = student_quantile(f64::midpoint(1.0, confidence), self.degrees) * self.standard_error;
        Interval { low: self.value - half, high: self.value + half }
    }

    /// The same of what cannot be negative (times, counts, rates, shares): cut at zero, below which no truth lies, so that it covers as
    /// many (methods L.3).
    pub fn interval_from_zero(&self, confidence: f64) -> Interval {
        let Interval { low, high } = self.interval(confidence);
        Interval { low: low.max(0.0), high }
    }

    /// The probability of an estimate at least as far from zero if the truth is zero.
    pub fn p_value(&self) -> f64 {
        match (self.value == 0.0, self.standard_error == 0.0) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => 2.0 * student_above((self.value / self.standard_error).abs(), self.degrees),
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::super::vectors::assert_near;
    use super::*;

    const A: [f64; 5] = [10.2, 11.5, 9.8, 12.1, 10.9];
    const B: [f64; 5] = [11.0, 12.6, 10.4, 13.1, 11.6];

    #[test]
    fn interval_of_methods_g7() {
        let mean = Estimate::of_mean(&A).unwrap();
        assert_near(mean.value, 10.9, 1e-12);
        assert_near(mean.standard_error * 5.0_f64.sqrt(), 0.935_414_3, 5e-8);
        let interval = mean.interval(0.95);
        assert_near(interval.low, 9.738_529_7, 5e-8);
        assert_near(interval.high, 12.061_470_3, 5e-8);
        // The quantiles themselves are tested where they are computed.
        assert_near(student_quantile(0.975, 9.0), 2.262_157, 5e-7);
    }

    /// Seven in ten of these draws are zero: the interval of the mean of ten often reaches below.
    #[test]
    fn an_interval_cut_at_zero_covers_as_often() {
        let mut stream = Stream::new(1, Purpose::Durations, 0);
        let (mut cut, mut whole, mut covered) = (0, 0, 0);
        for _ in 0..2_000 {
            let values: Vec<f64> =
                (0..10).map(|_| if stream.uniform() < 0.3 { stream.exponential(1.0) } else { 0.0 }).collect();
            let estimate = Estimate::of_mean(&values).unwrap();
            let (plain, from_zero) = (estimate.interval(0.95), estimate.interval_from_zero(0.95));
            assert!(from_zero.low >= 0.0 && from_zero.high == plain.high && from_zero.low >= plain.low);
            cut += u32::from(from_zero != plain);
            whole += u32::from(plain.holds(0.3));
            covered += u32::from(from_zero.holds(0.3));
        }
        assert!(cut > 500, "{cut}");
        assert_eq!(covered, whole);
    }

    #[test]
    fn intervals_of_methods_l3() {
        let paired = Estimate::paired(&A, &B).unwrap();
        assert_near(paired.value, 0.84, 1e-12);
        assert_near(paired.standard_error * 5.0_f64.sqrt(), 0.207_364_413_5, 1e-10);
        let interval = paired.interval(0.95);
        assert_near(interval.low, 0.582_523_073_2, 1e-10);
        assert_near(interval.high, 1.097_476_926_8, 1e-10);

        let welch = Estimate::welch(&A, &B).unwrap();
        assert_near(welch.degrees, 7.770_663_9, 5e-8);
        let interval = welch.interval(0.95);
        assert_near(interval.low, -0.666_816_083_4, 1e-10);
        assert_near(interval.high, 2.346_816_083_4, 1e-10);
        // What pairing is worth: the variance of the difference is 2.035 % of that of independent runs.
        let worth = (paired.standard_error / welch.standard_error).powi(2);
        assert_near(worth, 0.020_35, 5e-6);
    }

    #[test]
    fn an_interval_ends_at_zero_where_p_is_what_it_leaves_out() {
        let welch = Estimate::welch(&A, &B).unwrap();
        let p = welch.p_value();
        assert!(p > 0.05, "the interval holds zero");
        assert_near(welch.interval(1.0 - p).low, 0.0, 1e-9);
    }

    #[test]
    fn without_spread_any_difference_is_certain() {
        let equal = Estimate::welch(&[1.0; 3], &[1.0; 4]).unwrap();
        assert_eq!((equal.p_value(), equal.interval(0.95)), (1.0, Interval { low: 0.0, high: 0.0 }));
        assert_eq!(Estimate::paired(&[1.0, 2.0], &[2.0, 3.0]).unwrap().p_value(), 0.0);
        assert_eq!(Estimate::welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(Estimate::paired(&[1.0, 2.0], &[1.0, 2.0, 3.0]), None);
    }
}
