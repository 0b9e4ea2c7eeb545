//! `[workload] rtt`: which round-trip time each connection gets (methods B.3, `docs/reference/models.md`).

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use flowloom_core::keys::{Quantity, Share, TextOrTable, Written, read, text_or_other};
use flowloom_core::path::Rules;
use flowloom_core::time::Duration;
use flowloom_core::units::ParseQuantityError;
use flowloom_core::workload::LinkSide;
use flowloom_models::{
    Approximation, Assignment, PUBLISHED, Place, Published, RoundTrips, discrete_approximation, mean_rtt, median_rtt,
};

/// `rtt = "usernet"`, or a table with the same name as its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Rtt {
    /// As it was written, where that was a text.
    text: Option<String>,
    /// Which.
    pub model: RttModel,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RttModel {
    /// Each connection its own; unknown ones the median.
    Usernet {
        /// Where the round-trip time is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Placing>,
    },
    /// The same for all.
    Value {
        /// The round-trip time.
        #[schemars(extend("most" = "1h"))]
        rtt: Quantity<Duration>,
        /// Where the round-trip time is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Placing>,
    },
    /// The mean of the workload's for all.
    Mean {
        /// Where the round-trip time is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Placing>,
    },
    /// The median of the workload's for all.
    Median {
        /// Where the round-trip time is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Placing>,
    },
    /// Of so many paths, an approximation of the workload's.
    Paths {
        /// Number of paths.
        #[schemars(range(min = 1, max = 1048576))]
        paths: u32,
        /// Share of the round-trip times that is left out at each end, the smallest and the largest; default: 1%.
        #[serde(default = "one_percent")]
        trim: Quantity<Trim>,
        /// Round to multiples of this time; default: no rounding.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quantum: Option<Quantity<Duration>>,
        /// Where the round-trip time is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Placing>,
    },
    /// Of these paths.
    List {
        /// Round-trip times, equally likely.
        #[schemars(length(min = 1), extend("items" = { "$ref": "#/$defs/time", "most": "1h" }))]
        values: Vec<Quantity<Duration>>,
        /// Where the round-trip time is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Placing>,
    },
    /// A published one, by name.
    Published {
        /// Name of the model.
        #[schemars(extend("enum" = published_names()))]
        name: String,
        /// Where the round-trip time is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Placing>,
    },
    /// Drawn for each connection.
    Uniform {
        /// Smallest round-trip time.
        min: Quantity<Duration>,
        /// Largest round-trip time.
        #[schemars(extend("most" = "1h"))]
        max: Quantity<Duration>,
        /// Step between possible values; default: 1ms.
        #[serde(default = "millisecond")]
        #[schemars(extend("least" = "1ns"))]
        step: Quantity<Duration>,
        /// Where the round-trip time is spent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Placing>,
    },
}

/// Where the round-trip time is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placing {
    /// Where it was measured.
    Measured,
    /// Half on each side of the link.
    Halves,
    /// All on the left.
    Left,
    /// All on the right.
    Right,
}

/// A share that can be left out at each end: below 50%.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trim(Share);

impl FromStr for Trim {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Trim, ParseQuantityError> {
        let share: Option<Share> = text.parse().ok();
        share.filter(|share| share.0.get() < 0.5).map(Trim).ok_or_else(|| ParseQuantityError::Form {
            text: text.to_owned(),
            expected: Trim::MEANING,
            example: "1%",
        })
    }
}

impl Written for Trim {
    const FORMAT: &'static str = "trim";
    const MEANING: &'static str = "a share of 0% to less than 50%";
    const EXAMPLES: &'static [&'static str] = &["1%", "5%"];

    fn pattern() -> String {
        r"\+?(0*[0-4]?[0-9](\.[0-9]*)?|\.[0-9]+)([eE]-[0-9]+)? *%".to_owned()
    }
}

fn one_percent() -> Quantity<Trim> {
    Quantity::of("1%")
}

fn millisecond() -> Quantity<Duration> {
    Quantity::of("1ms")
}

/// Most paths of an approximation.
const MOST_PATHS: u32 = 1 << 20;

impl Default for Rtt {
    fn default() -> Rtt {
        Rtt { text: Some("usernet".to_owned()), model: RttModel::Usernet { place: None } }
    }
}

/// The names of the published models.
fn published_names() -> Vec<&'static str> {
    PUBLISHED.iter().map(|(known, _)| *known).collect()
}

/// A regular expression of the texts that name a model or are a time.
fn pattern() -> String {
    // A number of paths, from one to `MOST_PATHS`.
    const PATHS: &str =
        r"\+?0*([1-9][0-9]{0,5}|10([0-3][0-9]{4}|4([0-7][0-9]{3}|8([0-4][0-9]{2}|5([0-6][0-9]|7[0-6])))))";
    let names = published_names().join("|");
    format!("usernet|nodelay|mean|median|{names}|{PATHS}-path|{}", Duration::pattern())
}

fn published(name: &str) -> Option<Published> {
    PUBLISHED.iter().find(|(known, _)| *known == name).map(|(_, model)| *model)
}

impl Rtt {
    /// Whether every connection keeps its own, where it was measured.
    pub fn keeps_all(&self) -> bool {
        matches!(self.model, RttModel::Usernet { place: None | Some(Placing::Measured) })
    }

    /// Whether it is computed from the round-trip times of the workload.
    pub fn is_fitted(&self) -> bool {
        matches!(self.model, RttModel::Mean { .. } | RttModel::Median { .. } | RttModel::Paths { .. })
    }

    /// The core's, given the workload's known round-trip times in ascending order; `None` if it needs some and there are none.
    pub fn round_trips(&self, sorted: &[Duration]) -> Option<RoundTrips> {
        let halves = |assignment| RoundTrips { assignment, place: Place::Halves };
        let values = |values: &[Quantity<Duration>]| values.iter().map(|value| value.value).collect();
        let usual = match &self.model {
            RttModel::Usernet { .. } => RoundTrips::MEASURED,
            RttModel::Value { rtt, .. } => halves(Assignment::One(rtt.value)),
            RttModel::Mean { .. } => halves(Assignment::One(mean_rtt(sorted)?)),
            RttModel::Median { .. } => halves(Assignment::One(median_rtt(sorted)?)),
            RttModel::Paths { paths, trim, quantum, .. } => {
                let quantum = quantum.as_ref().map(|quantum| quantum.value);
                let how = Approximation { paths: *paths as usize, trim: trim.value.0.0.get(), quantum };
                let paths = discrete_approximation(sorted, how);
                halves(Assignment::Paths(Some(paths).filter(|paths| !paths.is_empty())?))
            }
            RttModel::List { values: list, .. } => halves(Assignment::Paths(values(list))),
            RttModel::Published { name, .. } => published(name)?.round_trips(),
            RttModel::Uniform { min, max, step, .. } => {
                halves(Assignment::Uniform { min: min.value, max: max.value, step: step.value })
            }
        };
        Some(match self.place() {
            None => usual,
            Some(Placing::Measured) => RoundTrips { place: Place::Measured, ..usual },
            Some(Placing::Halves) => RoundTrips { place: Place::Halves, ..usual },
            Some(Placing::Left) => RoundTrips { place: Place::One(LinkSide::Left), ..usual },
            Some(Placing::Right) => RoundTrips { place: Place::One(LinkSide::Right), ..usual },
        })
    }

    fn place(&self) -> Option<Placing> {
        match self.model {
            RttModel::Usernet { place }
            | RttModel::Value { place, .. }
            | RttModel::Mean { place }
            | RttModel::Median { place }
            | RttModel::Paths { place, .. }
            | RttModel::List { place, .. }
            | RttModel::Published { place, .. }
            | RttModel::Uniform { place, .. } => place,
        }
    }

    fn check(self) -> Result<Rtt, String> {
        let possible = |rtt: &Quantity<Duration>| match rtt.value > Rules::MAX_DELAY {
            true => Err(format!("{rtt} is too long (at most {})", Rules::MAX_DELAY.written())),
            false => Ok(()),
        };
        match &self.model {
            RttModel::Value { rtt, .. } => possible(rtt)?,
            RttModel::Paths { paths: 0, .. } => return Err("paths of 0: there must be one".to_owned()),
            RttModel::Paths { paths, .. } if *paths > MOST_PATHS => {
                return Err(format!("paths of {paths} is too many (at most {MOST_PATHS})"));
            }
            RttModel::List { values, .. } if values.is_empty() => return Err("values is empty".to_owned()),
            RttModel::List { values, .. } => values.iter().try_for_each(possible)?,
            RttModel::Published { name, .. } if published(name).is_none() => {
                return Err(format!("\"{name}\" is no published model (known: {})", published_names().join(", ")));
            }
            RttModel::Uniform { min, max, step, .. } => {
                possible(max)?;
                if min.value > max.value {
                    return Err(format!("min of {min} is above max, which is {max}"));
                }
                if step.value.is_zero() {
                    return Err("step must be above zero".to_owned());
                }
            }
            _ => {}
        }
        Ok(self)
    }
}

impl TextOrTable for Rtt {
    const EXPECTED: &'static str = "a model as \"usernet\", a time as \"80ms\", or a table as { kind = \"uniform\", min = \"10ms\", max = \"200ms\" }";
    type Table = RttModel;

    fn of_text(text: &str) -> Result<Rtt, String> {
        let place = None;
        let paths = text.strip_suffix("-path").and_then(|count| count.parse().ok());
        let model = match text {
            "usernet" => RttModel::Usernet { place },
            "nodelay" => RttModel::Value { rtt: Quantity::of("0ms"), place },
            "mean" => RttModel::Mean { place },
            "median" => RttModel::Median { place },
            _ if published(text).is_some() => RttModel::Published { name: text.to_owned(), place },
            _ if let Some(paths) = paths => RttModel::Paths { paths, trim: one_percent(), quantum: None, place },
            _ => RttModel::Value {
                rtt: text.parse().map_err(|_: ParseQuantityError| {
                    let own = "usernet, nodelay, mean, median, 30-path, 80ms";
                    let published = published_names().join(", ");
                    format!("\"{text}\" is no model of round-trip times (known: {own}, {published})")
                })?,
                place,
            },
        };
        Rtt { text: Some(text.to_owned()), model }.check()
    }

    fn of_table(model: RttModel) -> Result<Rtt, String> {
        Rtt { text: None, model }.check()
    }
}

impl std::fmt::Display for Rtt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = match self.place() {
            None => "",
            Some(Placing::Measured) => " where measured",
            Some(Placing::Halves) => " half on each side",
            Some(Placing::Left) => " on the left",
            Some(Placing::Right) => " on the right",
        };
        match (&self.text, &self.model) {
            (Some(text), _) => f.write_str(text),
            (None, RttModel::Usernet { .. }) => write!(f, "usernet{place}"),
            (None, RttModel::Value { rtt, .. }) => write!(f, "{rtt}{place}"),
            (None, RttModel::Mean { .. }) => write!(f, "mean{place}"),
            (None, RttModel::Median { .. }) => write!(f, "median{place}"),
            (None, RttModel::Paths { paths, .. }) => write!(f, "{paths}-path{place}"),
            (None, RttModel::List { values, .. }) => write!(f, "{} given paths{place}", values.len()),
            (None, RttModel::Published { name, .. }) => write!(f, "{name}{place}"),
            (None, RttModel::Uniform { min, max, .. }) => write!(f, "uniform from {min} to {max}{place}"),
        }
    }
}

impl JsonSchema for Rtt {
    fn schema_name() -> Cow<'static, str> {
        "rtt".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = json_schema!({
            "type": "string",
            "description": "the name of a model, or a time that all connections get",
            "pattern": format!("^({})$", pattern()),
            "most": "1h",
            "examples": ["usernet", "nodelay", "80ms", "30-path", "mean", "median"],
        });
        let meaning =
            "Which round-trip time each connection gets: the name of a model, a time, or a model with its parameters.";
        text_or_other("rtt", meaning, vec![name, generator.subschema_for::<RttModel>()])
    }
}

impl<'de> Deserialize<'de> for Rtt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl Serialize for Rtt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.text {
            Some(text) => text.serialize(serializer),
            None => self.model.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn assignment(text: &str) -> Assignment {
        let sorted: Vec<Duration> = (1..=1000).map(MS).collect();
        Rtt::of_text(text).unwrap().round_trips(&sorted).unwrap().assignment
    }

    #[test]
    fn names_are_the_models_of_the_literature() {
        assert_eq!(assignment("usernet"), Assignment::Own);
        assert_eq!(assignment("nodelay"), Assignment::One(MS(0)));
        assert_eq!(assignment("80ms"), Assignment::One(MS(80)));
        assert_eq!(assignment("mean"), Assignment::One(Duration::from_micros(500_500)));
        assert_eq!(assignment("median"), Assignment::One(Duration::from_micros(500_500)));
        assert_eq!(assignment("ibm-mean"), Assignment::One(MS(92)));
        let Assignment::Paths(thirty) = assignment("30-path") else { panic!("30-path") };
        assert_eq!((thirty.len(), thirty[1]), (30, Duration::from_micros(59_500)));
        let Assignment::Paths(ten) = assignment("10-path") else { panic!("10-path") };
        assert_eq!(ten[..3], [4, 16, 28].map(MS), "the published ten");
        assert_eq!(Rtt::default().round_trips(&[]), Some(RoundTrips::MEASURED));
        for fitted in ["mean", "median", "30-path"] {
            assert!(Rtt::of_text(fitted).unwrap().is_fitted());
            assert_eq!(Rtt::of_text(fitted).unwrap().round_trips(&[]), None, "there is nothing to fit it to");
        }
    }

    #[test]
    fn quantities_that_cannot_be_are_refused() {
        let time = |text: &str| Quantity::<Duration>::of(text);
        for (model, wanted) in [
            (RttModel::Paths { paths: 0, trim: one_percent(), quantum: None, place: None }, "paths of 0"),
            (RttModel::List { values: vec![], place: None }, "values is empty"),
            (RttModel::Value { rtt: time("2h"), place: None }, "2h is too long"),
            (RttModel::Published { name: "unc".to_owned(), place: None }, "\"unc\" is no published model"),
            (
                RttModel::Uniform { min: time("2ms"), max: time("1ms"), step: time("1ms"), place: None },
                "min of 2ms is above max",
            ),
            (
                RttModel::Uniform { min: time("1ms"), max: time("2ms"), step: time("0ms"), place: None },
                "step must be above zero",
            ),
        ] {
            let problem = Rtt::of_table(model).unwrap_err();
            assert!(problem.starts_with(wanted), "{problem}");
        }
        assert!(Rtt::of_text("usernett").unwrap_err().contains("known: usernet"));
        assert!("49.9%".parse::<Trim>().is_ok() && "50%".parse::<Trim>().is_err());
    }
}
