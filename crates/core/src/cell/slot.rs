//! How many cells come in a slot, the time in which one is served: the micro-dynamics of a phase.

use std::fmt;
use std::str::FromStr;

/// The law of the gaps between the cells of a phase, whose rate is `load` cells per slot. Queueing theory takes the numbers of cells in different slots
/// as independent; for [`MicroDynamics::Poisson`] they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MicroDynamics {
    /// Exponential gaps.
    #[default]
    Poisson,
    /// Gaps that are uniform from zero to twice their mean.
    Uniform,
    /// Equal gaps.
    Even,
}

impl MicroDynamics {
    /// All of them, by name.
    pub const ALL: [(&'static str, MicroDynamics); 3] =
        [("poisson", MicroDynamics::Poisson), ("uniform", MicroDynamics::Uniform), ("even", MicroDynamics::Even)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// Variance of the number of cells in a slot, with a mean of `load`, from 0 to 1.
    ///
    /// Of uniform gaps it is that of the equilibrium renewal process: its renewal function is e^(load t / 2) - 1 up to the longest gap, which is two slots or
    /// more (Cox 1962, section 4.5).
    pub fn variance(self, load: f64) -> f64 {
        match self {
            MicroDynamics::Poisson => load,
            MicroDynamics::Uniform => 4.0 * libm::expm1(load / 2.0) - load - load * load,
            MicroDynamics::Even => load - load * load,
        }
    }

    /// P(no cell in a slot).
    pub fn none(self, load: f64) -> f64 {
        match self {
            MicroDynamics::Poisson => libm::exp(-load),
            MicroDynamics::Uniform => (1.0 - load / 2.0) * (1.0 - load / 2.0),
            MicroDynamics::Even => 1.0 - load,
        }
    }

    /// P(more than n cells in a slot) for n from 0 as far as it is above zero; none of them by subtraction from 1, so that each has the precision
    /// of its size.
    pub fn above(self, load: f64) -> Vec<f64> {
        match self {
            MicroDynamics::Poisson => poisson_above(load),
            MicroDynamics::Uniform => {
                // P(N >= n) = 2 x^n / n! (1 - x / (n + 1)) with x = load / 2: the first gap is what is left of one, the others are whole.
                let x = load / 2.0;
                let mut power = 2.0;
                let shares = (1..).map(|n| {
                    let n = f64::from(n);
                    power *= x / n;
                    power * (1.0 - x / (n + 1.0))
                });
                shares.take_while(|share| *share > 0.0).collect()
            }
            MicroDynamics::Even => vec![load],
        }
    }
}

/// Upper tails of a Poisson law: each is the next one and the probability between them, from the smallest on.
fn poisson_above(mean: f64) -> Vec<f64> {
    let mut shares = vec![mean * libm::exp(-mean)];
    while let Some(&last) = shares.last()
        && last > 0.0
    {
        shares.push(last * mean / (shares.len() as f64 + 1.0));
    }
    let mut sum = 0.0;
    for share in shares.iter_mut().rev() {
        sum += *share;
        *share = sum;
    }
    shares
}

impl fmt::Display for MicroDynamics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MicroDynamics {
    type Err = String;

    fn from_str(text: &str) -> Result<MicroDynamics, String> {
        let known = || Self::ALL.map(|(name, _)| name).join(", ");
        let found = Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, law)| *law);
        found.ok_or_else(|| format!("\"{text}\" is no law of gaps; known: {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of a count is the sum of its tails, and the mean of its square the sum of (2n + 1) of them.
    #[test]
    fn tails_have_the_mean_and_the_variance() {
        for (name, law) in MicroDynamics::ALL {
            for load in [1e-3, 0.3, 0.5, 0.8, 0.99] {
                let above = law.above(load);
                let (mut mean, mut square) = (0.0, 0.0);
                for (n, share) in above.iter().enumerate() {
                    mean += share;
                    square += (2 * n + 1) as f64 * share;
                }
                assert!((mean - load).abs() < 1e-14, "{name} {load}: {mean}");
                let variance = law.variance(load);
                assert!((square - mean * mean - variance).abs() < 1e-13, "{name} {load}: {variance}");
                assert!((above[0] + law.none(load) - 1.0).abs() < 1e-15, "{name} {load}");
                assert!(above.windows(2).all(|pair| pair[1] < pair[0]), "{name} {load}");
            }
        }
    }

    #[test]
    fn names_are_read_back() {
        for (name, law) in MicroDynamics::ALL {
            assert_eq!((name.parse(), law.to_string().as_str()), (Ok(law), name));
        }
        let error = "Poisson".parse::<MicroDynamics>().unwrap_err();
        assert_eq!(error, "\"Poisson\" is no law of gaps; known: poisson, uniform, even");
    }
}
