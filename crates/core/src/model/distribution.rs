//! Distributions of non-negative quantities: delays, rates, probabilities.
//!
//! Every value is drawn by inversion from one uniform number, so that two variants of an experiment that draw for the same
//! connection draw the same part of their distributions (methods L.5). Units are the caller's.

use serde::{Deserialize, Serialize};

use crate::rng::Stream;

/// A distribution over numbers that are not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Law);

/// Its law, as [`Distribution::new`] takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Law {
    /// Always the same.
    Constant(f64),
    /// Equally likely from `min` to `max`.
    Uniform {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// The normal distribution without what lies below zero: its mean is a little above `mean`.
    Normal {
        /// Mean before it is cut.
        mean: f64,
        /// Standard deviation before it is cut.
        sd: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Lognormal: sigma^2 = 2 ln(mean / median).
    Lognormal {
        /// Median.
        median: f64,
        /// Mean, not below the median.
        mean: f64,
    },
    /// Pareto: P(X > x) = (min / x)^shape (methods E.1).
    Pareto {
        /// Smallest.
        min: f64,
        /// Tail index alpha. Up to 1 there is no mean.
        shape: f64,
    },
    /// Weibull: P(X > x) = exp(-(x / scale)^shape) (methods F.2).
    Weibull {
        /// Shape.
        shape: f64,
        /// Scale.
        scale: f64,
    },
    /// These values with these probabilities.
    Empirical(Vec<(f64, f64)>),
}

/// Why a law has impossible parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// A parameter is out of its range.
    #[error("{name} of {value} is not possible: {expected}")]
    Parameter {
        /// Which.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What would be possible.
        expected: &'static str,
    },
    /// The probabilities do not add up.
    #[error("the probabilities add up to {sum}, not to 1")]
    Sum {
        /// What they add up to.
        sum: f64,
    },
}

impl Distribution {
    /// A distribution of `law`.
    ///
    /// # Errors
    /// If a parameter is negative, infinite, or out of its law's range.
    pub fn new(law: Law) -> Result<Distribution, DistributionError> {
        const NOT_NEGATIVE: &str = "a number that is not negative";
        const ABOVE_ZERO: &str = "a number above zero";
        let refuse = |name, value, expected| Err(DistributionError::Parameter { name, value, expected });
        let check = |name, value: f64, least: f64, expected| {
            if value.is_finite() && value >= least { Ok(()) } else { refuse(name, value, expected) }
        };
        let above_zero = |name, value| check(name, value, f64::MIN_POSITIVE, ABOVE_ZERO);
        match law {
            Law::Constant(value) => check("a value", value, 0.0, NOT_NEGATIVE)?,
            Law::Uniform { min, max } => {
                check("min", min, 0.0, NOT_NEGATIVE)?;
                check("max", max, min, "not below min")?;
            }
            Law::Normal { mean, sd } => {
                check("mean", mean, 0.0, NOT_NEGATIVE)?;
                check("sd", sd, 0.0, NOT_NEGATIVE)?;
            }
            Law::Exponential { mean } => check("mean", mean, 0.0, NOT_NEGATIVE)?,
            Law::Lognormal { median, mean } => {
                above_zero("median", median)?;
                check("mean", mean, median, "not below the median")?;
            }
            Law::Pareto { min, shape } => {
                check("min", min, 0.0, NOT_NEGATIVE)?;
                above_zero("shape", shape)?;
            }
            Law::Weibull { shape, scale } => {
                above_zero("shape", shape)?;
                check("scale", scale, 0.0, NOT_NEGATIVE)?;
            }
            Law::Empirical(ref values) => {
                for &(value, probability) in values {
                    check("a value", value, 0.0, NOT_NEGATIVE)?;
                    check("a probability", probability, 0.0, NOT_NEGATIVE)?;
                }
                let sum = values.iter().fold(0.0, |sum, (_, probability)| sum + probability);
                // Written with six digits they may miss 1 by a little.
                if !(0.999_999..=1.000_001).contains(&sum) {
                    return Err(DistributionError::Sum { sum });
                }
            }
        }
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
        match self.0 {
            Law::Constant(value) => value,
            Law::Uniform { min, max } => min + u * (max - min),
            Law::Normal { mean, sd: 0.0 } => mean,
            Law::Normal { mean, sd } => {
                let below = normal_below(-mean / sd);
                (mean + sd * normal_quantile(below + u * (1.0 - below))).max(0.0)
            }
            Law::Exponential { mean } => -mean * libm::log1p(-u),
            Law::Lognormal { median, mean } => {
                let sigma = libm::sqrt(2.0 * libm::log(mean / median));
                // At u = 0 the quantile is minus infinity, of which the exponential is zero; zero times it would be none.
                if sigma == 0.0 { median } else { median * libm::exp(sigma * normal_quantile(u)) }
            }
            Law::Pareto { min, shape } => min * libm::exp(-libm::log1p(-u) / shape),
            Law::Weibull { shape, scale } => scale * libm::pow(-libm::log1p(-u), 1.0 / shape),
            Law::Empirical(ref values) => {
                let mut sum = 0.0;
                let within = values.iter().find(|(_, probability)| {
                    sum += probability;
                    u < sum
                });
                within.or(values.iter().rfind(|(_, probability)| *probability > 0.0)).map_or(0.0, |(value, _)| *value)
            }
        }
    }

    /// Draws a value: one number of `stream`, none for a constant.
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match self.0 {
            Law::Constant(value) => value,
            _ => self.quantile(stream.uniform()),
        }
    }

    /// The largest value it can have, infinite for most.
    pub fn max(&self) -> f64 {
        match self.0 {
            Law::Constant(value) => value,
            Law::Uniform { max, .. } => max,
            Law::Normal { mean, sd: 0.0 } => mean,
            Law::Empirical(ref values) => values.iter().map(|(value, _)| *value).fold(0.0, f64::max),
            _ => f64::INFINITY,
        }
    }
}

/// Share of the standard normal distribution below `x`.
fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Quantile of the standard normal distribution: Wichura, algorithm AS 241 (Applied Statistics 37, 1988), PPND16,
/// accurate to about 1 part in 10^16. Infinite at 0 and 1.
fn normal_quantile(u: f64) -> f64 {
    #[expect(clippy::excessive_precision, reason = "as published")]
    const A: [f64; 8] = [
        3.387_132_872_796_366_608_0,
        133.141_667_891_784_377_45,
        1_971.590_950_306_551_442_7,
        13_731.693_765_509_461_125,
        45_921.953_931_549_871_457,
        67_265.770_927_008_700_853,
        33_430.575_583_588_128_105,
        2_509.080_928_730_122_672_7,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const B: [f64; 8] = [
        1.0,
        42.313_330_701_600_911_252,
        687.187_007_492_057_908_3,
        5_394.196_021_424_751_107_7,
        21_213.794_301_586_595_867,
        39_307.895_800_092_710_61,
        28_729.085_735_721_942_674,
        5_226.495_278_852_854_561,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const C: [f64; 8] = [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_7e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_4e-4,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const D: [f64; 8] = [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        6.897_673_349_851_000_045_5e-1,
        1.481_039_764_274_800_745_9e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const E: [f64; 8] = [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        2.965_605_718_285_048_912_3e-1,
        2.653_218_952_657_612_309_3e-2,
        1.242_660_947_388_078_438_6e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ];
    #[expect(clippy::excessive_precision, reason = "as published")]
    const F: [f64; 8] = [
        1.0,
        5.998_322_065_558_879_376_9e-1,
        1.369_298_809_227_358_053_1e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ];
    let ratio = |above: &[f64; 8], below: &[f64; 8], x: f64| {
        let polynomial = |terms: &[f64; 8]| terms.iter().rev().fold(0.0, |sum, term| sum * x + term);
        polynomial(above) / polynomial(below)
    };
    let q = u - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&A, &B, 0.180_625 - q * q);
    }
    let tail = if q < 0.0 { u } else { 1.0 - u };
    if tail <= 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = libm::sqrt(-libm::log(tail));
    let size = if r <= 5.0 { ratio(&C, &D, r - 1.6) } else { ratio(&E, &F, r - 5.0) };
    size.copysign(q)
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

    /// Known quantiles of the standard normal distribution.
    #[test]
    fn normal_quantiles() {
        for (u, z) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_081_7),
            (0.841_344_746_068_542_9, 1.0),
            (0.9, 1.281_551_565_544_600_4),
            (0.975, 1.959_963_984_540_054),
            (0.999, 3.090_232_306_167_813_5),
            (1e-10, -6.361_340_902_404_056),
            (1e-20, -9.262_340_089_798_407),
        ] {
            close(normal_quantile(u), z);
            if u > 1e-3 {
                close(normal_below(z), u);
            }
        }
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
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
            [0.0, 0.249, 0.25, 0.749, 0.75, 0.999].map(|u| listed.quantile(u)),
            [10.0, 10.0, 40.0, 40.0, 20.0, 20.0]
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
        ];
        for (law, message) in refused {
            let error = Distribution::new(law).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
