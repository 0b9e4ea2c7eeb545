//! Many tests in one answer: p values adjusted so that few of the differences called out of all are false.

use std::str::FromStr;

use serde::Serialize;

/// What is kept small over all tests of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// The probability of any false difference (Holm 1979). Holds whatever depends on what.
    #[default]
    Holm,
    /// The share of false ones among the differences called (Benjamini and Hochberg 1995). Holds for tests that are independent or rise
    /// and fall together.
    Bh,
    /// Nothing: each test by itself.
    None,
}

impl Correction {
    /// Its name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Correction::Holm => "holm",
            Correction::Bh => "bh",
            Correction::None => "none",
        }
    }

    /// The p values, adjusted: a difference is called where the adjusted one is at most the level.
    pub fn adjust(self, p_values: &[f64]) -> Vec<f64> {
        let n = p_values.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
        let mut adjusted = p_values.to_vec();
        match self {
            Correction::None => {}
            Correction::Holm => {
                let mut largest: f64 = 0.0;
                for (place, &index) in order.iter().enumerate() {
                    largest = largest.max(p_values[index] * (n - place) as f64).min(1.0);
                    adjusted[index] = largest;
                }
            }
            Correction::Bh => {
                let mut smallest: f64 = 1.0;
                for (place, &index) in order.iter().enumerate().rev() {
                    smallest = smallest.min(p_values[index] * n as f64 / (place + 1) as f64);
                    adjusted[index] = smallest;
                }
            }
        }
        adjusted
    }
}

impl FromStr for Correction {
    type Err = String;

    fn from_str(text: &str) -> Result<Correction, String> {
        let known = [Correction::Holm, Correction::Bh, Correction::None];
        known
            .into_iter()
            .find(|correction| correction.name() == text)
            .ok_or_else(|| format!("unknown correction {text:?}; known: holm, bh, none"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::assert_near;
    use super::*;

    fn check(correction: Correction, expected: &[f64]) {
        let found = correction.adjust(&[0.01, 0.04, 0.03, 0.005, 0.9]);
        assert_eq!(found.len(), expected.len());
        found.iter().zip(expected).for_each(|(found, expected)| assert_near(*found, *expected, 1e-12));
    }

    /// By hand: of five, sorted 0.005 0.01 0.03 0.04 0.9.
    #[test]
    fn adjusted_by_hand() {
        check(Correction::Holm, &[0.04, 0.09, 0.09, 0.025, 0.9]);
        check(Correction::Bh, &[0.025, 0.05, 0.05, 0.025, 0.9]);
        check(Correction::None, &[0.01, 0.04, 0.03, 0.005, 0.9]);
        assert_eq!(Correction::Holm.adjust(&[]), Vec::<f64>::new());
        assert_eq!(Correction::Holm.adjust(&[0.7, 0.8]), [1.0, 1.0], "a probability");
    }
}
