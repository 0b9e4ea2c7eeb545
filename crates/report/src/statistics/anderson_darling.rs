//! The two-sample Anderson-Darling statistic (methods L.2).

use super::sample::{Sample, beside};

/// The midrank form, which holds with ties (Scholz and Stephens 1987).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AndersonDarling {
    /// A2, equation 7.
    pub statistic: f64,
    /// (A2 - 1) / sigma_N; `None` of fewer than four values in all.
    pub normalised: Option<f64>,
}

/// `1/(nm) sum_{i=1..N-1} (M_i N - n i)^2 / (i (N - i))`, `M_i` the number of `f`'s points among the `i` smallest of
/// all. For samples without ties only. `None` if a sample is empty.
pub fn anderson_darling_without_ties(f: &Sample, g: &Sample) -> Option<f64> {
    if f.is_empty() || g.is_empty() {
        return None;
    }
    let (n, m) = (f.len(), g.len());
    let total = n + m;
    let mut sum = 0.0;
    for (_, first, second) in beside(f, g) {
        let i = first + second;
        if i < total {
            let excess = first as f64 * total as f64 - n as f64 * i as f64;
            sum += excess * excess / (i as f64 * (total - i) as f64);
        }
    }
    Some(sum / (n as f64 * m as f64))
}

/// The midrank form and its normalisation. `None` if a sample is empty or has unfinished values, or if all values are equal.
pub fn anderson_darling(f: &Sample, g: &Sample) -> Option<AndersonDarling> {
    if f.is_empty() || g.is_empty() || f.unfinished() + g.unfinished() > 0 {
        return None;
    }
    let (n, m) = (f.len() as f64, g.len() as f64);
    let total = n + m;
    let (mut below_f, mut below_g) = (0, 0);
    let (mut sum, mut values) = (0.0, 0);
    for (_, up_to_f, up_to_g) in beside(f, g) {
        let (ties_f, ties_g) = (up_to_f - below_f, up_to_g - below_g);
        let ties = (ties_f + ties_g) as f64;
        // Values below, with half of those equal.
        let rank_f = below_f as f64 + ties_f as f64 / 2.0;
        let rank_g = below_g as f64 + ties_g as f64 / 2.0;
        let rank = rank_f + rank_g;
        let weight = rank * (total - rank) - total * ties / 4.0;
        if weight > 0.0 {
            let excess_f = total * rank_f - n * rank;
            let excess_g = total * rank_g - m * rank;
            sum += ties / total * (excess_f * excess_f / n + excess_g * excess_g / m) / weight;
        }
        (below_f, below_g) = (up_to_f, up_to_g);
        values += 1;
    }
    let statistic = (total - 1.0) / total * sum;
    (values > 1).then(|| AndersonDarling { statistic, normalised: normalise(statistic, f.len(), g.len()) })
}

/// (A2 - (k - 1)) / sigma_N for k = 2, with sigma_N of Scholz and Stephens' equation 4.
fn normalise(statistic: f64, n: usize, m: usize) -> Option<f64> {
    let total = n + m;
    if total < 4 {
        return None;
    }
    let size = total as f64;
    let inverse_sizes = 1.0 / n as f64 + 1.0 / m as f64;
    let harmonic: f64 = (1..total).map(|i| 1.0 / i as f64).sum();
    // g = sum_{i=1..N-2} sum_{j=i+1..N-1} 1 / ((N - i) j), with the inner sum carried from i = N - 2 down.
    let mut inner = 0.0;
    let mut g = 0.0;
    for i in (1..total - 1).rev() {
        inner += 1.0 / (i + 1) as f64;
        g += inner / (total - i) as f64;
    }
    const K: f64 = 2.0;
    let a = (4.0 * g - 6.0) * (K - 1.0) + (10.0 - 6.0 * g) * inverse_sizes;
    let b = (2.0 * g - 4.0) * K * K + 8.0 * harmonic * K + (2.0 * g - 14.0 * harmonic - 4.0) * inverse_sizes
        - 8.0 * harmonic
        + 4.0 * g
        - 6.0;
    let c = (6.0 * harmonic + 2.0 * g - 2.0) * K * K
        + (4.0 * harmonic - 4.0 * g + 6.0) * K
        + (2.0 * harmonic - 6.0) * inverse_sizes
        + 4.0 * harmonic;
    let d = (2.0 * harmonic + 6.0) * K * K - 4.0 * harmonic * K;
    let variance =
        (a * size * size * size + b * size * size + c * size + d) / ((size - 1.0) * (size - 2.0) * (size - 3.0));
    Some((statistic - (K - 1.0)) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{assert_near, x, y};
    use super::*;

    #[test]
    fn statistics_of_methods_l2() {
        assert_near(anderson_darling_without_ties(&x(), &y()).unwrap(), 0.302_611_261_3, 3e-7);
        let midrank = anderson_darling(&x(), &y()).unwrap();
        assert_near(midrank.statistic, 0.267_331_538_7, 1e-9);
        assert_near(midrank.normalised.unwrap(), -1.052_372_8, 1e-6);
    }

    #[test]
    fn order_of_the_samples_does_not_matter() {
        let (forward, back) = (anderson_darling(&x(), &y()).unwrap(), anderson_darling(&y(), &x()).unwrap());
        assert_near(forward.statistic, back.statistic, 1e-12);
    }

    #[test]
    fn undefined_without_two_different_values() {
        assert_eq!(anderson_darling(&x(), &Sample::default()), None);
        assert_eq!(anderson_darling(&Sample::new([1.0; 3]), &Sample::new([1.0; 4])), None);
    }
}
