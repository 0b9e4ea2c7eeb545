//! The laws: their parameters, their quantiles, their shares below and above a value, their means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DistributionError;
use super::{combined, gamma, knots, normal};

/// Laws within laws beyond this depth are a mistake of the writer.
const MOST_DEEP: usize = 8;

/// A law, as [`Distribution::new`](super::Distribution::new) takes it.
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
    /// Lognormal by mean and standard deviation of the natural logarithm.
    LognormalMuSigma {
        /// Mean of the logarithm: ln(median).
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Pareto: P(X > x) = (min / x)^shape (methods E.1).
    Pareto {
        /// Smallest.
        min: f64,
        /// Tail index alpha. Up to 1 there is no mean.
        shape: f64,
    },
    /// Pareto without what lies above `max`: P(X > x) = ((min / x)^shape - (min / max)^shape) / (1 - (min / max)^shape).
    BoundedPareto {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Tail index alpha of the law before it is cut.
        shape: f64,
    },
    /// Weibull: P(X > x) = exp(-(x / scale)^shape) (methods F.2).
    Weibull {
        /// Shape.
        shape: f64,
        /// Scale.
        scale: f64,
    },
    /// Gamma: density proportional to x^(shape - 1) exp(-x / scale), mean shape * scale.
    Gamma {
        /// Shape, at most 10^6.
        shape: f64,
        /// Scale.
        scale: f64,
    },
    /// Geometric: whole numbers from `min` on, each less likely than the one before by the same factor.
    Geometric {
        /// Smallest: 1 for "the number of trials up to the first success".
        min: f64,
        /// Mean, not below `min`.
        mean: f64,
    },
    /// Log-extreme: P(X <= x) = exp(-exp(-(log2 x - alpha) / beta)) (methods J.5). From beta = log2 e on there is no mean.
    LogExtreme {
        /// log2 of the value that a share 1/e does not exceed.
        alpha: f64,
        /// Spread of log2.
        beta: f64,
    },
    /// These values with these probabilities, in any order.
    Empirical(Vec<(f64, f64)>),
    /// A distribution function that is linear between knots (value, cumulative probability): both ascend, and the
    /// last probability is 1. A first probability above 0 is an atom at the first value (methods G.2).
    Linear(Vec<(f64, f64)>),
    /// log2 of the value, linear in log2 of the share above it, between knots (log2 P(X > x), log2 x): the first ascend
    /// up to 0 and the second descend. The first and the last piece go on beyond their knots, so that the first is a
    /// Pareto tail (methods F.3, F.4).
    LogLog(Vec<(f64, f64)>),
    /// One of several laws, with these probabilities.
    Mixture(Vec<(f64, Law)>),
    /// A law without what lies below `min` or above `max`: what is left is scaled up.
    Truncated {
        /// Before it is cut.
        of: Box<Law>,
        /// Smallest.
        min: f64,
        /// Largest; may be infinite.
        max: f64,
    },
    /// A law of which what lies below `min` or above `max` is moved there.
    Clipped {
        /// Before it is cut.
        of: Box<Law>,
        /// Smallest.
        min: f64,
        /// Largest; may be infinite.
        max: f64,
    },
    /// A law in whole numbers.
    Rounded {
        /// Before it is rounded.
        of: Box<Law>,
        /// Which way.
        to: Rounding,
    },
}

/// Which way numbers become whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To the next whole number above (counts: methods G.2).
    Up,
    /// To the next whole number below (sizes: methods F.3).
    Down,
}

const NOT_NEGATIVE: &str = "a number that is not negative";
const ABOVE_ZERO: &str = "a number above zero";
const FINITE: &str = "a finite number";
const SHARE: &str = "a number from 0 to 1";

fn refuse<T>(name: &'static str, value: f64, expected: &'static str) -> Result<T, DistributionError> {
    Err(DistributionError::Parameter { name, value, expected })
}

fn check(name: &'static str, value: f64, least: f64, expected: &'static str) -> Result<(), DistributionError> {
    if value.is_finite() && value >= least { Ok(()) } else { refuse(name, value, expected) }
}

fn above_zero(name: &'static str, value: f64) -> Result<(), DistributionError> {
    check(name, value, f64::MIN_POSITIVE, ABOVE_ZERO)
}

/// Written with six digits they may miss 1 by a little.
fn sums_to_one(sum: f64) -> Result<(), DistributionError> {
    if (0.999_999..=1.000_001).contains(&sum) { Ok(()) } else { Err(DistributionError::Sum { sum }) }
}

/// Checks values with their probabilities.
fn check_empirical(values: &[(f64, f64)]) -> Result<(), DistributionError> {
    for &(value, probability) in values {
        check("a value", value, 0.0, NOT_NEGATIVE)?;
        check("a probability", probability, 0.0, NOT_NEGATIVE)?;
    }
    sums_to_one(values.iter().fold(0.0, |sum, (_, probability)| sum + probability))
}

/// Checks values with their cumulative probabilities.
fn check_linear(knots: &[(f64, f64)]) -> Result<(), DistributionError> {
    let Some(&(_, last)) = knots.last() else { return Err(DistributionError::Empty { needed: 1 }) };
    for &(value, probability) in knots {
        check("a value", value, 0.0, NOT_NEGATIVE)?;
        check("a cumulative probability", probability, 0.0, SHARE)?;
    }
    rising(knots, |before, after| after.0 >= before.0, |knot| knot.0, "value")?;
    rising(knots, |before, after| after.1 >= before.1, |knot| knot.1, "cumulative probability")?;
    if last <= 1.000_001 { sums_to_one(last) } else { refuse("a cumulative probability", last, SHARE) }
}

/// Checks binary logarithms of shares and of values.
fn check_log_log(knots: &[(f64, f64)]) -> Result<(), DistributionError> {
    if knots.len() < 2 {
        return Err(DistributionError::Empty { needed: 2 });
    }
    for &(share, value) in knots {
        check("log2 of a share", share, f64::MIN, FINITE)?;
        check("log2 of a value", value, f64::MIN, FINITE)?;
        if share > 0.0 {
            return refuse("log2 of a share", share, "at most 0");
        }
    }
    rising(knots, |before, after| after.0 > before.0, |knot| knot.0, "log2 of a share")?;
    rising(knots, |before, after| after.1 < before.1, |knot| -knot.1, "-log2 of a value")
}

impl Law {
    /// The same with listed values in ascending order, as its quantiles are.
    pub(super) fn in_order(self) -> Law {
        let within = |of: Box<Law>| Box::new(of.in_order());
        match self {
            Law::Empirical(mut values) => {
                values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
                Law::Empirical(values)
            }
            Law::Mixture(parts) => {
                Law::Mixture(parts.into_iter().map(|(weight, law)| (weight, law.in_order())).collect())
            }
            Law::Truncated { of, min, max } => Law::Truncated { of: within(of), min, max },
            Law::Clipped { of, min, max } => Law::Clipped { of: within(of), min, max },
            Law::Rounded { of, to } => Law::Rounded { of: within(of), to },
            law => law,
        }
    }

    /// Whether its parameters are possible; `depth` counts the laws around it.
    pub(super) fn check(&self, depth: usize) -> Result<(), DistributionError> {
        if depth >= MOST_DEEP {
            return Err(DistributionError::TooDeep { most: MOST_DEEP });
        }
        match *self {
            Law::Constant(value) => check("a value", value, 0.0, NOT_NEGATIVE),
            Law::Uniform { min, max } => {
                check("min", min, 0.0, NOT_NEGATIVE)?;
                check("max", max, min, "not below min")
            }
            Law::Normal { mean, sd } => {
                check("mean", mean, 0.0, NOT_NEGATIVE)?;
                check("sd", sd, 0.0, NOT_NEGATIVE)
            }
            Law::Exponential { mean } => check("mean", mean, 0.0, NOT_NEGATIVE),
            Law::Lognormal { median, mean } => {
                above_zero("median", median)?;
                check("mean", mean, median, "not below the median")
            }
            Law::LognormalMuSigma { mu, sigma } => {
                check("mu", mu, f64::MIN, FINITE)?;
                check("sigma", sigma, 0.0, NOT_NEGATIVE)
            }
            Law::Pareto { min, shape } => {
                check("min", min, 0.0, NOT_NEGATIVE)?;
                above_zero("shape", shape)
            }
            Law::BoundedPareto { min, max, shape } => {
                above_zero("min", min)?;
                check("max", max, min.next_up(), "above min")?;
                above_zero("shape", shape)
            }
            Law::Weibull { shape, scale } => {
                above_zero("shape", shape)?;
                check("scale", scale, 0.0, NOT_NEGATIVE)
            }
            Law::Gamma { shape, scale } => {
                above_zero("shape", shape)?;
                if shape > gamma::MOST_SHAPE {
                    return refuse("shape", shape, "at most 1000000");
                }
                check("scale", scale, 0.0, NOT_NEGATIVE)
            }
            Law::Geometric { min, mean } => {
                check("min", min, 0.0, NOT_NEGATIVE)?;
                if min.fract() != 0.0 {
                    return refuse("min", min, "a whole number");
                }
                check("mean", mean, min, "not below min")
            }
            Law::LogExtreme { alpha, beta } => {
                check("alpha", alpha, f64::MIN, FINITE)?;
                above_zero("beta", beta)
            }
            Law::Empirical(ref values) => check_empirical(values),
            Law::Linear(ref knots) => check_linear(knots),
            Law::LogLog(ref knots) => check_log_log(knots),
            Law::Mixture(ref parts) => {
                for (weight, law) in parts {
                    check("a weight", *weight, 0.0, NOT_NEGATIVE)?;
                    law.check(depth + 1)?;
                }
                sums_to_one(parts.iter().fold(0.0, |sum, (weight, _)| sum + weight))
            }
            Law::Truncated { ref of, min, max } => {
                of.check(depth + 1)?;
                limits(min, max)?;
                if combined::left(of, min, max) > 0.0 {
                    return Ok(());
                }
                Err(DistributionError::NothingLeft { min, max })
            }
            Law::Clipped { ref of, min, max } => {
                of.check(depth + 1)?;
                limits(min, max)
            }
            Law::Rounded { ref of, .. } => of.check(depth + 1),
        }
    }

    /// The value at or below which a share `u` lies.
    pub(super) fn quantile(&self, u: f64) -> f64 {
        match *self {
            Law::Constant(value) => value,
            Law::Uniform { min, max } => min + u * (max - min),
            Law::Normal { mean, sd: 0.0 } => mean,
            Law::Normal { mean, sd } => {
                let below = normal::below(-mean / sd);
                (mean + sd * normal::quantile(below + u * (1.0 - below))).max(0.0)
            }
            Law::Exponential { mean } => -mean * libm::log1p(-u),
            Law::Lognormal { median, mean } => {
                let sigma = lognormal_sigma(median, mean);
                // At u = 0 the quantile is minus infinity, of which the exponential is zero; zero times it would be none.
                if sigma == 0.0 { median } else { median * libm::exp(sigma * normal::quantile(u)) }
            }
            Law::LognormalMuSigma { mu, sigma: 0.0 } => libm::exp(mu),
            Law::LognormalMuSigma { mu, sigma } => libm::exp(mu + sigma * normal::quantile(u)),
            Law::Pareto { min, shape } => min * libm::exp(-libm::log1p(-u) / shape),
            Law::BoundedPareto { min, max, shape } => {
                let kept = -libm::expm1(-shape * libm::log(max / min));
                (min * libm::exp(-libm::log1p(-u * kept) / shape)).min(max)
            }
            Law::Weibull { shape, scale } => scale * libm::pow(-libm::log1p(-u), 1.0 / shape),
            Law::Gamma { shape, scale } => scale * gamma::quantile(shape, u),
            Law::Geometric { min, mean } if mean == min => min,
            Law::Geometric { min, mean } => {
                let success = 1.0 / (mean - min + 1.0);
                min + libm::floor(libm::log1p(-u) / libm::log1p(-success))
            }
            Law::LogExtreme { alpha, beta } => libm::exp2(alpha - beta * libm::log(-libm::log(u))),
            Law::Empirical(ref values) => {
                let mut sum = 0.0;
                let within = values.iter().find(|(_, probability)| {
                    sum += probability;
                    u < sum
                });
                within.or(values.iter().rfind(|(_, probability)| *probability > 0.0)).map_or(0.0, |(value, _)| *value)
            }
            Law::Linear(ref knots) => knots::linear_quantile(knots, u),
            Law::LogLog(ref knots) => knots::log_log_quantile(knots, u),
            Law::Mixture(ref parts) => combined::mixture_quantile(parts, u),
            Law::Truncated { ref of, min, max } => combined::truncated_quantile(of, min, max, u),
            Law::Clipped { ref of, min, max } => of.quantile(u).clamp(min, max),
            Law::Rounded { ref of, to: Rounding::Up } => libm::ceil(of.quantile(u)),
            Law::Rounded { ref of, to: Rounding::Down } => libm::floor(of.quantile(u)),
        }
    }

    /// P(X <= x) and P(X > x), each with a relative accuracy of its own.
    pub(super) fn shares(&self, x: f64) -> (f64, f64) {
        let step = |at: f64| if x >= at { (1.0, 0.0) } else { (0.0, 1.0) };
        let below = |share: f64| (share, 1.0 - share);
        let above = |share: f64| (1.0 - share, share);
        if x < 0.0 {
            return (0.0, 1.0);
        }
        match *self {
            Law::Constant(value) => step(value),
            Law::Uniform { min, max } if max == min => step(min),
            Law::Uniform { min, max } => {
                (((x - min) / (max - min)).clamp(0.0, 1.0), ((max - x) / (max - min)).clamp(0.0, 1.0))
            }
            Law::Normal { mean, sd: 0.0 } => step(mean),
            Law::Normal { mean, sd } => {
                let (cut, kept) = (normal::below(-mean / sd), normal::below(mean / sd));
                let z = (x - mean) / sd;
                (((normal::below(z) - cut) / kept).clamp(0.0, 1.0), (normal::below(-z) / kept).clamp(0.0, 1.0))
            }
            Law::Exponential { mean: 0.0 } => step(0.0),
            Law::Exponential { mean } => (-libm::expm1(-x / mean), libm::exp(-x / mean)),
            Law::Lognormal { median, mean } => lognormal_shares(libm::log(x / median), lognormal_sigma(median, mean)),
            Law::LognormalMuSigma { mu, sigma } => lognormal_shares(libm::log(x) - mu, sigma),
            Law::Pareto { min: 0.0, .. } => step(0.0),
            Law::Pareto { min, shape } => {
                let power = -shape * libm::log(x / min).max(0.0);
                (-libm::expm1(power), libm::exp(power))
            }
            Law::BoundedPareto { min, max, shape } => {
                if x <= min || x >= max {
                    return if x >= max { (1.0, 0.0) } else { (0.0, 1.0) };
                }
                let kept = -libm::expm1(-shape * libm::log(max / min));
                let left = libm::exp(-shape * libm::log(max / min));
                let power = -shape * libm::log(x / min);
                // (min/x)^shape - (min/max)^shape without the difference of near numbers.
                let rest = left * libm::expm1(shape * libm::log(max / x));
                (-libm::expm1(power) / kept, rest / kept)
            }
            Law::Weibull { scale: 0.0, .. } | Law::Gamma { scale: 0.0, .. } => step(0.0),
            Law::Weibull { shape, scale } => {
                let power = -libm::pow(x / scale, shape);
                (-libm::expm1(power), libm::exp(power))
            }
            Law::Gamma { shape, scale } => gamma::shares(shape, x / scale),
            Law::Geometric { min, mean } if mean == min => step(min),
            Law::Geometric { min, mean } => {
                let failures = libm::floor(x) - min + 1.0;
                let power = failures.max(0.0) * libm::log1p(-1.0 / (mean - min + 1.0));
                (-libm::expm1(power), libm::exp(power))
            }
            Law::LogExtreme { alpha, beta } => {
                let power = -libm::exp(-(libm::log2(x) - alpha) / beta);
                (libm::exp(power), -libm::expm1(power))
            }
            Law::Empirical(ref values) => {
                let share = |wanted: &dyn Fn(f64) -> bool| {
                    values
                        .iter()
                        .filter(|(value, _)| wanted(*value))
                        .fold(0.0, |sum, (_, probability)| sum + probability)
                };
                (share(&|value| value <= x), share(&|value| value > x))
            }
            Law::Linear(ref knots) => below(knots::linear_share(knots, x)),
            Law::LogLog(ref knots) => above(knots::log_log_above(knots, x)),
            Law::Mixture(ref parts) => combined::mixture_shares(parts, x),
            Law::Truncated { ref of, min, max } => combined::truncated_shares(of, min, max, x),
            Law::Clipped { min, .. } if x < min => (0.0, 1.0),
            Law::Clipped { max, .. } if x >= max => (1.0, 0.0),
            Law::Clipped { ref of, .. } => of.shares(x),
            Law::Rounded { ref of, to: Rounding::Up } => of.shares(libm::floor(x)),
            Law::Rounded { ref of, to: Rounding::Down } => of.shares((libm::floor(x) + 1.0).next_down()),
        }
    }

    /// The mean, `None` if it is infinite.
    pub(super) fn mean(&self) -> Option<f64> {
        let mean = match *self {
            Law::Constant(value) => value,
            Law::Uniform { min, max } => 0.5 * (min + max),
            Law::Normal { mean, sd: 0.0 } => mean,
            Law::Normal { mean, sd } => mean + sd * normal::hazard(-mean / sd),
            Law::Exponential { mean } | Law::Lognormal { mean, .. } | Law::Geometric { mean, .. } => mean,
            Law::LognormalMuSigma { mu, sigma } => libm::exp(mu + 0.5 * sigma * sigma),
            Law::Pareto { min: 0.0, .. } => 0.0,
            Law::Pareto { shape, .. } if shape <= 1.0 => return None,
            Law::Pareto { min, shape } => min * shape / (shape - 1.0),
            Law::BoundedPareto { min, max, shape } => {
                // shape min^shape / kept * integral of x^-shape, which at shape 1 is a logarithm.
                let length = libm::log(max / min);
                let kept = -libm::expm1(-shape * length);
                let power = (1.0 - shape) * length;
                let integral = if power == 0.0 { length } else { length * libm::expm1(power) / power };
                min * shape / kept * integral
            }
            Law::Weibull { shape, scale } => scale * libm::tgamma(1.0 + 1.0 / shape),
            Law::Gamma { shape, scale } => shape * scale,
            Law::LogExtreme { beta, .. } if beta * std::f64::consts::LN_2 >= 1.0 => return None,
            Law::LogExtreme { alpha, beta } => libm::exp2(alpha) * libm::tgamma(1.0 - beta * std::f64::consts::LN_2),
            Law::Empirical(ref values) => values.iter().map(|(value, probability)| value * probability).sum(),
            Law::Linear(ref knots) => knots::linear_mean(knots),
            Law::LogLog(ref knots) => knots::log_log_mean(knots)?,
            Law::Mixture(ref parts) => {
                let parts = parts.iter().filter(|(weight, _)| *weight > 0.0);
                parts.map(|(weight, law)| law.mean().map(|mean| weight * mean)).sum::<Option<f64>>()?
            }
            Law::Truncated { ref of, min, max } => combined::truncated_mean(of, min, max)?,
            Law::Clipped { ref of, min, max } => combined::clipped_mean(of, min, max)?,
            Law::Rounded { ref of, to } => combined::rounded_mean(of, to)?,
        };
        mean.is_finite().then_some(mean)
    }

    /// The largest value, infinite for most.
    pub(super) fn max(&self) -> f64 {
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        match *self {
            Law::Constant(value) => value,
            Law::Uniform { max, .. } | Law::BoundedPareto { max, .. } => max,
            Law::Normal { mean, sd: 0.0 } => mean,
            Law::Lognormal { median, mean } if median == mean => mean,
            Law::LognormalMuSigma { mu, sigma: 0.0 } => libm::exp(mu),
            Law::Exponential { mean: 0.0 }
            | Law::Pareto { min: 0.0, .. }
            | Law::Weibull { scale: 0.0, .. }
            | Law::Gamma { scale: 0.0, .. } => 0.0,
            Law::Geometric { min, mean } if mean == min => min,
            Law::Empirical(ref values) => largest(&mut values.iter().map(|(value, _)| *value)),
            Law::Linear(ref knots) => knots.last().map_or(0.0, |knot| knot.0),
            Law::Mixture(ref parts) => {
                largest(&mut parts.iter().filter(|(weight, _)| *weight > 0.0).map(|(_, law)| law.max()))
            }
            Law::Truncated { ref of, max, .. } => of.max().min(max),
            Law::Clipped { ref of, min, max } => of.max().clamp(min, max),
            Law::Rounded { ref of, to: Rounding::Up } => libm::ceil(of.max()),
            Law::Rounded { ref of, to: Rounding::Down } => libm::floor(of.max()),
            _ => f64::INFINITY,
        }
    }

    /// The alpha of P(X > x) ~ x^-alpha, of a law with such a tail.
    pub(super) fn tail_index(&self) -> Option<f64> {
        match *self {
            Law::Pareto { min, shape } if min > 0.0 => Some(shape),
            Law::LogExtreme { beta, .. } => Some(1.0 / (beta * std::f64::consts::LN_2)),
            Law::LogLog(ref knots) => Some(knots::log_log_tail(knots)),
            Law::Mixture(ref parts) => {
                let tails = parts.iter().filter(|(weight, _)| *weight > 0.0).filter_map(|(_, law)| law.tail_index());
                tails.reduce(f64::min)
            }
            Law::Truncated { ref of, max, .. } | Law::Clipped { ref of, max, .. } if max == f64::INFINITY => {
                of.tail_index()
            }
            Law::Rounded { ref of, .. } => of.tail_index(),
            _ => None,
        }
    }
}

fn limits(min: f64, max: f64) -> Result<(), DistributionError> {
    check("min", min, 0.0, NOT_NEGATIVE)?;
    if max >= min { Ok(()) } else { refuse("max", max, "not below min") }
}

fn rising(
    knots: &[(f64, f64)],
    in_order: impl Fn(&(f64, f64), &(f64, f64)) -> bool,
    value: impl Fn(&(f64, f64)) -> f64,
    what: &'static str,
) -> Result<(), DistributionError> {
    match knots.windows(2).position(|pair| !in_order(&pair[0], &pair[1])) {
        None => Ok(()),
        Some(at) => Err(DistributionError::NotRising {
            what,
            knot: at + 2,
            before: value(&knots[at]),
            after: value(&knots[at + 1]),
        }),
    }
}

fn lognormal_sigma(median: f64, mean: f64) -> f64 {
    libm::sqrt(2.0 * libm::log(mean / median))
}

/// The shares of a lognormal law whose logarithm has deviation `sigma`, `distance` above its median's.
fn lognormal_shares(distance: f64, sigma: f64) -> (f64, f64) {
    if sigma == 0.0 {
        return if distance >= 0.0 { (1.0, 0.0) } else { (0.0, 1.0) };
    }
    (normal::below(distance / sigma), normal::below(-distance / sigma))
}
