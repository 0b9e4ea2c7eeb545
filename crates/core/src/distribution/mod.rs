//! Distributions of non-negative quantities: delays, rates, sizes, counts, probabilities.
//!
//! **How numbers are drawn (methods L.5).** [`Distribution::quantile`] inverts the distribution function, mixtures included: one
//! uniform number gives one value, and two variants that draw with the same number draw the same part of their
//! distributions. [`Distribution::sample`] takes what it needs from a stream: nothing for a constant, one number for most, and
//! for a mixture one number that chooses and others that give the value. How many a law takes is fixed
//! ([`Distribution::numbers`]), so that values of one law never shift each other. Each variable has a stream of its own.
//!
//! Units are the caller's. Logarithms come from `libm`, so that results are the same on every machine (methods M.11).

mod combined;
mod error;
mod gamma;
mod knots;
mod law;
mod normal;
mod quadrature;
mod written;

use crate::rng::Stream;

pub use error::DistributionError;
pub use law::{Law, Rounding};
pub use normal::{below as normal_below, hazard as normal_hazard, quantile as normal_quantile};
pub use written::{Part, WrittenLaw};

/// A distribution over numbers that are not negative. In files it is a number or a table ([`WrittenLaw`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Law);

impl Distribution {
    /// A distribution of `law`.
    ///
    /// # Errors
    /// If a parameter is negative, infinite, or out of its law's range.
    pub fn new(law: Law) -> Result<Distribution, DistributionError> {
        let law = law.in_order();
        law.check(0)?;
        Ok(Distribution(law))
    }

    /// Always `value`.
    ///
    /// # Errors
    /// If it is negative or not finite.
    pub fn constant(value: f64) -> Result<Distribution, DistributionError> {
        Distribution::new(Law::Constant(value))
    }

    /// Its law.
    pub const fn law(&self) -> &Law {
        &self.0
    }

    /// The value below or at which a share `u` of all values lies, with `u` in [0, 1) (methods C.7).
    pub fn quantile(&self, u: f64) -> f64 {
        self.0.quantile(u)
    }

    /// The share of values up to `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        self.0.shares(x).0
    }

    /// The share of values above `x`, exact where it is small.
    pub fn ccdf(&self, x: f64) -> f64 {
        self.0.shares(x).1
    }

    /// The mean, `None` if it is infinite: in closed form, or by an integral over the share above. Of laws that are
    /// truncated or clipped it is good to about 1 part in 10^9, of steps within them to 1 in 10^4.
    pub fn mean(&self) -> Option<f64> {
        self.0.mean()
    }

    /// The standard deviation of a law that has a largest value: by an integral, good to about 1 part in 10^6. `None` of others.
    pub fn deviation(&self) -> Option<f64> {
        let (mean, square) = (self.0.mean()?, combined::mean_square(&self.0)?);
        Some(libm::sqrt((square - mean * mean).max(0.0)))
    }

    /// The alpha of P(X > x) ~ x^-alpha, of a law with such a tail.
    pub fn tail_index(&self) -> Option<f64> {
        self.0.tail_index()
    }

    /// How many numbers [`Self::sample`] takes.
    pub fn numbers(&self) -> u64 {
        numbers(&self.0)
    }

    /// Draws a value with the next numbers of `stream`.
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        sample(&self.0, stream)
    }

    /// The largest value it can have, infinite for most.
    pub fn max(&self) -> f64 {
        self.0.max()
    }
}

fn numbers(law: &Law) -> u64 {
    match law {
        Law::Constant(_) => 0,
        Law::Mixture(parts) => 1 + parts.iter().map(|(_, law)| numbers(law)).max().unwrap_or(0),
        Law::Clipped { of, .. } | Law::Rounded { of, .. } => numbers(of),
        _ => 1,
    }
}

fn sample(law: &Law, stream: &mut Stream) -> f64 {
    match law {
        Law::Constant(value) => *value,
        Law::Mixture(parts) => {
            let Some((index, _)) = combined::part(parts, stream.uniform()) else { return 0.0 };
            let chosen = &parts[index].1;
            let value = sample(chosen, stream);
            // As many numbers whichever part it was.
            for _ in numbers(chosen) + 1..numbers(law) {
                stream.uniform();
            }
            value
        }
        Law::Clipped { of, min, max } => sample(of, stream).clamp(*min, *max),
        Law::Rounded { of, to: Rounding::Up } => libm::ceil(sample(of, stream)),
        Law::Rounded { of, to: Rounding::Down } => libm::floor(sample(of, stream)),
        law => law.quantile(stream.uniform()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn of(law: Law) -> Distribution {
        Distribution::new(law).unwrap()
    }

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1e-3), "{found}, not {wanted}");
    }

    #[test]
    fn quantiles_are_those_of_the_formulas() {
        close(of(Law::Constant(3.0)).quantile(0.7), 3.0);
        close(of(Law::Uniform { min: 10.0, max: 30.0 }).quantile(0.25), 15.0);
        close(of(Law::Exponential { mean: 2.0 }).quantile(0.5), 2.0 * std::f64::consts::LN_2);
        // Round-trip times of Weigle 2003: median 64, mean 101 ms; sigma^2 = 2 ln(101/64).
        let rtt = of(Law::Lognormal { median: 64.0, mean: 101.0 });
        close(rtt.quantile(0.5), 64.0);
        close(rtt.quantile(0.841_344_746_068_542_9), 64.0 * (2.0 * (101.0_f64 / 64.0).ln()).sqrt().exp());
        // Methods E.1: x_m (1 - u)^(-1/alpha).
        let pareto = of(Law::Pareto { min: 1_000.0, shape: 1.23 });
        close(pareto.quantile(0.0), 1_000.0);
        assert!((pareto.quantile(0.9) - 6_501.418_6).abs() < 1e-4);
        assert!((pareto.quantile(0.99) - 42_268.443_9).abs() < 1e-4);
        // Methods F.2 and F.5: the median of the inter-arrival times at 24.1 connections/s, and of server delays.
        let gaps = of(Law::Weibull { shape: 0.814_374_026_0, scale: 0.037_083_332_9 });
        assert!((gaps.quantile(0.5) - 0.023_644_081_9).abs() < 1e-10);
        let work = of(Law::Weibull { shape: 0.63, scale: 305.0 });
        assert!((1e3 / work.quantile(0.5) - 5.866_217).abs() < 1e-6);
        let listed = of(Law::Empirical(vec![(10.0, 0.25), (40.0, 0.5), (20.0, 0.25)]));
        assert_eq!(
            [0.0, 0.249, 0.25, 0.499, 0.5, 0.999].map(|u| listed.quantile(u)),
            [10.0, 10.0, 20.0, 20.0, 40.0, 40.0]
        );
    }

    #[test]
    fn the_normal_law_is_cut_at_zero_and_not_piled_up_there() {
        // With mean 0 the half above it remains: its quantile at u is that of the whole at (1 + u) / 2.
        let half = of(Law::Normal { mean: 0.0, sd: 1.0 });
        close(half.quantile(0.5), 0.674_489_750_196_081_7);
        assert_eq!(half.quantile(0.0), 0.0);
        let whole = of(Law::Normal { mean: 100.0, sd: 5.0 });
        close(whole.quantile(0.975), 109.799_819_922_700_27);
    }

    #[test]
    fn samples_have_the_mean_of_their_law() {
        let laws = [
            (Law::Uniform { min: 1.0, max: 3.0 }, 2.0),
            (Law::Normal { mean: 5.0, sd: 1.0 }, 5.0),
            (Law::Exponential { mean: 2.0 }, 2.0),
            (Law::Lognormal { median: 64.0, mean: 101.0 }, 101.0),
            (Law::Pareto { min: 1.0, shape: 3.0 }, 1.5),
            (Law::Weibull { shape: 2.0, scale: 1.0 }, 0.886_226_925),
            (Law::Empirical(vec![(1.0, 0.9), (11.0, 0.1)]), 2.0),
        ];
        for (law, mean) in laws {
            let (law, mut stream) = (of(law), Stream::new(1, Purpose::Delays, 0));
            let found = (0..200_000).map(|_| law.sample(&mut stream)).sum::<f64>() / 2e5;
            // The lognormal has the widest: 122 % of its mean, so 0.3 % at 200,000; 1.5 % is five times that.
            assert!((found / mean - 1.0).abs() < 0.015, "{law:?}: {found}");
        }
    }

    /// A law of each kind, and of those that are made of laws.
    fn all() -> Vec<Law> {
        let lognormal = Law::LognormalMuSigma { mu: 4.0, sigma: 1.2 };
        let pareto = Law::Pareto { min: 1_000.0, shape: 1.23 };
        vec![
            Law::Uniform { min: 10.0, max: 30.0 },
            Law::Normal { mean: 3.0, sd: 2.0 },
            Law::Exponential { mean: 2.0 },
            Law::Lognormal { median: 64.0, mean: 101.0 },
            lognormal.clone(),
            pareto.clone(),
            Law::BoundedPareto { min: 1_000.0, max: 1e6, shape: 1.1 },
            Law::BoundedPareto { min: 1.0, max: 1e4, shape: 1.0 },
            Law::Weibull { shape: 0.63, scale: 305.0 },
            Law::Gamma { shape: 0.4, scale: 50.0 },
            Law::Gamma { shape: 9.0, scale: 2.0 },
            Law::Geometric { min: 1.0, mean: 4.5 },
            Law::LogExtreme { alpha: 6.0, beta: 0.5 },
            Law::Empirical(vec![(10.0, 0.25), (20.0, 0.25), (40.0, 0.5)]),
            Law::Mixture(vec![
                (0.5, Law::Empirical(vec![(100_000.0, 0.5), (10.0, 0.5)])),
                (0.5, Law::Uniform { min: 1.0, max: 1_000.0 }),
            ]),
            Law::Linear(vec![(1.0, 0.2), (3.0, 0.5), (7.0, 0.5), (9.0, 1.0)]),
            Law::LogLog(vec![(-10.0, 17.0), (-2.0, 11.0), (0.0, 8.0)]),
            Law::Mixture(vec![
                (0.3, lognormal.clone()),
                (0.5, Law::Exponential { mean: 100.0 }),
                (0.2, Law::Constant(50.0)),
            ]),
            Law::Mixture(vec![(0.25, Law::Constant(0.0)), (0.75, pareto.clone())]),
            Law::Truncated { of: Box::new(lognormal.clone()), min: 20.0, max: 500.0 },
            Law::Truncated { of: Box::new(lognormal.clone()), min: 100.0, max: f64::INFINITY },
            Law::Clipped { of: Box::new(pareto.clone()), min: 2_000.0, max: 1e6 },
            Law::Clipped { of: Box::new(lognormal.clone()), min: 30.0, max: f64::INFINITY },
            Law::Rounded { of: Box::new(lognormal.clone()), to: Rounding::Up },
            Law::Rounded { of: Box::new(Law::Exponential { mean: 0.7 }), to: Rounding::Down },
        ]
    }

    #[test]
    fn quantile_and_distribution_function_invert_each_other() {
        for law in all() {
            let of = of(law);
            let mut before = 0.0;
            for u in [0.0, 1e-6, 0.01, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99, 0.999_999] {
                let x = of.quantile(u);
                assert!(x >= before && x <= of.max(), "{of:?} at {u}: {x} after {before}");
                before = x;
                // F(x-) <= u <= F(x): equalities where there is neither step nor gap.
                let (least, most) = (of.cdf(x * (1.0 - 1e-9) - 1e-12), of.cdf(x * (1.0 + 1e-9)));
                assert!(least <= u + 1e-9 && u <= most + 1e-9, "{of:?} at {u}: {x} has {least} to {most}");
                assert!((of.cdf(x) + of.ccdf(x) - 1.0).abs() < 1e-12, "{of:?} at {x}");
            }
            assert_eq!((of.cdf(-1.0), of.cdf(f64::INFINITY), of.ccdf(f64::INFINITY)), (0.0, 1.0, 0.0), "{of:?}");
        }
    }

    /// By the integral of the quantile over shares, halved towards both ends, which knows nothing of closed forms.
    fn mean_of_quantiles(of: &Distribution) -> f64 {
        let half = |power: i32| 2f64.powi(-power);
        let mut places: Vec<f64> = (1..=60).rev().map(half).chain((2..=52).map(|power| 1.0 - half(power))).collect();
        places.insert(0, 0.0);
        let pieces = places.windows(2).map(|pair| {
            const STEPS: u32 = 2_000;
            let width = (pair[1] - pair[0]) / f64::from(STEPS);
            (0..STEPS).map(|step| width * of.quantile(pair[0] + (f64::from(step) + 0.5) * width)).sum::<f64>()
        });
        pieces.sum()
    }

    #[test]
    fn means_are_the_integrals_of_the_quantiles() {
        for law in all() {
            let of = of(law);
            let mean = of.mean().unwrap();
            // Beyond 1 - 2^-52 a Pareto tail of index alpha still has 2^(-52 (1 - 1/alpha)) of the mean.
            let tail = of.tail_index().map_or(0.0, |alpha| 2f64.powf(-52.0 * (1.0 - 1.0 / alpha)));
            let found = mean_of_quantiles(&of);
            assert!((found / mean - 1.0).abs() < 2e-4 + 1.5 * tail, "{of:?}: {found}, not {mean}");
        }
    }

    #[test]
    fn deviations_of_laws_with_an_end() {
        let deviation = |law| of(law).deviation();
        let near = |found: Option<f64>, wanted: f64| {
            let found = found.unwrap();
            assert!((found - wanted).abs() <= 1e-6 * wanted, "{found}, not {wanted}");
        };
        near(deviation(Law::Uniform { min: 10.0, max: 30.0 }), 20.0 / 12.0f64.sqrt());
        // Shape 1 from 1 to m: mean m ln m / (m - 1), mean square m.
        let (m, mean) = (1e4, 1e4 * 1e4f64.ln() / 9_999.0);
        near(deviation(Law::BoundedPareto { min: 1.0, max: m, shape: 1.0 }), (m - mean * mean).sqrt());
        near(deviation(Law::Empirical(vec![(1.0, 0.5), (3.0, 0.5)])), 1.0);
        let parts = vec![(0.5, Law::Uniform { min: 0.0, max: 1.0 }), (0.5, Law::Uniform { min: 4.0, max: 5.0 })];
        near(deviation(Law::Mixture(parts)), (4.0 + 1.0f64 / 12.0).sqrt());
        assert_eq!(deviation(Law::Constant(3.0)), Some(0.0));
        assert_eq!(deviation(Law::Exponential { mean: 1.0 }), None);
    }

    #[test]
    fn means_in_closed_form() {
        let mean = |law| of(law).mean();
        close(mean(Law::Pareto { min: 1_000.0, shape: 1.23 }).unwrap(), 5_347.826_086_956_522);
        close(mean(Law::LognormalMuSigma { mu: 1.0, sigma: 2.0 }).unwrap(), 3f64.exp());
        close(mean(Law::Weibull { shape: 0.814_374_026_0, scale: 0.037_083_332_9 }).unwrap(), 1.0 / 24.1);
        close(mean(Law::BoundedPareto { min: 1.0, max: 100.0, shape: 1.0 }).unwrap(), 100f64.ln() / 0.99);
        // Cut at the median of an exponential law: what is above it has that much more than the mean, by its lack of memory.
        let median = 2.0 * std::f64::consts::LN_2;
        let cut = |min, max| Law::Truncated { of: Box::new(Law::Exponential { mean: 2.0 }), min, max };
        close(mean(cut(median, f64::INFINITY)).unwrap(), 2.0 + median);
        close(mean(cut(0.0, median)).unwrap(), 2.0 - median);
        // A Pareto law clipped at max is worth min (1 + (1 - (min/max)^(a-1)) / (a-1)), with a mean or without.
        for shape in [0.9, 1.23] {
            let clipped = Law::Clipped { of: Box::new(Law::Pareto { min: 1.0, shape }), min: 0.0, max: 1e9 };
            close(mean(clipped).unwrap(), 1.0 + (1.0 - 1e9f64.powf(1.0 - shape)) / (shape - 1.0));
        }
        // Rounded up, an exponential law is geometric: 1 / (1 - e^(-1/mean)); rounded down it is one less.
        let exact = -1.0 / (-1.0 / 50.0f64).exp_m1();
        for (to, expected) in [(Rounding::Up, exact), (Rounding::Down, exact - 1.0)] {
            close(mean(Law::Rounded { of: Box::new(Law::Exponential { mean: 50.0 }), to }).unwrap(), expected);
        }
    }

    #[test]
    fn infinite_means_are_none() {
        let heavy = Law::Pareto { min: 1.0, shape: 1.0 };
        let infinite = [
            heavy.clone(),
            Law::LogExtreme { alpha: 100f64.log2(), beta: 3.5f64.log2() },
            Law::LogLog(vec![(-1.0, 9.5), (0.0, 8.0)]),
            Law::Mixture(vec![(0.9, Law::Constant(1.0)), (0.1, heavy.clone())]),
            Law::Truncated { of: Box::new(heavy.clone()), min: 5.0, max: f64::INFINITY },
            Law::Rounded { of: Box::new(heavy.clone()), to: Rounding::Up },
        ];
        for law in infinite {
            assert_eq!(of(law.clone()).mean(), None, "{law:?}");
        }
        assert!(
            of(Law::Mixture(vec![(1.0, Law::Constant(1.0)), (0.0, heavy)])).mean().is_some(),
            "nothing of it is drawn"
        );
    }

    /// Methods J.5.
    #[test]
    fn bytes_of_telnet_originators() {
        let law = of(Law::LogExtreme { alpha: 100f64.log2(), beta: 3.5f64.log2() });
        for (u, bytes) in [(0.1, 35.174_6), (0.5, 158.273_4), (0.9, 1_676.304_7)] {
            assert!((law.quantile(u) / bytes - 1.0).abs() < 1e-6, "{u}: {}", law.quantile(u));
        }
    }

    #[test]
    fn samples_have_the_quantiles_of_their_law() {
        const DRAWS: usize = 1_000_000;
        for (law, id) in all().into_iter().zip(0..) {
            let (law, mut stream) = (of(law), Stream::new(7, Purpose::Sizes, id));
            let mut drawn: Vec<f64> = (0..DRAWS).map(|_| law.sample(&mut stream)).collect();
            drawn.sort_unstable_by(f64::total_cmp);
            for u in [0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999] {
                let found = drawn[(u * DRAWS as f64) as usize];
                let tolerance = if u > 0.99 { 0.05 } else { 0.02 };
                // Next to a step the sample may be on its other side.
                let steps = [u - 0.002, u, u + 0.002].map(|u| law.quantile(u.min(0.999_9)));
                let near = |x: f64| (found - x).abs() <= tolerance * x;
                assert!(steps.into_iter().any(near), "{law:?} at {u}: {found}, not {}", law.quantile(u));
            }
            // The Hill estimate of the 10,000 largest (methods E.2): its standard error is 1 %.
            if let (Some(alpha), Law::Pareto { .. } | Law::LogLog(_)) = (law.tail_index(), law.law()) {
                let (below, top) = drawn.split_at(DRAWS - 10_000);
                let threshold = below[below.len() - 1];
                let found = 1e4 / top.iter().map(|x| (x / threshold).ln()).sum::<f64>();
                assert!((found - alpha).abs() < 0.05, "{law:?}: {found}");
            }
        }
    }

    #[test]
    fn values_of_different_laws_do_not_shift_each_other() {
        let mixed = of(Law::Mixture(vec![
            (0.5, Law::Mixture(vec![(0.5, Law::Uniform { min: 0.0, max: 1.0 }), (0.5, Law::Constant(2.0))])),
            (0.5, Law::Constant(3.0)),
        ]));
        assert_eq!(mixed.numbers(), 3);
        // Whichever part is chosen, the next value begins three numbers on.
        let (mut stream, mut counted) = (Stream::new(1, Purpose::Sizes, 0), Stream::new(1, Purpose::Sizes, 0));
        for value in 1..50 {
            mixed.sample(&mut stream);
            counted.seek(3 * value);
            assert_eq!(stream.clone().uniform(), counted.uniform());
        }
    }

    #[test]
    fn what_is_cut() {
        let of_pareto = |cut: fn(Box<Law>) -> Law| of(cut(Box::new(Law::Pareto { min: 1.0, shape: 1.0 })));
        let clipped = of_pareto(|of| Law::Clipped { of, min: 2.0, max: 100.0 });
        assert_eq!((clipped.quantile(0.3), clipped.quantile(0.995), clipped.max()), (2.0, 100.0, 100.0));
        assert_eq!((clipped.cdf(1.9), clipped.cdf(2.0), clipped.cdf(100.0)), (0.0, 0.5, 1.0));
        let truncated = of_pareto(|of| Law::Truncated { of, min: 2.0, max: 100.0 });
        close(truncated.quantile(0.5), 1.0 / (0.5 - 0.245));
    }

    #[test]
    fn files_hold_numbers_and_tables_and_processes_hand_on_laws_as_they_are() {
        for law in all().into_iter().chain([Law::Constant(3.5)]) {
            let before = of(law);
            let packed: Distribution =
                postcard::from_bytes(postcard::to_slice(&before, &mut [0; 4_096]).unwrap()).unwrap();
            assert_eq!(packed, before);
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let refused = [
            (Law::Constant(-1.0), "a value of -1 is not possible: a number that is not negative"),
            (Law::Constant(f64::NAN), "a value of NaN"),
            (Law::Uniform { min: 2.0, max: 1.0 }, "max of 1 is not possible: not below min"),
            (Law::Normal { mean: 1.0, sd: -1.0 }, "sd of -1"),
            (Law::Exponential { mean: f64::INFINITY }, "mean of inf"),
            (Law::Lognormal { median: 10.0, mean: 9.0 }, "mean of 9 is not possible: not below the median"),
            (Law::Lognormal { median: 0.0, mean: 9.0 }, "median of 0 is not possible: a number above zero"),
            (Law::Pareto { min: 1.0, shape: 0.0 }, "shape of 0"),
            (Law::Weibull { shape: -1.0, scale: 1.0 }, "shape of -1"),
            (Law::Empirical(vec![]), "the probabilities add up to 0, not to 1"),
            (Law::Empirical(vec![(1.0, 0.5), (2.0, 0.4)]), "the probabilities add up to 0.9, not to 1"),
            (Law::Empirical(vec![(1.0, 1.5), (2.0, -0.5)]), "a probability of -0.5"),
            (
                Law::LognormalMuSigma { mu: 1.0, sigma: -0.5 },
                "sigma of -0.5 is not possible: a number that is not negative",
            ),
            (Law::LognormalMuSigma { mu: f64::NAN, sigma: 0.5 }, "mu of NaN"),
            (Law::BoundedPareto { min: 2.0, max: 2.0, shape: 1.0 }, "max of 2 is not possible: above min"),
            (Law::BoundedPareto { min: 0.0, max: 2.0, shape: 1.0 }, "min of 0"),
            (Law::Gamma { shape: 0.0, scale: 1.0 }, "shape of 0"),
            (Law::Gamma { shape: 1e7, scale: 1.0 }, "shape of 10000000 is not possible: at most 1000000"),
            (Law::Geometric { min: 1.0, mean: 0.5 }, "mean of 0.5 is not possible: not below min"),
            (Law::Geometric { min: 0.5, mean: 2.0 }, "min of 0.5 is not possible: a whole number"),
            (Law::LogExtreme { alpha: 1.0, beta: 0.0 }, "beta of 0"),
            (Law::Linear(vec![]), "a distribution function needs points: at least 1"),
            (
                Law::Linear(vec![(1.0, 0.4), (2.0, 0.3), (3.0, 1.0)]),
                "a distribution function rises: cumulative probability of 0.3 at point 2 comes after 0.4",
            ),
            (
                Law::Linear(vec![(2.0, 0.4), (1.0, 1.0)]),
                "a distribution function rises: value of 1 at point 2 comes after 2",
            ),
            (Law::Linear(vec![(1.0, 0.4), (2.0, 0.9)]), "the probabilities add up to 0.9"),
            (Law::Linear(vec![(1.0, 0.4), (2.0, 1.2)]), "a cumulative probability of 1.2"),
            (Law::LogLog(vec![(0.0, 8.0)]), "a distribution function needs points: at least 2"),
            (
                Law::LogLog(vec![(-1.0, 8.0), (0.0, 9.0)]),
                "a distribution function rises: -log2 of a value of -9 at point 2",
            ),
            (Law::LogLog(vec![(-1.0, 9.0), (1.0, 8.0)]), "log2 of a share of 1 is not possible: at most 0"),
            (
                Law::Mixture(vec![(0.5, Law::Constant(1.0)), (0.6, Law::Constant(2.0))]),
                "the probabilities add up to 1.1",
            ),
            (Law::Mixture(vec![]), "the probabilities add up to 0"),
            (Law::Mixture(vec![(1.0, Law::Exponential { mean: -1.0 })]), "mean of -1"),
            (
                Law::Truncated { of: Box::new(Law::Uniform { min: 0.0, max: 1.0 }), min: 2.0, max: 3.0 },
                "nothing of the distribution lies between 2 and 3",
            ),
            (
                Law::Clipped { of: Box::new(Law::Constant(1.0)), min: 3.0, max: 2.0 },
                "max of 2 is not possible: not below min",
            ),
            (
                (0..9).fold(Law::Constant(1.0), |of, _| Law::Rounded { of: Box::new(of), to: Rounding::Up }),
                "distributions within distributions: at most 8 deep",
            ),
        ];
        for (law, message) in refused {
            let error = Distribution::new(law).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
