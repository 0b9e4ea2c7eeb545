//! Which of several variants is best: multiple comparisons with the best, over replications that share their randomness.
//!
//! A variant is *out* once another is shown to be better; those that remain hold the best one with the probability asked for. A variant
//! is *best* if all others are shown to be at most the margin better: the margin is the zone within which nobody minds which is chosen
//! (indifference zone). It is *strictly* best if it is shown to be better than each of the others. The first two compare the other variants with the one that is truly the best, so that `k - 1` one-sided intervals share the
//! probability of an error (Bonferroni); differences are taken replication by replication, so that common random numbers make them
//! narrow and need not be independent (Hsu 1984 with paired intervals; Nelson and Matejcik 1995 for common random numbers). Values are
//! compared by their ratios: a margin of 5 % is 5 % of whatever the value is, and logarithms of skewed values are less skewed.

use flowloom_models::special::student_quantile;

use super::student::Estimate;

/// What can be said of several variants, of which the least value is the best.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Those that may be the best, with the probability asked for.
    pub candidates: Vec<usize>,
    /// The one that is best, or within the margin of the best; of several such ones that with the least mean.
    pub best: Option<usize>,
    /// Whether it is shown to be better than every other, by whatever little.
    pub is_strict: bool,
    /// Whether all of them are shown to be within the margin of each other.
    pub all_alike: bool,
}

/// Selects among variants, each a list of logarithms of values in one order of replications: within `margin`, a difference of
/// logarithms, with probability `1 - alpha` of no error. Of variants for which `are_bounds` holds the values are only lower bounds: such a
/// one is never the best and rules no other out, but may be ruled out itself. `None` with fewer than two variants, or than two
/// replications of one, or lists of different lengths.
pub fn select(variants: &[Vec<f64>], are_bounds: &[bool], margin: f64, alpha: f64) -> Option<Selection> {
    let k = variants.len();
    if k < 2 {
        return None;
    }
    let others = |a: usize| (0..k).filter(move |b| *b != a);
    let shared = alpha / (k - 1) as f64;
    // By how much the second is above the first, at least: with probability 1 - shared not more than the truth.
    let mut above = vec![vec![0.0; k]; k];
    let degrees = variants[0].len().checked_sub(1)? as f64;
    let errors = student_quantile(1.0 - shared, degrees);
    // Where variants are equal, each of them may be called the better one by mistake: they share the probability.
    let strict_errors = student_quantile(1.0 - alpha / k as f64, degrees);
    let mut beats = vec![vec![false; k]; k];
    for (a, b) in (0..k).flat_map(|a| others(a).map(move |b| (a, b))) {
        let found = Estimate::paired(&variants[a], &variants[b])?;
        above[a][b] = found.value - errors * found.standard_error;
        beats[a][b] = found.value - strict_errors * found.standard_error > 0.0;
    }
    // Where all are said to be alike and one is worse by more than the margin, its comparison with the best one is wrong, which the
    // probability of the others has in it already.
    let alike = (0..k).all(|a| others(a).all(|b| above[a][b] > -margin));
    let exact = |a: &usize| !are_bounds.get(*a).copied().unwrap_or(false);
    let candidates = (0..k).filter(|a| others(*a).filter(exact).all(|b| above[b][*a] <= 0.0)).collect();
    let mean = |a: usize| variants[a].iter().sum::<f64>() / variants[a].len() as f64;
    let shown = (0..k).filter(exact).filter(|a| others(*a).all(|b| above[*a][b] > -margin));
    let best = shown.min_by(|a, b| mean(*a).total_cmp(&mean(*b)));
    let is_strict = best.is_some_and(|best| others(best).all(|other| beats[best][other]));
    Some(Selection { candidates, best, is_strict, all_alike: alike && (0..k).all(|a| exact(&a)) })
}

impl Estimate {
    /// What the truth is not below, with probability `1 - alpha`.
    pub fn least(&self, alpha: f64) -> f64 {
        self.value - student_quantile(1.0 - alpha, self.degrees) * self.standard_error
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::*;

    /// Values of `n` replications around each of `means`, half of whose spread is common.
    fn draws(seed: u64, means: &[f64], n: usize) -> Vec<Vec<f64>> {
        let mut stream = Stream::new(seed, Purpose::Durations, 0);
        let mut normal = || (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
        let common: Vec<f64> = (0..n).map(|_| normal()).collect();
        means.iter().map(|mean| common.iter().map(|common| mean + 0.05 * (common + normal())).collect()).collect()
    }

    #[test]
    fn a_clear_best_is_found_and_the_others_are_out() {
        let found = select(&draws(1, &[0.0, -0.5, 0.4], 10), &[], 0.05, 0.05).unwrap();
        assert_eq!(found, Selection { candidates: vec![1], best: Some(1), is_strict: true, all_alike: false });
    }

    #[test]
    fn variants_within_the_margin_are_alike_once_it_is_shown() {
        let found = select(&draws(2, &[0.0, 0.0], 100), &[], 0.05, 0.05).unwrap();
        assert!(found.all_alike && found.best.is_some(), "{found:?}");
        let few = select(&draws(2, &[0.0, 0.0], 3), &[], 0.05, 0.05).unwrap();
        assert!(!few.all_alike && few.best.is_none() && few.candidates.len() == 2, "{few:?}");
    }

    /// The least of a list is not the best for that: of equal variants none is.
    #[test]
    fn chance_names_no_best() {
        let wrong = (0..1_000)
            .filter(|seed| select(&draws(*seed, &[0.0, 0.0, 0.0, 0.0], 10), &[], 0.05, 0.05).unwrap().is_strict)
            .count();
        assert!(wrong <= 64, "{wrong} of 1,000");
    }

    #[test]
    fn the_best_stays_a_candidate() {
        let lost = (0..1_000)
            .filter(|seed| {
                !select(&draws(*seed, &[0.0, 0.02, 0.02, 0.05], 8), &[], 0.0, 0.05).unwrap().candidates.contains(&0)
            })
            .count();
        assert!(lost <= 64, "{lost} of 1,000");
    }

    #[test]
    fn lower_bounds_are_never_the_best() {
        let values = draws(3, &[0.0, -0.5, 0.4], 10);
        let found = select(&values, &[false, true, false], 0.05, 0.05).unwrap();
        assert_eq!(found, Selection { candidates: vec![0, 1], best: None, is_strict: false, all_alike: false });
        let found = select(&values, &[false, false, true], 0.05, 0.05).unwrap();
        assert_eq!(found, Selection { candidates: vec![1], best: Some(1), is_strict: true, all_alike: false });
    }

    #[test]
    fn too_little_is_no_selection() {
        assert_eq!(select(&[vec![1.0, 2.0]], &[], 0.1, 0.05), None);
        assert_eq!(select(&[vec![1.0], vec![2.0]], &[], 0.1, 0.05), None);
        assert_eq!(select(&[vec![1.0, 2.0], vec![2.0]], &[], 0.1, 0.05), None);
    }
}
