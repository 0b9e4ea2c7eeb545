//! Quantities that are constant or drawn: `"20ms"`, or `{ kind = "lognormal", median = "64ms", mean = "101ms" }`.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::distribution::{Distribution, DistributionError, Law, WrittenLaw};
use crate::path::Rules;
use crate::time::Duration;
use crate::units::{Limit, ParseQuantityError, Probability, Rate};

use super::amount::Amount;
use super::form::Written;
use super::quantity::Quantity;
use super::text_or_table::{self, TextOrTable};

/// A quantity that a distribution can be of.
pub trait Number: Written + Clone {
    /// The least that a constant may be, as the schema states it.
    const LEAST: Option<&'static str> = None;

    /// The most that a constant may be.
    const MOST: Option<&'static str> = None;

    /// A text that [`Number::impossible`] refuses although it has neither bound.
    const NEVER: Option<&'static str> = None;

    /// Smallest units in the unit that logarithms are of: seconds, bytes, bit/s, a share of one.
    const UNIT: f64;

    /// It in its smallest unit: nanoseconds, bytes, bit/s, a share of one.
    fn number(&self) -> f64;

    /// Why it cannot be that of a path, if it cannot.
    fn impossible(&self) -> Option<String>;

    /// A number of smallest units as a reader expects it.
    fn shown(number: f64) -> String {
        number.to_string()
    }
}

impl Number for Duration {
    const MOST: Option<&'static str> = Some("1h");
    const UNIT: f64 = 1e9;

    fn number(&self) -> f64 {
        self.as_nanos() as f64
    }

    fn impossible(&self) -> Option<String> {
        (*self > Rules::MAX_DELAY).then(|| format!("too long (at most {})", Rules::MAX_DELAY.written()))
    }

    fn shown(number: f64) -> String {
        if number.is_finite() { Duration::from_nanos(number as u64).to_string() } else { "no limit".to_owned() }
    }
}

impl Number for Rate {
    const LEAST: Option<&'static str> = Some("100bit");
    const MOST: Option<&'static str> = Some("100tbit");
    const NEVER: Option<&'static str> = Some("unlimited");
    const UNIT: f64 = 1.0;

    fn number(&self) -> f64 {
        self.bits_per_second().map_or(f64::INFINITY, |bits| bits as f64)
    }

    fn impossible(&self) -> Option<String> {
        match *self {
            Rate::UNLIMITED => Some("not possible here: leave the key out for no limit".to_owned()),
            rate => rate.impossible(),
        }
    }
}

impl Number for Share {
    const UNIT: f64 = 1.0;

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
        let number = text.strip_suffix('%').map(|number| number.trim_end_matches(' '));
        // With an exponent it is a small share, of which the digits alone say that it is one.
        let is_share = |number: &&str| match number.split_once(['e', 'E']) {
            Some((digits, exponent)) => {
                exponent.starts_with('-') && digits.parse().is_ok_and(|digits| (0.0..=100.0).contains(&digits))
            }
            None => true,
        };
        let percent = number.filter(is_share).and_then(|number| number.parse::<f64>().ok());
        let percent = percent.filter(|percent| percent.is_sign_positive());
        percent.and_then(|percent| Probability::new(percent / 100.0)).map(Share).ok_or_else(|| {
            ParseQuantityError::Form { text: text.to_owned(), expected: "a share of 0% to 100%", example: "0.1%" }
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
            _ => Err(ParseQuantityError::Form {
                text: text.to_owned(),
                expected: "a number of bytes",
                example: "1000b or 64k",
            }),
        }
    }
}

impl Number for Size {
    const UNIT: f64 = 1.0;

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
    const UNIT: f64 = 1e9;

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
    Law(WrittenLaw<Quantity<T>>),
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
            Drawn::Constant(value) => Law::Constant(number(value)),
            Drawn::Law(law) => law.law(&number, T::UNIT)?,
        })
    }

    /// The constant, if it is one that can have bounds.
    pub fn amount(&self) -> Option<Amount> {
        match self {
            Drawn::Constant(value) => value.value.amount(),
            Drawn::Law(_) => None,
        }
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
            Err(DistributionError::NothingLeft { min, max }) => {
                let [min, max] = [min, max].map(T::shown);
                Err(format!("nothing of the distribution lies between {min} and {max}"))
            }
            Err(DistributionError::NotRising { what: what @ "value", knot, before, after }) => {
                let [before, after] = [before, after].map(T::shown);
                Err(format!("a distribution function rises: {what} of {after} at point {knot} comes after {before}"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

impl<T: Number> TextOrTable for Drawn<T> {
    const EXPECTED: &'static str =
        "a value in quotes, or a distribution as { kind = \"uniform\", min = ..., max = ... }";
    type Table = WrittenLaw<Quantity<T>>;

    fn of_text(text: &str) -> Result<Self, String> {
        text.parse().map(Drawn::Constant).map_err(|error: ParseQuantityError| error.to_string())?.check()
    }

    fn of_number(number: f64) -> Option<Result<Self, String>> {
        T::PLAIN.map(|unit| Self::of_text(&format!("{number}{unit}")))
    }

    fn of_table(law: WrittenLaw<Quantity<T>>) -> Result<Self, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Keys {
        delay: Option<Drawn<Duration>>,
        bytes: Option<Drawn<Size>>,
    }

    fn read(text: &str) -> Keys {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn every_law_can_be_written_and_is_written_back_as_it_was() {
        let kinds = [
            r#"kind = "constant", value = "20ms""#,
            r#"kind = "uniform", min = "10ms", max = "20ms""#,
            r#"kind = "normal", mean = "10ms", sd = "2ms""#,
            r#"kind = "exponential", mean = "10ms""#,
            r#"kind = "lognormal", median = "64ms", mean = "101ms""#,
            r#"kind = "lognormal", median = "64ms", sigma = 0.5"#,
            r#"kind = "lognormal", mu = -2.7, sigma = 0.5"#,
            r#"kind = "pareto", min = "1ms", shape = 1.5"#,
            r#"kind = "bounded-pareto", min = "1ms", max = "10s", shape = 1.5"#,
            r#"kind = "weibull", scale = "1ms", shape = 0.5"#,
            r#"kind = "gamma", scale = "1ms", shape = 3"#,
            r#"kind = "geometric", mean = "40ns""#,
            r#"kind = "geometric", mean = "40ns", min = "0ns""#,
            r#"kind = "log-extreme", alpha = -3.0, beta = 0.5"#,
            r#"kind = "empirical", values = [["1ms", 0.5], ["2ms", 0.5]]"#,
            r#"kind = "linear", points = [["1ms", 0.0], ["2ms", 0.7], ["10ms", 1.0]]"#,
            r#"kind = "log-log", points = [[-10.0, 3.0], [-1.0, -2.0], [0.0, -4.0]]"#,
            r#"kind = "mixture", parts = [{ weight = 0.3, of = { kind = "constant", value = "0ms" } }, { weight = 0.7, of = { kind = "pareto", min = "1ms", shape = 2.0 } }]"#,
            r#"kind = "truncated", of = { kind = "pareto", min = "1ms", shape = 0.9 }, max = "1s""#,
            r#"kind = "clipped", of = { kind = "exponential", mean = "1ms" }, min = "1us", max = "1s""#,
            r#"kind = "rounded", of = { kind = "exponential", mean = "1ms" }, to = "up""#,
        ];
        for kind in kinds {
            let keys = read(&format!("delay = {{ {kind} }}"));
            let distribution = keys.delay.as_ref().unwrap().checked();
            let again = read(&toml::to_string(&keys).unwrap());
            assert_eq!(again.delay, keys.delay);
            // All of them are between nanoseconds and minutes: units were not mixed up.
            let median = distribution.quantile(0.5);
            assert!((1.0..6e10).contains(&median), "{kind}: {median}");
        }
    }

    #[test]
    fn logarithms_are_of_seconds_and_bytes() {
        let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-12, "{found}, not {wanted}");
        let keys = read(
            "delay = { kind = \"lognormal\", mu = 0.0, sigma = 1.0 }\nbytes = { kind = \"lognormal\", mu = 7.0, sigma = 1.0 }",
        );
        near(keys.delay.unwrap().checked().quantile(0.5), 1e9);
        near(keys.bytes.unwrap().checked().quantile(0.5), 7f64.exp());
        let keys = read("delay = { kind = \"log-log\", points = [[-1.0, 3.0], [0.0, 1.0]] }");
        near(keys.delay.unwrap().checked().quantile(0.5), 8e9);
    }

    #[test]
    fn impossible_laws_are_refused() {
        let refused = [
            (
                r#"{ kind = "lognormal", mu = 1.0, sigma = -1.0 }"#,
                "sigma of a distribution must be a number that is not negative",
            ),
            (
                r#"{ kind = "lognormal", median = "0ms", sigma = 1.0 }"#,
                "median of a distribution must be a number above zero",
            ),
            (
                r#"{ kind = "lognormal", mean = "1ms" }"#,
                "a lognormal distribution is given by median and mean, median and sigma",
            ),
            (r#"{ kind = "lognormal", median = "1ms", mean = "2ms", sigma = 1.0 }"#, "is given by median and mean"),
            (
                r#"{ kind = "linear", points = [["2ms", 0.5], ["1ms", 1.0]] }"#,
                "a distribution function rises: value of",
            ),
            (
                r#"{ kind = "linear", points = [["1ms", 0.5], ["2ms", 0.2], ["3ms", 1.0]] }"#,
                "cumulative probability of 0.2 at point 2",
            ),
            (r#"{ kind = "linear", points = [] }"#, "needs points: at least 1"),
            (r#"{ kind = "log-log", points = [[0.0, 1.0]] }"#, "needs points: at least 2"),
            (
                r#"{ kind = "mixture", parts = [{ weight = 0.5, of = { kind = "exponential", mean = "1ms" } }] }"#,
                "add up to 0.5",
            ),
            (
                r#"{ kind = "mixture", parts = [{ weight = 1.0, of = { kind = "pareto", min = "1ms", shape = -1.0 } }] }"#,
                "shape of a distribution must be a number above zero",
            ),
            (
                r#"{ kind = "mixture", parts = [{ wait = 1.0, of = { kind = "exponential", mean = "1ms" } }] }"#,
                "unknown field `wait`",
            ),
            (
                r#"{ kind = "truncated", of = { kind = "uniform", min = "1ms", max = "2ms" }, min = "3ms" }"#,
                "nothing of the distribution lies between 3.00 ms and no limit",
            ),
            (
                r#"{ kind = "clipped", of = { kind = "exponential", mean = "1ms" }, min = "3ms", max = "2ms" }"#,
                "max of a distribution must be not below min",
            ),
            (
                r#"{ kind = "rounded", of = { kind = "exponential", mean = "1ms" }, to = "nearest" }"#,
                "unknown variant `nearest`",
            ),
            (r#"{ kind = "gamma", scale = "1ms" }"#, "missing field `shape`"),
            (r#"{ kind = "gamma", scale = 5, shape = 1.0 }"#, "invalid type: integer `5`"),
            (
                r#"{ kind = "bounded-pareto", min = "2ms", max = "1ms", shape = 1.0 }"#,
                "max of a distribution must be above min",
            ),
            (r#"{ kind = "zipf", shape = 1.0 }"#, "unknown variant `zipf`"),
        ];
        for (law, message) in refused {
            let error = toml::from_str::<Keys>(&format!("delay = {law}")).unwrap_err().to_string();
            assert!(error.contains(message), "{law}: {error}");
        }
    }
}
