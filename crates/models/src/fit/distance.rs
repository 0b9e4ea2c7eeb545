//! How far a law is from values.

use flowloom_core::distribution::Distribution;

use super::values::Values;

/// The Kolmogorov-Smirnov distance: the largest difference of the distribution functions, at values and just before them.
pub fn kolmogorov_smirnov(values: &Values, law: &Distribution) -> f64 {
    let n = values.count() as f64;
    let (mut before, mut largest) = (0u64, 0.0f64);
    for &(value, count) in values.steps() {
        let up_to = before + count;
        largest = largest.max((before as f64 / n - law.cdf(value.next_down())).abs());
        largest = largest.max((up_to as f64 / n - law.cdf(value)).abs());
        before = up_to;
    }
    largest
}

/// The largest Kolmogorov-Smirnov distance at which a law that was fitted to `n` values describes them (methods E.7): 0.05, or what chance
/// gives fewer than 484 values.
///
/// Values of an exponential law are 1.094 / sqrt(n) or less from the one that was fitted to them in 95 % of cases; those of laws with more
/// parameters are nearer (Lilliefors 1967, 1969).
pub fn largest_distance(n: u64) -> f64 {
    (1.1 / libm::sqrt(n as f64)).max(0.05)
}

/// Anderson and Darling's A^2, which weights both tails: n times the integral of (F_n - F)^2 / (F (1 - F)) dF. `None` where the
/// law calls a value impossible, as one whose smallest or largest value was taken from the sample does. For
/// continuous laws.
pub fn anderson_darling(values: &Values, law: &Distribution) -> Option<f64> {
    let n = values.count() as f64;
    // While F_n is c the integral is c^2 ln F - (1 - c)^2 ln(1 - F) - F between the ends.
    let at = |c: f64, (below, above): (f64, f64)| {
        let term = |weight: f64, share: f64| if weight == 0.0 { 0.0 } else { weight * libm::log(share) };
        term(c * c, below) - term((1.0 - c) * (1.0 - c), above) - below
    };
    let (mut sum, mut before, mut from) = (0.0, 0u64, (0.0, 1.0));
    for &(value, count) in values.steps() {
        let (c, to) = (before as f64 / n, (law.cdf(value), law.ccdf(value)));
        sum += at(c, to) - at(c, from);
        before += count;
        from = to;
    }
    sum += at(1.0, (1.0, 0.0)) - at(1.0, from);
    let statistic = n * sum;
    statistic.is_finite().then_some(statistic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::distribution::Law;

    fn uniform() -> Distribution {
        Distribution::new(Law::Uniform { min: 0.0, max: 1.0 }).unwrap()
    }

    #[test]
    fn distances_to_the_uniform_law_by_hand() {
        let values: Values = [0.1, 0.4, 0.7].into_iter().collect();
        // F_n - F: 1/3 - 0.1, 2/3 - 0.4, 1 - 0.7.
        assert!((kolmogorov_smirnov(&values, &uniform()) - 0.3).abs() < 1e-12);
        // -n - 1/n sum (2 i - 1) (ln u_i + ln(1 - u_(n + 1 - i))).
        let u: [f64; 3] = [0.1, 0.4, 0.7];
        let sum: f64 = (0..3).map(|i| (2.0 * i as f64 + 1.0) * (u[i].ln() + (1.0 - u[2 - i]).ln())).sum();
        assert!((anderson_darling(&values, &uniform()).unwrap() - (-3.0 - sum / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn ties_count_as_often_as_they_were_seen() {
        let tied = Values::new([(0.5, 2), (0.9, 2)]);
        assert!((kolmogorov_smirnov(&tied, &uniform()) - 0.5).abs() < 1e-12, "just before 0.5 nothing was seen");
        let once = Values::new([(0.5, 1), (0.9, 1)]);
        let [two, one] = [&tied, &once].map(|values| anderson_darling(values, &uniform()).unwrap());
        assert!((two / one - 2.0).abs() < 1e-12);
        // A value beyond the law.
        assert_eq!(anderson_darling(&[0.5, 1.5].into_iter().collect(), &uniform()), None);
    }
}
