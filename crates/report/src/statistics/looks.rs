//! Planned looks at growing replications, and how sure each of them has to be (alpha spending).
//!
//! Who looks at an ordinary interval after every run, and stops when it shows something, is wrong far more often than one time in
//! twenty. Here the looks are planned before the first run, and share the probability of a wrong decision among them: by the spending
//! function of Lan and DeMets (1983) that acts as Pocock's bounds do, `alpha ln(1 + (e - 1) t)` at the share `t` of all replications.
//! What a look may spend is what the function grows by since the look before. The sum bounds the probability of a wrong decision at any
//! look whatever law the values have, as long as each single interval holds (Bonferroni's inequality), so that nothing has to be known
//! of how looks depend on each other.

/// Looks at so many replications each, the last of which is final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looks {
    at: Vec<usize>,
}

impl Looks {
    /// One look at `replications`: an ordinary interval.
    pub fn once(replications: usize) -> Looks {
        Looks { at: vec![replications] }
    }

    /// Looks at `first` replications, twice as many, and so on, and at `most`.
    pub fn doubling(first: usize, most: usize) -> Looks {
        let doubled = std::iter::successors(Some(first.max(1)), |at| at.checked_mul(2));
        let mut at: Vec<usize> = doubled.take_while(|at| *at < most).collect();
        at.push(most);
        Looks { at }
    }

    /// Looks at these numbers of replications, at least one.
    pub fn at_counts(at: Vec<usize>) -> Looks {
        Looks { at }
    }

    /// How many replications there are at each.
    pub fn at(&self) -> &[usize] {
        &self.at
    }

    /// The probability of a wrong decision that the look with this number (the first is 0) may spend, of `alpha` in all.
    pub fn spends(&self, look: usize, alpha: f64) -> f64 {
        let most = self.at.last().copied().unwrap_or(1).max(1) as f64;
        let spent = |at: usize| alpha * libm::log1p((std::f64::consts::E - 1.0) * at as f64 / most);
        let before = look.checked_sub(1).map_or(0.0, |before| spent(self.at[before]));
        spent(self.at[look]) - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_up_to_the_last() {
        assert_eq!(Looks::doubling(5, 40).at(), [5, 10, 20, 40]);
        assert_eq!(Looks::doubling(5, 30).at(), [5, 10, 20, 30]);
        assert_eq!(Looks::doubling(5, 5).at(), [5]);
        assert_eq!(Looks::doubling(5, 3).at(), [3]);
        assert_eq!(Looks::doubling(0, 2).at(), [1, 2]);
    }

    /// Lan and DeMets's function at halves: ln(1 + (e - 1) / 2) = 0.6201.
    #[test]
    fn all_looks_together_spend_alpha() {
        let looks = Looks::doubling(10, 20);
        assert!((looks.spends(0, 0.05) - 0.05 * 0.620_114_506_958_277_5).abs() < 1e-12);
        for looks in [Looks::once(7), looks, Looks::doubling(5, 100)] {
            let all: f64 = (0..looks.at().len()).map(|look| looks.spends(look, 0.05)).sum();
            assert!((all - 0.05).abs() < 1e-12 && (0..looks.at().len()).all(|look| looks.spends(look, 0.05) > 0.0));
        }
    }
}
