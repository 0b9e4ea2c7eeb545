//! How laws are written in experiment files: `{ kind = "lognormal", median = "64ms", mean = "101ms" }`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::keys::form::text_or_other;

use super::Distribution;
use super::error::DistributionError;
use super::law::{Law, Rounding};

/// A distribution as it is written, with quantities `Q` for what has the unit of the values: a number in the unit of its key, or a text
/// with a unit of its own. `docs/reference/models.md` explains the keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "distribution-of-{Q}")]
pub enum WrittenLaw<Q> {
    /// The same value always.
    Constant {
        /// The value.
        value: Q,
    },
    /// All values between two limits are equally likely.
    Uniform {
        /// Smallest value.
        min: Q,
        /// Largest value.
        max: Q,
    },
    /// Normal distribution without values below zero.
    Normal {
        /// Mean before these values are left out.
        mean: Q,
        /// Standard deviation before these values are left out.
        sd: Q,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean.
        mean: Q,
    },
    /// Lognormal distribution, by median and mean, by median and sigma, or by mu and sigma.
    #[serde(bound(deserialize = "Q: Deserialize<'de>"))]
    Lognormal {
        /// Median.
        #[schemars(default)]
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        median: Option<Q>,
        /// Mean.
        #[schemars(default)]
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        mean: Option<Q>,
        /// Mean of the natural logarithm.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mu: Option<f64>,
        /// Standard deviation of the natural logarithm.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0))]
        sigma: Option<f64>,
    },
    /// Pareto distribution.
    Pareto {
        /// Smallest value.
        min: Q,
        /// Tail index.
        #[schemars(extend("exclusiveMinimum" = 0))]
        shape: f64,
    },
    /// Pareto distribution between two limits.
    BoundedPareto {
        /// Smallest value.
        min: Q,
        /// Largest value.
        max: Q,
        /// Tail index.
        #[schemars(extend("exclusiveMinimum" = 0))]
        shape: f64,
    },
    /// Weibull distribution.
    Weibull {
        /// Scale: 63.2 % of the values are below it.
        scale: Q,
        /// Shape.
        #[schemars(extend("exclusiveMinimum" = 0))]
        shape: f64,
    },
    /// Gamma distribution.
    Gamma {
        /// Scale: the mean divided by the shape.
        scale: Q,
        /// Shape.
        #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
        shape: f64,
    },
    /// Geometric distribution.
    #[serde(bound(deserialize = "Q: Deserialize<'de>"))]
    Geometric {
        /// Mean.
        mean: Q,
        /// Smallest value; default: 1.
        #[schemars(default)]
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
    },
    /// Log-extreme distribution: the logarithm to base 2 has an extreme value distribution.
    LogExtreme {
        /// Location of the logarithm to base 2.
        alpha: f64,
        /// Scale of the logarithm to base 2.
        #[schemars(extend("exclusiveMinimum" = 0))]
        beta: f64,
    },
    /// Listed values.
    Empirical {
        /// Values with their probabilities.
        values: Vec<(Q, f64)>,
    },
    /// Distribution function of straight lines between points.
    Linear {
        /// Values with their cumulative probabilities.
        points: Vec<(Q, f64)>,
    },
    /// Complementary distribution function of straight lines between points in logarithms to base 2.
    LogLog {
        /// Logarithm of the share of larger values, with the logarithm of the value.
        points: Vec<(f64, f64)>,
    },
    /// Mixture of distributions.
    Mixture {
        /// Distributions with their weights.
        parts: Vec<Part<Q>>,
    },
    /// Another distribution without the values outside of two limits.
    #[serde(bound(deserialize = "Q: Deserialize<'de>"))]
    Truncated {
        /// The other distribution.
        of: Box<WrittenLaw<Q>>,
        /// Lower limit; default: 0.
        #[schemars(default)]
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
        /// Upper limit; default: none.
        #[schemars(default)]
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        max: Option<Q>,
    },
    /// Another distribution whose values outside of two limits become the limits.
    #[serde(bound(deserialize = "Q: Deserialize<'de>"))]
    Clipped {
        /// The other distribution.
        of: Box<WrittenLaw<Q>>,
        /// Lower limit; default: 0.
        #[schemars(default)]
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
        /// Upper limit; default: none.
        #[schemars(default)]
        #[serde(default = "none", skip_serializing_if = "Option::is_none")]
        max: Option<Q>,
    },
    /// Another distribution in whole numbers of the smallest unit.
    Rounded {
        /// The other distribution.
        of: Box<WrittenLaw<Q>>,
        /// Direction of rounding.
        to: Rounding,
    },
}

/// A part of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "part-of-{Q}")]
pub struct Part<Q> {
    /// Probability of this distribution.
    #[schemars(range(min = 0))]
    pub weight: f64,
    /// The distribution.
    pub of: WrittenLaw<Q>,
}

fn none<Q>() -> Option<Q> {
    None
}

impl<Q> WrittenLaw<Q> {
    /// The law it means. `number` gives a quantity in the smallest unit; logarithms (`mu`, `alpha`, those of points) are of
    /// values in a unit that is `unit` smallest ones.
    ///
    /// # Errors
    /// If keys are given that do not go together. Whether the parameters are possible is found by [`Distribution::new`].
    pub fn law(&self, number: &dyn Fn(&Q) -> f64, unit: f64) -> Result<Law, DistributionError> {
        let limits = |min: &Option<Q>, max: &Option<Q>| {
            (min.as_ref().map_or(0.0, number), max.as_ref().map_or(f64::INFINITY, number))
        };
        let pairs = |pairs: &[(Q, f64)]| pairs.iter().map(|(value, share)| (number(value), *share)).collect();
        Ok(match self {
            WrittenLaw::Constant { value } => Law::Constant(number(value)),
            WrittenLaw::Uniform { min, max } => Law::Uniform { min: number(min), max: number(max) },
            WrittenLaw::Normal { mean, sd } => Law::Normal { mean: number(mean), sd: number(sd) },
            WrittenLaw::Exponential { mean } => Law::Exponential { mean: number(mean) },
            WrittenLaw::Lognormal { median: Some(median), mean: Some(mean), mu: None, sigma: None } => {
                Law::Lognormal { median: number(median), mean: number(mean) }
            }
            WrittenLaw::Lognormal { median: Some(median), mean: None, mu: None, sigma: Some(sigma) } => {
                match number(median) {
                    median if median > 0.0 => Law::LognormalMuSigma { mu: libm::log(median), sigma: *sigma },
                    value => {
                        return Err(DistributionError::Parameter {
                            name: "median",
                            value,
                            expected: "a number above zero",
                        });
                    }
                }
            }
            WrittenLaw::Lognormal { median: None, mean: None, mu: Some(mu), sigma: Some(sigma) } => {
                Law::LognormalMuSigma { mu: mu + libm::log(unit), sigma: *sigma }
            }
            WrittenLaw::Lognormal { .. } => {
                return Err(DistributionError::Keys {
                    law: "lognormal",
                    expected: "median and mean, median and sigma, or mu and sigma",
                });
            }
            WrittenLaw::Pareto { min, shape } => Law::Pareto { min: number(min), shape: *shape },
            WrittenLaw::BoundedPareto { min, max, shape } => {
                Law::BoundedPareto { min: number(min), max: number(max), shape: *shape }
            }
            WrittenLaw::Weibull { scale, shape } => Law::Weibull { scale: number(scale), shape: *shape },
            WrittenLaw::Gamma { scale, shape } => Law::Gamma { scale: number(scale), shape: *shape },
            WrittenLaw::Geometric { mean, min } => {
                Law::Geometric { min: min.as_ref().map_or(1.0, number), mean: number(mean) }
            }
            WrittenLaw::LogExtreme { alpha, beta } => Law::LogExtreme { alpha: alpha + libm::log2(unit), beta: *beta },
            WrittenLaw::Empirical { values } => Law::Empirical(pairs(values)),
            WrittenLaw::Linear { points } => Law::Linear(pairs(points)),
            WrittenLaw::LogLog { points } => {
                Law::LogLog(points.iter().map(|(share, value)| (*share, value + libm::log2(unit))).collect())
            }
            WrittenLaw::Mixture { parts } => {
                let parts = parts.iter().map(|part| Ok((part.weight, part.of.law(number, unit)?)));
                Law::Mixture(parts.collect::<Result<_, DistributionError>>()?)
            }
            WrittenLaw::Truncated { of, min, max } => {
                let (of, (min, max)) = (of.law(number, unit)?.into(), limits(min, max));
                Law::Truncated { of, min, max }
            }
            WrittenLaw::Clipped { of, min, max } => {
                let (of, (min, max)) = (of.law(number, unit)?.into(), limits(min, max));
                Law::Clipped { of, min, max }
            }
            WrittenLaw::Rounded { of, to } => Law::Rounded { of: of.law(number, unit)?.into(), to: *to },
        })
    }

    /// `law` as it is written, with quantities that `quantity` makes of numbers in the smallest unit. Logarithms are of
    /// values in a unit that is `unit` smallest ones.
    pub fn of(law: &Law, quantity: &dyn Fn(f64) -> Q, unit: f64) -> WrittenLaw<Q> {
        let limits = |min: f64, max: f64| ((min > 0.0).then(|| quantity(min)), max.is_finite().then(|| quantity(max)));
        let pairs = |pairs: &[(f64, f64)]| pairs.iter().map(|&(value, share)| (quantity(value), share)).collect();
        let inner = |of: &Law| Box::new(WrittenLaw::of(of, quantity, unit));
        match *law {
            Law::Constant(value) => WrittenLaw::Constant { value: quantity(value) },
            Law::Uniform { min, max } => WrittenLaw::Uniform { min: quantity(min), max: quantity(max) },
            Law::Normal { mean, sd } => WrittenLaw::Normal { mean: quantity(mean), sd: quantity(sd) },
            Law::Exponential { mean } => WrittenLaw::Exponential { mean: quantity(mean) },
            Law::Lognormal { median, mean } => WrittenLaw::Lognormal {
                median: Some(quantity(median)),
                mean: Some(quantity(mean)),
                mu: None,
                sigma: None,
            },
            Law::LognormalMuSigma { mu, sigma } => {
                WrittenLaw::Lognormal { median: None, mean: None, mu: Some(mu - libm::log(unit)), sigma: Some(sigma) }
            }
            Law::Pareto { min, shape } => WrittenLaw::Pareto { min: quantity(min), shape },
            Law::BoundedPareto { min, max, shape } => {
                WrittenLaw::BoundedPareto { min: quantity(min), max: quantity(max), shape }
            }
            Law::Weibull { shape, scale } => WrittenLaw::Weibull { scale: quantity(scale), shape },
            Law::Gamma { shape, scale } => WrittenLaw::Gamma { scale: quantity(scale), shape },
            Law::Geometric { min, mean } => {
                WrittenLaw::Geometric { mean: quantity(mean), min: (min != 1.0).then(|| quantity(min)) }
            }
            Law::LogExtreme { alpha, beta } => WrittenLaw::LogExtreme { alpha: alpha - libm::log2(unit), beta },
            Law::Empirical(ref values) => WrittenLaw::Empirical { values: pairs(values) },
            Law::Linear(ref knots) => WrittenLaw::Linear { points: pairs(knots) },
            Law::LogLog(ref knots) => WrittenLaw::LogLog {
                points: knots.iter().map(|&(share, value)| (share, value - libm::log2(unit))).collect(),
            },
            Law::Mixture(ref parts) => {
                let part =
                    |(weight, law): &(f64, Law)| Part { weight: *weight, of: WrittenLaw::of(law, quantity, unit) };
                WrittenLaw::Mixture { parts: parts.iter().map(part).collect() }
            }
            Law::Truncated { ref of, min, max } => {
                let (min, max) = limits(min, max);
                WrittenLaw::Truncated { of: inner(of), min, max }
            }
            Law::Clipped { ref of, min, max } => {
                let (min, max) = limits(min, max);
                WrittenLaw::Clipped { of: inner(of), min, max }
            }
            Law::Rounded { ref of, to } => WrittenLaw::Rounded { of: inner(of), to },
        }
    }
}

/// In files a number is a constant and a table a law, in the unit that the key says; between processes the law as it is.
impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.law() {
            law if !serializer.is_human_readable() => law.serialize(serializer),
            Law::Constant(value) => value.serialize(serializer),
            law => WrittenLaw::of(law, &|number| number, 1.0).serialize(serializer),
        }
    }
}

impl JsonSchema for Distribution {
    fn schema_name() -> Cow<'static, str> {
        "drawn-number".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({ "type": "number", "minimum": 0 });
        let forms = vec![number, generator.subschema_for::<WrittenLaw<f64>>()];
        text_or_other("drawn-number", "A number, or the distribution it is drawn from.", forms)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Distribution, D::Error> {
        struct NumberOrTable;

        impl<'de> Visitor<'de> for NumberOrTable {
            type Value = Law;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a distribution as { kind = \"uniform\", min = ..., max = ... }")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Law, E> {
                Ok(Law::Constant(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Law, E> {
                Ok(Law::Constant(value as f64))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Law, E> {
                Ok(Law::Constant(value as f64))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Law, A::Error> {
                let written: WrittenLaw<f64> = Deserialize::deserialize(MapAccessDeserializer::new(map))?;
                written.law(&|number| *number, 1.0).map_err(A::Error::custom)
            }
        }

        let law = if deserializer.is_human_readable() {
            deserializer.deserialize_any(NumberOrTable)?
        } else {
            Law::deserialize(deserializer)?
        };
        Distribution::new(law).map_err(D::Error::custom)
    }
}
