//! Quantities that are constant or drawn: `"20ms"`, or `{ kind = "lognormal", median = "64ms", mean = "101ms" }`.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use flowloom_core::model::{self, Distribution, DistributionError};
use flowloom_core::path::Rules;
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, ParseQuantityError, Probability, Rate};

use super::Quantity;
use super::text_or_table::{self, TextOrTable};

/// A quantity that a distribution can be of.
pub trait Number: FromStr<Err = ParseQuantityError> + Clone {
    /// It in its smallest unit: nanoseconds, bit/s, a share of one.
    fn number(&self) -> f64;

    /// Why it cannot be that of a path, if it cannot.
    fn impossible(&self) -> Option<String>;
}

impl Number for Duration {
    fn number(&self) -> f64 {
        self.as_nanos() as f64
    }

    fn impossible(&self) -> Option<String> {
        (*self > Rules::MAX_DELAY).then(|| format!("too long (at most {})", Rules::MAX_DELAY))
    }
}

impl Number for Rate {
    fn number(&self) -> f64 {
        self.bits_per_second().map_or(f64::INFINITY, |bits| bits as f64)
    }

    fn impossible(&self) -> Option<String> {
        let slow = self.bits_per_second().is_some_and(|bits| bits < Rules::MIN_BITS_PER_SECOND);
        slow.then(|| format!("too slow (at least {} bit/s)", Rules::MIN_BITS_PER_SECOND))
    }
}

impl Number for Share {
    fn number(&self) -> f64 {
        self.0.get()
    }

    fn impossible(&self) -> Option<String> {
        None
    }
}

/// A share of packets: `1%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub Probability);

impl FromStr for Share {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Share, ParseQuantityError> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
        percent.and_then(|percent| Probability::new(percent / 100.0)).map(Share).ok_or_else(|| ParseQuantityError {
            text: text.to_owned(),
            expected: "a share of 0% to 100%",
            example: "0.1%",
        })
    }
}

/// Bytes, as tc spells them: `1000b`, `64k`, `4m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Size, ParseQuantityError> {
        match text.parse() {
            Ok(Limit::Bytes(bytes)) => Ok(Size(bytes)),
            _ => Err(ParseQuantityError {
                text: text.to_owned(),
                expected: "a number of bytes",
                example: "1000b or 64k",
            }),
        }
    }
}

impl Number for Size {
    fn number(&self) -> f64 {
        self.0 as f64
    }

    fn impossible(&self) -> Option<String> {
        None
    }
}

/// A length of time that no path has: of a program, which may be patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Span, ParseQuantityError> {
        text.parse().map(Span)
    }
}

impl Number for Span {
    fn number(&self) -> f64 {
        self.0.number()
    }

    fn impossible(&self) -> Option<String> {
        None
    }
}

/// A constant, or a distribution whose parameters have been found possible.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawn<T> {
    /// Always this.
    Constant(Quantity<T>),
    /// Drawn from this.
    Law(Law<T>),
}

/// The laws, with their parameters as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    deny_unknown_fields,
    bound(deserialize = "T: FromStr<Err = ParseQuantityError>", serialize = "")
)]
pub enum Law<T> {
    /// From `min` to `max`.
    Uniform { min: Quantity<T>, max: Quantity<T> },
    /// Cut at zero.
    Normal { mean: Quantity<T>, sd: Quantity<T> },
    /// By its mean.
    Exponential { mean: Quantity<T> },
    /// By median and mean.
    Lognormal { median: Quantity<T>, mean: Quantity<T> },
    /// By the smallest value and the tail index.
    Pareto { min: Quantity<T>, shape: f64 },
    /// By scale and shape.
    Weibull { scale: Quantity<T>, shape: f64 },
    /// Values with their probabilities.
    Empirical { values: Vec<(Quantity<T>, f64)> },
}

impl<T> Drawn<T> {
    /// Whether it differs from draw to draw.
    pub fn is_law(&self) -> bool {
        matches!(self, Drawn::Law(_))
    }
}

impl<T: Number> Drawn<T> {
    /// The distribution, in the smallest unit.
    pub fn distribution(&self) -> Result<Distribution, DistributionError> {
        let number = |quantity: &Quantity<T>| quantity.value.number();
        Distribution::new(match self {
            Drawn::Constant(value) => model::Law::Constant(number(value)),
            Drawn::Law(law) => match law {
                Law::Uniform { min, max } => model::Law::Uniform { min: number(min), max: number(max) },
                Law::Normal { mean, sd } => model::Law::Normal { mean: number(mean), sd: number(sd) },
                Law::Exponential { mean } => model::Law::Exponential { mean: number(mean) },
                Law::Lognormal { median, mean } => model::Law::Lognormal { median: number(median), mean: number(mean) },
                Law::Pareto { min, shape } => model::Law::Pareto { min: number(min), shape: *shape },
                Law::Weibull { scale, shape } => model::Law::Weibull { scale: number(scale), shape: *shape },
                Law::Empirical { values } => {
                    model::Law::Empirical(values.iter().map(|(value, share)| (number(value), *share)).collect())
                }
            },
        })
    }

    /// The distribution of one that was read, which is possible.
    pub fn checked(&self) -> Distribution {
        self.distribution().unwrap_or_else(|error| unreachable!("checked when it was read: {error}"))
    }

    fn check(self) -> Result<Self, String> {
        // Of a law, what is drawn beyond is taken as the bound.
        if let Drawn::Constant(value) = &self
            && let Some(problem) = value.value.impossible()
        {
            return Err(format!("{value} is {problem}"));
        }
        match self.distribution() {
            Ok(_) => Ok(self),
            // In the file the number has a unit; the key is enough.
            Err(DistributionError::Parameter { name, expected, .. }) => {
                Err(format!("{name} of a distribution must be {expected}"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

impl<T: Number> TextOrTable for Drawn<T> {
    const EXPECTED: &'static str =
        "a value in quotes, or a distribution as { kind = \"uniform\", min = ..., max = ... }";
    type Table = Law<T>;

    fn of_text(text: &str) -> Result<Self, String> {
        text.parse().map(Drawn::Constant).map_err(|error: ParseQuantityError| error.to_string())?.check()
    }

    fn of_table(law: Law<T>) -> Result<Self, String> {
        Drawn::Law(law).check()
    }
}

impl<'de, T: Number> Deserialize<'de> for Drawn<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_table::read(deserializer)
    }
}

impl<T> Serialize for Drawn<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Drawn::Constant(value) => value.serialize(serializer),
            Drawn::Law(law) => law.serialize(serializer),
        }
    }
}
